#ifndef NF_APPS_NOWFARM_TREE_SVG_H
#define NF_APPS_NOWFARM_TREE_SVG_H
/** @file tree_svg.h  A picture of any multicast tree: the tree itself, and
 *  below it a row for each node with its sends and their arrivals against time,
 *  or with all that a message in segments keeps busy. */
#include <stdio.h>
#include "common/tree/busy.h"
#include "common/tree/tree.h"

/** More nodes than that nobody could tell apart. */
enum { TREE_SVG_NODES_MAX = 1024, TREE_SVG_LABEL_BYTES = 24 };

/** Borrowed until tree_svg() returns.  Times are in the caller's unit. */
struct tree_picture {
    const struct nf_tree *tree;
    const char *title, *subtitle;
    const char *time_label; /**< of the axis, "time [us]" */
    /** NULL: one message, each send of which is shown; else start and free are
     *  not looked at. */
    const struct nf_busy *busy;
    const double *start; /**< [nodes]: when v's parent began to send to v */
    const double *free;  /**< [nodes]: until when that kept the parent busy */
    const double *ready; /**< [nodes]: when v has the message */
    /** [nodes], or NULL: their numbers */
    char (*label)[TREE_SVG_LABEL_BYTES];
};

/** How many columns nf_busy_make() is to have for a picture: some of two
 * pixels, fewer if there are so many nodes that the file would become large. */
uint32_t tree_svg_columns(uint32_t nodes);

/** Write it; whether that worked ferror(@p to) says.
 *  @retval NF_ERR_NOMEM */
enum nf_status tree_svg(FILE *to, const struct tree_picture *picture);
#endif
