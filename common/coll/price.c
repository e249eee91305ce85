/* Prices of a message and of combining. */
#include "config.h"
#include "common/coll/coll.h"

double nf_price_send_us(const struct nf_coll_price *price, double bytes)
{
    uint32_t i = price->npieces - 1;

    while (i > 0 && bytes < price->pieces[i].from_bytes)
        i--;
    return price->pieces[i].start_us + price->pieces[i].byte_us * bytes;
}

double nf_price_combine_us(const struct nf_coll_price *price, double bytes)
{
    return price->combine_byte_us * bytes;
}
