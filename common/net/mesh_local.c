/* Meshes of threads: payloads go by reference, and each member has an inbox.
 *
 * All meshes that come from one nf_mesh_open_local are one world.  A subset is
 * a group of its own in it: the first member that asks makes the group, the
 * others find it by id and members.  A group is freed when each of its members
 * has closed its mesh of it, or can never come, since it has no mesh left.
 *
 * A writer wakes a reader only if that has said that it is about to sleep.
 * Locks: the world's before an inbox's, never two inboxes' at once. */
#include "config.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/net/mesh.h"
#include "common/wire/link.h"

struct note {
    struct note *next;
    enum nf_mesh_event_kind kind;
    bool urgent;
    uint32_t from;
    struct nf_blob *payload; /* one reference */
    size_t head_bytes;
    uint8_t head[];
};

struct note_list {
    struct note *head, *tail;
};

struct inbox {
    pthread_mutex_t lock;
    struct note_list urgent, normal;
    bool sleeping;  /* the reader is, or is about to be */
    bool signalled; /* fd was written and not read */
    bool closed;
    int fd; /* eventfd */
    /* [ranks], by sender: */
    atomic_size_t *unread_bytes;
    struct note **left; /* reserved, so that its leaving can't be lost */
};

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
    uint32_t open[]; /* [ranks] meshes of each member */
};

struct mesh_local {
    struct nf_mesh base;
    struct group *group;
    struct note *current; /* holds the head of the last event */
};

static const struct nf_mesh_ops local_ops;

/* --------------------------------------------------------------- inboxes */

static void push(struct note_list *list, struct note *note)
{
    note->next = NULL;
    if (list->head == NULL)
        list->head = note;
    else
        list->tail->next = note;
    list->tail = note;
}

static struct note *pop(struct note_list *list)
{
    struct note *note = list->head;

    if (note != NULL)
        list->head = note->next;
    return note;
}

static void free_note(struct note *note)
{
    if (note == NULL)
        return;
    nf_blob_unref(note->payload);
    nf_free(note);
}

static void free_notes(struct note_list *list)
{
    while (list->head != NULL)
        free_note(pop(list));
}

static size_t note_bytes(const struct note *note)
{
    return note->head_bytes +
           (note->payload != NULL ? note->payload->bytes : 0);
}

static void wake_locked(struct inbox *inbox)
{
    static const uint64_t one = 1;

    if (!inbox->sleeping)
        return;
    inbox->sleeping = false;
    inbox->signalled = true;
    while (write(inbox->fd, &one, sizeof(one)) < 0 && errno == EINTR)
        continue;
}

/* @return whether it was taken; a closed inbox takes nothing */
static bool deliver(struct inbox *inbox, struct note *note)
{
    bool open;

    pthread_mutex_lock(&inbox->lock);
    open = !inbox->closed;
    if (open) {
        push(note->urgent ? &inbox->urgent : &inbox->normal, note);
        atomic_fetch_add(&inbox->unread_bytes[note->from], note_bytes(note));
        wake_locked(inbox);
    }
    pthread_mutex_unlock(&inbox->lock);
    return open;
}

/* The next note; if there is none, the descriptor will tell of the next. */
static struct note *take(struct inbox *inbox)
{
    struct note *note;
    uint64_t count;

    pthread_mutex_lock(&inbox->lock);
    note = pop(&inbox->urgent);
    if (note == NULL)
        note = pop(&inbox->normal);
    if (note == NULL) {
        if (inbox->signalled &&
            read(inbox->fd, &count, sizeof(count)) == sizeof(count))
            inbox->signalled = false;
        inbox->sleeping = true;
    }
    pthread_mutex_unlock(&inbox->lock);
    return note;
}

static void close_inbox(struct inbox *inbox, uint32_t ranks)
{
    struct note_list urgent, normal;

    pthread_mutex_lock(&inbox->lock);
    inbox->closed = true;
    urgent = inbox->urgent;
    normal = inbox->normal;
    inbox->urgent.head = inbox->normal.head = NULL;
    pthread_mutex_unlock(&inbox->lock);
    free_notes(&urgent);
    free_notes(&normal);
    for (uint32_t i = 0; i < ranks; i++)
        atomic_store(&inbox->unread_bytes[i], 0);
}

static void fini_inbox(struct inbox *inbox, uint32_t ranks)
{
    free_notes(&inbox->urgent);
    free_notes(&inbox->normal);
    for (uint32_t i = 0; i < ranks && inbox->left != NULL; i++)
        free_note(inbox->left[i]);
    nf_free(inbox->left);
    nf_free(inbox->unread_bytes);
    pthread_mutex_destroy(&inbox->lock);
    if (inbox->fd >= 0)
        close(inbox->fd);
}

static enum nf_status init_inbox(struct inbox *inbox, uint32_t ranks,
                                 struct nf_error *err)
{
    pthread_mutex_init(&inbox->lock, NULL);
    inbox->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (inbox->fd < 0)
        return nf_fail(err, NF_ERR_IO, "eventfd: %s", strerror(errno));
    inbox->unread_bytes = nf_calloc(ranks, sizeof(*inbox->unread_bytes));
    inbox->left = nf_calloc(ranks, sizeof(*inbox->left));
    if (inbox->unread_bytes == NULL || inbox->left == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    for (uint32_t i = 0; i < ranks; i++) {
        inbox->left[i] = nf_calloc(1, sizeof(*inbox->left[i]));
        if (inbox->left[i] == NULL)
            return nf_fail(err, NF_ERR_NOMEM, "out of memory");
        inbox->left[i]->kind = NF_MESH_LEFT;
        inbox->left[i]->from = i;
    }
    return NF_OK;
}

/* ---------------------------------------------------------------- groups */

static void free_group(struct group *group)
{
    for (uint32_t i = 0; i < group->ranks && group->inboxes != NULL; i++)
        fini_inbox(&group->inboxes[i], group->ranks);
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
    close_inbox(&group->inboxes[rank], group->ranks);
    for (uint32_t i = 0; i < group->ranks; i++) {
        struct inbox *inbox = &group->inboxes[i];

        if (i != rank && deliver(inbox, inbox->left[rank]))
            inbox->left[rank] = NULL;
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
        status = init_inbox(&group->inboxes[group->ranks], ranks, err);
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
    struct note *note;

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
    if (!deliver(inbox_of(mesh, member), note))
        free_note(note);
    return NF_OK;
}

static enum nf_status local_next(struct nf_mesh *mesh,
                                 struct nf_mesh_event *event_p)
{
    struct mesh_local *m = (struct mesh_local *)mesh;
    struct inbox *inbox = inbox_of(mesh, mesh->rank), *from;
    struct note *note;
    size_t bytes;

    free_note(m->current);
    note = m->current = take(inbox);
    if (note == NULL)
        return NF_WAIT;
    bytes = note_bytes(note);
    event_p->kind = note->kind;
    event_p->member = note->from;
    event_p->message = (struct nf_mesh_message){ .head = note->head,
                                                 .head_bytes = note->head_bytes,
                                                 .payload = note->payload,
                                                 .urgent = note->urgent };
    note->payload = NULL;
    /* it may be waiting for its backlog to go */
    if (atomic_fetch_sub(&inbox->unread_bytes[note->from], bytes) >
        NF_LINK_WINDOW_BYTES) {
        from = inbox_of(mesh, note->from);
        pthread_mutex_lock(&from->lock);
        wake_locked(from);
        pthread_mutex_unlock(&from->lock);
    }
    return NF_OK;
}

static enum nf_status local_wait(struct nf_mesh *mesh, int64_t timeout_us)
{
    struct inbox *inbox = inbox_of(mesh, mesh->rank);
    struct pollfd watch = { .fd = inbox->fd, .events = POLLIN };
    int64_t until_us = timeout_us < 0 ? 0 : nf_now_us() + timeout_us;
    bool ready;
    int code;

    pthread_mutex_lock(&inbox->lock);
    ready = inbox->urgent.head != NULL || inbox->normal.head != NULL;
    inbox->sleeping = !ready && !inbox->signalled;
    pthread_mutex_unlock(&inbox->lock);
    if (ready)
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
        atomic_load(&inbox_of(mesh, member)->unread_bytes[mesh->rank]);

    return unread_bytes > NF_LINK_WINDOW_BYTES
               ? unread_bytes - NF_LINK_WINDOW_BYTES
               : 0;
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
    free_note(m->current);
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

static const struct nf_mesh_ops local_ops = {
    .name = "local",
    .send = local_send,
    .next = local_next,
    .wait = local_wait,
    .fds = local_fds,
    .backlog_bytes = local_backlog_bytes,
    .subset = local_subset,
    .close = local_close,
};

static enum nf_status make_world(uint32_t count, struct world **world_p,
                                 struct nf_error *err)
{
    struct world *world =
        nf_calloc(1, sizeof(*world) + count * sizeof(world->open[0]));
    uint32_t *all = nf_calloc(count, sizeof(*all));
    struct group *group;
    enum nf_status status;

    if (world == NULL || all == NULL) {
        nf_free(world);
        nf_free(all);
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    }
    pthread_mutex_init(&world->lock, NULL);
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
