/* Reading a segment of a column, through one buffer. */
#include "config.h"
#include "apps/prefix/input.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include "apps/matmul/decimal.h"
#include "apps/prefix/npy_column.h"
#include "common/base/alloc.h"
#include "common/base/error.h"

enum {
    BUFFER_BYTES = 1 << 20,
    LINE_BYTES = 1024, /* numbers have 1100 characters at most, in theory */
    ITEM_BYTES = 8,
    PRINT_BYTES = 4096,
};

struct nf_prefix_input {
    struct nf_prefix_file file;
    int fd;
    char *name;
    struct stat was;
    uint64_t begin, end;           /* of the segment, in bytes of the file */
    uint64_t next;                 /* what is read into the buffer next */
    size_t at, fill;               /* buffer[at, fill) was read and not used */
    char buffer[BUFFER_BYTES + 1]; /* room for a NUL */
};

/* Read up to `bytes` at `offset`; fewer at the end of the file only. */
static bool read_at(int fd, uint64_t offset, char *data, size_t bytes,
                    size_t *got_p)
{
    *got_p = 0;
    while (*got_p < bytes) {
        ssize_t got =
            pread(fd, data + *got_p, bytes - *got_p, (off_t)(offset + *got_p));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return false;
        if (got == 0)
            break;
        *got_p += (size_t)got;
    }
    return true;
}

/* CRC-32 of the first and the last bytes. */
static uint32_t print_of(struct nf_prefix_input *input)
{
    uint64_t size = input->file.file_bytes;
    uint64_t last = size > PRINT_BYTES ? size - PRINT_BYTES : 0;
    unsigned long crc = 0;

    for (int i = 0; i < 2; i++) {
        size_t got = 0;

        (void)read_at(input->fd, i == 0 ? 0 : last, input->buffer, PRINT_BYTES,
                      &got);
        crc = crc32_z(crc, (const unsigned char *)input->buffer, got);
    }
    return (uint32_t)crc;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);

    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static enum nf_status read_npy(struct nf_prefix_input *input,
                               struct nf_error *err)
{
    struct nf_prefix_file *file = &input->file;
    size_t got;

    file->format = NF_PREFIX_NPY;
    if (!read_at(input->fd, 0, input->buffer, BUFFER_BYTES, &got))
        return nf_fail(err, NF_ERR_INVAL, "%s: %s", input->name,
                       strerror(errno));
    if (nf_npy_column_parse(input->buffer, got, file, err) != NF_OK)
        return nf_fail_prefix(err, "%s", input->name);
    if (file->data_bytes != file->file_bytes - file->data_offset)
        return nf_fail(err, NF_ERR_INVAL,
                       "%s: the header says %" PRIu64
                       " numbers, the file has room for %" PRIu64,
                       input->name, file->data_bytes / ITEM_BYTES,
                       (file->file_bytes - file->data_offset) / ITEM_BYTES);
    return NF_OK;
}

static enum nf_status look_at(struct nf_prefix_input *input,
                              struct nf_error *err)
{
    struct nf_prefix_file *file = &input->file;

    if (fstat(input->fd, &input->was) != 0)
        return nf_fail(err, NF_ERR_INVAL, "%s: %s", input->name,
                       strerror(errno));
    if (!S_ISREG(input->was.st_mode))
        return nf_fail(err, NF_ERR_INVAL,
                       "%s: not a regular file (it is read twice, in parts)",
                       input->name);
    file->file_bytes = (uint64_t)input->was.st_size;
    if (file->file_bytes == 0)
        return nf_fail(err, NF_ERR_INVAL, "%s: empty (want a number a line)",
                       input->name);
    file->data_bytes = file->file_bytes;
    file->print = print_of(input);
    if (ends_with(input->name, ".npy"))
        return read_npy(input, err);
    if (file->format == NF_PREFIX_RAW && file->file_bytes % ITEM_BYTES != 0)
        return nf_fail(err, NF_ERR_INVAL,
                       "%s: %" PRIu64
                       " bytes are no whole number of 8-byte numbers",
                       input->name, file->file_bytes);
    return NF_OK;
}

enum nf_status nf_prefix_input_open(const char *path,
                                    enum nf_prefix_format format,
                                    enum nf_prefix_type type,
                                    struct nf_prefix_input **input_p,
                                    struct nf_error *err)
{
    struct nf_prefix_input *input = nf_calloc(1, sizeof(*input));
    enum nf_status status;

    if (input == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    input->file.format = format;
    input->file.type = type;
    input->name = nf_strdup(path);
    input->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (input->name == NULL)
        status = nf_fail(err, NF_ERR_NOMEM, "out of memory");
    else if (input->fd < 0)
        status =
            nf_fail(err, NF_ERR_INVAL, "%.300s: %s", path, strerror(errno));
    else
        status = look_at(input, err);
    if (status != NF_OK) {
        nf_prefix_input_close(input);
        return status;
    }
    nf_prefix_input_seek(input, 0, 1);
    *input_p = input;
    return NF_OK;
}

void nf_prefix_input_close(struct nf_prefix_input *input)
{
    if (input == NULL)
        return;
    if (input->fd >= 0)
        close(input->fd);
    nf_free(input->name);
    nf_free(input);
}

const struct nf_prefix_file *
nf_prefix_input_file(const struct nf_prefix_input *input)
{
    return &input->file;
}

bool nf_prefix_input_is_unchanged(const struct nf_prefix_input *input)
{
    struct stat now;

    return fstat(input->fd, &now) == 0 && now.st_size == input->was.st_size &&
           now.st_mtim.tv_sec == input->was.st_mtim.tv_sec &&
           now.st_mtim.tv_nsec == input->was.st_mtim.tv_nsec;
}

/* rank/ranks of the data, in bytes: floor(bytes rank / ranks) */
static uint64_t cut(const struct nf_prefix_file *file, uint32_t rank,
                    uint32_t ranks)
{
    uint64_t unit = file->format == NF_PREFIX_TEXT ? 1 : ITEM_BYTES;
    uint64_t items = file->data_bytes / unit;

    return file->data_offset +
           (items / ranks * rank + items % ranks * rank / ranks) * unit;
}

void nf_prefix_input_seek(struct nf_prefix_input *input, uint32_t rank,
                          uint32_t ranks)
{
    input->begin = cut(&input->file, rank, ranks);
    input->end = cut(&input->file, rank + 1, ranks);
    input->next = input->begin;
    input->at = input->fill = 0;
    /* The line that begins at `begin` is ours; one that began before is not.
     * Which it is, the character before tells. */
    if (input->file.format == NF_PREFIX_TEXT && input->begin > 0)
        input->next--;
}

/* Where buffer[at] is in the file. */
static uint64_t place(const struct nf_prefix_input *input)
{
    return input->next - (input->fill - input->at);
}

uint64_t nf_prefix_input_position(const struct nf_prefix_input *input)
{
    uint64_t at = place(input);

    return at > input->begin ? at - input->begin : 0;
}

/* Have more of the file behind buffer[at, fill).
 * @retval NF_WAIT  there is no more */
static enum nf_status refill(struct nf_prefix_input *input,
                             struct nf_error *err)
{
    uint64_t end = input->file.data_offset + input->file.data_bytes;
    size_t left = input->fill - input->at, got, want;

    memmove(input->buffer, input->buffer + input->at, left);
    input->at = 0;
    input->fill = left;
    want = BUFFER_BYTES - left;
    if (want > end - input->next)
        want = (size_t)(end - input->next);
    if (want == 0)
        return NF_WAIT;
    if (!read_at(input->fd, input->next, input->buffer + left, want, &got))
        return nf_fail(err, NF_ERR_IO, "%s: cannot read: %s", input->name,
                       strerror(errno));
    if (got < want)
        return nf_fail(err, NF_ERR_IO, "%s: became shorter while it was read",
                       input->name);
    input->next += got;
    input->fill += got;
    return NF_OK;
}

/* ---------------------------------------------------------------------- text
 */

/* The line at buffer[at], without its newline; it is made a string.
 * @retval NF_WAIT  there is none */
static enum nf_status get_line(struct nf_prefix_input *input, char **line_p,
                               size_t *length_p, struct nf_error *err)
{
    char *newline = NULL;
    enum nf_status status = NF_OK;

    for (;;) {
        size_t have = input->fill - input->at;

        newline = memchr(input->buffer + input->at, '\n', have);
        if (newline != NULL || status == NF_WAIT || have > LINE_BYTES)
            break;
        status = refill(input, err);
        if (status < 0)
            return status;
    }
    *line_p = input->buffer + input->at;
    if (newline == NULL && input->at == input->fill)
        return NF_WAIT;
    if (newline == NULL)
        newline = input->buffer + input->fill; /* there is room for it */
    *length_p = (size_t)(newline - *line_p);
    if (*length_p > LINE_BYTES)
        return nf_fail(err, NF_ERR_INVAL,
                       "longer than %d characters (want a number a line)",
                       LINE_BYTES);
    *newline = '\0';
    input->at += *length_p + (newline < input->buffer + input->fill);
    return NF_OK;
}

/* Leave out the line that began before the segment, of any length. */
static enum nf_status skip_line(struct nf_prefix_input *input,
                                struct nf_error *err)
{
    for (;;) {
        enum nf_status status = refill(input, err);
        char *newline;

        if (status != NF_OK)
            return status;
        newline = memchr(input->buffer, '\n', input->fill);
        if (newline != NULL) {
            input->at = (size_t)(newline - input->buffer) + 1;
            return NF_OK;
        }
        input->at = input->fill;
    }
}

static enum nf_status garbage(const char *line, size_t length, const char *want,
                              struct nf_error *err)
{
    char quoted[41];
    size_t shown = length < sizeof(quoted) - 1 ? length : sizeof(quoted) - 1;

    for (size_t i = 0; i < shown; i++)
        quoted[i] = line[i] >= ' ' && line[i] <= '~' ? line[i] : '?';
    quoted[shown] = '\0';
    return nf_fail(err, NF_ERR_INVAL, "\"%s%s\" is not %s", quoted,
                   shown < length ? "..." : "", want);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* [+-] digits, and nothing else; in range */
static bool parse_int(const char *text, const char *end, int64_t *value_p)
{
    char *stop;
    const char *digits = text + (*text == '-' || *text == '+');

    for (const char *c = digits; c < end; c++)
        if (*c < '0' || *c > '9')
            return false;
    errno = 0;
    *value_p = strtoll(text, &stop, 10);
    return digits < end && errno == 0 && stop == end;
}

static enum nf_status parse_line(const char *line, size_t length,
                                 enum nf_prefix_type type,
                                 union nf_prefix_number *number_p,
                                 struct nf_error *err)
{
    const char *first = line, *end = line + length, *stop;

    while (end > first && is_blank(end[-1]))
        end--;
    while (first < end && is_blank(*first))
        first++;
    if (type == NF_PREFIX_I64)
        return first < end && parse_int(first, end, &number_p->i64)
                   ? NF_OK
                   : garbage(line, length, "an integer of 64 bits", err);
    stop = first < end ? nf_decimal_parse(first, &number_p->f64) : NULL;
    if (stop != end || !isfinite(number_p->f64))
        return garbage(line, length, "a finite number", err);
    return NF_OK;
}

static enum nf_status next_text(struct nf_prefix_input *input,
                                union nf_prefix_number *number_p,
                                struct nf_error *err)
{
    char *line;
    size_t length;
    enum nf_status status = NF_OK;

    if (input->fill == 0 && input->next + 1 == input->begin)
        status = skip_line(input, err);
    if (status == NF_OK && place(input) >= input->end)
        status = NF_WAIT;
    if (status == NF_OK)
        status = get_line(input, &line, &length, err);
    if (status != NF_OK)
        return status;
    return parse_line(line, length, input->file.type, number_p, err);
}

/* -------------------------------------------------------------------- binary
 */

static enum nf_status next_binary(struct nf_prefix_input *input,
                                  union nf_prefix_number *number_p,
                                  struct nf_error *err)
{
    uint64_t bits = 0;
    const uint8_t *from;
    enum nf_status status = NF_OK;

    if (place(input) >= input->end)
        return NF_WAIT;
    if (input->fill - input->at < ITEM_BYTES)
        status = refill(input, err);
    if (status != NF_OK)
        return status;
    from = (const uint8_t *)input->buffer + input->at;
    input->at += ITEM_BYTES;
    for (int i = 0; i < ITEM_BYTES; i++)
        bits |= (uint64_t)from[i] << 8 * (input->file.swap ? 7 - i : i);
    memcpy(number_p, &bits, sizeof(bits));
    if (input->file.type == NF_PREFIX_F64 && !isfinite(number_p->f64))
        return nf_fail(err, NF_ERR_INVAL, "%s is not a finite number",
                       isnan(number_p->f64) ? "NaN" : "infinity");
    return NF_OK;
}

enum nf_status nf_prefix_input_next(struct nf_prefix_input *input,
                                    union nf_prefix_number *number_p,
                                    struct nf_error *err)
{
    return input->file.format == NF_PREFIX_TEXT
               ? next_text(input, number_p, err)
               : next_binary(input, number_p, err);
}
