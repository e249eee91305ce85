/* Time of a schedule: each rank's hands and port are followed, round by round.
 */
#include "config.h"
#include "common/tree/pricer.h"
#include <string.h>
#include "common/base/alloc.h"
#include "common/model/network.h"
#include "common/tree/hub.h"

enum { TIMES = 3 }; /* of a rank, in one block */

/* The first of those that share a host stands for it.  O(hosts^2) if some do */
static void find_homes(const struct nf_hetero *hetero, uint32_t *home_p)
{
    bool shared = hetero->measured != NULL && hetero->measured->place != NULL;

    for (uint32_t i = 0; i < hetero->hosts; i++) {
        uint32_t first = shared ? 0 : i;

        while (!nf_network_are_together(hetero->measured, first, i))
            first++;
        home_p[i] = first;
    }
}

enum nf_status nf_pricer_init(struct nf_pricer *pricer_p,
                              const struct nf_hetero *hetero)
{
    memset(pricer_p, 0, sizeof(*pricer_p));
    pricer_p->hetero = hetero;
    pricer_p->hands_us = nf_calloc(hetero->hosts, TIMES * sizeof(double));
    pricer_p->link = nf_calloc(hetero->hosts, sizeof(*pricer_p->link));
    pricer_p->home = nf_calloc(hetero->hosts, sizeof(*pricer_p->home));
    if (pricer_p->hands_us == NULL || pricer_p->link == NULL ||
        pricer_p->home == NULL) {
        nf_pricer_fini(pricer_p);
        return NF_ERR_NOMEM;
    }
    pricer_p->port_us = pricer_p->hands_us + hetero->hosts;
    pricer_p->way_us = pricer_p->port_us + hetero->hosts;
    find_homes(hetero, pricer_p->home);
    return NF_OK;
}

void nf_pricer_fini(struct nf_pricer *pricer)
{
    for (unsigned i = 0; i < pricer->count; i++) {
        nf_hops_fini(&pricer->kept[i].hops);
        nf_free(pricer->kept[i].in_us);
    }
    nf_free(pricer->hands_us);
    nf_free(pricer->link);
    nf_free(pricer->home);
    memset(pricer, 0, sizeof(*pricer));
}

/* How long j's link is busy with what comes in, whoever sends it: no longer
 * than from the sender whose port has it the shortest time, but for those of
 * its own host.  O(hosts) */
static double link_in(const struct nf_hops *hops, uint32_t j)
{
    double least_us = 0;

    if (hops->in != NULL)
        return hops->in[j];
    for (uint32_t i = 0; i < hops->nodes; i++) {
        double us = i != j ? nf_hops_port(hops, i, j) : 0;

        if (us > 0 && (us < least_us || least_us == 0))
            least_us = us;
    }
    return least_us;
}

/* Room for a size more.  @return false: out of memory */
static bool add_room(struct nf_pricer *pricer, double bytes, uint64_t segments)
{
    unsigned at = pricer->count;
    uint32_t hosts = pricer->hetero->hosts;

    pricer->kept[at].in_us = nf_calloc(hosts, sizeof(double));
    if (pricer->kept[at].in_us == NULL)
        return false;
    if (nf_hops_init_segments(&pricer->kept[at].hops, pricer->hetero, bytes,
                              segments) != NF_OK) {
        nf_free(pricer->kept[at].in_us);
        return false;
    }
    pricer->count++;
    return true;
}

/* @return where the costs of this size are kept; NF_PRICER_SIZES: out of memory
 */
static unsigned find_size(struct nf_pricer *pricer, double bytes,
                          uint64_t segments)
{
    unsigned at;

    for (unsigned i = 0; i < pricer->count; i++)
        if (pricer->kept[i].bytes == bytes &&
            pricer->kept[i].segments == segments)
            return i;
    at = pricer->count;
    if (at == NF_PRICER_SIZES) { /* the one that is there longest */
        at = pricer->next;
        pricer->next = (at + 1) % NF_PRICER_SIZES;
        nf_hops_set_segments(&pricer->kept[at].hops, pricer->hetero, bytes,
                             segments);
    } else if (!add_room(pricer, bytes, segments)) {
        return NF_PRICER_SIZES;
    }
    for (uint32_t j = 0; j < pricer->hetero->hosts; j++)
        pricer->kept[at].in_us[j] = link_in(&pricer->kept[at].hops, j);
    pricer->kept[at].bytes = bytes;
    pricer->kept[at].segments = segments;
    return at;
}

/* What the messages of a schedule weigh. */
struct load {
    const struct nf_schedule *schedule;
    uint64_t items, elements;
    uint64_t whole, rest; /* elements / items, and what is left */
    double bytes;
};

/* Where item @p j begins, as nf_coll_segment() says. */
static uint64_t begin_of(const struct load *load, uint64_t j)
{
    return load->whole * j +
           (load->rest > 0 ? load->rest * j / load->items : 0);
}

static double bytes_of(const struct load *load,
                       const struct nf_coll_message *message)
{
    const struct nf_coll_span *spans = load->schedule->spans;
    uint64_t elements = 0;

    if (load->elements == 0) {
        elements = nf_schedule_items_of(load->schedule, message);
        return elements == 0
                   ? 0
                   : load->bytes * (double)elements / (double)load->items;
    }
    for (uint32_t i = 0; i < message->nspans; i++) {
        const struct nf_coll_span *span = &spans[message->first_span + i];

        elements += begin_of(load, (uint64_t)span->first + span->count) -
                    begin_of(load, span->first);
    }
    return elements == 0
               ? 0
               : load->bytes * (double)elements / (double)load->elements;
}

/* @return where its costs are kept, as find_size() */
static unsigned find_costs(struct nf_pricer *pricer, const struct load *load,
                           const struct nf_coll_message *message)
{
    double bytes = bytes_of(load, message);

    return find_size(pricer, bytes, bytes < load->bytes ? 2 : 1);
}

/* @return NULL: out of memory */
static const struct nf_hops *hops_of(struct nf_pricer *pricer,
                                     const struct load *load,
                                     const struct nf_coll_message *message)
{
    unsigned at = find_costs(pricer, load, message);

    return at < NF_PRICER_SIZES ? &pricer->kept[at].hops : NULL;
}

/* Messages [from, to) leave.  @param there_us_p  [to - from] when each is there
 *  @return false: out of memory */
static bool send_round(struct nf_pricer *pricer, const struct load *load,
                       size_t from, size_t to, double *there_us_p)
{
    for (size_t i = from; i < to; i++) {
        const struct nf_coll_message *m = &load->schedule->messages[i];
        const struct nf_hops *hops = hops_of(pricer, load, m);
        double *hands_us = &pricer->hands_us[m->src];
        double *port_us = &pricer->port_us[m->src];
        double *way_us = &pricer->way_us[pricer->home[m->src]];
        double begin_us, holds_us;

        if (hops == NULL)
            return false;
        holds_us = nf_hops_port(hops, m->src, m->dst);
        *hands_us += hops->send[m->src];
        begin_us = *hands_us > *port_us ? *hands_us : *port_us;
        if (holds_us > 0 && *way_us > begin_us)
            begin_us = *way_us; /* others of this host have it */
        *port_us = begin_us + holds_us;
        if (holds_us > 0)
            *way_us = *port_us;
        begin_us = nf_hops_begin(hops, m->src, m->dst, *hands_us, begin_us);
        there_us_p[i - from] = begin_us + nf_hops_wire(hops, m->src, m->dst);
    }
    return true;
}

/* What different hosts send to one goes through its one link.  What one host
 * sends follows itself already, unless its own link is rid of it sooner, or the
 * one before it was held up: then it would come as if that had not been. */
static double in_turn(struct nf_pricer *pricer, unsigned at,
                      const struct nf_coll_message *m, double there_us)
{
    const struct nf_hops *hops = &pricer->kept[at].hops;
    uint32_t from = pricer->home[m->src];
    struct nf_pricer_link *link = &pricer->link[pricer->home[m->dst]];
    double in_us = pricer->kept[at].in_us[m->dst];
    double port_us = nf_hops_port(hops, m->src, m->dst);
    double spare_us = hops->spare_in != NULL ? hops->spare_in[m->dst] : 0;
    double begin_us = there_us - in_us;
    bool is_held_up = false;

    if (!(port_us > 0))
        return there_us; /* of its own host */
    if (spare_us > 0 && link->busy_us > 0) {
        is_held_up = link->busy_us > begin_us;
        if (is_held_up) {
            there_us += nf_hops_behind(in_us, spare_us, link->busy_us - begin_us);
            begin_us = link->busy_us;
        }
    } else if (link->busy_us > 0 && (link->from != from || link->was_held_up ||
                                     in_us > port_us ||
                                     nf_hops_spare(hops, m->src) > 0)) {
        double free_us = link->busy_us + in_us;

        is_held_up = free_us > there_us;
        if (is_held_up)
            there_us = free_us;
    }
    link->busy_us = fmax(link->busy_us, spare_us > 0 ? begin_us + in_us : there_us);
    link->from = from;
    link->was_held_up = is_held_up;
    return there_us;
}

static bool receive_round(struct nf_pricer *pricer, const struct load *load,
                          size_t from, size_t to, const double *there_us,
                          double *last_us)
{
    for (size_t i = from; i < to; i++) {
        const struct nf_coll_message *m = &load->schedule->messages[i];
        unsigned at = find_costs(pricer, load, m);
        double *hands_us = &pricer->hands_us[m->dst], here_us;

        if (at == NF_PRICER_SIZES)
            return false;
        here_us = in_turn(pricer, at, m, there_us[i - from]);
        if (here_us > *hands_us)
            *hands_us = here_us;
        *hands_us += pricer->kept[at].hops.recv[m->dst];
        if (*hands_us > *last_us)
            *last_us = *hands_us;
    }
    return true;
}

/* The same where all share a medium: messages in the order of time, not of
 * rounds. */
static enum nf_status time_on_medium(struct nf_pricer *pricer,
                                     const struct load *load, double *time_us_p)
{
    const struct nf_schedule *schedule = load->schedule;
    struct nf_hub hub;
    bool ok;

    if (schedule->count > NF_HUB_MOST ||
        nf_hub_init(&hub, pricer->hetero->hosts, (uint32_t)schedule->count) !=
            NF_OK)
        return NF_ERR_NOMEM;
    ok = true;
    for (size_t i = 0; i < schedule->count && ok; i++) {
        const struct nf_coll_message *m = &schedule->messages[i];
        const struct nf_hops *hops = hops_of(pricer, load, m);

        ok = hops != NULL;
        if (ok)
            nf_hub_set(&hub.messages[i], hops, m->src, m->dst);
        hub.messages[i].round = m->round;
    }
    if (ok)
        *time_us_p = nf_hub_run(&hub, (uint32_t)schedule->count, false);
    nf_hub_fini(&hub);
    return ok ? NF_OK : NF_ERR_NOMEM;
}

enum nf_status nf_pricer_time(struct nf_pricer *pricer,
                              const struct nf_schedule *schedule,
                              const struct nf_pricer_load *of,
                              double *time_us_p)
{
    const struct load load = {
        .schedule = schedule,
        .items = of->items,
        .elements = of->elements,
        .whole = of->items > 0 ? of->elements / of->items : 0,
        .rest = of->items > 0 ? of->elements % of->items : 0,
        .bytes = of->bytes,
    };
    double *there_us, last_us = 0;
    bool ok;

    if (pricer->hetero->is_shared)
        return time_on_medium(pricer, &load, time_us_p);
    there_us = nf_calloc(schedule->count + 1, sizeof(*there_us));
    ok = there_us != NULL;
    memset(pricer->hands_us, 0, TIMES * pricer->hetero->hosts * sizeof(double));
    memset(pricer->link, 0, pricer->hetero->hosts * sizeof(*pricer->link));
    for (size_t from = 0, to; ok && from < schedule->count; from = to) {
        to = from;
        while (to < schedule->count &&
               schedule->messages[to].round == schedule->messages[from].round)
            to++;
        ok = send_round(pricer, &load, from, to, there_us) &&
             receive_round(pricer, &load, from, to, there_us, &last_us);
    }
    nf_free(there_us);
    if (!ok)
        return NF_ERR_NOMEM;
    *time_us_p = last_us;
    return NF_OK;
}
