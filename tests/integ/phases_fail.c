/* phases_fail.c - a job of three phases on PVM, of which unit 3 fails in
 * phase 1.
 *
 *   phases_fail TRACE [MARKER]   with MARKER, a file that is not there yet, it
 * fails once; else always
 *
 * Prints units done, retries, exchanges, and what was given up.  Exit status:
 * as nowfarm's. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "nowfarm.h"

enum { UNITS = 8, PHASES = 3, BAD_UNIT = 3, BAD_PHASE = 1 };

/* Is it the first time, or always? */
static int fails(const struct nf_work *work)
{
    int fd;

    if (work->first != BAD_UNIT || work->phase != BAD_PHASE)
        return 0;
    if (work->shared_bytes == 0)
        return 1;
    fd = open(work->shared, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (fd < 0)
        return errno != EEXIST;
    close(fd);
    return 1;
}

/* Each unit has its number for each other one. */
static int compute(const struct nf_work *work)
{
    const int64_t *in = work->input;
    int64_t number = (int64_t)work->first;

    if (fails(work)) {
        snprintf(work->error, work->error_bytes, "as it was told to");
        return 1;
    }
    for (uint64_t u = 0; work->phase > 0 && u < work->units; u++)
        if (work->input_bytes != UNITS * sizeof(*in) || in[u] != (int64_t)u)
            return 2;
    if (work->out_bytes == NULL)
        return nf_buf_append(work->result, &number, sizeof(number));
    for (uint64_t v = 0; v < work->units; v++) {
        work->out_bytes[v] = sizeof(number);
        if (nf_buf_append(work->result, &number, sizeof(number)))
            return 2;
    }
    return 0;
}

static enum nf_status collect(void *user, uint64_t unit, const void *result,
                              size_t bytes)
{
    int64_t number;

    (void)user;
    if (bytes != sizeof(number))
        return NF_ERR_FAILED;
    memcpy(&number, result, sizeof(number));
    return number == (int64_t)unit ? NF_OK : NF_ERR_FAILED;
}

static enum nf_status share(void *user, struct nf_buf *shared)
{
    const char *marker = user;

    return marker == NULL ? NF_OK
                          : nf_buf_append(shared, marker, strlen(marker) + 1);
}

int main(int argc, char **argv)
{
    struct nf_app app = { .name = "phases_fail",
                          .units = UNITS,
                          .user = argc > 2 ? argv[2] : NULL,
                          .compute = compute,
                          .collect = collect,
                          .share = share,
                          .result_type = NF_INT64,
                          .phases = PHASES };
    struct nf_options options = { .slaves = 2,
                                  .slots = 1,
                                  .trace_file = argc > 1 ? argv[1] : NULL };
    struct nf_report r;
    struct nf_error err = { NF_OK, "" };
    enum nf_status status = nf_run(&app, &options, &r, &err);

    if (status != NF_OK)
        fprintf(stderr, "phases_fail: %s\n", err.text);
    if (status != NF_OK && status != NF_ERR_FAILED)
        return nf_exit_status(status);
    printf("%" PRIu64 " done, %" PRIu64 " retries, %u exchanges\n",
           r.done_units, r.retries, r.exchanges);
    for (uint32_t i = 0; i < r.nfailures; i++)
        printf("unit %" PRIu64 ", phase %u\n", r.failures[i].unit,
               r.failures[i].phase);
    return nf_exit_status(status);
}
