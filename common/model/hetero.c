#include "config.h"
#include "common/model/hetero.h"
#include "common/base/alloc.h"

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
