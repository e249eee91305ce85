#include "config.h"
#include "apps/nowfarm/coll_wanted.h"
#include "apps/collbench/values.h"
#include "common/base/error.h"

bool coll_is_wanted(const struct coll_options *o,
                    const struct nf_coll_algorithm *algorithm,
                    const struct nf_coll_query *query)
{
    if (o->algorithm != NULL && o->algorithm != algorithm)
        return false;
    return (o->all_algorithms || o->algorithm != NULL) &&
           nf_coll_serves_with(algorithm, query, &o->params);
}

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

            if (!coll_is_wanted(o, algorithm, &query))
                return coll_not_served(algorithm, &query, err);
        }
    return NF_OK;
}
