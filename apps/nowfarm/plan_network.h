#ifndef NF_APPS_NOWFARM_PLAN_NETWORK_H
#define NF_APPS_NOWFARM_PLAN_NETWORK_H
/** @file plan_network.h  nowfarm plan bcast NAME --network MODEL --size BYTES:
 *  ranks are the hosts of a measured network. */
#include <jansson.h>
#include "common/model/network.h"
#include "common/tree/bcast_plan.h"

/** Zeroed: there is no network. */
struct plan_network {
    struct nf_network network;
    struct nf_hetero hetero;
    uint64_t bytes;
    struct nf_bcast_plan plan;
    struct nf_coll_tree tree; /**< of plan */
    double predicted_us;      /**< of what was asked for */
};

/** Read the model, and @p size.  @return the exit status; what is wrong is
 *  told.  plan_network_fini() it in any case. */
int plan_network_read(const char *file, const char *size,
                      struct plan_network *network_p);
/** A host of a network as users give it: by its name, or its number from 0.
 *  @param option   that it is given to, "--root"
 *  @param network  NULL: hosts have no names
 *  @param file     what @p network was read from, for errors
 *  @return NF_EXIT_OK (then *host_p is set) or NF_EXIT_USAGE */
int plan_network_host(const char *option, const char *text,
                      const struct nf_network *network, uint32_t hosts,
                      const char *file, uint32_t *host_p);
/** Plan for @p args->root: give args the tree and, unless @p fixed, the
 * segments of the tree or the best of @p algorithm; and predict.  @return the
 * exit status */
int plan_network_make(struct plan_network *network,
                      const struct nf_coll_algorithm *algorithm, bool fixed,
                      struct nf_coll_args *args);
/** What is predicted, and what is the cheapest. */
json_t *plan_network_json(const struct plan_network *network);
void plan_network_fini(struct plan_network *network);
#endif
