/* The meeting point of daemon and clients: the path of the socket, its
 * permissions, and who may be at the other end.
 *
 * A socket file says nothing about whether its daemon lives, and "connect to
 * see, then unlink" races with a second start.  So life is told by a record
 * lock beside the socket: the kernel drops it with the process, names its
 * holder, and whoever has it may replace the socket. */
#include "config.h"
#include "master/endpoint.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "common/base/error.h"

enum { BACKLOG = 128 };

static bool is_set(const char *text)
{
    return text != NULL && text[0] != '\0';
}

enum nf_status nf_endpoint_path(const char *option, const char *configured,
                                char path_p[NF_ENDPOINT_BYTES],
                                struct nf_error *err)
{
    const char *from_env = getenv("NOWFARM_SOCKET");
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    const char *given = is_set(option)     ? option
                        : is_set(from_env) ? from_env
                                           : configured;
    char path[512];
    int bytes;

    if (is_set(given))
        bytes = snprintf(path, sizeof(path), "%s", given);
    else if (is_set(runtime) && runtime[0] == '/')
        bytes =
            snprintf(path, sizeof(path), "%s/nowfarm/nowfarmd.sock", runtime);
    else
        bytes = snprintf(path, sizeof(path), "/tmp/nowfarm-%lu/nowfarmd.sock",
                         (unsigned long)geteuid());
    if (path[0] != '/')
        return nf_fail(err, NF_ERR_INVAL,
                       "socket %.200s: want an absolute path", path);
    if (bytes >= NF_ENDPOINT_BYTES)
        return nf_fail(err, NF_ERR_INVAL,
                       "socket %.200s: the path is longer than %d bytes", path,
                       NF_ENDPOINT_BYTES - 1);
    memcpy(path_p, path, (size_t)bytes + 1);
    return NF_OK;
}

/* Nobody else may be able to put a socket of theirs in place of ours.  The
 * directory `nowfarm` that we make is 0700; one that the user chose must be
 * theirs or root's and not open to others, unless it is sticky like /tmp. */
static enum nf_status check_directory(const char *path, struct nf_error *err)
{
    char dir[NF_ENDPOINT_BYTES];
    struct stat info;
    bool is_open;

    snprintf(dir, sizeof(dir), "%s", path);
    strrchr(dir, '/')[0] = '\0';
    if (dir[0] == '\0')
        strcpy(dir, "/");
    if (mkdir(dir, 0700) != 0 && errno != EEXIST)
        return nf_fail(err, NF_ERR_INVAL, "cannot make directory %s: %s", dir,
                       strerror(errno));
    if (lstat(dir, &info) != 0)
        return nf_fail(err, NF_ERR_INVAL, "%s: %s", dir, strerror(errno));
    if (!S_ISDIR(info.st_mode))
        return nf_fail(err, NF_ERR_INVAL, "%s: not a directory", dir);
    is_open = (info.st_mode & 022) != 0 && (info.st_mode & S_ISVTX) == 0;
    if ((info.st_uid != geteuid() && info.st_uid != 0) || is_open)
        return nf_fail(err, NF_ERR_INVAL,
                       "directory %s (owner %lu, mode %04o) is not safe for a "
                       "socket: want one of yours with mode 0700",
                       dir, (unsigned long)info.st_uid, info.st_mode & 07777);
    if (strncmp(path, "/tmp/nowfarm-", 13) == 0 &&
        (info.st_uid != geteuid() || (info.st_mode & 077) != 0))
        return nf_fail(err, NF_ERR_INVAL,
                       "directory %s (owner %lu, mode %04o): want owner %lu, "
                       "mode 0700",
                       dir, (unsigned long)info.st_uid, info.st_mode & 07777,
                       (unsigned long)geteuid());
    return NF_OK;
}

static enum nf_status take_lock(const char *path, int *fd_p,
                                struct nf_error *err)
{
    char name[NF_ENDPOINT_BYTES + 8];
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    int fd;

    snprintf(name, sizeof(name), "%s.lock", path);
    fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return nf_fail(err, NF_ERR_INVAL, "cannot open %s: %s", name,
                       strerror(errno));
    if (fcntl(fd, F_SETLK, &lock) == 0) {
        *fd_p = fd;
        return NF_OK;
    }
    if (errno != EACCES && errno != EAGAIN)
        nf_fail(err, NF_ERR_IO, "cannot lock %s: %s", name, strerror(errno));
    else if (fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
        nf_fail(err, NF_ERR_INVAL, "nowfarmd already runs (pid %ld) at %s",
                (long)lock.l_pid, path);
    else
        nf_fail(err, NF_ERR_INVAL, "nowfarmd already runs at %s", path);
    close(fd);
    return err != NULL ? err->status : NF_ERR_INVAL;
}

static void fill_address(const char *path, struct sockaddr_un *address_p)
{
    memset(address_p, 0, sizeof(*address_p));
    address_p->sun_family = AF_UNIX;
    memcpy(address_p->sun_path, path, strlen(path) + 1);
}

/* The lock is ours: a socket at `path` is a dead daemon's. */
static enum nf_status bind_socket(const char *path, int *fd_p,
                                  struct nf_error *err)
{
    struct sockaddr_un address;
    struct stat info;
    mode_t mask;
    int fd, failed;

    if (lstat(path, &info) == 0) {
        if (!S_ISSOCK(info.st_mode))
            return nf_fail(err, NF_ERR_INVAL, "%s exists and is not a socket",
                           path);
        if (unlink(path) != 0)
            return nf_fail(err, NF_ERR_INVAL, "cannot replace %s: %s", path,
                           strerror(errno));
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return nf_fail(err, NF_ERR_IO, "socket: %s", strerror(errno));
    fill_address(path, &address);
    mask = umask(0177); /* 0600 from the first moment on */
    failed = bind(fd, (struct sockaddr *)&address, sizeof(address));
    umask(mask);
    if (failed == 0)
        failed = listen(fd, BACKLOG);
    if (failed != 0) {
        nf_fail(err, NF_ERR_IO, "cannot listen at %s: %s", path,
                strerror(errno));
        close(fd);
        return NF_ERR_IO;
    }
    *fd_p = fd;
    return NF_OK;
}

enum nf_status nf_endpoint_listen(const char *path, int *lock_fd_p,
                                  int *listen_fd_p, struct nf_error *err)
{
    int lock_fd = -1;
    enum nf_status status = check_directory(path, err);

    if (status == NF_OK)
        status = take_lock(path, &lock_fd, err);
    if (status != NF_OK)
        return status;
    status = bind_socket(path, listen_fd_p, err);
    if (status != NF_OK)
        close(lock_fd);
    else
        *lock_fd_p = lock_fd;
    return status;
}

bool nf_endpoint_peer_is_ours(int fd)
{
    struct ucred peer;
    socklen_t bytes = sizeof(peer);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0)
        return false;
    return peer.uid == geteuid() || peer.uid == 0;
}

enum nf_status nf_endpoint_connect(const char *path, int *fd_p,
                                   struct nf_error *err)
{
    struct sockaddr_un address;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return nf_fail(err, NF_ERR_UNREACHABLE, "socket: %s", strerror(errno));
    fill_address(path, &address);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        int why = errno;

        close(fd);
        if (why == ENOENT || why == ECONNREFUSED)
            return nf_fail(err, NF_ERR_UNREACHABLE,
                           "no nowfarmd at %s (start one: nowfarmd &)", path);
        return nf_fail(err, NF_ERR_UNREACHABLE,
                       "cannot reach nowfarmd at %s: %s", path,
                       why == EAGAIN ? "too many clients" : strerror(why));
    }
    if (!nf_endpoint_peer_is_ours(fd)) {
        close(fd);
        return nf_fail(err, NF_ERR_UNREACHABLE,
                       "the daemon at %s is another user's", path);
    }
    *fd_p = fd;
    return NF_OK;
}

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool is_variable(const char *text, const char *name)
{
    size_t bytes = strlen(name);

    return has_prefix(text, name) &&
           (text[bytes] == '\0' || text[bytes] == '=');
}

bool nf_endpoint_env_travels(const char *name)
{
    if (is_variable(name, "PVM_TMP") || is_variable(name, "PVM_VMID") ||
        is_variable(name, "NOWFARM_SOCKET") || is_variable(name, "NOWFARM_JOB"))
        return false;
    return is_variable(name, "PATH") || is_variable(name, "HOME") ||
           has_prefix(name, "PVM_") || has_prefix(name, "NOWFARM_") ||
           has_prefix(name, "OPENBLAS_");
}
