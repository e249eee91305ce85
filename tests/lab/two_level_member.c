/* One member of a group over several hosts, by algorithms of two levels.
 *
 *   two_level_member FOLDER RANK MEMBERS BYTES ROUNDS
 *
 * Each writes its tid to FOLDER/tid.RANK.  Then they broadcast, add, multiply
 * matrices, which does not commute, and meet, with every root, and compare all
 * results.  What there is to say is lines of words on standard output:
 *
 *   product STATUS    of the first call that multiplies: NF_ERR_INVAL where the
 *                     algorithm does not keep the order, and no others follow
 *   right             so were all results
 *
 * With ROUNDS 0 there is one broadcast of BYTES from member 0, and no more.
 * The exit status is 0 if all was right. */
#include "config.h"
#include <pvm3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "nowfarm_group.h"
#include "tests/lab/meet.h"

enum { MEMBERS_MOST = 16, PRIME = 65521 };

struct matrix {
    uint32_t a[4];
};

struct member {
    struct nf_group *group;
    uint32_t rank, count;
    size_t elements; /* matrices, which are two words of 64 bits each */
    struct matrix *in, *out;
    int type, multiply;
    bool told; /* whether matrices can be multiplied, and */
    bool multiplies;
};

static void multiply(const void *in_, void *inout_, size_t count, int type,
                     void *user)
{
    const struct matrix *in = in_;
    struct matrix *inout = inout_;

    (void)type;
    (void)user;
    for (size_t i = 0; i < count; i++) {
        const uint64_t x[4] = { in[i].a[0], in[i].a[1], in[i].a[2],
                                in[i].a[3] };
        const uint64_t y[4] = { inout[i].a[0], inout[i].a[1], inout[i].a[2],
                                inout[i].a[3] };

        for (int r = 0; r < 2; r++)
            for (int c = 0; c < 2; c++)
                inout[i].a[2 * r + c] =
                    (uint32_t)((x[2 * r] * y[c] + x[2 * r + 1] * y[2 + c]) %
                               PRIME);
    }
}

/* What @p rank has as element @p i in call @p n. */
static struct matrix input(uint32_t rank, uint32_t n, size_t i)
{
    uint64_t x = (rank + 1) * UINT64_C(1000003) + n * UINT64_C(7919) + i;
    struct matrix m;

    for (int j = 0; j < 4; j++) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
        m.a[j] = (uint32_t)(x >> 40) % PRIME;
    }
    return m;
}

/* Of all ranks in their order: sums by 64 bits, or the product. */
static struct matrix combined(const struct member *m, uint32_t n, size_t i,
                              bool product)
{
    struct matrix all = input(m->count - 1, n, i);

    for (uint32_t r = m->count - 1; r-- > 0;) {
        struct matrix one = input(r, n, i);
        uint64_t x[2], y[2];

        if (product) {
            multiply(&one, &all, 1, 0, NULL);
            continue;
        }
        memcpy(x, &one, sizeof(x));
        memcpy(y, &all, sizeof(y));
        y[0] += x[0];
        y[1] += x[1];
        memcpy(&all, y, sizeof(all));
    }
    return all;
}

static void fail(const struct member *m, const char *what, uint32_t n)
{
    printf("%s %u is wrong: %s\n", what, n, nf_group_error(m->group)->text);
    exit(1);
}

static void broadcast(struct member *m, uint32_t n)
{
    uint32_t root = n % m->count;

    for (size_t i = 0; i < m->elements && m->rank == root; i++)
        m->in[i] = input(root, n, i);
    if (nf_bcast(m->group, m->in, m->elements, m->type, root) != NF_OK)
        fail(m, "broadcast", n);
    for (size_t i = 0; i < m->elements; i++) {
        struct matrix want = input(root, n, i);

        if (memcmp(&want, &m->in[i], sizeof(want)) != 0)
            fail(m, "broadcast", n);
    }
}

/* @param all  everybody gets it
 *  @return false: the algorithm does not serve this operator */
static bool combine(struct member *m, uint32_t n, bool all, bool product)
{
    size_t count = product ? m->elements : 2 * m->elements;
    int type = product ? m->type : NF_ELEM_UINT64;
    int op = product ? m->multiply : NF_SUM;
    uint32_t root = n % m->count;
    enum nf_status status;

    for (size_t i = 0; i < m->elements; i++)
        m->in[i] = input(m->rank, n, i);
    status = all ? nf_allreduce(m->group, m->in, m->out, count, type, op)
                 : nf_reduce(m->group, m->in, m->out, count, type, op, root);
    if (product && !m->told)
        printf("product %d\n", (int)status);
    m->told = m->told || product;
    if (product && status == NF_ERR_INVAL)
        return false;
    if (status != NF_OK)
        fail(m, product ? "product" : "sum", n);
    for (size_t i = 0; i < m->elements && (all || m->rank == root); i++) {
        struct matrix want = combined(m, n, i, product);

        if (memcmp(&want, &m->out[i], sizeof(want)) != 0)
            fail(m, product ? "product" : "sum", n);
    }
    return true;
}

static void play(struct member *m, uint32_t rounds)
{
    m->multiplies = true;
    for (uint32_t n = 0; n < rounds; n++) {
        broadcast(m, n);
        combine(m, n, false, false);
        combine(m, n, true, false);
        m->multiplies = m->multiplies && combine(m, n, false, true);
        m->multiplies = m->multiplies && combine(m, n, true, true);
        if (nf_barrier(m->group) != NF_OK)
            fail(m, "barrier", n);
    }
    if (rounds == 0)
        broadcast(m, 0);
    printf("right\n");
}

int main(int argc, char **argv)
{
    struct member m = { .rank = 0 };
    int tids[MEMBERS_MOST] = { 0 };
    struct nf_error err = { NF_OK, "" };

    if (argc != 6)
        return 99;
    m.rank = (uint32_t)strtoul(argv[2], NULL, 10);
    m.count = (uint32_t)strtoul(argv[3], NULL, 10);
    m.elements = strtoul(argv[4], NULL, 10) / sizeof(*m.in);
    m.in = calloc(m.elements, sizeof(*m.in));
    m.out = calloc(m.elements, sizeof(*m.out));
    if (m.count > MEMBERS_MOST || m.in == NULL || m.out == NULL)
        return 99;
    lab_tell_tid(argv[1], m.rank);
    lab_find_tids(argv[1], m.count, tids);
    if (nf_group_open(tids, m.count, 1, NULL, &m.group, &err) != NF_OK ||
        nf_group_define_type(m.group, 4, 4, &m.type) != NF_OK ||
        nf_group_define_operator(m.group, multiply, 0, NULL, &m.multiply) !=
            NF_OK) {
        printf("not opened: %s\n", err.text);
        return 1;
    }
    play(&m, (uint32_t)strtoul(argv[5], NULL, 10));
    nf_group_close(m.group);
    pvm_exit();
    free(m.in);
    free(m.out);
    return 0;
}
