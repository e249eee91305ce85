/* Schedules run on symbols. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "tests/unit/coll_values.h"

enum { MAX = COLL_VALUES_RANKS_MAX };

/* Empty: there is nothing. */
struct value {
    uint8_t count;
    uint8_t ranks[MAX];
};

struct world {
    const struct nf_coll_algorithm *algorithm;
    const struct nf_coll_args *args;
    const struct nf_schedule *schedule;
    uint32_t items;
    /* [P][items]: the vector, the register car, of exscan the result */
    struct value *vector, *car, *before;
    struct value *payloads; /* [total] what is under way */
    size_t *first_payload;  /* [messages] of a message */
    size_t total;           /* items of all messages */
    const char *wrong;
};

static void *need(size_t count, size_t bytes)
{
    void *p = calloc(count > 0 ? count : 1, bytes);

    if (p == NULL)
        abort();
    return p;
}

static struct value one(uint32_t rank)
{
    return (struct value){ .count = 1, .ranks = { (uint8_t)rank } };
}

static bool starts_with(const struct world *w, uint32_t rank, uint32_t item,
                        struct value *value_p)
{
    switch (w->algorithm->op) {
    case NF_COLL_ALLGATHER:
    case NF_COLL_GATHER:
        *value_p = one(item);
        return rank == item;
    case NF_COLL_SCATTER:
        *value_p = one(item);
        return rank == w->args->root;
    default:
        *value_p = one(rank);
        return true;
    }
}

static void world_init(struct world *w,
                       const struct nf_coll_algorithm *algorithm,
                       const struct nf_coll_args *args,
                       const struct nf_schedule *schedule)
{
    uint32_t items = nf_coll_item_count(algorithm, args);
    size_t values = (size_t)args->ranks * items;

    *w = (struct world){
        .algorithm = algorithm,
        .args = args,
        .schedule = schedule,
        .items = items,
        .vector = need(values, sizeof(*w->vector)),
        .car = need(values, sizeof(*w->car)),
        .before = need(values, sizeof(*w->before)),
        .first_payload = need(schedule->count, sizeof(*w->first_payload)),
    };
    for (uint32_t rank = 0; rank < args->ranks; rank++)
        for (uint32_t item = 0; item < items; item++) {
            struct value value;

            if (starts_with(w, rank, item, &value))
                w->vector[rank * items + item] = value;
        }
    for (size_t i = 0; i < schedule->count; i++) {
        const struct nf_coll_message *m = &schedule->messages[i];

        w->first_payload[i] = w->total;
        for (uint32_t s = 0; s < m->nspans; s++)
            w->total += schedule->spans[m->first_span + s].count;
        if (m->nspans == 0 && items > 0)
            w->wrong = "a message is empty";
        if (m->src == m->dst || m->src >= args->ranks || m->dst >= args->ranks)
            w->wrong = "a message has wrong ends";
    }
    w->payloads = need(w->total, sizeof(*w->payloads));
}

static void world_fini(struct world *w)
{
    free(w->vector);
    free(w->car);
    free(w->before);
    free(w->payloads);
    free(w->first_payload);
}

static bool join(struct value *into, const struct value *left,
                 const struct value *right)
{
    struct value joined = *left;

    if (left->count + right->count > MAX)
        return false;
    memcpy(joined.ranks + left->count, right->ranks, right->count);
    joined.count = (uint8_t)(left->count + right->count);
    *into = joined;
    return true;
}

static void send_item(struct world *w, const struct nf_coll_message *m,
                      uint32_t item, struct value *payload)
{
    size_t at = (size_t)m->src * w->items + item;

    *payload = m->from_car ? w->car[at] : w->vector[at];
    if (payload->count == 0)
        w->wrong = "somebody sends what it does not have";
}

static void receive_item(struct world *w, const struct nf_coll_message *m,
                         uint32_t item, const struct value *in)
{
    size_t at = (size_t)m->dst * w->items + item;
    struct value *mine = &w->vector[at];
    bool right = true;

    switch (m->action) {
    case NF_COLL_COPY:
        *mine = *in;
        break;
    case NF_COLL_LEFT:
        right = join(mine, in, mine);
        break;
    case NF_COLL_RIGHT:
        right = join(mine, mine, in);
        break;
    }
    if (m->keep)
        w->car[at] = *in;
    if (w->algorithm->op == NF_COLL_EXSCAN)
        right = right && m->action == NF_COLL_LEFT &&
                join(&w->before[at], in, &w->before[at]);
    if (!right)
        w->wrong = "an operand is combined twice, or on the wrong side";
}

/* Call do_item for all items of message i. */
static void for_items(struct world *w, size_t i, bool sending)
{
    const struct nf_coll_message *m = &w->schedule->messages[i];
    struct value *payload = &w->payloads[w->first_payload[i]];

    for (uint32_t s = 0; s < m->nspans; s++) {
        struct nf_coll_span span = w->schedule->spans[m->first_span + s];

        if (span.first + span.count > w->items) {
            w->wrong = "an item is out of range";
            return;
        }
        for (uint32_t j = 0; j < span.count; j++, payload++)
            if (sending)
                send_item(w, m, span.first + j, payload);
            else
                receive_item(w, m, span.first + j, payload);
    }
}

/* ---- results ---- */

/* The ranks first .. behind - 1. */
static struct value some(uint32_t first, uint32_t behind)
{
    struct value value = { .count = 0 };

    for (; first < behind; first++)
        value.ranks[value.count++] = (uint8_t)first;
    return value;
}

/* @return whether the result of rank for that item is any of its business */
static bool is_result(const struct world *w, uint32_t rank, uint32_t item,
                      struct value *want_p)
{
    switch (w->algorithm->op) {
    case NF_COLL_ALLREDUCE:
        *want_p = some(0, w->args->ranks);
        return true;
    case NF_COLL_REDUCE_SCATTER:
        *want_p = some(0, w->args->ranks);
        return rank == item;
    case NF_COLL_SCAN:
        *want_p = some(0, rank + 1);
        return true;
    case NF_COLL_EXSCAN:
        *want_p = some(0, rank);
        return true;
    case NF_COLL_ALLGATHER:
        *want_p = one(item);
        return true;
    case NF_COLL_GATHER:
        *want_p = one(item);
        return rank == w->args->root;
    case NF_COLL_SCATTER:
        *want_p = one(item);
        return rank == item;
    default:
        abort();
    }
}

static bool same(struct value got, const struct value *want, bool any_order)
{
    if (got.count != want->count)
        return false;
    if (any_order) {
        bool seen[256] = { false };

        for (uint32_t i = 0; i < got.count; i++)
            seen[got.ranks[i]] = true;
        for (uint32_t i = 0; i < want->count; i++)
            if (!seen[want->ranks[i]])
                return false;
        return true;
    }
    return memcmp(got.ranks, want->ranks, got.count) == 0;
}

static void check_results(struct world *w)
{
    bool exclusive = w->algorithm->op == NF_COLL_EXSCAN;
    bool any_order = w->algorithm->order == NF_ORDER_COMMUTATIVE;

    for (uint32_t rank = 0; rank < w->args->ranks; rank++)
        for (uint32_t item = 0; item < w->items; item++) {
            size_t at = (size_t)rank * w->items + item;
            struct value want;

            if (is_result(w, rank, item, &want) &&
                !same(exclusive ? w->before[at] : w->vector[at], &want,
                      any_order))
                w->wrong = "a result is wrong";
        }
}

/* ---- round by round ---- */

static void check_ports(struct world *w, size_t begin, size_t end)
{
    uint32_t out[MAX] = { 0 }, in[MAX] = { 0 };
    enum nf_coll_ports ports = w->algorithm->ports;

    for (size_t i = begin; i < end; i++) {
        out[w->schedule->messages[i].src]++;
        in[w->schedule->messages[i].dst]++;
    }
    for (uint32_t rank = 0; rank < w->args->ranks; rank++)
        if ((ports == NF_PORTS_HALF && out[rank] + in[rank] > 1) ||
            (ports == NF_PORTS_FULL && (out[rank] > 1 || in[rank] > 1)))
            w->wrong = "a round needs more ports";
}

/* Who has heard of whom, through messages without data. */
static void pass_news(const struct world *w, size_t begin, size_t end,
                      uint64_t news[MAX])
{
    uint64_t old[MAX];

    memcpy(old, news, sizeof(old));
    for (size_t i = begin; i < end; i++)
        news[w->schedule->messages[i].dst] |= old[w->schedule->messages[i].src];
}

const char *coll_values_march(const struct nf_coll_algorithm *algorithm,
                              const struct nf_coll_args *args,
                              const struct nf_schedule *schedule)
{
    bool barrier = algorithm->op == NF_COLL_BARRIER;
    uint64_t news[MAX];
    struct world w;

    world_init(&w, algorithm, args, schedule);
    for (uint32_t rank = 0; rank < MAX; rank++)
        news[rank] = UINT64_C(1) << rank;
    for (size_t begin = 0, end; begin < schedule->count && w.wrong == NULL;
         begin = end) {
        uint32_t round = schedule->messages[begin].round;

        for (end = begin;
             end < schedule->count && schedule->messages[end].round == round;
             end++)
            for_items(&w, end, true);
        for (size_t i = begin; i < end && w.wrong == NULL; i++)
            for_items(&w, i, false);
        check_ports(&w, begin, end);
        if (barrier)
            pass_news(&w, begin, end, news);
    }
    for (uint32_t rank = 0; barrier && rank < args->ranks; rank++)
        if (news[rank] != UINT64_MAX >> (MAX - args->ranks))
            w.wrong = "somebody is let go too early";
    if (!barrier && w.wrong == NULL)
        check_results(&w);
    world_fini(&w);
    return w.wrong;
}

/* ---- in a random order ---- */

/* What a rank has to do with an item, in this order. */
struct event {
    size_t message, payload;
    bool sending;
};
struct line {
    struct event *events;
    size_t count, done;
};

static void add_event(struct line *line, struct event event)
{
    if ((line->count & (line->count + 1)) == 0) {
        line->events = realloc(line->events,
                               (2 * line->count + 2) * sizeof(*line->events));
        if (line->events == NULL)
            abort();
    }
    line->events[line->count++] = event;
}

/* Of the messages of a round, sends come before receives. */
static void fill_lines(const struct world *w, struct line *lines)
{
    const struct nf_schedule *schedule = w->schedule;

    for (size_t begin = 0, end = 0; begin < schedule->count; begin = end) {
        while (end < schedule->count &&
               schedule->messages[end].round == schedule->messages[begin].round)
            end++;
        for (size_t i = begin; i < 2 * end - begin; i++) {
            bool sending = i < end;
            size_t at = sending ? i : i - (end - begin);
            const struct nf_coll_message *m = &schedule->messages[at];
            uint32_t rank = sending ? m->src : m->dst;
            size_t payload = w->first_payload[at];

            for (uint32_t s = 0; s < m->nspans; s++) {
                struct nf_coll_span span = schedule->spans[m->first_span + s];

                for (uint32_t j = 0; j < span.count; j++, payload++)
                    add_event(&lines[rank * w->items + span.first + j],
                              (struct event){ at, payload, sending });
            }
        }
    }
}

static bool step(struct world *w, struct line *line, uint32_t item, bool *sent)
{
    const struct event *event = &line->events[line->done];
    const struct nf_coll_message *m;

    if (line->done == line->count || (!event->sending && !sent[event->payload]))
        return false;
    m = &w->schedule->messages[event->message];
    if (event->sending)
        send_item(w, m, item, &w->payloads[event->payload]);
    else
        receive_item(w, m, item, &w->payloads[event->payload]);
    sent[event->payload] = true;
    line->done++;
    return true;
}

/* xorshift64* */
static uint64_t random_below(uint64_t *state, uint64_t bound)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (*state * UINT64_C(2685821657736338717) >> 32) % bound;
}

const char *coll_values_drift(const struct nf_coll_algorithm *algorithm,
                              const struct nf_coll_args *args,
                              const struct nf_schedule *schedule, uint64_t seed)
{
    struct world w;
    struct line *lines;
    size_t nlines, left;
    bool *sent, moved = true;

    world_init(&w, algorithm, args, schedule);
    nlines = (size_t)args->ranks * w.items;
    lines = need(nlines, sizeof(*lines));
    sent = need(w.total, sizeof(*sent));
    if (w.wrong == NULL)
        fill_lines(&w, lines);
    /* from a random line on, the first that can: a short run of it */
    for (left = 2 * w.total; left > 0 && moved && w.wrong == NULL;) {
        size_t begin = random_below(&seed, nlines);
        uint64_t run = 1 + random_below(&seed, 3);

        moved = false;
        for (size_t i = 0; i < nlines && !moved; i++) {
            size_t at = (begin + i) % nlines;

            for (; run > 0 &&
                   step(&w, &lines[at], (uint32_t)(at % w.items), sent);
                 run--, left--)
                moved = true;
        }
    }
    if (w.wrong == NULL && left > 0)
        w.wrong = "everybody waits";
    if (w.wrong == NULL)
        check_results(&w);
    for (size_t i = 0; i < nlines; i++)
        free(lines[i].events);
    free(lines);
    free(sent);
    world_fini(&w);
    return w.wrong;
}
