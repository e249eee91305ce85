#ifndef NF_APPS_COLLBENCH_TEAM_H
#define NF_APPS_COLLBENCH_TEAM_H
/** @file team.h  The members of a benchmark of collective operations.
 *
 *  Everybody is in one group, by which rank 0, the command itself, tells the
 *  others what to do: a request is a broadcast of a few words.  What is
 *  measured runs in a team, some of the members, with a group of its own,
 *  `work`.  The barriers before each call and collecting the times are calls of
 *  that group too, by algorithms of their own: who waits in one for a member
 *  that is still in the call before finds out by the group whom that one waits
 *  for, and so who is to blame.
 *
 *      rank 0                              others
 *      bench_direct(request) --bcast-->    bench_serve(): carry it out, too
 *
 *  A member that fails has its groups say so to everybody; all functions then
 *  fail, and the team is of no use any more. */
#include "apps/collbench/values.h"
#include "common/group/group.h"
#include "nowfarm_group.h"

enum bench_kind {
    BENCH_END,      /**< that was all */
    BENCH_TEAM,     /**< make a team: ranks, first, partner */
    BENCH_RULES,    /**< bytes of a rules table follow; 0: forget it */
    BENCH_NETWORK,  /**< bytes of a network follow: the names of all members'
                         hosts, 64 bytes each, and a model file as text */
    BENCH_WISHES,   /**< bytes of a text follow, as NOWFARM_COLL, its NUL too:
                         the team takes these algorithms */
    BENCH_TIME,     /**< time op: algorithm, segments, bytes, ... */
    BENCH_LIBRARY,  /**< time op of PVM's group library: partner, bytes, ... */
    BENCH_PING,     /**< rounds of a message there and back, team of two */
    BENCH_EXCHANGE, /**< rounds of messages both ways at once */
    BENCH_SENDS,    /**< rounds of 32 small messages, one way: of one, until
                         all are handed over */
    BENCH_STREAM,   /**< the same: of one, until all have come */
    BENCH_PREFIX,   /**< prefix statistics in the team, see prefix/member.h;
                         rank 0 does its part after bench_direct() */
    BENCH_PROBE,    /**< times of messages between any two, see probe.h;
                         likewise */
};

/** What is to be done.  Travels as words, so every field is one. */
struct bench_request {
    uint64_t kind;  /**< enum bench_kind */
    uint64_t ranks; /**< TEAM: the first so many ... */
    uint64_t
        first; /**< ... or, if partner is not 0, this one, which is less, */
    uint64_t partner;   /**< and this one; LIBRARY: id of a group */
    uint64_t op;        /**< TIME: enum nf_coll_op */
    uint64_t algorithm; /**< TIME: 1 + its number in nf_coll_table; 0: auto */
    uint64_t segments;  /**< TIME: 0: the model's */
    /** TIME: see struct nf_coll_params. */
    uint64_t radix, nradices, radices[NF_COLL_SIDES_MAX];
    uint64_t nsides, shape[NF_COLL_SIDES_MAX];
    uint64_t ordered; /**< TIME: != 0: by an operator that does not commute */
    uint64_t bytes;
    /** Timed calls: as many as fit into budget_us, but least..most. */
    uint64_t least, most, budget_us;
    uint64_t pause_us; /**< TIME, LIBRARY: before each of them */
    /** PING, EXCHANGE, SENDS, STREAM: rounds before that do not count, > 0. */
    uint64_t warm;
};
enum { BENCH_REPEATS_MAX = 1000, BENCH_SENDS_AT_ONCE = 32 };

struct bench_team {
    struct nf_group *all;           /**< every member; not owned */
    struct nf_group *work;          /**< NULL: not in the team */
    uint32_t ranks, first, partner; /**< of the team */
    uint64_t next_id;               /**< of groups, equal in all members */
    char *rules;                    /**< a table as text, or NULL */
    size_t rules_bytes;
    char *network; /**< as BENCH_NETWORK has it, or NULL */
    size_t network_bytes;
    int64_t timeout_us; /**< of `work` */
    int64_t shown_us; /**< when the first of the team last looked after `all` */
    const volatile int *stop; /**< become != 0: fail with INTERRUPTED */
    struct nf_error *err;     /**< why the last call failed */
    struct nf_group *guilty;  /**< the group in which it did, or NULL */
};

/** Rank 0's view of BENCH_TIME, PING, EXCHANGE, SENDS, STREAM. */
struct bench_result {
    uint32_t count;
    double us[BENCH_REPEATS_MAX]; /**< TIME: the slowest member's own time;
                                     PING: of a round; SENDS: of one send */
    const struct nf_coll_algorithm *algorithm; /**< TIME: what really ran */
    uint32_t segments;
    struct nf_coll_params params;
    bool wrong; /**< TIME: some member's result was not what it must be */
};

/** What the group of everybody is opened with.  Its members wait for the next
 *  request for as long as rank 0 lives, and for nobody else: if one is lost,
 * all others come to the calls in which that is found out. */
extern const struct nf_group_options bench_patient;
/** @param all  the group of everybody; borrowed
 *  @param stop  may be NULL   @param err  borrowed */
void bench_team_init(struct bench_team *team, struct nf_group *all,
                     int64_t timeout_us, const volatile int *stop,
                     struct nf_error *err);
void bench_team_fini(struct bench_team *team);

/** Have @p request carried out by all.  Called by rank 0 only.
 *  @param text  BENCH_RULES, BENCH_NETWORK, BENCH_WISHES: [request->bytes],
 *  else NULL
 *  @param result_p  filled for kinds that measure; else may be NULL
 *  @retval NF_ERR_DEAD, NF_ERR_TIMEDOUT, NF_ERR_REVOKED, ...  team->err */
enum nf_status bench_direct(struct bench_team *team,
                            const struct bench_request *request,
                            const char *text, struct bench_result *result_p);

/** Carry out requests until BENCH_END (NF_OK) or a failure. */
enum nf_status bench_serve(struct bench_team *team);

/** What a group is asked for a bench_query(): its type and operator are those
 *  that TIME combines with. */
struct nf_choice_query bench_choice(const struct nf_coll_query *query);

/** Which messages go by the pvmds: a bit for each pair of members, in words for
 *  the one of higher rank, the lowest rank being 1 of the first. */
static inline size_t bench_route_words(uint32_t members)
{
    return ((size_t)members + 63) / 64;
}
static inline bool bench_by_daemon(const uint64_t *routes, uint32_t members,
                                   uint32_t a, uint32_t b)
{
    uint32_t low = a < b ? a : b, high = a < b ? b : a;

    return (routes[high * bench_route_words(members) + low / 64] >> low % 64 &
            1) != 0;
}
/** All members of @p all call it, and rank 0 gets to know of each.
 *  @param routes_p  [members * bench_route_words(members)] at rank 0; else not
 *  used   @retval NF_ERR_NOMEM */
enum nf_status bench_tell_routes(struct nf_group *all, uint64_t *routes_p);

/** Who is to blame for a failure?
 *  @param why_p  what was found out of that one, as nf_group_why_lost()
 *  @return its rank among all, or UINT32_MAX: nobody is known to be */
uint32_t bench_guilty_rank(const struct bench_team *team, const char **why_p);

/* time.c */
/** Of @p request, out of and into its words. */
struct nf_coll_params bench_params(const struct bench_request *request);
void bench_set_params(struct bench_request *request,
                      const struct nf_coll_params *params);
/** A new group gets the operator that does not commute; it is the only one of
 *  the group, and so the same everywhere. */
enum nf_status bench_define(struct nf_group *group);
/** One member's part of BENCH_TIME. */
enum nf_status bench_time(struct bench_team *team,
                          const struct bench_request *request,
                          struct bench_result *result_p);
/* ping.c */
enum nf_status bench_ping(struct bench_team *team,
                          const struct bench_request *request,
                          struct bench_result *result_p);
/** Make one call in @p group, so that team->stop is heeded.
 *  @return as nf_request_wait(); team->err is set */
enum nf_status bench_do(struct bench_team *team, struct nf_group *group,
                        const struct nf_call *call);
/** The same in `work`, by the algorithm that a group takes by itself. */
enum nf_status bench_aside(struct bench_team *team, const struct nf_call *call);
/** As bench_do(), for failures of other calls. */
enum nf_status bench_blame(struct bench_team *team, struct nf_group *group,
                           enum nf_status status);
/** Who is not in the team waits in `all`, and asks after a while whether the
 *  first of the team, rank 0 mostly, is still there and gets on: it is, and
 *  does.  To be called now and then by
 *  who is long in something else than bench_do(). */
void bench_show_life(struct bench_team *team);
/** How many calls fit into the budget when one takes @p trial_us.  Pure. */
uint32_t bench_repeats(const struct bench_request *request, double trial_us);
/** Rank 0's number becomes everybody's in the team. */
enum nf_status bench_agree(struct bench_team *team, uint64_t *number);
/** CLOCK_MONOTONIC, with its fractions of a microsecond. */
double bench_now_us(void);
#endif
