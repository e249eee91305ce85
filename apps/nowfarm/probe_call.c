/* What broadcasts of a byte take beyond their messages. */
#include "config.h"
#include "apps/nowfarm/probe.h"

/* How the times grow with wake_us depends on who is the last to be woken, and
 * that on wake_us: so it is found a few times. */
enum { TIMES = 3 };

static enum nf_status price_with(struct nf_network *network, double wake_us,
                                 probe_price *price, uint32_t number,
                                 double *us_p)
{
    network->call_us = 0;
    network->wake_us = wake_us;
    return price(network, number, us_p);
}

enum nf_status probe_set_call(struct nf_network *network, const double *us,
                              probe_price *price)
{
    double wake_us = 0;

    for (int time = 0; time < TIMES; time++) {
        struct nf_call_time calls[PROBE_CALLS] = { { .us = 0 } };
        enum nf_status status = NF_OK;

        for (uint32_t k = 0; k < PROBE_CALLS && status == NF_OK; k++) {
            double messages_us = 0, longer_us = 0;

            status = price_with(network, wake_us, price, k, &messages_us);
            if (status == NF_OK)
                status = price_with(network, wake_us + 1, price, k, &longer_us);
            calls[k].us = us[k];
            calls[k].hops = longer_us - messages_us;
            calls[k].messages_us = messages_us - wake_us * calls[k].hops;
        }
        if (status != NF_OK)
            return status;
        nf_network_set_call(network, calls, PROBE_CALLS);
        wake_us = network->wake_us;
    }
    return NF_OK;
}
