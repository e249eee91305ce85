/* What slaves do, and what the farm may say. */
#include "config.h"
#include "tests/unit/phases_world.h"
#include <stdio.h>
#include <string.h>
#include <CUnit/CUnit.h>

uint32_t draw(struct world *w, uint32_t below)
{
    w->random = w->random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)((w->random >> 33) % below);
}

void expect(struct world *w, bool truth, const char *what)
{
    if (truth)
        return;
    if (!w->broken)
        fprintf(stderr, "at %lld: %s\n", (long long)w->now_us, what);
    w->broken = true;
}

uint32_t count_alive(const struct world *w)
{
    uint32_t alive = 0;

    for (uint32_t i = 0; i < w->nslaves; i++)
        alive += w->slaves[i].alive;
    return alive;
}

bool has_begun(const struct world *w, uint32_t slave, uint32_t phase,
               uint64_t unit)
{
    const struct slave *s = &w->slaves[slave];

    return s->alive && s->head < s->tail && s->queue[s->head].phase == phase &&
           s->queue[s->head].first == unit;
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
    if (s->tail == LEASES)
        return;
    s->queue[s->tail++] =
        (struct lease){ a->lease, a->first, a->count, a->phase,
                        a->phase > 0 && a->attempts > 0 &&
                            a->attempts + 1 >= ATTEMPTS };
    for (size_t i = s->head; i < s->tail; i++) {
        expect(w, !s->queue[i].alone || s->tail - s->head == 1,
               "a last attempt is not alone");
        expect(w, !s->queue[i].alone || s->heard,
               "a last attempt by one that may be dead");
    }
}

static void on_cancel(struct world *w, const struct nf_action *a)
{
    struct slave *s = &w->slaves[a->slave];

    for (size_t i = s->head + 1; i < s->tail; i++)
        if (s->queue[i].id == a->lease) {
            memmove(&s->queue[i], &s->queue[i + 1],
                    (s->tail - i - 1) * sizeof(s->queue[0]));
            s->tail--;
            return;
        }
    expect(w, false, "a lease is cancelled that is not here, or has begun");
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
               (!anybody_has(w, a->phase + 1, u) ||
                w->failed[a->phase + 1][u] > 0) &&
                   (a->phase + 2 < w->phases || w->accepted[u] == 0),
               "an input that is there, or not needed, is sent");
    }
    expect(w, any, "an exchange of nothing");
}

static void on_give_up(struct world *w, const struct nf_action *a)
{
    uint32_t tries =
        w->failed[a->phase][a->first] + w->deaths[a->phase][a->first];

    w->given_up++;
    w->given_up_unit = a->first;
    w->given_up_phase = a->phase;
    expect(w, !w->gone[a->phase][a->first], "a unit is given up twice");
    expect(w, tries >= ATTEMPTS && a->attempts >= ATTEMPTS,
           "a unit is given up too early");
    expect(w, !a->after_loss || w->lost_units == 1,
           "a unit is given up for a death that others may have caused");
    w->gone[a->phase][a->first] = true;
}

static void on_accept(struct world *w, const struct nf_action *a,
                      uint32_t slave)
{
    for (uint64_t u = a->first; u < a->first + a->count; u++) {
        if (a->phase + 1 == w->phases)
            w->accepted[u]++;
        else
            w->slaves[slave].result[a->phase][u] = true;
    }
}

void act(struct world *w, const struct nf_actions *acts, uint32_t slave)
{
    for (size_t i = 0; i < acts->count; i++) {
        const struct nf_action *a = &acts->list[i];

        expect(w, !w->done, "something after DONE");
        expect(w, a->kind != NF_ACT_GATHER, "a gather");
        if (a->kind == NF_ACT_SEND)
            on_send(w, a);
        if (a->kind == NF_ACT_CANCEL)
            on_cancel(w, a);
        if (a->kind == NF_ACT_ACCEPT)
            on_accept(w, a, slave);
        if (a->kind == NF_ACT_EXCHANGE)
            on_exchange(w, a);
        if (a->kind == NF_ACT_ABANDON) {
            expect(w, w->exchanging, "nothing to abandon");
            w->exchanging = false;
        }
        if (a->kind == NF_ACT_GIVE_UP)
            on_give_up(w, a);
        w->done = w->done || a->kind == NF_ACT_DONE;
    }
}

/* ------------------------------------------------------------ what happens */

void open_world(struct world *w, const char *spec, uint32_t phases,
                uint32_t nslaves, uint64_t seed)
{
    struct nf_policy policy;
    struct nf_error err = { .text = "" };
    struct nf_farm_config config = { .units = UNITS,
                                     .policy = &policy,
                                     .slots = 2 * nslaves,
                                     .max_slots = 4 * SLAVES,
                                     .max_attempts = ATTEMPTS,
                                     .silence_limit_us = SILENCE_US,
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
        w->slaves[i].alive = w->slaves[i].heard = true;
        CU_ASSERT_EQUAL(nf_farm_join(w->farm, i, w->slots, 0, &acts), NF_OK);
        act(w, &acts, i);
    }
}

/* Is what is heard now no more from before the last loss? */
static bool is_late(const struct world *w)
{
    return w->now_us - w->loss_us >= SILENCE_US / 16;
}

static void fail(struct world *w, uint32_t slave)
{
    struct slave *s = &w->slaves[slave];
    struct lease lease = s->queue[s->head];
    struct nf_actions acts;

    w->failed[lease.phase][lease.first]++;
    s->heard = s->heard || is_late(w);
    s->queue[s->head].first++;
    s->head += --s->queue[s->head].count == 0;
    CU_ASSERT_EQUAL(nf_farm_unit_failed(w->farm, slave, lease.id, lease.first,
                                        w->now_us, &acts),
                    NF_OK);
    act(w, &acts, slave);
}

void answer(struct world *w, uint32_t slave, bool fails)
{
    struct slave *s = &w->slaves[slave];
    struct lease lease = s->queue[s->head];
    struct nf_actions acts;

    if (fails) {
        fail(w, slave);
        return;
    }
    for (uint64_t u = lease.first; u < lease.first + lease.count; u++)
        w->computed[lease.phase][u]++;
    s->head++;
    s->heard = s->heard || is_late(w);
    CU_ASSERT_EQUAL(nf_farm_result(w->farm, slave, lease.id, lease.first,
                                   lease.count, NULL, w->now_us, &acts),
                    NF_OK);
    act(w, &acts, slave);
}

void end_exchange(struct world *w, bool well)
{
    struct nf_actions acts;

    for (uint64_t u = 0; well && u < w->units; u++)
        expect(w, w->slaves[w->holders[u]].result[w->phase][u],
               "an exchange goes on without a holder");
    for (uint64_t u = 0; well && u < w->units; u++) {
        if (w->homes[u] == UINT32_MAX)
            continue;
        for (uint32_t i = 0; i < w->nslaves; i++)
            w->slaves[i].input[w->phase + 1][u] = i == w->homes[u];
    }
    w->exchanging = false;
    CU_ASSERT_EQUAL(well ? nf_farm_exchanged(w->farm, w->now_us, &acts)
                         : nf_farm_exchange_failed(w->farm, w->now_us, &acts),
                    NF_OK);
    act(w, &acts, UINT32_MAX);
}

void lose(struct world *w, uint32_t slave, enum nf_loss loss)
{
    struct slave *s = &w->slaves[slave];
    struct nf_actions acts;

    w->lost_units = 0;
    for (size_t i = s->head; i < s->tail; i++) {
        const struct lease *lease = &s->queue[i];

        w->lost_units += lease->count;
        for (uint64_t u = lease->first; u < lease->first + lease->count; u++)
            w->deaths[lease->phase][u]++;
    }
    s->alive = false;
    memset(s->result, 0, sizeof(s->result));
    memset(s->input, 0, sizeof(s->input));
    s->head = s->tail = 0;
    w->lost++;
    for (uint32_t i = 0; i < w->nslaves && loss != NF_LOSS_LEFT; i++)
        w->slaves[i].heard = false;
    if (loss != NF_LOSS_LEFT)
        w->loss_us = w->now_us;
    CU_ASSERT_EQUAL(nf_farm_lost(w->farm, slave, loss, w->now_us, &acts),
                    NF_OK);
    act(w, &acts, UINT32_MAX);
}

void come_back(struct world *w, uint32_t slave)
{
    struct nf_actions acts;

    w->slaves[slave].alive = w->slaves[slave].heard = true;
    CU_ASSERT_EQUAL(nf_farm_join(w->farm, slave, w->slots, w->now_us, &acts),
                    NF_OK);
    act(w, &acts, slave);
}

/* Who is there says so. */
static void hear(struct world *w)
{
    for (uint32_t i = 0; i < w->nslaves; i++)
        if (w->slaves[i].alive) {
            nf_farm_heard(w->farm, i, w->now_us);
            w->slaves[i].heard = w->slaves[i].heard || is_late(w);
        }
}

bool step(struct world *w)
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
    w->now_us += SILENCE_US / 16; /* nobody has anything to say for a while */
    hear(w);
    CU_ASSERT_EQUAL(nf_farm_timer(w->farm, w->now_us, &acts), NF_OK);
    act(w, &acts, UINT32_MAX);
    return acts.count > 0;
}

uint32_t run(struct world *w)
{
    uint32_t steps = 0;

    while (!w->done && !w->broken && step(w))
        steps++;
    return steps;
}

/* A unit that is given up before the last phase ends the job. */
void check_end(struct world *w)
{
    uint64_t accepted = 0, last_gone = 0;
    struct nf_farm_stats stats;

    expect(w, w->done, "it does not end");
    for (uint64_t u = 0; u < w->units; u++) {
        bool gone = w->gone[w->phases - 1][u];

        expect(w, w->accepted[u] + gone <= 1, "a unit is accepted twice");
        accepted += w->accepted[u];
        last_gone += gone;
        for (uint32_t p = 0; p < w->phases; p++)
            expect(w, w->computed[p][u] <= 2 + w->lost, "work is done again");
    }
    expect(w, accepted + w->given_up >= w->units || last_gone < w->given_up,
           "a unit is not accepted");
    nf_farm_get_stats(w->farm, &stats);
    expect(w, stats.last_done == accepted, "the count of results");
    expect(w, stats.last_given_up == last_gone, "the count of the last phase");
    expect(w, stats.given_up == w->given_up, "the count of units given up");
    CU_ASSERT_FALSE(w->broken);
    nf_farm_destroy(w->farm);
}
