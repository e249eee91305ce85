/* primes [N]: count the primes below N (default 10^7) on all your hosts.
 *
 *     cc primes.c -o primes $(pkg-config --cflags --libs nowfarm)
 *
 * A unit is a block of numbers.  nowfarm starts this very program on the hosts;
 * there nf_run() computes blocks and does not return. */
#include <inttypes.h>
#include <nowfarm.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK = 100000 };

struct job {
    int64_t limit, total;
};

/* Master: the input of a unit.  Slaves see none of our arguments. */
static enum nf_status split(void *user, uint64_t unit, struct nf_buf *input)
{
    const struct job *job = user;
    int64_t range[2] = { (int64_t)unit * BLOCK, (int64_t)(unit + 1) * BLOCK };

    if (range[1] > job->limit)
        range[1] = job->limit;
    return nf_buf_append(input, range, sizeof(range));
}

/* Slaves: how many of [range[0], range[1]) are prime? */
static int compute(const struct nf_work *work)
{
    const int64_t *range = work->input;
    int64_t first = range[0], end = range[1], count = 0;
    char *composite = calloc(BLOCK, 1);

    if (composite == NULL)
        return 1; /* the unit is tried again, at last it is reported */
    for (int64_t d = 2; d * d < end; d++) {
        int64_t n = (first + d - 1) / d * d;

        for (n = n < d * d ? d * d : n; n < end; n += d)
            composite[n - first] = 1;
    }
    for (int64_t n = first < 2 ? 2 : first; n < end; n++)
        count += !composite[n - first];
    free(composite);
    return nf_buf_append(work->result, &count, sizeof(count));
}

/* Master: once for each unit, in any order. */
static enum nf_status collect(void *user, uint64_t unit, const void *result,
                              size_t bytes)
{
    (void)unit;
    if (bytes != sizeof(int64_t))
        return NF_ERR_PROTOCOL;
    ((struct job *)user)->total += *(const int64_t *)result;
    return NF_OK;
}

int main(int argc, char **argv)
{
    struct job job = { argc > 1 ? strtoll(argv[1], NULL, 10) : 10000000, 0 };
    struct nf_app app = { .name = "primes", .user = &job };
    struct nf_error err;

    app.units = job.limit > 0 ? (uint64_t)(job.limit - 1) / BLOCK + 1 : 0;
    app.split = split, app.compute = compute, app.collect = collect;
    app.input_type = app.result_type = NF_INT64;
    if (nf_run(&app, NULL, NULL, &err) != NF_OK) {
        fprintf(stderr, "primes: %s\n", err.text);
        return nf_exit_status(err.status);
    }
    printf("%" PRId64 " primes below %" PRId64 "\n", job.total, job.limit);
    if (job.limit == 10000000 && job.total != 664579)
        return fputs("primes: there should be 664579\n", stderr), 4;
    return 0;
}
