/* See pipe_signal.h. */
#include "config.h"
#include "common/net/pipe_signal.h"
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

/* Asked once a thread, as it is a system call: each message asks. */
static _Thread_local bool pipe_seen, pipe_blocked;

void nf_pipe_signal_block(void)
{
    sigset_t pipe, before;

    if (pipe_seen)
        return;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    if (pthread_sigmask(SIG_BLOCK, &pipe, &before) != 0)
        return;
    pipe_seen = true;
    pipe_blocked = sigismember(&before, SIGPIPE) == 0;
}

void nf_pipe_signal_unblock(void)
{
    const struct timespec at_once = { 0 };
    sigset_t pipe;

    pipe_seen = false;
    if (!pipe_blocked)
        return;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    while (sigtimedwait(&pipe, NULL, &at_once) > 0)
        ;
    pthread_sigmask(SIG_UNBLOCK, &pipe, NULL);
    pipe_blocked = false;
}
