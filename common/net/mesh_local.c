/* Meshes of threads: payloads go by reference, and each member has an inbox.
 *
 * All meshes that come from one nf_mesh_open_local are one world.  A subset is
 * a group of its own in it: the first member that asks makes the group, the
 * others find it by id and members.  A group is freed when each of its members
 * has closed its mesh of it, or can never come, since it has no mesh left.
 *
 * Locks: the world's before an inbox's, never two inboxes' at once. */
#include "config.h"
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/model/model.h"
#include "common/net/mesh_inbox.h"
#include "common/wire/link.h"

struct group {
    struct group *next;
    struct world *world;
    uint64_t id;
    uint32_t ranks;
    uint32_t *members; /* [ranks] numbers in the world, ascending */
    bool *claimed;     /* [ranks] it has, or had, its mesh of this group */
    bool *gone;        /* [ranks] closed, or will never come */
    struct inbox *inboxes;
};

struct world {
    pthread_mutex_t lock;
    struct group *groups;
    uint32_t meshes; /* that are open */
    bool converts;   /* NOWFARM_ENCODING=xdr, for tests */
    uint32_t open[]; /* [ranks] meshes of each member */
};

struct mesh_local {
    struct nf_mesh base;
    struct group *group;
    struct inbox_note *current; /* holds the head of the last event */
};

static const struct nf_mesh_ops local_ops;

/* ---------------------------------------------------------------- groups */

static void free_group(struct group *group)
{
    for (uint32_t i = 0; i < group->ranks && group->inboxes != NULL; i++)
        nf_inbox_fini(&group->inboxes[i]);
    nf_free(group->inboxes);
    nf_free(group->members);
    nf_free(group->claimed);
    nf_free(group->gone);
    nf_free(group);
}

/* With the world's lock held: tell the others that a member has left. */
static void say_gone(struct group *group, uint32_t rank)
{
    group->gone[rank] = true;
    nf_inbox_close(&group->inboxes[rank]);
    for (uint32_t i = 0; i < group->ranks; i++) {
        struct inbox *inbox = &group->inboxes[i];

        if (i != rank && nf_inbox_deliver(inbox, inbox->senders[rank].left))
            inbox->senders[rank].left = NULL;
    }
}

static bool is_over(const struct group *group)
{
    for (uint32_t i = 0; i < group->ranks; i++)
        if (!group->gone[i])
            return false;
    return true;
}

/* With the world's lock held.  @p members are numbers in the world. */
static enum nf_status make_group(struct world *world, const uint32_t *members,
                                 uint32_t ranks, uint64_t id,
                                 struct group **group_p, struct nf_error *err)
{
    struct group *group = nf_calloc(1, sizeof(*group));
    enum nf_status status = NF_OK;

    if (group == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    group->world = world;
    group->id = id;
    group->members = nf_calloc(ranks, sizeof(*group->members));
    group->claimed = nf_calloc(ranks, sizeof(*group->claimed));
    group->gone = nf_calloc(ranks, sizeof(*group->gone));
    group->inboxes = nf_calloc(ranks, sizeof(*group->inboxes));
    if (group->members == NULL || group->claimed == NULL ||
        group->gone == NULL || group->inboxes == NULL)
        status = nf_fail(err, NF_ERR_NOMEM, "out of memory");
    for (; group->ranks < ranks && status == NF_OK; group->ranks++) {
        status = nf_inbox_init(&group->inboxes[group->ranks], ranks, err);
        group->members[group->ranks] = members[group->ranks];
    }
    if (status != NF_OK) {
        free_group(group);
        return status;
    }
    group->next = world->groups;
    world->groups = group;
    *group_p = group;
    return NF_OK;
}

static struct group *find_group(const struct world *world,
                                const uint32_t *members, uint32_t ranks,
                                uint64_t id)
{
    struct group *group = world->groups;

    while (group != NULL &&
           (group->id != id || group->ranks != ranks ||
            memcmp(group->members, members, ranks * sizeof(*members)) != 0))
        group = group->next;
    return group;
}

static void drop_groups_that_are_over(struct world *world)
{
    struct group **at = &world->groups;

    while (*at != NULL) {
        struct group *group = *at;

        if (!is_over(group)) {
            at = &group->next;
            continue;
        }
        *at = group->next;
        free_group(group);
    }
}

/* -------------------------------------------------------------- messages */

static struct inbox *inbox_of(const struct nf_mesh *mesh, uint32_t member)
{
    return &((const struct mesh_local *)mesh)->group->inboxes[member];
}

/* Bytes that are lent to us may change as soon as we do not wait for them. */
static struct nf_blob *keep(struct nf_blob *payload)
{
    struct nf_blob *copy;

    if (payload == NULL || !nf_blob_is_borrowed(payload))
        return nf_blob_ref(payload);
    copy = nf_blob_create(payload->bytes, payload->type);
    if (copy != NULL && payload->bytes > 0)
        memcpy(copy->data, payload->data, payload->bytes);
    return copy;
}

static enum nf_status local_send(struct nf_mesh *mesh, uint32_t member,
                                 const struct nf_mesh_message *message)
{
    struct inbox_note *note;

    if (!nf_mesh_may_send(mesh, member, message))
        return NF_ERR_INVAL;
    note = nf_malloc(sizeof(*note) + message->head_bytes);
    if (note == NULL)
        return NF_ERR_NOMEM;
    note->kind = NF_MESH_MESSAGE;
    note->urgent = message->urgent;
    note->from = mesh->rank;
    note->head_bytes = message->head_bytes;
    memcpy(note->head, message->head, message->head_bytes);
    note->payload = keep(message->payload);
    if (note->payload == NULL && message->payload != NULL) {
        nf_free(note);
        return NF_ERR_NOMEM;
    }
    if (!nf_inbox_deliver(inbox_of(mesh, member), note))
        nf_inbox_free_note(note);
    return NF_OK;
}

static enum nf_status local_next(struct nf_mesh *mesh,
                                 struct nf_mesh_event *event_p)
{
    struct mesh_local *m = (struct mesh_local *)mesh;
    struct inbox *inbox = inbox_of(mesh, mesh->rank);
    struct inbox_note *note;
    size_t bytes, unread_bytes;

    nf_inbox_free_note(m->current);
    note = m->current = nf_inbox_take(inbox);
    if (note == NULL)
        return NF_WAIT;
    bytes = nf_inbox_note_bytes(note);
    event_p->kind = note->kind;
    event_p->member = note->from;
    event_p->message = (struct nf_mesh_message){ .head = note->head,
                                                 .head_bytes = note->head_bytes,
                                                 .payload = note->payload,
                                                 .urgent = note->urgent };
    note->payload = NULL;
    unread_bytes =
        atomic_fetch_sub(&inbox->senders[note->from].unread_bytes, bytes);
    if (unread_bytes > NF_LINK_WINDOW_BYTES) {
        struct inbox *sender = inbox_of(mesh, note->from);

        if (!note->urgent)
            atomic_fetch_add(&sender->fetched_bytes, bytes);
        nf_inbox_wake(sender); /* it may be waiting for its backlog to go */
    }
    return NF_OK;
}

static enum nf_status local_wait(struct nf_mesh *mesh, int64_t timeout_us)
{
    struct inbox *inbox = inbox_of(mesh, mesh->rank);
    struct pollfd watch = { .fd = inbox->fd, .events = POLLIN };
    int64_t until_us = timeout_us < 0 ? 0 : nf_now_us() + timeout_us;
    int code;

    if (!nf_inbox_may_sleep(inbox))
        return NF_OK;
    do {
        int64_t left_us = until_us - nf_now_us();

        code = poll(&watch, 1, timeout_us < 0 ? -1 : nf_mesh_poll_ms(left_us));
    } while (code < 0 && errno == EINTR);
    return code > 0 ? NF_OK : NF_WAIT;
}

static size_t local_fds(struct nf_mesh *mesh, const int **fds_p)
{
    *fds_p = &inbox_of(mesh, mesh->rank)->fd;
    return 1;
}

static size_t local_backlog_bytes(const struct nf_mesh *mesh, uint32_t member)
{
    size_t unread_bytes =
        atomic_load(&inbox_of(mesh, member)->senders[mesh->rank].unread_bytes);

    return unread_bytes > NF_LINK_WINDOW_BYTES
               ? unread_bytes - NF_LINK_WINDOW_BYTES
               : 0;
}

static uint64_t local_moved_bytes(const struct nf_mesh *mesh)
{
    return atomic_load(&inbox_of(mesh, mesh->rank)->fetched_bytes);
}

static void local_pause(struct nf_mesh *mesh, uint32_t member, bool paused)
{
    nf_inbox_pause(inbox_of(mesh, mesh->rank), member, paused);
}

/* ------------------------------------------------------------------ life */

/* With the world's lock held. */
static void claim(struct group *group, uint32_t rank, struct mesh_local *m)
{
    m->base.ops = &local_ops;
    m->base.rank = rank;
    m->base.ranks = group->ranks;
    m->group = group;
    group->claimed[rank] = true;
    group->world->open[group->members[rank]]++;
    group->world->meshes++;
}

/* With the world's lock held: those who have no mesh left never come. */
static void miss(struct group *group)
{
    for (uint32_t i = 0; i < group->ranks; i++)
        if (!group->claimed[i] && !group->gone[i] &&
            group->world->open[group->members[i]] == 0)
            say_gone(group, i);
}

static void free_world(struct world *world)
{
    while (world->groups != NULL) {
        struct group *group = world->groups;

        world->groups = group->next;
        free_group(group);
    }
    pthread_mutex_destroy(&world->lock);
    nf_free(world);
}

static void local_close(struct nf_mesh *mesh)
{
    struct mesh_local *m = (struct mesh_local *)mesh;
    struct world *world = m->group->world;
    bool last;

    pthread_mutex_lock(&world->lock);
    say_gone(m->group, mesh->rank);
    last = --world->meshes == 0;
    if (--world->open[m->group->members[mesh->rank]] == 0)
        for (struct group *g = world->groups; g != NULL; g = g->next)
            miss(g);
    drop_groups_that_are_over(world);
    pthread_mutex_unlock(&world->lock);
    if (last)
        free_world(world);
    nf_inbox_free_note(m->current);
    nf_free(m);
}

static enum nf_status join(struct world *world, const uint32_t *members,
                           uint32_t count, uint64_t id, uint32_t rank,
                           struct mesh_local *m, struct nf_error *err)
{
    struct group *group = find_group(world, members, count, id);
    enum nf_status status = NF_OK;

    if (group == NULL)
        status = make_group(world, members, count, id, &group, err);
    else if (group->claimed[rank])
        status = nf_fail(err, NF_ERR_INVAL,
                         "these members have a mesh with this id already");
    if (status != NF_OK)
        return status;
    claim(group, rank, m);
    miss(group);
    return NF_OK;
}

static enum nf_status local_subset(struct nf_mesh *mesh,
                                   const uint32_t *members, uint32_t count,
                                   uint64_t id, struct nf_mesh **mesh_p,
                                   struct nf_error *err)
{
    const struct group *old = ((struct mesh_local *)mesh)->group;
    struct mesh_local *m;
    uint32_t rank, *numbers;
    enum nf_status status =
        nf_mesh_check_subset(mesh, members, count, &rank, err);

    if (status != NF_OK)
        return status;
    m = nf_calloc(1, sizeof(*m));
    numbers = nf_calloc(count, sizeof(*numbers));
    if (m == NULL || numbers == NULL) {
        nf_free(m);
        nf_free(numbers);
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    }
    for (uint32_t i = 0; i < count; i++)
        numbers[i] = old->members[members[i]];
    pthread_mutex_lock(&old->world->lock);
    status = join(old->world, numbers, count, id, rank, m, err);
    pthread_mutex_unlock(&old->world->lock);
    nf_free(numbers);
    if (status != NF_OK) {
        nf_free(m);
        return status;
    }
    *mesh_p = &m->base;
    return NF_OK;
}

static void local_place(const struct nf_mesh *mesh,
                        struct nf_mesh_place *place_p)
{
    static const char name[] = "local";

    (void)mesh;
    *place_p = (struct nf_mesh_place){
        .hosts_hash = nf_model_hosts_hash(name, sizeof(name), 1),
        .direct = true,
    };
}

static void local_host_names(const struct nf_mesh *mesh, char (*names)[64])
{
    for (uint32_t i = 0; i < mesh->ranks; i++)
        strcpy(names[i], "local");
}

static uint32_t local_host_of(const struct nf_mesh *mesh, uint32_t member)
{
    (void)mesh;
    (void)member;
    return 0;
}

/* There is one data format in a process, and numbers stay as they are; but who
 * packs structures can be tried with threads. */
static bool local_converts(const struct nf_mesh *mesh, uint32_t member)
{
    (void)member;
    return ((const struct mesh_local *)mesh)->group->world->converts;
}

void nf_mesh_wake_by(struct nf_mesh *mesh, void (*wake)(void *arg), void *arg)
{
    nf_inbox_set_wake(inbox_of(mesh, mesh->rank), wake, arg);
}

static const struct nf_mesh_ops local_ops = {
    .name = "local",
    .takes_chains = true,
    .send = local_send,
    .next = local_next,
    .wait = local_wait,
    .fds = local_fds,
    .backlog_bytes = local_backlog_bytes,
    .subset = local_subset,
    .close = local_close,
    .pause = local_pause,
    .moved_bytes = local_moved_bytes,
    .place = local_place,
    .host_of = local_host_of,
    .converts = local_converts,
    .host_names = local_host_names,
};

static enum nf_status make_world(uint32_t count, struct world **world_p,
                                 struct nf_error *err)
{
    struct world *world =
        nf_calloc(1, sizeof(*world) + count * sizeof(world->open[0]));
    uint32_t *all = nf_calloc(count, sizeof(*all));
    const char *encoding = getenv("NOWFARM_ENCODING");
    struct group *group;
    enum nf_status status;

    if (world == NULL || all == NULL) {
        nf_free(world);
        nf_free(all);
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    }
    pthread_mutex_init(&world->lock, NULL);
    world->converts = encoding != NULL && strcmp(encoding, "xdr") == 0;
    for (uint32_t i = 0; i < count; i++)
        all[i] = i;
    status = make_group(world, all, count, 0, &group, err);
    nf_free(all);
    if (status == NF_OK)
        *world_p = world;
    else
        free_world(world);
    return status;
}

enum nf_status nf_mesh_open_local(uint32_t count, struct nf_mesh **meshes_p,
                                  struct nf_error *err)
{
    struct mesh_local **all;
    struct world *world = NULL;
    enum nf_status status;
    uint32_t made;

    if (count == 0)
        return nf_fail(err, NF_ERR_INVAL, "a mesh has at least one member");
    all = nf_calloc(count, sizeof(*all));
    if (all == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    for (made = 0; made < count; made++) {
        all[made] = nf_calloc(1, sizeof(*all[made]));
        if (all[made] == NULL)
            break;
    }
    status = made < count ? nf_fail(err, NF_ERR_NOMEM, "out of memory")
                          : make_world(count, &world, err);
    for (uint32_t i = 0; i < made; i++) {
        if (status != NF_OK) {
            nf_free(all[i]);
            continue;
        }
        claim(world->groups, i, all[i]);
        meshes_p[i] = &all[i]->base;
    }
    nf_free(all);
    return status;
}
