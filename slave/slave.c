/* The life of a slave, and the thread that looks after it.
 *
 * The thread that calls nf_slave_serve() neither talks nor computes.  In a
 * slave process it ends the process when the communicator has decided so, or
 * when that is stuck in a call of the transport: a blocking send to a host
 * that died never returns. */
#include "config.h"
#include "slave/slave.h"
#include <errno.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "slave/internal.h"

/* The master's silence that is accepted before it has said JOB. */
#define FIRST_SILENCE_US 8000000
/* The watchdog's period, and how much longer than the communicator it waits
 * when the master is silent. */
#define TICK_US  250000
#define STUCK_US 2000000
/* How long closing the port, or kernels when one of them hangs, may take. */
#define CLOSE_US 1000000

/* Drop one reference; the last one, which may be that of a kernel that came
 * back long after it was given up, frees the slave. */
static void slave_unref(struct nf_slave *s)
{
    struct nf_slave_lease *lists[2];

    if (atomic_fetch_sub(&s->refs, 1) > 1)
        return;
    lists[0] = s->done_head;
    lists[1] = s->comm.head;
    for (size_t i = 0; i < 2 + (size_t)(s->slots == NULL ? 0 : s->nslots); i++)
        for (struct nf_slave_lease *l = i < 2 ? lists[i] : s->slots[i - 2].head;
             l != NULL;) {
            struct nf_slave_lease *next = l->next;

            nf_lease_release(&s->comm.pool, l);
            l = next;
        }
    nf_lease_pool_fini(&s->comm.pool);
    nf_slots_destroy(s);
    nf_body_fini(&s->comm.body);
    nf_groups_fini(s);
    nf_blob_unref(s->shared);
    pthread_mutex_destroy(&s->done_lock);
    pthread_cond_destroy(&s->sent_cond);
    pthread_mutex_destroy(&s->end_lock);
    pthread_cond_destroy(&s->end_cond);
    nf_free(s);
}

static void *worker_main(void *arg)
{
    struct nf_worker *w = arg;
    struct nf_slave *s = w->slave;

    while (w->slot != NULL ? nf_slot_serve(w) : nf_comm_serve(w))
        continue;
    pthread_mutex_lock(&s->end_lock);
    w->ended = true;
    pthread_cond_broadcast(&s->end_cond);
    pthread_mutex_unlock(&s->end_lock);
    slave_unref(s);
    return NULL;
}

enum nf_status nf_worker_start(struct nf_worker *w)
{
    atomic_fetch_add(&w->slave->refs, 1);
    w->started = true;
    if (pthread_create(&w->thread, NULL, worker_main, w) == 0)
        return NF_OK;
    w->started = false;
    atomic_fetch_sub(&w->slave->refs, 1);
    return NF_ERR_NOMEM;
}

static struct nf_slave *slave_create(struct nf_port *port,
                                     const struct nf_slave_config *config)
{
    struct nf_slave *s = nf_calloc(1, sizeof(*s));
    pthread_condattr_t attr;

    if (s == NULL)
        return NULL;
    s->config = config;
    s->port = port;
    s->first.slave = s;
    atomic_init(&s->refs, 1);
    atomic_init(&s->silence_limit_us, FIRST_SILENCE_US);
    pthread_mutex_init(&s->done_lock, NULL);
    pthread_cond_init(&s->sent_cond, NULL);
    pthread_mutex_init(&s->end_lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->end_cond, &attr);
    pthread_condattr_destroy(&attr);
    return s;
}

/* Wait on end_cond until at_us of our clock.  @return false: it is over */
static bool end_wait(struct nf_slave *s, int64_t at_us)
{
    struct timespec at = {
        .tv_sec = (time_t)(at_us / 1000000),
        .tv_nsec = (long)(at_us % 1000000) * 1000,
    };

    return pthread_cond_timedwait(&s->end_cond, &s->end_lock, &at) != ETIMEDOUT;
}

/* What kernels have printed must not be lost, but a kernel that hangs in
 * printf must not keep us either. */
static void flush_output(void)
{
    if (ftrylockfile(stdout) == 0)
        fflush(stdout);
}

/* Wait until the communicator has closed the port, at most until it must have:
 * a process is not kept alive by a transport that hangs. */
static void watch_process(struct nf_slave *s)
{
    int64_t last_us = nf_now_us(), quiet_us = 0, closing_us = 0;
    unsigned heard = 0;

    pthread_mutex_lock(&s->end_lock);
    while (!s->closed) {
        int64_t now_us, passed_us;

        end_wait(s, last_us + TICK_US);
        now_us = nf_now_us();
        passed_us = now_us - last_us;
        last_us = now_us;
        if (passed_us > 2 * TICK_US)
            passed_us = 2 * TICK_US; /* we were suspended */
        if (s->closing)
            closing_us += passed_us;
        if (atomic_load(&s->heard_count) != heard)
            quiet_us = 0;
        else
            quiet_us += passed_us;
        heard = atomic_load(&s->heard_count);
        if (closing_us > CLOSE_US ||
            quiet_us > atomic_load(&s->silence_limit_us) + STUCK_US)
            break;
    }
    if (s->closed && s->status == NF_ERR_INVAL && s->slots == NULL) {
        pthread_mutex_unlock(&s->end_lock);
        return; /* refused before any kernel could run */
    }
    flush_output();
    _exit(s->closing && s->status == NF_OK ? 0 : 1);
}

/* Wait for one worker, unless its kernel hangs. */
static void join(struct nf_slave *s, struct nf_worker *w, int64_t until_us)
{
    bool ended;

    if (!w->started)
        return;
    pthread_mutex_lock(&s->end_lock);
    while (!w->ended) {
        if (!s->hung)
            pthread_cond_wait(&s->end_cond, &s->end_lock);
        else if (atomic_load(&w->abandoned) || !end_wait(s, until_us))
            break;
    }
    ended = w->ended;
    pthread_mutex_unlock(&s->end_lock);
    if (ended)
        pthread_join(w->thread, NULL);
    else
        pthread_detach(w->thread); /* it keeps its reference */
}

/* Wait for the end of all workers and take its status. */
static enum nf_status join_all(struct nf_slave *s)
{
    enum nf_status status;
    int64_t until_us;

    pthread_mutex_lock(&s->end_lock);
    while (!s->closed)
        pthread_cond_wait(&s->end_cond, &s->end_lock);
    status = s->status;
    pthread_mutex_unlock(&s->end_lock);
    until_us = nf_now_us() + CLOSE_US;
    join(s, &s->first, until_us);
    for (uint32_t i = 0; s->slots != NULL && i < s->nslots; i++)
        join(s, &s->slots[i].own, until_us);
    return status;
}

static void become_slave_process(void)
{
    unsetenv(NF_SLAVE_VARIABLE); /* what kernels start is no slave */
    signal(SIGINT, SIG_IGN);     /* the master decides */
    signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, 0);
#ifdef __GLIBC__
    /* Blocks of the size of fragments, inputs and results come and go with
     * every lease: keep their memory, instead of having the kernel clear new
     * pages for each. */
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    mallopt(M_ARENA_MAX, 1);
#endif
}

enum nf_status nf_slave_serve(struct nf_port *port,
                              const struct nf_slave_config *config)
{
    struct nf_slave *s = slave_create(port, config);
    enum nf_status status;

    if (!config->in_process)
        become_slave_process();
    if (s == NULL || nf_worker_start(&s->first) != NF_OK) {
        nf_port_close(port);
        if (s != NULL)
            slave_unref(s);
        return NF_ERR_NOMEM;
    }
    if (!config->in_process)
        watch_process(s);
    status = join_all(s);
    slave_unref(s);
    return status;
}
