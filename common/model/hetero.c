#include "config.h"
#include "common/model/hetero.h"
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/model/network.h"

enum nf_status nf_hetero_init(struct nf_hetero *hetero_p, uint32_t hosts,
                              bool is_matrix)
{
    size_t wires = is_matrix ? (size_t)hosts * hosts : 1;

    *hetero_p = (struct nf_hetero){ .hosts = hosts, .is_matrix = is_matrix };
    hetero_p->send = nf_calloc(hosts, sizeof(*hetero_p->send));
    hetero_p->recv = nf_calloc(hosts, sizeof(*hetero_p->recv));
    hetero_p->wire = nf_calloc(wires, sizeof(*hetero_p->wire));
    if (hetero_p->send != NULL && hetero_p->recv != NULL &&
        hetero_p->wire != NULL)
        return NF_OK;
    nf_hetero_fini(hetero_p);
    return NF_ERR_NOMEM;
}

void nf_hetero_fini(struct nf_hetero *hetero)
{
    nf_free(hetero->send);
    nf_free(hetero->recv);
    nf_free(hetero->wire);
    *hetero = (struct nf_hetero){ .hosts = 0 };
}

static bool is_cost(struct nf_cost cost)
{
    return cost.fixed_us >= 0 && cost.fixed_us <= NF_COST_MAX &&
           cost.byte_us >= 0 && cost.byte_us <= NF_COST_MAX;
}

static bool is_curve(const struct nf_curve *curve)
{
    bool ok = is_cost(curve->line) && curve->npoints <= NF_CURVE_POINTS_MAX;

    for (uint32_t i = 0; ok && i < curve->npoints; i++)
        ok = is_cost((struct nf_cost){ curve->points[i].us, 0 }) &&
             is_cost((struct nf_cost){ curve->points[i].bytes, 0 }) &&
             (i == 0 ||
              curve->points[i].bytes >= curve->points[i - 1].bytes + 1);
    return ok;
}

static enum nf_status fail(struct nf_error *err, uint32_t host,
                           const char *what)
{
    return nf_fail(err, NF_ERR_INVAL, "host %u: %s: want times from 0 to %g us",
                   host, what, NF_COST_MAX);
}

static enum nf_status check_host(const struct nf_hetero *hetero, uint32_t i,
                                 struct nf_error *err)
{
    const struct nf_network *network = hetero->measured;
    const struct nf_network_host *host =
        network != NULL ? &network->hosts[i] : NULL;

    if (host != NULL ? !is_curve(&host->send) || !is_curve(&host->hold)
                     : !is_cost(hetero->send[i]))
        return fail(err, i, "sending");
    if (host != NULL ? !is_curve(&host->recv) : !is_cost(hetero->recv[i]))
        return fail(err, i, "receiving");
    for (uint32_t j = 0; j < hetero->hosts; j++)
        if (i != j &&
            (network != NULL ? !is_curve(nf_network_wire(network, i, j))
                             : !is_cost(nf_hetero_wire(hetero, i, j))))
            return fail(err, i, "its wires");
    return NF_OK;
}

enum nf_status nf_hetero_check(const struct nf_hetero *hetero, uint32_t root,
                               struct nf_error *err)
{
    enum nf_status status = NF_OK;

    if (hetero->hosts < 1 || hetero->hosts > NF_HETERO_HOSTS_MAX)
        return nf_fail(err, NF_ERR_RANGE, "%u hosts: want 1 to %d",
                       hetero->hosts, NF_HETERO_HOSTS_MAX);
    if (root >= hetero->hosts)
        return nf_fail(err, NF_ERR_RANGE, "root %u: want a host below %u", root,
                       hetero->hosts);
    for (uint32_t i = 0; i < hetero->hosts && status == NF_OK; i++)
        status = check_host(hetero, i, err);
    return status;
}
