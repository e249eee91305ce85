/* The window of the root of a gather or scatter, in one call and in several
 * that are under way at once. */
#include "config.h"
#include <stdio.h>
#include "tests/unit/group_blocks.h"
#include "tests/unit/group_sim.h"
#include "tests/unit/nf_unit.h"

enum { RANKS_MAX = BLOCKS_RANKS_MAX };

/* @return the most that the root had under way; UINT32_MAX: wrong result
 * @param paused_p  members that it held back at first */
static uint32_t most_under_way(const char *name, uint32_t ranks, uint64_t seed,
                               uint32_t *paused_p)
{
    const struct nf_group_options options = { .algorithms = name };
    struct nf_rng rng = { seed };
    struct group_sim sim;
    struct blocks b;
    uint32_t most = 0;
    bool right = sim_open(&sim, ranks, seed, &options);
    struct nf_group *root;

    blocks_init(&b, &rng, name, ranks, 10000, 0); /* 80 KB each */
    root = sim.groups[b.root];
    for (uint32_t r = 0; r < ranks; r++) {
        struct nf_call call = blocks_call(&b, r);

        sim_start(&sim, r, &call);
    }
    *paused_p = root->npaused;
    do {
        if (root->requests != NULL && root->requests->exec.nunder_way > most)
            most = root->requests->exec.nunder_way;
        for (uint32_t r = 0; r < ranks; r++)
            sim.statuses[r] = nf_request_test(sim.requests[r]);
    } while (sim_advance(&sim));
    for (uint32_t r = 0; r < ranks; r++)
        right = right && sim.statuses[r] == NF_OK;
    right = right && root->npaused == 0 && blocks_are_right(&b);
    sim_close(&sim);
    blocks_fini(&b);
    return right ? most : UINT32_MAX;
}

static void no_more_are_under_way_than_the_window(void)
{
    static const struct {
        const char *name;
        uint32_t ranks, most;
    } rows[] = {
        { "gather.linear", 20, 1 },
        { "scatter.linear", 20, 1 },
        { "gather.linear_nb", 20, NF_COLL_WINDOW },
        { "scatter.linear_nb", 20, NF_COLL_WINDOW },
        { "gather.linear_nb", 5, 4 },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        bool gathers = rows[i].name[0] == 'g';
        uint32_t paused, left = rows[i].ranks - 1 - rows[i].most;

        CU_ASSERT_EQUAL(
            most_under_way(rows[i].name, rows[i].ranks, i + 1, &paused),
            rows[i].most);
        /* the others are held back where the root takes */
        CU_ASSERT_EQUAL(paused, gathers ? left : 0);
    }
}

/* Let all get on until nothing is to come.
 * @return the most blocks of @p request, if any, that were kept */
static uint32_t let_all_run(struct group_sim *sim,
                            const struct nf_request *request)
{
    uint32_t most = 0;

    for (int idle = 0; idle < 4; idle = sim_advance(sim) ? 0 : idle + 1) {
        uint32_t kept = 0;

        for (uint32_t r = 0; r < sim->ranks; r++)
            (void)nf_group_progress(sim->groups[r]);
        if (request == NULL || request->status != NF_WAIT)
            continue;
        for (uint32_t i = 0; i < request->plan->nsteps; i++)
            kept += request->exec.arrived[i] != NULL;
        most = kept > most ? kept : most;
    }
    return most;
}

/* Two gathers are under way.  The members that the root wants first come to the
 * second one late: it must not take that of all others meanwhile. */
static void try_two_gathers(const char *name, uint32_t window)
{
    enum { RANKS = 20, CALLS = 2 };
    const struct nf_group_options options = { .timeout_us = -1,
                                              .algorithms = name };
    struct nf_request *requests[CALLS][RANKS] = { { NULL } };
    struct nf_rng rng = { window };
    struct group_sim sim;
    struct nf_group *root;
    struct blocks b[CALLS];

    CU_ASSERT_FATAL(sim_open(&sim, RANKS, window, &options));
    for (int c = 0; c < CALLS; c++) {
        blocks_init(&b[c], &rng, name, RANKS, 10000, 0); /* 80 KB each */
        b[c].root = 0; /* which takes them in the order of ranks */
    }
    root = sim.groups[0];
    for (int c = 0; c <= CALLS; c++) { /* the last time those who are late */
        for (uint32_t r = 0; r < RANKS; r++) {
            bool late = r > 0 && r <= window;
            int which = c < CALLS ? c : CALLS - 1;
            const struct nf_call call = blocks_call(&b[which], r);

            if (c == 0 || late == (c == CALLS))
                CU_ASSERT_EQUAL(
                    nf_group_start(sim.groups[r], &call, &requests[which][r]),
                    NF_OK);
        }
        if (c == 0)
            continue; /* both are begun before anything moves */
        CU_ASSERT(let_all_run(&sim, requests[1][0]) <= window);
        CU_ASSERT_EQUAL(nf_request_test(requests[0][0]), NF_OK);
        CU_ASSERT_EQUAL(root->npaused, c < CALLS ? RANKS - 1 - window : 0);
    }
    for (int c = 0; c < CALLS; c++) {
        for (uint32_t r = 0; r < RANKS; r++) {
            CU_ASSERT_EQUAL(nf_request_test(requests[c][r]), NF_OK);
            nf_request_free(requests[c][r]);
        }
        CU_ASSERT(blocks_are_right(&b[c]));
        blocks_fini(&b[c]);
    }
    sim_close(&sim);
}

static void each_of_two_gathers_has_its_window(void)
{
    try_two_gathers("gather.linear_nb", NF_COLL_WINDOW);
    try_two_gathers("gather.linear", 1);
}

enum { SEVERAL = 4 };

/* Members begin calls and go on with them at any time.
 * @return whether all ended */
static bool begin_and_run(struct group_sim *sim, const struct blocks *b,
                          struct nf_request *requests[SEVERAL][RANKS_MAX],
                          struct nf_rng *rng)
{
    uint32_t begun[RANKS_MAX] = { 0 }, left = SEVERAL * sim->ranks;

    while (left > 0) {
        uint32_t r = (uint32_t)nf_rng_below(rng, sim->ranks);

        if (nf_rng_below(rng, 2) == 0 && fake_next_us(&sim->world) != INT64_MAX)
            sim->world.now_us = fake_next_us(&sim->world);
        if (begun[r] < SEVERAL && nf_rng_below(rng, 8) == 0) {
            const struct nf_call call = blocks_call(&b[begun[r]], r);

            if (nf_group_start(sim->groups[r], &call, &requests[begun[r]][r]) !=
                NF_OK)
                return false;
            begun[r]++;
            left--;
        }
        (void)nf_group_progress(sim->groups[r]);
    }
    (void)let_all_run(sim, NULL);
    return true;
}

static bool try_several(uint64_t seed)
{
    static const char *const names_of[] = {
        "gather.linear_nb,scatter.linear_nb", "gather.linear,scatter.linear",
        "gather.linear,scatter.linear_nb"
    };
    const struct nf_group_options options = { .timeout_us = -1,
                                              .algorithms =
                                                  names_of[seed % 3] };
    const uint32_t ranks = (uint32_t)(9 + seed % 10);
    struct nf_request *requests[SEVERAL][RANKS_MAX] = { { NULL } };
    struct nf_rng rng = { seed };
    struct blocks b[SEVERAL];
    struct group_sim sim;
    bool right = sim_open(&sim, ranks, seed, &options);

    for (int c = 0; c < SEVERAL; c++)
        blocks_init(&b[c], &rng,
                    nf_rng_below(&rng, 4) > 0 ? "gather" : "scatter", ranks, 0,
                    20000);
    right = begin_and_run(&sim, b, requests, &rng) && right;
    for (int c = 0; c < SEVERAL; c++) {
        for (uint32_t r = 0; r < ranks; r++) {
            right = right && requests[c][r] != NULL &&
                    nf_request_test(requests[c][r]) == NF_OK;
            nf_request_free(requests[c][r]);
        }
        right = right && blocks_are_right(&b[c]);
        blocks_fini(&b[c]);
    }
    for (uint32_t r = 0; r < ranks; r++)
        right = right && sim.groups[r]->npaused == 0;
    if (!right)
        printf("\n    several at once, seed %llu", (unsigned long long)seed);
    sim_close(&sim);
    return right;
}

/* Of any root, with blocks of any size: nobody waits for ever for one that is
 * held back. */
static void several_at_once_end(void)
{
    for (uint64_t seed = 0; seed < 60; seed++)
        CU_ASSERT(try_several(seed));
}

int main(void)
{
    CU_TestInfo windows[] = {
        { "no more blocks are under way than the window",
          no_more_are_under_way_than_the_window },
        { "each of two gathers has its window",
          each_of_two_gathers_has_its_window },
        { "several at once end", several_at_once_end },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "windows", NULL, NULL, NULL, NULL, windows },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
