/* The reader of the goldens of collectives. */
#include "config.h"
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/error.h"
#include "tests/unit/coll_golden.h"

/* ---- schedules ---- */

/* An algorithm with its arguments: the first four columns. */
struct plan {
    char name[64];
    struct nf_coll_args args;
};

static bool same_plan(const struct plan *a, const struct plan *b)
{
    return strcmp(a->name, b->name) == 0 && a->args.ranks == b->args.ranks &&
           a->args.root == b->args.root && a->args.segments == b->args.segments;
}

static void print_items(FILE *out, const struct nf_schedule *schedule,
                        const struct nf_coll_message *message)
{
    const char *comma = "";

    if (message->nspans == 0)
        fputc('0', out);
    for (uint32_t i = 0; i < message->nspans; i++) {
        struct nf_coll_span span = schedule->spans[message->first_span + i];

        for (uint32_t j = 0; j < span.count; j++, comma = ",")
            fprintf(out, "%s%u", comma, span.first + j);
    }
}

/* The schedule as the goldens print it, to free(). */
static char *dump(const struct plan *plan, const struct nf_schedule *schedule)
{
    static const char *const actions[] = { "copy", "left", "right" };
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);

    if (out == NULL)
        return NULL;
    for (size_t i = 0; i < schedule->count; i++) {
        const struct nf_coll_message *m = &schedule->messages[i];

        fprintf(out, "%s\t%u\t%u\t%u\t%u\t%u\t%u\t", plan->name,
                plan->args.ranks, plan->args.root, plan->args.segments,
                m->round, m->src, m->dst);
        print_items(out, schedule, m);
        fprintf(out, "\t%s%s%s\n", actions[m->action],
                m->keep ? "+copy:car" : "", m->from_car ? ",from:car" : "");
    }
    fclose(out);
    return text;
}

static bool print_first_difference(const char *got, const char *want)
{
    size_t same = 0, line = 0;

    for (; got[same] == want[same] && got[same] != '\0'; same++)
        if (got[same] == '\n')
            line = same + 1;
    if (got[same] == want[same])
        return false;
    printf("\n    got  %.*s\n    want %.*s", (int)strcspn(got + line, "\n"),
           got + line, (int)strcspn(want + line, "\n"), want + line);
    return true;
}

/* @return whether the schedule is the lines wanted, all of them */
static bool agrees(const struct plan *plan, const char *want)
{
    const struct nf_coll_algorithm *algorithm = nf_coll_find(plan->name);
    struct nf_coll_args args = plan->args;
    struct nf_schedule schedule;
    struct nf_error err;
    char *got = NULL;
    bool same = false;

    if (algorithm == NULL) {
        printf("\n    there is no %s", plan->name);
        return false;
    }
    /* of others, the column tells how many blocks there are */
    if (algorithm->items != NF_ITEMS_SEGMENTS)
        args.segments = 1;
    if (nf_coll_make(algorithm, &args, NF_ALL_RANKS, &schedule, &err) == NF_OK)
        got = dump(plan, &schedule);
    else
        printf("\n    %s", err.text);
    nf_schedule_fini(&schedule);
    if (got != NULL)
        same = !print_first_difference(got, want);
    free(got);
    return same;
}

static bool parse(const char *line, struct plan *plan_p)
{
    *plan_p = (struct plan){ .args.ranks = 0 };
    return line[0] != '#' &&
           sscanf(line, "%63s %u %u %u", plan_p->name, &plan_p->args.ranks,
                  &plan_p->args.root, &plan_p->args.segments) == 4;
}

struct coll_golden_count coll_golden_schedules(enum nf_coll_op op)
{
    FILE *file = fopen(NF_SRCDIR "/tests/golden/collectives.tsv", "r");
    struct coll_golden_count count = { 0 };
    size_t prefix = strlen(nf_coll_op_names[op]), bytes = 0;
    char line[1024], *want = NULL;
    struct plan now = { 0 }, next;
    FILE *lines = NULL;
    bool more = true;

    if (file == NULL)
        return count;
    while (more) {
        more = fgets(line, sizeof(line), file) != NULL;
        if (more && (!parse(line, &next) ||
                     strncmp(next.name, nf_coll_op_names[op], prefix) != 0 ||
                     next.name[prefix] != '.'))
            continue;
        if (lines != NULL && (!more || !same_plan(&now, &next))) {
            fclose(lines);
            lines = NULL;
            count.compared++;
            count.wrong += agrees(&now, want) ? 0 : 1;
            free(want);
        }
        if (more && lines == NULL)
            lines = open_memstream(&want, &bytes);
        if (more && lines == NULL)
            abort();
        if (more)
            fputs(line, lines);
        now = next;
    }
    fclose(file);
    return count;
}

/* ---- step counts ---- */

static json_t *load(void)
{
    json_error_t err;
    json_t *golden =
        json_load_file(NF_SRCDIR "/tests/golden/collectives.json", 0, &err);

    if (golden == NULL)
        printf("\n    %s", err.text);
    return golden;
}

static uint32_t steps_of(const struct nf_coll_algorithm *algorithm,
                         const struct nf_coll_args *args)
{
    struct nf_schedule schedule;
    struct nf_error err;
    uint32_t steps = UINT32_MAX;

    if (nf_coll_make(algorithm, args, NF_ALL_RANKS, &schedule, &err) == NF_OK)
        steps = nf_schedule_rounds(&schedule);
    else
        printf("\n    %s", err.text);
    nf_schedule_fini(&schedule);
    return steps;
}

struct coll_golden_count coll_golden_steps(const char *key, const char *name,
                                           uint32_t segments)
{
    const struct nf_coll_algorithm *algorithm = nf_coll_find(name);
    struct coll_golden_count count = { 0 };
    json_t *golden = load();
    json_t *row = json_object_get(json_object_get(golden, "step_counts"), key);

    for (size_t p = 1; p < json_array_size(row); p++) {
        json_int_t want = json_integer_value(json_array_get(row, p));
        struct nf_coll_args args = { .ranks = (uint32_t)p, .segments = 1 };
        json_int_t got = -1;

        if (segments > 0)
            args.segments = segments;
        else if (algorithm != NULL && algorithm->default_segments != NULL)
            args.segments = algorithm->default_segments(args.ranks);
        if (algorithm != NULL)
            got = steps_of(algorithm, &args);
        count.compared++;
        count.wrong += got == want ? 0 : 1;
        if (got != want)
            printf("\n    %s, P = %zu: %lld steps, want %lld", name, p,
                   (long long)got, (long long)want);
    }
    json_decref(golden);
    return count;
}

/* ---- costs ---- */

/* "SP2 P=16 m=65536" and a group's name, "reduce g=0.01" */
struct machine {
    const char *where;
    uint32_t ranks;
    double bytes;
    struct nf_coll_price price;
};

static bool read_machine(const json_t *golden, const char *where,
                         const char *group, struct machine *machine_p)
{
    char name[16];
    unsigned ranks;
    double bytes;
    const char *g = strstr(group, "g=");
    const json_t *constants;

    if (sscanf(where, "%15s P=%u m=%lf", name, &ranks, &bytes) != 3)
        return false;
    constants = json_object_get(json_object_get(golden, "machines"), name);
    *machine_p = (struct machine){
        .where = where,
        .ranks = ranks,
        .bytes = bytes,
        .price = {
            .npieces = 1,
            .pieces = { { 0, json_number_value(json_object_get(constants, "a")),
                json_number_value(json_object_get(constants, "b")) } },
            .combine_byte_us = g != NULL ? strtod(g + 2, NULL) : 0,
        },
    };
    return constants != NULL;
}

static bool is_near(double got, double want)
{
    return fabs(got - want) <= fmax(0.0005001, 1e-6 * want);
}

static bool cost_agrees(const struct coll_golden_cost *row,
                        const struct nf_coll_algorithm *algorithm,
                        const struct machine *machine, double want_us,
                        uint32_t want_k)
{
    double us = algorithm->cost_us(algorithm, &machine->price, machine->ranks,
                                   machine->bytes, want_k);
    bool right = is_near(us, want_us);

    if (!right)
        printf("\n    %s, %s, k = %u: %.3f us, want %.3f", row->row,
               machine->where, want_k, us, want_us);
    if (algorithm->items != NF_ITEMS_SEGMENTS)
        return right;
    for (uint32_t k = 1; k <= NF_COLL_SEGMENTS_MAX; k++) {
        double other_us = algorithm->cost_us(algorithm, &machine->price,
                                             machine->ranks, machine->bytes, k);

        if (other_us < us * (1 - 1e-12)) {
            printf("\n    %s, %s: k = %u with %.3f us is better than k = %u "
                   "with %.3f",
                   row->row, machine->where, k, other_us, want_k, us);
            return false;
        }
    }
    return right;
}

static void compare_cost(const struct coll_golden_cost *row,
                         const struct nf_coll_algorithm *algorithm,
                         struct machine *machine, const json_t *want,
                         struct coll_golden_count *count)
{
    /* rows per block are a number, others [us, k] */
    bool has_k = json_is_array(want);
    double us = json_number_value(has_k ? json_array_get(want, 0) : want);
    uint32_t k =
        has_k ? (uint32_t)json_integer_value(json_array_get(want, 1)) : 1;

    for (unsigned ports = NF_PORTS_HALF; ports <= NF_PORTS_FULL; ports++) {
        if (row->ports != NF_PORTS_MANY && row->ports != ports)
            continue;
        machine->price.ports = (enum nf_coll_ports)ports;
        count->compared++;
        if (algorithm == NULL || !cost_agrees(row, algorithm, machine, us, k))
            count->wrong++;
    }
}

struct coll_golden_count coll_golden_costs(const char *group,
                                           const struct coll_golden_cost *row)
{
    const struct nf_coll_algorithm *algorithm = nf_coll_find(row->algorithm);
    struct coll_golden_count count = { 0 };
    json_t *golden = load(), *groups, *costs;
    const char *where, *name;

    json_object_foreach(json_object_get(golden, "costs"), where, groups)
    {
        json_object_foreach(groups, name, costs)
        {
            const json_t *want = json_object_get(costs, row->row);
            struct machine machine;

            if (strncmp(name, group, strlen(group)) != 0 || want == NULL)
                continue;
            if (read_machine(golden, where, name, &machine))
                compare_cost(row, algorithm, &machine, want, &count);
            else
                count.wrong++;
        }
    }
    json_decref(golden);
    return count;
}
