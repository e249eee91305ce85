/* Choosing algorithm and k where the goldens have nothing to compare with: what
 * must hold for all operations, P, sizes, ports and prices. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "common/coll/prune.h"
#include "common/coll/select.h"
#include "tests/unit/nf_unit.h"

static struct nf_coll_network cluster(double delta)
{
    return (struct nf_coll_network){
        .price = { .npieces = 1,
                   .pieces = { { 0, 176, 0.105 } },
                   .combine_byte_us = 0.01 },
        .delta = delta,
    };
}

/* The cost between both kinds of ports is between both costs, and has no gap
 * where an algorithm has a formula for one of them only. */
static void test_between(void)
{
    unsigned tried = 0, gaps = 0;

    for (size_t i = 0; nf_coll_table[i] != NULL; i++)
        for (uint32_t ranks = 2; ranks <= 33; ranks++) {
            const struct nf_coll_algorithm *a = nf_coll_table[i];
            const struct nf_coll_network half = cluster(2), full = cluster(1);
            const struct nf_coll_network both = cluster(1.25);
            double hd = nf_coll_cost_us(a, &half, ranks, 1e5, 2);
            double fd = nf_coll_cost_us(a, &full, ranks, 1e5, 2);
            double got = nf_coll_cost_us(a, &both, ranks, 1e5, 2);

            if (!isfinite(hd) && !isfinite(fd))
                continue;
            tried++;
            CU_ASSERT(isfinite(got));
            if (isfinite(hd) && isfinite(fd)) {
                CU_ASSERT(fabs(got - (0.75 * fd + 0.25 * hd)) <= 1e-9 * got);
            } else {
                gaps++;
            }
            if (isfinite(fd))
                CU_ASSERT(got >= fd * (1 - 1e-9));
            if (!isfinite(fd))
                CU_ASSERT(got <= hd * (1 + 1e-9));
        }
    CU_ASSERT(tried > 500);
    CU_ASSERT(gaps > 50);
}

static bool chosen_is_best(const struct nf_coll_query *query,
                           const struct nf_coll_network *network)
{
    struct nf_coll_choice choice;

    if (!nf_coll_select_by_model(query, network, &choice))
        return false;
    if (!nf_coll_serves(choice.algorithm, query))
        return false;
    for (size_t i = 0; nf_coll_table[i] != NULL; i++) {
        uint32_t most = nf_coll_clamp_segments(query->elements, 1024);

        if (!nf_coll_serves(nf_coll_table[i], query))
            continue;
        for (uint32_t k = 1; k <= most; k += k < 16 ? 1 : k / 4)
            if (nf_coll_cost_us(nf_coll_table[i], network, query->ranks,
                                (double)query->bytes,
                                k) < choice.cost_us * (1 - 1e-8))
                return false;
    }
    return true;
}

/* Whatever the operation, P, size, ports and pieces. */
static void test_best(void)
{
    static const double deltas[] = { 1, 1.3, 2 };
    unsigned wrong = 0;

    for (int op = 0; op < NF_COLL_OPS; op++)
        for (uint32_t ranks = 2; ranks <= 20; ranks += 3)
            for (uint64_t bytes = 8; bytes < 1 << 26; bytes *= 32)
                for (int i = 0; i < 6; i++) {
                    const struct nf_coll_query query = {
                        .op = (enum nf_coll_op)op,
                        .ranks = ranks,
                        .root = i % 2,
                        .bytes = bytes,
                        .elements = bytes / 8,
                        .commutative = i % 2 == 0
                    };
                    struct nf_coll_network network = cluster(deltas[i / 2]);

                    if (op == NF_COLL_ALLTOALL)
                        continue; /* by thresholds: test_exchange_choice.c */
                    if (i % 2 == 1) {
                        network.price.npieces = 2;
                        network.price.pieces[1].from_bytes = 8192;
                        network.price.pieces[1].start_us = 100;
                        network.price.pieces[1].byte_us = 0.2;
                    }
                    if (!chosen_is_best(&query, &network) && wrong++ < 10)
                        printf("\n    %s P=%u %u bytes, case %d",
                               nf_coll_op_names[op], ranks, (unsigned)bytes, i);
                }
    CU_ASSERT_EQUAL(wrong, 0);
}

/* A network that is slow for messages above 8 KiB: the segments stay below. */
static void test_pieces(void)
{
    struct nf_coll_network network = cluster(1);
    const struct nf_coll_algorithm *pipeline =
        nf_coll_find("bcast.pipeline.fd");
    uint32_t linear, pieces;

    linear = nf_coll_best_segments(pipeline, &network, 4, 65536, 1024, NULL);
    network.price.npieces = 2;
    network.price.pieces[1].from_bytes = 8192.5;
    network.price.pieces[1].start_us = 5000;
    network.price.pieces[1].byte_us = 0.105;
    pieces = nf_coll_best_segments(pipeline, &network, 4, 65536, 1024, NULL);
    CU_ASSERT(linear > 8);
    CU_ASSERT_EQUAL(pieces, linear);
    network.price.pieces[0].start_us = 3000;
    linear = nf_coll_best_segments(
        pipeline,
        &(struct nf_coll_network){
            .price = { .npieces = 1, .pieces = { { 0, 3000, 0.105 } } },
            .delta = 1 },
        4, 65536, 1024, NULL);
    network.price.pieces[1].start_us = 50000;
    pieces = nf_coll_best_segments(pipeline, &network, 4, 65536, 1024, NULL);
    CU_ASSERT(linear < 8);
    CU_ASSERT_EQUAL(pieces, 8);
    /* no more than asked for */
    CU_ASSERT_EQUAL(
        nf_coll_best_segments(pipeline, &network, 4, 65536, 5, NULL), 1);
    /* nothing to choose */
    CU_ASSERT_EQUAL(nf_coll_best_segments(nf_coll_find("bcast.binomial"),
                                          &network, 4, 65536, 1024, NULL),
                    1);
}

static bool serves(const char *name, uint32_t ranks, uint32_t root,
                   uint64_t elements, bool commutative)
{
    const struct nf_coll_algorithm *algorithm = nf_coll_find(name);
    const struct nf_coll_query query = { .op = algorithm->op,
                                         .ranks = ranks,
                                         .root = root,
                                         .bytes = 8 * elements,
                                         .elements = elements,
                                         .commutative = commutative };

    return nf_coll_serves(algorithm, &query);
}

static void test_serves(void)
{
    CU_ASSERT(serves("bcast.flat", 5, 3, 1, true));
    /* P = 2^n */
    CU_ASSERT(serves("allgather.rec_doubling", 8, 0, 64, true));
    CU_ASSERT(!serves("allgather.rec_doubling", 6, 0, 64, true));
    /* operators */
    CU_ASSERT(serves("reduce.circulant", 5, 0, 9, true));
    CU_ASSERT(!serves("reduce.circulant", 5, 0, 9, false));
    CU_ASSERT(serves("reduce.binomial", 5, 0, 9, false));
    CU_ASSERT(serves("reduce.binomial", 5, 2, 9, true));
    CU_ASSERT(!serves("reduce.binomial", 5, 2, 9, false));
    CU_ASSERT(serves("reduce.binomial_ordered", 5, 2, 9, false));
    /* blocks */
    CU_ASSERT(serves("allreduce.ring", 8, 0, 8, true));
    CU_ASSERT(!serves("allreduce.ring", 8, 0, 7, true));
    CU_ASSERT(serves("allreduce.seg_doubling", 9, 0, 8, true));
    CU_ASSERT(serves("bcast.pipeline.fd", 9, 0, 1, true));
    CU_ASSERT(serves("gather.binomial", 9, 0, 1, true));
}

/* ---- short vectors ---- */

/* Messages and items that a vector of so many elements leaves, one by one. */
static uint64_t left_over(const struct nf_coll_algorithm *algorithm,
                          const struct nf_coll_args *args,
                          const struct nf_schedule *s, uint64_t elements,
                          uint64_t *messages_p)
{
    uint64_t sum = 0;

    *messages_p = 0;
    for (size_t m = 0; m < s->count; m++) {
        const struct nf_coll_message *message = &s->messages[m];
        uint64_t here = 0;

        for (uint32_t i = 0; i < message->nspans; i++) {
            struct nf_coll_span span = s->spans[message->first_span + i];

            for (uint32_t item = span.first; item < span.first + span.count;
                 item++)
                if (nf_coll_item_elements(algorithm, args, elements, item) > 0)
                    here += (message->round * UINT64_C(31) + message->src) *
                                (item + 7) +
                            message->dst * UINT64_C(1009) +
                            (uint64_t)message->action + message->keep * 3 +
                            message->from_car * 5 + 1;
        }
        sum += here;
        *messages_p += here > 0;
    }
    return sum;
}

static bool prunes(const struct nf_coll_algorithm *algorithm, uint32_t ranks,
                   uint64_t elements)
{
    const struct nf_coll_args args = {
        .ranks = ranks,
        .segments = nf_coll_clamp_segments(elements, 3),
    };
    struct nf_schedule s;
    uint64_t want, got, messages, left;
    struct nf_error err;
    bool same;

    if (nf_coll_make(algorithm, &args, NF_ALL_RANKS, &s, &err) != NF_OK)
        return err.status == NF_ERR_INVAL; /* not for this P */
    want = left_over(algorithm, &args, &s, elements, &messages);
    nf_coll_prune(&s, algorithm, &args, elements);
    got = left_over(algorithm, &args, &s, elements, &left);
    same = got == want && left == messages && s.count == messages;
    if (algorithm->op == NF_COLL_BARRIER)
        same = s.count > 0;
    nf_schedule_fini(&s);
    return same;
}

/* Nothing that is empty is sent, all that is not is sent as before. */
static void test_short(void)
{
    for (size_t i = 0; nf_coll_table[i] != NULL; i++)
        for (uint32_t ranks = 2; ranks <= 13; ranks++) {
            const uint64_t counts[] = { 0, 1, 2, ranks - 1, ranks, ranks + 1 };

            for (size_t j = 0; j < sizeof(counts) / sizeof(counts[0]); j++)
                CU_ASSERT(prunes(nf_coll_table[i], ranks, counts[j]));
        }
}

static const char *chosen(enum nf_coll_op op, uint32_t ranks, uint64_t bytes,
                          double occupancy_us)
{
    const struct nf_coll_query query = { .op = op,
                                         .ranks = ranks,
                                         .bytes = bytes,
                                         .elements = bytes,
                                         .commutative = true };
    const struct nf_model model = { .npieces = 1,
                                    .pieces = { { 0, 176, 0.105 } },
                                    .delta = 1,
                                    .occupancy_us = occupancy_us };
    const struct nf_coll_network network =
        nf_coll_network_of(&model, NULL, NULL);
    struct nf_coll_choice choice;

    if (!nf_coll_select_by_model(&query, &network, &choice))
        return "none";
    return choice.algorithm->name;
}

/* Of many small messages each keeps the root busy: then a tree pays.  Where
 * that is not known, all at once is believed to cost nothing but the link. */
static void test_occupancy(void)
{
    CU_ASSERT_STRING_EQUAL(chosen(NF_COLL_GATHER, 4, 8, 30),
                           "gather.linear_nb");
    CU_ASSERT_STRING_EQUAL(chosen(NF_COLL_GATHER, 64, 8, 30),
                           "gather.binomial");
    CU_ASSERT_STRING_EQUAL(chosen(NF_COLL_GATHER, 64, 8, 0),
                           "gather.linear_nb");
    CU_ASSERT_STRING_EQUAL(chosen(NF_COLL_GATHER, 64, 1 << 17, 30),
                           "gather.linear_nb");
    CU_ASSERT_STRING_EQUAL(chosen(NF_COLL_SCATTER, 4, 8, 30),
                           "scatter.linear_nb");
    CU_ASSERT_STRING_EQUAL(chosen(NF_COLL_SCATTER, 64, 8, 30),
                           "scatter.binomial");
    CU_ASSERT_STRING_EQUAL(chosen(NF_COLL_SCATTER, 64, 1 << 17, 30),
                           "scatter.linear_nb");
}

/* A sender that is free long before its message is there has time for more:
 * few ranks are told by the root itself, more by a flat tree. */
static void test_free_senders(void)
{
    CU_ASSERT_STRING_EQUAL(chosen(NF_COLL_BCAST, 4, 8, 30), "bcast.flat");
    CU_ASSERT_STRING_EQUAL(chosen(NF_COLL_BCAST, 16, 8, 30), "bcast.knomial4");
    CU_ASSERT_STRING_EQUAL(chosen(NF_COLL_BCAST, 16, 8, 170), "bcast.binomial");
    CU_ASSERT_STRING_EQUAL(chosen(NF_COLL_BCAST, 16, 8, 0), "bcast.binomial");
    CU_ASSERT_STRING_EQUAL(chosen(NF_COLL_BCAST, 16, 1 << 20, 30),
                           "bcast.circulant");
}

static double cost_of(const char *name, const struct nf_model *model,
                      uint32_t ranks, double bytes, uint32_t segments)
{
    const struct nf_coll_network network =
        nf_coll_network_of(model, NULL, NULL);

    return nf_coll_cost_us(nf_coll_find(name), &network, ranks, bytes,
                           segments);
}

/* Down a chain of five go 16 segments of 4 KiB: 454 us the first each hop, then
 * 344 us of the link and twice o_s for each other one. */
static void test_relays(void)
{
    struct nf_model model = { .npieces = 1,
                              .pieces = { { 0, 110, 0.084 } },
                              .delta = 1 };
    const double send_us = 110 + 0.084 * 4096;

    CU_ASSERT_DOUBLE_EQUAL(cost_of("bcast.pipeline.fd", &model, 5, 65536, 16),
                           19 * send_us, 1e-6);
    model.occupancy_us = 10;
    CU_ASSERT_DOUBLE_EQUAL(cost_of("bcast.pipeline.fd", &model, 5, 65536, 16),
                           4 * send_us + 15 * (20 + 0.084 * 4096), 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(cost_of("reduce.chain.fd", &model, 5, 65536, 16),
                           4 * send_us + 15 * (20 + 0.084 * 4096), 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(cost_of("scan.pipeline.fd", &model, 5, 65536, 16),
                           4 * send_us + 15 * (20 + 0.084 * 4096), 1e-6);
    model.occupancy_us = 100; /* never worse than in step */
    CU_ASSERT_DOUBLE_EQUAL(cost_of("bcast.pipeline.fd", &model, 5, 65536, 16),
                           19 * send_us, 1e-6);
}

static size_t messages_of(const struct nf_coll_algorithm *algorithm,
                          uint32_t ranks, uint32_t segments)
{
    const struct nf_coll_args args = { .ranks = ranks, .segments = segments };
    struct nf_schedule schedule;
    size_t count = 0;

    if (nf_coll_make(algorithm, &args, NF_ALL_RANKS, &schedule, NULL) == NF_OK)
        count = schedule.count;
    nf_schedule_fini(&schedule);
    return count;
}

/* Members that share processors wait for all messages of an algorithm, whatever
 * its rounds: no price is less, and none is less than without sharing. */
static void test_share(void)
{
    const struct nf_model own = { .npieces = 1,
                                  .pieces = { { 0, 110, 0.084 } },
                                  .delta = 1.3,
                                  .occupancy_us = 10 };
    struct nf_model shared = own;
    size_t dearer = 0;

    shared.share_us = 40;
    for (size_t i = 0; nf_coll_table[i] != NULL; i++)
        for (uint32_t ranks = 2; ranks <= 16; ranks++)
            for (uint32_t k = 1; k <= 7; k += 3) {
                const char *name = nf_coll_table[i]->name;
                double alone_us = cost_of(name, &own, ranks, 64, k);
                double us = cost_of(name, &shared, ranks, 64, k);
                size_t messages = messages_of(nf_coll_table[i], ranks, k);

                if (!isfinite(alone_us) ||
                    (k > 1 && nf_coll_table[i]->items != NF_ITEMS_SEGMENTS))
                    continue;
                CU_ASSERT(us >= alone_us);
                CU_ASSERT(us >= 40 * (double)messages * (1 - 1e-12));
                dearer += us > alone_us;
            }
    CU_ASSERT(dearer > 100);
}

/* Three rounds of eight messages, or seven to one and seven back. */
static void test_share_chooses(void)
{
    struct nf_model model = { .npieces = 1,
                              .pieces = { { 0, 110, 0.084 } },
                              .delta = 1,
                              .occupancy_us = 10,
                              .share_us = 0 };
    const struct nf_coll_query barrier = { .op = NF_COLL_BARRIER,
                                           .ranks = 8,
                                           .commutative = true };
    const struct nf_coll_query sum = { .op = NF_COLL_ALLREDUCE,
                                       .ranks = 8,
                                       .bytes = 64,
                                       .elements = 512,
                                       .commutative = true };
    struct nf_coll_network network = nf_coll_network_of(&model, NULL, NULL);
    struct nf_coll_choice choice;
    size_t rounds;

    CU_ASSERT_FATAL(nf_coll_select_by_model(&barrier, &network, &choice));
    CU_ASSERT_EQUAL(messages_of(choice.algorithm, 8, 1), 24);
    CU_ASSERT_FATAL(nf_coll_select_by_model(&sum, &network, &choice));
    rounds = messages_of(choice.algorithm, 8, choice.segments);
    network.share_us = 40;
    CU_ASSERT_FATAL(nf_coll_select_by_model(&barrier, &network, &choice));
    CU_ASSERT_EQUAL(messages_of(choice.algorithm, 8, 1), 14);
    CU_ASSERT_FATAL(nf_coll_select_by_model(&sum, &network, &choice));
    CU_ASSERT_EQUAL(messages_of(choice.algorithm, 8, choice.segments), 14);
    CU_ASSERT(rounds > 14);
}

/* Of what @p rank does with @p item the next one from *i_p on, in the order of
 * rounds. */
static const struct nf_coll_message *next_of(const struct nf_schedule *schedule,
                                             uint32_t rank, uint32_t item,
                                             size_t *i_p)
{
    while (*i_p < schedule->count) {
        const struct nf_coll_message *m = &schedule->messages[(*i_p)++];

        CU_ASSERT_EQUAL(m->nspans, 1);
        if ((m->src == rank || m->dst == rank) &&
            schedule->spans[m->first_span].first == item)
            return m;
    }
    return NULL;
}

static bool are_same(const struct nf_coll_algorithm *half,
                     const struct nf_coll_algorithm *full,
                     const struct nf_coll_args *args)
{
    struct nf_schedule a, b;
    bool same = nf_coll_make(half, args, NF_ALL_RANKS, &a, NULL) == NF_OK &&
                nf_coll_make(full, args, NF_ALL_RANKS, &b, NULL) == NF_OK &&
                a.count == b.count;

    for (uint32_t rank = 0; rank < args->ranks; rank++)
        for (uint32_t item = 0; item < args->segments && same; item++) {
            size_t i = 0, j = 0;
            const struct nf_coll_message *of_a, *of_b;

            do {
                of_a = next_of(&a, rank, item, &i);
                of_b = next_of(&b, rank, item, &j);
                same = (of_a == NULL) == (of_b == NULL) &&
                       (of_a == NULL ||
                        (of_a->src == of_b->src && of_a->dst == of_b->dst &&
                         of_a->action == of_b->action));
            } while (same && of_a != NULL);
        }
    nf_schedule_fini(&a);
    nf_schedule_fini(&b);
    return same;
}

/* As their descriptions say.  Ranks that are not in step, for whom segments are
 * independent of each other, do the same by both. */
static void test_siblings(void)
{
    unsigned pairs = 0;

    for (size_t i = 0; nf_coll_table[i] != NULL; i++) {
        const struct nf_coll_algorithm *half = nf_coll_table[i], *full;
        size_t length = strlen(half->name);
        char name[64];

        if (strcmp(half->name + length - 3, ".hd") != 0)
            continue;
        memcpy(name, half->name, length + 1);
        memcpy(name + length - 3, ".fd", 3);
        full = nf_coll_find(name);
        if (full == NULL)
            continue; /* bcast.twopath */
        pairs++;
        CU_ASSERT_PTR_NOT_NULL(strstr(half->summary, "the messages of .fd"));
        CU_ASSERT_PTR_NOT_NULL(strstr(full->summary, "the messages of .hd"));
        for (uint32_t ranks = 2; ranks <= 12; ranks++)
            for (uint32_t k = 1; k <= 9; k += 4)
                CU_ASSERT(are_same(
                    half, full,
                    &(struct nf_coll_args){ .ranks = ranks, .segments = k }));
    }
    CU_ASSERT_EQUAL(pairs, 8);
}

int main(void)
{
    CU_TestInfo laws[] = {
        { "between half and full duplex", test_between },
        { "nothing is cheaper than the choice", test_best },
        { "prices in pieces", test_pieces },
        { "small blocks of many ranks take a tree", test_occupancy },
        { "small messages of a free sender take a flat tree",
          test_free_senders },
        { "segments follow one another through relays", test_relays },
        { "no price is below what shared processors take", test_share },
        { "shared processors choose few messages", test_share_chooses },
        { "half and full duplex are the same messages", test_siblings },
        { "which calls an algorithm serves", test_serves },
        { "vectors with fewer elements than blocks", test_short },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "laws", NULL, NULL, NULL, NULL, laws },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
