/* What a trace says of the job and its network, each number by a simple robust
 * estimate:
 *
 *   units    the time of a unit is that of its chunk divided by its units, with
 *            the spread that the slave reported
 *   speeds   of a seat: mean of the others / mean of the seat, if they differ
 *            by more than the units can explain (replay_speeds.c)
 *   messages what they take, and cost the master (replay_messages.c) */
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
    SPEED_DEN = 1000,
    UNITS_MOST = 50000000, /* with a cost of each in memory */
    SEATS_MOST = 100000,
};

/* Of a whole job, whatever is drawn; leaves room for speeds. */
static const double COST_MOST_US = 4e15;

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
    for (uint32_t i = 0; i < h->nphases; i++)
        if (strcmp(h->phases[i].name, "exchange") == 0)
            return nf_fail(err, NF_ERR_INVAL,
                           "a job of several phases, which no policy decides "
                           "alone: replay takes those of one");
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
    if (status == NF_OK && messages_fit(&m) != NF_OK)
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
    messages_fini(m);
    nf_free(m->unit_us);
    memset(m, 0, sizeof(*m));
}

/* ---- the world ---- */

/* The simulator takes no single time above 11 days. */
static json_int_t rounded(double us)
{
    return (json_int_t)llround(fmin(fmax(us, 0), 9e11));
}

/* The most of all worlds that are allowed, so that the simulator is asked for
 * each number whether it is too big; seats have what they have in theirs. */
static struct messages most_messages(const struct replay_model *m)
{
    struct messages most = { .way_us = 0 };

    for (uint32_t k = 0; k < m->nmessages; k++) {
        const struct messages *one = &m->messages[k];

        most.way_us = fmax(most.way_us, one->way_us);
        most.way_unit_us = fmax(most.way_unit_us, one->way_unit_us);
        most.recv_us = fmax(most.recv_us, one->recv_us);
    }
    return most;
}

/* [c, u] of each seat's messages that way. */
static json_t *ways_json(const struct replay_model *m, double unit_us,
                         double share)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < m->seats.count; i++) {
        double extra_us = 0;

        for (uint32_t k = 0; k < m->nmessages; k++)
            extra_us = fmax(extra_us, m->messages[k].extra_us[i]);
        json_array_append_new(list,
                              json_pack("[I, I]", rounded(extra_us * share),
                                        rounded(unit_us * share)));
    }
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
    struct messages most = most_messages(m);
    json_t *world = json_pack(
        "{s:I, s:i, s:i, s:o, s:o, s:o, s:s, s:I, s:[I, I], s:I}", "units",
        (json_int_t)m->h->units, "slaves", (int)m->seats.count, "cost", 0,
        "speed", speeds_json(m), "ts",
        ways_json(m, most.way_unit_us, m->out_share), "tr",
        ways_json(m, most.way_unit_us, 1 - m->out_share), "net", "links",
        "prop", rounded(most.way_us / 2), "o_send", rounded(m->send_us),
        rounded(m->send_unit_us), "o_recv", rounded(most.recv_us));

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
    model_set_messages(m, 0, &world);
    model_set_costs(m, NULL, &world);
    *world_p = world;
    return NF_OK;
}

static struct nf_line line_of(double fixed_us, double unit_us)
{
    return (struct nf_line){ rounded(fixed_us), rounded(unit_us) };
}

void model_set_messages(const struct replay_model *m, uint32_t which,
                        struct nf_world *world)
{
    const struct messages *one = &m->messages[which];
    double out = m->out_share, in = 1 - out;

    world->prop_us = rounded(one->way_us / 2);
    world->recv_overhead = line_of(one->recv_us, 0);
    for (uint32_t i = 0; i < m->seats.count; i++) {
        double extra_us = one->extra_us[i];

        world->slave[i].data = line_of(extra_us * out, one->way_unit_us * out);
        world->slave[i].result = line_of(extra_us * in, one->way_unit_us * in);
    }
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
