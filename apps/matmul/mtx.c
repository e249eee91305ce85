/* Matrix Market exchange format.
 * Source: Boisvert, Pozo and Remington, The Matrix Market Exchange Formats:
 * Initial Design, NISTIR 5935, 1996.
 *
 * A file is read line by line through one buffer.  Sizes that a header claims
 * are checked against memory and against the bytes that are there, before
 * anything of that size is allocated. */
#include "config.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include "apps/matmul/decimal.h"
#include "apps/matmul/matrix-internal.h"
#include "apps/output.h"
#include "common/base/alloc.h"
#include "common/base/error.h"

#define BUFFER_BYTES (1 << 20) /* also the longest line */

enum field { FIELD_REAL, FIELD_INTEGER, FIELD_PATTERN };
enum symmetry { GENERAL, SYMMETRIC, SKEW_SYMMETRIC };

struct mtx {
    bool coordinate;
    enum field field;
    enum symmetry symmetry;
    uint64_t entries;              /* in the file */
    uint64_t line;                 /* number of the current line, from 1 */
    size_t start, end;             /* unread part of buffer */
    bool at_end;                   /* nothing is left in the file itself */
    char buffer[BUFFER_BYTES + 1]; /* and a NUL behind the last line */
};

/* What a value is called in messages. */
static const char *const field_names[] = { "a finite decimal number",
                                           "an integer", "nothing" };

/* The analyzer looks into no variadic function, and so takes what fail_here()
 * returns for a possible success: NOLINTBEGIN(clang-analyzer-core.*) */
static enum nf_status fail_here(const struct nf_matrix_file *file,
                                struct nf_error *err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static enum nf_status fail_here(const struct nf_matrix_file *file,
                                struct nf_error *err, const char *format, ...)
{
    const struct mtx *mtx = file->state;
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return nf_fail(err, NF_ERR_INVAL, "%s:%llu: %s", file->name,
                   (unsigned long long)mtx->line, text);
}

/* Get more of the file behind the unread part. */
static enum nf_status refill(struct nf_matrix_file *file, struct nf_error *err)
{
    struct mtx *mtx = file->state;
    size_t got, room;
    enum nf_status status;

    memmove(mtx->buffer, mtx->buffer + mtx->start, mtx->end - mtx->start);
    mtx->end -= mtx->start;
    mtx->start = 0;
    room = BUFFER_BYTES - mtx->end;
    status = nf_matrix_file_get(file, mtx->buffer + mtx->end, room, &got, err);
    if (status != NF_OK)
        return status;
    mtx->end += got;
    mtx->at_end = got < room;
    return NF_OK;
}

/* The next line, as a string without its end of line.
 * NF_WAIT: the file is over; the line number stays that of the last line. */
static enum nf_status next_line(struct nf_matrix_file *file, char **line_p,
                                struct nf_error *err)
{
    struct mtx *mtx = file->state;
    char *line = mtx->buffer + mtx->start, *newline;
    size_t length;

    newline = memchr(line, '\n', mtx->end - mtx->start);
    if (newline == NULL && !mtx->at_end) {
        enum nf_status status = refill(file, err);

        if (status != NF_OK)
            return status;
        line = mtx->buffer;
        newline = memchr(line, '\n', mtx->end);
    }
    if (newline == NULL && mtx->start == mtx->end)
        return NF_WAIT;
    mtx->line++;
    if (newline == NULL && !mtx->at_end)
        return fail_here(file, err, "line is longer than %d bytes",
                         BUFFER_BYTES);
    length = newline == NULL ? mtx->end - mtx->start : (size_t)(newline - line);
    mtx->start += length + (newline != NULL);
    if (memchr(line, '\0', length) != NULL)
        return fail_here(file, err, "a zero byte: not a text file");
    if (length > 0 && line[length - 1] == '\r')
        length--;
    line[length] = '\0';
    *line_p = line;
    return NF_OK;
}

static char *skip_blanks(const char *text)
{
    while (*text == ' ' || *text == '\t')
        text++;
    return (char *)(uintptr_t)text;
}

/* The next line that is neither blank nor a comment, from its first
 * character that is not blank. */
static enum nf_status next_data_line(struct nf_matrix_file *file, char **line_p,
                                     struct nf_error *err)
{
    char *line;

    for (;;) {
        enum nf_status status = next_line(file, &line, err);

        if (status != NF_OK)
            return status;
        line = skip_blanks(line);
        if (*line != '\0' && *line != '%')
            break;
    }
    *line_p = line;
    return NF_OK;
}

/* A decimal count and the blanks behind it; NULL: none, or 2^64 and more. */
static char *parse_index(const char *text, uint64_t *value_p)
{
    uint64_t value = 0;
    const char *c = text;

    for (; *c >= '0' && *c <= '9'; c++) {
        uint64_t digit = (uint64_t)(*c - '0');

        if (value > (UINT64_MAX - digit) / 10)
            return NULL;
        value = value * 10 + digit;
    }
    if (c == text || (*c != ' ' && *c != '\t' && *c != '\0'))
        return NULL;
    *value_p = value;
    return skip_blanks(c);
}

/* The number that is all the rest of a line. */
static enum nf_status parse_value(const struct nf_matrix_file *file,
                                  const char *text, double *value_p,
                                  struct nf_error *err)
{
    const struct mtx *mtx = file->state;
    const char *end = nf_decimal_parse(text, value_p);
    char quoted[NF_QUOTE_BYTES];

    if (end == NULL || (*end != '\0' && *end != ' ' && *end != '\t') ||
        (mtx->field == FIELD_INTEGER && strpbrk(text, ".eE") != NULL))
        return fail_here(file, err, "'%s': want %s",
                         nf_matrix_quote(text, quoted),
                         field_names[mtx->field]);
    if (*skip_blanks(end) != '\0')
        return fail_here(file, err, "'%s' behind the value",
                         nf_matrix_quote(skip_blanks(end), quoted));
    if (!isfinite(*value_p))
        return fail_here(file, err, "'%s' is too big for float64",
                         nf_matrix_quote(text, quoted));
    return NF_OK;
}

/* Which of names[] is `word`?  -1: none. */
static int look_up(const char *word, const char *const *names)
{
    for (int i = 0; names[i] != NULL; i++)
        if (strcasecmp(word, names[i]) == 0)
            return i;
    return -1;
}

/* "%%MatrixMarket matrix FORMAT FIELD SYMMETRY" */
static enum nf_status read_banner(struct nf_matrix_file *file,
                                  struct nf_error *err)
{
    static const char *const formats[] = { "array", "coordinate", NULL };
    static const char *const fields[] = { "real", "integer", "pattern", NULL };
    static const char *const symmetries[] = { "general", "symmetric",
                                              "skew-symmetric", NULL };
    static const char want[] = "want '%%MatrixMarket matrix array|coordinate "
                               "real|integer|pattern "
                               "general|symmetric|skew-symmetric'";
    struct mtx *mtx = file->state;
    char *line, *word[6], *rest = NULL, quoted[NF_QUOTE_BYTES];
    int format, field, symmetry, words = 0;
    enum nf_status status = next_line(file, &line, err);

    if (status != NF_OK)
        return status;
    if (strncmp(line, "%%MatrixMarket", 14) != 0)
        return fail_here(file, err, "'%s' is no Matrix Market header: %s",
                         nf_matrix_quote(line, quoted), want);
    for (char *w = strtok_r(line, " \t", &rest); w != NULL && words < 6;
         w = strtok_r(NULL, " \t", &rest))
        word[words++] = w;
    if (words != 5)
        return fail_here(file, err, "header has %s than 5 words: %s",
                         words < 5 ? "fewer" : "more", want);
    if (strcmp(word[0], "%%MatrixMarket") != 0 ||
        strcasecmp(word[1], "matrix") != 0)
        return fail_here(
            file, err, "'%s' is not supported: %s",
            nf_matrix_quote(word[strcmp(word[0], "%%MatrixMarket") == 0],
                            quoted),
            want);
    format = look_up(word[2], formats);
    field = look_up(word[3], fields);
    symmetry = look_up(word[4], symmetries);
    if (format < 0 || field < 0 || symmetry < 0)
        return fail_here(file, err, "'%s' is not supported: %s",
                         nf_matrix_quote(word[format < 0  ? 2
                                              : field < 0 ? 3
                                                          : 4],
                                         quoted),
                         want);
    mtx->coordinate = format == 1;
    mtx->field = (enum field)field;
    mtx->symmetry = (enum symmetry)symmetry;
    if (mtx->field == FIELD_PATTERN &&
        (!mtx->coordinate || mtx->symmetry == SKEW_SYMMETRIC))
        return fail_here(file, err,
                         "a pattern has no values: it goes only "
                         "with coordinate, not skew-symmetric");
    return NF_OK;
}

/* Entries that an array file of this shape has, or that a coordinate file may
 * have at most.  Sides are below 2^31. */
static uint64_t full_entries(const struct nf_matrix_file *file)
{
    const struct mtx *mtx = file->state;

    switch (mtx->symmetry) {
    case GENERAL:
        break;
    case SYMMETRIC:
        return file->rows * (file->rows + 1) / 2;
    case SKEW_SYMMETRIC:
        return file->rows * (file->rows - 1) / 2;
    }
    return file->rows * file->cols;
}

/* "rows cols" or "rows cols entries" */
static enum nf_status read_size(struct nf_matrix_file *file,
                                struct nf_error *err)
{
    struct mtx *mtx = file->state;
    char *line, *rest, quoted[NF_QUOTE_BYTES], where[NF_ERROR_TEXT_BYTES];
    enum nf_status status = next_data_line(file, &line, err);

    if (status == NF_WAIT)
        return fail_here(file, err, "file ends before the line of sizes");
    if (status != NF_OK)
        return status;
    rest = parse_index(line, &file->rows);
    if (rest != NULL)
        rest = parse_index(rest, &file->cols);
    if (rest != NULL && mtx->coordinate)
        rest = parse_index(rest, &mtx->entries);
    if (rest == NULL || *rest != '\0')
        return fail_here(
            file, err, "'%s': want '%s'", nf_matrix_quote(line, quoted),
            mtx->coordinate ? "rows columns entries" : "rows columns");
    snprintf(where, sizeof(where), "%s:%llu", file->name,
             (unsigned long long)mtx->line);
    status = nf_matrix_check_size(where, file->rows, file->cols,
                                  file->memory_bytes, err);
    if (status != NF_OK)
        return status;
    if (mtx->symmetry != GENERAL && file->rows != file->cols)
        return fail_here(
            file, err, "%llu x %llu matrix is not square, so it cannot be %s",
            (unsigned long long)file->rows, (unsigned long long)file->cols,
            mtx->symmetry == SYMMETRIC ? "symmetric" : "skew-symmetric");
    return NF_OK;
}

/* Can the rest of the file hold the entries that the header claims? */
static enum nf_status check_claim(const struct nf_matrix_file *file,
                                  struct nf_error *err)
{
    struct mtx *mtx = file->state;
    /* "0\n", "1 1\n", "1 1 0\n"; the last end of line may be missing */
    uint64_t least_bytes = !mtx->coordinate              ? 2
                           : mtx->field == FIELD_PATTERN ? 4
                                                         : 6;

    if (!mtx->coordinate)
        mtx->entries = full_entries(file);
    else if (mtx->entries > full_entries(file))
        return fail_here(file, err,
                         "%llu entries are more than a %llu x %llu matrix of "
                         "this symmetry has",
                         (unsigned long long)mtx->entries,
                         (unsigned long long)file->rows,
                         (unsigned long long)file->cols);
    if (mtx->entries > (file->file_bytes + 1) / least_bytes)
        return fail_here(file, err,
                         "%llu entries cannot be in a file of %llu bytes",
                         (unsigned long long)mtx->entries,
                         (unsigned long long)file->file_bytes);
    return NF_OK;
}

static enum nf_status mtx_open(struct nf_matrix_file *file,
                               struct nf_error *err)
{
    struct mtx *mtx = nf_malloc(sizeof(*mtx));
    enum nf_status status;

    if (mtx == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "%s: out of memory", file->name);
    memset(mtx, 0, offsetof(struct mtx, buffer));
    file->state = mtx;
    status = read_banner(file, err);
    if (status == NF_OK)
        status = read_size(file, err);
    if (status == NF_OK)
        status = check_claim(file, err);
    return status;
}

/* Store entry (i, j), from 0, and its mirror image. */
static void store(const struct mtx *mtx, struct nf_matrix *matrix, uint64_t i,
                  uint64_t j, double value)
{
    matrix->data[j * matrix->rows + i] = value;
    if (mtx->symmetry != GENERAL && i != j)
        matrix->data[i * matrix->rows + j] =
            mtx->symmetry == SYMMETRIC ? value : -value;
}

/* The line of entry number `done`; a file that is over is an error. */
static enum nf_status next_entry(struct nf_matrix_file *file, uint64_t done,
                                 char **line_p, struct nf_error *err)
{
    const struct mtx *mtx = file->state;
    enum nf_status status = next_data_line(file, line_p, err);

    if (status == NF_WAIT)
        return fail_here(file, err, "file ends after %llu of %llu entries",
                         (unsigned long long)done,
                         (unsigned long long)mtx->entries);
    return status;
}

static enum nf_status read_array(struct nf_matrix_file *file,
                                 struct nf_matrix *matrix, struct nf_error *err)
{
    const struct mtx *mtx = file->state;
    uint64_t done = 0;

    for (uint64_t j = 0; j < file->cols; j++) {
        uint64_t first = mtx->symmetry == GENERAL     ? 0
                         : mtx->symmetry == SYMMETRIC ? j
                                                      : j + 1;

        for (uint64_t i = first; i < file->rows; i++, done++) {
            enum nf_status status;
            double value;
            char *line;

            status = next_entry(file, done, &line, err);
            if (status == NF_OK)
                status = parse_value(file, line, &value, err);
            if (status != NF_OK)
                return status;
            store(mtx, matrix, i, j, value);
        }
    }
    return NF_OK;
}

/* One line "row column [value]"; *i_p and *j_p count from 0. */
static enum nf_status parse_entry(const struct nf_matrix_file *file,
                                  const char *line, uint64_t *i_p,
                                  uint64_t *j_p, double *value_p,
                                  struct nf_error *err)
{
    const struct mtx *mtx = file->state;
    char quoted[NF_QUOTE_BYTES], *rest = parse_index(line, i_p);

    if (rest != NULL)
        rest = parse_index(rest, j_p);
    if (rest == NULL || (*rest == '\0') != (mtx->field == FIELD_PATTERN))
        return fail_here(
            file, err, "'%s': want '%s'", nf_matrix_quote(line, quoted),
            mtx->field == FIELD_PATTERN ? "row column" : "row column value");
    if (*i_p < 1 || *i_p > file->rows || *j_p < 1 || *j_p > file->cols)
        return fail_here(
            file, err, "entry (%llu, %llu) is outside the %llu x %llu matrix",
            (unsigned long long)*i_p, (unsigned long long)*j_p,
            (unsigned long long)file->rows, (unsigned long long)file->cols);
    if ((mtx->symmetry == SYMMETRIC && *i_p < *j_p) ||
        (mtx->symmetry == SKEW_SYMMETRIC && *i_p <= *j_p))
        return fail_here(file, err,
                         "entry (%llu, %llu) is not %s the diagonal, where all "
                         "entries of a %s matrix are",
                         (unsigned long long)*i_p, (unsigned long long)*j_p,
                         mtx->symmetry == SYMMETRIC ? "on or below" : "below",
                         mtx->symmetry == SYMMETRIC ? "symmetric"
                                                    : "skew-symmetric");
    --*i_p;
    --*j_p;
    *value_p = 1;
    return mtx->field == FIELD_PATTERN ? NF_OK
                                       : parse_value(file, rest, value_p, err);
}

static enum nf_status read_coordinate(struct nf_matrix_file *file,
                                      struct nf_matrix *matrix,
                                      struct nf_error *err)
{
    const struct mtx *mtx = file->state;
    enum nf_status status = NF_OK;
    /* one bit an entry of the matrix: was it given? */
    uint8_t *given = nf_calloc((size_t)(file->rows * file->cols / 8 + 1), 1);

    if (given == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "%s: out of memory", file->name);
    for (uint64_t done = 0; done < mtx->entries; done++) {
        uint64_t i, j, index;
        double value;
        char *line;
        uint8_t bit;

        status = next_entry(file, done, &line, err);
        if (status == NF_OK)
            status = parse_entry(file, line, &i, &j, &value, err);
        if (status != NF_OK)
            break;
        index = j * file->rows + i;
        bit = (uint8_t)(1U << (index % 8));
        if ((given[index / 8] & bit) != 0) {
            status =
                fail_here(file, err, "entry (%llu, %llu) is given twice",
                          (unsigned long long)i + 1, (unsigned long long)j + 1);
            break;
        }
        given[index / 8] |= bit;
        store(mtx, matrix, i, j, value);
    }
    nf_free(given);
    return status;
}

static enum nf_status mtx_read(struct nf_matrix_file *file,
                               struct nf_matrix *matrix, struct nf_error *err)
{
    const struct mtx *mtx = file->state;
    enum nf_status status;
    char *line, quoted[NF_QUOTE_BYTES];

    status = mtx->coordinate ? read_coordinate(file, matrix, err)
                             : read_array(file, matrix, err);
    if (status != NF_OK)
        return status;
    status = next_data_line(file, &line, err);
    if (status == NF_OK)
        return fail_here(file, err, "'%s' behind the last of %llu entries",
                         nf_matrix_quote(line, quoted),
                         (unsigned long long)mtx->entries);
    return status == NF_WAIT ? NF_OK : status;
}

static enum nf_status mtx_write(const struct nf_matrix *matrix,
                                struct nf_output *output, struct nf_error *err)
{
    char *buffer = nf_malloc(BUFFER_BYTES);
    uint64_t entries = matrix->rows * matrix->cols;
    enum nf_status status = NF_OK;
    size_t used;

    if (buffer == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    used = (size_t)snprintf(buffer, BUFFER_BYTES,
                            "%%%%MatrixMarket matrix array real general\n"
                            "%llu %llu\n",
                            (unsigned long long)matrix->rows,
                            (unsigned long long)matrix->cols);
    for (uint64_t k = 0; k < entries && status == NF_OK; k++) {
        used += nf_decimal_print(matrix->data[k], buffer + used);
        buffer[used++] = '\n';
        if (used > BUFFER_BYTES - 2 * NF_DECIMAL_BYTES) {
            status = nf_output_write(output, buffer, used, err);
            used = 0;
        }
    }
    if (status == NF_OK)
        status = nf_output_write(output, buffer, used, err);
    nf_free(buffer);
    return status;
}

const struct nf_matrix_format nf_matrix_format_mtx = {
    .suffix = ".mtx",
    .open = mtx_open,
    .read = mtx_read,
    .write = mtx_write,
};
/* NOLINTEND(clang-analyzer-core.*) */
