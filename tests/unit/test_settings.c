/* nowfarm.conf: values, defaults, and errors that name file and line. */
#include "config.h"
#include <limits.h>
#include <sys/stat.h>
#include "master/settings.h"
#include "tests/unit/model_text.h"
#include "tests/unit/nf_tmpdir.h"
#include "tests/unit/nf_unit.h"

static void every_setting_is_read(void)
{
    struct nf_settings settings;
    struct nf_error err = { .text = "" };
    char hosts[PATH_MAX], network[PATH_MAX], text[3 * PATH_MAX];
    char *model = write_model(3, 2);
    const char *path;

    snprintf(hosts, sizeof(hosts), "%s", nf_tmp_write("hosts", "localhost\n"));
    snprintf(network, sizeof(network), "%s", nf_tmp_write("lan.json", model));
    free(model);
    snprintf(
        text, sizeof(text),
        "# comment\n"
        "socket = \"/run/x.sock\"\nstate_dir = \"/var/x\"\n"
        "runner = \"/bin/sh\"\npolicy = \"gss:kmin=2\"\n"
        "hosts = \"%s\"\nnetwork = \"%s\"\nmax_running = 3\nkeep_jobs = 9\n"
        "log = \"debug\"\nkeep_vm = no\n",
        hosts, network);
    path = nf_tmp_write("all.conf", text);
    CU_ASSERT_EQUAL(nf_settings_load(path, NULL, &settings, &err), NF_OK);
    CU_ASSERT_STRING_EQUAL(settings.socket, "/run/x.sock");
    CU_ASSERT_STRING_EQUAL(settings.state_dir, "/var/x");
    CU_ASSERT_STRING_EQUAL(settings.runner, "/bin/sh");
    CU_ASSERT_STRING_EQUAL(settings.policy, "gss:kmin=2");
    CU_ASSERT_STRING_EQUAL(settings.hosts, hosts);
    CU_ASSERT_STRING_EQUAL(settings.network, network);
    CU_ASSERT_EQUAL(settings.max_running, 3);
    CU_ASSERT_EQUAL(settings.keep_jobs, 9);
    CU_ASSERT_EQUAL(settings.log_level, NF_LOG_DEBUG);
    CU_ASSERT_FALSE(settings.keep_vm);
    nf_settings_fini(&settings);
}

static void an_empty_file_gives_the_defaults(void)
{
    struct nf_settings settings;
    const char *path = nf_tmp_write("empty.conf", "");

    setenv("XDG_STATE_HOME", "/state", 1);
    CU_ASSERT_EQUAL(nf_settings_load(path, NULL, &settings, NULL), NF_OK);
    CU_ASSERT_PTR_NULL(settings.socket);
    CU_ASSERT_STRING_EQUAL(settings.state_dir, "/state/nowfarm");
    CU_ASSERT_PTR_NULL(settings.runner);
    CU_ASSERT_PTR_NULL(settings.policy);
    CU_ASSERT_PTR_NULL(settings.hosts);
    CU_ASSERT_PTR_NULL(settings.network);
    CU_ASSERT_EQUAL(settings.max_running, 1);
    CU_ASSERT_EQUAL(settings.keep_jobs, 1000);
    CU_ASSERT_TRUE(settings.keep_vm);
    nf_settings_fini(&settings);
    unsetenv("XDG_STATE_HOME");
}

static void the_usual_places_are_searched_in_order(void)
{
    struct nf_settings settings;
    const char *fallback = nf_tmp_write("etc.conf", "max_running = 5\n");

    setenv("HOME", nf_tmpdir, 1);
    setenv("XDG_CONFIG_HOME", nf_tmp("config"), 1);
    CU_ASSERT_EQUAL(nf_settings_load(NULL, fallback, &settings, NULL), NF_OK);
    CU_ASSERT_EQUAL(settings.max_running, 5);
    nf_settings_fini(&settings);
    mkdir(nf_tmp("config"), 0700);
    mkdir(nf_tmp("config/nowfarm"), 0700);
    nf_tmp_write("config/nowfarm/nowfarm.conf",
                 "max_running = 6\nstate_dir = \"~/s\"\n");
    CU_ASSERT_EQUAL(nf_settings_load(NULL, fallback, &settings, NULL), NF_OK);
    CU_ASSERT_EQUAL(settings.max_running, 6);
    CU_ASSERT_EQUAL(strncmp(settings.state_dir, nf_tmpdir, strlen(nf_tmpdir)),
                    0);
    nf_settings_fini(&settings);
    unsetenv("XDG_CONFIG_HOME");
}

static void wrong_files_are_refused_with_file_and_line(void)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "\nspeed = 3\n", ":2: " },
        { "speed = 3\n", "speed" },
        { "max_running = 0\n", ":1: max_running = 0: want 1 to 1000" },
        { "\n\nmax_running = 1001\n", ":3: max_running = 1001" },
        { "max_running = many\n", ":1: " },
        { "max_running = 99999999999999999999\n", ":1: " },
        { "keep_jobs = -1\n", "keep_jobs = -1: want 1 to" },
        { "keep_vm = perhaps\n", ":1: " },
        { "socket = \"x.sock\"\n", "want an absolute path" },
        { "runner = \"/no/such\"\n", "No such file" },
        { "hosts = \"/no/such\"\n", "No such file" },
        { "hosts = \"/dev/null\"\n", ":1: hosts file /dev/null: " },
        { "network = \"lan.json\"\n", "want an absolute path" },
        { "\nnetwork = \"/no/such\"\n", ":2: network: /no/such: No such file" },
        { "network = \"/dev/null\"\n", ":1: network: /dev/null:" },
        { "\npolicy = \"bogus\"\n", ":2: policy \"bogus\": " },
        { "policy = \"presend:td=20\"\n", ":1: policy \"presend:td=20\": " },
        { "log = \"loud\"\n", "want error, warn, info, debug or trace" },
        { "socket = \"/x\n", ":" },
        { "}\n", ":1: " },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *path = nf_tmp_write("wrong.conf", cases[i].text);
        struct nf_settings settings;
        struct nf_error err = { .text = "" };
        enum nf_status status = nf_settings_load(path, NULL, &settings, &err);

        CU_ASSERT_EQUAL(status, NF_ERR_INVAL);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, cases[i].want));
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "wrong.conf"));
        CU_ASSERT_PTR_NULL(strchr(err.text, '\n'));
        if (strstr(err.text, cases[i].want) == NULL)
            printf("\n    %s -> %s", cases[i].text, err.text);
        if (status == NF_OK)
            nf_settings_fini(&settings);
    }
}

static void what_is_not_a_file_is_refused(void)
{
    struct nf_settings settings;
    struct nf_error err = { .text = "" };

    CU_ASSERT_EQUAL(nf_settings_load(nf_tmpdir, NULL, &settings, &err),
                    NF_ERR_INVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "not a file"));
    CU_ASSERT_EQUAL(nf_settings_load("/no/such.conf", NULL, &settings, &err),
                    NF_ERR_INVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "/no/such.conf"));
}

/* The example sets nothing, and every commented setting in it is accepted. */
static void the_example_is_right(void)
{
    struct nf_settings settings;
    struct nf_error err = { .text = "" };
    char line[512];
    FILE *in = fopen(NF_SRCDIR "/conf/nowfarm.conf", "r");
    FILE *out = fopen(nf_tmp("example.conf"), "w");
    int count = 0;

    CU_ASSERT_PTR_NOT_NULL_FATAL(in);
    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    setenv("XDG_STATE_HOME", "/state", 1);
    CU_ASSERT_EQUAL(
        nf_settings_load(NF_SRCDIR "/conf/nowfarm.conf", NULL, &settings, &err),
        NF_OK);
    nf_settings_fini(&settings);
    while (fgets(line, sizeof(line), in) != NULL)
        if (line[0] == '#' && line[1] != ' ' && strchr(line, '=') != NULL &&
            strncmp(line, "#runner", 7) != 0 &&
            strncmp(line, "#hosts", 6) != 0 &&
            strncmp(line, "#network", 8) != 0) {
            fputs(line + 1, out);
            count++;
        }
    fclose(in);
    fclose(out);
    CU_ASSERT_EQUAL(count, 7);
    CU_ASSERT_EQUAL(
        nf_settings_load(nf_tmp("example.conf"), NULL, &settings, &err), NF_OK);
    if (err.text[0] != '\0')
        printf("\n    %s", err.text);
    nf_settings_fini(&settings);
    unsetenv("XDG_STATE_HOME");
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "every setting is read", every_setting_is_read },
        { "an empty file gives the defaults",
          an_empty_file_gives_the_defaults },
        { "the usual places are searched in order",
          the_usual_places_are_searched_in_order },
        { "wrong files are refused with file and line",
          wrong_files_are_refused_with_file_and_line },
        { "what is not a file is refused", what_is_not_a_file_is_refused },
        { "the example is right", the_example_is_right },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "the configuration", nf_tmpdir_make, nf_tmpdir_remove, NULL, NULL,
          tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
