/* Platform files: what is read, and what is refused, where and why. */
#include "config.h"
#include "common/base/alloc.h"
#include "sim/distribution.h"
#include "sim/reader.h"
#include "tests/unit/nf_tmpdir.h"
#include "tests/unit/nf_unit.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

/* JSON in C: ' for ". */
static void unquote(const char *from, char *to, size_t bytes)
{
    snprintf(to, bytes, "%s", from);
    for (; *to; to++)
        if (*to == '\'')
            *to = '"';
}

static enum nf_status parse(const char *text,
                            const struct nf_world_options *options,
                            struct nf_world *world_p, struct nf_error *err)
{
    char json[1024];

    unquote(text, json, sizeof(json));
    return nf_world_parse_text(json, strlen(json), "p.json", NULL, options,
                               world_p, err);
}

static const struct {
    const char *text, *error;
    enum nf_status status;
} refused[] = {
    { "[]", "p.json:1: a list: want an object", NF_ERR_INVAL },
    { "\n\n7", "p.json:3: ", NF_ERR_INVAL },
    { "", "p.json:1: ", NF_ERR_INVAL },
    { "{'units':1,\n'slaves':1,\n'cost':", "p.json:3: ", NF_ERR_INVAL },
    { "{'units':1,\n'cost':NaN}", "p.json:2: ", NF_ERR_INVAL },
    { "{'units':1,\n'kappa':-Infinity}", "p.json:2: ", NF_ERR_INVAL },
    { "{'units':1,\n'kappa':1e999}", "p.json:2: ", NF_ERR_INVAL },
    { "{'units':1,\n\n'units':1}", "p.json:3: duplicate", NF_ERR_INVAL },
    { "{'units':99999999999999999999}", "p.json:1: too big integer",
      NF_ERR_INVAL },
    { "{'slaves':1,'cost':1}", "p.json:1: \"units\" is missing", NF_ERR_INVAL },
    { "{'units':1,'cost':1}", "\"slaves\" is missing", NF_ERR_INVAL },
    { "\n{'units':1,'slaves':1}", "p.json:2: \"cost\" is missing",
      NF_ERR_INVAL },
    { "{'cost':1,\n'units':-1,'slaves':1}", "p.json:2: units: -1: want",
      NF_ERR_RANGE },
    { "{'units':1.5,'slaves':1,'cost':1}", "units: a fraction", NF_ERR_INVAL },
    { "{'units':1000000001,'slaves':1,'cost':1}", "units", NF_ERR_RANGE },
    { "{'units':1,'slaves':0,'cost':1}", "slaves: 0: want an integer",
      NF_ERR_RANGE },
    { "{'units':1,'cost':1,\n'speed':[]}", "p.json:2: speed: a list of 0",
      NF_ERR_RANGE },
    { "{'units':2,'slaves':1,'cost':[1]}", "cost: 1 costs for 2 units",
      NF_ERR_INVAL },
    { "{'slaves':1,'cost':[1,\n2,\n-3]}", "p.json:3: cost[2]: -3: want",
      NF_ERR_RANGE },
    { "{'slaves':1,'cost':[1,null]}", "cost[1]: null: want", NF_ERR_INVAL },
    { "{'units':1,'slaves':1,'cost':-1}", "cost: -1", NF_ERR_RANGE },
    { "{'units':1,'slaves':1,'cost':'1'}", "cost: want", NF_ERR_INVAL },
    { "{'units':1000000000,'slaves':1,'cost':1000000000000}",
      "cost: the costs are too much", NF_ERR_RANGE },
    { "{'units':1,'slaves':1,'cost':{'file':'x'}}",
      "cost.file: files cannot be named here", NF_ERR_INVAL },
    { "{'units':1,'slaves':2,'cost':1,'speed':[1]}",
      "speed: a list of 1 for 2 slaves", NF_ERR_INVAL },
    { "{'units':1,'slaves':2,'cost':1,'speed':1}", "speed: want a list",
      NF_ERR_INVAL },
    { "{'units':1,'cost':1,'speed':[\n1,\n'1/0']}", "p.json:3: speed[1]",
      NF_ERR_INVAL },
    { "{'units':1,'cost':1,'speed':['0.5']}", "speed[0]", NF_ERR_INVAL },
    { "{'units':1,'cost':1,'speed':[0]}", "speed[0]", NF_ERR_INVAL },
    { "{'units':1,'cost':1,'speed':[-2]}", "speed[0]", NF_ERR_INVAL },
    { "{'units':1,'cost':1,'speed':['9999999/1']}", "speed", NF_ERR_INVAL },
    { "{'units':1,'cost':1,'speed':['-1']}", "speed", NF_ERR_INVAL },
    { "{'units':1000000000,'slaves':1,'cost':100000000,'slow':{'0':[[1,"
      "'1/1000000']]}}",
      "slave 0 is too slow", NF_ERR_RANGE },
    { "{'units':1,'slaves':1,'cost':1,'slots':0}", "slots: 0", NF_ERR_RANGE },
    { "{'units':1,'slaves':2,'cost':1,'slots':[1,1000000]}", "slots: more than",
      NF_ERR_RANGE },
    { "{'units':1,'slaves':1,'cost':1,'slow':{'1':[[1,1]]}}",
      "slow.1: not a slave, 0 to 0", NF_ERR_INVAL },
    { "{'units':1,'slaves':1,'cost':1,'slow':{'x':[[1,1]]}}", "slow.x",
      NF_ERR_INVAL },
    { "{'units':1,'slaves':1,'cost':1,'slow':[]}", "slow: want an object",
      NF_ERR_INVAL },
    { "{'units':1,'slaves':1,'cost':1,'slow':{'0':\n[[2,1],\n[1,1]]}}",
      "p.json:3: slow.0[1][0]: 1: earlier", NF_ERR_INVAL },
    { "{'units':1,'slaves':1,'cost':1,'slow':{'0':[[2]]}}",
      "slow.0[0]: want a pair", NF_ERR_INVAL },
    { "{'units':1,'slaves':1,'cost':1,'slow':{'0':[]},\n'load':{'0':[]}}",
      "p.json:2: load.0: has a list already", NF_ERR_INVAL },
    { "{'units':1,'slaves':1,'cost':1,'ts':[1]}", "ts: want", NF_ERR_INVAL },
    { "{'units':1,'slaves':2,'cost':1,'tr':[[1,1]]}",
      "tr: a list of 1 for 2 slaves", NF_ERR_INVAL },
    { "{'units':1,'slaves':1,'cost':1,'tr':[[1,-1]]}", "tr[0][1]: -1",
      NF_ERR_RANGE },
    { "{'units':1000000000,'slaves':1,'cost':1,'tr':1000000000000}",
      "ts, tr of slave 0", NF_ERR_RANGE },
    { "{'units':1000000000,'slaves':1,'cost':1,'prop':1000000000000}",
      "prop: the run takes too long", NF_ERR_RANGE },
    { "{'units':1,'slaves':1,'cost':1,'net':'ring'}", "net: want",
      NF_ERR_INVAL },
    { "{'units':1,'slaves':1,'cost':1,'kappa':-1}", "kappa: -1: want",
      NF_ERR_RANGE },
    { "{'units':1,'slaves':1,'cost':1,'blocking':1}", "blocking: want",
      NF_ERR_INVAL },
    { "{'units':1,'slaves':1,'cost':1,'prop':true}", "prop: true: want",
      NF_ERR_INVAL },
    { "{'units':1,'slaves':1,'cost':1,'o_send':[1,2,3]}", "o_send: want",
      NF_ERR_INVAL },
    { "{'units':1,'slaves':1,'cost':1,\n\n'blockin':1}",
      "p.json:3: blockin: no such key (did you mean \"blocking\"?)",
      NF_ERR_INVAL },
    { "{'units':1,'slaves':1,'cost':1,'\\n\\u0062':1}", ": no such key",
      NF_ERR_INVAL },
    { "{'units':1,'slaves':1,'cost':1,'silence':5}", "silence: want 0 or",
      NF_ERR_RANGE },
};

/* Every row is refused, in one line that begins with the place. */
static void test_refused(void)
{
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct nf_error err = { .text = "" };
        struct nf_world world;
        enum nf_status status = parse(refused[i].text, NULL, &world, &err);
        const char *found = strstr(err.text, refused[i].error);

        if (status != refused[i].status || !found ||
            strncmp(err.text, "p.json:", 7) != 0 || strchr(err.text, '\n')) {
            fprintf(stderr, "%s: %d, %s\n", refused[i].text, status, err.text);
            CU_FAIL("a bad platform was not refused as it should be");
        }
        if (!status)
            nf_world_fini(&world);
    }
}

static void check_refused(const char *before, const char *part,
                          const char *after, const char *error)
{
    char text[512];
    struct nf_error err = { .text = "" };
    struct nf_world world;

    snprintf(text, sizeof(text), "%s%s%s", before, part, after);
    if (parse(text, NULL, &world, &err) == NF_OK) {
        fprintf(stderr, "%s\n", text);
        CU_FAIL("a bad platform was taken");
        nf_world_fini(&world);
    } else if (!strstr(err.text, error)) {
        fprintf(stderr, "%s: %s, not %s\n", text, err.text, error);
        CU_FAIL("a bad platform was refused for another reason");
    }
}

static void test_refused_failures(void)
{
    static const char *const rows[][2] = {
        { "[7]", "failures[0]: an integer: want an object" },
        { "[{'at':1}]", "failures[0]: \"slave\" is missing" },
        { "[{'slave':1}]", "failures[0]: \"at\" is missing" },
        { "[{'slave':2,'at':1}]", "failures[0].slave: 2: want" },
        { "[{'slave':0,'at':-1}]", "failures[0].at: -1: want" },
        { "[{'slave':0,'at':1,'kind':'sleeps'}]", "failures[0].kind: want" },
        { "[{'slave':0,'at':1,'untill':2}]", "did you mean \"until\"?" },
        { "[{'slave':0,'at':5,'until':5}]", "failures[0].until: want" },
        { "[{'slave':0,'at':5,'until':7,'notice':3}]",
          "failures[0].until: want" },
        { "[{'slave':0,'at':5},\n{'slave':0,'at':9}]",
          "p.json:2: failures[1]: slave 0 has not recovered" },
        { "[{'slave':0,'at':5,'until':9},{'slave':0,'at':8}]",
          "failures[1]: slave 0 has not recovered" },
        { "[{'slave':0,'at':5,'kind':'silent'}]", "silent for ever" },
        { "[{'slave':0,'at':5,'kind':'silent','until':9,'notice':1}]",
          "failures[0].notice: nobody tells" },
    };

    check_refused("{'units':1,'slaves':2,'cost':1,'failures':", "{}", "}",
                  "failures: want a list of objects");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_refused("{'units':1,'slaves':2,'cost':1,'failures':", rows[i][0],
                      "}", rows[i][1]);
}

static void test_refused_distributions(void)
{
    static const char *const rows[][2] = {
        { "{}", "cost: want a \"distribution\"" },
        { "{'distribution':7}", "cost.distribution: want" },
        { "{'distribution':'pareto'}", "cost.distribution: want" },
        { "{'distribution':'uniform','low':1}", "\"high\" is missing" },
        { "{'distribution':'uniform','low':5,'high':1}", "\"low\" is above" },
        { "{'distribution':'uniform','low':-5,'high':1}", "cost.low: -5" },
        { "{'distribution':'uniform','low':1,'high':2,'mean':3}",
          "cost.mean: no such key" },
        { "{'distribution':'normal','mean':5,'deviation':1,'low':6}",
          "\"low\" is above" },
        { "{'distribution':'gamma','mean':5,'shape':0}", "cost.shape: 0" },
        { "{'distribution':'bimodal','low':1,'high':2,'share':1.5}",
          "cost.share: 1.5" },
        { "{'distribution':'constant','mean':1e13}", "cost.mean: 1e+13" },
        { "{'distribution':'constant','mean':1,'seed':-1}", "cost.seed: -1" },
        { "{'distribution':'exponential','mean':1000000000000}",
          "cost: a cost drawn is above" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_refused("{'units':100,'slaves':2,'cost':", rows[i][0], "}",
                      rows[i][1]);
}

/* ---- what is read ---- */

static void test_all_keys(void)
{
    struct nf_error err;
    struct nf_world w;
    enum nf_status status =
        parse("{'units':3,'slaves':2,'cost':[1,2,4],'speed':[3,'1/4'],"
              "'slots':[1,2],'slow':{'0':[[5,'2/3']]},'load':{'1':[[6,7]]},"
              "'ts':[1,2],'tr':[[3,4],5],'net':'bus','kappa':0.5,'prop':6,"
              "'o_send':7,'o_recv':[8,9],'blocking':true,'silence':2000,"
              "'failures':[{'slave':1,'at':4,'kind':'host','notice':2,"
              "'until':9}],'note':'text'}",
              NULL, &w, &err);

    CU_ASSERT_EQUAL_FATAL(status, NF_OK);
    CU_ASSERT_EQUAL(w.units, 3);
    CU_ASSERT_EQUAL(w.slaves, 2);
    CU_ASSERT_EQUAL(w.slots, 3);
    CU_ASSERT_EQUAL(nf_world_cost_us(&w, 1, 2), 6);
    CU_ASSERT_EQUAL(w.slave[0].speed.num, 3);
    CU_ASSERT_EQUAL(w.slave[1].speed.den, 4);
    CU_ASSERT_EQUAL(nf_world_speed(&w, 0, 4).num, 3);
    CU_ASSERT_EQUAL(nf_world_speed(&w, 0, 5).den, 3);
    CU_ASSERT_FALSE(w.slave[0].load);
    CU_ASSERT_TRUE(w.slave[1].load);
    CU_ASSERT_EQUAL(w.slave[1].data.fixed_us, 1);
    CU_ASSERT_EQUAL(w.slave[1].data.per_unit_us, 2);
    CU_ASSERT_EQUAL(w.slave[0].result.per_unit_us, 4);
    CU_ASSERT_EQUAL(w.slave[1].result.fixed_us, 5);
    CU_ASSERT_EQUAL(w.net, NF_NET_BUS);
    CU_ASSERT_EQUAL(w.kappa, 0.5);
    CU_ASSERT_EQUAL(w.prop_us, 6);
    CU_ASSERT_EQUAL(w.send_overhead.fixed_us, 7);
    CU_ASSERT_EQUAL(w.recv_overhead.per_unit_us, 9);
    CU_ASSERT_TRUE(w.blocking);
    CU_ASSERT_EQUAL(w.silence_us, 2000);
    CU_ASSERT_EQUAL_FATAL(w.nfailures, 1);
    CU_ASSERT_EQUAL(w.failures[0].slave, 1);
    CU_ASSERT_EQUAL(w.failures[0].kind, NF_FAILURE_HOST);
    CU_ASSERT_EQUAL(w.failures[0].at_us, 4);
    CU_ASSERT_EQUAL(w.failures[0].notice_us, 2);
    CU_ASSERT_EQUAL(w.failures[0].until_us, 9);
    nf_world_fini(&w);
}

static void test_units_option(void)
{
    struct nf_world_options options = { .has_units = true, .units = 7 };
    struct nf_error err;
    struct nf_world w;

    CU_ASSERT_EQUAL(
        parse("{'units':3,'slaves':2,'cost':5}", &options, &w, &err), NF_OK);
    CU_ASSERT_EQUAL(w.units, 7);
    nf_world_fini(&w);
    CU_ASSERT_EQUAL(parse("{'slaves':2,'cost':5}", &options, &w, &err), NF_OK);
    CU_ASSERT_EQUAL(w.units, 7);
    nf_world_fini(&w);
    CU_ASSERT_EQUAL(parse("{'slaves':2,'cost':[5,5]}", &options, &w, &err),
                    NF_ERR_INVAL);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(err.text, "cost: 2 costs for 7 units (--units)"));
}

static void test_cost_files(void)
{
    static const struct {
        const char *text;
        enum nf_status status;
        const char *error;
    } rows[] = {
        { "# us\n1, 2;3\n\n4 # five\n", NF_OK, NULL },
        { "1\n2\n3\n4", NF_OK, NULL },
        { "1 2 3", NF_ERR_INVAL, "3 costs for 4 units" },
        { "1 2 3 4 5", NF_ERR_INVAL, "more than 4 costs" },
        { "1 2\n3 -4", NF_ERR_INVAL, "costs.csv:2: -4: want" },
        { "1\n2\nthree\n4", NF_ERR_INVAL, "costs.csv:3: three: want" },
        { "1 2 3 0.5", NF_ERR_INVAL, "costs.csv:1: 0.5: want" },
        { "1 2 3 9999999999999", NF_ERR_INVAL, "costs.csv:1: 99999" },
    };
    char platform[600];
    struct nf_error err;
    struct nf_world w;

    snprintf(platform, sizeof(platform), "%s",
             nf_tmp_write("p.json", "{\"units\":4,\n\"slaves\":1,\n\"cost\":"
                                    "{\"file\":\"costs.csv\"}}"));
    CU_ASSERT_NOT_EQUAL(nf_world_read(platform, NULL, &w, &err), NF_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "p.json:3: cost.file: "));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        enum nf_status status;

        nf_tmp_write("costs.csv", rows[i].text);
        status = nf_world_read(platform, NULL, &w, &err);
        if (status != rows[i].status ||
            (status && !strstr(err.text, rows[i].error))) {
            fprintf(stderr, "%s: %d %s\n", rows[i].text, status, err.text);
            CU_FAIL("a file of costs was not read as it should be");
        }
        if (status)
            continue;
        CU_ASSERT_EQUAL(nf_world_cost_us(&w, 0, 4), 10);
        CU_ASSERT_EQUAL(nf_world_cost_us(&w, 2, 1), 3);
        nf_world_fini(&w);
    }
}

/* The same text whatever its layout: the line is that of the element. */
static void test_lines(void)
{
    static const char text[] = "\n{ \"a\\n\" : [1, \"]},\\\"\",\n"
                               "  {\"b\":\n{}}, [\n[],\n7] ],\n"
                               "\"c\" :\n-1e3}\n";
    static const struct {
        struct nf_json_step path[3];
        unsigned depth;
        unsigned long line;
    } rows[] = {
        { { { NULL, 0 } }, 0, 2 },
        { { { "a\n", 0 } }, 1, 2 },
        { { { "a\n", 0 }, { NULL, 1 } }, 2, 2 },
        { { { "a\n", 0 }, { NULL, 2 } }, 2, 3 },
        { { { "a\n", 0 }, { NULL, 2 }, { "b", 0 } }, 3, 3 },
        { { { "a\n", 0 }, { NULL, 3 } }, 2, 4 },
        { { { "a\n", 0 }, { NULL, 3 }, { NULL, 0 } }, 3, 5 },
        { { { "a\n", 0 }, { NULL, 3 }, { NULL, 1 } }, 3, 6 },
        { { { "c", 0 } }, 1, 7 },
        { { { "d", 0 } }, 1, 2 },
        { { { "c", 0 }, { NULL, 3 } }, 2, 7 },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        CU_ASSERT_EQUAL(
            nf_json_line(text, sizeof(text) - 1, rows[i].path, rows[i].depth),
            rows[i].line);
}

/* ---- distributions ---- */

enum { DRAWS = 20000 };

/* The mean and the deviation of many draws are those of the distribution,
 * within four standard errors or so. */
static void check_moments(struct nf_distribution d, double mean,
                          double deviation, double low, double high)
{
    struct nf_rng rng = { 42 };
    double sum = 0, squares = 0;

    for (int i = 0; i < DRAWS; i++) {
        double x = nf_distribution_draw(&d, (uint64_t)i, DRAWS, &rng);

        CU_ASSERT(x >= low && x <= high);
        sum += x;
        squares += x * x;
    }
    sum /= DRAWS;
    squares = sqrt(squares / DRAWS - sum * sum);
    CU_ASSERT_DOUBLE_EQUAL(sum, mean, 4 * deviation / sqrt(DRAWS) + 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(squares, deviation, 0.05 * deviation + 1e-3);
}

static void test_distributions(void)
{
    check_moments((struct nf_distribution){ .kind = NF_DIST_CONSTANT, .a = 7 },
                  7, 0, 7, 7);
    check_moments((struct nf_distribution){ NF_DIST_UNIFORM, 10, 40, 0, 0, 0 },
                  25, 30 / sqrt(12), 10, 40);
    check_moments(
        (struct nf_distribution){ NF_DIST_NORMAL, 100, 10, 0, 160, 0 }, 100, 10,
        0, 160);
    /* cut to half a normal: mean sqrt(2/pi), variance 1 - 2/pi */
    check_moments(
        (struct nf_distribution){ NF_DIST_NORMAL, 100, 10, 100, 1e9, 0 },
        100 + 10 * sqrt(2 / 3.14159265358979), 10 * sqrt(1 - 2 / 3.14159265),
        100, 1e9);
    check_moments(
        (struct nf_distribution){ .kind = NF_DIST_EXPONENTIAL, .a = 50 }, 50,
        50, 0, 1e9);
    check_moments((struct nf_distribution){ NF_DIST_GAMMA, 60, 4, 0, 0, 0 }, 60,
                  30, 0, 1e9);
    check_moments((struct nf_distribution){ NF_DIST_GAMMA, 60, 0.5, 0, 0, 0 },
                  60, 60 / sqrt(0.5), 0, 1e9);
    check_moments(
        (struct nf_distribution){ NF_DIST_BIMODAL, 10, 20, 0, 0, .25 }, 12.5,
        10 * sqrt(.25 * .75), 10, 20);
    check_moments((struct nf_distribution){ NF_DIST_RAMP, 0, 12, 0, 0, 0 }, 6,
                  12 / sqrt(12), 0, 12);
}

static void test_ramps(void)
{
    struct nf_error err;
    struct nf_world w;

    CU_ASSERT_EQUAL_FATAL(parse("{'units':5,'slaves':1,'cost':{'distribution':"
                                "'decreasing','low':10,'high':30}}",
                                NULL, &w, &err),
                          NF_OK);
    for (uint64_t i = 0; i < 5; i++)
        CU_ASSERT_EQUAL(nf_world_cost_us(&w, i, 1), 30 - 5 * (int64_t)i);
    nf_world_fini(&w);
}

static int64_t drawn(const char *text, const struct nf_world_options *options)
{
    struct nf_error err;
    struct nf_world w;
    int64_t sum_us;

    CU_ASSERT_EQUAL_FATAL(parse(text, options, &w, &err), NF_OK);
    sum_us = nf_world_cost_us(&w, 0, w.units);
    nf_world_fini(&w);
    return sum_us;
}

static void test_seeds(void)
{
    static const char text[] = "{'units':50,'slaves':1,'cost':{'distribution':"
                               "'exponential','mean':1000000}}";
    static const char three[] = "{'units':50,'slaves':1,'cost':{'distribution':"
                                "'exponential','mean':1000000,'seed':3}}";
    const struct nf_world_options one = { .has_seed = true, .seed = 1 };

    CU_ASSERT_EQUAL(drawn(text, NULL), drawn(text, NULL));
    CU_ASSERT_EQUAL(drawn(text, NULL), drawn(text, &one));
    CU_ASSERT_NOT_EQUAL(drawn(text, NULL), drawn(three, NULL));
    CU_ASSERT_EQUAL(drawn(three, &one), drawn(text, NULL));
}

/* ---- compute times ---- */

static void test_rounding(void)
{
    static const struct {
        int64_t cost_us;
        struct nf_ratio speed;
        int64_t compute_us;
    } rows[] = {
        { 100000, { 1, 4 }, 400000 },
        { 1, { 2, 1 }, 1 },
        { 3, { 2, 1 }, 2 },
        { 10, { 3, 1 }, 3 },
        { 5, { 3, 1 }, 2 },
        { 0, { 7, 3 }, 0 },
        { 7, { 2, 3 }, 11 },
        { 1, { 3, 1 }, 0 },
        { INT64_C(100000000000000000), { 1000000, 7 }, 700000000000 },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        CU_ASSERT_EQUAL(nf_world_compute_us(rows[i].cost_us, rows[i].speed),
                        rows[i].compute_us);
}

/* 100 us of work at speed 1 till 40, 1/2 till 60, 4 from then on. */
static void test_load(void)
{
    struct nf_error err;
    struct nf_world w;

    CU_ASSERT_EQUAL_FATAL(parse("{'units':9,'slaves':3,'cost':100,'load':"
                                "{'0':[[40,'1/2'],[60,4]]},"
                                "'slow':{'1':[[40,'1/2'],[60,4]]}}",
                                NULL, &w, &err),
                          NF_OK);
    CU_ASSERT_EQUAL(nf_world_finish_us(&w, 0, 0, 100), 60 + 13);
    CU_ASSERT_EQUAL(nf_world_finish_us(&w, 0, 0, 40), 40);
    CU_ASSERT_EQUAL(nf_world_finish_us(&w, 0, 0, 41), 42);
    CU_ASSERT_EQUAL(nf_world_finish_us(&w, 0, 50, 5), 60);
    CU_ASSERT_EQUAL(nf_world_finish_us(&w, 0, 60, 100), 85);
    CU_ASSERT_EQUAL(nf_world_finish_us(&w, 1, 0, 100), 100);
    CU_ASSERT_EQUAL(nf_world_finish_us(&w, 1, 50, 100), 250);
    CU_ASSERT_EQUAL(nf_world_finish_us(&w, 2, 50, 100), 150);
    nf_world_fini(&w);
    /* work in T: 40 + 10 + 4 (T - 60), and T: 900 at 230 */
    CU_ASSERT_EQUAL_FATAL(parse("{'units':9,'slaves':2,'cost':100,'load':"
                                "{'0':[[40,'1/2'],[60,4]]}}",
                                NULL, &w, &err),
                          NF_OK);
    CU_ASSERT_DOUBLE_EQUAL(nf_world_bound_us(&w), (900 + 190) / 5.0, 0.01);
    nf_world_fini(&w);
}

static void test_out_of_memory(void)
{
    enum nf_status status = NF_ERR_NOMEM;
    struct nf_error err;
    struct nf_world w;
    long n;

    for (n = 0; status == NF_ERR_NOMEM && n < 1000; n++) {
        nf_alloc_fail_after(n);
        status = parse("{'slaves':2,'cost':[1,2,4],'speed':[3,'1/4'],"
                       "'slow':{'0':[[5,'2/3']]},'load':{'1':[[6,7]]},"
                       "'failures':[{'slave':1,'at':4}]}",
                       NULL, &w, &err);
        nf_alloc_fail_after(-1);
    }
    CU_ASSERT_EQUAL(status, NF_OK);
    CU_ASSERT(n > 5);
    if (status == NF_OK)
        nf_world_fini(&w);
}

static CU_TestInfo refused_tests[] = {
    { "bad platforms are refused with line, place and reason", test_refused },
    { "so are bad failures", test_refused_failures },
    { "and bad distributions", test_refused_distributions },
    { "the line of any element is found", test_lines },
    CU_TEST_INFO_NULL,
};

static CU_TestInfo read_tests[] = {
    { "every key is read", test_all_keys },
    { "--units counts, not the file", test_units_option },
    { "costs come from files of numbers", test_cost_files },
    { "running out of memory anywhere is reported", test_out_of_memory },
    CU_TEST_INFO_NULL,
};

static CU_TestInfo cost_tests[] = {
    { "distributions have their means, deviations and bounds",
      test_distributions },
    { "ramps go from end to end", test_ramps },
    { "the same seed draws the same costs", test_seeds },
    { "compute times are rounded half up in integers", test_rounding },
    { "load changes the speed of running chunks, slow that of new ones",
      test_load },
    CU_TEST_INFO_NULL,
};

static CU_SuiteInfo suites[] = {
    { "refused", NULL, NULL, NULL, NULL, refused_tests },
    { "read", nf_tmpdir_make, nf_tmpdir_remove, NULL, NULL, read_tests },
    { "costs", NULL, NULL, NULL, NULL, cost_tests },
    CU_SUITE_INFO_NULL,
};

int main(void)
{
    return nf_unit_main(suites);
}
