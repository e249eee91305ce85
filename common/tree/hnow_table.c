#include "config.h"
#include "common/tree/hnow_table.h"
#include <string.h>
#include "common/tree/hnow.h"
#include "common/tree/times.h"

static enum nf_status exact(const struct nf_hops *hops, uint32_t root,
                            bool is_blocking, struct nf_tree *tree_p)
{
    double time_us;

    return nf_tree_exact(hops, root, is_blocking, tree_p, &time_us);
}

static const struct nf_hnow_algorithm crl = {
    .name = "crl",
    .summary = "capped relays and leaves, in segments: the planner",
    .cost = "no more than any other here (exact: of 10 hosts at most)",
    .source = "after Sawahata & Shibusawa; see crl.h",
}, fef = {
    .name = "fef",
    .summary = "fastest edge first",
    .cost = "min T(i,j) next",
    .source = "Bhat, Raghavendra, Prasanna 1999",
    .tree = nf_tree_fef,
}, ecef = {
    .name = "ecef",
    .summary = "earliest completing edge first",
    .cost = "min A(i) + T(i,j) next, A(i) when i is free",
    .source = "Bhat, Raghavendra, Prasanna 1999",
    .tree = nf_tree_ecef,
}, ecef_la = {
    .name = "ecef-la",
    .summary = "ecef with look-ahead",
    .cost = "min A(i) + T(i,j) + min_k T(j,k) next",
    .source = "Bhat, Raghavendra, Prasanna 1999",
    .tree = nf_tree_ecef_la,
}, ecef_port = {
    .name = "ecef-ports",
    .summary = "ecef that also waits for wires",
    .cost = "min A(i) + T(i,j) next, i held for max(S(i), G(i,j))",
    .source = "after Bhat, Raghavendra, Prasanna 1999",
    .tree = nf_tree_ecef_ports,
}, fnf = {
    .name = "fnf",
    .summary = "fastest node first",
    .cost = "min S(j) next, from who completes it first",
    .source = "Banikazemi, Moorthy, Panda 1998",
    .tree = nf_tree_fnf,
}, best = {
    .name = "exact",
    .summary = "the best tree there is if wires are waited for, of 14 hosts at most",
    .cost = "D(v,A) = min max(T(v,c) + D(c,U-c), max(S(v),G(v,c)) + D(v,A-U))",
    .source = "dynamic programming over subsets",
    .tree = exact,
};

const struct nf_hnow_algorithm *const nf_hnow_table[] = {
    &crl, &fef, &ecef, &ecef_la, &ecef_port, &fnf, &best, NULL,
};

const struct nf_hnow_algorithm *nf_hnow_find(const char *name)
{
    for (size_t i = 0; nf_hnow_table[i] != NULL; i++)
        if (strcmp(nf_hnow_table[i]->name, name) == 0)
            return nf_hnow_table[i];
    return NULL;
}

static enum nf_status set_time(const struct nf_hetero *hetero, bool is_blocking,
                               struct nf_crl_plan *plan)
{
    struct nf_hops hops;
    enum nf_status status = nf_hops_init_segments(
        &hops, hetero, (double)plan->segment_bytes, plan->segments);

    if (status == NF_OK)
        status = is_blocking ? nf_tree_times(&plan->tree, &hops, true, NULL,
                                             &plan->time_us)
                             : nf_tree_pipe(&plan->tree, &hops, plan->segments,
                                            &plan->time_us);
    nf_hops_fini(&hops);
    return status;
}

/* The whole message at once. */
static enum nf_status whole(const struct nf_hnow_algorithm *algorithm,
                            const struct nf_hetero *hetero, uint32_t root,
                            bool is_blocking, struct nf_crl_plan *plan)
{
    struct nf_hops hops;
    enum nf_status status = nf_hops_init_segments(
        &hops, hetero, (double)plan->segment_bytes, plan->segments);

    if (status == NF_OK)
        status = algorithm->tree(&hops, root, is_blocking, &plan->tree);
    nf_hops_fini(&hops);
    return status;
}

static enum nf_status make(const struct nf_hnow_algorithm *algorithm,
                           const struct nf_hetero *hetero, uint32_t root,
                           bool is_blocking, struct nf_crl_plan *plan)
{
    const struct nf_crl_options options = { .bytes = plan->segment_bytes,
                                            .polish = NF_CRL_POLISH };
    enum nf_status status =
        algorithm->tree == NULL
            ? nf_crl_plan(hetero, root, &options, plan, NULL)
            : whole(algorithm, hetero, root, is_blocking, plan);

    return status == NF_OK ? set_time(hetero, is_blocking, plan) : status;
}

static enum nf_status make_checked(const struct nf_hnow_algorithm *algorithm,
                                   const struct nf_hetero *hetero,
                                   uint32_t root, bool is_blocking,
                                   struct nf_crl_plan *plan,
                                   struct nf_error *err)
{
    enum nf_status status = nf_hetero_check(hetero, root, err);

    if (status != NF_OK)
        return status;
    status = make(algorithm, hetero, root, is_blocking, plan);
    if (status == NF_OK)
        return NF_OK;
    nf_crl_plan_fini(plan);
    if (status == NF_ERR_RANGE)
        return nf_fail(err, status, "%s: %u hosts are too many for it",
                       algorithm->name, hetero->hosts);
    return nf_fail(err, status, "out of memory");
}

enum nf_status nf_hnow_make(const struct nf_hnow_algorithm *algorithm,
                            const struct nf_hetero *hetero, uint32_t root,
                            uint64_t bytes, struct nf_crl_plan *plan_p,
                            struct nf_error *err)
{
    struct nf_crl_plan plan = { .segment_bytes = bytes, .segments = 1 };
    enum nf_status status =
        make_checked(algorithm, hetero, root, false, &plan, err);

    if (status == NF_OK)
        *plan_p = plan;
    return status;
}

enum nf_status nf_hnow_make_blocking(const struct nf_hnow_algorithm *algorithm,
                                     const struct nf_hetero *hetero,
                                     uint32_t root, uint64_t bytes,
                                     struct nf_crl_plan *plan_p,
                                     struct nf_error *err)
{
    struct nf_crl_plan plan = { .segment_bytes = bytes, .segments = 1 };
    enum nf_status status;

    if (algorithm->tree == NULL)
        return nf_fail(err, NF_ERR_INVAL,
                       "%s: plans for sends that do not block",
                       algorithm->name);
    status = make_checked(algorithm, hetero, root, true, &plan, err);
    if (status == NF_OK)
        *plan_p = plan;
    return status;
}
