/* nowfarm status: the jobs of nowfarmd, as a table, or one of them. */
#include "config.h"
#include "apps/nowfarm/commands_jobs.h"
#include <stdio.h>
#include <string.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/client.h"
#include "common/base/units.h"

enum { CELL_BYTES = 48 };

static const char *text_of(const json_t *job, const char *key)
{
    const char *text = json_string_value(json_object_get(job, key));

    return text == NULL ? "" : text;
}

static double number_of(const json_t *job, const char *key)
{
    return json_number_value(json_object_get(job, key));
}

/* "1234/5000", "starting", or "-" before the runner has told anything. */
static void print_progress(const json_t *job, char cell[CELL_BYTES])
{
    double units = number_of(job, "units");
    double done = number_of(job, "done") + number_of(job, "failed");

    if (units > 0)
        snprintf(cell, CELL_BYTES, "%.0f/%.0f %3.0f%%", done, units,
                 100 * done / units);
    else if (strcmp(text_of(job, "state"), "running") == 0 &&
             text_of(job, "phase")[0] != '\0')
        snprintf(cell, CELL_BYTES, "%s", text_of(job, "phase"));
    else
        snprintf(cell, CELL_BYTES, "-");
}

static void print_rate(const json_t *job, char cell[CELL_BYTES])
{
    double rate = number_of(job, "rate_units_per_s");

    snprintf(cell, CELL_BYTES, rate > 0 ? "%.3g/s" : "-", rate);
}

static void print_time(const json_t *job, const char *key,
                       char cell[CELL_BYTES])
{
    const json_t *value = json_object_get(job, key);
    double seconds = json_number_value(value);

    if (json_is_number(value) && seconds >= 0 && seconds < 1e9)
        nf_format_time_us((int64_t)(seconds * 1e6), cell, CELL_BYTES);
    else
        snprintf(cell, CELL_BYTES, "-");
}

static const char *state_of(const json_t *job)
{
    return json_is_true(json_object_get(job, "cancelling"))
               ? "cancelling"
               : text_of(job, "state");
}

static void print_row(const json_t *job)
{
    char progress[CELL_BYTES], rate[CELL_BYTES], eta[CELL_BYTES];

    print_progress(job, progress);
    print_rate(job, rate);
    print_time(job, "eta_s", eta);
    printf("%6.0f  %-20.20s  %-11s  %8.0f  %-20s  %10s  %s\n",
           number_of(job, "id"), text_of(job, "name"), state_of(job),
           number_of(job, "priority"), progress, rate, eta);
}

static void print_table(const json_t *reply)
{
    const json_t *jobs = json_object_get(reply, "jobs");
    double left_out = number_of(reply, "left_out");

    printf("%6s  %-20s  %-11s  %8s  %-20s  %10s  %s\n", "JOB", "NAME", "STATE",
           "PRIORITY", "PROGRESS", "RATE", "ETA");
    for (size_t i = 0; i < json_array_size(jobs); i++)
        print_row(json_array_get(jobs, i));
    if (left_out > 0)
        printf("and %.0f more\n", left_out);
}

static void print_words(const json_t *words)
{
    for (size_t i = 0; i < json_array_size(words); i++)
        printf(" %s", json_string_value(json_array_get(words, i)));
    putchar('\n');
}

static void print_line(const char *name, const char *text)
{
    if (text[0] != '\0')
        printf("%-12s %s\n", name, text);
}

static void print_job(const json_t *job)
{
    char progress[CELL_BYTES], rate[CELL_BYTES], eta[CELL_BYTES],
        elapsed[CELL_BYTES];

    print_progress(job, progress);
    print_rate(job, rate);
    print_time(job, "eta_s", eta);
    print_time(job, "elapsed_s", elapsed);
    printf("%-12s %.0f\n", "job", number_of(job, "id"));
    print_line("name", text_of(job, "name"));
    print_line("state", state_of(job));
    printf("%-12s", "command");
    print_words(json_object_get(job, "argv"));
    print_line("directory", text_of(job, "cwd"));
    printf("%-12s %.0f\n", "priority", number_of(job, "priority"));
    printf("%-12s %.0f\n", "attempts", number_of(job, "attempts"));
    print_line("submitted", text_of(job, "submitted"));
    print_line("started", text_of(job, "started"));
    print_line("finished", text_of(job, "finished"));
    print_line("elapsed", elapsed);
    print_line("progress", progress);
    print_line("rate", rate);
    print_line("eta", eta);
    printf("%-12s %.0f, slots %.0f\n", "slaves", number_of(job, "slaves"),
           number_of(job, "slots"));
    if (json_is_integer(json_object_get(job, "exit_status")))
        printf("%-12s %.0f\n", "exit status", number_of(job, "exit_status"));
    print_line("note", text_of(job, "note"));
}

static int status(const struct nf_client *client)
{
    json_t *request = json_object();
    json_t *reply, *job;
    int exit_status;

    if (client->job != 0)
        json_object_set_new(request, "job",
                            json_integer((json_int_t)client->job));
    exit_status = nf_client_call(client, "status", request,
                                 NF_CLIENT_PATIENCE_US, &reply);
    if (exit_status != 0)
        return exit_status;
    json_object_del(reply, "v");
    json_object_del(reply, "ok");
    job = json_object_get(reply, "job");
    if (client->json) {
        exit_status = nf_client_print_json(client, job != NULL ? job : reply);
    } else {
        if (job != NULL)
            print_job(job);
        else
            print_table(reply);
        exit_status = nf_client_flush(client);
    }
    json_decref(reply);
    return exit_status;
}

int nf_cmd_status(int argc, const char **argv)
{
    struct nf_client client = { 0 };
    int exit_status = NF_EXIT_USAGE;
    const struct poptOption options[] = {
        NF_CLIENT_OPTIONS(&client),
        { "json", '\0', POPT_ARG_NONE, &client.json, 0, "print one JSON object",
          NULL },
        POPT_AUTOHELP POPT_TABLEEND,
    };

    if (nf_client_init(&client, argc, argv, options, "[OPTION...] [JOB]", 0) &&
        nf_client_take_job(&client, NF_CLIENT_MAY_JOB))
        exit_status = status(&client);
    nf_client_fini(&client);
    return exit_status;
}
