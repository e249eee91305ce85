/* Two levels: who leads, and the parts that the four operations are made of. */
#include "config.h"
#include "common/coll/two_level.h"
#include <math.h>
#include "common/base/alloc.h"
#include "common/coll/circulant.h"
#include "common/coll/kept.h"

static bool share_host(const struct nf_coll_args *args, uint32_t a, uint32_t b)
{
    return a == b || (args->hosts != NULL && args->hosts[a] == args->hosts[b]);
}

/* The next host: the leader, then the others of it. */
static void add_host(struct nf_two_level *two, const struct nf_coll_args *args,
                     uint32_t leader)
{
    uint32_t count = two->first[two->hosts], begin = count;

    two->members[count++] = leader;
    for (uint32_t r = 0; r < args->ranks; r++)
        if (r != leader && share_host(args, r, leader))
            two->members[count++] = r;
    two->first[++two->hosts] = count;
    if (nf_coll_ceil_log2(count - begin) > two->depth)
        two->depth = nf_coll_ceil_log2(count - begin);
}

static bool is_listed(const struct nf_two_level *two,
                      const struct nf_coll_args *args, uint32_t rank)
{
    for (uint32_t h = 0; h < two->hosts; h++)
        if (share_host(args, rank, two->members[two->first[h]]))
            return true;
    return false;
}

bool nf_two_level_init(struct nf_two_level *two,
                       const struct nf_coll_args *args,
                       struct nf_schedule *schedule)
{
    *two = (struct nf_two_level){ .hosts = 0 };
    two->members = nf_calloc(2 * (size_t)args->ranks + 1, sizeof(uint32_t));
    if (two->members == NULL) {
        schedule->failed = true;
        return false;
    }
    two->first = two->members + args->ranks;
    add_host(two, args, args->root);
    for (uint32_t r = 0; r < args->ranks; r++)
        if (!is_listed(two, args, r))
            add_host(two, args, r);
    return true;
}

void nf_two_level_fini(struct nf_two_level *two)
{
    nf_free(two->members);
}

static uint32_t lowest_bit(uint32_t v)
{
    uint32_t t = 0;

    while ((v >> t & 1) == 0)
        t++;
    return t;
}

uint32_t nf_two_level_inside(const struct nf_two_level *two, uint32_t segments,
                             bool backwards, uint32_t round,
                             struct nf_schedule *schedule)
{
    uint32_t turns = segments > 0 ? segments : 1;
    enum nf_coll_action action =
        backwards && segments > 0 ? NF_COLL_RIGHT : NF_COLL_COPY;

    for (uint32_t h = 0; h < two->hosts; h++) {
        const uint32_t *member = two->members + two->first[h];
        uint32_t count = two->first[h + 1] - two->first[h];

        for (uint32_t v = 1; v < count; v++) {
            uint32_t t = lowest_bit(v);
            uint32_t from = member[v - (UINT32_C(1) << t)], to = member[v];

            for (uint32_t j = 0; j < turns; j++)
                nf_schedule_send(schedule,
                                 round + j * two->depth +
                                     (backwards ? t : two->depth - 1 - t),
                                 backwards ? to : from, backwards ? from : to,
                                 j, segments > 0, action);
        }
    }
    return round + turns * two->depth;
}

uint32_t nf_two_level_between(const struct nf_two_level *two, uint32_t segments,
                              bool backwards, uint32_t round,
                              struct nf_schedule *schedule)
{
    const struct nf_coll_args args = { .ranks = two->hosts,
                                       .segments = segments };
    struct nf_schedule leaders;
    uint32_t rounds;

    if (two->hosts < 2)
        return round;
    nf_schedule_init(&leaders, NF_ALL_RANKS);
    nf_circulant_broadcast(&args, backwards, &leaders);
    schedule->failed = schedule->failed || leaders.failed;
    rounds = nf_schedule_rounds(&leaders);
    for (size_t i = 0; i < leaders.count && !schedule->failed; i++) {
        const struct nf_coll_message *m = &leaders.messages[i];

        nf_schedule_add(schedule, round + m->round,
                        two->members[two->first[m->src]],
                        two->members[two->first[m->dst]], m->action);
        for (uint32_t s = 0; s < m->nspans; s++)
            nf_schedule_items(schedule, leaders.spans[m->first_span + s].first,
                              leaders.spans[m->first_span + s].count);
    }
    nf_schedule_fini(&leaders);
    return round + rounds;
}

/* The leader of each host hands to that of the one before, so that what is
 * combined there is of the ranks that follow. */
uint32_t nf_two_level_chain(const struct nf_two_level *two, uint32_t segments,
                            uint32_t round, struct nf_schedule *schedule)
{
    if (two->hosts < 2)
        return round;
    for (uint32_t h = 1; h < two->hosts; h++)
        for (uint32_t j = 0; j < segments; j++)
            nf_schedule_send(schedule, round + j + two->hosts - 1 - h,
                             two->members[two->first[h]],
                             two->members[two->first[h - 1]], j, 1,
                             NF_COLL_RIGHT);
    return round + segments + two->hosts - 2;
}

uint32_t nf_two_level_meet(const struct nf_two_level *two, uint32_t round,
                           struct nf_schedule *schedule)
{
    for (uint32_t w = 1; w < two->hosts; w *= 2, round++)
        for (uint32_t h = 0; h < two->hosts; h++)
            nf_schedule_add(schedule, round, two->members[two->first[h]],
                            two->members[two->first[(h + w) % two->hosts]],
                            NF_COLL_COPY);
    return round;
}

double nf_two_level_cost_us(const struct nf_coll_algorithm *self,
                            const struct nf_coll_price *price, uint32_t ranks,
                            double bytes, uint32_t segments)
{
    (void)self, (void)price, (void)ranks, (void)bytes, (void)segments;
    return INFINITY;
}

/* @param rounds  between leaders */
static double way_us(const struct nf_coll_levels *levels, double bytes,
                     uint32_t segments, uint32_t rounds, bool combines)
{
    double segment = bytes / segments, combine_us = 0, within_us, between_us;

    if (combines)
        combine_us = nf_price_combine_us(levels->between, segment);
    within_us = nf_price_send_us(levels->within, segment) + combine_us;
    within_us *= segments * nf_coll_ceil_log2(levels->fullest);
    between_us = nf_price_send_us(levels->between, segment);
    between_us *= segments > 1 && levels->hosts > 2 ? levels->delta : 1;
    between_us = rounds * (between_us + combine_us);
    return fmax(within_us, between_us) + fmin(within_us, between_us) / segments;
}

static uint32_t graph_rounds(const struct nf_coll_levels *levels,
                             uint32_t segments)
{
    return segments + nf_coll_ceil_log2(levels->hosts) - 1;
}

double nf_two_level_bcast_us(const struct nf_coll_algorithm *self,
                             const struct nf_coll_levels *levels, double bytes,
                             uint32_t segments)
{
    (void)self;
    return way_us(levels, bytes, segments, graph_rounds(levels, segments),
                  false);
}

double nf_two_level_reduce_us(const struct nf_coll_algorithm *self,
                              const struct nf_coll_levels *levels, double bytes,
                              uint32_t segments)
{
    uint32_t rounds = graph_rounds(levels, segments);

    if (self->order == NF_ORDER_HOSTS)
        rounds = segments + levels->hosts - 2 + (self->op == NF_COLL_REDUCE);
    return way_us(levels, bytes, segments, rounds, true);
}

double nf_two_level_allreduce_us(const struct nf_coll_algorithm *self,
                                 const struct nf_coll_levels *levels,
                                 double bytes, uint32_t segments)
{
    return nf_two_level_reduce_us(self, levels, bytes, segments) +
           nf_two_level_bcast_us(self, levels, bytes, segments);
}

double nf_two_level_barrier_us(const struct nf_coll_algorithm *self,
                               const struct nf_coll_levels *levels,
                               double bytes, uint32_t segments)
{
    (void)self, (void)bytes, (void)segments;
    return 2 * nf_coll_ceil_log2(levels->fullest) *
               nf_price_send_us(levels->within, 0) +
           nf_coll_ceil_log2(levels->hosts) *
               nf_price_send_us(levels->between, 0);
}

/* q levels and k+q-1 rounds of a segment; there are not as many of both. */
static uint64_t kept_of(uint32_t ranks, uint64_t bytes, uint32_t segments,
                        uint32_t copies)
{
    uint64_t q = nf_coll_ceil_log2(ranks), k = segments;

    return nf_kept_part(bytes, (q + copies) * k + k + q - 1, k);
}

static uint64_t reduce_bytes(const struct nf_coll_algorithm *self,
                             uint32_t ranks, uint64_t bytes, uint32_t segments)
{
    (void)self;
    return kept_of(ranks, bytes, segments, 0);
}
const struct nf_coll_kept nf_kept_two_level = { "q m + m (k+q-1)/k",
                                                reduce_bytes };

static uint64_t allreduce_bytes(const struct nf_coll_algorithm *self,
                                uint32_t ranks, uint64_t bytes,
                                uint32_t segments)
{
    (void)self;
    return kept_of(ranks, bytes, segments, 1);
}
const struct nf_coll_kept nf_kept_two_level_all = { "(q+1) m + m (k+q-1)/k",
                                                    allreduce_bytes };
