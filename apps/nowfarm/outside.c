#include "config.h"
#include "apps/nowfarm/outside.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "apps/app.h"
#include "apps/nowfarm/child.h"
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/locate.h"

bool outside_is(const char *name)
{
    return strcmp(name, "fft") == 0 && nf_app_find(name) == NULL;
}

bool outside_is_there(void)
{
    char program[PATH_MAX];

    locate_fft(program, sizeof(program));
    return access(program, X_OK) == 0;
}

static int fail(const char *program)
{
    return errno == ENOENT
               ? nf_usage_error("fft: there is no %s; it is built where FFTW is "
                                "found (Debian: libfftw3-dev)",
                                program)
               : nf_usage_error("fft: %s: %s", program, strerror(errno));
}

int outside_become(const char **argv)
{
    char program[PATH_MAX];

    locate_fft(program, sizeof(program));
    execv(program, (char *const *)(uintptr_t)(argv + 1));
    return fail(program);
}

int outside_check(const char **argv)
{
    char program[PATH_MAX];
    const char *app = argv[1];
    struct child child = {
        .program = program, .argv = argv, .in = stdin, .out = stdout, .err = stderr
    };
    struct nf_error err = { .status = NF_OK };
    int status;

    locate_fft(program, sizeof(program));
    if (access(program, X_OK) != 0)
        return fail(program);
    argv[1] = "--check";
    if (child_run(&child, NULL, &status, &err) != NF_OK)
        status = nf_failure(&err);
    argv[1] = app;
    return status;
}
