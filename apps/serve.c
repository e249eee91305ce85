/* The slave's side of the applications that a program has. */
#include "config.h"
#include "apps/serve.h"
#include <stdio.h>
#include "apps/app.h"
#include "common/base/alloc.h"
#include "slave/slave.h"

static size_t count_more(const struct nf_app_kind *kind)
{
    size_t count = 0;

    while (kind->more_kernels != NULL && kind->more_kernels[count] != NULL)
        count++;
    return count;
}

/* The kernels of all applications, NULL at the end; NULL if out of memory. */
static const struct nf_app **list_kernels(void)
{
    const struct nf_app **kernels;
    size_t most = 1, count = 0;

    for (size_t i = 0; nf_app_table[i] != NULL; i++)
        most += 1 + count_more(nf_app_table[i]);
    kernels = nf_calloc(most, sizeof(*kernels));
    for (size_t i = 0; kernels != NULL && nf_app_table[i] != NULL; i++) {
        const struct nf_app_kind *kind = nf_app_table[i];

        kernels[count++] = kind->kernel;
        for (size_t j = 0; j < count_more(kind); j++)
            kernels[count++] = kind->more_kernels[j];
    }
    return kernels;
}

int nf_app_serve(const char *program, const char *address)
{
    struct nf_slave_config config = { .in_process = false };
    struct nf_error err = { NF_OK, "" };
    const struct nf_app **kernels;
    struct nf_port *port;
    enum nf_status status = nf_port_open(address, &port, &err);

    if (status != NF_OK) {
        fprintf(stderr, "%s: %s\n", program, err.text);
        return nf_exit_status(status);
    }
    kernels = list_kernels();
    if (kernels == NULL) {
        nf_port_close(port);
        return nf_exit_status(NF_ERR_NOMEM);
    }
    config.apps = kernels;
    status = nf_slave_serve(port, &config);
    nf_free(kernels);
    return nf_exit_status(status);
}
