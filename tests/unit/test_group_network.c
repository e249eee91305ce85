/* Groups that go by a measured network: all members plan alike, broadcasts go
 * down the tree and are right. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "tests/unit/group_sim.h"
#include "tests/unit/model_text.h"
#include "tests/unit/nf_unit.h"

enum { RANKS = 7 };

/* Members on the hosts of a model of @p hosts, going round. */
static void open_measured_with(struct group_sim *sim, uint32_t hosts,
                               double ratio,
                               const struct nf_group_options *options)
{
    char names[RANKS][64];
    char *text = write_model(hosts, ratio);
    struct nf_error err = { .text = "" };

    CU_ASSERT_FATAL(sim_open(sim, RANKS, 1, options));
    name_hosts(names, RANKS, hosts);
    for (uint32_t r = 0; r < RANKS; r++) {
        for (uint32_t i = 0; i < RANKS; i++)
            sim->groups[r]->hosts[i] = i % hosts;
        CU_ASSERT_EQUAL(nf_group_set_network(sim->groups[r], text, strlen(text),
                                             "model", (const char(*)[64])names,
                                             &err),
                        NF_OK);
    }
    if (err.text[0] != '\0')
        printf("\n    %s", err.text);
    free(text);
}

static void open_measured(struct group_sim *sim, uint32_t hosts, double ratio,
                          const char *algorithms)
{
    const struct nf_group_options options = { .algorithms = algorithms };

    open_measured_with(sim, hosts, ratio, &options);
}

static struct nf_coll_choice ask(struct nf_group *group, uint64_t bytes,
                                 uint32_t root)
{
    const struct nf_choice_query query = {
        .coll = { .op = NF_COLL_BCAST,
                  .ranks = RANKS,
                  .root = root,
                  .bytes = bytes,
                  .elements = bytes,
                  .commutative = true },
    };
    struct nf_coll_choice choice = { .segments = 0 };

    CU_ASSERT_EQUAL(nf_group_choose(group, &query, &choice, NULL), NF_OK);
    return choice;
}

static bool same_tree(const struct nf_coll_tree *a,
                      const struct nf_coll_tree *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return a->ranks == b->ranks && a->root == b->root &&
           memcmp(a->first, b->first, (a->ranks + 1) * sizeof(uint32_t)) == 0 &&
           memcmp(a->child, b->child, (a->ranks - 1) * sizeof(uint32_t)) == 0;
}

/* @return what all members choose */
static struct nf_coll_choice bcast_of(struct group_sim *sim, uint64_t bytes,
                                      uint32_t root)
{
    struct nf_coll_choice first = ask(sim->groups[0], bytes, root);

    for (uint32_t r = 1; r < RANKS; r++) {
        struct nf_coll_choice other = ask(sim->groups[r], bytes, root);

        CU_ASSERT(other.algorithm == first.algorithm);
        CU_ASSERT(other.segments == first.segments);
        CU_ASSERT(other.cost_us == first.cost_us);
        CU_ASSERT(same_tree(other.tree, first.tree));
    }
    return first;
}

static void all_members_plan_alike(void)
{
    static const uint64_t sizes[] = { 1, 100, 5000, 100000, 1 << 20 };
    struct group_sim sim;
    unsigned trees = 0;

    open_measured(&sim, RANKS, 4, "");
    for (uint32_t root = 0; root < RANKS; root++)
        for (int i = 0; i < 5; i++) {
            struct nf_coll_choice choice = bcast_of(&sim, sizes[i], root);

            trees += choice.algorithm == &nf_coll_bcast_tree;
            CU_ASSERT(choice.algorithm != &nf_coll_bcast_tree ||
                      choice.tree->root == root);
        }
    CU_ASSERT(trees > 5 * RANKS * 3 / 4);
    sim_close(&sim);
}

/* @return by which algorithm; "" if the result is wrong */
static const char *broadcast(struct group_sim *sim, uint32_t root, size_t count)
{
    static uint32_t buffers[RANKS][300000];
    const char *algorithm = "";
    bool ok = true;

    for (uint32_t r = 0; r < RANKS; r++) {
        struct nf_call call = { .kind = NF_CALL_BCAST,
                                .recv = buffers[r],
                                .count = count,
                                .type = NF_ELEM_UINT32,
                                .root = root };

        for (size_t i = 0; i < count; i++)
            buffers[r][i] = r == root ? (uint32_t)i * 7 + root : 0;
        sim_start(sim, r, &call);
        if (r == 0)
            algorithm = nf_request_algorithm(sim->requests[r]);
    }
    ok = sim_run(sim);
    for (uint32_t r = 0; r < RANKS; r++) {
        ok = ok && sim->statuses[r] == NF_OK;
        for (size_t i = 0; i < count; i++)
            ok = ok && buffers[r][i] == (uint32_t)i * 7 + root;
    }
    return ok ? algorithm : "";
}

static void broadcasts_go_down_the_tree(void)
{
    static const size_t counts[] = { 1, 3, 1000, 30000, 300000 };
    struct group_sim sim;

    open_measured(&sim, RANKS, 4, "bcast.tree");
    for (uint32_t root = 0; root < RANKS; root++)
        for (int i = 0; i < 5; i++)
            CU_ASSERT_STRING_EQUAL(broadcast(&sim, root, counts[i]),
                                   "bcast.tree");
    sim_close(&sim);
    open_measured(&sim, RANKS, 4, "");
    for (int i = 0; i < 5; i++)
        CU_ASSERT_STRING_NOT_EQUAL(broadcast(&sim, 2, counts[i]), "");
    sim_close(&sim);
    open_measured(&sim, 3, 4, ""); /* some share a host */
    for (int i = 0; i < 5; i++)
        CU_ASSERT_STRING_NOT_EQUAL(broadcast(&sim, 1, counts[i]), "");
    sim_close(&sim);
}

/* How many times each segment crosses between hosts. */
static double crossings(const struct nf_coll_choice *choice,
                        const uint32_t *hosts, uint32_t root)
{
    struct nf_coll_args args = { .ranks = RANKS, .root = root, .hosts = hosts };
    struct nf_schedule schedule;
    uint64_t items = 0;

    args.segments = choice->segments;
    args.tree = choice->tree;
    CU_ASSERT(nf_coll_make(choice->algorithm, &args, NF_ALL_RANKS, &schedule,
                           NULL) == NF_OK);
    for (size_t i = 0; i < schedule.count; i++)
        if (hosts[schedule.messages[i].src] != hosts[schedule.messages[i].dst])
            items += nf_schedule_items_of(&schedule, &schedule.messages[i]);
    nf_schedule_fini(&schedule);
    return (double)items / nf_coll_item_count(choice->algorithm, &args);
}

/* Members of a host have it of each other, whichever algorithm that is. */
static void broadcasts_cross_to_a_host_once(void)
{
    struct group_sim sim;
    unsigned two_levels = 0;

    open_measured(&sim, 2, 1, "");
    for (uint32_t root = 0; root < RANKS; root++) {
        struct nf_coll_choice choice = bcast_of(&sim, 4 << 20, root);

        CU_ASSERT_DOUBLE_EQUAL(crossings(&choice, sim.groups[0]->hosts, root),
                               1, 1e-12);
        two_levels += choice.algorithm == &nf_coll_bcast_two_level;
    }
    CU_ASSERT(two_levels > 0);
    sim_close(&sim);
}

static struct nf_coll_choice sum_of(struct nf_group *group, uint64_t elements)
{
    const struct nf_choice_query query = { .coll = { NF_COLL_ALLREDUCE, RANKS, 0,
                                                     8 * elements, elements,
                                                     true },
                                           .type = NF_ELEM_FLOAT64,
                                           .op = NF_SUM };
    struct nf_coll_choice choice = { .segments = 0 };

    CU_ASSERT_EQUAL(nf_group_choose(group, &query, &choice, NULL), NF_OK);
    return choice;
}

/* Not by the network, the room there is, nor by how somebody calculates. */
static void deterministic_groups_go_by_nothing_measured(void)
{
    const struct nf_group_options options = { .deterministic = 1 };
    const struct nf_group_options forced = { .deterministic = 1,
                                             .algorithms = "bcast.tree" };
    struct group_sim plain, measured;

    CU_ASSERT_FATAL(sim_open(&plain, RANKS, 1, &options));
    open_measured_with(&measured, RANKS, 4, &options);
    measured.groups[0]->memory_bytes = 1000;
    measured.groups[0]->odd = 1;
    for (uint64_t bytes = 8; bytes <= 1 << 22; bytes *= 2) {
        struct nf_coll_choice one = ask(plain.groups[0], bytes, 3);
        struct nf_coll_choice other = ask(measured.groups[0], bytes, 3);

        CU_ASSERT_STRING_EQUAL(one.algorithm->name, other.algorithm->name);
        CU_ASSERT_EQUAL(one.segments, other.segments);
        one = sum_of(plain.groups[0], bytes / 8);
        other = sum_of(measured.groups[0], bytes / 8);
        CU_ASSERT_STRING_EQUAL(one.algorithm->name, other.algorithm->name);
        CU_ASSERT_EQUAL(one.segments, other.segments);
    }
    sim_close(&plain);
    sim_close(&measured);
    open_measured_with(&measured, RANKS, 4, &forced);
    CU_ASSERT_PTR_EQUAL(ask(measured.groups[0], 5000, 0).algorithm,
                        &nf_coll_bcast_tree);
    sim_close(&measured);
}

static void what_is_forced_is_taken(void)
{
    struct group_sim sim;
    struct nf_coll_choice choice, planned;

    open_measured(&sim, RANKS, 1, "");
    choice = ask(sim.groups[0], 65536, 0);
    CU_ASSERT(choice.algorithm != &nf_coll_bcast_tree);
    CU_ASSERT(choice.tree == NULL);
    CU_ASSERT_EQUAL(nf_group_force(sim.groups[0], "bcast.tree", NULL), NF_OK);
    planned = ask(sim.groups[0], 65536, 0);
    CU_ASSERT(planned.algorithm == &nf_coll_bcast_tree);
    CU_ASSERT(planned.tree != NULL && planned.segments > 1);
    CU_ASSERT(planned.cost_us >= choice.cost_us);
    CU_ASSERT_EQUAL(nf_group_force(sim.groups[0], "bcast.tree:k=3", NULL),
                    NF_OK);
    choice = ask(sim.groups[0], 65536, 0);
    CU_ASSERT(choice.tree == planned.tree && choice.segments == 3);
    CU_ASSERT_EQUAL(nf_group_force(sim.groups[0], "bcast.flat", NULL), NF_OK);
    choice = ask(sim.groups[0], 65536, 0);
    CU_ASSERT_STRING_EQUAL(choice.algorithm->name, "bcast.flat");
    CU_ASSERT(choice.tree == NULL);
    sim_close(&sim);
}

/* A broadcast of another size takes segments of the length that was planned. */
static void segments_are_as_long_as_planned(void)
{
    struct group_sim sim;
    struct nf_coll_choice whole, less;

    open_measured(&sim, RANKS, 4, "bcast.tree");
    whole = ask(sim.groups[0], 1 << 20, 0);
    less = ask(sim.groups[0], (1 << 20) - 100000, 0);
    CU_ASSERT(less.tree == whole.tree);
    CU_ASSERT(less.segments <= whole.segments);
    CU_ASSERT(less.segments >= whole.segments * 9 / 10 - 1);
    CU_ASSERT_EQUAL(ask(sim.groups[0], 1, 0).segments, 1);
    sim_close(&sim);
}

/* @param hold  what a byte more holds a host, as long as "0.08"
 * @return what is predicted of a broadcast with all ranks on one host */
static double on_one_host(const char *hold, uint64_t bytes)
{
    struct group_sim sim;
    char names[RANKS][64];
    char *text = write_model(2, 1);
    double cost_us;

    for (char *at = text; (at = strstr(at, ": 0.08}}")) != NULL; at++)
        memcpy(at + 2, hold, 4);
    CU_ASSERT_FATAL(sim_open(&sim, RANKS, 1, NULL));
    name_hosts(names, RANKS, 1);
    for (uint32_t i = 0; i < RANKS; i++)
        sim.groups[0]->hosts[i] = 5;
    CU_ASSERT_EQUAL(nf_group_set_network(sim.groups[0], text, strlen(text),
                                         "model", (const char(*)[64])names,
                                         NULL),
                    NF_OK);
    cost_us = ask(sim.groups[0], bytes, 1).cost_us;
    sim_close(&sim);
    free(text);
    return cost_us;
}

/* What holds a host is its way to others: on one host nobody is held. */
static void nobody_is_held_on_one_host(void)
{
    static const uint64_t sizes[] = { 1, 1000, 65536, 1 << 20 };

    for (int i = 0; i < 4; i++) {
        double cost_us = on_one_host("0.08", sizes[i]);

        CU_ASSERT(cost_us > 0);
        CU_ASSERT_DOUBLE_EQUAL(on_one_host("9.99", sizes[i]), cost_us,
                               1e-9 * cost_us);
    }
}

/* Messages of all collective operations take @p start_us, of the sender too,
 * and
 * @p byte_us. */
static void open_priced(struct group_sim *sim, double start_us, double byte_us)
{
    made.start_us = made.occupancy_us = start_us;
    made.byte_us = byte_us;
    open_measured(sim, 4, 2, "");
    made.start_us = 176;
    made.byte_us = 0.1;
    made.occupancy_us = 5;
}

static const enum nf_coll_op other_ops[] = { NF_COLL_ALLREDUCE, NF_COLL_REDUCE,
                                             NF_COLL_SCAN, NF_COLL_BARRIER,
                                             NF_COLL_ALLTOALL };
enum { OTHER_OPS = sizeof(other_ops) / sizeof(other_ops[0]) };

/* All members choose the same. */
static struct nf_coll_choice ask_all(struct group_sim *sim, enum nf_coll_op op,
                                     uint64_t bytes)
{
    const struct nf_choice_query query = {
        .coll = { .op = op,
                  .ranks = RANKS,
                  .bytes = op == NF_COLL_BARRIER ? 0 : bytes,
                  .elements = op == NF_COLL_BARRIER ? 0 : bytes / 8,
                  .commutative = true },
        .type = NF_ELEM_FLOAT64,
        .op = NF_SUM,
    };
    struct nf_coll_choice first = { .segments = 0 }, choice;

    for (uint32_t r = 0; r < RANKS; r++) {
        CU_ASSERT_EQUAL(nf_group_choose(sim->groups[r], &query, &choice, NULL),
                        NF_OK);
        if (r == 0)
            first = choice;
        CU_ASSERT(choice.algorithm == first.algorithm);
        CU_ASSERT(choice.segments == first.segments);
        CU_ASSERT(choice.cost_us == first.cost_us);
        CU_ASSERT(nf_coll_same_params(&choice.params, &first.params));
    }
    return first;
}

/* Where messages take a hundred times as long so does everything. */
static void all_operations_go_by_the_network(void)
{
    struct group_sim quick, slow;

    open_priced(&quick, 10, 0.02);
    open_priced(&slow, 1000, 2);
    for (int i = 0; i < OTHER_OPS; i++)
        for (uint64_t bytes = 8; bytes <= 1 << 20; bytes *= 16) {
            double us = ask_all(&quick, other_ops[i], bytes).cost_us;

            CU_ASSERT(us > 10);
            CU_ASSERT_DOUBLE_EQUAL(ask_all(&slow, other_ops[i], bytes).cost_us,
                                   100 * us, us);
        }
    sim_close(&quick);
    sim_close(&slow);
}

/* Where messages take long to start others are the fastest. */
static void other_networks_have_other_algorithms(void)
{
    struct group_sim starts, flows;

    open_priced(&starts, 5000, 0.01);
    open_priced(&flows, 1, 0.1);
    for (int i = 0; i < OTHER_OPS; i++) {
        unsigned differ = 0;

        for (uint64_t bytes = 8; bytes <= 1 << 20; bytes *= 4) {
            struct nf_coll_choice a = ask_all(&starts, other_ops[i], bytes);
            struct nf_coll_choice b = ask_all(&flows, other_ops[i], bytes);

            differ += a.algorithm != b.algorithm ||
                      !nf_coll_same_params(&a.params, &b.params);
        }
        CU_ASSERT(differ > 0 || other_ops[i] == NF_COLL_BARRIER);
    }
    sim_close(&starts);
    sim_close(&flows);
}

/* What a barrier is thought to take in a group by a table of members of whom
 * @p part were on the fullest host, who were slow; 0: that is not known. */
static double barrier_by_table(struct group_sim *sim, double part)
{
    const struct nf_choice_query query = {
        .coll = { .op = NF_COLL_BARRIER, .ranks = RANKS, .commutative = true }
    };
    struct nf_coll_rules rules;
    struct nf_coll_choice choice = { .cost_us = -1 };
    struct nf_error err;
    char *text = NULL;
    size_t bytes = 0;

    nf_coll_rules_init(&rules);
    rules.model = (struct nf_model){ .npieces = 1,
                                     .pieces = { { 0, 1, 0.001 } },
                                     .delta = 1,
                                     .share_us = 5000,
                                     .share_part = part };
    CU_ASSERT_EQUAL(nf_coll_rules_write(&rules, &text, &bytes, &err), NF_OK);
    for (uint32_t r = 0; r < RANKS; r++)
        CU_ASSERT_EQUAL(
            nf_group_set_rules(sim->groups[r], text, bytes, NULL, &err), NF_OK);
    CU_ASSERT_EQUAL(nf_group_choose(sim->groups[1], &query, &choice, NULL),
                    NF_OK);
    nf_free(text);
    nf_coll_rules_fini(&rules);
    return choice.cost_us;
}

/* A table has its own model, in whatever order the two come. */
static void a_table_has_its_own_model(void)
{
    struct group_sim sim;
    double by_network_us, by_table_us;

    open_priced(&sim, 1000, 2);
    by_network_us = ask_all(&sim, NF_COLL_ALLTOALL, 4096).cost_us;
    (void)barrier_by_table(&sim, 0);
    by_table_us = ask_all(&sim, NF_COLL_ALLTOALL, 4096).cost_us;
    CU_ASSERT(by_table_us != by_network_us);
    for (uint32_t r = 0; r < RANKS; r++)
        CU_ASSERT_EQUAL(sim.groups[r]->exchange.start_ns[0], 1000);
    sim_close(&sim);
}

/* Never ones that hand on, even if all hosts that are known are alike. */
static void expect_leaves(double ratio)
{
    static const uint64_t sizes[] = { 1, 1000, 65536, 1 << 20 };
    struct group_sim sim;
    char names[RANKS][64];
    char *text = write_model(RANKS, ratio);

    CU_ASSERT_FATAL(sim_open(&sim, RANKS, 1, NULL));
    name_hosts(names, RANKS, RANKS);
    snprintf(names[3], sizeof(names[3]), "newcomer");
    names[5][0] = '\0';
    CU_ASSERT_EQUAL(nf_group_set_network(sim.groups[0], text, strlen(text),
                                         "model", (const char(*)[64])names,
                                         NULL),
                    NF_OK);
    CU_ASSERT_EQUAL(nf_measured_unknown(sim.groups[0]->measured), 2);
    CU_ASSERT_EQUAL(nf_group_force(sim.groups[0], "bcast.tree", NULL), NF_OK);
    for (uint32_t root = 0; root < RANKS; root++)
        for (int i = 0; i < 4; i++) {
            const struct nf_coll_tree *tree =
                ask(sim.groups[0], sizes[i], root).tree;

            CU_ASSERT_PTR_NOT_NULL_FATAL(tree);
            CU_ASSERT(root == 3 || tree->first[4] == tree->first[3]);
            CU_ASSERT(root == 5 || tree->first[6] == tree->first[5]);
        }
    sim_close(&sim);
    free(text);
}

static void unknown_hosts_are_leaves(void)
{
    expect_leaves(2);
    expect_leaves(1);
}

static void a_bad_model_changes_nothing(void)
{
    struct group_sim sim;
    char names[RANKS][64];
    struct nf_error err = { .text = "" };
    const char *before;

    CU_ASSERT_FATAL(sim_open(&sim, RANKS, 1, NULL));
    name_hosts(names, RANKS, RANKS);
    before = ask(sim.groups[0], 65536, 0).algorithm->name;
    CU_ASSERT_EQUAL(nf_group_set_network(sim.groups[0], "{\"x\": 1}", 8,
                                         "model", (const char(*)[64])names,
                                         &err),
                    NF_ERR_INVAL);
    CU_ASSERT(strstr(err.text, "model:1") != NULL);
    CU_ASSERT_PTR_NULL(sim.groups[0]->measured);
    CU_ASSERT_STRING_EQUAL(ask(sim.groups[0], 65536, 0).algorithm->name,
                           before);
    sim_close(&sim);
}

/* Two of whom one goes by another network do not wait for each other. */
static void members_with_other_networks_are_told(void)
{
    static uint32_t buffers[RANKS][1000];
    struct group_sim sim;
    char names[RANKS][64];
    char *text = write_model(RANKS, 2);
    bool told = false;

    open_measured(&sim, RANKS, 4, "");
    name_hosts(names, RANKS, RANKS);
    CU_ASSERT_EQUAL(nf_group_set_network(sim.groups[1], text, strlen(text),
                                         "model", (const char(*)[64])names,
                                         NULL),
                    NF_OK);
    for (uint32_t r = 0; r < RANKS; r++) {
        const struct nf_call call = { .kind = NF_CALL_BCAST,
                                      .recv = buffers[r],
                                      .count = 1000,
                                      .type = NF_ELEM_UINT32 };

        sim_start(&sim, r, &call);
    }
    (void)sim_run(&sim);
    for (uint32_t r = 0; r < RANKS; r++)
        told = told || sim.statuses[r] == NF_ERR_MISMATCH;
    CU_ASSERT(told);
    sim_close(&sim);
    free(text);
}

/* Half as many on the fullest host as when it was measured: half as long. */
static void shared_processors_count_by_host(void)
{
    struct group_sim sim;
    double part, as_measured_us, usual_us;
    uint32_t most = 0;

    CU_ASSERT_FATAL(sim_open(&sim, RANKS, 1, NULL));
    for (uint32_t i = 0; i < RANKS; i++) {
        uint32_t count = 0;

        for (uint32_t j = 0; j < RANKS; j++)
            count += sim.groups[0]->hosts[i] == sim.groups[0]->hosts[j];
        most = count > most ? count : most;
    }
    part = (double)most / RANKS;
    CU_ASSERT(part < 0.5 && part > 1.0 / RANKS);
    usual_us = barrier_by_table(&sim, 0);
    CU_ASSERT_EQUAL(sim.groups[2]->exchange.share_ns, 5000000);
    as_measured_us = barrier_by_table(&sim, part);
    CU_ASSERT_DOUBLE_EQUAL(as_measured_us, usual_us, 1e-6 * usual_us);
    CU_ASSERT_DOUBLE_EQUAL(barrier_by_table(&sim, 2 * part), usual_us / 2,
                           1e-6 * usual_us);
    CU_ASSERT_EQUAL(sim.groups[2]->exchange.share_ns, 2500000);
    sim_close(&sim);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "all members plan alike", all_members_plan_alike },
        { "broadcasts go down the tree", broadcasts_go_down_the_tree },
        { "what is forced is taken", what_is_forced_is_taken },
        { "deterministic groups go by nothing measured",
          deterministic_groups_go_by_nothing_measured },
        { "segments are as long as planned", segments_are_as_long_as_planned },
        { "nobody is held on one host", nobody_is_held_on_one_host },
        { "all operations go by the network",
          all_operations_go_by_the_network },
        { "other networks have other algorithms",
          other_networks_have_other_algorithms },
        { "a table has its own model", a_table_has_its_own_model },
        { "broadcasts cross to a host once", broadcasts_cross_to_a_host_once },
        { "unknown hosts are leaves", unknown_hosts_are_leaves },
        { "a bad model changes nothing", a_bad_model_changes_nothing },
        { "members with other networks are told",
          members_with_other_networks_are_told },
        { "shared processors count by host", shared_processors_count_by_host },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "groups and measured networks", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
