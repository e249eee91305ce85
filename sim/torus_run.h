#ifndef NF_SIM_TORUS_RUN_H
#define NF_SIM_TORUS_RUN_H
/** @file torus_run.h  The messages of an exchange on a torus with wormhole
 *  routing.
 *
 *  A node prepares its messages of a step one after the other, each for t_send
 *  and then put to the network; it may receive meanwhile, one after the other,
 *  each for t_recv after its tail has come.  With m = blocks x bytes of a block
 *
 *      t_send = send_fixed + m send_byte     t_recv = recv_fixed + m recv_byte
 *      t_net  = (K - 1 + m) hop, K = channels of the way
 *
 *  as in a multicast (mesh_cast.h).  A message goes the way that the schedule
 *  says, else along the last side first, the shorter way round. */
#include "common/coll/coll.h"
#include "sim/mesh_cast.h"

/** When a step begins. */
enum nf_torus_pace {
    NF_PACE_STEPS, /**< for all nodes at once, when all have what came before */
    NF_PACE_FREE,  /**< for each node when it has what came to it before and has
                        prepared what it sent before */
};

struct nf_torus_setup {
    struct nf_mesh mesh; /**< as nf_torus_parse() makes it */
    struct nf_mesh_costs costs;
    uint32_t block_bytes;
    enum nf_torus_pace pace;
};

struct nf_torus_result {
    int64_t time;    /**< when the last node has its last message */
    int64_t ideal;   /**< the same if no message ever waited for another */
    uint64_t waits;  /**< headers that found a channel busy */
    int64_t waited;  /**< how long in all */
    uint64_t shared; /**< as in struct nf_wormhole */
    uint64_t events;
};

/** A torus of these sides with two lanes for each link: as nf_mesh_parse(). */
enum nf_status nf_torus_parse(const char *text, struct nf_mesh *mesh_p,
                              struct nf_error *err);

/** Has no message met another one: neither waited nor shared a link? */
bool nf_torus_is_free(const struct nf_torus_result *result);

/** @param schedule  sorted; all messages, of as many ranks as setup->mesh has
 *                   nodes
 *  @retval NF_ERR_RANGE   costs or messages are beyond their bounds
 *  @retval NF_ERR_VERIFY  a message goes a way that is none
 *  @retval NF_ERR_FAILED  messages wait for each other in a cycle
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_torus_run(const struct nf_torus_setup *setup,
                            const struct nf_schedule *schedule,
                            struct nf_torus_result *result_p,
                            struct nf_error *err);
#endif
