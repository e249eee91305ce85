/* A scripted master for tests of the slave. */
#include "config.h"
#include "tests/unit/fake_master.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <CUnit/CUnit.h>
#include "common/base/clock.h"

/* Longer than anything takes that works. */
#define PATIENCE_US 60000000

static const struct nf_app *apps_of_slave[2];

static struct fake_master *master;
static const struct nf_port_ops *real_ops;

static void note_close(struct nf_port *port)
{
    atomic_store(&master->closed, true);
    real_ops->close(port);
}

static enum nf_status held_send(struct nf_port *port, const struct nf_msg *msg)
{
    while (atomic_load(&master->hold_sends)) {
        atomic_store(&master->holding, true);
        usleep(1000);
    }
    atomic_store(&master->holding, false);
    return real_ops->send(port, msg);
}

static void slave_main(struct nf_port *port, void *arg)
{
    struct fake_master *fm = arg;
    enum nf_status status;

    fm->port_ops = *port->ops;
    real_ops = port->ops;
    master = fm;
    fm->port_ops.close = note_close;
    fm->port_ops.send = held_send;
    port->ops = &fm->port_ops;
    status = nf_slave_serve(port, &fm->config);
    atomic_store(&fm->status, (int)status);
}

void fake_open(struct fake_master *fm, const struct nf_app *app,
               bool in_process)
{
    struct nf_net_config config = { .slave_main = slave_main, .slave_arg = fm };

    memset(fm, 0, sizeof(*fm));
    apps_of_slave[0] = app;
    fm->config.apps = apps_of_slave;
    fm->config.in_process = in_process;
    atomic_init(&fm->status, 99);
    nf_body_init(&fm->body);
    CU_ASSERT_EQUAL_FATAL(nf_net_find("local")->open(&config, &fm->net, NULL),
                          NF_OK);
    CU_ASSERT_EQUAL_FATAL(nf_net_spawn(fm->net, NULL, 1, 77), NF_OK);
}

void fake_close(struct fake_master *fm)
{
    nf_blob_unref(fm->reply.payload);
    fm->reply.payload = NULL;
    nf_net_close(fm->net);
    nf_body_fini(&fm->body);
}

struct nf_job_msg fake_job(const struct nf_app *app, uint32_t slots)
{
    struct nf_job_msg job = {
        .slots = slots,
        .host_slaves = 1,
        .heartbeat_us = 100000000,
        .master_silence_us = 100000000,
    };

    snprintf(job.app, sizeof(job.app), "%s", app->name);
    return job;
}

void fake_send(struct fake_master *fm, enum nf_msg_kind kind,
               const struct nf_body *body, struct nf_blob *payload)
{
    struct nf_msg msg = {
        .kind = kind,
        .body = body == NULL ? NULL : body->data,
        .body_bytes = body == NULL ? 0 : body->bytes,
        .payload = payload,
    };

    CU_ASSERT_EQUAL(nf_net_send(fm->net, 0, &msg), NF_OK);
    nf_blob_unref(payload);
}

void fake_send_job(struct fake_master *fm, const struct nf_job_msg *job)
{
    CU_ASSERT_EQUAL(nf_put_job(&fm->body, job), NF_OK);
    fm->keeps = job->hold;
    fake_send(fm, NF_MSG_JOB, &fm->body, NULL);
}

void fake_send_lease(struct fake_master *fm, uint32_t slot, uint64_t lease,
                     uint64_t first, uint64_t count)
{
    struct nf_lease_msg m = {
        .lease = lease,
        .first = first,
        .count = count,
        .slot = slot,
        .layout = { .unit_bytes = 8 },
    };
    struct nf_blob *input = nf_blob_create((size_t)count * 8, NF_INT64);

    for (uint64_t i = 0; i < count; i++) {
        uint64_t unit = first + i;

        memcpy((uint8_t *)input->data + 8 * i, &unit, 8);
    }
    CU_ASSERT_EQUAL(nf_put_lease(&fm->body, &m, NULL), NF_OK);
    fake_send(fm, NF_MSG_LEASE, &fm->body, input);
}

static bool comes_whole(const struct nf_result_msg *m,
                        const struct nf_blob *payload)
{
    return nf_layout_fits(&m->layout, m->count,
                          payload == NULL ? 0 : payload->bytes);
}

static void decode(struct fake_master *fm, const struct nf_msg *msg)
{
    struct fake_reply *r = &fm->reply;
    enum nf_status status = NF_OK;

    switch (msg->kind) {
    case NF_MSG_HELLO:
        status = nf_get_hello(msg->body, msg->body_bytes, &r->hello);
        break;
    case NF_MSG_READY:
        status = nf_get_ready(msg->body, msg->body_bytes, &r->ready);
        break;
    case NF_MSG_REFUSE:
        status = nf_get_text(msg->body, msg->body_bytes, &r->refuse);
        break;
    case NF_MSG_UNIT_FAILED:
        status = nf_get_unit_failed(msg->body, msg->body_bytes, &r->failed);
        break;
    case NF_MSG_RESULT:
        status = nf_get_result(msg->body, msg->body_bytes, &r->result);
        if (status == NF_OK && r->result.layout.unit_bytes == NF_LAYOUT_TABLE &&
            r->result.count * 8 <= sizeof(r->table)) {
            memcpy(r->table, r->result.layout.table, 8 * r->result.count);
            r->result.layout.table = r->table;
        }
        CU_ASSERT_TRUE(fm->keeps ? msg->payload == NULL
                                 : comes_whole(&r->result, msg->payload));
        break;
    default:
        break;
    }
    CU_ASSERT_EQUAL(status, NF_OK);
}

/* Wait for the next message, heartbeats too. */
static const struct fake_reply *next(struct fake_master *fm)
{
    int64_t end_us = nf_now_us() + PATIENCE_US;
    struct nf_net_event event;
    enum nf_status status;

    nf_blob_unref(fm->reply.payload);
    fm->reply.payload = NULL;
    while ((status = nf_net_next(fm->net, &event)) == NF_WAIT) {
        struct pollfd poll_fd = { .events = POLLIN };
        const int *fds;

        CU_ASSERT_EQUAL(nf_net_fds(fm->net, &fds), 1);
        poll_fd.fd = fds[0];
        poll(&poll_fd, 1, 1000);
        if (nf_now_us() > end_us) {
            fprintf(stderr, "the slave hangs\n");
            abort();
        }
    }
    CU_ASSERT_EQUAL(status, NF_OK);
    if (event.kind != NF_NET_MESSAGE) {
        CU_ASSERT_EQUAL(event.kind, NF_NET_LEFT);
        fm->reply.kind = NF_MSG_NONE;
        return &fm->reply;
    }
    fm->reply.kind = event.msg.kind;
    fm->reply.payload = event.msg.payload;
    decode(fm, &event.msg);
    return &fm->reply;
}

const struct fake_reply *fake_next(struct fake_master *fm)
{
    while (next(fm)->kind == NF_MSG_HEARTBEAT)
        fm->heartbeats++;
    return &fm->reply;
}

const struct fake_reply *fake_expect(struct fake_master *fm,
                                     enum nf_msg_kind kind)
{
    fake_next(fm);
    CU_ASSERT_EQUAL(fm->reply.kind, kind);
    if (fm->reply.kind != kind && fm->reply.kind == NF_MSG_REFUSE)
        fprintf(stderr, "refused: %s\n", fm->reply.refuse.text);
    return &fm->reply;
}

void fake_expect_heartbeats(struct fake_master *fm, uint32_t count)
{
    while (count-- > 0)
        CU_ASSERT_EQUAL(next(fm)->kind, NF_MSG_HEARTBEAT);
}

void fake_drain(struct fake_master *fm)
{
    int64_t end_us = nf_now_us() + PATIENCE_US;

    while (nf_net_backlog_bytes(fm->net, 0) > 0 && nf_now_us() < end_us)
        usleep(1000);
    CU_ASSERT_EQUAL(nf_net_backlog_bytes(fm->net, 0), 0);
}

void fake_start(struct fake_master *fm, const struct nf_app *app,
                const struct nf_job_msg *job)
{
    fake_open(fm, app, true);
    fake_expect(fm, NF_MSG_HELLO);
    fake_send_job(fm, job);
    fake_expect(fm, NF_MSG_READY);
}

void fake_stop(struct fake_master *fm)
{
    fake_send(fm, NF_MSG_STOP, NULL, NULL);
    fake_expect(fm, NF_MSG_NONE);
    CU_ASSERT_EQUAL(atomic_load(&fm->status), NF_OK);
    fake_close(fm);
}

uint64_t fake_number(const struct fake_master *fm, uint64_t i)
{
    const struct nf_blob *payload = fm->reply.payload;
    uint64_t number;

    if (payload == NULL || payload->bytes < 8 * (i + 1))
        return UINT64_MAX;
    memcpy(&number, (const uint8_t *)payload->data + 8 * i, 8);
    return number;
}
