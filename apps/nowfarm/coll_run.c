/* coll-bench: predictions, and measurements of what was asked for. */
#include "config.h"
#include "apps/nowfarm/coll_run.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "apps/collbench/group_library.h"
#include "apps/nowfarm/coll_probe.h"
#include "common/base/alloc.h"
#include "common/base/error.h"

enum {
    LEAST_REPEATS = 5,
    MOST_REPEATS = 200,
    BUDGET_US = 300000,
    TABLE_BYTES_MAX = 16 << 20,
};

bool coll_is_wanted(const struct coll_options *o,
                    const struct nf_coll_algorithm *algorithm,
                    const struct nf_coll_query *query)
{
    struct nf_coll_args args = { .ranks = query->ranks,
                                 .root = query->root,
                                 .segments = 1 };

    if (o->algorithm != NULL && o->algorithm != algorithm)
        return false;
    nf_coll_use_params(&o->params, &args);
    return (o->all_algorithms || o->algorithm != NULL) &&
           nf_coll_serves(algorithm, query) &&
           nf_coll_fits(algorithm, &args, NULL) == NF_OK;
}

/* Sizes of an operation; a barrier has none. */
static unsigned size_count(const struct coll_options *o, enum nf_coll_op op)
{
    return op == NF_COLL_BARRIER ? 1 : o->nsizes;
}

static uint64_t size_of(const struct coll_options *o, enum nf_coll_op op,
                        unsigned i)
{
    return op == NF_COLL_BARRIER ? 0 : o->sizes[i];
}

static enum nf_status add(struct coll_results *results,
                          const struct coll_row *row, struct nf_error *err)
{
    if (coll_results_add(results, row) == NF_OK)
        return NF_OK;
    nf_free(row->us);
    return nf_fail(err, NF_ERR_NOMEM, "out of memory");
}

static enum nf_status not_served(const struct nf_coll_algorithm *algorithm,
                                 const struct nf_coll_query *query,
                                 struct nf_error *err)
{
    return nf_fail(
        err, NF_ERR_INVAL,
        "--algorithm %s: not for %u members and %llu bytes%s", algorithm->name,
        query->ranks, (unsigned long long)query->bytes,
        query->commutative ? "" : " by an operator that does not commute");
}

/* ---- predicting ---- */

static uint32_t segments_for(const struct coll_options *o,
                             const struct nf_coll_algorithm *algorithm,
                             const struct nf_coll_query *query,
                             const struct nf_coll_network *network)
{
    if (algorithm->items != NF_ITEMS_SEGMENTS)
        return 1;
    if (o->segments > 0)
        return nf_coll_clamp_segments(query->elements, o->segments);
    return nf_coll_usual_segments(algorithm, network, query, NULL);
}

/* NaN: no formula */
static double predict_us(const struct nf_model *model,
                         const struct nf_coll_query *query,
                         const struct coll_row *row)
{
    struct nf_coll_network network = coll_network(model, query);
    double us = nf_coll_params_cost_us(row->algorithm, &network, query,
                                       row->segments, &row->params);

    return isfinite(us) ? us : NAN;
}

static enum nf_status predict(const struct coll_options *o,
                              const struct nf_coll_query *query,
                              struct coll_results *results,
                              struct nf_error *err)
{
    struct nf_coll_network network = coll_network(&results->model, query);
    struct coll_row row = { .op = query->op,
                            .ranks = query->ranks,
                            .bytes = query->bytes,
                            .ordered = !query->commutative,
                            .group_us = NAN };
    struct nf_coll_choice best;
    enum nf_status status = NF_OK;
    bool any = false;

    if (o->algorithm == NULL &&
        nf_coll_select_by_model(query, &network, &best)) {
        row.algorithm = best.algorithm;
        row.segments = best.segments;
        row.params = best.params;
        row.predicted_us = best.cost_us;
        row.chosen = any = true;
        status = add(results, &row, err);
    }
    row.chosen = false;
    row.params = o->params;
    for (size_t i = 0; nf_coll_table[i] != NULL && status == NF_OK; i++) {
        row.algorithm = nf_coll_table[i];
        if (!coll_is_wanted(o, row.algorithm, query))
            continue;
        row.segments = segments_for(o, row.algorithm, query, &network);
        row.predicted_us = predict_us(&results->model, query, &row);
        any = true;
        if (isfinite(row.predicted_us) || o->algorithm != NULL)
            status = add(results, &row, err);
    }
    return status == NF_OK && !any && o->algorithm != NULL
               ? not_served(o->algorithm, query, err)
               : status;
}

enum nf_status coll_predict_all(const struct coll_options *o,
                                struct coll_results *results,
                                struct nf_error *err)
{
    enum nf_status status = coll_parse_model(o->model, &results->model, err);

    results->model_source = "given";
    for (int op = 0; op < NF_COLL_OPS; op++)
        for (unsigned p = 0; p < o->nslaves && o->ops[op]; p++)
            for (unsigned i = 0;
                 i < size_count(o, (enum nf_coll_op)op) && status == NF_OK;
                 i++) {
                struct nf_coll_query query =
                    bench_query((enum nf_coll_op)op, o->slaves[p],
                                size_of(o, (enum nf_coll_op)op, i), o->ordered);

                status = predict(o, &query, results, err);
            }
    return status;
}

/* ---- tables ---- */

char *coll_read_file(const char *path, size_t *bytes_p)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    size_t bytes = 0;

    if (file == NULL)
        return NULL;
    text = nf_malloc(TABLE_BYTES_MAX);
    if (text != NULL) {
        bytes = fread(text, 1, TABLE_BYTES_MAX, file);
        if (ferror(file)) {
            nf_free(text);
            text = NULL;
        }
    }
    fclose(file);
    *bytes_p = bytes;
    return text;
}

static void warn_if_elsewhere(const struct coll_world *world, const char *path,
                              const struct nf_coll_rules *rules)
{
    char text[NF_ERROR_TEXT_BYTES];

    if (nf_coll_rules_differ(rules, &world->place, text, sizeof(text)))
        fprintf(stderr, "nowfarm: %s: %s: not the best here, perhaps\n", path,
                text);
}

/* Have the teams choose by these rules. */
static enum nf_status hand_out(struct coll_world *world, const char *text,
                               size_t bytes)
{
    const struct bench_request request = { .kind = BENCH_RULES,
                                           .bytes = bytes };

    return bench_direct(&world->team, &request, text, NULL);
}

bool coll_use_table(const char *path, const char *instead,
                    struct coll_world *world, struct nf_model *model_p,
                    enum nf_status *status_p)
{
    struct nf_coll_rules rules;
    struct nf_error warning, why = { NF_OK, "" };
    size_t bytes = 0;
    char *text = coll_read_file(path, &bytes);
    bool useful = false;

    nf_coll_rules_init(&rules);
    if (text == NULL)
        nf_fail(&why, NF_ERR_IO, "%s", strerror(errno));
    else
        useful =
            nf_coll_rules_read(text, bytes, &rules, &warning, &why) == NF_OK;
    if (!useful)
        fprintf(stderr, "nowfarm: %s: %s; going by %s\n", path, why.text,
                instead);
    else if (warning.status != NF_OK)
        fprintf(stderr, "nowfarm: %s: %s\n", path, warning.text);
    if (useful) {
        warn_if_elsewhere(world, path, &rules);
        *model_p = rules.model;
        *status_p = hand_out(world, text, bytes);
    }
    nf_coll_rules_fini(&rules);
    nf_free(text);
    return useful;
}

/* The network, with the names of who is where. */
static enum nf_status hand_out_network(const struct coll_options *o,
                                       struct coll_world *world)
{
    size_t bytes = 0, names = world->members * sizeof(*world->names);
    char *text, *both;
    struct bench_request request = { .kind = BENCH_NETWORK };
    enum nf_status status;

    if (o->network == NULL)
        return NF_OK;
    text = coll_read_file(o->network, &bytes);
    if (text == NULL)
        return nf_fail(world->team.err, NF_ERR_IO, "%s: %s", o->network,
                       strerror(errno));
    both = nf_malloc(names + bytes);
    if (both == NULL) {
        nf_free(text);
        return nf_fail(world->team.err, NF_ERR_NOMEM, "out of memory");
    }
    memcpy(both, world->names, names);
    memcpy(both + names, text, bytes);
    request.bytes = names + bytes;
    status = bench_direct(&world->team, &request, both, NULL);
    nf_free(both);
    nf_free(text);
    return status;
}

/* What auto goes by: the table, else a model measured now. */
static enum nf_status set_up_choice(const struct coll_options *o,
                                    struct coll_world *world,
                                    struct coll_results *results)
{
    struct nf_coll_rules rules;
    uint64_t largest = 0;
    char *text = NULL;
    size_t bytes = 0;
    enum nf_status status = NF_OK;

    if (o->table != NULL && coll_use_table(o->table, "the model measured now",
                                           world, &results->model, &status)) {
        results->model_source = "table";
        return status;
    }
    for (unsigned i = 0; i < o->nsizes; i++)
        largest = o->sizes[i] > largest ? o->sizes[i] : largest;
    status = coll_probe(world, false, largest, &results->model);
    results->model_source = "measured";
    if (status != NF_OK)
        return status;
    nf_coll_rules_init(&rules);
    rules.model = results->model;
    snprintf(rules.library, sizeof(rules.library), "%s", nf_version());
    status = nf_coll_rules_write(&rules, &text, &bytes, world->team.err);
    if (status == NF_OK)
        status = hand_out(world, text, bytes);
    nf_free(text);
    nf_coll_rules_fini(&rules);
    return status;
}

/* ---- measuring ---- */

uint64_t coll_number_of(const struct nf_coll_algorithm *algorithm)
{
    uint64_t i = 0;

    while (algorithm != NULL && nf_coll_table[i] != algorithm)
        i++;
    return algorithm == NULL ? 0 : i + 1;
}

enum nf_status coll_measure(const struct coll_options *o,
                            struct coll_world *world, uint64_t least,
                            const struct nf_coll_query *query,
                            const struct nf_coll_wish *wish,
                            const struct nf_model *model,
                            struct coll_row *row_p)
{
    static struct bench_result result; /* large, and never two at a time */
    struct bench_request request = {
        .kind = BENCH_TIME,
        .op = query->op,
        .algorithm = coll_number_of(wish->algorithm),
        .segments = wish->segments,
        .ordered = !query->commutative,
        .bytes = query->bytes,
        .least = o->repeat > 0 ? o->repeat : least,
        .most = o->repeat > 0 ? o->repeat : MOST_REPEATS,
        .budget_us = BUDGET_US,
    };
    double *sorted;
    enum nf_status status;

    bench_set_params(&request, &wish->params);
    status = bench_direct(&world->team, &request, NULL, &result);
    if (status != NF_OK)
        return status;
    *row_p = (struct coll_row){
        .op = query->op,
        .ranks = query->ranks,
        .bytes = query->bytes,
        .ordered = !query->commutative,
        .algorithm = result.algorithm,
        .chosen = wish->algorithm == NULL,
        .segments = result.segments,
        .params = result.params,
        .count = result.count,
        .predicted_us = NAN,
        .group_us = NAN,
    };
    if (result.algorithm != NULL)
        row_p->predicted_us = predict_us(model, query, row_p);
    if (result.wrong)
        return nf_fail(world->team.err, NF_ERR_VERIFY,
                       "%s of %llu bytes over %u members: the result is wrong",
                       result.algorithm != NULL ? result.algorithm->name : "?",
                       (unsigned long long)query->bytes, query->ranks);
    row_p->us = nf_calloc(result.count, sizeof(double));
    sorted = nf_calloc(result.count, sizeof(double));
    if (row_p->us == NULL || sorted == NULL) {
        nf_free(row_p->us);
        nf_free(sorted);
        return nf_fail(world->team.err, NF_ERR_NOMEM, "out of memory");
    }
    memcpy(row_p->us, result.us, result.count * sizeof(double));
    memcpy(sorted, result.us, result.count * sizeof(double));
    stats_summarize(sorted, result.count, &row_p->summary);
    nf_free(sorted);
    return NF_OK;
}

static enum nf_status measure_one(const struct coll_options *o,
                                  struct coll_world *world,
                                  const struct nf_coll_query *query,
                                  const struct nf_coll_algorithm *algorithm,
                                  struct coll_results *results)
{
    struct nf_coll_wish wish = { .algorithm = algorithm };
    struct coll_row row;
    enum nf_status status;

    if (algorithm != NULL) {
        wish.segments = o->segments;
        wish.params = o->params;
    }
    status = coll_measure(o, world, LEAST_REPEATS, query, &wish,
                          &results->model, &row);

    return status == NF_OK ? add(results, &row, world->team.err) : status;
}

/* The median time of PVM's group library, NaN if it has no such operation. */
static enum nf_status measure_library(const struct coll_options *o,
                                      struct coll_world *world,
                                      const struct nf_coll_query *query,
                                      double *us_p)
{
    static struct bench_result result;
    const struct bench_request request = {
        .kind = BENCH_LIBRARY,
        .partner = (uint64_t)bench_now_us() << 20 ^ world->place.hosts_hash,
        .op = query->op,
        .bytes = query->bytes,
        .least = o->repeat > 0 ? o->repeat : LEAST_REPEATS,
        .most = o->repeat > 0 ? o->repeat : MOST_REPEATS,
        .budget_us = BUDGET_US,
    };
    enum nf_status status;

    *us_p = NAN;
    if (!o->beside || !bench_library_has(query->op))
        return NF_OK;
    status = bench_direct(&world->team, &request, NULL, &result);
    if (status == NF_OK && result.wrong)
        status = nf_fail(world->team.err, NF_ERR_VERIFY,
                         "PVM's group library: the result is wrong");
    if (status == NF_OK)
        *us_p = stats_median(result.us, result.count);
    return status;
}

static enum nf_status measure_query(const struct coll_options *o,
                                    struct coll_world *world,
                                    const struct nf_coll_query *query,
                                    struct coll_results *results)
{
    bool any = false;
    size_t first = results->count;
    double library_us;
    enum nf_status status = measure_library(o, world, query, &library_us);

    if (o->algorithm == NULL && status == NF_OK)
        status = measure_one(o, world, query, NULL, results);
    for (size_t i = 0; nf_coll_table[i] != NULL && status == NF_OK; i++)
        if (coll_is_wanted(o, nf_coll_table[i], query)) {
            any = true;
            status = measure_one(o, world, query, nf_coll_table[i], results);
        }
    for (size_t i = first; i < results->count; i++)
        results->rows[i].group_us = library_us;
    return status == NF_OK && !any && o->algorithm != NULL
               ? not_served(o->algorithm, query, world->team.err)
               : status;
}

static enum nf_status measure_party(const struct coll_options *o,
                                    struct coll_world *world, uint32_t ranks,
                                    struct coll_results *results)
{
    const struct bench_request team = { .kind = BENCH_TEAM, .ranks = ranks };
    enum nf_status status = bench_direct(&world->team, &team, NULL, NULL);

    for (int op = 0; op < NF_COLL_OPS; op++)
        for (unsigned i = 0; o->ops[op] && status == NF_OK &&
                             i < size_count(o, (enum nf_coll_op)op);
             i++) {
            struct nf_coll_query query =
                bench_query((enum nf_coll_op)op, ranks,
                            size_of(o, (enum nf_coll_op)op, i), o->ordered);

            query.hosts = world->team.work->hosts;
            status = measure_query(o, world, &query, results);
        }
    return status;
}

enum nf_status coll_measure_all(const struct coll_options *o,
                                struct coll_world *world,
                                struct coll_results *results)
{
    enum nf_status status = set_up_choice(o, world, results);

    if (status == NF_OK)
        status = hand_out_network(o, world);
    if (status == NF_OK && o->nslaves == 0)
        return measure_party(o, world, world->members, results);
    for (unsigned p = 0; p < o->nslaves && status == NF_OK; p++)
        status = measure_party(o, world, o->slaves[p], results);
    return status;
}
