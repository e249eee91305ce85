/* Blocks of memory that are kept for the next who needs some. */
#include "config.h"
#include "common/base/alloc.h"
#include "common/base/blob.h"
#include "common/base/spare.h"
#include "tests/unit/nf_unit.h"

/* The smallest that is large enough, and not much too large. */
static void large_blocks_are_used_again(void)
{
    void *small, *large;
    struct nf_blob *blob;

    nf_spare_clear();
    small = nf_blob_alloc(5 << 20);
    large = nf_blob_alloc(16 << 20);
    CU_ASSERT_FATAL(small != NULL && large != NULL);
    nf_spare_give(small);
    nf_spare_give(large);
    CU_ASSERT_PTR_EQUAL(nf_blob_alloc(9 << 20), large);
    blob = nf_blob_create(5 << 20, NF_BYTES);
    CU_ASSERT_PTR_EQUAL(blob->data, small);
    nf_blob_unref(blob);
    nf_alloc_fail_after(0);
    CU_ASSERT_PTR_NULL(nf_blob_alloc(4 << 20));
    nf_alloc_fail_after(-1);
    CU_ASSERT_PTR_EQUAL(nf_blob_alloc(4 << 20), small);
    nf_spare_give(large);
    CU_ASSERT_PTR_NULL(nf_spare_take(3 << 20, 1).data);
    CU_ASSERT_PTR_NULL(nf_spare_take_largest(64 << 20).data);
    CU_ASSERT_PTR_EQUAL(nf_spare_take_largest(3 << 20).data, large);
    nf_free(large);
    nf_spare_give(small);
    nf_spare_give(NULL);
    nf_spare_give(nf_blob_alloc(1000));
    nf_spare_clear();
    CU_ASSERT_PTR_NULL(nf_spare_take_largest(0).data);
}

static void spare_blocks_have_limits(void)
{
    enum { BYTES = 300 << 10 };
    struct nf_spare block;
    size_t count = 0;

    CU_ASSERT(!nf_spare_warm(1000));
    CU_ASSERT(!nf_spare_warm((size_t)NF_SPARE_MOST_BYTES + 1));
    nf_spare_give(nf_blob_alloc((size_t)NF_SPARE_MOST_BYTES + 1));
    nf_alloc_fail_after(0);
    CU_ASSERT(!nf_spare_warm(BYTES));
    nf_alloc_fail_after(-1);
    while (count < 1000 && nf_spare_warm(BYTES))
        count++;
    CU_ASSERT(count > 200 && count < 1000);
    block = nf_spare_take(BYTES, 1);
    CU_ASSERT(block.data != NULL && block.bytes >= BYTES && block.bytes < 2 * BYTES);
    nf_free(block.data);
    nf_spare_clear();
    for (count = 0; count < 100 && nf_spare_warm(20 << 20); count++)
        ;
    CU_ASSERT(count > 10 && count <= 12);
    nf_spare_clear();
    CU_ASSERT_PTR_NULL(nf_spare_take_largest(0).data);
}

static CU_TestInfo tests[] = {
    { "large blocks are used again", large_blocks_are_used_again },
    { "spare blocks have limits", spare_blocks_have_limits },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "spare blocks", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
