#ifndef NF_APPS_LAB_LAB_SPAWN_H
#define NF_APPS_LAB_LAB_SPAWN_H
/** @file lab_spawn.h  Processes in other namespaces.  The caller must have one
 *  thread only. */
#include <signal.h>
#include <sys/types.h>
#include "nowfarm.h"

/** Enter all namespaces of the process @p pid (as seen from here): user,
 *  mount, network, host name, IPC, and process ids for children.  The working
 *  directory is / afterwards, if the mounts are others.
 *  @retval NF_ERR_UNREACHABLE  it has gone, or this is not allowed */
enum nf_status lab_enter(pid_t pid, struct nf_error *err);

/** Make a user namespace, unless this is root, in which we keep our user id,
 *  and one of process ids for children.
 *  @retval NF_ERR_UNREACHABLE  the kernel or its settings do not allow that */
enum nf_status lab_new_namespaces(struct nf_error *err);

/** What a child calls before it is there: lab_enter() or the like. */
typedef enum nf_status lab_change_fn(void *arg, struct nf_error *err);

/** Fork a child that lives in the namespaces that @p change enters or makes;
 * the caller stays where it is.  The child gets SIGKILL when the caller ends;
 * it can prctl(PR_SET_PDEATHSIG, 0) to outlive it.
 *  @return the child's process id, in the caller; 0 in the child; -1 if that
 *          failed, as err says */
pid_t lab_spawn(lab_change_fn *change, void *arg, struct nf_error *err);

/** Block the signals that lab_attend() handles.  @param old_p  for the child,
 *  which must restore it */
void lab_attend_prepare(sigset_t *old_p);
/** Wait for the child @p pid, passing on the signals that are sent to us (the
 *  terminal's it gets itself).
 *  @return its exit status, 128 + n if signal n ended it */
int lab_attend(pid_t pid);
#endif
