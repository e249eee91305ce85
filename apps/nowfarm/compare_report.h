#ifndef NF_APPS_NOWFARM_COMPARE_REPORT_H
#define NF_APPS_NOWFARM_COMPARE_REPORT_H
/** @file compare_report.h  What a comparison prints, writes and draws. */
#include "apps/nowfarm/compare.h"

/** For people: two tables and the conclusion. @retval NF_ERR_NOMEM */
enum nf_status compare_print(const struct compare *c,
                             const struct compare_verdict *v, FILE *to);
/** As one object, see nowfarm(1), COMPARISON.  Not known is null.
 *  @return a new reference; NULL if out of memory */
json_t *compare_to_json(const struct compare *c,
                        const struct compare_verdict *v);
/** Every counted run that was made, a line each, in the order of time.
 *  @retval NF_ERR_INVAL, NF_ERR_IO, NF_ERR_NOMEM */
enum nf_status compare_write_csv(const struct compare *c, const char *path,
                                 struct nf_error *err);
/** Makespans of all policies. Errors as plot_write() */
enum nf_status compare_plot(const struct compare *c,
                            const struct compare_verdict *v, const char *path,
                            struct nf_error *err);
#endif
