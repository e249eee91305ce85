/* What messages between threads cost. */
#include "config.h"
#include "common/base/alloc.h"
#include "common/group/over_mesh.h"
#include "common/model/model.h"
#include "master/engine_internal.h"
#include "tests/unit/nf_unit.h"

/* Large ones take next to nothing more, as they are not copied: copied, 64 MiB would take
 * some milliseconds at the least. */
static void test_times(void)
{
    struct nf_model model = { .npieces = 0 };
    double small_us, large_us;

    CU_ASSERT_FATAL(nf_local_model_measure(&model));
    CU_ASSERT(model.npieces >= 1 && model.delta == 1);
    small_us = nf_model_send_us(&model, 8);
    large_us = nf_model_send_us(&model, 4 << 20);
    CU_ASSERT(small_us > 0.1 && small_us < 1e5);
    CU_ASSERT(large_us < nf_model_send_us(&nf_group_model, 4 << 20) / 2);
    /* sending is a part of it; copies are of 10 MB/s to 1 TB/s */
    CU_ASSERT(model.occupancy_us > 0 && model.occupancy_us <= small_us + 0.1);
    CU_ASSERT(model.share_us > 0 && model.share_us <= model.occupancy_us);
    CU_ASSERT(model.copy_byte_us > 1e-6 && model.copy_byte_us < 0.1);
    CU_ASSERT(model.nnear == 0);
}

static void test_no_memory(void)
{
    struct nf_model model = { .npieces = 0 };

    for (long n = 0; n < 16; n++) {
        nf_alloc_fail_after(n);
        (void)nf_local_model_measure(&model);
        nf_alloc_fail_after(-1);
        CU_ASSERT(model.npieces == 0 || nf_model_send_us(&model, 8) > 0);
    }
}

static CU_TestInfo tests[] = {
    { "messages between threads are timed", test_times },
    { "without memory they are not", test_no_memory },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "model of the transport local", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
