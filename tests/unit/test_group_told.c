/* A broadcast that one member plans by a measured network and tells the others,
 * who have no model: they take the same algorithm, segments and tree. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/endian.h"
#include "common/coll/tree_words.h"
#include "common/group/over_mesh.h"
#include "common/model/network_file.h"
#include "tests/unit/group_sim.h"
#include "tests/unit/nf_tmpdir.h"
#include "tests/unit/nf_unit.h"

enum { RANKS = 5, ELEMENTS = 70000, WORDS = 2 * RANKS - 1 };

/* Hosts h0, h1, ... of which the links of h1 and @p thin, if any, are 20 times
 * slower than all others. */
static bool is_thin(int host, int thin)
{
    return thin > 0 && (host == 1 || host == thin);
}

static const char *write_model(const char *name, int thin)
{
    static char text[16384];
    size_t used;

    used = (size_t)snprintf(
        text, sizeof(text),
        "{\"nowfarm_network\": 1, \"date\": \"2026-11-22T12:00:00Z\","
        "\"medium\": \"switch\", \"route\": \"direct\", "
        "\"encoding\": \"raw\", \"collective\": {\"pieces\": "
        "[[0, 176, 0.1]], \"delta\": 1, \"o_s_us\": 5, "
        "\"t_op\": []}, \"hosts\": [");
    for (int i = 0; i < RANKS; i++)
        used += (size_t)snprintf(
            text + used, sizeof(text) - used,
            "%s{\"name\": \"h%d\", \"send\": {\"us\": 20, \"us_per_byte\": "
            "0.002}, \"recv\": {\"us\": 30, \"us_per_byte\": 0.003}, \"hold\": "
            "{\"us\": 20, \"us_per_byte\": %f}}",
            i > 0 ? "," : "", i, is_thin(i, thin) ? 1.6 : 0.08);
    used += (size_t)snprintf(text + used, sizeof(text) - used,
                             "], \"wires\": [");
    for (int i = 0; i < RANKS; i++)
        for (int j = 0; j < RANKS; j++)
            if (i != j)
                used += (size_t)snprintf(
                    text + used, sizeof(text) - used,
                    "%s{\"from\": \"h%d\", \"to\": \"h%d\", \"wire\": "
                    "{\"us\": 40, \"us_per_byte\": %f}}",
                    i > 0 || j > 1 ? "," : "", i, j,
                    is_thin(i, thin) || is_thin(j, thin) ? 1.6 : 0.08);
    snprintf(text + used, sizeof(text) - used, "]}");
    return nf_tmp_write(name, text);
}

static int named_hosts = RANKS;

static void host_names(const struct nf_mesh *mesh, char (*names)[64])
{
    for (uint32_t i = 0; i < mesh->ranks; i++)
        snprintf(names[i], sizeof(names[i]), "%s%u",
                 (int)i < named_hosts ? "h" : "stranger", i);
}

static const struct nf_mesh_ops named = { .name = "named",
                                          .host_names = host_names };
static const struct nf_mesh mesh = { .ops = &named, .ranks = RANKS };
static const struct nf_coll_query query = { .op = NF_COLL_BCAST,
                                            .ranks = RANKS,
                                            .bytes = ELEMENTS * 4,
                                            .elements = ELEMENTS,
                                            .commutative = true };

static enum nf_status ask(const char *wish, const char *path,
                          struct nf_told *told, struct nf_error *err)
{
    struct nf_network network;
    enum nf_status status;

    *told = (struct nf_told){ .tree = NULL };
    CU_ASSERT_EQUAL_FATAL(nf_network_read(path, &network, NULL), NF_OK);
    status = nf_group_tell_network(wish, &mesh, &network, path, &query, told,
                                   err);
    nf_network_fini(&network);
    return status;
}

static uint32_t children_of(const struct nf_told *told, uint32_t rank)
{
    return nf_load_le32(told->tree + 4 * rank);
}

/* All that is told, as the master and slaves do it.
 * @return by which algorithm; "": the data is wrong */
static const char *broadcast(const struct nf_told *told)
{
    static uint32_t data[RANKS][ELEMENTS];
    const struct nf_group_options options = { .algorithms = told->algorithm };
    const char *algorithm;
    struct group_sim sim;
    bool ok;

    CU_ASSERT_FATAL(sim_open(&sim, RANKS, 1, &options));
    for (uint32_t r = 0; r < RANKS; r++) {
        const struct nf_call call = { .kind = NF_CALL_BCAST,
                                      .recv = data[r],
                                      .count = ELEMENTS,
                                      .type = NF_ELEM_UINT32 };

        for (uint32_t i = 0; i < ELEMENTS; i++)
            data[r][i] = r == 0 ? i * 3 + 1 : 0;
        if (told->tree != NULL)
            CU_ASSERT_EQUAL(nf_group_set_tree(sim.groups[r], told->tree, NULL),
                            NF_OK);
        sim_start(&sim, r, &call);
    }
    algorithm = nf_request_algorithm(sim.requests[0]);
    ok = sim_run(&sim);
    for (uint32_t r = 0; r < RANKS; r++) {
        ok = ok && sim.statuses[r] == NF_OK;
        for (uint32_t i = 0; i < ELEMENTS; i++)
            ok = ok && data[r][i] == i * 3 + 1;
    }
    sim_close(&sim);
    return ok ? algorithm : "";
}

static void who_has_a_thin_link_sends_to_nobody(void)
{
    for (int thin = 2; thin < RANKS; thin++) {
        const char *path = write_model("net", thin);
        struct nf_told told;

        CU_ASSERT_EQUAL_FATAL(ask("", path, &told, NULL), NF_OK);
        CU_ASSERT(strncmp(told.algorithm, "bcast.tree:k=", 13) == 0);
        CU_ASSERT_PTR_NOT_NULL_FATAL(told.tree);
        CU_ASSERT_EQUAL(told.unknown, 0);
        CU_ASSERT_EQUAL(children_of(&told, 1), 0);
        CU_ASSERT_EQUAL(children_of(&told, (uint32_t)thin), 0);
        CU_ASSERT_STRING_EQUAL(broadcast(&told), "bcast.tree");
        nf_free(told.tree);
    }
}

/* Equal hosts have no use of a tree: what is told must do without. */
static void what_is_cheapest_is_told(void)
{
    const char *path = write_model("net", -1);
    struct nf_told told;

    CU_ASSERT_EQUAL_FATAL(ask(NULL, path, &told, NULL), NF_OK);
    CU_ASSERT(strncmp(told.algorithm, "bcast.", 6) == 0);
    CU_ASSERT((strncmp(told.algorithm, "bcast.tree", 10) == 0) ==
              (told.tree != NULL));
    CU_ASSERT_EQUAL(strncmp(broadcast(&told), told.algorithm,
                            strcspn(told.algorithm, ":")),
                    0);
    nf_free(told.tree);
    /* the tree all the same, in so many segments */
    CU_ASSERT_EQUAL_FATAL(ask("reduce.chain.fd,bcast.tree:k=3", path, &told,
                              NULL),
                          NF_OK);
    CU_ASSERT_STRING_EQUAL(told.algorithm, "bcast.tree:k=3");
    CU_ASSERT_PTR_NOT_NULL(told.tree);
    CU_ASSERT_STRING_EQUAL(broadcast(&told), "bcast.tree");
    nf_free(told.tree);
    CU_ASSERT_EQUAL(ask("bcast.flat", path, &told, NULL), NF_WAIT);
}

static void strangers_are_counted_and_send_to_nobody(void)
{
    const char *path = write_model("net", 1);
    struct nf_told told;

    named_hosts = 3;
    CU_ASSERT_EQUAL_FATAL(ask("bcast.tree", path, &told, NULL), NF_OK);
    named_hosts = RANKS;
    CU_ASSERT_EQUAL(told.unknown, RANKS - 3);
    CU_ASSERT_EQUAL(children_of(&told, 3), 0);
    CU_ASSERT_EQUAL(children_of(&told, 4), 0);
    CU_ASSERT_STRING_EQUAL(broadcast(&told), "bcast.tree");
    nf_free(told.tree);
}

/* ---- more members than a group that plans by itself may have ---- */

static void crowd_names(const struct nf_mesh *all, char (*names)[64])
{
    for (uint32_t i = 0; i < all->ranks; i++)
        snprintf(names[i], sizeof(names[i]), "h%u", i % RANKS);
}

static uint32_t crowd_host_of(const struct nf_mesh *all, uint32_t member)
{
    (void)all;
    return member % RANKS;
}

static const struct nf_mesh_ops crowded = { .name = "crowded",
                                            .host_names = crowd_names,
                                            .host_of = crowd_host_of };

static enum nf_status ask_crowd(uint32_t ranks, const char *wish,
                                struct nf_told *told, struct nf_error *err)
{
    const struct nf_mesh all = { .ops = &crowded, .ranks = ranks };
    const char *path = write_model("net", 2);
    struct nf_coll_query asked = query;
    struct nf_network network;
    enum nf_status status;

    asked.ranks = ranks;
    *told = (struct nf_told){ .tree = NULL };
    CU_ASSERT_EQUAL_FATAL(nf_network_read(path, &network, NULL), NF_OK);
    status =
        nf_group_tell_network(wish, &all, &network, "net", &asked, told, err);
    nf_network_fini(&network);
    return status;
}

/* Who plans for all alone does so for more than would all plan. */
static void one_plans_for_many(void)
{
    enum { MANY = 200 };
    struct nf_error err = { .text = "" };
    struct nf_coll_args args = { .ranks = MANY, .segments = 1 };
    struct nf_coll_tree tree;
    struct nf_told told, flat;
    uint32_t *first = NULL;

    CU_ASSERT_EQUAL_FATAL(ask_crowd(MANY, "bcast.tree", &told, NULL), NF_OK);
    CU_ASSERT_EQUAL(told.unknown, 0);
    CU_ASSERT_EQUAL_FATAL(nf_coll_tree_read(told.tree, MANY, &tree, &first),
                          NF_OK);
    args.tree = &tree;
    CU_ASSERT_EQUAL(nf_coll_fits(&nf_coll_bcast_tree, &args, &err), NF_OK);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    /* the bytes take that on one thin link */
    CU_ASSERT(told.time_us > 1.6 * ELEMENTS * 4);
    nf_free(first);
    nf_free(told.tree);
    CU_ASSERT_EQUAL_FATAL(ask_crowd(MANY, "", &flat, NULL), NF_OK);
    CU_ASSERT(flat.time_us > 0 && flat.time_us <= told.time_us);
    nf_free(flat.tree);
    CU_ASSERT_EQUAL(ask_crowd(NF_NETWORK_HOSTS_MAX + 1, "", &told, &err),
                    NF_ERR_INVAL);
    CU_ASSERT_STRING_EQUAL(err.text,
                           "net: a group of 513 members: trees are planned for "
                           "up to 512");
    CU_ASSERT_EQUAL(ask_crowd(NF_NETWORK_HOSTS_MAX + 1, "bcast.flat", &told,
                              &err),
                    NF_WAIT);
}

/* What comes by the wire may be anything. */
static void no_tree_is_refused(void)
{
    static const uint32_t bad[][WORDS] = {
        { 4, 0, 0, 0, 0, 1, 2, 3, 3 },          /* one twice */
        { 4, 0, 0, 0, 0, 1, 2, 3, 5 },          /* none of them */
        { 4, 0, 0, 0, 0, 1, 2, 3, 0 },          /* the root */
        { 3, 0, 0, 0, 0, 1, 2, 3, 4 },          /* too few */
        { 0, 4, 0, 0, 0, 1, 2, 3, 4 },          /* nobody is reached */
        { 2, 0, 0, 1, 1, 1, 2, 4, 3 },          /* two of each other */
        { UINT32_MAX, 5, 0, 0, 0, 1, 2, 3, 4 }, /* wraps round */
    };
    static const uint32_t good[WORDS] = { 2, 0, 2, 0, 0, 2, 1, 4, 3 };
    uint8_t words[4 * WORDS];
    struct group_sim sim;

    CU_ASSERT_FATAL(sim_open(&sim, RANKS, 1, NULL));
    for (size_t i = 0; i <= sizeof(bad) / sizeof(bad[0]); i++) {
        bool is_bad = i < sizeof(bad) / sizeof(bad[0]);

        for (uint32_t w = 0; w < WORDS; w++)
            nf_store_le32(words + 4 * w, is_bad ? bad[i][w] : good[w]);
        CU_ASSERT_EQUAL(nf_group_set_tree(sim.groups[0], words, NULL),
                        is_bad ? NF_ERR_INVAL : NF_OK);
        CU_ASSERT_EQUAL(sim.groups[0]->told.ranks, is_bad ? 0 : RANKS);
    }
    sim_close(&sim);
}

/* @return how many members rank 0 sends to in this call */
static uint32_t targets_of(const struct nf_request *request)
{
    return request != NULL && request->plan != NULL ? request->plan->ntargets
                                                    : 0;
}

static void set_tree(struct group_sim *sim, const uint32_t *tree)
{
    uint8_t words[4 * WORDS];

    for (uint32_t w = 0; w < WORDS; w++)
        nf_store_le32(words + 4 * w, tree[w]);
    for (uint32_t r = 0; r < RANKS; r++)
        CU_ASSERT_EQUAL(nf_group_set_tree(sim->groups[r], words, NULL), NF_OK);
}

enum { CALLS = 4 };
struct calls {
    uint32_t data[CALLS][RANKS][7];
    struct nf_request *requests[CALLS][RANKS];
};

static void begin_call(struct group_sim *sim, struct calls *calls, int c)
{
    for (uint32_t r = 0; r < RANKS; r++) {
        const struct nf_call call = { .kind = NF_CALL_BCAST,
                                      .recv = calls->data[c][r],
                                      .count = 7,
                                      .type = NF_ELEM_UINT32 };

        memset(calls->data[c][r], r == 0 ? c + 1 : 0,
               sizeof(calls->data[c][r]));
        CU_ASSERT_EQUAL(
            nf_group_start(sim->groups[r], &call, &calls->requests[c][r]),
            NF_OK);
    }
}

static void end_calls(struct group_sim *sim, struct calls *calls, int from,
                      int to)
{
    for (int i = 0; i < 1000; i++) {
        for (uint32_t r = 0; r < RANKS; r++)
            (void)nf_group_progress(sim->groups[r]);
        (void)sim_advance(sim);
    }
    for (int c = from; c <= to; c++)
        for (uint32_t r = 0; r < RANKS; r++) {
            CU_ASSERT_EQUAL(nf_request_test(calls->requests[c][r]), NF_OK);
            CU_ASSERT_EQUAL(memcmp(calls->data[c][r], calls->data[c][0],
                                   sizeof(calls->data[c][r])),
                            0);
            nf_request_free(calls->requests[c][r]);
        }
}

/* The second tree is where the first one was: plans made of that one are of no
 * use any more, but where a call under way has them. */
static void another_tree_is_another_plan(void)
{
    static const uint32_t flat[WORDS] = { 4, 0, 0, 0, 0, 1, 2, 3, 4 };
    static const uint32_t chain[WORDS] = { 1, 1, 1, 1, 0, 1, 2, 3, 4 };
    const struct nf_group_options options = { .algorithms = "bcast.tree:k=2" };
    static struct calls calls;
    struct group_sim sim;

    for (int at_once = 0; at_once < 2; at_once++) {
        CU_ASSERT_FATAL(sim_open(&sim, RANKS, 1, &options));
        sim.world.byte_ns = 1000; /* nothing has left when a call has begun */
        for (int c = 0; c < CALLS; c++) {
            set_tree(&sim, c % 2 == 0 ? flat : chain);
            begin_call(&sim, &calls, c);
            CU_ASSERT_EQUAL(targets_of(calls.requests[c][0]),
                            c % 2 == 0 ? 4 : 1);
            if (!at_once)
                end_calls(&sim, &calls, c, c);
        }
        if (at_once)
            end_calls(&sim, &calls, 0, CALLS - 1);
        sim_close(&sim);
    }
}

static void memory_may_end(void)
{
    const char *path = write_model("net", 2);
    struct nf_told told = { .tree = NULL };
    struct nf_network network;
    enum nf_status status = NF_ERR_NOMEM;

    CU_ASSERT_EQUAL_FATAL(nf_network_read(path, &network, NULL), NF_OK);
    /* planning takes memory so often that not each time can be tried */
    for (long at = 0; status != NF_OK && at < 1000000; at += 1 + at / 8) {
        nf_alloc_fail_after(at);
        status = nf_group_tell_network("", &mesh, &network, path, &query, &told,
                                       NULL);
        nf_alloc_fail_after(-1);
        CU_ASSERT(status == NF_OK || status == NF_ERR_NOMEM);
        CU_ASSERT(status == NF_OK || told.tree == NULL);
    }
    CU_ASSERT_EQUAL(status, NF_OK);
    nf_network_fini(&network);
    nf_free(told.tree);
}

/* Rules of members on one host: many segments keep its processors busy.  Where
 * each has a host of its own they do not. */
static void processors_count_as_members_share_them(void)
{
    static const uint32_t one_host[4] = { 0 }, two_hosts[4] = { 3, 9, 3, 9 };
    struct nf_coll_query asked = { .op = NF_COLL_BCAST,
                                   .ranks = 4,
                                   .bytes = 80000,
                                   .elements = 10000,
                                   .commutative = true };
    char alone[NF_TOLD_BYTES], crowd[NF_TOLD_BYTES], told[NF_TOLD_BYTES];
    struct nf_coll_rules rules;

    nf_coll_rules_init(&rules);
    rules.model = (struct nf_model){ .npieces = 1,
                                     .pieces = { { 0, 100, 0.1 } },
                                     .delta = 1,
                                     .share_us = 1000,
                                     .share_part = 1 };
    nf_group_tell_choice(NULL, &rules, &asked, false, alone, NULL);
    asked.hosts = one_host;
    nf_group_tell_choice(NULL, &rules, &asked, false, crowd, NULL);
    CU_ASSERT_STRING_NOT_EQUAL(alone, crowd);
    /* as it was measured there */
    asked.hosts = NULL;
    rules.model.share_us = 250;
    rules.model.share_part = 0.25;
    nf_group_tell_choice(NULL, &rules, &asked, false, told, NULL);
    CU_ASSERT_STRING_EQUAL(told, alone);
    asked.hosts = two_hosts;
    rules.model.share_us = 500;
    rules.model.share_part = 0.25;
    nf_group_tell_choice(NULL, &rules, &asked, false, told, NULL);
    CU_ASSERT_STRING_EQUAL(told, crowd);
    nf_coll_rules_fini(&rules);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "who has a thin link sends to nobody",
          who_has_a_thin_link_sends_to_nobody },
        { "what is cheapest is told", what_is_cheapest_is_told },
        { "strangers are counted and send to nobody",
          strangers_are_counted_and_send_to_nobody },
        { "one plans for many", one_plans_for_many },
        { "no tree is refused", no_tree_is_refused },
        { "another tree is another plan", another_tree_is_another_plan },
        { "processors count as members share them",
          processors_count_as_members_share_them },
        { "memory may end", memory_may_end },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "broadcasts planned by one", nf_tmpdir_make, nf_tmpdir_remove, NULL,
          NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
