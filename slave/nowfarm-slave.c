/* nowfarm-slave: what is spawned on every host to run the applications that
 * nowfarm has built in. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/app.h"
#include "apps/collbench/member.h"
#include "common/base/alloc.h"
#include "slave/slave.h"

static const char usage[] =
    "usage: nowfarm-slave [--help | --version]\n"
    "\n"
    "The slave of nowfarm(1) and nowfarmd(8).  They start it on every host,\n"
    "through PVM, with " NF_SLAVE_VARIABLE " set in its environment; it\n"
    "computes units until its master is done, and ends when that is gone.\n"
    "It is not meant to be run by hand.\n";

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

static int serve(const char *address)
{
    struct nf_slave_config config = { .in_process = false };
    struct nf_error err = { NF_OK, "" };
    const struct nf_app **kernels;
    struct nf_port *port;
    enum nf_status status = nf_port_open(address, &port, &err);

    if (status != NF_OK) {
        fprintf(stderr, "nowfarm-slave: %s\n", err.text);
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

int main(int argc, char **argv)
{
    const char *address = getenv(NF_SLAVE_VARIABLE);

    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("nowfarm-slave %s\n", nf_version());
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (address == NULL || argc > 1) {
        fputs("nowfarm-slave: started by nowfarm on each host, not by hand "
              "(try --help)\n",
              stderr);
        return 2;
    }
#ifdef HAVE_PVM3
    if (bench_is_address(address))
        return bench_member(address);
#endif
    return serve(address);
}
