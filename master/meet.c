/* Groups of the master and slaves, or of slaves only: a place to meet is made
 * up, and all members are told of it.  Nobody is waited for. */
#include "config.h"
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/group/over_mesh.h"
#include "master/engine_internal.h"

bool nf_gather_is_slow(const struct engine *e)
{
    return e->combine && e->app->combine_by == NF_COMBINE_OWN;
}

uint64_t nf_gather_far_bytes(const struct engine *e)
{
    const struct gather *g = &e->gather;

    for (uint32_t i = 1; i < g->nmembers && e->combine; i++)
        if (e->slaves[g->members[i].peer].host !=
            e->slaves[g->members[0].peer].host)
            return nf_gather_query(e).bytes;
    return 0;
}

/* A member may have to wait while each of the others combines, and those do not
 * answer meanwhile.  Who has stopped is known from heartbeats. */
static int64_t timeout_us(const struct engine *e, enum nf_group_purpose purpose,
                          uint32_t count)
{
    int64_t one_us = e->options->heartbeat_timeout_us;

    if (purpose != NF_GROUP_GATHER || !nf_gather_is_slow(e) ||
        one_us > INT64_MAX / count)
        return one_us;
    return one_us * count;
}

/* Which algorithm?  The master says, for all (table.c): what it says depends on
 * who shares a host.  Exchanges are told theirs by themselves.
 * @param mesh  NULL: the master is not a member, and all are slaves */
static enum nf_status tell_choice(struct engine *e,
                                  const struct nf_mesh *mesh,
                                  const uint32_t *members, uint32_t count,
                                  struct nf_group_msg *m)
{
    struct nf_coll_query query;
    uint32_t *hosts;

    if (m->purpose == NF_GROUP_EXCHANGE)
        return NF_OK;
    hosts = nf_calloc(count, sizeof(*hosts));
    if (hosts == NULL)
        return NF_ERR_NOMEM;
    for (uint32_t i = 0; i < count; i++)
        hosts[i] = mesh != NULL ? nf_mesh_host_of(mesh, i)
                                : e->slaves[members[i]].host;
    query = m->purpose == NF_GROUP_SHARED ? nf_share_query(e, count)
                                          : nf_gather_query(e);
    if (query.op == NF_COLL_REDUCE)
        query.memory_bytes = e->memory_bytes;
    query.hosts = hosts;
    nf_table_tell(e, &query, m);
    nf_free(hosts);
    return NF_OK;
}

/* How a broadcast of the shared data goes: by the network, if that has a say,
 * else as m->algorithm says already. */
static void tell(struct engine *e, const struct nf_mesh *mesh,
                 struct nf_group_msg *m, struct nf_told *told)
{
    if (m->purpose == NF_GROUP_SHARED && nf_network_tell(e, mesh, told)) {
        memcpy(m->algorithm, told->algorithm, sizeof(m->algorithm));
        m->tree = told->tree;
    } else {
        nf_table_compare(e, m, mesh);
        if (!e->has_rules && m->purpose == NF_GROUP_GATHER)
            nf_network_compare(e, nf_group_moves_much(m) ? mesh : NULL);
    }
}

/* The master's own end. */
static enum nf_status join(struct engine *e, struct nf_mesh *mesh,
                           struct nf_group_msg *m, struct nf_told *told,
                           struct nf_group **group_p, struct nf_error *err)
{
    /* NOWFARM_COLL of the master holds for all: see table.c */
    struct nf_group_options options = { .timeout_us = m->timeout_us };
    enum nf_status status;

    tell(e, mesh, m, told);
    options.algorithms = m->algorithm;
    status = nf_group_create(mesh, m->id, NULL, &options, group_p, err);
    if (status != NF_OK) {
        nf_mesh_close(mesh);
        return status;
    }
    return m->tree == NULL ? NF_OK : nf_group_set_tree(*group_p, m->tree, err);
}

enum nf_status nf_gather_open_group(struct engine *e, const uint32_t *members,
                                    uint32_t count, struct nf_group_msg *m,
                                    struct nf_group **group_p,
                                    struct nf_error *err)
{
    struct nf_told told = { .tree = NULL };
    struct nf_mesh *mesh = NULL;
    int *tids = nf_calloc(count, sizeof(*tids));
    enum nf_status status;

    *group_p = NULL;
    if (tids == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    m->id = ++e->gather.groups;
    m->timeout_us = timeout_us(e, m->purpose, count);
    status = nf_net_mesh(e->net, members, count, m, tids, &mesh, err);
    if (status == NF_OK) {
        status = tell_choice(e, mesh, members, count, m);
        if (status != NF_OK) {
            nf_mesh_close(mesh);
            nf_fail(err, status, "out of memory");
        }
    }
    if (status == NF_OK && mesh != NULL)
        status = join(e, mesh, m, &told, group_p, err);
    for (m->rank = 0; m->rank < count && status == NF_OK; m->rank++) {
        struct nf_msg msg = { .kind = NF_MSG_GROUP };

        if (members[m->rank] == NF_NO_PEER)
            continue;
        status = nf_put_group(&e->body, m, tids);
        msg.body = e->body.data;
        msg.body_bytes = e->body.bytes;
        if (status == NF_OK)
            nf_engine_send(e, members[m->rank], &msg);
        else
            nf_fail(err, status, "out of memory");
    }
    m->tree = NULL;
    nf_free(told.tree);
    nf_free(tids);
    return status;
}
