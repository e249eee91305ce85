#ifndef NF_TESTS_UNIT_AUTO_SWEEP_H
#define NF_TESTS_UNIT_AUTO_SWEEP_H
/** @file auto_sweep.h  The adaptive pacer as its specification has it: every
 *  decision looks at every slot.  What the one with heaps is tested against;
 *  takes the same parameters. */
#include "common/policy/policy.h"

extern const struct nf_pacer_ops auto_sweep;
#endif
