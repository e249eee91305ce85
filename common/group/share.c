/* What rank 0 hands out when a group opens: the table, the network, and a limit
 * of memory, so that all members choose alike; and whether they were opened
 * alike otherwise. */
#include "config.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/doubles.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/units.h"
#include "common/coll/wish.h"
#include "common/group/group.h"

enum { TABLE_BYTES_MAX = NF_MEASURED_BYTES_MAX, FIRST_ROOM_BYTES = 1 << 16 };

static void say_too_long(FILE *file, const char *path, struct nf_error *err)
{
    long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;

    if (size > NF_MEASURED_BYTES_MAX)
        nf_fail(err, NF_ERR_IO, "%s: %ld MiB, a group takes up to %d", path,
                (size - 1) / (1 << 20) + 1, NF_MEASURED_BYTES_MAX >> 20);
    else /* a pipe */
        nf_fail(err, NF_ERR_IO, "%s: more than the %d MiB that a group takes",
                path, NF_MEASURED_BYTES_MAX >> 20);
}

/* How long a pipe is nobody knows before.
 * @return NULL: err says why */
static char *read_open(FILE *file, const char *path, size_t *bytes_p,
                       struct nf_error *err)
{
    size_t room = 0, used = 0;
    char *text = NULL;

    do {
        char *more;

        room = room == 0 ? FIRST_ROOM_BYTES : 2 * room;
        more = nf_realloc(text, room);
        if (more == NULL) {
            nf_free(text);
            nf_fail(err, NF_ERR_NOMEM, "%s: out of memory", path);
            return NULL;
        }
        text = more;
        used += fread(text + used, 1, room - used, file);
    } while (used == room && used <= NF_MEASURED_BYTES_MAX);
    if (ferror(file)) {
        nf_fail(err, NF_ERR_IO, "%s: %s", path, strerror(errno));
    } else if (used > NF_MEASURED_BYTES_MAX) {
        say_too_long(file, path, err);
    } else if (used == 0) {
        nf_fail(err, NF_ERR_IO, "%s: empty", path);
    } else {
        *bytes_p = used;
        return text;
    }
    nf_free(text);
    return NULL;
}

char *nf_group_read_text(const char *path, size_t *bytes_p,
                         struct nf_error *err)
{
    FILE *file = fopen(path, "rb");
    char *text;

    *bytes_p = 0;
    if (file == NULL) {
        nf_fail(err, NF_ERR_IO, "%s: %s", path, strerror(errno));
        return NULL;
    }
    text = read_open(file, path, bytes_p, err);
    fclose(file);
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
    char *text = nf_group_read_text(path, &bytes, &err);

    if (text == NULL) {
        nf_log(NF_LOG_WARN, "%s: going by the built-in model", err.text);
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

/* What rank 0 hands out: texts, with a length each, how much memory calls may
 * take, and digests of the options that all must have alike. */
enum {
    TABLE,
    NETWORK,
    TEXTS,
    MEMORY = TEXTS,
    ALGORITHMS,
    DETERMINISTIC,
    TORUS,
    WORDS
};
struct texts {
    char *text[TEXTS];
    uint64_t bytes[WORDS];
    char (*names)[64]; /* [P] of the members' hosts, with a network */
};

static void forget_texts(struct texts *texts)
{
    nf_free(texts->text[TABLE]);
    nf_free(texts->text[NETWORK]);
    nf_free(texts->names);
}

/* Is the model of this day, and of messages that go the way of ours?
 * @param direct  as above */
static void warn_if_doubtful(const struct nf_group *group, const char *path,
                             bool direct)
{
    const struct nf_network *network = nf_measured_network(group->measured);
    struct nf_network_use use = { nf_date_now_s(), network->model.route,
                                  network->model.encoding };
    struct nf_mesh_place place;
    struct nf_coll_place here;
    char text[NF_ERROR_TEXT_BYTES];

    if (nf_mesh_place(group->mesh, &place)) {
        here = nf_coll_place_of(place.hosts_hash, place.direct && direct,
                                place.converts);
        use.route = here.route;
        use.encoding = here.encoding;
    }
    if (nf_network_is_doubtful(network, &use, text, sizeof(text)))
        nf_log(NF_LOG_WARN, "%s: %s", path, text);
}

/* As if there had been none. */
static void drop_network(struct nf_group *group)
{
    nf_measured_destroy(group->measured);
    group->measured = NULL;
    if (!group->has_rules)
        group->exchange = (struct nf_exchange_price){ .npieces = 0 };
}

static enum nf_status check_date(struct nf_group *group, const char *path,
                                 struct nf_error *err)
{
    enum nf_status status = nf_network_check_date(
        nf_measured_network(group->measured), nf_date_now_s(), path, err);

    if (status != NF_OK)
        drop_network(group);
    return status;
}

/* The network of rank 0, who tells what there is to say of it. */
static void take_network(struct nf_group *group, const char *path,
                         struct texts *texts)
{
    struct nf_error err = { .status = NF_OK };
    size_t bytes = 0;
    char *text = nf_group_read_text(path, &bytes, &err);
    uint32_t unknown = 0;
    enum nf_status status = NF_ERR_NOMEM;

    texts->names = nf_calloc(group->ranks, sizeof(*texts->names));
    if (texts->names == NULL)
        nf_fail(&err, NF_ERR_NOMEM, "%s: out of memory", path);
    if (text != NULL && texts->names != NULL) {
        nf_mesh_host_names(group->mesh, texts->names);
        status = nf_group_set_network(group, text, bytes, path,
                                      (const char(*)[64])texts->names, &err);
    }
    if (status == NF_OK)
        status = check_date(group, path, &err);
    if (status != NF_OK) {
        nf_log(NF_LOG_WARN, "%s: going by no network", err.text);
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

enum nf_status nf_group_memory_limit(uint64_t *bytes_p, struct nf_error *err)
{
    const char *text = getenv("NOWFARM_COLL_MEMORY");

    *bytes_p = 0;
    if (text == NULL || text[0] == '\0' ||
        nf_parse_bytes(text, bytes_p) == NF_OK)
        return NF_OK;
    return nf_fail(
        err, NF_ERR_INVAL,
        "NOWFARM_COLL_MEMORY: \"%.40s\" is no size such as 64MiB: no limit",
        text);
}

/* Commands open several groups, and it would be the same line for each. */
static uint64_t memory_limit(const struct nf_group_options *options)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    uint64_t bytes = options != NULL ? options->memory_bytes : 0;
    struct nf_error err;

    if (bytes == 0 && nf_group_memory_limit(&bytes, &err) != NF_OK &&
        !atomic_flag_test_and_set(&told))
        nf_log(NF_LOG_WARN, "%s", err.text);
    return bytes;
}

static void read_texts(struct nf_group *group,
                       const struct nf_group_options *options,
                       struct texts *texts)
{
    const char *network = network_file(options);

    texts->bytes[MEMORY] = memory_limit(options);
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

/* @param direct  as above */
static void warn_of_texts(const struct nf_group *group,
                          const struct nf_group_options *options,
                          const struct texts *texts, bool direct)
{
    if (texts->bytes[TABLE] > 0)
        warn_if_elsewhere(group, options->table_file, direct);
    if (texts->bytes[NETWORK] > 0)
        warn_if_doubtful(group, network_file(options), direct);
}

/* A member knows of its routes to those before it: rank 0 of none. */
static enum nf_status compare_place(struct nf_group *group,
                                    const struct nf_group_options *options,
                                    const struct texts *texts)
{
    struct nf_mesh_place place;
    uint64_t mine = nf_mesh_place(group->mesh, &place) && !place.direct;
    uint64_t by_daemon = 0;
    enum nf_status status =
        nf_reduce(group, &mine, &by_daemon, 1, NF_ELEM_UINT64, NF_SUM, 0);

    if (status == NF_OK && group->rank == 0)
        warn_of_texts(group, options, texts, by_daemon == 0);
    return status;
}

static uint64_t digest(uint64_t so_far, uint64_t number)
{
    return (so_far ^ number) * UINT64_C(1099511628211);
}

/* @param text  an algorithm as it was asked for, "" for none: in any spelling */
static uint64_t digest_wish(uint64_t so_far, const char *text, uint32_t ranks)
{
    struct nf_coll_wish wish;
    char room[NF_TOLD_BYTES] = "";

    if (text[0] != '\0' &&
        nf_coll_wish_read_for(text, ranks, &wish, NULL) == NF_OK)
        nf_coll_wish_write(&wish, room, sizeof(room));
    for (const char *c = room; *c != '\0'; c++)
        so_far = digest(so_far, (uint8_t)*c);
    return digest(so_far, 0);
}

/* What was asked for may be in any order of operations. */
static void digest_options(const struct nf_group *group,
                           const struct nf_group_options *options,
                           uint64_t words[WORDS])
{
    const char *torus = options != NULL ? options->torus : NULL;
    struct nf_coll_sides sides = { .count = 0 };

    for (int op = 0; op < NF_COLL_OPS; op++)
        words[ALGORITHMS] = digest_wish(words[ALGORITHMS], group->forced[op],
                                        group->ranks);
    words[DETERMINISTIC] = group->deterministic;
    if (!group->deterministic && torus != NULL &&
        nf_coll_sides_read(torus, &sides))
        for (uint32_t i = 0; i < sides.count; i++)
            words[TORUS] = digest(words[TORUS], sides.of[i]);
}

/* @param words  of rank 0 */
static enum nf_status compare_options(struct nf_group *group,
                                      const struct nf_group_options *options,
                                      const uint64_t words[WORDS])
{
    static const char *const names[WORDS] = {
        [ALGORITHMS] = "algorithms (NOWFARM_COLL, if not by the program)",
        [DETERMINISTIC] = "choice of `deterministic`",
        [TORUS] = "torus",
    };
    const uint32_t both[2] = { 0, group->rank };
    uint64_t mine[WORDS] = { 0 };
    char text[NF_ERROR_TEXT_BYTES];

    digest_options(group, options, mine);
    for (int i = ALGORITHMS; i < WORDS; i++) {
        if (mine[i] == words[i])
            continue;
        snprintf(text, sizeof(text),
                 "members 0 and %u opened the group otherwise: not the same %s",
                 group->rank, names[i]);
        return nf_group_revoke(group, NF_ERR_MISMATCH, both, 2, text);
    }
    return NF_OK;
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

static void odd_text(const struct nf_group *group,
                     char text[NF_NO_NETWORK_BYTES])
{
    snprintf(text, NF_NO_NETWORK_BYTES,
             "the doubles of member %u are not like those of others, it could "
             "plan otherwise",
             group->odd - 1);
}

/* All choose and plan by themselves, and must get the same bits: models are of
 * no use if one of them calculates in another way. */
static enum nf_status compare_doubles(struct nf_group *group)
{
    uint64_t first = group->has_odd_doubles ? group->rank : UINT64_MAX;
    enum nf_status status =
        nf_allreduce(group, NF_IN_PLACE, &first, 1, NF_ELEM_UINT64, NF_MIN);

    if (status == NF_OK && first < group->ranks)
        group->odd = (uint32_t)first + 1;
    return status;
}

/* @param network  of rank 0, or NULL */
static void tell_odd(const struct nf_group *group, const char *network)
{
    char text[NF_NO_NETWORK_BYTES];

    if (group->rank != 0 || group->odd == 0)
        return;
    odd_text(group, text);
    nf_log(NF_LOG_WARN,
           "%s%s%s: %salgorithms go by a fixed rule, if no name or table says",
           network != NULL ? network : "", network != NULL ? ": " : "", text,
           network != NULL ? "broadcasts go by no network, and " : "");
}

static enum nf_status share_network(struct nf_group *group, struct texts *texts)
{
    enum nf_status status;

    if (texts->bytes[NETWORK] == 0)
        return NF_OK;
    if (group->odd != 0) {
        odd_text(group, group->no_network);
        drop_network(group);
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
    status = nf_group_set_network(
        group, texts->text[NETWORK], (size_t)texts->bytes[NETWORK],
        "the network", (const char(*)[64])texts->names, &group->error);
    if (status == NF_OK && texts->bytes[TABLE] == 0)
        status = share_prices(group);
    return status;
}

static enum nf_status share_all(struct nf_group *group,
                                const struct nf_group_options *options)
{
    struct texts texts = { .names = NULL };
    enum nf_status status;

    if (group->rank == 0) {
        read_texts(group, options, &texts);
        digest_options(group, options, texts.bytes);
    }
    group->has_rules = false;
    status = nf_bcast(group, texts.bytes, WORDS, NF_ELEM_UINT64, 0);
    group->memory_bytes = texts.bytes[MEMORY];
    if (status == NF_OK)
        status = compare_options(group, options, texts.bytes);
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
    if (status == NF_OK && (texts.bytes[TABLE] > 0 || texts.bytes[NETWORK] > 0))
        status = compare_place(group, options, &texts);
    if (status == NF_OK)
        status = compare_doubles(group);
    if (status == NF_OK)
        tell_odd(group, texts.bytes[NETWORK] != 0 && group->rank == 0
                            ? network_file(options)
                            : NULL);
    if (status == NF_OK)
        status = share_network(group, &texts);
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
    /* somebody else has found it out before */
    return status == NF_ERR_REVOKED ? group->error.status : status;
}

enum nf_status nf_group_share_here(struct nf_group **groups, uint32_t count,
                                   const struct nf_group_options *options,
                                   struct nf_error *err)
{
    struct texts texts = { .names = NULL };
    enum nf_status status = NF_OK;

    read_texts(groups[0], options, &texts);
    for (uint32_t i = 0; i < count; i++)
        groups[i]->memory_bytes = texts.bytes[MEMORY];
    warn_of_texts(groups[0], options, &texts, true);
    for (uint32_t i = 1; i < count && status == NF_OK; i++) {
        if (texts.bytes[TABLE] > 0)
            status = nf_group_set_rules(groups[i], texts.text[TABLE],
                                        (size_t)texts.bytes[TABLE], NULL, err);
        if (status == NF_OK && texts.bytes[NETWORK] > 0)
            status = nf_group_set_network(
                groups[i], texts.text[NETWORK], (size_t)texts.bytes[NETWORK],
                "the network", (const char(*)[64])texts.names, err);
        groups[i]->exchange = groups[0]->exchange;
    }
    forget_texts(&texts);
    return status;
}
