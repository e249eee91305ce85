/* two_level: reduce within hosts and between them, and back again.
 *
 *     within, right; between leaders 2 (k+ceil(log2 h)-1) rounds; within, copy
 *
 * Pays where hosts have several ranks each and links between them are slower
 * than within, by a model that has what a message costs on each (two_level.h).
 */
#include "config.h"
#include "common/coll/two_level.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    struct nf_two_level two;
    uint32_t round = 0, k = args->segments;

    (void)self;
    if (!nf_two_level_init(&two, args, schedule))
        return;
    round = nf_two_level_inside(&two, k, true, round, schedule);
    round = nf_two_level_between(&two, k, true, round, schedule);
    round = nf_two_level_between(&two, k, false, round, schedule);
    nf_two_level_inside(&two, k, false, round, schedule);
    nf_two_level_fini(&two);
}

const struct nf_coll_algorithm nf_coll_allreduce_two_level = {
    .name = "allreduce.two_level",
    .op = NF_COLL_ALLREDUCE,
    .summary = "within each host, between hosts to one and back, and within",
    .source = "leaders of hosts, as MPICH and Open MPI (han) have them",
    .cost = "by the hosts, h of them, p ranks on the fullest: 2 (k "
            "+ log2 h - 1) between, 2 log2 p a segment within",
    .items = NF_ITEMS_SEGMENTS,
    .ports = NF_PORTS_FULL,
    .order = NF_ORDER_COMMUTATIVE,
    .make = make,
    .cost_us = nf_two_level_cost_us,
    .levels_us = nf_two_level_allreduce_us,
    .kept = &nf_kept_two_level_all,
};
