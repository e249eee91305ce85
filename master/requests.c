/* The requests of clients.  Status is answered from memory alone; whatever
 * needs the disk goes through the journal and is answered when that is done. */
#include "config.h"
#include "master/requests.h"
#include <string.h>
#include <unistd.h>
#include "common/base/blob.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/text.h"

/* Exit statuses of clients. */
enum { EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_UNREACHABLE = 3 };

/* The job that a request names; replies itself if there is none. */
static struct nf_job *named_job(struct nf_jobs *jobs, uint64_t client,
                                const json_t *request)
{
    const json_t *number = json_object_get(request, "job");
    json_int_t id = json_integer_value(number);
    struct nf_job *job = NULL;

    if (!json_is_integer(number) || id < 1) {
        nf_control_refuse(jobs->control, client, EXIT_USAGE,
                          "job: want a number, 1 or more");
        return NULL;
    }
    job = nf_jobs_find(jobs, (uint64_t)id);
    if (job == NULL)
        nf_control_refuse(jobs->control, client, EXIT_USAGE, "no job %lld",
                          (long long)id);
    return job;
}

static void submit(struct nf_jobs *jobs, uint64_t client, const json_t *request)
{
    struct nf_error err = { .text = "" };
    struct nf_job *job;

    if (jobs->stopping) {
        nf_control_refuse(jobs->control, client, EXIT_UNREACHABLE,
                          "submit: nowfarmd is stopping");
        return;
    }
    if (nf_queue_waiting(jobs->queue) + jobs->unrecorded >=
        NF_JOBS_MOST_QUEUED) {
        nf_control_refuse(jobs->control, client, EXIT_FAILED,
                          "submit: the queue is full (%d jobs)",
                          NF_JOBS_MOST_QUEUED);
        return;
    }
    if (nf_job_create(request, &job, &err) != NF_OK)
        nf_control_refuse(jobs->control, client, nf_exit_status(err.status),
                          "%s", err.text);
    else if (nf_jobs_submit(jobs, job, client) != NF_OK)
        nf_control_reply(jobs->control, client, NULL);
}

static json_t *describe_daemon(const struct nf_jobs *jobs)
{
    return json_pack("{s:I, s:s, s:f, s:i, s:I, s:I, s:b}", "pid",
                     (json_int_t)getpid(), "version", nf_version(), "uptime_s",
                     (double)(nf_now_us() - jobs->started_us) * 1e-6,
                     "max_running", (int)jobs->max_running, "running",
                     (json_int_t)nf_queue_running(jobs->queue), "queued",
                     (json_int_t)nf_queue_waiting(jobs->queue), "stopping",
                     (int)jobs->stopping);
}

static void list(json_t *array, const struct nf_queue_entry *entry,
                 int64_t now_us)
{
    if (json_array_size(array) < NF_REQUESTS_MOST_LISTED)
        json_array_append_new(
            array, nf_job_describe((const struct nf_job *)entry, now_us));
}

static void status_of_all(struct nf_jobs *jobs, uint64_t client)
{
    const struct nf_queue *queue = jobs->queue;
    int64_t now_us = nf_jobs_unix_time_us();
    size_t count = nf_queue_count(queue);
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++)
        if (nf_queue_at(queue, i)->state == NF_JOB_RUNNING)
            list(array, nf_queue_at(queue, i), now_us);
    for (size_t i = 0; i < nf_queue_waiting(queue); i++)
        list(array, nf_queue_waiting_at(queue, i), now_us);
    for (size_t i = count; i > 0; i--)
        if (nf_job_state_is_final(nf_queue_at(queue, i - 1)->state))
            list(array, nf_queue_at(queue, i - 1), now_us);
    nf_control_reply(jobs->control, client,
                     json_pack("{s:I, s:o, s:o}", "left_out",
                               (json_int_t)(count - json_array_size(array)),
                               "jobs", array, "daemon", describe_daemon(jobs)));
}

static void reply_with_job(struct nf_jobs *jobs, uint64_t client,
                           const struct nf_job *job)
{
    nf_control_reply(jobs->control, client,
                     json_pack("{s:o}", "job",
                               nf_job_describe(job, nf_jobs_unix_time_us())));
}

static void status(struct nf_jobs *jobs, uint64_t client, const json_t *request)
{
    struct nf_job *job;

    if (json_object_get(request, "job") == NULL) {
        status_of_all(jobs, client);
        return;
    }
    job = named_job(jobs, client, request);
    if (job != NULL)
        reply_with_job(jobs, client, job);
}

static void wait_for(struct nf_jobs *jobs, uint64_t client,
                     const json_t *request)
{
    struct nf_job *job = named_job(jobs, client, request);

    if (job == NULL)
        return;
    if (nf_job_state_is_final(job->entry.state))
        reply_with_job(jobs, client, job);
    else if (nf_jobs_wait(jobs, job, client) != NF_OK)
        nf_control_reply(jobs->control, client, NULL);
}

/* Takes nothing; makes the text fit for JSON in place. */
static void reply_with_text(struct nf_jobs *jobs, uint64_t client, char *data,
                            size_t bytes, uint64_t dropped_bytes)
{
    nf_text_make_utf8(data, bytes);
    nf_control_reply(jobs->control, client,
                     json_pack("{s:s%, s:I}", "text", data, bytes,
                               "dropped_bytes", (json_int_t)dropped_bytes));
}

static void on_fetched(void *user, struct nf_journal_entry *entry,
                       enum nf_status fetched, const struct nf_error *err)
{
    struct nf_jobs *jobs = user;
    bool wants_log = entry->flag;
    const struct nf_store_text *text = wants_log ? &entry->log : &entry->report;

    if (fetched != NF_OK)
        nf_control_refuse(jobs->control, entry->client, nf_exit_status(fetched),
                          "result: %s", err->text);
    else if (text->bytes == 0 && !wants_log)
        nf_control_refuse(jobs->control, entry->client, EXIT_FAILED,
                          "job %llu left no report (see: nowfarm result %llu "
                          "--log)",
                          (unsigned long long)entry->job.id,
                          (unsigned long long)entry->job.id);
    else
        reply_with_text(jobs, entry->client, text->data, text->bytes,
                        text->dropped_bytes);
}

static void fetch(struct nf_jobs *jobs, uint64_t client,
                  const struct nf_job *job, bool wants_log)
{
    struct nf_journal_entry entry = {
        .kind = NF_JOURNAL_FETCH,
        .done = on_fetched,
        .user = jobs,
        .client = client,
        .flag = wants_log,
    };

    entry.job.id = job->entry.id;
    if (nf_journal_post(jobs->journal, &entry) != NF_OK)
        nf_control_reply(jobs->control, client, NULL);
}

/* The log of a running job, as far as it is. */
static void reply_with_live_log(struct nf_jobs *jobs, uint64_t client,
                                const struct nf_runner *runner)
{
    size_t bytes;
    uint64_t dropped_bytes;
    const char *log = nf_runner_log(runner, &bytes, &dropped_bytes);
    struct nf_buf copy;
    char nothing[1] = "";

    nf_buf_init(&copy);
    if (nf_buf_append(&copy, log, bytes) != NF_OK)
        nf_control_reply(jobs->control, client, NULL);
    else
        reply_with_text(jobs, client,
                        copy.data == NULL ? nothing : (char *)copy.data, bytes,
                        dropped_bytes);
    nf_buf_fini(&copy);
}

static void result(struct nf_jobs *jobs, uint64_t client, const json_t *request)
{
    bool wants_log = json_is_true(json_object_get(request, "log"));
    struct nf_job *job = named_job(jobs, client, request);

    if (job == NULL)
        return;
    if (nf_job_state_is_final(job->entry.state))
        fetch(jobs, client, job, wants_log);
    else if (wants_log && nf_jobs_runner(jobs, job) != NULL)
        reply_with_live_log(jobs, client, nf_jobs_runner(jobs, job));
    else
        nf_control_refuse(jobs->control, client, EXIT_FAILED,
                          "job %llu is not finished yet (%s)",
                          (unsigned long long)job->entry.id,
                          nf_job_state_name(job->entry.state));
}

static void cancel(struct nf_jobs *jobs, uint64_t client, const json_t *request)
{
    struct nf_job *job = named_job(jobs, client, request);

    if (job != NULL && nf_jobs_cancel(jobs, job, client) == NF_ERR_FAILED)
        nf_control_refuse(jobs->control, client, EXIT_FAILED,
                          "job %llu is finished already (%s)",
                          (unsigned long long)job->entry.id,
                          nf_job_state_name(job->entry.state));
}

static const struct {
    const char *name;
    void (*handle)(struct nf_jobs *jobs, uint64_t client,
                   const json_t *request);
} operations[] = {
    { "submit", submit }, { "status", status }, { "wait", wait_for },
    { "result", result }, { "cancel", cancel },
};

void nf_requests_handle(void *user, uint64_t client, const char *op,
                        const json_t *request)
{
    struct nf_jobs *jobs = user;

    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
        if (strcmp(op, operations[i].name) == 0) {
            operations[i].handle(jobs, client, request);
            return;
        }
    nf_control_refuse(jobs->control, client, EXIT_USAGE,
                      "request: op: want submit, status, wait, result or "
                      "cancel");
}

bool nf_requests_hangup(void *user, uint64_t client)
{
    return nf_jobs_forget_waiter(user, client);
}
