#ifndef NF_TESTS_UNIT_BCAST_NETS_H
#define NF_TESTS_UNIT_BCAST_NETS_H
/* Random networks of hosts and links that differ, and broadcasts planned for
 * them. */
#include <math.h>
#include "common/base/rng.h"
#include "common/model/network.h"
#include "common/tree/bcast_plan.h"
#include "tests/unit/nf_unit.h"

static inline double nets_draw(struct nf_rng *rng, double least, double most)
{
    return least + (most - least) * (double)nf_rng_below(rng, 1 << 20) /
                       (double)(1 << 20);
}

/* Hosts of which the slowest is up to @p ratio times the quickest, and links
 * likewise. */
static inline struct nf_hetero make_net_of(uint32_t hosts, double ratio,
                                    double link_ratio, uint64_t seed)
{
    struct nf_rng rng = { seed };
    struct nf_hetero net;

    CU_ASSERT_FATAL(nf_hetero_init(&net, hosts, true) == NF_OK);
    net.has_ports = true;
    for (uint32_t i = 0; i < hosts; i++) {
        net.send[i].fixed_us = nets_draw(&rng, 20, 20 * ratio);
        net.send[i].byte_us = nets_draw(&rng, 0.002, 0.002 * ratio);
        net.recv[i].fixed_us = nets_draw(&rng, 30, 30 * ratio);
        net.recv[i].byte_us = nets_draw(&rng, 0.003, 0.003 * ratio);
        for (uint32_t j = 0; j < i; j++) {
            struct nf_cost wire = { nets_draw(&rng, 40, 40 * link_ratio),
                                    nets_draw(&rng, 0.08, 0.08 * link_ratio) };

            net.wire[(size_t)i * hosts + j] = wire;
            net.wire[(size_t)j * hosts + i] = wire;
        }
    }
    return net;
}

static inline struct nf_hetero make_net(uint32_t hosts, double ratio, uint64_t seed)
{
    return make_net_of(hosts, ratio, ratio, seed);
}

/* A wire that lets so many bytes pass at once. */
static inline struct nf_curve burst_wire(struct nf_cost line, double burst)
{
    struct nf_curve curve = nf_curve_line(line);

    if (!(burst > 0))
        return curve;
    curve.by_table = true;
    curve.npoints = 3;
    curve.points[0] = (struct nf_curve_point){ .us = line.fixed_us };
    curve.points[1] =
        (struct nf_curve_point){ .bytes = burst, .us = line.fixed_us };
    curve.points[2] = (struct nf_curve_point){
        .bytes = 65536, .us = line.fixed_us + (65536 - burst) * line.byte_us
    };
    return curve;
}

/* As if measured: each host has a link, the slowest up to @p ratio times slower
 * than the quickest, and what goes from one to another takes what the slower
 * one of theirs does; of odd seeds links let some bytes pass at once.
 * nf_network_fini() it. */
static inline struct nf_network measured_net(uint32_t hosts, double ratio,
                                             uint64_t seed)
{
    struct nf_rng rng = { seed };
    struct nf_network network;

    CU_ASSERT_FATAL(nf_network_init(&network, hosts) == NF_OK);
    for (uint32_t i = 0; i < hosts; i++) {
        struct nf_network_host *host = &network.hosts[i];
        double link_us = nets_draw(&rng, 0.08, 0.08 * ratio);

        host->send =
            nf_curve_line((struct nf_cost){ nets_draw(&rng, 20, 40), 0 });
        host->recv =
            nf_curve_line((struct nf_cost){ nets_draw(&rng, 30, 60), 0 });
        host->hold = nf_curve_line((struct nf_cost){ 0, link_us });
        for (uint32_t j = 0; j < i; j++) {
            struct nf_cost line = { nets_draw(&rng, 20, 80),
                                    fmax(link_us,
                                         network.hosts[j].hold.line.byte_us) };
            struct nf_curve wire =
                burst_wire(line, seed % 2 != 0 ? nets_draw(&rng, 1, 9000) : 0);

            *nf_network_wire(&network, i, j) = wire;
            *nf_network_wire(&network, j, i) = wire;
        }
    }
    return network;
}

static inline struct nf_bcast_plan plan(const struct nf_hetero *net, uint64_t bytes)
{
    const struct nf_bcast_query query = { .bytes = bytes, .elements = bytes };
    struct nf_bcast_plan p = { .algorithm = NULL };

    CU_ASSERT_EQUAL(nf_bcast_plan(net, &query, &p, NULL), NF_OK);
    CU_ASSERT(p.algorithm != NULL && p.cost_us <= p.tree_us * (1 + 1e-9));
    return p;
}

/* One host, its processor and its links, so many times slower than the rest. */
static inline struct nf_hetero one_slow(uint32_t hosts, double ratio, uint64_t seed)
{
    struct nf_hetero net = make_net(hosts, 1, seed);
    uint32_t slow = 1 + (uint32_t)(seed % (hosts - 1));

    net.send[slow] = (struct nf_cost){ 20 * ratio, 0.002 * ratio };
    net.recv[slow] = (struct nf_cost){ 30 * ratio, 0.003 * ratio };
    for (uint32_t i = 0; i < hosts; i++)
        net.wire[(size_t)i * hosts + slow] =
            net.wire[(size_t)slow * hosts + i] =
                (struct nf_cost){ 40 * ratio, 0.08 * ratio };
    return net;
}

static inline struct nf_hetero net_of(int kind, uint32_t hosts, double ratio,
                               uint64_t seed)
{
    if (kind == 3)
        return one_slow(hosts, ratio, seed);
    return make_net_of(hosts, kind == 2 ? 1 : ratio, kind == 1 ? 1 : ratio,
                       seed);
}

#endif
