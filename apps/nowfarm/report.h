#ifndef NF_APPS_NOWFARM_REPORT_H
#define NF_APPS_NOWFARM_REPORT_H
/** @file report.h  What `nowfarm run` tells: progress while it runs, a report
 *  for people or as JSON when it is over. */
#include <jansson.h>
#include <stdio.h>
#include "apps/figures.h"
#include "nowfarm.h"

enum verified { NOT_VERIFIED = -1, VERIFIED_WRONG, VERIFIED_RIGHT };

/** The report for people. @p note (or NULL) says what was verified. */
void report_print(FILE *to, const char *app, const struct nf_report *r,
                  enum verified verified, const char *note);
/** Below it, what the application made: a line a figure. */
void report_print_figures(FILE *to, const struct nf_app_figure *figures,
                          uint32_t count);
/** Of the report, the lines on where the time went. */
void report_print_parts(FILE *to, const struct nf_report *r);
/** The report as a JSON object; NULL if out of memory. */
json_t *report_json(const char *app, const struct nf_report *r,
                    enum verified verified);
/** What the report does not know. */
struct report_more {
    const struct nf_app_figure *figures; /**< [nfigures]: an object "result" */
    uint32_t nfigures;
    double compute_model_s; /**< as of report_print_model(); 0: there is none */
};
/** The report as one JSON object and a newline.
 *  @retval NF_ERR_NOMEM   @retval NF_ERR_IO */
enum nf_status report_print_json(FILE *to, const char *app,
                                 const struct nf_report *r,
                                 enum verified verified,
                                 const struct report_more *more);
/** Of a job of several phases, its time by the model beside the measured one.
 *  @param compute_s  by the model, in each slot */
void report_print_model(FILE *to, const struct nf_report *r, double compute_s);

/** A bar on standard error, redrawn in place. */
void progress_draw(const struct nf_progress *p);
/** Remove it, so that other lines can be printed. */
void progress_erase(void);
/** Prepare @p fd for progress_write(), which must never wait: a reader that
 *  stands still would make the job stand still. */
void progress_open(int fd);
/** One JSON line for the daemon; left out if its pipe is full.  @return 0, or -1 if nobody reads it */
int progress_write(int fd, const struct nf_progress *p);
#endif
