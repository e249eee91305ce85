#ifndef NF_TESTS_UNIT_TEST_FARM_RIG_H
#define NF_TESTS_UNIT_TEST_FARM_RIG_H
/** @file test_farm_rig.h  A farm on the bench, for tests of single rules. */
#include "common/farm/farm.h"
#include "tests/unit/nf_unit.h"
#include <stdio.h>

/* A farm and what it said since the last look. */
struct rig {
    struct nf_farm *farm;
    struct nf_farm_config config;
    struct nf_policy policy;
    int64_t now_us, wake_us;
    enum nf_status status; /* of the last event */
    struct nf_action said[512];
    size_t nsaid;
};

static inline void open_policy(struct rig *rig)
{
    struct nf_error err = { .text = "" };

    rig->config.policy = &rig->policy;
    if (rig->config.slots == 0)
        rig->config.slots = 2;
    if (rig->config.max_slots == 0)
        rig->config.max_slots = 16;
    if (rig->config.max_attempts == 0)
        rig->config.max_attempts = 3;
    rig->wake_us = INT64_MAX;
    if (nf_farm_create(&rig->config, &rig->farm, &err))
        fprintf(stderr, "%s\n", err.text);
    CU_ASSERT_PTR_NOT_NULL_FATAL(rig->farm);
}

static inline void open_rig(struct rig *rig, const char *spec, uint64_t units)
{
    struct nf_error err = { .text = "" };

    rig->config.units = units;
    if (nf_policy_parse(spec, &rig->policy, &err))
        fprintf(stderr, "%s\n", err.text);
    open_policy(rig);
}

static inline void take(struct rig *rig, enum nf_status status,
                        const struct nf_actions *acts)
{
    rig->status = status;
    rig->wake_us = acts->wake_us;
    for (size_t i = 0; i < acts->count && rig->nsaid < 512; i++)
        rig->said[rig->nsaid++] = acts->list[i];
}

/* Until it wants to wait. */
static inline void settle(struct rig *rig)
{
    struct nf_actions acts;
    enum nf_status status = rig->status;

    while (rig->wake_us <= rig->now_us)
        take(rig, nf_farm_timer(rig->farm, rig->now_us, &acts), &acts);
    rig->status = status;
}

static inline void join(struct rig *rig, uint32_t slave, uint32_t nslots)
{
    struct nf_actions acts;

    take(rig, nf_farm_join(rig->farm, slave, nslots, rig->now_us, &acts),
         &acts);
    settle(rig);
}

static inline void lost(struct rig *rig, uint32_t slave, enum nf_loss loss)
{
    struct nf_actions acts;

    take(rig, nf_farm_lost(rig->farm, slave, loss, rig->now_us, &acts), &acts);
    settle(rig);
}

static inline void result(struct rig *rig, const struct nf_action *sent,
                          uint64_t first, uint64_t count)
{
    struct nf_actions acts;

    take(rig,
         nf_farm_result(rig->farm, sent->slave, sent->lease, first, count, NULL,
                        rig->now_us, &acts),
         &acts);
    settle(rig);
}

static inline void answer(struct rig *rig, const struct nf_action *sent)
{
    result(rig, sent, sent->first, sent->count);
}

static inline void failed(struct rig *rig, const struct nf_action *sent,
                          uint64_t unit)
{
    struct nf_actions acts;

    take(rig,
         nf_farm_unit_failed(rig->farm, sent->slave, sent->lease, unit,
                             rig->now_us, &acts),
         &acts);
    settle(rig);
}

/* The first thing of that kind that was said since forget(). */
static inline struct nf_action find(const struct rig *rig,
                                    enum nf_action_kind kind)
{
    for (size_t i = 0; i < rig->nsaid; i++)
        if (rig->said[i].kind == kind)
            return rig->said[i];
    return (struct nf_action){ .count = UINT64_MAX };
}

static inline size_t count(const struct rig *rig, enum nf_action_kind kind)
{
    size_t n = 0;

    for (size_t i = 0; i < rig->nsaid; i++)
        n += rig->said[i].kind == kind;
    return n;
}

static inline void forget(struct rig *rig)
{
    rig->nsaid = 0;
}

static inline struct nf_farm_stats stats(const struct rig *rig)
{
    struct nf_farm_stats st;

    nf_farm_get_stats(rig->farm, &st);
    CU_ASSERT_EQUAL(st.units,
                    st.fresh + st.returned + st.leased + st.done + st.given_up);
    return st;
}

#define CHECK_SEND(act, to, unit, units, tries)                                \
    do {                                                                       \
        struct nf_action a_ = (act);                                           \
        CU_ASSERT_EQUAL(a_.kind, NF_ACT_SEND);                                 \
        CU_ASSERT_EQUAL(a_.slave, to);                                         \
        CU_ASSERT_EQUAL(a_.first, unit);                                       \
        CU_ASSERT_EQUAL(a_.count, units);                                      \
        CU_ASSERT_EQUAL(a_.attempts, tries);                                   \
    } while (0)
#endif
