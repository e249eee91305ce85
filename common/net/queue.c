/* A queue of messages between threads. */
#include "config.h"
#include "common/net/queue.h"
#include <string.h>
#include "common/base/alloc.h"

/* Bodies up to this size fit every node, and such nodes are used again. */
#define NODE_BYTES 248
/* The most nodes kept for reuse in one queue. */
#define SPARE_NODES 1024

static void list_push(struct nf_node_list *list, struct nf_node *node)
{
    node->next = NULL;
    if (list->head == NULL)
        list->head = node;
    else
        list->tail->next = node;
    list->tail = node;
}

static struct nf_node *list_pop(struct nf_node_list *list)
{
    struct nf_node *node = list->head;

    if (node != NULL)
        list->head = node->next;
    return node;
}

/* Put all of *front before all of *list. */
static void list_prepend(struct nf_node_list *list, struct nf_node_list *front)
{
    if (front->head == NULL)
        return;
    front->tail->next = list->head;
    if (list->head == NULL)
        list->tail = front->tail;
    list->head = front->head;
    front->head = NULL;
}

/* Put all of *back behind all of *list. */
static void list_append(struct nf_node_list *list, struct nf_node_list *back)
{
    if (back->head == NULL)
        return;
    if (list->head == NULL)
        list->head = back->head;
    else
        list->tail->next = back->head;
    list->tail = back->tail;
    back->head = NULL;
}

struct nf_node *nf_node_create(size_t bytes)
{
    size_t capacity = bytes < NODE_BYTES ? NODE_BYTES : bytes;
    struct nf_node *node;

    if (capacity > SIZE_MAX - sizeof(*node))
        return NULL;
    node = nf_malloc(sizeof(*node) + capacity);
    if (node == NULL)
        return NULL;
    memset(node, 0, sizeof(*node));
    node->capacity = capacity;
    return node;
}

static size_t node_bytes(const struct nf_node *node)
{
    return node->bytes + (node->payload == NULL ? 0 : node->payload->bytes);
}

static void nodes_free(struct nf_node *node)
{
    while (node != NULL) {
        struct nf_node *next = node->next;

        nf_blob_unref(node->payload);
        nf_free(node);
        node = next;
    }
}

void nf_queue_init(struct nf_queue *queue)
{
    pthread_mutex_init(&queue->lock, NULL);
}

void nf_queue_fini(struct nf_queue *queue)
{
    nodes_free(queue->urgent.head);
    nodes_free(queue->normal.head);
    nodes_free(queue->taken.head);
    nodes_free(queue->spare);
    nodes_free(queue->used);
    nf_free(queue->current);
    pthread_mutex_destroy(&queue->lock);
}

void nf_queue_push(struct nf_queue *queue, struct nf_node *node, bool urgent)
{
    list_push(urgent ? &queue->urgent : &queue->normal, node);
    atomic_fetch_add(&queue->backlog_bytes, node_bytes(node));
    atomic_fetch_add(&queue->waiting, 1);
    if (urgent)
        atomic_fetch_add(&queue->waiting_urgent, 1);
}

struct nf_node *nf_queue_fill(struct nf_queue *queue, const struct nf_msg *msg)
{
    struct nf_node *node = queue->spare;

    if (node != NULL && msg->body_bytes <= node->capacity) {
        queue->spare = node->next;
        queue->nspare--;
    } else {
        node = nf_node_create(msg->body_bytes);
        if (node == NULL)
            return NULL;
    }
    node->what = NF_NODE_MESSAGE;
    node->kind = msg->kind;
    node->bytes = msg->body_bytes;
    if (msg->body_bytes > 0)
        memcpy(node->body, msg->body, msg->body_bytes);
    node->payload = nf_blob_ref(msg->payload);
    return node;
}

/* The reader gives back what it has read; with the lock held. */
static void queue_recycle(struct nf_queue *queue)
{
    while (queue->used != NULL && queue->nspare < SPARE_NODES) {
        struct nf_node *node = queue->used;

        queue->used = node->next;
        node->next = queue->spare;
        queue->spare = node;
        queue->nspare++;
    }
    nodes_free(queue->used);
    queue->used = NULL;
    queue->nused = 0;
}

/* Reader: move what is there to `taken`.  With the lock held. */
static void queue_take_locked(struct nf_queue *queue)
{
    queue_recycle(queue);
    list_prepend(&queue->taken, &queue->urgent);
    list_append(&queue->taken, &queue->normal);
    atomic_store(&queue->waiting, 0);
    atomic_store(&queue->waiting_urgent, 0);
}

struct nf_node *nf_queue_next(struct nf_queue *queue)
{
    struct nf_node *node = queue->current;

    if (node != NULL && node->capacity > NODE_BYTES) {
        nf_free(node);
    } else if (node != NULL) {
        node->payload = NULL;
        node->next = queue->used;
        queue->used = node;
        queue->nused++;
    }
    queue->current = NULL;
    if (atomic_load(&queue->waiting_urgent) > 0 ||
        queue->nused >= SPARE_NODES / 4 ||
        (queue->taken.head == NULL && atomic_load(&queue->waiting) > 0)) {
        pthread_mutex_lock(&queue->lock);
        queue_take_locked(queue);
        pthread_mutex_unlock(&queue->lock);
    }
    node = list_pop(&queue->taken);
    if (node != NULL) {
        queue->current = node;
        atomic_fetch_sub(&queue->backlog_bytes, node_bytes(node));
    }
    return node;
}

bool nf_queue_is_empty(const struct nf_queue *queue)
{
    return queue->taken.head == NULL && atomic_load(&queue->waiting) == 0;
}

void nf_queue_clear(struct nf_queue *queue)
{
    struct nf_node_list urgent, normal;
    size_t bytes = 0;

    pthread_mutex_lock(&queue->lock);
    urgent = queue->urgent;
    normal = queue->normal;
    queue->urgent.head = queue->normal.head = NULL;
    for (struct nf_node *n = urgent.head; n != NULL; n = n->next)
        bytes += node_bytes(n);
    for (struct nf_node *n = normal.head; n != NULL; n = n->next)
        bytes += node_bytes(n);
    atomic_fetch_sub(&queue->backlog_bytes, bytes);
    atomic_store(&queue->waiting, 0);
    atomic_store(&queue->waiting_urgent, 0);
    pthread_mutex_unlock(&queue->lock);
    nodes_free(urgent.head);
    nodes_free(normal.head);
}
