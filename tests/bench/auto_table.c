/* What the adaptive pacer reaches in virtual time, beside others and beside its
 * goals: the numbers that test_auto_sim asserts. */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include "tests/unit/auto_worlds.h"

static const char *const specs[] = { "send", "fixed+window:w=2", "gss", "auto",
                                     "auto:replicate=1" };
enum { SPECS = sizeof(specs) / sizeof(specs[0]) };

/* Goals of auto, with and without replication; 0: none. */
static void row(const char *name, const double *values, double plain_goal,
                double copies_goal)
{
    printf("%-34s", name);
    for (int i = 0; i < SPECS; i++)
        printf(" %8.3f", values[i]);
    printf("  ");
    if (plain_goal > 0)
        printf(" auto <= %.2f", plain_goal);
    if (copies_goal > 0)
        printf(" replicate=1 <= %.2f", copies_goal);
    putchar('\n');
}

static void single(const char *name, json_t *platform, double plain_goal,
                   double copies_goal)
{
    double seconds[SPECS];

    for (int i = 0; i < SPECS; i++)
        seconds[i] = (double)auto_makespan_us(specs[i], platform) * 1e-6;
    row(name, seconds, plain_goal, copies_goal);
    json_decref(platform);
}

static void add(const json_t *platform, double *logs)
{
    for (int i = 0; i < SPECS; i++)
        logs[i] += log((double)auto_makespan_us(specs[i], platform) /
                       auto_bound_us(platform));
}

static void means(const char *name, double *logs, double count,
                  double plain_goal, double copies_goal)
{
    for (int i = 0; i < SPECS; i++)
        logs[i] = exp(logs[i] / count);
    row(name, logs, plain_goal, copies_goal);
}

int main(void)
{
    json_t *file = auto_golden("makespans_platforms.json"), *golden;
    double logs[SPECS] = { 0 }, others[SPECS] = { 0 };
    size_t i;

    printf("%-34s %8s %8s %8s %8s %8s\n", "", "send", "window:2", "gss", "auto",
           "auto+rep");
    single("speeds 1,1,1/2,1/4 (bound 11.64), s",
           json_pack("{s:i, s:i, s:[s,s,s,s], s:[i,i], s:[i,i]}", "units", 320,
                     "cost", 100000, "speed", "1", "1", "1/2", "1/4", "ts",
                     5000, 1000, "tr", 5000, 1000),
           11.75, 0);
    single("one of four slows 1000-fold at 2 s",
           json_pack("{s:i, s:i, s:i, s:[i,i], s:[i,i], s:{s:[[i,s]]}}",
                     "units", 320, "slaves", 4, "cost", 100000, "ts", 5000,
                     1000, "tr", 5000, 1000, "slow", "3", 2000000, "1/1000"),
           0, 10.1);
    json_array_foreach(json_object_get(file, "platforms"), i, golden)
        add(json_object_get(golden, "platform"), logs);
    means("200 worlds, makespan / bound", logs, 200, 1.89, 1.59);
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        json_t *platform = auto_world(seed);

        add(platform, others);
        json_decref(platform);
    }
    means("1000 others like them", others, 1000, 1.89, 1.59);
    json_decref(file);
    return 0;
}
