#ifndef NF_NET_VM_H
#define NF_NET_VM_H
/** @file vm.h  The virtual machine, for programs that are not a job's master.
 *  Each call takes at most a few seconds, whatever state a host is in. */
#include <stdbool.h>
#include "nowfarm.h"

/** Take a hold on the virtual machine, starting it if none runs, so that jobs
 *  that come and go find it there.  Holds nest.
 *  @retval NF_ERR_UNREACHABLE  no PVM possible; err says why */
enum nf_status nf_vm_hold(struct nf_error *err);
/** Let go of it; the last user of one that was started for jobs halts it. */
void nf_vm_release(void);

struct nf_vm_host {
    char name[64], arch[16];
    bool here;
};
/** The hosts of the running virtual machine.
 *  @param hosts_p  to free()
 *  @retval NF_ERR_UNREACHABLE  PVM does not run here */
enum nf_status nf_vm_hosts(struct nf_vm_host **hosts_p, size_t *count_p,
                           struct nf_error *err);
/** Add a host ("name" or "name ep=..."), starting PVM if none runs; it stays
 *  when we go.  Waits at most @p limit_us for an answer. */
enum nf_status nf_vm_add(const char *host_line, int64_t limit_us,
                         struct nf_error *err);
enum nf_status nf_vm_remove(const char *host, int64_t limit_us,
                            struct nf_error *err);
/** Halt the virtual machine, whoever uses it. */
enum nf_status nf_vm_halt(struct nf_error *err);
#endif
