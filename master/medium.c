/* The emulated medium.  Where two things happen at one instant, messages come
 * before the master: it receives all, then sends. */
#include "config.h"
#include "master/medium.h"
#include <string.h>
#include "common/base/alloc.h"

enum stage {
    SENDING, /* the master is at it, or will be */
    LEAVING, /* a result is ready at its slave */
    ON_WIRE,
    HELD,  /* at its slave, which is busy */
    MAIL,  /* at the master, which is busy or deaf */
    TAKING /* the master is at it */
};

void nf_medium_init(struct nf_medium *m, const struct nf_emulate *emulate)
{
    memset(m, 0, sizeof(*m));
    m->emulate = *emulate;
    m->wake_us = INT64_MAX;
    TAILQ_INIT(&m->moving);
    TAILQ_INIT(&m->mail);
    TAILQ_INIT(&m->dropped);
}

void nf_medium_fini(struct nf_medium *m)
{
    for (uint32_t i = 0; i < m->npeers; i++) {
        for (uint32_t k = 0; k < m->peers[i].nslots; k++)
            nf_free(m->peers[i].slots[k]);
        nf_free(m->peers[i].slots);
    }
    nf_free(m->peers);
}

/* ------------------------------------------------------------ who and where */

static enum nf_status know_peer(struct nf_medium *m, uint32_t peer)
{
    uint32_t count = 2 * peer + 4;
    struct nf_medium_peer *peers;

    if (peer < m->npeers)
        return NF_OK;
    peers = nf_realloc(m->peers, count * sizeof(*peers));
    if (peers == NULL)
        return NF_ERR_NOMEM;
    memset(peers + m->npeers, 0, (count - m->npeers) * sizeof(*peers));
    m->peers = peers;
    m->npeers = count;
    return NF_OK;
}

static enum nf_status know_slot(struct nf_medium_peer *peer, uint32_t slot)
{
    struct nf_medium_slot **slots;

    if (slot < peer->nslots)
        return NF_OK;
    slots = nf_realloc(peer->slots, (slot + 1) * sizeof(*slots));
    if (slots == NULL)
        return NF_ERR_NOMEM;
    peer->slots = slots;
    while (peer->nslots <= slot) {
        struct nf_medium_slot *fresh = nf_calloc(1, sizeof(*fresh));

        if (fresh == NULL)
            return NF_ERR_NOMEM;
        fresh->free_us = -1;
        TAILQ_INIT(&fresh->held); /* points to itself: must not move */
        slots[peer->nslots++] = fresh;
    }
    return NF_OK;
}

/* The slot that works on the lease of a result, or NULL. */
static struct nf_medium_slot *find_slot(const struct nf_medium *m,
                                        const struct nf_transfer *t)
{
    const struct nf_medium_peer *peer = &m->peers[t->peer];

    for (uint32_t i = 0; i < peer->nslots; i++)
        if (peer->slots[i]->busy && peer->slots[i]->lease == t->lease)
            return peer->slots[i];
    return NULL;
}

/* --------------------------------------------------------------- the wires */

/* Mostly the last one to come is the last one due.  Of a result and a data
 * message that want the wire at one instant the result goes first: that it
 * would be ready then was known before. */
static void move(struct nf_medium *m, struct nf_transfer *t, enum stage stage,
                 int64_t due_us)
{
    struct nf_transfer *before = TAILQ_LAST(&m->moving, nf_transfers);

    t->stage = stage;
    t->due_us = due_us;
    while (before != NULL && (before->due_us > due_us ||
                              (before->due_us == due_us && stage == LEAVING &&
                               before->stage != LEAVING)))
        before = TAILQ_PREV(before, nf_transfers, link);
    if (before == NULL)
        TAILQ_INSERT_HEAD(&m->moving, t, link);
    else
        TAILQ_INSERT_AFTER(&m->moving, before, t, link);
}

static void put_on_wire(struct nf_medium *m, struct nf_transfer *t)
{
    int64_t *free_us = m->emulate.wires == NF_EMULATE_BUS
                           ? &m->bus_free_us
                           : &m->peers[t->peer].free_us[t->is_result];

    if (*free_us < t->due_us)
        *free_us = t->due_us;
    *free_us += nf_emulate_time_us(&m->emulate.wire, t->units);
    move(m, t, ON_WIRE, *free_us);
}

enum nf_status nf_medium_send(struct nf_medium *m, struct nf_transfer *t,
                              int64_t now_us)
{
    if (know_peer(m, t->peer) != NF_OK ||
        (m->emulate.blocking &&
         know_slot(&m->peers[t->peer], t->slot) != NF_OK))
        return NF_ERR_NOMEM;
    if (m->cpu_free_us < now_us)
        m->cpu_free_us = now_us;
    m->cpu_free_us += nf_emulate_time_us(&m->emulate.send, t->units);
    move(m, t, SENDING, m->cpu_free_us);
    return NF_OK;
}

enum nf_status nf_medium_arrive(struct nf_medium *m, struct nf_transfer *t,
                                int64_t now_us)
{
    const struct nf_medium_slot *slot;

    if (know_peer(m, t->peer) != NF_OK)
        return NF_ERR_NOMEM;
    slot = find_slot(m, t);
    t->wait_us = slot != NULL ? slot->wait_us : -1;
    t->idle_us = slot != NULL ? slot->idle_us : -1;
    move(m, t, LEAVING, now_us);
    return NF_OK;
}

static struct nf_transfer *find_lease(struct nf_transfers *list, uint32_t peer,
                                      uint64_t lease)
{
    struct nf_transfer *t;

    TAILQ_FOREACH(t, list, link)
    if (!t->is_result && t->peer == peer && t->lease == lease)
        break;
    return t;
}

bool nf_medium_cancel(struct nf_medium *m, uint32_t peer, uint64_t lease)
{
    struct nf_transfer *t = find_lease(&m->moving, peer, lease);

    if (peer >= m->npeers)
        return false;
    for (uint32_t k = 0; k < m->peers[peer].nslots && t == NULL; k++)
        t = find_lease(&m->peers[peer].slots[k]->held, peer, lease);
    if (t != NULL)
        t->cancelled = true;
    return t != NULL;
}

/* --------------------------------------------------------------- the slaves */

static void deliver(struct nf_medium_slot *slot, struct nf_transfer *t,
                    int64_t at_us, struct nf_medium_event *event_p)
{
    *event_p = (struct nf_medium_event){ NF_MEDIUM_DELIVER, t, at_us };
    if (slot == NULL)
        return;
    slot->busy = true;
    slot->lease = t->lease;
    slot->wait_us = at_us - t->due_us;
    slot->idle_us = -1;
    if (slot->free_us >= 0)
        slot->idle_us =
            t->due_us > slot->free_us ? t->due_us - slot->free_us : 0;
}

/* @return whether there is an event */
static bool data_at_slave(struct nf_medium *m, struct nf_transfer *t,
                          struct nf_medium_event *event_p)
{
    struct nf_medium_slot *slot =
        m->emulate.blocking ? m->peers[t->peer].slots[t->slot] : NULL;

    if (t->cancelled) {
        *event_p = (struct nf_medium_event){ NF_MEDIUM_DROP, t, t->due_us };
        return true;
    }
    if (slot != NULL && slot->busy) {
        t->stage = HELD;
        TAILQ_INSERT_TAIL(&slot->held, t, link);
        return false;
    }
    deliver(slot, t, t->due_us, event_p);
    return true;
}

static bool result_at_master(struct nf_medium *m, struct nf_transfer *t,
                             struct nf_medium_event *event_p)
{
    struct nf_medium_slot *slot = find_slot(m, t);
    struct nf_transfer *next;

    t->stage = MAIL;
    TAILQ_INSERT_TAIL(&m->mail, t, link);
    if (slot == NULL || !t->last)
        return false;
    slot->busy = false;
    slot->free_us = t->due_us;
    while ((next = TAILQ_FIRST(&slot->held)) != NULL) {
        TAILQ_REMOVE(&slot->held, next, link);
        if (!next->cancelled)
            break;
        TAILQ_INSERT_TAIL(&m->dropped, next, link);
    }
    if (next == NULL)
        return false;
    deliver(slot, next, t->due_us, event_p);
    return true;
}

/* --------------------------------------------------------------- the master */

void nf_medium_arm(struct nf_medium *m, int64_t wake_us, bool deaf)
{
    m->wake_us = wake_us;
    m->deaf = deaf;
}

static struct nf_transfer *next_mail(const struct nf_medium *m)
{
    return m->deaf ? NULL : TAILQ_FIRST(&m->mail);
}

/* When the master takes up something. */
static int64_t master_at_us(const struct nf_medium *m)
{
    const struct nf_transfer *mail = next_mail(m);
    int64_t at_us = mail != NULL ? mail->due_us : m->wake_us;

    return at_us > m->cpu_free_us ? at_us : m->cpu_free_us;
}

/* @return whether there is an event */
static bool master_turn(struct nf_medium *m, int64_t at_us,
                        struct nf_medium_event *event_p)
{
    struct nf_transfer *mail = next_mail(m);

    if (mail == NULL) {
        m->wake_us = INT64_MAX;
        m->deaf = false;
        m->cpu_free_us = at_us; /* so long it was deaf to what has come */
        *event_p = (struct nf_medium_event){ NF_MEDIUM_FREE, NULL, at_us };
        return true;
    }
    TAILQ_REMOVE(&m->mail, mail, link);
    m->cpu_free_us = at_us + nf_emulate_time_us(&m->emulate.recv, mail->units);
    move(m, mail, TAKING, m->cpu_free_us);
    return false;
}

/* The first one that moves has come to the end of its stage. */
static bool stage_end(struct nf_medium *m, struct nf_transfer *t,
                      struct nf_medium_event *event_p)
{
    TAILQ_REMOVE(&m->moving, t, link);
    switch ((enum stage)t->stage) {
    case ON_WIRE:
        return t->is_result ? result_at_master(m, t, event_p)
                            : data_at_slave(m, t, event_p);
    case TAKING:
        *event_p = (struct nf_medium_event){ NF_MEDIUM_MERGE, t, t->due_us };
        return true;
    default:
        put_on_wire(m, t);
        return false;
    }
}

enum nf_status nf_medium_next(struct nf_medium *m, int64_t now_us,
                              struct nf_medium_event *event_p)
{
    for (;;) {
        struct nf_transfer *first = TAILQ_FIRST(&m->dropped);
        int64_t at_us = master_at_us(m);
        bool is_master;

        if (first != NULL) {
            TAILQ_REMOVE(&m->dropped, first, link);
            *event_p = (struct nf_medium_event){ NF_MEDIUM_DROP, first,
                                                 first->due_us };
            return NF_OK;
        }
        first = TAILQ_FIRST(&m->moving);
        is_master = first == NULL || first->due_us > at_us;
        if (!is_master)
            at_us = first->due_us;
        if (at_us > now_us || at_us == INT64_MAX) {
            event_p->at_us = at_us;
            return NF_WAIT;
        }
        if (is_master ? master_turn(m, at_us, event_p)
                      : stage_end(m, first, event_p))
            return NF_OK;
    }
}

/* ---------------------------------------------------------------- the end */

static struct nf_transfer *take_from(struct nf_transfers *list, uint32_t peer)
{
    struct nf_transfer *t;

    TAILQ_FOREACH(t, list, link)
    if (peer == NF_NO_PEER || (t->peer == peer && !t->is_result)) {
        TAILQ_REMOVE(list, t, link);
        return t;
    }
    return NULL;
}

struct nf_transfer *nf_medium_take_back(struct nf_medium *m, uint32_t peer)
{
    struct nf_transfer *t = take_from(&m->moving, peer);

    if (t == NULL)
        t = take_from(&m->mail, peer);
    if (t == NULL)
        t = take_from(&m->dropped, peer);
    for (uint32_t i = 0; i < m->npeers && t == NULL; i++)
        for (uint32_t k = 0; k < m->peers[i].nslots && t == NULL; k++) {
            if (peer == NF_NO_PEER || peer == i) {
                m->peers[i].slots[k]->busy = false;
                t = take_from(&m->peers[i].slots[k]->held, peer);
            }
        }
    return t;
}
