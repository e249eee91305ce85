/* NumPy's .npy format, versions 1.0, 2.0 and 3.0.
 * Source: https://numpy.org/doc/stable/reference/generated/
 * numpy.lib.format.html; NEP 1.
 *
 *   "\x93NUMPY" major minor, length of the header (2 bytes; 4 from 2.0 on),
 *   little endian; the header, a Python dictionary literal in ASCII padded with
 *   spaces, ending with a newline; the entries without gaps.
 *
 * The grammar read here is that of the literals that NumPy writes, and of what
 * differs from them in spaces, quotes and the order of keys only. */
#include "config.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "apps/matmul/matrix-internal.h"
#include "apps/output.h"
#include "common/base/alloc.h"
#include "common/base/error.h"

#define MAGIC            "\x93NUMPY"
#define MAGIC_BYTES      6
#define MAX_HEADER_BYTES 65536     /* NumPy itself reads 10000 by default */
#define BUFFER_BYTES     (8 << 20) /* converted at a time */
#define TILE             16        /* side of a block in a transposition */
#define WANT             "want {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define NATIVE_ORDER '>'
#else
#define NATIVE_ORDER '<'
#endif

struct npy {
    uint64_t data_offset;
    size_t element_bytes; /* 4 or 8 */
    bool swap;            /* not the byte order of this machine */
    bool fortran_order;
};

/* A parser of the header: the text, a string, and where it is. */
struct literal {
    const char *text, *at;
    const char *name;   /* of the file */
    size_t text_offset; /* of the text in the file */
    struct nf_error *err;
};

static enum nf_status fail_at(const struct literal *in, const char *reason)
{
    return nf_fail(in->err, NF_ERR_INVAL, "%s: header, byte %zu: %s (%s)",
                   in->name, in->text_offset + (size_t)(in->at - in->text),
                   reason, WANT);
}

static void skip_spaces(struct literal *in)
{
    while (*in->at == ' ' || *in->at == '\t' || *in->at == '\n' ||
           *in->at == '\r')
        in->at++;
}

/* Skip spaces, then `c` if it is there. */
static bool accept(struct literal *in, char c)
{
    skip_spaces(in);
    if (*in->at != c)
        return false;
    in->at++;
    return true;
}

/* A string without escapes; value[32]. */
static enum nf_status parse_string(struct literal *in, char *value)
{
    size_t length;
    char quote;

    skip_spaces(in);
    quote = *in->at;
    if (quote != '\'' && quote != '"')
        return fail_at(in, "no string");
    length = strcspn(in->at + 1, quote == '"' ? "\"\\\n" : "'\\\n");
    if (in->at[1 + length] != quote || length > 31)
        return fail_at(in, "a string without end, or too long");
    memcpy(value, in->at + 1, length);
    value[length] = '\0';
    in->at += length + 2;
    return NF_OK;
}

static enum nf_status parse_bool(struct literal *in, bool *value_p)
{
    skip_spaces(in);
    *value_p = strncmp(in->at, "True", 4) == 0;
    if (!*value_p && strncmp(in->at, "False", 5) != 0)
        return fail_at(in, "neither True nor False");
    in->at += *value_p ? 4 : 5;
    return NF_OK;
}

static enum nf_status parse_length(struct literal *in, uint64_t *value_p)
{
    uint64_t value = 0;
    const char *begin;

    skip_spaces(in);
    begin = in->at;
    if (*begin == '-')
        return fail_at(in, "a negative length");
    for (; *in->at >= '0' && *in->at <= '9'; in->at++) {
        uint64_t digit = (uint64_t)(*in->at - '0');

        if (value > (UINT64_MAX - digit) / 10)
            return fail_at(in, "a length of 2^64 or more");
        value = value * 10 + digit;
    }
    if (in->at == begin)
        return fail_at(in, "no length");
    if (*begin == '0' && in->at - begin > 1)
        return fail_at(in, "a length that begins with 0");
    *value_p = value;
    return NF_OK;
}

/* "(3, 4)", "(3,)": as rows and columns. */
static enum nf_status parse_shape(struct literal *in,
                                  struct nf_matrix_file *file)
{
    uint64_t side[2] = { 0, 1 };
    bool comma = false;
    int sides = 0;

    if (!accept(in, '('))
        return fail_at(in, "no tuple");
    while (!accept(in, ')')) {
        enum nf_status status;

        if (sides > 0 && !comma)
            return fail_at(in, "no ',' between lengths");
        if (sides == 2)
            return fail_at(in, "more than 2 dimensions");
        status = parse_length(in, &side[sides++]);
        if (status != NF_OK)
            return status;
        comma = accept(in, ',');
    }
    if (sides == 0)
        return fail_at(in, "an array without dimensions");
    if (sides == 1 && !comma)
        return fail_at(in, "a number, not a tuple like (3,)");
    file->rows = side[0];
    file->cols = side[1];
    return NF_OK;
}

/* Complex numbers are two of half the bytes. */
static void read_complex(char *descr, struct nf_matrix_file *file)
{
    file->complex = true;
    descr[1] = 'f';
    strcpy(descr + 2, descr[2] == '8' ? "4" : "8");
}

static enum nf_status parse_descr(struct literal *in, struct npy *npy,
                                  struct nf_matrix_file *file)
{
    char descr[32], quoted[NF_QUOTE_BYTES];
    enum nf_status status = parse_string(in, descr);

    if (status != NF_OK)
        return status;
    if (file->takes_complex && descr[0] != '\0' &&
        (strcmp(descr + 1, "c8") == 0 || strcmp(descr + 1, "c16") == 0))
        read_complex(descr, file);
    if (strlen(descr) != 3 || strchr("<>=", descr[0]) == NULL ||
        descr[1] != 'f' || (descr[2] != '4' && descr[2] != '8'))
        return nf_fail(in->err, NF_ERR_INVAL,
                       "%s: entries of type '%s' are not supported (want "
                       "'<f8', '>f8', '<f4' or '>f4': float64 or float32%s)",
                       in->name, nf_matrix_quote(descr, quoted),
                       file->takes_complex ? "; or complex: '<c16', '>c16', "
                                       "'<c8', '>c8'"
                                     : "");
    npy->element_bytes = (size_t)(descr[2] - '0');
    npy->swap = descr[0] != '=' && descr[0] != NATIVE_ORDER;
    return NF_OK;
}

static enum nf_status parse_header(struct literal *in, struct npy *npy,
                                   struct nf_matrix_file *file)
{
    static const char *const keys[] = { "descr", "fortran_order", "shape" };
    bool seen[3] = { false, false, false }, comma = true;

    if (!accept(in, '{'))
        return fail_at(in, "no dictionary");
    while (!accept(in, '}')) {
        enum nf_status status;
        char key[32];
        size_t k = 0;

        if (!comma)
            return fail_at(in, "no ',' between items");
        status = parse_string(in, key);
        if (status != NF_OK)
            return status;
        while (k < 3 && strcmp(key, keys[k]) != 0)
            k++;
        if (k == 3 || seen[k])
            return fail_at(in, k == 3 ? "an unknown key" : "a key twice");
        seen[k] = true;
        if (!accept(in, ':'))
            return fail_at(in, "no ':' behind a key");
        status = k == 0   ? parse_descr(in, npy, file)
                 : k == 1 ? parse_bool(in, &npy->fortran_order)
                          : parse_shape(in, file);
        if (status != NF_OK)
            return status;
        comma = accept(in, ',');
    }
    if (!seen[0] || !seen[1] || !seen[2])
        return fail_at(in, "a key is missing");
    skip_spaces(in);
    if (*in->at != '\0')
        return fail_at(in, "more text behind the dictionary");
    return NF_OK;
}

/* Magic, version and length.  *bytes_p: of the header text that follows. */
static enum nf_status read_preamble(struct nf_matrix_file *file,
                                    struct npy *npy, size_t *bytes_p,
                                    struct nf_error *err)
{
    unsigned char raw[12] = { 0 };
    size_t got, length_bytes;
    uint64_t bytes = 0;
    enum nf_status status = nf_matrix_file_get(file, raw, 8, &got, err);

    if (status != NF_OK)
        return status;
    if (got < 8 || memcmp(raw, MAGIC, MAGIC_BYTES) != 0)
        return nf_fail(err, NF_ERR_INVAL,
                       "%s: is no .npy file (does not begin with \\x93NUMPY "
                       "and a version)",
                       file->name);
    if (raw[6] < 1 || raw[6] > 3 || raw[7] != 0)
        return nf_fail(err, NF_ERR_INVAL,
                       "%s: .npy version %d.%d is not supported (want 1.0, "
                       "2.0 or 3.0)",
                       file->name, raw[6], raw[7]);
    length_bytes = raw[6] == 1 ? 2 : 4;
    status = nf_matrix_file_get(file, raw + 8, length_bytes, &got, err);
    if (status != NF_OK)
        return status;
    for (size_t i = 0; i < length_bytes; i++)
        bytes |= (uint64_t)raw[8 + i] << (8 * i);
    npy->data_offset = 8 + length_bytes + bytes;
    if (got < length_bytes || npy->data_offset > file->file_bytes)
        return nf_fail(err, NF_ERR_INVAL,
                       "%s: claims a header of %llu bytes, but the file has "
                       "only %llu bytes",
                       file->name, (unsigned long long)bytes,
                       (unsigned long long)file->file_bytes);
    if (bytes > MAX_HEADER_BYTES)
        return nf_fail(err, NF_ERR_INVAL,
                       "%s: header has %llu bytes (want at most %d)",
                       file->name, (unsigned long long)bytes, MAX_HEADER_BYTES);
    *bytes_p = (size_t)bytes;
    return NF_OK;
}

static enum nf_status read_header(struct nf_matrix_file *file, struct npy *npy,
                                  struct nf_error *err)
{
    struct literal in = { .name = file->name, .err = err };
    size_t bytes = 0, got;
    char *text;
    enum nf_status status = read_preamble(file, npy, &bytes, err);

    if (status != NF_OK)
        return status;
    text = nf_malloc(bytes + 1);
    if (text == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "%s: out of memory", file->name);
    in.text = in.at = text;
    in.text_offset = (size_t)npy->data_offset - bytes;
    status = nf_matrix_file_get(file, text, bytes, &got, err);
    if (status == NF_OK) {
        text[got] = '\0';
        if (strlen(text) < bytes)
            status =
                nf_fail(err, NF_ERR_INVAL, "%s: header, byte %zu: a zero byte",
                        file->name, in.text_offset + strlen(text));
        else
            status = parse_header(&in, npy, file);
    }
    nf_free(text);
    return status;
}

/* A column of complex numbers is a matrix of two rows, column after column. */
static enum nf_status take_pairs(struct nf_matrix_file *file, struct npy *npy,
                                 struct nf_error *err)
{
    if (file->cols != 1)
        return nf_fail(err, NF_ERR_INVAL,
                       "%s: %llu x %llu complex numbers (want one dimension)",
                       file->name, (unsigned long long)file->rows,
                       (unsigned long long)file->cols);
    if (file->rows == 0)
        return nf_fail(err, NF_ERR_INVAL, "%s: has no numbers", file->name);
    file->cols = file->rows;
    file->rows = 2;
    npy->fortran_order = true;
    return NF_OK;
}

static enum nf_status npy_open(struct nf_matrix_file *file,
                               struct nf_error *err)
{
    struct npy *npy = nf_calloc(1, sizeof(*npy));
    uint64_t want, have;
    enum nf_status status;

    if (npy == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "%s: out of memory", file->name);
    file->state = npy;
    status = read_header(file, npy, err);
    if (status == NF_OK && file->complex)
        status = take_pairs(file, npy, err);
    if (status == NF_OK)
        status = nf_matrix_check_size(file->name, file->rows, file->cols,
                                      file->memory_bytes, err);
    if (status != NF_OK)
        return status;
    want = file->rows * file->cols * npy->element_bytes; /* no overflow now */
    have = file->file_bytes - npy->data_offset;
    if (have != want)
        return nf_fail(err, NF_ERR_INVAL,
                       "%s: %llu x %llu entries of %zu bytes are %llu bytes, "
                       "but %llu bytes follow the header",
                       file->name, (unsigned long long)file->rows,
                       (unsigned long long)file->cols, npy->element_bytes,
                       (unsigned long long)want, (unsigned long long)have);
    return NF_OK;
}

/* Entries as they are in the file, in place, to doubles of this machine. */
static void convert(const struct npy *npy, const unsigned char *from,
                    double *to, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        if (npy->element_bytes == 8) {
            uint64_t bits;

            memcpy(&bits, from + 8 * k, 8);
            bits = npy->swap ? __builtin_bswap64(bits) : bits;
            memcpy(to + k, &bits, 8);
        } else {
            uint32_t bits;
            float value;

            memcpy(&bits, from + 4 * k, 4);
            bits = npy->swap ? __builtin_bswap32(bits) : bits;
            memcpy(&value, &bits, 4);
            to[k] = (double)value;
        }
    }
}

/* Row-major entries of rows [i0, i0 + nrows), columns [j0, j0 + ncols), to
 * their places, in blocks that stay in the cache on both sides. */
static void scatter(const double *from, struct nf_matrix *matrix,
                    const uint64_t origin[2], uint64_t nrows, uint64_t ncols)
{
    double *to = matrix->data + origin[1] * matrix->rows + origin[0];

    for (uint64_t j0 = 0; j0 < ncols; j0 += TILE)
        for (uint64_t i0 = 0; i0 < nrows; i0 += TILE)
            for (uint64_t j = j0; j < ncols && j < j0 + TILE; j++)
                for (uint64_t i = i0; i < nrows && i < i0 + TILE; i++)
                    to[j * matrix->rows + i] = from[i * ncols + j];
}

/* The next `count` entries of the file, converted, to `to`; `raw` has room for
 * as many of 4 or 8 bytes. */
static enum nf_status get_entries(struct nf_matrix_file *file, double *to,
                                  void *raw, size_t count, struct nf_error *err)
{
    const struct npy *npy = file->state;
    bool as_is = npy->element_bytes == 8 && !npy->swap;
    size_t bytes = count * npy->element_bytes, got;
    enum nf_status status;

    status =
        nf_matrix_file_get(file, as_is ? (void *)to : raw, bytes, &got, err);
    if (status != NF_OK)
        return status;
    if (got < bytes)
        return nf_fail(err, NF_ERR_INVAL, "%s: was cut while it was read",
                       file->name);
    if (!as_is)
        convert(npy, raw, to, count);
    return NF_OK;
}

/* Entries in the order of memory: straight into place. */
static enum nf_status read_in_order(struct nf_matrix_file *file,
                                    struct nf_matrix *matrix, void *buffer,
                                    struct nf_error *err)
{
    uint64_t count = matrix->rows * matrix->cols;
    enum nf_status status = NF_OK;

    for (uint64_t k = 0; k < count && status == NF_OK;) {
        uint64_t piece = BUFFER_BYTES / sizeof(double);

        piece = piece < count - k ? piece : count - k;
        status =
            get_entries(file, matrix->data + k, buffer, (size_t)piece, err);
        k += piece;
    }
    return status;
}

/* Entries row by row: as many rows at a time as the buffer holds, or parts of
 * one row if that is longer. */
static enum nf_status read_transposed(struct nf_matrix_file *file,
                                      struct nf_matrix *matrix, void *buffer,
                                      struct nf_error *err)
{
    const uint64_t room = BUFFER_BYTES / sizeof(double) / 2;
    uint64_t cols = matrix->cols < room ? matrix->cols : room;
    uint64_t rows = cols < matrix->cols ? 1 : room / cols;
    double *entries = buffer;
    enum nf_status status;

    for (uint64_t i = 0; i < matrix->rows; i += rows)
        for (uint64_t j = 0; j < matrix->cols; j += cols) {
            const uint64_t origin[2] = { i, j };
            uint64_t nrows = rows < matrix->rows - i ? rows : matrix->rows - i;
            uint64_t ncols = cols < matrix->cols - j ? cols : matrix->cols - j;

            status = get_entries(file, entries, entries + room,
                                 (size_t)(nrows * ncols), err);
            if (status != NF_OK)
                return status;
            scatter(entries, matrix, origin, nrows, ncols);
        }
    return NF_OK;
}

static bool is_finite(double value)
{
    const uint64_t exponent = 0x7ffULL << 52;
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return (bits & exponent) != exponent;
}

/* NaN or infinity in an input would make the product impossible to check. */
static enum nf_status check_finite(const struct nf_matrix_file *file,
                                   const struct nf_matrix *matrix,
                                   struct nf_error *err)
{
    for (uint64_t j = 0; j < matrix->cols; j++) {
        const double *column = matrix->data + j * matrix->rows;
        bool all_finite = true;

        for (uint64_t i = 0; i < matrix->rows; i++)
            all_finite &= is_finite(column[i]);
        for (uint64_t i = 0; !all_finite && i < matrix->rows; i++)
            if (!is_finite(column[i]))
                return nf_fail(err, NF_ERR_INVAL,
                               "%s: entry [%llu, %llu] (from 0) is %f: want "
                               "finite numbers",
                               file->name, (unsigned long long)i,
                               (unsigned long long)j, column[i]);
    }
    return NF_OK;
}

static enum nf_status npy_read(struct nf_matrix_file *file,
                               struct nf_matrix *matrix, struct nf_error *err)
{
    const struct npy *npy = file->state;
    bool in_order =
        npy->fortran_order || matrix->rows == 1 || matrix->cols == 1;
    void *buffer = nf_malloc(BUFFER_BYTES);
    enum nf_status status;

    if (buffer == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "%s: out of memory", file->name);
    status = in_order ? read_in_order(file, matrix, buffer, err)
                      : read_transposed(file, matrix, buffer, err);
    nf_free(buffer);
    return status == NF_OK ? check_finite(file, matrix, err) : status;
}

/* Version 1.0, padded as NumPy does: the entries begin at a multiple of 64. */
static enum nf_status write_dictionary(const char *text,
                                       struct nf_output *output,
                                       struct nf_error *err)
{
    unsigned char raw[192];
    size_t bytes = strlen(text), total;

    total = (10 + bytes + 1 + 63) / 64 * 64;
    memset(raw, ' ', sizeof(raw));
    memcpy(raw, MAGIC "\x01\x00", 8);
    raw[8] = (unsigned char)((total - 10) & 0xff);
    raw[9] = (unsigned char)((total - 10) >> 8);
    memcpy(raw + 10, text, bytes);
    raw[total - 1] = '\n';
    return nf_output_write(output, raw, total, err);
}

static enum nf_status write_header(const struct nf_matrix *matrix,
                                   bool fortran_order, struct nf_output *output,
                                   struct nf_error *err)
{
    char text[160];

    snprintf(text, sizeof(text),
             "{'descr': '%cf8', 'fortran_order': %s, 'shape': (%llu, %llu), }",
             NATIVE_ORDER, fortran_order ? "True" : "False",
             (unsigned long long)matrix->rows,
             (unsigned long long)matrix->cols);
    return write_dictionary(text, output, err);
}

enum nf_status nf_npy_write_complex(const struct nf_matrix *matrix,
                                    struct nf_output *output,
                                    struct nf_error *err)
{
    char text[160];
    enum nf_status status;

    snprintf(text, sizeof(text),
             "{'descr': '%cc16', 'fortran_order': False, 'shape': (%llu,), }",
             NATIVE_ORDER, (unsigned long long)matrix->cols);
    status = write_dictionary(text, output, err);
    if (status != NF_OK)
        return status;
    return nf_output_write(output, matrix->data,
                           (size_t)matrix->cols * 2 * sizeof(double), err);
}

static enum nf_status npy_write(const struct nf_matrix *matrix,
                                struct nf_output *output, struct nf_error *err)
{
    enum nf_status status = write_header(matrix, true, output, err);
    size_t bytes = (size_t)(matrix->rows * matrix->cols) * sizeof(double);

    if (status != NF_OK)
        return status;
    return nf_output_write(output, matrix->data, bytes, err);
}

enum nf_status nf_npy_write_c(const struct nf_matrix *matrix,
                              struct nf_output *output, struct nf_error *err)
{
    const size_t room = BUFFER_BYTES / sizeof(double);
    uint64_t count = matrix->rows * matrix->cols, i = 0, j = 0;
    enum nf_status status = write_header(matrix, false, output, err);
    double *buffer;

    if (status != NF_OK)
        return status;
    buffer = nf_malloc(BUFFER_BYTES);
    if (buffer == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    for (uint64_t done = 0; done < count && status == NF_OK;) {
        size_t used = 0;

        for (; used < room && done < count; done++) {
            buffer[used++] = matrix->data[j * matrix->rows + i];
            if (++j == matrix->cols) {
                j = 0;
                i++;
            }
        }
        status = nf_output_write(output, buffer, used * sizeof(double), err);
    }
    nf_free(buffer);
    return status;
}

const struct nf_matrix_format nf_matrix_format_npy = {
    .suffix = ".npy",
    .open = npy_open,
    .read = npy_read,
    .write = npy_write,
};
