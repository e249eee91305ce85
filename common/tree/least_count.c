/* See least_count.h.  What is known is a list by number; asking goes on between
 * the best of it and the neighbour that leaves more room. */
#include "config.h"
#include "common/tree/least_count.h"
#include <math.h>
#include <stdbool.h>

struct known {
    uint64_t count[NF_COUNT_ASKS_MAX + 1];
    double us[NF_COUNT_ASKS_MAX + 1];
    uint32_t number, best;
};

static bool has(const struct known *known, uint64_t count)
{
    for (uint32_t i = 0; i < known->number; i++)
        if (known->count[i] == count)
            return true;
    return false;
}

static void add(struct known *known, uint64_t count, double us)
{
    uint32_t at = known->number++;

    for (; at > 0 && known->count[at - 1] > count; at--) {
        known->count[at] = known->count[at - 1];
        known->us[at] = known->us[at - 1];
    }
    known->count[at] = count;
    known->us[at] = us;
    /* of equals the fewest segments: less to carry out */
    known->best = 0;
    for (uint32_t i = 1; i < known->number; i++)
        if (known->us[i] < known->us[known->best])
            known->best = i;
}

/* Where a + b k + c / k through the first, the best and the last is least. */
static uint64_t suggest(const struct known *known, uint64_t least,
                        uint64_t most)
{
    uint32_t last = known->number - 1, middle = known->best;
    double k1, k2, k3, slope12, slope23, b, c, root;

    if (middle == 0 || middle == last)
        middle = last / 2;
    k1 = (double)known->count[0];
    k2 = (double)known->count[middle];
    k3 = (double)known->count[last];
    if (!(k1 < k2 && k2 < k3))
        return known->count[known->best];
    /* (t2 - t1) / (k2 - k1) = b - c / (k1 k2), likewise of 2 and 3 */
    slope12 = (known->us[middle] - known->us[0]) / (k2 - k1);
    slope23 = (known->us[last] - known->us[middle]) / (k3 - k2);
    c = (slope23 - slope12) / (1 / (k1 * k2) - 1 / (k2 * k3));
    b = slope12 + c / (k1 * k2);
    if (!(c > 0) || !(b > 0))
        return slope12 + slope23 > 0 ? least : most;
    root = sqrt(c / b);
    if (!(root > (double)least))
        return least;
    return root < (double)most ? (uint64_t)(root + 0.5) : most;
}

/* @return 0: both neighbours of the best are known */
static uint64_t beside_best(const struct known *known, uint64_t least,
                            uint64_t most)
{
    uint64_t best = known->count[known->best];
    uint64_t below =
        known->best > 0 ? known->count[known->best - 1] : least - 1;
    uint64_t above = known->best + 1 < known->number
                         ? known->count[known->best + 1]
                         : most + 1;

    if (best - below <= 1 && above - best <= 1)
        return 0;
    return above - best >= best - below ? best + (above - best) / 2
                                        : best - (best - below) / 2;
}

/* What to ask for next; 0: that is all.
 * @param asked  how often it was done already */
static uint64_t next(const struct nf_count_range *range,
                     const struct known *known, uint32_t asked)
{
    uint64_t count;

    if (asked == 0 && !has(known, range->least))
        return range->least;
    if (asked <= 1 && !has(known, range->most))
        return range->most;
    count = suggest(known, range->least, range->most);
    if (asked <= 3 && !has(known, count))
        return count;
    return beside_best(known, range->least, range->most);
}

static enum nf_status ask(struct known *known, nf_time_in_fn *time_in,
                          void *context, uint64_t count)
{
    double us;
    enum nf_status status = time_in(context, count, &us);

    if (status == NF_OK)
        add(known, count, us);
    return status;
}

enum nf_status nf_least_count(const struct nf_count_range *range,
                              nf_time_in_fn *time_in, void *context,
                              uint64_t *count_p, double *time_us_p)
{
    struct known known = { .number = 0 };
    enum nf_status status = NF_OK;
    bool all = range->most - range->least <= range->asks;

    add(&known, range->known, range->known_us);
    for (uint64_t k = range->least; all && k <= range->most && status == NF_OK;
         k++)
        if (k != range->known)
            status = ask(&known, time_in, context, k);
    for (uint32_t i = 0; !all && i < range->asks && status == NF_OK; i++) {
        uint64_t count = next(range, &known, i);

        if (count == 0)
            break;
        status = ask(&known, time_in, context, count);
    }
    if (status == NF_OK) {
        *count_p = known.count[known.best];
        *time_us_p = known.us[known.best];
    }
    return status;
}
