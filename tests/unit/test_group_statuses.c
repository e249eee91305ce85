/* Who counts as lost. */
#include "config.h"
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

int main(void)
{
    CU_TestInfo lost[] = {
        { "who leaves a healthy group is lost",
          who_leaves_a_healthy_group_is_lost },
        { "who made another call is not lost",
          who_made_another_call_is_not_lost },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "lost", NULL, NULL, NULL, NULL, lost },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
