#ifndef NF_NET_VMLOCK_H
#define NF_NET_VMLOCK_H
/** @file vmlock.h  Who uses the virtual machine, and was it started for jobs?
 *
 *  A file beside PVM's own, nowfarm.UID.lock: its first byte is locked while
 *  somebody starts or halts PVM, its second is locked shared by every user, and
 *  its text names the pvmd that was started for jobs (by the identity of its
 *  socket file, so that a pvmd the user starts later is never taken for it).
 *  Locks vanish with their process, whatever it dies of. */
#include <stdbool.h>
#include "nowfarm.h"

struct nf_vmlock {
    int fd;
};

void nf_vmlock_init(struct nf_vmlock *lock);
/** Open the file and lock its first byte (waits up to 20 s).
 *  @retval NF_ERR_UNREACHABLE  folder not writable or its name too
 *          long, file not ours, busy */
enum nf_status nf_vmlock_begin(struct nf_vmlock *lock, struct nf_error *err);
/** Note whether the pvmd that runs now was started for jobs. */
void nf_vmlock_mark(struct nf_vmlock *lock, bool for_jobs);
/** Become a user and unlock the first byte. */
void nf_vmlock_hold(struct nf_vmlock *lock);
/** Stop being a user and lock the first byte again.
 *  @return true if nobody else is a user and the pvmd was started for jobs */
bool nf_vmlock_last(struct nf_vmlock *lock);
void nf_vmlock_end(struct nf_vmlock *lock);
/** In a forked child: close without unlocking. */
void nf_vmlock_forget(struct nf_vmlock *lock);
#endif
