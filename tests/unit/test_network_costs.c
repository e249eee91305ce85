/* What a measured network leaves out: times that were uneven. */
#include "config.h"
#include <math.h>
#include "common/model/estimate.h"
#include "tests/unit/nf_unit.h"

enum { SIZES = 5 };
static const double sizes[SIZES] = { 0, 100, 1000, 10000, 100000 };
static const uint32_t runs[2] = { 2, 6 };

/* S = 10 + 0.01 m, R = 20 + 0.02 m, X = 50 + 0.1 m, H = 12 + 0.09 m, exactly. */
static struct nf_measures measure(uint32_t hosts)
{
    struct nf_measures m;

    CU_ASSERT_FATAL(nf_measures_init(&m, hosts, sizes, SIZES, SIZES, runs, 2) ==
                    NF_OK);
    for (uint32_t i = 0; i < hosts; i++)
        for (uint32_t k = 0; k < SIZES; k++) {
            double bytes = sizes[k], there_us = 80 + 0.13 * bytes;

            m.send[i * SIZES + k] = 10 + 0.01 * bytes;
            m.recv[i * SIZES + k] = 20 + 0.02 * bytes;
            for (uint32_t r = 0; r < 2; r++)
                *nf_measures_seq(&m, i, k, r) =
                    there_us + 80 + runs[r] * (12 + 0.09 * bytes);
            for (uint32_t j = 0; j < hosts; j++)
                *nf_measures_ping(&m, i, j, k) = there_us + 80;
        }
    return m;
}

static bool is_line(const struct nf_curve *curve, double fixed_us,
                    double byte_us)
{
    for (int k = 0; k < SIZES; k++) {
        double want_us = fixed_us + byte_us * sizes[k];

        if (fabs(nf_curve_us(curve, sizes[k]) - want_us) > 1e-6 * want_us)
            return false;
    }
    return true;
}

/* Each is wild where it was uneven: so much so that no line would do. */
static void uneven_times_do_not_count(void)
{
    struct nf_measures m = measure(2);
    struct nf_network network;
    const size_t at = 1 * SIZES + 3;

    m.recv[at] = 9e5;
    *nf_measures_ping(&m, 1, 0, 3) = 9e6;
    *nf_measures_seq(&m, 1, 3, 1) = 9e6;
    for (int told = 0; told < 2; told++) {
        m.recv_uneven[at] = m.seq_uneven[at] = told == 1;
        m.ping_uneven[(1 * 2 + 0) * SIZES + 3] = told == 1;
        CU_ASSERT_EQUAL_FATAL(nf_estimate(&m, &network, NULL), NF_OK);
        CU_ASSERT(is_line(&network.hosts[1].recv, 20, 0.02) == (told == 1));
        CU_ASSERT(is_line(&network.hosts[1].hold, 12, 0.09) == (told == 1));
        CU_ASSERT(is_line(nf_network_wire(&network, 1, 0), 50, 0.1) ==
                  (told == 1));
        CU_ASSERT_EQUAL(network.hosts[1].recv.npoints, told == 1 ? 4 : 5);
        CU_ASSERT(is_line(&network.hosts[0].recv, 20, 0.02));
        CU_ASSERT(is_line(nf_network_wire(&network, 0, 1), 50, 0.1) ==
                  (told == 1)); /* less what its receiver takes */
        nf_network_fini(&network);
    }
    nf_measures_fini(&m);
}

/* Rather uneven times than a line through two. */
static void too_few_even_ones_are_not_enough(void)
{
    struct nf_measures m = measure(2);
    struct nf_network network;

    for (uint32_t k = 0; k < SIZES; k++)
        m.recv_uneven[k] = k != 3; /* 0 bytes count, whatever is said */
    for (uint32_t k = 0; k < SIZES; k++)
        m.seq_uneven[k] = k == 0 || k > 2;
    CU_ASSERT_EQUAL_FATAL(nf_estimate(&m, &network, NULL), NF_OK);
    CU_ASSERT_EQUAL(network.hosts[0].recv.npoints, SIZES);
    CU_ASSERT_EQUAL(network.hosts[0].hold.npoints, NF_EVEN_LEAST);
    CU_ASSERT(network.hosts[0].hold.points[0].bytes <= 0);
    CU_ASSERT(is_line(&network.hosts[0].hold, 12, 0.09));
    nf_network_fini(&network);
    nf_measures_fini(&m);
}

int main(void)
{
    CU_TestInfo measured[] = {
        { "uneven times do not count", uneven_times_do_not_count },
        { "too few even ones are not enough",
          too_few_even_ones_are_not_enough },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "uneven times", NULL, NULL, NULL, NULL, measured },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
