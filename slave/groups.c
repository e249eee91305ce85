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
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/farm/farm.h"
#include "common/group/over_mesh.h"
#include "common/group/types.h"
#include "slave/internal.h"

/* The longest sleep if the port does not tell of all of the group's messages. */
enum { DEAF_SLEEP_US = 1000 };
/* How long preparing what we give may keep the communicator at a time. */
enum { SLICE_US = 10000 };

void nf_groups_end(struct nf_slave *s)
{
    struct nf_groups *g = &s->groups;

    nf_request_free(g->request);
    nf_group_close(g->group);
    g->request = NULL;
    g->group = NULL;
    nf_blob_unref(g->coming);
    g->coming = NULL;
    nf_exchange_clear(&g->exchange); /* after the calls that use its memory */
}

/* Before what may take as long as we may be silent: a call of the application's
 * function. */
static enum nf_status speak(struct nf_slave *s)
{
    if (!s->job.combine || s->app.combine_by != NF_COMBINE_OWN ||
        s->job.heartbeat_us <= 0 ||
        nf_now_us() - s->comm.sent_us < s->job.heartbeat_us / 4)
        return NF_OK;
    return nf_comm_send(s, NF_MSG_HEARTBEAT, NULL, NULL);
}

void nf_groups_forget(struct nf_slave *s)
{
    nf_groups_end(s);
    nf_offer_clear(&s->groups.offer);
    nf_held_clear(&s->groups.held);
    nf_stock_clear(&s->groups.stock);
    s->groups.overtaken = true;
}

void nf_groups_fini(struct nf_slave *s)
{
    nf_offer_clear(&s->groups.offer);
    nf_held_fini(&s->groups.held);
    nf_stock_fini(&s->groups.stock);
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

enum nf_status nf_groups_keep_pieces(struct nf_slave *s, uint32_t phase,
                                     struct nf_answer *answer)
{
    struct nf_stock *stock = &s->groups.stock;
    struct nf_pieces pieces = { answer->payload, answer->sizes, 0 };
    struct nf_result_msg m;
    enum nf_status status =
        nf_get_result(answer->body.data, answer->body.bytes, &m);

    if (status != NF_OK)
        return status;
    if (m.first >= stock->units || phase + 1 >= stock->phases)
        return NF_ERR_PROTOCOL;
    status = nf_shelf_put(nf_stock_results(stock, phase), m.first, &pieces);
    if (status != NF_OK)
        return status;
    if (phase == 0 && answer->payload != NULL)
        nf_room_warm(&stock->room, answer->payload->bytes,
                     stock->phases - 1);
    nf_blob_unref(answer->payload);
    answer->payload = NULL;
    return NF_OK;
}

/* In most jobs a result is as large as its input. */
static void give_room(struct nf_slave_lease *lease)
{
    struct nf_spare block;

    nf_buf_fini(&lease->room);
    if (lease->input == NULL)
        return;
    block = nf_room_take(lease->input->bytes);
    lease->room.data = block.data;
    lease->room.capacity = block.bytes;
}

void nf_groups_make_room(struct nf_slave *s, const struct nf_slave_lease *lease)
{
    const uint64_t count = lease->m.count;

    if (lease->input != NULL && count > 0)
        nf_room_warm(&s->groups.stock.room,
                     (size_t)(lease->input->bytes / count), count);
}

enum nf_status nf_groups_find_input(struct nf_slave *s,
                                    struct nf_slave_lease *lease)
{
    const struct nf_stock *stock = &s->groups.stock;
    uint32_t phase = nf_lease_phase(lease->m.lease);
    const struct nf_pieces *input;

    if (phase == 0 || phase >= stock->phases || lease->m.count != 1)
        return NF_ERR_FAILED;
    input = nf_shelf_find(nf_stock_inputs(stock, phase), lease->m.first);
    if (input == NULL)
        return NF_ERR_FAILED;
    /* so the master knows that everybody is done with its group */
    if (s->groups.purpose == NF_GROUP_EXCHANGE &&
        s->groups.exchange.stage == NF_EXCHANGE_NONE &&
        input->round == s->groups.exchanged)
        nf_groups_end(s);
    nf_blob_unref(lease->input);
    lease->input = nf_blob_ref(input->data);
    nf_blob_unref(lease->in_sizes);
    lease->in_sizes = nf_blob_ref(input->sizes);
    lease->in_round = input->round;
    give_room(lease);
    return NF_OK;
}

void nf_groups_drop_input(struct nf_slave *s,
                          const struct nf_slave_lease *lease)
{
    struct nf_shelf *shelf =
        nf_stock_inputs(&s->groups.stock, nf_lease_phase(lease->m.lease));
    const struct nf_pieces *input = nf_shelf_find(shelf, lease->m.first);

    /* the answer may be late, and another input have come since */
    if (input != NULL && input->round == lease->in_round)
        nf_shelf_drop(shelf, lease->m.first);
}

/* ---------------------------------------------------------------- GATHER */

/* Say what we have. */
static enum nf_status tell(struct nf_slave *s)
{
    if (nf_offer_put(&s->groups.offer, &s->comm.body) != NF_OK)
        return nf_comm_refuse_nomem(s);
    return nf_comm_send(s, NF_MSG_HOLDING, &s->comm.body, NULL);
}

/* Go on preparing; the clock must be looked after in between. */
static enum nf_status prepare(struct nf_slave *s)
{
    if (nf_offer_work(&s->groups.offer, SLICE_US) == NF_WAIT)
        return NF_OK;
    return tell(s);
}

enum nf_status nf_groups_asked(struct nf_slave *s, const struct nf_msg *msg)
{
    struct nf_groups *g = &s->groups;
    struct nf_gather_msg m;
    bool overtaken = g->overtaken;
    enum nf_status status;

    g->overtaken = false;
    if (!s->comm.ready || !s->job.hold ||
        nf_get_gather(msg->body, msg->body_bytes, &m) != NF_OK)
        return nf_comm_refuse_malformed(s, "gather");
    nf_groups_end(s);
    status = nf_offer_begin(&g->offer, &s->app, s->job.combine, &g->held, &m);
    if (status == NF_ERR_NOMEM)
        return nf_comm_refuse_nomem(s);
    if (status != NF_OK && overtaken)
        return NF_OK; /* of a gather that went on without us */
    if (status != NF_OK)
        return nf_comm_refuse(s, NF_ERR_PROTOCOL,
                              "a result that is to be gathered is not here");
    return g->offer.busy ? NF_OK : tell(s);
}

/* -------------------------------------------------------------- EXCHANGE */

enum nf_status nf_groups_exchange(struct nf_slave *s, const struct nf_msg *msg)
{
    struct nf_groups *g = &s->groups;
    struct nf_exchange_msg m;
    bool overtaken = g->overtaken;
    enum nf_status status;

    if (!s->comm.ready || s->job.phases < 2 ||
        nf_get_exchange(msg->body, msg->body_bytes, &m) != NF_OK)
        return nf_comm_refuse_malformed(s, "exchange");
    nf_groups_end(s);
    status = nf_exchange_begin(&g->exchange, &m, &g->stock, s->app.result_type);
    if (status == NF_OK)
        return NF_OK;
    nf_exchange_clear(&g->exchange);
    if (status == NF_ERR_NOMEM)
        return nf_comm_refuse_nomem(s);
    if (status == NF_ERR_FAILED && overtaken)
        return NF_OK; /* it went on without us */
    return nf_comm_refuse(s, NF_ERR_PROTOCOL,
                          "a result that is to be exchanged is not here");
}

/* ----------------------------------------------------------------- GROUP */

/* Tell the master that this group is of no use, and whose fault that is. */
static enum nf_status give_up(struct nf_slave *s, uint32_t culprit,
                              const char *why)
{
    struct nf_group_end_msg m = { .id = s->groups.id, .culprit = culprit };

    nf_log(NF_LOG_INFO, "group %" PRIu64 " ends: %s", m.id, why);
    snprintf(m.reason, sizeof(m.reason), "%.100s", why);
    nf_groups_end(s);
    if (nf_put_group_end(&s->comm.body, &m) != NF_OK)
        return nf_comm_refuse_nomem(s);
    return nf_comm_send(s, NF_MSG_GROUP_END, &s->comm.body, NULL);
}

/* Whom the reason that is told with it is about. */
static uint32_t find_culprit(const struct nf_group *group)
{
    uint32_t blamed = nf_group_blamed(group);

    return blamed < nf_group_size(group) ? blamed : NF_GROUP_NOBODY;
}

static enum nf_status start_reduce(struct nf_slave *s, struct nf_call *call)
{
    struct nf_groups *g = &s->groups;
    struct nf_reducer *reducer = &g->offer.reducer;
    enum nf_status status =
        nf_reducer_define(reducer, g->group, &call->type, &call->op);

    if (status == NF_OK)
        status = speak(s); /* what others sent may be here already */
    if (status != NF_OK)
        return status;
    call->kind = NF_CALL_REDUCE;
    call->send = g->offer.vector;
    call->count = reducer->count;
    return nf_group_start(g->group, call, &g->request);
}

static enum nf_status start_gather(struct nf_slave *s, struct nf_call *call)
{
    struct nf_groups *g = &s->groups;
    enum nf_type type = s->kernel.app->result_type;

    call->kind = NF_CALL_GATHER;
    call->type = nf_elem_of(type);
    call->send = g->offer.joined->data;
    call->count = g->offer.joined->bytes / nf_type_bytes(type);
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
    call->type = nf_elem_of(type);
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
    if (m->purpose == NF_GROUP_EXCHANGE)
        return g->exchange.stage == NF_EXCHANGE_MEET &&
                       g->exchange.told.round == m->round &&
                       g->exchange.rank == m->rank &&
                       g->exchange.count == m->count
                   ? NF_OK /* it begins with the next turn */
                   : NF_ERR_INVAL;
    if (g->offer.round != m->round || g->offer.busy ||
        (g->offer.vector == NULL && g->offer.joined == NULL))
        return NF_ERR_INVAL;
    return s->job.combine ? start_reduce(s, &call) : start_gather(s, &call);
}

enum nf_status nf_groups_meet(struct nf_slave *s, const struct nf_msg *msg)
{
    struct nf_groups *g = &s->groups;
    struct nf_group_options options = { .algorithms = "" }; /* see master */
    struct nf_group_msg m;
    struct nf_mesh *mesh;
    struct nf_error err = { .text = "" };
    enum nf_status status;

    if (!s->comm.job_known ||
        nf_get_group(msg->body, msg->body_bytes, &m) != NF_OK)
        return nf_comm_refuse_malformed(s, "group");
    if (m.purpose != NF_GROUP_EXCHANGE || g->group != NULL)
        nf_groups_end(s);
    g->id = m.id;
    g->purpose = m.purpose;
    options.timeout_us = m.timeout_us;
    options.algorithms = m.algorithm;
    status = nf_port_mesh(s->port, &m, &mesh, &err);
    if (status != NF_OK)
        return give_up(s, m.rank, err.text);
    status = nf_group_create(mesh, m.id, NULL, &options, &g->group, &err);
    if (status != NF_OK) {
        nf_mesh_close(mesh);
        return give_up(s, m.rank, err.text);
    }
    if (m.tree != NULL)
        status = nf_group_set_tree(g->group, m.tree, &err);
    if (status != NF_OK)
        return give_up(s, m.rank, err.text);
    status = start(s, &m);
    if (status < 0)
        return give_up(s, m.rank, nf_strerror(status)); /* our own fault */
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

/* Nobody of a group that was given up, or that brings shared data, needs us any
 * more: as long as it is open, each wait looks for its messages too.  Rank 0
 * leaves when all have told the master that they have it; a slave that gives it
 * to one other is the exception, and waits for that one. */
static bool is_over(const struct nf_groups *g, enum nf_status progress)
{
    uint32_t size = nf_group_size(g->group);

    if (progress < 0 || g->purpose != NF_GROUP_SHARED)
        return progress < 0;
    if (nf_group_rank(g->group) != 0)
        return size == 2 || nf_group_is_lost(g->group, 0);
    for (uint32_t i = 1; i < size; i++)
        if (!nf_group_is_lost(g->group, i))
            return false;
    return true;
}

/* Is there one that can go on? */
static bool is_exchanging(const struct nf_groups *g)
{
    return g->exchange.stage > NF_EXCHANGE_MEET ||
           (g->exchange.stage == NF_EXCHANGE_MEET &&
            (g->group != NULL || g->exchange.count == 1));
}

static enum nf_status exchange(struct nf_slave *s)
{
    struct nf_groups *g = &s->groups;
    struct nf_exchanged_msg told;
    enum nf_status status =
        nf_exchange_turn(&g->exchange, g->group, &g->request, SLICE_US);

    if (status == NF_WAIT)
        return NF_OK;
    if (status == NF_ERR_NOMEM)
        return nf_comm_refuse_nomem(s);
    if (status < 0)
        return give_up(
            s, g->group != NULL ? find_culprit(g->group) : NF_GROUP_NOBODY,
            g->group != NULL && nf_group_error(g->group)->status < 0
                ? nf_group_error(g->group)->text
                : nf_strerror(status));
    told = g->exchange.told;
    g->exchanged = told.round;
    nf_exchange_clear(&g->exchange);
    if (nf_put_exchanged(&s->comm.body, &told) != NF_OK)
        return nf_comm_refuse_nomem(s);
    return nf_comm_send(s, NF_MSG_EXCHANGED, &s->comm.body, NULL);
}

enum nf_status nf_groups_turn(struct nf_slave *s)
{
    struct nf_groups *g = &s->groups;
    enum nf_status status = NF_OK;

    if (g->offer.busy || g->request != NULL)
        status = speak(s);
    if (g->offer.busy && status == NF_OK)
        status = prepare(s);
    if (status == NF_OK && is_exchanging(g))
        return exchange(s);
    if (g->group == NULL || status != NF_OK)
        return status;
    if (g->request == NULL) {
        if (is_over(g, nf_group_progress(g->group))) {
            nf_log(NF_LOG_INFO, "group %" PRIu64 " is over", g->id);
            nf_groups_end(s);
        }
        return NF_OK;
    }
    status = nf_request_test(g->request);
    if (status == NF_WAIT)
        return NF_OK;
    if (status < 0)
        return give_up(s, find_culprit(g->group),
                       nf_group_error(g->group)->text);
    nf_request_free(g->request);
    g->request = NULL;
    return g->coming != NULL ? take_shared(s) : NF_OK;
}

int64_t nf_groups_sleep_us(struct nf_slave *s, int64_t sleep_us)
{
    struct nf_groups *g = &s->groups;
    int64_t deadline_us;

    if (g->offer.busy ||
        (is_exchanging(g) &&
         (nf_exchange_is_busy(&g->exchange) || g->request == NULL)))
        return 0;
    if (g->group == NULL)
        return sleep_us;
    deadline_us = nf_group_deadline_us(g->group);
    if (deadline_us >= 0 && deadline_us < sleep_us)
        sleep_us = deadline_us;
    if (s->port->ops->deaf_to_meshes && sleep_us > DEAF_SLEEP_US)
        sleep_us = DEAF_SLEEP_US;
    return sleep_us;
}
