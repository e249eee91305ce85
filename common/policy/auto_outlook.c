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
    for (int i = 0; i < NF_OUTLOOK_SLOPES; i++) {
        outlook->finish[i] = NF_SLOT_NONE;
        outlook->room[i] = NF_SLOT_NONE;
    }
    outlook->ends = NF_SLOT_NONE;
    outlook->swept = NF_SLOT_NONE;
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

static void count_line(struct nf_outlook *outlook,
                       const struct nf_outlook_slot *slot, int sign)
{
    nf_wide rate = (nf_wide)sign * rate_of(slot->service_us);

    outlook->rate += rate;
    outlook->slope_rate += rate * ((int64_t)slot->slope - 1);
    outlook->work += rate * slot->offset_us;
}

static void take_out(struct nf_outlook *outlook, uint32_t number)
{
    struct nf_outlook_slot *slot = slot_of(outlook, number);

    if (!slot->in)
        return;
    slot->in = false;
    if (slot->known) {
        outlook->known--;
        outlook->known_idle -= slot->idle;
        outlook->service_sum_us -= slot->counted_us;
    }
    if (slot->swept) {
        if (slot->prev == NF_SLOT_NONE)
            outlook->swept = slot->next;
        else
            slot_of(outlook, slot->prev)->next = slot->next;
        if (slot->next != NF_SLOT_NONE)
            slot_of(outlook, slot->next)->prev = slot->prev;
        return;
    }
    count_line(outlook, slot, -1);
    nf_slot_heap_remove(nodes_of(outlook, HEAP_FINISH),
                        &outlook->finish[slot->slope], number);
    if (slot->candidate)
        nf_slot_heap_remove(nodes_of(outlook, HEAP_ROOM),
                            &outlook->room[slot->slope], number);
    if (slot->ends)
        nf_slot_heap_remove(nodes_of(outlook, HEAP_ENDS), &outlook->ends,
                            number);
}

static void sweep_from_now_on(struct nf_outlook *outlook, uint32_t number)
{
    struct nf_outlook_slot *slot = slot_of(outlook, number);

    slot->swept = true;
    slot->prev = NF_SLOT_NONE;
    slot->next = outlook->swept;
    if (slot->next != NF_SLOT_NONE)
        slot_of(outlook, slot->next)->prev = number;
    outlook->swept = number;
}

static void put_in(struct nf_outlook *outlook, uint32_t number,
                   const struct nf_slot_view *view, int64_t now_us)
{
    struct nf_outlook_slot *slot = slot_of(outlook, number);
    struct nf_auto_line line;

    slot->in = true;
    slot->candidate = view->outstanding < nf_outlook_window(outlook, number);
    slot->idle = view->outstanding == 0;
    slot->known = slot->estimate.results > 0;
    if (!slot->known) {
        sweep_from_now_on(outlook, number);
        return;
    }
    slot->counted_us = slot->estimate.service_us;
    outlook->service_sum_us += slot->counted_us;
    outlook->known++;
    outlook->known_idle += slot->idle;
    slot->service_us = nf_auto_service_us(&slot->estimate, 0);
    line = nf_auto_dry(&slot->estimate, view->outstanding, slot->service_us,
                       now_us);
    if (line.slope >= NF_OUTLOOK_SLOPES) {
        sweep_from_now_on(outlook, number);
        return;
    }
    slot->swept = false;
    slot->slope = line.slope;
    slot->offset_us = line.offset_us;
    slot->ends = line.until_us != INT64_MAX;
    count_line(outlook, slot, 1);
    nf_slot_heap_insert(nodes_of(outlook, HEAP_FINISH),
                        &outlook->finish[slot->slope], number,
                        slot->offset_us + slot->service_us);
    if (slot->candidate)
        nf_slot_heap_insert(nodes_of(outlook, HEAP_ROOM),
                            &outlook->room[slot->slope], number,
                            slot->offset_us + slot->service_us);
    if (slot->ends)
        nf_slot_heap_insert(nodes_of(outlook, HEAP_ENDS), &outlook->ends,
                            number, line.until_us);
}

void nf_outlook_update(struct nf_outlook *outlook,
                       const struct nf_pool_view *pool, uint32_t slot,
                       int64_t now_us)
{
    const struct nf_slot_view *view = &pool->slots[slot];

    take_out(outlook, slot);
    if (view->live && !view->refused)
        put_in(outlook, slot, view, now_us);
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
        (least->at_us < at_us ||
         (least->at_us == at_us && least->slot < slot)))
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
    int64_t service_us =
        nf_auto_service_us(estimate, nf_outlook_mean_us(outlook));
    struct nf_auto_line line =
        nf_auto_dry(estimate, outstanding, service_us, now_us);

    if (estimate->results == 0 && outstanding > 0 &&
        now_us - estimate->head_us > service_us)
        service_us = now_us - estimate->head_us;
    *service_us_p = service_us;
    return line.slope * now_us + line.offset_us;
}

/* M: from now until everything could be done, were work a fluid. */
static int64_t fluid_us(const struct nf_outlook *outlook,
                        const struct nf_pool_view *pool, int64_t now_us)
{
    uint64_t grains = pool->left_units / pool->grain_units +
                      (pool->left_units % pool->grain_units != 0);
    nf_wide rate = outlook->rate;
    nf_wide work = ((nf_wide)grains << NF_OUTLOOK_RATE_BITS) + outlook->work +
                   outlook->slope_rate * now_us;

    for (uint32_t i = outlook->swept; i != NF_SLOT_NONE;
         i = slot_of(outlook, i)->next) {
        int64_t service_us = 0;
        int64_t dry_us = swept_dry_us(outlook, pool, i, now_us, &service_us);

        work += (nf_wide)(dry_us - now_us) * rate_of(service_us);
        rate += rate_of(service_us);
    }
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

    for (int64_t slope = 0; slope < NF_OUTLOOK_SLOPES; slope++) {
        uint32_t root = outlook->room[slope], i = NF_SLOT_NONE;
        int64_t up_to = limit_us + now_us - slope * now_us;

        while ((i = nf_slot_heap_walk(nodes, root, up_to, i)) != NF_SLOT_NONE)
            consider(&first, i,
                     slope * now_us + slot_of(outlook, i)->offset_us);
    }
    for (uint32_t i = outlook->swept; i != NF_SLOT_NONE;
         i = slot_of(outlook, i)->next) {
        int64_t service_us = 0;
        int64_t dry_us = swept_dry_us(outlook, pool, i, now_us, &service_us);

        if (slot_of(outlook, i)->candidate &&
            dry_us + service_us - now_us <= limit_us)
            consider(&first, i, dry_us);
    }
    return first;
}

/* Of all slots, the one that would finish one more chunk first. */
static struct least first_to_finish(const struct nf_outlook *outlook,
                                    const struct nf_pool_view *pool,
                                    int64_t now_us)
{
    const struct nf_slot_node *nodes = nodes_of(outlook, HEAP_FINISH);
    struct least best = { NF_SLOT_NONE, 0 };

    for (int64_t slope = 0; slope < NF_OUTLOOK_SLOPES; slope++) {
        uint32_t root = outlook->finish[slope];

        if (root != NF_SLOT_NONE)
            consider(&best, root, slope * now_us + nodes[root].key);
    }
    for (uint32_t i = outlook->swept; i != NF_SLOT_NONE;
         i = slot_of(outlook, i)->next) {
        int64_t service_us = 0;
        int64_t dry_us = swept_dry_us(outlook, pool, i, now_us, &service_us);

        consider(&best, i, dry_us + service_us);
    }
    return best;
}

/* Slots whose line has ended get a new one. */
static void catch_up(struct nf_outlook *outlook,
                     const struct nf_pool_view *pool, int64_t now_us)
{
    const struct nf_slot_node *nodes = nodes_of(outlook, HEAP_ENDS);

    while (outlook->ends != NF_SLOT_NONE && nodes[outlook->ends].key <= now_us)
        nf_outlook_update(outlook, pool, outlook->ends, now_us);
}

uint32_t nf_outlook_choose(struct nf_outlook *outlook,
                           const struct nf_pool_view *pool, bool gate,
                           int64_t now_us)
{
    struct least least;

    catch_up(outlook, pool, now_us);
    least = first_in_time(outlook, pool,
                          gate ? fluid_us(outlook, pool, now_us) : never_us,
                          now_us);
    if (least.slot != NF_SLOT_NONE)
        return least.slot;
    /* nobody would: then the best one may, but no other */
    least = first_to_finish(outlook, pool, now_us);
    if (least.slot == NF_SLOT_NONE || !slot_of(outlook, least.slot)->candidate)
        return NF_SLOT_NONE;
    return least.slot;
}
