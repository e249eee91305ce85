/* Routes on meshes and tori, and wormhole routing against a simulation of every
 * flit in every cycle. */
#include "config.h"
#include "tests/unit/golden_uniform.h"
#include "tests/unit/nf_unit.h"
#include <stdlib.h>
#include <string.h>
#include "common/base/rng.h"
#include "sim/wormhole.h"
#include "tests/unit/wormhole_cycles.h"

static struct nf_mesh mesh_of(const char *text)
{
    struct nf_mesh mesh = { .dims = 0 };

    CU_ASSERT_EQUAL(nf_mesh_parse(text, &mesh, NULL), NF_OK);
    return mesh;
}

/* ---- routes ---- */

static void sides_are_read(void)
{
    static const char *const bad[] = { "",
                                       "x",
                                       "16x",
                                       "x16",
                                       "4xx4",
                                       "4X4",
                                       "-4x4",
                                       "0x4",
                                       "4x0",
                                       "4x4 ",
                                       "70000",
                                       "300x300",
                                       "4,4",
                                       "1e1x2",
                                       "4x+4",
                                       "1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1",
                                       "99999999999999999999x2" };
    struct nf_mesh mesh = mesh_of("3x4x2x3");

    CU_ASSERT_EQUAL(mesh.dims, 4);
    CU_ASSERT_EQUAL(mesh.nodes, 72);
    CU_ASSERT_EQUAL(mesh.side[1], 4);
    CU_ASSERT_EQUAL(mesh_of("256x256").nodes, NF_MESH_NODES_MAX);
    CU_ASSERT_EQUAL(mesh_of("2x2x2x2x2x2x2x2x2x2x2x2x2x2x2x2").nodes, NF_MESH_NODES_MAX);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct nf_error err = { .text = "" };

        CU_ASSERT(nf_mesh_parse(bad[i], &mesh, &err) < NF_OK);
        CU_ASSERT_NOT_EQUAL(err.text[0], '\0');
    }
}

/* Channels of a way are different, begin with the sender's port and end with
 * the receiver's. */
static void ways_are_ways(void)
{
    static const char *const shapes[] = { "7x5", "3x4x2x3", "9", "1x6", "2x2" };
    static uint32_t way[CYCLES_HOPS_MAX];

    for (int i = 0; i < 20; i++) {
        struct nf_mesh mesh = mesh_of(shapes[i / 4]);

        mesh.torus = i % 2;
        mesh.last_first = i / 2 % 2;
        for (uint32_t a = 0; a < mesh.nodes; a++)
            for (uint32_t b = 0; b < mesh.nodes; b++) {
                uint32_t hops = nf_mesh_hops(&mesh, a, b), ports = 0;

                nf_mesh_route(&mesh, a, b, way);
                for (uint32_t x = 0; x < hops; x++) {
                    CU_ASSERT(way[x] < nf_mesh_channels(&mesh));
                    ports += nf_mesh_is_port(&mesh, way[x]);
                    for (uint32_t y = 0; y < x; y++)
                        CU_ASSERT(way[y] != way[x]);
                }
                CU_ASSERT_EQUAL(ports, 2);
                CU_ASSERT(nf_mesh_is_port(&mesh, way[0]));
                CU_ASSERT(nf_mesh_is_port(&mesh, way[hops - 1]));
                CU_ASSERT((a == b) == (hops == 2));
            }
    }
}

static void a_torus_goes_the_shorter_way(void)
{
    struct nf_mesh ring = mesh_of("6"), mesh = ring;
    uint32_t up[8], down[8];

    ring.torus = true;
    CU_ASSERT_EQUAL(nf_mesh_hops(&mesh, 0, 5), 7);
    CU_ASSERT_EQUAL(nf_mesh_hops(&ring, 0, 5), 3);
    CU_ASSERT_EQUAL(nf_mesh_hops(&ring, 1, 5), 4);
    CU_ASSERT_EQUAL(nf_mesh_hops(&ring, 0, 3), 5);
    /* half the ring: up from 0 and 2, down from 1: ways of one direction are on
     * different channels, those round the end on the other lane */
    nf_mesh_route(&ring, 0, 3, up);
    nf_mesh_route(&ring, 0, 1, down);
    CU_ASSERT_EQUAL(up[1], down[1]);
    nf_mesh_route(&ring, 1, 4, up);
    nf_mesh_route(&ring, 1, 0, down);
    CU_ASSERT_EQUAL(up[1], down[1]);
    nf_mesh_route(&ring, 5, 1, up);
    nf_mesh_route(&ring, 0, 1, down);
    CU_ASSERT_NOT_EQUAL(up[2], down[1]);
}

/* From a, so many steps along a side. */
static struct nf_mesh_way way_from(const struct nf_mesh *mesh, uint32_t a,
                                   uint32_t side, int32_t steps)
{
    uint32_t at[NF_MESH_DIMS_MAX], n = mesh->side[side];

    nf_mesh_address(mesh, a, at);
    at[side] = (uint32_t)(((int32_t)(at[side] + n) + steps) % (int32_t)n);
    return (struct nf_mesh_way){ a, nf_mesh_node(mesh, at), side, steps };
}

/* Both ways round each ring: they are different links but for the ports, and
 * the shorter one is the mesh's own. */
static void ways_that_are_said(void)
{
    static const char *const shapes[] = { "7x5", "3x4x2", "9", "2x2", "1x6" };

    for (int i = 0; i < 5; i++) {
        struct nf_mesh mesh = mesh_of(shapes[i]);

        mesh.torus = true;
        for (uint32_t a = 0; a < mesh.nodes; a++)
            for (uint32_t d = 0; d < mesh.dims; d++)
                for (int32_t up = 1; up < (int32_t)mesh.side[d]; up++) {
                    int32_t n = (int32_t)mesh.side[d];
                    struct nf_mesh_way one = way_from(&mesh, a, d, up),
                                       two = way_from(&mesh, a, d, up - n);
                    uint32_t k = nf_mesh_way_hops(&mesh, &one);
                    uint32_t own = nf_mesh_hops(&mesh, a, one.to);

                    CU_ASSERT(nf_mesh_has_way(&mesh, &one));
                    CU_ASSERT(nf_mesh_has_way(&mesh, &two));
                    CU_ASSERT_EQUAL(one.to, two.to);
                    CU_ASSERT_EQUAL(k, (uint32_t)up + 2);
                    CU_ASSERT_EQUAL(nf_mesh_way_hops(&mesh, &two),
                                    (uint32_t)(n - up) + 2);
                    if (2 * up < n)
                        CU_ASSERT_EQUAL(k, own);
                    for (uint32_t x = 0; x < k; x++) {
                        uint32_t channel = nf_mesh_way_channel(&mesh, &one, x);

                        CU_ASSERT_EQUAL(nf_mesh_is_port(&mesh, channel),
                                        x == 0 || x + 1 == k);
                        if (2 * up < n)
                            CU_ASSERT_EQUAL(
                                channel, nf_mesh_channel(&mesh, a, one.to, x));
                    }
                }
    }
}

static void ways_that_are_none(void)
{
    static const struct nf_mesh_way bad[] = {
        { 0, 2, 1, 3 },         { 0, 2, 1, -2 },        { 0, 2, 0, 2 },
        { 0, 10, 1, 2 },        { 0, 1, 1, 6 },         { 0, 4, 1, -6 },
        { 0, 0, 1, 5 },         { 0, 0, 1, -5 },        { 0, 1, 2, 1 },
        { 35, 0, 1, 1 },        { 0, 35, 1, 1 },        { 35, 35, 0, 0 },
        { 0, 1, 1, INT32_MAX }, { 0, 1, 1, INT32_MIN },
    };
    struct nf_mesh mesh = mesh_of("7x5");

    CU_ASSERT_FALSE(
        nf_mesh_has_way(&mesh, &(struct nf_mesh_way){ 0, 4, 1, -1 }));
    mesh.torus = true;
    CU_ASSERT(nf_mesh_has_way(&mesh, &(struct nf_mesh_way){ 0, 4, 1, -1 }));
    CU_ASSERT(nf_mesh_has_way(&mesh, &(struct nf_mesh_way){ 0, 34, 9, 0 }));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CU_ASSERT_FALSE(nf_mesh_has_way(&mesh, &bad[i]));
}

static void a_link_has_two_lanes(void)
{
    struct nf_mesh mesh = mesh_of("4x3");

    for (uint32_t c = 0; c < nf_mesh_channels(&mesh); c++)
        CU_ASSERT_EQUAL(nf_mesh_other_lane(&mesh, c), c);
    mesh.torus = true;
    for (uint32_t c = 0; c < nf_mesh_channels(&mesh); c++) {
        uint32_t other = nf_mesh_other_lane(&mesh, c);

        CU_ASSERT_EQUAL(nf_mesh_other_lane(&mesh, other), c);
        CU_ASSERT_EQUAL(other == c, nf_mesh_is_port(&mesh, c));
        CU_ASSERT_FALSE(nf_mesh_is_port(&mesh, other) &&
                        !nf_mesh_is_port(&mesh, c));
    }
}

/* ---- theorem 3.1 ---- */

static bool share(const struct nf_mesh *mesh, uint32_t a, uint32_t b,
                  uint32_t x, uint32_t y)
{
    uint32_t one[CYCLES_HOPS_MAX], two[CYCLES_HOPS_MAX];
    uint32_t m = nf_mesh_hops(mesh, a, b), n = nf_mesh_hops(mesh, x, y);

    nf_mesh_route(mesh, a, b, one);
    nf_mesh_route(mesh, x, y, two);
    for (uint32_t i = 0; i < m; i++)
        for (uint32_t j = 0; j < n; j++)
            if (one[i] == two[j])
                return true;
    return false;
}

/* How often each case of the theorem fails, over all u < v < x < y. */
static void count_violations(const struct nf_mesh *mesh, uint32_t counts[4])
{
    memset(counts, 0, 4 * sizeof(*counts));
    for (uint32_t u = 0; u < mesh->nodes; u++)
        for (uint32_t v = u + 1; v < mesh->nodes; v++)
            for (uint32_t x = v + 1; x < mesh->nodes; x++)
                for (uint32_t y = x + 1; y < mesh->nodes; y++) {
                    counts[0] += share(mesh, u, v, x, y);
                    counts[1] += share(mesh, y, x, v, u);
                    counts[2] += share(mesh, v, u, x, y);
                    counts[3] += share(mesh, u, v, y, x);
                }
}

static bool counts_agree(const char *shape, bool last_first, const json_t *want)
{
    struct nf_mesh mesh = mesh_of(shape);
    uint32_t counts[4];
    bool ok = true;

    mesh.last_first = last_first;
    count_violations(&mesh, counts);
    for (size_t i = 0; i < 4 && want != NULL; i++)
        ok = agree(shape, counts[i],
                   json_integer_value(json_array_get(want, i))) &&
             ok;
    return ok && (last_first || counts[0] + counts[1] + counts[2] == 0);
}

static void ways_along_a_chain_are_apart(void)
{
    json_t *want = at(at(golden, "mesh"), "theorem31");

    CU_ASSERT(
        counts_agree("4x4", false, at(want, "4x4 first-coordinate-first")));
    CU_ASSERT(counts_agree("4x4", true, at(want, "4x4 last-coordinate-first")));
    CU_ASSERT(counts_agree("3x3x2", false, at(want, "3x3x2")));
    CU_ASSERT(counts_agree("3x5", false, NULL));
    CU_ASSERT(counts_agree("2x3x3", false, NULL));
}

/* ---- worms ---- */

struct grants {
    int64_t at[CYCLES_WORMS_MAX][CYCLES_HOPS_MAX];
};

static void note_grant(void *context, uint32_t worm, uint32_t hop, int64_t at)
{
    struct grants *grants = context;

    CU_ASSERT_FATAL(worm < CYCLES_WORMS_MAX && hop < CYCLES_HOPS_MAX);
    grants->at[worm][hop] = at;
}

static void three_worms_that_collide(void)
{
    struct nf_mesh mesh = mesh_of("4x4");
    json_t *unit = at(at(golden, "mesh"), "wormhole_unit"), *row;
    struct nf_wormhole w;
    struct grants grants;
    uint32_t worm, count = 0;
    size_t i;

    CU_ASSERT_EQUAL(nf_wormhole_init(&w, &mesh, 3, 1, integer(unit, "c_d")),
                    NF_OK);
    w.granted = note_grant;
    w.context = &grants;
    json_array_foreach(at(unit, "messages"), i, row) CU_ASSERT_EQUAL(
        nf_wormhole_offer(&w, (uint32_t)integer(row, "id"),
                          node_of(&mesh, at(row, "src")),
                          node_of(&mesh, at(row, "dst")),
                          (uint32_t)integer(row, "flits"), integer(row, "t")),
        NF_OK);
    while (nf_wormhole_next(&w, &worm, NULL) == NF_OK)
        count++;
    CU_ASSERT_EQUAL(count, 3);
    json_array_foreach(at(unit, "header_grants"), i, row)
    {
        CU_ASSERT(
            agree("hops", w.worms[i].hops, (int64_t)json_array_size(row)));
        for (uint32_t x = 0; x < w.worms[i].hops; x++)
            CU_ASSERT(agree("granted", grants.at[i][x],
                            json_integer_value(json_array_get(row, x))));
        CU_ASSERT(agree(
            "delivered", w.worms[i].delivered,
            json_integer_value(json_array_get(at(unit, "tail_delivered"), i))));
    }
    CU_ASSERT(agree("waits", (int64_t)w.waits, integer(unit, "blocked")));
    CU_ASSERT(agree("waited", w.waited, integer(unit, "blocked_time")));
    nf_wormhole_fini(&w);
}

/* On a torus often the longer way round. */
static struct nf_mesh_way any_way(const struct nf_mesh *mesh,
                                  struct nf_rng *rng)
{
    struct nf_mesh_way way = {
        .from = (uint32_t)nf_rng_below(rng, mesh->nodes),
        .to = (uint32_t)nf_rng_below(rng, mesh->nodes),
    };
    uint32_t side = (uint32_t)nf_rng_below(rng, mesh->dims);
    int32_t n = (int32_t)mesh->side[side], steps;

    if (!mesh->torus || nf_rng_below(rng, 2) == 0)
        return way;
    steps = (int32_t)nf_rng_below(rng, 2 * (uint64_t)n - 1) - (n - 1);
    return way_from(mesh, way.from, side, steps);
}

/* Crowded traffic, so that most worms wait for others. */
static void make_traffic(struct cycles *c, struct nf_rng *rng)
{
    static const char *const shapes[] = { "4x4", "7", "3x2x3", "5x3", "2x7" };
    uint32_t longest = 1 + (uint32_t)nf_rng_below(rng, CYCLES_FLITS_MAX - 1);
    uint64_t until = 1 + nf_rng_below(rng, 200);

    c->mesh = mesh_of(shapes[nf_rng_below(rng, 5)]);
    c->mesh.torus = nf_rng_below(rng, 2);
    c->mesh.one_lane = c->mesh.torus && nf_rng_below(rng, 2) == 0;
    c->mesh.last_first = nf_rng_below(rng, 4) == 0;
    c->ports = 1 + (uint32_t)(nf_rng_below(rng, 4) / 2);
    c->nworms = 1 + (uint32_t)nf_rng_below(rng, CYCLES_WORMS_MAX);
    for (uint32_t i = 0; i < c->nworms; i++)
        c->worms[i] = (struct cycles_worm){
            .way = any_way(&c->mesh, rng),
            .flits = 1 + (uint32_t)nf_rng_below(rng, longest),
            .offered = (int64_t)nf_rng_below(rng, until),
        };
    if (!c->mesh.one_lane)
        return;
    /* all the same way round a ring, which often comes to a stop */
    c->mesh.dims = 1;
    c->mesh.nodes = c->mesh.side[0] = 7;
    for (uint32_t i = 0; i < c->nworms; i++)
        c->worms[i].way = (struct nf_mesh_way){ i % 7, (i + 3) % 7, 0, 0 };
}

/* With a hop's time for each cycle.
 * @return 0 if all is as in c, 1 if so and that came to a stop, -1 if not */
static int same_as(const struct cycles *c, int64_t hop, bool delivered,
                   uint64_t *waits_p)
{
    struct nf_wormhole w;
    struct nf_error err = { .text = "" };
    struct grants grants;
    enum nf_status status =
        nf_wormhole_init(&w, &c->mesh, c->nworms, c->ports, hop);
    uint32_t worm;
    bool ok = true;

    w.granted = note_grant;
    w.context = &grants;
    for (uint32_t i = 0; i < c->nworms && status == NF_OK; i++)
        status =
            nf_wormhole_offer_way(&w, i, &c->worms[i].way, c->worms[i].flits,
                                  c->worms[i].offered * hop);
    while (status == NF_OK)
        status = nf_wormhole_next(&w, &worm, &err);
    ok = status == (delivered ? NF_WAIT : NF_ERR_FAILED);
    if (status == NF_ERR_FAILED)
        ok = ok && strstr(err.text, "wait for each other in a cycle") != NULL;
    for (uint32_t i = 0; ok && i < c->nworms; i++) {
        const struct cycles_worm *want = &c->worms[i];
        bool there = w.worms[i].granted == w.worms[i].hops;

        ok = there == (want->delivered >= 0) &&
             (!there || w.worms[i].delivered == want->delivered * hop);
        for (uint32_t x = 0; ok && x < w.worms[i].granted; x++)
            ok = grants.at[i][x] == want->granted_at[x] * hop;
    }
    *waits_p += w.waits;
    nf_wormhole_fini(&w);
    return !ok ? -1 : !delivered;
}

static void every_flit_in_every_cycle(void)
{
    static struct cycles c;
    struct nf_rng rng = { 11 };
    int stops = 0;
    uint64_t waits = 0;

    for (int i = 0; i < 800; i++) {
        int stopped;
        bool delivered;

        make_traffic(&c, &rng);
        delivered = cycles_run(&c);
        stopped = same_as(&c, 1 + i % 3, delivered, &waits);
        CU_ASSERT(stopped >= 0);
        /* only a torus of one lane may come to a stop */
        CU_ASSERT(stopped <= 0 || c.mesh.one_lane);
        stops += stopped > 0;
    }
    CU_ASSERT(waits > 10000);
    CU_ASSERT(stops > 10);
}

/* Room is for channels and worms, not for all the ways together, of which there
 * are some 2 million channels here. */
static void long_ways_take_little_room(void)
{
    enum { SIDE = 3000 };
    struct nf_mesh line = mesh_of("3000");
    struct nf_wormhole w;
    uint32_t worm, count = 0;
    uint64_t ways = 0;

    CU_ASSERT_EQUAL(nf_wormhole_init(&w, &line, SIDE, 1, 1), NF_OK);
    for (uint32_t v = 1; v < SIDE; v++) {
        CU_ASSERT_EQUAL(nf_wormhole_offer(&w, v, v % 50, v, 40, v), NF_OK);
        ways += nf_mesh_hops(&line, v % 50, v);
    }
    while (nf_wormhole_next(&w, &worm, NULL) == NF_OK)
        count++;
    CU_ASSERT_EQUAL(count, SIDE - 1);
    CU_ASSERT(w.max_heap <= 4 * (SIDE + nf_mesh_channels(&line)));
    CU_ASSERT(ways > 50 * w.max_heap);
    nf_wormhole_fini(&w);
}

/* All shift by half a ring at once, a round of an all-to-all. */
static enum nf_status shift(bool one_lane, uint64_t *shared_p,
                            struct nf_error *err)
{
    struct nf_mesh ring = mesh_of("7");
    struct nf_wormhole w;
    enum nf_status status;
    uint32_t worm;

    ring.torus = true;
    ring.one_lane = one_lane;
    status = nf_wormhole_init(&w, &ring, 7, 1, 1);
    for (uint32_t v = 0; v < 7 && status == NF_OK; v++)
        status = nf_wormhole_offer(&w, v, v, (v + 3) % 7, 20, 0);
    while (status == NF_OK)
        status = nf_wormhole_next(&w, &worm, err);
    *shared_p = w.shared;
    nf_wormhole_fini(&w);
    return status;
}

static void a_second_lane_prevents_cycles(void)
{
    struct nf_error err = { .text = "" };
    uint64_t shared;

    CU_ASSERT_EQUAL(shift(false, &shared, &err), NF_WAIT);
    CU_ASSERT(shared > 0);
    CU_ASSERT_EQUAL(shift(true, &shared, &err), NF_ERR_FAILED);
    CU_ASSERT_EQUAL(shared, 0);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(err.text, "7 messages wait for each other in a cycle: "));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "0 (0 to 3)"));
}

int main(void)
{
    int rc;
    CU_TestInfo routes[] = {
        { "sides are read", sides_are_read },
        { "ways are ways", ways_are_ways },
        { "a torus goes the shorter way", a_torus_goes_the_shorter_way },
        { "ways that are said", ways_that_are_said },
        { "ways that are none", ways_that_are_none },
        { "a link has two lanes", a_link_has_two_lanes },
        { "ways along a chain are apart", ways_along_a_chain_are_apart },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo worms[] = {
        { "three worms that collide", three_worms_that_collide },
        { "every flit in every cycle", every_flit_in_every_cycle },
        { "long ways take little room", long_ways_take_little_room },
        { "a second lane prevents cycles", a_second_lane_prevents_cycles },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "routes", NULL, NULL, NULL, NULL, routes },
        { "worms", NULL, NULL, NULL, NULL, worms },
        CU_SUITE_INFO_NULL,
    };

    if (!golden_open())
        return 99;
    rc = nf_unit_main(suites);
    json_decref(golden);
    return rc;
}
