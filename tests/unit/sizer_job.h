#ifndef NF_TESTS_SIZER_JOB_H
#define NF_TESTS_SIZER_JOB_H
/** @file sizer_job.h  One sizer at work on one job, for tests. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/policy/policy.h"

struct job {
    struct nf_policy policy;
    struct nf_policy_env env;
    size_t bytes;
    void *state;
    uint64_t left;
};

static inline bool job_start(struct job *job, const char *spec, uint64_t units,
                             uint32_t slots, uint32_t max_slots)
{
    struct nf_error err;

    memset(job, 0, sizeof(*job));
    job->env = (struct nf_policy_env){
        .units = units, .slots = slots, .max_slots = max_slots, .seed = 7
    };
    job->left = units;
    if (nf_policy_parse(spec, &job->policy, &err) != NF_OK) {
        printf("\n    %s", err.text);
        return false;
    }
    job->bytes = job->policy.sizer->state_size(&job->env);
    job->state = calloc(1, job->bytes);
    return job->policy.sizer->init(job->state, &job->env,
                                   job->policy.sizer_values, &err) == NF_OK;
}

/* A copy, which goes on by itself. */
static inline void job_copy(const struct job *from, struct job *to)
{
    *to = *from;
    to->state = malloc(from->bytes);
    memcpy(to->state, from->state, from->bytes);
}

static inline void job_end(struct job *job)
{
    free(job->state);
    job->state = NULL;
}

/* @return 0: refused */
static inline uint64_t job_next(struct job *job, uint32_t slot)
{
    uint64_t units = 0;

    if (job->left == 0 ||
        job->policy.sizer->next(job->state, slot, job->left, &units) != NF_OK)
        return 0;
    job->left -= units;
    return units;
}

static inline void job_report(struct job *job, uint32_t slot, uint64_t units,
                              int64_t compute_us, int64_t elapsed_us,
                              int64_t wait_us)
{
    struct nf_chunk_times times = {
        .units = units,
        .compute_us = compute_us,
        .elapsed_us = elapsed_us,
        .wait_us = wait_us,
        .mean_unit_us = (double)compute_us / (double)units,
    };

    if (job->policy.sizer->report != NULL)
        job->policy.sizer->report(job->state, slot, &times);
}

/* Slots ask in turn, those of static once: "3 3 2 2". */
static inline void job_print_sizes(struct job *job, char *text, size_t bytes)
{
    size_t used = 0;
    uint32_t refused = 0;

    text[0] = '\0';
    for (uint32_t slot = 0; job->left > 0 && refused < job->env.slots;
         slot = (slot + 1) % job->env.slots) {
        uint64_t units = job_next(job, slot);

        refused = units > 0 ? 0 : refused + 1;
        if (units > 0 && used < bytes)
            used += (size_t)snprintf(text + used, bytes - used, "%s%" PRIu64,
                                     used > 0 ? " " : "", units);
    }
}

#endif
