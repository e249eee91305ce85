/* coll_pvm_group.c - how long the collectives of PVM's group library take, for
 * coll.sh: pvm_bcast, pvm_reduce, pvm_gather, pvm_scatter, pvm_barrier over
 * real pvmds, written as someone who knows PVM would: direct routes, raw
 * encoding where the library leaves the choice, a frozen group, a tag for each
 * call.
 *
 *   coll_pvm_group HOSTFILE MEMBERS OPS SIZES LEAST MOST BUDGET_MS
 *
 * PVM is started with that host file, in which ep= must lead to the group
 * server pvmgs; members go round its hosts, the first is here.  OPS and SIZES
 * are as in coll_mpi.c, and so are samples and checks; a broadcast has come when
 * it is unpacked.  Each call comes after a dissemination barrier of plain
 * messages, such as the other sides have: the library's own lets members out
 * one after the other, and who comes last has a shorter call.
 * Reductions add doubles, the others move bytes.  PVM must not run yet in this
 * PVM_TMP; it is halted at the end.  Prints the lines of samples.h. */
#include "config.h"
#include <pvm3.h>
#include <signal.h>
#include <unistd.h>
#include "tests/bench/samples.h"

enum { TAG_MEET = 1, TAG_TIMES, TAG_CALLS, MAX_MEMBERS = 256 };
static char group[] = "nowfarm-bench";
static char spawned[] = "-"; /* the host file of the other members */

struct call {
    double *in, *out; /* elems of each member, members of these */
    int elems, members, rank, tag;
    int tids[MAX_MEMBERS]; /* by rank */
};

static void stop(const char *what)
{
    fprintf(stderr, "coll_pvm_group: %s\n", what);
    exit(3);
}

/* Small whole numbers: any order of adding gives the same. */
static double value(int from, int to, int i)
{
    return 100 * from + 10 * to + i % 7;
}

static int bytes_of(const struct call *c)
{
    return c->elems * (int)sizeof *c->in;
}
static void run_barrier(struct call *c)
{
    if (pvm_barrier(group, c->members) < 0)
        stop("pvm_barrier failed");
}
static void run_bcast(struct call *c)
{
    int status;

    if (c->rank == 0) {
        pvm_initsend(PvmDataRaw);
        pvm_pkbyte((char *)c->in, bytes_of(c), 1);
        status = pvm_bcast(group, c->tag);
    } else {
        status = pvm_recv(-1, c->tag);
        pvm_upkbyte((char *)c->in, bytes_of(c), 1);
    }
    if (status < 0)
        stop("pvm_bcast failed");
}
static void run_reduce(struct call *c)
{
    if (pvm_reduce(PvmSum, c->in, c->elems, PVM_DOUBLE, c->tag, group, 0) < 0)
        stop("pvm_reduce failed");
}
static void run_gather(struct call *c)
{
    if (pvm_gather(c->out, c->in, bytes_of(c), PVM_BYTE, c->tag, group, 0) < 0)
        stop("pvm_gather failed");
}
static void run_scatter(struct call *c)
{
    if (pvm_scatter(c->out, c->in, bytes_of(c), PVM_BYTE, c->tag, group, 0) < 0)
        stop("pvm_scatter failed");
}

static double want_root(const struct call *c, int b, int i)
{
    (void)c;
    (void)b;
    return value(0, 0, i);
}
static double want_sum(const struct call *c, int b, int i)
{
    double sum = 0;

    (void)b;
    for (int from = 0; from < c->members; from++)
        sum += value(from, 0, i);
    return sum;
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

static const struct op {
    const char *name;
    void (*run)(struct call *c);
    double (*want)(const struct call *c, int b, int i); /* block b, element i */
    int in_place, at_root; /* where the result is */
} ops[] = {
    { "barrier", run_barrier, NULL, 1, 0 },
    { "bcast", run_bcast, want_root, 1, 0 },
    { "reduce", run_reduce, want_sum, 1, 1 },
    { "gather", run_gather, want_gathered, 0, 1 },
    { "scatter", run_scatter, want_scattered, 0, 0 },
};
enum { NOPS = sizeof ops / sizeof ops[0] };

static void check(const struct op *op, const struct call *c)
{
    const double *got = op->in_place ? c->in : c->out;
    int blocks = op->want == want_gathered ? c->members : 1;

    if (op->want == NULL || (op->at_root && c->rank != 0))
        return;
    for (int b = 0; b < blocks; b++)
        for (int i = 0; i < c->elems; i++)
            if (got[b * c->elems + i] != op->want(c, b, i))
                stop("a result is wrong");
}

/* In round r a member hears of the 2^r before it.  The next call's messages
 * cannot overtake these: what two members send each other stays in order. */
static void meet(const struct call *c)
{
    for (int far = 1; far < c->members; far *= 2) {
        int to = (c->rank + far) % c->members;
        int from = (c->rank - far + c->members) % c->members;

        pvm_initsend(PvmDataRaw);
        if (pvm_send(c->tids[to], TAG_MEET) < 0 ||
            pvm_recv(c->tids[from], TAG_MEET) < 0)
            stop("a member does not come to the barrier");
    }
}

static double timed_us(const struct op *op, struct call *c)
{
    double start_us;

    for (int b = 0; b < c->members; b++) /* a reduction spoils its input */
        for (int i = 0; i < c->elems; i++)
            c->in[b * c->elems + i] = value(c->rank, b, i);
    c->tag++;
    meet(c);
    start_us = samples_now_us();
    op->run(c);
    return samples_now_us() - start_us;
}

/* At member 0, us[] becomes the longest time of any member. */
static void slowest(double *us, int n, const struct call *c)
{
    double theirs[SAMPLES_MOST];

    if (c->rank != 0) {
        pvm_initsend(PvmDataRaw);
        pvm_pkdouble(us, n, 1);
        pvm_send(pvm_gettid(group, 0), TAG_TIMES);
        return;
    }
    for (int m = 1; m < c->members; m++) {
        if (pvm_recv(-1, TAG_TIMES) < 0 || pvm_upkdouble(theirs, n, 1) < 0)
            stop("the times of a member are missing");
        for (int i = 0; i < n; i++)
            if (theirs[i] > us[i])
                us[i] = theirs[i];
    }
}

/* The first time at member 0 tells all how often to repeat. */
static int agree(double trial_us, struct call *c,
                 const struct samples_plan *plan)
{
    int n = samples_wanted(plan, trial_us), status;

    c->tag++;
    if (c->rank == 0) {
        pvm_initsend(PvmDataRaw);
        pvm_pkint(&n, 1, 1);
        status = pvm_bcast(group, c->tag);
    } else {
        status = pvm_recv(-1, c->tag);
        pvm_upkint(&n, 1, 1);
    }
    if (status < 0 || n < 1 || n > SAMPLES_MOST)
        stop("no number of repeats");
    return n;
}

static void measure(const struct op *op, struct call *c,
                    const struct samples_plan *plan)
{
    double us[SAMPLES_MOST];
    int n;

    us[0] = timed_us(op, c);
    check(op, c);
    slowest(us, 1, c);
    n = agree(us[0], c, plan);
    for (int i = 0; i < n; i++)
        us[i] = timed_us(op, c);
    slowest(us, n, c);
    if (c->rank == 0)
        samples_print(op->name, op->want == NULL ? 0 : bytes_of(c), c->members,
                      us, n);
}

static void measure_all(const struct samples_plan *plan, struct call *c)
{
    for (int s = 0; s < plan->nsizes; s++) {
        size_t bytes = (size_t)plan->bytes[s] * (size_t)c->members;

        c->elems = (int)(plan->bytes[s] / (long)sizeof *c->in);
        c->in = malloc(bytes);
        c->out = malloc(bytes);
        if (c->in == NULL || c->out == NULL)
            stop("out of memory");
        for (int o = 0; o < NOPS; o++) /* a barrier has no size */
            if (samples_listed(plan->ops, ops[o].name) &&
                (s == 0 || ops[o].want != NULL))
                measure(&ops[o], c, plan);
        free(c->in);
        free(c->out);
    }
}

static void start_pvm(char *hostfile)
{
    if (pvm_start_pvmd(1, &hostfile, 1) < 0 || pvm_mytid() < 0)
        stop("cannot start PVM");
}

/* The other members, one host after the other. */
static void spawn(int members, char **args)
{
    char self[4096];
    struct pvmhostinfo *hosts;
    int nhosts, narch, tid;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    if (length < 0 || pvm_config(&nhosts, &narch, &hosts) < 0)
        stop("no configuration");
    self[length] = '\0';
    for (int m = 1; m < members; m++)
        if (pvm_spawn(self, args, PvmTaskHost, hosts[m % nhosts].hi_name, 1,
                      &tid) != 1)
            stop("a member cannot be spawned");
}

/* All join; the first call of the group's library is member 0's, so that it is
 * the root. */
static void join(struct call *c)
{
    pvm_setopt(PvmRoute, PvmRouteDirect);
    c->rank = pvm_joingroup(group);
    if (c->rank < 0)
        stop("cannot join the group");
    c->tag = TAG_CALLS;
}

int main(int argc, char **argv)
{
    struct samples_plan plan;
    struct call c = { 0 };
    char *end;
    int first;

    if (argc == 8)
        c.members = (int)samples_number(argv[2], 1, MAX_MEMBERS, &end);
    if (argc != 8 || c.members < 1 ||
        samples_plan_parse(&plan, argv + 3) != 0) {
        fprintf(stderr, "usage: coll_pvm_group HOSTFILE MEMBERS OPS SIZES"
                        " LEAST MOST BUDGET_MS\n");
        return 2;
    }
    pvm_setopt(PvmAutoErr, 0);
    first = strcmp(argv[1], spawned) != 0;
    if (first)
        start_pvm(argv[1]);
    join(&c);
    if (first) {
        argv[1] = spawned;
        spawn(c.members, argv + 1);
    }
    run_barrier(&c);
    if (pvm_freezegroup(group, c.members) < 0)
        stop("cannot freeze the group");
    for (int m = 0; m < c.members; m++)
        c.tids[m] = pvm_gettid(group, m);
    measure_all(&plan, &c);
    run_barrier(&c);
    if (!first) {
        pvm_exit();
        return 0;
    }
    signal(SIGTERM, SIG_IGN); /* pvm_halt() sends it to its caller */
    pvm_halt();
    return 0;
}
