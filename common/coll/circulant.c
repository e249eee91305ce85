/* Circulant graphs: skips, bases, and the broadcast that is made of them.
 *
 * The skips halve P, rounding up, so q rounds reach everybody whatever P is.
 * Rounds come in turns of q, one for each skip; the rows say which block a rank
 * receives in which round of a turn, such that it has sent on the old ones. */
#include "config.h"
#include <assert.h>
#include "common/coll/circulant.h"

uint32_t nf_circulant_skips(uint32_t ranks,
                            uint32_t skip[NF_CIRCULANT_ROUNDS_MAX + 1])
{
    uint32_t rounds = nf_coll_ceil_log2(ranks);

    skip[rounds] = ranks;
    for (uint32_t i = rounds; i > 0; i--)
        skip[i - 1] = (skip[i] + 1) / 2;
    return rounds;
}

static uint8_t find_base(const struct nf_circulant *c, uint32_t v)
{
    for (uint32_t i = c->rounds; i-- > 0;) {
        if (c->skip[i] == v)
            return (uint8_t)i;
        if (c->skip[i] < v)
            v -= c->skip[i];
    }
    return (uint8_t)c->rounds; /* v = 0 */
}

void nf_circulant_init(struct nf_circulant *c, uint32_t ranks)
{
    c->ranks = ranks;
    c->rounds = nf_circulant_skips(ranks, c->skip);
    for (uint32_t v = 0; v < ranks; v++)
        c->base[v] = find_base(c, v);
}

/* The rank that is distance before v. */
static uint32_t before(const struct nf_circulant *c, uint32_t v,
                       uint32_t distance)
{
    return (v + c->ranks - distance) % c->ranks;
}

void nf_circulant_row(const struct nf_circulant *c, uint32_t v,
                      int32_t row[NF_CIRCULANT_ROUNDS_MAX])
{
    uint32_t used = UINT32_C(1) << c->base[v];

    for (uint32_t i = 0; i < c->rounds; i++) {
        uint32_t found = 0, chosen;

        for (uint32_t d = c->skip[i]; d < c->skip[i + 1]; d++)
            found |= UINT32_C(1) << c->base[before(c, v, d)];
        found &= ~used;
        if (found == 0)
            found = UINT32_C(1) << c->base[before(c, v, c->skip[i + 1])];
        chosen = nf_coll_floor_log2(found);
        used |= UINT32_C(1) << chosen;
        row[i] = chosen == c->rounds ? c->base[v]
                                     : (int32_t)chosen - (int32_t)c->rounds;
    }
}

/* Does the schedule want what v receives? */
static bool is_wanted(const struct nf_circulant *c,
                      const struct nf_coll_args *args, uint32_t only,
                      uint32_t v)
{
    uint32_t me;

    if (only == NF_ALL_RANKS)
        return true;
    me = (only + args->ranks - args->root) % args->ranks;
    for (uint32_t i = 0; i < c->rounds; i++)
        if (before(c, v, c->skip[i]) == me)
            return true;
    return v == me;
}

/* All that v receives.  The x idle rounds before the first make the last one
 * the end of a turn; so block k-1 stands in for those behind it just once. */
static void add_receives(const struct nf_circulant *c,
                         const struct nf_coll_args *args, bool backwards,
                         uint32_t v, struct nf_schedule *schedule)
{
    uint32_t q = c->rounds, k = args->segments, x;
    uint32_t me = nf_coll_true_rank(args, v);
    int32_t row[NF_CIRCULANT_ROUNDS_MAX];

    assert(q > 0);
    x = (q - (k - 1) % q) % q;
    nf_circulant_row(c, v, row);
    for (uint32_t i = x; i <= k + q - 2 + x; i++) {
        uint32_t from = nf_coll_true_rank(args, before(c, v, c->skip[i % q]));
        int32_t block = row[i % q] + (int32_t)(i - i % q) - (int32_t)x;

        if (block < 0)
            continue;
        if (block >= (int32_t)k)
            block = (int32_t)k - 1;
        if (backwards)
            nf_schedule_send(schedule, k + q - 2 + x - i, me, from,
                             (uint32_t)block, 1, NF_COLL_RIGHT);
        else
            nf_schedule_send(schedule, i - x, from, me, (uint32_t)block, 1,
                             NF_COLL_COPY);
    }
}

void nf_circulant_broadcast(const struct nf_coll_args *args, bool backwards,
                            struct nf_schedule *schedule)
{
    struct nf_circulant circulant;

    nf_circulant_init(&circulant, args->ranks);
    for (uint32_t v = 1; v < args->ranks; v++)
        if (is_wanted(&circulant, args, schedule->only, v))
            add_receives(&circulant, args, backwards, v, schedule);
}
