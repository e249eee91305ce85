/* What all meshes check alike. */
#include "config.h"
#include "common/net/mesh.h"
#include <limits.h>
#include "common/base/error.h"

bool nf_mesh_may_send(const struct nf_mesh *mesh, uint32_t member,
                      const struct nf_mesh_message *message)
{
    return member < mesh->ranks && member != mesh->rank &&
           message->head_bytes >= 1 &&
           message->head_bytes <= NF_MESH_HEAD_BYTES &&
           !(message->urgent && message->payload != NULL) &&
           (message->payload == NULL || nf_mesh_takes_chains(mesh) ||
            !nf_blob_is_chain(message->payload));
}

enum nf_status nf_mesh_check_subset(const struct nf_mesh *mesh,
                                    const uint32_t *members, uint32_t count,
                                    uint32_t *rank_p, struct nf_error *err)
{
    bool found = false;

    for (uint32_t i = 0; i < count; i++) {
        if (members[i] >= mesh->ranks)
            return nf_fail(err, NF_ERR_INVAL, "there is no member %u of %u",
                           members[i], mesh->ranks);
        if (i > 0 && members[i] <= members[i - 1])
            return nf_fail(err, NF_ERR_INVAL,
                           "members are not in ascending order");
        if (members[i] == mesh->rank) {
            *rank_p = i;
            found = true;
        }
    }
    return found ? NF_OK
                 : nf_fail(err, NF_ERR_INVAL,
                           "member %u, which is this one, is not among them",
                           mesh->rank);
}

struct timespec nf_mesh_timespec(int64_t timeout_us)
{
    if (timeout_us <= 0)
        return (struct timespec){ 0 };
    return (struct timespec){ .tv_sec = (time_t)(timeout_us / 1000000),
                              .tv_nsec = (long)(timeout_us % 1000000) * 1000 };
}

int nf_mesh_poll_ms(int64_t timeout_us)
{
    if (timeout_us <= 0)
        return 0;
    return timeout_us / 1000 >= INT_MAX ? INT_MAX
                                        : (int)((timeout_us + 999) / 1000);
}
