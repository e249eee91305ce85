/* The tree is priced twice, with a look at each span: the first time only for
 * the end, which says how long a column is. */
#include "config.h"
#include "common/tree/busy.h"
#include "common/base/alloc.h"

/* While bars are made. */
struct maker {
    struct nf_busy *busy;
    double column_us;
    enum nf_status status;
};

static void on_end(void *user, const struct nf_span *span)
{
    double *end_us = user;

    if (span->to_us > *end_us)
        *end_us = span->to_us;
}

/* ---- bars ---- */

static struct nf_busy_row *row_of(struct nf_busy *busy,
                                  const struct nf_span *span)
{
    switch (span->kind) {
    case NF_SPAN_RECV:
        return &busy->rows[span->dst];
    case NF_SPAN_SEND:
        return &busy->rows[span->src];
    case NF_SPAN_PORT:
        return &busy->rows[busy->nodes + span->src];
    case NF_SPAN_IN:
        return &busy->rows[2 * busy->nodes + span->dst];
    default:
        return &busy->rows[3 * busy->nodes];
    }
}

/* The last bar, if the span is too short and too near to be told from it. */
static struct nf_busy_bar *bar_for(const struct maker *m,
                                   struct nf_busy_row *row,
                                   const struct nf_span *span)
{
    double column_us = m->column_us;
    struct nf_busy_bar *bar;

    if (row->count == 0 || span->to_us - span->from_us >= column_us)
        return NULL;
    bar = &row->bars[row->count - 1];
    if (bar->spans == 1 && bar->to_us - bar->from_us >= column_us)
        return NULL;
    if (span->from_us - bar->to_us >= column_us)
        return NULL;
    if (span->to_us - bar->from_us <= NF_BUSY_WIDEST * column_us)
        return bar;
    /* of what goes on like this, idle time is a part */
    if (bar->spans > 1)
        bar->to_us = span->from_us;
    return NULL;
}

/* @return a bar of no spans that begins with @p span, or NULL */
static struct nf_busy_bar *add_bar(struct nf_busy_row *row,
                                   const struct nf_span *span)
{
    struct nf_busy_bar *bar;

    if (row->count == row->room) {
        uint32_t room = row->room > 0 ? 2 * row->room : 16;

        bar = nf_realloc(row->bars, room * sizeof(*bar));
        if (bar == NULL)
            return NULL;
        row->bars = bar;
        row->room = room;
    }
    bar = &row->bars[row->count++];
    *bar = (struct nf_busy_bar){ .from_us = span->from_us,
                                 .first = span->segment,
                                 .last = span->segment,
                                 .src = span->src,
                                 .dst = span->dst };
    return bar;
}

static void put_in(struct maker *m, const struct nf_span *span)
{
    struct nf_busy_row *row = row_of(m->busy, span);
    struct nf_busy_bar *bar = bar_for(m, row, span);
    double us = span->to_us - span->from_us;

    if (bar == NULL)
        bar = add_bar(row, span);
    if (bar == NULL) {
        m->status = NF_ERR_NOMEM;
        return;
    }
    bar->to_us = span->to_us;
    if (span->segment < bar->first) /* hosts take turns at the medium */
        bar->first = span->segment;
    if (span->segment > bar->last)
        bar->last = span->segment;
    bar->spans++;
    *(span->kind == NF_SPAN_RECV ? &bar->recv_us : &bar->send_us) += us;
    *(span->kind == NF_SPAN_RECV ? &row->recv_us : &row->send_us) += us;
}

static void note_arrival(struct nf_busy *busy, const struct nf_span *span)
{
    struct nf_busy_arrival *first = &busy->first[span->dst],
                           *last = &busy->last[span->dst];

    if (span->kind == NF_SPAN_PORT) {
        if (span->segment == 0)
            first->sent_us = span->from_us;
        last->sent_us = span->from_us;
    } else if (span->kind == NF_SPAN_RECV) {
        if (span->segment == 0)
            first->ready_us = span->to_us;
        last->ready_us = span->to_us;
    }
}

static void on_span(void *user, const struct nf_span *span)
{
    struct maker *m = user;

    note_arrival(m->busy, span);
    if (m->status == NF_OK && span->to_us > span->from_us)
        put_in(m, span);
}

/* ---- all of it ---- */

enum nf_status nf_busy_make(const struct nf_tree *tree,
                            const struct nf_hops *hops, uint64_t segments,
                            uint32_t columns, struct nf_busy *busy_p)
{
    struct nf_busy busy = { .nodes = tree->nodes, .segments = segments };
    struct maker m = { .busy = &busy, .status = NF_ERR_NOMEM };
    const struct nf_watch ends = { on_end, &busy.end_us },
                          bars = { on_span, &m };

    busy.rows = nf_calloc(3 * (size_t)tree->nodes + 1, sizeof(*busy.rows));
    busy.first = nf_calloc(tree->nodes, sizeof(*busy.first));
    busy.last = nf_calloc(tree->nodes, sizeof(*busy.last));
    if (busy.rows != NULL && busy.first != NULL && busy.last != NULL)
        m.status =
            nf_tree_pipe_watch(tree, hops, segments, &ends, &busy.time_us);
    m.column_us = busy.end_us / columns;
    if (m.status == NF_OK &&
        nf_tree_pipe_watch(tree, hops, segments, &bars, &busy.time_us) != NF_OK)
        m.status = NF_ERR_NOMEM;
    if (m.status == NF_OK)
        *busy_p = busy;
    else
        nf_busy_fini(&busy);
    return m.status;
}

void nf_busy_fini(struct nf_busy *busy)
{
    for (size_t i = 0; busy->rows != NULL && i <= 3 * (size_t)busy->nodes; i++)
        nf_free(busy->rows[i].bars);
    nf_free(busy->rows);
    nf_free(busy->first);
    nf_free(busy->last);
    *busy = (struct nf_busy){ .nodes = 0 };
}

const struct nf_busy_row *nf_busy_most(const struct nf_busy *busy)
{
    const struct nf_busy_row *most = busy->rows;

    for (size_t i = 1; i <= 3 * (size_t)busy->nodes; i++)
        if (busy->rows[i].recv_us + busy->rows[i].send_us >
            (most->recv_us + most->send_us) * (1 + 1e-9))
            most = &busy->rows[i];
    return most;
}
