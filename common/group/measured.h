#ifndef NF_GROUP_MEASURED_H
#define NF_GROUP_MEASURED_H
/** @file measured.h  A measured network as a group sees it, and the broadcasts
 *  that were planned for it (bcast_plan.h).  All is a function of the text of
 *  the model, the names of hosts, root and size, so it is equal in all members.
 *
 *  Ranks are mapped to hosts of the model by name:
 *    - a host that the model does not know counts as slow: nf_network_of(); and
 *      in a tree of another root it is a leaf, however slow others are.  Other
 *      algorithms, which do not look at hosts, are priced with it as slow;
 *    - between ranks that share a host a message costs no time on a wire, but
 *      that of its sender and of its receiver. */
#include "common/coll/select.h"
#include "common/model/network.h"

enum {
    /** Each member plans, and has the costs of each pair of them in memory. */
    NF_MEASURED_RANKS_MAX = 128,
    /** Of the model, as text: each member gets all of it.  As `nowfarm probe`
     *  writes them that is some 240 hosts. */
    NF_MEASURED_BYTES_MAX = 16 << 20,
    NF_MEASURED_SHELVES = 64,
};

struct nf_measured;

/** @param text  a model file, [bytes]   @param file  its name, for errors
 *  @param names  [ranks]   @param hosts  [ranks], equal numbers: one host
 *  @param measured_p  to be nf_measured_destroy()ed
 *  @retval NF_ERR_INVAL  no model, or more than NF_MEASURED_RANKS_MAX ranks
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_measured_create(const char *text, size_t bytes,
                                  const char *file, const char (*names)[64],
                                  const uint32_t *hosts, uint32_t ranks,
                                  struct nf_measured **measured_p,
                                  struct nf_error *err);
/** The same for one who plans for all others: of a model that was read already,
 *  for up to NF_NETWORK_HOSTS_MAX ranks, without a number and without a source.
 *  @param network  not needed any more when this returns
 *  @param file     its name, for errors */
enum nf_status nf_measured_of(const struct nf_network *network,
                              const char *file, const char (*names)[64],
                              const uint32_t *hosts, uint32_t ranks,
                              struct nf_measured **measured_p,
                              struct nf_error *err);
/** NULL is fine, here and below. */
void nf_measured_destroy(struct nf_measured *measured);

/** A number for the network and who is where; 0: there is none. */
uint32_t nf_measured_id(const struct nf_measured *measured);

/** The network of its ranks, borrowed.  Not of NULL. */
const struct nf_network *
nf_measured_network(const struct nf_measured *measured);

/** How many ranks are on hosts that the model does not know. */
uint32_t nf_measured_unknown(const struct nf_measured *measured);

/** What it was made from, for a part of the group.
 *  @param text_p  borrowed   @return names by rank, borrowed */
const char (*nf_measured_source(const struct nf_measured *measured,
                                const char **text_p, size_t *bytes_p))[64];

/** The cheapest broadcast.  Sizes are rounded up to 2^n or 1.5 2^n, so that few
 *  plans are made; segments are then as long as planned.
 *  @param tree_only  the tree, even if there is something cheaper
 *  @param choice_p   its tree is valid as long as @p measured is
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_measured_choose(struct nf_measured *measured,
                                  const struct nf_coll_query *query,
                                  bool tree_only,
                                  struct nf_coll_choice *choice_p,
                                  struct nf_error *err);

/** What that takes, for the very size: plans are made for a round one.
 *  @param choice  a broadcast for as many ranks
 *  @param time_us_p  INFINITY: it is not for such a query
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_measured_time(const struct nf_measured *measured,
                                const struct nf_coll_query *query,
                                const struct nf_coll_choice *choice,
                                double *time_us_p);
#endif
