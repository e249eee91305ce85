/* Jobs of several phases: a world of slaves that keep results and inputs, and
 * losses at every moment. */
#include "config.h"
#include "tests/unit/nf_unit.h"
#include "tests/unit/phases_world.h"

enum { NOBODY = -1 };

static struct world world;

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

/* Fail a unit of @p phase whenever it is computed, until it is given up. */
static void fail_always(struct world *w, uint32_t phase, uint64_t unit)
{
    while (!w->gone[phase][unit] && !w->done && !w->broken) {
        bool failed = false;

        for (uint32_t i = 0; i < w->nslaves && !w->done; i++)
            if (has_begun(w, i, phase, unit)) {
                answer(w, i, true);
                failed = true;
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
        fail_always(w, phase, 5);
        run(w);
        CU_ASSERT_EQUAL(w->given_up, 1);
        CU_ASSERT_EQUAL(w->given_up_unit, 5);
        CU_ASSERT_EQUAL(w->given_up_phase, phase);
        CU_ASSERT_EQUAL(w->failed[phase][5], ATTEMPTS);
        nf_farm_get_stats(w->farm, &stats);
        CU_ASSERT_EQUAL(stats.given_up, 1);
        /* before the last phase that is the end */
        CU_ASSERT_EQUAL(stats.last_done, phase < 2 ? 0 : UNITS - 1);
        CU_ASSERT_EQUAL(stats.last_given_up, phase < 2 ? 0 : 1);
        check_end(w);
    }
}

/* The reason may be a host: the last attempt is another one's, in any phase. */
static void a_unit_that_fails_on_one_slave_is_done_by_another(void)
{
    for (uint32_t phase = 1; phase < 3; phase++) {
        struct world *w = &world;
        uint32_t bad = UINT32_MAX;

        open_world(w, "send", 3, 3, 1);
        while (!w->done && !w->broken) {
            for (uint32_t i = 0; i < w->nslaves && bad == UINT32_MAX; i++)
                if (has_begun(w, i, phase, 5))
                    bad = i;
            if (bad != UINT32_MAX && has_begun(w, bad, phase, 5))
                answer(w, bad, true);
            else if (!step(w))
                break;
        }
        CU_ASSERT_EQUAL(w->failed[phase][5], ATTEMPTS - 1);
        CU_ASSERT_EQUAL(w->computed[phase][5], 1);
        CU_ASSERT_EQUAL(w->given_up, 0);
        CU_ASSERT_EQUAL(w->exchanges, 3); /* one brings it there */
        check_end(w);
    }
}

/* Alone, it tries again itself. */
static void a_slave_that_is_alone_tries_again(void)
{
    struct world *w = &world;

    open_world(w, "send", 2, 1, 1);
    fail_always(w, 1, 5);
    run(w);
    CU_ASSERT_EQUAL(w->failed[1][5], ATTEMPTS);
    CU_ASSERT_EQUAL(w->exchanges, 1);
    check_end(w);
}

/* Fail unit 5 of the last phase, while the slave that gets it neither at first
 * nor at last does nothing there. */
static void fail_while_others_wait(struct world *w, uint32_t last)
{
    uint32_t idle = UINT32_MAX;

    for (uint32_t turn = 0; turn < 1000 && !w->gone[last][5]; turn++) {
        if (w->exchanging && w->phase + 1 == last && idle == UINT32_MAX)
            idle = (w->homes[5] + 2) % w->nslaves;
        if (w->exchanging)
            end_exchange(w, true);
        for (uint32_t i = 0; i < w->nslaves && !w->exchanging; i++) {
            const struct slave *s = &w->slaves[i];

            if (s->head < s->tail &&
                (i != idle || s->queue[s->head].phase < last))
                answer(w, i, has_begun(w, i, last, 5));
        }
    }
}

/* A unit of the last phase is given up, and one before it later, when it is
 * computed again: results that there are stay counted. */
static void what_is_given_up_is_counted_by_phase(void)
{
    struct world *w = &world;
    uint32_t slave = 0, unit = 0;

    open_world(w, "send", 3, 3, 1);
    step(w);
    fail_while_others_wait(w, 2);
    CU_ASSERT_FATAL(!w->done && w->given_up == 1);
    while (slave < 3 && !w->slaves[slave].result[1][unit])
        if (++unit == UNITS) {
            unit = 0;
            slave++;
        }
    CU_ASSERT_FATAL(slave < 3);
    lose(w, slave, NF_LOSS_LEFT);
    fail_always(w, 1, unit);
    CU_ASSERT(w->done);
    CU_ASSERT_EQUAL(w->given_up, 2);
    check_end(w);
}

/* Has the slave this unit, begun or not? */
static bool has_unit(const struct world *w, uint32_t slave, uint32_t phase,
                     uint64_t unit)
{
    const struct slave *s = &w->slaves[slave];

    for (size_t i = s->head; s->alive && i < s->tail; i++)
        if (s->queue[i].phase == phase && unit >= s->queue[i].first &&
            unit - s->queue[i].first < s->queue[i].count)
            return true;
    return false;
}

/* Kill each slave that has a unit, and have it come back; only this unit is
 * given up, however many others were with it.
 * @param has  what is meant by that */
static void kill_with(struct world *w, uint32_t phase, uint64_t unit,
                      bool (*has)(const struct world *, uint32_t, uint32_t,
                                  uint64_t))
{
    for (uint32_t i = 0; i < 10000 && !w->done && !w->broken; i++) {
        bool killed = false;

        for (uint32_t k = 0; k < w->nslaves && !w->done && !killed; k++)
            if (has(w, k, phase, unit)) {
                lose(w, k, NF_LOSS_EXITED);
                if (!w->done)
                    come_back(w, k);
                killed = true;
            }
        if (!killed && !w->done)
            step(w);
    }
    CU_ASSERT(w->done && !w->broken);
    CU_ASSERT_EQUAL(w->given_up, 1);
    CU_ASSERT_EQUAL(w->given_up_unit, unit);
    CU_ASSERT_EQUAL(w->given_up_phase, phase);
}

static void a_deadly_unit_is_found_out(void)
{
    struct world *w = &world;

    open_world(w, "send", 2, 3, 1);
    kill_with(w, 1, 7, has_begun);
    for (uint64_t u = 0; u < w->units; u++)
        CU_ASSERT_EQUAL(w->accepted[u], u != 7);
    check_end(w);
}

/* ... of the first phase, that is computed again while slaves have units of the
 * second one: these must not die with it, as the last attempt would not tell
 * who did it. */
static void a_unit_computed_again_runs_alone(void)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct world *w = &world;
        uint32_t holder;

        open_world(w, specs[seed % SPECS], 2, 4, seed);
        while (w->exchanges == 0 || w->exchanging)
            step(w);
        holder = w->holders[7];
        lose(w, holder, NF_LOSS_LEFT);
        if (seed % 2)
            come_back(w, holder);
        kill_with(w, 0, 7, has_unit);
        check_end(w);
        if (w->broken)
            break;
    }
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
        { "an exchange that failed is asked for again",
          an_exchange_that_failed_is_asked_for_again },
        { "homes follow what slaves hold", homes_follow_what_slaves_hold },
        { "a unit that fails is given up", a_unit_that_fails_is_given_up },
        { "a unit that fails on one slave is done by another",
          a_unit_that_fails_on_one_slave_is_done_by_another },
        { "a slave that is alone tries again",
          a_slave_that_is_alone_tries_again },
        { "what is given up is counted by phase",
          what_is_given_up_is_counted_by_phase },
        { "a deadly unit is found out", a_deadly_unit_is_found_out },
        { "a unit computed again runs alone",
          a_unit_computed_again_runs_alone },
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
