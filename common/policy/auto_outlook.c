#include "config.h"
#include "common/policy/auto_outlook.h"

/* No sum of this and a time overflows. */
static const int64_t never_us = INT64_MAX / 4;

enum { HEAP_FINISH, HEAP_ROOM, HEAP_ENDS, HEAPS };

static struct nf_outlook_slot *slot_of(const struct nf_outlook *outlook,
                                       uint32_t slot)
{
    return (struct nf_outlook_slot *)(uintptr_t)(outlook + 1) + slot;
}

static struct nf_slot_node *nodes_of(const struct nf_outlook *outlook, int heap)
{
    struct nf_slot_node *nodes =
        (struct nf_slot_node *)(uintptr_t)slot_of(outlook, outlook->max_slots);

    return nodes + (size_t)heap * outlook->max_slots;
}

size_t nf_outlook_bytes(uint32_t max_slots)
{
    return max_slots * (sizeof(struct nf_outlook_slot) +
                        HEAPS * sizeof(struct nf_slot_node));
}

void nf_outlook_init(struct nf_outlook *outlook, uint32_t max_slots,
                     uint64_t max_window)
{
    outlook->max_slots = max_slots;
    outlook->max_window = max_window;
    for (int i = 0; i < NF_AUTO_SLOPES; i++) {
        outlook->finish[i] = NF_SLOT_NONE;
        outlook->room[i] = NF_SLOT_NONE;
    }
    outlook->ends = NF_SLOT_NONE;
    outlook->swept = NF_SLOT_NONE;
    outlook->fresh = NF_SLOT_NONE;
}

struct nf_auto_estimate *nf_outlook_estimate(const struct nf_outlook *outlook,
                                             uint32_t slot)
{
    return &slot_of(outlook, slot)->estimate;
}

uint64_t nf_outlook_window(const struct nf_outlook *outlook, uint32_t slot)
{
    const struct nf_auto_estimate *estimate = &slot_of(outlook, slot)->estimate;

    if (estimate->results > 0)
        return estimate->window;
    return outlook->max_window < 2 ? outlook->max_window : 2;
}

int64_t nf_outlook_mean_us(const struct nf_outlook *outlook)
{
    return outlook->known == 0 ? 0 : outlook->service_sum_us / outlook->known;
}

static int64_t rate_of(int64_t service_us)
{
    return (INT64_C(1) << NF_OUTLOOK_RATE_BITS) / service_us;
}

/* ---- keeping up to date ---- */

static void list_swept(struct nf_outlook *outlook, uint32_t number)
{
    struct nf_outlook_slot *slot = slot_of(outlook, number);

    slot->swept = true;
    slot->prev = NF_SLOT_NONE;
    slot->next = outlook->swept;
    if (slot->next != NF_SLOT_NONE)
        slot_of(outlook, slot->next)->prev = number;
    outlook->swept = number;
    outlook->swept_rooms += slot->has_room;
    if (slot->known)
        outlook->swept_rate += slot->rate;
}

static void unlist_swept(struct nf_outlook *outlook,
                         struct nf_outlook_slot *slot)
{
    if (slot->prev == NF_SLOT_NONE)
        outlook->swept = slot->next;
    else
        slot_of(outlook, slot->prev)->next = slot->next;
    if (slot->next != NF_SLOT_NONE)
        slot_of(outlook, slot->next)->prev = slot->prev;
    outlook->swept_rooms -= slot->has_room;
    if (slot->known)
        outlook->swept_rate -= slot->rate;
}

static void add_line(struct nf_outlook *outlook,
                     const struct nf_outlook_slot *slot, int sign)
{
    nf_wide rate = sign * slot->rate;

    outlook->rate += rate;
    outlook->slope_rate += rate * ((int64_t)slot->slope - 1);
    outlook->work += rate * slot->offset_us;
}

static void rank(struct nf_outlook *outlook, uint32_t number)
{
    struct nf_outlook_slot *slot = slot_of(outlook, number);

    slot->ranked = true;
    nf_slot_heap_insert(nodes_of(outlook, HEAP_FINISH),
                        &outlook->finish[slot->slope], number,
                        slot->offset_us + slot->service_us);
}

/* Into heaps and sums, or among those that are swept. */
static void file(struct nf_outlook *outlook, const struct nf_pool_view *pool,
                 uint32_t number, int64_t now_us)
{
    struct nf_outlook_slot *slot = slot_of(outlook, number);
    struct nf_auto_line line;

    if (!slot->known) {
        list_swept(outlook, number);
        return;
    }
    line = nf_auto_dry(&slot->estimate, pool->slots[number].outstanding,
                       slot->service_us, now_us);
    if (line.slope >= NF_AUTO_SLOPES) {
        list_swept(outlook, number);
        return;
    }
    slot->swept = false;
    slot->slope = line.slope;
    slot->offset_us = line.offset_us;
    slot->ends = line.until_us != INT64_MAX;
    slot->ranked = false;
    add_line(outlook, slot, 1);
    if (slot->ends)
        nf_slot_heap_insert(nodes_of(outlook, HEAP_ENDS), &outlook->ends,
                            number, line.until_us);
    if (slot->has_room)
        nf_slot_heap_insert(nodes_of(outlook, HEAP_ROOM),
                            &outlook->room[slot->slope], number,
                            slot->offset_us + slot->service_us);
    if (outlook->ranked)
        rank(outlook, number);
}

static void unfile(struct nf_outlook *outlook, uint32_t number)
{
    struct nf_outlook_slot *slot = slot_of(outlook, number);

    if (slot->swept) {
        unlist_swept(outlook, slot);
        return;
    }
    add_line(outlook, slot, -1);
    if (slot->ends)
        nf_slot_heap_remove(nodes_of(outlook, HEAP_ENDS), &outlook->ends,
                            number);
    if (slot->has_room)
        nf_slot_heap_remove(nodes_of(outlook, HEAP_ROOM),
                            &outlook->room[slot->slope], number);
    if (slot->ranked)
        nf_slot_heap_remove(nodes_of(outlook, HEAP_FINISH),
                            &outlook->finish[slot->slope], number);
}

static void count(struct nf_outlook *outlook, struct nf_outlook_slot *slot,
                  const struct nf_slot_view *view, uint64_t window)
{
    int64_t service_us = nf_auto_service_us(&slot->estimate, 0);

    slot->in = true;
    slot->known = slot->estimate.results > 0;
    slot->idle = view->outstanding == 0;
    slot->has_room = view->outstanding < window;
    outlook->rooms += slot->has_room;
    outlook->unknown += !slot->known;
    if (!slot->known)
        return;
    if (slot->service_us != service_us)
        slot->rate = rate_of(service_us);
    slot->service_us = service_us;
    outlook->known++;
    outlook->known_idle += slot->idle;
    slot->counted_us = slot->estimate.service_us;
    outlook->service_sum_us += slot->counted_us;
}

static void uncount(struct nf_outlook *outlook, struct nf_outlook_slot *slot)
{
    slot->in = false;
    outlook->rooms -= slot->has_room;
    outlook->unknown -= !slot->known;
    if (!slot->known)
        return;
    outlook->known--;
    outlook->known_idle -= slot->idle;
    outlook->service_sum_us -= slot->counted_us;
}

void nf_outlook_update(struct nf_outlook *outlook,
                       const struct nf_pool_view *pool, uint32_t slot,
                       int64_t now_us)
{
    const struct nf_slot_view *view = &pool->slots[slot];
    uint32_t last = outlook->fresh;

    if (last != slot)
        outlook->sweep.valid = false;
    if (last != slot && last != NF_SLOT_NONE) {
        unfile(outlook, last);
        file(outlook, pool, last, now_us);
    }
    outlook->fresh = NF_SLOT_NONE;
    if (slot_of(outlook, slot)->in) {
        unfile(outlook, slot);
        uncount(outlook, slot_of(outlook, slot));
    }
    if (!view->live || view->refused)
        return;
    count(outlook, slot_of(outlook, slot), view,
          nf_outlook_window(outlook, slot));
    list_swept(outlook, slot);
    outlook->fresh = slot;
}

/* Slots whose line has ended get a new one. */
static void catch_up(struct nf_outlook *outlook,
                     const struct nf_pool_view *pool, int64_t now_us)
{
    const struct nf_slot_node *nodes = nodes_of(outlook, HEAP_ENDS);

    while (outlook->ends != NF_SLOT_NONE &&
           nodes[outlook->ends].key <= now_us) {
        uint32_t slot = outlook->ends;

        outlook->sweep.valid = false;
        unfile(outlook, slot);
        file(outlook, pool, slot, now_us);
    }
}

/* ---- deciding ---- */

/* The least time found so far, and the slot it is of; the lower one of two. */
struct least {
    uint32_t slot;
    int64_t at_us;
};

static void consider(struct least *least, uint32_t slot, int64_t at_us)
{
    if (least->slot != NF_SLOT_NONE &&
        (least->at_us < at_us || (least->at_us == at_us && least->slot < slot)))
        return;
    least->slot = slot;
    least->at_us = at_us;
}

/* When a swept slot runs dry, and how long one more chunk would take: before
 * its first result no less than the first one has taken so far. */
static int64_t swept_dry_us(const struct nf_outlook *outlook,
                            const struct nf_pool_view *pool, uint32_t number,
                            int64_t now_us, int64_t *service_us_p)
{
    const struct nf_auto_estimate *estimate =
        nf_outlook_estimate(outlook, number);
    uint32_t outstanding = pool->slots[number].outstanding;
    int64_t service_us = nf_auto_service_us(
        estimate, estimate->results > 0 ? 0 : nf_outlook_mean_us(outlook));
    int64_t dry_us = nf_auto_dry_us(estimate, outstanding, service_us, now_us);

    if (estimate->results == 0 && outstanding > 0 &&
        now_us - estimate->head_us > service_us)
        service_us = now_us - estimate->head_us;
    *service_us_p = service_us;
    return dry_us;
}

/* What is in the pool, in the unit of rate * us. */
static nf_wide left_work(const struct nf_pool_view *pool)
{
    uint64_t grains = pool->left_units / pool->grain_units +
                      (pool->left_units % pool->grain_units != 0);

    return (nf_wide)grains << NF_OUTLOOK_RATE_BITS;
}

/* Add what a swept slot has to do and can do. */
static void add_swept(const struct nf_outlook *outlook,
                      const struct nf_pool_view *pool, uint32_t slot,
                      int64_t now_us, nf_wide *work_p, nf_wide *rate_p)
{
    int64_t service_us = 0;
    int64_t dry_us = swept_dry_us(outlook, pool, slot, now_us, &service_us);

    *work_p += (nf_wide)(dry_us - now_us) * rate_of(service_us);
    *rate_p += rate_of(service_us);
}

/* Between two picks of one event only `fresh` changes. */
static void sweep(struct nf_outlook *outlook, const struct nf_pool_view *pool,
                  int64_t now_us)
{
    int64_t mean_us = nf_outlook_mean_us(outlook);

    if (outlook->sweep.valid && outlook->sweep.now_us == now_us &&
        outlook->sweep.mean_us == mean_us)
        return;
    outlook->sweep.valid = true;
    outlook->sweep.now_us = now_us;
    outlook->sweep.mean_us = mean_us;
    outlook->sweep.rate = outlook->sweep.work = 0;
    for (uint32_t i = outlook->swept; i != NF_SLOT_NONE;
         i = slot_of(outlook, i)->next)
        if (i != outlook->fresh)
            add_swept(outlook, pool, i, now_us, &outlook->sweep.work,
                      &outlook->sweep.rate);
}

/* M: from now until everything could be done, were work a fluid. */
static int64_t fluid_us(struct nf_outlook *outlook,
                        const struct nf_pool_view *pool, int64_t now_us)
{
    nf_wide rate = outlook->rate;
    nf_wide work =
        left_work(pool) + outlook->work + outlook->slope_rate * now_us;

    sweep(outlook, pool, now_us);
    rate += outlook->sweep.rate;
    work += outlook->sweep.work;
    if (outlook->fresh != NF_SLOT_NONE)
        add_swept(outlook, pool, outlook->fresh, now_us, &work, &rate);
    work /= rate;
    return work < never_us ? (int64_t)work : never_us;
}

/* Of the slots with room that would finish by now + limit, the one that runs
 * dry first. */
static struct least first_in_time(const struct nf_outlook *outlook,
                                  const struct nf_pool_view *pool,
                                  int64_t limit_us, int64_t now_us)
{
    const struct nf_slot_node *nodes = nodes_of(outlook, HEAP_ROOM);
    struct least first = { NF_SLOT_NONE, 0 };
    uint32_t rooms = outlook->swept_rooms; /* that are still to come */

    for (int64_t slope = 0; slope < NF_AUTO_SLOPES; slope++) {
        uint32_t root = outlook->room[slope], i = NF_SLOT_NONE;
        int64_t up_to = limit_us + now_us - slope * now_us;

        while ((i = nf_slot_heap_walk(nodes, root, up_to, i)) != NF_SLOT_NONE)
            consider(&first, i,
                     slope * now_us + slot_of(outlook, i)->offset_us);
    }
    for (uint32_t i = outlook->swept; rooms > 0;
         i = slot_of(outlook, i)->next) {
        int64_t service_us = 0, dry_us;

        if (!slot_of(outlook, i)->has_room)
            continue;
        rooms--;
        dry_us = swept_dry_us(outlook, pool, i, now_us, &service_us);
        if (dry_us + service_us - now_us <= limit_us)
            consider(&first, i, dry_us);
    }
    return first;
}

/* Of all slots, the one that would finish one more chunk first; or any one
 * without room, if that one has none. */
static struct least first_to_finish(const struct nf_outlook *outlook,
                                    const struct nf_pool_view *pool,
                                    int64_t now_us)
{
    const struct nf_slot_node *nodes = nodes_of(outlook, HEAP_FINISH);
    struct least best = { NF_SLOT_NONE, 0 };
    uint32_t rooms = outlook->swept_rooms; /* that are still to come */

    for (int64_t slope = 0; slope < NF_AUTO_SLOPES; slope++) {
        uint32_t root = outlook->finish[slope];

        if (root != NF_SLOT_NONE)
            consider(&best, root, slope * now_us + nodes[root].key);
    }
    for (uint32_t i = outlook->swept; i != NF_SLOT_NONE;
         i = slot_of(outlook, i)->next) {
        int64_t service_us = 0, dry_us;

        if (rooms == 0 && best.slot != NF_SLOT_NONE &&
            !slot_of(outlook, best.slot)->has_room)
            break; /* who is still to come has none either */
        rooms -= slot_of(outlook, i)->has_room;
        dry_us = swept_dry_us(outlook, pool, i, now_us, &service_us);
        consider(&best, i, dry_us + service_us);
    }
    return best;
}

/* Build the heaps of those who would finish first, which are kept from now on:
 * before the end game nobody asks. */
static void rank_all(struct nf_outlook *outlook,
                     const struct nf_pool_view *pool)
{
    if (outlook->ranked)
        return;
    outlook->ranked = true;
    for (uint32_t i = 0; i < pool->nslots; i++)
        if (slot_of(outlook, i)->in && !slot_of(outlook, i)->swept)
            rank(outlook, i);
}

/* Is the slot of the last event the only one with room, and so far from the end
 * that it passes the gate, if there is one, by the pool alone, with all others
 * taken for as fast as can be?  So it is nearly always. */
static bool is_simple(const struct nf_outlook *outlook,
                      const struct nf_pool_view *pool, bool gate,
                      int64_t now_us)
{
    const struct nf_outlook_slot *slot;
    int64_t mean_us = nf_outlook_mean_us(outlook), service_us = 0, finish_us;
    nf_wide rate;

    if (outlook->rooms != 1 || outlook->fresh == NF_SLOT_NONE)
        return false;
    slot = slot_of(outlook, outlook->fresh);
    if (!slot->has_room || !gate)
        return slot->has_room;
    rate = outlook->rate + outlook->swept_rate +
           (nf_wide)outlook->unknown * rate_of(mean_us > 1 ? mean_us : 1);
    finish_us =
        swept_dry_us(outlook, pool, outlook->fresh, now_us, &service_us);
    finish_us += service_us - now_us;
    return finish_us * rate <= left_work(pool);
}

uint32_t nf_outlook_choose(struct nf_outlook *outlook,
                           const struct nf_pool_view *pool, bool gate,
                           int64_t now_us)
{
    struct least least;

    if (outlook->rooms == 0)
        return NF_SLOT_NONE;
    if (is_simple(outlook, pool, gate, now_us))
        return outlook->fresh;
    catch_up(outlook, pool, now_us);
    least = first_in_time(outlook, pool,
                          gate ? fluid_us(outlook, pool, now_us) : never_us,
                          now_us);
    if (least.slot != NF_SLOT_NONE)
        return least.slot;
    /* nobody would: then the best one may, but no other */
    rank_all(outlook, pool);
    least = first_to_finish(outlook, pool, now_us);
    if (least.slot == NF_SLOT_NONE || !slot_of(outlook, least.slot)->has_room)
        return NF_SLOT_NONE;
    return least.slot;
}
