/* Feeds bytes to the readers of matrix files.  With libFuzzer:
 *
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined -I. -Iinclude -Ibuild \
 *       tests/fuzz/fuzz_matrix.c apps/matmul/{decimal,matrix,mtx,npy}.c \
 *       apps/output.c common/base/{alloc,error}.c -lm -o fuzz_matrix
 *   ./fuzz_matrix -max_len=4096 CORPUS tests/golden/matrices
 *
 * The unit test test_matrix_fuzz calls it with mutated good files. */
#include "config.h"
#include "tests/fuzz/fuzz_matrix.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "apps/matmul/matrix.h"

#define MEMORY (1ULL << 20)

unsigned long nf_fuzz_read_well;

static void require(int condition)
{
    if (!condition)
        abort();
}

/* What a reader returns must be usable: all entries finite, sizes legal. */
static void check_matrix(const struct nf_matrix *matrix)
{
    double entries = (double)matrix->rows * (double)matrix->cols;

    require(entries >= 1 && entries * 8 <= (double)MEMORY);
    for (uint64_t k = 0; k < matrix->rows * matrix->cols; k++)
        require(isfinite(matrix->data[k]));
}

/* An error must be the user's (exit status 2) or memory, in one line. */
static void check_error(enum nf_status status, const struct nf_error *err)
{
    size_t length = strlen(err->text);

    require(status == err->status);
    require(status == NF_ERR_INVAL || status == NF_ERR_RANGE ||
            status == NF_ERR_NOMEM);
    require(length > 0 && length < sizeof(err->text));
    for (size_t i = 0; i < length; i++)
        require(err->text[i] >= ' ' && err->text[i] <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    const char *name = bytes > 0 && data[0] == 0x93 ? "f.npy" : "f.mtx";
    struct nf_matrix_file *file = NULL;
    struct nf_matrix matrix = { 0 };
    struct nf_error err = { 0 };
    enum nf_status status;

    require(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes &&
            lseek(fd, 0, SEEK_SET) == 0);
    status = nf_matrix_file_attach(fd, name, MEMORY, &file, &err);
    if (status == NF_OK) {
        status = nf_matrix_file_read(file, &matrix, &err);
        nf_matrix_file_close(file);
    }
    if (status == NF_OK) {
        check_matrix(&matrix);
        nf_matrix_fini(&matrix);
        nf_fuzz_read_well++;
    } else {
        check_error(status, &err);
    }
    return 0;
}
