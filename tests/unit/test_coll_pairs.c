/* Between which members the model of a group is measured, and that it can be
 * between any two. */
#include "config.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "apps/collbench/team.h"
#include "apps/nowfarm/coll_pairs.h"
#include "common/base/rng.h"
#include "tests/unit/nf_unit.h"

enum { RANKS_MAX = 70 };

/* Hosts as letters, "aabc"; they are numbered as they come. */
struct map {
    uint32_t ranks, hosts[RANKS_MAX];
    uint64_t routes[RANKS_MAX * 2];
};

static void script(struct map *map, const char *letters)
{
    uint32_t next = 0;

    memset(map, 0, sizeof(*map));
    map->ranks = (uint32_t)strlen(letters);
    for (uint32_t i = 0; i < map->ranks; i++) {
        size_t before = (size_t)(strchr(letters, letters[i]) - letters);

        map->hosts[i] = before < i ? map->hosts[before] : next++;
    }
}

static void by_daemon(struct map *map, uint32_t low, uint32_t high)
{
    map->routes[high * bench_route_words(map->ranks) + low / 64] |= UINT64_C(1)
                                                                    << low % 64;
}

/* "0-4", or "none". */
static const char *pair_of(const struct map *map, bool same_host, bool daemon)
{
    static char text[32];
    struct coll_pair pair;
    enum nf_status status = coll_find_pair(map->hosts, map->routes, map->ranks,
                                           same_host, daemon, &pair);

    if (status == NF_OK)
        snprintf(text, sizeof(text), "%u-%u", pair.first, pair.second);
    return status == NF_OK ? text : status == NF_WAIT ? "none" : "error";
}

static void pairs_stand_for_most(void)
{
    static const struct {
        const char *hosts, *same, *other;
    } rows[] = {
        /* alike: rank 0 and the first that there is */
        { "abcd", "none", "0-1" },
        { "aaaa", "0-1", "none" },
        { "abab", "0-2", "0-1" },
        { "aabb", "0-1", "0-2" },
        { "ab", "none", "0-1" },
        /* rank 0 is alone: on one host most pairs are those of the others */
        { "abbbbb", "1-2", "0-1" },
        { "abbbccc", "1-2", "1-4" },
        { "abcbcbc", "1-3", "1-2" },
        /* rank 0 shares its host with one, the others are on one */
        { "aabbbb", "2-3", "0-2" },
        { "abbbba", "1-2", "0-1" },
        /* every other member is on a host of its own */
        { "abacad", "0-2", "0-1" },
        { "abcdea", "0-5", "0-1" },
        /* the two fullest of three */
        { "abbccc", "3-4", "1-3" },
    };
    struct map map;

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        script(&map, rows[i].hosts);
        CU_ASSERT_STRING_EQUAL(pair_of(&map, true, false), rows[i].same);
        CU_ASSERT_STRING_EQUAL(pair_of(&map, false, false), rows[i].other);
        CU_ASSERT_STRING_EQUAL(pair_of(&map, true, true), "none");
        CU_ASSERT_STRING_EQUAL(pair_of(&map, false, true), "none");
    }
}

/* Routes that rank 0 has no part in count too. */
static void routes_are_kinds(void)
{
    struct map map;

    script(&map, "abcd");
    by_daemon(&map, 2, 3);
    CU_ASSERT_STRING_EQUAL(pair_of(&map, false, false), "0-1");
    CU_ASSERT_STRING_EQUAL(pair_of(&map, false, true), "2-3");
    script(&map, "aabbcc");
    by_daemon(&map, 0, 2);
    by_daemon(&map, 2, 4);
    by_daemon(&map, 3, 5);
    by_daemon(&map, 4, 5);
    CU_ASSERT_STRING_EQUAL(pair_of(&map, false, true), "2-4");
    CU_ASSERT_STRING_EQUAL(pair_of(&map, false, false), "0-4");
    CU_ASSERT_STRING_EQUAL(pair_of(&map, true, true), "4-5");
    CU_ASSERT_STRING_EQUAL(pair_of(&map, true, false), "0-1");
}

/* Any map, by the definition. */
static void any_map_is_right(void)
{
    struct nf_rng rng = { 3 };

    for (int n = 0; n < 300; n++) {
        char letters[RANKS_MAX + 1] = "";
        uint32_t ranks = 2 + (uint32_t)nf_rng_below(&rng, RANKS_MAX - 2);
        uint32_t wanted = 1 + (uint32_t)nf_rng_below(&rng, 20);
        bool same = nf_rng_below(&rng, 2) == 0;
        bool daemon = nf_rng_below(&rng, 2) == 0;
        uint32_t counts[26][26] = { { 0 } }, most = 0;
        struct coll_pair pair = { 0, 0 };
        struct map map;

        for (uint32_t i = 0; i < ranks; i++)
            letters[i] = (char)('a' + nf_rng_below(&rng, wanted));
        script(&map, letters);
        for (uint32_t i = 0; i < ranks; i++)
            for (uint32_t j = 0; j < i; j++)
                if (nf_rng_below(&rng, 3) == 0)
                    by_daemon(&map, j, i);
        for (uint32_t i = 0; i < ranks; i++)
            for (uint32_t j = i + 1; j < ranks; j++) {
                uint32_t x = map.hosts[i], y = map.hosts[j];
                uint32_t *count = &counts[x < y ? x : y][x < y ? y : x];

                if ((x == y) == same &&
                    bench_by_daemon(map.routes, ranks, i, j) == daemon &&
                    ++*count > most)
                    most = *count;
            }
        CU_ASSERT_EQUAL(coll_find_pair(map.hosts, map.routes, ranks, same,
                                       daemon, &pair) == NF_OK,
                        most > 0);
        if (most > 0) {
            uint32_t x = map.hosts[pair.first], y = map.hosts[pair.second];

            CU_ASSERT(pair.first < pair.second);
            CU_ASSERT((x == y) == same);
            CU_ASSERT(bench_by_daemon(map.routes, ranks, pair.first,
                                      pair.second) == daemon);
            CU_ASSERT_EQUAL(counts[x < y ? x : y][x < y ? y : x], most);
        }
    }
}

/* ------------------------------------------------------------------ looks */

/* "0-4 0-1 ...", what is looked at by this map. */
static const char *looks_of(const struct map *map, bool daemon)
{
    static char text[64 * COLL_LOOKS_MAX];
    struct coll_look looks[COLL_LOOKS_MAX];
    struct coll_pair usual;
    unsigned count;

    text[0] = '\0';
    if (coll_find_pair(map->hosts, map->routes, map->ranks, false, daemon,
                       &usual) != NF_OK)
        return "none";
    count = coll_list_looks(map->hosts, map->routes, map->ranks, daemon, &usual,
                            looks);
    for (unsigned i = 0; i < count; i++) {
        CU_ASSERT_EQUAL(looks[i].times, 0);
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u-%u",
                 i > 0 ? " " : "", looks[i].pair.first, looks[i].pair.second);
    }
    return text;
}

static void every_host_is_looked_at(void)
{
    static const struct {
        const char *hosts, *looks;
    } rows[] = {
        /* two hosts: the usual pair is all there is */
        { "ab", "0-1" },
        { "aabb", "0-2" },
        { "aaaa", "none" },
        { "abcd", "0-1 0-2 0-3" },
        { "abcabc", "0-1 0-2" },
        { "aabbcc", "0-2 0-4" },
        /* the usual pair is of two others: rank 0's host is looked at too */
        { "abcbcbc", "1-2 0-1 0-2" },
        { "abbccc", "1-3 0-1 0-3" },
        /* the usual pair has rank 0's host, but another of its members */
        { "abacad", "0-1 0-3 0-5" },
    };
    struct map map;

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        script(&map, rows[i].hosts);
        CU_ASSERT_STRING_EQUAL(looks_of(&map, false), rows[i].looks);
    }
}

/* Only pairs of one kind are compared. */
static void looks_are_of_one_kind(void)
{
    struct map map;

    script(&map, "abcde");
    by_daemon(&map, 0, 2);
    by_daemon(&map, 0, 4);
    CU_ASSERT_STRING_EQUAL(looks_of(&map, false), "0-1 0-3");
    CU_ASSERT_STRING_EQUAL(looks_of(&map, true), "0-2 0-4");
    script(&map, "abcbc");
    by_daemon(&map, 0, 1); /* so the next on that host */
    CU_ASSERT_STRING_EQUAL(looks_of(&map, false), "1-2 0-2 0-3");
}

static void many_hosts_are_looked_at_evenly(void)
{
    static uint32_t hosts[512];
    struct coll_look looks[COLL_LOOKS_MAX];
    const struct coll_pair usual = { 0, 1 };

    for (uint32_t ranks = 3; ranks <= 512; ranks++) {
        uint32_t others = ranks - 2, most = COLL_LOOKS_MAX - 1;
        uint32_t wanted = others < most ? others : most;

        for (uint32_t i = 0; i < ranks; i++)
            hosts[i] = i;
        CU_ASSERT_EQUAL_FATAL(
            coll_list_looks(hosts, NULL, ranks, false, &usual, looks),
            1 + wanted);
        for (uint32_t i = 1; i <= wanted; i++) {
            uint32_t step = looks[i].pair.second - looks[i - 1].pair.second;

            CU_ASSERT_EQUAL(looks[i].pair.first, 0);
            CU_ASSERT(step >= 1 && step <= (others + wanted - 1) / wanted);
        }
        CU_ASSERT_EQUAL(looks[wanted].pair.second, ranks - 1);
    }
}

enum { STAR = 5 };

/* Pairs of rank 0 and five other hosts, as a network of 100 Mbit/s looks. */
static void star(struct coll_look looks[STAR])
{
    for (uint32_t i = 0; i < STAR; i++) {
        looks[i] = (struct coll_look){ .pair = { 0, i + 1 } };
        coll_look_add(&looks[i], 80 + i, 5400 + 10 * i);
    }
}

static void only_what_is_worse_is_measured(void)
{
    unsigned worst[COLL_WORST_MAX] = { 99, 99 };
    struct coll_look looks[STAR];

    star(looks); /* all alike */
    CU_ASSERT_EQUAL(coll_find_worst(looks, STAR, worst), 0);
    CU_ASSERT_EQUAL(coll_find_worst(looks, 1, worst), 0);
    CU_ASSERT_EQUAL(coll_find_worst(looks, 0, worst), 0);
    looks[3].large_us = 1.24 * 5400; /* hardly worse */
    looks[3].short_us = 99;
    CU_ASSERT_EQUAL(coll_find_worst(looks, STAR, worst), 0);
    star(looks); /* slow rates: the slowest */
    looks[2].large_us = 53000;
    looks[3].large_us = 54000;
    CU_ASSERT_EQUAL(coll_find_worst(looks, STAR, worst), 1);
    CU_ASSERT_EQUAL(worst[0], 3);
    looks[4].short_us = 400; /* and start-up is another's: both */
    looks[4].large_us += 320;
    CU_ASSERT_EQUAL(coll_find_worst(looks, STAR, worst), 2);
    CU_ASSERT_EQUAL(worst[0], 4);
    CU_ASSERT_EQUAL(worst[1], 3);
    star(looks); /* a slow start-up is no slow rate */
    looks[1].short_us = 1000;
    looks[1].large_us += 920;
    CU_ASSERT_EQUAL(coll_find_worst(looks, STAR, worst), 1);
    CU_ASSERT_EQUAL(worst[0], 1);
    star(looks); /* so fast that processors make the difference: no link */
    for (unsigned i = 0; i < STAR; i++)
        looks[i].short_us = 16;
    looks[2].short_us = 35;
    CU_ASSERT_EQUAL(coll_find_worst(looks, STAR, worst), 0);
    looks[2].short_us = 37;
    CU_ASSERT_EQUAL(coll_find_worst(looks, STAR, worst), 1);
    CU_ASSERT_EQUAL(worst[0], 2);
    star(looks); /* one is both: once */
    looks[1].short_us = 1000;
    looks[1].large_us = 54000;
    CU_ASSERT_EQUAL(coll_find_worst(looks, STAR, worst), 1);
    CU_ASSERT_EQUAL(worst[0], 1);
}

static void what_the_usual_shows_is_not_measured_twice(void)
{
    unsigned worst[COLL_WORST_MAX] = { 99, 99 };
    struct coll_look looks[STAR];

    star(looks); /* rank 0's own host is slow: all are */
    for (unsigned i = 0; i < STAR; i++)
        looks[i].large_us *= 10;
    CU_ASSERT_EQUAL(coll_find_worst(looks, STAR, worst), 0);
    star(looks); /* but if the usual pair is of others, it shows */
    for (unsigned i = 1; i < STAR; i++)
        looks[i].large_us *= 10;
    CU_ASSERT_EQUAL(coll_find_worst(looks, STAR, worst), 1);
    CU_ASSERT_EQUAL(worst[0], STAR - 1);
    star(looks); /* the usual pair has the slow host */
    looks[0].large_us *= 10;
    CU_ASSERT_EQUAL(coll_find_worst(looks, STAR, worst), 0);
}

/* A disturbed look is made good by a second; one never made is nothing. */
static void least_times_count(void)
{
    unsigned worst[COLL_WORST_MAX] = { 99, 99 };
    struct coll_look looks[STAR];

    star(looks);
    looks[2] = (struct coll_look){ .pair = { 0, 3 } };
    coll_look_add(&looks[2], 300, 9000);
    CU_ASSERT_EQUAL(coll_find_worst(looks, STAR, worst), 1);
    CU_ASSERT_EQUAL(worst[0], 2);
    coll_look_add(&looks[2], 81, 12000);
    coll_look_add(&looks[2], 500, 5500);
    CU_ASSERT_EQUAL(looks[2].times, 3);
    CU_ASSERT_DOUBLE_EQUAL(looks[2].short_us, 81, 0);
    CU_ASSERT_DOUBLE_EQUAL(looks[2].large_us, 5500, 0);
    CU_ASSERT_EQUAL(coll_find_worst(looks, STAR, worst), 0);
    looks[3].short_us = looks[3].large_us = 1e9;
    looks[3].times = 0;
    CU_ASSERT_EQUAL(coll_find_worst(looks, STAR, worst), 0);
    looks[0].times = 0;
    looks[3].times = 1;
    CU_ASSERT_EQUAL(coll_find_worst(looks, STAR, worst), 0);
}

/* 8 rounds of 2 messages within 2 s: 125 ms each. */
static void slow_links_are_measured_up_to_a_size(void)
{
    struct coll_look look = { .pair = { 0, 1 } };
    const uint64_t mib = 1 << 20;

    coll_look_add(&look, 100, 100 + 65528 * 0.08); /* 100 Mbit/s */
    CU_ASSERT_EQUAL(coll_look_reach(&look, mib, 8, 2e6), mib);
    coll_look_add(&look, 100, 100 + 65528 * 0.01);
    CU_ASSERT_EQUAL(coll_look_reach(&look, 4096, 8, 2e6), 4096);
    look = (struct coll_look){ .pair = { 0, 1 } };
    coll_look_add(&look, 100, 100 + 65528 * 0.8); /* 10 Mbit/s */
    CU_ASSERT_DOUBLE_EQUAL((double)coll_look_reach(&look, mib, 8, 2e6),
                           124900 / 0.8, 1);
    CU_ASSERT_EQUAL(coll_look_reach(&look, mib, 8, 1000),
                    COLL_LOOK_LARGE_BYTES);
    CU_ASSERT_EQUAL(coll_look_reach(&look, 4096, 8, 1000), 4096);
}

/* ------------------------------------------------------------------ for real
 */

enum { MEMBERS = 5 };

struct one {
    struct nf_group *all;
    pthread_t thread;
    struct nf_error err;
    enum nf_status status;
};

static void *serve(void *one_)
{
    struct one *one = one_;
    struct bench_team team;

    bench_team_init(&team, one->all, 20000000, NULL, &one->err);
    one->status = bench_serve(&team);
    bench_team_fini(&team);
    nf_group_close(one->all);
    return NULL;
}

static void measure(struct bench_team *team, uint32_t first, uint32_t second)
{
    const struct bench_request form = { .kind = BENCH_TEAM,
                                        .first = first,
                                        .partner = second };
    static const enum bench_kind kinds[] = { BENCH_PING, BENCH_EXCHANGE,
                                             BENCH_SENDS, BENCH_STREAM };
    static struct bench_result result;

    CU_ASSERT_EQUAL(bench_direct(team, &form, NULL, NULL), NF_OK);
    CU_ASSERT_EQUAL(team->work != NULL, first == 0);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        const struct bench_request request = { .kind = kinds[i],
                                               .bytes = 1000,
                                               .least = 7,
                                               .most = 7,
                                               .budget_us = 1,
                                               .warm = 2 };

        CU_ASSERT_EQUAL(bench_direct(team, &request, NULL, &result), NF_OK);
        CU_ASSERT_EQUAL(result.count, 7);
        for (uint32_t j = 0; j < result.count; j++)
            CU_ASSERT(result.us[j] > 0 && result.us[j] < 1e7);
    }
}

/* Rank 0 gets the times of two others, and goes on with all. */
static void any_two_can_be_measured(void)
{
    struct nf_group *groups[MEMBERS];
    struct one ones[MEMBERS];
    struct bench_team team;
    struct nf_error err;
    const struct bench_request everybody = { .kind = BENCH_TEAM,
                                             .ranks = MEMBERS };
    const struct bench_request barrier = {
        .kind = BENCH_TIME, .op = NF_COLL_BARRIER, .least = 3, .most = 3
    };
    const struct bench_request end = { .kind = BENCH_END };
    static struct bench_result result;

    CU_ASSERT_FATAL(
        nf_group_open_threads(MEMBERS, &bench_patient, groups, &err) == NF_OK);
    for (int i = 1; i < MEMBERS; i++) {
        ones[i] = (struct one){ .all = groups[i] };
        CU_ASSERT_FATAL(
            pthread_create(&ones[i].thread, NULL, serve, &ones[i]) == 0);
    }
    bench_team_init(&team, groups[0], 20000000, NULL, &err);
    measure(&team, 0, 3);
    measure(&team, 2, 4);
    measure(&team, 1, 2);
    CU_ASSERT_EQUAL(bench_direct(&team, &everybody, NULL, NULL), NF_OK);
    CU_ASSERT_EQUAL(bench_direct(&team, &barrier, NULL, &result), NF_OK);
    CU_ASSERT_EQUAL(result.count, 3);
    CU_ASSERT_EQUAL(bench_direct(&team, &end, NULL, NULL), NF_OK);
    bench_team_fini(&team);
    nf_group_close(groups[0]);
    for (int i = 1; i < MEMBERS; i++) {
        pthread_join(ones[i].thread, NULL);
        CU_ASSERT_EQUAL(ones[i].status, NF_OK);
    }
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "pairs stand for most", pairs_stand_for_most },
        { "routes of others are kinds of their own", routes_are_kinds },
        { "any map is right", any_map_is_right },
        { "every host is looked at", every_host_is_looked_at },
        { "looks are of one kind", looks_are_of_one_kind },
        { "many hosts are looked at evenly", many_hosts_are_looked_at_evenly },
        { "only what is worse is measured", only_what_is_worse_is_measured },
        { "what the usual pair shows is not measured twice",
          what_the_usual_shows_is_not_measured_twice },
        { "the least times count", least_times_count },
        { "slow links are measured up to a size",
          slow_links_are_measured_up_to_a_size },
        { "any two members can be measured", any_two_can_be_measured },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "where the model is measured", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
