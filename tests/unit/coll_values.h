#ifndef NF_TESTS_UNIT_COLL_VALUES_H
#define NF_TESTS_UNIT_COLL_VALUES_H
/* Schedules run on symbols: a value is the list of the ranks whose operands are
 * in it, in the order in which they were combined, so that nothing but the
 * right result looks right.  For all operations but broadcast, reduce and
 * all-to-all, P <= 64. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/coll/coll.h"

enum { COLL_VALUES_RANKS_MAX = 64 };

/* Round by round: all results are right, nobody sends what it does not have,
 * and no round needs more ports than the algorithm claims.  @return NULL, or
 * what is wrong */
const char *coll_values_march(const struct nf_coll_algorithm *algorithm,
                              const struct nf_coll_args *args,
                              const struct nf_schedule *schedule);

/* In a random order of events that any timing may bring about: a rank treats
 * the messages of an item in the order of their rounds, sends first, and items
 * independently.  Results as above.  Not for barriers. */
const char *coll_values_drift(const struct nf_coll_algorithm *algorithm,
                              const struct nf_coll_args *args,
                              const struct nf_schedule *schedule,
                              uint64_t seed);

struct coll_values_count {
    size_t runs, wrong;
};

/* All algorithms of an operation for P = 1..64, several roots and k; those with
 * P <= 20 in a random order too.  Prints what is wrong. */
struct coll_values_count coll_values_sweep(enum nf_coll_op op);

/* Schedules of 7 to 9 ranks, one message of which was left out, combined on the
 * wrong side (if the order of operands is promised) or taken from the wrong
 * register: wrong counts those that passed all the same. */
struct coll_values_count coll_values_mutants(enum nf_coll_op op);

/* One rank's schedule is its part of the whole one, for all algorithms of an
 * operation, P = 7, 8. */
struct coll_values_count coll_values_parts(enum nf_coll_op op);
#endif
