/* A structure with holes, 24 bytes in memory and 20 on the way.
 *
 * Composing is that of maps x -> count x + sum modulo a prime, the lower rank's
 * first, and the name takes its first half from the lower ranks and its second
 * from the higher: associative, not commutative. */
#include "config.h"
#include "tests/unit/group_structs.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/endian.h"

enum { PRIME = 9973, PACKED_BYTES = 20, GUARD = 0xa5 };

struct sample {
    int32_t count;
    double sum;
    char name[8];
};

/* --------------------------------------------------------------------- type */

static int pack(const void *elements, size_t count, void *packed, void *user)
{
    const struct sample *samples = elements;
    struct group_structs *s = user;
    uint8_t *to = packed;

    if (++s->packs == s->fail_pack)
        return GROUP_STRUCTS_CODE;
    for (size_t i = 0; i < count; i++, to += PACKED_BYTES) {
        uint64_t bits;

        memcpy(&bits, &samples[i].sum, sizeof(bits));
        nf_store_be32(to, (uint32_t)samples[i].count);
        nf_store_be64(to + 4, bits);
        memcpy(to + 12, samples[i].name, 8);
    }
    return 0;
}

static int unpack(const void *packed, size_t count, void *elements, void *user)
{
    struct sample *samples = elements;
    struct group_structs *s = user;
    const uint8_t *from = packed;

    if (++s->unpacks == s->fail_unpack)
        return GROUP_STRUCTS_CODE;
    for (size_t i = 0; i < count; i++, from += PACKED_BYTES) {
        uint64_t bits = nf_load_be64(from + 4);

        samples[i].count = (int32_t)nf_load_be32(from);
        memcpy(&samples[i].sum, &bits, sizeof(bits));
        memcpy(samples[i].name, from + 12, 8);
    }
    return 0;
}

static void compose(const void *in_, void *inout_, size_t count, int type,
                    void *user)
{
    const struct sample *in = in_;
    struct sample *inout = inout_;

    (void)type;
    (void)user;
    for (size_t i = 0; i < count; i++) {
        int64_t sum =
            (int64_t)in[i].sum * inout[i].count + (int64_t)inout[i].sum;

        inout[i].sum = (double)(sum % PRIME);
        inout[i].count =
            (int32_t)((int64_t)in[i].count * inout[i].count % PRIME);
        memcpy(inout[i].name, in[i].name, 4);
    }
}

static void merge(const void *in_, void *inout_, size_t count, int type,
                  void *user)
{
    const struct sample *in = in_;
    struct sample *inout = inout_;

    (void)type;
    (void)user;
    for (size_t i = 0; i < count; i++) {
        inout[i].count += in[i].count;
        inout[i].sum += in[i].sum;
        for (int c = 0; c < 8; c++)
            inout[i].name[c] = (char)(inout[i].name[c] ^ in[i].name[c]);
    }
}

int group_structs_define(struct group_structs *s, struct nf_group *group)
{
    const struct nf_packing packing = { PACKED_BYTES, pack, unpack, s };

    *s = (struct group_structs){ .group = group };
    return nf_group_define_struct(group, sizeof(struct sample), &packing,
                                  &s->type) == NF_OK &&
           nf_group_define_struct(group, sizeof(struct sample), NULL,
                                  &s->opaque) == NF_OK &&
           nf_group_define_operator(group, compose, 0, NULL, &s->compose) ==
               NF_OK &&
           nf_group_define_operator(group, merge, 1, NULL, &s->merge) == NF_OK;
}

/* ------------------------------------------------------------------- values */

static struct sample sample_of(uint32_t rank, size_t i)
{
    struct sample x;

    memset(&x, 0, sizeof(x));
    x.count = (int32_t)((rank * 131 + i * 7 + 1) % PRIME);
    x.sum = (double)((rank * 17 + i * 29 + 3) % PRIME);
    snprintf(x.name, sizeof(x.name), "%c%06u", 'a' + (int)(rank % 26),
             (unsigned)(i % 1000000));
    return x;
}

static bool is_same(const struct sample *a, const struct sample *b)
{
    return a->count == b->count && a->sum == b->sum &&
           memcmp(a->name, b->name, sizeof(a->name)) == 0;
}

/* x_0 (+) ... (+) x_last at place i */
static struct sample fold(const struct group_structs *s, int op, uint32_t last,
                          size_t i)
{
    struct sample result = sample_of(last, i);

    for (uint32_t r = last; r-- > 0;) {
        struct sample lower = sample_of(r, i);

        (op == s->compose ? compose : merge)(&lower, &result, 1, 0, NULL);
    }
    return result;
}

static struct sample *make(uint32_t rank, size_t first, size_t count)
{
    struct sample *all = malloc((count + 1) * sizeof(*all));

    for (size_t i = 0; i < count; i++)
        all[i] = sample_of(rank, first + i);
    return all;
}

static struct sample *make_empty(size_t count)
{
    struct sample *all = malloc((count + 1) * sizeof(*all));

    memset(all, GUARD, (count + 1) * sizeof(*all));
    return all;
}

/* What is behind the result stays as it is. */
static bool is_guarded(const struct sample *all, size_t count)
{
    const uint8_t *bytes = (const uint8_t *)(all + count);

    for (size_t i = 0; i < sizeof(*all); i++)
        if (bytes[i] != GUARD)
            return false;
    return true;
}

static unsigned complain(const struct group_structs *s, enum nf_status status,
                         const char *what, size_t count)
{
    printf("rank %u of %u: %s of %zu: %s\n", nf_group_rank(s->group),
           nf_group_size(s->group), what, count,
           status == NF_OK ? "wrong result" : nf_group_error(s->group)->text);
    return 1;
}

/* --------------------------------------------------------------- operations */

enum nf_status group_structs_bcast(struct group_structs *s, size_t count,
                                   unsigned *bad_p)
{
    uint32_t rank = nf_group_rank(s->group);
    struct sample *all = rank == 0 ? make(0, 0, count) : make_empty(count);
    enum nf_status status = nf_bcast(s->group, all, count, s->type, 0);

    for (size_t i = 0; i < count && status == NF_OK; i++) {
        struct sample want = sample_of(0, i);

        if (!is_same(&all[i], &want)) {
            *bad_p += complain(s, status, "bcast", count);
            break;
        }
    }
    if (status == NF_OK && rank != 0 && !is_guarded(all, count))
        *bad_p += complain(s, status, "bcast", count);
    free(all);
    return status;
}

static const char *const combining[] = { "reduce", "allreduce", "scan",
                                         "exscan", "reduce_scatter" };
enum { COMBINING = sizeof(combining) / sizeof(*combining) };

static enum nf_status combine(struct group_structs *s, int which,
                              const struct sample *send, struct sample *recv,
                              const size_t *counts, size_t count, int op)
{
    uint32_t root = nf_group_size(s->group) - 1;

    switch (which) {
    case 0:
        return nf_reduce(s->group, send, recv, count, s->type, op, root);
    case 1:
        return nf_allreduce(s->group, send, recv, count, s->type, op);
    case 2:
        return nf_scan(s->group, send, recv, count, s->type, op);
    case 3:
        return nf_exscan(s->group, send, recv, count, s->type, op);
    default:
        return nf_reduce_scatter(s->group, send, recv, counts, s->type, op);
    }
}

static unsigned try_combining(struct group_structs *s, int which, size_t count,
                              int op)
{
    uint32_t rank = nf_group_rank(s->group), ranks = nf_group_size(s->group);
    uint32_t last = which == 2 ? rank : which == 3 ? rank - 1 : ranks - 1;
    struct sample *send = make(rank, 0, count), *recv = make_empty(count);
    size_t *counts = calloc(ranks, sizeof(*counts)), first = 0, got = count;
    enum nf_status status;
    bool right = true;

    for (size_t i = 0; i < count; i++)
        counts[i % ranks]++;
    if (which == 4) {
        for (uint32_t r = 0; r < rank; r++)
            first += counts[r];
        got = counts[rank];
    } else if ((which == 0 && rank != ranks - 1) || (which == 3 && rank == 0)) {
        got = 0;
    }
    status = combine(s, which, send, recv, counts, count, op);
    for (size_t i = 0; i < got && right; i++) {
        struct sample want = fold(s, op, last, first + i);

        right = is_same(&recv[i], &want);
    }
    right = right && is_guarded(recv, got);
    free(send);
    free(recv);
    free(counts);
    return status == NF_OK && right
               ? 0
               : complain(s, status, combining[which], count);
}

/* How many elements go from one rank to another. */
static size_t pair_count(size_t count, uint32_t from, uint32_t to)
{
    return (from * 3 + to * 5) % 4 * count / 3;
}

/* Gatherv to rank 0 and back by scatterv, with gaps between the blocks. */
static unsigned try_blocks(struct group_structs *s, size_t count)
{
    uint32_t rank = nf_group_rank(s->group), ranks = nf_group_size(s->group);
    size_t *counts = calloc(2 * (size_t)ranks, sizeof(*counts));
    size_t *offsets = counts + ranks, total = 0, own;
    struct sample *send, *all, *back;
    enum nf_status status;
    bool right = true;

    for (uint32_t r = 0; r < ranks; r++) {
        counts[r] = pair_count(count, r, 1);
        offsets[r] = total;
        total += counts[r] + 1;
    }
    own = counts[rank];
    send = make(rank, 0, own);
    all = make_empty(total);
    back = make_empty(own);
    status = nf_gatherv(s->group, send, own, all, rank == 0 ? counts : NULL,
                        rank == 0 ? offsets : NULL, s->type, 0);
    for (uint32_t r = 0; r < ranks && rank == 0; r++)
        for (size_t i = 0; i <= counts[r]; i++) {
            struct sample want = sample_of(r, i);

            right = right &&
                    (i == counts[r] ? is_guarded(all + offsets[r], i)
                                    : is_same(&all[offsets[r] + i], &want));
        }
    if (status == NF_OK)
        status = nf_scatterv(s->group, all, rank == 0 ? counts : NULL,
                             rank == 0 ? offsets : NULL, back, own, s->type, 0);
    for (size_t i = 0; i < own && status == NF_OK; i++)
        right = right && is_same(&back[i], &send[i]);
    right = right && is_guarded(back, own);
    free(counts);
    free(send);
    free(all);
    free(back);
    return status == NF_OK && right ? 0 : complain(s, status, "gatherv", count);
}

/* @param varies  blocks of different sizes, some empty */
static unsigned try_exchange(struct group_structs *s, size_t count, bool varies)
{
    uint32_t rank = nf_group_rank(s->group), ranks = nf_group_size(s->group);
    size_t *counts = calloc(2 * (size_t)ranks, sizeof(*counts));
    size_t *send_counts = counts + ranks, in = 0, out = 0;
    struct sample *send = make_empty(ranks * count), *recv;
    enum nf_status status;
    bool right = true;

    recv = make_empty(ranks * count);
    for (uint32_t r = 0; r < ranks; r++) {
        counts[r] = varies ? pair_count(count, r, rank) : count;
        send_counts[r] = varies ? pair_count(count, rank, r) : count;
        for (size_t i = 0; i < send_counts[r]; i++)
            send[out++] = sample_of(rank * ranks + r, i);
    }
    status = varies ? nf_alltoallv(s->group, send, send_counts, NULL, recv,
                                   counts, NULL, s->type)
                    : nf_alltoall(s->group, send, recv, count, s->type);
    for (uint32_t r = 0; r < ranks; r++)
        for (size_t i = 0; i < counts[r]; i++) {
            struct sample want = sample_of(r * ranks + rank, i);

            right = right && is_same(&recv[in++], &want);
        }
    right = right && is_guarded(recv, in);
    free(counts);
    free(send);
    free(recv);
    return status == NF_OK && right
               ? 0
               : complain(s, status, varies ? "alltoallv" : "alltoall", count);
}

static unsigned try_allgather(struct group_structs *s, size_t count, int type)
{
    uint32_t rank = nf_group_rank(s->group), ranks = nf_group_size(s->group);
    struct sample *send = make(rank, 0, count);
    struct sample *recv = make_empty(ranks * count);
    enum nf_status status = nf_allgather(s->group, send, recv, count, type);
    bool right = is_guarded(recv, ranks * count);

    for (uint32_t r = 0; r < ranks; r++)
        for (size_t i = 0; i < count; i++) {
            struct sample want = sample_of(r, i);

            right = right && is_same(&recv[r * count + i], &want);
        }
    free(send);
    free(recv);
    return status == NF_OK && right ? 0
                                    : complain(s, status, "allgather", count);
}

unsigned group_structs_try(struct group_structs *s)
{
    static const size_t counts[] = { 0, 1, 2, 37, 5003 };
    unsigned bad = 0, packs;

    for (size_t c = 0; c < sizeof(counts) / sizeof(*counts) && bad == 0; c++) {
        if (group_structs_bcast(s, counts[c], &bad) != NF_OK)
            bad += complain(s, NF_ERR_FAILED, "bcast", counts[c]);
        for (int which = 0; which < COMBINING && bad == 0; which++)
            bad += try_combining(s, which, counts[c], s->compose) +
                   try_combining(s, which, counts[c], s->merge);
        bad += try_blocks(s, counts[c]);
        bad += try_allgather(s, counts[c], s->type);
        bad += try_exchange(s, counts[c], false);
        bad += try_exchange(s, counts[c], true);
        packs = s->packs;
        bad += try_allgather(s, counts[c], s->opaque);
        bad += s->packs != packs;
    }
    return bad;
}
