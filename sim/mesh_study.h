#ifndef NF_SIM_MESH_STUDY_H
#define NF_SIM_MESH_STUDY_H
/** @file mesh_study.h  The experiment of the paper: one multicast among nodes
 *  placed at random, several times.
 *
 *  Run r has the placement of seed + r; the order of the placement is that of
 * the ranks of trees that are not along the chain. */
#include "sim/mesh_cast.h"

/** Of 16 runs from seed 1000 on, as the figures are reproduced. */
enum { NF_MESH_RUNS = 16, NF_MESH_SEED = 1000, NF_MESH_RUNS_MAX = 10000 };

/** Times in ticks. */
struct nf_mesh_study {
    uint32_t runs;
    double mean, deviation; /**< of a run: by n - 1; 0 for one */
    int64_t least, most;
    double waits;  /**< headers that found a channel busy, a run */
    double waited; /**< for how long in all, a run */
    double ideal;  /**< what its tree takes without the network's distances and
                        without contention, a run: trees along a chain may
                        depend on the source's place in it */
};

/** @param cast  checked by nf_mesh_cast_check()
 *  @param nodes  1 to cast->mesh.nodes     @param runs  1 to NF_MESH_RUNS_MAX
 *  @retval NF_ERR_FAILED, NF_ERR_NOMEM  as nf_mesh_cast() */
enum nf_status nf_mesh_study(const struct nf_mesh_cast *cast,
                             const struct nf_uniform_algorithm *algorithm,
                             uint32_t nodes, uint64_t seed, uint32_t runs,
                             struct nf_mesh_study *study_p,
                             struct nf_error *err);
#endif
