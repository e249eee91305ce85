/* Leaving out what is empty: a vector may have fewer elements than blocks. */
#include "config.h"
#include "common/coll/prune.h"

uint64_t nf_coll_item_elements(const struct nf_coll_algorithm *algorithm,
                               const struct nf_coll_args *args,
                               uint64_t elements, uint32_t item)
{
    uint32_t items = nf_coll_item_count(algorithm, args);
    uint64_t first, count;

    if (items == 0)
        return 0;
    if (algorithm->op == NF_COLL_GATHER || algorithm->op == NF_COLL_SCATTER ||
        algorithm->op == NF_COLL_ALLTOALL)
        return elements;
    nf_coll_segment(elements, items, item, &first, &count);
    return count;
}

/* What has elements: of equal blocks or of a vector, or by the sizes. */
struct filled {
    const struct nf_coll_algorithm *algorithm; /* NULL: by the sizes */
    const struct nf_coll_args *args;
    uint64_t elements;
    const uint64_t *sizes;
};

static bool is_filled(const struct filled *filled, uint32_t item)
{
    if (filled->algorithm == NULL)
        return filled->sizes[item] > 0;
    return nf_coll_item_elements(filled->algorithm, filled->args,
                                 filled->elements, item) > 0;
}

static void keep_items(struct nf_schedule *schedule,
                       const struct filled *filled, struct nf_coll_span span)
{
    for (uint32_t i = span.first; i < span.first + span.count; i++)
        if (is_filled(filled, i))
            nf_schedule_items(schedule, i, 1);
}

static void prune(struct nf_schedule *schedule, const struct filled *filled)
{
    struct nf_schedule kept;

    if (schedule->failed)
        return;
    nf_schedule_init(&kept, NF_ALL_RANKS);
    for (size_t m = 0; m < schedule->count; m++) {
        const struct nf_coll_message *message = &schedule->messages[m];

        nf_schedule_add(&kept, message->round, message->src, message->dst,
                        message->action);
        nf_schedule_car(&kept, message->keep, message->from_car);
        nf_schedule_route(&kept, message->side, message->hops);
        for (uint32_t i = 0; i < message->nspans; i++)
            keep_items(&kept, filled, schedule->spans[message->first_span + i]);
        if (!kept.failed && kept.messages[kept.count - 1].nspans == 0)
            kept.count--;
    }
    kept.only = schedule->only;
    nf_schedule_fini(schedule);
    *schedule = kept;
}

void nf_coll_prune(struct nf_schedule *schedule,
                   const struct nf_coll_algorithm *algorithm,
                   const struct nf_coll_args *args, uint64_t elements)
{
    const struct filled filled = { algorithm, args, elements, NULL };

    if (algorithm->items != NF_ITEMS_NONE)
        prune(schedule, &filled);
}

void nf_coll_prune_sizes(struct nf_schedule *schedule, const uint64_t *sizes)
{
    const struct filled filled = { .sizes = sizes };

    prune(schedule, &filled);
}
