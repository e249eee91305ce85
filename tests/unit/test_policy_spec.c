/* The parser of policy specifications: what it takes, and how it refuses. */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include "common/policy/param.h"
#include "common/policy/policy.h"
#include "tests/unit/nf_unit.h"

struct good {
    const char *spec, *sizer, *pacer;
    uint64_t grain_units;
};

static const struct good good[] = {
    { "send", "fixed", "pull", 1 },
    { "send:g=7", "fixed", "pull", 7 },
    { "fixed", "fixed", "pull", 1 },
    { "fixed:g=1000000000000", "fixed", "pull", 1000000000000 },
    { "presend", "fixed", "timer", 1 },
    { "presend:g=1,td=100ms", "fixed", "timer", 1 },
    { "presend:td=100ms,g=3", "fixed", "timer", 3 },
    { "presend:td=0", "fixed", "timer", 1 },
    { "presend:td=0.5ms,stagger=10us", "fixed", "timer", 1 },
    { "presend:td=100ms/150ms/0", "fixed", "timer", 1 },
    { "presend:td=auto", "fixed", "auto", 1 },
    { "presend:td=auto,g=4", "fixed", "auto", 4 },
    { "presend:g=4,td=auto", "fixed", "auto", 4 },
    { "presend:g=4,td=auto,wmax=8", "fixed", "auto", 4 },
    { "presend-round:td=5ms", "fixed", "round", 1 },
    { "auto", "fixed", "auto", 1 },
    { "auto:g=4,wmax=16,gate=1", "fixed", "auto", 4 },
    { "auto:gate=0", "fixed", "auto", 1 },
    { "gss", "gss", "pull", 1 },
    { "gss:kmin=5,rounding=half", "gss", "pull", 1 },
    { "gss+window:w=2", "gss", "window", 1 },
    { "gss:kmin=2+timer:td=5ms", "gss", "timer", 1 },
    { "fixed:g=3+window:w=0", "fixed", "window", 3 },
    { "fixed+pull", "fixed", "pull", 1 },
    { "window", "fixed", "window", 1 },
    { "window:w=2", "fixed", "window", 1 },
    { "window:w=2,g=5", "fixed", "window", 5 },
    { "timer:td=5ms", "fixed", "timer", 1 },
    { "round:td=1s", "fixed", "round", 1 },
    { "pull", "fixed", "pull", 1 },
    { "static", "static", "pull", 1 },
    { "cyclic", "cyclic", "window", 1 },
    { "cyclic:g=7", "cyclic", "window", 7 },
    { "cyclic:w=3,g=7", "cyclic", "window", 7 },
    { "cyclic:g=7+auto", "cyclic", "auto", 7 },
    { "awf-b", "awf-b", "pull", 1 },
    { "awf-e:warm=0,kmin=4+window:w=3", "awf-e", "window", 1 },
    { "awf:weights=10/7/3/1,steps=5", "awf", "pull", 1 },
    { "wf:speeds=10/7/3/1", "wf", "pull", 1 },
    { "rta:g=8,tail=0", "rta", "pull", 1 },
    { "tss:first=20,last=4,decrement=exact", "tss", "pull", 1 },
    { "rand:seed=18446744073709551615", "rand", "pull", 1 },
};

static void good_specs_name_their_halves(void)
{
    static struct nf_policy policy;
    struct nf_error err;

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        bool ok = nf_policy_parse(good[i].spec, &policy, &err) == NF_OK;

        CU_ASSERT(ok);
        if (!ok) {
            printf("\n    %s", err.text);
            continue;
        }
        CU_ASSERT_STRING_EQUAL(policy.spec, good[i].spec);
        CU_ASSERT_STRING_EQUAL(policy.sizer->name, good[i].sizer);
        CU_ASSERT_STRING_EQUAL(policy.pacer->name, good[i].pacer);
        CU_ASSERT_EQUAL(policy.grain_units, good[i].grain_units);
    }
}

/* Unless the user says how many, all blocks of cyclic go out at once. */
static void cyclic_alone_has_no_limit(void)
{
    static struct nf_policy policy;

    CU_ASSERT_EQUAL(nf_policy_parse("cyclic:g=2", &policy, NULL), NF_OK);
    CU_ASSERT_EQUAL(policy.pacer_values[0].count, 0);
    CU_ASSERT_EQUAL(nf_policy_parse("cyclic:w=3", &policy, NULL), NF_OK);
    CU_ASSERT_EQUAL(policy.pacer_values[0].count, 3);
    CU_ASSERT_EQUAL(nf_policy_parse("cyclic+window", &policy, NULL), NF_OK);
    CU_ASSERT_EQUAL(policy.pacer_values[0].count, 2);
}

struct bad {
    const char *spec;
    const char *why; /* part of the error */
};

static const struct bad bad[] = {
    { "", "empty name" },
    { "presnd", "no such policy (did you mean \"presend\"? see: nowfarm "
                "policies)" },
    { "presendround", "did you mean \"presend-round\"?" },
    { "gsss", "did you mean \"gss\"?" },
    { "SEND", "no such policy (see: nowfarm policies)" },
    { "fastest", "no such policy" },
    { "x", "no such policy (see: nowfarm policies)" },
    { "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz", "no such" },
    { "gss:kmin=0", "kmin 0: want a count >= 1" },
    { "gss:kmin=-1", "kmin -1: want a count >= 1" },
    { "gss:kmin=1.5", "kmin 1.5: want a count" },
    { "gss:kmin=1e3", "kmin 1e3: want a count" },
    { "gss:kmin=nan", "kmin nan: want a count" },
    { "gss:kmin=0x10", "kmin 0x10: want a count" },
    { "gss:kmin=5x", "kmin 5x: want a count" },
    { "gss:kmin=+5", "kmin +5: want a count >= 1" },
    { "gss:kmin=", "kmin: empty value" },
    { "gss:kmin", "kmin: want NAME=VALUE" },
    { "gss:=5", "=5: want NAME=VALUE" },
    { "gss:", "gss: empty parameter" },
    { "gss:kmin=5,", "gss: empty parameter" },
    { "gss:,kmin=5", "gss: empty parameter" },
    { "gss:kmin=5,,rounding=half", "empty parameter" },
    { "gss:kmin=5,kmin=6", "kmin: given twice" },
    { "fac:mu=0", "mu 0: want a number > 0" },
    { "fac:mu=0.0", "mu 0.0: want a number > 0" },
    { "fac:mu=inf", "mu inf: want a plain number" },
    { "fac:sigma=-1", "sigma -1: want a plain number" },
    { "wf:speeds=1/0", "speeds 0: want a count >= 1" },
    { "wf:speeds=1/", "speeds: nothing after the last" },
    { "wf:speeds=1.5", "speeds 1.5: want a count" },
    { "tss:decrement=ceil", "decrement ceil: want floor or exact" },
    { "awf-f", "no such policy (did you mean \"awf-b\"" },
    { "awf_b", "did you mean \"awf-b\"" },
    { "rand:seed=18446744073709551616", "seed 18446744073709551616: want" },
    { "static:g=2", "g: static takes no parameters" },
    { "cyclic:kmin=2", "kmin: no such parameter of cyclic (want g, w)" },
    { "gss:k=5", "k: no such parameter of gss (want kmin, rounding)" },
    { "gss:rounding=up", "rounding up: want ceil, floor or half" },
    { "gss:rounding=cei", "want ceil, floor or half" },
    { "gss:rounding=ceil|floor", "want ceil, floor or half" },
    { "send:g=18446744073709551616", "want a count <= 1000000000000" },
    { "send:g=1000000000001", "want a count <= 1000000000000" },
    { "send:g=99999999999999999999999999", "want a count <=" },
    { "send:w=2", "w: no such parameter of send (want g)" },
    { "send:G=2", "G: no such parameter" },
    { "pull:w=1", "w: no such parameter of pull (want g)" },
    { "presend:td=100", "td 100: a time needs its unit, as 100ms" },
    { "presend:td=1.5", "a time needs its unit, as 1.5ms" },
    { "presend:td=-5ms", "td -5ms: want a time >= 0" },
    { "presend:td=5minutes", "td 5minutes: want a time" },
    { "presend:td=ms", "td ms: want a time" },
    { "presend:td=nan", "td nan: want a time" },
    { "presend:td=infs", "td infs: want a time" },
    { "presend:td=1e300s", "want a time <= 604800s" },
    { "presend:td=10000h", "want a time <= 604800s" },
    { "presend:td=0x10ms", "want a time" },
    { "presend:td=", "td: empty value" },
    { "presend:td=5ms/", "td: nothing after the last \"/\"" },
    { "presend:td=/5ms", "want elements joined by \"/\"" },
    { "presend:td=5ms//5ms", "want elements joined by \"/\"" },
    { "presend:td=5ms/auto", "td auto: want a time" },
    { "presend:td=auto,td=5ms", "td: no such parameter" },
    { "presend:td=auto,td=auto", "td: no such parameter" },
    { "presend:td=auto,stagger=5ms", "stagger: no such parameter" },
    { "presend:td=5ms,wmax=3", "wmax: no such parameter" },
    { "presend:td=automatic", "td automatic: want a time" },
    { "timer:td=auto", "td auto: want a time" },
    { "presend:stagger=1ms/2ms", "stagger 1ms/2ms: want a time" },
    { "presend-round:td=5ms/6ms", "td 5ms/6ms: want a time" },
    { "auto:gate=2", "gate 2: want 0 or 1" },
    { "auto:gate=yes", "gate yes: want 0 or 1" },
    { "auto:wmax=0", "wmax 0: want a count >= 1" },
    { "auto:wmax=1000001", "wmax 1000001: want a count <= 1000000" },
    { "auto:td=5ms",
      "td: no such parameter of auto (want g, wmax, gate, replicate)" },
    { "window:w=-1", "w -1: want a count >= 0" },
    { "window:w=9999999999", "want a count <= 1000000000" },
    { "gss+", "empty name" },
    { "+window", "empty name" },
    { "+", "empty name" },
    { ":g=1", "empty name" },
    { "gss+window+pull", "want one \"+\" at most" },
    { "gss+window:kmin=3", "kmin: no such parameter of window (want w)" },
    { "gss:w=2+window", "w: no such parameter of gss" },
    { "gss+pull:w=1", "w: pull takes no parameters" },
    { "gss+windw", "windw: no such pacer (did you mean \"window\"?" },
    { "gs+window", "gs: no such sizer (did you mean \"gss\"?" },
    { "window+gss", "window: want a sizer before \"+\"" },
    { "presend+window", "presend: want a sizer before \"+\"" },
    { "gss+fixed", "fixed: want a pacer after \"+\"" },
    { "gss+send", "send: want a pacer after \"+\"" },
    { " send", "blanks are not allowed" },
    { "send ", "blanks are not allowed" },
    { "send:g= 1", "blanks are not allowed" },
    { "send\n", "byte 0x0a is not allowed" },
    { "send\x7f", "byte 0x7f is not allowed" },
    { "s \xc3\xa9nd", "byte 0xc3 is not allowed" },
    { "s\xc3\xa9nd", "byte 0xc3 is not allowed" },
    { "send;g=1", "no such policy" },
    { "send:g=1;2", "g 1;2: want a count" },
};

static void bad_specs_are_refused_with_the_reason_in_one_line(void)
{
    static struct nf_policy policy, before;

    memset(&before, 0x5a, sizeof(before));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct nf_error err = { .status = NF_OK };
        bool right;

        policy = before;
        CU_ASSERT_EQUAL(nf_policy_parse(bad[i].spec, &policy, &err),
                        NF_ERR_INVAL);
        CU_ASSERT_EQUAL(err.status, NF_ERR_INVAL);
        CU_ASSERT(memcmp(&policy, &before, sizeof(policy)) == 0);
        CU_ASSERT_PTR_NULL(strpbrk(err.text, "\n\r"));
        CU_ASSERT(strncmp(err.text, "policy", 6) == 0);
        right = strstr(err.text, bad[i].why) != NULL;
        CU_ASSERT(right);
        if (!right)
            printf("\n    \"%s\": got \"%s\"", bad[i].spec, err.text);
    }
}

static void an_overlong_spec_is_refused(void)
{
    static struct nf_policy policy;
    char spec[2 * NF_POLICY_SPEC_BYTES];
    struct nf_error err;

    memset(spec, 'a', sizeof(spec));
    spec[sizeof(spec) - 1] = '\0';
    CU_ASSERT_EQUAL(nf_policy_parse(spec, &policy, &err), NF_ERR_INVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "longer than 255"));
    spec[NF_POLICY_SPEC_BYTES] = '\0';
    CU_ASSERT_EQUAL(nf_policy_parse(spec, &policy, &err), NF_ERR_INVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "longer than 255"));
    spec[NF_POLICY_SPEC_BYTES - 1] = '\0';
    CU_ASSERT_EQUAL(nf_policy_parse(spec, &policy, &err), NF_ERR_INVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "no such policy"));
}

static void the_error_may_be_left_out(void)
{
    static struct nf_policy policy;

    CU_ASSERT_EQUAL(nf_policy_parse("presnd", &policy, NULL), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_policy_parse("gss:kmin=0", &policy, NULL), NF_ERR_INVAL);
}

static void values_are_those_written_or_the_defaults(void)
{
    static struct nf_policy policy;

    CU_ASSERT_EQUAL_FATAL(
        nf_policy_parse("gss:rounding=half+timer:td=1.5ms/2s", &policy, NULL),
        NF_OK);
    CU_ASSERT_EQUAL(policy.sizer_values[0].count, 1); /* kmin */
    CU_ASSERT_EQUAL(policy.sizer_values[1].count, 2); /* half */
    CU_ASSERT_EQUAL(policy.pacer_values[0].nlist, 2);
    CU_ASSERT_EQUAL(policy.pacer_values[0].list[0], 1500);
    CU_ASSERT_EQUAL(policy.pacer_values[0].list[1], 2000000);
    CU_ASSERT_EQUAL(policy.pacer_values[1].time_us, 0); /* stagger */
    CU_ASSERT_EQUAL_FATAL(nf_policy_parse("auto", &policy, NULL), NF_OK);
    CU_ASSERT_EQUAL(policy.pacer_values[0].count, 16); /* wmax */
    CU_ASSERT_EQUAL(policy.pacer_values[1].count, 1);  /* gate */
}

/* Kinds of parameters that no policy has yet are for those to come. */
static void reals_and_lists_of_counts_are_parsed(void)
{
    const struct nf_param mu = { .name = "mu", .kind = NF_PARAM_REAL };
    const struct nf_param speeds = { .name = "speeds",
                                     .kind = NF_PARAM_LIST,
                                     .min = 1 };
    static struct nf_param_value value;
    struct nf_error err;
    char longest[2 * NF_PARAM_LIST_MAX + 2] = "1";

    CU_ASSERT_EQUAL(nf_param_parse(&mu, "1e-3", &value, &err), NF_OK);
    CU_ASSERT_DOUBLE_EQUAL(value.real, 1e-3, 0);
    CU_ASSERT_EQUAL(nf_param_parse(&mu, "-1", &value, &err), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_param_parse(&mu, "inf", &value, &err), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_param_parse(&mu, "1s", &value, &err), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_param_parse(&speeds, "10/7/3/1", &value, &err), NF_OK);
    CU_ASSERT_EQUAL(value.nlist, 4);
    CU_ASSERT_EQUAL(value.list[3], 1);
    CU_ASSERT_EQUAL(nf_param_parse(&speeds, "10/0", &value, &err),
                    NF_ERR_INVAL);
    for (size_t i = 1; i < NF_PARAM_LIST_MAX; i++)
        strcat(longest, "/1");
    CU_ASSERT_EQUAL(nf_param_parse(&speeds, longest, &value, &err), NF_OK);
    CU_ASSERT_EQUAL(value.nlist, NF_PARAM_LIST_MAX);
    strcat(longest, "/1");
    CU_ASSERT_EQUAL(nf_param_parse(&speeds, longest, &value, &err),
                    NF_ERR_INVAL);
}

static void every_name_is_found_and_every_default_parses(void)
{
    static struct nf_policy policy;
    static struct nf_param_value values[NF_POLICY_PARAMS_MAX];

    for (size_t i = 0; nf_sizer_table[i] != NULL; i++) {
        CU_ASSERT_PTR_EQUAL(nf_sizer_find(nf_sizer_table[i]->name),
                            nf_sizer_table[i]);
        CU_ASSERT_EQUAL(nf_policy_parse(nf_sizer_table[i]->name, &policy, NULL),
                        NF_OK);
        CU_ASSERT_PTR_EQUAL(policy.sizer, nf_sizer_table[i]);
        nf_param_set_defaults(nf_sizer_table[i]->params, values);
    }
    for (size_t i = 0; nf_pacer_table[i] != NULL; i++) {
        CU_ASSERT_PTR_EQUAL(nf_pacer_find(nf_pacer_table[i]->name),
                            nf_pacer_table[i]);
        CU_ASSERT_EQUAL(nf_policy_parse(nf_pacer_table[i]->name, &policy, NULL),
                        NF_OK);
        CU_ASSERT_PTR_EQUAL(policy.pacer, nf_pacer_table[i]);
        nf_param_set_defaults(nf_pacer_table[i]->params, values);
    }
    CU_ASSERT_PTR_NULL(nf_sizer_find("pull"));
    CU_ASSERT_PTR_NULL(nf_pacer_find("gss"));
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "cyclic alone has no limit", cyclic_alone_has_no_limit },
        { "good specifications name their halves",
          good_specs_name_their_halves },
        { "bad specifications are refused with the reason in one line",
          bad_specs_are_refused_with_the_reason_in_one_line },
        { "an overlong specification is refused", an_overlong_spec_is_refused },
        { "the error may be left out", the_error_may_be_left_out },
        { "values are those written or the defaults",
          values_are_those_written_or_the_defaults },
        { "reals and lists of counts are parsed",
          reals_and_lists_of_counts_are_parsed },
        { "every name is found and every default parses",
          every_name_is_found_and_every_default_parses },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "spec", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
