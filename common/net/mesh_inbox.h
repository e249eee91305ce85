#ifndef NF_NET_MESH_INBOX_H
#define NF_NET_MESH_INBOX_H
/** @file mesh_inbox.h  What waits for one thread of a mesh of threads.
 *
 *  A writer wakes the reader only if that has said that it is about to sleep.
 *  The lock is held inside of these functions only. */
#include <pthread.h>
#include <stdatomic.h>
#include "common/net/mesh.h"

struct inbox_note {
    struct inbox_note *next;
    enum nf_mesh_event_kind kind;
    bool urgent;
    uint32_t from;
    struct nf_blob *payload; /**< one reference */
    size_t head_bytes;
    uint8_t head[];
};

struct inbox_list {
    struct inbox_note *head, *tail;
};

/** What an inbox knows of one sender. */
struct inbox_sender {
    atomic_size_t unread_bytes;
    bool paused;             /**< its notes go to held */
    struct inbox_list held;  /**< before those in normal */
    struct inbox_note *left; /**< reserved, so that its leaving can't be lost */
};

struct inbox {
    pthread_mutex_t lock;
    struct inbox_list urgent, normal;
    bool sleeping;  /**< the reader is, or is about to be */
    bool signalled; /**< fd was written and not read */
    bool closed;
    atomic_size_t fetched_bytes; /**< of the owner's messages to others, that
                                      were beyond a window when taken */
    int fd;                      /**< eventfd */
    void (*wake)(void *arg);     /**< wakes the reader, or NULL: fd does */
    void *wake_arg;
    uint32_t ranks;
    struct inbox_sender *senders; /**< [ranks] */
};

/** @param inbox  all zero; nf_inbox_fini() it in any case
 *  @retval NF_ERR_NOMEM  @retval NF_ERR_IO */
enum nf_status nf_inbox_init(struct inbox *inbox, uint32_t ranks,
                             struct nf_error *err);
void nf_inbox_fini(struct inbox *inbox);
/** Drop what is in it, and take nothing more. */
void nf_inbox_close(struct inbox *inbox);
/** @return whether it was taken; a closed inbox takes nothing */
bool nf_inbox_deliver(struct inbox *inbox, struct inbox_note *note);
/** The next note, or NULL: then the descriptor will tell of the next. */
struct inbox_note *nf_inbox_take(struct inbox *inbox);
/** Keep back what @p sender sends, or no more. */
void nf_inbox_pause(struct inbox *inbox, uint32_t sender, bool paused);
/** Get ready to sleep on the descriptor.  @return false: there is something */
bool nf_inbox_may_sleep(struct inbox *inbox);
/** Wake the reader if it sleeps. */
void nf_inbox_wake(struct inbox *inbox);
/** The reader sleeps on something else than the descriptor.
 *  @param wake  called by any thread, with the inbox's lock held, until it is
 *               closed; not again before the reader has found nothing to take */
void nf_inbox_set_wake(struct inbox *inbox, void (*wake)(void *arg), void *arg);
size_t nf_inbox_note_bytes(const struct inbox_note *note);
/** NULL is fine. */
void nf_inbox_free_note(struct inbox_note *note);
#endif
