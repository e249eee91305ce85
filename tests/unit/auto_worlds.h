#ifndef NF_TESTS_UNIT_AUTO_WORLDS_H
#define NF_TESTS_UNIT_AUTO_WORLDS_H
/** @file auto_worlds.h  Random platforms like those of
 *  tests/golden/makespans_platforms.json, and any number of them. */
#include "sim/farm_sim.h"

/** Draw a platform: 2 to 16 slaves of speeds 1/4 to 2, some slowing down, p to
 *  320 units of constant, uniform, exponential or 1:10 cost, on links or a bus
 *  that are up to 0.1 s long.
 *  @return a new reference */
json_t *auto_world(uint64_t seed);
/** No schedule is faster: work / speeds, plus the way there and back. */
double auto_bound_us(const json_t *platform);

/** Simulate @p platform under @p policy; says why not on standard error.
 *  @param result_p  release with nf_farm_sim_fini */
bool auto_run(const struct nf_policy *policy, const json_t *platform,
              struct nf_farm_sim_result *result_p);
/** The same for a specification. */
bool auto_run_spec(const char *spec, const json_t *platform,
                   struct nf_farm_sim_result *result_p);
/** @return -1 if it fails */
int64_t auto_makespan_us(const char *spec, const json_t *platform);
/** A file of tests/golden.  @return NULL if it cannot be read */
json_t *auto_golden(const char *name);
#endif
