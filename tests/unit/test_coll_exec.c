/* The executor: every algorithm of the table on members that are delayed at
 * random, with results compared against the definition of the operation. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/group/exec.h"
#include "tests/unit/exec_memory.h"
#include "tests/unit/fake_mesh.h"
#include "tests/unit/nf_unit.h"

enum { RANKS_MAX = FAKE_MEMBERS_MAX, MATRIX_PRIME = 65521 };

/* 2 x 2 matrices modulo a prime: their product does not commute. */
struct matrix {
    uint32_t a[4];
};

static void multiply(const void *in_, void *inout_, size_t count, int type,
                     void *user)
{
    const struct matrix *in = in_;
    struct matrix *inout = inout_;

    (void)type;
    (void)user;
    for (size_t i = 0; i < count; i++) {
        const uint32_t *x = in[i].a, *y = inout[i].a;
        struct matrix z;

        for (int r = 0; r < 2; r++)
            for (int c = 0; c < 2; c++)
                z.a[2 * r + c] =
                    (uint32_t)(((uint64_t)x[2 * r] * y[c] +
                                (uint64_t)x[2 * r + 1] * y[2 + c]) %
                               MATRIX_PRIME);
        inout[i] = z;
    }
}

/* An element of a member's input, never singular by much chance. */
static struct matrix input(uint32_t rank, uint64_t i)
{
    struct nf_rng rng = { rank * UINT64_C(1000003) + i };
    struct matrix m;

    for (int j = 0; j < 4; j++)
        m.a[j] = (uint32_t)nf_rng_below(&rng, MATRIX_PRIME);
    return m;
}

/* One run. */
struct run {
    const struct nf_coll_algorithm *algorithm;
    struct nf_coll_args args;
    uint64_t elements; /* of the vector, or of a block */
    uint64_t seed;
    bool in_place;
    struct nf_user_codes codes;
    struct fake_world world;
    struct nf_mesh *meshes[RANKS_MAX];
    struct nf_plan *plans[RANKS_MAX];
    struct nf_exec execs[RANKS_MAX];
    struct matrix *send[RANKS_MAX], *recv[RANKS_MAX];
    bool done[RANKS_MAX];
    bool heard[RANKS_MAX][RANKS_MAX]; /* [r][f]: a message of f, by r */
    uint64_t total;                   /* elements of recv and send */
    uint64_t kept_bytes;              /* that a member had at the most */
};

static bool of_blocks(enum nf_coll_op op)
{
    return op == NF_COLL_REDUCE_SCATTER || op == NF_COLL_ALLGATHER ||
           op == NF_COLL_GATHER || op == NF_COLL_SCATTER ||
           op == NF_COLL_ALLTOALL;
}

static bool fits(const struct nf_coll_algorithm *algorithm, uint32_t ranks)
{
    const struct nf_coll_args args = { .ranks = ranks, .segments = 1 };

    return nf_coll_fits(algorithm, &args, NULL) == NF_OK;
}

static bool combines(enum nf_coll_op op)
{
    return op == NF_COLL_REDUCE || op == NF_COLL_ALLREDUCE ||
           op == NF_COLL_REDUCE_SCATTER || op == NF_COLL_SCAN ||
           op == NF_COLL_EXSCAN;
}

/* Buffers as calls.c gives them. */
static void set_buffers(struct run *run, uint32_t r, struct nf_exec_call *call)
{
    enum nf_coll_op op = run->algorithm->op;
    bool root = r == run->args.root;

    if (op == NF_COLL_BCAST) {
        if (root)
            memcpy(run->recv[r], run->send[r], run->total * 16);
        call->src = root ? run->recv[r] : NULL;
        call->home = run->recv[r];
    } else if (op == NF_COLL_EXSCAN) {
        call->src = run->send[r];
        call->before = run->recv[r];
    } else if (op == NF_COLL_REDUCE_SCATTER || op == NF_COLL_SCATTER) {
        call->src = root || op != NF_COLL_SCATTER ? run->send[r] : NULL;
        call->home = run->recv[r];
        call->home_own = true;
    } else if (op == NF_COLL_ALLGATHER || op == NF_COLL_GATHER) {
        call->src = run->send[r];
        call->src_own = true;
        call->home = op == NF_COLL_ALLGATHER || root ? run->recv[r] : NULL;
    } else if (op == NF_COLL_ALLTOALL) {
        call->src = run->send[r];
        call->home = run->recv[r];
    } else if (op != NF_COLL_BARRIER) {
        call->src = run->send[r];
        if (run->in_place) {
            memcpy(run->recv[r], run->send[r], run->total * 16);
            call->src = run->recv[r];
        }
        call->home = op != NF_COLL_REDUCE || root ? run->recv[r] : NULL;
        if (call->home == NULL)
            call->src = run->send[r];
    }
}

static bool start(struct run *run)
{
    const struct nf_head head = { .op = (uint8_t)run->algorithm->op };
    bool ok = true;

    fake_world_init(&run->world, run->args.ranks, run->seed);
    run->codes.ntypes = run->codes.noperators = 1;
    run->codes.types[0].units = 4;
    run->codes.types[0].unit_bytes = 4;
    run->codes.operators[0].function = multiply;
    run->codes.operators[0].commutative = false;
    run->total =
        run->elements * (of_blocks(run->algorithm->op) ? run->args.ranks : 1);
    for (uint32_t r = 0; r < run->args.ranks; r++) {
        struct nf_exec_call call = {
            .codes = &run->codes,
            .type = NF_ELEM_USER,
            .op = combines(run->algorithm->op) ? NF_OPERATOR_USER : -1,
            .layout = { .elements = run->elements,
                        .blocks = of_blocks(run->algorithm->op),
                        .pairs = run->algorithm->op == NF_COLL_ALLTOALL },
        };

        if (run->algorithm->order == NF_ORDER_COMMUTATIVE &&
            call.op == NF_OPERATOR_USER) {
            call.op = NF_SUM; /* wraps around, so 4-byte lanes are fine */
            call.type = NF_ELEM_UINT32;
            call.layout.elements *= 4;
        }
        run->meshes[r] = fake_mesh_open(&run->world, r);
        run->send[r] = calloc(run->total + 1, 16);
        run->recv[r] = calloc(run->total + 1, 16);
        for (uint64_t i = 0; i < run->total; i++)
            run->send[r][i] = input(r, i);
        memset(run->recv[r], 0xee, (run->total + 1) * 16);
        set_buffers(run, r, &call);
        ok = ok &&
             nf_plan_create(run->algorithm, &run->args, r, &run->plans[r],
                            NULL) == NF_OK &&
             nf_exec_init(&run->execs[r], run->plans[r], &call, &head,
                          run->meshes[r]) == NF_OK;
    }
    return ok;
}

static bool take_all(struct run *run, uint32_t r)
{
    struct nf_mesh_event event;

    while (nf_mesh_next(run->meshes[r], &event) == NF_OK) {
        struct nf_head head;
        struct nf_control control;
        struct nf_error err;
        bool is_control;

        if (nf_head_decode(event.message.head, event.message.head_bytes,
                           &is_control, &head, &control) != NF_OK ||
            is_control || head.brief != run->heard[r][event.member])
            return false;
        run->heard[r][event.member] = true; /* what call it is */
        if (nf_exec_take(&run->execs[r], event.member, &head,
                         event.message.payload, &err) != NF_OK) {
            printf("%s\n", err.text);
            return false;
        }
        if (nf_rng_below(&run->world.rng, 3) == 0)
            break; /* slow to read */
    }
    return true;
}

static void note_kept(struct run *run, uint32_t r)
{
    uint64_t bytes = exec_kept_bytes(&run->execs[r]);

    if (bytes > run->kept_bytes)
        run->kept_bytes = bytes;
}

/* Has no member had more than its algorithm says (kept.h)? */
static bool keeps_what_it_says(const struct run *run)
{
    uint32_t items = nf_coll_item_count(run->algorithm, &run->args);
    uint64_t bytes = run->elements * 16, most;

    if (run->algorithm->op == NF_COLL_ALLGATHER ||
        run->algorithm->op == NF_COLL_REDUCE_SCATTER)
        bytes = run->total * 16;
    else if (!of_blocks(run->algorithm->op) && items > 0)
        bytes = (run->elements + items - 1) / items * items * 16;
    most = nf_coll_kept_bytes(run->algorithm, run->args.ranks, bytes,
                              run->args.segments);
    if (run->algorithm->window > 0) /* here nobody holds members back */
        most = (run->args.ranks - 1) * bytes;
    if (run->kept_bytes > most)
        printf("%s P %u k %u: keeps %llu of %llu\n", run->algorithm->name,
               run->args.ranks, run->args.segments,
               (unsigned long long)run->kept_bytes, (unsigned long long)most);
    return run->kept_bytes <= most;
}

/* @return whether all are done in the end */
static bool finish(struct run *run)
{
    uint32_t left = run->args.ranks;

    while (left > 0) {
        int64_t next;

        for (uint32_t n = 0; n < run->args.ranks; n++) {
            uint32_t r =
                (uint32_t)nf_rng_below(&run->world.rng, run->args.ranks);
            enum nf_status status;

            if (n + 1 == run->args.ranks)
                r = (uint32_t)(run->world.now_us % run->args.ranks);
            if (run->done[r])
                continue;
            if (!take_all(run, r))
                return false;
            status = nf_exec_run(&run->execs[r]);
            note_kept(run, r);
            if (status < 0 || (run->algorithm->op == NF_COLL_ALLTOALL &&
                               !exec_holds_little(&run->execs[r])))
                return false;
            if (status == NF_OK) {
                run->done[r] = true;
                left--;
                /* the user may use its buffers again */
                memset(run->send[r], 0xdd, run->total * 16);
            }
        }
        next = fake_next_us(&run->world);
        if (next != INT64_MAX)
            run->world.now_us = next;
        else if (run->world.now_us++ > INT64_C(100000000))
            return false;
    }
    return true;
}

static struct matrix fold(const struct run *run, uint32_t first, uint32_t count,
                          uint64_t i)
{
    uint32_t ranks = run->args.ranks;
    struct matrix result = input((first + count - 1) % ranks, i);

    for (uint32_t n = count - 1; n-- > 0;) {
        struct matrix lower = input((first + n) % ranks, i);

        if (run->algorithm->order == NF_ORDER_COMMUTATIVE)
            for (int j = 0; j < 4; j++)
                result.a[j] += lower.a[j];
        else
            multiply(&lower, &result, 1, 0, NULL);
    }
    return result;
}

/* What element i of rank r's result is to be.  @return false: nothing */
static bool expected(const struct run *run, uint32_t r, uint64_t i,
                     struct matrix *m)
{
    enum nf_coll_op op = run->algorithm->op;
    uint32_t ranks = run->args.ranks, root = run->args.root;
    bool rotated = run->algorithm->order == NF_ORDER_ROTATED;

    switch (op) {
    case NF_COLL_BCAST:
        *m = input(root, i);
        return true;
    case NF_COLL_REDUCE:
        *m = fold(run, rotated ? root : 0, ranks, i);
        return r == root;
    case NF_COLL_ALLREDUCE:
        *m = fold(run, 0, ranks, i);
        return true;
    case NF_COLL_REDUCE_SCATTER:
        *m = fold(run, 0, ranks, run->elements * r + i);
        return i < run->elements;
    case NF_COLL_SCAN:
        *m = fold(run, 0, r + 1, i);
        return true;
    case NF_COLL_EXSCAN:
        if (r > 0)
            *m = fold(run, 0, r, i);
        return r > 0;
    case NF_COLL_ALLGATHER:
    case NF_COLL_GATHER:
        *m = input((uint32_t)(i / run->elements), i % run->elements);
        return op == NF_COLL_ALLGATHER || r == root;
    case NF_COLL_SCATTER:
        *m = input(root, run->elements * r + i);
        return i < run->elements;
    case NF_COLL_ALLTOALL:
        *m = input((uint32_t)(i / run->elements),
                   run->elements * r + i % run->elements);
        return true;
    default:
        return false;
    }
}

/* Element i of what rank r's recv was before the call; total: the guard. */
static struct matrix untouched(const struct run *run, uint32_t r, uint64_t i)
{
    struct matrix m;

    memset(&m, 0xee, sizeof(m));
    return run->algorithm->op == NF_COLL_REDUCE && run->in_place &&
                   i < run->total
               ? input(r, i)
               : m;
}

static bool is_right(const struct run *run)
{
    for (uint32_t r = 0; r < run->args.ranks; r++)
        for (uint64_t i = 0; i <= run->total; i++) {
            struct matrix want;

            if (i == run->total || !expected(run, r, i, &want))
                want = untouched(run, r, i);
            if (memcmp(&want, &run->recv[r][i], sizeof(want)) != 0)
                return false;
        }
    return true;
}

static struct run *new_run(const struct nf_coll_algorithm *algorithm,
                           struct nf_coll_args args, uint64_t elements,
                           uint64_t seed)
{
    struct run *run = calloc(1, sizeof(*run));

    run->algorithm = algorithm;
    run->args = args;
    run->elements = elements;
    run->seed = seed;
    run->in_place = seed % 2 == 1;
    return run;
}

static void end_run(struct run *run)
{
    for (uint32_t r = 0; r < run->args.ranks; r++) {
        nf_exec_fini(&run->execs[r]);
        nf_plan_destroy(run->plans[r]);
        nf_mesh_close(run->meshes[r]);
        free(run->send[r]);
        free(run->recv[r]);
    }
    fake_world_fini(&run->world);
    free(run);
}

static bool try_it(const struct nf_coll_algorithm *algorithm,
                   struct nf_coll_args args, uint64_t elements, uint64_t seed)
{
    struct run *run = new_run(algorithm, args, elements, seed);
    bool started, finished = false, right = false;

    started = start(run);
    if (started)
        finished = finish(run);
    if (finished)
        right = is_right(run) && keeps_what_it_says(run);
    end_run(run);
    if (!right)
        printf("%s P %u root %u k %u N %llu seed %llu: %s\n", algorithm->name,
               args.ranks, args.root, args.segments,
               (unsigned long long)elements, (unsigned long long)seed,
               !started    ? "does not start"
               : !finished ? "does not end"
                           : "wrong result");
    return right;
}

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
            bad += !try_it(algorithm, args, counts[c], ++*seed);
            if (has_k(algorithm)) {
                bad += !try_it(algorithm, args, ks[k] + 1, ++*seed);
                bad += !try_it(algorithm, args, ks[k] - 1, ++*seed);
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

        if (!fits(algorithm, P))
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

            if (!fits(algorithm, P) ||
                (P == 64 && algorithm->op == NF_COLL_ALLTOALL))
                continue;
            CU_ASSERT(try_it(algorithm, args, 2, ++seed));
            args.root = P - 2;
            CU_ASSERT(try_it(algorithm, args, of_blocks(algorithm->op) ? 1 : P,
                             ++seed));
        }
}

/* Pieces that are lent to the mesh, copied by nobody. */
static void large_vectors_are_right(void)
{
    uint64_t seed = 77;

    for (size_t i = 0; nf_coll_table[i] != NULL; i++) {
        const struct nf_coll_algorithm *algorithm = nf_coll_table[i];
        uint64_t elements = of_blocks(algorithm->op) ? 5003 : 25013;
        struct nf_coll_args args = { .ranks = 4, .root = 1, .segments = 7 };

        if (fits(algorithm, 4)) {
            CU_ASSERT(try_it(algorithm, args, elements, ++seed));
            CU_ASSERT(try_it(algorithm, args, elements, ++seed));
        }
        args.ranks = 5;
        if (fits(algorithm, 5))
            CU_ASSERT(try_it(algorithm, args, elements, ++seed));
        args = (struct nf_coll_args){ .ranks = 3, .root = 2, .segments = 16 };
        if (fits(algorithm, 3) && !of_blocks(algorithm->op))
            CU_ASSERT(try_it(algorithm, args, 100003, ++seed));
        args = (struct nf_coll_args){ .ranks = 16, .root = 15, .segments = 12 };
        if (fits(algorithm, 16))
            CU_ASSERT(try_it(algorithm, args, 1009, ++seed));
    }
}

/* Were the first message of a call lost, or a later one of another. */
static void a_brief_head_of_another_call_is_refused(void)
{
    const struct nf_coll_args args = { .ranks = 2, .segments = 3 };
    struct run *run = new_run(nf_coll_find("bcast.pipeline.fd"), args, 3, 9);
    struct nf_head head = { .op = NF_COLL_BCAST, .brief = true, .segment = 1 };
    struct nf_error err = { .status = NF_OK };

    CU_ASSERT_FATAL(start(run));
    head.digest = nf_head_digest(&head) + 1;
    CU_ASSERT_EQUAL(nf_exec_take(&run->execs[1], 0, &head, NULL, &err),
                    NF_ERR_MISMATCH);
    CU_ASSERT_STRING_EQUAL(
        err.text, "member 0 made a different call: not the same arguments");
    end_run(run);
    head.digest--;
    head.root = 1;
    CU_ASSERT_NOT_EQUAL(head.digest, nf_head_digest(&head));
    head.root = 0;
    head.flags = 1;
    CU_ASSERT_NOT_EQUAL(head.digest, nf_head_digest(&head));
}

/* What @p rank sends before it has to wait, at first or when all that the
 * others send before they wait has come. */
static uint64_t sends_ahead(const char *name, uint32_t ranks, uint32_t rank,
                            bool heard)
{
    const struct nf_coll_args args = { .ranks = ranks, .segments = 1 };
    struct run *run = new_run(nf_coll_find(name), args, 3, 9);
    uint64_t sent;

    CU_ASSERT_FATAL(start(run));
    for (uint32_t r = 0; heard && r < ranks; r++)
        CU_ASSERT(r == rank || nf_exec_run(&run->execs[r]) == NF_WAIT);
    run->world.now_us += 100000;
    for (uint32_t n = 0; n < ranks * ranks; n++)
        CU_ASSERT(take_all(run, rank));
    sent = run->world.sent;
    CU_ASSERT(nf_exec_run(&run->execs[rank]) == NF_WAIT);
    sent = run->world.sent - sent;
    end_run(run);
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
        { "blocks that go straight home go round by round",
          straight_blocks_go_round_by_round },
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
