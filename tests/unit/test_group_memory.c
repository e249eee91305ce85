/* Groups whose calls may take so much memory: threads, real calls. */
#include "config.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/group/group.h"
#include "tests/unit/nf_unit.h"

enum { RANKS = 6, BLOCK = 100 }; /* elements, of 8 bytes */

/* One member: what its calls went by. */
struct member {
    struct nf_group *group;
    pthread_t thread;
    char allreduce[40], reduce[40];
    uint64_t reduce_kept_bytes;
    bool right;
};

static bool do_call(struct member *m, const struct nf_call *call,
                    char name_p[40], uint64_t *kept_p)
{
    struct nf_request *request;

    if (nf_group_start(m->group, call, &request) != NF_OK)
        return false;
    for (int i = 0; i < NF_CHOICES_KEPT; i++) {
        const struct nf_coll_choice *choice = &m->group->choices[i].choice;

        if (!m->group->choices[i].valid ||
            (int)choice->algorithm->op != (int)call->kind)
            continue;
        strcpy(name_p, choice->algorithm->name);
        *kept_p = nf_coll_kept_bytes(choice->algorithm, RANKS, BLOCK * 8,
                                     choice->segments);
    }
    return nf_request_wait(request) == NF_OK;
}

static int64_t sum_of(int i)
{
    return RANKS * (RANKS - 1) / 2 * 1000000 + RANKS * (int64_t)i;
}

static void *play(void *m_)
{
    struct member *m = m_;
    uint32_t rank = nf_group_rank(m->group);
    int64_t *mine = malloc(BLOCK * sizeof(*mine));
    int64_t *all = calloc(BLOCK, sizeof(*all));
    struct nf_call call = { .kind = NF_CALL_ALLREDUCE,
                            .send = mine,
                            .recv = all,
                            .count = BLOCK,
                            .type = NF_ELEM_INT64,
                            .op = NF_SUM };
    uint64_t kept;

    for (int i = 0; i < BLOCK; i++)
        mine[i] = (int64_t)rank * 1000000 + i;
    m->right = do_call(m, &call, m->allreduce, &kept);
    for (int i = 0; i < BLOCK; i++)
        m->right = m->right && all[i] == sum_of(i);
    memset(all, 0, BLOCK * sizeof(*all));
    call.kind = NF_CALL_REDUCE;
    m->right = m->right && do_call(m, &call, m->reduce, &m->reduce_kept_bytes);
    for (int i = 0; i < BLOCK && rank == 0; i++)
        m->right = m->right && all[i] == sum_of(i);
    free(mine);
    free(all);
    nf_group_close(m->group);
    return NULL;
}

static void run(const struct nf_group_options *options, uint64_t want_bytes,
                struct member members[RANKS])
{
    struct nf_group *groups[RANKS];
    struct nf_error err;

    CU_ASSERT_FATAL(nf_group_open_threads(RANKS, options, groups, &err) ==
                    NF_OK);
    for (int r = 0; r < RANKS; r++) {
        members[r] = (struct member){ .group = groups[r] };
        CU_ASSERT_EQUAL(groups[r]->memory_bytes, want_bytes);
    }
    for (int r = 0; r < RANKS; r++)
        CU_ASSERT_FATAL(
            pthread_create(&members[r].thread, NULL, play, &members[r]) == 0);
    for (int r = 0; r < RANKS; r++) {
        pthread_join(members[r].thread, NULL);
        CU_ASSERT(members[r].right);
        CU_ASSERT_STRING_EQUAL(members[r].allreduce, members[0].allreduce);
        CU_ASSERT_STRING_EQUAL(members[r].reduce, members[0].reduce);
    }
}

/* Of allreduce only the ring keeps less than two vectors. */
static void calls_keep_to_the_limit(void)
{
    const struct nf_group_options two = { .memory_bytes = 2 * BLOCK * 8 };
    const struct nf_group_options none = { .memory_bytes = 1 };
    struct member members[RANKS];

    run(NULL, 0, members);
    CU_ASSERT_STRING_NOT_EQUAL(members[0].allreduce, "allreduce.ring");
    run(&two, 2 * BLOCK * 8, members);
    CU_ASSERT_STRING_EQUAL(members[0].allreduce, "allreduce.ring");
    CU_ASSERT(members[0].reduce_kept_bytes <= 2 * BLOCK * 8);
    run(&none, 1, members);
    CU_ASSERT_STRING_EQUAL(members[0].allreduce, "allreduce.ring");
    CU_ASSERT(members[0].reduce_kept_bytes <= BLOCK * 8);
}

static void the_environment_has_a_say(void)
{
    const struct nf_group_options options = { .memory_bytes = 4 << 20 };
    struct member members[RANKS];

    setenv("NOWFARM_COLL_MEMORY", "1600B", 1);
    run(NULL, 2 * BLOCK * 8, members);
    CU_ASSERT_STRING_EQUAL(members[0].allreduce, "allreduce.ring");
    run(&options, 4 << 20, members);
    CU_ASSERT_STRING_NOT_EQUAL(members[0].allreduce, "allreduce.ring");
    setenv("NOWFARM_COLL_MEMORY", "", 1);
    run(NULL, 0, members);
    unsetenv("NOWFARM_COLL_MEMORY");
}

static char logged[200];
static int lines;

static void keep_log(enum nf_log_level level, const char *line)
{
    (void)level;
    lines++;
    strncpy(logged, line, sizeof(logged) - 1);
}

/* Once, however many groups go by it. */
static void what_is_no_size_is_told(void)
{
    struct member members[RANKS];

    nf_log_set_sink(keep_log);
    setenv("NOWFARM_COLL_MEMORY", "plenty", 1);
    run(NULL, 0, members);
    CU_ASSERT_PTR_NOT_NULL(strstr(logged, "NOWFARM_COLL_MEMORY: \"plenty\""));
    run(NULL, 0, members);
    setenv("NOWFARM_COLL_MEMORY", "12", 1);
    run(NULL, 0, members);
    CU_ASSERT_EQUAL(lines, 1);
    nf_log_set_sink(NULL);
    unsetenv("NOWFARM_COLL_MEMORY");
}

/* Nor is a group of some of them. */
static void without_memory_no_group_is_given(void)
{
    struct nf_group *untouched[RANKS], *groups[RANKS];
    struct nf_error err;
    enum nf_status status = NF_ERR_NOMEM;
    unsigned failures = 0;

    for (int r = 0; r < RANKS; r++)
        untouched[r] = (struct nf_group *)(void *)&untouched[r];
    for (long successes = 0; status != NF_OK && successes < 2000; successes++) {
        memcpy(groups, untouched, sizeof(groups));
        nf_alloc_fail_after(successes);
        status = nf_group_open_threads(RANKS, NULL, groups, &err);
        nf_alloc_fail_after(-1);
        if (status == NF_OK)
            break;
        failures++;
        CU_ASSERT_EQUAL(status, NF_ERR_NOMEM);
        CU_ASSERT_EQUAL(memcmp(groups, untouched, sizeof(groups)), 0);
    }
    CU_ASSERT_EQUAL_FATAL(status, NF_OK);
    CU_ASSERT(failures > RANKS);
    for (int r = 0; r < RANKS; r++)
        nf_group_close(groups[r]);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "calls keep to the limit, or to the least", calls_keep_to_the_limit },
        { "the environment has a say", the_environment_has_a_say },
        { "what is no size is told", what_is_no_size_is_told },
        { "without memory no group is given", without_memory_no_group_is_given },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "groups with little memory", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    unsetenv("NOWFARM_COLL");
    return nf_unit_main(suites);
}
