#include "config.h"
#include "tests/unit/coll_meaning.h"
#include <stdlib.h>
#include <string.h>

/* Longer lists are certainly wrong, and may grow without end. */
enum { LIST_MAX = 64 };

struct list {
    unsigned length;
    uint16_t of[LIST_MAX];
};

/* of one rank and item */
struct cell {
    struct list mine, others, car;
};

static struct cell *cell_of(struct cell *cells, const struct nf_coll_claim *c,
                            uint32_t rank, uint32_t item)
{
    uint32_t items = c->items > 0 ? c->items : 1;

    return &cells[(size_t)rank * items + item];
}

static void join(struct list *to, const struct list *a, const struct list *b)
{
    struct list joined = { .length = 0 };

    for (unsigned i = 0; i < a->length && joined.length < LIST_MAX; i++)
        joined.of[joined.length++] = a->of[i];
    for (unsigned i = 0; i < b->length && joined.length < LIST_MAX; i++)
        joined.of[joined.length++] = b->of[i];
    *to = joined;
}

static bool moves(enum nf_coll_op op)
{
    return op == NF_COLL_BCAST || op == NF_COLL_GATHER ||
           op == NF_COLL_SCATTER || op == NF_COLL_ALLGATHER ||
           op == NF_COLL_ALLTOALL;
}

static bool begins_with(const struct nf_coll_claim *c, uint32_t rank,
                        uint32_t item)
{
    if (c->op == NF_COLL_BCAST || c->op == NF_COLL_SCATTER)
        return rank == c->root;
    if (c->op == NF_COLL_ALLTOALL)
        return rank == item / c->ranks;
    return rank == item;
}

static void begin(struct cell *cells, const struct nf_coll_claim *c,
                  uint32_t items)
{
    for (uint32_t r = 0; r < c->ranks; r++)
        for (uint32_t i = 0; i < items; i++) {
            struct cell *cell = cell_of(cells, c, r, i);

            memset(cell, 0, sizeof(*cell));
            if (!moves(c->op))
                cell->mine = (struct list){ 1, { (uint16_t)r } };
            else if (begins_with(c, r, i))
                cell->mine = (struct list){ 1, { (uint16_t)i } };
        }
}

static void receive(struct cell *cell, const struct nf_coll_message *message,
                    const struct list *in, enum nf_coll_op op)
{
    if (in->length == 0)
        return; /* nothing was there to be sent */
    if (message->keep)
        cell->car = *in;
    if (op == NF_COLL_BARRIER || message->action == NF_COLL_LEFT) {
        join(&cell->mine, in, &cell->mine);
        join(&cell->others, in, &cell->others);
    } else if (message->action == NF_COLL_RIGHT) {
        join(&cell->mine, &cell->mine, in);
        join(&cell->others, &cell->others, in);
    } else {
        cell->mine = *in;
        cell->others = *in;
    }
}

/* Of a barrier's lists it matters only who is in them, and they would grow. */
static void once(struct list *list)
{
    struct list kept = { .length = 0 };

    for (unsigned i = 0; i < list->length; i++) {
        unsigned j = 0;

        while (j < kept.length && kept.of[j] != list->of[i])
            j++;
        if (j == kept.length)
            kept.of[kept.length++] = list->of[i];
    }
    *list = kept;
}

static void carry(const struct nf_coll_claim *c,
                  const struct nf_coll_message *message, uint32_t item,
                  struct cell *before, struct cell *after)
{
    const struct cell *from = cell_of(before, c, message->src, item);
    struct cell *to = cell_of(after, c, message->dst, item);

    receive(to, message, message->from_car ? &from->car : &from->mine, c->op);
    if (c->op == NF_COLL_BARRIER)
        once(&to->mine);
}

static void run(const struct nf_coll_claim *c, const struct nf_schedule *s,
                struct cell *before, struct cell *after, size_t bytes)
{
    uint32_t rounds = nf_schedule_rounds(s);

    for (uint32_t round = 0; round < rounds; round++) {
        memcpy(before, after, bytes);
        for (size_t m = 0; m < s->count; m++) {
            const struct nf_coll_message *message = &s->messages[m];

            if (message->round != round)
                continue;
            if (c->op == NF_COLL_BARRIER)
                carry(c, message, 0, before, after);
            for (uint32_t i = 0; i < message->nspans; i++) {
                struct nf_coll_span span = s->spans[message->first_span + i];

                for (uint32_t j = 0; j < span.count; j++)
                    carry(c, message, span.first + j, before, after);
            }
        }
    }
}

static int by_number(const void *a, const void *b)
{
    return *(const uint16_t *)a - *(const uint16_t *)b;
}

static bool ends_right(const struct nf_coll_claim *c, uint32_t rank,
                       uint32_t item, struct cell *cell)
{
    bool ex = c->op == NF_COLL_EXSCAN;
    bool scan = ex || c->op == NF_COLL_SCAN;
    bool rotated = c->op == NF_COLL_REDUCE && c->order == NF_ORDER_ROTATED;
    struct list *got = ex ? &cell->others : &cell->mine;
    unsigned want = scan ? rank + !ex : c->ranks;

    if ((c->op == NF_COLL_REDUCE || c->op == NF_COLL_GATHER) && rank != c->root)
        return true;
    if ((c->op == NF_COLL_SCATTER || c->op == NF_COLL_REDUCE_SCATTER) &&
        rank != item)
        return true;
    if (c->op == NF_COLL_ALLTOALL && rank != item % c->ranks)
        return true;
    if (ex && rank == 0)
        return true; /* undefined */
    if (moves(c->op))
        return got->length == 1 && got->of[0] == item;
    if (got->length != want)
        return false;
    if (c->order == NF_ORDER_COMMUTATIVE || c->op == NF_COLL_BARRIER)
        qsort(got->of, got->length, sizeof(got->of[0]), by_number);
    for (unsigned i = 0; i < want; i++)
        if (got->of[i] != (rotated ? (i + c->root) % c->ranks : i))
            return false;
    return true;
}

bool coll_meaning_holds(const struct nf_coll_claim *c,
                        const struct nf_schedule *schedule)
{
    uint32_t items = c->op == NF_COLL_BARRIER ? 1 : c->items;
    size_t bytes = (size_t)c->ranks * items * sizeof(struct cell);
    struct cell *before = malloc(bytes), *after = malloc(bytes);
    bool holds = before != NULL && after != NULL;

    if (holds) {
        begin(after, c, items);
        run(c, schedule, before, after, bytes);
        for (uint32_t r = 0; r < c->ranks; r++)
            for (uint32_t i = 0; i < items; i++)
                holds &= ends_right(c, r, i, cell_of(after, c, r, i));
    }
    free(before);
    free(after);
    return holds;
}
