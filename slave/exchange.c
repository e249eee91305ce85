/* Cutting, sending and joining pieces. */
#include "config.h"
#include "slave/exchange.h"
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/group/group.h"
#include "common/group/types.h"

static uint64_t length(const struct nf_exchange_lists *lists, uint32_t rank)
{
    return lists->start[rank + 1] - lists->start[rank];
}

static const uint64_t *list_of(const struct nf_exchange_lists *lists,
                               uint32_t rank)
{
    return lists->units + lists->start[rank];
}

static void lists_fini(struct nf_exchange_lists *lists)
{
    nf_free(lists->units);
    nf_free(lists->start);
}

void nf_exchange_clear(struct nf_exchange *x)
{
    for (uint64_t i = 0; x->results && i < length(&x->holders, x->rank); i++)
        nf_pieces_fini(&x->results[i]);
    for (uint64_t i = 0; x->inputs && i < length(&x->homes, x->rank); i++)
        nf_pieces_fini(&x->inputs[i]);
    nf_free(x->results);
    nf_free(x->inputs);
    lists_fini(&x->holders);
    lists_fini(&x->homes);
    nf_free(x->send_counts);
    nf_free(x->counts);
    nf_free(x->out_sizes);
    nf_free(x->in_sizes);
    nf_free(x->out);
    nf_free(x->in);
    memset(x, 0, sizeof(*x));
}

/* Sort units by their rank; those of nobody are left out. */
static bool make_lists(struct nf_exchange_lists *lists, const uint8_t *ranks,
                       uint64_t units, uint32_t count)
{
    lists->units = nf_calloc((size_t)units, sizeof(*lists->units));
    lists->start = nf_calloc((size_t)count + 1, sizeof(*lists->start));
    if (lists->units == NULL || lists->start == NULL)
        return false;
    for (uint64_t i = 0; i < units; i++)
        if (nf_exchange_rank(ranks, i) < count)
            lists->start[nf_exchange_rank(ranks, i) + 1]++;
    for (uint32_t r = 0; r < count; r++)
        lists->start[r + 1] += lists->start[r];
    /* start[r] runs to the end of r's list, and is moved back then */
    for (uint64_t i = 0; i < units; i++)
        if (nf_exchange_rank(ranks, i) < count)
            lists->units[lists->start[nf_exchange_rank(ranks, i)]++] = i;
    for (uint32_t r = count; r > 0; r--)
        lists->start[r] = lists->start[r - 1];
    lists->start[0] = 0;
    return true;
}

/* Take references to what we give.  @return false: one of them is not here */
static bool take_results(struct nf_exchange *x)
{
    const uint64_t *units = list_of(&x->holders, x->rank);

    for (uint64_t i = 0; i < length(&x->holders, x->rank); i++) {
        const struct nf_pieces *result =
            nf_stock_result(x->stock, x->phase, units[i]);

        if (result->at == NULL)
            return false;
        nf_pieces_put(&x->results[i], result);
    }
    return true;
}

/* Copies of units, and what came of exchanges that failed. */
static void drop_useless(struct nf_exchange *x, const struct nf_exchange_msg *m)
{
    for (uint64_t i = 0; i < m->units; i++) {
        if (nf_exchange_rank(m->holders, i) != m->rank)
            nf_pieces_fini(nf_stock_result(x->stock, x->phase, i));
        if (nf_exchange_rank(m->homes, i) != NF_GROUP_NOBODY)
            nf_pieces_fini(nf_stock_input(x->stock, x->phase + 1, i));
    }
}

enum nf_status nf_exchange_begin(struct nf_exchange *x,
                                 const struct nf_exchange_msg *m,
                                 struct nf_stock *stock, enum nf_type type)
{
    nf_exchange_clear(x);
    if (m->units != stock->units || stock->phases < 2 ||
        m->phase > stock->phases - 2)
        return NF_ERR_PROTOCOL;
    x->told.round = m->round;
    x->phase = m->phase;
    x->rank = m->rank;
    x->count = m->count;
    x->stock = stock;
    x->type = type;
    if (m->count > 1 &&
        !nf_exchange_bounds_read(m->algorithms, m->count, &x->bounds))
        return NF_ERR_PROTOCOL;
    x->send_counts = nf_calloc(m->count, sizeof(*x->send_counts));
    x->counts = nf_calloc(m->count, sizeof(*x->counts));
    if (x->send_counts == NULL || x->counts == NULL ||
        !make_lists(&x->holders, m->holders, m->units, m->count) ||
        !make_lists(&x->homes, m->homes, m->units, m->count))
        return NF_ERR_NOMEM;
    x->results = nf_calloc((size_t)length(&x->holders, x->rank) + 1,
                           sizeof(*x->results));
    if (x->results == NULL)
        return NF_ERR_NOMEM;
    if (!take_results(x))
        return NF_ERR_FAILED;
    drop_useless(x, m);
    x->stage = NF_EXCHANGE_MEET;
    return NF_OK;
}

/* ------------------------------------------------------------------- sizes */

/* @param bytes  of the largest block, which all know */
static enum nf_status start(struct nf_exchange *x, struct nf_group *group,
                            uint64_t bytes, const void *send, void *recv,
                            int type, struct nf_request **request_p)
{
    enum nf_status status = nf_group_force(
        group, nf_exchange_bounds_pick(&x->bounds, bytes), NULL);
    struct nf_call call = { .kind = NF_CALL_ALLTOALL,
                            .send = send,
                            .send_counts = x->send_counts,
                            .recv = recv,
                            .counts = x->counts,
                            .varies = 1,
                            .type = type };

    if (status == NF_OK)
        status = nf_group_start(group, &call, request_p);
    return status < 0 ? status : NF_OK;
}

/* What the sizes of pieces take at most from one rank to another one. */
static uint64_t most_sizes_bytes(const struct nf_exchange *x)
{
    uint64_t most = 0;

    for (uint32_t r = 0; r < x->count; r++)
        for (uint32_t s = 0; s < x->count; s++) {
            uint64_t pieces = length(&x->holders, r) * length(&x->homes, s);

            if (r != s && pieces > most)
                most = pieces;
        }
    return most * sizeof(uint64_t);
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

/* What our pieces for each rank take. */
static void list_sizes(struct nf_exchange *x)
{
    uint64_t *size = x->out_sizes;

    for (uint32_t r = 0; r < x->count; r++) {
        const uint64_t *homes = list_of(&x->homes, r);

        x->send_counts[r] =
            (size_t)(length(&x->holders, x->rank) * length(&x->homes, r));
        x->counts[r] =
            (size_t)(length(&x->holders, r) * length(&x->homes, x->rank));
        for (uint64_t i = 0; i < length(&x->holders, x->rank); i++) {
            const uint64_t *at = nf_pieces_at(&x->results[i]);

            for (uint64_t k = 0; k < length(&x->homes, r); k++)
                *size++ = at[homes[k] + 1] - at[homes[k]];
        }
    }
}

static enum nf_status exchange_sizes(struct nf_exchange *x,
                                     struct nf_group *group,
                                     struct nf_request **request_p)
{
    size_t out =
        (size_t)(length(&x->holders, x->rank) * x->homes.start[x->count]);
    size_t in =
        (size_t)(x->holders.start[x->count] * length(&x->homes, x->rank));

    x->began_us = nf_now_us();
    x->out_sizes = nf_calloc(out + 1, sizeof(*x->out_sizes));
    x->in_sizes = nf_calloc(in + 1, sizeof(*x->in_sizes));
    if (x->out_sizes == NULL || x->in_sizes == NULL)
        return NF_ERR_NOMEM;
    list_sizes(x);
    x->stage = NF_EXCHANGE_SIZES;
    if (group == NULL) {
        memcpy(x->in_sizes, x->out_sizes, in * sizeof(*x->in_sizes));
        return NF_OK;
    }
    return start(x, group, most_sizes_bytes(x), x->out_sizes, x->in_sizes,
                 NF_ELEM_UINT64, request_p);
}

/* Elements for each rank, of pieces of these sizes.
 * @return bytes in all; SIZE_MAX: they make no sense */
static size_t add_up(const struct nf_exchange *x, const uint64_t *sizes,
                     size_t *counts)
{
    size_t sum = 0, elem = nf_type_bytes(x->type);

    for (uint32_t r = 0; r < x->count; r++) {
        size_t pieces = counts[r], bytes = 0;

        for (size_t i = 0; i < pieces; i++, sizes++) {
            if (*sizes % elem != 0 || *sizes > SIZE_MAX / 4 - sum - bytes)
                return SIZE_MAX;
            bytes += (size_t)*sizes;
        }
        counts[r] = bytes / elem;
        sum += bytes;
    }
    return sum;
}

static void note_for_master(struct nf_exchange *x)
{
    size_t elem = nf_type_bytes(x->type);

    for (uint32_t r = 0; r < x->count; r++) {
        uint64_t bytes = x->counts[r] * elem;

        if (r == x->rank)
            continue;
        x->told.bytes += bytes;
        if (bytes > x->told.largest_bytes)
            x->told.largest_bytes = bytes;
    }
}

static enum nf_status make_room(struct nf_exchange *x)
{
    x->out_bytes = add_up(x, x->out_sizes, x->send_counts);
    x->in_bytes = add_up(x, x->in_sizes, x->counts);
    if (x->out_bytes == SIZE_MAX || x->in_bytes == SIZE_MAX)
        return NF_ERR_PROTOCOL;
    note_for_master(x);
    x->out = nf_malloc(x->out_bytes + 1);
    x->in = nf_malloc(x->in_bytes + 1);
    if (x->out == NULL || x->in == NULL)
        return NF_ERR_NOMEM;
    x->stage = NF_EXCHANGE_PACK;
    x->at_rank = 0;
    x->at_unit = 0;
    x->at_byte = 0;
    return NF_OK;
}

/* ------------------------------------------------------------------ pieces */

/* Go to the next unit of the holder's, or the first of the next rank.
 * @return false: that was the last one */
static bool next_unit(struct nf_exchange *x, uint64_t units)
{
    if (x->at_unit < units && ++x->at_unit < units)
        return true;
    x->at_unit = 0;
    return ++x->at_rank < x->count;
}

/* What a result of ours has for a rank. */
static bool pack_result(struct nf_exchange *x)
{
    uint64_t units = length(&x->holders, x->rank);
    const uint64_t *homes = list_of(&x->homes, x->at_rank);

    if (x->at_unit < units) {
        const struct nf_pieces *result = &x->results[x->at_unit];
        const uint64_t *at = nf_pieces_at(result);

        for (uint64_t k = 0; k < length(&x->homes, x->at_rank); k++) {
            size_t bytes = (size_t)(at[homes[k] + 1] - at[homes[k]]);

            if (bytes > 0)
                memcpy(x->out + x->at_byte,
                       (const uint8_t *)result->data->data + at[homes[k]],
                       bytes);
            x->at_byte += bytes;
        }
    }
    return next_unit(x, units);
}

static enum nf_status move_pieces(struct nf_exchange *x, struct nf_group *group,
                                  struct nf_request **request_p)
{
    x->stage = NF_EXCHANGE_MOVE;
    if (group == NULL) {
        uint8_t *in = x->in;

        x->in = x->out;
        x->out = in;
        return NF_OK;
    }
    return start(x, group, x->largest_bytes[1], x->out, x->in,
                 nf_elem_of(x->type), request_p);
}

/* Room for an input of ours, and where its pieces go. */
static enum nf_status create_input(struct nf_exchange *x, uint64_t mine,
                                   uint64_t *bytes, struct nf_pieces *input)
{
    uint64_t stride = length(&x->homes, x->rank), sum = 0;
    const uint64_t *size = x->in_sizes + mine;

    for (uint64_t i = 0; i < x->stock->units; i++, size += stride) {
        bytes[x->holders.units[i]] = *size;
        sum += *size;
    }
    input->at = nf_pieces_table(bytes, x->stock->units);
    if (sum > 0)
        input->data = nf_blob_create((size_t)sum, x->type);
    return input->at == NULL || (sum > 0 && input->data == NULL) ? NF_ERR_NOMEM
                                                                 : NF_OK;
}

static enum nf_status begin_joining(struct nf_exchange *x)
{
    uint64_t mine = length(&x->homes, x->rank);
    uint64_t *bytes = nf_calloc((size_t)x->stock->units, sizeof(*bytes));
    enum nf_status status = bytes == NULL ? NF_ERR_NOMEM : NF_OK;

    x->told.moving_us = nf_now_us() - x->began_us;
    nf_free(x->out);
    x->out = NULL;
    x->inputs = nf_calloc((size_t)mine + 1, sizeof(*x->inputs));
    if (x->inputs == NULL)
        status = NF_ERR_NOMEM;
    for (uint64_t i = 0; i < mine && status == NF_OK; i++)
        status = create_input(x, i, bytes, &x->inputs[i]);
    nf_free(bytes);
    x->stage = NF_EXCHANGE_UNPACK;
    x->at_rank = 0;
    x->at_unit = 0;
    x->at_byte = 0;
    x->at_size = 0;
    return status;
}

/* What came of one result. */
static bool join_result(struct nf_exchange *x)
{
    uint64_t units = length(&x->holders, x->at_rank);

    if (x->at_unit < units) {
        uint64_t unit = list_of(&x->holders, x->at_rank)[x->at_unit];

        for (uint64_t k = 0; k < length(&x->homes, x->rank); k++) {
            const struct nf_pieces *input = &x->inputs[k];
            size_t bytes = (size_t)x->in_sizes[x->at_size++];

            if (bytes > 0)
                memcpy((uint8_t *)input->data->data + nf_pieces_at(input)[unit],
                       x->in + x->at_byte, bytes);
            x->at_byte += bytes;
        }
    }
    return next_unit(x, units);
}

static void store_inputs(struct nf_exchange *x)
{
    for (uint64_t i = 0; i < length(&x->homes, x->rank); i++) {
        x->inputs[i].round = x->told.round;
        nf_pieces_put(nf_stock_input(x->stock, x->phase + 1,
                                     list_of(&x->homes, x->rank)[i]),
                      &x->inputs[i]);
    }
}

/* ------------------------------------------------------------------- turns */

bool nf_exchange_is_busy(const struct nf_exchange *x)
{
    return x->stage == NF_EXCHANGE_PACK || x->stage == NF_EXCHANGE_UNPACK;
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
        status = exchange_sizes(x, group, request_p);
        break;
    case NF_EXCHANGE_SIZES:
        status = await(request_p);
        if (status == NF_OK)
            status = make_room(x);
        if (status == NF_OK)
            status = agree(x, group, request_p);
        break;
    case NF_EXCHANGE_PACK:
        status = work(x, pack_result, slice_us);
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
        status = work(x, join_result, slice_us);
        if (status == NF_OK) {
            store_inputs(x);
            return NF_OK;
        }
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
