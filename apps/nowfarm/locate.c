/* Programs find each other by where they are, not by PATH: the slave of another
 * version would be refused. */
#include "config.h"
#include "apps/nowfarm/locate.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/base/error.h"

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

static enum nf_status take_variable(const char *said, char *path_p,
                                    size_t bytes, struct nf_error *err)
{
    if (said[0] != '/' || strlen(said) >= bytes)
        return nf_fail(err, NF_ERR_INVAL,
                       "NOWFARM_SLAVE_PROGRAM=%s: want an absolute path", said);
    strcpy(path_p, said);
    return NF_OK;
}

enum nf_status locate_slave(char *path_p, size_t bytes, struct nf_error *err)
{
    static const char *const places[] = { "../../slave/nowfarm-slave",
                                          "nowfarm-slave" };
    char own[PATH_MAX], candidate[PATH_MAX + 64], real[PATH_MAX];
    const char *said = getenv("NOWFARM_SLAVE_PROGRAM");
    const char *folder = own_folder(own, sizeof(own));

    if (said != NULL && said[0] != '\0')
        return take_variable(said, path_p, bytes, err);
    for (size_t i = 0; i < 2 && folder != NULL; i++) {
        snprintf(candidate, sizeof(candidate), "%s/%s", folder, places[i]);
        if (realpath(candidate, real) != NULL && access(real, X_OK) == 0) {
            snprintf(path_p, bytes, "%s", real);
            return NF_OK;
        }
    }
    snprintf(path_p, bytes, "%s/nowfarm-slave", NF_BINDIR);
    return NF_OK;
}
