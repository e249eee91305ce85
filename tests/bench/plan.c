/* What planning a multicast costs: CRL on random hosts, with links that are
 * equal, links that differ, and costs by curves as they are measured, whole
 * (one segment) and in segments; and what a group plans: CRL and all other
 * broadcasts.
 *
 *     plan [HOSTS BYTES]...      without arguments: a table */
#include "config.h"
#include "common/base/clock.h"
#include "common/base/rng.h"
#include "common/model/network.h"
#include "common/tree/bcast_plan.h"
#include "sim/hnow.h"
#include "tests/unit/bent_curve.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 5, KINDS = 3 };
enum kind { EQUAL_LINKS, LINKS_DIFFER, BY_CURVES };

/* ---- networks ---- */

static void draw_curve(struct nf_rng *rng, double fixed_us, double byte_us,
                       struct nf_curve *curve)
{
    (void)bent_curve(rng, fixed_us, byte_us, 1.25, curve);
}

/* As `nowfarm probe` writes them, of 100 Mbit/s and what is up to seven times
 * as slow. */
static bool draw_network(uint64_t seed, uint32_t hosts,
                         struct nf_network *network_p)
{
    struct nf_rng rng = { seed };

    if (nf_network_init(network_p, hosts) != NF_OK)
        return false;
    for (uint32_t i = 0; i < hosts; i++) {
        struct nf_network_host *host = &network_p->hosts[i];

        draw_curve(&rng, 20, 0.002, &host->send);
        draw_curve(&rng, 30, 0.003, &host->recv);
        draw_curve(&rng, 20, 0.08, &host->hold);
        for (uint32_t j = 0; j < hosts; j++)
            draw_curve(&rng, 40, 0.08, nf_network_wire(network_p, i, j));
    }
    return true;
}

struct net {
    struct nf_network network; /* BY_CURVES */
    struct nf_hetero hetero;
    uint32_t root;
};

static bool draw(enum kind kind, uint32_t hosts, uint64_t seed, struct net *net)
{
    *net = (struct net){ .root = 0 };
    if (kind != BY_CURVES) {
        if (nf_hnow_draw(seed, hosts, kind == LINKS_DIFFER, &net->hetero,
                         &net->root) != NF_OK)
            return false;
        net->hetero.has_ports = true;
        return true;
    }
    if (!draw_network(seed, hosts, &net->network))
        return false;
    net->hetero = nf_network_hetero(&net->network, true);
    return true;
}

static void drop(enum kind kind, struct net *net)
{
    if (kind != BY_CURVES)
        nf_hetero_fini(&net->hetero);
    else
        nf_network_fini(&net->network);
}

/* ---- plans ---- */

static bool plan_tree(const struct net *net, uint64_t bytes, bool whole)
{
    const struct nf_crl_options options = {
        .bytes = bytes,
        .least_segment = whole ? bytes + 1 : 0,
        .polish = NF_CRL_POLISH,
    };
    struct nf_crl_plan plan;

    if (nf_crl_plan(&net->hetero, net->root, &options, &plan, NULL) != NF_OK)
        return false;
    nf_crl_plan_fini(&plan);
    return true;
}

static bool plan_all(const struct net *net, uint64_t bytes)
{
    const struct nf_bcast_query query = { .root = net->root,
                                          .bytes = bytes,
                                          .elements = bytes };
    struct nf_bcast_plan plan;

    if (nf_bcast_plan(&net->hetero, &query, &plan, NULL) != NF_OK)
        return false;
    nf_bcast_plan_fini(&plan);
    return true;
}

enum what { WHOLE, SEGMENTS, ALL_BROADCASTS };

/* The median of RUNS networks, first touch included; < 0: not to be had. */
static double plan_ms(enum kind kind, uint32_t hosts, uint64_t bytes,
                      enum what what)
{
    double times[RUNS];

    for (int r = 0; r < RUNS; r++) {
        struct net net;
        int64_t start_us;
        double ms;
        int at = r;
        bool ok;

        if (!draw(kind, hosts, (uint64_t)r, &net))
            return -1;
        start_us = nf_now_us();
        ok = what == ALL_BROADCASTS ? plan_all(&net, bytes)
                                    : plan_tree(&net, bytes, what == WHOLE);
        ms = (double)(nf_now_us() - start_us) * 1e-3;
        drop(kind, &net);
        if (!ok)
            return -1;
        for (; at > 0 && times[at - 1] > ms; at--)
            times[at] = times[at - 1];
        times[at] = ms;
    }
    return times[RUNS / 2];
}

static void row(uint32_t hosts, uint64_t bytes, enum what what)
{
    static const char *const names[] = { "one", "many", "all" };

    printf("%6u %10" PRIu64 "  %-8s", hosts, bytes, names[what]);
    for (int kind = 0; kind < KINDS; kind++) {
        double ms = kind != BY_CURVES && what == ALL_BROADCASTS
                        ? -1
                        : plan_ms((enum kind)kind, hosts, bytes, what);

        if (ms < 0)
            printf(" %9s   ", "-");
        else
            printf(" %9.2f ms", ms);
    }
    printf("\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const uint32_t sizes[] = { 8, 32, 100, 1000 },
                          groups[] = { 32, 128, 511 };

    printf(" hosts      bytes  segments  equal links   different     curves\n");
    for (int i = 1; i + 1 < argc; i += 2)
        row((uint32_t)strtoul(argv[i], NULL, 10),
            strtoull(argv[i + 1], NULL, 10), SEGMENTS);
    for (size_t i = 0; argc == 1 && i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        row(sizes[i], 1024, WHOLE);
        row(sizes[i], 65536, SEGMENTS);
        row(sizes[i], 1048576, SEGMENTS);
    }
    for (size_t i = 0; argc == 1 && i < sizeof(groups) / sizeof(groups[0]);
         i++) {
        row(groups[i], 1024, ALL_BROADCASTS);
        row(groups[i], 65536, ALL_BROADCASTS);
        row(groups[i], 1048576, ALL_BROADCASTS);
    }
    return 0;
}
