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

static void keep_items(struct nf_schedule *schedule,
                       const struct nf_coll_algorithm *algorithm,
                       const struct nf_coll_args *args, uint64_t elements,
                       struct nf_coll_span span)
{
    for (uint32_t i = span.first; i < span.first + span.count; i++)
        if (nf_coll_item_elements(algorithm, args, elements, i) > 0)
            nf_schedule_items(schedule, i, 1);
}

void nf_coll_prune(struct nf_schedule *schedule,
                   const struct nf_coll_algorithm *algorithm,
                   const struct nf_coll_args *args, uint64_t elements)
{
    struct nf_schedule kept;

    if (algorithm->items == NF_ITEMS_NONE || schedule->failed)
        return;
    nf_schedule_init(&kept, NF_ALL_RANKS);
    for (size_t m = 0; m < schedule->count; m++) {
        const struct nf_coll_message *message = &schedule->messages[m];

        nf_schedule_add(&kept, message->round, message->src, message->dst,
                        message->action);
        nf_schedule_car(&kept, message->keep, message->from_car);
        for (uint32_t i = 0; i < message->nspans; i++)
            keep_items(&kept, algorithm, args, elements,
                       schedule->spans[message->first_span + i]);
        if (!kept.failed && kept.messages[kept.count - 1].nspans == 0)
            kept.count--;
    }
    kept.only = schedule->only;
    nf_schedule_fini(schedule);
    *schedule = kept;
}
