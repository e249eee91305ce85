/* Networks estimated from times of which something or chance was in the way. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "common/model/estimate.h"
#include "common/model/pool.h"
#include "tests/unit/nf_unit.h"
#include "tests/unit/virtual_network.h"

enum { HOSTS = 8, WIRES = HOSTS * (HOSTS - 1) };

static bool is_near(double got, double want)
{
    return fabs(got - want) <= 1e-9 * fabs(want);
}

/* ---- pooling ---- */

static void noise_is_that_of_one_of_two_times(void)
{
    /* of a standard normal distribution, half within 0.6745; one is wild */
    double differences[] = { -0.6744897501960817, 0.3, 1e9, 0.6744897501960817,
                             -0.1 };

    CU_ASSERT(is_near(nf_pool_noise(differences, 5), sqrt(0.5)));
    CU_ASSERT(is_near(nf_pool_noise((double[]){ -2 }, 1),
                      2 / 0.6744897501960817 * sqrt(0.5)));
    CU_ASSERT_EQUAL(nf_pool_noise(NULL, 0), 0);
}

static void what_chance_explains_becomes_the_median(void)
{
    static const double values[] = { 10, 8.3, 11.7, 12, 90 };
    double sorted[5];
    struct nf_pool pool;

    memcpy(sorted, values, sizeof(sorted));
    pool = nf_pool_of(sorted, 5, 1); /* sqrt(2 ln 5) = 1.794 */
    CU_ASSERT(is_near(nf_pool_value(&pool, 10), 11.7)); /* 1.7 off */
    CU_ASSERT(is_near(nf_pool_value(&pool, 8.3), 8.3));
    CU_ASSERT(is_near(nf_pool_value(&pool, 11.7), 11.7));
    CU_ASSERT(is_near(nf_pool_value(&pool, 12), 11.7));
    CU_ASSERT(is_near(nf_pool_value(&pool, 90), 90));
    memcpy(sorted, values, sizeof(sorted));
    pool = nf_pool_of(sorted, 5, 1.9); /* 3.409 */
    CU_ASSERT(is_near(nf_pool_value(&pool, 8.3), 11.7));
    CU_ASSERT(is_near(nf_pool_value(&pool, 90), 90));
}

static void without_noise_nothing_changes(void)
{
    static const double noises[] = { 0, NAN };

    for (int n = 0; n < 2; n++) {
        double values[] = { 4, 1, 2 };
        struct nf_pool pool = nf_pool_of(values, 3, noises[n]);

        for (int i = 0; i < 3; i++)
            CU_ASSERT(is_near(nf_pool_value(&pool, values[i]), values[i]));
        pool = nf_pool_of(values, 1, 5);
        CU_ASSERT(is_near(nf_pool_value(&pool, 1.1), 1.1));
        pool = nf_pool_of(NULL, 0, 5);
        CU_ASSERT(is_near(nf_pool_value(&pool, 1.1), 1.1));
    }
}

/* ---- estimates ---- */

struct world {
    struct nf_hetero truth;
    struct nf_measures measures;
    struct nf_network network;
};

/* Hosts that differ, and wires that are all alike. */
static void world_open(struct world *w, uint64_t seed)
{
    virtual_network_make(&w->truth, HOSTS, false, true, seed);
    virtual_network_measure(&w->truth, 0, seed, &w->measures);
}

static void world_estimate(struct world *w)
{
    struct nf_error err;

    CU_ASSERT_EQUAL_FATAL(nf_estimate(&w->measures, &w->network, &err), NF_OK);
}

static void world_close(struct world *w)
{
    nf_network_fini(&w->network);
    nf_measures_fini(&w->measures);
    nf_hetero_fini(&w->truth);
}

/* The sum of six of these is nearly normal. */
static double draw_us(struct nf_rng *rng, double deviation_us)
{
    double sum = 0;

    for (int i = 0; i < 6; i++)
        sum += (double)nf_rng_below(rng, 1000001) / 1e6 - 0.5;
    return sum * sqrt(2) * deviation_us;
}

static void disturb(struct world *w, double deviation_us, uint64_t seed)
{
    struct nf_rng rng = { seed };

    for (uint32_t i = 0; i < HOSTS; i++)
        for (uint32_t j = 0; j < HOSTS; j++)
            for (uint32_t k = 0; k < w->measures.nsizes; k++)
                *nf_measures_ping(&w->measures, i, j, k) +=
                    draw_us(&rng, deviation_us);
}

static double wire_us(const struct world *w, uint32_t i, uint32_t j,
                      double bytes)
{
    return nf_curve_us(nf_network_wire(&w->network, i, j), bytes);
}

/* X_c itself: a line through all sizes has their errors, too. */
static double empty_us(const struct world *w, uint32_t i, uint32_t j)
{
    return nf_network_wire(&w->network, i, j)->points[0].us;
}

/* How many have as much as the most usual one. */
static int alike(const struct world *w, double *usual_us_p)
{
    int most = 0;

    for (uint32_t a = 0; a < HOSTS; a++) {
        double us = empty_us(w, a, (a + 1) % HOSTS);
        int count = 0;

        for (uint32_t i = 0; i < HOSTS; i++)
            for (uint32_t j = 0; j < HOSTS; j++)
                count += i != j && is_near(empty_us(w, i, j), us);
        if (count > most) {
            most = count;
            *usual_us_p = us;
        }
    }
    return most;
}

static void wires_that_are_alike_come_out_alike(void)
{
    int sum = 0;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct world w;
        double usual_us = 0;

        world_open(&w, seed);
        disturb(&w, 10, seed);
        world_estimate(&w);
        sum += alike(&w, &usual_us);
        CU_ASSERT(fabs(usual_us - 80) < 4);
        world_close(&w);
    }
    CU_ASSERT(sum >= 20 * WIRES * 95 / 100);
}

static void a_wire_that_differs_stays_as_it_is(void)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct world w;

        world_open(&w, seed);
        disturb(&w, 10, seed);
        for (uint32_t k = 0; k < w.measures.nsizes; k++) {
            *nf_measures_ping(&w.measures, 2, 5, k) += 600;
            *nf_measures_ping(&w.measures, 5, 2, k) += 600;
        }
        world_estimate(&w);
        for (uint32_t k = 0; k < w.measures.nsizes; k++) {
            double bytes = w.measures.sizes[k];

            CU_ASSERT(fabs(wire_us(&w, 2, 5, bytes) - (380 + 0.08 * bytes)) <
                      50 + 0.01 * bytes);
        }
        world_close(&w);
    }
}

/* Empty messages, and who takes them, were in each other's way; in half of the
 * pairs, and without anybody having noticed in some. */
static void what_empty_messages_took_too_long_does_not_count(void)
{
    struct world w;

    world_open(&w, 3);
    for (uint32_t i = 0; i < HOSTS; i++) {
        w.measures.recv[i * w.measures.nsizes] += 40;
        for (uint32_t j = 0; j < HOSTS; j++)
            if ((i + j) % 2 == 0) {
                *nf_measures_ping(&w.measures, i, j, 0) *= 2;
                w.measures
                    .ping_uneven[nf_measures_ping_at(&w.measures, i, j, 0)] =
                    i > j;
            }
    }
    world_estimate(&w);
    for (uint32_t i = 0; i < HOSTS; i++)
        for (uint32_t j = 0; j < HOSTS; j++) {
            double want_us;

            if (i == j)
                continue;
            want_us = virtual_network_star_us(&w.truth, i, &j, 1, 1024);
            /* 64 bytes of wire, which are in what bounds the empty one */
            CU_ASSERT(
                fabs(nf_network_time_us(&w.network, i, j, 1024) - want_us) < 6);
        }
    world_close(&w);
}

/* What is uneven bounds nothing. */
static void an_uneven_time_does_not_count(void)
{
    struct world w;

    world_open(&w, 5);
    for (uint32_t i = 0; i < HOSTS; i++)
        for (uint32_t j = 0; j < HOSTS; j++) {
            *nf_measures_ping(&w.measures, i, j, 2) = 1;
            w.measures.ping_uneven[nf_measures_ping_at(&w.measures, i, j, 2)] =
                true;
        }
    world_estimate(&w);
    CU_ASSERT(fabs(wire_us(&w, 1, 2, 0) - 80) < 1e-6);
    CU_ASSERT(fabs(wire_us(&w, 1, 2, 256) - 80 - 0.08 * 256) < 1e-6);
    world_close(&w);
}

static void what_is_no_time_is_named(void)
{
    static const double no_times[] = { NAN, INFINITY };

    for (int n = 0; n < 2; n++) {
        struct world w;
        struct nf_error err;

        world_open(&w, 7);
        *nf_measures_ping(&w.measures, 3, 4, 1) = no_times[n];
        CU_ASSERT_EQUAL(nf_estimate(&w.measures, &w.network, &err),
                        NF_ERR_INVAL);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "hosts 3 and 4"));
        nf_measures_fini(&w.measures);
        nf_hetero_fini(&w.truth);
    }
}

int main(void)
{
    CU_TestInfo pools[] = { { "noise is that of one of two times",
                              noise_is_that_of_one_of_two_times },
                            { "what chance explains becomes the median",
                              what_chance_explains_becomes_the_median },
                            { "without noise nothing changes",
                              without_noise_nothing_changes },
                            CU_TEST_INFO_NULL };
    CU_TestInfo estimates[] = {
        { "wires that are alike come out alike",
          wires_that_are_alike_come_out_alike },
        { "a wire that differs stays as it is",
          a_wire_that_differs_stays_as_it_is },
        { "what empty messages took too long does not count",
          what_empty_messages_took_too_long_does_not_count },
        { "an uneven time does not count", an_uneven_time_does_not_count },
        { "what is no time is named", what_is_no_time_is_named },
        CU_TEST_INFO_NULL
    };
    CU_SuiteInfo suites[] = { { .pName = "pooling", .pTests = pools },
                              { .pName = "estimates", .pTests = estimates },
                              CU_SUITE_INFO_NULL };

    return nf_unit_main(suites);
}
