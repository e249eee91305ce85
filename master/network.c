/* A measured network.  Shared data goes by it: the master plans for all who are
 * there at the begin, if there are plans for so many.  A group of two has one way
 * to go, and no need of a plan; but who comes late gets it from whom the network
 * has as the nearest (share.c).
 * Its model of collective operations is what gathers, reductions and exchanges
 * go by if there is no table (table.c). */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/group/over_mesh.h"
#include "common/model/network_file.h"
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
    status = nf_group_tell_network(getenv("NOWFARM_COLL"), mesh, &e->network,
                                   path, &query, told_p, &why);
    if (status == NF_WAIT)
        return false;
    if (status == NF_OK || !e->has_rules)
        nf_network_compare(e, mesh);
    if (status != NF_OK) { /* too many slaves: what nf_table_tell() said holds */
        nf_engine_notice(e, "%s: shared data is not planned", why.text);
        return false;
    }
    if (told_p->unknown > 0)
        nf_engine_notice(e,
                         "%s: %u of %u members are on hosts that were not "
                         "measured and count as slow",
                         path, told_p->unknown, query.ranks);
    nf_log(NF_LOG_INFO, "shared data is planned by %s: %s", path,
           told_p->algorithm);
    snprintf(e->report.shared_network, sizeof(e->report.shared_network), "%s",
             path);
    e->report.shared_model_s = told_p->time_us * 1e-6;
    return true;
}
