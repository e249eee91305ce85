#ifndef NF_MASTER_ARRIVALS_H
#define NF_MASTER_ARRIVALS_H
/** @file arrivals.h  Slaves arrive, and it is asked whether the next one is
 *  worth waiting for.  No clock, no I/O. */
#include <stdbool.h>
#include <stdint.h>

/** All zero: nobody has come. */
struct nf_arrivals {
    bool any;
    int64_t first_us, last_us; /**< when these came */
};

/** Someone has come at @p now_us. */
void nf_arrivals_note(struct nf_arrivals *arrivals, int64_t now_us);

/** Has the next one been waited for?  Those that come less than @p grace_us
 *  after each other are of one start; nobody is waited for @p most_us after the
 *  first.
 *  @return false also if nobody has come */
bool nf_arrivals_waited(const struct nf_arrivals *arrivals, int64_t grace_us,
                        int64_t most_us, int64_t now_us);
#endif
