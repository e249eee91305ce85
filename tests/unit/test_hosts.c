/* The hosts file: good lines, and each bad one by its number. */
#include "config.h"
#include "master/hosts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "tests/unit/nf_unit.h"

static char folder[] = "/tmp/nf-hosts.XXXXXX";
static char path[sizeof(folder) + 8];

static int set_up(void)
{
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(path, sizeof(path), "%s/hosts", folder);
    return 0;
}

static int tear_down(void)
{
    unlink(path);
    return rmdir(folder);
}

static enum nf_status read_bytes(const void *text, size_t bytes,
                                 struct nf_hosts *hosts_p, struct nf_error *err)
{
    FILE *file = fopen(path, "wb");

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_EQUAL(fwrite(text, 1, bytes, file), bytes);
    CU_ASSERT_EQUAL(fclose(file), 0);
    memset(err, 0, sizeof(*err));
    *hosts_p = (struct nf_hosts){ NULL, 0 };
    return nf_hosts_read(path, hosts_p, err);
}

static enum nf_status read_text(const char *text, struct nf_hosts *hosts_p,
                                struct nf_error *err)
{
    return read_bytes(text, strlen(text), hosts_p, err);
}

/* `text` is refused, and the message starts "PATH:LINE: " and says `why`. */
static void refused(const char *text, unsigned line, const char *why)
{
    struct nf_hosts hosts;
    struct nf_error err;
    char prefix[64];

    CU_ASSERT_EQUAL(read_text(text, &hosts, &err), NF_ERR_INVAL);
    CU_ASSERT_PTR_NULL(hosts.list);
    snprintf(prefix, sizeof(prefix), "%s:%u: ", path, line);
    CU_ASSERT_EQUAL(strncmp(err.text, prefix, strlen(prefix)), 0);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, why));
    CU_ASSERT_PTR_NULL(strchr(err.text, '\n'));
    if (strncmp(err.text, prefix, strlen(prefix)) != 0 ||
        strstr(err.text, why) == NULL)
        fprintf(stderr, "want \"%s...%s\", got \"%s\"\n", prefix, why,
                err.text);
}

static void test_good_lines(void)
{
    static const char text[] = "# the pool\r\n"
                               "\n"
                               "   \t \n"
                               "ws1\r\n"
                               "  ws-2.lab_x\tslaves=2   slots=4 # two\n"
                               "ws3 ep=/opt/bin slaves=1 lo=me sp=1000#glued\n"
                               "10.0.0.7 slots=4096";
    struct nf_hosts hosts;
    struct nf_error err;

    CU_ASSERT_EQUAL_FATAL(read_text(text, &hosts, &err), NF_OK);
    CU_ASSERT_EQUAL_FATAL(hosts.count, 4);
    CU_ASSERT_STRING_EQUAL(hosts.list[0].name, "ws1");
    CU_ASSERT_STRING_EQUAL(hosts.list[0].line, "ws1");
    CU_ASSERT_EQUAL(hosts.list[0].slaves, 0);
    CU_ASSERT_EQUAL(hosts.list[0].slots, 0);
    CU_ASSERT_STRING_EQUAL(hosts.list[1].name, "ws-2.lab_x");
    CU_ASSERT_EQUAL(hosts.list[1].slaves, 2);
    CU_ASSERT_EQUAL(hosts.list[1].slots, 4);
    CU_ASSERT_STRING_EQUAL(hosts.list[2].line, "ws3 ep=/opt/bin lo=me sp=1000");
    CU_ASSERT_EQUAL(hosts.list[2].slaves, 1);
    CU_ASSERT_STRING_EQUAL(hosts.list[3].name, "10.0.0.7");
    CU_ASSERT_EQUAL(hosts.list[3].slots, 4096);
    nf_hosts_fini(&hosts);
    CU_ASSERT_EQUAL(hosts.count, 0);
}

static void test_bad_lines(void)
{
    char text[400];

    refused("ws1\nws2 slaves=0\n", 2, "slaves=0");
    refused("ws1 slaves=\n", 1, "count from 1");
    refused("ws1 slaves=-1\n", 1, "slaves=-1");
    refused("ws1 slaves=1.5\n", 1, "slaves=1.5");
    refused("ws1 slaves=4097\n", 1, "4096");
    refused("ws1 slots=99999999999999999999\n", 1, "4096");
    refused("#\n#\n\nws1 slots=x\n", 4, "slots=x");
    refused("ws1 slaves 2\n", 1, "\"slaves\"");
    refused("ws1 SLAVES=2\n", 1, "\"SLAVES=2\"");
    refused("ws1 ep=\n", 1, "\"ep=\"");
    refused("ws1 so=pw\n", 1, "\"so=pw\""); /* PVM would ask on the terminal */
    refused("-x\n", 1, "\"-x\"");
    refused("*\n", 1, "\"*\"");
    refused("ws1;reboot\n", 1, "host name");
    refused("w\303\244rter\n", 1, "host name");
    refused("\357\273\277ws1\n", 1, "host name");
    refused("slaves=2 ws1\n", 1, "host name");
    refused("ws1\nws2\nws1\n", 3, "ws1 is there twice");
    memset(text, 'a', sizeof(text));
    strcpy(text + 64, "\n");
    refused(text, 1, "host name");
    memset(text, 'a', sizeof(text));
    memcpy(text, "ws1 ep=", 7);
    strcpy(text + 300, "\n");
    refused(text, 1, "too long");
}

static void test_long_lines(void)
{
    enum { BYTES = 1 << 20 };
    char *text = malloc(BYTES + 8);
    struct nf_hosts hosts;
    struct nf_error err;

    memset(text, ' ', BYTES); /* blanks are no fault */
    strcpy(text + BYTES, "ws1\n");
    CU_ASSERT_EQUAL(read_text(text, &hosts, &err), NF_OK);
    CU_ASSERT_EQUAL(hosts.count, 1);
    nf_hosts_fini(&hosts);
    memset(text, 'x', BYTES);
    refused(text, 1, "not a host name");
    free(text);
}

static void test_not_text(void)
{
    static const char text[] = "ws1\nws\0002\n";
    struct nf_hosts hosts;
    struct nf_error err;

    CU_ASSERT_EQUAL(read_bytes(text, sizeof(text) - 1, &hosts, &err),
                    NF_ERR_INVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, ":2: not a text file"));
}

static void test_nothing_in_it(void)
{
    static const char *const texts[] = { "", "\n", "# nobody\n\n", "\r\n" };
    struct nf_hosts hosts;
    struct nf_error err;

    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        CU_ASSERT_EQUAL(read_text(texts[i], &hosts, &err), NF_ERR_INVAL);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "no host in it"));
    }
}

/* A pipe must be turned down at once, not read until somebody writes. */
static void test_not_files(void)
{
    struct nf_hosts hosts;
    struct nf_error err = { NF_OK, "" };

    CU_ASSERT_EQUAL(nf_hosts_read(folder, &hosts, &err), NF_ERR_INVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "not a file"));
    CU_ASSERT_EQUAL(nf_hosts_read("/dev/zero", &hosts, &err), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_hosts_read("", &hosts, &err), NF_ERR_INVAL);
    unlink(path);
    CU_ASSERT_EQUAL(nf_hosts_read(path, &hosts, &err), NF_ERR_INVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "No such file"));
    CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
    alarm(20);
    CU_ASSERT_EQUAL(nf_hosts_read(path, &hosts, &err), NF_ERR_INVAL);
    alarm(0);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "not a file"));
    unlink(path);
}

static void test_without_memory(void)
{
    struct nf_hosts hosts;
    struct nf_error err;
    enum nf_status status;
    long n = 0;

    do {
        nf_alloc_fail_after(n++);
        status = read_text("a\nb\nc\n", &hosts, &err);
        nf_alloc_fail_after(-1);
        CU_ASSERT(status == NF_OK || status == NF_ERR_NOMEM);
    } while (status != NF_OK);
    CU_ASSERT_EQUAL(n, 4);
    nf_hosts_fini(&hosts);
}

static void test_shares(void)
{
    for (uint32_t slaves = 0; slaves < 40; slaves++)
        for (size_t count = 1; count < 9; count++) {
            uint32_t sum = 0, least = UINT32_MAX, most = 0;

            for (size_t i = 0; i < count; i++) {
                uint32_t share = nf_hosts_share(slaves, count, i);

                CU_ASSERT(i == 0 || share <= least);
                least = share < least ? share : least;
                most = share > most ? share : most;
                sum += share;
            }
            CU_ASSERT_EQUAL(sum, slaves);
            CU_ASSERT(most - least <= 1);
        }
}

static void test_this_host_by_its_loopback_names(void)
{
    static const char *const text[] = { "localhost slots=2\n", "127.0.0.1\n" };
    struct nf_hosts hosts;
    struct nf_error err;
    char own[256];

    CU_ASSERT_EQUAL_FATAL(gethostname(own, sizeof(own)), 0);
    for (size_t i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL_FATAL(
            read_bytes(text[i], strlen(text[i]), &hosts, &err), NF_OK);
        CU_ASSERT_EQUAL_FATAL(hosts.count, 1);
        CU_ASSERT_STRING_EQUAL(hosts.list[0].name, own);
        CU_ASSERT_STRING_EQUAL(hosts.list[0].line, own);
        nf_hosts_fini(&hosts);
    }
}

static CU_TestInfo tests[] = {
    { "localhost and 127.0.0.1 are this host",
      test_this_host_by_its_loopback_names },
    { "good lines are read, comments and blanks ignored", test_good_lines },
    { "each bad line is named by its number", test_bad_lines },
    { "lines may be long, names may not", test_long_lines },
    { "a file with NUL bytes is no text", test_not_text },
    { "a file without a host is refused", test_nothing_in_it },
    { "folders, devices and pipes are refused at once", test_not_files },
    { "without memory nothing leaks", test_without_memory },
    { "slaves are spread evenly", test_shares },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "hosts", set_up, tear_down, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
