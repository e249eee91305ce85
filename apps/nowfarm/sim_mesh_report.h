#ifndef NF_APPS_NOWFARM_SIM_MESH_REPORT_H
#define NF_APPS_NOWFARM_SIM_MESH_REPORT_H
/** @file sim_mesh_report.h  What nowfarm sim mesh found, as tables, JSON, CSV
 * and plots. */
#include "apps/nowfarm/sim_options.h"
#include "sim/mesh_study.h"

struct sim_mesh_algorithm {
    const char *name; /**< as it was asked for */
    const struct nf_uniform_algorithm *algorithm;
};

/** All numbers of nodes with all sizes, by all algorithms. */
struct sim_mesh_figure {
    unsigned number; /**< of the paper, or 0 */
    struct sim_list nodes, bytes;
    /** [nodes.count * bytes.count * algorithms]: of nodes first, then of bytes;
     *  a figure has several of one only */
    struct nf_mesh_study *study;
};

struct sim_mesh_report {
    struct nf_mesh_cast cast;
    char shape[100];
    uint64_t seed, run; /**< run: UINT64_MAX if all */
    uint32_t runs;
    uint32_t nalgorithms, nfigures;
    struct sim_mesh_algorithm algorithm[SIM_LIST_MAX];
    struct sim_mesh_figure figure[4];
};

/** @return the exit status */
int sim_mesh_text(const struct sim_mesh_report *report);
int sim_mesh_json(const struct sim_mesh_report *report);

/** @retval NF_ERR_INVAL, NF_ERR_IO, NF_ERR_NOMEM */
enum nf_status sim_mesh_csv(const struct sim_mesh_report *report,
                            const char *path, struct nf_error *err);

enum { SIM_MESH_PATH_BYTES = 4096 };

/** The file of the figure with this index: @p path, or if there are several,
 * with
 *  "-11" before its suffix.  @return name
 *  @retval NULL  path is too long */
const char *sim_mesh_plot_name(const struct sim_mesh_report *report,
                               const char *path, uint32_t index,
                               char name[SIM_MESH_PATH_BYTES]);
/** Draw each figure that has several sizes or several numbers of nodes.
 *  @retval as plot_write() */
enum nf_status sim_mesh_plot(const struct sim_mesh_report *report,
                             const char *path, struct nf_error *err);
#endif
