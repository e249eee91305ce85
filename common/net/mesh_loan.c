/* Large payloads for members on this host: these read them from our memory.
 *
 *     lender                      reader
 *       KEY --------------------->   how to know my memory: it tries to
 *       <-------------------- OPEN   I can read it
 *       LENT -------------------->   a message, in order with all others: here is
 *                                    its payload.  Read when the message is taken
 *       <------------------- TAKEN   and now it is yours again
 *
 * By a link a payload is copied four times, twice on each side, in frames of which each
 * costs some system calls.  So it is copied once, by its reader.
 *
 * A lender keeps its reference until TAKEN; until then its backlog has these bytes, unless
 * the reader has left: then their mark is spoilt.  It
 * may take a loan back at any time (the call has failed, the mesh is closed): then the
 * mark of the loan (peer_memory.h) changes first, and the reader, who finds that, drops
 * the message, as if it had never left.  If the lender has died the reader finds nothing,
 * and takes no more of it, as that would follow nothing: word of the end comes.
 *
 * The reader copies to where its user wants the bytes in the end, if it says so
 * (nf_mesh_landing), else to a block of its own.  What its user is not ready for it
 * does not read yet, and takes what came behind it before: copied once more it would be
 * there later than if it had waited.  But what one member lends is read in the order in
 * which it was lent, as TAKEN means all that was lent before, too: so only its last one
 * waits. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/endian.h"
#include "common/base/log.h"
#include "common/net/mesh_pvm.h"
#include "common/net/pvm_route.h"

enum {
    LOAN_LEAST_BYTES = 256 << 10, /* less goes with the message sooner */
    LOAN_BULK_LEAST_BYTES = 64 << 10,
    LOAN_PARTS_MOST = 4096,
    LOANS_MOST = 64, /* at a time, of this task */
    SLICE_BYTES = 8 << 20,
    SIGNAL_BYTES = 24,
    LENT_BYTES = 40, /* and what each part takes: */
    PART_BYTES = 16,
};

enum { LOAN_KEY = 1, LOAN_OPEN, LOAN_TAKEN };

struct mesh_loan {
    struct mesh_loan *next;
    uint64_t number;
    _Atomic uint64_t *mark;
    struct nf_blob *payload;
};

struct mesh_debt {
    uint64_t number, bytes, got;
    enum nf_type type;
    uint8_t *to;   /* where it was read to so far */
    bool homeless; /* it can't be read to where its user wants it */
    bool due;      /* it is not put off any more */
    struct nf_memory_lent lent;
    struct nf_memory_part parts[];
};

/* Others read them at any time as long as this process is there; 0: free.  The first one
 * is that of the process. */
static _Atomic uint64_t marks[1 + LOANS_MOST];

/* @return a number that this process never had, nor any other most likely */
static uint64_t new_mark(void)
{
    static uint64_t last;

    if (last == 0 && getrandom(&last, sizeof(last), 0) != sizeof(last))
        last = (uint64_t)getpid() << 32;
    last += last == UINT64_MAX ? 2 : 1;
    return last;
}

static struct nf_memory_mark mark_of(const _Atomic uint64_t *mark)
{
    return (struct nf_memory_mark){ (uint32_t)getpid(), (uintptr_t)mark,
                                    atomic_load(mark) };
}

/* ------------------------------------------------------------------ signals */

static bool is_wanted(void)
{
    const char *said = getenv("NOWFARM_LOANS");

    return said == NULL || strcmp(said, "no") != 0;
}

/* Is the member to be told how to know our memory? */
static bool owes_key(const struct mesh_pvm *p, uint32_t member)
{
    const struct mesh_member *m = &p->members[member];

    return !m->shown && p->routes && !m->convert &&
           nf_pvm_host_of(m->tid) ==
               nf_pvm_host_of(p->members[p->base.rank].tid);
}

bool nf_mesh_loan_owes(const struct mesh_pvm *p, uint32_t member)
{
    const struct mesh_member *m = &p->members[member];

    return member != p->base.rank && m->met && !m->left && !m->exited &&
           !p->leaving &&
           (m->owes_open || m->taken != m->told_taken || owes_key(p, member));
}

/* @return whether it has gone */
static bool signal_loan(struct mesh_pvm *p, uint32_t member, uint8_t word,
                        const struct nf_memory_mark *mark)
{
    struct mesh_member *m = &p->members[member];
    uint8_t body[SIGNAL_BYTES] = { word };
    struct nf_link_out out;

    nf_store_le32(body + 4, mark->pid);
    nf_store_le64(body + 8, mark->at);
    nf_store_le64(body + 16, mark->value);
    nf_link_signal(&m->link, KIND_LOAN, &out);
    out.body = body;
    out.frame.body_bytes = sizeof(body);
    out.frame.body_total_bytes = sizeof(body);
    if (nf_route_admit(nf_mesh_route(m), &m->link, &out) != NF_OK)
        return false; /* it is touched again when there is room */
    nf_mesh_pvm_transmit(p, member, &out);
    return out.frame.kind == KIND_LOAN;
}

static void show(struct mesh_pvm *p, uint32_t member)
{
    struct mesh_member *m = &p->members[member];
    struct nf_memory_mark mark;

    m->shown = true; /* first: the answer may come within the send */
    if (atomic_load(&marks[0]) == 0) {
        if (!is_wanted())
            return;
        nf_memory_open();
        atomic_store(&marks[0], new_mark());
    }
    mark = mark_of(&marks[0]);
    if (!signal_loan(p, member, LOAN_KEY, &mark))
        m->shown = false;
}

static void end_loan(struct mesh_pvm *p, struct mesh_member *m,
                     struct mesh_loan **at)
{
    struct mesh_loan *loan = *at;

    atomic_store(loan->mark, 0);
    *at = loan->next;
    if (p->lent == loan->payload)
        p->lent = NULL;
    m->lent_bytes -= loan->payload->bytes;
    p->moved_bytes += loan->payload->bytes;
    nf_blob_unref(loan->payload);
    nf_free(loan);
}

static void give_back(struct mesh_pvm *p, uint32_t member, uint64_t number)
{
    struct mesh_member *m = &p->members[member];

    while (m->loans != NULL && m->loans->number <= number)
        end_loan(p, m, &m->loans);
}

void nf_mesh_loan_tell(struct mesh_pvm *p, uint32_t member)
{
    struct mesh_member *m = &p->members[member];
    struct nf_memory_mark none = { 0, 0, 0 };

    if (m->loans != NULL)
        give_back(p, member, m->returned);
    if (!nf_mesh_loan_owes(p, member))
        return;
    if (owes_key(p, member))
        show(p, member);
    if (m->owes_open)
        m->owes_open = !signal_loan(p, member, LOAN_OPEN, &none);
    none.value = m->taken; /* more may be taken while it is sent */
    if (none.value != m->told_taken &&
        signal_loan(p, member, LOAN_TAKEN, &none))
        m->told_taken = none.value;
}

bool nf_mesh_loan_is_all(const struct mesh_pvm *p, uint32_t member)
{
    const struct mesh_member *m = &p->members[member];

    return m->loans != NULL && m->link.queued_bytes == 0 && m->duct && !m->cut &&
           !m->left && !m->exited;
}

void nf_mesh_loan_withdraw(struct mesh_pvm *p, uint32_t member)
{
    give_back(p, member, UINT64_MAX);
}

void nf_mesh_loan_take_back(struct mesh_pvm *p, const struct nf_blob *payload)
{
    for (uint32_t i = 0; i < p->base.ranks; i++) {
        struct mesh_loan **at = &p->members[i].loans;

        while (*at != NULL)
            if ((*at)->payload == payload)
                end_loan(p, &p->members[i], at);
            else
                at = &(*at)->next;
    }
}

void nf_mesh_loan_spoil(struct mesh_pvm *p, uint32_t member)
{
    for (struct mesh_loan *l = p->members[member].loans; l != NULL; l = l->next)
        atomic_store(l->mark, new_mark());
}

/* In all meshes with that task: when it hears that we can read its memory it will lend
 * in any that it makes of this one, and we may have made ours before. */
static void know_mark(struct mesh_pvm *p, int tid,
                      const struct nf_memory_mark *mark)
{
    for (struct mesh_pvm *q = p->space->meshes; q != NULL; q = q->next) {
        uint32_t member = nf_int_map_get(&q->numbers, tid);

        if (member == NF_INT_MAP_NONE)
            continue;
        q->members[member].mark = *mark;
        q->members[member].reads = true;
    }
}

void nf_mesh_loan_hear(struct mesh_pvm *p, uint32_t member,
                       const uint8_t *body, size_t bytes)
{
    struct mesh_member *m = &p->members[member];
    struct nf_memory_lent lent = { .nparts = 0 };

    if (bytes != SIGNAL_BYTES)
        return;
    lent.mark = (struct nf_memory_mark){ nf_load_le32(body + 4),
                                         nf_load_le64(body + 8),
                                         nf_load_le64(body + 16) };
    if (body[0] == LOAN_KEY && is_wanted() &&
        nf_memory_read(&lent, 0, NULL, 0) == NF_OK) {
        know_mark(p, m->tid, &lent.mark);
        m->owes_open = true;
    } else if (body[0] == LOAN_OPEN) {
        m->lends = m->shown;
    } else if (body[0] == LOAN_TAKEN) {
        m->returned = lent.mark.value; /* not from within libpvm */
    }
}

/* ------------------------------------------------------------------ lending */

static _Atomic uint64_t *free_mark(void)
{
    for (int i = 1; i <= LOANS_MOST; i++)
        if (atomic_load(&marks[i]) == 0)
            return &marks[i];
    return NULL;
}

static uint8_t *put_part(uint8_t *to, const void *data, size_t bytes)
{
    nf_store_le64(to, (uintptr_t)data);
    nf_store_le64(to + 8, bytes);
    return to + PART_BYTES;
}

/* @param body  [LENT_BYTES + PART_BYTES * parts + head_bytes] */
static void put_lent(const struct mesh_loan *loan, uint32_t nparts,
                     const struct nf_mesh_message *message, uint8_t *body)
{
    const struct nf_blob *payload = loan->payload;
    uint8_t *to = body + LENT_BYTES;

    memset(body, 0, LENT_BYTES);
    nf_store_le64(body, loan->number);
    nf_store_le64(body + 8, (uintptr_t)loan->mark);
    nf_store_le64(body + 16, atomic_load(loan->mark));
    nf_store_le64(body + 24, payload->bytes);
    nf_store_le32(body + 32, nparts);
    body[36] = (uint8_t)payload->type;
    for (uint32_t i = 0; nf_blob_is_chain(payload) && i < nparts; i++)
        to = put_part(to, payload->parts[i].data, payload->parts[i].bytes);
    if (!nf_blob_is_chain(payload))
        to = put_part(to, payload->data, payload->bytes);
    memcpy(to, message->head, message->head_bytes);
}

static enum nf_status lend(struct mesh_member *m, struct mesh_loan *loan,
                           const struct nf_mesh_message *message)
{
    const struct nf_blob *payload = message->payload;
    uint32_t nparts = nf_blob_is_chain(payload) ? payload->nparts : 1;
    size_t bytes =
        LENT_BYTES + (size_t)nparts * PART_BYTES + message->head_bytes;
    uint8_t *body = nf_malloc(bytes);
    struct nf_msg msg = { .kind = KIND_LENT, .body = body, .body_bytes = bytes };
    enum nf_status status = NF_ERR_NOMEM;

    if (body != NULL) {
        put_lent(loan, nparts, message, body);
        status = nf_link_queue(&m->link, &msg);
    }
    nf_free(body);
    return status;
}

/* Memory that a user lends may be such as only this process can read: a device's. */
static bool can_be_read(const struct mesh_pvm *p, const struct nf_blob *payload)
{
    return payload == p->lent || !nf_blob_is_borrowed(payload) ||
           nf_memory_may_read(payload->data, payload->bytes);
}

enum nf_status nf_mesh_loan_lend(struct mesh_pvm *p, uint32_t member,
                                 const struct nf_mesh_message *message)
{
    struct mesh_member *m = &p->members[member];
    struct nf_blob *payload = message->payload;
    struct mesh_loan *loan, **end = &m->loans;
    size_t least_bytes =
        message->in_bulk ? LOAN_BULK_LEAST_BYTES : LOAN_LEAST_BYTES;
    _Atomic uint64_t *mark;
    enum nf_status status;

    if (!m->lends || message->urgent || payload == NULL ||
        payload->bytes < least_bytes ||
        (nf_blob_is_chain(payload) && payload->nparts > LOAN_PARTS_MOST) ||
        !can_be_read(p, payload))
        return NF_WAIT;
    mark = free_mark();
    if (mark == NULL)
        return NF_WAIT;
    loan = nf_malloc(sizeof(*loan));
    if (loan == NULL)
        return NF_ERR_NOMEM;
    atomic_store(mark, new_mark());
    *loan = (struct mesh_loan){ NULL, m->nlent + 1, mark, payload };
    status = lend(m, loan, message);
    if (status != NF_OK) {
        atomic_store(mark, 0);
        nf_free(loan);
        return status;
    }
    nf_blob_ref(payload);
    p->lent = payload;
    m->nlent++;
    m->lent_at = ++p->nloans;
    m->lent_bytes += payload->bytes;
    while (*end != NULL)
        end = &(*end)->next;
    *end = loan;
    return NF_OK;
}

/* ------------------------------------------------------------------ reading */

/* @param debt  with room for its parts  @return whether they make sense */
static bool get_lent(const struct mesh_member *m, const uint8_t *body,
                     struct mesh_debt *debt)
{
    const uint8_t *at = body + LENT_BYTES;
    uint64_t left;

    debt->number = nf_load_le64(body);
    debt->bytes = left = nf_load_le64(body + 24);
    debt->type = (enum nf_type)body[36];
    debt->lent = (struct nf_memory_lent){
        .mark = { m->mark.pid, nf_load_le64(body + 8), nf_load_le64(body + 16) },
        .parts = debt->parts,
        .nparts = nf_load_le32(body + 32),
    };
    for (uint32_t i = 0; i < debt->lent.nparts; i++, at += PART_BYTES) {
        debt->parts[i] = (struct nf_memory_part){ nf_load_le64(at),
                                                  nf_load_le64(at + 8) };
        if (debt->parts[i].bytes == 0 || debt->parts[i].bytes > left)
            return false;
        left -= debt->parts[i].bytes;
    }
    return left == 0 && debt->bytes <= m->link.limit_bytes && body[36] <= NF_INT16 &&
           debt->bytes % nf_type_bytes(debt->type) == 0;
}

static struct mesh_note *make_note(struct mesh_pvm *p, uint32_t member,
                                   const uint8_t *body, size_t bytes)
{
    uint32_t nparts = bytes >= LENT_BYTES ? nf_load_le32(body + 32) : 0;
    size_t begin = LENT_BYTES + (size_t)nparts * PART_BYTES;
    struct mesh_note *note;
    struct mesh_debt *debt;

    if (nparts == 0 || nparts > LOAN_PARTS_MOST || begin >= bytes ||
        bytes - begin > NF_MESH_HEAD_BYTES || !p->members[member].reads)
        return NULL;
    note = nf_calloc(1, sizeof(*note) + bytes - begin);
    debt = nf_calloc(1, sizeof(*debt) + nparts * sizeof(debt->parts[0]));
    if (note == NULL || debt == NULL) {
        p->failed = NF_ERR_NOMEM;
        nf_free(note);
        nf_free(debt);
        return NULL;
    }
    note->kind = NF_MESH_MESSAGE;
    note->member = member;
    note->debt = debt;
    note->head_bytes = bytes - begin;
    memcpy(note->head, body + begin, bytes - begin);
    if (get_lent(&p->members[member], body, debt))
        return note;
    nf_mesh_note_free(note);
    return NULL;
}

void nf_mesh_loan_come(struct mesh_pvm *p, uint32_t member,
                       const uint8_t *body, size_t bytes)
{
    struct mesh_note *note = make_note(p, member, body, bytes);

    if (note != NULL)
        nf_mesh_pvm_post(p, note);
}

/* The lender may have it back. */
static void be_done(struct mesh_pvm *p, uint32_t member, uint64_t number)
{
    p->members[member].taken = number;
    nf_mesh_pvm_touch(p, member);
}

/* Where the payload is to be; NULL: out of memory. */
static uint8_t *find_place(struct mesh_pvm *p, struct mesh_note *note)
{
    const struct nf_mesh_landing *landing = &p->base.landing;
    const struct mesh_debt *debt = note->debt;
    uint8_t *to = NULL;

    if (landing->find != NULL && note->payload == NULL && !debt->homeless)
        to = landing->find(landing->self, note->member, note->head,
                           note->head_bytes, (size_t)debt->bytes);
    if (to != NULL)
        return to;
    if (note->payload == NULL)
        note->payload = nf_blob_create((size_t)debt->bytes, debt->type);
    return note->payload != NULL ? note->payload->data : NULL;
}

static enum nf_status read_slice(struct mesh_debt *debt, uint8_t *to)
{
    enum nf_status status;
    uint64_t left;
    size_t bytes;

    if (to != debt->to) /* its user has other plans now */
        debt->got = 0;
    debt->to = to;
    left = debt->bytes - debt->got;
    bytes = left < SLICE_BYTES ? (size_t)left : SLICE_BYTES;
    status = nf_memory_read(&debt->lent, debt->got, to + debt->got, bytes);
    if (status != NF_OK)
        return status;
    debt->got += bytes;
    return debt->got == debt->bytes ? NF_OK : NF_WAIT;
}

static enum nf_status read_some(struct mesh_pvm *p, struct mesh_note *note)
{
    struct mesh_debt *debt = note->debt;
    uint8_t *to = find_place(p, note);
    enum nf_status status = to == NULL ? NF_ERR_NOMEM : read_slice(debt, to);

    if (status == NF_ERR_UNREACHABLE && note->payload == NULL) {
        debt->homeless = true; /* or it is gone: that shows in a block of its own */
        return NF_WAIT;
    }
    if (status != NF_OK || note->payload != NULL)
        return status;
    note->payload = nf_blob_wrap(to, (size_t)debt->bytes, debt->type, NULL);
    return note->payload != NULL ? NF_OK : NF_ERR_NOMEM;
}

bool nf_mesh_loan_is_later(const struct mesh_pvm *p,
                           const struct mesh_note *note)
{
    const struct nf_mesh_landing *landing = &p->base.landing;
    const struct mesh_member *m = &p->members[note->member];
    const struct mesh_debt *debt = note->debt;

    if (debt == NULL || debt->got > 0 || debt->bytes == 0 || debt->due ||
        landing->is_later == NULL)
        return false;
    return m->paused ||
           (!m->left &&
            landing->is_later(landing->self, note->head, note->head_bytes));
}

void nf_mesh_loan_make_due(struct mesh_note *note)
{
    note->debt->due = true;
}

enum nf_status nf_mesh_loan_read(struct mesh_pvm *p, struct mesh_note *note)
{
    struct mesh_member *m = &p->members[note->member];
    struct mesh_debt *debt = note->debt;
    enum nf_status status;
    uint64_t before;

    if (note->kind != NF_MESH_MESSAGE)
        return NF_OK;
    if (m->broken)
        return NF_ERR_UNREACHABLE;
    if (debt == NULL || debt->got == debt->bytes)
        return NF_OK;
    before = debt->got;
    status = read_some(p, note);
    p->moved_bytes += debt->got > before ? debt->got - before : 0;
    p->reading = status == NF_WAIT;
    if (status == NF_ERR_NOMEM)
        p->failed = status;
    m->broken = status == NF_ERR_UNREACHABLE;
    if (m->broken)
        nf_log(NF_LOG_INFO, "what task %x lent cannot be read any more",
               (unsigned)m->tid);
    if (status != NF_WAIT)
        be_done(p, note->member, debt->number);
    return status;
}
