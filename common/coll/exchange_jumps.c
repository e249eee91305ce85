/* Kernels in which every node sends the same distance: what becomes of a block
 * depends on how far it has to go, D = q - s (mod n), only.  So with D as the
 * number of a slot, all nodes send and receive the same slots, and no block
 * ever changes its slot: the buffer is slot D = the block that goes D far, at
 * first my own for p+D, in the end the one from p-D. */
#include "config.h"
#include "common/coll/exchange.h"

/* ---- k-hop ---- */

static uint32_t far_steps(uint32_t n, uint32_t k)
{
    return (n + k - 1) / k - 1;
}

static uint32_t hops_steps(const struct nf_ring_kernel *self, uint32_t n)
{
    uint32_t most = n - 1; /* no block is further away */

    return far_steps(n, self->k) + (self->k - 1 < most ? self->k - 1 : most);
}

static void hops_sends(const struct nf_ring_kernel *self, uint32_t n,
                       uint32_t step, uint32_t node, struct nf_ring_move *move,
                       struct nf_ring_block *blocks)
{
    uint32_t k = self->k, nfar = far_steps(n, k);
    bool is_far = step < nfar;
    uint32_t jump = is_far ? k : 1, at_single = step - nfar;

    *move =
        (struct nf_ring_move){ .to = (node + jump) % n, .hops = (int32_t)jump };
    for (uint32_t d = is_far ? k * (step + 1) : 1; blocks != NULL && d < n;
         d++) {
        uint32_t gone = is_far ? k * step : d - d % k + at_single;

        if (!is_far && d % k <= at_single)
            continue;
        blocks[move->count].from = (node + n - gone) % n;
        blocks[move->count++].to = (node + d - gone) % n;
    }
}

struct nf_ring_kernel nf_kernel_hops(uint32_t k)
{
    return (struct nf_ring_kernel){ .steps = hops_steps,
                                    .sends = hops_sends,
                                    .k = k };
}

/* ---- digits ---- */

/* Digits v = 1, 2, ... of weight w that some distance has. */
static uint32_t digits(uint32_t n, uint32_t weight, uint32_t radix)
{
    uint32_t most = (n - 1) / weight;

    return most < radix - 1 ? most : radix - 1;
}

/* Blocks whose distance has the digit value of that weight.  Of the distance
 * they have gone what is below the digit, or what is above it. */
static void digit_sends(uint32_t n, uint32_t node, uint32_t weight,
                        uint32_t radix, uint32_t value, bool low_first,
                        struct nf_ring_move *move, struct nf_ring_block *blocks)
{
    *move = (struct nf_ring_move){ .to = (node + value * weight) % n };
    for (uint32_t d = value * weight; blocks != NULL && d < n; d++) {
        uint32_t below = d % weight;
        uint32_t gone =
            low_first ? below : d - below - d / weight % radix * weight;

        if (d / weight % radix != value)
            continue;
        blocks[move->count].from = (node + n - gone) % n;
        blocks[move->count++].to = (node + n - gone + d) % n;
    }
}

static uint32_t bruck_steps(const struct nf_ring_kernel *self, uint32_t n)
{
    uint32_t steps = 0;

    for (uint32_t w = 1; w < n; w *= self->k)
        steps += digits(n, w, self->k);
    return steps;
}

static void bruck_sends(const struct nf_ring_kernel *self, uint32_t n,
                        uint32_t step, uint32_t node, struct nf_ring_move *move,
                        struct nf_ring_block *blocks)
{
    uint32_t weight = 1;

    for (; step >= digits(n, weight, self->k); weight *= self->k)
        step -= digits(n, weight, self->k);
    digit_sends(n, node, weight, self->k, step + 1, true, move, blocks);
}

struct nf_ring_kernel nf_kernel_bruck(uint32_t radix)
{
    return (struct nf_ring_kernel){ .steps = bruck_steps,
                                    .sends = bruck_sends,
                                    .k = radix };
}

/* ---- mixed radix ---- */

static uint32_t radices_steps(const struct nf_ring_kernel *self, uint32_t n)
{
    uint32_t steps = 0, weight = 1;

    for (uint32_t i = 0; i < self->radices.count && weight < n; i++) {
        steps += digits(n, weight, self->radices.of[i]);
        weight *= self->radices.of[i];
    }
    return steps;
}

static void radices_sends(const struct nf_ring_kernel *self, uint32_t n,
                          uint32_t step, uint32_t node,
                          struct nf_ring_move *move,
                          struct nf_ring_block *blocks)
{
    uint32_t weights[NF_COLL_SIDES_MAX], count = 0, weight = 1;

    for (; count < self->radices.count && weight < n; count++) {
        weights[count] = weight;
        weight *= self->radices.of[count];
    }
    for (uint32_t i = count; i-- > 0;) {
        uint32_t here = digits(n, weights[i], self->radices.of[i]);

        if (step < here) {
            digit_sends(n, node, weights[i], self->radices.of[i], step + 1,
                        false, move, blocks);
            return;
        }
        step -= here;
    }
    *move = (struct nf_ring_move){ .count = 0 };
}

struct nf_ring_kernel nf_kernel_radices(const struct nf_coll_sides *radices)
{
    return (struct nf_ring_kernel){ .steps = radices_steps,
                                    .sends = radices_sends,
                                    .radices = *radices };
}
