/* A measured network.  Shared data goes by it: the master plans for all who are
 * there at the begin.  A group of two has one way to go, and no need of a plan;
 * but who comes late gets it from whom the network has as the nearest (share.c).
 * Its model of collective operations is what gathers, reductions and exchanges
 * go by if there is no table (table.c). */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/coll/tree_words.h"
#include "common/coll/wish.h"
#include "common/group/over_mesh.h"
#include "common/model/network_file.h"
#include "common/tree/bcast_plan.h"
#include "master/engine_internal.h"

const char *nf_network_file(const struct engine *e)
{
    const char *path = e->options->network_file;

    return path != NULL ? path : getenv("NOWFARM_NETWORK");
}

bool nf_network_is_given(const struct engine *e)
{
    const char *path = nf_network_file(e);

    return path != NULL && path[0] != '\0';
}

/* Said once. */
static void no_plan(struct engine *e, const struct nf_error *why)
{
    if (!e->network_failed)
        nf_engine_notice(e, "%s: shared data goes by no network", why->text);
    e->network_failed = true;
}

void nf_network_read_once(struct engine *e)
{
    const char *path = nf_network_file(e);
    struct nf_error why = { .status = NF_OK, .text = "" };

    if (e->network_read)
        return;
    e->network_read = true;
    if (!nf_network_is_given(e))
        return;
    if (nf_network_read(path, &e->network, &why) != NF_OK) {
        nf_engine_notice(e, "%s: going by no network", why.text);
    } else if (nf_network_check_date(&e->network, nf_date_now_s(), path,
                                     &why) != NF_OK) {
        nf_network_fini(&e->network);
        nf_engine_notice(e, "%s: going by no network", why.text);
    }
}

void nf_network_close(struct engine *e)
{
    nf_network_fini(&e->network);
}

/* ---- what the broadcast takes by the network ---- */

/* The hosts of all members as the network has them.  As groups do it
 * (common/group/measured.c). */
static enum nf_status of_members(const struct nf_network *network,
                                 const struct nf_mesh *mesh,
                                 const uint32_t *hosts,
                                 struct nf_network *members_p)
{
    char(*names)[NF_NETWORK_NAME_BYTES] =
        nf_calloc(mesh->ranks, sizeof(*names));
    enum nf_status status;

    if (names == NULL)
        return NF_ERR_NOMEM;
    nf_mesh_host_names(mesh, names);
    status = nf_network_of(network, (const char(*)[NF_NETWORK_NAME_BYTES])names,
                           mesh->ranks, members_p, NULL);
    nf_free(names);
    return status == NF_OK ? nf_network_share(members_p, hosts) : status;
}

static enum nf_status price(const struct nf_hetero *hetero,
                            const struct nf_bcast_query *query,
                            const struct nf_told *told, double *time_us_p)
{
    struct nf_coll_wish wish;
    struct nf_coll_tree tree;
    struct nf_pricer pricer;
    uint32_t *first = NULL;
    enum nf_status status = nf_coll_wish_read(told->algorithm, &wish, NULL);

    if (status == NF_OK && told->tree != NULL)
        status = nf_coll_tree_read(told->tree, hetero->hosts, &tree, &first);
    if (status == NF_OK)
        status = nf_pricer_init(&pricer, hetero);
    if (status == NF_OK) {
        status = nf_bcast_price(
            &pricer, wish.algorithm, query, told->tree != NULL ? &tree : NULL,
            wish.segments > 0 ? (uint32_t)wish.segments : 1, time_us_p);
        nf_pricer_fini(&pricer);
    }
    nf_free(first);
    return status;
}

/* What is told, for the very size; plans are made for a round one.
 * @return 0: there is no memory for it */
static double predict_s(const struct engine *e, const struct nf_mesh *mesh,
                        const struct nf_told *told)
{
    uint32_t *hosts = nf_calloc(mesh->ranks, sizeof(*hosts));
    const struct nf_bcast_query query = {
        .bytes = e->shared->bytes,
        .elements = nf_share_query(e, mesh->ranks).elements,
        .hosts = hosts,
    };
    struct nf_network members = { .nhosts = 0 };
    struct nf_hetero hetero;
    double time_us = 0;
    enum nf_status status = hosts != NULL ? NF_OK : NF_ERR_NOMEM;

    for (uint32_t i = 0; i < mesh->ranks && status == NF_OK; i++)
        hosts[i] = nf_mesh_host_of(mesh, i);
    if (status == NF_OK)
        status = of_members(&e->network, mesh, hosts, &members);
    if (status == NF_OK) {
        hetero = nf_network_hetero(&members, true);
        hetero.in_groups = true;
        status = price(&hetero, &query, told, &time_us);
    }
    nf_network_fini(&members);
    nf_free(hosts);
    return status == NF_OK && isfinite(time_us) ? time_us * 1e-6 : 0;
}

void nf_network_compare(struct engine *e, const struct nf_mesh *mesh)
{
    struct nf_network_use use = { nf_date_now_s(), e->network.model.route,
                                  e->network.model.encoding };
    struct nf_mesh_place place;
    char text[NF_ERROR_TEXT_BYTES];
    unsigned doubts;

    if (e->network.nhosts == 0)
        return;
    if (mesh != NULL && nf_mesh_place(mesh, &place)) {
        use.route =
            place.direct ? NF_MODEL_ROUTE_DIRECT : NF_MODEL_ROUTE_DAEMON;
        use.encoding =
            place.converts ? NF_MODEL_ENCODING_XDR : NF_MODEL_ENCODING_RAW;
    }
    doubts = nf_network_doubts(&e->network, &use) & ~e->network_doubts;
    if (doubts == 0)
        return;
    e->network_doubts |= doubts;
    nf_network_say_doubts(&e->network, &use, doubts, text, sizeof(text));
    nf_engine_notice(e, "%s: %s", nf_network_file(e), text);
}

bool nf_network_tell(struct engine *e, const struct nf_mesh *mesh,
                     struct nf_told *told_p)
{
    const struct nf_coll_query query = nf_share_query(e, mesh->ranks);
    const char *path = nf_network_file(e);
    struct nf_error why;
    enum nf_status status;

    nf_network_read_once(e);
    if (e->network.nhosts == 0 || query.ranks < 3)
        return false;
    status = nf_group_tell_network(getenv("NOWFARM_COLL"), mesh, path, &query,
                                   told_p, &why);
    if (status == NF_WAIT)
        return false;
    if (status != NF_OK) {
        no_plan(e, &why);
        return false;
    }
    nf_network_compare(e, mesh);
    if (told_p->unknown > 0)
        nf_engine_notice(e,
                         "%s: %u of %u members are on hosts that were not "
                         "measured and count as slow",
                         path, told_p->unknown, query.ranks);
    nf_log(NF_LOG_INFO, "shared data is planned by %s: %s", path,
           told_p->algorithm);
    snprintf(e->report.shared_network, sizeof(e->report.shared_network), "%s",
             path);
    e->report.shared_model_s = predict_s(e, mesh, told_p);
    return true;
}
