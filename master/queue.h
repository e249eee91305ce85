#ifndef NF_MASTER_QUEUE_H
#define NF_MASTER_QUEUE_H
/** @file queue.h  Which job of the daemon runs next: the order and the states
 *  of jobs.  Pure: no clock, no I/O; same calls, same answers.
 *
 *      queued --start--> running --end--> done | failed | cancelled
 *        |  ^               |                  | interrupted
 *        |  +--(draining)---+
 *        +--cancel--> cancelled
 *
 *  A higher priority goes first; jobs of one priority go in the order of their
 *  numbers, that is of submission.  A job that goes back to the queue keeps its
 *  number and so its place. */
#include <stdbool.h>
#include "nowfarm.h"

enum nf_job_state {
    NF_JOB_QUEUED,
    NF_JOB_RUNNING,
    NF_JOB_DONE, /**< its runner exited with 0 */
    NF_JOB_FAILED,
    NF_JOB_CANCELLED,
    NF_JOB_INTERRUPTED, /**< its runner was stopped, but not by us */
};

/** @return "queued", "running", ...; never NULL. */
const char *nf_job_state_name(enum nf_job_state state);
/** The inverse.  @retval NF_ERR_INVAL  no such state */
enum nf_status nf_job_state_parse(const char *name, enum nf_job_state *state_p);
/** @return whether a job in @p state will never run again. */
bool nf_job_state_is_final(enum nf_job_state state);

/** What the queue knows of a job; lives in the job, which the caller owns.
 *  Only the queue writes to it while the job is in the queue. */
struct nf_queue_entry {
    uint64_t id;      /**< >= 1 */
    int32_t priority; /**< any; higher goes first */
    enum nf_job_state state;
    bool cancelling; /**< running, and told to stop */
};

/** How a runner ended. */
enum nf_end {
    NF_END_OK,          /**< exit status 0 */
    NF_END_FAILED,      /**< any other exit status, or a crash */
    NF_END_INTERRUPTED, /**< stopped by a signal, its own or exit status 130 */
};

struct nf_queue;

/** @param max_running  jobs that may run at a time, >= 1
 *  @return NULL if out of memory; free with nf_queue_destroy. */
struct nf_queue *nf_queue_create(uint32_t max_running);
/** Frees the queue, not its entries; NULL is fine. */
void nf_queue_destroy(struct nf_queue *queue);
/** Change the limit, >= 1; running jobs stay even if there are more. */
void nf_queue_set_max_running(struct nf_queue *queue, uint32_t max_running);
/** Start no job from now on: nf_queue_start() answers NF_WAIT, and a job that
 *  ends interrupted goes back to the queue. */
void nf_queue_drain(struct nf_queue *queue);

/** Add a job: queued, or in a final state (a finished job of the past).
 *  O(log n + moved entries).
 *  @param entry  borrowed until nf_queue_remove(); id, priority and state set
 *  @retval NF_ERR_INVAL  running, or its id is not above all ids before
 *  @retval NF_ERR_NOMEM  nothing was changed */
enum nf_status nf_queue_add(struct nf_queue *queue,
                            struct nf_queue_entry *entry);
/** Forget a job that does not run.
 *  @retval NF_ERR_INVAL  unknown, or running */
enum nf_status nf_queue_remove(struct nf_queue *queue, uint64_t id);
/** @return the job, or NULL if it is unknown.  O(log n). */
struct nf_queue_entry *nf_queue_find(const struct nf_queue *queue, uint64_t id);

/** Choose the next job to start and make it running.  O(1) + moved entries.
 *  @retval NF_WAIT  none is queued, or enough are running, or draining */
enum nf_status nf_queue_start(struct nf_queue *queue,
                              struct nf_queue_entry **entry_p);
/** The runner of a running job ended.  A job told to stop is cancelled unless
 *  it had done its work; one interrupted while draining is queued again.
 *  @param state_p  the job's new state
 *  @retval NF_ERR_INVAL  unknown or not running: nothing was changed */
enum nf_status nf_queue_end(struct nf_queue *queue, uint64_t id,
                            enum nf_end end, enum nf_job_state *state_p);
/** Cancel a job.
 *  @retval NF_OK         it was queued and is now cancelled
 *  @retval NF_WAIT       it runs, and is cancelled when its runner ends
 *  @retval NF_ERR_FAILED it is in a final state already
 *  @retval NF_ERR_INVAL  unknown */
enum nf_status nf_queue_cancel(struct nf_queue *queue, uint64_t id);

/** @return jobs in all. */
size_t nf_queue_count(const struct nf_queue *queue);
/** @return jobs that are queued. */
size_t nf_queue_waiting(const struct nf_queue *queue);
/** @return jobs that run. */
size_t nf_queue_running(const struct nf_queue *queue);
/** @return the index-th job by number, index < nf_queue_count(). */
struct nf_queue_entry *nf_queue_at(const struct nf_queue *queue, size_t index);
/** @return the index-th job to start, index < nf_queue_waiting(). */
struct nf_queue_entry *nf_queue_waiting_at(const struct nf_queue *queue,
                                           size_t index);
/** The finished job to forget when more than @p keep of them are kept: the one
 *  with the lowest number.  O(n).
 *  @return NULL if there are not more than @p keep */
struct nf_queue_entry *nf_queue_surplus(const struct nf_queue *queue,
                                        size_t keep);
#endif
