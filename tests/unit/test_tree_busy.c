/* What a tree in segments keeps busy: the times are those of the simulation
 * that prices it, and bars are few and apart. */
#include "config.h"
#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "common/tree/busy.h"
#include "tests/unit/nf_unit.h"

enum { NODES_MAX = 24, BYTES = 5000 };

enum net { WIRES, PORTS, HUB, NETS };

static double draw(struct nf_rng *rng, double least, double most)
{
    return least + (most - least) * (double)nf_rng_below(rng, 1 << 20) /
                       (double)(1 << 20);
}

static struct nf_hops make_hops(enum net kind, uint32_t nodes,
                                struct nf_rng *rng)
{
    struct nf_hetero net;
    struct nf_hops hops;

    CU_ASSERT_FATAL(nf_hetero_init(&net, nodes, true) == NF_OK);
    net.has_ports = kind != WIRES;
    net.is_shared = kind == HUB;
    for (uint32_t i = 0; i < nodes; i++) {
        net.send[i] = (struct nf_cost){ draw(rng, 20, 80), 0.01 };
        net.recv[i] = (struct nf_cost){ draw(rng, 30, 90), 0.01 };
        for (uint32_t j = 0; j < nodes; j++)
            net.wire[(size_t)i * nodes + j] =
                (struct nf_cost){ 40, draw(rng, 0.01, 0.1) };
    }
    CU_ASSERT_FATAL(nf_hops_init(&hops, &net, BYTES) == NF_OK);
    nf_hetero_fini(&net);
    return hops;
}

static struct nf_tree make_tree(uint32_t nodes, uint32_t root,
                                struct nf_rng *rng)
{
    uint32_t sender[NODES_MAX], receiver[NODES_MAX];
    struct nf_tree tree;

    for (uint32_t v = 1; v < nodes; v++) {
        sender[v - 1] = (root + (uint32_t)nf_rng_below(rng, v)) % nodes;
        receiver[v - 1] = (root + v) % nodes;
    }
    CU_ASSERT_FATAL(nf_tree_init(&tree, nodes, root) == NF_OK);
    CU_ASSERT_FATAL(nf_tree_build(&tree, sender, receiver, NULL) == NF_OK);
    return tree;
}

/* The whole of a case, however it was drawn. */
struct world {
    enum net kind;
    struct nf_tree tree;
    struct nf_hops hops;
    uint64_t segments;
    uint32_t columns;
    struct nf_busy busy;
};

static void world_init(struct world *w, uint64_t seed)
{
    static const uint64_t segments[] = { 1, 2, 7, 60, 300 };
    static const uint32_t columns[] = { 1, 16, 300, 1 << 20 };
    struct nf_rng rng = { seed };
    uint32_t nodes = 1 + (uint32_t)nf_rng_below(&rng, NODES_MAX);

    w->kind = (enum net)(seed % NETS);
    w->tree = make_tree(nodes, (uint32_t)nf_rng_below(&rng, nodes), &rng);
    w->hops = make_hops(w->kind, nodes, &rng);
    w->segments = segments[seed % 5];
    w->columns = columns[seed % 4];
    CU_ASSERT_FATAL(nf_busy_make(&w->tree, &w->hops, w->segments, w->columns,
                                 &w->busy) == NF_OK);
}

static void world_fini(struct world *w)
{
    nf_busy_fini(&w->busy);
    nf_hops_fini(&w->hops);
    nf_tree_fini(&w->tree);
}

/* Every kind of net with all segments and all columns. */
static void in_all_worlds(void (*check)(const struct world *w))
{
    for (uint64_t seed = 1; seed <= 180; seed++) {
        struct world w;

        world_init(&w, seed);
        check(&w);
        world_fini(&w);
    }
}

/* ---- times ---- */

static void check_ends(const struct world *w)
{
    double ready_us[NODES_MAX], time_us = -1, end_us = 0;

    CU_ASSERT_EQUAL(
        nf_tree_pipe_times(&w->tree, &w->hops, w->segments, ready_us, &time_us),
        NF_OK);
    CU_ASSERT(w->busy.time_us == time_us);
    for (uint32_t v = 0; v < w->tree.nodes; v++) {
        CU_ASSERT(w->busy.last[v].ready_us == ready_us[v]);
        CU_ASSERT(w->busy.first[v].ready_us <= ready_us[v]);
        CU_ASSERT(w->busy.first[v].sent_us <= w->busy.last[v].sent_us);
        CU_ASSERT(w->busy.last[v].sent_us <= ready_us[v]);
    }
    for (uint32_t r = 0; r <= 2 * w->tree.nodes; r++) {
        const struct nf_busy_row *row = &w->busy.rows[r];

        if (row->count > 0 && row->bars[row->count - 1].to_us > end_us)
            end_us = row->bars[row->count - 1].to_us;
    }
    CU_ASSERT(w->busy.end_us == end_us);
    CU_ASSERT(end_us >= time_us);
}

static void bars_end_when_the_tree_does(void)
{
    in_all_worlds(check_ends);
}

/* But on a hub, where they are in each other's way. */
static void check_first(const struct world *w)
{
    double ready_us[NODES_MAX], time_us;

    if (w->kind == HUB)
        return;
    CU_ASSERT_EQUAL(
        nf_tree_times(&w->tree, &w->hops, false, ready_us, &time_us), NF_OK);
    for (uint32_t v = 0; v < w->tree.nodes; v++)
        CU_ASSERT(w->busy.first[v].ready_us == ready_us[v]);
}

static void the_first_segment_comes_as_if_it_was_alone(void)
{
    in_all_worlds(check_first);
}

/* ---- bars ---- */

static void check_row(const struct nf_busy_row *row, uint32_t columns)
{
    double recv_us = 0, send_us = 0;

    CU_ASSERT(row->count <= (uint64_t)2 * columns + 1);
    for (uint32_t k = 0; k < row->count; k++) {
        const struct nf_busy_bar *bar = &row->bars[k];

        CU_ASSERT(bar->from_us < bar->to_us);
        CU_ASSERT(k == 0 || bar->from_us >= row->bars[k - 1].to_us);
        CU_ASSERT(bar->recv_us + bar->send_us <=
                  (bar->to_us - bar->from_us) * (1 + 1e-9));
        CU_ASSERT(bar->first <= bar->last);
        recv_us += bar->recv_us;
        send_us += bar->send_us;
    }
    CU_ASSERT_DOUBLE_EQUAL(recv_us, row->recv_us, 1e-9 * recv_us);
    CU_ASSERT_DOUBLE_EQUAL(send_us, row->send_us, 1e-9 * send_us);
}

static void check_apart(const struct world *w)
{
    for (uint32_t r = 0; r <= 2 * w->tree.nodes; r++)
        check_row(&w->busy.rows[r], w->columns);
}

static void bars_are_few_and_do_not_overlap(void)
{
    in_all_worlds(check_apart);
}

static uint64_t spans_of(const struct nf_busy_row *row)
{
    uint64_t spans = 0;

    for (uint32_t k = 0; k < row->count; k++)
        spans += row->bars[k].spans;
    return spans;
}

/* Each host takes each segment once, and hands it to each child. */
static void check_complete(const struct world *w)
{
    const struct nf_busy *busy = &w->busy;
    double all = (double)w->segments;

    for (uint32_t v = 0; v < w->tree.nodes; v++) {
        const struct nf_busy_row *hands = nf_busy_hands(busy, v);
        uint32_t children = w->tree.first[v + 1] - w->tree.first[v];
        uint32_t receipts = v != w->tree.root;
        double recv_us = all * receipts * w->hops.recv[v],
               send_us = all * children * w->hops.send[v];

        CU_ASSERT_EQUAL(spans_of(hands), w->segments * (receipts + children));
        CU_ASSERT_DOUBLE_EQUAL(hands->recv_us, recv_us, 1e-6 * recv_us);
        CU_ASSERT_DOUBLE_EQUAL(hands->send_us, send_us, 1e-6 * send_us);
        CU_ASSERT_EQUAL(spans_of(nf_busy_port(busy, v)),
                        w->kind == WIRES ? 0 : w->segments * children);
        CU_ASSERT(nf_busy_port(busy, v)->recv_us == 0);
    }
    CU_ASSERT_EQUAL(spans_of(nf_busy_medium(busy)),
                    w->kind == HUB ? w->segments * (w->tree.nodes - 1) : 0);
}

static void nothing_is_left_out(void)
{
    in_all_worlds(check_complete);
}

/* ---- by hand ---- */

/* 0 to 1 to 2: 10 to send, 20 to receive, a wire of 5 and a port of 40. */
static struct nf_hops make_chain(struct nf_tree *tree)
{
    static const uint32_t sender[] = { 0, 1 }, receiver[] = { 1, 2 };
    struct nf_hetero net;
    struct nf_hops hops;

    CU_ASSERT_FATAL(nf_hetero_init(&net, 3, true) == NF_OK);
    net.has_ports = true;
    for (uint32_t i = 0; i < 3; i++) {
        net.send[i] = (struct nf_cost){ 10, 0 };
        net.recv[i] = (struct nf_cost){ 20, 0 };
        for (uint32_t j = 0; j < 3; j++)
            net.wire[i * 3 + j] = (struct nf_cost){ 5, 0.4 };
    }
    CU_ASSERT_FATAL(nf_hops_init(&hops, &net, 100) == NF_OK);
    nf_hetero_fini(&net);
    CU_ASSERT_FATAL(nf_tree_init(tree, 3, 0) == NF_OK);
    CU_ASSERT_FATAL(nf_tree_build(tree, sender, receiver, NULL) == NF_OK);
    return hops;
}

static bool is_bar(const struct nf_busy_row *row, uint32_t k, double from_us,
                   double to_us, uint64_t segment)
{
    return k < row->count && row->bars[k].from_us == from_us &&
           row->bars[k].to_us == to_us && row->bars[k].first == segment &&
           row->bars[k].last == segment;
}

static void a_chain_goes_by_the_port(void)
{
    struct nf_tree tree;
    struct nf_hops hops = make_chain(&tree);
    struct nf_busy busy;
    const struct nf_busy_row *hands, *port;

    CU_ASSERT_FATAL(nf_busy_make(&tree, &hops, 3, 1000, &busy) == NF_OK);
    hands = nf_busy_hands(&busy, 0);
    port = nf_busy_port(&busy, 0);
    CU_ASSERT_EQUAL(hands->count, 3);
    CU_ASSERT(is_bar(hands, 2, 20, 30, 2));
    CU_ASSERT_EQUAL(port->count, 3);
    CU_ASSERT(is_bar(port, 0, 10, 50, 0) && is_bar(port, 1, 50, 90, 1) &&
              is_bar(port, 2, 90, 130, 2));
    hands = nf_busy_hands(&busy, 1);
    /* at 10 + 45 the first is there, at 50 + 45 the next */
    CU_ASSERT_EQUAL(hands->count, 6);
    CU_ASSERT(is_bar(hands, 0, 55, 75, 0) && is_bar(hands, 1, 75, 85, 0) &&
              is_bar(hands, 2, 95, 115, 1));
    CU_ASSERT(hands->bars[0].recv_us == 20 && hands->bars[0].send_us == 0);
    CU_ASSERT(hands->bars[1].recv_us == 0 && hands->bars[1].send_us == 10);
    CU_ASSERT_EQUAL(hands->bars[1].dst, 2);
    CU_ASSERT(busy.first[2].sent_us == 85 && busy.first[2].ready_us == 150);
    CU_ASSERT(busy.last[2].sent_us == 165 && busy.last[2].ready_us == 230);
    CU_ASSERT(busy.time_us == 230);
    CU_ASSERT_PTR_EQUAL(nf_busy_most(&busy), port);
    nf_busy_fini(&busy);
    nf_hops_fini(&hops);
    nf_tree_fini(&tree);
}

/* In columns of 32.75, eight of which are 262: hands of 1 receive for 20 every
 * 40, from 55 on, and send for 10. */
static void what_is_short_is_put_together(void)
{
    struct nf_tree tree;
    struct nf_hops hops = make_chain(&tree);
    struct nf_busy busy;
    const struct nf_busy_row *hands;

    CU_ASSERT_FATAL(nf_busy_make(&tree, &hops, 30, 40, &busy) == NF_OK);
    CU_ASSERT(busy.end_us == 1310);
    hands = nf_busy_hands(&busy, 1);
    CU_ASSERT_EQUAL(hands->count, 5);
    CU_ASSERT(hands->bars[0].from_us == 55 && hands->bars[0].to_us == 315);
    CU_ASSERT(hands->bars[0].recv_us == 140 && hands->bars[0].send_us == 60);
    CU_ASSERT(hands->bars[0].first == 0 && hands->bars[0].last == 6);
    CU_ASSERT_EQUAL(hands->bars[0].spans, 13);
    /* the last of them until 565, and nothing to do until 575 */
    CU_ASSERT(hands->bars[1].from_us == 315 && hands->bars[1].to_us == 575);
    CU_ASSERT(hands->bars[4].to_us == 1245);
    /* in columns of 18.7 the 20 between receipts of 2 can be seen */
    nf_busy_fini(&busy);
    CU_ASSERT_FATAL(nf_busy_make(&tree, &hops, 30, 70, &busy) == NF_OK);
    CU_ASSERT_EQUAL(nf_busy_hands(&busy, 2)->count, 30);
    nf_busy_fini(&busy);
    nf_hops_fini(&hops);
    nf_tree_fini(&tree);
}

static void running_out_of_memory_is_told(void)
{
    struct nf_rng rng = { 5 };
    enum nf_status status = NF_ERR_NOMEM;
    struct nf_tree tree = make_tree(6, 0, &rng);
    struct nf_hops hops = make_hops(HUB, 6, &rng);
    unsigned failed = 0;

    for (long n = 0; status == NF_ERR_NOMEM && n < 1000; n++) {
        struct nf_busy busy;

        nf_alloc_fail_after(n);
        status = nf_busy_make(&tree, &hops, 40, 500, &busy);
        nf_alloc_fail_after(-1);
        failed += status == NF_ERR_NOMEM;
        if (status == NF_OK)
            nf_busy_fini(&busy);
    }
    CU_ASSERT_EQUAL(status, NF_OK);
    CU_ASSERT(failed > 30);
    nf_hops_fini(&hops);
    nf_tree_fini(&tree);
}

int main(void)
{
    CU_TestInfo times[] = {
        { "bars end when the tree does", bars_end_when_the_tree_does },
        { "the first segment comes as if it was alone",
          the_first_segment_comes_as_if_it_was_alone },
        { "a chain goes by the port", a_chain_goes_by_the_port },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo bars[] = {
        { "bars are few and do not overlap", bars_are_few_and_do_not_overlap },
        { "nothing is left out", nothing_is_left_out },
        { "what is short is put together", what_is_short_is_put_together },
        { "running out of memory is told", running_out_of_memory_is_told },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "times", NULL, NULL, NULL, NULL, times },
        { "bars", NULL, NULL, NULL, NULL, bars },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
