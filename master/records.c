/* Between jobs and the journal. */
#include "config.h"
#include "master/records.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/log.h"

static void print_progress(const struct nf_job *job, char *text, size_t bytes)
{
    const struct nf_progress *progress = &job->progress;

    snprintf(text, bytes,
             "{\"state\":\"%s\",\"units\":%llu,\"done\":%llu,\"failed\":%llu,"
             "\"slaves\":%u,\"slots\":%u,\"elapsed_s\":%.6f}",
             job->phase, (unsigned long long)progress->units,
             (unsigned long long)progress->done,
             (unsigned long long)progress->failed, progress->slaves,
             progress->slots, (double)progress->elapsed_us * 1e-6);
}

enum nf_status nf_record_post(struct nf_journal *journal,
                              const struct nf_job *job,
                              struct nf_journal_entry *entry)
{
    char progress[256];
    char *spec = json_dumps(job->spec, JSON_COMPACT);
    enum nf_status status = NF_ERR_NOMEM;

    print_progress(job, progress, sizeof(progress));
    entry->job = (struct nf_store_job){
        .id = job->entry.id,
        .name = job->name,
        .priority = job->entry.priority,
        .state = nf_job_state_name(job->entry.state),
        .attempts = job->attempts,
        .exit_status = job->exit_status,
        .note = job->note,
        .pid = job->pid,
        .spec = spec,
        .submitted_us = job->submitted_us,
        .started_us = job->started_us,
        .finished_us = job->finished_us,
        .progress = progress,
    };
    if (spec != NULL) {
        status = nf_journal_post(journal, entry);
    } else {
        nf_free(entry->report.data);
        nf_free(entry->log.data);
    }
    free(spec); /* jansson's, by malloc */
    if (status != NF_OK)
        nf_log(NF_LOG_ERROR, "job %llu: not recorded: out of memory",
               (unsigned long long)job->entry.id);
    return status;
}

void nf_record_state(struct nf_journal *journal, const struct nf_job *job)
{
    struct nf_journal_entry entry = { .kind = NF_JOURNAL_UPDATE };

    nf_record_post(journal, job, &entry);
}

/* A copy for the journal; without memory it is lost, which its size says. */
static struct nf_store_text copy_text(const char *data, size_t bytes,
                                      uint64_t dropped_bytes)
{
    struct nf_store_text text = { .data = nf_malloc(bytes),
                                  .bytes = bytes,
                                  .dropped_bytes = dropped_bytes };

    if (text.data == NULL)
        return (struct nf_store_text){ .dropped_bytes = dropped_bytes + bytes };
    memcpy(text.data, data, bytes);
    return text;
}

void nf_record_end(struct nf_journal *journal, const struct nf_job *job,
                   const struct nf_runner *runner)
{
    struct nf_journal_entry entry = { .kind = NF_JOURNAL_FINISH };
    size_t bytes;
    uint64_t dropped;
    const char *data;

    if (runner != NULL) {
        data = nf_runner_report(runner, &bytes, &dropped);
        entry.report = copy_text(data, bytes, dropped);
        data = nf_runner_log(runner, &bytes, &dropped);
        entry.log = copy_text(data, bytes, dropped);
    }
    nf_record_post(journal, job, &entry);
}

void nf_record_delete(struct nf_journal *journal, uint64_t id)
{
    struct nf_journal_entry entry = { .kind = NF_JOURNAL_DELETE };

    entry.job.id = id;
    if (nf_journal_post(journal, &entry) != NF_OK)
        nf_log(NF_LOG_ERROR, "job %llu: not deleted: out of memory",
               (unsigned long long)id);
}

enum nf_status nf_record_read(const struct nf_store_job *stored,
                              struct nf_job **job_p)
{
    struct nf_job *job = nf_calloc(1, sizeof(*job));

    if (job == NULL)
        return NF_ERR_NOMEM;
    job->spec = json_loads(stored->spec, 0, NULL);
    if (nf_job_app(job) == NULL ||
        nf_job_state_parse(stored->state, &job->entry.state) != NF_OK) {
        nf_job_destroy(job);
        return NF_ERR_INVAL;
    }
    job->entry.id = stored->id;
    job->entry.priority = stored->priority;
    snprintf(job->name, sizeof(job->name), "%s", stored->name);
    snprintf(job->note, sizeof(job->note), "%s", stored->note);
    job->attempts = stored->attempts;
    job->exit_status = stored->exit_status;
    job->pid = (pid_t)stored->pid;
    job->submitted_us = stored->submitted_us;
    job->started_us = stored->started_us;
    job->finished_us = stored->finished_us;
    nf_job_take_progress(job, stored->progress, strlen(stored->progress));
    *job_p = job;
    return NF_OK;
}
