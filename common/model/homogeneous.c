#include "config.h"
#include "common/model/homogeneous.h"
#include <math.h>
#include "common/base/alloc.h"

static const double sizes[] = { 0, 64, 256, 1024, 4096, 16384, 65536 };
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

struct times {
    struct nf_curve_point send[SIZES], recv[SIZES], hold[SIZES], net[SIZES],
        end[SIZES];
};

/* Shell sort: for as many pairs as there are. */
static double median(double *values, size_t n)
{
    for (size_t gap = n / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (size_t i = gap; i < n; i++) {
            double value = values[i];
            size_t at = i;

            for (; at >= gap && values[at - gap] > value; at -= gap)
                values[at] = values[at - gap];
            values[at] = value;
        }
    return nf_curve_median(values, n);
}

static double median_of_hosts(const struct nf_network *network, int which,
                              double bytes, double *room)
{
    for (uint32_t i = 0; i < network->nhosts; i++) {
        const struct nf_network_host *host = &network->hosts[i];
        const struct nf_curve *curves[] = { &host->send, &host->recv,
                                            &host->hold };

        room[i] = nf_curve_us(curves[which], bytes);
    }
    return median(room, network->nhosts);
}

static double median_of_pairs(const struct nf_network *network, double bytes,
                              double *room)
{
    size_t count = 0;

    for (uint32_t i = 0; i < network->nhosts; i++)
        for (uint32_t j = i + 1; j < network->nhosts; j++)
            room[count++] = (nf_network_time_us(network, i, j, bytes) +
                             nf_network_time_us(network, j, i, bytes)) /
                            2;
    return median(room, count);
}

enum nf_status nf_parameterized_of(const struct nf_network *network,
                                   struct nf_parameterized *model_p)
{
    size_t pairs = (size_t)network->nhosts * network->nhosts;
    double *room;
    struct times t;

    if (network->nhosts < 2)
        return NF_ERR_INVAL;
    room = nf_calloc(pairs, sizeof(*room));
    if (room == NULL)
        return NF_ERR_NOMEM;
    for (uint32_t k = 0; k < SIZES; k++) {
        double m = sizes[k];

        t.send[k] =
            (struct nf_curve_point){ m, median_of_hosts(network, 0, m, room) };
        t.recv[k] =
            (struct nf_curve_point){ m, median_of_hosts(network, 1, m, room) };
        t.hold[k] =
            (struct nf_curve_point){ m, median_of_hosts(network, 2, m, room) };
        t.end[k] =
            (struct nf_curve_point){ m, median_of_pairs(network, m, room) };
        t.net[k] = (struct nf_curve_point){
            m, fmax(t.end[k].us - t.send[k].us - t.recv[k].us, 0)
        };
    }
    nf_free(room);
    (void)nf_curve_fit(t.send, SIZES, &model_p->send, NULL);
    (void)nf_curve_fit(t.recv, SIZES, &model_p->recv, NULL);
    (void)nf_curve_fit(t.hold, SIZES, &model_p->hold, NULL);
    (void)nf_curve_fit(t.net, SIZES, &model_p->net, NULL);
    (void)nf_curve_fit(t.end, SIZES, &model_p->end, NULL);
    return NF_OK;
}

struct nf_parameterized nf_parameterized_of_linear(struct nf_cost linear)
{
    return (struct nf_parameterized){
        .send = nf_curve_line(linear),
        .hold = nf_curve_line(linear),
        .end = nf_curve_line(linear),
    };
}

static struct nf_curve line(double fixed_us, double byte_us)
{
    return nf_curve_line((struct nf_cost){ fixed_us, byte_us });
}

struct nf_parameterized nf_parameterized_of_loggp(const struct nf_loggp *loggp)
{
    return (struct nf_parameterized){
        .send = line(loggp->send_us, 0),
        .net = line(loggp->latency_us, loggp->byte_us),
        .recv = line(loggp->recv_us, 0),
        .hold = line(fmax(loggp->gap_us, loggp->send_us), loggp->byte_us),
        .end = line(loggp->send_us + loggp->latency_us + loggp->recv_us,
                    loggp->byte_us),
    };
}

struct nf_loggp nf_loggp_of(const struct nf_parameterized *model,
                            uint32_t hosts)
{
    return (struct nf_loggp){
        .latency_us = model->net.line.fixed_us,
        .send_us = model->send.line.fixed_us,
        .recv_us = model->recv.line.fixed_us,
        .gap_us = model->hold.line.fixed_us,
        .byte_us = model->hold.line.byte_us,
        .hosts = hosts,
    };
}

struct nf_cost nf_linear_of(const struct nf_parameterized *model)
{
    return model->end.line;
}

enum nf_status nf_parameterized_hetero(const struct nf_parameterized *model,
                                       uint32_t hosts,
                                       struct nf_hetero *hetero_p)
{
    struct nf_cost hold = model->hold.line, end = model->end.line, recv;
    struct nf_hetero hetero;
    enum nf_status status = nf_hetero_init(&hetero, hosts, false);

    if (status != NF_OK)
        return status;
    recv.fixed_us =
        fmin(model->recv.line.fixed_us, fmax(end.fixed_us - hold.fixed_us, 0));
    recv.byte_us =
        fmin(model->recv.line.byte_us, fmax(end.byte_us - hold.byte_us, 0));
    hetero.wire[0].fixed_us =
        fmax(end.fixed_us - hold.fixed_us - recv.fixed_us, 0);
    hetero.wire[0].byte_us = fmax(end.byte_us - hold.byte_us - recv.byte_us, 0);
    for (uint32_t i = 0; i < hosts; i++) {
        hetero.send[i] = hold;
        hetero.recv[i] = recv;
    }
    *hetero_p = hetero;
    return NF_OK;
}
