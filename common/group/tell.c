/* A broadcast that one member plans for all by a measured network: what it tells
 * them is the algorithm and, if need be, a tree of some bytes a member, so that
 * nobody else needs the model, nor doubles like its. */
#include "config.h"
#include <math.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/coll/tree_words.h"
#include "common/coll/wish.h"
#include "common/group/group.h"
#include "common/group/measured.h"

/* Who is where, as nf_measured_of() takes it. */
struct places {
    uint32_t *hosts;
    char (*names)[64];
};

static void places_fini(struct places *places)
{
    nf_free(places->hosts);
    nf_free(places->names);
}

static enum nf_status places_init(struct places *places,
                                  const struct nf_mesh *mesh,
                                  struct nf_error *err)
{
    places->hosts = nf_calloc(mesh->ranks, sizeof(*places->hosts));
    places->names = nf_calloc(mesh->ranks, sizeof(*places->names));
    if (places->hosts == NULL || places->names == NULL) {
        places_fini(places);
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    }
    nf_mesh_host_names(mesh, places->names);
    for (uint32_t i = 0; i < mesh->ranks; i++)
        places->hosts[i] = nf_mesh_host_of(mesh, i);
    return NF_OK;
}

/* @retval NF_WAIT  another broadcast than the tree is wished for */
static enum nf_status read_wish(const char *text,
                                const struct nf_coll_query *query,
                                bool *tree_only_p, uint64_t *segments_p)
{
    char told[NF_TOLD_BYTES];
    struct nf_coll_wish wish = { .segments = 0 };

    nf_group_tell_choice(text, NULL, query, false, told, NULL);
    *tree_only_p = told[0] != '\0';
    if (*tree_only_p && (nf_coll_wish_read(told, &wish, NULL) != NF_OK ||
                         wish.algorithm != &nf_coll_bcast_tree))
        return NF_WAIT;
    *segments_p = wish.segments;
    return NF_OK;
}

static enum nf_status plan(struct nf_measured *measured,
                           const struct nf_coll_query *query, bool tree_only,
                           uint64_t segments, struct nf_told *told_p,
                           struct nf_error *err)
{
    struct nf_told told = { .unknown = nf_measured_unknown(measured) };
    struct nf_coll_choice choice;
    enum nf_status status =
        nf_measured_choose(measured, query, tree_only, &choice, err);

    if (status != NF_OK)
        return status;
    if (segments > 0)
        choice.segments = nf_coll_clamp_segments(query->elements, segments);
    nf_coll_wish_write(&(struct nf_coll_wish){ choice.algorithm,
                                               choice.segments, choice.params },
                       told.algorithm, sizeof(told.algorithm));
    if (nf_measured_time(measured, query, &choice, &told.time_us) != NF_OK ||
        !isfinite(told.time_us))
        told.time_us = 0;
    if (choice.tree != NULL) {
        told.tree = nf_coll_tree_write(choice.tree);
        if (told.tree == NULL)
            return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    }
    *told_p = told;
    return NF_OK;
}

enum nf_status nf_group_tell_network(const char *wish,
                                     const struct nf_mesh *mesh,
                                     const struct nf_network *network,
                                     const char *file,
                                     const struct nf_coll_query *query,
                                     struct nf_told *told_p,
                                     struct nf_error *err)
{
    struct nf_measured *measured = NULL;
    struct nf_coll_query placed = *query;
    struct places places;
    uint64_t segments;
    bool tree_only;
    enum nf_status status = read_wish(wish, query, &tree_only, &segments);

    if (status == NF_OK)
        status = places_init(&places, mesh, err);
    if (status != NF_OK)
        return status;
    status = nf_measured_of(network, file, (const char(*)[64])places.names,
                            places.hosts, mesh->ranks, &measured, err);
    placed.hosts = places.hosts;
    if (status == NF_OK)
        status = plan(measured, &placed, tree_only, segments, told_p, err);
    nf_measured_destroy(measured);
    places_fini(&places);
    return status;
}

enum nf_status nf_group_set_tree(struct nf_group *group, const uint8_t *words,
                                 struct nf_error *err)
{
    struct nf_coll_args args = { .ranks = group->ranks, .segments = 1 };
    struct nf_coll_tree tree;
    uint32_t *first;
    enum nf_status status =
        nf_coll_tree_read(words, group->ranks, &tree, &first);

    if (status != NF_OK)
        return nf_fail(err, status, "out of memory");
    args.tree = &tree;
    status = nf_coll_fits(&nf_coll_bcast_tree, &args, err);
    if (status != NF_OK) {
        nf_free(first);
        return status;
    }
    nf_free(group->told_words);
    group->told_words = first;
    group->told = tree;
    nf_group_outdate_plans(group, &group->told);
    nf_group_forget_choices(group);
    return NF_OK;
}
