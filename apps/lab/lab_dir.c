/* A lab's name, directory and locks. */
#include "config.h"
#include "apps/lab/lab_dir.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/base/error.h"

static int is_name(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";
    size_t length = strlen(text);

    return length > 0 && length < LAB_NAME_BYTES && text[0] != '-' &&
           strspn(text, letters) == length;
}

enum nf_status lab_find(const char *name, struct lab *lab_p,
                        struct nf_error *err)
{
    if (name == NULL || name[0] == '\0')
        name = getenv("NOWFARM_LAB");
    if (name == NULL || name[0] == '\0')
        name = "lab";
    if (!is_name(name))
        return nf_fail(err, NF_ERR_INVAL,
                       "lab \"%.60s\": want a name of 1 to %d letters, digits "
                       "or '-'",
                       name, LAB_NAME_BYTES - 1);
    strcpy(lab_p->name, name);
    /* who is root in a user namespace only cannot write to /run */
    if (geteuid() == 0 && access("/run", W_OK) == 0)
        strcpy(lab_p->root, "/run/nowfarm-lab");
    else
        snprintf(lab_p->root, sizeof(lab_p->root), "/tmp/nowfarm-lab-%lu",
                 (unsigned long)geteuid());
    snprintf(lab_p->dir, sizeof(lab_p->dir), "%s/%s", lab_p->root, name);
    return NF_OK;
}

void lab_path(const struct lab *lab, const char *file,
              char path_p[LAB_PATH_BYTES])
{
    snprintf(path_p, LAB_PATH_BYTES, "%s/%s/%.20s", lab->root, lab->name, file);
}

static int open_lock(const struct lab *lab, const char *what, int flags)
{
    char file[32], path[LAB_PATH_BYTES];

    snprintf(file, sizeof(file), "%.12s.lock", what);
    lab_path(lab, file, path);
    return open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
}

pid_t lab_holder(const struct lab *lab, const char *what)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    int fd = open_lock(lab, what, 0);
    int rc;

    if (fd < 0)
        return 0;
    rc = fcntl(fd, F_GETLK, &lock);
    close(fd);
    return rc == 0 && lock.l_type != F_UNLCK ? lock.l_pid : 0;
}

enum nf_status lab_hold(const struct lab *lab, const char *what,
                        struct nf_error *err)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    int fd = open_lock(lab, what, O_CREAT);

    if (fd < 0)
        return nf_fail(err, NF_ERR_IO, "%s/%s.lock: %s", lab->dir, what,
                       strerror(errno));
    if (fcntl(fd, F_SETLK, &lock) != 0)
        return nf_fail(err, NF_ERR_INVAL, "lab %s has another %s", lab->name,
                       what);
    return NF_OK;
}

int lab_is_inside(const struct lab *lab)
{
    return lab_holder(lab, "lab") == 1;
}

/* Others can write to /tmp: what is there must be ours, and no link. */
static enum nf_status check_root(const struct lab *lab, struct nf_error *err)
{
    struct stat info;

    if (mkdir(lab->root, 0700) != 0 && errno != EEXIST)
        return nf_fail(err, NF_ERR_IO, "cannot make directory %s: %s",
                       lab->root, strerror(errno));
    if (lstat(lab->root, &info) != 0)
        return errno == ENOENT ? NF_WAIT
                               : nf_fail(err, NF_ERR_IO, "%s: %s", lab->root,
                                         strerror(errno));
    if (!S_ISDIR(info.st_mode) || info.st_uid != geteuid() ||
        (info.st_mode & 022) != 0)
        return nf_fail(err, NF_ERR_INVAL,
                       "%s: want a directory of yours that only you can write "
                       "to",
                       lab->root);
    return NF_OK;
}

/* Whether the directory that is open as @p fd still has its name: the last lab
 * that goes down removes it. */
static int is_current(const struct lab *lab, int fd)
{
    struct stat opened, named;

    return fstat(fd, &opened) == 0 && lstat(lab->root, &named) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

enum nf_status lab_lock(const struct lab *lab, int *fd_p, struct nf_error *err)
{
    for (;;) {
        enum nf_status status = check_root(lab, err);
        int fd;

        if (status == NF_WAIT)
            continue;
        if (status != NF_OK)
            return status;
        fd = open(lab->root, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 && errno == ENOENT)
            continue;
        if (fd < 0 || flock(fd, LOCK_EX) != 0)
            return nf_fail(err, NF_ERR_IO, "%s: %s", lab->root,
                           strerror(errno));
        if (is_current(lab, fd)) {
            *fd_p = fd;
            return NF_OK;
        }
        close(fd);
    }
}

void lab_unlock(const struct lab *lab, int fd)
{
    rmdir(lab->root); /* fails, as it should, while there are labs */
    close(fd);
}

static int remove_tree(int at, const char *name);

static int remove_entries(int fd)
{
    DIR *dir = fdopendir(fd);
    struct dirent *entry;
    int rc = 0;

    if (dir == NULL) {
        close(fd);
        return -1;
    }
    while ((entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            rc |= remove_tree(dirfd(dir), entry->d_name);
    closedir(dir);
    return rc;
}

static int remove_tree(int at, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    struct stat info;
    int fd;

    if (fstatat(at, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : -1;
    if (!S_ISDIR(info.st_mode))
        return unlinkat(at, name, 0);
    fd = openat(at, name, flags);
    if (fd < 0 && errno == EACCES && fchmodat(at, name, 0700, 0) == 0)
        fd = openat(at, name, flags);
    if (fd < 0)
        return -1;
    fchmod(fd, 0700); /* users' directories may be read-only */
    if (remove_entries(fd) != 0)
        return -1;
    return unlinkat(at, name, AT_REMOVEDIR);
}

enum nf_status lab_remove_dir(const struct lab *lab, struct nf_error *err)
{
    if (remove_tree(AT_FDCWD, lab->dir) == 0)
        return NF_OK;
    return nf_fail(err, NF_ERR_IO, "cannot remove all of %s: %s", lab->dir,
                   strerror(errno));
}

int lab_each(int (*visit)(const struct lab *lab, void *arg), void *arg)
{
    struct lab lab;
    struct dirent *entry;
    DIR *dir;
    int status = 0;

    if (lab_find("lab", &lab, NULL) != NF_OK)
        return 0;
    dir = opendir(lab.root);
    if (dir == NULL)
        return 0;
    while ((entry = readdir(dir)) != NULL) {
        int one = 0;

        if (is_name(entry->d_name) &&
            lab_find(entry->d_name, &lab, NULL) == NF_OK)
            one = visit(&lab, arg);
        status = one > status ? one : status;
    }
    closedir(dir);
    return status;
}

int lab_write_file(const char *path, const char *text, int make)
{
    size_t bytes = strlen(text);
    int fd =
        open(path, O_WRONLY | O_CLOEXEC | (make ? O_CREAT | O_TRUNC : 0), 0644);
    ssize_t written;
    int saved;

    if (fd < 0)
        return -1;
    written = write(fd, text, bytes);
    saved = errno;
    if (close(fd) != 0 && written == (ssize_t)bytes)
        return -1;
    errno = written >= 0 ? EIO : saved;
    return written == (ssize_t)bytes ? 0 : -1;
}
