#ifndef NF_NET_PIPE_SIGNAL_H
#define NF_NET_PIPE_SIGNAL_H
/** @file pipe_signal.h  Writing to the direct route of a task that has just
 *  died raises SIGPIPE in the thread that writes.  The programs that use this
 *  library need not know: each thread that sends does without that signal from
 *  then on. */

/** In this thread.  Costs a system call the first time. */
void nf_pipe_signal_block(void);
/** Take what has come, and have the signal as before, in this thread. */
void nf_pipe_signal_unblock(void);
#endif
