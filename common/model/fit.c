/* From ping-pong samples to straight pieces.
 *
 * Weights 1/t^2 make the fit one of relative errors; without them the largest
 * size decides alone.  With W = sum w, M = sum w m / W, T = sum w t / W:
 *     b = sum w (m - M)(t - T) / sum w (m - M)^2,   a = T - b M
 *
 * Where the line is off by more than 15 %, it is cut at the worst sample: a
 * network may well be slower or faster for long messages, and the number of
 * segments depends on it. */
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

/* Samples [first, end) and their line. */
struct part {
    size_t first, end;
    struct nf_model_piece line;
    double worst; /* relative residual */
    size_t worst_at;
};

static double line_us(const struct nf_model_piece *line, double bytes)
{
    return line->start_us + line->byte_us * bytes;
}

static void fit_part(const struct nf_model_sample *samples, struct part *part)
{
    const struct nf_model_sample *first = &samples[part->first];
    size_t count = part->end - part->first;

    /* only the start of the first piece is one: others may be negative where
     * the time of a byte has grown */
    part->line = fit_free(first, count);
    if (part->first == 0 || line_us(&part->line, first->bytes) < START_MIN_US)
        part->line = nf_model_fit_line(first, count);
    part->worst = 0;
    part->worst_at = part->first;
    for (size_t i = part->first; i < part->end; i++) {
        double t = samples[i].time_us;
        double off = fabs(t - line_us(&part->line, samples[i].bytes)) / t;

        if (off > part->worst) {
            part->worst = off;
            part->worst_at = i;
        }
    }
}

/* Cut before sample @p at, or as near as three samples on each side allow.
 * @return the greater residual of both */
static double cut(const struct nf_model_sample *samples,
                  const struct part *whole, size_t at, struct part halves[2])
{
    if (at < whole->first + PIECE_SAMPLES_MIN)
        at = whole->first + PIECE_SAMPLES_MIN;
    if (at > whole->end - PIECE_SAMPLES_MIN)
        at = whole->end - PIECE_SAMPLES_MIN;
    halves[0] = (struct part){ .first = whole->first, .end = at };
    halves[1] = (struct part){ .first = at, .end = whole->end };
    fit_part(samples, &halves[0]);
    fit_part(samples, &halves[1]);
    return fmax(halves[0].worst, halves[1].worst);
}

/* @return the part that is most wrong and can be cut, or nparts */
static size_t find_worst(const struct part *parts, size_t nparts)
{
    size_t worst = nparts;

    for (size_t i = 0; i < nparts; i++) {
        size_t count = parts[i].end - parts[i].first;

        if (parts[i].worst > RESIDUAL_MAX && count >= 2 * PIECE_SAMPLES_MIN &&
            (worst == nparts || parts[i].worst > parts[worst].worst))
            worst = i;
    }
    return worst;
}

static enum nf_status check(const struct nf_model_sample *samples, size_t count,
                            struct nf_error *err)
{
    if (count == 0)
        return nf_fail(err, NF_ERR_INVAL, "no samples to fit");
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
    struct part parts[NF_MODEL_PIECES_MAX];
    size_t nparts = 1;
    enum nf_status status = check(samples, count, err);

    if (status != NF_OK)
        return status;
    parts[0] = (struct part){ .first = 0, .end = count };
    fit_part(samples, &parts[0]);
    while (nparts < NF_MODEL_PIECES_MAX) {
        struct part before[2], after[2];
        size_t i = find_worst(parts, nparts);
        bool is_after;

        if (i == nparts)
            break;
        /* the worst sample may be the first of the new piece or the last of
         * the old one */
        is_after = cut(samples, &parts[i], parts[i].worst_at + 1, after) <
                   cut(samples, &parts[i], parts[i].worst_at, before);
        for (size_t j = nparts++; j > i + 1; j--)
            parts[j] = parts[j - 1];
        parts[i] = is_after ? after[0] : before[0];
        parts[i + 1] = is_after ? after[1] : before[1];
    }
    model->npieces = (uint32_t)nparts;
    for (size_t i = 0; i < nparts; i++) {
        model->pieces[i] = parts[i].line;
        model->pieces[i].from_bytes = i > 0 ? samples[parts[i].first].bytes : 0;
    }
    return NF_OK;
}
