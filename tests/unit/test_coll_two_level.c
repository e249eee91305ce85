/* Algorithms of two levels: right for any hosts, and each item crosses to each
 * host once. */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include "common/base/rng.h"
#include "common/coll/check.h"
#include "tests/unit/nf_unit.h"

enum { RANKS_MAX = 64 };

static const char *const names[] = { "bcast.two_level", "reduce.two_level",
                                     "allreduce.two_level",
                                     "barrier.two_level" };
enum { NAMES = sizeof(names) / sizeof(*names) };

/* Neighbours, going round, by chance, all on one, each on its own. */
enum { WAYS = 5 };
static uint32_t draw_hosts(struct nf_rng *rng, int way, uint32_t ranks,
                           uint32_t hosts[RANKS_MAX])
{
    uint32_t wanted = 1 + (uint32_t)nf_rng_below(rng, ranks), count = 0;
    bool seen[RANKS_MAX] = { false };

    for (uint32_t r = 0; r < ranks; r++) {
        hosts[r] = way == 0   ? r * wanted / ranks
                   : way == 1 ? r % wanted
                   : way == 2 ? (uint32_t)nf_rng_below(rng, wanted)
                   : way == 3 ? 7 % ranks
                              : ranks - 1 - r;
        count += !seen[hosts[r]];
        seen[hosts[r]] = true;
    }
    return count;
}

/* Is it right, and does each item cross as often as it must? */
static bool is_right(const struct nf_coll_algorithm *algorithm,
                     const struct nf_coll_args *args, uint32_t hosts)
{
    struct nf_coll_claim claim = nf_coll_claim_of(algorithm, args);
    struct nf_coll_faults faults;
    struct nf_schedule s;
    struct nf_error err = { .text = "crosses too often" };
    uint64_t crossings = 0, want = (uint64_t)args->segments * (hosts - 1);
    enum nf_status status =
        nf_coll_make(algorithm, args, NF_ALL_RANKS, &s, &err);

    if (algorithm->op == NF_COLL_ALLREDUCE)
        want *= 2;
    claim.orders = 1;
    if (status == NF_OK)
        status = nf_coll_check(&claim, &s, &faults, &err);
    for (size_t m = 0; m < s.count; m++)
        for (uint32_t i = 0; i < s.messages[m].nspans; i++)
            if (args->hosts[s.messages[m].src] !=
                args->hosts[s.messages[m].dst])
                crossings += s.spans[s.messages[m].first_span + i].count;
    if (status == NF_OK && algorithm->op != NF_COLL_BARRIER &&
        crossings != want)
        status = NF_ERR_FAILED;
    nf_schedule_fini(&s);
    if (status != NF_OK)
        printf("\n    %s P %u root %u k %u hosts %u: %s", algorithm->name,
               args->ranks, args->root, args->segments, hosts, err.text);
    return status == NF_OK;
}

static void any_hosts_are_right(void)
{
    static const uint32_t ks[] = { 1, 2, 5 };
    struct nf_rng rng = { 1 };
    unsigned wrong = 0;

    for (int n = 0; n < NAMES; n++)
        for (uint32_t ranks = 1; ranks <= RANKS_MAX; ranks++)
            for (int way = 0; way < WAYS; way++)
                for (int k = 0; k < 3; k++) {
                    uint32_t hosts[RANKS_MAX];
                    uint32_t count = draw_hosts(&rng, way, ranks, hosts);
                    struct nf_coll_args args = {
                        .ranks = ranks,
                        .root = (uint32_t)nf_rng_below(&rng, ranks),
                        .segments = ks[k],
                        .hosts = hosts,
                    };
                    const struct nf_coll_algorithm *a = nf_coll_find(names[n]);

                    if (a->op == NF_COLL_ALLREDUCE || a->op == NF_COLL_BARRIER)
                        args.root = 0;
                    wrong += wrong < 10 && !is_right(a, &args, count);
                }
    CU_ASSERT_EQUAL(wrong, 0);
}

/* As many rounds as one level has, where every rank has a host of its own. */
static void one_rank_a_host_is_one_level(void)
{
    const struct nf_coll_args args = { .ranks = 13, .root = 4, .segments = 6 };
    struct nf_schedule two, one;
    struct nf_error err;

    CU_ASSERT_EQUAL(nf_coll_make(nf_coll_find("bcast.two_level"), &args,
                                 NF_ALL_RANKS, &two, &err),
                    NF_OK);
    CU_ASSERT_EQUAL(nf_coll_make(nf_coll_find("bcast.circulant"), &args,
                                 NF_ALL_RANKS, &one, &err),
                    NF_OK);
    CU_ASSERT_EQUAL(two.count, one.count);
    CU_ASSERT_EQUAL(nf_schedule_rounds(&two), nf_schedule_rounds(&one));
    nf_schedule_fini(&two);
    nf_schedule_fini(&one);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "any hosts are right, and items cross once", any_hosts_are_right },
        { "one rank a host is one level", one_rank_a_host_is_one_level },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "two levels", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
