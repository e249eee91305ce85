/* What algorithms keep at a member: what several have in common. */
#include "config.h"
#include "common/coll/kept.h"

static uint64_t times(uint64_t a, uint64_t b)
{
    return b != 0 && a > UINT64_MAX / b ? UINT64_MAX : a * b;
}

uint64_t nf_kept_part(uint64_t bytes, uint64_t count, uint64_t parts)
{
    uint64_t whole = times(bytes / parts, count);
    uint64_t rest = times(bytes % parts, count);

    rest = rest / parts + (rest % parts != 0);
    return whole > UINT64_MAX - rest ? UINT64_MAX : whole + rest;
}

uint64_t nf_coll_kept_bytes(const struct nf_coll_algorithm *algorithm,
                            uint32_t ranks, uint64_t bytes, uint32_t segments)
{
    if (algorithm->kept == NULL || ranks < 2)
        return 0;
    return algorithm->kept->bytes(algorithm, ranks, bytes, segments);
}

static uint64_t vector(const struct nf_coll_algorithm *self, uint32_t ranks,
                       uint64_t bytes, uint32_t segments)
{
    (void)self, (void)ranks, (void)segments;
    return bytes;
}
const struct nf_coll_kept nf_kept_vector = { "m", vector };

static uint64_t twice(const struct nf_coll_algorithm *self, uint32_t ranks,
                      uint64_t bytes, uint32_t segments)
{
    (void)self, (void)ranks, (void)segments;
    return nf_kept_part(bytes, 2, 1);
}
const struct nf_coll_kept nf_kept_twice = { "2 m", twice };

static uint64_t others(const struct nf_coll_algorithm *self, uint32_t ranks,
                       uint64_t bytes, uint32_t segments)
{
    (void)self, (void)segments;
    return nf_kept_part(bytes, ranks - 1, 1);
}
const struct nf_coll_kept nf_kept_others = { "(P-1) m", others };

static uint64_t levels(const struct nf_coll_algorithm *self, uint32_t ranks,
                       uint64_t bytes, uint32_t segments)
{
    (void)self, (void)segments;
    return nf_kept_part(bytes, nf_coll_ceil_log2(ranks), 1);
}
const struct nf_coll_kept nf_kept_levels = { "q m", levels };

static uint64_t rounds(const struct nf_coll_algorithm *self, uint32_t ranks,
                       uint64_t bytes, uint32_t segments)
{
    (void)self;
    return nf_kept_part(bytes, segments + nf_coll_ceil_log2(ranks) - 1,
                        segments);
}
const struct nf_coll_kept nf_kept_rounds = { "m (k+q-1)/k", rounds };

static uint64_t round_trip(const struct nf_coll_algorithm *self, uint32_t ranks,
                           uint64_t bytes, uint32_t segments)
{
    (void)self, (void)segments;
    return nf_kept_part(bytes, ranks - 1, ranks);
}
const struct nf_coll_kept nf_kept_round_trip = { "m (P-1)/P", round_trip };

static uint64_t bundles(const struct nf_coll_algorithm *self, uint32_t ranks,
                        uint64_t bytes, uint32_t segments)
{
    (void)self, (void)segments;
    return nf_kept_part(bytes, 2 * (uint64_t)(ranks - 1), ranks);
}
const struct nf_coll_kept nf_kept_bundles = { "2 m (P-1)/P", bundles };

static uint64_t window(const struct nf_coll_algorithm *self, uint32_t ranks,
                       uint64_t bytes, uint32_t segments)
{
    uint64_t count = ranks - 1;

    (void)segments;
    if (bytes > NF_COLL_HELD_BYTES && count > self->window)
        count = self->window;
    return nf_kept_part(bytes, count, 1);
}
const struct nf_coll_kept nf_kept_window = {
    "m times the window; of up to 64 KiB: (P-1) m", window
};
