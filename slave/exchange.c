/* The calls of an exchange, and the tables that tell how large pieces are. */
#include "config.h"
#include "slave/exchange.h"
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/group/group.h"
#include "common/group/types.h"

/* The most bytes of a number in a table. */
enum { NUMBER_MOST = 10 };

/* ------------------------------------------------------------------ tables */

/* @param bytes  of the largest block: the same number at all */
static enum nf_status force(const struct nf_exchange *x, struct nf_group *group,
                            uint64_t bytes)
{
    return nf_group_force(group, nf_exchange_bounds_pick(&x->bounds, bytes),
                          NULL);
}

static struct nf_call make_call(const struct nf_exchange *x, const void *send,
                                void *recv, int type)
{
    return (struct nf_call){ .kind = NF_CALL_ALLTOALL,
                             .send = send,
                             .send_counts = x->send_counts,
                             .recv = recv,
                             .counts = x->counts,
                             .varies = 1,
                             .type = type };
}

static enum nf_status start(struct nf_exchange *x, struct nf_group *group,
                            const struct nf_call *call,
                            struct nf_request **request_p)
{
    enum nf_status status = force(x, group, NF_EXCHANGE_LENGTH_BYTES);

    if (status == NF_OK)
        status = nf_group_start(group, call, request_p);
    return status < 0 ? status : NF_OK;
}

/* How large is the largest block of all?  It comes while pieces are packed. */
static enum nf_status agree(struct nf_exchange *x, struct nf_group *group,
                            struct nf_request **request_p)
{
    struct nf_call call = { .kind = NF_CALL_ALLREDUCE,
                            .send = &x->largest_bytes[0],
                            .recv = &x->largest_bytes[1],
                            .count = 1,
                            .type = NF_ELEM_UINT64,
                            .op = NF_MAX };
    enum nf_status status = NF_OK;

    x->largest_bytes[0] = x->told.largest_bytes;
    if (group != NULL)
        status = nf_group_start(group, &call, request_p);
    return status < 0 ? status : NF_OK;
}

/* A call is next: what it takes is what the model is compared with, so the work
 * between calls is not counted. */
static void begin_call(struct nf_exchange *x, enum nf_exchange_stage stage)
{
    x->stage = stage;
    x->began_us = nf_now_us();
}

static void end_call(struct nf_exchange *x)
{
    x->told.moving_us += nf_now_us() - x->began_us;
}

/* What our next result has for each rank. */
static bool list_result(struct nf_exchange *x)
{
    uint32_t units = nf_exchange_length(&x->holders, x->rank);
    uint64_t unit, at;
    struct nf_pieces_walk w;

    if (x->at_unit >= units)
        return false;
    for (uint32_t r = 0; r < x->count; r++)
        x->at_byte[r] = SIZE_MAX;
    w = nf_pieces_walk(&x->results[x->at_unit], x->stock->units);
    while (nf_pieces_next(&w, &unit, &at)) {
        uint32_t r = x->homes.rank[unit];

        if (r >= x->count)
            continue;
        nf_sizes_put(&x->out_sizes[r],
                     x->at_unit * nf_exchange_length(&x->homes, r) +
                         x->place[unit],
                     w.bytes);
        x->out_bytes[r] += (size_t)w.bytes;
        x->out_parts[r] += x->at_byte[r] != at;
        x->at_byte[r] = (size_t)(at + w.bytes);
    }
    return ++x->at_unit < units;
}

static void begin_listing(struct nf_exchange *x)
{
    x->at_unit = 0;
    x->stage = NF_EXCHANGE_LIST;
}

/* What we give is listed. */
static enum nf_status exchange_lengths(struct nf_exchange *x,
                                       struct nf_group *group,
                                       struct nf_request **request_p)
{
    const struct nf_call call = { .kind = NF_CALL_ALLTOALL,
                                  .send = x->out_lengths,
                                  .recv = x->in_lengths,
                                  .count = 1,
                                  .type = NF_ELEM_UINT64 };
    size_t sum = 0;

    for (uint32_t r = 0; r < x->count; r++) {
        if (nf_sizes_end(&x->out_sizes[r]) != NF_OK)
            return NF_ERR_NOMEM;
        x->out_lengths[r] = x->out_sizes[r].out.bytes;
        sum += x->out_sizes[r].out.bytes;
    }
    x->out_table = nf_malloc(sum + 1);
    if (x->out_table == NULL)
        return NF_ERR_NOMEM;
    sum = 0;
    for (uint32_t r = 0; r < x->count; r++) {
        if (x->out_lengths[r] > 0)
            memcpy(x->out_table + sum, x->out_sizes[r].out.data,
                   (size_t)x->out_lengths[r]);
        sum += (size_t)x->out_lengths[r];
        nf_sizes_fini(&x->out_sizes[r]);
    }
    begin_call(x, NF_EXCHANGE_LENGTHS);
    if (group == NULL) {
        x->in_lengths[0] = x->out_lengths[0];
        return NF_OK;
    }
    return start(x, group, &call, request_p);
}

/* By what lengths went by, as all have to go by the same: how large the largest table is
 * only two of us know, and in most jobs it takes some bytes.  Large ones may so be passed
 * on by others, but then there are still larger pieces. */
static enum nf_status exchange_tables(struct nf_exchange *x,
                                      struct nf_group *group,
                                      struct nf_request **request_p)
{
    uint64_t mine = nf_exchange_length(&x->homes, x->rank);
    struct nf_call call;
    size_t sum = 0;

    for (uint32_t r = 0; r < x->count; r++) {
        if (x->in_lengths[r] / (2 * NUMBER_MOST) >
            mine * nf_exchange_length(&x->holders, r))
            return NF_ERR_PROTOCOL;
        x->send_counts[r] = (size_t)x->out_lengths[r];
        x->counts[r] = (size_t)x->in_lengths[r];
        sum += x->counts[r];
    }
    begin_call(x, NF_EXCHANGE_TABLES);
    if (group == NULL) {
        x->in_table = x->out_table;
        x->out_table = NULL;
        return NF_OK;
    }
    x->in_table = nf_malloc(sum + 1);
    if (x->in_table == NULL)
        return NF_ERR_NOMEM;
    call = make_call(x, x->out_table, x->in_table, nf_elem_of(NF_BYTES));
    return start(x, group, &call, request_p);
}

/* From the first unit on, what came is to be read. */
static void begin_reading(struct nf_exchange *x)
{
    const uint8_t *at = x->in_table;

    for (uint32_t r = 0; r < x->count; r++) {
        x->readers[r] = nf_sizes_read(at, (size_t)x->in_lengths[r]);
        at += x->in_lengths[r];
    }
    x->at_unit = 0;
}

static void begin_measuring(struct nf_exchange *x)
{
    end_call(x);
    nf_free(x->out_table);
    x->out_table = NULL;
    begin_reading(x);
    x->stage = NF_EXCHANGE_MEASURE;
}

/* @param most  of all pieces together  @return false: they make no sense */
static bool measure_run(struct nf_exchange *x, uint64_t bytes, uint32_t first,
                        uint64_t count)
{
    uint32_t r = x->holders.rank[x->at_unit];
    uint64_t most = SIZE_MAX / 4 / x->count - x->in_bytes[r];

    if (bytes == 0)
        return true;
    if (bytes % nf_type_bytes(x->type) != 0 || bytes > most / count)
        return false;
    for (uint32_t k = first; k < first + count; k++) {
        nf_sizes_put(&x->inputs[k].sizes, x->at_unit, bytes);
        x->inputs[k].bytes += (size_t)bytes;
        x->inputs[k].count++;
    }
    x->in_bytes[r] += (size_t)(bytes * count);
    return true;
}

/* What the next unit has for ours. */
static bool measure_unit(struct nf_exchange *x)
{
    uint32_t mine = nf_exchange_length(&x->homes, x->rank);
    uint32_t r = x->holders.rank[x->at_unit];

    for (uint32_t k = 0; r < x->count && k < mine && !x->nonsense;) {
        uint64_t bytes;
        uint32_t run =
            (uint32_t)nf_sizes_next(&x->readers[r], mine - k, &bytes);

        x->nonsense = run == 0 || !measure_run(x, bytes, k, run);
        k += run;
    }
    return ++x->at_unit < x->stock->units && !x->nonsense;
}

static void note_for_master(struct nf_exchange *x)
{
    for (uint32_t r = 0; r < x->count; r++) {
        if (r == x->rank)
            continue;
        x->told.bytes += x->in_bytes[r];
        if (x->in_bytes[r] > x->told.largest_bytes)
            x->told.largest_bytes = x->in_bytes[r];
        if (x->in_lengths[r] > x->told.table_bytes)
            x->told.table_bytes = x->in_lengths[r];
    }
}

static enum nf_status begin_packing(struct nf_exchange *x,
                                    struct nf_group *group,
                                    struct nf_request **request_p)
{
    size_t elem = nf_type_bytes(x->type);

    for (uint32_t r = 0; r < x->count; r++) {
        x->nonsense = x->nonsense || !nf_sizes_at_end(&x->readers[r]);
        x->send_counts[r] = x->out_bytes[r] / elem;
        x->counts[r] = x->in_bytes[r] / elem;
    }
    if (x->nonsense)
        return NF_ERR_PROTOCOL;
    note_for_master(x);
    /* what stays here goes from results to inputs at once */
    x->send_counts[x->rank] = x->counts[x->rank] = 0;
    x->out_bytes[x->rank] = x->in_bytes[x->rank] = 0;
    if (!nf_exchange_make_out(x, group))
        return NF_ERR_NOMEM;
    x->stage = NF_EXCHANGE_PACK;
    x->at_unit = 0;
    return agree(x, group, request_p);
}

/* ------------------------------------------------------------------ pieces */

static enum nf_status move_pieces(struct nf_exchange *x, struct nf_group *group,
                                  struct nf_request **request_p)
{
    struct nf_call call = make_call(x, NULL, NULL, nf_elem_of(x->type));
    const struct nf_blocks blocks = { .chains = x->out, .come = x->blocks };
    enum nf_status status = NF_OK;

    begin_call(x, NF_EXCHANGE_MOVE);
    if (group != NULL)
        status = force(x, group, x->largest_bytes[1]);
    if (group != NULL && status == NF_OK)
        status = nf_group_start_blocks(group, &call, &blocks, request_p);
    return status < 0 ? status : NF_OK;
}

static enum nf_status begin_joining(struct nf_exchange *x)
{
    end_call(x);
    nf_exchange_drop_out(x);
    if (nf_exchange_begin_inputs(x) != NF_OK)
        return NF_ERR_NOMEM;
    begin_reading(x);
    x->own_unit = 0;
    x->stage = NF_EXCHANGE_UNPACK;
    return NF_OK;
}

/* ------------------------------------------------------------------- turns */

bool nf_exchange_is_busy(const struct nf_exchange *x)
{
    return x->stage == NF_EXCHANGE_LIST || x->stage == NF_EXCHANGE_MEASURE ||
           x->stage == NF_EXCHANGE_PACK || x->stage == NF_EXCHANGE_UNPACK;
}

/* @return NF_OK: it has come */
static enum nf_status await(struct nf_request **request_p)
{
    enum nf_status status;

    if (*request_p == NULL)
        return NF_OK;
    status = nf_request_test(*request_p);
    if (status == NF_OK) {
        nf_request_free(*request_p);
        *request_p = NULL;
    }
    return status;
}

/* @return NF_OK: that was all of it */
static enum nf_status work(struct nf_exchange *x,
                           bool (*one)(struct nf_exchange *), int64_t slice_us)
{
    int64_t until_us = nf_now_us() + slice_us;

    while (one(x))
        if (nf_now_us() >= until_us)
            return NF_WAIT;
    return NF_OK;
}

static enum nf_status step(struct nf_exchange *x, struct nf_group *group,
                           struct nf_request **request_p, int64_t slice_us)
{
    enum nf_status status = NF_OK;

    if (nf_exchange_is_busy(x) && group != NULL) {
        status = nf_group_progress(group);
        if (status < 0)
            return status;
    }
    switch (x->stage) {
    case NF_EXCHANGE_NONE:
        return NF_WAIT;
    case NF_EXCHANGE_MEET:
        begin_listing(x);
        break;
    case NF_EXCHANGE_LIST:
        status = work(x, list_result, slice_us);
        if (status == NF_OK)
            status = exchange_lengths(x, group, request_p);
        break;
    case NF_EXCHANGE_LENGTHS:
        status = await(request_p);
        if (status == NF_OK) {
            end_call(x);
            status = exchange_tables(x, group, request_p);
        }
        break;
    case NF_EXCHANGE_TABLES:
        status = await(request_p);
        if (status == NF_OK)
            begin_measuring(x);
        break;
    case NF_EXCHANGE_MEASURE:
        status = work(x, measure_unit, slice_us);
        if (status == NF_OK)
            status = begin_packing(x, group, request_p);
        break;
    case NF_EXCHANGE_PACK:
        status = work(x, nf_exchange_pack_result, slice_us);
        if (status == NF_OK && x->nonsense)
            return NF_ERR_PROTOCOL;
        if (status == NF_OK)
            x->stage = NF_EXCHANGE_AGREE;
        break;
    case NF_EXCHANGE_AGREE:
        status = await(request_p);
        if (status == NF_OK)
            status = move_pieces(x, group, request_p);
        break;
    case NF_EXCHANGE_MOVE:
        status = await(request_p);
        if (status == NF_OK)
            status = begin_joining(x);
        break;
    case NF_EXCHANGE_UNPACK:
        status = work(x, nf_exchange_join_unit, slice_us);
        if (status == NF_OK)
            return x->nonsense ? NF_ERR_PROTOCOL : nf_exchange_store(x);
        break;
    }
    return status == NF_OK ? NF_WAIT : status;
}

/* A call may be over as soon as it has begun, as all has come before: then
 * nothing would wake us for it. */
enum nf_status nf_exchange_turn(struct nf_exchange *x, struct nf_group *group,
                                struct nf_request **request_p, int64_t slice_us)
{
    enum nf_exchange_stage before;
    enum nf_status status;

    do {
        before = x->stage;
        status = step(x, group, request_p, slice_us);
    } while (status == NF_WAIT && x->stage != before &&
             !nf_exchange_is_busy(x));
    return status;
}
