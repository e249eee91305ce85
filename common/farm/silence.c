/* Time passes: who is silent; the end before its time; and the counts. */
#include "config.h"
#include "common/farm/farm_impl.h"

/* Silence is looked for this many times in a silence limit. */
enum { TICKS_PER_LIMIT = 16 };

static int64_t tick_us(const struct nf_farm *farm)
{
    return farm->silence_limit_us / TICKS_PER_LIMIT;
}

void nf_farm_set_tick(struct nf_farm *farm)
{
    farm->next_tick_us = farm->now_us + tick_us(farm) + 1;
}

void nf_farm_heard(struct nf_farm *farm, uint32_t slave, int64_t now_us)
{
    struct nf_farm_slave *s;

    if (!nf_farm_is_known(farm, slave) || !farm->slaves[slave].live)
        return;
    s = &farm->slaves[slave];
    s->heard_us = now_us;
    if (now_us - farm->unread_us - farm->loss_us >= tick_us(farm))
        s->heard_losses = farm->stats.lost_slaves;
}

bool nf_farm_is_alive(const struct nf_farm *farm, uint32_t slave)
{
    return farm->silence_limit_us == 0 ||
           farm->slaves[slave].heard_losses == farm->stats.lost_slaves;
}

void nf_farm_set_unread(struct nf_farm *farm, int64_t unread_us)
{
    farm->unread_us = unread_us;
}

static void lose_silent(struct nf_farm *farm)
{
    int64_t until_us = farm->now_us - farm->unread_us;

    for (uint32_t i = 0; i < farm->env.max_slots; i++) {
        struct nf_action *act;

        if (!farm->slaves[i].live ||
            until_us - farm->slaves[i].heard_us <= farm->silence_limit_us)
            continue;
        act = nf_farm_act(farm, NF_ACT_LOST);
        if (act)
            act->slave = i;
        nf_farm_lose(farm, i, NF_LOSS_SILENT);
    }
}

enum nf_status nf_farm_timer(struct nf_farm *farm, int64_t now_us,
                             struct nf_actions *actions_p)
{
    nf_farm_begin(farm, NF_SLAVE_NONE, now_us);
    if (farm->silence_limit_us > 0 && now_us >= farm->next_tick_us &&
        !farm->over) {
        lose_silent(farm);
        nf_farm_set_tick(farm);
    }
    return nf_farm_finish(farm, actions_p);
}

enum nf_status nf_farm_cancel(struct nf_farm *farm, int64_t now_us,
                              struct nf_actions *actions_p)
{
    nf_farm_begin(farm, NF_SLAVE_NONE, now_us);
    if (!farm->over) {
        if (farm->phases)
            nf_phases_cancel(farm);
        else if (farm->gathering)
            nf_farm_act(farm, NF_ACT_ABANDON);
        farm->gathering = false;
        farm->over = true;
        nf_farm_act(farm, NF_ACT_DONE);
    }
    return nf_farm_finish(farm, actions_p);
}

bool nf_farm_is_deaf(const struct nf_farm *farm)
{
    return farm->deaf;
}

void nf_farm_get_stats(const struct nf_farm *farm,
                       struct nf_farm_stats *stats_p)
{
    const struct nf_pool *pool = &farm->pool;

    *stats_p = farm->stats;
    stats_p->fresh = nf_pool_fresh(pool);
    stats_p->returned = nf_pool_returned(pool) + pool->counts[NF_UNIT_ALONE];
    stats_p->leased = pool->counts[NF_UNIT_LEASED];
    stats_p->held = pool->held;
    nf_phases_get_stats(farm, stats_p);
}

bool nf_farm_get_estimate(const struct nf_farm *farm, uint32_t slave,
                          uint32_t slot, struct nf_slot_estimate *estimate_p)
{
    if (!nf_farm_is_known(farm, slave) || slot >= farm->slaves[slave].nslots ||
        !farm->policy.pacer->estimate)
        return false;
    return farm->policy.pacer->estimate(
        farm->pacer, farm->slaves[slave].first_slot + slot, estimate_p);
}
