/* The control socket against clients that are wrong, rude, slow or many.  The
 * daemon's loop and the clients take turns in one thread: a turn of the loop
 * that waited for a client would never end, and so fail the test. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include "common/base/clock.h"
#include "master/control.h"
#include "master/endpoint.h"
#include "tests/unit/nf_tmpdir.h"
#include "tests/unit/nf_unit.h"

enum { TURNS = 2000, LINE_BYTES = 4096, BIG_BYTES = 3000000 };

static struct event_base *base;
static struct nf_control *control;
static int lock_fd;
static int requests, hangups;
static uint64_t last_client, waiting_client;

/* The operations of this daemon: "echo" answers at once, "big" with more than
 * a socket holds, "wait" later or never. */
static void on_request(void *user, uint64_t client, const char *op,
                       const json_t *request)
{
    (void)user;
    requests++;
    last_client = client;
    if (strcmp(op, "echo") == 0) {
        nf_control_reply(
            control, client,
            json_pack("{s:O}", "text", json_object_get(request, "text")));
    } else if (strcmp(op, "big") == 0) {
        char *text = malloc(BIG_BYTES + 1);

        memset(text, 'b', BIG_BYTES);
        text[BIG_BYTES] = '\0';
        nf_control_reply(control, client, json_pack("{s:s}", "text", text));
        free(text);
    } else if (strcmp(op, "wait") == 0) {
        waiting_client = client;
    } else {
        nf_control_refuse(control, client, 2, "op %s: unknown", op);
    }
}

static bool on_hangup(void *user, uint64_t client)
{
    (void)user;
    hangups++;
    return client == waiting_client;
}

static void start_with(size_t max_clients, int64_t patience_us)
{
    const struct nf_control_limits limits = { max_clients, LINE_BYTES,
                                              patience_us };
    const struct nf_control_hooks hooks = { on_request, on_hangup, NULL };
    int fd = -1;

    requests = hangups = 0;
    last_client = waiting_client = 0;
    base = event_base_new();
    event_base_priority_init(base, 2);
    CU_ASSERT_EQUAL(nf_endpoint_listen(nf_tmp("c.sock"), &lock_fd, &fd, NULL),
                    NF_OK);
    control = nf_control_create(base, fd, &limits, &hooks);
    CU_ASSERT_PTR_NOT_NULL(control);
}

static void start(void)
{
    start_with(8, 3600000000);
}

static void stop(void)
{
    nf_control_destroy(control);
    event_base_free(base);
    close(lock_fd);
}

static void turn_loop(int turns)
{
    for (int i = 0; i < turns; i++)
        event_base_loop(base, EVLOOP_NONBLOCK);
}

static int join(void)
{
    int fd = -1;

    CU_ASSERT_EQUAL(nf_endpoint_connect(nf_tmp("c.sock"), &fd, NULL), NF_OK);
    turn_loop(3);
    return fd;
}

static void say(int fd, const char *text)
{
    CU_ASSERT_EQUAL(send(fd, text, strlen(text), MSG_NOSIGNAL),
                    (ssize_t)strlen(text));
    turn_loop(3);
}

/* Read one line while the loop turns.  @return it, "" at the end of the
 * connection, NULL if nothing comes */
static const char *hear(int fd)
{
    static char line[LINE_BYTES * 2];
    size_t bytes = 0;

    for (int turns = 0; turns < TURNS && bytes < sizeof(line) - 1;) {
        ssize_t got = recv(fd, line + bytes, 1, 0);

        if (got == 0 || (got < 0 && errno == ECONNRESET))
            return "";
        if (got < 0) {
            turn_loop(1);
            turns++;
            continue;
        }
        if (line[bytes] == '\n') {
            line[bytes] = '\0';
            return line;
        }
        bytes++;
    }
    return NULL;
}

static void expect(int fd, const char *part)
{
    const char *line = hear(fd);

    CU_ASSERT_TRUE(line != NULL && strstr(line, part) != NULL);
    if (line == NULL || strstr(line, part) == NULL)
        printf("\n    want %s, got %s", part, line == NULL ? "nothing" : line);
}

static void expect_end(int fd)
{
    const char *line = hear(fd);

    CU_ASSERT_TRUE(line != NULL && line[0] == '\0');
}

static bool is_silent(int fd)
{
    char byte;

    turn_loop(20);
    return recv(fd, &byte, 1, MSG_PEEK) < 0 && errno == EAGAIN;
}

#define ECHO(text) "{\"v\":1,\"op\":\"echo\",\"text\":\"" text "\"}\n"

static void a_request_gets_its_reply(void)
{
    int fd;

    start();
    fd = join();
    say(fd, ECHO("hello"));
    expect(fd, "\"ok\":true");
    say(fd, ECHO("again")); /* on the same connection */
    expect(fd, "again");
    say(fd, "{\"v\":1,\"op\":\"dance\"}\n");
    expect(fd, "\"exit\":2");
    close(fd);
    stop();
}

static void nonsense_gets_one_line_and_the_door(void)
{
    static const char *const cases[] = {
        "hello\n",
        "\n",
        "[]\n",
        "3\n",
        "{\"v\":1\n",
        "{\"v\":1,\"op\":3}\n",
        "{\"v\":2,\"op\":\"echo\"}\n",
        "{\"op\":\"echo\"}\n",
        "{\"v\":1,\"op\":\"echo\",\"op\":\"echo\"}\n",
        "{\"v\":1,\"op\":\"\xff\xfe\"}\n",
        "GET / HTTP/1.1\r\n\r\n",
    };

    start();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int fd = join();

        say(fd, cases[i]);
        expect(fd, "\"ok\":false");
        expect_end(fd);
        close(fd);
    }
    CU_ASSERT_EQUAL(requests, 0);
    stop();
}

/* The text of a refusal is cut somewhere in an `op` of two-byte characters. */
static void a_refusal_that_is_cut_in_a_character_is_told(void)
{
    enum { CHARACTERS = NF_ERROR_TEXT_BYTES };

    start();
    for (int shift = 0; shift < 2; shift++) {
        char line[3 * CHARACTERS];
        int fd = join();
        size_t fill = (size_t)snprintf(
            line, sizeof(line), "{\"v\":1,\"op\":\"%s", shift == 0 ? "" : "x");

        for (int i = 0; i < CHARACTERS; i++, fill += 2)
            memcpy(line + fill, "\xc3\xa9", 2);
        snprintf(line + fill, sizeof(line) - fill, "\"}\n");
        say(fd, line);
        expect(fd, "\"ok\":false");
        close(fd);
    }
    CU_ASSERT_EQUAL(requests, 2);
    stop();
}

/* Random bytes, and random damage to a good request: the loop survives, and
 * the next client is served. */
static void random_garbage_harms_nobody(void)
{
    uint64_t random = 20;

    start();
    for (int round = 0; round < 500; round++) {
        char text[] = ECHO("hello");
        int fd = join();
        size_t bytes = sizeof(text) - 1;

        for (size_t i = 0; i < bytes; i++) {
            random = random * 6364136223846793005ULL + 1442695040888963407ULL;
            if (round % 2 == 0 || random >> 60 == 0)
                text[i] = (char)(random >> 40);
        }
        CU_ASSERT_EQUAL(send(fd, text, bytes, MSG_NOSIGNAL), (ssize_t)bytes);
        turn_loop(2);
        close(fd);
    }
    turn_loop(10);
    CU_ASSERT_EQUAL(nf_control_clients(control), 0);
    int fd = join();
    say(fd, ECHO("still here"));
    expect(fd, "still here");
    close(fd);
    stop();
}

static void the_longest_line_is_taken_and_one_byte_more_is_not(void)
{
    static char line[LINE_BYTES + 3];

    for (int extra = 0; extra < 2; extra++) {
        int used = snprintf(line, sizeof(line),
                            "{\"v\":1,\"op\":\"echo\",\"text\":\"");
        int end = LINE_BYTES + extra, fd;

        memset(line + used, 'x', (size_t)(end - used - 2));
        strcpy(line + end - 2, "\"}\n");
        start();
        fd = join();
        say(fd, line);
        expect(fd, extra == 0 ? "xxx" : "longer than 4096 bytes");
        close(fd);
        stop();
    }
}

static void an_endless_line_is_cut_off(void)
{
    char piece[1000];
    int fd;
    bool refused = false;

    start();
    fd = join();
    memset(piece, 'x', sizeof(piece));
    for (int i = 0; i < 1000 && !refused; i++) {
        refused =
            send(fd, piece, sizeof(piece), MSG_NOSIGNAL) < 0 && errno != EAGAIN;
        turn_loop(2);
    }
    CU_ASSERT_TRUE(refused);
    expect(fd, "longer than");
    CU_ASSERT_EQUAL(nf_control_clients(control), 0);
    close(fd);
    stop();
}

static void half_a_line_keeps_nobody_else_waiting(void)
{
    int half, other;

    start();
    half = join();
    other = join();
    say(half, "{\"v\":1,\"op\":\"echo\",");
    say(other, ECHO("meanwhile"));
    expect(other, "meanwhile");
    CU_ASSERT_TRUE(is_silent(half));
    say(half, "\"text\":\"late\"}\n");
    expect(half, "late");
    close(half);
    close(other);
    stop();
}

static void a_deferred_reply_keeps_nobody_else_waiting(void)
{
    int waiter, other;

    start();
    waiter = join();
    other = join();
    say(waiter, "{\"v\":1,\"op\":\"wait\"}\n" ECHO("behind"));
    say(other, ECHO("meanwhile"));
    expect(other, "meanwhile");
    CU_ASSERT_TRUE(is_silent(waiter)); /* one request at a time */
    nf_control_reply(control, waiting_client, json_pack("{s:i}", "done", 1));
    expect(waiter, "\"done\":1");
    expect(waiter, "behind");
    close(waiter);
    close(other);
    stop();
}

static void a_client_that_does_not_read_holds_up_only_itself(void)
{
    int slow, other;

    start();
    slow = join();
    other = join();
    say(slow, "{\"v\":1,\"op\":\"big\"}\n{\"v\":1,\"op\":\"big\"}\n");
    turn_loop(50);
    CU_ASSERT_EQUAL(requests, 1); /* the second waits for the first's reply */
    say(other, ECHO("meanwhile"));
    expect(other, "meanwhile");
    close(slow);
    close(other);
    turn_loop(50);
    CU_ASSERT_EQUAL(nf_control_clients(control), 0);
    stop();
}

static void a_reply_to_a_client_that_left_is_no_harm(void)
{
    int fd;

    start();
    fd = join();
    say(fd, "{\"v\":1,\"op\":\"wait\"}\n");
    close(fd);
    turn_loop(10);
    CU_ASSERT_EQUAL(hangups, 1);
    CU_ASSERT_EQUAL(nf_control_clients(control), 0);
    nf_control_reply(control, waiting_client, json_object());
    nf_control_refuse(control, waiting_client, 1, "gone");
    stop();
}

static void a_client_that_only_closed_its_writing_side_gets_its_replies(void)
{
    int fd;

    start();
    fd = join();
    CU_ASSERT_TRUE(send(fd, ECHO("one") ECHO("two"),
                        sizeof(ECHO("one") ECHO("two")) - 1, 0) > 0);
    shutdown(fd, SHUT_WR);
    expect(fd, "one");
    expect(fd, "two");
    expect_end(fd);
    close(fd);
    stop();
}

static void too_many_clients_push_out_the_silent_not_the_waiting(void)
{
    int waiter, silent, fds[20];

    start(); /* 8 at most */
    waiter = join();
    say(waiter, "{\"v\":1,\"op\":\"wait\"}\n");
    silent = join();
    for (int i = 0; i < 20; i++) {
        fds[i] = join();
        say(fds[i], ECHO("hello"));
        expect(fds[i], "hello");
    }
    expect_end(silent);
    CU_ASSERT_EQUAL(nf_control_clients(control), 8);
    nf_control_reply(control, waiting_client, json_pack("{s:i}", "done", 1));
    expect(waiter, "\"done\":1");
    for (int i = 0; i < 20; i++)
        close(fds[i]);
    close(waiter);
    close(silent);
    stop();
}

static void when_all_are_waiting_one_more_is_turned_away(void)
{
    int fds[8], more;

    start();
    for (int i = 0; i < 8; i++) {
        fds[i] = join();
        say(fds[i], "{\"v\":1,\"op\":\"wait\"}\n");
    }
    more = join();
    expect_end(more);
    CU_ASSERT_EQUAL(nf_control_clients(control), 8);
    for (int i = 0; i < 8; i++)
        close(fds[i]);
    close(more);
    stop();
}

/* Turn the loop until a client is dropped, not longer than 15 s. */
static bool dropped_in_time(int fd)
{
    int64_t until_us = nf_now_us() + 15000000;
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

    while (nf_now_us() < until_us) {
        event_base_loop(base, EVLOOP_ONCE);
        poll_fd.revents = 0;
        if (poll(&poll_fd, 1, 0) > 0 && (poll_fd.revents & POLLHUP) != 0)
            return true;
    }
    return false;
}

static void who_does_not_finish_a_request_is_dropped(void)
{
    int half, waiter, slow;

    start_with(8, 30000);
    waiter = join();
    say(waiter, "{\"v\":1,\"op\":\"wait\"}\n");
    half = join();
    say(half, "{\"v\":1");
    CU_ASSERT_TRUE(dropped_in_time(half));
    slow = join(); /* and who does not take its reply */
    say(slow, "{\"v\":1,\"op\":\"big\"}\n");
    CU_ASSERT_TRUE(dropped_in_time(slow));
    CU_ASSERT_EQUAL(nf_control_clients(control), 1); /* but not who waits */
    close(half);
    close(slow);
    close(waiter);
    stop();
}

int main(void)
{
    CU_TestInfo framing[] = {
        { "a request gets its reply", a_request_gets_its_reply },
        { "nonsense gets one line and the door",
          nonsense_gets_one_line_and_the_door },
        { "a refusal that is cut in a character is told",
          a_refusal_that_is_cut_in_a_character_is_told },
        { "random garbage harms nobody", random_garbage_harms_nobody },
        { "the longest line is taken and one byte more is not",
          the_longest_line_is_taken_and_one_byte_more_is_not },
        { "an endless line is cut off", an_endless_line_is_cut_off },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo fairness[] = {
        { "half a line keeps nobody else waiting",
          half_a_line_keeps_nobody_else_waiting },
        { "a deferred reply keeps nobody else waiting",
          a_deferred_reply_keeps_nobody_else_waiting },
        { "a client that does not read holds up only itself",
          a_client_that_does_not_read_holds_up_only_itself },
        { "a reply to a client that left is no harm",
          a_reply_to_a_client_that_left_is_no_harm },
        { "a client that only closed its writing side gets its replies",
          a_client_that_only_closed_its_writing_side_gets_its_replies },
        { "too many clients push out the silent, not the waiting",
          too_many_clients_push_out_the_silent_not_the_waiting },
        { "when all are waiting one more is turned away",
          when_all_are_waiting_one_more_is_turned_away },
        { "who does not finish a request is dropped",
          who_does_not_finish_a_request_is_dropped },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "framing", nf_tmpdir_make, nf_tmpdir_remove, NULL, NULL, framing },
        { "fairness", nf_tmpdir_make, nf_tmpdir_remove, NULL, NULL, fairness },
        CU_SUITE_INFO_NULL,
    };

    signal(SIGPIPE, SIG_IGN); /* as nowfarmd does */
    return nf_unit_main(suites);
}
