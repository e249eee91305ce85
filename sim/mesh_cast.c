#include "config.h"
#include "sim/mesh_cast.h"
#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "common/tree/mesh_chain.h"
#include "sim/wormhole.h"

enum nf_status nf_mesh_cast_check(const struct nf_mesh_cast *cast,
                                  struct nf_error *err)
{
    const int64_t ticks[] = { cast->costs.send_fixed, cast->costs.send_byte,
                              cast->costs.hop, cast->costs.recv_fixed,
                              cast->costs.recv_byte };
    struct nf_uniform uniform;

    for (size_t i = 0; i < sizeof(ticks) / sizeof(ticks[0]); i++)
        if (ticks[i] < 0 || ticks[i] > NF_MESH_TICKS_MAX)
            return nf_fail(err, NF_ERR_RANGE, "want ticks from 0 to %lld",
                           (long long)NF_MESH_TICKS_MAX);
    if (cast->costs.hop < 1)
        return nf_fail(err, NF_ERR_RANGE, "a hop takes at least one tick");
    if (cast->bytes > NF_MESH_BYTES_MAX)
        return nf_fail(err, NF_ERR_RANGE, "%u bytes: want at most %u",
                       cast->bytes, NF_MESH_BYTES_MAX);
    uniform = nf_mesh_uniform(cast);
    return nf_uniform_check(&uniform, err);
}

static int64_t send_time(const struct nf_mesh_cast *cast)
{
    return cast->costs.send_fixed + cast->bytes * cast->costs.send_byte;
}

static int64_t recv_time(const struct nf_mesh_cast *cast)
{
    return cast->costs.recv_fixed + cast->bytes * cast->costs.recv_byte;
}

struct nf_uniform nf_mesh_uniform(const struct nf_mesh_cast *cast)
{
    return (struct nf_uniform){
        .hold = send_time(cast),
        .end =
            send_time(cast) + cast->bytes * cast->costs.hop + recv_time(cast),
        .ports = cast->ports,
        .interval = cast->interval,
    };
}

/* 0 to n - 1, by the upper 53 bits as a fraction. */
static uint32_t below(struct nf_rng *rng, uint32_t n)
{
    return (uint32_t)((double)(nf_rng_next(rng) >> 11) * 0x1p-53 * n);
}

void nf_mesh_place(const struct nf_mesh *mesh, uint64_t seed, uint32_t nodes,
                   uint32_t *place_p)
{
    struct nf_rng rng = { seed };

    for (uint32_t v = 0; v < mesh->nodes; v++)
        place_p[v] = v;
    for (uint32_t i = 0; i < nodes; i++) {
        uint32_t j = i + below(&rng, mesh->nodes - i), kept = place_p[i];

        place_p[i] = place_p[j];
        place_p[j] = kept;
    }
}

/* The nodes at the places of the chain, into node_at[]. */
static enum nf_status make_chain(const struct nf_mesh *mesh,
                                 const uint32_t *place, uint32_t nodes,
                                 uint32_t *node_at, struct nf_error *err)
{
    uint32_t *address = nf_calloc(nodes, (size_t)mesh->dims * sizeof(*address));
    enum nf_status status;

    if (address == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    for (uint32_t v = 0; v < nodes; v++)
        nf_mesh_address(mesh, place[v], address + (size_t)v * mesh->dims);
    status = nf_mesh_chain(address, nodes, mesh->dims, node_at, err);
    nf_free(address);
    return status;
}

enum nf_status nf_mesh_tree(const struct nf_mesh *mesh,
                            const struct nf_uniform_algorithm *algorithm,
                            const struct nf_uniform *uniform,
                            const uint32_t *place, uint32_t nodes,
                            struct nf_tree *tree_p, struct nf_error *err)
{
    uint32_t *node_at = nf_calloc(nodes, sizeof(*node_at));
    struct nf_uniform_args args = { .nodes = nodes, .uniform = *uniform };
    enum nf_status status;

    if (node_at == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    status = make_chain(mesh, place, nodes, node_at, err);
    if (algorithm->on_chain)
        args.node_at = node_at;
    if (status == NF_OK)
        status = nf_uniform_make(algorithm, &args, tree_p, err);
    nf_free(node_at);
    return status;
}

/* ---- the simulation ---- */

struct run {
    const struct nf_mesh_cast *cast;
    const struct nf_tree *tree;
    const uint32_t *place;
    uint32_t *node_of; /* of a place of the mesh */
    struct nf_uniform uniform;
    struct nf_wormhole worms; /* numbered by their receivers' places */
};

/* Node v is ready: it sends to its children. */
static enum nf_status send_on(struct run *run, uint32_t v, int64_t ready)
{
    const struct nf_tree *tree = run->tree;
    uint32_t first = tree->first[v];

    for (uint32_t i = first; i < tree->first[v + 1]; i++) {
        uint32_t to = run->place[tree->child[i]];
        int64_t at = ready + send_time(run->cast) +
                     nf_uniform_start(&run->uniform, i - first);
        enum nf_status status = nf_wormhole_offer(
            &run->worms, to, run->place[v], to, run->cast->bytes, at);

        if (status != NF_OK)
            return status;
    }
    return NF_OK;
}

static enum nf_status carry_out(struct run *run, int64_t *ready_p,
                                struct nf_mesh_result *result,
                                struct nf_error *err)
{
    uint32_t place = 0;
    enum nf_status status = send_on(run, run->tree->root, 0);

    if (ready_p != NULL)
        ready_p[run->tree->root] = 0;
    while (status == NF_OK) {
        uint32_t v;
        int64_t ready;

        status = nf_wormhole_next(&run->worms, &place, err);
        if (status != NF_OK)
            return status == NF_WAIT ? NF_OK : status;
        v = run->node_of[place];
        ready = run->worms.worms[place].delivered + recv_time(run->cast);
        if (ready_p != NULL)
            ready_p[v] = ready;
        if (ready > result->time)
            result->time = ready;
        status = send_on(run, v, ready);
    }
    return nf_fail(err, status, "out of memory");
}

enum nf_status nf_mesh_cast(const struct nf_mesh_cast *cast,
                            const struct nf_tree *tree, const uint32_t *place,
                            int64_t *ready_p, struct nf_mesh_result *result_p,
                            struct nf_error *err)
{
    struct run run = { cast, tree, place, .uniform = nf_mesh_uniform(cast) };
    struct nf_mesh_result result = { .time = 0 };
    enum nf_status status =
        nf_wormhole_init(&run.worms, &cast->mesh, cast->mesh.nodes, cast->ports,
                         cast->costs.hop);

    run.node_of = nf_calloc(cast->mesh.nodes, sizeof(*run.node_of));
    if (status == NF_OK && run.node_of != NULL) {
        for (uint32_t v = 0; v < tree->nodes; v++)
            run.node_of[place[v]] = v;
        status = carry_out(&run, ready_p, &result, err);
    } else {
        status = nf_fail(err, NF_ERR_NOMEM, "out of memory");
    }
    result.waits = run.worms.waits;
    result.waited = run.worms.waited;
    result.events = run.worms.events;
    if (status == NF_OK)
        *result_p = result;
    nf_wormhole_fini(&run.worms);
    nf_free(run.node_of);
    return status;
}
