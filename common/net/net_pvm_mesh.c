/* Meshes of slaves, and of the master, of the PVM transport. */
#include "config.h"
#include <sys/random.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/net/net_pvm_parts.h"
#include "common/net/pvm_context.h"

/* Who opens a route waits for the other one, and if that stops just then, its
 * master takes both for silent.  So routes between slaves are for what is
 * large: shared data, what they exchange between phases, and large results that
 * they combine; other results go to the master on the route that there is, and
 * between slaves by the pvmds. */
enum { ROUTES_MOST = 64 };

static bool wants_routes(const struct nf_group_msg *msg)
{
    return nf_group_moves_much(msg) && msg->count <= ROUTES_MOST;
}

static uint64_t draw(const struct net_pvm *n, uint64_t id)
{
    uint64_t number;

    if (getrandom(&number, sizeof(number), 0) != sizeof(number))
        number = n->cookie * UINT64_C(0x9e3779b97f4a7c15) + id;
    return number;
}

/* The master frees the context of a mesh with its own end of it.  Meshes of
 * slaves only have no such end: they share one, as their cookies tell them
 * apart.  Slaves keep it, as one of them may be in the next mesh, and speak,
 * before another one has closed the last. */
static int context_for(struct net_pvm *n, bool joins)
{
    if (joins)
        return nf_pvm_context_create();
    if (n->slaves_context == 0) {
        int context = nf_pvm_context_create();

        n->slaves_context = context > 0 ? context : 0;
        return context;
    }
    return n->slaves_context;
}

enum nf_status nf_net_pvm_mesh(struct nf_net *net, const uint32_t *members,
                               uint32_t count, struct nf_group_msg *msg_p,
                               int *tids_p, struct nf_mesh **mesh_p,
                               struct nf_error *err)
{
    struct net_pvm *n = (struct net_pvm *)net;
    bool joins = false;
    int context;

    for (uint32_t i = 0; i < count; i++) {
        joins = joins || members[i] == NF_NO_PEER;
        tids_p[i] =
            members[i] == NF_NO_PEER ? n->tid : n->peers[members[i]].tid;
    }
    context = context_for(n, joins);
    if (context < 0)
        return nf_fail(err, NF_ERR_UNREACHABLE,
                       "the local pvmd gives no message context");
    msg_p->count = count;
    msg_p->context = (uint32_t)context;
    msg_p->cookie = draw(n, msg_p->id);
    *mesh_p = NULL;
    if (!joins)
        return NF_OK;
    /* member 0 has nobody to ask for a route: it is asked, and may say so */
    return nf_mesh_join_pvm(
        tids_p, count, msg_p->cookie, context, NF_MESH_CONTEXT_OWN,
        members[0] == NF_NO_PEER && wants_routes(msg_p), mesh_p, err);
}

enum nf_status nf_port_pvm_mesh(struct nf_port *port,
                                const struct nf_group_msg *msg,
                                struct nf_mesh **mesh_p, struct nf_error *err)
{
    enum nf_mesh_context use = NF_MESH_CONTEXT_COMMON;
    int *tids = nf_calloc(msg->count, sizeof(*tids));
    enum nf_status status;

    if (tids == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    for (uint32_t i = 0; i < msg->count; i++) {
        tids[i] = nf_group_tid(msg, i);
        if (tids[i] == nf_port_pvm_master(port))
            use = NF_MESH_CONTEXT_LENT; /* see context_for() */
    }
    status = nf_mesh_join_pvm(tids, msg->count, msg->cookie, (int)msg->context,
                              use, wants_routes(msg), mesh_p, err);
    nf_free(tids);
    if (status == NF_OK && (*mesh_p)->rank != msg->rank) {
        nf_mesh_close(*mesh_p);
        status = nf_fail(err, NF_ERR_INVAL, "not member %u", msg->rank);
    }
    return status;
}
