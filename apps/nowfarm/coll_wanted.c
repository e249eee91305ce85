#include "config.h"
#include "apps/nowfarm/coll_wanted.h"
#include "apps/collbench/values.h"
#include "common/base/error.h"
#include "common/coll/radix.h"

/* The one that is asked for by name, for so many members. */
static const struct nf_coll_algorithm *named(const struct coll_options *o,
                                             uint32_t ranks)
{
    return nf_coll_for_rings(o->algorithm, &o->params.shape, ranks);
}

bool coll_is_wanted(const struct coll_options *o,
                    const struct nf_coll_algorithm *algorithm,
                    const struct nf_coll_query *query)
{
    if (o->algorithm != NULL && named(o, query->ranks) != algorithm)
        return false;
    return (o->all_algorithms || o->algorithm != NULL) &&
           nf_coll_serves_with(algorithm, query, &o->params);
}

/* ---- one call ---- */

struct wishes {
    const struct nf_coll_query *query;
    struct nf_coll_wish *list; /* [COLL_WISHES_MAX] */
    unsigned count;
};

static void add_wish(struct wishes *wishes, const struct nf_coll_wish *wish)
{
    if (wishes->count < COLL_WISHES_MAX)
        wishes->list[wishes->count++] = *wish;
}

/* Those of the fewest rounds, which mixed takes by itself, are the first of the hull, and
 * have a name as those that are chosen; the last are those of pairwise rounds.
 * @return false: there are none */
static bool add_radices(struct wishes *wishes)
{
    struct nf_radix_choice hull[NF_RADIX_CHOICES_MAX];
    uint32_t ranks = wishes->query->ranks;
    uint32_t count = ranks > 3 ? nf_radix_hull(ranks, hull) : 0;

    for (uint32_t i = 0; i + 1 < count; i++)
        add_wish(wishes,
                 &(struct nf_coll_wish){ .algorithm = &nf_coll_alltoall_mixed,
                                         .params = { .radices =
                                                         hull[i].radices } });
    return count > 1;
}

static void add_grid(struct wishes *wishes,
                     const struct nf_coll_algorithm *algorithm)
{
    uint32_t ranks = wishes->query->ranks, rows = 1;
    struct nf_coll_wish wish = { .algorithm = algorithm };

    for (uint32_t r = 2; r * r <= ranks; r++)
        if (ranks % r == 0)
            rows = r;
    wish.params.shape = (struct nf_coll_sides){ 2, { rows, ranks / rows } };
    if (algorithm == &nf_coll_alltoall_mdh &&
        nf_coll_serves_with(&nf_coll_alltoall_dh, wishes->query, &wish.params))
        return; /* the same messages */
    if (rows > 1 &&
        nf_coll_serves_with(algorithm, wishes->query, &wish.params))
        add_wish(wishes, &wish);
}

unsigned coll_list_wishes(const struct coll_options *o,
                          const struct nf_coll_query *query,
                          struct nf_coll_wish wishes_p[COLL_WISHES_MAX])
{
    struct wishes wishes = { query, wishes_p, 0 };

    if (o->algorithm == NULL)
        add_wish(&wishes, &(struct nf_coll_wish){ .algorithm = NULL });
    for (size_t i = 0; nf_coll_table[i] != NULL; i++) {
        const struct nf_coll_algorithm *algorithm = nf_coll_table[i];
        bool all = o->all_algorithms && algorithm->op == query->op;

        if (all && algorithm == &nf_coll_alltoall_mixed && add_radices(&wishes))
            continue;
        if (coll_is_wanted(o, algorithm, query))
            add_wish(&wishes,
                     &(struct nf_coll_wish){ .algorithm = algorithm,
                                             .segments = o->segments,
                                             .params = o->params });
        if (all && algorithm->by_shape)
            add_grid(&wishes, algorithm);
    }
    return wishes.count;
}

/* ---- all calls ---- */

unsigned coll_size_count(const struct coll_options *o, enum nf_coll_op op)
{
    return op == NF_COLL_BARRIER ? 1 : o->nsizes;
}

uint64_t coll_size_of(const struct coll_options *o, enum nf_coll_op op,
                      unsigned i)
{
    return op == NF_COLL_BARRIER ? 0 : o->sizes[i];
}

enum nf_status coll_not_served(const struct nf_coll_algorithm *algorithm,
                               const struct nf_coll_query *query,
                               struct nf_error *err)
{
    return nf_fail(
        err, NF_ERR_INVAL,
        "--algorithm %s: not for %u members and %llu bytes%s", algorithm->name,
        query->ranks, (unsigned long long)query->bytes,
        query->commutative ? "" : " by an operator that does not commute");
}

enum nf_status coll_check_served(const struct coll_options *o, uint32_t members,
                                 struct nf_error *err)
{
    const struct nf_coll_algorithm *algorithm = o->algorithm;
    unsigned parties = o->nslaves > 0 ? o->nslaves : members > 0;

    for (unsigned p = 0; p < parties && algorithm != NULL; p++)
        for (unsigned i = 0; i < coll_size_count(o, algorithm->op); i++) {
            struct nf_coll_query query = bench_query(
                algorithm->op, o->nslaves > 0 ? o->slaves[p] : members,
                coll_size_of(o, algorithm->op, i), o->ordered);

            if (!coll_is_wanted(o, named(o, query.ranks), &query))
                return coll_not_served(algorithm, &query, err);
        }
    return NF_OK;
}
