/* What all pictures have of a history: its hosts, what each slave went through,
 * and that its times are slept. */
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

/* Slave i is on host 7i mod 13, comes at 10i, if it is odd after a phase of 4
 * us, is lost at 1000 + i, and if it is odd comes back at 2000 + i. */
enum { HOSTS = 13, SLAVES = 40 };

static void record_many(struct nf_history *h, struct timeline *t)
{
    const struct nf_trace_header header = { .app = "a",
                                            .policy = "send",
                                            .transport = "pvm" };
    struct nf_trace *trace;
    struct nf_error err = { .text = "" };
    char host[16];

    if (nf_trace_create(nf_tmp("many"), &header, 0, &trace, &err) != NF_OK)
        abort();
    for (uint32_t i = 0; i < SLAVES; i++) {
        struct nf_trace_phase phase = { .slave = i, .name = "p", .host = host };

        snprintf(host, sizeof(host), "h%u", i * 7 % HOSTS);
        if (i % 2 == 1) {
            nf_trace_phase(trace, 10 * i, &phase);
            phase.ends = true;
            nf_trace_phase(trace, 10 * i + 4, &phase);
        }
        nf_trace_join(trace, 10 * i + 5 * (i % 2), i, host, 1);
    }
    for (uint32_t i = 0; i < SLAVES; i++)
        nf_trace_lost(trace, 1000 + i, i, "exited");
    for (uint32_t i = 1; i < SLAVES; i += 2) {
        snprintf(host, sizeof(host), "h%u", i * 7 % HOSTS);
        nf_trace_join(trace, 2000 + i, i, host, 1);
    }
    if (nf_trace_close(trace, &err) != NF_OK ||
        nf_history_read(nf_tmp("many"), h, &err) != NF_OK ||
        timeline_create(h, t, &err) != NF_OK) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
}

static void hosts_are_numbered_by_appearance(void)
{
    struct nf_history h;
    struct timeline t;

    record_many(&h, &t);
    CU_ASSERT_EQUAL(t.nhosts, HOSTS);
    CU_ASSERT_EQUAL_FATAL(t.nrows, SLAVES);
    for (uint32_t i = 0; i < SLAVES; i++)
        CU_ASSERT_EQUAL(t.hosts[i], i % HOSTS); /* 7 and 13 are coprime */
    for (uint32_t i = 1; i < SLAVES; i++) {
        uint32_t one = t.rows[i - 1].slave, two = t.rows[i].slave;

        CU_ASSERT_TRUE(t.hosts[one] < t.hosts[two] ||
                       (t.hosts[one] == t.hosts[two] && one < two));
    }
    timeline_fini(&t);
    nf_history_fini(&h);
}

struct sums {
    int64_t shared_us, idle_us, other_us;
};

static void add_span(void *user, const struct span *span)
{
    struct sums *sums = user;
    int64_t us = span->to_us - span->from_us;

    *(span->kind == SPAN_SHARED ? &sums->shared_us
      : span->kind == SPAN_IDLE ? &sums->idle_us
                                : &sums->other_us) += us;
}

static void a_row_has_the_stays_and_phases_of_its_slave_only(void)
{
    struct nf_history h;
    struct timeline t;
    unsigned losses = 0;
    char *svg;

    record_many(&h, &t);
    for (uint32_t i = 0; i < t.nrows; i++) {
        int64_t slave = t.rows[i].slave, odd = slave % 2;
        struct sums sums = { 0, 0, 0 };

        timeline_walk(&t, &t.rows[i], add_span, &sums);
        CU_ASSERT_EQUAL(sums.shared_us, 4 * odd);
        CU_ASSERT_EQUAL(sums.other_us, 0);
        CU_ASSERT_EQUAL(sums.idle_us, 1000 + slave - (10 * slave + 5 * odd) +
                                          odd * (t.to_us - (2000 + slave)));
    }
    svg = drawn(gantt_svg, &t);
    for (const char *at = svg; (at = strstr(at, " lost: exited<")) != NULL;
         at++)
        losses++;
    CU_ASSERT_EQUAL(losses, SLAVES);
    free(svg);
    timeline_fini(&t);
    nf_history_fini(&h);
}

static CU_TestInfo tests[] = {
    { "hosts are numbered by appearance", hosts_are_numbered_by_appearance },
    { "a row has the stays and phases of its slave only",
      a_row_has_the_stays_and_phases_of_its_slave_only },
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
