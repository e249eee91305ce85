#ifndef NF_TESTS_FAKE_MESH_H
#define NF_TESTS_FAKE_MESH_H
/** @file fake_mesh.h  A world of members in one thread, with a clock of its
 *  own and delays drawn from a seed.  A message waits in its sender's queue,
 *  where it is a pointer to the sender's bytes, until it departs; then it is on
 *  its way, and messages of a pair arrive in order.  Members may be killed, and
 *  then what has not departed is lost.  Members may have wires of a limited rate;
 *  urgent messages do not wait for them. */
#include "common/base/rng.h"
#include "common/net/mesh.h"

enum { FAKE_MEMBERS_MAX = 64 };

struct fake_message;
struct fake_context;

struct fake_world {
    uint32_t members;
    int64_t now_us;
    int64_t most_delay_us;
    struct nf_rng rng;
    struct fake_message *messages; /* in no order */
    struct fake_context *contexts;
    bool dead[FAKE_MEMBERS_MAX];
    int64_t dead_us[FAKE_MEMBERS_MAX];
    bool mute[FAKE_MEMBERS_MAX]; /* nobody is told of its death, but who asks
                                    by nf_mesh_suspect(): meshes are partial if
                                    the test says so */
    uint64_t sent;        /* messages with payload or step, in all contexts */
    uint64_t in_bulk;     /* of these, by their senders' word */
    uint32_t kill_member; /* is killed when it sends its kill_at-th message, */
    bool kill_hears;      /* or when it gets that */
    uint64_t kill_at, kill_count;
    bool kill_mutely;
    bool broken[FAKE_MEMBERS_MAX]; /* its local transport is gone */
    /* > 0: bytes take time, and go through one wire out of each member, one
     * message after the other */
    int64_t byte_ns;
    int64_t wire_us[FAKE_MEMBERS_MAX]; /* when it is free */
    uint8_t formats[FAKE_MEMBERS_MAX]; /* of the data on its machine */
    /* payloads are read from their sender's memory: they leave it when the call that
     * they are of has begun there (nf_mesh_landing), and others go before */
    bool lends;
    uint64_t kept; /* looks at one that had not */
    uint64_t settled; /* waits of users that wait for their backlog only */
    uint64_t slept;   /* waits of users that give nobody a turn before */
};

/* How often somebody wanted back what it had lent. */
extern uint64_t fake_taken_back;

void fake_world_init(struct fake_world *world, uint32_t members, uint64_t seed);
/* All meshes are closed. */
void fake_world_fini(struct fake_world *world);
struct nf_mesh *fake_mesh_open(struct fake_world *world, uint32_t member);
void fake_kill(struct fake_world *world, uint32_t member);
/* When something happens next after now; INT64_MAX: never. */
int64_t fake_next_us(const struct fake_world *world);
/* Of nf_group_clock. */
int64_t fake_now_us(void *world);
#endif
