/* The clients of nowfarmd without the rest of nowfarm: jobs_cli COMMAND ...
 * The application "fake" is what fake_runner.c runs. */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include "apps/nowfarm/commands_jobs.h"

int nf_cmd_run_check(int argc, const char **argv)
{
    if (argc >= 2 && strcmp(argv[0], "run") == 0 && argv[argc] == NULL &&
        strcmp(argv[1], "fake") == 0)
        return 0;
    fprintf(stderr, "jobs_cli: no application %s\n", argc < 2 ? "" : argv[1]);
    return 2;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, const char **argv);
    } commands[] = {
        { "submit", nf_cmd_submit }, { "status", nf_cmd_status },
        { "wait", nf_cmd_wait },     { "result", nf_cmd_result },
        { "cancel", nf_cmd_cancel },
    };

    for (size_t i = 0; argc >= 2 && i < sizeof(commands) / sizeof(*commands);
         i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, (const char **)argv + 1);
    fprintf(stderr, "jobs_cli: want a command\n");
    return 2;
}
