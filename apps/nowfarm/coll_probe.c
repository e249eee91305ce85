/* The model of a network, measured.  Source: Kim, report 98-NF-03-04-A-01, 4.1:
 * half of the time of a round trip, against the size. */
#include "config.h"
#include "apps/nowfarm/coll_probe.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "apps/nowfarm/coll_pairs.h"
#include "apps/nowfarm/coll_run.h"
#include "apps/nowfarm/stats.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/group/types.h"

/* Sizes of which streams are measured. */
enum { STREAM_LEAST_BYTES = 256, STREAM_MOST_BYTES = 16384 };

/* How much time a size gets. */
struct patience {
    uint64_t least, most, budget_us;
    double most_us; /* all rounds; overrules least, but not 3 */
    uint64_t warm;  /* before them */
    uint64_t pause_us; /* before each of them */
};
/* As in that report's procedure, whatever the size: 1 MiB at 100 Mbit/s takes
 * 0.2 s there and back. */
enum { WARM_ROUNDS = 5 };
static const struct patience quick = { 5, 200, 20000, 2e5, WARM_ROUNDS, 0 };
static const struct patience thorough_ones = { 20, 1000, 50000, 2e6,
                                               WARM_ROUNDS, 0 };
/* By many members a chain takes long.  Between broadcasts members compute, and who is
 * to pass one on has to be woken: in a row of them most are still awake. */
static const struct patience calls = {
    5, COLL_PROBE_CALLS, 50000, 2e6, WARM_ROUNDS, COLL_PROBE_CALL_PAUSE_US
};
/* A look is for what is a quarter worse, and there is one at every host. */
static const struct patience short_look = { 5, 50, 5000, 2e5, WARM_ROUNDS, 0 };
static const struct patience large_look = { 3, 5, 20000, 2e5, 2, 0 };
enum { LOOKS_BUDGET_US = 3000000, LOOKS_AT_WORSE = 3 };
/* What is measured beside the usual pair is not to take most of the time: how
 * long the rounds of its largest message may, and how many there are. */
enum { WORSE_US = 2000000, WORSE_THOROUGH_US = 20000000, WORSE_ROUNDS = 8 };

/* @param round_us  about what a round takes
 * @param part      of the rounds are faster than what replaces it */
static enum nf_status measure_part(struct coll_world *world,
                                   enum bench_kind kind, uint64_t bytes,
                                   const struct patience *patience, double part,
                                   double *round_us)
{
    struct bench_request request = { .kind = kind,
                                     .bytes = bytes,
                                     .least = patience->least,
                                     .most = patience->most,
                                     .budget_us = patience->budget_us,
                                     .warm = patience->warm };
    static struct bench_result result;
    enum nf_status status;

    if (*round_us * (double)request.least > patience->most_us)
        request.least = (uint64_t)fmax(3, patience->most_us / *round_us);
    status = bench_direct(&world->team, &request, NULL, &result);
    if (status == NF_OK) {
        stats_sort(result.us, result.count);
        *round_us = stats_quantile(result.us, result.count, part);
    }
    return status;
}

/* The median. */
static enum nf_status measure(struct coll_world *world, enum bench_kind kind,
                              uint64_t bytes, const struct patience *patience,
                              double *round_us)
{
    return measure_part(world, kind, bytes, patience, 0.5, round_us);
}

/* Short messages in a stream may take longer than one alone, which links with
 * token buckets let pass at once.  Segments come in streams, and the model is
 * there to choose how many: so it gets the way of an empty message and the time
 * in a stream, if that is longer. */
static enum nf_status measure_stream(struct coll_world *world,
                                     const struct patience *patience,
                                     uint64_t bytes, double way_us, double *us)
{
    double stream_us = *us;
    enum nf_status status;

    if (bytes < STREAM_LEAST_BYTES || bytes > STREAM_MOST_BYTES)
        return NF_OK;
    stream_us *= BENCH_SENDS_AT_ONCE;
    status = measure(world, BENCH_STREAM, bytes, patience, &stream_us);
    *us = fmax(*us, way_us + stream_us);
    return status;
}

/* The sizes of messages: 0 (a byte stands for it), 64, 256, 1 KiB, 4 KiB, ...
 */
static enum nf_status measure_sizes(struct coll_world *world,
                                    const struct patience *patience,
                                    uint64_t largest_bytes,
                                    struct nf_model *model)
{
    struct nf_model_sample samples[NF_MODEL_SAMPLES_MAX] = { { 0, 0 } };
    size_t count = 0;
    double round_us = 0;

    for (uint64_t bytes = 1; bytes <= largest_bytes && count < 16;
         bytes = bytes == 1 ? 64 : 4 * bytes) {
        enum nf_status status;
        double us;

        round_us *= 4; /* than the size before, at the most */
        status = measure(world, BENCH_PING, bytes, patience, &round_us);
        us = fmax(round_us / 2, 0.01);
        if (status == NF_OK)
            status =
                measure_stream(world, patience, bytes, samples[0].time_us, &us);
        if (status != NF_OK)
            return status;
        samples[count++] = (struct nf_model_sample){ (double)bytes, us };
    }
    return nf_model_fit(samples, count, model, world->team.err);
}

static enum nf_status measure_exchanges(struct coll_world *world,
                                        const struct patience *patience,
                                        uint64_t largest_bytes,
                                        struct nf_model *model)
{
    static const uint64_t sizes[] = { 1 << 16, 1 << 20 };
    struct nf_model_sample exchanges[2];
    size_t count = 0;

    for (size_t i = 0; i < 2; i++) {
        double us = nf_model_send_us(model, (double)sizes[i]);
        enum nf_status status;

        if (i > 0 && sizes[i] > largest_bytes)
            break;
        status = measure(world, BENCH_EXCHANGE, sizes[i], patience, &us);
        if (status != NF_OK)
            return status;
        exchanges[count++] =
            (struct nf_model_sample){ (double)sizes[i], fmax(us, 0.01) };
    }
    model->delta = nf_model_delta(model, exchanges, count);
    return NF_OK;
}

static enum nf_status measure_route(struct coll_world *world,
                                    const struct coll_pair *pair, bool thorough,
                                    uint64_t largest_bytes,
                                    struct nf_model *model)
{
    const struct bench_request team = { .kind = BENCH_TEAM,
                                        .first = pair->first,
                                        .partner = pair->second };
    const struct patience *patience = thorough ? &thorough_ones : &quick;
    double us = 1;
    enum nf_status status = bench_direct(&world->team, &team, NULL, NULL);

    if (largest_bytes < 1 << 16) /* exchanges are of that size */
        largest_bytes = 1 << 16;
    if (status == NF_OK)
        status = measure_sizes(world, patience, largest_bytes, model);
    if (status == NF_OK)
        status = measure_exchanges(world, patience, largest_bytes, model);
    if (status == NF_OK)
        status = measure(world, BENCH_SENDS, 8, patience, &us);
    model->occupancy_us = us;
    return status;
}

/* ---- worse links ---- */

struct looking {
    struct coll_look list[COLL_LOOKS_MAX];
    unsigned count;
    double end_us; /* nothing is looked at later */
};

static enum nf_status look(struct coll_world *world, struct coll_look *at)
{
    const struct bench_request team = { .kind = BENCH_TEAM,
                                        .first = at->pair.first,
                                        .partner = at->pair.second };
    double short_us = 0, large_us = 0;
    enum nf_status status = bench_direct(&world->team, &team, NULL, NULL);

    if (status == NF_OK) /* the least: few rounds, and processors are busy */
        status = measure_part(world, BENCH_PING, COLL_LOOK_SHORT_BYTES,
                              &short_look, 0, &short_us);
    if (status == NF_OK)
        status = measure(world, BENCH_PING, COLL_LOOK_LARGE_BYTES, &large_look,
                         &large_us);
    if (status == NF_OK)
        coll_look_add(at, fmax(short_us / 2, 0.01), large_us / 2);
    return status;
}

/* More looks at what seems to be worse: what has only been disturbed is not
 * worth the time of measuring it. */
static enum nf_status make_sure(struct coll_world *world,
                                struct looking *looking)
{
    unsigned worst[COLL_WORST_MAX], count, again = 1;
    enum nf_status status = NF_OK;

    while (status == NF_OK && again > 0 && bench_now_us() < looking->end_us) {
        again = 0;
        count = coll_find_worst(looking->list, looking->count, worst);
        for (unsigned i = 0; i < count && status == NF_OK; i++)
            if (looking->list[worst[i]].times < LOOKS_AT_WORSE) {
                status = look(world, &looking->list[worst[i]]);
                again++;
            }
    }
    return status;
}

/* The usual pair, which all is compared with, twice: before and after. */
static enum nf_status look_around(struct coll_world *world,
                                  struct looking *looking)
{
    enum nf_status status = NF_OK;

    looking->end_us = bench_now_us() + LOOKS_BUDGET_US;
    for (unsigned i = 0; i < looking->count && status == NF_OK; i++)
        if (bench_now_us() < looking->end_us)
            status = look(world, &looking->list[i]);
    if (status == NF_OK)
        status = look(world, &looking->list[0]);
    return status == NF_OK ? make_sure(world, looking) : status;
}

/* Measure what has worse links than the usual pair between hosts, which model_p
 * is of, and make that the worst of all. */
static enum nf_status measure_worse(struct coll_world *world, bool by_daemon,
                                    const struct coll_pair *usual,
                                    bool thorough, uint64_t largest_bytes,
                                    struct nf_model *model_p)
{
    struct looking looking;
    unsigned worst[COLL_WORST_MAX], count;
    enum nf_status status;

    looking.count = coll_list_looks(world->hosts, world->routes, world->members,
                                    by_daemon, usual, looking.list);
    if (looking.count < 2)
        return NF_OK;
    status = look_around(world, &looking);
    count = coll_find_worst(looking.list, looking.count, worst);
    for (unsigned i = 0; i < count && status == NF_OK; i++) {
        const struct coll_look *at = &looking.list[worst[i]];
        struct nf_model model = { .npieces = 0 };

        status = measure_route(
            world, &at->pair, thorough,
            coll_look_reach(at, largest_bytes, WORSE_ROUNDS,
                            thorough ? WORSE_THOROUGH_US : WORSE_US),
            &model);
        if (status == NF_OK)
            nf_model_worse(model_p, &model, model_p);
    }
    return status;
}

/* ---- processors ---- */

/* An operation of all members, after a barrier: the median. */
static enum nf_status measure_all(struct coll_world *world,
                                  const struct nf_coll_algorithm *algorithm,
                                  uint64_t bytes,
                                  const struct patience *patience, double *us_p)
{
    const struct bench_request team = { .kind = BENCH_TEAM,
                                        .ranks = world->members };
    struct bench_request request = {
        .kind = BENCH_TIME,
        .op = algorithm->op,
        .bytes = bytes,
        .algorithm = coll_number_of(algorithm),
        .least = patience->least,
        .most = patience->most,
        .budget_us = patience->budget_us,
        .pause_us = patience->pause_us,
    };
    static struct bench_result result;
    enum nf_status status = bench_direct(&world->team, &team, NULL, NULL);

    if (status == NF_OK)
        status = bench_direct(&world->team, &request, NULL, &result);
    if (status == NF_OK)
        *us_p = stats_median(result.us, result.count);
    return status;
}

/* nf_model_share_us() says what that tells. */
static enum nf_status measure_share(struct coll_world *world,
                                    const struct patience *patience,
                                    struct nf_model *model)
{
    double us = 0;
    enum nf_status status =
        measure_all(world, &nf_coll_barrier_dissemination, 0, patience, &us);

    if (status != NF_OK)
        return status;
    model->share_us = nf_model_share_us(model, world->members, us);
    if (model->share_us > 0)
        model->share_part = nf_model_fullest_part(world->hosts, world->members);
    return NF_OK;
}

/* ---- combining ---- */
enum { COMBINED_BYTES = 1 << 16, COMBINE_REPEATS = 3 };

/* The least of some times, us a byte.  @param in  [2 COMBINED_BYTES] */
static enum nf_status time_combining(const struct nf_user_codes *codes,
                                     int type, int op, char *in,
                                     double *byte_us_p)
{
    double least_us = INFINITY;
    enum nf_status status = NF_OK;

    for (int i = 0; i <= COMBINE_REPEATS && status == NF_OK; i++) {
        double start_us = bench_now_us();

        status = nf_combine(codes, type, op, in + COMBINED_BYTES, in,
                            in + COMBINED_BYTES,
                            COMBINED_BYTES / nf_elem_bytes(codes, type));
        if (i > 0) /* the first one meets cold memory */
            least_us = fmin(least_us, bench_now_us() - start_us);
    }
    *byte_us_p = least_us / COMBINED_BYTES;
    return status;
}

static enum nf_status measure_combining(struct nf_model *model,
                                        struct nf_error *err)
{
    struct nf_user_codes *codes = nf_calloc(1, sizeof(*codes));
    char *in = nf_calloc(2, COMBINED_BYTES);
    enum nf_status status = codes != NULL && in != NULL ? NF_OK : NF_ERR_NOMEM;

    for (int t = NF_ELEM_BYTE; t <= NF_ELEM_LOC_FLOAT64 && status == NF_OK; t++)
        for (int o = NF_SUM; o <= NF_MAXLOC && status == NF_OK; o++) {
            char type[NF_CODE_NAME_BYTES], op[NF_CODE_NAME_BYTES];
            double byte_us;

            if (!nf_operator_fits(codes, t, o))
                continue;
            nf_elem_name(t, type);
            nf_operator_name(o, op);
            status = time_combining(codes, t, o, in, &byte_us);
            if (status == NF_OK)
                status = nf_model_set_combine(model, type, op, byte_us);
        }
    nf_free(in);
    nf_free(codes);
    return status == NF_OK ? NF_OK : nf_fail(err, status, "out of memory");
}

static void sign(const struct coll_world *world, struct nf_model *model)
{
    time_t now = time(NULL);
    struct tm utc;

    model->route = world->place.route;
    model->encoding = world->place.encoding;
    model->hosts_hash = world->place.hosts_hash;
    if (gmtime_r(&now, &utc) != NULL)
        strftime(model->date, sizeof(model->date), "%Y-%m-%dT%H:%M:%SZ", &utc);
}

/* The model is of links between hosts: what is known of those within. */
static void set_near(const struct nf_model *near, struct nf_model *model)
{
    model->nnear = near->npieces;
    memcpy(model->near, near->pieces, sizeof(model->near));
}

enum nf_status coll_probe(struct coll_world *world, bool thorough,
                          uint64_t largest_bytes, struct nf_model *model_p)
{
    struct nf_model route, near = { .npieces = 0 };
    int count = 0;
    enum nf_status status = NF_OK;

    if (thorough)
        largest_bytes = 4 << 20;
    else if (largest_bytes > 1 << 20)
        largest_bytes = 1 << 20;
    for (int kind = 0; kind < 4 && status == NF_OK; kind++) {
        bool same_host = kind < 2, by_daemon = kind % 2 == 1;
        struct coll_pair pair;

        status = coll_find_pair(world->hosts, world->routes, world->members,
                                same_host, by_daemon, &pair);
        if (status == NF_WAIT) {
            status = NF_OK;
            continue;
        }
        if (status != NF_OK)
            return nf_fail(world->team.err, status, "out of memory");
        route = (struct nf_model){ .npieces = 0 };
        status = measure_route(world, &pair, thorough, largest_bytes, &route);
        if (status == NF_OK && !same_host)
            status = measure_worse(world, by_daemon, &pair, thorough,
                                   largest_bytes, &route);
        if (status != NF_OK)
            break;
        if (count++ == 0)
            *model_p = route;
        else
            nf_model_worse(model_p, &route, model_p);
        if (same_host)
            near = *model_p;
        else
            set_near(&near, model_p);
    }
    if (status == NF_OK && count > 0)
        status =
            measure_share(world, thorough ? &thorough_ones : &quick, model_p);
    if (status != NF_OK)
        return status;
    sign(world, model_p);
    return measure_combining(model_p, world->team.err);
}

static enum nf_status measure_way(struct coll_world *world, uint32_t partner,
                                  double *way_us_p)
{
    const struct bench_request team = { .kind = BENCH_TEAM,
                                        .partner = partner };
    double round_us = 0;
    enum nf_status status = bench_direct(&world->team, &team, NULL, NULL);

    if (status == NF_OK)
        status = measure(world, BENCH_PING, 1, &quick, &round_us);
    *way_us_p = fmin(*way_us_p, round_us / 2);
    return status;
}

enum nf_status coll_probe_ways(struct coll_world *world, double *way_us_p)
{
    int64_t begun_us = nf_now_us();
    enum nf_status status = NF_OK;
    unsigned turns = 0;

    for (uint32_t j = 0; j < world->members; j++)
        way_us_p[j] = j == 0 ? 0 : INFINITY;
    do {
        for (uint32_t j = 1; j < world->members && status == NF_OK; j++)
            status = measure_way(world, j, &way_us_p[j]);
        turns++;
    } while (status == NF_OK && coll_probe_goes_on(turns, COLL_PROBE_WAY_TURNS,
                                                   nf_now_us() - begun_us));
    return status;
}

enum nf_status coll_probe_call(struct coll_world *world,
                               const struct nf_coll_algorithm *algorithm,
                               double *us_p)
{
    return measure_all(world, algorithm, 1, &calls, us_p);
}
