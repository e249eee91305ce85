/* The progress bar, and progress for the daemon. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "apps/nowfarm/report.h"
#include "common/base/units.h"

enum { MOST_CELLS = 24, LINE_BYTES = 160 };

static int drawn;

void progress_erase(void)
{
    if (drawn)
        fputs("\r\033[K", stderr);
    drawn = 0;
}

/* A line that fills the last column would wrap, and then can't be erased. */
static int columns(void)
{
    struct winsize size;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 79;
    return size.ws_col > LINE_BYTES ? LINE_BYTES - 1 : size.ws_col - 1;
}

static void print_left(uint64_t left, double rate, char *text, size_t bytes)
{
    double left_us = rate > 0 ? (double)left / rate : 0;

    if (rate > 0 && left_us < 1e15)
        nf_format_time_us((int64_t)left_us, text, bytes);
    else
        snprintf(text, bytes, "?");
}

void progress_draw(const struct nf_progress *p)
{
    char text[LINE_BYTES], bar[MOST_CELLS + 1], left[32];
    uint64_t over = p->done + p->failed;
    double share = p->units > 0 ? (double)over / (double)p->units : 1;
    double rate = p->elapsed_us > 0 ? (double)over / (double)p->elapsed_us : 0;
    int width = columns(), used, cells;

    print_left(p->units - over, rate, left, sizeof(left));
    used = snprintf(text, sizeof(text),
                    "%3.0f %%  %" PRIu64 "/%" PRIu64
                    "  %.*f units/s  %s left  %u slaves",
                    100 * share, over, p->units, rate * 1e6 < 100 ? 1 : 0,
                    rate * 1e6, left, p->slaves);
    cells = width - used - 3;
    cells = cells < 0 ? 0 : cells > MOST_CELLS ? MOST_CELLS : cells;
    for (int i = 0; i < cells; i++)
        bar[i] = i < (int)(share * cells) ? '#' : '.';
    bar[cells] = '\0';
    if (cells > 0)
        fprintf(stderr, "\r\033[K[%s] %s", bar, text);
    else
        fprintf(stderr, "\r\033[K%.*s", width, text);
    fflush(stderr);
    drawn = 1;
}

void progress_open(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags >= 0)
        fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

int progress_write(int fd, const struct nf_progress *p)
{
    char line[256];
    int bytes = snprintf(
        line, sizeof(line),
        "{\"state\":\"%s\",\"units\":%" PRIu64 ",\"done\":%" PRIu64
        ",\"failed\":%" PRIu64 ",\"slaves\":%u,\"slots\":%u,"
        "\"elapsed_s\":%.3f}\n",
        p->slaves > 0 || p->done > 0 ? "running" : "starting", p->units,
        p->done, p->failed, p->slaves, p->slots, (double)p->elapsed_us * 1e-6);

    /* so short a line is written whole or not at all */
    if (write(fd, line, (size_t)bytes) >= 0 || errno == EAGAIN ||
        errno == EINTR)
        return 0; /* a reader that is behind gets the next one */
    return -1;
}
