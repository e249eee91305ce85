/* Tables for people, and the one rule that CSV has. */
#include "config.h"
#include "apps/nowfarm/table.h"
#include <stdarg.h>
#include <string.h>
#include "common/base/alloc.h"

void table_init(struct table *table, unsigned ncolumns, bool prose)
{
    *table = (struct table){ .ncolumns = ncolumns, .prose = prose };
}

void table_fini(struct table *table)
{
    for (unsigned i = 0; i < table->nrows; i++)
        nf_free(table->labels[i]);
    nf_free(table->labels);
    nf_free(table->cells);
    *table = (struct table){ .ncolumns = 0 };
}

enum nf_status table_add_row(struct table *table, const char *label)
{
    size_t n = table->nrows, row_cells = table->ncolumns;
    char *copy = nf_strdup(label);
    char **labels = nf_realloc(table->labels, (n + 1) * sizeof(*labels));
    char(*cells)[TABLE_CELL_BYTES];

    if (labels != NULL)
        table->labels = labels;
    cells = nf_realloc(table->cells, (n + 1) * row_cells * sizeof(*cells));
    if (cells != NULL)
        table->cells = cells;
    if (copy == NULL || labels == NULL || cells == NULL) {
        nf_free(copy);
        return NF_ERR_NOMEM;
    }
    table->labels[n] = copy;
    memset(table->cells[n * row_cells], 0, row_cells * sizeof(*cells));
    table->nrows++;
    return NF_OK;
}

static char *cell(const struct table *table, unsigned row, unsigned column)
{
    return table->cells[(size_t)row * table->ncolumns + column];
}

void table_set(struct table *table, unsigned column, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(cell(table, table->nrows - 1, column), TABLE_CELL_BYTES, format,
              args);
    va_end(args);
}

/* Characters of UTF-8: bytes that do not continue one. */
static unsigned width_of(const char *text)
{
    unsigned n = 0;

    for (; *text != '\0'; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static void pad(unsigned n, FILE *to)
{
    while (n-- > 0)
        fputc(' ', to);
}

/* The width of each column; of the first one, without labels that are too
 * long. */
static void measure(const struct table *table, unsigned widest,
                    unsigned *width_p)
{
    memset(width_p, 0, table->ncolumns * sizeof(*width_p));
    for (unsigned i = 0; i < table->nrows; i++) {
        for (unsigned j = 0; j < table->ncolumns; j++) {
            unsigned w =
                width_of(j == 0 ? table->labels[i] : cell(table, i, j));

            if (w > width_p[j] && (j > 0 || w <= widest))
                width_p[j] = w;
        }
    }
}

static void print_row(const struct table *table, unsigned row,
                      const unsigned *width, FILE *to)
{
    unsigned label = width_of(table->labels[row]), last = 0, owed;

    for (unsigned j = 1; j < table->ncolumns; j++)
        if (cell(table, row, j)[0] != '\0')
            last = j;
    fputs(table->labels[row], to);
    if (label > width[0] && last > 0) {
        fputc('\n', to);
        label = 0;
    }
    owed = label < width[0] ? width[0] - label : 0;
    for (unsigned j = 1; j <= last; j++) {
        const char *text = cell(table, row, j);
        bool left = table->prose && j + 1 == table->ncolumns;

        pad(owed + 2 + (left ? 0 : width[j] - width_of(text)), to);
        fputs(text, to);
        owed = left ? width[j] - width_of(text) : 0;
    }
    fputc('\n', to);
}

void table_print(const struct table *table, unsigned widest, FILE *to)
{
    unsigned width[TABLE_COLUMNS_MAX];

    measure(table, widest, width);
    for (unsigned i = 0; i < table->nrows; i++)
        print_row(table, i, width, to);
}

void table_print_csv(const char *text, FILE *to)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, to);
        return;
    }
    fputc('"', to);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', to);
        fputc(*text, to);
    }
    fputc('"', to);
}
