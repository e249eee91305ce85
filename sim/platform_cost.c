/* Costs of units: one number, a list, a file, or drawn. */
#include "config.h"
#include "sim/platform.h"
#include "common/base/alloc.h"
#include "common/base/units.h"
#include "sim/distribution.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static enum nf_status make_sums(struct nf_platform *platform)
{
    struct nf_world *world = &platform->world;

    if (world->units > NF_WORLD_COSTS_MAX)
        return nf_reader_fail(&platform->reader, NF_ERR_RANGE,
                              "%" PRIu64 " units: at most %d may have a cost "
                              "each",
                              world->units, NF_WORLD_COSTS_MAX);
    world->cost_sums = nf_calloc(world->units + 1, sizeof(int64_t));
    if (!world->cost_sums)
        return nf_reader_fail(&platform->reader, NF_ERR_NOMEM, "out of memory");
    return NF_OK;
}

/* @return the reason why not, or NULL */
static const char *add_cost(struct nf_world *world, uint64_t unit,
                            int64_t cost_us)
{
    if (world->cost_sums[unit] > NF_PLATFORM_SUM_MAX_US - cost_us)
        return "the costs are too much in all";
    world->cost_sums[unit + 1] = world->cost_sums[unit] + cost_us;
    return NULL;
}

static enum nf_status read_list(struct nf_platform *platform,
                                const json_t *list)
{
    struct nf_json_reader *reader = &platform->reader;
    struct nf_world *world = &platform->world;
    enum nf_status status = NF_OK;

    if (json_array_size(list) != world->units)
        return nf_reader_fail(reader, NF_ERR_INVAL,
                              "%zu costs for %" PRIu64 " units%s",
                              json_array_size(list), world->units,
                              platform->options->has_units ? " (--units)" : "");
    status = make_sums(platform);
    for (uint64_t i = 0; i < world->units && !status; i++) {
        int64_t cost_us = 0;
        const char *why;

        nf_reader_enter_item(reader, i);
        status = nf_reader_int(reader, json_array_get(list, i), 0,
                               NF_WORLD_TIME_MAX_US, &cost_us);
        why = add_cost(world, i, cost_us);
        if (!status && why)
            status = nf_reader_fail(reader, NF_ERR_RANGE, "%s", why);
        if (!status)
            nf_reader_leave(reader);
    }
    return status;
}

/* ---- files ---- */

struct cost_file {
    struct nf_platform *platform;
    const char *path;
    unsigned long line;
    uint64_t count; /* of costs so far */
};

/* What is wrong is in that file, not in the platform's. */
static enum nf_status fail_in_file(struct cost_file *file, const char *text,
                                   const char *what)
{
    file->platform->reader.depth = 0;
    file->platform->reader.located = true;
    return nf_reader_fail(&file->platform->reader, NF_ERR_INVAL,
                          "%s:%lu: %.40s: %s", file->path, file->line, text,
                          what);
}

static enum nf_status read_words(struct cost_file *file, char *line)
{
    struct nf_world *world = &file->platform->world;
    char *rest = line;

    line[strcspn(line, "#\r\n")] = '\0';
    for (;;) {
        char *word = strtok_r(rest, " \t,;", &rest);
        uint64_t cost_us;
        const char *why;

        if (!word)
            return NF_OK;
        if (nf_parse_count(word, 0, (uint64_t)NF_WORLD_TIME_MAX_US, &cost_us))
            return fail_in_file(file, word,
                                "want integer microseconds, at most 10^12");
        if (file->count == world->units) {
            file->count++;
            return NF_OK; /* one too many is enough to know */
        }
        why = add_cost(world, file->count, (int64_t)cost_us);
        if (why)
            return fail_in_file(file, word, why);
        file->count++;
    }
}

static enum nf_status read_stream(struct cost_file *file, FILE *stream)
{
    struct nf_platform *platform = file->platform;
    enum nf_status status = NF_OK;
    char *line = NULL;
    size_t room = 0;

    while (!status && file->count <= platform->world.units &&
           getline(&line, &room, stream) >= 0) {
        file->line++;
        status = read_words(file, line);
    }
    if (!status && ferror(stream))
        status = nf_reader_fail(&platform->reader, NF_ERR_IO, "%s: %s",
                                file->path, strerror(errno));
    free(line);
    if (!status && file->count > platform->world.units)
        return nf_reader_fail(&platform->reader, NF_ERR_INVAL,
                              "%s: more than %" PRIu64 " costs, one a unit",
                              file->path, platform->world.units);
    if (!status && file->count < platform->world.units)
        return nf_reader_fail(&platform->reader, NF_ERR_INVAL,
                              "%s: %" PRIu64 " costs for %" PRIu64 " units",
                              file->path, file->count, platform->world.units);
    return status;
}

static enum nf_status read_path(struct nf_platform *platform, const char *path)
{
    struct cost_file file = { .platform = platform, .path = path };
    FILE *stream = fopen(path, "r");
    enum nf_status status;
    struct stat info;

    if (!stream)
        return nf_reader_fail(&platform->reader, NF_ERR_IO, "%s: %s", path,
                              strerror(errno));
    if (fstat(fileno(stream), &info) != 0 || !S_ISREG(info.st_mode))
        status = nf_reader_fail(&platform->reader, NF_ERR_INVAL,
                                "%s: not a regular file", path);
    else
        status = make_sums(platform);
    if (!status)
        status = read_stream(&file, stream);
    fclose(stream);
    return status;
}

static enum nf_status read_file(struct nf_platform *platform,
                                const json_t *cost)
{
    static const char *const keys[] = { "file", NULL };
    const char *name = json_string_value(json_object_get(cost, "file"));
    char path[4096];
    int n;
    enum nf_status status = nf_reader_keys(&platform->reader, cost, keys);

    if (status)
        return status;
    nf_reader_enter(&platform->reader, "file");
    if (!name || name[0] == '\0')
        return nf_reader_fail(&platform->reader, NF_ERR_INVAL,
                              "want the name of a file");
    if (!platform->directory)
        return nf_reader_fail(&platform->reader, NF_ERR_INVAL,
                              "files cannot be named here");
    n = snprintf(path, sizeof(path), "%s%s%s",
                 name[0] == '/' ? "" : platform->directory,
                 name[0] == '/' || !platform->directory[0] ? "" : "/", name);
    if (n < 0 || (size_t)n >= sizeof(path))
        return nf_reader_fail(&platform->reader, NF_ERR_INVAL, "too long");
    status = read_path(platform, path);
    if (!status)
        nf_reader_leave(&platform->reader);
    return status;
}

/* ---- distributions ---- */

struct form {
    const char *name;
    enum nf_distribution_kind kind;
    const char *keys[6]; /* of the object; a and b are the next two */
    const char *a, *b;
};

static const struct form forms[] = {
    { "constant", NF_DIST_CONSTANT, { "mean" }, "mean", NULL },
    { "uniform", NF_DIST_UNIFORM, { "low", "high" }, "low", "high" },
    { "normal",
      NF_DIST_NORMAL,
      { "mean", "deviation", "low", "high" },
      "mean",
      "deviation" },
    { "exponential", NF_DIST_EXPONENTIAL, { "mean" }, "mean", NULL },
    { "gamma", NF_DIST_GAMMA, { "mean", "shape" }, "mean", "shape" },
    { "bimodal", NF_DIST_BIMODAL, { "low", "high", "share" }, "low", "high" },
    { "increasing", NF_DIST_RAMP, { "low", "high" }, "low", "high" },
    { "decreasing", NF_DIST_RAMP, { "low", "high" }, "high", "low" },
};

/* @return NULL after an error */
static const struct form *find_form(struct nf_platform *platform,
                                    const json_t *cost)
{
    const json_t *value = json_object_get(cost, "distribution");
    const char *name = json_string_value(value);

    for (size_t i = 0; name && i < sizeof(forms) / sizeof(forms[0]); i++)
        if (strcmp(name, forms[i].name) == 0)
            return &forms[i];
    if (value)
        nf_reader_enter(&platform->reader, "distribution");
    nf_reader_fail(&platform->reader, NF_ERR_INVAL,
                   "want a \"distribution\": constant, uniform, normal, "
                   "exponential, gamma, bimodal, increasing or decreasing (or "
                   "a \"file\")");
    return NULL;
}

/* @param fallback  NULL: the key is required */
static enum nf_status read_number(struct nf_platform *platform,
                                  const json_t *cost, const char *key,
                                  const double *fallback, double *number_p)
{
    struct nf_json_reader *reader = &platform->reader;
    const json_t *value = json_object_get(cost, key);
    bool is_shape = strcmp(key, "shape") == 0;
    double low = is_shape ? 1e-3 : 0;
    double high = is_shape                    ? 1e6
                  : strcmp(key, "share") == 0 ? 1
                                              : (double)NF_WORLD_TIME_MAX_US;
    enum nf_status status;

    if (!value && fallback) {
        *number_p = *fallback;
        return NF_OK;
    }
    if (!value)
        return nf_reader_fail(reader, NF_ERR_INVAL, "\"%s\" is missing", key);
    nf_reader_enter(reader, key);
    status = nf_reader_real(reader, value, low, high, number_p);
    if (!status)
        nf_reader_leave(reader);
    return status;
}

static enum nf_status read_distribution(struct nf_platform *platform,
                                        const json_t *cost,
                                        struct nf_distribution *d_p)
{
    static const double half = 0.5, zero = 0;
    const char *keys[8] = { "distribution", "seed" };
    const struct form *form = find_form(platform, cost);
    enum nf_status status;
    double most;

    if (!form)
        return NF_ERR_INVAL;
    for (size_t i = 0; form->keys[i]; i++)
        keys[2 + i] = form->keys[i];
    status = nf_reader_keys(&platform->reader, cost, keys);
    d_p->kind = form->kind;
    if (!status)
        status = read_number(platform, cost, form->a, NULL, &d_p->a);
    if (!status && form->b)
        status = read_number(platform, cost, form->b, NULL, &d_p->b);
    if (!status && d_p->kind == NF_DIST_BIMODAL)
        status = read_number(platform, cost, "share", &half, &d_p->share);
    if (!status && d_p->kind == NF_DIST_NORMAL)
        status = read_number(platform, cost, "low", &zero, &d_p->low);
    most = d_p->a + 6 * d_p->b;
    if (!status && d_p->kind == NF_DIST_NORMAL)
        status = read_number(platform, cost, "high", &most, &d_p->high);
    if (status)
        return status;
    if (d_p->kind == NF_DIST_NORMAL
            ? d_p->low > d_p->a || d_p->a > d_p->high
            : strcmp(form->a, "low") == 0 && d_p->a > d_p->b)
        return nf_reader_fail(&platform->reader, NF_ERR_INVAL,
                              "\"low\" is above the others, or \"high\" below");
    return NF_OK;
}

static enum nf_status draw(struct nf_platform *platform, const json_t *cost)
{
    struct nf_distribution distribution = { .a = 0 };
    struct nf_world *world = &platform->world;
    struct nf_rng rng;
    int64_t seed = 1;
    enum nf_status status = read_distribution(platform, cost, &distribution);

    if (!status)
        status = nf_reader_int_key(&platform->reader, cost, "seed", 0,
                                   INT64_MAX, &seed);
    if (!status)
        status = make_sums(platform);
    rng.state = (uint64_t)seed;
    if (platform->options->has_seed)
        rng.state = platform->options->seed;
    for (uint64_t i = 0; i < world->units && !status; i++) {
        double cost_us =
            nf_distribution_draw(&distribution, i, world->units, &rng);
        const char *why = "a cost drawn is above 10^12 us";

        if (cost_us <= (double)NF_WORLD_TIME_MAX_US)
            why = add_cost(world, i, (int64_t)(cost_us + 0.5));
        if (why)
            status = nf_reader_fail(&platform->reader, NF_ERR_RANGE, "%s", why);
    }
    return status;
}

enum nf_status nf_platform_read_cost(struct nf_platform *platform)
{
    const json_t *cost = json_object_get(platform->object, "cost");
    enum nf_status status;

    if (!cost)
        return nf_reader_fail(&platform->reader, NF_ERR_INVAL,
                              "\"cost\" is missing: the compute time of a "
                              "unit");
    nf_reader_enter(&platform->reader, "cost");
    if (json_is_integer(cost))
        status = nf_reader_int(&platform->reader, cost, 0, NF_WORLD_TIME_MAX_US,
                               &platform->world.cost_us);
    else if (json_is_array(cost))
        status = read_list(platform, cost);
    else if (json_is_object(cost) && json_object_get(cost, "file"))
        status = read_file(platform, cost);
    else if (json_is_object(cost))
        status = draw(platform, cost);
    else
        status = nf_reader_fail(&platform->reader, NF_ERR_INVAL,
                                "want integer microseconds, a list of them, a "
                                "\"file\" or a \"distribution\"");
    if (!status)
        nf_reader_leave(&platform->reader);
    return status;
}
