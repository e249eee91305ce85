/* What a number of messages in a row from one host to another really take: whether what
 * one message costs sender, wire and receiver holds of streams.  R, which is of one
 * message at a time and of what a socket buffer holds, is seen where it is most. */
#include "config.h"
#include "apps/nowfarm/probe.h"
#include "apps/nowfarm/stats.h"
#include "common/base/alloc.h"

/* One size; every host gets them once.
 * @param couples  [members / 2 + 1] of a step: the member takes the time
 * @param floods_p  [members] */
static enum nf_status measure_step(struct probe *probe,
                                   const struct probe_outcome *outcome,
                                   uint64_t bytes,
                                   const struct probe_couple *couples,
                                   uint32_t count, struct probe_flood *floods_p)
{
    static struct probe_result result;
    struct probe_act act = { .kind = PROBE_FLOOD,
                             .bytes = (uint32_t)bytes,
                             .count = PROBE_FLOOD_COUNT,
                             .warm = PROBE_FLOOD_WARM,
                             .delay_us = probe_idle_most_us(&outcome->network),
                             .run = PROBE_FLOOD_MESSAGES };
    enum nf_status status = NF_OK;

    for (int own = 0; own < 2; own++) /* rank 0 last, it looks at nobody else */
        for (uint32_t i = 0; i < count && status == NF_OK; i++) {
            act.partner = couples[i].partner;
            if ((couples[i].member == 0) == (own == 1))
                status = probe_start(probe, couples[i].member, &act);
        }
    for (uint32_t i = 0; i < count && status == NF_OK; i++) {
        struct probe_flood *flood = &floods_p[i];

        *flood = (struct probe_flood){ .from = couples[i].partner,
                                       .to = couples[i].member,
                                       .bytes = bytes };
        status = probe_collect(probe, flood->to, &result);
        if (status == NF_OK)
            flood->measured_us = stats_median(result.us, result.count);
        if (status == NF_OK)
            status = probe_plan_flood(&outcome->network, flood);
    }
    return status;
}

enum nf_status probe_measure_floods(struct probe *probe,
                                    const struct probe_outcome *outcome, bool quiet,
                                    struct probe_checks *checks)
{
    struct probe_couple couples[NF_NETWORK_HOSTS_MAX / 2 + 1];
    uint32_t n = outcome->network.nhosts, all = PROBE_CHECK_SIZES * n;
    uint32_t steps = probe_host_steps(n, outcome->alone);
    enum nf_status status = NF_OK;

    checks->floods = nf_calloc(all, sizeof(*checks->floods));
    if (checks->floods == NULL)
        return NF_ERR_NOMEM;
    for (int k = 0; k < PROBE_CHECK_SIZES; k++)
        for (uint32_t s = 0; s < steps && status == NF_OK; s++) {
            uint32_t count = probe_host_step(n, outcome->alone, s, couples);

            probe_show_progress(quiet, "messages in a row to one",
                                (double)checks->nfloods / all);
            status = measure_step(probe, outcome, probe_check_sizes[k], couples,
                                  count, &checks->floods[checks->nfloods]);
            checks->nfloods += count;
        }
    probe_show_progress(quiet, NULL, 0);
    return status;
}
