/* Following values: one item at a time, along a given order of events.
 *
 * What a value is depends on the operation:
 *   moving data         1 if the rank has the item
 *   combining in order  a run of operands [from, to): from << 32 | to
 *   combining, if the operator commutes, and barriers  a set of ranks, one bit
 *                       each: whose operands are in, who was heard of
 * 0 is nothing. */
#include "config.h"
#include <string.h>
#include "common/base/alloc.h"
#include "common/coll/check_parts.h"

#define NONE UINT32_MAX

enum kind { KIND_HAVE, KIND_RUN, KIND_SET, KIND_HEARD };

struct values {
    const struct nf_check *check;
    const struct nf_coll_claim *claim;
    enum kind kind;
    uint32_t words;      /* of a value */
    uint64_t *mine;      /* [rank] */
    uint64_t *others;    /* [rank]: exscan, without the own operand */
    uint64_t *car;       /* [rank] */
    uint64_t *flying;    /* [message that carries the item] */
    uint32_t *flying_of; /* [message] */
    uint32_t item;
};

static uint64_t run(uint32_t from, uint32_t to)
{
    return (uint64_t)from << 32 | to;
}
static uint32_t run_from(uint64_t value)
{
    return (uint32_t)(value >> 32);
}
static uint32_t run_to(uint64_t value)
{
    return (uint32_t)value;
}

static bool is_nothing(const struct values *values, const uint64_t *value)
{
    for (uint32_t i = 0; i < values->words; i++)
        if (value[i] != 0)
            return false;
    return true;
}

static void copy(const struct values *values, uint64_t *to,
                 const uint64_t *from)
{
    memcpy(to, from, values->words * sizeof(*to));
}

static uint64_t *of_rank(const struct values *values, uint64_t *array,
                         uint32_t rank)
{
    return array + (size_t)rank * values->words;
}

/* The place of a rank's operand in the promised order. */
static uint32_t place_of(const struct nf_coll_claim *claim, uint32_t rank)
{
    if (claim->order != NF_ORDER_ROTATED || claim->op != NF_COLL_REDUCE)
        return rank;
    return (rank + claim->ranks - claim->root) % claim->ranks;
}

/* ---- combining ---- */

static void combine_runs(const struct values *values, uint32_t m,
                         uint64_t *mine, uint64_t in, bool left)
{
    uint64_t low = left ? in : *mine, high = left ? *mine : in;

    if (run_from(low) < run_to(high) && run_from(high) < run_to(low)) {
        nf_check_fault(values->check, NF_FAULT_OPERAND, m, values->item,
                       "operands %u-%u and %u-%u overlap", run_from(low),
                       run_to(low) - 1, run_from(high), run_to(high) - 1);
        return;
    }
    if (run_to(low) != run_from(high)) {
        nf_check_fault(values->check, NF_FAULT_ORDER, m, values->item,
                       "operands %u-%u do not end where %u-%u begin",
                       run_from(low), run_to(low) - 1, run_from(high),
                       run_to(high) - 1);
        return;
    }
    *mine = run(run_from(low), run_to(high));
}

static void combine_sets(const struct values *values, uint32_t m,
                         uint64_t *mine, const uint64_t *in)
{
    uint32_t twice = NONE;

    for (uint32_t i = 0; i < values->words; i++) {
        uint64_t both = mine[i] & in[i];

        if (both != 0 && twice == NONE)
            for (twice = 64 * i; (both & 1) == 0; both >>= 1)
                twice++;
        mine[i] |= in[i];
    }
    if (twice != NONE && values->kind == KIND_SET)
        nf_check_fault(values->check, NF_FAULT_OPERAND, m, values->item,
                       "the operand of rank %u is combined twice", twice);
}

static void combine(const struct values *values, uint32_t m, uint64_t *mine,
                    const uint64_t *in)
{
    if (is_nothing(values, mine))
        copy(values, mine, in);
    else if (values->kind == KIND_RUN)
        combine_runs(values, m, mine, *in,
                     values->check->messages[m].action == NF_COLL_LEFT);
    else
        combine_sets(values, m, mine, in);
}

/* ---- messages ---- */

static void send_item(const struct values *values, uint32_t m)
{
    const struct nf_coll_message *message = &values->check->messages[m];
    uint64_t *from = of_rank(
        values, message->from_car ? values->car : values->mine, message->src);

    if (is_nothing(values, from))
        nf_check_fault(
            values->check, message->from_car ? NF_FAULT_NO_CAR : NF_FAULT_LACKS,
            m, values->item, "rank %u %s", message->src,
            message->from_car ? "sends register car, which it never kept"
                              : "does not have what it sends");
    copy(values, of_rank(values, values->flying, values->flying_of[m]), from);
    if (values->claim->op == NF_COLL_ALLTOALL && !message->from_car)
        *from = 0; /* it is moved */
}

static void take_copy(const struct values *values, uint32_t m, uint64_t *mine,
                      const uint64_t *in)
{
    uint32_t dst = values->check->messages[m].dst;

    if (!values->claim->redundant &&
        memcmp(mine, in, values->words * sizeof(*in)) == 0)
        nf_check_fault(values->check, NF_FAULT_REDUNDANT, m, values->item,
                       "rank %u had it already", dst);
    copy(values, mine, in);
    if (values->claim->op == NF_COLL_EXSCAN)
        copy(values, of_rank(values, values->others, dst), in);
}

static void receive_item(const struct values *values, uint32_t m)
{
    const struct nf_coll_message *message = &values->check->messages[m];
    uint64_t *mine = of_rank(values, values->mine, message->dst);
    const uint64_t *in = of_rank(values, values->flying, values->flying_of[m]);

    if (is_nothing(values, in))
        return; /* noted when it was sent */
    if (message->keep)
        copy(values, of_rank(values, values->car, message->dst), in);
    if (values->kind == KIND_HEARD)
        combine_sets(values, m, mine, in);
    else if (message->action == NF_COLL_COPY)
        take_copy(values, m, mine, in);
    else if (values->kind == KIND_HAVE)
        nf_check_fault(values->check, NF_FAULT_ACTION, m, values->item,
                       "%s has nothing to combine",
                       nf_coll_op_names[values->claim->op]);
    else {
        combine(values, m, mine, in);
        if (values->claim->op == NF_COLL_EXSCAN)
            combine(values, m, of_rank(values, values->others, message->dst),
                    in);
    }
}

/* ---- beginning and end ---- */

static bool has_at_first(const struct nf_coll_claim *claim, uint32_t rank,
                         uint32_t item)
{
    switch (claim->op) {
    case NF_COLL_BCAST:
    case NF_COLL_SCATTER:
        return rank == claim->root;
    case NF_COLL_GATHER:
    case NF_COLL_ALLGATHER:
        return rank == item;
    case NF_COLL_ALLTOALL:
        return rank == item / claim->ranks;
    default:
        return true; /* an operand, or itself */
    }
}

/* Is there anything that the rank should have in the end? */
static bool wants(const struct nf_coll_claim *claim, uint32_t rank,
                  uint32_t item)
{
    if (claim->sizes != NULL && claim->sizes[item] == 0)
        return false;
    switch (claim->op) {
    case NF_COLL_REDUCE:
    case NF_COLL_GATHER:
        return rank == claim->root;
    case NF_COLL_SCATTER:
    case NF_COLL_REDUCE_SCATTER:
        return rank == item;
    case NF_COLL_ALLTOALL:
        return rank == item % claim->ranks;
    case NF_COLL_EXSCAN:
        return rank > 0;
    default:
        return true;
    }
}

static void begin(const struct values *values)
{
    uint32_t ranks = values->claim->ranks;
    size_t bytes = (size_t)ranks * values->words * sizeof(uint64_t);

    memset(values->mine, 0, bytes);
    memset(values->car, 0, bytes);
    memset(values->others, 0, bytes);
    for (uint32_t r = 0; r < ranks; r++) {
        uint64_t *mine = of_rank(values, values->mine, r);
        uint32_t place = place_of(values->claim, r);

        if (!has_at_first(values->claim, r, values->item))
            continue;
        if (values->kind == KIND_HAVE)
            *mine = 1;
        else if (values->kind == KIND_RUN)
            *mine = run(place, place + 1);
        else
            mine[r / 64] |= UINT64_C(1) << r % 64;
    }
}

static void end_run(const struct values *values, uint32_t rank, uint64_t got,
                    uint32_t to)
{
    if (got == 0)
        nf_check_fault(values->check, NF_FAULT_RESULT, NONE, values->item,
                       "rank %u ends with nothing, want operands 0-%u", rank,
                       to - 1);
    else if (got != run(0, to))
        nf_check_fault(values->check, NF_FAULT_RESULT, NONE, values->item,
                       "rank %u ends with operands %u-%u, want 0-%u", rank,
                       run_from(got), run_to(got) - 1, to - 1);
}

/* @return the lowest rank that is in one of the set and [0, to) only, or NONE
 */
static uint32_t first_wrong(const struct values *values, const uint64_t *set,
                            uint32_t to)
{
    for (uint32_t i = 0; i < values->words; i++) {
        uint64_t want = to / 64 > i   ? UINT64_MAX
                        : to / 64 < i ? 0
                                      : (UINT64_C(1) << to % 64) - 1;
        uint64_t wrong = set[i] ^ want;

        if (wrong != 0) {
            uint32_t rank = 64 * i;

            for (; (wrong & 1) == 0; wrong >>= 1)
                rank++;
            return rank;
        }
    }
    return NONE;
}

/* Ranks [0, to) and no others. */
static void end_set(const struct values *values, uint32_t rank,
                    const uint64_t *got, uint32_t to)
{
    uint32_t other = first_wrong(values, got, to);

    if (other == NONE)
        return;
    if (values->kind == KIND_HEARD)
        nf_check_fault(values->check, NF_FAULT_RESULT, NONE, values->item,
                       "rank %u leaves and rank %u may not be there yet", rank,
                       other);
    else
        nf_check_fault(values->check, NF_FAULT_RESULT, NONE, values->item,
                       "rank %u ends %s the operand of rank %u", rank,
                       other < to ? "without" : "with", other);
}

static void end(const struct values *values)
{
    const struct nf_coll_claim *claim = values->claim;

    for (uint32_t r = 0; r < claim->ranks; r++) {
        bool ex = claim->op == NF_COLL_EXSCAN;
        bool scan = claim->op == NF_COLL_SCAN || ex;
        uint32_t to = scan ? r + !ex : claim->ranks;
        const uint64_t *got =
            of_rank(values, ex ? values->others : values->mine, r);

        if (!wants(claim, r, values->item))
            continue;
        if (values->kind == KIND_RUN)
            end_run(values, r, *got, to);
        else if (values->kind != KIND_HAVE)
            end_set(values, r, got, to);
        else if (*got == 0)
            nf_check_fault(values->check, NF_FAULT_RESULT, NONE, values->item,
                           "rank %u ends without it", r);
    }
}

/* ---- all items ---- */

static enum kind kind_of(const struct nf_coll_claim *claim)
{
    switch (claim->op) {
    case NF_COLL_BARRIER:
        return KIND_HEARD;
    case NF_COLL_REDUCE:
    case NF_COLL_ALLREDUCE:
    case NF_COLL_REDUCE_SCATTER:
    case NF_COLL_SCAN:
    case NF_COLL_EXSCAN:
        return claim->order == NF_ORDER_COMMUTATIVE ? KIND_SET : KIND_RUN;
    default:
        return KIND_HAVE;
    }
}

static void follow_item(struct values *values, const uint32_t *events,
                        size_t count)
{
    uint32_t nflying = 0;

    begin(values);
    for (size_t i = 0; i < count; i++) {
        uint32_t m = events[i] / 2;

        if (events[i] % 2 == 0) {
            values->flying_of[m] = nflying++;
            send_item(values, m);
        } else {
            receive_item(values, m);
        }
    }
    end(values);
}

/* The events of each item: those of item i from 2 begin_of[i] on.
 * @param cursor  [items], for use here */
static void sort_events(const struct values *values,
                        const struct nf_check_carried *carried,
                        const uint32_t *events, size_t *cursor, uint32_t *of)
{
    for (uint32_t item = 0; item < values->check->items; item++)
        cursor[item] = 2 * (size_t)carried->begin_of[item];
    for (size_t i = 0; i < 2 * (size_t)values->check->count; i++) {
        uint32_t m = events[i] / 2;

        for (uint32_t s = carried->slot_of[m]; s < carried->slot_of[m + 1]; s++)
            of[cursor[carried->item_at[s]]++] = events[i];
    }
}

enum nf_status nf_check_values(const struct nf_check *check,
                               const struct nf_check_carried *carried,
                               const uint32_t *events)
{
    struct values values = {
        .check = check,
        .claim = check->claim,
        .kind = kind_of(check->claim),
        .words = 1,
    };
    size_t ranks = check->claim->ranks, bytes;
    size_t *cursor = nf_malloc(check->items * sizeof(*cursor));
    uint32_t *of =
        nf_malloc(2 * (size_t)carried->slot_of[check->count] * sizeof(*of));
    enum nf_status status = NF_ERR_NOMEM;

    if (values.kind == KIND_SET || values.kind == KIND_HEARD)
        values.words = (check->claim->ranks + 63) / 64;
    bytes = ranks * values.words * sizeof(uint64_t);
    values.mine = nf_malloc(bytes);
    values.others = nf_malloc(bytes);
    values.car = nf_malloc(bytes);
    values.flying = nf_malloc((size_t)carried->most * values.words *
                              sizeof(*values.flying));
    values.flying_of = nf_malloc(check->count * sizeof(*values.flying_of));
    if (cursor != NULL && of != NULL && values.mine != NULL &&
        values.others != NULL && values.car != NULL && values.flying != NULL &&
        values.flying_of != NULL) {
        sort_events(&values, carried, events, cursor, of);
        for (values.item = 0; values.item < check->items; values.item++)
            follow_item(&values,
                        of + 2 * (size_t)carried->begin_of[values.item],
                        cursor[values.item] -
                            2 * (size_t)carried->begin_of[values.item]);
        status = NF_OK;
    }
    nf_free(cursor);
    nf_free(of);
    nf_free(values.mine);
    nf_free(values.others);
    nf_free(values.car);
    nf_free(values.flying);
    nf_free(values.flying_of);
    return status;
}
