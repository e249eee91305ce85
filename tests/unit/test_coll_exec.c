/* The executor: every algorithm of the table on members that are delayed at
 * random, with results compared against the definition of the operation. */
#include "config.h"
#include "tests/unit/exec_run.h"
#include "tests/unit/nf_unit.h"

static bool has_k(const struct nf_coll_algorithm *algorithm)
{
    return algorithm->items == NF_ITEMS_SEGMENTS;
}

/* All that the algorithm takes, or all of a kind. */
static unsigned try_sizes(const struct nf_coll_algorithm *algorithm,
                          uint32_t ranks, uint32_t root, uint64_t *seed)
{
    const uint64_t counts[] = { 0, 1, ranks - 1, ranks, ranks + 1, 40 };
    static const uint32_t ks[] = { 1, 2, 5, 9 };
    unsigned bad = 0;

    for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++)
        for (size_t k = 0; k < sizeof(ks) / sizeof(*ks); k++) {
            struct nf_coll_args args = { .ranks = ranks,
                                         .root = root,
                                         .segments = ks[k] };

            if (!has_k(algorithm) && k > 0)
                break;
            bad += !run_try(algorithm, args, counts[c], ++*seed);
            if (has_k(algorithm)) {
                bad += !run_try(algorithm, args, ks[k] + 1, ++*seed);
                bad += !run_try(algorithm, args, ks[k] - 1, ++*seed);
            }
        }
    return bad;
}

static unsigned try_algorithm(const struct nf_coll_algorithm *algorithm)
{
    static const uint32_t ranks[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 16 };
    uint64_t seed = 1;
    unsigned bad = 0;

    for (size_t p = 0; p < sizeof(ranks) / sizeof(*ranks); p++) {
        uint32_t P = ranks[p];

        if (!run_fits(algorithm, P))
            continue;
        bad += try_sizes(algorithm, P, 0, &seed);
        if (P > 1)
            bad += try_sizes(algorithm, P, P - 1, &seed);
        if (P > 2)
            bad += try_sizes(algorithm, P, P / 2, &seed);
    }
    return bad;
}

static void every_algorithm_is_right_whatever_the_delays(void)
{
    size_t count = 0;

    for (; nf_coll_table[count] != NULL; count++)
        CU_ASSERT_EQUAL(try_algorithm(nf_coll_table[count]), 0);
    CU_ASSERT(count > 40);
}

/* Few elements: the fake mesh takes time by the square of its messages. */
static void many_members_get_right_results(void)
{
    static const uint32_t ranks[] = { 17, 31, 32, 33, 64 };
    uint64_t seed = 4000;

    for (size_t i = 0; nf_coll_table[i] != NULL; i++)
        for (size_t p = 0; p < sizeof(ranks) / sizeof(*ranks); p++) {
            uint32_t P = ranks[p];
            const struct nf_coll_algorithm *algorithm = nf_coll_table[i];
            struct nf_coll_args args = { .ranks = P,
                                         .segments = has_k(algorithm) ? 3 : 1 };

            if (!run_fits(algorithm, P) ||
                (P == 64 && algorithm->op == NF_COLL_ALLTOALL))
                continue;
            CU_ASSERT(run_try(algorithm, args, 2, ++seed));
            args.root = P - 2;
            CU_ASSERT(run_try(algorithm, args,
                              run_of_blocks(algorithm->op) ? 1 : P, ++seed));
        }
}

/* Pieces that are lent to the mesh, copied by nobody. */
static void large_vectors_are_right(void)
{
    uint64_t seed = 77;

    for (size_t i = 0; nf_coll_table[i] != NULL; i++) {
        const struct nf_coll_algorithm *algorithm = nf_coll_table[i];
        uint64_t elements = run_of_blocks(algorithm->op) ? 5003 : 25013;
        struct nf_coll_args args = { .ranks = 4, .root = 1, .segments = 7 };

        if (run_fits(algorithm, 4)) {
            CU_ASSERT(run_try(algorithm, args, elements, ++seed));
            CU_ASSERT(run_try(algorithm, args, elements, ++seed));
        }
        args.ranks = 5;
        if (run_fits(algorithm, 5))
            CU_ASSERT(run_try(algorithm, args, elements, ++seed));
        args = (struct nf_coll_args){ .ranks = 3, .root = 2, .segments = 16 };
        if (run_fits(algorithm, 3) && !run_of_blocks(algorithm->op))
            CU_ASSERT(run_try(algorithm, args, 100003, ++seed));
        args = (struct nf_coll_args){ .ranks = 16, .root = 15, .segments = 12 };
        if (run_fits(algorithm, 16))
            CU_ASSERT(run_try(algorithm, args, 1009, ++seed));
    }
}

/* Of much that its sender sends: more than 256 KiB in four messages or more, and not where
 * the next one waits for it. */
static void what_is_much_goes_in_bulk(void)
{
    enum { BLOCK = (64 << 10) / 16 };
    static const struct {
        const char *name;
        uint32_t ranks, segments;
        uint64_t elements, in_bulk;
    } tries[] = {
        { "bcast.flat", 8, 1, BLOCK, 7 },
        { "bcast.flat", 5, 1, BLOCK, 0 },
        { "bcast.flat", 5, 1, BLOCK + 1, 4 },
        { "bcast.pipeline.fd", 3, 8, 8 * BLOCK, 16 },
        { "bcast.pipeline.fd", 3, 8, 4 * BLOCK, 0 },
        { "alltoall.pairwise_shift", 7, 1, BLOCK, 42 },
        { "gather.linear", 8, 1, BLOCK, 0 },
        { "scatter.linear", 8, 1, BLOCK, 0 },
        { "scatter.linear_nb", 8, 1, BLOCK, 7 },
        { "scatter.linear_nb", 12, 1, BLOCK / 2, 0 },
        { "allreduce.rec_doubling", 8, 1, 2 * BLOCK, 0 },
    };

    for (size_t i = 0; i < sizeof(tries) / sizeof(*tries); i++) {
        const struct nf_coll_args args = { .ranks = tries[i].ranks,
                                           .segments = tries[i].segments };
        struct run *run = run_create(nf_coll_find(tries[i].name), args,
                                     tries[i].elements, 2 * i);

        CU_ASSERT_FATAL(run_start(run));
        CU_ASSERT(run_finish(run));
        CU_ASSERT_EQUAL(run->world.in_bulk, tries[i].in_bulk);
        run_destroy(run);
    }
}

/* @return what the member that kept most had at once, in blocks */
static uint64_t blocks_kept(const char *name, uint32_t ranks, uint64_t elements,
                            bool holds_back, uint64_t *said_p)
{
    const struct nf_coll_args args = { .ranks = ranks,
                                       .root = ranks / 2,
                                       .segments = 1 };
    struct run *run = run_create(nf_coll_find(name), args, elements, 10);
    uint64_t blocks;

    run->holds_back = holds_back;
    run->at_once = true;
    CU_ASSERT_FATAL(run_start(run));
    CU_ASSERT(run_finish(run));
    blocks = run->kept_bytes / (elements * 16);
    *said_p = run_says_kept(run) / (elements * 16);
    run_destroy(run);
    return blocks;
}

/* Of more than 64 KiB a root has as many blocks as its window: if members were
 * not held back it had more, so this can be seen here.  Of smaller ones it may
 * have all. */
static void roots_keep_a_window_of_large_blocks(void)
{
    enum { LARGE = NF_COLL_HELD_BYTES / 16 + 1, RANKS = 14 };
    uint64_t said;

    CU_ASSERT_EQUAL(blocks_kept("gather.linear", RANKS, LARGE, true, &said), 1);
    CU_ASSERT_EQUAL(said, 1);
    CU_ASSERT(blocks_kept("gather.linear", RANKS, LARGE, false, &said) > 1);
    CU_ASSERT_EQUAL(said, 1);
    CU_ASSERT(blocks_kept("gather.linear_nb", RANKS, LARGE, true, &said) <=
              NF_COLL_WINDOW);
    CU_ASSERT_EQUAL(said, NF_COLL_WINDOW);
    CU_ASSERT(blocks_kept("gather.linear", RANKS, LARGE - 1, true, &said) > 1);
    CU_ASSERT_EQUAL(said, RANKS - 1);
}

/* What goes along the sides of a grid: no more than its formula says, and no more rests
 * than nowfarm_group.h says, to which a message out and one in may come. */
static void grids_keep_no_more_than_they_say(void)
{
    static const struct {
        const char *name;
        struct nf_coll_sides shape;
        uint64_t resting; /* in P */
    } grids[] = {
        { "alltoall.dh", { 2, { 4, 6 } }, 2 },
        { "alltoall.dh", { 3, { 2, 2, 4 } }, 2 },
        { "alltoall.mdh", { 2, { 5, 5 } }, 3 },
        { "alltoall.mdh", { 2, { 3, 7 } }, 3 },
        { "alltoall.cdh", { 2, { 5, 5 } }, 2 },
        { "alltoall.khop", { 2, { 5, 5 } }, 2 },
        { "alltoall.naive", { 2, { 5, 5 } }, 2 },
        { "alltoall.bruck_grid", { 2, { 5, 5 } }, 2 },
        { "alltoall.pairwise_grid", { 2, { 5, 5 } }, 2 },
        { "alltoall.split_merge", { 2, { 3, 7 } }, 8 },
        { "alltoall.split_merge", { 2, { 7, 5 } }, 8 },
        { "alltoall.split_merge0", { 2, { 5, 5 } }, 8 },
    };
    bool many = false;

    for (size_t i = 0; i < sizeof(grids) / sizeof(grids[0]); i++) {
        uint32_t ranks = (uint32_t)nf_coll_sides_product(&grids[i].shape);
        const uint64_t all_bytes = (uint64_t)ranks * 3 * 16;
        const struct nf_coll_args args = { .ranks = ranks,
                                           .segments = 1,
                                           .shape = &grids[i].shape };
        struct run *run =
            run_create(nf_coll_find(grids[i].name), args, 3, 10 + i);

        run->at_once = true;
        CU_ASSERT_FATAL(run_start(run));
        CU_ASSERT(run_finish(run));
        CU_ASSERT(run->kept_bytes <= run_says_kept(run));
        CU_ASSERT(run->kept_bytes <= (grids[i].resting + 2) * all_bytes);
        /* the bound of the others would be wrong for split_merge */
        many = many || run->kept_bytes > 3 * all_bytes;
        run_destroy(run);
        CU_ASSERT(run_try(nf_coll_find(grids[i].name), args, 2, 20 + i));
    }
    CU_ASSERT(many);
}

/* Were the first message of a call lost, or a later one of another. */
static void a_brief_head_of_another_call_is_refused(void)
{
    const struct nf_coll_args args = { .ranks = 2, .segments = 3 };
    struct run *run = run_create(nf_coll_find("bcast.pipeline.fd"), args, 3, 9);
    struct nf_head head = { .op = NF_COLL_BCAST, .brief = true, .segment = 1 };
    struct nf_error err = { .status = NF_OK };

    CU_ASSERT_FATAL(run_start(run));
    head.digest = nf_head_digest(&head) + 1;
    CU_ASSERT_EQUAL(nf_exec_take(&run->execs[1], 0, &head, NULL, &err),
                    NF_ERR_MISMATCH);
    CU_ASSERT_STRING_EQUAL(
        err.text,
        "members 0 and 1 made different calls: not the same arguments");
    run_destroy(run);
    head.digest--;
    head.root = 1;
    CU_ASSERT_NOT_EQUAL(head.digest, nf_head_digest(&head));
    head.root = 0;
    head.flags = 1;
    CU_ASSERT_NOT_EQUAL(head.digest, nf_head_digest(&head));
}

/* Where every value has a place of its own that is not written twice. */
static void payloads_go_home_at_once(void)
{
    static const char *const names[] = {
        "bcast.flat",       "bcast.binomial",   "bcast.pipeline.fd",
        "gather.linear",    "gather.linear_nb", "gather.binomial",
        "scatter.linear",   "allgather.ring",   "allreduce.ring",
        "scatter.binomial",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct nf_coll_args args = { .ranks = 6, .root = 2, .segments = 4 };
        struct run *run = run_create(nf_coll_find(names[i]), args, 240, 2 * i);

        CU_ASSERT_FATAL(run != NULL && run_start(run));
        CU_ASSERT(run_finish(run));
        CU_ASSERT(run->landed >= 1 && run->landed < run->may_land);
        run_destroy(run);
    }
}

/* A call that is given up has its user's buffers back. */
static void what_was_lent_is_taken_back(void)
{
    const struct nf_coll_args args = { .ranks = 3, .segments = 1 };
    struct run *run = run_create(nf_coll_find("bcast.flat"), args, 5003, 8);
    const uint64_t before = fake_taken_back;

    CU_ASSERT_FATAL(run_start(run));
    CU_ASSERT(nf_exec_run(&run->execs[0]) == NF_WAIT);
    CU_ASSERT(nf_exec_fini(&run->execs[0]));
    CU_ASSERT(fake_taken_back > before);
    run_destroy(run);
}

/* Whoever is the next to get a message of rank 0 @return which segment it is */
static uint32_t next_arrival(struct run *run, uint32_t *rank_p)
{
    struct nf_mesh_event event;
    struct nf_control control;
    struct nf_head head;
    bool is_control;

    for (*rank_p = 1; nf_mesh_next(run->meshes[*rank_p], &event) != NF_OK;) {
        if (++*rank_p < run->args.ranks)
            continue;
        *rank_p = 1;
        run->world.now_us = fake_next_us(&run->world);
        CU_ASSERT_FATAL(run->world.now_us != INT64_MAX);
    }
    nf_blob_unref(event.message.payload);
    CU_ASSERT(nf_head_decode(event.message.head, event.message.head_bytes,
                             &is_control, &head, &control) == NF_OK);
    return head.segment;
}

/* A root that has all segments gives the first one to all its children, and then
 * the next one: else the last child gets nothing for most of the time. */
static void ready_sends_go_in_the_order_of_the_plan(void)
{
    const struct nf_coll_args args = { .ranks = 8, .segments = 5 };
    static const uint32_t children[] = { 4, 2, 1 };
    struct run *run = run_create(nf_coll_find("bcast.tree"), args, 80, 8);

    CU_ASSERT_FATAL(run_start(run));
    run->world.most_delay_us = 0;
    run->world.byte_ns = 1000; /* one wire: what goes first is there first */
    CU_ASSERT(nf_exec_run(&run->execs[0]) == NF_WAIT);
    for (uint32_t n = 0; n < 15; n++) {
        uint32_t rank;

        CU_ASSERT_EQUAL(next_arrival(run, &rank), n / 3);
        CU_ASSERT_EQUAL(rank, children[n % 3]);
    }
    run_destroy(run);
}

/* What @p rank sends before it has to wait, at first or when all that the
 * others send before they wait has come. */
static uint64_t sends_ahead(const char *name, uint32_t ranks, uint32_t rank,
                            bool heard)
{
    const struct nf_coll_args args = { .ranks = ranks, .segments = 1 };
    struct run *run = run_create(nf_coll_find(name), args, 3, 9);
    uint64_t sent;

    CU_ASSERT_FATAL(run_start(run));
    for (uint32_t r = 0; heard && r < ranks; r++)
        CU_ASSERT(r == rank || nf_exec_run(&run->execs[r]) == NF_WAIT);
    run->world.now_us += 100000;
    for (uint32_t n = 0; n < ranks * ranks; n++)
        CU_ASSERT(run_take_all(run, rank));
    sent = run->world.sent;
    CU_ASSERT(nf_exec_run(&run->execs[rank]) == NF_WAIT);
    sent = run->world.sent - sent;
    run_destroy(run);
    return sent;
}

/* All blocks go straight home: the algorithms differ in when. */
static void straight_blocks_go_round_by_round(void)
{
    CU_ASSERT_EQUAL(sends_ahead("alltoall.burst", 40, 7, false), 16);
    CU_ASSERT_EQUAL(sends_ahead("alltoall.burst", 40, 7, true), 32);
    CU_ASSERT_EQUAL(sends_ahead("alltoall.burst", 9, 7, false), 8);
    CU_ASSERT_EQUAL(sends_ahead("alltoall.pairwise_shift", 16, 7, false), 1);
    CU_ASSERT_EQUAL(sends_ahead("alltoall.pairwise_shift", 16, 7, true), 2);
    CU_ASSERT_EQUAL(sends_ahead("alltoall.pairwise_xor", 16, 7, false), 1);
    CU_ASSERT_EQUAL(sends_ahead("alltoall.pairwise_xor", 16, 7, true), 2);
    CU_ASSERT_EQUAL(sends_ahead("alltoall.pairwise_grid", 16, 7, false), 1);
    /* round 0: 1 and 14 meet, ..., 7 and 8; 15 and 0: the higher one waits.
     * then 8 and 9 */
    CU_ASSERT_EQUAL(sends_ahead("alltoall.tournament_hd", 16, 7, false), 1);
    CU_ASSERT_EQUAL(sends_ahead("alltoall.tournament_hd", 16, 8, false), 0);
    CU_ASSERT_EQUAL(sends_ahead("alltoall.tournament_hd", 16, 8, true), 2);
}

int main(void)
{
    CU_TestInfo exec[] = {
        { "every algorithm is right whatever the delays",
          every_algorithm_is_right_whatever_the_delays },
        { "many members get right results", many_members_get_right_results },
        { "large vectors are right", large_vectors_are_right },
        { "what is much goes in bulk", what_is_much_goes_in_bulk },
        { "payloads go home at once", payloads_go_home_at_once },
        { "what was lent is taken back", what_was_lent_is_taken_back },
        { "roots keep a window of large blocks",
          roots_keep_a_window_of_large_blocks },
        { "grids keep no more than they say",
          grids_keep_no_more_than_they_say },
        { "blocks that go straight home go round by round",
          straight_blocks_go_round_by_round },
        { "ready sends go in the order of the plan",
          ready_sends_go_in_the_order_of_the_plan },
        { "a brief head of another call is refused",
          a_brief_head_of_another_call_is_refused },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "executor", NULL, NULL, NULL, NULL, exec },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
