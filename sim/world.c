#include "config.h"
#include "sim/world.h"
#include "common/base/alloc.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TIME_MAX_US INT64_C(1000000000000) /* 11 days, of a single number */
/* What a whole run may add up to; leaves room for sums of a few of these. */
#define SUM_MAX_US (INT64_MAX / 64)

int64_t nf_world_cost_us(const struct nf_world *world, uint64_t first,
                         uint64_t count)
{
    if (!world->cost_sums)
        return world->cost_us * (int64_t)count;
    return world->cost_sums[first + count] - world->cost_sums[first];
}

struct nf_ratio nf_world_speed(const struct nf_world *world, uint32_t slave,
                               int64_t now_us)
{
    const struct nf_world_slave *s = &world->slave[slave];
    struct nf_ratio speed = s->speed;

    for (size_t i = 0; i < s->nchanges && s->changes[i].from_us <= now_us; i++)
        speed = s->changes[i].speed;
    return speed;
}

int64_t nf_world_compute_us(int64_t cost_us, struct nf_ratio speed)
{
    int64_t whole = cost_us / speed.num, rest = cost_us % speed.num;

    return whole * speed.den +
           (2 * rest * speed.den + speed.num) / (2 * speed.num);
}

int64_t nf_line_us(const struct nf_line *line, uint64_t units)
{
    return line->fixed_us + line->per_unit_us * (int64_t)units;
}

/* ---- reading ---- */

static enum nf_status read_int(const json_t *value, const char *key, int64_t hi,
                               int64_t *number_p, struct nf_error *err)
{
    json_int_t number;

    if (!json_is_integer(value))
        return nf_fail(err, NF_ERR_INVAL, "%s: not an integer", key);
    number = json_integer_value(value);
    if (number < 0 || number > hi)
        return nf_fail(err, NF_ERR_RANGE, "%s: %lld is not in 0..%lld", key,
                       (long long)number, (long long)hi);
    *number_p = number;
    return NF_OK;
}

/* A whole, not signed number of digits only; stops behind it. */
static bool read_digits(const char **text, int64_t *number_p)
{
    const char *digit = *text;
    int64_t number = 0;

    for (; *digit >= '0' && *digit <= '9'; digit++) {
        number = 10 * number + (*digit - '0');
        if (number > NF_WORLD_RATIO_MAX)
            return false;
    }
    if (digit == *text || number == 0)
        return false;
    *text = digit;
    *number_p = number;
    return true;
}

static enum nf_status read_ratio(const json_t *value, const char *key,
                                 struct nf_ratio *ratio_p, struct nf_error *err)
{
    struct nf_ratio ratio = { 1, 1 };
    const char *text = json_string_value(value);
    bool good;

    if (json_is_integer(value)) {
        ratio.num = json_integer_value(value);
        good = ratio.num >= 1 && ratio.num <= NF_WORLD_RATIO_MAX;
    } else {
        good = text && read_digits(&text, &ratio.num);
        if (good && *text == '/') {
            text++;
            good = read_digits(&text, &ratio.den);
        }
        good = good && *text == '\0';
    }
    if (!good)
        return nf_fail(err, NF_ERR_INVAL,
                       "%s: not a speed such as 2 or \"1/4\" (numbers 1..%d)",
                       key, NF_WORLD_RATIO_MAX);
    *ratio_p = ratio;
    return NF_OK;
}

static enum nf_status read_line(const json_t *value, const char *key,
                                struct nf_line *line_p, struct nf_error *err)
{
    struct nf_line line = { 0, 0 };
    enum nf_status status;

    if (json_is_integer(value)) {
        status = read_int(value, key, TIME_MAX_US, &line.fixed_us, err);
    } else if (json_is_array(value) && json_array_size(value) == 2) {
        status = read_int(json_array_get(value, 0), key, TIME_MAX_US,
                          &line.fixed_us, err);
        if (!status)
            status = read_int(json_array_get(value, 1), key, TIME_MAX_US,
                              &line.per_unit_us, err);
    } else {
        return nf_fail(err, NF_ERR_INVAL,
                       "%s: not a time, nor a pair [time, time a unit]", key);
    }
    if (!status)
        *line_p = line;
    return status;
}

/* One pair for all slaves, or a list of pairs. */
static enum nf_status read_lines(const json_t *value, const char *key,
                                 struct nf_world *world, bool is_data,
                                 struct nf_error *err)
{
    bool per_slave =
        json_is_array(value) && json_is_array(json_array_get(value, 0));

    if (!value)
        return NF_OK;
    if (per_slave && json_array_size(value) != world->slaves)
        return nf_fail(err, NF_ERR_INVAL, "%s: %zu pairs for %u slaves", key,
                       json_array_size(value), world->slaves);
    for (uint32_t i = 0; i < world->slaves; i++) {
        struct nf_world_slave *s = &world->slave[i];
        enum nf_status status =
            read_line(per_slave ? json_array_get(value, i) : value, key,
                      is_data ? &s->data : &s->result, err);

        if (status)
            return status;
    }
    return NF_OK;
}

static enum nf_status read_cost(const json_t *cost, struct nf_world *world,
                                struct nf_error *err)
{
    enum nf_status status = NF_OK;

    if (json_is_integer(cost))
        return read_int(cost, "cost", TIME_MAX_US, &world->cost_us, err);
    if (!json_is_array(cost) || json_array_size(cost) != world->units)
        return nf_fail(err, NF_ERR_INVAL,
                       "cost: not a time, nor a list of one for each unit");
    world->cost_sums = nf_calloc(world->units + 1, sizeof(int64_t));
    if (!world->cost_sums)
        return nf_fail(err, NF_ERR_NOMEM, "cost: out of memory");
    for (uint64_t i = 0; i < world->units && !status; i++) {
        int64_t cost_us = 0;

        status = read_int(json_array_get(cost, i), "cost", TIME_MAX_US,
                          &cost_us, err);
        if (!status && world->cost_sums[i] > SUM_MAX_US - cost_us)
            status = nf_fail(err, NF_ERR_RANGE, "cost: too much in all");
        world->cost_sums[i + 1] = world->cost_sums[i] + cost_us;
    }
    return status;
}

static enum nf_status read_speed(const json_t *speed, struct nf_world *world,
                                 struct nf_error *err)
{
    enum nf_status status = NF_OK;

    for (uint32_t i = 0; i < world->slaves; i++)
        world->slave[i].speed = (struct nf_ratio){ 1, 1 };
    if (!speed)
        return NF_OK;
    if (!json_is_array(speed) || json_array_size(speed) != world->slaves)
        return nf_fail(err, NF_ERR_INVAL,
                       "speed: not a list of one for each slave");
    for (uint32_t i = 0; i < world->slaves && !status; i++)
        status = read_ratio(json_array_get(speed, i), "speed",
                            &world->slave[i].speed, err);
    return status;
}

static enum nf_status read_changes(const json_t *list,
                                   struct nf_world_slave *slave,
                                   struct nf_error *err)
{
    enum nf_status status = NF_OK;
    int64_t before_us = 0;

    if (!json_is_array(list) || slave->changes)
        return nf_fail(err, NF_ERR_INVAL,
                       "slow: not one list of [time, speed] a slave");
    slave->changes = nf_calloc(json_array_size(list), sizeof(*slave->changes));
    if (!slave->changes)
        return nf_fail(err, NF_ERR_NOMEM, "slow: out of memory");
    for (size_t i = 0; i < json_array_size(list) && !status; i++) {
        const json_t *pair = json_array_get(list, i);
        struct nf_speed_change *change = &slave->changes[i];

        if (!json_is_array(pair) || json_array_size(pair) != 2)
            return nf_fail(err, NF_ERR_INVAL, "slow: not a [time, speed]");
        status = read_int(json_array_get(pair, 0), "slow", TIME_MAX_US,
                          &change->from_us, err);
        if (!status)
            status = read_ratio(json_array_get(pair, 1), "slow", &change->speed,
                                err);
        if (!status && change->from_us < before_us)
            status = nf_fail(err, NF_ERR_INVAL, "slow: times not in order");
        before_us = change->from_us;
        slave->nchanges = i + 1;
    }
    return status;
}

static enum nf_status read_slow(const json_t *slow, struct nf_world *world,
                                struct nf_error *err)
{
    const char *key;
    json_t *list;

    if (!slow)
        return NF_OK;
    if (!json_is_object(slow))
        return nf_fail(err, NF_ERR_INVAL, "slow: not an object");
    json_object_foreach((json_t *)slow, key, list)
    {
        char *end;
        unsigned long slave;
        enum nf_status status;

        errno = 0;
        slave = strtoul(key, &end, 10);
        if (key[0] < '0' || key[0] > '9' || *end != '\0' || errno ||
            slave >= world->slaves)
            return nf_fail(err, NF_ERR_INVAL,
                           "slow: \"%.40s\" is not a slave, 0..%u", key,
                           world->slaves - 1);
        status = read_changes(list, &world->slave[slave], err);
        if (status)
            return status;
    }
    return NF_OK;
}

static enum nf_status read_net(const json_t *object, struct nf_world *world,
                               struct nf_error *err)
{
    static const char *const names[] = { "links", "bus", "hub" };
    const json_t *net = json_object_get(object, "net");
    const json_t *kappa = json_object_get(object, "kappa");
    const json_t *blocking = json_object_get(object, "blocking");
    bool found = !net;

    for (int i = 0; net && json_is_string(net) && i < 3; i++) {
        if (strcmp(json_string_value(net), names[i]) == 0) {
            world->net = (enum nf_world_net)i;
            found = true;
        }
    }
    if (!found)
        return nf_fail(err, NF_ERR_INVAL, "net: not links, bus or hub");
    if (kappa && (!json_is_number(kappa) || json_number_value(kappa) < 0 ||
                  json_number_value(kappa) > 1000))
        return nf_fail(err, NF_ERR_INVAL, "kappa: not a number in 0..1000");
    world->kappa = json_number_value(kappa);
    if (blocking && !json_is_boolean(blocking))
        return nf_fail(err, NF_ERR_INVAL, "blocking: not true or false");
    world->blocking = json_is_true(blocking);
    return NF_OK;
}

static enum nf_status check_keys(const json_t *object, struct nf_error *err)
{
    static const char *const keys[] = {
        "units", "slaves", "cost",   "speed",  "slow",     "ts",   "tr",
        "net",   "kappa",  "o_send", "o_recv", "blocking", "prop",
    };
    const char *key;
    json_t *value;

    if (!json_is_object(object))
        return nf_fail(err, NF_ERR_INVAL, "platform: not a JSON object");
    json_object_foreach((json_t *)object, key, value)
    {
        bool known = false;

        for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
            known = known || strcmp(key, keys[i]) == 0;
        if (!known)
            return nf_fail(err, NF_ERR_INVAL, "unknown key \"%.40s\"", key);
    }
    return NF_OK;
}

/* An explicit count, or the length of a list. */
static enum nf_status read_count(const json_t *object, const char *key,
                                 const char *list, int64_t hi, int64_t *count_p,
                                 struct nf_error *err)
{
    const json_t *count = json_object_get(object, key);

    if (count)
        return read_int(count, key, hi, count_p, err);
    if (!json_is_array(json_object_get(object, list)))
        return nf_fail(err, NF_ERR_INVAL, "%s: missing", key);
    *count_p = (int64_t)json_array_size(json_object_get(object, list));
    return NF_OK;
}

/* Times only ever add up to fewer than N of each, so that no sum overflows. */
static enum nf_status check_sums(const struct nf_world *world,
                                 struct nf_error *err)
{
    int64_t n = (int64_t)world->units + 1, cost_us, most = TIME_MAX_US;

    if (!world->cost_sums && world->cost_us > SUM_MAX_US / n)
        return nf_fail(err, NF_ERR_RANGE, "cost: too much in all");
    cost_us = nf_world_cost_us(world, 0, world->units);
    for (uint32_t i = 0; i < world->slaves; i++) {
        const struct nf_world_slave *s = &world->slave[i];
        int64_t den = s->speed.den;

        for (size_t k = 0; k < s->nchanges; k++)
            if (s->changes[k].speed.den > den)
                den = s->changes[k].speed.den;
        if (cost_us > SUM_MAX_US / den)
            return nf_fail(err, NF_ERR_RANGE, "speed: the run takes too long");
        if (s->data.fixed_us + s->data.per_unit_us > SUM_MAX_US / n ||
            s->result.fixed_us + s->result.per_unit_us > SUM_MAX_US / n)
            return nf_fail(err, NF_ERR_RANGE, "ts, tr: the run takes too long");
    }
    most = world->send_overhead.fixed_us + world->send_overhead.per_unit_us +
           world->recv_overhead.fixed_us + world->recv_overhead.per_unit_us +
           world->prop_us;
    if (most > SUM_MAX_US / n)
        return nf_fail(err, NF_ERR_RANGE,
                       "o_send, o_recv, prop: the run takes too long");
    return NF_OK;
}

static enum nf_status read_counts(const json_t *object, struct nf_world *world,
                                  struct nf_error *err)
{
    int64_t units = 0, slaves = 0;
    enum nf_status status = check_keys(object, err);

    if (!status)
        status = read_count(object, "units", "cost", NF_WORLD_UNITS_MAX, &units,
                            err);
    if (!status)
        status = read_count(object, "slaves", "speed", NF_WORLD_SLAVES_MAX,
                            &slaves, err);
    if (!status && slaves == 0)
        status = nf_fail(err, NF_ERR_RANGE, "slaves: 0");
    if (status)
        return status;
    world->units = (uint64_t)units;
    world->slaves = (uint32_t)slaves;
    world->slave = nf_calloc(world->slaves, sizeof(world->slave[0]));
    return world->slave ? NF_OK : nf_fail(err, NF_ERR_NOMEM, "out of memory");
}

enum nf_status nf_world_parse(const json_t *object, struct nf_world *world_p,
                              struct nf_error *err)
{
    struct nf_world world = { 0 };
    const json_t *value;
    enum nf_status status = read_counts(object, &world, err);

    if (!status)
        status = read_cost(json_object_get(object, "cost"), &world, err);
    if (!status)
        status = read_speed(json_object_get(object, "speed"), &world, err);
    if (!status)
        status = read_slow(json_object_get(object, "slow"), &world, err);
    if (!status)
        status =
            read_lines(json_object_get(object, "ts"), "ts", &world, true, err);
    if (!status)
        status =
            read_lines(json_object_get(object, "tr"), "tr", &world, false, err);
    if (!status)
        status = read_net(object, &world, err);
    if (!status && (value = json_object_get(object, "prop")))
        status = read_int(value, "prop", TIME_MAX_US, &world.prop_us, err);
    if (!status && (value = json_object_get(object, "o_send")))
        status = read_line(value, "o_send", &world.send_overhead, err);
    if (!status && (value = json_object_get(object, "o_recv")))
        status = read_line(value, "o_recv", &world.recv_overhead, err);
    if (!status)
        status = check_sums(&world, err);
    if (status) {
        nf_world_fini(&world);
        return status;
    }
    *world_p = world;
    return NF_OK;
}

enum nf_status nf_world_read(const char *path, struct nf_world *world_p,
                             struct nf_error *err)
{
    json_error_t json_err;
    json_t *object = json_load_file(path, JSON_REJECT_DUPLICATES, &json_err);
    enum nf_status status;

    if (!object && json_error_code(&json_err) == json_error_cannot_open_file)
        return nf_fail(err, NF_ERR_IO, "%s", json_err.text);
    if (!object)
        return nf_fail(err, NF_ERR_INVAL, "%s: line %d: %s", path,
                       json_err.line, json_err.text);
    status = nf_world_parse(object, world_p, err);
    if (status)
        nf_fail_prefix(err, "%s", path);
    json_decref(object);
    return status;
}

void nf_world_fini(struct nf_world *world)
{
    if (world->slave)
        for (uint32_t i = 0; i < world->slaves; i++)
            nf_free(world->slave[i].changes);
    nf_free(world->slave);
    nf_free(world->cost_sums);
    *world = (struct nf_world){ 0 };
}
