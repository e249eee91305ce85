/* Trees for hosts that are alike against tests/golden/multicast_uniform.json.
 */
#include "config.h"
#include "tests/unit/golden_uniform.h"
#include "tests/unit/nf_unit.h"
#include <stdlib.h>
#include <string.h>
#include "common/tree/opt_table.h"
#include "sim/hnow.h"

static int64_t ready[NF_UNIFORM_NODES_MAX];

static struct nf_uniform_args args_of(const json_t *row, const char *nodes)
{
    return (struct nf_uniform_args){
        .nodes = (uint32_t)integer(row, nodes),
        .uniform = { .hold = integer(row, "h"),
                     .end = integer(row, "e"),
                     .ports = 1 },
    };
}

/* Builds and evaluates; the tree is to be freed. */
static bool make(const struct nf_uniform_algorithm *algorithm,
                 const struct nf_uniform_args *args, struct nf_tree *tree_p)
{
    struct nf_error err;

    if (nf_uniform_make(algorithm, args, tree_p, &err) != NF_OK) {
        printf("\n    %s", err.text);
        return false;
    }
    return nf_uniform_eval(&args->uniform, tree_p, ready) == NF_OK;
}

/* ---- OPT-tree ---- */

static bool table_agrees(const json_t *row)
{
    const json_t *t = at(row, "t"), *j = at(row, "j");
    uint32_t k = (uint32_t)integer(row, "k");
    struct nf_opt_table table;
    bool ok = nf_opt_table_init(&table, k, integer(row, "h"),
                                integer(row, "e")) == NF_OK;

    ok = ok && agree("rows", k, (int64_t)json_array_size(t));
    for (uint32_t i = 1; ok && i <= k; i++)
        ok = agree("t", table.time[i],
                   json_integer_value(json_array_get(t, i - 1))) &&
             (i == 1 || agree("j", table.keep[i],
                              json_integer_value(json_array_get(j, i - 1))));
    nf_opt_table_fini(&table);
    return ok;
}

static bool opt_agrees(const json_t *row)
{
    struct nf_uniform_args args = args_of(row, "k");
    const json_t *want = at(row, "ready"), *t = at(row, "t");
    struct nf_tree tree;
    bool ok = make(&nf_uniform_opt, &args, &tree);

    if (!ok)
        return false;
    if (!json_is_null(at(row, "children")))
        ok = children_agree(&tree, at(row, "children"));
    for (uint32_t v = 0; ok && json_is_array(want) && v < tree.nodes; v++)
        ok = agree("ready", ready[v],
                   json_integer_value(json_array_get(want, v)));
    ok = ok && agree("time", nf_uniform_last(ready, tree.nodes),
                     json_integer_value(json_array_get(t, tree.nodes - 1)));
    nf_tree_fini(&tree);
    return ok;
}

static void opt_trees_are_those_of_the_reference(void)
{
    size_t i;
    json_t *row, *rows = at(at(golden, "homogeneous"), "opt");

    CU_ASSERT_EQUAL(json_array_size(rows), 9);
    json_array_foreach(rows, i, row)
    {
        CU_ASSERT(table_agrees(row));
        CU_ASSERT(opt_agrees(row));
    }
}

static void times_of_the_shapes(void)
{
    static const struct {
        const char *key;
        const struct nf_uniform_algorithm *algorithm;
    } shapes[] = {
        { "opt", &nf_uniform_opt },
        { "sequential", &nf_uniform_sequential },
        { "chain", &nf_uniform_chain },
        { "binomial_child_ceil", &nf_uniform_binomial },
        { "binomial_root_ceil", &nf_uniform_binomial_rootceil },
        { "binomial_mpich", &nf_uniform_binomial_bits },
    };
    size_t i;
    json_t *row, *rows = at(at(golden, "homogeneous"), "shapes");

    CU_ASSERT_EQUAL(json_array_size(rows), 6);
    json_array_foreach(rows, i, row)
    {
        struct nf_uniform_args args = args_of(row, "k");
        struct nf_tree tree;

        for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
            if (!make(shapes[s].algorithm, &args, &tree)) {
                CU_FAIL("no tree");
                continue;
            }
            CU_ASSERT(agree(shapes[s].key, nf_uniform_last(ready, tree.nodes),
                            integer(row, shapes[s].key)));
            nf_tree_fini(&tree);
        }
    }
}

static bool ports_agree(const json_t *row)
{
    struct nf_uniform_args args = args_of(row, "k");
    struct nf_uniform *uniform = &args.uniform;
    const json_t *t = at(row, "t"), *offsets = at(row, "offsets");
    struct nf_tree tree;
    bool ok;

    uniform->ports = (uint32_t)integer(row, "alpha");
    uniform->interval = integer(row, "t_int");
    if (!make(&nf_uniform_multi_port, &args, &tree))
        return false;
    ok = json_is_null(at(row, "children")) ||
         children_agree(&tree, at(row, "children"));
    /* nodes are reached in the order of their numbers */
    for (uint32_t i = 0; ok && i < args.nodes; i++)
        ok = agree("t", ready[i], json_integer_value(json_array_get(t, i)));
    for (uint32_t n = 0; ok && n < json_array_size(offsets); n++)
        ok = agree("offset", nf_uniform_start(uniform, n),
                   json_integer_value(json_array_get(offsets, n)));
    nf_tree_fini(&tree);
    return ok;
}

static void several_ports(void)
{
    size_t i;
    json_t *row, *rows = at(at(golden, "homogeneous"), "alpha");

    CU_ASSERT_EQUAL(json_array_size(rows), 3);
    json_array_foreach(rows, i, row) CU_ASSERT(ports_agree(row));
}

/* ---- chains ---- */

static bool chain_agrees(const json_t *row,
                         const struct nf_uniform_algorithm *algorithm,
                         const char *children, const char *time)
{
    struct nf_uniform_args args = args_of(row, "n");
    struct nf_tree tree;
    bool ok;

    args.root = (uint32_t)integer(row, "s");
    if (!make(algorithm, &args, &tree))
        return false;
    ok = children_agree(&tree, at(row, children)) &&
         agree(time, nf_uniform_last(ready, tree.nodes), integer(row, time));
    nf_tree_fini(&tree);
    return ok;
}

static void every_place_of_the_root(void)
{
    size_t i;
    json_t *row, *rows = at(at(golden, "mesh"), "chain_positions");

    CU_ASSERT_EQUAL(json_array_size(rows), 57);
    json_array_foreach(rows, i, row)
    {
        CU_ASSERT(
            chain_agrees(row, &nf_uniform_opt_mesh, "opt_mesh", "opt_time"));
        CU_ASSERT(chain_agrees(row, &nf_uniform_u_mesh, "u_mesh", "u_time"));
    }
}

/* The first host that is drawn has the first four numbers. */
static void hosts_are_drawn_as_the_references(void)
{
    json_t *u01 = at(at(golden, "rng"), "u01");
    struct nf_hetero hetero;
    uint32_t root;
    double u[4];

    CU_ASSERT_EQUAL_FATAL(json_array_size(u01), 4);
    for (size_t i = 0; i < 4; i++)
        u[i] = json_real_value(json_array_get(u01, i));
    CU_ASSERT_EQUAL_FATAL(nf_hnow_draw(42, 3, false, &hetero, &root), NF_OK);
    CU_ASSERT_DOUBLE_EQUAL(hetero.send[0].fixed_us, 100 + 400 * u[0], 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(hetero.send[0].byte_us, 1e-4 + 0.0099 * u[1], 1e-17);
    CU_ASSERT_DOUBLE_EQUAL(hetero.recv[0].fixed_us, 100 + 400 * u[2], 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(hetero.recv[0].byte_us, 1e-4 + 0.0099 * u[3], 1e-17);
    nf_hetero_fini(&hetero);
}

int main(void)
{
    int rc;
    CU_TestInfo tests[] = {
        { "OPT-trees", opt_trees_are_those_of_the_reference },
        { "times of the shapes", times_of_the_shapes },
        { "several ports", several_ports },
        { "chains, every place of the root", every_place_of_the_root },
        { "hosts are drawn as the reference's",
          hosts_are_drawn_as_the_references },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "the reference's values", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    if (!golden_open())
        return 99;
    rc = nf_unit_main(suites);
    json_decref(golden);
    return rc;
}
