/* Exchanges between phases.  The farm says when, who has which results and who
 * gets which inputs; slaves are told (EXCHANGE), meet in a group of their own,
 * and say when their inputs are there (EXCHANGED).  What is common with
 * gathers, above all how they fail, is in gather.c. */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/words.h"
#include "common/coll/coll.h"
#include "common/group/over_mesh.h"
#include "master/engine_internal.h"

/* Who takes part, and by which rank: of the farm's numbers of slaves, ranks are
 * made in place. */
struct map {
    uint32_t *holders, *homes; /* [units] */
    uint32_t *rank;            /* [slaves of the farm] or NF_GROUP_NOBODY */
};

static void map_fini(struct map *map)
{
    nf_free(map->holders);
    nf_free(map->homes);
    nf_free(map->rank);
}

static bool map_init(struct engine *e, struct map *map)
{
    size_t units = (size_t)e->app->units;

    map->holders = nf_malloc((units + 1) * sizeof(*map->holders));
    map->homes = nf_malloc((units + 1) * sizeof(*map->homes));
    map->rank = nf_malloc(((size_t)e->next_farm_id + 1) * sizeof(*map->rank));
    if (map->holders == NULL || map->homes == NULL || map->rank == NULL ||
        !nf_farm_exchange_map(e->farm, map->holders, map->homes))
        return false;
    for (uint32_t i = 0; i < e->next_farm_id; i++)
        map->rank[i] = NF_GROUP_NOBODY;
    for (size_t i = 0; i < units; i++) {
        map->rank[map->holders[i]] = 0;
        if (map->homes[i] != UINT32_MAX)
            map->rank[map->homes[i]] = 0;
    }
    return true;
}

/* In the order in which they came, mostly one of each host in turn.
 * @return false: out of memory */
static bool give_ranks(struct engine *e, struct map *map)
{
    struct gather *g = &e->gather;

    for (uint32_t i = 0; i < e->next_farm_id; i++) {
        if (map->rank[i] == NF_GROUP_NOBODY)
            continue;
        map->rank[i] = g->nmembers;
        if (nf_gather_add_member(g, e->peer_of[i]) == NULL)
            return false;
    }
    for (uint64_t i = 0; i < e->app->units; i++) {
        map->holders[i] = map->rank[map->holders[i]];
        if (map->homes[i] != UINT32_MAX)
            map->homes[i] = map->rank[map->homes[i]];
    }
    return true;
}

/* No group has more members, and no schedule more ranks. */
static enum nf_status check_members(const struct gather *g,
                                    struct nf_error *err)
{
    if (g->nmembers <= NF_COLL_RANKS_MAX)
        return NF_OK;
    return nf_fail(err, NF_ERR_FAILED,
                   "%u slaves would take part (at most %d may)", g->nmembers,
                   NF_COLL_RANKS_MAX);
}

static enum nf_status tell(struct engine *e, const struct map *map,
                           uint32_t phase)
{
    struct gather *g = &e->gather;
    struct nf_exchange_msg m = { .round = g->round,
                                 .phase = phase,
                                 .count = g->nmembers,
                                 .units = e->app->units };
    const struct nf_exchange_bounds *bounds = nf_table_exchange(e);
    enum nf_status status = NF_OK;

    _Static_assert(sizeof(m.algorithms) == NF_EXCHANGE_TEXT_BYTES,
                   "what is told has room in the message");
    if (bounds != NULL)
        nf_exchange_bounds_write(bounds, m.algorithms);
    nf_log(NF_LOG_INFO, "exchange %" PRIu64 ": by %s", g->round, m.algorithms);
    for (m.rank = 0; m.rank < m.count && status == NF_OK; m.rank++) {
        struct nf_msg msg = { .kind = NF_MSG_EXCHANGE };

        status = nf_put_exchange(&e->body, &m, map->holders, map->homes);
        msg.body = e->body.data;
        msg.body_bytes = e->body.bytes;
        if (status == NF_OK)
            nf_engine_send(e, g->members[m.rank].peer, &msg);
    }
    return status;
}

static enum nf_status meet(struct engine *e, struct nf_error *err)
{
    struct gather *g = &e->gather;
    struct nf_group_msg m = { .purpose = NF_GROUP_EXCHANGE, .round = g->round };
    uint32_t *members = nf_malloc(g->nmembers * sizeof(*members));
    struct nf_group *none;
    enum nf_status status = NF_ERR_NOMEM;

    for (uint32_t i = 0; members != NULL && i < g->nmembers; i++)
        members[i] = g->members[i].peer;
    if (members != NULL)
        status = nf_gather_open_group(e, members, g->nmembers, &m, &none, err);
    g->id = m.id;
    nf_free(members);
    return status;
}

void nf_exchange_ask(struct engine *e, uint32_t phase, int64_t now_us)
{
    struct gather *g = &e->gather;
    struct map map = { NULL, NULL, NULL };
    struct nf_error err = { .text = "" };
    enum nf_status status = NF_ERR_NOMEM;

    nf_gather_end(e, now_us);
    g->state = GATHER_EXCHANGING;
    g->began_us = now_us;
    g->id = 0;
    g->round++;
    e->moving_us = 0;
    e->largest_bytes = 0;
    e->table_bytes = 0;
    e->report.exchanges++;
    if (map_init(e, &map) && give_ranks(e, &map))
        status = check_members(g, &err);
    if (status == NF_OK)
        status = tell(e, &map, phase);
    map_fini(&map);
    g->awaited = g->nmembers;
    e->report.exchange_slaves = g->nmembers;
    nf_log(NF_LOG_INFO, "exchange %" PRIu64 ": phase %u, among %u slaves",
           g->round, phase, g->nmembers);
    nf_gather_record_begin(e, now_us);
    if (status == NF_OK && g->nmembers > 1)
        status = meet(e, &err);
    if (status == NF_ERR_NOMEM)
        nf_engine_end(e, status, "out of memory for the exchange");
    else if (status != NF_OK)
        nf_engine_end(e, status, "the results can't be exchanged: %s",
                      err.text);
}

/* What the three all-to-all of it take, of blocks that are all as large as the largest:
 * lengths of tables, tables, pieces.  What tells how large these are runs while they are
 * packed, and counts as nothing.
 * @param algorithm  of the pieces
 * @return INFINITY: nothing is known of one of them */
static double model_us(struct engine *e, const char *algorithm)
{
    const struct nf_coll_network network = nf_table_network(e);
    struct nf_coll_network equal = network; /* a length of each */
    uint32_t ranks = e->gather.nmembers;
    const char *small =
        nf_exchange_bounds_pick(nf_table_exchange(e), NF_EXCHANGE_LENGTH_BYTES);

    equal.lists = false;
    return nf_exchange_bounds_cost_us(small, &equal, ranks,
                                      NF_EXCHANGE_LENGTH_BYTES) +
           nf_exchange_bounds_cost_us(small, &network, ranks, e->table_bytes) +
           nf_exchange_bounds_cost_us(algorithm, &network, ranks,
                                      e->largest_bytes);
}

_Static_assert(sizeof(((struct nf_report *)NULL)->exchange_algorithm) >=
                   NF_EXCHANGE_NAME_BYTES,
               "a name is told whole");

static void complete(struct engine *e, int64_t now_us)
{
    struct nf_actions actions;

    e->report.exchange_algorithm[0] = '\0';
    if (e->gather.nmembers > 1) {
        /* what all members have picked, from the same number */
        const char *algorithm =
            nf_exchange_bounds_pick(nf_table_exchange(e), e->largest_bytes);

        snprintf(e->report.exchange_algorithm,
                 sizeof(e->report.exchange_algorithm), "%s", algorithm);
        /* small blocks and large ones of a job may go by different ones; those
         * that there is no room for are not told */
        nf_words_add(e->report.exchange_algorithms,
                     sizeof(e->report.exchange_algorithms), algorithm);
        e->report.exchange_model_s += model_us(e, algorithm) * 1e-6;
        e->gather.algorithm = e->report.exchange_algorithm;
    }
    e->report.exchange_moving_s += (double)e->moving_us * 1e-6;
    e->gather.failures = 0;
    nf_gather_end(e, now_us);
    if (nf_farm_exchanged(e->farm, now_us, &actions) == NF_ERR_NOMEM)
        nf_engine_end(e, NF_ERR_NOMEM, "out of memory");
    else
        nf_traffic_act(e, &actions, NULL, now_us);
}

void nf_exchange_answered(struct engine *e, const struct nf_net_event *ev,
                          int64_t now_us)
{
    struct gather *g = &e->gather;
    struct gather_member *m = nf_gather_find_member(g, ev->peer);
    struct nf_exchanged_msg told;

    if (nf_get_exchanged(ev->msg.body, ev->msg.body_bytes, &told) != NF_OK) {
        nf_log(NF_LOG_WARN, "malformed word of %s ignored",
               e->slaves[ev->peer].label);
        return;
    }
    if (g->state != GATHER_EXCHANGING || told.round != g->round || m == NULL ||
        m->answered)
        return; /* of one that is over */
    m->answered = true;
    e->report.exchange_bytes += told.bytes;
    if (told.moving_us > e->moving_us)
        e->moving_us = told.moving_us;
    if (told.largest_bytes > e->largest_bytes)
        e->largest_bytes = told.largest_bytes;
    if (told.table_bytes > e->table_bytes)
        e->table_bytes = told.table_bytes;
    if (--g->awaited == 0)
        complete(e, now_us);
}
