/* What the model says of trees. */
#include "config.h"
#include <math.h>
#include "apps/nowfarm/probe.h"
#include "common/base/alloc.h"
#include "common/tree/hnow_table.h"
#include "common/tree/times.h"
#include "common/tree/uniform.h"

enum { FEW = 4 };
const uint64_t probe_check_sizes[PROBE_CHECK_SIZES] = { 1024, 65536 };

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
    uniform->hold = llround(hold_us * scale);
    uniform->end = llround(end_us * scale);
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

/* Relays are as the members of a group: each message has to wake one. */
static struct nf_hetero hetero_of(const struct nf_network *network)
{
    struct nf_hetero hetero = nf_network_hetero(network, true);

    hetero.in_groups = true;
    return hetero;
}

/* Of a tree of the first hosts. */
static enum nf_status predict(const struct nf_network *network,
                              struct nf_crl_plan *plan)
{
    const struct nf_hetero hetero = hetero_of(network);
    struct nf_hops hops;
    enum nf_status status = nf_hops_init_segments(
        &hops, &hetero, (double)plan->segment_bytes, plan->segments);

    if (status == NF_OK)
        status =
            nf_tree_pipe(&plan->tree, &hops, plan->segments, &plan->time_us);
    nf_hops_fini(&hops);
    plan->time_us += network->call_us;
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

enum nf_status probe_plan_call(uint32_t number,
                               const struct nf_network *network,
                               struct probe_check *check_p)
{
    static const struct nf_uniform_algorithm *const calls[PROBE_CALLS] = {
        &nf_uniform_chain, &nf_uniform_binomial, &nf_uniform_opt
    };

    *check_p = (struct probe_check){ .name = calls[number]->name, .bytes = 1 };
    return finish(plan_uniform(calls[number], network, network->nhosts, 1,
                               &check_p->plan),
                  network, check_p);
}

enum nf_status probe_plan_listed(uint32_t number,
                                 const struct nf_network *network,
                                 uint64_t bytes, struct probe_check *check_p)
{
    const struct nf_hetero hetero = hetero_of(network);
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

enum nf_status probe_plan_flood(const struct nf_network *network,
                                struct probe_flood *flood)
{
    const struct nf_hetero hetero = nf_network_hetero(network, true);
    uint32_t i = flood->from, j = flood->to;
    struct nf_hops hops;
    enum nf_status status = nf_hops_init_segments(
        &hops, &hetero, (double)flood->bytes, PROBE_FLOOD_MESSAGES);
    double each_us;

    if (status != NF_OK)
        return status;
    each_us = fmax(fmax(hops.send[i], nf_hops_port(&hops, i, j)),
                   fmax(hops.recv[j], nf_hops_in(&hops, j)));
    flood->predicted_us = (PROBE_FLOOD_MESSAGES - 1) * each_us;
    nf_hops_fini(&hops);
    return NF_OK;
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

enum nf_status probe_plan_shapes(const struct nf_network *network,
                                 struct probe_checks *checks)
{
    struct probe_check check;
    enum nf_status status = NF_OK;

    for (int shape = 0; shape < PROBE_SHAPES; shape++)
        for (int i = 0; i < PROBE_CHECK_SIZES && status == NF_OK; i++) {
            status = probe_plan_shape((enum probe_shape)shape, network,
                                      probe_check_sizes[i], &check);
            if (status == NF_OK && append(checks, &check) != NF_OK) {
                nf_crl_plan_fini(&check.plan);
                status = NF_ERR_NOMEM;
            }
        }
    return status;
}

enum nf_status probe_plan_trees(const struct nf_network *network,
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
    nf_free(checks->floods);
    *checks = (struct probe_checks){ .count = 0 };
}
