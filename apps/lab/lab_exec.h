#ifndef NF_APPS_LAB_LAB_EXEC_H
#define NF_APPS_LAB_LAB_EXEC_H
/** @file lab_exec.h  Commands on workstations, and what runs there. */
#include "apps/lab/lab_config.h"

struct lab_command {
    const struct lab *lab;
    const char *where;       /**< a workstation, or "lab": the switch */
    const char *const *argv; /**< ends with NULL */
    bool from_home;          /**< start in $HOME, as rsh does */
    bool private_tmp;        /**< of the lab's config */
};

/** Run a command, with standard input, output and error, working directory and
 *  environment of ours, and PVM_TMP, PVM_RSH and NOWFARM_LAB set.
 *  @return its exit status, 128 + n if signal n ended it, 127 if it was not
 *          found, 126 if it cannot be run; 3 if the lab cannot be entered */
int lab_run(const struct lab_command *command);

/** Call @p visit with every process on the workstation @p where, in process ids
 *  of the caller, the workstation's keeper left out. */
void lab_each_process(const struct lab *lab, const char *where,
                      void (*visit)(pid_t pid, void *arg), void *arg);
#endif
