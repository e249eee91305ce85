/* coll-bench --tune: time what the model thinks best, and keep what was. */
#include "config.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "apps/nowfarm/coll_probe.h"
#include "apps/nowfarm/coll_run.h"
#include "apps/nowfarm/coll_search.h"
#include "apps/output.h"
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/group/group.h"

struct tuning {
    const struct coll_options *options;
    struct coll_world *world;
    struct coll_results *results;
    struct nf_coll_rules rules;
    uint64_t sizes[COLL_SIZES_MAX]; /* ascending */
    unsigned nsizes;
};

enum nf_status coll_tune_check(const char *path, struct nf_error *err)
{
    enum { MAGIC_BYTES = sizeof(NF_COLL_RULES_MAGIC) - 1 };
    char begin[MAGIC_BYTES + 1]; /* and what ends the word */
    enum nf_status status = nf_output_check(path, err);
    size_t bytes;
    FILE *file;
    int cause;

    if (status != NF_OK)
        return status;
    file = fopen(path, "rb");
    if (file == NULL && errno == ENOENT)
        return NF_OK;
    if (file == NULL)
        return nf_fail(err, NF_ERR_INVAL, "%s: %s", path, strerror(errno));
    bytes = fread(begin, 1, sizeof(begin), file);
    cause = ferror(file) ? errno : 0;
    fclose(file);
    if (cause != 0)
        return nf_fail(err, NF_ERR_INVAL, "%s: %s", path, strerror(cause));
    if (bytes > 0 && (bytes < MAGIC_BYTES ||
                      memcmp(begin, NF_COLL_RULES_MAGIC, MAGIC_BYTES) != 0 ||
                      (bytes > MAGIC_BYTES && begin[MAGIC_BYTES] != ' ')))
        return nf_fail(err, NF_ERR_INVAL,
                       "%s: line 1: not a table of collectives, which begins "
                       "with \"" NF_COLL_RULES_MAGIC
                       "\": --out wants such a one, or a new name",
                       path);
    return NF_OK;
}

static enum nf_status no_memory(struct tuning *t)
{
    return nf_fail(t->world->team.err, NF_ERR_NOMEM, "out of memory");
}

static enum nf_status time_them(struct tuning *t,
                                const struct nf_coll_query *query,
                                struct coll_search *search)
{
    const unsigned count = search->count;
    const struct coll_effort effort = coll_search_effort(search);
    struct nf_coll_wish wishes[COLL_CANDIDATES_MAX] = { { .segments = 0 } };
    struct coll_row rows[COLL_CANDIDATES_MAX];
    enum nf_status status;

    for (unsigned i = 0; i < count; i++)
        wishes[i] = (struct nf_coll_wish){ search->list[i].algorithm,
                                           search->list[i].segments,
                                           search->list[i].params };
    status = coll_measure(t->options, t->world, &effort, query,
                          &t->results->model, wishes, count, rows);
    if (status != NF_OK)
        return status;
    for (unsigned i = 0; i < count; i++) {
        search->list[i].us = rows[i].middle;
        if (status == NF_OK)
            status = coll_results_add(t->results, &rows[i]);
        if (status != NF_OK)
            coll_row_free(&rows[i]);
    }
    return status == NF_OK ? NF_OK : no_memory(t);
}

/* What a group of this size takes when it has no table. */
static void find_usual(struct tuning *t, const struct nf_coll_query *query,
                       struct nf_coll_choice *choice_p)
{
    struct nf_choice_query asked = bench_choice(query);

    nf_group_unforce(t->world->team.work);
    if (nf_group_choose(t->world->team.work, &asked, choice_p, NULL) != NF_OK)
        choice_p->algorithm = NULL;
}

static enum nf_status tune_size(struct tuning *t,
                                const struct nf_coll_query *query,
                                uint64_t max_bytes)
{
    struct nf_coll_network network = coll_network(&t->results->model, query);
    struct nf_coll_choice usual = { .algorithm = NULL };
    struct coll_search search;
    enum nf_status status = NF_OK;

    find_usual(t, query, &usual);
    coll_search_begin(&search, query, &network, &usual,
                      t->world->team.work->nhosts);
    if (search.count == 0)
        return NF_OK;
    while (search.count > 0 && status == NF_OK) {
        status = time_them(t, query, &search);
        if (status == NF_OK)
            coll_search_go_on(&search);
    }
    if (status != NF_OK)
        return status;
    status = coll_add_rules(&t->rules, query, &search.best,
                            coll_search_is_model(&search), max_bytes);
    return status == NF_OK ? NF_OK : no_memory(t);
}

static enum nf_status tune_party(struct tuning *t, uint32_t ranks)
{
    const struct bench_request team = { .kind = BENCH_TEAM, .ranks = ranks };
    enum nf_status status = bench_direct(&t->world->team, &team, NULL, NULL);

    for (int op = 0; op < NF_COLL_OPS; op++) {
        bool sizes = op != NF_COLL_BARRIER;

        for (unsigned i = 0; t->options->ops[op] && status == NF_OK &&
                             i < (sizes ? t->nsizes : 1);
             i++) {
            struct nf_coll_query query =
                bench_query((enum nf_coll_op)op, ranks, sizes ? t->sizes[i] : 0,
                            t->options->ordered);

            query.hosts = t->world->team.work->hosts;
            status = tune_size(t, &query,
                               sizes ? coll_reach(t->sizes, t->nsizes, i)
                                     : UINT64_MAX);
        }
    }
    return status;
}

static int compare_sizes(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void sort_sizes(struct tuning *t)
{
    memcpy(t->sizes, t->options->sizes, sizeof(t->sizes));
    qsort(t->sizes, t->options->nsizes, sizeof(t->sizes[0]), compare_sizes);
    for (unsigned i = 0; i < t->options->nsizes; i++)
        if (t->nsizes == 0 || t->sizes[i] != t->sizes[t->nsizes - 1])
            t->sizes[t->nsizes++] = t->sizes[i];
}

/* What was found elsewhere would go for what is found here. */
static void drop_strange(struct tuning *t, const char *path)
{
    char text[NF_ERROR_TEXT_BYTES];

    if ((t->rules.count == 0 && t->rules.unknown_bytes == 0) ||
        coll_rules_may_stay(&t->rules, &t->world->place, text, sizeof(text)))
        return;
    fprintf(stderr, "nowfarm: %s: %s: its rules do not stay\n", path, text);
    t->rules.count = 0;
    nf_coll_rules_forget_unknown(&t->rules, NULL, NF_CLASS_ANY, 0);
}

/* Those that are found anew. */
static void drop_tuned(struct tuning *t)
{
    for (uint32_t p = t->world->members; p >= 2; p /= 2)
        for (int op = 0; op < NF_COLL_OPS; op++) {
            struct nf_coll_query query =
                bench_query((enum nf_coll_op)op, p, 0, t->options->ordered);

            if (t->options->ops[op])
                coll_drop_rules(&t->rules, &query);
        }
}

/* Rules of other operations, operators and numbers of members stay. */
static void keep_old(struct tuning *t, const char *path)
{
    struct nf_error warning = { .status = NF_OK }, why;
    size_t bytes = 0;
    char *text = nf_group_read_text(path, &bytes, &why);

    if (text == NULL && access(path, F_OK) == 0)
        fprintf(stderr, "nowfarm: %s; written anew\n", why.text);
    else if (text != NULL && nf_coll_rules_read(text, bytes, &t->rules,
                                                &warning, &why) != NF_OK)
        fprintf(stderr, "nowfarm: %s: %s; written anew\n", path, why.text);
    nf_free(text);
    drop_strange(t, path);
    drop_tuned(t);
    if (t->rules.unknown_bytes > 0)
        fprintf(stderr, "nowfarm: %s: %s; kept\n", path, warning.text);
}

/* A table has one model, which rules that say `model` go by: with another one they would
 * take segments that nobody measured.  So it stays with them; but what was measured of
 * few members does not tell what more of them share. */
static bool has_model_for(const struct nf_coll_rules *rules, uint32_t members)
{
    for (size_t i = 0; i < rules->count; i++)
        if (rules->rules[i].ranks >= members)
            return true;
    return false;
}

static enum nf_status find_model(struct tuning *t)
{
    if (has_model_for(&t->rules, t->world->members)) {
        t->results->model = t->rules.model;
        t->results->model_source = "table";
        return NF_OK;
    }
    t->results->model_source = "measured";
    return coll_probe(t->world, true, 0, &t->results->model);
}

static enum nf_status write_table(struct tuning *t, const char *path)
{
    char *text = NULL;
    size_t bytes = 0;
    enum nf_status status;

    coll_merge_rules(&t->rules);
    t->rules.model = t->results->model;
    snprintf(t->rules.library, sizeof(t->rules.library), "%s", nf_version());
    status = nf_coll_rules_write(&t->rules, &text, &bytes, t->world->team.err);
    if (status == NF_OK)
        status = nf_output_write_whole(path, text, bytes, t->world->team.err);
    nf_free(text);
    return status;
}

enum nf_status coll_tune_all(const struct coll_options *options,
                             struct coll_world *world,
                             struct coll_results *results)
{
    struct tuning t = { .options = options,
                        .world = world,
                        .results = results };
    const char *path = options->out;
    enum nf_status status;

    nf_coll_rules_init(&t.rules);
    sort_sizes(&t);
    keep_old(&t, path);
    status = find_model(&t);
    for (uint32_t p = world->members; p >= 2 && status == NF_OK; p /= 2)
        status = tune_party(&t, p);
    if (status == NF_OK)
        status = write_table(&t, path);
    nf_coll_rules_fini(&t.rules);
    return status;
}
