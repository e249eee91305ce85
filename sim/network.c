/* links, bus: wires that are free from some time on.
 *
 * hub: processor sharing.  The master is one station and each slave is one;
 * each has its messages in a queue, and k stations that have any get
 *
 *     1 / (k (1 + kappa (1 - 1/k)))
 *
 * of the medium each, kappa being what collisions cost. */
#include "config.h"
#include "sim/network.h"
#include "common/base/alloc.h"
#include <math.h>

struct message {
    uint64_t number;
    double left_us;
    struct message *next;
};

struct station {
    struct message *first, *last;
};

struct nf_network {
    enum nf_world_net kind;
    double kappa;
    uint32_t slaves;
    struct nf_sim_queue *queue;
    uint32_t end_kind, hub_kind;
    int64_t *free_us; /* links: data, result of slave 0, 1, ...; bus: one */

    struct station *stations; /* slaves, then the master */
    uint32_t busy;            /* stations that have messages */
    double rate;              /* of each of them, since seen_us */
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
    if (!net->free_us || !net->stations) {
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
    nf_free(net->stations);
    nf_free(net->free_us);
    nf_free(net);
}

/* Let the time since seen_us pass. */
static void advance(struct nf_network *net, int64_t now_us)
{
    double done_us = (double)(now_us - net->seen_us) * net->rate;

    for (uint32_t i = 0; net->busy > 0 && i <= net->slaves; i++)
        if (net->stations[i].first)
            net->stations[i].first->left_us -= done_us;
    net->seen_us = now_us;
}

/* Something changed: find out who is next, and when. */
static enum nf_status plan(struct nf_network *net, int64_t now_us)
{
    double least_us = INFINITY, k = net->busy;

    if (net->busy == 0)
        return NF_OK;
    net->rate = 1 / (k * (1 + net->kappa * (1 - 1 / k)));
    for (uint32_t i = 0; i <= net->slaves; i++)
        if (net->stations[i].first)
            least_us = fmin(least_us, net->stations[i].first->left_us);
    if (least_us < 0)
        least_us = 0;
    return nf_sim_queue_push(
        net->queue, now_us + (int64_t)ceil(least_us / net->rate - 1e-6),
        net->hub_kind, ++net->turn);
}

static enum nf_status hub_send(struct nf_network *net, struct station *station,
                               uint64_t number, int64_t wire_us, int64_t now_us)
{
    struct message *message = nf_calloc(1, sizeof(*message));

    if (!message)
        return NF_ERR_NOMEM;
    message->number = number;
    message->left_us = (double)wire_us;
    if (station->first) {
        station->last->next = message;
        station->last = message;
        return NF_OK;
    }
    advance(net, now_us);
    station->first = message;
    station->last = message;
    net->busy++;
    return plan(net, now_us);
}

enum nf_status nf_network_hub_event(struct nf_network *net, uint64_t id,
                                    int64_t now_us)
{
    enum nf_status status = NF_OK;

    if (id != net->turn)
        return NF_OK;
    advance(net, now_us);
    for (uint32_t i = 0; i <= net->slaves && !status; i++) {
        struct station *station = &net->stations[i];
        struct message *message = station->first;

        if (!message || message->left_us > 1e-6)
            continue;
        status = nf_sim_queue_push(net->queue, now_us, net->end_kind,
                                   message->number);
        station->first = message->next;
        if (!station->first)
            net->busy--;
        nf_free(message);
    }
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
        return hub_send(net, &net->stations[from_slave ? slave : net->slaves],
                        message, wire_us, now_us);
    if (*free_us < now_us)
        *free_us = now_us;
    *free_us += wire_us;
    return nf_sim_queue_push(net->queue, *free_us, net->end_kind, message);
}
