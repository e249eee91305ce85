/* Bounds for a message in segments.
 *
 * Segment q follows the one before it down the same tree, so that none of its
 * nodes may have a period above P if the whole is to take about q * P: P is at
 * least the least period under which there is room for n - 1 children. */
#include "config.h"
#include <math.h>
#include "common/base/alloc.h"
#include "common/tree/crl.h"
#include "common/tree/hnow.h"

/* What matters of the ways between the nodes. */
struct ways {
    double *port_out_us; /* [node], the least to anybody */
    double port_in_us;   /* the greatest of the least that lead to a node */
    double latency_us;   /* the least wire - port */
};

static void ways_fini(struct ways *ways)
{
    nf_free(ways->port_out_us);
}

/* Those of all others to @p j.  No fmin() here, which is a call: for many nodes
 * these are most of what a bound takes. */
static void add_ways_to(struct ways *ways, const struct nf_hops *hops,
                        uint32_t j)
{
    const double *port_us = hops->port + nf_hops_at(hops, 0, j);
    const double *wire_us = hops->wire + nf_hops_at(hops, 0, j);
    double in_us = INFINITY, latency_us = ways->latency_us;
    double link_us = nf_hops_in(hops, j);

    for (uint32_t i = 0; i < hops->nodes; i++) {
        double busy_us;

        if (i == j)
            continue;
        if (port_us[i] < in_us)
            in_us = port_us[i];
        if (port_us[i] < ways->port_out_us[i])
            ways->port_out_us[i] = port_us[i];
        /* the period may be that of either */
        busy_us = port_us[i] > link_us ? port_us[i] : link_us;
        if (wire_us[i] - busy_us < latency_us)
            latency_us = wire_us[i] - busy_us;
    }
    ways->latency_us = latency_us;
    if (in_us > ways->port_in_us)
        ways->port_in_us = in_us;
}

static enum nf_status ways_init(struct ways *ways, const struct nf_hops *hops,
                                uint32_t root)
{
    uint32_t n = hops->nodes;

    *ways = (struct ways){ .latency_us = INFINITY };
    ways->port_out_us = nf_calloc(n, sizeof(double));
    if (ways->port_out_us == NULL)
        return NF_ERR_NOMEM;
    for (uint32_t v = 0; v < n; v++)
        ways->port_out_us[v] = INFINITY;
    if (!hops->is_matrix && n > 1) {
        for (uint32_t v = 0; v < n; v++)
            ways->port_out_us[v] = hops->port[0];
        ways->port_in_us = hops->port[0];
        ways->latency_us = hops->wire[0] - hops->port[0];
        return NF_OK;
    }
    for (uint32_t j = 0; j < n; j++)
        if (j != root)
            add_ways_to(ways, hops, j);
    return NF_OK;
}

/* How many children v can have under a period. */
static double room_for(const struct nf_hops *hops, const struct ways *ways,
                       uint32_t root, uint32_t v, double period_us)
{
    double left_us = period_us - (v != root ? hops->recv[v] : 0);
    double most = hops->nodes;

    if (left_us < 0)
        return 0;
    if (hops->send[v] > 0)
        most = fmin(most, floor(left_us / hops->send[v]));
    if (ways->port_out_us[v] > 0)
        most = fmin(most, floor(period_us / ways->port_out_us[v]));
    return most;
}

static bool is_possible(const struct nf_hops *hops, const struct ways *ways,
                        uint32_t root, double period_us)
{
    double room = 0;

    if (period_us < ways->port_in_us ||
        room_for(hops, ways, root, root, period_us) < 1)
        return false;
    for (uint32_t v = 0; v < hops->nodes; v++) {
        if (v != root &&
            (hops->recv[v] > period_us || nf_hops_in(hops, v) > period_us))
            return false;
        room += room_for(hops, ways, root, v, period_us);
    }
    return room >= hops->nodes - 1;
}

/* The least possible period, by halving as far as numbers go. */
static double least_period(const struct nf_hops *hops, const struct ways *ways,
                           uint32_t root)
{
    double low_us = 0, high_us = 1;

    if (hops->nodes == 1 || is_possible(hops, ways, root, 0))
        return 0;
    while (!is_possible(hops, ways, root, high_us) && high_us < 1e300)
        high_us *= 2;
    for (int i = 0; i < 200; i++) {
        double middle_us = low_us + (high_us - low_us) / 2;

        if (middle_us <= low_us || middle_us >= high_us)
            break;
        if (is_possible(hops, ways, root, middle_us))
            high_us = middle_us;
        else
            low_us = middle_us;
    }
    return high_us;
}

/* On a shared medium each segment is on it once for each node, one after the
 * other, from when the root has handed the first one over; and the last one is
 * not received before it is there.  O(nodes^2) */
static double medium_bound_us(const struct nf_hops *hops, uint32_t root,
                              uint64_t segments, double recv_us)
{
    double busy_us = 0, rest_us = INFINITY;

    for (uint32_t j = 0; j < hops->nodes; j++) {
        double least_us = INFINITY;

        for (uint32_t i = 0; j != root && i < hops->nodes; i++) {
            double medium_us = nf_hops_medium(hops, i, j);

            if (i == j)
                continue;
            least_us = fmin(least_us, medium_us);
            rest_us = fmin(rest_us, nf_hops_wire(hops, i, j) - medium_us);
        }
        busy_us += j != root ? least_us : 0;
    }
    return hops->send[root] + (double)segments * busy_us + rest_us + recv_us;
}

static bool is_some_spare(const struct nf_hops *hops)
{
    for (uint32_t v = 0; v < hops->nodes; v++)
        if (nf_hops_spare(hops, v) > 0)
            return true;
    return false;
}

enum nf_status nf_tree_bound_of(const struct nf_hops *hops, uint32_t root,
                                uint64_t segments, double *time_us_p,
                                double *period_us_p)
{
    struct ways ways;
    double recv_us = INFINITY, first_us, period_us = 0;

    if (period_us_p != NULL)
        *period_us_p = period_us;
    if (hops->nodes < 2) {
        *time_us_p = 0;
        return NF_OK;
    }
    if (nf_tree_bound_legal(hops, root, &first_us) != NF_OK ||
        ways_init(&ways, hops, root) != NF_OK)
        return NF_ERR_NOMEM;
    for (uint32_t v = 0; v < hops->nodes; v++)
        if (v != root)
            recv_us = fmin(recv_us, hops->recv[v]);
    period_us = least_period(hops, &ways, root);
    *time_us_p = (double)(segments - 1) *
                     fmax(hops->send[root], ways.port_out_us[root]) +
                 first_us;
    if (!is_some_spare(hops)) /* else ports may be free of charge */
        *time_us_p = fmax(*time_us_p,
                          (double)segments * period_us + ways.latency_us +
                              fmin(hops->send[root], recv_us));
    if (hops->medium != NULL)
        *time_us_p = fmax(*time_us_p,
                          medium_bound_us(hops, root, segments, recv_us));
    ways_fini(&ways);
    if (period_us_p != NULL)
        *period_us_p = period_us;
    return NF_OK;
}

enum nf_status nf_tree_bound_segments(const struct nf_hetero *hetero,
                                      uint32_t root, uint64_t bytes,
                                      uint64_t least_segment, double *time_us_p)
{
    struct nf_hops hops;
    enum nf_status status;
    double least_us = INFINITY;
    uint64_t segment = bytes;
    bool is_last = false;

    status = nf_hetero_check(hetero, root, NULL);
    if (status != NF_OK)
        return status;
    if (hetero->hosts < 2) {
        *time_us_p = 0;
        return NF_OK;
    }
    least_segment = nf_segment_least(bytes, least_segment);
    status = nf_hops_init_segments(&hops, hetero, (double)bytes, 1);
    while (status == NF_OK && !is_last) {
        double time_us = 0;

        status = nf_tree_bound_of(&hops, root, nf_segment_count(bytes, segment),
                                  &time_us, NULL);
        least_us = fmin(least_us, time_us);
        segment = nf_segment_next(segment, least_segment);
        is_last = segment == 0;
        nf_hops_set(&hops, hetero, (double)segment);
    }
    nf_hops_fini(&hops);
    if (status == NF_OK)
        *time_us_p = least_us;
    return status;
}
