/* Which congestion control a socket has after nf_congestion_replace_bbr(). */
#include "config.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "common/net/congestion.h"
#include "tests/unit/nf_unit.h"

static bool set(int fd, const char *name)
{
    return setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name,
                      (socklen_t)strlen(name)) == 0;
}

static bool has(int fd, const char *name)
{
    char got[32] = "";
    socklen_t size = sizeof(got) - 1;

    return getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, got, &size) == 0 &&
           strcmp(got, name) == 0;
}

/* Where the system neither is set to BBR nor lets us, there is nothing to see. */
static void test_bbr(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (has(fd, "bbr") || set(fd, "bbr")) {
        nf_congestion_replace_bbr(fd);
        CU_ASSERT(has(fd, "cubic") || has(fd, "reno"));
    }
    close(fd);
}

/* ... from the one that listens; where BBR is not the system's, but allowed, they would
 * have the system's in any case. */
static void test_accepted(void)
{
    struct sockaddr_in name = { .sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t bytes = sizeof(name);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    int caller = socket(AF_INET, SOCK_STREAM, 0), fd;

    if (has(listener, "bbr") || set(listener, "bbr")) {
        nf_congestion_replace_bbr(listener);
        CU_ASSERT_EQUAL_FATAL(
            bind(listener, (struct sockaddr *)&name, bytes), 0);
        CU_ASSERT_EQUAL_FATAL(listen(listener, 1), 0);
        CU_ASSERT_EQUAL_FATAL(
            getsockname(listener, (struct sockaddr *)&name, &bytes), 0);
        CU_ASSERT_EQUAL_FATAL(
            connect(caller, (struct sockaddr *)&name, bytes), 0);
        fd = accept(listener, NULL, NULL);
        CU_ASSERT(has(fd, "cubic") || has(fd, "reno"));
        close(fd);
    }
    close(caller);
    close(listener);
}

static void test_others_stay(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    CU_ASSERT(set(fd, "reno")); /* everybody may */
    nf_congestion_replace_bbr(fd);
    CU_ASSERT(has(fd, "reno"));
    close(fd);
}

static void test_no_tcp(void)
{
    int fds[2];

    CU_ASSERT_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    nf_congestion_replace_bbr(fds[0]);
    CU_ASSERT_EQUAL(write(fds[0], "a", 1), 1);
    close(fds[0]);
    close(fds[1]);
    nf_congestion_replace_bbr(-1);
}

static CU_TestInfo tests[] = {
    { "BBR is replaced", test_bbr },
    { "... of whoever is accepted, too", test_accepted },
    { "... and no other", test_others_stay },
    { "sockets that are not TCP are left alone", test_no_tcp },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "congestion control", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
