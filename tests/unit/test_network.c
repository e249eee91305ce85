/* Measured networks: estimating them, models in which all hosts are equal, and
 * hosts that come and go. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "common/model/homogeneous.h"
#include "common/tree/times.h"
#include "tests/unit/nf_unit.h"
#include "tests/unit/virtual_network.h"

static bool is_near(double got, double want)
{
    return fabs(got - want) <= 1e-9 * (fabs(want) + 1);
}

/* ---- curves ---- */

static void test_line(void)
{
    const struct nf_curve_point points[] = {
        { 0, 10 },       { 64, 23 },        { 1024, 900 /* wild */ },
        { 4096, 829.2 }, { 16384, 3286.8 }, { 65536, 13117.2 }
    };
    struct nf_curve curve;
    struct nf_error err;

    CU_ASSERT_EQUAL(nf_curve_fit(points, 6, &curve, &err), NF_OK);
    CU_ASSERT(fabs(curve.line.byte_us - 0.2) < 0.001);
    CU_ASSERT(fabs(curve.line.fixed_us - 10) < 1);
    CU_ASSERT(curve.by_table);
    CU_ASSERT(is_near(nf_curve_us(&curve, 1024), 900));
}

/* 100 Mbit/s that let 1514 bytes pass at once, at the sizes of the probe. */
static void test_burst(void)
{
    static const double bytes[] = { 0, 64, 256, 1024, 4096, 16384, 65536 };
    struct nf_curve_point points[7];
    struct nf_curve curve;
    struct nf_error err;

    for (int i = 0; i < 7; i++)
        points[i] =
            (struct nf_curve_point){ bytes[i],
                                     50 + 0.08 * fmax(bytes[i] - 1514, 0) };
    CU_ASSERT_EQUAL(nf_curve_fit(points, 7, &curve, &err), NF_OK);
    CU_ASSERT(curve.by_table && curve.line.byte_us < 0.08);
    CU_ASSERT(is_near(nf_curve_last_slope(&curve), 0.08));
}

static void test_table(void)
{
    const struct nf_curve_point bent[] = {
        { 0, 10 }, { 1000, 20 }, { 2000, 100 }, { 3000, 110 }
    };
    struct nf_curve curve;
    struct nf_error err;

    CU_ASSERT_EQUAL(nf_curve_fit(bent, 4, &curve, &err), NF_OK);
    CU_ASSERT(curve.by_table);
    CU_ASSERT(is_near(nf_curve_us(&curve, 0), 10));
    CU_ASSERT(is_near(nf_curve_us(&curve, 500), 15));
    CU_ASSERT(is_near(nf_curve_us(&curve, 1500), 60));
    CU_ASSERT(is_near(nf_curve_us(&curve, 3000), 110));
    CU_ASSERT(nf_curve_us(&curve, 5000) >= 130);
}

static void test_curves_of_differences(void)
{
    const struct nf_curve_point below[] = { { 0, -3 },
                                            { 64, -1 },
                                            { 1024, -2 } };
    const struct nf_curve_point one = { 0, 7 };
    struct nf_curve curve;
    struct nf_error err;

    CU_ASSERT_EQUAL(nf_curve_fit(below, 3, &curve, &err), NF_OK);
    CU_ASSERT(is_near(nf_curve_us(&curve, 512), 0));
    CU_ASSERT(!curve.by_table);
    CU_ASSERT_EQUAL(nf_curve_fit(&one, 1, &curve, &err), NF_OK);
    CU_ASSERT(is_near(nf_curve_us(&curve, 1e6), 7));
}

static void test_bad_curves(void)
{
    const struct nf_curve_point back[] = { { 64, 1 }, { 0, 2 } };
    const struct nf_curve_point twice[] = { { 64, 1 }, { 64, 2 } };
    const struct nf_curve_point wrong[] = { { 0, NAN }, { 64, 2 } };
    const struct nf_curve_point endless[] = { { 0, 1 }, { 64, INFINITY } };
    struct nf_curve curve;
    struct nf_error err;

    CU_ASSERT_EQUAL(nf_curve_fit(back, 2, &curve, &err), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_curve_fit(twice, 2, &curve, &err), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_curve_fit(wrong, 2, &curve, &err), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_curve_fit(endless, 2, &curve, &err), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_curve_fit(back, 0, &curve, &err), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_curve_fit(back, 17, &curve, &err), NF_ERR_INVAL);
}

/* ---- estimates ---- */

static bool is_cost(struct nf_cost got, struct nf_cost want)
{
    return fabs(got.fixed_us - want.fixed_us) < 1e-6 * (1 + want.fixed_us) &&
           fabs(got.byte_us - want.byte_us) < 1e-9;
}

/* What H must be: while a host's messages are all held by its CPU, or all by
 * its wire, exactly the mean of what holds them; else between them. */
static bool is_hold(const struct nf_hetero *truth, uint32_t i, double bytes,
                    double got)
{
    double send_us = nf_cost_us(truth->send[i], bytes);
    double least = INFINITY, most = 0, sum = 0;

    for (uint32_t r = 2; r < 6; r++) {
        uint32_t child = (i + 1 + r % (truth->hosts - 1)) % truth->hosts;
        double wire_us = truth->has_ports
                             ? nf_hetero_wire(truth, i, child).byte_us * bytes
                             : 0;

        sum += fmax(send_us, wire_us);
        least = fmin(least, wire_us);
        most = fmax(most, wire_us);
    }
    for (uint32_t j = 0; j < truth->hosts; j++)
        if (truth->has_ports && j != i) {
            double wire_us = nf_hetero_wire(truth, i, j).byte_us * bytes;

            least = fmin(least, wire_us);
            most = fmax(most, wire_us);
        }
    if (least >= send_us || most <= send_us)
        return fabs(got - sum / 4) < 1e-6 * (1 + got);
    return got >= send_us * (1 - 1e-9) || got >= least;
}

static void invert(uint32_t hosts, bool matrix, bool ports, uint64_t seed)
{
    struct nf_hetero truth;
    struct nf_measures measures;
    struct nf_network network;
    struct nf_error err;
    bool good = true;

    virtual_network_make(&truth, hosts, matrix, ports, seed);
    virtual_network_measure(&truth, 0, seed, &measures);
    CU_ASSERT_EQUAL(nf_estimate(&measures, &network, &err), NF_OK);
    for (uint32_t i = 0; i < hosts; i++) {
        const struct nf_network_host *host = &network.hosts[i];

        good = good && is_cost(host->send.line, truth.send[i]) &&
               is_cost(host->recv.line, truth.recv[i]);
        for (uint32_t k = 0; k < measures.nsizes; k++)
            good = good && is_hold(&truth, i, host->hold.points[k].bytes,
                                   host->hold.points[k].us);
        for (uint32_t j = 0; j < hosts; j++)
            good = good &&
                   (i == j || is_cost(nf_network_wire(&network, i, j)->line,
                                      nf_hetero_wire(&truth, i, j)));
    }
    CU_ASSERT(good);
    nf_network_fini(&network);
    nf_measures_fini(&measures);
    nf_hetero_fini(&truth);
}

static void test_inverse(void)
{
    static const uint32_t hosts[] = { 2, 3, 5, 8, 13 };

    for (uint64_t seed = 1; seed <= 20; seed++)
        for (size_t n = 0; n < 5; n++)
            for (int kind = 0; kind < 4; kind++)
                invert(hosts[n], kind & 1, kind & 2, seed);
}

static void test_noise(void)
{
    struct nf_hetero truth;
    struct nf_measures measures;
    struct nf_network network;
    struct nf_error err;

    virtual_network_make(&truth, 8, true, true, 7);
    virtual_network_measure(&truth, 0.02, 7, &measures);
    CU_ASSERT_EQUAL(nf_estimate(&measures, &network, &err), NF_OK);
    for (uint32_t i = 0; i < 8; i++)
        for (uint32_t j = 0; j < 8; j++) {
            double want_us;

            if (i == j)
                continue;
            want_us = virtual_network_star_us(&truth, i, &j, 1, 65536);
            CU_ASSERT(fabs(nf_network_time_us(&network, i, j, 65536) -
                           want_us) < 0.1 * want_us);
        }
    *nf_measures_ping(&measures, 3, 4, 2) = NAN;
    nf_network_fini(&network);
    CU_ASSERT_EQUAL(nf_estimate(&measures, &network, &err), NF_ERR_INVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "hosts 3 and 4"));
    nf_measures_fini(&measures);
    nf_hetero_fini(&truth);
}

/* ---- what holds a sender ---- */

static void estimated(struct nf_hetero *truth, uint32_t hosts, bool matrix,
                      uint64_t seed, struct nf_network *network_p)
{
    struct nf_measures measures;
    struct nf_error err;

    virtual_network_make(truth, hosts, matrix, true, seed);
    virtual_network_measure(truth, 0, seed, &measures);
    CU_ASSERT_EQUAL(nf_estimate(&measures, network_p, &err), NF_OK);
    nf_measures_fini(&measures);
}

static void test_ports(void)
{
    struct nf_hetero truth;
    struct nf_network network;
    double port[8];

    estimated(&truth, 8, false, 3, &network); /* 0.08 us a byte */
    for (uint32_t i = 0; i < 8; i++) {
        nf_network_ports(&network, i, 65536, port, 1);
        for (uint32_t j = 0; j < 8; j++)
            CU_ASSERT(is_near(port[j], j == i ? 0 : 5242.88));
        nf_network_ports(&network, i, 64, port, 1);
        CU_ASSERT(fabs(port[(i + 1) % 8] - 5.12) < 1e-6);
    }
    nf_network_fini(&network);
    nf_hetero_fini(&truth);
}

/* Without ports S grows to H, and T stays. */
static void test_without_ports(void)
{
    struct nf_hetero truth, flat;
    struct nf_network network;
    struct nf_hops hops;

    estimated(&truth, 6, false, 5, &network);
    flat = nf_network_hetero(&network, false);
    CU_ASSERT_EQUAL(nf_hops_init(&hops, &flat, 65536), NF_OK);
    for (uint32_t i = 0; i < 6; i++)
        for (uint32_t j = 0; j < 6; j++) {
            double want_us;

            if (i == j)
                continue;
            want_us = virtual_network_star_us(&truth, i, &j, 1, 65536);
            CU_ASSERT(fabs(nf_hops_time(&hops, i, j) - want_us) <
                      1e-6 * want_us);
            CU_ASSERT(hops.send[i] > 0.99 * 5242.88);
            CU_ASSERT(nf_hops_port(&hops, i, j) <= 0);
        }
    nf_hops_fini(&hops);
    nf_network_fini(&network);
    nf_hetero_fini(&truth);
}

/* What is planned with is what was measured, at every size; but a stream of
 * messages, which is what segments are, takes the link's time. */
static void test_every_size(void)
{
    const struct nf_curve_point bent[] = {
        { 0, 10 }, { 1024, 12 }, { 4096, 300 }, { 16384, 1300 }, { 65536, 5300 }
    };
    const double byte_us = (5300.0 - 1300) / (65536 - 16384);
    struct nf_network network;
    struct nf_hetero hetero;
    struct nf_hops hops;
    struct nf_error err;

    CU_ASSERT_EQUAL(nf_network_init(&network, 2), NF_OK);
    for (uint32_t i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL(nf_curve_fit(bent, 5, &network.hosts[i].hold, &err),
                        NF_OK);
        CU_ASSERT_EQUAL(
            nf_curve_fit(bent, 5, nf_network_wire(&network, i, 1 - i), &err),
            NF_OK);
    }
    CU_ASSERT(nf_network_wire(&network, 0, 1)->by_table);
    hetero = nf_network_hetero(&network, true);
    CU_ASSERT_EQUAL(nf_hops_init(&hops, &hetero, 1e6), NF_OK);
    for (uint32_t k = 0; k < 5; k++) {
        nf_hops_set(&hops, &hetero, bent[k].bytes);
        CU_ASSERT(is_near(nf_hops_wire(&hops, 0, 1), bent[k].us));
        CU_ASSERT(nf_hops_hold(&hops, 0, 1) >= 0.9 * byte_us * bent[k].bytes);
        CU_ASSERT(nf_hops_hold(&hops, 0, 1) <=
                  byte_us * bent[k].bytes + bent[0].us);
    }
    nf_hops_fini(&hops);
    nf_network_fini(&network);
}

/* Of all trees what is predicted is what happens, in segments or not. */
static void test_predictions(void)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        static const uint32_t receiver[] = { 1, 2, 3, 4, 5, 6, 7 };
        static const uint32_t shapes[][7] = { { 0, 0, 0, 0, 0, 0, 0 },
                                              { 0, 1, 2, 3, 4, 5, 6 },
                                              { 0, 0, 1, 0, 1, 2, 3 } };
        struct nf_network network;
        struct nf_hetero truth, model;
        struct nf_hops real, hops;
        struct nf_tree tree;

        estimated(&truth, 8, seed % 2 == 0, seed, &network);
        model = nf_network_hetero(&network, true);
        CU_ASSERT_EQUAL(nf_hops_init(&real, &truth, 65536), NF_OK);
        CU_ASSERT_EQUAL(nf_hops_init(&hops, &model, 65536), NF_OK);
        CU_ASSERT_EQUAL(nf_tree_init(&tree, 8, 0), NF_OK);
        for (int shape = 0; shape < 3; shape++)
            for (uint64_t segments = 1; segments < 20; segments += 9) {
                double want_us = 0, got_us = 0;

                CU_ASSERT_EQUAL(
                    nf_tree_build(&tree, shapes[shape], receiver, NULL), NF_OK);
                CU_ASSERT_EQUAL(nf_tree_pipe(&tree, &real, segments, &want_us),
                                NF_OK);
                CU_ASSERT_EQUAL(nf_tree_pipe(&tree, &hops, segments, &got_us),
                                NF_OK);
                CU_ASSERT(fabs(got_us - want_us) <= 1e-6 * want_us);
            }
        nf_tree_fini(&tree);
        nf_hops_fini(&hops);
        nf_hops_fini(&real);
        nf_network_fini(&network);
        nf_hetero_fini(&truth);
    }
}

/* ---- what cannot be planned with ---- */

static void test_check(void)
{
    struct nf_hetero hetero, none = { .hosts = 0 };
    struct nf_network network;
    struct nf_error err;

    CU_ASSERT_EQUAL(nf_hetero_check(&none, 0, &err), NF_ERR_RANGE);
    CU_ASSERT_EQUAL(nf_hetero_init(&hetero, 3, true), NF_OK);
    CU_ASSERT_EQUAL(nf_hetero_check(&hetero, 2, &err), NF_OK);
    CU_ASSERT_EQUAL(nf_hetero_check(&hetero, 3, &err), NF_ERR_RANGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "root 3"));
    for (int k = 0; k < 12; k++) {
        static const double wrong[] = { NAN, -1e-9, INFINITY, 1e16 };
        double *const at[] = { &hetero.send[1].fixed_us,
                               &hetero.recv[2].byte_us,
                               &hetero.wire[5].fixed_us };
        static const char *const said[] = { "host 1: sending",
                                            "host 2: receiving",
                                            "host 1: its wires" };

        *at[k / 4] = wrong[k % 4];
        CU_ASSERT_EQUAL(nf_hetero_check(&hetero, 0, &err), NF_ERR_INVAL);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, said[k / 4]));
        *at[k / 4] = 0;
    }
    nf_hetero_fini(&hetero);
    CU_ASSERT_EQUAL(nf_network_init(&network, 2), NF_OK);
    hetero = nf_network_hetero(&network, true);
    CU_ASSERT_EQUAL(nf_hetero_check(&hetero, 1, &err), NF_OK);
    network.hosts[0].hold.points[0].us = NAN;
    CU_ASSERT_EQUAL(nf_hetero_check(&hetero, 1, &err), NF_OK); /* not used */
    network.hosts[0].hold.npoints = 1;
    CU_ASSERT_EQUAL(nf_hetero_check(&hetero, 1, &err), NF_ERR_INVAL);
    nf_network_fini(&network);
}

static void test_bad_measures(void)
{
    const double sizes[] = { 0, 64 }, from_one[] = { 1, 64 };
    const uint32_t runs[] = { 2, 6 }, same[] = { 3, 3 };
    struct nf_measures m;

    CU_ASSERT_EQUAL(nf_measures_init(&m, 1, sizes, 2, 2, runs, 2),
                    NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_measures_init(&m, 513, sizes, 2, 2, runs, 2),
                    NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_measures_init(&m, 2, from_one, 2, 2, runs, 2),
                    NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_measures_init(&m, 2, sizes, 2, 3, runs, 2),
                    NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_measures_init(&m, 2, sizes, 2, 2, same, 2),
                    NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_measures_init(&m, 2, sizes, 2, 2, runs, 1),
                    NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_measures_init(&m, 2, sizes, 2, 1, runs, 2), NF_OK);
    nf_measures_fini(&m);
}

/* ---- models in which all hosts are equal ---- */

static void equal_hosts(struct nf_network *network, uint32_t n)
{
    (void)nf_network_init(network, n);
    for (uint32_t i = 0; i < n; i++) {
        snprintf(network->hosts[i].name, sizeof(network->hosts[i].name), "ws%u",
                 i);
        network->hosts[i].send = nf_curve_line((struct nf_cost){ 20, 0.001 });
        network->hosts[i].recv = nf_curve_line((struct nf_cost){ 30, 0.002 });
        network->hosts[i].hold = nf_curve_line((struct nf_cost){ 25, 0.08 });
        for (uint32_t j = 0; j < n; j++)
            *nf_network_wire(network, i, j) =
                nf_curve_line((struct nf_cost){ 50, 0.08 });
    }
    strcpy(network->model.date, "2026-11-22T12:00:00Z");
}

static void test_parameterized(void)
{
    struct nf_network network;
    struct nf_parameterized model;
    struct nf_hetero hetero;

    equal_hosts(&network, 5);
    network.hosts[3].send = nf_curve_line((struct nf_cost){ 900, 1 });
    CU_ASSERT_EQUAL(nf_parameterized_of(&network, &model), NF_OK);
    CU_ASSERT(is_cost(model.send.line, (struct nf_cost){ 20, 0.001 }));
    CU_ASSERT(is_cost(model.recv.line, (struct nf_cost){ 30, 0.002 }));
    CU_ASSERT(is_cost(model.hold.line, (struct nf_cost){ 25, 0.08 }));
    CU_ASSERT(is_cost(model.net.line, (struct nf_cost){ 50, 0.08 }));
    CU_ASSERT(is_cost(model.end.line, (struct nf_cost){ 100, 0.083 }));
    CU_ASSERT(is_cost(nf_linear_of(&model), (struct nf_cost){ 100, 0.083 }));
    CU_ASSERT_EQUAL(nf_parameterized_hetero(&model, 4, &hetero), NF_OK);
    CU_ASSERT(is_cost(hetero.send[2], (struct nf_cost){ 25, 0.08 }));
    CU_ASSERT(is_near(nf_cost_us(hetero.send[0], 1e4) +
                          nf_cost_us(hetero.wire[0], 1e4) +
                          nf_cost_us(hetero.recv[1], 1e4),
                      930));
    nf_hetero_fini(&hetero);
    nf_network_fini(&network);
    equal_hosts(&network, 1);
    CU_ASSERT_EQUAL(nf_parameterized_of(&network, &model), NF_ERR_INVAL);
    nf_network_fini(&network);
}

static void test_loggp(void)
{
    const struct nf_loggp truth = { 80, 12, 17, 30, 0.01, 9 };
    struct nf_parameterized model = nf_parameterized_of_loggp(&truth);
    struct nf_loggp back = nf_loggp_of(&model, 9);

    CU_ASSERT(is_near(back.latency_us, 80) && is_near(back.send_us, 12) &&
              is_near(back.recv_us, 17) && is_near(back.gap_us, 30) &&
              is_near(back.byte_us, 0.01) && back.hosts == 9);
    CU_ASSERT(is_near(nf_curve_us(&model.end, 1000), 119));
    CU_ASSERT(is_near(nf_curve_us(&model.hold, 1000), 40));
    /* short ones go through at once: the line of t_end is too flat */
    model.end = nf_curve_line((struct nf_cost){ 109, 0.006 });
    CU_ASSERT(is_near(nf_loggp_of(&model, 9).byte_us, 0.01));
    model = nf_parameterized_of_linear((struct nf_cost){ 46, 0.035 });
    CU_ASSERT(is_cost(nf_linear_of(&model), (struct nf_cost){ 46, 0.035 }));
    CU_ASSERT(is_near(nf_curve_us(&model.hold, 1000), 81));
}

/* ---- hosts that come and go, and age ---- */

static void test_other_hosts(void)
{
    const char names[3][NF_NETWORK_NAME_BYTES] = { "ws2", "new", "ws0" };
    struct nf_network network, now;
    uint32_t unknown = 99;

    equal_hosts(&network, 4);
    network.hosts[1].recv = nf_curve_line((struct nf_cost){ 10, 0.5 });
    *nf_network_wire(&network, 1, 3) =
        nf_curve_line((struct nf_cost){ 700, 0.08 });
    CU_ASSERT_EQUAL(nf_network_of(&network, names, 3, &now, &unknown), NF_OK);
    CU_ASSERT_EQUAL(unknown, 1);
    CU_ASSERT_STRING_EQUAL(now.hosts[1].name, "new");
    CU_ASSERT(is_near(nf_network_time_us(&now, 0, 2, 1000), 183));
    /* as slow as the slowest at each size, and so are all wires to it */
    CU_ASSERT(is_near(nf_curve_us(&now.hosts[1].recv, 0), 30));
    CU_ASSERT(is_near(nf_curve_us(&now.hosts[1].recv, 65536), 32778));
    CU_ASSERT(is_near(nf_curve_us(nf_network_wire(&now, 0, 1), 0), 700));
    CU_ASSERT(is_near(nf_curve_us(nf_network_wire(&now, 1, 2), 0), 700));
    for (double m = 0; m < 3e6; m = 2 * m + 100)
        for (uint32_t i = 0; i < 4; i++)
            for (uint32_t j = 0; j < 4; j++)
                CU_ASSERT(
                    i == j ||
                    nf_network_time_us(&now, 0, 1, m) * (1 + 1e-9) >=
                        nf_curve_us(&now.hosts[0].send, m) +
                            nf_curve_us(nf_network_wire(&network, i, j), m) +
                            nf_curve_us(&network.hosts[j].recv, m));
    nf_network_fini(&now);
    nf_network_fini(&network);
}

/* A byte may cost so much that a MiB would cost more than planners take. */
static void test_steep(void)
{
    const char names[2][NF_NETWORK_NAME_BYTES] = { "ws0", "new" };
    struct nf_network network, now;
    struct nf_hetero hetero;
    struct nf_error err = { NF_OK, "" };

    equal_hosts(&network, 2);
    for (uint32_t i = 0; i < 2; i++)
        *nf_network_wire(&network, i, 1 - i) =
            nf_curve_line((struct nf_cost){ 50, i == 0 ? 1e9 : 1e12 });
    CU_ASSERT_EQUAL(nf_network_of(&network, names, 2, &now, NULL), NF_OK);
    hetero = nf_network_hetero(&now, true);
    CU_ASSERT_EQUAL(nf_hetero_check(&hetero, 0, &err), NF_OK);
    CU_ASSERT_STRING_EQUAL(err.text, "");
    CU_ASSERT(nf_curve_us(nf_network_wire(&now, 0, 1), 64) >= 64e12 - 1);
    nf_network_fini(&now);
    nf_network_fini(&network);
}

static void test_age(void)
{
    const char same[2][NF_NETWORK_NAME_BYTES] = { "ws1", "ws0" };
    const char other[2][NF_NETWORK_NAME_BYTES] = { "ws0", "ws9" };
    struct nf_network network;
    char text[200];
    int64_t day = nf_network_date_s("2026-11-22T12:00:00Z");

    equal_hosts(&network, 2);
    CU_ASSERT_EQUAL(nf_network_date_s("1970-01-01T00:00:00Z"), 0);
    CU_ASSERT_EQUAL(nf_network_date_s("2000-03-01T00:00:01Z"), 951868801);
    CU_ASSERT_EQUAL(day, 1795348800);
    CU_ASSERT_EQUAL(nf_network_date_s("2026-13-22T12:00:00Z"), -1);
    CU_ASSERT_EQUAL(nf_network_date_s("2026-11-22 12:00:00Z"), -1);
    CU_ASSERT_EQUAL(nf_network_date_s("yesterday"), -1);
    CU_ASSERT_EQUAL(nf_network_date_s("2026-02-29T12:00:00Z"), -1);
    CU_ASSERT(nf_network_date_s("2028-02-29T12:00:00Z") > day);
    CU_ASSERT(!nf_network_is_old(&network, day + NF_NETWORK_OLD_S, same, 2,
                                 text, sizeof(text)));
    CU_ASSERT(!nf_network_is_old(&network, 0, NULL, 0, text, sizeof(text)));
    CU_ASSERT(nf_network_is_old(&network, day + 30 * 86400, same, 2, text,
                                sizeof(text)));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "30 days"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, ": measure again"));
    CU_ASSERT(nf_network_is_old(&network, day, other, 2, text, sizeof(text)));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "other hosts"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, ": measure again"));
    CU_ASSERT(nf_network_is_old(&network, day + 30 * 86400, other, 2, text,
                                sizeof(text)));
    CU_ASSERT_STRING_EQUAL(text,
                           "the model is 30 days old, which is more than 7, of "
                           "other hosts: 1 of it are not here, and 1 here were "
                           "not measured and count as slow: measure again");
    /* a second member of a host */
    snprintf(network.hosts[1].name, sizeof(network.hosts[1].name), "%s#1",
             same[1]);
    CU_ASSERT(
        !nf_network_is_old(&network, day, same + 1, 1, text, sizeof(text)));
    nf_network_fini(&network);
}

int main(void)
{
    CU_TestInfo curves[] = {
        { "a wild point leaves the line alone", test_line },
        { "a link that lets the first bytes pass at once", test_burst },
        { "where a line does not do, the points", test_table },
        { "negative differences count as 0", test_curves_of_differences },
        { "what is no curve is refused", test_bad_curves },
        CU_TEST_INFO_NULL
    };
    CU_TestInfo estimates[] = {
        { "estimates invert the model exactly", test_inverse },
        { "noise is not blown up", test_noise },
        { "what are no measures is refused", test_bad_measures },
        CU_TEST_INFO_NULL
    };
    CU_TestInfo holds[] = {
        { "the port is found", test_ports },
        { "without ports the hold is the sender's", test_without_ports },
        { "at every size costs are as measured", test_every_size },
        { "trees take what is predicted", test_predictions },
        { "what cannot be planned with is refused", test_check },
        CU_TEST_INFO_NULL
    };
    CU_TestInfo equal[] = { { "a network of medians", test_parameterized },
                            { "LogGP and linear there and back", test_loggp },
                            CU_TEST_INFO_NULL };
    CU_TestInfo changes[] = { { "hosts that come and go", test_other_hosts },
                              { "a byte that costs much", test_steep },
                              { "an old model is old", test_age },
                              CU_TEST_INFO_NULL };
    CU_SuiteInfo suites[] = { { .pName = "curves", .pTests = curves },
                              { .pName = "estimates", .pTests = estimates },
                              { .pName = "holds", .pTests = holds },
                              { .pName = "homogeneous", .pTests = equal },
                              { .pName = "changes", .pTests = changes },
                              CU_SUITE_INFO_NULL };

    return nf_unit_main(suites);
}
