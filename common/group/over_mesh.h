#ifndef NF_GROUP_OVER_MESH_H
#define NF_GROUP_OVER_MESH_H
/** @file over_mesh.h  Groups for those who have a mesh. */
#include "common/coll/rules.h"
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
/** Could NOWFARM_COLL be @p text, whatever the number of members?
 *  @retval NF_ERR_INVAL  no such algorithm, bad k */
enum nf_status nf_group_check_wish(const char *text, struct nf_error *err);

/** The model that groups go by as long as nothing was measured: a switched
 *  100 Mbit/s network. */
extern const struct nf_model nf_group_model;

/** What all members are to be told (nf_group_options.algorithms) so that they
 *  choose alike for a call of @p query, though only this one has the table.
 *  @param wish   NULL, or a list in the same form; it goes before
 *  @param rules  NULL: the built-in model, which all know: nothing is told
 *  @param varies  blocks of sizes that not all know: rules do not say
 *  @param text_p  "" or one algorithm of the operation, with k */
enum { NF_TOLD_BYTES = 64 };
void nf_group_tell_choice(const char *wish, const struct nf_coll_rules *rules,
                          const struct nf_coll_query *query, bool varies,
                          char text_p[NF_TOLD_BYTES]);
/** @return the name of the algorithm of a call that has begun, or ended already;
 *  "" if it needs none */
const char *nf_request_algorithm(const struct nf_request *request);
#endif
