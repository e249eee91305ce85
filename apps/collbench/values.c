/* Inputs and results of measured calls, by arithmetic.
 *
 * A byte that goes from rank f to rank t, at place i of its block, is
 * 31 f + 17 t + 5 seed + i + floor(i / 256) mod 256: blocks that are mixed up,
 * shifted or old are wrong.  A double of rank f at place i is (f + 1) w,
 * w = (i + seed) mod 17 + 1, so the sum over ranks a..b needs no loop.
 *
 * The map of rank f at place i is x -> (4 f + 3) x + (f + 1) w.  Composed over
 * the ranks 0..l it is A x + C w, with A and C of l only.  Two ranks that
 * change places change C: for f < g by 2 (g - f) times odd numbers. */
#include "config.h"
#include "apps/collbench/values.h"
#include <string.h>

bool bench_combines(enum nf_coll_op op)
{
    return op == NF_COLL_REDUCE || op == NF_COLL_ALLREDUCE ||
           op == NF_COLL_REDUCE_SCATTER || op == NF_COLL_SCAN ||
           op == NF_COLL_EXSCAN;
}

bool bench_size_fits(enum nf_coll_op op, uint64_t bytes)
{
    if (op == NF_COLL_BARRIER)
        return bytes == 0;
    return bytes > 0 && (!bench_combines(op) || bytes % sizeof(double) == 0);
}

/* Items of the vector before block @p r. */
static uint64_t block_first(const struct bench_call *call, uint64_t items,
                            uint32_t r, uint64_t *count_p)
{
    uint64_t first;

    nf_coll_segment(items, call->ranks, r, &first, count_p);
    return first;
}

static uint64_t own_items(const struct bench_call *call, uint64_t items)
{
    uint64_t count;

    block_first(call, items, call->rank, &count);
    return count;
}

uint64_t bench_send_bytes(const struct bench_call *call)
{
    switch (call->op) {
    case NF_COLL_BCAST:
    case NF_COLL_BARRIER:
        return 0;
    case NF_COLL_ALLGATHER:
        return own_items(call, call->bytes);
    case NF_COLL_SCATTER:
        return call->rank == 0 ? call->bytes * call->ranks : 0;
    case NF_COLL_ALLTOALL:
        return call->bytes * call->ranks;
    default:
        return call->bytes;
    }
}

uint64_t bench_recv_bytes(const struct bench_call *call)
{
    switch (call->op) {
    case NF_COLL_BARRIER:
        return 0;
    case NF_COLL_GATHER:
        return call->rank == 0 ? call->bytes * call->ranks : 0;
    case NF_COLL_ALLTOALL:
        return call->bytes * call->ranks;
    case NF_COLL_REDUCE:
        return call->rank == 0 ? call->bytes : 0;
    case NF_COLL_REDUCE_SCATTER:
        return 8 * own_items(call, call->bytes / 8);
    default:
        return call->bytes;
    }
}

void bench_counts(const struct bench_call *call, size_t *counts_p)
{
    uint64_t items =
        call->op == NF_COLL_REDUCE_SCATTER ? call->bytes / 8 : call->bytes;

    for (uint32_t r = 0; r < call->ranks; r++) {
        uint64_t count;

        block_first(call, items, r, &count);
        counts_p[r] = (size_t)count;
    }
}

/* ---- bytes ---- */

static uint8_t byte_at(uint32_t base, uint64_t i)
{
    return (uint8_t)(base + (uint32_t)i + (uint32_t)(i >> 8));
}

static uint32_t base_of(const struct bench_call *call, uint32_t from,
                        uint32_t to)
{
    return 31 * from + 17 * to + 5 * call->seed;
}

static void put_bytes(uint8_t *at, uint64_t count, uint32_t base)
{
    for (uint64_t i = 0; i < count; i++)
        at[i] = byte_at(base, i);
}

static bool are_bytes(const uint8_t *at, uint64_t count, uint32_t base)
{
    uint8_t wrong = 0;

    for (uint64_t i = 0; i < count; i++)
        wrong |= (uint8_t)(at[i] ^ byte_at(base, i));
    return wrong == 0;
}

/* ---- doubles ---- */

static double weight(const struct bench_call *call, uint64_t i)
{
    return (double)((i + call->seed) % 17 + 1);
}

/* The sum of f + 1 over the ranks 0..last. */
static double rank_sum(uint32_t last)
{
    return 0.5 * ((double)last + 1) * ((double)last + 2);
}

static void put_doubles(const struct bench_call *call, double *at)
{
    for (uint64_t i = 0; i < call->bytes / 8; i++)
        at[i] = (call->rank + 1) * weight(call, i);
}

/* @p first  the place in the vector of what is at @p at */
static bool are_sums(const struct bench_call *call, const double *at,
                     uint64_t first, uint64_t count, double factor)
{
    bool right = true;

    for (uint64_t i = 0; i < count; i++)
        right &= at[i] == factor * weight(call, first + i);
    return right;
}

/* ---- maps ---- */

static uint64_t map_of(uint32_t a, uint32_t b)
{
    return (uint64_t)a << 32 | b;
}

/* First x, then y. */
static uint64_t compose(uint64_t x, uint64_t y)
{
    uint32_t xa = (uint32_t)(x >> 32), xb = (uint32_t)x;
    uint32_t ya = (uint32_t)(y >> 32), yb = (uint32_t)y;

    return map_of(xa * ya, xb * ya + yb);
}

void bench_compose(const void *in_, void *inout_, size_t count, int type,
                   void *user)
{
    const uint64_t *in = in_;
    uint64_t *inout = inout_;

    (void)type;
    (void)user;
    for (size_t i = 0; i < count; i++)
        inout[i] = compose(in[i], inout[i]);
}

static uint64_t rank_map(uint32_t rank, uint32_t weight)
{
    return map_of(4 * rank + 3, (rank + 1) * weight);
}

static void put_maps(const struct bench_call *call, uint64_t *at)
{
    for (uint64_t i = 0; i < call->bytes / 8; i++)
        at[i] = rank_map(call->rank, (uint32_t)weight(call, i));
}

/* As are_sums(), for ranks 0..last. */
static bool are_maps(const struct bench_call *call, const uint64_t *at,
                     uint64_t first, uint64_t count, uint32_t last)
{
    uint64_t all = rank_map(0, 1);
    bool right = true;

    for (uint32_t r = 1; r <= last; r++)
        all = compose(all, rank_map(r, 1));
    for (uint64_t i = 0; i < count; i++)
        right &=
            at[i] == map_of((uint32_t)(all >> 32),
                            (uint32_t)all * (uint32_t)weight(call, first + i));
    return right;
}

/* ---- what is combined ---- */

/* Over ranks 0..last. */
static bool are_combined(const struct bench_call *call, const void *at,
                         uint64_t first, uint64_t count, uint32_t last)
{
    return call->ordered ? are_maps(call, at, first, count, last)
                         : are_sums(call, at, first, count, rank_sum(last));
}

static bool is_combined_right(const struct bench_call *call, const void *recv)
{
    uint64_t items = call->bytes / 8, first, count;

    switch (call->op) {
    case NF_COLL_REDUCE:
        return call->rank != 0 ||
               are_combined(call, recv, 0, items, call->ranks - 1);
    case NF_COLL_SCAN:
        return are_combined(call, recv, 0, items, call->rank);
    case NF_COLL_EXSCAN: /* rank 0 keeps what it had */
        return call->rank == 0
                   ? are_bytes(recv, call->bytes, base_of(call, call->rank, 99))
                   : are_combined(call, recv, 0, items, call->rank - 1);
    case NF_COLL_REDUCE_SCATTER:
        first = block_first(call, items, call->rank, &count);
        return are_combined(call, recv, first, count, call->ranks - 1);
    default:
        return are_combined(call, recv, 0, items, call->ranks - 1);
    }
}

/* ---- all operations ---- */

void bench_fill(const struct bench_call *call, void *send, void *recv)
{
    uint64_t send_bytes = bench_send_bytes(call);

    put_bytes(recv, bench_recv_bytes(call), base_of(call, call->rank, 99));
    if (call->op == NF_COLL_BCAST && call->rank == 0)
        put_bytes(recv, call->bytes, base_of(call, 0, 0));
    else if (bench_combines(call->op) && call->ordered)
        put_maps(call, send);
    else if (bench_combines(call->op))
        put_doubles(call, send);
    else if (call->op == NF_COLL_ALLTOALL ||
             (call->op == NF_COLL_SCATTER && call->rank == 0))
        for (uint32_t r = 0; r < call->ranks; r++)
            put_bytes((uint8_t *)send + r * call->bytes, call->bytes,
                      base_of(call, call->rank, r));
    else if (send_bytes > 0)
        put_bytes(send, send_bytes, base_of(call, call->rank, 0));
}

bool bench_is_right(const struct bench_call *call, const void *recv)
{
    const uint8_t *bytes = recv;
    uint64_t count = call->bytes;
    bool right = true;

    if (bench_combines(call->op))
        return is_combined_right(call, recv);
    switch (call->op) {
    case NF_COLL_BCAST:
        return are_bytes(bytes, count, base_of(call, 0, 0));
    case NF_COLL_SCATTER:
        return are_bytes(bytes, count, base_of(call, 0, call->rank));
    case NF_COLL_ALLTOALL:
        for (uint32_t r = 0; r < call->ranks; r++)
            right &= are_bytes(bytes + r * count, count,
                               base_of(call, r, call->rank));
        return right;
    case NF_COLL_GATHER:
    case NF_COLL_ALLGATHER:
        if (call->op == NF_COLL_GATHER && call->rank != 0)
            return true;
        for (uint32_t r = 0; r < call->ranks; r++) {
            uint64_t first = r * call->bytes;

            if (call->op == NF_COLL_ALLGATHER)
                first = block_first(call, call->bytes, r, &count);
            right &= are_bytes(bytes + first, count, base_of(call, r, 0));
        }
        return right;
    default:
        return true;
    }
}

struct nf_coll_query bench_query(enum nf_coll_op op, uint32_t ranks,
                                 uint64_t bytes, bool ordered)
{
    return (struct nf_coll_query){
        .op = op,
        .ranks = ranks,
        .bytes = bytes,
        .elements = bench_combines(op) ? bytes / sizeof(double) : bytes,
        .commutative = !ordered || !bench_combines(op),
    };
}
