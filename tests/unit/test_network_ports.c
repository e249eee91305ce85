/* How long a message keeps its sender's wire, nf_network_ports(). */
#include "config.h"
#include <math.h>
#include "common/model/network.h"
#include "common/tree/bcast_plan.h"
#include "common/tree/crl.h"
#include "common/tree/hnow.h"
#include "common/tree/times.h"
#include "tests/unit/nf_unit.h"

static bool is_near(double us, double want)
{
    return fabs(us - want) <= 1e-6 * want;
}

/* A daemon copies: senders are held for longer than hands and wire say. */
static void test_held_ports(void)
{
    struct nf_network network;
    double port[4];

    CU_ASSERT_EQUAL(nf_network_init(&network, 4), NF_OK);
    for (uint32_t i = 0; i < 4; i++) {
        network.hosts[i].send = nf_curve_line((struct nf_cost){ 10, 0.01 });
        network.hosts[i].hold = nf_curve_line((struct nf_cost){ 20, 0.5 });
        for (uint32_t j = 0; j < 4; j++)
            *nf_network_wire(&network, i, j) =
                nf_curve_line((struct nf_cost){ 30, 0.1 });
    }
    nf_network_ports(&network, 1, 1000, port, 1); /* wires are equal: H */
    CU_ASSERT(is_near(port[0], 520) && is_near(port[2], 520) &&
              is_near(port[3], 520) && port[1] <= 0);
    nf_network_wire(&network, 1, 3)->line.byte_us = 0.9; /* one is slow */
    nf_network_ports(&network, 1, 1000, port, 1);
    CU_ASSERT(is_near(port[3], 900) && is_near(port[0], 100));
    network.hosts[1].hold.line.byte_us = 2; /* slower than any wire */
    nf_network_ports(&network, 1, 1000, port, 1);
    CU_ASSERT(is_near(port[3], 2020) && is_near(port[0], 2020));
    network.hosts[1].hold.line.byte_us = 0.05; /* quicker than any */
    nf_network_ports(&network, 1, 1000, port, 1);
    CU_ASSERT(is_near(port[3], 630) && is_near(port[0], 70));
    network.hosts[1].hold = network.hosts[1].send; /* hands hold, not more */
    network.hosts[1].hold.line.byte_us = 0.2;
    network.hosts[1].send.line.byte_us = 0.2;
    nf_network_wire(&network, 1, 3)->line.byte_us = 0.1;
    nf_network_ports(&network, 1, 1000, port, 1);
    CU_ASSERT(is_near(port[3], 100) && is_near(port[0], 100));
    nf_network_fini(&network);
}

/* A link of 100 Mbit/s that lets 1514 bytes pass at once: of a stream each message
 * takes the link's time, also where a short one was measured to take none. */
static void test_burst(void)
{
    static const double sizes[] = { 0, 64, 256, 1024, 4096, 16384, 65536 };
    struct nf_curve_point points[7];
    struct nf_network network;
    struct nf_error err;
    double port[2];

    CU_ASSERT_EQUAL(nf_network_init(&network, 2), NF_OK);
    for (int k = 0; k < 7; k++)
        points[k] = (struct nf_curve_point){
            sizes[k], 0.08 * fmax(sizes[k] - 1514, 0)
        };
    for (uint32_t i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(nf_curve_fit(points, 7, &network.hosts[i].hold, &err),
                        NF_OK);
        CU_ASSERT_EQUAL(nf_curve_fit(points, 7,
                                     nf_network_wire(&network, i, 1 - i), &err),
                        NF_OK);
    }
    CU_ASSERT(network.hosts[0].hold.by_table);
    nf_network_ports(&network, 0, 1024, port, 1);
    CU_ASSERT(is_near(port[1], 0.08 * 1024));
    nf_network_ports(&network, 0, 65536, port, 1);
    CU_ASSERT(is_near(port[1], 0.08 * 65536));
    nf_network_fini(&network);
}

/* By chance a row of short messages took no time; the line knows better. */
static void test_chance(void)
{
    static const struct nf_curve_point points[] = {
        { 0, 0 }, { 1000, 0 }, { 4000, 360 }, { 16000, 1440 }, { 64000, 5760 }
    };
    struct nf_network network;
    struct nf_error err;
    double port[3];

    CU_ASSERT_EQUAL(nf_network_init(&network, 3), NF_OK);
    for (uint32_t i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(nf_curve_fit(points, 5, &network.hosts[i].hold, &err),
                        NF_OK);
        for (uint32_t j = 0; j < 3; j++)
            *nf_network_wire(&network, i, j) =
                nf_curve_line((struct nf_cost){ 30, j == 2 ? 0.4 : 0.1 });
    }
    CU_ASSERT(nf_curve_us(&network.hosts[0].hold, 1000) <= 0);
    nf_network_ports(&network, 0, 1000, port, 1); /* H is 0.09 us a byte */
    CU_ASSERT(is_near(port[1], 90) && is_near(port[2], 360));
    nf_network_fini(&network);
}

/* A link that was idle lets the first 2000 bytes pass at once: one message of
 * 1000 takes no time on the wire, a stream of them the link's. */
static void test_stream_ports(void)
{
    static const struct nf_curve_point points[] = {
        { 0, 30 }, { 1000, 30 }, { 2000, 30 }, { 10000, 830 }, { 60000, 5830 }
    };
    struct nf_network network;
    struct nf_error err;
    double port[3];

    CU_ASSERT_EQUAL(nf_network_init(&network, 3), NF_OK);
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t j = 0; j < 3; j++)
            CU_ASSERT_EQUAL(
                nf_curve_fit(points, 5, nf_network_wire(&network, i, j), &err),
                NF_OK);
    for (uint32_t i = 0; i < 3; i++)
        network.hosts[i].hold = nf_curve_line((struct nf_cost){ 0, 0.1 });
    CU_ASSERT(is_near(nf_network_time_us(&network, 0, 1, 1000), 30));
    nf_network_ports(&network, 0, 1000, port, 1);
    CU_ASSERT(is_near(port[1], 100) && is_near(port[2], 100));
    nf_network_fini(&network);
}

/* Two hosts of two members each: what a member may send to another host does
 * not depend on who else is on its own, and to that one there is no wire. */
static void test_shared_hosts(void)
{
    static const uint32_t hosts[4] = { 7, 7, 3, 3 };
    /* above the wires, below, and about as they are */
    static const double held[3] = { 0.5, 0.05, 0.1 };
    struct nf_network network, apart;
    double port[4], alone[4];

    for (int k = 0; k < 3; k++) {
        CU_ASSERT_EQUAL(nf_network_init(&network, 4), NF_OK);
        CU_ASSERT_EQUAL(nf_network_init(&apart, 4), NF_OK);
        for (uint32_t i = 0; i < 4; i++) {
            network.hosts[i].send = nf_curve_line((struct nf_cost){ 10, 0.01 });
            network.hosts[i].hold =
                nf_curve_line((struct nf_cost){ 20, held[k] });
            apart.hosts[i] = network.hosts[i];
            for (uint32_t j = 0; j < 4; j++)
                *nf_network_wire(&network, i, j) =
                    *nf_network_wire(&apart, i, j) =
                        nf_curve_line((struct nf_cost){ 30, 0.1 });
        }
        CU_ASSERT_EQUAL(nf_network_share(&network, hosts), NF_OK);
        CU_ASSERT(nf_network_time_us(&network, 2, 3, 1000) <= 20);
        nf_network_ports(&apart, 0, 1000, alone, 1);
        nf_network_ports(&network, 0, 1000, port, 1);
        CU_ASSERT(port[0] <= 0 && port[1] <= 0);
        CU_ASSERT(is_near(port[2], alone[2]) && is_near(port[3], alone[3]));
        CU_ASSERT(is_near(port[2], k == 0 ? 520 : k == 1 ? 70 : 120));
        nf_network_ports(&network, 3, 1000, port, 1);
        CU_ASSERT(port[2] <= 0 && is_near(port[0], alone[2]));
        nf_network_fini(&network);
        nf_network_fini(&apart);
    }
}

/* Nobody is elsewhere: no port has anything to do. */
static void test_one_host(void)
{
    static const uint32_t hosts[3] = { 0, 0, 0 };
    struct nf_network network;
    double port[3];

    CU_ASSERT_EQUAL(nf_network_init(&network, 3), NF_OK);
    for (uint32_t i = 0; i < 3; i++)
        network.hosts[i].hold = nf_curve_line((struct nf_cost){ 20, 0.5 });
    CU_ASSERT_EQUAL(nf_network_share(&network, hosts), NF_OK);
    nf_network_ports(&network, 1, 1000, port, 1);
    CU_ASSERT(port[0] <= 0 && port[1] <= 0 && port[2] <= 0);
    nf_network_fini(&network);
}

/* S 10, R 20, X 50 and 0.1 a byte, but 0.4 to host 3. */
static void make_slow_link(struct nf_network *network)
{
    CU_ASSERT_EQUAL(nf_network_init(network, 4), NF_OK);
    for (uint32_t i = 0; i < 4; i++) {
        network->hosts[i].send = nf_curve_line((struct nf_cost){ 10, 0 });
        network->hosts[i].recv = nf_curve_line((struct nf_cost){ 20, 0 });
        network->hosts[i].hold =
            nf_curve_line((struct nf_cost){ 0, i == 3 ? 0.4 : 0.1 });
        for (uint32_t j = 0; j < 4; j++)
            *nf_network_wire(network, i, j) = nf_curve_line(
                (struct nf_cost){ 50, i == 3 || j == 3 ? 0.4 : 0.1 });
    }
}

/* Of a star from 0, whose first child is the slow one. */
static double star_us(const struct nf_hetero *hetero, double bytes,
                      uint32_t segments, double *tree_us_p)
{
    static const uint32_t sender[3] = { 0, 0, 0 }, receiver[3] = { 3, 1, 2 };
    const struct nf_bcast_query query = { .bytes = (uint64_t)bytes * segments,
                                          .elements = (uint64_t)bytes * segments,
                                          .root = 0 };
    struct nf_coll_tree view;
    struct nf_pricer pricer;
    struct nf_tree tree;
    struct nf_hops hops;
    double us = -1;

    CU_ASSERT_FATAL(nf_tree_init(&tree, 4, 0) == NF_OK);
    CU_ASSERT_FATAL(nf_tree_build(&tree, sender, receiver, NULL) == NF_OK);
    CU_ASSERT_FATAL(nf_hops_init_segments(&hops, hetero, bytes, segments) ==
                    NF_OK);
    CU_ASSERT_EQUAL(nf_tree_pipe(&tree, &hops, segments, tree_us_p), NF_OK);
    view = (struct nf_coll_tree){ 4, 0, tree.first, tree.child };
    CU_ASSERT_FATAL(nf_pricer_init(&pricer, hetero) == NF_OK);
    CU_ASSERT_EQUAL(nf_bcast_price(&pricer, nf_coll_find("bcast.tree"), &query,
                                   &view, segments, &us),
                    NF_OK);
    nf_pricer_fini(&pricer);
    nf_hops_fini(&hops);
    nf_tree_fini(&tree);
    return us;
}

/* They leave at the rate of their sender's link, and come in at that of their
 * receiver's; long ones are sent after each other. */
static void test_short_messages(void)
{
    struct nf_network network;
    struct nf_hetero hetero;
    struct nf_hops hops;
    double us;

    make_slow_link(&network);
    hetero = nf_network_hetero(&network, true);
    CU_ASSERT_EQUAL_FATAL(nf_hops_init(&hops, &hetero, 1000), NF_OK);
    for (uint32_t j = 1; j < 4; j++) {
        CU_ASSERT(is_near(nf_hops_port(&hops, 0, j), 100));
        CU_ASSERT(is_near(hops.in[j], j == 3 ? 400 : 100));
    }
    CU_ASSERT(is_near(nf_hops_port(&hops, 3, 1), 400)); /* it has the slow link */
    nf_hops_set(&hops, &hetero, 10000);
    CU_ASSERT(is_near(nf_hops_port(&hops, 0, 3), 4000));
    CU_ASSERT(is_near(nf_hops_port(&hops, 0, 1), 1000));
    nf_hops_fini(&hops);
    /* to 3 in 10 + 450 + 20; to 2, the last one, in 10 + 2 * 100 + 150 + 20 */
    CU_ASSERT(is_near(star_us(&hetero, 1000, 1, &us), 480) && is_near(us, 480));
    /* the link into 3 has three of them in a row */
    CU_ASSERT(is_near(star_us(&hetero, 1000, 3, &us), 1280) &&
              is_near(us, 1280));
    /* to 2 in 10 + 4000 + 1000 + 1050 + 20 */
    CU_ASSERT(is_near(star_us(&hetero, 10000, 1, &us), 6080) &&
              is_near(us, 6080));
    nf_network_fini(&network);
}

/* 4 KiB pass at once, then 0.1 us a byte. */
static struct nf_curve with_a_burst(void)
{
    struct nf_curve curve = nf_curve_line((struct nf_cost){ 50, 0.09 });

    curve.by_table = true;
    curve.npoints = 4;
    curve.points[0] = (struct nf_curve_point){ .bytes = 0, .us = 50 };
    curve.points[1] = (struct nf_curve_point){ .bytes = 4096, .us = 50 };
    curve.points[2] = (struct nf_curve_point){ .bytes = 14096, .us = 1050 };
    curve.points[3] = (struct nf_curve_point){ .bytes = 64096, .us = 6050 };
    return curve;
}

/* A short message that is alone does not wait for what passes at once. */
static void test_alone(void)
{
    static const double sizes[] = { 1000, 2000, 4000 };
    struct nf_network network;
    struct nf_hetero hetero;
    struct nf_hops hops;
    double us;

    make_slow_link(&network);
    CU_ASSERT(is_near(nf_network_burst_bytes(&network, 0, 1), 0)); /* a line */
    for (uint32_t j = 1; j < 4; j++)
        *nf_network_wire(&network, 0, j) = with_a_burst();
    CU_ASSERT(is_near(nf_network_burst_bytes(&network, 0, 1), 4096));
    CU_ASSERT(is_near(nf_network_burst_bytes(&network, 1, 0), 0));
    hetero = nf_network_hetero(&network, true);
    CU_ASSERT_EQUAL_FATAL(nf_hops_init(&hops, &hetero, 1000), NF_OK);
    for (unsigned k = 0; k < 3; k++) {
        nf_hops_set(&hops, &hetero, sizes[k]);
        CU_ASSERT_EQUAL(nf_hops_spare(&hops, 0), 0);
        nf_hops_set_segments(&hops, &hetero, sizes[k], 1);
        /* and 128 bytes of heads each */
        CU_ASSERT(is_near(nf_hops_port(&hops, 0, 1), sizes[k] / 10 + 12.8));
        CU_ASSERT(is_near(nf_hops_spare(&hops, 0), 409.6 + 12.8));
        CU_ASSERT_EQUAL(nf_hops_spare(&hops, 1), 0);
        /* hands are free at 5, and 500 of the rate are not yet there then */
        CU_ASSERT(is_near(nf_hops_begin(&hops, 0, 1, 5, 505),
                          5 + 500 + sizes[k] / 10 - 409.6));
        CU_ASSERT(is_near(nf_hops_begin(&hops, 0, 1, 5, 5), 5));
        CU_ASSERT(is_near(nf_hops_begin(&hops, 1, 2, 5, 505), 505));
    }
    nf_hops_set_segments(&hops, &hetero, 5000, 1); /* no short one */
    CU_ASSERT_EQUAL(nf_hops_spare(&hops, 0), 0);
    nf_hops_fini(&hops);
    /* a star: 3 * 10 + 50 + 20 */
    CU_ASSERT(is_near(star_us(&hetero, 1000, 1, &us), 100) && is_near(us, 100));
    /* for the last one all but 4224 bytes of 3 * 4128 are to leave, in 816, before it
     * can be there: 10 + 816 + 50 + 20 */
    CU_ASSERT(is_near(star_us(&hetero, 4000, 1, &us), 896) && is_near(us, 896));
    CU_ASSERT_EQUAL_FATAL(nf_hops_init_segments(&hops, &hetero, 1000, 1),
                          NF_OK);
    CU_ASSERT_EQUAL(nf_tree_bound_of(&hops, 0, 1, &us, NULL), NF_OK);
    CU_ASSERT(us > 0 && us <= 100);
    nf_hops_fini(&hops);
    nf_network_fini(&network);
}

/* Eight equal hosts, each behind a link with a burst. */
static void make_bursts(struct nf_network *network)
{
    CU_ASSERT_EQUAL(nf_network_init(network, 8), NF_OK);
    for (uint32_t i = 0; i < 8; i++) {
        network->hosts[i].send = nf_curve_line((struct nf_cost){ 10, 0 });
        network->hosts[i].recv = nf_curve_line((struct nf_cost){ 20, 0 });
        network->hosts[i].hold = nf_curve_line((struct nf_cost){ 0, 0.1 });
        for (uint32_t j = 0; j < 8; j++)
            *nf_network_wire(network, i, j) = with_a_burst();
    }
}

/* Of what passes at once a host has no more for many messages than for few: trees are
 * planned by that.  In a star of 1000 bytes four pass, as the first one's have left by
 * then, and for the last one all but 4224 bytes of 7 * 1128 are to leave before it can be
 * there, in 367.2. */
static void test_many(void)
{
    static const uint32_t sender[7] = { 0 }, receiver[7] = { 1, 2, 3, 4, 5, 6, 7 };
    const struct nf_crl_options options = { .bytes = 1000, .polish = NF_CRL_POLISH };
    struct nf_network network;
    struct nf_crl_plan plan;
    struct nf_hetero hetero;
    struct nf_tree star;
    struct nf_hops hops;
    double us;

    make_bursts(&network);
    hetero = nf_network_hetero(&network, true);
    CU_ASSERT_FATAL(nf_hops_init_segments(&hops, &hetero, 1000, 1) == NF_OK);
    CU_ASSERT_FATAL(nf_tree_init(&star, 8, 0) == NF_OK);
    CU_ASSERT_FATAL(nf_tree_build(&star, sender, receiver, NULL) == NF_OK);
    CU_ASSERT_EQUAL(nf_tree_pipe(&star, &hops, 1, &us), NF_OK);
    CU_ASSERT(is_near(us, 10 + 367.2 + 50 + 20));
    CU_ASSERT_EQUAL_FATAL(nf_crl_plan(&hetero, 0, &options, &plan, NULL), NF_OK);
    /* four of the root, in 40 + 70, and two of the first of these, in 80 + 20 + 70 */
    CU_ASSERT(plan.time_us <= 170 * (1 + 1e-9));
    CU_ASSERT_EQUAL(nf_tree_pipe(&plan.tree, &hops, 1, &us), NF_OK);
    CU_ASSERT(is_near(us, plan.time_us));
    nf_crl_plan_fini(&plan);
    nf_tree_fini(&star);
    nf_hops_set(&hops, &hetero, 1000); /* one of several has nothing spare */
    CU_ASSERT_EQUAL(nf_hops_spare(&hops, 0), 0);
    CU_ASSERT_EQUAL(hops.spare_in[1], 0);
    /* the time of streams has heads */
    network.hosts[0].hold = nf_curve_line((struct nf_cost){ 0, 0.12 });
    nf_hops_set_segments(&hops, &hetero, 1000, 1);
    CU_ASSERT(is_near(nf_hops_port(&hops, 0, 1), 120));
    CU_ASSERT(is_near(nf_hops_port(&hops, 1, 0), 112.8));
    CU_ASSERT(is_near(nf_hops_spare(&hops, 0), 422.4));
    CU_ASSERT(is_near(hops.in[1], 112.8) && is_near(hops.spare_in[1], 422.4));
    nf_hops_fini(&hops);
    nf_network_fini(&network);
}

/* Three behind one link: it lets pass at once what that of their sender does. */
static void test_burst_of_many(void)
{
    static const uint32_t hosts[4] = { 0, 1, 1, 1 };
    struct nf_network network;
    struct nf_hetero hetero;
    double us;

    make_slow_link(&network);
    network.hosts[3] = network.hosts[0];
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t j = 0; j < 4; j++)
            *nf_network_wire(&network, i, j) = with_a_burst();
    CU_ASSERT_EQUAL(nf_network_share(&network, hosts), NF_OK);
    hetero = nf_network_hetero(&network, true);
    CU_ASSERT(is_near(star_us(&hetero, 1000, 1, &us), 100));
    CU_ASSERT(is_near(star_us(&hetero, 4000, 1, &us), 896));
    nf_network_fini(&network);
}

/* A bound of one short message is none of what passes at once; of others it is. */
static void test_bounds(void)
{
    static const double sizes[] = { 1000, 5000 };
    struct nf_network network;
    struct nf_hetero hetero;
    struct nf_hops hops;
    double us;

    make_bursts(&network);
    for (uint32_t i = 0; i < 8; i++)
        if (i != 7) /* a thin link in, of which there is no other way */
            *nf_network_wire(&network, i, 7) =
                nf_curve_line((struct nf_cost){ 50, 1 });
    hetero = nf_network_hetero(&network, true);
    for (unsigned k = 0; k < 2; k++) {
        const struct nf_crl_options options = { .bytes = (uint64_t)sizes[k],
                                                .least_segment = 5000,
                                                .polish = NF_CRL_POLISH };
        struct nf_crl_plan plan;

        CU_ASSERT_FATAL(nf_hops_init_segments(&hops, &hetero, sizes[k], 1) ==
                        NF_OK);
        CU_ASSERT_EQUAL(nf_tree_bound_of(&hops, 0, 1, &us, NULL), NF_OK);
        CU_ASSERT_EQUAL_FATAL(nf_crl_plan(&hetero, 0, &options, &plan, NULL),
                              NF_OK);
        CU_ASSERT_EQUAL(plan.segments, 1);
        CU_ASSERT(us > 0 && us <= plan.time_us);
        CU_ASSERT(k == 0 || us > 4500); /* by the link into the last one */
        nf_crl_plan_fini(&plan);
        nf_hops_fini(&hops);
    }
    nf_network_fini(&network);
}

int main(void)
{
    CU_TestInfo ports[] = {
        { "what holds a sender beyond its wires", test_held_ports },
        { "a link that lets the first bytes pass at once", test_burst },
        { "one time that is too short", test_chance },
        { "a stream takes the link's time", test_stream_ports },
        { "members of one host have no wire", test_shared_hosts },
        { "all on one host: no ports", test_one_host },
        { "short ones do not wait for the link of others",
          test_short_messages },
        { "nor for what links let pass at once", test_alone },
        { "but of that there is no more for many", test_many },
        { "nor on the way to one host", test_burst_of_many },
        { "bounds of what passes at once", test_bounds },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = { { .pName = "ports", .pTests = ports },
                              CU_SUITE_INFO_NULL };

    return nf_unit_main(suites);
}
