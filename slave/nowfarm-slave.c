/* nowfarm-slave: what is spawned on every host to run the applications that
 * nowfarm has built in. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/collbench/member.h"
#include "apps/serve.h"
#include "slave/slave.h"

static const char usage[] =
    "usage: nowfarm-slave [--help | --version]\n"
    "\n"
    "The slave of nowfarm(1) and nowfarmd(8).  They start it on every host,\n"
    "through PVM, with " NF_SLAVE_VARIABLE " set in its environment; it\n"
    "computes units until its master is done, and ends when that is gone.\n"
    "It is not meant to be run by hand.\n";

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
    return nf_app_serve("nowfarm-slave", address);
}
