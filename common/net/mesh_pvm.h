#ifndef NF_NET_MESH_PVM_H
#define NF_NET_MESH_PVM_H
/** @file mesh_pvm.h  The parts of meshes of PVM tasks.
 *
 *  A mesh and its subsets share a space: a message context, in which they are
 *  told apart by their cookies.  What arrives in a space is handled at once,
 *  whoever makes libpvm read; messages wait in the mesh until nf_mesh_next().
 */
#include <poll.h>
#include "common/base/int_map.h"
#include "common/net/duct.h"
#include "common/net/mesh.h"
#include "common/net/mesh_lookout.h"
#include "common/net/peer_memory.h"
#include "common/net/pvm_context.h"

/* Kinds of frames; of the last: its sender has closed its mesh. */
#define KIND_NORMAL NF_MSG_LEASE
#define KIND_URGENT NF_MSG_REVOKE
#define KIND_BYE    NF_MSG_STOP
/* Before a direct route is asked for: "are you there?", and "yes"; this one with
 * a body says who has ended, see mesh_lookout.h. */
#define KIND_ASK    NF_MSG_PING
#define KIND_ANSWER NF_MSG_HEARTBEAT
/* Of payloads that are read from the sender's memory, see mesh_loan.c: what is said about
 * them, and a message with one. */
#define KIND_LOAN NF_MSG_LOAN
#define KIND_LENT NF_MSG_RESULT
/* Where its sender can be reached by a duct, see mesh_duct.c. */
#define KIND_DUCT NF_MSG_DUCT

struct mesh_note {
    struct mesh_note *next;
    enum nf_mesh_event_kind kind;
    bool urgent;
    uint32_t member;
    struct nf_blob *payload; /**< one reference, or NULL */
    struct mesh_debt *debt;  /**< where to read it, when it is taken; or NULL */
    size_t head_bytes;
    uint8_t head[];
};

struct mesh_notes {
    struct mesh_note *head, *tail;
};

struct mesh_member {
    int tid;
    bool convert;     /**< its host has another data format */
    bool duct;        /**< what goes to it goes by a duct */
    bool cut;         /**< which has broken: nothing goes any more */
    bool no_duct;     /**< none could be opened */
    bool has_address; /**< it has told where it can be reached by one: */
    uint8_t address[NF_DUCT_ADDRESS_BYTES];
    bool heard;       /**< of this mesh */
    bool met;         /**< it may be sent to, see mesh_pvm_meet.c */
    bool owes_answer; /**< it has asked whether we are there */
    bool answered;    /**< that it is, to what we asked at: */
    int64_t asked_us;
    bool exited;   /**< its task has ended: what it sent may still come */
    bool asked_end; /**< to be told when nothing of it can come any more */
    bool silent;    /**< it was told, within a send */
    int64_t exited_us; /**< or when the last of it was read since */
    bool left;     /**< nothing comes any more; its note is in the queue */
    bool owes_bye; /**< it waits for word that its goodbye was read */
    bool touched;  /**< in mesh_pvm.touched */
    bool paused;
    uint32_t told_ends; /**< as lookout.nended was when it was told who ended */
    struct mesh_notes held; /**< of a paused one, before those in normal */
    uint32_t nwaiting; /**< last messages in the normal lane of the link: their
                            turn has not come, see mesh_turn.c */
    size_t untaken_bytes;   /**< of notes in held, normal and later.  Many, or paused:
                                 credit is withheld until all were taken, but for: */
    size_t later_bytes;     /**< of that in later */
    struct mesh_note *leaving; /**< reserved, so that it can't be lost */
    bool shown;     /**< it was told how to know our memory */
    bool reads;     /**< we can read its memory, if this is its mark: */
    struct nf_memory_mark mark;
    bool owes_open; /**< it is to be told so */
    bool lends;     /**< it can read ours */
    bool broken;    /**< what it lent will never be there: nor what it said next */
    uint64_t nlent;         /**< loans to it, ever */
    uint64_t lent_at;       /**< nloans at the last of them */
    uint64_t returned;      /**< the last one of them that it is done with */
    uint64_t taken, told_taken; /**< the last one of its loans that we are done with; and that
                                     it knows of */
    size_t lent_bytes;      /**< that it has not read yet, of: */
    struct mesh_loan *loans; /**< the first one first */
    struct nf_link link;
};

/** The number of the way to it, for pvm_route.h: ducts are ways of their own.
 */
static inline int nf_mesh_route(const struct mesh_member *m)
{
    return m->duct ? -m->tid : m->tid;
}

struct mesh_pvm {
    struct nf_mesh base;
    struct mesh_pvm *next; /**< in the space */
    struct mesh_space *space;
    uint64_t id, cookie;
    struct mesh_member *members; /**< [ranks]; the own one is not used */
    struct nf_int_map numbers;   /**< of members, by their tids */
    struct nf_lookout lookout;
    bool watch_due; /**< others are to be watched, or told, than before */
    int64_t watch_at_us; /**< they will be, from then on; 0: no */
    bool leaving;   /**< it is being closed */
    uint32_t *touched;           /**< members that may be sent to again */
    uint32_t ntouched;
    uint32_t nexited; /**< members that have exited and not left */
    struct mesh_notes urgent, normal;
    struct mesh_notes later; /**< too early to be read, see nf_mesh_landing: one of a
                                  member at most */
    struct mesh_note *current; /**< holds the head of the last event */
    uint64_t moved_bytes;      /**< as nf_mesh_moved_bytes() */
    const struct nf_blob *lent; /**< the last payload that was lent, if no loan of it
                                     has ended since: others can read it */
    uint64_t nloans;           /**< to all members, ever */
    enum nf_status failed;     /**< for good */
    bool awake;                /**< in nf_mesh_next */
    bool reading;   /**< what stands first in `normal` is being read */
    bool arriving;  /**< a socket has something: mostly the head of a message,
                         with the rest of it right behind */
    bool drained;   /**< the last look at the sockets found all that there was,
                         and nobody has been told to sleep since */
    bool shy;       /**< opened without a meeting */
    bool routes;    /**< wants direct routes */
    bool closed;    /**< waits for members that do not know yet */
    bool watched;   /**< somebody sleeps on fd, now and then */
    bool signalled; /**< fd was written and not read */
    int fd;         /**< eventfd: has something for a sleeper */
    int *fds;
    size_t fds_capacity;
};

/** A frame for a mesh of this space that this task does not have yet, or that
 *  came while a link was sending.  Whoever opens its end first speaks first. */
struct mesh_early {
    struct mesh_early *next;
    int tid;
    bool by_duct;
    struct nf_frame frame;
    uint8_t bytes[]; /**< body, then payload */
};

struct mesh_space {
    struct mesh_space *next;
    int context, watch;
    int tid;      /**< of this task when it was made: if it is not its tid any
                       more, the task has left PVM and all of this is dead */
    bool owned;   /**< this task made the context */
    bool once;    /**< the context is of one mesh and its subsets */
    bool stays;   /**< it is of any meshes, and watched also while there is none */
    bool sending; /**< a link is between two states: keep what comes */
    bool kept;    /**< something came meanwhile */
    bool lost;    /**< an early frame could not be kept */
    struct nf_int_map watched; /**< tids of whose ends we are to be told, and
                                    have not been: enum mesh_watched */
    struct mesh_pvm *meshes;
    struct mesh_early *early;
    uint64_t *closed; /**< cookies of meshes that this task had */
    size_t nclosed, closed_capacity;
};

/** What tids in mesh_space.watched are of. */
enum mesh_watched { MESH_TASK, MESH_HOST };

extern const struct nf_mesh_ops nf_mesh_pvm;

/** Are these tasks, each once, with task @p tid among them?
 *  @param rank_p  its number */
enum nf_status nf_mesh_pvm_check_tids(const int *tids, uint32_t count, int tid,
                                      uint32_t *rank_p, struct nf_error *err);
/** A mesh with members, queues and descriptors, in no space.
 *  @param tids  [ranks] */
enum nf_status nf_mesh_pvm_create(const int *tids, uint32_t ranks,
                                  uint32_t rank, struct mesh_pvm **mesh_p,
                                  struct nf_error *err);
/** Free a mesh that is in no space. */
void nf_mesh_pvm_free(struct mesh_pvm *p);
/** Make it known under @p cookie, and take what has come early for it.
 *  @retval NF_ERR_NOMEM  a frame for it was lost
 *  @retval NF_ERR_INVAL  the program handles all messages itself */
enum nf_status nf_mesh_pvm_enter(struct mesh_pvm *p, struct mesh_space *space,
                                 uint64_t cookie, struct nf_error *err);

void nf_mesh_note_free(struct mesh_note *note);
/** What it takes of what may wait to be taken. */
size_t nf_mesh_note_bytes(const struct mesh_note *note);
void nf_mesh_notes_push(struct mesh_notes *list, struct mesh_note *note);
/** @return the first one, or NULL */
struct mesh_note *nf_mesh_notes_pop(struct mesh_notes *list);
void nf_mesh_notes_free(struct mesh_notes *list);
/** Wait for the sockets of libpvm and for ducts.  @return whether there is
 * something to read */
bool nf_mesh_pvm_sleep(int64_t timeout_us);
/** The same for who waits in a call, but others on this processor have a turn
 *  first, unless nf_mesh.sleeps, and see nf_mesh.settles.  What ducts have is read; what libpvm has will be, to
 *  the end of a message if that is there. */
bool nf_mesh_pvm_doze(struct mesh_pvm *p, int64_t timeout_us);
/** For tests: how long it listens to one member only. */
void nf_mesh_pvm_nap_for(int64_t most_us);
/** Which members' hosts have another data format? */
void nf_mesh_pvm_compare_formats(struct mesh_pvm *p);
/** As nf_mesh_subset() and nf_mesh_close(). */
enum nf_status nf_mesh_pvm_subset(struct nf_mesh *mesh, const uint32_t *members,
                                  uint32_t count, uint64_t id,
                                  struct nf_mesh **mesh_p,
                                  struct nf_error *err);
void nf_mesh_pvm_close(struct nf_mesh *mesh);
/** Is it known that what goes to @p member, one before this, goes by the pvmds
 *  though it was asked for a direct route? */
bool nf_mesh_pvm_has_detour(const struct mesh_pvm *p, uint32_t member);
void nf_mesh_pvm_host_names(const struct nf_mesh *mesh, char (*names_p)[64]);
void nf_mesh_pvm_place(const struct nf_mesh *mesh,
                       struct nf_mesh_place *place_p);

/** Read what has come, and send what may go after it.
 *  @retval NF_WAIT  nothing came
 *  @retval NF_ERR_UNREACHABLE  the pvmd is gone, or this task has left PVM */
enum nf_status nf_mesh_pvm_move(struct mesh_pvm *p);
/** There is something to be sent to @p member, or soon may be. */
void nf_mesh_pvm_touch(struct mesh_pvm *p, uint32_t member);
/** Take one from the list that this makes. */
uint32_t nf_mesh_pvm_pop_touched(struct mesh_pvm *p);
bool nf_mesh_pvm_any_touched(void);
/** Send what may go to those in the list. */
void nf_mesh_pvm_serve(struct mesh_pvm *p);
/** Is there anything in it that no socket will tell of? */
bool nf_mesh_pvm_has_news(const struct mesh_pvm *p);
/** Let who sleeps on the descriptors of @p wake up. */
void nf_mesh_pvm_signal(struct mesh_pvm *p);
/** The same, if anybody may: nobody who is in nf_mesh_next(), or who has never asked
 *  for descriptors, as blocking calls never do. */
void nf_mesh_pvm_wake(struct mesh_pvm *p);

void nf_mesh_pvm_post(struct mesh_pvm *p, struct mesh_note *note);
/** The first one that is not urgent, and not of a paused member: what these sent goes to
 *  their own lists.  @return NULL: none is there, or not all of it */
struct mesh_note *nf_mesh_pvm_pop_normal(struct mesh_pvm *p);
/** It is out of the lists: its member may have more credit. */
void nf_mesh_pvm_took(struct mesh_pvm *p, const struct mesh_note *note);
/** @p member is paused no more: what it sent goes before all else.
 *  @return whether there is anything */
bool nf_mesh_pvm_take_up(struct mesh_pvm *p, uint32_t member);
/** @p member is not paused and what it sent was taken, but for what is too early: if its
 *  credit was withheld, it is no more */
void nf_mesh_pvm_let_go_on(struct mesh_pvm *p, uint32_t member);
/** Has it events that wait to be taken? */
bool nf_mesh_pvm_holds_notes(const struct mesh_pvm *p);

/* When a member has left: mesh_pvm_ends.c. */

/** Nothing comes of @p member any more. */
void nf_mesh_pvm_leave(struct mesh_pvm *p, uint32_t member);
/** Its task has ended, or its host was lost. */
void nf_mesh_pvm_note_end(struct mesh_pvm *p, uint32_t member);
/** There is no route to its task, or none any more. */
void nf_mesh_pvm_note_silence(struct mesh_pvm *p, uint32_t member);
/** Look after those whose end was noted.  Not from within libpvm. */
void nf_mesh_pvm_see_ends(struct mesh_pvm *p);
/** There is nothing to read.  @return whether it is worth another look */
bool nf_mesh_pvm_declare_ends(struct mesh_pvm *p);

/* Word of ends of tasks: mesh_pvm_watch.c. */

/** Ask PVM for word of the ends of those that @p p is to watch, and of which
 *  nobody has asked in its space yet.  Not from within libpvm.
 *  @retval NF_ERR_NOMEM  nothing was asked */
enum nf_status nf_mesh_watch_ask(struct mesh_pvm *p);
/** The same if @p p came to have others to watch; and see that who is to be
 *  told is. */
void nf_mesh_watch_see(struct mesh_pvm *p);
/** Is that to be done for any mesh? */
bool nf_mesh_watch_is_due(void);
/** In so many microseconds it will be to be done in @p p; < 0: not by itself. */
int64_t nf_mesh_watch_left_us(const struct mesh_pvm *p);
/** That is known of @p member. */
void nf_mesh_watch_note(struct mesh_pvm *p, uint32_t member,
                        enum nf_lookout_word word);
/** Tell @p member who has ended, if it is to be told.  In the context of the
 *  mesh. */
void nf_mesh_watch_tell(struct mesh_pvm *p, uint32_t member);
/** Has it not been told of all?  Then it is, as soon as there is room. */
bool nf_mesh_watch_owes(const struct mesh_pvm *p, uint32_t member);
/** What @p from told. */
void nf_mesh_watch_hear(struct mesh_pvm *p, uint32_t from, const uint8_t *said,
                        size_t bytes);
/** As nf_mesh_suspect(). */
void nf_mesh_watch_suspect(struct nf_mesh *mesh, uint32_t member);
/** It is being freed. */
void nf_mesh_watch_forget(struct mesh_pvm *p);
/** Word of this end has come to the space. */
void nf_mesh_watch_took(struct mesh_space *space, int tid);
/** Take back what was asked in a space that ends. */
void nf_mesh_watch_take_back(struct mesh_space *space);

/* How members that do not wait for each other come to talk: mesh_pvm_meet.c. */

/** Say something to member @p member, if it is for this one to begin.  In the
 *  context of the mesh. */
void nf_mesh_pvm_introduce(struct mesh_pvm *p, uint32_t member);
/** A frame of that kind has come of @p member. */
void nf_mesh_pvm_hear(struct mesh_pvm *p, uint32_t member,
                      enum nf_msg_kind kind);
/** Do what that calls for.  In the context of the mesh. */
void nf_mesh_pvm_greet(struct mesh_pvm *p, uint32_t member);

/* Payloads that members on one host read from each other's memory: mesh_loan.c. */

/** Lend the payload to @p member, and queue a message that says where it is.
 *  @retval NF_WAIT  no: it is to be sent
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_mesh_loan_lend(struct mesh_pvm *p, uint32_t member,
                                 const struct nf_mesh_message *message);
/** Such a message has come. */
void nf_mesh_loan_come(struct mesh_pvm *p, uint32_t member,
                       const uint8_t *body, size_t bytes);
/** @p note is first in line: read its payload, for some milliseconds.
 *  @retval NF_OK    it is there, or there is none
 *  @retval NF_WAIT  there is more to read
 *  @retval < 0  it will never be there: drop the note */
enum nf_status nf_mesh_loan_read(struct mesh_pvm *p, struct mesh_note *note);
/** Is it too early for that?  Not of a member that has left, unless it is paused. */
bool nf_mesh_loan_is_later(const struct mesh_pvm *p,
                           const struct mesh_note *note);
/** What was too early is not any more, whatever its user says. */
void nf_mesh_loan_make_due(struct mesh_note *note);
/** What a member says of loans. */
void nf_mesh_loan_hear(struct mesh_pvm *p, uint32_t member,
                       const uint8_t *body, size_t bytes);
/** Say to @p member what is to be said.  In the context of the mesh. */
void nf_mesh_loan_tell(struct mesh_pvm *p, uint32_t member);
/** Is there anything? */
bool nf_mesh_loan_owes(const struct mesh_pvm *p, uint32_t member);
/** Is all that still has to go to @p member on loan to it, so that nothing but word of
 *  that is waited for?  Of members with ducts. */
bool nf_mesh_loan_is_all(const struct mesh_pvm *p, uint32_t member);
/** Have all back that @p member has not read. */
void nf_mesh_loan_withdraw(struct mesh_pvm *p, uint32_t member);
/** Have it back of all members. */
void nf_mesh_loan_take_back(struct mesh_pvm *p, const struct nf_blob *payload);
/** Its bytes may change from now on: should @p member still read, that is nothing. */
void nf_mesh_loan_spoil(struct mesh_pvm *p, uint32_t member);

/* Sockets of our own to members: mesh_duct.c. */

/** Descriptors of ducts that are watched at once. */
enum { NF_MESH_DUCT_FDS_MOST = 1024 };
/** Tell @p member where we can be reached by a duct, if it is one for that.  In
 * the context of the mesh. */
void nf_mesh_duct_offer(struct mesh_pvm *p, uint32_t member);
/** It has told where it can be reached. */
void nf_mesh_duct_hear(struct mesh_pvm *p, uint32_t member, const uint8_t *said,
                       size_t bytes);
/** Open a duct to @p member, which has told: waits for at most half a second,
 * and for the name of its host to be found.  @return whether it is there */
bool nf_mesh_duct_open(struct mesh_pvm *p, uint32_t member);
/** Send a frame by it. */
void nf_mesh_duct_send(struct mesh_pvm *p, uint32_t member,
                       const struct nf_link_out *out);
/** The window that the socket of what goes to @p m is good for. */
uint32_t nf_mesh_window_bytes(const struct mesh_member *m);
/** Can more come of task @p tid by a duct? */
bool nf_mesh_duct_reaches(int tid);
/** @return its descriptor among those watched, or < 0 */
int nf_mesh_duct_fd(int tid);
/** Put what is to be watched at @p watch_p.
 *  @return how many; 0 also if these are more than @p room */
size_t nf_mesh_duct_watch(struct pollfd *watch_p, size_t room);
/** Take what has come, after they were watched.  @return whether any was ready
 */
bool nf_mesh_duct_serve(const struct pollfd *watch, size_t count);
/** Take what is there, without waiting.  @return whether any was ready */
bool nf_mesh_duct_read(void);
/** All members of a mesh have met, or will not: no more of them come by ducts. */
void nf_mesh_duct_settle(void);
/** Close those of a task that this process is no more. */
void nf_mesh_duct_tend(void);

/* Whose turn it is while the way out of this host is busy: mesh_turn.c. */

/** A normal message of @p bytes has been queued for @p member: is it to wait? */
bool nf_mesh_turn_waits(struct mesh_pvm *p, uint32_t member, size_t bytes);
/** Has somebody's turn come? */
bool nf_mesh_turn_is_due(void);
/** Send to whose turn has come, of any mesh. */
void nf_mesh_turn_serve(void);
/** Somebody waits: look again after so long; else -1. */
int64_t nf_mesh_turn_look_us(void);
/** @return a descriptor that will be readable when it is time to look, or -1 */
int nf_mesh_turn_fd(void);
/** Nothing of this mesh waits any more. */
void nf_mesh_turn_drop(struct mesh_pvm *p);
/** For tests: ask @p look whether the way is free; NULL: the kernel. */
void nf_mesh_turn_look_with(bool (*look)(void));

/** Send to @p member what may go.  In the context of the mesh. */
void nf_mesh_pvm_flush(struct mesh_pvm *p, uint32_t member);
/** Send one frame.  In the context of the mesh. */
void nf_mesh_pvm_transmit(struct mesh_pvm *p, uint32_t member,
                          const struct nf_link_out *out);

/** Take a frame; @p bytes: of its body and payload, or NULL: to be taken from
 *  libpvm.
 *  @param by_duct  it has come by a duct */
void nf_mesh_pvm_take(struct mesh_pvm *p, uint32_t member,
                      const struct nf_frame *frame, const uint8_t *bytes,
                      bool by_duct);

/** The space of @p context, perhaps new; NULL if out of memory. */
struct mesh_space *nf_mesh_space_open(int context);
/** Meshes of any members may come in @p space: it does not end with its last mesh,
 *  but when this task has left PVM. */
void nf_mesh_space_keep(struct mesh_space *space);
/** Is there a direct route to task @p tid?  To be called before it is asked for
 *  one, and then the other: one that was refused looks like one that is there.
 *  Not from within libpvm. */
void nf_mesh_look_for_route(int tid);
bool nf_mesh_finds_route(int tid);
/** A message has arrived in @p context. */
void nf_mesh_space_hear(int context, const struct nf_pvm_message *message);
/** The duct to task @p tid has ended, and all of it was read. */
void nf_mesh_space_cut(int tid);
/** Take what has come while a link was sending. */
void nf_mesh_space_catch_up(struct mesh_space *space);
/** Has this task left PVM since? */
bool nf_mesh_space_is_dead(const struct mesh_space *space);
/** Take a mesh out; the last one ends the space, unless that stays. */
void nf_mesh_space_leave(struct mesh_pvm *p);
/** Is it the only mesh in this process? */
bool nf_mesh_pvm_is_last(const struct mesh_pvm *p);
/** End a space that has no mesh. */
void nf_mesh_space_drop(struct mesh_space *space);

/** @p p is being closed: are there members that do not know it, as they have
 * not opened theirs yet?  Then it stays in its space until they have. */
bool nf_mesh_pvm_waits_for_late(struct mesh_pvm *p);
/** What is to be done in any mesh, whichever is looked at, since they share the
 *  way to a task: send what may go; confirm what was read; tell members that
 * were heard of for the first time, after their mesh was closed here, that it
 * was; free such meshes, and spaces that stay, of a task that this process is no
 * more.  Costs nothing when there is none of it. */
void nf_mesh_pvm_tend(void);
/** Is there any such mesh in this process?  Then who sleeps in libpvm does not
 *  wake up for it. */
bool nf_mesh_pvm_is_used(void);
/** Has any of them something to tell already?  One that is closed has nobody
 *  to tell. */
bool nf_mesh_pvm_is_pending(void);
#endif
