/* Bringing home results that slaves keep.  The farm says when, and for which
 * units; here is only carried out:
 *
 *     ASKING   each holder is told which of its units count (GATHER), and says
 *              how many bytes that is (HOLDING)
 *     MOVING   a group of master and holders does a gatherv or a reduce
 *
 * What has come is handed to the application by collect.c.
 *
 * A holder that is lost ends it (the farm abandons it), and so does a group
 * that fails; then the farm asks again.  Nothing here waits. */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/group/over_mesh.h"
#include "common/group/types.h"
#include "master/engine_internal.h"

enum {
    /* Failures with the same holders, before the ones to blame are put out. */
    FAILURES_MOST = 3,
    /* After so much combining the engine gets a turn. */
    SLICE_US = 10000,
};

/* ------------------------------------------------------------- the holders */

static void free_members(struct gather *g)
{
    for (uint32_t i = 0; i < g->nmembers; i++) {
        nf_free(g->members[i].ranges);
        nf_free(g->members[i].sizes);
    }
    nf_free(g->members);
    g->members = NULL;
    g->nmembers = 0;
}

static void close_group(struct gather *g)
{
    nf_request_free(g->request);
    nf_group_close(g->group);
    g->request = NULL;
    g->group = NULL;
    nf_free(g->counts);
    nf_free(g->data);
    g->counts = NULL;
    g->data = NULL;
}

/* A phase of each holder, in the trace. */
static void record(struct engine *e, bool ends, int64_t now_us)
{
    const char *name =
        e->gather.state == GATHER_EXCHANGING ? "exchange" : "gather";

    for (uint32_t i = 0; i < e->gather.nmembers; i++) {
        const struct gather_member *m = &e->gather.members[i];
        const struct slave *slave = &e->slaves[m->peer];

        if (slave->state == SLAVE_READY) /* else it was lost, which ends it */
            nf_trace_phase(
                e->trace, now_us,
                &(struct nf_trace_phase){ .slave = m->peer,
                                          .name = name,
                                          .host = e->hosts[slave->host].name,
                                          .algorithm = e->gather.algorithm,
                                          .ends = ends });
    }
}

/* Whatever becomes of it, it is not under way any more. */
void nf_gather_end(struct engine *e, int64_t now_us)
{
    struct gather *g = &e->gather;

    if (g->state == GATHER_NONE)
        return;
    close_group(g);
    record(e, true, now_us);
    g->algorithm = NULL;
    free_members(g);
    nf_account_moved(e, now_us);
    g->state = GATHER_NONE;
}

void nf_gather_record_begin(struct engine *e, int64_t now_us)
{
    record(e, false, now_us);
}

struct gather_member *nf_gather_find_member(struct gather *g, uint32_t peer)
{
    for (uint32_t i = 0; i < g->nmembers; i++)
        if (g->members[i].peer == peer)
            return &g->members[i];
    return NULL;
}

struct gather_member *nf_gather_add_member(struct gather *g, uint32_t peer)
{
    struct gather_member *m;

    if ((g->nmembers & (g->nmembers - 1)) == 0) { /* 0, 1, 2, 4, ... */
        size_t capacity = g->nmembers == 0 ? 1 : 2 * (size_t)g->nmembers;

        m = nf_realloc(g->members, capacity * sizeof(*m));
        if (m == NULL)
            return NULL;
        g->members = m;
    }
    m = &g->members[g->nmembers++];
    *m = (struct gather_member){ .peer = peer };
    return m;
}

static bool add_range(struct gather_member *m,
                      const struct nf_held_range *range)
{
    if (m->nranges == m->capacity) {
        uint64_t capacity = m->capacity == 0 ? 16 : 2 * m->capacity;
        uint64_t *ranges =
            capacity > SIZE_MAX / 16
                ? NULL
                : nf_realloc(m->ranges, (size_t)capacity * 2 * sizeof(*ranges));

        if (ranges == NULL)
            return false;
        m->ranges = ranges;
        m->capacity = capacity;
    }
    m->ranges[2 * m->nranges] = range->first;
    m->ranges[2 * m->nranges + 1] = range->count;
    m->nranges++;
    m->units += range->count;
    return true;
}

/* Who holds what.  @return false: out of memory */
static bool list_holders(struct engine *e)
{
    struct gather *g = &e->gather;
    struct nf_held_range range;
    uint32_t *number = nf_malloc(e->nslaves * sizeof(*number));
    uint64_t from = 0;
    bool ok = number != NULL;

    for (uint32_t i = 0; ok && i < e->nslaves; i++)
        number[i] = UINT32_MAX;
    for (; ok && nf_farm_next_held(e->farm, from, &range);
         from = range.first + range.count) {
        uint32_t peer = e->peer_of[range.slave];

        if (number[peer] == UINT32_MAX) {
            ok = nf_gather_add_member(g, peer) != NULL;
            number[peer] = g->nmembers - 1;
        }
        ok = ok && add_range(&g->members[number[peer]], &range);
    }
    nf_free(number);
    return ok;
}

static void ask(struct engine *e, const struct gather_member *m)
{
    struct nf_gather_msg gather = { .round = e->gather.round,
                                    .nranges = m->nranges };
    struct nf_msg msg = { .kind = NF_MSG_GATHER };

    if (nf_put_gather(&e->body, &gather, m->ranges) != NF_OK) {
        nf_engine_end(e, NF_ERR_NOMEM, "out of memory for a message");
        return;
    }
    msg.body = e->body.data;
    msg.body_bytes = e->body.bytes;
    nf_engine_send(e, m->peer, &msg);
}

void nf_gather_begin(struct engine *e, int64_t now_us)
{
    struct gather *g = &e->gather;

    nf_gather_end(e, now_us);
    g->state = GATHER_ASKING;
    g->began_us = now_us;
    e->gathered_from_us = now_us;
    g->round++;
    e->report.gathers++;
    if (!list_holders(e)) {
        nf_engine_end(e, NF_ERR_NOMEM, "out of memory for the gather");
        return;
    }
    g->awaited = g->nmembers;
    nf_log(NF_LOG_INFO, "gather %" PRIu64 ": from %u slaves", g->round,
           g->nmembers);
    record(e, false, now_us);
    for (uint32_t i = 0; i < g->nmembers && e->status == NF_OK; i++)
        ask(e, &g->members[i]);
}

/* A host whose slaves are lost in gather after gather gets no new ones: else
 * the job might never end.  Several in one gather count once. */
static void count_lost_holder(struct engine *e, uint32_t peer)
{
    struct host *host = &e->hosts[e->slaves[peer].host];

    if (host->lost_in_round == e->gather.round)
        return;
    host->lost_in_round = e->gather.round;
    host->gathers_lost++;
    if (!nf_gather_is_out(e, host) || host->given_up)
        return;
    host->given_up = true;
    nf_engine_notice(e,
                     "host %s gets no new slaves: %u %s failed by the loss of "
                     "slaves there",
                     host->name, host->gathers_lost,
                     e->phases > 1 ? "exchanges" : "gathers");
}

bool nf_gather_is_out(const struct engine *e, const struct host *host)
{
    return host->gathers_lost > e->options->max_attempts + 2;
}

static void lose_holder(struct engine *e, uint32_t peer)
{
    if (e->gather.state == GATHER_EXCHANGING)
        nf_engine_notice(e, "exchange %" PRIu64 " is off: %s is lost",
                         e->gather.round, e->slaves[peer].label);
    count_lost_holder(e, peer);
}

void nf_gather_abandon(struct engine *e, int64_t now_us)
{
    for (uint32_t i = 0; i < e->gather.nmembers; i++)
        if (e->slaves[e->gather.members[i].peer].state != SLAVE_READY)
            lose_holder(e, e->gather.members[i].peer);
    nf_log(NF_LOG_INFO, "%s %" PRIu64 " is off",
           e->phases > 1 ? "exchange" : "gather", e->gather.round);
    e->gather.failures = 0;
    nf_gather_end(e, now_us);
}

void nf_gather_fini(struct engine *e)
{
    nf_gather_end(e, nf_now_us());
    nf_gather_close_shared(e);
}

/* ----------------------------------------------------------------- failures */

/* There is no use in trying again with these. */
static void put_out(struct engine *e, const bool *blamed, const char *why,
                    int64_t now_us)
{
    bool any = false;

    for (uint32_t peer = 0; peer < e->nslaves; peer++) {
        if (!blamed[peer] || e->slaves[peer].state != SLAVE_READY)
            continue;
        any = true;
        count_lost_holder(e, peer);
        nf_net_drop(e->net, peer, true);
        nf_members_left(e, peer, now_us);
    }
    if (!any)
        nf_engine_end(e, NF_ERR_FAILED, "the results can't be %s: %s",
                      e->phases > 1 ? "exchanged" : "gathered", why);
}

/* It brought home nothing.
 * @param blamed  [nslaves] whose fault that is */
static void fail_for(struct engine *e, const char *why, const bool *blamed,
                     int64_t now_us)
{
    struct gather *g = &e->gather;
    struct nf_actions actions;
    char text[NF_ERROR_TEXT_BYTES];

    bool exchanging = g->state == GATHER_EXCHANGING;

    snprintf(text, sizeof(text), "%s", why); /* it goes with the group */
    nf_engine_notice(e, "%s failed: %s",
                     exchanging ? "the exchange" : "gathering", text);
    nf_gather_end(e, now_us);
    if (++g->failures >= FAILURES_MOST) {
        g->failures = 0;
        put_out(e, blamed, text, now_us); /* and so the farm abandons it */
    } else if ((exchanging
                    ? nf_farm_exchange_failed(e->farm, now_us, &actions)
                    : nf_farm_gather_failed(e->farm, now_us, &actions)) ==
               NF_ERR_NOMEM) {
        nf_engine_end(e, NF_ERR_NOMEM, "out of memory");
    } else {
        nf_traffic_act(e, &actions, NULL, now_us);
    }
}

/* @param culprit  rank of the one to blame.  When a slave tells us who it is,
 * our own end of the group may not know yet, or know too much: slaves leave a
 * group that others have given up.  NF_GROUP_NOBODY: it is none's fault */
void nf_gather_fail(struct engine *e, const char *why, uint32_t culprit,
                    int64_t now_us)
{
    struct gather *g = &e->gather;
    uint32_t own = g->state == GATHER_EXCHANGING ? 0 : 1; /* ranks, ours */
    bool *blamed = nf_calloc(e->nslaves, sizeof(*blamed));

    if (blamed == NULL) {
        nf_engine_end(e, NF_ERR_NOMEM, "out of memory");
        return;
    }
    if (culprit >= own && culprit - own < g->nmembers)
        blamed[g->members[culprit - own].peer] = true;
    fail_for(e, why, blamed, now_us);
    nf_free(blamed);
}

/* Our own end of the group says that it has failed. */
static void group_failed(struct engine *e, int64_t now_us)
{
    struct gather *g = &e->gather;
    bool *blamed = nf_calloc(e->nslaves, sizeof(*blamed));

    if (blamed == NULL) {
        nf_engine_end(e, NF_ERR_NOMEM, "out of memory");
        return;
    }
    for (uint32_t i = 0; i < g->nmembers; i++)
        blamed[g->members[i].peer] = nf_group_is_lost(g->group, i + 1) != 0;
    fail_for(e, nf_group_error(g->group)->text, blamed, now_us);
    nf_free(blamed);
}

/* ---------------------------------------------------------------- the group */

/* Where the results of each rank come to. */
static enum nf_status start_gather(struct engine *e, struct nf_call *call)
{
    struct gather *g = &e->gather;
    size_t unit_bytes = nf_type_bytes(e->app->result_type), units = 0;

    g->counts = nf_calloc((size_t)g->nmembers + 1, sizeof(*g->counts));
    if (g->counts == NULL)
        return NF_ERR_NOMEM;
    for (uint32_t i = 0; i < g->nmembers; i++) {
        g->counts[i + 1] = (size_t)g->members[i].bytes / unit_bytes;
        if (g->counts[i + 1] > SIZE_MAX / 4 / unit_bytes - units)
            return NF_ERR_NOMEM;
        units += g->counts[i + 1];
    }
    g->bytes = units * unit_bytes;
    g->data = nf_malloc(g->bytes + 1);
    if (g->data == NULL)
        return NF_ERR_NOMEM;
    call->kind = NF_CALL_GATHER;
    call->type = nf_elem_of(e->app->result_type);
    call->send = g->data; /* nothing of it */
    call->recv = g->data;
    call->counts = g->counts;
    call->varies = 1;
    return nf_group_start(g->group, call, &g->request);
}

static enum nf_status start_reduce(struct engine *e, struct nf_call *call)
{
    struct gather *g = &e->gather;
    size_t bytes = (size_t)g->members[0].bytes, vector_bytes;
    enum nf_status status = nf_reducer_init(&g->reducer, e->app, bytes);

    if (status == NF_OK)
        status =
            nf_reducer_define(&g->reducer, g->group, &call->type, &call->op);
    if (status != NF_OK)
        return status;
    vector_bytes = nf_reducer_vector_bytes(&g->reducer);
    g->bytes = bytes;
    g->data = nf_malloc(2 * vector_bytes);
    if (g->data == NULL)
        return NF_ERR_NOMEM;
    nf_reducer_pack(&g->reducer, NULL, g->data + vector_bytes);
    call->kind = NF_CALL_REDUCE;
    call->send = g->data + vector_bytes;
    call->recv = g->data;
    call->count = g->reducer.count;
    return nf_group_start(g->group, call, &g->request);
}

/* Blocks differ in size, and we alone know how: as if all were as the mean one,
 * rounded up. */
static uint64_t mean_block(const struct gather *g)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < g->nmembers; i++)
        bytes += g->members[i].bytes;
    return bytes / g->nmembers + (bytes % g->nmembers != 0);
}

struct nf_coll_query nf_gather_query(const struct engine *e)
{
    const struct gather *g = &e->gather;
    struct nf_coll_query query = { .op = NF_COLL_GATHER,
                                   .ranks = g->nmembers + 1,
                                   .commutative = true };
    struct nf_reducer reducer;

    if (!e->combine) {
        query.bytes = query.elements = mean_block(g);
    } else if (nf_reducer_init(&reducer, e->app,
                               (size_t)g->members[0].bytes) == NF_OK) {
        query.op = NF_COLL_REDUCE;
        query.elements = reducer.count;
        query.bytes = nf_reducer_vector_bytes(&reducer);
    }
    return query;
}

/* All holders have answered: meet. */
static void move(struct engine *e, int64_t now_us)
{
    struct gather *g = &e->gather;
    struct nf_group_msg m = { .purpose = NF_GROUP_GATHER, .round = g->round };
    struct nf_call call = { .root = 0 };
    struct nf_error err = { .text = "" };
    uint32_t *members = nf_malloc(((size_t)g->nmembers + 1) * sizeof(*members));
    enum nf_status status = NF_ERR_NOMEM;

    if (members != NULL) {
        members[0] = NF_NO_PEER;
        for (uint32_t i = 0; i < g->nmembers; i++)
            members[i + 1] = g->members[i].peer;
        m.bytes = nf_gather_far_bytes(e);
        status = nf_gather_open_group(e, members, g->nmembers + 1, &m,
                                      &g->group, &err);
        nf_free(members);
    }
    g->id = m.id;
    if (status == NF_OK) {
        g->state = GATHER_MOVING;
        status = e->combine ? start_reduce(e, &call) : start_gather(e, &call);
        if (status == NF_OK)
            snprintf(e->report.gather_algorithm,
                     sizeof(e->report.gather_algorithm), "%s",
                     nf_request_algorithm(g->request));
        else if (status != NF_ERR_NOMEM)
            snprintf(err.text, sizeof(err.text), "%s",
                     nf_group_error(g->group)->status == status
                         ? nf_group_error(g->group)->text
                         : nf_strerror(status));
    }
    if (status == NF_ERR_NOMEM)
        nf_engine_end(e, status, "out of memory for the gather");
    else if (status < 0)
        nf_gather_fail(e, err.text, NF_GROUP_NOBODY, now_us);
}

static bool keep_sizes(struct gather_member *m, const struct nf_holding_msg *h)
{
    m->unit_bytes = h->layout.unit_bytes;
    if (m->unit_bytes != NF_LAYOUT_TABLE)
        return true;
    m->sizes = nf_malloc((size_t)h->count * 8);
    if (m->sizes != NULL)
        memcpy(m->sizes, h->layout.table, (size_t)h->count * 8);
    return m->sizes != NULL;
}

/* @return why results can't be brought home, or NULL */
static const char *misfit(const struct engine *e, const struct gather_member *m,
                          const struct nf_holding_msg *h)
{
    const struct gather *g = &e->gather;

    if (h->count != m->units)
        return "not those that were asked for";
    if (h->bytes % nf_type_bytes(e->app->result_type) != 0)
        return "no whole number of elements";
    if (!e->combine)
        return nf_layout_fits(&h->layout, h->count, h->bytes)
                   ? NULL
                   : "not what it said";
    if (h->layout.unit_bytes != h->bytes ||
        (g->awaited < g->nmembers && h->bytes != g->result_bytes))
        return "not of one size, so they can't be combined";
    if (h->bytes == 0)
        return "of 0 bytes, so there is nothing to combine";
    return h->bytes <= nf_reducer_most_bytes(e->app)
               ? NULL
               : "too large to be combined by the application's function: "
                 "at most 2^29 elements less 16 bytes";
}

void nf_gather_holding(struct engine *e, const struct nf_net_event *ev,
                       int64_t now_us)
{
    struct gather *g = &e->gather;
    struct gather_member *m = nf_gather_find_member(g, ev->peer);
    struct nf_holding_msg h;
    const char *why;

    if (nf_get_holding(ev->msg.body, ev->msg.body_bytes, &h) != NF_OK) {
        nf_log(NF_LOG_WARN, "malformed word of %s ignored",
               e->slaves[ev->peer].label);
        return;
    }
    if (g->state != GATHER_ASKING || h.round != g->round || m == NULL ||
        m->answered)
        return; /* of a gather that is over */
    why = misfit(e, m, &h);
    if (why != NULL) {
        nf_engine_end(e, NF_ERR_FAILED, "results of %s: %s",
                      e->slaves[ev->peer].label, why);
        return;
    }
    g->result_bytes = h.bytes;
    m->answered = true;
    m->bytes = h.bytes;
    if (!e->combine && !keep_sizes(m, &h))
        nf_engine_end(e, NF_ERR_NOMEM, "out of memory for the gather");
    else if (--g->awaited == 0)
        move(e, now_us);
}

void nf_gather_group_end(struct engine *e, const struct nf_net_event *ev,
                         int64_t now_us)
{
    struct nf_group_end_msg m;
    char why[256];

    if (nf_get_group_end(ev->msg.body, ev->msg.body_bytes, &m) != NF_OK)
        return;
    if (nf_gather_shared_failed(e, ev->peer, &m, now_us))
        return;
    if ((e->gather.state != GATHER_MOVING &&
         e->gather.state != GATHER_EXCHANGING) ||
        m.id != e->gather.id)
        return;
    snprintf(why, sizeof(why), "%s: %s", e->slaves[ev->peer].label, m.reason);
    nf_gather_fail(e, why, m.culprit, now_us);
}

/* --------------------------------------------------------------------- home */

static void bring_home(struct engine *e, int64_t now_us)
{
    struct gather *g = &e->gather;
    struct nf_actions actions;

    e->report.gather_bytes += g->bytes;
    e->report.bytes_in += g->bytes;
    e->report.gather_slaves = g->nmembers;
    if (nf_gather_collect(e) != NF_OK)
        return;
    g->algorithm = e->report.gather_algorithm;
    nf_gather_end(e, now_us);
    if (nf_farm_gathered(e->farm, now_us, &actions) == NF_ERR_NOMEM)
        nf_engine_end(e, NF_ERR_NOMEM, "out of memory");
    else
        nf_traffic_act(e, &actions, NULL, now_us);
}

void nf_gather_turn(struct engine *e)
{
    struct gather *g = &e->gather;
    int64_t now_us = nf_now_us(), until_us = now_us + SLICE_US;
    enum nf_status status;
    bool more;

    nf_gather_shared_turn(e);
    if (g->state != GATHER_MOVING || e->status != NF_OK)
        return;
    nf_members_ping(e, now_us);
    do { /* no descriptor tells that there is more to combine */
        status = nf_request_test(g->request);
        more = status == NF_WAIT && nf_group_deadline_us(g->group) == 0;
    } while (more && nf_now_us() < until_us);
    nf_members_were_unheard(e, nf_now_us() - now_us);
    if (more)
        nf_engine_again(e);
    if (status == NF_OK)
        bring_home(e, nf_now_us());
    else if (status < 0)
        group_failed(e, nf_now_us());
}

size_t nf_gather_fds(struct engine *e, const int **fds_p)
{
    if (e->gather.group != NULL)
        return nf_group_fds(e->gather.group, fds_p);
    return e->gather.sharing != NULL ? nf_group_fds(e->gather.sharing, fds_p)
                                     : 0;
}
