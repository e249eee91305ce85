/* What a message costs between two members: there and back, both ways at once,
 * and how long a sender is busy.  Source: Kim, report 98-NF-03-04-A-01, 4.1. */
#include "config.h"
#include "apps/collbench/team.h"
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"

struct pair {
    uint8_t *buffer, *other;
    size_t bytes;
};

static enum nf_status message(struct bench_team *team, struct pair *pair,
                              uint32_t from)
{
    const struct nf_call call = {
        .kind = NF_CALL_BCAST,
        .recv = pair->buffer,
        .count = pair->bytes,
        .type = NF_ELEM_BYTE,
        .root = from,
    };

    return bench_do(team, team->work, &call);
}

static enum nf_status both_ways(struct bench_team *team, struct pair *pair)
{
    const struct nf_call call = {
        .kind = NF_CALL_ALLGATHER,
        .send = pair->buffer,
        .recv = pair->other,
        .count = pair->bytes,
        .type = NF_ELEM_BYTE,
    };

    return bench_do(team, team->work, &call);
}

/* Sends that nobody waits for; *us_p: of one. */
static enum nf_status sends(struct bench_team *team, struct pair *pair,
                            double *us_p)
{
    struct nf_request *requests[BENCH_SENDS_AT_ONCE];
    const struct nf_call call = {
        .kind = NF_CALL_BCAST,
        .recv = pair->buffer,
        .count = pair->bytes,
        .type = NF_ELEM_BYTE,
    };
    double start_us = bench_now_us();
    enum nf_status status = NF_OK;
    int n = 0;

    for (; n < BENCH_SENDS_AT_ONCE && status == NF_OK; n++)
        status = nf_group_start(team->work, &call, &requests[n]);
    *us_p = (bench_now_us() - start_us) / BENCH_SENDS_AT_ONCE;
    if (status != NF_OK)
        n--;
    for (int i = 0; i < n; i++) {
        enum nf_status later = nf_request_wait(requests[i]);

        status = status == NF_OK ? later : status;
    }
    return status == NF_OK ? NF_OK : bench_blame(team, team->work, status);
}

/* What a message costs in a stream: a network may let a short one pass faster
 * than it can keep up.  *us_p: of one, until the last has come. */
static enum nf_status stream(struct bench_team *team, struct pair *pair,
                             double *us_p)
{
    struct pair word = { .buffer = pair->other, .bytes = 1 };
    double start_us = bench_now_us();
    enum nf_status status = sends(team, pair, us_p);

    if (status == NF_OK)
        status = message(team, &word, 1);
    *us_p = (bench_now_us() - start_us) / BENCH_SENDS_AT_ONCE;
    return status;
}

static enum nf_status one_round(struct bench_team *team, enum bench_kind kind,
                                struct pair *pair, double *us_p)
{
    const struct nf_call barrier = { .kind = NF_CALL_BARRIER };
    enum nf_status status = NF_OK;
    double start_us;

    if (kind != BENCH_PING)
        status = bench_aside(team, &barrier);
    if (status != NF_OK)
        return status;
    if (kind == BENCH_SENDS)
        return sends(team, pair, us_p);
    if (kind == BENCH_STREAM)
        return stream(team, pair, us_p);
    start_us = bench_now_us();
    status =
        kind == BENCH_PING ? message(team, pair, 0) : both_ways(team, pair);
    if (status == NF_OK && kind == BENCH_PING)
        status = message(team, pair, 1);
    *us_p = bench_now_us() - start_us;
    return status;
}

/* The first rounds warm up, and tell how many more there will be. */
static enum nf_status rounds(struct bench_team *team,
                             const struct bench_request *request,
                             struct pair *pair, struct bench_result *result_p)
{
    enum bench_kind kind = (enum bench_kind)request->kind;
    uint64_t count = 0;
    double us = 0;
    enum nf_status status = NF_OK;

    for (uint64_t i = 0; i < request->warm && status == NF_OK; i++)
        status = one_round(team, kind, pair, &us);
    if (status != NF_OK)
        return status;
    count = bench_repeats(request, us);
    status = bench_agree(team, &count);
    for (uint64_t i = 0; i < count && status == NF_OK; i++) {
        status = one_round(team, kind, pair, &us);
        if (result_p != NULL)
            result_p->us[result_p->count++] = us;
    }
    return status;
}

enum nf_status bench_ping(struct bench_team *team,
                          const struct bench_request *request,
                          struct bench_result *result_p)
{
    struct pair pair = {
        .buffer = nf_calloc(1, (size_t)request->bytes + 1),
        .other = nf_calloc(2, (size_t)request->bytes + 1),
        .bytes = (size_t)request->bytes,
    };
    enum nf_status status;

    if (pair.buffer == NULL || pair.other == NULL)
        status = nf_fail(team->err, NF_ERR_NOMEM, "out of memory");
    else
        status = rounds(team, request, &pair, result_p);
    nf_free(pair.buffer);
    nf_free(pair.other);
    return status;
}
