#ifndef NF_BASE_FDS_H
#define NF_BASE_FDS_H
/** @file fds.h  File descriptors of a process. */

/** Make descriptors 0 to 2 something harmless where they are closed, or a
 *  socket would get their numbers, and what is written for the user would go
 *  there.  Read-only, so that to write what nobody can see remains an error.
 *  Call it first in main. */
void nf_fds_open_standard(void);
#endif
