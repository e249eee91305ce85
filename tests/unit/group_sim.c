#include "config.h"
#include "tests/unit/group_sim.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"

/* ------------------------------------------------------------------- groups */

bool sim_open(struct group_sim *sim, uint32_t ranks, uint64_t seed,
              const struct nf_group_options *options)
{
    const struct nf_group_clock clock = { fake_now_us, &sim->world };
    bool ok = true;

    memset(sim, 0, sizeof(*sim));
    sim->ranks = ranks;
    fake_world_init(&sim->world, ranks, seed);
    for (uint32_t r = 0; r < ranks; r++) {
        struct nf_mesh *mesh = fake_mesh_open(&sim->world, r);
        struct nf_error err;

        if (nf_group_create(mesh, 1, &clock, options, &sim->groups[r], &err) !=
            NF_OK) {
            printf("%s\n", err.text);
            nf_mesh_close(mesh);
            ok = false;
        } else {
            ok = ok && round_define(sim->groups[r]);
        }
    }
    return ok;
}

void sim_close(struct group_sim *sim)
{
    for (uint32_t r = 0; r < sim->ranks; r++) {
        nf_request_free(sim->requests[r]);
        nf_group_close(sim->groups[r]);
    }
    fake_world_fini(&sim->world);
}

bool sim_runs(const struct group_sim *sim, uint32_t rank)
{
    return !sim->world.dead[rank] && !sim->frozen[rank];
}

static void note_end(struct group_sim *sim, uint32_t rank,
                     enum nf_status status)
{
    sim->statuses[rank] = status;
    if (status != NF_WAIT)
        sim->ended_us[rank] = sim->world.now_us;
}

void sim_start(struct group_sim *sim, uint32_t rank, const struct nf_call *call)
{
    enum nf_status status;

    if (!sim_runs(sim, rank))
        return;
    sim->requests[rank] = NULL;
    status = start_somehow(sim->groups[rank], call, &sim->requests[rank]);
    note_end(sim, rank, status == NF_OK ? NF_WAIT : status);
}

static bool is_under_way(const struct group_sim *sim, uint32_t rank)
{
    return sim_runs(sim, rank) && sim->statuses[rank] == NF_WAIT &&
           sim->requests[rank] != NULL;
}

bool sim_advance(struct group_sim *sim)
{
    int64_t next = fake_next_us(&sim->world);

    for (uint32_t r = 0; r < sim->ranks; r++) {
        int64_t in = sim_runs(sim, r) && sim->groups[r] != NULL
                         ? nf_group_deadline_us(sim->groups[r])
                         : -1;

        if (in >= 0 && sim->world.now_us + in < next)
            next = sim->world.now_us + in;
    }
    if (next == INT64_MAX)
        return false;
    sim->world.now_us = next > sim->world.now_us ? next : sim->world.now_us + 1;
    return true;
}

bool sim_run(struct group_sim *sim)
{
    uint32_t idle = 0, busy;

    do {
        busy = 0;
        for (uint32_t r = 0; r < sim->ranks; r++) {
            if (!is_under_way(sim, r))
                continue;
            note_end(sim, r, nf_request_test(sim->requests[r]));
            if (sim->statuses[r] == NF_WAIT) {
                busy++;
            } else {
                nf_request_free(sim->requests[r]);
                sim->requests[r] = NULL;
                idle = 0;
            }
        }
        idle = sim_advance(sim) ? 0 : idle + 1;
    } while (busy > 0 && idle < 4);
    return busy == 0;
}

bool sim_shrink(struct group_sim *sim, enum nf_status *results)
{
    struct nf_shrink *shrinks[FAKE_MEMBERS_MAX] = { NULL };
    struct nf_group *made[FAKE_MEMBERS_MAX] = { NULL };
    struct nf_error err;
    uint32_t busy, passes = 0;

    for (uint32_t r = 0; r < sim->ranks; r++)
        results[r] = !sim_runs(sim, r)
                         ? NF_ERR_FAILED
                         : nf_shrink_start(sim->groups[r], &shrinks[r], &err);
    do {
        int64_t next = INT64_MAX;

        busy = 0;
        for (uint32_t r = 0; r < sim->ranks; r++) {
            int64_t then;

            if (shrinks[r] == NULL || !sim_runs(sim, r))
                continue;
            results[r] = nf_shrink_run(shrinks[r], &made[r], &err);
            if (results[r] != NF_WAIT) {
                nf_shrink_destroy(shrinks[r]);
                shrinks[r] = NULL;
                continue;
            }
            busy++;
            then = sim->world.now_us + nf_shrink_deadline_us(shrinks[r]);
            next = then < next ? then : next;
        }
        if (fake_next_us(&sim->world) < next)
            next = fake_next_us(&sim->world);
        if (next <= sim->world.now_us || next == INT64_MAX)
            next = sim->world.now_us + 1;
        sim->world.now_us = next;
    } while (busy > 0 && passes++ < 100000);
    for (uint32_t r = 0; r < sim->ranks; r++) {
        nf_shrink_destroy(shrinks[r]);
        if (sim_runs(sim, r)) {
            nf_group_close(sim->groups[r]);
            sim->groups[r] = made[r];
        } else { /* it ended in the very moment in which it succeeded */
            nf_group_close(made[r]);
        }
    }
    return busy == 0;
}

/* -------------------------------------------------------------------- rounds
 */

enum { PRIME = 65521 };

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
                               PRIME);
        inout[i] = z;
    }
}

bool round_define(struct nf_group *group)
{
    int type, op;

    return nf_group_define_type(group, 4, 4, &type) == NF_OK &&
           nf_group_define_operator(group, multiply, 0, NULL, &op) == NF_OK &&
           type == ROUND_MATRIX && op == ROUND_MULTIPLY;
}

static struct matrix element(uint64_t number, uint32_t rank, size_t i)
{
    struct nf_rng rng = { number * 1000003 + rank * 7919 + i };
    struct matrix m;

    for (int j = 0; j < 4; j++)
        m.a[j] = (uint32_t)nf_rng_below(&rng, PRIME);
    return m;
}

static bool is_matrix(const struct round *round)
{
    return round->call.op == ROUND_MULTIPLY;
}

/* first (+) ... (+) first + count - 1 */
static struct matrix fold(const struct round *round, uint64_t number,
                          uint32_t count, size_t i)
{
    struct matrix result = element(number, count - 1, i);

    for (uint32_t r = count - 1; r-- > 0;) {
        struct matrix lower = element(number, r, i);

        if (is_matrix(round))
            multiply(&lower, &result, 1, 0, NULL);
        else
            for (int j = 0; j < 4; j++)
                result.a[j] += lower.a[j];
    }
    return result;
}

static bool is_root(const struct round *round)
{
    return round->call.root == round->rank;
}

static bool varies(enum nf_call_kind kind, uint64_t number)
{
    return kind == NF_CALL_REDUCE_SCATTER ||
           ((kind == NF_CALL_GATHER || kind == NF_CALL_SCATTER ||
             kind == NF_CALL_ALLGATHER || kind == NF_CALL_ALLTOALL) &&
            number % 3 == 0);
}

/* All-to-all: elements from one rank to another.  The same both ways, so that
 * it can be done in place. */
static size_t pair_count(size_t count, bool differ, uint32_t a, uint32_t b)
{
    return differ ? (count + (a + b) * 3) % 11 : count;
}

/* Where the block of the other rank for this one begins in what that sends. */
static size_t pair_offset(const struct round *round, size_t count,
                          uint32_t other)
{
    bool differ = varies(round->call.kind, round->number);
    size_t offset = 0;

    for (uint32_t to = 0; to < round->rank; to++)
        offset += pair_count(count, differ, other, to);
    return offset;
}

/* Elements of the result, and which. */
static struct matrix result_of(const struct round *round, uint64_t number,
                               size_t i)
{
    uint32_t block = 0;

    switch (round->call.kind) {
    case NF_CALL_BCAST:
        return element(number, round->call.root, i);
    case NF_CALL_SCAN:
        return fold(round, number, round->rank + 1, i);
    case NF_CALL_EXSCAN:
        return fold(round, number, round->rank, i);
    case NF_CALL_REDUCE_SCATTER:
        return fold(round, number, round->ranks,
                    round->offsets[round->rank] + i);
    case NF_CALL_SCATTER:
        return element(number, round->call.root,
                       round->offsets[round->rank] + i);
    case NF_CALL_ALLGATHER:
    case NF_CALL_GATHER:
        while (i >= round->offsets[block] + round->counts[block])
            block++;
        return element(number, block, i - round->offsets[block]);
    case NF_CALL_ALLTOALL:
        while (i >= round->offsets[block] + round->counts[block])
            block++;
        return element(number, block,
                       pair_offset(round, round->call.count, block) + i -
                           round->offsets[block]);
    default:
        return fold(round, number, round->ranks, i);
    }
}

static bool has_result(const struct round *round)
{
    switch (round->call.kind) {
    case NF_CALL_REDUCE:
    case NF_CALL_GATHER:
        return is_root(round);
    case NF_CALL_EXSCAN:
        return round->rank > 0;
    case NF_CALL_BARRIER:
        return false;
    default:
        return true;
    }
}

/* Sizes of send and recv, in elements. */
static void sizes(const struct round *round, size_t total, size_t *send_p,
                  size_t *recv_p)
{
    size_t own = round->counts[round->rank];
    enum nf_call_kind kind = round->call.kind;

    *send_p = *recv_p = round->call.count;
    if (kind == NF_CALL_REDUCE_SCATTER || kind == NF_CALL_SCATTER) {
        *send_p = total;
        *recv_p = own;
    } else if (kind == NF_CALL_GATHER || kind == NF_CALL_ALLGATHER) {
        *send_p = own;
        *recv_p = total;
    }
    if (kind == NF_CALL_ALLTOALL)
        *send_p = *recv_p = total;
    if (kind == NF_CALL_BARRIER)
        *send_p = *recv_p = 0;
}

static bool may_be_in_place(const struct round *round)
{
    switch (round->call.kind) {
    case NF_CALL_REDUCE:
    case NF_CALL_GATHER:
    case NF_CALL_SCATTER:
        return is_root(round);
    case NF_CALL_REDUCE_SCATTER:
    case NF_CALL_ALLGATHER:
    case NF_CALL_ALLREDUCE:
    case NF_CALL_SCAN:
    case NF_CALL_EXSCAN:
    case NF_CALL_ALLTOALL:
        return true;
    default:
        return false;
    }
}

/* The same call on one buffer. */
static void go_in_place(struct round *round, size_t send)
{
    struct nf_call *call = &round->call;
    size_t own = round->counts[round->rank] * 16;
    uint8_t *recv = round->recv;

    call->send = NF_IN_PLACE;
    if (call->kind == NF_CALL_GATHER || call->kind == NF_CALL_ALLGATHER) {
        memcpy(recv + round->offsets[round->rank] * 16, round->send, own);
    } else if (call->kind == NF_CALL_SCATTER) {
        call->send = round->send;
        call->recv = NF_IN_PLACE;
        memset(round->want, 0xee, round->recv_bytes);
    } else if (call->kind == NF_CALL_REDUCE_SCATTER) {
        uint8_t *want = malloc(send * 16 + 16);

        memcpy(want, round->send, send * 16);
        memcpy(want, round->want, own);
        free(round->want);
        free(round->recv);
        round->want = want;
        round->recv_bytes = send * 16;
        call->recv = round->recv = malloc(send * 16 + 16);
        memcpy(round->recv, round->send, send * 16);
        memset(want + send * 16, 0xee, 16);
        memset((uint8_t *)round->recv + send * 16, 0xee, 16);
    } else {
        memcpy(recv, round->send, send * 16);
        if (!has_result(round))
            memcpy(round->want, round->send, send * 16);
    }
}

static void set_call(struct round *round, uint64_t number, size_t count)
{
    struct nf_call *call = &round->call;
    bool differ = varies(call->kind, number);
    size_t total = 0;

    for (uint32_t r = 0; r < round->ranks; r++) {
        round->counts[r] = differ ? (count + r * 3) % 11 : count;
        if (call->kind == NF_CALL_ALLTOALL)
            round->counts[r] = pair_count(count, differ, r, round->rank);
        round->offsets[r] = total;
        total += round->counts[r];
    }
    call->count = differ ? round->counts[round->rank] : count;
    if (call->kind == NF_CALL_ALLTOALL) {
        call->count = count; /* not used if they differ */
        call->varies = differ;
        call->counts = call->send_counts = round->counts;
        if (number % 2 == 0)
            call->offsets = round->offsets;
        if (number % 4 == 0)
            call->send_offsets = round->offsets;
    } else if (differ) {
        bool all = call->kind == NF_CALL_REDUCE_SCATTER ||
                   call->kind == NF_CALL_ALLGATHER;

        call->varies = !all;
        if (all || is_root(round))
            call->counts = round->counts;
        if (number % 2 == 0 && call->kind != NF_CALL_REDUCE_SCATTER)
            call->offsets = round->offsets;
    }
}

void round_make_kind(struct round *round, uint32_t rank, uint32_t ranks,
                     uint64_t number, enum nf_call_kind kind, size_t count)
{
    struct nf_call *call = &round->call;
    size_t send, recv;
    bool uneven = number % 2 == 0;

    memset(round, 0, sizeof(*round));
    round->rank = rank;
    round->ranks = ranks;
    round->number = number;
    call->kind = kind;
    call->root = (uint32_t)(number % ranks);
    call->op = uneven ? ROUND_MULTIPLY : NF_SUM;
    call->type = uneven ? ROUND_MATRIX : NF_ELEM_UINT32;
    set_call(round, number, count);
    sizes(round, round->offsets[ranks - 1] + round->counts[ranks - 1], &send,
          &recv);
    round->recv_bytes = recv * 16;
    round->send_bytes = send * 16;
    round->send = malloc(send * 16 + 1);
    round->recv = malloc(recv * 16 + 16);
    round->want = malloc(recv * 16 + 16);
    memset(round->recv, 0xee, recv * 16 + 16);
    memset(round->want, 0xee, recv * 16 + 16);
    for (size_t i = 0; i < send; i++)
        ((struct matrix *)round->send)[i] = element(number, rank, i);
    for (size_t i = 0; i < recv && has_result(round); i++)
        ((struct matrix *)round->want)[i] = result_of(round, number, i);
    call->send = round->send;
    call->recv = round->recv;
    if (kind == NF_CALL_BCAST && is_root(round))
        memcpy(round->recv, round->send, send * 16);
    if (may_be_in_place(round) && number % 5 < 2)
        go_in_place(round, send);
    if (!uneven) { /* four sums for one product */
        call->count *= 4;
        for (uint32_t r = 0; r < ranks; r++) {
            round->counts[r] *= 4;
            round->offsets[r] *= 4;
        }
    }
}

void round_make(struct round *round, uint32_t rank, uint32_t ranks,
                uint64_t number)
{
    struct nf_rng rng = { number };
    enum nf_call_kind kind;
    size_t count;

    kind = (enum nf_call_kind)nf_rng_below(&rng, NF_CALL_BARRIER + 1);
    count = (size_t)nf_rng_below(&rng, nf_rng_below(&rng, 4) == 0 ? 900 : 20);
    round_make_kind(round, rank, ranks, number, kind, count);
}

bool round_is_right(const struct round *round)
{
    return memcmp(round->recv, round->want, round->recv_bytes + 16) == 0;
}

bool round_keeps_input(const struct round *round)
{
    const struct matrix *send = round->send;

    for (size_t i = 0; i < round->send_bytes / 16; i++) {
        struct matrix was = element(round->number, round->rank, i);

        if (memcmp(&was, &send[i], sizeof(was)) != 0)
            return false;
    }
    if (round->call.kind == NF_CALL_BCAST && is_root(round))
        return round_is_right(round);
    return memcmp((const uint8_t *)round->recv + round->recv_bytes,
                  (const uint8_t *)round->want + round->recv_bytes, 16) == 0;
}

void round_fini(struct round *round)
{
    free(round->send);
    free(round->recv);
    free(round->want);
}

bool write_table(const char *path)
{
    struct nf_coll_rules rules;
    struct nf_coll_rule rule = {
        .op = NF_COLL_BCAST,
        .operators = NF_CLASS_ANY,
        .ranks = 3,
        .max_bytes = UINT64_MAX,
        .algorithm = nf_coll_find("bcast.flat"),
        .k_rule = NF_K_FIXED,
        .value = 1,
    };
    char *text = NULL;
    size_t bytes = 0;
    FILE *file;
    bool ok;

    nf_coll_rules_init(&rules);
    rules.model.npieces = 1;
    rules.model.pieces[0].start_us = 50;
    rules.model.pieces[0].byte_us = 0.01;
    rules.model.delta = 1;
    snprintf(rules.model.date, sizeof(rules.model.date), "%s",
             "2026-11-21T23:50:30Z");
    rules.model.route = NF_MODEL_ROUTE_DIRECT;
    ok = nf_coll_rules_add(&rules, &rule) == NF_OK &&
         nf_coll_rules_write(&rules, &text, &bytes, NULL) == NF_OK;
    file = ok ? fopen(path, "wb") : NULL;
    ok = file != NULL && fwrite(text, 1, bytes, file) == bytes;
    if (file != NULL)
        ok = fclose(file) == 0 && ok;
    nf_free(text);
    nf_coll_rules_fini(&rules);
    return ok;
}

enum nf_status start_somehow(struct nf_group *group, const struct nf_call *call,
                             struct nf_request **request_p)
{
    char *forced = group->forced[call->kind], saved = forced[0];
    enum nf_status status = nf_group_start(group, call, request_p);

    if (status != NF_ERR_INVAL ||
        strstr(nf_group_error(group)->text, "cannot serve") == NULL)
        return status;
    forced[0] = '\0';
    status = nf_group_start(group, call, request_p);
    forced[0] = saved;
    return status;
}

void draw_algorithms(struct nf_rng *rng, uint32_t ranks, char *text,
                     size_t bytes)
{
    size_t used = 0;

    text[0] = '\0';
    for (int op = 0; op < NF_COLL_OPS; op++) {
        const struct nf_coll_algorithm *drawn = NULL;
        uint64_t seen = 0;

        for (size_t i = 0; nf_coll_table[i] != NULL; i++)
            if ((int)nf_coll_table[i]->op == op &&
                nf_coll_fits(
                    nf_coll_table[i],
                    &(struct nf_coll_args){ .ranks = ranks, .segments = 1 },
                    NULL) == NF_OK &&
                nf_rng_below(rng, ++seen) == 0)
                drawn = nf_coll_table[i];
        if (drawn == NULL)
            continue;
        used += (size_t)snprintf(text + used, bytes - used, "%s%s",
                                 used > 0 ? "," : "", drawn->name);
        if (drawn->items == NF_ITEMS_SEGMENTS)
            used += (size_t)snprintf(text + used, bytes - used, ":k=%u",
                                     1 + (unsigned)nf_rng_below(rng, 9));
    }
}
