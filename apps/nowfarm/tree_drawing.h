#ifndef NF_APPS_NOWFARM_TREE_DRAWING_H
#define NF_APPS_NOWFARM_TREE_DRAWING_H
/** @file tree_drawing.h  Where things are in a picture of a tree: for
 *  tree_svg*.c only. */
#include "apps/nowfarm/tree_svg.h"

/** Pixels. */
enum {
    TREE_SVG_WIDTH = 1200,
    TREE_SVG_LEFT = 90,
    TREE_SVG_RIGHT = 40,
    TREE_SVG_PLOT = TREE_SVG_WIDTH - TREE_SVG_LEFT - TREE_SVG_RIGHT
};

/** Lower rows have no room for a name. */
#define TREE_SVG_LEGIBLE_ROW 9.0

struct drawing {
    FILE *to;
    const struct tree_picture *p;
    uint32_t *walk;  /**< [nodes], parents before children */
    uint32_t *row;   /**< [nodes]: where in walk[] */
    uint32_t *depth; /**< [nodes] */
    double *x;       /**< [nodes]: in the tree */
    uint32_t deepest, leaves;
    double circle, level_height, row_height;
    double rows_top, rows_end, height;
    double last, end; /**< times: the last node is ready; the axis ends */
};

static inline double tree_svg_x(const struct drawing *d, double time)
{
    return TREE_SVG_LEFT + (d->end > 0 ? time / d->end : 0) * TREE_SVG_PLOT;
}

/** The middle of a node's row. */
static inline double tree_svg_y(const struct drawing *d, uint32_t v)
{
    return d->rows_top + (d->row[v] + 0.5) * d->row_height;
}

void tree_svg_text(FILE *to, const char *text);
void tree_svg_label(const struct drawing *d, uint32_t v);

/** The legend and the rows of picture->busy. */
void tree_svg_busy_legend(const struct drawing *d);
void tree_svg_busy_rows(const struct drawing *d);
#endif
