/* Files of parameters: the goldens', and what is none. */
#include "config.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/model/params_file.h"
#include "common/tree/hnow_table.h"
#include "common/tree/times.h"
#include "tests/unit/nf_unit.h"

#define HOSTS                                                                  \
    "\"S_c\": [9, 5],\n\"S_m\": [0, 0.5],\n\"R_c\": [1, 2],\n\"R_m\": [3, "    \
    "4],\n"

static bool are(const char *text)
{
    struct nf_json_document document = { .root = NULL };
    bool are = nf_json_parse(text, strlen(text), "p", &document, NULL) ==
                   NF_OK &&
               nf_params_are(&document);

    nf_json_document_fini(&document);
    return are;
}

static enum nf_status parse(const char *text, struct nf_hetero *hetero_p,
                            uint32_t *root_p, struct nf_error *err)
{
    struct nf_json_document document = { .root = NULL };
    enum nf_status status =
        nf_json_parse(text, strlen(text), "p", &document, err);

    if (status == NF_OK)
        status = nf_params_read(&document, hetero_p, root_p, err);
    nf_json_document_fini(&document);
    return status;
}

/* ---- the goldens ---- */

static bool has_children(const struct nf_tree *tree, const json_t *children)
{
    bool same = tree->nodes == json_array_size(children);

    for (uint32_t v = 0; same && v < tree->nodes; v++) {
        const json_t *list = json_array_get(children, v);
        uint32_t count = tree->first[v + 1] - tree->first[v];

        same = json_array_size(list) == count;
        for (uint32_t i = 0; same && i < count; i++)
            same = tree->child[tree->first[v] + i] ==
                   json_integer_value(json_array_get(list, i));
    }
    return same;
}

static void check_result(const json_t *want, const struct nf_tree *tree,
                         double time_us)
{
    double want_us = json_is_number(want)
                         ? json_number_value(want)
                         : json_number_value(json_object_get(want, "time"));

    CU_ASSERT(want_us > 0 && fabs(time_us - want_us) <= 1e-9 * want_us);
    if (json_is_object(want))
        CU_ASSERT(has_children(tree, json_object_get(want, "children")));
}

static void check_algorithm(const json_t *results, const char *key,
                            const char *name, const struct nf_hetero *hetero,
                            uint32_t root)
{
    const struct nf_hnow_algorithm *algorithm = nf_hnow_find(name);
    struct nf_crl_plan plan;
    struct nf_hops hops;
    char text[64];
    double time_us = 0;

    snprintf(text, sizeof(text), "%s/blocking", key);
    CU_ASSERT_EQUAL_FATAL(
        nf_hnow_make_blocking(algorithm, hetero, root, 1000, &plan, NULL),
        NF_OK);
    check_result(json_object_get(results, text), &plan.tree, plan.time_us);
    nf_crl_plan_fini(&plan);
    snprintf(text, sizeof(text), "%s/nonblocking", key);
    CU_ASSERT_EQUAL_FATAL(
        nf_hnow_make(algorithm, hetero, root, 1000, &plan, NULL), NF_OK);
    check_result(json_object_get(results, text), &plan.tree, plan.time_us);
    snprintf(text, sizeof(text), "%s/nonblocking+A1", key);
    if (json_object_get(results, text) != NULL) {
        CU_ASSERT_EQUAL(nf_hops_init(&hops, hetero, 1000), NF_OK);
        CU_ASSERT_EQUAL(nf_tree_reorder(&plan.tree, &hops, 1, &time_us), NF_OK);
        check_result(json_object_get(results, text), &plan.tree, time_us);
        nf_hops_fini(&hops);
    }
    nf_crl_plan_fini(&plan);
}

static void the_goldens_are_read(void)
{
    static const char *const names[][2] = { { "FEF", "fef" },
                                            { "ECEF", "ecef" },
                                            { "ECEF-LA", "ecef-la" },
                                            { "FNF", "fnf" },
                                            { "exact", "exact" } };
    json_t *golden =
        json_load_file(NF_SRCDIR "/tests/golden/hnow.json", 0, NULL);
    json_t *row;
    size_t i;

    CU_ASSERT_EQUAL(json_array_size(json_object_get(golden, "hnow_fixed")), 2);
    json_array_foreach(json_object_get(golden, "hnow_fixed"), i, row)
    {
        char *text = json_dumps(json_object_get(row, "params"), 0);
        struct nf_hetero hetero;
        struct nf_error err;
        uint32_t root = 77;

        CU_ASSERT(are(text));
        CU_ASSERT_EQUAL_FATAL(parse(text, &hetero, &root, &err), NF_OK);
        CU_ASSERT_EQUAL(root, 0);
        CU_ASSERT_EQUAL(hetero.hosts, 6);
        CU_ASSERT_EQUAL(hetero.is_matrix, i == 1);
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
            check_algorithm(json_object_get(row, "results"), names[k][0],
                            names[k][1], &hetero, root);
        nf_hetero_fini(&hetero);
        free(text);
    }
    json_decref(golden);
}

/* ---- by hand ---- */

static void each_part_goes_to_its_place(void)
{
    static const char text[] =
        "{\"n\": 2, \"root\": 1, " HOSTS
        "\"X_c\": 7, \"X_m\": [[-0.0, 0.25], [8, null]], \"ports\": true}";
    struct nf_hetero hetero;
    uint32_t root = 0;

    CU_ASSERT_EQUAL_FATAL(parse(text, &hetero, &root, NULL), NF_OK);
    CU_ASSERT(root == 1 && hetero.hosts == 2 && hetero.has_ports);
    CU_ASSERT(hetero.send[0].fixed_us == 9 && hetero.send[1].byte_us == 0.5);
    CU_ASSERT(hetero.recv[1].fixed_us == 2 && hetero.recv[0].byte_us == 3);
    CU_ASSERT(nf_hetero_wire(&hetero, 0, 1).fixed_us == 7);
    CU_ASSERT(nf_hetero_wire(&hetero, 0, 1).byte_us == 0.25);
    CU_ASSERT(nf_hetero_wire(&hetero, 1, 0).byte_us == 8);
    nf_hetero_fini(&hetero);
}

static void what_is_no_file_of_parameters(void)
{
    static const char *const others[] = {
        "",
        "{",
        "[]",
        "7",
        "{}",
        "{\"nowfarm_network\": 1, \"S_c\": []}",
        "{\"S_c\": 1} x",
    };

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        CU_ASSERT_FALSE(are(others[i]));
    CU_ASSERT_TRUE(are("{\"X_m\": 1}"));
}

static const struct {
    const char *text, *said;
} bad[] = {
    { "", "p:1: " },
    { "[]", "p:1: a list: want an object" },
    { "{\"S_c\": [1], \"S_d\": 2}", "p:1: S_d: no such key (did you mean" },
    { "{\"S_c\": [1], \"S_c\": [2]}", "p:1: duplicate" },
    { "{\"S_m\": [1]}", "p:1: there is no \"S_c\"" },
    { "{\"S_c\": []}", "p:1: S_c: want a list of 1 to 4096" },
    { "{\"S_c\": 4}", "p:1: S_c: want a list of 1 to 4096" },
    { "{\"S_c\": [1, 2],\n\"n\": 3}",
      "p:2: n: 3: want an integer from 2 to 2" },
    { "{\"S_c\": [1, 2],\n\"root\": 2}", "p:2: root: 2: want an integer" },
    { "{\"S_c\": [1, 2],\n\"root\": -1}", "p:2: root: -1: want an integer" },
    { "{\"S_c\": [1, 2],\n\"root\": 0.5}", "p:2: root: a fraction: want" },
    { "{\"S_c\": [1, 2],\n\"ports\": 1}", "p:2: ports: want true or false" },
    { "{\"S_c\": [1, -2]}", "p:1: S_c[1]: -2: want a number from 0" },
    { "{\"S_c\": [1, null]}", "p:1: S_c[1]: null: want a number from 0" },
    { "{\"S_c\": [1, NaN]}", "p:1: " },
    { "{\"S_c\": [1, 1e999]}", "p:1: " },
    { "{\"S_c\": [1, 1e13]}", "p:1: S_c[1]: 1e+13: want a number from 0" },
    { "{\"S_c\": [1, 2], \"S_m\": [1]}",
      "S_m: want a list of 2, one for each" },
    { "{" HOSTS "\"X_c\": -1}", "p:5: X_c: -1: want a number from 0" },
    { "{" HOSTS "\"X_c\": [1]}", "p:5: X_c: want a list of 2, one for each "
                                 "sender" },
    { "{" HOSTS "\"X_c\": [[0, 1],\n[1]]}", "p:6: X_c[1]: want a list of 2, "
                                            "one for each receiver" },
    { "{" HOSTS "\"X_c\": [[0, 1],\n[-1, 0]]}", "p:6: X_c[1][0]: -1: want" },
    { "{" HOSTS "\"X_c\": [[0, 1],\n[1, -3]]}",
      "p:6: X_c[1][1]: want 0 here, nobody" },
    { "{" HOSTS "\"X_c\": [[2, 1],\n[1, 0]]}", "p:5: X_c[0][0]: want 0 here" },
    { "{" HOSTS "\"X_c\": [[1e-300, 1],\n[1, 0]]}", "p:5: X_c[0][0]: want 0" },
    { "{" HOSTS "\"X_c\": [[0, 1],\n[1, \"a\"]]}", "p:6: X_c[1][1]: want 0" },
    { "{" HOSTS "\"X_c\": [[0, 1],\n[1, false]]}", "p:6: X_c[1][1]: want 0" },
    { "{" HOSTS "\"X_c\": 0, \"X_m\": [[0, 1],\n[1, 0.1]]}",
      "p:6: X_m[1][1]: want 0 here" },
    { "{" HOSTS "\"X_c\": 0}", "p:1: there is no \"X_m\"" },
    { "{" HOSTS "\"X_c\": 0, \"X_m\": \"a\\nb\"}", "X_m: a string: want" },
};

static void bad_files_are_refused(void)
{
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct nf_hetero hetero = { .hosts = 77 };
        struct nf_error err = { NF_OK, "" };
        uint32_t root = 78;

        CU_ASSERT_EQUAL(parse(bad[i].text, &hetero, &root, &err), NF_ERR_INVAL);
        CU_ASSERT_EQUAL(err.status, NF_ERR_INVAL);
        CU_ASSERT(hetero.hosts == 77 && root == 78);
        CU_ASSERT_PTR_NULL(strchr(err.text, '\n'));
        if (strstr(err.text, bad[i].said) == NULL) {
            printf("\n    %s, want %s", err.text, bad[i].said);
            CU_FAIL("another error");
        }
    }
}

static void memory_may_be_short(void)
{
    static const char text[] =
        "{" HOSTS "\"X_c\": 7, \"X_m\": [[0, 1], [1, 0]]}";
    enum nf_status status = NF_ERR_NOMEM;

    for (int n = 0; status != NF_OK && n < 100; n++) {
        struct nf_error err = { NF_OK, "" };
        struct nf_hetero hetero;
        uint32_t root;

        nf_alloc_fail_after(n);
        status = parse(text, &hetero, &root, &err);
        nf_alloc_fail_after(-1);
        CU_ASSERT(status == NF_OK || status == NF_ERR_NOMEM);
        if (status == NF_OK)
            nf_hetero_fini(&hetero);
    }
    CU_ASSERT_EQUAL(status, NF_OK);
}

int main(void)
{
    CU_TestInfo files[] = {
        { "the goldens are read", the_goldens_are_read },
        { "each part goes to its place", each_part_goes_to_its_place },
        { "what is no file of parameters", what_is_no_file_of_parameters },
        { "bad files are refused with line and place", bad_files_are_refused },
        { "memory may be short", memory_may_be_short },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = { { .pName = "parameters", .pTests = files },
                              CU_SUITE_INFO_NULL };

    return nf_unit_main(suites);
}
