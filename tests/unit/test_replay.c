/* Replays of jobs whose world is known, because the simulator ran them: what a
 * trace tells of a world must be that world, and what a replay says of a policy
 * must be what that policy takes there. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/replay.h"
#include "common/base/rng.h"
#include "tests/unit/nf_tmpdir.h"
#include "tests/unit/nf_unit.h"
#include "tests/unit/replay_fixture.h"
#include "tests/unit/sim_trace.h"

static const char unequal[] =
    "{\"units\":400, \"cost\":20000, \"slaves\":4,"
    " \"speed\":[1, 1, \"1/2\", \"1/4\"], \"prop\":700, \"ts\":[100, 0],"
    " \"tr\":[100, 0], \"o_send\":150, \"o_recv\":40, \"net\":\"links\"}";
static const char equal[] =
    "{\"units\":400, \"cost\":20000, \"slaves\":4, \"prop\":300,"
    " \"o_send\":20, \"o_recv\":20, \"net\":\"links\"}";

static const char slow_messages[] =
    "{\"units\":1000, \"cost\":10000, \"slaves\":4,"
    " \"speed\":[1, 1, \"1/2\", \"1/4\"], \"prop\":1000,"
    " \"o_send\":900, \"o_recv\":900, \"net\":\"links\"}";

static const char crawling[] =
    "{\"units\":160, \"cost\":10000, \"slaves\":4,"
    " \"speed\":[1, 1, \"1/2\", \"1/50\"], \"o_send\":300, \"o_recv\":300}";

static void the_world_is_found_again(void)
{
    static const double speeds[] = { 1, 1, 0.5, 0.25 };
    struct fixture f;

    sim_trace_write(unequal, "send", nf_tmp("world"));
    open_trace(&f, nf_tmp("world"));
    CU_ASSERT_EQUAL_FATAL(f.m.seats.count, 4);
    for (int i = 0; i < 4; i++) {
        double ratio = f.m.seats.list[i].speed / f.m.seats.list[0].speed;

        CU_ASSERT_TRUE(near(ratio, speeds[i], 0.01));
        CU_ASSERT_TRUE(
            near(f.m.unit_us[i] / f.m.seats.list[0].speed, 20000, 0.01));
    }
    CU_ASSERT_TRUE(near(f.m.send_us, 150, 0.01));
    /* the simulator's results are merged after the master's work for them */
    CU_ASSERT_TRUE(near(f.m.messages[0].way_us + f.m.messages[0].recv_us,
                        2 * 700 + 200 + 40, 0.01));
    CU_ASSERT_EQUAL(f.m.messages[0].way_unit_us, 0);
    CU_ASSERT_EQUAL(f.m.known_units, 400);
    close_trace(&f);
}

/* The slowest has 3 units, all of them longer than any of the others. */
static void few_units_tell_speeds_if_they_are_alike(void)
{
    static const double speeds[] = { 1, 1, 0.5, 0.25 };
    struct fixture f;

    sim_trace_write(
        "{\"units\":30, \"cost\":20000, \"slaves\":4,"
        " \"speed\":[1, 1, \"1/2\", \"1/4\"], \"prop\":700, \"net\":\"links\"}",
        "send", nf_tmp("few"));
    open_trace(&f, nf_tmp("few"));
    CU_ASSERT_TRUE(f.m.seats.list[2].units < 8);
    CU_ASSERT_TRUE(f.m.seats.list[3].units < 4);
    for (int i = 0; i < 4; i++)
        CU_ASSERT_TRUE(near(f.m.seats.list[i].speed / f.m.seats.list[0].speed,
                            speeds[i], 0.01));
    close_trace(&f);
}

/* Of a trace of one policy, the makespans of the others. */
static void the_makespans_of_other_policies_are_foretold(void)
{
    static const char *const platforms[] = { unequal, equal, slow_messages };
    static const char *const specs[] = {
        "send",
        "auto",
        "presend-round:td=5ms",
        "presend-round:td=20ms",
        "presend:td=20ms",
        "gss",
        "window:w=2",
        "send:g=5",
    };
    enum { N = sizeof(specs) / sizeof(specs[0]) };

    for (int world = 0; world < 3; world++)
        for (int used = 0; used < 5; used++) {
            /* results that queue at the master always in the same order look
             * like different ways: 5 % off */
            if (world == 2 && strcmp(specs[used], "auto") == 0)
                continue;
            struct replay replay = { .runs = 5, .seed = 1 };
            struct nf_error err = { .text = "" };
            struct fixture f;

            sim_trace_write(platforms[world], specs[used], nf_tmp("other"));
            open_trace(&f, nf_tmp("other"));
            for (int i = 0; i < N; i++)
                CU_ASSERT_EQUAL(replay_add(&replay, specs[i], i == used, &err),
                                NF_OK);
            CU_ASSERT_EQUAL(replay_run(&replay, &f.m, &f.world, &err), NF_OK);
            CU_ASSERT_TRUE(replay.error_known);
            CU_ASSERT_TRUE(fabs(replay.error) < 0.01);
            for (int i = 0; i < N; i++)
                CU_ASSERT_TRUE(near(
                    replay.list[i].point_us,
                    (double)sim_makespan_us(platforms[world], specs[i]), 0.02));
            replay_fini(&replay);
            close_trace(&f);
        }
}

/* With copies a slow slave may be seen with one unit, and that is enough to
 * know what it would do to policies that give it more. */
static void one_unit_tells_a_slow_slave(void)
{
    static const char *const specs[] = { "auto:replicate=1", "gss", "fac2",
                                         "send" };
    struct replay replay = { .runs = 5, .seed = 1 };
    struct nf_error err = { .text = "" };
    struct fixture f;

    sim_trace_write(crawling, specs[0], nf_tmp("crawling"));
    open_trace(&f, nf_tmp("crawling"));
    CU_ASSERT_TRUE(f.m.seats.list[3].units <= 2);
    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL(replay_add(&replay, specs[i], i == 0, &err), NF_OK);
    CU_ASSERT_EQUAL(replay_run(&replay, &f.m, &f.world, &err), NF_OK);
    for (int i = 0; i < 4; i++)
        CU_ASSERT_TRUE(near(replay.list[i].point_us,
                            (double)sim_makespan_us(crawling, specs[i]), 0.03));
    CU_ASSERT_EQUAL(replay.list[1].verdict, VERDICT_WORSE);
    replay_fini(&replay);
    close_trace(&f);
}

/* Costs around 20 ms: one in ten is ten times as long, or exponential.  Results
 * cost the master nothing: a trace can't tell that from the way, and who gets
 * the last long unit may hang on it. */
static void make_heavy_tailed(char *platform, size_t bytes, int slaves,
                              int units, bool exponential, uint64_t seed)
{
    struct nf_rng rng;
    int used = snprintf(platform, bytes,
                        "{\"slaves\":%d, \"prop\":300, \"net\":\"links\", "
                        "\"o_send\":20, \"cost\":[",
                        slaves);

    rng = (struct nf_rng){ seed };
    for (int i = 0; i < units; i++) {
        double u = (double)(nf_rng_below(&rng, 1000000) + 1) * 1e-6;
        double cost_us = exponential ? -20000 * log(u) + 1
                         : u <= 0.1  ? 200000
                                     : 20000;

        used += snprintf(platform + used, bytes - (size_t)used, "%s%.0f",
                         i > 0 ? "," : "", cost_us);
    }
    snprintf(platform + used, bytes - (size_t)used, "]}");
}

static void expect_equal_slaves(const char *platform, const char *const *specs,
                                int used)
{
    struct replay replay = { .runs = 5, .seed = 1 };
    struct nf_error err = { .text = "" };
    struct fixture f;
    double true_us[2];

    sim_trace_write(platform, specs[used], nf_tmp("tail"));
    open_trace(&f, nf_tmp("tail"));
    for (uint32_t i = 0; i < f.m.seats.count; i++)
        CU_ASSERT_TRUE(near(f.m.seats.list[i].speed, 1, 0.1));
    for (int i = 0; i < 2; i++)
        CU_ASSERT_EQUAL(replay_add(&replay, specs[i], i == used, &err), NF_OK);
    CU_ASSERT_EQUAL(replay_run(&replay, &f.m, &f.world, &err), NF_OK);
    for (int i = 0; i < 2; i++) {
        true_us[i] = (double)sim_makespan_us(platform, specs[i]);
        CU_ASSERT_TRUE(near(replay.list[i].point_us, true_us[i], 0.1));
    }
    if (true_us[1] <= true_us[0])
        CU_ASSERT_NOT_EQUAL(replay.list[1].verdict, VERDICT_WORSE);
    replay_fini(&replay);
    close_trace(&f);
}

/* Who had the long units got few of them, and is not slow for that. */
static void long_units_do_not_make_a_slave_slow(void)
{
    static const char *const specs[] = { "send", "auto" };
    static const int slaves[] = { 64, 32, 4 }, units[] = { 128, 96, 400 };
    static char platform[10000];

    for (int size = 0; size < 3; size++)
        for (uint64_t seed = 1; seed <= 8; seed++)
            for (int i = 0; i < 4; i++) {
                make_heavy_tailed(platform, sizeof(platform), slaves[size],
                                  units[size], i % 2 == 1, seed);
                expect_equal_slaves(platform, specs, i / 2);
            }
}

/* gss gives half of the work to a slave of a quarter of the speed. */
static void a_bad_policy_is_told_to_be_worse_and_equals_to_be_equal(void)
{
    struct replay replay = { .runs = 20, .seed = 1 };
    struct nf_error err = { .text = "" };
    struct fixture f;

    sim_trace_write(unequal, "gss", nf_tmp("bad"));
    open_trace(&f, nf_tmp("bad"));
    CU_ASSERT_EQUAL(replay_add(&replay, "gss", true, &err), NF_OK);
    CU_ASSERT_EQUAL(replay_add(&replay, "auto", false, &err), NF_OK);
    CU_ASSERT_EQUAL(replay_add(&replay, "presend:td=auto", false, &err), NF_OK);
    CU_ASSERT_EQUAL(replay_add(&replay, "auto", false, &err), NF_OK);
    CU_ASSERT_EQUAL_FATAL(replay.count, 3); /* one was there */
    CU_ASSERT_EQUAL(replay_add(&replay, "nonsense", false, &err), NF_ERR_INVAL);
    CU_ASSERT_EQUAL(replay_run(&replay, &f.m, &f.world, &err), NF_OK);
    CU_ASSERT_EQUAL(replay.list[0].verdict, VERDICT_WORSE);
    CU_ASSERT_EQUAL(replay.list[1].verdict, VERDICT_BEST);
    CU_ASSERT_EQUAL(replay.list[2].verdict, VERDICT_SAME);
    CU_ASSERT_TRUE(replay.list[0].ratio_low > 1);
    CU_ASSERT_TRUE(replay.list[0].low_us <= replay.list[0].median_us &&
                   replay.list[0].median_us <= replay.list[0].high_us);
    replay_fini(&replay);
    close_trace(&f);
}

static void the_same_seed_gives_the_same_runs(void)
{
    double runs_us[3][10];
    struct fixture f;

    sim_trace_write("{\"cost\":[500, 90, 1300, 700, 20, 900, 3000, 10, 80,"
                    " 700, 650, 1, 450, 800, 2000, 100], \"slaves\":3}",
                    "send", nf_tmp("seed"));
    for (int i = 0; i < 3; i++) {
        struct replay replay = { .runs = 10, .seed = i == 2 ? 2 : 1 };
        struct nf_error err = { .text = "" };

        open_trace(&f, nf_tmp("seed"));
        CU_ASSERT_EQUAL(replay_add(&replay, "send", true, &err), NF_OK);
        CU_ASSERT_EQUAL(replay_run(&replay, &f.m, &f.world, &err), NF_OK);
        memcpy(runs_us[i], replay.list[0].runs_us, sizeof(runs_us[i]));
        replay_fini(&replay);
        close_trace(&f);
    }
    CU_ASSERT_EQUAL(memcmp(runs_us[0], runs_us[1], sizeof(runs_us[0])), 0);
    CU_ASSERT_NOT_EQUAL(memcmp(runs_us[0], runs_us[2], sizeof(runs_us[0])), 0);
}

static void every_sizer_is_tried_with_pull_and_with_auto(void)
{
    struct replay replay = { .runs = 2, .seed = 1 };
    struct nf_error err = { .text = "" };
    struct fixture f;
    uint32_t sizers = 0;

    while (nf_sizer_table[sizers] != NULL)
        sizers++;
    if (nf_sizer_find("rand") != NULL)
        sizers--;
    sim_trace_write(equal, "auto", nf_tmp("every"));
    open_trace(&f, nf_tmp("every"));
    CU_ASSERT_EQUAL(replay_add_all(&replay, &f.m, &err), NF_OK);
    CU_ASSERT_EQUAL(replay.count, 2 * sizers);
    CU_ASSERT_EQUAL(replay_run(&replay, &f.m, &f.world, &err), NF_OK);
    CU_ASSERT_FALSE(replay.none);
    for (uint32_t i = 0; i < replay.count; i++)
        if (replay.list[i].verdict == VERDICT_NONE)
            fprintf(stderr, "%s: %s\n", replay.list[i].policy.spec,
                    replay.list[i].why);
    replay_fini(&replay);
    close_trace(&f);
}

/* Every @p nth slot is slow. */
static void make_many_slots(char *platform, size_t bytes, uint32_t slots,
                            uint32_t nth, const char *slow, const char *fast)
{
    size_t used = (size_t)snprintf(platform, bytes,
                                   "{\"units\":20000, \"cost\":5000,"
                                   " \"prop\":100, \"net\":\"links\","
                                   " \"slaves\":%u, \"speed\":[",
                                   slots);

    for (uint32_t s = 0; s < slots; s++)
        used += (size_t)snprintf(platform + used, bytes - used, "%s%s",
                                 s > 0 ? ", " : "", s % nth == 0 ? slow : fast);
    snprintf(platform + used, bytes - used, "]}");
}

static const struct candidate *find_wf(const struct replay *replay)
{
    for (uint32_t c = 0; c < replay->count; c++) {
        const char *spec = replay->list[c].policy.spec;

        if (strncmp(spec, "wf", 2) == 0 && strstr(spec, "pull") != NULL)
            return &replay->list[c];
    }
    return NULL;
}

/* The speeds of many slots, as coarse as a policy has room for, are those with
 * which wf does best. */
static void wf_knows_the_speeds_of_many_slots(void)
{
    static const uint32_t slots[] = { 8, 40, 100, 120, 130 };

    for (size_t i = 0; i < sizeof(slots) / sizeof(slots[0]); i++) {
        struct replay replay = { .runs = 2, .seed = 1 };
        struct nf_error err = { .text = "" };
        char platform[4096], spec[NF_POLICY_SPEC_BYTES] = "wf:speeds=1";
        const struct candidate *wf;
        struct fixture f;

        make_many_slots(platform, sizeof(platform), slots[i], 4, "\"1/8\"",
                        "1");
        sim_trace_write(platform, "send", nf_tmp("many"));
        open_trace(&f, nf_tmp("many"));
        CU_ASSERT_EQUAL(replay_add_all(&replay, &f.m, &err), NF_OK);
        CU_ASSERT_EQUAL(replay_run(&replay, &f.m, &f.world, &err), NF_OK);
        wf = find_wf(&replay);
        CU_ASSERT_PTR_NOT_NULL_FATAL(wf);
        for (uint32_t s = 1; s < slots[i] && strlen(spec) < 250; s++)
            strcat(spec, s % 4 == 0 ? "/1" : "/8");
        if (slots[i] <= 120) {
            CU_ASSERT_TRUE(wf->verdict != VERDICT_NONE);
            CU_ASSERT_TRUE(near(wf->point_us,
                                (double)sim_makespan_us(platform, spec), 0.02));
            CU_ASSERT_TRUE(wf->point_us <
                           0.8 * (double)sim_makespan_us(platform, "gss"));
        } else {
            CU_ASSERT_EQUAL(wf->verdict, VERDICT_NONE);
            CU_ASSERT_PTR_NOT_NULL(strstr(wf->why, "130 slots"));
        }
        replay_fini(&replay);
        close_trace(&f);
    }
}

/* Slow ones need a digit less: there is room for two digits of theirs. */
static void speeds_use_the_room_there_is(void)
{
    struct replay replay = { .runs = 2, .seed = 1 };
    struct nf_error err = { .text = "" };
    char platform[4096];
    const struct candidate *wf;
    unsigned fast = 0, slow = 0;
    struct fixture f;

    make_many_slots(platform, sizeof(platform), 70, 4, "1", "\"1/8\"");
    sim_trace_write(platform, "send", nf_tmp("room"));
    open_trace(&f, nf_tmp("room"));
    CU_ASSERT_EQUAL(replay_add_all(&replay, &f.m, &err), NF_OK);
    wf = find_wf(&replay);
    CU_ASSERT_PTR_NOT_NULL_FATAL(wf);
    CU_ASSERT_EQUAL(sscanf(wf->policy.spec, "wf:speeds=%u/%u", &fast, &slow),
                    2);
    CU_ASSERT_TRUE(near(fast, 8 * slow, 0.01));
    replay_fini(&replay);
    close_trace(&f);
}

/* Of a job that did not end nobody knows how right the simulation is. */
static void small_differences_are_not_told_of_an_unknown_error(void)
{
    static const char *const specs[] = { "send", "gss", "static" };
    struct replay replay = { .runs = 5, .seed = 1 };
    struct nf_error err = { .text = "" };
    struct fixture f;

    sim_trace_write(unequal, "send", nf_tmp("cut"));
    open_trace(&f, nf_tmp("cut"));
    f.m.measured_us = -1; /* as if it had been killed */
    for (int i = 0; i < 3; i++)
        CU_ASSERT_EQUAL(replay_add(&replay, specs[i], i == 0, &err), NF_OK);
    CU_ASSERT_EQUAL(replay_run(&replay, &f.m, &f.world, &err), NF_OK);
    CU_ASSERT_FALSE(replay.error_known);
    for (int i = 0; i < 3; i++) {
        const struct candidate *c = &replay.list[i];

        CU_ASSERT_TRUE(c->verdict != VERDICT_WORSE || c->ratio > 1.1);
    }
    CU_ASSERT_EQUAL(replay.list[1].verdict == VERDICT_WORSE,
                    replay.list[1].ratio > 1.1);
    CU_ASSERT_EQUAL(replay.list[2].verdict, VERDICT_WORSE);
    replay_fini(&replay);
    close_trace(&f);
}

/* A simulation that took a quarter of the time may have done so for the best
 * policy alone. */
static void errors_count_either_way(void)
{
    static const char *const specs[] = { "send", "auto", "static" };

    for (int way = 0; way < 3; way++) {
        struct replay replay = { .runs = 5, .seed = 1 };
        struct nf_error err = { .text = "" };
        struct fixture f;

        sim_trace_write(unequal, "send", nf_tmp("short"));
        open_trace(&f, nf_tmp("short"));
        f.m.measured_us = way == 0   ? f.m.measured_us * 4
                          : way == 1 ? f.m.measured_us / 4
                                     : f.m.measured_us * 2;
        for (int i = 0; i < 3; i++)
            CU_ASSERT_EQUAL(replay_add(&replay, specs[i], i == 0, &err), NF_OK);
        CU_ASSERT_EQUAL(replay_run(&replay, &f.m, &f.world, &err), NF_OK);
        CU_ASSERT_TRUE(replay.list[2].ratio > 2.2);
        CU_ASSERT_TRUE(replay.list[2].ratio < 4);
        CU_ASSERT_EQUAL(replay.list[2].verdict,
                        way == 2 ? VERDICT_WORSE : VERDICT_SAME);
        replay_fini(&replay);
        close_trace(&f);
    }
}

/* ---- seats ---- */

#define HEAD                                                                   \
    "{\"nowfarm_trace\":1,\"version\":\"1\",\"app\":\"a\",\"units\":9,"        \
    "\"policy\":\"send\",\"transport\":\"pvm\",\"clock\":\"monotonic\"}\n"

static void one_that_takes_the_place_of_another_gets_its_seat(void)
{
    static const char text[] = HEAD
        "{\"t\":5,\"ev\":\"join\",\"slave\":0,\"host\":\"h\",\"slots\":2}\n"
        "{\"t\":5,\"ev\":\"join\",\"slave\":1,\"host\":\"g\",\"slots\":1}\n"
        "{\"t\":9,\"ev\":\"lost\",\"slave\":0,\"reason\":\"exited\"}\n"
        "{\"t\":9,\"ev\":\"join\",\"slave\":2,\"host\":\"h\",\"slots\":2}\n"
        "{\"t\":20,\"ev\":\"lost\",\"slave\":1,\"reason\":\"silent\"}\n"
        "{\"t\":30,\"ev\":\"join\",\"slave\":1,\"host\":\"g\","
        "\"slots\":1}\n"
        "{\"t\":40,\"ev\":\"lost\",\"slave\":2,\"reason\":\"exited\"}\n"
        "{\"t\":900000,\"ev\":\"join\",\"slave\":7,\"host\":\"f\","
        "\"slots\":1}\n";
    struct nf_history h;
    struct seats seats;
    struct nf_error err = { .text = "" };

    CU_ASSERT_EQUAL_FATAL(
        nf_history_parse(text, sizeof(text) - 1, "f", &h, &err), NF_OK);
    CU_ASSERT_EQUAL_FATAL(seats_find(&h, &seats), NF_OK);
    CU_ASSERT_EQUAL(seats.count, 4);
    CU_ASSERT_EQUAL_FATAL(seats.nabsences, 6);
    CU_ASSERT_EQUAL(seats.absences[0].at_us, 9); /* both slots of slave 0 */
    CU_ASSERT_EQUAL(seats.absences[0].until_us, 9);
    CU_ASSERT_EQUAL(seats.absences[1].until_us, 9);
    CU_ASSERT_TRUE(seats.absences[2].silent);
    CU_ASSERT_EQUAL(seats.absences[2].at_us, 5); /* never heard of */
    CU_ASSERT_EQUAL(seats.absences[2].noticed_us, 20);
    CU_ASSERT_EQUAL(seats.absences[2].until_us, 30);
    CU_ASSERT_EQUAL(seats.absences[3].until_us, -1); /* slave 2 */
    CU_ASSERT_EQUAL(seats.absences[5].at_us, 0);     /* slave 7 came late */
    CU_ASSERT_EQUAL(seats.absences[5].until_us, 900000);
    seats_fini(&seats);
    nf_history_fini(&h);
}

/* Slave 1 is away before the first lease, slave 0 is replaced at once, `at_us`
 * later or never. */
static void expect_losses(const char *at, size_t failures)
{
    static const char ends[] =
        "{\"t\":%s,\"ev\":\"lost\",\"slave\":0,\"reason\":\"exited\"}\n"
        "{\"t\":%s,\"ev\":\"join\",\"slave\":2,\"host\":\"h\",\"slots\":1}\n";
    static const char begins[] = HEAD
        "{\"t\":5,\"ev\":\"join\",\"slave\":0,\"host\":\"h\",\"slots\":1}\n"
        "{\"t\":5,\"ev\":\"join\",\"slave\":1,\"host\":\"g\",\"slots\":1}\n"
        "{\"t\":6,\"ev\":\"lost\",\"slave\":1,\"reason\":\"exited\"}\n"
        "{\"t\":7,\"ev\":\"join\",\"slave\":1,\"host\":\"g\",\"slots\":1}\n"
        "{\"t\":9,\"ev\":\"sent\",\"lease\":1,\"slave\":0,\"first\":0,"
        "\"count\":1}\n"
        "{\"t\":20,\"ev\":\"result\",\"lease\":1,\"units\":1,\"last\":true,"
        "\"compute_us\":5,\"wait_us\":0,\"idle_us\":0,\"elapsed_us\":11}\n";
    char text[2000];
    struct fixture f;

    memcpy(text, begins, sizeof(begins));
    snprintf(text + sizeof(begins) - 1, sizeof(text) - sizeof(begins), ends, at,
             at);
    nf_tmp_write("losses", text);
    open_trace(&f, nf_tmp("losses"));
    CU_ASSERT_EQUAL(f.m.losses_ignored, failures == 0);
    CU_ASSERT_EQUAL_FATAL(f.world.nfailures, failures);
    if (failures > 0) {
        CU_ASSERT_EQUAL(f.world.failures[0].at_us, atoll(at) - 9);
        CU_ASSERT_EQUAL(f.world.failures[0].until_us, atoll(at) - 8);
    }
    close_trace(&f);
}

static void losses_are_replayed_if_they_can_be(void)
{
    expect_losses("30", 1);
    expect_losses("1000000000008", 1);
    expect_losses("1000000000010", 0);
}

static void a_trace_without_results_can_not_be_replayed(void)
{
    static const char text[] = HEAD
        "{\"t\":5,\"ev\":\"join\",\"slave\":0,\"host\":\"h\",\"slots\":1}\n"
        "{\"t\":6,\"ev\":\"sent\",\"lease\":1,\"slave\":0,\"first\":0,"
        "\"count\":2}\n";
    struct nf_history h;
    struct replay_model m;
    struct nf_error err = { .text = "" };

    CU_ASSERT_EQUAL_FATAL(
        nf_history_parse(text, sizeof(text) - 1, "f", &h, &err), NF_OK);
    CU_ASSERT_EQUAL(model_fit(&h, &m, &err), NF_ERR_INVAL);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "no result was ever measured"));
    nf_history_fini(&h);
}

static CU_TestInfo tests[] = {
    { "the world is found again", the_world_is_found_again },
    { "few units tell speeds if they are alike",
      few_units_tell_speeds_if_they_are_alike },
    { "the makespans of other policies are foretold",
      the_makespans_of_other_policies_are_foretold },
    { "one unit tells a slow slave", one_unit_tells_a_slow_slave },
    { "long units do not make a slave slow",
      long_units_do_not_make_a_slave_slow },
    { "a bad policy is told to be worse, and equals to be equal",
      a_bad_policy_is_told_to_be_worse_and_equals_to_be_equal },
    { "the same seed gives the same runs", the_same_seed_gives_the_same_runs },
    { "every sizer is tried with pull and with auto",
      every_sizer_is_tried_with_pull_and_with_auto },
    { "wf knows the speeds of many slots", wf_knows_the_speeds_of_many_slots },
    { "speeds use the room there is", speeds_use_the_room_there_is },
    { "small differences are not told of an unknown error",
      small_differences_are_not_told_of_an_unknown_error },
    { "errors count either way", errors_count_either_way },
    { "one that takes the place of another gets its seat",
      one_that_takes_the_place_of_another_gets_its_seat },
    { "losses are replayed if they can be",
      losses_are_replayed_if_they_can_be },
    { "a trace without results can not be replayed",
      a_trace_without_results_can_not_be_replayed },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { .pName = "replay",
          .pInitFunc = nf_tmpdir_make,
          .pCleanupFunc = nf_tmpdir_remove,
          .pTests = tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
