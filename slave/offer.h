#ifndef NF_SLAVE_OFFER_H
#define NF_SLAVE_OFFER_H
/** @file offer.h  What a slave gives in a gather: the results that count, one
 *  behind the other, or combined to one.  It is made in slices, as that may
 * take long and the master must hear of us meanwhile. */
#include "common/group/reducer.h"
#include "slave/held.h"

/** Zero-initialise it. */
struct nf_offer {
    uint64_t round; /**< of the gather; 0: there is no offer */
    bool busy;      /**< it is not ready: nf_offer_work() */
    bool one_size;  /**< say no table of sizes: combined, if they can be */
    uint64_t count; /**< units */
    uint64_t bytes; /**< of all, or of the combined result */
    struct nf_blob *joined; /**< what is given: all, or NULL */
    uint8_t *vector;        /**< ... or combined, for reducer; or NULL */
    struct nf_reducer reducer;
    /* inside */
    const struct nf_app *app;
    struct nf_held_unit *units; /* [count] until the offer is told */
    uint64_t next;              /* unit to be worked in */
    size_t piece, at_bytes;     /* of that unit; in `joined` */
};

/** Take up what @p m asks for.  Results that can't be combined (sizes that
 *  differ, none at all) are no error here: the master hears of it.
 *  @param app, held  borrowed until the offer is cleared
 *  @retval NF_ERR_FAILED  one of the units is not here
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_offer_begin(struct nf_offer *offer, const struct nf_app *app,
                              bool combine, struct nf_held *held,
                              const struct nf_gather_msg *m);
/** Go on for @p slice_us, or a single piece if that takes longer: a mebibyte, a
 *  block of results to be combined, or one call of nf_app.combine.
 *  @retval NF_OK    it is ready
 *  @retval NF_WAIT  there is more to do */
enum nf_status nf_offer_work(struct nf_offer *offer, int64_t slice_us);
/** @param body_p  HOLDING: what there is.  Call it once.
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_offer_put(struct nf_offer *offer, struct nf_body *body_p);
/** Forget it; it is as if zero-initialised then. */
void nf_offer_clear(struct nf_offer *offer);
#endif
