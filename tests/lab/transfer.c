/* How fast is the network?  One plain TCP stream, told by who receives it.
 *
 *   transfer receive PORT            prints the payload's rate in bit/s
 *   transfer send HOST PORT SECONDS
 */
#include "config.h"
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include "common/base/clock.h"

static char block[16384];

static int fail(const char *what)
{
    perror(what);
    return 1;
}

static struct addrinfo *look_up(const char *host, const char *port)
{
    struct addrinfo hints = { .ai_family = AF_INET,
                              .ai_socktype = SOCK_STREAM,
                              .ai_flags = host == NULL ? AI_PASSIVE : 0 };
    struct addrinfo *found;

    return getaddrinfo(host, port, &hints, &found) == 0 ? found : NULL;
}

static int receive(const char *port)
{
    struct addrinfo *own = look_up(NULL, port);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    int64_t first_us = 0, bytes = 0;
    ssize_t n;
    int fd;

    if (own == NULL || bind(listener, own->ai_addr, own->ai_addrlen) != 0 ||
        listen(listener, 1) != 0)
        return fail("listen");
    freeaddrinfo(own);
    fd = accept(listener, NULL, NULL);
    while ((n = read(fd, block, sizeof(block))) > 0) {
        if (first_us == 0)
            first_us = nf_now_us();
        else
            bytes += n;
    }
    if (n < 0 || bytes == 0)
        return fail("read");
    printf("%lld\n", (long long)(bytes * 8000000 / (nf_now_us() - first_us)));
    return 0;
}

static int send_to(const char *host, const char *port, double seconds)
{
    const int small = 32768; /* what waits here is sent after the time is up */
    struct addrinfo *there = look_up(host, port);
    int64_t end_us = nf_now_us() + 10000000;
    int fd = -1;

    while (there != NULL &&
           nf_now_us() < end_us) { /* who listens may be late */
        fd = socket(AF_INET, SOCK_STREAM, 0);
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
        if (connect(fd, there->ai_addr, there->ai_addrlen) == 0)
            break;
        close(fd);
        fd = -1;
        usleep(20000);
    }
    if (fd < 0)
        return fail("connect");
    freeaddrinfo(there);
    end_us = nf_now_us() + (int64_t)(seconds * 1e6);
    while (nf_now_us() < end_us)
        if (write(fd, block, sizeof(block)) < 0)
            return fail("write");
    close(fd);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "receive") == 0)
        return receive(argv[2]);
    if (argc == 5 && strcmp(argv[1], "send") == 0)
        return send_to(argv[2], argv[3], atof(argv[4]));
    fprintf(stderr, "usage: transfer receive PORT | send HOST PORT SECONDS\n");
    return 2;
}
