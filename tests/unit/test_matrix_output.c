/* Result files: complete or not there. */
#include "config.h"
#include "apps/output.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "tests/unit/nf_unit.h"

static char start[4096];
static char scratch[] = "test-output-XXXXXX";

static int enter_scratch(void)
{
    return getcwd(start, sizeof(start)) == NULL || mkdtemp(scratch) == NULL ||
           chdir(scratch) != 0;
}

static int leave_scratch(void)
{
    return chdir(start) != 0 || rmdir(scratch) != 0;
}

/* Files in the scratch directory, which is the current one. */
static int count_files(void)
{
    DIR *directory = opendir(".");
    int count = 0;

    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count - 2; /* "." and ".." */
}

static void put(const char *path, const char *text)
{
    FILE *stream = fopen(path, "w");

    fputs(text, stream);
    fclose(stream);
}

static bool contains(const char *path, const char *text)
{
    char found[64] = "";
    FILE *stream = fopen(path, "r");

    if (stream == NULL)
        return false;
    found[fread(found, 1, sizeof(found) - 1, stream)] = '\0';
    fclose(stream);
    return strcmp(found, text) == 0;
}

static void expect_refused(const char *path, const char *want)
{
    struct nf_output *output = NULL;
    struct nf_error err = { 0 };
    int files = count_files();

    CU_ASSERT_EQUAL(nf_output_check(path, &err), NF_ERR_INVAL);
    if (strstr(err.text, want) == NULL || strchr(err.text, '\n') != NULL) {
        printf("want '%s': '%s'\n", want, err.text);
        CU_FAIL("wrong message");
    }
    CU_ASSERT_EQUAL(nf_output_open(path, &output, &err), NF_ERR_INVAL);
    CU_ASSERT_PTR_NULL(output);
    CU_ASSERT_EQUAL(count_files(), files);
}

static void test_bad_paths(void)
{
    char longer[5000];

    mkdir("directory", 0777);
    put("file", "old");
    mkfifo("fifo", 0666);
    CU_ASSERT_EQUAL(symlink("nowhere", "dangling"), 0);
    CU_ASSERT_EQUAL(symlink("directory", "link"), 0);
    expect_refused("", "empty name");
    expect_refused("-", "want a file");
    expect_refused("directory", "directory: is a directory (want a file)");
    expect_refused("directory/", "is a directory");
    expect_refused("link", "link: is a directory");
    expect_refused("new/", "new/: is the name of a directory");
    expect_refused(".", "is a directory");
    expect_refused("/", "is a directory");
    expect_refused("none/C.npy", "none/C.npy: there is no directory 'none'");
    expect_refused("file/C.npy", "'file' is not a directory");
    expect_refused("fifo", "exists and is not a regular file");
    expect_refused("/dev/null", "exists and is not a regular file");
    expect_refused("dangling", "is a symbolic link that leads nowhere");
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    expect_refused(longer, "File name too long");
    longer[300] = '\0';
    expect_refused(longer, "File name too long");
    if (geteuid() != 0) {
        chmod("directory", 0555);
        expect_refused("directory/C", "cannot create files in directory");
        chmod("file", 0444);
        expect_refused("file", "exists and cannot be overwritten");
    }
    CU_ASSERT(contains("file", "old"));
    rmdir("directory");
    unlink("file");
    unlink("fifo");
    unlink("dangling");
    unlink("link");
}

static void expect_same(const char *path, const char *other, bool same)
{
    CU_ASSERT_EQUAL(nf_output_is_same(path, other), same);
    CU_ASSERT_EQUAL(nf_output_is_same(other, path), same);
}

static void test_names_of_one_file(void)
{
    char longer[5000];

    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    mkdir("here", 0777);
    mkdir("there", 0777);
    CU_ASSERT_EQUAL(symlink("here", "link"), 0);
    for (int is_there = 0; is_there < 2; is_there++) {
        expect_same("new", "new", true);
        expect_same("new", "./new", true);
        expect_same("new", "here/../new", true);
        expect_same("here/new", "link/new", true);
        expect_same("here/new", "there/../link//new", true);
        expect_same("new", "news", false);
        expect_same("new", "here/new", false);
        expect_same("here/new", "there/new", false);
        expect_same("none/new", "./none/new", false);
        expect_same("new", longer, false);
        put("new", "");
        put("here/new", "");
    }
    unlink("new");
    unlink("here/new");
    unlink("link");
    rmdir("here");
    rmdir("there");
}

static struct nf_output *begin(const char *path, const char *text)
{
    struct nf_output *output = NULL;
    struct nf_error err;

    CU_ASSERT_EQUAL(nf_output_open(path, &output, &err), NF_OK);
    if (output != NULL)
        CU_ASSERT_EQUAL(nf_output_write(output, text, strlen(text), &err),
                        NF_OK);
    return output;
}

static void test_commit(void)
{
    struct nf_output *output;
    struct stat info;
    mode_t mask = umask(027);

    CU_ASSERT_EQUAL(nf_output_check("result", NULL), NF_OK);
    CU_ASSERT_EQUAL(count_files(), 0);
    output = begin("result", "new");
    CU_ASSERT_EQUAL(access("result", F_OK), -1);
    CU_ASSERT_EQUAL(nf_output_commit(output, NULL), NF_OK);
    CU_ASSERT(contains("result", "new"));
    CU_ASSERT_EQUAL(count_files(), 1);
    CU_ASSERT_EQUAL(stat("result", &info), 0);
    CU_ASSERT_EQUAL(info.st_mode & 0777, 0640);
    umask(mask);
    unlink("result");
}

static void test_overwrite(void)
{
    struct nf_output *output;
    struct stat info;

    put("result", "old");
    chmod("result", 0604);
    CU_ASSERT_EQUAL(symlink("result", "link"), 0);
    output = begin("link", "new");
    CU_ASSERT(contains("result", "old"));
    CU_ASSERT_EQUAL(nf_output_commit(output, NULL), NF_OK);
    CU_ASSERT(contains("result", "new"));
    CU_ASSERT_EQUAL(stat("result", &info), 0);
    CU_ASSERT_EQUAL(info.st_mode & 0777, 0604);
    CU_ASSERT_EQUAL(lstat("link", &info), 0);
    CU_ASSERT(S_ISLNK(info.st_mode));
    unlink("link");
    unlink("result");
}

static void test_abort(void)
{
    struct nf_output *output;

    nf_output_abort(NULL);
    put("result", "old");
    output = begin("result", "half");
    CU_ASSERT_EQUAL(count_files(), 2);
    nf_output_abort(output);
    CU_ASSERT_EQUAL(count_files(), 1);
    CU_ASSERT(contains("result", "old"));
    unlink("result");
}

/* The target becomes a directory while the job runs. */
static void test_commit_that_fails(void)
{
    struct nf_output *output = begin("result", "new");
    struct nf_error err = { 0 };

    mkdir("result", 0777);
    CU_ASSERT_EQUAL(nf_output_commit(output, &err), NF_ERR_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "result: cannot rename"));
    CU_ASSERT_EQUAL(count_files(), 1);
    rmdir("result");
}

static void test_full_disk(void)
{
    struct rlimit old, small = { 1000, 1000 };
    struct nf_output *output;
    struct nf_error err = { 0 };
    char data[4000] = "";

    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    output = begin("result", "begin");
    setrlimit(RLIMIT_FSIZE, &small);
    CU_ASSERT_EQUAL(nf_output_write(output, data, sizeof(data), &err),
                    NF_ERR_IO);
    setrlimit(RLIMIT_FSIZE, &old);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "result: cannot write: File too"));
    nf_output_abort(output);
    CU_ASSERT_EQUAL(count_files(), 0);
}

static void test_many_at_a_time(void)
{
    struct nf_output *output[17] = { NULL };
    char name[32];
    int opened = 0;

    for (int i = 0; i < 17; i++) {
        snprintf(name, sizeof(name), "result%d", i);
        opened += nf_output_open(name, &output[i], NULL) == NF_OK;
    }
    CU_ASSERT_EQUAL(opened, 16); /* the 17th is refused */
    for (int i = 0; i < 17; i++)
        nf_output_abort(output[i]);
    CU_ASSERT_EQUAL(count_files(), 0);
    nf_output_abort(begin("again", "x"));
    CU_ASSERT_EQUAL(count_files(), 0);
}

static void end_on_signal(int number)
{
    (void)number;
    nf_output_cleanup();
    _exit(7);
}

/* Run `ending` in a child that is half way through writing; the child of an
 * unrelated fork must not clean up after its parent.
 * @return the exit status of the child */
static int end_half_way(void (*ending)(void))
{
    pid_t child;
    int status = 0;

    fflush(NULL);
    child = fork();
    if (child == 0) {
        struct nf_output *output;

        if (nf_output_open("result", &output, NULL) == NF_OK &&
            nf_output_write(output, "half", 4, NULL) == NF_OK &&
            count_files() == 1)
            ending();
        _exit(99);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void by_signal(void)
{
    signal(SIGTERM, end_on_signal);
    raise(SIGTERM);
}

static void by_exit(void)
{
    exit(8);
}

static void test_interrupts(void)
{
    CU_ASSERT_EQUAL(end_half_way(by_signal), 7);
    CU_ASSERT_EQUAL(count_files(), 0);
    CU_ASSERT_EQUAL(end_half_way(by_exit), 8);
    CU_ASSERT_EQUAL(count_files(), 0);
}

static void test_fork_leaves_parents_files(void)
{
    static struct nf_output *output; /* the child leaves it alone, too */
    pid_t child;
    int status = 0;

    output = begin("result", "mine");
    fflush(NULL);
    child = fork();
    if (child == 0) {
        nf_output_cleanup();
        _exit(0);
    }
    waitpid(child, &status, 0);
    CU_ASSERT_EQUAL(count_files(), 1);
    CU_ASSERT_EQUAL(nf_output_commit(output, NULL), NF_OK);
    CU_ASSERT(contains("result", "mine"));
    unlink("result");
}

static void test_out_of_memory(void)
{
    struct nf_output *output = NULL;
    enum nf_status status = NF_ERR_NOMEM;
    long allowed = 0;

    for (; status == NF_ERR_NOMEM && allowed < 10; allowed++) {
        nf_alloc_fail_after(allowed);
        status = nf_output_open("result", &output, NULL);
        nf_alloc_fail_after(-1);
        CU_ASSERT_EQUAL(count_files(), status == NF_OK);
    }
    CU_ASSERT_EQUAL(status, NF_OK);
    CU_ASSERT(allowed > 1);
    nf_output_abort(output);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "bad paths are refused and nothing is created", test_bad_paths },
        { "one file is known by its names, also before it is there",
          test_names_of_one_file },
        { "a new file appears at commit, with the usual permissions",
          test_commit },
        { "an old file is replaced at commit, links and permissions stay",
          test_overwrite },
        { "an aborted file leaves the old one as it was", test_abort },
        { "a commit that fails leaves nothing behind", test_commit_that_fails },
        { "a full disk is reported and leaves nothing behind", test_full_disk },
        { "too many files at a time are refused", test_many_at_a_time },
        { "a signal or an exit half way leaves nothing behind",
          test_interrupts },
        { "a forked child does not remove its parent's files",
          test_fork_leaves_parents_files },
        { "running out of memory leaves nothing behind", test_out_of_memory },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "output", enter_scratch, leave_scratch, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
