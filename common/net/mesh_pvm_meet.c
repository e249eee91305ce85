/* How two members of a mesh come to talk, when nobody waits for anybody.
 *
 *     lower                    upper rank
 *       <-------------- ASK     are you there?  By the pvmds
 *     ANSWER ------------->     yes
 *       <------- (nothing)      on a direct route, that this has opened
 *
 * Opening a route waits until the other one is in a call of PVM, and nothing
 * ends that but its end.  So nobody is asked for one who has not just shown
 * that it is alive: all that can go wrong is that it stops between its answer
 * and the request.  Until the upper one has spoken on the route, the lower one
 * sends it nothing, since what goes by the pvmds could be overtaken on the
 * route.
 *
 * Where no routes are wanted the upper one begins by the pvmds.  It asks all
 * the same, as an opening is to name who has not come; but where nobody waits
 * for all it begins at once. */
#include "config.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/net/mesh_pvm.h"

/* An answer says no more of the other one if we were stopped in between. */
enum { ANSWER_FRESH_US = 500000 };

static void ask(struct mesh_pvm *p, uint32_t member)
{
    struct mesh_member *m = &p->members[member];
    struct nf_link_out out;

    m->asked_us = nf_now_us();
    nf_link_signal(&m->link, KIND_ASK, &out);
    nf_mesh_pvm_transmit(p, member, &out);
}

/* The first word after which both may send what they like. */
static void begin(struct mesh_pvm *p, uint32_t member)
{
    struct mesh_member *m = &p->members[member];
    struct nf_link_out out;

    m->met = true;
    nf_link_confirm(&m->link, &out);
    nf_mesh_pvm_transmit(p, member, &out);
}

void nf_mesh_pvm_introduce(struct mesh_pvm *p, uint32_t member)
{
    if (member > p->base.rank)
        return;
    if (p->routes || !p->shy)
        ask(p, member);
    else
        begin(p, member);
}

void nf_mesh_pvm_hear(struct mesh_pvm *p, uint32_t member,
                      enum nf_msg_kind kind)
{
    struct mesh_member *m = &p->members[member];

    if (p->closed) {
        if (!m->heard)
            nf_mesh_pvm_touch(p, member);
        m->heard = true;
        return;
    }
    m->heard = true;
    if (kind == KIND_ASK) {
        m->owes_answer = true;
    } else if (kind == KIND_ANSWER) {
        m->answered = true;
    } else if (!m->met && member > p->base.rank) {
        m->met = true;
        if (p->shy)
            nf_link_set_window(&m->link, nf_pvm_window_bytes());
    }
}

void nf_mesh_pvm_greet(struct mesh_pvm *p, uint32_t member)
{
    struct mesh_member *m = &p->members[member];
    struct nf_link_out out;

    if (m->left || m->exited)
        return;
    if (m->owes_answer) {
        m->owes_answer = false;
        nf_mesh_duct_offer(p, member);
        nf_link_signal(&m->link, KIND_ANSWER, &out);
        nf_mesh_pvm_transmit(p, member, &out);
    }
    if (!m->answered || m->met || member > p->base.rank)
        return;
    m->answered = false;
    if (!p->routes || nf_mesh_duct_open(p, member)) {
        begin(p, member);
        return;
    }
    if (nf_now_us() - m->asked_us > ANSWER_FRESH_US) {
        ask(p, member);
        return;
    }
    nf_mesh_look_for_route(m->tid);
    nf_pvm_ask_direct_routes(true);
    begin(p, member);
    nf_pvm_ask_direct_routes(false);
    if (!nf_mesh_finds_route(m->tid))
        nf_log(NF_LOG_INFO, "no direct route to task %x: by the pvmds",
               (unsigned)m->tid);
    if (p->shy)
        nf_link_set_window(&m->link, nf_pvm_window_bytes());
}
