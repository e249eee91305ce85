/* The PVM transport, slave's side. */
#include "config.h"
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/net/mesh_pvm.h"
#include "common/net/net_pvm.h"
#include "common/net/pvm.h"
#include "common/net/pvm_route.h"

/* With a mesh there is a direct route to each of its members. */
enum { FDS_MOST = 1024, WATCHED_MOST = FDS_MOST + 1 + NF_MESH_DUCT_FDS_MOST };

struct port_pvm {
    struct nf_port base;
    int master, wake_fd;
    bool convert, gone, routed;
    bool stashed; /* wait() already has the next message: */
    struct nf_pvm_message stash;
    struct nf_link link;
};

uint64_t nf_message_limit_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);

    if (pages <= 0 || page_bytes <= 0)
        return UINT64_C(1) << 40;
    return (uint64_t)pages * (uint64_t)page_bytes;
}

static void transmit(struct port_pvm *p, const struct nf_link_out *out)
{
    if (nf_pvm_send(p->master, out, p->convert) != NF_OK)
        p->gone = true;
    nf_link_sent(&p->link, out);
}

static void flush(struct port_pvm *p)
{
    struct nf_link_out out;

    while (!p->gone && nf_route_next(p->master, &p->link, &out) == NF_OK)
        transmit(p, &out);
    if (!p->gone &&
        (nf_link_owes_confirmation(&p->link) || nf_route_owes(p->master))) {
        nf_link_confirm(&p->link, &out);
        transmit(p, &out);
    }
}

static enum nf_status pvm_port_send(struct nf_port *port,
                                    const struct nf_msg *msg)
{
    struct port_pvm *p = (struct port_pvm *)port;
    enum nf_status status = nf_link_queue(&p->link, msg);

    if (status == NF_OK)
        flush(p);
    return status;
}

static enum nf_status take_frame(struct port_pvm *p,
                                 const struct nf_pvm_message *m,
                                 struct nf_msg *msg_p)
{
    struct nf_link_in in;
    enum nf_status status;

    if (m->tid != p->master || m->frame.cookie != p->link.cookie)
        return NF_WAIT; /* some other program's */
    status = nf_link_accept(&p->link, &m->frame, &in);
    if (status == NF_OK)
        status = nf_pvm_take(&in);
    if (status != NF_OK)
        return status;
    status = nf_link_finish(&p->link, &in, msg_p);
    if (!p->routed) /* the first word of the master came over the new route */
        nf_link_set_window(&p->link, nf_pvm_window_bytes());
    p->routed = true;
    flush(p);
    return status;
}

static enum nf_status pvm_port_receive(struct nf_port *port,
                                       struct nf_msg *msg_p)
{
    struct port_pvm *p = (struct port_pvm *)port;
    struct nf_pvm_message m;
    enum nf_status status;

    nf_mesh_pvm_tend();
    for (;;) {
        if (p->gone)
            return NF_ERR_UNREACHABLE;
        status = NF_OK;
        if (p->stashed)
            m = p->stash;
        else
            status = nf_pvm_receive(0, &m);
        p->stashed = false;
        if (status != NF_OK)
            return status;
        if (m.kind == NF_PVM_EXIT && m.tid == p->master)
            return NF_ERR_UNREACHABLE;
        if (m.kind != NF_PVM_FRAME)
            continue;
        status = take_frame(p, &m, msg_p);
        if (status != NF_WAIT)
            return status;
    }
}

/* Wait within libpvm, which saves system calls.  Before a brief sleep whoever
 * else is ready to run on this processor has a turn: what is waited for is often
 * just what he is about to send, and to find it costs less than to be woken. */
static enum nf_status linger(struct port_pvm *p, int64_t timeout_us)
{
    if (p->base.is_brief) {
        sched_yield();
        p->stashed = nf_pvm_receive(0, &p->stash) == NF_OK;
    }
    if (!p->stashed)
        p->stashed = nf_pvm_receive(timeout_us, &p->stash) == NF_OK;
    return p->stashed ? NF_OK : NF_WAIT;
}

static enum nf_status pvm_port_wait(struct nf_port *port, int64_t timeout_us)
{
    struct port_pvm *p = (struct port_pvm *)port;
    struct pollfd watch[WATCHED_MOST];
    const int *fds;
    size_t count, nducts;
    int64_t look_us = nf_mesh_turn_look_us();
    bool looks = look_us >= 0 && (timeout_us < 0 || timeout_us > look_us);
    struct timespec most = nf_mesh_timespec(looks ? look_us : timeout_us);
    uint64_t told;
    int ready;

    if (p->stashed)
        return NF_OK;
    if (p->link.queued_bytes > 0)
        flush(p); /* a mesh may have heard of room on the way since */
    if (nf_mesh_pvm_is_used()) {
        /* what a mesh has made libpvm read, no socket tells of */
        p->stashed = nf_pvm_receive(0, &p->stash) == NF_OK;
        if (p->stashed || nf_mesh_pvm_is_pending())
            return NF_OK;
    } else if (p->base.may_linger) {
        return linger(p, timeout_us);
    }
    count = nf_pvm_fds(&fds);
    if (count > FDS_MOST)
        count = FDS_MOST;
    for (size_t i = 0; i < count; i++)
        watch[i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
    watch[count] = (struct pollfd){ .fd = p->wake_fd, .events = POLLIN };
    nducts = nf_mesh_duct_watch(watch + count + 1, NF_MESH_DUCT_FDS_MOST);
    ready = ppoll(watch, (nfds_t)(count + 1 + nducts),
                  looks || timeout_us >= 0 ? &most : NULL, NULL);
    if (ready <= 0)
        return looks ? NF_OK : NF_WAIT;
    (void)nf_mesh_duct_serve(watch + count + 1, nducts);
    if (watch[count].revents != 0 &&
        read(p->wake_fd, &told, sizeof(told)) < 0 && errno != EAGAIN)
        return NF_WAIT;
    return NF_OK;
}

static size_t pvm_port_backlog_bytes(const struct nf_port *port)
{
    return (size_t)((const struct port_pvm *)port)->link.queued_bytes;
}

static void pvm_port_wake(struct nf_port *port)
{
    const struct port_pvm *p = (const struct port_pvm *)port;
    uint64_t one = 1;

    if (write(p->wake_fd, &one, sizeof(one)) < 0)
        return; /* the counter is full: it is awake */
}

static void pvm_port_close(struct nf_port *port)
{
    struct port_pvm *p = (struct port_pvm *)port;

    nf_pvm_leave();
    nf_mesh_pvm_tend();
    nf_link_fini(&p->link);
    close(p->wake_fd);
    nf_free(p);
}

static const struct nf_port_ops pvm_port = {
    .send = pvm_port_send,
    .receive = pvm_port_receive,
    .wait = pvm_port_wait,
    .wake = pvm_port_wake,
    .backlog_bytes = pvm_port_backlog_bytes,
    .mesh = nf_port_pvm_mesh,
    .close = pvm_port_close,
};

int nf_port_pvm_master(const struct nf_port *port)
{
    return ((const struct port_pvm *)port)->master;
}

/* Do the data formats of the two hosts differ? */
static bool formats_differ(int mine, int theirs)
{
    struct nf_pvm_host *hosts;
    size_t count;
    bool differ;

    if (nf_pvm_hosts(&hosts, &count) != NF_OK)
        return true;
    differ = nf_pvm_formats_differ(hosts, count, nf_pvm_host_of(mine),
                                   nf_pvm_host_of(theirs));
    nf_free(hosts);
    return differ;
}

enum nf_status nf_port_pvm_open(const char *address, struct nf_port **port_p,
                                struct nf_error *err)
{
    const char *encoding = getenv("NOWFARM_ENCODING");
    unsigned master, spawn_id;
    unsigned long long cookie;
    struct port_pvm *p;
    int tid;

    if (sscanf(address, "pvm:%x:%llx:%u", &master, &cookie, &spawn_id) != 3)
        return nf_fail(err, NF_ERR_INVAL,
                       NF_SLAVE_VARIABLE "=%s: not an address of a master",
                       address);
    p = nf_calloc(1, sizeof(*p));
    if (p == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    p->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (p->wake_fd < 0) {
        nf_free(p);
        return nf_fail(err, NF_ERR_IO, "eventfd: %s", strerror(errno));
    }
    if (nf_pvm_enroll(&tid) != NF_OK) {
        close(p->wake_fd);
        nf_free(p);
        return nf_fail(err, NF_ERR_UNREACHABLE, "no pvmd answers here");
    }
    p->base.ops = &pvm_port;
    p->base.spawn_id = spawn_id;
    p->master = (int)master;
    p->convert = (encoding != NULL && strcmp(encoding, "xdr") == 0) ||
                 formats_differ(tid, p->master);
    nf_link_init(&p->link, cookie, nf_message_limit_bytes());
    nf_pvm_ask_direct_routes(nf_pvm_wants_direct_routes());
    nf_pvm_notify_exit(p->master);
    *port_p = &p->base;
    return NF_OK;
}
