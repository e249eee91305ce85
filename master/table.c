/* By what calls go that slaves take part in: what is wished for, the table of
 * nf_options.table_file, the model of the measured network, or the built-in one.
 * The master alone has all of that, and tells all members of the group. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/group/over_mesh.h"
#include "master/engine_internal.h"

enum { BY_BYTES = 288 };

static void read_memory_limit(struct engine *e)
{
    struct nf_error why;

    if (nf_group_memory_limit(&e->memory_bytes, &why) != NF_OK)
        nf_engine_notice(e, "%s", why.text);
}

void nf_table_open(struct engine *e)
{
    const char *path = e->options->table_file;
    struct nf_error warning = { .status = NF_OK }, why;
    size_t bytes;
    char *text;

    read_memory_limit(e);
    nf_coll_rules_init(&e->rules);
    e->rules.model = nf_group_model;
    if (e->app->phases > 1 && strcmp(e->config->transport->name, "local") == 0)
        (void)nf_local_model_measure(&e->local_model);
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
        nf_engine_notice(e, "%s; going by %s", why.text,
                         nf_network_is_given(e) ? "the network"
                                                : "the built-in model");
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

/* What goes by no wish goes by what was measured: a table, with its model, or
 * else a network.  Only what goes by it has it read. */
static void settle_model(struct engine *e)
{
    if (e->has_rules)
        return;
    nf_network_read_once(e);
    if (e->network.nhosts > 0)
        e->rules.model = e->network.model;
}

/* Of exchanges: is it the model of messages between threads that holds? */
static bool goes_by_threads(const struct engine *e)
{
    return !e->has_rules && e->network.nhosts == 0 &&
           e->local_model.npieces > 0;
}

/* For the report: which of them that is. */
static void name_model(const struct engine *e, char by_p[BY_BYTES])
{
    if (e->has_rules)
        snprintf(by_p, BY_BYTES, "table %.270s", e->options->table_file);
    else if (e->network.nhosts > 0)
        snprintf(by_p, BY_BYTES, "network %.270s", nf_network_file(e));
    else
        snprintf(by_p, BY_BYTES, "built-in");
}

/* A broadcast that is not planned may go by the network all the same: by what its
 * file has of the usual link. */
static void note_shared(struct engine *e, bool wished, const char *algorithm)
{
    if (!wished && algorithm[0] != '\0' && !e->has_rules &&
        e->network.nhosts > 0)
        snprintf(e->report.shared_network, sizeof(e->report.shared_network),
                 "%s", nf_network_file(e));
}

/* @param algorithm  that is told; "": the library's own rule holds */
static void note_source(struct engine *e, enum nf_group_purpose purpose,
                        bool wished, const char *algorithm)
{
    char by[BY_BYTES] = "built-in", *to;

    _Static_assert(sizeof(e->report.gather_by) == BY_BYTES &&
                       sizeof(e->report.exchange_by) == BY_BYTES,
                   "the report has room for it");
    if (purpose == NF_GROUP_SHARED) {
        note_shared(e, wished, algorithm);
        return;
    }
    to = purpose == NF_GROUP_EXCHANGE ? e->report.exchange_by
                                      : e->report.gather_by;
    if (wished)
        snprintf(by, BY_BYTES, "NOWFARM_COLL");
    else if (purpose == NF_GROUP_EXCHANGE && goes_by_threads(e))
        snprintf(by, BY_BYTES, "threads");
    else if (algorithm[0] != '\0')
        name_model(e, by);
    memcpy(to, by, BY_BYTES);
}

/* A job goes on with less slaves than it began with, and who wished did not know
 * what it combines: so that a wish can't be met is no error.  Said once. */
static void tell_unmet(struct engine *e, enum nf_group_purpose purpose,
                       const char *why)
{
    char by[BY_BYTES];

    if (e->wish_unmet[purpose])
        return;
    e->wish_unmet[purpose] = true;
    settle_model(e);
    name_model(e, by);
    nf_engine_notice(e, "NOWFARM_COLL: %s: going by %s", why,
                     strcmp(by, "built-in") == 0 ? "the model" : by);
}

/* Told in any case: slaves' doubles need not be as the master's.  The built-in
 * model has no say in gathers, as in any group whose blocks differ in size: it
 * is of no network, and what it took for small blocks could be the worst. */
void nf_table_tell(struct engine *e, const struct nf_coll_query *query,
                   struct nf_group_msg *m)
{
    struct nf_error why;
    bool wished, by_nothing;

    _Static_assert(sizeof(m->algorithm) == NF_TOLD_BYTES,
                   "what is told has room in the message");
    if (nf_group_tell_choice(getenv("NOWFARM_COLL"), NULL, query, false,
                             m->algorithm, &why) != NF_OK)
        tell_unmet(e, m->purpose, why.text);
    wished = m->algorithm[0] != '\0';
    if (!wished) {
        settle_model(e);
        by_nothing = !e->has_rules && e->network.nhosts == 0;
        nf_group_tell_choice(NULL, &e->rules, query,
                             query->op == NF_COLL_GATHER && by_nothing,
                             m->algorithm, NULL);
    }
    note_source(e, m->purpose, wished, m->algorithm);
}

/* How the slaves of the exchange are spread over hosts. */
static struct exchange_spread find_spread(const struct engine *e)
{
    const struct gather *g = &e->gather;
    struct exchange_spread spread = { .least = g->nmembers };

    for (uint32_t h = 0; h < e->nhosts; h++) {
        uint32_t count = 0;

        for (uint32_t i = 0; i < g->nmembers; i++)
            count += e->slaves[g->members[i].peer].host == h;
        spread.hosts += count > 0;
        spread.most = count > spread.most ? count : spread.most;
        if (count > 0 && count < spread.least)
            spread.least = count;
    }
    return spread;
}

static bool same_spread(const struct exchange_spread *a,
                        const struct exchange_spread *b)
{
    return a->hosts == b->hosts && a->most == b->most && a->least == b->least;
}

/* Slaves that are threads wait for processors when they copy all at once. */
static double copies_at_once(const struct engine *e)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);

    return processors > 0 && (long)e->gather.nmembers > processors
               ? (double)e->gather.nmembers / (double)processors
               : 1;
}

struct nf_coll_network nf_table_network(struct engine *e)
{
    const struct exchange_spread spread = find_spread(e);
    const struct nf_model *model;
    struct nf_coll_network network;

    settle_model(e);
    model = goes_by_threads(e) ? &e->local_model : &e->rules.model;
    network = nf_coll_network_of(model, NULL, NULL);
    network.copy_byte_us *= copies_at_once(e);
    network.share_us =
        nf_model_share_on(model, (double)spread.most / e->gather.nmembers);
    network.is_shared = !e->has_rules && e->network.shared;
    network.lists = true; /* pieces differ */
    network.hosts = spread.hosts;
    network.fullest = spread.most;
    network.least = spread.least;
    if (spread.hosts == 1)
        nf_coll_network_within(&network);
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
    struct exchange_spread spread;
    bool wished;

    if (ranks < 2)
        return NULL;
    spread = find_spread(e);
    if (e->bounds_ranks == ranks && same_spread(&e->bounds_spread, &spread))
        return &e->bounds;
    network = nf_table_network(e);
    wished = take_wish(e, ranks);
    if (!wished) {
        nf_exchange_bounds_find(&network, e->has_rules ? &e->rules : NULL,
                                ranks, &e->bounds);
        if (!e->has_rules)
            nf_network_compare(e, NULL);
    }
    note_source(e, NF_GROUP_EXCHANGE, wished, e->bounds.of[0].algorithm);
    e->bounds_ranks = ranks;
    e->bounds_spread = spread;
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
