#ifndef NF_TESTS_COLL_MEANING_H
#define NF_TESTS_COLL_MEANING_H
/* What a schedule does, found out the plainest way and by other means than the
 * checker's: values are lists of what went into them, everything at once, round
 * by round.  For few ranks. */
#include <stdbool.h>
#include "common/coll/check.h"

/* Does @p schedule do what the claim's operation is?  Ports, redundancy and
 * messages that do nothing do not matter. */
bool coll_meaning_holds(const struct nf_coll_claim *claim,
                        const struct nf_schedule *schedule);
#endif
