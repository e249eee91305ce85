#ifndef NF_NET_MESH_MEETING_H
#define NF_NET_MESH_MEETING_H
/** @file mesh_meeting.h  How the tasks of a mesh meet, before there is a mesh.
 */
#include "common/base/int_map.h"
#include "common/net/mesh.h"
#include "common/net/pvm_context.h"

/** Why a meeting comes to nothing. */
enum nf_meeting_why {
    NF_MEETING_LATE,
    NF_MEETING_ENDED,
    NF_MEETING_STOPPED,   /**< by its nf_mesh_terms.stop */
    NF_MEETING_ELSEWHERE, /**< it waits for this task in another meeting */
    NF_MEETING_WHYS
};

/** Word of a failure comes after the time is up. */
enum { NF_MEETING_GRACE_US = 500000 };

struct nf_meeting {
    const int *tids;
    const struct nf_int_map *numbers; /**< of members, by their tids */
    uint32_t count, rank;
    uint32_t njoined, nhere; /**< guests, of member 0 */
    bool called;             /**< by member 0: all have joined */
    uint64_t id, hash;
    int tag;
    int64_t until_us;
    const volatile int *stop;
    uint32_t guilty; /**< why it comes to nothing; count: it is not known to */
    enum nf_meeting_why why;
    uint64_t nonce, attempt;
    int64_t ask_us, ask_step_us; /**< when to ask who is missing, and how long
                                      after that again */
    uint64_t elsewhere; /**< so many members has the meeting that member 0 is in,
                             if it is another one; 0: not known to be */
    uint64_t other; /**< once it has failed: has the one of who is guilty */
    struct nf_meeting_guest *guests; /**< [count], of member 0 */
    bool caught_up;  /**< all that was there before has been heard */
    int context;     /**< once it was held: of the mesh, */
    uint64_t cookie; /**< and of no other in it */
};

/** @param tids     [count], borrowed   @param rank  of this task
 *  @param numbers  of members by their tids, borrowed */
struct nf_meeting nf_meeting_of(const int *tids, uint32_t count, uint32_t rank,
                                const struct nf_int_map *numbers,
                                const struct nf_mesh_terms *terms);
/** Wait until all are there.
 *  @retval < 0  @p err says why not; see nf_mesh_open_pvm() */
enum nf_status nf_meeting_hold(struct nf_meeting *meeting,
                               struct nf_error *err);

/* After that, while routes are opened. */

/** Has our nf_mesh_terms.stop become != 0? */
bool nf_meeting_is_stopped(const struct nf_meeting *meeting);
/** Say so to all. */
void nf_meeting_stop_all(struct nf_meeting *meeting);
/** Has a member said so? */
bool nf_meeting_others_stop(const struct nf_meeting *meeting, uint32_t *who_p);
/** It is over because of member @p rank.
 *  @return the status, of @p err too */
enum nf_status nf_meeting_fails(struct nf_meeting *meeting, uint32_t rank,
                                enum nf_meeting_why why, struct nf_error *err);
/** @return likewise */
enum nf_status nf_no_pvmd(struct nf_error *err);
#endif
