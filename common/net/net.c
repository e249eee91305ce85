/* The table of transports. */
#include "config.h"
#include "common/net/net.h"
#include <string.h>
#include "common/base/error.h"

extern const struct nf_net_ops nf_net_local;
#ifdef HAVE_PVM3
extern const struct nf_net_ops nf_net_pvm;
/* net_pvm.c: nf_port_open for its addresses. */
enum nf_status nf_port_pvm_open(const char *address, struct nf_port **port_p,
                                struct nf_error *err);
#endif

const struct nf_net_ops *const nf_net_table[] = {
#ifdef HAVE_PVM3
    &nf_net_pvm,
#endif
    &nf_net_local,
    NULL,
};

const struct nf_net_ops *nf_net_find(const char *name)
{
    for (size_t i = 0; nf_net_table[i] != NULL; i++)
        if (strcmp(nf_net_table[i]->name, name) == 0)
            return nf_net_table[i];
    return NULL;
}

enum nf_status nf_port_open(const char *address, struct nf_port **port_p,
                            struct nf_error *err)
{
#ifdef HAVE_PVM3
    if (strncmp(address, "pvm:", 4) == 0)
        return nf_port_pvm_open(address, port_p, err);
#endif
    (void)port_p;
    return nf_fail(err, NF_ERR_INVAL,
                   "%s=%s: not the address of a master (want pvm:...)",
                   NF_SLAVE_VARIABLE, address);
}
