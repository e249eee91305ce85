/* Members that end or fall silent in the middle of calls: nobody hangs, the
 * right one is named, the group is given up, and shrink makes a new one. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/log.h"
#include "tests/unit/group_sim.h"
#include "tests/unit/nf_unit.h"

/* Most scenes have RANKS members, and none more. */
enum { RANKS = 5, TIMEOUT_US = 2000000, SECOND_US = 1000000 };

struct scene {
    struct group_sim sim;
    struct round rounds[RANKS];
    uint32_t victim;
    const char *algorithm; /* that calls must be made by; NULL: any */
    char what[160];
    unsigned bad;
};

static void complain(struct scene *scene, const char *why, uint32_t rank)
{
    if (scene->bad++ < 3)
        printf("%s: %s (rank %u: %s)\n", scene->what, why, rank,
               scene->sim.groups[rank] != NULL
                   ? nf_group_error(scene->sim.groups[rank])->text
                   : "");
}

/* What cannot serve is dropped by start_somehow(). */
static void check_algorithm(struct scene *scene, uint32_t rank)
{
    const struct nf_request *request = scene->sim.requests[rank];
    size_t length = scene->algorithm != NULL ? strlen(scene->algorithm) : 0;
    const char *made_by;

    if (length == 0 || request == NULL)
        return;
    made_by = nf_request_algorithm(request);
    if (strncmp(made_by, scene->algorithm, length) != 0 ||
        (made_by[length] != '\0' && made_by[length] != ':'))
        complain(scene, made_by, rank);
}

/* Everybody that lives makes a call of that kind. */
static void call_all(struct scene *scene, enum nf_call_kind kind,
                     uint64_t number, size_t count)
{
    for (uint32_t r = 0; r < scene->sim.ranks; r++) {
        if (!sim_runs(&scene->sim, r))
            continue;
        round_fini(&scene->rounds[r]);
        round_make_kind(&scene->rounds[r], r, scene->sim.ranks, number, kind,
                        count);
        sim_start(&scene->sim, r, &scene->rounds[r].call);
        check_algorithm(scene, r);
    }
    if (!sim_run(&scene->sim))
        complain(scene, "hangs", 0);
}

static void check_statuses(struct scene *scene, int64_t since_us)
{
    bool any_left = scene->sim.world.dead[scene->victim] ||
                    scene->sim.frozen[scene->victim];

    for (uint32_t r = 0; r < scene->sim.ranks; r++) {
        enum nf_status status = scene->sim.statuses[r];

        if (!sim_runs(&scene->sim, r))
            continue;
        if (scene->sim.ended_us[r] > since_us + TIMEOUT_US + SECOND_US)
            complain(scene, "too late", r);
        if (status == NF_OK && !round_is_right(&scene->rounds[r]))
            complain(scene, "success with a wrong result", r);
        if (!round_keeps_input(&scene->rounds[r]))
            complain(scene, "the input is changed", r);
        if (status == NF_OK)
            continue;
        if (!any_left)
            complain(scene, "fails though all live", r);
        if (status != NF_ERR_DEAD && status != NF_ERR_TIMEDOUT &&
            status != NF_ERR_REVOKED)
            complain(scene, nf_strerror(status), r);
        for (uint32_t other = 0; other < scene->sim.ranks; other++)
            if ((scene->sim.groups[r]->lost[other] != 0) !=
                (other == scene->victim))
                complain(scene, "the wrong member is named", r);
    }
}

static void check_revoked(struct scene *scene)
{
    int64_t since_us = scene->sim.world.now_us;

    /* whoever had all it needed hears of it now */
    call_all(scene, NF_CALL_BARRIER, 0, 0);
    check_statuses(scene, since_us);
    for (uint32_t r = 0; r < scene->sim.ranks; r++)
        if (sim_runs(&scene->sim, r) && scene->sim.statuses[r] == NF_OK)
            complain(scene, "a barrier without a member", r);
    call_all(scene, NF_CALL_BARRIER, 0, 0);
    for (uint32_t r = 0; r < scene->sim.ranks; r++)
        if (sim_runs(&scene->sim, r) &&
            scene->sim.statuses[r] != NF_ERR_REVOKED)
            complain(scene, "not revoked", r);
}

/* @param expected  survivors */
static void check_shrunk(struct scene *scene, uint32_t expected)
{
    enum nf_status results[RANKS];
    struct group_sim *sim = &scene->sim;

    if (!sim_shrink(sim, results))
        complain(scene, "shrink hangs", 0);
    for (uint32_t r = 0; r < scene->sim.ranks; r++) {
        if (!sim_runs(sim, r))
            continue;
        if (results[r] != NF_OK || sim->groups[r]->ranks != expected) {
            complain(scene, "no good group of the survivors", r);
            return;
        }
    }
    for (uint32_t r = 0; r < scene->sim.ranks; r++) {
        if (!sim_runs(sim, r))
            continue;
        round_fini(&scene->rounds[r]);
        round_make_kind(&scene->rounds[r], sim->groups[r]->rank, expected, 8,
                        NF_CALL_ALLREDUCE, 50);
        sim_start(sim, r, &scene->rounds[r].call);
    }
    if (!sim_run(sim))
        complain(scene, "the new group hangs", 0);
    for (uint32_t r = 0; r < scene->sim.ranks; r++)
        if (sim_runs(sim, r) &&
            (sim->statuses[r] != NF_OK || !round_is_right(&scene->rounds[r])))
            complain(scene, "the new group computes wrongly", r);
}

static bool begin_with(struct scene *scene, uint32_t ranks,
                       const char *algorithm, uint64_t seed)
{
    const struct nf_group_options options = { .timeout_us = TIMEOUT_US,
                                              .algorithms = algorithm };

    memset(scene, 0, sizeof(*scene));
    for (uint32_t r = 0; r < ranks; r++)
        round_make_kind(&scene->rounds[r], r, ranks, 0, NF_CALL_BARRIER, 0);
    return sim_open(&scene->sim, ranks, seed, &options);
}

static bool begin(struct scene *scene, const char *algorithm, uint64_t seed)
{
    return begin_with(scene, RANKS, algorithm, seed);
}

static void end(struct scene *scene)
{
    for (uint32_t r = 0; r < scene->sim.ranks; r++)
        round_fini(&scene->rounds[r]);
    sim_close(&scene->sim);
}

enum death { AT_A_SEND, AT_A_RECEIPT };

/* Calls that differ in what round_make_kind() takes from their number. */
struct calls {
    uint64_t ordered;   /* with an operator that does not commute */
    uint64_t commuting; /* for algorithms that want it */
    size_t count;
    bool unequal;    /* blocks, if the operation may have such */
    bool some_empty; /* of them */
};
static const struct calls all_calls[] = {
    { 4, 7, 40, false, false },
    { 10, 11, 40, false, false }, /* in place */
    { 12, 9, 39, true, false },
    { 6, 15, 40, true, true }, /* in place */
};

/* How members die. */
struct sweep {
    uint32_t ranks;
    const struct calls *calls;
    enum death death;
    bool mutely; /* nobody is told */
    int moves;   /* messages that the victim was to send, or get */
    unsigned bad;
};

static void set_death(struct scene *scene, const struct sweep *sweep,
                      uint32_t victim, int at)
{
    struct fake_world *world = &scene->sim.world;

    scene->victim = victim;
    world->kill_member = victim;
    world->kill_hears = sweep->death == AT_A_RECEIPT;
    world->kill_at = (uint64_t)(at < 0 ? 0 : at);
    world->kill_mutely = sweep->mutely;
    if (at < 0)
        fake_kill(world, victim);
}

/* The messages that the victim sends, or gets, when all live. */
static int moves_of(const struct scene *scene, enum death death,
                    const struct nf_coll_algorithm *algorithm, uint64_t number)
{
    const bool has_root =
        algorithm->op == NF_COLL_BCAST || algorithm->op == NF_COLL_REDUCE ||
        algorithm->op == NF_COLL_GATHER || algorithm->op == NF_COLL_SCATTER;
    const struct nf_coll_args args = {
        .ranks = scene->sim.ranks,
        .root = has_root ? (uint32_t)(number % scene->sim.ranks) : 0,
        .segments = algorithm->items == NF_ITEMS_SEGMENTS ? 3 : 1,
        .hosts = scene->sim.groups[0]->hosts,
    };
    struct nf_schedule schedule;
    int moves = 0;

    if (nf_coll_make(algorithm, &args, scene->victim, &schedule, NULL) != NF_OK)
        moves = -1;
    for (size_t i = 0; i < schedule.count && moves >= 0; i++)
        moves +=
            scene->victim == (death == AT_A_SEND ? schedule.messages[i].src
                                                 : schedule.messages[i].dst);
    nf_schedule_fini(&schedule);
    return moves;
}

/* The victim ends when it sends, or gets, its at-th message; at < 0: before the
 * call.  @return whether it came to that */
static bool kill_at(struct sweep *sweep,
                    const struct nf_coll_algorithm *algorithm, uint32_t victim,
                    int at)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    enum nf_call_kind kind = (enum nf_call_kind)algorithm->op;
    uint64_t number = algorithm->order == NF_ORDER_RANKS
                          ? sweep->calls->ordered
                          : sweep->calls->commuting;
    char forced[80];
    bool killed;

    snprintf(forced, sizeof(forced), "%s%s", algorithm->name,
             algorithm->items == NF_ITEMS_SEGMENTS ? ":k=3" : "");
    if (!begin_with(scene, sweep->ranks, forced,
                    victim * 100 + (uint64_t)(at + 1))) {
        sweep->bad++;
        free(scene);
        return false;
    }
    snprintf(scene->what, sizeof(scene->what),
             "%s P %u call %u victim %u at %s %d%s", forced, sweep->ranks,
             (unsigned)number, victim,
             sweep->death == AT_A_SEND ? "send" : "receipt", at,
             sweep->mutely ? " mutely" : "");
    set_death(scene, sweep, victim, at);
    sweep->moves = moves_of(scene, sweep->death, algorithm, number);
    scene->algorithm = algorithm->name;
    call_all(scene, kind, number, sweep->calls->count);
    scene->algorithm = NULL;
    killed = scene->sim.world.dead[victim];
    if (killed) {
        check_statuses(scene, scene->sim.world.dead_us[victim]);
        check_revoked(scene);
        check_shrunk(scene, sweep->ranks - 1);
    }
    sweep->bad += scene->bad;
    end(scene);
    free(scene);
    return killed;
}

/* Was the victim killed as often as the schedule has messages of it?  The sizes
 * of blocks are messages more, and messages of empty blocks are not sent. */
static bool is_swept(const struct sweep *sweep,
                     const struct nf_coll_algorithm *algorithm, int kills)
{
    bool unequal =
        sweep->calls->unequal &&
        (algorithm->op == NF_COLL_GATHER || algorithm->op == NF_COLL_SCATTER ||
         algorithm->op == NF_COLL_ALLGATHER ||
         algorithm->op == NF_COLL_ALLTOALL);

    if (!unequal)
        return kills == sweep->moves;
    return kills >= sweep->moves ||
           (sweep->calls->some_empty && algorithm->op == NF_COLL_ALLTOALL);
}

/* Each member at each of its sends and receipts, in every algorithm that there
 * is for so many. */
static void kill_everywhere(struct sweep *sweep)
{
    const struct nf_coll_args args = { .ranks = sweep->ranks, .segments = 1 };

    for (size_t i = 0; nf_coll_table[i] != NULL; i++) {
        if (nf_coll_fits(nf_coll_table[i], &args, NULL) != NF_OK)
            continue;
        for (uint32_t victim = 0; victim < sweep->ranks; victim++) {
            int at = sweep->death == AT_A_SEND ? -1 : 0;

            while (at < 40 && kill_at(sweep, nf_coll_table[i], victim, at))
                at++;
            if (is_swept(sweep, nf_coll_table[i], at))
                continue;
            printf("%s P %u call %u victim %u: killed at %d of %d messages\n",
                   nf_coll_table[i]->name, sweep->ranks,
                   (unsigned)sweep->calls->ordered, victim, at, sweep->moves);
            sweep->bad++;
        }
    }
}

/* With 4 members there are algorithms for 2^n only, too, which is what groups
 * shrunk to 3 say. */
static void kill_all(bool mutely)
{
    nf_log_set_level(NF_LOG_ERROR);
    for (size_t c = 0; c < sizeof(all_calls) / sizeof(*all_calls); c++)
        for (uint32_t ranks = 4; ranks <= RANKS; ranks++)
            for (int death = AT_A_SEND; death <= AT_A_RECEIPT; death++) {
                struct sweep sweep = { .ranks = ranks,
                                       .calls = &all_calls[c],
                                       .death = (enum death)death,
                                       .mutely = mutely };

                kill_everywhere(&sweep);
                CU_ASSERT_EQUAL(sweep.bad, 0);
            }
}

static void a_member_killed_at_any_step_is_named(void)
{
    kill_all(false);
}

static void a_member_silent_from_any_step_is_named(void)
{
    kill_all(true);
}

/* The member that would tell the others is busy, and no time-out is set: who
 * waits for the dead one looks after it. */
static void kill_untold(const char *algorithm, enum nf_call_kind kind,
                        uint32_t victim, int64_t timeout_us)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    int64_t since_us;

    CU_ASSERT(begin(scene, algorithm, victim));
    snprintf(scene->what, sizeof(scene->what), "%s, untold of %u", algorithm,
             victim);
    scene->victim = victim;
    for (uint32_t r = 0; r < RANKS; r++) {
        scene->sim.groups[r]->mesh->partial = true;
        scene->sim.groups[r]->timeout_us = timeout_us;
    }
    scene->sim.world.kill_mutely = true;
    fake_kill(&scene->sim.world, victim);
    since_us = scene->sim.world.now_us;
    call_all(scene, kind, 7, 40);
    call_all(scene, NF_CALL_BARRIER, 0, 0); /* some had all that they needed */
    check_statuses(scene, since_us - SECOND_US); /* not by the time-out */
    for (uint32_t r = 0; r < RANKS; r++)
        CU_ASSERT(r == victim || scene->sim.statuses[r] == NF_ERR_DEAD ||
                  scene->sim.statuses[r] == NF_ERR_REVOKED);
    check_shrunk(scene, RANKS - 1);
    CU_ASSERT_EQUAL(scene->bad, 0);
    end(scene);
    free(scene);
}

static void who_waits_looks_after_a_member(void)
{
    for (uint32_t victim = 0; victim < RANKS; victim++)
        for (int limited = 0; limited < 2; limited++) {
            int64_t timeout_us = limited ? TIMEOUT_US : -1;

            kill_untold("allreduce.ring", NF_CALL_ALLREDUCE, victim,
                        timeout_us);
            kill_untold("bcast.binomial", NF_CALL_BCAST, victim, timeout_us);
            kill_untold("gather.linear", NF_CALL_GATHER, victim, timeout_us);
        }
}

/* It lives, but does not come; later it finds itself left out. */
static void a_member_that_does_not_come_is_left_out(void)
{
    for (uint32_t victim = 0; victim < RANKS; victim++) {
        struct scene *scene = calloc(1, sizeof(*scene));
        enum nf_status results[RANKS];

        CU_ASSERT(begin(scene, "allreduce.ring", victim));
        snprintf(scene->what, sizeof(scene->what), "frozen %u", victim);
        scene->victim = victim;
        scene->sim.frozen[victim] = true;
        call_all(scene, NF_CALL_ALLREDUCE, 7, 40);
        check_statuses(scene, 1000);
        check_revoked(scene);
        scene->sim.frozen[victim] = false; /* too late */
        sim_start(&scene->sim, victim, &scene->rounds[victim].call);
        CU_ASSERT(scene->sim.statuses[victim] < 0);
        CU_ASSERT(sim_shrink(&scene->sim, results));
        for (uint32_t r = 0; r < RANKS; r++)
            CU_ASSERT_EQUAL(results[r], r == victim ? NF_ERR_DEAD : NF_OK);
        CU_ASSERT_EQUAL(scene->bad, 0);
        end(scene);
        free(scene);
    }
}

/* More members end while the survivors agree. */
static void members_may_end_during_shrink(void)
{
    for (uint64_t at = 0; at < 60; at++)
        for (int mutely = 0; mutely < 2; mutely++) {
            struct scene *scene = calloc(1, sizeof(*scene));
            enum nf_status results[RANKS];
            uint32_t second = (uint32_t)(at % 4), size = 0;

            CU_ASSERT(begin(scene, "allreduce.ring", at));
            scene->victim = 4;
            fake_kill(&scene->sim.world, 4);
            call_all(scene, NF_CALL_ALLREDUCE, 7, 40);
            scene->sim.world.kill_member = second;
            scene->sim.world.kill_count = 0;
            scene->sim.world.kill_at = at / 4;
            scene->sim.world.kill_mutely = mutely != 0;
            CU_ASSERT(sim_shrink(&scene->sim, results));
            for (uint32_t r = 0; r < RANKS; r++) {
                if (!sim_runs(&scene->sim, r))
                    continue;
                CU_ASSERT_EQUAL(results[r], NF_OK);
                if (results[r] != NF_OK)
                    continue;
                if (size == 0)
                    size = scene->sim.groups[r]->ranks;
                CU_ASSERT_EQUAL(scene->sim.groups[r]->ranks, size);
            }
            CU_ASSERT(size == 4 || size == 3);
            CU_ASSERT_EQUAL(scene->bad, 0);
            end(scene);
            free(scene);
        }
}

/* A call in which memory runs out at any moment ends everywhere. */
static void without_memory_nobody_hangs(void)
{
    static const enum nf_call_kind kinds[] = { NF_CALL_ALLREDUCE, NF_CALL_BCAST,
                                               NF_CALL_SCAN, NF_CALL_EXSCAN,
                                               NF_CALL_ALLGATHER };

    for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
        unsigned failures = 0;

        for (long successes = 0; successes < 400; successes++) {
            struct scene *scene = calloc(1, sizeof(*scene));
            bool failed = false;

            CU_ASSERT(begin(scene, "", 5));
            for (uint32_t r = 0; r < RANKS; r++) {
                round_fini(&scene->rounds[r]);
                round_make_kind(&scene->rounds[r], r, RANKS, 6, kinds[k], 300);
            }
            nf_alloc_fail_after(successes);
            for (uint32_t r = 0; r < RANKS; r++)
                sim_start(&scene->sim, r, &scene->rounds[r].call);
            CU_ASSERT(sim_run(&scene->sim));
            nf_alloc_fail_after(-1);
            for (uint32_t r = 0; r < RANKS; r++) {
                failed = failed || scene->sim.statuses[r] != NF_OK;
                if (scene->sim.statuses[r] == NF_OK)
                    CU_ASSERT(round_is_right(&scene->rounds[r]));
            }
            failures += failed;
            end(scene);
            free(scene);
            if (!failed)
                break;
        }
        CU_ASSERT(failures > 10 && failures < 400);
    }
}

/* A death is told though data of another member move on for long after it. */
static void a_death_is_told_while_others_send(void)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    struct group_sim *sim = &scene->sim;

    CU_ASSERT_FATAL(begin_with(scene, 3, "gather.linear_nb", 1));
    snprintf(scene->what, sizeof(scene->what), "a death while others send");
    scene->victim = 2;
    sim->world.byte_ns = 200000; /* the call takes 12 s */
    for (uint32_t r = 0; r < 3; r++) {
        round_fini(&scene->rounds[r]);
        round_make_kind(&scene->rounds[r], r, 3, 7, NF_CALL_GATHER, 4000);
        sim_start(sim, r, &scene->rounds[r].call);
    }
    sim->world.now_us += SECOND_US;
    fake_kill(&sim->world, 2);
    CU_ASSERT(sim_run(sim));
    CU_ASSERT_EQUAL(sim->statuses[1], NF_ERR_DEAD);
    CU_ASSERT(sim->ended_us[1] < sim->world.dead_us[2] + SECOND_US * 5 / 4);
    check_statuses(scene, sim->world.dead_us[2]);
    CU_ASSERT_EQUAL(scene->bad, 0);
    end(scene);
    free(scene);
}

/* What nobody takes from a mesh keeps who sleeps on it awake. */
static void a_group_given_up_takes_what_comes(void)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    struct nf_mesh_event event;

    CU_ASSERT_FATAL(begin(scene, "bcast.flat", 1));
    scene->victim = 4;
    fake_kill(&scene->sim.world, 4);
    call_all(scene, NF_CALL_BARRIER, 0, 0);
    CU_ASSERT_EQUAL(scene->sim.statuses[0], NF_ERR_DEAD);
    fake_kill(&scene->sim.world, 3);
    scene->sim.world.now_us += SECOND_US;
    CU_ASSERT_EQUAL(nf_group_progress(scene->sim.groups[0]), NF_ERR_REVOKED);
    CU_ASSERT_EQUAL(nf_mesh_next(scene->sim.groups[0]->mesh, &event), NF_WAIT);
    CU_ASSERT(!nf_group_is_lost(scene->sim.groups[0], 3));
    end(scene);
    free(scene);
}

int main(void)
{
    CU_TestInfo failures[] = {
        { "a member killed at any step is named",
          a_member_killed_at_any_step_is_named },
        { "a member silent from any step is named",
          a_member_silent_from_any_step_is_named },
        { "who waits looks after a member of whom nobody tells",
          who_waits_looks_after_a_member },
        { "a member that does not come is left out",
          a_member_that_does_not_come_is_left_out },
        { "a death is told while others send",
          a_death_is_told_while_others_send },
        { "a group given up takes what comes",
          a_group_given_up_takes_what_comes },
        { "members may end during shrink", members_may_end_during_shrink },
        { "without memory nobody hangs", without_memory_nobody_hangs },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "failures", NULL, NULL, NULL, NULL, failures },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
