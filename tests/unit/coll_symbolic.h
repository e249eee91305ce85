#ifndef NF_TESTS_UNIT_COLL_SYMBOLIC_H
#define NF_TESTS_UNIT_COLL_SYMBOLIC_H
/* Broadcasts and reductions run round by round on values that tell where they
 * are from: a value is the list of the operands that went into it, from left to
 * right, so combining is concatenation, which does not commute. */
#include <stdbool.h>
#include <stdint.h>
#include "common/coll/coll.h"

/* Of P ranks: first, P/2, last but one, last; without repetitions.
 * @return how many */
uint32_t coll_roots(uint32_t ranks, uint32_t roots[4]);

/* Is the schedule right?  Messages are well formed, read only what is there
 * before the round, and keep to the ports claimed; the outcome is what the
 * operation defines, in the order claimed.  Prints what is wrong unless
 * quiet. */
bool coll_run(const struct nf_coll_algorithm *algorithm,
              const struct nf_coll_args *args,
              const struct nf_schedule *schedule, bool quiet);

/* The same for the schedule that the algorithm makes. */
bool coll_check(const struct nf_coll_algorithm *algorithm,
                const struct nf_coll_args *args);

/* Are the schedules of single ranks those messages of the whole one? */
bool coll_check_parts(const struct nf_coll_algorithm *algorithm,
                      const struct nf_coll_args *args);

/* Is a schedule that lacks one message wrong, whichever it is? */
bool coll_check_cut(const struct nf_coll_algorithm *algorithm,
                    const struct nf_coll_args *args);

/* The time of the schedule when all ranks march in step, each round taking as
 * long as its longest message, and with half-duplex ports as often as needed to
 * let nobody be in two messages. */
double coll_step_us(const struct nf_coll_algorithm *algorithm,
                    const struct nf_coll_args *args,
                    const struct nf_coll_price *price, double bytes);
#endif
