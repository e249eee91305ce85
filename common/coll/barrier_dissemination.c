/* dissemination: everybody tells those ahead, farther each round.
 *
 *     radix 2:   round t: r -> (r + 2^t) mod P
 *     radix x:   round t: r -> (r + j x^t) mod P, j = 1..x-1, j x^t < P
 *
 *     full duplex radix 2: q T(0); radix x: one after the other, N T(0), where
 *     N <= (x-1) ceil(log_x P) is the number of shifts j x^t
 *     half duplex: a shift s counts 2 times, 3 if P / gcd(P, s) is odd
 *
 * The default.  A higher radix has fewer rounds, which pays where several
 * messages are under way in the time of one; one by one they cost more. */
#include "config.h"
#include "common/coll/blocks.h"

static void make(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule)
{
    uint32_t ranks = args->ranks, round = 0;

    for (uint32_t w = 1; w < ranks; w *= self->radix, round++)
        for (uint32_t j = 1; j < self->radix && j * w < ranks; j++)
            for (uint32_t r = 0; r < ranks; r++)
                nf_schedule_add(schedule, round, r, (r + j * w) % ranks,
                                NF_COLL_COPY);
}

static double cost_us(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments)
{
    double us = 0;

    (void)bytes;
    (void)segments;
    for (uint32_t w = 1; w < ranks; w *= self->radix)
        for (uint32_t j = 1; j < self->radix && j * w < ranks; j++)
            us += nf_blocks_shift_us(price, ranks, j * w, 0);
    return us;
}

const struct nf_coll_algorithm nf_coll_barrier_dissemination = {
    .name = "barrier.dissemination",
    .op = NF_COLL_BARRIER,
    .summary = "everybody tells one ahead, twice as far each round",
    .source = "Hensgen, Finkel & Manber 1988",
    .cost = "FD q T(0), HD a round of shift s 2 or 3 times",
    .items = NF_ITEMS_NONE,
    .ports = NF_PORTS_FULL,
    .radix = 2,
    .make = make,
    .cost_us = cost_us,
};

const struct nf_coll_algorithm nf_coll_barrier_dissemination3 = {
    .name = "barrier.dissemination3",
    .op = NF_COLL_BARRIER,
    .summary = "everybody tells two ahead, three times as far each round",
    .source = "Hensgen, Finkel & Manber 1988, radix 3",
    .cost = "FD N T(0), N <= 2 ceil(log3 P), HD a shift s 2 or 3 times",
    .items = NF_ITEMS_NONE,
    .ports = NF_PORTS_MANY,
    .radix = 3,
    .make = make,
    .cost_us = cost_us,
};

const struct nf_coll_algorithm nf_coll_barrier_dissemination4 = {
    .name = "barrier.dissemination4",
    .op = NF_COLL_BARRIER,
    .summary = "everybody tells three ahead, four times as far each round",
    .source = "Hensgen, Finkel & Manber 1988, radix 4",
    .cost = "FD N T(0), N <= 3 ceil(log4 P), HD a shift s 2 or 3 times",
    .items = NF_ITEMS_NONE,
    .ports = NF_PORTS_MANY,
    .radix = 4,
    .make = make,
    .cost_us = cost_us,
};
