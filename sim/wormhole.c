#include "config.h"
#include "sim/wormhole.h"
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/heap.h"

struct nf_wormhole_channel {
    uint32_t free;        /* ports are several */
    uint32_t holder;      /* the last worm it was granted to */
    uint32_t first, last; /* who waits, worms */
};

/* In this order at one instant. */
enum event_kind { RELEASE, REQUEST };

struct nf_wormhole_event {
    int64_t at;
    enum event_kind kind;
    uint32_t worm, hop;
};

enum nf_status nf_wormhole_init(struct nf_wormhole *wormhole_p,
                                const struct nf_mesh *mesh, uint32_t worms,
                                uint32_t ports, int64_t hop_time)
{
    struct nf_wormhole *w = wormhole_p;
    uint32_t channels = nf_mesh_channels(mesh);

    *w = (struct nf_wormhole){
        .mesh = *mesh,
        .hop_time = hop_time,
        .nworms = worms,
        .worms = nf_calloc(worms, sizeof(*w->worms)),
        .channels = nf_calloc(channels, sizeof(*w->channels)),
        .first_done = NF_WORM_NONE,
    };
    if (w->worms == NULL || w->channels == NULL)
        return NF_ERR_NOMEM;
    for (uint32_t c = 0; c < channels; c++)
        w->channels[c] = (struct nf_wormhole_channel){
            .free = nf_mesh_is_port(mesh, c) ? ports : 1,
            .holder = NF_WORM_NONE,
            .first = NF_WORM_NONE,
        };
    return NF_OK;
}

void nf_wormhole_fini(struct nf_wormhole *wormhole)
{
    nf_free(wormhole->worms);
    nf_free(wormhole->channels);
    nf_free(wormhole->heap);
    *wormhole = (struct nf_wormhole){ .nworms = 0 };
}

/* ---- events ---- */

static inline bool goes_before(const struct nf_wormhole_event *a,
                               const struct nf_wormhole_event *b)
{
    if (a->at != b->at)
        return a->at < b->at;
    if (a->kind != b->kind)
        return a->kind < b->kind;
    return a->worm < b->worm;
}

NF_HEAP(events, struct nf_wormhole_event, goes_before)

static enum nf_status push(struct nf_wormhole *w,
                           struct nf_wormhole_event event)
{
    if (w->nheap == w->max_heap) {
        size_t max = w->max_heap != 0 ? 2 * w->max_heap : 64;
        struct nf_wormhole_event *heap =
            nf_realloc(w->heap, max * sizeof(*heap));

        if (heap == NULL)
            return NF_ERR_NOMEM;
        w->heap = heap;
        w->max_heap = max;
    }
    events_push(w->heap, w->nheap++, event);
    return NF_OK;
}

static struct nf_wormhole_event pop(struct nf_wormhole *w)
{
    struct nf_wormhole_event first = w->heap[0];

    events_pop(w->heap, w->nheap--);
    w->now = first.at;
    w->events++;
    return first;
}

/* ---- channels ---- */

static struct nf_wormhole_channel *channel_of(struct nf_wormhole *w,
                                              uint32_t worm, uint32_t hop)
{
    return &w->channels[nf_mesh_way_channel(&w->mesh, &w->worms[worm].way,
                                            hop)];
}

/* Behind all who asked earlier: requests come in the order of time and of
 * numbers, so that is the end. */
static void enqueue(struct nf_wormhole *w, struct nf_wormhole_channel *channel,
                    uint32_t worm)
{
    w->worms[worm].next = NF_WORM_NONE;
    if (channel->first == NF_WORM_NONE)
        channel->first = worm;
    else
        w->worms[channel->last].next = worm;
    channel->last = worm;
    w->waits++;
}

/* A worm leaves a channel.  @return who has waited for it: it is his now */
static uint32_t leave(struct nf_wormhole *w,
                      struct nf_wormhole_channel *channel)
{
    uint32_t worm = channel->first;

    if (worm == NF_WORM_NONE)
        channel->free++;
    else
        channel->first = w->worms[worm].next;
    return worm;
}

/* A worm takes a channel. */
static void take(struct nf_wormhole *w, struct nf_wormhole_channel *channel,
                 uint32_t worm)
{
    uint32_t number = (uint32_t)(channel - w->channels);
    uint32_t other = nf_mesh_other_lane(&w->mesh, number);

    channel->holder = worm;
    w->shared += other != number && w->channels[other].free == 0;
}

/* The last channel is granted: from here on nothing can stop the worm. */
static enum nf_status drain(struct nf_wormhole *w, uint32_t id)
{
    struct nf_worm *worm = &w->worms[id];
    uint32_t hops = worm->hops, flits = worm->flits;

    for (uint32_t x = hops > flits ? hops - flits : 0; x < hops; x++) {
        int64_t steps = (int64_t)x + 1 + flits - hops;
        enum nf_status status =
            push(w, (struct nf_wormhole_event){ w->now + steps * w->hop_time,
                                                RELEASE, id, x });

        if (status != NF_OK)
            return status;
    }
    worm->delivered = w->now + flits * w->hop_time;
    worm->next = NF_WORM_NONE;
    if (w->first_done == NF_WORM_NONE)
        w->first_done = id;
    else
        w->worms[w->last_done].next = id;
    w->last_done = id;
    w->delivered++;
    return NF_OK;
}

/* The worm has its next channel; who waited for the one that it leaves by that
 * has his, and so on. */
static enum nf_status grant(struct nf_wormhole *w, uint32_t id)
{
    enum nf_status status = NF_OK;

    while (status == NF_OK && id != NF_WORM_NONE) {
        struct nf_worm *worm = &w->worms[id];
        uint32_t x = worm->granted++, next = NF_WORM_NONE;

        if (w->granted != NULL)
            w->granted(w->context, id, x, w->now);
        w->waited += w->now - worm->asked;
        take(w, channel_of(w, id, x), id);
        if (x >= worm->flits)
            next = leave(w, channel_of(w, id, x - worm->flits));
        if (worm->granted == worm->hops)
            status = drain(w, id);
        else
            status = push(w, (struct nf_wormhole_event){ w->now + w->hop_time,
                                                         REQUEST, id, x + 1 });
        id = next;
    }
    return status;
}

static enum nf_status handle(struct nf_wormhole *w,
                             struct nf_wormhole_event event)
{
    struct nf_wormhole_channel *channel = channel_of(w, event.worm, event.hop);

    if (event.kind == RELEASE)
        return grant(w, leave(w, channel));
    w->worms[event.worm].asked = w->now;
    if (channel->free == 0) {
        enqueue(w, channel, event.worm);
        return NF_OK;
    }
    channel->free--;
    return grant(w, event.worm);
}

enum nf_status nf_wormhole_offer(struct nf_wormhole *wormhole, uint32_t worm,
                                 uint32_t from, uint32_t to, uint32_t flits,
                                 int64_t at)
{
    const struct nf_mesh_way way = { .from = from, .to = to };

    return nf_wormhole_offer_way(wormhole, worm, &way, flits, at);
}

enum nf_status nf_wormhole_offer_way(struct nf_wormhole *wormhole,
                                     uint32_t worm,
                                     const struct nf_mesh_way *way,
                                     uint32_t flits, int64_t at)
{
    struct nf_wormhole *w = wormhole;

    w->worms[worm] = (struct nf_worm){ .way = *way,
                                       .flits = flits > 0 ? flits : 1,
                                       .hops = nf_mesh_way_hops(&w->mesh, way),
                                       .asked = at };
    w->offered++;
    return push(w, (struct nf_wormhole_event){ at, REQUEST, worm, 0 });
}

/* ---- cycles ---- */

/* The one that holds what this one waits for. */
static uint32_t holder(struct nf_wormhole *w, uint32_t worm)
{
    return channel_of(w, worm, w->worms[worm].granted)->holder;
}

/* Nothing happens any more and not all are there.  Any worm that waits leads to
 * a cycle, since each waits for one that waits. */
static enum nf_status tell_cycle(struct nf_wormhole *w, struct nf_error *err)
{
    uint32_t worm = 0, length = 0;
    char text[160] = "";
    size_t bytes = 0;

    while (w->worms[worm].granted == w->worms[worm].hops)
        worm++;
    for (uint32_t i = 0; i < w->nworms; i++)
        worm = holder(w, worm); /* is on the cycle after that */
    for (uint32_t at = worm; length == 0 || at != worm; at = holder(w, at)) {
        if (bytes + 40 < sizeof(text))
            bytes +=
                (size_t)snprintf(text + bytes, sizeof(text) - bytes,
                                 "%s%u (%u to %u)", length > 0 ? ", " : "", at,
                                 w->worms[at].way.from, w->worms[at].way.to);
        else if (strcmp(text + bytes - 3, "...") != 0)
            bytes +=
                (size_t)snprintf(text + bytes, sizeof(text) - bytes, ", ...");
        length++;
    }
    return nf_fail(err, NF_ERR_FAILED,
                   "%u messages wait for each other in a cycle: %s", length,
                   text);
}

enum nf_status nf_wormhole_next(struct nf_wormhole *wormhole, uint32_t *worm_p,
                                struct nf_error *err)
{
    struct nf_wormhole *w = wormhole;

    while (w->first_done == NF_WORM_NONE) {
        if (w->nheap == 0)
            return w->delivered == w->offered ? NF_WAIT : tell_cycle(w, err);
        if (handle(w, pop(w)) != NF_OK)
            return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    }
    *worm_p = w->first_done;
    w->first_done = w->worms[*worm_p].next;
    return NF_OK;
}
