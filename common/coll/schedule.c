/* Messages written down: growing arrays, and the order in which they are read.
 */
#include "config.h"
#include <string.h>
#include "common/base/alloc.h"
#include "common/coll/coll.h"

void nf_schedule_init(struct nf_schedule *schedule, uint32_t only)
{
    *schedule = (struct nf_schedule){ .only = only };
}

void nf_schedule_fini(struct nf_schedule *schedule)
{
    nf_free(schedule->messages);
    nf_free(schedule->spans);
    nf_schedule_init(schedule, NF_ALL_RANKS);
}

/* Room for one more element in *array_p. */
static bool reserve(void **array_p, size_t count, size_t *capacity_p,
                    size_t element_bytes)
{
    size_t capacity = *capacity_p > 0 ? 2 * *capacity_p : 16;
    void *grown;

    if (*array_p != NULL && count < *capacity_p)
        return true;
    if (capacity > SIZE_MAX / element_bytes)
        return false;
    grown = nf_realloc(*array_p, capacity * element_bytes);
    if (grown == NULL)
        return false;
    *array_p = grown;
    *capacity_p = capacity;
    return true;
}

void nf_schedule_add(struct nf_schedule *s, uint32_t round, uint32_t src,
                     uint32_t dst, enum nf_coll_action action)
{
    void *messages = s->messages;

    s->skipping = s->only != NF_ALL_RANKS && src != s->only && dst != s->only;
    if (s->skipping || s->failed)
        return;
    s->failed =
        !reserve(&messages, s->count, &s->capacity, sizeof(*s->messages));
    s->messages = messages;
    if (s->failed)
        return;
    s->messages[s->count++] = (struct nf_coll_message){
        .round = round,
        .src = src,
        .dst = dst,
        .action = action,
        .first_span = (uint32_t)s->nspans,
    };
}

void nf_schedule_items(struct nf_schedule *s, uint32_t first, uint32_t count)
{
    struct nf_coll_message *message;
    struct nf_coll_span *last;
    void *spans = s->spans;

    if (s->skipping || s->failed || count == 0)
        return;
    s->carried += count;
    s->too_long = s->carried > NF_COLL_CARRIED_MAX;
    s->failed = s->too_long;
    if (s->failed)
        return;
    message = &s->messages[s->count - 1];
    last = message->nspans > 0 ? &s->spans[s->nspans - 1] : NULL;
    if (last != NULL && last->first + last->count == first) {
        last->count += count;
        return;
    }
    s->failed =
        !reserve(&spans, s->nspans, &s->spans_capacity, sizeof(*s->spans));
    s->spans = spans;
    if (s->failed)
        return;
    s->spans[s->nspans++] = (struct nf_coll_span){ first, count };
    message->nspans++;
}

void nf_schedule_items_mod(struct nf_schedule *s, uint32_t first,
                           uint32_t count, uint32_t modulus)
{
    uint32_t begin = first % modulus;
    uint32_t to_end = modulus - begin;

    nf_schedule_items(s, begin, count < to_end ? count : to_end);
    if (count > to_end)
        nf_schedule_items(s, 0, count - to_end);
}

void nf_schedule_car(struct nf_schedule *s, bool keep, bool from_car)
{
    if (s->skipping || s->failed)
        return;
    s->messages[s->count - 1].keep = keep;
    s->messages[s->count - 1].from_car = from_car;
}

void nf_schedule_route(struct nf_schedule *s, uint32_t side, int32_t hops)
{
    if (s->skipping || s->failed)
        return;
    s->messages[s->count - 1].side = side;
    s->messages[s->count - 1].hops = hops;
}

void nf_schedule_send(struct nf_schedule *s, uint32_t round, uint32_t src,
                      uint32_t dst, uint32_t first, uint32_t count,
                      enum nf_coll_action action)
{
    nf_schedule_add(s, round, src, dst, action);
    nf_schedule_items(s, first, count);
}

static int by_round(const struct nf_coll_message *a,
                    const struct nf_coll_message *b)
{
    if (a->round != b->round)
        return a->round < b->round ? -1 : 1;
    if (a->src != b->src)
        return a->src < b->src ? -1 : 1;
    return a->dst < b->dst ? -1 : a->dst > b->dst;
}

/* Merge the sorted halves [0, half) and [half, count) of from into to. */
static void merge(const struct nf_coll_message *from,
                  struct nf_coll_message *to, size_t half, size_t count)
{
    size_t left = 0, right = half;

    for (size_t i = 0; i < count; i++) {
        bool take_left =
            right == count ||
            (left < half && by_round(&from[left], &from[right]) <= 0);

        to[i] = from[take_left ? left++ : right++];
    }
}

/* Bottom up; qsort may allocate, and is neither pure nor stable. */
void nf_schedule_sort(struct nf_schedule *s)
{
    struct nf_coll_message *from = s->messages, *to;

    if (s->failed || s->count < 2)
        return;
    to = nf_malloc(s->capacity * sizeof(*to));
    if (to == NULL) {
        s->failed = true;
        return;
    }
    for (size_t width = 1; width < s->count; width *= 2) {
        struct nf_coll_message *swapped = from;

        for (size_t i = 0; i < s->count; i += 2 * width) {
            size_t left = s->count - i;

            merge(from + i, to + i, width < left ? width : left,
                  2 * width < left ? 2 * width : left);
        }
        from = to;
        to = swapped;
    }
    s->messages = from;
    nf_free(to);
}

uint64_t nf_schedule_items_of(const struct nf_schedule *s,
                              const struct nf_coll_message *message)
{
    uint64_t items = 0;

    for (uint32_t i = 0; i < message->nspans; i++)
        items += s->spans[message->first_span + i].count;
    return items;
}

uint32_t nf_schedule_rounds(const struct nf_schedule *s)
{
    uint32_t rounds = 0;

    for (size_t i = 0; i < s->count; i++)
        if (s->messages[i].round >= rounds)
            rounds = s->messages[i].round + 1;
    return rounds;
}
