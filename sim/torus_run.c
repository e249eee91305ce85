#include "config.h"
#include "sim/torus_run.h"
#include "common/base/alloc.h"
#include "sim/wormhole.h"

enum nf_status nf_torus_parse(const char *text, struct nf_mesh *mesh_p,
                              struct nf_error *err)
{
    enum nf_status status = nf_mesh_parse(text, mesh_p, err);

    if (status != NF_OK)
        return status;
    if (mesh_p->dims > NF_COLL_SIDES_MAX)
        return nf_fail(err, NF_ERR_RANGE, "%.100s: want at most %d dimensions", text,
                       NF_COLL_SIDES_MAX);
    mesh_p->torus = true;
    mesh_p->last_first = true;
    return NF_OK;
}

bool nf_torus_is_free(const struct nf_torus_result *result)
{
    return result->waits == 0 && result->shared == 0;
}

/* A node as it goes through its messages. */
struct node {
    int64_t sent;     /* until then it prepares messages */
    int64_t received; /* until then it takes messages */
    int64_t ready;    /* when it has all that came before its step */
    size_t next_out;  /* of run->out: what it sends next */
    size_t next_in;   /* of run->in: what it misses first */
    size_t out, in;   /* where the messages of the node after it begin */
};

struct run {
    const struct nf_torus_setup *setup;
    const struct nf_schedule *schedule;
    uint32_t *bytes;    /* [message] */
    struct node *nodes; /* [node] */
    size_t *out, *in;   /* messages by source and by receiver, in order */
    int64_t *taken;     /* [message]: when its receiver has it; -1: not yet */
    struct nf_wormhole worms; /* numbered as messages */
    struct nf_torus_result result;
};

/* ---- times ---- */

static int64_t send_time(const struct run *run, size_t message)
{
    const struct nf_mesh_costs *costs = &run->setup->costs;

    return costs->send_fixed + run->bytes[message] * costs->send_byte;
}

static int64_t recv_time(const struct run *run, size_t message)
{
    const struct nf_mesh_costs *costs = &run->setup->costs;

    return costs->recv_fixed + run->bytes[message] * costs->recv_byte;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static struct nf_mesh_way way_of(const struct nf_coll_message *message)
{
    return (struct nf_mesh_way){
        .from = message->src,
        .to = message->dst,
        .side = message->side,
        .steps = message->hops,
    };
}

static int64_t net_time(const struct run *run, size_t message)
{
    struct nf_mesh_way way = way_of(&run->schedule->messages[message]);
    int64_t hops = nf_mesh_way_hops(&run->setup->mesh, &way);
    int64_t flits = run->bytes[message] > 0 ? run->bytes[message] : 1;

    return (hops - 1 + flits) * run->setup->costs.hop;
}

/* ---- before anything moves ---- */

/* Could the sum of all times have more than 62 bits?  Nothing takes longer than
 * all messages one after the other. */
static bool lasts_too_long(const struct run *run)
{
    double sum = 0;

    for (size_t i = 0; i < run->schedule->count; i++)
        sum += (double)send_time(run, i) + (double)recv_time(run, i) +
               (double)net_time(run, i);
    return sum > 0x1p62;
}

static enum nf_status check_messages(struct run *run, struct nf_error *err)
{
    const struct nf_schedule *s = run->schedule;

    for (size_t i = 0; i < s->count; i++) {
        const struct nf_coll_message *m = &s->messages[i];
        struct nf_mesh_way way = way_of(m);
        uint64_t blocks = nf_schedule_items_of(s, m);

        if (!nf_mesh_has_way(&run->setup->mesh, &way))
            return nf_fail(err, NF_ERR_VERIFY,
                           "step %u, %u to %u: there is no such way along side "
                           "%u, %+d",
                           m->round, m->src, m->dst, m->side, m->hops);
        if (blocks * run->setup->block_bytes > NF_MESH_BYTES_MAX)
            return nf_fail(err, NF_ERR_RANGE,
                           "%u bytes: a message of %llu such blocks has more "
                           "than %u",
                           run->setup->block_bytes, (unsigned long long)blocks,
                           NF_MESH_BYTES_MAX);
        run->bytes[i] = (uint32_t)(blocks * run->setup->block_bytes);
    }
    if (lasts_too_long(run))
        return nf_fail(err, NF_ERR_RANGE, "times are beyond 2^62 ticks");
    return NF_OK;
}

/* Who sends and who gets which messages, by counting. */
static void list_messages(struct run *run)
{
    const struct nf_schedule *s = run->schedule;
    uint32_t n = run->setup->mesh.nodes;

    for (size_t i = 0; i < s->count; i++) {
        run->nodes[s->messages[i].src].out++;
        run->nodes[s->messages[i].dst].in++;
        run->taken[i] = -1;
    }
    for (uint32_t v = 0; v < n; v++) {
        struct node *node = &run->nodes[v];

        node->next_out = v > 0 ? run->nodes[v - 1].out : 0;
        node->next_in = v > 0 ? run->nodes[v - 1].in : 0;
        node->out += node->next_out;
        node->in += node->next_in;
    }
    for (size_t i = 0; i < s->count; i++) {
        run->out[run->nodes[s->messages[i].src].next_out++] = i;
        run->in[run->nodes[s->messages[i].dst].next_in++] = i;
    }
    for (uint32_t v = 0; v < n; v++) {
        run->nodes[v].next_out = v > 0 ? run->nodes[v - 1].out : 0;
        run->nodes[v].next_in = v > 0 ? run->nodes[v - 1].in : 0;
    }
}

/* ---- as if no message met another ---- */

/* All have to wait for the last one. */
static int64_t last_ready(const struct run *run)
{
    int64_t last = 0;

    for (uint32_t v = 0; v < run->setup->mesh.nodes; v++)
        last = later(last, run->nodes[v].ready);
    return last;
}

/* A step is over: what came in it is there; received is its time meanwhile. */
static void end_step(struct run *run)
{
    uint32_t n = run->setup->mesh.nodes;
    int64_t last;

    for (uint32_t v = 0; v < n; v++)
        run->nodes[v].ready =
            later(run->nodes[v].ready, run->nodes[v].received);
    last = last_ready(run);
    for (uint32_t v = 0; v < n && run->setup->pace == NF_PACE_STEPS; v++)
        run->nodes[v].ready = last;
}

static int64_t ideal_time(struct run *run)
{
    const struct nf_schedule *s = run->schedule;
    int64_t last = 0;

    for (size_t i = 0; i < s->count; i++) {
        const struct nf_coll_message *m = &s->messages[i];
        struct node *from = &run->nodes[m->src], *to = &run->nodes[m->dst];
        int64_t at = later(from->sent, from->ready) + send_time(run, i);

        from->sent = at;
        to->received =
            later(to->received, at + net_time(run, i) + recv_time(run, i));
        if (i + 1 == s->count || m[1].round != m->round)
            end_step(run);
    }
    last = last_ready(run);
    for (uint32_t v = 0; v < run->setup->mesh.nodes; v++)
        run->nodes[v].sent = run->nodes[v].received = run->nodes[v].ready = 0;
    return last;
}

/* ---- on the network ---- */

static enum nf_status offer(struct run *run, size_t message, int64_t ready)
{
    const struct nf_coll_message *m = &run->schedule->messages[message];
    struct nf_mesh_way way = way_of(m);
    struct node *from = &run->nodes[m->src];

    from->sent = later(from->sent, ready) + send_time(run, message);
    return nf_wormhole_offer_way(&run->worms, (uint32_t)message, &way,
                                 run->bytes[message], from->sent);
}

/* The next message that is there, or NF_WAIT. */
static enum nf_status receive(struct run *run, uint32_t *worm_p,
                              struct nf_error *err)
{
    enum nf_status status = nf_wormhole_next(&run->worms, worm_p, err);
    struct node *to;

    if (status != NF_OK)
        return status;
    to = &run->nodes[run->schedule->messages[*worm_p].dst];
    to->received = later(to->received, run->worms.worms[*worm_p].delivered) +
                   recv_time(run, *worm_p);
    run->taken[*worm_p] = to->received;
    run->result.time = later(run->result.time, to->received);
    return NF_OK;
}

static enum nf_status run_steps(struct run *run, struct nf_error *err)
{
    const struct nf_schedule *s = run->schedule;
    enum nf_status status = NF_OK;

    for (size_t i = 0; i < s->count && status == NF_OK;) {
        uint32_t round = s->messages[i].round, worm;
        int64_t ready = run->result.time;

        for (; i < s->count && s->messages[i].round == round; i++)
            if (offer(run, i, ready) != NF_OK)
                return nf_fail(err, NF_ERR_NOMEM, "out of memory");
        while (status == NF_OK)
            status = receive(run, &worm, err);
        if (status == NF_WAIT)
            status = NF_OK;
    }
    return status;
}

/* Offer all messages of a node for which it has what came before. */
static enum nf_status go_on(struct run *run, uint32_t v)
{
    const struct nf_coll_message *messages = run->schedule->messages;
    struct node *node = &run->nodes[v];

    for (; node->next_out < node->out; node->next_out++) {
        size_t message = run->out[node->next_out];
        uint32_t round = messages[message].round;

        for (; node->next_in < node->in; node->next_in++) {
            size_t in = run->in[node->next_in];

            if (messages[in].round >= round)
                break;
            if (run->taken[in] < 0)
                return NF_OK;
            node->ready = later(node->ready, run->taken[in]);
        }
        if (offer(run, message, node->ready) != NF_OK)
            return NF_ERR_NOMEM;
    }
    return NF_OK;
}

static enum nf_status run_free(struct run *run, struct nf_error *err)
{
    enum nf_status status = NF_OK;
    uint32_t worm = 0;

    for (uint32_t v = 0; v < run->setup->mesh.nodes && status == NF_OK; v++)
        status = go_on(run, v);
    while (status == NF_OK) {
        status = receive(run, &worm, err);
        if (status != NF_OK)
            return status == NF_WAIT ? NF_OK : status;
        status = go_on(run, run->schedule->messages[worm].dst);
    }
    return nf_fail(err, status, "out of memory");
}

/* ---- all together ---- */

static enum nf_status carry_out(struct run *run, struct nf_error *err)
{
    enum nf_status status = check_messages(run, err);

    if (status != NF_OK)
        return status;
    list_messages(run);
    run->result.ideal = ideal_time(run);
    status = run->setup->pace == NF_PACE_STEPS ? run_steps(run, err)
                                               : run_free(run, err);
    run->result.waits = run->worms.waits;
    run->result.waited = run->worms.waited;
    run->result.shared = run->worms.shared;
    run->result.events = run->worms.events;
    return status;
}

static enum nf_status check_setup(const struct nf_torus_setup *setup,
                                  const struct nf_schedule *schedule,
                                  struct nf_error *err)
{
    const struct nf_mesh_cast cast = { .mesh = setup->mesh,
                                       .costs = setup->costs,
                                       .bytes = setup->block_bytes,
                                       .ports = 1 };

    if (schedule->count >= NF_WORM_NONE)
        return nf_fail(err, NF_ERR_RANGE, "too many messages");
    return nf_mesh_cast_check(&cast, err);
}

enum nf_status nf_torus_run(const struct nf_torus_setup *setup,
                            const struct nf_schedule *schedule,
                            struct nf_torus_result *result_p,
                            struct nf_error *err)
{
    size_t count = schedule->count > 0 ? schedule->count : 1;
    struct run run = { .setup = setup, .schedule = schedule };
    enum nf_status status = check_setup(setup, schedule, err);

    if (status != NF_OK)
        return status;
    run.bytes = nf_calloc(count, sizeof(*run.bytes));
    run.nodes = nf_calloc(setup->mesh.nodes, sizeof(*run.nodes));
    run.out = nf_calloc(count, sizeof(*run.out));
    run.in = nf_calloc(count, sizeof(*run.in));
    run.taken = nf_calloc(count, sizeof(*run.taken));
    status = nf_wormhole_init(&run.worms, &setup->mesh, (uint32_t)count, 1,
                              setup->costs.hop);
    if (status == NF_OK && run.bytes != NULL && run.nodes != NULL &&
        run.out != NULL && run.in != NULL && run.taken != NULL)
        status = carry_out(&run, err);
    else
        status = nf_fail(err, NF_ERR_NOMEM, "out of memory");
    if (status == NF_OK)
        *result_p = run.result;
    nf_wormhole_fini(&run.worms);
    nf_free(run.bytes);
    nf_free(run.nodes);
    nf_free(run.out);
    nf_free(run.in);
    nf_free(run.taken);
    return status;
}
