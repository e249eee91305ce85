/* Hosts that were never measured: at no size quicker than one that was,
 * whatever sizes it was measured at. */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include "common/base/rng.h"
#include "common/model/network.h"
#include "tests/unit/nf_unit.h"

/* Of up to 16 points at any sizes, up and down. */
static struct nf_curve random_curve(struct nf_rng *rng)
{
    struct nf_curve curve = { .line = { 5,
                                        0.01 * (double)nf_rng_below(rng, 9) },
                              .by_table = nf_rng_below(rng, 4) > 0,
                              .npoints = 1 + (uint32_t)nf_rng_below(rng, 16) };
    double bytes = (double)nf_rng_below(rng, 3);

    for (uint32_t i = 0; i < curve.npoints; i++) {
        curve.points[i] =
            (struct nf_curve_point){ bytes, (double)nf_rng_below(rng, 10000) };
        bytes += 1 + (double)nf_rng_below(rng, UINT64_C(2) << i);
    }
    return curve;
}

static void nothing_is_slower(void)
{
    const char names[2][NF_NETWORK_NAME_BYTES] = { "new", "newer" };
    struct nf_rng rng = { 7 };

    for (int r = 0; r < 300; r++) {
        struct nf_network network, now;
        uint32_t n = 1 + (uint32_t)r % 4;

        CU_ASSERT(nf_network_init(&network, n) == NF_OK);
        for (uint32_t i = 0; i < n; i++) {
            snprintf(network.hosts[i].name, NF_NETWORK_NAME_BYTES, "ws%u", i);
            network.hosts[i].send = random_curve(&rng);
        }
        CU_ASSERT(nf_network_of(&network, names, 2, &now, NULL) == NF_OK);
        for (double m = 0; m < 3e6; m += m < 300 ? 0.5 : m / 50)
            for (uint32_t i = 0; i < n; i++)
                CU_ASSERT(nf_curve_us(&now.hosts[0].send, m) * (1 + 1e-9) >=
                          nf_curve_us(&network.hosts[i].send, m));
        nf_network_fini(&now);
        nf_network_fini(&network);
    }
}

/* Between two of the usual sizes, where nobody looked. */
static void a_peak_counts(void)
{
    const char names[1][NF_NETWORK_NAME_BYTES] = { "new" };
    struct nf_network network, now;
    struct nf_curve *send;

    CU_ASSERT(nf_network_init(&network, 1) == NF_OK);
    snprintf(network.hosts[0].name, NF_NETWORK_NAME_BYTES, "ws0");
    send = &network.hosts[0].send;
    *send = (struct nf_curve){
        .by_table = true,
        .npoints = 4,
        .points = { { 0, 10 }, { 7000, 10 }, { 8000, 900 }, { 9000, 10 } },
    };
    CU_ASSERT(nf_network_of(&network, names, 1, &now, NULL) == NF_OK);
    CU_ASSERT_DOUBLE_EQUAL(nf_curve_us(&now.hosts[0].send, 8000), 900, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(nf_curve_us(&now.hosts[0].send, 5000), 10, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(nf_curve_us(&now.hosts[0].send, 7500), 455, 1e-9);
    nf_network_fini(&now);
    nf_network_fini(&network);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "nothing that was measured is slower", nothing_is_slower },
        { "a peak between the usual sizes counts", a_peak_counts },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = { { "hosts that were not measured", NULL, NULL,
                                NULL, NULL, tests },
                              CU_SUITE_INFO_NULL };

    return nf_unit_main(suites);
}
