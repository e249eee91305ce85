/* Results that stay with slaves: the store, combining, and whole jobs on the
 * local transport. */
#include "config.h"
#include "common/base/alloc.h"
#include "common/group/reducer.h"
#include "common/group/types.h"
#include "slave/offer.h"
#include "tests/unit/nf_unit.h"
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ----------------------------------------------------------------- the store
 */

/* A part whose unit u is `bytes` bytes of value u. */
static void add(struct nf_held *held, uint64_t first, uint64_t count,
                size_t bytes)
{
    struct nf_result_msg m = { .first = first,
                               .count = count,
                               .layout.unit_bytes = bytes };
    struct nf_blob *blob = nf_blob_create((size_t)count * bytes, NF_BYTES);

    for (uint64_t i = 0; i < count; i++)
        memset((uint8_t *)blob->data + i * bytes, (int)(first + i), bytes);
    CU_ASSERT_EQUAL(nf_held_add(held, &m, blob), NF_OK);
    nf_blob_unref(blob);
}

static enum nf_status pick(struct nf_held *held, const uint64_t *ranges,
                           uint64_t nranges, struct nf_held_unit **units_p,
                           uint64_t *count_p)
{
    struct nf_gather_msg m = { .round = 1, .nranges = nranges }, decoded;
    struct nf_body body;
    enum nf_status status;

    nf_body_init(&body);
    CU_ASSERT_EQUAL(nf_put_gather(&body, &m, ranges), NF_OK);
    CU_ASSERT_EQUAL(nf_get_gather(body.data, body.bytes, &decoded), NF_OK);
    status = nf_held_pick(held, &decoded, units_p, count_p);
    nf_body_fini(&body);
    return status;
}

static void test_store(void)
{
    static const uint64_t ranges[] = { 2, 3, 7, 1, 9, 2 };
    static const uint8_t units_want[] = { 2, 3, 4, 7, 9, 10 };
    static const uint64_t missing[] = { 2, 3, 20, 1 };
    struct nf_held held = { 0 };
    struct nf_held_unit *units = NULL;
    uint64_t count = 0;

    add(&held, 8, 4, 3);
    add(&held, 0, 4, 3);  /* 0 and 1 do not count */
    add(&held, 3, 2, 3);  /* 3 twice */
    add(&held, 30, 5, 3); /* nothing of it counts */
    add(&held, 7, 1, 3);
    CU_ASSERT_EQUAL(pick(&held, missing, 2, &units, &count), NF_ERR_FAILED);
    for (int again = 0; again < 2; again++) {
        CU_ASSERT_EQUAL(pick(&held, ranges, 3, &units, &count), NF_OK);
        CU_ASSERT_EQUAL(count, 6);
        for (uint64_t i = 0; i < count && i < 6; i++) {
            CU_ASSERT_EQUAL(units[i].bytes, 3);
            CU_ASSERT_EQUAL(units[i].data[2], units_want[i]);
        }
        nf_free(units);
    }
    CU_ASSERT_EQUAL(held.nparts, 4);
    CU_ASSERT_EQUAL(held.bytes, 3 * (4 + 4 + 2 + 1));
    nf_held_fini(&held);
}

/* ------------------------------------------------------------------ the offer
 */

/* GATHER of units [first, first + count). */
static void begin_offer(struct nf_offer *offer, const struct nf_app *app,
                        bool combine, struct nf_held *held, uint64_t first,
                        uint64_t count)
{
    const uint64_t range[] = { first, count };
    struct nf_gather_msg m = { .round = 9, .nranges = 1 }, decoded;
    struct nf_body body;

    nf_body_init(&body);
    CU_ASSERT_EQUAL(nf_put_gather(&body, &m, range), NF_OK);
    CU_ASSERT_EQUAL(nf_get_gather(body.data, body.bytes, &decoded), NF_OK);
    CU_ASSERT_EQUAL(nf_offer_begin(offer, app, combine, held, &decoded), NF_OK);
    CU_ASSERT_EQUAL(offer->round, 9);
    nf_body_fini(&body);
}

/* @return in how many slices */
static unsigned finish_offer(struct nf_offer *offer)
{
    unsigned slices = 1;

    while (nf_offer_work(offer, 0) == NF_WAIT)
        slices++;
    CU_ASSERT_FALSE(offer->busy);
    return slices;
}

/* Whatever is large is done a piece at a time. */
static void test_offer_joined(void)
{
    static const struct nf_app app = { .name = "x", .result_type = NF_BYTES };
    enum { LARGE = (5 << 20) / 2 };
    struct nf_held held = { 0 };
    struct nf_offer offer = { 0 };
    struct nf_holding_msg m;
    struct nf_body body;
    const uint8_t *data;
    size_t wrong = 0;

    add(&held, 0, 2, LARGE);
    add(&held, 2, 3, 0);
    add(&held, 5, 1, 7);
    begin_offer(&offer, &app, false, &held, 1, 5);
    CU_ASSERT_EQUAL(finish_offer(&offer), 3 + 3 + 1);
    data = offer.joined->data;
    for (size_t i = 0; i < LARGE + 7; i++)
        wrong += data[i] != (i < LARGE ? 1 : 5);
    CU_ASSERT_EQUAL(wrong, 0);
    nf_body_init(&body);
    CU_ASSERT_EQUAL(nf_offer_put(&offer, &body), NF_OK);
    CU_ASSERT_EQUAL(nf_get_holding(body.data, body.bytes, &m), NF_OK);
    CU_ASSERT_EQUAL(m.round, 9);
    CU_ASSERT_EQUAL(m.count, 5);
    CU_ASSERT_EQUAL(m.bytes, LARGE + 7);
    CU_ASSERT_EQUAL(nf_layout_unit_bytes(&m.layout, 0), LARGE);
    CU_ASSERT_EQUAL(nf_layout_unit_bytes(&m.layout, 1), 0);
    CU_ASSERT_EQUAL(nf_layout_unit_bytes(&m.layout, 4), 7);
    nf_body_fini(&body);
    nf_offer_clear(&offer);
    CU_ASSERT_EQUAL(offer.round, 0);
    nf_held_fini(&held);
}

static void test_offer_combined(void)
{
    static const struct nf_app app = { .name = "x",
                                       .result_type = NF_INT32,
                                       .combine_by = NF_COMBINE_SUM };
    enum { N = 20000, UNITS_HERE = 3 };
    struct nf_held held = { 0 };
    struct nf_offer offer = { 0 };
    struct nf_holding_msg m;
    struct nf_body body;
    static uint32_t out[N];
    size_t wrong = 0;

    add(&held, 1, UNITS_HERE, sizeof(out)); /* of 0x01010101, 0x02020202, ... */
    begin_offer(&offer, &app, true, &held, 1, UNITS_HERE);
    CU_ASSERT_EQUAL(finish_offer(&offer), UNITS_HERE * offer.reducer.count);
    CU_ASSERT_TRUE(offer.reducer.count > 5);
    CU_ASSERT_TRUE(
        nf_reducer_unpack(&offer.reducer, offer.vector, (uint8_t *)out));
    for (size_t i = 0; i < N; i++)
        wrong += out[i] != 0x06060606;
    CU_ASSERT_EQUAL(wrong, 0);
    nf_body_init(&body);
    CU_ASSERT_EQUAL(nf_offer_put(&offer, &body), NF_OK);
    CU_ASSERT_EQUAL(nf_get_holding(body.data, body.bytes, &m), NF_OK);
    CU_ASSERT_EQUAL(m.count, UNITS_HERE);
    CU_ASSERT_EQUAL(m.bytes, sizeof(out));
    CU_ASSERT_EQUAL(m.layout.unit_bytes, sizeof(out));
    nf_body_fini(&body);
    nf_offer_clear(&offer);
    nf_held_fini(&held);
}

/* What can't be combined is told as it is, and the master sees. */
static void test_offer_of_different_sizes(void)
{
    static const struct nf_app app = { .name = "x",
                                       .result_type = NF_INT32,
                                       .combine_by = NF_COMBINE_SUM };
    struct nf_held held = { 0 };
    struct nf_offer offer = { 0 };
    struct nf_holding_msg m;
    struct nf_body body;

    add(&held, 0, 2, 8);
    add(&held, 2, 2, 12);
    begin_offer(&offer, &app, true, &held, 0, 4);
    CU_ASSERT_FALSE(offer.busy);
    nf_body_init(&body);
    CU_ASSERT_EQUAL(nf_offer_put(&offer, &body), NF_OK);
    CU_ASSERT_EQUAL(nf_get_holding(body.data, body.bytes, &m), NF_OK);
    CU_ASSERT_EQUAL(m.layout.unit_bytes, NF_LAYOUT_TABLE);
    CU_ASSERT_EQUAL(m.bytes, 40);
    nf_body_fini(&body);
    nf_offer_clear(&offer);
    nf_held_fini(&held);
}

/* ------------------------------------------------------------------ combining
 */

static void test_elements_of_types(void)
{
    static const struct nf_user_codes codes;
    int type = 0;

    for (; nf_type_bytes((enum nf_type)type) > 0; type++) {
        enum nf_elem elem = nf_elem_of((enum nf_type)type);

        CU_ASSERT_EQUAL(nf_elem_bytes(&codes, (int)elem),
                        nf_type_bytes((enum nf_type)type));
        CU_ASSERT_EQUAL(nf_elem_wire(&codes, (int)elem), (enum nf_type)type);
    }
    CU_ASSERT_EQUAL(type, NF_INT16 + 1); /* none was added behind the last */
}

static void test_largest_result(void)
{
    struct nf_app app = { .name = "x",
                          .result_type = NF_BYTES,
                          .combine_by = NF_COMBINE_OWN };
    struct nf_reducer r;
    size_t most = nf_reducer_most_bytes(&app);

    CU_ASSERT_EQUAL(nf_reducer_init(&r, &app, most), NF_OK);
    CU_ASSERT_EQUAL(nf_reducer_init(&r, &app, most + 1), NF_ERR_RANGE);
    app.result_type = NF_INT64;
    CU_ASSERT_EQUAL(nf_reducer_init(&r, &app, most + 7), NF_ERR_INVAL);
    CU_ASSERT_TRUE(nf_reducer_most_bytes(&app) > 4000000000);
}

static void test_reducer_flags(void)
{
    static const struct nf_app app = { .name = "x",
                                       .result_type = NF_INT32,
                                       .combine_by = NF_COMBINE_SUM };
    enum { N = 5000 };
    struct nf_reducer r;
    int32_t in[N], out[N];
    uint8_t *vector;

    CU_ASSERT_EQUAL(nf_reducer_init(&r, &app, 0), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_reducer_init(&r, &app, 6), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_reducer_init(&r, &app, sizeof(in)), NF_OK);
    for (int i = 0; i < N; i++)
        in[i] = i - 7;
    vector = nf_malloc(nf_reducer_vector_bytes(&r));
    nf_reducer_pack(&r, NULL, vector);
    CU_ASSERT_FALSE(nf_reducer_unpack(&r, vector, (uint8_t *)out));
    nf_reducer_pack(&r, in, vector);
    CU_ASSERT_TRUE(nf_reducer_unpack(&r, vector, (uint8_t *)out));
    CU_ASSERT_EQUAL(memcmp(in, out, sizeof(in)), 0);
    nf_free(vector);
}

static void test_nan_loses(void)
{
    const double values[] = { 3, NAN, -1, 7 };

    for (int by = NF_COMBINE_MIN; by <= NF_COMBINE_MAX; by++) {
        const struct nf_app app = { .name = "x",
                                    .result_type = NF_FLOAT64,
                                    .combine_by = (enum nf_combine)by };
        double x = NAN;

        for (size_t i = 0; i < 4; i++)
            nf_reducer_combine(&app, &x, &values[i], sizeof(x));
        CU_ASSERT_EQUAL(x, by == NF_COMBINE_MIN ? -1 : 7);
    }
}

static void test_sums_wrap(void)
{
    const struct nf_app app = { .name = "x",
                                .result_type = NF_INT64,
                                .combine_by = NF_COMBINE_SUM };
    uint64_t x = UINT64_MAX - 1, y = 5;

    nf_reducer_combine(&app, &x, &y, sizeof(x));
    CU_ASSERT_EQUAL(x, 3);
}

/* ----------------------------------------------------------------- whole jobs
 */

enum { UNITS = 200, BINS = 3000 };

struct sums {
    int64_t *bins;
    size_t bytes;
    uint64_t units, calls, collected;
};

/* Unit u adds to bin i; no two units or bins alike. */
static int64_t share_of(uint64_t unit, uint64_t i)
{
    uint64_t z = (unit * BINS + i + 1) * UINT64_C(0x9e3779b97f4a7c15);

    return (int64_t)(z ^ z >> 31);
}

static atomic_int hangs;

static int compute_bins(const struct nf_work *work)
{
    struct timespec second = { .tv_sec = 1 };
    int64_t *bins = nf_buf_reserve(work->result, BINS * sizeof(*bins));

    /* the last one takes its slave with it, once */
    if (work->first == UNITS - 1 && atomic_fetch_sub(&hangs, 1) > 0)
        nanosleep(&second, NULL);
    for (uint64_t i = 0; i < BINS && bins != NULL; i++)
        bins[i] = share_of(work->first, i);
    return bins == NULL;
}

static enum nf_status collect_bins(void *user, uint64_t unit,
                                   const void *result, size_t bytes)
{
    struct sums *s = user;
    int64_t first;

    memcpy(&first, result, sizeof(first));
    s->collected++;
    return first == share_of(unit, 0) && bytes == BINS * sizeof(first)
               ? NF_OK
               : NF_ERR_FAILED;
}

static enum nf_status collect_sums(void *user, const void *result, size_t bytes,
                                   uint64_t units)
{
    struct sums *s = user;

    s->calls++;
    s->units = units;
    s->bytes = bytes;
    s->bins = nf_malloc(bytes);
    memcpy(s->bins, result, bytes);
    return NF_OK;
}

static struct nf_report run_bins(const char *gather, int hang, struct sums *s)
{
    const struct nf_app app = { .name = "bins",
                                .units = UNITS,
                                .user = s,
                                .compute = compute_bins,
                                .collect = collect_bins,
                                .collect_combined = collect_sums,
                                .result_type = NF_INT64,
                                .combine_by = NF_COMBINE_SUM };
    const struct nf_options options = { .transport = "local",
                                        .slaves = 5,
                                        .slots = 1,
                                        .policy = "send",
                                        .unit_timeout_us = 300000,
                                        .gather = gather };
    struct nf_report report = { 0 };
    struct nf_error err = { .text = "" };

    atomic_store(&hangs, hang);
    CU_ASSERT_EQUAL(nf_run(&app, &options, &report, &err), NF_OK);
    if (err.text[0] != '\0')
        fprintf(stderr, "%s\n", err.text);
    return report;
}

static void check_sums(const struct sums *s)
{
    size_t wrong = 0;

    CU_ASSERT_EQUAL(s->calls, 1);
    CU_ASSERT_EQUAL(s->units, UNITS);
    CU_ASSERT_EQUAL(s->collected, 0);
    CU_ASSERT_EQUAL(s->bytes, BINS * sizeof(int64_t));
    for (uint64_t i = 0; i < BINS && s->bins != NULL; i++) {
        uint64_t sum = 0;

        for (uint64_t u = 0; u < UNITS; u++)
            sum += (uint64_t)share_of(u, i);
        wrong += (uint64_t)s->bins[i] != sum;
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

static void test_histogram(void)
{
    struct sums s = { 0 };
    struct nf_report r = run_bins("reduce", 0, &s);

    check_sums(&s);
    CU_ASSERT_EQUAL(r.gather_bytes, BINS * sizeof(int64_t));
    CU_ASSERT_EQUAL(r.recomputed, 0);
    CU_ASSERT_EQUAL(r.done_units, UNITS);
    nf_free(s.bins);
}

static void test_histogram_after_a_loss(void)
{
    struct sums s = { 0 };
    struct nf_report r = run_bins("reduce", 1, &s);

    check_sums(&s);
    CU_ASSERT_EQUAL(r.lost_slaves, 1);
    CU_ASSERT_TRUE(r.recomputed > 0); /* what that one had done before */
    CU_ASSERT_EQUAL(r.done_units, UNITS);
    nf_free(s.bins);
}

static void test_tree_after_a_loss(void)
{
    struct sums s = { 0 };
    struct nf_report r = run_bins("tree", 1, &s);

    CU_ASSERT_EQUAL(s.collected, UNITS);
    CU_ASSERT_EQUAL(s.calls, 0);
    CU_ASSERT_EQUAL(r.lost_slaves, 1);
    CU_ASSERT_TRUE(r.recomputed > 0);
    CU_ASSERT_EQUAL(r.gather_bytes, UNITS * BINS * sizeof(int64_t));
}

static void test_bad_ways(void)
{
    struct nf_app app = { .name = "bins",
                          .units = 1,
                          .compute = compute_bins,
                          .result_type = NF_BYTES };
    struct nf_options options = { .transport = "local", .gather = "nonsense" };
    struct nf_error err;

    CU_ASSERT_EQUAL(nf_run(&app, &options, NULL, &err), NF_ERR_INVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "nonsense"));
    options.gather = "reduce";
    CU_ASSERT_EQUAL(nf_run(&app, &options, NULL, &err), NF_ERR_INVAL);
    app.combine_by = NF_COMBINE_SUM; /* of bytes */
    CU_ASSERT_EQUAL(nf_run(&app, &options, NULL, &err), NF_ERR_INVAL);
    app.combine_by = NF_COMBINE_OWN; /* without a function */
    CU_ASSERT_EQUAL(nf_run(&app, &options, NULL, &err), NF_ERR_INVAL);
}

static CU_TestInfo tests[] = {
    { "what counts is picked in order, the rest forgotten", test_store },
    { "results are joined a piece at a time", test_offer_joined },
    { "... or combined", test_offer_combined },
    { "... or told as they are", test_offer_of_different_sizes },
    { "every type has its element", test_elements_of_types },
    { "the largest result is known", test_largest_result },
    { "no result is told from a result of zeros", test_reducer_flags },
    { "a NaN loses", test_nan_loses },
    { "sums of integers wrap", test_sums_wrap },
    { "a histogram is right to the last bit", test_histogram },
    { "... also if a slave was lost", test_histogram_after_a_loss },
    { "a tree of results is complete after a loss", test_tree_after_a_loss },
    { "ways that can't be are refused", test_bad_ways },
    CU_TEST_INFO_NULL,
};

static CU_SuiteInfo suites[] = {
    { "gather", NULL, NULL, NULL, NULL, tests },
    CU_SUITE_INFO_NULL,
};

int main(void)
{
    return nf_unit_main(suites);
}
