/* Groups one of whose members calculates with doubles in another way, as x87
 * does: no model chooses for them, so that all choose alike. */
#include "config.h"
#include <CUnit/CUnit.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/log.h"
#include "common/group/group.h"
#include "tests/unit/nf_unit.h"

#include "tests/unit/odd_members.h"

/* A model that all have, but one member as if it calculated quite otherwise.
 * @param odd  who does */
static void set_models(struct nf_group **groups, uint32_t odd)
{
    struct nf_coll_rules rules;
    char *text = NULL;
    size_t bytes = 0;

    nf_coll_rules_init(&rules);
    rules.model = nf_group_model;
    CU_ASSERT_EQUAL(nf_coll_rules_write(&rules, &text, &bytes, NULL), NF_OK);
    for (uint32_t i = 0; i < MEMBERS; i++)
        CU_ASSERT_EQUAL(nf_group_set_rules(groups[i], text, bytes, NULL, NULL),
                        NF_OK);
    groups[odd]->rules.model.pieces[0].start_us *= 1000;
    nf_group_forget_choices(groups[odd]);
    nf_free(text);
    nf_coll_rules_fini(&rules);
}

/* @return calls for which two members choose different things */
static uint32_t count_choices_that_differ(struct nf_group **groups)
{
    uint32_t count = 0;

    for (int op = 0; op < NF_COLL_OPS; op++)
        for (uint64_t bytes = 8; bytes <= 1 << 22; bytes *= 8)
            for (int ordered = 0; ordered < 2; ordered++) {
                struct nf_choice_query query = to_members(bytes);
                struct nf_coll_choice choices[MEMBERS];
                bool same = true;

                query.coll.op = (enum nf_coll_op)op;
                query.coll.elements = bytes / 8;
                query.coll.commutative = !ordered;
                query.type = NF_ELEM_FLOAT64;
                for (uint32_t i = 0; i < MEMBERS; i++) {
                    CU_ASSERT_EQUAL_FATAL(
                        nf_group_choose(groups[i], &query, &choices[i], NULL),
                        NF_OK);
                    CU_ASSERT(
                        nf_coll_serves(choices[i].algorithm, &query.coll));
                    same = same &&
                           choices[i].algorithm == choices[0].algorithm &&
                           choices[i].segments == choices[0].segments;
                }
                count += !same;
            }
    return count;
}

enum { SUMMED = 20000 };

static void *get_sums(void *group)
{
    static double sums[MEMBERS][SUMMED];
    double *mine = sums[nf_group_rank(group)];

    for (size_t n = 1; n <= SUMMED; n = n * 4 + 1) {
        for (size_t i = 0; i < n; i++)
            mine[i] = (double)i;
        if (nf_allreduce(group, NF_IN_PLACE, mine, n, NF_ELEM_FLOAT64,
                         NF_SUM) != NF_OK ||
            nf_bcast(group, mine, n, NF_ELEM_FLOAT64, 1) != NF_OK)
            return NULL;
        for (size_t i = 0; i < n; i++)
            if (mine[i] != (double)i * MEMBERS)
                return NULL;
    }
    return group;
}

static void get_all_sums(struct nf_group **groups)
{
    pthread_t threads[MEMBERS];

    for (uint32_t i = 0; i < MEMBERS; i++)
        pthread_create(&threads[i], NULL, get_sums, groups[i]);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        void *good;

        pthread_join(threads[i], &good);
        CU_ASSERT_PTR_NOT_NULL(good);
    }
}

/* No network: then no model has a say, so that none is refused by the others.
 */
static void one_who_calculates_otherwise_needs_no_model(void)
{
    struct nf_group *groups[MEMBERS];
    const struct nf_group_options options = { .algorithms = "" };
    const char *forced = "bcast.pipeline.fd,reduce.chain.fd";
    char name[32];

    nf_log_set_sink(keep_warning);
    for (uint32_t odd = 0; odd <= MEMBERS; odd++) {
        warnings = 0;
        open_members(groups, odd, &options);
        snprintf(name, sizeof(name), "doubles of member %u ", odd);
        CU_ASSERT_EQUAL(warnings, odd == MEMBERS ? 0 : 1);
        CU_ASSERT(odd == MEMBERS || strstr(warning, name) != NULL);
        set_models(groups, odd % MEMBERS);
        /* it matters */
        CU_ASSERT_EQUAL(count_choices_that_differ(groups) > 0, odd == MEMBERS);
        if (odd < MEMBERS)
            get_all_sums(groups);
        for (uint32_t i = 0; i < MEMBERS; i++)
            CU_ASSERT_EQUAL(nf_group_force(groups[i], forced, NULL), NF_OK);
        CU_ASSERT_EQUAL(count_choices_that_differ(groups) > 0, odd == MEMBERS);
        for (int i = 0; i < MEMBERS; i++)
            nf_group_close(groups[i]);
    }
    nf_log_set_sink(NULL);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "one who calculates otherwise needs no model",
          one_who_calculates_otherwise_needs_no_model },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "doubles of groups", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    unsetenv("NOWFARM_COLL");
    unsetenv("NOWFARM_NETWORK");
    return nf_unit_main(suites);
}
