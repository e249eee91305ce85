/* nowfarm gantt: who did what when, from a trace. */
#include "config.h"
#include <popt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/cli.h"
#include "apps/nowfarm/commands.h"
#include "apps/nowfarm/gantt.h"
#include "apps/output.h"
#include "common/base/error.h"

static const struct form {
    const char *suffix;
    enum nf_status (*draw)(FILE *to, const struct timeline *timeline);
} forms[] = {
    { ".svg", gantt_svg },
    { ".json", gantt_chrome },
    { ".paje", gantt_paje },
};

static const struct form *find_form(const char *path)
{
    size_t length = strlen(path);

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        size_t suffix = strlen(forms[i].suffix);

        if (length > suffix &&
            strcmp(path + length - suffix, forms[i].suffix) == 0)
            return &forms[i];
    }
    return NULL;
}

/* The whole file at once, or none. */
static enum nf_status write_form(const struct form *form,
                                 const struct timeline *timeline,
                                 const char *path, struct nf_error *err)
{
    struct nf_output_text text;

    if (nf_output_text_open(&text, err) != NF_OK)
        return NF_ERR_NOMEM;
    return nf_output_text_close(&text, form->draw(text.to, timeline), path,
                                err);
}

static enum nf_status draw(const char *trace, const struct form *form,
                           const char *path, struct nf_error *err)
{
    struct nf_history history;
    struct timeline timeline;
    enum nf_status status = nf_history_read(trace, &history, err);

    if (status != NF_OK)
        return status;
    if (history.warning[0] != '\0')
        fprintf(stderr, "nowfarm: %s: %s\n", trace, history.warning);
    status = timeline_create(&history, &timeline, err);
    if (status != NF_OK) {
        nf_fail_prefix(err, "%s", trace);
    } else {
        status = write_form(form, &timeline, path, err);
        timeline_fini(&timeline);
    }
    nf_history_fini(&history);
    return status;
}

static int check_and_draw(poptContext context, const char *out)
{
    const char *trace = poptGetArg(context);
    const struct form *form = out != NULL ? find_form(out) : NULL;
    struct nf_error err = { .status = NF_OK };

    if (trace == NULL || poptPeekArg(context) != NULL)
        return nf_usage_error("want one trace: nowfarm gantt TRACE -o FILE");
    if (out == NULL)
        return nf_usage_error("--out is missing: FILE.svg, .json or .paje");
    if (form == NULL)
        return nf_usage_error("--out %s: want a name that ends in .svg, .json "
                              "(Perfetto) or .paje (ViTE)",
                              out);
    if (nf_output_is_same(trace, out))
        return nf_usage_error("--out %s is the trace itself", out);
    if (nf_output_check(out, &err) != NF_OK ||
        draw(trace, form, out, &err) != NF_OK)
        return nf_failure(&err);
    return NF_EXIT_OK;
}

int nf_cmd_gantt(int argc, const char **argv)
{
    char *out = NULL;
    const struct poptOption options[] = {
        { "out", 'o', POPT_ARG_STRING, &out, 0,
          "what to write: .svg is a picture, .json for Perfetto, .paje for "
          "ViTE",
          "FILE" },
        POPT_AUTOHELP POPT_TABLEEND
    };
    poptContext context = poptGetContext(NULL, argc, argv, options, 0);
    int rc;

    if (context == NULL)
        return nf_memory_error();
    poptSetOtherOptionHelp(context,
                           "TRACE -o FILE\n\nShow who did what when in a run "
                           "that was recorded with --trace.");
    rc = nf_read_options(context);
    if (rc == NF_EXIT_OK)
        rc = check_and_draw(context, out);
    poptFreeContext(context);
    free(out);
    return rc;
}
