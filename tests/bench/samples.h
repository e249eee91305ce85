/* samples.h - what the programs that time collectives have in common: their
 * command line, how often an operation is repeated, and the line in which its
 * times are told:
 *
 *   OP BYTES MEMBERS MEDIAN_US SAMPLE_US,SAMPLE_US,...
 *
 * A sample is the time of the slowest member of one call.  coll.sh reads these
 * lines.  Only C and POSIX, since coll_mpi.c is built without our configure. */
#ifndef NF_TESTS_BENCH_SAMPLES_H
#define NF_TESTS_BENCH_SAMPLES_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SAMPLES_MOST = 1000, SAMPLES_SIZES = 32 };
#define SAMPLES_MAX_BYTES (64L << 20)

/* What the command line asks for: OPS SIZES LEAST MOST BUDGET_MS */
struct samples_plan {
    const char *ops; /* names between commas */
    long bytes[SAMPLES_SIZES];
    int nsizes;
    int least, most;  /* calls that are timed, of each operation and size */
    double budget_us; /* between those, as many as fit in here */
};

/* CLOCK_MONOTONIC: one clock for all network namespaces of a machine */
static inline double samples_now_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return 1e6 * (double)ts.tv_sec + 1e-3 * (double)ts.tv_nsec;
}

/* How many calls to time when the first one took trial_us. */
static inline int samples_wanted(const struct samples_plan *plan,
                                 double trial_us)
{
    double fit = plan->budget_us / (trial_us > 1 ? trial_us : 1);

    if (fit < plan->least)
        return plan->least;
    return fit > plan->most ? plan->most : (int)fit;
}

static inline int samples_compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static inline void samples_print(const char *op, long bytes, int members,
                                 const double *us, int n)
{
    double sorted[SAMPLES_MOST];

    memcpy(sorted, us, (size_t)n * sizeof *us);
    qsort(sorted, (size_t)n, sizeof *sorted, samples_compare);
    printf("%s %ld %d %.2f ", op, bytes, members,
           (sorted[(n - 1) / 2] + sorted[n / 2]) / 2);
    for (int i = 0; i < n; i++)
        printf("%s%.2f", i > 0 ? "," : "", us[i]);
    putchar('\n');
    fflush(stdout);
}

/* Whether name is among names, which have commas between them. */
static inline int samples_listed(const char *names, const char *name)
{
    const size_t length = strlen(name);

    while (names != NULL) {
        if (strncmp(names, name, length) == 0 &&
            (names[length] == ',' || names[length] == '\0'))
            return 1;
        names = strchr(names, ',');
        if (names != NULL)
            names++;
    }
    return 0;
}

/* @return a whole number from min to max that text begins with, *end_p points
 * behind it; -1 if there is none */
static inline long samples_number(const char *text, long min, long max,
                                  char **end_p)
{
    long value = strtol(text, end_p, 10);

    return *end_p != text && value >= min && value <= max ? value : -1;
}

/* Read five arguments.
 * @return 0, or -1 if they are not as in struct samples_plan; sizes are
 * multiples of 8, since some operations add doubles */
static inline int samples_plan_parse(struct samples_plan *plan, char **argv)
{
    char *end = argv[1];
    long least, most, budget_ms;

    *plan = (struct samples_plan){ .ops = argv[0] };
    for (const char *at = argv[1]; plan->nsizes < SAMPLES_SIZES; at = end + 1) {
        plan->bytes[plan->nsizes] =
            samples_number(at, 8, SAMPLES_MAX_BYTES, &end);
        if (plan->bytes[plan->nsizes] < 0 || plan->bytes[plan->nsizes] % 8 != 0)
            return -1;
        plan->nsizes++;
        if (*end != ',')
            break;
    }
    if (*end != '\0')
        return -1;
    least = samples_number(argv[2], 1, SAMPLES_MOST, &end);
    if (least < 0 || *end != '\0')
        return -1;
    most = samples_number(argv[3], least, SAMPLES_MOST, &end);
    if (most < 0 || *end != '\0')
        return -1;
    budget_ms = samples_number(argv[4], 0, 3600000, &end);
    if (budget_ms < 0 || *end != '\0')
        return -1;
    plan->least = (int)least;
    plan->most = (int)most;
    plan->budget_us = 1e3 * (double)budget_ms;
    return 0;
}
#endif
