/* Sorting numbers as a job of several phases; see sort.h. */
#include "config.h"
#include "apps/sort/sort.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/app.h"
#include "apps/matmul/matrix.h"
#include "apps/output.h"
#include "apps/setting.h"
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/rng.h"

enum {
    DEFAULT_COUNT = 1000000,
    DEFAULT_UNITS = 32,
    UNITS_MOST = 4096,
    /* Numbers that are drawn for each splitter: a unit then gets twice its part
     * with a probability of 10^-7. */
    DRAWN = 64,
};

struct part {
    double *numbers;
    uint64_t count;
    bool here;
};

struct sort {
    uint64_t count, seed;
    bool count_given, seed_given;
    char *path, *out; /* NULL: not given */
    uint64_t memory_bytes;
    bool threads; /* slaves share this machine's memory */
    struct nf_sort_plan plan;
    struct nf_sort_splitter *splitters;
    struct nf_matrix numbers; /* one column, whatever the file had */
    struct part *parts;       /* [units] that came */
    uint64_t came;            /* numbers */
    struct nf_matrix sorted;  /* made of them at the end */
};

static const struct nf_app_option sort_options[] = {
    { "file", "FILE", "sort the entries of FILE.npy or FILE.mtx" },
    { "count", "N", "else so many random numbers; default 1000000" },
    { "seed", "S", "seed of these, and of the splitters (default 1)" },
    { "units", "U", "blocks that the numbers are cut into; default 32" },
    { "way", "WAY", "sample (default), or bitonic: U a power of two" },
    { NULL, NULL, NULL },
};

static const struct nf_app sort_kernel = {
    .name = "sort",
    .compute = nf_sort_compute,
    .input_type = NF_FLOAT64,
    .result_type = NF_FLOAT64,
    .shared_type = NF_INT64,
    .phases = 2,
    .takes_pieces = 1,
};

static enum nf_status sort_create(void **state_p, struct nf_error *err)
{
    struct sort *s = nf_calloc(1, sizeof(*s));

    if (s == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "sort: out of memory");
    s->count = DEFAULT_COUNT;
    s->seed = 1;
    s->plan.units = DEFAULT_UNITS;
    s->memory_bytes = nf_memory_bytes();
    *state_p = s;
    return NF_OK;
}

static void sort_destroy(void *state)
{
    struct sort *s = state;

    if (s == NULL)
        return;
    for (uint64_t i = 0; s->parts != NULL && i < s->plan.units; i++)
        nf_free(s->parts[i].numbers);
    nf_free(s->parts);
    nf_free(s->splitters);
    nf_matrix_fini(&s->numbers);
    nf_matrix_fini(&s->sorted);
    nf_free(s->path);
    nf_free(s->out);
    nf_free(s);
}

static enum nf_status set_way(struct sort *s, const char *value,
                              struct nf_error *err)
{
    if (strcmp(value, "sample") != 0 && strcmp(value, "bitonic") != 0)
        return nf_fail(err, NF_ERR_INVAL,
                       "--way %.60s: no such way (want sample or bitonic)",
                       value);
    s->plan.way = *value == 's' ? NF_SORT_SAMPLE : NF_SORT_BITONIC;
    return NF_OK;
}

static enum nf_status sort_set(void *state, const char *option,
                               const char *value, struct nf_error *err)
{
    struct sort *s = state;

    if (strcmp(option, "file") == 0)
        return nf_setting_file(option, value, &s->path, err);
    if (strcmp(option, "count") == 0) {
        s->count_given = true;
        return nf_setting_count(option, value, 1, NF_MATRIX_MAX_SIDE, &s->count,
                                err);
    }
    if (strcmp(option, "seed") == 0) {
        s->seed_given = true;
        return nf_setting_count(option, value, 0, UINT64_MAX, &s->seed, err);
    }
    if (strcmp(option, "units") == 0)
        return nf_setting_count(option, value, 1, UNITS_MOST, &s->plan.units,
                                err);
    if (strcmp(option, "way") == 0)
        return set_way(s, value, err);
    return nf_fail(err, NF_ERR_INVAL, "sort has no option --%s", option);
}

/* How often are they in memory?  As they are, in parts, and together; and slaves keep
 * what each phase but the last gives. */
static double times_kept(const struct sort *s)
{
    double of_a_phase = s->plan.way == NF_SORT_BITONIC ? 2 : 1; /* blocks a unit */

    return 3 + (s->threads ? of_a_phase * nf_sort_exchanges(&s->plan) : 0);
}

static enum nf_status check_memory(const struct sort *s, double count,
                                   struct nf_error *err)
{
    double need_bytes = times_kept(s) * count * sizeof(double);
    char need[16], have[16];

    if (need_bytes <= (double)s->memory_bytes)
        return NF_OK;
    return nf_fail(err, NF_ERR_RANGE,
                   "sort: %.0f numbers, kept %.0f times, need %s, this machine has %s",
                   count, times_kept(s), nf_format_size(need_bytes, need, sizeof(need)),
                   nf_format_size((double)s->memory_bytes, have, sizeof(have)));
}

static enum nf_status read_file(struct sort *s, struct nf_error *err)
{
    struct nf_matrix_file *file = NULL;
    enum nf_status status =
        nf_matrix_file_open(s->path, s->memory_bytes, &file, err);
    double count;

    if (status != NF_OK)
        return status;
    count =
        (double)nf_matrix_file_rows(file) * (double)nf_matrix_file_cols(file);
    if (count > NF_MATRIX_MAX_SIDE)
        status = nf_fail(err, NF_ERR_RANGE,
                         "sort: %s has %.0f numbers (want at most %d)", s->path,
                         count, NF_MATRIX_MAX_SIDE);
    if (status == NF_OK)
        status = check_memory(s, count, err);
    if (status == NF_OK)
        status = nf_matrix_file_read(file, &s->numbers, err);
    nf_matrix_file_close(file);
    s->numbers.rows *= s->numbers.cols; /* in any order */
    s->numbers.cols = s->numbers.rows > 0;
    return status;
}

static enum nf_status make_random(struct sort *s, struct nf_error *err)
{
    enum nf_status status = check_memory(s, (double)s->count, err);

    if (status == NF_OK)
        status = nf_matrix_create(s->count, 1, &s->numbers, err);
    if (status == NF_OK)
        nf_matrix_fill_random(&s->numbers, s->seed, 0);
    return status;
}

static enum nf_status check_request(const struct sort *s, struct nf_error *err)
{
    uint64_t units = s->plan.units;
    enum nf_status status;

    if (s->path != NULL && s->count_given)
        return nf_fail(err, NF_ERR_INVAL,
                       "sort: --count does not go with --file (want --file "
                       "FILE, or --count N)");
    if (s->plan.way == NF_SORT_BITONIC && (units & (units - 1)) != 0)
        return nf_fail(err, NF_ERR_INVAL,
                       "sort: --units %llu: --way bitonic wants a power of two",
                       (unsigned long long)units);
    if (s->plan.way == NF_SORT_BITONIC && s->path != NULL && s->seed_given)
        return nf_fail(
            err, NF_ERR_INVAL,
            "sort: --seed does not go with --file and --way bitonic, "
            "which draws nothing");
    if (s->out == NULL)
        return NF_OK;
    status = nf_output_check(s->out, err);
    if (status == NF_OK)
        status = nf_matrix_check_suffix(s->out, err);
    if (status != NF_OK)
        nf_fail_prefix(err, "--out");
    return status;
}

/* --------------------------------------------------------------- splitters */

static int compare_splitters(const void *a, const void *b)
{
    const struct nf_sort_splitter *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->unit > y->unit) - (x->unit < y->unit);
}

static uint64_t unit_of(const struct nf_sort_plan *plan, uint64_t i)
{
    uint64_t low = 0, high = plan->units - 1;

    while (low < high) { /* the last that begins at i or before */
        uint64_t middle = high - (high - low) / 2;

        if (nf_sort_begin(plan, middle) <= i)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Sort what is drawn, and take every DRAWN-th. */
static enum nf_status draw_splitters(struct sort *s, struct nf_error *err)
{
    size_t drawn = (size_t)s->plan.units * DRAWN;
    struct nf_sort_splitter *all = nf_calloc(drawn, sizeof(*all));
    struct nf_rng rng = { .state = s->seed };

    s->splitters = nf_calloc((size_t)s->plan.units, sizeof(*s->splitters));
    if (all == NULL || s->splitters == NULL) {
        nf_free(all);
        return nf_fail(err, NF_ERR_NOMEM, "sort: out of memory");
    }
    for (size_t i = 0; i < drawn; i++) {
        uint64_t at = nf_rng_below(&rng, s->plan.count);

        all[i].key = nf_sort_key(s->numbers.data[at]);
        all[i].unit = unit_of(&s->plan, at);
    }
    qsort(all, drawn, sizeof(*all), compare_splitters);
    for (uint64_t v = 0; v + 1 < s->plan.units; v++)
        s->splitters[v] = all[(v + 1) * DRAWN];
    nf_free(all);
    s->plan.splitters = s->splitters;
    return NF_OK;
}

/* ----------------------------------------------------------------- the job */

static enum nf_status sort_split(void *user, uint64_t unit,
                                 struct nf_buf *input)
{
    const struct sort *s = user;
    uint64_t begin = nf_sort_begin(&s->plan, unit);
    uint64_t end = nf_sort_begin(&s->plan, unit + 1);

    if (begin == end)
        return NF_OK;
    return nf_buf_borrow(input, s->numbers.data + begin,
                         (size_t)(end - begin) * sizeof(double));
}

/* What fills a block up is behind all numbers. */
static uint64_t without_infinity(const double *numbers, uint64_t count)
{
    while (count > 0 && isinf(numbers[count - 1]))
        count--;
    return count;
}

static enum nf_status sort_collect(void *user, uint64_t unit,
                                   const void *result, size_t bytes)
{
    struct sort *s = user;
    struct part *part = &s->parts[unit];
    uint64_t count = bytes / sizeof(double);

    if (bytes % sizeof(double) != 0)
        return NF_ERR_PROTOCOL;
    part->numbers = nf_malloc(bytes + 1);
    if (part->numbers == NULL)
        return NF_ERR_NOMEM;
    if (bytes > 0)
        memcpy(part->numbers, result, bytes);
    part->count = without_infinity(part->numbers, count);
    part->here = true;
    s->came += part->count;
    return s->came <= s->plan.count ? NF_OK : NF_ERR_PROTOCOL;
}

static enum nf_status sort_share(void *user, struct nf_buf *shared)
{
    const struct nf_sort_plan *plan = &((struct sort *)user)->plan;
    const int64_t number[NF_SORT_PLAN_NUMBERS] = { (int64_t)plan->way,
                                                   (int64_t)plan->count,
                                                   (int64_t)plan->units };
    enum nf_status status = nf_buf_append(shared, number, sizeof(number));

    if (status != NF_OK || plan->splitters == NULL)
        return status;
    return nf_buf_append(shared, plan->splitters,
                         (size_t)(plan->units - 1) * sizeof(*plan->splitters));
}

static enum nf_status sort_open(void *state,
                                const struct nf_app_request *request,
                                struct nf_app *app_p, struct nf_error *err)
{
    struct sort *s = state;
    enum nf_status status = NF_OK;

    s->threads = request->threads;
    if (request->out != NULL)
        status = nf_setting_file("out", request->out, &s->out, err);
    if (status == NF_OK)
        status = check_request(s, err);
    if (status == NF_OK)
        status = s->path != NULL ? read_file(s, err) : make_random(s, err);
    if (status != NF_OK)
        return status;
    s->plan.count = s->numbers.rows;
    s->parts = nf_calloc((size_t)s->plan.units, sizeof(*s->parts));
    if (s->parts == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "sort: out of memory");
    if (s->plan.way == NF_SORT_SAMPLE)
        status = draw_splitters(s, err);
    if (status != NF_OK)
        return status;
    *app_p = sort_kernel;
    app_p->units = s->plan.units;
    app_p->phases = 1 + nf_sort_exchanges(&s->plan);
    app_p->user = s;
    app_p->split = sort_split;
    app_p->collect = sort_collect;
    app_p->share = sort_share;
    return NF_OK;
}

/* All parts, one behind the other.  Of units that were given up it is known how
 * many numbers they lack together, and they are NaN: all at the first of them.
 */
static enum nf_status join_parts(struct sort *s, struct nf_error *err)
{
    uint64_t missing = s->plan.count - s->came, at = 0;
    enum nf_status status =
        s->sorted.data != NULL
            ? NF_OK
            : nf_matrix_create(s->plan.count, 1, &s->sorted, err);

    if (status != NF_OK)
        return status;
    for (uint64_t unit = 0; unit < s->plan.units; unit++) {
        const struct part *part = &s->parts[unit];

        for (; !part->here && missing > 0; missing--)
            s->sorted.data[at++] = (double)NAN;
        if (part->count > 0)
            memcpy(s->sorted.data + at, part->numbers,
                   (size_t)part->count * sizeof(double));
        at += part->count;
    }
    while (at < s->plan.count)
        s->sorted.data[at++] = (double)NAN;
    return NF_OK;
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = nf_sort_key(*(const double *)a);
    uint64_t y = nf_sort_key(*(const double *)b);

    return (x > y) - (x < y);
}

/* There is one right order, so every bit must be right. */
static enum nf_status sort_verify(void *state, char *note_p, size_t note_bytes,
                                  struct nf_error *err)
{
    struct sort *s = state;
    enum nf_status status = join_parts(s, err);
    uint64_t n = s->plan.count;

    if (status != NF_OK)
        return status;
    qsort(s->numbers.data, (size_t)n, sizeof(double), compare_keys);
    for (uint64_t i = 0; i < n; i++)
        if (memcmp(&s->numbers.data[i], &s->sorted.data[i], sizeof(double)) !=
            0)
            return nf_fail(err, NF_ERR_VERIFY,
                           "number %llu in order is %.17g, want %.17g",
                           (unsigned long long)i + 1, s->sorted.data[i],
                           s->numbers.data[i]);
    snprintf(note_p, note_bytes, "%llu numbers, as qsort() has them",
             (unsigned long long)n);
    return NF_OK;
}

static enum nf_status sort_save(void *state, struct nf_error *err)
{
    struct sort *s = state;
    enum nf_status status = s->out == NULL ? NF_OK : join_parts(s, err);

    return status != NF_OK || s->out == NULL
               ? status
               : nf_matrix_write(&s->sorted, s->out, err);
}

/* Numbers that are moved: to keys, for each of eight bytes, and back; then after each
 * exchange to keys, in merging for each doubling of a run, and back, of what came: of
 * two blocks a unit by bitonic merging. */
static double sort_operations(void *state)
{
    const struct nf_sort_plan *plan = &((struct sort *)state)->plan;
    double later = plan->way == NF_SORT_SAMPLE
                       ? 2 + ceil(log2((double)plan->units))
                       : 6.0 * nf_sort_exchanges(plan);

    return (double)plan->count * (10 + later);
}

/* Units of both small jobs are a power of two, as bitonic merging wants them.
 */
static void sort_take_variant(void *other, const void *job)
{
    ((struct sort *)other)->plan.way = ((const struct sort *)job)->plan.way;
}

static const char *const sort_small[] = { "count", "262144", "units", "8",
                                          NULL };
static const char *const sort_large[] = { "count", "2097152", "units", "32",
                                          NULL };

const struct nf_app_kind nf_app_sort = {
    .name = "sort",
    .summary =
        "sorts float64 numbers, in two phases or more; a unit is a block",
    .options = sort_options,
    .kernel = &sort_kernel,
    .create = sort_create,
    .destroy = sort_destroy,
    .set = sort_set,
    .open = sort_open,
    .verify = sort_verify,
    .save = sort_save,
    .operations = sort_operations,
    .take_variant = sort_take_variant,
    .small_job = sort_small,
    .large_job = sort_large,
};
