/* splitmix64: a counter with a good mixing function. */
#include "config.h"
#include "common/base/rng.h"

uint64_t nf_rng_next(struct nf_rng *rng)
{
    uint64_t z;

    rng->state += UINT64_C(0x9e3779b97f4a7c15);
    z = rng->state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t nf_rng_below(struct nf_rng *rng, uint64_t bound)
{
    return nf_rng_next(rng) % bound;
}

void nf_rng_shuffle(struct nf_rng *rng, uint32_t *items, uint32_t count)
{
    for (uint32_t i = count; i > 1; i--) {
        uint32_t j = (uint32_t)nf_rng_below(rng, i), item = items[i - 1];

        items[i - 1] = items[j];
        items[j] = item;
    }
}
