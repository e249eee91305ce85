#ifndef NF_APPS_REHEARSE_H
#define NF_APPS_REHEARSE_H
/** @file rehearse.h  How long a job of several phases computes, by the model
 *  T_comp(x) = t_op x: x operations, as the application counts them, and t_op as a
 *  small job of it takes here.  Source: the report on collective communication
 *  (doc/references.md), its model of programs' times. */
#include <stdbool.h>
#include "apps/app.h"

/** Of the job whose time is to be told. */
struct nf_rehearsal {
    const void *state; /**< its variant is rehearsed; NULL: the default one */
    double operations; /**< of all of it */
    uint32_t threads;  /**< that compute it on one host; 1 or more */
};

/** Carry a job of the application out, all phases of it, in each of so many threads
 *  at once, as they share caches and memory: the large one, if the job has as many
 *  operations, or else the small one.
 *  @param op_s_p  seconds an operation, in one thread
 *  @return false: it has none, or memory is short */
bool nf_rehearse(const struct nf_app_kind *kind,
                 const struct nf_rehearsal *rehearsal, double *op_s_p);
#endif
