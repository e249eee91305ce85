#ifndef NF_APPS_NOWFARM_SIM_TORUS_REPORT_H
#define NF_APPS_NOWFARM_SIM_TORUS_REPORT_H
/** @file sim_torus_report.h  What nowfarm sim torus found, as text, JSON, CSV
 *  and plots: times of exchanges, and start-ups of Table 1. */
#include "apps/nowfarm/sim_options.h"
#include "common/coll/wish.h"
#include "sim/torus_run.h"
#include "sim/torus_table.h"

/** An exchange of more takes a minute and more. */
enum { SIM_TORUS_NODES_MAX = 1024 };

struct sim_torus_shape {
    char text[100];
    struct nf_mesh mesh;
};

struct sim_torus_algorithm {
    char name[100]; /**< in full, with its parameters */
    struct nf_coll_wish wish;
    bool for_odd; /**< only where dh is not, in whose place it was taken */
};

/** An algorithm on a torus, with blocks of one size. */
struct sim_torus_point {
    bool fits;      /**< the algorithm is for this torus, or all is 0 */
    uint32_t steps; /**< start-ups */
    uint64_t volume, contended;
    uint32_t channel_messages; /**< at most, in a step */
    char stuck[200];           /**< the cycle in which messages wait, or "" */
    char left_out[200];        /**< why there is no schedule of it: the rest is
                                    0; or "" */
    struct nf_torus_result result;
};

struct sim_torus_report {
    struct nf_torus_setup setup; /**< mesh and block_bytes: of no account */
    bool one_lane;
    uint32_t nshapes, nalgorithms;
    struct sim_torus_shape shape[SIM_LIST_MAX];
    struct sim_list sizes;
    struct sim_torus_algorithm algorithm[SIM_LIST_MAX];
    /** [nshapes][sizes.count][nalgorithms] */
    struct sim_torus_point *point;
};

/** The name without "alltoall." */
const char *sim_torus_short(const struct sim_torus_algorithm *algorithm);
/** Does it say that no messages meet, at this pace? */
bool sim_torus_is_promised(const struct sim_torus_report *report,
                           const struct sim_torus_algorithm *algorithm);
/** Did none meet? */
bool sim_torus_is_free(const struct sim_torus_point *point);
/** Did messages meet where the algorithm says that they do not? */
bool sim_torus_is_broken(const struct sim_torus_report *report,
                         const struct sim_torus_algorithm *algorithm,
                         const struct sim_torus_point *point);
/** The promise of an algorithm is one of the paper, so a broken one is a failure.
 *  @return the exit status; if NF_EXIT_FAILED the first has a line */
int sim_torus_check_promises(const struct sim_torus_report *report);

/** @return the exit status */
int sim_torus_text(const struct sim_torus_report *report);
int sim_torus_json(const struct sim_torus_report *report);
/** @retval NF_ERR_INVAL, NF_ERR_IO, NF_ERR_NOMEM */
enum nf_status sim_torus_csv(const struct sim_torus_report *report,
                             const char *path, struct nf_error *err);
/** Time against the size, if there are several, else against N or nodes.
 *  @retval as plot_write() */
enum nf_status sim_torus_plot(const struct sim_torus_report *report,
                              const char *path, struct nf_error *err);

/** Table 1. */
struct sim_torus_table {
    uint32_t nrows;
    struct nf_torus_row row[SIM_LIST_MAX];
};

/** The same of it. */
int sim_torus_table_text(const struct sim_torus_table *table);
int sim_torus_table_json(const struct sim_torus_table *table);
enum nf_status sim_torus_table_csv(const struct sim_torus_table *table,
                                   const char *path, struct nf_error *err);
enum nf_status sim_torus_table_plot(const struct sim_torus_table *table,
                                    const char *path, struct nf_error *err);
#endif
