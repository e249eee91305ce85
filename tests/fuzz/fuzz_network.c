/* Fuzzing model files.  A text is either refused with one line that begins with
 * a line of it, or it is a network: with no time below 0 whatever the size,
 * the same when written and read again, and fit for every use that is made of
 * one.
 *
 * With libFuzzer: see tests/fuzz/local.am.  Without: `fuzz_network FILE...`
 * replays inputs, and `fuzz_network` alone makes its own from fixed seeds. */
#include "config.h"
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/model/homogeneous.h"
#include "common/model/network_file.h"
#include "common/tree/crl.h"
#include "common/tree/hnow.h"
#include "common/tree/hnow_table.h"

/* Hosts, of networks that are used, and of which all trees are planned. */
enum { MOST = 16, FEW = 4 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "fuzz_network: %s\n", what);
        abort();
    }
}

static void check_error(const char *text, size_t bytes,
                        const struct nf_error *err)
{
    unsigned long line = 0, lines = 1;
    int end = 0;

    for (size_t i = 0; i < bytes; i++)
        lines += text[i] == '\n';
    must(err->status == NF_ERR_INVAL, "another status");
    for (const char *c = err->text; *c != '\0'; c++)
        must((unsigned char)*c >= ' ', "an error that is not one line");
    must(sscanf(err->text, "p:%lu: %n", &line, &end) == 1 && end > 0,
         "an error without line");
    must(line >= 1 && line <= lines, "an error in no line");
}

/* No port is held for longer than its wire takes, or than its host says that it
 * waits; and if a host and its wires are lines the quickest port is held for no
 * longer than that.  Where tables bend it may be: nf_network_ports(). */
static void check_ports(const struct nf_network *network, uint32_t i, double m)
{
    const double more = 1 + 1e-12;
    double port[MOST], least_us = INFINITY;
    double hold_us = nf_curve_us(&network->hosts[i].hold, m);
    bool lines = !network->hosts[i].hold.by_table;

    nf_network_ports(network, i, m, port, 1);
    for (uint32_t j = 0; j < network->nhosts; j++) {
        must(port[j] >= 0 && port[j] < INFINITY, "G below 0");
        if (j == i)
            continue;
        must(port[j] <= more * fmax(hold_us, nf_network_medium_us(network, i, j,
                                                                  m, INFINITY)),
             "G above H and the wire");
        least_us = fmin(least_us, port[j]);
        lines = lines && !nf_network_wire(network, i, j)->by_table;
    }
    must(!lines || least_us <= more * hold_us, "G above H");
}

static void check_times(const struct nf_network *network)
{
    uint32_t n = network->nhosts;

    for (uint32_t i = 0; i < n; i++)
        for (double m = 0; m < 1e9; m = 7 * m + 31) {
            must(nf_network_time_us(network, i, (i + 1) % n, m) >= 0,
                 "T below 0");
            check_ports(network, i, m);
        }
}

/* No tree is there before any can be. */
static void check_plan(const struct nf_hetero *hetero, uint32_t root,
                       const struct nf_crl_plan *crl)
{
    struct nf_hops hops;
    double bound_us;

    must(nf_hops_init_segments(&hops, hetero, (double)crl->segment_bytes,
                               crl->segments) == NF_OK,
         "no hops");
    must(nf_tree_bound_of(&hops, root, crl->segments, &bound_us, NULL) == NF_OK,
         "no bound");
    nf_hops_fini(&hops);
    must(crl->time_us * (1 + 1e-9) + 1e-6 >= bound_us, "better than best");
}

static void plan_all(const struct nf_hetero *hetero, uint32_t root)
{
    for (size_t i = 0; nf_hnow_table[i] != NULL; i++) {
        struct nf_crl_plan crl;
        struct nf_error err;

        must(nf_hnow_make(nf_hnow_table[i], hetero, root, 3000, &crl, &err) ==
                 NF_OK,
             nf_hnow_table[i]->name);
        check_plan(hetero, root, &crl);
        nf_crl_plan_fini(&crl);
    }
}

/* In long segments, and in short ones, which are other messages. */
static void plan(const struct nf_network *network)
{
    static const struct nf_crl_options options[] = {
        { .bytes = 70000, .least_segment = 20000, .polish = 5 },
        { .bytes = 3000, .least_segment = 1000, .polish = 5 },
    };
    uint32_t root = network->nhosts - 1;

    for (int i = 0; i < 4; i++) {
        struct nf_hetero hetero = nf_network_hetero(network, i % 2 != 0);
        struct nf_crl_plan crl;

        hetero.in_groups = i % 2 != 0;
        must(nf_crl_plan(&hetero, root, &options[i / 2], &crl, NULL) == NF_OK,
             "no plan");
        check_plan(&hetero, root, &crl);
        nf_crl_plan_fini(&crl);
        if (network->nhosts <= FEW && i / 2 == 1)
            plan_all(&hetero, root);
    }
}

/* Both on one host: there is no wire between them. */
static void check_shared(struct nf_network *network)
{
    static const uint32_t hosts[2] = { 4, 4 };
    double port[2];

    must(nf_network_share(network, hosts) == NF_OK, "not on one host");
    nf_network_ports(network, 1, 5000, port, 1);
    must(!(port[0] > 0) && !(port[1] > 0), "a port on one host");
    plan(network);
}

static void use(const struct nf_network *network)
{
    const struct nf_network_use here = { 1, NF_MODEL_ROUTE_DAEMON,
                                         NF_MODEL_ENCODING_XDR };
    char names[2][NF_NETWORK_NAME_BYTES] = { "somebody else", "" };
    struct nf_parameterized model;
    struct nf_network now;
    char text[200];

    memcpy(names[1], network->hosts[0].name, sizeof(names[1]));
    must(nf_network_of(network, (const char(*)[NF_NETWORK_NAME_BYTES])names, 2,
                       &now, NULL) == NF_OK,
         "of other hosts");
    check_times(&now);
    plan(&now);
    check_shared(&now);
    nf_network_fini(&now);
    (void)nf_network_is_doubtful(network, &here, text, sizeof(text));
    (void)nf_network_is_old(network, 1, NULL, 0, text, sizeof(text));
    must(nf_parameterized_of(network, &model) == NF_OK, "no medians");
    must(nf_curve_us(&model.end, 1000) >= 0, "t_end below 0");
    plan(network);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const char *text = (const char *)data;
    struct nf_network network, back;
    struct nf_error err = { NF_OK, "" };
    char *written, *again;
    size_t nwritten, nagain;

    if (nf_network_parse(text, bytes, "p", &network, &err) != NF_OK) {
        check_error(text, bytes, &err);
        return 0;
    }
    must(network.nhosts >= 2, "no hosts");
    if (network.nhosts <= MOST) {
        check_times(&network);
        use(&network);
    }
    must(nf_network_write(&network, &written, &nwritten) == NF_OK,
         "cannot be written");
    must(nf_network_parse(written, nwritten, "p", &back, &err) == NF_OK,
         "what was written cannot be read");
    must(nf_network_write(&back, &again, &nagain) == NF_OK,
         "cannot be written again");
    must(nwritten == nagain && memcmp(written, again, nwritten) == 0,
         "not the same text");
    nf_free(written);
    nf_free(again);
    nf_network_fini(&network);
    nf_network_fini(&back);
    return 0;
}

#ifndef NF_LIBFUZZER
#define FUZZ_TEXT_TAIL_OF 8
#include "tests/fuzz/fuzz_text.h"

#define HEAD                                                                   \
    "{\"nowfarm_network\": 1, \"date\": \"2026-11-22T12:00:00Z\",\n"           \
    "\"medium\": \"switch\", \"route\": \"direct\", \"encoding\": \"raw\",\n"  \
    "\"hosts_hash\": 7, \"collective\": {\"pieces\": [[0, 5, 0.1], [99, -1, "  \
    "0.2]], \"delta\": 1.5, \"o_s_us\": 2, \"t_op\": [[\"double\", \"sum\", "  \
    "0.1]]},\n"
#define COSTS                                                                  \
    "\"send\": {\"us\": 9, \"us_per_byte\": 0.5},\n\"recv\": {\"us\": 1, "     \
    "\"us_per_byte\": 0, \"points\": [[0, 1], [64, 8], [256, 3]]}, \"hold\": " \
    "{\"us\": 7, \"us_per_byte\": 0.8}"
#define LOW_COSTS                                                              \
    "\"send\": {\"us\": 9, \"us_per_byte\": 0.5, \"points\": [[0, 9, 8], "     \
    "[64, 40, 39], [256, 130, 120]]}, \"recv\": {\"us\": 1, \"us_per_byte\": " \
    "0}, \"hold\": {\"us\": 7, \"us_per_byte\": 0.8}"
#define WIRE       "\"wire\": {\"us\": 4, \"us_per_byte\": 0.08}"
#define STEEP_WIRE "\"wire\": {\"us\": 4, \"us_per_byte\": 1e9}"

static const char *const texts[] = {
    HEAD "\"hosts\": [{\"name\": \"a\", " COSTS "},\n{\"name\": \"b\", " COSTS
         "}],\n\"wires\": [{\"from\": \"a\", \"to\": \"b\", " WIRE
         "}, {\"from\": \"b\", \"to\": \"a\", " WIRE "}]}",
    HEAD "\"hosts\": [{\"name\": \"a\", " COSTS "},\n{\"name\": \"b\", " COSTS
         "}],\n\"wires\": [{\"from\": \"a\", \"to\": \"b\", " STEEP_WIRE
         "}, {\"from\": \"b\", \"to\": \"a\", " STEEP_WIRE "}]}",
    /* a hub, and all that may be missing */
    "{\"nowfarm_network\": 1, \"date\": \"2026-11-22T12:00:00Z\",\n"
    "\"medium\": \"shared\", \"route\": \"daemon\", \"encoding\": \"xdr\",\n"
    "\"hosts_hash\": 7, \"call_us\": 80, \"wake_us\": 9.5,\n"
    "\"collective\": {\"pieces\": [[0, 5, 0.1]], \"delta\": 2, \"o_s_us\": 2,\n"
    "\"share_us\": 3, \"share_part\": 0.5, \"t_op\": []},\n"
    "\"hosts\": [{\"name\": \"a\", " COSTS ", \"runtime_us\": 4},\n"
    "{\"name\": \"b\", " LOW_COSTS "}],\n"
    "\"wires\": [{\"from\": \"a\", \"to\": \"b\", " WIRE
    "}, {\"from\": \"b\", \"to\": \"a\", " STEEP_WIRE "}]}",
    /* a pair is missing, times are negative or no numbers */
    HEAD "\"hosts\": [{\"name\": \"a\", " COSTS "},\n{\"name\": \"b\", " COSTS
         "}],\n\"wires\": [{\"from\": \"a\", \"to\": \"b\", " WIRE "}]}",
    HEAD
    "\"hosts\": [{\"name\": \"a\", " COSTS "},\n{\"name\": \"b\", " COSTS
    "}],\n\"wires\": [{\"from\": \"a\", \"to\": \"b\", \"wire\": {\"us\": -1, "
    "\"us_per_byte\": 1e999}}, {\"from\": \"b\", \"to\": \"c\", " WIRE "}]}",
    "{\"nowfarm_network\": 1, \"date\": \"2026-02-28T23:59:60Z\",\n"
    "\"medium\": \"shared\"}",
    "{\"nowfarm_network\": 3}",
};

int main(int argc, char **argv)
{
    return fuzz_text_main(argc, argv, texts, sizeof(texts) / sizeof(texts[0]));
}
#endif
