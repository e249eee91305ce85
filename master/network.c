/* Shared data by a measured network: the master plans for all who are there at
 * the begin.  A group of two has one way to go, and no need of a plan; but who
 * comes late gets it from whom the network has as the nearest (share.c). */
#include "config.h"
#include <stdlib.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/group/over_mesh.h"
#include "common/model/network_file.h"
#include "master/engine_internal.h"

static const char *network_file(const struct engine *e)
{
    const char *path = e->options->network_file;

    return path != NULL ? path : getenv("NOWFARM_NETWORK");
}

/* Said once. */
static void no_network(struct engine *e, const struct nf_error *why)
{
    if (!e->network_failed)
        nf_engine_notice(e, "%s: shared data goes by no network", why->text);
    e->network_failed = true;
}

void nf_network_read_once(struct engine *e)
{
    const char *path = network_file(e);
    struct nf_error why;

    if (e->network_read)
        return;
    e->network_read = true;
    if (path != NULL && path[0] != '\0' && !e->network_failed &&
        nf_network_read(path, &e->network, &why) != NF_OK)
        no_network(e, &why);
}

void nf_network_close(struct engine *e)
{
    nf_network_fini(&e->network);
}

bool nf_network_tell(struct engine *e, const struct nf_mesh *mesh,
                     struct nf_told *told_p)
{
    const struct nf_coll_query query = nf_share_query(e, mesh->ranks);
    const char *path = network_file(e);
    struct nf_error why;
    enum nf_status status;

    if (path == NULL || path[0] == '\0' || query.ranks < 3)
        return false;
    status = nf_group_tell_network(getenv("NOWFARM_COLL"), mesh, path, &query,
                                   told_p, &why);
    if (status == NF_WAIT)
        return false;
    if (status != NF_OK) {
        no_network(e, &why);
        return false;
    }
    if (told_p->unknown > 0)
        nf_engine_notice(e,
                         "%s: %u of %u members are on hosts that were not "
                         "measured and count as slow",
                         path, told_p->unknown, query.ranks);
    nf_log(NF_LOG_INFO, "shared data is planned by %s: %s", path,
           told_p->algorithm);
    return true;
}
