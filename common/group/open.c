/* Making groups, and what belongs to them as long as they live. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/doubles.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/group/group.h"

enum { TIMEOUT_US = 60000000, TABLE_BYTES_MAX = 16 << 20 };
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
    nf_free(group->spare);
    nf_free(group->lost);
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
    group->lost = nf_calloc(4, group->ranks);
    group->left_us = nf_calloc(group->ranks, 2 * sizeof(*group->left_us));
    group->chase.seen = nf_calloc(group->ranks, sizeof(*group->chase.seen));
    group->early_bytes = nf_calloc(group->ranks, sizeof(*group->early_bytes));
    group->hosts = nf_calloc(group->ranks, sizeof(*group->hosts));
    if (group->lost == NULL || group->left_us == NULL ||
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
    if (status != NF_OK) {
        destroy(group);
        return status;
    }
    group->mesh = mesh;
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

/* ------------------------------------------------------------------ the table
 */

/* @return NULL: there is none that is of use */
static char *read_text(const char *path, size_t *bytes_p)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long size = -1;

    if (file != NULL && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    if (size > 0 && size <= TABLE_BYTES_MAX && fseek(file, 0, SEEK_SET) == 0)
        text = nf_malloc((size_t)size);
    if (text != NULL && fread(text, 1, (size_t)size, file) != (size_t)size) {
        nf_free(text);
        text = NULL;
    }
    if (file != NULL)
        fclose(file);
    *bytes_p = text != NULL ? (size_t)size : 0;
    return text;
}

/* Were the rules found out where this group is?
 * @param direct  the other members' data go without the pvmds */
static void warn_if_elsewhere(const struct nf_group *group, const char *path,
                              bool direct)
{
    struct nf_mesh_place place;
    struct nf_coll_place here;
    char text[NF_ERROR_TEXT_BYTES];

    if (!nf_mesh_place(group->mesh, &place))
        return;
    here = nf_coll_place_of(place.hosts_hash, place.direct && direct,
                            place.converts);
    if (nf_coll_rules_differ(&group->rules, &here, text, sizeof(text)))
        nf_log(NF_LOG_WARN, "%s: %s: not the best here, perhaps", path, text);
}

static char *usable_table(struct nf_group *group, const char *path,
                          uint64_t *bytes_p)
{
    struct nf_error err, warning = { .status = NF_OK };
    size_t bytes = 0;
    char *text = read_text(path, &bytes);

    if (text == NULL) {
        nf_log(NF_LOG_WARN, "%s: can't be read, going by the built-in model",
               path);
    } else if (nf_group_set_rules(group, text, bytes, &warning, &err) !=
               NF_OK) {
        nf_log(NF_LOG_WARN, "%s: %s, going by the built-in model", path,
               err.text);
        nf_free(text);
        text = NULL;
    } else {
        if (warning.status != NF_OK)
            nf_log(NF_LOG_WARN, "%s: %s", path, warning.text);
    }
    *bytes_p = text != NULL ? bytes : 0;
    return text;
}

/* What rank 0 hands out: texts, with a length each. */
enum { TABLE, NETWORK, TEXTS };
struct texts {
    char *text[TEXTS];
    uint64_t bytes[TEXTS];
    char (*names)[64]; /* [P] of the members' hosts, with a network */
};

static void forget_texts(struct texts *texts)
{
    nf_free(texts->text[TABLE]);
    nf_free(texts->text[NETWORK]);
    nf_free(texts->names);
}

/* The network of rank 0, who tells what there is to say of it. */
static void take_network(struct nf_group *group, const char *path,
                         struct texts *texts)
{
    struct nf_error err = { .status = NF_OK };
    size_t bytes = 0;
    char *text = read_text(path, &bytes);
    uint32_t unknown = 0;
    enum nf_status status = NF_ERR_NOMEM;

    texts->names = nf_calloc(group->ranks, sizeof(*texts->names));
    if (text != NULL && texts->names != NULL) {
        nf_mesh_host_names(group->mesh, texts->names);
        status = nf_group_set_network(group, text, bytes, path,
                                      (const char(*)[64])texts->names, &err);
    }
    if (status != NF_OK) {
        nf_log(NF_LOG_WARN, "%s%s: broadcasts go by no network",
               text == NULL ? path : err.text,
               text == NULL ? ": can't be read" : "");
        nf_free(text);
        nf_free(texts->names);
        texts->names = NULL;
        return;
    }
    unknown = nf_measured_unknown(group->measured);
    if (unknown > 0)
        nf_log(NF_LOG_WARN,
               "%s: %u of %u members are on hosts that were not measured and "
               "count as slow",
               path, unknown, group->ranks);
    texts->text[NETWORK] = text;
    texts->bytes[NETWORK] = bytes;
}

/* @return NULL or "": there is none */
static const char *network_file(const struct nf_group_options *options)
{
    const char *path = options != NULL ? options->network_file : NULL;

    return path != NULL ? path : getenv("NOWFARM_NETWORK");
}

static void read_texts(struct nf_group *group,
                       const struct nf_group_options *options,
                       struct texts *texts)
{
    const char *network = network_file(options);

    if (options != NULL && options->table_file != NULL)
        texts->text[TABLE] =
            usable_table(group, options->table_file, &texts->bytes[TABLE]);
    if (network != NULL && network[0] != '\0' && group->ranks > 1)
        take_network(group, network, texts);
}

/* Rank 0 has made them whole numbers: others might round another way. */
static enum nf_status share_prices(struct nf_group *group)
{
    enum nf_status status = nf_bcast(
        group, &group->exchange, NF_EXCHANGE_PRICE_WORDS, NF_ELEM_UINT64, 0);

    if (status == NF_OK && !nf_exchange_price_is_sane(&group->exchange))
        status = nf_group_revoke(group, NF_ERR_PROTOCOL, NULL, 0,
                                 "member 0 has prices that make no sense");
    return status;
}

/* A member knows of its routes to those before it: rank 0 of none. */
static enum nf_status compare_place(struct nf_group *group,
                                    const struct nf_group_options *options)
{
    struct nf_mesh_place place;
    uint64_t mine = nf_mesh_place(group->mesh, &place) && !place.direct;
    uint64_t by_daemon = 0;
    enum nf_status status =
        nf_reduce(group, &mine, &by_daemon, 1, NF_ELEM_UINT64, NF_SUM, 0);

    if (status == NF_OK && group->rank == 0 && options != NULL)
        warn_if_elsewhere(group, options->table_file, by_daemon == 0);
    return status;
}

/* One text goes to everybody. */
static enum nf_status share_text(struct nf_group *group, struct texts *texts,
                                 int which)
{
    size_t bytes = (size_t)texts->bytes[which];

    if (bytes == 0)
        return NF_OK;
    if (group->rank != 0)
        texts->text[which] = nf_malloc(bytes);
    if (texts->text[which] == NULL)
        return nf_group_broke(group, NF_ERR_NOMEM);
    return nf_bcast(group, texts->text[which], bytes, NF_ELEM_BYTE, 0);
}

/* All plan by themselves, and must get the same bits: a network is of no use if
 * one of them calculates in another way. */
static enum nf_status compare_doubles(struct nf_group *group)
{
    uint64_t first = group->has_odd_doubles ? group->rank : UINT64_MAX;
    enum nf_status status =
        nf_allreduce(group, NF_IN_PLACE, &first, 1, NF_ELEM_UINT64, NF_MIN);

    if (status != NF_OK || first == UINT64_MAX)
        return status;
    snprintf(group->no_network, sizeof(group->no_network),
             "the doubles of member %u are not like those of others, it could "
             "plan otherwise",
             (unsigned)first);
    nf_measured_destroy(group->measured);
    group->measured = NULL;
    return NF_OK;
}

/* The log of rank 0 says so, once. */
static enum nf_status share_network(struct nf_group *group,
                                    const struct nf_group_options *options,
                                    struct texts *texts)
{
    enum nf_status status;

    if (texts->bytes[NETWORK] == 0)
        return NF_OK;
    status = compare_doubles(group);
    if (status != NF_OK)
        return status;
    if (group->no_network[0] != '\0') {
        if (group->rank == 0)
            nf_log(NF_LOG_WARN, "%s: %s: broadcasts go by no network",
                   network_file(options), group->no_network);
        return NF_OK;
    }
    status = share_text(group, texts, NETWORK);
    if (status != NF_OK)
        return status;
    if (group->rank != 0)
        texts->names = nf_calloc(group->ranks, sizeof(*texts->names));
    if (texts->names == NULL)
        return nf_group_broke(group, NF_ERR_NOMEM);
    status = nf_bcast(group, texts->names, group->ranks * sizeof(*texts->names),
                      NF_ELEM_BYTE, 0);
    for (uint32_t i = 0; i < group->ranks; i++)
        texts->names[i][sizeof(*texts->names) - 1] = '\0';
    if (status != NF_OK)
        return status;
    return nf_group_set_network(group, texts->text[NETWORK],
                                (size_t)texts->bytes[NETWORK], "the network",
                                (const char(*)[64])texts->names, &group->error);
}

static enum nf_status share_all(struct nf_group *group,
                                const struct nf_group_options *options)
{
    struct texts texts = { .names = NULL };
    enum nf_status status;

    if (group->rank == 0)
        read_texts(group, options, &texts);
    group->has_rules = false;
    status = nf_bcast(group, texts.bytes, TEXTS, NF_ELEM_UINT64, 0);
    if (status == NF_OK && (texts.bytes[TABLE] > TABLE_BYTES_MAX ||
                            texts.bytes[NETWORK] > NF_MEASURED_BYTES_MAX))
        status = nf_group_revoke(group, NF_ERR_PROTOCOL, NULL, 0,
                                 "member 0 has too large a table or network");
    if (status == NF_OK)
        status = share_text(group, &texts, TABLE);
    if (status == NF_OK && texts.bytes[TABLE] > 0)
        status =
            nf_group_set_rules(group, texts.text[TABLE],
                               (size_t)texts.bytes[TABLE], NULL, &group->error);
    if (status == NF_OK && texts.bytes[TABLE] > 0)
        status = share_prices(group);
    if (status == NF_OK && texts.bytes[TABLE] > 0)
        status = compare_place(group, options);
    if (status == NF_OK)
        status = share_network(group, options, &texts);
    forget_texts(&texts);
    return status;
}

/* They are handed out before rank 0 goes by them itself. */
enum nf_status nf_group_share_texts(struct nf_group *group,
                                    const struct nf_group_options *options)
{
    enum nf_status status;

    group->sharing = true;
    status = share_all(group, options);
    group->sharing = false;
    nf_group_forget_choices(group);
    return status;
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

/* All in one thread: nothing needs to be sent. */
static enum nf_status share_here(struct nf_group **groups, uint32_t count,
                                 const struct nf_group_options *options,
                                 struct nf_error *err)
{
    struct texts texts = { .names = NULL };
    enum nf_status status = NF_OK;

    read_texts(groups[0], options, &texts);
    if (texts.bytes[TABLE] > 0)
        warn_if_elsewhere(groups[0], options->table_file, true);
    for (uint32_t i = 1; i < count && status == NF_OK; i++) {
        if (texts.bytes[TABLE] > 0)
            status = nf_group_set_rules(groups[i], texts.text[TABLE],
                                        (size_t)texts.bytes[TABLE], NULL, err);
        groups[i]->exchange = groups[0]->exchange;
        if (status == NF_OK && texts.bytes[NETWORK] > 0)
            status = nf_group_set_network(
                groups[i], texts.text[NETWORK], (size_t)texts.bytes[NETWORK],
                "the network", (const char(*)[64])texts.names, err);
    }
    forget_texts(&texts);
    return status;
}

enum nf_status nf_group_open_threads(uint32_t count,
                                     const struct nf_group_options *options,
                                     struct nf_group **groups_p,
                                     struct nf_error *err)
{
    struct nf_mesh **meshes;
    uint32_t made = 0;
    enum nf_status status;

    if (count < 1 || count > NF_COLL_RANKS_MAX)
        return nf_fail(err, NF_ERR_INVAL, "%u members: want 1 to %d", count,
                       NF_COLL_RANKS_MAX);
    meshes = nf_calloc(count, sizeof(struct nf_mesh *));
    if (meshes == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    status = nf_mesh_open_local(count, meshes, err);
    if (status == NF_OK) {
        for (; made < count && status == NF_OK; made += status == NF_OK)
            status = nf_group_create(meshes[made], 0, NULL, options,
                                     &groups_p[made], err);
        if (status == NF_OK)
            status = share_here(groups_p, count, options, err);
        for (uint32_t i = 0; i < count && status != NF_OK; i++) {
            if (i < made)
                nf_group_close(groups_p[i]);
            else
                nf_mesh_close(meshes[i]);
        }
    }
    nf_free(meshes);
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
    /* who leaves a group that has been given up is not to blame */
    return rank < group->ranks &&
           (group->lost[rank] || (group->left[rank] && !group->revoked));
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
