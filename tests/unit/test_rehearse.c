/* Small jobs by which the time of an operation is found. */
#include "config.h"
#include <string.h>
#include "apps/rehearse.h"
#include "tests/unit/nf_unit.h"

static uint32_t calls, bad_call;
static uint64_t sum;

/* A unit gives number 10 u + v to unit v, and adds up what comes. */
static int fake_compute(const struct nf_work *work)
{
    if (++calls == bad_call)
        return 1;
    for (uint64_t v = 0; v < work->units; v++) {
        uint64_t number = 10 * work->first + v;

        if (work->phase == 0) {
            nf_buf_append(work->result, &number, sizeof(number));
            work->out_bytes[v] = sizeof(number);
            continue;
        }
        memcpy(&number, (const char *)work->input + work->in_at[v],
               sizeof(number));
        if (work->in_at[v + 1] - work->in_at[v] != sizeof(number) ||
            number != 10 * v + work->first)
            return 2;
        sum += number;
    }
    return 0;
}

static enum nf_status fake_split(void *user, uint64_t unit,
                                 struct nf_buf *input)
{
    (void)user;
    return nf_buf_append(input, &unit, sizeof(unit));
}

static enum nf_status fake_create(void **state_p, struct nf_error *err)
{
    static int state;

    (void)err;
    *state_p = &state;
    return NF_OK;
}

static void fake_destroy(void *state)
{
    (void)state;
}

static enum nf_status fake_open(void *state,
                                const struct nf_app_request *request,
                                struct nf_app *app_p, struct nf_error *err)
{
    (void)state;
    (void)request;
    (void)err;
    *app_p = (struct nf_app){ .name = "fake",
                              .units = 3,
                              .split = fake_split,
                              .compute = fake_compute,
                              .phases = 2 };
    return NF_OK;
}

static double fake_operations(void *state)
{
    (void)state;
    return 2;
}

static const char *const nothing[] = { NULL };
static const struct nf_app_kind fake = { .name = "fake",
                                         .create = fake_create,
                                         .destroy = fake_destroy,
                                         .open = fake_open,
                                         .operations = fake_operations,
                                         .small_job = nothing };

static void pieces_go_where_they_belong(void)
{
    double op_s = -1;

    calls = 0;
    sum = 0;
    CU_ASSERT(nf_rehearse(&fake, &op_s));
    CU_ASSERT_EQUAL(calls, 2 * 2 * 3);
    CU_ASSERT_EQUAL(sum, 2 * 99);
    CU_ASSERT(op_s >= 0 && op_s < 1);
}

static void kernels_may_fail(void)
{
    double op_s = -1;

    for (bad_call = 1; bad_call <= 12; bad_call++) {
        calls = 0;
        CU_ASSERT(!nf_rehearse(&fake, &op_s));
        CU_ASSERT(op_s == -1);
    }
    bad_call = 0;
}

static void applications_have_small_jobs(void)
{
    for (size_t i = 0; nf_app_table[i] != NULL; i++) {
        const struct nf_app_kind *kind = nf_app_table[i];
        double op_s = -1;
        bool phased = kind->kernel->phases > 1;

        CU_ASSERT_EQUAL(nf_rehearse(kind, &op_s), phased);
        CU_ASSERT(!phased || (op_s > 1e-11 && op_s < 1e-5));
    }
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "pieces go where they belong", pieces_go_where_they_belong },
        { "kernels may fail", kernels_may_fail },
        { "applications have small jobs", applications_have_small_jobs },
        CU_TEST_INFO_NULL,
    };
    static CU_SuiteInfo suites[] = {
        { "rehearsal", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
