/* Making a group smaller: with data of the failed call still queued, when nobody
 * has failed at all, and when there is nothing left to agree over. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "tests/unit/group_sim.h"
#include "tests/unit/nf_unit.h"

enum { TIMEOUT_US = 1000000, MS = 1000, RANKS = 5 };

static const struct nf_group_options flat = { .timeout_us = TIMEOUT_US,
                                              .algorithms = "bcast.flat" };

static struct nf_call bcast_of(void *buffer, size_t bytes)
{
    return (struct nf_call){ .kind = NF_CALL_BCAST,
                             .recv = buffer,
                             .count = bytes,
                             .type = NF_ELEM_BYTE };
}

/* Everybody that runs is in one group of @p ranks, and it works. */
static bool is_good(struct group_sim *sim, const enum nf_status *results,
                    uint32_t ranks)
{
    const struct nf_call barrier = { .kind = NF_CALL_BARRIER };
    bool good = true;

    for (uint32_t r = 0; r < sim->ranks; r++) {
        if (!sim_runs(sim, r))
            continue;
        if (results[r] != NF_OK || sim->groups[r]->ranks != ranks) {
            printf("rank %u: %s\n", r, nf_strerror(results[r]));
            return false;
        }
        sim_start(sim, r, &barrier);
    }
    good = sim_run(sim);
    for (uint32_t r = 0; r < sim->ranks; r++)
        good = good && (!sim_runs(sim, r) || sim->statuses[r] == NF_OK);
    return good;
}

/* What is queued takes 8 time-outs, a single message 2. */
static void what_is_queued_does_not_delay_agreement(void)
{
    static uint8_t buffer[64 * 1024];
    const struct nf_call call = bcast_of(buffer, sizeof(buffer));

    for (uint32_t victim = 1; victim < RANKS; victim++) {
        struct group_sim sim;
        enum nf_status results[RANKS];
        int64_t begun_us;

        CU_ASSERT_FATAL(sim_open(&sim, RANKS, victim, &flat));
        sim.world.byte_ns = 2 * TIMEOUT_US / 66;
        for (uint32_t r = 0; r < RANKS; r++)
            sim_start(&sim, r, &call);
        for (int i = 0; i < 300; i++) {
            sim.world.now_us += MS;
            for (uint32_t r = 0; r < RANKS; r++)
                sim.statuses[r] = nf_request_test(sim.requests[r]);
        }
        fake_kill(&sim.world, victim);
        for (uint32_t r = 0; r < RANKS; r++) { /* they give the call up */
            nf_request_free(sim.requests[r]);
            sim.requests[r] = NULL;
        }
        begun_us = sim.world.now_us;
        CU_ASSERT(sim_shrink(&sim, results));
        CU_ASSERT(sim.world.now_us - begun_us < TIMEOUT_US);
        sim.world.byte_ns = 0;
        CU_ASSERT(is_good(&sim, results, RANKS - 1));
        sim_close(&sim);
    }
}

/* ---------------------------------------------------------- nobody has failed */

enum { BYTES = 3000 };

struct member {
    struct nf_shrink *shrink;
    struct nf_group *made;
    unsigned calls; /* that are done */
    enum nf_status result;
    uint8_t buffer[BYTES];
};

/* Two broadcasts, then the group is made smaller.  @return whether that is done
 */
static bool go_on(struct group_sim *sim, uint32_t rank, struct member *m)
{
    const struct nf_call call = bcast_of(m->buffer, BYTES);
    struct nf_error err;

    if (m->result != NF_WAIT)
        return true;
    if (m->shrink != NULL) {
        m->result = nf_shrink_run(m->shrink, &m->made, &err);
        return m->result != NF_WAIT;
    }
    if (sim->requests[rank] == NULL)
        sim_start(sim, rank, &call);
    if (!sim_test(sim, rank))
        return false;
    if (sim->statuses[rank] != NF_OK)
        printf("call %u of rank %u: %s: %s\n", m->calls, rank,
               nf_strerror(sim->statuses[rank]),
               nf_group_error(sim->groups[rank])->text);
    if (sim->statuses[rank] != NF_OK)
        m->result = sim->statuses[rank];
    else if (++m->calls == 2)
        m->result = nf_shrink_start(sim->groups[rank], &m->shrink, &err) ==
                            NF_OK
                        ? NF_WAIT
                        : NF_ERR_FAILED;
    return false;
}

/* @param late  that rank begins 100 ms later */
static void shrink_healthy(uint64_t seed, uint32_t late)
{
    struct group_sim sim;
    struct member members[3];
    enum nf_status results[3];
    uint32_t done = 0;

    CU_ASSERT_FATAL(sim_open(&sim, 3, seed, &flat));
    sim.world.most_delay_us = 5 * MS;
    for (uint32_t r = 0; r < 3; r++) {
        members[r] = (struct member){ .result = NF_WAIT };
        memset(members[r].buffer, r == 0 ? 7 : 0, BYTES);
    }
    for (int ms = 0; ms < 2000 && done < 3; ms++) {
        done = 0;
        for (uint32_t r = 0; r < 3; r++)
            done += (r != late || ms > 100) && go_on(&sim, r, &members[r]);
        sim.world.now_us += MS / 2;
    }
    for (uint32_t r = 0; r < 3; r++) {
        results[r] = members[r].result;
        CU_ASSERT_EQUAL(members[r].buffer[BYTES - 1], 7);
        nf_shrink_destroy(members[r].shrink);
        nf_group_close(sim.groups[r]);
        sim.groups[r] = members[r].made;
    }
    CU_ASSERT(is_good(&sim, results, 3));
    sim_close(&sim);
}

static void earlier_calls_end_well(void)
{
    for (uint64_t seed = 0; seed < 40; seed++)
        shrink_healthy(seed, (uint32_t)(seed % 4));
}

/* The call that goes on needs one that ends meanwhile. */
static void earlier_calls_are_still_watched(void)
{
    static uint8_t buffer[3][BYTES];
    const struct nf_call first = { .kind = NF_CALL_REDUCE,
                                   .send = buffer[0],
                                   .recv = buffer[1],
                                   .count = BYTES,
                                   .type = NF_ELEM_UINT8,
                                   .op = NF_SUM,
                                   .root = 1 };

    for (int mutely = 0; mutely < 2; mutely++) {
        struct group_sim sim;
        struct nf_shrink *shrink;
        struct nf_error err;

        CU_ASSERT_FATAL(sim_open(&sim, 3, 1, &flat));
        sim.world.kill_mutely = mutely != 0;
        sim_start(&sim, 0, &first);
        sim_start(&sim, 1, &first);
        sim.world.now_us += 10 * MS;
        CU_ASSERT_EQUAL(nf_request_test(sim.requests[0]), NF_OK);
        CU_ASSERT_EQUAL(nf_shrink_start(sim.groups[0], &shrink, &err), NF_OK);
        sim.world.now_us += 10 * MS;
        CU_ASSERT_EQUAL(nf_request_test(sim.requests[1]), NF_WAIT);
        /* a call after that one is given up */
        CU_ASSERT_EQUAL(nf_barrier(sim.groups[1]), NF_ERR_REVOKED);
        fake_kill(&sim.world, 2);
        while (sim.statuses[1] == NF_WAIT &&
               sim.world.now_us < 5 * TIMEOUT_US) {
            struct nf_group *made;

            sim.world.now_us += MS;
            sim.statuses[1] = nf_request_test(sim.requests[1]);
            CU_ASSERT_EQUAL(nf_shrink_run(shrink, &made, &err), NF_WAIT);
            if (sim.world.now_us > TIMEOUT_US)
                break;
        }
        while (sim.statuses[1] == NF_WAIT &&
               sim.world.now_us < 5 * TIMEOUT_US) {
            sim.world.now_us += MS;
            (void)nf_group_progress(sim.groups[0]);
            sim.statuses[1] = nf_request_test(sim.requests[1]);
        }
        CU_ASSERT_EQUAL(sim.statuses[1],
                        mutely ? NF_ERR_TIMEDOUT : NF_ERR_DEAD);
        CU_ASSERT(nf_group_is_lost(sim.groups[1], 2));
        nf_shrink_destroy(shrink);
        sim_close(&sim);
    }
}

/* Somebody in a later call has found out that it is silent. */
static void earlier_calls_end_if_they_need_the_lost(void)
{
    static uint8_t buffer[3][BYTES];
    const struct nf_call first = { .kind = NF_CALL_REDUCE,
                                   .send = buffer[0],
                                   .recv = buffer[1],
                                   .count = BYTES,
                                   .type = NF_ELEM_UINT8,
                                   .op = NF_SUM,
                                   .root = 1 };
    const uint32_t victim = 2;
    struct group_sim sim;

    CU_ASSERT_FATAL(sim_open(&sim, 3, 1, &flat));
    sim_start(&sim, 0, &first);
    sim_start(&sim, 1, &first);
    sim.world.now_us += 10 * MS;
    CU_ASSERT_EQUAL(nf_request_test(sim.requests[0]), NF_OK);
    nf_group_revoke(sim.groups[0], NF_ERR_TIMEDOUT, &victim, 1, "silent");
    while (sim.statuses[1] == NF_WAIT && sim.world.now_us < TIMEOUT_US / 2) {
        sim.world.now_us += MS;
        sim.statuses[1] = nf_request_test(sim.requests[1]);
    }
    CU_ASSERT_EQUAL(sim.statuses[1], NF_ERR_TIMEDOUT);
    CU_ASSERT(nf_group_is_lost(sim.groups[1], victim));
    sim_close(&sim);
}

/* ------------------------------------------------------------ what is kept */

/* Rules of members of whom so many of @p ranks were on the fullest host; 0:
 * that is not known.  The price of rank 0 is everybody's, and is not what each
 * would make of it: doubles differ. */
static bool set_rules(struct group_sim *sim, double part)
{
    struct nf_coll_rules rules;
    struct nf_error err;
    char *text = NULL;
    size_t bytes = 0;
    bool ok;

    nf_coll_rules_init(&rules);
    rules.model = (struct nf_model){ .npieces = 1,
                                     .pieces = { { 0, 90, 0.01 } },
                                     .delta = 1,
                                     .share_us = 600,
                                     .share_part = part };
    ok = nf_coll_rules_write(&rules, &text, &bytes, &err) == NF_OK;
    for (uint32_t r = 0; r < sim->ranks; r++) {
        ok = nf_group_set_rules(sim->groups[r], text, bytes, NULL, &err) ==
                 NF_OK &&
             ok;
        sim->groups[r]->exchange.start_ns[0] = 90001;
    }
    nf_free(text);
    nf_coll_rules_fini(&rules);
    return ok;
}

/* Three members a host, of 8 in all, then of 6: 3/8 of them, then half. */
static void the_share_is_that_of_survivors(void)
{
    for (int known = 0; known < 2; known++) {
        struct group_sim sim;
        enum nf_status results[8];
        uint64_t want_ns = known ? 800000 : 600000;

        CU_ASSERT_FATAL(sim_open(&sim, 8, 1, &flat));
        CU_ASSERT(set_rules(&sim, known ? 3.0 / 8 : 0));
        CU_ASSERT_EQUAL(sim.groups[3]->exchange.share_ns, 600000);
        fake_kill(&sim.world, 2);
        fake_kill(&sim.world, 5);
        CU_ASSERT(sim_shrink(&sim, results));
        CU_ASSERT(is_good(&sim, results, 6));
        for (uint32_t r = 0; r < 8; r++) {
            if (!sim_runs(&sim, r))
                continue;
            CU_ASSERT_EQUAL(sim.groups[r]->exchange.share_ns, want_ns);
            CU_ASSERT_EQUAL(sim.groups[r]->exchange.start_ns[0], 90001);
        }
        sim_close(&sim);
    }
}

/* Of four there are two on each of two hosts, three are on one. */
static void who_is_left_on_one_host_has_its_price(void)
{
    struct group_sim sim;
    enum nf_status results[4];

    CU_ASSERT_FATAL(sim_open(&sim, 4, 1, &flat));
    CU_ASSERT(set_rules(&sim, 0));
    CU_ASSERT_EQUAL(sim.groups[1]->exchange.least, 2);
    fake_kill(&sim.world, 3);
    CU_ASSERT(sim_shrink(&sim, results));
    CU_ASSERT(is_good(&sim, results, 3));
    for (uint32_t r = 0; r < 3; r++)
        CU_ASSERT_EQUAL(sim.groups[r]->exchange.least, 3);
    sim_close(&sim);
}

/* What is left of a torus is none. */
static void a_torus_does_not_outlive_a_node(void)
{
    const struct nf_group_options torus = { .timeout_us = TIMEOUT_US,
                                            .torus = "2x2" };
    struct group_sim sim;
    enum nf_status results[4];

    CU_ASSERT_FATAL(sim_open(&sim, 4, 1, &torus));
    CU_ASSERT_PTR_NOT_NULL(sim.groups[1]->torus);
    fake_kill(&sim.world, 3);
    CU_ASSERT(sim_shrink(&sim, results));
    CU_ASSERT(is_good(&sim, results, 3));
    for (uint32_t r = 0; r < 3; r++)
        CU_ASSERT_PTR_NULL(sim.groups[r]->torus);
    sim_close(&sim);
}

/* --------------------------------------------------------- there is no memory */

/* Rank 0 gets no more memory than for so many allocations in each look.
 * @param made_p  [2] what the two survivors were given
 * @return what rank 0 was told */
static enum nf_status shrink_with(struct group_sim *sim, long successes,
                                  struct nf_group **made_p)
{
    struct nf_shrink *shrinks[2] = { NULL, NULL };
    enum nf_status results[2] = { NF_WAIT, NF_WAIT };
    struct nf_error err;

    for (uint32_t r = 0; r < 2; r++)
        CU_ASSERT_EQUAL(nf_shrink_start(sim->groups[r], &shrinks[r], &err),
                        NF_OK);
    for (int ms = 0; ms < 40 && results[0] == NF_WAIT; ms++) {
        for (uint32_t r = 0; r < 2; r++) {
            if (results[r] != NF_WAIT)
                continue;
            nf_alloc_fail_after(r == 0 ? successes : -1);
            results[r] = nf_shrink_run(shrinks[r], &made_p[r], &err);
            nf_alloc_fail_after(-1);
        }
        sim->world.now_us += MS;
    }
    for (uint32_t r = 0; r < 2; r++)
        nf_shrink_destroy(shrinks[r]);
    if (results[1] == NF_OK)
        nf_group_close(made_p[1]);
    return results[0];
}

static void without_memory_no_group_is_given(void)
{
    static char elsewhere;
    struct nf_group *const untouched = (struct nf_group *)(void *)&elsewhere;
    enum nf_status status = NF_ERR_NOMEM;
    unsigned failures = 0;

    for (long successes = 0; status != NF_OK && successes < 500; successes++) {
        struct nf_group *made[2] = { untouched, untouched };
        struct group_sim sim;

        CU_ASSERT_FATAL(sim_open(&sim, 3, 1, &flat));
        CU_ASSERT(set_rules(&sim, 0)); /* to be copied */
        fake_kill(&sim.world, 2);
        sim.world.now_us += MS;
        status = shrink_with(&sim, successes, made);
        if (status == NF_OK) {
            CU_ASSERT(made[0] != untouched);
            nf_group_close(made[0]);
        } else {
            failures++;
            CU_ASSERT_EQUAL(status, NF_ERR_NOMEM);
            CU_ASSERT_PTR_EQUAL(made[0], untouched);
        }
        sim_close(&sim);
    }
    CU_ASSERT_EQUAL(status, NF_OK);
    CU_ASSERT(failures > 10);
}

/* ------------------------------------------------------ there is no transport */

static void without_a_transport_there_is_no_group(void)
{
    static uint8_t buffer[BYTES];
    const struct nf_call call = bcast_of(buffer, BYTES);
    struct group_sim sim;
    struct nf_shrink *shrink = NULL;
    struct nf_group *made;
    struct nf_error err;

    for (int when = 0; when < 3; when++) {
        CU_ASSERT_FATAL(sim_open(&sim, 3, 1, &flat));
        sim.world.broken[1] = when == 0;
        sim_start(&sim, 1, &call);
        if (when == 0)
            CU_ASSERT_EQUAL(sim.statuses[1], NF_ERR_UNREACHABLE);
        if (when == 1) { /* during the call */
            sim.world.broken[1] = true;
            CU_ASSERT_EQUAL(nf_request_test(sim.requests[1]),
                            NF_ERR_UNREACHABLE);
        }
        if (when < 2) {
            CU_ASSERT_STRING_EQUAL(nf_group_error(sim.groups[1])->text,
                                   "the transport broke");
            CU_ASSERT_EQUAL(nf_shrink_start(sim.groups[1], &shrink, &err),
                            NF_ERR_UNREACHABLE);
        } else { /* while they agree */
            CU_ASSERT_EQUAL(nf_shrink_start(sim.groups[1], &shrink, &err),
                            NF_OK);
            sim.world.broken[1] = true;
            CU_ASSERT_EQUAL(nf_shrink_run(shrink, &made, &err),
                            NF_ERR_UNREACHABLE);
            nf_shrink_destroy(shrink);
        }
        CU_ASSERT_STRING_EQUAL(err.text, "the transport broke");
        sim_close(&sim);
    }
}

/* What the root of a call sends may be the first to find out. */
static void a_send_that_cannot_go_is_no_lack_of_memory(void)
{
    static uint8_t buffer[BYTES];
    const struct nf_call call = bcast_of(buffer, BYTES);
    struct group_sim sim;

    CU_ASSERT_FATAL(sim_open(&sim, 3, 1, &flat));
    sim.groups[0]->pumped_us = sim.world.now_us; /* has looked around */
    sim.world.broken[0] = true;
    sim_start(&sim, 0, &call);
    CU_ASSERT_EQUAL(sim.statuses[0], NF_ERR_UNREACHABLE);
    CU_ASSERT_STRING_EQUAL(nf_group_error(sim.groups[0])->text,
                           "the transport broke");
    sim_close(&sim);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "what is queued does not delay agreement",
          what_is_queued_does_not_delay_agreement },
        { "earlier calls end well", earlier_calls_end_well },
        { "earlier calls are still watched", earlier_calls_are_still_watched },
        { "earlier calls end if they need the lost",
          earlier_calls_end_if_they_need_the_lost },
        { "the share of processors is that of survivors",
          the_share_is_that_of_survivors },
        { "who is left on one host has its price",
          who_is_left_on_one_host_has_its_price },
        { "a torus does not outlive a node", a_torus_does_not_outlive_a_node },
        { "without memory no group is given",
          without_memory_no_group_is_given },
        { "without a transport there is no group",
          without_a_transport_there_is_no_group },
        { "a send that cannot go is no lack of memory",
          a_send_that_cannot_go_is_no_lack_of_memory },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "shrink", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
