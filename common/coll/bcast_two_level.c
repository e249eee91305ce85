/* two_level: to one rank of each host along a circulant graph, then within.
 *
 *     between leaders: k+ceil(log2 h)-1 rounds; segment j within a host along a
 *     binomial tree
 *
 * Pays where hosts have several ranks each and links between them are slower
 * than within, by a measured network (bcast_plan.h) or a model that has what a
 * message costs on each (two_level.h). */
#include "config.h"
#include "common/coll/kept.h"
#include "common/coll/two_level.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    struct nf_two_level two;
    uint32_t round = 0, k = args->segments;

    (void)self;
    if (!nf_two_level_init(&two, args, schedule))
        return;
    round = nf_two_level_between(&two, k, false, round, schedule);
    nf_two_level_inside(&two, k, false, round, schedule);
    nf_two_level_fini(&two);
}

const struct nf_coll_algorithm nf_coll_bcast_two_level = {
    .name = "bcast.two_level",
    .op = NF_COLL_BCAST,
    .summary = "each segment once to each host, then within",
    .source = "leaders of hosts, as MPICH and Open MPI (han) have them",
    .cost = "by the hosts, h of them, p ranks on the fullest: k + "
            "log2 h - 1 between, log2 p a segment within",
    .items = NF_ITEMS_SEGMENTS,
    .ports = NF_PORTS_FULL,
    .make = make,
    .cost_us = nf_two_level_cost_us,
    .levels_us = nf_two_level_bcast_us,
    .kept = &nf_kept_vector,
};
