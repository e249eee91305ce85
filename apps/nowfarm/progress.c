/* The progress bar, and progress for the daemon. */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "apps/nowfarm/report.h"
#include "common/base/units.h"

enum { BAR_CELLS = 24 };

static int drawn;

void progress_erase(void)
{
    if (drawn)
        fputs("\r\033[K", stderr);
    drawn = 0;
}

void progress_draw(const struct nf_progress *p)
{
    char bar[BAR_CELLS + 1], left[32] = "?";
    uint64_t over = p->done + p->failed;
    double share = p->units > 0 ? (double)over / (double)p->units : 1;
    double rate = p->elapsed_us > 0 ? (double)over / (double)p->elapsed_us : 0;
    int full = (int)(share * BAR_CELLS);

    memset(bar, '.', BAR_CELLS);
    memset(bar, '#', (size_t)full);
    bar[BAR_CELLS] = '\0';
    if (rate > 0)
        nf_format_time_us((int64_t)((double)(p->units - over) / rate), left,
                          sizeof(left));
    fprintf(stderr, "\r\033[K[%s] %3.0f %%  %" PRIu64 "/%" PRIu64
                    "  %.3g units/s  %s left  %u slaves",
            bar, 100 * share, over, p->units, rate * 1e6, left, p->slaves);
    fflush(stderr);
    drawn = 1;
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

    return write(fd, line, (size_t)bytes) == bytes ? 0 : -1;
}
