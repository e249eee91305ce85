/* Result files: written beside their final name, then renamed.
 *
 * The names of temporary files live in a static table, because a signal
 * handler must be able to remove them: it can neither lock nor walk memory
 * that is being changed.  A slot is published by its `owner` after its path is
 * complete and withdrawn before the path is reused. */
#include "config.h"
#include "apps/output.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/error.h"

#define MAX_PENDING 16
#define CLAIMED     (-1) /* owner of a slot whose path is not complete */

struct pending {
    atomic_int owner; /* process id; 0: free */
    char path[PATH_MAX];
};

struct nf_output {
    int fd;
    struct pending *temporary;
    char *name;          /* as the user wrote it, for messages */
    char path[PATH_MAX]; /* final, symbolic links resolved */
};

static struct pending table[MAX_PENDING];
static atomic_uint next_serial;
static atomic_flag exit_registered = ATOMIC_FLAG_INIT;

void nf_output_cleanup(void)
{
    int saved_errno = errno, self = (int)getpid();

    for (size_t i = 0; i < MAX_PENDING; i++)
        if (atomic_load(&table[i].owner) == self) {
            unlink(table[i].path);
            atomic_store(&table[i].owner, 0);
        }
    errno = saved_errno;
}

/* The directory part of `path`: "." or "/" if need be. */
static void directory_of(const char *path, char *directory)
{
    const char *slash = strrchr(path, '/');

    if (slash == NULL)
        strcpy(directory, ".");
    else if (slash == path)
        strcpy(directory, "/");
    else
        snprintf(directory, PATH_MAX, "%.*s", (int)(slash - path), path);
}

static enum nf_status check_directory(const char *name, const char *path,
                                      struct nf_error *err)
{
    char directory[PATH_MAX];
    struct stat info;

    directory_of(path, directory);
    if (stat(directory, &info) != 0)
        return errno == ENOENT
                   ? nf_fail(err, NF_ERR_INVAL,
                             "%s: there is no directory '%s'", name, directory)
                   : nf_fail(err, NF_ERR_INVAL, "%s: directory '%s': %s", name,
                             directory, strerror(errno));
    if (!S_ISDIR(info.st_mode))
        return nf_fail(err, NF_ERR_INVAL, "%s: '%s' is not a directory", name,
                       directory);
    if (access(directory, W_OK | X_OK) != 0)
        return nf_fail(err, NF_ERR_INVAL,
                       "%s: cannot create files in directory '%s': %s", name,
                       directory, strerror(errno));
    return NF_OK;
}

/* As nf_output_check(); path_p[PATH_MAX] gets the path without links. */
static enum nf_status resolve(const char *name, char *path_p,
                              struct nf_error *err)
{
    struct stat info;
    size_t length = strlen(name);

    if (length == 0)
        return nf_fail(err, NF_ERR_INVAL, "the output file has an empty name");
    if (length >= PATH_MAX)
        return nf_fail(err, NF_ERR_INVAL, "%.60s...: %s", name,
                       strerror(ENAMETOOLONG));
    if (strcmp(name, "-") == 0)
        return nf_fail(err, NF_ERR_INVAL,
                       "-: want a file, results are written at many places of it "
                       "at a time (one of that name is ./-)");
    strcpy(path_p, name);
    if (lstat(name, &info) != 0) {
        if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
            return nf_fail(err, NF_ERR_INVAL, "%.200s: %s", name,
                           strerror(errno));
        if (name[length - 1] == '/')
            return nf_fail(err, NF_ERR_INVAL,
                           "%s: is the name of a directory (want a file)",
                           name);
        return check_directory(name, path_p, err);
    }
    if (S_ISLNK(info.st_mode) &&
        (realpath(name, path_p) == NULL || stat(path_p, &info) != 0))
        return nf_fail(err, NF_ERR_INVAL,
                       "%s: is a symbolic link that leads nowhere: %s", name,
                       strerror(errno));
    if (S_ISDIR(info.st_mode))
        return nf_fail(err, NF_ERR_INVAL, "%s: is a directory (want a file)",
                       name);
    if (!S_ISREG(info.st_mode))
        return nf_fail(err, NF_ERR_INVAL,
                       "%s: exists and is not a regular file", name);
    if (access(path_p, W_OK) != 0)
        return nf_fail(err, NF_ERR_INVAL,
                       "%s: exists and cannot be overwritten: %s", name,
                       strerror(errno));
    return check_directory(name, path_p, err);
}

enum nf_status nf_output_check(const char *path, struct nf_error *err)
{
    char resolved[PATH_MAX];

    return resolve(path, resolved, err);
}

static struct pending *claim_slot(void)
{
    for (size_t i = 0; i < MAX_PENDING; i++) {
        int free_slot = 0;

        if (atomic_compare_exchange_strong(&table[i].owner, &free_slot,
                                           CLAIMED))
            return &table[i];
    }
    return NULL;
}

/* Create output->temporary beside output->path.  The slot is published before
 * the file exists: removing a file that is not there does no harm, O_EXCL
 * makes sure that it is not somebody else's. */
static int create_temporary(struct nf_output *output)
{
    struct pending *slot = output->temporary;
    char directory[PATH_MAX];
    struct stat info;

    directory_of(output->path, directory);
    do {
        int length;

        atomic_store(&slot->owner, CLAIMED);
        length =
            snprintf(slot->path, PATH_MAX, "%s/.nowfarm-%ld-%u.tmp", directory,
                     (long)getpid(), atomic_fetch_add(&next_serial, 1));
        if (length < 0 || length >= PATH_MAX) {
            errno = ENAMETOOLONG;
            return -1;
        }
        if (lstat(slot->path, &info) == 0) {
            errno = EEXIST;
            output->fd = -1;
            continue;
        }
        atomic_store(&slot->owner, (int)getpid());
        output->fd =
            open(slot->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (output->fd < 0 && (errno == EEXIST || errno == EINTR));
    if (output->fd >= 0 && stat(output->path, &info) == 0)
        (void)fchmod(output->fd, info.st_mode & 07777); /* as far as we may */
    return output->fd;
}

static void output_free(struct nf_output *output)
{
    if (output->fd >= 0)
        close(output->fd);
    if (output->temporary != NULL)
        atomic_store(&output->temporary->owner, 0);
    nf_free(output->name);
    nf_free(output);
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static bool is_one_inode(const char *path, const char *other)
{
    struct stat a, b;

    return stat(path, &a) == 0 && stat(other, &b) == 0 &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* A file that is not there yet has no inode, but its directory has. */
bool nf_output_is_same(const char *path, const char *other)
{
    char directory[PATH_MAX], other_directory[PATH_MAX];

    if (strcmp(path, other) == 0 || is_one_inode(path, other))
        return true;
    if (strlen(path) >= PATH_MAX || strlen(other) >= PATH_MAX ||
        strcmp(last_part(path), last_part(other)) != 0)
        return false;
    directory_of(path, directory);
    directory_of(other, other_directory);
    return is_one_inode(directory, other_directory);
}

enum nf_status nf_output_open(const char *path, struct nf_output **output_p,
                              struct nf_error *err)
{
    struct nf_output *output = nf_calloc(1, sizeof(*output));
    enum nf_status status;

    if (output == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "%s: out of memory", path);
    output->fd = -1;
    output->name = nf_strdup(path);
    if (output->name == NULL) {
        status = nf_fail(err, NF_ERR_NOMEM, "%s: out of memory", path);
        goto err_free;
    }
    status = resolve(path, output->path, err);
    if (status != NF_OK)
        goto err_free;
    output->temporary = claim_slot();
    if (output->temporary == NULL) {
        status =
            nf_fail(err, NF_ERR_IO, "%s: more than %d files are being written",
                    path, MAX_PENDING);
        goto err_free;
    }
    if (!atomic_flag_test_and_set(&exit_registered))
        (void)atexit(nf_output_cleanup); /* if full: signals still clean up */
    if (create_temporary(output) < 0) {
        status = nf_fail(err, NF_ERR_IO, "%s: cannot create '%s': %s", path,
                         output->temporary->path, strerror(errno));
        goto err_free;
    }
    *output_p = output;
    return NF_OK;

err_free:
    output_free(output);
    return status;
}

enum nf_status nf_output_write(struct nf_output *output, const void *data,
                               size_t bytes, struct nf_error *err)
{
    const char *from = data;

    while (bytes > 0) {
        ssize_t written = write(output->fd, from, bytes);

        if (written < 0) {
            if (errno == EINTR)
                continue;
            return nf_fail(err, NF_ERR_IO, "%s: cannot write: %s", output->name,
                           strerror(errno));
        }
        from += written;
        bytes -= (size_t)written;
    }
    return NF_OK;
}

enum nf_status nf_output_write_at(struct nf_output *output, uint64_t offset,
                                  const void *data, size_t bytes,
                                  struct nf_error *err)
{
    const char *from = data;

    while (bytes > 0) {
        ssize_t written = pwrite(output->fd, from, bytes, (off_t)offset);

        if (written < 0) {
            if (errno == EINTR)
                continue;
            return nf_fail(err, NF_ERR_IO, "%s: cannot write: %s", output->name,
                           strerror(errno));
        }
        from += written;
        offset += (uint64_t)written;
        bytes -= (size_t)written;
    }
    return NF_OK;
}

enum nf_status nf_output_read_at(struct nf_output *output, uint64_t offset,
                                 void *data, size_t bytes, struct nf_error *err)
{
    char *to = data;

    while (bytes > 0) {
        ssize_t got = pread(output->fd, to, bytes, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return nf_fail(err, NF_ERR_IO, "%s: cannot read back: %s",
                           output->name,
                           got < 0 ? strerror(errno) : "it is too short");
        to += got;
        offset += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return NF_OK;
}

/* Make the rename itself durable.  Not all file systems can: no error. */
static void sync_directory(const char *path)
{
    char directory[PATH_MAX];
    int fd;

    directory_of(path, directory);
    fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)fsync(fd);
    close(fd);
}

enum nf_status nf_output_commit(struct nf_output *output, struct nf_error *err)
{
    enum nf_status status = NF_OK;
    int fd = output->fd;
    bool failed = fsync(fd) != 0 && errno != EINVAL && errno != EROFS;

    output->fd = -1;
    if (close(fd) != 0 || failed) {
        status = nf_fail(err, NF_ERR_IO, "%s: cannot write: %s", output->name,
                         strerror(errno));
    } else if (rename(output->temporary->path, output->path) != 0) {
        status =
            nf_fail(err, NF_ERR_IO, "%s: cannot rename '%s' to it: %s",
                    output->name, output->temporary->path, strerror(errno));
    } else {
        sync_directory(output->path);
        output_free(output);
        return NF_OK;
    }
    nf_output_abort(output);
    return status;
}

void nf_output_abort(struct nf_output *output)
{
    if (output == NULL)
        return;
    unlink(output->temporary->path);
    output_free(output);
}

enum nf_status nf_output_write_whole(const char *path, const void *data,
                                     size_t bytes, struct nf_error *err)
{
    struct nf_output *output;
    enum nf_status status = nf_output_open(path, &output, err);

    if (status != NF_OK)
        return status;
    status = nf_output_write(output, data, bytes, err);
    if (status == NF_OK)
        return nf_output_commit(output, err);
    nf_output_abort(output);
    return status;
}

/* ---- made in memory ---- */

enum nf_status nf_output_text_open(struct nf_output_text *text_p,
                                   struct nf_error *err)
{
    *text_p = (struct nf_output_text){ .text = NULL };
    text_p->to = open_memstream(&text_p->text, &text_p->bytes);
    return text_p->to != NULL ? NF_OK
                              : nf_fail(err, NF_ERR_NOMEM, "out of memory");
}

enum nf_status nf_output_text_close(struct nf_output_text *text,
                                    enum nf_status status, const char *path,
                                    struct nf_error *err)
{
    bool failed = ferror(text->to) != 0;

    if (fclose(text->to) != 0 || failed || status != NF_OK)
        status = nf_fail(err, NF_ERR_NOMEM, "%s: out of memory", path);
    else
        status = nf_output_write_whole(path, text->text, text->bytes, err);
    free(text->text);
    return status;
}
