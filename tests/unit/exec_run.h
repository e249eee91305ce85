#ifndef NF_TESTS_UNIT_EXEC_RUN_H
#define NF_TESTS_UNIT_EXEC_RUN_H
/** @file exec_run.h  An algorithm of the table, carried out by the executors of
 *  all members over a fake mesh that delays messages at random. */
#include <stdbool.h>
#include "common/group/exec.h"
#include "tests/unit/fake_mesh.h"

enum { RANKS_MAX = FAKE_MEMBERS_MAX };

struct matrix;
struct run {
    const struct nf_coll_algorithm *algorithm;
    struct nf_coll_args args;
    uint64_t elements; /* of the vector, or of a block; 16 bytes each */
    uint64_t seed;
    bool in_place;
    bool holds_back; /* roots with a window do: as groups let them */
    bool at_once;    /* each message that is taken is made use of before the
                        next one, as in groups; else some come together */
    struct nf_user_codes codes;
    struct fake_world world;
    struct nf_mesh *meshes[RANKS_MAX];
    struct nf_plan *plans[RANKS_MAX];
    struct nf_exec execs[RANKS_MAX];
    struct matrix *send[RANKS_MAX], *recv[RANKS_MAX];
    bool done[RANKS_MAX];
    bool heard[RANKS_MAX][RANKS_MAX]; /* [r][f]: a message of f, by r */
    uint64_t total;                   /* elements of recv and send */
    uint64_t kept_bytes;              /* that a member had at the most */
    uint64_t may_land, landed;        /* messages that may go home at once; and
                                         did */
};

/* Are the elements of a call those of a block, and not of a vector? */
bool run_of_blocks(enum nf_coll_op op);
bool run_fits(const struct nf_coll_algorithm *algorithm, uint32_t ranks);

/* In place if @p seed is odd. */
struct run *run_create(const struct nf_coll_algorithm *algorithm,
                       struct nf_coll_args args, uint64_t elements,
                       uint64_t seed);
void run_destroy(struct run *run);
bool run_start(struct run *run);
/* Rank @p r takes messages that have come, not always all. */
bool run_take_all(struct run *run, uint32_t r);
/* @return whether all are done in the end */
bool run_finish(struct run *run);
/* What kept.h says for it. */
uint64_t run_says_kept(const struct run *run);
/* Start, finish and destroy: are all results right, and did nobody keep more
 * than its algorithm says?  Prints what is not so. */
bool run_try(const struct nf_coll_algorithm *algorithm,
             struct nf_coll_args args, uint64_t elements, uint64_t seed);
#endif
