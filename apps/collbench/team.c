/* Teams: requests, groups, failures. */
#include "config.h"
#include "apps/collbench/team.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "apps/collbench/probe.h"
#include "apps/prefix/member.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/doubles.h"
#include "common/base/error.h"
#include "common/group/group.h"

enum {
    REQUEST_WORDS = sizeof(struct bench_request) / sizeof(uint64_t),
    HEED_STOP_US = 100000,
    SHOW_LIFE_US = 250000,
    /* What rank 0 may do between two calls: fitting models, making data. */
    BETWEEN_CALLS_US = 5000000,
    TEXT_BYTES_MAX = 17 << 20,
};

const struct nf_group_options bench_patient = { .timeout_us = -1,
                                                .algorithms = "bcast.flat",
                                                .network_file = "" };

double bench_now_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return 1e6 * (double)ts.tv_sec + 1e-3 * (double)ts.tv_nsec;
}

uint32_t bench_repeats(const struct bench_request *request, double trial_us)
{
    double fit = (double)request->budget_us / fmax(trial_us, 1);

    if (fit < (double)request->least)
        return (uint32_t)request->least;
    return fit > (double)request->most ? (uint32_t)request->most
                                       : (uint32_t)fit;
}

/* ---- calls ---- */

enum nf_status bench_blame(struct bench_team *team, struct nf_group *group,
                           enum nf_status status)
{
    const struct nf_error *why = nf_group_error(group);

    team->guilty = group;
    return nf_fail(team->err, status, "%s",
                   why->text[0] != '\0' ? why->text : nf_strerror(status));
}

void bench_show_life(struct bench_team *team)
{
    int64_t now_us = nf_now_us();

    if (nf_group_rank(team->all) != team->first ||
        now_us - team->shown_us < SHOW_LIFE_US)
        return;
    team->shown_us = now_us;
    team->all->moves++;
    (void)nf_group_progress(team->all); /* its failures show in a call */
}

/* As nf_request_wait(), which no signal ends. */
static enum nf_status wait_for(struct bench_team *team, struct nf_group *group,
                               struct nf_request *request)
{
    enum nf_status status;

    while (nf_request_test(request) == NF_WAIT) {
        int64_t limit_us = nf_group_deadline_us(group);

        if (group != team->all)
            bench_show_life(team);
        if (team->stop != NULL && *team->stop) {
            nf_request_free(request);
            return nf_fail(team->err, NF_ERR_INTERRUPTED, "interrupted");
        }
        if (limit_us < 0 || limit_us > HEED_STOP_US)
            limit_us = HEED_STOP_US;
        nf_group_sleep(group, limit_us);
    }
    status = nf_request_wait(request);
    return status == NF_OK ? NF_OK : bench_blame(team, group, status);
}

enum nf_status bench_do(struct bench_team *team, struct nf_group *group,
                        const struct nf_call *call)
{
    struct nf_request *request;
    enum nf_status status = nf_group_start(group, call, &request);

    if (status != NF_OK)
        return bench_blame(team, group, status);
    return wait_for(team, group, request);
}

/* From @p root to everybody. */
static enum nf_status bcast_of(struct bench_team *team, uint32_t root,
                               void *buffer, size_t count, int type)
{
    const struct nf_call call = { .kind = NF_CALL_BCAST,
                                  .recv = buffer,
                                  .count = count,
                                  .type = type,
                                  .root = root };

    return bench_do(team, team->all, &call);
}

static enum nf_status bcast(struct bench_team *team, void *buffer, size_t count,
                            int type)
{
    return bcast_of(team, 0, buffer, count, type);
}

enum nf_status bench_aside(struct bench_team *team, const struct nf_call *call)
{
    enum nf_status status;

    team->work->plain = true;
    status = bench_do(team, team->work, call);
    team->work->plain = false;
    return status;
}

enum nf_status bench_agree(struct bench_team *team, uint64_t *number)
{
    const struct nf_call call = { .kind = NF_CALL_BCAST,
                                  .recv = number,
                                  .count = 1,
                                  .type = NF_ELEM_UINT64 };

    return bench_aside(team, &call);
}

/* ---- groups ---- */

static enum nf_status subgroup(struct bench_team *team, const uint32_t *members,
                               uint32_t count, uint64_t id,
                               struct nf_group **group_p)
{
    const struct nf_group_options options = { .timeout_us = team->timeout_us,
                                              .algorithms = "" };
    struct nf_mesh *mesh;
    enum nf_status status =
        nf_mesh_subset(team->all->mesh, members, count, id, &mesh, team->err);

    if (status != NF_OK)
        return status;
    status = nf_group_create(mesh, id, NULL, &options, group_p, team->err);
    if (status != NF_OK)
        nf_mesh_close(mesh);
    return status;
}

static void disband(struct bench_team *team)
{
    nf_group_close(team->work);
    team->work = NULL;
}

/* Prices are rank 0's, as in every group: others might round another way. */
static enum nf_status apply_rules(struct bench_team *team)
{
    struct nf_call prices = { .kind = NF_CALL_BCAST,
                              .count = NF_EXCHANGE_PRICE_WORDS,
                              .type = NF_ELEM_UINT64 };
    enum nf_status status;

    if (team->work == NULL || team->rules == NULL)
        return NF_OK;
    status = nf_group_set_rules(team->work, team->rules, team->rules_bytes,
                                NULL, team->err);
    if (status != NF_OK)
        return status;
    prices.recv = &team->work->exchange;
    status = bench_aside(team, &prices);
    if (status == NF_OK && !nf_exchange_price_is_sane(&team->work->exchange))
        status = nf_fail(team->err, NF_ERR_PROTOCOL,
                         "prices of rank 0 that make no sense");
    return status;
}

/* Members of a team are the first of all. */
static enum nf_status apply_network(struct bench_team *team)
{
    size_t names = (size_t)nf_group_size(team->all) * 64;

    if (team->work == NULL || team->network == NULL || team->partner > 0)
        return NF_OK;
    return nf_group_set_network(team->work, team->network + names,
                                team->network_bytes - names, "the network",
                                (const char(*)[64])team->network, team->err);
}

/* Member @p i of the team among all. */
static uint32_t rank_of(const struct bench_team *team, uint32_t i)
{
    if (team->partner == 0)
        return i;
    return i == 0 ? team->first : team->partner;
}

static enum nf_status form(struct bench_team *team,
                           const struct bench_request *request)
{
    uint32_t rank = nf_group_rank(team->all), count = (uint32_t)request->ranks;
    uint64_t id = team->next_id;
    uint32_t *members;
    bool member = rank < count;
    enum nf_status status = NF_OK;

    disband(team);
    team->next_id++;
    team->partner = (uint32_t)request->partner;
    team->first = team->partner > 0 ? (uint32_t)request->first : 0;
    if (team->partner > 0) {
        count = 2;
        member = rank == team->first || rank == team->partner;
    }
    team->ranks = count;
    if (!member)
        return NF_OK;
    members = nf_calloc(count, sizeof(*members));
    if (members == NULL)
        return nf_fail(team->err, NF_ERR_NOMEM, "out of memory");
    for (uint32_t i = 0; i < count; i++)
        members[i] = rank_of(team, i);
    status = subgroup(team, members, count, id, &team->work);
    if (status == NF_OK && bench_define(team->work) != NF_OK)
        status = bench_blame(team, team->work, NF_ERR_RANGE);
    nf_free(members);
    if (status == NF_OK)
        status = apply_network(team);
    return status == NF_OK ? apply_rules(team) : status;
}

/* A text of rank 0, which replaces *text_p.  @param bytes  0: none */
static enum nf_status take_text(struct bench_team *team, uint64_t bytes,
                                const char *text, char **text_p,
                                size_t *bytes_p)
{
    nf_free(*text_p);
    *text_p = NULL;
    *bytes_p = (size_t)bytes;
    if (bytes > TEXT_BYTES_MAX)
        return nf_fail(team->err, NF_ERR_RANGE, "a file of more than 16 MiB");
    if (bytes == 0)
        return NF_OK;
    *text_p = nf_calloc(1, (size_t)bytes);
    if (*text_p == NULL)
        return nf_fail(team->err, NF_ERR_NOMEM, "out of memory");
    if (text != NULL)
        memcpy(*text_p, text, (size_t)bytes);
    return bcast(team, *text_p, (size_t)bytes, NF_ELEM_BYTE);
}

static enum nf_status take_rules(struct bench_team *team, uint64_t bytes,
                                 const char *text)
{
    enum nf_status status =
        take_text(team, bytes, text, &team->rules, &team->rules_bytes);

    return status == NF_OK ? apply_rules(team) : status;
}

static enum nf_status take_wishes(struct bench_team *team, uint64_t bytes,
                                  const char *text)
{
    char *wishes = NULL;
    size_t length = 0;
    enum nf_status status = take_text(team, bytes, text, &wishes, &length);

    if (status == NF_OK && (length == 0 || wishes[length - 1] != '\0'))
        status =
            nf_fail(team->err, NF_ERR_PROTOCOL, "a text that does not end");
    if (status == NF_OK && team->work != NULL)
        status = nf_group_force(team->work, wishes, team->err);
    nf_free(wishes);
    return status;
}

/* As a group that opens by itself: all plan alike, or none does. */
static enum nf_status compare_doubles(struct bench_team *team)
{
    uint64_t first =
        nf_doubles_are_plain() ? UINT64_MAX : nf_group_rank(team->all);
    const struct nf_call call = { .kind = NF_CALL_ALLREDUCE,
                                  .send = NF_IN_PLACE,
                                  .recv = &first,
                                  .count = 1,
                                  .type = NF_ELEM_UINT64,
                                  .op = NF_MIN };
    enum nf_status status = bench_do(team, team->all, &call);

    if (status == NF_OK && first != UINT64_MAX)
        status =
            nf_fail(team->err, NF_ERR_FAILED,
                    "no broadcasts by a network: the doubles of member %u "
                    "are not like those of others, it could plan otherwise",
                    (unsigned)first);
    return status;
}

static enum nf_status take_network(struct bench_team *team, uint64_t bytes,
                                   const char *text)
{
    enum nf_status status;

    if (bytes <= (uint64_t)nf_group_size(team->all) * 64)
        return nf_fail(team->err, NF_ERR_PROTOCOL, "a network without a model");
    status = take_text(team, bytes, text, &team->network, &team->network_bytes);
    if (status == NF_OK)
        status = compare_doubles(team);
    return status == NF_OK ? apply_network(team) : status;
}

/* ---- requests ---- */

/* The first of the team has the result; rank 0, who wants it, need not be that
 * one. */
static enum nf_status hand_over(struct bench_team *team,
                                struct bench_result *result)
{
    uint64_t count = result->count;
    enum nf_status status =
        bcast_of(team, team->first, &count, 1, NF_ELEM_UINT64);

    if (status == NF_OK && count > BENCH_REPEATS_MAX)
        status =
            nf_fail(team->err, NF_ERR_PROTOCOL,
                    "rank %u has more results than there can be", team->first);
    if (status != NF_OK)
        return status;
    result->count = (uint32_t)count;
    return bcast_of(team, team->first, result->us, (size_t)count,
                    NF_ELEM_FLOAT64);
}

static enum nf_status ping(struct bench_team *team,
                           const struct bench_request *request,
                           struct bench_result *result_p)
{
    bool first = nf_group_rank(team->all) == team->first;
    struct bench_result *result;
    enum nf_status status = NF_OK;

    if (team->first == 0)
        return team->work == NULL ? NF_OK : bench_ping(team, request, result_p);
    result = nf_calloc(1, sizeof(*result));
    if (result == NULL)
        return nf_fail(team->err, NF_ERR_NOMEM, "out of memory");
    if (team->work != NULL)
        status = bench_ping(team, request, first ? result : NULL);
    if (status == NF_OK)
        status = hand_over(team, result);
    if (status == NF_OK && result_p != NULL)
        *result_p = *result;
    nf_free(result);
    return status;
}

static enum nf_status carry_out(struct bench_team *team,
                                const struct bench_request *request,
                                const char *text, struct bench_result *result_p)
{
    switch ((enum bench_kind)request->kind) {
    case BENCH_END:
        return NF_OK;
    case BENCH_TEAM:
        return form(team, request);
    case BENCH_RULES:
        return take_rules(team, request->bytes, text);
    case BENCH_NETWORK:
        return take_network(team, request->bytes, text);
    case BENCH_WISHES:
        return take_wishes(team, request->bytes, text);
    case BENCH_TIME:
    case BENCH_LIBRARY:
        return team->work == NULL ? NF_OK : bench_time(team, request, result_p);
    case BENCH_PING:
    case BENCH_EXCHANGE:
    case BENCH_SENDS:
    case BENCH_STREAM:
        return ping(team, request, result_p);
    case BENCH_PREFIX:
        return team->work == NULL || nf_group_rank(team->all) == 0
                   ? NF_OK
                   : nf_prefix_follow(team->work, team->err);
    case BENCH_PROBE:
        return nf_group_rank(team->all) == 0 ? NF_OK : probe_serve(team);
    }
    return nf_fail(team->err, NF_ERR_PROTOCOL, "a request of unknown kind");
}

enum nf_status bench_direct(struct bench_team *team,
                            const struct bench_request *request,
                            const char *text, struct bench_result *result_p)
{
    struct bench_request copy = *request;
    enum nf_status status = bcast(team, &copy, REQUEST_WORDS, NF_ELEM_UINT64);

    if (result_p != NULL)
        *result_p = (struct bench_result){ .count = 0 };
    return status == NF_OK ? carry_out(team, request, text, result_p) : status;
}

uint32_t bench_guilty_rank(const struct bench_team *team, const char **why_p)
{
    uint32_t rank =
        team->guilty != NULL ? nf_group_blamed(team->guilty) : UINT32_MAX;

    if (rank == UINT32_MAX)
        return rank;
    *why_p = nf_group_why_lost(team->guilty, rank);
    return team->guilty != team->all ? rank_of(team, rank) : rank;
}

/* Who is not in the team, as rank 0 may be, waits in `all` for one that is: it is
 * to hear who is to blame, and not only that this one goes. */
static void pass_on(struct bench_team *team)
{
    const char *why = NULL;
    uint32_t rank = bench_guilty_rank(team, &why);
    char text[80];

    if (rank == UINT32_MAX || team->guilty == team->all)
        return;
    snprintf(text, sizeof(text), "member %u %s", rank, why);
    (void)nf_group_revoke(team->all, nf_group_error(team->guilty)->status,
                          &rank, 1, text);
}

enum nf_status bench_serve(struct bench_team *team)
{
    struct bench_request request = { .kind = BENCH_TEAM };
    enum nf_status status = NF_OK;

    while (status == NF_OK && request.kind != BENCH_END) {
        status = bcast(team, &request, REQUEST_WORDS, NF_ELEM_UINT64);
        if (status == NF_OK)
            status = carry_out(team, &request, NULL, NULL);
    }
    pass_on(team);
    return status;
}

enum nf_status bench_tell_routes(struct nf_group *all, uint64_t *routes_p)
{
    size_t words = bench_route_words(nf_group_size(all));
    uint64_t *mine = nf_calloc(words, sizeof(*mine));
    enum nf_status status;

    if (mine == NULL)
        return NF_ERR_NOMEM;
    for (uint32_t i = 0; i < nf_group_rank(all); i++)
        if (!nf_mesh_is_direct(all->mesh, i))
            mine[i / 64] |= UINT64_C(1) << i % 64;
    status = nf_gather(all, mine, routes_p, words, NF_ELEM_UINT64, 0);
    nf_free(mine);
    return status;
}

void bench_team_init(struct bench_team *team, struct nf_group *all,
                     int64_t timeout_us, const volatile int *stop,
                     struct nf_error *err)
{
    if (all != NULL)
        all->timeout_us = timeout_us + BETWEEN_CALLS_US;
    *team = (struct bench_team){
        .all = all,
        .next_id = 1000,
        .timeout_us = timeout_us,
        .stop = stop,
        .err = err,
    };
}

void bench_team_fini(struct bench_team *team)
{
    disband(team);
    nf_free(team->rules);
    nf_free(team->network);
    team->rules = team->network = NULL;
}
