/* What messages take, and cost the master.
 *
 *   lease    the master's work for it: median, with a slope over the units of
 *            chunks of different sizes
 *   way      what is left of a chunk's time after computing, waiting and the
 *            master: likewise; a part goes there, as the bytes are
 *   result   the master's work for it: first quartile of the times from a
 *            result to what it did next, which only a master that sends at once
 *            shows
 *
 * Not every trace shows these.  What it does not show is not guessed: the trace
 * then allows several worlds, with the least and with the most of it, and a
 * policy is worse only if it is so in each (replay_run.c).
 *
 * The work for a result is not shown by a master that sends by the clock, nor
 * where a result gets its time when that work is done (simulated and emulated
 * runs).  It is at most what is free between results and what the master did
 * before or next.
 *
 * Ways are not shown by a master that is deaf while it sleeps (`round`): its
 * results are late by any part of the sleep, so a way is no longer than the
 * shortest seen.  It is as long as that where a result came after the last
 * sleep, that is, after the last lease was sent; a killed trace need not have
 * any, and its ways may be 0.  Nor does the sleep let it be seen what comes
 * with each unit. */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/replay.h"
#include "apps/nowfarm/stats.h"
#include "common/base/alloc.h"

enum { BYTES_A_MESSAGE = 200 /* beside its payload, about */ };

/* Of the free times around results, the one that is taken for the work where
 * the master goes on at once, and for the least. */
static const double FREE_SHARE = 0.25, LEAST_SHARE = 0.05;
/* The simulator has no shorter times. */
static const double NOTHING_US = 1;
/* A result that is taken so soon after something else, by the work for it, has
 * waited for that. */
static const double SOON = 1.1;

/* A chunk that was answered in time, with times. */
struct answer {
    double units;
    double way_us; /* there and back, and the work for the result if the time
                      of that is taken after it */
    uint32_t seat;
    double ended_us;
    bool seen; /* the master had time for it when it came: its way is no longer
                  than it seems */
};

/* While fitting. */
struct fit {
    struct replay_model *m;
    size_t count;
    struct answer *answers; /* [chunks] */
    double *x, *y, *room;   /* [chunks]: scratch */
    double *own_us;         /* [seats]: its shortest way; < 0: none */
    bool *seen;             /* [seats]: it has an answer that was */
};

/* The value of list[0..n) nearest to that quantile; 0 if n is 0.  Sorts. */
static double quantile(double *list, size_t n, double share)
{
    if (n == 0)
        return 0;
    stats_sort(list, n);
    return list[(size_t)(share * (double)(n - 1) + 0.5)];
}

/* Median of y, with a slope over x where chunks have different sizes: least
 * squares, which a line that falls is not. */
static void fit_line(const double *x, const double *y, size_t n, double *room,
                     double *fixed_p, double *slope_p)
{
    double mx = 0, my = 0, sxx = 0, sxy = 0;

    *fixed_p = *slope_p = 0;
    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++) {
        mx += x[i] / (double)n;
        my += y[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        sxx += (x[i] - mx) * (x[i] - mx);
        sxy += (x[i] - mx) * (y[i] - my);
    }
    if (sxx > 1e-6 * mx * mx * (double)n && sxy > 0) /* not by rounding */
        *slope_p = sxy / sxx;
    for (size_t i = 0; i < n; i++)
        room[i] = y[i] - *slope_p * x[i];
    *fixed_p = fmax(quantile(room, n, 0.5), 0);
}

/* ---- what the trace can show ---- */

/* Then the lease that follows a result tells nothing of what that took.  Of a
 * policy that nobody knows, nothing is taken for granted. */
static bool is_by_clock(const struct replay_model *m)
{
    return m->pacer == NULL || strcmp(m->pacer->name, "timer") == 0 ||
           strcmp(m->pacer->name, "round") == 0;
}

/* Do results wait for the master, too? */
static bool sleeps(const struct replay_model *m)
{
    return m->pacer == NULL || m->pacer->deaf_while_waiting;
}

/* Has a result its time when the master is through with it? */
static bool timed_after_work(const struct nf_history *h)
{
    return h->virtual_time || h->emulate[0] != '\0';
}

static bool timed(const struct nf_history_chunk *chunk)
{
    return chunk->measured && chunk->fate == NF_FATE_ANSWERED;
}

/* When the master had sent the last lease of all; INFINITY if there may have
 * been more.  They are in order. */
static double all_sent_us(const struct nf_history *h)
{
    const struct nf_history_chunk *last = &h->chunks[h->nchunks - 1];
    bool done = h->complete && strcmp(h->end.status, "done") == 0;
    uint64_t units = 0;

    for (uint32_t i = 0; i < h->nchunks; i++) {
        if (h->chunks[i].fate == NF_FATE_LOST && !done)
            return INFINITY; /* its units are to be sent again */
        if (h->chunks[i].attempts == 0)
            units += h->chunks[i].count;
    }
    return done || units >= h->units ? (double)(last->sent_us + last->master_us)
                                     : INFINITY;
}

/* ---- the master's work ---- */

/* The first lease that was sent then or later. */
static uint32_t sent_after(const struct nf_history *h, int64_t at_us)
{
    uint32_t low = 0, high = h->nchunks;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (h->chunks[middle].sent_us < at_us)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* When did the master last do something before @p at_us, when it took a result?
 * @p before_us: the result before that. */
static double last_done_us(const struct nf_history *h, double at_us,
                           double before_us)
{
    uint32_t next = sent_after(h, (int64_t)at_us);

    if (next == 0)
        return before_us;
    return fmax(before_us, (double)(h->chunks[next - 1].sent_us +
                                    h->chunks[next - 1].master_us));
}

/* Sort the times of all results into f->x.  @return how many */
static size_t sort_results(const struct fit *f)
{
    const struct nf_history *h = f->m->h;
    size_t n = 0;

    for (uint32_t i = 0; i < h->nchunks; i++)
        if (h->chunks[i].fate == NF_FATE_ANSWERED)
            f->x[n++] = (double)h->chunks[i].ended_us;
    stats_sort(f->x, n);
    return n;
}

/* The free times around results: from the last thing that the master did to the
 * result, or from it to the next thing, by whether the work for it comes before
 * its time.  @return the one at that quantile; INFINITY: there are none */
static double free_us(const struct fit *f, double share)
{
    const struct nf_history *h = f->m->h;
    size_t n = sort_results(f), gaps = 0;

    for (size_t i = 0; i < n; i++) {
        double gap_us, next_us = i + 1 < n ? f->x[i + 1] : INFINITY;
        uint32_t next = sent_after(h, (int64_t)f->x[i]);

        if (next < h->nchunks)
            next_us = fmin(next_us, (double)h->chunks[next].sent_us);
        if (timed_after_work(h))
            gap_us = f->x[i] -
                     last_done_us(h, f->x[i], i > 0 ? f->x[i - 1] : -INFINITY);
        else
            gap_us = next_us - f->x[i];
        if (isfinite(gap_us))
            f->room[gaps++] = fmax(gap_us, 0);
    }
    return gaps > 0 ? quantile(f->room, gaps, share) : INFINITY;
}

/* ---- ways ---- */

/* Fill the answers. */
static void find_answers(struct fit *f)
{
    const struct replay_model *m = f->m;
    double awake_us = all_sent_us(m->h);
    double out = 0, in = 0;

    for (uint32_t i = 0; i < m->h->nchunks; i++) {
        const struct nf_history_chunk *chunk = &m->h->chunks[i];
        double send_us = m->send_us + m->send_unit_us * (double)chunk->count;

        if (!timed(chunk))
            continue;
        f->answers[f->count++] = (struct answer){
            .units = (double)chunk->count,
            .way_us = (double)(chunk->elapsed_us - chunk->compute_us -
                               chunk->wait_us) -
                      send_us,
            .seat = m->seats.of_chunk[i],
            .ended_us = (double)chunk->ended_us,
            /* it can't have come before it was computed */
            .seen = (double)(chunk->sent_us + chunk->master_us +
                             chunk->wait_us + chunk->compute_us) >= awake_us,
        };
        out += (double)chunk->bytes_out + BYTES_A_MESSAGE;
        in += (double)chunk->bytes_in + BYTES_A_MESSAGE;
    }
    f->m->out_share = out + in > 0 ? out / (out + in) : 0.5;
}

/* Set the way of each seat: a quantile of its answers' without the units'. */
static void find_own(struct fit *f, size_t *begins, double unit_us,
                     double share)
{
    uint32_t seats = f->m->seats.count;

    /* begins[s + 1]: where the next way of seat s goes */
    memset(begins, 0, (seats + 2) * sizeof(*begins));
    for (size_t i = 0; i < f->count; i++)
        begins[f->answers[i].seat + 2]++;
    for (uint32_t s = 0; s < seats; s++)
        begins[s + 2] += begins[s + 1];
    for (size_t i = 0; i < f->count; i++)
        f->room[begins[f->answers[i].seat + 1]++] =
            f->answers[i].way_us - unit_us * f->answers[i].units;
    for (uint32_t s = 0; s < seats; s++) {
        size_t n = begins[s + 1] - begins[s];

        f->own_us[s] =
            n > 0 ? fmax(quantile(f->room + begins[s], n, share), 0) : -1;
    }
}

/* A seat without any answer has the least. */
static double least_own_us(const struct fit *f, bool seen)
{
    double least_us = INFINITY;

    for (uint32_t s = 0; s < f->m->seats.count; s++)
        if (f->own_us[s] >= 0 && (!seen || f->seen[s]))
            least_us = fmin(least_us, f->own_us[s]);
    return least_us;
}

static enum nf_status add_messages(struct replay_model *m, double way_us,
                                   double way_unit_us, double recv_us,
                                   struct messages **messages_pp)
{
    struct messages *messages = &m->messages[m->nmessages];

    *messages = (struct messages){ .way_us = way_us,
                                   .way_unit_us = way_unit_us,
                                   .recv_us = recv_us };
    messages->extra_us = nf_calloc(m->seats.count, sizeof(*messages->extra_us));
    if (messages->extra_us == NULL)
        return NF_ERR_NOMEM;
    m->nmessages++;
    *messages_pp = messages;
    return NF_OK;
}

/* A world in which each seat has its own way, but not more than @p most_us
 * unless it was shown. */
static enum nf_status add_own(const struct fit *f, double way_unit_us,
                              double most_us)
{
    double least_us = least_own_us(f, false);
    struct messages *messages;

    if (!isfinite(least_us))
        least_us = 0;
    if (add_messages(f->m, least_us, way_unit_us, 0, &messages) != NF_OK)
        return NF_ERR_NOMEM;
    for (uint32_t s = 0; s < f->m->seats.count; s++) {
        double own_us = f->own_us[s];

        if (own_us >= 0)
            messages->extra_us[s] =
                (f->seen[s] ? own_us : fmin(own_us, most_us)) - least_us;
    }
    return NF_OK;
}

/* ---- a master that hears at once ---- */

static enum nf_status fit_heard(struct fit *f, size_t *begins)
{
    double fixed_us, unit_us;

    for (size_t i = 0; i < f->count; i++) {
        f->x[i] = f->answers[i].units;
        f->y[i] = f->answers[i].way_us;
    }
    fit_line(f->x, f->y, f->count, f->room, &fixed_us, &unit_us);
    find_own(f, begins, unit_us, 0.5);
    return add_own(f, unit_us, INFINITY);
}

/* Which results did not wait for the master, if each costs it @p recv_us?
 * @return how many */
static size_t find_prompt(struct fit *f, double recv_us)
{
    size_t n = sort_results(f), prompt = 0;

    for (size_t i = 0; i < f->count; i++) {
        struct answer *answer = &f->answers[i];
        size_t low = 0, high = n;

        while (low < high) {
            size_t middle = low + (high - low) / 2;

            if (f->x[middle] < answer->ended_us)
                low = middle + 1;
            else
                high = middle;
        }
        answer->seen = answer->ended_us -
                           last_done_us(f->m->h, answer->ended_us,
                                        low > 0 ? f->x[low - 1] : -INFINITY) >
                       SOON * recv_us + NOTHING_US;
        f->seen[answer->seat] |= answer->seen;
        prompt += answer->seen;
    }
    return prompt;
}

/* The same, but what results wait for each other is no part of their ways: the
 * shortest are those. */
static enum nf_status fit_busy(struct fit *f, size_t *begins, double recv_us)
{
    struct replay_model *m = f->m;
    bool inside = timed_after_work(m->h);
    double unit_us = m->messages[0].way_unit_us, most_us;
    struct messages *busy;

    find_own(f, begins, unit_us, 0);
    most_us = least_own_us(f, true);
    if (!isfinite(most_us))
        most_us = least_own_us(f, false);
    if (add_own(f, unit_us, most_us) != NF_OK)
        return NF_ERR_NOMEM;
    busy = &m->messages[m->nmessages - 1];
    busy->recv_us = inside ? fmin(recv_us, busy->way_us) : recv_us;
    if (inside)
        busy->way_us -= busy->recv_us;
    return NF_OK;
}

/* Worlds of a master that was mostly free, and of one that results waited for.
 */
static enum nf_status fit_awake(struct fit *f, size_t *begins)
{
    struct replay_model *m = f->m;
    double recv_us = free_us(f, m->recv_known ? FREE_SHARE : LEAST_SHARE);
    size_t prompt;

    if (fit_heard(f, begins) != NF_OK)
        return NF_ERR_NOMEM;
    if (!isfinite(recv_us))
        recv_us = m->recv_known ? 0 : m->messages[0].way_us;
    if (m->recv_known)
        m->messages[0].recv_us = recv_us;
    if (recv_us < NOTHING_US)
        return NF_OK;
    prompt = find_prompt(f, recv_us);
    if (m->recv_known && prompt >= f->count / 2)
        return NF_OK;
    return fit_busy(f, begins, recv_us);
}

/* ---- one that sleeps ---- */

/* The most that may come with each unit: the shortest ways leave no more.  0 if
 * chunks are all of one size, which can't tell. */
static double most_unit_us(const struct fit *f)
{
    const struct answer *known = NULL;
    double most_us = INFINITY;
    bool differ = false;

    for (size_t i = 0; i < f->count; i++) {
        const struct answer *answer = &f->answers[i];

        differ |= answer->units > f->answers[0].units ||
                  answer->units < f->answers[0].units;
        most_us = fmin(most_us, answer->way_us / answer->units);
        if (answer->seen && (known == NULL || answer->way_us < known->way_us))
            known = answer;
    }
    for (size_t i = 0; i < f->count && known != NULL; i++)
        if (f->answers[i].units > known->units)
            most_us = fmin(most_us, (f->answers[i].way_us - known->way_us) /
                                        (f->answers[i].units - known->units));
    return differ ? fmax(most_us, 0) : 0;
}

/* Worlds of which each is as the trace: in the likely one no seat and no unit
 * has more than it must. */
static enum nf_status fit_asleep(struct fit *f, size_t *begins)
{
    struct replay_model *m = f->m;
    double unit_us = most_unit_us(f), most_us;
    struct messages *none;
    bool alike = true;

    for (size_t i = 0; i < f->count; i++)
        f->seen[f->answers[i].seat] |= f->answers[i].seen;
    find_own(f, begins, 0, 0);
    most_us = least_own_us(f, true);
    m->ways_known = isfinite(most_us);
    if (!m->ways_known)
        most_us = least_own_us(f, false);
    for (uint32_t s = 0; s < m->seats.count; s++)
        alike &= f->seen[s] || f->own_us[s] < most_us + NOTHING_US;
    if (add_own(f, 0, most_us) != NF_OK ||
        (!alike && add_own(f, 0, INFINITY) != NF_OK) ||
        (!m->ways_known && add_messages(m, 0, 0, 0, &none) != NF_OK))
        return NF_ERR_NOMEM;
    if (unit_us * (double)m->h->units < NOTHING_US)
        return NF_OK;
    find_own(f, begins, unit_us, 0);
    return add_own(f, unit_us, least_own_us(f, m->ways_known));
}

/* ---- all of it ---- */

/* Of each world, make one in which a result costs the master the most.  That is
 * in the way if its time is that when the work is done. */
static enum nf_status add_recv(struct fit *f)
{
    struct replay_model *m = f->m;
    bool inside = timed_after_work(m->h);
    double way_us = m->messages[0].way_us; /* the longest of all worlds */
    double recv_us = free_us(f, LEAST_SHARE);
    uint32_t count = m->nmessages;

    if (inside || !isfinite(recv_us))
        recv_us = fmin(recv_us, way_us);
    for (uint32_t k = 0; k < count && recv_us >= NOTHING_US; k++) {
        const struct messages *one = &m->messages[k];
        struct messages *other;

        way_us = inside ? fmax(one->way_us - recv_us, 0) : one->way_us;
        if (add_messages(m, way_us, one->way_unit_us, recv_us, &other) != NF_OK)
            return NF_ERR_NOMEM;
        memcpy(other->extra_us, one->extra_us,
               m->seats.count * sizeof(*other->extra_us));
    }
    return NF_OK;
}

static enum nf_status fit_all(struct fit *f, size_t *begins)
{
    struct replay_model *m = f->m;
    const struct nf_history *h = m->h;
    enum nf_status status;

    for (uint32_t i = 0; i < h->nchunks; i++) {
        f->x[i] = (double)h->chunks[i].count;
        f->y[i] = (double)h->chunks[i].master_us;
    }
    fit_line(f->x, f->y, h->nchunks, f->room, &m->send_us, &m->send_unit_us);
    find_answers(f);
    m->ways_known = true;
    m->by_clock = is_by_clock(m);
    m->recv_known = !m->by_clock && !timed_after_work(h);
    if (!sleeps(m))
        return fit_awake(f, begins);
    status = fit_asleep(f, begins);
    return status == NF_OK ? add_recv(f) : status;
}

enum nf_status messages_fit(struct replay_model *m)
{
    size_t chunks = m->h->nchunks, seats = m->seats.count;
    struct fit f = { .m = m };
    size_t *begins = nf_malloc((seats + 2) * sizeof(*begins));
    enum nf_status status = NF_ERR_NOMEM;

    f.answers = nf_malloc(chunks * sizeof(*f.answers));
    f.x = nf_malloc(3 * chunks * sizeof(*f.x));
    f.own_us = nf_malloc(seats * sizeof(*f.own_us));
    f.seen = nf_calloc(seats, sizeof(*f.seen));
    if (begins != NULL && f.answers != NULL && f.x != NULL &&
        f.own_us != NULL && f.seen != NULL) {
        f.y = f.x + chunks;
        f.room = f.y + chunks;
        status = fit_all(&f, begins);
    }
    nf_free(begins);
    nf_free(f.answers);
    nf_free(f.x);
    nf_free(f.own_us);
    nf_free(f.seen);
    return status;
}

void messages_fini(struct replay_model *m)
{
    for (uint32_t k = 0; k < m->nmessages; k++)
        nf_free(m->messages[k].extra_us);
    m->nmessages = 0;
}
