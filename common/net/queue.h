#ifndef NF_NET_QUEUE_H
#define NF_NET_QUEUE_H
/** @file queue.h  Messages on their way between two threads.  Any number of
 *  writers, one reader.  The reader takes all there is at one time, and then
 *  works without the lock; nodes go back to the writers to be used again. */
#include <pthread.h>
#include <stdatomic.h>
#include "common/base/blob.h"
#include "common/wire/wire.h"

enum nf_node_what {
    NF_NODE_MESSAGE,
    NF_NODE_ENDED,       /**< its sender has ended */
    NF_NODE_NOT_STARTED, /**< its sender could not be started */
};

struct nf_node {
    struct nf_node *next;
    void *from; /**< whatever the writer says */
    enum nf_node_what what;
    enum nf_msg_kind kind;
    struct nf_blob *payload; /**< one reference, or NULL */
    size_t bytes, capacity;
    uint8_t body[];
};

struct nf_node_list {
    struct nf_node *head, *tail;
};

/** Zero-initialise, then nf_queue_init. */
struct nf_queue {
    pthread_mutex_t lock;
    /* under the lock: */
    struct nf_node_list urgent, normal;
    struct nf_node *spare;
    size_t nspare;
    bool sleeping; /**< for its owner: the reader is, or is about to be */
    /* for a look without the lock: */
    atomic_size_t waiting; /**< nodes in urgent and normal */
    atomic_size_t waiting_urgent;
    atomic_size_t backlog_bytes; /**< bodies and payloads not yet received */
    /* the reader's own: */
    struct nf_node_list taken;
    struct nf_node *current; /**< the last one received */
    struct nf_node *used;    /**< to be given back as spare */
    size_t nused;
};

void nf_queue_init(struct nf_queue *queue);
/** Free all nodes; nobody uses the queue any more. */
void nf_queue_fini(struct nf_queue *queue);

/** An empty node for a body of @p bytes; NULL if out of memory. */
struct nf_node *nf_node_create(size_t bytes);
/** Writer, with the lock held: a node with a copy of the body of @p msg and a
 *  reference on its payload; NULL if out of memory. */
struct nf_node *nf_queue_fill(struct nf_queue *queue, const struct nf_msg *msg);
/** Writer, with the lock held: append; @p urgent nodes overtake the others. */
void nf_queue_push(struct nf_queue *queue, struct nf_node *node, bool urgent);
/** Writer, without the lock: throw away what the reader has not taken. */
void nf_queue_clear(struct nf_queue *queue);

/** Reader, without the lock: the next node, or NULL.  It stays valid until the
 *  next call; its payload is the caller's, who must take it (and set it to
 *  NULL). */
struct nf_node *nf_queue_next(struct nf_queue *queue);
/** Reader, with or without the lock: is there nothing to receive? */
bool nf_queue_is_empty(const struct nf_queue *queue);
#endif
