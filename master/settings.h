#ifndef NF_MASTER_SETTINGS_H
#define NF_MASTER_SETTINGS_H
/** @file settings.h  What nowfarm.conf can set, checked. */
#include <stdbool.h>
#include "common/base/log.h"
#include "nowfarm.h"

#define NF_MAX_RUNNING_MOST 1000
#define NF_KEEP_JOBS_MOST   100000

/** Paths are absolute.  Those marked (reload) take effect on SIGHUP. */
struct nf_settings {
    char *socket;         /**< NULL: the usual place, see endpoint.h */
    char *state_dir;      /**< where jobs.db is; never NULL */
    char *runner;         /**< nowfarm; NULL: beside nowfarmd  (reload) */
    char *policy;         /**< for jobs that name none, or NULL  (reload) */
    char *hosts;          /**< for jobs that name none, or NULL  (reload) */
    char *network;        /**< for jobs without one, or NULL  (reload) */
    uint32_t max_running; /**< jobs at a time, >= 1  (reload) */
    uint32_t keep_jobs;   /**< finished jobs kept, >= 1  (reload) */
    enum nf_log_level log_level; /**< (reload) */
    bool keep_vm;                /**< hold the virtual machine between jobs */
};

/** Read the configuration.
 *  @param path  the file; NULL: the first that exists of
 *               $XDG_CONFIG_HOME/nowfarm/nowfarm.conf (~/.config without it)
 *               and @p fallback (may be NULL), or the defaults without a file
 *  @param settings_p  free with nf_settings_fini
 *  @retval NF_ERR_INVAL  err: "FILE:LINE: what is wrong"
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_settings_load(const char *path, const char *fallback,
                                struct nf_settings *settings_p,
                                struct nf_error *err);
void nf_settings_fini(struct nf_settings *settings);
#endif
