/* two_level: the broadcast backwards: within hosts, then between them.
 *
 *     segment j within a host along a binomial tree, right; between leaders:
 *     k+ceil(log2 h)-1 rounds, right
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
    nf_two_level_between(&two, k, true, round, schedule);
    nf_two_level_fini(&two);
}

const struct nf_coll_algorithm nf_coll_reduce_two_level = {
    .name = "reduce.two_level",
    .op = NF_COLL_REDUCE,
    .summary = "within each host, then each segment once from each host",
    .source = "leaders of hosts, as MPICH and Open MPI (han) have them",
    .cost = "by the hosts, h of them, p ranks on the fullest: k + "
            "log2 h - 1 between, log2 p a segment within",
    .items = NF_ITEMS_SEGMENTS,
    .ports = NF_PORTS_FULL,
    .order = NF_ORDER_COMMUTATIVE,
    .make = make,
    .cost_us = nf_two_level_cost_us,
    .levels_us = nf_two_level_reduce_us,
    .kept = &nf_kept_two_level,
};
