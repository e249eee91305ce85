/* The tree stands on its leaves, which have equal room, a level for each
 * generation.  In the diagram rows come in the order in which the tree is
 * walked through, so that a subtree's rows are together. */
#include "config.h"
#include "apps/nowfarm/tree_svg.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include "apps/nowfarm/tree_drawing.h"
#include "common/base/alloc.h"

/* Pixels. */
enum { TOP = 86, TREE_GAP = 66 };

static const double largest_circle = 15, legible_circle = 8, largest_level = 62,
                    largest_row = 22, largest_busy_row = 30;

static const char style[] =
    "<style>\n"
    "text{font-family:'DejaVu Sans','Segoe UI',Helvetica,Arial,sans-serif;"
    "font-size:11px;fill:#3b4252}\n"
    ".h{font-size:19px;font-weight:600;fill:#1f2430}\n"
    ".g{font-weight:600;font-size:12px;fill:#1f2430}\n"
    ".m{text-anchor:middle}.r{text-anchor:end}\n"
    ".e{stroke:#8a94a3;stroke-width:1.3;fill:none}\n"
    ".v{fill:#dceaf4;stroke:#2b6ca3;stroke-width:1.3}\n"
    ".o{fill:#2f7dab;stroke:#16456e;stroke-width:1.3}\n"
    ".l{fill:#f8dcc8;stroke:#d1570b;stroke-width:1.6}\n"
    ".t{paint-order:stroke;stroke:#fff;stroke-width:4px}\n"
    ".w{fill:#fff}.s{fill:#2f7dab;shape-rendering:crispEdges}\n"
    ".y{stroke:#d59a2b;stroke-width:1.2}\n"
    ".d{stroke:#c9d8e4;stroke-width:3}\n"
    ".p{fill:#16456e}.z{fill:#d1570b}\n"
    ".a{stroke:#d5d9df;stroke-width:1}\n"
    ".c{fill:#5d9c59;shape-rendering:crispEdges}"
    ".k{fill:#e3b04b;shape-rendering:crispEdges}\n"
    ".n{fill:#f1f5f9}.f{fill:#fff;stroke:#16456e;stroke-width:1.3}\n"
    ".b{stroke:#d1570b;stroke-width:1.2;stroke-dasharray:5 4}\n"
    "</style>\n";

void tree_svg_text(FILE *to, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '&')
            fputs("&amp;", to);
        else if (*text == '<')
            fputs("&lt;", to);
        else if (*text == '>')
            fputs("&gt;", to);
        else
            fputc(*text, to);
    }
}

void tree_svg_label(const struct drawing *d, uint32_t v)
{
    if (d->p->label != NULL)
        tree_svg_text(d->to, d->p->label[v]);
    else
        fprintf(d->to, "%u", v);
}

/* ---- where things are ---- */

/* Walk through the tree, first children first. */
static void walk(struct drawing *d)
{
    const struct nf_tree *tree = d->p->tree;
    uint32_t v = tree->root, count = 0;

    d->depth[v] = 0;
    for (;;) {
        uint32_t i;

        d->row[v] = count;
        d->walk[count++] = v;
        if (d->depth[v] > d->deepest)
            d->deepest = d->depth[v];
        if (tree->first[v] < tree->first[v + 1]) {
            uint32_t child = tree->child[tree->first[v]];

            d->depth[child] = d->depth[v] + 1;
            v = child;
            continue;
        }
        d->x[v] = d->leaves++ + 0.5;
        if (count == tree->nodes)
            return;
        for (;; v = tree->parent[v]) { /* up to who has one more child */
            uint32_t parent = tree->parent[v];

            for (i = tree->first[parent]; tree->child[i] != v;)
                i++;
            if (++i < tree->first[parent + 1])
                break;
        }
        d->depth[tree->child[i]] = d->depth[v];
        v = tree->child[i];
    }
}

static void lay_out(struct drawing *d)
{
    const struct nf_tree *tree = d->p->tree;
    bool has_medium =
        d->p->busy != NULL && nf_busy_medium(d->p->busy)->count > 0;
    double room;

    walk(d);
    for (uint32_t i = tree->nodes; i-- > 0;) {
        uint32_t v = d->walk[i];

        if (tree->first[v] < tree->first[v + 1])
            d->x[v] = (d->x[tree->child[tree->first[v]]] +
                       d->x[tree->child[tree->first[v + 1] - 1]]) /
                      2;
    }
    room = (double)TREE_SVG_PLOT / d->leaves;
    for (uint32_t v = 0; v < tree->nodes; v++) {
        d->x[v] = TREE_SVG_LEFT + d->x[v] * room;
        d->last = fmax(d->last, d->p->ready[v]);
        d->end = fmax(d->end, d->p->ready[v]);
        if (v != tree->root && d->p->busy == NULL)
            d->end = fmax(d->end, d->p->free[v]);
    }
    if (d->p->busy != NULL)
        d->end = fmax(d->end, d->p->busy->end_us);
    d->level_height = fmin(largest_level, fmax(2, 4000.0 / (d->deepest + 1)));
    d->circle =
        fmax(1, fmin(largest_circle, fmin(0.42 * room, 0.3 * d->level_height)));
    d->row_height =
        fmin(d->p->busy != NULL ? largest_busy_row : largest_row,
             fmax(d->p->busy != NULL ? 4 : 2, 4000.0 / tree->nodes));
    d->rows_top = TOP + 20 + d->deepest * d->level_height + TREE_GAP;
    d->rows_end = d->rows_top + (tree->nodes + has_medium) * d->row_height;
    d->height = d->rows_end + 54;
}

/* ---- the tree ---- */

static void draw_node(const struct drawing *d, uint32_t v)
{
    double x = d->x[v], y = TOP + 20 + d->depth[v] * d->level_height;
    const char *class = v == d->p->tree->root       ? "o"
                        : d->p->ready[v] >= d->last ? "l"
                                                    : "v";

    fputs("<g><title>node ", d->to);
    tree_svg_label(d, v);
    fprintf(d->to,
            ", ready at %.12g</title><circle class=\"%s\" cx=\"%.1f\" "
            "cy=\"%.1f\" r=\"%.1f\"/>",
            d->p->ready[v], class, x, y, d->circle);
    if (d->circle >= legible_circle) {
        fprintf(d->to, "<text class=\"m%s\" x=\"%.1f\" y=\"%.1f\">",
                v == d->p->tree->root ? " w" : "", x, y + 4);
        tree_svg_label(d, v);
        fprintf(d->to,
                "</text><text class=\"m t\" x=\"%.1f\" y=\"%.1f\">%.6g</text>",
                x, y + d->circle + 12, d->p->ready[v]);
    }
    fputs("</g>\n", d->to);
}

static void draw_tree(const struct drawing *d)
{
    const struct nf_tree *tree = d->p->tree;

    for (uint32_t v = 0; v < tree->nodes; v++) {
        uint32_t parent = tree->parent[v];

        if (v == tree->root)
            continue;
        fprintf(d->to,
                "<line class=\"e\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
                "y2=\"%.1f\"/>\n",
                d->x[parent], TOP + 20 + d->depth[parent] * d->level_height,
                d->x[v], TOP + 20 + d->depth[v] * d->level_height);
    }
    for (uint32_t i = 0; i < tree->nodes; i++)
        draw_node(d, d->walk[i]);
}

/* ---- the diagram ---- */

/* 1, 2 or 5 times a power of ten: some eight of them make the axis. */
static double step_of(double range)
{
    double power = pow(10, floor(log10(range / 8)));
    double steps = range / 8 / power;

    return power * (steps <= 1 ? 1 : steps <= 2 ? 2 : steps <= 5 ? 5 : 10);
}

static void draw_axis(const struct drawing *d)
{
    double step = d->end > 0 ? step_of(d->end) : 1;

    for (uint32_t i = 0; i * step <= d->end * (1 + 1e-9); i++)
        fprintf(d->to,
                "<line class=\"a\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
                "y2=\"%.1f\"/><text class=\"m\" x=\"%.1f\" "
                "y=\"%.1f\">%.6g</text>\n",
                tree_svg_x(d, i * step), d->rows_top, tree_svg_x(d, i * step),
                d->rows_end + 4, tree_svg_x(d, i * step), d->rows_end + 18,
                i * step);
    fprintf(d->to, "<text class=\"m\" x=\"%d\" y=\"%.1f\">",
            TREE_SVG_LEFT + TREE_SVG_PLOT / 2, d->rows_end + 38);
    tree_svg_text(d->to, d->p->time_label);
    fprintf(d->to,
            "</text>\n<line class=\"b\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
            "y2=\"%.1f\"/>\n",
            tree_svg_x(d, d->last), d->rows_top - 6, tree_svg_x(d, d->last),
            d->rows_end);
    fprintf(d->to,
            "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">all ready at "
            "%.6g</text>\n",
            tree_svg_x(d, d->last) > TREE_SVG_LEFT + 160 ? "r g" : "g",
            tree_svg_x(d, d->last), d->rows_top - 10, d->last);
}

/* What v's parent does for it: the send in the parent's row, and the way from
 * there to v. */
static void draw_send(const struct drawing *d, uint32_t v)
{
    uint32_t parent = d->p->tree->parent[v];
    double from = tree_svg_x(d, d->p->start[v]),
           until = tree_svg_x(d, d->p->free[v]);
    double bar = fmax(1, 0.5 * d->row_height), y = tree_svg_y(d, parent);
    double gap = until - from > 5 ? 1 : 0;

    fprintf(d->to,
            "<rect class=\"s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
            "height=\"%.2f\"><title>",
            from, y - bar / 2, fmax(0, until - from - gap), bar);
    tree_svg_label(d, parent);
    fputs(" to ", d->to);
    tree_svg_label(d, v);
    fprintf(d->to, ": from %.12g until %.12g, ready at %.12g</title></rect>\n",
            d->p->start[v], d->p->free[v], d->p->ready[v]);
    fprintf(d->to,
            "<line class=\"y\" x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" "
            "y2=\"%.2f\"/>\n",
            from, y, tree_svg_x(d, d->p->ready[v]), tree_svg_y(d, v));
}

static void draw_row(const struct drawing *d, uint32_t v)
{
    double y = tree_svg_y(d, v);

    if (d->row_height >= TREE_SVG_LEGIBLE_ROW) {
        fprintf(d->to, "<text class=\"r\" x=\"%d\" y=\"%.1f\">",
                TREE_SVG_LEFT - 12, y + 4);
        tree_svg_label(d, v);
        fputs("</text>\n", d->to);
    }
    fprintf(d->to,
            "<line class=\"d\" x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" "
            "y2=\"%.2f\"/>\n",
            tree_svg_x(d, d->p->ready[v]), y, tree_svg_x(d, d->end), y);
}

static void draw_diagram(const struct drawing *d)
{
    const struct nf_tree *tree = d->p->tree;

    fprintf(d->to, "<text class=\"g\" x=\"24\" y=\"%.1f\">node</text>\n",
            d->rows_top - 10);
    draw_axis(d);
    if (d->p->busy != NULL) {
        tree_svg_busy_rows(d);
        return;
    }
    for (uint32_t v = 0; v < tree->nodes; v++)
        draw_row(d, v);
    for (uint32_t v = 0; v < tree->nodes; v++)
        if (v != tree->root)
            draw_send(d, v);
    for (uint32_t v = 0; v < tree->nodes; v++)
        fprintf(d->to,
                "<circle class=\"%s\" cx=\"%.2f\" cy=\"%.2f\" r=\"%.1f\"/>\n",
                d->p->ready[v] >= d->last ? "z" : "p",
                tree_svg_x(d, d->p->ready[v]), tree_svg_y(d, v),
                fmin(3.5, 0.3 * d->row_height));
}

static void draw_head(const struct drawing *d)
{
    fprintf(d->to,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%.0f\" viewBox=\"0 0 %d %.0f\">\n%s"
            "<rect class=\"w\" width=\"%d\" height=\"%.0f\"/>\n"
            "<text class=\"h\" x=\"24\" y=\"34\">",
            TREE_SVG_WIDTH, d->height, TREE_SVG_WIDTH, d->height, style,
            TREE_SVG_WIDTH, d->height);
    tree_svg_text(d->to, d->p->title);
    fputs("</text>\n<text x=\"24\" y=\"55\">", d->to);
    tree_svg_text(d->to, d->p->subtitle);
    fputs("</text>\n", d->to);
    if (d->p->busy != NULL) {
        tree_svg_busy_legend(d);
        return;
    }
    fprintf(d->to,
            "<circle class=\"o\" cx=\"%d\" cy=\"30\" r=\"5\"/><text x=\"%d\" "
            "y=\"34\">root</text>"
            "<circle class=\"l\" cx=\"%d\" cy=\"30\" r=\"5\"/><text x=\"%d\" "
            "y=\"34\">ready last</text>"
            "<rect class=\"s\" x=\"%d\" y=\"25\" width=\"18\" height=\"10\"/>"
            "<text x=\"%d\" y=\"34\">sends</text>"
            "<line class=\"y\" x1=\"%d\" y1=\"25\" x2=\"%d\" y2=\"35\"/>"
            "<text x=\"%d\" y=\"34\">on its way</text>\n",
            TREE_SVG_WIDTH - 350, TREE_SVG_WIDTH - 340, TREE_SVG_WIDTH - 300,
            TREE_SVG_WIDTH - 290, TREE_SVG_WIDTH - 215, TREE_SVG_WIDTH - 192,
            TREE_SVG_WIDTH - 142, TREE_SVG_WIDTH - 124, TREE_SVG_WIDTH - 118);
}

enum nf_status tree_svg(FILE *to, const struct tree_picture *picture)
{
    uint32_t nodes = picture->tree->nodes;
    struct drawing d = {
        .to = to,
        .p = picture,
        .walk = nf_calloc(nodes, sizeof(*d.walk)),
        .row = nf_calloc(nodes, sizeof(*d.row)),
        .depth = nf_calloc(nodes, sizeof(*d.depth)),
        .x = nf_calloc(nodes, sizeof(*d.x)),
    };
    enum nf_status status = NF_ERR_NOMEM;

    if (d.walk != NULL && d.row != NULL && d.depth != NULL && d.x != NULL) {
        lay_out(&d);
        draw_head(&d);
        draw_tree(&d);
        draw_diagram(&d);
        fputs("</svg>\n", to);
        status = NF_OK;
    }
    nf_free(d.walk);
    nf_free(d.row);
    nf_free(d.depth);
    nf_free(d.x);
    return status;
}
