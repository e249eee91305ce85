/* What the messages of a step are made of: where items lie, and how many bytes
 * they have. */
#include "config.h"
#include "common/group/exec_data.h"
#include <string.h>

/* Messages below this are copied: cheaper than to watch over their memory. */
enum { COPY_BYTES = 1024 };

void nf_exec_item_place(const struct nf_exec *exec, uint32_t item,
                        uint64_t *first_p, uint64_t *count_p)
{
    const struct nf_exec_layout *layout = &exec->call.layout;

    if (exec->sizes != NULL) {
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

/* Where the item is to be in the end, or NULL. */
uint8_t *nf_exec_home_of(const struct nf_exec *exec, uint32_t item)
{
    uint8_t *home = exec->call.home;
    uint64_t first, count;

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

/* The bytes of a message: one piece, or several to be packed. */
struct region {
    const uint8_t *data;
    uint64_t bytes;
    struct nf_blob *owner;
    bool whole;
};

static struct region find_region(const struct nf_exec *exec, uint32_t self)
{
    struct region region = { .whole = true };
    bool from_car = exec->plan->steps[self].from_car;
    struct nf_exec_walk walk = nf_exec_walk(exec, self);
    uint32_t i;

    while (nf_exec_walk_next(&walk, &i)) {
        const struct nf_exec_item *item = &exec->items[i];
        const uint8_t *value = from_car ? item->car : item->value;
        struct nf_blob *owner = from_car ? item->car_owner : item->owner;
        size_t bytes = nf_exec_item_bytes(exec, i);

        if (bytes == 0)
            continue;
        if (region.bytes == 0) {
            region.data = value;
            region.owner = owner;
        }
        if (owner != region.owner || value != region.data + region.bytes)
            region.whole = false;
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
        const struct nf_exec_item *item = &exec->items[i];
        size_t item_size = nf_exec_item_bytes(exec, i);

        if (item_size > 0)
            memcpy(to, from_car ? item->car : item->value, item_size);
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
        struct nf_exec_item *item = &exec->items[i];

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
    if (!region.whole || region.bytes < COPY_BYTES)
        return pack(exec, self, region.bytes);
    blob = nf_blob_wrap((void *)(uintptr_t)region.data, (size_t)region.bytes,
                        exec->wire, NULL);
    if (blob != NULL) {
        exec->held[exec->nheld++] = nf_blob_ref(blob);
        lend(exec, self);
    }
    return blob;
}
