/* Groups whose members all live: right results, whatever the timing. */
#include "config.h"
#include <complex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/base/log.h"
#include "tests/unit/group_sim.h"
#include "tests/unit/nf_unit.h"

/* ------------------------------------------------------- rounds without
 * barrier */

/* The algorithms of that round, the same in all members. */
static bool force_some(struct nf_group *group, uint64_t seed, uint64_t round)
{
    struct nf_rng rng = { (seed << 32) + round };
    char algorithms[NF_COLL_OPS * sizeof(group->forced[0])];
    struct nf_error err;

    draw_algorithms(&rng, group->ranks, algorithms, sizeof(algorithms));
    return nf_group_force(group, algorithms, &err) == NF_OK;
}

/* Each member goes through all rounds at its own pace.
 * @return rounds that were wrong; prints what */
static unsigned go_through(uint32_t ranks, uint64_t seed, uint64_t rounds)
{
    struct group_sim sim;
    struct round round[FAKE_MEMBERS_MAX];
    uint64_t number[FAKE_MEMBERS_MAX] = { 0 };
    struct nf_rng rng = { seed };
    uint64_t steps = 0;
    unsigned bad = 0;
    uint32_t left = ranks;

    if (!sim_open(&sim, ranks, seed, NULL))
        return 1;
    while (left > 0 && bad == 0 && steps++ < rounds * 5000) {
        uint32_t r = (uint32_t)nf_rng_below(&rng, ranks);

        if (nf_rng_below(&rng, 2) == 0 && fake_next_us(&sim.world) != INT64_MAX)
            sim.world.now_us = fake_next_us(&sim.world);
        if (number[r] == rounds)
            continue;
        if (sim.requests[r] == NULL) {
            round_make(&round[r], r, ranks, seed * 100000 + number[r]);
            bad += !force_some(sim.groups[r], seed, number[r]);
            sim_start(&sim, r, &round[r].call);
        }
        if (sim.requests[r] != NULL)
            sim.statuses[r] = nf_request_test(sim.requests[r]);
        if (sim.statuses[r] == NF_WAIT)
            continue;
        if (sim.statuses[r] != NF_OK || !round_is_right(&round[r])) {
            printf("%s: P %u seed %llu round %llu rank %u kind %d: %s\n",
                   sim.groups[r]->forced[round[r].call.kind], ranks,
                   (unsigned long long)seed, (unsigned long long)number[r], r,
                   (int)round[r].call.kind,
                   sim.statuses[r] == NF_OK
                       ? "wrong result"
                       : nf_group_error(sim.groups[r])->text);
            bad++;
        }
        nf_request_free(sim.requests[r]);
        sim.requests[r] = NULL;
        round_fini(&round[r]);
        left -= ++number[r] == rounds;
    }
    for (uint32_t r = 0; r < ranks; r++)
        if (sim.requests[r] != NULL) {
            nf_request_free(sim.requests[r]);
            round_fini(&round[r]);
        }
    if (bad == 0 && left > 0)
        printf("P %u seed %llu does not end\n", ranks,
               (unsigned long long)seed);
    sim_close(&sim);
    return bad + left;
}

static void a_thousand_mixed_rounds_are_right(void)
{
    CU_ASSERT_EQUAL(go_through(5, 1, 1000), 0);
    for (uint64_t seed = 2; seed < 42; seed++)
        CU_ASSERT_EQUAL(go_through((uint32_t)(1 + seed % 9), seed, 40), 0);
    CU_ASSERT_EQUAL(go_through(16, 99, 50), 0);
}

/* All members begin them in the same order, and look at them in another. */
static void several_calls_may_be_under_way(void)
{
    enum { RANKS = 4, CALLS = 12 };

    for (uint64_t seed = 0; seed < 30; seed++) {
        static struct round rounds[RANKS][CALLS];
        struct nf_request *requests[RANKS][CALLS];
        struct group_sim sim;
        uint64_t left = (uint64_t)RANKS * CALLS, steps = 0;

        CU_ASSERT(sim_open(&sim, RANKS, seed, NULL));
        for (uint32_t r = 0; r < RANKS; r++)
            for (uint32_t c = 0; c < CALLS; c++) {
                round_make(&rounds[r][c], r, RANKS, seed * 1000 + c);
                CU_ASSERT_EQUAL(nf_group_start(sim.groups[r],
                                               &rounds[r][c].call,
                                               &requests[r][c]),
                                NF_OK);
            }
        while (left > 0 && steps++ < 100000) {
            uint32_t r = (uint32_t)nf_rng_below(&sim.world.rng, RANKS);
            uint32_t c = (uint32_t)nf_rng_below(&sim.world.rng, CALLS);

            if (fake_next_us(&sim.world) != INT64_MAX)
                sim.world.now_us = fake_next_us(&sim.world);
            if (requests[r][c] == NULL ||
                nf_request_test(requests[r][c]) == NF_WAIT)
                continue;
            CU_ASSERT_EQUAL(nf_request_test(requests[r][c]), NF_OK);
            CU_ASSERT(round_is_right(&rounds[r][c]));
            nf_request_free(requests[r][c]);
            requests[r][c] = NULL;
            round_fini(&rounds[r][c]);
            left--;
        }
        CU_ASSERT_EQUAL(left, 0);
        sim_close(&sim);
    }
}

/* ------------------------------------------------------------------- threads
 */

struct member {
    struct nf_group *group;
    uint64_t rounds;
    unsigned bad;
};

static void *run_member(void *user)
{
    struct member *member = user;
    uint32_t rank = nf_group_rank(member->group);
    uint32_t ranks = nf_group_size(member->group);

    for (uint64_t i = 0; i < member->rounds && member->bad == 0; i++) {
        struct nf_request *request;
        struct round round;
        enum nf_status status;

        round_make(&round, rank, ranks, 700000 + i);
        status = nf_group_start(member->group, &round.call, &request);
        if (status == NF_OK)
            status = nf_request_wait(request);
        if (status != NF_OK || !round_is_right(&round)) {
            printf("round %u rank %u kind %d: %s\n", (unsigned)i, rank,
                   (int)round.call.kind, nf_group_error(member->group)->text);
            member->bad++;
        }
        round_fini(&round);
    }
    if (nf_barrier(member->group) != NF_OK)
        member->bad++;
    nf_group_close(member->group);
    return NULL;
}

static void threads_get_right_results(void)
{
    enum { THREADS = 4 };
    struct nf_group *groups[THREADS];
    struct member members[THREADS];
    pthread_t threads[THREADS];
    struct nf_error err;

    CU_ASSERT_EQUAL_FATAL(nf_group_open_threads(THREADS, NULL, groups, &err),
                          NF_OK);
    for (int i = 0; i < THREADS; i++) {
        members[i] = (struct member){ groups[i], 1000, 0 };
        CU_ASSERT(round_define(groups[i]));
        pthread_create(&threads[i], NULL, run_member, &members[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CU_ASSERT_EQUAL(members[i].bad, 0);
    }
}

/* ------------------------------------------------------------- arguments */

static void bad_arguments_are_refused_and_cost_nothing(void)
{
    struct nf_group *group, *groups[2];
    struct nf_error err;
    double x[4] = { 1, 2, 3, 4 }, y[4] = { 0 };
    const struct nf_group_options wrong = { .algorithms = "bcast.nothing" };

    CU_ASSERT_EQUAL(nf_group_open_threads(2, &wrong, groups, &err),
                    NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_group_open_threads(0, NULL, groups, &err), NF_ERR_INVAL);
    CU_ASSERT_EQUAL_FATAL(nf_group_open_threads(1, NULL, &group, &err), NF_OK);
    CU_ASSERT_EQUAL(nf_bcast(group, x, 4, NF_ELEM_FLOAT64, 1), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_bcast(group, x, 4, 99, 0), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_bcast(group, NULL, 4, NF_ELEM_BYTE, 0), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_bcast(group, NULL, 0, NF_ELEM_BYTE, 0), NF_OK);
    CU_ASSERT_EQUAL(nf_bcast(group, x, SIZE_MAX / 4, NF_ELEM_FLOAT64, 0),
                    NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_allreduce(group, x, y, 4, NF_ELEM_FLOAT64, NF_BAND),
                    NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_allreduce(group, x, y, 4, NF_ELEM_BYTE, NF_SUM),
                    NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_allreduce(group, x, y, 2, NF_ELEM_COMPLEX128, NF_MIN),
                    NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_allreduce(group, x, NULL, 4, NF_ELEM_FLOAT64, NF_SUM),
                    NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_scatter(group, NULL, y, 4, NF_ELEM_FLOAT64, 0),
                    NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_allreduce(group, x, y, 4, NF_ELEM_FLOAT64, NF_SUM),
                    NF_OK);
    CU_ASSERT_EQUAL(memcmp(x, y, sizeof(x)), 0);
    CU_ASSERT_EQUAL(nf_exscan(group, x, NULL, 0, NF_ELEM_FLOAT64, NF_SUM),
                    NF_OK);
    CU_ASSERT_EQUAL(nf_barrier(group), NF_OK);
    CU_ASSERT_EQUAL(nf_group_type_bytes(group, NF_ELEM_LOC_FLOAT64), 16);
    nf_group_close(group);
    nf_group_close(NULL);
}

/* What was asked for is used, or it is an error. */
static void an_algorithm_that_cannot_serve_is_an_error(void)
{
    const struct nf_group_options cube = { .algorithms =
                                               "allgather.rec_doubling" };
    const struct nf_group_options some = {
        .algorithms = "bcast.vdg_ring,reduce.binomial,gather.binomial",
        .timeout_us = 50000
    };
    struct nf_group *groups[3], *group;
    struct nf_error err;
    double x[3] = { 1, 2, 3 }, y[9];
    struct nf_request *request;
    const struct nf_call few = { /* fewer than blocks */
        .kind = NF_CALL_BCAST, .recv = x, .count = 2, .type = NF_ELEM_FLOAT64
    };

    CU_ASSERT_EQUAL(nf_group_open_threads(3, &cube, groups, &err),
                    NF_ERR_INVAL);
    CU_ASSERT_STRING_EQUAL(err.text,
                           "allgather.rec_doubling: wants 2, 4, 8, ... ranks, "
                           "not 3");
    CU_ASSERT_EQUAL_FATAL(nf_group_open_threads(3, &some, groups, &err), NF_OK);
    group = groups[1];
    CU_ASSERT(round_define(group));
    CU_ASSERT_EQUAL(
        nf_reduce(group, y, y + 1, 1, ROUND_MATRIX, ROUND_MULTIPLY, 1),
        NF_ERR_INVAL);
    CU_ASSERT(strstr(nf_group_error(group)->text, "cannot serve") != NULL);
    CU_ASSERT_EQUAL(group->epoch, 0);
    CU_ASSERT_EQUAL_FATAL(nf_group_start(group, &few, &request), NF_OK);
    CU_ASSERT_STRING_EQUAL(request->plan->algorithm->name, "bcast.vdg_ring");
    nf_request_free(request);
    for (int i = 0; i < 3; i++)
        nf_group_close(groups[i]);
}

/* No product or sum of counts may wrap around. */
static void huge_counts_are_refused(void)
{
    const size_t most = SIZE_MAX / 2 / 8;
    const size_t counts[][2] = { { most, 1 },
                                 { 1, most },
                                 { most + 1, 0 },
                                 { SIZE_MAX, 1 },
                                 { SIZE_MAX, SIZE_MAX } };
    const size_t far[][2] = {
        { 0, most }, { most, 0 }, { SIZE_MAX, 0 }, { 0, SIZE_MAX - 1 }
    };
    const size_t two[2] = { 2, 2 };
    struct nf_group *groups[2], *group;
    struct nf_error err;
    double x[2], y[4];

    CU_ASSERT_EQUAL_FATAL(nf_group_open_threads(2, NULL, groups, &err), NF_OK);
    group = groups[0];
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        CU_ASSERT_EQUAL(
            nf_gatherv(group, x, 1, y, counts[i], NULL, NF_ELEM_FLOAT64, 0),
            NF_ERR_INVAL);
        CU_ASSERT_EQUAL(
            nf_scatterv(group, x, counts[i], NULL, y, 1, NF_ELEM_FLOAT64, 0),
            NF_ERR_INVAL);
        CU_ASSERT_EQUAL(
            nf_allgatherv(group, x, y, counts[i], NULL, NF_ELEM_FLOAT64),
            NF_ERR_INVAL);
        CU_ASSERT_EQUAL(
            nf_reduce_scatter(group, x, y, counts[i], NF_ELEM_FLOAT64, NF_SUM),
            NF_ERR_INVAL);
    }
    for (size_t i = 0; i < sizeof(far) / sizeof(*far); i++) {
        CU_ASSERT_EQUAL(
            nf_gatherv(group, x, 2, y, two, far[i], NF_ELEM_FLOAT64, 0),
            NF_ERR_INVAL);
        CU_ASSERT_EQUAL(
            nf_scatterv(group, x, two, far[i], y, 2, NF_ELEM_FLOAT64, 0),
            NF_ERR_INVAL);
        CU_ASSERT_EQUAL(
            nf_allgatherv(group, x, y, two, far[i], NF_ELEM_FLOAT64),
            NF_ERR_INVAL);
    }
    CU_ASSERT_EQUAL(nf_gather(group, x, y, most / 2 + 1, NF_ELEM_FLOAT64, 0),
                    NF_ERR_INVAL);
    CU_ASSERT_EQUAL(
        nf_gatherv(group, x, SIZE_MAX, y, NULL, NULL, NF_ELEM_FLOAT64, 1),
        NF_ERR_INVAL);
    CU_ASSERT_EQUAL(
        nf_exscan(group, NF_IN_PLACE, y, SIZE_MAX / 8, NF_ELEM_FLOAT64, NF_SUM),
        NF_ERR_INVAL);
    nf_group_close(groups[0]);
    nf_group_close(groups[1]);
}

/* Segments of a vector that no memory holds lie one behind the other. */
static void places_in_huge_vectors_are_right(void)
{
    const uint64_t sizes[] = { (UINT64_C(1) << 31) + 1, UINT64_C(1) << 62,
                               UINT64_MAX / 2 };
    const uint32_t ks[] = { 1, 3, 1000, NF_COLL_SEGMENTS_MAX };

    for (int s = 0; s < 3; s++)
        for (int k = 0; k < 4; k++) {
            uint64_t end = 0, first, count;

            for (uint32_t i = 0; i < ks[k]; i++) {
                nf_coll_segment(sizes[s], ks[k], i, &first, &count);
                CU_ASSERT_EQUAL(first, end);
                CU_ASSERT(count >= sizes[s] / ks[k] &&
                          count <= sizes[s] / ks[k] + 1);
                end = first + count;
            }
            CU_ASSERT_EQUAL(end, sizes[s]);
        }
}

/* ---------------------------------------------------------------- operators */

static void combine2(int type, int op, void *out, const void *left,
                     const void *right)
{
    const struct nf_user_codes codes = { 0 };

    CU_ASSERT_EQUAL(nf_combine(&codes, type, op, out, left, right, 1), NF_OK);
}

#define CHECK_OP(ctype, type, op, x, y, z)                                     \
    do {                                                                       \
        ctype left_ = (x), right_ = (y), out_;                                 \
                                                                               \
        combine2(type, op, &out_, &left_, &right_);                            \
        CU_ASSERT_EQUAL(out_, (ctype)(z));                                     \
    } while (0)

static void operators_compute_what_they_say(void)
{
    struct nf_loc_float64 a = { 2.5, 7 }, b = { 2.5, 3 }, c = { -1, 9 }, out;
    struct nf_loc_float64 nan = { 0.0 / 0.0, 1 };

    CHECK_OP(int8_t, NF_ELEM_INT8, NF_SUM, 100, 100, -56);
    CHECK_OP(int64_t, NF_ELEM_INT64, NF_PROD, INT64_MAX, 2, -2);
    CHECK_OP(uint16_t, NF_ELEM_UINT16, NF_MAX, 65535, 1, 65535);
    CHECK_OP(int16_t, NF_ELEM_INT16, NF_MAX, -1, 1, 1);
    CHECK_OP(uint8_t, NF_ELEM_BYTE, NF_BXOR, 0xf0, 0xff, 0x0f);
    CHECK_OP(uint8_t, NF_ELEM_BYTE, NF_MAX, 0x80, 0x7f, 0x80);
    CHECK_OP(float complex, NF_ELEM_COMPLEX64, NF_LAND, 2 * I, 3, 1);
    CHECK_OP(double complex, NF_ELEM_COMPLEX128, NF_LXOR, 0, I, 1);
    CHECK_OP(int32_t, NF_ELEM_INT32, NF_LAND, 8, 4, 1);
    CHECK_OP(int32_t, NF_ELEM_INT32, NF_LXOR, 8, 4, 0);
    CHECK_OP(float, NF_ELEM_FLOAT32, NF_MIN, 0.5f, -2, -2);
    CHECK_OP(double, NF_ELEM_FLOAT64, NF_MAX, 0.0 / 0.0, 3, 3);
    CHECK_OP(double, NF_ELEM_FLOAT64, NF_MIN, 3, 0.0 / 0.0, 3);
    CHECK_OP(double, NF_ELEM_FLOAT64, NF_LOR, 0, 0, 0);
    combine2(NF_ELEM_LOC_FLOAT64, NF_MINLOC, &out, &a, &b);
    CU_ASSERT_EQUAL(out.index, 3);
    combine2(NF_ELEM_LOC_FLOAT64, NF_MAXLOC, &out, &c, &a);
    CU_ASSERT_EQUAL(out.index, 7);
    combine2(NF_ELEM_LOC_FLOAT64, NF_MINLOC, &out, &nan, &a);
    CU_ASSERT_EQUAL(out.index, 7);
    combine2(NF_ELEM_LOC_FLOAT64, NF_MAXLOC, &out, &a, &nan);
    CU_ASSERT_EQUAL(out.index, 7);
}

/* ------------------------------------------------------------------- table */

static void groups_go_by_a_table_and_damage_is_left_aside(void)
{
    char path[] = "/tmp/nf-table-XXXXXX";
    const struct nf_group_options options = { .table_file = path };
    const struct nf_choice_query query = { .coll = { .op = NF_COLL_BCAST,
                                                     .ranks = 3,
                                                     .bytes = 100000,
                                                     .elements = 100000,
                                                     .commutative = true } };
    struct nf_coll_choice choice;
    struct nf_group *groups[3];
    struct nf_error err;
    int fd = mkstemp(path);
    uint32_t id = 0;

    CU_ASSERT(fd >= 0 && write_table(path));
    CU_ASSERT_EQUAL_FATAL(nf_group_open_threads(3, &options, groups, &err),
                          NF_OK);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT(groups[i]->has_rules);
        CU_ASSERT(groups[i]->rules.id != 0 &&
                  (i == 0 || groups[i]->rules.id == id));
        id = groups[i]->rules.id;
        CU_ASSERT_EQUAL(nf_group_choose(groups[i], &query, &choice, &err),
                        NF_OK);
        CU_ASSERT_STRING_EQUAL(choice.algorithm->name, "bcast.flat");
        nf_group_close(groups[i]);
    }
    CU_ASSERT_EQUAL(pwrite(fd, "#", 1, 40), 1);
    nf_log_set_level(NF_LOG_ERROR);
    CU_ASSERT_EQUAL_FATAL(nf_group_open_threads(3, &options, groups, &err),
                          NF_OK);
    nf_log_set_level(NF_LOG_WARN);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT(!groups[i]->has_rules);
        CU_ASSERT_EQUAL(nf_group_choose(groups[i], &query, &choice, &err),
                        NF_OK);
        CU_ASSERT_STRING_NOT_EQUAL(choice.algorithm->name, "bcast.flat");
        nf_group_close(groups[i]);
    }
    close(fd);
    unlink(path);
}

static void a_stop_ends_a_call_for_all(void)
{
    volatile int stop = 0;
    const struct nf_group_options options = { .timeout_us = -1, .stop = &stop };
    struct nf_group *groups[2], *less;
    struct nf_error err;

    CU_ASSERT_EQUAL_FATAL(nf_group_open_threads(2, &options, groups, &err),
                          NF_OK);
    stop = 1;
    CU_ASSERT_EQUAL(nf_barrier(groups[0]), NF_ERR_INTERRUPTED);
    CU_ASSERT_STRING_EQUAL(nf_group_error(groups[0])->text, "interrupted");
    CU_ASSERT_EQUAL(nf_barrier(groups[0]), NF_ERR_REVOKED);
    CU_ASSERT_EQUAL(nf_group_shrink(groups[0], &less, &err),
                    NF_ERR_INTERRUPTED);
    stop = 0;
    CU_ASSERT_EQUAL(nf_barrier(groups[1]), NF_ERR_INTERRUPTED);
    CU_ASSERT(strstr(nf_group_error(groups[1])->text, "says member 0") != NULL);
    CU_ASSERT(!nf_group_is_lost(groups[1], 0));
    nf_group_close(groups[0]);
    nf_group_close(groups[1]);
}

/* Those who wait for the root of a broadcast, on its host, and nobody else. */
static void who_waits_for_the_root_sleeps_at_once(void)
{
    static const struct {
        enum nf_call_kind kind;
        bool sleeps;
    } rows[] = { { NF_CALL_BCAST, true },
                 { NF_CALL_SCATTER, true },
                 { NF_CALL_REDUCE, false },
                 { NF_CALL_GATHER, false },
                 { NF_CALL_ALLREDUCE, false },
                 { NF_CALL_BARRIER, false } };
    struct nf_group *groups[2];
    struct nf_error err;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int64_t in[2] = { 1, 2 }, out[2];
        const struct nf_call call = { .kind = rows[i].kind,
                                      .send = in,
                                      .recv = out,
                                      .count = 1,
                                      .type = NF_ELEM_INT64,
                                      .op = NF_SUM,
                                      .root = rows[i].sleeps ? 1 : 0 };
        struct nf_request *request;

        CU_ASSERT_EQUAL_FATAL(nf_group_open_threads(2, NULL, groups, &err),
                              NF_OK);
        CU_ASSERT_FALSE(nf_group_waits_for_root(groups[0]));
        CU_ASSERT_EQUAL_FATAL(nf_group_start(groups[0], &call, &request),
                              NF_OK);
        CU_ASSERT_EQUAL(nf_group_waits_for_root(groups[0]), rows[i].sleeps);
        groups[0]->nhosts = 2;
        CU_ASSERT_FALSE(nf_group_waits_for_root(groups[0]));
        nf_request_free(request);
        nf_group_close(groups[0]);
        nf_group_close(groups[1]);
    }
}

int main(void)
{
    CU_TestInfo alive[] = {
        { "a thousand mixed rounds are right",
          a_thousand_mixed_rounds_are_right },
        { "groups go by a table, and damage is left aside",
          groups_go_by_a_table_and_damage_is_left_aside },
        { "several calls may be under way", several_calls_may_be_under_way },
        { "threads get right results", threads_get_right_results },
        { "bad arguments are refused and cost nothing",
          bad_arguments_are_refused_and_cost_nothing },
        { "an algorithm that cannot serve is an error",
          an_algorithm_that_cannot_serve_is_an_error },
        { "huge counts are refused", huge_counts_are_refused },
        { "places in huge vectors are right",
          places_in_huge_vectors_are_right },
        { "a stop ends a call for all", a_stop_ends_a_call_for_all },
        { "who waits for the root on its host sleeps at once",
          who_waits_for_the_root_sleeps_at_once },
        { "operators compute what they say", operators_compute_what_they_say },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "groups", NULL, NULL, NULL, NULL, alive },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
