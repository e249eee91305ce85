/* Who has a hold on the virtual machine, and what becomes of it. */
#include "config.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/net/pvm.h"
#include "common/net/vm.h"
#include "tests/unit/own_pvm.h"

/* Fail to hold a virtual machine in `path`, with a line that says `why`. */
static void no_machine(const char *path, const char *why)
{
    struct nf_error err = { NF_OK, "" };

    setenv("PVM_TMP", path, 1);
    CU_ASSERT_EQUAL(nf_vm_hold(&err), NF_ERR_UNREACHABLE);
    CU_ASSERT_EQUAL(nf_exit_status(err.status), 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, why));
    CU_ASSERT_PTR_NULL(strchr(err.text, '\n'));
    if (strstr(err.text, why) == NULL)
        fprintf(stderr, "want \"%s\", got \"%s\"\n", why, err.text);
    setenv("PVM_TMP", own_pvm_folder, 1);
}

static void test_bad_folders(void)
{
    char path[6000];

    nf_vm_release(); /* of the set-up */
    no_machine("/nonexistent/pvm", "No such file");
    no_machine("/dev/null", "Not a directory");
    no_machine("/proc", "can't be used");
    no_machine("tmp", "absolute"); /* pvmd would put it into its own folder */
    memset(path, 'x', sizeof(path));
    memcpy(path, "/tmp/", 5);
    for (size_t bytes = sizeof(path) - 1; bytes > 90; bytes /= 2) {
        path[bytes] = '\0';
        no_machine(path, "too long");
    }
    setenv("PVM_VMID", "../../a/b", 1);
    no_machine(own_pvm_folder, "PVM_VMID");
    unsetenv("PVM_VMID");
    CU_ASSERT_EQUAL(nf_vm_hold(NULL), NF_OK);
}

static bool pvmd_file_is_there(void)
{
    char path[64];

    snprintf(path, sizeof(path), "%s/pvmd.%ld", own_pvm_folder, (long)getuid());
    return access(path, F_OK) == 0;
}

/* Two users of one machine; it goes with the second.  The other one is a
 * process of its own, that says when it is there and waits to be told. */
static void test_last_user_halts(void)
{
    int to[2], from[2], status = -1;
    char byte = 0;
    pid_t pid;

    nf_vm_release(); /* of the set-up */
    CU_ASSERT_FALSE(pvmd_file_is_there());
    CU_ASSERT_EQUAL_FATAL(pipe(to), 0);
    CU_ASSERT_EQUAL_FATAL(pipe(from), 0);
    pid = fork();
    if (pid == 0) {
        bool held = nf_vm_hold(NULL) == NF_OK;

        if (!held || write(from[1], "h", 1) != 1 || read(to[0], &byte, 1) != 1)
            _exit(1);
        nf_vm_release();
        _exit(pvmd_file_is_there() ? 0 : 2);
    }
    CU_ASSERT_EQUAL(read(from[0], &byte, 1), 1);
    CU_ASSERT(pvmd_file_is_there());
    CU_ASSERT_EQUAL(nf_vm_hold(NULL), NF_OK);
    CU_ASSERT_EQUAL(write(to[1], "g", 1), 1);
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT_EQUAL(status, 0); /* it started it and left it to us */
    nf_vm_release();
    CU_ASSERT_FALSE(pvmd_file_is_there());
    CU_ASSERT_EQUAL(nf_vm_hold(NULL), NF_OK);
    for (int i = 0; i < 2; i++) {
        close(to[i]);
        close(from[i]);
    }
}

/* A user that is killed lets go of the machine, too. */
static void test_killed_user(void)
{
    pid_t pid;
    int from[2], status;
    char byte;

    nf_vm_release();
    CU_ASSERT_EQUAL_FATAL(pipe(from), 0);
    pid = fork();
    if (pid == 0) {
        if (nf_vm_hold(NULL) == NF_OK && write(from[1], "h", 1) == 1)
            pause();
        _exit(1);
    }
    CU_ASSERT_EQUAL(read(from[0], &byte, 1), 1);
    CU_ASSERT(pvmd_file_is_there());
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    for (int i = 0; i < 1000 && pvmd_file_is_there(); i++)
        usleep(10000);
    CU_ASSERT_FALSE(pvmd_file_is_there());
    CU_ASSERT_EQUAL(nf_vm_hold(NULL), NF_OK);
    close(from[0]);
    close(from[1]);
}

/* A slave or worker that is just ending, after its master has let go. */
static void test_task_that_is_ending(void)
{
    int from[2], status = -1, tid;
    char byte;
    pid_t pid;

    CU_ASSERT_EQUAL_FATAL(pipe(from), 0);
    pid = fork();
    if (pid == 0) {
        for (int fd = 3; fd < 256; fd++) /* our hold on the machine, too */
            if (fd != from[1])
                close(fd);
        if (nf_pvm_enroll(&tid) != NF_OK || write(from[1], "h", 1) != 1)
            _exit(1);
        usleep(300000);
        nf_pvm_leave();
        _exit(0);
    }
    CU_ASSERT_EQUAL(read(from[0], &byte, 1), 1);
    nf_vm_release();
    CU_ASSERT_FALSE(pvmd_file_is_there());
    CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
    CU_ASSERT_EQUAL(status, 0); /* it was let out, not halted */
    CU_ASSERT_EQUAL(nf_vm_hold(NULL), NF_OK);
    close(from[0]);
    close(from[1]);
}

static void test_formats_of_hosts(void)
{
    static const struct nf_pvm_host hosts[] = {
        { .name = "a", .tid = 0x40000, .format = 0x408841 },
        { .name = "b", .tid = 0x80000, .format = 0x408c41 },
        { .name = "c", .tid = 0xc0000, .format = 0x408841 },
    };
    enum { STRANGER = 0x100000 };

    CU_ASSERT(!nf_pvm_formats_differ(hosts, 3, 0x40000, 0x40000));
    CU_ASSERT(!nf_pvm_formats_differ(hosts, 3, 0x40000, 0xc0000));
    CU_ASSERT(!nf_pvm_formats_differ(hosts, 3, 0xc0000, 0x40000));
    CU_ASSERT(nf_pvm_formats_differ(hosts, 3, 0x40000, 0x80000));
    CU_ASSERT(nf_pvm_formats_differ(hosts, 3, 0x80000, 0xc0000));
    CU_ASSERT(nf_pvm_formats_differ(hosts, 3, 0x40000, STRANGER));
    CU_ASSERT(nf_pvm_formats_differ(hosts, 3, STRANGER, 0x40000));
    CU_ASSERT(nf_pvm_formats_differ(hosts, 3, STRANGER, STRANGER));
    CU_ASSERT(nf_pvm_formats_differ(hosts, 2, 0x40000, 0xc0000));
    CU_ASSERT(nf_pvm_formats_differ(NULL, 0, 0x40000, 0x40000));
}

static CU_TestInfo tests[] = {
    { "hosts of one format need not convert", test_formats_of_hosts },
    { "folders that PVM can't use are named", test_bad_folders },
    { "the last user halts the machine", test_last_user_halts },
    { "a killed user lets go of the machine", test_killed_user },
    { "a task that is just ending keeps no machine", test_task_that_is_ending },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "virtual machine", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return own_pvm_run(suites);
}
