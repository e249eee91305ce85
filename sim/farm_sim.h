#ifndef NF_SIM_FARM_SIM_H
#define NF_SIM_FARM_SIM_H
/** @file farm_sim.h  A job in virtual time: the farm that the master runs, on a
 *  simulated network of workstations.  No clock, no threads, no PVM.
 *
 *  The master does one thing at a time: it sends what the farm said, then hears
 *  of slaves that ended or joined, then takes the messages that have arrived,
 *  then looks at the time.  A slot of a slave takes its chunks first come first
 *  served. */
#include "common/policy/policy.h"
#include "sim/world.h"

/** One chunk's way; -1: did not get there. */
struct nf_sim_chunk {
    uint64_t lease, first, count;
    uint32_t slave, slot; /**< slot: of the slave */
    int64_t sent_us;      /**< the master began to send it */
    int64_t arrived_us;   /**< at the slave */
    int64_t started_us, computed_us;
    int64_t merged_us; /**< the farm got the result */
    int64_t idle_us;   /**< the slot had nothing to do before it started */

    /* the simulation's own */
    int64_t cancel_us;                  /* the slave hears that it is to drop
                                           it; -1: never */
    uint64_t next;                      /* in the mailbox it is in */
    uint32_t life, epoch;               /* of the slave, when it was sent */
    int64_t gap_idle_us, gap_master_us; /* before it was sent */
};

struct nf_sim_slave {
    uint64_t units;     /**< computed */
    int64_t busy_us;    /**< computing, up to the end of the run, in chunks that
                             were finished */
    int64_t blocked_us; /**< its result was on the wire */
    int64_t idle_us;    /**< neither; summed over its slots, as all of these */
    int64_t starve_us;  /**< idle between two of its chunks */
    uint64_t max_queue; /**< most chunks in the mailbox of a slot */
    uint32_t first_slot; /**< index into learnt */
};

/** Where the time of the slots went, summed over them, as master/account.c
 *  splits that of a real run; transfer is the rest of slots * makespan. */
struct nf_sim_parts {
    double compute_us, transfer_us, master_us, idle_us, tail_us;
};

struct nf_farm_sim_result {
    int64_t makespan_us; /**< the last unit was merged; 0 if there are none */
    uint64_t data_messages, result_messages, duplicates;
    uint64_t retries, failed_units;
    uint64_t copies, cancelled; /**< chunks */
    uint32_t slaves, slots, lost_slaves;
    struct nf_sim_parts parts;
    struct nf_sim_slave *slave;
    struct nf_slot_estimate *learnt; /**< [slots], slave by slave: by the
                                          pacer; results 0: nothing */
    uint64_t nchunks;                /**< 0 unless they are kept */
    struct nf_sim_chunk *chunks; /**< in the order in which they were sent */
};

/** What happens to a chunk, in this order unless it is lost on the way. */
enum nf_sim_moment {
    NF_SIM_SENT,
    NF_SIM_ARRIVED,
    NF_SIM_STARTED,
    NF_SIM_COMPUTED,
    NF_SIM_MERGED,
    NF_SIM_LOST, /**< its slave failed; instead of what would have followed */
};

struct nf_farm_sim_options {
    uint64_t seed;    /**< of the policy */
    bool keep_chunks; /**< a record of each; else memory is for those on their
                           way only */
    /** Called at each of the moments, with the time in the field of @p chunk
     *  that is named after it (LOST: @p now_us alone); may be NULL. */
    void (*watch)(void *user, enum nf_sim_moment moment,
                  const struct nf_sim_chunk *chunk, int64_t now_us);
    void *user;
};

/** Run all units of @p world under @p policy.
 *  @param result_p  set on NF_OK; release with nf_farm_sim_fini
 *  @retval NF_ERR_INVAL   the policy does not fit
 *  @retval NF_ERR_FAILED  the policy stopped handing out units, or no slave is
 *                         left */
enum nf_status nf_farm_sim(const struct nf_world *world,
                           const struct nf_policy *policy,
                           const struct nf_farm_sim_options *options,
                           struct nf_farm_sim_result *result_p,
                           struct nf_error *err);
/** As above, and keep all chunks. */
enum nf_status nf_farm_sim_run(const struct nf_world *world,
                               const struct nf_policy *policy, uint64_t seed,
                               struct nf_farm_sim_result *result_p,
                               struct nf_error *err);
void nf_farm_sim_fini(struct nf_farm_sim_result *result);
#endif
