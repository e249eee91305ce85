/* Structures between members of different data formats: every algorithm on a
 * fake mesh whose members differ, a structure of mixed members between threads,
 * and functions that fail. */
#include "config.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/endian.h"
#include "tests/unit/group_sim.h"
#include "tests/unit/group_structs.h"
#include "tests/unit/nf_unit.h"

/* ------------------------------------------- rounds on machines that differ */

enum { MATRIX_BYTES = 16, PACKED_BYTES = 19 };

/* Of all members. */
static struct {
    unsigned packs, unpacks;
    unsigned fail_pack, fail_unpack; /* this call fails; 0: none */
} count;

/* Longer than in memory, and of no size that anything else has. */
static int pack(const void *elements, size_t n, void *packed, void *user)
{
    const uint8_t *from = elements;
    uint8_t *to = packed;

    (void)user;
    if (++count.packs == count.fail_pack)
        return 7;
    for (; n > 0; n--, from += MATRIX_BYTES, to += PACKED_BYTES) {
        for (int i = 0; i < 4; i++) {
            uint32_t x;

            memcpy(&x, from + 4 * i, sizeof(x));
            nf_store_be32(to + 4 * i, ~x);
        }
        memset(to + MATRIX_BYTES, 'x', PACKED_BYTES - MATRIX_BYTES);
    }
    return 0;
}

static int unpack(const void *packed, size_t n, void *elements, void *user)
{
    const uint8_t *from = packed;
    uint8_t *to = elements;
    bool bad = false;

    (void)user;
    if (++count.unpacks == count.fail_unpack)
        return -8;
    for (; n > 0; n--, to += MATRIX_BYTES, from += PACKED_BYTES)
        for (int i = 0; i < 4; i++) {
            uint32_t x = ~nf_load_be32(from + 4 * i);

            memcpy(to + 4 * i, &x, sizeof(x));
            bad = bad || from[MATRIX_BYTES] != 'x' ||
                  from[PACKED_BYTES - 1] != 'x';
        }
    CU_ASSERT_FALSE(bad);
    return 0;
}

/* Members of @p nformats kinds, whose matrices are packed. */
static bool open_mixed(struct group_sim *sim, uint32_t ranks, uint64_t seed,
                       const struct nf_group_options *options,
                       uint32_t nformats)
{
    static const struct nf_packing packing = { PACKED_BYTES, pack, unpack,
                                               NULL };

    memset(&count, 0, sizeof(count));
    if (!sim_open(sim, ranks, seed, options))
        return false;
    for (uint32_t r = 0; r < ranks; r++) {
        sim->world.formats[r] = (uint8_t)((r + seed) % nformats);
        sim->groups[r]->codes.types[ROUND_MATRIX - NF_ELEM_USER].packing =
            packing;
    }
    return true;
}

/* One round of everybody.  @return how many succeeded with a wrong result */
static unsigned play(struct group_sim *sim, struct round *round)
{
    unsigned bad = 0;

    for (uint32_t r = 0; r < sim->ranks; r++) {
        enum nf_status status =
            start_somehow(sim->groups[r], &round[r].call, &sim->requests[r]);

        sim->statuses[r] = status == NF_OK ? NF_WAIT : status;
    }
    bad += !sim_run(sim);
    for (uint32_t r = 0; r < sim->ranks; r++) {
        if (sim->requests[r] != NULL)
            nf_request_free(sim->requests[r]);
        sim->requests[r] = NULL;
        bad += sim->statuses[r] == NF_OK && !round_is_right(&round[r]);
    }
    return bad;
}

static unsigned go_through(uint32_t ranks, uint64_t seed, uint32_t nformats)
{
    struct group_sim sim;
    struct round round[FAKE_MEMBERS_MAX];
    struct nf_rng rng = { seed };
    char algorithms[400];
    struct nf_group_options options = { .algorithms = algorithms };
    unsigned bad = 0;

    draw_algorithms(&rng, ranks, algorithms, sizeof(algorithms));
    if (!open_mixed(&sim, ranks, seed, &options, nformats))
        return 1;
    for (uint64_t i = 0; i < 40 && bad == 0; i++) {
        for (uint32_t r = 0; r < ranks; r++)
            round_make(&round[r], r, ranks, seed * 100000 + i);
        bad = play(&sim, round);
        for (uint32_t r = 0; r < ranks; r++) {
            bad += sim.statuses[r] != NF_OK;
            round_fini(&round[r]);
        }
        if (bad > 0)
            printf("%s: P %u seed %llu round %llu: %s\n", algorithms, ranks,
                   (unsigned long long)seed, (unsigned long long)i,
                   nf_group_error(sim.groups[0])->text);
    }
    sim_close(&sim);
    return bad;
}

static void every_algorithm_packs_where_formats_differ(void)
{
    for (uint64_t seed = 1; seed < 60; seed++) {
        CU_ASSERT_EQUAL(go_through((uint32_t)(2 + seed % 8), seed, 2), 0);
        CU_ASSERT(count.packs > 0 && count.unpacks > 0);
    }
    CU_ASSERT_EQUAL(go_through(16, 99, 3), 0);
}

static void nothing_is_packed_where_formats_agree(void)
{
    CU_ASSERT_EQUAL(go_through(7, 5, 1), 0);
    CU_ASSERT_EQUAL(count.packs, 0);
    CU_ASSERT_EQUAL(count.unpacks, 0);
}

/* ------------------------------------------------------ functions that fail */

/* What members say of it.  @return whether somebody said what was returned */
static bool is_told(const struct group_sim *sim, const char *function, int code)
{
    char text[60];
    bool told = false;

    snprintf(text, sizeof(text), "%s() of user0 returned %d", function, code);
    for (uint32_t r = 0; r < sim->ranks; r++) {
        const struct nf_error *err = nf_group_error(sim->groups[r]);

        if (sim->statuses[r] == NF_OK)
            continue; /* had all that it needed */
        CU_ASSERT_EQUAL(sim->statuses[r], NF_ERR_FAILED);
        told = told || strstr(err->text, text) != NULL;
        CU_ASSERT(strstr(err->text, text) != NULL ||
                  strstr(err->text, "could not pack or unpack elements") !=
                      NULL);
        for (uint32_t other = 0; other < sim->ranks; other++)
            CU_ASSERT_FALSE(nf_group_is_lost(sim->groups[r], other));
    }
    return told;
}

/* @return whether it failed: there were that many calls of the function */
static bool fail_at(enum nf_call_kind kind, unsigned at, bool packing)
{
    enum { RANKS = 5 };
    struct group_sim sim;
    struct round round[RANKS];
    enum nf_status results[RANKS];
    bool failed;

    CU_ASSERT_FATAL(open_mixed(&sim, RANKS, 2, NULL, 2));
    count.fail_pack = packing ? at : 0;
    count.fail_unpack = packing ? 0 : at;
    for (uint32_t r = 0; r < RANKS; r++)
        round_make_kind(&round[r], r, RANKS, 100, kind, 40);
    CU_ASSERT_EQUAL(play(&sim, round), 0);
    failed = is_told(&sim, packing ? "pack" : "unpack", packing ? 7 : -8);
    CU_ASSERT_EQUAL(failed, (packing ? count.packs : count.unpacks) >= at);
    for (uint32_t r = 0; r < RANKS; r++) {
        CU_ASSERT(failed || sim.statuses[r] == NF_OK);
        round_fini(&round[r]);
    }
    count.fail_pack = count.fail_unpack = 0;
    CU_ASSERT(sim_shrink(&sim, results));
    for (uint32_t r = 0; r < RANKS; r++)
        CU_ASSERT_EQUAL(results[r], NF_OK);
    CU_ASSERT_EQUAL(nf_group_size(sim.groups[0]), RANKS);
    for (uint32_t r = 0; r < RANKS; r++)
        round_make_kind(&round[r], r, RANKS, 102, kind, 30);
    CU_ASSERT_EQUAL(play(&sim, round), 0);
    for (uint32_t r = 0; r < RANKS; r++) {
        CU_ASSERT_EQUAL(sim.statuses[r], NF_OK);
        round_fini(&round[r]);
    }
    sim_close(&sim);
    return failed;
}

static void a_function_that_fails_ends_the_call_everywhere(void)
{
    for (int kind = 0; kind < NF_CALL_BARRIER; kind++)
        for (int packing = 0; packing < 2; packing++) {
            unsigned at = 1;

            while (fail_at((enum nf_call_kind)kind, at, packing != 0))
                at++;
            CU_ASSERT(at > 1);
        }
}

static void running_out_of_memory_is_an_error(void)
{
    enum { RANKS = 4 };
    unsigned failures = 0;

    for (long successes = 0; successes < 400; successes++) {
        struct group_sim sim;
        struct round round[RANKS];
        bool failed = false;

        CU_ASSERT_FATAL(open_mixed(&sim, RANKS, 3, NULL, 2));
        for (uint32_t r = 0; r < RANKS; r++)
            round_make_kind(&round[r], r, RANKS, 100, NF_CALL_ALLREDUCE, 40);
        nf_alloc_fail_after(successes);
        CU_ASSERT_EQUAL(play(&sim, round), 0);
        nf_alloc_fail_after(-1);
        for (uint32_t r = 0; r < RANKS; r++) {
            failed = failed || sim.statuses[r] != NF_OK;
            CU_ASSERT_NOT_EQUAL(sim.statuses[r], NF_ERR_FAILED);
            round_fini(&round[r]);
        }
        sim_close(&sim);
        failures += failed;
        if (!failed)
            break;
    }
    CU_ASSERT(failures > 10 && failures < 400);
}

/* A member that knows the type without a packing cannot take packed elements.
 */
static void types_that_differ_are_an_error(void)
{
    struct group_sim sim;
    struct round round[2];

    for (int other = 0; other < 2; other++) {
        CU_ASSERT_FATAL(open_mixed(&sim, 2, 1, NULL, 2));
        if (other == 0)
            sim.groups[1]->codes.types[0].packing.pack = NULL;
        else
            sim.groups[1]->codes.types[0].packing.packed_bytes++;
        for (uint32_t r = 0; r < 2; r++)
            round_make_kind(&round[r], r, 2, 100, NF_CALL_BCAST, 40);
        CU_ASSERT_EQUAL(play(&sim, round), 0);
        CU_ASSERT_EQUAL(sim.statuses[1], NF_ERR_MISMATCH);
        CU_ASSERT_PTR_NOT_NULL(strstr(nf_group_error(sim.groups[1])->text,
                                      other == 0 ? "same size of the type"
                                                 : "same packed_bytes"));
        for (uint32_t r = 0; r < 2; r++)
            round_fini(&round[r]);
        sim_close(&sim);
    }
}

/* ------------------------------------------------------------------ threads */

enum { THREADS_MOST = 5 };

struct member {
    struct group_structs structs;
    struct nf_group *group;
    unsigned bad;
    enum nf_status status;
};

static void *run_member(void *user)
{
    struct member *m = user;

    m->bad = !group_structs_define(&m->structs, m->group);
    if (m->bad == 0)
        m->bad = group_structs_try(&m->structs);
    if (m->bad == 0 && nf_barrier(m->group) != NF_OK)
        m->bad++;
    nf_group_close(m->group);
    return NULL;
}

/* The root cannot pack: everybody is told. */
static void *run_failure(void *user)
{
    struct member *m = user;

    m->bad = !group_structs_define(&m->structs, m->group);
    m->structs.fail_pack = nf_group_rank(m->group) == 0;
    m->status = group_structs_bcast(&m->structs, 100, &m->bad);
    if (m->status == NF_OK) /* nobody has got anything */
        m->bad++;
    m->bad += nf_barrier(m->group) != NF_ERR_REVOKED;
    nf_group_close(m->group);
    return NULL;
}

static void run(uint32_t ranks, const char *algorithms,
                void *(*function)(void *), struct member *members)
{
    const struct nf_group_options options = { .algorithms = algorithms };
    struct nf_group *groups[THREADS_MOST];
    pthread_t threads[THREADS_MOST];
    struct nf_error err = { NF_OK, "" };

    CU_ASSERT_EQUAL_FATAL(nf_group_open_threads(ranks, &options, groups, &err),
                          NF_OK);
    for (uint32_t r = 0; r < ranks; r++) {
        members[r] = (struct member){ .group = groups[r] };
        pthread_create(&threads[r], NULL, function, &members[r]);
    }
    for (uint32_t r = 0; r < ranks; r++) {
        pthread_join(threads[r], NULL);
        CU_ASSERT_EQUAL(members[r].bad, 0);
    }
}

/* Such as serve every count and operator. */
static const char *const wishes[] = {
    "",
    "allreduce.reduce_bcast,reduce.binomial_ordered,scan.pipeline.fd:"
    "k=4,bcast.circulant:k=7,gather.binomial,scatter.binomial,alltoall.bruck",
    "allreduce.rec_doubling,bcast.pipeline.fd:k=9,scan.brent_kung,"
    "allgather.ring,alltoall.pairwise_shift",
};

static void threads_may_pack_for_a_test(void)
{
    struct member members[THREADS_MOST];

    setenv("NOWFARM_ENCODING", "xdr", 1);
    for (size_t w = 0; w < sizeof(wishes) / sizeof(*wishes); w++)
        for (uint32_t ranks = 4; ranks <= THREADS_MOST; ranks++) {
            run(ranks, wishes[w], run_member, members);
            for (uint32_t r = 0; r < ranks; r++)
                CU_ASSERT(members[r].structs.packs > 0 &&
                          members[r].structs.unpacks > 0);
        }
    unsetenv("NOWFARM_ENCODING");
}

static void threads_do_not_pack(void)
{
    struct member members[THREADS_MOST];

    run(THREADS_MOST, "", run_member, members);
    for (uint32_t r = 0; r < THREADS_MOST; r++)
        CU_ASSERT(members[r].structs.packs == 0 &&
                  members[r].structs.unpacks == 0);
}

static void threads_are_told_of_a_failure(void)
{
    struct member members[THREADS_MOST];

    setenv("NOWFARM_ENCODING", "xdr", 1);
    run(THREADS_MOST, "", run_failure, members);
    for (uint32_t r = 0; r < THREADS_MOST; r++)
        /* word of it may come before the others make the call */
        CU_ASSERT(members[r].status == NF_ERR_FAILED ||
                  (r != 0 && members[r].status == NF_ERR_REVOKED));
    unsetenv("NOWFARM_ENCODING");
}

/* -------------------------------------------------------------- definitions */

static void bad_definitions_are_refused(void)
{
    const size_t most = UINT32_MAX / 8;
    struct nf_packing packing = { 1, pack, unpack, NULL };
    struct nf_group *group;
    struct nf_error err;
    int type = -1;

    CU_ASSERT_EQUAL_FATAL(nf_group_open_threads(1, NULL, &group, &err), NF_OK);
    CU_ASSERT_EQUAL(nf_group_define_struct(group, 0, &packing, &type),
                    NF_ERR_RANGE);
    CU_ASSERT_EQUAL(nf_group_define_struct(group, most + 1, NULL, &type),
                    NF_ERR_RANGE);
    packing.packed_bytes = 0;
    CU_ASSERT_EQUAL(nf_group_define_struct(group, 8, &packing, &type),
                    NF_ERR_RANGE);
    packing.packed_bytes = most + 1;
    CU_ASSERT_EQUAL(nf_group_define_struct(group, 8, &packing, &type),
                    NF_ERR_RANGE);
    packing = (struct nf_packing){ 8, pack, NULL, NULL };
    CU_ASSERT_EQUAL(nf_group_define_struct(group, 8, &packing, &type),
                    NF_ERR_INVAL);
    packing = (struct nf_packing){ 8, NULL, unpack, NULL };
    CU_ASSERT_EQUAL(nf_group_define_struct(group, 8, &packing, &type),
                    NF_ERR_INVAL);
    CU_ASSERT_EQUAL(type, -1);
    packing = (struct nf_packing){ most, pack, unpack, NULL };
    CU_ASSERT_EQUAL(nf_group_define_struct(group, most, &packing, &type),
                    NF_OK);
    CU_ASSERT_EQUAL(type, NF_ELEM_USER);
    CU_ASSERT_EQUAL(nf_group_type_bytes(group, type), most);
    for (int i = 1; i < NF_USER_CODES_MAX; i++)
        CU_ASSERT_EQUAL(nf_group_define_struct(group, 3, NULL, &type), NF_OK);
    CU_ASSERT_EQUAL(nf_group_define_struct(group, 3, NULL, &type),
                    NF_ERR_RANGE);
    nf_group_close(group);
}

/* More packed bytes than fit, though the elements would. */
static void packed_bytes_count_too(void)
{
    struct nf_packing packing = { UINT32_MAX / 8, pack, unpack, NULL };
    const size_t huge = SIZE_MAX / 2 / packing.packed_bytes + 1;
    struct nf_group *group;
    struct nf_error err;
    uint8_t x;
    int type;

    CU_ASSERT_EQUAL_FATAL(nf_group_open_threads(1, NULL, &group, &err), NF_OK);
    CU_ASSERT_EQUAL(nf_group_define_struct(group, 1, &packing, &type), NF_OK);
    CU_ASSERT_EQUAL(nf_bcast(group, &x, huge, type, 0), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_allgatherv(group, &x, &x, &huge, NULL, type),
                    NF_ERR_INVAL);
    nf_group_close(group);
}

int main(void)
{
    CU_TestInfo differ[] = {
        { "every algorithm packs where formats differ",
          every_algorithm_packs_where_formats_differ },
        { "nothing is packed where formats agree",
          nothing_is_packed_where_formats_agree },
        { "a function that fails ends the call everywhere",
          a_function_that_fails_ends_the_call_everywhere },
        { "running out of memory is an error",
          running_out_of_memory_is_an_error },
        { "types that differ are an error", types_that_differ_are_an_error },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo threads[] = {
        { "threads may pack, for a test", threads_may_pack_for_a_test },
        { "threads do not pack", threads_do_not_pack },
        { "threads are told of a failure", threads_are_told_of_a_failure },
        { "bad definitions are refused", bad_definitions_are_refused },
        { "packed bytes count too", packed_bytes_count_too },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "members that differ", NULL, NULL, NULL, NULL, differ },
        { "threads", NULL, NULL, NULL, NULL, threads },
        CU_SUITE_INFO_NULL,
    };

    unsetenv("NOWFARM_ENCODING");
    return nf_unit_main(suites);
}
