/* Matrix files that are written, decimal numbers, random entries. */
#include "config.h"
#include "apps/matmul/matrix.h"
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "apps/matmul/decimal.h"
#include "tests/unit/nf_unit.h"

#define MEMORY (1ULL << 26)

static char scratch[] = "test-matrix-XXXXXX";

static int make_scratch(void)
{
    strcpy(scratch, "test-matrix-XXXXXX"); /* once a suite */
    return mkdtemp(scratch) == NULL;
}

static int remove_scratch(void)
{
    return rmdir(scratch); /* fails if a test left a file */
}

static const char *scratch_path(const char *name)
{
    static char path[256];

    snprintf(path, sizeof(path), "%s/%s", scratch, name);
    return path;
}

static enum nf_status read_path(const char *path, struct nf_matrix *matrix_p,
                                struct nf_error *err)
{
    struct nf_matrix_file *file;
    enum nf_status status = nf_matrix_file_open(path, MEMORY, &file, err);

    if (status != NF_OK)
        return status;
    status = nf_matrix_file_read(file, matrix_p, err);
    nf_matrix_file_close(file);
    return status;
}

/* --- writing -------------------------------------------------------------- */

static void fill_extremes(struct nf_matrix *matrix)
{
    static const double extremes[] = { 0,        -0.0,      DBL_MAX, -DBL_MAX,
                                       DBL_MIN,  0x1p-1074, 0.1,     1e16,
                                       1e17 / 3, -1e-5,     123456,  1e-11 };

    nf_matrix_fill_random(matrix, 7, 0);
    for (uint64_t k = 0; k < 12 && k < matrix->rows * matrix->cols; k++)
        matrix->data[k] = extremes[k];
}

static void check_round_trip(const struct nf_matrix *matrix, const char *name,
                             enum nf_status (*save)(const struct nf_matrix *,
                                                    const char *,
                                                    struct nf_error *))
{
    const char *path = scratch_path(name);
    struct nf_matrix again = { 0 };
    struct nf_error err = { 0 };

    CU_ASSERT_EQUAL(save(matrix, path, &err), NF_OK);
    CU_ASSERT_EQUAL(read_path(path, &again, &err), NF_OK);
    CU_ASSERT_EQUAL(again.rows, matrix->rows);
    CU_ASSERT_EQUAL(again.cols, matrix->cols);
    if (again.data != NULL)
        CU_ASSERT_EQUAL(
            memcmp(again.data, matrix->data, 8 * matrix->rows * matrix->cols),
            0);
    nf_matrix_fini(&again);
    CU_ASSERT_EQUAL(unlink(path), 0);
}

/* Shapes on both sides of the buffers and of the blocks of a transposition. */
static void test_round_trips(void)
{
    static const uint64_t shapes[][2] = {
        { 1, 1 },       { 1, 17 },      { 17, 1 },     { 2, 3 },
        { 16, 16 },     { 33, 15 },     { 2, 600000 }, { 600000, 2 },
        { 3, 1100000 }, { 1500, 1100 },
    };

    for (size_t t = 0; t < sizeof(shapes) / sizeof(shapes[0]); t++) {
        struct nf_matrix matrix = { 0 };
        struct nf_error err;

        CU_ASSERT_EQUAL(
            nf_matrix_create(shapes[t][0], shapes[t][1], &matrix, &err), NF_OK);
        fill_extremes(&matrix);
        check_round_trip(&matrix, "rt.npy", nf_matrix_write);
        check_round_trip(&matrix, "rt.npy", nf_matrix_write_npy_c);
        if (matrix.rows * matrix.cols < 200000)
            check_round_trip(&matrix, "rt.mtx", nf_matrix_write);
        nf_matrix_fini(&matrix);
    }
}

static enum nf_status read_complex(const char *path,
                                   struct nf_matrix *matrix_p, bool *complex_p,
                                   struct nf_error *err)
{
    struct nf_matrix_file *file;
    enum nf_status status =
        nf_matrix_file_open_complex(path, MEMORY, &file, err);

    if (status != NF_OK)
        return status;
    *complex_p = nf_matrix_file_is_complex(file);
    status = nf_matrix_file_read(file, matrix_p, err);
    nf_matrix_file_close(file);
    return status;
}

/* A column a number; who does not ask for them does not get them. */
static void test_complex_numbers(void)
{
    static const uint64_t counts[] = { 1, 3, 600000 };
    const char *path = scratch_path("complex.npy");

    for (size_t t = 0; t < sizeof(counts) / sizeof(counts[0]); t++) {
        struct nf_matrix matrix = { 0 }, again = { 0 };
        struct nf_error err = { 0 };
        bool complex = false;

        CU_ASSERT_EQUAL(nf_matrix_create(2, counts[t], &matrix, &err), NF_OK);
        fill_extremes(&matrix);
        CU_ASSERT_EQUAL(nf_matrix_write_npy_complex(&matrix, path, &err),
                        NF_OK);
        CU_ASSERT_EQUAL(read_complex(path, &again, &complex, &err), NF_OK);
        CU_ASSERT(complex);
        CU_ASSERT_EQUAL(again.rows, 2);
        CU_ASSERT_EQUAL(again.cols, counts[t]);
        CU_ASSERT(again.data != NULL &&
                  memcmp(again.data, matrix.data, 16 * counts[t]) == 0);
        nf_matrix_fini(&again);
        CU_ASSERT_EQUAL(read_path(path, &again, &err), NF_ERR_INVAL);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "c16' are not supported"));
        /* real ones are what they are anyway */
        CU_ASSERT_EQUAL(nf_matrix_write(&matrix, path, &err), NF_OK);
        CU_ASSERT_EQUAL(read_complex(path, &again, &complex, &err), NF_OK);
        CU_ASSERT(!complex);
        CU_ASSERT_EQUAL(again.rows, 2);
        nf_matrix_fini(&again);
        nf_matrix_fini(&matrix);
    }
    CU_ASSERT_EQUAL(unlink(path), 0);
    CU_ASSERT(nf_matrix_is_npy("a.b/c.NPY"));
    CU_ASSERT(!nf_matrix_is_npy("a.npy/c.mtx"));
}

/* Headers of complex numbers: of half the size, of the other byte order, and what
 * is refused. */
static void test_complex_headers(void)
{
    static const struct {
        const char *header, *why; /* why: NULL: it is read */
    } files[] = {
        { "{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }\n", NULL },
        { "{'descr': '>c8', 'fortran_order': True, 'shape': (2, 1), }\n", NULL },
        { "{'descr': '<c16', 'fortran_order': False, 'shape': (1,), }\n", NULL },
        { "{'descr': '<c16', 'fortran_order': False, 'shape': (2,), }\n",
          "16 bytes follow" },
        { "{'descr': '<c8', 'fortran_order': False, 'shape': (1, 2), }\n",
          "want one dimension" },
        { "{'descr': '<c8', 'fortran_order': False, 'shape': (0,), }\n",
          "has no numbers" },
        { "{'descr': '<c32', 'fortran_order': False, 'shape': (1,), }\n",
          "or complex" },
    };
    const char *path = scratch_path("header.npy");

    for (size_t t = 0; t < sizeof(files) / sizeof(files[0]); t++) {
        const float numbers[4] = { 1, 2, 4, 8 };
        size_t length = strlen(files[t].header);
        struct nf_matrix matrix = { 0 };
        struct nf_error err = { 0 };
        bool complex = false;
        FILE *file = fopen(path, "wb");
        enum nf_status status;

        CU_ASSERT_PTR_NOT_NULL_FATAL(file);
        fwrite("\x93NUMPY\x01\x00", 1, 8, file);
        fputc((int)length, file);
        fputc(0, file);
        fwrite(files[t].header, 1, length, file);
        fwrite(numbers, 1, sizeof(numbers), file);
        fclose(file);
        status = read_complex(path, &matrix, &complex, &err);
        if (files[t].why == NULL) {
            CU_ASSERT_EQUAL(status, NF_OK);
            CU_ASSERT_EQUAL(matrix.rows, 2);
            CU_ASSERT_EQUAL(matrix.cols, t < 2 ? 2 : 1);
            if (t == 0)
                CU_ASSERT(matrix.data[1] == 2 && matrix.data[2] == 4);
        } else {
            CU_ASSERT_EQUAL(status, NF_ERR_INVAL);
            CU_ASSERT_PTR_NOT_NULL(strstr(err.text, files[t].why));
        }
        nf_matrix_fini(&matrix);
    }
    CU_ASSERT_EQUAL(unlink(path), 0);
}

/* --- numbers -------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static bool same(double a, double b)
{
    return memcmp(&a, &b, sizeof(a)) == 0;
}

/* Doubles with exponents around those that have a short way, and all others. */
static void test_decimals_print_as_printf_does(void)
{
    uint64_t random = 1;
    char ours[NF_DECIMAL_BYTES], theirs[64];
    double again;

    for (int t = 0; t < 300000; t++) {
        uint64_t bits = next_random(&random);
        double value;

        if (t % 4 != 0)
            bits = (bits & ~(0x7ffULL << 52)) |
                   (uint64_t)(1023 - 45 + t / 4 % 110) << 52;
        if (t % 8 == 7) /* few digits, many ties */
            bits &= ~((1ULL << 40) - 1);
        memcpy(&value, &bits, 8);
        if (!isfinite(value))
            continue;
        snprintf(theirs, sizeof(theirs), "%.17g", value);
        if (nf_decimal_print(value, ours) != strlen(theirs) ||
            strcmp(ours, theirs) != 0 ||
            nf_decimal_parse(ours, &again) != ours + strlen(ours) ||
            !same(again, value)) {
            printf("%s is printed as %s\n", theirs, ours);
            CU_FAIL("printed wrong");
            return;
        }
    }
    CU_PASS("all the same");
}

static void test_decimals_parse_as_strtod_does(void)
{
    static const char *const fixed[] = {
        "9007199254740993",
        "9007199254740993.0",
        "1e23",
        "18446744073709551615",
        "0.1e1",
        "00000000000000000001",
        "-0",
        "-.0e99",
        "1e-400",
        "4.9e-324",
        "2.4703282292062327e-324",
        "9999999999999999999e27",
        "1e-27",
        "1.7976931348623157e308",
        "8.5e-27",
        "123456789012345678901234567890.5",
    };
    uint64_t random = 2;
    char text[96];

    for (int t = 0; t < 300000; t++) {
        uint64_t w = next_random(&random), r = next_random(&random);
        double ours, theirs;
        const char *end;

        if (t < (int)(sizeof(fixed) / sizeof(fixed[0])))
            strcpy(text, fixed[t]);
        else
            snprintf(text, sizeof(text), "%s%llu%s%u%s%d",
                     (r & 1) != 0 ? "-" : "",
                     (unsigned long long)(w >> (r >> 8) % 64),
                     (r & 2) != 0 ? "." : "", (unsigned)(r >> 16) % 1000,
                     (r & 4) != 0 ? "e" : "E+", (int)((r >> 32) % 62));
        if ((r & 12) == 4 && t > 100)
            *strchr(text, 'e') = '\0';
        theirs = strtod(text, NULL);
        end = nf_decimal_parse(text, &ours);
        if (end == NULL || *end != '\0' || !same(ours, theirs)) {
            printf("%s: %.17g, strtod %.17g\n", text, ours, theirs);
            CU_FAIL("parsed wrong");
            return;
        }
    }
    CU_PASS("all the same");
}

static void test_random_entries(void)
{
    struct nf_matrix big = { 0 }, small = { 0 }, other = { 0 };
    double sum = 0, least = 1, most = -1;
    int equal = 0;

    CU_ASSERT_EQUAL(nf_matrix_create(70, 50, &big, NULL), NF_OK);
    CU_ASSERT_EQUAL(nf_matrix_create(7, 5, &small, NULL), NF_OK);
    CU_ASSERT_EQUAL(nf_matrix_create(70, 50, &other, NULL), NF_OK);
    nf_matrix_fill_random(&big, 1, 0);
    nf_matrix_fill_random(&small, 1, 0);
    nf_matrix_fill_random(&other, 1, 1);
    for (uint64_t j = 0; j < 5; j++)
        for (uint64_t i = 0; i < 7; i++)
            CU_ASSERT_EQUAL(small.data[j * 7 + i], big.data[j * 70 + i]);
    for (size_t k = 0; k < 3500; k++) {
        sum += big.data[k];
        least = fmin(least, big.data[k]);
        most = fmax(most, big.data[k]);
        equal += big.data[k] == other.data[k];
    }
    CU_ASSERT_EQUAL(equal, 0);
    CU_ASSERT(least >= -1 && least < -0.99 && most < 1 && most > 0.99);
    CU_ASSERT(fabs(sum) < 5 * sqrt(3500.0 / 3)); /* five sigma */
    nf_matrix_fill_random(&other, 2, 0);
    for (size_t k = 0; k < 3500; k++)
        equal += big.data[k] == other.data[k];
    CU_ASSERT_EQUAL(equal, 0);
    nf_matrix_fini(&big);
    nf_matrix_fini(&small);
    nf_matrix_fini(&other);
}

int main(void)
{
    CU_TestInfo writing[] = {
        { "what is written reads back exactly", test_round_trips },
        { "so do complex numbers", test_complex_numbers },
        { "their headers", test_complex_headers },
        { "decimals print as printf prints them",
          test_decimals_print_as_printf_does },
        { "decimals are read as strtod reads them",
          test_decimals_parse_as_strtod_does },
        { "random entries depend on seed, stream, row and column only",
          test_random_entries },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "writing", make_scratch, remove_scratch, NULL, NULL, writing },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
