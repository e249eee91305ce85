#ifndef NF_APPS_REHEARSE_H
#define NF_APPS_REHEARSE_H
/** @file rehearse.h  How long a job of several phases computes, by the model
 *  T_comp(x) = t_op x: x operations, as the application counts them, and t_op as a
 *  small job of it takes here.  Source: the report on collective communication
 *  (doc/references.md), its model of programs' times. */
#include <stdbool.h>
#include "apps/app.h"

/** Carry the application's small job out, all phases of it, in this thread.
 *  @param op_s_p  seconds an operation
 *  @return false: it has none, or memory is short */
bool nf_rehearse(const struct nf_app_kind *kind, double *op_s_p);
#endif
