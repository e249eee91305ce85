/* Random calls, and the results that they must have by a plain loop over all
 * members. */
#include "config.h"
#include "tests/unit/group_rounds.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"

enum { PRIME = 65521 };

struct matrix {
    uint32_t a[4];
};

static void multiply(const void *in_, void *inout_, size_t count, int type,
                     void *user)
{
    const struct matrix *in = in_;
    struct matrix *inout = inout_;

    (void)type;
    (void)user;
    for (size_t i = 0; i < count; i++) {
        const uint32_t *x = in[i].a, *y = inout[i].a;
        struct matrix z;

        for (int r = 0; r < 2; r++)
            for (int c = 0; c < 2; c++)
                z.a[2 * r + c] =
                    (uint32_t)(((uint64_t)x[2 * r] * y[c] +
                                (uint64_t)x[2 * r + 1] * y[2 + c]) %
                               PRIME);
        inout[i] = z;
    }
}

/* Commutes: members may take it in any order. */
static void add(const void *in_, void *inout_, size_t count, int type,
                void *user)
{
    const struct matrix *in = in_;
    struct matrix *inout = inout_;

    (void)type;
    (void)user;
    for (size_t i = 0; i < count; i++)
        for (int j = 0; j < 4; j++)
            inout[i].a[j] = (in[i].a[j] + inout[i].a[j]) % PRIME;
}

bool round_define(struct nf_group *group)
{
    int type, product, sum;

    return nf_group_define_type(group, 4, 4, &type) == NF_OK &&
           nf_group_define_operator(group, multiply, 0, NULL, &product) ==
               NF_OK &&
           nf_group_define_operator(group, add, 1, NULL, &sum) == NF_OK &&
           type == ROUND_MATRIX && product == ROUND_MULTIPLY &&
           sum == ROUND_ADD;
}

/* Types of numbers, which fill as many bytes as a matrix: whole ones, some of
 * which wrap around, and others, of which all sums are exact. */
/* clang-format off */
#define WHOLE(X)                                                               \
    X(BYTE, uint8_t) X(INT8, int8_t) X(INT16, int16_t) X(INT32, int32_t)       \
    X(INT64, int64_t) X(UINT8, uint8_t) X(UINT16, uint16_t)                    \
    X(UINT32, uint32_t) X(UINT64, uint64_t)
#define BROKEN(X)                                                              \
    X(FLOAT32, float) X(FLOAT64, double) X(COMPLEX64, float)                   \
    X(COMPLEX128, double)
/* clang-format on */

/* Small numbers, as tests say them, are of rounds of matrices and UINT32. */
static int type_of(uint64_t number)
{
    static const int types[] = {
        NF_ELEM_UINT32,    NF_ELEM_BYTE,    NF_ELEM_INT8,    NF_ELEM_INT16,
        NF_ELEM_INT32,     NF_ELEM_INT64,   NF_ELEM_UINT8,   NF_ELEM_UINT16,
        NF_ELEM_UINT64,    NF_ELEM_FLOAT32, NF_ELEM_FLOAT64, NF_ELEM_COMPLEX64,
        NF_ELEM_COMPLEX128
    };

    return number % 2 == 0
               ? (int)ROUND_MATRIX
               : types[(number >> 32) % (sizeof(types) / sizeof(*types))];
}

/* Elements of a type in 16 bytes. */
static size_t per_matrix(int type)
{
    return type == ROUND_MATRIX
               ? 1
               : sizeof(struct matrix) / nf_elem_bytes(NULL, type);
}

static struct matrix element(uint64_t number, uint32_t rank, size_t i)
{
    struct nf_rng rng = { number * 1000003 + rank * 7919 + i };
    struct matrix m;
    uint8_t *at = (uint8_t *)&m;

    switch (type_of(number)) {
#define DRAW(name, ctype)                                                      \
    case NF_ELEM_##name:                                                       \
        for (size_t j = 0; j < sizeof(m); j += sizeof(ctype)) {                \
            ctype x = (ctype)nf_rng_below(&rng, PRIME);                        \
                                                                               \
            memcpy(at + j, &x, sizeof(x));                                     \
        }                                                                      \
        break;
        WHOLE(DRAW)
        BROKEN(DRAW)
#undef DRAW
    default:
        for (int j = 0; j < 4; j++)
            m.a[j] = (uint32_t)nf_rng_below(&rng, PRIME);
    }
    return m;
}

/* inout := lower (+) inout */
static void combine_numbers(int type, int op, const struct matrix *lower,
                            struct matrix *inout)
{
    const uint8_t *left = (const uint8_t *)lower;
    uint8_t *right = (uint8_t *)inout;

    switch (type) {
#define COMBINE(name, ctype, more)                                             \
    case NF_ELEM_##name:                                                       \
        for (size_t j = 0; j < sizeof(*inout); j += sizeof(ctype)) {           \
            ctype x, y;                                                        \
                                                                               \
            memcpy(&x, left + j, sizeof(x));                                   \
            memcpy(&y, right + j, sizeof(y));                                  \
            y = (ctype)(op == NF_MIN   ? (x < y ? x : y)                       \
                        : op == NF_MAX ? (x > y ? x : y)                       \
                                       : (ctype)(more));                       \
            memcpy(right + j, &y, sizeof(y));                                  \
        }                                                                      \
        break;
#define COMBINE_WHOLE(name, ctype)                                             \
    COMBINE(name, ctype,                                                       \
            op == NF_BXOR ? (uint64_t)x ^ (uint64_t)y                          \
                          : (uint64_t)x + (uint64_t)y)
#define COMBINE_BROKEN(name, ctype) COMBINE(name, ctype, x + y)
        WHOLE(COMBINE_WHOLE)
        BROKEN(COMBINE_BROKEN)
#undef COMBINE
#undef COMBINE_WHOLE
#undef COMBINE_BROKEN
    default:
        break;
    }
}

/* inout := lower (+) inout, one matrix or the numbers in its place */
static void combine(int type, int op, const struct matrix *lower,
                    struct matrix *inout)
{
    if (op == ROUND_MULTIPLY) {
        multiply(lower, inout, 1, 0, NULL);
        return;
    }
    if (op == ROUND_ADD) {
        add(lower, inout, 1, 0, NULL);
        return;
    }
    combine_numbers(type, op, lower, inout);
}

/* first (+) ... (+) first + count - 1 */
static struct matrix fold(const struct round *round, uint64_t number,
                          uint32_t count, size_t i)
{
    struct matrix result = element(number, count - 1, i);

    for (uint32_t r = count - 1; r-- > 0;) {
        struct matrix lower = element(number, r, i);

        combine(round->call.type, round->call.op, &lower, &result);
    }
    return result;
}

static bool is_root(const struct round *round)
{
    return round->call.root == round->rank;
}

static bool varies(enum nf_call_kind kind, uint64_t number)
{
    return kind == NF_CALL_REDUCE_SCATTER ||
           ((kind == NF_CALL_GATHER || kind == NF_CALL_SCATTER ||
             kind == NF_CALL_ALLGATHER || kind == NF_CALL_ALLTOALL) &&
            number % 3 == 0);
}

/* All-to-all: elements from one rank to another.  The same both ways, so that
 * it can be done in place. */
static size_t pair_count(size_t count, bool differ, uint32_t a, uint32_t b)
{
    return differ ? (count + (a + b) * 3) % 11 : count;
}

/* Where the block of the other rank for this one begins in what that sends. */
static size_t pair_offset(const struct round *round, size_t count,
                          uint32_t other)
{
    bool differ = varies(round->call.kind, round->number);
    size_t offset = 0;

    for (uint32_t to = 0; to < round->rank; to++)
        offset += pair_count(count, differ, other, to);
    return offset;
}

/* Elements of the result, and which. */
static struct matrix result_of(const struct round *round, uint64_t number,
                               size_t i)
{
    uint32_t block = 0;

    switch (round->call.kind) {
    case NF_CALL_BCAST:
        return element(number, round->call.root, i);
    case NF_CALL_SCAN:
        return fold(round, number, round->rank + 1, i);
    case NF_CALL_EXSCAN:
        return fold(round, number, round->rank, i);
    case NF_CALL_REDUCE_SCATTER:
        return fold(round, number, round->ranks,
                    round->offsets[round->rank] + i);
    case NF_CALL_SCATTER:
        return element(number, round->call.root,
                       round->offsets[round->rank] + i);
    case NF_CALL_ALLGATHER:
    case NF_CALL_GATHER:
        while (i >= round->offsets[block] + round->counts[block])
            block++;
        return element(number, block, i - round->offsets[block]);
    case NF_CALL_ALLTOALL:
        while (i >= round->offsets[block] + round->counts[block])
            block++;
        return element(number, block,
                       pair_offset(round, round->call.count, block) + i -
                           round->offsets[block]);
    default:
        return fold(round, number, round->ranks, i);
    }
}

static bool has_result(const struct round *round)
{
    switch (round->call.kind) {
    case NF_CALL_REDUCE:
    case NF_CALL_GATHER:
        return is_root(round);
    case NF_CALL_EXSCAN:
        return round->rank > 0;
    case NF_CALL_BARRIER:
        return false;
    default:
        return true;
    }
}

/* Sizes of send and recv, in elements. */
static void sizes(const struct round *round, size_t total, size_t *send_p,
                  size_t *recv_p)
{
    size_t own = round->counts[round->rank];
    enum nf_call_kind kind = round->call.kind;

    *send_p = *recv_p = round->call.count;
    if (kind == NF_CALL_REDUCE_SCATTER || kind == NF_CALL_SCATTER) {
        *send_p = total;
        *recv_p = own;
    } else if (kind == NF_CALL_GATHER || kind == NF_CALL_ALLGATHER) {
        *send_p = own;
        *recv_p = total;
    }
    if (kind == NF_CALL_ALLTOALL)
        *send_p = *recv_p = total;
    if (kind == NF_CALL_BARRIER)
        *send_p = *recv_p = 0;
}

static bool may_be_in_place(const struct round *round)
{
    switch (round->call.kind) {
    case NF_CALL_REDUCE:
    case NF_CALL_GATHER:
    case NF_CALL_SCATTER:
        return is_root(round);
    case NF_CALL_REDUCE_SCATTER:
    case NF_CALL_ALLGATHER:
    case NF_CALL_ALLREDUCE:
    case NF_CALL_SCAN:
    case NF_CALL_EXSCAN:
    case NF_CALL_ALLTOALL:
        return true;
    default:
        return false;
    }
}

/* The same call on one buffer. */
static void go_in_place(struct round *round, size_t send)
{
    struct nf_call *call = &round->call;
    size_t own = round->counts[round->rank] * 16;
    uint8_t *recv = round->recv;

    call->send = NF_IN_PLACE;
    if (call->kind == NF_CALL_GATHER || call->kind == NF_CALL_ALLGATHER) {
        memcpy(recv + round->offsets[round->rank] * 16, round->send, own);
    } else if (call->kind == NF_CALL_SCATTER) {
        call->send = round->send;
        call->recv = NF_IN_PLACE;
        memset(round->want, 0xee, round->recv_bytes);
    } else if (call->kind == NF_CALL_REDUCE_SCATTER) {
        uint8_t *want = malloc(send * 16 + 16);

        memcpy(want, round->send, send * 16);
        memcpy(want, round->want, own);
        free(round->want);
        free(round->recv);
        round->want = want;
        round->recv_bytes = send * 16;
        call->recv = round->recv = malloc(send * 16 + 16);
        memcpy(round->recv, round->send, send * 16);
        memset(want + send * 16, 0xee, 16);
        memset((uint8_t *)round->recv + send * 16, 0xee, 16);
    } else {
        memcpy(recv, round->send, send * 16);
        if (!has_result(round))
            memcpy(round->want, round->send, send * 16);
    }
}

static void set_call(struct round *round, uint64_t number, size_t count)
{
    struct nf_call *call = &round->call;
    bool differ = varies(call->kind, number);
    size_t total = 0;

    for (uint32_t r = 0; r < round->ranks; r++) {
        round->counts[r] = differ ? (count + r * 3) % 11 : count;
        if (call->kind == NF_CALL_ALLTOALL)
            round->counts[r] = pair_count(count, differ, r, round->rank);
        round->offsets[r] = total;
        total += round->counts[r];
    }
    call->count = differ ? round->counts[round->rank] : count;
    if (call->kind == NF_CALL_ALLTOALL) {
        call->count = count; /* not used if they differ */
        call->varies = differ;
        call->counts = call->send_counts = round->counts;
        if (number % 2 == 0)
            call->offsets = round->offsets;
        if (number % 4 == 0)
            call->send_offsets = round->offsets;
    } else if (differ) {
        bool all = call->kind == NF_CALL_REDUCE_SCATTER ||
                   call->kind == NF_CALL_ALLGATHER;

        call->varies = !all;
        if (all || is_root(round))
            call->counts = round->counts;
        if (number % 2 == 0 && call->kind != NF_CALL_REDUCE_SCATTER)
            call->offsets = round->offsets;
    }
}

/* Those of matrices, most of them the one that does not commute, and what the
 * type can be combined by. */
static int operator_of(uint64_t number, int type)
{
    static const int of_numbers[] = { NF_SUM, NF_MIN, NF_MAX, NF_BXOR };
    int op = of_numbers[number / 2 % 4];

    if (type == ROUND_MATRIX)
        return number % 6 == 4 ? ROUND_ADD : ROUND_MULTIPLY;
    if (type == NF_ELEM_BYTE)
        return NF_BXOR;
    return nf_operator_fits(NULL, type, op) ? op : NF_SUM;
}

void round_make_kind(struct round *round, uint32_t rank, uint32_t ranks,
                     uint64_t number, enum nf_call_kind kind, size_t count)
{
    struct nf_call *call = &round->call;
    size_t send, recv;
    int type = type_of(number);

    memset(round, 0, sizeof(*round));
    round->rank = rank;
    round->ranks = ranks;
    round->number = number;
    call->kind = kind;
    call->root = (uint32_t)(number % ranks);
    call->op = operator_of(number, type);
    call->type = type;
    set_call(round, number, count);
    sizes(round, round->offsets[ranks - 1] + round->counts[ranks - 1], &send,
          &recv);
    round->recv_bytes = recv * 16;
    round->send_bytes = send * 16;
    round->send = malloc(send * 16 + 1);
    round->recv = malloc(recv * 16 + 16);
    round->want = malloc(recv * 16 + 16);
    memset(round->recv, 0xee, recv * 16 + 16);
    memset(round->want, 0xee, recv * 16 + 16);
    for (size_t i = 0; i < send; i++)
        ((struct matrix *)round->send)[i] = element(number, rank, i);
    for (size_t i = 0; i < recv && has_result(round); i++)
        ((struct matrix *)round->want)[i] = result_of(round, number, i);
    call->send = round->send;
    call->recv = round->recv;
    if (kind == NF_CALL_BCAST && is_root(round))
        memcpy(round->recv, round->send, send * 16);
    if (may_be_in_place(round) && number % 5 < 2)
        go_in_place(round, send);
    call->count *= per_matrix(type);
    for (uint32_t r = 0; r < ranks; r++) {
        round->counts[r] *= per_matrix(type);
        round->offsets[r] *= per_matrix(type);
    }
}

void round_make(struct round *round, uint32_t rank, uint32_t ranks,
                uint64_t number)
{
    struct nf_rng rng = { number };
    enum nf_call_kind kind;
    size_t count;

    kind = (enum nf_call_kind)nf_rng_below(&rng, NF_CALL_BARRIER + 1);
    count = (size_t)nf_rng_below(&rng, nf_rng_below(&rng, 4) == 0 ? 900 : 20);
    round_make_kind(round, rank, ranks, number, kind, count);
}

bool round_is_right(const struct round *round)
{
    return memcmp(round->recv, round->want, round->recv_bytes + 16) == 0;
}

bool round_keeps_input(const struct round *round)
{
    const struct matrix *send = round->send;

    for (size_t i = 0; i < round->send_bytes / 16; i++) {
        struct matrix was = element(round->number, round->rank, i);

        if (memcmp(&was, &send[i], sizeof(was)) != 0)
            return false;
    }
    if (round->call.kind == NF_CALL_BCAST && is_root(round))
        return round_is_right(round);
    return memcmp((const uint8_t *)round->recv + round->recv_bytes,
                  (const uint8_t *)round->want + round->recv_bytes, 16) == 0;
}

void round_fini(struct round *round)
{
    free(round->send);
    free(round->recv);
    free(round->want);
}

bool write_table(const char *path)
{
    struct nf_coll_rules rules;
    struct nf_coll_rule rule = {
        .op = NF_COLL_BCAST,
        .operators = NF_CLASS_ANY,
        .ranks = 3,
        .max_bytes = UINT64_MAX,
        .algorithm = nf_coll_find("bcast.flat"),
        .k_rule = NF_K_FIXED,
        .value = 1,
    };
    char *text = NULL;
    size_t bytes = 0;
    FILE *file;
    bool ok;

    nf_coll_rules_init(&rules);
    rules.model.npieces = 1;
    rules.model.pieces[0].start_us = 50;
    rules.model.pieces[0].byte_us = 0.01;
    rules.model.delta = 1;
    snprintf(rules.model.date, sizeof(rules.model.date), "%s",
             "2026-11-21T23:50:30Z");
    rules.model.route = NF_MODEL_ROUTE_DIRECT;
    ok = nf_coll_rules_add(&rules, &rule) == NF_OK &&
         nf_coll_rules_write(&rules, &text, &bytes, NULL) == NF_OK;
    file = ok ? fopen(path, "wb") : NULL;
    ok = file != NULL && fwrite(text, 1, bytes, file) == bytes;
    if (file != NULL)
        ok = fclose(file) == 0 && ok;
    nf_free(text);
    nf_coll_rules_fini(&rules);
    return ok;
}

enum nf_status start_somehow(struct nf_group *group, const struct nf_call *call,
                             struct nf_request **request_p)
{
    char *forced = group->forced[call->kind], saved = forced[0];
    enum nf_status status = nf_group_start(group, call, request_p);

    if (status != NF_ERR_INVAL ||
        strstr(nf_group_error(group)->text, "cannot serve") == NULL)
        return status;
    forced[0] = '\0';
    status = nf_group_start(group, call, request_p);
    forced[0] = saved;
    return status;
}

void draw_algorithms(struct nf_rng *rng, uint32_t ranks, char *text,
                     size_t bytes)
{
    size_t used = 0;

    text[0] = '\0';
    for (int op = 0; op < NF_COLL_OPS; op++) {
        const struct nf_coll_algorithm *drawn = NULL;
        uint64_t seen = 0;

        for (size_t i = 0; nf_coll_table[i] != NULL; i++)
            if ((int)nf_coll_table[i]->op == op &&
                nf_coll_fits(
                    nf_coll_table[i],
                    &(struct nf_coll_args){ .ranks = ranks, .segments = 1 },
                    NULL) == NF_OK &&
                nf_rng_below(rng, ++seen) == 0)
                drawn = nf_coll_table[i];
        if (drawn == NULL)
            continue;
        used += (size_t)snprintf(text + used, bytes - used, "%s%s",
                                 used > 0 ? "," : "", drawn->name);
        if (drawn->items == NF_ITEMS_SEGMENTS)
            used += (size_t)snprintf(text + used, bytes - used, ":k=%u",
                                     1 + (unsigned)nf_rng_below(rng, 9));
    }
}
