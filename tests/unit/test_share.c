/* The group that brings shared data, at the master's end. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/base/alloc.h"
#include "common/base/blob.h"
#include "common/group/over_mesh.h"
#include "common/model/gift.h"
#include "master/engine_internal.h"
#include "tests/unit/group_sim.h"
#include "tests/unit/nf_unit.h"

enum { RANKS = 3, TIMEOUT_US = 1000000, BYTES = 100 };

static struct group_sim sim;
static struct slave slaves[RANKS - 1];
static struct engine engine;
static uint8_t data[RANKS][BYTES];

/* The master hands the data to the slaves, one after the other, and each of
 * them has yet to say that it has it. */
static void begin(void)
{
    const struct nf_group_options options = { .timeout_us = TIMEOUT_US,
                                              .algorithms =
                                                  "bcast.pipeline.fd:k=1" };
    struct gather *g = &engine.gather;

    CU_ASSERT_FATAL(sim_open(&sim, RANKS, 1, &options));
    memset(&engine, 0, sizeof(engine));
    engine.slaves = slaves;
    engine.nslaves = RANKS - 1;
    for (uint32_t i = 0; i < RANKS - 1; i++)
        slaves[i] = (struct slave){ .state = SLAVE_NEW, .share_id = 1 };
    for (uint32_t r = 0; r < RANKS; r++) {
        const struct nf_call call = { .kind = NF_CALL_BCAST,
                                      .recv = data[r],
                                      .count = BYTES,
                                      .type = NF_ELEM_BYTE };

        sim_start(&sim, r, &call);
    }
    g->shared_once = true;
    g->sharing = sim.groups[0];
    g->share_request = sim.requests[0];
    sim.groups[0] = NULL; /* the engine's now */
    sim.requests[0] = NULL;
}

static void end(void)
{
    nf_gather_close_shared(&engine);
    sim_close(&sim);
}

/* @param rank  the slave that runs too; 0: none does */
static void turns(uint32_t rank, unsigned count)
{
    while (count-- > 0) {
        nf_gather_shared_turn(&engine);
        if (rank > 0 && sim.statuses[rank] == NF_WAIT)
            sim.statuses[rank] = nf_request_test(sim.requests[rank]);
        sim.world.now_us += TIMEOUT_US / 20;
    }
}

/* All have it; the group goes when they have said so. */
static void test_done(void)
{
    begin();
    turns(1, 10);
    turns(2, 10);
    CU_ASSERT_EQUAL(sim.statuses[2], NF_OK);
    CU_ASSERT_PTR_NULL(engine.gather.share_request);
    CU_ASSERT_PTR_NOT_NULL(engine.gather.sharing);
    slaves[0].state = slaves[1].state = SLAVE_READY;
    turns(0, 1);
    CU_ASSERT_PTR_NULL(engine.gather.sharing);
    end();
}

/* The first slave dies when the master's part is done, and the second one gives
 * the group up.  What comes of a group that was given up is not taken any more,
 * and would wake the master again and again. */
static void test_given_up(void)
{
    begin();
    turns(0, 10);
    CU_ASSERT_PTR_NULL(engine.gather.share_request);
    CU_ASSERT_PTR_NOT_NULL(engine.gather.sharing);
    fake_kill(&sim.world, 1);
    turns(2, 40);
    CU_ASSERT_EQUAL(sim.statuses[2], NF_ERR_DEAD);
    CU_ASSERT_PTR_NULL(engine.gather.sharing);
    end();
}

/* ------------------------------------------------------ who gives it later */

enum { LATE = 6 }; /* is to get it, and is on host 2 */

/* Two ready slaves on each of the hosts 0, 1, 2, and one that comes late. */
static struct slave world[LATE + 1];
static const struct nf_options options = { .heartbeat_timeout_us = TIMEOUT_US };

static uint32_t holder(void)
{
    return nf_share_find_holder(&engine, LATE, 2 * TIMEOUT_US);
}

static void make_world(void)
{
    memset(&engine, 0, sizeof(engine));
    engine.slaves = world;
    engine.nslaves = LATE + 1;
    engine.options = &options;
    for (uint32_t i = 0; i < LATE; i++)
        world[i] = (struct slave){ .state = SLAVE_READY,
                                   .host = i / 2,
                                   .heard_us = 2 * TIMEOUT_US };
    world[LATE] = (struct slave){ .state = SLAVE_READY,
                                  .host = 2,
                                  .heard_us = 2 * TIMEOUT_US };
}

static void test_nearest(void)
{
    make_world();
    CU_ASSERT_EQUAL(holder(), 4);
    world[4].giving = true;
    CU_ASSERT_EQUAL(holder(), 5);
    world[5].state = SLAVE_NEW; /* has nothing yet */
    CU_ASSERT_EQUAL(holder(), 0);
    world[4].giving = false;
    world[4].heard_us = TIMEOUT_US; /* too long ago */
    CU_ASSERT_EQUAL(holder(), 0);
}

static void test_least_loaded(void)
{
    make_world();
    world[4].state = world[5].state = SLAVE_GONE;
    CU_ASSERT_EQUAL(holder(), 0);
    world[0].giving = true; /* and 1 is on its host */
    CU_ASSERT_EQUAL(holder(), 2);
    world[3].giving = true;
    CU_ASSERT_EQUAL(holder(), 1); /* of equals the first */
    world[1].giving = true;
    CU_ASSERT_EQUAL(holder(), 2);
    world[2].giving = true;
    CU_ASSERT_EQUAL(holder(), NF_NO_PEER);
}

/* ---------------------------------------------------- by a measured network */

enum { HOSTS = 4 };

/* Hosts a to d; whoever is slow is so on all its wires but those between c and
 * d, which are the quickest.  us per byte; 1 MiB is given. */
static const double wire_byte_us[HOSTS][HOSTS] = {
    { 0, 0.08, 0.08, 0.8 },
    { 0.08, 0, 0.08, 0.4 },
    { 0.08, 0.08, 0, 0.08 },
    { 0.8, 0.4, 0.08, 0 },
};
static struct host hosts[HOSTS + 1] = {
    { .name = "a" },
    { .name = "b" },
    { .name = "c" },
    { .name = "d" },
    { .name = "somebody else" },
};
static struct nf_blob shared = { .bytes = 1 << 20 };

/* A slave on each of a, b and c, and one that comes late on d. */
static void make_network(void)
{
    make_world();
    engine.hosts = hosts;
    engine.nhosts = HOSTS + 1;
    engine.nslaves = LATE + 1;
    engine.shared = &shared;
    for (uint32_t i = 0; i < LATE; i++) {
        world[i].state = i < 3 ? SLAVE_READY : SLAVE_GONE;
        world[i].host = i;
    }
    world[LATE].host = 3;
    CU_ASSERT_EQUAL_FATAL(nf_network_init(&engine.network, HOSTS), NF_OK);
    for (uint32_t i = 0; i < HOSTS; i++) {
        struct nf_network_host *host = &engine.network.hosts[i];

        memcpy(host->name, hosts[i].name, sizeof(host->name));
        host->send = host->recv = nf_curve_line((struct nf_cost){ 20, 0.001 });
        host->hold = nf_curve_line((struct nf_cost){ 20, 0.08 });
        for (uint32_t j = 0; j < HOSTS; j++)
            *nf_network_wire(&engine.network, i, j) =
                nf_curve_line((struct nf_cost){ 50, wire_byte_us[i][j] });
    }
}

static void test_by_network(void)
{
    make_network();
    CU_ASSERT_EQUAL(holder(), 2); /* not the first one */
    world[2].giving = true;
    CU_ASSERT_EQUAL(holder(), 1);
    world[1].giving = true;
    CU_ASSERT_EQUAL(holder(), 0);
    world[1].giving = world[2].giving = false;
    world[2].heard_us = TIMEOUT_US; /* too long ago */
    CU_ASSERT_EQUAL(holder(), 1);
    world[4] = world[0]; /* on the host of who is to get it */
    world[4].host = 3;
    CU_ASSERT_EQUAL(holder(), 4);
    nf_network_close(&engine);
}

/* What a host gives already goes first; not whatever that takes. */
static void test_network_and_load(void)
{
    make_network();
    world[3] = world[4] = world[5] = world[2]; /* on c too */
    world[3].giving = true;
    CU_ASSERT_EQUAL(holder(), 2);
    world[2].giving = world[4].giving = true;
    CU_ASSERT_EQUAL(holder(), 5); /* 4 * 0.08 < 0.4 us a byte */
    *nf_network_wire(&engine.network, 1, 3) =
        nf_curve_line((struct nf_cost){ 50, 0.3 });
    CU_ASSERT_EQUAL(holder(), 1); /* but not less than 0.3 */
    nf_network_close(&engine);
}

/* Nobody knows how far they are, so they come last; of them the least loaded.
 */
static void test_not_measured(void)
{
    make_network();
    world[2].host = HOSTS;
    CU_ASSERT_EQUAL(holder(), 1);
    world[0].state = world[1].state = SLAVE_GONE;
    CU_ASSERT_EQUAL(holder(), 2);
    nf_network_close(&engine);
    make_world(); /* who is to get it: as without a network */
    engine.hosts = hosts;
    for (uint32_t i = 0; i < LATE; i++)
        world[i].host = i % 3;
    world[0].giving = true;
    world[LATE].host = HOSTS;
    CU_ASSERT_EQUAL(holder(), 1);
    nf_network_fini(&engine.network);
}

static void test_prices(void)
{
    const struct nf_network *network = &engine.network;

    make_network();
    CU_ASSERT_DOUBLE_EQUAL(nf_gift_us(network, 2, 3, 0, 1000),
                           20 + 1 + 50 + 80 + 20 + 1, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(nf_gift_us(network, 2, 3, 2, 1000), 172 + 2 * 100,
                           1e-9);
    CU_ASSERT(isinf(nf_gift_us(network, 2, 2, 0, 1000)));
    CU_ASSERT(isinf(nf_gift_us(network, HOSTS, 2, 0, 1000)));
    CU_ASSERT(isinf(nf_gift_us(network, 2, HOSTS, 0, 1000)));
    CU_ASSERT(isinf(nf_gift_us(NULL, 0, 0, 0, 1000)));
    nf_network_close(&engine);
}

/* ------------------------------------------------- what a job tells its slaves */

static void names_of(const struct nf_mesh *mesh, char (*names)[64])
{
    for (uint32_t i = 0; i < mesh->ranks; i++)
        memcpy(names[i], hosts[i % HOSTS].name, sizeof(names[i]));
}

static uint32_t host_of(const struct nf_mesh *mesh, uint32_t member)
{
    (void)mesh;
    return member % HOSTS;
}

static void by_the_daemons(const struct nf_mesh *mesh,
                           struct nf_mesh_place *place_p)
{
    (void)mesh;
    *place_p = (struct nf_mesh_place){ .direct = false };
}

static const struct nf_mesh_ops crowded = { .host_names = names_of,
                                            .host_of = host_of };
static const struct nf_mesh_ops far = { .host_names = names_of,
                                        .host_of = host_of,
                                        .place = by_the_daemons };
static char notices[2000];

static void note(void *user, const char *line)
{
    (void)user;
    snprintf(notices + strlen(notices), sizeof(notices) - strlen(notices),
             "%s\n", line);
}

static const struct nf_options told_options = { .heartbeat_timeout_us =
                                                    TIMEOUT_US,
                                                .network_file = "lan.json",
                                                .notice = note };

/* A master that has the network, measured so long ago. */
static void make_master(int64_t age_s)
{
    static const struct nf_app app = { .name = "told" };
    time_t then = time(NULL) - age_s;

    unsetenv("NOWFARM_COLL");
    make_network();
    engine.options = &told_options;
    engine.app = &app;
    engine.network_read = true;
    engine.network.model = (struct nf_model){ .npieces = 1,
                                              .pieces = { { 0, 100, 0.1 } },
                                              .delta = 1,
                                              .route = NF_MODEL_ROUTE_DIRECT,
                                              .encoding =
                                                  NF_MODEL_ENCODING_RAW };
    strftime(engine.network.model.date, sizeof(engine.network.model.date),
             "%Y-%m-%dT%H:%M:%SZ", gmtime(&then));
    notices[0] = '\0';
}

/* @return what all are told, and in told_p the plan, if there is one */
static struct nf_group_msg tell_all(uint32_t members, struct nf_told *told_p,
                                    bool *planned_p)
{
    const struct nf_mesh mesh = { .ops = &crowded, .ranks = members };
    struct nf_coll_query asked = nf_share_query(&engine, members);
    struct nf_group_msg m = { .purpose = NF_GROUP_SHARED };

    *told_p = (struct nf_told){ .tree = NULL };
    nf_table_tell(&engine, &asked, &m);
    *planned_p = nf_network_tell(&engine, &mesh, told_p);
    return m;
}

/* For so many slaves that groups of their own would make no plans. */
static void test_many_slaves(void)
{
    struct nf_told told;
    bool planned;

    make_master(0);
    (void)tell_all(150, &told, &planned);
    CU_ASSERT(planned && told.unknown == 0 && told.algorithm[0] != '\0');
    CU_ASSERT_STRING_EQUAL(engine.report.shared_network, "lan.json");
    /* all of it on the thin wire to d */
    CU_ASSERT(engine.report.shared_model_s > 0.08e-6 * (double)shared.bytes);
    CU_ASSERT_STRING_EQUAL(notices, "");
    nf_free(told.tree);
    nf_network_close(&engine);
}

/* Nobody plans for those: what the file says of collective operations counts,
 * unless there is a table or a wish. */
static void test_too_many_slaves(void)
{
    static const char *const said =
        "lan.json: a group of 600 members: trees are planned for up to 512: "
        "shared data is not planned\n";
    struct nf_group_msg m;
    struct nf_told told;
    bool planned;

    make_master(0);
    m = tell_all(600, &told, &planned);
    CU_ASSERT(!planned && m.algorithm[0] != '\0');
    CU_ASSERT_STRING_EQUAL(notices, said);
    CU_ASSERT_STRING_EQUAL(engine.report.shared_network, "lan.json");
    CU_ASSERT_EQUAL(engine.report.shared_model_s, 0);
    nf_network_close(&engine);

    make_master(0);
    engine.has_rules = true;
    nf_coll_rules_init(&engine.rules);
    engine.rules.model = nf_group_model;
    m = tell_all(600, &told, &planned);
    CU_ASSERT(!planned && m.algorithm[0] != '\0');
    CU_ASSERT_STRING_EQUAL(notices, said);
    CU_ASSERT_STRING_EQUAL(engine.report.shared_network, "");
    nf_table_close(&engine);
    nf_network_close(&engine);

    make_master(0);
    setenv("NOWFARM_COLL", "bcast.flat", 1);
    m = tell_all(600, &told, &planned);
    CU_ASSERT(!planned);
    CU_ASSERT_STRING_EQUAL(m.algorithm, "bcast.flat");
    CU_ASSERT_STRING_EQUAL(notices, "");
    CU_ASSERT_STRING_EQUAL(engine.report.shared_network, "");
    unsetenv("NOWFARM_COLL");
    nf_network_close(&engine);
}

/* Of exchanges the way does not count, of shared data it does: the age, which is
 * the same, is told once. */
static void test_doubts_once(void)
{
    const struct nf_mesh mesh = { .ops = &far, .ranks = 3 };

    make_master(30 * 86400);
    nf_network_compare(&engine, NULL);
    CU_ASSERT_STRING_EQUAL(
        notices, "lan.json: the model is 30 days old: measure again\n");
    notices[0] = '\0';
    nf_network_compare(&engine, &mesh);
    CU_ASSERT_STRING_EQUAL(notices, "lan.json: the model is of messages by the "
                                    "direct route: measure again\n");
    notices[0] = '\0';
    nf_network_compare(&engine, NULL);
    nf_network_compare(&engine, &mesh);
    CU_ASSERT_STRING_EQUAL(notices, "");
    nf_network_close(&engine);

    make_master(30 * 86400);
    nf_network_compare(&engine, &mesh);
    nf_network_compare(&engine, NULL);
    CU_ASSERT_STRING_EQUAL(notices,
                           "lan.json: the model is 30 days old, of messages by "
                           "the direct route: measure again\n");
    nf_network_close(&engine);
}

static CU_TestInfo tests[] = {
    { "the group is open until all have the data", test_done },
    { "one that was given up is closed", test_given_up },
    { "a slave of the same host gives it, if one can", test_nearest },
    { "else one whose host gives it to the fewest", test_least_loaded },
    { "the network says who is near, which is not the first one",
      test_by_network },
    { "a near one that gives to many is far", test_network_and_load },
    { "who was not measured comes last", test_not_measured },
    { "what a gift takes", test_prices },
    { "more slaves than plan by themselves have a plan", test_many_slaves },
    { "too many go by the model of the usual link", test_too_many_slaves },
    { "what is wrong with a model is told once", test_doubts_once },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "shared data", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
