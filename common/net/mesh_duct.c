/* Members of meshes that talk by sockets of their own, see duct.h.
 *
 *     lower                         upper rank
 *       <------------------- ASK    are you there?  By the pvmds
 *     DUCT, ANSWER ------------->   yes, and here I can be reached.  By the
 * pvmds
 *       <=============== (nothing)  by the duct that this has opened
 *
 * From then on all frames between these two members of this mesh go by the
 * duct. Whoever can't open it asks libpvm for a route instead
 * (mesh_pvm_meet.c).  What is on the way by a duct is counted apart from what
 * is on libpvm's routes to the same task: nf_mesh_route() is its number. */
#include "config.h"
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/endian.h"
#include "common/base/log.h"
#include "common/net/duct.h"
#include "common/net/mesh_pvm.h"
#include "common/net/pvm_route.h"

enum {
    CONTEXT_BYTES = 4,
    /* What may still be connected to by all of a mesh, and watched. */
    OFFERED_MOST = NF_MESH_DUCT_FDS_MOST - 2 * NF_MESH_ROUTES_MOST,
    HOPELESS_US = 400000,
    PACKET_HEAD_BYTES =
        CONTEXT_BYTES + NF_FRAME_HEADER_BYTES + NF_ROUTE_STAMP_BYTES,
};
_Static_assert(PACKET_HEAD_BYTES + NF_LINK_FRAME_MAX_BYTES <=
                   NF_DUCT_PACKET_MOST_BYTES,
               "a frame is a packet");

/* Of this process, as task `owner`: another life as a task has others. */
static struct nf_ducts *ducts;
static int owner = -1;
static bool hopeless; /* to reach other hosts, in this opening */

static bool are_there(void)
{
    return ducts != NULL && owner == nf_pvm_self();
}

static void come(void *self, int tid, const uint8_t *packet, size_t bytes)
{
    const uint8_t *header = packet + CONTEXT_BYTES;
    struct nf_pvm_message m = { .kind = NF_PVM_FRAME,
                                .tid = tid,
                                .bytes = packet + PACKET_HEAD_BYTES };

    (void)self;
    if (bytes < PACKET_HEAD_BYTES ||
        nf_frame_decode(header, &m.frame) != NF_OK || m.frame.converted ||
        nf_route_stamp_bytes(&m.frame) == 0 ||
        bytes - PACKET_HEAD_BYTES !=
            (size_t)m.frame.body_bytes + m.frame.payload_bytes)
        return;
    nf_route_read(-tid, &m.frame, header + NF_FRAME_HEADER_BYTES);
    nf_mesh_space_hear((int)nf_load_le32(packet), &m);
}

static void ended(void *self, int tid)
{
    (void)self;
    nf_mesh_space_cut(tid);
}

/* @return whether there are any from now on */
static bool set_up(void)
{
    static const struct nf_ducts_user user = { .come = come, .ended = ended };

    if (are_there())
        return true;
    nf_mesh_duct_tend();
    owner = nf_pvm_self();
    return nf_ducts_create(owner, &user, &ducts) == NF_OK;
}

void nf_mesh_duct_tend(void)
{
    if (ducts == NULL || are_there())
        return;
    nf_ducts_destroy(ducts);
    ducts = NULL;
}

/* Those that have ended already may have come, and said something. */
void nf_mesh_duct_settle(void)
{
    hopeless = false;
    (void)nf_mesh_duct_read();
    (void)nf_mesh_duct_read();
    if (are_there())
        nf_ducts_settle(ducts);
}

static bool is_room(void)
{
    return set_up() && nf_ducts_count(ducts) < OFFERED_MOST;
}

/* ----------------------------------------------------------------- meeting */

static bool are_wanted(void)
{
    const char *route = getenv("NOWFARM_ROUTE");

    return route == NULL || strcmp(route, "pvm") != 0;
}

/* Shy meshes, the farm's, keep to libpvm, and what is to be converted is packed by
 * it. */
static bool is_for(const struct mesh_pvm *p, uint32_t member)
{
    return p->routes && !p->shy && !p->members[member].convert && are_wanted();
}

void nf_mesh_duct_offer(struct mesh_pvm *p, uint32_t member)
{
    struct mesh_member *m = &p->members[member];
    uint8_t address[NF_DUCT_ADDRESS_BYTES];
    struct nf_link_out out;

    if (!is_for(p, member) || nf_mesh_duct_reaches(m->tid) || !is_room() ||
        nf_ducts_address(ducts, address) != NF_OK)
        return;
    nf_link_signal(&m->link, KIND_DUCT, &out);
    out.body = address;
    out.frame.body_bytes = sizeof(address);
    out.frame.body_total_bytes = sizeof(address);
    nf_mesh_pvm_transmit(p, member, &out);
}

void nf_mesh_duct_hear(struct mesh_pvm *p, uint32_t member, const uint8_t *said,
                       size_t bytes)
{
    struct mesh_member *m = &p->members[member];

    if (bytes != sizeof(m->address) || m->met)
        return;
    memcpy(m->address, said, bytes);
    m->has_address = true;
}

/* The name of its host; NULL: it is this one, or not known. */
static bool find_host(const struct mesh_pvm *p, const struct mesh_member *m,
                      char name_p[64], const char **host_p)
{
    int host = nf_pvm_host_of(m->tid);
    struct nf_pvm_host *hosts = NULL;
    size_t count = 0;

    *host_p = NULL;
    if (host == nf_pvm_host_of(p->members[p->base.rank].tid))
        return true;
    if (nf_pvm_hosts(&hosts, &count) != NF_OK)
        return false;
    for (size_t i = 0; i < count; i++)
        if (hosts[i].tid == host) {
            memcpy(name_p, hosts[i].name, 64);
            *host_p = name_p;
        }
    nf_free(hosts);
    return *host_p != NULL;
}

/* Where names are not found, or nobody answers, each member would take as long.
 */
static bool connect_in_time(struct mesh_pvm *p, const struct mesh_member *m)
{
    int64_t start_us = nf_now_us();
    char name[64];
    const char *host;

    if (!find_host(p, m, name, &host) || (host != NULL && hopeless))
        return false;
    if (nf_ducts_connect(ducts, m->tid, host, m->address) == NF_OK)
        return true;
    hopeless =
        hopeless || (host != NULL && nf_now_us() - start_us >= HOPELESS_US);
    return false;
}

bool nf_mesh_duct_open(struct mesh_pvm *p, uint32_t member)
{
    struct mesh_member *m = &p->members[member];

    if (m->no_duct || !is_for(p, member))
        return false;
    if (!nf_mesh_duct_reaches(m->tid) &&
        (!m->has_address || !is_room() || !connect_in_time(p, m))) {
        m->no_duct = true; /* the next answer is for a route of libpvm */
        nf_log(NF_LOG_INFO, "no socket to task %x: by a route of libpvm",
               (unsigned)m->tid);
        return false;
    }
    m->duct = true;
    return true;
}

/* ----------------------------------------------------------------- sending */

void nf_mesh_duct_send(struct mesh_pvm *p, uint32_t member,
                       const struct nf_link_out *out)
{
    const struct mesh_member *m = &p->members[member];
    const struct nf_frame *f = &out->frame;
    uint8_t head[PACKET_HEAD_BYTES];
    /* sendmsg's prototype lacks const; it only reads */
    const struct iovec parts[] = {
        { head, sizeof(head) },
        { (void *)(uintptr_t)out->body, f->body_bytes },
        { (void *)(uintptr_t)out->payload, f->payload_bytes },
    };

    if (m->cut || !are_there())
        return;
    nf_store_le32(head, (uint32_t)p->space->context);
    nf_frame_encode(f, head + CONTEXT_BYTES);
    (void)nf_route_sends(nf_mesh_route(m), f,
                         head + CONTEXT_BYTES + NF_FRAME_HEADER_BYTES);
    /* a failed send says no more than that word of an end will come */
    (void)nf_ducts_send(ducts, m->tid, parts, sizeof(parts) / sizeof(*parts));
}

uint32_t nf_mesh_window_bytes(const struct mesh_member *m)
{
    return m->duct && are_there() ? nf_ducts_window_bytes(ducts)
                                  : nf_pvm_window_bytes();
}

/* ----------------------------------------------------------------- reading */

int nf_mesh_duct_fd(int tid)
{
    return are_there() ? nf_ducts_fd(ducts, tid) : -1;
}

bool nf_mesh_duct_reaches(int tid)
{
    return nf_mesh_duct_fd(tid) >= 0;
}

size_t nf_mesh_duct_watch(struct pollfd *watch_p, size_t room)
{
    size_t count = are_there() ? nf_ducts_count(ducts) : 0;

    if (count > room)
        return 0; /* is_room() sees to that */
    if (count > 0)
        nf_ducts_watch(ducts, watch_p);
    return count;
}

bool nf_mesh_duct_serve(const struct pollfd *watch, size_t count)
{
    return count > 0 && are_there() && nf_ducts_serve(ducts, watch, count);
}

bool nf_mesh_duct_read(void)
{
    struct pollfd watch[NF_MESH_DUCT_FDS_MOST];
    size_t count = nf_mesh_duct_watch(watch, NF_MESH_DUCT_FDS_MOST);

    return count > 0 && poll(watch, (nfds_t)count, 0) > 0 &&
           nf_mesh_duct_serve(watch, count);
}
