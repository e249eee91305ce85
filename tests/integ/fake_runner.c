/* Stands in for `nowfarm run` in the tests of nowfarmd, and obeys the same
 * contract: fake_runner run APP --progress-fd N --json --quiet [WORD...].
 * The words are carried out in order:
 *     progress UNITS DONE   report it      say TEXT   a line of the log
 *     print TEXT            to the report  where      directory, umask, argv
 *     env NAME              its value      until FILE wait for FILE to exist
 *     hang                  wait for a signal, 130 when SIGTERM comes
 *     deaf                  ignore SIGTERM from now on
 *     numb FILE             ignore all signals and pipes until FILE exists, 30
 * s flood                 write progress and log as fast as they are taken leak
 * leave a child behind that holds the pipes open crash                 abort()
 * exit N     exit with N Ends with a report and exit status 0. */
#include "config.h"
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t told_to_stop;
static int progress_fd = -1;

static void on_term(int signo)
{
    (void)signo;
    told_to_stop = 1;
}

static void leave_if_told(void)
{
    if (told_to_stop) {
        fprintf(stderr, "fake: interrupted\n");
        exit(130);
    }
}

static void progress(unsigned long units, unsigned long done)
{
    if (dprintf(progress_fd,
                "{\"state\":\"running\",\"units\":%lu,\"done\":%lu,"
                "\"failed\":0,\"slaves\":2,\"slots\":4,\"elapsed_s\":2.0}\n",
                units, done) < 0)
        exit(130);
}

/* As the real one: the daemon's end of the pipe gone means stop. */
static void hang(const char *until)
{
    struct pollfd fd = { .fd = progress_fd };

    while (until == NULL || access(until, F_OK) != 0) {
        leave_if_told();
        if (poll(&fd, 1, 20) > 0 && (fd.revents & POLLERR) != 0)
            exit(130);
    }
}

/* One that hangs in a call and notices nothing. */
static void be_numb(const char *until)
{
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < 1500 && access(until, F_OK) != 0; i++)
        poll(NULL, 0, 20); /* half a minute, if a test goes wrong */
}

static void flood(void)
{
    char text[1000];

    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = '\n';
    for (unsigned long i = 0;; i++) {
        leave_if_told();
        progress(1000000000, i);
        if (write(STDERR_FILENO, text, sizeof(text)) < 0)
            exit(130);
    }
}

static void where(int argc, char **argv)
{
    char directory[4096];
    mode_t mask = umask(0);

    if (getcwd(directory, sizeof(directory)) != NULL)
        printf("cwd %s\n", directory);
    printf("umask %03o\n", (unsigned)mask);
    umask(mask);
    for (int i = 0; i < argc; i++)
        printf("argv %s\n", argv[i]);
    for (int fd = 0; fd < 64; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf("fd %d\n", fd);
}

/* @return the words used behind argv[at] */
static int carry_out(int argc, char **argv, int at)
{
    const char *word = argv[at];
    const char *next = at + 1 < argc ? argv[at + 1] : "";

    if (strcmp(word, "progress") == 0 && at + 2 < argc) {
        progress(strtoul(next, NULL, 10), strtoul(argv[at + 2], NULL, 10));
        return 2;
    }
    if (strcmp(word, "say") == 0)
        return fprintf(stderr, "%s\n", next), 1;
    if (strcmp(word, "print") == 0)
        return printf("%s\n", next), 1;
    if (strcmp(word, "env") == 0)
        return printf("%s=%s\n", next,
                      getenv(next) == NULL ? "(unset)" : getenv(next)),
               1;
    if (strcmp(word, "until") == 0)
        return hang(next), 1;
    if (strcmp(word, "numb") == 0)
        return be_numb(next), 1;
    if (strcmp(word, "exit") == 0)
        exit(atoi(next));
    if (strcmp(word, "where") == 0)
        where(argc, argv);
    else if (strcmp(word, "hang") == 0)
        hang(NULL);
    else if (strcmp(word, "deaf") == 0)
        signal(SIGTERM, SIG_IGN);
    else if (strcmp(word, "flood") == 0)
        flood();
    else if (strcmp(word, "leak") == 0 && fork() == 0)
        _exit((sleep(10), 0));
    else if (strcmp(word, "crash") == 0)
        abort();
    return 0;
}

int main(int argc, char **argv)
{
    struct sigaction action = { .sa_handler = on_term };

    setvbuf(stdout, NULL, _IOLBF, 0);
    sigaction(SIGTERM, &action, NULL);
    if (argc < 7 || strcmp(argv[1], "run") != 0 ||
        strcmp(argv[3], "--progress-fd") != 0 ||
        strcmp(argv[5], "--json") != 0 || strcmp(argv[6], "--quiet") != 0) {
        fprintf(stderr, "fake: called in another way than nowfarmd does\n");
        return 2;
    }
    progress_fd = atoi(argv[4]);
    for (int i = 7; i < argc; i++)
        i += carry_out(argc, argv, i);
    puts("{\"app\":\"fake\",\"verified\":true}");
    return 0;
}
