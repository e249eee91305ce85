#ifndef NF_GROUP_OVER_MESH_H
#define NF_GROUP_OVER_MESH_H
/** @file over_mesh.h  Groups for those who have a mesh. */
#include "common/coll/rules.h"
#include "common/model/network.h"
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
/** For whom the group was given up: the member that nf_group_error() is about.
 *  Of several that are lost it is the first that was found to be.
 *  @return UINT32_MAX: the error says of no member that it is lost */
uint32_t nf_group_blamed(const struct nf_group *group);
/** What was found out of a member that is lost (nf_group_is_lost()).
 *  @return what stands behind its name, "is silent" or "has ended"; NULL: it is
 *  not lost */
const char *nf_group_why_lost(const struct nf_group *group, uint32_t rank);

/** Could NOWFARM_COLL be @p text, whatever the number of members?
 *  @retval NF_ERR_INVAL  no such algorithm, bad k */
enum nf_status nf_group_check_wish(const char *text, struct nf_error *err);

/** NOWFARM_COLL_MEMORY: what a call may keep in a member beyond the buffers of
 *  the program.
 *  @param bytes_p  0: no limit, also if it fails
 *  @retval NF_ERR_INVAL  no size, @p err has the line to tell */
enum nf_status nf_group_memory_limit(uint64_t *bytes_p, struct nf_error *err);

/** The model that groups go by as long as nothing was measured: a switched
 *  100 Mbit/s network, and messages within its hosts. */
extern const struct nf_model nf_group_model;

/** Read a table of rules or a model of a network; pipes will do.
 *  @param err  may be NULL
 *  @return a text of 1 to NF_MEASURED_BYTES_MAX bytes, nf_free(); NULL: there is
 *  none, or a longer one, err has its name and why: NF_ERR_IO, NF_ERR_NOMEM */
char *nf_group_read_text(const char *path, size_t *bytes_p,
                         struct nf_error *err);

/** What all members are to be told (nf_group_options.algorithms) so that they
 *  choose alike for a call of @p query, though only this one has the table.
 *  @param wish   NULL, or a list in the same form; it goes before, if it can
 *                serve such a call
 *  @param rules  NULL: the built-in model, which all know: nothing is told
 *  @param query   its hosts too: processors are shared as the members are
 *  @param varies  blocks of sizes that not all know: rules do not say
 *  @param text_p  "" or one algorithm of the operation, with k
 *  @param err     may be NULL
 *  @retval other  the wish can never serve that, @p err says why; @p text_p is
 *                 as without one */
enum { NF_TOLD_BYTES = 64 };
enum nf_status nf_group_tell_choice(const char *wish,
                                    const struct nf_coll_rules *rules,
                                    const struct nf_coll_query *query,
                                    bool varies, char text_p[NF_TOLD_BYTES],
                                    struct nf_error *err);

/** A broadcast from rank 0 as one member has planned it for all. */
struct nf_told {
    char algorithm[NF_TOLD_BYTES]; /**< "bcast.tree:k=16" */
    uint8_t *tree;    /**< as nf_group_set_tree() takes it, nf_free(); NULL: it
                           goes down none that was planned */
    uint32_t unknown; /**< members on hosts that were not measured */
    double time_us;   /**< what it takes by the network; 0: there was no memory
                           to find out */
};

/** What all members are to be told so that they broadcast by a measured
 *  network, which only this one has: the cheapest there, and its tree.
 *  @param mesh  of all members; their hosts are known by name
 *  @param wish  as above; bcast.tree takes the best tree, in so many segments
 *  @param file  the name of its file
 *  @retval NF_WAIT  @p wish is for another broadcast: the network has no say
 *  @retval NF_ERR_INVAL  more than NF_NETWORK_HOSTS_MAX members: err says it,
 *                        with the file's name
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_group_tell_network(const char *wish,
                                     const struct nf_mesh *mesh,
                                     const struct nf_network *network,
                                     const char *file,
                                     const struct nf_coll_query *query,
                                     struct nf_told *told_p,
                                     struct nf_error *err);

/** Have bcast.tree go down this tree from rank 0 on, in place of an earlier one.
 *  All members do so between the same two calls; those under way go on as they
 *  are.
 *  @param words  [2 P - 1] u32 little endian: of each rank how many children it
 *                has, then the children, in the order in which they are sent to
 *  @retval NF_ERR_INVAL  it does not reach each rank just once
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_group_set_tree(struct nf_group *group, const uint8_t *words,
                                 struct nf_error *err);
/** @return the name of the algorithm of a call that has begun, or ended already;
 *  "" if it needs none */
const char *nf_request_algorithm(const struct nf_request *request);
#endif
