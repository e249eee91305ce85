/* links, bus: wires that are free from some time on.
 *
 * hub: processor sharing.  The master is one station and each slave is one;
 * each has its messages in a queue, and k stations that have any get
 *
 *     1 / (k (1 + kappa (1 - 1/k)))
 *
 * of the medium each, kappa being what collisions cost.  As all of them get the
 * same, one clock of work does for all: it runs at that rate, and a message is
 * through when the clock shows what it showed at its begin plus its length.  So
 * the next to end is the top of a heap, O(log p) an event. */
#include "config.h"
#include "sim/network.h"
#include "common/base/alloc.h"
#include <math.h>

struct message {
    uint64_t number;
    double wire_us;
    struct message *next;
};

struct station {
    struct message *first, *last;
    double end_work_us; /* of its first message, on the clock of work */
};

struct nf_network {
    enum nf_world_net kind;
    double kappa;
    uint32_t slaves;
    struct nf_sim_queue *queue;
    uint32_t end_kind, hub_kind;
    int64_t *free_us; /* links: data, result of slave 0, 1, ...; bus: one */

    struct station *stations; /* slaves, then the master */
    uint32_t *heap;           /* stations that have messages, next end first */
    uint32_t busy;            /* of them */
    double work_us;           /* the clock of work, at seen_us */
    int64_t seen_us;
    uint64_t turn; /* number of the last event; earlier ones are void */
};

enum nf_status nf_network_create(const struct nf_world *world,
                                 struct nf_sim_queue *queue, uint32_t end_kind,
                                 uint32_t hub_kind, struct nf_network **net_p)
{
    struct nf_network *net = nf_calloc(1, sizeof(*net));

    if (!net)
        return NF_ERR_NOMEM;
    net->kind = world->net;
    net->kappa = world->kappa;
    net->slaves = world->slaves;
    net->queue = queue;
    net->end_kind = end_kind;
    net->hub_kind = hub_kind;
    net->free_us = nf_calloc(2 * (size_t)world->slaves, sizeof(int64_t));
    net->stations =
        nf_calloc((size_t)world->slaves + 1, sizeof(net->stations[0]));
    net->heap = nf_calloc((size_t)world->slaves + 1, sizeof(net->heap[0]));
    if (!net->free_us || !net->stations || !net->heap) {
        nf_network_destroy(net);
        return NF_ERR_NOMEM;
    }
    *net_p = net;
    return NF_OK;
}

void nf_network_destroy(struct nf_network *net)
{
    if (!net)
        return;
    for (uint32_t i = 0; net->stations && i <= net->slaves; i++) {
        struct message *message = net->stations[i].first;

        while (message) {
            struct message *next = message->next;

            nf_free(message);
            message = next;
        }
    }
    nf_free(net->heap);
    nf_free(net->stations);
    nf_free(net->free_us);
    nf_free(net);
}

/* ---- the heap ---- */

static bool ends_before(const struct nf_network *net, uint32_t a, uint32_t b)
{
    double a_us = net->stations[a].end_work_us;
    double b_us = net->stations[b].end_work_us;

    return a_us < b_us || (a_us == b_us && a < b);
}

static void sift_up(struct nf_network *net, uint32_t place, uint32_t station)
{
    while (place > 0 && ends_before(net, station, net->heap[(place - 1) / 2])) {
        net->heap[place] = net->heap[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    net->heap[place] = station;
}

/* The top is no longer what it was: put @p station in its place. */
static void sift_down(struct nf_network *net, uint32_t station)
{
    uint32_t place = 0, child;

    while ((child = 2 * place + 1) < net->busy) {
        if (child + 1 < net->busy &&
            ends_before(net, net->heap[child + 1], net->heap[child]))
            child++;
        if (!ends_before(net, net->heap[child], station))
            break;
        net->heap[place] = net->heap[child];
        place = child;
    }
    net->heap[place] = station;
}

/* ---- the hub ---- */

static double rate(const struct nf_network *net)
{
    double k = net->busy;

    return 1 / (k * (1 + net->kappa * (1 - 1 / k)));
}

/* Let the time since seen_us pass. */
static void advance(struct nf_network *net, int64_t now_us)
{
    if (net->busy > 0)
        net->work_us += (double)(now_us - net->seen_us) * rate(net);
    else
        net->work_us = 0; /* small numbers are the most exact ones */
    net->seen_us = now_us;
}

/* Something changed: find out when the next message ends. */
static enum nf_status plan(struct nf_network *net, int64_t now_us)
{
    double left_us;

    if (net->busy == 0)
        return NF_OK;
    left_us = fmax(0, net->stations[net->heap[0]].end_work_us - net->work_us);
    return nf_sim_queue_push(net->queue,
                             now_us + (int64_t)ceil(left_us / rate(net) - 1e-6),
                             net->hub_kind, ++net->turn);
}

static enum nf_status hub_send(struct nf_network *net, uint32_t number,
                               uint64_t message_number, int64_t wire_us,
                               int64_t now_us)
{
    struct message *message = nf_calloc(1, sizeof(*message));
    struct station *station = &net->stations[number];

    if (!message)
        return NF_ERR_NOMEM;
    message->number = message_number;
    message->wire_us = (double)wire_us;
    if (station->first) {
        station->last->next = message;
        station->last = message;
        return NF_OK;
    }
    advance(net, now_us);
    station->first = message;
    station->last = message;
    station->end_work_us = net->work_us + message->wire_us;
    sift_up(net, net->busy++, number);
    return plan(net, now_us);
}

/* The first message of the station at the top is through. */
static enum nf_status end_first(struct nf_network *net, int64_t now_us)
{
    uint32_t number = net->heap[0];
    struct station *station = &net->stations[number];
    struct message *message = station->first;
    enum nf_status status =
        nf_sim_queue_push(net->queue, now_us, net->end_kind, message->number);

    station->first = message->next;
    if (station->first) {
        station->end_work_us = net->work_us + station->first->wire_us;
        sift_down(net, number);
    } else if (--net->busy > 0) {
        sift_down(net, net->heap[net->busy]);
    }
    nf_free(message);
    return status;
}

enum nf_status nf_network_hub_event(struct nf_network *net, uint64_t id,
                                    int64_t now_us)
{
    enum nf_status status = NF_OK;

    if (id != net->turn)
        return NF_OK;
    advance(net, now_us);
    /* at least the one that was planned, whatever rounding makes of it */
    do
        status = end_first(net, now_us);
    while (!status && net->busy > 0 &&
           net->stations[net->heap[0]].end_work_us <= net->work_us + 1e-6);
    return status ? status : plan(net, now_us);
}

enum nf_status nf_network_send(struct nf_network *net, uint32_t slave,
                               bool from_slave, uint64_t message,
                               int64_t wire_us, int64_t now_us)
{
    int64_t *free_us =
        &net->free_us[net->kind == NF_NET_BUS ? 0
                                              : 2 * (size_t)slave + from_slave];

    if (net->kind == NF_NET_HUB)
        return hub_send(net, from_slave ? slave : net->slaves, message, wire_us,
                        now_us);
    if (*free_us < now_us)
        *free_us = now_us;
    *free_us += wire_us;
    return nf_sim_queue_push(net->queue, *free_us, net->end_kind, message);
}
