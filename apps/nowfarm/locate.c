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

/* Look for a program in @p count places, relative to the folder of this one;
 * else it is in @p installed. */
static void find_program(const char *const *places, size_t count,
                         const char *installed, char *path_p, size_t bytes)
{
    char own[PATH_MAX], candidate[PATH_MAX + 64], real[PATH_MAX];
    const char *folder = own_folder(own, sizeof(own));

    for (size_t i = 0; i < count && folder != NULL; i++) {
        snprintf(candidate, sizeof(candidate), "%s/%s", folder, places[i]);
        if (realpath(candidate, real) != NULL && access(real, X_OK) == 0) {
            snprintf(path_p, bytes, "%s", real);
            return;
        }
    }
    snprintf(path_p, bytes, "%s", installed);
}

enum nf_status locate_slave(char *path_p, size_t bytes, struct nf_error *err)
{
    static const char *const places[] = { "../../slave/nowfarm-slave",
                                          "nowfarm-slave" };
    const char *said = getenv("NOWFARM_SLAVE_PROGRAM");

    if (said != NULL && said[0] != '\0')
        return take_variable(said, path_p, bytes, err);
    find_program(places, 2, NF_BINDIR "/nowfarm-slave", path_p, bytes);
    return NF_OK;
}

void locate_lab(char *path_p, size_t bytes)
{
    static const char *const places[] = { "../lab/nowfarm-lab",
                                          "../libexec/nowfarm/nowfarm-lab" };

    find_program(places, 2, NF_LIBEXECDIR "/nowfarm-lab", path_p, bytes);
}

void locate_fft(char *path_p, size_t bytes)
{
    static const char *const places[] = { "../fft/nowfarm-fft", "nowfarm-fft" };

    find_program(places, 2, NF_BINDIR "/nowfarm-fft", path_p, bytes);
}
