/* Joining and combining, a piece at a time. */
#include "config.h"
#include "slave/offer.h"
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"

enum { PIECE_BYTES = 1 << 20 };

void nf_offer_clear(struct nf_offer *offer)
{
    nf_free(offer->units);
    nf_free(offer->vector);
    nf_blob_unref(offer->joined);
    memset(offer, 0, sizeof(*offer));
}

/* Add up the sizes. */
static void measure(struct nf_offer *offer)
{
    offer->one_size = true;
    for (uint64_t i = 0; i < offer->count; i++) {
        offer->bytes += offer->units[i].bytes;
        if (offer->units[i].bytes != offer->units[0].bytes)
            offer->one_size = false;
    }
}

/* Room for the result that all are combined to, if they can be. */
static enum nf_status begin_combining(struct nf_offer *offer)
{
    if (!offer->one_size)
        return NF_OK;
    offer->bytes = offer->units[0].bytes;
    if (nf_reducer_init(&offer->reducer, offer->app, (size_t)offer->bytes) !=
        NF_OK)
        return NF_OK;
    /* zeros that nobody has to write, if it is large */
    offer->vector = nf_calloc(1, nf_reducer_vector_bytes(&offer->reducer));
    offer->busy = offer->vector != NULL;
    return offer->busy ? NF_OK : NF_ERR_NOMEM;
}

static enum nf_status begin_joining(struct nf_offer *offer)
{
    offer->one_size = false; /* say all sizes */
    offer->joined =
        nf_blob_create((size_t)offer->bytes, offer->app->result_type);
    offer->busy = offer->joined != NULL;
    return offer->busy ? NF_OK : NF_ERR_NOMEM;
}

enum nf_status nf_offer_begin(struct nf_offer *offer, const struct nf_app *app,
                              bool combine, struct nf_held *held,
                              const struct nf_gather_msg *m)
{
    enum nf_status status;

    nf_offer_clear(offer);
    status = nf_held_pick(held, m, &offer->units, &offer->count);
    if (status != NF_OK)
        return status;
    offer->app = app;
    offer->round = m->round;
    measure(offer);
    status = combine ? begin_combining(offer) : begin_joining(offer);
    if (status != NF_OK)
        nf_offer_clear(offer);
    return status;
}

/* A block of a result is combined with what there is.
 * @return false: that was the last block of it */
static bool combine_piece(struct nf_offer *offer)
{
    nf_reducer_add(&offer->reducer, offer->units[offer->next].data,
                   offer->piece, offer->vector);
    return offer->piece + 1 < offer->reducer.count;
}

static bool join_piece(struct nf_offer *offer)
{
    const struct nf_held_unit *unit = &offer->units[offer->next];
    size_t begin = offer->piece * PIECE_BYTES, bytes = unit->bytes - begin;

    if (bytes > PIECE_BYTES)
        bytes = PIECE_BYTES;
    if (bytes > 0)
        memcpy((uint8_t *)offer->joined->data + offer->at_bytes,
               unit->data + begin, bytes);
    offer->at_bytes += bytes;
    return begin + bytes < unit->bytes;
}

enum nf_status nf_offer_work(struct nf_offer *offer, int64_t slice_us)
{
    int64_t end_us = nf_now_us() + slice_us;

    while (offer->busy) {
        bool more =
            offer->vector != NULL ? combine_piece(offer) : join_piece(offer);

        offer->piece = more ? offer->piece + 1 : 0;
        offer->next += !more;
        offer->busy = offer->next < offer->count;
        if (offer->busy && nf_now_us() >= end_us)
            return NF_WAIT;
    }
    return NF_OK;
}

enum nf_status nf_offer_put(struct nf_offer *offer, struct nf_body *body_p)
{
    struct nf_holding_msg m = {
        .round = offer->round,
        .count = offer->count,
        .bytes = offer->bytes,
        .layout.unit_bytes = offer->one_size ? offer->bytes : NF_LAYOUT_TABLE,
    };
    uint64_t *sizes = NULL;
    enum nf_status status;

    if (!offer->one_size) {
        sizes = nf_malloc((size_t)offer->count * sizeof(*sizes));
        if (sizes == NULL)
            return NF_ERR_NOMEM;
        for (uint64_t i = 0; i < offer->count; i++)
            sizes[i] = offer->units[i].bytes;
    }
    status = nf_put_holding(body_p, &m, sizes);
    nf_free(sizes);
    nf_free(offer->units);
    offer->units = NULL;
    return status;
}
