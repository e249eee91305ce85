/* Time of a tree: each node's hands, port and link in are followed. */
#include "config.h"
#include "common/tree/times.h"
#include <math.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/tree/hub.h"

/* What a simulation of a tree needs to know of its nodes. */
struct pipe {
    uint32_t *order;
    double *at_us;   /* the segment is there */
    double *free_us; /* hands */
    double *port_us;
    double *in_us; /* its link in; 0: nothing has come yet */
    /* To tree->child[c]: beside each other, as each segment needs them. */
    double *port_to_us, *wire_to_us;
    const struct nf_watch *watch; /* or NULL */
    uint64_t segment;             /* for the watch: which one this is */
};

static void pipe_fini(struct pipe *pipe)
{
    nf_free(pipe->order);
    nf_free(pipe->at_us);
    nf_free(pipe->free_us);
    nf_free(pipe->port_us);
    nf_free(pipe->in_us);
    nf_free(pipe->port_to_us);
    nf_free(pipe->wire_to_us);
}

static enum nf_status pipe_init(struct pipe *pipe, const struct nf_tree *tree,
                                const struct nf_hops *hops)
{
    pipe->watch = NULL;
    pipe->order = nf_calloc(tree->nodes, sizeof(uint32_t));
    pipe->at_us = nf_calloc(tree->nodes, sizeof(double));
    pipe->free_us = nf_calloc(tree->nodes, sizeof(double));
    pipe->port_us = nf_calloc(tree->nodes, sizeof(double));
    pipe->in_us = nf_calloc(tree->nodes, sizeof(double));
    pipe->port_to_us = nf_calloc(tree->nodes, sizeof(double));
    pipe->wire_to_us = nf_calloc(tree->nodes, sizeof(double));
    if (pipe->order == NULL || pipe->at_us == NULL || pipe->free_us == NULL ||
        pipe->port_us == NULL || pipe->in_us == NULL ||
        pipe->port_to_us == NULL || pipe->wire_to_us == NULL) {
        pipe_fini(pipe);
        return NF_ERR_NOMEM;
    }
    nf_tree_order(tree, pipe->order);
    for (uint32_t v = 0; v < tree->nodes; v++)
        for (uint32_t c = tree->first[v]; c < tree->first[v + 1]; c++) {
            pipe->port_to_us[c] = nf_hops_port(hops, v, tree->child[c]);
            pipe->wire_to_us[c] = nf_hops_wire(hops, v, tree->child[c]);
        }
    return NF_OK;
}

/* On a shared medium.  @param pipe  at_us becomes when each has it all */
static enum nf_status run_medium(const struct nf_tree *tree,
                                 const struct nf_hops *hops, uint64_t segments,
                                 bool is_blocking, struct pipe *pipe,
                                 double *time_us_p)
{
    uint64_t most = (uint64_t)(tree->nodes - 1) * segments;
    struct nf_hub hub;

    if (most > NF_HUB_MOST ||
        nf_hub_init(&hub, tree->nodes, (uint32_t)most) != NF_OK)
        return NF_ERR_NOMEM;
    hub.watch = pipe->watch;
    *time_us_p =
        nf_hub_pipe(&hub, tree, pipe->order, hops, segments, is_blocking);
    memcpy(pipe->at_us, hub.last_us, tree->nodes * sizeof(*pipe->at_us));
    nf_hub_fini(&hub);
    return NF_OK;
}

static void tell(const struct pipe *pipe, enum nf_span_kind kind, uint32_t src,
                 uint32_t dst, double from_us, double to_us)
{
    const struct nf_span span = { .kind = kind,
                                  .src = src,
                                  .dst = dst,
                                  .segment = pipe->segment,
                                  .from_us = from_us,
                                  .to_us = to_us };

    pipe->watch->on_span(pipe->watch->user, &span);
}

/* It would be there at @p at_us, if the link in was free: as it is if the port
 * that it came by was busy for as long. */
static void comes_in(struct pipe *pipe, const struct nf_hops *hops,
                     uint32_t from, uint32_t to, double at_us)
{
    double in_us = nf_hops_in(hops, to);

    if (in_us > nf_hops_port(hops, from, to) && pipe->in_us[to] > at_us)
        at_us = pipe->in_us[to];
    if (pipe->watch != NULL && in_us > 0)
        tell(pipe, NF_SPAN_IN, from, to, fmax(at_us - in_us, 0), at_us);
    pipe->at_us[to] = at_us;
    pipe->in_us[to] = at_us + in_us;
}

/* Node v, whose hands are free at now_us, sends a segment to its children.
 * @return when its hands are free again */
static double send_all(const struct nf_tree *tree, const struct nf_hops *hops,
                       struct pipe *pipe, uint32_t v, double now_us)
{
    double port_us = pipe->port_us[v];

    for (uint32_t c = tree->first[v]; c < tree->first[v + 1]; c++) {
        uint32_t to = tree->child[c];
        double begin_us, hands_us = now_us;

        now_us += hops->send[v];
        begin_us = now_us > port_us ? now_us : port_us;
        port_us = begin_us + pipe->port_to_us[c];
        begin_us = nf_hops_begin(hops, v, to, now_us, begin_us);
        if (pipe->watch != NULL) {
            tell(pipe, NF_SPAN_SEND, v, to, hands_us, now_us);
            tell(pipe, NF_SPAN_PORT, v, to, begin_us,
                 fmax(begin_us, port_us - nf_hops_spare(hops, v)));
        }
        comes_in(pipe, hops, v, to, begin_us + pipe->wire_to_us[c]);
    }
    pipe->port_us[v] = port_us;
    return now_us;
}

/* One more segment through the tree.
 * @return when the last node has it */
static double pass(const struct nf_tree *tree, const struct nf_hops *hops,
                   struct pipe *pipe)
{
    double last_us = 0;

    for (uint32_t k = 0; k < tree->nodes; k++) {
        uint32_t v = pipe->order[k];
        double now_us = pipe->free_us[v];

        if (v != tree->root) {
            double hands_us = now_us;

            if (pipe->at_us[v] > hands_us)
                hands_us = pipe->at_us[v];
            now_us = hands_us + hops->recv[v];
            if (pipe->watch != NULL)
                tell(pipe, NF_SPAN_RECV, tree->parent[v], v, hands_us, now_us);
        }
        pipe->at_us[v] = now_us; /* from here on: it has been received */
        if (now_us > last_us)
            last_us = now_us;
        pipe->free_us[v] = send_all(tree, hops, pipe, v, now_us);
    }
    return last_us;
}

/* All segments.  @param watch  or NULL */
static enum nf_status run_pipe(const struct nf_tree *tree,
                               const struct nf_hops *hops, uint64_t segments,
                               const struct nf_watch *watch, double *ready_us_p,
                               double *time_us_p)
{
    struct pipe pipe;
    double last_us = 0;
    enum nf_status status = NF_OK;

    if (pipe_init(&pipe, tree, hops) != NF_OK)
        return NF_ERR_NOMEM;
    pipe.watch = watch;
    if (hops->medium != NULL)
        status = run_medium(tree, hops, segments, false, &pipe, &last_us);
    for (uint64_t q = 0; hops->medium == NULL && q < segments; q++) {
        pipe.segment = q;
        last_us = pass(tree, hops, &pipe);
    }
    for (uint32_t v = 0; ready_us_p != NULL && v < tree->nodes; v++)
        ready_us_p[v] = v == tree->root ? 0 : pipe.at_us[v];
    pipe_fini(&pipe);
    if (status == NF_OK)
        *time_us_p = last_us;
    return status;
}

enum nf_status nf_tree_pipe(const struct nf_tree *tree,
                            const struct nf_hops *hops, uint64_t segments,
                            double *time_us_p)
{
    return run_pipe(tree, hops, segments, NULL, NULL, time_us_p);
}

enum nf_status nf_tree_pipe_times(const struct nf_tree *tree,
                                  const struct nf_hops *hops, uint64_t segments,
                                  double *ready_us_p, double *time_us_p)
{
    return run_pipe(tree, hops, segments, NULL, ready_us_p, time_us_p);
}

enum nf_status nf_tree_pipe_watch(const struct nf_tree *tree,
                                  const struct nf_hops *hops, uint64_t segments,
                                  const struct nf_watch *watch,
                                  double *time_us_p)
{
    return run_pipe(tree, hops, segments, watch, NULL, time_us_p);
}

/* Senders wait until their receivers have it: no port is ever busy. */
static double pass_blocking(const struct nf_tree *tree,
                            const struct nf_hops *hops, struct pipe *pipe)
{
    double last_us = 0;

    for (uint32_t k = 0; k < tree->nodes; k++) {
        uint32_t v = pipe->order[k];
        double now_us = pipe->at_us[v];

        for (uint32_t c = tree->first[v]; c < tree->first[v + 1]; c++) {
            now_us += nf_hops_time(hops, v, tree->child[c]);
            pipe->at_us[tree->child[c]] = now_us;
        }
        if (now_us > last_us)
            last_us = now_us;
    }
    return last_us;
}

enum nf_status nf_tree_times(const struct nf_tree *tree,
                             const struct nf_hops *hops, bool is_blocking,
                             double *ready_us_p, double *time_us_p)
{
    struct pipe pipe;
    enum nf_status status = NF_OK;

    if (pipe_init(&pipe, tree, hops) != NF_OK)
        return NF_ERR_NOMEM;
    if (hops->medium != NULL)
        status = run_medium(tree, hops, 1, is_blocking, &pipe, time_us_p);
    else
        *time_us_p = is_blocking ? pass_blocking(tree, hops, &pipe)
                                 : pass(tree, hops, &pipe);
    for (uint32_t v = 0; ready_us_p != NULL && v < tree->nodes; v++)
        ready_us_p[v] = pipe.at_us[v];
    pipe_fini(&pipe);
    return status;
}
