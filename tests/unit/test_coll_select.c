/* Choosing algorithm and k: against tests/golden/collectives.json, the values
 * of an independent reference, and where that has none, by law. */
#include "config.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/coll/report.h"
#include "common/coll/rules.h"
#include "common/coll/select.h"
#include "tests/unit/nf_unit.h"

enum { NAME_BYTES = 64 };

static json_t *golden;

static int load(void)
{
    golden =
        json_load_file(NF_SRCDIR "/tests/golden/collectives.json", 0, NULL);
    return golden == NULL;
}

static int unload(void)
{
    json_decref(golden);
    return 0;
}

/* ---- from the goldens' words to ours ---- */

/* A machine, P and m of "SP2 P=2 m=1024"; m may be missing. */
struct place {
    struct nf_coll_network network;
    uint32_t ranks;
    double bytes;
};

static struct place place_of(const char *key)
{
    struct place place = { .network.price.npieces = 1 };
    char name[NAME_BYTES];
    const json_t *machine;

    CU_ASSERT(
        sscanf(key, "%63s P=%u m=%lf", name, &place.ranks, &place.bytes) >= 2);
    machine = json_object_get(json_object_get(golden, "machines"), name);
    CU_ASSERT_PTR_NOT_NULL(machine);
    place.network.price.pieces[0].start_us =
        json_number_value(json_object_get(machine, "a"));
    place.network.price.pieces[0].byte_us =
        json_number_value(json_object_get(machine, "b"));
    return place;
}

/* What a row of the goldens is the cost of. */
struct row {
    const struct nf_coll_algorithm *algorithm;
    const struct nf_coll_printed *printed;
    double delta;
    uint32_t k; /* 0: the best */
};

static bool cut_ending(char *text, const char *ending)
{
    size_t length = strlen(text), cut = strlen(ending);

    if (length < cut || strcmp(text + length - cut, ending) != 0)
        return false;
    text[length - cut] = '\0';
    return true;
}

static void replace_name(char name[NAME_BYTES])
{
    static const char *const names[][2] = {
        { "allreduce.rd", "allreduce.rec_doubling" },
        { "allreduce.seg", "allreduce.seg_doubling" },
        { "scan.pipeline.overlap", "scan.pipeline.fd" },
        { "scan.rootp", "scan.rootp_chain" },
        { "scan.rootp_seg", "scan.rootp_seg_chain" },
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i][0]) == 0) {
            strcpy(name, names[i][1]);
            return;
        }
}

/* @param op  "bcast", for rows that do not begin with one
 * @param ports  "" or the ".hd", ".fd" of the whole */
static struct row row_of(const char *op, const char *golden_name,
                         uint32_t ranks)
{
    static const char *const ops[] = { "reduce.",  "allreduce.", "gather.",
                                       "scatter.", "alltoall.",  "barrier." };
    struct row row = { .delta = 2 };
    char name[NAME_BYTES], full[NAME_BYTES + 4];
    const char *ports = "";
    bool named = false;

    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        named |= strncmp(golden_name, ops[i], strlen(ops[i])) == 0;
    snprintf(name, sizeof(name), "%s%s%s", named ? "" : op, named ? "" : ".",
             golden_name);
    if (cut_ending(name, ".k=n"))
        row.k = nf_coll_floor_log2(ranks);
    cut_ending(name, ".k=P/2"); /* the printed formula has it in it */
    row.printed = nf_coll_printed_find(name);
    if (row.printed != NULL)
        return row;
    if (cut_ending(name, ".hd"))
        ports = ".hd";
    if (cut_ending(name, ".fd"))
        ports = ".fd";
    if (strcmp(ports, ".fd") == 0)
        row.delta = 1;
    replace_name(name);
    snprintf(full, sizeof(full), "%s%s", name, ports);
    row.algorithm = nf_coll_find(full);
    if (row.algorithm == NULL)
        row.algorithm = nf_coll_find(name);
    return row;
}

/* The k that the goldens print. */
static uint32_t printed_k(const struct row *row, uint32_t ranks, uint32_t k)
{
    const struct nf_coll_args args = { .ranks = ranks, .segments = k };

    if (row->printed != NULL || row->algorithm->items == NF_ITEMS_WHOLE ||
        row->algorithm->items == NF_ITEMS_NONE)
        return k;
    return nf_coll_item_count(row->algorithm, &args);
}

static double cost_of(const struct row *row, const struct place *place,
                      double bytes, uint32_t *k_p)
{
    struct nf_coll_network network = place->network;
    double cost = 0;

    network.delta = row->delta;
    if (row->printed != NULL) {
        *k_p = nf_coll_printed_segments(row->printed, &network.price,
                                        place->ranks, bytes, &cost);
        return cost;
    }
    *k_p = row->k;
    if (row->k > 0)
        return nf_coll_cost_us(row->algorithm, &network, place->ranks, bytes,
                               row->k);
    *k_p = nf_coll_best_segments(row->algorithm, &network, place->ranks, bytes,
                                 NF_COLL_SEGMENTS_MAX, &cost);
    return cost;
}

/* Printed with three digits after the point. */
static bool is_near(double got, double want)
{
    return fabs(got - want) <= 0.0005001 + 1e-6 * fabs(want);
}

/* ---- costs, k, cross-over points ---- */

static size_t compared;

static void compare_cost(const char *op, const char *name,
                         const struct place *place, const json_t *want)
{
    struct row row = row_of(op, name, place->ranks);
    double us =
        json_number_value(json_is_array(want) ? json_array_get(want, 0) : want);
    json_int_t k = json_integer_value(json_array_get(want, 1));
    uint32_t got_k;
    double got;

    if (row.algorithm == NULL && row.printed == NULL) {
        CU_FAIL("an algorithm of a cost");
        printf("\n    %s.%s", op, name);
        return;
    }
    got = cost_of(&row, place, place->bytes, &got_k);
    compared++;
    if (is_near(got, us) &&
        (!json_is_array(want) || printed_k(&row, place->ranks, got_k) == k))
        return;
    CU_FAIL("a cost");
    printf("\n    %s %s P=%u m=%.0f g=%g: got %.3f us, k=%u, want %.3f, "
           "k=%d",
           op, name, place->ranks, place->bytes,
           place->network.price.combine_byte_us, got,
           row.algorithm != NULL ? printed_k(&row, place->ranks, got_k) : got_k,
           us, (int)k);
}

/* There is a row where the formula holds, and only there. */
static void test_printed(void)
{
    const char *key;
    json_t *groups;
    size_t held = 0;

    json_object_foreach(json_object_get(golden, "costs"), key, groups)
    {
        uint32_t ranks = place_of(key).ranks;

        for (size_t i = 0; nf_coll_printed_table[i].name != NULL; i++) {
            const struct nf_coll_printed *printed = &nf_coll_printed_table[i];
            bool holds = nf_coll_printed_holds(printed, ranks);
            bool allreduce = printed->op == NF_COLL_ALLREDUCE;
            const char *group = allreduce                      ? "reduce g=0"
                                : printed->op == NF_COLL_BCAST ? "bcast"
                                                               : "scan g=0";
            char row[NAME_BYTES];

            snprintf(row, sizeof(row), "%s%s",
                     printed->name +
                         (allreduce ? 0 : strcspn(printed->name, ".") + 1),
                     strstr(printed->name, "kseg") != NULL ? ".k=P/2" : "");
            CU_ASSERT_EQUAL(
                json_object_get(json_object_get(groups, group), row) != NULL,
                holds);
            held += holds;
        }
    }
    CU_ASSERT_EQUAL(held, 537);
    CU_ASSERT_PTR_NULL(nf_coll_printed_find("bcast.flat.report"));
}

static void test_costs(void)
{
    const char *key, *group, *name;
    json_t *groups, *rows, *want;

    compared = 0;
    json_object_foreach(json_object_get(golden, "costs"), key, groups)
    {
        json_object_foreach(groups, group, rows)
        {
            struct place place = place_of(key);
            char op[16];

            sscanf(group, "%15s g=%lf", op,
                   &place.network.price.combine_byte_us);
            json_object_foreach(rows, name, want)
                compare_cost(op, name, &place, want);
        }
    }
    printf("%zu costs ", compared);
    CU_ASSERT_EQUAL(compared, 5700);
}

static void test_segments(void)
{
    /* (alpha k + beta)(a + b m/k) */
    static const struct {
        const char *row;
        double alpha;
    } forms[] = {
        { "pipeline.report", 2 }, { "pipeline.hd", 2 }, { "pipeline.fd", 1 },
        { "twopath.hd", 2 },      { "nesbt.hd", 2 },    { "circulant.fd", 1 },
    };
    const char *key, *name;
    json_t *rows, *want;

    compared = 0;
    json_object_foreach(json_object_get(golden, "optimal_k"), key, rows)
    {
        struct place place = place_of(key);
        double a = place.network.price.pieces[0].start_us;
        double b = place.network.price.pieces[0].byte_us;
        uint32_t p = place.ranks;
        const double beta[] = {
            2.0 * p - 4,
            p - 3.0,
            p - 2.0,
            ceil(p / 2.0) - 2,
            nf_coll_floor_log2(p) - 1.0,
            nf_coll_ceil_log2(p) - 1.0,
        };

        json_object_foreach(rows, name, want)
        {
            double real = json_number_value(
                json_is_array(want) ? json_array_get(want, 1) : want);
            double got = -1;
            uint32_t k;

            if (strcmp(name, "kseg.report(real root of cubic)") == 0)
                got = nf_coll_kseg_real_segments(a, b, p, place.bytes);
            for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
                if (strcmp(name, forms[i].row) == 0)
                    got = nf_coll_real_segments(forms[i].alpha, beta[i], a, b,
                                                place.bytes);
            if (got >= 0) {
                CU_ASSERT(is_near(got, real));
                compared++;
            }
            if (got < 0 || json_is_array(want)) {
                struct row row = row_of("bcast", got < 0 ? "kseg.hd" : name, p);

                CU_ASSERT(row.algorithm != NULL || row.printed != NULL);
                if (row.algorithm == NULL && row.printed == NULL)
                    continue;
                cost_of(&row, &place, place.bytes, &k);
                CU_ASSERT_EQUAL(k,
                                json_integer_value(
                                    got < 0 ? want : json_array_get(want, 0)));
                compared++;
            }
        }
    }
    CU_ASSERT_EQUAL(compared, 30 * 14);
}

/* "bcast binomial -> nesbt.hd", "reduce binomial -> seg.hd g=0.01" */
static bool parse_crossing(const char *text, uint32_t ranks, struct row rows[2],
                           double *combine_p)
{
    char op[16], from[NAME_BYTES], to[NAME_BYTES], name[2 * NAME_BYTES];

    *combine_p = 0;
    if (sscanf(text, "%15s %47s -> %47s g=%lf", op, from, to, combine_p) < 3)
        return false;
    for (int i = 0; i < 2; i++) {
        bool prefix = strcmp(op, "reduce") == 0 ||
                      strcmp(op, "allreduce") == 0 ||
                      strcmp(op, "alltoall") == 0;

        snprintf(name, sizeof(name), "%s%s%s", prefix ? op : "",
                 prefix ? "." : "", i == 0 ? from : to);
        rows[i] = row_of(op, name, ranks);
    }
    return true;
}

/* Is the second cheaper?  Where they cost the same but for rounding, that is
 * up to @p or_same. */
static bool wins(const struct row rows[2], const struct place *place,
                 double bytes, bool or_same)
{
    uint32_t k;
    double limit = or_same ? 1 + 1e-9 : 1 - 1e-9;

    return cost_of(&rows[1], place, bytes, &k) <
           cost_of(&rows[0], place, bytes, &k) * limit;
}

/* "gather binomial vs linear": "binomial saves (P-1-ceil(log2 P))*a at every m"
 */
static void compare_saving(const char *text, const struct place *place,
                           const json_t *want)
{
    const struct row linear = row_of("gather", "gather.linear", place->ranks);
    const struct row binomial =
        row_of("gather", "gather.binomial", place->ranks);
    double saved = (place->ranks - 1.0 - nf_coll_ceil_log2(place->ranks)) *
                   place->network.price.pieces[0].start_us;
    uint32_t k;

    CU_ASSERT_STRING_EQUAL(text, "gather binomial vs linear");
    CU_ASSERT_STRING_EQUAL(json_string_value(want),
                           "binomial saves (P-1-ceil(log2 P))*a at every m");
    for (double m = 1; m <= 0x1p30; m *= 1.5) {
        double us = cost_of(&linear, place, m, &k);

        CU_ASSERT_DOUBLE_EQUAL(us - cost_of(&binomial, place, m, &k), saved,
                               1e-9 * us);
    }
    compared++;
}

static void compare_crossing(const char *text, struct place place,
                             const json_t *want)
{
    struct row rows[2];

    if (!parse_crossing(text, place.ranks, rows,
                        &place.network.price.combine_byte_us)) {
        compare_saving(text, &place, want);
        return;
    }
    for (int i = 0; i < 2; i++)
        if (rows[i].algorithm == NULL && rows[i].printed == NULL) {
            CU_FAIL("an algorithm of a cross-over point");
            printf("\n    %s", text);
            return;
        }
    compared++;
    if (json_is_null(want)) {
        for (double m = 1; m <= 0x1p30; m *= 1.5)
            if (wins(rows, &place, m, false)) {
                CU_FAIL("never");
                printf("\n    %s P=%u wins at %.0f", text, place.ranks, m);
                return;
            }
    } else {
        double m = json_number_value(want);

        if (wins(rows, &place, m + 1, false) && wins(rows, &place, m, true) &&
            !wins(rows, &place, m - 1, false))
            return;
        CU_FAIL("a cross-over point");
        printf("\n    %s P=%u: not at %.0f", text, place.ranks, m);
    }
}

static void test_crossovers(void)
{
    const char *key, *text;
    json_t *rows, *want;

    compared = 0;
    json_object_foreach(json_object_get(golden, "crossovers"), key, rows)
        json_object_foreach(rows, text, want)
            compare_crossing(text, place_of(key), want);
    printf("%zu points ", compared);
    CU_ASSERT_EQUAL(compared, 300);
}

/* ---- decisions ---- */

static void compare_decision(const char *key, const char *column,
                             const json_t *want)
{
    struct place place = place_of(key);
    struct nf_coll_query query = {
        .op = NF_COLL_BCAST,
        .ranks = place.ranks,
        .bytes = (uint64_t)place.bytes,
        .elements = UINT64_MAX,
        .commutative = true,
    };
    struct nf_coll_choice choice = { .algorithm = NULL };
    const char *name = json_string_value(json_array_get(want, 0));
    char op[16];
    struct row row;

    snprintf(op, sizeof(op), "%s", column);
    place.network.delta = cut_ending(op, ".fd") ? 1 : 2;
    cut_ending(op, ".hd");
    place.network.price.combine_byte_us = 0.01;
    while (strcmp(nf_coll_op_names[query.op], op) != 0)
        query.op++;
    row = row_of(op, name, place.ranks);
    CU_ASSERT_PTR_NOT_NULL(row.algorithm);
    CU_ASSERT_TRUE(nf_coll_select_by_model(&query, &place.network, &choice));
    if (row.algorithm == NULL || choice.algorithm == NULL)
        return;
    compared++;
    if (choice.algorithm == row.algorithm &&
        printed_k(&row, place.ranks, choice.segments) ==
            json_integer_value(json_array_get(want, 1)) &&
        is_near(choice.cost_us, json_number_value(json_array_get(want, 2))))
        return;
    CU_FAIL("a decision");
    printf("\n    %s %s: got %s k=%u %.3f us, want %s k=%d %.3f us", key,
           column, choice.algorithm->name, choice.segments, choice.cost_us,
           row.algorithm->name,
           (int)json_integer_value(json_array_get(want, 1)),
           json_number_value(json_array_get(want, 2)));
}

static void test_decisions(void)
{
    const char *key, *column;
    json_t *columns, *want;

    compared = 0;
    json_object_foreach(json_object_get(golden, "model_decision"), key, columns)
        json_object_foreach(columns, column, want)
            compare_decision(key, column, want);
    CU_ASSERT_EQUAL(compared, 96 * 6);
}

int main(void)
{
    CU_TestInfo goldens[] = {
        { "costs and the best k", test_costs },
        { "the printed formulas say for which P they are", test_printed },
        { "the best k, as an integer and in closed form", test_segments },
        { "cross-over points", test_crossovers },
        { "decisions by the model", test_decisions },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "goldens", load, unload, NULL, NULL, goldens },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
