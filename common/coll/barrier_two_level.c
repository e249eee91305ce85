/* two_level: leaders meet when those of their hosts have come.
 *
 *     within a host to its leader along a binomial tree; leaders:
 * dissemination; within, back
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
    uint32_t round = 0;

    (void)self;
    if (!nf_two_level_init(&two, args, schedule))
        return;
    round = nf_two_level_inside(&two, 0, true, round, schedule);
    round = nf_two_level_meet(&two, round, schedule);
    nf_two_level_inside(&two, 0, false, round, schedule);
    nf_two_level_fini(&two);
}

const struct nf_coll_algorithm nf_coll_barrier_two_level = {
    .name = "barrier.two_level",
    .op = NF_COLL_BARRIER,
    .summary = "within each host, then leaders by dissemination, and back",
    .source = "leaders of hosts, as MPICH and Open MPI (han) have them",
    .cost = "by the hosts, h of them, p ranks on the fullest: log2 "
            "h between, 2 log2 p within",
    .items = NF_ITEMS_NONE,
    .ports = NF_PORTS_FULL,
    .make = make,
    .cost_us = nf_two_level_cost_us,
    .levels_us = nf_two_level_barrier_us,
};
