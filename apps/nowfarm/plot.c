/* A picture is a script for gnuplot on its standard input; the picture comes
 * from its standard output, so that no name of a file goes through its syntax.
 *
 * Texts are put in single quotes, where gnuplot knows nothing special but the
 * quote itself; between double quotes it would run what is in backquotes. */
#include "config.h"
#include "apps/nowfarm/plot.h"
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "apps/nowfarm/child.h"
#include "apps/nowfarm/stats.h"
#include "apps/output.h"
#include "common/base/alloc.h"
#include "common/base/error.h"

enum {
    WIDTH = 900,     /* pixels */
    ROW_HEIGHT = 44, /* of a series of boxes */
    LABEL_WIDE = 32, /* characters; longer labels are broken */
};

/* One hue for data, grey for the frame; the orange is for what matters. */
#define COLOR_BOX    "#a6c8e4"
#define COLOR_EDGE   "#2b6ca3"
#define COLOR_POINT  "#16456e"
#define COLOR_MEDIAN "#d1570b"
#define COLOR_GREY   "#606060"

struct format {
    const char *suffix, *terminal, *look;
    const char *magic; /* how such a file begins */
};

static const struct format formats[] = {
    { ".svg", "svg", "font 'sans-serif,13' background '#ffffff'", "<?xml" },
    { ".png", "pngcairo", "font 'sans,11'", "\x89PNG" },
};

static const struct format *format_of(const char *path, struct nf_error *err)
{
    size_t length = strlen(path);

    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        size_t suffix = strlen(formats[i].suffix);

        if (length > suffix &&
            strcmp(path + length - suffix, formats[i].suffix) == 0)
            return &formats[i];
    }
    nf_fail(err, NF_ERR_INVAL, "%s: want a name that ends with .svg or .png",
            path);
    return NULL;
}

/* Run gnuplot.  -d: no start-up files of the user, which could change anything.
 */
static enum nf_status run_gnuplot(const char *option, FILE *in, FILE *out,
                                  struct nf_error *err)
{
    const char *argv[] = { "gnuplot", "-d", option, NULL };
    FILE *complaint = child_scratch();
    struct child child = { "gnuplot", argv, in, out, complaint };
    char line[200];
    int exit_status = 0;
    enum nf_status status;

    if (complaint == NULL)
        return nf_fail(err, NF_ERR_IO, "temporary file: %s", strerror(errno));
    status = child_run(&child, NULL, &exit_status, err);
    if (status == NF_OK && exit_status == CHILD_NOT_FOUND)
        status = nf_fail(err, NF_ERR_INVAL,
                         "a plot needs gnuplot, which is not installed here "
                         "(Debian: gnuplot-nox)");
    else if (status == NF_OK && exit_status != 0)
        status = nf_fail(err, NF_ERR_FAILED, "gnuplot: exit status %d: %s",
                         exit_status,
                         child_last_line(complaint, line, sizeof(line)));
    fclose(complaint);
    return status;
}

enum nf_status plot_check(const char *path, struct nf_error *err)
{
    enum nf_status status;

    if (format_of(path, err) == NULL)
        return NF_ERR_INVAL;
    status = nf_output_check(path, err);
    if (status != NF_OK)
        return status;
    return run_gnuplot("--version", NULL, NULL, err) == NF_OK ? NF_OK
                                                              : NF_ERR_INVAL;
}

/* ---- text ---- */

static void put_bytes(FILE *to, const char *text, size_t bytes)
{
    fputc('\'', to);
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '\'')
            fputc('\'', to);
        fputc((unsigned char)text[i] < ' ' ? ' ' : text[i], to);
    }
    fputc('\'', to);
}

static void put_text(FILE *to, const char *text)
{
    put_bytes(to, text, strlen(text));
}

/* Where to break a label that is too long: before the pacer, else behind the
 * last punctuation within the first `most` bytes, else there. */
static size_t break_at(const char *text, size_t most)
{
    size_t best = 0, length = strlen(text);

    if (length <= most)
        return length;
    for (size_t i = most; i > 0 && best == 0; i--)
        if (text[i] == '+')
            best = i;
    for (size_t i = most; i > most / 3 && best == 0; i--)
        if (strchr(",:/ ", text[i - 1]) != NULL)
            best = i;
    if (best == 0)
        for (best = most; ((unsigned char)text[best] & 0xc0) == 0x80; best--)
            ; /* not within a character */
    return best > 0 ? best : most;
}

static void put_label(FILE *to, const char *text)
{
    while (*text != '\0') {
        size_t bytes = break_at(text, LABEL_WIDE);

        put_bytes(to, text, bytes);
        text += bytes;
        if (*text != '\0')
            fputs(".\"\\n\".", to);
    }
}

/* ---- boxes ---- */

/* A block of data for each series, named $PREFIX<number>. */
static void put_values(FILE *to, const struct plot *plot)
{
    for (size_t i = 0; i < plot->nseries; i++) {
        const struct plot_series *s = &plot->series[i];

        fprintf(to, "$s%zu << EOD\n", i);
        for (size_t j = 0; j < s->n; j++) {
            /* points of a row side by side, in the order of time */
            double row =
                (double)i + 1 +
                (s->n > 1 ? 0.36 * ((double)j / (double)(s->n - 1) - 0.5) : 0);
            double y = plot->kind == PLOT_BOXES ? row : s->y[j];

            if (isfinite(s->x[j]) && isfinite(y))
                fprintf(to, "%.12g %.12g\n", s->x[j], y);
        }
        fputs("EOD\n", to);
    }
}

/* What an axis must show. */
struct range {
    double low, high, low_median, high_median;
};

/* $box: median, row, quartiles, extremes; and what the axis must show. */
static enum nf_status put_boxes(FILE *to, const struct plot *plot,
                                struct range *range_p)
{
    fputs("$box << EOD\n", to);
    for (size_t i = 0; i < plot->nseries; i++) {
        const struct plot_series *s = &plot->series[i];
        double *copy = nf_malloc(s->n * sizeof(*copy));
        struct stats_summary five;

        if (copy == NULL)
            return NF_ERR_NOMEM;
        for (size_t j = 0; j < s->n; j++)
            copy[j] = isfinite(s->x[j]) ? s->x[j] : NAN;
        stats_summarize(copy, s->n, &five);
        nf_free(copy);
        if (five.n == 0)
            continue;
        fprintf(to, "%.12g %zu %.12g %.12g %.12g %.12g\n", five.median, i + 1,
                five.q1, five.q3, five.min, five.max);
        range_p->low = fmin(range_p->low, five.min);
        range_p->high = fmax(range_p->high, five.max);
        range_p->low_median = fmin(range_p->low_median, five.median);
        range_p->high_median = fmax(range_p->high_median, five.median);
    }
    fputs("EOD\n", to);
    return NF_OK;
}

/* The axis: from zero, unless that would squeeze the data into the last third;
 * logarithmic if medians are more than tenfold apart. */
static void put_range(FILE *to, const char *label, const struct range *range)
{
    double low = range->low, high = range->high, margin;

    if (low > high) { /* no data */
        low = 0;
        high = 1;
    }
    if (low > 0 && range->high_median / range->low_median > 10) {
        fprintf(to, "set logscale x\nset xrange [%.12g:%.12g]\n", low / 1.15,
                high * 1.15);
        fputs("set xlabel ", to);
        put_text(to, label);
        fputs(".', logarithmic'\n", to);
        return;
    }
    if (low >= 0 && low < high / 1.5)
        low = 0;
    margin = 0.06 * (high > low ? high - low : fmax(fabs(high), 1e-9));
    fprintf(to, "set xrange [%.12g:%.12g]\n", low > 0 ? low - margin : low,
            high + margin);
}

/* What stands left and right of the rows: labels and notes. */
static void put_rows(FILE *to, const struct plot *plot)
{
    size_t n = plot->nseries, notes = 0;

    fprintf(to, "set yrange [%zu.6:0.4]\nset y2range [%zu.6:0.4]\n", n, n);
    fputs("set ytics scale 0 (", to);
    for (size_t i = 0; i < n; i++) {
        put_label(to, plot->series[i].label);
        fprintf(to, " %zu%s", i + 1, i + 1 < n ? ", " : "");
        notes += plot->series[i].note != NULL;
    }
    fputs(")\n", to);
    if (notes == 0)
        return;
    fputs("set y2tics scale 0 (", to);
    for (size_t i = 0; i < n; i++) {
        const char *note = plot->series[i].note;

        put_text(to, note != NULL ? note : "");
        fprintf(to, " %zu%s", i + 1, i + 1 < n ? ", " : "");
    }
    fputs(")\n", to);
}

/* From behind to front: whiskers, boxes, medians, points. */
static void put_layers(FILE *to, const struct plot *plot)
{
    fputs("set style fill solid 1.0 border rgb '" COLOR_EDGE "'\n"
          "plot $box using 5:2:($6-$5):(0) with vectors nohead lw 1.2 lc rgb "
          "'" COLOR_EDGE "' notitle, \\\n"
          " $box using 1:2:3:4:($2-0.27):($2+0.27) with boxxyerror lw 1.2 lc "
          "rgb '" COLOR_BOX "' title 'middle half', \\\n"
          " $box using 1:($2-0.27):(0):(0.54) with vectors nohead lw 3.5 lc "
          "rgb '" COLOR_MEDIAN "' title 'median', \\\n",
          to);
    for (size_t i = 0; i < plot->nseries; i++)
        fprintf(to,
                " $s%zu using 1:2 with points pt 7 ps 0.45 lc rgb '" COLOR_POINT
                "' %s, \\\n",
                i, i == 0 ? "title 'a run'" : "notitle");
    if (isfinite(plot->mark)) {
        fputs(" NaN with lines dt 2 lw 1.5 lc rgb '" COLOR_GREY "' title ", to);
        put_text(to, plot->mark_label);
    } else {
        fputs(" NaN notitle", to);
    }
    fputc('\n', to);
}

static enum nf_status put_box_plot(FILE *to, const struct plot *plot)
{
    struct range range = { INFINITY, -INFINITY, INFINITY, -INFINITY };
    enum nf_status status = put_boxes(to, plot, &range);

    if (status != NF_OK)
        return status;
    put_values(to, plot);
    if (isfinite(plot->mark)) {
        range.low = fmin(range.low, plot->mark);
        range.high = fmax(range.high, plot->mark);
        fprintf(to,
                "set arrow from first %.12g, graph 0 to first %.12g, "
                "graph 1 nohead dt 2 lw 1.5 lc rgb '" COLOR_GREY "'\n",
                plot->mark, plot->mark);
    }
    put_range(to, plot->x_label, &range);
    put_rows(to, plot);
    put_layers(to, plot);
    return NF_OK;
}

/* ---- lines ---- */

static void put_line_plot(FILE *to, const struct plot *plot)
{
    /* told apart by people who see no red or no green: Okabe and Ito, 2008 */
    static const char *const colors[] = { "#0072b2", "#d55e00", "#009e73",
                                          "#cc79a7", "#e69f00", "#56b4e9",
                                          "#000000" };
    enum { NCOLORS = sizeof(colors) / sizeof(colors[0]) };

    put_values(to, plot);
    if (plot->log_x)
        fputs("set logscale x\n", to);
    if (plot->log_y)
        fputs("set logscale y\n", to);
    fputs("plot ", to);
    for (size_t i = 0; i < plot->nseries; i++) {
        fprintf(to,
                "$s%zu using 1:2 with linespoints lw 1.8 pt %zu ps 0.8 lc "
                "rgb '%s' title ",
                i, 4 + i % 10, colors[i % NCOLORS]);
        put_label(to, plot->series[i].label);
        fputs(", \\\n ", to);
    }
    if (isfinite(plot->mark)) {
        fprintf(to,
                "%.12g with lines dt 2 lw 1.5 lc rgb '" COLOR_GREY "' title ",
                plot->mark);
        put_text(to, plot->mark_label);
    } else {
        fputs("NaN notitle", to);
    }
    fputc('\n', to);
}

/* ---- a picture ---- */

static enum nf_status put_script(FILE *to, const struct plot *plot,
                                 const struct format *format)
{
    int height =
        plot->kind == PLOT_BOXES ? 190 + ROW_HEIGHT * (int)plot->nseries : 560;

    fprintf(to,
            "set encoding utf8\nset terminal %s size %d,%d %s noenhanced\n"
            "set title ",
            format->terminal, WIDTH, height, format->look);
    put_text(to, plot->title);
    if (plot->subtitle != NULL) {
        fputs(".\"\\n\".", to);
        put_text(to, plot->subtitle);
    }
    fputs("\nset xlabel ", to);
    put_text(to, plot->x_label);
    if (plot->kind == PLOT_LINES) {
        fputs("\nset ylabel ", to);
        put_text(to, plot->y_label);
    }
    fputs("\nset border 3 lc rgb '" COLOR_GREY "'\n"
          "set tics nomirror textcolor rgb '#000000'\n"
          "set format x '%g'\n"
          "set grid x back lc rgb '#c4c4c4' lw 1 dt 1\n"
          "set xtics out\n"
          "set key bottom outside center horizontal samplen 2 height 1.2\n",
          to);
    if (plot->kind == PLOT_BOXES)
        return put_box_plot(to, plot);
    fputs("set grid y\n", to);
    put_line_plot(to, plot);
    return NF_OK;
}

/* Copy the picture to where it belongs. */
static enum nf_status deliver(FILE *from, const struct format *format,
                              const char *path, struct nf_error *err)
{
    struct nf_output *output;
    char piece[1 << 16];
    size_t bytes = 0, magic = strlen(format->magic);
    enum nf_status status = nf_output_open(path, &output, err);

    if (status != NF_OK)
        return status;
    rewind(from);
    for (bool first = true; status == NF_OK; first = false) {
        bytes = fread(piece, 1, sizeof(piece), from);
        if (first &&
            (bytes < magic || memcmp(piece, format->magic, magic) != 0))
            status =
                nf_fail(err, NF_ERR_FAILED, "%s: gnuplot drew nothing", path);
        else if (bytes == 0)
            break;
        else
            status = nf_output_write(output, piece, bytes, err);
    }
    if (status == NF_OK && ferror(from))
        status = nf_fail(err, NF_ERR_IO, "temporary file: %s", strerror(errno));
    if (status == NF_OK)
        return nf_output_commit(output, err);
    nf_output_abort(output);
    return status;
}

enum nf_status plot_write(const struct plot *plot, const char *path,
                          struct nf_error *err)
{
    const struct format *format = format_of(path, err);
    FILE *script, *picture;
    enum nf_status status;

    if (format == NULL)
        return NF_ERR_INVAL;
    script = child_scratch();
    picture = child_scratch();
    if (script == NULL || picture == NULL)
        status = nf_fail(err, NF_ERR_IO, "temporary file: %s", strerror(errno));
    else
        status = put_script(script, plot, format);
    if (status == NF_ERR_NOMEM)
        nf_fail(err, status, "out of memory for the plot");
    if (status == NF_OK && (fflush(script) != 0 || ferror(script)))
        status = nf_fail(err, NF_ERR_IO, "temporary file: %s", strerror(errno));
    if (status == NF_OK) {
        rewind(script);
        status = run_gnuplot("-", script, picture, err);
    }
    if (status == NF_OK)
        status = deliver(picture, format, path, err);
    if (script != NULL)
        fclose(script);
    if (picture != NULL)
        fclose(picture);
    return status;
}
