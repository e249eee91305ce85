#include "config.h"
#include "master/arrivals.h"

void nf_arrivals_note(struct nf_arrivals *arrivals, int64_t now_us)
{
    if (!arrivals->any)
        arrivals->first_us = now_us;
    arrivals->any = true;
    arrivals->last_us = now_us;
}

bool nf_arrivals_waited(const struct nf_arrivals *arrivals, int64_t grace_us,
                        int64_t most_us, int64_t now_us)
{
    return arrivals->any && (now_us - arrivals->last_us >= grace_us ||
                             now_us - arrivals->first_us >= most_us);
}
