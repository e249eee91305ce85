/* What the messages of a step are made of: where items lie, and how many bytes
 * they have. */
#include "config.h"
#include "common/group/exec_data.h"
#include <string.h>

/* Messages below this are copied: cheaper than to watch over their memory. */
enum { COPY_BYTES = 1024 };

/* A block from a rank to a rank: where it is, if it is this member's, in what
 * this member sends. */
static void pair_place(const struct nf_exec *exec, uint32_t item,
                       uint64_t *first_p, uint64_t *count_p)
{
    const struct nf_exec_layout *layout = &exec->call.layout;
    uint32_t from = item / exec->plan->args.ranks;
    uint32_t to = item % exec->plan->args.ranks;
    bool out = from == exec->plan->rank, in = to == exec->plan->rank;

    *first_p = 0;
    *count_p = layout->elements;
    if (layout->varies && out) {
        *first_p = layout->send_offsets[to];
        *count_p = layout->send_counts[to];
    } else if (layout->varies && in) {
        *first_p = layout->offsets[from];
        *count_p = layout->counts[from];
    } else if (layout->varies) {
        *count_p = exec->sizes != NULL ? exec->sizes[item] : 0;
    } else if (out || in) {
        *first_p = layout->elements * (out ? to : from);
    }
}

void nf_exec_item_place(const struct nf_exec *exec, uint32_t item,
                        uint64_t *first_p, uint64_t *count_p)
{
    const struct nf_exec_layout *layout = &exec->call.layout;

    if (layout->pairs) {
        pair_place(exec, item, first_p, count_p);
    } else if (exec->sizes != NULL) {
        *first_p = layout->offsets != NULL ? layout->offsets[item] : 0;
        *count_p = exec->sizes[item];
    } else if (layout->counts != NULL) {
        *first_p = layout->offsets[item];
        *count_p = layout->counts[item];
    } else if (layout->blocks) {
        *first_p = layout->elements * item;
        *count_p = layout->elements;
    } else {
        nf_coll_segment(layout->elements, exec->plan->items, item, first_p,
                        count_p);
    }
}

size_t nf_exec_item_bytes(const struct nf_exec *exec, uint32_t item)
{
    uint64_t first, count;

    nf_exec_item_place(exec, item, &first, &count);
    return (size_t)count * exec->elem_bytes;
}

static uint8_t *home_of_pair(const struct nf_exec *exec, uint32_t item)
{
    const struct nf_exec_layout *layout = &exec->call.layout;
    uint32_t from = item / exec->plan->args.ranks;
    uint8_t *home = exec->call.home;

    if (item % exec->plan->args.ranks != exec->plan->rank || home == NULL)
        return NULL;
    return home + exec->elem_bytes * (layout->varies ? layout->offsets[from]
                                                     : layout->elements * from);
}

uint8_t *nf_exec_home_of(const struct nf_exec *exec, uint32_t item)
{
    uint8_t *home = exec->call.home;
    uint64_t first, count;

    if (exec->call.layout.pairs)
        return home_of_pair(exec, item);

    if (home == NULL || (exec->call.home_own && item != exec->plan->rank))
        return NULL;
    if (exec->call.home_own)
        return home;
    nf_exec_item_place(exec, item, &first, &count);
    return home + first * exec->elem_bytes;
}

uint64_t nf_exec_step_bytes(const struct nf_exec *exec,
                            const struct nf_plan_step *step)
{
    uint64_t bytes = 0;

    for (uint32_t s = 0; s < step->nspans; s++) {
        const struct nf_coll_span *span =
            &exec->plan->spans[step->first_span + s];

        for (uint32_t i = 0; i < span->count; i++)
            bytes += nf_exec_item_bytes(exec, span->first + i);
    }
    return bytes;
}

bool nf_exec_is_void(const struct nf_exec *exec, uint32_t self)
{
    const struct nf_plan_step *step = &exec->plan->steps[self];

    if (exec->plan->items == 0)
        return false;
    if (nf_exec_lists(exec, step) && (step->sends || !exec->listed[self]))
        return false; /* the sizes do */
    return nf_exec_step_bytes(exec, step) == 0;
}

struct nf_exec_walk nf_exec_walk(const struct nf_exec *exec, uint32_t self)
{
    return (struct nf_exec_walk){ exec->plan, &exec->plan->steps[self], 0, 0 };
}

bool nf_exec_walk_next(struct nf_exec_walk *walk, uint32_t *item_p)
{
    const struct nf_coll_span *span;

    if (walk->span == walk->step->nspans)
        return false;
    span = &walk->plan->spans[walk->step->first_span + walk->span];
    *item_p = span->first + walk->index;
    if (++walk->index == span->count) {
        walk->index = 0;
        walk->span++;
    }
    return true;
}

bool nf_exec_may_go_home(const struct nf_exec *exec, uint32_t self)
{
    struct nf_exec_walk walk = nf_exec_walk(exec, self);
    uint32_t i;

    if (exec->call.home == NULL || exec->call.home_late ||
        !exec->plan->steps[self].last)
        return false;
    while (nf_exec_walk_next(&walk, &i))
        if (nf_exec_book(exec, i)->home_lent ||
            nf_exec_home_of(exec, i) == NULL)
            return false;
    return true;
}

/* The bytes of a message: one piece, or several to be packed. */
struct region {
    const uint8_t *data;
    uint64_t bytes;
    struct nf_blob *owner;
    bool whole;
};

static bool is_chain(const struct nf_blob *owner)
{
    return owner != NULL && nf_blob_is_chain(owner);
}

/* A chain is one item; other values lie in one piece. */
static void copy_value(const struct nf_exec_item *item, size_t bytes,
                       uint8_t *to)
{
    if (is_chain(item->owner))
        nf_blob_copy_out(item->owner, to);
    else
        memcpy(to, item->value, bytes);
}

static struct region find_region(const struct nf_exec *exec, uint32_t self)
{
    struct region region = { .whole = true };
    bool from_car = exec->plan->steps[self].from_car;
    struct nf_exec_walk walk = nf_exec_walk(exec, self);
    uint32_t i;

    while (nf_exec_walk_next(&walk, &i)) {
        const struct nf_exec_item *item = nf_exec_book(exec, i);
        const uint8_t *value = from_car ? item->car : item->value;
        struct nf_blob *owner = from_car ? item->car_owner : item->owner;
        size_t bytes = nf_exec_item_bytes(exec, i);

        if (bytes == 0)
            continue;
        if (region.bytes == 0) {
            region.data = value;
            region.owner = owner;
        } else if (owner != region.owner || is_chain(owner) ||
                   value != region.data + region.bytes) {
            region.whole = false;
        }
        region.bytes += bytes;
    }
    return region;
}

static struct nf_blob *pack(const struct nf_exec *exec, uint32_t self,
                            uint64_t bytes)
{
    struct nf_blob *blob = nf_blob_create((size_t)bytes, exec->wire);
    bool from_car = exec->plan->steps[self].from_car;
    struct nf_exec_walk walk = nf_exec_walk(exec, self);
    uint8_t *to;
    uint32_t i;

    if (blob == NULL)
        return NULL;
    to = blob->data;
    while (nf_exec_walk_next(&walk, &i)) {
        const struct nf_exec_item *item = nf_exec_book(exec, i);
        size_t item_size = nf_exec_item_bytes(exec, i);

        if (item_size > 0 && from_car)
            memcpy(to, item->car, item_size);
        else if (item_size > 0)
            copy_value(item, item_size, to);
        to += item_size;
    }
    return blob;
}

/* The mesh may keep a pointer to where these values are now. */
static void lend(struct nf_exec *exec, uint32_t self)
{
    struct nf_exec_walk walk = nf_exec_walk(exec, self);
    uint32_t i;

    while (nf_exec_walk_next(&walk, &i)) {
        struct nf_exec_item *item = nf_exec_book(exec, i);

        if (item->value != NULL && item->value == nf_exec_home_of(exec, i))
            item->home_lent = true;
        item->lent = true;
    }
}

/* The payload of a step that sends, one reference. */
struct nf_blob *nf_exec_payload(struct nf_exec *exec, uint32_t self,
                                uint64_t *bytes_p)
{
    struct region region = find_region(exec, self);
    struct nf_blob *blob;

    *bytes_p = region.bytes;
    if (region.whole && region.owner != NULL &&
        region.data == region.owner->data &&
        region.bytes == region.owner->bytes)
        return nf_blob_ref(region.owner);
    if (!region.whole || region.bytes < COPY_BYTES ||
        (exec->call.layout.pairs && region.owner != NULL))
        return pack(exec, self, region.bytes);
    blob = nf_blob_wrap((void *)(uintptr_t)region.data, (size_t)region.bytes,
                        exec->wire, NULL);
    if (blob != NULL) {
        exec->held[exec->nheld++] = nf_blob_ref(blob);
        lend(exec, self);
    }
    return blob;
}

void nf_exec_set_up_sizes(struct nf_exec *exec)
{
    const struct nf_exec_layout *layout = &exec->call.layout;
    uint32_t ranks = exec->plan->args.ranks, rank = exec->plan->rank;

    for (uint32_t i = 0; exec->sizes != NULL && i < exec->plan->items; i++) {
        uint64_t size = NF_SIZE_UNKNOWN;

        if (layout->pairs && i / ranks == rank)
            size = layout->send_counts[i % ranks];
        else if (layout->pairs && i % ranks == rank)
            size = layout->counts[i / ranks];
        else if (!layout->pairs && layout->counts != NULL)
            size = layout->counts[i];
        else if (!layout->pairs && i == rank)
            size = layout->elements;
        exec->sizes[i] = size;
    }
}

/* ------------------------------------------------------------------- pairs */

/* Copy the blocks that rest in the message of step @p self into one that is no
 * larger than they are.  Without memory for that it is kept as it is. */
static void copy_out(struct nf_exec *exec, uint32_t self)
{
    struct nf_exec_walk walk = nf_exec_walk(exec, self);
    struct nf_blob *blob =
        nf_blob_create((size_t)exec->resting[self], exec->wire);
    uint8_t *to;
    uint32_t i;

    if (blob == NULL)
        return;
    to = blob->data;
    while (nf_exec_walk_next(&walk, &i)) {
        struct nf_exec_item *item = nf_exec_book(exec, i);
        size_t bytes = nf_exec_item_bytes(exec, i);

        if (item->owner == NULL || item->came != self)
            continue;
        copy_value(item, bytes, to);
        nf_blob_unref(item->owner);
        item->owner = nf_blob_ref(blob);
        item->value = to;
        to += bytes;
    }
    nf_blob_unref(blob);
    exec->kept[self] = exec->resting[self];
}

/* Less than half: what is copied in all is less than the message. */
static void shrink_message(struct nf_exec *exec, uint32_t self)
{
    if (exec->resting[self] == 0)
        exec->kept[self] = 0;
    else if (2 * exec->resting[self] < exec->kept[self])
        copy_out(exec, self);
}

void nf_exec_keep_pairs(struct nf_exec *exec, uint32_t self)
{
    struct nf_blob *blob = exec->arrived[self];
    struct nf_exec_walk walk = nf_exec_walk(exec, self);
    const uint8_t *from = blob->data;
    uint32_t i;

    exec->kept[self] = blob->bytes;
    while (nf_exec_walk_next(&walk, &i)) {
        struct nf_exec_item *item = nf_exec_book(exec, i);
        size_t bytes = nf_exec_item_bytes(exec, i);
        uint8_t *home = nf_exec_home_of(exec, i);

        item->value = home != NULL ? home : from;
        if (home != NULL && bytes > 0 && from == NULL) {
            nf_blob_copy_out(blob, home);
        } else if (home != NULL && bytes > 0) {
            memcpy(home, from, bytes);
        } else if (bytes > 0) {
            item->owner = nf_blob_ref(blob);
            item->came = self;
            exec->resting[self] += bytes;
        }
        if (from != NULL) /* a chain has one block, and no other has bytes */
            from += bytes;
    }
    nf_blob_unref(blob);
    exec->arrived[self] = NULL;
    shrink_message(exec, self);
}

void nf_exec_drop_pairs(struct nf_exec *exec, uint32_t self)
{
    struct nf_exec_walk walk = nf_exec_walk(exec, self);
    uint32_t i;

    while (nf_exec_walk_next(&walk, &i)) {
        struct nf_exec_item *item = nf_exec_book(exec, i);

        if (item->owner != NULL && item->came != NF_PLAN_NONE)
            exec->resting[item->came] -= nf_exec_item_bytes(exec, i);
        else
            item->came = NF_PLAN_NONE;
        nf_blob_unref(item->owner);
        item->owner = NULL;
        item->value = NULL;
    }
    walk = nf_exec_walk(exec, self);
    while (nf_exec_walk_next(&walk, &i))
        if (nf_exec_book(exec, i)->came != NF_PLAN_NONE)
            shrink_message(exec, nf_exec_book(exec, i)->came);
}
