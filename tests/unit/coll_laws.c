/* Laws of rooted collectives, looped over every algorithm. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <CUnit/CUnit.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "tests/unit/coll_laws.h"
#include "tests/unit/coll_symbolic.h"

/* The next algorithm of op from *i_p on, or NULL. */
static const struct nf_coll_algorithm *next_of(enum nf_coll_op op, size_t *i_p)
{
    while (nf_coll_table[*i_p] != NULL)
        if (nf_coll_table[(*i_p)++]->op == op)
            return nf_coll_table[*i_p - 1];
    return NULL;
}

/* The i-th k to try with P ranks, or 0.  Algorithms without k ignore it. */
static uint32_t pick_segments(const struct nf_coll_algorithm *algorithm,
                              uint32_t ranks, size_t i)
{
    const uint32_t tried[] = { 1,         2,     3,         4,
                               5,         ranks, ranks + 3, 3 * ranks + 1,
                               ranks / 2, 0 };

    if (i > 0 && algorithm->items != NF_ITEMS_SEGMENTS)
        return 0;
    /* long vectors of large groups take too long */
    if (i > 5 && ranks > 12)
        return i == 6 && ranks % 7 == 0 ? ranks / 2 : 0;
    return tried[i];
}

void coll_law_right(enum nf_coll_op op)
{
    const struct nf_coll_algorithm *algorithm;

    for (size_t i = 0; (algorithm = next_of(op, &i)) != NULL;) {
        for (uint32_t ranks = 1; ranks <= 64; ranks++) {
            struct nf_coll_args args = { .ranks = ranks };
            uint32_t roots[4], nroots = coll_roots(ranks, roots);

            for (size_t k = 0;
                 (args.segments = pick_segments(algorithm, ranks, k)) > 0; k++)
                for (uint32_t r = 0; r < nroots; r++) {
                    args.root = roots[r];
                    CU_ASSERT(coll_check(algorithm, &args));
                }
        }
    }
}

void coll_law_parts(enum nf_coll_op op)
{
    const struct nf_coll_algorithm *algorithm;

    for (size_t i = 0; (algorithm = next_of(op, &i)) != NULL;) {
        for (uint32_t ranks = 1; ranks <= 19; ranks++) {
            struct nf_coll_args args = { .ranks = ranks,
                                         .root = ranks / 3,
                                         .segments = 6 };

            CU_ASSERT(coll_check_parts(algorithm, &args));
        }
    }
}

void coll_law_minimal(enum nf_coll_op op)
{
    const struct nf_coll_algorithm *algorithm;

    for (size_t i = 0; (algorithm = next_of(op, &i)) != NULL;) {
        /* blocks that are scattered and gathered again may come twice */
        if (op == NF_COLL_BCAST && algorithm->items == NF_ITEMS_BLOCKS)
            continue;
        for (uint32_t ranks = 2; ranks <= 9; ranks++) {
            struct nf_coll_args args = { .ranks = ranks,
                                         .root = ranks - 1,
                                         .segments = 3 };

            CU_ASSERT(coll_check_cut(algorithm, &args));
        }
    }
}

static void check_cost(const struct nf_coll_algorithm *algorithm,
                       const struct nf_coll_price *price, uint32_t ranks,
                       uint32_t segments, bool is_exact)
{
    static const double bytes[] = { 8, 5000, 1e6 };
    struct nf_coll_args args = { .ranks = ranks,
                                 .root = ranks - 1,
                                 .segments = segments };

    for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
        double us =
            algorithm->cost_us(algorithm, price, ranks, bytes[i], segments);
        double steps_us = coll_step_us(algorithm, &args, price, bytes[i]);
        bool right = us == INFINITY ||
                     (is_exact ? fabs(us - steps_us) <= 1e-9 * steps_us
                               : steps_us <= 1.5 * us && us <= 3 * steps_us);

        CU_ASSERT(right);
        if (!right)
            printf("\n    %s, P = %u, k = %u, m = %g, %s: %.3f us, the rounds "
                   "take %.3f",
                   algorithm->name, ranks, segments, bytes[i],
                   price->ports == NF_PORTS_HALF ? "HD" : "FD", us, steps_us);
    }
}

void coll_law_costs(enum nf_coll_op op, coll_exact *is_exact_hd)
{
    struct nf_coll_price price = {
        .npieces = 2,
        .pieces = { { 0, 50, 0.02 }, { 4096, 70, 0.03 } },
        .combine_byte_us = 0.01,
    };
    const struct nf_coll_algorithm *algorithm;

    for (size_t i = 0; (algorithm = next_of(op, &i)) != NULL;) {
        uint32_t most = algorithm->items == NF_ITEMS_SEGMENTS ? 40 : 1;

        for (uint32_t ranks = 2; ranks <= 33; ranks++) {
            for (uint32_t k = 1; k <= most; k++) {
                price.ports = NF_PORTS_FULL;
                check_cost(algorithm, &price, ranks, k, true);
                price.ports = NF_PORTS_HALF;
                check_cost(algorithm, &price, ranks, k,
                           is_exact_hd(algorithm, ranks, k));
            }
        }
    }
}

void coll_law_nomem(enum nf_coll_op op)
{
    const struct nf_coll_args args = { .ranks = 9, .root = 4, .segments = 7 };
    const struct nf_coll_algorithm *algorithm;

    for (size_t i = 0; (algorithm = next_of(op, &i)) != NULL;) {
        enum nf_status status = NF_ERR_NOMEM;

        for (long n = 0; status == NF_ERR_NOMEM && n < 100; n++) {
            struct nf_schedule schedule;
            struct nf_error err;

            nf_alloc_fail_after(n);
            status =
                nf_coll_make(algorithm, &args, NF_ALL_RANKS, &schedule, &err);
            nf_alloc_fail_after(-1);
            CU_ASSERT(n > 0 || status == NF_ERR_NOMEM);
            CU_ASSERT(status == NF_OK || schedule.failed);
            nf_schedule_fini(&schedule);
        }
        CU_ASSERT_EQUAL(status, NF_OK);
    }
}

void coll_law_table(enum nf_coll_op op)
{
    const struct nf_coll_args wrong[] = {
        { .ranks = 0, .segments = 1 },
        { .ranks = NF_COLL_RANKS_MAX + 1, .segments = 1 },
        { .ranks = 4, .root = 4, .segments = 1 },
        { .ranks = 4, .segments = 0 },
        { .ranks = 4, .segments = NF_COLL_SEGMENTS_MAX + 1 },
    };
    const struct nf_coll_algorithm *algorithm;

    for (size_t i = 0; (algorithm = next_of(op, &i)) != NULL;) {
        CU_ASSERT_PTR_EQUAL(nf_coll_find(algorithm->name), algorithm);
        CU_ASSERT(algorithm->summary[0] != '\0' &&
                  algorithm->source[0] != '\0' && algorithm->cost[0] != '\0');
        for (uint32_t p = 1; algorithm->default_segments != NULL && p < 70; p++)
            CU_ASSERT(algorithm->default_segments(p) >= 1);
        for (size_t j = 0; j < sizeof(wrong) / sizeof(wrong[0]); j++) {
            struct nf_schedule schedule;
            struct nf_error err;

            CU_ASSERT_EQUAL(nf_coll_make(algorithm, &wrong[j], NF_ALL_RANKS,
                                         &schedule, &err),
                            NF_ERR_RANGE);
            nf_schedule_fini(&schedule);
        }
    }
}
