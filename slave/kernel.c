/* One lease through the kernel.
 *
 * Unit times are gathered by Welford's method; a call of m units that took t
 * counts as m units of t/m each (Chan, Golub, LeVeque 1979, eq. 2.1 with
 * no deviation within the call). */
#include "config.h"
#include "slave/kernel.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/farm/farm.h"
#include "slave/sizes.h"

/* Results up to this size are copied into their blob, and the buffer used
 * again; larger ones are handed over. */
#define COPY_BYTES 4096

/* A lease on its way through the kernel. */
struct run {
    const struct nf_kernel *kernel;
    struct nf_kernel_state *state;
    struct nf_slave_lease *lease;
    int64_t now_us, wait_us, idle_us;
    const uint8_t *input; /* of the next unit */
    uint64_t part_first;  /* results not yet in an answer */
    uint64_t part_count;
    int64_t start_us;        /* of the lease */
    uint64_t emulated_units; /* that the time since then is for */
    uint64_t n;              /* Welford */
    uint32_t phase;
    bool cuts; /* results are cut into pieces for the next phase */
    double mean_us, m2_us2;
};

void nf_kernel_state_fini(struct nf_kernel_state *state)
{
    nf_buf_fini(&state->result);
    nf_free(state->sizes_bytes);
    nf_free(state->out_bytes);
    nf_free(state->in_at);
    nf_free(state->in_pieces);
    state->sizes_bytes = state->out_bytes = state->in_at = NULL;
    state->in_pieces = NULL;
    state->sizes_capacity = 0;
}

static void add_times(struct run *run, uint64_t units, int64_t time_us)
{
    double m = (double)units, unit_us = (double)time_us / m;
    double n = (double)run->n, delta = unit_us - run->mean_us;

    run->n += units;
    run->mean_us += delta * m / (n + m);
    run->m2_us2 += delta * delta * n * m / (n + m);
}

/* The bytes of the units [unit, unit + count) of the input. */
static size_t input_bytes(const struct run *run, uint64_t unit, uint64_t count)
{
    const struct nf_lease_msg *m = &run->lease->m;
    size_t bytes = 0;

    if (run->phase > 0) /* it has one unit */
        return run->lease->input == NULL ? 0 : run->lease->input->bytes;
    if (m->layout.unit_bytes != NF_LAYOUT_TABLE)
        return (size_t)(m->layout.unit_bytes * count);
    for (uint64_t i = 0; i < count; i++)
        bytes += (size_t)nf_layout_unit_bytes(&m->layout, unit - m->first + i);
    return bytes;
}

static bool takes_pieces(const struct run *run)
{
    return run->phase > 0 && run->kernel->app->takes_pieces != 0;
}

/* The next one follows in the same input, unless that is in pieces: then it was
 * this unit's. */
static void skip_input(struct run *run, uint64_t unit, uint64_t count)
{
    if (run->phase == 0)
        run->input += input_bytes(run, unit, count);
}

/* Results that are kept until the job ends take no more than they need. */
static void fit(struct nf_buf *buf)
{
    uint8_t *data = nf_realloc(buf->data, buf->bytes);

    if (data == NULL)
        return;
    buf->data = data;
    buf->capacity = buf->bytes;
}

/* The results gathered so far as a payload; NULL if out of memory. */
static struct nf_blob *take_result(struct run *run)
{
    struct nf_buf *result = &run->state->result;
    enum nf_type type = run->kernel->app->result_type;
    struct nf_blob *blob;

    /* what the kernel lent us may be its input, which will not live on */
    if (result->bytes > COPY_BYTES && result->capacity > 0) {
        if (run->cuts)
            fit(result);
        return nf_buf_take(result, type);
    }
    blob = nf_blob_create(result->bytes, type);
    if (blob == NULL)
        return NULL;
    memcpy(blob->data, result->data, result->bytes);
    nf_buf_reset(result);
    return blob;
}

/* Turn the results gathered so far into an answer. */
static void end_part(struct run *run, bool last)
{
    struct nf_slave_lease *lease = run->lease;
    struct nf_result_msg m = {
        .lease = lease->m.lease,
        .first = run->part_first,
        .count = run->part_count,
        .last = last,
        .compute_us = lease->compute_us,
        .wait_us = run->wait_us,
        .idle_us = run->idle_us,
        .mean_unit_us = run->mean_us,
        .m2_unit_us2 = run->m2_us2,
        .layout = { .unit_bytes = NF_LAYOUT_TABLE },
    };
    struct nf_answer *answer;

    if (run->part_count == 0 || lease->nomem)
        return;
    answer = nf_lease_answer(lease, NF_MSG_RESULT);
    if (answer == NULL ||
        nf_put_result(&answer->body, &m, run->state->sizes_bytes) != NF_OK) {
        lease->nomem = true;
        return;
    }
    if (run->state->result.bytes > 0) {
        answer->payload = take_result(run);
        lease->nomem = answer->payload == NULL;
    }
    if (run->cuts) {
        answer->sizes = nf_sizes_of(run->state->out_bytes, run->kernel->units);
        lease->nomem = lease->nomem || answer->sizes == NULL;
    }
    run->part_first += run->part_count;
    run->part_count = 0;
}

static void unit_failed(struct run *run, uint64_t unit, int code,
                        const char *reason)
{
    struct nf_slave_lease *lease = run->lease;
    struct nf_unit_failed_msg m = {
        .lease = lease->m.lease,
        .unit = unit,
        .code = code,
        .last = unit - lease->m.first + 1 == lease->m.count,
    };
    struct nf_answer *answer;

    end_part(run, false);
    run->part_first = unit + 1;
    if (lease->nomem)
        return;
    snprintf(m.reason, sizeof(m.reason), "%s", reason);
    answer = nf_lease_answer(lease, NF_MSG_UNIT_FAILED);
    if (answer == NULL || nf_put_unit_failed(&answer->body, &m) != NF_OK)
        lease->nomem = true;
}

/* Note the sizes of `count` results that have just been appended. */
static void add_results(struct run *run, uint64_t count, uint64_t unit_bytes)
{
    struct nf_kernel_state *state = run->state;
    uint64_t need = run->part_count + count;

    if (need > state->sizes_capacity) {
        uint64_t capacity =
            need < 2 * state->sizes_capacity ? 2 * state->sizes_capacity : need;
        uint64_t *sizes = capacity > SIZE_MAX / 8
                              ? NULL
                              : nf_realloc(state->sizes_bytes,
                                           (size_t)capacity * sizeof(*sizes));

        if (sizes == NULL) {
            run->lease->nomem = true;
            return;
        }
        state->sizes_bytes = sizes;
        state->sizes_capacity = capacity;
    }
    while (run->part_count < need)
        state->sizes_bytes[run->part_count++] = unit_bytes;
}

/* ------------------------------------------------------- emulated units */

enum {
    SLICE_US = 100000,        /* how soon an emulated unit notices the end */
    BEHIND_MOST_US = 1000000, /* more is no late wake-up: we were stopped */
};

/* floor(units * unit_us / speed + 1/2) */
static int64_t emulated_us(const struct nf_kernel *kernel, uint64_t units)
{
    static const int64_t most_us = 1000000000000000;
    int64_t one = 1000000, speed = kernel->emulated_speed, whole, rest;
    int64_t cost_us = most_us;

    if (units < (uint64_t)(most_us / kernel->emulated_unit_us))
        cost_us = (int64_t)units * kernel->emulated_unit_us;
    whole = cost_us / speed;
    rest = cost_us % speed;
    return whole * one + (2 * rest * one + speed) / (2 * speed);
}

/* Units are queued without a gap if they were there when the last one ended. */
static int64_t emulated_start_us(const struct nf_kernel_state *state,
                                 const struct nf_slave_lease *lease,
                                 int64_t now_us)
{
    int64_t start_us =
        lease->arrival_us > state->end_us ? lease->arrival_us : state->end_us;

    return now_us - start_us > BEHIND_MOST_US ? now_us : start_us;
}

/* Emulated time goes on from here. */
static int64_t emulate_from(struct run *run, int64_t now_us)
{
    run->start_us = now_us;
    run->emulated_units = 0;
    return now_us;
}

/* A call, begun at `begun_us` by the real clock, has computed `count` units
 * more: sleep what is missing.  @return when its time ends; computing that
 * really takes longer than that is not made shorter */
static int64_t emulate_call(struct run *run, uint64_t count, int64_t begun_us)
{
    const struct nf_kernel *kernel = run->kernel;
    int64_t until_us, now_us = nf_now_us();

    run->emulated_units += count;
    until_us = run->start_us + emulated_us(kernel, run->emulated_units);
    if (now_us - begun_us > until_us - run->now_us)
        return emulate_from(run, now_us);
    while (now_us < until_us && !atomic_load(kernel->ending)) {
        nf_sleep_until_us(until_us - now_us > SLICE_US ? now_us + SLICE_US
                                                       : until_us);
        now_us = nf_now_us();
    }
    return until_us;
}

/* A failure costs no emulated time. */
static int call_emulated(struct run *run, const struct nf_work *work)
{
    int64_t begun_us = nf_now_us();
    int code = run->kernel->app->compute(work);

    if (code == 0)
        run->now_us = emulate_call(run, work->count, begun_us);
    else if (nf_now_us() > run->now_us)
        run->now_us = emulate_from(run, nf_now_us());
    return code;
}

/* ---------------------------------------------------------------- calls */

/* One call of the kernel, timed.
 * @return what it returned; its results are in state->result from byte
 *         *before_p on, its reason in error */
static int call(struct run *run, uint64_t unit, uint64_t count, char *error_p,
                size_t *before_p)
{
    const struct nf_kernel *kernel = run->kernel;
    struct nf_kernel_state *state = run->state;
    struct nf_work work = {
        .first = unit,
        .count = count,
        .input = takes_pieces(run) ? NULL : run->input,
        .input_bytes = input_bytes(run, unit, count),
        .shared = kernel->shared == NULL ? NULL : kernel->shared->data,
        .shared_bytes = kernel->shared == NULL ? 0 : kernel->shared->bytes,
        .result = &state->result,
        .slot = state->slot,
        .error = error_p,
        .error_bytes = sizeof(((struct nf_unit_failed_msg *)0)->reason),
        .phase = run->phase,
        .units = kernel->units,
        .in_at = run->lease->in_sizes == NULL ? NULL : state->in_at,
        .in_pieces = run->lease->in_sizes == NULL ? NULL : state->in_pieces,
        .out_bytes = run->cuts ? state->out_bytes : NULL,
    };
    int64_t start_us = run->now_us;
    int code;

    error_p[0] = '\0';
    *before_p = state->result.bytes;
    if (run->cuts)
        memset(state->out_bytes, 0, (size_t)kernel->units * sizeof(uint64_t));
    if (state->watched) {
        atomic_store_explicit(&state->call_first, unit, memory_order_relaxed);
        atomic_store_explicit(&state->call_units, count, memory_order_relaxed);
        atomic_store_explicit(&state->call_start_us, start_us,
                              memory_order_release);
    }
    if (kernel->emulated_unit_us == 0) {
        code = kernel->app->compute(&work);
        run->now_us = nf_now_us();
    } else {
        code = call_emulated(run, &work);
    }
    run->lease->compute_us += run->now_us - start_us;
    run->lease->computed_units += count;
    if (code == 0)
        add_times(run, count, run->now_us - start_us);
    return code;
}

static void fail_call(struct run *run, uint64_t unit, int code, char *error)
{
    error[sizeof(((struct nf_unit_failed_msg *)0)->reason) - 1] = '\0';
    error[strcspn(error, "\r\n")] = '\0';
    if (error[0] == '\0')
        snprintf(error, 64, "kernel returned %d", code);
    unit_failed(run, unit, code, error);
}

/* Are the pieces what was appended?  error_p says if not. */
static bool fits_pieces(const struct run *run, size_t appended, char *error_p)
{
    const struct nf_app *app = run->kernel->app;
    uint64_t sum = 0;

    for (uint64_t i = 0; i < run->kernel->units; i++) {
        uint64_t bytes = run->state->out_bytes[i];

        if (bytes > appended - sum || bytes % nf_type_bytes(app->result_type)) {
            snprintf(error_p, 100,
                     "piece %llu of %llu bytes, of a result of %zu",
                     (unsigned long long)i, (unsigned long long)bytes,
                     appended);
            return false;
        }
        sum += bytes;
    }
    if (sum != appended)
        snprintf(error_p, 100, "pieces of %llu bytes in all, of a result of %zu",
                 (unsigned long long)sum, appended);
    return sum == appended;
}

/* The answer to a unit whose result is cut: one of its own. */
static void run_cut(struct run *run, uint64_t unit)
{
    struct nf_buf *result = &run->state->result;
    char error[sizeof(((struct nf_unit_failed_msg *)0)->reason)];
    size_t before, appended;
    int code = call(run, unit, 1, error, &before);

    appended = result->bytes - before;
    if (code == 0 && !fits_pieces(run, appended, error))
        code = NF_ERR_INVAL;
    if (code == 0) {
        const struct nf_lease_msg *m = &run->lease->m;

        add_results(run, 1, appended);
        end_part(run, unit - m->first + 1 == m->count);
    } else {
        result->bytes = before;
        fail_call(run, unit, code, error);
    }
    skip_input(run, unit, 1);
}

/* Compute [unit, unit + count) in one call if that succeeds. */
static void run_call(struct run *run, uint64_t unit, uint64_t count)
{
    struct nf_buf *result = &run->state->result;
    char error[sizeof(((struct nf_unit_failed_msg *)0)->reason)];
    size_t before, appended;
    int code = call(run, unit, count, error, &before);

    appended = result->bytes - before;
    if (code == 0 && appended % count == 0) {
        add_results(run, count, appended / count);
        skip_input(run, unit, count);
        return;
    }
    result->bytes = before;
    if (code != 0 && count > 1) {
        for (uint64_t i = 0; i < count; i++)
            run_call(run, unit + i, 1);
        return;
    }
    if (code == 0) {
        snprintf(error, sizeof(error),
                 "kernel appended %zu bytes for %llu units", appended,
                 (unsigned long long)count);
        code = NF_ERR_INVAL;
    }
    skip_input(run, unit, count);
    for (uint64_t i = 0; i < count; i++)
        fail_call(run, unit + i, code, error);
}

/* One piece of what lies in many, for who wants that. */
static bool join_input(const struct run *run)
{
    struct nf_blob *input = run->lease->input, *joined;

    if (input == NULL || !nf_blob_is_chain(input) || takes_pieces(run))
        return true;
    joined = nf_blob_create(input->bytes, input->type);
    if (joined == NULL)
        return false;
    nf_blob_copy_out(input, joined->data);
    nf_blob_unref(input);
    run->lease->input = joined;
    return true;
}

/* Where pieces without bytes are: as good an address as any other. */
static const max_align_t nowhere;

/* Where all pieces of the input are. */
static bool find_pieces(const struct run *run)
{
    struct nf_kernel_state *state = run->state;
    struct nf_blob *input = run->lease->input;
    uint64_t units = run->kernel->units;
    struct nf_blob_reader reader =
        nf_blob_read(input, input == NULL ? NULL : input->data);
    bool good = nf_sizes_begins(run->lease->in_sizes, units, state->in_at) &&
                state->in_at[units] == (input == NULL ? 0 : input->bytes);

    for (uint64_t u = 0; u < units && good; u++) {
        size_t bytes = (size_t)(state->in_at[u + 1] - state->in_at[u]);
        struct nf_blob_part part = { NULL, 0, NULL };

        state->in_pieces[u] = &nowhere;
        if (bytes == 0)
            continue;
        good = nf_blob_next(&reader, bytes, &part);
        state->in_pieces[u] = part.data;
    }
    return good;
}

/* Room for what says where pieces are, for as long as the slot lives. */
static bool make_tables(const struct run *run)
{
    struct nf_kernel_state *state = run->state;
    size_t units = (size_t)run->kernel->units;
    const struct nf_blob *in_sizes = run->lease->in_sizes;

    if (run->cuts && state->out_bytes == NULL) {
        state->out_bytes = nf_malloc(units * sizeof(*state->out_bytes));
        if (state->out_bytes == NULL)
            return false;
    }
    if (in_sizes == NULL)
        return true;
    if (state->in_at == NULL)
        state->in_at = nf_malloc((units + 1) * sizeof(*state->in_at));
    if (state->in_pieces == NULL)
        state->in_pieces = nf_malloc(units * sizeof(*state->in_pieces));
    if (state->in_at == NULL || state->in_pieces == NULL ||
        !join_input(run))
        return false;
    return find_pieces(run);
}

/* Memory that is there already, unless there is some of the last result. */
static void use_room(const struct run *run)
{
    struct nf_buf *result = &run->state->result, *room = &run->lease->room;

    nf_buf_reset(result);
    if (room->capacity <= result->capacity)
        return;
    nf_buf_fini(result);
    *result = *room;
    nf_buf_init(room);
}

static int64_t positive(int64_t time_us)
{
    return time_us > 0 ? time_us : 0;
}

int64_t nf_kernel_run(const struct nf_kernel *kernel,
                      struct nf_kernel_state *state,
                      struct nf_slave_lease *lease, int64_t start_us)
{
    uint64_t batch = kernel->app->batch_units == 0 || kernel->phases > 1
                         ? 1
                         : kernel->app->batch_units;
    uint64_t unit = lease->m.first, left = lease->m.count;
    uint32_t phase = kernel->phases > 1 ? nf_lease_phase(lease->m.lease) : 0;
    const struct nf_blob *given = lease->input;
    struct run run;

    if (kernel->emulated_unit_us > 0)
        start_us = emulated_start_us(state, lease, start_us);
    run = (struct run){
        .kernel = kernel,
        .state = state,
        .lease = lease,
        .now_us = start_us,
        .wait_us = positive(start_us - lease->arrival_us),
        .idle_us = positive(lease->arrival_us - state->end_us),
        .part_first = unit,
        .start_us = start_us,
        .phase = phase,
        .cuts = phase + 1 < kernel->phases,
    };
    use_room(&run);
    lease->nomem = lease->nomem || !make_tables(&run);
    if (lease->input != given && kernel->emulated_unit_us == 0)
        run.now_us = nf_now_us(); /* to put it together is no part of the call */
    run.input =
        lease->input == NULL ? (const uint8_t *)"" : lease->input->data;
    /* once the slave ends, what the kernel needs may be gone */
    while (left > 0 && !lease->nomem && !atomic_load(kernel->ending)) {
        uint64_t count = left < batch ? left : batch;

        if (run.cuts)
            run_cut(&run, unit);
        else
            run_call(&run, unit, count);
        unit += count;
        left -= count;
    }
    if (left == 0)
        end_part(&run, true);
    nf_blob_unref(lease->input);
    nf_blob_unref(lease->in_sizes);
    lease->input = lease->in_sizes = NULL;
    state->end_us = run.now_us;
    return run.now_us;
}
