/* From ping-pong samples to straight pieces.
 *
 * Weights 1/t^2 make the fit one of relative errors; without them the largest
 * size decides alone.  With W = sum w, M = sum w m / W, T = sum w t / W:
 *     b = sum w (m - M)(t - T) / sum w (m - M)^2,   a = T - b M
 *
 * Where the line is off by more than 15 % it is cut: a network may well be
 * slower or faster for long messages, and the number of segments depends on it.
 * Where to cut is found by dynamic programming over the few samples; cutting at
 * the worst one again and again gets stuck in pieces too short to be cut. */
#include "config.h"
#include <math.h>
#include "common/base/error.h"
#include "common/model/model.h"

enum { PIECE_SAMPLES_MIN = 3 };
static const double RESIDUAL_MAX = 0.15;
static const double START_MIN_US = 0.1, BYTE_MIN_US = 1e-6;

struct sums {
    double w, wm, wt;
};

static struct sums weigh(const struct nf_model_sample *samples, size_t count)
{
    struct sums sums = { 0, 0, 0 };

    for (size_t i = 0; i < count; i++) {
        double w = 1 / (samples[i].time_us * samples[i].time_us);

        sums.w += w;
        sums.wm += w * samples[i].bytes;
        sums.wt += w * samples[i].time_us;
    }
    return sums;
}

/* The line with a given slope. */
static double start_for(const struct sums *sums, double byte_us)
{
    return (sums->wt - byte_us * sums->wm) / sums->w;
}

/* The slope of the line with a given start. */
static double byte_for(const struct nf_model_sample *samples, size_t count,
                       double start_us)
{
    double above = 0, below = 0;

    for (size_t i = 0; i < count; i++) {
        double m = samples[i].bytes, t = samples[i].time_us;

        above += m * (t - start_us) / (t * t);
        below += m * m / (t * t);
    }
    return below > 0 ? fmax(above / below, BYTE_MIN_US) : BYTE_MIN_US;
}

static struct nf_model_piece fit_free(const struct nf_model_sample *samples,
                                      size_t count)
{
    struct sums sums = weigh(samples, count);
    double mean_m = sums.wm / sums.w, mean_t = sums.wt / sums.w;
    double above = 0, below = 0;
    struct nf_model_piece piece = { .from_bytes = 0 };

    for (size_t i = 0; i < count; i++) {
        double m = samples[i].bytes - mean_m, t = samples[i].time_us;

        above += m * (t - mean_t) / (t * t);
        below += m * m / (t * t);
    }
    piece.byte_us = below > 0 ? fmax(above / below, BYTE_MIN_US) : BYTE_MIN_US;
    piece.start_us = start_for(&sums, piece.byte_us);
    return piece;
}

struct nf_model_piece nf_model_fit_line(const struct nf_model_sample *samples,
                                        size_t count)
{
    struct nf_model_piece piece = fit_free(samples, count);

    if (piece.start_us < START_MIN_US) {
        piece.start_us = START_MIN_US;
        piece.byte_us = byte_for(samples, count, START_MIN_US);
    }
    return piece;
}

/* ---- pieces ---- */

/* The best way to lay some pieces over samples [0, end). */
struct cover {
    size_t first;   /* of the last piece */
    double squares; /* sum of squared relative residuals; INFINITY: none */
    double worst;   /* relative residual */
};

static double line_us(const struct nf_model_piece *line, double bytes)
{
    return line->start_us + line->byte_us * bytes;
}

/* The line of samples [first, end).  Only the start of the first piece is one:
 * others may be negative where the time of a byte has grown. */
static struct nf_model_piece line_of(const struct nf_model_sample *samples,
                                     size_t first, size_t end)
{
    struct nf_model_piece line = fit_free(samples + first, end - first);

    if (first == 0 || line_us(&line, samples[first].bytes) < START_MIN_US)
        line = nf_model_fit_line(samples + first, end - first);
    line.from_bytes = first > 0 ? samples[first].bytes : 0;
    return line;
}

/* @p before with one more piece over samples [first, end) */
static struct cover extend(const struct nf_model_sample *samples,
                           const struct cover *before, size_t first, size_t end)
{
    struct nf_model_piece line = line_of(samples, first, end);
    struct cover cover = { first, before->squares, before->worst };

    for (size_t i = first; i < end; i++) {
        double t = samples[i].time_us;
        double off = fabs(t - line_us(&line, samples[i].bytes)) / t;

        cover.squares += off * off;
        cover.worst = fmax(cover.worst, off);
    }
    return cover;
}

/* covers[n][end]: with n + 1 pieces */
static void find_covers(const struct nf_model_sample *samples, size_t count,
                        struct cover (*covers)[NF_MODEL_SAMPLES_MAX + 1])
{
    const struct cover nothing = { 0, 0, 0 };

    for (size_t end = 1; end <= count; end++)
        covers[0][end] = extend(samples, &nothing, 0, end);
    for (size_t n = 1; n < NF_MODEL_PIECES_MAX; n++)
        for (size_t end = 0; end <= count; end++) {
            struct cover *best = &covers[n][end];

            *best = (struct cover){ .squares = INFINITY };
            for (size_t first = n * PIECE_SAMPLES_MIN;
                 first + PIECE_SAMPLES_MIN <= end; first++) {
                struct cover cover =
                    extend(samples, &covers[n - 1][first], first, end);

                if (cover.squares < best->squares)
                    *best = cover;
            }
        }
}

static enum nf_status check(const struct nf_model_sample *samples, size_t count,
                            struct nf_error *err)
{
    if (count == 0)
        return nf_fail(err, NF_ERR_INVAL, "no samples to fit");
    if (count > NF_MODEL_SAMPLES_MAX)
        return nf_fail(err, NF_ERR_INVAL, "%zu samples: want at most %d", count,
                       NF_MODEL_SAMPLES_MAX);
    for (size_t i = 0; i < count; i++) {
        if (!(samples[i].time_us > 0) || !isfinite(samples[i].time_us))
            return nf_fail(err, NF_ERR_INVAL,
                           "sample %zu: %g us: want a time above 0", i,
                           samples[i].time_us);
        if (!(samples[i].bytes >= 0) || !isfinite(samples[i].bytes) ||
            (i > 0 && !(samples[i].bytes > samples[i - 1].bytes)))
            return nf_fail(err, NF_ERR_INVAL,
                           "sample %zu: %g bytes: want sizes that ascend", i,
                           samples[i].bytes);
    }
    return NF_OK;
}

enum nf_status nf_model_fit(const struct nf_model_sample *samples, size_t count,
                            struct nf_model *model, struct nf_error *err)
{
    struct cover covers[NF_MODEL_PIECES_MAX][NF_MODEL_SAMPLES_MAX + 1];
    enum nf_status status = check(samples, count, err);
    size_t n = 0;

    if (status != NF_OK)
        return status;
    find_covers(samples, count, covers);
    while (n + 1 < NF_MODEL_PIECES_MAX &&
           covers[n][count].worst > RESIDUAL_MAX &&
           isfinite(covers[n + 1][count].squares))
        n++;
    model->npieces = (uint32_t)n + 1;
    for (size_t end = count, i = n + 1; i > 0; i--) {
        size_t first = covers[i - 1][end].first;

        model->pieces[i - 1] = line_of(samples, first, end);
        end = first;
    }
    return NF_OK;
}
