/* Many schedules run on symbols: all algorithms, spoilt ones, parts. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/error.h"
#include "tests/unit/coll_values.h"

static void check_one(const struct nf_coll_algorithm *algorithm,
                      const struct nf_coll_args *args,
                      struct coll_values_count *count)
{
    struct nf_schedule schedule;
    struct nf_error err = { .text = "" };
    const char *wrong = err.text;

    if (nf_coll_make(algorithm, args, NF_ALL_RANKS, &schedule, &err) == NF_OK) {
        wrong = coll_values_march(algorithm, args, &schedule);
        if (wrong == NULL && args->ranks <= 20 &&
            algorithm->op != NF_COLL_BARRIER)
            wrong = coll_values_drift(algorithm, args, &schedule,
                                      1000 * args->ranks + args->segments);
    }
    nf_schedule_fini(&schedule);
    count->runs++;
    count->wrong += wrong != NULL ? 1 : 0;
    if (wrong != NULL)
        printf("\n    %s, P = %u, root %u, k = %u: %s", algorithm->name,
               args->ranks, args->root, args->segments, wrong);
}

static bool can(const struct nf_coll_algorithm *algorithm, uint32_t ranks)
{
    return !algorithm->power_of_two || (ranks & (ranks - 1)) == 0;
}

struct coll_values_count coll_values_sweep(enum nf_coll_op op)
{
    static const uint32_t ks[] = { 1, 2, 3, 5, 8 };
    struct coll_values_count count = { 0 };

    for (size_t a = 0; nf_coll_table[a] != NULL; a++) {
        const struct nf_coll_algorithm *algorithm = nf_coll_table[a];
        size_t nks = algorithm->items == NF_ITEMS_SEGMENTS ? 5 : 1;

        if (algorithm->op != op)
            continue;
        for (uint32_t p = 1; p <= COLL_VALUES_RANKS_MAX; p++) {
            const uint32_t roots[] = { 0, p - 1, p / 2, 1 };
            size_t nroots = p < 3 ? p : p == 3 ? 3 : 4;

            for (size_t i = 0; can(algorithm, p) && i < nroots * nks; i++)
                check_one(algorithm,
                          &(struct nf_coll_args){ .ranks = p,
                                                  .root = roots[i / nks],
                                                  .segments = ks[i % nks] },
                          &count);
        }
    }
    return count;
}

/* Spoil message i in one way.  @return whether there is this way */
static bool spoil(const struct nf_coll_algorithm *algorithm,
                  struct nf_schedule *schedule, size_t i, unsigned way)
{
    struct nf_coll_message *m = &schedule->messages[i];

    switch (way) {
    case 0:
        memmove(m, m + 1, (schedule->count - i - 1) * sizeof(*m));
        schedule->count--;
        return true;
    case 1:
        if (m->action == NF_COLL_COPY || algorithm->order != NF_ORDER_RANKS)
            return false;
        m->action = m->action == NF_COLL_LEFT ? NF_COLL_RIGHT : NF_COLL_LEFT;
        return true;
    default:
        if (algorithm->items == NF_ITEMS_NONE)
            return false;
        m->from_car = !m->from_car;
        return true;
    }
}

struct coll_values_count coll_values_mutants(enum nf_coll_op op)
{
    struct coll_values_count count = { 0 };
    struct nf_error err;

    for (size_t a = 0; nf_coll_table[a] != NULL; a++) {
        const struct nf_coll_algorithm *algorithm = nf_coll_table[a];
        /* a dissemination has messages to spare unless P is a power */
        bool power = algorithm->power_of_two || algorithm->radix > 0;
        const struct nf_coll_args args = {
            .ranks = algorithm->radix == 3 ? 9
                     : power               ? 8
                                           : 7,
            .root = 1,
            .segments = 3,
        };
        size_t messages = 1;

        for (size_t i = 0; algorithm->op == op && i < 3 * messages; i++) {
            struct nf_schedule schedule;

            if (nf_coll_make(algorithm, &args, NF_ALL_RANKS, &schedule, &err) !=
                NF_OK)
                abort();
            messages = schedule.count;
            if (spoil(algorithm, &schedule, i / 3, (unsigned)(i % 3))) {
                count.runs++;
                if (coll_values_march(algorithm, &args, &schedule) == NULL) {
                    count.wrong++;
                    printf("\n    %s passes, message %zu spoilt in way %zu",
                           algorithm->name, i / 3, i % 3);
                }
            }
            nf_schedule_fini(&schedule);
        }
    }
    return count;
}

static bool same_message(const struct nf_schedule *a, size_t i,
                         const struct nf_schedule *b, size_t j)
{
    struct nf_coll_message x = a->messages[i], y = b->messages[j];

    if (x.round != y.round || x.src != y.src || x.dst != y.dst ||
        x.action != y.action || x.keep != y.keep || x.from_car != y.from_car ||
        x.nspans != y.nspans)
        return false;
    for (uint32_t s = 0; s < x.nspans; s++) {
        struct nf_coll_span in_a = a->spans[x.first_span + s];
        struct nf_coll_span in_b = b->spans[y.first_span + s];

        if (in_a.first != in_b.first || in_a.count != in_b.count)
            return false;
    }
    return true;
}

static bool is_part(const struct nf_schedule *part, uint32_t rank,
                    const struct nf_schedule *whole)
{
    size_t at = 0;

    for (size_t i = 0; i < whole->count; i++) {
        const struct nf_coll_message *m = &whole->messages[i];

        if (m->src != rank && m->dst != rank)
            continue;
        if (at == part->count || !same_message(part, at, whole, i))
            return false;
        at++;
    }
    return at == part->count;
}

static void check_parts(const struct nf_coll_algorithm *algorithm,
                        const struct nf_coll_args *args,
                        struct coll_values_count *count)
{
    struct nf_schedule whole, part;
    struct nf_error err;

    if (nf_coll_make(algorithm, args, NF_ALL_RANKS, &whole, &err) != NF_OK)
        abort();
    for (uint32_t rank = 0; rank < args->ranks; rank++) {
        if (nf_coll_make(algorithm, args, rank, &part, &err) != NF_OK)
            abort();
        count->runs++;
        if (!is_part(&part, rank, &whole)) {
            count->wrong++;
            printf("\n    %s, P = %u: the part of rank %u is wrong",
                   algorithm->name, args->ranks, rank);
        }
        nf_schedule_fini(&part);
    }
    nf_schedule_fini(&whole);
}

struct coll_values_count coll_values_parts(enum nf_coll_op op)
{
    struct coll_values_count count = { 0 };

    for (size_t a = 0; nf_coll_table[a] != NULL; a++)
        for (uint32_t p = 7; p <= 8; p++)
            if (nf_coll_table[a]->op == op && can(nf_coll_table[a], p))
                check_parts(nf_coll_table[a],
                            &(struct nf_coll_args){
                                .ranks = p, .root = 2, .segments = 3 },
                            &count);
    return count;
}
