/* The best radices: what is left to do depends on the weight that has been
 * reached only, so
 *
 *     f(w) = 0 if w >= P, else the least over r = 2 .. ceil(P/w) of
 *            a (min(r, ceil(P/w)) - 1) + b (P - Z(w, r)) + f(w r) */
#include "config.h"
#include "common/coll/radix.h"

static uint32_t values_of(uint32_t ranks, uint32_t weight)
{
    return (ranks + weight - 1) / weight;
}

/* What a digit adds. */
static struct nf_radix_cost digit_cost(uint32_t ranks, uint32_t weight,
                                       uint32_t radix)
{
    uint32_t values = values_of(ranks, weight);
    uint64_t next = (uint64_t)weight * radix;
    uint64_t rest = ranks % next;
    uint64_t zeros = ranks / next * weight + (rest < weight ? rest : weight);

    return (struct nf_radix_cost){ (radix < values ? radix : values) - 1,
                                   ranks - zeros };
}

bool nf_radix_fits(uint32_t ranks, const struct nf_coll_sides *radices)
{
    uint64_t weight = 1;

    if (radices->count > NF_COLL_SIDES_MAX)
        return false;
    for (uint32_t i = 0; i < radices->count; i++) {
        if (radices->of[i] < 2 || radices->of[i] > NF_COLL_RANKS_MAX)
            return false;
        if (weight < ranks)
            weight *= radices->of[i];
    }
    return weight >= ranks;
}

struct nf_radix_cost nf_radix_cost(uint32_t ranks,
                                   const struct nf_coll_sides *radices)
{
    struct nf_radix_cost sum = { 0, 0 };
    uint32_t weight = 1;

    for (uint32_t i = 0; i < radices->count && weight < ranks; i++) {
        struct nf_radix_cost digit = digit_cost(ranks, weight, radices->of[i]);

        sum.rounds += digit.rounds;
        sum.blocks += digit.blocks;
        weight *= radices->of[i];
    }
    return sum;
}

/* What is left to do from a weight on, in the best way. */
struct rest {
    uint64_t cost;
    uint32_t rounds;
    uint16_t digits, radix; /* its lowest digit */
};

/* Of equals fewer rounds, then fewer digits, are better. */
static bool is_better(const struct rest *a, const struct rest *b)
{
    if (a->cost != b->cost)
        return a->cost < b->cost;
    if (a->rounds != b->rounds)
        return a->rounds < b->rounds;
    return a->digits < b->digits;
}

void nf_radix_best(uint32_t ranks, uint64_t start, uint64_t block,
                   struct nf_coll_sides *radices_p)
{
    static const struct rest nothing = { .cost = 0 };
    struct rest best[NF_COLL_RANKS_MAX];

    if (ranks > NF_COLL_RANKS_MAX) {
        *radices_p = (struct nf_coll_sides){ 1, { ranks } };
        return;
    }
    for (uint32_t weight = ranks; weight-- > 1;) {
        uint32_t values = values_of(ranks, weight);

        best[weight] = (struct rest){ .cost = UINT64_MAX };
        /* of equals the smallest radix comes first, and stays */
        for (uint32_t radix = 2; radix <= values; radix++) {
            struct nf_radix_cost digit = digit_cost(ranks, weight, radix);
            uint32_t next = weight * radix;
            const struct rest *then = next < ranks ? &best[next] : &nothing;
            const struct rest now = {
                .cost =
                    start * digit.rounds + block * digit.blocks + then->cost,
                .rounds = digit.rounds + then->rounds,
                .digits = (uint16_t)(then->digits + 1),
                .radix = (uint16_t)radix,
            };

            if (is_better(&now, &best[weight]))
                best[weight] = now;
        }
    }
    radices_p->count = 0;
    for (uint32_t weight = 1; weight < ranks;
         weight *= radices_p->of[radices_p->count - 1])
        radices_p->of[radices_p->count++] = best[weight].radix;
}

void nf_radix_fewest_rounds(uint32_t ranks, struct nf_coll_sides *radices_p)
{
    /* V is below P ceil(log2 P) here */
    nf_radix_best(ranks, (uint64_t)ranks * NF_COLL_SIDES_MAX, 1, radices_p);
}

static struct nf_radix_choice choice_of(uint32_t ranks, uint64_t start,
                                        uint64_t block)
{
    struct nf_radix_choice choice;

    nf_radix_best(ranks, start, block, &choice.radices);
    choice.cost = nf_radix_cost(ranks, &choice.radices);
    return choice;
}

/* Is it below the line through left and right? */
static bool is_below(const struct nf_radix_cost *it,
                     const struct nf_radix_cost *left,
                     const struct nf_radix_cost *right)
{
    uint64_t start = left->blocks - right->blocks;
    uint64_t block = right->rounds - left->rounds;

    return start * it->rounds + block * it->blocks <
           start * left->rounds + block * left->blocks;
}

static void set_bound(struct nf_radix_choice *left,
                      const struct nf_radix_choice *right)
{
    uint32_t num = right->cost.rounds - left->cost.rounds;
    uint32_t den = (uint32_t)(left->cost.blocks - right->cost.blocks);
    uint32_t a = num, b = den;

    while (b != 0) {
        uint32_t rest = a % b;

        a = b;
        b = rest;
    }
    left->below_num = num / a;
    left->below_den = den / a;
}

/* From the left: between a point and the one to its right that is known there
 * may be another, which the best radices for the slope between them tell. */
uint32_t nf_radix_hull(uint32_t ranks, struct nf_radix_choice *choices)
{
    struct nf_radix_choice waiting[NF_RADIX_CHOICES_MAX];
    uint32_t count = 1, nwaiting = 1;

    nf_radix_fewest_rounds(ranks, &choices[0].radices);
    choices[0].cost = nf_radix_cost(ranks, &choices[0].radices);
    waiting[0] = (struct nf_radix_choice){ .radices = { 1, { ranks } } };
    waiting[0].cost = nf_radix_cost(ranks, &waiting[0].radices);
    if (choices[0].cost.rounds == waiting[0].cost.rounds)
        nwaiting = 0;
    while (nwaiting > 0) {
        struct nf_radix_choice *left = &choices[count - 1];
        struct nf_radix_choice *right = &waiting[nwaiting - 1];
        struct nf_radix_choice between =
            choice_of(ranks, left->cost.blocks - right->cost.blocks,
                      right->cost.rounds - left->cost.rounds);

        if (is_below(&between.cost, &left->cost, &right->cost) &&
            nwaiting < NF_RADIX_CHOICES_MAX) {
            waiting[nwaiting++] = between;
            continue;
        }
        set_bound(left, right);
        if (count < NF_RADIX_CHOICES_MAX)
            choices[count++] = *right;
        nwaiting--;
    }
    choices[count - 1].below_num = 1;
    choices[count - 1].below_den = 0;
    return count;
}
