/* What slaves compute: see sort.h. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "apps/sort/sort.h"
#include "common/base/alloc.h"

static int fail(const struct nf_work *work, int code, const char *reason)
{
    if (work->error != NULL && work->error_bytes > 0)
        snprintf(work->error, work->error_bytes,
                 "sort: %s (phase %u, unit %llu, input %zu bytes)", reason,
                 work->phase, (unsigned long long)work->first,
                 work->input_bytes);
    return code;
}

static int no_memory(const struct nf_work *work)
{
    return fail(work, 2, "out of memory");
}

static bool read_plan(const struct nf_work *work, struct nf_sort_plan *plan)
{
    const int64_t *number = work->shared;
    uint64_t numbers = work->shared_bytes / sizeof(*number);
    uint64_t splitters;

    if (number == NULL || numbers < NF_SORT_PLAN_NUMBERS || number[0] < 0 ||
        number[0] > NF_SORT_BITONIC || number[1] < 1 ||
        number[1] > INT64_MAX / 64 || number[2] < 1)
        return false;
    plan->way = (enum nf_sort_way)number[0];
    plan->count = (uint64_t)number[1];
    plan->units = (uint64_t)number[2];
    /* int64_t may be seen as uint64_t, and two of these are a splitter */
    plan->splitters =
        (const struct nf_sort_splitter *)(number + NF_SORT_PLAN_NUMBERS);
    splitters = plan->way == NF_SORT_SAMPLE ? plan->units - 1 : 0;
    if (plan->way == NF_SORT_BITONIC && (plan->units & (plan->units - 1)) != 0)
        return false;
    return work->units == plan->units && work->first < plan->units &&
           work->phase <= nf_sort_exchanges(plan) &&
           splitters <= numbers / NF_SORT_SPLITTER_NUMBERS &&
           numbers ==
               NF_SORT_PLAN_NUMBERS + NF_SORT_SPLITTER_NUMBERS * splitters;
}

static void put_keys(const double *from, uint64_t count, uint64_t *keys)
{
    for (uint64_t i = 0; i < count; i++)
        keys[i] = nf_sort_key(from[i]);
}

/* Keys of the input, room for `room` in all, and as much again.  NULL: out of
 * memory */
static uint64_t *read_keys(const struct nf_work *work, uint64_t count,
                           uint64_t room)
{
    const uint64_t *at = work->in_at;
    uint64_t *keys = NULL;

    /* not cleared: all that is read has been written */
    if (room < SIZE_MAX / sizeof(*keys) / 4)
        keys = nf_malloc(((size_t)room * 2 + 1) * sizeof(*keys));
    if (keys == NULL)
        return NULL;
    if (at == NULL)
        put_keys(work->input, count, keys);
    for (uint64_t u = 0; at != NULL && u < work->units; u++)
        put_keys(work->in_pieces[u], (at[u + 1] - at[u]) / sizeof(double),
                 keys + at[u] / sizeof(double));
    return keys;
}

static bool put_numbers(const struct nf_work *work, const uint64_t *keys,
                        uint64_t count)
{
    size_t bytes = (size_t)count * sizeof(double);
    double *to = nf_buf_reserve(work->result, bytes);

    if (to == NULL && bytes > 0)
        return false;
    for (uint64_t i = 0; i < count; i++)
        to[i] = nf_sort_number(keys[i]);
    return true;
}

/* In the last phase, all is home; else: the block for itself and its partner.
 */
static bool put_block(const struct nf_work *work, const uint64_t *keys,
                      uint64_t block)
{
    uint64_t partner;
    bool low;

    if (work->out_bytes == NULL)
        return put_numbers(work, keys, block);
    partner = nf_sort_partner(work->phase, work->first, &low);
    work->out_bytes[work->first] = block * sizeof(double);
    work->out_bytes[partner] = block * sizeof(double);
    return put_numbers(work, keys, block) && put_numbers(work, keys, block);
}

static void cut(const struct nf_work *work, const struct nf_sort_plan *plan,
                const uint64_t *keys, uint64_t count)
{
    uint64_t begin = 0;

    for (uint64_t v = 0; v < plan->units; v++) {
        uint64_t end =
            v + 1 == plan->units
                ? count
                : nf_sort_left(keys, count, work->first, &plan->splitters[v]);

        if (end < begin) /* splitters that are not in order */
            end = begin;
        work->out_bytes[v] = (end - begin) * sizeof(double);
        begin = end;
    }
}

/* The first phase: sort the block. */
static int sort_block(const struct nf_work *work,
                      const struct nf_sort_plan *plan)
{
    uint64_t count =
        nf_sort_begin(plan, work->first + 1) - nf_sort_begin(plan, work->first);
    uint64_t room = plan->way == NF_SORT_SAMPLE ? count : nf_sort_block(plan);
    uint64_t *keys;
    bool done;

    if (work->input_bytes != count * sizeof(double))
        return fail(work, 1, "not a block of numbers");
    keys = read_keys(work, count, room);
    if (keys == NULL)
        return no_memory(work);
    nf_sort_keys(keys, keys + room, count);
    for (uint64_t i = count; i < room; i++)
        keys[i] = nf_sort_key((double)INFINITY);
    if (plan->way == NF_SORT_SAMPLE && work->out_bytes != NULL)
        cut(work, plan, keys, count);
    done = plan->way == NF_SORT_SAMPLE ? put_numbers(work, keys, count)
                                       : put_block(work, keys, room);
    nf_free(keys);
    return done ? 0 : no_memory(work);
}

/* The second one of "sample": what all blocks have for this unit. */
static int merge_all(const struct nf_work *work,
                     const struct nf_sort_plan *plan)
{
    uint64_t count = work->input_bytes / sizeof(double);
    uint64_t *keys = read_keys(work, count, count);
    uint64_t *at = nf_calloc((size_t)plan->units + 1, sizeof(*at));
    bool done = keys != NULL && at != NULL;

    for (uint64_t u = 0; u <= plan->units && done; u++)
        at[u] = work->in_at[u] / sizeof(double);
    done = done &&
           put_numbers(work, nf_sort_merge(keys, keys + count, at, plan->units),
                       count);
    nf_free(at);
    nf_free(keys);
    return done ? 0 : no_memory(work);
}

/* A later one of "bitonic": half of two blocks. */
static int compare(const struct nf_work *work, const struct nf_sort_plan *plan)
{
    uint64_t block = nf_sort_block(plan), at[3] = { 0, block, 2 * block };
    uint64_t partner;
    bool low, done;
    uint64_t *keys, *sorted;

    partner = nf_sort_partner(work->phase - 1, work->first, &low);
    if (partner >= plan->units ||
        work->input_bytes != 2 * block * sizeof(double) ||
        work->in_at[work->first + 1] - work->in_at[work->first] !=
            block * sizeof(double) ||
        work->in_at[partner + 1] - work->in_at[partner] !=
            block * sizeof(double))
        return fail(work, 1, "not two blocks");
    keys = read_keys(work, 2 * block, 2 * block);
    if (keys == NULL)
        return no_memory(work);
    sorted = nf_sort_merge(keys, keys + 2 * block, at, 2);
    done = put_block(work, low ? sorted : sorted + block, block);
    nf_free(keys);
    return done ? 0 : no_memory(work);
}

int nf_sort_compute(const struct nf_work *work)
{
    struct nf_sort_plan plan;

    if (!read_plan(work, &plan))
        return fail(work, 1, "no plan of how to sort");
    if (work->phase == 0)
        return sort_block(work, &plan);
    return plan.way == NF_SORT_SAMPLE ? merge_all(work, &plan)
                                      : compare(work, &plan);
}
