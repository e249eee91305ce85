/* Double-Hop of rings of even n, Modified Double-Hop of odd n.
 *
 * Even nodes form a class that goes forward by two, odd ones a class that goes
 * back by two; an odd ring is closed by 1 hop forward from n-1 to 0, and by 3
 * hops back from 1 to n-2.  A block gets off where a last hop from there, or
 * none, takes it to its destination:
 *
 *     keep(p) = { p, p+1 }; n odd: keep(n-1) = { n-1 }, keep(1) = { 1, 2, 0 }
 *     class steps t = 1..c-1, c nodes in the class: blocks not in keep(p)
 *     then p -> p+1: blocks for p+1, that p has kept
 *     n odd, last: 1 -> 0: blocks for 0
 *
 * In place: with succ(p, o) the node o class hops ahead, a node has groups
 * G[o], o = 0..c-1, at first its own blocks for keep(succ(p, o)).  In step t it
 * sends G[2], G[3], .., G[c-t], G[1], and stores what comes in as G[1] ..
 * G[c-t]: the same slots.  In the end G[o] is what succ(p, o) wrote for
 * keep(p). */
#include "config.h"
#include "common/coll/exchange.h"

/* The nodes of p's parity. */
static uint32_t class_size(uint32_t n, uint32_t p)
{
    return p % 2 == 0 ? (n + 1) / 2 : n / 2;
}

/* The node that is o class hops ahead. */
static uint32_t ahead(uint32_t n, uint32_t p, uint32_t o)
{
    uint32_t c = class_size(n, p), i = p / 2;

    o %= c;
    return 2 * ((p % 2 == 0 ? i + o : i + c - o) % c) + p % 2;
}

/* @param keep  [3], p first  @return how many */
static uint32_t kept_at(uint32_t n, uint32_t p, uint32_t *keep)
{
    uint32_t count = 1;

    keep[0] = p;
    if (n % 2 == 0 || p != n - 1)
        keep[count++] = (p + 1) % n;
    if (n % 2 != 0 && p == 1)
        keep[count++] = 0;
    return count;
}

static int32_t class_hops(uint32_t n, uint32_t p)
{
    if (p % 2 == 0)
        return n % 2 != 0 && p == n - 1 ? 1 : 2;
    return n % 2 != 0 && p == 1 ? -3 : -2;
}

static uint32_t class_steps(uint32_t n)
{
    return class_size(n, 0) - 1;
}

static uint32_t steps(const struct nf_ring_kernel *self, uint32_t n)
{
    (void)self;
    return class_steps(n) + 1 + n % 2;
}

static void class_sends(uint32_t n, uint32_t t, uint32_t node,
                        struct nf_ring_move *move, struct nf_ring_block *blocks)
{
    uint32_t c = class_size(n, node), keep[3];
    uint32_t source = ahead(n, node, c - (t - 1) % c);

    *move = (struct nf_ring_move){ .to = ahead(n, node, 1),
                                   .hops = class_hops(n, node) };
    if (t >= c || blocks == NULL)
        return;
    for (uint32_t i = 1; i <= c - t; i++) {
        uint32_t group = i < c - t ? i + 1 : 1;
        uint32_t count = kept_at(n, ahead(n, node, group), keep);

        for (uint32_t j = 0; j < count; j++)
            blocks[move->count++] = (struct nf_ring_block){ source, keep[j] };
    }
}

/* What the class has brought for the node to. */
static void single_sends(uint32_t n, uint32_t node, uint32_t to, int32_t hops,
                         struct nf_ring_move *move,
                         struct nf_ring_block *blocks)
{
    uint32_t c = class_size(n, node);

    *move = (struct nf_ring_move){ .to = to, .hops = hops, .count = c };
    for (uint32_t o = 0; blocks != NULL && o < c; o++)
        blocks[o] = (struct nf_ring_block){ ahead(n, node, o), to };
}

static void sends(const struct nf_ring_kernel *self, uint32_t n, uint32_t step,
                  uint32_t node, struct nf_ring_move *move,
                  struct nf_ring_block *blocks)
{
    uint32_t single = class_steps(n);

    (void)self;
    *move = (struct nf_ring_move){ .count = 0 };
    if (step < single)
        class_sends(n, step + 1, node, move, blocks);
    else if (step == single && (n % 2 == 0 || node != n - 1))
        single_sends(n, node, (node + 1) % n, 1, move, blocks);
    else if (step > single && node == 1)
        single_sends(n, node, 0, -1, move, blocks);
}

struct nf_ring_kernel nf_kernel_double_hop(void)
{
    return (struct nf_ring_kernel){ .steps = steps, .sends = sends };
}
