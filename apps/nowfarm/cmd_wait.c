/* nowfarm wait, result, cancel: one job of nowfarmd each. */
#include "config.h"
#include "apps/nowfarm/commands_jobs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/client.h"
#include "common/base/units.h"

static json_t *job_request(const struct nf_client *client)
{
    return json_pack("{s:I}", "job", (json_int_t)client->job);
}

/* --- wait -------------------------------------------------------------- */

/* A job that did not end well: in one line, why. */
static void say_why(const struct nf_client *client, const json_t *job)
{
    const char *state = json_string_value(json_object_get(job, "state"));
    const char *note = json_string_value(json_object_get(job, "note"));

    if (state != NULL && strcmp(state, "cancelled") == 0)
        note = "nowfarm cancel ended it";
    else if (state != NULL && strcmp(state, "interrupted") == 0)
        note = "a signal ended it";
    else if (note == NULL || note[0] == '\0')
        note = "it left no word (see: nowfarm result --log)";
    nf_client_fail(client, 0, "job %llu %s: %s",
                   (unsigned long long)client->job,
                   state != NULL ? state : "ended", note);
}

static int wait_for(const struct nf_client *client, const char *timeout)
{
    int64_t timeout_us = INT64_MAX;
    json_t *reply, *job, *value;
    int status;

    if (timeout != NULL && nf_parse_time_us(timeout, &timeout_us) != NF_OK)
        return nf_client_fail(client, NF_EXIT_USAGE,
                              "--timeout %s: want a time, like 30s or 500ms",
                              timeout);
    if (timeout_us == NF_CLIENT_PATIENCE_US)
        timeout_us++; /* that very time means: the daemon hangs */
    status =
        nf_client_call(client, "wait", job_request(client), timeout_us, &reply);
    if (status == NF_CLIENT_EXIT_TIMEOUT)
        return nf_client_fail(client, status, "job %llu has not ended in %s",
                              (unsigned long long)client->job, timeout);
    if (status != 0)
        return status;
    job = json_object_get(reply, "job");
    value = json_object_get(job, "exit_status");
    status = json_is_integer(value) ? (int)json_integer_value(value)
                                    : NF_EXIT_UNREACHABLE;
    if (status != 0)
        say_why(client, job);
    if (client->json && nf_client_print_json(client, job) != 0)
        status = status == 0 ? 1 : status;
    json_decref(reply);
    return status;
}

int nf_cmd_wait(int argc, const char **argv)
{
    struct nf_client client = { 0 };
    char *timeout = NULL;
    int status = NF_EXIT_USAGE;
    const struct poptOption options[] = {
        NF_CLIENT_OPTIONS(&client),
        { "timeout", 't', POPT_ARG_STRING, &timeout, 0,
          "give up after TIME, with exit status 124", "TIME" },
        { "json", '\0', POPT_ARG_NONE, &client.json, 0,
          "print the job as one JSON object", NULL },
        POPT_AUTOHELP POPT_TABLEEND,
    };

    if (nf_client_init(&client, argc, argv, options, "[OPTION...] JOB", 0) &&
        nf_client_take_job(&client, NF_CLIENT_MUST_JOB))
        status = wait_for(&client, timeout);
    nf_client_fini(&client);
    free(timeout);
    return status;
}

/* --- result ------------------------------------------------------------ */

static int print_text(const struct nf_client *client, const json_t *reply)
{
    const json_t *text = json_object_get(reply, "text");
    size_t bytes = json_string_length(text);
    const char *data = json_string_value(text);
    json_int_t dropped =
        json_integer_value(json_object_get(reply, "dropped_bytes"));

    if (bytes > 0) {
        fwrite(data, 1, bytes, stdout);
        if (data[bytes - 1] != '\n')
            putchar('\n');
    }
    if (dropped > 0)
        nf_client_fail(client, 0, "%lld bytes more were not kept",
                       (long long)dropped);
    return nf_client_flush(client);
}

static int result(const struct nf_client *client, int wants_log)
{
    json_t *request = job_request(client), *reply;
    int status;

    if (wants_log)
        json_object_set_new(request, "log", json_true());
    status = nf_client_call(client, "result", request, NF_CLIENT_PATIENCE_US,
                            &reply);
    if (status != 0)
        return status;
    status = print_text(client, reply);
    json_decref(reply);
    return status;
}

int nf_cmd_result(int argc, const char **argv)
{
    struct nf_client client = { 0 };
    int wants_log = 0, status = NF_EXIT_USAGE;
    const struct poptOption options[] = {
        NF_CLIENT_OPTIONS(&client),
        { "log", 'l', POPT_ARG_NONE, &wants_log, 0,
          "print the job's log instead of its report", NULL },
        { "json", '\0', POPT_ARG_NONE, &client.json, 0,
          "nothing else: the report is one JSON object", NULL },
        POPT_AUTOHELP POPT_TABLEEND,
    };

    if (nf_client_init(&client, argc, argv, options, "[OPTION...] JOB", 0) &&
        nf_client_take_job(&client, NF_CLIENT_MUST_JOB))
        status = result(&client, wants_log);
    nf_client_fini(&client);
    return status;
}

/* --- cancel ------------------------------------------------------------ */

static int cancel(const struct nf_client *client)
{
    json_t *reply;
    int status = nf_client_call(client, "cancel", job_request(client),
                                NF_CLIENT_PATIENCE_US, &reply);

    if (status != 0)
        return status;
    if (client->json) {
        json_object_del(reply, "v");
        json_object_del(reply, "ok");
        status = nf_client_print_json(client, reply);
    }
    json_decref(reply);
    return status;
}

int nf_cmd_cancel(int argc, const char **argv)
{
    struct nf_client client = { 0 };
    int status = NF_EXIT_USAGE;
    const struct poptOption options[] = {
        NF_CLIENT_OPTIONS(&client),
        { "json", '\0', POPT_ARG_NONE, &client.json, 0,
          "print {\"job\": N, \"state\": ...}", NULL },
        POPT_AUTOHELP POPT_TABLEEND,
    };

    if (nf_client_init(&client, argc, argv, options, "[OPTION...] JOB", 0) &&
        nf_client_take_job(&client, NF_CLIENT_MUST_JOB))
        status = cancel(&client);
    nf_client_fini(&client);
    return status;
}
