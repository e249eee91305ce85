/* What a world answers while it is simulated; platform.c reads it. */
#include "config.h"
#include "sim/world.h"
#include "common/base/alloc.h"
#include <math.h>

int64_t nf_world_cost_us(const struct nf_world *world, uint64_t first,
                         uint64_t count)
{
    if (!world->cost_sums)
        return world->cost_us * (int64_t)count;
    return world->cost_sums[first + count] - world->cost_sums[first];
}

/* The number of changes that have happened by then. */
static size_t changes_until(const struct nf_world_slave *slave, int64_t now_us)
{
    size_t lo = 0, hi = slave->nchanges;

    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;

        if (slave->changes[middle].from_us <= now_us)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

struct nf_ratio nf_world_speed(const struct nf_world *world, uint32_t slave,
                               int64_t now_us)
{
    const struct nf_world_slave *s = &world->slave[slave];
    size_t changes = changes_until(s, now_us);

    return changes > 0 ? s->changes[changes - 1].speed : s->speed;
}

int64_t nf_world_compute_us(int64_t cost_us, struct nf_ratio speed)
{
    int64_t whole = cost_us / speed.num, rest = cost_us % speed.num;

    return whole * speed.den +
           (2 * rest * speed.den + speed.num) / (2 * speed.num);
}

/* Work done in @p time_us, rounded down; the time is at most the distance of
 * two changes, so that the product fits. */
static int64_t work_us(int64_t time_us, struct nf_ratio speed)
{
    return time_us * speed.num / speed.den;
}

int64_t nf_world_finish_us(const struct nf_world *world, uint32_t slave,
                           int64_t start_us, int64_t cost_us)
{
    const struct nf_world_slave *s = &world->slave[slave];
    int64_t now_us = start_us;
    struct nf_ratio speed = nf_world_speed(world, slave, now_us);

    for (size_t i = s->load ? changes_until(s, now_us) : s->nchanges;
         i < s->nchanges; i++) {
        int64_t change_us = s->changes[i].from_us;

        if (now_us + nf_world_compute_us(cost_us, speed) <= change_us)
            break;
        cost_us -= work_us(change_us - now_us, speed);
        if (cost_us < 0)
            cost_us = 0; /* half a microsecond, rounded up */
        now_us = change_us;
        speed = s->changes[i].speed;
    }
    return now_us + nf_world_compute_us(cost_us, speed);
}

int64_t nf_line_us(const struct nf_line *line, uint64_t units)
{
    return line->fixed_us + line->per_unit_us * (int64_t)units;
}

static double speed_of(struct nf_ratio ratio)
{
    return (double)ratio.num / (double)ratio.den;
}

/* What a slave computes in the first @p until_us. */
static double work_until(const struct nf_world_slave *slave, double until_us)
{
    double work_us = 0, from_us = 0, speed = speed_of(slave->speed);

    for (size_t i = 0; i < slave->nchanges; i++) {
        double change_us = (double)slave->changes[i].from_us;
        double next = speed_of(slave->changes[i].speed);

        if (!slave->load) { /* a chunk may have begun just before */
            speed = fmax(speed, next);
            continue;
        }
        if (change_us >= until_us)
            break;
        work_us += (change_us - from_us) * speed;
        from_us = change_us;
        speed = next;
    }
    return slave->slots * (work_us + (until_us - from_us) * speed);
}

static double all_work_until(const struct nf_world *world, double until_us)
{
    double work_us = 0;

    for (uint32_t i = 0; i < world->slaves; i++)
        work_us += work_until(&world->slave[i], until_us);
    return work_us;
}

double nf_world_bound_us(const struct nf_world *world)
{
    double cost_us = (double)nf_world_cost_us(world, 0, world->units);
    double way_us = (double)world->prop_us;
    double low = 0, high = 1, rate;
    bool load = false;

    if (world->units == 0)
        return 0;
    for (uint32_t i = 0; i < world->slaves; i++)
        load = load || world->slave[i].load;
    rate = all_work_until(world, 1);
    if (!load)
        return cost_us / rate + 2 * way_us;
    cost_us += all_work_until(world, way_us); /* nothing is there to do yet */
    while (all_work_until(world, high) < cost_us)
        high *= 2;
    for (int i = 0; i < 80 && high - low > 1e-3; i++) {
        double middle = (low + high) / 2;

        if (all_work_until(world, middle) < cost_us)
            low = middle;
        else
            high = middle;
    }
    return high + way_us;
}

void nf_world_fini(struct nf_world *world)
{
    if (world->slave)
        for (uint32_t i = 0; i < world->slaves; i++)
            nf_free(world->slave[i].changes);
    nf_free(world->slave);
    nf_free(world->cost_sums);
    nf_free(world->failures);
    *world = (struct nf_world){ 0 };
}
