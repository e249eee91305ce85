#include "config.h"
#include "apps/montecarlo/philox.h"

/* The paper's constants: two multipliers, and two Weyl steps for the key (the
 * golden ratio and sqrt(3) - 1). */
#define MULTIPLIER_0 0xd2511f53u
#define MULTIPLIER_1 0xcd9e8d57u
#define WEYL_0       0x9e3779b9u
#define WEYL_1       0xbb67ae85u
#define ROUNDS       10

void nf_philox(const uint32_t counter[4], const uint32_t key[2],
               uint32_t block_p[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];

    for (int i = 0; i < ROUNDS; i++) {
        uint64_t a = (uint64_t)MULTIPLIER_0 * c0;
        uint64_t b = (uint64_t)MULTIPLIER_1 * c2;

        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += WEYL_0;
        k1 += WEYL_1;
    }
    block_p[0] = c0;
    block_p[1] = c1;
    block_p[2] = c2;
    block_p[3] = c3;
}

/* (k + 1/2) 2^-52, k the upper 52 of 64 bits: exact, never 0 or 1. */
static double uniform(uint32_t high, uint32_t low)
{
    uint64_t k = ((uint64_t)high << 32 | low) >> 12;

    return ((double)k + 0.5) * 0x1p-52;
}

void nf_philox_point(uint64_t seed, uint64_t index, uint32_t dims,
                     double *point_p)
{
    const uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    uint32_t counter[4] = { 0, 0, (uint32_t)index, (uint32_t)(index >> 32) };
    uint32_t block[4];

    for (uint32_t d = 0; d < dims; d += 2, counter[0]++) {
        nf_philox(counter, key, block);
        point_p[d] = uniform(block[0], block[1]);
        if (d + 1 < dims)
            point_p[d + 1] = uniform(block[2], block[3]);
    }
}
