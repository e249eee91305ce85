/* What `nowfarm gantt` writes, checked against the documents of the formats:
 * "Trace Event Format" (Chrome) and "Paje trace file format". */
#include "config.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/gantt.h"
#include "tests/unit/nf_tmpdir.h"
#include "tests/unit/nf_unit.h"
#include "tests/unit/sim_trace.h"

static const char platform[] =
    "{\"units\":60, \"cost\":3000, \"slaves\":3, \"speed\":[1, 1, \"1/2\"],"
    " \"prop\":400, \"o_send\":30, \"net\":\"links\"}";

/* Everything that may be in a trace. */
static const char eventful[] =
    "{\"nowfarm_trace\":1,\"version\":\"1\",\"app\":\"a<&>\\\"b\",\"units\":99,"
    "\"policy\":\"send\",\"transport\":\"pvm\",\"clock\":\"monotonic\","
    "\"emulate\":\"u<&1\"}\n"
    "{\"t\":1,\"ev\":\"phase_begin\",\"slave\":3,\"name\":\"sh<\","
    "\"host\":\"h&\\\"1\",\"bytes\":7}\n"
    "{\"t\":900,\"ev\":\"phase_end\",\"slave\":3,\"name\":\"sh<\"}\n"
    "{\"t\":1000,\"ev\":\"join\",\"slave\":3,\"host\":\"h&\\\"1\",\"slots\":2}"
    "\n"
    "{\"t\":1000,\"ev\":\"join\",\"slave\":5,\"host\":\"g\",\"slots\":1}\n"
    "{\"t\":1100,\"ev\":\"sent\",\"lease\":1,\"slave\":3,\"first\":0,"
    "\"count\":3,\"master_us\":50}\n"
    "{\"t\":1120,\"ev\":\"sent\",\"lease\":2,\"slave\":3,\"slot\":1,\"first\":"
    "3,"
    "\"count\":2,\"master_us\":50}\n"
    "{\"t\":1200,\"ev\":\"sent\",\"lease\":3,\"slave\":5,\"first\":5,"
    "\"count\":2}\n"
    "{\"t\":1200,\"ev\":\"sent\",\"lease\":4,\"slave\":3,\"first\":7,"
    "\"count\":1}\n"
    "{\"t\":5000,\"ev\":\"result\",\"lease\":1,\"units\":3,\"compute_us\":3000,"
    "\"wait_us\":10,\"idle_us\":0,\"elapsed_us\":3900}\n"
    "{\"t\":5000,\"ev\":\"cancelled\",\"lease\":4}\n"
    "{\"t\":6000,\"ev\":\"lost\",\"slave\":5,\"reason\":\"<gone>\"}\n"
    "{\"t\":7000,\"ev\":\"failed\",\"lease\":2,\"unit\":3,\"reason\":\"x\"}\n"
    "{\"t\":7500,\"ev\":\"failed\",\"lease\":2,\"unit\":4,\"last\":1,"
    "\"reason\":\"x\"}\n"
    "{\"t\":8000,\"ev\":\"join\",\"slave\":5,\"host\":\"g\",\"slots\":1}\n"
    "{\"t\":8001,\"ev\":\"sent\",\"lease\":6,\"slave\":5,\"first\":5,"
    "\"count\":2,\"attempts\":1}\n"
    "{\"t\":9000,\"ev\":\"given_up\",\"unit\":3,\"attempts\":3,"
    "\"reason\":\"x\"}\n";

static void open_eventful(struct nf_history *h, struct timeline *t)
{
    struct nf_error err = { .text = "" };

    if (nf_history_parse(eventful, sizeof(eventful) - 1, "f", h, &err) !=
            NF_OK ||
        timeline_create(h, t, &err) != NF_OK) {
        fprintf(stderr, "%s\n", err.text);
        abort();
    }
}

static void open_sim(struct nf_history *h, struct timeline *t)
{
    struct nf_error err = { .text = "" };

    sim_trace_write(platform, "auto", nf_tmp("sim"));
    if (nf_history_read(nf_tmp("sim"), h, &err) != NF_OK ||
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

/* ---- spans ---- */

struct seen {
    int64_t us[SPAN_KINDS], last_us;
    unsigned spans[SPAN_KINDS];
};

static void on_span(void *user, const struct span *span)
{
    struct seen *seen = user;

    CU_ASSERT_TRUE(span->from_us >= seen->last_us);
    CU_ASSERT_TRUE(span->to_us > span->from_us);
    seen->last_us = span->to_us;
    seen->us[span->kind] += span->to_us - span->from_us;
    seen->spans[span->kind]++;
}

static void a_row_says_what_a_slot_did(void)
{
    struct nf_history h;
    struct timeline t;
    struct seen seen[3] = { { .last_us = 0 } };

    open_eventful(&h, &t);
    CU_ASSERT_EQUAL_FATAL(t.nrows, 3);
    for (int i = 0; i < 3; i++)
        timeline_walk(&t, &t.rows[i], on_span, &seen[i]);
    /* slave 3 slot 0: shared, idle, transfer, compute, transfer, idle */
    CU_ASSERT_EQUAL(seen[0].us[SPAN_SHARED], 899);
    CU_ASSERT_EQUAL(seen[0].us[SPAN_COMPUTE], 3000);
    CU_ASSERT_EQUAL(seen[0].us[SPAN_TRANSFER] + seen[0].us[SPAN_CANCELLED],
                    900);
    CU_ASSERT_EQUAL(seen[0].us[SPAN_IDLE], 100 + 4000);
    CU_ASSERT_EQUAL(seen[0].last_us, 9000);
    /* slot 1: its chunk failed */
    CU_ASSERT_EQUAL(seen[1].us[SPAN_LOST], 7500 - 1120);
    /* slave 5: lost, away, back with a chunk that never ended */
    CU_ASSERT_EQUAL(seen[2].us[SPAN_LOST], 4800);
    CU_ASSERT_EQUAL(seen[2].us[SPAN_IDLE], 200 + 1);
    CU_ASSERT_EQUAL(seen[2].us[SPAN_OPEN], 999);
    timeline_fini(&t);
    nf_history_fini(&h);
}

/* As the simulator knows it, slave by slave. */
static void what_was_computed_is_shown_in_full(void)
{
    struct nf_history h;
    struct timeline t;
    int64_t shown_us = 0;

    open_sim(&h, &t);
    for (uint32_t i = 0; i < t.nrows; i++) {
        struct seen seen = { .last_us = 0 };

        timeline_walk(&t, &t.rows[i], on_span, &seen);
        shown_us += seen.us[SPAN_COMPUTE];
        CU_ASSERT_EQUAL(seen.us[SPAN_LOST] + seen.us[SPAN_OPEN], 0);
    }
    for (uint32_t i = 0; i < h.nchunks; i++)
        shown_us -= h.chunks[i].compute_us;
    CU_ASSERT_EQUAL(shown_us, 0);
    timeline_fini(&t);
    nf_history_fini(&h);
}

/* ---- Chrome ---- */

static double number(const json_t *event, const char *key)
{
    const json_t *value = json_object_get(event, key);

    CU_ASSERT_TRUE(json_is_number(value));
    return json_number_value(value);
}

static void check_metadata(const json_t *event)
{
    static const char *const names[] = { "process_name", "thread_name",
                                         "process_sort_index" };
    const char *name = json_string_value(json_object_get(event, "name"));
    const json_t *args = json_object_get(event, "args");
    bool known = false;

    for (size_t i = 0; i < 3; i++)
        known = known || strcmp(names[i], name) == 0;
    CU_ASSERT_TRUE(known);
    if (strcmp(name, names[2]) == 0)
        CU_ASSERT_TRUE(json_is_integer(json_object_get(args, "sort_index")))
    else
        CU_ASSERT_TRUE(json_is_string(json_object_get(args, "name")))
}

/* An arrow: one s and one f of an id, in this order of time. */
static void check_flow(const json_t *events, const json_t *end)
{
    unsigned begins = 0;
    size_t i;
    json_t *event;

    json_array_foreach(events, i, event)
    {
        const char *ph = json_string_value(json_object_get(event, "ph"));

        if (strcmp(ph, "s") == 0 && number(event, "id") == number(end, "id")) {
            begins++;
            CU_ASSERT_TRUE(number(event, "ts") <= number(end, "ts"));
            CU_ASSERT_TRUE(json_equal(json_object_get(event, "name"),
                                      json_object_get(end, "name")));
            CU_ASSERT_TRUE(json_equal(json_object_get(event, "cat"),
                                      json_object_get(end, "cat")));
        }
    }
    CU_ASSERT_EQUAL(begins, 1);
    CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(end, "bp")), "e");
}

static void check_event(const json_t *events, const json_t *event)
{
    const char *ph = json_string_value(json_object_get(event, "ph"));

    CU_ASSERT_PTR_NOT_NULL_FATAL(ph);
    CU_ASSERT_TRUE(json_is_string(json_object_get(event, "name")));
    CU_ASSERT_TRUE(json_is_integer(json_object_get(event, "pid")));
    CU_ASSERT_TRUE(json_is_integer(json_object_get(event, "tid")));
    if (strcmp(ph, "M") == 0) {
        check_metadata(event);
        return;
    }
    CU_ASSERT_TRUE(number(event, "ts") >= 0);
    if (strcmp(ph, "X") == 0) {
        CU_ASSERT_TRUE(number(event, "dur") >= 0);
        CU_ASSERT_TRUE(json_is_string(json_object_get(event, "cat")));
    } else if (strcmp(ph, "C") == 0) {
        number(json_object_get(event, "args"), "outstanding");
    } else if (strcmp(ph, "f") == 0) {
        check_flow(events, event);
    } else if (strcmp(ph, "i") == 0) {
        CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(event, "s")),
                               "p");
    } else {
        CU_ASSERT_STRING_EQUAL(ph, "s");
    }
}

/* Slices of one thread lie beside each other; and a thread has a number of its
 * own: Perfetto takes thread 0 of process 1 for thread 1. */
static void check_slices(const json_t *events)
{
    double end[16] = { 0 };
    int owner[16] = { 0 };
    size_t i;
    json_t *event;

    json_array_foreach(events, i, event)
    {
        const char *ph = json_string_value(json_object_get(event, "ph"));
        int pid = (int)number(event, "pid"), tid = (int)number(event, "tid");

        CU_ASSERT_TRUE_FATAL(pid > 0 && pid < 16 && tid > 0 && tid < 16);
        CU_ASSERT_TRUE(owner[tid] == 0 || owner[tid] == pid);
        CU_ASSERT_TRUE(owner[pid] == 0 || owner[pid] == pid);
        owner[tid] = owner[pid] = pid;
        if (strcmp(ph, "X") != 0)
            continue;
        CU_ASSERT_TRUE(number(event, "ts") >= end[tid]);
        end[tid] = number(event, "ts") + number(event, "dur");
    }
}

static void chrome_and_perfetto_get_what_their_document_says(void)
{
    for (int which = 0; which < 2; which++) {
        struct nf_history h;
        struct timeline t;
        char *text;
        json_t *json, *events, *event;
        size_t i, computed = 0;

        (which == 0 ? open_eventful : open_sim)(&h, &t);
        text = drawn(gantt_chrome, &t);
        json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
        events = json_object_get(json, "traceEvents");
        CU_ASSERT_TRUE(json_is_array(events));
        CU_ASSERT_STRING_EQUAL(
            json_string_value(json_object_get(json, "displayTimeUnit")), "ms");
        json_array_foreach(events, i, event)
        {
            const char *cat = json_string_value(json_object_get(event, "cat"));

            check_event(events, event);
            computed += cat != NULL && strcmp(cat, "compute") == 0;
        }
        check_slices(events);
        CU_ASSERT_EQUAL(computed, which == 0 ? 1 : h.nchunks);
        json_decref(json);
        free(text);
        timeline_fini(&t);
        nf_history_fini(&h);
    }
}

/* ---- Paje ---- */

enum { WORDS = 8, DEFS = 16, NAMES = 64 };

/* A strict reader: knows only what the file itself has defined. */
struct paje {
    int fields[DEFS]; /* of the events with that number; -1: not defined */
    char types[NAMES][40], containers[NAMES][40], values[NAMES][40];
    int ntypes, ncontainers, nvalues, states;
    double now;
};

/* Words, of which those in quotes may hold spaces. */
static int split(char *line, char *words[WORDS])
{
    int n = 0;

    for (char *c = line; *c != '\0' && n < WORDS;) {
        char end = ' ';

        while (*c == ' ')
            c++;
        if (*c == '\0')
            break;
        if (*c == '"') {
            end = '"';
            c++;
        }
        words[n++] = c;
        c += strcspn(c, end == '"' ? "\"" : " ");
        CU_ASSERT_TRUE(end == ' ' || *c == '"');
        if (*c != '\0')
            *c++ = '\0';
    }
    return n;
}

static bool is_known(char list[NAMES][40], int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(list[i], name) == 0)
            return true;
    return false;
}

static void learn(char list[NAMES][40], int *n, const char *name)
{
    CU_ASSERT_FALSE(is_known(list, *n, name)); /* aliases are unique */
    CU_ASSERT_TRUE_FATAL(*n < NAMES && strlen(name) < 40);
    strcpy(list[(*n)++], name);
}

static void check_definition(struct paje *p, char *line)
{
    static int event = -1;
    char name[64];
    int number;

    if (sscanf(line, "%%EventDef %63s %d", name, &number) == 2) {
        CU_ASSERT_TRUE_FATAL(number >= 0 && number < DEFS);
        CU_ASSERT_EQUAL(p->fields[number], -1);
        CU_ASSERT_EQUAL(strncmp(name, "Paje", 4), 0);
        event = number;
        p->fields[event] = 0;
    } else if (strncmp(line, "%EndEventDef", 12) == 0) {
        event = -1;
    } else {
        CU_ASSERT_NOT_EQUAL_FATAL(event, -1);
        p->fields[event]++;
    }
}

static void check_time(struct paje *p, const char *word)
{
    char *end;
    double time = strtod(word, &end);

    CU_ASSERT_EQUAL(*end, '\0');
    CU_ASSERT_TRUE(time >= p->now);
    p->now = time;
}

static void check_line(struct paje *p, char *line)
{
    char *w[WORDS];
    int n = split(line, w), event = n > 0 ? atoi(w[0]) : -1;

    CU_ASSERT_TRUE_FATAL(event >= 0 && event < DEFS);
    CU_ASSERT_EQUAL_FATAL(n - 1, p->fields[event]);
    switch (event) {
    case 0: /* container type: alias, type, name */
    case 1: /* state type */
    case 2: /* variable type */
        CU_ASSERT_TRUE(strcmp(w[2], "0") == 0 ||
                       is_known(p->types, p->ntypes, w[2]));
        learn(p->types, &p->ntypes, w[1]);
        break;
    case 3: /* value: alias, type, name, color */
        CU_ASSERT_TRUE(is_known(p->types, p->ntypes, w[2]));
        learn(p->values, &p->nvalues, w[1]);
        break;
    case 4: /* container: time, alias, type, container, name */
        check_time(p, w[1]);
        CU_ASSERT_TRUE(is_known(p->types, p->ntypes, w[3]));
        CU_ASSERT_TRUE(strcmp(w[4], "0") == 0 ||
                       is_known(p->containers, p->ncontainers, w[4]));
        learn(p->containers, &p->ncontainers, w[2]);
        break;
    case 5: /* its end: time, name, type */
        check_time(p, w[1]);
        CU_ASSERT_TRUE(is_known(p->containers, p->ncontainers, w[2]));
        CU_ASSERT_TRUE(is_known(p->types, p->ntypes, w[3]));
        break;
    default: /* state or variable: time, type, container, value */
        check_time(p, w[1]);
        CU_ASSERT_TRUE(is_known(p->types, p->ntypes, w[2]));
        CU_ASSERT_TRUE(is_known(p->containers, p->ncontainers, w[3]));
        if (event == 6)
            CU_ASSERT_TRUE(is_known(p->values, p->nvalues, w[4]))
        p->states += event == 6;
    }
}

static void vite_gets_a_paje_file_that_defines_all_it_uses(void)
{
    for (int which = 0; which < 2; which++) {
        struct nf_history h;
        struct timeline t;
        struct paje p = { .ntypes = 0 };
        char *text, *rest, *line;

        (which == 0 ? open_eventful : open_sim)(&h, &t);
        for (int i = 0; i < DEFS; i++)
            p.fields[i] = -1;
        text = rest = drawn(gantt_paje, &t);
        while ((line = strsep(&rest, "\n")) != NULL && *line != '\0')
            if (*line == '%')
                check_definition(&p, line);
            else
                check_line(&p, line);
        CU_ASSERT_PTR_NOT_NULL(line); /* the last line is whole */
        CU_ASSERT_TRUE(p.states > 10);
        CU_ASSERT_TRUE(fabs(p.now * 1e6 - (double)(t.to_us - t.from_us)) < 1.5);
        free(text);
        timeline_fini(&t);
        nf_history_fini(&h);
    }
}

/* ViTE shows the first few letters of a name: rows must differ in these. */
static void vite_shows_which_slot_a_row_is(void)
{
    static const char *const slots[] = { "CT_Slot C_S3 \"3.0\"\n",
                                         "CT_Slot C_S3 \"3.1\"\n",
                                         "CT_Slot C_S5 \"5.0\"\n" };
    struct nf_history h;
    struct timeline t;
    char *text;

    open_eventful(&h, &t);
    text = drawn(gantt_paje, &t);
    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++)
        CU_ASSERT_PTR_NOT_NULL(strstr(text, slots[i]));
    free(text);
    timeline_fini(&t);
    nf_history_fini(&h);
}

/* ViTE shades every bar from light to dark, so near colours look the same: a
 * dead slave looked idle. */
static void vite_shows_who_is_absent(void)
{
    struct nf_history h;
    struct timeline t;
    char *text;
    const char *absent, *idle;
    double a[3], b[3];

    open_eventful(&h, &t);
    text = drawn(gantt_paje, &t);
    absent = strstr(text, "\"absent\" \"");
    idle = strstr(text, "\"idle\" \"");
    CU_ASSERT_TRUE_FATAL(absent != NULL && idle != NULL);
    CU_ASSERT_EQUAL(
        sscanf(absent, "\"absent\" \"%lf %lf %lf\"", &a[0], &a[1], &a[2]), 3);
    CU_ASSERT_EQUAL(
        sscanf(idle, "\"idle\" \"%lf %lf %lf\"", &b[0], &b[1], &b[2]), 3);
    CU_ASSERT_TRUE(a[0] + a[1] + a[2] < 0.7 * (b[0] + b[1] + b[2]));
    free(text);
    timeline_fini(&t);
    nf_history_fini(&h);
}

/* ---- SVG ---- */

/* Elements are closed in order, and nothing else has < or &. */
static void check_xml(const char *text)
{
    char open[16][16];
    int depth = 0;

    for (const char *c = text; *c != '\0'; c++) {
        char name[16] = "";

        if (*c == '&')
            CU_ASSERT_TRUE(strncmp(c, "&amp;", 5) == 0 ||
                           strncmp(c, "&lt;", 4) == 0 ||
                           strncmp(c, "&gt;", 4) == 0)
        if (*c != '<' || c[1] == '?')
            continue;
        sscanf(c + 1 + (c[1] == '/'), "%15[a-zA-Z]", name);
        CU_ASSERT_TRUE_FATAL(name[0] != '\0');
        if (c[1] == '/') {
            CU_ASSERT_TRUE_FATAL(depth > 0);
            CU_ASSERT_STRING_EQUAL(open[--depth], name);
        } else {
            const char *end = strchr(c, '>');

            CU_ASSERT_PTR_NOT_NULL_FATAL(end);
            if (end[-1] != '/') {
                CU_ASSERT_TRUE_FATAL(depth < 16);
                strcpy(open[depth++], name);
            }
        }
    }
    CU_ASSERT_EQUAL(depth, 0);
}

static void the_picture_is_xml_and_has_what_happened(void)
{
    static const char *const wanted[] = {
        "a&lt;&amp;&gt;\"b",  "compute for 3 ms",
        "lost: &lt;gone&gt;", "the trace has no end",
        "unfinished for",     "h&amp;\"1",
        "slave 3 slot 1",     "time in ms",
        ", times EMULATED<",  "<title>u&lt;&amp;1</title>",
    };
    struct nf_history h;
    struct timeline t;
    char *text;

    open_eventful(&h, &t);
    text = drawn(gantt_svg, &t);
    check_xml(text);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        CU_ASSERT_PTR_NOT_NULL(strstr(text, wanted[i]));
        if (strstr(text, wanted[i]) == NULL)
            fprintf(stderr, "not there: %s\n", wanted[i]);
    }
    free(text);
    timeline_fini(&t);
    nf_history_fini(&h);
}

/* 50 times the chunks, by far not 50 times the picture. */
static void the_picture_of_a_large_job_is_not_large(void)
{
    static const char large[] =
        "{\"units\":60000, \"cost\":300, \"slaves\":3, \"prop\":4}";
    struct nf_history h;
    struct timeline t;
    struct nf_error err;
    char *text;

    sim_trace_write(large, "auto", nf_tmp("large"));
    CU_ASSERT_EQUAL_FATAL(nf_history_read(nf_tmp("large"), &h, &err), NF_OK);
    CU_ASSERT_EQUAL_FATAL(timeline_create(&h, &t, &err), NF_OK);
    text = drawn(gantt_svg, &t);
    check_xml(text);
    CU_ASSERT_TRUE(strlen(text) < 600000);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, " chunks, "));
    free(text);
    timeline_fini(&t);
    nf_history_fini(&h);
}

static CU_TestInfo tests[] = {
    { "a row says what a slot did", a_row_says_what_a_slot_did },
    { "what was computed is shown in full",
      what_was_computed_is_shown_in_full },
    { "Chrome and Perfetto get what their document says",
      chrome_and_perfetto_get_what_their_document_says },
    { "ViTE gets a Paje file that defines all it uses",
      vite_gets_a_paje_file_that_defines_all_it_uses },
    { "ViTE shows which slot a row is", vite_shows_which_slot_a_row_is },
    { "ViTE shows who is absent", vite_shows_who_is_absent },
    { "the picture is XML and has what happened",
      the_picture_is_xml_and_has_what_happened },
    { "the picture of a large job is not large",
      the_picture_of_a_large_job_is_not_large },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "gantt",
          .pInitFunc = nf_tmpdir_make,
          .pCleanupFunc = nf_tmpdir_remove,
          .pTests = tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
