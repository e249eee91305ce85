#include "config.h"
#include "common/tree/hops.h"
#include <math.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/model/network.h"

enum nf_status nf_hops_init(struct nf_hops *hops_p,
                            const struct nf_hetero *hetero, double bytes)
{
    uint32_t n = hetero->hosts;
    size_t wires = hetero->is_matrix ? (size_t)n * n : 1;
    bool has_links =
        hetero->measured != NULL && hetero->has_ports && !hetero->is_shared;

    *hops_p = (struct nf_hops){ .nodes = n,
                                .is_matrix = hetero->is_matrix,
                                .is_leaf = hetero->is_leaf };
    hops_p->send = nf_calloc(n, sizeof(double));
    hops_p->recv = nf_calloc(n, sizeof(double));
    hops_p->wire = nf_calloc(wires, sizeof(double));
    hops_p->port = nf_calloc(wires, sizeof(double));
    if (hetero->is_shared)
        hops_p->medium = nf_calloc(wires, sizeof(double));
    if (has_links) {
        hops_p->in = nf_calloc(n, sizeof(double));
        hops_p->spare = nf_calloc(n, sizeof(double));
        hops_p->spare_in = nf_calloc(n, sizeof(double));
    }
    if ((hetero->is_shared && hops_p->medium == NULL) || hops_p->send == NULL ||
        (has_links && (hops_p->in == NULL || hops_p->spare == NULL ||
                       hops_p->spare_in == NULL)) ||
        hops_p->recv == NULL || hops_p->wire == NULL || hops_p->port == NULL) {
        nf_hops_fini(hops_p);
        return NF_ERR_NOMEM;
    }
    nf_hops_set(hops_p, hetero, bytes);
    return NF_OK;
}

static void set_wire(struct nf_hops *hops, const struct nf_hetero *hetero,
                     double bytes, size_t to, size_t from)
{
    struct nf_cost cost = hetero->wire[from];

    hops->wire[to] = nf_cost_us(cost, bytes);
    hops->port[to] = hetero->has_ports ? cost.byte_us * bytes : 0;
}

/* Rows become columns: tile by tile, so that of memory that is read or written
 * across each line comes once. */
static void set_wires(struct nf_hops *hops, const struct nf_hetero *hetero,
                      double bytes)
{
    const size_t n = hops->nodes, tile = 16;

    for (size_t at_j = 0; at_j < n; at_j += tile)
        for (size_t at_i = 0; at_i < n; at_i += tile) {
            size_t end_j = at_j + tile < n ? at_j + tile : n;
            size_t end_i = at_i + tile < n ? at_i + tile : n;

            for (size_t j = at_j; j < end_j; j++)
                for (size_t i = at_i; i < end_i; i++)
                    set_wire(hops, hetero, bytes, j * n + i, i * n + j);
        }
}

/* Without ports the hands have all of what holds a sender, and the wires what
 * is left of T. */
static void move_hold_to_hands(struct nf_hops *hops,
                               const struct nf_network *network, uint32_t i,
                               double bytes)
{
    double more_us =
        nf_curve_us(&network->hosts[i].hold, bytes) - hops->send[i];

    if (more_us <= 0)
        return;
    hops->send[i] += more_us;
    for (uint32_t j = 0; j < hops->nodes; j++) {
        double *wire = &hops->wire[(size_t)j * hops->nodes + i];

        *wire = fmax(*wire - more_us, 0);
    }
}

static void set_medium(struct nf_hops *hops, const struct nf_network *network,
                       double bytes)
{
    uint32_t n = hops->nodes;

    for (uint32_t j = 0; j < n; j++)
        for (uint32_t i = 0; i < n; i++)
            if (i != j)
                hops->medium[(size_t)j * n + i] = nf_network_medium_us(
                    network, i, j, bytes, hops->port[(size_t)j * n + i]);
}

/* A link in is busy for as long as the port of whoever has it the shortest
 * time, a link out as that of the shortest way: the others wait for the far
 * end.  0 are ports to oneself and to members on the same host. */
static void part_links(struct nf_hops *hops, double bytes)
{
    uint32_t n = hops->nodes;

    for (uint32_t j = 0; j < n; j++) {
        double least_us = INFINITY;

        for (uint32_t i = 0; i < n; i++)
            if (nf_hops_port(hops, i, j) > 0)
                least_us = fmin(least_us, nf_hops_port(hops, i, j));
        hops->in[j] = isinf(least_us) ? 0 : least_us;
    }
    for (uint32_t i = 0; i < n && bytes < NF_HOPS_SHORT_BYTES; i++) {
        double least_us = INFINITY;

        for (uint32_t j = 0; j < n; j++)
            if (nf_hops_port(hops, i, j) > 0)
                least_us = fmin(least_us, nf_hops_port(hops, i, j));
        for (uint32_t j = 0; j < n; j++)
            if (nf_hops_port(hops, i, j) > 0)
                hops->port[nf_hops_at(hops, i, j)] = least_us;
    }
}

static void set_measured(struct nf_hops *hops, const struct nf_hetero *hetero,
                         double bytes)
{
    const struct nf_network *network = hetero->measured;
    double wake_us = hetero->in_groups ? network->wake_us : 0;
    uint32_t n = hops->nodes;

    for (uint32_t i = 0; i < n; i++) {
        const struct nf_network_host *host = &network->hosts[i];
        double more_us = hetero->in_groups ? host->runtime_us : 0;

        hops->send[i] = nf_curve_us(&host->send, bytes) + more_us;
        hops->recv[i] = nf_curve_us(&host->recv, bytes) + more_us;
        for (uint32_t j = 0; j < n; j++) {
            hops->wire[(size_t)j * n + i] =
                i != j ? nf_curve_us(nf_network_wire(network, i, j), bytes) : 0;
            hops->port[(size_t)j * n + i] = 0;
        }
        if (hetero->has_ports)
            nf_network_ports(network, i, bytes, hops->port + i, n);
        else
            move_hold_to_hands(hops, network, i, bytes);
        for (uint32_t j = 0; j < n; j++)
            hops->wire[(size_t)j * n + i] += i != j ? wake_us : 0;
    }
    if (hops->medium != NULL)
        set_medium(hops, network, bytes);
    else if (hops->in != NULL)
        part_links(hops, bytes);
}

void nf_hops_set(struct nf_hops *hops, const struct nf_hetero *hetero,
                 double bytes)
{
    uint32_t n = hops->nodes;

    if (hops->spare != NULL) {
        memset(hops->spare, 0, n * sizeof(double));
        memset(hops->spare_in, 0, n * sizeof(double));
    }
    if (hetero->measured != NULL) {
        set_measured(hops, hetero, bytes);
        return;
    }
    for (uint32_t i = 0; i < n; i++) {
        hops->send[i] = nf_cost_us(hetero->send[i], bytes);
        hops->recv[i] = nf_cost_us(hetero->recv[i], bytes);
    }
    if (hops->is_matrix)
        set_wires(hops, hetero, bytes);
    else
        set_wire(hops, hetero, bytes, 0, 0);
    if (hops->medium != NULL)
        memcpy(hops->medium, hops->port,
               (hops->is_matrix ? (size_t)n * n : 1) * sizeof(double));
}

/* What passes at once to somebody passes through the link of both, so that each lets
 * pass no less; but single ones are noisy: the mean of those that there are.
 * @param in  of the ways to v, or from it */
static double mean_burst(const struct nf_hops *hops,
                         const struct nf_network *network, uint32_t v, bool in)
{
    double sum_bytes = 0;
    uint32_t count = 0;

    for (uint32_t w = 0; w < hops->nodes; w++) {
        uint32_t i = in ? w : v, j = in ? v : w;

        if (!(nf_hops_port(hops, i, j) > 0))
            continue;
        sum_bytes += nf_network_burst_bytes(network, i, j);
        count++;
    }
    return count > 0 ? sum_bytes / count : 0;
}

/* The rate of v's link out, or of that in: of the fastest way, or port, which may be
 * less by what nf_network_ports() knows of holding. */
static double least_byte_us(const struct nf_hops *hops,
                            const struct nf_network *network, uint32_t v,
                            bool in, double bytes)
{
    double least_us = INFINITY;

    for (uint32_t w = 0; w < hops->nodes; w++) {
        uint32_t i = in ? w : v, j = in ? v : w;

        if (nf_hops_port(hops, i, j) > 0)
            least_us = fmin(
                least_us,
                fmin(nf_curve_last_slope(nf_network_wire(network, i, j)),
                     nf_hops_port(hops, i, j) / bytes));
    }
    return isinf(least_us) ? 0 : least_us;
}

/* @param byte_us  the rate of v's link out, or of that in
 * @return what is spare there, heads of one message included: in times, which each
 *  message has them in, they were not seen */
static double spare_us(const struct nf_hops *hops,
                       const struct nf_network *network, uint32_t v, bool in,
                       double byte_us)
{
    double burst_bytes = mean_burst(hops, network, v, in);

    return burst_bytes > 0 ? (burst_bytes + NF_HOPS_HEADS_BYTES) * byte_us : 0;
}

/* A single short segment.  Heads, too, take of what is spare; times of streams, which
 * ports may be, have them. */
static void pass_at_once(struct nf_hops *hops, const struct nf_hetero *hetero,
                         double bytes, uint64_t segments)
{
    const struct nf_network *network = hetero->measured;
    double all_bytes = bytes + NF_HOPS_HEADS_BYTES;
    uint32_t n = hops->nodes;

    if (hops->spare == NULL || segments > 1 ||
        !(bytes > 0 && bytes < NF_HOPS_SHORT_BYTES))
        return;
    for (uint32_t v = 0; v < n; v++) { /* rates, while ports are without heads */
        hops->spare[v] = least_byte_us(hops, network, v, false, bytes);
        hops->spare_in[v] = least_byte_us(hops, network, v, true, bytes);
    }
    for (uint32_t v = 0; v < n; v++) {
        double byte_us = hops->spare[v], in_byte_us = hops->spare_in[v];

        hops->spare[v] = spare_us(hops, network, v, false, byte_us);
        hops->spare_in[v] = spare_us(hops, network, v, true, in_byte_us);
        if (hops->spare_in[v] > 0)
            hops->in[v] = fmax(hops->in[v], all_bytes * in_byte_us);
        for (uint32_t w = 0; hops->spare[v] > 0 && w < n; w++) {
            double *port_us = &hops->port[nf_hops_at(hops, v, w)];

            if (*port_us > 0)
                *port_us = fmax(*port_us, all_bytes * byte_us);
        }
    }
}

void nf_hops_set_segments(struct nf_hops *hops, const struct nf_hetero *hetero,
                          double bytes, uint64_t segments)
{
    nf_hops_set(hops, hetero, bytes);
    pass_at_once(hops, hetero, bytes, segments);
}

enum nf_status nf_hops_init_segments(struct nf_hops *hops_p,
                                     const struct nf_hetero *hetero,
                                     double bytes, uint64_t segments)
{
    enum nf_status status = nf_hops_init(hops_p, hetero, bytes);

    if (status == NF_OK)
        pass_at_once(hops_p, hetero, bytes, segments);
    return status;
}

static bool is_time(double us)
{
    return us >= 0 && us < INFINITY;
}

/* Of all pairs but the diagonal, or of the one wire that there is. */
static bool are_times(const struct nf_hops *hops, const double *us)
{
    size_t n = hops->nodes;

    if (us == NULL)
        return true;
    if (!hops->is_matrix)
        return is_time(us[0]);
    for (size_t j = 0; j < n; j++)
        for (size_t i = 0; i < n; i++)
            if (!is_time(us[j * n + i]) && i != j)
                return false;
    return true;
}

enum nf_status nf_hops_check(const struct nf_hops *hops, uint32_t root)
{
    if (root >= hops->nodes)
        return NF_ERR_RANGE;
    for (size_t i = 0; i < hops->nodes; i++)
        if (!is_time(hops->send[i]) || !is_time(hops->recv[i]))
            return NF_ERR_INVAL;
    for (size_t j = 0; hops->in != NULL && j < hops->nodes; j++)
        if (!is_time(hops->in[j]) || !is_time(hops->spare[j]) ||
            !is_time(hops->spare_in[j]))
            return NF_ERR_INVAL;
    return are_times(hops, hops->wire) && are_times(hops, hops->port) &&
                   are_times(hops, hops->medium)
               ? NF_OK
               : NF_ERR_INVAL;
}

void nf_hops_fini(struct nf_hops *hops)
{
    nf_free(hops->send);
    nf_free(hops->recv);
    nf_free(hops->wire);
    nf_free(hops->port);
    nf_free(hops->in);
    nf_free(hops->spare);
    nf_free(hops->spare_in);
    nf_free(hops->medium);
    *hops = (struct nf_hops){ .nodes = 0 };
}
