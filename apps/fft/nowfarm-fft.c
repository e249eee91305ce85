/* nowfarm-fft: the application fft, master and slave.  A program of its own, since
 * FFTW is under the GPL: what is linked with it is, too, when it is passed on. */
#include "config.h"
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/commands.h"
#include "apps/serve.h"
#include "common/base/alloc.h"
#include "common/base/fds.h"
#include "common/net/net.h"

/* `nowfarm run fft`, with this program as the slave unless another one is named
 * later on.  As "--check ...": only look whether these are its arguments. */
static int run(int argc, char **argv)
{
    bool check = argc > 1 && strcmp(argv[1], "--check") == 0;
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    const char **words = nf_calloc((size_t)argc + 5, sizeof(*words));
    int n = 0, status;

    if (words == NULL)
        return nf_memory_error();
    words[n++] = "nowfarm run";
    words[n++] = "fft";
    if (length > 0) {
        self[length] = '\0';
        words[n++] = "--slave-program";
        words[n++] = self;
    }
    for (int i = check ? 2 : 1; i < argc; i++)
        words[n++] = argv[i];
    status = check ? nf_cmd_run_check(n, words) : nf_cmd_run(n, words);
    nf_free((void *)(uintptr_t)words);
    return status;
}

int main(int argc, char **argv)
{
    const char *address = getenv(NF_SLAVE_VARIABLE);

    if (!nf_fds_open_standard())
        return NF_EXIT_FAILED;
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("nowfarm-fft %s\n", nf_version());
        return nf_finish_output();
    }
    if (address != NULL && argc == 1)
        return nf_app_serve("nowfarm-fft", address);
    return run(argc, argv);
}
