/* Steps of one rank and what they wait for: each step for the one before it on
 * each of its items.  That is stronger than needed only where a message is sent
 * twice, and sending takes no time here.  And if the algorithm keeps pace, what
 * is sent for what comes so many rounds before: as in lock step each waits for
 * rounds that are over, nobody waits in a circle. */
#include "config.h"
#include "common/group/plan.h"
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"

void nf_plan_destroy(struct nf_plan *plan)
{
    if (plan == NULL)
        return;
    nf_free(plan->steps);
    nf_free(plan->spans);
    nf_free(plan->next);
    nf_free(plan->receives);
    nf_free(plan->targets);
    nf_free(plan);
}

/* Of blocks of different sizes the root knows all, and each rank its own.  A
 * message of one block between the root and its rank needs no words; of several
 * not even the root should have to believe the sum.  Of an all-to-all each rank
 * knows its own blocks, and those for it. */
static bool must_list(const struct nf_plan *plan,
                      const struct nf_coll_message *message)
{
    enum nf_coll_op op = plan->algorithm->op;
    const struct nf_coll_span *spans = &plan->spans[message->first_span];
    uint32_t blocks = 0;

    if ((op != NF_COLL_GATHER && op != NF_COLL_SCATTER &&
         op != NF_COLL_ALLTOALL) ||
        message->nspans == 0)
        return false;
    for (uint32_t i = 0; i < message->nspans; i++)
        blocks += spans[i].count;
    if (op == NF_COLL_ALLTOALL)
        return blocks > 1 || spans[0].first % plan->args.ranks != message->dst;
    if (op == NF_COLL_GATHER)
        return blocks > 1 || message->dst != plan->args.root;
    return blocks > 1 || spans[0].first != message->dst;
}

static void take_message(struct nf_plan *plan, const struct nf_coll_message *m,
                         bool sends)
{
    struct nf_plan_step *step = &plan->steps[plan->nsteps++];

    *step = (struct nf_plan_step){
        .round = m->round,
        .peer = sends ? m->dst : m->src,
        .first_span = m->first_span,
        .nspans = m->nspans,
        .action = m->action,
        .sends = sends,
        .keep = m->keep,
        .from_car = m->from_car,
        .last = true,
        .lists = must_list(plan, m),
    };
    if (m->nspans > 0)
        step->first_item = plan->spans[m->first_span].first;
    plan->nreceives += !sends;
    plan->combines = plan->combines || m->action != NF_COLL_COPY;
    plan->keeps = plan->keeps || m->keep;
    plan->lists = plan->lists || step->lists;
}

/* The messages of a round: those that are sent first.  Each member begins with the
 * rank after its own: if all sent to rank 0 first, they would share its link while
 * those of others are idle. */
static void take_round(struct nf_plan *plan,
                       const struct nf_coll_message *messages, size_t count)
{
    for (int wrapped = 0; wrapped < 2; wrapped++)
        for (size_t i = 0; i < count; i++)
            if (messages[i].src == plan->rank &&
                (messages[i].dst < plan->rank) == wrapped)
                take_message(plan, &messages[i], true);
    for (size_t i = 0; i < count; i++)
        if (messages[i].src != plan->rank)
            take_message(plan, &messages[i], false);
}

static void take_messages(struct nf_plan *plan,
                          const struct nf_schedule *schedule)
{
    size_t from = 0, to;

    for (; from < schedule->count; from = to) {
        to = from;
        while (to < schedule->count &&
               schedule->messages[to].round == schedule->messages[from].round)
            to++;
        take_round(plan, schedule->messages + from, to - from);
    }
}

/* Whose turn it was last at an item. */
struct turns {
    uint32_t *step;  /* [items] any step */
    uint32_t *value; /* [items] one that wrote the value */
};

/* A step waits for an earlier one: count it, or if fill write it down. */
static void link_step(struct nf_plan *plan, uint32_t before, uint32_t self,
                      bool fill)
{
    struct nf_plan_step *previous = &plan->steps[before];

    if (fill) {
        plan->next[previous->first_next + previous->nnext] = self;
        plan->steps[self].waits++;
    }
    previous->nnext++;
}

static void visit_item(struct nf_plan *plan, struct turns *turns, uint32_t self,
                       uint32_t item, bool fill)
{
    struct nf_plan_step *step = &plan->steps[self];
    uint32_t before = turns->step[item];

    turns->step[item] = self;
    if (before != NF_PLAN_NONE && before != self)
        link_step(plan, before, self, fill);
    if (step->sends)
        return;
    if (turns->value[item] != NF_PLAN_NONE)
        plan->steps[turns->value[item]].last = false;
    turns->value[item] = self;
}

/* What is sent in a round waits for what comes up to rounds_ahead before: for
 * that which the round before did not wait for, and for that round. */
static void keep_pace(struct nf_plan *plan, bool fill)
{
    uint32_t ahead = plan->algorithm->rounds_ahead;
    uint32_t first = NF_PLAN_NONE, last_first = NF_PLAN_NONE;
    uint32_t from = 0, to = 0;

    for (uint32_t i = 0; ahead > 0 && i < plan->nsteps; i++) {
        if (!plan->steps[i].sends)
            continue;
        if (first == NF_PLAN_NONE ||
            plan->steps[first].round != plan->steps[i].round) {
            last_first = first;
            first = i;
            from = to;
            while (plan->steps[to].round + ahead <= plan->steps[i].round)
                to++;
        }
        if (last_first != NF_PLAN_NONE)
            link_step(plan, last_first, i, fill);
        for (uint32_t j = from; j < to; j++)
            if (!plan->steps[j].sends)
                link_step(plan, j, i, fill);
    }
}

static void visit(struct nf_plan *plan, struct turns *turns, bool fill)
{
    /* barriers have one thing that their steps take turns at */
    size_t bytes = (plan->items + 1) * sizeof(uint32_t);

    memset(turns->step, 0xff, bytes);
    memset(turns->value, 0xff, bytes);
    for (uint32_t i = 0; i < plan->nsteps; i++) {
        struct nf_plan_step *step = &plan->steps[i];

        if (plan->items == 0)
            visit_item(plan, turns, i, 0, fill);
        for (uint32_t s = 0; s < step->nspans; s++) {
            const struct nf_coll_span *span =
                &plan->spans[step->first_span + s];

            for (uint32_t j = 0; j < span->count; j++)
                visit_item(plan, turns, i, span->first + j, fill);
        }
    }
    keep_pace(plan, fill);
}

/* Offsets of the lists of steps that wait, and room for them. */
static bool reserve_next(struct nf_plan *plan)
{
    uint32_t total = 0;

    for (uint32_t i = 0; i < plan->nsteps; i++) {
        plan->steps[i].first_next = total;
        total += plan->steps[i].nnext;
        plan->steps[i].nnext = 0;
    }
    plan->next = nf_calloc(total, sizeof(*plan->next));
    return plan->next != NULL;
}

static bool link_steps(struct nf_plan *plan)
{
    size_t turns_count = plan->items + 1;
    uint32_t *block = nf_calloc(2 * turns_count, sizeof(*block));
    struct turns turns;
    bool ok;

    if (block == NULL)
        return false;
    turns = (struct turns){ block, block + turns_count };
    visit(plan, &turns, false);
    ok = reserve_next(plan);
    if (ok)
        visit(plan, &turns, true);
    nf_free(block);
    return ok;
}

static int order(const struct nf_plan_step *a, uint32_t peer, uint32_t round,
                 uint32_t first_item)
{
    if (a->peer != peer)
        return a->peer < peer ? -1 : 1;
    if (a->round != round)
        return a->round < round ? -1 : 1;
    return a->first_item < first_item ? -1 : a->first_item > first_item;
}

static bool is_before(const struct nf_plan *plan, uint32_t a, uint32_t b)
{
    const struct nf_plan_step *other = &plan->steps[b];

    return order(&plan->steps[a], other->peer, other->round,
                 other->first_item) < 0;
}

/* Heap sort: no memory, and no bad inputs. */
static void sift(const struct nf_plan *plan, uint32_t *heap, uint32_t root,
                 uint32_t count)
{
    for (;;) {
        uint32_t child = 2 * root + 1, swap;

        if (child >= count)
            return;
        if (child + 1 < count && is_before(plan, heap[child], heap[child + 1]))
            child++;
        if (!is_before(plan, heap[root], heap[child]))
            return;
        swap = heap[root];
        heap[root] = heap[child];
        heap[child] = swap;
        root = child;
    }
}

static bool index_receives(struct nf_plan *plan)
{
    uint32_t count = 0;

    plan->receives = nf_calloc(plan->nreceives, sizeof(*plan->receives));
    if (plan->receives == NULL)
        return false;
    for (uint32_t i = 0; i < plan->nsteps; i++)
        if (!plan->steps[i].sends)
            plan->receives[count++] = i;
    for (uint32_t i = count / 2; i-- > 0;)
        sift(plan, plan->receives, i, count);
    while (count > 1) {
        uint32_t swap = plan->receives[--count];

        plan->receives[count] = plan->receives[0];
        plan->receives[0] = swap;
        sift(plan, plan->receives, 0, count);
    }
    return true;
}

static bool list_targets(struct nf_plan *plan)
{
    bool *seen = nf_calloc(plan->args.ranks, sizeof(*seen));

    plan->targets = nf_calloc(plan->nsteps, sizeof(*plan->targets));
    if (seen == NULL || plan->targets == NULL) {
        nf_free(seen);
        return false;
    }
    for (uint32_t i = 0; i < plan->nsteps; i++) {
        uint32_t peer = plan->steps[i].peer;

        if (!plan->steps[i].sends || seen[peer])
            continue;
        seen[peer] = true;
        plan->targets[plan->ntargets++] = peer;
    }
    nf_free(seen);
    return true;
}

uint32_t nf_plan_find(const struct nf_plan *plan, uint32_t peer, uint32_t round,
                      uint32_t first_item)
{
    uint32_t low = 0, high = plan->nreceives;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int side = order(&plan->steps[plan->receives[middle]], peer, round,
                         first_item);

        if (side == 0)
            return plan->receives[middle];
        if (side < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NF_PLAN_NONE;
}

static void take_args(struct nf_plan *plan, const struct nf_coll_args *args)
{
    plan->args = *args;
    plan->params.radix = args->radix;
    if (args->radices != NULL)
        plan->params.radices = *args->radices;
    if (args->shape != NULL)
        plan->params.shape = *args->shape;
    nf_coll_use_params(&plan->params, &plan->args);
}

/* Is each block in messages of this rank from it, or for it? */
static bool is_straight(const struct nf_plan *plan)
{
    uint32_t ranks = plan->args.ranks;

    if (plan->algorithm->op != NF_COLL_ALLTOALL)
        return false;
    for (uint32_t i = 0; i < plan->nsteps; i++)
        for (uint32_t k = 0; k < plan->steps[i].nspans; k++) {
            const struct nf_coll_span *span =
                &plan->spans[plan->steps[i].first_span + k];

            for (uint32_t j = 0; j < span->count; j++)
                if ((span->first + j) / ranks != plan->rank &&
                    (span->first + j) % ranks != plan->rank)
                    return false;
        }
    return true;
}

enum nf_status nf_plan_create(const struct nf_coll_algorithm *algorithm,
                              const struct nf_coll_args *args, uint32_t rank,
                              struct nf_plan **plan_p, struct nf_error *err)
{
    struct nf_schedule schedule;
    struct nf_plan *plan = NULL;
    enum nf_status status = nf_coll_make(algorithm, args, rank, &schedule, err);

    if (status == NF_OK)
        plan = nf_calloc(1, sizeof(*plan));
    if (plan != NULL) {
        plan->algorithm = algorithm;
        take_args(plan, args);
        plan->rank = rank;
        plan->items = nf_coll_item_count(algorithm, args);
        plan->steps = nf_calloc(schedule.count, sizeof(*plan->steps));
        plan->spans = schedule.spans;
        schedule.spans = NULL;
        if (plan->steps != NULL)
            take_messages(plan, &schedule);
        plan->straight = plan->steps != NULL && is_straight(plan);
        plan->nbooks = plan->straight ? 2 * plan->args.ranks : plan->items;
    }
    nf_schedule_fini(&schedule);
    if (status != NF_OK)
        return status;
    if (plan == NULL || plan->steps == NULL || !link_steps(plan) ||
        !index_receives(plan) || !list_targets(plan)) {
        nf_plan_destroy(plan);
        return nf_fail(err, NF_ERR_NOMEM, "%s: out of memory", algorithm->name);
    }
    *plan_p = plan;
    return NF_OK;
}
