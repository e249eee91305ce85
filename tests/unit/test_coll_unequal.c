/* Gather and scatter of blocks of different sizes, some of them empty: on
 * symbols, whether everybody knows the sizes that it needs, and groups in which
 * messages are delayed at random.  And the window of their roots. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/rng.h"
#include "common/coll/check.h"
#include "common/coll/prune.h"
#include "common/group/plan.h"
#include "tests/unit/group_sim.h"
#include "tests/unit/nf_unit.h"

enum { RANKS_MAX = 64 };

static const char *const names[] = {
    "gather.linear",  "gather.linear_nb",  "gather.binomial",
    "scatter.linear", "scatter.linear_nb", "scatter.binomial",
};
enum { NAMES = sizeof(names) / sizeof(*names) };

/* A third is empty; sometimes all are. */
static void draw_sizes(struct nf_rng *rng, uint32_t ranks,
                       uint64_t sizes[RANKS_MAX])
{
    bool all_empty = nf_rng_below(rng, 16) == 0;

    for (uint32_t i = 0; i < ranks; i++)
        sizes[i] = all_empty || nf_rng_below(rng, 3) == 0
                       ? 0
                       : 1 + nf_rng_below(rng, 20);
}

/* ------------------------------------------------------------- on symbols */

static bool is_right(const struct nf_coll_algorithm *algorithm,
                     const struct nf_coll_args *args, const uint64_t *sizes)
{
    struct nf_coll_claim claim = nf_coll_claim_of(algorithm, args);
    struct nf_coll_faults faults;
    struct nf_schedule schedule;
    struct nf_error err;
    enum nf_status status =
        nf_coll_make(algorithm, args, NF_ALL_RANKS, &schedule, &err);

    claim.sizes = sizes;
    claim.orders = 1;
    if (status == NF_OK) {
        nf_coll_prune_sizes(&schedule, sizes);
        status = nf_coll_check(&claim, &schedule, &faults, &err);
    }
    nf_schedule_fini(&schedule);
    if (status != NF_OK)
        printf("\n    %s P %u root %u: %s", algorithm->name, args->ranks,
               args->root, err.text);
    return status == NF_OK;
}

static void unequal_blocks_arrive_on_symbols(void)
{
    struct nf_rng rng = { 1 };
    unsigned wrong = 0;

    for (int n = 0; n < NAMES; n++)
        for (uint32_t ranks = 1; ranks <= RANKS_MAX; ranks++)
            for (uint32_t root = 0; root < ranks; root++) {
                const struct nf_coll_args args = { .ranks = ranks,
                                                   .root = root,
                                                   .segments = 1 };
                uint64_t sizes[RANKS_MAX];

                draw_sizes(&rng, ranks, sizes);
                wrong += !is_right(nf_coll_find(names[n]), &args, sizes);
            }
    CU_ASSERT_EQUAL(wrong, 0);
}

/* A block that is left out though it is not empty, and an empty one that is
 * carried. */
static void wrong_sizes_are_noticed(void)
{
    const struct nf_coll_args args = { .ranks = 5, .root = 2, .segments = 1 };
    const uint64_t sizes[] = { 3, 0, 1, 2, 4 }, less[] = { 3, 0, 1, 0, 4 };

    for (int n = 0; n < NAMES; n++) {
        const struct nf_coll_algorithm *algorithm = nf_coll_find(names[n]);
        struct nf_coll_claim claim = nf_coll_claim_of(algorithm, &args);
        struct nf_coll_faults faults;
        struct nf_schedule schedule;
        struct nf_error err;

        CU_ASSERT_EQUAL(
            nf_coll_make(algorithm, &args, NF_ALL_RANKS, &schedule, &err),
            NF_OK);
        nf_coll_prune_sizes(&schedule, less);
        claim.sizes = sizes;
        CU_ASSERT_EQUAL(nf_coll_check(&claim, &schedule, &faults, &err),
                        NF_ERR_VERIFY);
        CU_ASSERT_EQUAL(faults.list[0].kind, NF_FAULT_RESULT);
        nf_schedule_fini(&schedule);
        CU_ASSERT_EQUAL(
            nf_coll_make(algorithm, &args, NF_ALL_RANKS, &schedule, &err),
            NF_OK);
        CU_ASSERT_EQUAL(nf_coll_check(&claim, &schedule, &faults, &err),
                        NF_ERR_VERIFY);
        CU_ASSERT_EQUAL(faults.list[0].kind, NF_FAULT_NO_ITEM);
        nf_schedule_fini(&schedule);
    }
}

/* ------------------------------------------------------------ who knows */

struct knowledge {
    bool knows[RANKS_MAX][RANKS_MAX]; /* rank, of whose block */
    unsigned lists, wrong;
};

/* The sender must know what it lists, the receiver what is not listed; what a
 * message carries its receiver knows from then on. */
static void tell(struct knowledge *k, const struct nf_schedule *schedule,
                 const struct nf_coll_message *m, const struct nf_plan *plan)
{
    const struct nf_plan_step *step = &plan->steps[nf_plan_find(
        plan, m->src, m->round, schedule->spans[m->first_span].first)];

    k->lists += step->lists;
    for (uint32_t s = 0; s < m->nspans; s++) {
        struct nf_coll_span span = schedule->spans[m->first_span + s];

        for (uint32_t i = span.first; i < span.first + span.count; i++) {
            k->wrong += !k->knows[m->src][i];
            k->wrong += !step->lists && !k->knows[m->dst][i];
            k->knows[m->dst][i] = true;
        }
    }
}

static void follow(struct knowledge *k,
                   const struct nf_coll_algorithm *algorithm,
                   const struct nf_coll_args *args)
{
    struct nf_plan *plans[RANKS_MAX] = { NULL };
    struct nf_schedule schedule;
    struct nf_error err;

    memset(k->knows, 0, sizeof(k->knows));
    CU_ASSERT_EQUAL(
        nf_coll_make(algorithm, args, NF_ALL_RANKS, &schedule, &err), NF_OK);
    for (uint32_t r = 0; r < args->ranks; r++) {
        k->knows[r][r] = k->knows[args->root][r] = true;
        CU_ASSERT_EQUAL(nf_plan_create(algorithm, args, r, &plans[r], &err),
                        NF_OK);
    }
    for (size_t m = 0; m < schedule.count; m++)
        tell(k, &schedule, &schedule.messages[m],
             plans[schedule.messages[m].dst]);
    for (uint32_t r = 0; r < args->ranks; r++)
        nf_plan_destroy(plans[r]);
    nf_schedule_fini(&schedule);
}

static void everybody_knows_the_sizes_it_needs(void)
{
    static struct knowledge k;

    for (int n = 0; n < NAMES; n++) {
        k.lists = 0;
        for (uint32_t ranks = 2; ranks <= 33; ranks++)
            for (uint32_t root = 0; root < ranks; root += 1 + ranks / 7) {
                const struct nf_coll_args args = { .ranks = ranks,
                                                   .root = root,
                                                   .segments = 1 };

                follow(&k, nf_coll_find(names[n]), &args);
            }
        CU_ASSERT((k.lists > 0) == (strstr(names[n], "binomial") != NULL));
    }
    CU_ASSERT_EQUAL(k.wrong, 0);
}

/* ------------------------------------------------------------- in groups */

/* Blocks of doubles; offsets leave gaps. */
struct blocks {
    uint32_t ranks, root;
    bool gathers;
    size_t counts[RANKS_MAX], offsets[RANKS_MAX], total;
    double *whole;           /* of the root: result, or what is scattered */
    double *part[RANKS_MAX]; /* of each rank */
};

static double value(uint32_t rank, size_t i)
{
    return 1000.0 * rank + (double)i + 1;
}

/* Room and values, by the counts and offsets. */
static void blocks_fill(struct blocks *b)
{
    b->whole = calloc(b->total + 1, sizeof(double));
    for (uint32_t r = 0; r < b->ranks; r++) {
        double *at;

        b->part[r] = calloc(b->counts[r] + 2, sizeof(double));
        at = b->gathers ? b->part[r] : b->whole + b->offsets[r];
        for (size_t i = 0; i < b->counts[r]; i++)
            at[i] = value(r, i);
    }
}

/* @param equal  elements of each; 0: drawn */
static void blocks_init(struct blocks *b, struct nf_rng *rng, const char *name,
                        uint32_t ranks, size_t equal, size_t largest)
{
    uint64_t sizes[RANKS_MAX];

    *b = (struct blocks){ .ranks = ranks,
                          .root = (uint32_t)nf_rng_below(rng, ranks),
                          .gathers = strncmp(name, "gather", 6) == 0 };
    draw_sizes(rng, ranks, sizes);
    for (uint32_t r = 0; r < ranks; r++) {
        b->counts[r] = equal > 0 ? equal : (size_t)sizes[r] * largest / 20;
        b->offsets[r] = b->total + nf_rng_below(rng, 3);
        b->total = b->offsets[r] + b->counts[r];
    }
    blocks_fill(b);
}

static void blocks_fini(struct blocks *b)
{
    free(b->whole);
    for (uint32_t r = 0; r < b->ranks; r++)
        free(b->part[r]);
}

static struct nf_call blocks_call(const struct blocks *b, uint32_t rank)
{
    bool is_root = rank == b->root;

    return (struct nf_call){
        .kind = b->gathers ? NF_CALL_GATHER : NF_CALL_SCATTER,
        .send = b->gathers ? b->part[rank]
                : is_root  ? b->whole
                           : NULL,
        .recv = !b->gathers ? b->part[rank]
                : is_root   ? b->whole
                            : NULL,
        .count = b->counts[rank],
        .counts = is_root ? b->counts : NULL,
        .offsets = is_root ? b->offsets : NULL,
        .varies = 1,
        .type = NF_ELEM_FLOAT64,
        .root = b->root,
    };
}

static bool blocks_are_right(const struct blocks *b)
{
    size_t end = 0;
    bool right = true;

    for (uint32_t r = 0; r < b->ranks; r++) {
        const double *got = b->gathers ? b->whole + b->offsets[r] : b->part[r];

        for (size_t i = 0; i < b->counts[r]; i++)
            right = right && got[i] == value(r, i);
        right = right && (b->gathers || b->part[r][b->counts[r]] == 0);
        for (; end < b->offsets[r]; end++) /* gaps stay as they are */
            right = right && b->whole[end] == 0;
        end = b->offsets[r] + b->counts[r];
    }
    return right && b->whole[b->total] == 0;
}

/* Several in a row, so that members run ahead of each other. */
static bool try_group(const char *name, uint32_t ranks, uint64_t seed,
                      size_t largest)
{
    const struct nf_group_options options = { .algorithms = name };
    struct nf_rng rng = { seed };
    struct group_sim sim;
    bool right = sim_open(&sim, ranks, seed, &options);

    for (int i = 0; i < 3 && right; i++) {
        struct blocks b;

        blocks_init(&b, &rng, name, ranks, 0, largest);
        for (uint32_t r = 0; r < ranks; r++) {
            struct nf_call call = blocks_call(&b, r);

            sim_start(&sim, r, &call);
            if (ranks > 1 && sim.requests[r] != NULL &&
                sim.requests[r]->plan != NULL)
                CU_ASSERT_STRING_EQUAL(nf_request_algorithm(sim.requests[r]),
                                       name);
        }
        right = sim_run(&sim);
        for (uint32_t r = 0; r < ranks; r++)
            right = right && sim.statuses[r] == NF_OK;
        right = right && blocks_are_right(&b);
        blocks_fini(&b);
    }
    if (!right)
        printf("\n    %s P %u seed %llu", name, ranks,
               (unsigned long long)seed);
    sim_close(&sim);
    return right;
}

static void unequal_blocks_arrive_whatever_the_delays(void)
{
    unsigned wrong = 0;

    for (int n = 0; n < NAMES; n++)
        for (uint32_t ranks = 1; ranks <= 24; ranks++)
            for (uint64_t seed = 0; seed < 4; seed++)
                wrong += !try_group(names[n], ranks, 100 * ranks + seed, 20);
    CU_ASSERT_EQUAL(wrong, 0);
}

static void many_and_large_unequal_blocks_arrive(void)
{
    unsigned wrong = 0;

    for (int n = 0; n < NAMES; n++) {
        wrong += !try_group(names[n], 33, 7, 20);
        wrong += !try_group(names[n], 64, 8, 20);
        wrong += !try_group(names[n], 13, 9, 20000);
        wrong += !try_group(names[n], 24, 10, 20000);
    }
    CU_ASSERT_EQUAL(wrong, 0);
}

/* @return whether all calls ended, and the one that needed the size that is
 * wrong, or another, says that calls differ */
static bool is_found_out(const char *name, uint32_t liar)
{
    const struct nf_group_options options = { .algorithms = name };
    struct nf_rng rng = { liar };
    struct group_sim sim;
    struct blocks b;
    bool ok = sim_open(&sim, 7, liar, &options), found = false;

    blocks_init(&b, &rng, name, 7, 5, 0);
    for (uint32_t r = 0; r < 7; r++) {
        struct nf_call call = blocks_call(&b, r);

        if (r == (b.root + liar) % 7)
            call.count++; /* there is room for one more */
        sim_start(&sim, r, &call);
    }
    ok = sim_run(&sim) && ok;
    for (uint32_t r = 0; r < 7; r++)
        if (sim.statuses[r] == NF_ERR_MISMATCH && (r == b.root || !b.gathers))
            found = true;
    blocks_fini(&b);
    sim_close(&sim);
    return ok && found;
}

/* One member says another size than the root. */
static void a_wrong_size_is_an_error(void)
{
    for (int n = 0; n < NAMES; n++)
        for (uint32_t liar = 1; liar < 7; liar++)
            CU_ASSERT(is_found_out(names[n], liar));
}

/* ---------------------------------------------------------------- window */

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

int main(void)
{
    CU_TestInfo symbols[] = {
        { "unequal blocks arrive on symbols",
          unequal_blocks_arrive_on_symbols },
        { "wrong sizes are noticed", wrong_sizes_are_noticed },
        { "everybody knows the sizes that it needs",
          everybody_knows_the_sizes_it_needs },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo groups[] = {
        { "unequal blocks arrive whatever the delays",
          unequal_blocks_arrive_whatever_the_delays },
        { "many and large unequal blocks arrive",
          many_and_large_unequal_blocks_arrive },
        { "a wrong size is an error", a_wrong_size_is_an_error },
        { "no more blocks are under way than the window",
          no_more_are_under_way_than_the_window },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "blocks of different sizes, on symbols", NULL, NULL, NULL, NULL,
          symbols },
        { "blocks of different sizes, in groups", NULL, NULL, NULL, NULL,
          groups },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
