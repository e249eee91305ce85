/* The compute threads. */
#include "config.h"
#include "slave/internal.h"
#include <errno.h>
#include <time.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"

/* A worker stops watching after this many looks without an inline run. */
#define UNUSED_LOOKS 5

static enum nf_status slot_init(struct nf_slave *s, uint32_t index)
{
    struct nf_slot *slot = &s->slots[index];
    pthread_condattr_t attr;

    pthread_mutex_init(&slot->lock, NULL);
    if (pthread_condattr_init(&attr) != 0)
        return NF_ERR_NOMEM;
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&slot->cond, &attr);
    pthread_condattr_destroy(&attr);
    slot->own.slave = s;
    slot->own.slot = slot;
    slot->worker = &slot->own;
    slot->kernel.slot = index;
    slot->kernel.watched = s->job.unit_timeout_us > 0;
    slot->kernel.end_us = nf_now_us();
    return NF_OK;
}

enum nf_status nf_slots_create(struct nf_slave *s)
{
    s->slots = nf_calloc(s->nslots, sizeof(*s->slots));
    if (s->slots == NULL)
        return NF_ERR_NOMEM;
    for (uint32_t i = 0; i < s->nslots; i++)
        if (slot_init(s, i) != NF_OK)
            return NF_ERR_NOMEM;
    return NF_OK;
}

void nf_slots_destroy(struct nf_slave *s)
{
    for (uint32_t i = 0; s->slots != NULL && i < s->nslots; i++) {
        struct nf_slot *slot = &s->slots[i];

        nf_kernel_state_fini(&slot->kernel);
        pthread_mutex_destroy(&slot->lock);
        pthread_cond_destroy(&slot->cond);
    }
    nf_free(s->slots);
}

void nf_slot_push(struct nf_slot *slot, struct nf_slave_lease *lease)
{
    bool was_idle;

    lease->next = NULL;
    pthread_mutex_lock(&slot->lock);
    if (slot->head == NULL)
        slot->head = lease;
    else
        slot->tail->next = lease;
    slot->tail = lease;
    was_idle = atomic_exchange(&slot->idle, false);
    if (was_idle)
        pthread_cond_signal(&slot->cond);
    pthread_mutex_unlock(&slot->lock);
}

struct nf_slave_lease *nf_slot_revoke(struct nf_slot *slot)
{
    struct nf_slave_lease *list;

    pthread_mutex_lock(&slot->lock);
    list = slot->head;
    slot->head = NULL;
    pthread_mutex_unlock(&slot->lock);
    return list;
}

struct nf_slave_lease *nf_slot_cancel(struct nf_slot *slot, uint64_t lease)
{
    struct nf_slave_lease *found;

    pthread_mutex_lock(&slot->lock);
    found = nf_lease_unlink(&slot->head, &slot->tail, lease);
    pthread_mutex_unlock(&slot->lock);
    return found;
}

void nf_slot_watch(struct nf_slot *slot)
{
    pthread_mutex_lock(&slot->lock);
    atomic_store(&slot->watch, true);
    pthread_cond_signal(&slot->cond);
    pthread_mutex_unlock(&slot->lock);
}

void nf_slots_end(struct nf_slave *s)
{
    atomic_store(&s->ending, true);
    for (uint32_t i = 0; s->slots != NULL && i < s->nslots; i++) {
        pthread_mutex_lock(&s->slots[i].lock);
        pthread_cond_broadcast(&s->slots[i].cond);
        pthread_mutex_unlock(&s->slots[i].lock);
    }
    pthread_mutex_lock(&s->done_lock);
    pthread_cond_broadcast(&s->sent_cond);
    pthread_mutex_unlock(&s->done_lock);
}

int64_t nf_slot_compute(struct nf_slave *s, struct nf_slot *slot,
                        struct nf_slave_lease *lease, int64_t start_us)
{
    if (slot->kernel.watched) {
        slot->lease = lease;
        atomic_store(&slot->kernel.call_start_us, INT64_MAX);
        atomic_store(&slot->state, NF_SLOT_RUNNING);
    }
    return nf_kernel_run(&s->kernel, &slot->kernel, lease, start_us);
}

bool nf_slot_deliver(struct nf_slave *s, struct nf_slot *slot,
                     struct nf_slave_lease *lease)
{
    int running = NF_SLOT_RUNNING;

    if (slot->kernel.watched &&
        !atomic_compare_exchange_strong(&slot->state, &running, NF_SLOT_IDLE)) {
        struct nf_lease_pool own = { NULL, 0 };

        nf_lease_release(&own, lease);
        nf_lease_pool_fini(&own);
        return false;
    }
    lease->next = NULL;
    pthread_mutex_lock(&s->done_lock);
    slot->unsent++;
    if (s->done_head == NULL)
        s->done_head = lease;
    else
        s->done_tail->next = lease;
    s->done_tail = lease;
    atomic_store(&s->done_any, true);
    /* under the lock: the port is open as long as done_closed is false */
    if (s->comm_sleeps && !s->done_closed) {
        s->comm_sleeps = false;
        nf_port_wake(s->port);
    }
    pthread_mutex_unlock(&s->done_lock);
    return true;
}

/* Let the communicator keep up: see `unsent`. */
static void wait_for_sends(struct nf_slave *s, struct nf_slot *slot)
{
    pthread_mutex_lock(&s->done_lock);
    while (slot->unsent > 1 && !atomic_load(&s->ending))
        pthread_cond_wait(&s->sent_cond, &s->done_lock);
    pthread_mutex_unlock(&s->done_lock);
}

/* What a watching worker remembers between two looks. */
struct look {
    uint64_t seen; /* slave->inline_run at the last look */
    int unused;    /* looks without a new run */
};

/* Look whether the communicator has been busy with one inline run for this
 * slot since the last look; if so, take the role over. */
static bool take_over(struct nf_worker *w, struct look *look)
{
    struct nf_slave *s = w->slave;
    struct nf_slot *slot = w->slot;
    uint64_t run = atomic_load(&s->inline_run);
    bool running_here =
        (run & 1) != 0 && ((run >> 1) & 0xfffff) == slot->kernel.slot;

    if (running_here && run == look->seen) {
        if (!atomic_compare_exchange_strong(&s->inline_run, &run,
                                            run & ~UINT64_C(1)))
            return false;
        atomic_store(&slot->idle, false);
        slot->worker = s->comm.worker; /* it finishes its lease for the slot */
        s->comm.worker = w;
        w->slot = NULL;
        return true;
    }
    look->unused = run == look->seen ? look->unused + 1 : 0;
    look->seen = run;
    if (look->unused < UNUSED_LOOKS)
        return false;
    look->unused = 0;
    atomic_store(&slot->watch, false);
    /* the communicator announces a run before it looks at `watch`, so one of
     * us notices */
    run = atomic_load(&s->inline_run);
    if ((run & 1) != 0 && ((run >> 1) & 0xfffff) == slot->kernel.slot)
        atomic_store(&slot->watch, true);
    return false;
}

/* Sleep until signalled, or till the next look.  @return whether the time for
 * it has come */
static bool sleep_a_look(struct nf_slot *slot)
{
    struct timespec at;

    if (!atomic_load(&slot->watch)) {
        pthread_cond_wait(&slot->cond, &slot->lock);
        return false;
    }
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_nsec += NF_TAKEOVER_US * 1000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_nsec -= 1000000000;
        at.tv_sec++;
    }
    return pthread_cond_timedwait(&slot->cond, &slot->lock, &at) == ETIMEDOUT;
}

/* Wait for a lease.  NULL: the role was taken over (then w->slot is NULL too),
 * or the slave ends. */
static struct nf_slave_lease *next_lease(struct nf_worker *w)
{
    struct nf_slot *slot = w->slot;
    struct nf_slave_lease *lease = NULL;
    struct look look = { 0, 0 };

    pthread_mutex_lock(&slot->lock);
    while (!atomic_load(&w->slave->ending)) {
        lease = slot->head;
        if (lease != NULL) {
            slot->head = lease->next;
            break;
        }
        if (!atomic_load(&slot->idle))
            atomic_store(&slot->idle, true);
        if (sleep_a_look(slot) && slot->head == NULL && take_over(w, &look))
            break;
    }
    pthread_mutex_unlock(&slot->lock);
    return lease;
}

bool nf_slot_serve(struct nf_worker *w)
{
    struct nf_slot *slot = w->slot;
    struct nf_slave_lease *lease;

    for (;;) {
        /* also when a lease that was begun inline has just been delivered */
        wait_for_sends(w->slave, slot);
        lease = next_lease(w);
        if (lease == NULL)
            return w->slot == NULL;
        nf_slot_compute(w->slave, slot, lease, nf_now_us());
        if (!nf_slot_deliver(w->slave, slot, lease))
            return false;
    }
}
