#ifndef NF_MASTER_JOB_H
#define NF_MASTER_JOB_H
/** @file job.h  One job of the daemon: what was submitted, and how far it is.
 *  Data and its translation to and from JSON; no I/O. */
#include <jansson.h>
#include <sys/types.h>
#include "master/queue.h"

/** Bytes of a job's name, its NUL included. */
#define NF_JOB_NAME_BYTES 65
/** Bytes of the one line that says how a job ended. */
#define NF_JOB_NOTE_BYTES   200
#define NF_JOB_PRIORITY_MAX 1000 /**< and -1000 is the least */

struct nf_job {
    struct nf_queue_entry entry; /**< first member; number, priority, state */
    char name[NF_JOB_NAME_BYTES];
    /** What was submitted: {"argv": [APP, ...], "cwd": DIR, "umask": N,
     *  "env": {NAME: value}}; checked, owned by the job. */
    json_t *spec;
    uint32_t attempts;            /**< times it was started */
    int exit_status;              /**< once final: 0, 1, 2, 3, 4 or 130 */
    char note[NF_JOB_NOTE_BYTES]; /**< why, if there is more to say; or "" */
    pid_t pid;                    /**< of its runner; 0: none */
    int64_t submitted_us, started_us, finished_us; /**< Unix time; 0: not yet */
    char phase[16]; /**< "starting" or "running", as told by the runner;
                         "" before that */
    struct nf_progress progress; /**< the runner's last report */
};

/** Check a submission and make a job of it: queued, without number.
 *  @param request  {"argv", "cwd", "umask", "env", "name"?, "priority"?};
 *                  variables that do not travel are left out of env
 *  @param job_p    free with nf_job_destroy
 *  @retval NF_ERR_INVAL  err names the bad member
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_job_create(const json_t *request, struct nf_job **job_p,
                             struct nf_error *err);
/** NULL is fine. */
void nf_job_destroy(struct nf_job *job);

/** @return APP, the first word of the job. */
const char *nf_job_app(const struct nf_job *job);
/** @return whether the job's arguments contain @p option, "--policy", alone or
 *          as "--policy=value". */
bool nf_job_has_option(const struct nf_job *job, const char *option);

/** Take one line of a runner's progress into the job.  What does not make sense
 *  (no object, negative numbers) is ignored: the runner is not trusted to be
 *  well. */
void nf_job_take_progress(struct nf_job *job, const char *line, size_t bytes);

/** The job as clients see it.  @return a new object, or NULL if out of memory.
 *  @param now_us  Unix time, for the elapsed time of a running job */
json_t *nf_job_describe(const struct nf_job *job, int64_t now_us);
#endif
