#ifndef NF_APPS_NOWFARM_CHILD_H
#define NF_APPS_NOWFARM_CHILD_H
/** @file child.h  Other programs, one at a time: run, wait, exit status.
 *
 *  A child ends with us: it gets SIGTERM when we die, and the signals that ask
 *  us to end.  It does not get those of the terminal, which would count twice:
 *  it has a process group of its own. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include "nowfarm.h"

/** Status of a program that could not be run, as the shell has it. */
enum { CHILD_NOT_FOUND = 127 };

/** Holds back SIGINT, SIGTERM and SIGHUP (unless ignored) from enter to leave,
 *  so that a series of children can be stopped in order. */
struct child_guard {
    sigset_t before, asked;
    int interrupted; /**< the last of them that came since enter; 0: none */
};

void child_guard_enter(struct child_guard *guard);
/** Look, without waiting.  @return whether one came */
bool child_guard_look(struct child_guard *guard);
/** Signals work as before; those that came are taken. */
void child_guard_leave(struct child_guard *guard);

struct child {
    const char *program;     /**< a path, or a name to look up in PATH */
    const char *const *argv; /**< ends with NULL */
    FILE *in, *out, *err;    /**< flushed; NULL: /dev/null */
};

/** Run a child to its end.  If the guard is interrupted it is sent SIGTERM
 * (once a signal) and waited for all the same.
 *  @param guard   entered; NULL: one for this child only, which passes on a
 *                 signal to this process when the child has ended
 *  @param exit_p  its exit status; 128 + n if signal n ended it;
 *                 CHILD_NOT_FOUND if there is no such program
 *  @retval NF_ERR_FAILED  no process could be made */
enum nf_status child_run(const struct child *child, struct child_guard *guard,
                         int *exit_p, struct nf_error *err);

/** A file without a name for a child to read from or write to; no child but the
 *  one that is given it sees it.  fclose() it.  @return NULL with errno set */
FILE *child_scratch(void);

/** The last line that is not empty of what a child wrote to @p from, without
 *  "nowfarm: " before it, made fit to be printed; "" if there is none.
 *  @return text */
const char *child_last_line(FILE *from, char *text, size_t bytes);
#endif
