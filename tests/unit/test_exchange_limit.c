/* Exchanges of more slaves than a group has members: hosts that join the
 * virtual machine may bring more than were asked for. */
#include "config.h"
#include <string.h>
#include "common/base/alloc.h"
#include "common/coll/coll.h"
#include "master/engine_internal.h"
#include "tests/unit/nf_unit.h"

enum { SLAVES = 2 * NF_COLL_RANKS_MAX, UNITS = NF_COLL_RANKS_MAX };

/* What is sent, by unit. */
static struct nf_action sent[UNITS];
static bool asked;

static void note(const struct nf_actions *actions)
{
    for (size_t i = 0; i < actions->count; i++) {
        const struct nf_action *a = &actions->list[i];

        if (a->kind == NF_ACT_SEND && a->first < UNITS)
            sent[a->first] = *a;
        asked = asked || a->kind == NF_ACT_EXCHANGE;
    }
}

/* Until it wants to wait. */
static void settle(struct nf_farm *farm, struct nf_actions *actions)
{
    note(actions);
    while (actions->wake_us <= 1) {
        CU_ASSERT_EQUAL(nf_farm_timer(farm, 1, actions), NF_OK);
        note(actions);
    }
}

/* So many slaves; each of the first ones has computed a unit of the first
 * phase, and inputs of the second are for some of the others, too. */
static struct nf_farm *first_phase_of(uint32_t slaves)
{
    struct nf_policy policy;
    struct nf_farm_config config = { .units = UNITS,
                                     .policy = &policy,
                                     .slots = SLAVES,
                                     .max_slots = SLAVES,
                                     .max_attempts = 3,
                                     .hold = true,
                                     .phases = 2 };
    struct nf_actions actions;
    struct nf_farm *farm = NULL;

    memset(sent, 0, sizeof(sent));
    asked = false;
    CU_ASSERT_FATAL(nf_policy_parse("send:g=1", &policy, NULL) == NF_OK &&
                    nf_farm_create(&config, &farm, NULL) == NF_OK);
    for (uint32_t i = 0; i < slaves; i++) {
        CU_ASSERT_EQUAL(nf_farm_join(farm, i, 1, 1, &actions), NF_OK);
        settle(farm, &actions);
    }
    for (uint64_t unit = 0; unit < UNITS; unit++) {
        CU_ASSERT_EQUAL(nf_farm_result(farm, sent[unit].slave, sent[unit].lease,
                                       unit, 1, NULL, 1, &actions),
                        NF_OK);
        settle(farm, &actions);
    }
    CU_ASSERT(asked);
    return farm;
}

/* One line, and the exit status of a job that failed. */
static void too_many_slaves_end_the_job(void)
{
    static const struct nf_app app = { .name = "many", .units = UNITS };
    struct engine e = { .app = &app,
                        .farm = first_phase_of(SLAVES),
                        .phases = 2,
                        .nslaves = SLAVES,
                        .next_farm_id = SLAVES };

    e.slaves = nf_calloc(SLAVES, sizeof(*e.slaves));
    e.peer_of = nf_calloc(SLAVES, sizeof(*e.peer_of));
    CU_ASSERT_FATAL(e.slaves != NULL && e.peer_of != NULL);
    for (uint32_t i = 0; i < SLAVES; i++) {
        e.slaves[i].state = SLAVE_GONE; /* nothing is recorded of it */
        e.peer_of[i] = i;
    }
    nf_exchange_ask(&e, 0, 2);
    CU_ASSERT(e.gather.nmembers > NF_COLL_RANKS_MAX);
    CU_ASSERT_EQUAL(nf_exit_status(e.status), 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(e.error.text, "at most 4096"));
    CU_ASSERT_PTR_NULL(strchr(e.error.text, '\n'));
    CU_ASSERT_EQUAL(e.bounds_ranks, 0); /* nobody has asked for an algorithm */
    nf_gather_end(&e, 3);
    nf_farm_destroy(e.farm);
    nf_free(e.gather.members);
    nf_free(e.peer_of);
    nf_free(e.slaves);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "too many slaves end the job", too_many_slaves_end_the_job },
        CU_TEST_INFO_NULL,
    };
    static CU_SuiteInfo suites[] = {
        { "slaves of an exchange", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
