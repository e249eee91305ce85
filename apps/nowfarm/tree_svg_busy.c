/* A row for each host: above what its hands do, below its port; the ways of the
 * first and of the last segment.  Where bars stand for several spans their
 * height is the share of the time for which something is busy. */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include "apps/nowfarm/tree_drawing.h"

enum {
    COLUMNS = 512,
    COLUMNS_LEAST = 64,
    ALL_COLUMNS = 32768, /* of all nodes */
    TITLES = 8192,       /* more bars have none: they are most of the file */
};

/* A row of bars on its way to the file. */
struct lane {
    const struct nf_busy_row *row;
    const char *what; /* "sends", "port busy" */
    const char *class;
    uint32_t node; /* NF_TREE_NONE: of the medium */
    double bottom, height;
};

uint32_t tree_svg_columns(uint32_t nodes)
{
    uint32_t columns = ALL_COLUMNS / nodes;

    return columns < COLUMNS_LEAST ? COLUMNS_LEAST
           : columns > COLUMNS     ? COLUMNS
                                   : columns;
}

/* ---- bars ---- */

/* Of a path: the part of a bar from @p low to @p high of its lane's height. */
static void put_box(const struct drawing *d, const struct lane *lane,
                    const struct nf_busy_bar *bar, double low, double high)
{
    /* as they are written: bars that go on from each other leave no gap */
    double x = round(10 * tree_svg_x(d, bar->from_us)) / 10,
           width = round(10 * tree_svg_x(d, bar->to_us)) / 10 - x;

    /* neighbours are told apart by a hair of background, but what is put
     * together looks like one */
    if (width > 5 && bar->spans == 1)
        width -= 1;
    if (high > low)
        fprintf(d->to, "M%.1f %.1fh%.1fv%.1fh-%.1fz", x,
                lane->bottom - high * lane->height, fmax(width, 0.3),
                (high - low) * lane->height, fmax(width, 0.3));
}

/* What is sent stands on the bottom, what is received on it. */
static void put_sent(const struct drawing *d, const struct lane *lane,
                     const struct nf_busy_bar *bar)
{
    put_box(d, lane, bar, 0, bar->send_us / (bar->to_us - bar->from_us));
}

static void put_received(const struct drawing *d, const struct lane *lane,
                         const struct nf_busy_bar *bar)
{
    double us = bar->to_us - bar->from_us, sent = bar->send_us / us;

    put_box(d, lane, bar, sent, sent + bar->recv_us / us);
}

static void put_title(const struct drawing *d, const struct lane *lane,
                      const struct nf_busy_bar *bar)
{
    double us = bar->to_us - bar->from_us;

    fputs("<title>", d->to);
    if (bar->spans == 1) {
        tree_svg_label(d, bar->src);
        fputs(" to ", d->to);
        tree_svg_label(d, bar->dst);
        fprintf(d->to, ", segment %" PRIu64 ": %s", bar->first + 1,
                bar->recv_us > 0 ? "receives" : lane->what);
    } else {
        if (lane->node != NF_TREE_NONE) {
            tree_svg_label(d, lane->node);
            fputs(", ", d->to);
        }
        fprintf(d->to, "segments %" PRIu64 " to %" PRIu64 ": %s %.0f %%",
                bar->first + 1, bar->last + 1, lane->what,
                100 * bar->send_us / us);
        if (bar->recv_us > 0)
            fprintf(d->to, ", receives %.0f %%", 100 * bar->recv_us / us);
    }
    fprintf(d->to, " from %.12g until %.12g</title>", bar->from_us, bar->to_us);
}

static void draw_titled(const struct drawing *d, const struct lane *lane,
                        const struct nf_busy_bar *bar)
{
    fputs("<g>", d->to);
    put_title(d, lane, bar);
    if (bar->recv_us > 0) {
        fputs("<path class=\"c\" d=\"", d->to);
        put_received(d, lane, bar);
        fputs("\"/>", d->to);
    }
    if (bar->send_us > 0) {
        fprintf(d->to, "<path class=\"%s\" d=\"", lane->class);
        put_sent(d, lane, bar);
        fputs("\"/>", d->to);
    }
    fputs("</g>\n", d->to);
}

static void draw_lane(const struct drawing *d, const struct lane *lane,
                      bool titled)
{
    const struct nf_busy_row *row = lane->row;

    for (uint32_t k = 0; titled && k < row->count; k++)
        draw_titled(d, lane, &row->bars[k]);
    if (titled || row->count == 0)
        return;
    if (row->recv_us > 0) {
        fputs("<path class=\"c\" d=\"", d->to);
        for (uint32_t k = 0; k < row->count; k++)
            put_received(d, lane, &row->bars[k]);
        fputs("\"/>\n", d->to);
    }
    if (row->send_us > 0) {
        fprintf(d->to, "<path class=\"%s\" d=\"", lane->class);
        for (uint32_t k = 0; k < row->count; k++)
            put_sent(d, lane, &row->bars[k]);
        fputs("\"/>\n", d->to);
    }
}

/* ---- rows ---- */

static double share(const struct drawing *d, double us)
{
    return d->end > 0 ? 100 * us / d->end : 0;
}

/* Until when a host, which has something since its first segment is there, has
 * to do with the message. */
static double done(const struct nf_busy *busy, uint32_t v)
{
    const struct nf_busy_row *hands = nf_busy_hands(busy, v),
                             *port = nf_busy_port(busy, v);
    double at = busy->last[v].ready_us;

    if (hands->count > 0)
        at = fmax(at, hands->bars[hands->count - 1].to_us);
    if (port->count > 0)
        at = fmax(at, port->bars[port->count - 1].to_us);
    return at;
}

/* The ground on which bars stand; it tells about the whole row. */
static void draw_ground(const struct drawing *d, uint32_t v)
{
    const struct nf_busy *busy = d->p->busy;
    const struct nf_busy_row *hands = nf_busy_hands(busy, v);
    double from = tree_svg_x(d, busy->first[v].ready_us);

    fprintf(d->to,
            "<rect class=\"n\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
            "height=\"%.1f\"><title>",
            from, tree_svg_y(d, v) - 0.42 * d->row_height,
            tree_svg_x(d, done(busy, v)) - from, 0.84 * d->row_height);
    tree_svg_label(d, v);
    fprintf(d->to,
            ": first segment at %.12g, last at %.12g; of all the time receives "
            "%.0f %%, sends %.0f %%, port busy %.0f %%</title></rect>\n",
            busy->first[v].ready_us, busy->last[v].ready_us,
            share(d, hands->recv_us), share(d, hands->send_us),
            share(d, nf_busy_port(busy, v)->send_us));
}

static void draw_shares(const struct drawing *d, const struct nf_busy_row *a,
                        const struct nf_busy_row *b, double y)
{
    double us = fmax(a->recv_us + a->send_us, b->recv_us + b->send_us);

    if (d->row_height >= TREE_SVG_LEGIBLE_ROW)
        fprintf(d->to, "<text class=\"r\" x=\"%d\" y=\"%.1f\">%.0f %%</text>\n",
                TREE_SVG_WIDTH - 2, y + 4, share(d, us));
}

static void draw_host(const struct drawing *d, uint32_t v, bool titled)
{
    const struct nf_busy_row *hands = nf_busy_hands(d->p->busy, v),
                             *port = nf_busy_port(d->p->busy, v);
    double y = tree_svg_y(d, v), room = d->row_height;
    const struct lane above = { hands, "sends",        "s",
                                v,     y + 0.1 * room, 0.5 * room },
                      below = { port, "port busy",    "k",
                                v,    y + 0.4 * room, 0.24 * room };

    if (room >= TREE_SVG_LEGIBLE_ROW) {
        fprintf(d->to, "<text class=\"r\" x=\"%d\" y=\"%.1f\">",
                TREE_SVG_LEFT - 12, y + 4);
        tree_svg_label(d, v);
        fputs("</text>\n", d->to);
    }
    draw_ground(d, v);
    draw_lane(d, &above, titled);
    draw_lane(d, &below, titled);
    draw_shares(d, hands, port, y);
}

static void draw_medium(const struct drawing *d, bool titled)
{
    const struct nf_busy_row *row = nf_busy_medium(d->p->busy);
    double y = d->rows_end - 0.5 * d->row_height;
    const struct lane lane = {
        row,          "medium busy",           "k",
        NF_TREE_NONE, y + 0.3 * d->row_height, 0.6 * d->row_height
    };

    if (row->count == 0)
        return;
    if (d->row_height >= TREE_SVG_LEGIBLE_ROW)
        fprintf(d->to,
                "<text class=\"r g\" x=\"%d\" y=\"%.1f\">medium</text>\n",
                TREE_SVG_LEFT - 12, y + 4);
    draw_lane(d, &lane, titled);
    draw_shares(d, row, row, y);
}

/* ---- the first and the last segment ---- */

static void draw_way(const struct drawing *d, uint32_t v,
                     const struct nf_busy_arrival *a, const char *which)
{
    uint32_t parent = d->p->tree->parent[v];

    fprintf(d->to,
            "<line class=\"y\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
            "y2=\"%.1f\"><title>",
            tree_svg_x(d, a->sent_us), tree_svg_y(d, parent),
            tree_svg_x(d, a->ready_us), tree_svg_y(d, v));
    tree_svg_label(d, parent);
    fputs(" to ", d->to);
    tree_svg_label(d, v);
    fprintf(d->to, ", %s segment: from %.12g, ready at %.12g</title></line>\n",
            which, a->sent_us, a->ready_us);
}

static void draw_marks(const struct drawing *d, uint32_t v)
{
    const struct nf_busy *busy = d->p->busy;
    double first_us = busy->first[v].ready_us, last_us = busy->last[v].ready_us;
    double y = tree_svg_y(d, v), r = fmin(3.5, 0.3 * d->row_height);

    if (v != d->p->tree->root)
        fprintf(d->to,
                "<circle class=\"f\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n",
                tree_svg_x(d, first_us), y, r);
    fprintf(d->to,
            "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n",
            last_us >= d->last ? "z" : "p", tree_svg_x(d, last_us), y, r);
}

/* ---- all of it ---- */

void tree_svg_busy_legend(const struct drawing *d)
{
    bool has_medium = nf_busy_medium(d->p->busy)->count > 0;

    fputs("<circle class=\"o\" cx=\"900\" cy=\"30\" r=\"5\"/>"
          "<text x=\"910\" y=\"34\">root</text>"
          "<circle class=\"l\" cx=\"962\" cy=\"30\" r=\"5\"/>"
          "<text x=\"972\" y=\"34\">ready last</text>"
          "<circle class=\"f\" cx=\"1062\" cy=\"30\" r=\"3.5\"/>"
          "<text x=\"1070\" y=\"34\">first</text>"
          "<circle class=\"p\" cx=\"1106\" cy=\"30\" r=\"3.5\"/>"
          "<text x=\"1114\" y=\"34\">last segment</text>\n"
          "<rect class=\"c\" x=\"771\" y=\"46\" width=\"18\" height=\"10\"/>"
          "<text x=\"794\" y=\"55\">receives</text>"
          "<rect class=\"s\" x=\"863\" y=\"46\" width=\"18\" height=\"10\"/>"
          "<text x=\"886\" y=\"55\">sends</text>"
          "<rect class=\"k\" x=\"943\" y=\"46\" width=\"18\" height=\"10\"/>",
          d->to);
    fprintf(d->to,
            "<text x=\"966\" y=\"55\">%s</text>"
            "<line class=\"y\" x1=\"1096\" y1=\"46\" x2=\"1110\" y2=\"56\"/>"
            "<text x=\"1114\" y=\"55\">on its way</text>\n",
            has_medium ? "port, medium busy" : "port busy");
}

void tree_svg_busy_rows(const struct drawing *d)
{
    const struct nf_tree *tree = d->p->tree;
    const struct nf_busy *busy = d->p->busy;
    uint64_t bars = 0;
    bool titled;

    for (size_t i = 0; i <= 2 * (size_t)busy->nodes; i++)
        bars += busy->rows[i].count;
    titled = bars <= TITLES;
    if (d->row_height >= TREE_SVG_LEGIBLE_ROW)
        fprintf(d->to, "<text class=\"r\" x=\"%d\" y=\"%.1f\">busy</text>\n",
                TREE_SVG_WIDTH - 2, d->rows_top - 10);
    for (uint32_t v = 0; v < tree->nodes; v++)
        draw_host(d, v, titled);
    draw_medium(d, titled);
    for (uint32_t v = 0; v < tree->nodes; v++)
        if (v != tree->root) {
            draw_way(d, v, &busy->first[v], "first");
            draw_way(d, v, &busy->last[v], "last");
        }
    for (uint32_t v = 0; v < tree->nodes; v++)
        draw_marks(d, v);
}
