#ifndef NF_APPS_NOWFARM_COLL_SIGNALS_H
#define NF_APPS_NOWFARM_COLL_SIGNALS_H
/** @file coll_signals.h  A signal while members measure ends that in order;
 *  before and after, or the second time, at once: the keeper cleans up behind
 *  us. */
#include <signal.h>

/** Becomes 1: end what is being measured. */
extern volatile int coll_stop_asked;
/** Set while there is something to end in order. */
extern volatile sig_atomic_t coll_measuring;

/** Catch SIGTERM, and SIGINT and SIGHUP unless they are ignored; ignore
 *  SIGPIPE. */
void coll_catch_signals(void);
#endif
