/* What members say of a call: members that do not call the same, counts that
 * differ, buffers that are not needed, marks in the wrong place, and time-outs
 * beyond all measure; and what a group is told to go by. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/unit/group_alone.h"
#include "tests/unit/group_sim.h"
#include "tests/unit/nf_unit.h"

enum { RANKS = 4, TIMEOUT_US = 1000000 };

/* @param statuses  [RANKS] of the calls */
static void call_all(const struct nf_call *calls, uint64_t seed,
                     enum nf_status *statuses)
{
    const struct nf_group_options options = { .timeout_us = TIMEOUT_US };
    struct group_sim sim;

    CU_ASSERT_FATAL(sim_open(&sim, RANKS, seed, &options));
    for (uint32_t r = 0; r < RANKS; r++)
        sim_start(&sim, r, &calls[r]);
    CU_ASSERT(sim_run(&sim));
    for (uint32_t r = 0; r < RANKS; r++)
        statuses[r] = sim.statuses[r];
    sim_close(&sim);
}

/* The sum of the counts is the same, and so is the algorithm. */
static void different_counts_are_an_error(void)
{
    const size_t counts[RANKS] = { 1, 1, 1, 3 }, others[RANKS] = { 1, 1, 3, 1 };
    const enum nf_call_kind kinds[] = { NF_CALL_ALLGATHER,
                                        NF_CALL_REDUCE_SCATTER };
    int64_t send[6] = { 0 }, recv[RANKS][6];

    for (uint32_t i = 0; i < 2 * RANKS; i++) {
        struct nf_call calls[RANKS];
        enum nf_status statuses[RANKS];
        uint32_t mismatches = 0;

        for (uint32_t r = 0; r < RANKS; r++)
            calls[r] = (struct nf_call){
                .kind = kinds[i % 2],
                .send = send,
                .recv = recv[r],
                .counts = r == i / 2 ? others : counts,
                .type = NF_ELEM_INT64,
                .op = NF_SUM,
            };
        call_all(calls, i, statuses);
        for (uint32_t r = 0; r < RANKS; r++) {
            CU_ASSERT(statuses[r] != NF_OK);
            mismatches += statuses[r] == NF_ERR_MISMATCH;
        }
        CU_ASSERT(mismatches > 0);
    }
}

/* Rank `none` has no element, and no place for it. */
static void who_has_no_element_needs_no_buffer(void)
{
    for (uint32_t none = 0; none < RANKS; none++)
        for (int kind = 0; kind < 4; kind++) {
            const enum nf_call_kind kinds[] = { NF_CALL_GATHER, NF_CALL_SCATTER,
                                                NF_CALL_ALLGATHER,
                                                NF_CALL_REDUCE_SCATTER };
            bool gathers = kind % 2 == 0, rooted = kind < 2;
            size_t counts[RANKS] = { 1, 1, 1, 1 };
            int64_t values[RANKS] = { 1, 2, 3, 4 }, recv[RANKS][RANKS];
            struct nf_call calls[RANKS];
            enum nf_status statuses[RANKS];

            counts[none] = 0;
            memset(recv, 0, sizeof(recv));
            for (uint32_t r = 0; r < RANKS; r++)
                calls[r] = (struct nf_call){
                    .kind = kinds[kind],
                    .send = gathers && r == none ? NULL : values,
                    .recv = !gathers && r == none ? NULL : recv[r],
                    .count = counts[r],
                    .counts = !rooted || r == none ? counts : NULL,
                    .varies = rooted,
                    .type = NF_ELEM_INT64,
                    .op = NF_SUM,
                    .root = none,
                };
            call_all(calls, none, statuses);
            for (uint32_t r = 0; r < RANKS; r++)
                CU_ASSERT_EQUAL(statuses[r], NF_OK);
            if (gathers) {
                CU_ASSERT(recv[none][0] == 1 && recv[none][2] == 1);
            } else {
                CU_ASSERT_EQUAL(recv[(none + 1) % RANKS][0],
                                values[none == 3 ? 0 : none] *
                                    (rooted ? 1 : RANKS));
            }
        }
}

/* At its own end, where every buffer is used. */
static void marks_in_the_wrong_place_are_refused(void)
{
    struct nf_group *group;
    struct nf_error err;
    double x[4] = { 1, 2, 3, 4 };
    const size_t four = 4;
    void *const in_place = NF_IN_PLACE;
    const int type = NF_ELEM_FLOAT64;

    CU_ASSERT_EQUAL_FATAL(nf_group_open_threads(1, NULL, &group, &err), NF_OK);
    CU_ASSERT_EQUAL(nf_bcast(group, in_place, 4, type, 0), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_scatter(group, in_place, x, 4, type, 0), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_scatter(group, x, in_place, 4, type, 0), NF_OK);
    CU_ASSERT_EQUAL(nf_gather(group, x, in_place, 4, type, 0), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_allgather(group, x, in_place, 4, type), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_allreduce(group, x, in_place, 4, type, NF_SUM),
                    NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_reduce(group, x, in_place, 4, type, NF_SUM, 0),
                    NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_scan(group, in_place, in_place, 4, type, NF_SUM),
                    NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_exscan(group, x, in_place, 4, type, NF_SUM),
                    NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_reduce_scatter(group, x, in_place, &four, type, NF_SUM),
                    NF_ERR_INVAL);
    nf_group_close(group);
}

/* The root's buffer for its own block is as long as `count` says: what counts
 * says of it must not be written, nor read.
 * @return whether it is refused, as local errors are: nothing was sent, so that
 * the call can be made again, and nobody is in another one */
static bool is_refused(uint32_t ranks, struct nf_call call, size_t other)
{
    const enum nf_call_kind kind = call.kind;
    int64_t values[16] = { 0 }, recv[RANKS][17];
    struct group_sim sim;
    bool right = sim_open(&sim, ranks, other, NULL);

    for (uint32_t r = 0; r < ranks; r++)
        for (int i = 0; i < 17; i++)
            recv[r][i] = -1;
    for (uint32_t turn = 0; turn < ranks; turn++) { /* the root comes first */
        uint32_t r = (call.root + turn) % ranks;
        struct nf_call mine = call;

        mine.recv = recv[r];
        mine.send = call.send == NULL ? values : call.send;
        if (r == call.root && call.recv != NULL)
            mine.recv = call.recv;
        if (r != call.root) {
            mine.counts = NULL;
            mine.send = values;
        }
        mine.count = other;
        if (r == call.root) {
            sim_start(&sim, r, &mine);
            right = right && sim.statuses[r] == NF_ERR_INVAL &&
                    sim.groups[r]->epoch == 0 && recv[r][0] == -1 &&
                    strstr(nf_group_error(sim.groups[r])->text, "two counts") !=
                        NULL;
        }
        mine.count = call.counts[r];
        sim_start(&sim, r, &mine);
    }
    right = sim_run(&sim) && right;
    for (uint32_t r = 0; r < ranks; r++)
        right = right && sim.statuses[r] == NF_OK &&
                (kind == NF_CALL_GATHER || recv[r][call.counts[r]] == -1);
    sim_close(&sim);
    return right;
}

static void a_root_with_two_counts_is_refused(void)
{
    const size_t counts[RANKS] = { 3, 1, 0, 4 };
    const size_t others[] = { 0, 1, 2, 5, 1000 };

    for (uint32_t ranks = 1; ranks <= RANKS; ranks += RANKS - 1)
        for (uint32_t root = 0; root < ranks; root++)
            for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
                for (int way = 0; way < 4; way++) {
                    struct nf_call call = { .kind = way % 2 == 0
                                                        ? NF_CALL_GATHER
                                                        : NF_CALL_SCATTER,
                                            .varies = 1,
                                            .counts = counts,
                                            .type = NF_ELEM_INT64,
                                            .root = root };

                    if (way == 2)
                        call.send = NF_IN_PLACE;
                    if (way == 3)
                        call.recv = NF_IN_PLACE;
                    if (others[i] != counts[root])
                        CU_ASSERT(is_refused(ranks, call, others[i]));
                }
}

/* What used to overrun the root's buffer by 999 elements. */
static void a_root_with_a_small_buffer_is_not_overrun(void)
{
    static double all[1001];
    const size_t counts[2] = { 1000, 1 };
    struct nf_group *groups[2];
    struct nf_error err;
    double *own = malloc(sizeof(*own));

    CU_ASSERT_FATAL(own != NULL);
    CU_ASSERT_EQUAL_FATAL(nf_group_open_threads(2, NULL, groups, &err), NF_OK);
    CU_ASSERT_EQUAL(
        nf_scatterv(groups[0], all, counts, NULL, own, 1, NF_ELEM_FLOAT64, 0),
        NF_ERR_INVAL);
    nf_group_close(groups[0]);
    nf_group_close(groups[1]);
    free(own);
}

static void a_time_out_beyond_measure_is_a_long_one(void)
{
    const struct nf_group_options options = { .timeout_us = INT64_MAX };
    const struct nf_call barrier = { .kind = NF_CALL_BARRIER };
    struct group_sim sim;
    enum nf_status results[2];

    CU_ASSERT_FATAL(sim_open(&sim, 2, 1, &options));
    sim.world.now_us = INT64_C(1) << 50;
    sim_start(&sim, 0, &barrier);
    CU_ASSERT_EQUAL(nf_request_test(sim.requests[0]), NF_WAIT);
    CU_ASSERT(nf_group_deadline_us(sim.groups[0]) > 0);
    /* rank 1 is asked when all has left, and has as long to answer */
    for (int i = 0; i < 3; i++) {
        sim.world.now_us += 1000000;
        CU_ASSERT_EQUAL(nf_request_test(sim.requests[0]), NF_WAIT);
    }
    CU_ASSERT(nf_group_deadline_us(sim.groups[0]) > INT64_C(1) << 40);
    sim_start(&sim, 1, &barrier);
    CU_ASSERT(sim_run(&sim));
    CU_ASSERT_EQUAL(sim.statuses[0], NF_OK);
    CU_ASSERT(sim_shrink(&sim, results));
    CU_ASSERT_EQUAL(results[0], NF_OK);
    sim_close(&sim);
}

/* Commas and spaces between algorithms; a comma has one on either side. */
static void lists_of_algorithms_are_read(void)
{
    static const char *const right[] = { "",
                                         " ",
                                         "bcast.flat",
                                         " bcast.flat ",
                                         "bcast.flat,reduce.linear",
                                         "bcast.flat , reduce.linear",
                                         "bcast.flat  reduce.linear" };
    static const char *const wrong[] = { ",",
                                         " , ",
                                         ",,",
                                         "bcast.flat,",
                                         "bcast.flat, ",
                                         ",bcast.flat",
                                         " ,bcast.flat",
                                         "bcast.flat,,reduce.linear",
                                         "bcast.flat, ,reduce.linear" };
    struct group_sim sim;
    struct nf_error err;

    CU_ASSERT_FATAL(sim_open(&sim, RANKS, 1, NULL));
    for (size_t i = 0; i < sizeof(right) / sizeof(*right); i++) {
        CU_ASSERT_EQUAL(nf_group_check_wish(right[i], &err), NF_OK);
        nf_group_unforce(sim.groups[0]);
        CU_ASSERT_EQUAL(nf_group_force(sim.groups[0], right[i], &err), NF_OK);
        CU_ASSERT_STRING_EQUAL(sim.groups[0]->forced[NF_COLL_BCAST],
                               i < 2 ? "" : "bcast.flat");
        CU_ASSERT_STRING_EQUAL(sim.groups[0]->forced[NF_COLL_REDUCE],
                               i < 4 ? "" : "reduce.linear");
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        CU_ASSERT_EQUAL(nf_group_check_wish(wrong[i], &err), NF_ERR_INVAL);
        CU_ASSERT(strstr(err.text, "a comma") != NULL);
        CU_ASSERT_EQUAL(nf_group_force(sim.groups[0], wrong[i], &err),
                        NF_ERR_INVAL);
    }
    sim_close(&sim);
}

/* What is found out when a call begins is said, not only that it is over. */
static void the_first_reason_is_told(void)
{
    static int64_t x[2];
    const struct nf_call bcast = {
        .kind = NF_CALL_BCAST, .recv = x, .count = 1, .type = NF_ELEM_INT64
    };
    struct nf_call none = bcast;
    struct group_sim sim;

    none.count = 0;
    CU_ASSERT_FATAL(sim_open(&sim, 2, 1, NULL));
    sim_start(&sim, 1, &none);
    CU_ASSERT_EQUAL(nf_request_test(sim.requests[1]), NF_OK);
    nf_request_free(sim.requests[1]);
    sim_start(&sim, 0, &bcast);
    sim.world.now_us += 100000;
    CU_ASSERT_EQUAL(nf_request_test(sim.requests[0]), NF_OK);
    sim_start(&sim, 1, &bcast);
    CU_ASSERT_EQUAL(sim.statuses[1], NF_ERR_MISMATCH);
    sim_start(&sim, 1, &bcast);
    CU_ASSERT_EQUAL(sim.statuses[1], NF_ERR_REVOKED);
    sim_close(&sim);
}

/* ---------------------------------------------------------- different calls */

/* What one member does differently. */
struct oddity {
    const char *name; /* as it is told; NULL: the members that differ need not
                         meet in it, and tell that a call is over */
    void (*change)(struct round *round, struct nf_group *group);
    enum nf_call_kind kind;
    const char *algorithms; /* that all are told */
};

/* @return whether somebody found that out in this call */
static bool is_told(const struct group_sim *sim, const char *name)
{
    char what[40] = "";

    if (name != NULL)
        snprintf(what, sizeof(what), "not the same %s", name);
    for (uint32_t r = 0; r < sim->ranks; r++)
        if (sim->statuses[r] == NF_ERR_MISMATCH &&
            strstr(nf_group_error(sim->groups[r])->text, what) != NULL)
            return true;
    return false;
}

/* @return whether it was found to be a mismatch, and an error for all */
static bool is_noticed(const struct oddity *oddity, uint32_t odd)
{
    const struct nf_group_options options = { .timeout_us = 2000000,
                                              .algorithms =
                                                  oddity->algorithms };
    const struct nf_call barrier = { .kind = NF_CALL_BARRIER };
    struct group_sim sim;
    struct round round[5];
    bool noticed = false, ended;

    if (!sim_open(&sim, 5, odd, &options))
        return false;
    for (uint32_t r = 0; r < 5; r++) {
        round_make_kind(&round[r], r, 5, 14, oddity->kind, 30);
        if (r == odd)
            oddity->change(&round[r], sim.groups[r]);
        sim_start(&sim, r, &round[r].call);
    }
    ended = sim_run(&sim);
    for (int calls = 0; calls < 2 && ended; calls++) {
        noticed = is_told(&sim, oddity->name);
        if (noticed)
            break;
        for (uint32_t r = 0; r < 5; r++)
            sim_start(&sim, r, &barrier);
        ended = sim_run(&sim);
    }
    for (int calls = 0; calls < 2 && ended; calls++) {
        for (uint32_t r = 0; r < 5; r++)
            sim_start(&sim, r, &barrier); /* some hear of it in this one */
        ended = sim_run(&sim);
    }
    for (uint32_t r = 0; r < 5; r++)
        noticed = noticed && sim.statuses[r] == NF_ERR_REVOKED;
    sim_close(&sim);
    for (uint32_t r = 0; r < 5; r++)
        round_fini(&round[r]);
    return noticed && ended;
}

static void other_root(struct round *round, struct nf_group *group)
{
    (void)group;
    round->call.root = (round->call.root + 1) % 5;
}

static void other_operator(struct round *round, struct nf_group *group)
{
    (void)group;
    round->call.type = NF_ELEM_LOC_INT64;
    round->call.op = NF_MINLOC;
}

static void other_type(struct round *round, struct nf_group *group)
{
    (void)group;
    round->call.type = NF_ELEM_COMPLEX128;
}

static void smaller_count(struct round *round, struct nf_group *group)
{
    (void)group;
    round->call.count--;
}

static void other_operation(struct round *round, struct nf_group *group)
{
    (void)group;
    round->call.kind = NF_CALL_SCAN;
}

static void other_algorithm(struct round *round, struct nf_group *group)
{
    struct nf_error err;

    (void)round;
    CU_ASSERT_EQUAL(nf_group_force(group, "bcast.flat", &err), NF_OK);
}

static void other_segments(struct round *round, struct nf_group *group)
{
    struct nf_error err;

    (void)round;
    CU_ASSERT_EQUAL(nf_group_force(group, "bcast.pipeline.fd:k=8", &err),
                    NF_OK);
}

/* It has no rules, so that the algorithm is the same. */
static void other_table(struct round *round, struct nf_group *group)
{
    (void)round;
    nf_coll_rules_init(&group->rules);
    group->rules.id = 7;
    group->rules.model.npieces = 1;
    group->rules.model.pieces[0].start_us = 50;
    group->rules.model.pieces[0].byte_us = 0.01;
    group->has_rules = true;
}

static void different_calls_are_errors(void)
{
    static const struct oddity oddities[] = {
        { NULL, other_root, NF_CALL_BCAST, "bcast.binomial" },
        { NULL, other_root, NF_CALL_REDUCE, "bcast.binomial" },
        { "type or operator", other_type, NF_CALL_BCAST, "bcast.binomial" },
        /* by itself the one that differs may choose other partners */
        { "type or operator", other_operator, NF_CALL_ALLREDUCE,
          "allreduce.rec_doubling" },
        { "count", smaller_count, NF_CALL_ALLREDUCE, "bcast.binomial" },
        { "count", smaller_count, NF_CALL_BCAST, "bcast.binomial" },
        { "count", smaller_count, NF_CALL_GATHER, "bcast.binomial" },
        { NULL, other_operation, NF_CALL_ALLREDUCE, "bcast.binomial" },
        { "algorithm", other_algorithm, NF_CALL_BCAST, "bcast.binomial" },
        { "table of algorithms", other_table, NF_CALL_BCAST, "bcast.binomial" },
        { NULL, other_segments, NF_CALL_BCAST, "bcast.pipeline.fd:k=4" },
    };

    for (size_t i = 0; i < sizeof(oddities) / sizeof(*oddities); i++)
        for (uint32_t odd = 0; odd < 5; odd++) {
            bool noticed = is_noticed(&oddities[i], odd);

            if (!noticed)
                printf("oddity %zu of member %u is not noticed\n", i, odd);
            CU_ASSERT(noticed);
        }
}

static void alone_no_operator_is_called(void)
{
    struct nf_group *group;
    struct nf_error err;

    CU_ASSERT_FATAL(nf_group_open_threads(1, NULL, &group, &err) == NF_OK);
    CU_ASSERT(is_right_alone(group));
    nf_group_close(group);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "different counts are an error", different_counts_are_an_error },
        { "different calls are errors", different_calls_are_errors },
        { "who has no element needs no buffer",
          who_has_no_element_needs_no_buffer },
        { "marks in the wrong place are refused",
          marks_in_the_wrong_place_are_refused },
        { "a root with two counts is refused",
          a_root_with_two_counts_is_refused },
        { "a root with a small buffer is not overrun",
          a_root_with_a_small_buffer_is_not_overrun },
        { "a time-out beyond measure is a long one",
          a_time_out_beyond_measure_is_a_long_one },
        { "lists of algorithms are read", lists_of_algorithms_are_read },
        { "the first reason is told", the_first_reason_is_told },
        { "alone, no operator is called", alone_no_operator_is_called },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "arguments", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
