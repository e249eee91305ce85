/* The symbolic run of rooted collectives. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/error.h"
#include "tests/unit/coll_symbolic.h"

uint32_t coll_roots(uint32_t ranks, uint32_t roots[4])
{
    const uint32_t wanted[] = { 0, ranks / 2, ranks - 2, ranks - 1 };
    uint32_t count = 0;

    for (size_t i = 0; i < 4; i++) {
        bool known = wanted[i] >= ranks;

        for (uint32_t j = 0; j < count; j++)
            known = known || roots[j] == wanted[i];
        if (!known)
            roots[count++] = wanted[i];
    }
    return count;
}

/* One value as it was before the round, in the pool of the round. */
struct parcel {
    uint32_t dst, item, length;
    enum nf_coll_action action;
    size_t operands;
};

/* What every rank has of every item: value (rank, item) is a list of at most P
 * operands. */
struct world {
    const struct nf_coll_algorithm *algorithm;
    const struct nf_coll_args *args;
    const struct nf_schedule *schedule;
    uint32_t ranks, items;
    uint32_t *lengths;      /* [ranks * items]; 0: nothing there */
    uint16_t *operands;     /* [ranks * items][ranks] */
    uint32_t *sent, *got;   /* [ranks], the round after that of the last */
    uint8_t *seen;          /* [items] of the message */
    struct parcel *parcels; /* of the round */
    size_t nparcels, parcels_capacity;
    uint16_t *pool;
    size_t npool, pool_capacity;
    const char *wrong; /* what, or NULL */
};

static size_t slot(const struct world *world, uint32_t rank, uint32_t item)
{
    return (size_t)rank * world->items + item;
}

static uint16_t *value(const struct world *world, uint32_t rank, uint32_t item)
{
    return world->operands + slot(world, rank, item) * world->ranks;
}

static void *must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

static void world_init(struct world *world)
{
    size_t values = (size_t)world->ranks * world->items;
    bool bcast = world->algorithm->op == NF_COLL_BCAST;

    world->lengths = must(calloc(values, sizeof(*world->lengths)));
    world->operands =
        must(malloc(values * world->ranks * sizeof(*world->operands)));
    world->sent = must(calloc(world->ranks, sizeof(*world->sent)));
    world->got = must(calloc(world->ranks, sizeof(*world->got)));
    world->seen = must(calloc(world->items, sizeof(*world->seen)));
    for (uint32_t rank = 0; rank < world->ranks; rank++) {
        for (uint32_t item = 0; item < world->items; item++) {
            if (bcast && rank != world->args->root)
                continue;
            world->lengths[slot(world, rank, item)] = 1;
            value(world, rank, item)[0] = (uint16_t)rank;
        }
    }
}

static void world_fini(struct world *world)
{
    free(world->lengths);
    free(world->operands);
    free(world->sent);
    free(world->got);
    free(world->seen);
    free(world->parcels);
    free(world->pool);
}

/* May the message be sent in its round? */
static const char *check_message(struct world *world,
                                 const struct nf_coll_message *m)
{
    uint32_t now = m->round + 1;
    bool half = world->algorithm->ports == NF_PORTS_HALF;

    if (m->src >= world->ranks || m->dst >= world->ranks || m->src == m->dst)
        return "no such ranks";
    if (m->nspans == 0 || m->keep || m->from_car)
        return "not a plain message";
    if (world->algorithm->ports != NF_PORTS_MANY &&
        (world->sent[m->src] == now || world->got[m->dst] == now ||
         (half && (world->got[m->src] == now || world->sent[m->dst] == now))))
        return "too many messages in a round";
    world->sent[m->src] = world->got[m->dst] = now;
    memset(world->seen, 0, world->items);
    for (uint32_t i = 0; i < m->nspans; i++) {
        struct nf_coll_span span = world->schedule->spans[m->first_span + i];

        if (span.count == 0 || span.first >= world->items ||
            span.count > world->items - span.first)
            return "no such items";
        for (uint32_t j = span.first; j < span.first + span.count; j++) {
            if (world->seen[j]++ > 0)
                return "an item twice";
            if (world->lengths[slot(world, m->src, j)] == 0)
                return "the sender does not have it";
        }
    }
    return NULL;
}

/* Blocks that are scattered and gathered again may come twice. */
static bool may_repeat(const struct nf_coll_algorithm *algorithm)
{
    return algorithm->op == NF_COLL_BCAST &&
           algorithm->items == NF_ITEMS_BLOCKS;
}

static const char *apply(struct world *world, const struct parcel *parcel)
{
    uint32_t *length = &world->lengths[slot(world, parcel->dst, parcel->item)];
    uint16_t *mine = value(world, parcel->dst, parcel->item);
    bool repeats = world->algorithm->op == NF_COLL_BCAST && *length > 0;
    const uint16_t *in = world->pool + parcel->operands;
    size_t in_bytes = parcel->length * sizeof(*mine);

    if (parcel->action == NF_COLL_COPY) {
        memcpy(mine, in, in_bytes);
        *length = parcel->length;
        return repeats && !may_repeat(world->algorithm) ? "it came before"
                                                        : NULL;
    }
    if (*length + parcel->length > world->ranks)
        return "an operand counts twice";
    if (parcel->action == NF_COLL_LEFT) {
        memmove(mine + parcel->length, mine, *length * sizeof(*mine));
        memcpy(mine, in, in_bytes);
    } else {
        memcpy(mine + *length, in, in_bytes);
    }
    *length += parcel->length;
    return NULL;
}

static void post_one(struct world *world, const struct nf_coll_message *m,
                     uint32_t item)
{
    uint32_t length = world->lengths[slot(world, m->src, item)];

    if (world->nparcels == world->parcels_capacity) {
        world->parcels_capacity = 2 * world->parcels_capacity + 16;
        world->parcels = must(realloc(
            world->parcels, world->parcels_capacity * sizeof(*world->parcels)));
    }
    if (world->npool + length > world->pool_capacity) {
        world->pool_capacity = 2 * world->pool_capacity + length;
        world->pool = must(
            realloc(world->pool, world->pool_capacity * sizeof(*world->pool)));
    }
    memcpy(world->pool + world->npool, value(world, m->src, item),
           length * sizeof(*world->pool));
    world->parcels[world->nparcels++] = (struct parcel){
        .dst = m->dst,
        .item = item,
        .length = length,
        .action = m->action,
        .operands = world->npool,
    };
    world->npool += length;
}

static void post(struct world *world, const struct nf_coll_message *m)
{
    for (uint32_t i = 0; i < m->nspans; i++) {
        struct nf_coll_span span = world->schedule->spans[m->first_span + i];

        for (uint32_t j = 0; j < span.count; j++)
            post_one(world, m, span.first + j);
    }
}

/* The messages of one round from number first on.
 * @return the first of the next round */
static size_t run_round(struct world *world, size_t first)
{
    const struct nf_coll_message *messages = world->schedule->messages;
    size_t i = first;

    world->nparcels = world->npool = 0;
    for (; i < world->schedule->count &&
           messages[i].round == messages[first].round;
         i++) {
        world->wrong = check_message(world, &messages[i]);
        if (world->wrong != NULL)
            return i;
        post(world, &messages[i]);
    }
    for (size_t j = 0; j < world->nparcels && world->wrong == NULL; j++)
        world->wrong = apply(world, &world->parcels[j]);
    return i;
}

/* Is it all operands, each once, in the order promised? */
static bool is_total(const struct world *world, const uint16_t *operands,
                     uint32_t length)
{
    uint32_t ranks = world->ranks, first = 0;
    uint8_t *seen = must(calloc(ranks, 1));
    bool right = length == ranks;

    if (world->algorithm->order == NF_ORDER_ROTATED)
        first = world->args->root;
    for (uint32_t i = 0; right && i < ranks; i++)
        right = world->algorithm->order == NF_ORDER_COMMUTATIVE
                    ? seen[operands[i]]++ == 0
                    : operands[i] == (first + i) % ranks;
    free(seen);
    return right;
}

static const char *check_outcome(const struct world *world)
{
    for (uint32_t rank = 0; rank < world->ranks; rank++) {
        for (uint32_t item = 0; item < world->items; item++) {
            uint32_t length = world->lengths[slot(world, rank, item)];
            const uint16_t *operands = value(world, rank, item);

            if (world->algorithm->op == NF_COLL_BCAST) {
                if (length != 1 || operands[0] != world->args->root)
                    return "somebody does not have all";
            } else if (rank == world->args->root &&
                       !is_total(world, operands, length)) {
                return "the root has not the result";
            }
        }
    }
    return NULL;
}

static void complain(const struct nf_coll_algorithm *algorithm,
                     const struct nf_coll_args *args, const char *what)
{
    printf("\n    %s, P = %u, root %u, k = %u: %s", algorithm->name,
           args->ranks, args->root, args->segments, what);
}

bool coll_run(const struct nf_coll_algorithm *algorithm,
              const struct nf_coll_args *args,
              const struct nf_schedule *schedule, bool quiet)
{
    struct world world = {
        .algorithm = algorithm,
        .args = args,
        .schedule = schedule,
        .ranks = args->ranks,
        .items = nf_coll_item_count(algorithm, args),
    };

    world_init(&world);
    for (size_t i = 0; i < schedule->count && world.wrong == NULL;)
        i = run_round(&world, i);
    if (world.wrong == NULL)
        world.wrong = check_outcome(&world);
    if (world.wrong != NULL && !quiet)
        complain(algorithm, args, world.wrong);
    world_fini(&world);
    return world.wrong == NULL;
}

static bool make(const struct nf_coll_algorithm *algorithm,
                 const struct nf_coll_args *args, uint32_t only,
                 struct nf_schedule *schedule)
{
    struct nf_error err;
    bool made = nf_coll_make(algorithm, args, only, schedule, &err) == NF_OK;

    if (!made)
        complain(algorithm, args, err.text);
    return made;
}

bool coll_check(const struct nf_coll_algorithm *algorithm,
                const struct nf_coll_args *args)
{
    struct nf_schedule schedule;
    bool right = make(algorithm, args, NF_ALL_RANKS, &schedule) &&
                 coll_run(algorithm, args, &schedule, false);

    nf_schedule_fini(&schedule);
    return right;
}

static bool same_message(const struct nf_schedule *a, size_t i,
                         const struct nf_schedule *b, size_t j)
{
    const struct nf_coll_message *m = &a->messages[i], *o = &b->messages[j];

    return m->round == o->round && m->src == o->src && m->dst == o->dst &&
           m->action == o->action && m->nspans == o->nspans &&
           memcmp(&a->spans[m->first_span], &b->spans[o->first_span],
                  m->nspans * sizeof(*a->spans)) == 0;
}

/* Is part the messages of a rank in all? */
static bool is_part(const struct nf_schedule *part,
                    const struct nf_schedule *all, uint32_t rank)
{
    size_t j = 0;

    for (size_t i = 0; i < all->count; i++)
        if (all->messages[i].src == rank || all->messages[i].dst == rank)
            if (j == part->count || !same_message(all, i, part, j++))
                return false;
    return j == part->count;
}

bool coll_check_parts(const struct nf_coll_algorithm *algorithm,
                      const struct nf_coll_args *args)
{
    struct nf_schedule all, part;
    bool right = make(algorithm, args, NF_ALL_RANKS, &all);

    for (uint32_t rank = 0; right && rank < args->ranks; rank++) {
        right =
            make(algorithm, args, rank, &part) && is_part(&part, &all, rank);
        if (!right)
            complain(algorithm, args, "the part of a rank is another");
        nf_schedule_fini(&part);
    }
    nf_schedule_fini(&all);
    return right;
}

bool coll_check_cut(const struct nf_coll_algorithm *algorithm,
                    const struct nf_coll_args *args)
{
    struct nf_schedule all;
    bool right = make(algorithm, args, NF_ALL_RANKS, &all);

    for (size_t i = 0; right && i < all.count; i++) {
        struct nf_schedule cut = all;

        cut.messages = must(malloc(all.count * sizeof(*cut.messages)));
        cut.count = 0;
        for (size_t j = 0; j < all.count; j++)
            if (j != i)
                cut.messages[cut.count++] = all.messages[j];
        right = !coll_run(algorithm, args, &cut, true);
        free(cut.messages);
    }
    if (!right)
        complain(algorithm, args, "right without one of its messages");
    nf_schedule_fini(&all);
    return right;
}

/* ---- prices ---- */

/* How often half-duplex ports need to let the messages of a round pass, each
 * rank sending and receiving at most one: 1 if nobody does both, 3 if there is
 * a cycle of odd length, else 2. */
static unsigned count_passes(uint32_t ranks, const uint32_t *next,
                             const uint32_t *before)
{
    unsigned passes = 1;

    for (uint32_t r = 0; r < ranks; r++) {
        uint32_t length = 1, at = r;

        if (next[r] == ranks || before[r] == ranks)
            continue;
        passes = passes > 2 ? passes : 2;
        for (at = next[r]; at != ranks && at != r; at = next[at])
            length++;
        if (at == r && length % 2 == 1)
            passes = 3;
    }
    return passes;
}

static double message_us(const struct nf_schedule *schedule,
                         const struct nf_coll_message *m,
                         const struct nf_coll_price *price, double item_bytes)
{
    uint32_t items = 0;

    for (uint32_t i = 0; i < m->nspans; i++)
        items += schedule->spans[m->first_span + i].count;
    return nf_price_send_us(price, items * item_bytes);
}

static double combine_us(const struct nf_schedule *schedule,
                         const struct nf_coll_message *m,
                         const struct nf_coll_price *price, double item_bytes)
{
    struct nf_coll_price combining = {
        .npieces = 1,
        .pieces = { { 0, 0, price->combine_byte_us } },
    };

    return m->action == NF_COLL_COPY
               ? 0
               : message_us(schedule, m, &combining, item_bytes);
}

double coll_step_us(const struct nf_coll_algorithm *algorithm,
                    const struct nf_coll_args *args,
                    const struct nf_coll_price *price, double bytes)
{
    uint32_t *next = must(malloc(2 * args->ranks * sizeof(*next)));
    uint32_t *before = next + args->ranks;
    double us = 0, item_bytes = bytes / nf_coll_item_count(algorithm, args);
    struct nf_schedule s;

    if (!make(algorithm, args, NF_ALL_RANKS, &s))
        abort();
    for (size_t i = 0; i < s.count;) {
        uint32_t round = s.messages[i].round;
        double sending = 0, combining = 0, one;

        for (uint32_t r = 0; r < args->ranks; r++)
            next[r] = before[r] = args->ranks;
        for (; i < s.count && s.messages[i].round == round; i++) {
            next[s.messages[i].src] = s.messages[i].dst;
            before[s.messages[i].dst] = s.messages[i].src;
            one = message_us(&s, &s.messages[i], price, item_bytes);
            sending = one > sending ? one : sending;
            one = combine_us(&s, &s.messages[i], price, item_bytes);
            combining = one > combining ? one : combining;
        }
        if (price->ports == NF_PORTS_HALF)
            sending *= count_passes(args->ranks, next, before);
        us += sending + combining;
    }
    nf_schedule_fini(&s);
    free(next);
    return us;
}
