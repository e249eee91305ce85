/* two_level, ordered: reduce in the order of ranks, and back again.
 *
 *     within, right; between leaders a chain, k+h-2 rounds, right, and back
 *     along a circulant graph, k+ceil(log2 h)-1 rounds; within, copy
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
    round = nf_two_level_between(&two, k, false, round, schedule);
    nf_two_level_inside(&two, k, false, round, schedule);
    nf_two_level_fini(&two);
}

const struct nf_coll_algorithm nf_coll_allreduce_two_level_ordered = {
    .name = "allreduce.two_level_ordered",
    .op = NF_COLL_ALLREDUCE,
    .summary = "within each host, along a chain of hosts and back, and within, "
               "in the order of ranks",
    .source = "leaders of hosts, as MPICH and Open MPI (han) have them",
    .cost = "by the hosts, h of them, p ranks on the fullest: k + "
            "h - 2 and k + log2 h - 1 between, 2 log2 p a segment within",
    .items = NF_ITEMS_SEGMENTS,
    .ports = NF_PORTS_FULL,
    .order = NF_ORDER_HOSTS,
    .make = make,
    .cost_us = nf_two_level_cost_us,
    .levels_us = nf_two_level_allreduce_us,
    .kept = &nf_kept_two_level_all,
};
