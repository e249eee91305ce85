#include "config.h"
#include "sim/mesh_study.h"
#include <math.h>
#include "common/base/alloc.h"

struct study {
    const struct nf_mesh_cast *cast;
    const struct nf_uniform_algorithm *algorithm;
    uint32_t nodes;
    uint32_t *place; /* [mesh nodes] */
    int64_t *ready;  /* [nodes] */
    double squares;  /* of the distances from the mean so far */
    struct nf_mesh_study so_far;
};

/* By Welford's recurrence, as sums of squares would cancel. */
static void take(struct study *s, const struct nf_mesh_result *result,
                 int64_t ideal)
{
    struct nf_mesh_study *f = &s->so_far;
    double time = (double)result->time, off = time - f->mean;

    f->runs++;
    f->mean += off / f->runs;
    s->squares += off * (time - f->mean);
    f->deviation = f->runs > 1 ? sqrt(s->squares / (f->runs - 1)) : 0;
    f->ideal += ((double)ideal - f->ideal) / f->runs;
    f->waits += ((double)result->waits - f->waits) / f->runs;
    f->waited += ((double)result->waited - f->waited) / f->runs;
    if (f->runs == 1 || result->time < f->least)
        f->least = result->time;
    if (result->time > f->most)
        f->most = result->time;
}

static enum nf_status run(struct study *s, uint64_t seed, struct nf_error *err)
{
    struct nf_uniform uniform = nf_mesh_uniform(s->cast);
    struct nf_mesh_result result;
    struct nf_tree tree;
    int64_t ideal = 0;
    enum nf_status status;

    nf_mesh_place(&s->cast->mesh, seed, s->nodes, s->place);
    status = nf_mesh_tree(&s->cast->mesh, s->algorithm, &uniform, s->place,
                          s->nodes, &tree, err);
    if (status != NF_OK)
        return status;
    status = nf_uniform_eval(&uniform, &tree, s->ready);
    if (status != NF_OK)
        nf_fail(err, status, "out of memory");
    else
        ideal = nf_uniform_last(s->ready, s->nodes);
    if (status == NF_OK)
        status = nf_mesh_cast(s->cast, &tree, s->place, NULL, &result, err);
    if (status == NF_OK)
        take(s, &result, ideal);
    nf_tree_fini(&tree);
    return status;
}

enum nf_status nf_mesh_study(const struct nf_mesh_cast *cast,
                             const struct nf_uniform_algorithm *algorithm,
                             uint32_t nodes, uint64_t seed, uint32_t runs,
                             struct nf_mesh_study *study_p,
                             struct nf_error *err)
{
    struct study s = {
        .cast = cast,
        .algorithm = algorithm,
        .nodes = nodes,
        .place = nf_calloc(cast->mesh.nodes, sizeof(*s.place)),
        .ready = nf_calloc(nodes, sizeof(*s.ready)),
    };
    enum nf_status status = NF_OK;

    if (s.place == NULL || s.ready == NULL)
        status = nf_fail(err, NF_ERR_NOMEM, "out of memory");
    for (uint32_t r = 0; r < runs && status == NF_OK; r++)
        status = run(&s, seed + r, err);
    if (status == NF_OK)
        *study_p = s.so_far;
    nf_free(s.place);
    nf_free(s.ready);
    return status;
}
