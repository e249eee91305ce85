/* Inboxes of threads. */
#include "config.h"
#include "common/net/mesh_inbox.h"
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/error.h"

static void push(struct inbox_list *list, struct inbox_note *note)
{
    note->next = NULL;
    if (list->head == NULL)
        list->head = note;
    else
        list->tail->next = note;
    list->tail = note;
}

static struct inbox_note *pop(struct inbox_list *list)
{
    struct inbox_note *note = list->head;

    if (note != NULL)
        list->head = note->next;
    return note;
}

void nf_inbox_free_note(struct inbox_note *note)
{
    if (note == NULL)
        return;
    nf_blob_unref(note->payload);
    nf_free(note);
}

static void free_notes(struct inbox_list *list)
{
    while (list->head != NULL)
        nf_inbox_free_note(pop(list));
}

size_t nf_inbox_note_bytes(const struct inbox_note *note)
{
    return note->head_bytes +
           (note->payload != NULL ? note->payload->bytes : 0);
}

static void wake_locked(struct inbox *inbox)
{
    static const uint64_t one = 1;

    if (!inbox->sleeping)
        return;
    inbox->sleeping = false;
    if (inbox->wake != NULL) {
        inbox->wake(inbox->wake_arg);
        return;
    }
    inbox->signalled = true;
    while (write(inbox->fd, &one, sizeof(one)) < 0 && errno == EINTR)
        continue;
}

bool nf_inbox_deliver(struct inbox *inbox, struct inbox_note *note)
{
    bool open;

    pthread_mutex_lock(&inbox->lock);
    open = !inbox->closed;
    if (open) {
        push(note->urgent ? &inbox->urgent : &inbox->normal, note);
        atomic_fetch_add(&inbox->senders[note->from].unread_bytes,
                         nf_inbox_note_bytes(note));
        wake_locked(inbox);
    }
    pthread_mutex_unlock(&inbox->lock);
    return open;
}

/* That a paused sender has left is told if nothing stands before it. */
static bool is_to_wait(const struct inbox *inbox, const struct inbox_note *note)
{
    const struct inbox_sender *s = &inbox->senders[note->from];

    return s->paused && (note->kind != NF_MESH_LEFT || s->held.head != NULL);
}

/* What paused senders sent goes to their own lists. */
static struct inbox_note *pop_normal(struct inbox *inbox)
{
    struct inbox_note *note;

    while ((note = pop(&inbox->normal)) != NULL && is_to_wait(inbox, note))
        push(&inbox->senders[note->from].held, note);
    return note;
}

struct inbox_note *nf_inbox_take(struct inbox *inbox)
{
    struct inbox_note *note;
    uint64_t count;

    pthread_mutex_lock(&inbox->lock);
    note = pop(&inbox->urgent);
    if (note == NULL)
        note = pop_normal(inbox);
    if (note == NULL) {
        if (inbox->signalled &&
            read(inbox->fd, &count, sizeof(count)) == sizeof(count))
            inbox->signalled = false;
        inbox->sleeping = true;
    }
    pthread_mutex_unlock(&inbox->lock);
    return note;
}

void nf_inbox_pause(struct inbox *inbox, uint32_t sender, bool paused)
{
    struct inbox_sender *s = &inbox->senders[sender];

    pthread_mutex_lock(&inbox->lock);
    s->paused = paused;
    if (!paused && s->held.head != NULL) {
        s->held.tail->next = inbox->normal.head;
        if (inbox->normal.head == NULL)
            inbox->normal.tail = s->held.tail;
        inbox->normal.head = s->held.head;
        s->held.head = NULL;
        wake_locked(inbox);
    }
    pthread_mutex_unlock(&inbox->lock);
}

bool nf_inbox_may_sleep(struct inbox *inbox)
{
    bool ready;

    pthread_mutex_lock(&inbox->lock);
    ready = inbox->urgent.head != NULL || inbox->normal.head != NULL;
    inbox->sleeping = !ready && !inbox->signalled;
    pthread_mutex_unlock(&inbox->lock);
    return !ready;
}

void nf_inbox_wake(struct inbox *inbox)
{
    pthread_mutex_lock(&inbox->lock);
    wake_locked(inbox);
    pthread_mutex_unlock(&inbox->lock);
}

void nf_inbox_set_wake(struct inbox *inbox, void (*wake)(void *arg), void *arg)
{
    pthread_mutex_lock(&inbox->lock);
    inbox->wake = wake;
    inbox->wake_arg = arg;
    pthread_mutex_unlock(&inbox->lock);
}

void nf_inbox_close(struct inbox *inbox)
{
    pthread_mutex_lock(&inbox->lock);
    inbox->closed = true;
    inbox->wake = NULL;
    free_notes(&inbox->urgent);
    free_notes(&inbox->normal);
    for (uint32_t i = 0; i < inbox->ranks; i++) {
        free_notes(&inbox->senders[i].held);
        atomic_store(&inbox->senders[i].unread_bytes, 0);
    }
    pthread_mutex_unlock(&inbox->lock);
}

void nf_inbox_fini(struct inbox *inbox)
{
    free_notes(&inbox->urgent);
    free_notes(&inbox->normal);
    for (uint32_t i = 0; i < inbox->ranks && inbox->senders != NULL; i++) {
        free_notes(&inbox->senders[i].held);
        nf_inbox_free_note(inbox->senders[i].left);
    }
    nf_free(inbox->senders);
    pthread_mutex_destroy(&inbox->lock);
    if (inbox->fd >= 0)
        close(inbox->fd);
}

enum nf_status nf_inbox_init(struct inbox *inbox, uint32_t ranks,
                             struct nf_error *err)
{
    pthread_mutex_init(&inbox->lock, NULL);
    inbox->ranks = ranks;
    inbox->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (inbox->fd < 0)
        return nf_fail(err, NF_ERR_IO, "eventfd: %s", strerror(errno));
    inbox->senders = nf_calloc(ranks, sizeof(*inbox->senders));
    if (inbox->senders == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    for (uint32_t i = 0; i < ranks; i++) {
        struct inbox_note *left = nf_calloc(1, sizeof(*left));

        if (left == NULL)
            return nf_fail(err, NF_ERR_NOMEM, "out of memory");
        left->kind = NF_MESH_LEFT;
        left->from = i;
        inbox->senders[i].left = left;
    }
    return NF_OK;
}
