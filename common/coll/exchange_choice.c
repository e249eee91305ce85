/* Prices as whole numbers, and the cheapest of burst and the radices on the
 * hull.  Nothing overflows: a round carries at most P/2 blocks of
 * NF_EXCHANGE_LARGE_BYTES, 2^37 bytes, at 2^25 ps, and takes up to three turns;
 * there are at most 2^12 rounds, and 2^15 blocks in all of them; messages are
 * no more than 2^24, of less than 2^40 ns.  A medium that all share is busy for
 * MEDIUM_NS_MOST at most. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "common/coll/exchange_choice.h"
#include "common/coll/blocks.h"
#include "common/coll/radix.h"

enum { BYTE_PS_MOST = 1 << 25, MILLION = 1000000 };
#define START_NS_MOST (INT64_C(1) << 40)
#define SHARE_NS_MOST ((UINT64_C(1) << 40) - 1)
#define MEDIUM_NS_MOST (UINT64_C(1) << 50)

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

/* T between two ranks. */
struct link {
    uint64_t npieces;
    const uint64_t *from_bytes;
    const int64_t *start_ns;
    const uint64_t *byte_ps;
    uint64_t occupancy_ns;
};

static struct link far_of(const struct nf_exchange_price *price)
{
    return (struct link){ price->npieces, price->from_bytes, price->start_ns,
                          price->byte_ps, price->occupancy_ns };
}

static struct link near_of(const struct nf_exchange_price *price)
{
    return (struct link){ price->nnear, price->near_from_bytes,
                          price->near_start_ns, price->near_byte_ps,
                          price->near_occupancy_ns };
}

static uint64_t set_pieces(const struct nf_coll_price *from,
                           uint64_t *from_bytes_p, int64_t *start_ns_p,
                           uint64_t *byte_ps_p)
{
    for (uint32_t i = 0; i < from->npieces; i++) {
        from_bytes_p[i] = whole(from->pieces[i].from_bytes, UINT64_C(1) << 60);
        start_ns_p[i] = whole_ns(from->pieces[i].start_us);
        byte_ps_p[i] = whole(from->pieces[i].byte_us * 1e6, BYTE_PS_MOST);
    }
    return from->npieces;
}

struct nf_exchange_price
nf_exchange_price_of(const struct nf_coll_network *network)
{
    struct nf_exchange_price price = { .least = network->least };

    price.npieces = set_pieces(&network->price, price.from_bytes,
                               price.start_ns, price.byte_ps);
    price.occupancy_ns =
        whole(network->price.occupancy_us * 1e3, START_NS_MOST);
    price.share_ns = whole(network->share_us * 1e3, SHARE_NS_MOST);
    price.copy_ps = whole(network->copy_byte_us * 1e6, BYTE_PS_MOST);
    price.half_ppm = whole((network->delta - 1) * MILLION, MILLION);
    price.is_shared = network->is_shared;
    price.lists = network->lists;
    price.nnear = set_pieces(&network->near, price.near_from_bytes,
                             price.near_start_ns, price.near_byte_ps);
    if (price.nnear > 0)
        price.near_occupancy_ns =
            whole(nf_coll_near_occupancy_us(network) * 1e3, START_NS_MOST);
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
    price->share_ns = ns < SHARE_NS_MOST ? ns : SHARE_NS_MOST;
}

static bool is_sane(const struct link *link)
{
    if (link->npieces > NF_PRICE_PIECES_MAX ||
        link->occupancy_ns > START_NS_MOST)
        return false;
    for (uint64_t i = 0; i < link->npieces; i++)
        if (link->start_ns[i] > START_NS_MOST ||
            link->start_ns[i] < -START_NS_MOST ||
            link->byte_ps[i] > BYTE_PS_MOST)
            return false;
    return true;
}

bool nf_exchange_price_is_sane(const struct nf_exchange_price *price)
{
    const struct link far = far_of(price), near = near_of(price);

    return far.npieces >= 1 && is_sane(&far) && is_sane(&near) &&
           price->share_ns <= SHARE_NS_MOST && price->copy_ps <= BYTE_PS_MOST &&
           price->half_ppm <= MILLION && price->is_shared <= 1 &&
           price->lists <= 1 &&
           price->least <= NF_COLL_RANKS_MAX;
}

/* Of @p bytes, rounded down, without a product of more than 2^56 of up to 2^41
 * bytes. */
static uint64_t bytes_ns(uint64_t byte_ps, uint64_t bytes)
{
    return bytes / 1000 * byte_ps + bytes % 1000 * byte_ps / 1000;
}

static uint64_t send_ns(const struct link *link, uint64_t bytes)
{
    uint64_t i = link->npieces - 1;
    int64_t ns;

    while (i > 0 && bytes < link->from_bytes[i])
        i--;
    ns = link->start_ns[i] + (int64_t)bytes_ns(link->byte_ps[i], bytes);
    return ns > 0 ? (uint64_t)ns : 0;
}

/* What half-duplex ports take beyond full-duplex ones. */
static uint64_t half_ns(const struct nf_exchange_price *price, uint64_t ns)
{
    return ns / MILLION * price->half_ppm +
           ns % MILLION * price->half_ppm / MILLION;
}

uint64_t nf_exchange_round_ns(const struct nf_exchange_price *price,
                              uint64_t bytes, uint32_t turns)
{
    const struct link far = far_of(price);
    uint64_t ns = send_ns(&far, bytes);

    return ns + half_ns(price, (turns - 1) * ns);
}

static bool is_one_host(const struct nf_exchange_price *price, uint32_t ranks)
{
    return price->nnear > 0 && price->least >= ranks;
}

/* The longest way of some message in each round. */
static struct link longest_of(const struct nf_exchange_price *price,
                              uint32_t ranks)
{
    return is_one_host(price, ranks) ? near_of(price) : far_of(price);
}

/* What takes @p ns, if there are not so many messages of @p bytes on a medium
 * that all share. */
static uint64_t medium_ns(const struct nf_exchange_price *price, uint32_t ranks,
                          uint64_t ns, uint64_t messages, uint64_t bytes)
{
    const struct link far = far_of(price);
    uint64_t one_ns = send_ns(&far, bytes), none_ns = send_ns(&far, 0);
    uint64_t all_ns;

    if (price->is_shared == 0 || is_one_host(price, ranks) || one_ns <= none_ns)
        return ns;
    all_ns = one_ns - none_ns < MEDIUM_NS_MOST / messages
                 ? none_ns + messages * (one_ns - none_ns)
                 : MEDIUM_NS_MOST;
    return ns > all_ns ? ns : all_ns;
}

/* From one message of a burst to the next. */
static uint64_t next_ns(const struct link *link, uint64_t bytes)
{
    uint64_t one_ns = send_ns(link, bytes), none_ns = send_ns(link, 0);
    uint64_t ns = one_ns > none_ns ? one_ns - none_ns : 0;

    /* without o_s the start-up time is all that is known */
    if (link->occupancy_ns == 0)
        return one_ns;
    return ns < link->occupancy_ns ? link->occupancy_ns : ns;
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
    const struct link far = longest_of(price, ranks), near = near_of(price);
    uint64_t messages = (uint64_t)ranks * (ranks - 1);
    uint64_t beside = price->nnear > 0 && price->least > 1 &&
                              price->least < ranks
                          ? price->least - 1
                          : 0;
    uint64_t next_far_ns = next_ns(&far, bytes);
    uint64_t all_ns = (ranks - 1 - beside) * next_far_ns, ns;

    if (beside > 0)
        all_ns += beside * next_ns(&near, bytes);
    ns = send_ns(&far, bytes) + all_ns - next_far_ns + half_ns(price, all_ns);
    ns = medium_ns(price, ranks, ns, messages - ranks * beside, bytes);
    return crowded_ns(price, ns, messages);
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

/* @p bytes go from every rank to the one @p jump ahead. */
static uint64_t round_ns(const struct nf_exchange_price *price,
                         const struct link *link, uint32_t ranks, uint32_t jump,
                         uint64_t bytes)
{
    uint64_t ns = send_ns(link, bytes);

    ns += half_ns(price, (nf_blocks_shift_turns(ranks, jump) - 1) * ns);
    return medium_ns(price, ranks, ns, ranks, bytes);
}

/* What a round takes longer by, in which so many bytes go ahead of each message. */
static uint64_t list_ns(const struct nf_exchange_price *price,
                        const struct link *link, uint32_t ranks, uint32_t jump,
                        uint64_t bytes)
{
    const struct link far = far_of(price);
    uint64_t none_ns = send_ns(&far, 0), ns = next_ns(link, bytes);

    ns += half_ns(price, (nf_blocks_shift_turns(ranks, jump) - 1) * ns);
    return medium_ns(price, ranks, none_ns + ns, ranks, bytes) - none_ns;
}

static uint64_t mixed_ns(const struct nf_exchange_price *price, uint32_t ranks,
                         uint64_t bytes, const struct nf_coll_sides *radices)
{
    const struct link link = longest_of(price, ranks);
    uint64_t weight = 1, ns = 0, messages = 0;

    for (uint32_t i = 0; i < radices->count && weight < ranks; i++) {
        for (uint32_t v = 1; v < radices->of[i] && v * weight < ranks; v++) {
            uint64_t blocks = blocks_of(ranks, weight, radices->of[i], v);

            ns += round_ns(price, &link, ranks, (uint32_t)(v * weight),
                           bytes * blocks);
            if (blocks > 1)
                ns += price->copy_ps * bytes * blocks / 1000;
            if (blocks > 1 && price->lists > 0) {
                ns += list_ns(price, &link, ranks, (uint32_t)(v * weight),
                              NF_EXCHANGE_SIZE_BYTES * blocks);
                messages += ranks;
            }
            messages += ranks;
        }
        weight *= radices->of[i];
    }
    return crowded_ns(price, ns, messages);
}

uint64_t nf_exchange_ns(const struct nf_exchange_price *price, uint32_t ranks,
                        uint64_t bytes, const struct nf_coll_params *params)
{
    if (bytes > NF_EXCHANGE_LARGE_BYTES)
        bytes = NF_EXCHANGE_LARGE_BYTES;
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
    const struct nf_coll_params pairwise = { .radices = { 1, { ranks } } };
    struct nf_coll_choice best = { .algorithm = &nf_coll_alltoall_burst,
                                   .segments = 1 };
    uint64_t least = nf_exchange_ns(price, ranks, bytes, &best.params);
    struct nf_coll_params mixed = { .radix = 0 };
    uint64_t ns = nf_exchange_radices(price, ranks, bytes, &mixed);

    if (price->occupancy_ns == 0 &&
        nf_exchange_ns(price, ranks, bytes, &pairwise) <= least)
        best.algorithm = &nf_coll_alltoall_pairwise_shift;
    if (ns < least) {
        least = ns;
        best.algorithm = &nf_coll_alltoall_mixed;
        best.params = mixed;
    }
    best.cost_us = (double)least / 1e3;
    *choice_p = best;
}

/* a / b in 1/1024, without overflow. */
static uint64_t ratio(uint64_t a, uint64_t b)
{
    while (a >> 53 != 0) {
        a /= 2;
        b /= 2;
    }
    return a * 1024 / (b > 0 ? b : 1);
}

/* What one algorithm takes, or the cheapest of them, of blocks of 1, 2, 4 ..
 * NF_EXCHANGE_LARGE_BYTES. */
enum { SIZES = 27 };
_Static_assert(1 << (SIZES - 1) == NF_EXCHANGE_LARGE_BYTES,
               "the last size is the largest");

static void time_sizes(const struct nf_exchange_price *price, uint32_t ranks,
                       const struct nf_coll_params *params,
                       uint64_t ns_p[SIZES])
{
    for (int i = 0; i < SIZES; i++)
        ns_p[i] = nf_exchange_ns(price, ranks, UINT64_C(1) << i, params);
}

static uint64_t worst_of(const uint64_t ns[SIZES], const uint64_t best[SIZES])
{
    uint64_t worst = 0;

    for (int i = 0; i < SIZES; i++) {
        uint64_t here = ratio(ns[i], best[i]);

        worst = here > worst ? here : worst;
    }
    return worst;
}

/* The hull and the times are the same for whichever is judged, and many ranks'
 * hull takes long: so all are made once. */
void nf_exchange_choose_blindly(const struct nf_exchange_price *price,
                                uint32_t ranks, struct nf_coll_choice *choice_p)
{
    struct nf_coll_choice choice = { .algorithm = &nf_coll_alltoall_burst,
                                     .segments = 1,
                                     .cost_us = (double)INFINITY };
    struct nf_radix_choice hull[NF_RADIX_CHOICES_MAX];
    uint32_t count = ranks > 3 ? nf_radix_hull(ranks, hull) : 0;
    uint64_t burst[SIZES], mixed[NF_RADIX_CHOICES_MAX][SIZES], best[SIZES];
    uint64_t least;

    time_sizes(price, ranks, &choice.params, burst);
    memcpy(best, burst, sizeof(best));
    for (uint32_t i = 0; i < count; i++) {
        const struct nf_coll_params params = { .radices = hull[i].radices };

        time_sizes(price, ranks, &params, mixed[i]);
        for (int k = 0; k < SIZES; k++)
            best[k] = mixed[i][k] < best[k] ? mixed[i][k] : best[k];
    }
    least = worst_of(burst, best) / 2;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t worst = worst_of(mixed[i], best);

        if (worst >= least)
            continue;
        least = worst;
        choice.algorithm = &nf_coll_alltoall_mixed;
        choice.params.radices = hull[i].radices;
    }
    *choice_p = choice;
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
