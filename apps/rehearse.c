/* A small job, phase after phase, unit after unit, in some threads at once. */
#include "config.h"
#include <stddef.h>
#include "apps/rehearse.h"
#include <math.h>
#include <pthread.h>
#include "common/base/alloc.h"
#include "common/base/blob.h"
#include "common/base/clock.h"

struct stage {
    const struct nf_app *app;
    uint64_t units;
    struct nf_buf shared, *input, *result; /* [units] */
    uint64_t *out, *in_at;                 /* [units][units], [units][units + 1] */
    const void **in_pieces;                /* [units] of the one that is computed */
    int64_t took_us;
    pthread_t thread;
    bool done;
};

static void stage_fini(struct stage *s)
{
    for (uint64_t u = 0; u < s->units; u++) {
        if (s->input != NULL)
            nf_buf_fini(&s->input[u]);
        if (s->result != NULL)
            nf_buf_fini(&s->result[u]);
    }
    nf_buf_fini(&s->shared);
    nf_free(s->input);
    nf_free(s->result);
    nf_free(s->out);
    nf_free(s->in_at);
    nf_free(s->in_pieces);
}

static bool stage_init(struct stage *s, const struct nf_app *app)
{
    size_t n = (size_t)app->units;

    *s = (struct stage){ .app = app, .units = n };
    nf_buf_init(&s->shared);
    s->input = nf_calloc(n, sizeof(*s->input));
    s->result = nf_calloc(n, sizeof(*s->result));
    s->out = nf_calloc(n * n, sizeof(*s->out));
    s->in_at = nf_calloc(n * (n + 1), sizeof(*s->in_at));
    s->in_pieces = nf_calloc(n, sizeof(*s->in_pieces));
    if (s->input == NULL || s->result == NULL || s->out == NULL ||
        s->in_at == NULL || s->in_pieces == NULL)
        return false;
    for (size_t u = 0; u < n; u++) {
        nf_buf_init(&s->input[u]);
        nf_buf_init(&s->result[u]);
    }
    for (size_t u = 0; u < n; u++)
        if (app->split(app->user, u, &s->input[u]) != NF_OK)
            return false;
    return app->share == NULL || app->share(app->user, &s->shared) == NF_OK;
}

static const max_align_t nowhere; /* where pieces without bytes are */

/* They lie together here.  @return what goes with that, as slaves have it */
static const void *find_input(struct stage *s, uint32_t phase, uint64_t unit)
{
    const uint8_t *input = s->input[unit].data;

    if (phase == 0)
        return input;
    for (uint64_t u = 0; u < s->units; u++)
        s->in_pieces[u] = input == NULL
                              ? (const void *)&nowhere
                              : input + s->in_at[unit * (s->units + 1) + u];
    return s->app->takes_pieces != 0 ? NULL : input;
}

static bool compute(struct stage *s, uint32_t phase)
{
    bool last = phase + 1 == s->app->phases;
    int64_t began_us = nf_now_us();

    for (uint64_t u = 0; u < s->units; u++) {
        char error[120];
        const struct nf_work work = {
            .first = u,
            .count = 1,
            .input = find_input(s, phase, u),
            .input_bytes = s->input[u].bytes,
            .shared = s->shared.data,
            .shared_bytes = s->shared.bytes,
            .result = &s->result[u],
            .error = error,
            .error_bytes = sizeof(error),
            .phase = phase,
            .units = s->units,
            .in_at = phase > 0 ? s->in_at + u * (s->units + 1) : NULL,
            .in_pieces = phase > 0 ? s->in_pieces : NULL,
            .out_bytes = last ? NULL : s->out + u * s->units,
        };

        for (uint64_t v = 0; v < s->units; v++)
            s->out[u * s->units + v] = 0;
        if (s->app->compute(&work) != 0)
            return false;
    }
    s->took_us += nf_now_us() - began_us;
    return true;
}

/* Pieces of results become inputs. */
static bool exchange(struct stage *s)
{
    uint64_t n = s->units;

    for (uint64_t v = 0; v < n; v++) {
        uint64_t *at = s->in_at + v * (n + 1);

        nf_buf_fini(&s->input[v]); /* it may be borrowed */
        nf_buf_init(&s->input[v]);
        for (uint64_t u = 0; u < n; u++) {
            uint64_t begin = 0, bytes = s->out[u * n + v];

            for (uint64_t w = 0; w < v; w++)
                begin += s->out[u * n + w];
            at[u] = s->input[v].bytes;
            if (bytes > 0 &&
                nf_buf_append(&s->input[v], s->result[u].data + begin,
                              (size_t)bytes) != NF_OK)
                return false;
        }
        at[n] = s->input[v].bytes;
    }
    for (uint64_t u = 0; u < n; u++)
        nf_buf_reset(&s->result[u]);
    return true;
}

static void *perform(void *arg)
{
    struct stage *s = arg;

    s->done = true;
    for (uint32_t phase = 0; s->done && phase < s->app->phases; phase++)
        s->done =
            compute(s, phase) && (phase + 1 == s->app->phases || exchange(s));
    return NULL;
}

/* Each thread carries out all of the job.
 * @param took_us_p  the mean of what they computed */
static bool carry_out(const struct nf_app *app, uint32_t threads,
                      int64_t *took_us_p)
{
    struct stage *stages = nf_calloc(threads, sizeof(*stages));
    uint32_t begun = 0;
    int64_t sum_us = 0;
    bool done = stages != NULL;

    for (uint32_t i = 0; done && i < threads; i++)
        done = stage_init(&stages[i], app);
    while (done && begun < threads) {
        done = pthread_create(&stages[begun].thread, NULL, perform,
                              &stages[begun]) == 0;
        begun += done;
    }
    for (uint32_t i = 0; i < begun; i++)
        pthread_join(stages[i].thread, NULL);
    for (uint32_t i = 0; stages != NULL && i < threads; i++) {
        done = done && stages[i].done;
        sum_us += stages[i].took_us;
        stage_fini(&stages[i]);
    }
    nf_free(stages);
    *took_us_p = sum_us / threads;
    return done;
}

static bool open_job(const struct nf_app_kind *kind, void *state,
                     const char *const *word, const void *alike,
                     struct nf_app *app_p)
{
    const struct nf_app_request request = { .out = NULL };

    for (; *word != NULL; word += 2)
        if (kind->set(state, word[0], word[1], NULL) != NF_OK)
            return false;
    if (kind->take_variant != NULL && alike != NULL)
        kind->take_variant(state, alike);
    return kind->open(state, &request, app_p, NULL) == NF_OK;
}

/* The second time caches, pages and plans are as they will be. */
static bool time_job(const struct nf_app_kind *kind, const char *const *words,
                     const struct nf_rehearsal *r, bool *too_large_p,
                     double *op_s_p)
{
    struct nf_app app;
    int64_t took_us = 0;
    void *state;
    bool done;

    *too_large_p = false;
    if (kind->create(&state, NULL) != NF_OK)
        return false;
    done = open_job(kind, state, words, r->state, &app);
    *too_large_p = done && kind->operations(state) > r->operations;
    done = done && !*too_large_p && carry_out(&app, r->threads, &took_us) &&
           carry_out(&app, r->threads, &took_us);
    if (done)
        *op_s_p = (double)took_us * 1e-6 / kind->operations(state);
    kind->destroy(state);
    return done;
}

bool nf_rehearse(const struct nf_app_kind *kind,
                 const struct nf_rehearsal *rehearsal, double *op_s_p)
{
    struct nf_rehearsal any = *rehearsal;
    bool too_large = true;

    if (kind->small_job == NULL)
        return false;
    if (kind->large_job != NULL &&
        time_job(kind, kind->large_job, rehearsal, &too_large, op_s_p))
        return true;
    any.operations = (double)INFINITY;
    return too_large &&
           time_job(kind, kind->small_job, &any, &too_large, op_s_p);
}
