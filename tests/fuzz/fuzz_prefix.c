/* Fuzzing the column reader of `nowfarm prefix`.  Whoever reads a file in
 * segments finds the numbers that one reader of all of it finds, finite ones,
 * and the same first mistake, told in one line.
 *
 * The first byte of an input says how to read the rest: as text (0, 1) or raw
 * (2, 3) numbers, float64 or int64; 'n' puts a right magic and length before a
 * header, up to the first newline, of NumPy; 0x93 begins a NumPy file.
 *
 * With libFuzzer: see tests/fuzz/local.am.  Without: `fuzz_prefix FILE...`
 * replays inputs, and `fuzz_prefix` alone makes its own from fixed seeds. */
#include "config.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "apps/prefix/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

enum { SEGMENTS_MOST = 5 };

/* What reading found: how many numbers, a sum over their bits, and the end. */
struct found {
    uint64_t count, sum;
    enum nf_status status;
};

static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "fuzz_prefix: %s\n", what);
        abort();
    }
}

static void check_line(enum nf_status status, const struct nf_error *err)
{
    must(status == NF_ERR_INVAL && err->status == status, "status");
    must(err->text[0] != '\0', "no reason");
    must(strchr(err->text, '\n') == NULL, "the reason is more than one line");
}

/* Go on with one segment.  @return whether its end was reached without error */
static bool read_segment(struct nf_prefix_input *input, uint32_t rank,
                         uint32_t ranks, struct found *found)
{
    enum nf_prefix_type type = nf_prefix_input_file(input)->type;
    struct nf_error err = { .status = NF_OK };

    nf_prefix_input_seek(input, rank, ranks);
    for (;;) {
        union nf_prefix_number number;
        uint64_t bits;

        found->status = nf_prefix_input_next(input, &number, &err);
        if (found->status != NF_OK)
            break;
        must(type == NF_PREFIX_I64 || isfinite(number.f64), "not finite");
        memcpy(&bits, &number, sizeof(bits));
        found->count++;
        found->sum = (found->sum + bits) * UINT64_C(0x9e3779b97f4a7c15);
    }
    if (found->status != NF_WAIT)
        check_line(found->status, &err);
    return found->status == NF_WAIT;
}

static void read_all(const char *path, uint8_t how)
{
    struct nf_prefix_input *input = NULL;
    struct nf_error err = { .status = NF_OK };
    struct found whole = { .count = 0 };
    enum nf_status status = nf_prefix_input_open(
        path, how & 2 ? NF_PREFIX_RAW : NF_PREFIX_TEXT,
        how & 1 ? NF_PREFIX_I64 : NF_PREFIX_F64, &input, &err);

    if (status != NF_OK) {
        check_line(status, &err);
        return;
    }
    read_segment(input, 0, 1, &whole);
    for (uint32_t ranks = 2; ranks <= SEGMENTS_MOST; ranks++) {
        struct found parts = { .count = 0 };
        uint32_t rank = 0;

        while (rank < ranks && read_segment(input, rank, ranks, &parts))
            rank++;
        must(parts.count == whole.count && parts.sum == whole.sum &&
                 parts.status == whole.status,
             "segments give something else");
    }
    nf_prefix_input_close(input);
}

/* A name that ends with .npy, for a moment */
static void read_npy(const char *path)
{
    char link[64];

    snprintf(link, sizeof(link), "/tmp/nf_fuzz_%ld.npy", (long)getpid());
    unlink(link);
    must(symlink(path, link) == 0, "no link");
    read_all(link, 0);
    unlink(link);
}

static void put(int fd, const void *data, size_t bytes)
{
    must(write(fd, data, bytes) == (ssize_t)bytes, "memfd");
}

/* 'n', a header, a newline, numbers */
static void put_npy(int fd, const uint8_t *data, size_t bytes)
{
    const uint8_t *newline = memchr(data, '\n', bytes);
    size_t length = newline == NULL ? bytes : (size_t)(newline - data);
    const uint8_t ends[2] = { (uint8_t)length, (uint8_t)(length >> 8) };

    put(fd, "\x93NUMPY\x01", 8);
    put(fd, ends, sizeof(ends));
    put(fd, data, length);
    if (newline != NULL)
        put(fd, newline + 1, bytes - length - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char path[64];
    int fd;

    if (bytes == 0)
        return 0;
    fd = memfd_create("fuzz", MFD_CLOEXEC);
    must(fd >= 0, "memfd");
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (data[0] == 'n') {
        put_npy(fd, data + 1, bytes - 1);
        read_npy(path);
    } else if (data[0] == 0x93) {
        put(fd, data, bytes);
        read_npy(path);
    } else {
        put(fd, data + 1, bytes - 1);
        read_all(path, data[0]);
    }
    close(fd);
    return 0;
}

#ifndef NF_LIBFUZZER
#define FUZZ_TEXT_ROUNDS 10000
#include "tests/fuzz/fuzz_text.h"

#define NPY(type, shape)                                                       \
    "n{'descr': '" type "', 'fortran_order': False, 'shape': " shape ", }\n"

static const char *const texts[] = {
    "01\n-2.5\n\t3e7 \r\n0x1p3\n.5\n1e-300\n",
    "11\n-2\n +300\r\n9223372036854775807\n-9223372036854775808",
    "212345678abcdefgh",
    "3ABCDEFGHIJKLMNOPQRSTUVWX",
    NPY("<f8", "(2,)") "abcdefghABCDEFGH",
    NPY(">i8", "(3, 1)") "abcdefghABCDEFGH12345678",
};

/* Of the longest header that is taken nothing is left behind `end`. */
static void try_longest_header(const char *end)
{
    enum { LONGEST = 4096 };
    static const char begin[] = "{'fortran_order': False, 'shape': (2,), ";
    char text[1 + LONGEST + 18];

    snprintf(text, sizeof(text), "n%s%*s\n%s", begin,
             LONGEST - (int)sizeof(begin) + 1, end, "abcdefghABCDEFGH");
    LLVMFuzzerTestOneInput((const uint8_t *)text, strlen(text));
}

int main(int argc, char **argv)
{
    try_longest_header("'descr':");
    try_longest_header("'descr': ");
    try_longest_header("'descr': '");
    try_longest_header("'descr': '<f8");
    return fuzz_text_main(argc, argv, texts, sizeof(texts) / sizeof(texts[0]));
}
#endif
