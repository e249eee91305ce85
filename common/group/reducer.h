#ifndef NF_GROUP_REDUCER_H
#define NF_GROUP_REDUCER_H
/** @file reducer.h  Results of an application as something that a group can
 *  reduce.  The master takes part, and has no result: so each element of the
 *  vector that travels says in its first number whether it is one. */
#include <stdbool.h>
#include "nowfarm_group.h"

struct nf_reducer {
    const struct nf_app *app;
    size_t bytes;       /**< of a result */
    size_t unit_bytes;  /**< of a number */
    size_t block_bytes; /**< of a result in one element: all, or some */
    size_t count;       /**< elements of the vector */
};

/** Can results of @p app be combined?
 *  @retval NF_ERR_INVAL  err says why not */
enum nf_status nf_reducer_check(const struct nf_app *app, struct nf_error *err);
/** @param bytes  of a result, > 0
 *  @retval NF_ERR_INVAL  no whole number of elements
 *  @retval NF_ERR_RANGE  too many for nf_app.combine: a group takes no larger
 *                        elements; see nf_reducer_most_bytes() */
enum nf_status nf_reducer_init(struct nf_reducer *r, const struct nf_app *app,
                               size_t bytes);
/** @return the largest result that can be combined */
size_t nf_reducer_most_bytes(const struct nf_app *app);
/** inout := inout combined with in; @p bytes: a whole number of elements.
 *  nf_app.combine is called by one thread of the process at a time. */
void nf_reducer_combine(const struct nf_app *app, void *inout, const void *in,
                        size_t bytes);
/** Bytes of the vector. */
size_t nf_reducer_vector_bytes(const struct nf_reducer *r);
/** @param result  NULL: none    @param vector_p  [nf_reducer_vector_bytes()] */
void nf_reducer_pack(const struct nf_reducer *r, const void *result,
                     uint8_t *vector_p);
/** Combine block @p i of @p result, which is in one element, with what is there
 *  in the vector; that began as zeros.  @param result  [bytes] */
void nf_reducer_add(const struct nf_reducer *r, const void *result, size_t i,
                    uint8_t *vector);
/** @param result_p  [bytes]  @return false: nobody had a result */
bool nf_reducer_unpack(const struct nf_reducer *r, const uint8_t *vector,
                       uint8_t *result_p);
/** Make the vector's type and operator known to a group; @p r must stay as long
 *  as that. */
enum nf_status nf_reducer_define(struct nf_reducer *r, struct nf_group *group,
                                 int *type_p, int *op_p);
#endif
