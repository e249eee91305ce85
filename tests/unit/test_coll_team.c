/* Who is named when a member of coll-bench is lost, and by which words: in a team
 * of two of them, where ranks are others, and when rank 0 is not in it. */
#include "config.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "apps/nowfarm/coll_world.h"
#include "common/base/alloc.h"
#include "tests/unit/nf_unit.h"

enum { MEMBERS = 5, LOST = 2, TIMEOUT_US = 300000 };

enum fate { STAYS, FALLS_SILENT, LEAVES };

struct member {
    pthread_t thread;
    struct nf_group *all;
    enum fate fate; /* when it has heard of the team */
    pthread_mutex_t *until_told;
};

static enum nf_status hear(struct nf_group *all, struct bench_request *request)
{
    return nf_bcast(all, request, sizeof(*request) / sizeof(uint64_t),
                    NF_ELEM_UINT64, 0);
}

static void *live(void *member_)
{
    struct member *m = member_;
    struct nf_error err = { NF_OK, "" };
    struct bench_request request;
    struct bench_team team;

    if (m->fate == STAYS) {
        bench_team_init(&team, m->all, TIMEOUT_US, NULL, &err);
        (void)bench_serve(&team);
        bench_team_fini(&team);
    } else {
        CU_ASSERT_EQUAL(hear(m->all, &request), NF_OK);
        CU_ASSERT_EQUAL(request.kind, BENCH_TEAM);
    }
    if (m->fate == FALLS_SILENT) {
        pthread_mutex_lock(m->until_told);
        pthread_mutex_unlock(m->until_told);
    }
    nf_group_close(m->all);
    return NULL;
}

/* What the command says when LOST is lost in such a team. */
static void lose(const struct bench_request *team, enum fate fate,
                 char text_p[NF_ERROR_TEXT_BYTES])
{
    const struct bench_request ping = {
        .kind = BENCH_PING, .bytes = 8, .least = 3, .most = 3, .warm = 1
    };
    static struct bench_result result;
    pthread_mutex_t until_told = PTHREAD_MUTEX_INITIALIZER;
    struct nf_group *groups[MEMBERS];
    struct member members[MEMBERS];
    struct nf_error err = { NF_OK, "" };
    struct coll_world world = { .members = MEMBERS };

    world.names = nf_calloc(MEMBERS, sizeof(*world.names));
    CU_ASSERT_EQUAL_FATAL(
        nf_group_open_threads(MEMBERS, &bench_patient, groups, &err), NF_OK);
    pthread_mutex_lock(&until_told);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        snprintf(world.names[i], sizeof(world.names[i]), "ws%u", i);
        members[i] = (struct member){ .all = groups[i],
                                      .fate = i == LOST ? fate : STAYS,
                                      .until_told = &until_told };
        if (i > 0)
            CU_ASSERT_EQUAL_FATAL(pthread_create(&members[i].thread, NULL, live,
                                                 &members[i]),
                                  0);
    }
    bench_team_init(&world.team, groups[0], TIMEOUT_US, NULL, &err);
    CU_ASSERT_EQUAL(bench_direct(&world.team, team, NULL, NULL), NF_OK);
    CU_ASSERT(bench_direct(&world.team, &ping, NULL, &result) < 0);
    coll_world_name_guilty(&world, &err);
    memcpy(text_p, err.text, sizeof(err.text));
    bench_team_fini(&world.team);
    nf_group_close(groups[0]);
    pthread_mutex_unlock(&until_told);
    for (uint32_t i = 1; i < MEMBERS; i++)
        pthread_join(members[i].thread, NULL);
    nf_free(world.names);
}

static void check(uint32_t first, enum fate fate, const char *want)
{
    const struct bench_request team = { .kind = BENCH_TEAM,
                                        .first = first,
                                        .partner = LOST };
    char text[NF_ERROR_TEXT_BYTES];

    lose(&team, fate, text);
    CU_ASSERT_STRING_EQUAL(text, want);
    if (strcmp(text, want) != 0)
        printf("\n    first %u: %s\n", first, text);
}

static void a_partner_is_named_by_its_own_rank(void)
{
    check(0, FALLS_SILENT, "rank 2 on ws2: member 2 is silent");
    check(0, LEAVES, "rank 2 on ws2: member 2 has ended");
}

static void nor_is_who_tells_of_it_blamed(void)
{
    check(1, FALLS_SILENT, "rank 2 on ws2: member 2 is silent");
    check(1, LEAVES, "rank 2 on ws2: member 2 has ended");
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "a partner is named by its own rank",
          a_partner_is_named_by_its_own_rank },
        { "nor is who tells of it blamed", nor_is_who_tells_of_it_blamed },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "teams that lose a member", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
