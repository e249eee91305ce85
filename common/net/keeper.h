#ifndef NF_NET_KEEPER_H
#define NF_NET_KEEPER_H
/** @file keeper.h  The process that holds on to the virtual machine for us and
 *  makes all calls that may hang.
 *
 *  Spawning on a dead host, or adding one, keeps libpvm waiting for up to 160
 * s. So the master forks a keeper before it connects to PVM, and the keeper
 * forks a worker for each such call; workers answer over one socket, and a
 * worker that hangs delays nobody.  A worker that spawned slaves stays: it is
 * their PVM parent, and passes on what they print.
 *
 *  The keeper also holds the lock file that counts the users of a virtual
 *  machine, so that one started by us is halted by its last user - also when
 *  the master is killed: the keeper sees its socket close. */
#include <stdbool.h>
#include "nowfarm.h"

struct nf_keeper;

/** How to take part in the virtual machine. */
enum nf_keep {
    NF_KEEP_JOB,  /**< start it if there is none; the last such user of one
                       started that way halts it */
    NF_KEEP_LOOK, /**< do not start one: NF_ERR_UNREACHABLE if none runs */
};

/** Fork the keeper, have a pvmd started if none runs (removing a stale socket
 *  file), and take a hold.  Call before this process connects to PVM.  Takes
 *  milliseconds, a few seconds if PVM is in a bad way.
 *  @retval NF_ERR_UNREACHABLE  no pvmd possible; err says why */
enum nf_status nf_keeper_open(enum nf_keep how, struct nf_keeper **keeper_p,
                              struct nf_error *err);
/** Let go: halts the virtual machine if we are the last user of one that was
 *  started for jobs.  @p wait: until that is done (4 s at most). */
void nf_keeper_close(struct nf_keeper *keeper, bool wait);

/** Requests; each returns at once.  Lines must hold no tab or newline. */
void nf_keeper_spawn(struct nf_keeper *keeper, uint32_t spawn_id,
                     const char *host, uint32_t count, const char *program,
                     const char *address);
void nf_keeper_add(struct nf_keeper *keeper, const char *host_line);
void nf_keeper_remove(struct nf_keeper *keeper, const char *host);
/** From now on the virtual machine is the user's: no job halts it. */
void nf_keeper_stay(struct nf_keeper *keeper);
/** Halt the virtual machine, whoever uses it. */
void nf_keeper_halt(struct nf_keeper *keeper);
void nf_keeper_kill(struct nf_keeper *keeper, const int *tids, size_t count);

enum nf_answer_kind {
    NF_ANSWER_SPAWNED, /**< spawn_id, host, tids[0..ntids) */
    NF_ANSWER_REFUSED, /**< spawn_id, host, count not started, text */
    NF_ANSWER_ADDED,   /**< host */
    NF_ANSWER_REMOVED, /**< host */
    NF_ANSWER_FAILED,  /**< host, text, status: could not be added or removed */
    NF_ANSWER_OUTPUT,  /**< tids[0], text */
    NF_ANSWER_ENDED,   /**< spawn_id: its slaves and their output have ended */
    NF_ANSWER_KILLED,  /**< a kill request was carried out */
};
struct nf_answer {
    enum nf_answer_kind kind;
    uint32_t spawn_id, count, ntids;
    enum nf_status status; /**< NF_ERR_INVAL: no host for that */
    int *tids;
    char *host, *text; /**< all valid until the next call on the keeper */
};
/** @retval NF_WAIT  none now   @retval NF_ERR_UNREACHABLE  the keeper died */
enum nf_status nf_keeper_next(struct nf_keeper *keeper,
                              struct nf_answer *answer_p);
/** To watch for reading. */
int nf_keeper_fd(const struct nf_keeper *keeper);
#endif
