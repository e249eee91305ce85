/* two_level, ordered: on true ranks, so that operands come in their order.
 *
 *     segment j within a host along a binomial tree, right; from the leader of
 *     each host to that of the one before, k+h-2 rounds, right; segment j from
 *     rank 0 to the root, unless that is 0
 *
 * For operators that do not commute, where the ranks of each host are
 * consecutive; elsewhere for others only. */
#include "config.h"
#include "common/coll/two_level.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    struct nf_coll_args to_first = *args;
    struct nf_two_level two;
    uint32_t round = 0, k = args->segments;

    (void)self;
    to_first.root = 0;
    if (!nf_two_level_init(&two, &to_first, schedule))
        return;
    round = nf_two_level_inside(&two, k, true, round, schedule);
    round = nf_two_level_chain(&two, k, round, schedule);
    for (uint32_t j = 0; j < k && args->root != 0; j++)
        nf_schedule_send(schedule, round + j, 0, args->root, j, 1,
                         NF_COLL_COPY);
    nf_two_level_fini(&two);
}

const struct nf_coll_algorithm nf_coll_reduce_two_level_ordered = {
    .name = "reduce.two_level_ordered",
    .op = NF_COLL_REDUCE,
    .summary = "within each host, then along a chain of hosts, in the order of "
               "ranks",
    .source = "leaders of hosts, as MPICH and Open MPI (han) have them",
    .cost = "by the hosts, h of them, p ranks on the fullest: k + "
            "h - 2 between, log2 p a segment within, k to the root",
    .items = NF_ITEMS_SEGMENTS,
    .ports = NF_PORTS_FULL,
    .order = NF_ORDER_HOSTS,
    .make = make,
    .cost_us = nf_two_level_cost_us,
    .levels_us = nf_two_level_reduce_us,
    .kept = &nf_kept_two_level_all,
};
