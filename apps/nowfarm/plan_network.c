/* Broadcasts between hosts that were measured: read, planned and predicted. */
#include "config.h"
#include "apps/nowfarm/plan_network.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include "apps/nowfarm/cli.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/units.h"
#include "common/model/network_file.h"

#define BYTES_MAX (UINT64_C(1) << 40)

int plan_network_read(const char *file, const char *size,
                      struct plan_network *network_p)
{
    char text[200];
    struct nf_error err;
    enum nf_status status;

    if (file == NULL)
        return size == NULL
                   ? NF_EXIT_OK
                   : nf_usage_error("--size %s: goes with --network", size);
    if (size == NULL)
        return nf_usage_error("--network %s: want --size too", file);
    if (nf_parse_bytes(size, &network_p->bytes) != NF_OK ||
        network_p->bytes < 1 || network_p->bytes > BYTES_MAX)
        return nf_usage_error("--size %s: want a size with its unit up to "
                              "1TiB, as 64KiB",
                              size);
    status = nf_network_read(file, &network_p->network, &err);
    if (status == NF_OK)
        status = nf_network_check_date(&network_p->network, nf_date_now_s(),
                                       file, &err);
    if (status == NF_ERR_NOMEM)
        return nf_failure(&err);
    if (status != NF_OK)
        return nf_usage_error("--network %s", err.text);
    network_p->hetero = nf_network_hetero(&network_p->network, true);
    network_p->hetero.in_groups = true;
    if (nf_network_is_old(&network_p->network, nf_date_now_s(), NULL, 0, text,
                          sizeof(text)))
        fprintf(stderr, "nowfarm: %s: %s\n", file, text);
    return NF_EXIT_OK;
}

int plan_network_host(const char *option, const char *text,
                      const struct nf_network *network, uint32_t hosts,
                      const char *file, uint32_t *host_p)
{
    uint32_t named = network != NULL ? nf_network_find(network, text) : hosts;
    uint64_t place = named;

    if (named >= hosts && nf_parse_count(text, 0, hosts - 1, &place) != NF_OK)
        return nf_usage_error("%s %s: want one of the %u hosts of %s, or its "
                              "number from 0",
                              option, text, hosts, file);
    *host_p = (uint32_t)place;
    return NF_EXIT_OK;
}

static enum nf_status predict(struct plan_network *n,
                              const struct nf_coll_algorithm *algorithm,
                              const struct nf_bcast_query *query, bool fixed,
                              struct nf_coll_args *args)
{
    struct nf_pricer pricer;
    enum nf_status status = nf_pricer_init(&pricer, &n->hetero);

    if (status != NF_OK)
        return status;
    if (!fixed && args->tree != NULL)
        args->segments = n->plan.tree_segments;
    else if (!fixed) /* as the plan of all would take them */
        status = nf_bcast_segments(&pricer, algorithm, query, &args->segments,
                                   &n->predicted_us);
    if (status == NF_OK)
        status = nf_bcast_price(&pricer, algorithm, query, args->tree,
                                args->segments, &n->predicted_us);
    nf_pricer_fini(&pricer);
    return status;
}

int plan_network_make(struct plan_network *n,
                      const struct nf_coll_algorithm *algorithm, bool fixed,
                      struct nf_coll_args *args)
{
    const struct nf_bcast_query query = { .root = args->root,
                                          .bytes = n->bytes,
                                          .elements = n->bytes,
                                          .hosts = args->hosts };
    struct nf_error err;

    if (nf_bcast_plan(&n->hetero, &query, &n->plan, &err) != NF_OK)
        return nf_failure(&err);
    n->tree = nf_bcast_plan_view(&n->plan);
    if (algorithm == &nf_coll_bcast_tree)
        args->tree = &n->tree;
    return predict(n, algorithm, &query, fixed, args) == NF_OK
               ? NF_EXIT_OK
               : nf_memory_error();
}

static json_t *real_or_null(double us)
{
    return isfinite(us) ? json_real(us) : json_null();
}

json_t *plan_network_json(const struct plan_network *n)
{
    json_t *names = json_array();

    for (uint32_t i = 0; i < n->network.nhosts; i++)
        json_array_append_new(names, json_string(n->network.hosts[i].name));
    return json_pack(
        "{s:o, s:I, s:o, s:o, s:{s:s, s:I, s:o}}", "hosts", names, "bytes",
        (json_int_t)n->bytes, "predicted_us", real_or_null(n->predicted_us),
        "tree_us", real_or_null(n->plan.tree_us), "cheapest", "algorithm",
        n->plan.algorithm->name, "segments", (json_int_t)n->plan.segments,
        "predicted_us", real_or_null(n->plan.cost_us));
}

void plan_network_fini(struct plan_network *n)
{
    nf_bcast_plan_fini(&n->plan);
    nf_network_fini(&n->network);
}
