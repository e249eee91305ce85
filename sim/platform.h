#ifndef NF_SIM_PLATFORM_H
#define NF_SIM_PLATFORM_H
/** @file platform.h  What the readers of a platform file share: platform.c (the
 *  object), platform_cost.c (its costs) and platform_slaves.c (its slaves and
 *  their failures).  For these three only. */
#include "sim/reader.h"

/** What a whole run may add up to; leaves room for sums of a few of these. */
#define NF_PLATFORM_SUM_MAX_US (INT64_MAX / 64)

struct nf_platform {
    struct nf_json_reader reader;
    const json_t *object;
    const char *directory; /**< of files it names; NULL: none */
    const struct nf_world_options *options;
    struct nf_world world; /**< in the making */
};

/** cost; the world knows its units. */
enum nf_status nf_platform_read_cost(struct nf_platform *platform);
/** speed, slots, slow, load, ts, tr; the world has its slaves. */
enum nf_status nf_platform_read_slaves(struct nf_platform *platform);
/** failures, silence. */
enum nf_status nf_platform_read_failures(struct nf_platform *platform);
#endif
