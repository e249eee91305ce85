/* Broadcasts down a tree that is given: right for any tree, in its order, and
 * nothing else is taken for one. */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "common/coll/check.h"
#include "tests/unit/nf_unit.h"

enum { RANKS_MAX = 64 };

struct drawn {
    struct nf_coll_tree tree;
    uint32_t parent[RANKS_MAX], first[RANKS_MAX + 1], child[RANKS_MAX];
};

enum shape { STAR, CHAIN, BINARY, RANDOM, SHAPES };

static uint32_t draw_parent(struct nf_rng *rng, enum shape shape, uint32_t v)
{
    switch (shape) {
    case STAR:
        return 0;
    case CHAIN:
        return v - 1;
    case BINARY:
        return (v - 1) / 2;
    default:
        return (uint32_t)nf_rng_below(rng, v);
    }
}

/* Of places 0, 1, ..., of which place 0 is the root, ranks being mixed. */
static void draw(struct nf_rng *rng, enum shape shape, uint32_t ranks,
                 uint32_t root, struct drawn *d)
{
    uint32_t rank[RANKS_MAX], count = 0;

    for (uint32_t v = 0; v < ranks; v++)
        rank[v] = v;
    rank[0] = root;
    rank[root] = 0;
    for (uint32_t v = 1; v + 1 < ranks; v++) {
        uint32_t other = v + (uint32_t)nf_rng_below(rng, ranks - v);
        uint32_t swap = rank[v];

        rank[v] = rank[other];
        rank[other] = swap;
    }
    for (uint32_t v = 1; v < ranks; v++)
        d->parent[rank[v]] = rank[draw_parent(rng, shape, v)];
    for (uint32_t r = 0; r < ranks; r++) {
        d->first[r] = count;
        for (uint32_t v = 1; v < ranks; v++)
            if (d->parent[rank[v]] == r)
                d->child[count++] = rank[v];
    }
    d->first[ranks] = count;
    d->tree = (struct nf_coll_tree){ ranks, root, d->first, d->child };
}

/* Does each rank take a segment, hand it to its children in order, take the
 * next?  In the order of rounds, sends first. */
static bool keeps_order(const struct nf_coll_args *args,
                        const struct nf_schedule *s, uint32_t rank)
{
    const struct nf_coll_tree *tree = args->tree;
    uint32_t degree = tree->first[rank + 1] - tree->first[rank];
    uint32_t sent = 0, taken = rank == args->root ? args->segments : 0;

    for (size_t i = 0; i < s->count; i++) {
        const struct nf_coll_message *m = &s->messages[i];
        uint32_t segment = s->spans[m->first_span].first;

        if (m->src != rank)
            continue;
        if (m->dst != tree->child[tree->first[rank] + sent % degree] ||
            segment != sent / degree)
            return false;
        sent++;
    }
    for (size_t i = 0; i < s->count; i++) {
        const struct nf_coll_message *m = &s->messages[i];
        uint32_t before = 0;

        if (m->dst != rank)
            continue;
        for (size_t j = 0; j < s->count; j++)
            before +=
                s->messages[j].src == rank && s->messages[j].round <= m->round;
        if (before != taken * degree)
            return false;
        taken++;
    }
    return sent == args->segments * degree && taken == args->segments;
}

static bool is_right(const struct nf_coll_args *args)
{
    const struct nf_coll_algorithm *algorithm = &nf_coll_bcast_tree;
    struct nf_coll_claim claim = nf_coll_claim_of(algorithm, args);
    struct nf_coll_faults faults;
    struct nf_schedule s;
    struct nf_error err = { .text = "out of order" };
    enum nf_status status =
        nf_coll_make(algorithm, args, NF_ALL_RANKS, &s, &err);

    claim.orders = 1;
    if (status == NF_OK)
        status = nf_coll_check(&claim, &s, &faults, &err);
    for (uint32_t r = 0; args->tree != NULL && args->ranks <= 24 &&
                         r < args->ranks && status == NF_OK;
         r++)
        if (!keeps_order(args, &s, r))
            status = NF_ERR_FAILED;
    if (s.count != (size_t)args->segments * (args->ranks - 1))
        status = NF_ERR_FAILED;
    nf_schedule_fini(&s);
    if (status != NF_OK)
        printf("\n    P %u root %u k %u: %s", args->ranks, args->root,
               args->segments, err.text);
    return status == NF_OK;
}

static void any_tree_is_right(void)
{
    static const uint32_t ks[] = { 1, 2, 5, 13 };
    struct nf_rng rng = { 1 };
    struct drawn d;
    unsigned wrong = 0;

    for (uint32_t ranks = 1; ranks <= RANKS_MAX; ranks++)
        for (int shape = 0; shape < SHAPES; shape++)
            for (int k = 0; k < 4; k++) {
                struct nf_coll_args args = {
                    .ranks = ranks,
                    .root = (uint32_t)nf_rng_below(&rng, ranks),
                    .segments = ks[k],
                    .tree = &d.tree,
                };

                draw(&rng, (enum shape)shape, ranks, args.root, &d);
                wrong += wrong < 10 && !is_right(&args);
            }
    CU_ASSERT_EQUAL(wrong, 0);
}

/* Every root, without a tree and with one. */
static void every_root_is_right(void)
{
    struct nf_rng rng = { 2 };
    struct drawn d;
    unsigned wrong = 0;

    for (uint32_t ranks = 1; ranks <= RANKS_MAX; ranks += 1 + ranks / 8)
        for (uint32_t root = 0; root < ranks; root++) {
            struct nf_coll_args args = { .ranks = ranks,
                                         .root = root,
                                         .segments = 3 };

            wrong += wrong < 10 && !is_right(&args);
            draw(&rng, RANDOM, ranks, root, &d);
            args.tree = &d.tree;
            wrong += wrong < 10 && !is_right(&args);
        }
    CU_ASSERT_EQUAL(wrong, 0);
}

/* In step: the widest rank says how often a segment can follow. */
static void rounds_are_those_of_the_widest_rank(void)
{
    static const struct {
        enum shape shape;
        uint32_t rounds; /* of 8 ranks and 5 segments */
    } rows[] = { { STAR, 35 }, { CHAIN, 11 }, { BINARY, 4 + 4 * 2 } };
    struct nf_rng rng = { 3 };
    struct drawn d;

    for (int i = 0; i < 3; i++) {
        struct nf_coll_args args = { .ranks = 8,
                                     .segments = 5,
                                     .tree = &d.tree };
        struct nf_schedule s;

        draw(&rng, rows[i].shape, 8, 0, &d);
        CU_ASSERT_EQUAL(
            nf_coll_make(&nf_coll_bcast_tree, &args, NF_ALL_RANKS, &s, NULL),
            NF_OK);
        CU_ASSERT_EQUAL(nf_schedule_rounds(&s), rows[i].rounds);
        nf_schedule_fini(&s);
    }
}

static enum nf_status try_broken(const struct nf_coll_tree *tree,
                                 const char *text)
{
    const struct nf_coll_args args = {
        .ranks = 5, .root = 1, .segments = 2, .tree = tree
    };
    struct nf_schedule s;
    struct nf_error err = { .text = "" };
    enum nf_status status =
        nf_coll_make(&nf_coll_bcast_tree, &args, NF_ALL_RANKS, &s, &err);

    if (strstr(err.text, text) == NULL)
        printf("\n    %s", err.text);
    CU_ASSERT(strstr(err.text, text) != NULL);
    CU_ASSERT_EQUAL(s.count, 0);
    nf_schedule_fini(&s);
    return status;
}

static void broken_trees_are_refused(void)
{
    static const uint32_t first[] = { 0, 2, 4, 4, 4, 4 };
    static const uint32_t good[] = { 3, 4, 0, 2 };
    static const struct {
        const uint32_t first[6], child[4];
        const char *text;
    } rows[] = {
        { { 0, 2, 4, 4, 4, 4 }, { 3, 3, 0, 2 }, "rank 3" }, /* twice */
        { { 0, 2, 4, 4, 4, 4 }, { 3, 4, 0, 5 }, "rank 5" }, /* no rank */
        { { 0, 2, 4, 4, 4, 4 }, { 3, 1, 0, 2 }, "rank 1" }, /* the root */
        { { 0, 1, 3, 3, 3, 4 }, { 4, 2, 3, 0 }, "rank 0" }, /* a circle */
        { { 0, 2, 3, 3, 3, 3 }, { 3, 4, 0, 2 }, "4 children" },
        { { 0, 2, 1, 4, 4, 4 }, { 3, 4, 0, 2 }, "4 children" },
        { { 1, 2, 4, 4, 4, 4 }, { 3, 4, 0, 2 }, "4 children" },
    };
    struct nf_coll_tree tree = { 5, 1, first, good };
    const struct nf_coll_args args = {
        .ranks = 5, .root = 1, .segments = 2, .tree = &tree
    };

    CU_ASSERT(is_right(&args));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        tree.first = rows[i].first;
        tree.child = rows[i].child;
        CU_ASSERT_EQUAL(try_broken(&tree, rows[i].text), NF_ERR_INVAL);
    }
    tree = (struct nf_coll_tree){ 5, 0, first, good };
    CU_ASSERT_EQUAL(try_broken(&tree, "5 ranks from 0"), NF_ERR_INVAL);
    tree = (struct nf_coll_tree){ 4, 1, first, good };
    CU_ASSERT_EQUAL(try_broken(&tree, "4 ranks from 1"), NF_ERR_INVAL);
}

/* Each that is asked for may be the last one there is. */
static void running_out_of_memory_is_told(void)
{
    struct nf_rng rng = { 4 };
    struct drawn d;
    struct nf_coll_args args = { .ranks = 20, .segments = 4, .tree = &d.tree };
    enum nf_status status = NF_ERR_NOMEM;

    draw(&rng, RANDOM, 20, 0, &d);
    for (long n = 0; status == NF_ERR_NOMEM && n < 100; n++) {
        struct nf_schedule s;

        nf_alloc_fail_after(n);
        status =
            nf_coll_make(&nf_coll_bcast_tree, &args, NF_ALL_RANKS, &s, NULL);
        nf_alloc_fail_after(-1);
        CU_ASSERT(status == NF_OK || s.failed || s.count == 0);
        nf_schedule_fini(&s);
    }
    CU_ASSERT_EQUAL(status, NF_OK);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "any tree is right", any_tree_is_right },
        { "every root is right", every_root_is_right },
        { "rounds are those of the widest rank",
          rounds_are_those_of_the_widest_rank },
        { "broken trees are refused", broken_trees_are_refused },
        { "running out of memory is told", running_out_of_memory_is_told },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "broadcast down a tree", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
