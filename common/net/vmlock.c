/* Locks on byte ranges of one file; see vmlock.h. */
#include "config.h"
#include "common/net/vmlock.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/base/error.h"
#include "common/net/pvm.h"

enum {
    START_BYTE = 0,
    USERS_BYTE = 1,
    /* PVM binds sockets "FOLDER/pvmtmpPPPPPPP.NN", which have 107 characters at
     * most, and overruns buffers of its own when they are much longer. */
    FOLDER_MOST = 90,
    NAME_MOST = 64,
};

/* Locks belong to the open file, not to the process: workers that inherit the
 * descriptor must be able to close it without giving up the lock. */
static bool set_lock(struct nf_vmlock *lock, short type, off_t byte)
{
    struct flock l = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1
    };

    return fcntl(lock->fd, F_OFD_SETLK, &l) == 0;
}

static bool set_lock_soon(struct nf_vmlock *lock, short type, off_t byte)
{
    for (int i = 0; i < 1000; i++) {
        if (set_lock(lock, type, byte))
            return true;
        usleep(20000);
    }
    return false;
}

/* What tells one pvmd from another. */
static void identity(char *text, size_t bytes)
{
    char path[PATH_MAX];
    struct stat st;

    nf_pvm_socket_file(path, sizeof(path));
    if (stat(path, &st) != 0)
        snprintf(text, bytes, "-");
    else
        snprintf(text, bytes, "%lu %lld.%09ld", (unsigned long)st.st_ino,
                 (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

/* What PVM itself would not refuse but fall over. */
static enum nf_status check_names(struct nf_error *err)
{
    const char *name = getenv("PVM_VMID");

    if (nf_pvm_folder()[0] != '/') /* pvmd works in a folder of its own */
        return nf_fail(err, NF_ERR_UNREACHABLE,
                       "PVM_TMP=%s: want an absolute path", nf_pvm_folder());
    if (strlen(nf_pvm_folder()) > FOLDER_MOST)
        return nf_fail(err, NF_ERR_UNREACHABLE,
                       "PVM_TMP=%.60s... is too long for PVM: want at most %d "
                       "characters",
                       nf_pvm_folder(), FOLDER_MOST);
    if (name != NULL && (strlen(name) > NAME_MOST || strchr(name, '/') != NULL))
        return nf_fail(err, NF_ERR_UNREACHABLE,
                       "PVM_VMID=%.60s: want at most %d characters, no slash",
                       name, NAME_MOST);
    return NF_OK;
}

void nf_vmlock_init(struct nf_vmlock *lock)
{
    lock->fd = -1;
}

enum nf_status nf_vmlock_begin(struct nf_vmlock *lock, struct nf_error *err)
{
    char path[PATH_MAX], socket_file[PATH_MAX];
    struct stat st;
    const char *name;

    if (check_names(err) != NF_OK)
        return NF_ERR_UNREACHABLE;
    nf_pvm_socket_file(socket_file, sizeof(socket_file));
    name = strrchr(socket_file, '/') + strlen("/pvmd.");
    snprintf(path, sizeof(path), "%s/nowfarm.%s.lock", nf_pvm_folder(), name);
    lock->fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (lock->fd < 0)
        return nf_fail(err, NF_ERR_UNREACHABLE,
                       "PVM's folder %s can't be used: %s: %s", nf_pvm_folder(),
                       path, strerror(errno));
    if (fstat(lock->fd, &st) != 0 || st.st_uid != getuid()) {
        nf_vmlock_forget(lock);
        return nf_fail(err, NF_ERR_UNREACHABLE, "%s belongs to another user",
                       path);
    }
    if (!set_lock_soon(lock, F_WRLCK, START_BYTE)) {
        nf_vmlock_forget(lock);
        return nf_fail(err, NF_ERR_UNREACHABLE,
                       "another nowfarm has been starting or halting PVM for "
                       "20 s (%s)",
                       path);
    }
    return NF_OK;
}

void nf_vmlock_mark(struct nf_vmlock *lock, bool for_jobs)
{
    char text[64] = "";

    if (for_jobs)
        identity(text, sizeof(text));
    if (ftruncate(lock->fd, 0) != 0 ||
        pwrite(lock->fd, text, strlen(text), 0) < 0)
        return; /* unmarked: the pvmd is left running, the safe side */
}

void nf_vmlock_hold(struct nf_vmlock *lock)
{
    set_lock_soon(lock, F_RDLCK, USERS_BYTE);
    set_lock(lock, F_UNLCK, START_BYTE);
}

bool nf_vmlock_last(struct nf_vmlock *lock)
{
    char marked[64] = "", now[64];

    if (!set_lock_soon(lock, F_WRLCK, START_BYTE) ||
        !set_lock(lock, F_WRLCK, USERS_BYTE))
        return false;
    if (pread(lock->fd, marked, sizeof(marked) - 1, 0) <= 0)
        return false;
    identity(now, sizeof(now));
    return strcmp(marked, now) == 0;
}

void nf_vmlock_end(struct nf_vmlock *lock)
{
    nf_vmlock_forget(lock);
}

void nf_vmlock_forget(struct nf_vmlock *lock)
{
    if (lock->fd >= 0)
        close(lock->fd);
    lock->fd = -1;
}
