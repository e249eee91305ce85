#ifndef NF_SIM_FARM_SIM_H
#define NF_SIM_FARM_SIM_H
/** @file farm_sim.h  A job in virtual time: the farm that the master runs, on a
 *  simulated network of workstations.  No clock, no threads, no PVM.
 *
 *  The master does one thing at a time: it sends what the farm said, then takes
 *  the messages that have arrived, then looks at the time.  A slave has one
 * slot and takes its chunks first come first served. */
#include "common/policy/policy.h"
#include "sim/world.h"

/** One chunk's way; -1: did not get there. */
struct nf_sim_chunk {
    uint64_t lease, first, count;
    uint32_t slave;
    int64_t sent_us;    /**< the master began to send it */
    int64_t arrived_us; /**< at the slave */
    int64_t started_us, computed_us;
    int64_t merged_us; /**< the farm got the result */
    int64_t idle_us;   /**< the slave had nothing to do before it started */
    int64_t cancel_us; /**< the slave hears that it is to drop it; -1: never */
    uint64_t next;     /* in the mailbox it is in */
};

struct nf_sim_slave {
    uint64_t units;     /**< computed */
    int64_t busy_us;    /**< computing, up to the end of the run, in chunks that
                             were finished */
    int64_t blocked_us; /**< its result was on the wire */
    int64_t idle_us;    /**< neither */
    int64_t starve_us;  /**< idle between two of its chunks */
    uint64_t max_queue; /**< most chunks in its mailbox */
    struct nf_slot_estimate learnt; /**< by the pacer; results 0: nothing */
};

struct nf_farm_sim_result {
    int64_t makespan_us; /**< the last unit was merged; 0 if there are none */
    uint64_t data_messages, result_messages, duplicates;
    uint64_t copies, cancelled; /**< chunks */
    uint32_t slaves;
    struct nf_sim_slave *slave;
    uint64_t nchunks;
    struct nf_sim_chunk *chunks; /**< in the order in which they were sent */
};

/** Run all units of @p world under @p policy.
 *  @param result_p  set on NF_OK; release with nf_farm_sim_fini
 *  @retval NF_ERR_INVAL   the policy does not fit
 *  @retval NF_ERR_FAILED  the policy stopped handing out units */
enum nf_status nf_farm_sim_run(const struct nf_world *world,
                               const struct nf_policy *policy, uint64_t seed,
                               struct nf_farm_sim_result *result_p,
                               struct nf_error *err);
void nf_farm_sim_fini(struct nf_farm_sim_result *result);
#endif
