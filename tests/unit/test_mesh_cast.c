/* Multicasts on meshes: the values of the reference implementation, and that
 * trees along chains never make a header wait. */
#include "config.h"
#include "tests/unit/golden_uniform.h"
#include "tests/unit/nf_unit.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "common/tree/opt_table.h"
#include "sim/mesh_study.h"

enum { MOST = 4096 };

static uint32_t place[MOST];
static int64_t ready[MOST];

static struct nf_mesh mesh_of(const char *text)
{
    struct nf_mesh mesh = { .dims = 0 };

    CU_ASSERT_EQUAL(nf_mesh_parse(text, &mesh, NULL), NF_OK);
    return mesh;
}

static struct nf_mesh_cast cast_of(const struct nf_mesh *mesh, uint32_t bytes)
{
    return (struct nf_mesh_cast){
        .mesh = *mesh, .costs = NF_MESH_COSTS_PAPER, .bytes = bytes, .ports = 1
    };
}

/* Among place[0..k), with the tree for `uniform`. */
static bool simulate_with(const struct nf_mesh_cast *cast,
                          const struct nf_uniform_algorithm *algorithm,
                          const struct nf_uniform *uniform, uint32_t k,
                          struct nf_mesh_result *result_p)
{
    struct nf_error err;
    struct nf_tree tree;
    bool ok = nf_mesh_tree(&cast->mesh, algorithm, uniform, place, k, &tree,
                           &err) == NF_OK;

    if (ok) {
        ok = nf_mesh_cast(cast, &tree, place, ready, result_p, &err) == NF_OK;
        nf_tree_fini(&tree);
    }
    if (!ok)
        printf("\n    %s", err.text);
    return ok;
}

/* With the tree for what these costs are. */
static bool simulate(const struct nf_mesh_cast *cast,
                     const struct nf_uniform_algorithm *algorithm, uint32_t k,
                     struct nf_mesh_result *result_p)
{
    struct nf_uniform uniform = nf_mesh_uniform(cast);

    return simulate_with(cast, algorithm, &uniform, k, result_p);
}

static const struct {
    const char *key;
    const struct nf_uniform_algorithm *algorithm;
} algorithms[] = {
    { "OPT-mesh", &nf_uniform_opt_mesh },
    { "OPT-tree", &nf_uniform_opt },
    { "U-mesh", &nf_uniform_u_mesh },
};

enum { NALGORITHMS = sizeof(algorithms) / sizeof(algorithms[0]) };

/* ---- the example ---- */

/* One tree for all sizes, that of 0 bytes in us. */
static const struct nf_uniform in_us = { .hold = 20, .end = 55, .ports = 1 };

/* The tree and its ideal times; children and times are given by addresses. */
static bool example_tree_agrees(const struct nf_mesh *mesh, const json_t *row,
                                const struct nf_uniform_algorithm *algorithm,
                                uint32_t k)
{
    json_t *children = at(at(row, "tree"), "children"), *entry;
    struct nf_tree tree;
    size_t i;
    bool ok =
        nf_mesh_tree(mesh, algorithm, &in_us, place, k, &tree, NULL) == NF_OK;

    if (!ok)
        return false;
    ok = nf_uniform_eval(&in_us, &tree, ready) == NF_OK &&
         agree("ideal", nf_uniform_last(ready, k), integer(row, "ideal"));
    json_array_foreach(children, i, entry)
    {
        const json_t *list = json_array_get(entry, 1);
        uint32_t v = 0;

        while (place[v] != node_of(mesh, json_array_get(entry, 0)))
            v++;
        ok = ok && agree("ready", ready[v],
                         json_integer_value(json_array_get(
                             json_array_get(at(row, "ready"), i), 1)));
        ok = ok && agree("children", tree.first[v + 1] - tree.first[v],
                         (int64_t)json_array_size(list));
        for (uint32_t c = 0; ok && c < json_array_size(list); c++)
            ok = agree("child", place[tree.child[tree.first[v] + c]],
                       node_of(mesh, json_array_get(list, c)));
    }
    nf_tree_fini(&tree);
    return ok;
}

/* The source and, in the order of their addresses, the others. */
static uint32_t example_places(const struct nf_mesh *mesh)
{
    static const uint32_t address[][2] = { { 3, 2 }, { 1, 5 }, { 2, 1 },
                                           { 3, 4 }, { 4, 3 }, { 4, 4 },
                                           { 5, 1 }, { 5, 4 } };

    for (uint32_t v = 0; v < 8; v++)
        place[v] = nf_mesh_node(mesh, address[v]);
    return 8;
}

static void eight_nodes_of_a_6x6_mesh(void)
{
    struct nf_mesh mesh = mesh_of("6x6");
    json_t *example = at(at(golden, "mesh"), "example_6x6");

    for (size_t a = 0; a < NALGORITHMS; a++) {
        json_t *row = at(example, algorithms[a].key), *want;
        uint32_t k = example_places(&mesh);
        const char *bytes;

        CU_ASSERT_EQUAL(json_array_size(at(row, "ready")), k);
        CU_ASSERT(example_tree_agrees(&mesh, row, algorithms[a].algorithm, k));
        json_object_foreach(at(row, "wormhole_ticks"), bytes, want)
        {
            struct nf_mesh_cast cast =
                cast_of(&mesh, (uint32_t)strtoul(bytes, NULL, 10));
            struct nf_mesh_result result;

            CU_ASSERT(simulate_with(&cast, algorithms[a].algorithm, &in_us, k,
                                    &result));
            CU_ASSERT(agree("time", result.time, integer(want, "time")));
            CU_ASSERT(agree("waits", (int64_t)result.waits,
                            integer(want, "blocked")));
            CU_ASSERT(
                agree("waited", result.waited, integer(want, "blocked_time")));
        }
    }
}

/* The one channel that two messages of a sender have in common: the second one
 * is sent a hold after the first, so it is free by then. */
static void a_link_is_used_again_from_75_on(void)
{
    enum { TO_44 = 5, TO_51 = 6, TO_54 = 7 }; /* of example_places() */
    struct nf_mesh mesh = mesh_of("6x6");
    uint32_t one[8], two[8], k = example_places(&mesh);
    struct nf_tree tree;

    CU_ASSERT_EQUAL_FATAL(nf_mesh_tree(&mesh, &nf_uniform_opt_mesh, &in_us,
                                       place, k, &tree, NULL),
                          NF_OK);
    CU_ASSERT_EQUAL(nf_uniform_eval(&in_us, &tree, ready), NF_OK);
    CU_ASSERT_EQUAL(ready[TO_44], 55);
    CU_ASSERT_EQUAL(ready[TO_54] - in_us.end, 55);
    CU_ASSERT_EQUAL(ready[TO_51] - in_us.end, 75);
    nf_mesh_route(&mesh, place[TO_44], place[TO_54], one);
    nf_mesh_route(&mesh, place[TO_44], place[TO_51], two);
    CU_ASSERT_EQUAL(one[1], two[1]);
    CU_ASSERT_NOT_EQUAL(one[2], two[2]);
    nf_tree_fini(&tree);
}

/* Do two messages of nodes v have a channel in common? */
static bool share_channel(const struct nf_mesh *mesh, const uint32_t *from,
                          const uint32_t *to)
{
    uint32_t one[16], two[16];
    uint32_t none = nf_mesh_hops(mesh, place[from[0]], place[to[0]]);
    uint32_t ntwo = nf_mesh_hops(mesh, place[from[1]], place[to[1]]);

    nf_mesh_route(mesh, place[from[0]], place[to[0]], one);
    nf_mesh_route(mesh, place[from[1]], place[to[1]], two);
    for (uint32_t i = 0; i < none; i++)
        for (uint32_t j = 0; j < ntwo; j++)
            if (one[i] == two[j])
                return true;
    return false;
}

/* Pairs of messages of a tree that are under way at the same time, each for
 * @p while_us from when it is sent, and share a channel. */
static int64_t contention(const struct nf_mesh *mesh,
                          const struct nf_tree *tree, int64_t while_us)
{
    int64_t pairs = 0;

    for (uint32_t v = 0; v < tree->nodes; v++)
        for (uint32_t w = 0; w < v; w++) {
            uint32_t to[2] = { v, w };
            uint32_t from[2] = { tree->parent[v], tree->parent[w] };

            if (v != tree->root && w != tree->root &&
                llabs(ready[v] - ready[w]) < while_us)
                pairs += share_channel(mesh, from, to);
        }
    return pairs;
}

/* A message has its channels for a hold, in which its sender sends no other. */
static void no_two_messages_meet(void)
{
    struct nf_mesh mesh = mesh_of("6x6");
    json_t *example = at(at(golden, "mesh"), "example_6x6");

    for (size_t a = 0; a < NALGORITHMS; a++) {
        uint32_t k = example_places(&mesh);
        struct nf_tree tree;

        CU_ASSERT_EQUAL_FATAL(nf_mesh_tree(&mesh, algorithms[a].algorithm,
                                           &in_us, place, k, &tree, NULL),
                              NF_OK);
        CU_ASSERT_EQUAL(nf_uniform_eval(&in_us, &tree, ready), NF_OK);
        CU_ASSERT(agree(
            "contention", contention(&mesh, &tree, in_us.hold),
            integer(at(example, algorithms[a].key), "static_contention")));
        /* beyond that a sender's own messages meet at its port */
        CU_ASSERT(contention(&mesh, &tree, in_us.hold + 1) > 0);
        nf_tree_fini(&tree);
    }
}

static void three_dimensions(void)
{
    struct nf_mesh mesh = mesh_of("4x4x4");
    struct nf_mesh_cast cast = cast_of(&mesh, 1024);
    json_t *golden_3d = at(at(golden, "mesh"), "three_d");

    nf_mesh_place(&mesh, 2000, 20, place);
    CU_ASSERT_EQUAL(place[0], node_of(&mesh, at(golden_3d, "source")));
    for (size_t a = 0; a < NALGORITHMS; a++) {
        json_t *want = at(at(golden_3d, "results"), algorithms[a].key);
        struct nf_mesh_result result;

        CU_ASSERT(simulate(&cast, algorithms[a].algorithm, 20, &result));
        CU_ASSERT(agree("time", result.time, integer(want, "time")));
        CU_ASSERT(
            agree("waits", (int64_t)result.waits, integer(want, "blocked")));
        CU_ASSERT(
            agree("waited", result.waited, integer(want, "blocked_time")));
    }
}

/* ---- figures 11 to 14 ---- */

static void the_placements_are_the_references(void)
{
    static const uint32_t coordinate[2] = { 3, 12 };
    struct nf_mesh mesh = mesh_of("16x16");
    json_t *want = at(at(golden, "rng"), "sample_256_8_seed1000");
    struct nf_rng rng = { 42 };
    size_t i;
    json_t *value;

    nf_mesh_place(&mesh, 1000, 8, place);
    CU_ASSERT_EQUAL(json_array_size(want), 8);
    json_array_foreach(want, i, value)
        CU_ASSERT_EQUAL(place[i], json_integer_value(value));
    CU_ASSERT_EQUAL(place[0], nf_mesh_node(&mesh, coordinate));
    json_array_foreach(at(at(golden, "rng"), "u64"), i, value) CU_ASSERT_EQUAL(
        nf_rng_next(&rng), strtoull(json_string_value(value), NULL, 10));
}

static double real(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static bool near(const char *what, double got, double want, double by)
{
    if (!(fabs(got - want) <= by))
        printf("\n    %s: got %.9g, want %.9g", what, got, want);
    return fabs(got - want) <= by;
}

/* 16 placements: mean, spread and extremes in us, to the digits that are given,
 * and the first one in ticks. */
static bool figure_agrees(const struct nf_mesh_cast *cast, uint32_t k,
                          const struct nf_uniform_algorithm *algorithm,
                          const json_t *want)
{
    const json_t *five = at(want, "us");
    struct nf_mesh_study all, first;

    if (nf_mesh_study(cast, algorithm, k, NF_MESH_SEED, NF_MESH_RUNS, &all,
                      NULL) != NF_OK ||
        nf_mesh_study(cast, algorithm, k, NF_MESH_SEED, 1, &first, NULL) !=
            NF_OK)
        return false;
    return agree("runs", all.runs, integer(five, "n")) &&
           near("mean", all.mean / 100, real(five, "mean"), 1e-6) &&
           near("sd", all.deviation / 100, real(five, "sd"), 1e-6) &&
           near("min", (double)all.least / 100, real(five, "min"), 1e-9) &&
           near("max", (double)all.most / 100, real(five, "max"), 1e-9) &&
           near("waits", all.waits, real(want, "blocked_headers"), 1e-9) &&
           (at(want, "seed1000_ticks") == NULL ||
            agree("first", first.most, integer(want, "seed1000_ticks"))) &&
           (at(want, "header_wait_us") == NULL ||
            /* rounded to four digits; a tick more would be 6.25e-4 */
            near("waited", all.waited / 100, real(want, "header_wait_us"),
                 5.1e-5));
}

static int64_t ideal(const struct nf_uniform *uniform, uint32_t k)
{
    struct nf_opt_table table;
    int64_t time = -1;

    if (nf_opt_table_init(&table, k, uniform->hold, uniform->end) == NF_OK)
        time = table.time[k];
    nf_opt_table_fini(&table);
    return time;
}

static void every_point_of_the_figures(void)
{
    struct nf_mesh mesh = mesh_of("16x16");
    json_t *rows = at(at(golden, "wormhole"), "results"), *row;
    size_t i;

    CU_ASSERT_EQUAL(json_array_size(rows), 20);
    json_array_foreach(rows, i, row)
    {
        uint32_t k = (uint32_t)integer(row, "k");
        struct nf_mesh_cast cast =
            cast_of(&mesh, (uint32_t)integer(row, "bytes"));
        struct nf_uniform uniform = nf_mesh_uniform(&cast);

        CU_ASSERT(near("ideal", (double)ideal(&uniform, k) / 100,
                       real(row, "ideal_us"), 1e-9));
        CU_ASSERT(agree("hold", uniform.hold, integer(row, "h_ticks")));
        CU_ASSERT(agree("end", uniform.end, integer(row, "e_ticks")));
        for (size_t a = 0; a < NALGORITHMS; a++)
            if (!figure_agrees(&cast, k, algorithms[a].algorithm,
                               at(at(row, "algo"), algorithms[a].key))) {
                printf("\n    %s, %u nodes, %u bytes", algorithms[a].key, k,
                       cast.bytes);
                CU_FAIL("differs from the reference");
            }
    }
}

/* With the source in the middle of five a U-mesh has one end less. */
static void the_ideal_is_of_all_runs(void)
{
    struct nf_mesh mesh = mesh_of("16x16");
    struct nf_mesh_cast cast = cast_of(&mesh, 4096);
    struct nf_uniform uniform = nf_mesh_uniform(&cast);
    struct nf_mesh_study all, one;
    unsigned middles = 0;

    CU_ASSERT_EQUAL(nf_mesh_study(&cast, &nf_uniform_u_mesh, 5, NF_MESH_SEED,
                                  NF_MESH_RUNS, &all, NULL),
                    NF_OK);
    for (unsigned r = 0; r < NF_MESH_RUNS; r++) {
        CU_ASSERT_EQUAL(nf_mesh_study(&cast, &nf_uniform_u_mesh, 5,
                                      NF_MESH_SEED + r, 1, &one, NULL),
                        NF_OK);
        CU_ASSERT(one.ideal <= 3.0 * (double)uniform.end);
        middles += one.ideal < 3.0 * (double)uniform.end;
        all.ideal -= one.ideal / NF_MESH_RUNS;
    }
    CU_ASSERT(middles > 0 && middles < NF_MESH_RUNS);
    CU_ASSERT_DOUBLE_EQUAL(all.ideal, 0, 1e-6);
}

static void the_wrong_order_of_routing_collides(void)
{
    struct nf_mesh mesh = mesh_of("16x16");
    json_t *rows = at(at(golden, "wormhole"),
                      "opt_mesh_if_routed_last_coordinate_first"),
           *row;
    size_t i;

    mesh.last_first = true;
    CU_ASSERT_EQUAL(json_array_size(rows), 3);
    json_array_foreach(rows, i, row)
    {
        struct nf_mesh_cast cast =
            cast_of(&mesh, (uint32_t)integer(row, "bytes"));

        CU_ASSERT(figure_agrees(&cast, (uint32_t)integer(row, "k"),
                                &nf_uniform_opt_mesh, row));
    }
}

/* ---- laws ---- */

/* Random costs under which trees along chains are free from contention: a
 * message leaves a channel before its sender sends again, and hold <= end. */
static struct nf_mesh_costs quiet_costs(struct nf_rng *rng, uint32_t bytes)
{
    struct nf_mesh_costs costs = {
        .send_fixed = (int64_t)nf_rng_below(rng, 400),
        .hop = 1 + (int64_t)nf_rng_below(rng, 3),
        .recv_fixed = (int64_t)nf_rng_below(rng, 400),
        .recv_byte = (int64_t)nf_rng_below(rng, 4),
    };

    costs.send_byte = costs.hop + (int64_t)nf_rng_below(rng, 3);
    if (bytes == 0 && costs.send_fixed < costs.hop)
        costs.send_fixed = costs.hop; /* a flit goes all the same */
    return costs;
}

static void no_header_waits_along_chains(void)
{
    static const char *const shapes[] = { "16x16", "7x5", "4x4x4", "3x4x2x3",
                                          "23" };
    static const struct nf_uniform_algorithm *const quiet[] = {
        &nf_uniform_opt_mesh, &nf_uniform_u_mesh
    };
    struct nf_rng rng = { 7 };

    for (int i = 0; i < 3000; i++) {
        struct nf_mesh mesh = mesh_of(shapes[i % 5]);
        struct nf_mesh_cast cast =
            cast_of(&mesh, (uint32_t)nf_rng_below(&rng, i % 3 ? 40 : 3000));
        uint32_t k = 1 + (uint32_t)nf_rng_below(&rng, mesh.nodes);
        struct nf_mesh_result result = { .time = 0 };
        bool tight;

        nf_mesh_place(&mesh, nf_rng_next(&rng), k, place);
        cast.costs = quiet_costs(&rng, cast.bytes);
        CU_ASSERT(simulate(&cast, quiet[i % 2], k, &result));
        tight = nf_mesh_uniform(&cast).hold ==
                cast.costs.hop * (cast.bytes > 0 ? cast.bytes : 1);
        /* a sender's messages may follow each other without a gap: then one
         * asks for a channel at the instant at which the other leaves it */
        if (!agree("waited", result.waited, 0) ||
            (!tight && !agree("waits", (int64_t)result.waits, 0))) {
            printf("\n    %s, %u nodes, %u bytes", shapes[i % 5], k,
                   cast.bytes);
            CU_FAIL("a header waited");
        }
    }
}

/* Without contention a node is ready when the model says, and later by the
 * channels on the way to it. */
static void without_waits_only_the_way_is_added(void)
{
    static int64_t alone[MOST];
    struct nf_mesh mesh = mesh_of("16x16");
    struct nf_rng rng = { 8 };

    for (int i = 0; i < 100; i++) {
        struct nf_mesh_cast cast =
            cast_of(&mesh, 1 + (uint32_t)nf_rng_below(&rng, 9000));
        struct nf_uniform uniform = nf_mesh_uniform(&cast);
        uint32_t k = 1 + (uint32_t)nf_rng_below(&rng, 256);
        struct nf_mesh_result result;
        struct nf_tree tree;
        bool ok;

        nf_mesh_place(&mesh, nf_rng_next(&rng), k, place);
        ok = nf_mesh_tree(&mesh, &nf_uniform_opt_mesh, &uniform, place, k,
                          &tree, NULL) == NF_OK &&
             nf_uniform_eval(&uniform, &tree, alone) == NF_OK &&
             nf_mesh_cast(&cast, &tree, place, ready, &result, NULL) == NF_OK;
        CU_ASSERT_FATAL(ok);
        CU_ASSERT_EQUAL(result.time, nf_uniform_last(ready, k));
        for (uint32_t v = 0; v < k; v++) {
            int64_t late = 0;

            for (uint32_t u = v; u != tree.root; u = tree.parent[u])
                late +=
                    cast.costs.hop *
                    (nf_mesh_hops(&mesh, place[tree.parent[u]], place[u]) - 1);
            CU_ASSERT_EQUAL(ready[v], alone[v] + late);
        }
        nf_tree_fini(&tree);
    }
}

static void events_do_not_depend_on_the_length(void)
{
    struct nf_mesh mesh = mesh_of("16x16");
    struct nf_mesh_result small, large;
    struct nf_mesh_cast cast = cast_of(&mesh, 100);

    nf_mesh_place(&mesh, 1, 200, place);
    CU_ASSERT(simulate(&cast, &nf_uniform_opt_mesh, 200, &small));
    cast.bytes = 100000000;
    CU_ASSERT(simulate(&cast, &nf_uniform_opt_mesh, 200, &large));
    CU_ASSERT(large.events <= small.events * 11 / 10);
}

static void several_ports_are_used(void)
{
    struct nf_mesh mesh = mesh_of("8x8");
    struct nf_mesh_cast cast = cast_of(&mesh, 1000);
    struct nf_mesh_result one, three;

    /* a network that is slower than the processors: a port is busy for longer
     * than a send takes */
    cast.costs = (struct nf_mesh_costs){ 100, 1, 5, 100, 1 };
    nf_mesh_place(&mesh, 3, 40, place);
    CU_ASSERT(simulate(&cast, &nf_uniform_sequential, 40, &one));
    CU_ASSERT(one.waits > 0);
    cast.ports = 3;
    cast.interval = 1100;
    CU_ASSERT(simulate(&cast, &nf_uniform_sequential, 40, &three));
    CU_ASSERT(three.time < one.time);
}

static void bad_costs_are_refused(void)
{
    struct nf_mesh mesh = mesh_of("4x4");
    struct nf_mesh_cast good = cast_of(&mesh, 10), bad = good;

    CU_ASSERT_EQUAL(nf_mesh_cast_check(&good, NULL), NF_OK);
    bad.costs.hop = 0;
    CU_ASSERT_EQUAL(nf_mesh_cast_check(&bad, NULL), NF_ERR_RANGE);
    bad = good, bad.costs.recv_byte = -1;
    CU_ASSERT_EQUAL(nf_mesh_cast_check(&bad, NULL), NF_ERR_RANGE);
    bad = good, bad.bytes = NF_MESH_BYTES_MAX + 1;
    CU_ASSERT_EQUAL(nf_mesh_cast_check(&bad, NULL), NF_ERR_RANGE);
    bad = good, bad.bytes = NF_MESH_BYTES_MAX;
    bad.costs.send_byte = NF_MESH_TICKS_MAX;
    CU_ASSERT_EQUAL(nf_mesh_cast_check(&bad, NULL), NF_ERR_RANGE);
    bad = good, bad.ports = 0;
    CU_ASSERT_EQUAL(nf_mesh_cast_check(&bad, NULL), NF_ERR_RANGE);
}

static void running_out_of_memory_is_said(void)
{
    struct nf_mesh mesh = mesh_of("4x4");
    struct nf_mesh_cast cast = cast_of(&mesh, 10);
    struct nf_uniform uniform = nf_mesh_uniform(&cast);
    struct nf_mesh_result result;
    struct nf_tree tree;
    enum nf_status status = NF_ERR_NOMEM;
    long n = 0;

    nf_mesh_place(&mesh, 3, 16, place);
    for (; status == NF_ERR_NOMEM && n < 100; n++) {
        nf_alloc_fail_after(n);
        status = nf_mesh_tree(&mesh, &nf_uniform_opt_mesh, &uniform, place, 16,
                              &tree, NULL);
        if (status == NF_OK) {
            status = nf_mesh_cast(&cast, &tree, place, NULL, &result, NULL);
            nf_tree_fini(&tree);
        }
        nf_alloc_fail_after(-1);
    }
    CU_ASSERT_EQUAL(status, NF_OK);
    CU_ASSERT(n > 10);
}

int main(void)
{
    int rc;
    CU_TestInfo reference[] = {
        { "eight nodes of a 6x6 mesh", eight_nodes_of_a_6x6_mesh },
        { "a link is used again from 75 on", a_link_is_used_again_from_75_on },
        { "three dimensions", three_dimensions },
        { "placements", the_placements_are_the_references },
        { "no two messages meet", no_two_messages_meet },
        { "figures 11 to 14", every_point_of_the_figures },
        { "the ideal is of all runs", the_ideal_is_of_all_runs },
        { "wrong order of routing", the_wrong_order_of_routing_collides },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo laws[] = {
        { "no header waits along chains", no_header_waits_along_chains },
        { "only the way is added", without_waits_only_the_way_is_added },
        { "events and length", events_do_not_depend_on_the_length },
        { "several ports", several_ports_are_used },
        { "bad costs are refused", bad_costs_are_refused },
        { "out of memory", running_out_of_memory_is_said },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "the reference's values", NULL, NULL, NULL, NULL, reference },
        { "laws", NULL, NULL, NULL, NULL, laws },
        CU_SUITE_INFO_NULL,
    };

    if (!golden_open())
        return 99;
    rc = nf_unit_main(suites);
    json_decref(golden);
    return rc;
}
