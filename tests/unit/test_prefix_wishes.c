/* Algorithms wished for, and what `nowfarm prefix` calls. */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include "apps/prefix/wishes.h"
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "tests/unit/nf_unit.h"

struct unmet {
    int count;
    char why[NF_ERROR_TEXT_BYTES];
};

static void note_unmet(void *user, const char *why)
{
    struct unmet *unmet = user;

    unmet->count++;
    snprintf(unmet->why, sizeof(unmet->why), "%s", why);
}

static void what_cannot_serve_is_not_wished_for(void)
{
    static const uint32_t hosts[8] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    static const struct {
        const char *wishes;
        uint32_t ranks;
        const char *taken, *why; /* why: NULL, all are met */
    } cases[] = {
        { "", 3, "", NULL },
        { "exscan.linear", 3, "exscan.linear", NULL },
        { "gather.binomial , bcast.pipeline.fd:k=4", 3,
          "bcast.pipeline.fd:k=4,gather.binomial", NULL },
        { "alltoall.burst,reduce.linear", 3, "", NULL }, /* no such calls */
        { "allgather.rec_doubling", 4, "allgather.rec_doubling", NULL },
        { "allgather.rec_doubling,exscan.linear", 3, "exscan.linear",
          "allgather.rec_doubling" },
        { "bcast.vdg_ring", 2, "bcast.vdg_ring", NULL }, /* in empty blocks */
        { "allreduce.ring", 8, "allreduce.ring", NULL },
        { "allreduce.ring", 1, "allreduce.ring", NULL },
        { "bcast.vdg_ring,bcast.flat", 2, "bcast.flat", NULL }, /* the last */
        { "allgather.ring,allgather.rec_doubling", 3, "", "allgather.rec_doubling" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct unmet unmet = { .count = 0 };
        char *taken = NULL;

        CU_ASSERT_EQUAL(nf_prefix_take_wishes(cases[i].wishes, cases[i].ranks,
                                              hosts, note_unmet, &unmet,
                                              &taken),
                        NF_OK);
        CU_ASSERT_PTR_NOT_NULL_FATAL(taken);
        CU_ASSERT_STRING_EQUAL(taken, cases[i].taken);
        CU_ASSERT_EQUAL(unmet.count, cases[i].why != NULL);
        if (cases[i].why != NULL)
            CU_ASSERT_PTR_NOT_NULL(strstr(unmet.why, cases[i].why));
        nf_free(taken);
    }
}

int main(void)
{
    CU_TestInfo wishes[] = {
        { "what cannot serve is not wished for",
          what_cannot_serve_is_not_wished_for },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "wishes", NULL, NULL, NULL, NULL, wishes },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
