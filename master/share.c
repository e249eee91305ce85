/* Shared data to slaves: those that are there at the begin get it by a
 * broadcast of a group of master and slaves; who comes later, or was in a
 * broadcast that failed, gets it from one slave that has it, the nearest (by
 * the measured network, if there is one) and least loaded, or from the master.
 * A slave whose group fails says so, so nobody goes without.
 *
 * Where payloads go by reference all that would be more work than it saves. */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/group/over_mesh.h"
#include "common/group/types.h"
#include "common/model/gift.h"
#include "master/engine_internal.h"

/* After a hello the next may take this long to be in the broadcast, and the longer
 * the more it saves: what the data take at 1 Gbit/s; ... */
static const int64_t GRACE_US = 200 * 1000LL, GRACE_MOST_US = 2 * 1000000LL;
/* ... and all so long after the first, or as long as one may, if that is more. */
static const int64_t WAIT_US = 1000 * 1000LL;
enum { FAST_BYTES_US = 125 };
/* Groups that a slave tries before it gets the data from the master. */
enum { TRIES_MOST = 2 };
/* Less is sent sooner than a group is opened. */
enum { LEAST_BYTES = 64 * 1024 };
/* Between slaves of one host there is no wire to save, and copies in its memory
 * are the faster the fewer processes take turns: measured with two processors,
 * 128 MiB take 0.2 s to two slaves and 0.4 s to four directly, and 0.6 s to
 * either by a broadcast. */
enum { ONE_HOST_MOST_BYTES = 32 << 20 };

static bool uses_groups(const struct engine *e)
{
    return !e->config->transport->by_reference && e->emulated == NULL &&
           e->shared->bytes >= LEAST_BYTES;
}

static void send_directly(struct engine *e, uint32_t peer)
{
    struct nf_msg msg = { .kind = NF_MSG_SHARED, .payload = e->shared };

    e->slaves[peer].share_id = 0;
    e->slaves[peer].awaits_shared = false;
    nf_engine_send(e, peer, &msg);
    e->report.bytes_out += e->shared->bytes;
}

/* ------------------------------------------------------------- the broadcast
 */

void nf_gather_close_shared(struct engine *e)
{
    nf_request_free(e->gather.share_request);
    nf_group_close(e->gather.sharing);
    e->gather.share_request = NULL;
    e->gather.sharing = NULL;
}

static int64_t grace_us(const struct engine *e)
{
    uint64_t data_us = e->shared->bytes / FAST_BYTES_US;
    uint64_t more_us = (uint64_t)(GRACE_MOST_US - GRACE_US);

    return GRACE_US + (int64_t)(data_us < more_us ? data_us : more_us);
}

/* Is anybody still to come in time? */
static bool is_time(const struct engine *e, int64_t now_us)
{
    int64_t grace = grace_us(e);

    if (nf_arrivals_waited(&e->said_hello, grace,
                           grace > WAIT_US ? grace : WAIT_US, now_us))
        return true;
    for (uint32_t i = 0; i < e->nspawns; i++)
        if (e->spawns[i].missing > 0)
            return false;
    return e->hosts_pending == 0;
}

struct nf_coll_query nf_share_query(const struct engine *e, uint32_t count)
{
    return (struct nf_coll_query){
        .op = NF_COLL_BCAST,
        .ranks = count,
        .bytes = e->shared->bytes,
        .elements = e->shared->bytes / nf_type_bytes(e->app->shared_type),
        .commutative = true,
        .memory_bytes = e->memory_bytes,
    };
}

/* For the report. */
static void note_broadcast(struct engine *e, uint32_t slaves)
{
    const char *algorithm = nf_request_algorithm(e->gather.share_request);

    nf_log(NF_LOG_INFO, "shared data to %u slaves by %s", slaves, algorithm);
    snprintf(e->report.shared_algorithm, sizeof(e->report.shared_algorithm),
             "%s", algorithm);
    e->report.shared_slaves = slaves;
    e->report.shared_bytes = e->shared->bytes;
    e->gather.share_missing = slaves;
}

static enum nf_status start_broadcast(struct engine *e, const uint32_t *members,
                                      uint32_t count, struct nf_error *err)
{
    struct nf_group_msg m = { .purpose = NF_GROUP_SHARED,
                              .bytes = e->shared->bytes };
    struct nf_call call = {
        .kind = NF_CALL_BCAST,
        .recv = e->shared->data,
        .count = e->shared->bytes / nf_type_bytes(e->app->shared_type),
        .type = nf_elem_of(e->app->shared_type),
    };
    enum nf_status status;

    status =
        nf_gather_open_group(e, members, count, &m, &e->gather.sharing, err);

    for (uint32_t i = 1; i < count && status == NF_OK; i++)
        e->slaves[members[i]].share_id = m.id;
    /* to start it may be to send all of it */
    e->gather.share_began_us = nf_now_us();
    if (status == NF_OK)
        status =
            nf_group_start(e->gather.sharing, &call, &e->gather.share_request);
    if (status == NF_OK)
        note_broadcast(e, count - 1);
    return status;
}

static bool pays(const struct engine *e, const uint32_t *members,
                 uint32_t count)
{
    bool hosts = false;

    for (uint32_t i = 2; i < count; i++)
        hosts =
            hosts || e->slaves[members[i]].host != e->slaves[members[1]].host;
    return count > 2 && (hosts || e->shared->bytes <= ONE_HOST_MOST_BYTES);
}

static void broadcast(struct engine *e)
{
    uint32_t *members = nf_malloc(((size_t)e->nslaves + 1) * sizeof(*members));
    uint32_t count = 1;
    struct nf_error err = { .text = "" };

    e->gather.shared_once = true;
    if (members == NULL) {
        nf_engine_end(e, NF_ERR_NOMEM, "out of memory");
        return;
    }
    members[0] = NF_NO_PEER;
    for (uint32_t i = 0; i < e->nslaves; i++) {
        if (!e->slaves[i].awaits_shared || e->slaves[i].state != SLAVE_NEW)
            continue;
        e->slaves[i].awaits_shared = false;
        members[count++] = i;
    }
    if (pays(e, members, count) &&
        start_broadcast(e, members, count, &err) == NF_OK) {
        e->report.bytes_out += e->shared->bytes;
    } else {
        nf_gather_close_shared(e);
        for (uint32_t i = 1; i < count; i++)
            send_directly(e, members[i]);
    }
    nf_free(members);
}

/* Some slave of the broadcast has yet to say how it went. */
static bool any_in_broadcast(const struct engine *e)
{
    for (uint32_t i = 0; i < e->nslaves; i++)
        if (e->slaves[i].state == SLAVE_NEW && e->slaves[i].share_id != 0)
            return true;
    return false;
}

void nf_gather_shared_turn(struct engine *e)
{
    struct gather *g = &e->gather;
    enum nf_status status;

    if (!g->shared_once && g->share_wanted && is_time(e, nf_now_us()))
        broadcast(e);
    if (g->sharing == NULL)
        return;
    status = nf_group_progress(g->sharing);
    if (g->share_request == NULL) {
        /* what comes of a group that was given up nobody takes any more */
        if (status < 0 || !any_in_broadcast(e))
            nf_gather_close_shared(e);
        return;
    }
    status = nf_request_test(g->share_request);
    if (status == NF_WAIT)
        return;
    if (status < 0) { /* who has not got it will say so */
        nf_log(NF_LOG_INFO, "the broadcast failed: %s",
               nf_group_error(g->sharing)->text);
        nf_gather_close_shared(e);
        return;
    }
    nf_request_free(g->share_request);
    g->share_request = NULL;
}

/* ---------------------------------------------------------------- one by one
 */

/* Gifts on their way out of a host: they share its wire. */
static uint32_t gifts_of(const struct engine *e, uint32_t host)
{
    uint32_t gifts = 0;

    for (uint32_t i = 0; i < e->nslaves; i++)
        gifts += e->slaves[i].giving && e->slaves[i].host == host;
    return gifts;
}

/* Of the measured network; nhosts: it was not measured, as all are not if there
 * is none. */
static uint32_t measured_host(const struct engine *e, uint32_t host)
{
    return e->network.nhosts > 0
               ? nf_network_find(&e->network, e->hosts[host].name)
               : 0;
}

uint32_t nf_share_find_holder(const struct engine *e, uint32_t peer,
                              int64_t now_us)
{
    const struct nf_network *network =
        e->network.nhosts > 0 ? &e->network : NULL;
    const struct slave *to = &e->slaves[peer];
    uint32_t found = NF_NO_PEER, to_host = measured_host(e, to->host);
    struct nf_gift best = { .us = INFINITY };

    for (uint32_t i = 0; i < e->nslaves; i++) {
        const struct slave *s = &e->slaves[i];
        struct nf_gift gift = { .is_near = s->host == to->host };

        if (i == peer || s->state != SLAVE_READY || s->giving ||
            now_us - s->heard_us > e->options->heartbeat_timeout_us / 3)
            continue;
        gift.gifts = gifts_of(e, s->host);
        gift.us = network != NULL
                      ? nf_gift_us(network, measured_host(e, s->host), to_host,
                                   gift.gifts, (double)e->shared->bytes)
                      : INFINITY;
        if (found == NF_NO_PEER || nf_gift_is_better(&gift, &best)) {
            found = i;
            best = gift;
        }
    }
    return found;
}

static void send_to_one(struct engine *e, uint32_t peer, int64_t now_us)
{
    struct slave *slave = &e->slaves[peer];
    struct nf_group_msg m = { .purpose = NF_GROUP_SHARED,
                              .bytes = e->shared->bytes };
    uint32_t members[2] = { NF_NO_PEER, peer };
    struct nf_group *none;
    struct nf_error err = { .text = "" };

    if (slave->share_tries++ < TRIES_MOST && e->gather.state == GATHER_NONE) {
        nf_network_read_once(e);
        members[0] = nf_share_find_holder(e, peer, now_us);
    }
    if (members[0] == NF_NO_PEER ||
        nf_gather_open_group(e, members, 2, &m, &none, &err) != NF_OK) {
        send_directly(e, peer);
        return;
    }
    nf_log(NF_LOG_INFO, "%s gets the shared data of %s%s", slave->label,
           e->slaves[members[0]].label,
           e->network.nhosts > 0 ? ", by the network" : "");
    slave->share_id = m.id;
    slave->source = members[0];
    e->slaves[members[0]].giving = true;
}

void nf_share_end(struct engine *e, uint32_t peer)
{
    struct slave *slave = &e->slaves[peer];

    if (slave->share_id != 0 && slave->source != NF_NO_PEER)
        e->slaves[slave->source].giving = false;
    slave->share_id = 0;
    slave->source = NF_NO_PEER;
}

const char *nf_share_done(struct engine *e, uint32_t peer, int64_t now_us)
{
    struct slave *slave = &e->slaves[peer];
    bool by_all = slave->share_id != 0 && slave->source == NF_NO_PEER;

    nf_share_end(e, peer);
    if (!by_all)
        return NULL;
    if (--e->gather.share_missing == 0)
        e->report.shared_s = (double)(now_us - e->gather.share_began_us) * 1e-6;
    return e->report.shared_algorithm;
}

void nf_share_to(struct engine *e, uint32_t peer, int64_t now_us)
{
    struct slave *slave = &e->slaves[peer];

    slave->source = NF_NO_PEER;
    if (!uses_groups(e)) {
        send_directly(e, peer);
    } else if (e->gather.shared_once) {
        send_to_one(e, peer, now_us);
    } else {
        slave->awaits_shared = true;
        slave->share_tries = 1;
        e->gather.share_wanted = true;
    }
}

bool nf_gather_shared_failed(struct engine *e, uint32_t peer,
                             const struct nf_group_end_msg *m, int64_t now_us)
{
    struct slave *slave = &e->slaves[peer];

    if (slave->share_id == m->id) {
        nf_log(NF_LOG_INFO, "%s has no shared data yet: %s", slave->label,
               m->reason);
        nf_share_end(e, peer);
        if (slave->state == SLAVE_NEW)
            send_to_one(e, peer, now_us);
        return true;
    }
    for (uint32_t i = 0; i < e->nslaves; i++)
        if (e->slaves[i].share_id == m->id)
            return true; /* a source: the other end will say it too */
    return false;
}
