#include "config.h"
#include "tests/unit/fake_mesh.h"
#include <stdlib.h>
#include <string.h>
#include "common/base/error.h"

struct fake_message {
    struct fake_message *next;
    struct fake_context *context;
    uint32_t from, to; /* of the context */
    int64_t begin_us, depart_us, arrive_us;
    bool departed, urgent;
    struct nf_blob *payload;
    size_t head_bytes;
    uint8_t head[NF_MESH_HEAD_BYTES];
};

/* A group of members whose messages do not mix with others'. */
struct fake_context {
    struct fake_context *next;
    uint64_t id;
    uint32_t ranks;
    uint32_t members[FAKE_MEMBERS_MAX];
    int64_t last_us[2][FAKE_MEMBERS_MAX][FAKE_MEMBERS_MAX];
    int64_t left_us[2][FAKE_MEMBERS_MAX][FAKE_MEMBERS_MAX];
    /* [taker][sender]; credit comes back when all was taken */
    bool paused[FAKE_MEMBERS_MAX][FAKE_MEMBERS_MAX];
    bool withheld[FAKE_MEMBERS_MAX][FAKE_MEMBERS_MAX];
    uint32_t untaken[FAKE_MEMBERS_MAX][FAKE_MEMBERS_MAX];
    uint64_t moved_bytes[FAKE_MEMBERS_MAX]; /* of messages that departed */
    struct nf_mesh *meshes[FAKE_MEMBERS_MAX]; /* NULL: not open */
};

struct fake_mesh {
    struct nf_mesh base;
    struct fake_world *world;
    struct fake_context *context;
    bool told[FAKE_MEMBERS_MAX];
    int64_t told_us[FAKE_MEMBERS_MAX];
    bool suspected[FAKE_MEMBERS_MAX];
    uint8_t head[NF_MESH_HEAD_BYTES];
};

static struct fake_mesh *of(struct nf_mesh *mesh)
{
    return (struct fake_mesh *)mesh;
}

int64_t fake_now_us(void *world)
{
    return ((struct fake_world *)world)->now_us;
}

static int64_t delay(struct fake_world *world)
{
    uint64_t kind = nf_rng_below(&world->rng, 8);
    int64_t most = kind == 0  ? world->most_delay_us * 8
                   : kind < 4 ? world->most_delay_us
                              : world->most_delay_us / 16;

    return (int64_t)nf_rng_below(&world->rng, (uint64_t)most + 1);
}

static void free_message(struct fake_message *m)
{
    nf_blob_unref(m->payload);
    free(m);
}

static size_t bytes_of(const struct fake_message *m)
{
    return m->head_bytes + (m->payload != NULL ? m->payload->bytes : 0);
}

/* Bytes leave the sender now: from here on it may change them. */
static void depart(struct fake_message *m)
{
    struct nf_blob *copy;

    m->departed = true;
    m->context->untaken[m->to][m->from] += !m->urgent;
    if (!m->urgent)
        m->context->moved_bytes[m->from] += bytes_of(m);
    if (!m->urgent && m->begin_us < m->depart_us) /* it came in pieces */
        m->context->moved_bytes[m->to] += bytes_of(m);
    if (m->payload == NULL || !nf_blob_is_borrowed(m->payload))
        return;
    /* not of nf_malloc(), which may be told to fail: this is the network */
    copy = calloc(1, sizeof(*copy));
    atomic_init(&copy->refs, 1);
    copy->type = m->payload->type;
    copy->bytes = m->payload->bytes;
    copy->data = malloc(copy->bytes + 1);
    copy->release = free;
    memcpy(copy->data, m->payload->data, m->payload->bytes);
    nf_blob_unref(m->payload);
    m->payload = copy;
}

/* What is on its way to one that paused the sender is its window. */
static bool has_credit(const struct fake_message *m)
{
    return m->urgent || !m->context->withheld[m->to][m->from];
}

static bool is_kept(struct fake_world *world, const struct fake_message *m)
{
    const struct nf_mesh *reader = m->context->meshes[m->to];
    bool kept = world->lends && m->payload != NULL && reader != NULL &&
                reader->landing.is_later != NULL &&
                reader->landing.is_later(reader->landing.self, m->head,
                                         m->head_bytes);

    world->kept += kept;
    return kept;
}

static bool may_depart(struct fake_world *world, const struct fake_message *m)
{
    return m->depart_us <= world->now_us && has_credit(m) && !is_kept(world, m);
}

static void settle(struct fake_world *world)
{
    for (struct fake_message *m = world->messages; m != NULL; m = m->next)
        if (!m->departed && may_depart(world, m))
            depart(m);
}

/* When it has left, if nothing holds it up: not before an earlier one, or a
 * drop would take that away and leave this. */
static void schedule(struct fake_world *world, struct fake_message *m)
{
    uint32_t sender = m->context->members[m->from];
    int64_t *wire_us = &world->wire_us[sender];
    int64_t *left_us = &m->context->left_us[m->urgent][m->from][m->to];

    m->begin_us = world->now_us + (m->urgent ? 0 : delay(world) / 2);
    if (m->begin_us < *left_us)
        m->begin_us = *left_us;
    m->depart_us = m->begin_us;
    if (world->byte_ns > 0 && !m->urgent) {
        if (m->begin_us < *wire_us)
            m->begin_us = *wire_us;
        m->depart_us =
            m->begin_us + (int64_t)bytes_of(m) * world->byte_ns / 1000;
        *wire_us = m->depart_us;
    }
    *left_us = m->depart_us;
    /* not at once: who has looked in this moment would be passed over */
    m->arrive_us = m->depart_us + 1 + delay(world);
}

static void count_to_death(struct fake_world *world, uint32_t member)
{
    if (member == world->kill_member && world->kill_count++ == world->kill_at)
        fake_kill(world, member);
}

static enum nf_status fake_send(struct nf_mesh *mesh, uint32_t to,
                                const struct nf_mesh_message *message)
{
    struct fake_world *world = of(mesh)->world;
    struct fake_context *context = of(mesh)->context;
    int64_t *last = &context->last_us[message->urgent][mesh->rank][to];
    struct fake_message *m, **at = &world->messages;

    if (!nf_mesh_may_send(mesh, to, message))
        return NF_ERR_INVAL;
    if (world->broken[context->members[mesh->rank]])
        return NF_ERR_UNREACHABLE;
    if (world->dead[context->members[mesh->rank]] || of(mesh)->told[to])
        return NF_OK;
    m = calloc(1, sizeof(*m));
    m->context = context;
    m->from = mesh->rank;
    m->to = to;
    m->urgent = message->urgent;
    m->payload = nf_blob_ref(message->payload);
    m->head_bytes = message->head_bytes;
    schedule(world, m);
    if (m->arrive_us < *last)
        m->arrive_us = *last;
    *last = m->arrive_us;
    memcpy(m->head, message->head, m->head_bytes);
    while (*at != NULL)
        at = &(*at)->next;
    *at = m;
    if (may_depart(world, m))
        depart(m);
    if (!message->urgent && !world->kill_hears)
        count_to_death(world, context->members[mesh->rank]);
    world->sent += !message->urgent;
    world->in_bulk += message->in_bulk;
    return NF_OK;
}

static bool is_due(const struct fake_mesh *mesh, const struct fake_message *m)
{
    return m->context == mesh->context && m->to == mesh->base.rank &&
           m->departed && m->arrive_us <= mesh->world->now_us &&
           (m->urgent || !m->context->paused[m->to][m->from]);
}

static struct fake_message **first_due(struct fake_mesh *mesh, bool urgent)
{
    for (struct fake_message **at = &mesh->world->messages; *at != NULL;
         at = &(*at)->next)
        if ((*at)->urgent == urgent && is_due(mesh, *at))
            return at;
    return NULL;
}

static int64_t death_seen_us(const struct fake_mesh *mesh, uint32_t i)
{
    uint32_t member = mesh->context->members[i];

    if (!mesh->world->dead[member] ||
        (mesh->world->mute[member] && !mesh->suspected[i]))
        return INT64_MAX;
    return mesh->world->dead_us[member] + 100 * (int64_t)mesh->base.rank;
}

/* To who has ended nothing leaves any more: its sender's bytes may be gone soon. */
static void drop_to(struct fake_world *world, const struct fake_context *context,
                    uint32_t from, uint32_t to)
{
    struct fake_message **at = &world->messages;

    while (*at != NULL) {
        struct fake_message *m = *at;

        if (m->departed || m->context != context || m->from != from ||
            m->to != to) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        free_message(m);
    }
}

static enum nf_status fake_next(struct nf_mesh *base,
                                struct nf_mesh_event *event_p)
{
    struct fake_mesh *mesh = of(base);
    struct fake_message **at, *m;

    settle(mesh->world);
    if (mesh->world->broken[mesh->context->members[base->rank]])
        return NF_ERR_UNREACHABLE;
    for (uint32_t i = 0; i < base->ranks; i++)
        if (!mesh->told[i] && death_seen_us(mesh, i) <= mesh->world->now_us) {
            mesh->told[i] = true;
            drop_to(mesh->world, mesh->context, base->rank, i);
            *event_p =
                (struct nf_mesh_event){ .kind = NF_MESH_LEFT, .member = i };
            return NF_OK;
        }
    at = first_due(mesh, true);
    if (at == NULL)
        at = first_due(mesh, false);
    if (at == NULL)
        return NF_WAIT;
    m = *at;
    *at = m->next;
    if (!m->urgent && --m->context->untaken[m->to][m->from] == 0)
        m->context->withheld[m->to][m->from] =
            m->context->paused[m->to][m->from];
    memcpy(mesh->head, m->head, m->head_bytes);
    *event_p = (struct nf_mesh_event){
        .kind = NF_MESH_MESSAGE,
        .member = m->from,
        .message = { .head = mesh->head,
                     .head_bytes = m->head_bytes,
                     .payload = nf_blob_ref(m->payload),
                     .urgent = m->urgent },
    };
    if (!m->urgent && mesh->world->kill_hears)
        count_to_death(mesh->world, mesh->context->members[base->rank]);
    free_message(m);
    return NF_OK;
}

/* With nobody else running a wait would never end. */
static enum nf_status fake_wait(struct nf_mesh *base, int64_t timeout_us)
{
    ((struct fake_mesh *)base)->world->settled += base->settles;
    ((struct fake_mesh *)base)->world->slept += base->sleeps;
    if (timeout_us != 0)
        abort();
    return NF_OK;
}

static size_t fake_fds(struct nf_mesh *mesh, const int **fds_p)
{
    (void)mesh;
    *fds_p = NULL;
    return 0;
}

static size_t fake_backlog_bytes(const struct nf_mesh *base, uint32_t to)
{
    const struct fake_mesh *mesh = (const struct fake_mesh *)base;
    size_t bytes = 0;

    if (mesh->told[to])
        return 0;
    settle(mesh->world);
    for (struct fake_message *m = mesh->world->messages; m != NULL; m = m->next)
        if (m->context == mesh->context && m->from == base->rank &&
            m->to == to && !m->departed)
            bytes += m->head_bytes;
    return bytes;
}

/* Of a message on its wire the part that has gone counts at both ends. */
static uint64_t fake_moved_bytes(const struct nf_mesh *base)
{
    const struct fake_mesh *mesh = (const struct fake_mesh *)base;
    const struct fake_world *world = mesh->world;
    uint64_t bytes;

    settle(mesh->world);
    bytes = mesh->context->moved_bytes[base->rank];
    for (const struct fake_message *m = world->messages; m != NULL; m = m->next)
        if (m->context == mesh->context && !m->departed && !m->urgent &&
            (m->from == base->rank || m->to == base->rank) &&
            m->begin_us < world->now_us && world->now_us < m->depart_us)
            bytes += (uint64_t)((world->now_us - m->begin_us) * 1000 /
                                world->byte_ns);
    return bytes;
}

static const struct nf_mesh_ops fake_ops;

static struct nf_mesh *open_in(struct fake_world *world, uint32_t rank,
                               const uint32_t *members, uint32_t ranks,
                               uint64_t id)
{
    struct fake_context *context = world->contexts;
    struct fake_mesh *mesh = calloc(1, sizeof(*mesh));

    while (context != NULL &&
           (context->id != id || context->ranks != ranks ||
            memcmp(context->members, members, ranks * sizeof(*members)) != 0))
        context = context->next;
    if (context == NULL) {
        context = calloc(1, sizeof(*context));
        context->id = id;
        context->ranks = ranks;
        memcpy(context->members, members, ranks * sizeof(*members));
        context->next = world->contexts;
        world->contexts = context;
    }
    mesh->base = (struct nf_mesh){ .ops = &fake_ops,
                                   .rank = rank,
                                   .ranks = ranks };
    mesh->world = world;
    mesh->context = context;
    context->meshes[rank] = &mesh->base;
    return &mesh->base;
}

static enum nf_status fake_subset(struct nf_mesh *base, const uint32_t *members,
                                  uint32_t count, uint64_t id,
                                  struct nf_mesh **mesh_p, struct nf_error *err)
{
    struct fake_mesh *mesh = of(base);
    uint32_t numbers[FAKE_MEMBERS_MAX], rank;
    enum nf_status status =
        nf_mesh_check_subset(base, members, count, &rank, err);

    if (status != NF_OK)
        return status;
    for (uint32_t i = 0; i < count; i++)
        numbers[i] = mesh->context->members[members[i]];
    *mesh_p = open_in(mesh->world, rank, numbers, count, id);
    return NF_OK;
}

/* What it has not sent yet is lost, what others hold of it is not.
 * @param begun  also of what it has begun to send */
static void drop_queued(struct fake_world *world,
                        const struct fake_context *context, uint32_t from,
                        bool begun)
{
    struct fake_message **at = &world->messages;

    settle(world);
    while (*at != NULL) {
        struct fake_message *m = *at;

        if (m->departed || m->from != from ||
            (!begun && m->begin_us < m->depart_us && m->begin_us < world->now_us) ||
            (context != NULL && m->context != context)) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        free_message(m);
    }
}

static void fake_close(struct nf_mesh *base)
{
    drop_queued(of(base)->world, of(base)->context, base->rank, true);
    of(base)->context->meshes[base->rank] = NULL;
    free(base);
}

static void fake_drop(struct nf_mesh *base)
{
    struct fake_world *world = of(base)->world;
    int64_t *wire_us =
        &world->wire_us[of(base)->context->members[base->rank]];

    drop_queued(world, of(base)->context, base->rank, false);
    *wire_us = world->now_us;
    for (const struct fake_message *m = world->messages; m != NULL; m = m->next)
        if (m->context == of(base)->context && m->from == base->rank &&
            !m->departed && m->depart_us > *wire_us)
            *wire_us = m->depart_us;
}

static void fake_pause(struct nf_mesh *base, uint32_t member, bool paused)
{
    struct fake_context *context = of(base)->context;

    context->paused[base->rank][member] = paused;
    context->withheld[base->rank][member] =
        paused || context->untaken[base->rank][member] > 0;
    settle(of(base)->world);
}

/* Three members a host, going round. */
static uint32_t fake_host_of(const struct nf_mesh *base, uint32_t member)
{
    return member % ((base->ranks + 2) / 3);
}

static bool fake_converts(const struct nf_mesh *base, uint32_t member)
{
    const struct fake_mesh *mesh = (const struct fake_mesh *)base;
    const uint32_t *members = mesh->context->members;

    return mesh->world->formats[members[base->rank]] !=
           mesh->world->formats[members[member]];
}

static void fake_suspect(struct nf_mesh *mesh, uint32_t member)
{
    of(mesh)->suspected[member] = true;
}

uint64_t fake_taken_back;

static void fake_take_back(struct nf_mesh *mesh, const struct nf_blob *payload)
{
    (void)mesh, (void)payload;
    fake_taken_back++; /* what is queued keeps its own copy */
}

static const struct nf_mesh_ops fake_ops = {
    .name = "fake",
    .send = fake_send,
    .next = fake_next,
    .wait = fake_wait,
    .fds = fake_fds,
    .backlog_bytes = fake_backlog_bytes,
    .take_back = fake_take_back,
    .subset = fake_subset,
    .close = fake_close,
    .pause = fake_pause,
    .moved_bytes = fake_moved_bytes,
    .drop = fake_drop,
    .host_of = fake_host_of,
    .converts = fake_converts,
    .suspect = fake_suspect,
};

void fake_world_init(struct fake_world *world, uint32_t members, uint64_t seed)
{
    *world = (struct fake_world){ .members = members,
                                  .most_delay_us = 200,
                                  .rng = { seed },
                                  .now_us = 1000,
                                  .kill_member = UINT32_MAX };
}

void fake_world_fini(struct fake_world *world)
{
    while (world->messages != NULL) {
        struct fake_message *m = world->messages;

        world->messages = m->next;
        free_message(m);
    }
    while (world->contexts != NULL) {
        struct fake_context *context = world->contexts;

        world->contexts = context->next;
        free(context);
    }
}

struct nf_mesh *fake_mesh_open(struct fake_world *world, uint32_t member)
{
    uint32_t all[FAKE_MEMBERS_MAX];

    for (uint32_t i = 0; i < world->members; i++)
        all[i] = i;
    return open_in(world, member, all, world->members, 0);
}

void fake_kill(struct fake_world *world, uint32_t member)
{
    world->dead[member] = true;
    world->dead_us[member] = world->now_us;
    world->mute[member] = world->kill_mutely;
    for (struct fake_context *c = world->contexts; c != NULL; c = c->next)
        for (uint32_t i = 0; i < c->ranks; i++)
            if (c->members[i] == member)
                drop_queued(world, c, i, true);
}

int64_t fake_next_us(const struct fake_world *world)
{
    int64_t next = INT64_MAX;

    for (const struct fake_message *m = world->messages; m != NULL;
         m = m->next) {
        int64_t at = m->departed ? m->arrive_us : m->depart_us;

        if (at > world->now_us && at < next)
            next = at;
    }
    for (uint32_t i = 0; i < world->members; i++)
        for (uint32_t j = 0; j < world->members; j++) {
            int64_t at = world->dead_us[i] + 100 * (int64_t)j;

            if (world->dead[i] && at > world->now_us && at < next)
                next = at;
        }
    return next;
}
