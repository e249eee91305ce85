/* The orders in which messages may be sent and arrive.
 *
 * At one rank, what concerns one item happens in the order of rounds, sends
 * before arrivals; nothing else is given, but that a message arrives after it
 * was sent.  So events form chains, one for each rank and item, and a message
 * that carries several items is in several chains at each end.  An event is
 * possible when nothing before it in its chains is left. */
#include "config.h"
#include <string.h>
#include "common/base/alloc.h"
#include "common/coll/check_parts.h"

#define NONE UINT32_MAX

/* ---- who carries what ---- */

static void fill_slots(struct nf_check_carried *carried,
                       const struct nf_check *check)
{
    uint32_t slot = 0;

    for (uint32_t m = 0; m < check->count; m++) {
        const struct nf_coll_message *message = &check->messages[m];

        carried->slot_of[m] = slot;
        if (check->claim->op == NF_COLL_BARRIER)
            carried->item_at[slot++] = 0;
        for (uint32_t i = 0; i < message->nspans; i++) {
            struct nf_coll_span span = check->spans[message->first_span + i];

            for (uint32_t j = 0; j < span.count; j++)
                carried->item_at[slot++] = span.first + j;
        }
    }
    carried->slot_of[check->count] = slot;
}

static void sort_by_item(struct nf_check_carried *carried,
                         const struct nf_check *check)
{
    uint32_t *begin_of = carried->begin_of, sum = 0;
    uint32_t slots = carried->slot_of[check->count];

    memset(begin_of, 0, ((size_t)check->items + 1) * sizeof(*begin_of));
    for (uint32_t slot = 0; slot < slots; slot++)
        begin_of[carried->item_at[slot]]++;
    for (uint32_t item = 0; item <= check->items; item++) {
        uint32_t here = begin_of[item];

        if (here > carried->most)
            carried->most = here;
        begin_of[item] = sum;
        sum += here;
    }
    for (uint32_t slot = 0; slot < slots; slot++)
        carried->by_item[begin_of[carried->item_at[slot]]++] = slot;
    /* that has moved every beginning to the next one */
    memmove(begin_of + 1, begin_of, check->items * sizeof(*begin_of));
    begin_of[0] = 0;
}

enum nf_status nf_check_carried_init(struct nf_check_carried *carried,
                                     const struct nf_check *check)
{
    size_t slots = check->claim->op == NF_COLL_BARRIER ? check->count : 0;

    *carried = (struct nf_check_carried){ .most = 0 };
    for (uint32_t m = 0; m < check->count; m++)
        for (uint32_t i = 0; i < check->messages[m].nspans; i++)
            slots += check->spans[check->messages[m].first_span + i].count;
    if (slots >= UINT32_MAX / 2) /* numbered in 32 bits, twice */
        return NF_ERR_NOMEM;
    carried->slot_of = nf_malloc(((size_t)check->count + 1) * sizeof(uint32_t));
    carried->item_at = nf_malloc(slots * sizeof(uint32_t));
    carried->begin_of =
        nf_malloc(((size_t)check->items + 1) * sizeof(uint32_t));
    carried->by_item = nf_malloc(slots * sizeof(uint32_t));
    if (carried->slot_of == NULL || carried->item_at == NULL ||
        carried->begin_of == NULL || carried->by_item == NULL)
        return NF_ERR_NOMEM;
    fill_slots(carried, check);
    sort_by_item(carried, check);
    return NF_OK;
}

void nf_check_carried_fini(struct nf_check_carried *carried)
{
    nf_free(carried->slot_of);
    nf_free(carried->item_at);
    nf_free(carried->begin_of);
    nf_free(carried->by_item);
}

/* ---- round by round ---- */

/* @return the first message of a later round than m's */
static uint32_t round_end(const struct nf_check *check, uint32_t m)
{
    uint32_t end = m;

    while (end < check->count &&
           check->messages[end].round == check->messages[m].round)
        end++;
    return end;
}

void nf_check_order_rounds(const struct nf_check *check, uint32_t *events)
{
    for (uint32_t m = 0, end; m < check->count; m = end) {
        end = round_end(check, m);
        for (uint32_t i = m; i < end; i++)
            *events++ = 2 * i;
        for (uint32_t i = m; i < end; i++)
            *events++ = 2 * i + 1;
    }
}

/* ---- as ranks please ---- */

struct chains {
    uint32_t *next;  /* [2 slots]: the event after slot's send, its arrival */
    uint32_t *left;  /* [event]: events that must come first */
    uint32_t *ready; /* a stack */
    uint32_t *late;  /* another, of the rank that is late */
    uint32_t nready, nlate, late_rank;
    uint32_t *last; /* [rank]: 2 slot + end of its last event, of one item */
    uint32_t *message_of; /* [slot] */
};

static void link_event(struct chains *chains, uint32_t rank, uint32_t slot,
                       uint32_t end)
{
    uint32_t event = 2 * chains->message_of[slot] + end;

    if (chains->last[rank] != NONE) {
        chains->next[chains->last[rank]] = event;
        chains->left[event]++;
    }
    chains->last[rank] = 2 * slot + end;
}

/* Arrivals of one round from different sources may be taken in either order, by
 * all ranks and items alike: a message is taken as a whole. */
static void link_item(const struct nf_check *check,
                      const struct nf_check_carried *carried,
                      struct chains *chains, uint32_t item, bool backwards)
{
    const uint32_t *slots = &carried->by_item[carried->begin_of[item]];
    uint32_t count = carried->begin_of[item + 1] - carried->begin_of[item];

    for (uint32_t r = 0; r < check->claim->ranks; r++)
        chains->last[r] = NONE;
    for (uint32_t i = 0, end; i < count; i = end) {
        const struct nf_coll_message *messages = check->messages;
        uint32_t round = messages[chains->message_of[slots[i]]].round;

        for (end = i; end < count; end++) {
            uint32_t m = chains->message_of[slots[end]];

            if (messages[m].round != round)
                break;
            link_event(chains, messages[m].src, slots[end], 0);
        }
        for (uint32_t j = i; j < end; j++) {
            uint32_t slot = slots[backwards ? end - 1 - (j - i) : j];

            link_event(chains, messages[chains->message_of[slot]].dst, slot, 1);
        }
    }
}

static enum nf_status chains_init(struct chains *chains,
                                  const struct nf_check *check,
                                  const struct nf_check_carried *carried,
                                  bool backwards)
{
    size_t slots = carried->slot_of[check->count];
    size_t events = 2 * (size_t)check->count;

    *chains = (struct chains){ .nready = 0 };
    chains->next = nf_malloc(2 * slots * sizeof(uint32_t));
    chains->left = nf_calloc(events, sizeof(uint32_t));
    chains->ready = nf_malloc(events * sizeof(uint32_t));
    chains->late = nf_malloc(events * sizeof(uint32_t));
    chains->last = nf_malloc(check->claim->ranks * sizeof(uint32_t));
    chains->message_of = nf_malloc(slots * sizeof(uint32_t));
    if (chains->next == NULL || chains->left == NULL || chains->ready == NULL ||
        chains->late == NULL || chains->last == NULL ||
        chains->message_of == NULL)
        return NF_ERR_NOMEM;
    for (size_t i = 0; i < 2 * slots; i++)
        chains->next[i] = NONE;
    for (uint32_t m = 0; m < check->count; m++) {
        chains->left[2 * m + 1] = 1; /* its sending */
        for (uint32_t s = carried->slot_of[m]; s < carried->slot_of[m + 1]; s++)
            chains->message_of[s] = m;
    }
    for (uint32_t item = 0; item < check->items; item++)
        link_item(check, carried, chains, item, backwards);
    return NF_OK;
}

static void chains_fini(struct chains *chains)
{
    nf_free(chains->next);
    nf_free(chains->left);
    nf_free(chains->ready);
    nf_free(chains->late);
    nf_free(chains->last);
    nf_free(chains->message_of);
}

static void push(struct chains *chains, const struct nf_check *check,
                 uint32_t event)
{
    const struct nf_coll_message *message = &check->messages[event / 2];
    uint32_t rank = event % 2 == 0 ? message->src : message->dst;

    if (rank == chains->late_rank)
        chains->late[chains->nlate++] = event;
    else
        chains->ready[chains->nready++] = event;
}

static uint32_t pop(struct chains *chains, struct nf_rng *rng, bool stack)
{
    bool late = chains->nready == 0;
    uint32_t *list = late ? chains->late : chains->ready;
    uint32_t *count_p = late ? &chains->nlate : &chains->nready;
    uint32_t at = stack ? *count_p - 1 : (uint32_t)nf_rng_below(rng, *count_p);
    uint32_t event = list[at];

    list[at] = list[--*count_p];
    return event;
}

static void done(struct chains *chains, const struct nf_check *check,
                 const struct nf_check_carried *carried, uint32_t event)
{
    uint32_t m = event / 2, end = event % 2;

    if (end == 0 && --chains->left[event + 1] == 0)
        push(chains, check, event + 1);
    for (uint32_t s = carried->slot_of[m]; s < carried->slot_of[m + 1]; s++) {
        uint32_t next = chains->next[2 * s + end];

        if (next != NONE && --chains->left[next] == 0)
            push(chains, check, next);
    }
}

static enum nf_status run_chains(struct chains *chains,
                                 const struct nf_check *check,
                                 const struct nf_check_carried *carried,
                                 struct nf_rng *rng, bool stack,
                                 uint32_t *events)
{
    uint32_t count = 2 * check->count, ndone = 0;

    for (uint32_t event = 0; event < count; event++)
        if (chains->left[event] == 0)
            push(chains, check, event);
    while (chains->nready + chains->nlate > 0) {
        events[ndone] = pop(chains, rng, stack);
        done(chains, check, carried, events[ndone++]);
    }
    if (ndone == count)
        return NF_OK;
    for (uint32_t event = 0; event < count; event++)
        if (chains->left[event] > 0) {
            nf_check_fault(check, NF_FAULT_DEADLOCK, event / 2, NONE,
                           "never happens: ranks wait for each other");
            break;
        }
    return NF_ERR_VERIFY;
}

enum nf_status nf_check_order_free(const struct nf_check *check,
                                   const struct nf_check_carried *carried,
                                   struct nf_rng *rng, bool stack,
                                   uint32_t *events)
{
    struct chains chains;
    enum nf_status status = chains_init(&chains, check, carried, stack);

    chains.late_rank = (uint32_t)nf_rng_below(rng, check->claim->ranks);
    if (status == NF_OK)
        status = run_chains(&chains, check, carried, rng, stack, events);
    chains_fini(&chains);
    return status;
}
