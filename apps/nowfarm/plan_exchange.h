#ifndef NF_APPS_NOWFARM_PLAN_EXCHANGE_H
#define NF_APPS_NOWFARM_PLAN_EXCHANGE_H
/** @file plan_exchange.h  What `nowfarm plan alltoall` prints, and reads beyond
 *  the others. */
#include <jansson.h>
#include "common/coll/torus.h"

/** Read sides or radices, "3x4x5".  @return the exit status; NF_EXIT_USAGE has
 *  told what is wrong with @p option */
int nf_read_sides(const char *option, const char *text,
                  struct nf_coll_sides *sides_p);

/** A line a message: step, source, destination, @side+hops or @side-hops if the
 *  algorithm says the route, and the blocks, s>q from s to q. */
void nf_print_exchange(uint32_t ranks, const struct nf_schedule *schedule);
/** Lines that begin with "#": what it loads the torus with, in all and in each
 *  step. */
void nf_print_load(const struct nf_coll_algorithm *algorithm,
                   const struct nf_torus_load *load);
/** The same as an object, and which channels each step loads.
 *  @param args  of the ranks, and the shape
 *  @return NULL: out of memory */
json_t *nf_load_json(const struct nf_coll_algorithm *algorithm,
                     const struct nf_coll_args *args,
                     const struct nf_schedule *schedule,
                     const struct nf_torus_load *load);
#endif
