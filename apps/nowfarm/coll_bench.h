#ifndef NF_APPS_NOWFARM_COLL_BENCH_H
#define NF_APPS_NOWFARM_COLL_BENCH_H
/** @file coll_bench.h  What `nowfarm coll-bench` is asked for and what it
 *  finds. */
#include <jansson.h>
#include <stdio.h>
#include "apps/nowfarm/stats.h"
#include "common/coll/rules.h"

enum { COLL_SIZES_MAX = 32, COLL_PARTIES_MAX = 16 };
#define COLL_TABLE_DEFAULT "nowfarm-collectives.table"

struct coll_options {
    bool ops[NF_COLL_OPS];
    bool ordered; /**< by an operator that does not commute */
    bool all_algorithms;
    const struct nf_coll_algorithm *algorithm; /**< NULL: auto, or all */
    struct nf_coll_params params;              /**< of algorithm */
    uint32_t segments;                         /**< 0: the model's */
    uint64_t sizes[COLL_SIZES_MAX];
    unsigned nsizes;
    uint32_t slaves[COLL_PARTIES_MAX]; /**< P; none: one a host */
    unsigned nslaves;
    const char *hosts_file, *transport, *route;
    uint32_t repeat;    /**< 0: as many as fit */
    int64_t timeout_us; /**< of calls */
    int64_t pause_us;   /**< before each of them */
    const char *table;  /**< to go by */
    const char *network; /**< a model file that broadcasts go by */
    const char *model;  /**< to predict by; nothing is run */
    bool beside;        /**< PVM's group library too */
    bool tune;
    const char *out; /**< of tune; NULL without */
    bool json;
    const char *csv, *plot;
};

/** @param done_p  set if --help was asked for and printed
 *  @param options_p  texts live as long as argv or until coll_options_fini()
 *  @retval NF_ERR_INVAL */
enum nf_status coll_options_parse(int argc, const char **argv,
                                  struct coll_options *options_p,
                                  struct nf_error *err);
void coll_options_fini(void);

/** "8B,64KiB,1MiB", ascending or not; each has its unit.
 *  @param sizes_p  [COLL_SIZES_MAX]
 *  @retval NF_ERR_INVAL */
enum nf_status coll_parse_sizes(const char *text, uint64_t *sizes_p,
                                unsigned *count_p, struct nf_error *err);
/** "sp2", "t3e", "cluster" (Kim, report 98-NF-03-04-A-01, table of 4.1), or
 *  "a=46,b=0.035,delta=2,g=0.01": us, us a byte, 1..2, us a byte. */
enum nf_status coll_parse_model(const char *text, struct nf_model *model_p,
                                struct nf_error *err);
enum nf_status coll_read_options_op(const char *name, bool ops[NF_COLL_OPS],
                                    struct nf_error *err);

/** One line of the result. */
struct coll_row {
    enum nf_coll_op op;
    uint32_t ranks;
    uint64_t bytes;
    const struct nf_coll_algorithm *algorithm;
    bool chosen; /**< by auto */
    uint32_t segments;
    struct nf_coll_params params;
    unsigned count;
    double *us; /**< [count] slowest member's time of each call, in their order;
                     NULL if nothing was run */
    struct stats_summary summary; /**< of us */
    struct stats_interval middle; /**< where its median lies */
    double predicted_us;          /**< NaN: no formula */
    bool ordered;                 /**< the operator does not commute */
    double group_us; /**< the median of PVM's group library; NaN: has it not */
    unsigned group_count;
    double *group_samples_us; /**< [group_count] as us, of PVM's group library;
                                   NULL: none */
};

void coll_row_free(struct coll_row *row);

struct coll_results {
    struct coll_row *rows;
    size_t count, capacity;
    struct nf_model model;
    const char *model_source; /**< "measured", "table", or the user's */
    bool has_routes;          /**< model.route says something */
    const char *transport;    /**< NULL: nothing was run */
    int64_t pause_us;         /**< before each call */
};

/** Add @p row; its times become the results'.  @retval NF_ERR_NOMEM */
enum nf_status coll_results_add(struct coll_results *results,
                                const struct coll_row *row);
void coll_results_fini(struct coll_results *results);

/** The network by @p model, with what combining costs in @p query, a
 *  bench_query(): as a group has it that is asked for such a call. */
struct nf_coll_network coll_network(const struct nf_model *model,
                                    const struct nf_coll_query *query);
/** The cost by @p model of that call by @p algorithm; NaN: no formula. */
double coll_predict(const struct nf_model *model,
                    const struct nf_coll_query *query,
                    const struct nf_coll_algorithm *algorithm,
                    uint32_t segments);

enum { COLL_NAME_BYTES = 96 };
/** The row's algorithm with its parameters, as --algorithm takes it, but
 *  without segments; "?": it is not known. */
void coll_row_name(const struct coll_row *row, char text_p[COLL_NAME_BYTES]);

/* coll_report.c */
void coll_report_print(const struct coll_results *results, FILE *to);
json_t *coll_report_json(const struct coll_results *results);
enum nf_status coll_report_csv(const struct coll_results *results,
                               const char *path, struct nf_error *err);
enum nf_status coll_report_plot(const struct coll_results *results,
                                const char *path, struct nf_error *err);
#endif
