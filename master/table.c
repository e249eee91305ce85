/* The table of nf_options.table_file: read once, and what it says of a call
 * told to all members of its group, which have no table. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/group/over_mesh.h"
#include "master/engine_internal.h"

void nf_table_open(struct engine *e)
{
    const char *path = e->options->table_file;
    struct nf_error warning = { .status = NF_OK }, why;
    size_t bytes;
    char *text;

    nf_coll_rules_init(&e->rules);
    e->rules.model = nf_group_model;
    if (path == NULL)
        return;
    text = nf_group_read_text(path, &bytes, &why);
    if (text != NULL) {
        e->has_rules =
            nf_coll_rules_read(text, bytes, &e->rules, &warning, &why) == NF_OK;
        if (!e->has_rules)
            nf_fail_prefix(&why, "%s", path);
        nf_free(text);
    }
    if (!e->has_rules) {
        nf_coll_rules_fini(&e->rules);
        e->rules.model = nf_group_model;
        nf_engine_notice(e, "%s; going by the built-in model", why.text);
    } else if (warning.status != NF_OK)
        nf_engine_notice(e, "%s: %s", path, warning.text);
}

void nf_table_close(struct engine *e)
{
    nf_coll_rules_fini(&e->rules);
}

void nf_table_compare(struct engine *e, const struct nf_group_msg *m,
                      const struct nf_mesh *mesh)
{
    struct nf_mesh_place place;
    struct nf_coll_place here;
    char text[NF_ERROR_TEXT_BYTES];

    if (!e->has_rules || e->rules_compared[m->purpose] ||
        !nf_mesh_place(mesh, &place))
        return;
    e->rules_compared[m->purpose] = true;
    here = nf_coll_place_of(place.hosts_hash, place.direct, place.converts);
    if (!nf_group_moves_much(m)) /* no route is worth asking for */
        here.route = e->rules.model.route;
    if (!nf_coll_rules_differ(&e->rules, &here, text, sizeof(text)) ||
        strcmp(text, e->rules_differ) == 0)
        return;
    memcpy(e->rules_differ, text, sizeof(text));
    nf_engine_notice(e, "%s: %s: not the best here, perhaps",
                     e->options->table_file, text);
}

/* A job goes on with less slaves than it began with, and who wished did not know
 * what it combines: so that a wish can't be met is no error.  Said once. */
static void tell_unmet(struct engine *e, enum nf_group_purpose purpose,
                       const char *why)
{
    if (e->wish_unmet[purpose])
        return;
    e->wish_unmet[purpose] = true;
    nf_engine_notice(e, "NOWFARM_COLL: %s: going by %s", why,
                     e->has_rules ? e->options->table_file : "the model");
}

/* Told in any case: slaves' doubles need not be as the master's. */
void nf_table_tell(struct engine *e, const struct nf_coll_query *query,
                   bool varies, struct nf_group_msg *m)
{
    struct nf_error why;

    _Static_assert(sizeof(m->algorithm) == NF_TOLD_BYTES,
                   "what is told has room in the message");
    if (nf_group_tell_choice(getenv("NOWFARM_COLL"),
                             &e->rules, query, varies, m->algorithm,
                             &why) != NF_OK)
        tell_unmet(e, m->purpose, why.text);
}

/* Slaves of the exchange on the host that has the most of them. */
static uint32_t fullest(const struct engine *e)
{
    const struct gather *g = &e->gather;
    uint32_t most = 1;

    for (uint32_t h = 0; h < e->nhosts; h++) {
        uint32_t count = 0;

        for (uint32_t i = 0; i < g->nmembers; i++)
            count += e->slaves[g->members[i].peer].host == h;
        most = count > most ? count : most;
    }
    return most;
}

struct nf_coll_network nf_table_network(const struct engine *e)
{
    const struct nf_model *model =
        e->has_rules ? &e->rules.model : &nf_group_model;
    struct nf_coll_network network = nf_coll_network_of(model, NULL, NULL);

    network.share_us =
        nf_model_share_on(model, (double)fullest(e) / e->gather.nmembers);
    return network;
}

/* What NOWFARM_COLL says of all-to-alls, if that is for so many. */
static bool take_wish(struct engine *e, uint32_t ranks)
{
    const struct nf_coll_query query = { .op = NF_COLL_ALLTOALL,
                                         .ranks = ranks };
    char wish[NF_TOLD_BYTES];
    struct nf_error why = { .text = "" };

    if (nf_group_tell_choice(getenv("NOWFARM_COLL"), NULL, &query, true, wish,
                             &why) == NF_OK) {
        if (wish[0] == '\0')
            return false;
        if (nf_exchange_bounds_of(wish, ranks, &e->bounds, &why) == NF_OK)
            return true;
    }
    tell_unmet(e, NF_GROUP_EXCHANGE, why.text);
    return false;
}

const struct nf_exchange_bounds *nf_table_exchange(struct engine *e)
{
    const uint32_t ranks = e->gather.nmembers;
    struct nf_coll_network network;
    uint32_t most;

    if (ranks < 2)
        return NULL;
    most = fullest(e);
    if (e->bounds_ranks == ranks && e->bounds_fullest == most)
        return &e->bounds;
    network = nf_table_network(e);
    if (!take_wish(e, ranks))
        nf_exchange_bounds_find(&network, e->has_rules ? &e->rules : NULL,
                                ranks, &e->bounds);
    e->bounds_ranks = ranks;
    e->bounds_fullest = most;
    return &e->bounds;
}

enum nf_status nf_table_check(struct nf_error *err)
{
    const char *wish = getenv("NOWFARM_COLL");
    struct nf_error why;

    if (wish == NULL || nf_group_check_wish(wish, &why) == NF_OK)
        return NF_OK;
    return nf_fail(err, NF_ERR_INVAL, "NOWFARM_COLL: %.200s", why.text);
}
