/* One operation, timed.  The call comes after a barrier, ours for PVM's group
 * library too, since its own lets members out one after the other, and who comes
 * last has a shorter call; each member takes its own time, and a sample is the
 * longest of them.  Inputs are new and results
 * are checked in every repeat, outside of the time: another barrier ends it,
 * because members that share processors would check theirs at the expense of
 * those that are not through. */
#include "config.h"
#include "apps/collbench/group_library.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/coll/wish.h"
#include "common/group/group.h"

/* What a member holds for a series of calls. */
struct series {
    struct bench_call call;
    struct nf_call made;
    uint64_t pause_us;
    void *send, *recv;
    size_t *counts;
    double *us;       /* [repeats + 1], the last one counts wrong results */
    double *everyone; /* rank 0: [ranks][repeats + 1] */
    bool by_library;  /* PVM's, not ours */
    struct bench_library library;
};

/* What others sent is checked when it is forced. */
static struct nf_coll_sides sides_of(uint64_t count, const uint64_t *of)
{
    struct nf_coll_sides sides = { .count = 0 };

    for (uint64_t i = 0; i < count && i < NF_COLL_SIDES_MAX; i++)
        sides.of[sides.count++] = (uint32_t)of[i];
    return sides;
}

struct nf_coll_params bench_params(const struct bench_request *request)
{
    return (struct nf_coll_params){
        .radix = (uint32_t)request->radix,
        .radices = sides_of(request->nradices, request->radices),
        .shape = sides_of(request->nsides, request->shape),
    };
}

void bench_set_params(struct bench_request *request,
                      const struct nf_coll_params *params)
{
    request->radix = params->radix;
    request->nradices = params->radices.count;
    request->nsides = params->shape.count;
    for (uint32_t i = 0; i < NF_COLL_SIDES_MAX; i++) {
        request->radices[i] = params->radices.of[i];
        request->shape[i] = params->shape.of[i];
    }
}

static enum nf_status force(struct bench_team *team,
                            const struct bench_request *request)
{
    struct nf_coll_wish wish = { .segments = request->segments,
                                 .params = bench_params(request) };
    char text[96];

    nf_group_unforce(team->work);
    if (request->algorithm == 0)
        return NF_OK;
    wish.algorithm = nf_coll_table[request->algorithm - 1];
    nf_coll_wish_write(&wish, text, sizeof(text));
    return nf_group_force(team->work, text, team->err);
}

enum nf_status bench_define(struct nf_group *group)
{
    int op = NF_OPERATOR_USER;
    enum nf_status status =
        nf_group_define_operator(group, bench_compose, 0, NULL, &op);

    return op == NF_OPERATOR_USER ? status : NF_ERR_RANGE;
}

struct nf_choice_query bench_choice(const struct nf_coll_query *query)
{
    return (struct nf_choice_query){
        .coll = *query,
        .type = query->commutative ? NF_ELEM_FLOAT64 : NF_ELEM_UINT64,
        .op = query->commutative ? (int)NF_SUM : (int)NF_OPERATOR_USER,
    };
}

static enum nf_status set_up(struct bench_team *team,
                             const struct bench_request *request,
                             struct series *s)
{
    s->call = (struct bench_call){
        .op = (enum nf_coll_op)request->op,
        .ranks = team->ranks,
        .rank = nf_group_rank(team->work),
        .bytes = request->bytes,
        .ordered = request->ordered != 0,
    };
    s->send = nf_calloc(1, (size_t)bench_send_bytes(&s->call) + 1);
    /* PVM's library reduces in place */
    s->recv =
        nf_calloc(1, (size_t)(bench_recv_bytes(&s->call) + s->call.bytes + 1));
    s->counts = nf_calloc(team->ranks, sizeof(*s->counts));
    s->us = nf_calloc(BENCH_REPEATS_MAX + 1, sizeof(*s->us));
    if (s->call.rank == 0)
        s->everyone =
            nf_calloc(team->ranks, (BENCH_REPEATS_MAX + 1) * sizeof(double));
    if (s->send == NULL || s->recv == NULL || s->counts == NULL ||
        s->us == NULL || (s->call.rank == 0 && s->everyone == NULL))
        return nf_fail(team->err, NF_ERR_NOMEM, "out of memory");
    bench_counts(&s->call, s->counts);
    s->made = (struct nf_call){
        .kind = (enum nf_call_kind)s->call.op, /* numbered alike */
        .send = s->send,
        .recv = s->recv,
        .count = (size_t)s->call.bytes,
        .type = NF_ELEM_BYTE,
        .op = NF_SUM,
    };
    if (bench_combines(s->call.op)) {
        struct nf_coll_query query = bench_query(
            s->call.op, team->ranks, request->bytes, s->call.ordered);
        struct nf_choice_query choice = bench_choice(&query);

        s->made.type = choice.type;
        s->made.op = choice.op;
        s->made.count = (size_t)query.elements;
    }
    if (s->call.op == NF_COLL_ALLGATHER ||
        s->call.op == NF_COLL_REDUCE_SCATTER) {
        s->made.counts = s->counts;
        s->made.count = s->counts[s->call.rank];
    }
    return s->by_library ? NF_OK : force(team, request);
}

static void take_down(struct series *s)
{
    if (s->by_library)
        bench_library_leave(&s->library);
    nf_free(s->send);
    nf_free(s->recv);
    nf_free(s->counts);
    nf_free(s->us);
    nf_free(s->everyone);
}

static enum nf_status meet(struct bench_team *team)
{
    const struct nf_call barrier = { .kind = NF_CALL_BARRIER };

    return bench_aside(team, &barrier);
}

static enum nf_status library_call(struct bench_team *team, struct series *s)
{
    enum nf_status status =
        bench_library_call(&s->library, &s->call, s->send, s->recv);

    return status == NF_OK
               ? NF_OK
               : nf_fail(team->err, status, "PVM's group library failed");
}

static enum nf_status timed_call(struct bench_team *team, struct series *s,
                                 double *us_p, double *nwrong)
{
    enum nf_status status;
    double start_us;

    bench_show_life(team);
    s->call.seed++;
    bench_fill(&s->call, s->send, s->recv);
    if (s->by_library && s->call.op == NF_COLL_REDUCE)
        memcpy(s->recv, s->send, (size_t)s->call.bytes); /* in place */
    if (s->pause_us > 0)
        nf_sleep_until_us(nf_now_us() + (int64_t)s->pause_us);
    status = meet(team);
    if (s->by_library)
        bench_library_watch(&s->library, true);
    start_us = bench_now_us();
    if (status == NF_OK)
        status = s->by_library ? library_call(team, s)
                               : bench_do(team, team->work, &s->made);
    *us_p = bench_now_us() - start_us;
    if (s->by_library)
        bench_library_watch(&s->library, false);
    if (status == NF_OK)
        status = meet(team);
    if (status == NF_OK && !bench_is_right(&s->call, s->recv))
        *nwrong += 1;
    return status;
}

/* Rank 0 gets the longest time of each repeat, and whether all were right. */
static enum nf_status collect(struct bench_team *team, struct series *s,
                              uint32_t count, struct bench_result *result_p)
{
    const struct nf_call gather = {
        .kind = NF_CALL_GATHER,
        .send = s->us,
        .recv = s->everyone,
        .count = (size_t)count + 1,
        .type = NF_ELEM_FLOAT64,
    };
    enum nf_status status = bench_aside(team, &gather);

    if (status != NF_OK || result_p == NULL)
        return status;
    result_p->count = count;
    for (uint32_t r = 0; r < team->ranks; r++) {
        const double *theirs = s->everyone + r * ((size_t)count + 1);

        for (uint32_t i = 0; i < count; i++)
            result_p->us[i] = fmax(result_p->us[i], theirs[i]);
        result_p->wrong = result_p->wrong || theirs[count] != 0;
    }
    return NF_OK;
}

static void name_algorithm(struct bench_team *team,
                           const struct bench_request *request,
                           struct bench_result *result_p)
{
    const struct nf_coll_query query =
        bench_query((enum nf_coll_op)request->op, team->ranks, request->bytes,
                    request->ordered != 0);
    const struct nf_choice_query asked = bench_choice(&query);
    struct nf_coll_choice choice;

    if (nf_group_choose(team->work, &asked, &choice, NULL) == NF_OK) {
        result_p->algorithm = choice.algorithm;
        result_p->segments = choice.segments;
        result_p->params = choice.params;
    }
}

static enum nf_status run(struct bench_team *team,
                          const struct bench_request *request, struct series *s,
                          struct bench_result *result_p)
{
    uint64_t count;
    double nwrong = 0, trial_us;
    enum nf_status status = set_up(team, request, s);

    if (status == NF_OK && s->by_library) {
        status = bench_library_join(team, request->partner, &s->library);
        s->call.rank = s->library.instance;
    }
    /* routes, plans, buffers: the first call finds them missing */
    for (int i = 0; i < 2 && status == NF_OK; i++)
        status = timed_call(team, s, &trial_us, &nwrong);
    if (status != NF_OK)
        return status;
    count = bench_repeats(request, trial_us);
    status = bench_agree(team, &count);
    for (uint64_t i = 0; i < count && status == NF_OK; i++)
        status = timed_call(team, s, &s->us[i], &nwrong);
    if (status != NF_OK)
        return status;
    s->us[count] = nwrong;
    status = collect(team, s, (uint32_t)count, result_p);
    if (status == NF_OK && result_p != NULL && !s->by_library)
        name_algorithm(team, request, result_p);
    return status;
}

enum nf_status bench_time(struct bench_team *team,
                          const struct bench_request *request,
                          struct bench_result *result_p)
{
    struct series s = { .by_library = request->kind == BENCH_LIBRARY,
                        .pause_us = request->pause_us };
    enum nf_status status = run(team, request, &s, result_p);

    take_down(&s);
    return status;
}
