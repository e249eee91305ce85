#include "config.h"
#include "apps/synth/synth_params.h"
#include <string.h>
#include "common/base/endian.h"
#include "common/base/error.h"
#include "common/base/units.h"

/* The block: magic, then 8-byte little-endian words.
 *   seed cost_us spread*10^9 in_bytes result_bytes shared_bytes flags nfaults
 *   dir_bytes, (unit, kind + 256 * once) per fault, the directory's name. */
#define MAGIC         "nfsynth1"
#define MAGIC_BYTES   8
#define FIXED_WORDS   9
#define FLAG_SPIN     1u
#define FLAG_CHATTY   2u
#define COMBINE_SHIFT 8
#define SPREAD_SCALE  1e9
#define ONCE_SHIFT    8

static const char *const fault_names[NF_SYNTH_NKINDS] = {
    [NF_SYNTH_KILL] = "kill", [NF_SYNTH_EXIT] = "exit",
    [NF_SYNTH_STOP] = "stop", [NF_SYNTH_ERROR] = "error",
    [NF_SYNTH_HANG] = "hang", [NF_SYNTH_WRONG] = "wrong",
};

const char *nf_synth_fault_name(enum nf_synth_fault_kind kind)
{
    return fault_names[kind];
}

/* Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014:
 * the output function of SplitMix64. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* Word k of a pattern is first + k * STEP: cheap enough for gigabytes. */
#define STEP 0xd1342543de82ef95u

static uint64_t first_word(uint64_t seed, enum nf_synth_pattern pattern,
                           uint64_t unit)
{
    return mix(mix(seed * 3 + (uint64_t)pattern) ^ unit);
}

void nf_synth_fill(uint64_t seed, enum nf_synth_pattern pattern, uint64_t unit,
                   void *data, size_t bytes)
{
    uint64_t word = first_word(seed, pattern, unit);
    uint8_t *to = data, last[8];
    size_t left = bytes;

    for (; left >= 8; left -= 8, to += 8, word += STEP)
        nf_store_le64(to, word);
    if (left > 0) {
        nf_store_le64(last, word);
        memcpy(to, last, left);
    }
}

size_t nf_synth_check(uint64_t seed, enum nf_synth_pattern pattern,
                      uint64_t unit, const void *data, size_t bytes)
{
    uint64_t word = first_word(seed, pattern, unit);
    const uint8_t *from = data;
    uint8_t want[8];
    size_t at = 0;

    for (; bytes - at >= 8; at += 8, word += STEP)
        if (nf_load_le64(from + at) != word)
            break;
    nf_store_le64(want, word);
    for (size_t i = 0; i < 8 && at < bytes; i++, at++)
        if (from[at] != want[i])
            break;
    return at;
}

uint64_t nf_synth_word(uint64_t seed, uint64_t unit, uint64_t i)
{
    return mix(first_word(seed, NF_SYNTH_RESULT, unit) + i);
}

int64_t nf_synth_cost_us(const struct nf_synth_params *params, uint64_t unit)
{
    double u;

    if (params->spread == 0)
        return params->cost_us;
    u = (double)(mix(params->seed ^ mix(unit)) >> 11) * 0x1p-53;
    return (int64_t)((double)params->cost_us *
                     (1 + params->spread * (2 * u - 1)));
}

const struct nf_synth_fault *
nf_synth_find_fault(const struct nf_synth_params *params, uint64_t unit)
{
    for (uint32_t i = 0; i < params->nfaults; i++)
        if (params->faults[i].unit == unit)
            return &params->faults[i];
    return NULL;
}

/* Take "-once" off the end of @p kind. */
static bool strip_once(char *kind)
{
    size_t length = strlen(kind), tail = strlen("-once");

    if (length <= tail || strcmp(kind + length - tail, "-once") != 0)
        return false;
    kind[length - tail] = '\0';
    return true;
}

static bool find_kind(const char *name, enum nf_synth_fault_kind *kind_p)
{
    for (int i = 0; i < NF_SYNTH_NKINDS; i++) {
        if (strcmp(fault_names[i], name) == 0) {
            *kind_p = (enum nf_synth_fault_kind)i;
            return true;
        }
    }
    return false;
}

static bool parse_fault(char *entry, struct nf_synth_fault *fault_p)
{
    char *colon = strchr(entry, ':');

    if (colon == NULL)
        return false;
    *colon = '\0';
    fault_p->once = strip_once(colon + 1);
    return nf_parse_count(entry, 0, UINT64_MAX, &fault_p->unit) == NF_OK &&
           find_kind(colon + 1, &fault_p->kind);
}

enum nf_status nf_synth_parse_faults(const char *text,
                                     struct nf_synth_params *params,
                                     struct nf_error *err)
{
    char entry[64];
    size_t length;

    for (const char *at = text;; at += length + 1) {
        length = strcspn(at, ",");
        if (params->nfaults == NF_SYNTH_MAX_FAULTS)
            return nf_fail(err, NF_ERR_INVAL, "--fault: more than %d faults",
                           NF_SYNTH_MAX_FAULTS);
        if (length < sizeof entry) {
            memcpy(entry, at, length);
            entry[length] = '\0';
        }
        if (length >= sizeof entry ||
            !parse_fault(entry, &params->faults[params->nfaults]))
            return nf_fail(err, NF_ERR_INVAL,
                           "--fault %.*s: want UNIT:KIND, KIND one of kill, "
                           "exit, stop, error, hang, wrong, or one of them "
                           "with -once",
                           (int)(length < 60 ? length : 60), at);
        params->nfaults++;
        if (at[length] == '\0')
            return NF_OK;
    }
}

enum nf_status nf_synth_encode(const struct nf_synth_params *params,
                               struct nf_buf *buf)
{
    size_t dir_bytes = strlen(params->fault_dir);
    size_t words = FIXED_WORDS + 2 * (size_t)params->nfaults;
    uint64_t fixed[FIXED_WORDS] = {
        params->seed,
        (uint64_t)params->cost_us,
        (uint64_t)(params->spread * SPREAD_SCALE + 0.5),
        params->in_bytes,
        params->result_bytes,
        params->shared_bytes,
        (params->spin ? FLAG_SPIN : 0) | (params->chatty ? FLAG_CHATTY : 0) |
            (uint64_t)params->combine << COMBINE_SHIFT,
        params->nfaults,
        dir_bytes,
    };
    uint8_t *to = nf_buf_reserve(buf, MAGIC_BYTES + 8 * words + dir_bytes +
                                          params->shared_bytes);

    if (to == NULL)
        return NF_ERR_NOMEM;
    memcpy(to, MAGIC, MAGIC_BYTES);
    to += MAGIC_BYTES;
    for (size_t i = 0; i < FIXED_WORDS; i++, to += 8)
        nf_store_le64(to, fixed[i]);
    for (uint32_t i = 0; i < params->nfaults; i++, to += 16) {
        nf_store_le64(to, params->faults[i].unit);
        nf_store_le64(to + 8,
                      (uint64_t)params->faults[i].kind |
                          (uint64_t)params->faults[i].once << ONCE_SHIFT);
    }
    memcpy(to, params->fault_dir, dir_bytes);
    nf_synth_fill(params->seed, NF_SYNTH_SHARED, 0, to + dir_bytes,
                  params->shared_bytes);
    return NF_OK;
}

/* The checked variable part of the block: faults, then the directory. */
static bool decode_faults(const uint8_t *at, size_t dir_bytes,
                          struct nf_synth_params *params)
{
    for (uint32_t i = 0; i < params->nfaults; i++, at += 16) {
        uint64_t kind = nf_load_le64(at + 8);

        if ((kind & 0xff) >= NF_SYNTH_NKINDS || kind >> (ONCE_SHIFT + 1) != 0)
            return false;
        params->faults[i].unit = nf_load_le64(at);
        params->faults[i].kind = (enum nf_synth_fault_kind)(kind & 0xff);
        params->faults[i].once = kind >> ONCE_SHIFT != 0;
    }
    memcpy(params->fault_dir, at, dir_bytes);
    params->fault_dir[dir_bytes] = '\0';
    return true;
}

enum nf_status nf_synth_decode(const void *data, size_t bytes,
                               struct nf_synth_params *params_p,
                               size_t *header_bytes_p)
{
    const uint8_t *at = data;
    uint64_t fixed[FIXED_WORDS], nfaults, dir_bytes;
    size_t header = MAGIC_BYTES + 8 * FIXED_WORDS;

    if (bytes < header || memcmp(at, MAGIC, MAGIC_BYTES) != 0)
        return NF_ERR_PROTOCOL;
    for (size_t i = 0; i < FIXED_WORDS; i++)
        fixed[i] = nf_load_le64(at + MAGIC_BYTES + 8 * i);
    nfaults = fixed[7];
    dir_bytes = fixed[8];
    if (nfaults > NF_SYNTH_MAX_FAULTS || dir_bytes >= NF_SYNTH_DIR_BYTES)
        return NF_ERR_PROTOCOL;
    header += 16 * (size_t)nfaults + (size_t)dir_bytes;
    if (bytes < header || bytes - header != fixed[5] ||
        fixed[1] > (uint64_t)INT64_MAX ||
        fixed[6] >> COMBINE_SHIFT >= NF_SYNTH_NCOMBINES)
        return NF_ERR_PROTOCOL;
    params_p->seed = fixed[0];
    params_p->cost_us = (int64_t)fixed[1];
    params_p->spread = (double)fixed[2] / SPREAD_SCALE;
    params_p->in_bytes = fixed[3];
    params_p->result_bytes = fixed[4];
    params_p->shared_bytes = fixed[5];
    params_p->spin = (fixed[6] & FLAG_SPIN) != 0;
    params_p->chatty = (fixed[6] & FLAG_CHATTY) != 0;
    params_p->combine = (enum nf_synth_combine)(fixed[6] >> COMBINE_SHIFT);
    params_p->nfaults = (uint32_t)nfaults;
    *header_bytes_p = header;
    return decode_faults(at + MAGIC_BYTES + 8 * FIXED_WORDS, (size_t)dir_bytes,
                         params_p)
               ? NF_OK
               : NF_ERR_PROTOCOL;
}
