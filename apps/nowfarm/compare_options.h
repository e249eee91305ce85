#ifndef NF_APPS_NOWFARM_COMPARE_OPTIONS_H
#define NF_APPS_NOWFARM_COMPARE_OPTIONS_H
/** @file compare_options.h  The arguments of `nowfarm compare`: its own, and
 *  those that it hands on to each run. */
#include <stdbool.h>
#include <stdint.h>
#include "nowfarm.h"

struct compare_options {
    const char *app;                   /**< NULL with --platform */
    const char *platform;              /**< NULL with APP */
    const char *policies, *csv, *plot; /**< NULL if not given */
    unsigned repeat, warmup;
    uint64_t seed;
    bool seed_given, json, quiet, help;
    const char **rest; /**< for the runs; to nf_free() */
    unsigned nrest;
};

/** Take argv[0..argc) apart; texts are borrowed from it.  The own options are
 *  checked one by one, the rest is not looked at.
 *  @retval NF_ERR_INVAL, NF_ERR_NOMEM  *o_p needs no free */
enum nf_status compare_options_parse(int argc, const char **argv,
                                     struct compare_options *o_p,
                                     struct nf_error *err);
/** Print --help. */
int compare_options_help(int argc, const char **argv);
#endif
