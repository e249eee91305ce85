/* How long schedules take, against tests/golden/collectives.json: carried out
 * message by message without lock step, beside the choices of MPI libraries by
 * the same model, and as the report printed it. */
#include "config.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/coll/report.h"
#include "common/coll/select.h"
#include "tests/unit/nf_unit.h"

enum { NAME_BYTES = 64, RANKS_MOST = 16 };

static json_t *golden;
static size_t compared;

static int load(void)
{
    golden =
        json_load_file(NF_SRCDIR "/tests/golden/collectives.json", 0, NULL);
    return golden == NULL;
}

static int unload(void)
{
    json_decref(golden);
    return 0;
}

/* "SP2 P=5 m=262144 ..." */
struct place {
    struct nf_coll_network network;
    uint32_t ranks;
    double bytes;
};

static struct place place_of(const char *key)
{
    struct place place = { .network.price.npieces = 1 };
    char name[NAME_BYTES];
    const json_t *machine;

    CU_ASSERT_EQUAL(
        sscanf(key, "%63s P=%u m=%lf", name, &place.ranks, &place.bytes), 3);
    machine = json_object_get(json_object_get(golden, "machines"), name);
    place.network.price.pieces[0].start_us =
        json_number_value(json_object_get(machine, "a"));
    place.network.price.pieces[0].byte_us =
        json_number_value(json_object_get(machine, "b"));
    return place;
}

/* ---- event_driven: by rendezvous, without lock step ---- */

/* A message goes as soon as both ends may: each port in the order of rounds,
 * and each item at a rank, too.  Of messages that may go at one time the first
 * in an order goes, which matters on cycles of an odd number of ranks, and
 * where the messages of a round are several cycles, or one with long steps:
 * those go as they stand in their cycle. */
enum ties { BY_SOURCE, BY_DESTINATION, BACKWARDS, ALONG_CYCLES };

struct transfer {
    const struct nf_coll_message *message;
    uint32_t place; /* of its source in the cycle of its round */
    bool gone;
    double end_us;
};

struct traffic {
    const struct nf_schedule *schedule;
    struct transfer *transfers;
    bool half;
    double out_us[RANKS_MOST], in_us[RANKS_MOST]; /* ports are free again */
};

static bool share_an_item(const struct nf_schedule *schedule,
                          const struct nf_coll_message *a,
                          const struct nf_coll_message *b)
{
    for (uint32_t i = 0; i < a->nspans; i++)
        for (uint32_t j = 0; j < b->nspans; j++) {
            const struct nf_coll_span *x = &schedule->spans[a->first_span + i];
            const struct nf_coll_span *y = &schedule->spans[b->first_span + j];

            if (x->first < y->first + y->count &&
                y->first < x->first + x->count)
                return true;
        }
    return false;
}

/* Does b wait for a? */
static bool is_before(const struct nf_schedule *schedule,
                      const struct nf_coll_message *a,
                      const struct nf_coll_message *b)
{
    if (a->round >= b->round)
        return false;
    if (a->src == b->src || a->dst == b->dst)
        return true;
    return (a->src == b->dst || a->dst == b->src) &&
           share_an_item(schedule, a, b);
}

/* @return when it can go; INFINITY: what it waits for has not gone yet */
static double start_us(const struct traffic *t, size_t number)
{
    const struct nf_coll_message *m = t->transfers[number].message;
    double start = fmax(t->out_us[m->src], t->in_us[m->dst]);

    if (t->half)
        start = fmax(start, fmax(t->in_us[m->src], t->out_us[m->dst]));
    for (size_t i = 0; i < t->schedule->count; i++) {
        if (!is_before(t->schedule, t->transfers[i].message, m))
            continue;
        if (!t->transfers[i].gone)
            return INFINITY;
        start = fmax(start, t->transfers[i].end_us);
    }
    return start;
}

static bool goes_first(const struct transfer *first,
                       const struct transfer *second, enum ties ties)
{
    const struct nf_coll_message *a = first->message, *b = second->message;

    if (a->round != b->round)
        return a->round < b->round;
    if (ties == ALONG_CYCLES && first->place != second->place)
        return first->place < second->place;
    if (ties == BY_DESTINATION)
        return a->dst < b->dst;
    return ties == BACKWARDS ? a->src > b->src : a->src < b->src;
}

/* The next that goes.  @return its number; SIZE_MAX: none can */
static size_t next_of(const struct traffic *t, enum ties ties, double *start_p)
{
    size_t best = SIZE_MAX;

    *start_p = INFINITY;
    for (size_t i = 0; i < t->schedule->count; i++) {
        double start;

        if (t->transfers[i].gone)
            continue;
        start = start_us(t, i);
        if (start > *start_p || isinf(start))
            continue;
        if (start < *start_p ||
            goes_first(&t->transfers[i], &t->transfers[best], ties)) {
            best = i;
            *start_p = start;
        }
    }
    return best;
}

static uint32_t items_of(const struct nf_schedule *schedule,
                         const struct nf_coll_message *m)
{
    uint32_t items = 0;

    for (uint32_t i = 0; i < m->nspans; i++)
        items += schedule->spans[m->first_span + i].count;
    return items;
}

/* Of a message of a round in which each rank sends one and gets one: its place
 * in the cycle, counted from the lowest rank of that. */
static uint32_t place_in_cycle(const struct nf_schedule *schedule,
                               const struct nf_coll_message *m)
{
    uint32_t next[RANKS_MOST], first = m->src, place = 0;

    for (size_t i = 0; i < schedule->count; i++)
        if (schedule->messages[i].round == m->round)
            next[schedule->messages[i].src] = schedule->messages[i].dst;
    for (uint32_t r = next[m->src]; r != m->src; r = next[r])
        first = r < first ? r : first;
    for (uint32_t r = first; r != m->src; r = next[r])
        place++;
    return place;
}

/* @param item_bytes  bytes of an item */
static double carry_out(const struct nf_schedule *schedule,
                        const struct nf_coll_price *price, double item_bytes,
                        bool half, enum ties ties)
{
    struct traffic t = { .schedule = schedule, .half = half };
    double last = 0;

    t.transfers = calloc(schedule->count, sizeof(*t.transfers));
    for (size_t i = 0; i < schedule->count; i++) {
        t.transfers[i].message = &schedule->messages[i];
        if (ties == ALONG_CYCLES)
            t.transfers[i].place =
                place_in_cycle(schedule, &schedule->messages[i]);
    }
    for (size_t n = 0; n < schedule->count; n++) {
        double start, end;
        size_t i = next_of(&t, ties, &start);
        const struct nf_coll_message *m;

        if (i == SIZE_MAX) {
            last = NAN; /* they wait for each other */
            break;
        }
        m = t.transfers[i].message;
        end =
            start + nf_price_send_us(price, items_of(schedule, m) * item_bytes);
        t.transfers[i].gone = true;
        t.transfers[i].end_us = end;
        t.out_us[m->src] = t.in_us[m->dst] = end;
        if (half)
            t.in_us[m->src] = t.out_us[m->dst] = end;
        last = fmax(last, end);
    }
    free(t.transfers);
    return last;
}

/* @param segments  0: the algorithm's own */
static double time_of(const char *name, const struct place *place,
                      uint32_t segments, bool half, enum ties ties)
{
    const struct nf_coll_algorithm *algorithm = nf_coll_find(name);
    struct nf_coll_args args = { .ranks = place->ranks, .segments = segments };
    struct nf_schedule schedule;
    double us = NAN;
    uint32_t items;

    if (algorithm == NULL)
        return us;
    if (segments == 0)
        args.segments = algorithm->default_segments != NULL
                            ? algorithm->default_segments(place->ranks)
                            : 1;
    /* of all-to-all the goldens give what a rank has for all of them */
    items = algorithm->items == NF_ITEMS_PAIRS
                ? place->ranks
                : nf_coll_item_count(algorithm, &args);
    if (nf_coll_make(algorithm, &args, NF_ALL_RANKS, &schedule, NULL) == NF_OK)
        us = carry_out(&schedule, &place->network.price, place->bytes / items,
                       half, ties);
    nf_schedule_fini(&schedule);
    return us;
}

/* The reference carries out one schedule for both kinds of ports. */
static const char *schedule_of(const char *row)
{
    static const char *const names[][2] = {
        { "bcast.pipeline", "bcast.pipeline.fd" },
        { "bcast.twopath", "bcast.twopath.hd" },
        { "scan.pipeline", "scan.pipeline.fd" },
        { "scan.rootp_seg_chain", "scan.rootp_seg_chain.hd" },
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(row, names[i][0]) == 0)
            return names[i][1];
    return row;
}

/* Where it matters: with 5 ranks that can't do two things at a time, or steps
 * of more than one rank. */
static enum ties ties_of(const char *row, const struct place *place, bool half)
{
    if (strcmp(row, "alltoall.pairwise_shift") == 0)
        return ALONG_CYCLES;
    if (!half || place->ranks != 5)
        return BY_SOURCE;
    if (strcmp(row, "allreduce.ring") == 0)
        return BACKWARDS;
    return strcmp(row, "bcast.circulant") == 0 ||
                   strcmp(row, "bcast.vdg_circ") == 0
               ? BY_DESTINATION
               : BY_SOURCE;
}

static void compare_time(const char *key, const char *row, const json_t *want)
{
    static const char *const ports[2] = { "fd", "hd" };
    struct place place = place_of(key);
    char name[NAME_BYTES];
    unsigned k = 0;

    CU_ASSERT(sscanf(row, "%63s k=%u", name, &k) >= 1);
    for (int half = 0; half < 2; half++) {
        double want_us = json_number_value(json_object_get(want, ports[half]));
        double us = time_of(schedule_of(name), &place, k, half != 0,
                            ties_of(name, &place, half != 0));

        compared++;
        if (fabs(us - want_us) <= 0.0015)
            continue;
        CU_FAIL("a time");
        printf("\n    %s %s %s: got %.3f us, want %.3f", key, row, ports[half],
               us, want_us);
    }
}

static void test_event_driven(void)
{
    const char *key, *row;
    json_t *rows, *want;

    compared = 0;
    json_object_foreach(json_object_get(golden, "event_driven"), key, rows)
        json_object_foreach(rows, row, want) compare_time(key, row, want);
    CU_ASSERT_EQUAL(compared, 3 * 18 * 2);
}

/* ---- peers_model: full duplex, g = 0.01 ---- */

static const struct {
    const char *op, *name, *ours;
} peers[] = {
    { "bcast", "linear", "bcast.flat" },
    { "bcast", "binomial", "bcast.binomial" },
    { "bcast", "knomial/binary", "bcast.binomial" }, /* P = 8 */
    { "bcast", "knomial4", "bcast.knomial4" },
    { "bcast", "scatter_ring_allgather", "bcast.vdg_ring" },
    { "bcast", "scatter_allgather", "bcast.vdg_circ" }, /* the same for 2^n */
    { "bcast", "scatter_rd_allgather", "bcast.vdg_circ" },
    { "bcast", "circulant.fd", "bcast.circulant" },
    { "reduce", "binomial", "reduce.binomial" },
    { "reduce", "reduce.binomial", "reduce.binomial" },
    { "reduce", "rabenseifner", "reduce.rabenseifner" },
    { "reduce", "reduce.circulant.fd", "reduce.circulant" },
    { "allreduce", "rec_doubling", "allreduce.rec_doubling" },
    { "allreduce", "allreduce.rd.fd", "allreduce.rec_doubling" },
    { "allreduce", "rabenseifner", "allreduce.seg_halving" },
    { "allreduce", "allreduce.seg.fd", "allreduce.seg_doubling" },
    { "allreduce", "allreduce.circulant.fd", "allreduce.circulant" },
    { "scan", "linear", "scan.linear" },
    { "scan", "rec_doubling", "scan.rec_doubling" },
    { "scan", "rec_doubling.fd", "scan.rec_doubling" },
    { "scan", "rootp_seg.fd", "scan.rootp_seg_chain.fd" },
    { "scan", "pipeline.overlap.fd", "scan.pipeline.fd" },
};

static const struct nf_coll_algorithm *find_peer(const char *op,
                                                 const char *name)
{
    for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++)
        if (strcmp(op, peers[i].op) == 0 && strcmp(name, peers[i].name) == 0)
            return nf_coll_find(peers[i].ours);
    return NULL;
}

/* What they take is what the same algorithm of ours takes. */
static double compare_peer(const char *key, const char *op, const json_t *row)
{
    struct place place = place_of(key);
    const char *name = json_string_value(json_array_get(row, 0));
    const struct nf_coll_algorithm *algorithm = find_peer(op, name);
    double want_us = json_number_value(json_array_get(row, 1)), us = NAN;

    place.network.price.combine_byte_us = 0.01;
    place.network.delta = 1;
    if (algorithm != NULL)
        nf_coll_best_segments(algorithm, &place.network, place.ranks,
                              place.bytes, NF_COLL_SEGMENTS_MAX, &us);
    compared++;
    if (fabs(us - want_us) <= 0.0501)
        return us;
    CU_FAIL("a peer's time");
    printf("\n    %s %s %s: got %.1f us, want %.1f", key, op, name, us,
           want_us);
    return us;
}

/* What we take is at most what the reference has chosen of its pool. */
static void compare_choice(const char *key, const char *op, bool commutative,
                           double most_us)
{
    struct place place = place_of(key);
    struct nf_coll_query query = { .op = NF_COLL_BCAST,
                                   .ranks = place.ranks,
                                   .bytes = (uint64_t)place.bytes,
                                   .elements = UINT64_MAX,
                                   .commutative = commutative };
    struct nf_coll_choice choice = { .algorithm = NULL };

    place.network.price.combine_byte_us = 0.01;
    place.network.delta = 1;
    while (strcmp(nf_coll_op_names[query.op], op) != 0)
        query.op++;
    CU_ASSERT(nf_coll_select_by_model(&query, &place.network, &choice));
    CU_ASSERT(choice.cost_us <= most_us * (1 + 1e-9));
}

static void compare_peers(const char *key, const char *call, const json_t *row)
{
    static const char *const who[2] = { "open_mpi", "mpich" };
    static const char *const gains[2] = { "gain_vs_open_mpi", "gain_vs_mpich" };
    char op[NAME_BYTES];
    double ours_us;

    CU_ASSERT_EQUAL(sscanf(call, "%63s", op), 1);
    ours_us = compare_peer(key, op, json_object_get(row, "ours"));
    compare_choice(key, op, strstr(call, "non-commutative") == NULL, ours_us);
    for (int i = 0; i < 2; i++) {
        double theirs_us = compare_peer(key, op, json_object_get(row, who[i]));

        CU_ASSERT_DOUBLE_EQUAL(
            theirs_us / ours_us,
            json_number_value(json_object_get(row, gains[i])), 0.005001);
    }
}

static void test_peers(void)
{
    const char *key, *call;
    json_t *calls, *row;

    compared = 0;
    json_object_foreach(json_object_get(golden, "peers_model"), key, calls)
        json_object_foreach(calls, call, row) compare_peers(key, call, row);
    CU_ASSERT_EQUAL(compared, 18 * 6 * 3);
}

/* ---- printed_vs_right: in messages, that is for a = 1, b = g = 0 ---- */

static const struct nf_coll_price a_message = {
    .npieces = 1,
    .pieces = { { 0, 1, 0 } },
    .ports = NF_PORTS_HALF,
};

static double printed(const char *name, uint32_t ranks, uint32_t k)
{
    return nf_coll_printed_find(name)->cost_us(&a_message, ranks, 8, k);
}

static double right(const char *name, uint32_t ranks, uint32_t k)
{
    const struct nf_coll_algorithm *algorithm = nf_coll_find(name);

    return algorithm->cost_us(algorithm, &a_message, ranks, 8, k);
}

static double wanted(const json_t *row, const char *name)
{
    const json_t *value = json_object_get(row, name);

    CU_ASSERT(json_is_number(value));
    compared++;
    return json_number_value(value);
}
#define CHECK_NEAR(got, want) CU_ASSERT_DOUBLE_EQUAL(got, want, 0.0005001)

static json_t *printed_rows(const char *name)
{
    json_t *rows =
        json_object_get(json_object_get(golden, "printed_vs_right"), name);

    CU_ASSERT(json_object_size(rows) > 3);
    return rows;
}

/* In print it takes too few steps, or as many as with 16 ranks only. */
static void test_printed_rootp(void)
{
    const char *key;
    json_t *row;

    json_object_foreach(printed_rows("rootp steps"), key, row)
    {
        uint32_t ranks = (uint32_t)atoi(key);
        double exact = right("scan.rootp_chain", ranks, 1);
        double text = wanted(row, "printed text 2sqrt(P)+1");
        double near = wanted(row, "right approx 2sqrt(2P)-3");

        CHECK_NEAR(exact, wanted(row, "exact"));
        CHECK_NEAR(printed("scan.rootp.report", ranks, 1),
                   wanted(row, "printed 2(sqrt(2P)-3)"));
        CHECK_NEAR(2 * sqrt(ranks) + 1, text);
        CHECK_NEAR(2 * sqrt(2.0 * ranks) - 3, near);
        CU_ASSERT_EQUAL(fabs(exact - text) < 1e-9, ranks == 16);
        CU_ASSERT(fabs(exact - near) < 1);
    }
}

static void test_printed_broadcasts(void)
{
    const char *key;
    json_t *row;

    json_object_foreach(printed_rows("twopath steps k=8 (T_send units)"), key,
                        row)
    {
        uint32_t ranks = (uint32_t)atoi(key);

        CHECK_NEAR(printed("bcast.twopath.report", ranks, 8),
                   wanted(row, "printed 2(k+P/2-2)"));
        CHECK_NEAR(printed("bcast.twopath.lockstep", ranks, 8),
                   wanted(row, "lockstep 2(k+ceil((P-1)/2)-1)"));
        CHECK_NEAR(right("bcast.twopath.hd", ranks, 8),
                   wanted(row, "exact half duplex"));
    }
    json_object_foreach(printed_rows("pipeline steps k=8 (T_send units)"), key,
                        row)
    {
        uint32_t ranks = (uint32_t)atoi(key);

        CHECK_NEAR(printed("bcast.pipeline.report", ranks, 8),
                   wanted(row, "printed 2(k+P-2)"));
        CHECK_NEAR(right("bcast.pipeline.hd", ranks, 8),
                   wanted(row, "exact half duplex"));
    }
    json_object_foreach(printed_rows("nesbt k=n (T_send units)"), key, row)
    {
        uint32_t ranks = (uint32_t)atoi(key), n = nf_coll_floor_log2(ranks);

        CHECK_NEAR(printed("bcast.nesbt.report", ranks, n),
                   wanted(row, "printed 3 log P"));
        CHECK_NEAR(right("bcast.nesbt", ranks, n), wanted(row, "exact"));
    }
}

static void test_printed(void)
{
    compared = 0;
    test_printed_rootp();
    test_printed_broadcasts();
    CU_ASSERT_EQUAL(compared, 8 * 4 + 7 * 3 + 7 * 2 + 4 * 2);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "carried out by rendezvous, without lock step", test_event_driven },
        { "beside the choices of MPI libraries", test_peers },
        { "as printed and as it is", test_printed },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "times of schedules", load, unload, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
