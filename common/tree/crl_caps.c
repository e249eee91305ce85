/* Caps of the periods, of which the best is looked for.
 *
 * Time is latency + (segments - 1) * period: with no cap trees have the least
 * latency, with the least cap that leaves room for all the least period; in
 * between lies the best one, which is looked for in geometric steps. */
#include "config.h"
#include <math.h>
#include "common/tree/crl_search.h"

enum { CAPS = 8, FINER = 6 };

/* What was tried, by cap ascending. */
struct caps {
    struct nf_crl_search *search;
    double to_beat_us;
    double cap_us[CAPS + FINER], time_us[CAPS + FINER];
    unsigned count;
};

static void try_cap(struct caps *caps, double cap_us)
{
    double bound_us = (double)(caps->search->segments - 1) * cap_us;
    double time_us = INFINITY;
    unsigned at = caps->count++;

    if (bound_us < caps->to_beat_us && bound_us < caps->search->best_us)
        time_us = nf_crl_try_cap(caps->search, cap_us);
    for (; at > 0 && caps->cap_us[at - 1] > cap_us; at--) {
        caps->cap_us[at] = caps->cap_us[at - 1];
        caps->time_us[at] = caps->time_us[at - 1];
    }
    caps->cap_us[at] = cap_us;
    caps->time_us[at] = time_us;
}

/* Between the best cap and its neighbours. */
static void try_finer(struct caps *caps)
{
    double best_us, below_us, above_us;
    unsigned best = 0;

    for (unsigned i = 1; i < caps->count; i++)
        if (caps->time_us[i] < caps->time_us[best])
            best = i;
    best_us = caps->cap_us[best];
    below_us = best > 0 ? caps->cap_us[best - 1] : best_us;
    above_us = best + 1 < caps->count ? caps->cap_us[best + 1] : best_us;
    if (below_us < best_us)
        try_cap(caps, sqrt(below_us * best_us));
    if (above_us > best_us)
        try_cap(caps, sqrt(above_us * best_us));
}

/* The @p n-th root of @p x >= 1, by halving.  pow() is not the same in all
 * libraries, and members of a group that plan alike are to get the same tree.
 */
static double find_root(double x, int n)
{
    double low = 1, high = x;

    for (int i = 0; i < 100; i++) {
        double middle = low + (high - low) / 2, power = 1;

        for (int k = 0; k < n; k++)
            power *= middle;
        if (power <= x)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void nf_crl_try_caps(struct nf_crl_search *search, double least_us, double to_beat_us)
{
    struct caps caps = { .search = search, .to_beat_us = to_beat_us };
    int steps = search->is_thin ? CAPS / 2 : CAPS;
    double cap_us, ratio;
    double greatest_us =
        fmin(search->greatest_period_us,
             fmin(search->best_us, to_beat_us) / (double)(search->segments - 1));

    least_us *= 1 + 1e-12; /* sums of rounded numbers are to fit */
    if (least_us <= 0 || greatest_us <= least_us) {
        try_cap(&caps, greatest_us);
        return;
    }
    cap_us = least_us;
    ratio = find_root(greatest_us / least_us, steps - 1);
    for (int i = 0; i < steps; i++, cap_us *= ratio)
        try_cap(&caps, cap_us);
    for (int i = 0; i < (search->is_thin ? 1 : FINER / 2); i++)
        try_finer(&caps);
}
