#ifndef NF_APPS_NOWFARM_COMMANDS_H
#define NF_APPS_NOWFARM_COMMANDS_H
/** @file commands.h  The subcommands of nowfarm(1), one file each.  argv[0] is
 *  what help calls it, "nowfarm run"; results go to standard output, one line
 *  of error to standard error; the return value is the exit status. */

/** List every sizer, pacer and alias. */
int nf_cmd_policies(int argc, const char **argv);
/** Print the sizes that a policy hands out. */
int nf_cmd_chunks(int argc, const char **argv);
/** Draw a trace. */
int nf_cmd_gantt(int argc, const char **argv);
/** Which policy would have been best for a recorded run. */
int nf_cmd_replay(int argc, const char **argv);
/** Run a job. */
int nf_cmd_run(int argc, const char **argv);
/** Check the arguments of nf_cmd_run() and start nothing: 0, or one line on
 *  standard error and 2. */
int nf_cmd_run_check(int argc, const char **argv);
/** Run a job with several policies and say which is best. */
int nf_cmd_compare(int argc, const char **argv);
/** Simulate: `sim farm` and others. */
int nf_cmd_sim(int argc, const char **argv);
/** The virtual machine. */
int nf_cmd_hosts(int argc, const char **argv);
int nf_cmd_add(int argc, const char **argv);
int nf_cmd_remove(int argc, const char **argv);
/** A virtual network of workstations. */
int nf_cmd_lab(int argc, const char **argv);
#endif
