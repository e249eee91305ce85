/* Meshes of PVM tasks: a link to each member.
 *
 * Frames are taken from within any call into libpvm, also one that sends.  So
 * taking one only puts it together and notes what is to be done; what frees or
 * sends is done in nf_mesh_send() and nf_mesh_next(). */
#include "config.h"
#include "common/net/mesh_pvm.h"
#include <string.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/net/pvm_route.h"

enum {
    /* Times that libpvm is asked for more in a call that gives no event. */
    TURNS_MOST = 256,
};

/* -------------------------------------------------------------- sleepers */

void nf_mesh_pvm_signal(struct mesh_pvm *p)
{
    static const uint64_t one = 1;

    if (!p->signalled && write(p->fd, &one, sizeof(one)) == sizeof(one))
        p->signalled = true;
}

void nf_mesh_pvm_wake(struct mesh_pvm *p)
{
    if (p->watched && !p->awake)
        nf_mesh_pvm_signal(p);
}

/* ---------------------------------------------------------------- frames */

/* In all meshes. */
static size_t ntouched;

void nf_mesh_pvm_touch(struct mesh_pvm *p, uint32_t member)
{
    if (p->members[member].touched)
        return;
    p->members[member].touched = true;
    p->touched[p->ntouched++] = member;
    ntouched++;
}

uint32_t nf_mesh_pvm_pop_touched(struct mesh_pvm *p)
{
    uint32_t member = p->touched[--p->ntouched];

    p->members[member].touched = false;
    ntouched--;
    return member;
}

bool nf_mesh_pvm_any_touched(void)
{
    return ntouched > 0;
}

static void take_message(struct mesh_pvm *p, uint32_t member,
                         const struct nf_msg *msg)
{
    struct mesh_note *note;

    if (msg->kind == KIND_BYE) {
        p->members[member].owes_bye = true;
        nf_mesh_pvm_leave(p, member);
        return;
    }
    if (msg->kind == KIND_ANSWER) {
        nf_mesh_watch_hear(p, member, msg->body, msg->body_bytes);
        return;
    }
    if (msg->kind == KIND_LOAN) {
        nf_mesh_loan_hear(p, member, msg->body, msg->body_bytes);
        return;
    }
    if (msg->kind == KIND_DUCT) {
        nf_mesh_duct_hear(p, member, msg->body, msg->body_bytes);
        return;
    }
    if (msg->kind == KIND_LENT) {
        nf_blob_unref(msg->payload);
        nf_mesh_loan_come(p, member, msg->body, msg->body_bytes);
        return;
    }
    if (msg->body_bytes < 1 || msg->body_bytes > NF_MESH_HEAD_BYTES ||
        (msg->kind != KIND_NORMAL && msg->kind != KIND_URGENT)) {
        nf_blob_unref(msg->payload);
        return;
    }
    note = nf_malloc(sizeof(*note) + msg->body_bytes);
    if (note == NULL) {
        p->failed = NF_ERR_NOMEM;
        nf_blob_unref(msg->payload);
        return;
    }
    note->kind = NF_MESH_MESSAGE;
    note->urgent = msg->kind == KIND_URGENT;
    note->member = member;
    note->payload = msg->payload;
    note->debt = NULL;
    note->head_bytes = msg->body_bytes;
    memcpy(note->head, msg->body, msg->body_bytes);
    nf_mesh_pvm_post(p, note);
}

static enum nf_status copy_bytes(const struct nf_link_in *in,
                                 const uint8_t *bytes)
{
    if (in->frame.body_bytes > 0)
        memcpy(in->body, bytes, in->frame.body_bytes);
    if (in->frame.payload_bytes > 0)
        memcpy(in->payload, bytes + in->frame.body_bytes,
               in->frame.payload_bytes);
    return NF_OK;
}

void nf_mesh_pvm_take(struct mesh_pvm *p, uint32_t member,
                      const struct nf_frame *frame, const uint8_t *bytes,
                      bool by_duct)
{
    struct mesh_member *m = &p->members[member];
    struct nf_link_in in;
    struct nf_msg msg;
    enum nf_status status;

    if (p->closed)
        nf_mesh_pvm_hear(p, member, frame->kind);
    if (m->left || p->closed)
        return;
    status = nf_link_accept(&m->link, frame, &in);
    if (status == NF_OK)
        status = bytes != NULL ? copy_bytes(&in, bytes) : nf_pvm_take(&in);
    if (status == NF_ERR_NOMEM)
        p->failed = status; /* what follows would continue nothing */
    if (status != NF_OK) {
        nf_log(NF_LOG_WARN, "frame of task %x ignored: %s", (unsigned)m->tid,
               nf_strerror(status));
        return;
    }
    m->duct = m->duct || by_duct;
    nf_mesh_pvm_hear(p, member, frame->kind);
    if (m->exited)
        m->exited_us = nf_now_us(); /* it has not been read to its end */
    status = nf_link_finish(&m->link, &in, &msg);
    if (status == NF_WAIT) /* more of it is to come */
        p->moved_bytes += frame->body_bytes + frame->payload_bytes;
    nf_mesh_pvm_touch(p, member);
    if (status == NF_OK)
        take_message(p, member, &msg);
}

static bool is_normal(enum nf_msg_kind kind)
{
    return kind == KIND_NORMAL || kind == KIND_LENT;
}

void nf_mesh_pvm_transmit(struct mesh_pvm *p, uint32_t member,
                          const struct nf_link_out *out)
{
    struct mesh_member *m = &p->members[member];

    /* The answer may come before pvm_send returns: it is taken after the link
     * knows what it is the answer to. */
    p->space->sending = true;
    /* a failed send says no more than that a notice will come */
    if (m->duct)
        nf_mesh_duct_send(p, member, out);
    else
        (void)nf_pvm_send(m->tid, out, m->convert);
    nf_link_sent(&m->link, out);
    if (is_normal(out->frame.kind))
        p->moved_bytes += out->frame.body_bytes + out->frame.payload_bytes;
    p->space->sending = false;
    nf_mesh_space_catch_up(p->space);
}

void nf_mesh_pvm_flush(struct mesh_pvm *p, uint32_t member)
{
    struct mesh_member *m = &p->members[member];
    struct nf_link_out out;

    while (m->met && !m->left && !m->exited &&
           nf_route_next(nf_mesh_route(m), &m->link, &out) == NF_OK) {
        if (is_normal(out.frame.kind) && m->link.nnormal <= m->nwaiting)
            break; /* it is others' turn */
        nf_mesh_pvm_transmit(p, member, &out);
    }
}

static void confirm(struct mesh_pvm *p, uint32_t member)
{
    struct mesh_member *m = &p->members[member];
    struct nf_link_out out;

    if (m->exited || (!m->met && !m->owes_bye))
        return;
    if (!m->owes_bye && (m->left || (!nf_link_owes_confirmation(&m->link) &&
                                     !nf_route_owes(nf_mesh_route(m)))))
        return;
    nf_link_confirm(&m->link, &out);
    if (m->owes_bye) { /* to a task that may have ended by now */
        nf_pvm_hush();
        nf_mesh_pvm_transmit(p, member, &out);
        nf_pvm_unhush();
    } else {
        nf_mesh_pvm_transmit(p, member, &out);
    }
    m->owes_bye = false;
}

/* ------------------------------------------------------------ operations */

static enum nf_status pvm_send_to(struct nf_mesh *mesh, uint32_t member,
                                  const struct nf_mesh_message *message)
{
    struct mesh_pvm *p = (struct mesh_pvm *)mesh;
    struct mesh_member *m;
    struct nf_msg msg = { .kind = message->urgent ? KIND_URGENT : KIND_NORMAL,
                          .body = message->head,
                          .body_bytes = message->head_bytes,
                          .payload = message->payload };
    struct nf_pvm_guard guard;
    enum nf_status status;
    size_t bytes;

    if (!nf_mesh_may_send(mesh, member, message))
        return NF_ERR_INVAL;
    m = &p->members[member];
    if (m->left || m->exited)
        return NF_OK;
    if (nf_mesh_space_is_dead(p->space))
        return NF_ERR_UNREACHABLE;
    bytes = message->payload != NULL ? message->payload->bytes : 0;
    status = nf_mesh_loan_lend(p, member, message);
    if (status == NF_OK)
        bytes = 0; /* next to nothing goes out */
    else if (status == NF_WAIT)
        status = nf_link_queue(&m->link, &msg);
    if (status != NF_OK)
        return status;
    if (!message->urgent && nf_mesh_turn_waits(p, member, bytes))
        return NF_OK;
    if (m->duct) {
        nf_mesh_pvm_flush(p, member);
        return NF_OK;
    }
    nf_pvm_enter(p->space->context, false, &guard);
    nf_mesh_pvm_flush(p, member);
    nf_pvm_return(&guard);
    return NF_OK;
}

static void serve_one(struct mesh_pvm *p, uint32_t member)
{
    nf_mesh_pvm_greet(p, member);
    nf_mesh_watch_tell(p, member);
    nf_mesh_loan_tell(p, member);
    nf_mesh_pvm_flush(p, member);
    confirm(p, member);
}

void nf_mesh_pvm_serve(struct mesh_pvm *p)
{
    struct nf_pvm_guard guard;

    while (p->ntouched > 0) {
        uint32_t member = nf_mesh_pvm_pop_touched(p);

        if (p->members[member].duct) {
            serve_one(p, member);
            continue;
        }
        nf_pvm_enter(p->space->context, false, &guard);
        serve_one(p, member);
        nf_pvm_return(&guard);
    }
}

enum nf_status nf_mesh_pvm_move(struct mesh_pvm *p)
{
    struct nf_pvm_guard guard;
    enum nf_status status;
    bool came;

    if (nf_mesh_space_is_dead(p->space)) {
        nf_mesh_duct_tend();
        return NF_ERR_UNREACHABLE;
    }
    came = nf_mesh_duct_read();
    nf_pvm_enter(p->space->context, false, &guard);
    status = nf_pvm_pump();
    nf_pvm_return(&guard);
    nf_mesh_pvm_serve(p);
    nf_mesh_pvm_tend();
    return status == NF_WAIT && came ? NF_OK : status;
}

static void forget(struct mesh_pvm *p, uint32_t member)
{
    struct nf_pvm_guard guard;

    if (p->members[member].owes_bye && !nf_mesh_space_is_dead(p->space)) {
        nf_pvm_enter(p->space->context, false, &guard);
        confirm(p, member);
        nf_pvm_return(&guard);
    }
    nf_mesh_loan_withdraw(p, member);
    nf_link_fini(&p->members[member].link);
}

static bool take_event(struct mesh_pvm *p, struct nf_mesh_event *event_p)
{
    struct mesh_note *note = nf_mesh_notes_pop(&p->urgent);

    if (note == NULL)
        note = nf_mesh_pvm_pop_normal(p);
    if (note == NULL)
        return false;
    p->current = note;
    nf_mesh_pvm_took(p, note);
    if (note->kind == NF_MESH_LEFT)
        forget(p, note->member);
    event_p->kind = note->kind;
    event_p->member = note->member;
    event_p->message = (struct nf_mesh_message){ .head = note->head,
                                                 .head_bytes = note->head_bytes,
                                                 .payload = note->payload,
                                                 .urgent = note->urgent };
    note->payload = NULL;
    if (note->debt != NULL && !nf_mesh_space_is_dead(p->space))
        nf_mesh_pvm_serve(p); /* who lent it waits for word of that */
    return true;
}

/* One look at the sockets finds all that has come: when the messages of it have
 * been taken, it is time to sleep and not to look again.  Whoever does not
 * sleep but asks again gets another look. */
static enum nf_status look(struct mesh_pvm *p)
{
    enum nf_status status;

    if (p->drained && ntouched == 0 && !nf_mesh_space_is_dead(p->space)) {
        p->drained = false;
        return NF_WAIT;
    }
    status = nf_mesh_pvm_move(p);
    if (status == NF_WAIT && p->arriving)
        status = nf_mesh_pvm_move(p);
    p->arriving = false;
    p->drained = status == NF_OK;
    return status;
}

static enum nf_status pvm_next(struct nf_mesh *mesh,
                               struct nf_mesh_event *event_p)
{
    struct mesh_pvm *p = (struct mesh_pvm *)mesh;
    enum nf_status status = NF_WAIT;
    uint64_t count;

    nf_mesh_note_free(p->current);
    p->current = NULL;
    p->awake = true;
    if (p->signalled && read(p->fd, &count, sizeof(count)) == sizeof(count))
        p->signalled = false;
    nf_mesh_watch_see(p); /* before anybody hears of what made it due */
    nf_mesh_pvm_see_ends(p);
    for (int turn = 0; turn < TURNS_MOST; turn++) {
        if (take_event(p, event_p)) {
            status = NF_OK;
            break;
        }
        status = p->failed != NF_OK ? p->failed : look(p);
        if (status == NF_OK && p->reading)
            status = NF_WAIT;
        if (status < NF_OK || p->reading ||
            (status == NF_WAIT && !nf_mesh_pvm_holds_notes(p) &&
             !nf_mesh_pvm_declare_ends(p)))
            break;
        status = NF_WAIT;
    }
    p->awake = false;
    return status;
}

bool nf_mesh_pvm_has_news(const struct mesh_pvm *p)
{
    return nf_mesh_pvm_holds_notes(p) || p->failed != NF_OK || ntouched > 0 ||
           p->nexited > 0 || nf_mesh_watch_is_due() || nf_route_some_owe() ||
           nf_mesh_space_is_dead(p->space) || nf_mesh_turn_is_due();
}

static enum nf_status pvm_wait(struct nf_mesh *mesh, int64_t timeout_us)
{
    struct mesh_pvm *p = (struct mesh_pvm *)mesh;
    int64_t look_us = nf_mesh_turn_look_us();
    int64_t watch_us = nf_mesh_watch_left_us(p);

    p->drained = false;
    if (nf_mesh_pvm_has_news(p))
        return NF_OK;
    if (look_us < 0 || (watch_us >= 0 && watch_us < look_us))
        look_us = watch_us;
    if (look_us < 0 || (timeout_us >= 0 && timeout_us < look_us))
        return nf_mesh_pvm_doze(p, timeout_us) ? NF_OK : NF_WAIT;
    (void)nf_mesh_pvm_doze(p, look_us);
    return NF_OK;
}

static size_t pvm_fds_of(struct nf_mesh *mesh, const int **fds_p)
{
    struct mesh_pvm *p = (struct mesh_pvm *)mesh;
    struct pollfd ducts[NF_MESH_DUCT_FDS_MOST];
    size_t count = 0, nducts = nf_mesh_duct_watch(ducts, NF_MESH_DUCT_FDS_MOST);
    const int *fds;
    int turn_fd;

    p->drained = false;
    p->watched = true;
    if (nf_mesh_pvm_has_news(p))
        nf_mesh_pvm_signal(p);
    /* who has left PVM must not be enrolled again by a look at it */
    if (!nf_mesh_space_is_dead(p->space)) {
        if (nf_pvm_holds_more())
            nf_mesh_pvm_signal(p); /* so that the others are asked too */
        count = nf_pvm_fds(&fds);
    }
    if (count + nducts + 2 > p->fds_capacity) {
        size_t capacity = count + nducts + 16;
        int *more = nf_realloc(p->fds, capacity * sizeof(*more));

        if (more == NULL) {
            *fds_p = &p->fd;
            nf_mesh_pvm_signal(p); /* try again rather than miss something */
            return 1;
        }
        p->fds = more;
        p->fds_capacity = capacity;
    }
    if (count > 0)
        memcpy(p->fds, fds, count * sizeof(*fds));
    for (size_t i = 0; i < nducts; i++)
        p->fds[count++] = ducts[i].fd;
    p->fds[count++] = p->fd;
    turn_fd = nf_mesh_turn_fd();
    if (turn_fd >= 0)
        p->fds[count++] = turn_fd;
    else if (nf_mesh_turn_look_us() >= 0)
        nf_mesh_pvm_signal(p); /* there is no descriptor left */
    *fds_p = p->fds;
    return count;
}

static size_t pvm_backlog_bytes(const struct nf_mesh *mesh, uint32_t member)
{
    const struct mesh_pvm *p = (const struct mesh_pvm *)mesh;
    const struct mesh_member *m = &p->members[member];

    return m->left || m->exited
               ? 0
               : (size_t)m->link.queued_bytes + m->lent_bytes;
}

static uint64_t pvm_moved_bytes(const struct nf_mesh *mesh)
{
    return ((const struct mesh_pvm *)mesh)->moved_bytes;
}

static void pvm_drop(struct nf_mesh *mesh)
{
    struct mesh_pvm *p = (struct mesh_pvm *)mesh;

    nf_mesh_turn_drop(p);
    for (uint32_t i = 0; i < mesh->ranks; i++) {
        nf_mesh_loan_withdraw(p, i);
        nf_link_purge(&p->members[i].link);
    }
}

static void pvm_take_back(struct nf_mesh *mesh, const struct nf_blob *payload)
{
    nf_mesh_loan_take_back((struct mesh_pvm *)mesh, payload);
}

static void pvm_landing_changed(struct nf_mesh *mesh)
{
    struct mesh_pvm *p = (struct mesh_pvm *)mesh;

    if (p->later.head != NULL && nf_mesh_pvm_holds_notes(p))
        nf_mesh_pvm_wake(p);
}

static bool pvm_has_urgent(const struct nf_mesh *mesh, uint32_t member)
{
    const struct mesh_pvm *p = (const struct mesh_pvm *)mesh;
    const struct mesh_member *m = &p->members[member];

    return !m->left && !m->exited && m->link.urgent.head != NULL;
}

static void pvm_pause(struct nf_mesh *mesh, uint32_t member, bool paused)
{
    struct mesh_pvm *p = (struct mesh_pvm *)mesh;
    struct mesh_member *m = &p->members[member];
    struct nf_pvm_guard guard;

    if (m->paused == paused)
        return;
    m->paused = paused;
    if (paused) {
        nf_link_hold(&m->link, true);
        return;
    }
    if (nf_mesh_pvm_take_up(p, member) || nf_mesh_pvm_holds_notes(p))
        nf_mesh_pvm_wake(p);
    if (m->untaken_bytes > m->later_bytes)
        return;
    nf_link_hold(&m->link, false);
    if (nf_mesh_space_is_dead(p->space))
        return;
    /* now, as this task may not come back to the mesh for long */
    nf_pvm_enter(p->space->context, false, &guard);
    nf_mesh_pvm_flush(p, member);
    confirm(p, member);
    nf_pvm_return(&guard);
}

static uint32_t pvm_host_of(const struct nf_mesh *mesh, uint32_t member)
{
    const struct mesh_pvm *p = (const struct mesh_pvm *)mesh;

    return (uint32_t)nf_pvm_host_of(p->members[member].tid);
}

static bool pvm_converts(const struct nf_mesh *mesh, uint32_t member)
{
    return ((const struct mesh_pvm *)mesh)->members[member].convert;
}

static bool pvm_is_direct(const struct nf_mesh *mesh, uint32_t member)
{
    const struct mesh_pvm *p = (const struct mesh_pvm *)mesh;

    return p->routes && !nf_mesh_pvm_has_detour(p, member);
}

static size_t pvm_chain_part_bytes(const struct nf_mesh *mesh, uint32_t member)
{
    const struct mesh_pvm *p = (const struct mesh_pvm *)mesh;

    /* to copy that takes as long as a frame does, or as long as another part to read */
    return p->members[member].lends ? 4 << 10 : 64 << 10;
}

const struct nf_mesh_ops nf_mesh_pvm = {
    .name = "pvm",
    .takes_chains = true,
    .send = pvm_send_to,
    .next = pvm_next,
    .wait = pvm_wait,
    .fds = pvm_fds_of,
    .backlog_bytes = pvm_backlog_bytes,
    .subset = nf_mesh_pvm_subset,
    .close = nf_mesh_pvm_close,
    .pause = pvm_pause,
    .moved_bytes = pvm_moved_bytes,
    .drop = pvm_drop,
    .has_urgent = pvm_has_urgent,
    .place = nf_mesh_pvm_place,
    .host_names = nf_mesh_pvm_host_names,
    .is_direct = pvm_is_direct,
    .host_of = pvm_host_of,
    .converts = pvm_converts,
    .suspect = nf_mesh_watch_suspect,
    .chain_part_bytes = pvm_chain_part_bytes,
    .take_back = pvm_take_back,
    .landing_changed = pvm_landing_changed,
};
