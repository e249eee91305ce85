/* When a member of a mesh of PVM tasks has left.
 *
 * Word of an end comes through the pvmds, and may overtake what the task had
 * sent before on its direct route.  So it counts when libpvm has read that to
 * its end, which it tells when asked, or a duct, which tells by itself, and
 * then no word is needed; or when there is nothing to read at all, for a task
 * whose children keep its sockets open has a route without an end; or, should
 * others talk without a pause meanwhile, after a second in which nothing of it
 * was read. */
#include "config.h"
#include "common/base/clock.h"
#include "common/net/mesh_pvm.h"
#include "common/net/pvm_route.h"

enum { PATIENCE_US = 1000000 };

void nf_mesh_pvm_leave(struct mesh_pvm *p, uint32_t member)
{
    struct mesh_member *m = &p->members[member];

    if (m->left)
        return;
    m->left = true;
    nf_mesh_loan_spoil(p, member); /* its backlog is 0 now */
    nf_mesh_watch_note(p, member, NF_LOOKOUT_CLOSED);
    nf_route_doubt(nf_mesh_route(m));
    p->nexited -= m->exited;
    nf_mesh_pvm_post(p, m->leaving);
    m->leaving = NULL;
}

static void end(struct mesh_pvm *p, uint32_t member)
{
    nf_route_end(p->members[member].tid);
    nf_route_end(-p->members[member].tid); /* a duct, if there was one */
    nf_mesh_pvm_leave(p, member);
}

void nf_mesh_pvm_note_end(struct mesh_pvm *p, uint32_t member)
{
    struct mesh_member *m = &p->members[member];

    if (m->exited)
        return;
    m->exited = true;
    nf_mesh_loan_spoil(p, member); /* its backlog is 0 now */
    nf_mesh_watch_note(p, member, NF_LOOKOUT_ENDED);
    m->exited_us = nf_now_us();
    p->nexited += !m->left;
    if (p->closed)
        nf_mesh_pvm_touch(p, member);
    else
        nf_mesh_pvm_wake(p); /* another user of PVM may have read this */
}

void nf_mesh_pvm_note_silence(struct mesh_pvm *p, uint32_t member)
{
    if (!p->members[member].exited || p->closed)
        return;
    if (p->space->sending) /* its last words may have come in this send, too */
        p->members[member].silent = true;
    else
        end(p, member);
}

/* When will all have been read that it sent?  Its duct may wait to be accepted,
 * and then to be read. */
static void ask_end(struct mesh_pvm *p, uint32_t member)
{
    const struct mesh_member *m = &p->members[member];

    for (int look = 0; look < 2 && !m->duct; look++)
        (void)nf_mesh_duct_read();
    if (!m->duct)
        nf_pvm_notify_route_end(m->tid); /* may be told at once */
    else if (!nf_mesh_duct_reaches(m->tid))
        end(p, member);
}

void nf_mesh_pvm_see_ends(struct mesh_pvm *p)
{
    int64_t now_us = p->nexited > 0 ? nf_now_us() : 0;
    bool looked = false;

    for (uint32_t i = 0; i < p->base.ranks && p->nexited > 0; i++) {
        struct mesh_member *m = &p->members[i];

        if (!m->exited || m->left || i == p->base.rank ||
            nf_mesh_space_is_dead(p->space))
            continue;
        if (m->silent) {
            end(p, i);
        } else if (!m->asked_end) {
            m->asked_end = true;
            ask_end(p, i);
        } else if (now_us - m->exited_us > PATIENCE_US) {
            if (!looked)
                (void)nf_mesh_pvm_move(p);
            looked = true;
            end(p, i);
        }
    }
}

bool nf_mesh_pvm_declare_ends(struct mesh_pvm *p)
{
    if (p->nexited == 0)
        return false;
    if (nf_mesh_pvm_sleep(0))
        return true; /* libpvm reads a message in pieces */
    for (uint32_t i = 0; i < p->base.ranks; i++)
        if (p->members[i].exited && i != p->base.rank)
            end(p, i);
    return nf_mesh_pvm_holds_notes(p);
}
