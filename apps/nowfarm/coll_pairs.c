/* Which pair of members stands for the others of its kind, and which is worse.
 */
#include "config.h"
#include "apps/nowfarm/coll_pairs.h"
#include <math.h>
#include "apps/collbench/team.h"
#include "common/base/alloc.h"

/* How much worse than the usual pair is worth the time of measuring it.  How a
 * host wakes its processes makes short messages of equal hosts differ by less
 * than so many us, which is much where messages take 16 us. */
#define WORSE          1.25
#define WORSE_START_US 20.0

struct kind {
    const uint32_t *hosts;
    const uint64_t *routes;
    uint32_t ranks, nhosts;
    bool same_host, by_daemon;
};

static bool is_of(const struct kind *kind, uint32_t a, uint32_t b)
{
    bool by_daemon = kind->routes != NULL &&
                     bench_by_daemon(kind->routes, kind->ranks, a, b);

    return (kind->hosts[a] == kind->hosts[b]) == kind->same_host &&
           by_daemon == kind->by_daemon;
}

/* Where pairs between the hosts of these two are counted. */
static uint32_t *count_of(const struct kind *kind, uint32_t *counts, uint32_t a,
                          uint32_t b)
{
    uint32_t x = kind->hosts[a], y = kind->hosts[b];

    return x < y ? &counts[(size_t)x * kind->nhosts + y]
                 : &counts[(size_t)y * kind->nhosts + x];
}

enum nf_status coll_find_pair(const uint32_t *hosts, const uint64_t *routes,
                              uint32_t ranks, bool same_host, bool by_daemon,
                              struct coll_pair *pair_p)
{
    struct kind kind = { hosts, routes, ranks, 0, same_host, by_daemon };
    uint32_t *counts, most = 0;

    for (uint32_t i = 0; i < ranks; i++)
        if (hosts[i] >= kind.nhosts)
            kind.nhosts = hosts[i] + 1;
    counts = nf_calloc((size_t)kind.nhosts * kind.nhosts, sizeof(*counts));
    if (counts == NULL)
        return NF_ERR_NOMEM;
    for (uint32_t i = 0; i < ranks; i++)
        for (uint32_t j = i + 1; j < ranks; j++)
            if (is_of(&kind, i, j))
                ++*count_of(&kind, counts, i, j);
    for (uint32_t i = 0; i < ranks; i++)
        for (uint32_t j = i + 1; j < ranks; j++)
            if (is_of(&kind, i, j) && *count_of(&kind, counts, i, j) > most) {
                most = *count_of(&kind, counts, i, j);
                *pair_p = (struct coll_pair){ i, j };
            }
    nf_free(counts);
    return most > 0 ? NF_OK : NF_WAIT;
}

/* ---- worse ones ---- */

/* Is @p i the first on its host with which rank 0 has a pair of this kind,
 * other than the usual? */
static bool is_looked_at(const struct kind *kind, const struct coll_pair *usual,
                         uint32_t i)
{
    uint32_t a = kind->hosts[usual->first], b = kind->hosts[usual->second];
    uint32_t here = kind->hosts[0], there = kind->hosts[i];

    if (!is_of(kind, 0, i) || (here == a && there == b) ||
        (here == b && there == a))
        return false;
    for (uint32_t j = 1; j < i; j++)
        if (kind->hosts[j] == there && is_of(kind, 0, j))
            return false;
    return true;
}

unsigned coll_list_looks(const uint32_t *hosts, const uint64_t *routes,
                         uint32_t ranks, bool by_daemon,
                         const struct coll_pair *usual,
                         struct coll_look *looks_p)
{
    const struct kind kind = {
        .hosts = hosts, .routes = routes, .ranks = ranks, .by_daemon = by_daemon
    };
    uint32_t others = 0, most, n = 0;
    unsigned count = 1;

    looks_p[0] = (struct coll_look){ .pair = *usual };
    for (uint32_t i = 1; i < ranks; i++)
        others += is_looked_at(&kind, usual, i);
    most = others < COLL_LOOKS_MAX - 1 ? others : COLL_LOOKS_MAX - 1;
    for (uint32_t i = 1; i < ranks; i++) {
        if (!is_looked_at(&kind, usual, i))
            continue;
        n++;
        if ((uint64_t)n * most / others > (uint64_t)(n - 1) * most / others)
            looks_p[count++] = (struct coll_look){ .pair = { 0, i } };
    }
    return count;
}

void coll_look_add(struct coll_look *look, double short_us, double large_us)
{
    look->short_us =
        look->times == 0 ? short_us : fmin(look->short_us, short_us);
    look->large_us =
        look->times == 0 ? large_us : fmin(look->large_us, large_us);
    look->times++;
}

static double start_us(const struct coll_look *look)
{
    return look->short_us;
}

static double byte_us(const struct coll_look *look)
{
    return fmax(look->large_us - look->short_us, 0) /
           (COLL_LOOK_LARGE_BYTES - COLL_LOOK_SHORT_BYTES);
}

/* @param least  how much more it must be   @return 0: none is worth it */
static unsigned worst_by(const struct coll_look *looks, unsigned count,
                         double (*cost)(const struct coll_look *look),
                         double least)
{
    double usual = cost(&looks[0]), most = fmax(WORSE * usual, usual + least);
    unsigned worst = 0;

    for (unsigned i = 1; i < count; i++)
        if (looks[i].times > 0 && cost(&looks[i]) > most) {
            most = cost(&looks[i]);
            worst = i;
        }
    return worst;
}

unsigned coll_find_worst(const struct coll_look *looks, unsigned count,
                         unsigned worst_p[COLL_WORST_MAX])
{
    unsigned by_start, by_byte, found = 0;

    if (count == 0 || looks[0].times == 0)
        return 0;
    by_start = worst_by(looks, count, start_us, WORSE_START_US);
    by_byte = worst_by(looks, count, byte_us, 0);
    if (by_start > 0)
        worst_p[found++] = by_start;
    if (by_byte > 0 && by_byte != by_start)
        worst_p[found++] = by_byte;
    return found;
}

uint64_t coll_look_reach(const struct coll_look *look, uint64_t largest_bytes,
                         unsigned rounds, double limit_us)
{
    double left_us = limit_us / (2.0 * rounds) - start_us(look);
    double bytes = fmax(left_us, 0) / fmax(byte_us(look), 1e-9);

    bytes = fmax(bytes, COLL_LOOK_LARGE_BYTES);
    return bytes < (double)largest_bytes ? (uint64_t)bytes : largest_bytes;
}
