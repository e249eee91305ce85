#ifndef NF_MASTER_COMMAND_H
#define NF_MASTER_COMMAND_H
/** @file command.h  The command line and environment of a job's runner. */
#include "master/job.h"
#include "master/runner.h"

/** What the daemon adds to a job. */
struct nf_command_defaults {
    const char *runner;  /**< absolute path of nowfarm */
    const char *policy;  /**< or NULL */
    const char *hosts;   /**< or NULL */
    const char *network; /**< a model file, or NULL */
    const char *socket;  /**< the daemon's */
};

/** RUNNER run APP --progress-fd 3 --json --quiet [--policy P] [--hosts H]
 *  and the job's own arguments.  The environment is the daemon's; over it go
 *  the variables that came with the job, NOWFARM_SOCKET and NOWFARM_JOB, and
 *  NOWFARM_NETWORK of the defaults if none of these has it.
 *  @param command_p  points into @p job and @p defaults; free with
 *                    nf_command_fini
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_command_init(const struct nf_job *job,
                               const struct nf_command_defaults *defaults,
                               struct nf_runner_command *command_p);
void nf_command_fini(struct nf_runner_command *command);

/** @return whether process @p pid is a runner of job @p id of the daemon at
 *          @p socket: only then may a daemon that has restarted signal it.
 *          Looks at /proc/PID/environ. */
bool nf_command_is_runner(pid_t pid, uint64_t id, const char *socket);
#endif
