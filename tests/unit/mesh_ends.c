/* Scenes of test_mesh_pvm in which members end, or give up, while others wait
 * for them to come or talk without a pause. */
#include "config.h"
#include <pvm3.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include "common/base/clock.h"
#include "tests/unit/mesh_play.h"

enum {
    LONG_US = 60000000, /* what nobody may wait for */
    SOON_US = 10000000,
    STOP_AFTER_US = 300000,
};

/* ------------------------------------------------------ while a mesh opens */

static volatile int stop;

static void on_alarm(int number)
{
    (void)number;
    stop = 1;
}

/* Opening fails, long before time is up. */
static void expect_failure(uint64_t id, enum nf_status status, const char *text)
{
    const struct nf_mesh_terms terms = { .id = id,
                                         .timeout_us = LONG_US,
                                         .stop = &stop };
    struct nf_error err = { NF_OK, "" };
    struct nf_mesh *mesh = NULL;
    int64_t start_us = nf_now_us();
    enum nf_status got = nf_mesh_open_pvm(tids, ntasks, &terms, &mesh, &err);

    if (got != status || strstr(err.text, text) == NULL)
        fprintf(stderr, "task %u: status %d, %s\n", me, (int)got, err.text);
    CHECK(got == status && mesh == NULL && strstr(err.text, text) != NULL);
    CHECK(nf_now_us() - start_us < SOON_US);
}

/* Task 2 stays away.  A signal handler ends the wait of one task, and so that
 * of all, whether it is the first one or not. */
void play_interrupted(void)
{
    struct sigaction action = { .sa_handler = on_alarm,
                                .sa_flags = SA_RESTART };
    struct itimerval once = { .it_value = { .tv_usec = STOP_AFTER_US } };
    struct nf_mesh *mesh;

    sigaction(SIGALRM, &action, NULL);
    for (uint32_t who = 0; who < 2 && me < 2; who++) {
        char text[64];

        stop = 0;
        snprintf(text, sizeof(text), "member %u of 3, task t%x, was", who,
                 (unsigned)tids[who]);
        if (who == me)
            setitimer(ITIMER_REAL, &once, NULL);
        expect_failure(who + 1, NF_ERR_INTERRUPTED,
                       who == me ? "interrupted" : text);
    }
    stop = 0;
    mesh = open_mesh(9);
    meet(mesh, 1);
    nf_mesh_close(mesh);
}

/* A task that ends before it has come is not waited for, whoever it is. */
void play_ended_early(void)
{
    char text[64];

    if (me == 2) {
        await_word(0);
        await_word(1);
        usleep(STOP_AFTER_US);
        raise(SIGKILL);
    }
    tell(2);
    snprintf(text, sizeof(text), "member 2 of 3, task t%x, has ended",
             (unsigned)tids[2]);
    expect_failure(1, NF_ERR_UNREACHABLE, text);
    expect_failure(2, NF_ERR_UNREACHABLE, text); /* nor one that has */
}

void play_first_ended_early(void)
{
    char text[64];

    if (me == 0) {
        await_word(1);
        await_word(2);
        usleep(STOP_AFTER_US);
        raise(SIGKILL);
    }
    tell(0);
    snprintf(text, sizeof(text), "member 0 of 3, task t%x, has ended",
             (unsigned)tids[0]);
    expect_failure(1, NF_ERR_UNREACHABLE, text);
}
