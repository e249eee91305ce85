/* Paje ("Paje Trace Format", Schnorr, Stein, Kergommeaux), as ViTE and pj_dump
 * read it: a header that defines the events, types, containers, and then all
 * events in order of time. */
#include "config.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/gantt.h"
#include "common/base/alloc.h"

static const char header[] =
    "%EventDef PajeDefineContainerType 0\n% Alias string\n% Type string\n"
    "% Name string\n%EndEventDef\n"
    "%EventDef PajeDefineStateType 1\n% Alias string\n% Type string\n"
    "% Name string\n%EndEventDef\n"
    "%EventDef PajeDefineVariableType 2\n% Alias string\n% Type string\n"
    "% Name string\n% Color color\n%EndEventDef\n"
    "%EventDef PajeDefineEntityValue 3\n% Alias string\n% Type string\n"
    "% Name string\n% Color color\n%EndEventDef\n"
    "%EventDef PajeCreateContainer 4\n% Time date\n% Alias string\n"
    "% Type string\n% Container string\n% Name string\n%EndEventDef\n"
    "%EventDef PajeDestroyContainer 5\n% Time date\n% Name string\n"
    "% Type string\n%EndEventDef\n"
    "%EventDef PajeSetState 6\n% Time date\n% Type string\n"
    "% Container string\n% Value string\n%EndEventDef\n"
    "%EventDef PajeSetVariable 7\n% Time date\n% Type string\n"
    "% Container string\n% Value double\n%EndEventDef\n"
    "0 CT_Job 0 Job\n0 CT_Host CT_Job Host\n0 CT_Slave CT_Host Slave\n"
    "0 CT_Slot CT_Slave Slot\n1 ST_Slot CT_Slot \"Slot state\"\n"
    "2 VT_Units CT_Job \"Outstanding units\" \"0.2 0.4 0.6\"\n";

/* As in the picture; "absent" is not drawn there, and looks here like what is
 * between the rows of ViTE: white could not be told from idle. */
static const struct {
    const char *alias, *color;
} values[SPAN_KINDS + 1] = {
    [SPAN_SHARED] = { "V_shared", "0.80 0.47 0.74" },
    [SPAN_COMPUTE] = { "V_compute", "0.18 0.49 0.67" },
    [SPAN_TRANSFER] = { "V_transfer", "0.95 0.71 0.26" },
    [SPAN_IDLE] = { "V_idle", "0.90 0.91 0.92" },
    [SPAN_LOST] = { "V_lost", "0.84 0.27 0.15" },
    [SPAN_CANCELLED] = { "V_cancelled", "0.55 0.51 0.62" },
    [SPAN_OPEN] = { "V_unfinished", "0.60 0.75 0.66" },
    [SPAN_KINDS] = { "V_absent", "0.50 0.50 0.59" },
};

/* An event of a row, to be sorted among those of all rows. */
struct state {
    int64_t at_us;
    uint32_t row, kind;
};

struct paje {
    FILE *to;
    const struct timeline *t;
    struct state *states;
    size_t nstates, capacity;
    uint32_t row;
    int64_t until_us; /* of the last span of the row */
    bool failed;      /* out of memory */
};

static void add_state(struct paje *p, int64_t at_us, uint32_t kind)
{
    if (p->nstates == p->capacity) {
        size_t more = p->capacity == 0 ? 1024 : 2 * p->capacity;
        struct state *states = nf_realloc(p->states, more * sizeof(*states));

        if (states == NULL) {
            p->failed = true;
            return;
        }
        p->states = states;
        p->capacity = more;
    }
    p->states[p->nstates++] =
        (struct state){ .at_us = at_us, .row = p->row, .kind = kind };
}

static void on_span(void *user, const struct span *span)
{
    struct paje *p = user;

    if (span->from_us > p->until_us)
        add_state(p, p->until_us, SPAN_KINDS);
    add_state(p, span->from_us, span->kind);
    p->until_us = span->to_us;
}

static int by_time(const void *a, const void *b)
{
    const struct state *one = a, *two = b;

    if (one->at_us != two->at_us)
        return one->at_us < two->at_us ? -1 : 1;
    return one->row < two->row ? -1 : one->row > two->row;
}

/* ---- writing ---- */

/* Seconds since the job began. */
static void put_time(const struct paje *p, int64_t at_us)
{
    int64_t us = at_us - p->t->from_us;

    fprintf(p->to, "%" PRId64 ".%06d ", us / 1000000, (int)(us % 1000000));
}

/* In quotes, and without any inside. */
static void put_name(FILE *to, const char *text)
{
    fputc('"', to);
    for (; *text != '\0'; text++)
        fputc(*text == '"' || *text == '\\' ? '\'' : *text, to);
    fputs("\"\n", to);
}

static void put_containers(struct paje *p)
{
    const struct timeline *t = p->t;
    char name[200];

    /* the format has no place for remarks but names */
    snprintf(name, sizeof(name), "%s%s", t->h->app,
             t->h->emulate[0] != '\0' ? ", times EMULATED" : "");
    fputs("4 0.000000 C_Job CT_Job 0 ", p->to);
    put_name(p->to, name);
    for (uint32_t i = 0; i < t->nrows; i++) {
        const struct row *row = &t->rows[i];
        const struct nf_history_slave *slave = &t->h->slaves[row->slave];
        uint32_t host = t->hosts[row->slave];

        if (i == 0 || t->hosts[t->rows[i - 1].slave] != host) {
            fprintf(p->to, "4 0.000000 C_H%u CT_Host C_Job ", host);
            put_name(p->to, slave->host);
        }
        if (row->slot == 0) {
            snprintf(name, sizeof(name), "slave %u", slave->number);
            fprintf(p->to, "4 0.000000 C_S%u CT_Slave C_H%u ", slave->number,
                    host);
            put_name(p->to, name);
        }
        /* short, since ViTE cuts long names at the end, where these differ;
           but each once, since pj_dump says nothing of what is around it */
        snprintf(name, sizeof(name), "%u.%u", slave->number, row->slot);
        fprintf(p->to, "4 0.000000 C_R%u CT_Slot C_S%u ", i, slave->number);
        put_name(p->to, name);
    }
}

static void destroy_containers(struct paje *p)
{
    const struct timeline *t = p->t;

    for (uint32_t i = t->nrows; i-- > 0;) {
        const struct row *row = &t->rows[i];

        fputs("5 ", p->to);
        put_time(p, t->to_us);
        fprintf(p->to, "C_R%u CT_Slot\n", i);
        if (row->slot == 0) {
            fputs("5 ", p->to);
            put_time(p, t->to_us);
            fprintf(p->to, "C_S%u CT_Slave\n", t->h->slaves[row->slave].number);
        }
        if (i == 0 || t->hosts[t->rows[i - 1].slave] != t->hosts[row->slave]) {
            fputs("5 ", p->to);
            put_time(p, t->to_us);
            fprintf(p->to, "C_H%u CT_Host\n", t->hosts[row->slave]);
        }
    }
    fputs("5 ", p->to);
    put_time(p, t->to_us);
    fputs("C_Job CT_Job\n", p->to);
}

/* The states of all rows and the units outstanding, merged by time. */
static void put_events(struct paje *p, const struct change *changes, size_t n)
{
    size_t k = 0;
    int64_t units = 0;

    for (size_t i = 0; i <= p->nstates; i++) {
        for (; k < n && changes[k].at_us <= p->t->to_us &&
               (i == p->nstates || changes[k].at_us <= p->states[i].at_us);
             k++) {
            units += changes[k].units;
            fputs("7 ", p->to);
            put_time(p, changes[k].at_us > p->t->from_us ? changes[k].at_us
                                                         : p->t->from_us);
            fprintf(p->to, "VT_Units C_Job %" PRId64 "\n", units);
        }
        if (i == p->nstates)
            return;
        fputs("6 ", p->to);
        put_time(p, p->states[i].at_us);
        fprintf(p->to, "ST_Slot C_R%u %s\n", p->states[i].row,
                values[p->states[i].kind].alias);
    }
}

enum nf_status gantt_paje(FILE *to, const struct timeline *t)
{
    struct paje p = { .to = to, .t = t };
    struct change *changes = NULL;
    size_t n = 0;

    for (p.row = 0; p.row < t->nrows; p.row++) {
        p.until_us = t->from_us;
        timeline_walk(t, &t->rows[p.row], on_span, &p);
        if (p.until_us < t->to_us)
            add_state(&p, p.until_us, SPAN_KINDS);
    }
    if (p.failed || timeline_outstanding(t, &changes, &n) != NF_OK) {
        nf_free(p.states);
        return NF_ERR_NOMEM;
    }
    if (p.nstates > 0)
        qsort(p.states, p.nstates, sizeof(*p.states), by_time);
    fputs(header, to);
    for (int i = 0; i <= SPAN_KINDS; i++)
        fprintf(to, "3 %s ST_Slot \"%s\" \"%s\"\n", values[i].alias,
                i < SPAN_KINDS ? span_names[i] : "absent", values[i].color);
    put_containers(&p);
    put_events(&p, changes, n);
    destroy_containers(&p);
    nf_free(changes);
    nf_free(p.states);
    return NF_OK;
}
