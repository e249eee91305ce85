#ifndef NF_APPS_NOWFARM_PLOT_H
#define NF_APPS_NOWFARM_PLOT_H
/** @file plot.h  Pictures, drawn by gnuplot, which is needed for nothing else:
 *  SVG or PNG by the suffix of the file's name. */
#include <stdbool.h>
#include <stddef.h>
#include "nowfarm.h"

enum plot_kind {
    PLOT_BOXES, /**< a row for each series: its values as points, their middle
                     half as a box, and the median */
    PLOT_LINES, /**< a line for each series, y against x */
};

/** Values that are not finite are left out. */
struct plot_series {
    const char *label;
    const double *x; /**< BOXES: the values */
    const double *y; /**< LINES only */
    size_t n;
    const char *note; /**< BOXES: at the right end of the row; may be NULL */
};

/** Everything is borrowed until plot_write() returns.  Texts may hold any
 *  characters; labels are broken into lines if they are long. */
struct plot {
    enum plot_kind kind;
    const char *title, *subtitle;  /**< subtitle may be NULL */
    const char *x_label, *y_label; /**< with the unit; BOXES has no y_label */
    const struct plot_series *series; /**< first on top, or first in the key */
    size_t nseries;
    double mark;            /**< BOXES: a line at this x, LINES: at this y;
                                 NAN for none */
    const char *mark_label; /**< what it is */
    bool log_x, log_y;      /**< LINES only; then values must be > 0 */
};

/** Could a picture be written to @p path?  Runs gnuplot once, for its version.
 *  @retval NF_ERR_INVAL  its suffix is neither .svg nor .png, or no file can be
 *                        written there, or there is no gnuplot */
enum nf_status plot_check(const char *path, struct nf_error *err);

/** Draw @p plot and write it, completely or not at all.
 *  @retval NF_ERR_INVAL   as plot_check()
 *  @retval NF_ERR_FAILED  gnuplot failed; err has its last line
 *  @retval NF_ERR_IO, NF_ERR_NOMEM */
enum nf_status plot_write(const struct plot *plot, const char *path,
                          struct nf_error *err);
#endif
