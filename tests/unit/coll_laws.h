#ifndef NF_TESTS_UNIT_COLL_LAWS_H
#define NF_TESTS_UNIT_COLL_LAWS_H
/* Tests that are the same for every algorithm of a rooted operation; each is
 * made of CUnit asserts. */
#include "common/coll/coll.h"

/* Schedules run to the right end for P = 1..64, several roots and k. */
void coll_law_right(enum nf_coll_op op);
/* The schedule of a rank alone is that part of the whole one. */
void coll_law_parts(enum nf_coll_op op);
/* No message may be left out. */
void coll_law_minimal(enum nf_coll_op op);
/* Full-duplex costs are what the rounds take, for any price that is linear in
 * pieces; half-duplex ones too where the operation says so, elsewhere they are
 * near: a formula that counts odd cycles as even ones is at most half short. */
typedef bool coll_exact(const struct nf_coll_algorithm *algorithm,
                        uint32_t ranks, uint32_t segments);
void coll_law_costs(enum nf_coll_op op, coll_exact *is_exact_hd);
/* Running out of memory at any moment is an error, and leaves nothing. */
void coll_law_nomem(enum nf_coll_op op);
/* The text a list shows is there, and P, root or k out of range are refused. */
void coll_law_table(enum nf_coll_op op);
#endif
