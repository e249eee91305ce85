/* What nowfarm run prints at the end. */
#include "config.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "apps/nowfarm/report.h"
#include "tests/unit/nf_unit.h"

/* Unit 4 failed with half a character and a line break in its reason. */
static struct nf_report sample(void)
{
    struct nf_report r = {
        .units = 10,
        .failed_units = 3,
        .slaves = 2,
        .slots = 4,
        .policy = "send:g=2",
        .transport = "local",
        .makespan_s = 2,
        .part_compute_s = 1.5,
        .part_tail_s = 0.5,
        .nfailures = 1,
        .failures = { { 4, 3, "bad\nna\xc3" } },
        .copies = 2,
        .nlearnt = 1,
        .learnt = { { "ws7", 3, 1, 40, 0.337, 0.337, 0.018, 2 } },
        .lost_slaves = 3,
        .nlost = 2,
        .lost = { { 1, "ws5" }, { 4, "ws2" } },
    };

    return r;
}

static const struct report_more none;

static void check_learnt(const json_t *list)
{
    json_t *slot = json_array_get(list, 0);

    CU_ASSERT_EQUAL(json_array_size(list), 1);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(slot, "slave")), 3);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(slot, "slot")), 1);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(slot, "window")), 2);
    CU_ASSERT_DOUBLE_EQUAL(json_real_value(json_object_get(slot, "td_s")),
                           0.337, 1e-9);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(slot, "host")),
                           "ws7");
}

static void check_lost(const json_t *list)
{
    json_t *lost = json_array_get(list, 1);

    CU_ASSERT_EQUAL(json_array_size(list), 2);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(lost, "slave")), 4);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(lost, "host")),
                           "ws2");
}

static void check_model(const json_t *model)
{
    CU_ASSERT_EQUAL(json_real_value(json_object_get(model, "compute_s")), 1.25);
    CU_ASSERT_EQUAL(json_real_value(json_object_get(model, "exchange_s")), 0.5);
    CU_ASSERT_EQUAL(json_object_size(model), 4);
}

static void everything_is_in_the_json(void)
{
    static const char *const keys[] = {
        "app",       "units",       "slaves",    "slots",         "policy",
        "transport", "makespan_s",  "compute_s", "lower_bound_s", "messages",
        "bytes_out", "bytes_in",    "retries",   "duplicates",    "lost_slaves",
        "verified",  "breakdown_s",
    };
    const struct report_more more = { .compute_model_s = 1.25 };
    struct nf_report r = sample();
    FILE *file = tmpfile();
    json_t *o;

    r.exchange_model_s = 0.5;
    CU_ASSERT_EQUAL(
        report_print_json(file, "synth", &r, VERIFIED_WRONG, &more), NF_OK);
    rewind(file);
    o = json_loadf(file, 0, NULL);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        CU_ASSERT_PTR_NOT_NULL(json_object_get(o, keys[i]));
    CU_ASSERT(json_is_false(json_object_get(o, "verified")));
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(o, "units")), 10);
    CU_ASSERT_EQUAL(json_object_size(json_object_get(o, "breakdown_s")), 5);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(o, "copies")), 2);
    check_learnt(json_object_get(o, "auto"));
    check_lost(json_object_get(o, "lost"));
    check_model(json_object_get(o, "model"));
    json_decref(o);
    fclose(file);
}

/* Exchanges of a job may go by several algorithms; one of them is the last. */
static void all_algorithms_are_told(void)
{
    static const struct {
        const char *all, *text;
    } rows[] = {
        { "alltoall.x", "(alltoall.x: measured" },
        { "alltoall.x:radix=2 alltoall.x alltoall",
          "(alltoall.x:radix=2, alltoall, last alltoall.x: measured" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct nf_report r = sample();
        char text[2000] = "";
        FILE *file = tmpfile();
        json_t *o, *list;

        r.phases = 4;
        strcpy(r.exchange_algorithm, "alltoall.x");
        strcpy(r.exchange_algorithms, rows[i].all);
        report_print(file, "synth", &r, NOT_VERIFIED, NULL);
        rewind(file);
        CU_ASSERT(fread(text, 1, sizeof(text) - 1, file) > 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, rows[i].text));
        fclose(file);
        o = report_json("synth", &r, NOT_VERIFIED);
        list = json_object_get(json_object_get(o, "exchange"), "algorithms");
        CU_ASSERT_EQUAL(json_array_size(list), i == 0 ? 1 : 3);
        CU_ASSERT_STRING_EQUAL(json_string_value(json_array_get(list, i)),
                               "alltoall.x");
        json_decref(o);
    }
}

/* Of what the model knows nothing of, no number is made up. */
static void no_model_is_told(void)
{
    const struct report_more more = { .compute_model_s = 1.25 };
    struct nf_report r = sample();
    FILE *file = tmpfile();
    char text[4096] = "";
    json_t *o;

    r.phases = 2;
    r.exchange_model_s = (double)INFINITY;
    snprintf(r.exchange_algorithm, sizeof(r.exchange_algorithm), "alltoall.x");
    CU_ASSERT_EQUAL(
        report_print_json(file, "synth", &r, NOT_VERIFIED, &more), NF_OK);
    rewind(file);
    o = json_loadf(file, 0, NULL);
    CU_ASSERT(json_is_null(
        json_object_get(json_object_get(o, "exchange"), "model_s")));
    CU_ASSERT(json_is_null(
        json_object_get(json_object_get(o, "model"), "exchange_s")));
    json_decref(o);
    rewind(file);
    CU_ASSERT_EQUAL(ftruncate(fileno(file), 0), 0);
    report_print(file, "synth", &r, NOT_VERIFIED, NULL);
    report_print_model(file, &r, 1.25);
    rewind(file);
    CU_ASSERT(fread(text, 1, sizeof(text) - 1, file) > 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "(alltoall.x: measured 0 us, no model)"));
    CU_ASSERT_PTR_NOT_NULL(strstr(
        text, "time by model unknown: compute 1.25 s, exchange no model;"));
    fclose(file);
}

static void a_reason_may_hold_any_byte(void)
{
    struct nf_report r = sample();
    FILE *file = tmpfile();
    json_t *o, *failure;

    CU_ASSERT_EQUAL(report_print_json(file, "synth", &r, NOT_VERIFIED, &none),
                    NF_OK);
    rewind(file);
    o = json_loadf(file, 0, NULL);
    CU_ASSERT(json_is_null(json_object_get(o, "verified")));
    CU_ASSERT(json_is_null(json_object_get(o, "model")));
    CU_ASSERT_EQUAL(json_array_size(json_object_get(o, "failures")), 1);
    failure = json_array_get(json_object_get(o, "failures"), 0);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(failure, "unit")), 4);
    CU_ASSERT_PTR_NOT_NULL_FATAL(
        json_string_value(json_object_get(failure, "reason")));
    CU_ASSERT_STRING_EQUAL(
        json_string_value(json_object_get(failure, "reason")), "bad?na?");
    json_decref(o);
    fclose(file);
}

static void people_read_the_same(void)
{
    struct nf_report r = sample();
    char text[4096] = "";
    FILE *file = tmpfile();

    report_print(file, "synth", &r, VERIFIED_RIGHT, "all of it");
    rewind(file);
    CU_ASSERT(fread(text, 1, sizeof(text) - 1, file) > 0);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(text, "given up: unit 4 after 3 attempts: bad?na?\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "given up: 2 units more\n"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(text, "3 slaves lost: slave 1 (ws5), slave 4 (ws2), ...\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "2 chunks copied in the end\n"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(text, "implied td    337 ms  slave 3 (ws7) slot 1: window 2, "
                     "latency 18 ms\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "verified: true, all of it\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "slots waited for the last units"));
    fclose(file);
}

/* What a job of phases is limited by. */
static struct nf_report limited(double exchange_s, double wait_s, double data_s)
{
    struct nf_report r = sample();

    r.phases = 3;
    r.exchange_s = exchange_s;
    r.wait_s = wait_s;
    r.data_s = data_s;
    r.on_slaves_s = r.part_compute_s + exchange_s + wait_s;
    r.makespan_s = r.on_slaves_s + data_s;
    return r;
}

static void limits_are_told(void)
{
    static const struct {
        double exchange_s, wait_s, data_s;
        const char *line, *on_slaves, *with_data;
    } cases[] = {
        { 0.5, 0, 1,
          "on slaves 2.00 s, limited by computing: compute 75 %, exchange 25 "
          "%, "
          "wait 0 %; with scatter and gather (1.00 s) by computing, 50 % of "
          "all\n",
          "compute", "compute" },
        { 2, 0.5, 4,
          "on slaves 4.00 s, limited by exchanging: compute 38 %, exchange 50 "
          "%, "
          "wait 12 %; with scatter and gather (4.00 s) by scatter and gather "
          "of "
          "data, 50 % of all\n",
          "exchange", "data" },
        { 0.5, 3, 0,
          "on slaves 5.00 s, limited by waiting for the slowest slot: compute "
          "30 "
          "%, exchange 10 %, wait 60 %; with scatter and gather (0 us) by "
          "waiting for the slowest slot, 60 % of all\n",
          "wait", "wait" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct nf_report r =
            limited(cases[i].exchange_s, cases[i].wait_s, cases[i].data_s);
        char text[4096] = "";
        FILE *file = tmpfile();
        json_t *o = report_json("x", &r, NOT_VERIFIED), *limits;

        report_print(file, "x", &r, NOT_VERIFIED, NULL);
        rewind(file);
        CU_ASSERT(fread(text, 1, sizeof(text) - 1, file) > 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, cases[i].line));
        limits = json_object_get(o, "limits");
        CU_ASSERT_EQUAL(json_object_size(limits), 7);
        CU_ASSERT_STRING_EQUAL(
            json_string_value(json_object_get(limits, "on_slaves")),
            cases[i].on_slaves);
        CU_ASSERT_STRING_EQUAL(
            json_string_value(json_object_get(limits, "with_data")),
            cases[i].with_data);
        json_decref(o);
        fclose(file);
    }
}

/* Nothing is, of a job of one phase. */
static void no_limits_are_made_up(void)
{
    struct nf_report r = sample();
    char text[4096] = "";
    FILE *file = tmpfile();
    json_t *o = report_json("x", &r, NOT_VERIFIED);

    CU_ASSERT(json_is_null(json_object_get(o, "limits")));
    report_print(file, "x", &r, NOT_VERIFIED, NULL);
    rewind(file);
    CU_ASSERT(fread(text, 1, sizeof(text) - 1, file) > 0);
    CU_ASSERT_PTR_NULL(strstr(text, "on slaves"));
    json_decref(o);
    fclose(file);
}

static void a_result_is_shown_with_all_its_digits(void)
{
    const struct nf_app_figure figures[] = {
        { "name", NF_FIGURE_TEXT, 0, 0, "pi" },
        { "points", NF_FIGURE_COUNT, 0, UINT64_C(9000000000), NULL },
        { "seed", NF_FIGURE_COUNT, 0, UINT64_MAX, NULL },
        { "value", NF_FIGURE_REAL, 1.0 / 3, 0, NULL },
    };
    struct nf_report r = sample();
    char text[1000] = "";
    FILE *file = tmpfile();
    json_t *o, *result;

    CU_ASSERT_EQUAL(
        report_print_json(file, "synth", &r, NOT_VERIFIED,
                          &(struct report_more){ figures, 4, 0 }),
        NF_OK);
    rewind(file);
    o = json_loadf(file, 0, NULL);
    result = json_object_get(o, "result");
    CU_ASSERT_EQUAL(json_real_value(json_object_get(result, "value")), 1.0 / 3);
    CU_ASSERT_EQUAL(json_integer_value(json_object_get(result, "points")),
                    9000000000);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(result, "seed")),
                           "18446744073709551615");
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(result, "name")),
                           "pi");
    json_decref(o);
    rewind(file);
    CU_ASSERT_EQUAL(ftruncate(fileno(file), 0), 0);
    report_print_figures(file, figures, 4);
    rewind(file);
    CU_ASSERT(fread(text, 1, sizeof(text) - 1, file) > 0);
    CU_ASSERT_STRING_EQUAL(text, "name               pi\n"
                                 "points             9000000000\n"
                                 "seed               18446744073709551615\n"
                                 "value              0.33333333333333331\n");
    fclose(file);
}

/* As it was measured, and as the network had it. */
static void a_broadcast_is_told(void)
{
    static const struct {
        double shared_s, model_s;
        const char *network, *said;
    } rows[] = {
        { 0.025, 0.02, "lan.json",
          "shared 1.0 KiB with 3 slaves by bcast.tree: measured 25 ms, network "
          "lan.json 20 ms\n" },
        { 0.025, 0, "", "by bcast.tree: measured 25 ms\n" },
        { 0, 0.02, "lan.json",
          "by bcast.tree: not all had it by that, network lan.json 20 ms\n" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct nf_report r = sample();
        char text[2000] = "";
        FILE *file = tmpfile();
        json_t *o = report_json("synth", &r, NOT_VERIFIED), *shared;

        CU_ASSERT(json_is_null(json_object_get(o, "shared")));
        json_decref(o);
        strcpy(r.shared_algorithm, "bcast.tree");
        strcpy(r.shared_network, rows[i].network);
        r.shared_slaves = 3;
        r.shared_bytes = 1024;
        r.shared_s = rows[i].shared_s;
        r.shared_model_s = rows[i].model_s;
        report_print(file, "synth", &r, NOT_VERIFIED, NULL);
        rewind(file);
        CU_ASSERT(fread(text, 1, sizeof(text) - 1, file) > 0);
        if (strstr(text, rows[i].said) == NULL)
            printf("\n%s", text);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, rows[i].said));
        fclose(file);
        o = report_json("synth", &r, NOT_VERIFIED);
        shared = json_object_get(o, "shared");
        CU_ASSERT_EQUAL(json_number_value(json_object_get(shared, "time_s")),
                        rows[i].shared_s);
        CU_ASSERT_EQUAL(json_number_value(json_object_get(shared, "model_s")),
                        rows[i].model_s);
        CU_ASSERT_EQUAL(json_is_null(json_object_get(shared, "network")),
                        rows[i].network[0] == '\0');
        CU_ASSERT_EQUAL(json_integer_value(json_object_get(shared, "bytes")),
                        1024);
        json_decref(o);
    }
}

static void check_source(const json_t *o, const char *key, const char *by)
{
    const json_t *value =
        json_object_get(json_object_get(o, key), "chosen_by");

    CU_ASSERT_EQUAL(json_is_null(value), by[0] == '\0');
    if (by[0] != '\0' && json_is_string(value))
        CU_ASSERT_STRING_EQUAL(json_string_value(value), by);
}

static void it_says_by_what_was_chosen(void)
{
    static const struct {
        const char *by, *gathered, *exchanged;
    } rows[] = {
        { "", "(gather.x)", "(alltoall.x: measured" },
        { "built-in", "(gather.x)", "(alltoall.x: measured" },
        { "network lan.json", "(gather.x, by network lan.json)",
          "(alltoall.x, by network lan.json: measured" },
        { "NOWFARM_COLL", "(gather.x, by NOWFARM_COLL)",
          "(alltoall.x, by NOWFARM_COLL: measured" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct nf_report r = sample();
        char text[2000] = "";
        FILE *file = tmpfile();
        json_t *o;

        strcpy(r.gather, "tree");
        r.gathers = 1;
        r.phases = 2;
        strcpy(r.gather_algorithm, "gather.x");
        strcpy(r.exchange_algorithm, "alltoall.x");
        strcpy(r.gather_by, rows[i].by);
        strcpy(r.exchange_by, rows[i].by);
        report_print(file, "synth", &r, NOT_VERIFIED, NULL);
        rewind(file);
        CU_ASSERT(fread(text, 1, sizeof(text) - 1, file) > 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(text, rows[i].gathered));
        CU_ASSERT_PTR_NOT_NULL(strstr(text, rows[i].exchanged));
        fclose(file);
        o = report_json("synth", &r, NOT_VERIFIED);
        check_source(o, "gather", rows[i].by);
        check_source(o, "exchange", rows[i].by);
        json_decref(o);
    }
}

static void a_full_disk_is_an_error(void)
{
    struct nf_report r = sample();
    FILE *file = fopen("/dev/full", "w");

    if (file == NULL)
        return; /* not on Linux */
    CU_ASSERT_EQUAL(report_print_json(file, "synth", &r, NOT_VERIFIED, &none),
                    NF_ERR_IO);
    fclose(file);
}

int main(void)
{
    CU_TestInfo report[] = {
        { "everything is in the JSON", everything_is_in_the_json },
        { "all algorithms are told", all_algorithms_are_told },
        { "no model is told", no_model_is_told },
        { "it says by what was chosen", it_says_by_what_was_chosen },
        { "a reason may hold any byte", a_reason_may_hold_any_byte },
        { "people read the same", people_read_the_same },
        { "what limits a job of phases is told", limits_are_told },
        { "and of no other job", no_limits_are_made_up },
        { "a result is shown with all its digits",
          a_result_is_shown_with_all_its_digits },
        { "a broadcast is told", a_broadcast_is_told },
        { "a full disk is an error", a_full_disk_is_an_error },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "report", NULL, NULL, NULL, NULL, report },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
