#ifndef NF_APPS_NOWFARM_SIM_HNOW_REPORT_H
#define NF_APPS_NOWFARM_SIM_HNOW_REPORT_H
/** @file sim_hnow_report.h  What nowfarm sim hnow prints, writes and draws. */
#include "sim/hnow.h"

enum { SIM_HNOW_LIST_MAX = 32, SIM_HNOW_PATH_BYTES = 4096 };

struct sim_hnow_row {
    uint32_t nodes;
    struct nf_hnow_summary summary[NF_HNOW_COUNT];
};

struct sim_hnow_report {
    uint64_t bytes;
    uint32_t runs;
    uint32_t count;  /**< rows */
    unsigned figure; /**< 3, 4, or 0 for both */
    struct sim_hnow_row row[SIM_HNOW_LIST_MAX];
};

/** Tables on standard output.  @return the exit status */
int sim_hnow_text(const struct sim_hnow_report *r);
/** One object on standard output.  @return the exit status */
int sim_hnow_json(const struct sim_hnow_report *r);

/** A line for each number of nodes and each column.
 *  @retval NF_ERR_INVAL, NF_ERR_IO, NF_ERR_NOMEM */
enum nf_status sim_hnow_csv(const struct sim_hnow_report *r, const char *path,
                            struct nf_error *err);

/** Which file a figure is drawn to: @p path, or if both are drawn "FILE-3.svg"
 *  for "FILE.svg".
 *  @return @p name_p, or NULL if that is too long */
const char *sim_hnow_plot_name(const struct sim_hnow_report *r,
                               const char *path, unsigned figure,
                               char name_p[SIM_HNOW_PATH_BYTES]);

/** Draw the figures.  Errors as plot_write() */
enum nf_status sim_hnow_plot(const struct sim_hnow_report *r, const char *path,
                             struct nf_error *err);
#endif
