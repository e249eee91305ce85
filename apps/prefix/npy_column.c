#include "config.h"
#include "apps/prefix/npy_column.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/base/error.h"
#include "common/base/units.h"

enum { HEADER_MAX = 4096 };

/* What follows "'key':" in the dictionary, blanks skipped; NULL: no such key */
static const char *find_value(const char *dictionary, const char *key)
{
    char quoted[32];
    const char *at;

    snprintf(quoted, sizeof(quoted), "'%s'", key);
    at = strstr(dictionary, quoted);
    if (at == NULL)
        return NULL;
    at += strlen(quoted);
    at += strspn(at, " ");
    if (*at++ != ':')
        return NULL;
    return at + strspn(at, " ");
}

/* (N,) or (N, 1) */
static bool parse_shape(const char *text, uint64_t *rows_p)
{
    char digits[24];
    size_t length;

    if (*text++ != '(')
        return false;
    length = strspn(text, "0123456789");
    if (length == 0 || length >= sizeof(digits))
        return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    text += length;
    if (nf_parse_count(digits, 0, UINT64_MAX / 8, rows_p) != NF_OK ||
        *text++ != ',')
        return false;
    text += strspn(text, " ");
    if (*text == '1') {
        text++;
        text += *text == ',';
    }
    return *text == ')';
}

static enum nf_status parse_dictionary(const char *dictionary,
                                       struct nf_prefix_file *file,
                                       struct nf_error *err)
{
    const char *descr = find_value(dictionary, "descr");
    const char *shape = find_value(dictionary, "shape");
    uint64_t rows;

    if (descr == NULL || shape == NULL ||
        find_value(dictionary, "fortran_order") == NULL)
        return nf_fail(err, NF_ERR_INVAL,
                       "its header lacks 'descr', 'fortran_order' or 'shape'");
    if (strncmp(descr, "'<f8'", 5) != 0 && strncmp(descr, "'>f8'", 5) != 0 &&
        strncmp(descr, "'<i8'", 5) != 0 && strncmp(descr, "'>i8'", 5) != 0)
        return nf_fail(err, NF_ERR_INVAL,
                       "numbers of type %.12s (want '<f8', '>f8', '<i8' or "
                       "'>i8')",
                       descr);
    if (!parse_shape(shape, &rows))
        return nf_fail(
            err, NF_ERR_INVAL,
            "shape %.*s is not one column (want (N,) or (N, 1))",
            (int)strcspn(shape, "}\n") > 40 ? 40 : (int)strcspn(shape, "}\n"),
            shape);
    if (rows == 0)
        return nf_fail(err, NF_ERR_INVAL, "has no numbers");
    file->swap = descr[1] == '>';
    file->type = descr[2] == 'f' ? NF_PREFIX_F64 : NF_PREFIX_I64;
    file->data_bytes = rows * 8;
    return NF_OK;
}

enum nf_status nf_npy_column_parse(const char *head, size_t bytes,
                                   struct nf_prefix_file *file,
                                   struct nf_error *err)
{
    const uint8_t *at = (const uint8_t *)head;
    char dictionary[HEADER_MAX + 1];
    size_t begin, length;

    if (bytes < 12 || memcmp(head, "\x93NUMPY", 6) != 0)
        return nf_fail(err, NF_ERR_INVAL, "not a NumPy file");
    if (at[6] < 1 || at[6] > 3)
        return nf_fail(err, NF_ERR_INVAL,
                       "NumPy format %u.%u (want 1.0, 2.0 or 3.0)", at[6],
                       at[7]);
    begin = at[6] == 1 ? 10 : 12;
    length = (size_t)at[8] | (size_t)at[9] << 8;
    if (at[6] > 1)
        length |= (size_t)at[10] << 16 | (size_t)at[11] << 24;
    if (length > bytes - begin)
        return nf_fail(err, NF_ERR_INVAL,
                       "its header ends after the file, or is longer than "
                       "1 MiB");
    if (length > HEADER_MAX)
        return nf_fail(err, NF_ERR_INVAL,
                       "a header of %zu bytes (want at most %d)", length,
                       HEADER_MAX);
    memcpy(dictionary, head + begin, length);
    dictionary[length] = '\0';
    for (size_t i = 0; i < length; i++)
        if ((uint8_t)dictionary[i] < ' ' || (uint8_t)dictionary[i] > '~')
            dictionary[i] = dictionary[i] == '\n' ? '\n' : '?';
    file->data_offset = begin + length;
    return parse_dictionary(dictionary, file, err);
}

void nf_npy_rows_print(uint64_t rows, uint32_t cols,
                       char head[NF_NPY_ROWS_BYTES])
{
    char text[NF_NPY_ROWS_BYTES];
    int length =
        snprintf(text, sizeof(text),
                 "{'descr': '<f8', 'fortran_order': False, 'shape': (%" PRIu64
                 ", %u), }",
                 rows, cols);

    memset(head, ' ', NF_NPY_ROWS_BYTES);
    memcpy(head, "\x93NUMPY\x01\x00\x76\x00", 10);
    memcpy(head + 10, text, (size_t)length);
    head[NF_NPY_ROWS_BYTES - 1] = '\n';
}
