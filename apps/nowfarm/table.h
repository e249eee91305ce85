#ifndef NF_APPS_NOWFARM_TABLE_H
#define NF_APPS_NOWFARM_TABLE_H
/** @file table.h  Text tables with aligned columns. */
#include <stdbool.h>
#include <stdio.h>
#include "nowfarm.h"

enum { TABLE_COLUMNS_MAX = 16, TABLE_CELL_BYTES = 80 };

/** The first column is flush left, and so is the last one if it is prose;
 *  numbers between them are flush right. */
struct table {
    unsigned ncolumns;
    bool prose; /**< of the last column */
    unsigned nrows;
    char (*cells)[TABLE_CELL_BYTES]; /**< [row][column] */
    char **labels;                   /**< [row]; of any length */
};

/** An empty table of 1 to TABLE_COLUMNS_MAX columns. */
void table_init(struct table *table, unsigned ncolumns, bool prose);
void table_fini(struct table *table);

/** Begin a row with @p label (copied) and empty cells.
 *  @retval NF_ERR_NOMEM  the table is as before */
enum nf_status table_add_row(struct table *table, const char *label);
/** Fill a cell of the last row, @p column >= 1; longer text is cut. */
void table_set(struct table *table, unsigned column, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Print it, columns two spaces apart, no spaces at the end of lines.  A label
 *  longer than @p widest columns gets a line of its own.  Width is counted in
 *  characters (UTF-8). */
void table_print(const struct table *table, unsigned widest, FILE *to);

/** Print @p text as a field of a CSV file, in quotes if it needs them.
 *  Source: RFC 4180. */
void table_print_csv(const char *text, FILE *to);
#endif
