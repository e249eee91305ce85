/* Many small reductions one after the other, each with another root, of members
 * that come late or run ahead: whoever comes to each call in time is not blamed,
 * however far behind the others it is; who does not come any more is, and nobody
 * else.  NF_TEST_SEED=N has other ones drawn. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/unit/group_sim.h"
#include "tests/unit/nf_unit.h"

/* Members think up to LATE_US between two calls, or between begin and end of one. */
enum { TIMEOUT_US = 1000000, LATE_US = 950000, MS = 1000, POLL_US = 20 * MS };
enum { RANKS_MOST = 7, ELEMENTS = 16, NOBODY = RANKS_MOST };

enum pace {
    ONE_IS_LATE,   /* each time; the others never */
    ONE_IS_AHEAD,  /* the others are late each time, by as much as they draw */
    ALL_DRAW,      /* nothing, a bit, or as much as there may be */
    SELDOM,        /* each tenth time */
    WITHIN_A_CALL, /* as they draw; they begin calls and do not look after them */
    BUT_ANSWER,    /* as they draw; they look after the group between calls, too */
    PACES
};

struct member {
    unsigned done; /* calls */
    int64_t awake_us;
    uint64_t mine[ELEMENTS], sum[ELEMENTS];
};

struct play {
    struct group_sim sim;
    struct nf_rng rng;
    uint64_t seed;
    enum pace pace;
    unsigned calls, ended;
    uint32_t victim; /* stops when it has made so many calls: */
    unsigned stops_after;
    int64_t stopped_us;
    struct member members[RANKS_MOST];
};

static int64_t draw(struct play *p, int64_t most_us)
{
    return (int64_t)nf_rng_below(&p->rng, (uint64_t)most_us + 1);
}

static int64_t think_us(struct play *p, uint32_t rank)
{
    bool special = rank == p->seed % p->sim.ranks;

    switch (p->pace) {
    case ONE_IS_LATE:
        return special ? LATE_US : 0;
    case ONE_IS_AHEAD:
        return special ? 0 : draw(p, LATE_US);
    case ALL_DRAW:
    case WITHIN_A_CALL:
    case BUT_ANSWER:
        return draw(p, 2) * (LATE_US / 3) + draw(p, LATE_US / 3);
    case SELDOM:
        return draw(p, 9) == 0 ? LATE_US : 0;
    case PACES:
        break;
    }
    return 0;
}

/* The same in all members. */
static uint32_t root_of(const struct play *p, unsigned call)
{
    struct nf_rng rng = { p->seed * 1000 + call };

    return (uint32_t)nf_rng_below(&rng, p->sim.ranks);
}

static void begin(struct play *p, uint32_t rank)
{
    struct member *m = &p->members[rank];
    const struct nf_call call = { .kind = NF_CALL_REDUCE,
                                  .send = m->mine,
                                  .recv = m->sum,
                                  .count = ELEMENTS,
                                  .type = NF_ELEM_UINT64,
                                  .op = NF_SUM,
                                  .root = root_of(p, m->done) };

    for (uint64_t i = 0; i < ELEMENTS; i++)
        m->mine[i] = (m->done + i) * (rank + 1);
    sim_start(&p->sim, rank, &call);
    if (p->pace == WITHIN_A_CALL && p->sim.requests[rank] != NULL)
        m->awake_us = p->sim.world.now_us + think_us(p, rank);
}

static bool is_right(const struct play *p, uint32_t rank)
{
    const struct member *m = &p->members[rank];
    uint32_t ranks = p->sim.ranks;

    for (uint64_t i = 0; i < ELEMENTS && root_of(p, m->done) == rank; i++)
        if (m->sum[i] != (m->done + i) * (ranks * (ranks + 1) / 2))
            return false;
    return true;
}

/* @return false: its call failed, or had a wrong result */
static bool go_on(struct play *p, uint32_t rank)
{
    struct group_sim *sim = &p->sim;
    struct member *m = &p->members[rank];
    bool good;

    if (m->done == p->calls)
        return true;
    if (sim->world.now_us < m->awake_us) {
        if (p->pace == BUT_ANSWER)
            (void)nf_group_progress(sim->groups[rank]);
        return true;
    }
    if (sim->requests[rank] == NULL)
        begin(p, rank);
    if (sim->world.now_us < m->awake_us)
        return true;
    if (!sim_test(sim, rank))
        return true;
    good = sim->statuses[rank] == NF_OK && is_right(p, rank);
    p->ended += ++m->done == p->calls;
    m->awake_us = sim->world.now_us + think_us(p, rank);
    if (rank == p->victim && m->done == p->stops_after) {
        sim->frozen[rank] = true;
        p->stopped_us = sim->world.now_us;
    }
    return good;
}

/* Who sleeps looks at nothing. */
static void pass_time(struct play *p)
{
    int64_t now_us = p->sim.world.now_us;
    int64_t next_us = fake_next_us(&p->sim.world);

    for (uint32_t r = 0; r < p->sim.ranks; r++) {
        const struct member *m = &p->members[r];
        int64_t then_us = m->awake_us, in_us;

        if (m->done == p->calls || !sim_runs(&p->sim, r))
            continue;
        if (p->pace == BUT_ANSWER && then_us > now_us + POLL_US)
            then_us = now_us + POLL_US;
        if (then_us <= now_us && p->sim.requests[r] == NULL)
            then_us = now_us + 1;
        if (then_us <= now_us) {
            in_us = nf_group_deadline_us(p->sim.groups[r]);
            then_us = in_us < 0 ? INT64_MAX : now_us + in_us;
        }
        if (then_us < next_us)
            next_us = then_us;
    }
    p->sim.world.now_us =
        next_us > now_us && next_us < INT64_MAX ? next_us : now_us + 1;
}

static bool set_up(struct play *p, uint32_t ranks, const char *algorithm)
{
    const struct nf_group_options options = { .timeout_us = TIMEOUT_US,
                                              .algorithms = algorithm };
    bool good = sim_open(&p->sim, ranks, p->seed, &options);

    p->rng.state = p->seed;
    for (uint32_t r = 0; r < ranks && good; r++) {
        /* those who run ahead are kept back, or not */
        if (p->seed % 3 > 0)
            p->sim.groups[r]->early_most_bytes = p->seed % 3 * 400;
        p->members[r].awake_us = p->sim.world.now_us + think_us(p, r);
    }
    return good;
}

/* Without a limit of looks this would not end if they waited for ever. */
enum { LOOKS_MOST = 2000000 };

static bool all_are_waited_for(uint32_t ranks, const char *algorithm,
                               enum pace pace, uint64_t seed)
{
    struct play *p = calloc(1, sizeof(*p));
    bool good;

    p->seed = seed;
    p->pace = pace;
    p->calls = 40;
    p->victim = NOBODY;
    good = set_up(p, ranks, algorithm);
    for (long look = 0; good && p->ended < ranks; look++) {
        for (uint32_t r = 0; r < ranks && good; r++) {
            good = go_on(p, r) && look < LOOKS_MOST;
            if (!good)
                printf("%s, %u members, pace %d, seed %d: rank %u after %u "
                       "calls: %s\n",
                       algorithm, ranks, (int)pace, (int)seed, r,
                       p->members[r].done,
                       nf_group_error(p->sim.groups[r])->text);
        }
        pass_time(p);
    }
    sim_close(&p->sim);
    free(p);
    return good;
}

static bool is_reduction(const struct nf_coll_algorithm *a, uint32_t ranks)
{
    return a->op == NF_COLL_REDUCE &&
           nf_coll_fits(
               a, &(struct nf_coll_args){ .ranks = ranks, .segments = 1 },
               NULL) == NF_OK;
}

static uint64_t first_seed(void)
{
    const char *text = getenv("NF_TEST_SEED");

    return text != NULL ? 1000 * strtoull(text, NULL, 10) : 0;
}

static void who_comes_in_time_is_not_blamed(void)
{
    uint64_t seed = first_seed();

    for (size_t i = 0; nf_coll_table[i] != NULL; i++)
        for (int pace = 0; pace < PACES; pace++)
            for (uint32_t ranks = 2; ranks <= RANKS_MOST; ranks++)
                if (is_reduction(nf_coll_table[i], ranks))
                    CU_ASSERT(all_are_waited_for(ranks, nf_coll_table[i]->name,
                                                 (enum pace)pace, seed++));
    CU_ASSERT(seed - first_seed() > 100);
}

/* The others are never late: it is to be found in time. */
static bool only_the_victim_is_blamed(uint32_t ranks, const char *algorithm,
                                      uint64_t seed)
{
    struct play *p = calloc(1, sizeof(*p));
    struct group_sim *sim = &p->sim;
    uint32_t failed = 0;
    bool good;

    p->seed = seed;
    p->pace = ONE_IS_LATE; /* the victim, which runs behind */
    p->calls = 40;
    p->victim = (uint32_t)(seed % ranks);
    p->stops_after = 1 + (unsigned)(seed % 10);
    good = set_up(p, ranks, algorithm);
    for (long look = 0; good && p->ended + failed + 1 < ranks; look++) {
        for (uint32_t r = 0; r < ranks; r++) {
            if (!sim_runs(sim, r) || sim->statuses[r] < 0 || go_on(p, r))
                continue;
            failed++;
            good = good && p->stopped_us != 0 && sim->statuses[r] < 0 &&
                   sim->world.now_us - p->stopped_us < TIMEOUT_US + 1000 * MS;
            for (uint32_t other = 0; other < ranks; other++)
                good = good && (nf_group_is_lost(sim->groups[r], other) != 0) ==
                                   (other == p->victim);
        }
        good = good && look < LOOKS_MOST;
        pass_time(p);
    }
    good = good && failed > 0;
    for (uint32_t r = 0; r < ranks && !good; r++)
        printf("%s, %u members, seed %d: rank %u after %u calls: %s\n",
               algorithm, ranks, (int)seed, r, p->members[r].done,
               nf_group_error(sim->groups[r])->text);
    sim_close(sim);
    free(p);
    return good;
}

static void who_comes_no_more_is_blamed(void)
{
    uint64_t seed = first_seed();

    for (size_t i = 0; nf_coll_table[i] != NULL; i++)
        for (uint32_t ranks = 2; ranks <= RANKS_MOST; ranks++)
            for (int again = 0; again < 4; again++)
                if (is_reduction(nf_coll_table[i], ranks))
                    CU_ASSERT(only_the_victim_is_blamed(
                        ranks, nf_coll_table[i]->name, seed++));
    CU_ASSERT(seed - first_seed() > 100);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "who comes in time is not blamed", who_comes_in_time_is_not_blamed },
        { "who comes no more is blamed", who_comes_no_more_is_blamed },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "reductions with changing roots", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
