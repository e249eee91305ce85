/* Exchanges on tori with wormhole routing, and Table 1. */
#include "config.h"
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/coll/torus.h"
#include "sim/torus_run.h"
#include "sim/torus_table.h"
#include "tests/unit/coll_exchange.h"
#include "tests/unit/nf_unit.h"

static struct nf_torus_setup setup_of(const char *shape, uint32_t block_bytes)
{
    struct nf_torus_setup setup = {
        .costs = NF_MESH_COSTS_PAPER,
        .block_bytes = block_bytes,
        .pace = NF_PACE_STEPS,
    };

    CU_ASSERT_EQUAL(nf_torus_parse(shape, &setup.mesh, NULL), NF_OK);
    return setup;
}

static struct nf_coll_sides sides(const struct nf_mesh *mesh)
{
    struct nf_coll_sides shape = { .count = mesh->dims };

    for (uint32_t d = 0; d < mesh->dims; d++)
        shape.of[d] = mesh->side[d];
    return shape;
}

/* Algorithm number *i or a later one of all-to-all that is for this torus. */
static const struct nf_coll_algorithm *next_for(const struct nf_mesh *mesh,
                                                size_t *i)
{
    const struct nf_coll_sides shape = sides(mesh);
    const struct nf_coll_args args = { .ranks = mesh->nodes,
                                       .segments = 1,
                                       .shape = &shape };

    for (; nf_coll_table[*i] != NULL; ++*i)
        if (nf_coll_table[*i]->op == NF_COLL_ALLTOALL &&
            nf_coll_fits(nf_coll_table[*i], &args, NULL) == NF_OK)
            return nf_coll_table[(*i)++];
    return NULL;
}

/* @param load_p  may be NULL, else nf_torus_load_fini() it */
static enum nf_status run(const struct nf_torus_setup *setup, const char *name,
                          struct nf_torus_load *load_p,
                          struct nf_torus_result *result_p,
                          struct nf_error *err)
{
    const struct nf_coll_sides shape = sides(&setup->mesh);
    struct nf_schedule s;
    enum nf_status status = NF_ERR_FAILED;

    if (!make_exchange(name, &shape, NULL, &s))
        return NF_ERR_INVAL;
    status = nf_torus_run(setup, &s, result_p, err);
    if (load_p != NULL && nf_torus_measure(&shape, setup->mesh.nodes, &s, 0,
                                           load_p, NULL) != NF_OK)
        status = NF_ERR_NOMEM;
    nf_schedule_fini(&s);
    return status;
}

/* ---- who meets whom ---- */

static const char *const tori[] = { "1",   "2",     "3",     "5",    "6",
                                    "7",   "12",    "13",    "2x2",  "3x3",
                                    "4x4", "5x5",   "6x6",   "7x7",  "8x8",
                                    "9x9", "11x11", "3x4",   "5x7",  "6x4",
                                    "1x8", "2x3x4", "3x3x3", "4x4x2" };
enum { NTORI = sizeof(tori) / sizeof(tori[0]) };

/* Messages meet in a simulation of flits if and only if some channel has two of
 * a step; those that promise one never meet, and take as long as alone. */
static void messages_meet_where_channels_say(void)
{
    static const uint32_t sizes[] = { 0, 1, 64, 3000 };
    unsigned promised = 0, free = 0, met = 0;

    for (int t = 0; t < NTORI; t++)
        for (int b = 0; b < 4; b++) {
            struct nf_torus_setup setup = setup_of(tori[t], sizes[b]);
            const struct nf_coll_algorithm *algorithm;

            for (size_t i = 0;
                 (algorithm = next_for(&setup.mesh, &i)) != NULL;) {
                struct nf_torus_result result;
                struct nf_torus_load load = { .each = NULL };
                bool one = algorithm->ports != NF_PORTS_MANY;

                CU_ASSERT_EQUAL(
                    run(&setup, algorithm->name, &load, &result, NULL), NF_OK);
                CU_ASSERT(result.time >= result.ideal);
                CU_ASSERT((result.waits == 0) <= (result.waited == 0));
                if (algorithm->one_each) {
                    CU_ASSERT(nf_torus_is_free(&result));
                    CU_ASSERT_EQUAL(result.time, result.ideal);
                    promised++;
                }
                if (one && load.channel_messages <= 1) {
                    CU_ASSERT(nf_torus_is_free(&result));
                    free++;
                }
                /* short ones may just miss each other */
                if (load.channel_messages > 1 && sizes[b] >= 64) {
                    CU_ASSERT_FALSE(nf_torus_is_free(&result));
                    met++;
                }
                nf_torus_load_fini(&load);
            }
        }
    printf("promised %u, free %u, met %u ", promised, free, met);
    CU_ASSERT(promised > 200 && free > 300 && met > 100);
}

/* What promises to be free needs no second lane. */
static void one_lane_is_enough_for_who_promises(void)
{
    for (int t = 0; t < NTORI; t++) {
        struct nf_torus_setup two = setup_of(tori[t], 64), one = two;
        const struct nf_coll_algorithm *algorithm;

        one.mesh.one_lane = true;
        for (size_t i = 0; (algorithm = next_for(&two.mesh, &i)) != NULL;) {
            struct nf_torus_result a, b;

            if (!algorithm->one_each)
                continue;
            CU_ASSERT_EQUAL(run(&two, algorithm->name, NULL, &a, NULL), NF_OK);
            CU_ASSERT_EQUAL(run(&one, algorithm->name, NULL, &b, NULL), NF_OK);
            CU_ASSERT_EQUAL(a.time, b.time);
            CU_ASSERT(nf_torus_is_free(&b));
        }
    }
}

/* ... and others come to a stop on one: flat pairwise goes half round rings. */
static void one_lane_is_not_enough_for_others(void)
{
    static const char *const shapes[] = { "7", "8", "6x6", "7x7" };

    for (int i = 0; i < 4; i++) {
        struct nf_torus_setup setup = setup_of(shapes[i], 3000);
        struct nf_torus_result result;
        struct nf_error err = { .text = "" };

        CU_ASSERT_EQUAL(
            run(&setup, "alltoall.pairwise_shift", NULL, &result, &err), NF_OK);
        CU_ASSERT(result.waits > 0);
        setup.mesh.one_lane = true;
        CU_ASSERT_EQUAL(
            run(&setup, "alltoall.pairwise_shift", NULL, &result, &err),
            NF_ERR_FAILED);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "wait for each other in a "
                                                "cycle: "));
    }
}

/* The goldens count channels on tori; where the most have one message, and only
 * there, nobody waits. */
static void contention_is_the_goldens(void)
{
    static const char *const names[][2] = {
        { "bruck2_per_dim", "alltoall.bruck_grid" },
        { "cyclic", "alltoall.cdh" },
        { "grid_pairwise", "alltoall.pairwise_grid" },
        { "naive", "alltoall.naive" },
        { "pairwise_flat", "alltoall.pairwise_shift" },
        { "paper", "alltoall.mdh" },
    };
    const json_t *list = json_object_get(golden, "torus_contended");

    CU_ASSERT_EQUAL(json_array_size(list), 6);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *row = json_array_get(list, i);
        char shape[20];

        snprintf(shape, sizeof(shape), "%dx%d", (int)number(row, "N"),
                 (int)number(row, "N"));
        for (size_t j = 0; j < sizeof(names) / sizeof(names[0]); j++) {
            const json_t *want = json_object_get(row, names[j][0]);
            struct nf_torus_setup setup = setup_of(shape, 64);
            struct nf_torus_result result;

            CU_ASSERT_EQUAL(run(&setup, names[j][1], NULL, &result, NULL),
                            NF_OK);
            CU_ASSERT_EQUAL(nf_torus_is_free(&result),
                            number(want, "chan") == 1);
        }
    }
}

/* ---- times ---- */

/* S (s_s + r_s) + V b (s_d + c + r_d) + c (K - 1) of each step, where the
 * longest way is also that of the largest message. */
static void times_are_the_formulas(void)
{
    for (uint32_t n = 2; n <= 12; n++) {
        char shape[20];
        struct nf_torus_setup setup;
        struct nf_torus_result naive, dh;
        int64_t v = (int64_t)n * n * (n - 1), half = n / 2;

        snprintf(shape, sizeof(shape), "%ux%u", n, n);
        setup = setup_of(shape, 100);
        CU_ASSERT_EQUAL(run(&setup, "alltoall.naive", NULL, &naive, NULL),
                        NF_OK);
        CU_ASSERT_EQUAL(naive.time, 2 * (n - 1) * (5500 + 2 * 2) + v * 700);
        if (n % 2 != 0)
            continue;
        CU_ASSERT_EQUAL(run(&setup, "alltoall.dh", NULL, &dh, NULL), NF_OK);
        CU_ASSERT_EQUAL(dh.time, 2 * half * 5500 +
                                     (int64_t)n * n * n / 2 * 700 +
                                     2 * ((half - 1) * 3 * 2 + 2 * 2));
    }
}

static void add(struct nf_schedule *s, uint32_t round, uint32_t src,
                uint32_t dst, uint32_t blocks)
{
    nf_schedule_send(s, round, src, dst, 0, blocks, NF_COLL_COPY);
}

/* A ring of 8, one tick for a hop, sends of 10 and 1 a block, receipts of 5.
 * 0 > 1 > 2 with one block each, 4 > 5 > 6 with 20: in step the first has to
 * wait for the second. */
static void paces(void)
{
    struct nf_torus_setup setup = setup_of("8", 1);
    struct nf_torus_result result;
    struct nf_schedule s;

    setup.costs = (struct nf_mesh_costs){ 10, 1, 1, 5, 0 };
    nf_schedule_init(&s, NF_ALL_RANKS);
    add(&s, 0, 0, 1, 1);
    add(&s, 0, 4, 5, 20);
    add(&s, 1, 1, 2, 20);
    add(&s, 1, 5, 6, 1);
    nf_schedule_sort(&s);
    /* 30 + (2 + 20) + 5 for 20 blocks, 11 + (2 + 1) + 5 for one */
    CU_ASSERT_EQUAL(nf_torus_run(&setup, &s, &result, NULL), NF_OK);
    CU_ASSERT_EQUAL(result.time, 57 + 57);
    CU_ASSERT_EQUAL(result.ideal, 57 + 57);
    setup.pace = NF_PACE_FREE;
    CU_ASSERT_EQUAL(nf_torus_run(&setup, &s, &result, NULL), NF_OK);
    CU_ASSERT_EQUAL(result.time, 57 + 19);
    CU_ASSERT_EQUAL(result.ideal, 57 + 19);
    CU_ASSERT_EQUAL(result.waits, 0);
    nf_schedule_fini(&s);
}

/* Of several messages of a step a node prepares one after the other; two for
 * one node share its port and then its attention. */
static void several_of_a_step(void)
{
    struct nf_torus_setup setup = setup_of("8", 1);
    struct nf_torus_result result;
    struct nf_schedule s;

    setup.costs = (struct nf_mesh_costs){ 10, 1, 1, 50, 0 };
    nf_schedule_init(&s, NF_ALL_RANKS);
    add(&s, 0, 0, 1, 5);
    add(&s, 0, 0, 2, 5);
    CU_ASSERT_EQUAL(nf_torus_run(&setup, &s, &result, NULL), NF_OK);
    CU_ASSERT_EQUAL(result.time, 2 * 15 + (3 + 5) + 50);
    CU_ASSERT_EQUAL(result.waits, 0);
    nf_schedule_fini(&s);

    nf_schedule_init(&s, NF_ALL_RANKS);
    add(&s, 0, 0, 1, 5);
    add(&s, 0, 2, 1, 5);
    /* both ask for the port at 17; the second has it at 22, its tail is there
     * at 27, and is taken after the first, which came at 22 */
    CU_ASSERT_EQUAL(nf_torus_run(&setup, &s, &result, NULL), NF_OK);
    CU_ASSERT_EQUAL(result.waits, 1);
    CU_ASSERT_EQUAL(result.waited, 5);
    CU_ASSERT_EQUAL(result.time, 22 + 50 + 50);
    CU_ASSERT_EQUAL(result.ideal, 22 + 50);
    nf_schedule_fini(&s);
}

/* When each node goes on by itself nothing gets later without contention. */
static void free_pace_is_no_slower_alone(void)
{
    for (int t = 0; t < NTORI; t++) {
        struct nf_torus_setup setup = setup_of(tori[t], 64);
        const struct nf_coll_algorithm *algorithm;

        for (size_t i = 0; (algorithm = next_for(&setup.mesh, &i)) != NULL;) {
            struct nf_torus_result steps, own;

            setup.pace = NF_PACE_STEPS;
            CU_ASSERT_EQUAL(run(&setup, algorithm->name, NULL, &steps, NULL),
                            NF_OK);
            setup.pace = NF_PACE_FREE;
            CU_ASSERT_EQUAL(run(&setup, algorithm->name, NULL, &own, NULL),
                            NF_OK);
            CU_ASSERT(own.ideal <= steps.ideal);
            CU_ASSERT(own.time >= own.ideal);
        }
    }
}

/* ---- what is turned down ---- */

static void expect(const struct nf_torus_setup *setup, struct nf_schedule *s,
                   enum nf_status want, const char *text)
{
    struct nf_torus_result result;
    struct nf_error err = { .text = "" };

    CU_ASSERT_EQUAL(nf_torus_run(setup, s, &result, &err), want);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, text));
    nf_schedule_fini(s);
    nf_schedule_init(s, NF_ALL_RANKS);
}

static void what_is_turned_down(void)
{
    struct nf_torus_setup setup = setup_of("5x6", 1000), slow = setup,
                          no_time = setup;
    struct nf_schedule s;

    nf_schedule_init(&s, NF_ALL_RANKS);
    add(&s, 3, 0, 2, 1);
    nf_schedule_route(&s, 1, 3);
    expect(&setup, &s, NF_ERR_VERIFY, "step 3, 0 to 2: there is no such way");
    add(&s, 0, 0, 30, 1);
    expect(&setup, &s, NF_ERR_VERIFY, "0 to 30");
    add(&s, 0, 0, 2, 1000001);
    expect(&setup, &s, NF_ERR_RANGE, "1000001 such blocks");
    slow.costs.send_byte = slow.costs.recv_byte = NF_MESH_TICKS_MAX;
    slow.block_bytes = 100;
    for (uint32_t i = 0; i < 8; i++)
        add(&s, i, 0, 2, 10000000);
    expect(&slow, &s, NF_ERR_RANGE, "2^62 ticks");
    no_time.costs.hop = 0;
    expect(&no_time, &s, NF_ERR_RANGE, "at least one tick");
    nf_schedule_fini(&s);
}

static void no_memory(void)
{
    struct nf_torus_setup setup = setup_of("4x4", 8);
    const struct nf_coll_sides shape = sides(&setup.mesh);
    struct nf_torus_result result;
    struct nf_schedule s;
    enum nf_status status = NF_ERR_NOMEM;
    long n = 0;

    CU_ASSERT(make_exchange("alltoall.dh", &shape, NULL, &s));
    for (int pace = NF_PACE_STEPS; pace <= NF_PACE_FREE; pace++) {
        setup.pace = (enum nf_torus_pace)pace;
        status = NF_ERR_NOMEM;
        for (n = 0; n < 50 && status == NF_ERR_NOMEM; n++) {
            nf_alloc_fail_after(n);
            status = nf_torus_run(&setup, &s, &result, NULL);
            nf_alloc_fail_after(-1);
        }
        CU_ASSERT_EQUAL(status, NF_OK);
        CU_ASSERT(n > 5);
    }
    nf_schedule_fini(&s);
}

/* ---- Table 1 ---- */

/* Start-ups of Bruck among all N x N ranks, whatever the torus: those of rank 0; of more
 * ranks than there may be by its formula. */
static uint32_t flat_bruck(uint32_t n)
{
    const struct nf_coll_args args = { .ranks = n * n, .segments = 1 };
    struct nf_schedule s;
    uint32_t rounds = 0;

    if (args.ranks > NF_COLL_RANKS_MAX)
        return nf_coll_ceil_log2(args.ranks);
    if (nf_coll_make(nf_coll_find("alltoall.bruck"), &args, 0, &s, NULL) ==
        NF_OK)
        rounds = nf_schedule_rounds(&s);
    nf_schedule_fini(&s);
    return rounds;
}

/* What no column of ours is: formulas, and an exchange that knows of no torus. */
static bool formulas_agree(const json_t *c, const struct nf_torus_row *row)
{
    uint32_t n = row->n;

    return is("bruck", "flat", flat_bruck(n), number(c, "flat_bruck")) &
           is("naive", "by formula", row->rings[NF_TABLE_NAIVE],
              number(c, "naive")) &
           is("mdh", "by formula", row->rings[NF_TABLE_MDH],
              number(c, "mdh_ceil")) &
           is("merge 0", "by formula", row->rings[NF_TABLE_SPLIT_MERGE],
              number(c, "split_merge_ceil_logN")) &
           is("merge 0", "by text, down", n + 2 * nf_coll_floor_log2(n - 1),
              number(c, "split_merge_floor_logNm1")) &
           is("tseng", "by formula", row->tseng, number(c, "tseng_K_plus_4"));
}

static bool row_agrees(const json_t *want, const struct nf_torus_row *row)
{
    static const char *const printed[] = { "naive", "split_merge",
                                           "modified_double_hop", "tseng" };
    const uint32_t ours[] = { row->printed_naive, row->printed_split_merge,
                              row->printed_mdh, row->printed_tseng };
    const json_t *p = json_object_get(want, "printed"),
                 *c = json_object_get(want, "computed"),
                 *ok = json_object_get(want, "text_formula_ok");
    bool right = true;

    for (int i = 0; i < 4; i++)
        right &= is(printed[i], "printed", ours[i], number(p, printed[i]));
    return right & formulas_agree(c, row) &
           is("naive", "found", row->rings[NF_TABLE_NAIVE],
              number(p, "naive")) &
           is("merge 0", "found", row->rings[NF_TABLE_SPLIT_MERGE],
              number(p, "split_merge")) &
           is("mdh", "found", row->rings[NF_TABLE_MDH],
              number(p, "modified_double_hop")) &
           is("tseng", "found", row->tseng, number(p, "tseng")) &
           is("mdh", "by text", row->text_mdh, number(c, "mdh_text_floor")) &
           is("merge 0", "by text", row->text_split_merge,
              number(c, "split_merge_ceil_logNm1")) &
           is("merge", "found", row->rings[NF_TABLE_SPLIT_MERGE_BARE],
              number(c, "split_merge_without_m0")) &
           is("cyclic", "found", row->rings[NF_TABLE_CYCLIC],
              number(c, "cyclic")) &
           is("bruck", "found", row->rings[NF_TABLE_BRUCK],
              number(c, "grid_bruck")) &
           is("mdh", "right by text", row->text_mdh == row->rings[NF_TABLE_MDH],
              json_is_true(json_object_get(ok, "mdh_floor"))) &
           is("merge 0", "right by text",
              row->text_split_merge == row->rings[NF_TABLE_SPLIT_MERGE],
              json_is_true(json_object_get(ok, "split_merge_log_Nm1")));
}

static void the_table_is_the_papers(void)
{
    const json_t *list = json_object_get(golden, "table1");

    CU_ASSERT_EQUAL(json_array_size(list), NF_TABLE_PAPER);
    for (size_t i = 0; i < NF_TABLE_PAPER; i++) {
        const json_t *want = json_array_get(list, i);
        struct nf_torus_row row = { .n = 0 };

        CU_ASSERT_EQUAL(nf_torus_paper_n[i], number(want, "N"));
        CU_ASSERT_EQUAL(nf_torus_row(nf_torus_paper_n[i], &row, NULL), NF_OK);
        CU_ASSERT(row_agrees(want, &row));
    }
}

static uint32_t log2_up(uint32_t n)
{
    uint32_t log = 0;

    while (UINT32_C(1) << log < n)
        log++;
    return log;
}

static void other_n(void)
{
    struct nf_torus_row row;

    CU_ASSERT_EQUAL(nf_torus_row(1, &row, NULL), NF_ERR_RANGE);
    CU_ASSERT_EQUAL(nf_torus_row(NF_TABLE_N_MAX + 1, &row, NULL), NF_ERR_RANGE);
    for (uint32_t n = 2; n <= 48; n++) {
        bool odd = n % 2 != 0, whole = n <= NF_TABLE_WHOLE_MAX;

        CU_ASSERT_EQUAL(nf_torus_row(n, &row, NULL), NF_OK);
        CU_ASSERT_EQUAL(row.rings[NF_TABLE_NAIVE], 2 * (n - 1));
        CU_ASSERT_EQUAL(row.rings[NF_TABLE_MDH], odd ? n + 3 : n);
        CU_ASSERT_EQUAL(row.rings[NF_TABLE_CYCLIC], 2 * ((n + 1) / 2));
        CU_ASSERT_EQUAL(row.rings[NF_TABLE_BRUCK], 2 * log2_up(n));
        CU_ASSERT_EQUAL(row.rings[NF_TABLE_SPLIT_MERGE],
                        odd ? n + 2 * log2_up(n) : 0);
        CU_ASSERT_EQUAL(row.rings[NF_TABLE_SPLIT_MERGE_BARE],
                        odd ? n - 1 + 2 * log2_up(n) : 0);
        CU_ASSERT_EQUAL(row.tseng, (UINT32_C(1) << log2_up(n)) + 4);
        for (int c = 0; c < NF_TABLE_COLUMNS; c++)
            CU_ASSERT_EQUAL(row.whole[c], whole ? row.rings[c] : 0);
    }
}

static void no_memory_for_a_row(void)
{
    struct nf_torus_row row;
    enum nf_status status = NF_ERR_NOMEM;

    for (long n = 0; n < 2000 && status == NF_ERR_NOMEM; n++) {
        nf_alloc_fail_after(n);
        status = nf_torus_row(5, &row, NULL);
        nf_alloc_fail_after(-1);
    }
    CU_ASSERT_EQUAL(status, NF_OK);
}

int main(void)
{
    CU_TestInfo contention[] = {
        { "messages meet where channels say so",
          messages_meet_where_channels_say },
        { "one lane is enough for who promises",
          one_lane_is_enough_for_who_promises },
        { "one lane is not enough for others",
          one_lane_is_not_enough_for_others },
        { "contention is the goldens'", contention_is_the_goldens },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo times[] = {
        { "times are the formulas", times_are_the_formulas },
        { "paces", paces },
        { "several of a step", several_of_a_step },
        { "free pace is no slower alone", free_pace_is_no_slower_alone },
        { "what is turned down", what_is_turned_down },
        { "out of memory", no_memory },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo table[] = {
        { "the table is the paper's", the_table_is_the_papers },
        { "other N", other_n },
        { "out of memory", no_memory_for_a_row },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "contention", load_golden, unload_golden, NULL, NULL, contention },
        { "times", NULL, NULL, NULL, NULL, times },
        { "table 1", load_golden, unload_golden, NULL, NULL, table },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
