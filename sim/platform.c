/* A platform file to a world. */
#include "config.h"
#include "sim/platform.h"
#include "common/base/alloc.h"
#include <inttypes.h>
#include <string.h>

static enum nf_status read_net(struct nf_platform *platform)
{
    static const char *const names[] = {
        [NF_NET_LINKS] = "links",
        [NF_NET_BUS] = "bus",
        [NF_NET_HUB] = "hub",
    };
    struct nf_json_reader *reader = &platform->reader;
    const json_t *net = json_object_get(platform->object, "net");
    bool found = !net;

    for (size_t i = 0; json_is_string(net) && i < 3; i++) {
        if (strcmp(json_string_value(net), names[i]) == 0) {
            platform->world.net = (enum nf_world_net)i;
            found = true;
        }
    }
    if (found)
        return NF_OK;
    nf_reader_enter(reader, "net");
    return nf_reader_fail(reader, NF_ERR_INVAL,
                          "want \"links\", \"bus\" or \"hub\"");
}

static enum nf_status read_medium(struct nf_platform *platform)
{
    struct nf_json_reader *reader = &platform->reader;
    const json_t *kappa = json_object_get(platform->object, "kappa");
    const json_t *blocking = json_object_get(platform->object, "blocking");
    enum nf_status status = read_net(platform);

    if (!status && kappa) {
        nf_reader_enter(reader, "kappa");
        status = nf_reader_real(reader, kappa, 0, 1000, &platform->world.kappa);
        if (!status)
            nf_reader_leave(reader);
    }
    if (!status && blocking && !json_is_boolean(blocking)) {
        nf_reader_enter(reader, "blocking");
        status = nf_reader_fail(reader, NF_ERR_INVAL, "want true or false");
    }
    platform->world.blocking = json_is_true(blocking);
    return status;
}

static enum nf_status read_overhead(struct nf_platform *platform,
                                    const char *key, struct nf_line *line_p)
{
    const json_t *value = json_object_get(platform->object, key);
    enum nf_status status;

    if (!value)
        return NF_OK;
    nf_reader_enter(&platform->reader, key);
    status = nf_reader_line(&platform->reader, value, line_p);
    if (!status)
        nf_reader_leave(&platform->reader);
    return status;
}

/* An explicit count, or the length of a list. */
static enum nf_status read_count(struct nf_platform *platform, const char *key,
                                 const char *list, int64_t lo, int64_t hi,
                                 int64_t *count_p)
{
    const json_t *values = json_object_get(platform->object, list);
    bool listed = json_is_array(values);

    if (json_object_get(platform->object, key))
        return nf_reader_int_key(&platform->reader, platform->object, key, lo,
                                 hi, count_p);
    if (!listed)
        return nf_reader_fail(&platform->reader, NF_ERR_INVAL,
                              "\"%s\" is missing (\"%s\" is not a list)", key,
                              list);
    *count_p = (int64_t)json_array_size(values);
    if (*count_p >= lo && *count_p <= hi)
        return NF_OK;
    nf_reader_enter(&platform->reader, list);
    return nf_reader_fail(&platform->reader, NF_ERR_RANGE,
                          "a list of %" PRId64 ": want %" PRId64 " to %" PRId64,
                          *count_p, lo, hi);
}

static enum nf_status read_counts(struct nf_platform *platform)
{
    const struct nf_world_options *options = platform->options;
    struct nf_world *world = &platform->world;
    int64_t units = (int64_t)options->units, slaves = 0;
    enum nf_status status = NF_OK;

    if (!options->has_units || json_object_get(platform->object, "units"))
        status = read_count(platform, "units", "cost", 0, NF_WORLD_UNITS_MAX,
                            &units);
    if (!status)
        status = read_count(platform, "slaves", "speed", 1, NF_WORLD_SLAVES_MAX,
                            &slaves);
    if (status)
        return status;
    world->units = options->has_units ? options->units : (uint64_t)units;
    world->slaves = (uint32_t)slaves;
    world->slave = nf_calloc(world->slaves, sizeof(world->slave[0]));
    if (!world->slave)
        return nf_reader_fail(&platform->reader, NF_ERR_NOMEM, "out of memory");
    return NF_OK;
}

/* Times only ever add up to fewer than N of each, so that no sum overflows.
 * Failures make some units run again, hence the room that SUM_MAX leaves. */
static enum nf_status check_sums(struct nf_platform *platform)
{
    struct nf_json_reader *reader = &platform->reader;
    const struct nf_world *world = &platform->world;
    int64_t n, cost_us, most_us, most_slots = 1;

    for (uint32_t i = 0; i < world->slaves; i++)
        if (world->slave[i].slots > most_slots)
            most_slots = world->slave[i].slots;
    n = ((int64_t)world->units + 1) * most_slots; /* idle_us sums over slots */

    if (!world->cost_sums && world->cost_us > NF_PLATFORM_SUM_MAX_US / n) {
        nf_reader_enter(reader, "cost");
        return nf_reader_fail(reader, NF_ERR_RANGE,
                              "the costs are too much in all");
    }
    cost_us = nf_world_cost_us(world, 0, world->units);
    for (uint32_t i = 0; i < world->slaves; i++) {
        const struct nf_world_slave *s = &world->slave[i];
        int64_t den = s->speed.den;

        for (size_t k = 0; k < s->nchanges; k++)
            if (s->changes[k].speed.den > den)
                den = s->changes[k].speed.den;
        if (cost_us > NF_PLATFORM_SUM_MAX_US / den / most_slots)
            return nf_reader_fail(reader, NF_ERR_RANGE,
                                  "slave %" PRIu32 " is too slow for these "
                                  "costs: the run takes too long",
                                  i);
        most_us = s->data.fixed_us + s->data.per_unit_us + s->result.fixed_us +
                  s->result.per_unit_us;
        if (most_us > NF_PLATFORM_SUM_MAX_US / n)
            return nf_reader_fail(
                reader, NF_ERR_RANGE,
                "ts, tr of slave %" PRIu32 ": the run takes too long", i);
    }
    most_us = world->send_overhead.fixed_us + world->send_overhead.per_unit_us +
              world->recv_overhead.fixed_us + world->recv_overhead.per_unit_us +
              world->prop_us;
    if (most_us > NF_PLATFORM_SUM_MAX_US / n)
        return nf_reader_fail(reader, NF_ERR_RANGE,
                              "o_send, o_recv, prop: the run takes too long");
    return NF_OK;
}

/* On errors, reader.path leads to what is wrong. */
static enum nf_status read_world(struct nf_platform *platform)
{
    static const char *const keys[] = {
        "units",    "slaves",   "cost",    "speed", "slots", "slow",   "load",
        "ts",       "tr",       "net",     "kappa", "prop",  "o_send", "o_recv",
        "blocking", "failures", "silence", "note",  NULL,
    };
    struct nf_world *world = &platform->world;
    enum nf_status status =
        nf_reader_keys(&platform->reader, platform->object, keys);

    if (!status)
        status = read_counts(platform);
    if (!status)
        status = nf_platform_read_cost(platform);
    if (!status)
        status = nf_platform_read_slaves(platform);
    if (!status)
        status = read_medium(platform);
    if (!status)
        status = nf_reader_int_key(&platform->reader, platform->object, "prop",
                                   0, NF_WORLD_TIME_MAX_US, &world->prop_us);
    if (!status)
        status = read_overhead(platform, "o_send", &world->send_overhead);
    if (!status)
        status = read_overhead(platform, "o_recv", &world->recv_overhead);
    if (!status)
        status = nf_platform_read_failures(platform);
    if (!status)
        status = check_sums(platform);
    if (status)
        nf_world_fini(world);
    return status;
}

enum nf_status nf_world_parse(const json_t *object, struct nf_world *world_p,
                              struct nf_error *err)
{
    static const struct nf_world_options none = { .units = 0 };
    struct nf_platform platform = {
        .reader.err = err,
        .object = object,
        .options = &none,
    };
    enum nf_status status = read_world(&platform);

    if (!status)
        *world_p = platform.world;
    return status;
}

enum nf_status nf_world_parse_text(const char *text, size_t bytes,
                                   const char *name, const char *directory,
                                   const struct nf_world_options *options,
                                   struct nf_world *world_p,
                                   struct nf_error *err)
{
    static const struct nf_world_options none = { .units = 0 };
    struct nf_platform platform = {
        .reader.err = err,
        .directory = directory,
        .options = options ? options : &none,
    };
    struct nf_json_document document;
    enum nf_status status = nf_json_parse(text, bytes, name, &document, err);

    if (status)
        return status;
    platform.object = document.root;
    status = read_world(&platform);
    if (!status)
        *world_p = platform.world;
    else if (status != NF_ERR_NOMEM && !platform.reader.located)
        nf_json_place(&document, &platform.reader);
    nf_json_document_fini(&document);
    return status;
}

enum nf_status nf_world_read(const char *path,
                             const struct nf_world_options *options,
                             struct nf_world *world_p, struct nf_error *err)
{
    const char *slash = strrchr(path, '/');
    char directory[4096] = "";
    size_t bytes = 0;
    char *text = NULL;
    enum nf_status status;

    if (slash && (size_t)(slash - path) + 2 > sizeof(directory))
        return nf_fail(err, NF_ERR_IO, "%s: name too long", path);
    if (slash) /* of "/x" the slash itself */
        memcpy(directory, path, (size_t)(slash - path) + (slash == path));
    status = nf_json_load(path, &text, &bytes, err);
    if (status)
        return status;
    status = nf_world_parse_text(text, bytes, path, directory, options, world_p,
                                 err);
    nf_free(text);
    return status;
}
