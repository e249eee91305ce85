/* nowfarm chunks: the sizes that a policy's sizer hands out, either to slaves
 * that ask in turn or along a script of requests and reports. */
#include "config.h"
#include "apps/nowfarm/commands.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/chunk_replay.h"
#include "apps/nowfarm/cli.h"
#include "common/base/error.h"

struct request {
    const char *spec, *script; /* script: NULL if none */
    uint64_t units, slaves;
    int json;
};

static int run_script(struct nf_replay *replay, const char *name)
{
    unsigned long number = 0;
    FILE *file = fopen(name, "r");
    char *text = NULL;
    size_t bytes = 0;
    struct nf_error err = { .status = NF_OK };
    int rc = NF_EXIT_OK;

    if (file == NULL)
        return nf_usage_error("--script %s: %s", name, strerror(errno));
    errno = 0;
    while (rc == NF_EXIT_OK) {
        ssize_t length = getline(&text, &bytes, file);

        if (length < 0)
            break;
        number++;
        if (strlen(text) != (size_t)length)
            rc = nf_usage_error("%s:%lu: a NUL byte: want text", name, number);
        else if (nf_replay_line(replay, text, &err) != NF_OK)
            rc = err.status == NF_ERR_NOMEM
                     ? nf_memory_error()
                     : nf_usage_error("%s:%lu: %s", name, number, err.text);
        errno = 0;
    }
    if (rc == NF_EXIT_OK && (ferror(file) || errno != 0))
        rc = nf_usage_error("--script %s: %s", name, strerror(errno));
    free(text);
    fclose(file);
    return rc;
}

/* ---- output ---- */

static int print_json(const struct request *request,
                      const struct nf_replay *replay)
{
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

static int print_text(const struct nf_replay *replay)
{
    for (size_t i = 0; i < replay->nsizes; i++)
        printf("%" PRIu64 "%c", replay->sizes[i],
               (i + 1) % 16 == 0 || i + 1 == replay->nsizes ? '\n' : ' ');
    return nf_finish_output();
}

static int run(const struct request *request)
{
    struct nf_replay replay;
    struct nf_error err;
    int rc = NF_EXIT_OK;

    if (nf_replay_init(&replay, request->spec, request->units,
                       (uint32_t)request->slaves, &err) != NF_OK)
        return nf_failure(&err);
    if (request->script != NULL)
        rc = run_script(&replay, request->script);
    else if (nf_replay_in_turn(&replay, &err) != NF_OK)
        rc = nf_failure(&err);
    if (rc == NF_EXIT_OK)
        rc = request->json ? print_json(request, &replay) : print_text(&replay);
    nf_replay_fini(&replay);
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
        rc = nf_read_count("--units", units, 0, NF_REPLAY_UNITS_MAX,
                           &request.units);
    if (rc == NF_EXIT_OK)
        rc = nf_read_count("--slaves", slaves, 1, NF_REPLAY_SLAVES_MAX,
                           &request.slaves);
    if (rc == NF_EXIT_OK)
        rc = run(&request);
    poptFreeContext(context);
    free(units);
    free(slaves);
    free(script);
    return rc;
}
