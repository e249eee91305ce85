/* A job's data: what clients and runners may tell, and what they may not. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "common/base/text.h"
#include "master/command.h"
#include "master/job.h"
#include "tests/unit/nf_unit.h"

#define GOOD                                                                   \
    "\"argv\":[\"matmul\",\"--n\",\"3\"],\"cwd\":\"/tmp\",\"umask\":18,"       \
    "\"env\":{\"PATH\":\"/bin\",\"LD_PRELOAD\":\"evil\"}"

static struct nf_job *make(const char *text, struct nf_error *err)
{
    json_t *request = json_loads(text, 0, NULL);
    struct nf_job *job = NULL;

    CU_ASSERT_PTR_NOT_NULL(request);
    nf_job_create(request, &job, err);
    json_decref(request);
    return job;
}

static void a_good_submission_becomes_a_job(void)
{
    struct nf_error err = { .text = "" };
    struct nf_job *job =
        make("{" GOOD ",\"name\":\"n\",\"priority\":-3}", &err);
    json_t *env;

    CU_ASSERT_PTR_NOT_NULL_FATAL(job);
    env = json_object_get(job->spec, "env");
    CU_ASSERT_STRING_EQUAL(job->name, "n");
    CU_ASSERT_STRING_EQUAL(nf_job_app(job), "matmul");
    CU_ASSERT_EQUAL(job->entry.priority, -3);
    CU_ASSERT_EQUAL(job->entry.state, NF_JOB_QUEUED);
    CU_ASSERT_PTR_NOT_NULL(json_object_get(env, "PATH"));
    CU_ASSERT_PTR_NULL(json_object_get(env, "LD_PRELOAD"));
    nf_job_destroy(job);
    job = make("{" GOOD "}", &err);
    CU_ASSERT_STRING_EQUAL(job->name, "matmul");
    CU_ASSERT_EQUAL(job->entry.priority, 0);
    nf_job_destroy(job);
}

static void bad_submissions_are_refused_by_member(void)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "{}", "argv" },
        { "{\"argv\":[]}", "argv" },
        { "{\"argv\":[1]}", "argv[0]" },
        { "{\"argv\":{\"0\":\"x\"}}", "argv" },
        { "{\"argv\":[\"a\"]}", "cwd" },
        { "{\"argv\":[\"a\"],\"cwd\":\"tmp\"}", "cwd" },
        { "{\"argv\":[\"a\"],\"cwd\":\"/\"}", "umask" },
        { "{\"argv\":[\"a\"],\"cwd\":\"/\",\"umask\":512}", "umask" },
        { "{\"argv\":[\"a\"],\"cwd\":\"/\",\"umask\":1,\"env\":[]}", "env" },
        { "{\"argv\":[\"a\"],\"cwd\":\"/\",\"umask\":1,\"env\":{\"A\":1}}",
          "env A" },
        { "{" GOOD ",\"priority\":1001}", "priority" },
        { "{" GOOD ",\"priority\":\"high\"}", "priority" },
        { "{" GOOD ",\"name\":\"\"}", "name" },
        { "{" GOOD ",\"name\":\"a\\nb\"}", "name" },
        { "{" GOOD ",\"name\":7}", "name" },
        { "{" GOOD ",\"name\":\"12345678901234567890123456789012345678901234"
          "567890123456789012345\"}",
          "longer than 64" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct nf_error err = { .text = "" };

        CU_ASSERT_PTR_NULL(make(cases[i].text, &err));
        CU_ASSERT_EQUAL(err.status, NF_ERR_INVAL);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].want));
        if (strstr(err.text, cases[i].want) == NULL)
            printf("\n    %s -> %s", cases[i].text, err.text);
    }
}

static void take(struct nf_job *job, const char *line)
{
    nf_job_take_progress(job, line, strlen(line));
}

static void progress_is_taken_and_nonsense_is_not(void)
{
    struct nf_job *job = make("{" GOOD "}", NULL);
    static const char *const nonsense[] = {
        "",
        "x",
        "[]",
        "7",
        "{\"units\":-1,\"done\":\"x\",\"slots\":1e99}",
        "{\"state\":\"a very long state that would not fit\"}",
        "{\"elapsed_s\":-5,\"slaves\":99999999999}",
    };
    json_t *shown;

    take(job, "{\"state\":\"running\",\"units\":100,\"done\":20,\"failed\":5,"
              "\"slaves\":2,\"slots\":4,\"elapsed_s\":5}");
    for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++)
        take(job, nonsense[i]);
    CU_ASSERT_STRING_EQUAL(job->phase, "running");
    CU_ASSERT_EQUAL(job->progress.units, 100);
    CU_ASSERT_EQUAL(job->progress.done, 20);
    CU_ASSERT_EQUAL(job->progress.slaves, 2);
    CU_ASSERT_EQUAL(job->progress.slots, 4);
    CU_ASSERT_EQUAL(job->progress.elapsed_us, 5000000);
    job->entry.state = NF_JOB_RUNNING;
    shown = nf_job_describe(job, 0);
    /* 25 of 100 units in 5 s: 5 a second, 15 s to go */
    CU_ASSERT_DOUBLE_EQUAL(
        json_number_value(json_object_get(shown, "rate_units_per_s")), 5, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(shown, "eta_s")),
                           15, 1e-9);
    CU_ASSERT_TRUE(json_is_null(json_object_get(shown, "exit_status")));
    json_decref(shown);
    nf_job_destroy(job);
}

static bool contains(char *const *words, const char *word)
{
    for (; *words != NULL; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

static void the_command_adds_defaults_where_the_job_names_none(void)
{
    const struct nf_command_defaults defaults = { .runner = "/bin/nowfarm",
                                                  .policy = "gss",
                                                  .hosts = "/etc/hosts",
                                                  .socket = "/d.sock" };
    struct nf_runner_command command;
    struct nf_job *job = make("{\"argv\":[\"a\",\"--policy=send\"],"
                              "\"cwd\":\"/\",\"umask\":0,"
                              "\"env\":{\"PATH\":\"/job/bin\"}}",
                              NULL);
    static const char *const want[] = {
        "/bin/nowfarm", "run",     "a",       "--progress-fd", "3",
        "--json",       "--quiet", "--hosts", "/etc/hosts",    "--policy=send",
    };

    setenv("PATH", "/daemon/bin", 1);
    setenv("NOWFARM_SOCKET", "/other", 1);
    setenv("NF_TEST_OF_DAEMON", "1", 1);
    job->entry.id = 12;
    CU_ASSERT_EQUAL(nf_command_init(job, &defaults, &command), NF_OK);
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
        CU_ASSERT_TRUE(command.argv[i] != NULL &&
                       strcmp(command.argv[i], want[i]) == 0);
    CU_ASSERT_PTR_NULL(command.argv[sizeof(want) / sizeof(want[0])]);
    CU_ASSERT_TRUE(contains(command.envp, "PATH=/job/bin"));
    CU_ASSERT_FALSE(contains(command.envp, "PATH=/daemon/bin"));
    CU_ASSERT_TRUE(contains(command.envp, "NF_TEST_OF_DAEMON=1"));
    CU_ASSERT_TRUE(contains(command.envp, "NOWFARM_SOCKET=/d.sock"));
    CU_ASSERT_FALSE(contains(command.envp, "NOWFARM_SOCKET=/other"));
    CU_ASSERT_TRUE(contains(command.envp, "NOWFARM_JOB=12"));
    nf_command_fini(&command);
    nf_job_destroy(job);
}

/* Of the job's environment, of the daemon's, of its file: the first that there
 * is, "" for none included. */
static const char *network_of(const char *job_env, const char *daemon_env,
                              const char *file, char value[64])
{
    const struct nf_command_defaults defaults = { .runner = "/bin/nowfarm",
                                                  .network = file,
                                                  .socket = "/d.sock" };
    struct nf_runner_command command;
    unsigned count = 0;
    char text[200];
    struct nf_job *job;

    snprintf(text, sizeof(text),
             "{\"argv\":[\"a\"],\"cwd\":\"/\",\"umask\":0,\"env\":{%s%s%s}}",
             job_env != NULL ? "\"NOWFARM_NETWORK\":\"" : "",
             job_env != NULL ? job_env : "", job_env != NULL ? "\"" : "");
    job = make(text, NULL);
    if (daemon_env != NULL)
        setenv("NOWFARM_NETWORK", daemon_env, 1);
    else
        unsetenv("NOWFARM_NETWORK");
    strcpy(value, "(not there)");
    CU_ASSERT_EQUAL(nf_command_init(job, &defaults, &command), NF_OK);
    for (char *const *at = command.envp; *at != NULL; at++)
        if (strncmp(*at, "NOWFARM_NETWORK=", 16) == 0) {
            snprintf(value, 64, "%s", *at + 16);
            count++;
        }
    CU_ASSERT(count <= 1);
    CU_ASSERT_FALSE(contains(command.argv, "--network"));
    nf_command_fini(&command);
    nf_job_destroy(job);
    unsetenv("NOWFARM_NETWORK");
    return value;
}

static void the_environment_goes_before_the_network_of_the_file(void)
{
    char value[64];

    CU_ASSERT_STRING_EQUAL(network_of(NULL, NULL, NULL, value), "(not there)");
    CU_ASSERT_STRING_EQUAL(network_of(NULL, NULL, "/f", value), "/f");
    CU_ASSERT_STRING_EQUAL(network_of(NULL, "/d", "/f", value), "/d");
    CU_ASSERT_STRING_EQUAL(network_of("/j", NULL, "/f", value), "/j");
    CU_ASSERT_STRING_EQUAL(network_of("/j", "/d", "/f", value), "/j");
    CU_ASSERT_STRING_EQUAL(network_of("", "/d", "/f", value), "");
    CU_ASSERT_STRING_EQUAL(network_of(NULL, "", "/f", value), "");
}

static void text_becomes_utf_8(void)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "plain", "plain" },
        { "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", /* two, three, four bytes */
          "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
        { "a\xff"
          "b",
          "a?b" },
        { "\xc3", "?" }, /* cut off */
        { "\xe2\x82", "??" },
        { "\xc0\xaf", "??" }, /* overlong */
        { "\xe0\x80\x80", "???" },
        { "\xed\xa0\x80", "???" },      /* surrogate */
        { "\xf4\x90\x80\x80", "????" }, /* above U+10FFFF */
        { "\x80x", "?x" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[32];
        json_t *string;

        strcpy(text, cases[i].text);
        nf_text_make_utf8(text, strlen(text));
        CU_ASSERT_STRING_EQUAL(text, cases[i].want);
        string = json_string(text); /* jansson agrees */
        CU_ASSERT_PTR_NOT_NULL(string);
        json_decref(string);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "a good submission becomes a job", a_good_submission_becomes_a_job },
        { "bad submissions are refused by member",
          bad_submissions_are_refused_by_member },
        { "progress is taken and nonsense is not",
          progress_is_taken_and_nonsense_is_not },
        { "the command adds defaults where the job names none",
          the_command_adds_defaults_where_the_job_names_none },
        { "the environment goes before the network of the file",
          the_environment_goes_before_the_network_of_the_file },
        { "text becomes UTF-8", text_becomes_utf_8 },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "a job", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
