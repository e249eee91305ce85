/* Laws of every sizer under random parameters, jobs and reports: from the
 * tables, so that a new one cannot be forgotten. */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "common/base/rng.h"
#include "common/policy/param.h"
#include "tests/unit/nf_unit.h"
#include "tests/unit/sizer_job.h"

static void append_text(char *text, size_t bytes, const char *piece)
{
    size_t used = strlen(text);

    snprintf(text + used, bytes - used, "%s", piece);
}

static void append_count(char *text, size_t bytes, uint64_t value)
{
    char piece[24];

    snprintf(piece, sizeof(piece), "%" PRIu64, value);
    append_text(text, bytes, piece);
}

static uint64_t random_count(struct nf_rng *rng, const struct nf_param *param)
{
    uint64_t most = param->max != 0 ? param->max : 1000000000000;

    switch (nf_rng_below(rng, 4)) {
    case 0:
        return param->min;
    case 1:
        return most;
    case 2:
        return param->min + nf_rng_below(rng, 10);
    default:
        return param->min + nf_rng_next(rng) % (most - param->min);
    }
}

static const char *random_word(struct nf_rng *rng, const char *choices,
                               char *word)
{
    uint64_t skip = nf_rng_below(rng, 4);
    size_t length;

    for (; skip > 0 && strchr(choices, '|') != NULL; skip--)
        choices = strchr(choices, '|') + 1;
    length = strcspn(choices, "|");
    memcpy(word, choices, length);
    word[length] = '\0';
    return word;
}

static void append_value(struct nf_rng *rng, const struct nf_param *param,
                         uint32_t slots, char *text, size_t bytes)
{
    static const char *const reals[] = { "0",   "1e-300", "0.001", "0.7",
                                         "1.0", "3",      "1e15" };
    char word[20];

    switch (param->kind) {
    case NF_PARAM_COUNT:
        append_count(text, bytes, random_count(rng, param));
        break;
    case NF_PARAM_BOOL:
        append_count(text, bytes, nf_rng_below(rng, 2));
        break;
    case NF_PARAM_CHOICE:
        append_text(text, bytes, random_word(rng, param->choices, word));
        break;
    case NF_PARAM_LIST:
        for (uint32_t i = 0; i < slots; i++) {
            append_text(text, bytes, i == 0 ? "" : "/");
            append_count(text, bytes,
                         1 + nf_rng_below(rng, i == 0 ? 1000000000000 : 20));
        }
        break;
    case NF_PARAM_REAL:
    case NF_PARAM_TIME:
    case NF_PARAM_TIMES:
        append_text(text, bytes,
                    reals[param->positive ? 1 + nf_rng_below(rng, 6)
                                          : nf_rng_below(rng, 7)]);
        break;
    }
}

/* "name:k=v,..." with some of the parameters, for at most 30 slots. */
static void random_spec(struct nf_rng *rng, const struct nf_sizer_ops *sizer,
                        uint32_t slots, char *text, size_t bytes)
{
    char separator = ':';

    snprintf(text, bytes, "%s", sizer->name);
    for (const struct nf_param *p = sizer->params; p->name != NULL; p++) {
        size_t used = strlen(text);

        if (nf_rng_below(rng, 3) == 0 ||
            (p->kind == NF_PARAM_LIST && slots > 30))
            continue;
        snprintf(text + used, bytes - used, "%c%s=", separator, p->name);
        append_value(rng, p, slots, text, bytes);
        separator = ',';
    }
}

static uint64_t random_units(struct nf_rng *rng, uint32_t slots)
{
    switch (nf_rng_below(rng, 6)) {
    case 0:
        return nf_rng_below(rng, 4);
    case 1:
        return nf_rng_below(rng, slots);
    case 2:
        return UINT64_C(1) << 40;
    case 3:
        return UINT64_C(1) << (20 + nf_rng_below(rng, 42));
    default:
        return nf_rng_below(rng, 5000);
    }
}

static int64_t random_time(struct nf_rng *rng)
{
    switch (nf_rng_below(rng, 8)) {
    case 0:
        return 0;
    case 1:
        return -1;
    case 2:
        return INT64_MAX;
    case 3:
        return INT64_MIN;
    default:
        return (int64_t)nf_rng_below(rng, 100000);
    }
}

static double random_statistic(struct nf_rng *rng)
{
    static const double odd[] = { 0, -1, NAN, INFINITY, -INFINITY, 1e300 };

    return nf_rng_below(rng, 4) == 0 ? odd[nf_rng_below(rng, 6)]
                                     : (double)nf_rng_below(rng, 1000);
}

static void random_report(struct nf_rng *rng, struct job *job, uint32_t slot)
{
    struct nf_chunk_times times = {
        .units = nf_rng_below(rng, 50),
        .compute_us = random_time(rng),
        .wait_us = random_time(rng),
        .elapsed_us = random_time(rng),
        .mean_unit_us = random_statistic(rng),
        .m2_unit_us2 = random_statistic(rng),
    };

    if (job->policy.sizer->report != NULL)
        job->policy.sizer->report(job->state, slot, &times);
}

/* The kmin of a job; 1 if its sizer has none. */
static uint64_t least_units(const struct job *job)
{
    const struct nf_param *params = job->policy.sizer->params;
    int i = nf_param_find(params, "kmin", 4);

    return i < 0 ? 1 : job->policy.sizer_values[i].count;
}

/* Play up to `steps` requests and reports.  @return the broken law, or NULL */
static const char *play(struct job *job, struct nf_rng *rng, int steps,
                        uint64_t *digest_p)
{
    uint64_t kmin = least_units(job);

    for (int i = 0; i < steps && job->left > 0; i++) {
        uint32_t slot = (uint32_t)nf_rng_below(rng, job->env.max_slots);
        uint64_t before = job->left, units = 0;

        if (nf_rng_below(rng, 3) == 0)
            random_report(rng, job, slot);
        if (job->policy.sizer->next(job->state, slot, job->left, &units) !=
            NF_OK) {
            *digest_p = *digest_p * 31 + 1;
            continue;
        }
        if (units < 1 || units > before)
            return "a size lies in [1, left]";
        if (units < kmin && units < before)
            return "no chunk but the last has less than kmin units";
        job->left -= units;
        *digest_p = *digest_p * 31 + units;
    }
    return NULL;
}

static void check_random_job(const struct nf_sizer_ops *sizer, uint64_t seed)
{
    struct nf_rng rng = { .state = seed }, again;
    uint32_t slots = 1 + (uint32_t)nf_rng_below(
                             &rng, nf_rng_below(&rng, 5) == 0 ? 3000 : 12);
    uint64_t units = random_units(&rng, slots), digest = 0, twin_digest = 0;
    char spec[2 * NF_POLICY_SPEC_BYTES];
    const char *broken;
    struct job job, twin;

    random_spec(&rng, sizer, slots, spec, sizeof(spec));
    if (!job_start(&job, spec, units, slots,
                   slots + (uint32_t)nf_rng_below(&rng, 3))) {
        CU_FAIL("a good policy does not start");
        printf("\n    %s for %" PRIu32 " slots", spec, slots);
        job_end(&job);
        return;
    }
    broken = play(&job, &rng, (int)nf_rng_below(&rng, 40), &digest);
    job_copy(&job, &twin);
    again = rng;
    twin_digest = digest;
    if (broken == NULL)
        broken = play(&job, &rng, 2000, &digest);
    if (broken == NULL)
        broken = play(&twin, &again, 2000, &twin_digest);
    if (broken == NULL && (twin.left != job.left || twin_digest != digest))
        broken = "a copy goes on like the original";
    CU_ASSERT_PTR_NULL(broken);
    if (broken != NULL)
        printf("\n    %s, N %" PRIu64 ", p %" PRIu32 ", seed %" PRIu64 ": %s",
               spec, units, slots, seed, broken);
    job_end(&job);
    job_end(&twin);
}

static void laws_hold_for_random_parameters(void)
{
    for (size_t i = 0; nf_sizer_table[i] != NULL; i++)
        for (uint64_t seed = 1; seed <= 400; seed++)
            check_random_job(nf_sizer_table[i], 1000 * i + seed);
}

/* Slots that ask in turn get all units, at the corners of N, p and kmin. */
static void all_units_are_handed_out(void)
{
    static const uint64_t units[] = { 0, 1, 2, 3, 7, 8, 9, 64, 1000 };
    static const uint32_t slots[] = { 1, 2, 3, 8, 64, 2000 };
    static const char *const ends[] = { "", ":kmin=1", ":kmin=7",
                                        ":kmin=1000000000000" };

    for (size_t i = 0; nf_sizer_table[i] != NULL; i++)
        for (size_t k = 0; k < 9 * 6 * 4; k++) {
            const struct nf_sizer_ops *sizer = nf_sizer_table[i];
            char spec[60], sizes[8];
            struct job job;

            if (nf_param_find(sizer->params, "kmin", 4) < 0 && k % 4 > 0)
                continue;
            snprintf(spec, sizeof(spec), "%s%s+pull", sizer->name, ends[k % 4]);
            CU_ASSERT(job_start(&job, spec, units[k / 4 % 9], slots[k / 36],
                                slots[k / 36]));
            job_print_sizes(&job, sizes, sizeof(sizes));
            CU_ASSERT_EQUAL(job.left, 0);
            if (job.left > 0)
                printf("\n    %s, N %" PRIu64 ", p %" PRIu32, spec,
                       job.env.units, job.env.slots);
            job_end(&job);
        }
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "laws hold for random parameters", laws_hold_for_random_parameters },
        { "all units are handed out", all_units_are_handed_out },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "laws", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
