/* circulant: the round-optimal broadcast backwards in time.
 *
 *     round i = 0..k+q-2: what the broadcast does in round k+q-2-i, the other
 *     way, right
 *     FD (k+q-1) (T + C)(m/k); HD (2k+q-2) T(m/k) + (k+q-1) C(m/k) if
 *     P = 2^q >= 4, k (T + C)(m/k) if P = 2
 *
 * The one to have for long vectors, any P and commutative operators on
 * full-duplex ports: one message time. */
#include "config.h"
#include <math.h>
#include "common/coll/circulant.h"
#include "common/coll/kept.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    (void)self;
    nf_circulant_broadcast(args, true, schedule);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    uint32_t q = nf_coll_ceil_log2(ranks);
    uint32_t rounds = segments + q - 1, transfers = rounds;

    (void)self;
    if (price->ports == NF_PORTS_HALF && ranks > 2) {
        if (ranks != UINT32_C(1) << q)
            return INFINITY; /* odd cycles: not known */
        transfers = 2 * segments + q - 2;
    }
    return transfers * nf_price_send_us(price, bytes / segments) +
           rounds * nf_price_combine_us(price, bytes / segments);
}

/* A rank has much to send that waits for little.  If it were not held back, it
 * would be far ahead of others, and its segments would share a link with those
 * that the next ranks wait for: 1 MiB over 8 hosts takes 172 ms then, and 136
 * to 140 with any number of rounds from 3 to 10.  (The broadcast gets slower by
 * any: its ranks wait for each other as it is.) */
enum { ROUNDS_AHEAD = 4 };

const struct nf_coll_algorithm nf_coll_reduce_circulant = {
    .name = "reduce.circulant",
    .op = NF_COLL_REDUCE,
    .summary = "every rank hands on a segment each round, any number of ranks",
    .source = "Träff, doi 10.1145/3735139, backwards",
    .cost = "FD (k+q-1) (T(m/k) + C(m/k)); HD (2k+q-2) T(m/k) + (k+q-1) C(m/k) "
            "if P = 2^q >= 4, k (T(m/k) + C(m/k)) if P = 2",
    .items = NF_ITEMS_SEGMENTS,
    .ports = NF_PORTS_FULL,
    .order = NF_ORDER_COMMUTATIVE,
    .rounds_ahead = ROUNDS_AHEAD,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_rounds,
};
