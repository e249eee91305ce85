/* tcp_limit.c - L(m): how long one plain TCP transfer of m bytes takes between
 * two hosts of the lab, from the sender's first write until the receiver has
 * everything.  It is the limit that framing leaves to any broadcast.
 *
 * With relays between them it is a broadcast down a chain, of bare TCP and
 * nothing else.  A relay passes on each SEGMENT bytes when it has them, and is
 * woken, as usual, for each frame.
 *
 *   tcp_limit receive PORT
 *   tcp_limit relay PORT NEXT_HOST NEXT_PORT SEGMENT
 *   tcp_limit send HOST PORT SIZES LEAST MOST BUDGET_MS
 *
 * Both read one clock: the hosts of the lab share the machine's.  So this is a
 * one-way time that was measured and not half of a round trip, and it is
 * meaningless between two machines.  One connection carries all transfers; the
 * receiver answers each with the time at which it had all, which also keeps one
 * transfer out of the way of the next.  Prints the lines of samples.h, OP is
 * "tcp".  Through relays the time is that of the last host to have all. */
#include "config.h"
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include "tests/bench/samples.h"

static char *block; /* of SAMPLES_MAX_BYTES */

static int fail(const char *what)
{
    fprintf(stderr, "tcp_limit: ");
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

static int read_all(int fd, void *to, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = read(fd, (char *)to + done, bytes - done);

        if (n <= 0)
            return -1;
        done += (size_t)n;
    }
    return 0;
}

static int write_all(int fd, const void *from, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = write(fd, (const char *)from + done, bytes - done);

        if (n <= 0)
            return -1;
        done += (size_t)n;
    }
    return 0;
}

static void without_delay(int fd)
{
    const int on = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static int accept_from(const char *port)
{
    const int on = 1;
    struct addrinfo *own = look_up(NULL, port);
    int listener = socket(AF_INET, SOCK_STREAM, 0), fd;

    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (own == NULL || bind(listener, own->ai_addr, own->ai_addrlen) != 0 ||
        listen(listener, 1) != 0)
        return -1;
    freeaddrinfo(own);
    fd = accept(listener, NULL, NULL);
    close(listener);
    if (fd >= 0)
        without_delay(fd);
    return fd;
}

/* Tell the next one, if any, what follows, and be ready when it is. */
static int announce(int from, int to, int64_t bytes)
{
    char ready;

    if (to >= 0 && (write_all(to, &bytes, sizeof bytes) != 0 ||
                    read_all(to, &ready, 1) != 0))
        return -1;
    return write_all(from, "", 1);
}

static int pass_on(int from, int to, size_t bytes, size_t segment)
{
    if (to < 0)
        return read_all(from, block, bytes);
    for (size_t done = 0; done < bytes; done += segment) {
        size_t part = bytes - done < segment ? bytes - done : segment;

        if (read_all(from, block + done, part) != 0 ||
            write_all(to, block + done, part) != 0)
            return -1;
    }
    return 0;
}

/* What follows is told before: eight bytes with its length.
 * @param to  the next one of the chain, or -1 */
static int receive(int from, int to, size_t segment)
{
    int64_t bytes;
    double end_us, next_us = 0;

    if (from < 0)
        return fail("accept");
    while (read_all(from, &bytes, sizeof bytes) == 0) {
        if (bytes < 1 || bytes > SAMPLES_MAX_BYTES ||
            announce(from, to, bytes) != 0 ||
            pass_on(from, to, (size_t)bytes, segment) != 0)
            return fail("receive");
        end_us = samples_now_us();
        if (to >= 0 && read_all(to, &next_us, sizeof next_us) != 0)
            return fail("next");
        if (next_us > end_us)
            end_us = next_us;
        if (write_all(from, &end_us, sizeof end_us) != 0)
            return fail("answer");
    }
    close(from);
    if (to >= 0)
        close(to);
    return 0;
}

/* @return one sample; below 0 if the connection broke */
static double transfer_us(int fd, int64_t bytes)
{
    double start_us, end_us;
    char ready;

    if (write_all(fd, &bytes, sizeof bytes) != 0 ||
        read_all(fd, &ready, 1) != 0)
        return -1;
    start_us = samples_now_us();
    if (write_all(fd, block, (size_t)bytes) != 0 ||
        read_all(fd, &end_us, sizeof end_us) != 0)
        return -1;
    return end_us - start_us;
}

static int connect_to(const char *host, const char *port)
{
    const double end_us = samples_now_us() + 10e6; /* it may listen late */
    struct addrinfo *there = look_up(host, port);
    int fd = -1;

    while (there != NULL && samples_now_us() < end_us) {
        fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, there->ai_addr, there->ai_addrlen) == 0)
            break;
        close(fd);
        fd = -1;
        usleep(20000);
    }
    if (there != NULL)
        freeaddrinfo(there);
    if (fd >= 0)
        without_delay(fd);
    return fd;
}

static int relay(const char *port, const char *host, const char *next_port,
                 const char *segment_text)
{
    char *end;
    long segment = samples_number(segment_text, 1, SAMPLES_MAX_BYTES, &end);
    int to;

    if (segment < 0 || *end != '\0')
        return 2;
    to = connect_to(host, next_port);
    if (to < 0)
        return fail("connect");
    return receive(accept_from(port), to, (size_t)segment);
}

static int send_to(const char *host, const char *port,
                   const struct samples_plan *plan)
{
    double us[SAMPLES_MOST];
    int fd = connect_to(host, port);

    if (fd < 0)
        return fail("connect");
    for (int s = 0; s < plan->nsizes; s++) {
        double trial_us = transfer_us(fd, plan->bytes[s]);
        int n = samples_wanted(plan, trial_us);

        for (int i = 0; i < n; i++) {
            us[i] = trial_us < 0 ? -1 : transfer_us(fd, plan->bytes[s]);
            if (us[i] < 0)
                return fail("transfer");
        }
        samples_print("tcp", plan->bytes[s], 2, us, n);
    }
    close(fd);
    return 0;
}

int main(int argc, char **argv)
{
    /* samples_plan_parse() wants the operations first; the host stands there */
    char *words[5];
    struct samples_plan plan;
    int status = 2;

    block = calloc(1, SAMPLES_MAX_BYTES);
    if (block == NULL)
        return fail("calloc");
    if (argc == 8)
        memcpy(words, argv + 3, sizeof words);
    if (argc == 3 && strcmp(argv[1], "receive") == 0)
        status = receive(accept_from(argv[2]), -1, 0);
    else if (argc == 6 && strcmp(argv[1], "relay") == 0)
        status = relay(argv[2], argv[3], argv[4], argv[5]);
    else if (argc == 8 && strcmp(argv[1], "send") == 0 &&
             samples_plan_parse(&plan, words) == 0)
        status = send_to(argv[2], argv[3], &plan);
    else
        fprintf(stderr, "usage: tcp_limit receive PORT |"
                        " relay PORT NEXT_HOST NEXT_PORT SEGMENT |"
                        " send HOST PORT SIZES LEAST MOST BUDGET_MS\n");
    free(block);
    return status;
}
