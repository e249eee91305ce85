/* One run of an algorithm, with results compared against the definition of its
 * operation. */
#include "config.h"
#include "tests/unit/exec_run.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "tests/unit/exec_memory.h"

enum { MATRIX_PRIME = 65521 };

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

bool run_of_blocks(enum nf_coll_op op)
{
    return op == NF_COLL_REDUCE_SCATTER || op == NF_COLL_ALLGATHER ||
           op == NF_COLL_GATHER || op == NF_COLL_SCATTER ||
           op == NF_COLL_ALLTOALL;
}

bool run_fits(const struct nf_coll_algorithm *algorithm, uint32_t ranks)
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

/* Whose large blocks are not to come yet gets no credit: as in early.c. */
static void hold_back(struct run *run, uint32_t r)
{
    if (!run->holds_back || run->algorithm->window == 0)
        return;
    for (uint32_t m = 0; m < run->args.ranks; m++)
        if (m != r)
            nf_mesh_pause(run->meshes[r], m,
                          nf_exec_holds_back(&run->execs[r], m));
}

bool run_start(struct run *run)
{
    const struct nf_head head = { .op = (uint8_t)run->algorithm->op };
    bool ok = true;

    fake_world_init(&run->world, run->args.ranks, run->seed);
    run->codes.ntypes = run->codes.noperators = 1;
    run->codes.types[0].units = 4;
    run->codes.types[0].unit_bytes = 4;
    run->codes.operators[0].function = multiply;
    run->codes.operators[0].commutative = false;
    run->total = run->elements *
                 (run_of_blocks(run->algorithm->op) ? run->args.ranks : 1);
    for (uint32_t r = 0; r < run->args.ranks; r++) {
        struct nf_exec_call call = {
            .codes = &run->codes,
            .type = NF_ELEM_USER,
            .op = combines(run->algorithm->op) ? NF_OPERATOR_USER : -1,
            .layout = { .elements = run->elements,
                        .blocks = run_of_blocks(run->algorithm->op),
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
        if (ok)
            hold_back(run, r);
    }
    return ok;
}

static void note_kept(struct run *run, uint32_t r)
{
    uint64_t bytes = exec_kept_bytes(&run->execs[r]);

    if (bytes > run->kept_bytes)
        run->kept_bytes = bytes;
}

/* Every second payload that may be put home at once is, as a mesh does that reads
 * it from its sender's memory. */
static struct nf_blob *land(struct run *run, uint32_t r,
                            const struct nf_mesh_event *event,
                            const struct nf_head *head)
{
    struct nf_blob *payload = event->message.payload, *landed;
    uint8_t *to = payload == NULL
                      ? NULL
                      : nf_exec_landing(&run->execs[r], event->member, head,
                                        payload->bytes);

    if (to == NULL || (run->seed + run->may_land++) % 2 == 0)
        return payload;
    nf_blob_copy_out(payload, to);
    landed = nf_blob_wrap(to, payload->bytes, payload->type, NULL);
    nf_blob_unref(payload);
    run->landed++;
    return landed;
}

bool run_take_all(struct run *run, uint32_t r)
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
                         land(run, r, &event, &head), &err) != NF_OK) {
            printf("%s\n", err.text);
            return false;
        }
        if (run->at_once) {
            note_kept(run, r); /* some goes home at once */
            if (nf_exec_run(&run->execs[r]) < 0)
                return false;
            hold_back(run, r);
        }
        if (nf_rng_below(&run->world.rng, 3) == 0)
            break; /* slow to read */
    }
    return true;
}

uint64_t run_says_kept(const struct run *run)
{
    uint32_t items = nf_coll_item_count(run->algorithm, &run->args);
    uint64_t bytes = run->elements * 16;

    if (run->algorithm->op == NF_COLL_ALLGATHER ||
        run->algorithm->op == NF_COLL_REDUCE_SCATTER)
        bytes = run->total * 16;
    else if (!run_of_blocks(run->algorithm->op) && items > 0)
        bytes = (run->elements + items - 1) / items * items * 16;
    return nf_coll_kept_bytes(run->algorithm, run->args.ranks, bytes,
                              run->args.segments);
}

/* Has no member had more? */
static bool keeps_what_it_says(const struct run *run)
{
    uint64_t most = run_says_kept(run);

    if (run->kept_bytes > most)
        printf("%s P %u k %u: keeps %llu of %llu\n", run->algorithm->name,
               run->args.ranks, run->args.segments,
               (unsigned long long)run->kept_bytes, (unsigned long long)most);
    return run->kept_bytes <= most;
}

bool run_finish(struct run *run)
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
            if (!run_take_all(run, r))
                return false;
            status = nf_exec_run(&run->execs[r]);
            note_kept(run, r);
            hold_back(run, r);
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

struct run *run_create(const struct nf_coll_algorithm *algorithm,
                       struct nf_coll_args args, uint64_t elements,
                       uint64_t seed)
{
    struct run *run = calloc(1, sizeof(*run));

    run->algorithm = algorithm;
    run->args = args;
    run->elements = elements;
    run->seed = seed;
    run->in_place = seed % 2 == 1;
    run->holds_back = true;
    return run;
}

void run_destroy(struct run *run)
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

bool run_try(const struct nf_coll_algorithm *algorithm,
             struct nf_coll_args args, uint64_t elements, uint64_t seed)
{
    struct run *run = run_create(algorithm, args, elements, seed);
    bool started, finished = false, right = false;

    run->at_once = seed / 2 % 2 == 0;
    started = run_start(run);
    if (started)
        finished = run_finish(run);
    if (finished)
        right = is_right(run) && keeps_what_it_says(run);
    run_destroy(run);
    if (!right)
        printf("%s P %u root %u k %u N %llu seed %llu: %s\n", algorithm->name,
               args.ranks, args.root, args.segments,
               (unsigned long long)elements, (unsigned long long)seed,
               !started    ? "does not start"
               : !finished ? "does not end"
                           : "wrong result");
    return right;
}
