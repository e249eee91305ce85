#ifndef NF_APPS_NOWFARM_COMMANDS_COLL_H
#define NF_APPS_NOWFARM_COMMANDS_COLL_H
/** @file commands_coll.h  The subcommands about collective operations; see
 *  commands.h. */

/** List every algorithm. */
int nf_cmd_plans(int argc, const char **argv);
/** Print the messages of one, and check them. */
int nf_cmd_plan(int argc, const char **argv);
/** Measure an operation, or tune. */
int nf_cmd_coll_bench(int argc, const char **argv);
/** Measure what messages cost. */
int nf_cmd_probe(int argc, const char **argv);
/** Prefix statistics of a file, by a scan. */
int nf_cmd_prefix(int argc, const char **argv);
#endif
