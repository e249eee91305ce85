/* coll-bench: predictions, and measurements of what was asked for. */
#include "config.h"
#include "apps/nowfarm/coll_run.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "apps/collbench/group_library.h"
#include "apps/nowfarm/coll_probe.h"
#include "apps/nowfarm/coll_wanted.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/coll/exchange_bounds.h"
#include "common/model/network_file.h"

enum { LEAST_REPEATS = 5 };
enum library_turn { BEFORE, AFTER };

static enum nf_status add(struct coll_results *results, struct coll_row *row,
                          struct nf_error *err)
{
    if (coll_results_add(results, row) == NF_OK)
        return NF_OK;
    coll_row_free(row);
    return nf_fail(err, NF_ERR_NOMEM, "out of memory");
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

double coll_predict_row(const struct nf_model *model,
                        const struct nf_coll_query *query,
                        const struct coll_row *row)
{
    struct nf_coll_network network = coll_network(model, query);
    double us = nf_coll_params_cost_us(row->algorithm, &network, query,
                                       row->segments, &row->params);
    char name[COLL_NAME_BYTES];

    if (!isfinite(us) && row->params.shape.count > 0) {
        coll_row_name(row, name);
        us = nf_exchange_bounds_cost_us(name, &network, query->ranks,
                                        query->bytes);
    }
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
        row.predicted_us = coll_predict_row(&results->model, query, &row);
        any = true;
        if (isfinite(row.predicted_us) || o->algorithm != NULL)
            status = add(results, &row, err);
    }
    return status == NF_OK && !any && o->algorithm != NULL
               ? coll_not_served(o->algorithm, query, err)
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
                 i < coll_size_count(o, (enum nf_coll_op)op) && status == NF_OK;
                 i++) {
                struct nf_coll_query query = bench_query(
                    (enum nf_coll_op)op, o->slaves[p],
                    coll_size_of(o, (enum nf_coll_op)op, i), o->ordered);

                status = predict(o, &query, results, err);
            }
    return status;
}

/* ---- tables ---- */

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
    char *text = nf_group_read_text(path, &bytes, &why);
    bool useful = false;

    nf_coll_rules_init(&rules);
    if (text != NULL) {
        useful =
            nf_coll_rules_read(text, bytes, &rules, &warning, &why) == NF_OK;
        if (!useful)
            nf_fail_prefix(&why, "%s", path);
    }
    if (!useful)
        fprintf(stderr, "nowfarm: %s; going by %s\n", why.text, instead);
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

/* Is the model of this day, of these hosts, and of messages that go their way?
 */
static void doubt_network(const char *path, const struct nf_network *network,
                          const struct coll_world *world)
{
    const struct nf_network_use use = { nf_date_now_s(), world->place.route,
                                        world->place.encoding };
    char text[NF_ERROR_TEXT_BYTES];
    uint32_t unknown = 0;

    for (uint32_t i = 0; i < world->members; i++)
        unknown += nf_network_find(network, world->names[i]) == network->nhosts;
    if (nf_network_is_doubtful(network, &use, text, sizeof(text)))
        fprintf(stderr, "nowfarm: %s: %s\n", path, text);
    if (unknown > 0)
        fprintf(stderr,
                "nowfarm: %s: %u of %u members are on hosts that were not "
                "measured and count as slow\n",
                path, unknown, world->members);
}

/* The network, with the names of who is where. */
static enum nf_status hand_out_network(const struct coll_options *o,
                                       struct coll_world *world)
{
    size_t bytes = 0, names = world->members * sizeof(*world->names);
    char *text, *both;
    struct bench_request request = { .kind = BENCH_NETWORK };
    struct nf_network network;
    enum nf_status status;

    if (o->network == NULL)
        return NF_OK;
    text = nf_group_read_text(o->network, &bytes, world->team.err);
    if (text == NULL)
        return world->team.err->status;
    status =
        nf_network_parse(text, bytes, o->network, &network, world->team.err);
    if (status != NF_OK) {
        nf_free(text);
        return status;
    }
    doubt_network(o->network, &network, world);
    nf_network_fini(&network);
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

/* One of two turns of PVM's group library, before our calls and after them: a
 * machine may be slower while whichever comes first is measured.  No times if it
 * has no such operation.  Adds to @p sum. */
static enum nf_status measure_library(const struct coll_options *o,
                                      struct coll_world *world,
                                      const struct nf_coll_query *query,
                                      enum library_turn turn,
                                      struct bench_result *sum)
{
    static struct bench_result result; /* large, and never two at a time */
    const uint64_t least = o->repeat > 0 ? o->repeat : LEAST_REPEATS;
    const uint64_t most = o->repeat > 0 ? o->repeat : COLL_MOST_REPEATS;
    const struct bench_request request = {
        .kind = BENCH_LIBRARY,
        .partner = (uint64_t)bench_now_us() << 20 ^ world->place.hosts_hash,
        .op = query->op,
        .bytes = query->bytes,
        .least = (least + (turn == BEFORE)) / 2,
        .most = (most + (turn == BEFORE)) / 2,
        .budget_us = COLL_BUDGET_US / 2,
        .pause_us = (uint64_t)o->pause_us,
    };
    enum nf_status status;

    if (!o->beside || !bench_library_has(query->op) || request.most == 0)
        return NF_OK;
    status = bench_direct(&world->team, &request, NULL, &result);
    if (status == NF_OK && result.wrong)
        status = nf_fail(world->team.err, NF_ERR_VERIFY,
                         "PVM's group library: the result is wrong");
    if (status == NF_OK) {
        memcpy(sum->us + sum->count, result.us,
               result.count * sizeof(*result.us));
        sum->count += result.count;
    }
    return status;
}

static enum nf_status put_beside(const struct bench_result *library,
                                 struct coll_row *row, struct nf_error *err)
{
    size_t bytes = library->count * sizeof(*row->group_samples_us);
    double *sorted;

    if (library->count == 0)
        return NF_OK;
    row->group_samples_us = nf_calloc(1, bytes);
    sorted = nf_calloc(1, bytes);
    if (row->group_samples_us == NULL || sorted == NULL) {
        nf_free(sorted);
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    }
    row->group_count = library->count;
    memcpy(row->group_samples_us, library->us, bytes);
    memcpy(sorted, library->us, bytes);
    row->group_us = stats_median(sorted, library->count);
    nf_free(sorted);
    return NF_OK;
}

static enum nf_status measure_query(const struct coll_options *o,
                                    struct coll_world *world,
                                    const struct nf_coll_query *query,
                                    struct coll_results *results)
{
    struct nf_coll_wish wishes[COLL_WISHES_MAX];
    struct coll_row rows[COLL_WISHES_MAX] = { { .us = NULL } };
    const struct coll_effort effort = coll_usual_effort(LEAST_REPEATS);
    unsigned count = coll_list_wishes(o, query, wishes);
    static struct bench_result library; /* as in measure_library() */
    enum nf_status status;

    if (count == 0)
        return coll_not_served(o->algorithm, query, world->team.err);
    library.count = 0;
    status = measure_library(o, world, query, BEFORE, &library);
    if (status == NF_OK)
        status = coll_measure(o, world, &effort, query, &results->model, wishes,
                              count, rows);
    if (status != NF_OK)
        return status;
    status = measure_library(o, world, query, AFTER, &library);
    for (unsigned i = 0; i < count; i++) {
        if (status == NF_OK)
            status = put_beside(&library, &rows[i], world->team.err);
        if (status == NF_OK)
            status = add(results, &rows[i], world->team.err);
        else
            coll_row_free(&rows[i]);
    }
    return status;
}

static enum nf_status measure_party(const struct coll_options *o,
                                    struct coll_world *world, uint32_t ranks,
                                    struct coll_results *results)
{
    const struct bench_request team = { .kind = BENCH_TEAM, .ranks = ranks };
    enum nf_status status = bench_direct(&world->team, &team, NULL, NULL);

    for (int op = 0; op < NF_COLL_OPS; op++)
        for (unsigned i = 0; o->ops[op] && status == NF_OK &&
                             i < coll_size_count(o, (enum nf_coll_op)op);
             i++) {
            struct nf_coll_query query = bench_query(
                (enum nf_coll_op)op, ranks,
                coll_size_of(o, (enum nf_coll_op)op, i), o->ordered);

            query.hosts = world->team.work->hosts;
            status = measure_query(o, world, &query, results);
        }
    return status;
}

enum nf_status coll_measure_all(const struct coll_options *o,
                                struct coll_world *world,
                                struct coll_results *results)
{
    enum nf_status status =
        coll_check_served(o, world->members, world->team.err);

    if (status == NF_OK)
        status = set_up_choice(o, world, results);
    if (status == NF_OK)
        status = hand_out_network(o, world);
    if (status == NF_OK && o->nslaves == 0)
        return measure_party(o, world, world->members, results);
    for (unsigned p = 0; p < o->nslaves && status == NF_OK; p++)
        status = measure_party(o, world, o->slaves[p], results);
    return status;
}
