#include "config.h"
#include "common/model/estimate.h"
#include <math.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/model/pool.h"

static bool ascend(const double *sizes, uint32_t nsizes, const uint32_t *runs,
                   uint32_t nruns)
{
    for (uint32_t i = 1; i < nsizes; i++)
        if (!(sizes[i] > sizes[i - 1]))
            return false;
    for (uint32_t i = 1; i < nruns; i++)
        if (runs[i] <= runs[i - 1])
            return false;
    return sizes[0] >= 0 && sizes[0] <= 0;
}

enum nf_status nf_measures_init(struct nf_measures *measures_p, uint32_t hosts,
                                const double *sizes, uint32_t nsizes,
                                uint32_t recv_sizes, const uint32_t *runs,
                                uint32_t nruns)
{
    struct nf_measures m = { .hosts = hosts,
                             .nsizes = nsizes,
                             .nruns = nruns,
                             .recv_sizes = recv_sizes };

    if (hosts < 2 || hosts > NF_NETWORK_HOSTS_MAX || nsizes < 1 ||
        nsizes > NF_CURVE_POINTS_MAX || nruns < 2 || nruns > NF_RUNS_MAX ||
        recv_sizes < 1 || recv_sizes > nsizes ||
        !ascend(sizes, nsizes, runs, nruns))
        return NF_ERR_INVAL;
    for (uint32_t i = 0; i < nsizes; i++)
        m.sizes[i] = sizes[i];
    m.runs = nf_calloc((size_t)hosts * nruns, sizeof(*m.runs));
    for (uint32_t i = 0; m.runs != NULL && i < hosts * nruns; i++)
        m.runs[i] = runs[i % nruns];
    m.send = nf_calloc((size_t)hosts * nsizes, sizeof(double));
    m.recv = nf_calloc((size_t)hosts * nsizes, sizeof(double));
    m.ping = nf_calloc((size_t)hosts * hosts * nsizes, sizeof(double));
    m.seq = nf_calloc((size_t)hosts * nsizes * nruns, sizeof(double));
    m.send_low = nf_calloc((size_t)hosts * nsizes, sizeof(double));
    m.recv_low = nf_calloc((size_t)hosts * nsizes, sizeof(double));
    m.ping_low = nf_calloc((size_t)hosts * hosts * nsizes, sizeof(double));
    m.seq_low = nf_calloc((size_t)hosts * nsizes * nruns, sizeof(double));
    m.recv_uneven = nf_calloc((size_t)hosts * nsizes, sizeof(bool));
    m.ping_uneven = nf_calloc((size_t)hosts * hosts * nsizes, sizeof(bool));
    m.seq_uneven = nf_calloc((size_t)hosts * nsizes, sizeof(bool));
    *measures_p = m;
    if (m.runs != NULL && m.send != NULL && m.recv != NULL && m.ping != NULL &&
        m.seq != NULL && m.send_low != NULL && m.recv_low != NULL &&
        m.ping_low != NULL && m.seq_low != NULL && m.recv_uneven != NULL &&
        m.ping_uneven != NULL && m.seq_uneven != NULL)
        return NF_OK;
    nf_measures_fini(measures_p);
    return NF_ERR_NOMEM;
}

void nf_measures_fini(struct nf_measures *measures)
{
    nf_free(measures->runs);
    nf_free(measures->send);
    nf_free(measures->recv);
    nf_free(measures->ping);
    nf_free(measures->seq);
    nf_free(measures->send_low);
    nf_free(measures->recv_low);
    nf_free(measures->ping_low);
    nf_free(measures->seq_low);
    nf_free(measures->recv_uneven);
    nf_free(measures->ping_uneven);
    nf_free(measures->seq_uneven);
    *measures = (struct nf_measures){ .hosts = 0 };
}

/* @param uneven  [count], or NULL: none is */
static enum nf_status fit(const struct nf_measures *m, const double *times,
                          const bool *uneven, uint32_t count,
                          struct nf_curve *curve_p, struct nf_error *err)
{
    struct nf_curve_point points[NF_CURVE_POINTS_MAX];
    uint32_t even = 0, n = 0;

    for (uint32_t k = 0; k < count; k++)
        even += k == 0 || uneven == NULL || !uneven[k];
    for (uint32_t k = 0; k < count; k++)
        if (k == 0 || uneven == NULL || !uneven[k] || even < NF_EVEN_LEAST)
            points[n++] = (struct nf_curve_point){ m->sizes[k], times[k] };
    return nf_curve_fit(points, n, curve_p, err);
}

/* The slope of SEQ over r: the median over all pairs of runs. */
static double hold_us(const struct nf_measures *m, uint32_t i, uint32_t size)
{
    const uint32_t *runs = &m->runs[(size_t)i * m->nruns];
    double slopes[NF_RUNS_MAX * (NF_RUNS_MAX - 1) / 2];
    size_t count = 0;

    for (uint32_t a = 0; a < m->nruns; a++)
        for (uint32_t b = a + 1; b < m->nruns; b++)
            slopes[count++] = (*nf_measures_seq(m, i, size, b) -
                               *nf_measures_seq(m, i, size, a)) /
                              (runs[b] - runs[a]);
    return nf_curve_median(slopes, count);
}

/* A message takes no longer than one of more bytes, which uses all that it
 * uses: so if it seems to, something was in its way.
 * @param us  [count] of all sizes   @param uneven  [count], or NULL: none is */
static double bounded_us(const double *us, const bool *uneven, uint32_t count,
                         uint32_t size)
{
    double least = us[size];

    if (!isfinite(least)) /* for whoever fits it to say so */
        return least;
    for (uint32_t k = size + 1; k < count; k++)
        if (uneven == NULL || !uneven[k])
            least = fmin(least, us[k]);
    return least;
}

static double send_us(const struct nf_measures *m, uint32_t i, uint32_t size)
{
    return bounded_us(m->send + (size_t)i * m->nsizes, NULL, m->nsizes, size);
}

/* Of the first recv_sizes sizes. */
static double recv_us(const struct nf_measures *m, uint32_t i, uint32_t size)
{
    size_t at = (size_t)i * m->nsizes;

    return bounded_us(m->recv + at, m->recv_uneven + at, m->recv_sizes, size);
}

static double ping_us(const struct nf_measures *m, uint32_t i, uint32_t j,
                      uint32_t size)
{
    size_t at = nf_measures_ping_at(m, i, j, 0);

    return bounded_us(m->ping + at, m->ping_uneven + at, m->nsizes, size);
}

/* S, R and H of a host. */
static enum nf_status fit_host(const struct nf_measures *m, uint32_t i,
                               struct nf_network_host *host,
                               struct nf_error *err)
{
    size_t at = (size_t)i * m->nsizes;
    double send[NF_CURVE_POINTS_MAX], recv[NF_CURVE_POINTS_MAX];
    double hold[NF_CURVE_POINTS_MAX];
    enum nf_status status;

    for (uint32_t k = 0; k < m->nsizes; k++) {
        send[k] = send_us(m, i, k);
        hold[k] = fmax(hold_us(m, i, k), send[k]);
    }
    for (uint32_t k = 0; k < m->recv_sizes; k++)
        recv[k] = recv_us(m, i, k);
    status = fit(m, send, NULL, m->nsizes, &host->send, err);
    if (status == NF_OK)
        status =
            fit(m, recv, m->recv_uneven + at, m->recv_sizes, &host->recv, err);
    if (status == NF_OK)
        status = fit(m, hold, m->seq_uneven + at, m->nsizes, &host->hold, err);
    return status == NF_OK ? NF_OK : nf_fail_prefix(err, "host %u", i);
}

/* ---- wires ---- */

/* The time itself where there is one that is even, so that errors of fits do
 * not come into those of the wires. */
static double take_us(const struct nf_measures *m,
                      const struct nf_network *network, uint32_t i,
                      uint32_t size)
{
    if (size == 0 ||
        (size < m->recv_sizes && !m->recv_uneven[(size_t)i * m->nsizes + size]))
        return recv_us(m, i, size);
    return nf_curve_us(&network->hosts[i].recv, m->sizes[size]);
}

/* An empty message there and back takes the same whoever begins: it was
 * measured twice. */
static void set_wire(const struct nf_measures *m,
                     const struct nf_network *network, uint32_t i, uint32_t j,
                     double *us)
{
    double both_us = (ping_us(m, i, j, 0) + ping_us(m, j, i, 0)) / 2;
    double ends_us = send_us(m, i, 0) + recv_us(m, j, 0);
    double back_us = send_us(m, j, 0) + recv_us(m, i, 0);

    us[0] = (both_us - ends_us - back_us) / 2;
    for (uint32_t k = 1; k < m->nsizes; k++)
        us[k] = ping_us(m, i, j, k) - send_us(m, i, k) -
                take_us(m, network, j, k) - back_us - us[0];
}

/* By how much chance makes one and the same ping differ. */
static double ping_noise_us(const struct nf_measures *m, double *scratch)
{
    size_t count = 0;

    for (uint32_t i = 0; i < m->hosts; i++)
        for (uint32_t j = 0; j < i; j++)
            scratch[count++] = ping_us(m, i, j, 0) - ping_us(m, j, i, 0);
    return nf_pool_noise(scratch, count);
}

/* X_c is a half of the mean of two pings, another X a ping less that. */
static double wire_noise_us(double ping_noise, uint32_t size)
{
    return ping_noise * (size == 0 ? sqrt(1.0 / 8) : sqrt(9.0 / 8));
}

/* @param even  [hosts * hosts] room */
static void pool_wires(const struct nf_measures *m, uint32_t size,
                       double noise_us, double *wires, double *even)
{
    size_t pairs = (size_t)m->hosts * m->hosts, count = 0;
    struct nf_pool pool;

    for (uint32_t i = 0; i < m->hosts; i++)
        for (uint32_t j = 0; j < m->hosts; j++) {
            size_t at = nf_measures_ping_at(m, i, j, size);

            if (i != j && (size == 0 || !m->ping_uneven[at]))
                even[count++] = wires[at];
        }
    pool = nf_pool_of(even, count, noise_us);
    for (size_t pair = 0; pair < pairs; pair++) {
        double *us = &wires[pair * m->nsizes + size];

        *us = nf_pool_value(&pool, *us);
    }
}

/* @param wires  X, as pings are kept
 * @param room   [hosts * hosts] */
static enum nf_status fit_wires(const struct nf_measures *m,
                                struct nf_network *network, double *wires,
                                double *room, struct nf_error *err)
{
    enum nf_status status = NF_OK;
    double noise_us = ping_noise_us(m, room);

    for (uint32_t i = 0; i < m->hosts; i++)
        for (uint32_t j = 0; j < m->hosts; j++)
            if (i != j)
                set_wire(m, network, i, j,
                         wires + nf_measures_ping_at(m, i, j, 0));
    for (uint32_t k = 0; k < m->nsizes; k++)
        pool_wires(m, k, wire_noise_us(noise_us, k), wires, room);
    for (uint32_t i = 0; i < m->hosts; i++)
        for (uint32_t j = 0; j < m->hosts && status == NF_OK; j++) {
            size_t at = nf_measures_ping_at(m, i, j, 0);

            if (i == j)
                continue;
            status = fit(m, wires + at, m->ping_uneven + at, m->nsizes,
                         nf_network_wire(network, i, j), err);
            if (status != NF_OK)
                nf_fail_prefix(err, "hosts %u and %u", i, j);
        }
    return status;
}

static enum nf_status estimate_wires(const struct nf_measures *m,
                                     struct nf_network *network,
                                     struct nf_error *err)
{
    size_t pairs = (size_t)m->hosts * m->hosts;
    double *wires = nf_calloc(pairs * m->nsizes, sizeof(*wires));
    double *room = nf_calloc(pairs, sizeof(*room));
    enum nf_status status;

    if (wires != NULL && room != NULL)
        status = fit_wires(m, network, wires, room, err);
    else
        status = nf_fail(err, NF_ERR_NOMEM, "out of memory");
    nf_free(room);
    nf_free(wires);
    return status;
}

void nf_network_set_runtime(struct nf_network *network, const double *group_us,
                            const double *bare_us)
{
    double least_us = INFINITY;

    for (uint32_t j = 1; j < network->nhosts; j++)
        least_us = fmin(least_us, fmax(group_us[j] - bare_us[j], 0));
    network->hosts[0].runtime_us = network->nhosts > 1 ? least_us / 2 : 0;
    for (uint32_t j = 1; j < network->nhosts; j++)
        network->hosts[j].runtime_us =
            fmax(group_us[j] - bare_us[j], 0) - least_us / 2;
}

/* Hops are differences of times: of broadcasts that have as many they are not
 * quite the same. */
#define SAME_HOPS 1e-3

void nf_network_set_call(struct nf_network *network,
                         const struct nf_call_time *calls, uint32_t count)
{
    double mean_hops = 0, mean_us = 0, by_hops = 0, spread = 0;
    double square = 0, product = 0;

    for (uint32_t k = 0; k < count; k++) {
        double more_us = calls[k].us - calls[k].messages_us;

        mean_hops += calls[k].hops / count;
        mean_us += more_us / count;
        square += calls[k].hops * calls[k].hops;
        product += calls[k].hops * more_us;
    }
    for (uint32_t k = 0; k < count; k++) {
        double off = calls[k].hops - mean_hops;

        spread += off * off;
        by_hops += off * (calls[k].us - calls[k].messages_us - mean_us);
    }
    network->wake_us = spread > SAME_HOPS ? fmax(by_hops / spread, 0) : 0;
    network->call_us = mean_us - network->wake_us * mean_hops;
    if (network->call_us >= 0)
        return;
    network->call_us = 0;
    network->wake_us = spread > SAME_HOPS ? fmax(product / square, 0) : 0;
}

static enum nf_status estimate(const struct nf_measures *measures,
                               struct nf_network *network_p,
                               struct nf_error *err)
{
    struct nf_network network;
    enum nf_status status = nf_network_init(&network, measures->hosts);

    if (status != NF_OK)
        return nf_fail(err, status, "out of memory");
    for (uint32_t i = 0; i < network.nhosts && status == NF_OK; i++)
        status = fit_host(measures, i, &network.hosts[i], err);
    if (status == NF_OK)
        status = estimate_wires(measures, &network, err);
    if (status == NF_OK)
        *network_p = network;
    else
        nf_network_fini(&network);
    return status;
}

/* Both are of the same sizes, as the same times were uneven. */
static void keep_low(struct nf_curve *curve, const struct nf_curve *low)
{
    curve->has_low = true;
    for (uint32_t k = 0; k < curve->npoints; k++)
        curve->low_us[k] = round(low->points[k].us * 1e3) / 1e3;
}

static enum nf_status estimate_low(const struct nf_measures *measures,
                                   struct nf_network *network,
                                   struct nf_error *err)
{
    struct nf_measures m = *measures;
    struct nf_network low;
    enum nf_status status;

    m.send = m.send_low;
    m.recv = m.recv_low;
    m.ping = m.ping_low;
    m.seq = m.seq_low;
    status = estimate(&m, &low, err);
    if (status != NF_OK)
        return status;
    for (uint32_t i = 0; i < low.nhosts; i++) {
        keep_low(&network->hosts[i].send, &low.hosts[i].send);
        keep_low(&network->hosts[i].recv, &low.hosts[i].recv);
        keep_low(&network->hosts[i].hold, &low.hosts[i].hold);
        for (uint32_t j = 0; j < low.nhosts; j++)
            if (i != j)
                keep_low(nf_network_wire(network, i, j),
                         nf_network_wire(&low, i, j));
    }
    nf_network_fini(&low);
    return NF_OK;
}

enum nf_status nf_estimate(const struct nf_measures *measures,
                           struct nf_network *network_p, struct nf_error *err)
{
    struct nf_network network;
    enum nf_status status = estimate(measures, &network, err);

    if (status != NF_OK)
        return status;
    if (measures->has_low)
        status = estimate_low(measures, &network, err);
    if (status == NF_OK)
        *network_p = network;
    else
        nf_network_fini(&network);
    return status;
}
