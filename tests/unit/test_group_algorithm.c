/* What a group says that it would choose is what its calls then go by, is the
 * same in all members, and asking changes nothing. */
#include "config.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/group/group.h"
#include "tests/unit/group_rounds.h"
#include "tests/unit/nf_unit.h"

enum { RANKS = 6, CALLS = 300 };

struct member {
    struct nf_group *group;
    uint32_t rank;
    char (*said)[NF_ALGORITHM_BYTES]; /* [CALLS] */
    uint32_t wrong;
};

/* Does the text name what went, which is told without its segments? */
static bool is_named(const char *text, const char *went)
{
    size_t length = strlen(went);

    return strncmp(text, went, length) == 0 &&
           (text[length] == '\0' || strncmp(text + length, ":k=", 3) == 0);
}

static bool ask_and_call(struct member *member, uint64_t number)
{
    char *said = member->said[number], again[NF_ALGORITHM_BYTES];
    struct nf_group *group = member->group;
    struct nf_request *request;
    struct round round;
    bool right;

    round_make(&round, member->rank, RANKS, number);
    right = nf_group_algorithm(group, &round.call, said, NF_ALGORITHM_BYTES) ==
                NF_OK &&
            nf_group_start(group, &round.call, &request) == NF_OK;
    if (right) {
        /* also while it is under way */
        right = is_named(said, nf_request_algorithm(request)) &&
                nf_group_algorithm(group, &round.call, again, sizeof(again)) ==
                    NF_OK &&
                strcmp(said, again) == 0;
        right = nf_request_wait(request) == NF_OK && right &&
                round_is_right(&round);
    }
    round_fini(&round);
    return right;
}

static void *run_member(void *of)
{
    struct member *member = of;

    if (!round_define(member->group))
        member->wrong++;
    for (uint64_t number = 0; number < CALLS; number++)
        if (!ask_and_call(member, number))
            member->wrong++;
    nf_group_close(member->group);
    return NULL;
}

static void run_threads(const struct nf_group_options *options)
{
    static char said[RANKS][CALLS][NF_ALGORITHM_BYTES];
    struct nf_group *groups[RANKS];
    struct member members[RANKS];
    pthread_t threads[RANKS];
    struct nf_error err;

    memset(said, 0, sizeof(said));
    CU_ASSERT_EQUAL_FATAL(nf_group_open_threads(RANKS, options, groups, &err),
                          NF_OK);
    for (uint32_t r = 0; r < RANKS; r++) {
        members[r] = (struct member){ groups[r], r, said[r], 0 };
        pthread_create(&threads[r], NULL, run_member, &members[r]);
    }
    for (uint32_t r = 0; r < RANKS; r++) {
        pthread_join(threads[r], NULL);
        CU_ASSERT_EQUAL(members[r].wrong, 0);
        for (int i = 0; i < CALLS; i++)
            CU_ASSERT_STRING_EQUAL(said[r][i], said[0][i]);
    }
}

static void calls_go_by_what_was_said(void)
{
    const struct nf_group_options orderly = { .deterministic = 1 };

    const struct nf_group_options torus = { .torus = "2x3" };

    run_threads(NULL);
    run_threads(&orderly);
    run_threads(&torus);
}

/* A group that none of the calls is made on. */
static struct nf_group **open_some(const char *algorithms)
{
    static struct nf_group *groups[RANKS];
    const struct nf_group_options options = { .algorithms = algorithms };
    struct nf_error err;

    CU_ASSERT_EQUAL_FATAL(nf_group_open_threads(RANKS, &options, groups, &err),
                          NF_OK);
    return groups;
}

static void close_all(struct nf_group **groups)
{
    for (uint32_t r = 0; r < RANKS; r++)
        nf_group_close(groups[r]);
}

static void names_are_said_as_they_are_asked_for(void)
{
    struct nf_group **groups =
        open_some("bcast.pipeline.fd:k=16,alltoall.mixed:radices=3x2,"
                  "gather.binomial");
    struct nf_call call = { .kind = NF_CALL_BCAST,
                            .count = 1000,
                            .type = NF_ELEM_FLOAT64 };
    char text[NF_ALGORITHM_BYTES];

    CU_ASSERT_EQUAL(nf_group_algorithm(groups[2], &call, text, sizeof(text)),
                    NF_OK);
    CU_ASSERT_STRING_EQUAL(text, "bcast.pipeline.fd:k=16");
    call.count = 5; /* a segment has an element or more */
    CU_ASSERT_EQUAL(nf_group_algorithm(groups[2], &call, text, sizeof(text)),
                    NF_OK);
    CU_ASSERT_STRING_EQUAL(text, "bcast.pipeline.fd:k=5");
    call.kind = NF_CALL_ALLTOALL;
    CU_ASSERT_EQUAL(nf_group_algorithm(groups[5], &call, text, sizeof(text)),
                    NF_OK);
    CU_ASSERT_STRING_EQUAL(text, "alltoall.mixed:radices=3x2");
    call.kind = NF_CALL_GATHER;
    call.varies = 1;
    CU_ASSERT_EQUAL(nf_group_algorithm(groups[0], &call, text, sizeof(text)),
                    NF_OK);
    CU_ASSERT_STRING_EQUAL(text, "gather.binomial");
    close_all(groups);
}

static void ask(struct nf_group *group, const struct nf_call *call,
                char text_p[NF_ALGORITHM_BYTES])
{
    CU_ASSERT_EQUAL(nf_group_algorithm(group, call, text_p, NF_ALGORITHM_BYTES),
                    NF_OK);
}

enum { MOST_RANKS = 48 };

/* What members know of different sizes is what they say that is usual.  What combines
 * blocks sends their sizes too, and so is not taken as soon.
 * @return of what is taken: 1 combined, 2 not where it is if all are alike, 4 not at all */
static uint32_t ask_for_sizes(uint32_t ranks)
{
    struct nf_group *groups[MOST_RANKS];
    char varies[NF_ALGORITHM_BYTES], alike[NF_ALGORITHM_BYTES];
    uint32_t kinds = 0;

    CU_ASSERT_FATAL(nf_group_open_threads(ranks, NULL, groups, NULL) == NF_OK);
    for (size_t count = 1; count <= 1 << 20; count *= 4) {
        struct nf_call call = { .kind = NF_CALL_ALLTOALL,
                                .count = count,
                                .type = NF_ELEM_BYTE };

        ask(groups[0], &call, alike);
        call = (struct nf_call){ .kind = NF_CALL_ALLTOALL,
                                 .varies = 1,
                                 .type = NF_ELEM_BYTE,
                                 .usual_count = count };
        ask(groups[3], &call, varies);
        if (strcmp(alike, "alltoall.burst") == 0)
            CU_ASSERT_STRING_EQUAL(varies, alike);
        kinds |= strcmp(varies, "alltoall.burst") != 0  ? 1u
                 : strcmp(alike, "alltoall.burst") != 0 ? 2u
                                                        : 4u;
        call.usual_count = SIZE_MAX / 2;
        CU_ASSERT_EQUAL(
            nf_group_algorithm(groups[3], &call, alike, sizeof(alike)),
            NF_ERR_INVAL);
    }
    for (uint32_t r = 0; r < ranks; r++)
        nf_group_close(groups[r]);
    return kinds;
}

static void usual_sizes_are_gone_by(void)
{
    CU_ASSERT_EQUAL(ask_for_sizes(16), 2 + 4);
    CU_ASSERT_EQUAL(ask_for_sizes(MOST_RANKS), 1 + 4);
}

/* With what P and prices say, but no size is known: that which the fewest bytes
 * are kept by if there is a limit, and what is asked for by name always. */
static void unknown_sizes_have_an_algorithm(void)
{
    const struct nf_group_options options[] = {
        { .memory_bytes = 0 },
        { .memory_bytes = 4096 },
        { .algorithms = "alltoall.dh", .memory_bytes = 4096 },
    };
    static const char *const want[] = { "alltoall.burst", "alltoall.burst",
                                        "alltoall.dh" };
    const struct nf_call call = { .kind = NF_CALL_ALLTOALL,
                                  .varies = 1,
                                  .type = NF_ELEM_INT64 };
    struct nf_group *groups[8];
    char text[NF_ALGORITHM_BYTES];

    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL_FATAL(
            nf_group_open_threads(8, &options[i], groups, NULL), NF_OK);
        for (uint32_t r = 0; r < 8; r++) {
            ask(groups[r], &call, text);
            CU_ASSERT_STRING_EQUAL(text, want[i]);
        }
        for (uint32_t r = 0; r < 8; r++)
            nf_group_close(groups[r]);
    }
}

/* What members are told of the torus that they are. */
static void a_torus_is_chosen_for(void)
{
    const struct nf_group_options torus = { .torus = "6x6" };
    struct nf_group *groups[36], *none;
    struct nf_call call = { .kind = NF_CALL_ALLTOALL,
                            .count = 1,
                            .type = NF_ELEM_BYTE };
    char text[NF_ALGORITHM_BYTES];

    CU_ASSERT_EQUAL_FATAL(nf_group_open_threads(36, &torus, groups, NULL),
                          NF_OK);
    ask(groups[7], &call, text);
    CU_ASSERT_STRING_EQUAL(text, "alltoall.dh:shape=6x6");
    call.count = 1000000;
    ask(groups[7], &call, text);
    CU_ASSERT_STRING_EQUAL(text, "alltoall.burst");
    call.varies = 1; /* nobody knows a size */
    ask(groups[0], &call, text);
    CU_ASSERT_STRING_EQUAL(text, "alltoall.burst");
    call.usual_count = 1;
    ask(groups[0], &call, text);
    CU_ASSERT_STRING_EQUAL(text, "alltoall.dh:shape=6x6");
    for (uint32_t r = 0; r < 36; r++)
        nf_group_close(groups[r]);
    CU_ASSERT_EQUAL(nf_group_open_threads(1, &torus, &none, NULL), NF_OK);
    nf_group_close(none);
}

enum { MANY = 36 };

/* @param together  all are on one host, or each on one of its own */
static void open_many(const struct nf_group_options *options, bool together,
                      struct nf_group *groups_p[MANY])
{
    CU_ASSERT_EQUAL_FATAL(nf_group_open_threads(MANY, options, groups_p, NULL),
                          NF_OK);
    for (uint32_t r = 0; r < MANY; r++)
        groups_p[r]->least = together ? MANY : 1;
}

static void close_many(struct nf_group *groups[MANY])
{
    for (uint32_t r = 0; r < MANY; r++)
        nf_group_close(groups[r]);
}

/* @return how many all-to-alls do not go by the same in both */
static unsigned count_others(struct nf_group *one, struct nf_group *other)
{
    unsigned others = 0;

    for (int varies = 0; varies < 2; varies++)
        for (size_t count = 1; count < 1 << 20; count *= 2) {
            const struct nf_call call = { .kind = NF_CALL_ALLTOALL,
                                          .count = count,
                                          .type = NF_ELEM_FLOAT64,
                                          .varies = varies };
            char text[2][NF_ALGORITHM_BYTES];

            ask(one, &call, text[0]);
            ask(other, &call, text[1]);
            others += strcmp(text[0], text[1]) != 0;
        }
    return others;
}

/* By P and count only, and not by where the members are: on a torus, or all on
 * one host, where others go by that. */
static void deterministic_groups_are_the_same_anywhere(void)
{
    const struct nf_group_options apart = { .deterministic = 1 };
    struct nf_group *usual[MANY], *groups[MANY];

    open_many(&apart, false, usual);
    for (int torus = 0; torus < 2; torus++)
        for (int deterministic = 0; deterministic < 2; deterministic++) {
            const struct nf_group_options options = {
                .deterministic = deterministic,
                .torus = torus != 0 ? "6x6" : NULL
            };

            open_many(&options, torus == 0, groups);
            CU_ASSERT_EQUAL(count_others(groups[5], usual[5]) > 0,
                            deterministic == 0);
            close_many(groups);
        }
    close_many(usual);
}

static void what_is_no_torus_is_refused(void)
{
    static const struct {
        const char *torus, *said;
    } bad[] = {
        { "3x5", "a torus of 15 nodes for 12 members" },
        { "3x", "torus \"3x\": want sides such as 3x4" },
        { "0x12", "torus \"0x12\": want sides such as 3x4" },
    };
    struct nf_group *groups[12];
    struct nf_error err;

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        const struct nf_group_options options = { .torus = bad[i].torus };

        CU_ASSERT_EQUAL(nf_group_open_threads(12, &options, groups, &err),
                        NF_ERR_INVAL);
        CU_ASSERT_STRING_EQUAL(err.text, bad[i].said);
    }
}

static void calls_that_send_nothing_have_none(void)
{
    struct nf_group **groups = open_some("");
    const size_t none[RANKS] = { 0 };
    struct nf_call call = { .kind = NF_CALL_ALLREDUCE,
                            .type = NF_ELEM_INT64,
                            .op = NF_SUM };
    char text[NF_ALGORITHM_BYTES] = "as it was";
    struct nf_group *alone;

    CU_ASSERT_EQUAL(nf_group_algorithm(groups[0], &call, text, sizeof(text)),
                    NF_OK);
    CU_ASSERT_STRING_EQUAL(text, "");
    call.kind = NF_CALL_ALLGATHER;
    call.count = 7; /* not looked at where there are counts */
    call.counts = none;
    strcpy(text, "as it was");
    CU_ASSERT_EQUAL(nf_group_algorithm(groups[0], &call, text, 1), NF_OK);
    CU_ASSERT_STRING_EQUAL(text, "");
    call.kind = NF_CALL_BARRIER;
    CU_ASSERT_EQUAL(nf_group_algorithm(groups[0], &call, text, sizeof(text)),
                    NF_OK);
    CU_ASSERT_STRING_NOT_EQUAL(text, "");
    close_all(groups);
    CU_ASSERT_EQUAL_FATAL(nf_group_open_threads(1, NULL, &alone, NULL), NF_OK);
    CU_ASSERT_EQUAL(nf_group_algorithm(alone, &call, text, sizeof(text)),
                    NF_OK);
    CU_ASSERT_STRING_EQUAL(text, "");
    nf_group_close(alone);
}

/* @return what is said of it, with the text left as it was */
static enum nf_status refusal(struct nf_group *group,
                              const struct nf_call *call, size_t bytes)
{
    char text[NF_ALGORITHM_BYTES] = "as it was";
    enum nf_status status = nf_group_algorithm(group, call, text, bytes);

    CU_ASSERT_STRING_EQUAL(text, "as it was");
    return status;
}

static void what_cannot_be_is_refused(void)
{
    struct nf_group **groups = open_some("reduce.binomial");
    const size_t huge[RANKS] = { SIZE_MAX / 2, SIZE_MAX / 2 };
    const struct nf_call good = { .kind = NF_CALL_BCAST,
                                  .count = 10,
                                  .type = NF_ELEM_INT64 };
    struct nf_call call = good;

    CU_ASSERT_EQUAL(refusal(groups[0], &call, 3), NF_ERR_RANGE);
    call.kind = (enum nf_call_kind)77;
    CU_ASSERT_EQUAL(refusal(groups[0], &call, 64), NF_ERR_INVAL);
    call = good;
    call.type = 99;
    CU_ASSERT_EQUAL(refusal(groups[0], &call, 64), NF_ERR_INVAL);
    call = good;
    call.root = RANKS;
    CU_ASSERT_EQUAL(refusal(groups[0], &call, 64), NF_ERR_INVAL);
    call = good;
    call.kind = NF_CALL_ALLGATHER;
    call.counts = huge;
    CU_ASSERT_EQUAL(refusal(groups[0], &call, 64), NF_ERR_INVAL);
    /* asking has not spoilt the group */
    call = good;
    call.kind = NF_CALL_BCAST;
    call.counts = NULL;
    CU_ASSERT_EQUAL(refusal(groups[0], &call, 1), NF_ERR_RANGE);
    nf_group_close(groups[1]);
    CU_ASSERT(nf_barrier(groups[0]) < 0);
    CU_ASSERT_EQUAL(refusal(groups[0], &good, 64), NF_ERR_REVOKED);
    nf_group_close(groups[0]);
    for (uint32_t r = 2; r < RANKS; r++)
        nf_group_close(groups[r]);
}

/* How one of three threads, whose host is one, would send 1 MiB to all. */
static struct nf_coll_choice choose_for_one_host(bool deterministic)
{
    const struct nf_group_options options = { .deterministic = deterministic };
    const struct nf_choice_query query = { .coll = { .op = NF_COLL_BCAST,
                                                     .ranks = 3,
                                                     .bytes = 1 << 20,
                                                     .elements = 1 << 20,
                                                     .commutative = true } };
    struct nf_coll_choice choice = { .cost_us = -1 };
    struct nf_group *groups[3];

    CU_ASSERT_FATAL(nf_group_open_threads(3, &options, groups, NULL) == NF_OK);
    CU_ASSERT_EQUAL(groups[2]->nhosts, 1);
    CU_ASSERT_EQUAL(nf_group_choose(groups[2], &query, &choice, NULL), NF_OK);
    for (int r = 0; r < 3; r++)
        nf_group_close(groups[r]);
    return choice;
}

/* Without a table 1 MiB is 89 ms on a wire of the built-in network, and 0.75 ms
 * within a host.  What is to have the same bits on any hosts does not go by them. */
static void one_host_has_no_wires(void)
{
    struct nf_coll_choice near = choose_for_one_host(false);
    struct nf_coll_choice same = choose_for_one_host(true);
    struct nf_coll_choice fixed;
    const struct nf_coll_query query = { .op = NF_COLL_BCAST,
                                         .ranks = 3,
                                         .bytes = 8 << 20,
                                         .elements = 1 << 20,
                                         .commutative = true };

    CU_ASSERT(near.cost_us > 750 && near.cost_us < 1500);
    CU_ASSERT(nf_coll_select_fixed(&query, &fixed));
    CU_ASSERT_PTR_EQUAL(same.algorithm, fixed.algorithm);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "calls go by what was said", calls_go_by_what_was_said },
        { "names are said as they are asked for",
          names_are_said_as_they_are_asked_for },
        { "usual sizes are gone by", usual_sizes_are_gone_by },
        { "unknown sizes have an algorithm", unknown_sizes_have_an_algorithm },
        { "a torus is chosen for", a_torus_is_chosen_for },
        { "deterministic groups are the same anywhere",
          deterministic_groups_are_the_same_anywhere },
        { "one host has no wires", one_host_has_no_wires },
        { "what is no torus is refused", what_is_no_torus_is_refused },
        { "calls that send nothing have none",
          calls_that_send_nothing_have_none },
        { "what cannot be is refused", what_cannot_be_is_refused },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "which algorithm", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
