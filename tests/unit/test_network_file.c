/* Model files: written and read again, and everything that is turned down. */
#include "config.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/model/network_file.h"
#include "tests/unit/nf_unit.h"
#include "tests/unit/virtual_network.h"

static void measured(struct nf_network *network, uint32_t hosts)
{
    struct nf_hetero truth;
    struct nf_measures measures;
    struct nf_error err;

    virtual_network_make(&truth, hosts, true, true, 11);
    virtual_network_measure(&truth, 0.2, 11, &measures);
    (void)nf_estimate(&measures, network, &err);
    nf_measures_fini(&measures);
    nf_hetero_fini(&truth);
    for (uint32_t i = 0; i < hosts; i++)
        snprintf(network->hosts[i].name, sizeof(network->hosts[i].name),
                 i == 1 ? "h\xc3\xb6st%u" : "ws%u", i);
    network->shared = true;
    network->call_us = 1 / 7.0;
    network->wake_us = 2 / 7.0;
    network->model = (struct nf_model){
        .npieces = 2,
        .pieces = { { 0, 1.0 / 3, 0.1 }, { 8192, -20.5, 0.125 } },
        .delta = 1.25,
        .occupancy_us = 7,
        .share_us = 31.5,
        .share_part = 0.25,
        .route = NF_MODEL_ROUTE_DIRECT,
        .encoding = NF_MODEL_ENCODING_XDR,
        .hosts_hash = UINT32_MAX,
        .date = "2026-11-22T12:00:00Z",
    };
    (void)nf_model_set_combine(&network->model, "double", "sum", 0.0004);
    (void)nf_model_set_combine(&network->model, "int32", "max", 0.25);
}

static void test_round_trip(void)
{
    static const uint32_t hosts[] = { 2, 3, 9 };

    for (size_t n = 0; n < 3; n++) {
        struct nf_network network, back;
        char *text, *again;
        size_t bytes, more;
        struct nf_error err = { NF_OK, "" };

        measured(&network, hosts[n]);
        CU_ASSERT_EQUAL(nf_network_write(&network, &text, &bytes), NF_OK);
        CU_ASSERT_EQUAL(nf_network_parse(text, bytes, "m", &back, &err), NF_OK);
        CU_ASSERT_STRING_EQUAL(err.text, "");
        CU_ASSERT_EQUAL(nf_network_write(&back, &again, &more), NF_OK);
        CU_ASSERT(bytes == more && memcmp(text, again, bytes) == 0);
        CU_ASSERT_EQUAL(back.nhosts, hosts[n]);
        CU_ASSERT(back.shared);
        CU_ASSERT_EQUAL(back.call_us, 1 / 7.0);
        CU_ASSERT_EQUAL(back.wake_us, 2 / 7.0);
        CU_ASSERT_EQUAL(back.model.encoding, NF_MODEL_ENCODING_XDR);
        CU_ASSERT_EQUAL(back.model.share_us, 31.5);
        CU_ASSERT_EQUAL(back.model.share_part, 0.25);
        for (uint32_t i = 0; i < hosts[n]; i++)
            for (uint32_t j = 0; j < hosts[n]; j++)
                for (double m = 0; i != j && m < 1e6; m = 3 * m + 50)
                    CU_ASSERT(nf_network_time_us(&network, i, j, m) ==
                              nf_network_time_us(&back, i, j, m));
        nf_free(text);
        nf_free(again);
        nf_network_fini(&network);
        nf_network_fini(&back);
    }
}

/* Times of two networks, one of which is where a fifth of the others' lie. */
static void measure_twice(uint32_t hosts, struct nf_measures *m,
                          struct nf_measures *low)
{
    struct nf_hetero truth;

    virtual_network_make(&truth, hosts, true, true, 11);
    virtual_network_measure(&truth, 0.1, 5, m);
    nf_hetero_fini(&truth);
    virtual_network_make(&truth, hosts, true, true, 12);
    virtual_network_measure(&truth, 0.1, 6, low);
    nf_hetero_fini(&truth);
    memcpy(m->send_low, low->send, hosts * m->nsizes * sizeof(double));
    memcpy(m->recv_low, low->recv, hosts * m->nsizes * sizeof(double));
    memcpy(m->ping_low, low->ping, hosts * hosts * m->nsizes * sizeof(double));
    memcpy(m->seq_low, low->seq, hosts * m->nsizes * m->nruns * sizeof(double));
    /* a point that is left out is left out of both */
    m->recv_uneven[1] = low->recv_uneven[1] = true;
    m->has_low = true;
}

static void compare_low(const struct nf_curve *curve,
                        const struct nf_curve *low)
{
    CU_ASSERT(curve->has_low && !low->has_low);
    CU_ASSERT_EQUAL(curve->npoints, low->npoints);
    for (uint32_t k = 0; k < curve->npoints; k++) {
        CU_ASSERT_EQUAL(curve->points[k].bytes, low->points[k].bytes);
        CU_ASSERT_DOUBLE_EQUAL(curve->low_us[k], low->points[k].us, 0.000501);
    }
}

static void test_low_times(void)
{
    enum { HOSTS = 4 };
    struct nf_measures m, low_m;
    struct nf_network network, low, back;
    struct nf_error err = { NF_OK, "" };
    char *text;
    size_t bytes;

    measure_twice(HOSTS, &m, &low_m);
    CU_ASSERT_EQUAL_FATAL(nf_estimate(&m, &network, &err), NF_OK);
    CU_ASSERT_EQUAL_FATAL(nf_estimate(&low_m, &low, &err), NF_OK);
    for (uint32_t i = 0; i < HOSTS; i++)
        snprintf(network.hosts[i].name, sizeof(network.hosts[i].name), "w%u",
                 i);
    strcpy(network.model.date, "2026-11-22T12:00:00Z");
    network.model.npieces = 1;
    network.model.delta = 1;
    CU_ASSERT_EQUAL_FATAL(nf_network_write(&network, &text, &bytes), NF_OK);
    CU_ASSERT_EQUAL_FATAL(nf_network_parse(text, bytes, "m", &back, &err),
                          NF_OK);
    for (uint32_t i = 0; i < HOSTS; i++) {
        compare_low(&network.hosts[i].send, &low.hosts[i].send);
        compare_low(&network.hosts[i].recv, &low.hosts[i].recv);
        compare_low(&network.hosts[i].hold, &low.hosts[i].hold);
        for (uint32_t j = 0; j < HOSTS; j++) {
            const struct nf_curve *wire = nf_network_wire(&network, i, j),
                                  *read = nf_network_wire(&back, i, j);

            if (i == j)
                continue;
            compare_low(wire, nf_network_wire(&low, i, j));
            CU_ASSERT(read->has_low);
            CU_ASSERT(memcmp(read->low_us, wire->low_us,
                             wire->npoints * sizeof(double)) == 0);
        }
    }
    nf_free(text);
    nf_network_fini(&network);
    nf_network_fini(&low);
    nf_network_fini(&back);
    nf_measures_fini(&m);
    nf_measures_fini(&low_m);
}

#define HEAD                                                                   \
    "{\"nowfarm_network\": 1, \"date\": \"2026-11-22T12:00:00Z\",\n"           \
    "\"medium\": \"switch\", \"route\": \"direct\", \"encoding\": \"raw\",\n"
#define COLLECTIVE                                                             \
    "\"collective\": {\"pieces\": [[0, 5, 0.1]], \"delta\": 1, \"o_s_us\": "   \
    "2, "                                                                      \
    "\"t_op\": []},\n"
#define CURVE "{\"us\": 1, \"us_per_byte\": 0.5}"
#define COSTS "\"send\": " CURVE ", \"recv\": " CURVE ", \"hold\": " CURVE "}"
#define HOSTS                                                                  \
    "\"hosts\": [\n{\"name\": \"a\", " COSTS ",\n{\"name\": \"b\", " COSTS     \
    "],\n"
#define WIRE(from, to)                                                         \
    "{\"from\": \"" from "\", \"to\": \"" to "\", \"wire\": " CURVE "}"
#define WIRES "\"wires\": [\n" WIRE("a", "b") ",\n" WIRE("b", "a") "]}\n"

static const char good[] = HEAD COLLECTIVE HOSTS WIRES;

static void test_by_hand(void)
{
    struct nf_network network;
    struct nf_error err = { NF_OK, "" };

    CU_ASSERT_EQUAL(nf_network_parse(good, strlen(good), "m", &network, &err),
                    NF_OK);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT(nf_network_time_us(&network, 0, 1, 10) == 18);
    CU_ASSERT_EQUAL(network.model.share_us, 0);
    nf_network_fini(&network);
}

struct bad {
    const char *text, *said;
};

static const struct bad bad[] = {
    { "", "m:1: " },
    { "[1, 2]", "m:1: want an object" },
    { "{\"date\": \"x\"}", "no \"nowfarm_network\"" },
    { "{\"nowfarm_network\": 2, \"later\": 1}", "m:1: nowfarm_network: 2" },
    { HEAD COLLECTIVE HOSTS, "m:7: " },
    { HEAD COLLECTIVE HOSTS "\"wire\": []}", "did you mean \"wires\"" },
    { HEAD COLLECTIVE HOSTS "\"wires\": []}", "none from a to b" },
    { HEAD COLLECTIVE HOSTS "\"wires\": [" WIRE("a", "b") "]}",
      "m:7: wires: there is none from b to a" },
    { HEAD COLLECTIVE HOSTS
      "\"wires\": [" WIRE("a", "b") ",\n" WIRE("a", "b") "]}",
      "m:8: wires[1]: there is a wire of this pair already" },
    { HEAD COLLECTIVE HOSTS "\"wires\": [" WIRE("a", "b") ",\n" WIRE(
          "b", "a") ",\n" WIRE("a", "b") "]}",
      "m:9: wires[2]: there is a wire of this pair already" },
    { HEAD COLLECTIVE HOSTS "\"wires\": 7}", "m:7: wires: want a list" },
    { HEAD COLLECTIVE HOSTS "\"wires\": [" WIRE("a", "a") "]}",
      "no wire to itself" },
    { HEAD COLLECTIVE HOSTS "\"wires\": [" WIRE("a", "c") "]}",
      "m:7: wires[0].to: there is no host c" },
    { HEAD COLLECTIVE "\"hosts\": [{\"name\": \"a\", " COSTS "],\n" WIRES,
      "hosts: want a list of 2" },
    { HEAD COLLECTIVE "\"hosts\": [{\"name\": \"a\", " COSTS
                      ",\n{\"name\": \"a\", " COSTS "],\n" WIRES,
      "m:5: hosts[1].name: there is a host a already" },
    { HEAD COLLECTIVE "\"hosts\": [{\"name\": \"\", " COSTS ",1]}",
      "hosts[0].name: want a text" },
    { HEAD COLLECTIVE "\"hosts\": [{\"name\": \"a\\nb\", " COSTS
                      ",{\"name\": \"b\", " COSTS "],\n" WIRES,
      "plain characters" },
    { HEAD COLLECTIVE "\"hosts\": [{\"name\": \"a\",\n \"send\": "
                      "{\"us\": -1, \"us_per_byte\": 0}},1]}",
      "m:5: hosts[0].send.us: -1" },
    { HEAD COLLECTIVE "\"hosts\": [{\"name\": \"a\",\n \"send\": "
                      "{\"us\": NaN, \"us_per_byte\": 0}},1]}",
      "m:5: invalid token" },
    { HEAD COLLECTIVE "\"hosts\": [{\"name\": \"a\",\n \"send\": "
                      "{\"us\": 1e999, \"us_per_byte\": 0}},1]}",
      "m:5: " },
    { HEAD COLLECTIVE "\"hosts\": [{\"name\": \"a\", \"send\": "
                      "{\"us\": \"1\", \"us_per_byte\": 0}},1]}",
      "a string: want a number" },
    { HEAD COLLECTIVE "\"hosts\": [{\"name\": \"a\", \"send\": {\"us\": 1, "
                      "\"us_per_byte\": 0, \"points\": [[9, 1], [9, 1]]}},1]}",
      "hosts[0].send.points[1]: want sizes that ascend" },
    { HEAD COLLECTIVE "\"hosts\": [{\"name\": \"a\", \"send\": {\"us\": 1, "
                      "\"us_per_byte\": 0, \"points\": [[1]]}},1]}",
      "want [bytes, us]" },
    { HEAD COLLECTIVE "\"hosts\": [{\"name\": \"a\", \"send\": {\"us\": 1, "
                      "\"us_per_byte\": 0, \"points\": [[1, 2, 1], [2, 2]]}},"
                      "1]}",
      "points[1]: want [bytes, us, us]" },
    { HEAD COLLECTIVE "\"hosts\": [{\"name\": \"a\", \"send\": {\"us\": 1, "
                      "\"us_per_byte\": 0, \"points\": [[1, 2, -1]]}},1]}",
      "points[0][2]: -1" },
    { HEAD COLLECTIVE
      "\"hosts\": [{\"name\": \"a\", \"send\": {\"us\": 1}},1]}",
      "hosts[0].send: there is no \"us_per_byte\"" },
    { HEAD "\"collective\": {\"pieces\": [], \"delta\": 1, \"o_s_us\": 2, "
           "\"t_op\": []}}",
      "collective.pieces: want a list of 1 to 4" },
    { HEAD "\"collective\": {\"pieces\": [[0, 1, 1]], \"delta\": 0.5, "
           "\"o_s_us\": 2, \"t_op\": []}}",
      "collective.delta: 0.5: want a number from 1 to 2" },
    { HEAD "\"collective\": {\"pieces\": [[0, 1, 1]], \"delta\": 3, "
           "\"o_s_us\": 2, \"t_op\": []}}",
      "collective.delta: 3: want a number from 1 to 2" },
    { HEAD "\"collective\": {\"pieces\": [[0, 1, 1], [8, -100, 1]], \"delta\": "
           "1, \"o_s_us\": 2, \"t_op\": []}}",
      "no negative time" },
    { HEAD "\"collective\": {\"pieces\": [[0, 1, 1]], \"delta\": 1, "
           "\"o_s_us\": 2, \"t_op\": [[\"double\", \"s\\nm\", 1]]}}",
      "t_op[0]: want" },
    { HEAD "\"collective\": {\"pieces\": [[0, 1, 1]], \"delta\": 1, "
           "\"o_s_us\": 2, \"t_op\": [[\"double\", \"sum\", 1], "
           "[\"double\", \"max\", 1], [\"double\", \"sum\", 2]]}}",
      "t_op[2]: \"double\" and \"sum\" are there twice" },
    { HEAD "\"call_us\": -3,\n" COLLECTIVE HOSTS WIRES, "m:3: call_us: -3" },
    { HEAD "\"wake_us\": \"no\",\n" COLLECTIVE HOSTS WIRES, "m:3: wake_us" },
    { "{\"nowfarm_network\": 1, \"date\": \"today\"}", "date: want a time" },
    { "{\"nowfarm_network\": 1, \"date\": \"2026-02-31T12:00:00Z\"}",
      "date: want a time" },
    { "{\"nowfarm_network\": 1, \"date\": \"2026-11-22T12:00:00Z\",\n"
      "\"medium\": \"air\"}",
      "m:2: medium: want \"switch\" or \"shared\"" },
    { "{\"nowfarm_network\": 1, \"nowfarm_network\": 1}", "duplicate" },
};

static void test_bad_files(void)
{
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct nf_network network = { .nhosts = 77 };
        struct nf_error err = { NF_OK, "" };

        CU_ASSERT_EQUAL(nf_network_parse(bad[i].text, strlen(bad[i].text), "m",
                                         &network, &err),
                        NF_ERR_INVAL);
        CU_ASSERT_EQUAL(err.status, NF_ERR_INVAL);
        CU_ASSERT_EQUAL(network.nhosts, 77);
        CU_ASSERT_EQUAL(strncmp(err.text, "m:", 2), 0);
        CU_ASSERT_PTR_NULL(strchr(err.text, '\n'));
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, bad[i].said));
    }
}

static void test_no_file(void)
{
    struct nf_network network;
    struct nf_error err;

    CU_ASSERT_EQUAL(nf_network_read("/nowhere/m.json", &network, &err),
                    NF_ERR_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/nowhere/m.json: No such file"));
    CU_ASSERT_EQUAL(nf_network_read("/", &network, &err), NF_ERR_IO);
}

static void test_out_of_memory(void)
{
    enum nf_status status = NF_ERR_NOMEM;

    for (int n = 0; status != NF_OK && n < 1000; n++) {
        struct nf_network network;
        struct nf_error err = { NF_OK, "" };

        nf_alloc_fail_after(n);
        status = nf_network_parse(good, strlen(good), "m", &network, &err);
        nf_alloc_fail_after(-1);
        CU_ASSERT(status == NF_OK || status == NF_ERR_NOMEM);
        if (status == NF_OK)
            nf_network_fini(&network);
    }
    CU_ASSERT_EQUAL(status, NF_OK);
}

static int json_allocations_left;

static void *allocate_for_json(size_t bytes)
{
    return json_allocations_left-- > 0 ? malloc(bytes) : NULL;
}

/* Where it is JSON's memory that is short, the error says so too. */
static void test_out_of_json_memory(void)
{
    enum nf_status status = NF_ERR_NOMEM;
    int short_ones = 0;

    for (int n = 0; status != NF_OK && n < 2000; n++) {
        struct nf_network network;
        struct nf_error err = { NF_OK, "of before" };

        json_allocations_left = n;
        json_set_alloc_funcs(allocate_for_json, free);
        status = nf_network_parse(good, strlen(good), "m", &network, &err);
        json_set_alloc_funcs(malloc, free);
        if (status == NF_OK)
            nf_network_fini(&network);
        else
            CU_ASSERT_PTR_NULL(strstr(err.text, "of before"));
        short_ones += status == NF_ERR_NOMEM;
        if (status == NF_ERR_NOMEM)
            CU_ASSERT_PTR_NOT_NULL(strstr(err.text, ": out of memory"));
    }
    CU_ASSERT_EQUAL(status, NF_OK);
    CU_ASSERT(short_ones > 0);
}

/* Where it is to serve: the age, then the way of messages. */
static void test_doubts(void)
{
    struct nf_network network;
    struct nf_error err = { .text = "" };
    char text[200];
    int64_t day = nf_network_date_s("2026-11-22T12:00:00Z");
    struct nf_network_use use = { day + NF_NETWORK_OLD_S, NF_MODEL_ROUTE_DIRECT,
                                  NF_MODEL_ENCODING_RAW };

    CU_ASSERT_EQUAL_FATAL(nf_network_init(&network, 2), NF_OK);
    strcpy(network.model.date, "2026-11-22T12:00:00Z");
    network.model.route = NF_MODEL_ROUTE_DIRECT;
    network.model.encoding = NF_MODEL_ENCODING_RAW;
    CU_ASSERT(!nf_network_is_doubtful(&network, &use, text, sizeof(text)));
    use.now_s++;
    CU_ASSERT(nf_network_is_doubtful(&network, &use, text, sizeof(text)));
    CU_ASSERT_STRING_EQUAL(text, "the model is 7 days old: measure again");
    use.route = NF_MODEL_ROUTE_DAEMON;
    use.encoding = NF_MODEL_ENCODING_XDR;
    CU_ASSERT(nf_network_is_doubtful(&network, &use, text, sizeof(text)));
    CU_ASSERT_STRING_EQUAL(text, "the model is 7 days old, of messages by the "
                                 "direct route, of data as they are: measure "
                                 "again");
    use.now_s = 0;
    network.model.route = NF_MODEL_ROUTE_DAEMON;
    network.model.encoding = NF_MODEL_ENCODING_XDR;
    CU_ASSERT(!nf_network_is_doubtful(&network, &use, text, sizeof(text)));
    use.route = NF_MODEL_ROUTE_DIRECT;
    use.encoding = NF_MODEL_ENCODING_RAW;
    CU_ASSERT(nf_network_is_doubtful(&network, &use, text, sizeof(text)));
    CU_ASSERT_STRING_EQUAL(text, "the model is of messages by the daemons, of "
                                 "data in XDR: measure again");
    CU_ASSERT(nf_network_is_doubtful(&network, &use, text, 20)); /* cut */
    CU_ASSERT_EQUAL(
        nf_network_check_date(&network, day - NF_NETWORK_AHEAD_S, "m", &err),
        NF_OK);
    CU_ASSERT_EQUAL(nf_network_check_date(
                        &network, day - NF_NETWORK_AHEAD_S - 1, "m", &err),
                    NF_ERR_INVAL);
    CU_ASSERT_STRING_EQUAL(err.text,
                           "m: date: 2026-11-22T12:00:00Z is still to come");
    nf_network_fini(&network);
}

int main(void)
{
    CU_TestInfo files[] = {
        { "what is written is read as the same", test_round_trip },
        { "low times are found as the others, and kept", test_low_times },
        { "a file by hand", test_by_hand },
        { "bad files are refused with line and place", test_bad_files },
        { "no file", test_no_file },
        { "out of memory", test_out_of_memory },
        { "out of memory for JSON", test_out_of_json_memory },
        { "a model of elsewhere is doubtful", test_doubts },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = { { .pName = "model files", .pTests = files },
                              CU_SUITE_INFO_NULL };

    return nf_unit_main(suites);
}
