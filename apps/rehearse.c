/* A small job, phase after phase, unit after unit. */
#include "config.h"
#include "apps/rehearse.h"
#include "common/base/alloc.h"
#include "common/base/blob.h"
#include "common/base/clock.h"

struct stage {
    const struct nf_app *app;
    uint64_t units;
    struct nf_buf shared, *input, *result; /* [units] */
    uint64_t *out, *in_at;                 /* [units][units], [units][units + 1] */
    int64_t took_us;
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
    if (s->input == NULL || s->result == NULL || s->out == NULL ||
        s->in_at == NULL)
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

static bool compute(struct stage *s, uint32_t phase)
{
    bool last = phase + 1 == s->app->phases;
    int64_t began_us = nf_now_us();

    for (uint64_t u = 0; u < s->units; u++) {
        char error[120];
        const struct nf_work work = {
            .first = u,
            .count = 1,
            .input = s->input[u].data,
            .input_bytes = s->input[u].bytes,
            .shared = s->shared.data,
            .shared_bytes = s->shared.bytes,
            .result = &s->result[u],
            .error = error,
            .error_bytes = sizeof(error),
            .phase = phase,
            .units = s->units,
            .in_at = phase > 0 ? s->in_at + u * (s->units + 1) : NULL,
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

static bool carry_out(const struct nf_app *app, int64_t *took_us_p)
{
    struct stage s;
    bool done = stage_init(&s, app);

    for (uint32_t phase = 0; done && phase < app->phases; phase++)
        done = compute(&s, phase) && (phase + 1 == app->phases || exchange(&s));
    *took_us_p = s.took_us;
    stage_fini(&s);
    return done;
}

/* The second time caches, pages and plans are as they will be. */
static bool time_state(const struct nf_app_kind *kind, void *state,
                       double *op_s_p)
{
    const struct nf_app_request request = { .out = NULL };
    const char *const *word = kind->small_job;
    struct nf_app app;
    int64_t took_us = 0;
    double operations;

    for (; *word != NULL; word += 2)
        if (kind->set(state, word[0], word[1], NULL) != NF_OK)
            return false;
    if (kind->open(state, &request, &app, NULL) != NF_OK)
        return false;
    operations = kind->operations(state);
    if (!carry_out(&app, &took_us) || !carry_out(&app, &took_us))
        return false;
    *op_s_p = (double)took_us * 1e-6 / operations;
    return true;
}

bool nf_rehearse(const struct nf_app_kind *kind, double *op_s_p)
{
    void *state;
    bool done;

    if (kind->small_job == NULL || kind->create(&state, NULL) != NF_OK)
        return false;
    done = time_state(kind, state, op_s_p);
    kind->destroy(state);
    return done;
}
