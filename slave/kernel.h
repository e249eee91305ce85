#ifndef NF_SLAVE_KERNEL_H
#define NF_SLAVE_KERNEL_H
/** @file kernel.h  Running a lease through the application's kernel: in calls
 *  of at most app->batch_units units, timed one by one, results framed. */
#include <stdatomic.h>
#include "slave/lease.h"

/** What every call of the kernel gets. */
struct nf_kernel {
    const struct nf_app *app;
    const struct nf_blob *shared; /**< or NULL */
    /** > 0: sleep after a call until its units have taken that long, divided
     *  by speed / 10^6; until *ending. */
    int64_t emulated_unit_us;
    uint32_t emulated_speed;
    uint32_t phases; /**< of the job; 0 or 1: one */
    uint64_t units;  /**< of the job */
    const atomic_bool *ending; /**< if it is set, no further call is made */
};

/** The buffers of one slot and what others may see of its work.  Used by one
 *  thread at a time, except for the call_ fields. */
struct nf_kernel_state {
    uint32_t slot;  /**< index within the slave */
    int64_t end_us; /**< when the last lease ended, or READY */
    struct nf_buf result;
    uint64_t *sizes_bytes; /**< of the results of the current part */
    uint64_t sizes_capacity;
    uint64_t *out_bytes; /**< [units] pieces of a result; NULL: not needed yet */
    uint64_t *in_at;     /**< [units + 1] likewise, of an input */
    const void **in_pieces; /**< [units] likewise: where they are */
    /** The call being made: its start, its first unit, its units.  The start
     *  is written last, and not at all unless `watched`. */
    bool watched;
    _Atomic int64_t call_start_us;
    _Atomic uint64_t call_first, call_units;
};

/** Compute @p lease and put its answers into it.
 *  A call of several units that fails is repeated unit by unit, so that only
 *  the guilty one fails.  lease->nomem tells if answers could not be made.
 *  @param start_us  now
 *  @return now, at the end of the last call.  If units are emulated, times are
 *          those of the emulation: a sleep that ended late makes no later one
 *          late. */
int64_t nf_kernel_run(const struct nf_kernel *kernel,
                      struct nf_kernel_state *state,
                      struct nf_slave_lease *lease, int64_t start_us);
void nf_kernel_state_fini(struct nf_kernel_state *state);
#endif
