#ifndef NF_APPS_NOWFARM_CHUNK_REPLAY_H
#define NF_APPS_NOWFARM_CHUNK_REPLAY_H
/** @file chunk_replay.h  What the sizer of a policy answers, to slaves that ask
 *  in turn or along the lines of a script.  No files, no output. */
#include "common/policy/policy.h"

enum { NF_REPLAY_SLAVES_MAX = 1000000, NF_REPLAY_CHUNKS_MAX = 10000000 };
#define NF_REPLAY_UNITS_MAX UINT64_C(1000000000000000)

struct nf_replay {
    struct nf_policy policy;
    uint64_t units;
    uint32_t slaves;
    void *state; /**< of the sizer */
    uint64_t left;
    uint64_t *sizes; /**< answers so far, sizes[nsizes] */
    size_t nsizes, capacity;
};

/** @param units   0..NF_REPLAY_UNITS_MAX
 *  @param slaves  1..NF_REPLAY_SLAVES_MAX
 *  @param replay_p  set on NF_OK; release with nf_replay_fini
 *  @retval NF_ERR_INVAL  the policy is none, or does not fit
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_replay_init(struct nf_replay *replay_p, const char *spec,
                              uint64_t units, uint32_t slaves,
                              struct nf_error *err);
void nf_replay_fini(struct nf_replay *replay);

/** Slaves 0, 1, ..., P-1, 0, ... ask until all is handed out, or none of them
 *  gets anything.  Of static, each slave's block is listed, also an empty one.
 *  @retval NF_ERR_INVAL  more than NF_REPLAY_CHUNKS_MAX chunks
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_replay_in_turn(struct nf_replay *replay,
                                 struct nf_error *err);

/** Do one line of a script, "next SLAVE [SIZE]" or "report SLAVE SIZE T_COMP_US
 *  T_ELAPSED_US MEAN_UNIT_US M2_UNIT"; '#' starts a comment.
 *  @param text  is cut into words
 *  @retval NF_ERR_INVAL  it is not like that; err says what would be right
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_replay_line(struct nf_replay *replay, char *text,
                              struct nf_error *err);
#endif
