/* Prices of a message and of combining. */
#include "config.h"
#include "common/coll/coll.h"
#include <math.h>

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
