/* Who did what when, as far as the master's clock and the slaves' durations
 * tell. */
#include "config.h"
#include "apps/nowfarm/timeline.h"
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"

const char *const span_names[SPAN_KINDS] = {
    [SPAN_SHARED] = "shared data", [SPAN_COMPUTE] = "compute",
    [SPAN_TRANSFER] = "transfer",  [SPAN_IDLE] = "idle",
    [SPAN_LOST] = "lost",          [SPAN_CANCELLED] = "cancelled",
    [SPAN_OPEN] = "unfinished",
};

/* ---- rows ---- */

/* Names together, the first slave of each host first. */
static int by_name(const void *a, const void *b, void *arg)
{
    const struct nf_history *h = arg;
    uint32_t one = *(const uint32_t *)a, two = *(const uint32_t *)b;
    int order = strcmp(h->slaves[one].host, h->slaves[two].host);

    return order != 0 ? order : one < two ? -1 : one > two;
}

/* By appearance.  @return false: out of memory */
static bool number_hosts(struct timeline *t)
{
    const struct nf_history *h = t->h;
    uint32_t *order = nf_malloc(h->nslaves * sizeof(*order));

    if (order == NULL)
        return false;
    for (uint32_t i = 0; i < h->nslaves; i++)
        order[i] = i;
    qsort_r(order, h->nslaves, sizeof(*order), by_name, (void *)(uintptr_t)h);
    /* each slave: the first one of its host, ... */
    for (uint32_t k = 0; k < h->nslaves; k++) {
        uint32_t i = order[k];
        bool first = k == 0 || strcmp(h->slaves[order[k - 1]].host,
                                      h->slaves[i].host) != 0;

        t->hosts[i] = first ? i : t->hosts[order[k - 1]];
    }
    /* ... which has its number before the others need it */
    for (uint32_t i = 0; i < h->nslaves; i++)
        t->hosts[i] = t->hosts[i] == i ? t->nhosts++ : t->hosts[t->hosts[i]];
    nf_free(order);
    return true;
}

static uint32_t slave_of_stay(const struct nf_history *h, uint32_t i)
{
    return h->stays[i].slave;
}

static uint32_t slave_of_phase(const struct nf_history *h, uint32_t i)
{
    return h->phases[i].slave;
}

/* @return false: out of memory */
static bool group(struct by_slave *g, const struct nf_history *h, uint32_t n,
                  uint32_t (*slave_of)(const struct nf_history *h, uint32_t i))
{
    uint32_t sum = 0;

    g->first = nf_calloc((size_t)h->nslaves + 1, sizeof(*g->first));
    g->list = nf_calloc((size_t)n + 1, sizeof(*g->list));
    if (g->first == NULL || g->list == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++)
        g->first[slave_of(h, i)]++;
    for (uint32_t i = 0; i <= h->nslaves; i++)
        g->first[i] = sum += g->first[i];
    /* from the ends of the groups down to their beginnings */
    for (uint32_t i = n; i-- > 0;)
        g->list[--g->first[slave_of(h, i)]] = i;
    return true;
}

static int by_host(const void *a, const void *b, void *arg)
{
    const struct timeline *t = arg;
    const struct row *one = a, *two = b;

    if (t->hosts[one->slave] != t->hosts[two->slave])
        return t->hosts[one->slave] < t->hosts[two->slave] ? -1 : 1;
    if (one->slave != two->slave)
        return one->slave < two->slave ? -1 : 1;
    return one->slot < two->slot ? -1 : one->slot > two->slot;
}

/* The job's own time, without the start of slaves and their end. */
static void find_ends(struct timeline *t)
{
    const struct nf_history *h = t->h;

    t->from_us = h->nphases > 0 ? h->phases[0].from_us : h->stays[0].from_us;
    if (h->stays[0].from_us < t->from_us)
        t->from_us = h->stays[0].from_us;
    t->to_us = h->end_us;
    if (h->complete && h->end.makespan_us > 0 &&
        h->end.startup_us + h->end.makespan_us < h->end_us)
        t->to_us = h->end.startup_us + h->end.makespan_us;
    if (t->to_us <= t->from_us)
        t->to_us = t->from_us + 1;
}

enum nf_status timeline_create(const struct nf_history *h,
                               struct timeline *timeline_p,
                               struct nf_error *err)
{
    struct timeline t = { .h = h };

    if (h->nstays == 0)
        return nf_fail(err, NF_ERR_INVAL,
                       "no slave ever joined: there is nothing to show");
    t.rows = nf_malloc(h->nslots * sizeof(*t.rows));
    t.hosts = nf_malloc(h->nslaves * sizeof(*t.hosts));
    if (t.rows == NULL || t.hosts == NULL || !number_hosts(&t) ||
        !group(&t.stays, h, h->nstays, slave_of_stay) ||
        !group(&t.phases, h, h->nphases, slave_of_phase)) {
        timeline_fini(&t);
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    }
    for (uint32_t i = 0; i < h->nslaves; i++)
        for (uint32_t k = 0; k < h->slaves[i].slots; k++)
            t.rows[t.nrows++] = (struct row){ .slave = i, .slot = k };
    qsort_r(t.rows, t.nrows, sizeof(*t.rows), by_host, &t);
    find_ends(&t);
    *timeline_p = t;
    return NF_OK;
}

void timeline_fini(struct timeline *t)
{
    nf_free(t->rows);
    nf_free(t->hosts);
    nf_free(t->stays.first);
    nf_free(t->stays.list);
    nf_free(t->phases.first);
    nf_free(t->phases.list);
    memset(t, 0, sizeof(*t));
}

/* ---- spans ---- */

/* Where a walk is; everything before free_us has been visited. */
struct walk {
    const struct timeline *t;
    uint32_t slave;
    void (*visit)(void *user, const struct span *span);
    void *user;
    int64_t free_us;
    int64_t back_us; /* the last result is there */
    uint32_t stay;   /* of t->stays: the first that may not be over at
                        free_us */
};

static void emit(struct walk *w, struct span span)
{
    if (span.from_us < w->free_us)
        span.from_us = w->free_us;
    if (span.to_us > w->t->to_us)
        span.to_us = w->t->to_us;
    if (span.from_us >= span.to_us)
        return;
    w->visit(w->user, &span);
    w->free_us = span.to_us;
}

/* Nothing on the way until until_us: idle where it is there. */
static void emit_idle(struct walk *w, int64_t until_us)
{
    const struct nf_history *h = w->t->h;

    for (; w->stay < w->t->stays.first[w->slave + 1]; w->stay++) {
        const struct nf_history_stay *stay =
            &h->stays[w->t->stays.list[w->stay]];
        int64_t over_us = stay->to_us >= 0 ? stay->to_us : w->t->to_us;

        if (stay->from_us >= until_us)
            return;
        emit(w, (struct span){
                    .kind = SPAN_IDLE,
                    .from_us = stay->from_us,
                    .to_us = over_us < until_us ? over_us : until_us,
                });
        if (over_us >= until_us)
            return;
    }
}

/* Up to until_us, from when the slot is busy with a chunk sent at sent_us. */
static void emit_gap(struct walk *w, int64_t sent_us, int64_t until_us)
{
    if (w->back_us > w->free_us)
        emit(w, (struct span){
                    .kind = SPAN_TRANSFER,
                    .from_us = w->free_us,
                    .to_us = w->back_us < until_us ? w->back_us : until_us,
                });
    emit_idle(w, sent_us < until_us ? sent_us : until_us);
    emit(w, (struct span){
                .kind = SPAN_TRANSFER, .from_us = sent_us, .to_us = until_us });
}

/* Phases of the slave come before its chunks. */
static void emit_phases(struct walk *w)
{
    const struct by_slave *phases = &w->t->phases;

    for (uint32_t i = phases->first[w->slave]; i < phases->first[w->slave + 1];
         i++) {
        const struct nf_history_phase *phase =
            &w->t->h->phases[phases->list[i]];

        if (phase->to_us >= 0)
            emit(w, (struct span){ .kind = SPAN_SHARED,
                                   .from_us = phase->from_us,
                                   .to_us = phase->to_us,
                                   .phase = phase });
    }
}

static enum span_kind kind_of(const struct nf_history_chunk *chunk)
{
    switch (chunk->fate) {
    case NF_FATE_OPEN:
        return SPAN_OPEN;
    case NF_FATE_LOST:
        return SPAN_LOST;
    case NF_FATE_CANCELLED:
        return SPAN_CANCELLED;
    case NF_FATE_ANSWERED:
        break;
    }
    return chunk->measured ? SPAN_COMPUTE : SPAN_LOST;
}

static void emit_chunk(struct walk *w, const struct nf_history_chunk *chunk)
{
    struct span span = {
        .kind = kind_of(chunk),
        .from_us = chunk->sent_us,
        .to_us = chunk->ended_us >= 0 ? chunk->ended_us : w->t->to_us,
        .chunk = chunk,
    };

    if (span.kind == SPAN_COMPUTE)
        nf_history_computed(chunk, w->free_us, &span.from_us, &span.to_us);
    if (span.from_us > w->free_us)
        emit_gap(w, chunk->sent_us, span.from_us);
    emit(w, span);
    if (span.kind == SPAN_COMPUTE && chunk->ended_us > w->back_us)
        w->back_us = chunk->ended_us;
}

void timeline_walk(const struct timeline *t, const struct row *row,
                   void (*visit)(void *user, const struct span *span),
                   void *user)
{
    const struct nf_history *h = t->h;
    struct walk w = { .t = t,
                      .slave = row->slave,
                      .visit = visit,
                      .user = user,
                      .free_us = t->from_us,
                      .stay = t->stays.first[row->slave] };
    uint32_t i = h->slot_heads[h->slaves[row->slave].first_slot + row->slot];

    emit_phases(&w);
    for (; i != NF_HISTORY_NONE; i = h->chunks[i].next_of_slot)
        emit_chunk(&w, &h->chunks[i]);
    emit_gap(&w, t->to_us, t->to_us);
}

void timeline_walk_waits(const struct timeline *t, const struct row *row,
                         void (*visit)(void *user, int64_t from_us,
                                       int64_t to_us),
                         void *user)
{
    const struct nf_history *h = t->h;
    uint32_t i = h->slot_heads[h->slaves[row->slave].first_slot + row->slot];
    int64_t free_us = t->from_us;

    for (; i != NF_HISTORY_NONE; i = h->chunks[i].next_of_slot) {
        const struct nf_history_chunk *chunk = &h->chunks[i];
        int64_t from_us, to_us;

        if (!chunk->measured || chunk->fate != NF_FATE_ANSWERED)
            continue;
        nf_history_computed(chunk, free_us, &from_us, &to_us);
        free_us = to_us;
        if (chunk->wait_us > 0)
            visit(user, from_us - chunk->wait_us, from_us);
    }
}

/* ---- units in the hands of slaves ---- */

static int by_time(const void *a, const void *b)
{
    const struct change *one = a, *two = b;

    return one->at_us < two->at_us ? -1 : one->at_us > two->at_us;
}

enum nf_status timeline_outstanding(const struct timeline *t,
                                    struct change **changes_p,
                                    size_t *nchanges_p)
{
    const struct nf_history *h = t->h;
    struct change *changes =
        nf_malloc(2 * (size_t)h->nchunks * sizeof(*changes));
    size_t n = 0;

    if (changes == NULL)
        return NF_ERR_NOMEM;
    for (uint32_t i = 0; i < h->nchunks; i++) {
        const struct nf_history_chunk *chunk = &h->chunks[i];

        changes[n++] = (struct change){ chunk->sent_us, (int64_t)chunk->count };
        if (chunk->ended_us >= 0)
            changes[n++] =
                (struct change){ chunk->ended_us, -(int64_t)chunk->count };
    }
    qsort(changes, n, sizeof(*changes), by_time);
    *changes_p = changes;
    *nchanges_p = n;
    return NF_OK;
}
