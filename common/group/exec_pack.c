/* Structures between machines of different data formats.  Numbers are converted
 * by the mesh, piece by piece; of a structure only its type knows how, and
 * whole elements at that.  So what goes to such a member is packed before the
 * mesh gets it, as bytes, and the message says so: the receiver need not know
 * what the sender takes it for.  O(bytes) of a message, at both ends. */
#include "config.h"
#include <string.h>
#include "common/group/exec_data.h"

/* A type's own function gave this up. */
static enum nf_status refuse(struct nf_exec *exec, const char *function,
                             int code, struct nf_blob *blob)
{
    nf_blob_unref(blob);
    exec->refused = function;
    exec->refused_code = code;
    return NF_ERR_FAILED;
}

/* Bytes that nobody writes are zero, whatever the structure's holes. */
static struct nf_blob *make(uint64_t count, size_t bytes)
{
    struct nf_blob *blob = nf_blob_create((size_t)count * bytes, NF_BYTES);

    if (blob != NULL && blob->bytes > 0)
        memset(blob->data, 0, blob->bytes);
    return blob;
}

bool nf_exec_packs(const struct nf_exec *exec, uint32_t self)
{
    return exec->packing != NULL &&
           nf_mesh_converts(exec->mesh, exec->plan->steps[self].peer);
}

enum nf_status nf_exec_pack(struct nf_exec *exec, uint32_t self,
                            struct nf_blob **payload_p)
{
    const struct nf_plan_step *step = &exec->plan->steps[self];
    const struct nf_packing *packing = exec->packing;
    uint64_t count = nf_exec_step_bytes(exec, step) / exec->elem_bytes;
    struct nf_blob *blob = make(count, packing->packed_bytes);
    struct nf_exec_walk walk = nf_exec_walk(exec, self);
    uint8_t *to;
    uint32_t i;

    if (blob == NULL)
        return NF_ERR_NOMEM;
    to = blob->data;
    while (nf_exec_walk_next(&walk, &i)) {
        const struct nf_exec_item *item = nf_exec_book(exec, i);
        size_t elements = nf_exec_item_bytes(exec, i) / exec->elem_bytes;
        int code = 0;

        if (elements > 0)
            code = packing->pack(step->from_car ? item->car : item->value,
                                 elements, to, packing->user);
        if (code != 0)
            return refuse(exec, "pack", code, blob);
        to += elements * packing->packed_bytes;
    }
    *payload_p = blob;
    return NF_OK;
}

enum nf_status nf_exec_unpack(struct nf_exec *exec, struct nf_blob **payload)
{
    const struct nf_packing *packing = exec->packing;
    size_t count = (*payload)->bytes / packing->packed_bytes;
    struct nf_blob *blob = make(count, exec->elem_bytes);
    int code = 0;

    if (blob != NULL && count > 0)
        code =
            packing->unpack((*payload)->data, count, blob->data, packing->user);
    nf_blob_unref(*payload);
    *payload = NULL;
    if (blob == NULL)
        return NF_ERR_NOMEM;
    if (code != 0)
        return refuse(exec, "unpack", code, blob);
    *payload = blob;
    return NF_OK;
}
