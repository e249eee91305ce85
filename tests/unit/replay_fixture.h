#ifndef NF_TESTS_REPLAY_FIXTURE_H
#define NF_TESTS_REPLAY_FIXTURE_H
/** @file replay_fixture.h  A trace with what replay makes of it. */
#include "apps/nowfarm/replay.h"

struct fixture {
    struct nf_history h;
    struct replay_model m;
    struct nf_world world;
};

/** Read @p path and fit.  Any failure ends the test program. */
void open_trace(struct fixture *f, const char *path);
void close_trace(struct fixture *f);
/** Are they within @p share of @p want?  If not, say so. */
bool near(double got, double want, double share);
#endif
