/* Tables of what was measured: which rule is found, and that text comes back as
 * it was written, or not at all. */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/coll/rules.h"
#include "tests/unit/nf_unit.h"

static struct nf_coll_rules rules;

static int set_up(void)
{
    nf_coll_rules_init(&rules);
    rules.model = (struct nf_model){
        .npieces = 2,
        .pieces = { { 0, 176, 0.105 }, { 8192, -20.5, 0.13 } },
        .nnear = 1,
        .near = { { 0, 12, 0.0006 } },
        .delta = 1.25,
        .occupancy_us = 12,
        .share_us = 31.5,
        .share_part = 0.25,
        .route = NF_MODEL_ROUTE_DIRECT,
        .encoding = NF_MODEL_ENCODING_XDR,
        .hosts_hash = 0x9e3779b9,
        .date = "2026-11-21T23:50:30Z",
    };
    nf_model_set_combine(&rules.model, "double", "sum", 0.001);
    return 0;
}

static int clean_up(void)
{
    nf_coll_rules_fini(&rules);
    return 0;
}

static void add(enum nf_coll_op op, enum nf_coll_class operators,
                uint32_t ranks, uint64_t max_bytes, const char *name,
                enum nf_coll_k_rule k_rule, uint64_t value)
{
    const struct nf_coll_rule rule = { op,        operators,          ranks,
                                       max_bytes, nf_coll_find(name), k_rule,
                                       value };

    CU_ASSERT_PTR_NOT_NULL(rule.algorithm);
    CU_ASSERT_EQUAL(nf_coll_rules_add(&rules, &rule), NF_OK);
}

static void add_bcasts(void)
{
    nf_coll_rules_fini(&rules);
    set_up();
    /* not in their order */
    add(NF_COLL_BCAST, NF_CLASS_ANY, 8, UINT64_MAX, "bcast.pipeline.fd",
        NF_K_SEGMENT, 8192);
    add(NF_COLL_BCAST, NF_CLASS_ANY, 16, 100, "bcast.flat", NF_K_MODEL, 0);
    add(NF_COLL_BCAST, NF_CLASS_ANY, 8, 1000, "bcast.binomial", NF_K_FIXED, 1);
    add(NF_COLL_BCAST, NF_CLASS_ANY, 8, 50000, "bcast.pipeline.hd", NF_K_FIXED,
        7);
    add(NF_COLL_ALLREDUCE, NF_CLASS_COMMUTATIVE, 8, UINT64_MAX,
        "allreduce.ring", NF_K_MODEL, 0);
}

static const char *found(enum nf_coll_op op, uint32_t ranks, uint64_t bytes,
                         bool commutative)
{
    const struct nf_coll_query query = { .op = op,
                                         .ranks = ranks,
                                         .bytes = bytes,
                                         .elements = bytes,
                                         .commutative = commutative };
    const struct nf_coll_rule *rule = nf_coll_rules_find(&rules, &query);

    return rule != NULL ? rule->algorithm->name : "model";
}

static void test_find(void)
{
    CU_ASSERT_STRING_EQUAL(found(NF_COLL_BCAST, 8, 8, true), "model");
    add_bcasts();
    CU_ASSERT_EQUAL(rules.count, 5);
    /* by size, which is the greatest */
    CU_ASSERT_STRING_EQUAL(found(NF_COLL_BCAST, 8, 0, true), "bcast.binomial");
    CU_ASSERT_STRING_EQUAL(found(NF_COLL_BCAST, 8, 1000, true),
                           "bcast.binomial");
    CU_ASSERT_STRING_EQUAL(found(NF_COLL_BCAST, 8, 1001, true),
                           "bcast.pipeline.hd");
    CU_ASSERT_STRING_EQUAL(found(NF_COLL_BCAST, 8, UINT64_MAX, true),
                           "bcast.pipeline.fd");
    /* by P: the same, the next smaller down to the half */
    CU_ASSERT_STRING_EQUAL(found(NF_COLL_BCAST, 7, 8, true), "model");
    CU_ASSERT_STRING_EQUAL(found(NF_COLL_BCAST, 15, 8, true), "bcast.binomial");
    CU_ASSERT_STRING_EQUAL(found(NF_COLL_BCAST, 16, 100, true), "bcast.flat");
    CU_ASSERT_STRING_EQUAL(found(NF_COLL_BCAST, 16, 101, true), "model");
    CU_ASSERT_STRING_EQUAL(found(NF_COLL_BCAST, 32, 100, true), "bcast.flat");
    CU_ASSERT_STRING_EQUAL(found(NF_COLL_BCAST, 33, 100, true), "model");
    /* by operation and operator */
    CU_ASSERT_STRING_EQUAL(found(NF_COLL_ALLREDUCE, 8, 100, true),
                           "allreduce.ring");
    CU_ASSERT_STRING_EQUAL(found(NF_COLL_ALLREDUCE, 8, 100, false), "model");
    CU_ASSERT_STRING_EQUAL(found(NF_COLL_REDUCE, 8, 100, true), "model");
    /* what cannot serve: fewer elements than blocks */
    CU_ASSERT_STRING_EQUAL(found(NF_COLL_ALLREDUCE, 8, 7, true), "model");
    /* in place of another */
    add(NF_COLL_BCAST, NF_CLASS_ANY, 8, 1000, "bcast.flat", NF_K_FIXED, 1);
    CU_ASSERT_EQUAL(rules.count, 5);
    CU_ASSERT_STRING_EQUAL(found(NF_COLL_BCAST, 8, 1000, true), "bcast.flat");
}

static void test_choice(void)
{
    struct nf_coll_network network;
    struct nf_coll_query query = { .op = NF_COLL_BCAST,
                                   .ranks = 8,
                                   .bytes = 100000,
                                   .elements = 100000,
                                   .commutative = true };
    struct nf_coll_choice choice;
    struct nf_error err;

    add_bcasts();
    network = nf_coll_network_of(&rules.model, "double", "sum");
    CU_ASSERT_EQUAL(network.price.npieces, 2);
    CU_ASSERT_EQUAL(network.price.combine_byte_us, 0.001);
    CU_ASSERT_EQUAL(network.delta, 1.25);
    /* segments of 8 KiB */
    CU_ASSERT_EQUAL(
        nf_coll_select(&query, &network, &rules, NULL, &choice, &err), NF_OK);
    CU_ASSERT_STRING_EQUAL(choice.algorithm->name, "bcast.pipeline.fd");
    CU_ASSERT_EQUAL(choice.segments, 13);
    CU_ASSERT(choice.cost_us > 0 && isfinite(choice.cost_us));
    /* a number, but no more than elements */
    query.bytes = 40000;
    query.elements = 5;
    CU_ASSERT_EQUAL(
        nf_coll_select(&query, &network, &rules, NULL, &choice, &err), NF_OK);
    CU_ASSERT_STRING_EQUAL(choice.algorithm->name, "bcast.pipeline.hd");
    CU_ASSERT_EQUAL(choice.segments, 5);
    /* a name goes before rules */
    CU_ASSERT_EQUAL(nf_coll_select(&query, &network, &rules,
                                   "bcast.pipeline.fd:k=3", &choice, &err),
                    NF_OK);
    CU_ASSERT_STRING_EQUAL(choice.algorithm->name, "bcast.pipeline.fd");
    CU_ASSERT_EQUAL(choice.segments, 3);
    CU_ASSERT_EQUAL(
        nf_coll_select(&query, &network, &rules, "bcast.flat", &choice, &err),
        NF_OK);
    CU_ASSERT_STRING_EQUAL(choice.algorithm->name, "bcast.flat");
    CU_ASSERT_EQUAL(choice.segments, 1);
}

static void refused(const struct nf_coll_query *query, const char *forced,
                    const char *line)
{
    struct nf_coll_network network =
        nf_coll_network_of(&rules.model, NULL, NULL);
    struct nf_coll_choice choice;
    struct nf_error err;

    CU_ASSERT_EQUAL(
        nf_coll_select(query, &network, NULL, forced, &choice, &err),
        NF_ERR_INVAL);
    CU_ASSERT_STRING_EQUAL(err.text, line);
}

static void test_forced(void)
{
    struct nf_coll_network network = nf_coll_network_of(&rules.model, NULL, NULL);
    struct nf_coll_choice choice;
    const struct nf_coll_query query = { .op = NF_COLL_BCAST,
                                         .ranks = 6,
                                         .bytes = 64,
                                         .elements = 8,
                                         .commutative = true };
    const struct nf_coll_query ordered = { .op = NF_COLL_ALLREDUCE,
                                           .ranks = 6,
                                           .bytes = 64,
                                           .elements = 8,
                                           .commutative = false };
    const struct nf_coll_query few = { .op = NF_COLL_ALLREDUCE,
                                       .ranks = 6,
                                       .bytes = 40,
                                       .elements = 5,
                                       .commutative = true };

    add_bcasts();
    refused(&query, "bcast.magic",
            "\"bcast.magic\": no such algorithm (see: nowfarm plans)");
    refused(&query, "", "\"\": no such algorithm (see: nowfarm plans)");
    refused(&query, "bcast.pipeline.fd:k=0",
            "\"bcast.pipeline.fd:k=0\": want :k= and 1 to 1024 segments after "
            "the name");
    refused(
        &query, "bcast.pipeline.fd:8",
        "\"bcast.pipeline.fd:8\": want :k= and 1 to 1024 segments after the "
        "name");
    refused(&query, "bcast.flat:k=8",
            "\"bcast.flat:k=8\": want nothing after the name");
    refused(
        &query, "alltoall.bruck:k=8",
        "\"alltoall.bruck:k=8\": want :radix= and a number up to 4096 after "
        "the name");
    refused(&query, "allreduce.ring",
            "allreduce.ring cannot serve this bcast: 6 ranks, operands in "
            "any order");
    refused(&ordered, "allreduce.ring",
            "allreduce.ring cannot serve this allreduce: 6 ranks, operands "
            "in the order of ranks");
    /* who asks for it by name gets it, with empty blocks */
    CU_ASSERT_EQUAL(nf_coll_select(&few, &network, NULL, "allreduce.ring", &choice, NULL),
                    NF_OK);
    CU_ASSERT(choice.algorithm == nf_coll_find("allreduce.ring"));
}

/* ---- text ---- */

static const char *const text =
    "nowfarm-collectives 1\n"
    "library 1.2.3\n"
    "hosts 9e3779b9\n"
    "route direct\n"
    "encoding xdr\n"
    "date 2026-11-21T23:50:30Z\n"
    "delta 1.25\n"
    "occupancy_us 12\n"
    "share_us 31.5\n"
    "share_part 0.25\n"
    "piece 0 176 0.105\n"
    "piece 8192 -20.5 0.13\n"
    "near 0 12 0.0006\n"
    "combine double sum 0.001\n"
    "rule bcast any 8 1000 bcast.binomial 1\n"
    "rule bcast any 8 50000 bcast.pipeline.hd 7\n"
    "rule bcast any 8 max bcast.pipeline.fd 8192B\n"
    "rule bcast any 16 100 bcast.flat model\n"
    "rule allreduce commutative 8 max allreduce.ring model\n";

/* The text with its checksum, by the bytes of the polynomial. */
static char *sealed(const char *lines)
{
    size_t bytes = strlen(lines);
    uint32_t crc = 0xffffffff;
    char *whole = malloc(bytes + 20);

    for (size_t i = 0; i < bytes; i++) {
        crc ^= (unsigned char)lines[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc & 1) != 0 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
    }
    sprintf(whole, "%send %08x\n", lines, crc ^ 0xffffffff);
    return whole;
}

static void test_write(void)
{
    char *want = sealed(text), *got;
    struct nf_error err;
    size_t bytes;

    add_bcasts();
    strcpy(rules.library, "1.2.3");
    CU_ASSERT_EQUAL(nf_coll_rules_write(&rules, &got, &bytes, &err), NF_OK);
    CU_ASSERT_STRING_EQUAL(got, want);
    CU_ASSERT_EQUAL(bytes, strlen(want));
    CU_ASSERT_EQUAL(rules.id, strtoul(want + strlen(text) + 4, NULL, 16));
    nf_free(got);
    free(want);
    rules.model.npieces = 0;
    CU_ASSERT_EQUAL(nf_coll_rules_write(&rules, &got, &bytes, &err),
                    NF_ERR_INVAL);
}

static enum nf_status read_text(const char *whole, struct nf_coll_rules *into,
                                struct nf_error *warning, struct nf_error *err)
{
    err->text[0] = '\0';
    return nf_coll_rules_read(whole, strlen(whole), into, warning, err);
}

static void test_read(void)
{
    char *whole = sealed(text), *again;
    struct nf_coll_rules got;
    struct nf_error warning, err;
    size_t bytes;

    nf_coll_rules_init(&got);
    CU_ASSERT_EQUAL(read_text(whole, &got, &warning, &err), NF_OK);
    CU_ASSERT_EQUAL(warning.status, NF_OK);
    CU_ASSERT_EQUAL(got.count, 5);
    CU_ASSERT_EQUAL(got.model.npieces, 2);
    CU_ASSERT_EQUAL(got.model.pieces[1].start_us, -20.5);
    CU_ASSERT_EQUAL(got.model.hosts_hash, 0x9e3779b9);
    CU_ASSERT_EQUAL(got.model.encoding, NF_MODEL_ENCODING_XDR);
    CU_ASSERT_EQUAL(got.id, strtoul(whole + strlen(text) + 4, NULL, 16));
    CU_ASSERT_EQUAL(nf_coll_rules_write(&got, &again, &bytes, &err), NF_OK);
    CU_ASSERT_STRING_EQUAL(again, whole);
    nf_free(again);
    free(whole);
    nf_coll_rules_fini(&got);
}

/* Whatever byte is changed or wherever it ends, it is not taken. */
static void test_damage(void)
{
    char *whole = sealed(text);
    size_t bytes = strlen(whole);
    struct nf_coll_rules got;
    struct nf_error warning, err;
    unsigned taken = 0;

    nf_coll_rules_init(&got);
    for (size_t i = 0; i < bytes; i++) {
        whole[i] ^= 1;
        taken += nf_coll_rules_read(whole, bytes, &got, &warning, &err) !=
                 NF_ERR_INVAL;
        whole[i] ^= 1;
        taken +=
            nf_coll_rules_read(whole, i, &got, &warning, &err) != NF_ERR_INVAL;
    }
    CU_ASSERT_EQUAL(taken, 0);
    CU_ASSERT_STRING_EQUAL(err.text,
                           "cut off or changed: the checksum is wrong");
    CU_ASSERT_EQUAL(got.count, 0);
    CU_ASSERT_EQUAL(nf_coll_rules_read(whole, bytes, &got, &warning, &err),
                    NF_OK);
    nf_coll_rules_fini(&got);
    free(whole);
}

/* The right checksum over a wrong line. */
static void test_wrong_lines(void)
{
    static const char *const lines[] = {
        "hosts 9e3779\n",
        "hosts 9e3779b9a\n",
        "route tunnel\n",
        "encoding\n",
        "delta 0.5\n",
        "delta nan\n",
        "piece 0 1 1\n", /* does not ascend */
        "piece 9000 -99999 0.1\n",
        "combine double sum -1\n",
        "combine double sum_of_all_that_there_is 1\n",
        "rule bcast any 1 max bcast.flat 1\n",
        "rule bcast any 5000 max bcast.flat 1\n",
        "rule bcast some 8 max bcast.flat 1\n",
        "rule bcast any 8 many bcast.flat 1\n",
        "rule bcast any 8 max bcast.flat 0\n",
        "rule bcast any 8 max bcast.flat 1025\n",
        "rule bcast any 8 max bcast.flat B\n",
        "rule bcast any 8 max bcast.flat 0B\n",
        "rule bcast any 8 max bcast.flat\n",
        "rule bcast any 8 max bcast.flat 1 2\n",
        "rule a b c d e f g h i j\n",
        "hello\n",
        "\n",
    };

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char joined[2000], *whole;
        struct nf_coll_rules got;
        struct nf_error warning, err;

        snprintf(joined, sizeof(joined), "%s%s", text, lines[i]);
        whole = sealed(joined);
        nf_coll_rules_init(&got);
        CU_ASSERT_EQUAL(read_text(whole, &got, &warning, &err), NF_ERR_INVAL);
        CU_ASSERT_STRING_EQUAL(err.text, "line 20 is damaged");
        nf_coll_rules_fini(&got);
        free(whole);
    }
}

static void read_other(const char *lines, enum nf_status want,
                       const char *want_err, const char *want_warning,
                       size_t want_rules)
{
    char *whole = sealed(lines);
    struct nf_coll_rules got;
    struct nf_error warning, err;

    nf_coll_rules_init(&got);
    CU_ASSERT_EQUAL(read_text(whole, &got, &warning, &err), want);
    if (want_err != NULL)
        CU_ASSERT_STRING_EQUAL(err.text, want_err);
    CU_ASSERT_EQUAL(warning.status != NF_OK, want_warning != NULL);
    if (want_warning != NULL)
        CU_ASSERT_STRING_EQUAL(warning.text, want_warning);
    CU_ASSERT_EQUAL(got.count, want_rules);
    nf_coll_rules_fini(&got);
    free(whole);
}

static void test_other_versions(void)
{
    read_other("nowfarm-collectives 2\nmore\n", NF_ERR_INVAL,
               "format 2: want format 1", NULL, 0);
    read_other("something else\n", NF_ERR_INVAL, "no table of collectives",
               NULL, 0);
    read_other("nowfarm-collectives 1\ndelta 1\n", NF_ERR_INVAL,
               "there is no model in it", NULL, 0);
    read_other("nowfarm-collectives 1\npiece 0 1 1\n", NF_ERR_INVAL,
               "there is no model in it", NULL, 0);
    read_other("nowfarm-collectives 1\ndelta 1\npiece 0 1 1\n"
               "rule bcast any 8 64 bcast.magic 1\n"
               "rule bcast any 8 max bcast.flat 1\n",
               NF_OK, NULL,
               "line 4: rule ignored: algorithm \"bcast.magic\" is not known",
               1);
    read_other("nowfarm-collectives 1\ndelta 1\npiece 0 1 1\n"
               "rule sort any 8 64 sort.quick 1\n"
               "rule reduce any 8 64 bcast.flat 1\n",
               NF_OK, NULL,
               "line 4: rule ignored: operation \"sort\" is not known (and 1 "
               "more)",
               0);
    /* no call of reduce is of that class; another order than ranks; and none of 6
     * members, but of 8, which go by the rule too */
    read_other("nowfarm-collectives 1\ndelta 1\npiece 0 1 1\n"
               "rule reduce any 8 64 reduce.linear 1\n"
               "rule reduce commutative 8 64 reduce.circulant 1\n"
               "rule reduce ordered 8 64 reduce.circulant 1\n"
               "rule alltoall any 6 max alltoall.pairwise_xor 1\n",
               NF_OK, NULL,
               "line 4: rule ignored: algorithm \"reduce.linear\" never serves "
               "such a call (and 1 more)",
               2);
}

static void test_no_memory(void)
{
    char *whole = sealed(text), *got;
    struct nf_coll_rules into;
    struct nf_error warning, err;
    enum nf_status status = NF_ERR_NOMEM;
    size_t bytes;
    long n = 0;

    for (; n < 100 && status == NF_ERR_NOMEM; n++) {
        nf_coll_rules_init(&into);
        nf_alloc_fail_after(n);
        status = read_text(whole, &into, &warning, &err);
        nf_alloc_fail_after(-1);
        nf_coll_rules_fini(&into);
    }
    CU_ASSERT_EQUAL(status, NF_OK);
    CU_ASSERT(n > 2);
    add_bcasts();
    for (n = 0, status = NF_ERR_NOMEM; n < 100 && status == NF_ERR_NOMEM; n++) {
        nf_alloc_fail_after(n);
        status = nf_coll_rules_write(&rules, &got, &bytes, &err);
        nf_alloc_fail_after(-1);
    }
    CU_ASSERT_EQUAL(status, NF_OK);
    nf_free(got);
    free(whole);
}

/* Rules of a later version are not gone by, and not lost when written again. */
static void test_unknown(void)
{
    char lines[4096], *whole, *again;
    struct nf_coll_rules got;
    struct nf_error warning, err;
    size_t bytes;

    snprintf(lines, sizeof(lines), "%s%s", text,
             "rule bcast any 8 77 bcast.later 4096B\n"
             "rule bcaster any 8 max bcaster.best model\n");
    whole = sealed(lines);
    nf_coll_rules_init(&got);
    CU_ASSERT_EQUAL(read_text(whole, &got, &warning, &err), NF_OK);
    CU_ASSERT_STRING_EQUAL(
        warning.text, "line 20: rule ignored: algorithm \"bcast.later\" is "
                      "not known (and 1 more)");
    CU_ASSERT_EQUAL(got.count, 5);
    CU_ASSERT_EQUAL(nf_coll_rules_write(&got, &again, &bytes, &err), NF_OK);
    CU_ASSERT_STRING_EQUAL(again, whole);
    nf_free(again);
    nf_coll_rules_forget_unknown(&got, "bcast", NF_CLASS_ORDERED, 8);
    nf_coll_rules_forget_unknown(&got, "bcast", NF_CLASS_ANY, 4);
    nf_coll_rules_forget_unknown(&got, "bcast", NF_CLASS_ANY, 80);
    CU_ASSERT(got.unknown_bytes > 60);
    nf_coll_rules_forget_unknown(&got, "bcast", NF_CLASS_ANY, 8);
    CU_ASSERT_STRING_EQUAL(got.unknown,
                           "rule bcaster any 8 max bcaster.best model\n");
    nf_coll_rules_forget_unknown(&got, NULL, NF_CLASS_ANY, 0);
    CU_ASSERT_EQUAL(got.unknown_bytes, 0);
    nf_coll_rules_fini(&got);
    free(whole);
}

/* A table of other hosts, routes, encodings or versions says so. */
static void test_elsewhere(void)
{
    struct nf_coll_rules table;
    struct nf_coll_place here = nf_coll_place_of(5, true, false);
    char said[200];

    nf_coll_rules_init(&table);
    table.model.route = NF_MODEL_ROUTE_DIRECT;
    CU_ASSERT_FALSE(nf_coll_rules_differ(&table, &here, said, sizeof(said)));
    snprintf(table.library, sizeof(table.library), "%s", nf_version());
    table.model.hosts_hash = 5;
    CU_ASSERT_FALSE(nf_coll_rules_differ(&table, &here, said, sizeof(said)));
    CU_ASSERT_STRING_EQUAL(said, "");
    here = nf_coll_place_of(6, false, true);
    strcpy(table.library, "0.0.1");
    CU_ASSERT_TRUE(nf_coll_rules_differ(&table, &here, said, sizeof(said)));
    CU_ASSERT_STRING_EQUAL(
        said, "tuned between other hosts, for messages by the direct route, "
              "for data sent as they are, by version 0.0.1");
    here.hosts_hash = 0; /* who knows */
    table.model.route = NF_MODEL_ROUTE_DAEMON;
    table.model.encoding = NF_MODEL_ENCODING_XDR;
    strcpy(table.library, nf_version());
    CU_ASSERT_FALSE(nf_coll_rules_differ(&table, &here, said, sizeof(said)));
    nf_coll_rules_fini(&table);
}

int main(void)
{
    CU_TestInfo memory[] = {
        { "the rule for a call", test_find },
        { "from a rule to an algorithm and k", test_choice },
        { "names that cannot be forced", test_forced },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo texts[] = {
        { "written", test_write },
        { "read, and written again", test_read },
        { "one wrong byte, or cut off", test_damage },
        { "wrong lines under a right checksum", test_wrong_lines },
        { "other versions and unknown names", test_other_versions },
        { "out of memory", test_no_memory },
        { "rules of later versions are kept", test_unknown },
        { "a table of elsewhere says so", test_elsewhere },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "rules", set_up, clean_up, NULL, NULL, memory },
        { "text", set_up, clean_up, NULL, NULL, texts },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
