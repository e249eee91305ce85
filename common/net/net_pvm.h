#ifndef NF_NET_NET_PVM_H
#define NF_NET_NET_PVM_H
/** @file net_pvm.h  The two ends of the PVM transport. */
#include "common/net/net.h"

extern const struct nf_net_ops nf_net_pvm;

/** Slave's side; @p address is "pvm:MASTER_TID:COOKIE:SPAWN_ID", the first two
 *  in hexadecimal.  See nf_port_open. */
enum nf_status nf_port_pvm_open(const char *address, struct nf_port **port_p,
                                struct nf_error *err);

/* nf_net_mesh() and nf_port_mesh() */
enum nf_status nf_net_pvm_mesh(struct nf_net *net, const uint32_t *members,
                               uint32_t count, struct nf_group_msg *msg_p,
                               int *tids_p, struct nf_mesh **mesh_p,
                               struct nf_error *err);
enum nf_status nf_port_pvm_mesh(struct nf_port *port,
                                const struct nf_group_msg *msg,
                                struct nf_mesh **mesh_p, struct nf_error *err);

/** The task of the master of a PVM port. */
int nf_port_pvm_master(const struct nf_port *port);

/** The biggest message that is taken from a peer: this machine's memory. */
uint64_t nf_message_limit_bytes(void);
#endif
