/* The log sink: one write(2) a line, so that lines of threads do not mix. */
#include "config.h"
#include "common/base/log.h"
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/base/clock.h"

static const char *const names[] = { "error", "warn", "info", "debug",
                                     "trace" };
static atomic_int current = -1;
static void (*current_sink)(enum nf_log_level level, const char *line);

static int level_from_environment(void)
{
    const char *name = getenv("NOWFARM_LOG");

    for (int i = 0; name != NULL && i <= NF_LOG_TRACE; i++)
        if (strcmp(name, names[i]) == 0)
            return i;
    return NF_LOG_WARN;
}

void nf_log_set_level(enum nf_log_level level)
{
    atomic_store(&current, (int)level);
}

enum nf_log_level nf_log_get_level(void)
{
    int level = atomic_load_explicit(&current, memory_order_relaxed);

    if (level < 0) {
        level = level_from_environment();
        atomic_store(&current, level);
    }
    return (enum nf_log_level)level;
}

void nf_log_set_sink(void (*sink)(enum nf_log_level level, const char *line))
{
    current_sink = sink;
}

void nf_log(enum nf_log_level level, const char *format, ...)
{
    char line[1024];
    int used;
    va_list args;

    if (level > nf_log_get_level())
        return;
    used = current_sink != NULL
               ? 0
               : snprintf(line, sizeof(line), "nowfarm[%ld] %.6f %s: ",
                          (long)getpid(), (double)nf_now_us() * 1e-6,
                          names[level]);
    va_start(args, format);
    vsnprintf(line + used, sizeof(line) - (size_t)used - 1, format, args);
    va_end(args);
    if (current_sink != NULL) {
        current_sink(level, line);
        return;
    }
    strcat(line, "\n");
    if (write(STDERR_FILENO, line, strlen(line)) < 0)
        return; /* nowhere left to say so */
}
