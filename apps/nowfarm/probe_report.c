/* What the probe found: for people, and for programs. */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "apps/nowfarm/probe.h"
#include "apps/nowfarm/stats.h"
#include "apps/nowfarm/table.h"
#include "common/base/alloc.h"
#include "common/base/units.h"
#include "common/model/network_file.h"

enum { PAIRS_MOST = 56, OFF_PERCENT = 15 };
static const double shown_bytes = 65536;

/* ---- for people ---- */

/* At 0 bytes and at 64 KiB. */
static void put_curve(struct table *t, unsigned column,
                      const struct nf_curve *curve)
{
    table_set(t, column, "%.1f", nf_curve_us(curve, 0));
    table_set(t, column + 1, "%.0f", nf_curve_us(curve, shown_bytes));
}

static enum nf_status print_hosts(const struct nf_network *network)
{
    struct table t;
    enum nf_status status;

    table_init(&t, 8, false);
    status = table_add_row(&t, "host");
    for (unsigned i = 1; status == NF_OK && i < 8; i++)
        table_set(&t, i, "%s",
                  (const char *[]){ "send us", "64 KiB", "recv us", "64 KiB",
                                    "hold us", "64 KiB", "in groups" }[i - 1]);
    for (uint32_t i = 0; status == NF_OK && i < network->nhosts; i++) {
        const struct nf_network_host *host = &network->hosts[i];

        status = table_add_row(&t, host->name);
        if (status != NF_OK)
            break;
        put_curve(&t, 1, &host->send);
        put_curve(&t, 3, &host->recv);
        put_curve(&t, 5, &host->hold);
        table_set(&t, 7, "+%.1f", host->runtime_us);
    }
    table_print(&t, 24, stdout);
    table_fini(&t);
    return status;
}

static enum nf_status add_pair(struct table *t,
                               const struct nf_network *network, uint32_t i,
                               uint32_t j)
{
    const struct nf_curve *wire = nf_network_wire(network, i, j);
    char label[2 * NF_NETWORK_NAME_BYTES + 8];
    enum nf_status status;

    snprintf(label, sizeof(label), "%s > %s", network->hosts[i].name,
             network->hosts[j].name);
    status = table_add_row(t, label);
    if (status != NF_OK)
        return status;
    table_set(t, 1, "%.1f", nf_curve_us(wire, 0));
    if (nf_curve_last_slope(wire) > 0)
        table_set(t, 2, "%.1f", 8 / nf_curve_last_slope(wire));
    else
        table_set(t, 2, "-");
    table_set(t, 3, "%.0f", nf_network_time_us(network, i, j, shown_bytes));
    table_set(t, 4, "%s", wire->by_table ? "table" : "line");
    return NF_OK;
}

static enum nf_status print_pairs(const struct nf_network *network)
{
    uint32_t n = network->nhosts, shown = 0;
    struct table t;
    enum nf_status status;

    table_init(&t, 5, true);
    status = table_add_row(&t, "wire");
    for (unsigned i = 1; status == NF_OK && i < 5; i++)
        table_set(
            &t, i, "%s",
            (const char *[]){ "us", "Mbit/s", "64 KiB in us", "by" }[i - 1]);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n && status == NF_OK; j++)
            if (i != j && shown < PAIRS_MOST) {
                status = add_pair(&t, network, i, j);
                shown++;
            }
    table_print(&t, 40, stdout);
    table_fini(&t);
    if (shown < n * (n - 1))
        printf("... and %u more (see --json)\n", n * (n - 1) - shown);
    return status;
}

static void print_summary(const struct nf_network *network)
{
    const struct nf_model *model = &network->model;
    struct nf_parameterized equal;

    printf("# %u hosts, %s, %s, %s\n", network->nhosts,
           network->shared ? "shared medium" : "switch",
           model->route == NF_MODEL_ROUTE_DIRECT ? "direct" : "by the pvmds",
           model->encoding == NF_MODEL_ENCODING_RAW ? "raw" : "XDR");
    printf("# of groups: T(m) = %.1f us", model->pieces[0].start_us);
    if (model->pieces[0].byte_us > 0)
        printf(" + m / %.4g bytes/us", 1 / model->pieces[0].byte_us);
    printf(", delta %.2f, o_s %.1f us, t_op %.3g us/byte\n", model->delta,
           model->occupancy_us, nf_model_combine_byte_us(model, "double", "sum"));
    if (network->call_us > 0)
        printf("# a broadcast of all takes %.0f us beyond its messages\n",
               network->call_us);
    if (network->wake_us > 0)
        printf("# each message in it is %.1f us longer on its way\n",
               network->wake_us);
    if (nf_parameterized_of(network, &equal) == NF_OK)
        printf("# t_send %.1f, t_net %.1f, t_recv %.1f, t_hold %.1f, t_end "
               "%.1f us; of 64 KiB t_hold %.0f, t_end %.0f us\n",
               nf_curve_us(&equal.send, 0), nf_curve_us(&equal.net, 0),
               nf_curve_us(&equal.recv, 0), nf_curve_us(&equal.hold, 0),
               nf_curve_us(&equal.end, 0),
               nf_curve_us(&equal.hold, shown_bytes),
               nf_curve_us(&equal.end, shown_bytes));
}

static double off_percent(double predicted_us, double measured_us)
{
    return 100 * (predicted_us / measured_us - 1);
}

static void put_check(struct table *t, const struct probe_check *check)
{
    double off = off_percent(check->plan.time_us, check->measured_us);
    char size[32];

    table_set(t, 1, "%u", check->plan.tree.nodes);
    table_set(t, 2, "%s", nf_format_bytes(check->bytes, size, sizeof(size)));
    table_set(t, 3, "%" PRIu64, check->plan.segments);
    table_set(t, 4, "%.0f", check->plan.time_us);
    table_set(t, 5, "%.0f", check->measured_us);
    table_set(t, 6, "%+.0f %%%s", off,
              fabs(off) > OFF_PERCENT ? ": more than 15" : "");
}

static void print_checks(const struct probe_checks *checks)
{
    struct table t;
    bool filled = true;

    table_init(&t, 7, true);
    filled = table_add_row(&t, "tree") == NF_OK;
    for (unsigned i = 1; filled && i < 7; i++)
        table_set(&t, i, "%s",
                  (const char *[]){ "nodes", "size", "segments", "predicted us",
                                    "measured us", "error" }[i - 1]);
    for (uint32_t i = 0; filled && i < checks->count; i++) {
        filled = table_add_row(&t, checks->list[i].name) == NF_OK;
        if (filled)
            put_check(&t, &checks->list[i]);
    }
    table_print(&t, 24, stdout);
    table_fini(&t);
    printf("# of what is predicted %.0f us are what trees take beyond their "
           "messages, and %.1f us each of these\n",
           checks->call_us, checks->wake_us);
}

static double flood_off(const struct probe_flood *flood)
{
    return off_percent(flood->predicted_us, flood->measured_us);
}

/* Of one size. */
static void print_floods(const struct nf_network *network,
                         const struct probe_flood *floods, uint32_t count)
{
    double off[NF_NETWORK_HOSTS_MAX];
    uint32_t worst = 0;
    char size[32];

    for (uint32_t i = 0; i < count; i++) {
        off[i] = flood_off(&floods[i]);
        if (fabs(off[i]) > fabs(off[worst]))
            worst = i;
    }
    printf("# %d messages of %s in a row to a host: error %+.0f %% in the "
           "median, at most %+.0f %%, %s > %s: %.0f us for %.0f\n",
           PROBE_FLOOD_MESSAGES,
           nf_format_bytes(floods->bytes, size, sizeof(size)),
           stats_median(off, count), flood_off(&floods[worst]),
           network->hosts[floods[worst].from].name,
           network->hosts[floods[worst].to].name, floods[worst].predicted_us,
           floods[worst].measured_us);
}

void probe_print(const struct probe_outcome *outcome, bool measured,
                 const struct probe_checks *checks)
{
    print_summary(&outcome->network);
    if (measured)
        printf("# measured in %.1f s; %u of %u times were uneven\n",
               outcome->elapsed_s, outcome->noisy, outcome->points);
    if (print_hosts(&outcome->network) == NF_OK)
        (void)print_pairs(&outcome->network);
    if (checks->count > 0)
        print_checks(checks);
    for (uint32_t i = 0; i < checks->nfloods; i += outcome->network.nhosts)
        print_floods(&outcome->network, &checks->floods[i],
                     outcome->network.nhosts);
}

/* ---- for programs ---- */

/* The line, and the points it was laid through, which count where it is off. */
static json_t *cost_json(const struct nf_curve *curve)
{
    json_t *points = json_array();

    for (uint32_t i = 0; i < curve->npoints; i++)
        json_array_append_new(
            points,
            json_pack("[f, f]", curve->points[i].bytes, curve->points[i].us));
    return json_pack("{s:f, s:f, s:s, s:o}", "us", curve->line.fixed_us,
                     "us_per_byte", curve->line.byte_us, "by",
                     curve->by_table ? "table" : "line", "points", points);
}

/* The models in which all hosts are equal. */
static void add_equal(json_t *object, const struct nf_network *network)
{
    struct nf_parameterized equal;
    struct nf_loggp loggp;

    if (nf_parameterized_of(network, &equal) != NF_OK)
        return;
    loggp = nf_loggp_of(&equal, network->nhosts);
    json_object_set_new(object, "t_send", cost_json(&equal.send));
    json_object_set_new(object, "t_net", cost_json(&equal.net));
    json_object_set_new(object, "t_recv", cost_json(&equal.recv));
    json_object_set_new(object, "t_hold", cost_json(&equal.hold));
    json_object_set_new(object, "t_end", cost_json(&equal.end));
    json_object_set_new(object, "loggp",
                        json_pack("{s:f, s:f, s:f, s:f, s:f, s:I}", "L_us",
                                  loggp.latency_us, "o_s_us", loggp.send_us,
                                  "o_r_us", loggp.recv_us, "g_us", loggp.gap_us,
                                  "G_us_per_byte", loggp.byte_us, "P",
                                  (json_int_t)loggp.hosts));
}

static json_t *checks_json(const struct probe_checks *checks)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < checks->count; i++) {
        const struct probe_check *check = &checks->list[i];

        json_array_append_new(
            list,
            json_pack("{s:s, s:I, s:I, s:I, s:f, s:f, s:f}", "tree",
                      check->name, "nodes", (json_int_t)check->plan.tree.nodes,
                      "bytes", (json_int_t)check->bytes, "segments",
                      (json_int_t)check->plan.segments, "predicted_us",
                      check->plan.time_us, "measured_us", check->measured_us,
                      "error_percent",
                      off_percent(check->plan.time_us, check->measured_us)));
    }
    return list;
}

static json_t *floods_json(const struct nf_network *network,
                           const struct probe_checks *checks)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < checks->nfloods; i++) {
        const struct probe_flood *flood = &checks->floods[i];

        json_array_append_new(
            list, json_pack("{s:s, s:s, s:I, s:i, s:f, s:f, s:f}", "from",
                            network->hosts[flood->from].name, "to",
                            network->hosts[flood->to].name, "bytes",
                            (json_int_t)flood->bytes, "messages",
                            PROBE_FLOOD_MESSAGES, "predicted_us",
                            flood->predicted_us, "measured_us",
                            flood->measured_us, "error_percent",
                            flood_off(flood)));
    }
    return list;
}

json_t *probe_json(const struct probe_outcome *outcome, bool measured,
                   const struct probe_checks *checks)
{
    const struct nf_model *model = &outcome->network.model;
    json_t *object = json_object(), *network = NULL;
    char *text;
    size_t bytes;

    if (nf_network_write(&outcome->network, &text, &bytes) != NF_OK) {
        json_decref(object);
        return NULL;
    }
    network = json_loadb(text, bytes, 0, NULL);
    nf_free(text);
    if (measured) {
        json_object_set_new(object, "planned_s", json_real(outcome->planned_s));
        json_object_set_new(object, "most_s", json_real(outcome->most_s));
        json_object_set_new(object, "elapsed_s", json_real(outcome->elapsed_s));
        json_object_set_new(object, "points", json_integer(outcome->points));
        json_object_set_new(object, "uneven", json_integer(outcome->noisy));
        json_object_set_new(object, "repetitions",
                            json_integer(outcome->least_count));
    }
    json_object_set_new(object, "t_s_us", json_real(model->pieces[0].start_us));
    json_object_set_new(object, "bytes_per_us",
                        model->pieces[0].byte_us > 0
                            ? json_real(1 / model->pieces[0].byte_us)
                            : json_null());
    json_object_set_new(object, "delta", json_real(model->delta));
    json_object_set_new(object, "o_s_us", json_real(model->occupancy_us));
    json_object_set_new(
        object, "t_op_us_per_byte",
        json_real(nf_model_combine_byte_us(model, "double", "sum")));
    add_equal(object, &outcome->network);
    json_object_set_new(object, "network", network);
    if (checks->count > 0)
        json_object_set_new(object, "relays",
                            json_pack("{s:f, s:f}", "call_us", checks->call_us,
                                      "wake_us", checks->wake_us));
    if (checks->nfloods > 0)
        json_object_set_new(object, "floods",
                            floods_json(&outcome->network, checks));
    json_object_set_new(object, "validation",
                        checks->count > 0 ? checks_json(checks) : json_null());
    return object;
}
