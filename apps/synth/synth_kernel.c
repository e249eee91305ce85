#include "config.h"
#include "apps/synth/synth_params.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The slave's side: waste the time that was asked for, check what came, and
 * do what a fault wants. */

/* The shared data that was checked last, so that it is checked once a slave
 * and not once a unit.  Racing threads at worst check it twice. */
static _Atomic(const void *) checked_shared;

#define FAIL(work, ...)                                                        \
    (snprintf((work)->error, (work)->error_bytes, __VA_ARGS__), 1)

static int check_shared(const struct nf_work *work,
                        const struct nf_synth_params *params,
                        size_t header_bytes)
{
    const uint8_t *pattern = (const uint8_t *)work->shared + header_bytes;
    size_t at;

    if (atomic_load(&checked_shared) == work->shared)
        return 0;
    at = nf_synth_check(params->seed, NF_SYNTH_SHARED, 0, pattern,
                        params->shared_bytes);
    if (at != params->shared_bytes)
        return FAIL(work, "shared data: byte %zu is wrong", at);
    atomic_store(&checked_shared, work->shared);
    return 0;
}

static int check_input(const struct nf_work *work,
                       const struct nf_synth_params *params)
{
    const uint8_t *input = work->input;
    size_t bytes = (size_t)params->in_bytes, at;

    if (work->input_bytes != bytes * work->count)
        return FAIL(work, "input of %zu bytes, want %zu", work->input_bytes,
                    bytes * (size_t)work->count);
    for (uint64_t i = 0; i < work->count && bytes > 0; i++) {
        at = nf_synth_check(params->seed, NF_SYNTH_IN, work->first + i,
                            input + i * bytes, bytes);
        if (at != bytes)
            return FAIL(work, "input of unit %" PRIu64 ": byte %zu is wrong",
                        work->first + i, at);
    }
    return 0;
}

static int64_t clock_us(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static void sleep_us(int64_t time_us)
{
    struct timespec ts = { .tv_sec = (time_t)(time_us / 1000000),
                           .tv_nsec = (long)(time_us % 1000000) * 1000 };

    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &ts) == EINTR)
        continue;
}

/* Processor time, not wall time: a busy or slow host shall take longer. */
static void spin_us(int64_t time_us)
{
    int64_t end_us = clock_us(CLOCK_THREAD_CPUTIME_ID) + time_us;

    while (clock_us(CLOCK_THREAD_CPUTIME_ID) < end_us)
        continue;
}

/* A file marks that a fault has happened: the process that it happened to may
 * not live to remember. */
static bool first_time(const char *dir, uint64_t unit)
{
    char path[NF_SYNTH_DIR_BYTES + 32];
    int fd;

    snprintf(path, sizeof path, "%s/fault-%" PRIu64, dir, unit);
    fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    close(fd);
    return true;
}

/* @return 0, 1 on error, -1 if the result shall be wrong */
static int commit_fault(const struct nf_work *work,
                        const struct nf_synth_params *params, uint64_t unit)
{
    const struct nf_synth_fault *fault = nf_synth_find_fault(params, unit);

    if (fault == NULL || (fault->once && !first_time(params->fault_dir, unit)))
        return 0;
    switch (fault->kind) {
    case NF_SYNTH_KILL:
        raise(SIGKILL);
        return 0;
    case NF_SYNTH_EXIT:
        _exit(3);
    case NF_SYNTH_STOP:
        raise(SIGSTOP);
        return 0;
    case NF_SYNTH_HANG:
        for (;;)
            pause();
    case NF_SYNTH_WRONG:
        return -1;
    case NF_SYNTH_ERROR:
    case NF_SYNTH_NKINDS:
        break;
    }
    return FAIL(work, "fault of unit %" PRIu64 " as asked for", unit);
}

static int compute_unit(const struct nf_work *work,
                        const struct nf_synth_params *params, uint64_t unit)
{
    int64_t cost_us = nf_synth_cost_us(params, unit);
    size_t bytes = (size_t)params->result_bytes;
    uint8_t *result;
    int fault;

    if (params->chatty) {
        printf("unit %" PRIu64 " says hello\n", unit);
        fflush(stdout);
        fprintf(stderr, "unit %" PRIu64 " complains\n", unit);
    }
    fault = params->nfaults > 0 ? commit_fault(work, params, unit) : 0;
    if (fault > 0)
        return fault;
    if (cost_us > 0 && params->spin)
        spin_us(cost_us);
    else if (cost_us > 0)
        sleep_us(cost_us);
    result = nf_buf_reserve(work->result, bytes);
    if (result == NULL)
        return FAIL(work, "out of memory for a result of %zu bytes", bytes);
    if (params->combine != NF_SYNTH_OWN)
        nf_synth_numbers(params, unit, result);
    else
        nf_synth_fill(params->seed, NF_SYNTH_RESULT, unit, result, bytes);
    if (fault < 0 && bytes > 0)
        result[bytes / 2] ^= 1;
    return 0;
}

int nf_synth_compute(const struct nf_work *work)
{
    struct nf_synth_params params;
    size_t header_bytes;

    if (nf_synth_decode(work->shared, work->shared_bytes, &params,
                        &header_bytes) != NF_OK)
        return FAIL(work, "shared data: not the parameters of a synth job");
    if (check_shared(work, &params, header_bytes) != 0 ||
        check_input(work, &params) != 0)
        return 1;
    for (uint64_t i = 0; i < work->count; i++)
        if (compute_unit(work, &params, work->first + i) != 0)
            return 1;
    return 0;
}

void nf_synth_add(void *inout, const void *in, size_t bytes)
{
    const uint8_t *from = in;
    uint8_t *to = inout;

    for (size_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)(to[i] + from[i]);
}
