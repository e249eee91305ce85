#ifndef NF_NET_VM_H
#define NF_NET_VM_H
/** @file vm.h  A shared hold on this user's PVM virtual machine: it stays up
 *  between the jobs of a process, and is halted by the last holder if nowfarm
 *  started it. */
#include "nowfarm.h"

/** Take a hold; starts the virtual machine if none runs.
 *  @retval NF_ERR_UNREACHABLE  no PVM; nothing was started */
enum nf_status nf_vm_hold(struct nf_error *err);
/** Give the hold back. */
void nf_vm_release(void);
#endif
