#ifndef NF_TESTS_UNIT_SCRIPTED_NET_H
#define NF_TESTS_UNIT_SCRIPTED_NET_H
/** @file scripted_net.h  A transport that is a script, and jobs over it: for one
 *  test program, which includes it once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "master/engine.h"
#include "tests/unit/nf_unit.h"

enum { EVENTS_MOST = 4096 };

static const struct nf_net_ops scripted;

/* The transport and everything that it was told. */
static struct {
    struct nf_net net;
    struct nf_net_event events[EVENTS_MOST];
    size_t first, count;
    uint32_t npeers, spawned, kills;
    uint32_t pings[64]; /* in the crowd */
    struct nf_body body;
    /* the script */
    void (*lease)(uint32_t peer, const struct nf_lease_msg *m);
    bool crowd;       /* peer 0 talks without end */
    bool bad_first;   /* the first hello does not decode */
    int die_early;    /* peer 0 does: 1: before it is ready, 2: as it is */
    bool shared;      /* there are shared data */
    int64_t until_us; /* the crowd goes home then */
    /* results that are gathered */
    const char *way;
    void (*gather)(uint32_t peer, const struct nf_gather_msg *m);
    void (*group)(uint32_t peer, const struct nf_group_msg *m);
    uint32_t killed;      /* the last one */
    uint32_t rank_of[64]; /* in the group */
    struct nf_mesh *meshes[64];
    uint32_t nmeshes;
    volatile int stop;
} fake;

static unsigned collected;

static struct nf_net_event *post(enum nf_net_event_kind kind, uint32_t peer)
{
    struct nf_net_event *event = &fake.events[fake.first + fake.count++];

    if (fake.first + fake.count > EVENTS_MOST)
        abort();
    memset(event, 0, sizeof(*event));
    event->kind = kind;
    event->peer = peer;
    return event;
}

/* The body in fake.body, as a message. */
static void post_message(uint32_t peer, enum nf_msg_kind kind)
{
    struct nf_net_event *event = post(NF_NET_MESSAGE, peer);
    uint8_t *copy = malloc(fake.body.bytes + 1); /* freed by scripted_next */

    event->msg.kind = kind;
    memcpy(copy, fake.body.data, fake.body.bytes);
    event->msg.body = copy;
    event->msg.body_bytes = fake.body.bytes;
}

static void post_result(uint32_t peer, const struct nf_lease_msg *lease)
{
    struct nf_result_msg m = {
        .lease = lease->lease,
        .first = lease->first,
        .count = lease->count,
        .last = true,
    };

    CU_ASSERT_EQUAL(nf_put_result(&fake.body, &m, NULL), NF_OK);
    post_message(peer, NF_MSG_RESULT);
}

static enum nf_status scripted_open(const struct nf_net_config *config,
                                    struct nf_net **net_p, struct nf_error *err)
{
    (void)config;
    (void)err;
    fake.net.ops = &scripted;
    post(NF_NET_HOST_UP, NF_NO_PEER)->host = "alone";
    *net_p = &fake.net;
    return NF_OK;
}

static enum nf_status scripted_spawn(struct nf_net *net, const char *host,
                                     uint32_t count, uint32_t spawn_id)
{
    (void)net;
    (void)host;
    fake.spawned += count;
    while (count-- > 0) {
        struct nf_hello hello = { .wire_version = NF_WIRE_VERSION,
                                  .spawn_id = spawn_id,
                                  .cores = 1 };

        snprintf(hello.version, sizeof(hello.version), "%s", nf_version());
        CU_ASSERT_EQUAL(nf_put_hello(&fake.body, &hello), NF_OK);
        if (fake.bad_first && fake.npeers == 0)
            fake.npeers = 1; /* a stranger has taken the first number */
        post_message(fake.npeers++, NF_MSG_HELLO);
    }
    return NF_OK;
}

static enum nf_status scripted_send(struct nf_net *net, uint32_t peer,
                                    const struct nf_msg *msg)
{
    struct nf_ready_msg ready = { .slots = 1 };
    struct nf_lease_msg lease;
    struct nf_gather_msg gather;
    struct nf_group_msg group;

    (void)net;
    if (msg->kind == NF_MSG_JOB && peer == 0 && fake.die_early == 1) {
        post(NF_NET_LEFT, peer);
    } else if (msg->kind == NF_MSG_JOB) {
        CU_ASSERT_EQUAL(nf_put_ready(&fake.body, &ready), NF_OK);
        post_message(peer, NF_MSG_READY);
        if (peer == 0 && fake.die_early == 2)
            post(NF_NET_LEFT, peer);
    } else if (msg->kind == NF_MSG_LEASE) {
        CU_ASSERT_EQUAL(nf_get_lease(msg->body, msg->body_bytes, &lease),
                        NF_OK);
        fake.lease(peer, &lease);
    } else if (msg->kind == NF_MSG_GATHER) {
        CU_ASSERT_EQUAL(nf_get_gather(msg->body, msg->body_bytes, &gather),
                        NF_OK);
        fake.gather(peer, &gather);
    } else if (msg->kind == NF_MSG_GROUP) {
        CU_ASSERT_EQUAL(nf_get_group(msg->body, msg->body_bytes, &group),
                        NF_OK);
        fake.rank_of[peer] = group.rank;
        fake.group(peer, &group);
    } else if (msg->kind == NF_MSG_PING) {
        fake.pings[peer] += fake.crowd && nf_now_us() < fake.until_us;
    }
    return NF_OK;
}

static enum nf_status scripted_next(struct nf_net *net,
                                    struct nf_net_event *event_p)
{
    static uint8_t *last;

    (void)net;
    free(last);
    last = NULL;
    if (fake.count > 0) {
        *event_p = fake.events[fake.first++];
        if (--fake.count == 0)
            fake.first = 0;
        last = (uint8_t *)(uintptr_t)event_p->msg.body;
        return NF_OK;
    }
    if (!fake.crowd || nf_now_us() > fake.until_us)
        return NF_WAIT;
    memset(event_p, 0, sizeof(*event_p));
    event_p->kind = NF_NET_MESSAGE;
    event_p->msg.kind = NF_MSG_HEARTBEAT;
    return NF_OK;
}

static size_t scripted_fds(struct nf_net *net, const int **fds_p)
{
    static const int none = -1;

    (void)net;
    *fds_p = &none;
    return 0;
}

static void scripted_drop(struct nf_net *net, uint32_t peer, bool kill)
{
    (void)net;
    fake.kills += kill;
    if (kill)
        fake.killed = peer;
}

/* The other members are silent. */
static void close_meshes(void)
{
    while (fake.nmeshes > 0)
        nf_mesh_close(fake.meshes[--fake.nmeshes]);
}

static enum nf_status scripted_mesh(struct nf_net *net, const uint32_t *members,
                                    uint32_t count, struct nf_group_msg *msg_p,
                                    int *tids_p, struct nf_mesh **mesh_p,
                                    struct nf_error *err)
{
    (void)net;
    close_meshes();
    for (uint32_t i = 0; i < count; i++)
        tids_p[i] = (int)members[i];
    msg_p->count = count;
    if (nf_mesh_open_local(count, fake.meshes, err) != NF_OK)
        return NF_ERR_NOMEM;
    *mesh_p = fake.meshes[0]; /* the master is the first member */
    fake.nmeshes = count - 1;
    memmove(fake.meshes, fake.meshes + 1,
            fake.nmeshes * sizeof(struct nf_mesh *));
    return NF_OK;
}

static void scripted_close(struct nf_net *net)
{
    struct nf_net_event event;

    fake.crowd = false;
    while (scripted_next(net, &event) == NF_OK)
        ;
    close_meshes();
    nf_body_fini(&fake.body);
}

static const struct nf_net_ops scripted = {
    .name = "scripted",
    .open = scripted_open,
    .spawn = scripted_spawn,
    .send = scripted_send,
    .next = scripted_next,
    .fds = scripted_fds,
    .drop = scripted_drop,
    .mesh = scripted_mesh,
    .close = scripted_close,
};

static int never(const struct nf_work *work)
{
    (void)work;
    return 1;
}

static enum nf_status collect(void *user, uint64_t unit, const void *result,
                              size_t bytes)
{
    (void)user;
    (void)unit;
    (void)result;
    (void)bytes;
    collected++;
    return NF_OK;
}

static enum nf_status share(void *user, struct nf_buf *out)
{
    static const char data[] = "shared";

    (void)user;
    return nf_buf_append(out, data, sizeof(data));
}

static void hush(void *user, const char *line)
{
    (void)user;
    (void)line;
}

static void init(void (*lease)(uint32_t peer, const struct nf_lease_msg *m))
{
    memset(&fake, 0, sizeof(fake));
    nf_body_init(&fake.body);
    fake.lease = lease;
    collected = 0;
}

static enum nf_status run(uint64_t units, uint32_t slaves,
                          int64_t heartbeat_timeout_us,
                          struct nf_report *report_p, struct nf_error *err)
{
    struct nf_app app = {
        .name = "scripted", .units = units, .compute = never, .collect = collect
    };
    app.share = fake.shared ? share : NULL;
    struct nf_options options = {
        .slaves = slaves,
        .max_attempts = 3,
        .heartbeat_timeout_us = heartbeat_timeout_us,
        .notice = hush,
        .gather = fake.way,
        .stop = &fake.stop,
    };
    struct nf_policy policy;
    struct nf_engine_config config = {
        .app = &app,
        .options = &options,
        .policy = &policy,
        .transport = &scripted,
    };

    CU_ASSERT_EQUAL_FATAL(nf_policy_parse("send", &policy, err), NF_OK);
    return nf_engine_run(&config, report_p, err);
}
#endif
