/* Fitting ping-pongs: against tests/golden/collectives.json, and where a
 * straight line is not enough. */
#include "config.h"
#include <jansson.h>
#include <math.h>
#include <string.h>
#include "common/model/model.h"
#include "tests/unit/nf_unit.h"

enum { SAMPLES_MAX = 32 };

static bool is_near(double got, double want, double relative)
{
    return fabs(got - want) <= relative * fabs(want) + 5.001e-7;
}

static void test_golden(void)
{
    json_t *golden =
        json_load_file(NF_SRCDIR "/tests/golden/collectives.json", 0, NULL);
    const char *machine, *kind;
    json_t *kinds, *fit;
    unsigned compared = 0;

    json_object_foreach(json_object_get(golden, "pingpong_fit"), machine, kinds)
        json_object_foreach(kinds, kind, fit)
    {
        struct nf_model_sample samples[SAMPLES_MAX];
        const json_t *points = json_object_get(fit, "points");
        const json_t *want = json_object_get(fit, "weighted [t_s, us/byte]");
        size_t count = json_array_size(points);
        struct nf_model model;
        struct nf_error err;

        for (size_t i = 0; i < count; i++) {
            const json_t *point = json_array_get(points, i);

            samples[i].bytes = json_number_value(json_array_get(point, 0));
            samples[i].time_us = json_number_value(json_array_get(point, 1));
        }
        CU_ASSERT_EQUAL(nf_model_fit(samples, count, &model, &err), NF_OK);
        CU_ASSERT_EQUAL(model.npieces, 1);
        CU_ASSERT(is_near(model.pieces[0].start_us,
                          json_number_value(json_array_get(want, 0)), 1e-6));
        CU_ASSERT(is_near(model.pieces[0].byte_us,
                          json_number_value(json_array_get(want, 1)), 1e-6));
        compared++;
    }
    CU_ASSERT_EQUAL(compared, 6);
    json_decref(golden);
}

/* T of some pieces at 0, 64, 256, ... bytes. */
static size_t sample(const struct nf_model *truth,
                     struct nf_model_sample *samples)
{
    size_t count = 0;

    for (double m = 0; m <= 4194304; m = m > 0 ? 4 * m : 64)
        samples[count++] =
            (struct nf_model_sample){ m, nf_model_send_us(truth, m) };
    return count;
}

static double worst_of(const struct nf_model *model,
                       const struct nf_model_sample *samples, size_t count)
{
    double worst = 0;

    for (size_t i = 0; i < count; i++)
        worst = fmax(worst, fabs(nf_model_send_us(model, samples[i].bytes) /
                                     samples[i].time_us -
                                 1));
    return worst;
}

/* The bandwidth collapses from 16 KiB on, and the other way round. */
static void test_pieces(void)
{
    static const struct nf_model slower = {
        .npieces = 2, .pieces = { { 0, 176, 0.105 }, { 16384, -3000, 0.3 } }
    };
    static const struct nf_model faster = {
        .npieces = 2, .pieces = { { 0, 46, 0.2 }, { 16384, 3000, 0.02 } }
    };
    const struct nf_model *const truths[] = { &slower, &faster };

    for (int i = 0; i < 2; i++) {
        struct nf_model_sample samples[SAMPLES_MAX];
        size_t count = sample(truths[i], samples);
        struct nf_model_piece line = nf_model_fit_line(samples, count);
        struct nf_model model = { .npieces = 1, .pieces = { line } };
        struct nf_error err;

        CU_ASSERT(worst_of(&model, samples, count) > 0.15);
        CU_ASSERT_EQUAL(nf_model_fit(samples, count, &model, &err), NF_OK);
        CU_ASSERT_EQUAL(model.npieces, 2);
        CU_ASSERT(worst_of(&model, samples, count) < 1e-9);
        CU_ASSERT_EQUAL(model.pieces[0].from_bytes, 0);
        for (uint32_t j = 1; j < model.npieces; j++)
            CU_ASSERT(model.pieces[j].from_bytes >
                      model.pieces[j - 1].from_bytes);
    }
}

/* Whatever was measured: sizes ascend, times are positive, at most 4 pieces. */
static void test_wild(void)
{
    struct nf_model_sample samples[SAMPLES_MAX];
    struct nf_model model;
    struct nf_error err;

    for (unsigned seed = 1; seed < 2000; seed++) {
        size_t count = 1 + seed % (SAMPLES_MAX - 1);
        unsigned state = seed;

        for (size_t i = 0; i < count; i++) {
            state = state * 1103515245 + 12345;
            samples[i].bytes = i > 0 ? pow(2, (double)i) : 0;
            samples[i].time_us = pow(10, (double)(state >> 16 & 1023) / 128);
        }
        CU_ASSERT_EQUAL(nf_model_fit(samples, count, &model, &err), NF_OK);
        CU_ASSERT(model.npieces >= 1);
        CU_ASSERT(model.npieces <= NF_MODEL_PIECES_MAX);
        CU_ASSERT(model.npieces == 1 || model.npieces <= count / 3);
        CU_ASSERT(model.pieces[0].start_us >= 0.1);
        for (size_t i = 0; i < count; i++)
            CU_ASSERT(nf_model_send_us(&model, samples[i].bytes) >= 0.0999);
        for (uint32_t i = 0; i < model.npieces; i++)
            CU_ASSERT(model.pieces[i].byte_us >= 1e-6);
    }
}

static void test_few(void)
{
    const struct nf_model_sample one = { 64, 50 };
    const struct nf_model_sample falling[] = { { 0, 50 }, { 64, 40 } };
    const struct nf_model_sample steep[] = { { 64, 1 }, { 128, 100 } };
    struct nf_model_piece line = nf_model_fit_line(&one, 1);

    CU_ASSERT(is_near(line.start_us, 50, 1e-4));
    CU_ASSERT_EQUAL(line.byte_us, 1e-6);
    line = nf_model_fit_line(falling, 2);
    CU_ASSERT_EQUAL(line.byte_us, 1e-6);
    CU_ASSERT(line.start_us > 40 && line.start_us < 50);
    line = nf_model_fit_line(steep, 2);
    CU_ASSERT_EQUAL(line.start_us, 0.1);
    CU_ASSERT(line.byte_us > 0);
}

static void refused(const struct nf_model_sample *samples, size_t count,
                    const char *line)
{
    struct nf_model model;
    struct nf_error err;

    CU_ASSERT_EQUAL(nf_model_fit(samples, count, &model, &err), NF_ERR_INVAL);
    CU_ASSERT_STRING_EQUAL(err.text, line);
}

static void test_refused(void)
{
    const struct nf_model_sample again[] = { { 64, 1 }, { 64, 2 } };
    const struct nf_model_sample zero[] = { { 0, 1 }, { 64, 0 } };
    const struct nf_model_sample odd[] = { { 0, NAN } };
    const struct nf_model_sample negative[] = { { -1, 1 } };

    struct nf_model_sample many[NF_MODEL_SAMPLES_MAX + 1];

    for (int i = 0; i <= NF_MODEL_SAMPLES_MAX; i++)
        many[i] = (struct nf_model_sample){ i, 1 };
    refused(many, NF_MODEL_SAMPLES_MAX + 1, "65 samples: want at most 64");
    refused(NULL, 0, "no samples to fit");
    refused(again, 2, "sample 1: 64 bytes: want sizes that ascend");
    refused(zero, 2, "sample 1: 0 us: want a time above 0");
    refused(odd, 1, "sample 0: nan us: want a time above 0");
    refused(negative, 1, "sample 0: -1 bytes: want sizes that ascend");
}

static void test_delta(void)
{
    const struct nf_model model = { .npieces = 1, .pieces = { { 0, 100, 1 } } };
    const struct nf_model_sample between[] = { { 900, 1250 }, { 1900, 3000 } };
    const struct nf_model_sample fast[] = { { 900, 10 } };
    const struct nf_model_sample slow[] = { { 900, 10000 } };

    CU_ASSERT_EQUAL(nf_model_delta(&model, between, 2), 1.5);
    CU_ASSERT_EQUAL(nf_model_delta(&model, fast, 1), 1);
    CU_ASSERT_EQUAL(nf_model_delta(&model, slow, 1), 2);
}

static void test_combine(void)
{
    static struct nf_model model;
    char name[16];

    CU_ASSERT_EQUAL(nf_model_combine_byte_us(&model, "double", "sum"), 0);
    nf_model_set_combine(&model, "double", "sum", 0.25);
    nf_model_set_combine(&model, "double", "max", 0.5);
    nf_model_set_combine(&model, "int8", "sum", 2);
    nf_model_set_combine(&model, "double", "sum", 0.125);
    CU_ASSERT_EQUAL(model.ncombines, 3);
    CU_ASSERT_EQUAL(nf_model_combine_byte_us(&model, "double", "sum"), 0.125);
    CU_ASSERT_EQUAL(nf_model_combine_byte_us(&model, "double", "min"), 0.5);
    CU_ASSERT_EQUAL(nf_model_combine_byte_us(&model, "float", "sum"), 2);
    /* names are cut, and still found */
    nf_model_set_combine(&model, "a very long name indeed", "sum", 3);
    CU_ASSERT_EQUAL(
        nf_model_combine_byte_us(&model, "a very long name indeed", "sum"), 3);
    for (int i = 0; model.ncombines < NF_MODEL_COMBINES_MAX; i++) {
        snprintf(name, sizeof(name), "t%d", i);
        CU_ASSERT_EQUAL(nf_model_set_combine(&model, name, "sum", 1), NF_OK);
    }
    CU_ASSERT_EQUAL(nf_model_set_combine(&model, "more", "sum", 1),
                    NF_ERR_RANGE);
    CU_ASSERT_EQUAL(nf_model_set_combine(&model, "t0", "sum", 7), NF_OK);
}

static void test_worse(void)
{
    const struct nf_model a = {
        .npieces = 4,
        .pieces = { { 0, 10, 1 },
                    { 100, 0, 2 },
                    { 1000, 900, 1 },
                    { 50000, 0, 1.5 } },
        .delta = 1.2,
        .occupancy_us = 3,
        .hosts_hash = 7,
    };
    const struct nf_model b = {
        .npieces = 4,
        .pieces = { { 0, 50, 0.5 },
                    { 64, 0, 2 },
                    { 2000, 100, 3 },
                    { 60000, 5, 0.9 } },
        .delta = 1.1,
        .occupancy_us = 4,
        .share_us = 30,
        .share_part = 0.25,
    };
    struct nf_model worse;

    nf_model_worse(&a, &b, &worse);
    CU_ASSERT_EQUAL(worse.npieces, 4);
    CU_ASSERT_EQUAL(worse.delta, 1.2);
    CU_ASSERT_EQUAL(worse.occupancy_us, 4);
    CU_ASSERT_EQUAL(worse.share_us, 30);
    CU_ASSERT_EQUAL(worse.share_part, 0.25);
    CU_ASSERT_EQUAL(worse.hosts_hash, 7);
    CU_ASSERT_EQUAL(worse.pieces[0].from_bytes, 0);
    for (double m = 0; m < 200000; m = m * 1.01 + 1) {
        CU_ASSERT(nf_model_send_us(&worse, m) >= nf_model_send_us(&a, m));
        CU_ASSERT(nf_model_send_us(&worse, m) >= nf_model_send_us(&b, m));
    }
    /* of straight lines: the greater start, the greater slope */
    nf_model_worse(
        &(struct nf_model){ .npieces = 1, .pieces = { { 0, 10, 1 } } },
        &(struct nf_model){ .npieces = 1, .pieces = { { 0, 5, 2 } } }, &worse);
    CU_ASSERT_EQUAL(worse.npieces, 1);
    CU_ASSERT_EQUAL(worse.pieces[0].start_us, 10);
    CU_ASSERT_EQUAL(worse.pieces[0].byte_us, 2);
}

/* A set: neither order nor repetitions count. */
static void test_hosts(void)
{
    static const char one[][8] = { "ws0", "ws1", "ws2" };
    static const char two[][8] = { "ws2", "ws0", "ws2", "ws1", "ws0" };
    static const char other[][8] = { "ws0", "ws1", "ws3" };
    uint32_t hash = nf_model_hosts_hash(one[0], sizeof(one[0]), 3);

    CU_ASSERT_NOT_EQUAL(hash, 0);
    CU_ASSERT_EQUAL(nf_model_hosts_hash(two[0], sizeof(two[0]), 5), hash);
    CU_ASSERT_NOT_EQUAL(nf_model_hosts_hash(one[0], sizeof(one[0]), 2), hash);
    CU_ASSERT_NOT_EQUAL(nf_model_hosts_hash(other[0], sizeof(other[0]), 3),
                        hash);
}

/* ---- processors that members share ---- */

/* 8 members: 3 rounds, and the last one is let go 6 sends after rank 0's. */
static void test_share(void)
{
    const struct nf_model model = { .npieces = 1,
                                    .pieces = { { 0, 40, 0.1 } },
                                    .occupancy_us = 5 };
    const double own_us = 3 * 40 + 6 * 5;

    /* what members with processors of their own take, and half as long again */
    CU_ASSERT_EQUAL(nf_model_share_us(&model, 8, own_us), 0);
    CU_ASSERT_EQUAL(nf_model_share_us(&model, 8, 180 + 30), 0);
    /* beyond that all of it is that of 24 messages */
    CU_ASSERT_DOUBLE_EQUAL(nf_model_share_us(&model, 8, 181 + 30), 181.0 / 24,
                           1e-12);
    CU_ASSERT_DOUBLE_EQUAL(nf_model_share_us(&model, 8, 720 + 30), 30, 1e-12);
    /* 5 members: 3 rounds too, of 5 messages */
    CU_ASSERT_DOUBLE_EQUAL(nf_model_share_us(&model, 5, 300 + 15), 20, 1e-12);
    /* two members take one round, and wait for nobody */
    CU_ASSERT_EQUAL(nf_model_share_us(&model, 2, 60), 0);
    CU_ASSERT_DOUBLE_EQUAL(nf_model_share_us(&model, 2, 61), 30.5, 1e-12);
    /* a barrier that was faster than its own sends */
    CU_ASSERT_EQUAL(nf_model_share_us(&model, 1000, 10), 0);
}

/* Members of whom each host's processors pass their part of the messages: what
 * a barrier takes in a world of h hosts of which each has one processor. */
static double barrier_us(const uint32_t *on_host, uint32_t nhosts,
                         double message_us)
{
    uint32_t members = 0, most = 0, rounds = 0;

    for (uint32_t h = 0; h < nhosts; h++) {
        members += on_host[h];
        most = on_host[h] > most ? on_host[h] : most;
    }
    while (1u << rounds < members)
        rounds++;
    return rounds * most * message_us;
}

/* Measured with some members here and there, what is said of others is what
 * these would have measured. */
static void test_share_elsewhere(void)
{
    static const uint32_t worlds[][4] = { { 4, 4, 4, 4 }, { 8, 0, 0, 0 },
                                          { 2, 2, 2, 2 }, { 4, 4, 0, 0 },
                                          { 7, 1, 1, 1 }, { 16, 0, 0, 0 } };
    enum { WORLDS = sizeof(worlds) / sizeof(*worlds) };

    for (int m = 0; m < WORLDS; m++)
        for (int u = 0; u < WORLDS; u++) {
            uint32_t hosts[2][16], count[2] = { 0, 0 };
            struct nf_model model = { .npieces = 1,
                                      .pieces = { { 0, 0.001, 0 } } };
            double want;

            for (int w = 0; w < 2; w++)
                for (uint32_t h = 0; h < 4; h++)
                    for (uint32_t i = 0; i < worlds[w == 0 ? m : u][h]; i++)
                        hosts[w][count[w]++] = h;
            model.share_us = nf_model_share_us(&model, count[0],
                                               barrier_us(worlds[m], 4, 10));
            model.share_part = nf_model_fullest_part(hosts[0], count[0]);
            want = nf_model_share_us(&model, count[1],
                                     barrier_us(worlds[u], 4, 10));
            CU_ASSERT_DOUBLE_EQUAL(
                nf_model_share_on(&model,
                                  nf_model_fullest_part(hosts[1], count[1])),
                want, 1e-9);
            /* not known: as it is */
            model.share_part = 0;
            CU_ASSERT_EQUAL(nf_model_share_on(&model, 0.5), model.share_us);
        }
}

static void test_fullest(void)
{
    static const uint32_t hosts[] = { 7, 3, 7, 9, 7, 3 };

    CU_ASSERT_EQUAL(nf_model_fullest_part(hosts, 6), 0.5);
    CU_ASSERT_EQUAL(nf_model_fullest_part(hosts, 2), 0.5);
    CU_ASSERT_EQUAL(nf_model_fullest_part(hosts, 1), 1);
    CU_ASSERT_EQUAL(nf_model_fullest_part(NULL, 4), 0.25);
}

int main(void)
{
    CU_TestInfo fit[] = {
        { "golden ping-pongs", test_golden },
        { "a bandwidth that changes gives pieces", test_pieces },
        { "wild measurements", test_wild },
        { "few samples", test_few },
        { "samples that cannot be", test_refused },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo model[] = {
        { "exchanges", test_delta },
        { "the time of combining", test_combine },
        { "the worse of two links", test_worse },
        { "hosts are a set", test_hosts },
        { "what a barrier tells of processors", test_share },
        { "what it tells of other members", test_share_elsewhere },
        { "the part on the fullest host", test_fullest },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "fit", NULL, NULL, NULL, NULL, fit },
        { "model", NULL, NULL, NULL, NULL, model },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
