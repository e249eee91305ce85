#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/prefix/npy_column.h"
#include "apps/prefix/verify.h"
#include "common/base/rng.h"
#include "tests/unit/nf_tmpdir.h"
#include "tests/unit/nf_unit.h"

/* --------------------------------------------------------------------- totals
 */

static union nf_prefix_number any(struct nf_rng *rng, enum nf_prefix_type type)
{
    union nf_prefix_number n;

    if (type == NF_PREFIX_I64)
        n.i64 = (int64_t)nf_rng_next(rng) >> nf_rng_below(rng, 64);
    else
        n.f64 = ldexp((double)(int64_t)nf_rng_next(rng),
                      (int)nf_rng_below(rng, 1000) - 500);
    return n;
}

/* What precedes + what follows, cut anywhere, in any grouping: the same words
 * as one after the other. */
static void cuts_do_not_matter(void)
{
    struct nf_rng rng = { 1 };
    int64_t whole[NF_PREFIX_WORDS], parts[5][NF_PREFIX_WORDS];

    for (int round = 0; round < 400; round++) {
        enum nf_prefix_type type = round % 2 ? NF_PREFIX_I64 : NF_PREFIX_F64;
        struct nf_prefix_totals all = { .type = type }, part[5];

        for (int p = 0; p < 5; p++) {
            uint64_t n = nf_rng_below(&rng, 4); /* none, too */

            part[p] = (struct nf_prefix_totals){ .type = type };
            for (; n > 0; n--) {
                union nf_prefix_number number = any(&rng, type);

                nf_prefix_add(&all, number);
                nf_prefix_add(&part[p], number);
            }
            nf_prefix_encode(&part[p], parts[p]);
        }
        nf_prefix_encode(&all, whole);
        for (int left = 5; left > 1; left--) {
            int at = (int)nf_rng_below(&rng, (uint64_t)left - 1);

            nf_prefix_combine(parts[at], parts[at + 1], 1, 0, &type);
            memmove(parts[at], parts[at + 1],
                    (size_t)(left - at - 1) * sizeof(parts[0]));
        }
        CU_ASSERT_EQUAL(memcmp(whole, parts[0], sizeof(whole)), 0);
    }
}

static void what_does_not_decode_stays_so(void)
{
    enum nf_prefix_type type = NF_PREFIX_F64;
    int64_t in[NF_PREFIX_WORDS] = { -5 }, inout[NF_PREFIX_WORDS] = { 0 };
    struct nf_prefix_totals totals;

    CU_ASSERT_EQUAL(nf_prefix_decode(inout, type, &totals), NF_OK);
    nf_prefix_combine(in, inout, 1, 0, &type);
    CU_ASSERT_EQUAL(nf_prefix_decode(inout, type, &totals), NF_ERR_PROTOCOL);
}

static void the_first_of_equals_is_kept(void)
{
    struct nf_prefix_totals a = { .type = NF_PREFIX_F64 }, b = a;

    nf_prefix_add(&a, (union nf_prefix_number){ .f64 = -0.0 });
    nf_prefix_add(&b, (union nf_prefix_number){ .f64 = 0.0 });
    nf_prefix_append(&a, &b);
    CU_ASSERT_TRUE(signbit(a.min.f64) && signbit(a.max.f64));
}

static void a_row_says_it_all(void)
{
    struct nf_prefix_totals t = { .type = NF_PREFIX_I64 };
    char row[NF_PREFIX_ROW_BYTES + 1] = "", head[NF_PREFIX_ROW_BYTES];
    char record[NF_PREFIX_RECORD_BYTES];
    uint64_t count;
    double mean, variance;
    char sum[50], min[30], max[30];
    double numbers[6];

    nf_prefix_add(&t, (union nf_prefix_number){ .i64 = INT64_MIN });
    nf_prefix_add(&t, (union nf_prefix_number){ .i64 = INT64_MIN });
    nf_prefix_add(&t, (union nf_prefix_number){ .i64 = 3 });
    nf_prefix_make_row(&t, NF_PREFIX_TSV, row);
    CU_ASSERT_EQUAL(row[NF_PREFIX_ROW_BYTES - 1], '\n');
    CU_ASSERT_EQUAL(sscanf(row, "%" SCNu64 " %49s %lf %lf %29s %29s", &count,
                           sum, &mean, &variance, min, max),
                    6);
    CU_ASSERT_EQUAL(count, 3);
    CU_ASSERT_STRING_EQUAL(sum, "-18446744073709551613");
    CU_ASSERT_STRING_EQUAL(min, "-9223372036854775808");
    CU_ASSERT_STRING_EQUAL(max, "3");
    CU_ASSERT_EQUAL(mean, -0x1p64 / 3);
    nf_prefix_make_row(&t, NF_PREFIX_RECORDS, record);
    memcpy(numbers, record, sizeof(numbers)); /* a little-endian machine */
    CU_ASSERT_EQUAL(numbers[0], 3);
    CU_ASSERT_EQUAL(numbers[1], -0x1p64);
    CU_ASSERT_EQUAL(numbers[2], mean);
    CU_ASSERT_EQUAL(numbers[3], variance);
    CU_ASSERT_EQUAL(numbers[4], (double)INT64_MIN);
    CU_ASSERT_EQUAL(numbers[5], 3);
    CU_ASSERT_EQUAL(nf_prefix_row_count(10, 3), 4);
    CU_ASSERT_EQUAL(nf_prefix_row_count(9, 3), 3);
    CU_ASSERT_EQUAL(nf_prefix_row_count(2, 100), 1);
    nf_prefix_print_head(head);
    CU_ASSERT_EQUAL(head[0], '#');
    CU_ASSERT_PTR_EQUAL(memchr(head, '\n', sizeof(head)),
                        head + NF_PREFIX_ROW_BYTES - 1);
}

/* ---------------------------------------------------------------------- input
 */

/* All numbers of a file, segment by segment.
 * @return how many; -1: refused, err says why */
static int read_all(const char *path, enum nf_prefix_format format,
                    enum nf_prefix_type type, uint32_t ranks,
                    union nf_prefix_number *numbers, struct nf_error *err)
{
    struct nf_prefix_input *input;
    enum nf_status status =
        nf_prefix_input_open(path, format, type, &input, err);
    int count = 0;

    if (status != NF_OK)
        return -1;
    for (uint32_t r = 0; r < ranks && status >= 0; r++) {
        nf_prefix_input_seek(input, r, ranks);
        while ((status = nf_prefix_input_next(input, &numbers[count], err)) ==
               NF_OK)
            count++;
    }
    CU_ASSERT_TRUE(nf_prefix_input_is_unchanged(input));
    nf_prefix_input_close(input);
    return status < 0 ? -1 : count;
}

static void no_cut_loses_a_line(void)
{
    static const char *const ends[] = { "\n", "\r\n", " \t\n" };
    struct nf_rng rng = { 7 };
    union nf_prefix_number numbers[64];
    char text[2000];
    struct nf_error err;

    for (int round = 0; round < 60; round++) {
        int count = 1 + (int)nf_rng_below(&rng, 40), used = 0;
        const char *path;

        for (int i = 0; i < count; i++)
            used += sprintf(text + used, "%s%d%s", i % 7 == 3 ? "  " : "",
                            i * i * (i % 2 ? 1 : -1),
                            i + 1 < count || round % 2 ? ends[round % 3] : "");
        path = nf_tmp_write("lines.txt", text);
        for (uint32_t ranks = 1; ranks < 50; ranks++) {
            CU_ASSERT_EQUAL(read_all(path, NF_PREFIX_TEXT, NF_PREFIX_I64, ranks,
                                     numbers, &err),
                            count);
            for (int i = 0; i < count; i++)
                CU_ASSERT_EQUAL(numbers[i].i64, i * i * (i % 2 ? 1 : -1));
        }
    }
}

static void lines_across_buffers_are_whole(void)
{
    const char *path = nf_tmp("long.txt");
    FILE *file = fopen(path, "w");
    enum { COUNT = 400000 }; /* of 8 and 9 characters: 3.5 buffers */
    union nf_prefix_number *numbers = calloc(COUNT + 1, sizeof(*numbers));
    struct nf_error err;

    for (int i = 0; i < COUNT; i++)
        fprintf(file, i % 3 ? "%08d\n" : "%07d\n", i);
    fclose(file);
    for (uint32_t ranks = 1; ranks < 6; ranks++) {
        int wrong = 0;

        CU_ASSERT_EQUAL(
            read_all(path, NF_PREFIX_TEXT, NF_PREFIX_F64, ranks, numbers, &err),
            COUNT);
        for (int i = 0; i < COUNT; i++)
            wrong += numbers[i].f64 != i;
        CU_ASSERT_EQUAL(wrong, 0);
    }
    free(numbers);
}

static void garbage_is_refused(void)
{
    static const char *const bad[][2] = {
        { "1\nx\n", "f" },
        { "1\n\n2\n", "f" },
        { "\n", "f" },
        { "nan\n", "f" },
        { "inf\n", "f" },
        { "1e999\n", "f" },
        { "1 2\n", "f" },
        { "0x10\n", "f" },
        { "1,5\n", "f" },
        { "1.5\n", "i" },
        { "9223372036854775808\n", "i" },
        { "-9223372036854775809\n", "i" },
        { "--1\n", "i" },
        { "+\n", "i" },
        { "1e3\n", "i" },
        { "12a", "i" },
        { "\x80\n", "f" },
        { "5\r\r6\n", "f" },
    };
    static const char *const good[][2] = {
        { "1", "f" },
        { "+1.5e3\r\n", "f" },
        { "-0\n", "f" },
        { "1e-999\n", "f" },
        { "9223372036854775807", "i" },
        { "-9223372036854775808\n", "i" },
        { "\t7 \n", "i" },
    };
    union nf_prefix_number numbers[8];
    struct nf_error err;
    char *line = calloc(1, 5000);

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CU_ASSERT_EQUAL(
            read_all(nf_tmp_write("bad.txt", bad[i][0]), NF_PREFIX_TEXT,
                     bad[i][1][0] == 'i' ? NF_PREFIX_I64 : NF_PREFIX_F64, 1,
                     numbers, &err),
            -1);
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        CU_ASSERT_EQUAL(
            read_all(nf_tmp_write("good.txt", good[i][0]), NF_PREFIX_TEXT,
                     good[i][1][0] == 'i' ? NF_PREFIX_I64 : NF_PREFIX_F64, 1,
                     numbers, &err),
            1);
    memset(line, '1', 1025);
    CU_ASSERT_EQUAL(read_all(nf_tmp_write("bad.txt", line), NF_PREFIX_TEXT,
                             NF_PREFIX_F64, 1, numbers, &err),
                    -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "longer"));
    free(line);
    CU_ASSERT_EQUAL(read_all(nf_tmp_write("bad.txt", ""), NF_PREFIX_TEXT,
                             NF_PREFIX_F64, 1, numbers, &err),
                    -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "empty"));
    CU_ASSERT_EQUAL(read_all(nf_tmp("nosuch"), NF_PREFIX_TEXT, NF_PREFIX_F64, 1,
                             numbers, &err),
                    -1);
    CU_ASSERT_EQUAL(
        read_all("/", NF_PREFIX_TEXT, NF_PREFIX_F64, 1, numbers, &err), -1);
    CU_ASSERT_EQUAL(read_all(nf_tmp_write("bad.bin", "1234567"), NF_PREFIX_RAW,
                             NF_PREFIX_F64, 1, numbers, &err),
                    -1);
}

/* Version 1.0, `dictionary` padded with nothing, then count numbers of 8 bytes.
 * @return its path */
static const char *write_npy(const char *dictionary, const void *data,
                             size_t count)
{
    const char *path = nf_tmp("column.npy");
    FILE *file = fopen(path, "wb");
    size_t length = strlen(dictionary);

    fwrite("\x93NUMPY\x01\x00", 1, 8, file);
    fputc((int)(length & 0xff), file);
    fputc((int)(length >> 8), file);
    fputs(dictionary, file);
    fwrite(data, 8, count, file);
    fclose(file);
    return path;
}

static void npy_columns_are_read(void)
{
    static const char big[] = "\x40\x09\x21\xfb\x54\x44\x2d\x18"
                              "\xbf\xf0\0\0\0\0\0\0";
    const double f64[3] = { 1.5, -2, 1e300 };
    const int64_t i64[3] = { INT64_MIN, 7, INT64_MAX };
    const double nan[2] = { 1, (double)NAN };
    union nf_prefix_number numbers[8];
    struct nf_error err;
    const char *path;

    path = write_npy(
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }\n", f64, 3);
    for (uint32_t ranks = 1; ranks < 6; ranks++) {
        CU_ASSERT_EQUAL(
            read_all(path, NF_PREFIX_TEXT, NF_PREFIX_I64, ranks, numbers, &err),
            3);
        CU_ASSERT_EQUAL(numbers[2].f64, 1e300);
    }
    path = write_npy("{'fortran_order': True, 'shape':(3, 1), 'descr': '<i8'}",
                     i64, 3);
    CU_ASSERT_EQUAL(
        read_all(path, NF_PREFIX_TEXT, NF_PREFIX_F64, 2, numbers, &err), 3);
    CU_ASSERT_EQUAL(numbers[0].i64, INT64_MIN);
    path = write_npy("{'descr': '>f8', 'fortran_order': False, 'shape': (2,)}",
                     big, 2);
    CU_ASSERT_EQUAL(
        read_all(path, NF_PREFIX_TEXT, NF_PREFIX_F64, 1, numbers, &err), 2);
    CU_ASSERT_EQUAL(numbers[0].f64, 3.14159265358979311600);
    CU_ASSERT_EQUAL(numbers[1].f64, -1);
    path = write_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}",
                     nan, 2);
    CU_ASSERT_EQUAL(
        read_all(path, NF_PREFIX_TEXT, NF_PREFIX_F64, 1, numbers, &err), -1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "NaN"));
}

static void lying_headers_are_refused(void)
{
#define DICTIONARY(descr, shape)                                               \
    "{'descr': " descr ", 'fortran_order': False, 'shape': " shape "}"
    static const char *const lies[] = {
        DICTIONARY("'<f8'", "(4,)"), /* there are 3 */
        DICTIONARY("'<f8'", "(2,)"),
        DICTIONARY("'<f8'", "(0,)"),
        DICTIONARY("'<f8'", "(1152921504606846976,)"),
        DICTIONARY("'<f8'", "(2305843009213693955,)"), /* 3 modulo 2^61 */
        DICTIONARY("'<f8'", "(99999999999999999999999,)"),
        DICTIONARY("'<f8'", "(-3,)"),
        DICTIONARY("'<f8'", "(3, 2)"),
        DICTIONARY("'<f8'", "(3"),
        DICTIONARY("'<f8'", "()"),
        DICTIONARY("'<f4'", "(3,)"),
        DICTIONARY("'|O'", "(3,)"),
        DICTIONARY("<f8", "(3,)"),
        "{'descr': '<f8', 'shape': (3,)}",
        "{}",
        "",
    };
    const double data[3] = { 1, 2, 3 };
    union nf_prefix_number numbers[8];
    struct nf_error err;

    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
        CU_ASSERT_EQUAL(read_all(write_npy(lies[i], data, 3), NF_PREFIX_TEXT,
                                 NF_PREFIX_F64, 1, numbers, &err),
                        -1);
    CU_ASSERT_EQUAL(read_all(nf_tmp_write("short.npy", "\x93NUMPY\x01"),
                             NF_PREFIX_TEXT, NF_PREFIX_F64, 1, numbers, &err),
                    -1);
    CU_ASSERT_EQUAL(read_all(nf_tmp_write("short.npy",
                                          "\x93NUMPY\x02\x01\xff\xff\xff\xff{"),
                             NF_PREFIX_TEXT, NF_PREFIX_F64, 1, numbers, &err),
                    -1);
}

static void own_headers_are_read_back(void)
{
    struct nf_prefix_file file;
    char head[NF_NPY_ROWS_BYTES];
    struct nf_error err;

    nf_npy_rows_print(UINT64_MAX, 6, head);
    CU_ASSERT_EQUAL(head[NF_NPY_ROWS_BYTES - 1], '\n');
    nf_npy_rows_print(12345, 1, head);
    CU_ASSERT_EQUAL(nf_npy_column_parse(head, sizeof(head), &file, &err),
                    NF_OK);
    CU_ASSERT_EQUAL(file.data_offset, NF_NPY_ROWS_BYTES);
    CU_ASSERT_EQUAL(file.data_bytes, 12345 * 8);
}

/* ---------------------------------------------------------------------- group
 */

static void *follow(void *user)
{
    struct nf_error err = { NF_OK, "" };
    enum nf_status status = nf_prefix_follow(user, &err);

    nf_group_close(user);
    return (void *)(intptr_t)status;
}

static enum nf_status put(void *user, uint64_t first, const char *rows,
                          size_t bytes, struct nf_error *err)
{
    return nf_output_write_at(
        user, nf_prefix_head_bytes(NF_PREFIX_TSV) + first * NF_PREFIX_ROW_BYTES,
        rows, bytes, err);
}

static enum nf_status full(void *user, uint64_t first, const char *rows,
                           size_t bytes, struct nf_error *err)
{
    (void)user, (void)first, (void)rows, (void)bytes;
    snprintf(err->text, sizeof(err->text), "no space");
    return NF_ERR_IO;
}

/* The whole command but for spawning. */
static enum nf_status by_threads(struct nf_prefix_job *job, uint32_t ranks,
                                 struct nf_prefix_sink *sink,
                                 struct nf_prefix_totals *total,
                                 struct nf_error *err)
{
    struct nf_prefix_input *input;
    struct nf_group *groups[16];
    pthread_t threads[16];
    char hosts[16][64];
    enum nf_status status;
    void *theirs;

    for (uint32_t i = 0; i < ranks; i++)
        snprintf(hosts[i], sizeof(hosts[i]), "ws%u", i);
    sink->hosts = hosts;
    CU_ASSERT_EQUAL(
        nf_prefix_input_open(job->path, job->format, job->type, &input, err),
        NF_OK);
    CU_ASSERT_EQUAL(nf_group_open_threads(ranks, NULL, groups, err), NF_OK);
    for (uint32_t i = 1; i < ranks; i++)
        pthread_create(&threads[i], NULL, follow, groups[i]);
    status = nf_prefix_lead(groups[0], job, input, sink, total, err);
    for (uint32_t i = 1; i < ranks; i++) {
        pthread_join(threads[i], &theirs);
        CU_ASSERT_EQUAL((intptr_t)theirs, NF_OK);
    }
    nf_group_close(groups[0]);
    nf_prefix_input_close(input);
    return status;
}

static void write_numbers(struct nf_prefix_job *job, int count, int bad)
{
    FILE *file;

    *job = (struct nf_prefix_job){ .rows = NF_PREFIX_TSV, .every = 1 };
    snprintf(job->path, sizeof(job->path), "%s", nf_tmp("numbers.txt"));
    file = fopen(job->path, "w");
    for (int i = 1; i <= count; i++)
        fprintf(file, i == bad ? "%d!\n" : "%d.25\n", i * 37 % 1009);
    fclose(file);
}

static void ranks_do_not_matter(void)
{
    static const uint64_t every[] = { 1, 7, 5000, 100000 };
    struct nf_prefix_job job;
    struct nf_prefix_sink sink = { .put = put };
    struct nf_prefix_totals total;
    struct nf_output *output;
    struct nf_error err;
    char note[128];

    write_numbers(&job, 9001, 0);
    for (int e = 0; e < 4; e++)
        for (uint32_t ranks = 1; ranks <= 8; ranks++) {
            struct nf_prefix_input *input;

            job.every = every[e];
            CU_ASSERT_EQUAL(nf_output_open(nf_tmp("rows.txt"), &output, &err),
                            NF_OK);
            sink.user = output;
            CU_ASSERT_EQUAL(by_threads(&job, ranks, &sink, &total, &err),
                            NF_OK);
            CU_ASSERT_EQUAL(total.moments.count, 9001);
            nf_prefix_input_open(job.path, job.format, job.type, &input, &err);
            CU_ASSERT_EQUAL(nf_prefix_verify(&job, input, &total, output, note,
                                             sizeof(note), &err),
                            NF_OK);
            /* and it can say no */
            nf_output_write_at(output,
                               nf_prefix_head_bytes(NF_PREFIX_TSV) + 160, "9",
                               1, &err);
            CU_ASSERT_EQUAL(nf_prefix_verify(&job, input, &total, output, note,
                                             sizeof(note), &err),
                            NF_ERR_VERIFY);
            total.moments.count--;
            CU_ASSERT_EQUAL(nf_prefix_verify(&job, input, &total, NULL, note,
                                             sizeof(note), &err),
                            NF_ERR_VERIFY);
            nf_prefix_input_close(input);
            nf_output_abort(output);
        }
}

static void garbage_is_found_wherever_it_is(void)
{
    static const int bad[] = { 1, 2, 1500, 2999, 3000 };
    struct nf_prefix_job job;
    struct nf_prefix_sink sink = { .put = put };
    struct nf_prefix_totals total;
    struct nf_error err;
    char want[64];

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        write_numbers(&job, 3000, bad[i]);
        job.rows = NF_PREFIX_NO_ROWS;
        snprintf(want, sizeof(want), "numbers.txt, line %d: \"", bad[i]);
        for (uint32_t ranks = 1; ranks <= 8; ranks++) {
            CU_ASSERT_EQUAL(by_threads(&job, ranks, &sink, &total, &err),
                            NF_ERR_INVAL);
            CU_ASSERT_PTR_NOT_NULL(strstr(err.text, want));
        }
    }
}

enum trouble { GROWN, OTHER, GONE, NTROUBLES };

/* Rank 0 has its file open; what the others find under its name is not that. */
static void another_file_elsewhere_is_refused(void)
{
    static const char *const why[NTROUBLES] = { "bytes, on rank 0 it has",
                                                "is another file",
                                                "No such file" };
    char hosts[2][64] = { "ws0", "ws1" };
    struct nf_prefix_sink sink = { .put = put, .hosts = hosts };
    struct nf_prefix_totals total;
    struct nf_error err;

    for (int trouble = 0; trouble < NTROUBLES; trouble++) {
        struct nf_prefix_job job = { .every = 1 };
        struct nf_prefix_input *input;
        struct nf_group *groups[2];
        pthread_t thread;

        snprintf(job.path, sizeof(job.path), "%s",
                 nf_tmp_write("here.txt", "1\n2\n"));
        CU_ASSERT_EQUAL(
            nf_prefix_input_open(job.path, job.format, job.type, &input, &err),
            NF_OK);
        unlink(job.path);
        if (trouble != GONE)
            nf_tmp_write("here.txt", trouble == GROWN ? "1\n2\n3\n" : "1\n3\n");
        CU_ASSERT_EQUAL(nf_group_open_threads(2, NULL, groups, &err), NF_OK);
        pthread_create(&thread, NULL, follow, groups[1]);
        CU_ASSERT_EQUAL(
            nf_prefix_lead(groups[0], &job, input, &sink, &total, &err),
            NF_ERR_INVAL);
        pthread_join(thread, NULL);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "rank 1 on ws1: "));
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, why[trouble]));
        nf_group_close(groups[0]);
        nf_prefix_input_close(input);
    }
}

static void a_full_disk_ends_it_everywhere(void)
{
    struct nf_prefix_job job;
    struct nf_prefix_sink sink = { .put = full };
    struct nf_prefix_totals total;
    struct nf_error err;

    write_numbers(&job, 30000, 0);
    CU_ASSERT_EQUAL(by_threads(&job, 4, &sink, &total, &err), NF_ERR_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "no space"));
}

int main(void)
{
    CU_TestInfo totals[] = {
        { "cuts do not matter", cuts_do_not_matter },
        { "what does not decode stays so", what_does_not_decode_stays_so },
        { "the first of equals is kept", the_first_of_equals_is_kept },
        { "a row says it all", a_row_says_it_all },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo input[] = {
        { "no cut loses a line", no_cut_loses_a_line },
        { "lines across buffers are whole", lines_across_buffers_are_whole },
        { "garbage is refused", garbage_is_refused },
        { "npy columns are read", npy_columns_are_read },
        { "lying headers are refused", lying_headers_are_refused },
        { "own headers are read back", own_headers_are_read_back },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo group[] = {
        { "the number of ranks does not matter", ranks_do_not_matter },
        { "garbage is found wherever it is", garbage_is_found_wherever_it_is },
        { "another file elsewhere is refused, with the host",
          another_file_elsewhere_is_refused },
        { "a full disk ends it everywhere", a_full_disk_ends_it_everywhere },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "totals", NULL, NULL, NULL, NULL, totals },
        { "input", nf_tmpdir_make, nf_tmpdir_remove, NULL, NULL, input },
        { "group", nf_tmpdir_make, nf_tmpdir_remove, NULL, NULL, group },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
