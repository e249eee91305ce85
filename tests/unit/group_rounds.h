#ifndef NF_TESTS_GROUP_ROUNDS_H
#define NF_TESTS_GROUP_ROUNDS_H
/** @file group_rounds.h  Random calls on groups with the results that they must
 *  have, computed by a plain loop. */
#include <stdbool.h>
#include "common/group/group.h"
#include "tests/unit/fake_mesh.h"

/* One call with its buffers. */
struct round {
    uint32_t rank, ranks;
    struct nf_call call;
    void *send, *recv; /* recv has some bytes more, which stay as they are */
    void *want;        /* what recv is to be */
    size_t recv_bytes, send_bytes;
    size_t counts[FAKE_MEMBERS_MAX], offsets[FAKE_MEMBERS_MAX];
    uint64_t number;
};

/* 2 x 2 matrices, their product, which does not commute, and their sum; to be
 * defined first in each group. */
enum {
    ROUND_MATRIX = NF_ELEM_USER,
    ROUND_MULTIPLY = NF_OPERATOR_USER,
    ROUND_ADD
};
bool round_define(struct nf_group *group);
/* The call of that number: the same in all members. */
void round_make(struct round *round, uint32_t rank, uint32_t ranks,
                uint64_t number);
/* Such a call of that kind. */
void round_make_kind(struct round *round, uint32_t rank, uint32_t ranks,
                     uint64_t number, enum nf_call_kind kind, size_t count);
bool round_is_right(const struct round *round);
/* Is what the call reads, and what stands behind its result, as it was?  To be
 * asked when it has failed: what it got is undefined. */
bool round_keeps_input(const struct round *round);
void round_fini(struct round *round);

/* Write a table in which broadcasts are flat.  @return whether it worked */
bool write_table(const char *path);

/* A random algorithm for every operation, as nf_group_options.algorithms. */
void draw_algorithms(struct nf_rng *rng, uint32_t ranks, char *text,
                     size_t bytes);
/* nf_group_start, by another algorithm if the one asked for cannot serve. */
enum nf_status start_somehow(struct nf_group *group, const struct nf_call *call,
                             struct nf_request **request_p);
#endif
