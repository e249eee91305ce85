#ifndef NF_APPS_LAB_LAB_INIT_H
#define NF_APPS_LAB_LAB_INIT_H
/** @file lab_init.h  Pid 1 of a lab: sets it up, and then waits for processes
 *  that nobody else waits for. */
#include "apps/lab/lab_cgroup.h"
#include "apps/lab/lab_config.h"

struct lab_plan {
    const struct lab *lab;
    const struct lab_config *config;
    const char *program;      /**< of nowfarm-lab */
    struct lab_cgroup cgroup; /**< valid if has_groups */
    bool has_groups;
    int report_fd; /**< gets a NUL when the lab is complete, else a text */
};

/** Set the lab up in fresh namespaces; never returns.  The process is pid 1 of
 *  its namespace, and dies with its parent until the lab is complete. */
_Noreturn void lab_init(struct lab_plan *plan);

/** Try out what the network needs, and write it to plan->report_fd. */
_Noreturn void lab_init_probe(struct lab_plan *plan);

/** The path of lab-net, beside @p program. */
void lab_net_path(const char *program, char *path_p, size_t bytes);
#endif
