/* Prices of a message and of combining, and how they come of a model. */
#include "config.h"
#include "common/coll/select.h"
#include <math.h>

_Static_assert((int)NF_PRICE_PIECES_MAX >= (int)NF_MODEL_PIECES_MAX,
               "a price has room for a model");

double nf_price_send_us(const struct nf_coll_price *price, double bytes)
{
    uint32_t i = price->npieces - 1;

    while (i > 0 && bytes < price->pieces[i].from_bytes)
        i--;
    return price->pieces[i].start_us + price->pieces[i].byte_us * bytes;
}

double nf_price_stream_us(const struct nf_coll_price *price, double bytes,
                          uint32_t count)
{
    double send_us = nf_price_send_us(price, bytes);
    double link_us = send_us - nf_price_send_us(price, 0);

    return send_us + (count - 1) * fmax(price->occupancy_us, link_us);
}

double nf_price_blocks_us(const struct nf_coll_price *price, double bytes,
                          uint32_t count)
{
    double busy_us = nf_price_send_us(price, bytes) +
                     (count - 1) * price->occupancy_us;
    double link_us = nf_price_send_us(price, count * bytes);

    return fmin(nf_price_stream_us(price, bytes, count), fmax(busy_us, link_us));
}

double nf_price_sequence_us(const struct nf_coll_price *price, double bytes,
                            uint32_t count)
{
    if (price->occupancy_us > 0)
        return nf_price_stream_us(price, bytes, count);
    return count * nf_price_send_us(price, bytes);
}

double nf_price_relay_us(const struct nf_coll_price *price, double bytes)
{
    double send_us = nf_price_send_us(price, bytes);

    if (price->occupancy_us <= 0)
        return send_us;
    return fmin(send_us, 2 * price->occupancy_us + send_us -
                             nf_price_send_us(price, 0));
}

double nf_price_combine_us(const struct nf_coll_price *price, double bytes)
{
    return price->combine_byte_us * bytes;
}

static void set_pieces(struct nf_coll_price *price,
                       const struct nf_model_piece *pieces, uint32_t count)
{
    price->npieces = count;
    for (uint32_t i = 0; i < count; i++) {
        price->pieces[i].from_bytes = pieces[i].from_bytes;
        price->pieces[i].start_us = pieces[i].start_us;
        price->pieces[i].byte_us = pieces[i].byte_us;
    }
}

struct nf_coll_network nf_coll_network_of(const struct nf_model *model,
                                          const char *type,
                                          const char *operation)
{
    struct nf_coll_network network = {
        .price.occupancy_us = model->occupancy_us,
        .share_us = model->share_us,
        .copy_byte_us = model->copy_byte_us,
        .delta = model->delta,
    };

    set_pieces(&network.price, model->pieces, model->npieces);
    set_pieces(&network.near, model->near, model->nnear);
    if (type != NULL)
        network.price.combine_byte_us = network.near.combine_byte_us =
            nf_model_combine_byte_us(model, type, operation);
    return network;
}

void nf_coll_network_spread(struct nf_coll_network *network,
                            const uint32_t *hosts, uint32_t ranks)
{
    network->hosts = 0;
    network->fullest = nf_model_fullest(hosts, ranks);
    network->least = nf_model_least_full(hosts, ranks);
    for (uint32_t r = 0; r < ranks && hosts != NULL; r++) {
        uint32_t first = 0;

        while (hosts[first] != hosts[r])
            first++;
        network->hosts += first == r;
    }
}

double nf_coll_near_occupancy_us(const struct nf_coll_network *network)
{
    double far_us = nf_price_send_us(&network->price, 0);
    double near_us = nf_price_send_us(&network->near, 0);

    return near_us < far_us
               ? network->price.occupancy_us * (near_us / far_us)
               : network->price.occupancy_us;
}

void nf_coll_network_within(struct nf_coll_network *network)
{
    double occupancy_us;

    if (network->near.npieces == 0)
        return;
    occupancy_us = nf_coll_near_occupancy_us(network);
    network->price = network->near;
    network->price.occupancy_us = occupancy_us;
    network->near.npieces = 0;
    network->is_shared = false;
}
