/* The local transport: slaves are threads of this process and payloads go by
 * reference.
 *
 * Each slave has an outbox (master to slave) and all of them share the inbox
 * of the master; both are the same queue of nodes under one mutex.  A reader
 * takes all there is at one time and then works without the lock, and a
 * writer wakes it only if it has said that it is about to sleep: two busy
 * threads exchange messages without a system call.
 *
 * The net lives until its owner has closed it and the last slave thread has
 * ended, whichever is later: a kernel that never returns keeps its slave and
 * the net in memory, on purpose, because it may still use them. */
#include "config.h"
#include "common/net/net.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/net/mesh_offer.h"
#include "common/net/queue.h"

extern const struct nf_net_ops nf_net_local;
static const struct nf_port_ops port_ops;

/* How long nf_net_close waits for slaves that were told to stop. */
#define CLOSE_WAIT_US 1000000

struct local_net;

struct local_slave {
    struct nf_port port;
    struct local_net *net;
    struct local_slave *next;
    struct nf_queue outbox;
    pthread_cond_t wakeup; /* with outbox.lock */
    bool woken;            /* outbox.lock: nf_port_wake */
    atomic_bool hung_up;   /* the master has closed, or killed this one */
    pthread_t thread;
    struct nf_node *end_node; /* reserved, so that its end can't be lost */
    /* the master's: */
    uint32_t peer; /* or NF_NO_PEER */
    bool started, left, dropped, killed;
    /* net->end_lock: */
    bool ended;
};

struct local_net {
    struct nf_net base;
    struct nf_net_config config;
    atomic_uint refs;
    struct nf_queue inbox;
    int fd;         /* eventfd: the inbox has something for a sleeper */
    bool signalled; /* inbox.lock: fd was written and not read */
    struct local_slave *slaves;
    struct local_slave **peers;
    uint32_t npeers;
    size_t peers_capacity;
    char text[96];
    struct nf_mesh_offers offers; /* that slaves have still to take */
    pthread_mutex_t end_lock;
    pthread_cond_t end_cond;
};

static struct local_net *net_of(struct nf_net *net)
{
    return (struct local_net *)net;
}

static struct local_slave *slave_of(struct nf_port *port)
{
    return (struct local_slave *)port;
}

/* The slave's side. */

static void inbox_push_locked(struct local_net *net, struct nf_node *node)
{
    static const uint64_t one = 1;

    nf_queue_push(&net->inbox, node, false);
    if (!net->inbox.sleeping)
        return;
    net->inbox.sleeping = false;
    net->signalled = true;
    while (write(net->fd, &one, sizeof(one)) < 0 && errno == EINTR)
        continue;
}

static enum nf_status port_send(struct nf_port *port, const struct nf_msg *msg)
{
    struct local_slave *slave = slave_of(port);
    struct local_net *net = slave->net;
    struct nf_node *node;

    if (atomic_load(&slave->hung_up))
        return NF_OK; /* nobody listens, as receive will say */
    pthread_mutex_lock(&net->inbox.lock);
    node = nf_queue_fill(&net->inbox, msg);
    if (node != NULL) {
        node->from = slave;
        inbox_push_locked(net, node);
    }
    pthread_mutex_unlock(&net->inbox.lock);
    return node == NULL ? NF_ERR_NOMEM : NF_OK;
}

static enum nf_status port_receive(struct nf_port *port, struct nf_msg *msg_p)
{
    struct local_slave *slave = slave_of(port);
    bool hung_up = atomic_load(&slave->hung_up); /* before the last look */
    struct nf_node *node = nf_queue_next(&slave->outbox);

    if (node == NULL)
        return hung_up ? NF_ERR_UNREACHABLE : NF_WAIT;
    msg_p->kind = node->kind;
    msg_p->body = node->body;
    msg_p->body_bytes = node->bytes;
    msg_p->payload = node->payload;
    node->payload = NULL;
    return NF_OK;
}

static struct timespec deadline_in(int64_t timeout_us)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += (time_t)(timeout_us / 1000000);
    at.tv_nsec += (long)(timeout_us % 1000000) * 1000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_nsec -= 1000000000;
        at.tv_sec++;
    }
    return at;
}

static enum nf_status port_wait(struct nf_port *port, int64_t timeout_us)
{
    struct local_slave *slave = slave_of(port);
    struct nf_queue *queue = &slave->outbox;
    struct timespec at = deadline_in(timeout_us < 0 ? 0 : timeout_us);
    bool timed_out = false;

    pthread_mutex_lock(&queue->lock);
    queue->sleeping = true;
    while (nf_queue_is_empty(queue) && !slave->woken &&
           !atomic_load(&slave->hung_up) && !timed_out) {
        if (timeout_us < 0)
            pthread_cond_wait(&slave->wakeup, &queue->lock);
        else
            timed_out = pthread_cond_timedwait(&slave->wakeup, &queue->lock,
                                               &at) == ETIMEDOUT;
    }
    queue->sleeping = false;
    slave->woken = false;
    pthread_mutex_unlock(&queue->lock);
    return timed_out ? NF_WAIT : NF_OK;
}

static void port_wake(struct nf_port *port)
{
    struct local_slave *slave = slave_of(port);

    pthread_mutex_lock(&slave->outbox.lock);
    slave->woken = true;
    if (slave->outbox.sleeping)
        pthread_cond_signal(&slave->wakeup);
    pthread_mutex_unlock(&slave->outbox.lock);
}

static void wake_by_mesh(void *arg)
{
    port_wake(arg);
}

static enum nf_status port_mesh(struct nf_port *port,
                                const struct nf_group_msg *msg,
                                struct nf_mesh **mesh_p, struct nf_error *err)
{
    enum nf_status status =
        nf_mesh_offers_take(&slave_of(port)->net->offers, msg->id, msg->rank,
                            mesh_p, err);

    if (status == NF_OK)
        nf_mesh_wake_by(*mesh_p, wake_by_mesh, port);
    return status;
}

/* The end of a slave is the end of its thread: nothing to do before. */
static void port_close(struct nf_port *port)
{
    (void)port;
}

static const struct nf_port_ops port_ops = {
    .send = port_send,
    .receive = port_receive,
    .wait = port_wait,
    .wake = port_wake,
    .mesh = port_mesh,
    .deaf_to_meshes = true,
    .close = port_close,
};

/* Life and death. */

static void slave_free(struct local_slave *slave)
{
    nf_queue_fini(&slave->outbox);
    pthread_cond_destroy(&slave->wakeup);
    nf_free(slave->end_node);
    nf_free(slave);
}

static void net_unref(struct local_net *net)
{
    if (atomic_fetch_sub(&net->refs, 1) > 1)
        return;
    while (net->slaves != NULL) {
        struct local_slave *slave = net->slaves;

        net->slaves = slave->next;
        slave_free(slave);
    }
    nf_mesh_offers_fini(&net->offers);
    nf_queue_fini(&net->inbox);
    pthread_mutex_destroy(&net->end_lock);
    pthread_cond_destroy(&net->end_cond);
    if (net->fd >= 0)
        close(net->fd);
    nf_free(net->peers);
    nf_free(net);
}

static void *slave_thread(void *arg)
{
    struct local_slave *slave = arg;
    struct local_net *net = slave->net;
    struct nf_node *end = slave->end_node;

    net->config.slave_main(&slave->port, net->config.slave_arg);
    slave->end_node = NULL;
    pthread_mutex_lock(&net->inbox.lock);
    inbox_push_locked(net, end);
    pthread_mutex_unlock(&net->inbox.lock);
    pthread_mutex_lock(&net->end_lock);
    slave->ended = true;
    pthread_cond_broadcast(&net->end_cond);
    pthread_mutex_unlock(&net->end_lock);
    net_unref(net);
    return NULL;
}

static void cond_init_monotonic(pthread_cond_t *cond)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

static struct local_slave *slave_create(struct local_net *net,
                                        uint32_t spawn_id)
{
    struct local_slave *slave = nf_calloc(1, sizeof(*slave));

    if (slave == NULL)
        return NULL;
    slave->end_node = nf_node_create(0);
    if (slave->end_node == NULL) {
        nf_free(slave);
        return NULL;
    }
    slave->end_node->what = NF_NODE_ENDED;
    slave->end_node->from = slave;
    slave->port.ops = &port_ops;
    slave->port.spawn_id = spawn_id;
    slave->net = net;
    slave->peer = NF_NO_PEER;
    nf_queue_init(&slave->outbox);
    cond_init_monotonic(&slave->wakeup);
    return slave;
}

static void slave_start(struct local_net *net, struct local_slave *slave)
{
    struct nf_node *end = slave->end_node;

    slave->next = net->slaves;
    net->slaves = slave;
    atomic_fetch_add(&net->refs, 1);
    slave->started = true;
    if (pthread_create(&slave->thread, NULL, slave_thread, slave) == 0)
        return;
    atomic_fetch_sub(&net->refs, 1);
    slave->started = false;
    slave->left = true;
    slave->end_node = NULL;
    end->what = NF_NODE_NOT_STARTED;
    pthread_mutex_lock(&net->inbox.lock);
    inbox_push_locked(net, end);
    pthread_mutex_unlock(&net->inbox.lock);
}

/* The host is always this one. */
static enum nf_status local_spawn(struct nf_net *base, const char *host,
                                  uint32_t count, uint32_t spawn_id)
{
    struct local_net *net = net_of(base);
    struct local_slave *fresh = NULL, *slave;
    uint32_t made;

    (void)host;
    for (made = 0; made < count; made++) {
        slave = slave_create(net, spawn_id);
        if (slave == NULL)
            break;
        slave->next = fresh;
        fresh = slave;
    }
    while (fresh != NULL) {
        slave = fresh;
        fresh = slave->next;
        if (made == count)
            slave_start(net, slave);
        else
            slave_free(slave);
    }
    return made == count ? NF_OK : NF_ERR_NOMEM;
}

static enum nf_status local_open(const struct nf_net_config *config,
                                 struct nf_net **net_p, struct nf_error *err)
{
    struct local_net *net = nf_calloc(1, sizeof(*net));

    if (net == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    net->base.ops = &nf_net_local;
    net->config = *config;
    atomic_init(&net->refs, 1);
    nf_queue_init(&net->inbox);
    nf_mesh_offers_init(&net->offers);
    pthread_mutex_init(&net->end_lock, NULL);
    cond_init_monotonic(&net->end_cond);
    net->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (net->fd < 0) {
        nf_fail(err, NF_ERR_IO, "eventfd: %s", strerror(errno));
        net_unref(net);
        return NF_ERR_IO;
    }
    *net_p = &net->base;
    return NF_OK;
}

/* End the waiting of a slave for good. */
static void hang_up(struct local_slave *slave)
{
    pthread_mutex_lock(&slave->outbox.lock);
    atomic_store(&slave->hung_up, true);
    pthread_cond_signal(&slave->wakeup);
    pthread_mutex_unlock(&slave->outbox.lock);
}

static void local_close(struct nf_net *base)
{
    struct local_net *net = net_of(base);
    struct timespec at = deadline_in(CLOSE_WAIT_US);

    for (struct local_slave *s = net->slaves; s != NULL; s = s->next)
        hang_up(s);
    for (struct local_slave *s = net->slaves; s != NULL; s = s->next) {
        bool ended, timed_out = false;

        if (!s->started)
            continue;
        pthread_mutex_lock(&net->end_lock);
        while (!s->ended && !timed_out)
            timed_out = pthread_cond_timedwait(&net->end_cond, &net->end_lock,
                                               &at) == ETIMEDOUT;
        ended = s->ended;
        pthread_mutex_unlock(&net->end_lock);
        if (ended)
            pthread_join(s->thread, NULL);
        else
            pthread_detach(s->thread); /* it holds a reference on the net */
    }
    net_unref(net);
}

/* The master's side. */

static struct local_slave *peer_of(struct local_net *net, uint32_t peer)
{
    return peer < net->npeers ? net->peers[peer] : NULL;
}

static bool is_urgent(enum nf_msg_kind kind)
{
    return kind == NF_MSG_PING || kind == NF_MSG_HEARTBEAT ||
           kind == NF_MSG_REVOKE || kind == NF_MSG_STOP;
}

static enum nf_status local_send(struct nf_net *base, uint32_t peer,
                                 const struct nf_msg *msg)
{
    struct local_slave *slave = peer_of(net_of(base), peer);
    struct nf_queue *queue;
    struct nf_node *node;

    if (slave == NULL || slave->left || slave->dropped)
        return NF_OK;
    queue = &slave->outbox;
    pthread_mutex_lock(&queue->lock);
    node = nf_queue_fill(queue, msg);
    if (node != NULL) {
        nf_queue_push(queue, node, is_urgent(msg->kind));
        if (queue->sleeping)
            pthread_cond_signal(&slave->wakeup);
    }
    pthread_mutex_unlock(&queue->lock);
    return node == NULL ? NF_ERR_NOMEM : NF_OK;
}

static size_t local_backlog_bytes(struct nf_net *base, uint32_t peer)
{
    struct local_slave *slave = peer_of(net_of(base), peer);

    return slave == NULL || slave->left
               ? 0
               : atomic_load(&slave->outbox.backlog_bytes);
}

/* A thread can't be killed: with `kill` it is told that its master has gone,
 * and ends as soon as its kernels return. */
static void local_drop(struct nf_net *base, uint32_t peer, bool kill)
{
    struct local_slave *slave = peer_of(net_of(base), peer);

    if (slave == NULL || slave->left)
        return;
    nf_queue_clear(&slave->outbox);
    slave->dropped = true;
    if (kill) {
        slave->killed = true;
        hang_up(slave);
    }
}

static enum nf_status local_mesh(struct nf_net *base, const uint32_t *members,
                                 uint32_t count, struct nf_group_msg *msg_p,
                                 int *tids_p, struct nf_mesh **mesh_p,
                                 struct nf_error *err)
{
    uint32_t own = count;

    for (uint32_t i = 0; i < count; i++) {
        tids_p[i] = (int)members[i];
        if (members[i] == NF_NO_PEER)
            own = i;
    }
    msg_p->count = count;
    msg_p->context = 0;
    msg_p->cookie = 0;
    return nf_mesh_offers_make(&net_of(base)->offers, msg_p->id, count, own,
                               mesh_p, err);
}

static size_t local_fds(struct nf_net *base, const int **fds_p)
{
    *fds_p = &net_of(base)->fd;
    return 1;
}

/* Number a slave that speaks for the first time. */
static enum nf_status enlist(struct local_net *net, struct local_slave *slave)
{
    if (slave->peer != NF_NO_PEER)
        return NF_OK;
    if (net->npeers == net->peers_capacity) {
        size_t capacity =
            net->peers_capacity == 0 ? 16 : 2 * net->peers_capacity;
        struct local_slave **peers =
            nf_realloc(net->peers, capacity * sizeof(struct local_slave *));

        if (peers == NULL)
            return NF_ERR_NOMEM;
        net->peers = peers;
        net->peers_capacity = capacity;
    }
    slave->peer = net->npeers;
    net->peers[net->npeers++] = slave;
    return NF_OK;
}

/* The next node of the inbox; if there is none, arms the eventfd. */
static struct nf_node *inbox_next(struct local_net *net)
{
    struct nf_node *node = nf_queue_next(&net->inbox);
    uint64_t count;

    if (node != NULL)
        return node;
    pthread_mutex_lock(&net->inbox.lock);
    if (net->signalled && read(net->fd, &count, sizeof(count)) > 0)
        net->signalled = false;
    net->inbox.sleeping = nf_queue_is_empty(&net->inbox);
    pthread_mutex_unlock(&net->inbox.lock);
    return nf_queue_next(&net->inbox);
}

/* @return whether *event_p is one that the master wants to know of. */
static bool end_event(struct local_net *net, const struct nf_node *node,
                      struct nf_net_event *event_p)
{
    struct local_slave *slave = node->from;

    slave->left = true;
    if (slave->killed)
        return false;
    event_p->peer = slave->peer;
    if (slave->peer != NF_NO_PEER) {
        event_p->kind = NF_NET_LEFT;
        return true;
    }
    event_p->kind = NF_NET_SPAWN_FAILED;
    event_p->spawn_id = slave->port.spawn_id;
    event_p->count = 1;
    snprintf(net->text, sizeof(net->text), "%s",
             node->what == NF_NODE_ENDED ? "a slave ended before it said hello"
                                         : "a thread could not be started");
    event_p->text = net->text;
    return true;
}

static enum nf_status local_next(struct nf_net *base,
                                 struct nf_net_event *event_p)
{
    struct local_net *net = net_of(base);
    struct local_slave *slave;
    struct nf_node *node;

    memset(event_p, 0, sizeof(*event_p));
    while ((node = inbox_next(net)) != NULL) {
        if (node->what != NF_NODE_MESSAGE) {
            if (end_event(net, node, event_p))
                return NF_OK;
            continue;
        }
        slave = node->from;
        if (slave->killed || enlist(net, slave) != NF_OK) {
            nf_blob_unref(node->payload);
            node->payload = NULL;
            if (!slave->killed)
                return NF_ERR_NOMEM;
            continue;
        }
        slave->dropped = false;
        event_p->kind = NF_NET_MESSAGE;
        event_p->peer = slave->peer;
        event_p->msg.kind = node->kind;
        event_p->msg.body = node->body;
        event_p->msg.body_bytes = node->bytes;
        event_p->msg.payload = node->payload;
        node->payload = NULL;
        return NF_OK;
    }
    return NF_WAIT;
}

static bool local_has_more(struct nf_net *net)
{
    return !nf_queue_is_empty(&net_of(net)->inbox);
}

const struct nf_net_ops nf_net_local = {
    .name = "local",
    .summary = "threads of this process, payloads by reference",
    .by_reference = true,
    .open = local_open,
    .spawn = local_spawn,
    .send = local_send,
    .next = local_next,
    .has_more = local_has_more,
    .fds = local_fds,
    .backlog_bytes = local_backlog_bytes,
    .drop = local_drop,
    .mesh = local_mesh,
    .close = local_close,
};
