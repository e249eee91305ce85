#include "config.h"
#include "apps/app.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "apps/output.h"
#include "apps/synth/synth_params.h"
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/units.h"

/* Synthetic units of known cost: for trying policies and faults without an
 * application.  Every byte in both directions has a value that is known, so
 * that anything lost, mixed up or delivered twice is seen. */

#define MAX_UNITS        UINT64_C(1000000000)
#define MAX_UNIT_BYTES   (UINT64_C(1) << 30)
#define MAX_SHARED_BYTES (UINT64_C(1) << 36)
#define DEFAULT_UNITS    1000
#define VALUE_BYTES      8

struct synth {
    struct nf_synth_params params;
    uint64_t units;
    /* What came back: a bit a unit, and what was wrong with the rest. */
    uint8_t *seen;
    uint64_t collected, twice, wrong;
    uint64_t first_twice, first_wrong;
    size_t wrong_at;
    char *out;       /* --out, or NULL: then values is NULL as well */
    uint8_t *values; /* the first 8 bytes of each result */
    uint8_t *sum;    /* --gather reduce, --combine: of all results */
    uint64_t summed; /* units */
};

static const struct nf_app_option synth_options[] = {
    { "units", "N", "number of units (default 1000)" },
    { "cost", "TIME", "compute time of a unit (default 0)" },
    { "spread", "P", "vary costs by up to +-P, 0 to 1 (default 0)" },
    { "spin", NULL, "use the processor instead of sleeping" },
    { "in", "SIZE", "input of a unit (default 8B)" },
    { "result", "SIZE", "result of a unit (default 8B)" },
    { "combine", "OPERATOR",
      "results are numbers of 8 bytes, to be combined by sum, min, max or "
      "histogram" },
    { "shared", "SIZE", "data that every slave gets once (default 0)" },
    { "seed", "S", "varies costs and contents (default 1)" },
    { "chatty", NULL, "units write to standard output and error" },
    { "fault", "UNIT:KIND[,...]",
      "kill, exit, stop, error, hang or wrong; -once behind it" },
    { "fault-dir", "DIR", "where faults with -once leave their marks" },
    { NULL, NULL, NULL },
};

static enum nf_status synth_create(void **state_p, struct nf_error *err)
{
    struct synth *synth = nf_calloc(1, sizeof(*synth));

    if (synth == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "synth: out of memory");
    synth->units = DEFAULT_UNITS;
    synth->params.seed = 1;
    synth->params.in_bytes = 8;
    synth->params.result_bytes = 8;
    *state_p = synth;
    return NF_OK;
}

static void synth_destroy(void *state)
{
    struct synth *synth = state;

    if (synth == NULL)
        return;
    nf_free(synth->out);
    nf_free(synth->seen);
    nf_free(synth->values);
    nf_free(synth->sum);
    nf_free(synth);
}

static enum nf_status set_count(const char *option, const char *text,
                                uint64_t hi, uint64_t *value_p,
                                struct nf_error *err)
{
    if (nf_parse_count(text, 0, hi, value_p) == NF_OK)
        return NF_OK;
    return nf_fail(err, NF_ERR_INVAL,
                   "--%s %.60s: not a number from 0 to %" PRIu64, option, text,
                   hi);
}

static enum nf_status set_size(const char *option, const char *text,
                               uint64_t hi, uint64_t *value_p,
                               struct nf_error *err)
{
    uint64_t bytes;
    char limit[32];

    if (nf_parse_bytes(text, &bytes) == NF_OK && bytes <= hi) {
        *value_p = bytes;
        return NF_OK;
    }
    return nf_fail(err, NF_ERR_INVAL,
                   "--%s %.60s: not a size (want like 64KiB, at most %s)",
                   option, text, nf_format_bytes(hi, limit, sizeof limit));
}

static enum nf_status set_fault_dir(struct synth *synth, const char *path,
                                    struct nf_error *err)
{
    char *full = realpath(path, NULL);
    struct stat info;
    enum nf_status status = NF_OK;

    if (full == NULL || stat(full, &info) != 0)
        status = nf_fail(err, NF_ERR_INVAL, "--fault-dir %.200s: %s", path,
                         strerror(errno));
    else if (!S_ISDIR(info.st_mode) || access(full, W_OK) != 0)
        status =
            nf_fail(err, NF_ERR_INVAL,
                    "--fault-dir %.200s: not a directory I may write to", path);
    else if (strlen(full) >= NF_SYNTH_DIR_BYTES)
        status = nf_fail(err, NF_ERR_INVAL, "--fault-dir: name too long");
    else
        strcpy(synth->params.fault_dir, full);
    free(full); /* realpath allocates with malloc */
    return status;
}

static enum nf_status synth_set(void *state, const char *option,
                                const char *value, struct nf_error *err)
{
    struct synth *synth = state;
    struct nf_synth_params *params = &synth->params;

    if (strcmp(option, "units") == 0)
        return set_count(option, value, MAX_UNITS, &synth->units, err);
    if (strcmp(option, "seed") == 0)
        return set_count(option, value, UINT64_MAX, &params->seed, err);
    if (strcmp(option, "in") == 0)
        return set_size(option, value, MAX_UNIT_BYTES, &params->in_bytes, err);
    if (strcmp(option, "result") == 0)
        return set_size(option, value, MAX_UNIT_BYTES, &params->result_bytes,
                        err);
    if (strcmp(option, "shared") == 0)
        return set_size(option, value, MAX_SHARED_BYTES, &params->shared_bytes,
                        err);
    if (strcmp(option, "combine") == 0)
        return nf_synth_parse_combine(value, &params->combine, err);
    if (strcmp(option, "fault") == 0)
        return nf_synth_parse_faults(value, params, err);
    if (strcmp(option, "fault-dir") == 0)
        return set_fault_dir(synth, value, err);
    if (strcmp(option, "spin") == 0 || strcmp(option, "chatty") == 0) {
        *(option[0] == 's' ? &params->spin : &params->chatty) = true;
        return NF_OK;
    }
    if (strcmp(option, "cost") == 0) {
        if (nf_parse_time_us(value, &params->cost_us) == NF_OK)
            return NF_OK;
        return nf_fail(err, NF_ERR_INVAL,
                       "--cost %.60s: not a time (want like 20us, 5ms, 1.5s)",
                       value);
    }
    if (strcmp(option, "spread") == 0) {
        if (nf_parse_real(value, 0, 1, &params->spread) == NF_OK)
            return NF_OK;
        return nf_fail(err, NF_ERR_INVAL,
                       "--spread %.60s: not a number from 0 to 1", value);
    }
    return nf_fail(err, NF_ERR_INVAL, "--%.60s: synth has no such option",
                   option);
}

static enum nf_status synth_split(void *user, uint64_t unit,
                                  struct nf_buf *input)
{
    const struct nf_synth_params *params = &((struct synth *)user)->params;
    void *data = nf_buf_reserve(input, (size_t)params->in_bytes);

    if (data == NULL)
        return NF_ERR_NOMEM;
    nf_synth_fill(params->seed, NF_SYNTH_IN, unit, data,
                  (size_t)params->in_bytes);
    return NF_OK;
}

static enum nf_status synth_share(void *user, struct nf_buf *shared)
{
    return nf_synth_encode(&((struct synth *)user)->params, shared);
}

/* Results that did not come combined. */
static enum nf_status fold(struct synth *synth, const void *result,
                           size_t bytes)
{
    if (bytes != synth->params.result_bytes)
        return NF_ERR_FAILED;
    if (synth->summed++ > 0) {
        nf_synth_fold(&synth->params, synth->sum, result);
        return NF_OK;
    }
    synth->sum = nf_malloc(bytes);
    if (synth->sum == NULL)
        return NF_ERR_NOMEM;
    memcpy(synth->sum, result, bytes);
    return NF_OK;
}

/* What is wrong is noted for verify() and does not end the job: a user of
 * --fault wants to see all of it. */
static enum nf_status synth_collect(void *user, uint64_t unit,
                                    const void *result, size_t bytes)
{
    struct synth *synth = user;
    const struct nf_synth_params *params = &synth->params;
    uint8_t bit = (uint8_t)(1u << (unit % 8));
    size_t at;

    if (unit >= synth->units)
        return NF_ERR_FAILED;
    if ((synth->seen[unit / 8] & bit) != 0) {
        if (synth->twice++ == 0)
            synth->first_twice = unit;
        return NF_OK;
    }
    synth->seen[unit / 8] |= bit;
    synth->collected++;
    if (params->combine != NF_SYNTH_OWN)
        return fold(synth, result, bytes);
    at = nf_synth_check(params->seed, NF_SYNTH_RESULT, unit, result, bytes);
    if (at != bytes || bytes != params->result_bytes) {
        if (synth->wrong++ == 0) {
            synth->first_wrong = unit;
            synth->wrong_at = at;
        }
    }
    if (synth->values != NULL && bytes > 0)
        memcpy(synth->values + VALUE_BYTES * unit, result,
               bytes < VALUE_BYTES ? bytes : VALUE_BYTES);
    return NF_OK;
}

static enum nf_status synth_collect_combined(void *user, const void *result,
                                             size_t bytes, uint64_t units)
{
    struct synth *synth = user;

    if (synth->sum != NULL || bytes != synth->params.result_bytes)
        return NF_ERR_FAILED;
    synth->sum = nf_malloc(bytes);
    if (synth->sum == NULL)
        return NF_ERR_NOMEM;
    memcpy(synth->sum, result, bytes);
    synth->summed = units;
    return NF_OK;
}

/* Of a slave that is a thread they would end, or stop, the command itself. */
static bool is_of_processes(enum nf_synth_fault_kind kind)
{
    return kind == NF_SYNTH_KILL || kind == NF_SYNTH_EXIT || kind == NF_SYNTH_STOP;
}

static enum nf_status check_faults(const struct synth *synth, bool threads,
                                   struct nf_error *err)
{
    const struct nf_synth_params *params = &synth->params;

    for (uint32_t i = 0; i < params->nfaults; i++) {
        const struct nf_synth_fault *fault = &params->faults[i];

        if (fault->unit >= synth->units)
            return nf_fail(err, NF_ERR_INVAL,
                           "--fault: no unit %" PRIu64 " in a job of %" PRIu64,
                           fault->unit, synth->units);
        if (fault->once && params->fault_dir[0] == '\0')
            return nf_fail(err, NF_ERR_INVAL,
                           "--fault %" PRIu64 ":%s-once: needs --fault-dir",
                           fault->unit, nf_synth_fault_name(fault->kind));
        if (threads && is_of_processes(fault->kind))
            return nf_fail(err, NF_ERR_INVAL,
                           "--fault %" PRIu64 ":%s: slaves are threads of this "
                           "command, which it would befall (want --transport pvm)",
                           fault->unit, nf_synth_fault_name(fault->kind));
    }
    return NF_OK;
}

/* Memory for what comes back. */
static enum nf_status allocate(struct synth *synth, const char *out,
                               struct nf_error *err)
{
    bool ok = true;

    synth->seen = nf_calloc((size_t)(synth->units / 8 + 1), 1);
    if (out != NULL) {
        synth->out = nf_strdup(out);
        synth->values = nf_calloc((size_t)synth->units + 1, VALUE_BYTES);
        ok = synth->out != NULL && synth->values != NULL;
    }
    if (ok && synth->seen != NULL)
        return NF_OK;
    return nf_fail(err, NF_ERR_NOMEM,
                   "synth: out of memory for %" PRIu64 " units", synth->units);
}

static enum nf_status synth_open(void *state,
                                 const struct nf_app_request *request,
                                 struct nf_app *app_p, struct nf_error *err)
{
    struct synth *synth = state;
    const struct nf_app *kernel = nf_synth_kernel(synth->params.combine);
    enum nf_status status = check_faults(synth, request->threads, err);

    if (status == NF_OK)
        status = nf_synth_check_combine(&synth->params, err);
    if (status == NF_OK && request->out != NULL)
        status = nf_output_check(request->out, err);
    if (status == NF_OK)
        status = allocate(synth, request->out, err);
    if (status != NF_OK)
        return status;
    if (kernel == NULL)
        kernel = nf_app_synth.kernel;
    *app_p = *kernel;
    app_p->units = synth->units;
    app_p->user = synth;
    app_p->split = synth->params.in_bytes > 0 ? synth_split : NULL;
    app_p->collect = synth_collect;
    app_p->share = synth_share;
    app_p->collect_combined = synth_collect_combined;
    return NF_OK;
}

/* The result of the next unit, into the serial computation of all. */
static void add_serially(const struct synth *synth, uint64_t unit, uint8_t *sum,
                         uint8_t *one)
{
    const struct nf_synth_params *params = &synth->params;
    size_t bytes = (size_t)params->result_bytes;

    if (params->combine == NF_SYNTH_OWN) {
        nf_synth_fill(params->seed, NF_SYNTH_RESULT, unit, one, bytes);
        nf_synth_add(sum, one, bytes);
    } else if (unit == 0) {
        nf_synth_numbers(params, unit, sum);
    } else {
        nf_synth_numbers(params, unit, one);
        nf_synth_fold(params, sum, one);
    }
}

/* A unit that is missing, or there twice, changes nearly every byte of a sum;
 * of a minimum the number of units tells. */
static enum nf_status verify_sum(const struct synth *synth, char *note_p,
                                 size_t note_bytes, struct nf_error *err)
{
    size_t bytes = (size_t)synth->params.result_bytes, wrong = 0;
    uint8_t *sum = nf_calloc(bytes, 1), *one = nf_malloc(bytes);

    for (uint64_t u = 0; u < synth->units && sum != NULL && one != NULL; u++)
        add_serially(synth, u, sum, one);
    for (size_t i = 0; i < bytes && sum != NULL && one != NULL; i++)
        wrong += sum[i] != synth->sum[i];
    nf_free(one);
    nf_free(sum);
    if (one == NULL || sum == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "synth: out of memory");
    if (wrong > 0)
        return nf_fail(err, NF_ERR_VERIFY,
                       "%zu of %zu bytes of what all results were combined to "
                       "are wrong",
                       wrong, bytes);
    if (synth->summed != synth->units)
        return nf_fail(err, NF_ERR_VERIFY,
                       "%" PRIu64 " units are combined, of %" PRIu64,
                       synth->summed, synth->units);
    snprintf(note_p, note_bytes,
             "%" PRIu64 " results combined, every byte as expected",
             synth->units);
    return NF_OK;
}

static enum nf_status synth_verify(void *state, char *note_p, size_t note_bytes,
                                   struct nf_error *err)
{
    const struct synth *synth = state;

    if (synth->sum != NULL && synth->twice == 0)
        return verify_sum(synth, note_p, note_bytes, err);
    if (synth->wrong > 0)
        return nf_fail(err, NF_ERR_VERIFY,
                       "unit %" PRIu64 ": byte %zu of its result is wrong "
                       "(%" PRIu64 " wrong results in all)",
                       synth->first_wrong, synth->wrong_at, synth->wrong);
    if (synth->twice > 0)
        return nf_fail(err, NF_ERR_VERIFY,
                       "unit %" PRIu64 " was collected twice (%" PRIu64
                       " such results in all)",
                       synth->first_twice, synth->twice);
    if (synth->collected != synth->units)
        return nf_fail(err, NF_ERR_VERIFY,
                       "only %" PRIu64 " of %" PRIu64 " units were collected",
                       synth->collected, synth->units);
    snprintf(note_p, note_bytes,
             "%" PRIu64 " results, each collected once, every byte as expected",
             synth->units);
    return NF_OK;
}

static enum nf_status synth_save(void *state, struct nf_error *err)
{
    struct synth *synth = state;
    struct nf_output *output;
    enum nf_status status;

    if (synth->out == NULL)
        return NF_OK;
    status = nf_output_open(synth->out, &output, err);
    if (status != NF_OK)
        return status;
    if (synth->sum != NULL)
        status = nf_output_write(output, synth->sum,
                                 (size_t)synth->params.result_bytes, err);
    else
        status = nf_output_write(output, synth->values,
                                 VALUE_BYTES * (size_t)synth->units, err);
    if (status == NF_OK)
        return nf_output_commit(output, err);
    nf_output_abort(output);
    return status;
}

static const struct nf_app synth_kernel = {
    .name = "synth",
    .compute = nf_synth_compute,
    .input_type = NF_BYTES,
    .result_type = NF_BYTES,
    .shared_type = NF_BYTES,
    .combine_by = NF_COMBINE_OWN,
    .combine = nf_synth_add,
};

const struct nf_app_kind nf_app_synth = {
    .name = "synth",
    .summary = "synthetic units of known cost, with faults on request",
    .options = synth_options,
    .kernel = &synth_kernel,
    .more_kernels = nf_synth_kernels,
    .create = synth_create,
    .destroy = synth_destroy,
    .set = synth_set,
    .open = synth_open,
    .verify = synth_verify,
    .save = synth_save,
};
