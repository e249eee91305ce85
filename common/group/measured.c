/* Broadcasts by a measured network: plans are made once and kept. */
#include "config.h"
#include "common/group/measured.h"
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/model/network_file.h"
#include "common/net/mesh.h"
#include "common/tree/bcast_plan.h"

_Static_assert((int)NF_HOPS_SHORT_BYTES == (int)NF_MESH_SHORT_BYTES,
               "prices are of what the mesh does");

_Static_assert((int)NF_NETWORK_NAME_BYTES == 64, "names of hosts are as long");

struct shelf {
    struct shelf *next;
    uint32_t root;
    uint64_t bytes;
    struct nf_bcast_plan plan;
    struct nf_coll_tree tree; /* of plan */
};

struct nf_measured {
    struct nf_network network; /* of ranks */
    struct nf_hetero hetero;
    uint32_t *hosts; /* [ranks] */
    bool *is_leaf;   /* [ranks] on a host that is not in the model */
    char *text;
    size_t bytes;
    char (*names)[64]; /* [ranks] */
    uint32_t id, unknown;
    struct shelf *shelves[NF_MEASURED_SHELVES];
};

void nf_measured_destroy(struct nf_measured *m)
{
    if (m == NULL)
        return;
    for (uint32_t i = 0; i < NF_MEASURED_SHELVES; i++)
        for (struct shelf *shelf = m->shelves[i], *next; shelf != NULL;
             shelf = next) {
            next = shelf->next;
            nf_bcast_plan_fini(&shelf->plan);
            nf_free(shelf);
        }
    nf_network_fini(&m->network);
    nf_free(m->hosts);
    nf_free(m->is_leaf);
    nf_free(m->text);
    nf_free(m->names);
    nf_free(m);
}

uint32_t nf_measured_id(const struct nf_measured *m)
{
    return m == NULL ? 0 : m->id;
}

const struct nf_network *nf_measured_network(const struct nf_measured *m)
{
    return &m->network;
}

uint32_t nf_measured_unknown(const struct nf_measured *m)
{
    return m == NULL ? 0 : m->unknown;
}

const char (*nf_measured_source(const struct nf_measured *m,
                                const char **text_p, size_t *bytes_p))[64]
{
    *text_p = m->text;
    *bytes_p = m->bytes;
    return (const char(*)[64])m->names;
}

/* FNV-1a */
static uint32_t mix(uint32_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;

    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * UINT32_C(16777619);
    return hash;
}

static uint32_t find_id(const struct nf_measured *m)
{
    uint32_t id = mix(UINT32_C(2166136261), m->text, m->bytes);

    for (uint32_t i = 0; i < m->network.nhosts; i++)
        id = mix(id, m->names[i], strlen(m->names[i]) + 1);
    return id != 0 ? id : 1;
}

static bool keep_places(struct nf_measured *m, const char (*names)[64],
                        const uint32_t *hosts, uint32_t ranks)
{
    m->hosts = nf_calloc(ranks, sizeof(*m->hosts));
    m->is_leaf = nf_calloc(ranks, sizeof(*m->is_leaf));
    m->names = nf_calloc(ranks, sizeof(*m->names));
    if (m->hosts == NULL || m->is_leaf == NULL || m->names == NULL)
        return false;
    memcpy(m->hosts, hosts, ranks * sizeof(*hosts));
    memcpy(m->names, names, ranks * sizeof(*names));
    return true;
}

static enum nf_status too_many(const char *file, uint32_t ranks, int most,
                               struct nf_error *err)
{
    return nf_fail(err, NF_ERR_INVAL,
                   "%s: a group of %u members: trees are planned for up to %d",
                   file, ranks, most);
}

enum nf_status nf_measured_of(const struct nf_network *network,
                              const char *file, const char (*names)[64],
                              const uint32_t *hosts, uint32_t ranks,
                              struct nf_measured **measured_p,
                              struct nf_error *err)
{
    struct nf_measured *m;
    enum nf_status status = NF_ERR_NOMEM;

    if (ranks > NF_NETWORK_HOSTS_MAX)
        return too_many(file, ranks, NF_NETWORK_HOSTS_MAX, err);
    m = nf_calloc(1, sizeof(*m));
    if (m != NULL && keep_places(m, names, hosts, ranks))
        status = nf_network_of(network, names, ranks, &m->network, &m->unknown);
    for (uint32_t i = 0; i < ranks && status == NF_OK; i++)
        m->is_leaf[i] = nf_network_find(network, names[i]) == network->nhosts;
    if (status == NF_OK)
        status = nf_network_share(&m->network, hosts);
    if (status != NF_OK) {
        nf_measured_destroy(m);
        return nf_fail(err, status, "%s", nf_strerror(status));
    }
    m->hetero = nf_network_hetero(&m->network, true);
    m->hetero.is_leaf = m->is_leaf;
    m->hetero.in_groups = true;
    *measured_p = m;
    return NF_OK;
}

enum nf_status nf_measured_create(const char *text, size_t bytes,
                                  const char *file, const char (*names)[64],
                                  const uint32_t *hosts, uint32_t ranks,
                                  struct nf_measured **measured_p,
                                  struct nf_error *err)
{
    struct nf_network network;
    struct nf_measured *m;
    enum nf_status status;

    if (ranks > NF_MEASURED_RANKS_MAX)
        return too_many(file, ranks, NF_MEASURED_RANKS_MAX, err);
    status = nf_network_parse(text, bytes, file, &network, err);
    if (status != NF_OK)
        return status;
    status = nf_measured_of(&network, file, names, hosts, ranks, &m, err);
    nf_network_fini(&network);
    if (status != NF_OK)
        return status;
    m->text = nf_calloc(bytes + 1, 1);
    if (m->text == NULL) {
        nf_measured_destroy(m);
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    }
    memcpy(m->text, text, bytes);
    m->bytes = bytes;
    m->id = find_id(m);
    *measured_p = m;
    return NF_OK;
}

/* 2^n or 1.5 2^n, whichever is the least that is no less. */
static uint64_t round_up(uint64_t bytes)
{
    uint64_t size = 1;

    while (size < bytes && size <= UINT64_MAX / 4) {
        if (size / 2 * 3 >= bytes && size > 1)
            return size / 2 * 3;
        size *= 2;
    }
    return size;
}

static struct shelf **find_shelf(struct nf_measured *m, uint32_t root,
                                 uint64_t bytes)
{
    uint64_t hash =
        (bytes ^ (uint64_t)root << 32) * UINT64_C(0x9e3779b97f4a7c15);
    struct shelf **at = &m->shelves[(hash >> 40) % NF_MEASURED_SHELVES];

    while (*at != NULL && ((*at)->root != root || (*at)->bytes != bytes))
        at = &(*at)->next;
    return at;
}

static enum nf_status find_plan(struct nf_measured *m, uint32_t root,
                                uint64_t bytes, struct shelf **shelf_p,
                                struct nf_error *err)
{
    const struct nf_bcast_query query = {
        .root = root, .bytes = bytes, .elements = bytes, .hosts = m->hosts
    };
    struct shelf **at = find_shelf(m, root, bytes);
    struct shelf *shelf = *at;
    enum nf_status status;

    *shelf_p = shelf;
    if (shelf != NULL)
        return NF_OK;
    shelf = nf_calloc(1, sizeof(*shelf));
    if (shelf == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    status = nf_bcast_plan(&m->hetero, &query, &shelf->plan, err);
    if (status != NF_OK) {
        nf_free(shelf);
        return status;
    }
    shelf->root = root;
    shelf->bytes = bytes;
    shelf->tree = nf_bcast_plan_view(&shelf->plan);
    *at = *shelf_p = shelf;
    return NF_OK;
}

enum nf_status nf_measured_choose(struct nf_measured *m,
                                  const struct nf_coll_query *query,
                                  bool tree_only,
                                  struct nf_coll_choice *choice_p,
                                  struct nf_error *err)
{
    uint64_t bytes = round_up(query->bytes), segment;
    const struct nf_bcast_plan *plan;
    struct nf_coll_choice choice;
    struct shelf *shelf;
    uint32_t segments;
    enum nf_status status = find_plan(m, query->root, bytes, &shelf, err);

    if (status != NF_OK)
        return status;
    plan = &shelf->plan;
    /* what wants a block for each rank may have too few elements */
    tree_only = tree_only || !nf_coll_serves(plan->algorithm, query);
    segments = tree_only ? plan->tree_segments : plan->segments;
    choice = (struct nf_coll_choice){
        .algorithm = tree_only ? &nf_coll_bcast_tree : plan->algorithm,
        .cost_us = tree_only ? plan->tree_us : plan->cost_us,
    };
    if (choice.algorithm == &nf_coll_bcast_tree)
        choice.tree = &shelf->tree;
    segment = bytes / segments + (bytes % segments != 0);
    choice.segments = nf_coll_clamp_segments(query->elements,
                                             query->bytes / segment +
                                                 (query->bytes % segment != 0));
    *choice_p = choice;
    return NF_OK;
}

enum nf_status nf_measured_time(const struct nf_measured *m,
                                const struct nf_coll_query *query,
                                const struct nf_coll_choice *choice,
                                double *time_us_p)
{
    const struct nf_bcast_query asked = { .root = query->root,
                                          .bytes = query->bytes,
                                          .elements = query->elements,
                                          .hosts = m->hosts };
    struct nf_pricer pricer;
    enum nf_status status = nf_pricer_init(&pricer, &m->hetero);

    if (status != NF_OK)
        return status;
    status = nf_bcast_price(&pricer, choice->algorithm, &asked, choice->tree,
                            choice->segments > 0 ? choice->segments : 1,
                            time_us_p);
    nf_pricer_fini(&pricer);
    return status;
}
