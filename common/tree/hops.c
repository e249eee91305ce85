#include "config.h"
#include "common/tree/hops.h"
#include "common/base/alloc.h"

enum nf_status nf_hops_init(struct nf_hops *hops_p,
                            const struct nf_hetero *hetero, double bytes)
{
    uint32_t n = hetero->hosts;
    size_t wires = hetero->is_matrix ? (size_t)n * n : 1;

    *hops_p = (struct nf_hops){ .nodes = n, .is_matrix = hetero->is_matrix };
    hops_p->send = nf_calloc(n, sizeof(double));
    hops_p->recv = nf_calloc(n, sizeof(double));
    hops_p->wire = nf_calloc(wires, sizeof(double));
    hops_p->port = nf_calloc(wires, sizeof(double));
    if (hops_p->send == NULL || hops_p->recv == NULL || hops_p->wire == NULL ||
        hops_p->port == NULL) {
        nf_hops_fini(hops_p);
        return NF_ERR_NOMEM;
    }
    nf_hops_set(hops_p, hetero, bytes);
    return NF_OK;
}

static void set_wire(struct nf_hops *hops, const struct nf_hetero *hetero,
                     double bytes, size_t to, size_t from)
{
    struct nf_cost cost = hetero->wire[from];

    hops->wire[to] = nf_cost_us(cost, bytes);
    hops->port[to] = hetero->has_ports ? cost.byte_us * bytes : 0;
}

void nf_hops_set(struct nf_hops *hops, const struct nf_hetero *hetero,
                 double bytes)
{
    uint32_t n = hops->nodes;

    for (uint32_t i = 0; i < n; i++) {
        hops->send[i] = nf_cost_us(hetero->send[i], bytes);
        hops->recv[i] = nf_cost_us(hetero->recv[i], bytes);
    }
    if (!hops->is_matrix) {
        set_wire(hops, hetero, bytes, 0, 0);
        return;
    }
    for (uint32_t j = 0; j < n; j++)
        for (uint32_t i = 0; i < n; i++)
            set_wire(hops, hetero, bytes, (size_t)j * n + i, (size_t)i * n + j);
}

void nf_hops_fini(struct nf_hops *hops)
{
    nf_free(hops->send);
    nf_free(hops->recv);
    nf_free(hops->wire);
    nf_free(hops->port);
    *hops = (struct nf_hops){ .nodes = 0 };
}
