/* Comparisons that were never run: their plan, and what is made of results. */
#include "config.h"
#include "apps/nowfarm/compare.h"
#include <math.h>
#include "apps/nowfarm/compare_report.h"
#include "tests/unit/nf_tmpdir.h"
#include "tests/unit/nf_unit.h"

static struct compare made(const char *policies, unsigned warmup,
                           unsigned repeat, uint64_t seed)
{
    struct compare c = { .warmup = warmup, .repeat = repeat, .seed = seed };
    struct nf_error err;

    compare_set_subject(&c, "synth");
    CU_ASSERT_EQUAL(compare_take_policies(&c, policies, &err), NF_OK);
    CU_ASSERT_EQUAL(compare_plan(&c, &err), NF_OK);
    return c;
}

/* Give a run the report of a job that took so many seconds. */
static void done(struct compare *c, unsigned round, unsigned policy,
                 double makespan_s)
{
    json_t *report = json_pack(
        "{s:I, s:i, s:i, s:s, s:f, s:f, s:i, s:{s:f, s:f, s:f, s:f, s:f}}",
        "units", (json_int_t)10, "slaves", 2, "slots", 4, "transport", "local",
        "makespan_s", makespan_s, "lower_bound_s", 0.5, "lost_slaves", 0,
        "breakdown_s", "compute", 0.5, "transfer", makespan_s - 0.5, "master",
        0.0, "idle", 0.0, "tail", 0.0);

    CU_ASSERT_EQUAL(
        compare_take_report(c, compare_at(c, round, policy), report), NF_OK);
    json_decref(report);
}

static void failed(struct compare *c, unsigned round, unsigned policy)
{
    compare_at(c, round, policy)->state = RUN_FAILED;
    compare_at(c, round, policy)->exit_status = 1;
}

static const char *conclusion(const struct compare *c)
{
    static char text[512];
    struct compare_verdict v;

    CU_ASSERT_EQUAL(compare_judge(c, &v), NF_OK);
    return compare_conclude(c, &v, text, sizeof(text));
}

/* ---- policies and plan ---- */

static void policies_are_split_at_semicolons(void)
{
    struct compare c = made(" send ;gss:kmin=2;presend:td=10ms", 0, 1, 1);

    CU_ASSERT_EQUAL(c.npolicies, 3);
    CU_ASSERT_STRING_EQUAL(c.policies[0], "send");
    CU_ASSERT_STRING_EQUAL(c.policies[1], "gss:kmin=2");
    CU_ASSERT_STRING_EQUAL(c.policies[2], "presend:td=10ms");
    compare_fini(&c);
}

static void a_bad_policy_is_named_by_its_number(void)
{
    static const struct {
        const char *list, *number, *why;
    } bad[] = {
        { "send;;gss", "number 2", "empty" },
        { "send;gss;", "number 3", "empty" },
        { " ", "number 1", "empty" },
        { "send;gss;bogus;auto", "number 3", "bogus" },
        { "send;gss:kmin=0", "number 2", "kmin" },
        { "send;gss;send", "number 3", "already" },
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct compare c = { .repeat = 1 };
        struct nf_error err = { .text = "" };

        CU_ASSERT_EQUAL(compare_take_policies(&c, bad[i].list, &err),
                        NF_ERR_INVAL);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, bad[i].number));
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, bad[i].why));
        compare_fini(&c);
    }
}

static void too_many_policies_are_refused(void)
{
    char list[COMPARE_POLICIES_MAX * 24];
    struct compare c = { .repeat = 1 };
    struct nf_error err = { .text = "" };
    size_t used = 0;

    for (int i = 1; i <= COMPARE_POLICIES_MAX + 1; i++)
        used += (size_t)snprintf(list + used, sizeof(list) - used,
                                 "%sfixed:g=%d", i > 1 ? ";" : "", i);
    CU_ASSERT_EQUAL(compare_take_policies(&c, list, &err), NF_ERR_INVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "more than"));
    compare_fini(&c);
}

static void every_round_runs_every_policy_once(void)
{
    struct compare c = made("send;gss;auto;presend", 2, 50, 7);

    for (unsigned round = 0; round < 52; round++) {
        unsigned seen = 0;

        for (unsigned order = 1; order <= 4; order++) {
            unsigned policy = compare_policy_at(&c, round, order);

            CU_ASSERT_EQUAL(compare_at(&c, round, policy)->order, order);
            seen |= 1u << policy;
        }
        CU_ASSERT_EQUAL(seen, 15);
    }
    compare_fini(&c);
}

static void the_seed_makes_the_order(void)
{
    struct compare a = made("send;gss;auto;presend", 0, 20, 7);
    struct compare b = made("send;gss;auto;presend", 0, 20, 7);
    struct compare other = made("send;gss;auto;presend", 0, 20, 8);
    int differences = 0;

    for (unsigned i = 0; i < 80; i++) {
        CU_ASSERT_EQUAL(a.runs[i].order, b.runs[i].order);
        differences += a.runs[i].order != other.runs[i].order;
    }
    CU_ASSERT(differences > 20);
    compare_fini(&a);
    compare_fini(&b);
    compare_fini(&other);
}

/* All 6 orders of 3 policies: 1000 rounds, 166.7 expected, sigma 11.8. */
static void all_orders_are_equally_likely(void)
{
    struct compare c = made("send;gss;auto", 0, 1000, 3);
    unsigned count[64] = { 0 }, kinds = 0;

    for (unsigned round = 0; round < 1000; round++)
        count[compare_at(&c, round, 0)->order * 16 +
              compare_at(&c, round, 1)->order * 4 +
              compare_at(&c, round, 2)->order]++;
    for (unsigned i = 0; i < 64; i++) {
        if (count[i] == 0)
            continue;
        kinds++;
        CU_ASSERT(count[i] > 119 && count[i] < 215);
    }
    CU_ASSERT_EQUAL(kinds, 6);
    compare_fini(&c);
}

/* ---- judgement ---- */

/* gss always takes 0.9 of send, in rounds that differ much more. */
static struct compare drifting(unsigned repeat)
{
    struct compare c = made("send;gss", 1, repeat, 1);

    done(&c, 0, 0, 100);
    done(&c, 0, 1, 1);
    for (unsigned i = 0; i < repeat; i++) {
        done(&c, 1 + i, 0, 1 + i);
        done(&c, 1 + i, 1, 0.9 * (1 + i));
    }
    return c;
}

static void pairs_are_free_of_what_rounds_share(void)
{
    struct compare c = drifting(6);
    struct compare_verdict v;
    const struct compare_result *send = &v.results[0], *gss = &v.results[1];

    CU_ASSERT_EQUAL(compare_judge(&c, &v), NF_OK);
    CU_ASSERT_EQUAL(send->runs, 6);
    CU_ASSERT_DOUBLE_EQUAL(send->span_s.median, 3.5, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(send->span_s.q1, 2.25, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(send->span_s.max, 6, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(send->ratio.median, 1, 1e-9);
    CU_ASSERT_FALSE(send->differs);
    CU_ASSERT_DOUBLE_EQUAL(gss->ratio.median, 0.9, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(gss->ratio.low, 0.9, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(gss->ratio.high, 0.9, 1e-9);
    CU_ASSERT_TRUE(gss->differs);
    CU_ASSERT_DOUBLE_EQUAL(gss->part_s[PART_TRANSFER], 2.65, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(v.lower_bound_s, 0.5, 1e-9);
    CU_ASSERT_EQUAL(v.best, 1);
    CU_ASSERT_EQUAL(v.ntied, 0);
    CU_ASSERT_STRING_EQUAL(
        conclusion(&c),
        "gss is the best, and the difference is real: the next, send, takes "
        "1.111 times as long (96.9 % interval 1.111 to 1.111)");
    compare_fini(&c);
}

static void few_rounds_tell_nothing(void)
{
    struct compare c = drifting(4), one = drifting(1);

    CU_ASSERT_STRING_EQUAL(
        conclusion(&c), "gss has the lowest median, but 4 rounds cannot tell "
                        "whether that is real: 5 are needed, 6 for 95 %");
    CU_ASSERT_PTR_NOT_NULL(strstr(conclusion(&one), "but 1 round cannot tell"));
    compare_fini(&c);
    compare_fini(&one);
}

static void noise_is_no_difference(void)
{
    struct compare c = made("send;gss;auto;presend", 0, 6, 1);

    for (unsigned i = 0; i < 6; i++) {
        done(&c, i, 0, 2 + (i % 2) * 0.2);
        done(&c, i, 1, 2.1);
        done(&c, i, 2, 2.2 - (i % 3) * 0.1);
        done(&c, i, 3, 3);
    }
    CU_ASSERT_STRING_EQUAL(
        conclusion(&c), "send has the lowest median, but no difference to gss "
                        "and auto can be told; the others are slower");
    compare_fini(&c);
}

static void who_fails_is_not_the_best(void)
{
    struct compare c = drifting(6);
    struct compare_verdict v;

    failed(&c, 3, 1);
    CU_ASSERT_EQUAL(compare_judge(&c, &v), NF_OK);
    CU_ASSERT_EQUAL(v.best, 0);
    CU_ASSERT_EQUAL(v.failed, 1);
    CU_ASSERT_EQUAL(v.results[1].runs, 5);
    CU_ASSERT_EQUAL(v.results[1].failed, 1);
    CU_ASSERT_EQUAL(v.results[1].ratio.n, 5);
    CU_ASSERT_FALSE(v.results[1].tied);
    CU_ASSERT_STRING_EQUAL(conclusion(&c),
                           "send is the only policy that did all of its runs");
    compare_fini(&c);
}

static void nothing_done_is_nothing_said(void)
{
    struct compare c = made("send;gss", 1, 3, 1);

    CU_ASSERT_STRING_EQUAL(
        conclusion(&c), "no policy did all of its runs: nothing can be said");
    compare_fini(&c);
}

static void a_report_without_makespan_is_a_failure(void)
{
    static const char *const bad[] = { "{}", "[]", "{\"makespan_s\": \"1\"}",
                                       "{\"makespan_s\": -1}",
                                       "{\"makespan_s\": null}" };
    struct compare c = made("send", 0, 1, 1);

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        json_t *report = json_loads(bad[i], 0, NULL);

        CU_ASSERT_EQUAL(compare_take_report(&c, &c.runs[0], report),
                        NF_ERR_PROTOCOL);
        CU_ASSERT_EQUAL(c.runs[0].state, RUN_FAILED);
        json_decref(report);
    }
    CU_ASSERT_EQUAL(compare_take_report(&c, &c.runs[0], NULL), NF_ERR_PROTOCOL);
    compare_fini(&c);
}

/* A simulator need not know all that a run knows. */
static void a_makespan_is_enough(void)
{
    struct compare c = made("send", 0, 1, 1);
    struct compare_verdict v;
    json_t *report = json_loads("{\"makespan_s\": 2}", 0, NULL), *o;

    CU_ASSERT_EQUAL(compare_take_report(&c, &c.runs[0], report), NF_OK);
    CU_ASSERT_EQUAL(compare_judge(&c, &v), NF_OK);
    CU_ASSERT(isnan(v.lower_bound_s));
    CU_ASSERT(isnan(v.results[0].part_s[PART_IDLE]));
    o = compare_to_json(&c, &v);
    CU_ASSERT(json_is_null(json_object_get(o, "lower_bound_s")));
    json_decref(o);
    json_decref(report);
    compare_fini(&c);
}

/* ---- what comes out ---- */

static void people_read_a_table(void)
{
    struct compare c = drifting(6);
    struct compare_verdict v;
    char text[4096] = "";
    FILE *file = tmpfile();

    compare_judge(&c, &v);
    CU_ASSERT_EQUAL(compare_print(&c, &v, file), NF_OK);
    rewind(file);
    CU_ASSERT(fread(text, 1, sizeof(text) - 1, file) > 0);
    fclose(file);
    CU_ASSERT_PTR_NOT_NULL(strstr(
        text,
        "synth: 10 units on 2 slaves (4 slots, local); 6 rounds in shuffled "
        "order (seed 1) after 1 to warm up\n"
        "\n"
        "makespan in s  median     q1     q3   best  worst  ratio     "
        "interval  against the first\n"
        "send            3.500  2.250  4.750  1.000  6.000\n"
        "gss             3.150  2.025  4.275  0.900  5.400  0.900  "
        "0.900-0.900  faster\n"
        "lower bound     0.500\n"
        "ratio: median of makespan / that of send in the same round, with its "
        "96.9 % interval\n"));
    CU_ASSERT_PTR_NOT_NULL(
        strstr(text, "medians in s  compute  transfer  master   idle   tail\n"
                     "send            0.500     3.000   0.000  0.000  "
                     "0.000\n"));
    CU_ASSERT_PTR_NULL(strstr(text, "careful"));
    compare_fini(&c);
}

static void people_are_warned_of_other_slots(void)
{
    struct compare c = drifting(6);
    struct compare_verdict v;
    char text[4096] = "";
    FILE *file = tmpfile();

    compare_at(&c, 2, 1)->slots = 3;
    compare_at(&c, 2, 1)->lost_slaves = 1;
    failed(&c, 4, 0);
    compare_judge(&c, &v);
    compare_print(&c, &v, file);
    rewind(file);
    CU_ASSERT(fread(text, 1, sizeof(text) - 1, file) > 0);
    fclose(file);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "runs had from 3 to 4 slots"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "careful: 1 slave was lost"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "send failed in 1 of 6 runs"));
    compare_fini(&c);
}

static void programs_read_json(void)
{
    static const char *const keys[] = {
        "app",           "simulated", "units",       "slaves",
        "slots",         "transport", "repeat",      "warmup",
        "seed",          "policies",  "interrupted", "failed_runs",
        "lower_bound_s", "best",      "clear",       "conclusion",
    };
    static const char *const policy_keys[] = {
        "policy",        "runs",        "failed",           "median_s",
        "q1_s",          "q3_s",        "best_s",           "worst_s",
        "ratio",         "ratio_low",   "ratio_high",       "ratio_rounds",
        "differs",       "breakdown_s", "ratio_confidence", "ties_with_best",
        "lower_bound_s",
    };
    struct compare c = drifting(6);
    struct compare_verdict v;
    json_t *o, *gss;

    compare_judge(&c, &v);
    o = compare_to_json(&c, &v);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        CU_ASSERT_PTR_NOT_NULL(json_object_get(o, keys[i]));
    gss = json_array_get(json_object_get(o, "policies"), 1);
    for (size_t i = 0; i < sizeof(policy_keys) / sizeof(policy_keys[0]); i++)
        CU_ASSERT_PTR_NOT_NULL(json_object_get(gss, policy_keys[i]));
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(o, "best")),
                           "gss");
    CU_ASSERT(json_is_true(json_object_get(o, "clear")));
    CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(gss, "ratio")),
                           0.9, 1e-9);
    json_decref(o);
    compare_fini(&c);
}

static void spreadsheets_read_csv(void)
{
    struct compare c = made("gss:kmin=2,rounding=half;send", 1, 2, 1);
    char want[512], got[512] = "";
    const char *row[2][2];
    struct nf_error err;
    FILE *file;

    done(&c, 0, 0, 9);
    done(&c, 1, 0, 1.5);
    failed(&c, 1, 1);
    done(&c, 2, 1, 2.5); /* and the other one was not run any more */
    row[0][0] = "1,\"gss:kmin=2,rounding=half\",%u,1.5,0.5,0.5,1,0,0,0,0\n";
    row[0][1] = "1,send,%u,,,,,,,,1\n";
    row[1][1] = "2,send,%u,2.5,0.5,0.5,2,0,0,0,0\n";
    snprintf(want, sizeof(want),
             "round,policy,order,makespan_s,lower_bound_s,compute_s,"
             "transfer_s,master_s,idle_s,tail_s,exit\n");
    for (unsigned order = 1; order <= 2; order++)
        snprintf(want + strlen(want), sizeof(want) - strlen(want),
                 row[0][compare_policy_at(&c, 1, order)], order);
    snprintf(want + strlen(want), sizeof(want) - strlen(want), row[1][1],
             compare_at(&c, 2, 1)->order);
    CU_ASSERT_EQUAL(compare_write_csv(&c, nf_tmp("c.csv"), &err), NF_OK);
    file = fopen(nf_tmp("c.csv"), "r");
    CU_ASSERT(fread(got, 1, sizeof(got) - 1, file) > 0);
    fclose(file);
    CU_ASSERT_STRING_EQUAL(got, want);
    compare_fini(&c);
}

int main(void)
{
    CU_TestInfo plan[] = {
        { "policies are split at semicolons",
          policies_are_split_at_semicolons },
        { "a bad policy is named by its number",
          a_bad_policy_is_named_by_its_number },
        { "too many policies are refused", too_many_policies_are_refused },
        { "every round runs every policy once",
          every_round_runs_every_policy_once },
        { "the seed makes the order", the_seed_makes_the_order },
        { "all orders are equally likely", all_orders_are_equally_likely },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo judgement[] = {
        { "pairs are free of what rounds share",
          pairs_are_free_of_what_rounds_share },
        { "few rounds tell nothing", few_rounds_tell_nothing },
        { "noise is no difference", noise_is_no_difference },
        { "who fails is not the best", who_fails_is_not_the_best },
        { "nothing done is nothing said", nothing_done_is_nothing_said },
        { "a report without makespan is a failure",
          a_report_without_makespan_is_a_failure },
        { "a makespan is enough", a_makespan_is_enough },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo output[] = {
        { "people read a table", people_read_a_table },
        { "people are warned of other slots",
          people_are_warned_of_other_slots },
        { "programs read JSON", programs_read_json },
        { "spreadsheets read CSV", spreadsheets_read_csv },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "plan", NULL, NULL, NULL, NULL, plan },
        { "judgement", NULL, NULL, NULL, NULL, judgement },
        { "output", nf_tmpdir_make, nf_tmpdir_remove, NULL, NULL, output },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
