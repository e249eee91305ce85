/* The queue of jobs: laws over random scripts, against a model that is too
 * simple to be wrong, and the transitions one by one. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "master/queue.h"
#include "tests/unit/nf_unit.h"

enum { SCRIPTS = 400, STEPS = 300, MOST_JOBS = 400 };

/* What must be true, as a flat list that is searched from end to end. */
struct model {
    struct nf_queue_entry entries[MOST_JOBS];
    bool is_in[MOST_JOBS];
    enum nf_job_state state[MOST_JOBS];
    bool cancelling[MOST_JOBS];
    size_t count;
    uint32_t max_running;
    bool draining;
};

static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
    random_state =
        random_state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(random_state >> 33) % below;
}

static size_t model_count(const struct model *model, enum nf_job_state state)
{
    size_t n = 0;

    for (size_t i = 0; i < model->count; i++)
        n += model->is_in[i] && model->state[i] == state;
    return n;
}

/* The index that must start next, or -1. */
static int model_next(const struct model *model)
{
    int best = -1;

    if (model->draining ||
        model_count(model, NF_JOB_RUNNING) >= model->max_running)
        return -1;
    for (size_t i = 0; i < model->count; i++)
        if (model->is_in[i] && model->state[i] == NF_JOB_QUEUED &&
            (best < 0 ||
             model->entries[i].priority > model->entries[best].priority))
            best = (int)i;
    return best;
}

static bool step_add(struct nf_queue *queue, struct model *model)
{
    size_t i = model->count;

    if (i == MOST_JOBS)
        return true;
    model->entries[i].id = i + 1;
    model->entries[i].priority = (int32_t)draw(5) - 2;
    model->entries[i].state = draw(8) == 0 ? NF_JOB_DONE : NF_JOB_QUEUED;
    model->entries[i].cancelling = draw(2) != 0; /* must be reset */
    model->state[i] = model->entries[i].state;
    model->is_in[i] = true;
    model->count++;
    return nf_queue_add(queue, &model->entries[i]) == NF_OK;
}

static bool step_start(struct nf_queue *queue, struct model *model)
{
    struct nf_queue_entry *entry = NULL;
    int next = model_next(model);
    enum nf_status status = nf_queue_start(queue, &entry);

    if (next < 0)
        return status == NF_WAIT;
    model->state[next] = NF_JOB_RUNNING;
    return status == NF_OK && entry == &model->entries[next];
}

static bool step_end(struct nf_queue *queue, struct model *model, size_t i)
{
    enum nf_end end = (enum nf_end)draw(3);
    enum nf_job_state state = NF_JOB_QUEUED, want;
    enum nf_status status = nf_queue_end(queue, i + 1, end, &state);

    if (!model->is_in[i] || model->state[i] != NF_JOB_RUNNING)
        return status == NF_ERR_INVAL;
    want = end == NF_END_OK       ? NF_JOB_DONE
           : model->cancelling[i] ? NF_JOB_CANCELLED
           : end == NF_END_FAILED ? NF_JOB_FAILED
           : model->draining      ? NF_JOB_QUEUED
                                  : NF_JOB_INTERRUPTED;
    model->state[i] = want;
    model->cancelling[i] = false;
    return status == NF_OK && state == want;
}

static bool step_cancel(struct nf_queue *queue, struct model *model, size_t i)
{
    enum nf_status status = nf_queue_cancel(queue, i + 1);

    if (!model->is_in[i])
        return status == NF_ERR_INVAL;
    switch (model->state[i]) {
    case NF_JOB_QUEUED:
        model->state[i] = NF_JOB_CANCELLED;
        return status == NF_OK;
    case NF_JOB_RUNNING:
        model->cancelling[i] = true;
        return status == NF_WAIT;
    default:
        return status == NF_ERR_FAILED;
    }
}

static bool step_remove(struct nf_queue *queue, struct model *model, size_t i)
{
    enum nf_status status = nf_queue_remove(queue, i + 1);

    if (!model->is_in[i] || model->state[i] == NF_JOB_RUNNING)
        return status == NF_ERR_INVAL;
    model->is_in[i] = false;
    return status == NF_OK;
}

static bool step_surplus(struct nf_queue *queue, struct model *model)
{
    size_t keep = draw(20), final = 0;
    struct nf_queue_entry *got = nf_queue_surplus(queue, keep), *first = NULL;

    for (size_t i = 0; i < model->count; i++)
        if (model->is_in[i] && nf_job_state_is_final(model->state[i])) {
            final++;
            if (first == NULL)
                first = &model->entries[i];
        }
    return got == (final > keep ? first : NULL);
}

static bool same(struct nf_queue *queue, const struct model *model)
{
    size_t in = 0;

    for (size_t i = 0; i < model->count; i++) {
        struct nf_queue_entry *entry = nf_queue_find(queue, i + 1);

        if ((entry != NULL) != model->is_in[i])
            return false;
        if (entry == NULL)
            continue;
        if (entry != &model->entries[i] || entry->state != model->state[i] ||
            entry->cancelling != model->cancelling[i] ||
            nf_queue_at(queue, in) != entry)
            return false;
        in++;
    }
    for (size_t i = 1; i < nf_queue_waiting(queue); i++) {
        struct nf_queue_entry *a = nf_queue_waiting_at(queue, i - 1);
        struct nf_queue_entry *b = nf_queue_waiting_at(queue, i);

        if (a->priority < b->priority ||
            (a->priority == b->priority && a->id > b->id))
            return false;
    }
    return nf_queue_count(queue) == in &&
           nf_queue_waiting(queue) == model_count(model, NF_JOB_QUEUED) &&
           nf_queue_running(queue) == model_count(model, NF_JOB_RUNNING);
}

static bool step(struct nf_queue *queue, struct model *model)
{
    size_t i = draw((uint32_t)model->count + 1);

    switch (draw(10)) {
    case 0:
    case 1:
    case 2:
        return step_add(queue, model);
    case 3:
    case 4:
        return step_start(queue, model);
    case 5:
    case 6:
        return i == model->count || step_end(queue, model, i);
    case 7:
        return i == model->count || step_cancel(queue, model, i);
    case 8:
        if (draw(4) == 0) {
            model->max_running = 1 + draw(4);
            nf_queue_set_max_running(queue, model->max_running);
        }
        if (draw(60) == 0) {
            model->draining = true;
            nf_queue_drain(queue);
        }
        return step_surplus(queue, model);
    default:
        return i == model->count || step_remove(queue, model, i);
    }
}

static void random_scripts_agree_with_the_model(void)
{
    static struct model model;

    for (uint64_t seed = 1; seed <= SCRIPTS; seed++) {
        struct nf_queue *queue = nf_queue_create(1);
        bool good = queue != NULL;
        int at = 0;

        random_state = seed;
        memset(&model, 0, sizeof(model));
        model.max_running = 1;
        for (; good && at < STEPS; at++)
            good = step(queue, &model) && same(queue, &model);
        if (!good)
            printf("\n    seed %llu, step %d", (unsigned long long)seed, at);
        CU_ASSERT_TRUE(good);
        nf_queue_destroy(queue);
    }
}

static void fill(struct nf_queue *queue, struct nf_queue_entry *entries,
                 const int *priorities, size_t count)
{
    memset(entries, 0, count * sizeof(*entries));
    for (size_t i = 0; i < count; i++) {
        entries[i].id = i + 1;
        entries[i].priority = priorities[i];
        CU_ASSERT_EQUAL(nf_queue_add(queue, &entries[i]), NF_OK);
    }
}

static void higher_priorities_go_first_then_older_jobs(void)
{
    static const int priorities[] = { 0, 5, 0, -1, 5 };
    static const uint64_t want[] = { 2, 5, 1, 3, 4 };
    struct nf_queue *queue = nf_queue_create(5);
    struct nf_queue_entry entries[5], *next;

    fill(queue, entries, priorities, 5);
    for (size_t i = 0; i < 5; i++) {
        next = NULL;
        CU_ASSERT_EQUAL(nf_queue_start(queue, &next), NF_OK);
        CU_ASSERT_TRUE(next != NULL && next->id == want[i]);
    }
    CU_ASSERT_EQUAL(nf_queue_start(queue, &next), NF_WAIT);
    nf_queue_destroy(queue);
}

static void a_job_sent_back_keeps_its_place(void)
{
    static const int priorities[] = { 0, 0, 0 };
    struct nf_queue *queue = nf_queue_create(1);
    struct nf_queue_entry entries[3], *next = NULL;
    enum nf_job_state state = NF_JOB_DONE;

    fill(queue, entries, priorities, 3);
    CU_ASSERT_EQUAL(nf_queue_start(queue, &next), NF_OK);
    nf_queue_drain(queue);
    CU_ASSERT_EQUAL(nf_queue_end(queue, 1, NF_END_INTERRUPTED, &state), NF_OK);
    CU_ASSERT_EQUAL(state, NF_JOB_QUEUED);
    CU_ASSERT_EQUAL(nf_queue_waiting_at(queue, 0)->id, 1);
    CU_ASSERT_EQUAL(nf_queue_start(queue, &next), NF_WAIT);
    nf_queue_destroy(queue);
}

static void a_cancel_that_comes_too_late_leaves_the_job_done(void)
{
    static const int priorities[] = { 0, 0 };
    struct nf_queue *queue = nf_queue_create(2);
    struct nf_queue_entry entries[2], *next;
    enum nf_job_state state = NF_JOB_QUEUED;

    fill(queue, entries, priorities, 2);
    nf_queue_start(queue, &next);
    nf_queue_start(queue, &next);
    CU_ASSERT_EQUAL(nf_queue_cancel(queue, 1), NF_WAIT);
    CU_ASSERT_EQUAL(nf_queue_cancel(queue, 2), NF_WAIT);
    nf_queue_end(queue, 1, NF_END_OK, &state);
    CU_ASSERT_EQUAL(state, NF_JOB_DONE);
    nf_queue_end(queue, 2, NF_END_FAILED, &state);
    CU_ASSERT_EQUAL(state, NF_JOB_CANCELLED);
    CU_ASSERT_EQUAL(nf_queue_cancel(queue, 2), NF_ERR_FAILED);
    CU_ASSERT_EQUAL(nf_queue_cancel(queue, 3), NF_ERR_INVAL);
    nf_queue_destroy(queue);
}

static void numbers_must_grow_and_nothing_starts_as_running(void)
{
    struct nf_queue *queue = nf_queue_create(1);
    struct nf_queue_entry first = { .id = 7 }, same_id = { .id = 7 },
                          running = { .id = 8, .state = NF_JOB_RUNNING };

    CU_ASSERT_EQUAL(nf_queue_add(queue, &first), NF_OK);
    CU_ASSERT_EQUAL(nf_queue_add(queue, &same_id), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_queue_add(queue, &running), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(nf_queue_count(queue), 1);
    nf_queue_destroy(queue);
}

/* Allocation n fails, for all n: the queue stays as it was, and a job that goes
 * back to the queue needs no memory. */
static void without_memory_nothing_changes(void)
{
    for (long n = 0; n < 8; n++) {
        struct nf_queue *queue = nf_queue_create(1);
        struct nf_queue_entry entries[20], *next;
        enum nf_job_state state;
        size_t added = 0;

        memset(entries, 0, sizeof(entries));
        nf_alloc_fail_after(n);
        for (size_t i = 0; i < 20; i++) {
            entries[i].id = i + 1;
            if (nf_queue_add(queue, &entries[i]) == NF_OK)
                added++;
        }
        CU_ASSERT_EQUAL(nf_queue_count(queue), added);
        CU_ASSERT_EQUAL(nf_queue_waiting(queue), added);
        nf_alloc_fail_after(0);
        if (nf_queue_start(queue, &next) == NF_OK) {
            nf_queue_drain(queue);
            nf_queue_end(queue, next->id, NF_END_INTERRUPTED, &state);
        }
        CU_ASSERT_EQUAL(nf_queue_waiting(queue), added);
        nf_alloc_fail_after(-1);
        nf_queue_destroy(queue);
    }
}

static void every_state_has_a_name_that_parses_back(void)
{
    enum nf_job_state state;

    for (int i = NF_JOB_QUEUED; i <= NF_JOB_INTERRUPTED; i++) {
        state = NF_JOB_QUEUED;
        CU_ASSERT_EQUAL(
            nf_job_state_parse(nf_job_state_name((enum nf_job_state)i), &state),
            NF_OK);
        CU_ASSERT_EQUAL((int)state, i);
    }
    CU_ASSERT_EQUAL(nf_job_state_parse("asleep", &state), NF_ERR_INVAL);
}

int main(void)
{
    CU_TestInfo order[] = {
        { "random scripts agree with the model",
          random_scripts_agree_with_the_model },
        { "higher priorities go first, then older jobs",
          higher_priorities_go_first_then_older_jobs },
        { "a job sent back keeps its place", a_job_sent_back_keeps_its_place },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo states[] = {
        { "a cancel that comes too late leaves the job done",
          a_cancel_that_comes_too_late_leaves_the_job_done },
        { "numbers must grow and nothing starts as running",
          numbers_must_grow_and_nothing_starts_as_running },
        { "without memory nothing changes", without_memory_nothing_changes },
        { "every state has a name that parses back",
          every_state_has_a_name_that_parses_back },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "the order of jobs", NULL, NULL, NULL, NULL, order },
        { "the states of a job", NULL, NULL, NULL, NULL, states },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
