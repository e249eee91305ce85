/* Slaves: how fast, how far away, and when they fail. */
#include "config.h"
#include "sim/platform.h"
#include "common/base/alloc.h"
#include "common/base/units.h"
#include <inttypes.h>
#include <string.h>

/* ---- one value for all, or a list of one for each ---- */

typedef enum nf_status read_item(struct nf_platform *platform,
                                 const json_t *value,
                                 struct nf_world_slave *slave);

static enum nf_status read_data(struct nf_platform *platform,
                                const json_t *value,
                                struct nf_world_slave *slave)
{
    return nf_reader_line(&platform->reader, value, &slave->data);
}

static enum nf_status read_result(struct nf_platform *platform,
                                  const json_t *value,
                                  struct nf_world_slave *slave)
{
    return nf_reader_line(&platform->reader, value, &slave->result);
}

static enum nf_status read_speed(struct nf_platform *platform,
                                 const json_t *value,
                                 struct nf_world_slave *slave)
{
    return nf_reader_ratio(&platform->reader, value, &slave->speed);
}

static enum nf_status read_slots(struct nf_platform *platform,
                                 const json_t *value,
                                 struct nf_world_slave *slave)
{
    int64_t slots = 0;
    enum nf_status status =
        nf_reader_int(&platform->reader, value, 1, NF_WORLD_SLOTS_MAX, &slots);

    if (!status)
        slave->slots = (uint32_t)slots;
    return status;
}

static enum nf_status read_each(struct nf_platform *platform,
                                const json_t *list, read_item *read)
{
    struct nf_json_reader *reader = &platform->reader;
    struct nf_world *world = &platform->world;
    enum nf_status status = NF_OK;

    if (json_array_size(list) != world->slaves)
        return nf_reader_fail(reader, NF_ERR_INVAL,
                              "a list of %zu for %" PRIu32 " slaves",
                              json_array_size(list), world->slaves);
    for (uint32_t i = 0; i < world->slaves && !status; i++) {
        nf_reader_enter_item(reader, i);
        status = read(platform, json_array_get(list, i), &world->slave[i]);
        if (!status)
            nf_reader_leave(reader);
    }
    return status;
}

static enum nf_status read_all(struct nf_platform *platform, const char *key,
                               bool lists_only, bool pairs, read_item *read)
{
    struct nf_json_reader *reader = &platform->reader;
    struct nf_world *world = &platform->world;
    const json_t *value = json_object_get(platform->object, key);
    bool each = json_is_array(value) &&
                (!pairs || json_is_array(json_array_get(value, 0)));
    enum nf_status status = NF_OK;

    if (!value)
        return NF_OK;
    nf_reader_enter(reader, key);
    if (each)
        status = read_each(platform, value, read);
    else if (lists_only)
        status = nf_reader_fail(reader, NF_ERR_INVAL,
                                "want a list of one for each slave");
    else
        for (uint32_t i = 0; i < world->slaves && !status; i++)
            status = read(platform, value, &world->slave[i]);
    if (!status)
        nf_reader_leave(reader);
    return status;
}

/* ---- slow, load ---- */

static enum nf_status read_change(struct nf_platform *platform,
                                  const json_t *pair, int64_t before_us,
                                  struct nf_speed_change *change_p)
{
    struct nf_json_reader *reader = &platform->reader;
    enum nf_status status;

    if (!json_is_array(pair) || json_array_size(pair) != 2)
        return nf_reader_fail(reader, NF_ERR_INVAL,
                              "want a pair [time, speed]");
    nf_reader_enter_item(reader, 0);
    status = nf_reader_int(reader, json_array_get(pair, 0), 0,
                           NF_WORLD_TIME_MAX_US, &change_p->from_us);
    if (!status && change_p->from_us < before_us)
        status = nf_reader_fail(reader, NF_ERR_INVAL,
                                "%" PRId64 ": earlier than the one before",
                                change_p->from_us);
    if (status)
        return status;
    nf_reader_leave(reader);
    nf_reader_enter_item(reader, 1);
    status = nf_reader_ratio(reader, json_array_get(pair, 1), &change_p->speed);
    if (!status)
        nf_reader_leave(reader);
    return status;
}

static enum nf_status read_changes(struct nf_platform *platform,
                                   const json_t *list,
                                   struct nf_world_slave *slave)
{
    struct nf_json_reader *reader = &platform->reader;
    size_t count = json_array_size(list);
    enum nf_status status = NF_OK;
    int64_t before_us = 0;

    if (!json_is_array(list))
        return nf_reader_fail(reader, NF_ERR_INVAL,
                              "want a list of pairs [time, speed]");
    if (slave->changes)
        return nf_reader_fail(reader, NF_ERR_INVAL,
                              "has a list already (of slow and load, one for "
                              "each slave)");
    slave->changes = nf_calloc(count, sizeof(*slave->changes));
    if (!slave->changes)
        return nf_reader_fail(reader, NF_ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count && !status; i++) {
        nf_reader_enter_item(reader, i);
        status = read_change(platform, json_array_get(list, i), before_us,
                             &slave->changes[i]);
        if (!status)
            nf_reader_leave(reader);
        before_us = slave->changes[i].from_us;
    }
    slave->nchanges = count;
    return status;
}

static enum nf_status read_traces(struct nf_platform *platform, const char *key,
                                  bool load)
{
    struct nf_json_reader *reader = &platform->reader;
    json_t *object = json_object_get(platform->object, key);
    const char *name;
    json_t *list;

    if (!object)
        return NF_OK;
    nf_reader_enter(reader, key);
    if (!json_is_object(object))
        return nf_reader_fail(reader, NF_ERR_INVAL,
                              "want an object {\"slave\": [[time, speed], "
                              "...]}");
    json_object_foreach(object, name, list)
    {
        uint64_t slave;
        enum nf_status status;

        nf_reader_enter(reader, name);
        if (nf_parse_count(name, 0, platform->world.slaves - 1, &slave))
            return nf_reader_fail(reader, NF_ERR_INVAL,
                                  "not a slave, 0 to %" PRIu32,
                                  platform->world.slaves - 1);
        platform->world.slave[slave].load = load;
        status = read_changes(platform, list, &platform->world.slave[slave]);
        if (status)
            return status;
        nf_reader_leave(reader);
    }
    nf_reader_leave(reader);
    return NF_OK;
}

static enum nf_status count_slots(struct nf_platform *platform)
{
    uint64_t slots = 0;

    for (uint32_t i = 0; i < platform->world.slaves; i++)
        slots += platform->world.slave[i].slots;
    if (slots > NF_WORLD_SLOTS_MAX) {
        nf_reader_enter(&platform->reader, "slots");
        return nf_reader_fail(&platform->reader, NF_ERR_RANGE,
                              "more than %d in all", NF_WORLD_SLOTS_MAX);
    }
    platform->world.slots = (uint32_t)slots;
    return NF_OK;
}

enum nf_status nf_platform_read_slaves(struct nf_platform *platform)
{
    enum nf_status status;

    for (uint32_t i = 0; i < platform->world.slaves; i++) {
        platform->world.slave[i].speed = (struct nf_ratio){ 1, 1 };
        platform->world.slave[i].slots = 1;
    }
    status = read_all(platform, "speed", true, false, read_speed);
    if (!status)
        status = read_all(platform, "slots", false, false, read_slots);
    if (!status)
        status = count_slots(platform);
    if (!status)
        status = read_traces(platform, "slow", false);
    if (!status)
        status = read_traces(platform, "load", true);
    if (!status)
        status = read_all(platform, "ts", false, true, read_data);
    if (!status)
        status = read_all(platform, "tr", false, true, read_result);
    return status;
}

/* ---- failures ---- */

static enum nf_status read_kind(struct nf_platform *platform,
                                const json_t *failure,
                                enum nf_failure_kind *kind_p)
{
    static const char *const names[] = {
        [NF_FAILURE_DIES] = "dies",
        [NF_FAILURE_HOST] = "host",
        [NF_FAILURE_SILENT] = "silent",
    };
    const json_t *value = json_object_get(failure, "kind");
    const char *name = json_string_value(value);

    if (!value) {
        *kind_p = NF_FAILURE_DIES;
        return NF_OK;
    }
    nf_reader_enter(&platform->reader, "kind");
    for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0) {
            *kind_p = (enum nf_failure_kind)i;
            nf_reader_leave(&platform->reader);
            return NF_OK;
        }
    }
    return nf_reader_fail(&platform->reader, NF_ERR_INVAL,
                          "want \"dies\", \"host\" or \"silent\"");
}

/* What the times of one failure must be like. */
static enum nf_status check_failure(struct nf_platform *platform,
                                    const json_t *object,
                                    const struct nf_world_failure *failure)
{
    struct nf_json_reader *reader = &platform->reader;

    if (failure->kind == NF_FAILURE_SILENT &&
        json_object_get(object, "notice")) {
        nf_reader_enter(reader, "notice");
        return nf_reader_fail(reader, NF_ERR_INVAL,
                              "nobody tells of silence: the key \"silence\" of "
                              "the platform is the master's limit");
    }
    if (failure->until_us < 0) {
        if (failure->kind == NF_FAILURE_SILENT &&
            platform->world.silence_us == 0)
            return nf_reader_fail(reader, NF_ERR_INVAL,
                                  "silent for ever, and the platform has no "
                                  "\"silence\": the job would not end");
        return NF_OK;
    }
    if (failure->until_us <= failure->at_us ||
        failure->until_us - failure->at_us < failure->notice_us) {
        nf_reader_enter(reader, "until");
        return nf_reader_fail(reader, NF_ERR_INVAL,
                              "want a time after \"at\", and not before the "
                              "master has had \"notice\"");
    }
    return NF_OK;
}

static enum nf_status read_failure(struct nf_platform *platform,
                                   const json_t *object,
                                   struct nf_world_failure *failure_p)
{
    static const char *const keys[] = {
        "slave", "at", "kind", "notice", "until", NULL,
    };
    struct nf_json_reader *reader = &platform->reader;
    int64_t slave = -1, at_us = -1, notice_us = 0, until_us = -1;
    enum nf_failure_kind kind = NF_FAILURE_DIES;
    enum nf_status status = nf_reader_keys(reader, object, keys);

    if (!status)
        status = nf_reader_int_key(reader, object, "slave", 0,
                                   platform->world.slaves - 1, &slave);
    if (!status)
        status = nf_reader_int_key(reader, object, "at", 0,
                                   NF_WORLD_TIME_MAX_US, &at_us);
    if (!status && (slave < 0 || at_us < 0))
        status = nf_reader_fail(reader, NF_ERR_INVAL, "\"%s\" is missing",
                                slave < 0 ? "slave" : "at");
    if (!status)
        status = read_kind(platform, object, &kind);
    if (!status)
        status = nf_reader_int_key(reader, object, "notice", 0,
                                   NF_WORLD_TIME_MAX_US, &notice_us);
    if (!status)
        status = nf_reader_int_key(reader, object, "until", 0,
                                   NF_WORLD_TIME_MAX_US, &until_us);
    *failure_p = (struct nf_world_failure){
        (uint32_t)slave, kind, at_us, notice_us, until_us,
    };
    return status ? status : check_failure(platform, object, failure_p);
}

/* @param free_us  since when each slave works again; INT64_MAX: no more */
static enum nf_status read_list(struct nf_platform *platform,
                                const json_t *list, int64_t *free_us)
{
    struct nf_json_reader *reader = &platform->reader;
    struct nf_world *world = &platform->world;

    for (size_t i = 0; i < json_array_size(list); i++) {
        struct nf_world_failure *failure = &world->failures[i];
        enum nf_status status;

        nf_reader_enter_item(reader, i);
        status = read_failure(platform, json_array_get(list, i), failure);
        if (status)
            return status;
        if (failure->at_us < free_us[failure->slave])
            return nf_reader_fail(reader, NF_ERR_INVAL,
                                  "slave %" PRIu32 " has not recovered from "
                                  "the failure before (those of one slave "
                                  "must be in order)",
                                  failure->slave);
        free_us[failure->slave] =
            failure->until_us < 0 ? INT64_MAX : failure->until_us;
        world->nfailures++;
        nf_reader_leave(reader);
    }
    return NF_OK;
}

enum nf_status nf_platform_read_failures(struct nf_platform *platform)
{
    struct nf_json_reader *reader = &platform->reader;
    struct nf_world *world = &platform->world;
    const json_t *list = json_object_get(platform->object, "failures");
    int64_t *free_us;
    enum nf_status status =
        nf_reader_int_key(reader, platform->object, "silence", 0,
                          NF_WORLD_TIME_MAX_US, &world->silence_us);

    if (!status && world->silence_us > 0 &&
        world->silence_us < NF_WORLD_SILENCE_MIN_US) {
        nf_reader_enter(reader, "silence");
        status = nf_reader_fail(reader, NF_ERR_RANGE,
                                "want 0 or at least %d (microseconds)",
                                NF_WORLD_SILENCE_MIN_US);
    }
    if (status || !list)
        return status;
    nf_reader_enter(reader, "failures");
    if (!json_is_array(list))
        return nf_reader_fail(reader, NF_ERR_INVAL, "want a list of objects");
    world->failures =
        nf_calloc(json_array_size(list), sizeof(world->failures[0]));
    free_us = nf_calloc(world->slaves, sizeof(*free_us));
    if (world->failures && free_us)
        status = read_list(platform, list, free_us);
    else
        status = nf_reader_fail(reader, NF_ERR_NOMEM, "out of memory");
    nf_free(free_us);
    if (!status)
        nf_reader_leave(reader);
    return status;
}
