#include "config.h"
#include "apps/nowfarm/locate.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The folder of this program, or NULL. */
static const char *own_folder(char *path, size_t bytes)
{
    ssize_t n = readlink("/proc/self/exe", path, bytes - 1);
    char *slash;

    if (n <= 0)
        return NULL;
    path[n] = '\0';
    slash = strrchr(path, '/');
    if (slash == NULL)
        return NULL;
    *slash = '\0';
    return path;
}

void locate_slave(char *path_p, size_t bytes)
{
    static const char *const places[] = { "../../slave/nowfarm-slave",
                                          "nowfarm-slave" };
    char own[PATH_MAX], candidate[PATH_MAX + 64], real[PATH_MAX];
    const char *said = getenv("NOWFARM_SLAVE_PROGRAM");
    const char *folder = own_folder(own, sizeof(own));

    if (said != NULL && said[0] == '/') {
        snprintf(path_p, bytes, "%s", said);
        return;
    }
    for (size_t i = 0; i < 2 && folder != NULL; i++) {
        snprintf(candidate, sizeof(candidate), "%s/%s", folder, places[i]);
        if (realpath(candidate, real) != NULL && access(real, X_OK) == 0) {
            snprintf(path_p, bytes, "%s", real);
            return;
        }
    }
    snprintf(path_p, bytes, "%s/nowfarm-slave", NF_BINDIR);
}
