#ifndef NF_APPS_LAB_LAB_VERBS_H
#define NF_APPS_LAB_LAB_VERBS_H
/** @file lab_verbs.h  The verbs of `nowfarm lab`. */
#include <stdbool.h>
#include <stdint.h>
#include "apps/lab/lab_config.h"

/** The command line: options, then what follows the verb. */
struct lab_request {
    struct lab lab;
    const char *program;     /**< path of this program */
    const char *const *args; /**< ends with NULL */
    int nargs;
    bool json, all, private_tmp, has_latency;
    int64_t latency_us;
    unsigned frames; /**< as in struct lab_config */
};

/** Each prints its results to standard output, or one line of error, and
 *  returns the exit status. */
typedef int lab_verb_fn(const struct lab_request *r);

lab_verb_fn lab_verb_up, lab_verb_hub, lab_verb_down; /* lab_build.c */
lab_verb_fn lab_verb_exec, lab_verb_rsh;              /* lab_change.c */
lab_verb_fn lab_verb_rate, lab_verb_cpu, lab_verb_cut, lab_verb_mend;
lab_verb_fn lab_verb_status, lab_verb_list, lab_verb_hosts; /* lab_show.c */
lab_verb_fn lab_verb_pids, lab_verb_check;
#endif
