#ifndef NF_TESTS_GROUP_SIM_H
#define NF_TESTS_GROUP_SIM_H
/** @file group_sim.h  Groups over a fake mesh, and random calls on groups with
 *  the results that they must have. */
#include <stdbool.h>
#include "common/group/group.h"
#include "tests/unit/fake_mesh.h"

struct group_sim {
    struct fake_world world;
    uint32_t ranks;
    struct nf_group *groups[FAKE_MEMBERS_MAX];
    struct nf_request *requests[FAKE_MEMBERS_MAX];
    enum nf_status statuses[FAKE_MEMBERS_MAX]; /* NF_WAIT: under way */
    int64_t ended_us[FAKE_MEMBERS_MAX];
    bool frozen[FAKE_MEMBERS_MAX]; /* does not get to run */
};

/* Groups of all members.  @param options  may be NULL */
bool sim_open(struct group_sim *sim, uint32_t ranks, uint64_t seed,
              const struct nf_group_options *options);
void sim_close(struct group_sim *sim);
/* Can it run? */
bool sim_runs(const struct group_sim *sim, uint32_t rank);
void sim_start(struct group_sim *sim, uint32_t rank,
               const struct nf_call *call);
/* Let everybody run until nobody is in a call, or nothing would happen any
 * more.  @return whether all calls ended */
bool sim_run(struct group_sim *sim);
/* A moment passes.  @return false: nothing is to come */
bool sim_advance(struct group_sim *sim);
/* All that run shrink their groups, which are closed then.
 *  @param results  [ranks] what shrink returned */
bool sim_shrink(struct group_sim *sim, enum nf_status *results);

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

/* The operator of 2 x 2 matrices, which does not commute, and its type; to be
 * defined first in each group. */
enum { ROUND_MATRIX = NF_ELEM_USER, ROUND_MULTIPLY = NF_OPERATOR_USER };
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
