/* What nf_run() refuses, before anything of the application is called. */
#include "config.h"
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "nowfarm.h"
#include "tests/unit/nf_unit.h"

static atomic_uint calls;

static int compute(const struct nf_work *work)
{
    (void)work;
    calls++;
    return 0;
}

static enum nf_status share(void *user, struct nf_buf *shared)
{
    (void)user;
    (void)shared;
    calls++;
    return NF_OK;
}

static const struct nf_app sound = {
    .name = "sound", .units = 10, .compute = compute, .share = share
};
static const struct nf_options local = { .transport = "local", .slaves = 2 };

static void test_good(void)
{
    calls = 0;
    CU_ASSERT_EQUAL(nf_run(&sound, &local, NULL, NULL), NF_OK);
    CU_ASSERT_EQUAL(calls, 11);
    calls = 0;
}

static void refused(const struct nf_app *app, const struct nf_options *options,
                    const char *why)
{
    struct nf_error err = { NF_OK, "" };
    enum nf_status status = nf_run(app, options, NULL, &err);

    CU_ASSERT_EQUAL(status, NF_ERR_INVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, why));
    if (status != NF_ERR_INVAL || strstr(err.text, why) == NULL)
        fprintf(stderr, "want \"%s\", got \"%s\"\n", why, err.text);
    CU_ASSERT_EQUAL(calls, 0);
}

static void test_bad_options(void)
{
    struct nf_options good = local, o;

#define REFUSED(field, value, why)                                             \
    o = good, o.field = (value), refused(&sound, &o, (why))
    REFUSED(policy, "", "policy");
    REFUSED(policy, "presend:td=-1s", "td");
    REFUSED(policy, "send:nonsense=1", "nonsense");
    REFUSED(transport, "", "transport");
    REFUSED(transport, "pigeon", "pigeon");
    REFUSED(hosts_file, "/dev/null", "hosts file");
    REFUSED(slaves, 65537, "65537");
    REFUSED(slots, 4097, "4097");
    REFUSED(unit_timeout_us, -1, "unit time-out");
    REFUSED(unit_timeout_us, INT64_MAX, "unit time-out");
    REFUSED(heartbeat_timeout_us, -1, "heartbeat");
    REFUSED(heartbeat_timeout_us, 199999, "heartbeat");
    REFUSED(heartbeat_timeout_us, INT64_MAX, "heartbeat");
    REFUSED(progress_every_us, -1, "progress");
    REFUSED(slave_program, "slave", "absolute");
    REFUSED(slave_program, "", "absolute");
#undef REFUSED
}

static void test_bad_apps(void)
{
    struct nf_app good = sound, app;
    char name[80];

#define REFUSED(field, value, why)                                             \
    app = good, app.field = (value), refused(&app, &local, (why))
    REFUSED(name, NULL, "name");
    REFUSED(name, "", "name");
    REFUSED(name, "Upper", "Upper");
    REFUSED(name, "a b", "a b");
    memset(name, 'a', sizeof(name));
    name[64] = '\0';
    REFUSED(name, name, "name");
    REFUSED(compute, NULL, "compute");
    REFUSED(input_type, (enum nf_type)77, "type");
    REFUSED(result_type, (enum nf_type)(NF_INT16 + 1), "type");
    REFUSED(shared_type, (enum nf_type) - 1, "type");
#undef REFUSED
}

static CU_TestInfo tests[] = {
    { "what is refused below is sound otherwise", test_good },
    { "bad options are refused before anything starts", test_bad_options },
    { "bad applications are refused before anything starts", test_bad_apps },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "nf_run", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    /* a job that wrongly reaches for PVM must not find any */
    setenv("PVM_TMP", "/nonexistent", 1);
    unsetenv("PVM_VMID");
    alarm(300); /* a hang is a failure */
    return nf_unit_main(suites);
}
