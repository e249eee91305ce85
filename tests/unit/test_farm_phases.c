/* Jobs of several phases: a world of slaves that keep results and inputs,
 * losses at every moment, and what must hold whatever happens. */
#include "config.h"
#include "common/farm/farm.h"
#include "tests/unit/nf_unit.h"
#include <stdio.h>
#include <string.h>

enum { SLAVES = 5, UNITS = 12, PHASES = 4, LEASES = 512, NOBODY = -1 };

struct lease {
    uint64_t id, first, count;
    uint32_t phase;
};

struct slave {
    bool alive;
    bool result[PHASES][UNITS], input[PHASES][UNITS];
    struct lease queue[LEASES];
    size_t head, tail;
};

struct world {
    struct nf_farm *farm;
    uint32_t phases, nslaves, slots;
    uint64_t units;
    struct slave slaves[SLAVES];
    bool exchanging, done, broken;
    uint32_t phase; /* of the exchange */
    uint32_t holders[UNITS], homes[UNITS];
    uint32_t accepted[UNITS]; /* in the last phase */
    uint32_t computed[PHASES][UNITS];
    uint32_t given_up, exchanges, lost;
    uint64_t given_up_unit;
    uint32_t given_up_phase;
    int64_t now_us;
    uint64_t random;
};

static struct world world;

static uint32_t draw(struct world *w, uint32_t below)
{
    w->random = w->random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)((w->random >> 33) % below);
}

static void expect(struct world *w, bool truth, const char *what)
{
    if (truth)
        return;
    if (!w->broken)
        fprintf(stderr, "at %lld: %s\n", (long long)w->now_us, what);
    w->broken = true;
}

/* ------------------------------------------------------------ what is said */

static void on_send(struct world *w, const struct nf_action *a)
{
    struct slave *s = &w->slaves[a->slave];

    expect(w, s->alive, "a lease for a slave that is lost");
    for (uint64_t u = a->first; u < a->first + a->count; u++)
        expect(w, a->phase == 0 || s->input[a->phase][u],
               "a lease for a slave without its input");
    expect(w, s->tail < LEASES, "too many leases");
    if (s->tail < LEASES)
        s->queue[s->tail++] =
            (struct lease){ a->lease, a->first, a->count, a->phase };
}

static bool anybody_has(const struct world *w, uint32_t phase, uint64_t unit)
{
    for (uint32_t i = 0; i < w->nslaves; i++)
        if (w->slaves[i].alive && (w->slaves[i].input[phase][unit] ||
                                   w->slaves[i].result[phase][unit]))
            return true;
    return false;
}

static void on_exchange(struct world *w, const struct nf_action *a)
{
    bool any = false;

    expect(w, !w->exchanging, "two exchanges at a time");
    expect(w, nf_farm_exchange_map(w->farm, w->holders, w->homes), "no map");
    w->exchanging = true;
    w->phase = a->phase;
    w->exchanges++;
    for (uint64_t u = 0; u < w->units; u++) {
        uint32_t holder = w->holders[u], home = w->homes[u];

        expect(w,
               holder < w->nslaves && w->slaves[holder].alive &&
                   w->slaves[holder].result[a->phase][u],
               "a holder without the result");
        any = any || home != UINT32_MAX;
        if (home == UINT32_MAX)
            continue;
        expect(w, home < w->nslaves && w->slaves[home].alive, "a dead home");
        expect(w,
               !anybody_has(w, a->phase + 1, u) &&
                   (a->phase + 2 < w->phases || w->accepted[u] == 0),
               "an input that is there, or not needed, is sent");
    }
    expect(w, any, "an exchange of nothing");
}

static void act(struct world *w, const struct nf_actions *acts, uint32_t slave)
{
    for (size_t i = 0; i < acts->count; i++) {
        const struct nf_action *a = &acts->list[i];

        expect(w, !w->done, "something after DONE");
        if (a->kind == NF_ACT_SEND)
            on_send(w, a);
        if (a->kind == NF_ACT_ACCEPT)
            for (uint64_t u = a->first; u < a->first + a->count; u++) {
                if (a->phase + 1 == w->phases)
                    w->accepted[u]++;
                else
                    w->slaves[slave].result[a->phase][u] = true;
            }
        if (a->kind == NF_ACT_EXCHANGE)
            on_exchange(w, a);
        if (a->kind == NF_ACT_ABANDON) {
            expect(w, w->exchanging, "nothing to abandon");
            w->exchanging = false;
        }
        if (a->kind == NF_ACT_GIVE_UP) {
            w->given_up++;
            w->given_up_unit = a->first;
            w->given_up_phase = a->phase;
        }
        expect(w, a->kind != NF_ACT_GATHER, "a gather");
        w->done = w->done || a->kind == NF_ACT_DONE;
    }
}

/* ------------------------------------------------------------ what happens */

static void open_world(struct world *w, const char *spec, uint32_t phases,
                       uint32_t nslaves, uint64_t seed)
{
    struct nf_policy policy;
    struct nf_error err = { .text = "" };
    struct nf_farm_config config = { .units = UNITS,
                                     .policy = &policy,
                                     .slots = 2 * nslaves,
                                     .max_slots = 4 * SLAVES,
                                     .max_attempts = 3,
                                     .hold = true,
                                     .phases = phases };
    struct nf_actions acts;

    memset(w, 0, sizeof(*w));
    w->phases = phases;
    w->nslaves = nslaves;
    w->slots = 2;
    w->units = UNITS;
    w->random = seed;
    CU_ASSERT_EQUAL_FATAL(nf_policy_parse(spec, &policy, &err), NF_OK);
    CU_ASSERT_EQUAL_FATAL(nf_farm_create(&config, &w->farm, &err), NF_OK);
    for (uint32_t i = 0; i < nslaves; i++) {
        w->slaves[i].alive = true;
        CU_ASSERT_EQUAL(nf_farm_join(w->farm, i, w->slots, 0, &acts), NF_OK);
        act(w, &acts, i);
    }
}

static void answer(struct world *w, uint32_t slave, bool fails)
{
    struct slave *s = &w->slaves[slave];
    struct lease *lease = &s->queue[s->head];
    struct nf_actions acts;

    if (fails && lease->count > 0) {
        CU_ASSERT_EQUAL(nf_farm_unit_failed(w->farm, slave, lease->id,
                                            lease->first, w->now_us, &acts),
                        NF_OK);
        act(w, &acts, slave);
        lease->first++;
        s->head += --lease->count == 0;
        return;
    }
    for (uint64_t u = lease->first; u < lease->first + lease->count; u++)
        w->computed[lease->phase][u]++;
    s->head++;
    CU_ASSERT_EQUAL(nf_farm_result(w->farm, slave, lease->id, lease->first,
                                   lease->count, NULL, w->now_us, &acts),
                    NF_OK);
    act(w, &acts, slave);
}

static void end_exchange(struct world *w, bool well)
{
    struct nf_actions acts;

    for (uint64_t u = 0; well && u < w->units; u++)
        expect(w, w->slaves[w->holders[u]].result[w->phase][u],
               "an exchange goes on without a holder");
    for (uint64_t u = 0; well && u < w->units; u++)
        if (w->homes[u] != UINT32_MAX)
            w->slaves[w->homes[u]].input[w->phase + 1][u] = true;
    w->exchanging = false;
    CU_ASSERT_EQUAL(well ? nf_farm_exchanged(w->farm, w->now_us, &acts)
                         : nf_farm_exchange_failed(w->farm, w->now_us, &acts),
                    NF_OK);
    act(w, &acts, UINT32_MAX);
}

static void lose(struct world *w, uint32_t slave, enum nf_loss loss)
{
    struct slave *s = &w->slaves[slave];
    struct nf_actions acts;

    s->alive = false;
    memset(s->result, 0, sizeof(s->result));
    memset(s->input, 0, sizeof(s->input));
    s->head = s->tail = 0;
    w->lost++;
    CU_ASSERT_EQUAL(nf_farm_lost(w->farm, slave, loss, w->now_us, &acts),
                    NF_OK);
    act(w, &acts, UINT32_MAX);
}

static void come_back(struct world *w, uint32_t slave)
{
    struct nf_actions acts;

    w->slaves[slave].alive = true;
    CU_ASSERT_EQUAL(nf_farm_join(w->farm, slave, w->slots, w->now_us, &acts),
                    NF_OK);
    act(w, &acts, slave);
}

/* Some slave answers, or the exchange ends.  @return false: nothing can happen
 */
static bool step(struct world *w)
{
    uint32_t from = draw(w, w->nslaves + 1);
    struct nf_actions acts;

    w->now_us += 1000;
    for (uint32_t i = 0; i <= w->nslaves; i++) {
        uint32_t k = (from + i) % (w->nslaves + 1);

        if (k == w->nslaves && w->exchanging) {
            end_exchange(w, true);
            return true;
        }
        if (k < w->nslaves && w->slaves[k].alive &&
            w->slaves[k].head < w->slaves[k].tail) {
            answer(w, k, false);
            return true;
        }
    }
    CU_ASSERT_EQUAL(nf_farm_timer(w->farm, w->now_us, &acts), NF_OK);
    act(w, &acts, UINT32_MAX);
    return acts.count > 0;
}

static void check_end(struct world *w)
{
    struct nf_farm_stats stats;

    expect(w, w->done, "it does not end");
    for (uint64_t u = 0; u < w->units; u++) {
        expect(w, w->accepted[u] == 1, "a unit is not accepted exactly once");
        for (uint32_t p = 0; p < w->phases; p++)
            expect(w, w->computed[p][u] <= 2 + w->lost, "work is done again");
    }
    nf_farm_get_stats(w->farm, &stats);
    expect(w, stats.last_done == w->units, "the count of results");
    CU_ASSERT_FALSE(w->broken);
    nf_farm_destroy(w->farm);
}

static uint32_t run(struct world *w)
{
    uint32_t steps = 0;

    while (!w->done && !w->broken && step(w))
        steps++;
    return steps;
}

/* ------------------------------------------------------------------- tests */

static const char *const specs[] = { "send", "gss", "static",
                                     "presend:td=auto" };
enum { SPECS = sizeof(specs) / sizeof(specs[0]) };

static void all_units_go_through_all_phases(void)
{
    for (uint32_t phases = 2; phases <= PHASES; phases++)
        for (size_t i = 0; i < SPECS; i++)
            for (uint64_t seed = 1; seed <= 20; seed++) {
                struct world *w = &world;

                open_world(w, specs[i], phases, SLAVES, seed);
                run(w);
                CU_ASSERT_EQUAL(w->exchanges, phases - 1);
                for (uint32_t p = 1; p < phases; p++)
                    for (uint64_t u = 0; u < w->units; u++)
                        expect(w, w->computed[p][u] == 1, "done twice");
                check_end(w);
            }
}

/* Run to @p moment, lose @p slave, run to the end.
 * @param back  it comes back after so many steps; NOBODY: it does not */
static void lose_at(size_t spec, uint32_t phases, uint32_t moment,
                    uint32_t slave, int back)
{
    struct world *w = &world;

    open_world(w, specs[spec], phases, 3, 7);
    for (uint32_t i = 0; i < moment && !w->done; i++)
        step(w);
    if (!w->done)
        lose(w, slave, NF_LOSS_EXITED);
    for (int i = 0; i < back && !w->done; i++)
        step(w);
    if (!w->done && back != NOBODY && !w->slaves[slave].alive)
        come_back(w, slave);
    run(w);
    check_end(w);
}

static void a_slave_may_be_lost_at_every_moment(void)
{
    for (size_t spec = 0; spec < SPECS; spec++)
        for (uint32_t phases = 2; phases <= PHASES; phases++) {
            uint32_t moments;

            open_world(&world, specs[spec], phases, 3, 7);
            moments = run(&world);
            check_end(&world);
            for (uint32_t moment = 0; moment <= moments; moment++)
                for (uint32_t slave = 0; slave < 3; slave++)
                    for (int back = NOBODY; back < 6; back++)
                        lose_at(spec, phases, moment, slave, back);
        }
}

/* All but one, one after the other, at every pair of moments. */
static void all_but_one_may_be_lost(void)
{
    for (uint32_t first = 0; first < 40; first++)
        for (uint32_t more = 0; more < 20; more++) {
            struct world *w = &world;

            open_world(w, "send", 3, 3, 3);
            for (uint32_t i = 0; i < first && !w->done; i++)
                step(w);
            if (!w->done)
                lose(w, first % 3, NF_LOSS_SILENT);
            for (uint32_t i = 0; i < more && !w->done; i++)
                step(w);
            if (!w->done)
                lose(w, (first + 1 + more % 2) % 3, NF_LOSS_EXITED);
            run(w);
            check_end(w);
        }
}

static uint32_t count_alive(const struct world *w)
{
    uint32_t alive = 0;

    for (uint32_t i = 0; i < w->nslaves; i++)
        alive += w->slaves[i].alive;
    return alive;
}

/* Losses, returns and failures of exchanges, at random. */
static void whatever_happens_it_ends(void)
{
    for (uint64_t seed = 1; seed <= 6000 && !world.broken; seed++) {
        struct world *w = &world;
        uint32_t troubles = 12;

        open_world(w, specs[seed % SPECS], 2 + (uint32_t)(seed % 3), SLAVES,
                   seed);
        for (uint32_t i = 0; i < 4000 && !w->done && !w->broken; i++) {
            uint32_t slave = draw(w, w->nslaves);
            bool trouble = troubles > 0 && draw(w, 6) == 0;

            troubles -= trouble;
            if (!trouble)
                step(w);
            else if (w->exchanging && draw(w, 3) == 0)
                end_exchange(w, false);
            else if (!w->slaves[slave].alive)
                come_back(w, slave);
            else if (count_alive(w) > 1)
                lose(w, slave, draw(w, 2) ? NF_LOSS_LEFT : NF_LOSS_SILENT);
        }
        check_end(w);
    }
}

static void an_exchange_that_failed_is_asked_for_again(void)
{
    struct world *w = &world;
    struct nf_actions acts;

    open_world(w, "send", 2, 3, 1);
    while (!w->exchanging)
        step(w);
    for (uint32_t i = 0; i < 5 && w->exchanging; i++)
        end_exchange(w, false);
    CU_ASSERT_EQUAL(w->exchanges, 6);
    run(w);
    CU_ASSERT_EQUAL(nf_farm_exchanged(w->farm, w->now_us, &acts),
                    NF_ERR_PROTOCOL);
    CU_ASSERT_EQUAL(nf_farm_exchange_failed(w->farm, w->now_us, &acts),
                    NF_ERR_PROTOCOL);
    CU_ASSERT_EQUAL(nf_farm_gathered(w->farm, w->now_us, &acts),
                    NF_ERR_PROTOCOL);
    check_end(w);
}

/* Who computed more gets more. */
static void homes_follow_what_slaves_hold(void)
{
    struct world *w = &world;
    uint32_t homes[3] = { 0, 0, 0 };

    open_world(w, "send", 2, 3, 1);
    step(w);
    while (!w->exchanging) /* slave 0 does all that it can */
        for (uint32_t turn = 0; turn < 8 && !w->exchanging; turn++) {
            uint32_t i = turn < 6 ? 0 : turn - 5;

            if (w->slaves[i].head < w->slaves[i].tail)
                answer(w, i, false);
        }
    for (uint64_t u = 0; u < w->units; u++) {
        homes[w->homes[u]]++;
        CU_ASSERT(u == 0 || w->homes[u] >= w->homes[u - 1]);
    }
    CU_ASSERT(homes[0] > homes[1] && homes[0] > homes[2]);
    CU_ASSERT(homes[1] > 0 && homes[2] > 0);
    run(w);
    check_end(w);
}

/* Fail unit 5 of @p phase whenever it is computed. */
static void fail_always(struct world *w, uint32_t phase)
{
    while (!w->done && !w->broken) {
        bool failed = false;

        for (uint32_t i = 0; i < w->nslaves && !w->done; i++) {
            const struct slave *s = &w->slaves[i];

            if (s->head < s->tail && s->queue[s->head].phase == phase &&
                s->queue[s->head].first == 5) {
                answer(w, i, true);
                failed = true;
            }
        }
        if (!failed && !w->done)
            step(w);
    }
}

static void a_unit_that_fails_is_given_up(void)
{
    for (uint32_t phase = 0; phase < 3; phase++) {
        struct world *w = &world;
        struct nf_farm_stats stats;

        open_world(w, "send", 3, 3, 1);
        fail_always(w, phase);
        CU_ASSERT_EQUAL(w->given_up, 1);
        CU_ASSERT_EQUAL(w->given_up_unit, 5);
        CU_ASSERT_EQUAL(w->given_up_phase, phase);
        CU_ASSERT(w->done && !w->broken);
        nf_farm_get_stats(w->farm, &stats);
        CU_ASSERT_EQUAL(stats.given_up, 1);
        /* before the last phase that is the end */
        CU_ASSERT_EQUAL(stats.last_done, phase < 2 ? 0 : UNITS - 1);
        CU_ASSERT_EQUAL(stats.last_given_up, phase < 2 ? 0 : 1);
        nf_farm_destroy(w->farm);
    }
}

/* A unit of phase 1 that kills each slave that begins it: only this one is
 * given up, however many others were with it. */
static void a_deadly_unit_is_found_out(void)
{
    struct world *w = &world;

    open_world(w, "send", 2, 3, 1);
    for (uint32_t i = 0; i < 10000 && !w->done; i++) {
        bool killed = false;

        for (uint32_t k = 0; k < w->nslaves && !w->done && !killed; k++) {
            const struct slave *s = &w->slaves[k];

            if (s->alive && s->head < s->tail && s->queue[s->head].phase == 1 &&
                s->queue[s->head].first == 7) {
                lose(w, k, NF_LOSS_EXITED);
                if (!w->done)
                    come_back(w, k);
                killed = true;
            }
        }
        if (!killed && !w->done)
            step(w);
    }
    CU_ASSERT(w->done && !w->broken);
    CU_ASSERT_EQUAL(w->given_up, 1);
    CU_ASSERT_EQUAL(w->given_up_unit, 7);
    for (uint64_t u = 0; u < w->units; u++)
        CU_ASSERT_EQUAL(w->accepted[u], u != 7);
    nf_farm_destroy(w->farm);
}

static enum nf_status claim(uint32_t slave, uint64_t lease, uint64_t first,
                            uint64_t count)
{
    struct nf_actions acts;

    return nf_farm_result(world.farm, slave, lease, first, count, NULL,
                          world.now_us, &acts);
}

static void answers_that_do_not_fit_are_refused(void)
{
    struct world *w = &world;
    struct nf_actions acts;
    struct lease lease;
    uint32_t slave = 0;

    open_world(w, "send", 2, 3, 1);
    while (w->accepted[0] + w->exchanges == 0 || w->exchanging)
        step(w);
    while (w->slaves[slave].head == w->slaves[slave].tail)
        slave++;
    lease = w->slaves[slave].queue[w->slaves[slave].head];
    CU_ASSERT_EQUAL(lease.phase, 1);
    CU_ASSERT_EQUAL(claim(slave, lease.id, lease.first, 2), NF_ERR_PROTOCOL);
    CU_ASSERT_EQUAL(claim(slave, lease.id + 99, lease.first, 1),
                    NF_ERR_PROTOCOL);
    CU_ASSERT_EQUAL(claim(slave, lease.id, UNITS, 1), NF_ERR_PROTOCOL);
    CU_ASSERT_EQUAL(claim(99, lease.id, lease.first, 1), NF_ERR_PROTOCOL);
    /* another one's: late, of no effect */
    CU_ASSERT_EQUAL(nf_farm_result(w->farm, (slave + 1) % 3, lease.id,
                                   lease.first, 1, NULL, w->now_us, &acts),
                    NF_OK);
    CU_ASSERT_EQUAL(acts.count, 0);
    run(w);
    check_end(w);
}

static void a_job_may_be_cancelled(void)
{
    struct world *w = &world;
    struct nf_actions acts;

    open_world(w, "send", 2, 3, 1);
    while (!w->exchanging)
        step(w);
    CU_ASSERT_EQUAL(nf_farm_cancel(w->farm, w->now_us, &acts), NF_OK);
    act(w, &acts, UINT32_MAX);
    CU_ASSERT(w->done && !w->exchanging && !w->broken);
    nf_farm_destroy(w->farm);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "all units go through all phases", all_units_go_through_all_phases },
        { "a slave may be lost at every moment",
          a_slave_may_be_lost_at_every_moment },
        { "all but one may be lost", all_but_one_may_be_lost },
        { "whatever happens it ends", whatever_happens_it_ends },
        { "an exchange that failed is asked for again",
          an_exchange_that_failed_is_asked_for_again },
        { "homes follow what slaves hold", homes_follow_what_slaves_hold },
        { "a unit that fails is given up", a_unit_that_fails_is_given_up },
        { "a deadly unit is found out", a_deadly_unit_is_found_out },
        { "answers that do not fit are refused",
          answers_that_do_not_fit_are_refused },
        { "a job may be cancelled", a_job_may_be_cancelled },
        CU_TEST_INFO_NULL,
    };
    static CU_SuiteInfo suites[] = {
        { "phases", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
