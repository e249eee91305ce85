#ifndef NF_APPS_NOWFARM_COLL_WANTED_H
#define NF_APPS_NOWFARM_COLL_WANTED_H
/** @file coll_wanted.h  Which calls by which algorithms `nowfarm coll-bench` is
 *  asked for. */
#include "apps/nowfarm/coll_bench.h"
#include "common/coll/wish.h"

/** Sizes of an operation: a barrier has one, 0. */
unsigned coll_size_count(const struct coll_options *options,
                         enum nf_coll_op op);
uint64_t coll_size_of(const struct coll_options *options, enum nf_coll_op op,
                      unsigned i);

/** Is @p algorithm asked for, and can it serve @p query? */
bool coll_is_wanted(const struct coll_options *options,
                    const struct nf_coll_algorithm *algorithm,
                    const struct nf_coll_query *query);

/** Those of one call that are to be measured: auto, then each algorithm that is
 *  asked for.  Of all-to-alls by all of them also those with parameters: mixed by each
 *  of the radices that are best for some size, and what goes along the rings of a torus
 *  on the squarest grid of so many ranks.
 *  @return how many, COLL_WISHES_MAX at most */
enum { COLL_WISHES_MAX = 128 };
unsigned coll_list_wishes(const struct coll_options *options,
                          const struct nf_coll_query *query,
                          struct nf_coll_wish wishes_p[COLL_WISHES_MAX]);

/** Can the algorithm that is asked for by name, if one is, serve every call
 *  that is asked for?  Who shares a host does not matter: that is seen when it
 *  is called.
 *  @param members  of a group if options do not say how many; 0: not known yet
 *  @retval NF_ERR_INVAL  err says which it can't */
enum nf_status coll_check_served(const struct coll_options *options,
                                 uint32_t members, struct nf_error *err);

/** @return NF_ERR_INVAL: the algorithm asked for can't serve @p query */
enum nf_status coll_not_served(const struct nf_coll_algorithm *algorithm,
                               const struct nf_coll_query *query,
                               struct nf_error *err);
#endif
