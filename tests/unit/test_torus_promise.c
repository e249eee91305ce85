/* A promise of no contention that is broken fails the command, and no other. */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/sim_torus_report.h"
#include "tests/unit/nf_unit.h"

enum { SHAPES = 2, SIZES = 2, POINTS = SHAPES * SIZES * 2 };

static char said[200];

/* What is judged, with standard error in said. */
static int judge(const struct sim_torus_report *r)
{
    FILE *file = tmpfile();
    int old = dup(STDERR_FILENO), rc;
    size_t bytes;

    CU_ASSERT_FATAL(file != NULL && old >= 0);
    fflush(stderr);
    CU_ASSERT(dup2(fileno(file), STDERR_FILENO) >= 0);
    rc = sim_torus_check_promises(r);
    fflush(stderr);
    CU_ASSERT(dup2(old, STDERR_FILENO) >= 0);
    close(old);
    rewind(file);
    bytes = fread(said, 1, sizeof(said) - 1, file);
    said[bytes] = '\0';
    fclose(file);
    return rc;
}

/* The Double-Hop, which promises, and pairwise, which does not: on two tori, with
 * blocks of two sizes. */
static struct sim_torus_report report_of(struct sim_torus_point *points)
{
    struct sim_torus_report r = { .nshapes = SHAPES, .nalgorithms = 2 };

    r.setup.pace = NF_PACE_STEPS;
    r.sizes.count = SIZES;
    r.point = points;
    strcpy(r.algorithm[0].name, "alltoall.dh");
    strcpy(r.algorithm[1].name, "alltoall.pairwise_shift");
    for (int a = 0; a < 2; a++)
        r.algorithm[a].wish.algorithm = nf_coll_find(r.algorithm[a].name);
    for (int i = 0; i < POINTS; i++)
        points[i] = (struct sim_torus_point){ .fits = true };
    return r;
}

/* Each point with something amiss; those of the first algorithm are even. */
static void broken_promises_fail(void)
{
    static const struct sim_torus_point bad[] = {
        { .fits = true, .result.waits = 1 },
        { .fits = true, .result.shared = 1 },
        { .fits = true, .stuck = "0 waits for 1" },
    };

    for (size_t b = 0; b < sizeof(bad) / sizeof(bad[0]); b++)
        for (int i = 0; i < POINTS; i++) {
            struct sim_torus_point points[POINTS];
            struct sim_torus_report r = report_of(points);

            points[i] = bad[b];
            CU_ASSERT_EQUAL(judge(&r),
                            i % 2 == 0 ? NF_EXIT_FAILED : NF_EXIT_OK);
            CU_ASSERT_STRING_EQUAL(
                said, i % 2 == 0 ? "nowfarm: alltoall.dh: promises that no "
                                   "messages meet, but some do\n"
                                 : "");
        }
}

static void nothing_else_fails(void)
{
    struct sim_torus_point points[POINTS];
    struct sim_torus_report r = report_of(points);

    CU_ASSERT_EQUAL(judge(&r), NF_EXIT_OK);
    /* an algorithm that is not for this torus has no times */
    points[2].result.waits = 1;
    points[2].fits = false;
    CU_ASSERT_EQUAL(judge(&r), NF_EXIT_OK);
    points[2].fits = true;
    CU_ASSERT_EQUAL(judge(&r), NF_EXIT_FAILED);
    /* steps that run into each other are no part of the promise */
    r.setup.pace = NF_PACE_FREE;
    CU_ASSERT_EQUAL(judge(&r), NF_EXIT_OK);
    CU_ASSERT_STRING_EQUAL(said, "");
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "broken promises fail", broken_promises_fail },
        { "nothing else fails", nothing_else_fails },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "promises", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
