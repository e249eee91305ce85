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

/* The sum of six of these is nearly normal. */
static double draw_us(struct nf_rng *rng, double deviation_us)
{
    double sum = 0;

    for (int i = 0; i < 6; i++)
        sum += (double)nf_rng_below(rng, 1000001) / 1e6 - 0.5;
    return sum * sqrt(2) * deviation_us;
}

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
    /* sqrt(2 ln 6) = 1.893 */
    double values[] = { 10, 9, 10.5, 11, NAN, 20, 90 };
    struct nf_pool pool = nf_pool_of(values, 7, 1);

    CU_ASSERT_EQUAL(pool.count, 6);
    for (size_t i = 1; i < pool.count; i++)
        CU_ASSERT(pool.sorted[i - 1] <= pool.sorted[i]);
    CU_ASSERT(is_near(pool.reach, sqrt(2 * log(6))));
    CU_ASSERT(is_near(nf_pool_value(&pool, 9), 10.25)); /* by way of 10 */
    CU_ASSERT(is_near(nf_pool_value(&pool, 10), 10.25));
    CU_ASSERT(is_near(nf_pool_value(&pool, 11), 10.25));
    CU_ASSERT(is_near(nf_pool_value(&pool, 20), 20));
    CU_ASSERT(is_near(nf_pool_value(&pool, 90), 90));
    CU_ASSERT(is_near(nf_pool_value(&pool, 50), 50));
    CU_ASSERT(isnan(nf_pool_value(&pool, NAN)));
}

static void pools_of_any_length_are_sorted(void)
{
    struct nf_rng rng = { 5 };

    for (size_t count = 0; count <= 70; count++) {
        double values[70], sum = 0, sorted_sum = 0;
        struct nf_pool pool;

        for (size_t i = 0; i < count; i++)
            sum += values[i] = (double)nf_rng_below(&rng, 50);
        pool = nf_pool_of(values, count, 1);
        CU_ASSERT_EQUAL(pool.count, count);
        for (size_t i = 0; i < pool.count; i++) {
            CU_ASSERT(i == 0 || pool.sorted[i - 1] <= pool.sorted[i]);
            sorted_sum += pool.sorted[i];
        }
        CU_ASSERT(is_near(sorted_sum, sum));
    }
}

/* 30 and 26 wires of two kinds: those of each come out as one value. */
static void two_kinds_stay_two(void)
{
    double values[56], seen[56];
    struct nf_rng rng = { 11 };
    struct nf_pool pool;
    int alike[2] = { 0, 0 };

    for (int i = 0; i < 56; i++)
        seen[i] = values[i] = (i < 30 ? 100 : 400) + draw_us(&rng, 10);
    pool = nf_pool_of(values, 56, 10);
    for (int i = 0; i < 56; i++) {
        double middle = nf_pool_value(&pool, seen[i]);

        CU_ASSERT(fabs(middle - (i < 30 ? 100 : 400)) < 6);
        alike[i >= 30] +=
            is_near(middle, nf_pool_value(&pool, i < 30 ? 100 : 400));
    }
    CU_ASSERT_EQUAL(alike[0], 30);
    CU_ASSERT_EQUAL(alike[1], 26);
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

/* X of a size itself: a line through all has the errors of all. */
static double point_us(const struct world *w, uint32_t i, uint32_t j,
                       uint32_t k)
{
    return nf_network_wire(&w->network, i, j)->points[k].us;
}

/* How many have as much as the most usual one. */
static int alike(const struct world *w, double *usual_us_p)
{
    int most = 0;

    for (uint32_t a = 0; a < HOSTS; a++) {
        double us = point_us(w, a, (a + 1) % HOSTS, 0);
        int count = 0;

        for (uint32_t i = 0; i < HOSTS; i++)
            for (uint32_t j = 0; j < HOSTS; j++)
                count += i != j && is_near(point_us(w, i, j, 0), us);
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
    /* 28 differences tell the noise to a quarter */
    CU_ASSERT(sum >= 20 * WIRES * 9 / 10);
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
            double want_us = 380 + 0.08 * w.measures.sizes[k];

            CU_ASSERT(fabs(point_us(&w, 2, 5, k) - want_us) < 60);
            CU_ASSERT(fabs(point_us(&w, 5, 2, k) - want_us) < 60);
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
                            { "pools of any length are sorted", pools_of_any_length_are_sorted },
                            { "two kinds stay two", two_kinds_stay_two },
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
