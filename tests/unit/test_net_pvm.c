/* The PVM transport, on a virtual machine of its own. */
#include "config.h"
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/base/clock.h"
#include "common/net/net.h"
#include "common/net/pvm.h"
#include "tests/unit/link_pipe.h"
#include "tests/unit/own_pvm.h"

enum { PEERS_MOST = 8, PATIENCE_US = 60 * 1000000 };

static const char peer_program[] = NF_BUILDDIR "/tests/unit/pvm_peer";

/* The net under test, and what its slaves said in their hello. */
static struct nf_net *net;
static struct {
    int pid;
    unsigned tid;
    char address[128];
} hello[PEERS_MOST];
static uint32_t npeers;

static void begin(const char *program)
{
    struct nf_net_config config = { .slave_program = program };
    struct nf_error err = { NF_OK, "" };

    npeers = 0;
    net = NULL;
    if (nf_net_find("pvm")->open(&config, &net, &err) != NF_OK) {
        fprintf(stderr, "no PVM: %s\n", err.text);
        exit(99);
    }
}

/* The next event but for notices of hosts and output; exits if none comes. */
static struct nf_net_event next(void)
{
    int64_t until_us = nf_now_us() + PATIENCE_US;
    struct nf_net_event event;

    while (nf_now_us() < until_us) {
        enum nf_status status = nf_net_next(net, &event);
        struct pollfd watch[64];
        const int *fds;
        size_t count;

        if (status == NF_OK && event.kind != NF_NET_HOST_UP &&
            event.kind != NF_NET_OUTPUT)
            return event;
        if (status == NF_OK)
            continue;
        CU_ASSERT_EQUAL_FATAL(status, NF_WAIT);
        count = nf_net_fds(net, &fds);
        for (size_t i = 0; i < count && i < 64; i++)
            watch[i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
        poll(watch, (nfds_t)(count < 64 ? count : 64), 100);
    }
    fprintf(stderr, "no event comes\n");
    exit(1);
}

static struct nf_net_event next_message(uint32_t peer, enum nf_msg_kind kind)
{
    struct nf_net_event event = next();

    CU_ASSERT_EQUAL(event.kind, NF_NET_MESSAGE);
    CU_ASSERT_EQUAL(event.peer, peer);
    CU_ASSERT_EQUAL(event.msg.kind, kind);
    return event;
}

static void start(uint32_t count)
{
    CU_ASSERT_EQUAL(nf_net_spawn(net, NULL, count, 3), NF_OK);
    while (npeers < count) {
        struct nf_net_event event = next_message(npeers, NF_MSG_HELLO);

        CU_ASSERT_EQUAL_FATAL(event.msg.kind, NF_MSG_HELLO);
        CU_ASSERT_EQUAL(sscanf((const char *)event.msg.body, "%d %x %127s",
                               &hello[npeers].pid, &hello[npeers].tid,
                               hello[npeers].address),
                        3);
        npeers++;
    }
}

static void end(void)
{
    struct nf_msg stop = { .kind = NF_MSG_STOP };

    for (uint32_t i = 0; i < npeers; i++)
        CU_ASSERT_EQUAL(nf_net_send(net, i, &stop), NF_OK);
    nf_net_close(net);
    net = NULL;
    for (uint32_t i = 0; i < npeers; i++) {
        int64_t until_us = nf_now_us() + 10 * 1000000;

        while (kill(hello[i].pid, 0) == 0 && nf_now_us() < until_us)
            usleep(2000);
        CU_ASSERT_NOT_EQUAL(kill(hello[i].pid, 0), 0);
    }
}

static void send_payload(uint32_t peer, uint64_t seed, size_t bytes,
                         enum nf_type type)
{
    struct nf_blob *payload =
        bytes > 0 ? pipe_payload(seed, bytes, type) : NULL;
    struct nf_msg msg = { NF_MSG_LEASE, (uint8_t *)&seed, sizeof(seed),
                          payload };

    CU_ASSERT_EQUAL(nf_net_send(net, peer, &msg), NF_OK);
    nf_blob_unref(payload);
}

static void expect_payload(uint32_t peer, uint64_t seed, size_t bytes,
                           enum nf_type type)
{
    struct nf_net_event event = next_message(peer, NF_MSG_RESULT);

    CU_ASSERT_EQUAL_FATAL(event.kind, NF_NET_MESSAGE);
    CU_ASSERT_EQUAL(event.msg.body_bytes, sizeof(seed));
    CU_ASSERT(event.msg.body_bytes == sizeof(seed) &&
              memcmp(event.msg.body, &seed, sizeof(seed)) == 0);
    CU_ASSERT(pipe_payload_is(event.msg.payload, seed, bytes, type));
    nf_blob_unref(event.msg.payload);
}

/* ------------------------------------------------------------ encodings */

static void all_types_and_sizes(void)
{
    static const size_t sizes[] = { 0,     8,     16,    2040,  2048,   2056,
                                    30712, 30720, 30728, 65536, 1000000 };
    uint64_t seed = 1;

    begin(peer_program);
    start(1);
    for (int type = NF_BYTES; type <= NF_INT16; type++) {
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
            send_payload(0, seed + i, sizes[i], (enum nf_type)type);
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
            expect_payload(0, seed + i, sizes[i], (enum nf_type)type);
        seed += 100;
    }
    for (size_t bytes = 1; bytes < 20; bytes++) { /* XDR pads bytes to fours */
        send_payload(0, bytes, bytes, NF_BYTES);
        expect_payload(0, bytes, bytes, NF_BYTES);
    }
    end();
}

static void test_raw(void)
{
    all_types_and_sizes();
}

static void test_xdr(void)
{
    setenv("NOWFARM_ENCODING", "xdr", 1);
    all_types_and_sizes();
    unsetenv("NOWFARM_ENCODING");
}

/* Not only random bits: the special numbers survive both encodings. */
static void special_numbers(void)
{
    const double doubles[] = { 0.0,    -0.0,  INFINITY, -INFINITY,
                               5e-324, 1e308, 1.0 / 3 };
    const float floats[] = { -0.0f, INFINITY, 1e-45f, 3.4e38f };
    const int64_t longs[] = { INT64_MIN, INT64_MAX, -1, 0, 1 };
    const int32_t ints[] = { INT32_MIN, INT32_MAX, -1, 0, 1 };
    const struct {
        const void *data;
        size_t bytes;
        enum nf_type type;
    } all[] = {
        { doubles, sizeof(doubles), NF_FLOAT64 },
        { floats, sizeof(floats), NF_FLOAT32 },
        { longs, sizeof(longs), NF_INT64 },
        { ints, sizeof(ints), NF_INT32 },
    };

    begin(peer_program);
    start(1);
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        struct nf_blob *blob = nf_blob_wrap((void *)(uintptr_t)all[i].data,
                                            all[i].bytes, all[i].type, NULL);
        struct nf_msg msg = { .kind = NF_MSG_LEASE, .payload = blob };
        struct nf_net_event event;

        CU_ASSERT_EQUAL(nf_net_send(net, 0, &msg), NF_OK);
        nf_blob_unref(blob);
        event = next_message(0, NF_MSG_RESULT);
        CU_ASSERT_PTR_NOT_NULL_FATAL(event.msg.payload);
        CU_ASSERT_EQUAL(event.msg.payload->type, all[i].type);
        CU_ASSERT_EQUAL(event.msg.payload->bytes, all[i].bytes);
        CU_ASSERT_EQUAL(
            memcmp(event.msg.payload->data, all[i].data, all[i].bytes), 0);
        nf_blob_unref(event.msg.payload);
    }
    end();
}

static void test_special_numbers(void)
{
    special_numbers();
    setenv("NOWFARM_ENCODING", "xdr", 1);
    special_numbers();
    unsetenv("NOWFARM_ENCODING");
}

static void test_large_both_ways(void)
{
    enum { MESSAGES = 4, BYTES = 9 << 20 };
    uint32_t got[2] = { 0, 0 };

    begin(peer_program);
    start(2);
    for (uint64_t i = 0; i < MESSAGES; i++)
        for (uint32_t p = 0; p < 2; p++)
            send_payload(p, 10 * i + p, BYTES, NF_FLOAT64);
    while (got[0] + got[1] < 2 * MESSAGES) {
        struct nf_net_event event = next();

        CU_ASSERT_EQUAL_FATAL(event.kind, NF_NET_MESSAGE);
        CU_ASSERT(pipe_payload_is(event.msg.payload,
                                  10 * got[event.peer] + event.peer, BYTES,
                                  NF_FLOAT64));
        nf_blob_unref(event.msg.payload);
        got[event.peer]++;
    }
    CU_ASSERT_EQUAL(got[0], got[1]);
    end();
}

/* ------------------------------------------------------------- strangers */

static pid_t start_stranger(void)
{
    char victim[16];
    pid_t pid;

    snprintf(victim, sizeof(victim), "%x", hello[0].tid);
    pid = fork();
    if (pid == 0) {
        execl(peer_program, peer_program, "stranger", hello[0].address, victim,
              (char *)NULL);
        _exit(127);
    }
    return pid;
}

static void test_stranger(void)
{
    int status = -1;
    pid_t pid;
    bool ended = false;
    unsigned hellos = 0;

    begin(peer_program);
    start(1);
    pid = start_stranger();
    for (uint64_t i = 0; i < 200 || ((!ended || hellos < 2) && i < 100000);
         i++) {
        struct nf_net_event event;

        ended = ended || waitpid(pid, &status, WNOHANG) == pid;
        send_payload(0, i, 3000, NF_INT32);
        for (event = next(); event.kind == NF_NET_MESSAGE && event.peer != 0;
             event = next())
            hellos += event.msg.kind == NF_MSG_HELLO;
        while (event.kind == NF_NET_LEFT && event.peer != 0)
            event = next(); /* the stranger, who had made itself known */
        CU_ASSERT_EQUAL_FATAL(event.kind, NF_NET_MESSAGE);
        CU_ASSERT_EQUAL(event.peer, 0);
        CU_ASSERT_EQUAL(event.msg.kind, NF_MSG_RESULT);
        CU_ASSERT(pipe_payload_is(event.msg.payload, i, 3000, NF_INT32));
        nf_blob_unref(event.msg.payload);
    }
    CU_ASSERT_EQUAL(status, 0);
    CU_ASSERT_EQUAL(hellos, 2);
    end();
}

/* What the keeper has to say is heard though messages never cease. */
static void test_news_in_a_crowd(void)
{
    enum { OUTSTANDING = 64, ANSWERS_MOST = 200000 };
    unsigned answers = 0;
    bool failed = false;

    begin(peer_program);
    start(1);
    net->linger_us = 100000; /* there is always a next message */
    for (unsigned i = 0; i < OUTSTANDING; i++)
        send_payload(0, i, 8, NF_BYTES);
    CU_ASSERT_EQUAL(nf_net_spawn(net, "nosuchhost", 1, 8), NF_OK);
    while (!failed && answers < ANSWERS_MOST) {
        struct nf_net_event event = next();

        failed = event.kind == NF_NET_SPAWN_FAILED;
        if (event.kind == NF_NET_MESSAGE) {
            nf_blob_unref(event.msg.payload);
            send_payload(0, answers++, 8, NF_BYTES);
        }
    }
    CU_ASSERT(failed);
    end();
}

/* ---------------------------------------------------------------- losses */

static void test_stopped_slave(void)
{
    const size_t bytes = 64u << 20;
    size_t backlog;

    begin(peer_program);
    start(2);
    send_payload(0, 1, 8, NF_BYTES);
    expect_payload(0, 1, 8, NF_BYTES);
    kill(hello[0].pid, SIGSTOP);
    alarm(60); /* a send that blocks never returns */
    send_payload(0, 2, bytes, NF_BYTES);
    backlog = nf_net_backlog_bytes(net, 0);
    CU_ASSERT(backlog >= bytes);
    send_payload(0, 3, 1000, NF_BYTES);
    CU_ASSERT(nf_net_backlog_bytes(net, 0) >= backlog + 1000);
    for (uint64_t i = 0; i < 100; i++) {
        send_payload(1, i, 5000, NF_FLOAT64);
        expect_payload(1, i, 5000, NF_FLOAT64);
    }
    CU_ASSERT(nf_net_backlog_bytes(net, 0) >= bytes);
    kill(hello[0].pid, SIGCONT);
    expect_payload(0, 2, bytes, NF_BYTES);
    expect_payload(0, 3, 1000, NF_BYTES);
    CU_ASSERT(nf_net_backlog_bytes(net, 0) < 1 << 17);
    alarm(0);
    end();
}

static void test_stopped_slave_is_ended(void)
{
    begin(peer_program);
    start(2);
    kill(hello[0].pid, SIGSTOP);
    send_payload(0, 2, 8u << 20, NF_BYTES);
    alarm(60);
    end(); /* also checks that it is gone */
    alarm(0);
}

static void test_killed_slave(void)
{
    struct nf_net_event event;

    begin(peer_program);
    start(2);
    send_payload(0, 5, 4u << 20, NF_BYTES);
    kill(hello[0].pid, SIGKILL);
    do {
        event = next();
        if (event.kind == NF_NET_MESSAGE)
            nf_blob_unref(event.msg.payload);
    } while (event.kind == NF_NET_MESSAGE);
    CU_ASSERT_EQUAL(event.kind, NF_NET_LEFT);
    CU_ASSERT_EQUAL(event.peer, 0);
    CU_ASSERT_EQUAL(nf_net_backlog_bytes(net, 0), 0);
    send_payload(0, 5, 100, NF_BYTES); /* to nobody */
    send_payload(1, 6, 100, NF_BYTES);
    expect_payload(1, 6, 100, NF_BYTES);
    end();
}

static void test_missing_program(void)
{
    struct nf_net_event event;

    begin("/nonexistent/nowfarm-slave");
    CU_ASSERT_EQUAL(nf_net_spawn(net, NULL, 3, 4), NF_OK);
    event = next();
    CU_ASSERT_EQUAL_FATAL(event.kind, NF_NET_SPAWN_FAILED);
    CU_ASSERT_EQUAL(event.spawn_id, 4);
    CU_ASSERT_EQUAL(event.count, 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(event.text, "/nonexistent/nowfarm-slave"));
    nf_net_close(net);
}

static void test_program_that_says_nothing(void)
{
    uint32_t ended = 0;

    begin("/bin/true");
    CU_ASSERT_EQUAL(nf_net_spawn(net, NULL, 2, 9), NF_OK);
    while (ended < 2) {
        struct nf_net_event event = next();

        CU_ASSERT_EQUAL_FATAL(event.kind, NF_NET_SPAWN_FAILED);
        CU_ASSERT_EQUAL(event.spawn_id, 9);
        ended += event.count;
    }
    nf_net_close(net);
}

static void test_drop_and_kill(void)
{
    begin(peer_program);
    start(2);
    kill(hello[0].pid, SIGSTOP);
    send_payload(0, 1, 2u << 20, NF_BYTES);
    send_payload(0, 2, 2u << 20, NF_BYTES);
    nf_net_drop(net, 0, false);
    CU_ASSERT(nf_net_backlog_bytes(net, 0) <= (2u << 20) + (128u << 10));
    nf_net_drop(net, 0, true);
    CU_ASSERT_EQUAL(nf_net_backlog_bytes(net, 0), 0);
    for (int i = 0; i < 500 && kill(hello[0].pid, 0) == 0; i++)
        usleep(10000);
    CU_ASSERT_NOT_EQUAL(kill(hello[0].pid, 0), 0);
    send_payload(1, 6, 100, NF_BYTES);
    expect_payload(1, 6, 100, NF_BYTES);
    end();
}

/* A context is freed by who made it, and nobody says that slaves do not need
 * theirs any more. */
static void test_meshes_of_slaves(void)
{
    static const uint32_t members[] = { 0, 1 };
    struct nf_group_msg first = { .id = 1 }, second = { .id = 2 };
    struct nf_mesh *mesh = NULL;
    int tids[2];

    begin(peer_program);
    start(2);
    CU_ASSERT_EQUAL(nf_net_mesh(net, members, 2, &first, tids, &mesh, NULL),
                    NF_OK);
    CU_ASSERT_EQUAL(nf_net_mesh(net, members, 2, &second, tids, &mesh, NULL),
                    NF_OK);
    CU_ASSERT_PTR_NULL(mesh);
    CU_ASSERT_EQUAL(first.context, second.context);
    CU_ASSERT_NOT_EQUAL(first.cookie, second.cookie);
    CU_ASSERT_EQUAL((unsigned)tids[1], hello[1].tid);
    end();
}

static void *write_anyway(void *nothing)
{
    (void)nothing;
    fprintf(stderr, "another thread\n");
    return NULL;
}

/* What libpvm says is not seen; what others say is. */
static void test_hush(void)
{
    char text[64] = "";
    FILE *seen = tmpfile(), *before = stderr;
    struct stat was, is;
    pthread_t thread;

    CU_ASSERT_PTR_NOT_NULL_FATAL(seen);
    CU_ASSERT_EQUAL(fstat(STDERR_FILENO, &was), 0);
    stderr = seen;
    nf_pvm_hush();
    fprintf(stderr, "libpvm: this and that\n");
    CU_ASSERT_EQUAL(pthread_create(&thread, NULL, write_anyway, NULL), 0);
    pthread_join(thread, NULL);
    CU_ASSERT_EQUAL(fstat(STDERR_FILENO, &is), 0);
    nf_pvm_unhush();
    CU_ASSERT_PTR_EQUAL(stderr, seen);
    stderr = before;
    CU_ASSERT(was.st_ino == is.st_ino && was.st_dev == is.st_dev);
    rewind(seen);
    CU_ASSERT_PTR_NOT_NULL(fgets(text, sizeof(text), seen));
    CU_ASSERT_STRING_EQUAL(text, "another thread\n");
    fclose(seen);
}

/* ------------------------------------------------------------------ frame */

static CU_TestInfo tests[] = {
    { "payloads of all types and sizes, as they are", test_raw },
    { "payloads of all types and sizes, in XDR", test_xdr },
    { "special numbers survive both encodings", test_special_numbers },
    { "large messages both ways at once", test_large_both_ways },
    { "a stranger does no harm", test_stranger },
    { "news of hosts are heard in a crowd of messages", test_news_in_a_crowd },
    { "a stopped slave stops nobody", test_stopped_slave },
    { "a stopped slave is ended", test_stopped_slave_is_ended },
    { "a killed slave has left", test_killed_slave },
    { "what libpvm says is hushed, and nothing else", test_hush },
    { "meshes of slaves do not use up contexts", test_meshes_of_slaves },
    { "a missing program is named", test_missing_program },
    { "slaves that say nothing are counted", test_program_that_says_nothing },
    { "a dropped slave is killed", test_drop_and_kill },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "PVM transport", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return own_pvm_run(suites);
}
