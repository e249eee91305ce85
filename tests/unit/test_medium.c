/* The emulated medium under a virtual clock: with a farm on one side and slaves
 * that never come late on the other it is the simulator's world, so the
 * makespans must be the simulator's, to the microsecond. */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "common/farm/farm.h"
#include "master/medium.h"
#include "sim/farm_sim.h"
#include "tests/unit/nf_unit.h"

enum { SLAVES_MOST = 6, CHUNKS_MOST = 2000 };

struct chunk {
    struct nf_transfer transfer; /* first: we get it back as this */
    uint64_t lease, first, count;
    uint32_t slave;
    int64_t arrived_us, started_us, ended_us, idle_us; /* at its slave */
};

struct rig {
    struct nf_emulate emulate;
    struct nf_medium medium;
    struct nf_farm *farm;
    uint32_t slaves, joined;
    int64_t free_us[SLAVES_MOST];
    struct chunk chunks[CHUNKS_MOST]; /* in order of sending */
    size_t nchunks, ncomputing;
    struct chunk *computing[CHUNKS_MOST];
    int64_t makespan_us;
    bool done;
};

static int64_t chunk_us(const struct rig *r, const struct chunk *c)
{
    struct nf_ratio speed = { nf_emulate_speed(&r->emulate, c->slave),
                              NF_EMULATE_SPEED_ONE };

    return nf_world_compute_us(r->emulate.unit_us * (int64_t)c->count, speed);
}

static void act(struct rig *r, const struct nf_actions *actions, int64_t at_us)
{
    bool deaf;

    for (size_t i = 0; i < actions->count; i++) {
        const struct nf_action *a = &actions->list[i];
        struct chunk *c = &r->chunks[r->nchunks];

        if (a->kind == NF_ACT_DONE) {
            r->done = true;
            r->makespan_us = at_us;
        }
        if (a->kind != NF_ACT_SEND || r->nchunks == CHUNKS_MOST)
            continue;
        r->nchunks++;
        *c = (struct chunk){ .transfer = { .peer = a->slave,
                                           .lease = a->lease,
                                           .units = a->count },
                             .lease = a->lease,
                             .first = a->first,
                             .count = a->count,
                             .slave = a->slave };
        CU_ASSERT_EQUAL(nf_medium_send(&r->medium, &c->transfer, at_us), NF_OK);
    }
    deaf = nf_farm_is_deaf(r->farm);
    nf_medium_arm(&r->medium,
                  r->joined < r->slaves && !deaf ? at_us : actions->wake_us,
                  deaf);
}

/* The slave takes it when it is free; that is known already. */
static void deliver(struct rig *r, struct chunk *c, int64_t at_us)
{
    int64_t free_us = r->free_us[c->slave];

    c->arrived_us = at_us;
    c->idle_us = at_us > free_us ? at_us - free_us : 0;
    c->started_us = at_us > free_us ? at_us : free_us;
    c->ended_us = c->started_us + chunk_us(r, c);
    r->free_us[c->slave] = c->ended_us;
    r->computing[r->ncomputing++] = c;
}

static void merge(struct rig *r, const struct chunk *c, int64_t at_us)
{
    int64_t compute_us = c->ended_us - c->started_us;
    struct nf_chunk_times times = {
        .units = c->count,
        .compute_us = compute_us,
        .wait_us = c->transfer.wait_us >= 0 ? c->transfer.wait_us
                                            : c->started_us - c->arrived_us,
        .idle_us = c->transfer.idle_us >= 0 ? c->transfer.idle_us : c->idle_us,
        .mean_unit_us = (double)r->emulate.unit_us * NF_EMULATE_SPEED_ONE /
                        nf_emulate_speed(&r->emulate, c->slave),
    };
    struct nf_actions actions;

    CU_ASSERT_EQUAL(nf_farm_result(r->farm, c->slave, c->lease, c->first,
                                   c->count, &times, at_us, &actions),
                    NF_OK);
    act(r, &actions, at_us);
}

static void turn(struct rig *r, int64_t at_us)
{
    struct nf_actions actions;

    if (r->joined < r->slaves)
        CU_ASSERT_EQUAL(nf_farm_join(r->farm, r->joined++, 1, at_us, &actions),
                        NF_OK)
    else
        CU_ASSERT_EQUAL(nf_farm_timer(r->farm, at_us, &actions), NF_OK)
    act(r, &actions, at_us);
}

static bool is_earlier(const struct chunk *a, const struct chunk *b)
{
    return a->ended_us < b->ended_us ||
           (a->ended_us == b->ended_us && a->started_us < b->started_us);
}

/* The chunk that is ready first, at one instant the one that was begun first;
 * NULL: none. */
static struct chunk *pop_computed(struct rig *r, int64_t until_us)
{
    size_t best = 0;
    struct chunk *c;

    for (size_t i = 1; i < r->ncomputing; i++)
        if (is_earlier(r->computing[i], r->computing[best]))
            best = i;
    if (r->ncomputing == 0 || r->computing[best]->ended_us > until_us)
        return NULL;
    c = r->computing[best];
    r->computing[best] = r->computing[--r->ncomputing];
    return c;
}

/* Whatever comes first. */
static void step(struct rig *r)
{
    struct nf_medium_event e;
    struct chunk *c;
    enum nf_status status = nf_medium_next(&r->medium, -1, &e);
    int64_t now_us = e.at_us;

    CU_ASSERT_EQUAL(status, NF_WAIT);
    c = pop_computed(r, now_us);
    if (c != NULL) {
        c->transfer.is_result = true;
        c->transfer.last = true;
        CU_ASSERT_EQUAL(nf_medium_arrive(&r->medium, &c->transfer, c->ended_us),
                        NF_OK);
        return;
    }
    if (nf_medium_next(&r->medium, now_us, &e) != NF_OK)
        return;
    if (e.what == NF_MEDIUM_DELIVER)
        deliver(r, (struct chunk *)e.transfer, e.at_us);
    else if (e.what == NF_MEDIUM_MERGE)
        merge(r, (struct chunk *)e.transfer, e.at_us);
    else
        turn(r, e.at_us);
}

/* @return the makespan; 0 if it does not end */
static int64_t run(const struct nf_emulate *emulate, uint32_t slaves,
                   uint64_t units, const char *spec)
{
    static struct rig r;
    struct nf_policy policy;
    struct nf_farm_config config = { .units = units,
                                     .policy = &policy,
                                     .slots = slaves,
                                     .max_slots = slaves,
                                     .max_attempts = 1,
                                     .seed = 1 };

    memset(&r, 0, sizeof(r));
    r.emulate = *emulate;
    r.slaves = slaves;
    nf_medium_init(&r.medium, emulate);
    CU_ASSERT_EQUAL(nf_policy_parse(spec, &policy, NULL), NF_OK);
    CU_ASSERT_EQUAL(nf_farm_create(&config, &r.farm, NULL), NF_OK);
    nf_medium_arm(&r.medium, 0, false);
    for (int i = 0; i < 1000000 && !r.done; i++)
        step(&r);
    CU_ASSERT(r.done);
    while (nf_medium_take_back(&r.medium, NF_NO_PEER) != NULL)
        continue;
    nf_medium_fini(&r.medium);
    nf_farm_destroy(r.farm);
    return r.makespan_us;
}

/* The same world as the simulator has it. */
static int64_t simulate(const struct nf_emulate *emulate, uint32_t slaves,
                        uint64_t units, const char *spec)
{
    struct nf_world_slave slave[SLAVES_MOST];
    struct nf_line wire = { emulate->wire.fixed_us, emulate->wire.per_unit_us };
    struct nf_world world = {
        .units = units,
        .slaves = slaves,
        .slots = slaves,
        .cost_us = emulate->unit_us,
        .slave = slave,
        .net = emulate->wires == NF_EMULATE_BUS ? NF_NET_BUS : NF_NET_LINKS,
        .send_overhead = { emulate->send.fixed_us, emulate->send.per_unit_us },
        .recv_overhead = { emulate->recv.fixed_us, emulate->recv.per_unit_us },
        .blocking = emulate->blocking,
    };
    struct nf_farm_sim_result result = { .makespan_us = -1 };
    struct nf_policy policy;
    int64_t makespan_us;

    for (uint32_t i = 0; i < slaves; i++)
        slave[i] = (struct nf_world_slave){
            .speed = { nf_emulate_speed(emulate, i), NF_EMULATE_SPEED_ONE },
            .slots = 1,
            .data = wire,
            .result = wire,
        };
    CU_ASSERT_EQUAL(nf_policy_parse(spec, &policy, NULL), NF_OK);
    CU_ASSERT_EQUAL(nf_farm_sim_run(&world, &policy, 1, &result, NULL), NF_OK);
    makespan_us = result.makespan_us;
    nf_farm_sim_fini(&result);
    return makespan_us;
}

static const char *const policies[] = {
    "send",
    "send:g=3",
    "presend:td=33ms",
    "presend:td=0ms",
    "presend-round:td=11ms",
    "presend-round:td=50ms",
    "gss",
    "fixed+window:w=3",
    "presend:g=2,td=20ms",
    "auto",
};

static void compare(const struct nf_emulate *emulate, uint32_t slaves,
                    uint64_t units, const char *spec)
{
    int64_t got_us = run(emulate, slaves, units, spec);
    int64_t want_us = simulate(emulate, slaves, units, spec);

    CU_ASSERT_EQUAL(got_us, want_us);
    if (got_us != want_us)
        printf("\n  %s, %u slaves, unit %lld us, %s: %lld us, simulated %lld",
               spec, slaves, (long long)emulate->unit_us,
               emulate->blocking ? "blocking" : "not blocking",
               (long long)got_us, (long long)want_us);
}

static void test_calibrated(void)
{
    static const char *const specs[] = {
        "unit=32780us,wire=0+1010us,send=0+880us,blocking=yes",
        "unit=33ms,send=0.9ms,wire=1ms,blocking=no",
        "unit=33ms,send=0.9ms,wire=1ms,speeds=1/1/0.5/0.25",
        "unit=33ms,send=0.9ms,wire=1ms,net=links,recv=0,blocking=yes",
        "unit=10ms",
    };
    struct nf_emulate emulate;

    for (size_t i = 0; i < sizeof(specs) / sizeof(*specs); i++)
        for (size_t k = 0; k < sizeof(policies) / sizeof(*policies); k++) {
            CU_ASSERT_EQUAL(nf_emulate_parse(specs[i], &emulate, NULL), NF_OK);
            compare(&emulate, 4, 320, policies[k]);
        }
}

static struct nf_emulate_time random_time(struct nf_rng *rng, int64_t most_us)
{
    return (struct nf_emulate_time){
        .fixed_us = (int64_t)(nf_rng_next(rng) % (uint64_t)most_us),
        .per_unit_us = (int64_t)(nf_rng_next(rng) % (uint64_t)most_us),
    };
}

static void test_random(void)
{
    struct nf_rng rng = { .state = 20011 };

    for (int world = 0; world < 200; world++) {
        struct nf_emulate emulate = {
            .unit_us = 20000 + (int64_t)(nf_rng_next(&rng) % 50000),
            .send = random_time(&rng, 1500),
            .recv = random_time(&rng, 1500),
            .wire = random_time(&rng, 3000),
            .wires = nf_rng_next(&rng) % 2 ? NF_EMULATE_BUS : NF_EMULATE_LINKS,
            .blocking = nf_rng_next(&rng) % 2,
            .nspeeds = SLAVES_MOST,
        };
        uint32_t slaves = 1 + (uint32_t)(nf_rng_next(&rng) % SLAVES_MOST);

        for (uint32_t i = 0; i < emulate.nspeeds; i++)
            emulate.speeds[i] =
                200000 + (uint32_t)(nf_rng_next(&rng) % 2000000);
        for (size_t k = 0; k < sizeof(policies) / sizeof(*policies); k++)
            compare(&emulate, slaves, 1 + nf_rng_next(&rng) % 200, policies[k]);
    }
}

/* ---------------------------------------------------------------- by hand */

static void start(struct nf_medium *m, const char *spec)
{
    struct nf_emulate emulate;

    CU_ASSERT_EQUAL(nf_emulate_parse(spec, &emulate, NULL), NF_OK);
    nf_medium_init(m, &emulate);
}

static void expect(struct nf_medium *m, int64_t now_us,
                   enum nf_medium_what what, const struct nf_transfer *transfer,
                   int64_t at_us)
{
    struct nf_medium_event e = { .at_us = -1 };

    CU_ASSERT_EQUAL(nf_medium_next(m, now_us, &e), NF_OK);
    CU_ASSERT_EQUAL(e.what, what);
    CU_ASSERT_PTR_EQUAL(e.transfer, transfer);
    CU_ASSERT_EQUAL(e.at_us, at_us);
}

static void expect_nothing(struct nf_medium *m, int64_t now_us, int64_t at_us)
{
    struct nf_medium_event e = { .at_us = -1 };

    CU_ASSERT_EQUAL(nf_medium_next(m, now_us, &e), NF_WAIT);
    CU_ASSERT_EQUAL(e.at_us, at_us);
}

/* Whoever asks late is told when it was, and what follows counts from there. */
static void test_late(void)
{
    struct nf_transfer a = { .peer = 0, .lease = 1, .units = 1 };
    struct nf_transfer b = { .peer = 1, .lease = 2, .units = 2 };
    struct nf_medium m;

    start(&m, "unit=1s,send=10us,wire=100us+1us,recv=5us");
    expect_nothing(&m, 0, INT64_MAX);
    CU_ASSERT_EQUAL(nf_medium_send(&m, &a, 1000), NF_OK);
    CU_ASSERT_EQUAL(nf_medium_send(&m, &b, 1000), NF_OK);
    expect_nothing(&m, 1009, 1010);
    expect_nothing(&m, 1011, 1020);
    expect(&m, 9000, NF_MEDIUM_DELIVER, &a, 1111);
    expect(&m, 9000, NF_MEDIUM_DELIVER, &b, 1213);
    a.is_result = a.last = true;
    CU_ASSERT_EQUAL(nf_medium_arrive(&m, &a, 2000), NF_OK);
    nf_medium_arm(&m, 2050, false);
    expect(&m, 9000, NF_MEDIUM_FREE, NULL, 2050);
    expect(&m, 9000, NF_MEDIUM_MERGE, &a, 2106);
    expect_nothing(&m, 9000, INT64_MAX);
    CU_ASSERT_EQUAL(nf_medium_send(&m, &a, 2106), NF_OK);
    expect_nothing(&m, 2110, 2116);
    CU_ASSERT_PTR_EQUAL(nf_medium_take_back(&m, NF_NO_PEER), &a);
    nf_medium_fini(&m);
}

/* A busy master takes nothing, and a deaf one nothing before its time. */
static void test_busy_and_deaf(void)
{
    struct nf_transfer data = { .peer = 0, .lease = 1, .units = 1 };
    struct nf_transfer result = {
        .peer = 1, .lease = 2, .units = 1, .is_result = true, .last = true
    };
    struct nf_medium m;

    start(&m, "unit=1s,send=100us,recv=0");
    CU_ASSERT_EQUAL(nf_medium_send(&m, &data, 0), NF_OK);
    CU_ASSERT_EQUAL(nf_medium_arrive(&m, &result, 50), NF_OK);
    nf_medium_arm(&m, 60, false);
    expect(&m, 500, NF_MEDIUM_DELIVER, &data, 100);
    expect(&m, 500, NF_MEDIUM_MERGE, &result, 100);
    expect(&m, 500, NF_MEDIUM_FREE, NULL, 100);
    CU_ASSERT_EQUAL(nf_medium_arrive(&m, &result, 600), NF_OK);
    nf_medium_arm(&m, 1000, true);
    expect_nothing(&m, 999, 1000);
    expect(&m, 1000, NF_MEDIUM_FREE, NULL, 1000);
    nf_medium_arm(&m, INT64_MAX, false);
    expect(&m, 1000, NF_MEDIUM_MERGE, &result, 1000);
    nf_medium_fini(&m);
}

/* The second lease waits for the first one's result to leave the wire. */
static void test_blocking(void)
{
    struct nf_transfer a = { .peer = 0, .lease = 1, .units = 1 };
    struct nf_transfer b = { .peer = 0, .lease = 2, .units = 1 };
    struct nf_transfer part = {
        .peer = 0, .lease = 1, .units = 1, .is_result = true
    };
    struct nf_transfer last = part;
    struct nf_medium m;

    start(&m, "unit=1s,wire=10us,blocking=yes");
    last.last = true;
    CU_ASSERT_EQUAL(nf_medium_send(&m, &a, 0), NF_OK);
    CU_ASSERT_EQUAL(nf_medium_send(&m, &b, 0), NF_OK);
    expect(&m, 100, NF_MEDIUM_DELIVER, &a, 10);
    expect_nothing(&m, 100, INT64_MAX); /* b is there, but has to wait */
    CU_ASSERT_EQUAL(nf_medium_arrive(&m, &part, 200), NF_OK);
    CU_ASSERT_EQUAL(part.wait_us, 0);
    expect(&m, 300, NF_MEDIUM_MERGE, &part, 210);
    CU_ASSERT_EQUAL(nf_medium_arrive(&m, &last, 400), NF_OK);
    expect(&m, 500, NF_MEDIUM_DELIVER, &b, 410);
    expect(&m, 500, NF_MEDIUM_MERGE, &last, 410);
    last.lease = 2;
    CU_ASSERT_EQUAL(nf_medium_arrive(&m, &last, 600), NF_OK);
    CU_ASSERT_EQUAL(last.wait_us, 390); /* from 20 to 410 */
    CU_ASSERT_EQUAL(last.idle_us, 0);
    expect(&m, 700, NF_MEDIUM_MERGE, &last, 610);
    a.lease = 3;
    CU_ASSERT_EQUAL(nf_medium_send(&m, &a, 700), NF_OK);
    expect(&m, 800, NF_MEDIUM_DELIVER, &a, 710);
    last.lease = 3;
    CU_ASSERT_EQUAL(nf_medium_arrive(&m, &last, 900), NF_OK);
    CU_ASSERT_EQUAL(last.wait_us, 0);
    CU_ASSERT_EQUAL(last.idle_us, 100); /* from 610 to 710 */
    CU_ASSERT_PTR_EQUAL(nf_medium_take_back(&m, NF_NO_PEER), &last);
    nf_medium_fini(&m);
}

/* A lease that is of no use any more is dropped where it would be delivered,
 * and does not keep the next one waiting. */
static void test_cancel(void)
{
    struct nf_transfer t[4] = { { .lease = 1, .units = 1 },
                                { .lease = 2, .units = 1 },
                                { .lease = 3, .units = 1 },
                                { .lease = 4, .units = 1 } };
    struct nf_medium m;

    start(&m, "unit=1s,send=10us,wire=10us,blocking=yes");
    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(nf_medium_send(&m, &t[i], 0), NF_OK);
    expect(&m, 33, NF_MEDIUM_DELIVER, &t[0], 20);
    expect_nothing(&m, 33, 40); /* 1 is held, 2 on the wire, 3 being sent */
    CU_ASSERT_FALSE(nf_medium_cancel(&m, 0, 1)); /* it has been delivered */
    CU_ASSERT_FALSE(nf_medium_cancel(&m, 1, 2));
    CU_ASSERT_FALSE(nf_medium_cancel(&m, 0, 5));
    CU_ASSERT_TRUE(nf_medium_cancel(&m, 0, 2));
    CU_ASSERT_TRUE(nf_medium_cancel(&m, 0, 3));
    expect(&m, 100, NF_MEDIUM_DROP, &t[2], 40);
    t[0].is_result = t[0].last = true;
    CU_ASSERT_EQUAL(nf_medium_arrive(&m, &t[0], 100), NF_OK);
    expect(&m, 200, NF_MEDIUM_DELIVER, &t[3], 110);
    expect(&m, 200, NF_MEDIUM_DROP, &t[1], 30);
    CU_ASSERT_PTR_EQUAL(nf_medium_take_back(&m, NF_NO_PEER), &t[0]);
    nf_medium_fini(&m);
}

/* What was for a lost slave comes back, and the slot of that is free again. */
static void test_take_back(void)
{
    struct nf_transfer t[4] = { { .peer = 7, .lease = 1, .units = 1 },
                                { .peer = 7, .lease = 2, .units = 1 },
                                { .peer = 7, .lease = 3, .units = 1 },
                                { .peer = 2, .lease = 4, .units = 1 } };
    struct nf_medium m;
    int came_back = 0;

    start(&m, "unit=1s,send=10us,wire=10us,blocking=yes");
    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(nf_medium_send(&m, &t[i], 0), NF_OK);
    expect(&m, 33, NF_MEDIUM_DELIVER, &t[0], 20);
    expect_nothing(&m, 33, 40); /* 1 is held, 2 on the wire, 3 being sent */
    for (const struct nf_transfer *back;
         (back = nf_medium_take_back(&m, 7)) != NULL; came_back++)
        CU_ASSERT_EQUAL(back->peer, 7);
    CU_ASSERT_EQUAL(came_back, 2);
    CU_ASSERT_EQUAL(nf_medium_send(&m, &t[1], 100), NF_OK);
    expect(&m, 200, NF_MEDIUM_DELIVER, &t[3], 50);
    expect(&m, 200, NF_MEDIUM_DELIVER, &t[1], 120);
    nf_medium_fini(&m);
}

int main(void)
{
    CU_TestInfo by_hand[] = {
        { "who asks late is told the time that it was", test_late },
        { "a busy or deaf master takes no results", test_busy_and_deaf },
        { "a blocked slot gets its next lease when its result has left",
          test_blocking },
        { "messages to a lost slave come back", test_take_back },
        { "a cancelled lease is dropped on its way", test_cancel },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo tests[] = {
        { "calibrated worlds have the simulator's makespans", test_calibrated },
        { "random worlds have the simulator's makespans", test_random },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "the medium by hand", NULL, NULL, NULL, NULL, by_hand },
        { "the medium and the simulator", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
