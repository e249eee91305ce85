#include "config.h"
#include "tests/unit/replay_fixture.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void open_trace(struct fixture *f, const char *path)
{
    struct nf_error err = { .text = "" };

    if (nf_history_read(path, &f->h, &err) != NF_OK ||
        model_fit(&f->h, &f->m, &err) != NF_OK ||
        model_world(&f->m, &f->world, &err) != NF_OK) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
}

void close_trace(struct fixture *f)
{
    nf_world_fini(&f->world);
    model_fini(&f->m);
    nf_history_fini(&f->h);
}

bool near(double got, double want, double share)
{
    if (fabs(got - want) <= share * fabs(want))
        return true;
    fprintf(stderr, "%g is not within %g %% of %g\n", got, 100 * share, want);
    return false;
}
