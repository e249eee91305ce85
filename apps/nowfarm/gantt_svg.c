/* The picture: a row a slot, grouped by host, and below it how many units were
 * in the hands of slaves.
 *
 * What is too small to be seen alone is drawn together, as a bar whose colours
 * have the heights of their shares of the time; so the size of the file depends
 * on the size of the picture, not of the job. */
#include "config.h"
#include <inttypes.h>
#include <string.h>
#include "apps/nowfarm/gantt.h"
#include "common/base/alloc.h"
#include "common/base/units.h"

/* Pixels. */
static const double left = 176, plot = 1180, top = 104, group_gap = 7,
                    strip_height = 64, single_least = 1.5, bundle_least = 3;

enum { WIDTH = 1380 };

/* Classes of the style sheet, and the order in which a bundle is piled up. */
static const char *const classes[SPAN_KINDS] = {
    [SPAN_SHARED] = "s", [SPAN_COMPUTE] = "c", [SPAN_TRANSFER] = "t",
    [SPAN_IDLE] = "i",   [SPAN_LOST] = "l",    [SPAN_CANCELLED] = "k",
    [SPAN_OPEN] = "o",
};

static const char style[] =
    "<style>\n"
    "text{font-family:'DejaVu Sans','Segoe UI',Helvetica,Arial,sans-serif;"
    "font-size:11px;fill:#3b4252}\nrect{shape-rendering:crispEdges}\n"
    ".h{font-size:19px;font-weight:600;fill:#1f2430}\n"
    ".n{font-size:12.5px}\n.w{font-size:12.5px;fill:#b3361b}\n"
    ".g{font-weight:600;font-size:12px;fill:#1f2430}\n"
    ".r{text-anchor:end}\n.m{text-anchor:middle}\n"
    ".c{fill:#2f7dab}\n.t{fill:#f2b441}\n.i{fill:#e4e7eb}\n"
    ".s{fill:#cc79bd}\n.l{fill:url(#lost)}\n.k{fill:#8c829e}\n"
    ".o{fill:#9abfa8}\n.q{fill:#74c0c9}\n"
    ".x{stroke:#c5311d;stroke-width:2}\n"
    ".a{stroke:#d5d9df;stroke-width:1}\n.b{stroke:#1f2430;stroke-width:1.2;"
    "stroke-dasharray:5 4}\n.u{fill:#c9d8e4;stroke:#5d7f9b;stroke-width:1}\n"
    "</style>\n"
    "<defs><pattern id=\"lost\" width=\"6\" height=\"6\" "
    "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
    "<rect width=\"6\" height=\"6\" fill=\"#f3b7aa\"/>"
    "<rect width=\"3\" height=\"6\" fill=\"#d6452b\"/></pattern></defs>\n";

struct svg {
    FILE *to;
    const struct timeline *t;
    double us_px;      /* pixels of a microsecond */
    double row_height; /* all of it */
    double bar_height; /* of the colours; below it is the queue */
    double height;     /* of the picture */
    double rows_end;   /* y below the last row */
    double y;          /* of the row that is drawn */
    /* spans that are drawn together */
    double from_px, to_px;
    int64_t shares_us[SPAN_KINDS];
    uint64_t chunks, units;
    /* a time in which something waits */
    double wait_from_px, wait_to_px;
};

static double x_of(const struct svg *s, int64_t at_us)
{
    return left + (double)(at_us - s->t->from_us) * s->us_px;
}

static void put_escaped(FILE *to, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", to);
            break;
        case '<':
            fputs("&lt;", to);
            break;
        case '>':
            fputs("&gt;", to);
            break;
        default:
            fputc(*text, to);
        }
    }
}

static void rect(struct svg *s, const char *class, double x, double y, double w,
                 double h)
{
    fprintf(s->to,
            "<rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
            "height=\"%.2f\"",
            class, x, y, w, h);
}

/* ---- spans that are large enough ---- */

static void chunk_title(FILE *to, const struct nf_history_chunk *chunk)
{
    char a[32], b[32];

    if (chunk->count == 1)
        fprintf(to, "unit %" PRIu64, chunk->first);
    else
        fprintf(to, "%" PRIu64 " units, %" PRIu64 " to %" PRIu64, chunk->count,
                chunk->first, chunk->first + chunk->count - 1);
    if (chunk->attempts > 0)
        fprintf(to, ", try %u", chunk->attempts + 1);
    if (chunk->measured)
        fprintf(to, "\ncomputed in %s, result after %s",
                nf_format_time_us(chunk->compute_us, a, sizeof(a)),
                nf_format_time_us(chunk->elapsed_us, b, sizeof(b)));
    if (chunk->wait_us > 0)
        fprintf(to, "\nwaited at the slot for %s",
                nf_format_time_us(chunk->wait_us, a, sizeof(a)));
    fprintf(to, "\n%s out, %s in",
            nf_format_bytes(chunk->bytes_out, a, sizeof(a)),
            nf_format_bytes(chunk->bytes_in, b, sizeof(b)));
}

static void draw_span(struct svg *s, const struct span *span)
{
    double x = x_of(s, span->from_us), w = x_of(s, span->to_us) - x;
    char text[32];

    /* neighbours of one colour are told apart by a hair of background */
    if (span->kind != SPAN_IDLE && w > 5)
        w -= 1;
    rect(s, classes[span->kind], x, s->y, w, s->bar_height);
    fprintf(s->to, "><title>%s for %s", span_names[span->kind],
            nf_format_time_us(span->to_us - span->from_us, text, sizeof(text)));
    if (span->chunk != NULL) {
        fputs("\n", s->to);
        chunk_title(s->to, span->chunk);
    }
    if (span->phase != NULL) {
        fputs("\n", s->to);
        put_escaped(s->to, span->phase->name);
        fprintf(s->to, ", %s",
                nf_format_bytes(span->phase->bytes, text, sizeof(text)));
        if (span->phase->algorithm[0] != '\0') {
            fputs(" by ", s->to);
            put_escaped(s->to, span->phase->algorithm);
        }
    }
    fputs("</title></rect>\n", s->to);
}

/* ---- those that are not ---- */

static void draw_bundle(struct svg *s)
{
    double w = s->to_px - s->from_px, y = s->y + s->bar_height;
    int64_t all_us = 0;
    char text[32];

    for (int k = 0; k < SPAN_KINDS; k++)
        all_us += s->shares_us[k];
    if (all_us <= 0)
        return;
    fprintf(s->to, "<g><title>%" PRIu64 " chunks, %" PRIu64 " units, in %s",
            s->chunks, s->units, nf_format_time_us(all_us, text, sizeof(text)));
    for (int k = 0; k < SPAN_KINDS; k++)
        if (s->shares_us[k] > 0)
            fprintf(s->to, "\n%s %.0f %%", span_names[k],
                    100 * (double)s->shares_us[k] / (double)all_us);
    fputs("</title>", s->to);
    for (int n = 0; n < SPAN_KINDS; n++) {
        static const enum span_kind order[SPAN_KINDS] = {
            SPAN_COMPUTE, SPAN_OPEN,      SPAN_SHARED, SPAN_TRANSFER,
            SPAN_LOST,    SPAN_CANCELLED, SPAN_IDLE
        };
        double h =
            s->bar_height * (double)s->shares_us[order[n]] / (double)all_us;

        if (h <= 0)
            continue;
        y -= h;
        rect(s, classes[order[n]], s->from_px, y, w, h);
        fputs("/>", s->to);
    }
    fputs("</g>\n", s->to);
}

static void flush_bundle(struct svg *s)
{
    if (s->to_px > s->from_px)
        draw_bundle(s);
    s->from_px = s->to_px = -1;
    memset(s->shares_us, 0, sizeof(s->shares_us));
    s->chunks = s->units = 0;
}

static void on_span(void *user, const struct span *span)
{
    struct svg *s = user;
    double x = x_of(s, span->from_us), end = x_of(s, span->to_us);

    if (end - x >= single_least || x - s->to_px > single_least)
        flush_bundle(s);
    if (end - x >= single_least) {
        draw_span(s, span);
        return;
    }
    if (s->from_px < 0)
        s->from_px = x;
    s->to_px = end;
    s->shares_us[span->kind] += span->to_us - span->from_us;
    if (span->chunk != NULL) {
        s->chunks++;
        s->units += span->chunk->count;
    }
    if (s->to_px - s->from_px >= bundle_least)
        flush_bundle(s);
}

/* ---- the queue below a bar ---- */

static void flush_wait(struct svg *s)
{
    double w = s->wait_to_px - s->wait_from_px;

    if (s->wait_from_px < 0)
        return;
    rect(s, "q", s->wait_from_px, s->y + s->bar_height + 0.5, w > 0.4 ? w : 0.4,
         s->row_height * 0.14);
    fputs("/>\n", s->to);
    s->wait_from_px = -1;
}

static void on_wait(void *user, int64_t from_us, int64_t to_us)
{
    struct svg *s = user;
    double x = x_of(s, from_us), end = x_of(s, to_us);

    if (s->wait_from_px >= 0 && x > s->wait_to_px + 0.8)
        flush_wait(s);
    if (s->wait_from_px < 0) {
        s->wait_from_px = x;
        s->wait_to_px = end;
    } else if (end > s->wait_to_px) {
        s->wait_to_px = end;
    }
}

/* ---- rows ---- */

static bool begins_group(const struct timeline *t, uint32_t row)
{
    return row == 0 ||
           t->hosts[t->rows[row - 1].slave] != t->hosts[t->rows[row].slave];
}

static void draw_losses(struct svg *s, uint32_t slave)
{
    const struct nf_history *h = s->t->h;
    const struct by_slave *stays = &s->t->stays;

    for (uint32_t i = stays->first[slave]; i < stays->first[slave + 1]; i++) {
        const struct nf_history_stay *stay = &h->stays[stays->list[i]];
        double x = x_of(s, stay->to_us);

        if (stay->to_us < 0 || stay->to_us > s->t->to_us)
            continue;
        fprintf(
            s->to,
            "<path class=\"x\" d=\"M%.2f %.2fv%.2f\"><title>slave %u lost: ", x,
            s->y - 1, s->row_height * 0.95, h->slaves[slave].number);
        put_escaped(s->to, stay->reason);
        fputs("</title></path>\n", s->to);
    }
}

static void label_group(struct svg *s, uint32_t first, double height)
{
    const struct timeline *t = s->t;
    uint32_t last = first;

    while (last + 1 < t->nrows && !begins_group(t, last + 1))
        last++;
    if (height < 10)
        return;
    fprintf(s->to, "<text class=\"g\" x=\"10\" y=\"%.2f\">",
            s->y + (height < 24 ? height / 2 + 4 : 13));
    put_escaped(s->to, t->h->slaves[t->rows[first].slave].host);
    fputs("</text>\n", s->to);
    if (s->row_height >= 10 || height < 30)
        return;
    fprintf(s->to, "<text x=\"10\" y=\"%.2f\">%u slots</text>\n", s->y + 28,
            last - first + 1);
}

static void draw_row(struct svg *s, uint32_t number)
{
    const struct row *row = &s->t->rows[number];
    const struct nf_history_slave *slave = &s->t->h->slaves[row->slave];

    if (s->row_height >= 10) {
        fprintf(s->to, "<text class=\"r\" x=\"%.0f\" y=\"%.2f\">slave %u",
                left - 8, s->y + s->bar_height / 2 + 4, slave->number);
        if (slave->slots > 1)
            fprintf(s->to, " slot %u", row->slot);
        fputs("</text>\n", s->to);
    }
    flush_bundle(s);
    timeline_walk(s->t, row, on_span, s);
    flush_bundle(s);
    timeline_walk_waits(s->t, row, on_wait, s);
    flush_wait(s);
    draw_losses(s, row->slave);
}

static double group_height(const struct svg *s, uint32_t first)
{
    uint32_t rows = 1;

    while (first + rows < s->t->nrows && !begins_group(s->t, first + rows))
        rows++;
    return rows * s->row_height;
}

static void draw_rows(struct svg *s)
{
    s->y = top;
    s->wait_from_px = -1;
    for (uint32_t i = 0; i < s->t->nrows; i++) {
        if (begins_group(s->t, i)) {
            s->y += i > 0 ? group_gap : 0;
            label_group(s, i, group_height(s, i));
        }
        draw_row(s, i);
        s->y += s->row_height;
    }
}

/* ---- axis ---- */

/* The least of 1, 2, 5, 10, ... that is at least `least`. */
static int64_t nice(int64_t least)
{
    int64_t step = 1;

    while (step < least) {
        if (2 * step >= least)
            return 2 * step;
        if (5 * step >= least)
            return 5 * step;
        step *= 10;
    }
    return step;
}

static void draw_axis(struct svg *s)
{
    int64_t span_us = s->t->to_us - s->t->from_us;
    int64_t step_us = nice(span_us / 12 + 1);
    int64_t unit_us = span_us >= 2000000 ? 1000000 : span_us >= 2000 ? 1000 : 1;
    const char *unit = unit_us == 1000000 ? "s" : unit_us == 1000 ? "ms" : "us";
    double bottom = s->rows_end;

    for (int64_t at_us = 0; at_us <= span_us; at_us += step_us) {
        double x = left + (double)at_us * s->us_px;

        fprintf(s->to,
                "<path class=\"a\" d=\"M%.2f %.2fV%.2f\"/><text class=\"m\" "
                "x=\"%.2f\" y=\"%.2f\">%.10g</text>\n",
                x, top - 4, bottom + strip_height + 14, x, bottom + 12,
                (double)at_us / (double)unit_us);
    }
    fprintf(s->to,
            "<text class=\"r\" x=\"%.0f\" y=\"%.2f\">time in %s</text>\n",
            left - 8, bottom + 12, unit);
}

static void draw_bound(struct svg *s)
{
    const struct nf_history *h = s->t->h;
    double x;
    char text[32];

    if (!h->complete || h->end.lower_bound_us <= 0)
        return;
    x = left + (double)h->end.lower_bound_us * s->us_px;
    if (x > left + plot)
        return;
    fprintf(s->to,
            "<path class=\"b\" d=\"M%.2f %.2fV%.2f\"><title>lower bound "
            "%s</title></path>\n",
            x, top - 8, s->rows_end,
            nf_format_time_us(h->end.lower_bound_us, text, sizeof(text)));
}

/* ---- units in the hands of slaves ---- */

static int64_t most_of(const struct change *changes, size_t n)
{
    int64_t units = 0, most = 1;

    for (size_t i = 0; i < n; i++) {
        units += changes[i].units;
        if (units > most)
            most = units;
    }
    return most;
}

static enum nf_status draw_outstanding(struct svg *s)
{
    struct change *changes;
    size_t n, i = 0;
    int64_t units = 0, most;
    double base = s->rows_end + 18 + strip_height;
    enum nf_status status = timeline_outstanding(s->t, &changes, &n);

    if (status != NF_OK)
        return status;
    most = most_of(changes, n);
    fprintf(s->to, "<path class=\"u\" d=\"M%.0f %.2f", left, base);
    for (int column = 0; column <= (int)plot; column++) {
        double x = left + column;
        int64_t peak = units;

        for (; i < n && x_of(s, changes[i].at_us) <= x; i++) {
            units += changes[i].units;
            if (units > peak)
                peak = units;
        }
        fprintf(s->to, "L%.0f %.1f", x,
                base - strip_height * (double)peak / (double)most);
    }
    fprintf(s->to, "L%.0f %.2fZ\"/>\n", left + plot, base);
    fprintf(s->to,
            "<text class=\"r\" x=\"%.0f\" y=\"%.2f\">%" PRId64
            "</text>\n<text class=\"r\" x=\"%.0f\" y=\"%.2f\">0</text>\n"
            "<text class=\"g\" x=\"10\" y=\"%.2f\">units out</text>\n",
            left - 8, base - strip_height + 9, most, left - 8, base,
            base - strip_height / 2 + 4);
    nf_free(changes);
    return NF_OK;
}

/* ---- title and legend ---- */

static void draw_title(struct svg *s)
{
    const struct nf_history *h = s->t->h;
    char a[32], b[32];

    fputs("<text class=\"h\" x=\"10\" y=\"30\">", s->to);
    put_escaped(s->to, h->app);
    fprintf(s->to, ", %" PRIu64 " units, policy ", h->units);
    put_escaped(s->to, h->policy);
    fputs("</text>\n<text class=\"n\" x=\"10\" y=\"52\">", s->to);
    if (h->complete)
        fprintf(s->to, "makespan %s; lower bound %s; ",
                nf_format_time_us(h->end.makespan_us, a, sizeof(a)),
                nf_format_time_us(h->end.lower_bound_us, b, sizeof(b)));
    else
        fprintf(s->to, "first %s; ",
                nf_format_time_us(s->t->to_us - s->t->from_us, a, sizeof(a)));
    fprintf(s->to, "%" PRIu64 " slots on %u host%s, transport ",
            h->complete ? h->end.slots : s->t->nrows, s->t->nhosts,
            s->t->nhosts == 1 ? "" : "s");
    put_escaped(s->to, h->transport);
    if (h->emulate[0] != '\0') {
        fputs("<tspan class=\"w\">, times EMULATED</tspan><title>", s->to);
        put_escaped(s->to, h->emulate);
        fputs("</title>", s->to);
    }
    if (h->date[0] != '\0') {
        fputs("; ", s->to);
        put_escaped(s->to, h->date);
    }
    if (h->end.lost_slaves > 0)
        fprintf(s->to, "; %" PRIu64 " slave%s lost", h->end.lost_slaves,
                h->end.lost_slaves == 1 ? "" : "s");
    if (h->warning[0] != '\0') {
        fputs("</text>\n<text class=\"w\" x=\"700\" y=\"52\">", s->to);
        put_escaped(s->to, h->warning);
    }
    fputs("</text>\n", s->to);
}

static void draw_legend(struct svg *s)
{
    static const struct {
        const char *class, *text;
    } keys[] = {
        { "c", "compute" },
        { "t", "transfer: nothing to compute, a chunk or result on its way" },
        { "i", "idle" },
        { "q", "chunks waiting at the slot" },
        { "s", "shared data" },
        { "l", "lost or failed" },
        { "k", "cancelled" },
        { "o", "unfinished" },
    };
    double x = 10;

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        rect(s, keys[i].class, x, 70, 14, 11);
        fprintf(s->to, "/><text x=\"%.0f\" y=\"80\">%s</text>\n", x + 19,
                keys[i].text);
        x += 42 + 5.75 * (double)strlen(keys[i].text);
    }
    if (s->t->h->complete)
        fprintf(s->to,
                "<path class=\"b\" d=\"M%.0f 68v15\"/><text x=\"%.0f\" "
                "y=\"80\">lower bound</text>\n",
                x + 3, x + 11);
}

static double all_rows_height(const struct svg *s)
{
    return s->t->nrows * s->row_height + (s->t->nhosts - 1) * group_gap;
}

enum nf_status gantt_svg(FILE *to, const struct timeline *t)
{
    struct svg s = { .to = to, .t = t, .from_px = -1, .to_px = -1 };
    enum nf_status status;

    s.us_px = plot / (double)(t->to_us - t->from_us);
    s.row_height = 900.0 / t->nrows;
    if (s.row_height > 26)
        s.row_height = 26;
    if (s.row_height < 4)
        s.row_height = 4;
    s.bar_height = s.row_height * 0.7;
    s.rows_end = top + all_rows_height(&s) + 4;
    s.height = s.rows_end + strip_height + 34;
    fprintf(to,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%.0f\" viewBox=\"0 0 %d %.0f\">\n%s"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
            WIDTH, s.height, WIDTH, s.height, style);
    draw_title(&s);
    draw_legend(&s);
    draw_axis(&s);
    draw_rows(&s);
    draw_bound(&s);
    status = draw_outstanding(&s);
    fputs("</svg>\n", to);
    return status;
}
