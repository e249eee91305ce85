/* circulant: round-optimal for any P; after q - 1 rounds of filling, every rank
 * gets a new segment each round.
 *
 *     round i = 0..k+q-2: v -> v + skip[.] mod P, segments by the rows of
 *     circulant.h
 *     FD (k+q-1) T(m/k); HD (2k+q-2) T(m/k) if P = 2^q >= 4, k T(m/k) if P = 2,
 *     else at most 3 (k+q-1) T(m/k)
 *
 * The one to have on full-duplex ports: long vectors take one message time
 * however many ranks there are, and with k = 1 it is a binomial tree.  On
 * half-duplex ports it is best for P = 2^q; else odd cycles spoil it. */
#include "config.h"
#include "common/coll/circulant.h"
#include "common/coll/kept.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    (void)self;
    nf_circulant_broadcast(args, false, schedule);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    uint32_t q = nf_coll_ceil_log2(ranks), rounds = segments + q - 1;

    (void)self;
    if (price->ports == NF_PORTS_HALF && ranks > 2)
        rounds = ranks == UINT32_C(1) << q ? 2 * segments + q - 2 : 3 * rounds;
    return rounds * nf_price_send_us(price, bytes / segments);
}

const struct nf_coll_algorithm nf_coll_bcast_circulant = {
    .name = "bcast.circulant",
    .op = NF_COLL_BCAST,
    .summary = "a new segment for every rank each round, any number of ranks",
    .source = "Träff, doi 10.1145/3735139",
    .cost =
        "FD (k+q-1) T(m/k); HD (2k+q-2) T(m/k) if P = 2^q >= 4, k T(m/k) if "
        "P = 2, else at most 3 (k+q-1) T(m/k)",
    .items = NF_ITEMS_SEGMENTS,
    .ports = NF_PORTS_FULL,
    .make = make,
    .cost_us = cost_us,
    .kept = &nf_kept_vector,
};
