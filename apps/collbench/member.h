#ifndef NF_APPS_COLLBENCH_MEMBER_H
#define NF_APPS_COLLBENCH_MEMBER_H
/** @file member.h  How the members of a benchmark that are PVM tasks find each
 *  other.  The command spawns nowfarm-slave with an address of this form in its
 *  environment.  Command and member then meet in a group of two: the member
 *  says its version, and is told who the others are.
 *
 *      coll:TID:ID     of the command, and of the groups; hexadecimal */
#include <stdbool.h>
#include "nowfarm_group.h"

enum { BENCH_VERSION_BYTES = 32, BENCH_MEET_US = 30000000 };

/** Is this the address of such a command? */
bool bench_is_address(const char *address);
/** Life of a member.  @return exit status of the process; a line on standard
 *  error has said why it is not 0 */
int bench_member(const char *address);

/** Is the version that a member has said ours?  @param said  padded with 0 */
bool bench_same_version(const char said[BENCH_VERSION_BYTES]);
#endif
