/* nESBT: edge-disjoint spanning binomial trees, n of them on the cube of the
 * first H virtual ranks, rooted at the neighbours of the root.
 *
 *     round t = 0..k+n-1, d = t mod n: v -> v xor 2^d, segment t - age(v, d)
 *     P != 2^n: a last round v -> v + H, all segments
 *     HD (2k+n-1) T(m/k) for k >= n, FD (k+n) T(m/k); n = 1: k T(m/k);
 *     P != 2^n: + T(m)
 *
 * Segment j enters at round j along dimension j mod n, spreads along the n-1
 * other dimensions in turn, and along the first one again.  Much better than
 * binomial for long vectors on half-duplex ports if P = 2^n; ranks beyond H
 * make it poor. */
#include "config.h"
#include "common/coll/kept.h"

/* How many rounds ago the segment that v, which is not 0, passes on along d
 * entered.  The bits of v were set in turn since, so the one farthest behind d
 * was the first.  If d itself is set, the segment entered along d a whole turn
 * ago. */
static uint32_t age(uint32_t v, uint32_t d, uint32_t n)
{
    uint32_t i = n;

    if ((v >> d & 1) != 0)
        return n;
    while ((v >> ((d + n - i) % n) & 1) == 0)
        i--;
    return i;
}

static void add_cube_round(const struct nf_coll_args *args, uint32_t n,
                           uint32_t t, struct nf_schedule *schedule)
{
    uint32_t d = t % n;

    for (uint32_t v = 0; v < UINT32_C(1) << n; v++) {
        uint32_t w = v ^ UINT32_C(1) << d;
        uint32_t since = v == 0 ? 0 : age(v, d, n);

        if (w != 0 && since <= t && t - since < args->segments)
            nf_schedule_send(schedule, t, nf_coll_true_rank(args, v),
                             nf_coll_true_rank(args, w), t - since, 1,
                             NF_COLL_COPY);
    }
}

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    uint32_t n = nf_coll_floor_log2(args->ranks);
    uint32_t rounds = n > 1 ? args->segments + n : args->segments;

    (void)self;
    for (uint32_t t = 0; t < rounds; t++)
        add_cube_round(args, n, t, schedule);
    for (uint32_t v = UINT32_C(1) << n; v < args->ranks; v++)
        nf_schedule_send(
            schedule, rounds, nf_coll_true_rank(args, v - (UINT32_C(1) << n)),
            nf_coll_true_rank(args, v), 0, args->segments, NF_COLL_COPY);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    uint32_t n = nf_coll_floor_log2(ranks), rounds = segments;
    double us;

    (void)self;
    if (n > 1)
        rounds =
            price->ports == NF_PORTS_HALF ? 2 * segments + n - 1 : segments + n;
    us = rounds * nf_price_send_us(price, bytes / segments);
    if (ranks != UINT32_C(1) << n)
        us += nf_price_send_us(price, bytes);
    return us;
}

/* The extra ranks get all segments in one message, which is a copy. */
static uint64_t kept_bytes(const struct nf_coll_algorithm *self, uint32_t ranks,
                           uint64_t bytes, uint32_t segments)
{
    (void)self;
    (void)segments;
    return (ranks & (ranks - 1)) == 0 ? bytes : nf_kept_part(bytes, 2, 1);
}
static const struct nf_coll_kept kept = { "m; P != 2^n: 2 m", kept_bytes };

static uint32_t default_segments(uint32_t ranks)
{
    return ranks > 1 ? nf_coll_floor_log2(ranks) : 1;
}

const struct nf_coll_algorithm nf_coll_bcast_nesbt = {
    .name = "bcast.nesbt",
    .op = NF_COLL_BCAST,
    .summary = "segments spread in turn over n edge-disjoint binomial trees",
    .source = "Johnsson and Ho; Kim, report 98-NF-03-04-A-01, 3.3",
    .cost = "HD (2k+n-1) T(m/k), k >= n; FD (k+n) T(m/k); n = 1: k T(m/k); "
            "+ T(m) if P is not 2^n",
    .items = NF_ITEMS_SEGMENTS,
    .ports = NF_PORTS_FULL,
    .default_segments = default_segments,
    .make = make,
    .cost_us = cost_us,
    .kept = &kept,
};
