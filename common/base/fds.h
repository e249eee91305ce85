#ifndef NF_BASE_FDS_H
#define NF_BASE_FDS_H
/** @file fds.h  File descriptors of a process. */

#include <stdbool.h>

/** Descriptors 0 to 2 must be taken, or a file or socket that is opened would
 *  get the number of standard output or error and be written to.  What was
 *  closed can be neither read nor written, as before.  Call it first in main.
 *  @return false if /dev/null can't be opened */
bool nf_fds_open_standard(void);
#endif
