/* The local transport by itself. */
#include "config.h"
#include "common/net/net.h"
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "tests/unit/nf_unit.h"

static sem_t gate, reached;

static enum nf_status send_kind(struct nf_port *port, enum nf_msg_kind kind)
{
    struct nf_msg msg = { .kind = kind };

    return nf_port_send(port, &msg);
}

static enum nf_status receive(struct nf_port *port, struct nf_msg *msg_p)
{
    enum nf_status status;

    while ((status = nf_port_receive(port, msg_p)) == NF_WAIT)
        nf_port_wait(port, -1);
    return status;
}

/* Sends back whatever it gets, until STOP or the master is gone. */
static void echo_slave(struct nf_port *port, void *arg)
{
    struct nf_msg msg;

    (void)arg;
    send_kind(port, NF_MSG_HELLO);
    while (receive(port, &msg) == NF_OK && msg.kind != NF_MSG_STOP) {
        nf_port_send(port, &msg);
        nf_blob_unref(msg.payload);
    }
    nf_port_close(port);
}

/* Says hello, and begins to receive when the gate is open: everything must
 * be there then. */
static void late_slave(struct nf_port *port, void *arg)
{
    send_kind(port, NF_MSG_HELLO);
    sem_wait(&gate);
    echo_slave(port, arg);
}

static void mute_slave(struct nf_port *port, void *arg)
{
    (void)arg;
    nf_port_close(port);
}

static void hung_slave(struct nf_port *port, void *arg)
{
    send_kind(port, NF_MSG_HELLO);
    sem_wait(&gate);
    send_kind(port, NF_MSG_HEARTBEAT); /* nobody listens any more */
    mute_slave(port, arg);
    sem_post(&reached);
}

static struct nf_net *open_net(void (*slave)(struct nf_port *, void *),
                               uint32_t count)
{
    struct nf_net_config config = { .slave_main = slave };
    struct nf_net *net = NULL;

    CU_ASSERT_EQUAL_FATAL(nf_net_find("local")->open(&config, &net, NULL),
                          NF_OK);
    if (count > 0)
        CU_ASSERT_EQUAL(nf_net_spawn(net, NULL, count, 5), NF_OK);
    return net;
}

/* The next event; aborts instead of hanging. */
static struct nf_net_event next(struct nf_net *net)
{
    struct nf_net_event event;
    enum nf_status status;

    while ((status = nf_net_next(net, &event)) == NF_WAIT) {
        struct pollfd poll_fd = { .events = POLLIN };
        const int *fds;

        CU_ASSERT_EQUAL(nf_net_fds(net, &fds), 1);
        poll_fd.fd = fds[0];
        if (poll(&poll_fd, 1, 60000) == 0) {
            fprintf(stderr, "no event comes\n");
            abort();
        }
    }
    CU_ASSERT_EQUAL(status, NF_OK);
    return event;
}

static void expect(struct nf_net *net, uint32_t peer, enum nf_msg_kind kind)
{
    struct nf_net_event event = next(net);

    CU_ASSERT_EQUAL(event.kind, NF_NET_MESSAGE);
    CU_ASSERT_EQUAL(event.peer, peer);
    CU_ASSERT_EQUAL(event.msg.kind, kind);
    nf_blob_unref(event.msg.payload);
}

static void send_bytes(struct nf_net *net, uint32_t peer, enum nf_msg_kind kind,
                       const void *body, size_t bytes)
{
    struct nf_msg msg = { .kind = kind, .body = body, .body_bytes = bytes };

    CU_ASSERT_EQUAL(nf_net_send(net, peer, &msg), NF_OK);
}

static void test_echo_by_reference(void)
{
    struct nf_net *net = open_net(echo_slave, 1);
    struct nf_blob *blob = nf_blob_create(1 << 20, NF_BYTES);
    struct nf_msg msg = { NF_MSG_LEASE, (const uint8_t *)"body", 4, blob };
    struct nf_net_event event;

    expect(net, 0, NF_MSG_HELLO);
    CU_ASSERT_EQUAL(nf_net_send(net, 0, &msg), NF_OK);
    event = next(net);
    CU_ASSERT_EQUAL(event.msg.kind, NF_MSG_LEASE);
    CU_ASSERT_EQUAL(event.msg.body_bytes, 4);
    CU_ASSERT_EQUAL(memcmp(event.msg.body, "body", 4), 0);
    CU_ASSERT_PTR_EQUAL(event.msg.payload, blob);
    nf_blob_unref(event.msg.payload);
    send_bytes(net, 0, NF_MSG_STOP, NULL, 0);
    event = next(net);
    CU_ASSERT_EQUAL(event.kind, NF_NET_LEFT);
    CU_ASSERT_EQUAL(event.peer, 0);
    CU_ASSERT_EQUAL(nf_net_send(net, 0, &msg), NF_OK); /* to nobody */
    CU_ASSERT_EQUAL(nf_net_backlog_bytes(net, 0), 0);
    nf_net_close(net);
    CU_ASSERT_EQUAL(atomic_load(&blob->refs), 1);
    nf_blob_unref(blob);
}

static void test_order_and_bodies_of_all_sizes(void)
{
    enum { MESSAGES = 5000 };
    struct nf_net *net = open_net(echo_slave, 1);
    uint8_t *body = nf_malloc(MESSAGES);
    uint64_t wrong = 0;

    for (int i = 0; i < MESSAGES; i++)
        body[i] = (uint8_t)(i * 7);
    expect(net, 0, NF_MSG_HELLO);
    for (size_t i = 0; i < MESSAGES; i++)
        send_bytes(net, 0, NF_MSG_LEASE, body, i);
    for (size_t i = 0; i < MESSAGES; i++) {
        struct nf_net_event event = next(net);

        wrong += event.msg.body_bytes != i ||
                 (i > 0 && memcmp(event.msg.body, body, i) != 0);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    nf_net_close(net);
    nf_free(body);
}

static void test_urgent_overtakes(void)
{
    struct nf_net *net = open_net(late_slave, 1);

    expect(net, 0, NF_MSG_HELLO);
    send_bytes(net, 0, NF_MSG_LEASE, "1", 1);
    send_bytes(net, 0, NF_MSG_LEASE, "23", 2);
    send_bytes(net, 0, NF_MSG_PING, NULL, 0);
    CU_ASSERT_EQUAL(nf_net_backlog_bytes(net, 0), 3);
    sem_post(&gate);
    expect(net, 0, NF_MSG_HELLO);
    expect(net, 0, NF_MSG_PING);
    expect(net, 0, NF_MSG_LEASE);
    expect(net, 0, NF_MSG_LEASE);
    CU_ASSERT_EQUAL(nf_net_backlog_bytes(net, 0), 0);
    nf_net_close(net);
}

static void test_drop_forgets_what_is_queued(void)
{
    struct nf_net *net = open_net(late_slave, 1);
    struct nf_blob *blob = nf_blob_create(1000, NF_BYTES);
    struct nf_msg msg = { NF_MSG_SHARED, NULL, 0, blob };

    expect(net, 0, NF_MSG_HELLO);
    CU_ASSERT_EQUAL(nf_net_send(net, 0, &msg), NF_OK);
    CU_ASSERT_EQUAL(nf_net_backlog_bytes(net, 0), 1000);
    nf_net_drop(net, 0, false);
    CU_ASSERT_EQUAL(nf_net_backlog_bytes(net, 0), 0);
    CU_ASSERT_EQUAL(atomic_load(&blob->refs), 1);
    send_bytes(net, 0, NF_MSG_LEASE, NULL, 0); /* it is dropped: not sent */
    sem_post(&gate);
    expect(net, 0, NF_MSG_HELLO); /* it speaks: known again */
    send_bytes(net, 0, NF_MSG_JOB, NULL, 0);
    expect(net, 0, NF_MSG_JOB);
    nf_net_drop(net, 0, true); /* told that we are gone; we hear no end */
    nf_net_close(net);
    nf_blob_unref(blob);
}

static void test_slave_that_never_speaks(void)
{
    struct nf_net *net = open_net(mute_slave, 2);

    for (int i = 0; i < 2; i++) {
        struct nf_net_event event = next(net);

        CU_ASSERT_EQUAL(event.kind, NF_NET_SPAWN_FAILED);
        CU_ASSERT_EQUAL(event.spawn_id, 5);
        CU_ASSERT_EQUAL(event.count, 1);
        CU_ASSERT_PTR_NOT_NULL(event.text);
    }
    nf_net_close(net);
}

static void test_spawn_without_memory(void)
{
    struct nf_net *net = open_net(echo_slave, 0);
    struct nf_net_event event;

    for (long n = 0; n < 6; n++) {
        nf_alloc_fail_after(n);
        CU_ASSERT_EQUAL(nf_net_spawn(net, NULL, 4, 5), NF_ERR_NOMEM);
        nf_alloc_fail_after(-1);
        CU_ASSERT_EQUAL(nf_net_next(net, &event), NF_WAIT);
    }
    nf_net_close(net);
}

static void test_hung_slave_outlives_the_net(void)
{
    struct nf_net *net = open_net(hung_slave, 1);

    expect(net, 0, NF_MSG_HELLO);
    nf_net_close(net);
    sem_post(&gate);
    sem_wait(&reached);
}

/* Each slave hears from its neighbours only through us. */
static void test_many_slaves(void)
{
    enum { SLAVES = 8, ROUNDS = 500 };
    struct nf_net *net = open_net(echo_slave, SLAVES);
    uint32_t echoes[SLAVES] = { 0 }, wrong = 0, hellos = 0, left = 0;

    while (left < SLAVES) {
        struct nf_net_event event = next(net);

        if (event.kind == NF_NET_LEFT) {
            left++;
            continue;
        }
        if (event.msg.kind == NF_MSG_HELLO)
            wrong += event.peer != hellos++; /* numbered as they speak */
        else
            wrong += event.msg.body_bytes != 4 ||
                     memcmp(event.msg.body, &event.peer, 4) != 0;
        if (echoes[event.peer]++ < ROUNDS)
            send_bytes(net, event.peer, NF_MSG_LEASE, &event.peer, 4);
        else
            send_bytes(net, event.peer, NF_MSG_STOP, NULL, 0);
    }
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(hellos, SLAVES);
    nf_net_close(net);
}

static void *wake_soon(void *port)
{
    nf_port_wake(port);
    return NULL;
}

static void woken_slave(struct nf_port *port, void *arg)
{
    pthread_t waker;
    struct nf_msg msg;

    (void)arg;
    CU_ASSERT_EQUAL(nf_port_wait(port, 1000), NF_WAIT);
    nf_port_wake(port); /* counts for the next wait */
    CU_ASSERT_EQUAL(nf_port_wait(port, -1), NF_OK);
    CU_ASSERT_EQUAL(nf_port_wait(port, 0), NF_WAIT);
    pthread_create(&waker, NULL, wake_soon, port);
    CU_ASSERT_EQUAL(nf_port_wait(port, -1), NF_OK);
    pthread_join(waker, NULL);
    send_kind(port, NF_MSG_HELLO);
    CU_ASSERT_EQUAL(receive(port, &msg), NF_ERR_UNREACHABLE);
}

static void test_wait_and_wake(void)
{
    struct nf_net *net = open_net(woken_slave, 1);

    expect(net, 0, NF_MSG_HELLO);
    nf_net_close(net);
}

static void test_lookup(void)
{
    struct nf_error err = { NF_OK, "" };
    struct nf_port *port;

    CU_ASSERT_STRING_EQUAL(nf_net_find("local")->name, "local");
    CU_ASSERT_PTR_NULL(nf_net_find("carrier pigeon"));
    CU_ASSERT_EQUAL(nf_port_open("http://x", &port, &err), NF_ERR_INVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "http://x"));
}

static int set_up(void)
{
    return sem_init(&gate, 0, 0) | sem_init(&reached, 0, 0);
}

static CU_TestInfo tests[] = {
    { "transports are found by name", test_lookup },
    { "payloads go and come by reference", test_echo_by_reference },
    { "messages keep their order and their bodies",
      test_order_and_bodies_of_all_sizes },
    { "a ping overtakes what is queued", test_urgent_overtakes },
    { "drop forgets what is queued, not the peer",
      test_drop_forgets_what_is_queued },
    { "a slave that never speaks is a failed spawn",
      test_slave_that_never_speaks },
    { "a spawn without memory starts nothing", test_spawn_without_memory },
    { "a hung slave outlives the net", test_hung_slave_outlives_the_net },
    { "many slaves talk at the same time", test_many_slaves },
    { "wake ends this wait or the next", test_wait_and_wake },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "net_local", set_up, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
