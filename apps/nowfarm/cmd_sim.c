/* nowfarm sim: simulations, by a table. */
#include "config.h"
#include "apps/nowfarm/commands.h"
#include <stdio.h>
#include <string.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/commands_sim.h"

static const struct {
    const char *name;
    int (*run)(int argc, const char **argv);
    const char *summary;
} simulations[] = {
    { "farm", nf_sim_farm, "a job on simulated workstations" },
    { "mesh", nf_sim_mesh, "multicast on a mesh with wormhole routing" },
    { "torus", nf_sim_torus, "all-to-all exchanges on a torus" },
    { "hnow", nf_sim_hnow, "multicast on workstations that differ" },
};

enum { NSIMULATIONS = sizeof(simulations) / sizeof(simulations[0]) };

static int print_help(void)
{
    printf("usage: nowfarm sim WHAT [argument...]\n\n");
    for (int i = 0; i < NSIMULATIONS; i++)
        printf("  %-10s %s\n", simulations[i].name, simulations[i].summary);
    printf("\nnowfarm sim WHAT --help tells more\n");
    return nf_finish_output();
}

int nf_cmd_sim(int argc, const char **argv)
{
    char name[40]; /* popt calls the command by its argv[0] */

    if (argc < 2)
        return nf_usage_error("sim: what? (see: nowfarm sim --help)");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0)
        return print_help();
    for (int i = 0; i < NSIMULATIONS; i++) {
        if (strcmp(argv[1], simulations[i].name) != 0)
            continue;
        snprintf(name, sizeof(name), "nowfarm sim %s", simulations[i].name);
        argv[1] = name;
        return simulations[i].run(argc - 1, argv + 1);
    }
    return nf_usage_error("sim: no simulation \"%s\" (see: nowfarm sim --help)",
                          argv[1]);
}
