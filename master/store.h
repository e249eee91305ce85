#ifndef NF_MASTER_STORE_H
#define NF_MASTER_STORE_H
/** @file store.h  The jobs on disk, in one SQLite file.  Every call waits for
 * the disk: the daemon's loop uses journal.h instead. */
#include "nowfarm.h"

/** One job as it is stored.  Texts are borrowed for the time of a call. */
struct nf_store_job {
    uint64_t id;
    const char *name;
    int32_t priority;
    const char *state; /**< "queued", "running", ... */
    uint32_t attempts;
    int exit_status;
    const char *note;
    int64_t pid;                                   /**< of the runner, or 0 */
    const char *spec;                              /**< JSON */
    int64_t submitted_us, started_us, finished_us; /**< Unix time; 0: not yet */
    const char *progress; /**< JSON, the last line the runner told; or "" */
};

/** A piece of stored text. */
struct nf_store_text {
    char *data; /**< nf_free() it */
    size_t bytes;
    uint64_t dropped_bytes; /**< what was not kept of it */
};

struct nf_store;

/** Open the database, or make it (mode as umask says).  It is locked against
 *  every other process until it is closed.
 *  @param store_p  close with nf_store_close
 *  @retval NF_ERR_INVAL  unwritable, corrupt, locked, not ours, or of a newer
 *                        nowfarmd; err names the file and why */
enum nf_status nf_store_open(const char *path, struct nf_store **store_p,
                             struct nf_error *err);
/** NULL is fine. */
void nf_store_close(struct nf_store *store);

/** Call @p take for each job, by number.  It may return an error, which ends
 *  the loop and is returned. */
enum nf_status nf_store_load(
    struct nf_store *store,
    enum nf_status (*take)(void *user, const struct nf_store_job *job),
    void *user, struct nf_error *err);
/** @return the highest number a job ever had, also if it is deleted; 0: none.
 */
uint64_t nf_store_last_id(struct nf_store *store);

/* Each of these is one transaction, on disk when it returns.
 * @retval NF_ERR_IO  nothing was changed; err says why */
/** A new job.  Its number must be above all others. */
enum nf_status nf_store_insert(struct nf_store *store,
                               const struct nf_store_job *job,
                               struct nf_error *err);
/** Change state, attempts, exit status, note, pid, times and progress of job
 *  job->id; the rest of @p job is not read. */
enum nf_status nf_store_update(struct nf_store *store,
                               const struct nf_store_job *job,
                               struct nf_error *err);
/** As nf_store_update(), and keep the job's report and log. */
enum nf_status nf_store_finish(struct nf_store *store,
                               const struct nf_store_job *job,
                               const struct nf_store_text *report,
                               const struct nf_store_text *log,
                               struct nf_error *err);
enum nf_status nf_store_delete(struct nf_store *store, uint64_t id,
                               struct nf_error *err);
/** Read a job's report and log.
 *  @retval NF_ERR_NOMEM  @retval NF_ERR_IO also if there is no such job */
enum nf_status nf_store_fetch(struct nf_store *store, uint64_t id,
                              struct nf_store_text *report_p,
                              struct nf_store_text *log_p,
                              struct nf_error *err);
#endif
