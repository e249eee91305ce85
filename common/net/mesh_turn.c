/* Who may be sent to when the way out of this host is busy: one after the other,
 * in the order in which messages were given to the meshes of this process.  Short
 * messages go at once, and so do those to whom the last one went. */
#include "config.h"
#include <sys/timerfd.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/net/mesh_pvm.h"
#include "common/net/uplink.h"

enum {
    /* No descriptor tells when the way is free, so it is looked at again.  Half
     * of what may be left there takes a 100 Mbit/s link 650 us. */
    LOOK_US = 300,
};

struct turn {
    struct mesh_pvm *mesh;
    uint32_t member;
};

/* A ring; capacity is a power of two. */
static struct turn *turns;
static size_t first, nturns, capacity;
static int last_tid;
static bool (*look)(void);

static bool grow(void)
{
    size_t size = capacity == 0 ? 64 : 2 * capacity;
    struct turn *more;

    if (nturns < capacity)
        return true;
    more = nf_malloc(size * sizeof(*more));
    if (more == NULL)
        return false;
    for (size_t i = 0; i < nturns; i++)
        more[i] = turns[(first + i) & (capacity - 1)];
    nf_free(turns);
    turns = more;
    first = 0;
    capacity = size;
    return true;
}

static bool is_free(void)
{
    struct pollfd ducts[NF_MESH_DUCT_FDS_MOST];
    int duct_fds[NF_MESH_DUCT_FDS_MOST];
    int64_t now_us = nf_now_us();
    const int *fds;
    size_t count;

    if (look != NULL)
        return look();
    if (nf_pvm_self() < 0)
        return true; /* who has left PVM must not be enrolled by a look */
    count = nf_mesh_duct_watch(ducts, NF_MESH_DUCT_FDS_MOST);
    for (size_t i = 0; i < count; i++)
        duct_fds[i] = ducts[i].fd;
    if (!nf_uplink_is_free(duct_fds, count, now_us))
        return false;
    count = nf_pvm_fds(&fds);
    return nf_uplink_is_free(fds, count, now_us);
}

bool nf_mesh_turn_waits(struct mesh_pvm *p, uint32_t member, size_t bytes)
{
    struct mesh_member *m = &p->members[member];

    if (m->nwaiting == 0) {
        if (bytes < NF_MESH_SHORT_BYTES)
            return false;
        if (nturns == 0 && (m->tid == last_tid || is_free())) {
            last_tid = m->tid;
            return false;
        }
    }
    if (!grow())
        return false; /* mixed is better than lost */
    turns[(first + nturns++) & (capacity - 1)] = (struct turn){ p, member };
    m->nwaiting++;
    return true;
}

bool nf_mesh_turn_is_due(void)
{
    const struct turn *turn = turns + first;

    if (nturns == 0)
        return false;
    return turn->mesh->members[turn->member].tid == last_tid || is_free();
}

static void send_next(void)
{
    struct turn turn = turns[first];
    struct mesh_member *m = &turn.mesh->members[turn.member];
    struct nf_pvm_guard guard;

    first = (first + 1) & (capacity - 1);
    nturns--;
    m->nwaiting--;
    last_tid = m->tid;
    if (nf_mesh_space_is_dead(turn.mesh->space))
        return;
    if (m->duct) {
        nf_mesh_pvm_flush(turn.mesh, turn.member);
        return;
    }
    nf_pvm_enter(turn.mesh->space->context, false, &guard);
    nf_mesh_pvm_flush(turn.mesh, turn.member);
    nf_pvm_return(&guard);
}

void nf_mesh_turn_serve(void)
{
    while (nf_mesh_turn_is_due())
        send_next();
}

int64_t nf_mesh_turn_look_us(void)
{
    return nturns == 0 ? -1 : LOOK_US;
}

int nf_mesh_turn_fd(void)
{
    static const struct itimerspec soon = { .it_value.tv_nsec =
                                                LOOK_US * 1000 };
    static int fd = -1;

    if (nturns == 0)
        return -1;
    if (fd < 0)
        fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (fd >= 0)
        timerfd_settime(fd, 0, &soon, NULL);
    return fd;
}

void nf_mesh_turn_look_with(bool (*other)(void))
{
    look = other;
}

void nf_mesh_turn_drop(struct mesh_pvm *p)
{
    size_t kept = 0;

    for (size_t i = 0; i < nturns; i++) {
        struct turn turn = turns[(first + i) & (capacity - 1)];

        if (turn.mesh == p)
            p->members[turn.member].nwaiting = 0;
        else
            turns[(first + kept++) & (capacity - 1)] = turn;
    }
    nturns = kept;
}
