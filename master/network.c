/* Shared data by a measured network: the master plans for all who are there at
 * the begin.  A group of two has one way to go, and no need of a plan. */
#include "config.h"
#include <stdlib.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/group/over_mesh.h"
#include "master/engine_internal.h"

static const char *network_file(const struct engine *e)
{
    const char *path = e->options->network_file;

    return path != NULL ? path : getenv("NOWFARM_NETWORK");
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
        nf_engine_notice(e, "%s: shared data goes by no network", why.text);
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
