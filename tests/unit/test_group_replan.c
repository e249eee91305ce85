/* A group that is told of another network while broadcasts go down the trees of
 * the one before: those end as they began, and later ones go down new trees. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "tests/unit/group_sim.h"
#include "tests/unit/model_text.h"
#include "tests/unit/nf_unit.h"

enum { RANKS = 7, NETWORKS = 6, WORDS = 3000 };

/* Broadcasts of one size and root, one in each network. */
struct series {
    uint32_t data[NETWORKS][RANKS][WORDS];
    struct nf_request *requests[NETWORKS][RANKS];
};

static void tell_network(struct group_sim *sim, double ratio)
{
    char names[RANKS][64];
    char *text = write_model(RANKS, ratio);

    name_hosts(names, RANKS, RANKS);
    for (uint32_t r = 0; r < RANKS; r++) {
        for (uint32_t i = 0; i < RANKS; i++)
            sim->groups[r]->hosts[i] = i;
        CU_ASSERT_EQUAL(nf_group_set_network(sim->groups[r], text, strlen(text),
                                             "model", (const char(*)[64])names,
                                             NULL),
                        NF_OK);
    }
    free(text);
}

static void begin(struct group_sim *sim, struct series *series, uint32_t n)
{
    for (uint32_t r = 0; r < RANKS; r++) {
        uint32_t *data = series->data[n][r];
        const struct nf_call call = { .kind = NF_CALL_BCAST,
                                      .recv = data,
                                      .count = WORDS,
                                      .type = NF_ELEM_UINT32 };

        for (uint32_t i = 0; i < WORDS; i++)
            data[i] = r == 0 ? n * WORDS + i : 0;
        CU_ASSERT_EQUAL_FATAL(nf_group_start(sim->groups[r], &call,
                                             &series->requests[n][r]),
                              NF_OK);
    }
}

static void end(struct group_sim *sim, struct series *series)
{
    unsigned wrong = 0;

    do {
        for (uint32_t r = 0; r < RANKS; r++)
            (void)nf_group_progress(sim->groups[r]);
    } while (sim_advance(sim));
    for (uint32_t n = 0; n < NETWORKS; n++)
        for (uint32_t r = 0; r < RANKS; r++) {
            CU_ASSERT_EQUAL(nf_request_test(series->requests[n][r]), NF_OK);
            for (uint32_t i = 0; i < WORDS; i++)
                wrong += series->data[n][r][i] != n * WORDS + i;
            nf_request_free(series->requests[n][r]);
        }
    CU_ASSERT_EQUAL(wrong, 0);
}

/* @param used_p  counts plans that calls under way have
 * @return plans of trees that a call might still take */
static unsigned count_plans(const struct nf_group *group, unsigned *used_p)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < NF_PLANS_KEPT; i++) {
        const struct nf_plan *plan = group->plans[i];

        if (plan == NULL || plan->args.tree == NULL)
            continue;
        count += !plan->outdated;
        *used_p += group->plan_users[i] > 0;
    }
    return count;
}

/* Trees of the new one may lie where those of the old one were. */
static void no_call_takes_a_plan_of_the_network_before(void)
{
    static const struct nf_group_options options = { .algorithms =
                                                         "bcast.tree:k=2" };
    static struct series series;
    struct group_sim sim;

    CU_ASSERT_FATAL(sim_open(&sim, RANKS, 1, &options));
    sim.world.byte_ns = 100; /* nothing has left when a call has begun */
    for (uint32_t n = 0; n < NETWORKS; n++) {
        unsigned used = 0;

        tell_network(&sim, 2 + n % 2 * 20);
        for (uint32_t r = 0; r < RANKS; r++)
            CU_ASSERT_EQUAL(count_plans(sim.groups[r], &used), 0);
        CU_ASSERT(n == 0 || used >= RANKS);
        begin(&sim, &series, n);
        for (uint32_t r = 0; r < RANKS; r++) {
            const struct nf_plan *plan = series.requests[n][r]->plan;

            CU_ASSERT(plan != NULL && plan->algorithm == &nf_coll_bcast_tree &&
                      !plan->outdated);
        }
    }
    end(&sim, &series);
    sim_close(&sim);
}

/* All-to-alls know of a hub, as long as that is the network. */
static void a_shared_medium_is_known(void)
{
    struct group_sim sim;

    CU_ASSERT_FATAL(sim_open(&sim, RANKS, 1, NULL));
    for (uint64_t shared = 0; shared < 4; shared++) {
        made.medium = shared % 2 == 1 ? "shared" : "switch";
        tell_network(&sim, 1);
        for (uint32_t r = 0; r < RANKS; r++)
            CU_ASSERT_EQUAL(sim.groups[r]->exchange.is_shared, shared % 2);
    }
    made.medium = "switch";
    sim_close(&sim);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "no call takes a plan of the network before",
          no_call_takes_a_plan_of_the_network_before },
        { "a shared medium is known", a_shared_medium_is_known },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "networks one after the other", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
