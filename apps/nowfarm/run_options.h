#ifndef NF_APPS_NOWFARM_RUN_OPTIONS_H
#define NF_APPS_NOWFARM_RUN_OPTIONS_H
/** @file run_options.h  The arguments of `nowfarm run`. */
#include "apps/app.h"

struct run_text {
    char *text; /**< what popt allocated */
    bool file;  /**< it names a file */
};

struct run_options {
    const struct nf_app_kind *kind;
    void *state;              /**< of the application, its options set */
    struct nf_options job;    /**< what nf_run() wants; texts owned by texts */
    struct nf_app_request request;
    bool json, quiet;
    int progress_fd;          /**< -1: none */
    struct run_text *texts;   /**< of all options */
    unsigned ntexts;
};

/** Parse and check argv[0..argc), argv[1] being APP.
 *  @param done_p  set to true if there is nothing more to do (--help)
 *  @retval NF_ERR_INVAL  err says what was wrong; *o_p needs no free */
enum nf_status run_options_parse(int argc, const char **argv,
                                 struct run_options *o_p, bool *done_p,
                                 struct nf_error *err);
void run_options_free(struct run_options *o);
#endif
