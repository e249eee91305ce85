#ifndef NF_TESTS_UNIT_GROUP_STRUCTS_H
#define NF_TESTS_UNIT_GROUP_STRUCTS_H
/** @file group_structs.h  What a member of a group does to see that structures of
 *  mixed members arrive and are combined right.  All members call the same. */
#include <stdint.h>
#include "nowfarm_group.h"

/** Calls of pack() and unpack() in this member, and when one is to fail. */
struct group_structs {
    struct nf_group *group;
    int type;           /**< of the structure */
    int opaque;         /**< the same without packing */
    int compose, merge; /**< operators; the first one does not commute */
    unsigned packs, unpacks;
    unsigned fail_pack, fail_unpack; /**< this call of it fails; 0: none */
};
/** What a call that is to fail returns. */
enum { GROUP_STRUCTS_CODE = 42 };

/** Define types and operators.  @param s  to stay as long as the group
 *  @return whether it worked */
int group_structs_define(struct group_structs *s, struct nf_group *group);
/** All operations, with few and many elements, and with none.
 *  @return what was wrong; it is printed, too */
unsigned group_structs_try(struct group_structs *s);
/** One broadcast of @p count elements from rank 0, checked if it succeeds. */
enum nf_status group_structs_bcast(struct group_structs *s, size_t count,
                                   unsigned *bad_p);
#endif
