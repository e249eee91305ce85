/* The matrix product, driven without any transport: open, split, share,
 * compute, collect, verify, save. */
#include "config.h"
#include "apps/app.h"
#include <cblas.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "apps/matmul/matmul.h"
#include "common/base/alloc.h"
#include "common/base/blob.h"
#include "tests/unit/nf_unit.h"

static const struct nf_app_kind *const kind = &nf_app_matmul;
static char start[4096];
static char scratch[] = "test-matmul-XXXXXX";

static int enter_scratch(void)
{
    strcpy(scratch, "test-matmul-XXXXXX"); /* once a suite */
    return getcwd(start, sizeof(start)) == NULL || mkdtemp(scratch) == NULL ||
           chdir(scratch) != 0;
}

static int leave_scratch(void)
{
    return chdir(start) != 0 || rmdir(scratch) != 0;
}

/* A job as the command line builds it. */
struct job {
    void *state;
    struct nf_app app;
    struct nf_error err;
    char note[400];
};

/* Options as "n=4 seed=2"; `out` may be NULL. */
static enum nf_status open_job(struct job *job, const char *options,
                               const char *out)
{
    const struct nf_app_request request = { .out = out, .verify = true };
    char text[256], *rest = NULL;
    enum nf_status status;

    memset(job, 0, sizeof(*job));
    snprintf(text, sizeof(text), "%s", options);
    status = kind->create(&job->state, &job->err);
    for (char *option = strtok_r(text, " ", &rest);
         option != NULL && status == NF_OK;
         option = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(option, '=');

        *value++ = '\0';
        status = kind->set(job->state, option, value, &job->err);
    }
    if (status == NF_OK)
        status = kind->open(job->state, &request, &job->app, &job->err);
    return status;
}

static enum nf_status verify_job(struct job *job)
{
    return kind->verify(job->state, job->note, sizeof(job->note), &job->err);
}

/* Compute and collect units [first, first + count) as one chunk. */
static void run_chunk(struct job *job, const struct nf_buf *shared,
                      uint64_t first, uint64_t count)
{
    const struct nf_app *app = &job->app;
    struct nf_buf input, result;
    struct nf_work work = { .first = first, .count = count };
    char error[200] = "";
    size_t unit_bytes;

    nf_buf_init(&input);
    nf_buf_init(&result);
    for (uint64_t u = first; u < first + count; u++)
        CU_ASSERT_EQUAL(app->split(app->user, u, &input), NF_OK);
    CU_ASSERT_EQUAL(input.capacity, 0); /* neighbours are borrowed as one */
    work.input = input.data;
    work.input_bytes = input.bytes;
    work.shared = shared->data;
    work.shared_bytes = shared->bytes;
    work.result = &result;
    work.error = error;
    work.error_bytes = sizeof(error);
    CU_ASSERT_EQUAL(app->compute(&work), 0);
    CU_ASSERT_EQUAL(result.bytes % count, 0);
    unit_bytes = result.bytes / count;
    for (uint64_t u = 0; u < count; u++)
        CU_ASSERT_EQUAL(app->collect(app->user, first + u,
                                     result.data + u * unit_bytes, unit_bytes),
                        NF_OK);
    nf_buf_fini(&input);
    nf_buf_fini(&result);
}

/* Run all units in chunks of chunk, chunk + step, chunk + 2 step ... */
static void run_job(struct job *job, uint64_t chunk, uint64_t step)
{
    struct nf_buf shared;
    uint64_t first = 0;

    nf_buf_init(&shared);
    CU_ASSERT_EQUAL(job->app.share(job->app.user, &shared), NF_OK);
    CU_ASSERT_EQUAL(shared.capacity, 0); /* A is not copied */
    while (first < job->app.units) {
        uint64_t left = job->app.units - first;
        uint64_t count = chunk < left ? chunk : left;

        run_chunk(job, &shared, first, count);
        first += count;
        chunk += step;
    }
    nf_buf_fini(&shared);
}

/* C, as the job hands it out: through the file it saves. */
static void save_and_read(struct job *job, const char *path,
                          struct nf_matrix *matrix_p)
{
    struct nf_matrix_file *file = NULL;

    CU_ASSERT_EQUAL(kind->save(job->state, &job->err), NF_OK);
    CU_ASSERT_EQUAL(
        nf_matrix_file_open(path, nf_memory_bytes(), &file, &job->err), NF_OK);
    if (file != NULL)
        CU_ASSERT_EQUAL(nf_matrix_file_read(file, matrix_p, &job->err), NF_OK);
    nf_matrix_file_close(file);
    unlink(path);
}

static void write_random(const char *path, uint64_t rows, uint64_t cols)
{
    struct nf_matrix matrix = { 0 };

    CU_ASSERT_EQUAL(nf_matrix_create(rows, cols, &matrix, NULL), NF_OK);
    nf_matrix_fill_random(&matrix, rows, 3);
    CU_ASSERT_EQUAL(nf_matrix_write(&matrix, path, NULL), NF_OK);
    nf_matrix_fini(&matrix);
}

static void put(const char *path, const char *text)
{
    FILE *stream = fopen(path, "w");

    fputs(text, stream);
    fclose(stream);
}

/* --- right results ---------------------------------------------------------
 */

static void test_known_product(void)
{
    static const double want[] = { 58, 139, 64, 154 };
    struct nf_matrix c = { 0 };
    struct job job;

    put("a.mtx", "%%MatrixMarket matrix array integer general\n"
                 "2 3\n1\n4\n2\n5\n3\n6\n");
    put("b.mtx", "%%MatrixMarket matrix coordinate real general\n3 2 6\n"
                 "1 1 7\n1 2 8\n2 1 9\n2 2 10\n3 1 11\n3 2 12\n");
    CU_ASSERT_EQUAL(open_job(&job, "a=a.mtx b=b.mtx", "c.npy"), NF_OK);
    CU_ASSERT_EQUAL(job.app.units, 2);
    run_job(&job, 1, 0);
    CU_ASSERT_EQUAL(verify_job(&job), NF_OK);
    save_and_read(&job, "c.npy", &c);
    CU_ASSERT_EQUAL(c.rows, 2);
    CU_ASSERT_EQUAL(c.cols, 2);
    if (c.data != NULL)
        CU_ASSERT_EQUAL(memcmp(c.data, want, sizeof(want)), 0);
    nf_matrix_fini(&c);
    kind->destroy(job.state);
    unlink("a.mtx");
    unlink("b.mtx");
}

static void test_ragged_chunks(void)
{
    static const uint64_t chunks[][2] = { { 1, 0 },   { 2, 0 },  { 7, 0 },
                                          { 1, 1 },   { 64, 0 }, { 65, 0 },
                                          { 1000, 0 } };

    for (size_t t = 0; t < sizeof(chunks) / sizeof(chunks[0]); t++) {
        struct job job;

        CU_ASSERT_EQUAL(open_job(&job, "n=65 seed=5", NULL), NF_OK);
        CU_ASSERT_EQUAL(job.app.units, 65);
        run_job(&job, chunks[t][0], chunks[t][1]);
        CU_ASSERT_EQUAL(verify_job(&job), NF_OK);
        CU_ASSERT_PTR_NOT_NULL(strstr(job.note, "C (65 x 65) agrees"));
        CU_ASSERT_EQUAL(kind->save(job.state, &job.err), NF_OK); /* no --out */
        kind->destroy(job.state);
    }
}

static void test_shapes(void)
{
    static const uint64_t shapes[][3] = { { 1, 1, 1 },    { 1, 9, 1 },
                                          { 9, 1, 9 },    { 1, 1, 40 },
                                          { 40, 1, 1 },   { 3, 100, 5 },
                                          { 100, 3, 50 }, { 5, 50, 100 } };

    for (size_t t = 0; t < sizeof(shapes) / sizeof(shapes[0]); t++) {
        struct job job;

        write_random("a.npy", shapes[t][0], shapes[t][1]);
        write_random("b.mtx", shapes[t][1], shapes[t][2]);
        CU_ASSERT_EQUAL(open_job(&job, "a=a.npy b=b.mtx", NULL), NF_OK);
        CU_ASSERT_EQUAL(job.app.units, shapes[t][2]);
        run_job(&job, 3, 0);
        CU_ASSERT_EQUAL(verify_job(&job), NF_OK);
        kind->destroy(job.state);
    }
    unlink("a.npy");
    unlink("b.mtx");
}

static void test_seeds(void)
{
    static const char *const options[] = { "n=5", "n=5 seed=1", "n=5 seed=2" };
    struct nf_matrix c[3] = { { 0 }, { 0 }, { 0 } };

    for (int t = 0; t < 3; t++) {
        struct job job;

        CU_ASSERT_EQUAL(open_job(&job, options[t], "c.mtx"), NF_OK);
        run_job(&job, 2, 0);
        save_and_read(&job, "c.mtx", &c[t]);
        kind->destroy(job.state);
    }
    if (c[0].data != NULL && c[1].data != NULL && c[2].data != NULL) {
        CU_ASSERT_EQUAL(memcmp(c[0].data, c[1].data, 200), 0);
        CU_ASSERT_NOT_EQUAL(memcmp(c[0].data, c[2].data, 200), 0);
    }
    for (int t = 0; t < 3; t++)
        nf_matrix_fini(&c[t]);
}

struct slot {
    struct nf_work work;
    struct nf_buf input, result;
    pthread_t thread;
    int code;
};

static void *compute_in_thread(void *arg)
{
    struct slot *slot = arg;

    slot->code = nf_matmul_compute(&slot->work);
    return NULL;
}

/* Slots are threads: the kernel runs in several, with one BLAS thread each. */
static void test_slots(void)
{
    struct slot slots[3] = { 0 };
    struct nf_buf shared;
    struct job job;

    CU_ASSERT_EQUAL(open_job(&job, "n=150", NULL), NF_OK);
    nf_buf_init(&shared);
    CU_ASSERT_EQUAL(job.app.share(job.app.user, &shared), NF_OK);
    for (uint64_t t = 0; t < 3; t++) {
        for (uint64_t u = 50 * t; u < 50 * t + 50; u++)
            CU_ASSERT_EQUAL(job.app.split(job.app.user, u, &slots[t].input),
                            NF_OK);
        slots[t].work = (struct nf_work){
            .first = 50 * t,
            .count = 50,
            .input = slots[t].input.data,
            .input_bytes = slots[t].input.bytes,
            .shared = shared.data,
            .shared_bytes = shared.bytes,
            .result = &slots[t].result,
        };
        pthread_create(&slots[t].thread, NULL, compute_in_thread, &slots[t]);
    }
    for (uint64_t t = 0; t < 3; t++) {
        pthread_join(slots[t].thread, NULL);
        CU_ASSERT_EQUAL(slots[t].code, 0);
        for (uint64_t u = 0; u < 50; u++)
            CU_ASSERT_EQUAL(job.app.collect(job.app.user, 50 * t + u,
                                            slots[t].result.data + u * 1200,
                                            1200),
                            NF_OK);
        nf_buf_fini(&slots[t].input);
        nf_buf_fini(&slots[t].result);
    }
    CU_ASSERT_EQUAL(openblas_get_num_threads(), 1);
    CU_ASSERT_EQUAL(verify_job(&job), NF_OK);
    CU_ASSERT_EQUAL(openblas_get_num_threads(), 1);
    nf_buf_fini(&shared);
    kind->destroy(job.state);
}

/* --- wrong results ---------------------------------------------------------
 */

static void test_missing_column(void)
{
    struct nf_buf shared;
    struct job job;

    CU_ASSERT_EQUAL(open_job(&job, "n=12", NULL), NF_OK);
    nf_buf_init(&shared);
    CU_ASSERT_EQUAL(job.app.share(job.app.user, &shared), NF_OK);
    run_chunk(&job, &shared, 0, 7);
    run_chunk(&job, &shared, 8, 4);
    CU_ASSERT_EQUAL(verify_job(&job), NF_ERR_VERIFY);
    CU_ASSERT_PTR_NOT_NULL(strstr(job.err.text, "C(1, 8) is "));
    run_chunk(&job, &shared, 7, 1);
    CU_ASSERT_EQUAL(verify_job(&job), NF_OK);
    nf_buf_fini(&shared);
    kind->destroy(job.state);
}

/* Memory that nobody wrote would look right here. */
static void test_missing_column_of_zeros(void)
{
    struct nf_buf shared;
    struct job job;

    put("zero.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 0\n");
    CU_ASSERT_EQUAL(open_job(&job, "a=zero.mtx b=zero.mtx", NULL), NF_OK);
    nf_buf_init(&shared);
    CU_ASSERT_EQUAL(job.app.share(job.app.user, &shared), NF_OK);
    run_chunk(&job, &shared, 0, 1);
    CU_ASSERT_EQUAL(verify_job(&job), NF_ERR_VERIFY);
    run_chunk(&job, &shared, 1, 1);
    CU_ASSERT_EQUAL(verify_job(&job), NF_OK);
    nf_buf_fini(&shared);
    kind->destroy(job.state);
    unlink("zero.mtx");
}

static void test_collect_checks(void)
{
    double column[6] = { 0 };
    struct nf_buf input;
    struct job job;

    CU_ASSERT_EQUAL(open_job(&job, "n=5", NULL), NF_OK);
    CU_ASSERT_EQUAL(job.app.collect(job.app.user, 5, column, 40),
                    NF_ERR_PROTOCOL);
    CU_ASSERT_EQUAL(job.app.collect(job.app.user, 0, column, 48),
                    NF_ERR_PROTOCOL);
    CU_ASSERT_EQUAL(job.app.collect(job.app.user, 0, column, 32),
                    NF_ERR_PROTOCOL);
    CU_ASSERT_EQUAL(job.app.collect(job.app.user, 0, column, 0),
                    NF_ERR_PROTOCOL);
    CU_ASSERT_EQUAL(job.app.collect(job.app.user, 4, column, 40), NF_OK);
    nf_buf_init(&input);
    CU_ASSERT_EQUAL(job.app.split(job.app.user, 5, &input), NF_ERR_RANGE);
    nf_buf_fini(&input);
    kind->destroy(job.state);
}

/* --- the kernel refuses -----------------------------------------------------
 */

static void test_kernel_errors(void)
{
    static double data[24];
    static const struct {
        const char *reason;
        size_t shared_bytes, input_bytes;
        uint64_t count;
        size_t shared_skip;
    } table[] = {
        { "sizes", 0, 8, 1, 0 },          { "sizes", 8, 0, 1, 0 },
        { "sizes", 8, 8, 0, 0 },          { "sizes", 0, 0, 0, 0 },
        { "sizes", 12, 8, 1, 0 },         { "sizes", 8, 12, 1, 0 },
        { "sizes", 48, 40, 1, 0 },        { "sizes", 48, 48, 5, 0 },
        { "sizes", 48, 32, 1, 0 },        { "sizes", 8, 8, 2, 0 },
        { "sizes", 8, 8, 1ULL << 40, 0 }, { "sizes", 8, 8, UINT64_MAX, 0 },
        { "not aligned", 8, 8, 1, 4 },
    };

    for (size_t t = 0; t < sizeof(table) / sizeof(table[0]); t++) {
        char error[120] = "";
        struct nf_buf result;
        struct nf_work work = {
            .count = table[t].count,
            .input = data,
            .input_bytes = table[t].input_bytes,
            .shared = (const char *)data + table[t].shared_skip,
            .shared_bytes = table[t].shared_bytes,
            .result = &result,
            .error = error,
            .error_bytes = sizeof(error),
        };

        nf_buf_init(&result);
        CU_ASSERT_NOT_EQUAL(kind->kernel->compute(&work), 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(error, table[t].reason));
        CU_ASSERT_EQUAL(result.bytes, 0);
        work.error = NULL; /* nowhere to put a reason */
        CU_ASSERT_NOT_EQUAL(kind->kernel->compute(&work), 0);
        nf_buf_fini(&result);
    }
}

static void test_kernel_without_memory(void)
{
    static const double one[1] = { 1 };
    char error[120] = "";
    struct nf_buf result;
    struct nf_work work = {
        .count = 1,
        .input = one,
        .input_bytes = 8,
        .shared = one,
        .shared_bytes = 8,
        .result = &result,
        .error = error,
        .error_bytes = sizeof(error),
    };

    nf_buf_init(&result);
    nf_alloc_fail_after(0);
    CU_ASSERT_NOT_EQUAL(kind->kernel->compute(&work), 0);
    nf_alloc_fail_after(-1);
    CU_ASSERT_PTR_NOT_NULL(strstr(error, "out of memory"));
    CU_ASSERT_EQUAL(kind->kernel->compute(&work), 0);
    CU_ASSERT_EQUAL(result.bytes, 8);
    nf_buf_fini(&result);
}

static void test_kernel_kind(void)
{
    CU_ASSERT_STRING_EQUAL(kind->name, "matmul");
    CU_ASSERT_STRING_EQUAL(kind->kernel->name, "matmul");
    CU_ASSERT_EQUAL(kind->kernel->shared_type, NF_FLOAT64);
    CU_ASSERT_EQUAL(kind->kernel->input_type, NF_FLOAT64);
    CU_ASSERT_EQUAL(kind->kernel->result_type, NF_FLOAT64);
    CU_ASSERT(kind->kernel->batch_units > 1000000);
    kind->destroy(NULL);
}

/* --- bad input --------------------------------------------------------------
 */

struct refusal {
    const char *options, *out, *want;
};

static const struct refusal refusals[] = {
    { "n=abc", NULL, "--n abc: not a number (want 1 to 2147483647)" },
    { "n=", NULL, "--n : not a number" },
    { "n=4x", NULL, "--n 4x: not a number" },
    { "n=4.0", NULL, "--n 4.0: not a number" },
    { "n=0", NULL, "--n 0: out of range (want 1 to 2147483647)" },
    { "n=-1", NULL, "--n -1: out of range" },
    { "n=2147483648", NULL, "--n 2147483648: out of range" },
    { "n=99999999999999999999999", NULL, "out of range" },
    { "n=2147483647", NULL, "need 96.0 EiB, this machine has" },
    { "n=4 seed=-1", NULL, "--seed -1: out of range" },
    { "n=4 seed=x", NULL, "--seed x: not a number" },
    { "a=good.mtx", NULL, "matmul: --a needs --b" },
    { "b=good.mtx", NULL, "matmul: --b needs --a" },
    { "n=4 a=good.mtx b=good.mtx", NULL, "matmul: --n does not go with --a" },
    { "n=4 b=good.mtx", NULL, "matmul: --n does not go with --b" },
    { "a=good.mtx b=good.mtx seed=1", NULL, "matmul: --seed goes with --n" },
    { "a= b=good.mtx", NULL, "--a: empty (want a file name)" },
    { "a=good.mtx b=none.mtx", NULL, "none.mtx: cannot open: No such file" },
    { "a=none.npy b=good.mtx", NULL, "none.npy: cannot open: No such file" },
    { "a=good.mtx b=directory", NULL, "directory: is a directory" },
    { "a=fifo.npy b=good.mtx", NULL, "fifo.npy: is not a regular file" },
    { "a=good.mtx b=good.txt", NULL, "good.txt: unknown kind of file" },
    { "a=good.mtx b=wide.mtx", NULL,
      "good.mtx (2 x 1) times wide.mtx (3 x 4): shapes do not match" },
    { "a=good.mtx b=nan.mtx", NULL, "nan.mtx:3: 'nan': want a finite" },
    { "n=4", "none/c.npy", "--out: none/c.npy: there is no directory 'none'" },
    { "n=4", "directory", "--out: directory: is a directory" },
    { "n=4", "c.txt", "--out: c.txt: unknown kind of file" },
    { "n=4", "", "--out: empty" },
    { "m=4", NULL, "matmul has no option --m" },
};

static void test_refusals(void)
{
    put("good.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n2\n");
    put("good.txt", "%%MatrixMarket matrix array real general\n2 1\n1\n2\n");
    put("nan.mtx", "%%MatrixMarket matrix array real general\n1 1\nnan\n");
    put("wide.mtx", "%%MatrixMarket matrix coordinate real general\n3 4 0\n");
    mkdir("directory", 0777);
    mkfifo("fifo.npy", 0666);
    for (size_t t = 0; t < sizeof(refusals) / sizeof(refusals[0]); t++) {
        enum nf_status status;
        struct job job;

        status = open_job(&job, refusals[t].options, refusals[t].out);
        if (nf_exit_status(status) != 2 || job.err.status != status ||
            strstr(job.err.text, refusals[t].want) == NULL ||
            strchr(job.err.text, '\n') != NULL) {
            printf("'%s': status %d '%s'\n", refusals[t].options, status,
                   job.err.text);
            CU_FAIL("not refused as it should be");
        }
        kind->destroy(job.state);
    }
    CU_ASSERT_EQUAL(access("c.txt", F_OK), -1);
    unlink("good.mtx");
    unlink("good.txt");
    unlink("nan.mtx");
    unlink("wide.mtx");
    unlink("fifo.npy");
    rmdir("directory");
}

static void test_out_of_memory(void)
{
    static const char *const options[] = { "n=3", "a=a.npy b=b.mtx" };

    write_random("a.npy", 3, 4);
    write_random("b.mtx", 4, 2);
    for (int t = 0; t < 2; t++) {
        enum nf_status status = NF_ERR_NOMEM;
        long allowed = 0;

        for (; status == NF_ERR_NOMEM && allowed < 100; allowed++) {
            struct job job;

            nf_alloc_fail_after(allowed);
            status = open_job(&job, options[t], "c.npy");
            if (status == NF_OK) {
                nf_alloc_fail_after(-1);
                run_job(&job, 1, 0);
                nf_alloc_fail_after(0);
                CU_ASSERT_EQUAL(verify_job(&job), NF_ERR_NOMEM);
                CU_ASSERT_EQUAL(kind->save(job.state, &job.err), NF_ERR_NOMEM);
                CU_ASSERT_EQUAL(access("c.npy", F_OK), -1);
            }
            nf_alloc_fail_after(-1);
            kind->destroy(job.state);
        }
        CU_ASSERT_EQUAL(status, NF_OK);
        CU_ASSERT(allowed > 4);
    }
    unlink("a.npy");
    unlink("b.mtx");
}

int main(void)
{
    CU_TestInfo right[] = {
        { "a small product is what one computes by hand", test_known_product },
        { "chunks of any size give the same product", test_ragged_chunks },
        { "matrices of any shapes that match can be multiplied", test_shapes },
        { "the seed decides the matrices", test_seeds },
        { "slots compute in threads, with one BLAS thread each", test_slots },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo wrong[] = {
        { "a column that never came is found", test_missing_column },
        { "a column of zeros that never came is found",
          test_missing_column_of_zeros },
        { "results of wrong size or number are refused", test_collect_checks },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo kernel[] = {
        { "the kernel refuses sizes that fit no product", test_kernel_errors },
        { "the kernel reports that memory is out", test_kernel_without_memory },
        { "the kernel takes many columns of float64", test_kernel_kind },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo input[] = {
        { "bad options, files and outputs are refused in one line",
          test_refusals },
        { "running out of memory anywhere leaks nothing", test_out_of_memory },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "right results", enter_scratch, leave_scratch, NULL, NULL, right },
        { "wrong results", enter_scratch, leave_scratch, NULL, NULL, wrong },
        { "kernel", NULL, NULL, NULL, NULL, kernel },
        { "input", enter_scratch, leave_scratch, NULL, NULL, input },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
