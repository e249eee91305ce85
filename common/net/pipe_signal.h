#ifndef NF_NET_PIPE_SIGNAL_H
#define NF_NET_PIPE_SIGNAL_H
/** @file pipe_signal.h  Writing to the direct route of a task that has just
 * died raises SIGPIPE.  The programs that use this library need not know: while
 *  connected, this thread does without that signal. */

void nf_pipe_signal_block(void);
/** Take what has come, and have the signal as before. */
void nf_pipe_signal_unblock(void);
#endif
