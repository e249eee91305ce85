#ifndef NF_APPS_NOWFARM_COMMANDS_JOBS_H
#define NF_APPS_NOWFARM_COMMANDS_JOBS_H
/** @file commands_jobs.h  The subcommands that talk to nowfarmd.  argv[0] is
 * the subcommand's name, argv[argc] is NULL; each returns the exit status. */

int nf_cmd_submit(int argc, const char **argv);
int nf_cmd_status(int argc, const char **argv);
int nf_cmd_wait(int argc, const char **argv);
int nf_cmd_result(int argc, const char **argv);
int nf_cmd_cancel(int argc, const char **argv);

/** Implemented by `nowfarm run`: check the arguments of a run without opening
 *  anything.  @param argv  "run", APP, its options, NULL
 *  @return 0, or 2 after one line on standard error */
int nf_cmd_run_check(int argc, const char **argv);
#endif
