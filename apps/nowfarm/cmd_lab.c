/* nowfarm lab: a program of its own does it, which is not linked with anything
 * that starts threads; see apps/lab. */
#include "config.h"
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/commands.h"
#include "apps/nowfarm/locate.h"

int nf_cmd_lab(int argc, const char **argv)
{
    char program[PATH_MAX];

    (void)argc;
    locate_lab(program, sizeof(program));
    execv(program, (char *const *)argv);
    nf_usage_error("%s: %s (is nowfarm installed completely?)", program,
                   strerror(errno));
    return NF_EXIT_FAILED;
}
