/* Where hosts or links differ by more than twice: from few hosts on, and up to
 * ten times.  From two to three times between 5, 12 and 24: test_bcast_plan.c.
 */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include "tests/unit/bcast_nets.h"

/* Between how many bytes others may win, and by how much they about do. */
struct loss {
    int kind;
    uint32_t hosts;
    bool by_much; /* 5 to 10 times; or 2.1 to 3 */
    uint64_t from, to;
    double most; /* the tree, in times of the cheapest */
};

/* Between 5 hosts or more trees win wherever links differ, but for short messages
 * between 7, and between 5 in the networks of test_bcast_plan.c, that differ by little
 * more than twice.  They do not
 *   - between 3 and 4 hosts: pieces that go around (kseg, circulant) use a link
 *     that each tree leaves idle, and only a part of the message goes over the
 *     slowest one.  The planned tree is the best there is: test_bcast_limits.c;
 *   - where all links are equal: the same, see test_bcast_plan.c. */
static const struct loss losses[] = {
    { 0, 3, false, 4096, 131072, 1.17 },  { 0, 3, true, 4096, 1 << 20, 1.21 },
    { 0, 4, false, 4096, 131072, 1.08 },  { 0, 4, true, 4096, 1 << 20, 1.03 },
    { 1, 3, false, 4096, 8192, 1.25 },    { 1, 3, true, 4096, 16384, 1.18 },
    { 1, 4, false, 4096, 8192, 1.06 },    { 1, 4, true, 8192, 32768, 1.19 },
    { 1, 5, true, 8192, 32768, 1.07 },    { 1, 7, false, 4096, 16384, 1.07 },
    { 1, 7, true, 16384, 65536, 1.05 },   { 1, 12, true, 32768, 1 << 20, 1.06 },
    { 1, 24, true, 65536, 131072, 1.23 }, { 2, 3, false, 4096, 131072, 1.18 },
    { 2, 3, true, 4096, 1 << 20, 1.25 },  { 2, 4, false, 4096, 1 << 20, 1.11 },
    { 2, 4, true, 4096, 1 << 20, 1.12 },  { 2, 7, false, 4096, 8192, 1.01 },
    { 3, 3, false, 4096, 8192, 1.14 },    { 3, 3, true, 8192, 16384, 1.02 },
    { 3, 4, false, 4096, 1 << 20, 1.02 }, { 3, 4, true, 4096, 1 << 20, 1.01 },
};

static struct loss loss_of(int kind, uint32_t hosts, bool by_much)
{
    for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
        if (losses[i].kind == kind && losses[i].hosts == hosts &&
            losses[i].by_much == by_much)
            return losses[i];
    return (struct loss){ kind, hosts, by_much, UINT64_MAX, 0, 1 };
}

/* @return how many times the cheapest a tree takes at most, of 5 networks */
static double most_of(int kind, uint32_t hosts, double ratio, uint64_t bytes)
{
    double most = 1;

    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct nf_hetero net = net_of(kind, hosts, ratio, seed);
        struct nf_bcast_plan p = plan(&net, bytes);

        if (p.tree_us > p.cost_us * (1 + 1e-9))
            most = fmax(most, p.tree_us / p.cost_us);
        nf_bcast_plan_fini(&p);
        nf_hetero_fini(&net);
    }
    return most;
}

static void check(int kind, uint32_t hosts, bool by_much)
{
    static const uint64_t sizes[] = { 64,    4096,  8192,   16384,
                                      32768, 65536, 131072, 1 << 20 };
    static const double ratios[] = { 2.1, 2.5, 3, 5, 10 };
    struct loss may = loss_of(kind, hosts, by_much);
    double most = 1;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (int r = by_much ? 3 : 0; r < (by_much ? 5 : 3); r++) {
            double us = most_of(kind, hosts, ratios[r], sizes[i]);

            if (us > 1 && (sizes[i] < may.from || sizes[i] > may.to))
                printf("\n    kind %d, %u hosts, %g x, %d bytes: %.4f", kind,
                       hosts, ratios[r], (int)sizes[i], us);
            CU_ASSERT(us <= 1 || (sizes[i] >= may.from && sizes[i] <= may.to));
            most = fmax(most, us);
        }
    if (most > 1)
        printf("\n    kind %d, %u hosts, %s: others by %.3f at most", kind,
               hosts, by_much ? "5 to 10 x" : "2.1 to 3 x", most);
    CU_ASSERT(most <= may.most * (1 + 1e-9));
    CU_ASSERT(may.most == 1 || most > may.most - 0.015);
}

static void between_few_hosts(void)
{
    static const uint32_t hosts[] = { 3, 4, 7 };

    for (int kind = 0; kind < 4; kind++)
        for (int h = 0; h < 3; h++) {
            check(kind, hosts[h], false);
            check(kind, hosts[h], true);
        }
}

static void where_they_differ_by_much(void)
{
    static const uint32_t hosts[] = { 5, 12, 24 };

    for (int kind = 0; kind < 4; kind++)
        for (int h = 0; h < 3; h++)
            check(kind, hosts[h], true);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "between few hosts", between_few_hosts },
        { "where they differ by much", where_they_differ_by_much },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "trees win", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
