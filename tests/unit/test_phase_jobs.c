/* Whole jobs of several phases, on the local transport: ragged and empty
 * pieces, kernels that fail or say nonsense, and what is refused. */
#include "config.h"
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "nowfarm.h"
#include "tests/unit/nf_unit.h"

enum { UNITS = 11, BAD_PIECES = 1, FAILS = 2, NO_ELEMENTS = 3, TOO_MUCH = 4 };

/* What slaves do, and what came home. */
static struct {
    uint32_t phases;
    uint64_t scale; /* of pieces: large ones are not copied */
    bool takes_pieces;
    uint32_t fault, fault_phase; /* of unit 4 */
    uint64_t collected, wrong;
} job;

/* Elements that unit u of a phase has for unit v of the next. */
static uint64_t length(uint32_t phase, uint64_t u, uint64_t v)
{
    return job.scale * ((u * 3 + v * 5 + phase) % 4);
}

static int64_t value(uint32_t phase, uint64_t u, uint64_t v, uint64_t i)
{
    return (int64_t)(((phase * 100 + u) * 100 + v) * 1000 + i);
}

/* Is the input what all units of the phase before made for this one? */
static bool is_right(const struct nf_work *work)
{
    const int64_t *in = work->input;
    uint64_t before = 0;

    if (job.takes_pieces && in != NULL)
        return false;
    for (uint64_t u = 0; u < work->units; u++) {
        uint64_t n = length(work->phase - 1, u, work->first);

        if (work->in_at[u] != before ||
            work->in_at[u + 1] - before != n * sizeof(*in))
            return false;
        if (job.takes_pieces)
            in = work->in_pieces[u];
        else if (n > 0 && in != work->in_pieces[u])
            return false;
        for (uint64_t i = 0; i < n; i++)
            if (*in++ != value(work->phase - 1, u, work->first, i))
                return false;
        before += n * sizeof(*in);
    }
    return before == work->input_bytes && work->count == 1;
}

static int make_pieces(const struct nf_work *work)
{
    for (uint64_t v = 0; v < work->units; v++) {
        uint64_t n = length(work->phase, work->first, v);

        work->out_bytes[v] = n * sizeof(int64_t);
        for (uint64_t i = 0; i < n; i++) {
            int64_t x = value(work->phase, work->first, v, i);

            if (nf_buf_append(work->result, &x, sizeof(x)))
                return 2;
        }
    }
    return 0;
}

static int compute(const struct nf_work *work)
{
    int64_t right = 1;
    bool bad = work->first == 4 && work->phase == job.fault_phase;

    if (work->phase > 0)
        right = is_right(work);
    else if (work->in_at != NULL || work->in_pieces != NULL ||
             work->input == NULL || work->input_bytes != sizeof(int64_t))
        right = 0;
    if (bad && job.fault == FAILS)
        return 1;
    if (work->phase + 1 == job.phases)
        return work->out_bytes != NULL ||
               nf_buf_append(work->result, &right, sizeof(right));
    if (!right)
        return 3;
    if (make_pieces(work))
        return 2;
    if (bad && job.fault == BAD_PIECES)
        work->out_bytes[0] += sizeof(int64_t);
    if (bad && job.fault == TOO_MUCH)
        work->out_bytes[10] = UINT64_MAX - 7;
    if (bad && job.fault == NO_ELEMENTS) {
        work->out_bytes[1] += 1;
        nf_buf_append(work->result, "", 1);
    }
    return 0;
}

static enum nf_status split(void *user, uint64_t unit, struct nf_buf *input)
{
    (void)user;
    return nf_buf_append(input, &unit, sizeof(unit));
}

static enum nf_status collect(void *user, uint64_t unit, const void *result,
                              size_t bytes)
{
    int64_t right = 0;

    (void)user;
    (void)unit;
    if (bytes == sizeof(right))
        memcpy(&right, result, sizeof(right));
    job.collected++;
    job.wrong += right != 1;
    return NF_OK;
}

static struct nf_app app_of(uint32_t phases)
{
    memset(&job, 0, sizeof(job));
    job.phases = phases;
    job.scale = 1;
    return (struct nf_app){ .name = "phases",
                            .units = UNITS,
                            .split = split,
                            .compute = compute,
                            .collect = collect,
                            .input_type = NF_INT64,
                            .result_type = NF_INT64,
                            .batch_units = 5,
                            .phases = phases };
}

static void quiet(void *user, const char *line)
{
    (void)user;
    (void)line;
}

/* @param scale  of pieces   @param takes_pieces  they are not put together */
static void bring_pieces(uint64_t scale, bool takes_pieces)
{
    static const char *const policies[] = { "send", "gss", "auto", "static" };

    for (uint32_t phases = 2; phases <= 5; phases++)
        for (uint32_t slaves = 1; slaves <= 6; slaves++) {
            struct nf_app app = app_of(phases);
            struct nf_options o = { .transport = "local",
                                    .slaves = slaves,
                                    .slots = 1 + slaves % 2,
                                    .policy = policies[slaves % 4] };
            struct nf_report r;
            struct nf_error err = { NF_OK, "" };

            job.scale = scale;
            job.takes_pieces = takes_pieces;
            app.takes_pieces = takes_pieces;
            CU_ASSERT_EQUAL(nf_run(&app, &o, &r, &err), NF_OK);
            if (err.status)
                fprintf(stderr, "%s\n", err.text);
            CU_ASSERT_EQUAL(job.collected, UNITS);
            CU_ASSERT_EQUAL(job.wrong, 0);
            CU_ASSERT_EQUAL(r.done_units, UNITS);
            CU_ASSERT_EQUAL(r.phases, phases);
            CU_ASSERT_EQUAL(r.exchanges, phases - 1);
            CU_ASSERT_EQUAL(r.recomputed, 0);
        }
}

static void pieces_come_where_they_belong(void)
{
    bring_pieces(1, false);
    bring_pieces(150, false);
}

static void kernels_may_take_pieces_as_they_lie(void)
{
    bring_pieces(1, true);
    bring_pieces(150, true);
}

static void what_a_kernel_does_wrong_is_told(void)
{
    static const struct {
        uint32_t fault;
        const char *why;
    } faults[] = { { BAD_PIECES, "bytes" },
                   { FAILS, "kernel returned 1" },
                   { NO_ELEMENTS, "piece 1 of" },
                   { TOO_MUCH, "piece 10 of" } };

    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        for (uint32_t phase = 0; phase < 2; phase++) {
            struct nf_app app = app_of(3);
            struct nf_options o = { .transport = "local",
                                    .slaves = 3,
                                    .notice = quiet };
            struct nf_report r;
            struct nf_error err = { NF_OK, "" };

            job.fault = faults[i].fault;
            job.fault_phase = phase;
            CU_ASSERT_EQUAL(nf_run(&app, &o, &r, &err), NF_ERR_FAILED);
            CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "unit 4"));
            CU_ASSERT_PTR_NOT_NULL(strstr(err.text, faults[i].why));
            if (strstr(err.text, faults[i].why) == NULL)
                fprintf(stderr, "want %s: %s\n", faults[i].why, err.text);
            CU_ASSERT_EQUAL(job.collected, 0);
            CU_ASSERT_EQUAL(r.failed_units, 1);
        }
}

static void a_unit_of_the_last_phase_may_fail_alone(void)
{
    struct nf_app app = app_of(2);
    struct nf_options o = { .transport = "local",
                            .slaves = 3,
                            .notice = quiet };
    struct nf_report r;
    struct nf_error err;

    job.fault = FAILS;
    job.fault_phase = 1;
    CU_ASSERT_EQUAL(nf_run(&app, &o, &r, &err), NF_ERR_FAILED);
    CU_ASSERT_EQUAL(job.collected, UNITS - 1);
    CU_ASSERT_EQUAL(job.wrong, 0);
    CU_ASSERT_EQUAL(r.done_units, UNITS - 1);
    CU_ASSERT_EQUAL(r.failed_units, 1);
    CU_ASSERT_EQUAL(r.failures[0].unit, 4);
}

static void refuse(const struct nf_app *app, const struct nf_options *o,
                   const char *why)
{
    struct nf_error err = { NF_OK, "" };

    CU_ASSERT_EQUAL(nf_run(app, o, NULL, &err), NF_ERR_INVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, why));
}

static void what_can_not_be_is_refused(void)
{
    struct nf_app app = app_of(2);
    struct nf_options o = { .transport = "local", .slaves = 2 };

    o.gather = "tree";
    refuse(&app, &o, "stream only");
    o.gather = NULL;
    o.emulate = "unit=1ms";
    refuse(&app, &o, "one phase only");
    o.emulate = NULL;
    app.units = 4097;
    refuse(&app, &o, "4096");
    app.units = UNITS;
    app.phases = 1001;
    refuse(&app, &o, "1000");
    app.phases = 2;
    o.slaves = 4097;
    refuse(&app, &o, "4097 slaves");
    CU_ASSERT_EQUAL(job.collected, 0);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "pieces come where they belong", pieces_come_where_they_belong },
        { "kernels may take pieces as they lie",
          kernels_may_take_pieces_as_they_lie },
        { "what a kernel does wrong is told",
          what_a_kernel_does_wrong_is_told },
        { "a unit of the last phase may fail alone",
          a_unit_of_the_last_phase_may_fail_alone },
        { "what can not be is refused", what_can_not_be_is_refused },
        CU_TEST_INFO_NULL,
    };
    static CU_SuiteInfo suites[] = {
        { "jobs of several phases", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
