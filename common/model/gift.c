/* The giver that is done first. */
#include "config.h"
#include "common/model/gift.h"
#include <math.h>
#include "common/model/network.h"

double nf_gift_us(const struct nf_network *network, uint32_t from, uint32_t to,
                  uint32_t gifts, double bytes)
{
    if (network == NULL || from == to || from >= network->nhosts ||
        to >= network->nhosts)
        return INFINITY;
    return gifts * nf_curve_us(&network->hosts[from].hold, bytes) +
           nf_network_time_us(network, from, to, bytes);
}

bool nf_gift_is_better(const struct nf_gift *one, const struct nf_gift *other)
{
    if (one->is_near != other->is_near)
        return one->is_near;
    if (!one->is_near && (one->us < other->us || one->us > other->us))
        return one->us < other->us;
    return !one->is_near && one->gifts < other->gifts;
}
