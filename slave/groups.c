/* Groups: results that were kept go home, shared data comes.
 *
 * The master says when: GATHER, to which we answer what we have, and GROUP, to
 * meet the others.  A group goes on in the turns of the communicator; its end
 * is of no interest to anybody but the root, so only failures are told.  It
 * stays open when our part is done, since others may not be done. */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/group/over_mesh.h"
#include "slave/internal.h"

/* The longest sleep if the port does not tell of the group's messages. */
enum { DEAF_SLEEP_US = 1000 };

void nf_groups_end(struct nf_slave *s)
{
    struct nf_groups *g = &s->groups;

    nf_request_free(g->request);
    nf_group_close(g->group);
    g->request = NULL;
    g->group = NULL;
    nf_free(g->vector);
    g->vector = NULL;
    nf_blob_unref(g->coming);
    g->coming = NULL;
}

static void forget_offer(struct nf_groups *g)
{
    nf_blob_unref(g->out);
    g->out = NULL;
    g->round = 0;
}

void nf_groups_forget(struct nf_slave *s)
{
    nf_groups_end(s);
    forget_offer(&s->groups);
    nf_held_clear(&s->groups.held);
}

void nf_groups_fini(struct nf_slave *s)
{
    forget_offer(&s->groups);
    nf_held_fini(&s->groups.held);
}

enum nf_status nf_groups_keep(struct nf_slave *s, struct nf_answer *answer)
{
    struct nf_result_msg m;
    enum nf_status status =
        nf_get_result(answer->body.data, answer->body.bytes, &m);

    if (status == NF_OK)
        status = nf_held_add(&s->groups.held, &m, answer->payload);
    if (status != NF_OK)
        return status;
    nf_blob_unref(answer->payload);
    answer->payload = NULL;
    return NF_OK;
}

/* ---------------------------------------------------------------- GATHER */

/* All of them, one behind the other. */
static struct nf_blob *join_units(const struct nf_slave *s,
                                  const struct nf_held_unit *units,
                                  uint64_t count, size_t bytes)
{
    struct nf_blob *blob = nf_blob_create(bytes, s->kernel.app->result_type);
    uint8_t *to = blob != NULL ? blob->data : NULL;

    for (uint64_t i = 0; i < count && blob != NULL; i++) {
        if (units[i].bytes > 0)
            memcpy(to, units[i].data, units[i].bytes);
        to += units[i].bytes;
    }
    return blob;
}

/* Combined, in the order of units. */
static struct nf_blob *combine_units(const struct nf_slave *s,
                                     const struct nf_held_unit *units,
                                     uint64_t count)
{
    const struct nf_app *app = s->kernel.app;
    size_t bytes = units[0].bytes;
    struct nf_blob *blob = nf_blob_create(bytes, app->result_type);

    for (uint64_t i = 0; i < count && blob != NULL && bytes > 0; i++)
        if (i == 0)
            memcpy(blob->data, units[i].data, bytes);
        else
            nf_reducer_combine(app, blob->data, units[i].data, bytes);
    return blob;
}

static bool are_alike(const struct nf_held_unit *units, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++)
        if (units[i].bytes != units[0].bytes)
            return false;
    return true;
}

/* Say what we have; sizes of units, if they are not combined. */
static enum nf_status tell(struct nf_slave *s, const struct nf_held_unit *units,
                           uint64_t count)
{
    struct nf_groups *g = &s->groups;
    struct nf_holding_msg m = { .round = g->round,
                                .count = count,
                                .bytes = g->out->bytes,
                                .layout.unit_bytes = NF_LAYOUT_TABLE };
    uint64_t *sizes = NULL;
    enum nf_status status;

    if (s->job.combine) {
        m.layout.unit_bytes = m.bytes;
    } else {
        sizes = nf_malloc((size_t)count * sizeof(*sizes));
        if (sizes == NULL)
            return NF_ERR_NOMEM;
        for (uint64_t i = 0; i < count; i++)
            sizes[i] = units[i].bytes;
    }
    status = nf_put_holding(&s->comm.body, &m, sizes);
    nf_free(sizes);
    if (status == NF_OK)
        status = nf_comm_send(s, NF_MSG_HOLDING, &s->comm.body, NULL);
    return status;
}

enum nf_status nf_groups_asked(struct nf_slave *s, const struct nf_msg *msg)
{
    struct nf_groups *g = &s->groups;
    struct nf_gather_msg m;
    struct nf_held_unit *units = NULL;
    uint64_t count = 0;
    size_t bytes = 0;
    enum nf_status status;

    if (!s->comm.ready || !s->job.hold ||
        nf_get_gather(msg->body, msg->body_bytes, &m) != NF_OK)
        return nf_comm_refuse_malformed(s, "gather");
    nf_groups_end(s);
    forget_offer(g);
    status = nf_held_pick(&g->held, &m, &units, &count);
    if (status == NF_ERR_NOMEM)
        return nf_comm_refuse_nomem(s);
    if (status != NF_OK)
        return nf_comm_refuse(s, NF_ERR_PROTOCOL,
                              "a result that is to be gathered is not here");
    for (uint64_t i = 0; i < count; i++)
        bytes += units[i].bytes;
    if (s->job.combine && !are_alike(units, count)) {
        nf_free(units);
        return nf_comm_refuse(s, NF_ERR_INVAL,
                              "results of different sizes can't be combined");
    }
    g->round = m.round;
    g->out = s->job.combine ? combine_units(s, units, count)
                            : join_units(s, units, count, bytes);
    status = g->out == NULL ? NF_ERR_NOMEM : tell(s, units, count);
    nf_free(units);
    return status == NF_ERR_NOMEM ? nf_comm_refuse_nomem(s) : status;
}

/* ----------------------------------------------------------------- GROUP */

/* Tell the master that this group is of no use. */
static enum nf_status give_up(struct nf_slave *s, const char *why)
{
    struct nf_group_end_msg m = { .id = s->groups.id };

    nf_log(NF_LOG_INFO, "group %" PRIu64 " ends: %s", m.id, why);
    snprintf(m.reason, sizeof(m.reason), "%.100s", why);
    nf_groups_end(s);
    if (nf_put_group_end(&s->comm.body, &m) != NF_OK)
        return nf_comm_refuse_nomem(s);
    return nf_comm_send(s, NF_MSG_GROUP_END, &s->comm.body, NULL);
}

static enum nf_elem elem_of(enum nf_type type)
{
    static const enum nf_elem elems[] = { [NF_BYTES] = NF_ELEM_BYTE,
                                          [NF_INT32] = NF_ELEM_INT32,
                                          [NF_INT64] = NF_ELEM_INT64,
                                          [NF_FLOAT32] = NF_ELEM_FLOAT32,
                                          [NF_FLOAT64] = NF_ELEM_FLOAT64 };

    return elems[type];
}

static enum nf_status start_reduce(struct nf_slave *s, struct nf_call *call)
{
    struct nf_groups *g = &s->groups;
    enum nf_status status =
        nf_reducer_init(&g->reducer, s->kernel.app, g->out->bytes);

    if (status == NF_OK)
        status =
            nf_reducer_define(&g->reducer, g->group, &call->type, &call->op);
    if (status != NF_OK)
        return status;
    g->vector = nf_malloc(nf_reducer_vector_bytes(&g->reducer));
    if (g->vector == NULL)
        return NF_ERR_NOMEM;
    nf_reducer_pack(&g->reducer, g->out->data, g->vector);
    call->kind = NF_CALL_REDUCE;
    call->send = g->vector;
    call->count = g->reducer.count;
    return nf_group_start(g->group, call, &g->request);
}

static enum nf_status start_gather(struct nf_slave *s, struct nf_call *call)
{
    struct nf_groups *g = &s->groups;
    enum nf_type type = s->kernel.app->result_type;

    call->kind = NF_CALL_GATHER;
    call->type = elem_of(type);
    call->send = g->out->data;
    call->count = g->out->bytes / nf_type_bytes(type);
    call->varies = 1;
    return nf_group_start(g->group, call, &g->request);
}

/* We have it if we are the root; else it is to come. */
static enum nf_status start_shared(struct nf_slave *s, struct nf_call *call,
                                   const struct nf_group_msg *m)
{
    struct nf_groups *g = &s->groups;
    enum nf_type type = s->kernel.app->shared_type;
    struct nf_blob *blob = s->shared;

    if (m->rank == 0 && (blob == NULL || blob->bytes != m->bytes))
        return NF_ERR_INVAL;
    if (m->rank != 0) {
        if (!s->comm.shared_due)
            return NF_ERR_INVAL;
        blob = g->coming = nf_blob_create((size_t)m->bytes, type);
        if (blob == NULL)
            return NF_ERR_NOMEM;
    }
    call->kind = NF_CALL_BCAST;
    call->type = elem_of(type);
    call->recv = blob->data;
    call->count = (size_t)m->bytes / nf_type_bytes(type);
    return nf_group_start(g->group, call, &g->request);
}

static enum nf_status start(struct nf_slave *s, const struct nf_group_msg *m)
{
    struct nf_groups *g = &s->groups;
    struct nf_call call = { .root = 0 };

    if (m->purpose == NF_GROUP_SHARED)
        return start_shared(s, &call, m);
    if (g->out == NULL || g->round != m->round)
        return NF_ERR_INVAL;
    return s->job.combine ? start_reduce(s, &call) : start_gather(s, &call);
}

enum nf_status nf_groups_meet(struct nf_slave *s, const struct nf_msg *msg)
{
    struct nf_groups *g = &s->groups;
    struct nf_group_options options = { 0 };
    struct nf_group_msg m;
    struct nf_mesh *mesh;
    struct nf_error err = { .text = "" };
    enum nf_status status;

    if (!s->comm.job_known ||
        nf_get_group(msg->body, msg->body_bytes, &m) != NF_OK)
        return nf_comm_refuse_malformed(s, "group");
    nf_groups_end(s);
    g->id = m.id;
    g->purpose = m.purpose;
    options.timeout_us = m.timeout_us;
    options.algorithms = m.algorithm;
    status = nf_port_mesh(s->port, &m, &mesh, &err);
    if (status != NF_OK)
        return give_up(s, err.text);
    status = nf_group_create(mesh, m.id, NULL, &options, &g->group, &err);
    if (status != NF_OK) {
        nf_mesh_close(mesh);
        return give_up(s, err.text);
    }
    status = start(s, &m);
    if (status < 0)
        return give_up(s, nf_strerror(status));
    return NF_OK;
}

/* ------------------------------------------------------------------ turns */

/* The shared data has come. */
static enum nf_status take_shared(struct nf_slave *s)
{
    struct nf_blob *blob = s->groups.coming;

    s->groups.coming = NULL;
    return nf_greet_shared(
        s, &(struct nf_msg){ .kind = NF_MSG_SHARED, .payload = blob });
}

enum nf_status nf_groups_turn(struct nf_slave *s)
{
    struct nf_groups *g = &s->groups;
    enum nf_status status;

    if (g->group == NULL)
        return NF_OK;
    (void)nf_group_progress(g->group);
    if (g->request == NULL)
        return NF_OK;
    status = nf_request_test(g->request);
    if (status == NF_WAIT)
        return NF_OK;
    if (status < 0)
        return give_up(s, nf_group_error(g->group)->text);
    nf_request_free(g->request);
    g->request = NULL;
    return g->coming != NULL ? take_shared(s) : NF_OK;
}

int64_t nf_groups_sleep_us(struct nf_slave *s, int64_t sleep_us)
{
    struct nf_groups *g = &s->groups;
    int64_t deadline_us;

    if (g->group == NULL)
        return sleep_us;
    deadline_us = nf_group_deadline_us(g->group);
    if (deadline_us >= 0 && deadline_us < sleep_us)
        sleep_us = deadline_us;
    if (s->port->ops->deaf_to_meshes && sleep_us > DEAF_SLEEP_US)
        sleep_us = DEAF_SLEEP_US;
    return sleep_us;
}
