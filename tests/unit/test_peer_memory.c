/* Reading what another process has lent. */
#include "config.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/net/peer_memory.h"
#include "tests/unit/nf_unit.h"

enum { BYTES = 64 << 10, PARTS = 700 };

/* The other process has this at the same addresses. */
static uint8_t data[BYTES];
static volatile uint64_t mark = 4711;
static uint8_t *mapped;

static struct nf_memory_part parts[PARTS];
static struct nf_memory_lent lent;

/* Each on a byte of its own, and every third. */
static void lend(pid_t pid)
{
    for (uint32_t i = 0; i < PARTS; i++)
        parts[i] = (struct nf_memory_part){ (uintptr_t)&data[3 * i], 2 };
    lent = (struct nf_memory_lent){
        .mark = { (uint32_t)pid, (uintptr_t)&mark, 4711 },
        .parts = parts,
        .nparts = PARTS,
    };
}

static void on_signal(int number)
{
    if (number == SIGUSR1)
        mark = 0;
    else
        munmap(mapped, BYTES);
}

/* @return its process id; it does what signals say and says so by stopping */
static pid_t start_lender(void)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    for (int i = 0; i < BYTES; i++)
        data[i] = (uint8_t)(i * 7 + 1);
    memset(mapped, 5, BYTES);
    signal(SIGUSR1, on_signal);
    signal(SIGUSR2, on_signal);
    nf_memory_open();
    for (;;)
        raise(SIGSTOP);
}

static void await_stop(pid_t pid)
{
    int status;

    CU_ASSERT_EQUAL(waitpid(pid, &status, WUNTRACED), pid);
    CU_ASSERT(WIFSTOPPED(status));
}

static void have(pid_t pid, int number)
{
    kill(pid, number);
    kill(pid, SIGCONT);
    await_stop(pid);
}

static bool is_right(uint64_t from, size_t bytes)
{
    static uint8_t got[2 * PARTS];
    bool right = nf_memory_read(&lent, from, got, bytes) == NF_OK;

    for (size_t i = 0; right && i < bytes; i++) {
        uint64_t at = from + i;

        right = got[i] == (uint8_t)((at / 2 * 3 + at % 2) * 7 + 1);
    }
    return right;
}

static void test_read(void)
{
    uint8_t got[2 * PARTS + 1];
    pid_t pid = start_lender();

    await_stop(pid);
    lend(pid);
    if (nf_memory_read(&lent, 0, NULL, 0) != NF_OK) {
        puts("this system does not allow it: not tested");
    } else {
        CU_ASSERT(is_right(0, 2 * PARTS));
        CU_ASSERT(is_right(0, 1));
        CU_ASSERT(is_right(2 * PARTS - 1, 1));
        CU_ASSERT(is_right(511, 1));
        CU_ASSERT(is_right(511, 515));
        CU_ASSERT(is_right(700, 600));
        CU_ASSERT_EQUAL(nf_memory_read(&lent, 0, got, 2 * PARTS + 1),
                        NF_ERR_UNREACHABLE); /* there is no more */
        CU_ASSERT_EQUAL(nf_memory_read(&lent, 2 * PARTS, got, 1),
                        NF_ERR_UNREACHABLE);
        lent.mark.value++;
        CU_ASSERT_EQUAL(nf_memory_read(&lent, 0, got, 4), NF_ERR_REVOKED);
        lent.mark.value--;
        lent.mark.at = 8;
        CU_ASSERT_EQUAL(nf_memory_read(&lent, 0, got, 4), NF_ERR_UNREACHABLE);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* Memory that goes while the mark is right is a lie, and else was taken back. */
static void test_taken_back(void)
{
    uint8_t got[16];
    pid_t pid = start_lender();

    await_stop(pid);
    lend(pid);
    parts[1] = (struct nf_memory_part){ (uintptr_t)mapped, 8 };
    if (nf_memory_read(&lent, 0, got, 10) == NF_OK) {
        have(pid, SIGUSR2);
        CU_ASSERT_EQUAL(nf_memory_read(&lent, 0, got, 10), NF_ERR_UNREACHABLE);
        CU_ASSERT_EQUAL(nf_memory_read(&lent, 0, got, 2), NF_OK);
        have(pid, SIGUSR1);
        CU_ASSERT_EQUAL(nf_memory_read(&lent, 0, got, 10), NF_ERR_REVOKED);
        CU_ASSERT_EQUAL(nf_memory_read(&lent, 0, got, 2), NF_ERR_REVOKED);
        CU_ASSERT_EQUAL(nf_memory_read(&lent, 0, NULL, 0), NF_ERR_REVOKED);
    }
    kill(pid, SIGKILL);
    while (nf_memory_read(&lent, 0, NULL, 0) == NF_ERR_REVOKED)
        usleep(1000);
    CU_ASSERT_EQUAL(nf_memory_read(&lent, 0, NULL, 0), NF_ERR_UNREACHABLE);
    waitpid(pid, NULL, 0);
    CU_ASSERT_EQUAL(nf_memory_read(&lent, 0, got, 2), NF_ERR_UNREACHABLE);
}

static CU_TestInfo tests[] = {
    { "any bytes of what is lent", test_read },
    { "nothing that was taken back, or of the dead", test_taken_back },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "memory of others", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    mapped = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mapped == MAP_FAILED ? 99 : nf_unit_main(suites);
}
