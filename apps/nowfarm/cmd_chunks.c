/* nowfarm chunks: the sizes that a policy's sizer hands out, either to slaves
 * that ask in turn or along a script of requests and reports. */
#include "config.h"
#include "apps/nowfarm/commands.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/cli.h"
#include "common/base/alloc.h"
#include "common/base/units.h"
#include "common/policy/policy.h"

/* More is a mistake: nobody reads it, and it does not fit in memory. */
static const uint64_t most_chunks = 10000000;
static const uint64_t most_units = UINT64_C(1000000000000000);
static const uint64_t most_slaves = 1000000;

struct request {
    const char *spec, *script; /* script: NULL if none */
    uint64_t units, slaves;
    int json;
};

struct replay {
    const struct request *request;
    struct nf_policy policy;
    void *state; /* of the sizer */
    uint64_t left;
    uint64_t *sizes; /* answers so far */
    size_t nsizes, capacity;
};

static int replay_init(struct replay *replay, const struct request *request)
{
    struct nf_policy_env env = {
        .units = request->units,
        .slots = (uint32_t)request->slaves,
        .max_slots = (uint32_t)request->slaves,
    };
    struct nf_error err;

    memset(replay, 0, sizeof(*replay));
    replay->request = request;
    replay->left = request->units;
    if (nf_policy_parse(request->spec, &replay->policy, &err) != NF_OK)
        return nf_usage_error("%s", err.text);
    replay->state = nf_calloc(1, replay->policy.sizer->state_size(&env));
    if (replay->state == NULL)
        return nf_memory_error();
    if (replay->policy.sizer->init(replay->state, &env,
                                   replay->policy.sizer_values, &err) != NF_OK)
        return nf_usage_error("policy \"%s\": %s", request->spec, err.text);
    return NF_EXIT_OK;
}

static void replay_fini(struct replay *replay)
{
    nf_free(replay->state);
    nf_free(replay->sizes);
}

static int add_size(struct replay *replay, uint64_t units)
{
    if (replay->nsizes == most_chunks)
        return nf_usage_error("chunks: more than %" PRIu64
                              " of them: want larger chunks or fewer units",
                              most_chunks);
    if (replay->nsizes == replay->capacity) {
        size_t capacity = replay->capacity == 0 ? 64 : 2 * replay->capacity;
        uint64_t *sizes = nf_realloc(replay->sizes, capacity * sizeof(*sizes));

        if (sizes == NULL)
            return nf_memory_error();
        replay->sizes = sizes;
        replay->capacity = capacity;
    }
    replay->sizes[replay->nsizes++] = units;
    return NF_EXIT_OK;
}

/* @return the answer to a request of @p slave; 0: nothing */
static uint64_t ask(struct replay *replay, uint32_t slave)
{
    uint64_t units = 0;

    if (replay->left == 0 ||
        replay->policy.sizer->next(replay->state, slave, replay->left,
                                   &units) != NF_OK)
        return 0;
    return units;
}

/* Slaves 0, 1, ..., P-1, 0, ... ask until all is handed out, or each of them
 * got nothing. */
static int ask_in_turn(struct replay *replay)
{
    uint32_t slave = 0, refused = 0;
    uint32_t slaves = (uint32_t)replay->request->slaves;

    while (replay->left > 0 && refused < slaves) {
        uint64_t units = ask(replay, slave);
        int rc;

        slave = (slave + 1) % slaves;
        refused = units > 0 ? 0 : refused + 1;
        if (units == 0)
            continue;
        replay->left -= units;
        rc = add_size(replay, units);
        if (rc != NF_EXIT_OK)
            return rc;
    }
    return NF_EXIT_OK;
}

/* ---- scripts ---- */

enum { WORDS_MAX = 8 };

struct line {
    const char *file;
    unsigned long number;
    const char *words[WORDS_MAX];
    size_t nwords; /* may exceed WORDS_MAX: the rest was not kept */
};

#define LINE_ERROR(line, format, ...)                                          \
    nf_usage_error("%s:%lu: " format, (line)->file, (line)->number, __VA_ARGS__)

static void split_line(char *text, struct line *line)
{
    char *rest = text;

    text[strcspn(text, "#\r\n")] = '\0';
    line->nwords = 0;
    for (;;) {
        char *word = strtok_r(rest, " \t", &rest);

        if (word == NULL)
            return;
        if (line->nwords < WORDS_MAX)
            line->words[line->nwords] = word;
        line->nwords++;
    }
}

static int line_count(const struct line *line, size_t word, const char *what,
                      uint64_t hi, uint64_t *value_p)
{
    if (nf_parse_count(line->words[word], 0, hi, value_p) == NF_OK)
        return NF_EXIT_OK;
    return LINE_ERROR(line, "%s %s: want a count from 0 to %" PRIu64, what,
                      line->words[word], hi);
}

static int line_real(const struct line *line, size_t word, const char *what,
                     double *value_p)
{
    if (nf_parse_real(line->words[word], 0, 1e300, value_p) == NF_OK)
        return NF_EXIT_OK;
    return LINE_ERROR(line, "%s %s: want a number >= 0", what,
                      line->words[word]);
}

/* next SLAVE [SIZE] */
static int run_next(struct replay *replay, const struct line *line)
{
    uint64_t slave, units, taken;
    int rc;

    if (line->nwords < 2 || line->nwords > 3)
        return LINE_ERROR(line, "%s", "want: next SLAVE [SIZE]");
    rc = line_count(line, 1, "slave", replay->request->slaves - 1, &slave);
    if (rc != NF_EXIT_OK)
        return rc;
    units = taken = ask(replay, (uint32_t)slave);
    if (line->nwords == 3)
        rc = line_count(line, 2, "size", replay->left, &taken);
    if (rc == NF_EXIT_OK)
        rc = add_size(replay, units);
    if (rc == NF_EXIT_OK)
        replay->left -= taken;
    return rc;
}

/* report SLAVE SIZE T_COMP_US T_ELAPSED_US MEAN_UNIT_US M2_UNIT */
static int run_report(struct replay *replay, const struct line *line)
{
    const uint64_t most_us = UINT64_C(1000000000000000);
    struct nf_chunk_times times = { .wait_us = -1 };
    uint64_t slave, compute_us, elapsed_us;
    int rc;

    if (line->nwords != 7)
        return LINE_ERROR(line, "%s",
                          "want: report SLAVE SIZE T_COMP_US T_ELAPSED_US "
                          "MEAN_UNIT_US M2_UNIT");
    rc = line_count(line, 1, "slave", replay->request->slaves - 1, &slave);
    if (rc == NF_EXIT_OK)
        rc = line_count(line, 2, "size", replay->request->units, &times.units);
    if (rc == NF_EXIT_OK && times.units == 0)
        rc = LINE_ERROR(line, "%s", "size 0: want a count >= 1");
    if (rc == NF_EXIT_OK)
        rc = line_count(line, 3, "compute time", most_us, &compute_us);
    if (rc == NF_EXIT_OK)
        rc = line_count(line, 4, "elapsed time", most_us, &elapsed_us);
    if (rc == NF_EXIT_OK)
        rc = line_real(line, 5, "mean", &times.mean_unit_us);
    if (rc == NF_EXIT_OK)
        rc = line_real(line, 6, "M2", &times.m2_unit_us2);
    if (rc != NF_EXIT_OK)
        return rc;
    times.compute_us = (int64_t)compute_us;
    times.elapsed_us = (int64_t)elapsed_us;
    if (replay->policy.sizer->report != NULL)
        replay->policy.sizer->report(replay->state, (uint32_t)slave, &times);
    return NF_EXIT_OK;
}

static int run_line(struct replay *replay, const struct line *line)
{
    if (line->nwords == 0)
        return NF_EXIT_OK;
    if (strcmp(line->words[0], "next") == 0)
        return run_next(replay, line);
    if (strcmp(line->words[0], "report") == 0)
        return run_report(replay, line);
    return LINE_ERROR(line, "\"%s\": want next or report", line->words[0]);
}

static int run_script(struct replay *replay)
{
    struct line line = { .file = replay->request->script };
    FILE *file = fopen(line.file, "r");
    char *text = NULL;
    size_t bytes = 0;
    int rc = NF_EXIT_OK;

    if (file == NULL)
        return nf_usage_error("--script %s: %s", line.file, strerror(errno));
    errno = 0;
    while (rc == NF_EXIT_OK && getline(&text, &bytes, file) >= 0) {
        line.number++;
        split_line(text, &line);
        rc = run_line(replay, &line);
        errno = 0;
    }
    if (rc == NF_EXIT_OK && (ferror(file) || errno != 0))
        rc = nf_usage_error("--script %s: %s", line.file, strerror(errno));
    free(text);
    fclose(file);
    return rc;
}

/* ---- output ---- */

static int print_json(const struct replay *replay)
{
    const struct request *request = replay->request;
    json_t *sizes = json_array(), *object;

    for (size_t i = 0; i < replay->nsizes; i++)
        json_array_append_new(sizes,
                              json_integer((json_int_t)replay->sizes[i]));
    object = json_pack("{s:s, s:I, s:I, s:o}", "policy", request->spec, "units",
                       (json_int_t)request->units, "slaves",
                       (json_int_t)request->slaves,
                       request->script != NULL ? "sizes" : "chunks", sizes);
    return nf_print_json(object);
}

static int print_text(const struct replay *replay)
{
    for (size_t i = 0; i < replay->nsizes; i++)
        printf("%" PRIu64 "%c", replay->sizes[i],
               (i + 1) % 16 == 0 || i + 1 == replay->nsizes ? '\n' : ' ');
    return nf_finish_output();
}

static int run(const struct request *request)
{
    struct replay replay;
    int rc = replay_init(&replay, request);

    if (rc == NF_EXIT_OK)
        rc = request->script != NULL ? run_script(&replay)
                                     : ask_in_turn(&replay);
    if (rc == NF_EXIT_OK)
        rc = request->json ? print_json(&replay) : print_text(&replay);
    replay_fini(&replay);
    return rc;
}

int nf_cmd_chunks(int argc, const char **argv)
{
    struct request request = { .spec = NULL };
    char *units = NULL, *slaves = NULL, *script = NULL;
    const struct poptOption options[] = {
        { "units", '\0', POPT_ARG_STRING, &units, 0, "units in all", "N" },
        { "slaves", '\0', POPT_ARG_STRING, &slaves, 0, "slaves that ask", "P" },
        { "script", '\0', POPT_ARG_STRING, &script, 0,
          "replay requests and reports, one a line", "FILE" },
        { "json", '\0', POPT_ARG_NONE, &request.json, 0,
          "print one JSON object", NULL },
        POPT_AUTOHELP POPT_TABLEEND
    };
    poptContext context = poptGetContext(NULL, argc, argv, options, 0);
    int rc;

    poptSetOtherOptionHelp(context, "SPEC --units N --slaves P [--json]");
    rc = nf_read_options(context);
    request.spec = poptGetArg(context);
    request.script = script;
    if (rc == NF_EXIT_OK && request.spec == NULL)
        rc = nf_usage_error("chunks: want a policy (see: nowfarm policies)");
    if (rc == NF_EXIT_OK && poptPeekArg(context) != NULL)
        rc = nf_usage_error("chunks: unexpected argument \"%s\"",
                            poptPeekArg(context));
    if (rc == NF_EXIT_OK)
        rc = nf_read_count("--units", units, 0, most_units, &request.units);
    if (rc == NF_EXIT_OK)
        rc = nf_read_count("--slaves", slaves, 1, most_slaves, &request.slaves);
    if (rc == NF_EXIT_OK)
        rc = run(&request);
    poptFreeContext(context);
    free(units);
    free(slaves);
    free(script);
    return rc;
}
