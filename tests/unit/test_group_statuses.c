/* What calls return when it is not their own member's doing, and who counts as
 * lost then. */
#include "config.h"
#include <string.h>
#include "common/base/alloc.h"
#include "tests/unit/group_sim.h"
#include "tests/unit/nf_unit.h"

enum { RANKS = 4 };

static bool is_anybody_lost(const struct nf_group *group)
{
    for (uint32_t i = 0; i < nf_group_size(group); i++)
        if (nf_group_is_lost(group, i))
            return true;
    return false;
}

/* ------------------------------------------------------------------- lost */

/* Who has closed a group that nobody gave up is gone for those that hear of it;
 * once it was given up for another reason, nobody but those it was given up for
 * is. */
static void who_leaves_a_healthy_group_is_lost(void)
{
    const struct nf_group_options options = { .timeout_us = -1,
                                              .algorithms = "bcast.flat" };
    uint8_t byte = 0;
    const struct nf_call coming = {
        .kind = NF_CALL_BCAST, .recv = &byte, .count = 1, .type = NF_ELEM_BYTE
    };
    struct nf_group *groups[3];
    struct nf_request *request;
    struct nf_error err;

    CU_ASSERT_EQUAL_FATAL(nf_group_open_threads(3, &options, groups, &err),
                          NF_OK);
    nf_group_close(groups[2]);
    CU_ASSERT_FALSE(nf_group_is_lost(groups[0], 2)); /* who has not looked */
    CU_ASSERT_EQUAL(nf_group_progress(groups[0]), NF_OK);
    CU_ASSERT_TRUE(nf_group_is_lost(groups[0], 2));
    CU_ASSERT_FALSE(nf_group_is_lost(groups[0], 1));
    CU_ASSERT_FALSE(nf_group_is_lost(groups[0], 3)); /* there is none */
    CU_ASSERT_EQUAL(nf_group_error(groups[0])->status, NF_OK);
    CU_ASSERT_EQUAL_FATAL(nf_group_start(groups[1], &coming, &request), NF_OK);
    nf_request_free(request);
    CU_ASSERT_EQUAL(nf_group_progress(groups[0]), NF_ERR_FAILED);
    CU_ASSERT_EQUAL(nf_group_error(groups[0])->status, NF_ERR_FAILED);
    CU_ASSERT_FALSE(is_anybody_lost(groups[0]));
    nf_group_close(groups[0]);
    nf_group_close(groups[1]);
}

/* Only of a death or of silence: who made another call lives. */
static void who_made_another_call_is_not_lost(void)
{
    static uint8_t buffers[RANKS][8];
    struct group_sim sim;

    CU_ASSERT_FATAL(sim_open(&sim, RANKS, 1, NULL));
    for (uint32_t r = 0; r < RANKS; r++) {
        const struct nf_call call = { .kind = NF_CALL_ALLREDUCE,
                                      .send = NF_IN_PLACE,
                                      .recv = buffers[r],
                                      .count = r == 1 ? 4 : 8,
                                      .type = NF_ELEM_UINT8,
                                      .op = NF_SUM };

        sim_start(&sim, r, &call);
    }
    CU_ASSERT(sim_run(&sim));
    for (uint32_t r = 0; r < RANKS; r++) {
        CU_ASSERT_EQUAL(sim.statuses[r], NF_ERR_MISMATCH);
        CU_ASSERT_FALSE(is_anybody_lost(sim.groups[r]));
    }
    sim_close(&sim);
}

/* Rank 0 finds member 3 dead while rank 4 finds member 1 silent. */
static void of_each_that_is_lost_its_own_is_told(void)
{
    enum { MEMBERS = 5 };
    static const char *const whys[MEMBERS] = { NULL, "is silent", NULL,
                                               "has ended", NULL };
    static const struct {
        uint32_t rank, blames;
        enum nf_status reason;
        const char *text;
    } rows[] = { { 0, 3, NF_ERR_DEAD, "member 3 has ended" },
                 { 4, 1, NF_ERR_TIMEDOUT, "member 1 is silent" } };
    static double in[MEMBERS], out[MEMBERS];
    struct group_sim sim;

    CU_ASSERT_FATAL(sim_open(&sim, MEMBERS, 1, NULL));
    for (size_t i = 0; i < 2; i++) {
        const uint32_t rank = rows[i].rank;

        sim_start(&sim, rank,
                  &(struct nf_call){ .kind = NF_CALL_ALLREDUCE,
                                     .send = &in[rank],
                                     .recv = &out[rank],
                                     .count = 1,
                                     .type = NF_ELEM_FLOAT64,
                                     .op = NF_SUM });
        CU_ASSERT_EQUAL(nf_group_blamed(sim.groups[rank]), UINT32_MAX);
    }
    fake_kill(&sim.world, 3);
    for (size_t i = 0; i < 2; i++)
        nf_group_revoke(sim.groups[rows[i].rank], rows[i].reason,
                        &rows[i].blames, 1, rows[i].text);
    sim.world.now_us += 100000;
    for (size_t i = 0; i < 2; i++) {
        struct nf_group *group = sim.groups[rows[i].rank];

        CU_ASSERT_EQUAL(nf_group_progress(group), NF_ERR_REVOKED);
        CU_ASSERT_EQUAL(nf_group_blamed(group), rows[i].blames);
        CU_ASSERT_STRING_EQUAL(nf_group_error(group)->text, rows[i].text);
        for (uint32_t r = 0; r < MEMBERS; r++) {
            const char *why = nf_group_why_lost(group, r);

            CU_ASSERT_EQUAL(nf_group_is_lost(group, r), whys[r] != NULL);
            CU_ASSERT((why == NULL) == (whys[r] == NULL));
            if (why != NULL && whys[r] != NULL)
                CU_ASSERT_STRING_EQUAL(why, whys[r]);
        }
    }
    sim_close(&sim);
}

/* --------------------------------------------------------------- statuses */

static const struct nf_call barrier = { .kind = NF_CALL_BARRIER };

/* All but rank 0 are in a barrier.  @return whether each ends with @p status,
 * nobody lost, and @p text in the error */
static bool all_end(struct group_sim *sim, enum nf_status status,
                    const char *text)
{
    bool right;

    CU_ASSERT(sim_run(sim));
    right = true;
    for (uint32_t r = 1; r < RANKS; r++)
        right = right && sim->statuses[r] == status &&
                nf_group_error(sim->groups[r])->status == status &&
                strstr(nf_group_error(sim->groups[r])->text, text) != NULL &&
                !is_anybody_lost(sim->groups[r]);
    return right;
}

static void open_and_wait(struct group_sim *sim)
{
    /* nobody is through before rank 0 has heard of all */
    const struct nf_group_options options = { .algorithms = "barrier.linear" };

    CU_ASSERT_FATAL(sim_open(sim, RANKS, 2, &options));
    for (uint32_t r = 1; r < RANKS; r++)
        sim_start(sim, r, &barrier);
}

static void a_request_that_is_freed_fails_for_all(void)
{
    struct group_sim sim;

    open_and_wait(&sim);
    sim_start(&sim, 0, &barrier);
    nf_request_free(sim.requests[0]);
    sim.requests[0] = NULL;
    CU_ASSERT(all_end(&sim, NF_ERR_FAILED, "says member 0"));
    CU_ASSERT_EQUAL(nf_barrier(sim.groups[0]), NF_ERR_REVOKED);
    sim_close(&sim);
}

static void the_others_end_when_one_has_no_memory(void)
{
    struct group_sim sim;

    open_and_wait(&sim);
    nf_alloc_fail_after(0);
    sim_start(&sim, 0, &barrier);
    nf_alloc_fail_after(-1);
    CU_ASSERT_EQUAL(sim.statuses[0], NF_ERR_NOMEM);
    CU_ASSERT(all_end(&sim, NF_ERR_NOMEM, "says member 0"));
    CU_ASSERT_EQUAL(nf_barrier(sim.groups[0]), NF_ERR_REVOKED);
    sim_close(&sim);
}

static void what_does_not_decode_ends_the_call(void)
{
    static const uint8_t nonsense[] = "nonsense";
    const struct nf_mesh_message message = { .head = nonsense,
                                             .head_bytes = sizeof(nonsense) };
    struct group_sim sim;

    open_and_wait(&sim);
    CU_ASSERT_EQUAL(nf_mesh_send(sim.groups[0]->mesh, 2, &message), NF_OK);
    CU_ASSERT(all_end(&sim, NF_ERR_PROTOCOL, "member 0"));
    CU_ASSERT(strstr(nf_group_error(sim.groups[2])->text, "does not decode") !=
              NULL);
    CU_ASSERT(strstr(nf_group_error(sim.groups[1])->text, "says member 2") !=
              NULL);
    sim_close(&sim);
}

/* Nothing was sent then, and the call does not count. */
static void where_nothing_can_be_chosen_no_call_was_made(void)
{
    static uint8_t buffer[RANKS][8];
    const struct nf_group_options options = { .algorithms = "bcast.tree" };
    struct group_sim sim;

    CU_ASSERT_FATAL(sim_open(&sim, RANKS, 3, &options));
    for (int turn = 0; turn < 2; turn++) {
        for (uint32_t r = 0; r < RANKS; r++) {
            const struct nf_call call = { .kind = NF_CALL_BCAST,
                                          .recv = buffer[r],
                                          .count = 8,
                                          .type = NF_ELEM_BYTE };

            /* as where the members' doubles differ */
            strcpy(sim.groups[r]->no_network, turn == 0 ? "it is odd" : "");
            sim_start(&sim, r, &call);
            if (turn > 0)
                continue;
            CU_ASSERT_EQUAL(sim.statuses[r], NF_ERR_FAILED);
            CU_ASSERT_STRING_EQUAL(nf_group_error(sim.groups[r])->text,
                                   "bcast.tree: no network: it is odd");
            CU_ASSERT_EQUAL(sim.groups[r]->epoch, 0);
        }
        CU_ASSERT_EQUAL(sim.world.sent > 0, turn > 0);
    }
    CU_ASSERT(sim_run(&sim));
    for (uint32_t r = 0; r < RANKS; r++)
        CU_ASSERT_EQUAL(sim.statuses[r], NF_OK);
    sim_close(&sim);
}

int main(void)
{
    CU_TestInfo lost[] = {
        { "who leaves a healthy group is lost",
          who_leaves_a_healthy_group_is_lost },
        { "who made another call is not lost",
          who_made_another_call_is_not_lost },
        { "of each that is lost its own is told",
          of_each_that_is_lost_its_own_is_told },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo statuses[] = {
        { "a request that is freed fails for all",
          a_request_that_is_freed_fails_for_all },
        { "the others end when one has no memory",
          the_others_end_when_one_has_no_memory },
        { "what does not decode ends the call",
          what_does_not_decode_ends_the_call },
        { "where nothing can be chosen no call was made",
          where_nothing_can_be_chosen_no_call_was_made },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "lost", NULL, NULL, NULL, NULL, lost },
        { "statuses", NULL, NULL, NULL, NULL, statuses },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
