/* Nobody is taken for dead because something takes long: large messages, slow
 * operators, members that compute between calls that they come to in time, and
 * members that have rightly gone. */
#include "config.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "tests/unit/group_sim.h"
#include "tests/unit/nf_unit.h"

enum { TIMEOUT_US = 1000000, MS = 1000 };

/* ------------------------------------------------------------ long transfers
 */

/* Bytes take 40 us each: a vector of COUNT elements takes 2.6 s. */
enum { RANKS = 5, COUNT = 4096, BYTE_NS = 40000 };

static bool lasts_long(const char *algorithm, enum nf_call_kind kind)
{
    const struct nf_group_options options = { .timeout_us = TIMEOUT_US,
                                              .algorithms = algorithm };
    struct group_sim *sim = calloc(1, sizeof(*sim));
    struct round *rounds = calloc(RANKS, sizeof(*rounds));
    bool good = sim_open(sim, RANKS, 3, &options);
    int64_t begun_us = sim->world.now_us;

    sim->world.byte_ns = BYTE_NS;
    for (uint32_t r = 0; r < RANKS; r++) {
        round_make_kind(&rounds[r], r, RANKS, 7, kind, COUNT);
        sim_start(sim, r, &rounds[r].call);
    }
    good = sim_run(sim) && good;
    for (uint32_t r = 0; r < RANKS; r++) {
        if (sim->statuses[r] != NF_OK || !round_is_right(&rounds[r])) {
            printf("%s: rank %u: %s: %s\n", algorithm, r,
                   nf_strerror(sim->statuses[r]),
                   nf_group_error(sim->groups[r])->text);
            good = false;
        }
        round_fini(&rounds[r]);
    }
    if (kind != NF_CALL_BARRIER && kind != NF_CALL_REDUCE_SCATTER)
        good = good && sim->world.now_us - begun_us > 2 * TIMEOUT_US;
    sim_close(sim);
    free(rounds);
    free(sim);
    return good;
}

static void a_transfer_may_last_longer_than_the_time_out(void)
{
    char forced[80];

    for (size_t i = 0; nf_coll_table[i] != NULL; i++) {
        const struct nf_coll_algorithm *a = nf_coll_table[i];
        bool segments = a->items == NF_ITEMS_SEGMENTS;

        if (nf_coll_fits(
                a, &(struct nf_coll_args){ .ranks = RANKS, .segments = 1 },
                NULL) != NF_OK)
            continue;
        for (int k = 1; k <= (segments ? 16 : 1); k += 15) {
            if (segments)
                snprintf(forced, sizeof(forced), "%s:k=%d", a->name, k);
            else
                snprintf(forced, sizeof(forced), "%s", a->name);
            CU_ASSERT(lasts_long(forced, (enum nf_call_kind)a->op));
        }
    }
}

/* ------------------------------------------------------------ slow operators
 */

enum { PIECES = 150, PIECE = 1024, PIECE_MS = 10 };

static void add_slowly(const void *in_, void *inout_, size_t count, int type,
                       void *user)
{
    const struct timespec some = { .tv_nsec = PIECE_MS * 1000000L };
    const uint64_t *in = in_;
    uint64_t *inout = inout_;

    (void)type;
    (void)user;
    nanosleep(&some, NULL);
    for (size_t i = 0; i < count; i++)
        inout[i] += in[i];
}

static void *reduce_slowly(void *group_)
{
    struct nf_group *group = group_;
    uint64_t *send = calloc((size_t)PIECES * PIECE, 2 * sizeof(*send));
    uint64_t *recv = send + (size_t)PIECES * PIECE;
    bool good;
    int op;

    for (size_t i = 0; i < (size_t)PIECES * PIECE; i++)
        send[i] = i + nf_group_rank(group);
    good = nf_group_define_operator(group, add_slowly, 1, NULL, &op) == NF_OK &&
           nf_reduce(group, send, recv, (size_t)PIECES * PIECE, NF_ELEM_UINT64,
                     op, 0) == NF_OK;
    for (size_t i = 0; i < (size_t)PIECES * PIECE && good; i++)
        good = nf_group_rank(group) != 0 || recv[i] == 2 * i + 1;
    if (!good)
        printf("%s\n", nf_group_error(group)->text);
    nf_group_close(group);
    free(send);
    return good ? group : NULL;
}

/* Three time-outs of threads, in which each piece is taken in time. */
static void a_slow_operator_is_no_failure(void)
{
    const struct nf_group_options options = { .timeout_us =
                                                  PIECES * PIECE_MS * MS / 3,
                                              .algorithms =
                                                  "reduce.chain.fd:k=150" };
    struct nf_group *groups[2];
    pthread_t threads[2];
    struct nf_error err;

    CU_ASSERT_EQUAL_FATAL(nf_group_open_threads(2, &options, groups, &err),
                          NF_OK);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, reduce_slowly, groups[i]);
    for (int i = 0; i < 2; i++) {
        void *good;

        pthread_join(threads[i], &good);
        CU_ASSERT_PTR_NOT_NULL(good);
    }
}

/* Each takes SLOW_US of the fake clock. */
enum { MEMBERS = 6, SLOW_US = 2000 };

static unsigned combined;

static void add_in_fake_time(const void *in, void *inout, size_t count,
                             int type, void *world)
{
    (void)type;
    combined++;
    ((struct fake_world *)world)->now_us += SLOW_US;
    for (size_t i = 0; i < count; i++)
        ((int64_t *)inout)[i] += ((const int64_t *)in)[i];
}

/* All that rank 0 combines has come. */
static void one_look_is_not_longer_than_one_slow_combining(void)
{
    const struct nf_group_options options = { .timeout_us = TIMEOUT_US,
                                              .algorithms = "reduce.linear" };
    int64_t values[MEMBERS], sum = 0;
    struct group_sim sim;
    int op = 0;

    CU_ASSERT_FATAL(sim_open(&sim, MEMBERS, 1, &options));
    for (uint32_t r = 0; r < MEMBERS; r++) {
        struct nf_call call = { .kind = NF_CALL_REDUCE,
                                .send = &values[r],
                                .recv = &sum,
                                .count = 1,
                                .type = NF_ELEM_INT64 };

        values[r] = 1 << r;
        CU_ASSERT_EQUAL(nf_group_define_operator(sim.groups[r],
                                                 add_in_fake_time, 1,
                                                 &sim.world, &op),
                        NF_OK);
        call.op = op;
        sim_start(&sim, r, &call);
        sim.world.now_us += 100 * MS;
    }
    combined = 0;
    for (unsigned look = 1; look < MEMBERS; look++) {
        sim.statuses[0] = nf_request_test(sim.requests[0]);
        CU_ASSERT_EQUAL(combined, look);
        CU_ASSERT(sim.statuses[0] == NF_OK ||
                  nf_group_deadline_us(sim.groups[0]) == 0);
    }
    CU_ASSERT(sim_run(&sim));
    CU_ASSERT_EQUAL(sim.statuses[0], NF_OK);
    CU_ASSERT_EQUAL(sum, (1 << MEMBERS) - 1);
    sim_close(&sim);
}

/* ------------------------------------------------------------ slow consumers
 */

struct stream {
    struct group_sim sim;
    uint8_t *buffer;
    size_t bytes;
    int64_t think_us; /* the last rank's, between two calls */
    int64_t awake_us;
    unsigned calls, done[3];
};

/* @return false: its call failed */
static bool step(struct stream *s, uint32_t rank)
{
    const struct nf_call call = { .kind = NF_CALL_BCAST,
                                  .recv = s->buffer,
                                  .count = s->bytes,
                                  .type = NF_ELEM_BYTE };
    struct group_sim *sim = &s->sim;
    bool slow = rank == sim->ranks - 1;

    if (s->done[rank] == s->calls || (slow && sim->world.now_us < s->awake_us))
        return true;
    if (sim->requests[rank] == NULL)
        sim_start(sim, rank, &call);
    if (!sim_test(sim, rank))
        return true;
    s->done[rank]++;
    if (slow)
        s->awake_us = sim->world.now_us + s->think_us;
    return sim->statuses[rank] == NF_OK;
}

/* Rank 0 broadcasts; the last rank thinks after each call. */
static bool streams(uint32_t ranks, const char *algorithm, size_t bytes,
                    int64_t think_us, unsigned calls)
{
    const struct nf_group_options options = { .timeout_us = TIMEOUT_US,
                                              .algorithms = algorithm };
    struct stream *s = calloc(1, sizeof(*s));
    bool good = sim_open(&s->sim, ranks, 1, &options);

    s->buffer = calloc(1, bytes);
    s->bytes = bytes;
    s->think_us = think_us;
    s->calls = calls;
    while (good && s->done[ranks - 1] < calls) {
        for (uint32_t r = 0; r < ranks && good; r++) {
            good = step(s, r);
            if (!good)
                printf("rank %u after %u calls: %s\n", r, s->done[r],
                       nf_group_error(s->sim.groups[r])->text);
        }
        s->sim.world.now_us += MS;
    }
    sim_close(&s->sim);
    free(s->buffer);
    free(s);
    return good;
}

static void who_comes_to_each_call_in_time_is_not_blamed(void)
{
    CU_ASSERT(streams(2, "bcast.flat", 4096, 20 * MS, 800));
    /* half of what is kept lasts for longer than the time-out, and so does an
     * answer; the second one is asked by one who waits for the first */
    CU_ASSERT(streams(2, "bcast.flat", 65536, 900 * MS, 60));
    CU_ASSERT(streams(3, "bcast.pipeline.fd:k=1", 65536, 900 * MS, 60));
    CU_ASSERT(streams(3, "bcast.pipeline.fd:k=1", 4096, 20 * MS, 800));
}

/* Members that think for a time that is drawn before each call, at most
 * think_us, and rank 0 never. */
struct thinkers {
    struct group_sim sim;
    struct nf_rng rng;
    const char *algorithms;
    const enum nf_call_kind *kinds;
    unsigned calls, done[RANKS], ended;
    int64_t think_us, awake_us[RANKS];
};

static void think(struct thinkers *t, uint32_t rank)
{
    int64_t most_us = t->think_us * rank / (t->sim.ranks - 1);

    if (nf_rng_below(&t->rng, 3) == 0)
        most_us = (int64_t)nf_rng_below(&t->rng, (uint64_t)most_us + 1);
    t->awake_us[rank] = t->sim.world.now_us + most_us;
}

/* @return false: its call failed */
static bool go_on(struct thinkers *t, uint32_t rank)
{
    static uint64_t word, sum; /* whatever */
    struct group_sim *sim = &t->sim;
    struct nf_call call = {
        .send = &word, .recv = &sum, .count = 1, .type = NF_ELEM_UINT64
    };

    if (t->done[rank] == t->calls || sim->world.now_us < t->awake_us[rank])
        return true;
    call.kind = t->kinds[t->done[rank]];
    if (sim->requests[rank] == NULL)
        sim_start(sim, rank, &call);
    if (sim->requests[rank] != NULL)
        sim->statuses[rank] = nf_request_test(sim->requests[rank]);
    if (sim->statuses[rank] == NF_WAIT)
        return true;
    nf_request_free(sim->requests[rank]);
    sim->requests[rank] = NULL;
    t->ended += ++t->done[rank] == t->calls;
    think(t, rank);
    return sim->statuses[rank] == NF_OK;
}

static bool are_waited_for(uint32_t ranks, uint64_t seed,
                           const char *algorithms,
                           const enum nf_call_kind *kinds, unsigned calls,
                           int64_t think_us)
{
    const struct nf_group_options options = { .timeout_us = TIMEOUT_US,
                                              .algorithms = algorithms };
    struct thinkers *t = calloc(1, sizeof(*t));
    bool good = sim_open(&t->sim, ranks, seed, &options);

    t->rng.state = seed;
    t->kinds = kinds;
    t->calls = calls;
    t->think_us = think_us;
    for (uint32_t r = 0; r < ranks; r++)
        think(t, r);
    for (; good && t->ended < ranks; t->sim.world.now_us += MS)
        for (uint32_t r = 0; r < ranks && good; r++) {
            good = go_on(t, r);
            if (!good)
                printf("%s, %u members, %d ms: rank %u after %u calls: %s\n",
                       algorithms, ranks, (int)(think_us / MS), r, t->done[r],
                       nf_group_error(t->sim.groups[r])->text);
        }
    sim_close(&t->sim);
    free(t);
    return good;
}

/* Rank 0 is done with the broadcasts at once, and waits in what follows. */
static void who_has_calls_to_make_before_is_not_blamed(void)
{
    static const enum nf_call_kind reduce[] = { NF_CALL_BCAST, NF_CALL_BCAST,
                                                NF_CALL_BCAST, NF_CALL_REDUCE };
    static const enum nf_call_kind barrier[] = { NF_CALL_BCAST,  NF_CALL_BCAST,
                                                 NF_CALL_BCAST,  NF_CALL_BCAST,
                                                 NF_CALL_BCAST,  NF_CALL_BCAST,
                                                 NF_CALL_BARRIER };
    static const int thinks_ms[] = { 130, 260, 420, 500, 660, 900, 990 };

    for (size_t i = 0; i < sizeof(thinks_ms) / sizeof(*thinks_ms); i++)
        for (uint32_t ranks = 2; ranks <= RANKS; ranks++) {
            int64_t think_us = thinks_ms[i] * MS;

            CU_ASSERT(are_waited_for(ranks, i, "bcast.flat,reduce.linear",
                                     reduce, 4, think_us));
            CU_ASSERT(are_waited_for(
                ranks, i, "bcast.pipeline.fd:k=1,reduce.chain.fd:k=1", reduce,
                4, think_us));
            CU_ASSERT(are_waited_for(ranks, i,
                                     "bcast.binomial,barrier.dissemination",
                                     barrier, 7, think_us));
        }
}

static void nor_is_who_has_any_calls_to_make(void)
{
    static const enum nf_call_kind all[] = { NF_CALL_BCAST, NF_CALL_REDUCE,
                                             NF_CALL_SCAN, NF_CALL_ALLREDUCE,
                                             NF_CALL_BARRIER };
    enum nf_call_kind kinds[12];

    for (uint64_t seed = 0; seed < 150; seed++) {
        struct nf_rng rng = { seed };

        for (size_t i = 0; i < 12; i++)
            kinds[i] = all[nf_rng_below(&rng, i % 4 == 3 ? 5 : 2)];
        CU_ASSERT(are_waited_for((uint32_t)(2 + seed % 4), seed, "", kinds, 12,
                                 990 * MS));
    }
}

/* Rank 1 comes to the first call when it is asked for, and answers when it has
 * made it; that says nothing of the next call. */
static void what_was_asked_in_one_call_ends_with_it(void)
{
    const struct nf_group_options options = { .timeout_us = TIMEOUT_US,
                                              .algorithms = "bcast.flat" };
    uint64_t word = 1;
    const struct nf_call call = {
        .kind = NF_CALL_BCAST,
        .recv = &word,
        .count = 1,
        .type = NF_ELEM_UINT64,
        .root = 1,
    };
    struct group_sim sim;

    CU_ASSERT_FATAL(sim_open(&sim, 2, 1, &options));
    sim.world.most_delay_us = 0;
    for (int i = 0; i < 2; i++) {
        sim_start(&sim, 0, &call);
        if (i == 0)
            CU_ASSERT_EQUAL(nf_request_test(sim.requests[0]), NF_WAIT);
        sim.world.now_us += i == 0 ? TIMEOUT_US : TIMEOUT_US / 2;
        CU_ASSERT_EQUAL(nf_request_test(sim.requests[0]), NF_WAIT);
        CU_ASSERT_EQUAL(sim.groups[0]->chase.active, i == 0);
        sim_start(&sim, 1, &call);
        CU_ASSERT_EQUAL(nf_request_test(sim.requests[1]), NF_OK);
        sim.world.now_us++;
        CU_ASSERT_EQUAL(nf_group_progress(sim.groups[1]), NF_OK);
        CU_ASSERT_EQUAL(nf_request_test(sim.requests[0]), NF_OK);
        for (uint32_t r = 0; r < 2; r++) {
            nf_request_free(sim.requests[r]);
            sim.requests[r] = NULL;
        }
    }
    sim_close(&sim);
}

/* It stops reading, and says nothing any more. */
static void check_stopped(int64_t timeout_us)
{
    const struct nf_group_options options = { .timeout_us = timeout_us,
                                              .algorithms = "bcast.flat" };
    struct stream *s = calloc(1, sizeof(*s));
    uint8_t buffer[4096] = { 0 };
    int64_t stuck_us;

    CU_ASSERT_FATAL(sim_open(&s->sim, 2, 1, &options));
    s->buffer = buffer;
    s->bytes = sizeof(buffer);
    s->calls = 1000;
    s->think_us = 20 * MS;
    while (s->done[1] < 20) {
        CU_ASSERT(step(s, 0));
        CU_ASSERT(step(s, 1));
        s->sim.world.now_us += MS;
    }
    /* it takes what comes until it keeps enough */
    for (unsigned before = 0, ms = 0; before != s->done[0] || ms % 50 != 0;
         ms++) {
        if (ms % 50 == 0)
            before = s->done[0];
        CU_ASSERT(step(s, 0));
        CU_ASSERT_EQUAL(nf_group_progress(s->sim.groups[1]), NF_OK);
        s->sim.world.now_us += MS;
    }
    CU_ASSERT_EQUAL(s->sim.groups[1]->npaused, 1);
    stuck_us = s->sim.world.now_us;
    while (step(s, 0) && s->sim.world.now_us < stuck_us + 10 * timeout_us)
        s->sim.world.now_us += MS;
    CU_ASSERT_EQUAL(s->sim.statuses[0], NF_ERR_TIMEDOUT);
    CU_ASSERT(nf_group_is_lost(s->sim.groups[0], 1));
    CU_ASSERT(s->sim.world.now_us - stuck_us < timeout_us + 1000 * MS);
    sim_close(&s->sim);
    free(s);
}

static void who_stops_reading_is_blamed(void)
{
    check_stopped(TIMEOUT_US);
    check_stopped(20 * TIMEOUT_US);
}

/* However far away it is of the others. */
static void who_does_not_come_is_blamed(void)
{
    static const char *const algorithms[] = { "allreduce.ring",
                                              "allreduce.rec_doubling",
                                              "allreduce.reduce_bcast" };
    const int64_t timeout_us = 20 * TIMEOUT_US;
    struct round round;

    round_make_kind(&round, 0, RANKS, 7, NF_CALL_ALLREDUCE, 40);
    for (uint32_t i = 0; i < 3 * RANKS; i++) {
        const struct nf_group_options options = { .timeout_us = timeout_us,
                                                  .algorithms =
                                                      algorithms[i / RANKS] };
        struct group_sim sim;
        int64_t begun_us;

        CU_ASSERT_FATAL(sim_open(&sim, RANKS, i, &options));
        begun_us = sim.world.now_us;
        sim.frozen[i % RANKS] = true;
        for (uint32_t r = 0; r < RANKS; r++)
            sim_start(&sim, r, &round.call);
        CU_ASSERT(sim_run(&sim));
        for (uint32_t r = 0; r < RANKS; r++) {
            if (r == i % RANKS)
                continue;
            CU_ASSERT(sim.statuses[r] == NF_ERR_TIMEDOUT);
            CU_ASSERT(nf_group_is_lost(sim.groups[r], i % RANKS));
            CU_ASSERT(sim.ended_us[r] - begun_us < timeout_us + 1000 * MS);
        }
        sim_close(&sim);
    }
    round_fini(&round);
}

/* ------------------------------------------------------------ who has gone */

static void run_for(struct group_sim *sim, int64_t us)
{
    for (int64_t until_us = sim->world.now_us + us;
         sim->world.now_us < until_us; sim->world.now_us += MS)
        for (uint32_t r = 0; r < sim->ranks; r++) {
            if (sim->requests[r] == NULL || sim->statuses[r] != NF_WAIT ||
                !sim_runs(sim, r))
                continue;
            sim->statuses[r] = nf_request_test(sim->requests[r]);
        }
}

/* Calls of which rank `first` needs nothing: it ends, then the others come. */
static void check_gone(const char *algorithm, const struct nf_call *calls,
                       uint32_t first)
{
    const struct nf_group_options options = { .timeout_us = TIMEOUT_US,
                                              .algorithms = algorithm };
    struct group_sim sim;

    CU_ASSERT_FATAL(sim_open(&sim, 3, 1, &options));
    sim_start(&sim, first, &calls[first]);
    run_for(&sim, 100 * MS);
    CU_ASSERT_EQUAL(sim.statuses[first], NF_OK);
    fake_kill(&sim.world, first); /* it closes its group, and ends */
    for (uint32_t r = 0; r < 3; r++)
        if (r != first) {
            run_for(&sim, 400 * MS);
            sim_start(&sim, r, &calls[r]);
        }
    run_for(&sim, 500 * MS);
    for (uint32_t r = 0; r < 3; r++)
        CU_ASSERT_EQUAL(sim.statuses[r], NF_OK);
    sim_close(&sim);
}

static void who_is_to_get_nothing_may_have_gone(void)
{
    const size_t outer[3] = { 2, 0, 2 }, own[3] = { 2, 0, 0 };
    int64_t x[4] = { 1, 2, 3, 4 }, y[3][2] = { { 0 } };
    struct nf_call scatter[3], allgather[3];

    for (uint32_t r = 0; r < 3; r++) {
        scatter[r] = (struct nf_call){ .kind = NF_CALL_SCATTER,
                                       .send = r == 0 ? x : NULL,
                                       .recv = y[r],
                                       .count = outer[r],
                                       .counts = r == 0 ? outer : NULL,
                                       .varies = 1,
                                       .type = NF_ELEM_INT64 };
        allgather[r] = (struct nf_call){ .kind = NF_CALL_ALLGATHER,
                                         .send = x,
                                         .recv = y[r],
                                         .counts = own,
                                         .type = NF_ELEM_INT64 };
    }
    check_gone("scatter.linear", scatter, 1);
    CU_ASSERT(y[0][0] == 1 && y[2][0] == 3 && y[2][1] == 4);
    memset(y, 0, sizeof(y));
    check_gone("allgather.ring", allgather, 0);
    CU_ASSERT(y[1][1] == 2 && y[2][0] == 1 && y[2][1] == 2);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "a transfer may last longer than the time-out",
          a_transfer_may_last_longer_than_the_time_out },
        { "a slow operator is no failure", a_slow_operator_is_no_failure },
        { "one look is not longer than one slow combining",
          one_look_is_not_longer_than_one_slow_combining },
        { "who comes to each call in time is not blamed",
          who_comes_to_each_call_in_time_is_not_blamed },
        { "who has calls to make before is not blamed",
          who_has_calls_to_make_before_is_not_blamed },
        { "nor is who has any calls to make",
          nor_is_who_has_any_calls_to_make },
        { "what was asked in one call ends with it",
          what_was_asked_in_one_call_ends_with_it },
        { "who stops reading is blamed", who_stops_reading_is_blamed },
        { "who does not come is blamed", who_does_not_come_is_blamed },
        { "who is to get nothing may have gone",
          who_is_to_get_nothing_may_have_gone },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "what takes long", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
