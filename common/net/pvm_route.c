/* What is on the way to each task.  See pvm_route.h. */
#include "config.h"
#include "common/net/pvm_route.h"
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/endian.h"

struct route {
    int tid;
    uint32_t sent, confirmed;   /* by us, and of it, what was read there */
    uint32_t read, told;        /* by us, and of it, what we have told */
    uint32_t peer_window_bytes; /* 0: nothing was read yet */
    uint32_t round;             /* counts confirmations, from 1 */
    bool starved;               /* somebody has found no room in this round */
    bool doubtful; /* may all that was sent up to this not be confirmed? */
    uint32_t doubt;
    bool direct, watched; /* and its end is asked for */
    bool known;           /* whether it was direct when it was first used */
};

/* Open addressing; NULL is free.  Routes go only all at once, or when their
 * task has ended: those stay as places that can be used again. */
static struct route **table;
static uint32_t capacity, used;
static bool some_owe;
static void (*on_room)(int tid);

static struct route **place_of(struct route **in, uint32_t size, int tid)
{
    uint32_t i = (uint32_t)tid * 2654435761u & (size - 1);

    while (in[i] != NULL && in[i]->tid != tid)
        i = (i + 1) & (size - 1);
    return &in[i];
}

static bool grow(void)
{
    uint32_t size = capacity == 0 ? 32 : 2 * capacity;
    struct route **more;

    if (2 * (used + 1) <= capacity)
        return true;
    more = nf_calloc(size, sizeof(struct route *));
    if (more == NULL)
        return false;
    for (uint32_t i = 0; i < capacity; i++)
        if (table[i] != NULL)
            *place_of(more, size, table[i]->tid) = table[i];
    nf_free(table);
    table = more;
    capacity = size;
    return true;
}

/* NULL: out of memory.  Then there is no bound but the links'. */
static struct route *find(int tid)
{
    struct route **place;

    if (capacity > 0 && *(place = place_of(table, capacity, tid)) != NULL)
        return *place;
    if (!grow())
        return NULL;
    place = place_of(table, capacity, tid);
    *place = nf_calloc(1, sizeof(**place));
    if (*place == NULL)
        return NULL;
    **place = (struct route){ .tid = tid, .round = 1 };
    used++;
    return *place;
}

/* Goodbyes are few and short, and may go where nothing else may. */
static bool has_room(const struct route *route, const struct nf_link *link,
                     const struct nf_frame *frame)
{
    uint32_t flying = route->sent - route->confirmed;

    if (frame->kind == NF_MSG_STOP)
        return flying <= link->window_bytes + 2 * NF_LINK_URGENT_BYTES;
    if (nf_msg_is_urgent(frame->kind))
        return flying <= link->window_bytes + NF_LINK_URGENT_BYTES;
    return flying == 0 ||
           flying + nf_frame_cost_bytes(frame) <= link->window_bytes;
}

enum nf_status nf_route_admit(int tid, struct nf_link *link,
                              struct nf_link_out *out_p)
{
    struct route *route = find(tid);

    if (route == NULL || has_room(route, link, &out_p->frame))
        return NF_OK;
    route->starved = true;
    /* each link, since the other one may not look at that of another */
    if (!route->doubtful || link->asked_round == route->round)
        return NF_WAIT;
    link->asked_round = route->round;
    nf_link_confirm(link, out_p);
    return NF_OK;
}

enum nf_status nf_route_next(int tid, struct nf_link *link,
                             struct nf_link_out *out_p)
{
    if (nf_link_next(link, out_p) != NF_OK)
        return NF_WAIT;
    return nf_route_admit(tid, link, out_p);
}

static struct route *known(int tid)
{
    return capacity > 0 ? *place_of(table, capacity, tid) : NULL;
}

bool nf_route_is_full(int tid)
{
    const struct route *route = known(tid);

    return route != NULL && route->starved;
}

bool nf_route_takes_goodbye(int tid, const struct nf_link *link)
{
    const struct nf_frame bye = { .kind = NF_MSG_STOP };
    const struct route *route = find(tid);

    return route == NULL || has_room(route, link, &bye);
}

size_t nf_route_stamp_bytes(const struct nf_frame *frame)
{
    return frame->kind == NF_MSG_HELLO ? 0 : NF_ROUTE_STAMP_BYTES;
}

size_t nf_route_sends(int tid, const struct nf_frame *frame,
                      uint8_t stamp_p[NF_ROUTE_STAMP_BYTES])
{
    struct route *route = find(tid);

    memset(stamp_p, 0, NF_ROUTE_STAMP_BYTES);
    if (route == NULL)
        return nf_route_stamp_bytes(frame);
    route->sent += (uint32_t)nf_frame_cost_bytes(frame);
    if (nf_route_stamp_bytes(frame) == 0)
        return 0;
    route->told = route->read;
    nf_store_le32(stamp_p, route->sent);
    nf_store_le32(stamp_p + 4, route->read);
    return NF_ROUTE_STAMP_BYTES;
}

/* @p confirmed: by the other one, of all that we have sent */
static void take_confirmation(struct route *route, uint32_t confirmed)
{
    if (confirmed == route->confirmed ||
        confirmed - route->confirmed > route->sent - route->confirmed)
        return; /* no news, or none that can be true */
    route->confirmed = confirmed;
    route->round += route->round == UINT32_MAX ? 2 : 1;
    route->doubtful =
        route->doubtful && (int32_t)(route->doubt - confirmed) > 0;
    if (!route->starved)
        return;
    route->starved = false;
    if (on_room != NULL)
        on_room(route->tid);
}

void nf_route_read(int tid, const struct nf_frame *frame,
                   const uint8_t stamp[NF_ROUTE_STAMP_BYTES])
{
    struct route *route = find(tid);
    uint32_t sent = nf_load_le32(stamp);

    if (route == NULL || nf_route_stamp_bytes(frame) == 0)
        return;
    if (route->peer_window_bytes == 0 || (int32_t)(sent - route->read) > 0)
        route->read = sent;
    route->peer_window_bytes = frame->window_bytes >= NF_LINK_WINDOW_BYTES
                                   ? frame->window_bytes
                                   : NF_LINK_WINDOW_BYTES;
    some_owe = some_owe || nf_route_owes(tid);
    take_confirmation(route, nf_load_le32(stamp + 4));
}

bool nf_route_owes(int tid)
{
    const struct route *route = known(tid);

    return route != NULL && route->peer_window_bytes > 0 &&
           route->read - route->told >=
               nf_link_confirm_bytes(route->peer_window_bytes);
}

bool nf_route_some_owe(void)
{
    return some_owe;
}

void nf_route_all_told(void)
{
    some_owe = false;
}

void nf_route_doubt(int tid)
{
    struct route *route = known(tid);

    if (route == NULL || route->sent == route->confirmed)
        return;
    route->doubtful = true;
    route->doubt = route->sent;
    if (route->starved && on_room != NULL)
        on_room(tid); /* they may ask now */
}

void nf_route_opened(int tid)
{
    struct route *route = find(tid);

    if (route != NULL)
        route->direct = route->known = true;
}

void nf_route_closed(int tid)
{
    struct route *route = known(tid);

    if (route != NULL)
        route->direct = route->watched = false;
}

bool nf_route_presume(int tid)
{
    struct route *route = find(tid);

    if (route == NULL || route->known)
        return false;
    route->known = route->direct = route->watched = true;
    return true;
}

bool nf_route_is_to_watch(int tid)
{
    struct route *route = known(tid);
    bool is_new = route != NULL && route->direct && !route->watched;

    if (is_new)
        route->watched = true;
    return is_new;
}

bool nf_route_is_direct(int tid)
{
    const struct route *route = known(tid);

    return route != NULL && route->direct;
}

void nf_route_end(int tid)
{
    struct route *route = known(tid);

    if (route != NULL)
        *route = (struct route){ .tid = tid, .round = 1 };
}

void nf_route_begin(int self)
{
    static int former = -1;

    if (self == former)
        return;
    former = self;
    for (uint32_t i = 0; i < capacity; i++)
        nf_free(table[i]);
    nf_free(table);
    table = NULL;
    capacity = used = 0;
    some_owe = false;
}

void nf_route_on_room(void (*freed)(int tid))
{
    on_room = freed;
}
