/* The PVM transport, master's side.
 *
 * The master only accepts direct routes: slaves ask for them with their HELLO,
 * so the master never waits for a slave that does not answer.  How much is on
 * the way to a slave is bounded by the link's credit, so no pvm_send blocks.
 * Whatever may hang (spawning, adding hosts, killing) is asked of the keeper.
 */
#include "config.h"
#include "common/net/net_pvm.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/net/keeper.h"
#include "common/net/mesh_pvm.h"
#include "common/net/net_pvm_parts.h"
#include "common/net/pvm.h"
#include "common/net/pvm_route.h"

enum {
    /* Messages that may come before the keeper gets a hearing. */
    UNASKED_MOST = 64,
    /* Messages that lead to no event before the caller gets a turn. */
    IGNORED_MOST = 1024,
};

/* ------------------------------------------------------------------- out */

static void transmit(struct net_pvm *n, struct peer *peer,
                     const struct nf_link_out *out)
{
    /* a failed send says nothing more than that the exit notice will come */
    (void)nf_pvm_send(peer->tid, out, peer->convert || n->convert_always);
    nf_link_sent(&peer->link, out);
}

/* Sending reads, too: it may hear of room, so what comes last is a look whether
 * there is any. */
static void flush(struct net_pvm *n, struct peer *peer)
{
    struct nf_link_out out;

    for (;;) {
        while (nf_route_next(peer->tid, &peer->link, &out) == NF_OK)
            transmit(n, peer, &out);
        if (!nf_link_owes_confirmation(&peer->link) &&
            !nf_route_owes(peer->tid))
            return;
        nf_link_confirm(&peer->link, &out);
        transmit(n, peer, &out);
    }
}

/* A slave that has several messages to read does not miss the next one: such
 * small ones go out together, which wakes it once instead of each time. */
enum { COMPANY_BYTES = 4 * 1024 };

static bool may_wait(const struct peer *peer)
{
    const struct nf_link *link = &peer->link;

    return link->sent_bytes - link->confirmed_bytes > COMPANY_BYTES &&
           link->queued_bytes < COMPANY_BYTES && link->urgent.head == NULL;
}

/* Send what is queued now, or before we wait for messages next. */
static void flush_soon(struct net_pvm *n, struct peer *peer)
{
    if (!may_wait(peer)) {
        flush(n, peer);
        if (peer->link.queued_bytes == 0 || !nf_route_is_full(peer->tid))
            return;
    }
    if (!peer->deferred && n->ndeferred == n->deferred_capacity &&
        nf_net_pvm_grow((void **)&n->deferred, &n->deferred_capacity,
                        sizeof(*n->deferred)) != NF_OK) {
        flush(n, peer);
        return;
    }
    if (!peer->deferred)
        n->deferred[n->ndeferred++] = (uint32_t)(peer - n->peers);
    peer->deferred = true;
}

/* What finds no room on the way, since a mesh has filled it, stays deferred:
 * nothing that comes on the link itself may tell of the room. */
static void flush_deferred(struct net_pvm *n)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < n->ndeferred; i++) {
        struct peer *peer = &n->peers[n->deferred[i]];

        if (peer->state == PEER_LIVE)
            flush(n, peer);
        peer->deferred = peer->state == PEER_LIVE &&
                         peer->link.queued_bytes > 0 &&
                         nf_route_is_full(peer->tid);
        if (peer->deferred)
            n->deferred[kept++] = n->deferred[i];
    }
    n->ndeferred = kept;
}

static enum nf_status pvm_net_send(struct nf_net *net, uint32_t number,
                                   const struct nf_msg *msg)
{
    struct net_pvm *n = (struct net_pvm *)net;
    struct peer *peer = &n->peers[number];
    enum nf_status status;

    if (peer->state != PEER_LIVE)
        return NF_OK;
    status = nf_link_queue(&peer->link, msg);
    if (status == NF_OK)
        flush_soon(n, peer);
    return status;
}

/* -------------------------------------------------------------------- in */

static struct peer *new_peer(struct net_pvm *n, int tid)
{
    const struct nf_pvm_host *host;
    struct peer *peer;

    if (n->npeers == n->peers_capacity &&
        nf_net_pvm_grow((void **)&n->peers, &n->peers_capacity,
                        sizeof(*peer)) != NF_OK)
        return NULL;
    peer = &n->peers[n->npeers];
    peer->tid = tid;
    peer->state = PEER_LIVE;
    peer->deferred = false;
    if (nf_net_pvm_enter(n, n->npeers) != NF_OK)
        return NULL;
    n->npeers++;
    nf_link_init(&peer->link, n->cookie, n->limit_bytes);
    nf_link_set_window(&peer->link, nf_pvm_window_bytes());
    if (nf_net_pvm_host_of(n, tid) == NULL)
        nf_net_pvm_read_hosts(n);
    host = nf_net_pvm_host_of(n, tid);
    peer->convert = host == NULL || host->format != n->format;
    for (uint32_t i = 0; i < n->ntasks; i++)
        if (n->tasks[i].tid == tid) {
            n->tasks[i] = n->tasks[--n->ntasks];
            return peer; /* its exit is being watched */
        }
    nf_pvm_notify_exit(tid);
    return peer;
}

static enum nf_status take_frame(struct net_pvm *n,
                                 const struct nf_pvm_message *m,
                                 struct nf_net_event *event_p)
{
    struct peer *peer = nf_net_pvm_find_peer(n, m->tid);
    struct nf_link_in in;
    enum nf_status status;

    if (peer == NULL && m->frame.kind == NF_MSG_HELLO &&
        m->frame.cookie == n->cookie)
        peer = new_peer(n, m->tid);
    /* word of an exit comes through the pvmd and may overtake the last frames:
     * those of one that was declared gone come too late */
    if (peer == NULL || peer->state != PEER_LIVE)
        return NF_WAIT;
    status = nf_link_accept(&peer->link, &m->frame, &in);
    if (status == NF_OK)
        status = nf_pvm_take(&in);
    if (status == NF_ERR_NOMEM)
        return status; /* ignored, it would stop the peer for ever */
    if (status != NF_OK) {
        nf_log(NF_LOG_WARN, "frame of task %x ignored: %s", (unsigned)m->tid,
               nf_strerror(status));
        return NF_WAIT;
    }
    status = nf_link_finish(&peer->link, &in, &event_p->msg);
    flush_soon(n, peer);
    event_p->kind = NF_NET_MESSAGE;
    event_p->peer = (uint32_t)(peer - n->peers);
    return status;
}

static enum nf_status take_exit(struct net_pvm *n, int tid,
                                struct nf_net_event *event_p)
{
    struct peer *peer = nf_net_pvm_find_peer(n, tid);
    struct nf_net_event *event;

    if (peer != NULL) {
        bool told = peer->state != PEER_LIVE; /* killed means forgotten */

        nf_route_end(tid);
        peer->state = PEER_LEFT;
        nf_link_fini(&peer->link);
        if (told)
            return NF_WAIT;
        event_p->kind = NF_NET_LEFT;
        event_p->peer = (uint32_t)(peer - n->peers);
        return NF_OK;
    }
    for (uint32_t i = 0; i < n->ntasks; i++) {
        if (n->tasks[i].tid != tid)
            continue;
        event = nf_net_pvm_post(n, NF_NET_SPAWN_FAILED, NULL,
                                "the slave ended before it said hello");
        if (event != NULL) {
            event->spawn_id = n->tasks[i].spawn_id;
            event->count = 1;
        }
        n->tasks[i] = n->tasks[--n->ntasks];
        break;
    }
    return NF_WAIT;
}

static enum nf_status take_pvm(struct net_pvm *n,
                               const struct nf_pvm_message *m,
                               struct nf_net_event *event_p)
{
    switch (m->kind) {
    case NF_PVM_FRAME:
        return take_frame(n, m, event_p);
    case NF_PVM_EXIT:
        return take_exit(n, m->tid, event_p);
    case NF_PVM_HOST_ADDED:
        nf_net_pvm_take_new_hosts(n);
        return NF_WAIT;
    case NF_PVM_HOST_LOST:
        nf_net_pvm_forget_host(n, m->tid);
        return NF_WAIT;
    case NF_PVM_OUTPUT:
    case NF_PVM_ROUTE_OPENED: /* these are for meshes */
    case NF_PVM_ROUTE_ENDED:
    case NF_PVM_OTHER:
        break;
    }
    return NF_WAIT;
}

static void take_spawned(struct net_pvm *n, const struct nf_answer *a)
{
    for (uint32_t i = 0; i < a->ntids; i++) {
        if (nf_net_pvm_find_peer(n, a->tids[i]) != NULL)
            continue;
        if (n->ntasks == n->tasks_capacity &&
            nf_net_pvm_grow((void **)&n->tasks, &n->tasks_capacity,
                            sizeof(*n->tasks)) != NF_OK)
            return;
        n->tasks[n->ntasks++] =
            (struct task){ .tid = a->tids[i], .spawn_id = a->spawn_id };
        nf_pvm_notify_exit(a->tids[i]);
    }
}

static void take_answer(struct net_pvm *n, const struct nf_answer *a)
{
    struct nf_net_event *event;
    const struct peer *peer;

    switch (a->kind) {
    case NF_ANSWER_SPAWNED:
        take_spawned(n, a);
        return;
    case NF_ANSWER_REFUSED:
        event = nf_net_pvm_post(n, NF_NET_SPAWN_FAILED, a->host, a->text);
        if (event != NULL) {
            event->spawn_id = a->spawn_id;
            event->count = a->count;
        }
        return;
    case NF_ANSWER_ADDED:
        nf_net_pvm_read_hosts(n);
        if (nf_net_pvm_has_host(n, a->host))
            nf_net_pvm_post(n, NF_NET_HOST_UP, a->host, NULL);
        else
            nf_net_pvm_post(n, NF_NET_HOST_FAILED, a->host,
                            "it is in the virtual machine under another name "
                            "(see: nowfarm hosts)");
        return;
    case NF_ANSWER_FAILED:
        nf_net_pvm_post(n, NF_NET_HOST_FAILED, a->host, a->text);
        return;
    case NF_ANSWER_OUTPUT:
        peer = nf_net_pvm_find_peer(n, a->tids[0]);
        event = nf_net_pvm_post(n, NF_NET_OUTPUT, NULL, a->text);
        if (event != NULL && peer != NULL)
            event->peer = (uint32_t)(peer - n->peers);
        return;
    case NF_ANSWER_ENDED:
        n->relays -= n->relays > 0;
        return;
    case NF_ANSWER_REMOVED:
    case NF_ANSWER_KILLED:
        return;
    }
}

static enum nf_status pvm_net_next(struct nf_net *net,
                                   struct nf_net_event *event_p)
{
    struct net_pvm *n = (struct net_pvm *)net;
    struct nf_pvm_message m;
    struct nf_answer answer;
    enum nf_status status;

    nf_net_pvm_free_pending(n->taken);
    n->taken = NULL;
    n->base.flooded = false;
    for (int ignored = 0; ignored < IGNORED_MOST; ignored++) {
        bool crowd = n->unasked >= UNASKED_MOST;

        if (n->first != NULL) {
            n->taken = n->first;
            n->first = n->taken->next;
            if (n->first == NULL)
                n->last = NULL;
            *event_p = n->taken->event;
            return NF_OK;
        }
        status = NF_WAIT;
        if (!crowd && n->ndeferred > 0)
            status = nf_pvm_receive(0, &m);
        if (status == NF_WAIT) {
            flush_deferred(n);
            if (!crowd)
                status = nf_pvm_receive(n->busy ? n->base.linger_us : 0, &m);
        }
        n->busy = crowd || status == NF_OK;
        if (status == NF_OK) {
            n->unasked++;
            status = take_pvm(n, &m, event_p);
            if (status != NF_WAIT)
                return status;
            continue;
        }
        if (status != NF_WAIT)
            return status;
        (void)nf_mesh_duct_read();
        nf_mesh_pvm_tend();
        n->unasked = 0;
        status = nf_keeper_next(n->keeper, &answer);
        if (status == NF_OK)
            take_answer(n, &answer);
        else if (status != NF_WAIT || !crowd)
            return status;
    }
    n->base.flooded = true;
    return NF_WAIT;
}

static bool pvm_net_has_more(struct nf_net *net)
{
    return ((struct net_pvm *)net)->first != NULL || nf_pvm_has_more();
}

static size_t pvm_net_fds(struct nf_net *net, const int **fds_p)
{
    struct net_pvm *n = (struct net_pvm *)net;
    struct pollfd ducts[NF_MESH_DUCT_FDS_MOST];
    const int *fds;
    size_t count, nducts;

    flush_deferred(n); /* a mesh may have heard of room since */
    nducts = nf_mesh_duct_watch(ducts, NF_MESH_DUCT_FDS_MOST);
    count = nf_pvm_fds(&fds);
    if (count + nducts + 1 > n->fds_capacity) {
        size_t capacity = count + nducts + 16;
        int *more = nf_realloc(n->fds, capacity * sizeof(*more));

        if (more == NULL) {
            *fds_p = fds;
            return count;
        }
        n->fds = more;
        n->fds_capacity = capacity;
    }
    memcpy(n->fds, fds, count * sizeof(*fds));
    for (size_t i = 0; i < nducts; i++)
        n->fds[count++] = ducts[i].fd;
    n->fds[count] = nf_keeper_fd(n->keeper);
    *fds_p = n->fds;
    return count + 1;
}

/* ------------------------------------------------------------------ life */

static enum nf_status pvm_net_spawn(struct nf_net *net, const char *host,
                                    uint32_t count, uint32_t spawn_id)
{
    struct net_pvm *n = (struct net_pvm *)net;
    char address[96];

    snprintf(address, sizeof(address), "pvm:%x:%llx:%u", (unsigned)n->tid,
             (unsigned long long)n->cookie, spawn_id);
    n->relays++;
    nf_keeper_spawn(n->keeper, spawn_id, host != NULL ? host : n->here, count,
                    n->program, address);
    return NF_OK;
}

static size_t pvm_net_backlog_bytes(struct nf_net *net, uint32_t peer)
{
    struct net_pvm *n = (struct net_pvm *)net;
    const struct nf_link *link = &n->peers[peer].link;

    return (size_t)(link->queued_bytes + link->sent_bytes -
                    link->confirmed_bytes);
}

static void pvm_net_drop(struct nf_net *net, uint32_t number, bool kill)
{
    struct net_pvm *n = (struct net_pvm *)net;
    struct peer *peer = &n->peers[number];

    if (peer->state != PEER_LIVE)
        return;
    nf_link_purge(&peer->link);
    if (!kill)
        return;
    nf_keeper_kill(n->keeper, &peer->tid, 1);
    peer->state = PEER_KILLED;
    nf_link_fini(&peer->link);
}

static bool slaves_left(const struct net_pvm *n)
{
    for (uint32_t i = 0; i < n->npeers; i++)
        if (n->peers[i].state == PEER_LIVE)
            return true;
    return n->ntasks > 0;
}

static bool pvm_net_settled(const struct nf_net *net)
{
    const struct net_pvm *n = (const struct net_pvm *)net;

    return !slaves_left(n) && n->relays == 0 && n->first == NULL;
}

/* Let events go by until no slave is there, or time is up. */
static void wait_for_exits(struct net_pvm *n, int64_t limit_us)
{
    int64_t until_us = nf_now_us() + limit_us;
    struct nf_net_event event;
    struct pollfd watch[64];
    const int *fds;

    while (slaves_left(n) && nf_now_us() < until_us) {
        enum nf_status status = pvm_net_next(&n->base, &event);
        size_t count = 0;

        if (status == NF_OK) {
            if (event.kind == NF_NET_MESSAGE)
                nf_blob_unref(event.msg.payload);
            continue;
        }
        if (status != NF_WAIT)
            return;
        count = pvm_net_fds(&n->base, &fds);
        if (count > 64)
            count = 64;
        for (size_t i = 0; i < count; i++)
            watch[i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
        poll(watch, (nfds_t)count, 20);
    }
}

static void kill_the_rest(struct net_pvm *n)
{
    for (uint32_t i = 0; i < n->npeers; i++)
        if (n->peers[i].state == PEER_LIVE)
            nf_keeper_kill(n->keeper, &n->peers[i].tid, 1);
    for (uint32_t i = 0; i < n->ntasks; i++)
        nf_keeper_kill(n->keeper, &n->tasks[i].tid, 1);
}

static void pvm_net_close(struct nf_net *net)
{
    struct net_pvm *n = (struct net_pvm *)net;

    if (n->tid != 0) {
        if (slaves_left(n)) {
            kill_the_rest(n);
            wait_for_exits(n, 1000000);
        }
        nf_pvm_leave();
        nf_mesh_pvm_tend();
    }
    nf_keeper_close(n->keeper, true);
    for (uint32_t i = 0; i < n->npeers; i++)
        nf_link_fini(&n->peers[i].link);
    while (n->first != NULL) {
        struct pending *p = n->first;

        n->first = p->next;
        nf_net_pvm_free_pending(p);
    }
    nf_net_pvm_free_pending(n->taken);
    nf_free(n->peers);
    nf_free(n->tasks);
    nf_free(n->deferred);
    nf_free(n->map);
    nf_free(n->hosts);
    nf_free(n->program);
    nf_free(n->fds);
    nf_free(n);
}

static void bring_hosts(struct net_pvm *n, const char *const *hosts)
{
    if (hosts == NULL) {
        for (size_t i = 0; i < n->nhosts; i++)
            nf_net_pvm_post(n, NF_NET_HOST_UP, n->hosts[i].name, NULL);
        return;
    }
    n->own_hosts = true;
    for (; *hosts != NULL; hosts++) {
        char name[128];

        snprintf(name, sizeof(name), "%.*s", (int)strcspn(*hosts, " "), *hosts);
        if (nf_net_pvm_has_host(n, name))
            nf_net_pvm_post(n, NF_NET_HOST_UP, name, NULL);
        else
            nf_keeper_add(n->keeper, *hosts);
    }
}

static enum nf_status pvm_net_open(const struct nf_net_config *config,
                                   struct nf_net **net_p, struct nf_error *err)
{
    struct net_pvm *n = nf_calloc(1, sizeof(*n));
    const char *encoding = getenv("NOWFARM_ENCODING");
    enum nf_status status;

    if (n == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    n->base.ops = &nf_net_pvm;
    n->convert_always = encoding != NULL && strcmp(encoding, "xdr") == 0;
    n->limit_bytes = nf_message_limit_bytes();
    n->program = nf_strdup(config->slave_program);
    if (getrandom(&n->cookie, sizeof(n->cookie), 0) != sizeof(n->cookie) ||
        n->program == NULL) {
        status = nf_fail(err, NF_ERR_NOMEM, "no random numbers or memory");
        goto err_net;
    }
    status = nf_keeper_open(NF_KEEP_JOB, &n->keeper, err);
    if (status != NF_OK)
        goto err_net;
    status = nf_pvm_enroll(&n->tid);
    if (status == NF_OK) {
        status = nf_net_pvm_read_hosts(n);
        if (status != NF_OK)
            nf_pvm_leave();
    }
    if (status != NF_OK) {
        nf_fail(err, status, "the local pvmd does not answer");
        goto err_keeper;
    }
    nf_pvm_ask_direct_routes(false);
    nf_pvm_notify_hosts();
    bring_hosts(n, config->hosts);
    *net_p = &n->base;
    return NF_OK;

err_keeper:
    nf_keeper_close(n->keeper, true);
err_net:
    nf_free(n->program);
    nf_free(n);
    return status;
}

const struct nf_net_ops nf_net_pvm = {
    .name = "pvm",
    .summary = "slaves are PVM tasks on the hosts of the virtual machine",
    .open = pvm_net_open,
    .spawn = pvm_net_spawn,
    .send = pvm_net_send,
    .next = pvm_net_next,
    .has_more = pvm_net_has_more,
    .fds = pvm_net_fds,
    .backlog_bytes = pvm_net_backlog_bytes,
    .settled = pvm_net_settled,
    .drop = pvm_net_drop,
    .mesh = nf_net_pvm_mesh,
    .close = pvm_net_close,
};
