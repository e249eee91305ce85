#include "config.h"
#include "tests/unit/group_types.h"
#include <complex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/rng.h"

enum { TYPES = NF_ELEM_LOC_FLOAT64 + 1, OPERATORS = NF_MAXLOC + 1 };
enum { ELEMENT_BYTES_MOST = 16, GUARD_BYTES = 16, GUARD = 0xee };
/* Values repeat after so many elements, so that long vectors take no time. */
enum { PERIOD = 60 };

static const size_t element_bytes[TYPES] = {
    [NF_ELEM_BYTE] = 1,         [NF_ELEM_INT8] = 1,
    [NF_ELEM_INT16] = 2,        [NF_ELEM_INT32] = 4,
    [NF_ELEM_INT64] = 8,        [NF_ELEM_UINT8] = 1,
    [NF_ELEM_UINT16] = 2,       [NF_ELEM_UINT32] = 4,
    [NF_ELEM_UINT64] = 8,       [NF_ELEM_FLOAT32] = 4,
    [NF_ELEM_FLOAT64] = 8,      [NF_ELEM_COMPLEX64] = 8,
    [NF_ELEM_COMPLEX128] = 16,  [NF_ELEM_LOC_INT64] = 16,
    [NF_ELEM_LOC_FLOAT64] = 16,
};

/* ---- values that are exact in every type; whole ones wrap around ---- */

/* Real and imaginary part, or a value and its index. */
struct value {
    int64_t first, second;
};

static bool is_complex(int type)
{
    return type == NF_ELEM_COMPLEX64 || type == NF_ELEM_COMPLEX128;
}

static bool is_located(int type)
{
    return type == NF_ELEM_LOC_INT64 || type == NF_ELEM_LOC_FLOAT64;
}

static bool is_unsigned(int type)
{
    return type == NF_ELEM_BYTE ||
           (type >= NF_ELEM_UINT8 && type <= NF_ELEM_UINT64);
}

static bool is_float(int type)
{
    return type == NF_ELEM_FLOAT32 || type == NF_ELEM_FLOAT64;
}

/* Unsigned, on both sides of where the sign would be, as signed ones are of 0:
 * neither can be taken for the other. */
static int64_t number_of(int type, uint32_t k)
{
    uint64_t border = UINT64_C(1) << (8 * element_bytes[type] - 1);
    const uint64_t numbers[] = { border, 0, 1, border - 1 };

    return (int64_t)numbers[k];
}

static struct value value_of(int type, uint32_t rank, size_t i)
{
    uint32_t k = (uint32_t)((rank * 3 + i * 2 + i / 5) % 4);
    struct value value = { (int64_t)k - 2, 0 };

    if (is_unsigned(type))
        value.first = number_of(type, k);
    if (is_complex(type))
        value.second = (int64_t)((rank + i) % 3) - 1;
    if (is_located(type))
        value.second = (int64_t)rank * 1000 + (int64_t)(i % PERIOD);
    return value;
}

#define PUT(ctype, v)                                                          \
    do {                                                                       \
        ctype put_ = (ctype)(v);                                               \
        memcpy(at, &put_, sizeof(put_));                                       \
    } while (0)

static void put(int type, void *at, struct value v)
{
    float complex c64 = (float)v.first + (float)v.second * I;
    double complex c128 = (double)v.first + (double)v.second * I;
    struct nf_loc_int64 li64 = { v.first, v.second };
    struct nf_loc_float64 lf64 = { (double)v.first, v.second };

    switch ((enum nf_elem)type) {
    case NF_ELEM_BYTE:
    case NF_ELEM_INT8:
    case NF_ELEM_UINT8:
        PUT(uint8_t, v.first);
        break;
    case NF_ELEM_INT16:
    case NF_ELEM_UINT16:
        PUT(uint16_t, v.first);
        break;
    case NF_ELEM_INT32:
    case NF_ELEM_UINT32:
        PUT(uint32_t, v.first);
        break;
    case NF_ELEM_INT64:
    case NF_ELEM_UINT64:
        PUT(uint64_t, v.first);
        break;
    case NF_ELEM_FLOAT32:
        PUT(float, v.first);
        break;
    case NF_ELEM_FLOAT64:
        PUT(double, v.first);
        break;
    case NF_ELEM_COMPLEX64:
        memcpy(at, &c64, sizeof(c64));
        break;
    case NF_ELEM_COMPLEX128:
        memcpy(at, &c128, sizeof(c128));
        break;
    case NF_ELEM_LOC_INT64:
        memcpy(at, &li64, sizeof(li64));
        break;
    default:
        memcpy(at, &lf64, sizeof(lf64));
    }
}

/* 0 and -0 are one number. */
static void make_positive(int type, void *at)
{
    size_t units = is_complex(type) ? 2 : 1;
    float *f32 = at;
    double *f64 = at;

    for (size_t i = 0; i < units; i++) {
        if (type == NF_ELEM_FLOAT32 || type == NF_ELEM_COMPLEX64)
            f32[i] += 0;
        if (type == NF_ELEM_FLOAT64 || type == NF_ELEM_COMPLEX128)
            f64[i] += 0;
    }
}

/* As the header says. */
static bool fits(int type, int op)
{
    bool arithmetic = op == NF_SUM || op == NF_PROD;
    bool logical = op == NF_LAND || op == NF_LOR || op == NF_LXOR;
    bool order = op == NF_MIN || op == NF_MAX;

    if (op == NF_MINLOC || op == NF_MAXLOC || is_located(type))
        return (op == NF_MINLOC || op == NF_MAXLOC) && is_located(type);
    if (is_complex(type))
        return arithmetic || logical;
    if (type == NF_ELEM_BYTE)
        return !arithmetic;
    return !is_float(type) || arithmetic || logical || order;
}

static int64_t combine_numbers(int type, int op, int64_t x, int64_t y)
{
    bool less = is_unsigned(type) ? (uint64_t)x < (uint64_t)y : x < y;

    switch ((enum nf_operator)op) {
    case NF_SUM:
        return (int64_t)((uint64_t)x + (uint64_t)y);
    case NF_PROD:
        return (int64_t)((uint64_t)x * (uint64_t)y);
    case NF_MIN:
        return less ? x : y;
    case NF_MAX:
        return less ? y : x;
    case NF_BAND:
        return x & y;
    case NF_BOR:
        return x | y;
    case NF_BXOR:
        return x ^ y;
    case NF_LAND:
        return x != 0 && y != 0;
    case NF_LOR:
        return x != 0 || y != 0;
    default:
        return (x != 0) != (y != 0);
    }
}

static struct value combine(int type, int op, struct value x, struct value y)
{
    struct value z = { 0, 0 };

    if (is_located(type)) {
        if (x.first == y.first)
            return x.second < y.second ? x : y;
        return (x.first < y.first) == (op == NF_MINLOC) ? x : y;
    }
    if (is_complex(type) && op == NF_PROD) {
        z.first = x.first * y.first - x.second * y.second;
        z.second = x.first * y.second + x.second * y.first;
        return z;
    }
    if (is_complex(type) && op != NF_SUM) /* logical */
        return (struct value){ combine_numbers(type, op,
                                               x.first != 0 || x.second != 0,
                                               y.first != 0 || y.second != 0),
                               0 };
    z.first = combine_numbers(type, op, x.first, y.first);
    z.second = is_complex(type) ? x.second + y.second : 0;
    return z;
}

/* Element i of ranks 0 .. count-1 combined. */
static struct value fold(int type, int op, uint32_t count, size_t i)
{
    struct value all = value_of(type, 0, i);

    for (uint32_t r = 1; r < count; r++)
        all = combine(type, op, all, value_of(type, r, i));
    return all;
}

/* ---- calls ---- */

static enum nf_status carry_out(struct nf_group *group,
                                const struct nf_call *call)
{
    struct nf_request *request;
    enum nf_status status = nf_group_start(group, call, &request);

    return status == NF_OK ? nf_request_wait(request) : status;
}

static unsigned complain(const struct nf_group *group, const char *what,
                         const struct nf_call *call)
{
    printf("rank %u: %s: kind %d, type %d, operator %d, count %zu: %s\n",
           nf_group_rank(group), what, (int)call->kind, call->type, call->op,
           call->count, nf_group_error(group)->text);
    return 1;
}

/* Elements of the result, and the first of them in the whole. */
static size_t result_of(const struct nf_group *group,
                        const struct nf_call *call, size_t *first_p)
{
    uint32_t rank = nf_group_rank(group);

    *first_p = 0;
    switch (call->kind) {
    case NF_CALL_REDUCE:
        return rank == call->root ? call->count : 0;
    case NF_CALL_EXSCAN:
        return rank > 0 ? call->count : 0;
    case NF_CALL_REDUCE_SCATTER:
        for (uint32_t r = 0; r < rank; r++)
            *first_p += call->counts[r];
        return call->counts[rank];
    default:
        return call->count;
    }
}

/* How many ranks are in it. */
static uint32_t operands_of(const struct nf_group *group,
                            const struct nf_call *call)
{
    uint32_t rank = nf_group_rank(group);

    return call->kind == NF_CALL_SCAN     ? rank + 1
           : call->kind == NF_CALL_EXSCAN ? rank
                                          : nf_group_size(group);
}

/* This member's operand. */
static uint8_t *make_operand(const struct nf_group *group,
                             const struct nf_call *call)
{
    size_t bytes = element_bytes[call->type];
    uint8_t *send = malloc(call->count * bytes + 1);

    for (size_t i = 0; i < call->count; i++)
        if (i < PERIOD)
            put(call->type, send + i * bytes,
                value_of(call->type, nf_group_rank(group), i));
        else
            memcpy(send + i * bytes, send + (i - PERIOD) * bytes, bytes);
    return send;
}

static bool is_right(const struct nf_group *group, const struct nf_call *call,
                     uint8_t *recv)
{
    _Alignas(16) uint8_t want[PERIOD][ELEMENT_BYTES_MOST];
    size_t bytes = element_bytes[call->type], first;
    size_t count = result_of(group, call, &first);

    for (size_t i = 0; i < PERIOD && count > 0; i++) {
        put(call->type, want[i],
            fold(call->type, call->op, operands_of(group, call), i));
        make_positive(call->type, want[i]);
    }
    for (size_t i = 0; i < count; i++) {
        make_positive(call->type, recv + i * bytes);
        if (memcmp(recv + i * bytes, want[(first + i) % PERIOD], bytes) != 0)
            return false;
    }
    for (size_t i = 0; i < GUARD_BYTES; i++) /* behind the result: untouched */
        if (recv[count * bytes + i] != GUARD)
            return false;
    return true;
}

static unsigned combine_once(struct nf_group *group, struct nf_call *call)
{
    size_t bytes = call->count * element_bytes[call->type] + GUARD_BYTES;
    uint8_t *send = make_operand(group, call), *recv = malloc(bytes);
    unsigned bad = 0;

    memset(recv, GUARD, bytes);
    call->send = send;
    call->recv = recv;
    if (carry_out(group, call) != NF_OK)
        bad += complain(group, "fails", call);
    else if (!is_right(group, call, recv))
        bad += complain(group, "wrong result", call);
    free(send);
    free(recv);
    return bad;
}

static unsigned combine_all_ways(struct nf_group *group, int type, int op,
                                 size_t count)
{
    static const enum nf_call_kind kinds[] = { NF_CALL_ALLREDUCE,
                                               NF_CALL_REDUCE, NF_CALL_SCAN,
                                               NF_CALL_EXSCAN,
                                               NF_CALL_REDUCE_SCATTER };
    uint32_t ranks = nf_group_size(group);
    size_t *counts = calloc(ranks, sizeof(*counts));
    unsigned bad = 0;

    for (size_t i = 0; i < count; i++)
        counts[i % ranks]++;
    for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds) && bad == 0; k++) {
        struct nf_call call = { .kind = kinds[k],
                                .count = count,
                                .type = type,
                                .op = op,
                                .root = (uint32_t)op % ranks };

        if (kinds[k] == NF_CALL_REDUCE_SCATTER)
            call.counts = counts;
        bad += combine_once(group, &call);
    }
    free(counts);
    return bad;
}

static unsigned refuse(struct nf_group *group, int type, int op)
{
    uint8_t buffer[ELEMENT_BYTES_MOST] = { 0 };
    struct nf_call call = { .kind = NF_CALL_ALLREDUCE,
                            .send = NF_IN_PLACE,
                            .recv = buffer,
                            .count = 1,
                            .type = type,
                            .op = op };

    return carry_out(group, &call) == NF_ERR_INVAL
               ? 0
               : complain(group, "is not refused", &call);
}

unsigned group_types_combine(struct nf_group *group)
{
    unsigned bad = 0;

    for (int type = 0; type < TYPES; type++) {
        bad += nf_group_type_bytes(group, type) != element_bytes[type];
        for (int op = 0; op < OPERATORS && bad == 0; op++)
            bad += fits(type, op) ? combine_all_ways(group, type, op, 37) +
                                        combine_all_ways(group, type, op,
                                                         nf_group_size(group))
                                  : refuse(group, type, op);
    }
    return bad;
}

/* ---- moving ---- */

/* Any bits, but no NaN, whose bits a machine may change. */
static void fill(int type, uint8_t *bytes, size_t count, uint32_t number)
{
    struct nf_rng rng = { number * UINT64_C(1000) + (uint64_t)type };
    size_t size = element_bytes[type];
    bool has_floats = is_float(type) || is_complex(type);
    size_t unit = type == NF_ELEM_FLOAT32 || type == NF_ELEM_COMPLEX64 ? 4 : 8;

    for (size_t i = 0; i < count * size; i += 8) {
        uint64_t bits = nf_rng_next(&rng);
        size_t left = count * size - i;

        memcpy(bytes + i, &bits, left < 8 ? left : 8);
    }
    for (size_t i = 0; has_floats && i < count * size; i += unit) {
        uint64_t bits = 0;

        memcpy(&bits, bytes + i, unit);
        bits &= unit == 4 ? ~UINT64_C(0x00800000)
                          : ~(UINT64_C(1) << 52); /* no exponent of ones */
        memcpy(bytes + i, &bits, unit);
    }
}

/* Everybody's @p count elements, one behind the other. */
static uint8_t *all_of(int type, uint32_t ranks, size_t count)
{
    size_t block = count * element_bytes[type];
    uint8_t *all = malloc(ranks * block + 1);

    for (uint32_t r = 0; r < ranks; r++)
        fill(type, all + r * block, count, r);
    return all;
}

static unsigned exchange_once(struct nf_group *group, int type, size_t count)
{
    uint32_t rank = nf_group_rank(group), ranks = nf_group_size(group);
    size_t block = count * element_bytes[type];
    uint8_t *send = malloc(ranks * block + 1),
            *want = malloc(ranks * block + 1);
    uint8_t *recv = calloc(ranks * block + 1, 1);
    struct nf_call call = { .kind = NF_CALL_ALLTOALL,
                            .send = send,
                            .recv = recv,
                            .count = count,
                            .type = type };
    unsigned bad = 0;

    for (uint32_t r = 0; r < ranks; r++) {
        fill(type, send + r * block, count, rank * ranks + r);
        fill(type, want + r * block, count, r * ranks + rank);
    }
    if (carry_out(group, &call) != NF_OK)
        bad += complain(group, "fails", &call);
    else if (memcmp(recv, want, ranks * block) != 0)
        bad += complain(group, "wrong result", &call);
    free(send);
    free(want);
    free(recv);
    return bad;
}

/* Blocks of different sizes, some of them empty. */
static unsigned exchange_unequal(struct nf_group *group, int type, size_t count)
{
    uint32_t rank = nf_group_rank(group), ranks = nf_group_size(group);
    size_t most = ranks * (count + 1) * element_bytes[type];
    uint8_t *send = malloc(most), *want = malloc(most);
    uint8_t *recv = calloc(most, 1), *out = send, *in = want;
    size_t *counts = calloc(2 * ranks, sizeof(*counts));
    struct nf_call call = { .kind = NF_CALL_ALLTOALL,
                            .send = send,
                            .recv = recv,
                            .counts = counts,
                            .send_counts = counts + ranks,
                            .varies = 1,
                            .type = type };
    unsigned bad = 0;

    for (uint32_t r = 0; r < ranks; r++) {
        counts[r] = (3 * r + 5 * rank) % 4 * count / 3;
        counts[ranks + r] = (3 * rank + 5 * r) % 4 * count / 3;
        fill(type, in, counts[r], r * ranks + rank);
        fill(type, out, counts[ranks + r], rank * ranks + r);
        in += counts[r] * element_bytes[type];
        out += counts[ranks + r] * element_bytes[type];
    }
    if (carry_out(group, &call) != NF_OK)
        bad += complain(group, "fails", &call);
    else if (memcmp(recv, want, (size_t)(in - want)) != 0)
        bad += complain(group, "wrong result", &call);
    free(send);
    free(want);
    free(recv);
    free(counts);
    return bad;
}

static unsigned move_once(struct nf_group *group, enum nf_call_kind kind,
                          int type, size_t count)
{
    uint32_t rank = nf_group_rank(group), ranks = nf_group_size(group);
    uint32_t root = (uint32_t)type % ranks;
    size_t block = count * element_bytes[type], got = block;
    uint8_t *all = all_of(type, ranks, count);
    uint8_t *recv = calloc(ranks * block + 1, 1);
    const uint8_t *want = all + rank * block;
    struct nf_call call = { .kind = kind,
                            .send = kind == NF_CALL_SCATTER
                                        ? all
                                        : all + rank * block,
                            .recv = recv,
                            .count = count,
                            .type = type,
                            .root = root };
    unsigned bad = 0;

    if (kind == NF_CALL_BCAST) {
        want = all + root * block;
        if (rank == root)
            memcpy(recv, want, block);
    } else if (kind != NF_CALL_SCATTER) {
        want = all;
        got = kind == NF_CALL_GATHER && rank != root ? 0 : ranks * block;
    }
    if (carry_out(group, &call) != NF_OK)
        bad += complain(group, "fails", &call);
    else if (memcmp(recv, want, got) != 0)
        bad += complain(group, "wrong result", &call);
    free(all);
    free(recv);
    return bad;
}

unsigned group_types_move(struct nf_group *group)
{
    static const enum nf_call_kind kinds[] = { NF_CALL_BCAST, NF_CALL_GATHER,
                                               NF_CALL_SCATTER,
                                               NF_CALL_ALLGATHER };
    static const size_t counts[] = { 1, 61, 4099 };
    unsigned bad = 0;

    for (int type = 0; type < TYPES; type++)
        for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
            for (size_t c = 0; c < 3 && bad == 0; c++)
                bad += move_once(group, kinds[k], type, counts[c]);
    for (int type = 0; type < TYPES; type++)
        for (size_t c = 0; c < 3 && bad == 0; c++)
            bad += exchange_once(group, type, counts[c]) +
                   exchange_unequal(group, type, counts[c]);
    return bad;
}

unsigned group_types_count(struct nf_group *group, enum nf_call_kind kind,
                           size_t count)
{
    uint32_t ranks = nf_group_size(group);
    struct nf_call call = { .kind = kind,
                            .count = count,
                            .type = NF_ELEM_UINT8,
                            .op = NF_BXOR,
                            .root = ranks - 1 };
    size_t *counts;
    unsigned bad;

    switch (kind) {
    case NF_CALL_BCAST:
    case NF_CALL_GATHER:
    case NF_CALL_SCATTER:
    case NF_CALL_ALLGATHER:
        return move_once(group, kind, NF_ELEM_UINT8, count);
    case NF_CALL_ALLTOALL:
        return exchange_once(group, NF_ELEM_UINT8, count) +
               exchange_unequal(group, NF_ELEM_UINT8, count);
    case NF_CALL_BARRIER:
        return nf_barrier(group) != NF_OK;
    default:
        break;
    }
    counts = calloc(ranks, sizeof(*counts));
    for (uint32_t r = 0; r < ranks; r++)
        counts[r] = count / ranks + (r < count % ranks);
    if (kind == NF_CALL_REDUCE_SCATTER)
        call.counts = counts;
    bad = combine_once(group, &call);
    free(counts);
    return bad;
}
