/* When the way out of a host is free: by numbers, and of real sockets. */
#include "config.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include "common/net/uplink.h"
#include "tests/unit/nf_unit.h"

enum { MUCH = 100000, SMALL = NF_UPLINK_UNSENT_BYTES - 1 };

static void test_little_holds_nobody_up(void)
{
    struct nf_uplink_socket s = { 0 };

    CU_ASSERT_FALSE(nf_uplink_is_held(&s, 0, 1000));
    CU_ASSERT_FALSE(nf_uplink_is_held(&s, SMALL, 1001));
    CU_ASSERT(nf_uplink_is_held(&s, SMALL + 1, 1002));
}

static void test_what_leaves_is_waited_for(void)
{
    struct nf_uplink_socket s = { 0 };
    int64_t now_us = 5;

    for (uint64_t bytes = MUCH; bytes > SMALL; bytes -= 1448) {
        CU_ASSERT(nf_uplink_is_held(&s, bytes, now_us));
        now_us += NF_UPLINK_STUCK_US - 1;
    }
    CU_ASSERT_FALSE(nf_uplink_is_held(&s, 0, now_us));
}

static void test_what_is_stuck_is_not(void)
{
    struct nf_uplink_socket s = { 0 };

    CU_ASSERT(nf_uplink_is_held(&s, MUCH, 7));
    CU_ASSERT(nf_uplink_is_held(&s, MUCH, 6 + NF_UPLINK_STUCK_US));
    CU_ASSERT_FALSE(nf_uplink_is_held(&s, MUCH, 7 + NF_UPLINK_STUCK_US));
    CU_ASSERT_FALSE(nf_uplink_is_held(&s, MUCH, 7 + 9 * NF_UPLINK_STUCK_US));
    /* it moves again */
    CU_ASSERT(nf_uplink_is_held(&s, MUCH - 1, 8 + 9 * NF_UPLINK_STUCK_US));
}

/* Two ends of a TCP connection on this host. */
static void connect_pair(int ends_p[2])
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t bytes = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CU_ASSERT_EQUAL_FATAL(bind(listener, (struct sockaddr *)&at, bytes), 0);
    CU_ASSERT_EQUAL_FATAL(listen(listener, 1), 0);
    CU_ASSERT_EQUAL(getsockname(listener, (struct sockaddr *)&at, &bytes), 0);
    ends_p[0] = socket(AF_INET, SOCK_STREAM, 0);
    CU_ASSERT_EQUAL_FATAL(
        connect(ends_p[0], (struct sockaddr *)&at, sizeof(at)), 0);
    ends_p[1] = accept(listener, NULL, NULL);
    close(listener);
    fcntl(ends_p[0], F_SETFL, O_NONBLOCK);
    fcntl(ends_p[1], F_SETFL, O_NONBLOCK);
}

/* @return how many bytes the sockets took, or gave */
static size_t fill(int fd)
{
    static const char bytes[4096];
    size_t all = 0;
    ssize_t n;

    while ((n = write(fd, bytes, sizeof(bytes))) > 0)
        all += (size_t)n;
    return all;
}
static size_t empty(int fd, size_t most)
{
    static char bytes[4096];
    size_t all = 0;
    ssize_t n;

    while (all < most && (n = read(fd, bytes, sizeof(bytes))) > 0)
        all += (size_t)n;
    return all;
}

static void test_a_socket(void)
{
    int ends[2], fds[3];
    int64_t now_us = 1000;
    size_t left, got;

    connect_pair(ends);
    fds[0] = -1;
    fds[1] = STDIN_FILENO; /* whatever that is */
    fds[2] = ends[0];
    CU_ASSERT(nf_uplink_is_free(fds, 3, now_us));
    left = fill(ends[0]); /* until the other end does not take more */
    CU_ASSERT(left > NF_UPLINK_UNSENT_BYTES);
    CU_ASSERT_FALSE(nf_uplink_is_free(fds, 3, now_us));
    CU_ASSERT(nf_uplink_is_free(fds, 2, now_us));
    CU_ASSERT(nf_uplink_is_free(fds, 3, now_us + NF_UPLINK_STUCK_US));
    /* it reads, so there is less to send */
    for (int turn = 0; left > 0 && turn < 10000; turn++) {
        got = empty(ends[1], left);
        left -= got;
        usleep(got == 0 ? 1000 : 0);
    }
    CU_ASSERT_EQUAL(left, 0);
    CU_ASSERT(nf_uplink_is_free(fds, 3, now_us + NF_UPLINK_STUCK_US + 1));
    close(ends[0]);
    close(ends[1]);
    CU_ASSERT(nf_uplink_is_free(fds, 3, now_us));
}

static CU_TestInfo tests[] = {
    { "little holds nobody up", test_little_holds_nobody_up },
    { "what leaves is waited for", test_what_leaves_is_waited_for },
    { "what is stuck is not", test_what_is_stuck_is_not },
#ifdef __linux__
    { "a socket", test_a_socket },
#endif
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "uplink", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
