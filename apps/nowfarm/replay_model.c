/* What a trace says of the job and its network, each number by a simple robust
 * estimate:
 *
 *   units    the time of a unit is that of its chunk divided by its units, with
 *            the spread that the slave reported
 *   speeds   of a seat: mean of the others / mean of the seat, if they differ
 *            by more than the units can explain (replay_speeds.c)
 *   master   for a lease: median, with a slope over the units of chunks of
 *            different sizes; for a result: first quartile of the times from a
 *            result to the lease that was sent next, which only a master that
 *            had nothing else to do shows
 *   way      what is left of a chunk's time after computing, waiting and the
 *            master, likewise; half of it, or as the bytes are, goes there */
#include "config.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/replay.h"
#include "apps/nowfarm/stats.h"
#include "common/base/alloc.h"
#include "common/base/error.h"

enum {
    BYTES_A_MESSAGE = 200, /* beside its payload, about */
    SPEED_DEN = 1000,
    UNITS_MOST = 50000000, /* with a cost of each in memory */
    SEATS_MOST = 100000,
};

/* Of a whole job, whatever is drawn; leaves room for speeds. */
static const double COST_MOST_US = 4e15;

/* The value of list[0..n) nearest to that quantile; 0 if n is 0.  Sorts. */
static double quantile(double *list, size_t n, double share)
{
    if (n == 0)
        return 0;
    stats_sort(list, n);
    return list[(size_t)(share * (double)(n - 1) + 0.5)];
}

/* ---- units ---- */

/* The units of one chunk.  A spread is told half above, half below. */
static void spread_chunk(struct replay_model *m,
                         const struct nf_history_chunk *chunk, double speed)
{
    double n = (double)chunk->answered;
    double mean_us = (double)chunk->compute_us / n * speed;
    double off_us = fmin(sqrt(chunk->m2_unit_us2 / n) * speed, mean_us);

    for (uint64_t i = 0; i < chunk->answered; i++) {
        uint64_t unit = chunk->first + i;
        bool odd_one = i + 1 == chunk->answered && i % 2 == 0;

        if (m->unit_us[unit] < 0)
            m->known_units++;
        m->unit_us[unit] =
            odd_one ? mean_us : mean_us + (i % 2 == 0 ? off_us : -off_us);
    }
}

/* Units that were not measured are as the ones before them, or behind. */
static void fill_unknown(struct replay_model *m)
{
    double last_us = -1;

    for (uint64_t i = 0; i < m->h->units; i++) {
        if (m->unit_us[i] < 0)
            m->unit_us[i] = last_us;
        last_us = m->unit_us[i];
    }
    for (uint64_t i = m->h->units; i-- > 0;) {
        if (m->unit_us[i] < 0)
            m->unit_us[i] = last_us;
        last_us = m->unit_us[i];
    }
}

static enum nf_status fit_units(struct replay_model *m, struct nf_error *err)
{
    double sum = 0, squares = 0, longest_us = 0;

    if (speeds_fit(m->h, &m->seats) == 0)
        return nf_fail(err, NF_ERR_INVAL, "no result was ever measured");
    m->unit_us = nf_malloc(m->h->units * sizeof(*m->unit_us));
    if (m->unit_us == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    for (uint64_t i = 0; i < m->h->units; i++)
        m->unit_us[i] = -1;
    for (uint32_t i = 0; i < m->h->nchunks; i++)
        if (m->h->chunks[i].measured && m->h->chunks[i].answered > 0)
            spread_chunk(m, &m->h->chunks[i],
                         m->seats.list[m->seats.of_chunk[i]].speed);
    for (uint64_t i = 0; i < m->h->units; i++)
        if (m->unit_us[i] >= 0) {
            longest_us = fmax(longest_us, m->unit_us[i]);
            sum += m->unit_us[i];
            squares += m->unit_us[i] * m->unit_us[i];
        }
    m->mean_us = sum / (double)m->known_units;
    m->deviation_us = sqrt(
        fmax(squares / (double)m->known_units - m->mean_us * m->mean_us, 0));
    fill_unknown(m);
    if (longest_us * (double)m->h->units > COST_MOST_US)
        return nf_fail(err, NF_ERR_INVAL,
                       "the units take too long: %.0f s was the longest of "
                       "%llu",
                       longest_us * 1e-6, (unsigned long long)m->h->units);
    return NF_OK;
}

/* ---- master and way ---- */

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

/* Does the master wait before it sends?  Then the lease that follows a result
 * tells nothing of what that took. */
static bool waits(const struct replay_model *m)
{
    return m->pacer != NULL && (strcmp(m->pacer->name, "timer") == 0 ||
                                strcmp(m->pacer->name, "round") == 0);
}

/* Do results wait for the master, too?  Then only the shortest ways are those of
 * messages, and no slot's can be told from another's. */
static bool sleeps(const struct replay_model *m)
{
    return m->pacer != NULL && strcmp(m->pacer->name, "round") == 0;
}

/* Was it answered in time, with times? */
static bool timed(const struct nf_history_chunk *chunk)
{
    return chunk->measured && chunk->fate == NF_FATE_ANSWERED;
}

/* The first lease that was sent then or later; they are in order. */
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

/* From a result to the lease that is sent next, where that is at once; no more
 * than the least of all ways there and back. */
static double fit_recv(const struct replay_model *m, double *room)
{
    const struct nf_history *h = m->h;
    double least_us = INFINITY;
    size_t n = 0;

    for (uint32_t i = 0; i < h->nchunks; i++) {
        const struct nf_history_chunk *chunk = &h->chunks[i];
        uint32_t next;

        if (!timed(chunk))
            continue;
        least_us = fmin(least_us, (double)(chunk->elapsed_us -
                                           chunk->compute_us - chunk->wait_us));
        next = sent_after(h, chunk->ended_us);
        if (next < h->nchunks)
            room[n++] = (double)(h->chunks[next].sent_us - chunk->ended_us);
    }
    return fmin(quantile(room, n, 0.25), isfinite(least_us) ? least_us : 0);
}

static double way_of(const struct replay_model *m,
                     const struct nf_history_chunk *chunk)
{
    return (double)(chunk->elapsed_us - chunk->compute_us - chunk->wait_us) -
           m->send_us - m->send_unit_us * (double)chunk->count - m->recv_us;
}

/* How much longer than the least way that of each seat is.  @p begins[seats +
 * 1] and @p room are scratch. */
static void fit_extras(struct replay_model *m, size_t *begins, double *room)
{
    double least_us = INFINITY;
    uint32_t count = m->seats.count;

    /* begins[s + 1]: where the next way of seat s goes */
    memset(begins, 0, (count + 2) * sizeof(*begins));
    for (uint32_t i = 0; i < m->h->nchunks; i++)
        if (timed(&m->h->chunks[i]))
            begins[m->seats.of_chunk[i] + 2]++;
    for (uint32_t s = 0; s < count; s++)
        begins[s + 2] += begins[s + 1];
    for (uint32_t i = 0; i < m->h->nchunks; i++)
        if (timed(&m->h->chunks[i]))
            room[begins[m->seats.of_chunk[i] + 1]++] =
                way_of(m, &m->h->chunks[i]) -
                m->way_unit_us * (double)m->h->chunks[i].count;
    for (uint32_t s = 0; s < count; s++) {
        size_t n = begins[s + 1] - begins[s];

        m->seats.list[s].extra_us =
            n > 0 ? fmax(quantile(room + begins[s], n, sleeps(m) ? 0 : 0.5), 0)
                  : -1;
        if (n > 0)
            least_us = fmin(least_us, m->seats.list[s].extra_us);
    }
    for (uint32_t s = 0; s < count; s++) {
        struct seat *seat = &m->seats.list[s];

        seat->extra_us = seat->extra_us < 0 || sleeps(m)
                             ? 0
                             : seat->extra_us - least_us;
    }
    m->way_us = isfinite(least_us) ? least_us : 0;
}

static enum nf_status fit_messages(struct replay_model *m)
{
    const struct nf_history *h = m->h;
    size_t *begins = nf_malloc((m->seats.count + 2) * sizeof(*begins));
    double *x = nf_malloc(3 * (size_t)h->nchunks * sizeof(*x));
    double *y, *room;
    double out = 0, in = 0, fixed_us;
    size_t n = 0;

    if (begins == NULL || x == NULL) {
        nf_free(begins);
        nf_free(x);
        return NF_ERR_NOMEM;
    }
    y = x + h->nchunks;
    room = y + h->nchunks;
    for (uint32_t i = 0; i < h->nchunks; i++) {
        x[i] = (double)h->chunks[i].count;
        y[i] = (double)h->chunks[i].master_us;
    }
    fit_line(x, y, h->nchunks, room, &m->send_us, &m->send_unit_us);
    m->recv_us = waits(m) ? 0 : fit_recv(m, room);
    for (uint32_t i = 0; i < h->nchunks; i++) {
        const struct nf_history_chunk *chunk = &h->chunks[i];

        if (!timed(chunk))
            continue;
        x[n] = (double)chunk->count;
        y[n++] = way_of(m, chunk);
        out += (double)chunk->bytes_out + BYTES_A_MESSAGE;
        in += (double)chunk->bytes_in + BYTES_A_MESSAGE;
    }
    fit_line(x, y, n, room, &fixed_us, &m->way_unit_us);
    fit_extras(m, begins, room);
    m->out_share = out + in > 0 ? out / (out + in) : 0.5;
    nf_free(begins);
    nf_free(x);
    return NF_OK;
}

/* ---- all of it ---- */

static void find_span(struct replay_model *m)
{
    const struct nf_history *h = m->h;
    int64_t last_us = 0;

    m->from_us = h->nchunks > 0 ? h->chunks[0].sent_us : 0;
    for (uint32_t i = 0; i < h->nchunks; i++)
        if (h->chunks[i].fate == NF_FATE_ANSWERED &&
            h->chunks[i].ended_us > last_us)
            last_us = h->chunks[i].ended_us;
    m->measured_us = h->complete && strcmp(h->end.status, "done") == 0
                         ? last_us - m->from_us
                         : -1;
}

enum nf_status model_fit(const struct nf_history *h,
                         struct replay_model *model_p, struct nf_error *err)
{
    struct replay_model m = { .h = h };
    struct nf_policy policy;
    enum nf_status status = NF_OK;

    if (h->nchunks == 0)
        return nf_fail(err, NF_ERR_INVAL, "no lease was ever sent");
    if (h->units > UNITS_MOST || h->nslots > SEATS_MOST)
        return nf_fail(err, NF_ERR_INVAL,
                       "%llu units on %u slots: replay takes at most %d on %d",
                       (unsigned long long)h->units, h->nslots, UNITS_MOST,
                       SEATS_MOST);
    if (seats_find(h, &m.seats) != NF_OK)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    find_span(&m);
    if (nf_policy_parse(h->policy, &policy, NULL) == NF_OK)
        m.pacer = policy.pacer;
    status = fit_units(&m, err);
    if (status == NF_OK && fit_messages(&m) != NF_OK)
        status = nf_fail(err, NF_ERR_NOMEM, "out of memory");
    if (status != NF_OK)
        model_fini(&m);
    else
        *model_p = m;
    return status;
}

void model_fini(struct replay_model *m)
{
    seats_fini(&m->seats);
    nf_free(m->unit_us);
    memset(m, 0, sizeof(*m));
}

/* ---- the world ---- */

/* The simulator takes no single time above 11 days. */
static json_int_t rounded(double us)
{
    return (json_int_t)llround(fmin(fmax(us, 0), 9e11));
}

/* [c, u] of each seat's messages that way. */
static json_t *ways_json(const struct replay_model *m, double share)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < m->seats.count; i++)
        json_array_append_new(
            list,
            json_pack("[I, I]", rounded(m->seats.list[i].extra_us * share),
                      rounded(m->way_unit_us * share)));
    return list;
}

static json_t *speeds_json(const struct replay_model *m)
{
    json_t *list = json_array();
    char text[48];

    for (uint32_t i = 0; i < m->seats.count; i++) {
        snprintf(text, sizeof(text), "%lld/%d",
                 llround(fmin(fmax(m->seats.list[i].speed * SPEED_DEN, 1),
                              100.0 * SPEED_DEN)),
                 SPEED_DEN);
        json_array_append_new(list, json_string(text));
    }
    return list;
}

/* What was over before the first lease is left out, and who was replaced within
 * a microsecond is away for one. */
static json_t *failures_json(const struct replay_model *m)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < m->seats.nabsences; i++) {
        const struct absence *a = &m->seats.absences[i];
        int64_t at_us = a->at_us > m->from_us ? a->at_us - m->from_us : 0;
        int64_t told_us =
            a->noticed_us > m->from_us ? a->noticed_us - m->from_us : 0;
        int64_t until_us = a->until_us - m->from_us;
        json_t *failure;

        if (a->until_us >= 0 && until_us <= 0)
            continue;
        failure =
            json_pack("{s:i, s:I, s:s, s:I}", "slave", (int)a->seat, "at",
                      (json_int_t)at_us, "kind", a->silent ? "host" : "dies",
                      "notice", (json_int_t)(told_us - at_us));

        if (a->until_us >= 0)
            json_object_set_new(
                failure, "until",
                json_integer(until_us > at_us ? until_us : at_us + 1));
        json_array_append_new(list, failure);
    }
    return list;
}

static json_t *world_json(const struct replay_model *m)
{
    json_t *world = json_pack(
        "{s:I, s:i, s:i, s:o, s:o, s:o, s:s, s:I, s:[I, I], s:I}", "units",
        (json_int_t)m->h->units, "slaves", (int)m->seats.count, "cost", 0,
        "speed", speeds_json(m), "ts", ways_json(m, m->out_share), "tr",
        ways_json(m, 1 - m->out_share), "net", "links", "prop",
        rounded(m->way_us / 2), "o_send", rounded(m->send_us),
        rounded(m->send_unit_us), "o_recv", rounded(m->recv_us));

    if (m->seats.nabsences > 0)
        json_object_set_new(world, "failures", failures_json(m));
    return world;
}

enum nf_status model_world(struct replay_model *m, struct nf_world *world_p,
                           struct nf_error *err)
{
    json_t *json = world_json(m);
    struct nf_world world;
    enum nf_status status;

    if (json == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    status = nf_world_parse(json, &world, err);
    if (status != NF_OK && status != NF_ERR_NOMEM && m->seats.nabsences > 0) {
        /* failures that the simulator refuses, as after 11 days */
        json_object_del(json, "failures");
        m->losses_ignored = true;
        status = nf_world_parse(json, &world, err);
    }
    json_decref(json);
    if (status != NF_OK)
        return status;
    world.cost_sums = nf_calloc(world.units + 1, sizeof(*world.cost_sums));
    if (world.cost_sums == NULL) {
        nf_world_fini(&world);
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    }
    model_set_costs(m, NULL, &world);
    *world_p = world;
    return NF_OK;
}

void model_set_costs(const struct replay_model *m, struct nf_rng *rng,
                     struct nf_world *world)
{
    uint64_t n = m->h->units;
    uint64_t reach = n / 20 > 10 ? n / 20 : 10; /* to either side */
    double sum_us = 0;

    if (reach > n - 1)
        reach = n - 1;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t low = i > reach ? i - reach : 0;
        uint64_t high = n - 1 - i > reach ? i + reach : n - 1;

        sum_us +=
            m->unit_us[rng == NULL ? i
                                   : low + nf_rng_below(rng, high - low + 1)];
        /* rounded as a sum: units may be shorter than a microsecond */
        world->cost_sums[i + 1] = (int64_t)(sum_us + 0.5);
    }
}
