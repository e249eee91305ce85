/* Matrix files: good ones, bad ones, and what is written. */
#include "config.h"
#include "apps/matmul/matrix.h"
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "tests/unit/nf_unit.h"

#define MEMORY (1ULL << 26) /* bigger matrices are refused in these tests */

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

/* Read what is open as `fd`, as if it were called `name`. */
static enum nf_status read_fd(int fd, const char *name,
                              struct nf_matrix *matrix_p, struct nf_error *err)
{
    struct nf_matrix_file *file;
    enum nf_status status = nf_matrix_file_attach(fd, name, MEMORY, &file, err);

    if (status != NF_OK)
        return status;
    status = nf_matrix_file_read(file, matrix_p, err);
    nf_matrix_file_close(file);
    return status;
}

static enum nf_status read_bytes(const void *data, size_t bytes,
                                 const char *name, struct nf_matrix *matrix_p,
                                 struct nf_error *err)
{
    int fd = memfd_create("test", MFD_CLOEXEC);

    CU_ASSERT_EQUAL(write(fd, data, bytes), (ssize_t)bytes);
    lseek(fd, 0, SEEK_SET);
    return read_fd(fd, name, matrix_p, err);
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

/* --- good files ---------------------------------------------------------- */

struct good {
    const char *name;
    uint64_t rows, cols;
    double entries[9]; /* column by column */
};

static const struct good good_files[] = {
#define REFERENCE                                                              \
    {                                                                          \
        1.5, 0.1, -2.25, 1e-300, 3, 12345678.875                               \
    }
#define FLOATS                                                                 \
    {                                                                          \
        1.5, (double)0.1F, -2.25, 0.25, 3, 12345679                            \
    }
    { "c_lef8.npy", 2, 3, REFERENCE },
    { "c_bef8.npy", 2, 3, REFERENCE },
    { "f_lef8.npy", 2, 3, REFERENCE },
    { "f_bef8.npy", 2, 3, REFERENCE },
    { "c_lef4.npy", 2, 3, FLOATS },
    { "c_bef4.npy", 2, 3, FLOATS },
    { "f_lef4.npy", 2, 3, FLOATS },
    { "f_bef4.npy", 2, 3, FLOATS },
    { "v2.npy", 2, 3, REFERENCE },
    { "v3.npy", 2, 3, REFERENCE },
    { "vector.npy", 3, 1, { 1, 2, 4 } },
    { "row.npy", 1, 3, { 1, 2, 4 } },
    { "array.mtx", 2, 3, REFERENCE },
    { "coordinate.mtx", 2, 3, REFERENCE },
    { "symmetric.mtx", 3, 3, { 1, 2, 3, 2, 4, 5, 3, 5, -6 } },
    { "skew.mtx", 3, 3, { 0, 2, -3, -2, 0, 5, 3, -5, 0 } },
    { "pattern.mtx", 3, 3, { 1, 0, 1, 0, 0, 1, 1, 1, 0 } },
    { "zero.mtx", 2, 2, { 0, 0, 0, 0 } },
};

static void test_good_files(void)
{
    for (size_t t = 0; t < sizeof(good_files) / sizeof(good_files[0]); t++) {
        const struct good *good = &good_files[t];
        struct nf_matrix matrix = { 0 };
        struct nf_error err = { 0 };
        char path[512];

        snprintf(path, sizeof(path), "%s/tests/golden/matrices/%s", NF_SRCDIR,
                 good->name);
        CU_ASSERT_EQUAL(read_path(path, &matrix, &err), NF_OK);
        if (matrix.data == NULL) {
            printf("%s: %s\n", good->name, err.text);
            continue;
        }
        CU_ASSERT_EQUAL(matrix.rows, good->rows);
        CU_ASSERT_EQUAL(matrix.cols, good->cols);
        for (uint64_t k = 0; k < good->rows * good->cols; k++)
            if (matrix.data[k] != good->entries[k]) {
                printf("%s: entry %llu is %.17g\n", good->name,
                       (unsigned long long)k, matrix.data[k]);
                CU_FAIL("wrong entry");
            }
        nf_matrix_fini(&matrix);
    }
}

/* --- bad files ----------------------------------------------------------- */

struct bad {
    const char *data;
    const char *want; /* part of the message, which begins with the file */
};

#define MM    "%%MatrixMarket matrix "
#define ARRAY MM "array real general\n"
#define COORD MM "coordinate real general\n"

static const struct bad bad_mtx[] = {
    { "\n", "bad.mtx:1: '' is no Matrix Market header" },
    { "%MatrixMarket matrix array real general\n1 1\n1\n", "bad.mtx:1: " },
    { "1 1\n1\n", "bad.mtx:1: '1 1' is no Matrix Market header" },
    { "%%MatrixMarketX matrix array real general\n1 1\n1\n",
      "bad.mtx:1: '%%MatrixMarketX' is not supported" },
    { "%%MatrixMarket vector array real general\n1 1\n1\n",
      "bad.mtx:1: 'vector' is not supported" },
    { MM "array real\n1 1\n1\n", "bad.mtx:1: header has fewer than 5" },
    { MM "array real general x\n1 1\n1\n", "bad.mtx:1: header has more than" },
    { MM "dense real general\n1 1\n1\n", "bad.mtx:1: 'dense' is not supp" },
    { MM "array complex general\n1 1\n1 0\n",
      "bad.mtx:1: 'complex' is not supported" },
    { MM "array real hermitian\n1 1\n1\n",
      "bad.mtx:1: 'hermitian' is not supported: want '%%MatrixMarket matrix "
      "array|coordinate real|integer|pattern general|symmetric|skew" },
    { MM "array pattern general\n1 1\n1\n", "bad.mtx:1: a pattern has no" },
    { MM "coordinate pattern skew-symmetric\n2 2 1\n2 1\n", "bad.mtx:1: a pa" },
    { ARRAY, "bad.mtx:1: file ends before the line of sizes" },
    { ARRAY "% only comments\n\n", "bad.mtx:3: file ends before the line" },
    { ARRAY "1\n1\n", "bad.mtx:2: '1': want 'rows columns'" },
    { ARRAY "1 1 1\n1\n", "bad.mtx:2: '1 1 1': want 'rows columns'" },
    { COORD "1 1\n1\n", "bad.mtx:2: '1 1': want 'rows columns entries'" },
    { ARRAY "-1 1\n1\n", "bad.mtx:2: '-1 1': want" },
    { ARRAY "1 +1\n1\n", "bad.mtx:2: '1 +1': want" },
    { ARRAY "1.0 1\n1\n", "bad.mtx:2: '1.0 1': want" },
    { ARRAY "18446744073709551617 1\n1\n", "bad.mtx:2: '184467440737" },
    { ARRAY "0 1\n", "bad.mtx:2: 0 x 1 matrix has no entries" },
    { COORD "3 0 0\n", "bad.mtx:2: 3 x 0 matrix has no entries" },
    { ARRAY "1152921504606846976 8\n1\n",
      "bad.mtx:2: 1152921504606846976 x 8 matrix needs 64.0 EiB, this machine "
      "has 64.0 MiB" },
    { ARRAY "18446744073709551615 18446744073709551615\n1\n",
      "bad.mtx:2: 18446744073709551615 x 18446744073709551615 matrix needs" },
    { COORD "4294967296 4294967296 0\n", "matrix needs 128.0 EiB" },
    { ARRAY "1000 1000\n1\n2\n",
      "bad.mtx:2: 1000000 entries cannot be in a file of" },
    { COORD "1000 1000 500000\n1 1 1\n",
      "bad.mtx:2: 500000 entries cannot be in a file of" },
    { COORD "2 2 5\n1 1 1\n1 2 1\n2 1 1\n2 2 1\n2 2 1\n",
      "bad.mtx:2: 5 entries are more than a 2 x 2 matrix" },
    { MM "coordinate real skew-symmetric\n2 2 2\n2 1 1\n2 2 0\n",
      "bad.mtx:2: 2 entries are more than" },
    { MM "array real symmetric\n2 3\n1\n2\n3\n4\n",
      "bad.mtx:2: 2 x 3 matrix is not square, so it cannot be symmetric" },
    { ARRAY "1 1\nnan\n", "bad.mtx:3: 'nan': want a finite decimal number" },
    { ARRAY "1 1\nNaN(1)\n", "bad.mtx:3: 'NaN(1)': want a finite" },
    { ARRAY "1 1\n-inf\n", "bad.mtx:3: '-inf': want a finite" },
    { ARRAY "1 1\n0x10\n", "bad.mtx:3: '0x10': want a finite" },
    { ARRAY "1 1\n1e\n", "bad.mtx:3: '1e': want a finite" },
    { ARRAY "1 1\n.\n", "bad.mtx:3: '.': want a finite" },
    { ARRAY "1 1\n1,5\n", "bad.mtx:3: '1,5': want a finite" },
    { ARRAY "1 1\n1d3\n", "bad.mtx:3: '1d3': want a finite" },
    { ARRAY "1 1\n+-1\n", "bad.mtx:3: '+-1': want a finite" },
    { ARRAY "1 1\n1e309\n", "bad.mtx:3: '1e309' is too big for float64" },
    { ARRAY "1 1\n-1e99999999999\n", "bad.mtx:3: '-1e99999999999' is too" },
    { ARRAY "2 1\n1 2\n", "bad.mtx:3: '2' behind the value" },
    { ARRAY "2 1\n1\nabc\n", "bad.mtx:4: 'abc': want" },
    { ARRAY "2 1\n1\n\n% x\n", "bad.mtx:5: file ends after 1 of 2 entries" },
    { ARRAY "2 1\n1\n2\n\n3\n", "bad.mtx:6: '3' behind the last of 2 entries" },
    { MM "array integer general\n1 1\n1.5\n",
      "bad.mtx:3: '1.5': want an integer" },
    { MM "array integer general\n1 1\n1e3\n", "bad.mtx:3: '1e3': want an int" },
    { COORD "2 2 1\n3 1 1\n",
      "bad.mtx:3: entry (3, 1) is outside the 2 x 2 matrix" },
    { COORD "2 2 1\n1 0 1\n", "bad.mtx:3: entry (1, 0) is outside" },
    { COORD "2 2 1\n1 18446744073709551617 1\n", "bad.mtx:3: '1 18446744" },
    { COORD "2 2 1\n1 2\n", "bad.mtx:3: '1 2': want 'row column value'" },
    { COORD "2 2 1\n1 2 3 4\n", "bad.mtx:3: '4' behind the value" },
    { COORD "2 2 1\n1 2x 3\n", "bad.mtx:3: '1 2x 3': want 'row column v" },
    { MM "coordinate pattern general\n2 2 1\n1 2 1\n",
      "bad.mtx:3: '1 2 1': want 'row column'" },
    { COORD "2 2 2\n1 2 3\n1 2 3\n", "bad.mtx:4: entry (1, 2) is given twice" },
    { COORD "2 2 2\n1 2 3\n", "bad.mtx:3: file ends after 1 of 2 entries" },
    { COORD "2 2 1\n1 2 3\n2 2 3\n", "bad.mtx:4: '2 2 3' behind the last of" },
    { MM "coordinate real symmetric\n2 2 1\n1 2 3\n",
      "bad.mtx:3: entry (1, 2) is not on or below the diagonal" },
    { MM "coordinate real skew-symmetric\n2 2 1\n1 1 3\n",
      "bad.mtx:3: entry (1, 1) is not below the diagonal" },
    { ARRAY "1 1\n\x1b[31mred\n", "bad.mtx:3: '?[31mred': want" },
};

/* The message is one line, names the place, and nothing is left behind. */
static void expect_bad(const void *data, size_t bytes, const char *name,
                       const char *want)
{
    struct nf_matrix matrix = { 0 };
    struct nf_error err = { 0 };
    enum nf_status status = read_bytes(data, bytes, name, &matrix, &err);
    bool range = strstr(want, "matrix needs") != NULL;

    if (status != (range ? NF_ERR_RANGE : NF_ERR_INVAL) ||
        err.status != status || strstr(err.text, want) == NULL ||
        strncmp(err.text, name, strlen(name)) != 0 ||
        strchr(err.text, '\n') != NULL || matrix.data != NULL) {
        printf("want '%s': status %d '%s'\n", want, status, err.text);
        CU_FAIL("not refused as it should be");
    }
    CU_ASSERT_EQUAL(nf_exit_status(status), 2);
    nf_matrix_fini(&matrix);
}

static void test_bad_mtx(void)
{
    static const char zero_byte[] = ARRAY "1 1\n1\0 2\n";
    static const size_t long_bytes = (1 << 20) + 4096;
    char *long_line = malloc(long_bytes);

    for (size_t t = 0; t < sizeof(bad_mtx) / sizeof(bad_mtx[0]); t++)
        expect_bad(bad_mtx[t].data, strlen(bad_mtx[t].data), "bad.mtx",
                   bad_mtx[t].want);
    expect_bad(zero_byte, sizeof(zero_byte) - 1, "bad.mtx",
               "bad.mtx:3: a zero byte");
    memset(long_line, '%', long_bytes);
    memcpy(long_line, ARRAY, sizeof(ARRAY) - 1);
    expect_bad(long_line, long_bytes, "bad.mtx", "bad.mtx:2: line is longer");
    free(long_line);
}

struct bad_npy {
    const char *header;
    size_t data_bytes;
    const char *want;
};

#define F8(shape) "{'descr': '<f8', 'fortran_order': False, 'shape': " shape "}"

static const struct bad_npy bad_headers[] = {
    { "", 0, "bad.npy: header, byte 10: no dictionary (want {'descr': " },
    { "hello", 0, "bad.npy: header, byte 10: no dictionary" },
    { "{", 0, "bad.npy: header, byte 11: no string" },
    { "{}", 0, "bad.npy: header, byte 12: a key is missing" },
    { "{'descr': '<f8', 'fortran_order': False}", 8, "a key is missing" },
    { "{'descr': '<f8', 'shape': (1, 1)}", 8, "a key is missing" },
    { "{'descr': '<f8', 'descr': '<f8'}", 8, "byte 34: a key twice" },
    { "{'x': 1}", 8, "header, byte 14: an unknown key" },
    { "{'descr' '<f8'}", 8, "byte 19: no ':' behind a key" },
    { "{'descr': '<f8' 'shape': (1, 1)}", 8, "byte 26: no ',' between items" },
    { "{'descr': '<f8}", 8, "byte 20: a string without end" },
    { "{'descr': <f8}", 8, "byte 20: no string" },
    { "{'descr': [('x', '<f8')]}", 8, "byte 20: no string" },
    { "{'descr': '<i8'}", 8,
      "entries of type '<i8' are not supported (want '"
      "<f8', '>f8', '<f4' or '>f4'" },
    { "{'descr': '<f2'}", 2, "entries of type '<f2' are not supported" },
    { "{'descr': '|f8'}", 8, "entries of type '|f8' are not supported" },
    { "{'descr': '<f88'}", 8, "entries of type '<f88' are not supported" },
    { "{'descr': '<\xbc\x1b'}", 8, "entries of type '<?\?' are not supported" },
    { "{'descr': '|O'}", 8, "entries of type '|O' are not supported" },
    { "{'fortran_order': 0}", 8, "byte 28: neither True nor False" },
    { "{'fortran_order': true}", 8, "byte 28: neither True nor False" },
    { "{'fortran_order': Trueish}", 8, "byte 32: no ',' between items" },
    { F8("1, 1"), 8, "byte 60: no tuple" },
    { F8("[1, 1]"), 8, "byte 60: no tuple" },
    { F8("()"), 8, "an array without dimensions" },
    { F8("(1)"), 8, "a number, not a tuple like (3,)" },
    { F8("(1, 1, 1)"), 8, "more than 2 dimensions" },
    { F8("(1 1)"), 8, "no ',' between lengths" },
    { F8("(,)"), 8, "no length" },
    { F8("(-1, 1)"), 8, "byte 61: a negative length" },
    { F8("(1, 1.0)"), 8, "no ',' between lengths" },
    { F8("(0x1, 1)"), 8, "no ',' between lengths" },
    { F8("(01, 1)"), 8, "a length that begins with 0" },
    { F8("(18446744073709551616, 1)"), 8, "a length of 2^64 or more" },
    { F8("(0, 1)"), 0, "bad.npy: 0 x 1 matrix has no entries" },
    { F8("(3, 0)"), 0, "bad.npy: 3 x 0 matrix has no entries" },
    { F8("(1152921504606846976,)"), 8,
      "bad.npy: 1152921504606846976 x 1 matrix needs 8.0 EiB, this machine has "
      "64.0 MiB" },
    { F8("(1152921504606846976, 8)"), 8, "matrix needs 64.0 EiB" },
    /* products that wrap to a small number in 64 bits */
    { F8("(4294967296, 4294967296)"), 0, "matrix needs 128.0 EiB" },
    { F8("(2305843009213693953, 8)"), 64, "matrix needs 128.0 EiB" },
    { F8("(1, 2)"), 15,
      "bad.npy: 1 x 2 entries of 8 bytes are 16 bytes, but 1"
      "5 bytes follow the header" },
    { F8("(1, 2)"), 17, "are 16 bytes, but 17 bytes follow the header" },
    { F8("(1, 2)"), 0, "are 16 bytes, but 0 bytes follow the header" },
    { F8("(1, 1)") " x", 8, "more text behind the dictionary" },
    { F8("(1, 1"), 8, "no ',' between lengths" },
};

/* A .npy file of version 1.0 with zero entries.  @return its bytes */
static size_t make_npy(char *raw, const char *header, size_t data_bytes)
{
    size_t bytes = strlen(header);

    memcpy(raw, "\x93NUMPY\x01\x00", 8);
    raw[8] = (char)(bytes & 0xff);
    raw[9] = (char)(bytes >> 8);
    memcpy(raw + 10, header, bytes);
    memset(raw + 10 + bytes, 0, data_bytes);
    return 10 + bytes + data_bytes;
}

static void test_bad_npy_headers(void)
{
    char raw[512];

    for (size_t t = 0; t < sizeof(bad_headers) / sizeof(bad_headers[0]); t++)
        expect_bad(
            raw,
            make_npy(raw, bad_headers[t].header, bad_headers[t].data_bytes),
            "bad.npy", bad_headers[t].want);
}

static void test_bad_npy_frames(void)
{
    static const struct {
        const char *data;
        size_t bytes;
        const char *want;
    } table[] = {
        { "\x93", 1, "is no .npy file" },
        { "\x93NUMPY\x01", 7, "is no .npy file" },
        { "\x92NUMPY\x01\x00\x00\x00", 10, "is no .npy file" },
        { "PK\x03\x04zipped....", 12, "is no .npy file" },
        { "\x93NUMPY\x00\x00\x00\x00", 10, ".npy version 0.0 is not supp" },
        { "\x93NUMPY\x04\x00\x00\x00", 10, ".npy version 4.0 is not supp" },
        { "\x93NUMPY\x01\x01\x00\x00", 10, ".npy version 1.1 is not supp" },
        { "\x93NUMPY\x01\x00\x76", 9, "claims a header of 118 bytes, but the" },
        { "\x93NUMPY\x01\x00\x76\x00{}", 12, "claims a header of 118 bytes" },
        { "\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14,
          "claims a header of 4294967295 bytes, but the file has only 14" },
        { "\x93NUMPY\x03\x00\x02\x00", 10, "claims a header of 2 bytes" },
        { "\x93NUMPY\x01\x00\x02\x00{\0", 12, "byte 11: a zero byte" },
    };
    size_t big_bytes = 12 + 70000;
    char *big = calloc(big_bytes, 1);

    for (size_t t = 0; t < sizeof(table) / sizeof(table[0]); t++)
        expect_bad(table[t].data, table[t].bytes, "bad.npy", table[t].want);
    memcpy(big, "\x93NUMPY\x02\x00\x70\x11\x01\x00", 12);
    expect_bad(big, big_bytes, "bad.npy", "header has 70000 bytes (want at");
    free(big);
}

static void test_npy_entries_must_be_finite(void)
{
    static const char header[] = F8("(2, 3)");
    const double bad[] = { NAN, -NAN, INFINITY, -INFINITY };
    char raw[512];

    for (size_t t = 0; t < 4; t++) {
        size_t bytes = make_npy(raw, header, 48);

        memcpy(raw + bytes - 8, &bad[t], 8); /* the last: row 1, column 2 */
        expect_bad(raw, bytes, "bad.npy", "bad.npy: entry [1, 2] (from 0) is");
    }
    CU_ASSERT_NOT_EQUAL(0, strlen(header));
}

static void test_golden_bad_npy(void)
{
    static const struct bad table[] = {
        { "bad_int64.npy", "entries of type '<i8' are not supported" },
        { "bad_complex.npy", "entries of type '<c16' are not supported" },
        { "bad_3d.npy", "more than 2 dimensions" },
        { "bad_0d.npy", "an array without dimensions" },
        { "bad_empty.npy", "0 x 3 matrix has no entries" },
        { "bad_record.npy", "no string" },
    };

    for (size_t t = 0; t < sizeof(table) / sizeof(table[0]); t++) {
        struct nf_matrix matrix = { 0 };
        struct nf_error err = { 0 };
        char path[512];

        snprintf(path, sizeof(path), "%s/tests/golden/matrices/%s", NF_SRCDIR,
                 table[t].data);
        CU_ASSERT_EQUAL(read_path(path, &matrix, &err), NF_ERR_INVAL);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, table[t].want));
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, table[t].data));
    }
}

/* --- files that are none -------------------------------------------------- */

static void expect_unreadable(const char *path, const char *want)
{
    struct nf_matrix matrix = { 0 };
    struct nf_error err = { 0 };

    CU_ASSERT_EQUAL(read_path(path, &matrix, &err), NF_ERR_INVAL);
    if (strstr(err.text, want) == NULL ||
        strncmp(err.text, path, strlen(path)) != 0) {
        printf("want '%s': '%s'\n", want, err.text);
        CU_FAIL("wrong message");
    }
}

static void test_no_regular_file(void)
{
    const char *path = scratch_path("x.mtx");
    int fd;

    expect_unreadable(path, "cannot open: No such file or directory");
    mkdir(path, 0777);
    expect_unreadable(path, "is a directory");
    rmdir(path);
    mkfifo(path, 0666);
    expect_unreadable(path, "is not a regular file");
    unlink(path);
    fd = creat(path, 0000);
    CU_ASSERT(fd >= 0);
    close(fd);
    if (geteuid() != 0)
        expect_unreadable(path, "cannot open: Permission denied");
    else
        expect_unreadable(path, "is empty");
    unlink(path);
    expect_unreadable("/dev/null", "is not a regular file");
}

static void test_unknown_suffixes(void)
{
    static const char *const names[] = { "A.txt", "A", "A.mtx/A", ".npy.gz" };
    struct nf_error err = { 0 };

    for (size_t t = 0; t < 4; t++) {
        struct nf_matrix matrix = { 0 };

        CU_ASSERT_EQUAL(read_bytes("1", 1, names[t], &matrix, &err),
                        NF_ERR_INVAL);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "ends in .mtx or .npy"));
        CU_ASSERT_EQUAL(nf_matrix_check_suffix(names[t], &err), NF_ERR_INVAL);
    }
    CU_ASSERT_EQUAL(nf_matrix_check_suffix("dir.x/A.NPY", &err), NF_OK);
    CU_ASSERT_EQUAL(nf_matrix_check_suffix("A.mtx", NULL), NF_OK);
}

/* A file of honest size, but larger than the memory of this machine. */
static void test_larger_than_memory(void)
{
    const char *path = scratch_path("big.npy");
    uint64_t rows = nf_memory_bytes() / 8 + 1;
    struct nf_matrix_file *file = NULL;
    struct nf_error err = { 0 };
    char header[128], raw[256];
    FILE *stream = fopen(path, "w");
    size_t bytes;

    snprintf(header, sizeof(header), F8("(%llu,)"), (unsigned long long)rows);
    bytes = make_npy(raw, header, 0);
    CU_ASSERT_EQUAL(fwrite(raw, 1, bytes, stream), bytes);
    fclose(stream);
    if (truncate(path, (off_t)(bytes + rows * 8)) == 0) {
        CU_ASSERT_EQUAL(
            nf_matrix_file_open(path, nf_memory_bytes(), &file, &err),
            NF_ERR_RANGE);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "this machine has"));
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "big.npy: "));
    }
    unlink(path);
}

static void test_sides_that_blas_cannot_count(void)
{
    struct nf_error err = { 0 };

    CU_ASSERT_EQUAL(nf_matrix_check_size("x", 2147483647, 1, 1ULL << 40, &err),
                    NF_OK);
    CU_ASSERT_EQUAL(nf_matrix_check_size("x", 2147483648, 1, 1ULL << 40, &err),
                    NF_ERR_RANGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "more than 2147483647 rows"));
}

static void test_out_of_memory(void)
{
    static const char text[] = COORD "3 3 2\n1 1 1\n2 3 4\n";
    struct nf_matrix matrix = { 0 };
    char raw[256];
    size_t bytes = make_npy(raw, F8("(2, 2)"), 32);
    struct nf_error err;

    for (int npy = 0; npy < 2; npy++) {
        enum nf_status status = NF_ERR_NOMEM;
        long allowed = 0;

        for (; status == NF_ERR_NOMEM && allowed < 100; allowed++) {
            nf_alloc_fail_after(allowed);
            status = npy ? read_bytes(raw, bytes, "x.npy", &matrix, &err)
                         : read_bytes(text, sizeof(text) - 1, "x.mtx", &matrix,
                                      &err);
            nf_alloc_fail_after(-1);
        }
        CU_ASSERT_EQUAL(status, NF_OK);
        CU_ASSERT(allowed > 4);
        nf_matrix_fini(&matrix);
    }
}

int main(void)
{
    CU_TestInfo reading[] = {
        { "all kinds of good files are read", test_good_files },
        { "bad .mtx files are refused with their line", test_bad_mtx },
        { "bad .npy headers are refused with their byte",
          test_bad_npy_headers },
        { "bad .npy frames are refused", test_bad_npy_frames },
        { "NaN and infinity in .npy are refused with their place",
          test_npy_entries_must_be_finite },
        { "other arrays that NumPy writes are refused", test_golden_bad_npy },
        { "what is no regular file is refused", test_no_regular_file },
        { "unknown suffixes are refused", test_unknown_suffixes },
        { "a file larger than memory is refused with its size",
          test_larger_than_memory },
        { "sides that BLAS cannot count are refused",
          test_sides_that_blas_cannot_count },
        { "running out of memory anywhere leaks nothing", test_out_of_memory },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "reading", make_scratch, remove_scratch, NULL, NULL, reading },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
