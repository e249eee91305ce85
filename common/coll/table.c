/* The table of all algorithms, and what is common to them.  An algorithm joins
 * by its line in the X-lists of coll.h: constructors would silently vanish from
 * a static archive. */
#include "config.h"
#include <string.h>
#include "common/base/error.h"
#include "common/coll/coll.h"

#define NF_COLL_ENTRY(name) &nf_coll_##name,

const struct nf_coll_algorithm *const nf_coll_table[] = {
    NF_COLL_LIST(NF_COLL_ENTRY) NULL,
};

const char *const nf_coll_op_names[NF_COLL_OPS] = {
    [NF_COLL_BCAST] = "bcast",
    [NF_COLL_REDUCE] = "reduce",
    [NF_COLL_ALLREDUCE] = "allreduce",
    [NF_COLL_REDUCE_SCATTER] = "reduce_scatter",
    [NF_COLL_ALLGATHER] = "allgather",
    [NF_COLL_SCAN] = "scan",
    [NF_COLL_EXSCAN] = "exscan",
    [NF_COLL_GATHER] = "gather",
    [NF_COLL_SCATTER] = "scatter",
    [NF_COLL_ALLTOALL] = "alltoall",
    [NF_COLL_BARRIER] = "barrier",
};

/* Other names, as papers and scripts have them. */
static const struct {
    const char *other;
    const struct nf_coll_algorithm *algorithm;
} other_names[] = {
    { "bcast.knomial", &nf_coll_bcast_knomial4 },
    { "bcast.edge_disjoint", &nf_coll_bcast_nesbt },
    { "bcast.ksegment", &nf_coll_bcast_kseg },
    { "bcast.pipeline", &nf_coll_bcast_pipeline_fd },
    { "bcast.twopath", &nf_coll_bcast_twopath_hd },
    { "bcast.scatter_allgather_ring", &nf_coll_bcast_vdg_ring },
    { "bcast.scatter_allgather_circulant", &nf_coll_bcast_vdg_circ },
    { "reduce.chain", &nf_coll_reduce_chain_fd },
    { "reduce.seg_gather", &nf_coll_reduce_seg },
    { "allreduce.rd", &nf_coll_allreduce_rec_doubling },
    { "allreduce.seg", &nf_coll_allreduce_seg_doubling },
    { "scan.pipeline", &nf_coll_scan_pipeline_hd },
    { "scan.overlapped_pipeline", &nf_coll_scan_pipeline_fd },
    { "scan.brent_kung_seg", &nf_coll_scan_brent_kung_seg_fd },
    { "scan.rootp", &nf_coll_scan_rootp_chain },
    { "scan.rootp_seg", &nf_coll_scan_rootp_seg_chain_fd },
    { "scan.rootp_seg.hd", &nf_coll_scan_rootp_seg_chain_hd },
    { "scan.rootp_seg.fd", &nf_coll_scan_rootp_seg_chain_fd },
    { "exscan.pipeline", &nf_coll_exscan_pipeline_hd },
    { "exscan.overlapped_pipeline", &nf_coll_exscan_pipeline_fd },
    { "exscan.brent_kung_seg", &nf_coll_exscan_brent_kung_seg_fd },
    { "exscan.rootp", &nf_coll_exscan_rootp_chain },
    { "exscan.rootp_seg", &nf_coll_exscan_rootp_seg_chain_fd },
    { "exscan.rootp_seg.hd", &nf_coll_exscan_rootp_seg_chain_hd },
    { "exscan.rootp_seg.fd", &nf_coll_exscan_rootp_seg_chain_fd },
    { "gather.windowed", &nf_coll_gather_linear_nb },
    { "scatter.windowed", &nf_coll_scatter_linear_nb },
    { "alltoall.pairwise", &nf_coll_alltoall_pairwise_shift },
    { "alltoall.xor", &nf_coll_alltoall_pairwise_xor },
    { "alltoall.tournament", &nf_coll_alltoall_tournament_hd },
    { "alltoall.split-merge", &nf_coll_alltoall_split_merge },
};

const struct nf_coll_algorithm *nf_coll_find(const char *name)
{
    for (size_t i = 0; nf_coll_table[i] != NULL; i++)
        if (strcmp(nf_coll_table[i]->name, name) == 0)
            return nf_coll_table[i];
    for (size_t i = 0; i < sizeof(other_names) / sizeof(*other_names); i++)
        if (strcmp(other_names[i].other, name) == 0)
            return other_names[i].algorithm;
    return NULL;
}

const char *nf_coll_other_name(const struct nf_coll_algorithm *algorithm,
                               size_t n)
{
    for (size_t i = 0; i < sizeof(other_names) / sizeof(*other_names); i++)
        if (other_names[i].algorithm == algorithm && n-- == 0)
            return other_names[i].other;
    return NULL;
}

uint32_t nf_coll_floor_log2(uint32_t x)
{
    uint32_t n = 0;

    while (x >>= 1)
        n++;
    return n;
}

uint32_t nf_coll_ceil_log2(uint32_t x)
{
    return x <= 1 ? 0 : nf_coll_floor_log2(x - 1) + 1;
}

bool nf_coll_hosts_in_order(const uint32_t *hosts, uint32_t ranks)
{
    for (uint32_t i = 1; hosts != NULL && i < ranks; i++) {
        if (hosts[i] == hosts[i - 1])
            continue;
        /* a new one: it must not have been before */
        for (uint32_t j = 0; j < i - 1; j++)
            if (hosts[j] == hosts[i])
                return false;
    }
    return true;
}

bool nf_coll_keeps_order(const struct nf_coll_algorithm *algorithm,
                         const struct nf_coll_args *args)
{
    switch (algorithm->order) {
    case NF_ORDER_RANKS:
        return true;
    case NF_ORDER_ROTATED:
        return args->root == 0;
    case NF_ORDER_HOSTS:
        return nf_coll_hosts_in_order(args->hosts, args->ranks);
    case NF_ORDER_COMMUTATIVE:
        return false;
    }
    return false;
}

uint32_t nf_coll_item_count(const struct nf_coll_algorithm *algorithm,
                            const struct nf_coll_args *args)
{
    switch (algorithm->items) {
    case NF_ITEMS_NONE:
        return 0;
    case NF_ITEMS_WHOLE:
        return 1;
    case NF_ITEMS_SEGMENTS:
        return args->segments;
    case NF_ITEMS_SUBCUBE:
        return UINT32_C(1) << nf_coll_floor_log2(args->ranks);
    case NF_ITEMS_BLOCKS:
        return args->ranks;
    case NF_ITEMS_PAIRS:
        return args->ranks * args->ranks;
    }
    return 0;
}

uint64_t nf_coll_sides_product(const struct nf_coll_sides *sides)
{
    uint64_t product = 1;

    for (uint32_t i = 0; i < sides->count; i++) {
        if (sides->of[i] != 0 && product > UINT64_MAX / sides->of[i])
            return UINT64_MAX;
        product *= sides->of[i];
    }
    return product;
}

static enum nf_status check_shape(const struct nf_coll_sides *shape,
                                  uint32_t ranks, struct nf_error *err)
{
    if (shape->count < 1 || shape->count > NF_COLL_SIDES_MAX)
        return nf_fail(err, NF_ERR_RANGE, "a shape of %u sides: want 1 to %d",
                       shape->count, NF_COLL_SIDES_MAX);
    if (nf_coll_sides_product(shape) != ranks)
        return nf_fail(err, NF_ERR_RANGE, "the shape has %llu ranks, not %u",
                       (unsigned long long)nf_coll_sides_product(shape), ranks);
    return NF_OK;
}

enum nf_status nf_coll_fits(const struct nf_coll_algorithm *algorithm,
                            const struct nf_coll_args *args,
                            struct nf_error *err)
{
    if (args->ranks < 1 || args->ranks > NF_COLL_RANKS_MAX)
        return nf_fail(err, NF_ERR_RANGE, "%u ranks: want 1 to %d", args->ranks,
                       NF_COLL_RANKS_MAX);
    if (args->root >= args->ranks)
        return nf_fail(err, NF_ERR_RANGE, "root %u: want a rank below %u",
                       args->root, args->ranks);
    if (args->segments < 1 || args->segments > NF_COLL_SEGMENTS_MAX)
        return nf_fail(err, NF_ERR_RANGE, "%u segments: want 1 to %d",
                       args->segments, NF_COLL_SEGMENTS_MAX);
    if (algorithm->power_of_two && (args->ranks & (args->ranks - 1)) != 0)
        return nf_fail(err, NF_ERR_INVAL,
                       "%s: wants 2, 4, 8, ... ranks, not %u", algorithm->name,
                       args->ranks);
    if (args->shape != NULL &&
        check_shape(args->shape, args->ranks, err) != NF_OK)
        return NF_ERR_RANGE;
    return algorithm->fits != NULL ? algorithm->fits(algorithm, args, err)
                                   : NF_OK;
}

enum nf_status nf_coll_make(const struct nf_coll_algorithm *algorithm,
                            const struct nf_coll_args *args, uint32_t only,
                            struct nf_schedule *schedule, struct nf_error *err)
{
    enum nf_status status = nf_coll_fits(algorithm, args, err);

    nf_schedule_init(schedule, only);
    if (status != NF_OK)
        return status;
    if (args->ranks > 1)
        algorithm->make(algorithm, args, schedule);
    nf_schedule_sort(schedule);
    if (schedule->too_long)
        return nf_fail(err, NF_ERR_RANGE,
                       "%s: %u ranks send more blocks than can be written "
                       "down, %d",
                       algorithm->name, args->ranks, NF_COLL_CARRIED_MAX);
    if (schedule->failed)
        return nf_fail(err, NF_ERR_NOMEM, "%s: out of memory", algorithm->name);
    return NF_OK;
}

void nf_coll_segment(uint64_t elements, uint32_t k, uint32_t j,
                     uint64_t *first_p, uint64_t *count_p)
{
    /* j elements / k without overflow */
    uint64_t whole = elements / k, rest = elements % k;
    uint64_t begin = whole * j + rest * j / k;
    uint64_t end = whole * (j + 1) + rest * (j + 1) / k;

    *first_p = begin;
    *count_p = end - begin;
}

uint32_t nf_coll_clamp_segments(uint64_t elements, uint64_t k)
{
    uint64_t most =
        elements < NF_COLL_SEGMENTS_MAX ? elements : NF_COLL_SEGMENTS_MAX;

    if (k > most)
        k = most;
    return k > 0 ? (uint32_t)k : 1;
}
