/* coll_mpi.c - how long the collectives of an MPI library take, for coll.sh,
 * which builds this with mpicc of Open MPI and of MPICH.
 *
 *   mpirun ... coll_mpi OPS SIZES LEAST MOST BUDGET_MS
 *
 * OPS are names of the table below between commas, SIZES bytes of one block:
 * the message of a broadcast, the vector of a reduction, what each member gives
 * to a gather, what each sends to each other in an all-to-all; of a reduce_scatter
 * and an allgather all of the vector that is dealt out or collected, in parts that
 * differ by one element at most.  Each call comes
 * after a barrier; a sample is the longest time of any member for it.  The
 * first call of an operation and size is not timed, and its result is checked
 * on every member.  Prints the lines of samples.h, and at last "done". */
#include <mpi.h>
#include <signal.h>
#include <unistd.h>
#include "samples.h"

/* One operation's buffers, and who we are */
struct call {
    double *in, *out; /* elems of each member, members of these */
    int elems, members, rank;
    int *first, *count; /* [members] each one's part of a vector of elems */
};

enum { UNTOUCHED = -1 };

/* Small whole numbers: any order of adding gives the same. */
static double value(int from, int to, int i)
{
    return 100 * from + 10 * to + i % 7;
}

static void run_bcast(struct call *c)
{
    MPI_Bcast(c->in, c->elems, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}
static void run_reduce(struct call *c)
{
    MPI_Reduce(c->in, c->out, c->elems, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}
static void run_allreduce(struct call *c)
{
    MPI_Allreduce(c->in, c->out, c->elems, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void run_scan(struct call *c)
{
    MPI_Scan(c->in, c->out, c->elems, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void run_exscan(struct call *c)
{
    MPI_Exscan(c->in, c->out, c->elems, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void run_reduce_scatter(struct call *c)
{
    MPI_Reduce_scatter(c->in, c->out, c->count, MPI_DOUBLE, MPI_SUM,
                       MPI_COMM_WORLD);
}
static void run_allgather(struct call *c)
{
    MPI_Allgatherv(c->in, c->count[c->rank], MPI_DOUBLE, c->out, c->count,
                   c->first, MPI_DOUBLE, MPI_COMM_WORLD);
}
static void run_gather(struct call *c)
{
    MPI_Gather(c->in, c->elems, MPI_DOUBLE, c->out, c->elems, MPI_DOUBLE, 0,
               MPI_COMM_WORLD);
}
static void run_scatter(struct call *c)
{
    MPI_Scatter(c->in, c->elems, MPI_DOUBLE, c->out, c->elems, MPI_DOUBLE, 0,
                MPI_COMM_WORLD);
}
static void run_alltoall(struct call *c)
{
    MPI_Alltoall(c->in, c->elems, MPI_DOUBLE, c->out, c->elems, MPI_DOUBLE,
                 MPI_COMM_WORLD);
}
static void run_barrier(struct call *c)
{
    (void)c;
    MPI_Barrier(MPI_COMM_WORLD);
}

/* What member `rank` must have in block b of out, element i */
static double sum_to(const struct call *c, int last, int b, int i)
{
    double sum = 0;

    (void)c;
    (void)b;
    for (int from = 0; from <= last; from++)
        sum += value(from, 0, i);
    return sum;
}
static double want_sum(const struct call *c, int b, int i)
{
    return sum_to(c, c->members - 1, b, i);
}
static double want_prefix(const struct call *c, int b, int i)
{
    return sum_to(c, c->rank, b, i);
}
/* Member 0 has nothing, whatever that is. */
static double want_prefix_before(const struct call *c, int b, int i)
{
    return c->rank == 0 ? c->out[i] : sum_to(c, c->rank - 1, b, i);
}
static double want_part(const struct call *c, int b, int i)
{
    if (i >= c->count[c->rank])
        return UNTOUCHED;
    return sum_to(c, c->members - 1, b, c->first[c->rank] + i);
}
static double want_parts(const struct call *c, int b, int i)
{
    int from = c->members - 1;

    (void)b;
    while (i < c->first[from])
        from--;
    return value(from, 0, i - c->first[from]);
}
static double want_root(const struct call *c, int b, int i)
{
    (void)c;
    (void)b;
    return value(0, 0, i);
}
static double want_gathered(const struct call *c, int b, int i)
{
    (void)c;
    return value(b, 0, i);
}
static double want_scattered(const struct call *c, int b, int i)
{
    (void)b;
    return value(0, c->rank, i);
}
static double want_all(const struct call *c, int b, int i)
{
    return value(b, c->rank, i);
}

enum blocks { NONE, ONE, EACH }; /* one block, or one of each member */

static const struct op {
    const char *name;
    void (*run)(struct call *c);
    double (*want)(const struct call *c, int b, int i);
    enum blocks in, out;
    int at_root; /* only member 0 has a result */
} ops[] = {
    { "barrier", run_barrier, NULL, NONE, NONE, 0 },
    { "bcast", run_bcast, want_root, ONE, NONE, 0 },
    { "reduce", run_reduce, want_sum, ONE, ONE, 1 },
    { "allreduce", run_allreduce, want_sum, ONE, ONE, 0 },
    { "reduce_scatter", run_reduce_scatter, want_part, ONE, ONE, 0 },
    { "scan", run_scan, want_prefix, ONE, ONE, 0 },
    { "exscan", run_exscan, want_prefix_before, ONE, ONE, 0 },
    { "gather", run_gather, want_gathered, ONE, EACH, 1 },
    { "scatter", run_scatter, want_scattered, EACH, ONE, 0 },
    { "allgather", run_allgather, want_parts, ONE, ONE, 0 },
    { "alltoall", run_alltoall, want_all, EACH, EACH, 0 },
};
enum { NOPS = sizeof ops / sizeof ops[0] };

static void check(const struct op *op, const struct call *c)
{
    const int in_place = op->out == NONE;
    const double *got = in_place ? c->in : c->out;
    int blocks = op->out == EACH ? c->members : 1;

    if (op->want == NULL || (op->at_root && c->rank != 0))
        return;
    for (int b = 0; b < blocks; b++)
        for (int i = 0; i < c->elems; i++)
            if (got[b * c->elems + i] != op->want(c, b, i)) {
                fprintf(stderr, "coll_mpi: %s is wrong on member %d\n",
                        op->name, c->rank);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
}

static double timed_us(const struct op *op, struct call *c)
{
    double start_us;

    MPI_Barrier(MPI_COMM_WORLD);
    start_us = samples_now_us();
    op->run(c);
    return samples_now_us() - start_us;
}

static void measure(const struct op *op, struct call *c,
                    const struct samples_plan *plan)
{
    double own[SAMPLES_MOST], slowest[SAMPLES_MOST];
    long bytes = op->in == NONE ? 0 : c->elems * (long)sizeof *c->in;
    int n;

    for (int b = 0; b < c->members; b++)
        for (int i = 0; i < c->elems; i++) {
            c->in[b * c->elems + i] = value(c->rank, b, i);
            c->out[b * c->elems + i] = UNTOUCHED;
        }
    own[0] = timed_us(op, c);
    check(op, c);
    MPI_Allreduce(own, slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    n = samples_wanted(plan, slowest[0]);
    for (int i = 0; i < n; i++)
        own[i] = timed_us(op, c);
    MPI_Reduce(own, slowest, n, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (c->rank == 0)
        samples_print(op->name, bytes, c->members, slowest, n);
}

/* As nf_coll_segment() does: ours deal out the same parts. */
static void deal(struct call *c)
{
    for (int r = 0; r < c->members; r++) {
        c->first[r] = (int)((long)c->elems * r / c->members);
        c->count[r] = (int)((long)c->elems * (r + 1) / c->members) - c->first[r];
    }
}

static void measure_all(const struct samples_plan *plan, struct call *c)
{
    for (int s = 0; s < plan->nsizes; s++) {
        size_t bytes = (size_t)plan->bytes[s] * (size_t)c->members;

        c->elems = (int)(plan->bytes[s] / (long)sizeof *c->in);
        c->in = malloc(bytes);
        c->out = malloc(bytes);
        c->first = malloc((size_t)c->members * sizeof *c->first);
        c->count = malloc((size_t)c->members * sizeof *c->count);
        if (c->in == NULL || c->out == NULL || c->first == NULL ||
            c->count == NULL) {
            fprintf(stderr, "coll_mpi: out of memory\n");
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        deal(c);
        for (int o = 0; o < NOPS; o++) /* a barrier has no size */
            if (samples_listed(plan->ops, ops[o].name) &&
                (s == 0 || ops[o].in != NONE))
                measure(&ops[o], c, plan);
        free(c->in);
        free(c->out);
        free(c->first);
        free(c->count);
    }
}

/* With more members than cores MPICH over UCX often never comes back from
 * MPI_Finalize(); all has been told by then. */
static void leave(int signal_number)
{
    (void)signal_number;
    _exit(0);
}

int main(int argc, char **argv)
{
    struct samples_plan plan;
    struct call c = { 0 };

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &c.members);
    MPI_Comm_rank(MPI_COMM_WORLD, &c.rank);
    if (argc != 6 || samples_plan_parse(&plan, argv + 1) != 0) {
        if (c.rank == 0)
            fprintf(stderr, "usage: coll_mpi OPS SIZES LEAST MOST BUDGET_MS\n");
        MPI_Finalize();
        return 2;
    }
    measure_all(&plan, &c);
    MPI_Barrier(MPI_COMM_WORLD);
    if (c.rank == 0) {
        puts("done");
        fflush(stdout);
    }
    signal(SIGALRM, leave);
    alarm(2);
    MPI_Finalize();
    return 0;
}
