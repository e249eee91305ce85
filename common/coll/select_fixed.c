/* Which algorithm, without any model: for members whose doubles differ, who
 * would not all find the same one cheapest.  Whole numbers only. */
#include "config.h"
#include "common/coll/select.h"

/* Vectors (of gather and scatter: blocks) from here on are long: their bytes
 * count, and not their messages.  Segments of long ones are so long. */
enum { LONG_BYTES = 32768, SEGMENT_BYTES = 65536 };

/* The first that serves is taken; the last of each serves all calls. */
static const char *const for_short[NF_COLL_OPS][2] = {
    [NF_COLL_BCAST] = { "bcast.binomial" },
    [NF_COLL_REDUCE] = { "reduce.binomial", "reduce.binomial_ordered" },
    [NF_COLL_ALLREDUCE] = { "allreduce.rec_doubling" },
    [NF_COLL_REDUCE_SCATTER] = { "reduce_scatter.doubling" },
    [NF_COLL_SCAN] = { "scan.rec_doubling" },
    [NF_COLL_EXSCAN] = { "exscan.rec_doubling" },
    [NF_COLL_GATHER] = { "gather.binomial" },
    [NF_COLL_SCATTER] = { "scatter.binomial" },
    [NF_COLL_ALLGATHER] = { "allgather.circulant" },
    [NF_COLL_ALLTOALL] = { "alltoall.burst" },
    [NF_COLL_BARRIER] = { "barrier.dissemination" },
};
static const char *const for_long[NF_COLL_OPS][2] = {
    [NF_COLL_BCAST] = { "bcast.circulant" },
    [NF_COLL_REDUCE] = { "reduce.rabenseifner", "reduce.chain.fd" },
    [NF_COLL_ALLREDUCE] = { "allreduce.ring", "allreduce.seg_doubling" },
    [NF_COLL_REDUCE_SCATTER] = { "reduce_scatter.halving" },
    [NF_COLL_SCAN] = { "scan.pipeline.fd" },
    [NF_COLL_EXSCAN] = { "exscan.pipeline.fd" },
    [NF_COLL_GATHER] = { "gather.linear_nb" },
    [NF_COLL_SCATTER] = { "scatter.linear_nb" },
    [NF_COLL_ALLGATHER] = { "allgather.ring" },
};

static const struct nf_coll_algorithm *find(const char *const names[2],
                                            const struct nf_coll_query *query)
{
    for (int i = 0; i < 2 && names[i] != NULL; i++) {
        const struct nf_coll_algorithm *algorithm = nf_coll_find(names[i]);

        if (algorithm != NULL && nf_coll_serves(algorithm, query))
            return algorithm;
    }
    return NULL;
}

uint32_t nf_coll_fixed_segments(const struct nf_coll_algorithm *algorithm,
                                const struct nf_coll_query *query)
{
    uint32_t least = nf_coll_least_segments(algorithm, query), k;

    if (algorithm->items != NF_ITEMS_SEGMENTS)
        return 1;
    k = nf_coll_clamp_segments(query->elements,
                               query->bytes / SEGMENT_BYTES + 1);
    return k < least ? least : k;
}

bool nf_coll_select_fixed(const struct nf_coll_query *query,
                          struct nf_coll_choice *choice)
{
    const struct nf_coll_algorithm *algorithm = NULL;

    if (query->bytes >= LONG_BYTES)
        algorithm = find(for_long[query->op], query);
    if (algorithm == NULL)
        algorithm = find(for_short[query->op], query);
    /* no room for these */
    for (size_t i = 0; algorithm == NULL && nf_coll_table[i] != NULL; i++)
        if (nf_coll_serves(nf_coll_table[i], query))
            algorithm = nf_coll_table[i];
    if (algorithm == NULL)
        return false;
    *choice = (struct nf_coll_choice){
        .algorithm = algorithm,
        .segments = nf_coll_fixed_segments(algorithm, query),
    };
    return true;
}
