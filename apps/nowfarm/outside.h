#ifndef NF_APPS_NOWFARM_OUTSIDE_H
#define NF_APPS_NOWFARM_OUTSIDE_H
/** @file outside.h  The application of `nowfarm run` that is a program of its own,
 *  master and slave: fft, by nowfarm-fft, whose library is under the GPL. */
#include <stdbool.h>
#include <stddef.h>

/** Is @p name such an application, and none of this program's own? */
bool outside_is(const char *name);

/** Has nowfarm been built with it? */
bool outside_is_there(void);

/** Become that program: argv is that of `nowfarm run`, argv[1] the application.
 *  @return the exit status, with a line on standard error: it is not there */
int outside_become(const char **argv);

/** Have that program check the arguments.  @return the exit status, 0 if they are
 *  right */
int outside_check(const char **argv);
#endif
