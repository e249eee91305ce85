#ifndef NF_APPS_NOWFARM_COLL_PROBE_H
#define NF_APPS_NOWFARM_COLL_PROBE_H
/** @file coll_probe.h  Measuring the model of a world: messages there and back,
 *  exchanges, sends in a row, and what adding costs. */
#include "apps/nowfarm/coll_world.h"
#include "common/model/model.h"

/** Between rank 0 and the first member on this host, and the first on another;
 *  where some go by the pvmds and some do not, with one of each: the worst of
 *  them is the model.
 *  @param thorough  take the time that tuning is worth (up to 20 s for each of
 *  them), else about two seconds
 *  @param largest_bytes  messages beyond this are of no interest; quick only
 *  @param model_p  all fields
 *  @retval < 0  world->team.err */
enum nf_status coll_probe(struct coll_world *world, bool thorough,
                          uint64_t largest_bytes, struct nf_model *model_p);
#endif
