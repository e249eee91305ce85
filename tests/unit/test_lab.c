/* The lab as far as it needs none: names, what is written down, and control
 * groups on trees of plain files that look like versions 1 and 2. */
#include "config.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "apps/lab/lab_cgroup.h"
#include "apps/lab/lab_config.h"
#include "apps/lab/lab_dir.h"
#include "tests/unit/nf_tmpdir.h"
#include "tests/unit/nf_unit.h"

/* --- names and directories ---------------------------------------------- */

static void names_are_letters_digits_and_dashes(void)
{
    static const char *const bad[] = {
        "a/b", "..",   ".",
        "a b", "-a",   "a.b",
        "a\n", "\xff", "abcdefghijklmnopqrstuvwxy"
    };
    struct lab lab;
    struct nf_error err;

    CU_ASSERT_EQUAL(lab_find("A-z-09", &lab, &err), NF_OK);
    CU_ASSERT_STRING_EQUAL(lab.name, "A-z-09");
    CU_ASSERT_EQUAL(lab_find("abcdefghijklmnopqrstuvwx", &lab, &err), NF_OK);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CU_ASSERT_EQUAL(lab_find(bad[i], &lab, &err), NF_ERR_INVAL);
}

static void the_name_comes_from_the_environment_or_is_lab(void)
{
    struct lab lab;
    struct nf_error err;

    setenv("NOWFARM_LAB", "other", 1);
    CU_ASSERT_EQUAL(lab_find(NULL, &lab, &err), NF_OK);
    CU_ASSERT_STRING_EQUAL(lab.name, "other");
    CU_ASSERT_EQUAL(lab_find("mine", &lab, &err), NF_OK);
    CU_ASSERT_STRING_EQUAL(lab.name, "mine");
    setenv("NOWFARM_LAB", "", 1);
    CU_ASSERT_EQUAL(lab_find("", &lab, &err), NF_OK);
    CU_ASSERT_STRING_EQUAL(lab.name, "lab");
    unsetenv("NOWFARM_LAB");
}

/* A lab in the directory of this test. */
static struct lab own_lab(void)
{
    struct lab lab = { .name = "own" };

    snprintf(lab.root, sizeof(lab.root), "%.79s", nf_tmpdir);
    snprintf(lab.dir, sizeof(lab.dir), "%s/own", lab.root);
    mkdir(lab.dir, 0700);
    return lab;
}

/* A child that holds @p what until it is killed; its process id. */
static pid_t start_holder(const struct lab *lab, const char *what)
{
    int ready[2];
    char byte;
    pid_t pid;

    CU_ASSERT_EQUAL_FATAL(pipe(ready), 0);
    pid = fork();
    if (pid == 0) {
        alarm(60);
        if (lab_hold(lab, what, NULL) != NF_OK || write(ready[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void a_holder_is_known_until_it_dies(void)
{
    struct lab lab = own_lab();
    struct nf_error err;
    pid_t pid;

    CU_ASSERT_EQUAL(lab_holder(&lab, "ws1"), 0);
    pid = start_holder(&lab, "ws1");
    CU_ASSERT_EQUAL(lab_holder(&lab, "ws1"), pid);
    CU_ASSERT_EQUAL(lab_holder(&lab, "ws2"), 0);
    CU_ASSERT_EQUAL(lab_hold(&lab, "ws1", &err), NF_ERR_INVAL);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    CU_ASSERT_EQUAL(lab_holder(&lab, "ws1"), 0);
}

static void removing_follows_no_links_and_minds_no_permissions(void)
{
    struct lab lab = own_lab();
    const char *outside = nf_tmp_write("outside", "stays");
    struct nf_error err;
    char path[LAB_PATH_BYTES + 8];

    lab_path(&lab, "link", path);
    CU_ASSERT_EQUAL(symlink(outside, path), 0);
    lab_path(&lab, "up", path);
    CU_ASSERT_EQUAL(symlink("..", path), 0);
    lab_path(&lab, "closed", path);
    CU_ASSERT_EQUAL(mkdir(path, 0700), 0);
    strcat(path, "/file");
    CU_ASSERT_EQUAL(lab_write_file(path, "text", 1), 0);
    lab_path(&lab, "closed", path);
    CU_ASSERT_EQUAL(chmod(path, 0), 0);

    CU_ASSERT_EQUAL(lab_remove_dir(&lab, &err), NF_OK);
    CU_ASSERT_NOT_EQUAL(access(lab.dir, F_OK), 0);
    CU_ASSERT_EQUAL(access(outside, F_OK), 0);
    CU_ASSERT_EQUAL(lab_remove_dir(&lab, &err), NF_OK); /* twice is fine */
}

/* --- what is written down ----------------------------------------------- */

static void a_lab_reads_back_what_it_wrote(void)
{
    static struct lab_config wrote, read_back;
    struct lab lab = own_lab();
    struct nf_error err;
    pid_t pid;

    memset(&wrote, 0, sizeof(wrote));
    wrote.hub = true;
    wrote.medium_bps = 10000000;
    wrote.frames = 3;
    wrote.nhosts = 3;
    wrote.hosts[1].rate_bps = UINT64_C(100000000000);
    wrote.hosts[1].latency_us = 5000;
    wrote.hosts[2].cpu_percent = 12.5;
    wrote.hosts[2].cut = true;
    CU_ASSERT_EQUAL(lab_config_save(&lab, &wrote, &err), NF_OK);
    CU_ASSERT_EQUAL(lab_config_load(&lab, &read_back, &err),
                    NF_ERR_UNREACHABLE); /* nobody holds it: not up */
    pid = start_holder(&lab, "lab");
    CU_ASSERT_EQUAL(lab_config_load(&lab, &read_back, &err), NF_OK);
    CU_ASSERT_EQUAL(memcmp(&wrote, &read_back, sizeof(wrote)), 0);

    lab_write_file(strcat(strcpy((char[LAB_PATH_BYTES + 16]){ 0 }, lab.dir), "/config.json"),
                   "{\"kind\": \"hub\", \"hosts\": []}", 1);
    CU_ASSERT_EQUAL(lab_config_load(&lab, &read_back, &err), NF_ERR_IO);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    CU_ASSERT_EQUAL(lab_remove_dir(&lab, &err), NF_OK);
}

static void hosts_are_known_by_their_one_name(void)
{
    static const char *const bad[] = { "ws3", "ws", "ws01", "ws+1", "ws-1",
                                       "WS1", "1",  "",     "ws1 ", "lab" };
    static struct lab_config config = { .nhosts = 3 };
    struct lab lab = { .name = "own" };
    struct nf_error err;
    unsigned index = 9;

    CU_ASSERT_EQUAL(lab_host_index(&lab, &config, "ws0", &index, &err), NF_OK);
    CU_ASSERT_EQUAL(index, 0);
    CU_ASSERT_EQUAL(lab_host_index(&lab, &config, "ws2", &index, &err), NF_OK);
    CU_ASSERT_EQUAL(index, 2);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CU_ASSERT_EQUAL(lab_host_index(&lab, &config, bad[i], &index, &err),
                        NF_ERR_INVAL);
    CU_ASSERT_EQUAL(index, 2);
}

/* --- control groups ----------------------------------------------------- */

static struct lab_cgroup found;

static enum nf_status find_in(const char *mounts)
{
    FILE *file = fopen(nf_tmp_write("mountinfo", mounts), "r");
    struct nf_error err;
    enum nf_status status = lab_cgroup_find(file, &found, &err);

    fclose(file);
    return status;
}

static void version_1_is_found_by_its_cpu_option(void)
{
    CU_ASSERT_EQUAL(
        find_in("20 1 0:5 / /proc rw - proc proc rw,cpu\n"
                "30 1 0:9 / /cg/cpuset rw shared:9 - cgroup none rw,cpuset\n"
                "31 1 0:9 / /cg/acct rw - cgroup none rw,cpuacct\n"
                "32 1 0:9 / /cg/cpu rw shared:1 master:2 - cgroup none "
                "rw,cpuacct,cpu\n"),
        NF_OK);
    CU_ASSERT_EQUAL(found.version, 1);
    CU_ASSERT_STRING_EQUAL(found.base, "/cg/cpu");
}

/* A tree of version 2; its controllers. */
static void make_v2(const char *controllers, const char *subtree)
{
    char line[600];

    mkdir(nf_tmp("v2"), 0700);
    nf_tmp_write("v2/cgroup.controllers", controllers);
    nf_tmp_write("v2/cgroup.subtree_control", subtree);
    snprintf(line, sizeof(line), "20 1 0:5 / %s rw - cgroup2 cgroup2 rw\n",
             nf_tmp("v2"));
    nf_tmp_write("v2-mounts", line);
}

static enum nf_status find_v2(void)
{
    FILE *file = fopen(nf_tmp("v2-mounts"), "r");
    struct nf_error err;
    enum nf_status status = lab_cgroup_find(file, &found, &err);

    fclose(file);
    return status;
}

static void version_2_is_found_by_its_cpu_controller(void)
{
    make_v2("cpuset io memory\n", "");
    CU_ASSERT_EQUAL(find_v2(), NF_ERR_UNREACHABLE);
    make_v2("cpuset cpu io\n", "");
    CU_ASSERT_EQUAL(find_v2(), NF_OK);
    CU_ASSERT_EQUAL(found.version, 2);
}

static void no_hierarchy_is_told_in_one_line(void)
{
    CU_ASSERT_EQUAL(find_in(""), NF_ERR_UNREACHABLE);
    CU_ASSERT_EQUAL(find_in("garbage\n - \n1 2 3 4 5 - cgroup\n"),
                    NF_ERR_UNREACHABLE);
}

static const char *content(const char *name)
{
    static char text[128];
    FILE *file = fopen(nf_tmp(name), "r");

    text[0] = '\0';
    if (file != NULL) {
        if (fgets(text, sizeof(text), file) == NULL)
            text[0] = '\0';
        fclose(file);
    }
    return text;
}

static void version_2_gets_quota_and_period_in_one_line(void)
{
    struct lab lab = { .name = "own" };
    struct nf_error err;

    make_v2("cpu\n", "");
    CU_ASSERT_EQUAL(find_v2(), NF_OK);
    CU_ASSERT_EQUAL(lab_cgroup_make(&found, &lab, 2, &err), NF_OK);
    CU_ASSERT_STRING_EQUAL(content("v2/cgroup.subtree_control"), "+cpu");
    CU_ASSERT_EQUAL(access(nf_tmp("v2/nowfarm-lab.own.ws1"), F_OK), 0);
    nf_tmp_write("v2/nowfarm-lab.own.ws1/cpu.max", "");
    nf_tmp_write("v2/nowfarm-lab.own.ws1/cgroup.procs", "");
    CU_ASSERT_EQUAL(lab_cgroup_limit(&found, &lab, "ws1", 25, &err), NF_OK);
    CU_ASSERT_STRING_EQUAL(content("v2/nowfarm-lab.own.ws1/cpu.max"),
                           "1250 5000");
    nf_tmp_write("v2/nowfarm-lab.own.ws1/cpu.max", "");
    CU_ASSERT_EQUAL(lab_cgroup_limit(&found, &lab, "ws1", 0, &err), NF_OK);
    CU_ASSERT_STRING_EQUAL(content("v2/nowfarm-lab.own.ws1/cpu.max"), "max");
    lab_cgroup_join(&found, &lab, "ws1");
    CU_ASSERT_STRING_EQUAL(content("v2/nowfarm-lab.own.ws1/cgroup.procs"), "0");
    CU_ASSERT_EQUAL(lab_cgroup_limit(&found, &lab, "ws7", 25, &err),
                    NF_ERR_UNREACHABLE);

    unlink(nf_tmp("v2/nowfarm-lab.own.ws1/cpu.max"));
    unlink(nf_tmp("v2/nowfarm-lab.own.ws1/cgroup.procs"));
}

static void version_1_gets_quota_and_period_in_two_files(void)
{
    struct lab lab = { .name = "own" };
    struct lab_cgroup v1 = { .version = 1 };
    struct nf_error err;

    mkdir(nf_tmp("v1"), 0700);
    snprintf(v1.base, sizeof(v1.base), "%.255s", nf_tmp("v1"));
    CU_ASSERT_EQUAL(lab_cgroup_make(&v1, &lab, 1, &err), NF_OK);
    nf_tmp_write("v1/nowfarm-lab.own.ws0/cpu.cfs_quota_us", "");
    nf_tmp_write("v1/nowfarm-lab.own.ws0/cpu.cfs_period_us", "");
    CU_ASSERT_EQUAL(lab_cgroup_limit(&v1, &lab, "ws0", 50, &err), NF_OK);
    CU_ASSERT_STRING_EQUAL(content("v1/nowfarm-lab.own.ws0/cpu.cfs_quota_us"),
                           "2500");
    CU_ASSERT_STRING_EQUAL(content("v1/nowfarm-lab.own.ws0/cpu.cfs_period_us"),
                           "5000");
    unlink(nf_tmp("v1/nowfarm-lab.own.ws0/cpu.cfs_quota_us"));
    CU_ASSERT_EQUAL(lab_cgroup_limit(&v1, &lab, "ws0", 50, &err),
                    NF_ERR_UNREACHABLE); /* a kernel without quotas */
}

static void only_groups_of_this_lab_are_removed(void)
{
    static const char *const strangers[] = { "v3/nowfarm-lab.own-2.ws0",
                                             "v3/nowfarm-lab.own2.ws0",
                                             "v3/system.slice" };
    struct lab lab = { .name = "own" };
    struct lab_cgroup cgroup = { .version = 1 };
    struct nf_error err;

    mkdir(nf_tmp("v3"), 0700);
    for (int i = 0; i < 3; i++)
        mkdir(nf_tmp(strangers[i]), 0700);
    snprintf(cgroup.base, sizeof(cgroup.base), "%.255s", nf_tmp("v3"));
    CU_ASSERT_EQUAL(lab_cgroup_make(&cgroup, &lab, 12, &err), NF_OK);
    CU_ASSERT_EQUAL(lab_cgroup_make(&cgroup, &lab, 12, &err),
                    NF_ERR_UNREACHABLE); /* taken: and then nothing is left */
    CU_ASSERT_EQUAL(lab_cgroup_make(&cgroup, &lab, 12, &err), NF_OK);
    CU_ASSERT_EQUAL(lab_cgroup_remove(&cgroup, &lab, &err), NF_OK);
    CU_ASSERT_NOT_EQUAL(access(nf_tmp("v3/nowfarm-lab.own.ws11"), F_OK), 0);
    CU_ASSERT_NOT_EQUAL(access(nf_tmp("v3/nowfarm-lab.own.ws0"), F_OK), 0);
    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(access(nf_tmp(strangers[i]), F_OK), 0);
}

static void quotas_are_never_below_the_kernels_least(void)
{
    static const double percents[] = { 1, 7, 10, 19, 20, 25, 50, 100, 350 };
    long quota_us, period_us;

    for (size_t i = 0; i < sizeof(percents) / sizeof(percents[0]); i++) {
        lab_cgroup_quota(percents[i], &quota_us, &period_us);
        CU_ASSERT(quota_us >= 1000);
        CU_ASSERT(period_us >= 5000 && period_us <= 1000000);
        CU_ASSERT_DOUBLE_EQUAL(100.0 * (double)quota_us / (double)period_us,
                               percents[i], percents[i] * 1e-3);
    }
}

int main(void)
{
    CU_TestInfo names[] = {
        { "names are letters, digits and dashes",
          names_are_letters_digits_and_dashes },
        { "the name comes from the environment or is lab",
          the_name_comes_from_the_environment_or_is_lab },
        { "a holder is known until it dies", a_holder_is_known_until_it_dies },
        { "removing follows no links and minds no permissions",
          removing_follows_no_links_and_minds_no_permissions },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo config[] = {
        { "a lab reads back what it wrote", a_lab_reads_back_what_it_wrote },
        { "hosts are known by their one name",
          hosts_are_known_by_their_one_name },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo groups[] = {
        { "version 1 is found by its cpu option",
          version_1_is_found_by_its_cpu_option },
        { "version 2 is found by its cpu controller",
          version_2_is_found_by_its_cpu_controller },
        { "no hierarchy is told in one line",
          no_hierarchy_is_told_in_one_line },
        { "version 2 gets quota and period in one line",
          version_2_gets_quota_and_period_in_one_line },
        { "version 1 gets quota and period in two files",
          version_1_gets_quota_and_period_in_two_files },
        { "only groups of this lab are removed",
          only_groups_of_this_lab_are_removed },
        { "quotas are never below the kernel's least",
          quotas_are_never_below_the_kernels_least },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "names and directories", nf_tmpdir_make, nf_tmpdir_remove, NULL, NULL,
          names },
        { "what is written down", nf_tmpdir_make, nf_tmpdir_remove, NULL, NULL,
          config },
        { "control groups", nf_tmpdir_make, nf_tmpdir_remove, NULL, NULL,
          groups },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
