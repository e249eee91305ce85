#include "config.h"
#include "tests/unit/virtual_network.h"
#include <math.h>

enum { SIZES = 7, RUNS = 2, CHILDREN_MAX = 16 };
static const double sizes[SIZES] = { 0, 64, 256, 1024, 4096, 16384, 65536 };
static const uint32_t runs[RUNS] = { 2, 6 };

static double draw(struct nf_rng *rng, double lo, double hi)
{
    return lo + (hi - lo) * (double)nf_rng_below(rng, 1000001) / 1e6;
}

void virtual_network_make(struct nf_hetero *truth, uint32_t hosts, bool matrix,
                          bool ports, uint64_t seed)
{
    struct nf_rng rng = { .state = seed };

    (void)nf_hetero_init(truth, hosts, matrix);
    truth->has_ports = ports;
    for (uint32_t i = 0; i < hosts; i++) {
        truth->send[i] =
            (struct nf_cost){ draw(&rng, 5, 60), draw(&rng, 0.0005, 0.003) };
        truth->recv[i] =
            (struct nf_cost){ draw(&rng, 5, 90), draw(&rng, 0.0005, 0.004) };
    }
    truth->wire[0] = (struct nf_cost){ 80, 0.08 };
    for (uint32_t i = 0; matrix && i < hosts; i++)
        for (uint32_t j = 0; j < i; j++) {
            double constant_us = draw(&rng, 20, 400);

            truth->wire[i * hosts + j] =
                (struct nf_cost){ constant_us, draw(&rng, 0.02, 0.8) };
            truth->wire[j * hosts + i] =
                (struct nf_cost){ constant_us, draw(&rng, 0.02, 0.8) };
        }
}

double virtual_network_star_us(const struct nf_hetero *truth, uint32_t i,
                               const uint32_t *child, uint32_t n, double bytes)
{
    double send_us = nf_cost_us(truth->send[i], bytes);
    double handed_us = 0, free_us = 0, came_us = 0;

    for (uint32_t k = 0; k < n; k++) {
        struct nf_cost wire = nf_hetero_wire(truth, i, child[k]);
        double begin_us;

        handed_us += send_us;
        begin_us = truth->has_ports ? fmax(handed_us, free_us) : handed_us;
        free_us = begin_us + wire.byte_us * bytes;
        came_us = begin_us + nf_cost_us(wire, bytes);
    }
    return came_us + nf_cost_us(truth->recv[child[n - 1]], bytes);
}

void virtual_network_children(uint32_t hosts, uint32_t i, uint32_t r,
                              uint32_t *child)
{
    for (uint32_t k = 0; k < r; k++)
        child[k] = (i + 1 + k % (hosts - 1)) % hosts;
    child[r] = (i + hosts - 1) % hosts;
}

static double shake(struct nf_rng *rng, double noise, double us)
{
    return us * (1 + noise * draw(rng, -1, 1));
}

static double message_us(const struct nf_hetero *truth, uint32_t i, uint32_t j,
                         double bytes)
{
    return virtual_network_star_us(truth, i, &j, 1, bytes);
}

static void measure_host(const struct nf_hetero *truth, uint32_t i,
                         double noise, struct nf_rng *rng,
                         struct nf_measures *m)
{
    for (uint32_t k = 0; k < SIZES; k++) {
        size_t at = (size_t)i * SIZES + k;

        m->send[at] = shake(rng, noise, nf_cost_us(truth->send[i], sizes[k]));
        m->recv[at] = shake(rng, noise, nf_cost_us(truth->recv[i], sizes[k]));
        for (uint32_t run = 0; run < RUNS; run++) {
            uint32_t child[CHILDREN_MAX], r = runs[run];

            virtual_network_children(m->hosts, i, r, child);
            *nf_measures_seq(m, i, k, run) = shake(
                rng, noise,
                virtual_network_star_us(truth, i, child, r + 1, sizes[k]) +
                    message_us(truth, child[r], i, 0));
        }
        for (uint32_t j = 0; j < m->hosts; j++)
            if (j != i)
                *nf_measures_ping(m, i, j, k) =
                    shake(rng, noise,
                          message_us(truth, i, j, sizes[k]) +
                              message_us(truth, j, i, 0));
    }
}

void virtual_network_measure(const struct nf_hetero *truth, double noise,
                             uint64_t seed, struct nf_measures *measures_p)
{
    struct nf_rng rng = { .state = seed };

    (void)nf_measures_init(measures_p, truth->hosts, sizes, SIZES, SIZES - 1,
                           runs, RUNS);
    for (uint32_t i = 0; i < truth->hosts; i++)
        measure_host(truth, i, noise, &rng, measures_p);
}
