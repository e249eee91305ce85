/* The transport of an emulated world.  Leases and results take the way through
 * the medium (medium.h); everything else passes at once.  Timers of the event
 * loop are too coarse for it (poll counts milliseconds), so a timerfd, watched
 * like a socket, says when something is due. */
#include "config.h"
#include "master/emulate.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "master/medium.h"

/* A message on its way. */
struct parcel {
    struct nf_transfer transfer; /* first: we get it back as this */
    struct nf_msg msg;           /* its body is ours */
    uint8_t body[];
};

struct nf_emulated {
    struct nf_net base;
    struct nf_net *inner;
    struct nf_medium medium;
    int timer;
    int *fds;
    size_t fds_capacity;
    bool in_turn;    /* the caller answers to an event of the medium ... */
    int64_t turn_us; /* ... which happened then */
    struct parcel *handed; /* whose body the caller may still read */
    struct nf_body body;   /* likewise */
};

static struct nf_emulated *emulated_of(struct nf_net *net)
{
    return (struct nf_emulated *)net;
}

struct nf_net *nf_emulated_net(struct nf_emulated *emulated)
{
    return &emulated->base;
}

void nf_emulated_arm(struct nf_emulated *emulated, int64_t wake_us, bool deaf)
{
    nf_medium_arm(&emulated->medium, wake_us, deaf);
}

/* ---------------------------------------------------------------- parcels */

static struct parcel *parcel_create(const struct nf_msg *msg)
{
    struct parcel *p = nf_calloc(1, sizeof(*p) + msg->body_bytes);

    if (p == NULL)
        return NULL;
    p->msg = *msg;
    p->msg.body = p->body;
    if (msg->body_bytes > 0)
        memcpy(p->body, msg->body, msg->body_bytes);
    return p;
}

static void parcel_destroy(struct parcel *p)
{
    if (p == NULL)
        return;
    nf_blob_unref(p->msg.payload);
    nf_free(p);
}

static void forget(struct nf_emulated *m, uint32_t peer)
{
    struct nf_transfer *t;

    while ((t = nf_medium_take_back(&m->medium, peer)) != NULL)
        parcel_destroy((struct parcel *)t);
}

/* -------------------------------------------------------------------- out */

static enum nf_status send_lease(struct nf_emulated *m, uint32_t peer,
                                 const struct nf_msg *msg)
{
    int64_t now_us = m->in_turn ? m->turn_us : nf_now_us();
    struct nf_lease_msg lease;
    struct parcel *p;

    if (nf_get_lease(msg->body, msg->body_bytes, &lease) != NF_OK)
        return nf_net_send(m->inner, peer, msg);
    p = parcel_create(msg);
    if (p == NULL)
        return NF_ERR_NOMEM;
    p->transfer.peer = peer;
    p->transfer.slot = lease.slot;
    p->transfer.lease = lease.lease;
    p->transfer.units = lease.count;
    if (p->msg.payload != NULL)
        nf_blob_ref(p->msg.payload);
    if (nf_medium_send(&m->medium, &p->transfer, now_us) != NF_OK) {
        parcel_destroy(p);
        return NF_ERR_NOMEM;
    }
    return NF_OK;
}

/* With results that block, a lease that was delivered has been begun. */
static enum nf_status send_cancel(struct nf_emulated *m, uint32_t peer,
                                  const struct nf_msg *msg)
{
    struct nf_cancel_msg cancel;

    if (nf_get_cancel(msg->body, msg->body_bytes, &cancel) == NF_OK &&
        (nf_medium_cancel(&m->medium, peer, cancel.lease) ||
         m->medium.emulate.blocking))
        return NF_OK;
    return nf_net_send(m->inner, peer, msg);
}

static enum nf_status emulated_send(struct nf_net *net, uint32_t peer,
                                    const struct nf_msg *msg)
{
    struct nf_emulated *m = emulated_of(net);

    if (msg->kind == NF_MSG_LEASE)
        return send_lease(m, peer, msg);
    if (msg->kind == NF_MSG_CANCEL)
        return send_cancel(m, peer, msg);
    if (msg->kind == NF_MSG_REVOKE)
        forget(m, peer);
    return nf_net_send(m->inner, peer, msg);
}

static void emulated_drop(struct nf_net *net, uint32_t peer, bool kill)
{
    forget(emulated_of(net), peer);
    nf_net_drop(emulated_of(net)->inner, peer, kill);
}

/* --------------------------------------------------------------------- in */

/* Is it an answer to a lease?  Then fill in what the medium wants to know. */
static bool is_answer(const struct nf_msg *msg, struct nf_transfer *t)
{
    struct nf_result_msg result;
    struct nf_unit_failed_msg failed;

    t->is_result = true;
    if (msg->kind == NF_MSG_RESULT &&
        nf_get_result(msg->body, msg->body_bytes, &result) == NF_OK) {
        t->lease = result.lease;
        t->units = result.count;
        t->last = result.last;
        return true;
    }
    if (msg->kind == NF_MSG_UNIT_FAILED &&
        nf_get_unit_failed(msg->body, msg->body_bytes, &failed) == NF_OK) {
        t->lease = failed.lease;
        t->units = 1;
        t->last = failed.last;
        return true;
    }
    return false;
}

/* A message of a slave.  An answer goes into the medium, and the caller hears
 * for the time being only that the slave is alive. */
static enum nf_status take_in(struct nf_emulated *m, struct nf_net_event *ev)
{
    struct nf_transfer t = { .peer = ev->peer };
    struct parcel *p;

    if (ev->kind != NF_NET_MESSAGE || !is_answer(&ev->msg, &t))
        return NF_OK;
    p = parcel_create(&ev->msg);
    if (p == NULL) {
        nf_blob_unref(ev->msg.payload);
        return NF_ERR_NOMEM;
    }
    p->transfer = t;
    if (nf_medium_arrive(&m->medium, &p->transfer, nf_now_us()) != NF_OK) {
        parcel_destroy(p);
        return NF_ERR_NOMEM;
    }
    ev->msg = (struct nf_msg){ .kind = NF_MSG_HEARTBEAT };
    return NF_OK;
}

/* A slave can't know how long its chunk lay in a queue that is kept here. */
static enum nf_status correct_times(struct nf_emulated *m, struct parcel *p)
{
    struct nf_result_msg result;
    uint64_t *sizes = NULL;
    enum nf_status status;

    if (p->msg.kind != NF_MSG_RESULT || p->transfer.wait_us < 0 ||
        nf_get_result(p->msg.body, p->msg.body_bytes, &result) != NF_OK)
        return NF_OK;
    if (result.layout.unit_bytes == NF_LAYOUT_TABLE) {
        sizes = nf_calloc((size_t)result.count, sizeof(*sizes));
        if (sizes == NULL)
            return NF_ERR_NOMEM;
        for (uint64_t i = 0; i < result.count; i++)
            sizes[i] = nf_layout_unit_bytes(&result.layout, i);
    }
    result.wait_us = p->transfer.wait_us;
    if (p->transfer.idle_us >= 0)
        result.idle_us = p->transfer.idle_us;
    status = nf_put_result(&m->body, &result, sizes);
    nf_free(sizes);
    p->msg.body = m->body.data;
    p->msg.body_bytes = m->body.bytes;
    return status;
}

/* Do what the medium says.
 * @retval NF_OK    *ev_p is for the caller
 * @retval NF_WAIT  nothing is, until *at_us_p; *sent_p: messages went out */
static enum nf_status run_medium(struct nf_emulated *m,
                                 struct nf_net_event *ev_p, bool *sent_p,
                                 int64_t *at_us_p)
{
    struct nf_medium_event e;
    struct parcel *p;
    enum nf_status status;

    while (nf_medium_next(&m->medium, nf_now_us(), &e) == NF_OK) {
        p = (struct parcel *)e.transfer;
        if (e.what == NF_MEDIUM_DROP) {
            parcel_destroy(p);
            continue;
        }
        if (e.what == NF_MEDIUM_DELIVER) {
            status = nf_net_send(m->inner, p->transfer.peer, &p->msg);
            parcel_destroy(p);
            if (status != NF_OK)
                return status;
            *sent_p = true;
            continue;
        }
        *ev_p = (struct nf_net_event){ .kind = NF_NET_FREE, .at_us = e.at_us };
        m->in_turn = true;
        m->turn_us = e.at_us;
        if (p == NULL)
            return NF_OK;
        m->handed = p;
        status = correct_times(m, p);
        ev_p->kind = NF_NET_MESSAGE;
        ev_p->peer = p->transfer.peer;
        ev_p->msg = p->msg;
        p->msg.payload = NULL;
        if (status != NF_OK)
            nf_blob_unref(ev_p->msg.payload);
        return status;
    }
    *at_us_p = e.at_us;
    return NF_WAIT;
}

/* Have the file descriptor say when it is `at_us`; INT64_MAX: don't.  That also
 * takes back what it said before. */
static void set_timer(const struct nf_emulated *m, int64_t at_us)
{
    struct itimerspec at = { { 0, 0 }, { 0, 0 } };

    if (at_us != INT64_MAX) {
        at.it_value.tv_sec = (time_t)(at_us / 1000000);
        at.it_value.tv_nsec = (long)(at_us % 1000000) * 1000 + 1;
    }
    timerfd_settime(m->timer, TFD_TIMER_ABSTIME, &at, NULL);
}

static enum nf_status emulated_next(struct nf_net *net,
                                    struct nf_net_event *event_p)
{
    struct nf_emulated *m = emulated_of(net);
    enum nf_status status;
    int64_t at_us = 0;
    bool sent = true;

    m->in_turn = false;
    parcel_destroy(m->handed);
    m->handed = NULL;
    while (sent) {
        *event_p = (struct nf_net_event){ .at_us = 0 };
        status = nf_net_next(m->inner, event_p);
        net->flooded = m->inner->flooded;
        if (status == NF_OK)
            return take_in(m, event_p);
        if (status != NF_WAIT)
            return status;
        sent = false;
        status = run_medium(m, event_p, &sent, &at_us);
        if (status != NF_WAIT)
            return status;
    }
    set_timer(m, at_us);
    return NF_WAIT;
}

static size_t emulated_fds(struct nf_net *net, const int **fds_p)
{
    struct nf_emulated *m = emulated_of(net);
    const int *fds;
    size_t count = nf_net_fds(m->inner, &fds);

    if (count + 1 > m->fds_capacity) {
        int *more = nf_realloc(m->fds, (count + 16) * sizeof(*more));

        if (more == NULL) {
            *fds_p = fds;
            return count;
        }
        m->fds = more;
        m->fds_capacity = count + 16;
    }
    memcpy(m->fds, fds, count * sizeof(*fds));
    m->fds[count] = m->timer;
    *fds_p = m->fds;
    return count + 1;
}

/* ------------------------------------------------------------- the others */

static enum nf_status emulated_spawn(struct nf_net *net, const char *host,
                                     uint32_t count, uint32_t spawn_id)
{
    return nf_net_spawn(emulated_of(net)->inner, host, count, spawn_id);
}

static size_t emulated_backlog_bytes(struct nf_net *net, uint32_t peer)
{
    return nf_net_backlog_bytes(emulated_of(net)->inner, peer);
}

static bool emulated_settled(const struct nf_net *net)
{
    return nf_net_settled(((const struct nf_emulated *)net)->inner);
}

static enum nf_status emulated_mesh(struct nf_net *net, const uint32_t *members,
                                    uint32_t count, struct nf_group_msg *msg_p,
                                    int *tids_p, struct nf_mesh **mesh_p,
                                    struct nf_error *err)
{
    return nf_net_mesh(emulated_of(net)->inner, members, count, msg_p, tids_p,
                       mesh_p, err);
}

static void emulated_close(struct nf_net *net)
{
    struct nf_emulated *m = emulated_of(net);

    parcel_destroy(m->handed);
    forget(m, NF_NO_PEER);
    nf_medium_fini(&m->medium);
    nf_body_fini(&m->body);
    nf_free(m->fds);
    if (m->timer >= 0)
        close(m->timer);
    nf_net_close(m->inner);
    nf_free(m);
}

static const struct nf_net_ops emulated_ops = {
    .name = "emulated",
    .summary = "a slower world in front of another transport",
    .spawn = emulated_spawn,
    .send = emulated_send,
    .next = emulated_next,
    .fds = emulated_fds,
    .backlog_bytes = emulated_backlog_bytes,
    .settled = emulated_settled,
    .drop = emulated_drop,
    .mesh = emulated_mesh,
    .close = emulated_close,
};

enum nf_status nf_emulated_open(const struct nf_emulate *emulate,
                                struct nf_net *inner,
                                struct nf_emulated **emulated_p,
                                struct nf_error *err)
{
    struct nf_emulated *m = nf_calloc(1, sizeof(*m));

    if (m == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    m->base.ops = &emulated_ops;
    m->inner = inner;
    nf_medium_init(&m->medium, emulate);
    nf_body_init(&m->body);
    m->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (m->timer < 0) {
        nf_fail(err, NF_ERR_IO, "timerfd: %s", strerror(errno));
        m->inner = NULL; /* stays the caller's */
        emulated_close(&m->base);
        return NF_ERR_IO;
    }
    *emulated_p = m;
    return NF_OK;
}
