/* Ways of one collective call, timed in turns. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "apps/nowfarm/coll_run.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/rng.h"

/* A turn has at least so many calls: the first ones of it are not counted, so
 * short turns are dear. */
enum { TURN_MIN = 2 };

struct measuring {
    struct coll_world *world;
    const struct nf_coll_query *query;
    const struct nf_model *model;
    struct coll_effort effort;
    int64_t pause_us;
};

uint64_t coll_number_of(const struct nf_coll_algorithm *algorithm)
{
    uint64_t i = 0;

    while (algorithm != NULL && nf_coll_table[i] != algorithm)
        i++;
    return algorithm == NULL ? 0 : i + 1;
}

/* The part of @p calls that turn number @p turn has. */
static uint64_t part(uint64_t calls, uint64_t turn, uint64_t turns)
{
    return calls * (turn + 1) / turns - calls * turn / turns;
}

static struct bench_request request_of(const struct measuring *m,
                                       const struct nf_coll_wish *wish,
                                       uint64_t turn)
{
    struct bench_request request = {
        .kind = BENCH_TIME,
        .op = m->query->op,
        .algorithm = coll_number_of(wish->algorithm),
        .segments = wish->segments,
        .ordered = !m->query->commutative,
        .bytes = m->query->bytes,
        .least = part(m->effort.least, turn, m->effort.turns),
        .most = part(m->effort.most, turn, m->effort.turns),
        .budget_us = m->effort.budget_us / m->effort.turns,
        .pause_us = (uint64_t)m->pause_us,
    };

    bench_set_params(&request, &wish->params);
    return request;
}

static void begin_row(const struct measuring *m,
                      const struct nf_coll_wish *wish,
                      const struct bench_result *result, struct coll_row *row_p)
{
    *row_p = (struct coll_row){
        .op = m->query->op,
        .ranks = m->query->ranks,
        .bytes = m->query->bytes,
        .ordered = !m->query->commutative,
        .algorithm = result->algorithm,
        .chosen = wish->algorithm == NULL,
        .segments = result->segments,
        .params = result->params,
        .predicted_us = NAN,
        .group_us = NAN,
    };
    if (result->algorithm != NULL)
        row_p->predicted_us = coll_predict_row(m->model, m->query, row_p);
}

static enum nf_status add_samples(const struct measuring *m,
                                  const struct bench_result *result,
                                  struct coll_row *row)
{
    double *grown =
        nf_realloc(row->us, (row->count + result->count) * sizeof(*row->us));

    if (grown == NULL)
        return nf_fail(m->world->team.err, NF_ERR_NOMEM, "out of memory");
    row->us = grown;
    memcpy(row->us + row->count, result->us, result->count * sizeof(*row->us));
    row->count += result->count;
    return NF_OK;
}

static enum nf_status take_turn(const struct measuring *m,
                                const struct nf_coll_wish *wish, uint64_t turn,
                                struct coll_row *row)
{
    static struct bench_result result; /* large, and never two at a time */
    const struct bench_request request = request_of(m, wish, turn);
    enum nf_status status =
        bench_direct(&m->world->team, &request, NULL, &result);

    if (status != NF_OK)
        return status;
    if (turn == 0)
        begin_row(m, wish, &result, row);
    if (result.wrong)
        return nf_fail(m->world->team.err, NF_ERR_VERIFY,
                       "%s of %llu bytes over %u members: the result is wrong",
                       result.algorithm != NULL ? result.algorithm->name : "?",
                       (unsigned long long)m->query->bytes, m->query->ranks);
    return add_samples(m, &result, row);
}

/* In another order each time, which nobody need repeat: in a ring, scatters of 8 bytes
 * to 7 hosts took a tenth longer by auto than by the name of what it had taken. */
static enum nf_status take_turns(const struct measuring *m,
                                 const struct nf_coll_wish *wishes,
                                 unsigned count, struct coll_row *rows)
{
    struct nf_rng rng = { (uint64_t)nf_now_us() };
    uint32_t *order = nf_calloc(count, sizeof(*order));
    enum nf_status status = NF_OK;

    if (order == NULL)
        return nf_fail(m->world->team.err, NF_ERR_NOMEM, "out of memory");
    for (unsigned i = 0; i < count; i++)
        order[i] = i;
    for (uint64_t turn = 0; turn < m->effort.turns && status == NF_OK; turn++) {
        nf_rng_shuffle(&rng, order, count);
        for (unsigned i = 0; i < count && status == NF_OK; i++)
            status = take_turn(m, &wishes[order[i]], turn, &rows[order[i]]);
    }
    nf_free(order);
    return status;
}

static enum nf_status summarize(const struct measuring *m, struct coll_row *row)
{
    double *sorted = nf_calloc(row->count, sizeof(*sorted));

    if (sorted == NULL)
        return nf_fail(m->world->team.err, NF_ERR_NOMEM, "out of memory");
    memcpy(sorted, row->us, row->count * sizeof(*sorted));
    stats_summarize(sorted, row->count, &row->summary);
    stats_median_interval(sorted, row->count, STATS_CONFIDENCE, &row->middle);
    nf_free(sorted);
    return NF_OK;
}

enum nf_status coll_measure(const struct coll_options *o,
                            struct coll_world *world,
                            const struct coll_effort *effort,
                            const struct nf_coll_query *query,
                            const struct nf_model *model,
                            const struct nf_coll_wish *wishes, unsigned count,
                            struct coll_row *rows_p)
{
    struct measuring m = {
        .world = world,
        .query = query,
        .model = model,
        .effort = *effort,
        .pause_us = o->pause_us,
    };
    uint64_t *turns = &m.effort.turns;
    enum nf_status status;

    if (o->repeat > 0)
        m.effort.least = m.effort.most = o->repeat;
    if (*turns > m.effort.least / TURN_MIN)
        *turns = m.effort.least / TURN_MIN;
    if (*turns == 0 || count == 1)
        *turns = 1;
    memset(rows_p, 0, count * sizeof(*rows_p));
    status = take_turns(&m, wishes, count, rows_p);
    for (unsigned i = 0; i < count && status == NF_OK; i++)
        status = summarize(&m, &rows_p[i]);
    for (unsigned i = 0; i < count && status != NF_OK; i++)
        coll_row_free(&rows_p[i]);
    return status;
}
