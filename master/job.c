/* One job: checking what clients submit, describing it to clients.  Everything
 * that arrives here was written by somebody else, so every member is checked
 * for its type and its limits before it is kept. */
#include "config.h"
#include "master/job.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/base/text.h"
#include "master/endpoint.h"

enum { MAX_ARGUMENTS = 4096, MAX_VARIABLES = 256 };

static bool is_printable(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return false;
    return true;
}

static enum nf_status check_argv(json_t *argv, struct nf_error *err)
{
    size_t count = json_array_size(argv);

    if (!json_is_array(argv) || count == 0)
        return nf_fail(err, NF_ERR_INVAL,
                       "submit: argv: want an array, APP first");
    if (count > MAX_ARGUMENTS)
        return nf_fail(err, NF_ERR_INVAL,
                       "submit: %zu arguments, at most %d are possible", count,
                       MAX_ARGUMENTS);
    for (size_t i = 0; i < count; i++)
        if (!json_is_string(json_array_get(argv, i)))
            return nf_fail(err, NF_ERR_INVAL,
                           "submit: argv[%zu]: want a string", i);
    return NF_OK;
}

/* The variables of `env` that may travel; NULL and *err if env is malformed. */
static json_t *filter_env(json_t *env, struct nf_error *err)
{
    json_t *kept = json_object();
    const char *name;
    json_t *value;

    if (env != NULL &&
        (!json_is_object(env) || json_object_size(env) > MAX_VARIABLES)) {
        nf_fail(err, NF_ERR_INVAL, "submit: env: want at most %d variables",
                MAX_VARIABLES);
        json_decref(kept);
        return NULL;
    }
    json_object_foreach(env, name, value)
    {
        if (!json_is_string(value) || strchr(name, '=') != NULL) {
            nf_fail(err, NF_ERR_INVAL, "submit: env %.64s: want a string",
                    name);
            json_decref(kept);
            return NULL;
        }
        if (nf_endpoint_env_travels(name))
            json_object_set(kept, name, value);
    }
    if (kept == NULL)
        nf_fail(err, NF_ERR_NOMEM, "out of memory");
    return kept;
}

static enum nf_status take_name(struct nf_job *job, const json_t *request,
                                struct nf_error *err)
{
    const json_t *given = json_object_get(request, "name");
    const char *name =
        given == NULL ? nf_job_app(job) : json_string_value(given);

    if (name == NULL || name[0] == '\0' || !is_printable(name))
        return nf_fail(err, NF_ERR_INVAL,
                       "submit: the name: want printable text");
    if (strlen(name) < sizeof(job->name)) {
        strcpy(job->name, name);
        return NF_OK;
    }
    if (given != NULL)
        return nf_fail(err, NF_ERR_INVAL,
                       "submit: the name is longer than %d bytes",
                       NF_JOB_NAME_BYTES - 1);
    snprintf(job->name, sizeof(job->name), "%.*s", NF_JOB_NAME_BYTES - 1, name);
    nf_text_make_utf8(job->name, strlen(job->name)); /* cut in a character? */
    return NF_OK;
}

static enum nf_status take_priority(struct nf_job *job, const json_t *request,
                                    struct nf_error *err)
{
    const json_t *given = json_object_get(request, "priority");
    json_int_t priority = json_integer_value(given);

    if ((given != NULL && !json_is_integer(given)) ||
        priority < -NF_JOB_PRIORITY_MAX || priority > NF_JOB_PRIORITY_MAX)
        return nf_fail(err, NF_ERR_INVAL,
                       "submit: the priority: want a whole number from %d to "
                       "%d",
                       -NF_JOB_PRIORITY_MAX, NF_JOB_PRIORITY_MAX);
    job->entry.priority = (int32_t)priority;
    return NF_OK;
}

static enum nf_status take_spec(struct nf_job *job, const json_t *request,
                                struct nf_error *err)
{
    json_t *argv = json_object_get(request, "argv");
    json_t *cwd = json_object_get(request, "cwd");
    json_t *mask = json_object_get(request, "umask");
    json_t *env;
    enum nf_status status = check_argv(argv, err);

    if (status != NF_OK)
        return status;
    if (!json_is_string(cwd) || json_string_value(cwd)[0] != '/')
        return nf_fail(err, NF_ERR_INVAL, "submit: cwd: want an absolute path");
    if (!json_is_integer(mask) || json_integer_value(mask) < 0 ||
        json_integer_value(mask) > 0777)
        return nf_fail(err, NF_ERR_INVAL, "submit: umask: want 0 to 511");
    env = filter_env(json_object_get(request, "env"), err);
    if (env == NULL)
        return err != NULL ? err->status : NF_ERR_INVAL;
    job->spec = json_pack("{s:O, s:O, s:O, s:o}", "argv", argv, "cwd", cwd,
                          "umask", mask, "env", env);
    if (job->spec == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    return NF_OK;
}

enum nf_status nf_job_create(const json_t *request, struct nf_job **job_p,
                             struct nf_error *err)
{
    struct nf_job *job = nf_calloc(1, sizeof(*job));
    enum nf_status status;

    if (job == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    status = take_spec(job, request, err);
    if (status == NF_OK)
        status = take_name(job, request, err);
    if (status == NF_OK)
        status = take_priority(job, request, err);
    if (status != NF_OK) {
        nf_job_destroy(job);
        return status;
    }
    *job_p = job;
    return NF_OK;
}

void nf_job_destroy(struct nf_job *job)
{
    if (job == NULL)
        return;
    json_decref(job->spec);
    nf_free(job);
}

const char *nf_job_app(const struct nf_job *job)
{
    return json_string_value(
        json_array_get(json_object_get(job->spec, "argv"), 0));
}

bool nf_job_has_option(const struct nf_job *job, const char *option)
{
    const json_t *argv = json_object_get(job->spec, "argv");
    size_t bytes = strlen(option);

    for (size_t i = 1; i < json_array_size(argv); i++) {
        const char *word = json_string_value(json_array_get(argv, i));

        if (strncmp(word, option, bytes) == 0 &&
            (word[bytes] == '\0' || word[bytes] == '='))
            return true;
    }
    return false;
}

static bool take_count(const json_t *report, const char *key, uint64_t *value_p)
{
    const json_t *value = json_object_get(report, key);

    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *value_p = (uint64_t)json_integer_value(value);
    return true;
}

void nf_job_take_progress(struct nf_job *job, const char *line, size_t bytes)
{
    json_t *report = json_loadb(line, bytes, 0, NULL);
    const char *phase = json_string_value(json_object_get(report, "state"));
    const json_t *elapsed = json_object_get(report, "elapsed_s");
    double elapsed_s = json_number_value(elapsed);
    struct nf_progress new = job->progress;
    uint64_t slaves = new.slaves, slots = new.slots;

    if (phase != NULL &&
        (strcmp(phase, "starting") == 0 || strcmp(phase, "running") == 0))
        strcpy(job->phase, phase);
    take_count(report, "units", &new.units);
    take_count(report, "done", &new.done);
    take_count(report, "failed", &new.failed);
    if (take_count(report, "slaves", &slaves) && slaves <= UINT32_MAX)
        new.slaves = (uint32_t)slaves;
    if (take_count(report, "slots", &slots) && slots <= UINT32_MAX)
        new.slots = (uint32_t)slots;
    if (json_is_number(elapsed) && elapsed_s >= 0 && elapsed_s < 1e12)
        new.elapsed_us = (int64_t)(elapsed_s * 1e6);
    job->progress = new;
    json_decref(report);
}

/* "2024-05-01T10:00:00Z", or null for a time that has not come. */
static json_t *describe_time(int64_t time_us)
{
    time_t seconds = (time_t)(time_us / 1000000);
    struct tm parts;
    char text[32];

    if (time_us == 0 || gmtime_r(&seconds, &parts) == NULL)
        return json_null();
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return json_string(text);
}

/* Units a second and remaining seconds, null while nothing is known. */
static void describe_speed(const struct nf_job *job, json_t *object)
{
    const struct nf_progress *progress = &job->progress;
    double elapsed_s = (double)progress->elapsed_us * 1e-6;
    double settled = (double)progress->done + (double)progress->failed;
    double left = (double)progress->units - settled;
    double rate = elapsed_s > 0 ? settled / elapsed_s : 0;
    bool is_running = job->entry.state == NF_JOB_RUNNING;

    json_object_set_new(object, "rate_units_per_s",
                        elapsed_s > 0 ? json_real(rate) : json_null());
    json_object_set_new(object, "eta_s",
                        is_running && rate > 0 && left >= 0
                            ? json_real(left / rate)
                            : json_null());
}

json_t *nf_job_describe(const struct nf_job *job, int64_t now_us)
{
    bool is_final = nf_job_state_is_final(job->entry.state);
    int64_t until_us = is_final ? job->finished_us : now_us;
    int64_t elapsed_us = job->started_us != 0 && until_us > job->started_us &&
                                 job->entry.state != NF_JOB_QUEUED
                             ? until_us - job->started_us
                             : 0;
    json_t *object =
        json_pack("{s:I, s:s, s:s, s:b, s:i, s:i, s:O, s:O}", "id",
                  (json_int_t)job->entry.id, "name", job->name, "state",
                  nf_job_state_name(job->entry.state), "cancelling",
                  (int)job->entry.cancelling, "priority",
                  (int)job->entry.priority, "attempts", (int)job->attempts,
                  "argv", json_object_get(job->spec, "argv"), "cwd",
                  json_object_get(job->spec, "cwd"));

    if (object == NULL)
        return NULL;
    json_object_set_new(object, "phase", json_string(job->phase));
    json_object_set_new(object, "units",
                        json_integer((json_int_t)job->progress.units));
    json_object_set_new(object, "done",
                        json_integer((json_int_t)job->progress.done));
    json_object_set_new(object, "failed",
                        json_integer((json_int_t)job->progress.failed));
    json_object_set_new(object, "slaves", json_integer(job->progress.slaves));
    json_object_set_new(object, "slots", json_integer(job->progress.slots));
    describe_speed(job, object);
    json_object_set_new(object, "elapsed_s",
                        json_real((double)elapsed_us * 1e-6));
    json_object_set_new(object, "submitted", describe_time(job->submitted_us));
    json_object_set_new(object, "started", describe_time(job->started_us));
    json_object_set_new(object, "finished", describe_time(job->finished_us));
    json_object_set_new(object, "exit_status",
                        is_final ? json_integer(job->exit_status)
                                 : json_null());
    json_object_set_new(object, "note",
                        job->note[0] != '\0' ? json_string(job->note)
                                             : json_null());
    return object;
}
