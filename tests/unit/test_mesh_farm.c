/* A farm over PVM whose master and slaves are members of a mesh too: two users
 * of libpvm in one thread, both of which sleep on its sockets.  None may sleep
 * on what the other one has made libpvm read. */
#include "config.h"
#include <poll.h>
#include <pvm3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/base/clock.h"
#include "common/net/mesh_pvm.h"
#include "common/net/net.h"
#include "tests/unit/own_pvm.h"

enum {
    SLAVES = 2,
    ROUNDS = 2000,
    LONG_EACH = 10,
    LONG_BYTES = 20000,
    SLEEP_US = 60 * 1000000, /* who misses something sleeps this long */
    PATIENCE_US = 40 * 1000000,
    FDS_MOST = 64,
};

static void must(bool right, int line)
{
    if (right)
        return;
    fprintf(stderr, "task %d, line %d is not so\n", (int)getpid(), line);
    exit(1);
}
#define MUST(condition) must(condition, __LINE__)

static struct nf_mesh *open_mesh(const int *tids)
{
    const struct nf_mesh_terms terms = { .id = 5, .timeout_us = PATIENCE_US };
    struct nf_error err = { NF_OK, "" };
    struct nf_mesh *mesh = NULL;

    if (nf_mesh_open_pvm(tids, SLAVES + 1, &terms, &mesh, &err) != NF_OK)
        fprintf(stderr, "%s\n", err.text);
    MUST(mesh != NULL);
    return mesh;
}

static bool is_long(uint32_t word)
{
    return word % LONG_EACH == 0;
}

static void say(struct nf_mesh *mesh, uint32_t to, uint32_t word)
{
    struct nf_blob *payload =
        is_long(word) ? nf_blob_create(LONG_BYTES, NF_BYTES) : NULL;
    struct nf_mesh_message m = {
        .head = (const uint8_t *)&word,
        .head_bytes = sizeof(word),
        .payload = payload,
    };

    if (payload != NULL)
        memset(payload->data, 1, LONG_BYTES);
    MUST(nf_mesh_send(mesh, to, &m) == NF_OK);
    nf_blob_unref(payload);
}

static void take(const struct nf_mesh_event *event, uint32_t word)
{
    MUST(event->kind == NF_MESH_MESSAGE);
    MUST(memcmp(event->message.head, &word, sizeof(word)) == 0);
    MUST((event->message.payload != NULL) == is_long(word));
    nf_blob_unref(event->message.payload);
}

/* The way out is busy for a while after each long word. */
static bool is_free_at_last(void)
{
    static int looks;

    return ++looks % 8 == 0;
}

/* ----------------------------------------------------------------- slave */

/* Each LEASE is a word, which the slave says to all members; when it has heard
 * it of the other slave, it says RESULT. */
static void serve(struct nf_port *port, struct nf_mesh *mesh)
{
    uint32_t other = SLAVES + 1 - mesh->rank, leased = 0, heard = 0,
             answered = 0;
    bool stopped = false;

    while (!stopped) {
        struct nf_mesh_event event;
        struct nf_msg msg;
        bool idle = true;

        if (nf_port_receive(port, &msg) == NF_OK) {
            idle = false;
            stopped = msg.kind == NF_MSG_STOP;
            if (msg.kind == NF_MSG_LEASE) {
                say(mesh, other, leased);
                say(mesh, 0, leased++);
            }
        }
        if (nf_mesh_next(mesh, &event) == NF_OK) {
            idle = false;
            MUST(event.member == other);
            take(&event, heard++);
        }
        for (; answered < heard && answered < leased; answered++) {
            msg = (struct nf_msg){ .kind = NF_MSG_RESULT };
            MUST(nf_port_send(port, &msg) == NF_OK);
        }
        if (idle)
            nf_port_wait(port, SLEEP_US);
    }
}

static int be_slave(const char *address)
{
    int tid = pvm_mytid();
    struct nf_port *port;
    struct nf_mesh *mesh;
    struct nf_msg msg = { .kind = NF_MSG_HELLO,
                          .body = (const uint8_t *)&tid,
                          .body_bytes = sizeof(tid) };

    MUST(nf_port_open(address, &port, NULL) == NF_OK);
    MUST(nf_port_send(port, &msg) == NF_OK);
    while (nf_port_receive(port, &msg) == NF_WAIT)
        nf_port_wait(port, SLEEP_US);
    MUST(msg.kind == NF_MSG_JOB &&
         msg.body_bytes == (SLAVES + 1) * sizeof(int));
    {
        int tids[SLAVES + 1];

        memcpy(tids, msg.body, sizeof(tids));
        mesh = open_mesh(tids);
    }
    nf_mesh_turn_look_with(is_free_at_last);
    serve(port, mesh);
    nf_mesh_close(mesh);
    nf_port_close(port);
    return 0;
}

/* ---------------------------------------------------------------- master */

static struct nf_net *net;
static struct nf_mesh *mesh;

static void sleep_on_both(void)
{
    struct pollfd watch[2 * FDS_MOST];
    nfds_t all = 0;
    const int *fds;
    size_t count = nf_net_fds(net, &fds);

    for (size_t i = 0; i < count && i < FDS_MOST; i++)
        watch[all++] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
    count = mesh != NULL ? nf_mesh_fds(mesh, &fds) : 0;
    for (size_t i = 0; i < count && i < FDS_MOST; i++)
        watch[all++] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
    poll(watch, all, PATIENCE_US / 1000 / 2);
}

static void meet_slaves(void)
{
    int tids[SLAVES + 1] = { pvm_mytid() };
    struct nf_msg msg = { .kind = NF_MSG_JOB,
                          .body = (const uint8_t *)tids,
                          .body_bytes = sizeof(tids) };
    uint32_t got = 0;

    while (got < SLAVES) {
        struct nf_net_event event;

        if (nf_net_next(net, &event) != NF_OK) {
            sleep_on_both();
            continue;
        }
        if (event.kind != NF_NET_MESSAGE)
            continue;
        MUST(event.msg.kind == NF_MSG_HELLO && event.peer == got);
        memcpy(&tids[++got], event.msg.body, sizeof(int));
    }
    for (uint32_t i = 0; i < SLAVES; i++)
        MUST(nf_net_send(net, i, &msg) == NF_OK);
    mesh = open_mesh(tids);
}

/* One lease each, and the next when results and words of it have come. */
static bool play_round(uint32_t round)
{
    struct nf_msg lease = { .kind = NF_MSG_LEASE };
    int64_t until_us = nf_now_us() + PATIENCE_US / 2;
    uint32_t results = 0, words = 0;

    for (uint32_t i = 0; i < SLAVES; i++)
        MUST(nf_net_send(net, i, &lease) == NF_OK);
    while (results < SLAVES || words < SLAVES) {
        struct nf_net_event event;
        struct nf_mesh_event word;
        bool idle = true;

        if (nf_net_next(net, &event) == NF_OK) {
            idle = false;
            results +=
                event.kind == NF_NET_MESSAGE && event.msg.kind == NF_MSG_RESULT;
            MUST(event.kind != NF_NET_LEFT);
        }
        if (nf_mesh_next(mesh, &word) == NF_OK) {
            idle = false;
            take(&word, round);
            words++;
        }
        if (idle)
            sleep_on_both();
        if (nf_now_us() >= until_us)
            return false;
    }
    return true;
}

static void test_farm(void)
{
    struct nf_net_config config = { .slave_program = NF_BUILDDIR
                                    "/tests/unit/test_mesh_farm" };
    struct nf_msg stop = { .kind = NF_MSG_STOP };
    struct nf_error err = { NF_OK, "" };
    uint32_t round = 0;

    CU_ASSERT_EQUAL_FATAL(nf_net_find("pvm")->open(&config, &net, &err), NF_OK);
    CU_ASSERT_EQUAL(nf_net_spawn(net, NULL, SLAVES, 1), NF_OK);
    meet_slaves();
    while (round < ROUNDS && play_round(round))
        round++;
    CU_ASSERT_EQUAL(round, ROUNDS); /* else somebody sleeps for ever */
    for (uint32_t i = 0; i < SLAVES; i++)
        CU_ASSERT_EQUAL(nf_net_send(net, i, &stop), NF_OK);
    nf_mesh_close(mesh);
    nf_net_close(net);
}

static CU_TestInfo tests[] = {
    { "a farm and a mesh do not keep each other's messages", test_farm },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "farm and mesh", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };
    const char *address = getenv(NF_SLAVE_VARIABLE);

    if (address != NULL)
        return be_slave(address);
    return own_pvm_run(suites);
}
