#ifndef NF_NET_MESH_H
#define NF_NET_MESH_H
/** @file mesh.h  The transport of groups: every member can send to every other.
 *
 *  Nothing here blocks on a member: what one has no credit for is queued, and
 *  goes out from nf_mesh_next() when it has.  Messages of two members arrive in
 *  the order in which they were sent (but see nf_mesh_landing), whole; a stopped
 *  member holds up nobody but those that wait for it.  One thread at a time uses a mesh.
 *
 *  A payload goes by reference as far as it can; a chain (blob.h) only where
 *  nf_mesh_takes_chains().  Bytes that are only lent to a
 *  blob (nf_blob_wrap without release) may be overwritten as soon as
 *  nf_mesh_backlog_bytes() is 0, or if after nf_mesh_take_back() nobody else has a
 *  reference; bytes that a blob owns only when nobody else
 *  has a reference, since the receiver may be another thread.
 *
 *  Two meshes: PVM tasks, in a message context of their own (mesh_pvm.c), and
 *  threads of one process (mesh_local.c). */
#include <stdbool.h>
#include <time.h>
#include "common/base/blob.h"

struct nf_mesh;

/** One message.  In send: head and payload are borrowed for the call (the mesh
 *  copies the head and takes its own reference on the payload).  In an event:
 * head is valid until the next call, the taker owns one reference on the
 * payload. */
struct nf_mesh_message {
    const uint8_t *head;
    size_t head_bytes;       /**< 1..NF_MESH_HEAD_BYTES */
    struct nf_blob *payload; /**< or NULL */
    bool urgent; /**< overtakes what is queued and is not held up by credit;
                      no payload */
    bool in_bulk; /**< its sender sends more like it, much in all: how fast they go
                       counts for more than how soon this one is there */
};
/** As much as an urgent message of a link takes. */
enum { NF_MESH_HEAD_BYTES = 1024 };

/** Messages that are shorter leave at once; longer ones in turn, each after all
 *  of the one before it has left this process. */
enum { NF_MESH_SHORT_BYTES = 4096 };

/** Members with which direct routes are asked for: a socket each. */
enum { NF_MESH_ROUTES_MOST = 256 };

/** Where a mesh is and how its data travel. */
struct nf_mesh_place {
    uint32_t hosts_hash; /**< of its hosts, nf_model_hosts_hash(); 0: not known */
    bool direct;         /**< not by the pvmds, as far as this member knows: it
                              does of those before it */
    bool converts;       /**< some data go in XDR */
};

enum nf_mesh_event_kind {
    NF_MESH_MESSAGE, /**< member, message */
    NF_MESH_LEFT,    /**< member: it has closed its mesh, its task has ended, or
                          its host was lost; nothing comes of it any more */
};
struct nf_mesh_event {
    enum nf_mesh_event_kind kind;
    uint32_t member;
    struct nf_mesh_message message;
};

struct nf_mesh_ops {
    const char *name;
    bool takes_chains;
    enum nf_status (*send)(struct nf_mesh *mesh, uint32_t member,
                           const struct nf_mesh_message *message);
    enum nf_status (*next)(struct nf_mesh *mesh, struct nf_mesh_event *event_p);
    enum nf_status (*wait)(struct nf_mesh *mesh, int64_t timeout_us);
    size_t (*fds)(struct nf_mesh *mesh, const int **fds_p);
    size_t (*backlog_bytes)(const struct nf_mesh *mesh, uint32_t member);
    enum nf_status (*subset)(struct nf_mesh *mesh, const uint32_t *members,
                             uint32_t count, uint64_t id,
                             struct nf_mesh **mesh_p, struct nf_error *err);
    void (*close)(struct nf_mesh *mesh);
    void (*pause)(struct nf_mesh *mesh, uint32_t member, bool paused);
    /* NULL: there is nothing of that kind */
    uint64_t (*moved_bytes)(const struct nf_mesh *mesh);
    void (*drop)(struct nf_mesh *mesh);
    bool (*has_urgent)(const struct nf_mesh *mesh, uint32_t member);
    void (*place)(const struct nf_mesh *mesh, struct nf_mesh_place *place_p);
    bool (*is_direct)(const struct nf_mesh *mesh, uint32_t member);
    uint32_t (*host_of)(const struct nf_mesh *mesh, uint32_t member);
    bool (*converts)(const struct nf_mesh *mesh, uint32_t member);
    void (*host_names)(const struct nf_mesh *mesh, char (*names)[64]);
    void (*suspect)(struct nf_mesh *mesh, uint32_t member);
    /* parts of chains below that, on average, are better packed */
    size_t (*chain_part_bytes)(const struct nf_mesh *mesh, uint32_t member);
    void (*take_back)(struct nf_mesh *mesh, const struct nf_blob *payload);
    void (*landing_changed)(struct nf_mesh *mesh);
};

/** Where its user wants a large payload, that is read from its sender's memory:
 *  so it need not be copied again. */
struct nf_mesh_landing {
    void *self;
    /** Is it too early to say?  Then its sender keeps it, and what comes behind it
     *  goes before, but not that the sender has left.  It is asked again whenever the
     *  mesh is looked at; see nf_mesh_landing_changed().  NULL: never */
    bool (*is_later)(void *self, const uint8_t *head, size_t head_bytes);
    /** Called from within nf_mesh_next() only, which may read some of the bytes
     *  and ask again in its next call: they are read there as long as the
     *  answer is the same.  The message is an event when all is there.
     *  @param head  of the message  @param bytes  of its payload, that is in no
     *               more than one piece
     *  @return memory for so many bytes, which the payload then borrows; NULL:
     *  in a block of its own */
    uint8_t *(*find)(void *self, uint32_t member, const uint8_t *head,
                     size_t head_bytes, size_t bytes);
};

/** A mesh's object starts with this. */
struct nf_mesh {
    const struct nf_mesh_ops *ops;
    uint32_t rank, ranks; /**< own number and how many there are */
    bool partial; /**< it hears of some members' ends by other members only, who
                       may be busy: see nf_mesh_suspect() */
    struct nf_mesh_landing landing; /**< as its user sets it; find may be NULL */
    bool settles; /**< its user says: I wait for nothing but that my backlog goes.  Then
                       nf_mesh_wait() may overlook other news for a millisecond, those
                       of this task's other meshes too */
    bool sleeps; /**< its user says: what I wait for is not what another one is about to
                      send me that may be ready to run on this processor.  Then
                      nf_mesh_wait() gives nobody a turn before */
};

/** Queue @p message for @p member (not this one) and send what credit allows.
 *  To one that left: does nothing, NF_OK.
 *  @retval NF_ERR_NOMEM  nothing was queued
 *  @retval NF_ERR_INVAL  no such member, or not such a message as above
 *  @retval NF_ERR_UNREACHABLE  this task has left PVM */
static inline enum nf_status nf_mesh_send(struct nf_mesh *mesh, uint32_t member,
                                          const struct nf_mesh_message *message)
{
    return mesh->ops->send(mesh, member, message);
}

/** The next thing that happened; also moves what is queued.
 *  @retval NF_WAIT  nothing now
 *  @retval NF_ERR_UNREACHABLE  the transport itself broke (local pvmd gone)
 *  @retval NF_ERR_NOMEM  for a message that has come: give the group up */
static inline enum nf_status nf_mesh_next(struct nf_mesh *mesh,
                                          struct nf_mesh_event *event_p)
{
    return mesh->ops->next(mesh, event_p);
}

/** Sleep until something may have happened (NF_OK) or @p timeout_us (< 0: for
 *  ever) has passed (NF_WAIT).  A backlog that goes is something too; look at
 * it after nf_mesh_next() said NF_WAIT, and then sleep. */
static inline enum nf_status nf_mesh_wait(struct nf_mesh *mesh,
                                          int64_t timeout_us)
{
    return mesh->ops->wait(mesh, timeout_us);
}

/** While @p paused, nf_mesh_next() gives nothing of @p member but urgent
 *  messages, and the member has no credit beyond a window: what it sends stays
 *  in its own queue.  Messages keep their order, and that it has left is told
 *  behind the last of them, also while paused if none of it waits.  All members
 *  begin not paused. */
static inline void nf_mesh_pause(struct nf_mesh *mesh, uint32_t member,
                                 bool paused)
{
    if (mesh->ops->pause != NULL)
        mesh->ops->pause(mesh, member, paused);
}

/** File descriptors to watch for reading once nf_mesh_next() has said NF_WAIT;
 *  the set may change in every call of it.  Owned by the mesh, valid until the
 * next call on it. */
static inline size_t nf_mesh_fds(struct nf_mesh *mesh, const int **fds_p)
{
    return mesh->ops->fds(mesh, fds_p);
}

/** Bytes of messages for @p member that still wait here (threads: that it has
 * not taken, beyond a window); 0: bytes lent to payloads for it may be
 *  overwritten.  0 if it has left. */
static inline size_t nf_mesh_backlog_bytes(const struct nf_mesh *mesh,
                                           uint32_t member)
{
    return mesh->ops->backlog_bytes(mesh, member);
}

/** A counter that grows while bytes go out that had to wait, and while a message
 *  comes in of which a part is still missing: signs of life of others between
 *  two whole messages.  Urgent messages do not count. */
static inline uint64_t nf_mesh_moved_bytes(const struct nf_mesh *mesh)
{
    return mesh->ops->moved_bytes != NULL ? mesh->ops->moved_bytes(mesh) : 0;
}

/** May a payload be a chain?  Between threads it arrives as one; else in one piece,
 *  and each part has frames of its own. */
static inline bool nf_mesh_takes_chains(const struct nf_mesh *mesh)
{
    return mesh->ops->takes_chains;
}

/** Is a chain of so many bytes, in so many parts, for @p member better than to pack it? */
static inline bool nf_mesh_likes_chain(const struct nf_mesh *mesh,
                                       uint32_t member, size_t bytes,
                                       size_t parts)
{
    return mesh->ops->takes_chains &&
           (parts == 0 || mesh->ops->chain_part_bytes == NULL ||
            bytes / parts >= mesh->ops->chain_part_bytes(mesh, member));
}

/** Forget what is queued for everybody, urgent or not, but a message of which a
 *  part has gone out: that one goes on. */
static inline void nf_mesh_drop(struct nf_mesh *mesh)
{
    if (mesh->ops->drop != NULL)
        mesh->ops->drop(mesh);
}

/** Somebody waits for @p member for long: in a mesh that is partial, look after
 *  that one itself.  If it has ended, that will be an event. */
static inline void nf_mesh_suspect(struct nf_mesh *mesh, uint32_t member)
{
    if (mesh->partial && mesh->ops->suspect != NULL)
        mesh->ops->suspect(mesh, member);
}

/** The bytes that are only lent to @p payload may be overwritten by now, and nobody
 *  wants them any more: forget those messages with it that others would read from
 *  here.  Others may still be queued, and need @p payload to have its own bytes. */
static inline void nf_mesh_take_back(struct nf_mesh *mesh,
                                     const struct nf_blob *payload)
{
    if (mesh->ops->take_back != NULL)
        mesh->ops->take_back(mesh, payload);
}

/** What nf_mesh_landing.is_later says may have changed: if something may be taken now,
 *  who sleeps on the descriptors wakes up. */
static inline void nf_mesh_landing_changed(struct nf_mesh *mesh)
{
    if (mesh->ops->landing_changed != NULL)
        mesh->ops->landing_changed(mesh);
}

/** Do urgent messages for @p member still wait here?  Closing the mesh would
 *  lose them. */
static inline bool nf_mesh_has_urgent(const struct nf_mesh *mesh,
                                      uint32_t member)
{
    return mesh->ops->has_urgent != NULL &&
           mesh->ops->has_urgent(mesh, member);
}

/** @return false: it does not know */
static inline bool nf_mesh_place(const struct nf_mesh *mesh,
                                 struct nf_mesh_place *place_p)
{
    if (mesh->ops->place == NULL)
        return false;
    mesh->ops->place(mesh, place_p);
    return true;
}

/** Does what this member and @p member, one before it, send each other go
 *  without the pvmds? */
static inline bool nf_mesh_is_direct(const struct nf_mesh *mesh,
                                     uint32_t member)
{
    return mesh->ops->is_direct == NULL || mesh->ops->is_direct(mesh, member);
}

/** @return a number for the host of @p member, the same in all members */
static inline uint32_t nf_mesh_host_of(const struct nf_mesh *mesh,
                                       uint32_t member)
{
    return mesh->ops->host_of == NULL ? member
                                      : mesh->ops->host_of(mesh, member);
}

/** The names of all members' hosts, as PVM has them; "": not known.
 *  @param names_p  [ranks] */
static inline void nf_mesh_host_names(const struct nf_mesh *mesh,
                                      char (*names_p)[64])
{
    for (uint32_t i = 0; i < mesh->ranks; i++)
        names_p[i][0] = '\0';
    if (mesh->ops->host_names != NULL)
        mesh->ops->host_names(mesh, names_p);
}

/** Is @p member on a machine of another data format, so that numbers in what is
 *  sent to it are converted on the way, by the type of the payload?  Bytes are
 *  not: who sends structures packs them. */
static inline bool nf_mesh_converts(const struct nf_mesh *mesh, uint32_t member)
{
    return mesh->ops->converts != NULL && mesh->ops->converts(mesh, member);
}

/** A mesh of some members, with queues and a context of its own.  All of them
 *  must call it with the same @p members (old numbers, ascending, this one
 *  among them) and the same @p id, which no mesh of these members has ever had.
 *  Nothing is sent by it.  The old mesh may be closed before or after. */
static inline enum nf_status
nf_mesh_subset(struct nf_mesh *mesh, const uint32_t *members, uint32_t count,
               uint64_t id, struct nf_mesh **mesh_p, struct nf_error *err)
{
    return mesh->ops->subset(mesh, members, count, id, mesh_p, err);
}

/** Give up what is queued, and free the mesh; NULL is fine.  To the others this
 *  one has left, after all that was sent.  A process that closes its last mesh
 *  of PVM tasks may end next, so this waits until the others have read that,
 *  for 1 s at most. */
static inline void nf_mesh_close(struct nf_mesh *mesh)
{
    if (mesh != NULL)
        mesh->ops->close(mesh);
}

/** A mesh of @p count PVM tasks.  All of them call it with the same @p tids, in
 *  the same order, and the same id; this process is one of them.  They need
 *  not have been spawned by nowfarm.  Enrols in PVM if this process has not,
 * and never leaves it.  Other use of libpvm in the same thread goes on
 * undisturbed: context, buffers and options are as they were after each call;
 * SIGPIPE is blocked in each thread that uses it, as a task that dies makes
 * libpvm raise it there.  Who sleeps on pvm_getfds() itself must look by
 * pvm_probe() before, since a mesh may have made libpvm read more than its own.
 *  @retval NF_ERR_UNREACHABLE  no PVM, or a member did not come in time, or has
 *  ended: named
 *  @retval NF_ERR_INTERRUPTED  *terms->stop became != 0
 *  @retval NF_ERR_INVAL  this task is not among them, or one is twice; or the
 *  program has a message handler of its own for all contexts */
struct nf_mesh_terms {
    uint64_t id;
    int64_t timeout_us;       /**< to wait for the others; < 0: for ever */
    const volatile int *stop; /**< become != 0, by a signal handler perhaps: wait
                                   no longer than 0.1 s more; may be NULL */
};
enum nf_status nf_mesh_open_pvm(const int *tids, uint32_t count,
                                const struct nf_mesh_terms *terms,
                                struct nf_mesh **mesh_p, struct nf_error *err);

/** Whose a context of messages is, and how long it is of use. */
enum nf_mesh_context {
    NF_MESH_CONTEXT_OWN,    /**< this task has made it for a mesh, and frees it
                                 with the last one in it: that, or a subset */
    NF_MESH_CONTEXT_LENT,   /**< another task has */
    NF_MESH_CONTEXT_COMMON, /**< meshes of any members may come in it, until this
                                 task leaves PVM.  What comes for one that this
                                 task is to join is kept, whoever sends it, and
                                 whichever ended meanwhile */
};
/** The same when somebody has told all of them where: this waits for nobody.  A
 *  member is sent nothing before it has spoken to those before it; and with
 *  @p routes, a member with a lower rank before it has answered.
 *  @param context  of messages
 *  @param use      the same in all calls for this context
 *  @param cookie   no other mesh in this context has it
 *  @param routes   open direct routes, where there is none yet
 *  Errors: as nf_mesh_open_pvm() */
enum nf_status nf_mesh_join_pvm(const int *tids, uint32_t count,
                                uint64_t cookie, int context,
                                enum nf_mesh_context use, bool routes,
                                struct nf_mesh **mesh_p, struct nf_error *err);

/** Meshes for @p count threads of this process.
 *  @param meshes_p  [count]; each may be used and closed by its own thread; a
 *  thread that closes its mesh has left */
enum nf_status nf_mesh_open_local(uint32_t count, struct nf_mesh **meshes_p,
                                  struct nf_error *err);

/** Of such a mesh: its thread sleeps on something of its own, by which @p wake wakes it
 *  when there is something for nf_mesh_next() after that has said NF_WAIT.
 *  @param wake  called by other threads until the mesh is closed; it must not use any
 *               mesh */
void nf_mesh_wake_by(struct nf_mesh *mesh, void (*wake)(void *arg), void *arg);

/* For those who write a mesh. */

/** Is this something that @p mesh may be asked to send? */
bool nf_mesh_may_send(const struct nf_mesh *mesh, uint32_t member,
                      const struct nf_mesh_message *message);
/** Are these members of @p mesh, ascending, with this one among them?
 *  @param rank_p  its number among them */
enum nf_status nf_mesh_check_subset(const struct nf_mesh *mesh,
                                    const uint32_t *members, uint32_t count,
                                    uint32_t *rank_p, struct nf_error *err);
/** A time for poll(), rounded up; of what is below 0 nothing is left. */
int nf_mesh_poll_ms(int64_t timeout_us);
/** The same for ppoll(). */
struct timespec nf_mesh_timespec(int64_t timeout_us);
#endif
