/* Signals while members measure. */
#include "config.h"
#include "apps/nowfarm/coll_signals.h"
#include <unistd.h>
#include "apps/nowfarm/cli.h"
#include "apps/output.h"

volatile int coll_stop_asked;
volatile sig_atomic_t coll_measuring;
static volatile sig_atomic_t nsignals;

static void on_signal(int number)
{
    static const char line[] = "nowfarm: interrupted\n";

    (void)number;
    if (coll_measuring && nsignals++ == 0) {
        coll_stop_asked = 1;
        return;
    }
    nf_output_cleanup();
    if (write(STDERR_FILENO, line, sizeof(line) - 1) < 0)
        _exit(NF_EXIT_INTERRUPTED);
    _exit(NF_EXIT_INTERRUPTED);
}

void coll_catch_signals(void)
{
    static const int numbers[] = { SIGTERM, SIGINT, SIGHUP };
    struct sigaction action = { .sa_handler = on_signal }, before;

    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (numbers[i] == SIGTERM ||
            (sigaction(numbers[i], NULL, &before) == 0 &&
             before.sa_handler != SIG_IGN))
            sigaction(numbers[i], &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}
