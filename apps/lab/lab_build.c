/* nowfarm lab up, hub, down. */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include "apps/lab/lab_up.h"
#include "apps/lab/lab_verbs.h"
#include "apps/nowfarm/cli.h"
#include "common/base/error.h"
#include "common/base/units.h"

static int switch_on(const struct lab_request *r, struct lab_config *config,
                     uint64_t rate_bps)
{
    struct nf_error err;

    config->private_tmp = r->private_tmp;
    for (unsigned i = 0; i < config->nhosts; i++) {
        config->hosts[i].rate_bps = rate_bps;
        config->hosts[i].latency_us = r->latency_us;
    }
    return lab_up(&r->lab, config, r->program, &err) == NF_OK
               ? NF_EXIT_OK
               : nf_failure(&err);
}

/* The arguments N and RATE; RATE NULL is no limit. */
static int read_size(const struct lab_request *r, struct lab_config *config_p,
                     uint64_t *rate_bps_p)
{
    const char *rate = r->nargs > 1 ? r->args[1] : NULL;
    uint64_t n;
    int status =
        nf_read_count("lab up: N", r->args[0], 1, LAB_MAX_HOSTS - 1, &n);

    if (status != NF_EXIT_OK)
        return status;
    memset(config_p, 0, sizeof(*config_p));
    config_p->nhosts = (unsigned)n + 1;
    config_p->frames = r->frames;
    *rate_bps_p = 0;
    if (rate != NULL && nf_parse_rate_bps(rate, rate_bps_p) != NF_OK)
        return nf_usage_error("lab: rate %s: want 8kbit to 100gbit, as 100mbit",
                              rate);
    return NF_EXIT_OK;
}

int lab_verb_up(const struct lab_request *r)
{
    struct lab_config config;
    uint64_t rate_bps;
    int status = read_size(r, &config, &rate_bps);

    return status != NF_EXIT_OK ? status : switch_on(r, &config, rate_bps);
}

int lab_verb_hub(const struct lab_request *r)
{
    struct lab_config config;
    uint64_t medium_bps;
    int status = read_size(r, &config, &medium_bps);

    if (status != NF_EXIT_OK)
        return status;
    config.hub = true;
    config.medium_bps = medium_bps;
    return switch_on(r, &config, 0);
}

static int switch_off(const struct lab *lab, void *arg)
{
    bool *was_up_p = arg;
    struct nf_error err;

    return lab_down(lab, was_up_p, &err) == NF_OK ? NF_EXIT_OK
                                                  : nf_failure(&err);
}

int lab_verb_down(const struct lab_request *r)
{
    bool was_up = false;
    int status;

    if (r->all)
        return lab_each(switch_off, &was_up);
    status = switch_off(&r->lab, &was_up);
    if (status == NF_EXIT_OK && !was_up)
        fprintf(stderr, "nowfarm: lab %s was not up\n", r->lab.name);
    return status;
}
