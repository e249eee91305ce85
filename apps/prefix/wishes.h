#ifndef NF_APPS_PREFIX_WISHES_H
#define NF_APPS_PREFIX_WISHES_H
/** @file wishes.h  Algorithms that a user wishes for, and the calls of a group
 * that makes prefixes: in a group of any other program what can't serve a call
 * is the program's error, but who runs `nowfarm prefix` does not know what it
 * calls. */
#include "nowfarm_group.h"

/** The wishes that can be met.
 *  @param wishes   as in NOWFARM_COLL, and well written
 *  @param ranks    of the group
 *  @param hosts    [ranks] numbers of the ranks' hosts; borrowed
 *  @param unmet    called for each operation whose wish can't serve all of its
 *                  calls, with why
 *  @param taken_p  the others, in the same form; nf_free()
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_prefix_take_wishes(const char *wishes, uint32_t ranks,
                                     const uint32_t *hosts,
                                     void (*unmet)(void *user, const char *why),
                                     void *user, char **taken_p);
#endif
