/* Dense matrices: memory, the table of file formats, random entries. */
#include "config.h"
#include "apps/matmul/matrix-internal.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "apps/output.h"
#include "common/base/alloc.h"
#include "common/base/error.h"

#define NF_MATRIX_FORMAT_ENTRY(n) &nf_matrix_format_##n,
static const struct nf_matrix_format *const formats[] = { NF_MATRIX_FORMAT_LIST(
    NF_MATRIX_FORMAT_ENTRY) NULL };

uint64_t nf_memory_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);

    if (pages <= 0 || page_bytes <= 0)
        return SIZE_MAX; /* not known: malloc decides */
    return (uint64_t)pages * (uint64_t)page_bytes;
}

const char *nf_format_size(double size_bytes, char *text, size_t bytes)
{
    static const char *const names[] = { "B",   "KiB", "MiB", "GiB", "TiB",
                                         "PiB", "EiB", "ZiB", "YiB" };
    size_t i = 0;

    for (; size_bytes >= 1024 && i + 1 < sizeof(names) / sizeof(names[0]); i++)
        size_bytes /= 1024;
    snprintf(text, bytes, i == 0 ? "%.0f %s" : "%.1f %s", size_bytes, names[i]);
    return text;
}

enum nf_status nf_matrix_check_size(const char *name, uint64_t rows,
                                    uint64_t cols, uint64_t memory_bytes,
                                    struct nf_error *err)
{
    double need_bytes = (double)rows * (double)cols * sizeof(double);
    char need[16], have[16];

    if (rows == 0 || cols == 0)
        return nf_fail(err, NF_ERR_INVAL,
                       "%s: %llu x %llu matrix has no entries", name,
                       (unsigned long long)rows, (unsigned long long)cols);
    if (memory_bytes > SIZE_MAX / 2)
        memory_bytes = SIZE_MAX / 2;
    /* beyond 2^53 the product is rounded, but memory is far smaller */
    if (need_bytes > (double)memory_bytes)
        return nf_fail(
            err, NF_ERR_RANGE,
            "%s: %llu x %llu matrix needs %s, this machine has %s", name,
            (unsigned long long)rows, (unsigned long long)cols,
            nf_format_size(need_bytes, need, sizeof(need)),
            nf_format_size((double)memory_bytes, have, sizeof(have)));
    if (rows > NF_MATRIX_MAX_SIDE || cols > NF_MATRIX_MAX_SIDE)
        return nf_fail(err, NF_ERR_RANGE,
                       "%s: %llu x %llu matrix has more than %d rows or "
                       "columns",
                       name, (unsigned long long)rows, (unsigned long long)cols,
                       NF_MATRIX_MAX_SIDE);
    return NF_OK;
}

/* Ask for huge pages: the first touch takes a quarter of the time, and BLAS
 * misses fewer translations.  Only advice; the part that whole huge pages
 * cover. */
static void advise_huge_pages(void *data, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t huge = 2 << 20, mapped = 32 << 20;
    uintptr_t begin = ((uintptr_t)data + huge - 1) & ~(huge - 1);
    uintptr_t end = ((uintptr_t)data + bytes) & ~(huge - 1);

    if (begin < end)
        (void)madvise((void *)begin, end - begin, MADV_HUGEPAGE);
    /* nf_run forks: no child needs the matrices, and a page that a child
     * shares is copied when a result is written to it.  Only for blocks that
     * malloc maps by themselves, and so unmaps when they are freed. */
    if (bytes >= mapped)
        (void)madvise((void *)begin, end - begin, MADV_DONTFORK);
#endif
}

enum nf_status nf_matrix_create(uint64_t rows, uint64_t cols,
                                struct nf_matrix *matrix_p,
                                struct nf_error *err)
{
    double *data = NULL;
    char need[16];

    if (rows > 0 && cols <= SIZE_MAX / sizeof(double) / rows)
        data = nf_calloc((size_t)(rows * cols), sizeof(double));
    if (data == NULL)
        return nf_fail(
            err, NF_ERR_NOMEM, "no memory for a %llu x %llu matrix (%s)",
            (unsigned long long)rows, (unsigned long long)cols,
            nf_format_size((double)rows * (double)cols * sizeof(double), need,
                           sizeof(need)));
    advise_huge_pages(data, (size_t)(rows * cols) * sizeof(double));
    matrix_p->rows = rows;
    matrix_p->cols = cols;
    matrix_p->data = data;
    return NF_OK;
}

void nf_matrix_fini(struct nf_matrix *matrix)
{
    nf_free(matrix->data);
    memset(matrix, 0, sizeof(*matrix));
}

/* The format of `name`; NULL if its suffix is unknown. */
static const struct nf_matrix_format *find_format(const char *name)
{
    const char *slash = strrchr(name, '/');
    const char *dot = strrchr(slash == NULL ? name : slash, '.');

    for (size_t i = 0; dot != NULL && formats[i] != NULL; i++)
        if (strcasecmp(dot, formats[i]->suffix) == 0)
            return formats[i];
    return NULL;
}

static enum nf_status fail_suffix(const char *name, struct nf_error *err)
{
    return nf_fail(err, NF_ERR_INVAL,
                   "%s: unknown kind of file (want a name that ends in .mtx "
                   "or .npy)",
                   name);
}

static enum nf_status attach(int fd, const char *name, uint64_t memory_bytes,
                             bool takes_complex,
                             struct nf_matrix_file **file_p,
                             struct nf_error *err);

static enum nf_status open_file(const char *path, uint64_t memory_bytes,
                                bool takes_complex,
                                struct nf_matrix_file **file_p,
                                struct nf_error *err)
{
    int fd;

    /* O_NONBLOCK: a FIFO without a writer must not hang us */
    do
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return nf_fail(err, NF_ERR_INVAL, "%s: cannot open: %s", path,
                       strerror(errno));
    return attach(fd, path, memory_bytes, takes_complex, file_p, err);
}

enum nf_status nf_matrix_file_open(const char *path, uint64_t memory_bytes,
                                   struct nf_matrix_file **file_p,
                                   struct nf_error *err)
{
    return open_file(path, memory_bytes, false, file_p, err);
}

enum nf_status nf_matrix_file_open_complex(const char *path,
                                           uint64_t memory_bytes,
                                           struct nf_matrix_file **file_p,
                                           struct nf_error *err)
{
    return open_file(path, memory_bytes, true, file_p, err);
}

enum nf_status nf_matrix_file_attach(int fd, const char *name,
                                     uint64_t memory_bytes,
                                     struct nf_matrix_file **file_p,
                                     struct nf_error *err)
{
    return attach(fd, name, memory_bytes, false, file_p, err);
}

static enum nf_status attach(int fd, const char *name, uint64_t memory_bytes,
                             bool takes_complex,
                             struct nf_matrix_file **file_p,
                             struct nf_error *err)
{
    struct nf_matrix_file *file;
    enum nf_status status = NF_OK;
    struct stat info;

    file = nf_calloc(1, sizeof(*file));
    if (file == NULL || (file->name = nf_strdup(name)) == NULL) {
        nf_free(file);
        close(fd);
        return nf_fail(err, NF_ERR_NOMEM, "%s: out of memory", name);
    }
    file->fd = fd;
    file->memory_bytes = memory_bytes;
    file->takes_complex = takes_complex;
    file->format = find_format(name);
    if (fstat(fd, &info) != 0)
        status = nf_fail(err, NF_ERR_INVAL, "%s: %s", name, strerror(errno));
    else if (S_ISDIR(info.st_mode))
        status = nf_fail(err, NF_ERR_INVAL,
                         "%s: is a directory (want a matrix file)", name);
    else if (!S_ISREG(info.st_mode))
        status = nf_fail(err, NF_ERR_INVAL, "%s: is not a regular file", name);
    else if (file->format == NULL)
        status = fail_suffix(name, err);
    else if (info.st_size == 0)
        status = nf_fail(err, NF_ERR_INVAL, "%s: is empty", name);
    if (status == NF_OK) {
        file->file_bytes = (uint64_t)info.st_size;
        status = file->format->open(file, err);
    }
    if (status != NF_OK) {
        nf_matrix_file_close(file);
        return status;
    }
    *file_p = file;
    return NF_OK;
}

bool nf_matrix_file_is_complex(const struct nf_matrix_file *file)
{
    return file->complex;
}

uint64_t nf_matrix_file_rows(const struct nf_matrix_file *file)
{
    return file->rows;
}

uint64_t nf_matrix_file_cols(const struct nf_matrix_file *file)
{
    return file->cols;
}

enum nf_status nf_matrix_file_read(struct nf_matrix_file *file,
                                   struct nf_matrix *matrix_p,
                                   struct nf_error *err)
{
    struct nf_matrix matrix = { 0 };
    enum nf_status status;

    status = nf_matrix_create(file->rows, file->cols, &matrix, err);
    if (status != NF_OK) {
        nf_fail_prefix(err, "%s", file->name);
        return status;
    }
    status = file->format->read(file, &matrix, err);
    if (status != NF_OK) {
        nf_matrix_fini(&matrix);
        return status;
    }
    *matrix_p = matrix;
    return NF_OK;
}

void nf_matrix_file_close(struct nf_matrix_file *file)
{
    if (file == NULL)
        return;
    close(file->fd);
    nf_free(file->state);
    nf_free(file->name);
    nf_free(file);
}

enum nf_status nf_matrix_file_get(struct nf_matrix_file *file, void *data,
                                  size_t bytes, size_t *got_p,
                                  struct nf_error *err)
{
    size_t got = 0;

    while (got < bytes) {
        ssize_t n = read(file->fd, (char *)data + got, bytes - got);

        if (n == 0)
            break;
        if (n > 0)
            got += (size_t)n;
        else if (errno != EINTR)
            return nf_fail(err, NF_ERR_INVAL, "%s: cannot read: %s", file->name,
                           strerror(errno));
    }
    *got_p = got;
    return NF_OK;
}

const char *nf_matrix_quote(const char *text, char *quoted)
{
    size_t i = 0;

    for (; i < 40 && text[i] != '\0'; i++)
        quoted[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    strcpy(quoted + i, text[i] == '\0' ? "" : "...");
    return quoted;
}

enum nf_status nf_matrix_check_suffix(const char *path, struct nf_error *err)
{
    return find_format(path) != NULL ? NF_OK : fail_suffix(path, err);
}

static enum nf_status write_with(
    const struct nf_matrix *matrix, const char *path,
    enum nf_status (*write_entries)(const struct nf_matrix *,
                                    struct nf_output *, struct nf_error *),
    struct nf_error *err)
{
    struct nf_output *output;
    enum nf_status status = nf_output_open(path, &output, err);

    if (status != NF_OK)
        return status;
    status = write_entries(matrix, output, err);
    if (status != NF_OK) {
        nf_output_abort(output);
        return status;
    }
    return nf_output_commit(output, err);
}

enum nf_status nf_matrix_write(const struct nf_matrix *matrix, const char *path,
                               struct nf_error *err)
{
    const struct nf_matrix_format *format = find_format(path);

    if (format == NULL)
        return fail_suffix(path, err);
    return write_with(matrix, path, format->write, err);
}

enum nf_status nf_matrix_write_npy_c(const struct nf_matrix *matrix,
                                     const char *path, struct nf_error *err)
{
    return write_with(matrix, path, nf_npy_write_c, err);
}

enum nf_status nf_matrix_write_npy_complex(const struct nf_matrix *matrix,
                                           const char *path,
                                           struct nf_error *err)
{
    return write_with(matrix, path, nf_npy_write_complex, err);
}

bool nf_matrix_is_npy(const char *path)
{
    return find_format(path) == &nf_matrix_format_npy;
}

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

void nf_matrix_fill_random(struct nf_matrix *matrix, uint64_t seed,
                           uint32_t stream)
{
    const uint64_t gamma = 0x9e3779b97f4a7c15ULL; /* the golden ratio, odd */
    uint64_t start = mix(mix(seed + gamma) + stream);
    double *to = matrix->data;

    for (uint64_t j = 0; j < matrix->cols; j++) {
        uint64_t state = start + (j << 32) * gamma;

        for (uint64_t i = 0; i < matrix->rows; i++) {
            state += gamma;
            *to++ =
                (double)((int64_t)(mix(state) >> 11) - (1LL << 52)) * 0x1p-52;
        }
    }
}
