/* What is due by the clock: pings, slaves that never got ready, the begin of
 * the farm, the end when no slave is left, word of the progress. */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "master/engine_internal.h"

static const int64_t PING_US = 1000000;
/* While the application takes its time slaves hear of us this often: they wait
 * for 7 s, a call may take a few, and as nothing is read meanwhile there is
 * credit for 19 pings only where leases have used up the rest. */
static const int64_t COMPANY_US = 2000000;
/* In less than this nothing that slaves send gets old. */
static const int64_t DEAF_US = 1000;
/* With nothing to read twice in this time, all is there that was on its way at
 * the first look: in libpvm by half, or in a pvmd. */
static const int64_t DRY_US = 250000;
/* Nobody is taken for alive for longer because messages never cease. */
static const int64_t UNREAD_MOST_US = 60 * 1000000LL;
/* A slave that was spawned must say hello within this. */
static const int64_t HELLO_LIMIT_US = 30 * 1000000LL;
/* With no slave for this long, though some may come back, the job ends. */
static const int64_t ALONE_LIMIT_US = 60 * 1000000LL;

/* How much longer than it seems somebody may have been heard of. */
static int64_t unread_us(const struct engine *e)
{
    return e->unread_us < UNREAD_MOST_US ? e->unread_us : UNREAD_MOST_US;
}

static void check_new(struct engine *e, uint32_t peer, int64_t now_us)
{
    struct slave *slave = &e->slaves[peer];

    if (slave->joined ||
        (slave->state != SLAVE_NEW && slave->state != SLAVE_READY) ||
        now_us - unread_us(e) - slave->heard_us <=
            e->options->heartbeat_timeout_us)
        return;
    nf_engine_notice(e, "%s left out: silent since it was started",
                     slave->label);
    if (slave->state == SLAVE_READY) {
        e->ready_slaves--;
        e->ready_slots -= slave->nslots;
    }
    slave->state = SLAVE_GONE;
    nf_share_end(e, peer);
    nf_members_count_out(e, slave);
    nf_net_drop(e->net, peer, true);
}

static void check_spawns(struct engine *e, int64_t now_us)
{
    for (uint32_t i = 0; i < e->nspawns; i++) {
        struct spawn *spawn = &e->spawns[i];
        struct host *host = &e->hosts[spawn->host];

        if (spawn->missing == 0 ||
            now_us - unread_us(e) - spawn->since_us < HELLO_LIMIT_US)
            continue;
        nf_engine_notice(e, "host %s left out: %u slaves not heard of for 30 s",
                         host->name, spawn->missing);
        host->alive -= nf_members_spawn_settled(e, i, spawn->missing);
        host->given_up = true;
    }
}

static bool any_in_state(const struct engine *e, enum slave_state state)
{
    for (uint32_t i = 0; i < e->nslaves; i++)
        if (e->slaves[i].state == state)
            return true;
    return false;
}

static bool any_on_its_way(const struct engine *e)
{
    for (uint32_t i = 0; i < e->nspawns; i++)
        if (e->spawns[i].missing > 0)
            return true;
    return e->hosts_pending > 0 || any_in_state(e, SLAVE_NEW);
}

/* All slaves are silent: try fresh ones where the host still counts as up. */
static void replace_silent(struct engine *e, int64_t now_us)
{
    for (uint32_t i = 0; i < e->nslaves; i++)
        if (e->slaves[i].state == SLAVE_SILENT)
            nf_members_count_out(e, &e->slaves[i]);
    for (uint32_t i = 0; i < e->nhosts; i++)
        nf_members_respawn(e, i, now_us);
}

/* Is there still hope for the job? */
static void check_alone(struct engine *e, int64_t now_us)
{
    int64_t alone_us;
    struct nf_farm_stats stats = { 0 };

    if (e->live_slaves > 0 || (e->farm == NULL && e->ready_slaves > 0) ||
        any_on_its_way(e)) {
        e->no_slave_since_us = 0;
        return;
    }
    if (e->no_slave_since_us == 0)
        e->no_slave_since_us = now_us;
    alone_us = now_us - unread_us(e) - e->no_slave_since_us;
    if (any_in_state(e, SLAVE_SILENT) && alone_us < ALONE_LIMIT_US) {
        if (alone_us > e->options->heartbeat_timeout_us)
            replace_silent(e, now_us);
        return;
    }
    if (e->farm == NULL) {
        nf_engine_end(e, NF_ERR_UNREACHABLE, "no slave could be started%s%s",
                      e->last_reason[0] != '\0' ? ": " : "", e->last_reason);
        return;
    }
    nf_farm_get_stats(e->farm, &stats);
    nf_engine_end(e, NF_ERR_FAILED,
                  "no slave is left, %" PRIu64 " of %" PRIu64
                  " units are done%s%s",
                  stats.done, stats.units,
                  e->last_reason[0] != '\0' ? "; last: " : "", e->last_reason);
}

/* Ping slaves that have not been sent anything since `before_us`. */
static void ping(struct engine *e, int64_t before_us)
{
    static const struct nf_msg msg = { .kind = NF_MSG_PING };

    for (uint32_t i = 0; i < e->nslaves; i++)
        if (e->slaves[i].state != SLAVE_GONE &&
            e->slaves[i].spoken_us <= before_us)
            nf_engine_send(e, i, &msg);
}

void nf_members_ping(struct engine *e, int64_t now_us)
{
    ping(e, now_us - PING_US);
}

bool nf_members_keep_company(struct engine *e)
{
    int64_t now_us;

    if (nf_engine_stop_asked(e))
        return false;
    now_us = nf_now_us();
    if (now_us - e->company_us >= COMPANY_US) {
        e->company_us = now_us;
        ping(e, now_us); /* all: what they were sent may still wait here */
    }
    return e->status == NF_OK;
}

static void set_unread(struct engine *e, int64_t us)
{
    e->unread_us = us;
    if (e->farm != NULL)
        nf_farm_set_unread(e->farm, unread_us(e));
}

void nf_members_were_unheard(struct engine *e, int64_t deaf_us)
{
    if (deaf_us < DEAF_US)
        return;
    set_unread(e, e->unread_us + deaf_us);
    /* what half a message lacked was not read in that time */
    if (deaf_us >= DRY_US && e->dry_us != 0)
        e->dry_us += deaf_us;
}

void nf_members_are_quiet(struct engine *e, int64_t now_us)
{
    if (e->unread_us == 0)
        return;
    if (e->dry_us == 0) {
        e->dry_us = now_us;
        e->before_dry_us = e->unread_us;
    } else if (now_us - e->dry_us >= DRY_US) {
        e->dry_us = 0;
        set_unread(e, e->unread_us - e->before_dry_us);
    }
}

void nf_members_tell_progress(struct engine *e, int64_t now_us)
{
    struct nf_progress p = {
        .units = e->app->units,
        .slaves = e->live_slaves,
        .slots = e->live_slots,
        .elapsed_us = e->began_us > 0 ? now_us - e->began_us : 0,
    };
    struct nf_farm_stats stats;

    if (e->farm != NULL) {
        nf_farm_get_stats(e->farm, &stats);
        p.done = stats.done - e->uncollected_units;
        if (e->phases > 1) {
            p.units *= e->phases;
            p.done = stats.phases_done - e->uncollected_units;
        }
        p.failed = stats.given_up;
    }
    e->progress_us = now_us;
    e->options->progress(e->options->user, &p);
}

void nf_members_tick(struct engine *e, int64_t now_us)
{
    for (uint32_t i = 0; i < e->nslaves; i++)
        if (e->slaves[i].state != SLAVE_GONE)
            check_new(e, i, now_us);
    nf_members_ping(e, now_us);
    check_spawns(e, now_us);
    if (e->farm == NULL && nf_members_time_to_begin(e, now_us))
        nf_members_begin(e, now_us);
    if (!e->done)
        check_alone(e, now_us);
    if (!e->done && e->status == NF_OK && e->options->progress != NULL &&
        now_us - e->progress_us >= e->options->progress_every_us)
        nf_members_tell_progress(e, now_us);
}
