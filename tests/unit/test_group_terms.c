/* Groups whose members were opened otherwise: with other algorithms, another
 * torus, or `deterministic` or not.  That is found when they open, not by a
 * call that hangs or combines in two orders. */
#include "config.h"
#include <pthread.h>
#include <string.h>
#include "common/group/group.h"
#include "tests/unit/nf_unit.h"

enum { MEMBERS = 6 };

static struct member {
    struct nf_group *group;
    struct nf_group_options options;
    enum nf_status status;
} members[MEMBERS];

static void *share(void *user)
{
    struct member *member = user;

    member->status = nf_group_share_texts(member->group, &member->options);
    return NULL;
}

/* As PVM tasks open, each by itself.  @param who  has @p odd, the others @p
 * usual */
static void open_all(uint32_t who, const struct nf_group_options *odd,
                     const struct nf_group_options *usual)
{
    struct nf_mesh *meshes[MEMBERS];
    pthread_t threads[MEMBERS];
    struct nf_error err = { .status = NF_OK };

    CU_ASSERT_EQUAL_FATAL(nf_mesh_open_local(MEMBERS, meshes, NULL), NF_OK);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        members[i].options = i == who ? *odd : *usual;
        CU_ASSERT_EQUAL_FATAL(nf_group_create(meshes[i], 0, NULL,
                                              &members[i].options,
                                              &members[i].group, &err),
                              NF_OK);
    }
    for (uint32_t i = 0; i < MEMBERS; i++)
        CU_ASSERT_EQUAL_FATAL(
            pthread_create(&threads[i], NULL, share, &members[i]), 0);
    for (uint32_t i = 0; i < MEMBERS; i++)
        pthread_join(threads[i], NULL);
}

static void close_all(void)
{
    for (uint32_t i = 0; i < MEMBERS; i++)
        nf_group_close(members[i].group);
}

/* Each member fails, none is lost, and the one that found it says what it is.
 */
static void expect_mismatch(uint32_t who, const struct nf_group_options *odd,
                            const struct nf_group_options *usual,
                            const char *what)
{
    uint32_t told = 0;

    open_all(who, odd, usual);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        const struct nf_error *error = nf_group_error(members[i].group);

        CU_ASSERT_EQUAL(members[i].status, NF_ERR_MISMATCH);
        CU_ASSERT_EQUAL(error->status, NF_ERR_MISMATCH);
        CU_ASSERT_PTR_NOT_NULL(
            strstr(error->text, "opened the group otherwise"));
        told += strstr(error->text, what) != NULL;
        for (uint32_t j = 0; j < MEMBERS; j++)
            CU_ASSERT_FALSE(nf_group_is_lost(members[i].group, j));
    }
    CU_ASSERT(told > 0);
    close_all();
}

static void other_options_are_found(void)
{
    static const struct {
        struct nf_group_options odd, usual;
        const char *what;
    } rows[] = {
        { { .algorithms = "bcast.flat" },
          { .algorithms = NULL },
          "algorithms" },
        { { .algorithms = "bcast.flat" },
          { .algorithms = "bcast.binomial" },
          "algorithms" },
        { { .algorithms = "bcast.pipeline.fd:k=2" },
          { .algorithms = "bcast.pipeline.fd:k=3" },
          "algorithms" },
        { { .deterministic = 1 }, { .deterministic = 0 }, "deterministic" },
        { { .torus = "2x3" }, { .torus = NULL }, "torus" },
        { { .torus = "2x3" }, { .torus = "3x2" }, "torus" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (uint32_t who = 0; who < MEMBERS; who++)
            expect_mismatch(who, &rows[i].odd, &rows[i].usual, rows[i].what);
}

/* What means the same is the same. */
static void the_same_in_other_words_is_no_difference(void)
{
    static const struct {
        struct nf_group_options odd, usual;
    } rows[] = {
        { { .algorithms = "bcast.flat,reduce.linear" },
          { .algorithms = "reduce.linear,bcast.flat" } },
        { { .algorithms = "" }, { .algorithms = NULL } },
        { { .algorithms = "alltoall.bruck:r=3" },
          { .algorithms = "alltoall.bruck:radix=3" } },
        { { .algorithms = "bcast.pipeline.fd:k=02" },
          { .algorithms = "bcast.pipeline.fd:k=2" } },
        { { .torus = "" }, { .torus = NULL } },
        { { .deterministic = 1, .torus = "2x3" }, { .deterministic = 1 } },
        { { .deterministic = 7 }, { .deterministic = 1 } },
        { { .timeout_us = 30000000 }, { .timeout_us = -1 } },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (uint32_t who = 0; who < MEMBERS; who++) {
            open_all(who, &rows[i].odd, &rows[i].usual);
            for (uint32_t m = 0; m < MEMBERS; m++)
                CU_ASSERT_EQUAL(members[m].status, NF_OK);
            close_all();
        }
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "who has other options is found when the group opens",
          other_options_are_found },
        { "the same in other words is no difference",
          the_same_in_other_words_is_no_difference },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "terms of groups", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
