#include "config.h"
#include "tests/unit/group_blocks.h"
#include <stdlib.h>
#include <string.h>

void blocks_draw_sizes(struct nf_rng *rng, uint32_t ranks, uint64_t *sizes)
{
    bool all_empty = nf_rng_below(rng, 16) == 0;

    for (uint32_t i = 0; i < ranks; i++)
        sizes[i] = all_empty || nf_rng_below(rng, 3) == 0
                       ? 0
                       : 1 + nf_rng_below(rng, 20);
}

static double value(uint32_t rank, size_t i)
{
    return 1000.0 * rank + (double)i + 1;
}

/* Room and values, by the counts and offsets. */
static void blocks_fill(struct blocks *b)
{
    b->whole = calloc(b->total + 1, sizeof(double));
    for (uint32_t r = 0; r < b->ranks; r++) {
        double *at;

        b->part[r] = calloc(b->counts[r] + 2, sizeof(double));
        at = b->gathers ? b->part[r] : b->whole + b->offsets[r];
        for (size_t i = 0; i < b->counts[r]; i++)
            at[i] = value(r, i);
    }
}

void blocks_init(struct blocks *b, struct nf_rng *rng, const char *name,
                 uint32_t ranks, size_t equal, size_t largest)
{
    uint64_t sizes[BLOCKS_RANKS_MAX];

    *b = (struct blocks){ .ranks = ranks,
                          .root = (uint32_t)nf_rng_below(rng, ranks),
                          .gathers = strncmp(name, "gather", 6) == 0 };
    blocks_draw_sizes(rng, ranks, sizes);
    for (uint32_t r = 0; r < ranks; r++) {
        b->counts[r] = equal > 0 ? equal : (size_t)sizes[r] * largest / 20;
        b->offsets[r] = b->total + nf_rng_below(rng, 3);
        b->total = b->offsets[r] + b->counts[r];
    }
    blocks_fill(b);
}

void blocks_fini(struct blocks *b)
{
    free(b->whole);
    for (uint32_t r = 0; r < b->ranks; r++)
        free(b->part[r]);
}

struct nf_call blocks_call(const struct blocks *b, uint32_t rank)
{
    bool is_root = rank == b->root;

    return (struct nf_call){
        .kind = b->gathers ? NF_CALL_GATHER : NF_CALL_SCATTER,
        .send = b->gathers ? b->part[rank]
                : is_root  ? b->whole
                           : NULL,
        .recv = !b->gathers ? b->part[rank]
                : is_root   ? b->whole
                            : NULL,
        .count = b->counts[rank],
        .counts = is_root ? b->counts : NULL,
        .offsets = is_root ? b->offsets : NULL,
        .varies = 1,
        .type = NF_ELEM_FLOAT64,
        .root = b->root,
    };
}

bool blocks_are_right(const struct blocks *b)
{
    size_t end = 0;
    bool right = true;

    for (uint32_t r = 0; r < b->ranks; r++) {
        const double *got = b->gathers ? b->whole + b->offsets[r] : b->part[r];

        for (size_t i = 0; i < b->counts[r]; i++)
            right = right && got[i] == value(r, i);
        right = right && (b->gathers || b->part[r][b->counts[r]] == 0);
        for (; end < b->offsets[r]; end++) /* gaps stay as they are */
            right = right && b->whole[end] == 0;
        end = b->offsets[r] + b->counts[r];
    }
    return right && b->whole[b->total] == 0;
}
