/* What the model says of trees, and what they really take. */
#include "config.h"
#include <math.h>
#include "apps/nowfarm/probe.h"
#include "apps/nowfarm/stats.h"
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/tree/hnow_table.h"
#include "common/tree/times.h"
#include "common/tree/uniform.h"

enum { FEW = 4, CHECK_COUNT = 11, CHECK_WARM = 2, CHECK_LEAST = 3 };
enum { IDLE_BYTES = 4096, IDLE_MOST_US = 50000 };
/* More than that one tree is not measured for. */
static const double CHECK_MOST_US = 3e6;
/* What is left of a time when an answer is off. */
static const double LEAST_US = 0.1;
static const uint64_t shape_sizes[] = { 1024, 65536 };

/* ---- predicted ---- */

/* In units of which a thousand make a microsecond, or fewer of long times. */
static enum nf_status set_times(const struct nf_network *network, double bytes,
                                struct nf_uniform *uniform)
{
    struct nf_parameterized equal;
    double hold_us, end_us, scale = 1e3;
    enum nf_status status = nf_parameterized_of(network, &equal);

    if (status != NF_OK)
        return status;
    hold_us = nf_curve_us(&equal.hold, bytes);
    end_us = nf_curve_us(&equal.end, bytes);
    if (fmax(hold_us, end_us) * scale > (double)NF_UNIFORM_TIME_MAX)
        scale = (double)NF_UNIFORM_TIME_MAX / fmax(hold_us, end_us);
    uniform->hold = (int64_t)(hold_us * scale);
    uniform->end = (int64_t)(end_us * scale);
    return NF_OK;
}

/* As if all hosts were as the median one; of the first @p nodes. */
static enum nf_status plan_uniform(const struct nf_uniform_algorithm *algorithm,
                                   const struct nf_network *network,
                                   uint32_t nodes, uint64_t bytes,
                                   struct nf_crl_plan *plan)
{
    struct nf_uniform_args args = { .nodes = nodes, .uniform = { .ports = 1 } };
    struct nf_error unheard;
    enum nf_status status = set_times(network, (double)bytes, &args.uniform);

    if (status == NF_OK)
        status = nf_uniform_make(algorithm, &args, &plan->tree, &unheard);
    plan->segments = 1;
    plan->segment_bytes = bytes;
    return status;
}

/* Of a tree of the first hosts. */
static enum nf_status predict(const struct nf_network *network,
                              struct nf_crl_plan *plan)
{
    const struct nf_hetero hetero = nf_network_hetero(network, true);
    struct nf_hops hops;
    enum nf_status status =
        nf_hops_init(&hops, &hetero, (double)plan->segment_bytes);

    if (status == NF_OK)
        status =
            nf_tree_pipe(&plan->tree, &hops, plan->segments, &plan->time_us);
    nf_hops_fini(&hops);
    return status;
}

/* @param status  of making the plan */
static enum nf_status finish(enum nf_status status,
                             const struct nf_network *network,
                             struct probe_check *check)
{
    if (status != NF_OK)
        return status;
    status = predict(network, &check->plan);
    if (status != NF_OK)
        nf_crl_plan_fini(&check->plan);
    return status;
}

enum nf_status probe_plan_shape(enum probe_shape shape,
                                const struct nf_network *network,
                                uint64_t bytes, struct probe_check *check_p)
{
    static const struct {
        const char *name;
        const struct nf_uniform_algorithm *algorithm;
    } shapes[PROBE_SHAPES] = { { "star", &nf_uniform_sequential },
                               { "chain", &nf_uniform_chain },
                               { "opt", &nf_uniform_opt } };
    bool few = shape != PROBE_OPT && network->nhosts > FEW;

    *check_p =
        (struct probe_check){ .name = shapes[shape].name, .bytes = bytes };
    return finish(plan_uniform(shapes[shape].algorithm, network,
                               few ? FEW : network->nhosts, bytes,
                               &check_p->plan),
                  network, check_p);
}

enum nf_status probe_plan_listed(uint32_t number,
                                 const struct nf_network *network,
                                 uint64_t bytes, struct probe_check *check_p)
{
    const struct nf_hetero hetero = nf_network_hetero(network, true);
    struct nf_error unheard;
    enum nf_status status;
    uint32_t n = 0;

    *check_p = (struct probe_check){ .bytes = bytes };
    while (nf_hnow_table[n] != NULL && n < number)
        n++;
    if (nf_hnow_table[n] != NULL) {
        check_p->name = nf_hnow_table[n]->name;
        status = nf_hnow_make(nf_hnow_table[n], &hetero, 0, bytes,
                              &check_p->plan, &unheard);
        return finish(status == NF_ERR_RANGE ? NF_WAIT : status, network,
                      check_p);
    }
    for (uint32_t u = 0; nf_uniform_table[u] != NULL; u++)
        if (u == number - n) {
            check_p->name = nf_uniform_table[u]->name;
            return finish(plan_uniform(nf_uniform_table[u], network,
                                       network->nhosts, bytes, &check_p->plan),
                          network, check_p);
        }
    return NF_ERR_RANGE;
}

/* ---- all that are to be measured ---- */

static enum nf_status append(struct probe_checks *checks,
                             const struct probe_check *check)
{
    struct probe_check *grown =
        nf_realloc(checks->list, (checks->count + 1) * sizeof(*checks->list));

    if (grown == NULL)
        return NF_ERR_NOMEM;
    checks->list = grown;
    checks->list[checks->count++] = *check;
    return NF_OK;
}

static enum nf_status add_shapes(const struct nf_network *network,
                                 struct probe_checks *checks)
{
    struct probe_check check;
    enum nf_status status = NF_OK;

    for (int shape = 0; shape < PROBE_SHAPES; shape++)
        for (size_t i = 0; i < sizeof(shape_sizes) / sizeof(shape_sizes[0]) &&
                           status == NF_OK;
             i++) {
            status = probe_plan_shape((enum probe_shape)shape, network,
                                      shape_sizes[i], &check);
            if (status == NF_OK && append(checks, &check) != NF_OK) {
                nf_crl_plan_fini(&check.plan);
                status = NF_ERR_NOMEM;
            }
        }
    return status;
}

static enum nf_status add_listed(const struct nf_network *network,
                                 uint64_t bytes, struct probe_checks *checks)
{
    struct probe_check check;
    enum nf_status status;

    for (uint32_t number = 0;; number++) {
        status = probe_plan_listed(number, network, bytes, &check);
        if (status == NF_ERR_RANGE)
            return NF_OK;
        if (status == NF_WAIT)
            continue;
        if (status == NF_OK && append(checks, &check) != NF_OK) {
            nf_crl_plan_fini(&check.plan);
            status = NF_ERR_NOMEM;
        }
        if (status != NF_OK)
            return status;
    }
}

void probe_checks_fini(struct probe_checks *checks)
{
    for (uint32_t i = 0; i < checks->count; i++)
        nf_crl_plan_fini(&checks->list[i].plan);
    nf_free(checks->list);
    *checks = (struct probe_checks){ .count = 0 };
}

/* ---- and measured ---- */

struct casting {
    struct probe *probe;
    const struct nf_network *network;
    uint32_t *leaves;
    double *us; /* [leaves] */
};

/* @return how many leaves */
static uint32_t find_leaves(const struct nf_tree *tree, uint32_t *leaves)
{
    uint32_t count = 0;

    for (uint32_t v = 0; v < tree->nodes; v++)
        if (tree->first[v] == tree->first[v + 1])
            leaves[count++] = v;
    return count;
}

static enum nf_status plant(struct probe *probe, const struct nf_tree *tree)
{
    enum nf_status status = NF_OK;

    for (uint32_t v = 0; v < tree->nodes && status == NF_OK; v++)
        status = probe_plant(probe, v, tree->child + tree->first[v],
                             tree->first[v + 1] - tree->first[v]);
    return status;
}

/* For the slowest wire to have again what it saves up while idle. */
static uint32_t idle_us(const struct nf_network *network)
{
    double slowest_us = 0;

    for (uint32_t i = 0; i < network->nhosts; i++)
        for (uint32_t j = 0; j < network->nhosts; j++)
            if (i != j)
                slowest_us = fmax(slowest_us,
                                  nf_network_wire(network, i, j)->line.byte_us);
    return (uint32_t)fmin(slowest_us * IDLE_BYTES, IDLE_MOST_US);
}

/* The last one has it when all leaves have; what their answers take is known.
 */
static double last_us(const struct casting *c, const struct probe_cast *cast)
{
    double us = LEAST_US;

    for (uint32_t i = 0; i < cast->nleaves; i++)
        us = fmax(us, c->us[i] - nf_network_time_us(c->network, cast->leaves[i],
                                                    0, 0));
    return us;
}

static enum nf_status measure(const struct casting *c,
                              struct probe_check *check)
{
    const struct nf_crl_plan *plan = &check->plan;
    double times[CHECK_COUNT], spent_us = 0;
    const struct probe_cast cast = {
        .bytes = (uint32_t)plan->segment_bytes,
        .parts = (uint32_t)plan->segments,
        .delay_us = idle_us(c->network),
        .allow_us = (uint32_t)fmin(8 * plan->time_us, 1e9),
        .leaves = c->leaves,
        .nleaves = find_leaves(&plan->tree, c->leaves),
    };
    enum nf_status status = plant(c->probe, &plan->tree);
    uint32_t count = 0;

    for (uint32_t i = 0; i < CHECK_WARM && status == NF_OK; i++)
        status = probe_cast(c->probe, &cast, c->us);
    while (status == NF_OK && count < CHECK_COUNT &&
           (count < CHECK_LEAST || spent_us < CHECK_MOST_US)) {
        status = probe_cast(c->probe, &cast, c->us);
        times[count] = last_us(c, &cast);
        spent_us += times[count++];
    }
    if (status == NF_OK)
        check->measured_us = stats_median(times, count);
    return status;
}

static enum nf_status measure_all(const struct casting *c, bool quiet,
                                  struct probe_checks *checks)
{
    enum nf_status status = NF_OK;

    for (uint32_t i = 0; i < checks->count && status == NF_OK; i++) {
        probe_show_progress(quiet, "trees", (double)i / checks->count);
        status = measure(c, &checks->list[i]);
    }
    probe_show_progress(quiet, NULL, 0);
    return status;
}

enum nf_status probe_validate(struct probe *probe,
                              const struct nf_network *network,
                              const struct probe_options *o,
                              struct probe_checks *checks_p)
{
    struct casting c = { .probe = probe,
                         .network = network,
                         .leaves = nf_calloc(network->nhosts, sizeof(uint32_t)),
                         .us = nf_calloc(network->nhosts, sizeof(double)) };
    enum nf_status status = NF_OK;

    *checks_p = (struct probe_checks){ .count = 0 };
    if (c.leaves == NULL || c.us == NULL)
        status = NF_ERR_NOMEM;
    if (status == NF_OK && o->validate)
        status = add_shapes(network, checks_p);
    for (unsigned i = 0; i < o->nsizes && status == NF_OK; i++)
        status = add_listed(network, o->sizes[i], checks_p);
    if (status != NF_OK)
        nf_fail(probe->err, status, "%s", nf_strerror(status));
    else
        status = measure_all(&c, o->quiet, checks_p);
    nf_free(c.leaves);
    nf_free(c.us);
    if (status != NF_OK)
        probe_checks_fini(checks_p);
    return status;
}
