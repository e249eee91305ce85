/* A growing file behind a thread.  What is to be written is collected in one
 * buffer while the thread writes another; they change places. */
#include "config.h"
#include "common/trace/sink.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/error.h"

enum { BEHIND_MOST_BYTES = 64 << 20 };

struct pile {
    char *data;
    size_t bytes, capacity;
};

struct nf_trace_sink {
    int fd;
    bool threaded, started;
    pthread_t thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t change;
    struct pile waiting; /* the thread's next */
    bool closing;
    char error[200];
    char name[PATH_MAX]; /* as the user wrote it */
};

/* ---- the file ---- */

/* The final path without symbolic links.  A name that does not exist yet is
 * itself. */
static enum nf_status resolve(const char *name, char *path_p,
                              struct nf_error *err)
{
    struct stat info;

    if (strlen(name) >= PATH_MAX - 32 || name[0] == '\0')
        return nf_fail(err, NF_ERR_INVAL, "trace \"%.60s\": %s", name,
                       name[0] == '\0' ? "want the name of a file"
                                       : strerror(ENAMETOOLONG));
    strcpy(path_p, name);
    if (lstat(name, &info) != 0)
        return NF_OK; /* creating its neighbour will tell */
    if (S_ISLNK(info.st_mode) &&
        (realpath(name, path_p) == NULL || stat(path_p, &info) != 0))
        return nf_fail(err, NF_ERR_INVAL,
                       "trace %s: is a symbolic link that leads nowhere: %s",
                       name, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return nf_fail(err, NF_ERR_INVAL, "trace %s: %s", name,
                       S_ISDIR(info.st_mode)
                           ? "is a directory (want a file)"
                           : "exists and is not a regular file");
    if (access(path_p, W_OK) != 0)
        return nf_fail(err, NF_ERR_INVAL,
                       "trace %s: exists and cannot be overwritten: %s", name,
                       strerror(errno));
    return NF_OK;
}

static int write_all(int fd, const char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t written = write(fd, data, bytes);

        if (written < 0 && errno != EINTR)
            return errno;
        if (written > 0) {
            data += written;
            bytes -= (size_t)written;
        }
    }
    return 0;
}

/* A new file with its head, under its name. */
static enum nf_status begin_file(struct nf_trace_sink *sink, const char *head,
                                 size_t bytes, struct nf_error *err)
{
    char path[PATH_MAX], temporary[PATH_MAX + 32];
    const char *slash;
    int error;
    enum nf_status status = resolve(sink->name, path, err);

    if (status != NF_OK)
        return status;
    slash = strrchr(path, '/');
    snprintf(temporary, sizeof(temporary), "%.*s.nowfarm-trace-%ld.tmp",
             slash != NULL ? (int)(slash - path) + 1 : 0, path, (long)getpid());
    (void)unlink(temporary); /* of a process that had our number */
    sink->fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (sink->fd < 0)
        return nf_fail(err, NF_ERR_INVAL, "trace %s: cannot be created: %s",
                       sink->name, strerror(errno));
    error = write_all(sink->fd, head, bytes);
    if (error == 0 && rename(temporary, path) != 0)
        error = errno;
    if (error == 0)
        return NF_OK;
    unlink(temporary);
    return nf_fail(err, NF_ERR_IO, "trace %s: cannot be written: %s",
                   sink->name, strerror(error));
}

/* ---- the thread ---- */

/* The first error counts; the lock is held, or there is no thread. */
static void set_error(struct nf_trace_sink *sink, const char *text)
{
    if (sink->error[0] == '\0')
        snprintf(sink->error, sizeof(sink->error), "%s", text);
}

static void *write_piles(void *arg)
{
    struct nf_trace_sink *sink = arg;
    struct pile mine = { NULL, 0, 0 };

    pthread_mutex_lock(&sink->lock);
    while (!sink->closing || sink->waiting.bytes > 0) {
        struct pile full = sink->waiting;
        int error;

        if (full.bytes == 0) {
            pthread_cond_wait(&sink->change, &sink->lock);
            continue;
        }
        sink->waiting = mine;
        mine = full;
        pthread_mutex_unlock(&sink->lock);
        error = write_all(sink->fd, mine.data, mine.bytes);
        mine.bytes = 0;
        pthread_mutex_lock(&sink->lock);
        if (error != 0) {
            set_error(sink, strerror(error));
            sink->waiting.bytes = 0;
        }
    }
    pthread_mutex_unlock(&sink->lock);
    nf_free(mine.data);
    return NULL;
}

/* Not at create: the master forks its keeper after that, and a process of one
 * thread is better forked. */
static bool start_thread(struct nf_trace_sink *sink)
{
    sigset_t all, before;
    int error;

    if (sink->started)
        return true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&sink->thread, NULL, write_piles, sink);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0)
        set_error(sink, strerror(error));
    sink->started = error == 0;
    return sink->started;
}

static bool pile_up(struct pile *pile, const char *data, size_t bytes)
{
    size_t capacity = pile->capacity == 0 ? 1 << 17 : pile->capacity;
    char *more;

    while (capacity < pile->bytes + bytes)
        capacity *= 2;
    if (capacity != pile->capacity) {
        more = nf_realloc(pile->data, capacity);
        if (more == NULL)
            return false;
        pile->data = more;
        pile->capacity = capacity;
    }
    memcpy(pile->data + pile->bytes, data, bytes);
    pile->bytes += bytes;
    return true;
}

/* ---- life ---- */

enum nf_status nf_trace_sink_create(const char *path, const char *head,
                                    size_t bytes, bool threaded,
                                    struct nf_trace_sink **sink_p,
                                    struct nf_error *err)
{
    struct nf_trace_sink *sink = nf_calloc(1, sizeof(*sink));
    enum nf_status status;

    if (sink == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "trace %s: out of memory", path);
    sink->fd = -1;
    sink->threaded = threaded;
    pthread_mutex_init(&sink->lock, NULL);
    pthread_cond_init(&sink->change, NULL);
    snprintf(sink->name, sizeof(sink->name), "%s", path);
    status = begin_file(sink, head, bytes, err);
    if (status != NF_OK) {
        (void)nf_trace_sink_close(sink, NULL);
        return status;
    }
    *sink_p = sink;
    return NF_OK;
}

void nf_trace_sink_write(struct nf_trace_sink *sink, const char *data,
                         size_t bytes)
{
    int error;

    if (!sink->threaded) {
        error = sink->error[0] == '\0' ? write_all(sink->fd, data, bytes) : 0;
        if (error != 0)
            set_error(sink, strerror(error));
        return;
    }
    pthread_mutex_lock(&sink->lock);
    if (sink->error[0] == '\0' && start_thread(sink)) {
        if (sink->waiting.bytes + bytes > BEHIND_MOST_BYTES)
            set_error(sink, "the disk is too slow");
        else if (!pile_up(&sink->waiting, data, bytes))
            set_error(sink, "out of memory");
        pthread_cond_signal(&sink->change);
    }
    pthread_mutex_unlock(&sink->lock);
}

const char *nf_trace_sink_error(struct nf_trace_sink *sink)
{
    const char *error;

    pthread_mutex_lock(&sink->lock);
    error = sink->error[0] != '\0' ? sink->error : NULL; /* set only once */
    pthread_mutex_unlock(&sink->lock);
    return error;
}

enum nf_status nf_trace_sink_close(struct nf_trace_sink *sink,
                                   struct nf_error *err)
{
    enum nf_status status = NF_OK;

    if (sink->started) {
        pthread_mutex_lock(&sink->lock);
        sink->closing = true;
        pthread_cond_signal(&sink->change);
        pthread_mutex_unlock(&sink->lock);
        pthread_join(sink->thread, NULL);
    }
    if (sink->fd >= 0 && close(sink->fd) != 0)
        set_error(sink, strerror(errno));
    if (sink->error[0] != '\0')
        status = nf_fail(err, NF_ERR_IO, "trace %s: it is not complete: %s",
                         sink->name, sink->error);
    pthread_cond_destroy(&sink->change);
    pthread_mutex_destroy(&sink->lock);
    nf_free(sink->waiting.data);
    nf_free(sink);
    return status;
}
