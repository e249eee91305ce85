/* What has come for a mesh of PVM tasks and was not taken yet. */
#include "config.h"
#include "common/base/alloc.h"
#include "common/net/mesh_pvm.h"

/* Sending reads too: more could come, and be confirmed, for ever. */
enum { UNTAKEN_MOST_BYTES = NF_LINK_WINDOW_MAX_BYTES };

void nf_mesh_notes_push(struct mesh_notes *list, struct mesh_note *note)
{
    note->next = NULL;
    if (list->head == NULL)
        list->head = note;
    else
        list->tail->next = note;
    list->tail = note;
}

struct mesh_note *nf_mesh_notes_pop(struct mesh_notes *list)
{
    struct mesh_note *note = list->head;

    if (note != NULL)
        list->head = note->next;
    return note;
}

void nf_mesh_note_free(struct mesh_note *note)
{
    if (note == NULL)
        return;
    nf_blob_unref(note->payload);
    nf_free(note->debt);
    nf_free(note);
}

void nf_mesh_notes_free(struct mesh_notes *list)
{
    struct mesh_note *note;

    while ((note = nf_mesh_notes_pop(list)) != NULL)
        nf_mesh_note_free(note);
}

/* What is read when it is taken has not come by the link. */
size_t nf_mesh_note_bytes(const struct mesh_note *note)
{
    return note->head_bytes + (note->payload != NULL && note->debt == NULL
                                   ? note->payload->bytes
                                   : 0);
}

void nf_mesh_pvm_post(struct mesh_pvm *p, struct mesh_note *note)
{
    struct mesh_member *m = &p->members[note->member];
    bool first = note->kind == NF_MESH_LEFT && m->untaken_bytes == 0;

    /* a member that has left stands behind what it said, not behind others */
    nf_mesh_notes_push(note->urgent || first ? &p->urgent : &p->normal, note);
    if (!note->urgent) {
        m->untaken_bytes += nf_mesh_note_bytes(note);
        if (m->untaken_bytes > UNTAKEN_MOST_BYTES)
            nf_link_hold(&m->link, true);
    }
    nf_mesh_pvm_wake(p);
}

static bool is_later_over(const struct mesh_pvm *p)
{
    const struct mesh_note *note = p->later.head;

    while (note != NULL && nf_mesh_loan_is_later(p, note))
        note = note->next;
    return note != NULL;
}

bool nf_mesh_pvm_holds_notes(const struct mesh_pvm *p)
{
    return p->urgent.head != NULL || p->normal.head != NULL || is_later_over(p);
}

/* That a paused member has left is told if nothing stands before it. */
static bool is_to_wait(const struct mesh_pvm *p, const struct mesh_note *note)
{
    const struct mesh_member *m = &p->members[note->member];

    return m->paused && (note->kind != NF_MESH_LEFT || m->held.head != NULL ||
                         m->later_bytes > 0);
}

void nf_mesh_pvm_took(struct mesh_pvm *p, const struct mesh_note *note)
{
    struct mesh_member *m = &p->members[note->member];

    if (note->urgent)
        return;
    m->untaken_bytes -= nf_mesh_note_bytes(note);
    nf_mesh_pvm_let_go_on(p, note->member);
}

void nf_mesh_pvm_let_go_on(struct mesh_pvm *p, uint32_t member)
{
    struct mesh_member *m = &p->members[member];

    if (m->untaken_bytes > m->later_bytes || m->paused || !m->link.holding)
        return;
    nf_link_hold(&m->link, false);
    nf_mesh_pvm_touch(p, member);
}

/* @return NULL, and nothing stands first any more, or not all of it is there */
static struct mesh_note *pop_first(struct mesh_pvm *p)
{
    struct mesh_note *note = p->normal.head;
    enum nf_status status = nf_mesh_loan_read(p, note);

    if (status == NF_WAIT)
        return NULL;
    (void)nf_mesh_notes_pop(&p->normal);
    if (status == NF_OK)
        return note;
    nf_mesh_pvm_took(p, note); /* it was taken back, or will never be there */
    nf_mesh_note_free(note);
    return NULL;
}

/* @p list goes before all else. */
static void put_before(struct mesh_pvm *p, struct mesh_notes *list)
{
    if (list->head == NULL)
        return;
    list->tail->next = p->normal.head;
    if (p->normal.head == NULL)
        p->normal.tail = list->tail;
    p->normal.head = list->head;
    list->head = NULL;
}

/* Those that it is time for.
 * @param member  that of this one is due in any case; UINT32_MAX: of none */
static void see_to_later(struct mesh_pvm *p, uint32_t member)
{
    struct mesh_notes due = { NULL, NULL }, still = { NULL, NULL };
    struct mesh_note *note;

    while ((note = nf_mesh_notes_pop(&p->later)) != NULL)
        if (note->member == member || !nf_mesh_loan_is_later(p, note)) {
            p->members[note->member].later_bytes -= nf_mesh_note_bytes(note);
            nf_mesh_loan_make_due(note);
            nf_mesh_notes_push(&due, note);
        } else {
            nf_mesh_notes_push(&still, note);
        }
    p->later = still;
    put_before(p, &due);
}

/* Is it lent, and does what its member lent before wait?  Then that is read first, and so
 * there is never more than one of a member. */
static bool has_later_before(const struct mesh_pvm *p,
                             const struct mesh_note *note)
{
    return note->debt != NULL && p->members[note->member].later_bytes > 0;
}

/* What its member sends behind it may be what an earlier call waits for. */
static void put_off_first(struct mesh_pvm *p)
{
    struct mesh_note *note = nf_mesh_notes_pop(&p->normal);

    p->members[note->member].later_bytes += nf_mesh_note_bytes(note);
    nf_mesh_notes_push(&p->later, note);
    nf_mesh_pvm_let_go_on(p, note->member);
}

static void hold_first(struct mesh_pvm *p)
{
    struct mesh_note *note = nf_mesh_notes_pop(&p->normal);

    nf_mesh_notes_push(&p->members[note->member].held, note);
}

struct mesh_note *nf_mesh_pvm_pop_normal(struct mesh_pvm *p)
{
    struct mesh_note *note = NULL;

    p->reading = false;
    see_to_later(p, UINT32_MAX);
    while (note == NULL && !p->reading && p->normal.head != NULL)
        if (is_to_wait(p, p->normal.head)) {
            hold_first(p);
        } else if (has_later_before(p, p->normal.head)) {
            see_to_later(p, p->normal.head->member);
        } else if (nf_mesh_loan_is_later(p, p->normal.head)) {
            put_off_first(p);
        } else {
            note = pop_first(p);
        }
    return note;
}

bool nf_mesh_pvm_take_up(struct mesh_pvm *p, uint32_t member)
{
    struct mesh_notes *held = &p->members[member].held;

    if (held->head == NULL)
        return false;
    put_before(p, held);
    return true;
}
