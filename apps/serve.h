#ifndef NF_APPS_SERVE_H
#define NF_APPS_SERVE_H
/** @file serve.h  What a program does that a master has started. */

/** Compute units of the applications in nf_app_table[] until the master at
 *  @p address (the value of NF_SLAVE_VARIABLE) is done.
 *  @param program  for error messages
 *  @return the exit status of the process */
int nf_app_serve(const char *program, const char *address);
#endif
