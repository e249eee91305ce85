/* Where daemon and clients meet: paths, permissions, dead and live daemons. */
#include "config.h"
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "master/endpoint.h"
#include "tests/unit/nf_tmpdir.h"
#include "tests/unit/nf_unit.h"

static mode_t mode_of(const char *path)
{
    struct stat info = { .st_mode = 0 };

    stat(path, &info);
    return info.st_mode & 07777;
}

static void the_path_is_option_then_environment_then_configuration(void)
{
    char path[NF_ENDPOINT_BYTES], want[64];

    setenv("NOWFARM_SOCKET", "/env", 1);
    CU_ASSERT_EQUAL(nf_endpoint_path("/opt", "/conf", path, NULL), NF_OK);
    CU_ASSERT_STRING_EQUAL(path, "/opt");
    nf_endpoint_path(NULL, "/conf", path, NULL);
    CU_ASSERT_STRING_EQUAL(path, "/env");
    unsetenv("NOWFARM_SOCKET");
    nf_endpoint_path(NULL, "/conf", path, NULL);
    CU_ASSERT_STRING_EQUAL(path, "/conf");
    setenv("XDG_RUNTIME_DIR", "/run/u", 1);
    nf_endpoint_path(NULL, NULL, path, NULL);
    CU_ASSERT_STRING_EQUAL(path, "/run/u/nowfarm/nowfarmd.sock");
    unsetenv("XDG_RUNTIME_DIR");
    nf_endpoint_path(NULL, NULL, path, NULL);
    snprintf(want, sizeof(want), "/tmp/nowfarm-%lu/nowfarmd.sock",
             (unsigned long)geteuid());
    CU_ASSERT_STRING_EQUAL(path, want);
}

static void paths_that_cannot_work_are_refused(void)
{
    char path[NF_ENDPOINT_BYTES] = "kept", longest[200];
    struct nf_error err;

    CU_ASSERT_EQUAL(nf_endpoint_path("x.sock", NULL, path, &err), NF_ERR_INVAL);
    memset(longest, 'x', sizeof(longest));
    longest[0] = '/';
    longest[NF_ENDPOINT_BYTES] = '\0';
    CU_ASSERT_EQUAL(nf_endpoint_path(longest, NULL, path, &err), NF_ERR_INVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "longer than 107"));
    CU_ASSERT_STRING_EQUAL(path, "kept");
    longest[NF_ENDPOINT_BYTES - 1] = '\0';
    CU_ASSERT_EQUAL(nf_endpoint_path(longest, NULL, path, &err), NF_OK);
}

static void directory_and_socket_are_the_users_alone(void)
{
    int lock = -1, fd = -1, client = -1;
    mode_t mask = umask(0); /* even then */

    CU_ASSERT_EQUAL(nf_endpoint_listen(nf_tmp("new/d.sock"), &lock, &fd, NULL),
                    NF_OK);
    umask(mask);
    CU_ASSERT_EQUAL(mode_of(nf_tmp("new")), 0700);
    CU_ASSERT_EQUAL(mode_of(nf_tmp("new/d.sock")), 0600);
    CU_ASSERT_EQUAL(mode_of(nf_tmp("new/d.sock.lock")), 0600);
    CU_ASSERT_EQUAL(nf_endpoint_connect(nf_tmp("new/d.sock"), &client, NULL),
                    NF_OK);
    CU_ASSERT_TRUE(nf_endpoint_peer_is_ours(client));
    close(client);
    close(fd);
    close(lock);
}

static void a_directory_open_to_others_is_refused(void)
{
    int lock, fd;
    struct nf_error err = { .text = "" };

    mkdir(nf_tmp("open"), 0700);
    chmod(nf_tmp("open"), 0777);
    CU_ASSERT_EQUAL(nf_endpoint_listen(nf_tmp("open/d.sock"), &lock, &fd, &err),
                    NF_ERR_INVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "not safe"));
    CU_ASSERT_EQUAL(symlink("/tmp", nf_tmp("link")), 0);
    CU_ASSERT_EQUAL(nf_endpoint_listen(nf_tmp("link/d.sock"), &lock, &fd, &err),
                    NF_ERR_INVAL);
    nf_tmp_write("file", "");
    CU_ASSERT_EQUAL(nf_endpoint_listen(nf_tmp("file/d.sock"), &lock, &fd, &err),
                    NF_ERR_INVAL);
}

static void what_is_not_a_socket_is_not_replaced(void)
{
    int lock, fd;
    struct nf_error err = { .text = "" };

    nf_tmp_write("precious", "data");
    CU_ASSERT_EQUAL(nf_endpoint_listen(nf_tmp("precious"), &lock, &fd, &err),
                    NF_ERR_INVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "is not a socket"));
    CU_ASSERT_EQUAL(access(nf_tmp("precious"), F_OK), 0);
}

/* A child that holds the endpoint until it is killed. */
static pid_t start_holder(const char *path)
{
    int ready[2], lock, fd;
    pid_t child;
    char byte = 0;

    if (pipe(ready) != 0)
        return -1;
    child = fork();
    if (child == 0) {
        byte = nf_endpoint_listen(path, &lock, &fd, NULL) == NF_OK;
        if (write(ready[1], &byte, 1) == 1)
            for (;;)
                pause();
        _exit(1);
    }
    CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
    CU_ASSERT_EQUAL(byte, 1);
    close(ready[0]);
    close(ready[1]);
    return child;
}

static void a_live_daemon_is_refused_and_a_dead_ones_socket_replaced(void)
{
    const char *path = nf_tmp("d.sock");
    pid_t holder = start_holder(path);
    struct nf_error err = { .text = "" };
    char want[64];
    int lock = -1, fd = -1;

    CU_ASSERT_EQUAL(nf_endpoint_listen(path, &lock, &fd, &err), NF_ERR_INVAL);
    snprintf(want, sizeof(want), "already runs (pid %ld)", (long)holder);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, want));
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    CU_ASSERT_EQUAL(access(path, F_OK), 0); /* it left its socket behind */
    CU_ASSERT_EQUAL(nf_endpoint_connect(path, &fd, &err), NF_ERR_UNREACHABLE);
    CU_ASSERT_EQUAL(nf_endpoint_listen(path, &lock, &fd, &err), NF_OK);
    close(fd);
    close(lock);
}

static void without_a_daemon_the_client_hears_how_to_start_one(void)
{
    struct nf_error err = { .text = "" };
    int fd;

    CU_ASSERT_EQUAL(nf_endpoint_connect(nf_tmp("none"), &fd, &err),
                    NF_ERR_UNREACHABLE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "start one: nowfarmd"));
}

static void only_chosen_variables_travel(void)
{
    static const char *const yes[] = {
        "PATH",        "PATH=/bin",         "HOME=/x",
        "PVM_ROOT=/y", "NOWFARM_LOG=debug", "OPENBLAS_NUM_THREADS=1"
    };
    static const char *const no[] = { "LD_PRELOAD=x",  "PATHS=1",
                                      "HOMER",         "PVM_TMP=/t",
                                      "PVM_VMID=3",    "NOWFARM_SOCKET=/s",
                                      "NOWFARM_JOB=3", "" };

    for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
        CU_ASSERT_TRUE(nf_endpoint_env_travels(yes[i]));
    for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
        CU_ASSERT_FALSE(nf_endpoint_env_travels(no[i]));
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "the path is option, then environment, then configuration",
          the_path_is_option_then_environment_then_configuration },
        { "paths that cannot work are refused",
          paths_that_cannot_work_are_refused },
        { "directory and socket are the user's alone",
          directory_and_socket_are_the_users_alone },
        { "a directory open to others is refused",
          a_directory_open_to_others_is_refused },
        { "what is not a socket is not replaced",
          what_is_not_a_socket_is_not_replaced },
        { "a live daemon is refused and a dead one's socket replaced",
          a_live_daemon_is_refused_and_a_dead_ones_socket_replaced },
        { "without a daemon the client hears how to start one",
          without_a_daemon_the_client_hears_how_to_start_one },
        { "only chosen variables travel", only_chosen_variables_travel },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "the endpoint", nf_tmpdir_make, nf_tmpdir_remove, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
