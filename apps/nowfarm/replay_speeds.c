/* How fast each seat is, from the times of the units that were computed there.
 *
 * Units differ, and a seat that had one or two long ones is not slow: under
 * pull it is just those seats that get few units.  So a seat counts as 1, as
 * fast as the others, unless it differs from them by more than the units can
 * explain:
 *
 *   - by more standard errors than chance gives the extreme one of so many
 *     seats: sqrt(9 + 2 ln seats), which is 3 for one and 4.2 for 64.  The
 *     deviation is that of all units of the others, or of its own if larger;
 *   - with few units n, whose mean need not be near normal, also by a mean
 *     above (1 + 1/n) times the longest unit of all others, or likewise below
 *     the shortest.
 *
 * Seats found to differ are then compared as if they had been as fast as the
 * rest, so that they neither hide others nor each other, until nothing changes.
 */
#include "config.h"
#include <math.h>
#include "apps/nowfarm/replay.h"

enum { FEW_UNITS = 8, PASSES_MOST = 8 };

/* Units of several seats, at speed 1. */
struct pool {
    double units, sum_us, squares_us2; /* of the seats that are as the rest */
    double within_us2, freedom;        /* of the others, around their means */
};

/* The two seats with the most extreme units. */
struct extremes {
    uint32_t first;
    double first_us, second_us;
};

/* Of n units with that mean and m2, one is at most this far off: by 3 standard
 * deviations, or as far as arithmetic allows. */
static double reach_us(double n, double m2_us2)
{
    return sqrt(m2_us2 / n * fmin(n - 1, 9));
}

static double sum_seats(const struct nf_history *h, struct seats *seats)
{
    double units = 0;

    for (uint32_t i = 0; i < h->nchunks; i++) {
        const struct nf_history_chunk *chunk = &h->chunks[i];
        struct seat *seat = &seats->list[seats->of_chunk[i]];
        double n = (double)chunk->answered;
        double mean_us, off_us;

        if (!chunk->measured || chunk->answered == 0)
            continue;
        mean_us = (double)chunk->compute_us / n;
        off_us = reach_us(n, chunk->m2_unit_us2);
        if (seat->units == 0)
            seat->shortest_us = INFINITY;
        seat->shortest_us = fmin(seat->shortest_us, fmax(mean_us - off_us, 0));
        seat->longest_us = fmax(seat->longest_us, mean_us + off_us);
        seat->units += n;
        seat->compute_us += (double)chunk->compute_us;
        seat->squares_us2 += chunk->m2_unit_us2 + n * mean_us * mean_us;
        units += n;
    }
    return units;
}

/* Sum of squares around the seat's own mean. */
static double within_us2(const struct seat *seat)
{
    double mean_us = seat->compute_us / seat->units;

    return fmax(seat->squares_us2 - seat->compute_us * mean_us, 0);
}

static void add_seat(struct pool *pool, const struct seat *seat, int sign)
{
    if (seat->differs) {
        pool->within_us2 += sign * within_us2(seat) * seat->speed * seat->speed;
        pool->freedom += sign * (seat->units - 1);
    } else {
        pool->units += sign * seat->units;
        pool->sum_us += sign * seat->compute_us;
        pool->squares_us2 += sign * seat->squares_us2;
    }
}

/* @return -1 if they are too few to tell */
static double variance_us2(const struct pool *pool)
{
    double squares_us2 = pool->within_us2, freedom = pool->freedom;

    if (pool->units > 1) {
        squares_us2 +=
            pool->squares_us2 - pool->sum_us * pool->sum_us / pool->units;
        freedom += pool->units - 1;
    }
    return freedom >= 1 ? fmax(squares_us2, 0) / freedom : -1;
}

/* By the longest units for sign 1, by the shortest ones for -1. */
static struct extremes find_extremes(const struct seats *seats, int sign)
{
    struct extremes e = { 0, -INFINITY, -INFINITY };

    for (uint32_t i = 0; i < seats->count; i++) {
        const struct seat *seat = &seats->list[i];
        double us =
            (sign > 0 ? seat->longest_us : -seat->shortest_us) * seat->speed;

        if (seat->units < 1)
            continue;
        if (us > e.first_us) {
            e.second_us = e.first_us;
            e.first = i;
            e.first_us = us;
        } else {
            e.second_us = fmax(e.second_us, us);
        }
    }
    e.first_us *= sign;
    e.second_us *= sign;
    return e;
}

static double of_others_us(const struct extremes *e, uint32_t seat)
{
    return e->first == seat ? e->second_us : e->first_us;
}

/* Is it more than a unit of the others could be? */
static bool is_beyond(const struct seats *seats, uint32_t number,
                      const struct extremes *longest,
                      const struct extremes *shortest)
{
    const struct seat *seat = &seats->list[number];
    double here_us = seat->compute_us / seat->units;
    double factor = 1 + 1 / seat->units;

    return here_us > factor * of_others_us(longest, number) ||
           here_us * factor < of_others_us(shortest, number);
}

/* Does it differ from the others, as they were found last?
 * @param all      everybody
 * @param mean_us  of a unit, if no other seat is as the rest */
static bool is_other(const struct seats *seats, uint32_t number,
                     const struct pool *all, double mean_us)
{
    const struct seat *seat = &seats->list[number];
    double threshold = sqrt(9 + 2 * log((double)seats->count));
    double here_us = seat->compute_us / seat->units, variance, shares;
    struct pool others = *all;

    add_seat(&others, seat, -1);
    shares = 1 / seat->units;
    if (others.units >= 1) {
        mean_us = others.sum_us / others.units;
        shares += 1 / others.units;
    }
    variance = variance_us2(&others);
    if (variance < 0)
        return false;
    variance = fmax(variance, within_us2(seat) / seat->units);
    return fabs(here_us - mean_us) > threshold * sqrt(variance * shares);
}

/* One pass.  @return did anything change? */
static bool judge(struct seats *seats, double mean_us)
{
    const struct extremes longest = find_extremes(seats, 1);
    const struct extremes shortest = find_extremes(seats, -1);
    struct pool all = { .units = 0 };
    bool changed = false;

    for (uint32_t i = 0; i < seats->count; i++)
        if (seats->list[i].units >= 1)
            add_seat(&all, &seats->list[i], 1);
    for (uint32_t i = 0; i < seats->count; i++) {
        struct seat *seat = &seats->list[i];

        seat->will_differ = seat->compute_us > 0 &&
                            is_other(seats, i, &all, mean_us) &&
                            (seat->units >= FEW_UNITS ||
                             is_beyond(seats, i, &longest, &shortest));
        changed |= seat->will_differ != seat->differs;
    }
    return changed;
}

/* Mean of the seats that are as the rest, or else as it was. */
static double mean_of_rest_us(const struct seats *seats, double mean_us)
{
    double units = 0, sum_us = 0;

    for (uint32_t i = 0; i < seats->count; i++)
        if (!seats->list[i].differs) {
            units += seats->list[i].units;
            sum_us += seats->list[i].compute_us;
        }
    return sum_us > 0 ? sum_us / units : mean_us;
}

double speeds_fit(const struct nf_history *h, struct seats *seats)
{
    double units = sum_seats(h, seats);
    double mean_us = mean_of_rest_us(seats, 0);

    for (int pass = 0; pass < PASSES_MOST && judge(seats, mean_us); pass++) {
        for (uint32_t i = 0; i < seats->count; i++)
            seats->list[i].differs = seats->list[i].will_differ;
        mean_us = mean_of_rest_us(seats, mean_us);
        for (uint32_t i = 0; i < seats->count; i++) {
            struct seat *seat = &seats->list[i];

            seat->speed = 1;
            if (seat->differs)
                seat->speed = fmin(
                    fmax(mean_us * seat->units / seat->compute_us, 1e-3), 1e3);
        }
    }
    return units;
}
