#ifndef NF_TESTS_SIM_TRACE_H
#define NF_TESTS_SIM_TRACE_H
/** @file sim_trace.h  Jobs of the simulator, written as traces. */
#include "common/trace/history.h"
#include "sim/farm_sim.h"

/** Run @p platform (JSON) under @p spec and write what happened to @p path.
 *  Any failure ends the test program.  @return the makespan */
int64_t sim_trace_write(const char *platform, const char *spec,
                        const char *path);
/** The same, as a master on real hosts would write it: a result has its time
 *  when it is taken, not when the work for it is done. */
int64_t sim_trace_write_live(const char *platform, const char *spec,
                             const char *path);
/** The makespan alone. */
int64_t sim_makespan_us(const char *platform, const char *spec);
#endif
