#ifndef NF_COLL_WISH_H
#define NF_COLL_WISH_H
/** @file wish.h  An algorithm as users ask for it: its full name, and what it
 *  is to take, in any order:
 *
 *      bcast.pipeline.fd:k=16            segments, of algorithms that have such
 *      alltoall.bruck:radix=4            of algorithms that have one
 *      alltoall.mixed:radices=3x2x3      lowest digit first
 *      alltoall.dh:shape=4x6             the grid that the ranks are
 *
 *  Also understood, and written as above: bruck:r=4, khop:k=3, mixed:r=3/2/3,
 *  split_merge:merge0 for split_merge0, dh:shape=3x5 for mdh:shape=3x5, and other
 *  names (nf_coll_find()). */
#include "common/coll/select.h"

struct nf_coll_wish {
    const struct nf_coll_algorithm *algorithm;
    uint64_t segments; /**< 0: not said */
    struct nf_coll_params params;
};

/** Read a wish.  Whether it is for so many ranks nf_coll_fits() says.
 *  @retval NF_ERR_INVAL  no such algorithm, or it has no such parameter, or
 * that is no number */
enum nf_status nf_coll_wish_read(const char *text, struct nf_coll_wish *wish_p,
                                 struct nf_error *err);

/** The same for so many ranks: without a shape, too, dh is mdh where it has to be. */
enum nf_status nf_coll_wish_read_for(const char *text, uint32_t ranks,
                                     struct nf_coll_wish *wish_p,
                                     struct nf_error *err);

/** What stands for @p algorithm on such rings: dh is for rings of any size; what does odd
 *  ones is mdh, which does even ones as dh does.
 *  @param shape  count 0: one ring of so many
 *  @param ranks  0: not known */
const struct nf_coll_algorithm *
nf_coll_for_rings(const struct nf_coll_algorithm *algorithm,
                  const struct nf_coll_sides *shape, uint32_t ranks);

/** Write it; nothing more than the name if nothing is said. */
void nf_coll_wish_write(const struct nf_coll_wish *wish, char *text_p,
                        size_t bytes);

/** Read sides or radices, "3x4x5": 1 to NF_COLL_SIDES_MAX counts up to
 *  NF_COLL_RANKS_MAX.  @return false: they are none */
bool nf_coll_sides_read(const char *text, struct nf_coll_sides *sides_p);
#endif
