/* Slaves end, fall silent, come back; and what they printed. */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "master/engine_internal.h"

/* What it had been handed and not answered in full. */
static uint64_t units_of(const struct slave *slave)
{
    uint64_t units = 0;

    for (uint32_t i = 0; i < slave->nslots; i++) {
        const struct slot *s = &slave->slots[i];

        for (uint32_t k = 0; k < s->count; k++)
            units += s->flights[(s->first + k) % s->capacity].units;
    }
    return units;
}

static void tell_loss(struct engine *e, uint32_t peer, const char *why)
{
    const struct slave *slave = &e->slaves[peer];
    uint64_t units = units_of(slave);
    struct nf_report *r = &e->report;

    if (r->nlost < NF_REPORT_LOST) {
        struct nf_report_lost *lost = &r->lost[r->nlost++];

        lost->slave = peer;
        snprintf(lost->host, sizeof(lost->host), "%s",
                 e->hosts[slave->host].name);
    }
    nf_log(NF_LOG_INFO, "lost %s: %" PRIu64 " units returned", slave->label,
           units);
    nf_engine_notice(e, "lost %s, which %s: %" PRIu64 " units go to others",
                     slave->label, why, units);
}

void nf_members_respawn(struct engine *e, uint32_t index, int64_t now_us)
{
    struct host *host = &e->hosts[index];

    if (e->done || e->stopping || host->given_up || !host->up ||
        host->alive >= host->want)
        return;
    if (host->deaths > e->options->max_attempts + 2) {
        host->given_up = true;
        nf_engine_notice(e,
                         "host %s left out: %u slaves died there without one "
                         "result",
                         host->name, host->deaths);
        return;
    }
    nf_members_spawn_on(e, index, host->want - host->alive, now_us);
}

/* One that had the job, and was to be ready soon: lost as any other, though the
 * farm has not heard of it.  Without shared data nothing lies between the job
 * and READY but the start of its own program, and what fails there is told as
 * trouble of its host; so is what was refused. */
static void left_early(struct engine *e, uint32_t peer, enum slave_state before)
{
    bool lost = before == SLAVE_READY || e->shared != NULL;

    if (!lost || e->done || e->stopping ||
        e->hosts[e->slaves[peer].host].given_up)
        return;
    e->lost_early++;
    tell_loss(e, peer, "ended before it was given units");
}

void nf_members_left(struct engine *e, uint32_t peer, int64_t now_us)
{
    struct slave *slave = &e->slaves[peer];
    struct host *host = &e->hosts[slave->host];
    enum slave_state before = slave->state;
    enum nf_loss loss = slave->timed_out ? NF_LOSS_TIMEOUT : NF_LOSS_EXITED;
    uint64_t given_up = e->given_up_units;
    struct nf_actions actions;

    if (before == SLAVE_GONE)
        return;
    slave->state = SLAVE_GONE;
    nf_share_end(e, peer);
    nf_members_count_out(e, slave);
    host->deaths++;
    if (before == SLAVE_READY && slave->joined) {
        e->live_slaves--;
        e->live_slots -= slave->nslots;
        tell_loss(e, peer,
                  slave->timed_out ? "ended over a unit that overran its time"
                                   : "ended unexpectedly");
        nf_trace_lost(e->trace, now_us, peer,
                      slave->timed_out ? "timeout" : "exited");
        nf_account_reset(slave, now_us);
        if (nf_farm_lost(e->farm, slave->farm_id,
                         host->up ? loss : NF_LOSS_SILENT, now_us,
                         &actions) == NF_ERR_NOMEM)
            nf_engine_end(e, NF_ERR_NOMEM, "out of memory");
        else
            nf_traffic_act(e, &actions, NULL, now_us);
        /* it was the unit's fault, not the host's */
        if (e->given_up_units > given_up)
            host->deaths = 0;
    } else if (before == SLAVE_READY) {
        e->ready_slaves--;
        e->ready_slots -= slave->nslots;
        left_early(e, peer, before);
    } else {
        snprintf(e->last_reason, sizeof(e->last_reason), "%s ended early",
                 slave->label);
        if (before == SLAVE_NEW)
            left_early(e, peer, before);
    }
    /* the units' inputs for others may have taken long to make */
    nf_members_respawn(e, slave->host, nf_now_us());
}

void nf_members_silent(struct engine *e, uint32_t farm_id)
{
    uint32_t peer;
    struct slave *slave = nf_members_find(e, farm_id, &peer);

    if (slave == NULL || slave->state != SLAVE_READY)
        return;
    slave->state = SLAVE_SILENT;
    slave->asked = false;
    e->live_slaves--;
    e->live_slots -= slave->nslots;
    tell_loss(e, peer, "is silent");
    nf_trace_lost(e->trace, nf_now_us(), peer, "silent");
    nf_net_drop(e->net, peer, false);
}

void nf_members_heard_again(struct engine *e, uint32_t peer)
{
    static const struct nf_msg revoke = { .kind = NF_MSG_REVOKE };

    if (!e->slaves[peer].asked)
        nf_engine_send(e, peer, &revoke);
    e->slaves[peer].asked = true;
}

void nf_members_back(struct engine *e, uint32_t peer, int64_t now_us)
{
    if (e->done)
        return;
    if (nf_gather_is_out(e, &e->hosts[e->slaves[peer].host])) {
        nf_net_drop(e->net, peer, true);
        e->slaves[peer].state = SLAVE_GONE;
        nf_members_count_out(e, &e->slaves[peer]);
        return;
    }
    nf_members_count_in(e, &e->slaves[peer]); /* it may have been replaced */
    nf_engine_notice(e, "%s is back", e->slaves[peer].label);
    nf_members_join(e, peer, now_us);
}

void nf_members_name_missing(struct engine *e)
{
    for (uint32_t i = 0; i < e->nhosts && e->hosts_pending > 0; i++)
        if (!e->hosts[i].up && !e->hosts[i].given_up)
            nf_engine_notice(e,
                             "host %s left out: not in the virtual machine by "
                             "the end of the job",
                             e->hosts[i].name);
}

/* ------------------------------------------------------------------ output */

static void print_line(struct engine *e, const char *label, const char *line)
{
    if (e->options->output != NULL)
        e->options->output(e->options->user, label, line);
    else
        fprintf(stderr, "%s: %s\n", label, line);
}

void nf_members_output(struct engine *e, uint32_t peer, const char *text)
{
    struct slave *slave = peer < e->nslaves ? &e->slaves[peer] : NULL;
    const char *label = slave != NULL ? slave->label : "slave";
    char line[8192];

    while (*text != '\0') {
        size_t bytes = strcspn(text, "\n");
        const char *begun =
            slave != NULL && slave->partial != NULL ? slave->partial : "";

        snprintf(line, sizeof(line), "%s%.*s", begun, (int)bytes, text);
        if (slave != NULL) {
            nf_free(slave->partial);
            slave->partial = NULL;
        }
        text += bytes;
        if (*text == '\0' && slave != NULL && strlen(line) < 4096) {
            slave->partial = nf_strdup(line);
            return;
        }
        print_line(e, label, line);
        text += *text == '\n';
    }
}

void nf_members_flush_output(struct engine *e, struct slave *slave)
{
    if (slave->partial != NULL && slave->partial[0] != '\0')
        print_line(e, slave->label, slave->partial);
    nf_free(slave->partial);
    slave->partial = NULL;
}
