/* The communicator: the one worker that talks to the master.
 *
 * One turn of its loop: take what has come, send what has been computed, see
 * to the clock, and then either compute one short lease itself or hand all
 * leases to their slots and sleep. */
#include "config.h"
#include "slave/internal.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/farm/farm.h"

/* A lease is computed inline if it is expected to take less than this: with
 * one slot that saves a hand-over between threads, with several it would also
 * keep the others waiting. */
#define INLINE_ONE_SLOT_US 100
#define INLINE_SLOTS_US    10
/* The longest sleep.  If much more time than that has passed, we were
 * suspended, and the master can't be blamed for it. */
#define SLEEP_US     500000
#define SUSPENDED_US (SLEEP_US + 1000000)
/* How long a last message may take to leave. */
#define FLUSH_US 500000
/* Inline leases computed between two looks at the port. */
#define TURNS_UNHEARD 8
/* Weight of the newest lease in the smoothed compute time of a unit. */
#define SMOOTHING 0.25

enum nf_status nf_comm_send(struct nf_slave *s, enum nf_msg_kind kind,
                            const struct nf_body *body, struct nf_blob *payload)
{
    struct nf_msg msg = {
        .kind = kind,
        .body = body == NULL ? NULL : body->data,
        .body_bytes = body == NULL ? 0 : body->bytes,
        .payload = payload,
    };

    s->comm.sent_us = s->comm.now_us;
    return nf_port_send(s->port, &msg);
}

/* Go on receiving, and so sending what is queued, until the master has hung up
 * or a moment has passed. */
static void flush(struct nf_slave *s)
{
    int64_t end_us = nf_now_us() + FLUSH_US;

    for (;;) {
        struct nf_msg msg;
        enum nf_status status = nf_port_receive(s->port, &msg);
        int64_t left_us = end_us - nf_now_us();

        if (status == NF_OK)
            nf_blob_unref(msg.payload);
        else if (status == NF_WAIT && left_us > 0)
            nf_port_wait(s->port, left_us);
        if (status < 0 || (status == NF_OK && msg.kind == NF_MSG_STOP) ||
            left_us <= 0)
            return;
    }
}

/* Tell the master why we end.  @return @p status */
enum nf_status nf_comm_refuse(struct nf_slave *s, enum nf_status status,
                              const char *text)
{
    nf_log(NF_LOG_INFO, "slave refuses: %s", text);
    if (nf_put_text(&s->comm.body, text) == NF_OK &&
        nf_comm_send(s, NF_MSG_REFUSE, &s->comm.body, NULL) == NF_OK)
        flush(s);
    return status;
}

enum nf_status nf_comm_refuse_malformed(struct nf_slave *s, const char *what)
{
    char text[96];

    snprintf(text, sizeof(text), "malformed message: %s", what);
    return nf_comm_refuse(s, NF_ERR_PROTOCOL, text);
}

enum nf_status nf_comm_refuse_nomem(struct nf_slave *s)
{
    return nf_comm_refuse(s, NF_ERR_NOMEM, "out of memory");
}

static enum nf_status on_lease(struct nf_slave *s, const struct nf_msg *msg)
{
    struct nf_comm *c = &s->comm;
    struct nf_slave_lease *lease;
    enum nf_status status;

    if (!c->ready) {
        nf_blob_unref(msg->payload);
        return nf_comm_refuse_malformed(s, "lease before ready");
    }
    status = nf_lease_take(&c->pool, msg, s->nslots, &lease);
    if (status == NF_ERR_NOMEM)
        return nf_comm_refuse_nomem(s);
    if (status != NF_OK)
        return nf_comm_refuse_malformed(s, "lease");
    if (s->job.phases > 1 && nf_lease_phase(lease->m.lease) > 0 &&
        nf_groups_find_input(s, lease) != NF_OK) {
        bool overtaken = s->groups.overtaken;

        nf_lease_release(&c->pool, lease);
        return overtaken ? NF_OK /* it is not ours any more */
                         : nf_comm_refuse(s, NF_ERR_PROTOCOL,
                                          "a lease whose input is not here");
    }
    if (s->job.phases > 1 && nf_lease_phase(lease->m.lease) == 0)
        nf_groups_make_room(s, lease);
    lease->next = NULL;
    if (c->head == NULL)
        c->head = lease;
    else
        c->tail->next = lease;
    c->tail = lease;
    if (c->unstamped == NULL)
        c->unstamped = lease;
    s->groups.overtaken = false;
    return NF_OK;
}

/* @return how many there were */
static uint64_t release_list(struct nf_slave *s, struct nf_slave_lease *list)
{
    uint64_t count = 0;

    for (; list != NULL; count++) {
        struct nf_slave_lease *next = list->next;

        nf_lease_release(&s->comm.pool, list);
        list = next;
    }
    return count;
}

/* Forget every lease that nobody computes, and say that we are here. */
static enum nf_status on_revoke(struct nf_slave *s)
{
    nf_groups_forget(s); /* what we have counts no more */
    release_list(s, s->comm.head);
    s->comm.head = s->comm.unstamped = NULL;
    for (uint32_t i = 0; s->comm.ready && i < s->nslots; i++)
        s->comm.with_slots -= release_list(s, nf_slot_revoke(&s->slots[i]));
    return s->comm.ready ? nf_greet_ready(s) : NF_OK;
}

/* Drop a lease that nobody has begun to compute.  The master does not wait for
 * an answer: it has forgotten that lease. */
static enum nf_status on_cancel(struct nf_slave *s, const struct nf_msg *msg)
{
    struct nf_comm *c = &s->comm;
    struct nf_cancel_msg m;
    struct nf_slave_lease *lease, *after;

    if (nf_get_cancel(msg->body, msg->body_bytes, &m) != NF_OK)
        return nf_comm_refuse_malformed(s, "cancel");
    after = c->unstamped != NULL ? c->unstamped->next : NULL;
    lease = nf_lease_unlink(&c->head, &c->tail, m.lease);
    if (lease != NULL && lease == c->unstamped)
        c->unstamped = after;
    for (uint32_t i = 0; lease == NULL && c->ready && i < s->nslots; i++) {
        lease = nf_slot_cancel(&s->slots[i], m.lease);
        c->with_slots -= lease != NULL;
    }
    if (lease != NULL)
        nf_lease_release(&c->pool, lease);
    return NF_OK;
}

/* @return NF_OK, NF_WAIT for "stop", or an error: then we end */
static enum nf_status on_message(struct nf_slave *s, struct nf_msg *msg)
{
    if (msg->kind == NF_MSG_LEASE)
        return on_lease(s, msg);
    if (msg->kind == NF_MSG_SHARED)
        return nf_greet_shared(s, msg);
    nf_blob_unref(msg->payload);
    switch (msg->kind) {
    case NF_MSG_JOB:
        return nf_greet_job(s, msg);
    case NF_MSG_PING:
        return NF_OK;
    case NF_MSG_REVOKE:
        return on_revoke(s);
    case NF_MSG_CANCEL:
        return on_cancel(s, msg);
    case NF_MSG_GATHER:
        return nf_groups_asked(s, msg);
    case NF_MSG_EXCHANGE:
        return nf_groups_exchange(s, msg);
    case NF_MSG_GROUP:
        return nf_groups_meet(s, msg);
    case NF_MSG_STOP:
        return NF_WAIT;
    case NF_MSG_REFUSE:
        return NF_ERR_INVAL;
    default:
        return nf_comm_refuse_malformed(s, "unexpected kind");
    }
}

/* Take at most `most` messages of what has come.  Results as on_message. */
static enum nf_status receive(struct nf_slave *s, unsigned most)
{
    while (most-- > 0) {
        struct nf_msg msg;
        enum nf_status status = nf_port_receive(s->port, &msg);

        if (status == NF_WAIT)
            return NF_OK;
        if (status == NF_ERR_PROTOCOL)
            return nf_comm_refuse_malformed(s, "frame");
        if (status != NF_OK)
            return status;
        s->comm.heard = true;
        atomic_fetch_add_explicit(&s->heard_count, 1, memory_order_relaxed);
        status = on_message(s, &msg);
        if (status != NF_OK)
            return status;
    }
    return NF_OK;
}

/* Send the answers of a computed lease, learn from it, forget it. */
static enum nf_status send_answers(struct nf_slave *s,
                                   struct nf_slave_lease *lease)
{
    struct nf_comm *c = &s->comm;
    struct nf_answer *answer = &lease->first;
    enum nf_status status = lease->nomem ? NF_ERR_NOMEM : NF_OK;

    for (size_t i = 0; i < lease->nanswers && status == NF_OK; i++) {
        if (s->job.hold && answer->kind == NF_MSG_RESULT)
            status = nf_groups_keep(s, answer);
        if (answer->sizes != NULL)
            status = nf_groups_keep_pieces(s, nf_lease_phase(lease->m.lease),
                                           answer);
        if (s->job.phases > 1 && nf_lease_phase(lease->m.lease) > 0 &&
            answer->kind == NF_MSG_RESULT)
            nf_groups_drop_input(s, lease);
        if (status == NF_OK)
            status =
                nf_comm_send(s, answer->kind, &answer->body, answer->payload);
        answer = answer->next;
    }
    /* what sleeps is not to be done by the communicator */
    if (lease->computed_units > 0 && s->job.emulated_unit_us == 0) {
        double unit_us =
            (double)lease->compute_us / (double)lease->computed_units;

        c->unit_us = c->unit_us < 0
                         ? unit_us
                         : c->unit_us + SMOOTHING * (unit_us - c->unit_us);
    }
    nf_lease_release(&c->pool, lease);
    return status == NF_ERR_NOMEM ? nf_comm_refuse_nomem(s) : status;
}

/* Send what the slots have delivered. */
static enum nf_status send_done(struct nf_slave *s)
{
    struct nf_slave_lease *list;
    enum nf_status status = NF_OK;

    if (!atomic_load(&s->done_any))
        return NF_OK;
    pthread_mutex_lock(&s->done_lock);
    list = s->done_head;
    s->done_head = NULL;
    atomic_store(&s->done_any, false);
    pthread_mutex_unlock(&s->done_lock);
    while (list != NULL) {
        struct nf_slave_lease *next = list->next;
        struct nf_slot *slot = &s->slots[list->m.slot];

        s->comm.with_slots--;
        if (status == NF_OK)
            status = send_answers(s, list);
        else
            nf_lease_release(&s->comm.pool, list);
        list = next;
        slot->sent++;
        s->comm.sent_any = true;
    }
    return status;
}

/* Answers have left for good once nothing of them waits for credit. */
static void settle_sends(struct nf_slave *s)
{
    if (!s->comm.sent_any || nf_port_backlog_bytes(s->port) > 0)
        return;
    s->comm.sent_any = false;
    pthread_mutex_lock(&s->done_lock);
    for (uint32_t i = 0; i < s->nslots; i++) {
        s->slots[i].unsent -= s->slots[i].sent;
        s->slots[i].sent = 0;
    }
    pthread_cond_broadcast(&s->sent_cond);
    pthread_mutex_unlock(&s->done_lock);
}

/* Look at the clock; stamp the leases that have come. */
static void look_at_clock(struct nf_slave *s)
{
    struct nf_comm *c = &s->comm;
    int64_t now_us = nf_now_us();

    if (now_us - c->now_us > SUSPENDED_US)
        c->heard_us += now_us - c->now_us - SLEEP_US;
    c->now_us = now_us;
    if (c->heard)
        c->heard_us = now_us;
    c->heard = false;
    for (; c->unstamped != NULL; c->unstamped = c->unstamped->next)
        c->unstamped->arrival_us = now_us;
}

static int64_t heartbeat_due_us(const struct nf_slave *s)
{
    return s->comm.job_known && s->job.heartbeat_us > 0
               ? s->comm.sent_us + s->job.heartbeat_us
               : INT64_MAX;
}

/* If the call that `slot` makes is over its limit, answer for its lease. */
static bool overrun(struct nf_slave *s, struct nf_slot *slot)
{
    struct nf_kernel_state *k = &slot->kernel;
    int64_t start_us = atomic_load(&k->call_start_us);
    uint64_t unit = atomic_load(&k->call_first);
    double limit_us =
        (double)s->job.unit_timeout_us * (double)atomic_load(&k->call_units);
    int running = NF_SLOT_RUNNING;
    struct nf_unit_failed_msg m = { .timeout = true };

    if (atomic_load(&slot->state) != NF_SLOT_RUNNING ||
        (double)(s->comm.now_us - start_us) <= limit_us ||
        atomic_load(&k->call_start_us) != start_us ||
        !atomic_compare_exchange_strong(&slot->state, &running,
                                        NF_SLOT_OVERRUN))
        return false;
    atomic_store(&slot->worker->abandoned, true);
    m.lease = slot->lease->m.lease;
    m.unit = unit;
    m.last = unit - slot->lease->m.first + 1 == slot->lease->m.count;
    snprintf(m.reason, sizeof(m.reason), "over its time limit of %.6g s",
             (double)s->job.unit_timeout_us * 1e-6);
    if (nf_put_unit_failed(&s->comm.body, &m) == NF_OK)
        nf_comm_send(s, NF_MSG_UNIT_FAILED, &s->comm.body, NULL);
    return true;
}

static bool any_overrun(struct nf_slave *s)
{
    bool any = false;

    if (s->job.unit_timeout_us <= 0 || !s->comm.ready)
        return false;
    for (uint32_t i = 0; i < s->nslots; i++)
        any = overrun(s, &s->slots[i]) || any;
    return any;
}

/* What is due by the clock.  NF_ERR_FAILED: a kernel hangs. */
static enum nf_status see_to_clock(struct nf_slave *s)
{
    struct nf_comm *c = &s->comm;

    look_at_clock(s);
    if (c->now_us - c->heard_us > atomic_load(&s->silence_limit_us)) {
        nf_log(NF_LOG_INFO, "slave ends: its master is silent");
        return NF_ERR_UNREACHABLE;
    }
    if (any_overrun(s)) {
        c->hung = true;
        flush(s);
        return NF_ERR_FAILED;
    }
    if (c->now_us >= heartbeat_due_us(s))
        return nf_comm_send(s, NF_MSG_HEARTBEAT, NULL, NULL);
    return NF_OK;
}

static double inline_limit_us(const struct nf_slave *s)
{
    return s->nslots == 1 ? INLINE_ONE_SLOT_US : INLINE_SLOTS_US;
}

/* Are there short leases only, and all slots idle?  Then nobody will wake us,
 * and the next message is best awaited and handled by itself. */
static bool is_lingering(const struct nf_slave *s)
{
    return s->comm.with_slots == 0 && s->comm.head == NULL &&
           s->comm.unit_us >= 0 && s->comm.unit_us < inline_limit_us(s);
}

/* May the communicator compute this one itself? */
static bool is_inline(const struct nf_slave *s,
                      const struct nf_slave_lease *lease)
{
    return s->comm.unit_us >= 0 &&
           s->comm.unit_us * (double)lease->m.count < inline_limit_us(s) &&
           atomic_load(&s->slots[lease->m.slot].idle);
}

/* Hand leases to their slots up to one that is to be computed inline.
 * @return that one, or NULL */
static struct nf_slave_lease *dispatch(struct nf_slave *s)
{
    struct nf_comm *c = &s->comm;
    struct nf_slave_lease *lease;

    while ((lease = c->head) != NULL) {
        c->head = lease->next;
        if (is_inline(s, lease))
            return lease;
        c->with_slots++;
        nf_slot_push(&s->slots[lease->m.slot], lease);
    }
    return NULL;
}

/* Compute `lease` in the communicator's thread.
 * @return false: the role is gone; w serves w->slot now */
static bool run_inline(struct nf_worker *w, struct nf_slave_lease *lease)
{
    struct nf_slave *s = w->slave;
    struct nf_slot *slot = &s->slots[lease->m.slot];
    uint64_t run =
        ++s->comm.inline_runs << 21 | (uint64_t)lease->m.slot << 1 | 1;
    int64_t start_us = s->comm.now_us, end_us;

    s->comm.with_slots++;
    atomic_store(&s->inline_run, run); /* from here on the role may go */
    if (!atomic_load(&slot->watch))
        nf_slot_watch(slot);
    end_us = nf_slot_compute(s, slot, lease, start_us);
    if (!atomic_compare_exchange_strong(&s->inline_run, &run,
                                        run & ~UINT64_C(1))) {
        w->slot = slot;
        return false;
    }
    if (slot->kernel.watched)
        atomic_store(&slot->state, NF_SLOT_IDLE);
    s->comm.with_slots--;
    s->comm.now_us = end_us;
    return true;
}

/* When to look at the clock again at the latest. */
static int64_t sleep_us(const struct nf_slave *s)
{
    int64_t until_us = s->comm.now_us + SLEEP_US;
    int64_t limit_us = s->job.unit_timeout_us;

    if (heartbeat_due_us(s) < until_us)
        until_us = heartbeat_due_us(s);
    if (s->comm.heard_us + atomic_load(&s->silence_limit_us) < until_us)
        until_us = s->comm.heard_us + atomic_load(&s->silence_limit_us);
    /* the limit of a unit is noticed at most a quarter of it late */
    if (s->comm.ready && limit_us > 0 &&
        s->comm.now_us + 1000 + limit_us / 4 < until_us)
        until_us = s->comm.now_us + 1000 + limit_us / 4;
    return until_us > s->comm.now_us ? until_us - s->comm.now_us : 0;
}

/* Sleep, unless something has been delivered in the meantime. */
static void sleep_or_not(struct nf_slave *s)
{
    bool sleeps;

    pthread_mutex_lock(&s->done_lock);
    sleeps = s->done_head == NULL;
    s->comm_sleeps = sleeps;
    pthread_mutex_unlock(&s->done_lock);
    if (!sleeps)
        return;
    s->port->may_linger = s->comm.with_slots == 0;
    s->port->is_brief = false;
    nf_port_wait(s->port, nf_groups_sleep_us(s, sleep_us(s)));
    pthread_mutex_lock(&s->done_lock);
    s->comm_sleeps = false;
    pthread_mutex_unlock(&s->done_lock);
}

/* Close the port and let everybody know. */
static void end(struct nf_slave *s, enum nf_status status)
{
    pthread_mutex_lock(&s->end_lock);
    s->status = status;
    s->hung = s->comm.hung;
    s->closing = true;
    pthread_cond_broadcast(&s->end_cond);
    pthread_mutex_unlock(&s->end_lock);
    nf_slots_end(s);
    pthread_mutex_lock(&s->done_lock);
    s->done_closed = true;
    pthread_mutex_unlock(&s->done_lock);
    nf_groups_end(s);
    nf_port_close(s->port);
    pthread_mutex_lock(&s->end_lock);
    s->closed = true;
    pthread_cond_broadcast(&s->end_cond);
    pthread_mutex_unlock(&s->end_lock);
}

/* One turn of the loop.  Status as on_message; *computed_p is set to a lease
 * if the role was lost while that was computed, and then s->comm must not be
 * touched. */
static enum nf_status turn(struct nf_worker *w,
                           struct nf_slave_lease **computed_p)
{
    struct nf_slave *s = w->slave;
    struct nf_slave_lease *lease;
    enum nf_status status = NF_OK;

    /* with short leases waiting, a look at the port for each would cost as
     * much as the lease */
    if (is_lingering(s)) {
        s->port->may_linger = s->port->is_brief = true;
        nf_port_wait(s->port, nf_groups_sleep_us(s, sleep_us(s)));
        status = receive(s, 1);
    } else if (s->comm.head == NULL || ++s->comm.turns % TURNS_UNHEARD == 0) {
        status = receive(s, UINT_MAX);
    }
    if (status == NF_OK)
        status = nf_groups_turn(s);
    if (status == NF_OK)
        status = send_done(s);
    settle_sends(s);
    if (status == NF_OK)
        status = see_to_clock(s);
    if (status != NF_OK)
        return status;
    lease = dispatch(s);
    if (lease == NULL) {
        if (!is_lingering(s))
            sleep_or_not(s);
        return NF_OK;
    }
    if (run_inline(w, lease))
        return send_answers(s, lease);
    *computed_p = lease;
    return NF_OK;
}

bool nf_comm_serve(struct nf_worker *w)
{
    struct nf_slave *s = w->slave;
    struct nf_slave_lease *computed = NULL;
    enum nf_status status = NF_OK;

    if (s->comm.worker == NULL) {
        s->comm.worker = w;
        s->comm.unit_us = -1;
        s->comm.now_us = s->comm.heard_us = nf_now_us();
        status = nf_greet_hello(s);
    }
    while (status == NF_OK) {
        status = turn(w, &computed);
        if (computed != NULL)
            return nf_slot_deliver(s, w->slot, computed);
    }
    end(s, status == NF_WAIT ? NF_OK : status);
    return false;
}
