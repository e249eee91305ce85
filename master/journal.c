/* A thread that does what the loop must not: wait for the disk.  Two lists
 * under one lock, entries to do and entries done, and a pipe that wakes the
 * loop. */
#include "config.h"
#include "master/journal.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/log.h"

struct node {
    struct node *next;
    struct nf_journal_entry entry;
    char *texts; /* what the entry's job points to */
    enum nf_status status;
    struct nf_error err;
};

struct list {
    struct node *first, **end;
};

struct nf_journal {
    struct nf_store *store; /* the thread's alone */
    pthread_t thread;
    pthread_mutex_t lock; /* protects all below */
    pthread_cond_t wake;
    struct list todo, done;
    bool closing;
    int wake_fds[2]; /* not protected: written by the thread, read by the loop
                      */
    struct event *event;
};

static void list_init(struct list *list)
{
    list->first = NULL;
    list->end = &list->first;
}

static void list_add(struct list *list, struct node *node)
{
    node->next = NULL;
    *list->end = node;
    list->end = &node->next;
}

static struct node *list_take_all(struct list *list)
{
    struct node *first = list->first;

    list_init(list);
    return first;
}

static void node_free(struct node *node)
{
    nf_free(node->entry.report.data);
    nf_free(node->entry.log.data);
    nf_free(node->texts);
    nf_free(node);
}

static void carry_out(struct nf_store *store, struct node *node)
{
    struct nf_journal_entry *entry = &node->entry;

    switch (entry->kind) {
    case NF_JOURNAL_INSERT:
        node->status = nf_store_insert(store, &entry->job, &node->err);
        break;
    case NF_JOURNAL_UPDATE:
        node->status = nf_store_update(store, &entry->job, &node->err);
        break;
    case NF_JOURNAL_FINISH:
        node->status = nf_store_finish(store, &entry->job, &entry->report,
                                       &entry->log, &node->err);
        break;
    case NF_JOURNAL_DELETE:
        node->status = nf_store_delete(store, entry->job.id, &node->err);
        break;
    case NF_JOURNAL_FETCH:
        node->status = nf_store_fetch(store, entry->job.id, &entry->report,
                                      &entry->log, &node->err);
        break;
    }
    if (node->status != NF_OK)
        nf_log(NF_LOG_ERROR, "job %llu: %s", (unsigned long long)entry->job.id,
               node->err.text);
}

static void *journal_thread(void *arg)
{
    struct nf_journal *journal = arg;

    pthread_mutex_lock(&journal->lock);
    for (;;) {
        struct node *node = list_take_all(&journal->todo);

        if (node == NULL) {
            if (journal->closing)
                break;
            pthread_cond_wait(&journal->wake, &journal->lock);
            continue;
        }
        pthread_mutex_unlock(&journal->lock);
        while (node != NULL) {
            struct node *next = node->next;

            carry_out(journal->store, node);
            pthread_mutex_lock(&journal->lock);
            list_add(&journal->done, node);
            pthread_mutex_unlock(&journal->lock);
            /* a full pipe wakes the loop as well as one byte more */
            if (write(journal->wake_fds[1], "", 1) < 0 && errno != EAGAIN)
                nf_log(NF_LOG_ERROR, "journal: %s", strerror(errno));
            node = next;
        }
        pthread_mutex_lock(&journal->lock);
    }
    pthread_mutex_unlock(&journal->lock);
    return NULL;
}

static void deliver(struct nf_journal *journal)
{
    struct node *node, *next;

    pthread_mutex_lock(&journal->lock);
    node = list_take_all(&journal->done);
    pthread_mutex_unlock(&journal->lock);
    for (; node != NULL; node = next) {
        next = node->next;
        if (node->entry.done != NULL)
            node->entry.done(node->entry.user, &node->entry, node->status,
                             &node->err);
        node_free(node);
    }
}

static void on_wake(evutil_socket_t fd, short what, void *arg)
{
    char bytes[256];

    (void)what;
    if (read(fd, bytes, sizeof(bytes)) >= 0)
        deliver(arg);
}

/* Signals belong to the loop's thread. */
static int start_thread(struct nf_journal *journal)
{
    sigset_t all, before;
    int failed;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = pthread_create(&journal->thread, NULL, journal_thread, journal);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed;
}

struct nf_journal *nf_journal_open(struct event_base *base,
                                   struct nf_store *store)
{
    struct nf_journal *journal = nf_calloc(1, sizeof(*journal));

    if (journal == NULL)
        return NULL;
    journal->store = store;
    list_init(&journal->todo);
    list_init(&journal->done);
    if (pipe2(journal->wake_fds, O_CLOEXEC | O_NONBLOCK) != 0)
        goto err_free;
    pthread_mutex_init(&journal->lock, NULL);
    pthread_cond_init(&journal->wake, NULL);
    journal->event = event_new(base, journal->wake_fds[0], EV_READ | EV_PERSIST,
                               on_wake, journal);
    if (journal->event == NULL || event_priority_set(journal->event, 0) != 0 ||
        event_add(journal->event, NULL) != 0)
        goto err_pipe;
    if (start_thread(journal) != 0)
        goto err_pipe;
    return journal;
err_pipe:
    if (journal->event != NULL)
        event_free(journal->event);
    close(journal->wake_fds[0]);
    close(journal->wake_fds[1]);
err_free:
    nf_free(journal);
    return NULL;
}

void nf_journal_close(struct nf_journal *journal)
{
    if (journal == NULL)
        return;
    pthread_mutex_lock(&journal->lock);
    journal->closing = true;
    pthread_cond_signal(&journal->wake);
    pthread_mutex_unlock(&journal->lock);
    pthread_join(journal->thread, NULL);
    deliver(journal);
    event_free(journal->event);
    close(journal->wake_fds[0]);
    close(journal->wake_fds[1]);
    pthread_mutex_destroy(&journal->lock);
    pthread_cond_destroy(&journal->wake);
    nf_free(journal);
}

/* Move *text into the block at *at; NULL stays NULL. */
static void move_text(const char **text, char **at)
{
    if (*text == NULL)
        return;
    strcpy(*at, *text);
    *text = *at;
    *at += strlen(*at) + 1;
}

static size_t text_bytes(const char *text)
{
    return text == NULL ? 0 : strlen(text) + 1;
}

static struct node *node_create(const struct nf_journal_entry *entry)
{
    const struct nf_store_job *job = &entry->job;
    struct node *node = nf_calloc(1, sizeof(*node));
    char *at = nf_malloc(text_bytes(job->name) + text_bytes(job->state) +
                         text_bytes(job->note) + text_bytes(job->spec) +
                         text_bytes(job->progress));

    if (node == NULL || at == NULL) {
        nf_free(node);
        nf_free(at);
        return NULL;
    }
    node->entry = *entry;
    node->texts = at;
    move_text(&node->entry.job.name, &at);
    move_text(&node->entry.job.state, &at);
    move_text(&node->entry.job.note, &at);
    move_text(&node->entry.job.spec, &at);
    move_text(&node->entry.job.progress, &at);
    return node;
}

enum nf_status nf_journal_post(struct nf_journal *journal,
                               const struct nf_journal_entry *entry)
{
    struct node *node = node_create(entry);

    if (node == NULL) {
        nf_free(entry->report.data);
        nf_free(entry->log.data);
        return NF_ERR_NOMEM;
    }
    pthread_mutex_lock(&journal->lock);
    list_add(&journal->todo, node);
    pthread_cond_signal(&journal->wake);
    pthread_mutex_unlock(&journal->lock);
    return NF_OK;
}
