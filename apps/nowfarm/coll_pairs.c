/* Which pair of members stands for the others of its kind. */
#include "config.h"
#include "apps/nowfarm/coll_pairs.h"
#include "apps/collbench/team.h"
#include "common/base/alloc.h"

struct kind {
    const uint32_t *hosts;
    const uint64_t *routes;
    uint32_t ranks, nhosts;
    bool same_host, by_daemon;
};

static bool is_of(const struct kind *kind, uint32_t a, uint32_t b)
{
    bool by_daemon = kind->routes != NULL &&
                     bench_by_daemon(kind->routes, kind->ranks, a, b);

    return (kind->hosts[a] == kind->hosts[b]) == kind->same_host &&
           by_daemon == kind->by_daemon;
}

/* Where pairs between the hosts of these two are counted. */
static uint32_t *count_of(const struct kind *kind, uint32_t *counts, uint32_t a,
                          uint32_t b)
{
    uint32_t x = kind->hosts[a], y = kind->hosts[b];

    return x < y ? &counts[(size_t)x * kind->nhosts + y]
                 : &counts[(size_t)y * kind->nhosts + x];
}

enum nf_status coll_find_pair(const uint32_t *hosts, const uint64_t *routes,
                              uint32_t ranks, bool same_host, bool by_daemon,
                              struct coll_pair *pair_p)
{
    struct kind kind = { hosts, routes, ranks, 0, same_host, by_daemon };
    uint32_t *counts, most = 0;

    for (uint32_t i = 0; i < ranks; i++)
        if (hosts[i] >= kind.nhosts)
            kind.nhosts = hosts[i] + 1;
    counts = nf_calloc((size_t)kind.nhosts * kind.nhosts, sizeof(*counts));
    if (counts == NULL)
        return NF_ERR_NOMEM;
    for (uint32_t i = 0; i < ranks; i++)
        for (uint32_t j = i + 1; j < ranks; j++)
            if (is_of(&kind, i, j))
                ++*count_of(&kind, counts, i, j);
    for (uint32_t i = 0; i < ranks; i++)
        for (uint32_t j = i + 1; j < ranks; j++)
            if (is_of(&kind, i, j) && *count_of(&kind, counts, i, j) > most) {
                most = *count_of(&kind, counts, i, j);
                *pair_p = (struct coll_pair){ i, j };
            }
    nf_free(counts);
    return most > 0 ? NF_OK : NF_WAIT;
}
