/* How a slave process ends: by _exit, whatever its kernels and its transport
 * are doing.  Each case runs in a child process of its own. */
#include "config.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tests/unit/fake_master.h"
#include "tests/unit/nf_unit.h"

#ifdef __SANITIZE_THREAD__
/* Threads that are in a kernel when the process ends are the point here. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "report_thread_leaks=0";
}
#endif

static atomic_int inside;

static int hang(const struct nf_work *work)
{
    (void)work;
    atomic_store(&inside, getenv(NF_SLAVE_VARIABLE) == NULL ? 1 : 2);
    while (pause() != 0)
        continue;
    return 0;
}

static const struct nf_app app_hang = { .name = "hang", .compute = hang };

/* Run `body` in a child.  @return its exit status, or minus its signal; 98 is
 * for "still alive". */
static int in_child(void (*body)(void))
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        alarm(60);
        setenv(NF_SLAVE_VARIABLE, "pvm:test", 1);
        body();
        sleep(50);
        _exit(98);
    }
    CU_ASSERT_TRUE_FATAL(pid > 0);
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* A slave with two slots; one of them hangs in a kernel. */
static void start_hung(struct fake_master *fm, int64_t master_silence_us,
                       int64_t unit_timeout_us)
{
    struct nf_job_msg job = fake_job(&app_hang, 2);

    job.master_silence_us = master_silence_us;
    job.unit_timeout_us = unit_timeout_us;
    fake_open(fm, &app_hang, false);
    fake_expect(fm, NF_MSG_HELLO);
    fake_send_job(fm, &job);
    fake_expect(fm, NF_MSG_READY);
    fake_send_lease(fm, 0, 1, 0, 1);
    while (atomic_load(&inside) == 0)
        usleep(1000);
    if (atomic_load(&inside) != 1)
        _exit(97);
}

static void child_stop(void)
{
    static struct fake_master fm; /* the slave outlives this function */

    start_hung(&fm, 100000000, 0);
    raise(SIGINT); /* the master decides */
    fake_send(&fm, NF_MSG_STOP, NULL, NULL);
}

static void child_silence(void)
{
    static struct fake_master fm; /* the slave outlives this function */

    start_hung(&fm, 200000, 0);
}

static void child_timeout(void)
{
    static struct fake_master fm; /* the slave outlives this function */

    start_hung(&fm, 100000000, 100000);
    if (!fake_expect(&fm, NF_MSG_UNIT_FAILED)->failed.timeout)
        _exit(96);
}

static void child_master_gone(void)
{
    static struct fake_master fm; /* the slave outlives this function */

    start_hung(&fm, 100000000, 0);
    fake_close(&fm);
}

/* A port that hands out one JOB and then blocks for ever, as PVM does when the
 * other host has died; or else says STOP, and blocks when it is closed. */
static int received;
static bool block_in_close;

static void block(void)
{
    while (pause() != 0)
        continue;
}

static enum nf_status stuck_send(struct nf_port *port, const struct nf_msg *msg)
{
    (void)port;
    (void)msg;
    return NF_OK;
}

static enum nf_status stuck_receive(struct nf_port *port, struct nf_msg *msg_p)
{
    struct nf_job_msg job = fake_job(&app_hang, 1);
    static struct nf_body body;

    (void)port;
    if (received++ > 0) {
        if (!block_in_close)
            block();
        *msg_p = (struct nf_msg){ NF_MSG_STOP, NULL, 0, NULL };
        return NF_OK;
    }
    job.master_silence_us = block_in_close ? 100000000 : 100000;
    nf_put_job(&body, &job);
    *msg_p = (struct nf_msg){ NF_MSG_JOB, body.data, body.bytes, NULL };
    return NF_OK;
}

static void stuck_close(struct nf_port *port)
{
    (void)port;
    block();
}

static void child_stuck(void)
{
    static const struct nf_port_ops ops = { .send = stuck_send,
                                            .receive = stuck_receive,
                                            .close = stuck_close };
    static const struct nf_app *const apps[] = { &app_hang, NULL };
    struct nf_slave_config config = { .apps = apps };
    struct nf_port port = { .ops = &ops };

    nf_slave_serve(&port, &config);
}

static void child_stuck_close(void)
{
    block_in_close = true;
    child_stuck();
}

static void test_stop(void)
{
    CU_ASSERT_EQUAL(in_child(child_stop), 0);
}

static void test_silence(void)
{
    CU_ASSERT_EQUAL(in_child(child_silence), 1);
}

static void test_timeout(void)
{
    CU_ASSERT_EQUAL(in_child(child_timeout), 1);
}

static void test_master_gone(void)
{
    CU_ASSERT_EQUAL(in_child(child_master_gone), 1);
}

static void test_stuck(void)
{
    CU_ASSERT_EQUAL(in_child(child_stuck), 1);
}

static void test_stuck_close(void)
{
    CU_ASSERT_EQUAL(in_child(child_stuck_close), 0);
}

static CU_TestInfo tests[] = {
    { "stop ends it with 0 while a kernel hangs", test_stop },
    { "a silent master ends it while a kernel hangs", test_silence },
    { "a unit over its limit ends it", test_timeout },
    { "a lost master ends it while a kernel hangs", test_master_gone },
    { "a transport that blocks for ever does not keep it", test_stuck },
    { "nor does one that can't be closed", test_stuck_close },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "slave process", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
