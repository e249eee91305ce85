#ifndef NF_GROUP_OVER_MESH_H
#define NF_GROUP_OVER_MESH_H
/** @file over_mesh.h  Groups for those who have a mesh. */
#include "common/net/mesh.h"
#include "nowfarm_group.h"

/** Where the time is from; tests have their own. */
struct nf_group_clock {
    int64_t (*now_us)(void *user);
    void *user;
};

/** A group over @p mesh, which it takes over if it succeeds.
 *  @param clock  NULL: the monotonic clock
 *  @retval NF_ERR_INVAL  bad option  @retval NF_ERR_NOMEM */
enum nf_status nf_group_create(struct nf_mesh *mesh, uint64_t id,
                               const struct nf_group_clock *clock,
                               const struct nf_group_options *options,
                               struct nf_group **group_p, struct nf_error *err);
/** @return the name of the algorithm of a call that has begun, "" if it needs
 *  none */
const char *nf_request_algorithm(const struct nf_request *request);
#endif
