#ifndef NF_SIM_NETWORK_H
#define NF_SIM_NETWORK_H
/** @file network.h  The simulated medium: says when messages have left the
 *  wire.  Messages are numbers to it. */
#include "sim/queue.h"
#include "sim/world.h"

struct nf_network;

/** @param queue  where its events go: of kind @p end_kind with a message as id
 *                when that has left the wire, and of kind @p hub_kind, to be
 *                given to nf_network_hub_event()
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_network_create(const struct nf_world *world,
                                 struct nf_sim_queue *queue, uint32_t end_kind,
                                 uint32_t hub_kind, struct nf_network **net_p);
void nf_network_destroy(struct nf_network *net);

/** Put @p message, @p wire_us long by itself, on the wire between the master
 *  and @p slave, behind the earlier ones from the same sender (bus: all
 * senders). O(log events + log p).
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_network_send(struct nf_network *net, uint32_t slave,
                               bool from_slave, uint64_t message,
                               int64_t wire_us, int64_t now_us);
/** An event of kind hub_kind came up.
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_network_hub_event(struct nf_network *net, uint64_t id,
                                    int64_t now_us);
#endif
