/* synth --combine: results are arrays of numbers, which nowfarm's own operators
 * combine.  Here is what the numbers are, and what they are to come to, one
 * unit after the other. */
#include "config.h"
#include <string.h>
#include "apps/synth/synth_params.h"
#include "common/base/error.h"

enum {
    NUMBER_BYTES = 8,
    DRAWS = 64, /* values that a unit counts in its histogram */
};

static const char *const names[NF_SYNTH_NCOMBINES] = {
    [NF_SYNTH_OWN] = "own",
    [NF_SYNTH_SUM] = "sum",
    [NF_SYNTH_MIN] = "min",
    [NF_SYNTH_MAX] = "max",
    [NF_SYNTH_HISTOGRAM] = "histogram",
};

enum nf_status nf_synth_parse_combine(const char *text,
                                      enum nf_synth_combine *combine_p,
                                      struct nf_error *err)
{
    for (int i = NF_SYNTH_SUM; i < NF_SYNTH_NCOMBINES; i++) {
        if (strcmp(names[i], text) == 0) {
            *combine_p = (enum nf_synth_combine)i;
            return NF_OK;
        }
    }
    return nf_fail(err, NF_ERR_INVAL,
                   "--combine %.60s: want sum, min, max or histogram", text);
}

enum nf_status nf_synth_check_combine(const struct nf_synth_params *params,
                                      struct nf_error *err)
{
    if (params->combine == NF_SYNTH_OWN ||
        (params->result_bytes > 0 && params->result_bytes % NUMBER_BYTES == 0))
        return NF_OK;
    return nf_fail(err, NF_ERR_INVAL,
                   "--combine %s: results are numbers of %d bytes, and "
                   "--result is no multiple of that",
                   names[params->combine], NUMBER_BYTES);
}

static uint64_t load(const uint8_t *at)
{
    uint64_t x;

    memcpy(&x, at, sizeof(x));
    return x;
}

static void count_draws(const struct nf_synth_params *params, uint64_t unit,
                        uint8_t *to)
{
    uint64_t bins = params->result_bytes / NUMBER_BYTES;

    memset(to, 0, (size_t)params->result_bytes);
    for (uint64_t i = 0; i < DRAWS; i++) {
        uint64_t bin = nf_synth_word(params->seed, unit, i) % bins;
        uint64_t count = load(to + bin * NUMBER_BYTES) + 1;

        memcpy(to + bin * NUMBER_BYTES, &count, NUMBER_BYTES);
    }
}

void nf_synth_numbers(const struct nf_synth_params *params, uint64_t unit,
                      void *to_)
{
    uint8_t *to = to_;

    if (params->combine == NF_SYNTH_HISTOGRAM) {
        count_draws(params, unit, to);
        return;
    }
    for (uint64_t i = 0; i < params->result_bytes / NUMBER_BYTES; i++) {
        uint64_t word = nf_synth_word(params->seed, unit, i);

        memcpy(to + i * NUMBER_BYTES, &word, NUMBER_BYTES);
    }
}

void nf_synth_fold(const struct nf_synth_params *params, void *inout,
                   const void *in)
{
    uint8_t *to = inout;
    const uint8_t *from = in;

    for (size_t at = 0; at < params->result_bytes; at += NUMBER_BYTES) {
        uint64_t x = load(to + at), y = load(from + at);

        if (params->combine == NF_SYNTH_MIN)
            x = (int64_t)y < (int64_t)x ? y : x;
        else if (params->combine == NF_SYNTH_MAX)
            x = (int64_t)y > (int64_t)x ? y : x;
        else
            x += y;
        memcpy(to + at, &x, sizeof(x));
    }
}

#define KERNEL(NAME, BY)                                                       \
    {                                                                          \
        .name = (NAME), .compute = nf_synth_compute, .input_type = NF_BYTES,   \
        .result_type = NF_INT64, .shared_type = NF_BYTES, .combine_by = (BY),  \
    }

static const struct nf_app kernel_sum = KERNEL("synth-sum", NF_COMBINE_SUM);
static const struct nf_app kernel_min = KERNEL("synth-min", NF_COMBINE_MIN);
static const struct nf_app kernel_max = KERNEL("synth-max", NF_COMBINE_MAX);

const struct nf_app *const nf_synth_kernels[] = { &kernel_sum, &kernel_min,
                                                  &kernel_max, NULL };

const struct nf_app *nf_synth_kernel(enum nf_synth_combine combine)
{
    switch (combine) {
    case NF_SYNTH_SUM:
    case NF_SYNTH_HISTOGRAM:
        return &kernel_sum;
    case NF_SYNTH_MIN:
        return &kernel_min;
    case NF_SYNTH_MAX:
        return &kernel_max;
    case NF_SYNTH_OWN:
    case NF_SYNTH_NCOMBINES:
        break;
    }
    return NULL;
}
