#ifndef NF_MASTER_JOBS_H
#define NF_MASTER_JOBS_H
/** @file jobs.h  The life of the daemon's jobs: from the journal into the
 * queue, from the queue into a runner, from the runner's end back into the
 * journal. All of it happens in the loop, and none of it waits. */
#include "master/command.h"
#include "master/control.h"
#include "master/journal.h"
#include "master/settings.h"

/** Queued jobs at most: a bound on the daemon's memory. */
#define NF_JOBS_MOST_QUEUED 10000
/** From SIGTERM to SIGKILL when the daemon stops. */
#define NF_JOBS_STOP_GRACE_US 6000000

struct nf_jobs_run;    /* a job that runs */
struct nf_jobs_waiter; /* a client that waits for a job's end */

/** Shared by jobs.c and requests.c; others use the functions only. */
struct nf_jobs {
    struct event_base *base;
    struct nf_queue *queue; /**< its entries are jobs, owned by us */
    struct nf_journal *journal;
    struct nf_control *control; /**< where replies go, or NULL */
    struct nf_jobs_run *runs;
    struct nf_jobs_waiter *waiters;
    uint64_t last_id;
    size_t unrecorded; /**< submitted and not yet on disk */
    uint32_t max_running, keep_jobs;
    char *runner, *policy, *hosts, *network, *socket;
    int64_t started_us; /**< monotonic; when the daemon began */
    bool stopping;
    void (*stopped)(void *user);
    void *stopped_user;
};

/** Take over the jobs in @p store: finished ones stay as they are, the others
 *  are queued.  A runner that a killed daemon left behind is killed.
 *  @param store     borrowed until nf_jobs_destroy()
 *  @param socket    the daemon's socket, for the jobs' environment; copied
 *  @param settings  max_running, keep_jobs, policy, hosts and runner, which
 * must be set; copied */
enum nf_status nf_jobs_create(struct event_base *base, struct nf_store *store,
                              const char *socket,
                              const struct nf_settings *settings,
                              struct nf_jobs **jobs_p, struct nf_error *err);
/** Write out what is left to write, then free everything; a runner still there
 *  is killed.  NULL is fine. */
void nf_jobs_destroy(struct nf_jobs *jobs);
/** Where to reply to. */
void nf_jobs_attach(struct nf_jobs *jobs, struct nf_control *control);
/** Take new settings; running jobs keep theirs.
 *  @retval NF_ERR_NOMEM  the old ones stay */
enum nf_status nf_jobs_configure(struct nf_jobs *jobs,
                                 const struct nf_settings *settings);
/** Start what may be started. */
void nf_jobs_pump(struct nf_jobs *jobs);
/** To be called after SIGCHLD. */
void nf_jobs_reap(struct nf_jobs *jobs);
/** Refuse new jobs, send SIGTERM to the runners, SIGKILL after @p grace_us to
 *  those that are left; jobs that were interrupted are queued again.  When
 *  none runs any more, @p stopped is called, perhaps from within.  A second
 *  call only can shorten the time. */
void nf_jobs_stop(struct nf_jobs *jobs, int64_t grace_us,
                  void (*stopped)(void *user), void *user);

/* For requests.c. */

/** @return the job, or NULL. */
struct nf_job *nf_jobs_find(const struct nf_jobs *jobs, uint64_t id);
/** Give @p job the next number and have it recorded; when it is, it is queued
 *  and its client gets the number.
 *  @param job  taken, also on failure */
enum nf_status nf_jobs_submit(struct nf_jobs *jobs, struct nf_job *job,
                              uint64_t client);
/** Cancel a job; its client gets the reply when that is recorded, or at once if
 *  the job runs.  @return as nf_queue_cancel() */
enum nf_status nf_jobs_cancel(struct nf_jobs *jobs, struct nf_job *job,
                              uint64_t client);
/** Tell @p client when the job ends.  @retval NF_ERR_NOMEM */
enum nf_status nf_jobs_wait(struct nf_jobs *jobs, const struct nf_job *job,
                            uint64_t client);
/** @return whether @p client was waiting; it is forgotten. */
bool nf_jobs_forget_waiter(struct nf_jobs *jobs, uint64_t client);
/** @return the runner of a running job, or NULL. */
const struct nf_runner *nf_jobs_runner(const struct nf_jobs *jobs,
                                       const struct nf_job *job);
/** @return Unix time. */
int64_t nf_jobs_unix_time_us(void);
#endif
