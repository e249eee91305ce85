#ifndef NF_TESTS_UNIT_GROUP_TYPES_H
#define NF_TESTS_UNIT_GROUP_TYPES_H
/** @file group_types.h  What a member of a group does to see that every type
 *  arrives as it is, and every operator gives what it should.  All members call
 *  the same. */
#include <stdint.h>
#include "nowfarm_group.h"

/** All built-in types with all operators, in the operations that combine.
 *  @return what was wrong; it is printed, too */
unsigned group_types_combine(struct nf_group *group);
/** All types, with bits of every kind, in the operations that move. */
unsigned group_types_move(struct nf_group *group);
/** Operation @p kind with @p count elements of one byte; of gather, scatter and
 *  allgather: of a block. */
unsigned group_types_count(struct nf_group *group, enum nf_call_kind kind,
                           size_t count);
#endif
