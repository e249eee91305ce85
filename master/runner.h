#ifndef NF_MASTER_RUNNER_H
#define NF_MASTER_RUNNER_H
/** @file runner.h  A job's process: `nowfarm run APP ...` as a child in a
 *  process group of its own, so that whatever a job does to itself it does not
 *  do to the daemon.
 *
 *  The runner gets standard input from /dev/null, writes its report to standard
 *  output, its log to standard error, and its progress, one JSON object a line,
 *  to descriptor NF_RUNNER_PROGRESS_FD.  All three are pipes that the loop
 * reads a bounded piece at a time; of the report the first
 * NF_RUNNER_REPORT_BYTES are kept, of the log the last NF_RUNNER_LOG_BYTES, of
 * the progress the last line.  When the daemon dies, the runner gets SIGTERM,
 * and the other ends of its pipes are closed. */
#include <event2/event.h>
#include <sys/types.h>
#include "nowfarm.h"

#define NF_RUNNER_PROGRESS_FD  3
#define NF_RUNNER_REPORT_BYTES ((size_t)1024 * 1024)
#define NF_RUNNER_LOG_BYTES    ((size_t)256 * 1024)
/** From SIGTERM to SIGKILL, for a job that is cancelled. */
#define NF_RUNNER_GRACE_US 7000000

/** What to run; borrowed until nf_runner_start() returns. */
struct nf_runner_command {
    char *const *argv; /**< argv[0]: absolute path of the program */
    char *const *envp;
    const char *cwd;
    mode_t umask;
};

/** What the runner tells; both are called from the loop. */
struct nf_runner_hooks {
    void (*progress)(void *user, const char *line, size_t bytes);
    /** It ended and everything it wrote is read.  The last call: the hook may
     *  destroy the runner.
     *  @param wait_status  as waitpid() gives it */
    void (*ended)(void *user, int wait_status);
    void *user;
};

struct nf_runner;

/** Start a process.  That the program cannot be executed shows as its end, with
 *  status 127 and a line in the log.
 *  @param runner_p  free with nf_runner_destroy
 *  @retval NF_ERR_IO  no process or pipe could be made
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_runner_start(struct event_base *base,
                               const struct nf_runner_command *command,
                               const struct nf_runner_hooks *hooks,
                               struct nf_runner **runner_p,
                               struct nf_error *err);
/** Forget it; a process that still runs is killed with its group.  NULL is
 *  fine. */
void nf_runner_destroy(struct nf_runner *runner);

/** @return its process, and the number of its process group. */
pid_t nf_runner_pid(const struct nf_runner *runner);
/** SIGTERM to the process now, SIGKILL to what is left of its group when it has
 *  ended or @p grace_us is over.  A second call only can shorten the time. */
void nf_runner_terminate(struct nf_runner *runner, int64_t grace_us);
/** Look whether it ended; to be called after SIGCHLD.  May call ended. */
void nf_runner_reap(struct nf_runner *runner);

/** What it has written so far; valid until the loop runs again.
 *  @param dropped_p  bytes left out: the end of the report, the start of the
 *                    log */
const char *nf_runner_report(const struct nf_runner *runner, size_t *bytes_p,
                             uint64_t *dropped_p);
const char *nf_runner_log(const struct nf_runner *runner, size_t *bytes_p,
                          uint64_t *dropped_p);
#endif
