/* What messages take, as far as traces of jobs in known worlds show it; and
 * that no verdict hangs on what they do not show. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/replay.h"
#include "tests/unit/nf_tmpdir.h"
#include "tests/unit/nf_unit.h"
#include "tests/unit/replay_fixture.h"
#include "tests/unit/sim_trace.h"

static const char equal[] =
    "{\"units\":400, \"cost\":20000, \"slaves\":4, \"prop\":300,"
    " \"o_send\":20, \"o_recv\":20, \"net\":\"links\"}";
static const char unequal[] =
    "{\"units\":400, \"cost\":20000, \"slaves\":4,"
    " \"speed\":[1, 1, \"1/2\", \"1/4\"], \"prop\":700, \"ts\":[100, 0],"
    " \"tr\":[100, 0], \"o_send\":150, \"o_recv\":40, \"net\":\"links\"}";
/* The master has to do 1.6 ms for each 3 ms of the slots. */
static const char loaded[] =
    "{\"units\":1000, \"cost\":1000, \"slaves\":8, \"prop\":500,"
    " \"o_send\":100, \"o_recv\":100, \"net\":\"links\"}";
/* It can't keep up with policies of many messages. */
static const char saturated[] =
    "{\"units\":1000, \"cost\":1000, \"slaves\":8, \"prop\":500,"
    " \"speed\":[\"1/4\", 1, \"1/2\", \"1/4\", 1, 1, \"1/4\", \"1/2\"],"
    " \"o_send\":10, \"o_recv\":500, \"net\":\"links\"}";
static const char far_slots[] =
    "{\"units\":400, \"cost\":20000, \"slaves\":4, \"prop\":300,"
    " \"ts\":[[0, 0], [4000, 0], [0, 0], [9000, 0]],"
    " \"tr\":[[0, 0], [4000, 0], [0, 0], [9000, 0]],"
    " \"o_send\":20, \"o_recv\":20, \"net\":\"links\"}";

static const char *const others[] = {
    "send",       "auto",           "gss",   "fac2",   "send:g=5",
    "window:w=2", "presend:td=1ms", "awf-b", "static",
};
enum { OTHERS = sizeof(others) / sizeof(others[0]) };

/* Leave the first @p percent of its lines. */
static void cut_trace(const char *path, long percent)
{
    FILE *file = fopen(path, "r+");
    long lines = 0, bytes = 0;
    int c;

    if (file == NULL)
        abort();
    while ((c = getc(file)) != EOF)
        lines += c == '\n';
    rewind(file);
    for (lines = lines * percent / 100; lines > 0 && (c = getc(file)) != EOF;
         bytes++)
        lines -= c == '\n';
    if (fflush(file) != 0 || truncate(path, bytes) != 0)
        abort();
    fclose(file);
}

struct outcome {
    int right; /* told to be worse, and are */
    int wrong; /* ... and are not, or not nearly by so much */
    struct replay replay;
};

/* Replay f, a trace of @p used in @p platform, under the first @p count of the
 * other policies. */
static struct outcome judge(struct fixture *f, const char *platform,
                            const char *used, int count)
{
    struct outcome o = { .replay = { .runs = 5, .seed = 1 } };
    struct nf_error err = { .text = "" };
    double best_us;

    CU_ASSERT_EQUAL_FATAL(replay_add(&o.replay, used, true, &err), NF_OK);
    for (int i = 0; i < count; i++)
        CU_ASSERT_EQUAL(replay_add(&o.replay, others[i], false, &err), NF_OK);
    CU_ASSERT_EQUAL_FATAL(replay_run(&o.replay, &f->m, &f->world, &err), NF_OK);
    best_us = (double)sim_makespan_us(platform,
                                      o.replay.list[o.replay.best].policy.spec);
    for (uint32_t i = 0; i < o.replay.count; i++) {
        const struct candidate *c = &o.replay.list[i];
        double ratio;
        bool wrong;

        if (c->verdict != VERDICT_WORSE)
            continue;
        ratio = (double)sim_makespan_us(platform, c->policy.spec) / best_us;
        wrong = ratio < 0.985 || (ratio < 1.02 && c->ratio_low > 1.1);
        o.right += ratio > 1.02;
        o.wrong += wrong;
        if (wrong)
            fprintf(stderr, "after %s: %s told worse than %s by %g, is %g\n",
                    used, c->policy.spec,
                    o.replay.list[o.replay.best].policy.spec, c->ratio_low,
                    ratio);
    }
    return o;
}

/* The time of the policy used must come out, also if the trace does not show
 * all of it.
 * @param percent  of the trace; 100: complete
 *  @param right   so many policies at least must be told to be worse */
static void expect(const char *platform, const char *used, long percent,
                   int right)
{
    struct fixture f;
    struct outcome o;

    sim_trace_write(platform, used, nf_tmp("sound"));
    if (percent < 100)
        cut_trace(nf_tmp("sound"), percent);
    open_trace(&f, nf_tmp("sound"));
    o = judge(&f, platform, used, OTHERS);
    CU_ASSERT_EQUAL(o.wrong, 0);
    CU_ASSERT_TRUE(o.right >= right);
    if (o.right < right)
        fprintf(stderr, "after %s: %d told worse\n", used, o.right);
    CU_ASSERT_EQUAL(o.replay.error_known, percent == 100);
    if (percent == 100)
        CU_ASSERT_TRUE(fabs(o.replay.error) < 0.02);
    CU_ASSERT_TRUE(near(o.replay.list[0].point_us,
                        (double)sim_makespan_us(platform, used), 0.02));
    replay_fini(&o.replay);
    close_trace(&f);
}

/* Long chunks are sent early, and their results wait for the master. */
static void a_sleep_is_no_cost_of_units(void)
{
    static const char *const specs[] = { "fac2+round:td=300ms",
                                         "tss+round:td=1s",
                                         "gss+round:td=100ms" };
    struct fixture f;

    for (int i = 0; i < 3; i++) {
        expect(equal, specs[i], 100, 0);
        expect(unequal, specs[i], 100, 1);
        expect(equal, specs[i], 90, 0);
        sim_trace_write(equal, specs[i], nf_tmp("slept"));
        open_trace(&f, nf_tmp("slept"));
        CU_ASSERT_TRUE(f.m.ways_known);
        CU_ASSERT_TRUE(near(f.m.messages[0].way_us, 2 * 300 + 20, 0.05));
        CU_ASSERT_TRUE(f.m.messages[0].way_unit_us <= 0);
        close_trace(&f);
    }
}

/* If td is longer than a unit, a way looks as long as the rest of td until the
 * last round. */
static void a_killed_trace_of_a_master_that_slept_does_not_show_ways(void)
{
    static const char *const specs[] = { "presend-round:td=50ms",
                                         "presend-round:td=100ms" };

    for (int i = 0; i < 2; i++) {
        struct fixture f;
        double least_us = INFINITY;

        sim_trace_write(equal, specs[i], nf_tmp("killed"));
        cut_trace(nf_tmp("killed"), 50);
        open_trace(&f, nf_tmp("killed"));
        CU_ASSERT_FALSE(f.m.ways_known);
        CU_ASSERT_TRUE(f.m.messages[0].way_us > 25000);
        for (uint32_t k = 0; k < f.m.nmessages; k++)
            least_us = fmin(least_us, f.m.messages[k].way_us);
        CU_ASSERT_TRUE(least_us <= 0);
        close_trace(&f);
        expect(equal, specs[i], 50, 0);
        expect(unequal, specs[i], 50, 1);
    }
}

static void a_complete_trace_of_a_master_that_slept_shows_ways(void)
{
    struct fixture f;

    sim_trace_write(equal, "presend-round:td=50ms", nf_tmp("whole"));
    open_trace(&f, nf_tmp("whole"));
    CU_ASSERT_TRUE(f.m.ways_known);
    CU_ASSERT_TRUE(near(f.m.messages[0].way_us, 2 * 300 + 20, 0.1));
    close_trace(&f);
    expect(equal, "presend-round:td=50ms", 100, 1);
    expect(unequal, "presend-round:td=50ms", 100, 3);
    expect(unequal, "presend-round:td=10ms", 100, 3);
}

/* Each slot has a chunk of the last round, whose result meets a master that is
 * awake; of a killed trace all that is told is that no way is longer. */
static void the_last_round_shows_the_ways_of_slots(void)
{
    static const double ways_us[] = { 0, 8000, 0, 18000 };
    struct fixture f;

    for (int killed = 0; killed < 2; killed++) {
        double most_us = 0, spread_us = 0;

        sim_trace_write(far_slots, "presend-round:td=50ms", nf_tmp("far"));
        if (killed)
            cut_trace(nf_tmp("far"), 60);
        open_trace(&f, nf_tmp("far"));
        CU_ASSERT_EQUAL(f.m.ways_known, !killed);
        for (int s = 0; s < 4; s++) {
            const struct messages *first = &f.m.messages[0];

            if (!killed)
                CU_ASSERT_TRUE(fabs(first->way_us + first->extra_us[s] - 620 -
                                    ways_us[s]) < 100);
            spread_us = fmax(spread_us, first->extra_us[s]);
        }
        for (uint32_t k = 0; k < f.m.nmessages; k++)
            most_us = fmax(most_us, f.m.messages[k].way_us);
        if (killed) {
            CU_ASSERT_TRUE(spread_us <= 0);
            CU_ASSERT_TRUE(most_us > 18000 + 600);
        }
        close_trace(&f);
        expect(far_slots, "presend-round:td=50ms", killed ? 60 : 100, 0);
    }
}

static double most_recv_us(const struct replay_model *m)
{
    double most_us = 0;

    for (uint32_t k = 0; k < m->nmessages; k++)
        most_us = fmax(most_us, m->messages[k].recv_us);
    return most_us;
}

/* One that sends by the clock has time for results that one which sends at once
 * may lack. */
static void a_master_by_the_clock_does_not_show_what_results_cost(void)
{
    static const char *const specs[] = { "presend:td=3ms", "presend:td=2ms",
                                         "gss+timer:td=3ms",
                                         "presend-round:td=2ms" };

    for (int i = 0; i < 4; i++)
        for (int live = 0; live < 2; live++) {
            struct fixture f;
            struct outcome o;

            if (live)
                sim_trace_write_live(loaded, specs[i], nf_tmp("clock"));
            else
                sim_trace_write(loaded, specs[i], nf_tmp("clock"));
            open_trace(&f, nf_tmp("clock"));
            CU_ASSERT_TRUE(f.m.by_clock);
            CU_ASSERT_FALSE(f.m.recv_known);
            CU_ASSERT_TRUE(most_recv_us(&f.m) >= 100);
            /* the best is one of many messages if `static` is not there */
            o = judge(&f, loaded, specs[i], OTHERS - 1);
            CU_ASSERT_EQUAL(o.wrong, 0);
            CU_ASSERT_TRUE(o.replay.least_factor >= 1.05);
            replay_fini(&o.replay);
            close_trace(&f);
        }
}

/* Where results have their times after the work for them, as in simulations,
 * that looks like ways; and so does waiting for a master that is saturated. */
static void work_for_results_is_not_taken_for_ways(void)
{
    static const char *const specs[] = { "send", "auto", "gss", "window:w=2" };

    for (int i = 0; i < 4; i++) {
        expect(saturated, specs[i], 100, 1);
        expect(loaded, specs[i], 100, 1);
    }
}

/* A result costs more than the shortest way. */
static void a_master_that_sends_at_once_shows_what_results_cost(void)
{
    static const char *const specs[] = { "send", "gss", "auto" };

    for (int i = 0; i < 3; i++) {
        struct fixture f;
        struct outcome o;
        const struct messages *likely;

        sim_trace_write_live(saturated, specs[i], nf_tmp("at-once"));
        open_trace(&f, nf_tmp("at-once"));
        CU_ASSERT_TRUE(f.m.recv_known && f.m.ways_known);
        CU_ASSERT_TRUE(near(f.m.messages[0].recv_us, 500, 0.03));
        o = judge(&f, saturated, specs[i], OTHERS);
        likely = &f.m.messages[o.replay.worlds[0]];
        CU_ASSERT_TRUE(near(likely->recv_us, 500, 0.03));
        CU_ASSERT_EQUAL(o.wrong, 0);
        CU_ASSERT_TRUE(o.right >= 3);
        CU_ASSERT_TRUE(fabs(o.replay.error) < 0.05);
        replay_fini(&o.replay);
        close_trace(&f);
    }
}

/* One of another version may have slept. */
static void of_an_unknown_policy_nothing_is_known(void)
{
    static const char text[] =
        "{\"nowfarm_trace\":1,\"version\":\"1\",\"app\":\"a\",\"units\":9,"
        "\"policy\":\"nonsense\",\"transport\":\"pvm\","
        "\"clock\":\"monotonic\"}\n"
        "{\"t\":5,\"ev\":\"join\",\"slave\":0,\"host\":\"h\",\"slots\":1}\n"
        "{\"t\":9,\"ev\":\"sent\",\"lease\":1,\"slave\":0,\"first\":0,"
        "\"count\":1}\n"
        "{\"t\":40,\"ev\":\"result\",\"lease\":1,\"units\":1,\"last\":true,"
        "\"compute_us\":5,\"wait_us\":0,\"idle_us\":0,\"elapsed_us\":31}\n";
    struct fixture f;

    nf_tmp_write("unknown", text);
    open_trace(&f, nf_tmp("unknown"));
    CU_ASSERT_FALSE(f.m.ways_known || f.m.recv_known);
    close_trace(&f);
}

/* All that it allows stays. */
static void a_policy_that_cannot_run_rules_no_world_out(void)
{
    struct fixture f;
    struct outcome o;

    sim_trace_write(loaded, "presend:td=3ms", nf_tmp("unrunnable"));
    open_trace(&f, nf_tmp("unrunnable"));
    CU_ASSERT_TRUE(f.m.nmessages > 1);
    o = judge(&f, loaded, "wf:speeds=1/2/3+timer:td=3ms", OTHERS);
    CU_ASSERT_EQUAL(o.replay.list[0].verdict, VERDICT_NONE);
    CU_ASSERT_EQUAL(o.replay.nworlds, f.m.nmessages);
    CU_ASSERT_EQUAL(o.replay.worlds[0], 0);
    CU_ASSERT_EQUAL(o.wrong, 0);
    replay_fini(&o.replay);
    close_trace(&f);
}

/* The first answers are of units that are alike by chance, or short. */
static void few_units_tell_nothing_of_the_others(void)
{
    double last = INFINITY;

    for (long percent = 2; percent <= 80; percent += percent < 20 ? 2 : 20) {
        struct fixture f;
        struct outcome o;

        sim_trace_write(unequal, "send", nf_tmp("few"));
        cut_trace(nf_tmp("few"), percent);
        open_trace(&f, nf_tmp("few"));
        o = judge(&f, unequal, "send", OTHERS);
        CU_ASSERT_EQUAL(o.wrong, 0);
        CU_ASSERT_EQUAL(isinf(o.replay.least_factor) != 0,
                        f.m.known_units < 10);
        CU_ASSERT_TRUE(f.m.known_units >= 10 || o.right == 0);
        CU_ASSERT_TRUE(isinf(last) || o.replay.least_factor <= last);
        last = o.replay.least_factor;
        replay_fini(&o.replay);
        close_trace(&f);
    }
    CU_ASSERT_TRUE(last < 1.15);
}

static CU_TestInfo tests[] = {
    { "a policy that cannot run rules no world out",
      a_policy_that_cannot_run_rules_no_world_out },
    { "few units tell nothing of the others",
      few_units_tell_nothing_of_the_others },
    { "a sleep is no cost of units", a_sleep_is_no_cost_of_units },
    { "a killed trace of a master that slept does not show ways",
      a_killed_trace_of_a_master_that_slept_does_not_show_ways },
    { "a complete trace of a master that slept shows ways",
      a_complete_trace_of_a_master_that_slept_shows_ways },
    { "the last round shows the ways of slots",
      the_last_round_shows_the_ways_of_slots },
    { "a master by the clock does not show what results cost",
      a_master_by_the_clock_does_not_show_what_results_cost },
    { "work for results is not taken for ways",
      work_for_results_is_not_taken_for_ways },
    { "a master that sends at once shows what results cost",
      a_master_that_sends_at_once_shows_what_results_cost },
    { "of an unknown policy nothing is known",
      of_an_unknown_policy_nothing_is_known },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "replay: messages",
          .pInitFunc = nf_tmpdir_make,
          .pCleanupFunc = nf_tmpdir_remove,
          .pTests = tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
