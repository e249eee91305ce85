#ifndef NF_APPS_NOWFARM_TREE_REPORT_H
#define NF_APPS_NOWFARM_TREE_REPORT_H
/** @file tree_report.h  What nowfarm tree says of a tree for hosts that are
 * alike: as text, as JSON and as a picture. */
#include "common/tree/uniform.h"
#include "sim/mesh.h"

/** Times of users may have so many decimals: they count in thousandths. */
enum { TREE_TIME_SCALE = 1000 };

struct tree_report {
    const struct nf_uniform_algorithm *algorithm;
    struct nf_uniform uniform; /**< in thousandths of the user's unit */
    struct nf_tree tree;
    int64_t *ready;      /**< [tree.nodes], in thousandths */
    struct nf_mesh mesh; /**< dims 0: nodes have no addresses */
    uint32_t *place;     /**< [tree.nodes]: in the mesh, or NULL */
};

/** @return the exit status */
int tree_report_text(const struct tree_report *report);
int tree_report_json(const struct tree_report *report);

/** Draw it.  @param path  ends with .svg
 *  @retval NF_ERR_INVAL, NF_ERR_IO, NF_ERR_NOMEM */
enum nf_status tree_report_draw(const struct tree_report *report,
                                const char *path, struct nf_error *err);
#endif
