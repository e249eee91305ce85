/* The comparison of a product with a direct one: what it lets pass, what not.
 */
#include "config.h"
#include "apps/matmul/matmul.h"
#include <cblas.h>
#include <math.h>
#include <string.h>
#include "tests/unit/nf_unit.h"

/* A product of random matrices that is right. */
static void make_product(struct nf_product *product, uint64_t n)
{
    struct nf_matrix *a = &product->a, *b = &product->b, *c = &product->c;
    blasint side = (blasint)n;

    CU_ASSERT_EQUAL(nf_matrix_create(n, n, a, NULL), NF_OK);
    CU_ASSERT_EQUAL(nf_matrix_create(n, n, b, NULL), NF_OK);
    CU_ASSERT_EQUAL(nf_matrix_create(n, n, c, NULL), NF_OK);
    nf_matrix_fill_random(a, 1, 0);
    nf_matrix_fill_random(b, 1, 1);
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, side, side, side, 1,
                a->data, side, b->data, side, 0, c->data, side);
}

static void free_product(struct nf_product *product)
{
    nf_matrix_fini(&product->a);
    nf_matrix_fini(&product->b);
    nf_matrix_fini(&product->c);
}

/* The documented tolerance of C(i, j), computed afresh. */
static double tolerance_of(const struct nf_product *product, uint64_t i,
                           uint64_t j)
{
    uint64_t n = product->a.cols;
    double k2 = (double)n + 2, row_max = 0, row_sum = 0, col_max = 0,
           col_sum = 0;

    for (uint64_t l = 0; l < n; l++) {
        double a = fabs(product->a.data[l * product->a.rows + i]);
        double b = fabs(product->b.data[j * n + l]);

        row_max = fmax(row_max, a);
        row_sum += a;
        col_max = fmax(col_max, b);
        col_sum += b;
    }
    return 2 * k2 * 0x1p-53 / (1 - k2 * 0x1p-53) *
           fmin(row_max * col_sum, row_sum * col_max);
}

static enum nf_status check(struct nf_product *product, struct nf_error *err)
{
    char note[400] = "";
    enum nf_status status = nf_product_verify(product, note, sizeof(note), err);

    CU_ASSERT_EQUAL(status == NF_OK, note[0] != '\0');
    CU_ASSERT(status == NF_OK || status == NF_ERR_VERIFY);
    return status;
}

static void test_one_entry_off(void)
{
    struct nf_product product = { 0 };
    struct nf_error err = { 0 };
    double *entry, right;

    make_product(&product, 60);
    CU_ASSERT_EQUAL(check(&product, &err), NF_OK);
    entry = &product.c.data[41 * 60 + 17];
    right = *entry;
    /* the tolerance is near the rounding errors: some 10^-12, not 10^-6 */
    CU_ASSERT(tolerance_of(&product, 17, 41) < 2e-12);
    *entry = right + 0.5 * tolerance_of(&product, 17, 41);
    CU_ASSERT_EQUAL(check(&product, &err), NF_OK);
    *entry = right + 1.2 * tolerance_of(&product, 17, 41);
    CU_ASSERT_EQUAL(check(&product, &err), NF_ERR_VERIFY);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "C(18, 42) is "));
    *entry = right - 1.2 * tolerance_of(&product, 17, 41);
    CU_ASSERT_EQUAL(check(&product, &err), NF_ERR_VERIFY);
    *entry = 1e300; /* the worst of two is named */
    product.c.data[0] += 1;
    CU_ASSERT_EQUAL(check(&product, &err), NF_ERR_VERIFY);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "C(18, 42) is "));
    free_product(&product);
}

static void test_not_a_number(void)
{
    static const double bad[] = { NAN, INFINITY, -INFINITY };

    for (int t = 0; t < 3; t++) {
        struct nf_product product = { 0 };
        struct nf_error err = { 0 };

        make_product(&product, 20);
        product.c.data[19 * 20 + 2] = bad[t];
        CU_ASSERT_EQUAL(check(&product, &err), NF_ERR_VERIFY);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "C(3, 20) is "));
        free_product(&product);
    }
}

static void test_beyond_float64(void)
{
    struct nf_product product = { 0 };
    struct nf_error err = { 0 };

    make_product(&product, 4);
    product.a.data[0] = product.b.data[0] = 1e200;
    product.c.data[0] = INFINITY;
    CU_ASSERT_EQUAL(check(&product, &err), NF_ERR_VERIFY);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "C(1, 1): the product is beyond"));
    free_product(&product);
}

static void test_zero_and_tiny_products(void)
{
    struct nf_product product = { 0 };
    struct nf_error err = { 0 };

    make_product(&product, 4);
    memset(product.a.data, 0, 128);
    memset(product.c.data, 0, 128);
    CU_ASSERT_EQUAL(check(&product, &err), NF_OK);
    product.c.data[5] = 1e-300;
    CU_ASSERT_EQUAL(check(&product, &err), NF_ERR_VERIFY);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "C(2, 2) is "));
    free_product(&product);
}

static void test_swapped_columns(void)
{
    struct nf_product product = { 0 };
    struct nf_error err = { 0 };
    double column[30];

    make_product(&product, 30);
    memcpy(column, product.c.data, sizeof(column));
    memcpy(product.c.data, product.c.data + 30, sizeof(column));
    memcpy(product.c.data + 30, column, sizeof(column));
    CU_ASSERT_EQUAL(check(&product, &err), NF_ERR_VERIFY);
    free_product(&product);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "one entry just beyond the tolerance is found", test_one_entry_off },
        { "an entry that is not finite is found", test_not_a_number },
        { "a product beyond float64 is not called verified",
          test_beyond_float64 },
        { "zero and tiny products are verified too",
          test_zero_and_tiny_products },
        { "swapped columns are found", test_swapped_columns },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "verify", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
