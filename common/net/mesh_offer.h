#ifndef NF_NET_MESH_OFFER_H
#define NF_NET_MESH_OFFER_H
/** @file mesh_offer.h  Meshes of threads that one thread makes and the others
 *  come for.  One at a time is on offer. */
#include <pthread.h>
#include "common/net/mesh.h"

struct nf_mesh_offers {
    pthread_mutex_t lock;
    uint64_t id;
    uint32_t count;
    struct nf_mesh **meshes; /**< [count], NULL where taken; or NULL */
};

void nf_mesh_offers_init(struct nf_mesh_offers *offers);
/** Close what nobody took. */
void nf_mesh_offers_fini(struct nf_mesh_offers *offers);
/** A new mesh.  Who did not come for the one before never will: those who did
 *  find it gone.
 *  @param own     rank of the caller, or @p count: it is not a member
 *  @param mesh_p  its own, or NULL
 *  @retval NF_ERR_NOMEM  @retval NF_ERR_IO */
enum nf_status nf_mesh_offers_make(struct nf_mesh_offers *offers, uint64_t id,
                                   uint32_t count, uint32_t own,
                                   struct nf_mesh **mesh_p,
                                   struct nf_error *err);
/** @retval NF_ERR_INVAL  that one is not on offer (any more) */
enum nf_status nf_mesh_offers_take(struct nf_mesh_offers *offers, uint64_t id,
                                   uint32_t rank, struct nf_mesh **mesh_p,
                                   struct nf_error *err);
#endif
