#include "config.h"
#include "sim/mesh.h"
#include <stdlib.h>

/* The channels of a node: */
enum { INJECTION, EJECTION, FIRST_LINK };

enum nf_status nf_mesh_parse(const char *text, struct nf_mesh *mesh_p,
                             struct nf_error *err)
{
    struct nf_mesh mesh = { .nodes = 1 };
    const char *at = text;

    for (;; at++) {
        char *end;
        unsigned long side;

        if (*at < '0' || *at > '9')
            return nf_fail(err, NF_ERR_INVAL,
                           "%.100s: want the sides of a mesh, as in 16x16",
                           text);
        side = strtoul(at, &end, 10);
        if (mesh.dims == NF_MESH_DIMS_MAX)
            return nf_fail(err, NF_ERR_RANGE,
                           "%.100s: want at most %d dimensions", text,
                           NF_MESH_DIMS_MAX);
        if (side < 1 || side > NF_MESH_NODES_MAX / mesh.nodes)
            return nf_fail(err, NF_ERR_RANGE,
                           "%.100s: want sides from 1 on and at most %d nodes",
                           text, NF_MESH_NODES_MAX);
        mesh.side[mesh.dims++] = (uint32_t)side;
        mesh.nodes *= (uint32_t)side;
        at = end;
        if (*at == '\0')
            break;
        if (*at != 'x')
            return nf_fail(err, NF_ERR_INVAL,
                           "%.100s: want the sides of a mesh, as in 16x16",
                           text);
    }
    *mesh_p = mesh;
    return NF_OK;
}

void nf_mesh_address(const struct nf_mesh *mesh, uint32_t node,
                     uint32_t *address_p)
{
    for (uint32_t d = mesh->dims; d-- > 0;) {
        address_p[d] = node % mesh->side[d];
        node /= mesh->side[d];
    }
}

uint32_t nf_mesh_node(const struct nf_mesh *mesh, const uint32_t *address)
{
    uint32_t node = 0;

    for (uint32_t d = 0; d < mesh->dims; d++)
        node = node * mesh->side[d] + address[d];
    return node;
}

/* ---- channels ---- */

static uint32_t lanes(const struct nf_mesh *mesh)
{
    return mesh->torus ? 2 : 1;
}

static uint32_t channels_of_a_node(const struct nf_mesh *mesh)
{
    return FIRST_LINK + 2 * mesh->dims * lanes(mesh);
}

uint32_t nf_mesh_channels(const struct nf_mesh *mesh)
{
    return mesh->nodes * channels_of_a_node(mesh);
}

bool nf_mesh_is_port(const struct nf_mesh *mesh, uint32_t channel)
{
    return channel % channels_of_a_node(mesh) < FIRST_LINK;
}

/* How a message goes from a to b in dimension d: so many steps up or down. */
struct leg {
    uint32_t steps;
    bool up;
};

static struct leg leg_of(const struct nf_mesh *mesh, uint32_t d, uint32_t a,
                         uint32_t b)
{
    uint32_t side = mesh->side[d];
    uint32_t ahead = b >= a ? b - a : b + side - a;
    uint32_t behind = side - ahead;

    if (!mesh->torus)
        return b >= a ? (struct leg){ b - a, true }
                      : (struct leg){ a - b, false };
    if (ahead < behind || (ahead == behind && a % 2 == 0))
        return (struct leg){ ahead, true };
    return (struct leg){ behind, false };
}

uint32_t nf_mesh_hops(const struct nf_mesh *mesh, uint32_t from, uint32_t to)
{
    uint32_t a[NF_MESH_DIMS_MAX], b[NF_MESH_DIMS_MAX], hops = 2;

    nf_mesh_address(mesh, from, a);
    nf_mesh_address(mesh, to, b);
    for (uint32_t d = 0; d < mesh->dims; d++)
        hops += leg_of(mesh, d, a[d], b[d]).steps;
    return hops;
}

/* The channel of step @p step of a leg in dimension d; at[d] is where the leg
 * begins. */
static uint32_t link_of(const struct nf_mesh *mesh, uint32_t d, struct leg leg,
                        uint32_t step, uint32_t *at)
{
    uint32_t side = mesh->side[d], begin = at[d];
    uint32_t to_end = leg.up ? side - 1 - begin : begin;
    uint32_t lane = step >= to_end && !mesh->one_lane; /* round the end */

    at[d] = (leg.up ? begin + step : begin + side - step) % side;
    return nf_mesh_node(mesh, at) * channels_of_a_node(mesh) + FIRST_LINK +
           (2 * d + leg.up) * lanes(mesh) + lane;
}

uint32_t nf_mesh_channel(const struct nf_mesh *mesh, uint32_t from, uint32_t to,
                         uint32_t hop)
{
    uint32_t at[NF_MESH_DIMS_MAX], target[NF_MESH_DIMS_MAX];

    if (hop == 0)
        return from * channels_of_a_node(mesh) + INJECTION;
    nf_mesh_address(mesh, from, at);
    nf_mesh_address(mesh, to, target);
    hop--;
    for (uint32_t i = 0; i < mesh->dims; i++) {
        uint32_t d = mesh->last_first ? mesh->dims - 1 - i : i;
        struct leg leg = leg_of(mesh, d, at[d], target[d]);

        if (hop < leg.steps)
            return link_of(mesh, d, leg, hop, at);
        hop -= leg.steps;
        at[d] = target[d];
    }
    return to * channels_of_a_node(mesh) + EJECTION;
}

void nf_mesh_route(const struct nf_mesh *mesh, uint32_t from, uint32_t to,
                   uint32_t *channel_p)
{
    uint32_t hops = nf_mesh_hops(mesh, from, to);

    for (uint32_t hop = 0; hop < hops; hop++)
        channel_p[hop] = nf_mesh_channel(mesh, from, to, hop);
}

/* ---- ways that are said ---- */

static struct leg leg_said(const struct nf_mesh_way *way)
{
    return way->steps > 0 ? (struct leg){ (uint32_t)way->steps, true }
                          : (struct leg){ (uint32_t)-way->steps, false };
}

bool nf_mesh_has_way(const struct nf_mesh *mesh, const struct nf_mesh_way *way)
{
    uint32_t at[NF_MESH_DIMS_MAX], side;
    int64_t end;

    if (way->from >= mesh->nodes || way->to >= mesh->nodes)
        return false;
    if (way->steps == 0)
        return true;
    if (way->side >= mesh->dims)
        return false;
    side = mesh->side[way->side];
    if (way->steps <= -(int64_t)side || way->steps >= (int64_t)side)
        return false;
    nf_mesh_address(mesh, way->from, at);
    end = (int64_t)at[way->side] + way->steps;
    if (!mesh->torus && (end < 0 || end >= side))
        return false;
    at[way->side] = (uint32_t)((end + side) % side);
    return nf_mesh_node(mesh, at) == way->to;
}

uint32_t nf_mesh_way_hops(const struct nf_mesh *mesh,
                          const struct nf_mesh_way *way)
{
    return way->steps != 0 ? leg_said(way).steps + 2
                           : nf_mesh_hops(mesh, way->from, way->to);
}

uint32_t nf_mesh_way_channel(const struct nf_mesh *mesh,
                             const struct nf_mesh_way *way, uint32_t hop)
{
    struct leg leg = leg_said(way);
    uint32_t at[NF_MESH_DIMS_MAX];

    if (way->steps == 0 || hop == 0)
        return nf_mesh_channel(mesh, way->from, way->to, hop);
    if (hop > leg.steps)
        return way->to * channels_of_a_node(mesh) + EJECTION;
    nf_mesh_address(mesh, way->from, at);
    return link_of(mesh, way->side, leg, hop - 1, at);
}

uint32_t nf_mesh_other_lane(const struct nf_mesh *mesh, uint32_t channel)
{
    uint32_t first = channel - channel % channels_of_a_node(mesh) + FIRST_LINK;

    if (!mesh->torus || nf_mesh_is_port(mesh, channel))
        return channel;
    return first + ((channel - first) ^ 1);
}
