/* The clients of nowfarmd without the rest of nowfarm: jobs_cli COMMAND ...
 * The application "fake" is what fake_runner.c runs.  Two commands more:
 *     half-line   send the half of a request, and stay
 *     latency N [MS]   ask N times for the status, MS ms apart (0), and print
 *                      how long it took */
#include "config.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "apps/nowfarm/commands_jobs.h"
#include "common/base/clock.h"
#include "master/endpoint.h"

enum { MOST_QUESTIONS = 1000 };

int nf_cmd_run_check(int argc, const char **argv)
{
    if (argc >= 2 && strcmp(argv[0], "run") == 0 && argv[argc] == NULL &&
        strcmp(argv[1], "fake") == 0)
        return 0;
    fprintf(stderr, "jobs_cli: no application %s\n", argc < 2 ? "" : argv[1]);
    return 2;
}

/* A connection on which `text` has been sent; exits if there is none. */
static int connect_and_send(const char *text)
{
    char path[NF_ENDPOINT_BYTES];
    struct nf_error err = { .text = "cannot send" };
    int fd;

    if (nf_endpoint_path(NULL, NULL, path, &err) != NF_OK ||
        nf_endpoint_connect(path, &fd, &err) != NF_OK ||
        send(fd, text, strlen(text), MSG_NOSIGNAL) != (ssize_t)strlen(text)) {
        fprintf(stderr, "jobs_cli: %s\n", err.text);
        exit(3);
    }
    return fd;
}

static int half_line(int argc, const char **argv)
{
    (void)argc;
    (void)argv;
    connect_and_send("{\"v\":1,\"op\":");
    pause(); /* until killed */
    return 1;
}

static int64_t ask_once_us(void)
{
    int64_t begin_us = nf_now_us();
    int fd = connect_and_send("{\"v\":1,\"op\":\"status\"}\n");
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
    char data[65536];
    ssize_t got = 0;

    do {
        if (poll(&poll_fd, 1, 10000) == 1)
            got = recv(fd, data, sizeof(data), 0);
        if (got <= 0) {
            fprintf(stderr, "jobs_cli: no answer\n");
            exit(3);
        }
    } while (data[got - 1] != '\n');
    close(fd);
    return nf_now_us() - begin_us;
}

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int latency(int argc, const char **argv)
{
    static int64_t times_us[MOST_QUESTIONS];
    int count = argc > 1 ? atoi(argv[1]) : 0;
    int pause_ms = argc > 2 ? atoi(argv[2]) : 0;

    if (count < 1 || count > MOST_QUESTIONS)
        return 2;
    for (int i = 0; i < count; i++) {
        poll(NULL, 0, pause_ms);
        times_us[i] = ask_once_us();
    }
    qsort(times_us, (size_t)count, sizeof(times_us[0]), compare);
    printf("status, ms: median %.2f, 95%% %.2f, most %.2f\n",
           (double)times_us[count / 2] * 1e-3,
           (double)times_us[count * 95 / 100] * 1e-3,
           (double)times_us[count - 1] * 1e-3);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, const char **argv);
    } commands[] = {
        { "submit", nf_cmd_submit }, { "status", nf_cmd_status },
        { "wait", nf_cmd_wait },     { "result", nf_cmd_result },
        { "cancel", nf_cmd_cancel }, { "half-line", half_line },
        { "latency", latency },
    };

    for (size_t i = 0; argc >= 2 && i < sizeof(commands) / sizeof(*commands);
         i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, (const char **)argv + 1);
    fprintf(stderr, "jobs_cli: want a command\n");
    return 2;
}
