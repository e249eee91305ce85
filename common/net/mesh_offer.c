/* Meshes of threads on offer. */
#include "config.h"
#include "common/net/mesh_offer.h"
#include "common/base/alloc.h"
#include "common/base/error.h"

void nf_mesh_offers_init(struct nf_mesh_offers *offers)
{
    pthread_mutex_init(&offers->lock, NULL);
    offers->id = 0;
    offers->count = 0;
    offers->meshes = NULL;
}

static void withdraw(struct nf_mesh **meshes, uint32_t count)
{
    for (uint32_t i = 0; meshes != NULL && i < count; i++)
        nf_mesh_close(meshes[i]);
    nf_free(meshes);
}

void nf_mesh_offers_fini(struct nf_mesh_offers *offers)
{
    withdraw(offers->meshes, offers->count);
    pthread_mutex_destroy(&offers->lock);
}

enum nf_status nf_mesh_offers_make(struct nf_mesh_offers *offers, uint64_t id,
                                   uint32_t count, uint32_t own,
                                   struct nf_mesh **mesh_p,
                                   struct nf_error *err)
{
    struct nf_mesh **meshes = nf_calloc(count, sizeof(struct nf_mesh *)), **old;
    uint32_t old_count;
    enum nf_status status;

    if (meshes == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    status = nf_mesh_open_local(count, meshes, err);
    if (status != NF_OK) {
        nf_free(meshes);
        return status;
    }
    *mesh_p = NULL;
    if (own < count) {
        *mesh_p = meshes[own];
        meshes[own] = NULL;
    }
    pthread_mutex_lock(&offers->lock);
    old = offers->meshes;
    old_count = offers->count;
    offers->id = id;
    offers->count = count;
    offers->meshes = meshes;
    pthread_mutex_unlock(&offers->lock);
    withdraw(old, old_count);
    return NF_OK;
}

enum nf_status nf_mesh_offers_take(struct nf_mesh_offers *offers, uint64_t id,
                                   uint32_t rank, struct nf_mesh **mesh_p,
                                   struct nf_error *err)
{
    struct nf_mesh *mesh = NULL;

    pthread_mutex_lock(&offers->lock);
    if (offers->meshes != NULL && offers->id == id && rank < offers->count) {
        mesh = offers->meshes[rank];
        offers->meshes[rank] = NULL;
    }
    pthread_mutex_unlock(&offers->lock);
    if (mesh == NULL)
        return nf_fail(err, NF_ERR_INVAL, "there is no such mesh any more");
    *mesh_p = mesh;
    return NF_OK;
}
