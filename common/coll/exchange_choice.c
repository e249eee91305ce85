/* Prices as whole numbers, and the cheapest of burst and the radices on the
 * hull.  Nothing overflows: a round carries at most P/2 blocks of LARGE_BYTES,
 * 2^37 bytes, at 2^25 ps, and there are at most 2^12 rounds; messages are fewer
 * than 2^24, of 2^40 ns. */
#include "config.h"
#include <math.h>
#include "common/coll/exchange_choice.h"
#include "common/coll/radix.h"

/* Larger blocks are dealt with as these. */
enum { LARGE_BYTES = 1 << 26, BYTE_PS_MOST = 1 << 25 };
#define START_NS_MOST (INT64_C(1) << 40)

static uint64_t whole(double value, uint64_t most)
{
    if (!(value > 0))
        return 0;
    return value < (double)most ? (uint64_t)llround(value) : most;
}

/* Of either sign. */
static int64_t whole_ns(double us)
{
    int64_t ns = (int64_t)whole(fabs(us) * 1e3, START_NS_MOST);

    return us < 0 ? -ns : ns;
}

struct nf_exchange_price
nf_exchange_price_of(const struct nf_coll_network *network)
{
    const struct nf_coll_price *from = &network->price;
    struct nf_exchange_price price = { .npieces = from->npieces };

    for (uint32_t i = 0; i < from->npieces; i++) {
        price.from_bytes[i] =
            whole(from->pieces[i].from_bytes, UINT64_C(1) << 60);
        price.start_ns[i] = whole_ns(from->pieces[i].start_us);
        price.byte_ps[i] = whole(from->pieces[i].byte_us * 1e6, BYTE_PS_MOST);
    }
    price.occupancy_ns = whole(from->occupancy_us * 1e3, START_NS_MOST);
    price.share_ns = whole(network->share_us * 1e3, START_NS_MOST);
    return price;
}

void nf_exchange_price_move(struct nf_exchange_price *price,
                            uint32_t most_before, uint32_t ranks_before,
                            uint32_t most, uint32_t ranks)
{
    const uint64_t up = (uint64_t)most * ranks_before;
    const uint64_t down = (uint64_t)most_before * ranks;
    uint64_t ns = price->share_ns / down * up;

    /* up and down have 24 bits, what is left over of a share no more */
    ns += (price->share_ns % down * up + down / 2) / down;
    price->share_ns = ns < START_NS_MOST ? ns : START_NS_MOST;
}

bool nf_exchange_price_is_sane(const struct nf_exchange_price *price)
{
    if (price->npieces < 1 || price->npieces > NF_PRICE_PIECES_MAX ||
        price->occupancy_ns > START_NS_MOST || price->share_ns > START_NS_MOST)
        return false;
    for (uint64_t i = 0; i < price->npieces; i++)
        if (price->start_ns[i] > START_NS_MOST ||
            price->start_ns[i] < -START_NS_MOST ||
            price->byte_ps[i] > BYTE_PS_MOST)
            return false;
    return true;
}

static uint64_t send_ns(const struct nf_exchange_price *price, uint64_t bytes)
{
    uint64_t i = price->npieces - 1;
    int64_t ns;

    while (i > 0 && bytes < price->from_bytes[i])
        i--;
    ns = price->start_ns[i] + (int64_t)(price->byte_ps[i] * bytes / 1000);
    return ns > 0 ? (uint64_t)ns : 0;
}

/* What takes @p ns, if shared processors had not so many messages to pass. */
static uint64_t crowded_ns(const struct nf_exchange_price *price, uint64_t ns,
                           uint64_t messages)
{
    uint64_t crowd_ns = messages * price->share_ns;

    return ns > crowd_ns ? ns : crowd_ns;
}

static uint64_t burst_ns(const struct nf_exchange_price *price, uint32_t ranks,
                         uint64_t bytes)
{
    uint64_t one_ns = send_ns(price, bytes);
    uint64_t none_ns = send_ns(price, 0);
    uint64_t next_ns = one_ns > none_ns ? one_ns - none_ns : 0;
    uint64_t messages = (uint64_t)ranks * (ranks - 1);

    /* without o_s the start-up time is all that is known */
    if (price->occupancy_ns == 0)
        return crowded_ns(price, (ranks - 1) * one_ns, messages);
    if (next_ns < price->occupancy_ns)
        next_ns = price->occupancy_ns;
    return crowded_ns(price, one_ns + (ranks - 2) * next_ns, messages);
}

/* Of distances below P those with value v in the digit of weight w, radix r. */
static uint64_t blocks_of(uint32_t ranks, uint64_t weight, uint32_t radix,
                          uint32_t value)
{
    uint64_t cycle = weight * radix, rest = ranks % cycle;
    uint64_t below = value * weight;
    uint64_t more = rest > below ? rest - below : 0;

    return ranks / cycle * weight + (more < weight ? more : weight);
}

static uint64_t mixed_ns(const struct nf_exchange_price *price, uint32_t ranks,
                         uint64_t bytes, const struct nf_coll_sides *radices)
{
    uint64_t weight = 1, ns = 0, messages = 0;

    for (uint32_t i = 0; i < radices->count; i++) {
        for (uint32_t v = 1; v < radices->of[i] && v * weight < ranks; v++) {
            ns += send_ns(price,
                          bytes * blocks_of(ranks, weight, radices->of[i], v));
            messages += ranks;
        }
        weight *= radices->of[i];
    }
    return crowded_ns(price, ns, messages);
}

uint64_t nf_exchange_ns(const struct nf_exchange_price *price, uint32_t ranks,
                        uint64_t bytes, const struct nf_coll_params *params)
{
    if (bytes > LARGE_BYTES)
        bytes = LARGE_BYTES;
    return params->radices.count > 0
               ? mixed_ns(price, ranks, bytes, &params->radices)
               : burst_ns(price, ranks, bytes);
}

uint64_t nf_exchange_radices(const struct nf_exchange_price *price,
                             uint32_t ranks, uint64_t bytes,
                             struct nf_coll_params *params_p)
{
    struct nf_radix_choice hull[NF_RADIX_CHOICES_MAX];
    uint32_t count = ranks > 3 ? nf_radix_hull(ranks, hull) : 0;
    uint64_t least = UINT64_MAX;

    params_p->radices.count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct nf_coll_params params = { .radices = hull[i].radices };
        uint64_t ns = nf_exchange_ns(price, ranks, bytes, &params);

        if (ns >= least)
            continue;
        least = ns;
        params_p->radices = hull[i].radices;
    }
    return least;
}

void nf_exchange_choose(const struct nf_exchange_price *price, uint32_t ranks,
                        uint64_t bytes, struct nf_coll_choice *choice_p)
{
    struct nf_coll_choice best = { .algorithm = &nf_coll_alltoall_burst,
                                   .segments = 1 };
    uint64_t least = nf_exchange_ns(price, ranks, bytes, &best.params);
    struct nf_coll_params mixed = { .radix = 0 };
    uint64_t ns = nf_exchange_radices(price, ranks, bytes, &mixed);

    if (ns < least) {
        least = ns;
        best.algorithm = &nf_coll_alltoall_mixed;
        best.params = mixed;
    }
    best.cost_us = (double)least / 1e3;
    *choice_p = best;
}

void nf_coll_choose_exchange(const struct nf_exchange_price *price,
                             const struct nf_coll_query *query,
                             struct nf_coll_choice *choice_p)
{
    struct nf_coll_choice burst = { .algorithm = &nf_coll_alltoall_burst,
                                    .segments = 1 };

    nf_exchange_choose(price, query->ranks, query->bytes, choice_p);
    if (nf_coll_serves(choice_p->algorithm, query))
        return;
    burst.cost_us = (double)nf_exchange_ns(price, query->ranks, query->bytes,
                                           &burst.params) /
                    1e3;
    *choice_p = burst;
}
