/* The life of jobs.  The queue decides, runners run, the journal remembers;
 * this file passes what happens in one to the others. */
#include "config.h"
#include "master/jobs.h"
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "master/records.h"

struct nf_jobs_run {
    struct nf_jobs_run *next;
    struct nf_jobs *jobs;
    struct nf_job *job;
    struct nf_runner *runner;
};

struct nf_jobs_waiter {
    struct nf_jobs_waiter *next;
    uint64_t client, job;
};

int64_t nf_jobs_unix_time_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static struct nf_job *job_of(struct nf_queue_entry *entry)
{
    return (struct nf_job *)entry; /* its first member */
}

struct nf_job *nf_jobs_find(const struct nf_jobs *jobs, uint64_t id)
{
    return job_of(nf_queue_find(jobs->queue, id));
}

/* Forget finished jobs beyond keep_jobs. */
static void prune(struct nf_jobs *jobs)
{
    struct nf_queue_entry *entry;

    while ((entry = nf_queue_surplus(jobs->queue, jobs->keep_jobs)) != NULL) {
        nf_record_delete(jobs->journal, entry->id);
        nf_queue_remove(jobs->queue, entry->id);
        nf_job_destroy(job_of(entry));
    }
}

/* --- waiting clients --------------------------------------------------- */

enum nf_status nf_jobs_wait(struct nf_jobs *jobs, const struct nf_job *job,
                            uint64_t client)
{
    struct nf_jobs_waiter *waiter = nf_malloc(sizeof(*waiter));

    if (waiter == NULL)
        return NF_ERR_NOMEM;
    waiter->client = client;
    waiter->job = job->entry.id;
    waiter->next = jobs->waiters;
    jobs->waiters = waiter;
    return NF_OK;
}

bool nf_jobs_forget_waiter(struct nf_jobs *jobs, uint64_t client)
{
    for (struct nf_jobs_waiter **at = &jobs->waiters; *at != NULL;
         at = &(*at)->next)
        if ((*at)->client == client) {
            struct nf_jobs_waiter *waiter = *at;

            *at = waiter->next;
            nf_free(waiter);
            return true;
        }
    return false;
}

static void tell_waiters(struct nf_jobs *jobs, const struct nf_job *job)
{
    struct nf_jobs_waiter **at = &jobs->waiters;

    while (*at != NULL) {
        struct nf_jobs_waiter *waiter = *at;

        if (waiter->job != job->entry.id) {
            at = &waiter->next;
            continue;
        }
        *at = waiter->next;
        nf_control_reply(
            jobs->control, waiter->client,
            json_pack("{s:o}", "job",
                      nf_job_describe(job, nf_jobs_unix_time_us())));
        nf_free(waiter);
    }
}

/* --- running ----------------------------------------------------------- */

/* The last line of a failed job's log is the reason, as nowfarm's errors are
 * one line. */
static void note_last_line(struct nf_job *job, const struct nf_runner *runner)
{
    size_t bytes, start;
    uint64_t dropped;
    const char *log = nf_runner_log(runner, &bytes, &dropped);

    while (bytes > 0 && (log[bytes - 1] == '\n' || log[bytes - 1] == '\r'))
        bytes--;
    for (start = bytes; start > 0 && log[start - 1] != '\n';)
        start--;
    bytes -= start;
    if (bytes >= sizeof(job->note))
        bytes = sizeof(job->note) - 1;
    memcpy(job->note, log + start, bytes);
    job->note[bytes] = '\0';
    for (size_t i = 0; i < bytes; i++)
        if ((unsigned char)job->note[i] < 0x20)
            job->note[i] = ' ';
    nf_text_make_utf8(job->note, bytes);
}

/* How a runner ended; sets the note of a crash. */
static enum nf_end classify(const struct nf_jobs *jobs, struct nf_job *job,
                            int wait_status)
{
    int signo;

    if (WIFEXITED(wait_status)) {
        switch (WEXITSTATUS(wait_status)) {
        case 0:
            return NF_END_OK;
        case 130:
            return NF_END_INTERRUPTED;
        default:
            return NF_END_FAILED;
        }
    }
    signo = WTERMSIG(wait_status);
    if (jobs->stopping || job->entry.cancelling || signo == SIGTERM ||
        signo == SIGINT)
        return NF_END_INTERRUPTED;
    snprintf(job->note, sizeof(job->note),
             "its runner was killed by signal %d "
             "(%s)",
             signo, strsignal(signo));
    return NF_END_FAILED;
}

/* The exit status a client of the job sees: one of those that are promised. */
static int exit_status_of(enum nf_job_state state, int wait_status)
{
    int status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 1;

    switch (state) {
    case NF_JOB_DONE:
        return 0;
    case NF_JOB_CANCELLED:
    case NF_JOB_INTERRUPTED:
        return nf_exit_status(NF_ERR_INTERRUPTED);
    default:
        return status >= 1 && status <= 4 ? status : 1;
    }
}

/* A running job came to its end.  Without a runner it could not be started,
 * and its note says why. */
static void end_job(struct nf_jobs *jobs, struct nf_job *job, int wait_status,
                    const struct nf_runner *runner)
{
    enum nf_end end = classify(jobs, job, wait_status);
    enum nf_job_state state;

    nf_queue_end(jobs->queue, job->entry.id, end, &state);
    job->pid = 0;
    nf_log(NF_LOG_INFO, "job %llu (%s): %s", (unsigned long long)job->entry.id,
           job->name,
           state == NF_JOB_QUEUED ? "queued again" : nf_job_state_name(state));
    if (state == NF_JOB_QUEUED) {
        nf_record_state(jobs->journal, job);
        return;
    }
    if (state == NF_JOB_FAILED && job->note[0] == '\0' && runner != NULL)
        note_last_line(job, runner);
    job->exit_status = exit_status_of(state, wait_status);
    job->finished_us = nf_jobs_unix_time_us();
    nf_record_end(jobs->journal, job, runner);
    tell_waiters(jobs, job);
}

static void stop_if_idle(struct nf_jobs *jobs)
{
    if (jobs->stopping && jobs->runs == NULL && jobs->stopped != NULL)
        jobs->stopped(jobs->stopped_user);
}

static void on_progress(void *user, const char *line, size_t bytes)
{
    struct nf_jobs_run *run = user;

    nf_job_take_progress(run->job, line, bytes);
}

static void on_ended(void *user, int wait_status)
{
    struct nf_jobs_run *run = user, **at;
    struct nf_jobs *jobs = run->jobs;

    for (at = &jobs->runs; *at != run;)
        at = &(*at)->next;
    *at = run->next;
    end_job(jobs, run->job, wait_status, run->runner);
    nf_runner_destroy(run->runner);
    nf_free(run);
}

static enum nf_status launch(struct nf_jobs *jobs, struct nf_jobs_run *run,
                             struct nf_error *err)
{
    const struct nf_command_defaults defaults = {
        .runner = jobs->runner,
        .policy = jobs->policy,
        .hosts = jobs->hosts,
        .network = jobs->network,
        .socket = jobs->socket,
    };
    const struct nf_runner_hooks hooks = { on_progress, on_ended, run };
    struct nf_runner_command command;
    enum nf_status status = nf_command_init(run->job, &defaults, &command);

    if (status != NF_OK)
        return nf_fail(err, status, "out of memory");
    status = nf_runner_start(jobs->base, &command, &hooks, &run->runner, err);
    nf_command_fini(&command);
    return status;
}

static void start_job(struct nf_jobs *jobs, struct nf_job *job)
{
    struct nf_jobs_run *run = nf_calloc(1, sizeof(*run));
    struct nf_error err = { .text = "out of memory" };

    job->attempts++;
    job->started_us = nf_jobs_unix_time_us();
    memset(&job->progress, 0, sizeof(job->progress));
    job->phase[0] = '\0';
    job->note[0] = '\0';
    if (run != NULL) {
        run->jobs = jobs;
        run->job = job;
    }
    if (run == NULL || launch(jobs, run, &err) != NF_OK) {
        nf_free(run);
        snprintf(job->note, sizeof(job->note), "could not be started: %.170s",
                 err.text);
        end_job(jobs, job, W_EXITCODE(1, 0), NULL);
        return;
    }
    run->next = jobs->runs;
    jobs->runs = run;
    job->pid = nf_runner_pid(run->runner);
    nf_log(NF_LOG_INFO, "job %llu (%s): started, pid %ld, attempt %u",
           (unsigned long long)job->entry.id, job->name, (long)job->pid,
           job->attempts);
    nf_record_state(jobs->journal, job);
}

void nf_jobs_pump(struct nf_jobs *jobs)
{
    struct nf_queue_entry *entry;

    while (nf_queue_start(jobs->queue, &entry) == NF_OK)
        start_job(jobs, job_of(entry));
    prune(jobs);
}

void nf_jobs_reap(struct nf_jobs *jobs)
{
    struct nf_jobs_run *run, *next;

    for (run = jobs->runs; run != NULL; run = next) {
        next = run->next; /* on_ended() frees this one, and no other */
        nf_runner_reap(run->runner);
    }
    nf_jobs_pump(jobs);
    stop_if_idle(jobs);
}

const struct nf_runner *nf_jobs_runner(const struct nf_jobs *jobs,
                                       const struct nf_job *job)
{
    for (const struct nf_jobs_run *run = jobs->runs; run != NULL;
         run = run->next)
        if (run->job == job)
            return run->runner;
    return NULL;
}

/* --- submitting, cancelling, stopping ---------------------------------- */

static void on_recorded(void *user, struct nf_journal_entry *entry,
                        enum nf_status status, const struct nf_error *err)
{
    struct nf_jobs *jobs = user;
    struct nf_job *job = entry->object;

    jobs->unrecorded--;
    if (status == NF_OK)
        status = nf_queue_add(jobs->queue, &job->entry);
    if (status != NF_OK) {
        nf_control_refuse(
            jobs->control, entry->client, nf_exit_status(status), "submit: %s",
            err->text[0] != '\0' ? err->text : nf_strerror(status));
        nf_job_destroy(job);
        return;
    }
    nf_log(NF_LOG_INFO, "job %llu (%s): queued",
           (unsigned long long)job->entry.id, job->name);
    nf_control_reply(jobs->control, entry->client,
                     json_pack("{s:I}", "job", (json_int_t)job->entry.id));
    nf_jobs_pump(jobs);
}

enum nf_status nf_jobs_submit(struct nf_jobs *jobs, struct nf_job *job,
                              uint64_t client)
{
    struct nf_journal_entry entry = {
        .kind = NF_JOURNAL_INSERT,
        .done = on_recorded,
        .user = jobs,
        .object = job,
        .client = client,
    };
    enum nf_status status;

    job->entry.id = ++jobs->last_id;
    job->submitted_us = nf_jobs_unix_time_us();
    status = nf_record_post(jobs->journal, job, &entry);
    if (status != NF_OK)
        nf_job_destroy(job);
    else
        jobs->unrecorded++;
    return status;
}

static void on_cancel_recorded(void *user, struct nf_journal_entry *entry,
                               enum nf_status status,
                               const struct nf_error *err)
{
    struct nf_jobs *jobs = user;

    if (status != NF_OK)
        nf_control_refuse(jobs->control, entry->client, nf_exit_status(status),
                          "cancel: %s", err->text);
    else
        nf_control_reply(jobs->control, entry->client,
                         json_pack("{s:I, s:s}", "job",
                                   (json_int_t)entry->job.id, "state",
                                   nf_job_state_name(NF_JOB_CANCELLED)));
}

static void cancel_queued(struct nf_jobs *jobs, struct nf_job *job,
                          uint64_t client)
{
    struct nf_journal_entry entry = {
        .kind = NF_JOURNAL_UPDATE,
        .done = on_cancel_recorded,
        .user = jobs,
        .client = client,
    };

    job->exit_status = nf_exit_status(NF_ERR_INTERRUPTED);
    job->finished_us = nf_jobs_unix_time_us();
    if (nf_record_post(jobs->journal, job, &entry) != NF_OK)
        nf_control_reply(jobs->control, client, NULL);
    tell_waiters(jobs, job);
    prune(jobs);
}

enum nf_status nf_jobs_cancel(struct nf_jobs *jobs, struct nf_job *job,
                              uint64_t client)
{
    enum nf_status status = nf_queue_cancel(jobs->queue, job->entry.id);

    if (status == NF_OK) {
        nf_log(NF_LOG_INFO, "job %llu (%s): cancelled",
               (unsigned long long)job->entry.id, job->name);
        cancel_queued(jobs, job, client);
    } else if (status == NF_WAIT) {
        for (struct nf_jobs_run *run = jobs->runs; run != NULL; run = run->next)
            if (run->job == job)
                nf_runner_terminate(run->runner, NF_RUNNER_GRACE_US);
        nf_control_reply(jobs->control, client,
                         json_pack("{s:I, s:s}", "job",
                                   (json_int_t)job->entry.id, "state",
                                   "cancelling"));
    }
    return status;
}

void nf_jobs_stop(struct nf_jobs *jobs, int64_t grace_us,
                  void (*stopped)(void *user), void *user)
{
    jobs->stopping = true;
    jobs->stopped = stopped;
    jobs->stopped_user = user;
    nf_queue_drain(jobs->queue);
    for (struct nf_jobs_run *run = jobs->runs; run != NULL; run = run->next)
        nf_runner_terminate(run->runner, grace_us);
    stop_if_idle(jobs);
}

/* --- beginning and end ------------------------------------------------- */

/* Its daemon was killed.  The kernel has told the runner to stop, but it may
 * need a while, or hang: two runners of one job must not meet. */
static void bury(const struct nf_jobs *jobs, struct nf_job *job)
{
    if (nf_command_is_runner(job->pid, job->entry.id, jobs->socket)) {
        nf_log(NF_LOG_WARN, "job %llu: killing its old runner, pid %ld",
               (unsigned long long)job->entry.id, (long)job->pid);
        kill(-job->pid, SIGKILL);
    }
    job->pid = 0;
    job->entry.state = NF_JOB_QUEUED;
    nf_log(NF_LOG_INFO, "job %llu (%s): queued again after attempt %u",
           (unsigned long long)job->entry.id, job->name, job->attempts);
}

static enum nf_status take_stored(void *user, const struct nf_store_job *stored)
{
    struct nf_jobs *jobs = user;
    struct nf_job *job;
    enum nf_status status = nf_record_read(stored, &job);

    if (status == NF_ERR_NOMEM)
        return status;
    if (status != NF_OK) {
        nf_log(NF_LOG_ERROR, "job %llu: its record makes no sense, left out",
               (unsigned long long)stored->id);
        return NF_OK;
    }
    if (job->entry.state == NF_JOB_RUNNING)
        bury(jobs, job);
    status = nf_queue_add(jobs->queue, &job->entry);
    if (status != NF_OK)
        nf_job_destroy(job);
    return status;
}

static char *copy_or_null(const char *text, bool *failed)
{
    char *copy = text == NULL ? NULL : nf_strdup(text);

    *failed = *failed || (text != NULL && copy == NULL);
    return copy;
}

enum nf_status nf_jobs_configure(struct nf_jobs *jobs,
                                 const struct nf_settings *settings)
{
    bool failed = false;
    char *runner = copy_or_null(settings->runner, &failed);
    char *policy = copy_or_null(settings->policy, &failed);
    char *hosts = copy_or_null(settings->hosts, &failed);
    char *network = copy_or_null(settings->network, &failed);

    if (failed) {
        nf_free(runner);
        nf_free(policy);
        nf_free(hosts);
        nf_free(network);
        return NF_ERR_NOMEM;
    }
    nf_free(jobs->runner);
    nf_free(jobs->policy);
    nf_free(jobs->hosts);
    nf_free(jobs->network);
    jobs->runner = runner;
    jobs->policy = policy;
    jobs->hosts = hosts;
    jobs->network = network;
    jobs->keep_jobs = settings->keep_jobs;
    jobs->max_running = settings->max_running;
    nf_queue_set_max_running(jobs->queue, settings->max_running);
    return NF_OK;
}

enum nf_status nf_jobs_create(struct event_base *base, struct nf_store *store,
                              const char *socket,
                              const struct nf_settings *settings,
                              struct nf_jobs **jobs_p, struct nf_error *err)
{
    struct nf_jobs *jobs = nf_calloc(1, sizeof(*jobs));
    enum nf_status status = NF_ERR_NOMEM;

    if (jobs == NULL)
        return nf_fail(err, status, "out of memory");
    jobs->base = base;
    jobs->started_us = nf_now_us();
    jobs->socket = nf_strdup(socket);
    jobs->queue = nf_queue_create(settings->max_running);
    if (jobs->socket != NULL && jobs->queue != NULL)
        status = nf_jobs_configure(jobs, settings);
    if (status != NF_OK) {
        nf_fail(err, status, "out of memory");
        goto err_destroy;
    }
    status = nf_store_load(store, take_stored, jobs, err);
    if (status != NF_OK)
        goto err_destroy;
    jobs->last_id = nf_store_last_id(store);
    jobs->journal = nf_journal_open(base, store); /* the store's user, now */
    if (jobs->journal == NULL) {
        status = nf_fail(err, NF_ERR_NOMEM, "no thread for the journal");
        goto err_destroy;
    }
    *jobs_p = jobs;
    return NF_OK;
err_destroy:
    nf_jobs_destroy(jobs);
    return status;
}

void nf_jobs_attach(struct nf_jobs *jobs, struct nf_control *control)
{
    jobs->control = control;
}

void nf_jobs_destroy(struct nf_jobs *jobs)
{
    if (jobs == NULL)
        return;
    jobs->stopping = true; /* what is recorded now must start nothing */
    if (jobs->queue != NULL)
        nf_queue_drain(jobs->queue);
    nf_journal_close(jobs->journal);
    while (jobs->runs != NULL) {
        struct nf_jobs_run *run = jobs->runs;

        jobs->runs = run->next;
        nf_runner_destroy(run->runner);
        nf_free(run);
    }
    while (jobs->waiters != NULL)
        nf_jobs_forget_waiter(jobs, jobs->waiters->client);
    for (size_t i = 0; jobs->queue != NULL && i < nf_queue_count(jobs->queue);
         i++)
        nf_job_destroy(job_of(nf_queue_at(jobs->queue, i)));
    nf_queue_destroy(jobs->queue);
    nf_free(jobs->runner);
    nf_free(jobs->policy);
    nf_free(jobs->hosts);
    nf_free(jobs->network);
    nf_free(jobs->socket);
    nf_free(jobs);
}
