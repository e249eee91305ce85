/* What all pictures have of a history: that its times are slept. */
#include "config.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/gantt.h"
#include "common/trace/trace.h"
#include "master/emulate.h"
#include "tests/unit/nf_tmpdir.h"
#include "tests/unit/nf_unit.h"

/* A trace as it is written, of a run with one slave that does nothing. */
static void record(const char *emulate, struct nf_history *h,
                   struct timeline *t)
{
    const struct nf_trace_header header = {
        .app = "a", .policy = "send", .transport = "pvm", .emulate = emulate
    };
    struct nf_trace *trace;
    struct nf_error err = { .text = "" };

    if (nf_trace_create(nf_tmp("trace"), &header, 0, &trace, &err) != NF_OK)
        abort();
    nf_trace_join(trace, 1, 0, "h", 1);
    if (nf_trace_close(trace, &err) != NF_OK ||
        nf_history_read(nf_tmp("trace"), h, &err) != NF_OK ||
        timeline_create(h, t, &err) != NF_OK) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
}

static char *drawn(enum nf_status (*form)(FILE *, const struct timeline *),
                   const struct timeline *t)
{
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);

    CU_ASSERT_PTR_NOT_NULL_FATAL(to);
    CU_ASSERT_EQUAL(form(to, t), NF_OK);
    fclose(to);
    return text;
}

static void check_forms(const struct timeline *t, const char *emulate)
{
    char *svg = drawn(gantt_svg, t), *chrome = drawn(gantt_chrome, t),
         *paje = drawn(gantt_paje, t);
    json_t *json = json_loads(chrome, JSON_REJECT_DUPLICATES, NULL);
    json_t *world =
        json_object_get(json_object_get(json, "otherData"), "emulate");

    CU_ASSERT_EQUAL(strstr(svg, "EMULATED") != NULL, emulate != NULL);
    CU_ASSERT_EQUAL(strstr(paje, " \"a, times EMULATED\"\n") != NULL,
                    emulate != NULL);
    CU_ASSERT_EQUAL(strstr(paje, " \"a\"\n") != NULL, emulate == NULL);
    if (emulate != NULL) {
        const char *spec = json_string_value(json_object_get(world, "spec"));

        CU_ASSERT_PTR_NOT_NULL(strstr(svg, emulate));
        CU_ASSERT_TRUE(spec != NULL && strcmp(spec, emulate) == 0);
    } else {
        CU_ASSERT_TRUE(json_is_null(world));
    }
    json_decref(json);
    free(svg);
    free(chrome);
    free(paje);
}

/* The last is as long as `run` takes it. */
static void emulated_runs_are_told_in_every_form_and_no_others(void)
{
    char longest[NF_EMULATE_SPEC_BYTES];
    const char *const worlds[] = { NULL, "", "unit=33ms,send=0.9ms", longest };

    memset(longest, '1', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    for (int i = 0; i < 4; i++) {
        struct nf_history h;
        struct timeline t;

        record(worlds[i], &h, &t);
        CU_ASSERT_STRING_EQUAL(h.emulate, i > 0 ? worlds[i] : "");
        check_forms(&t, i >= 2 ? worlds[i] : NULL);
        timeline_fini(&t);
        nf_history_fini(&h);
    }
}

static CU_TestInfo tests[] = {
    { "emulated runs are told in every form, and no others",
      emulated_runs_are_told_in_every_form_and_no_others },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "timeline",
          .pInitFunc = nf_tmpdir_make,
          .pCleanupFunc = nf_tmpdir_remove,
          .pTests = tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
