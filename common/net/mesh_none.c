/* A build without PVM has no meshes of its tasks. */
#include "config.h"
#include "common/base/error.h"
#include "common/net/mesh.h"

enum nf_status nf_mesh_open_pvm(const int *tids, uint32_t count,
                                const struct nf_mesh_terms *terms,
                                struct nf_mesh **mesh_p, struct nf_error *err)
{
    (void)tids, (void)count, (void)terms, (void)mesh_p;
    return nf_fail(err, NF_ERR_UNREACHABLE, "built without PVM");
}
