/* Which all-to-all on a torus: what each way takes, and which is taken. */
#include "config.h"
#include <string.h>
#include "common/base/alloc.h"
#include "common/coll/torus_choice.h"
#include "tests/unit/nf_unit.h"

/* 90 us and 1 ns a byte: t_s B is 90000 bytes. */
static const struct nf_exchange_price straight = { .npieces = 1,
                                                   .start_ns = { 90000 },
                                                   .byte_ps = { 1000 } };
static const struct nf_exchange_price bent = {
    .npieces = 2,
    .from_bytes = { 0, 4096 },
    .start_ns = { 20000, -30000 },
    .byte_ps = { 5000, 20000 },
};

static struct nf_torus_choices *choices_of(const struct nf_coll_sides *shape)
{
    struct nf_torus_choices *choices = NULL;

    CU_ASSERT_EQUAL_FATAL(
        nf_torus_choices_create(shape, (uint32_t)nf_coll_sides_product(shape),
                                &choices, NULL),
        NF_OK);
    return choices;
}

static struct nf_coll_query query_of(uint32_t ranks, uint64_t bytes)
{
    return (struct nf_coll_query){ .op = NF_COLL_ALLTOALL,
                                   .ranks = ranks,
                                   .bytes = bytes,
                                   .elements = bytes,
                                   .commutative = true };
}

/* Rounds S and contended volume Vc of the reference implementation on N x N:
 * Double-Hop, Bruck along each side, sides pairwise.  Of a burst by hand: with k = N / 2
 * rounded down a channel of a ring has k (k + 1) / 2 bundles of N blocks for odd N, for
 * even N k (k - 1) / 2 and of the longest way, which even and odd nodes take in opposite
 * directions, N / 4 rounded up. */
static void ways_take_what_the_reference_says(void)
{
    static const struct {
        uint32_t n;
        uint32_t rounds[NF_TORUS_WAYS];
        uint64_t contended[NF_TORUS_WAYS];
    } golden[] = {
        { 4, { 4, 4, 6, 1 }, { 32, 32, 24, 8 } },
        { 6, { 6, 6, 10, 1 }, { 108, 132, 96, 30 } },
        { 7, { 10, 6, 12, 1 }, { 266, 252, 168, 42 } },
        { 8, { 8, 6, 14, 1 }, { 256, 320, 224, 64 } },
        { 9, { 12, 8, 16, 1 }, { 522, 522, 360, 90 } },
        { 10, { 10, 8, 18, 1 }, { 500, 660, 460, 130 } },
        { 12, { 12, 8, 22, 1 }, { 864, 1200, 792, 216 } },
        { 13, { 16, 8, 24, 1 }, { 1430, 1638, 1092, 273 } },
        { 16, { 16, 8, 30, 1 }, { 2048, 2816, 1920, 512 } },
    };

    for (size_t i = 0; i < sizeof(golden) / sizeof(*golden); i++) {
        const struct nf_coll_sides shape = { 2, { golden[i].n, golden[i].n } };
        struct nf_torus_choices *choices = choices_of(&shape);

        for (uint32_t way = 0; way < NF_TORUS_WAYS; way++) {
            uint32_t rounds;
            uint64_t contended;

            CU_ASSERT_PTR_NOT_NULL(
                nf_torus_way(choices, way, &rounds, &contended));
            CU_ASSERT_EQUAL(rounds, golden[i].rounds[way]);
            CU_ASSERT_EQUAL(contended, golden[i].contended[way]);
            if (way + 1 < NF_TORUS_WAYS)
                CU_ASSERT_EQUAL(nf_torus_ns(choices, &straight, 1000, way),
                                90000 * (uint64_t)rounds + 1000 * contended);
        }
        nf_torus_choices_destroy(choices);
    }
}

/* 6 x 6: Double-Hop until 96 blocks and 4 start-ups more are less than 108 blocks, and
 * then that until 35 messages are less, which a burst has where o_s is not known. */
static void choices_change_where_lines_cross(void)
{
    static const struct {
        uint64_t bytes;
        const char *name;
    } cases[] = {
        { 1, "alltoall.dh" },
        { 29999, "alltoall.dh" },
        { 30001, "alltoall.pairwise_grid" },
        { 36884, "alltoall.pairwise_grid" },
        { 36887, "alltoall.burst" },
        { UINT64_C(1) << 40, "alltoall.burst" },
    };
    const struct nf_coll_sides shape = { 2, { 6, 6 } };
    struct nf_torus_choices *choices = choices_of(&shape);

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct nf_coll_query query = query_of(36, cases[i].bytes);
        struct nf_coll_choice choice;

        CU_ASSERT(nf_torus_choose(choices, &straight, &query, &choice));
        CU_ASSERT_STRING_EQUAL(choice.algorithm->name, cases[i].name);
        CU_ASSERT_EQUAL(choice.params.shape.count,
                        choice.algorithm->by_shape ? 2 : 0);
    }
    nf_torus_choices_destroy(choices);
}

static void nothing_else_is_cheaper(void)
{
    static const struct nf_coll_sides shapes[] = {
        { 1, { 2 } },       { 1, { 7 } },          { 2, { 3, 4 } },
        { 2, { 1, 8 } },    { 2, { 5, 7 } },       { 3, { 2, 3, 4 } },
        { 3, { 4, 4, 4 } }, { 4, { 3, 2, 2, 3 } },
    };
    const struct nf_exchange_price *prices[] = { &straight, &bent };

    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        struct nf_torus_choices *choices = choices_of(&shapes[i]);
        uint32_t ranks = (uint32_t)nf_coll_sides_product(&shapes[i]);

        for (int p = 0; p < 2; p++)
            for (uint64_t bytes = 1; bytes < 1 << 27; bytes *= 3) {
                const struct nf_coll_query query = query_of(ranks, bytes);
                struct nf_coll_choice choice;

                CU_ASSERT(nf_torus_choose(choices, prices[p], &query, &choice));
                for (uint32_t way = 0; way < NF_TORUS_WAYS; way++) {
                    uint32_t rounds;
                    uint64_t contended;

                    if (nf_torus_way(choices, way, &rounds, &contended) == NULL)
                        continue;
                    CU_ASSERT(
                        (double)nf_torus_ns(choices, prices[p], bytes, way) /
                            1e3 >=
                        choice.cost_us);
                }
            }
        nf_torus_choices_destroy(choices);
    }
}

/* 16 x 16: from its channels, not from its 255 messages. */
static void a_burst_fills_channels(void)
{
    const struct nf_coll_sides shape = { 2, { 16, 16 } };
    struct nf_torus_choices *choices = choices_of(&shape);
    uint32_t rounds;
    uint64_t blocks;

    CU_ASSERT_PTR_EQUAL(nf_torus_way(choices, 3, &rounds, &blocks),
                        &nf_coll_alltoall_burst);
    CU_ASSERT_EQUAL(blocks, 16 * (28 + 4));
    CU_ASSERT_EQUAL(nf_torus_ns(choices, &straight, 10, 3), 255 * (90000 + 10));
    CU_ASSERT_EQUAL(nf_torus_ns(choices, &straight, 1000000, 3),
                    90000 + 512 * UINT64_C(1000000));
    nf_torus_choices_destroy(choices);
}

/* A limit of memory leaves those that send blocks straight home. */
static void memory_is_kept_to(void)
{
    const struct nf_coll_sides shape = { 2, { 4, 4 } };
    struct nf_torus_choices *choices = choices_of(&shape);
    struct nf_coll_query query = query_of(16, 1000);
    struct nf_coll_choice choice;

    CU_ASSERT(nf_torus_choose(choices, &straight, &query, &choice));
    CU_ASSERT_STRING_EQUAL(choice.algorithm->name, "alltoall.dh");
    query.memory_bytes = 5000;
    CU_ASSERT(nf_torus_choose(choices, &straight, &query, &choice));
    CU_ASSERT_STRING_EQUAL(choice.algorithm->name, "alltoall.burst");
    nf_torus_choices_destroy(choices);
}

static void other_shapes_are_refused(void)
{
    static const struct {
        struct nf_coll_sides shape;
        uint32_t ranks;
        const char *said;
    } bad[] = {
        { { 2, { 3, 4 } }, 13, "a torus of 12 nodes for 13 members" },
        { { 1, { 1 } }, 1, "a torus has 2 to 256 members, not 1" },
        { { 2, { 16, 17 } }, 272, "a torus has 2 to 256 members, not 272" },
    };
    struct nf_torus_choices *choices;
    struct nf_error err;

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        CU_ASSERT_EQUAL(nf_torus_choices_create(&bad[i].shape, bad[i].ranks,
                                                &choices, &err),
                        NF_ERR_INVAL);
        CU_ASSERT_STRING_EQUAL(err.text, bad[i].said);
    }
    nf_torus_choices_destroy(NULL);
}

static void want_of_memory_is_told(void)
{
    const struct nf_coll_sides shape = { 2, { 3, 4 } };
    struct nf_torus_choices *choices;
    enum nf_status status = NF_ERR_NOMEM;

    for (long n = 0; status != NF_OK && n < 10000; n++) {
        nf_alloc_fail_after(n);
        status = nf_torus_choices_create(&shape, 12, &choices, NULL);
        nf_alloc_fail_after(-1);
        CU_ASSERT(status == NF_OK || status == NF_ERR_NOMEM);
    }
    CU_ASSERT_EQUAL_FATAL(status, NF_OK);
    nf_torus_choices_destroy(choices);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "ways take what the reference says",
          ways_take_what_the_reference_says },
        { "choices change where lines cross",
          choices_change_where_lines_cross },
        { "nothing else is cheaper", nothing_else_is_cheaper },
        { "a burst fills channels", a_burst_fills_channels },
        { "memory is kept to", memory_is_kept_to },
        { "other shapes are refused", other_shapes_are_refused },
        { "want of memory is told", want_of_memory_is_told },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "which all-to-all on a torus", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
