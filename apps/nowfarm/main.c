/* nowfarm: one program, subcommands by a table. */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/commands.h"
#include "apps/nowfarm/commands_coll.h"
#include "apps/nowfarm/commands_jobs.h"
#include "apps/nowfarm/commands_tree.h"
#include "common/base/fds.h"
#include "nowfarm.h"

struct command {
    const char *name;
    int (*run)(int argc, const char **argv);
    const char *summary;
};

static const struct command commands[] = {
    { "run", nf_cmd_run, "run a job and report" },
    { "compare", nf_cmd_compare, "say which policy is best for a job" },
    { "policies", nf_cmd_policies, "list the scheduling policies" },
    { "chunks", nf_cmd_chunks, "print the chunks a policy hands out" },
    { "sim", nf_cmd_sim, "simulate a job on a platform file" },
    { "gantt", nf_cmd_gantt, "draw who did what when in a recorded run" },
    { "replay", nf_cmd_replay, "find the best policy for a recorded run" },
    { "plans", nf_cmd_plans, "list the algorithms of collective operations" },
    { "plan", nf_cmd_plan, "print the messages of one, and check them" },
    { "coll-bench", nf_cmd_coll_bench, "measure collective operations" },
    { "trees", nf_cmd_trees, "list the trees of multicasts" },
    { "tree", nf_cmd_tree, "build one, and say when each node is ready" },
    { "probe", nf_cmd_probe, "measure what messages cost between hosts" },
    { "prefix", nf_cmd_prefix, "running statistics of a large file" },
    { "hosts", nf_cmd_hosts, "list the hosts of the virtual machine" },
    { "add", nf_cmd_add, "add a host to it" },
    { "remove", nf_cmd_remove, "remove a host from it" },
    { "lab", nf_cmd_lab, "a network of workstations on this machine" },
    { "submit", nf_cmd_submit, "give a job to nowfarmd" },
    { "status", nf_cmd_status, "how the daemon's jobs are" },
    { "wait", nf_cmd_wait, "wait for a job" },
    { "result", nf_cmd_result, "print the report of a finished job" },
    { "cancel", nf_cmd_cancel, "cancel a job" },
};

enum { NCOMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void print_help(FILE *to)
{
    fprintf(to, "usage: nowfarm COMMAND [argument...]\n\n");
    for (int i = 0; i < NCOMMANDS; i++)
        fprintf(to, "  %-11s %s\n", commands[i].name, commands[i].summary);
    fprintf(to,
            "\nnowfarm COMMAND --help tells more; exit status: 0 done, 1 the "
            "job failed, 2 bad usage\nor input, 3 PVM, a host or the daemon "
            "unreachable, 4 verification failed, 130 interrupted\n");
}

static int run_command(const struct command *command, int argc, char **argv)
{
    static char name[32]; /* popt calls the command by its argv[0] */

    snprintf(name, sizeof(name), "nowfarm %s", command->name);
    argv[0] = name;
    return command->run(argc, (const char **)argv);
}

int main(int argc, char **argv)
{
    if (!nf_fds_open_standard())
        return NF_EXIT_FAILED;
    if (argc < 2)
        return nf_usage_error("which command? (see: nowfarm --help)");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return nf_finish_output();
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("nowfarm %s\n", nf_version());
        return nf_finish_output();
    }
    for (int i = 0; i < NCOMMANDS; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return run_command(&commands[i], argc - 1, argv + 1);
    return nf_usage_error("no command \"%s\" (see: nowfarm --help)", argv[1]);
}
