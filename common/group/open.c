/* Making groups, and what belongs to them as long as they live. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/doubles.h"
#include "common/base/error.h"
#include "common/coll/wish.h"
#include "common/group/group.h"

enum { TIMEOUT_US = 60000000 };
/* A century: what is added to it stays far from an overflow. */
static const int64_t TIMEOUT_MOST_US = INT64_C(100) * 366 * 86400 * 1000000;

static int64_t monotonic_us(void *user)
{
    (void)user;
    return nf_now_us();
}

static void destroy(struct nf_group *group)
{
    for (uint32_t i = 0; i < NF_PLANS_KEPT; i++)
        nf_plan_destroy(group->plans[i]);
    nf_shrink_forget(group);
    nf_coll_rules_fini(&group->rules);
    nf_measured_destroy(group->measured);
    nf_torus_choices_destroy(group->torus);
    nf_free(group->told_words);
    nf_free(group->spare);
    nf_free(group->lost);
    nf_free(group->whys);
    nf_free(group->left_us);
    nf_free(group->chase.seen);
    nf_free(group->early_bytes);
    nf_free(group->hosts);
    nf_free(group);
}

static void find_hosts(struct nf_group *group, const struct nf_mesh *mesh)
{
    for (uint32_t i = 0, other; i < group->ranks; i++) {
        group->hosts[i] = nf_mesh_host_of(mesh, i);
        for (other = 0; group->hosts[other] != group->hosts[i]; other++)
            continue;
        group->nhosts += other == i;
    }
    group->part = nf_model_fullest_part(group->hosts, group->ranks);
    group->least = nf_model_least_full(group->hosts, group->ranks);
}

static enum nf_status set_torus(struct nf_group *group,
                                const struct nf_group_options *options,
                                struct nf_error *err)
{
    const char *text = options != NULL ? options->torus : NULL;
    struct nf_coll_sides shape;

    if (text == NULL || text[0] == '\0' || group->ranks == 1)
        return NF_OK;
    if (!nf_coll_sides_read(text, &shape))
        return nf_fail(err, NF_ERR_INVAL,
                       "torus \"%.40s\": want sides such as 3x4", text);
    return nf_torus_choices_create(&shape, group->ranks, &group->torus, err);
}

enum nf_status nf_group_create(struct nf_mesh *mesh, uint64_t id,
                               const struct nf_group_clock *clock,
                               const struct nf_group_options *options,
                               struct nf_group **group_p, struct nf_error *err)
{
    struct nf_group *group = nf_calloc(1, sizeof(*group));
    const char *algorithms = options != NULL ? options->algorithms : NULL;
    enum nf_status status;

    if (group == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    nf_coll_rules_init(&group->rules);
    group->rank = mesh->rank;
    group->ranks = mesh->ranks;
    group->id = id;
    group->clock.now_us = monotonic_us;
    if (clock != NULL)
        group->clock = *clock;
    group->timeout_us = TIMEOUT_US;
    group->early_most_bytes = NF_EARLY_BYTES;
    if (options != NULL && options->timeout_us != 0)
        group->timeout_us = options->timeout_us < TIMEOUT_MOST_US
                                ? options->timeout_us
                                : TIMEOUT_MOST_US;
    group->deterministic = options != NULL && options->deterministic != 0;
    group->stop = options != NULL ? options->stop : NULL;
    group->has_odd_doubles = !nf_doubles_are_plain();
    group->memory_bytes = options != NULL ? options->memory_bytes : 0;
    group->blamed = NF_PLAN_NONE;
    group->lost = nf_calloc(4, group->ranks);
    group->whys = nf_calloc(group->ranks, sizeof(*group->whys));
    group->left_us = nf_calloc(group->ranks, 2 * sizeof(*group->left_us));
    group->chase.seen = nf_calloc(group->ranks, sizeof(*group->chase.seen));
    group->early_bytes = nf_calloc(group->ranks, sizeof(*group->early_bytes));
    group->hosts = nf_calloc(group->ranks, sizeof(*group->hosts));
    if (group->lost == NULL || group->whys == NULL || group->left_us == NULL ||
        group->chase.seen == NULL || group->early_bytes == NULL ||
        group->hosts == NULL) {
        destroy(group);
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    }
    find_hosts(group, mesh);
    group->left = group->lost + group->ranks;
    group->chase.asked = group->left + group->ranks;
    group->paused = group->chase.asked + group->ranks;
    group->chase.seen_us = group->left_us + group->ranks;
    if (algorithms == NULL)
        algorithms = getenv("NOWFARM_COLL");
    status =
        algorithms == NULL ? NF_OK : nf_group_force(group, algorithms, err);
    if (status == NF_OK)
        status = set_torus(group, options, err);
    if (status != NF_OK) {
        destroy(group);
        return status;
    }
    group->mesh = mesh;
    mesh->landing = (struct nf_mesh_landing){ .self = group,
                                              .is_later = nf_group_is_later,
                                              .find = nf_group_landing };
    *group_p = group;
    return NF_OK;
}

void nf_group_close(struct nf_group *group)
{
    if (group == NULL)
        return;
    while (group->requests != NULL)
        nf_group_drop_request(group->requests);
    nf_group_forget_early(group);
    nf_mesh_close(group->mesh);
    destroy(group);
}

/* --------------------------------------------------------------------- public
 */

enum nf_status nf_group_open(const int *tids, uint32_t count, uint64_t id,
                             const struct nf_group_options *options,
                             struct nf_group **group_p, struct nf_error *err)
{
    struct nf_mesh_terms terms = { .id = id, .timeout_us = TIMEOUT_US };
    struct nf_mesh *mesh;
    struct nf_group *group;
    enum nf_status status;

    if (count < 1 || count > NF_COLL_RANKS_MAX)
        return nf_fail(err, NF_ERR_INVAL, "%u members: want 1 to %d", count,
                       NF_COLL_RANKS_MAX);
    if (options != NULL)
        terms.stop = options->stop;
    if (options != NULL && options->timeout_us > 0)
        terms.timeout_us = options->timeout_us < TIMEOUT_MOST_US
                               ? options->timeout_us
                               : TIMEOUT_MOST_US;
    status = nf_mesh_open_pvm(tids, count, &terms, &mesh, err);
    if (status != NF_OK)
        return status;
    status = nf_group_create(mesh, id, NULL, options, &group, err);
    if (status != NF_OK) {
        nf_mesh_close(mesh);
        return status;
    }
    status = nf_group_share_texts(group, options);
    if (status != NF_OK) {
        nf_fail(err, status, "%s", group->error.text);
        nf_group_close(group);
        return status;
    }
    *group_p = group;
    return NF_OK;
}

/* Of all threads, or of none: then their meshes are closed too. */
static enum nf_status open_over(struct nf_mesh **meshes, uint32_t count,
                                const struct nf_group_options *options,
                                struct nf_group **groups, struct nf_error *err)
{
    uint32_t made = 0;
    enum nf_status status = NF_OK;

    for (; made < count && status == NF_OK; made += status == NF_OK)
        status = nf_group_create(meshes[made], 0, NULL, options, &groups[made],
                                 err);
    if (status == NF_OK)
        status = nf_group_share_here(groups, count, options, err);
    for (uint32_t i = 0; i < count && status != NF_OK; i++) {
        if (i < made)
            nf_group_close(groups[i]);
        else
            nf_mesh_close(meshes[i]);
    }
    return status;
}

enum nf_status nf_group_open_threads(uint32_t count,
                                     const struct nf_group_options *options,
                                     struct nf_group **groups_p,
                                     struct nf_error *err)
{
    struct nf_mesh **meshes;
    struct nf_group **groups;
    enum nf_status status;

    if (count < 1 || count > NF_COLL_RANKS_MAX)
        return nf_fail(err, NF_ERR_INVAL, "%u members: want 1 to %d", count,
                       NF_COLL_RANKS_MAX);
    meshes = nf_calloc(count, sizeof(struct nf_mesh *));
    groups = nf_calloc(count, sizeof(struct nf_group *));
    if (meshes == NULL || groups == NULL)
        status = nf_fail(err, NF_ERR_NOMEM, "out of memory");
    else
        status = nf_mesh_open_local(count, meshes, err);
    if (status == NF_OK) {
        status = open_over(meshes, count, options, groups, err);
        if (status == NF_OK)
            memcpy(groups_p, groups, count * sizeof(struct nf_group *));
    }
    nf_free(meshes);
    nf_free(groups);
    return status;
}

uint32_t nf_group_rank(const struct nf_group *group)
{
    return group->rank;
}

uint32_t nf_group_size(const struct nf_group *group)
{
    return group->ranks;
}

const struct nf_error *nf_group_error(const struct nf_group *group)
{
    return &group->error;
}

int nf_group_is_lost(const struct nf_group *group, uint32_t rank)
{
    /* Who leaves a group that has been given up is not to blame.  Who leaves
     * another one is gone: slaves that bring shared data go by that. */
    return rank < group->ranks &&
           (group->lost[rank] || (group->left[rank] && !group->revoked));
}

const char *nf_group_why_lost(const struct nf_group *group, uint32_t rank)
{
    if (!nf_group_is_lost(group, rank))
        return NULL;
    if (group->lost[rank] && group->whys[rank] != NULL)
        return group->whys[rank];
    return group->left[rank] ? "has ended" : "is silent";
}

uint32_t nf_group_blamed(const struct nf_group *group)
{
    enum nf_status reason = group->error.status;

    return (reason == NF_ERR_DEAD || reason == NF_ERR_TIMEDOUT) &&
                   group->blamed < group->ranks && group->lost[group->blamed]
               ? group->blamed
               : UINT32_MAX;
}

size_t nf_group_fds(struct nf_group *group, const int **fds_p)
{
    return group->mesh == NULL ? 0 : nf_mesh_fds(group->mesh, fds_p);
}

/* Of all types alike: the units of one, and the bytes of a structure. */
enum { UNITS_MOST = UINT32_MAX / 8 };

static enum nf_status add_type(struct nf_group *group, uint32_t units,
                               uint32_t unit_bytes,
                               const struct nf_packing *packing, int *type_p)
{
    struct nf_user_codes *codes = &group->codes;

    if (codes->ntypes == NF_USER_CODES_MAX)
        return nf_fail(&group->error, NF_ERR_RANGE, "more than %d types",
                       NF_USER_CODES_MAX);
    codes->types[codes->ntypes].units = units;
    codes->types[codes->ntypes].unit_bytes = unit_bytes;
    codes->types[codes->ntypes].packing =
        packing != NULL ? *packing : (struct nf_packing){ .pack = NULL };
    *type_p = NF_ELEM_USER + (int)codes->ntypes++;
    return NF_OK;
}

enum nf_status nf_group_define_struct(struct nf_group *group, size_t bytes,
                                      const struct nf_packing *packing,
                                      int *type_p)
{
    if (bytes == 0 || bytes > UNITS_MOST)
        return nf_fail(&group->error, NF_ERR_RANGE,
                       "a structure of %zu bytes: want 1 to %u", bytes,
                       (unsigned)UNITS_MOST);
    if (packing != NULL && (packing->pack == NULL || packing->unpack == NULL))
        return nf_fail(&group->error, NF_ERR_INVAL,
                       "want both pack() and unpack()");
    if (packing != NULL &&
        (packing->packed_bytes == 0 || packing->packed_bytes > UNITS_MOST))
        return nf_fail(&group->error, NF_ERR_RANGE,
                       "a structure of %zu packed bytes: want 1 to %u",
                       packing->packed_bytes, (unsigned)UNITS_MOST);
    return add_type(group, (uint32_t)bytes, 1, packing, type_p);
}

enum nf_status nf_group_define_type(struct nf_group *group, uint32_t units,
                                    uint32_t unit_bytes, int *type_p)
{
    if (units == 0 || units > UNITS_MOST ||
        (unit_bytes != 1 && unit_bytes != 2 && unit_bytes != 4 &&
         unit_bytes != 8))
        return nf_fail(&group->error, NF_ERR_RANGE,
                       "a type of %u units of %u bytes: want 1 or more of 1, "
                       "2, 4 or 8",
                       units, unit_bytes);
    return add_type(group, units, unit_bytes, NULL, type_p);
}

enum nf_status nf_group_define_operator(struct nf_group *group,
                                        nf_operator_function *function,
                                        int commutative, void *user,
                                        int *operator_p)
{
    struct nf_user_codes *codes = &group->codes;

    if (function == NULL)
        return nf_fail(&group->error, NF_ERR_INVAL, "no function");
    if (codes->noperators == NF_USER_CODES_MAX)
        return nf_fail(&group->error, NF_ERR_RANGE, "more than %d operators",
                       NF_USER_CODES_MAX);
    codes->operators[codes->noperators].function = function;
    codes->operators[codes->noperators].commutative = commutative != 0;
    codes->operators[codes->noperators].user = user;
    *operator_p = NF_OPERATOR_USER + (int)codes->noperators++;
    return NF_OK;
}

size_t nf_group_type_bytes(const struct nf_group *group, int type)
{
    return nf_elem_bytes(&group->codes, type);
}
