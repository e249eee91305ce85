#include "config.h"
#include "sim/hnow.h"
#include <math.h>
#include "common/base/rng.h"
#include "common/tree/crl.h"
#include "common/tree/hnow.h"
#include "common/tree/times.h"

const char *const nf_hnow_names[NF_HNOW_COUNT] = {
#define X(id, name, text) name,
    NF_HNOW_COLUMNS(X)
#undef X
};

/* ---- networks ---- */

/* [0, 1), in steps of 2^-53 */
static double unit(struct nf_rng *rng)
{
    return (double)(nf_rng_next(rng) >> 11) * 0x1p-53;
}

static double between(struct nf_rng *rng, double low, double high)
{
    return low + (high - low) * unit(rng);
}

static struct nf_cost overhead(struct nf_rng *rng)
{
    struct nf_cost cost;

    cost.fixed_us = between(rng, 100, 500);
    cost.byte_us = between(rng, 0.0001, 0.01);
    return cost;
}

static void draw_wires(struct nf_rng *rng, struct nf_hetero *hetero)
{
    uint32_t n = hetero->hosts;

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = i + 1; j < n; j++) {
            struct nf_cost cost;

            cost.fixed_us = between(rng, 20, 1000);
            cost.byte_us = 1 / between(rng, 1, 12);
            hetero->wire[(size_t)i * n + j] = cost;
            hetero->wire[(size_t)j * n + i] = cost;
        }
}

enum nf_status nf_hnow_draw(uint64_t seed, uint32_t nodes, bool is_matrix,
                            struct nf_hetero *hetero_p, uint32_t *root_p)
{
    struct nf_rng rng = { seed };

    if (nf_hetero_init(hetero_p, nodes, is_matrix) != NF_OK)
        return NF_ERR_NOMEM;
    for (uint32_t i = 0; i < nodes; i++) {
        hetero_p->send[i] = overhead(&rng);
        hetero_p->recv[i] = overhead(&rng);
    }
    *root_p = (uint32_t)(unit(&rng) * nodes);
    if (is_matrix)
        draw_wires(&rng, hetero_p);
    else
        hetero_p->wire[0].byte_us = 0.1;
    return NF_OK;
}

/* ---- a run ---- */

typedef enum nf_status heuristic_fn(const struct nf_hops *hops, uint32_t root,
                                    bool is_blocking, struct nf_tree *tree_p);

/* The time of a tree, and if again_p is not NULL when it has been reordered. */
static enum nf_status run_one(heuristic_fn *heuristic,
                              const struct nf_hops *hops, uint32_t root,
                              bool is_blocking, double *time_p, double *again_p)
{
    struct nf_tree tree;
    enum nf_status status = heuristic(hops, root, is_blocking, &tree);

    if (status != NF_OK)
        return status;
    status = nf_tree_times(&tree, hops, is_blocking, NULL, time_p);
    if (status == NF_OK && again_p != NULL)
        status = nf_tree_reorder(&tree, hops, 1, again_p);
    nf_tree_fini(&tree);
    return status;
}

static enum nf_status run_heuristics(const struct nf_hops *hops, uint32_t root,
                                     double *values)
{
    static const struct {
        heuristic_fn *heuristic;
        enum nf_hnow_column blocking, time, again;
    } rows[] = {
        { nf_tree_fef, NF_HNOW_FEF_B, NF_HNOW_FEF_NB, NF_HNOW_FEF_A1 },
        { nf_tree_ecef, NF_HNOW_ECEF_B, NF_HNOW_ECEF_NB, NF_HNOW_ECEF_A1 },
        { nf_tree_ecef_la, NF_HNOW_COUNT, NF_HNOW_LA_NB, NF_HNOW_LA_A1 },
        { nf_tree_fnf, NF_HNOW_COUNT, NF_HNOW_FNF_NB, NF_HNOW_FNF_A1 },
    };
    enum nf_status status = NF_OK;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (status == NF_OK && rows[i].blocking != NF_HNOW_COUNT)
            status = run_one(rows[i].heuristic, hops, root, true,
                             &values[rows[i].blocking], NULL);
        if (status == NF_OK)
            status = run_one(rows[i].heuristic, hops, root, false,
                             &values[rows[i].time], &values[rows[i].again]);
    }
    return status;
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : 1;
}

enum nf_status nf_hnow_run(const struct nf_hetero *hetero, uint32_t root,
                           uint64_t bytes, double values[NF_HNOW_COUNT])
{
    /* one segment and no polish: what the heuristics are compared with */
    const struct nf_crl_options options = { .bytes = bytes,
                                            .least_segment = bytes + 1 };
    struct nf_crl_plan plan;
    struct nf_hops hops;
    double bound_us = 0;
    enum nf_status status = nf_hops_init(&hops, hetero, (double)bytes);

    if (status != NF_OK)
        return status;
    status = run_heuristics(&hops, root, values);
    if (status == NF_OK)
        status = nf_tree_bound(&hops, root, &bound_us);
    nf_hops_fini(&hops);
    if (status == NF_OK)
        status = nf_crl_plan(hetero, root, &options, &plan, NULL);
    if (status != NF_OK)
        return status;
    values[NF_HNOW_CRL] = plan.time_us;
    values[NF_HNOW_FEF_GAIN] = values[NF_HNOW_FEF_NB] - values[NF_HNOW_FEF_A1];
    values[NF_HNOW_ECEF_GAIN] =
        values[NF_HNOW_ECEF_NB] - values[NF_HNOW_ECEF_A1];
    values[NF_HNOW_CRL_RATIO] = ratio(plan.time_us, values[NF_HNOW_ECEF_A1]);
    values[NF_HNOW_CRL_BOUND] = ratio(plan.time_us, bound_us);
    nf_crl_plan_fini(&plan);
    return NF_OK;
}

/* ---- all runs ---- */

/* Welford: the mean and the sum of squares from it. */
static void add(struct nf_hnow_summary *s, double value, uint32_t count)
{
    double from_mean = value - s->mean;

    s->mean += from_mean / count;
    s->sd += from_mean * (value - s->mean);
    s->min = count == 1 ? value : fmin(s->min, value);
    s->max = count == 1 ? value : fmax(s->max, value);
}

enum nf_status nf_hnow_sim(uint32_t nodes, uint64_t bytes, uint32_t runs,
                           struct nf_hnow_summary summary_p[NF_HNOW_COUNT])
{
    enum nf_status status = NF_OK;

    for (int c = 0; c < NF_HNOW_COUNT; c++)
        summary_p[c] = (struct nf_hnow_summary){ .mean = 0 };
    for (uint32_t r = 0; r < runs && status == NF_OK; r++) {
        struct nf_hetero hetero;
        double values[NF_HNOW_COUNT];
        uint32_t root;

        status = nf_hnow_draw((uint64_t)nodes * 100000 + r, nodes, false,
                              &hetero, &root);
        if (status != NF_OK)
            break;
        status = nf_hnow_run(&hetero, root, bytes, values);
        nf_hetero_fini(&hetero);
        for (int c = 0; c < NF_HNOW_COUNT && status == NF_OK; c++)
            add(&summary_p[c], values[c], r + 1);
    }
    for (int c = 0; c < NF_HNOW_COUNT; c++)
        summary_p[c].sd = runs > 1 ? sqrt(summary_p[c].sd / (runs - 1)) : 0;
    return status;
}
