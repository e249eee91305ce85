#include "config.h"
#include "tests/unit/auto_worlds.h"
#include "common/base/rng.h"
#include <math.h>
#include <stdio.h>

#define DRAW(rng, list)                                                        \
    ((list)[nf_rng_below(rng, sizeof(list) / sizeof((list)[0]))])

static int64_t draw_cost_us(struct nf_rng *rng, int kind, int64_t scale_us)
{
    double u = ((double)nf_rng_below(rng, 1000000) + 1) / 1000001.0;

    switch (kind) {
    case 0:
        return scale_us;
    case 1: /* a half to one and a half */
        return scale_us / 2 + (int64_t)(u * (double)scale_us);
    case 2:
        return 1 + (int64_t)(-log(u) * (double)scale_us);
    default:
        return nf_rng_below(rng, 10) == 0 ? 10 * scale_us : scale_us;
    }
}

static json_t *draw_costs(struct nf_rng *rng, uint64_t units)
{
    static const int64_t scales_us[] = { 2000, 20000, 100000 };
    int64_t scale_us = DRAW(rng, scales_us);
    int kind = (int)nf_rng_below(rng, 4);
    json_t *costs = json_array();

    for (uint64_t i = 0; i < units; i++)
        json_array_append_new(costs,
                              json_integer(draw_cost_us(rng, kind, scale_us)));
    return costs;
}

static json_t *draw_speeds(struct nf_rng *rng, uint64_t slaves)
{
    static const char *const speeds[] = { "2", "1", "1/2", "1/4" };
    bool alike = nf_rng_below(rng, 3) == 0;
    json_t *list = json_array();

    for (uint64_t i = 0; i < slaves; i++)
        json_array_append_new(list,
                              json_string(alike ? "1" : DRAW(rng, speeds)));
    return list;
}

json_t *auto_world(uint64_t seed)
{
    static const uint64_t slave_counts[] = { 2, 3, 4, 8, 16 };
    static const json_int_t wires_us[] = { 0, 10, 500 };
    static const json_int_t props_us[] = { 0, 100, 1000, 10000, 100000 };
    struct nf_rng rng;
    uint64_t p, unit_counts[6];
    json_int_t wire_us;
    json_t *world;

    rng.state = seed;
    p = DRAW(&rng, slave_counts);
    unit_counts[0] = p;
    unit_counts[1] = p + 1;
    unit_counts[2] = 3 * p;
    unit_counts[3] = 20;
    unit_counts[4] = 100;
    unit_counts[5] = 320;
    wire_us = DRAW(&rng, wires_us);
    world = json_pack("{s:o, s:o, s:[I,I], s:[I,I], s:I, s:s}", "cost",
                      draw_costs(&rng, DRAW(&rng, unit_counts)), "speed",
                      draw_speeds(&rng, p), "ts", wire_us, wire_us, "tr",
                      wire_us, wire_us, "prop", DRAW(&rng, props_us), "net",
                      nf_rng_below(&rng, 3) ? "links" : "bus");
    if (nf_rng_below(&rng, 4) == 0) {
        char slave[24];

        snprintf(slave, sizeof(slave), "%u", (unsigned)nf_rng_below(&rng, p));
        json_object_set_new(
            world, "slow",
            json_pack("{s:[[I,s]]}", slave,
                      (json_int_t)nf_rng_below(
                          &rng, 1 + (uint64_t)auto_bound_us(world)),
                      nf_rng_below(&rng, 2) ? "1/3" : "1/8"));
    }
    return world;
}

double auto_bound_us(const json_t *platform)
{
    const json_t *cost = json_object_get(platform, "cost");
    double speed = 0,
           work_us = (double)json_integer_value(cost) *
                     json_number_value(json_object_get(platform, "units"));
    json_t *item;
    size_t i;

    json_array_foreach(cost, i, item) work_us +=
        (double)json_integer_value(item);
    json_array_foreach(json_object_get(platform, "speed"), i, item)
    {
        double num = 1, den = 1;

        if (sscanf(json_string_value(item), "%lf/%lf", &num, &den) < 1)
            num = 0;
        speed += num / den;
    }
    return work_us / speed +
           2 * json_number_value(json_object_get(platform, "prop"));
}

bool auto_run(const struct nf_policy *policy, const json_t *platform,
              struct nf_farm_sim_result *result_p)
{
    struct nf_world world;
    struct nf_error err;
    enum nf_status status = nf_world_parse(platform, &world, &err);

    if (status == NF_OK) {
        status = nf_farm_sim_run(&world, policy, 1, result_p, &err);
        nf_world_fini(&world);
    }
    if (status != NF_OK)
        fprintf(stderr, "%s: %s\n", policy->spec, err.text);
    return status == NF_OK;
}

bool auto_run_spec(const char *spec, const json_t *platform,
                   struct nf_farm_sim_result *result_p)
{
    struct nf_policy policy;
    struct nf_error err;

    if (nf_policy_parse(spec, &policy, &err) != NF_OK) {
        fprintf(stderr, "%s\n", err.text);
        return false;
    }
    return auto_run(&policy, platform, result_p);
}

int64_t auto_makespan_us(const char *spec, const json_t *platform)
{
    struct nf_farm_sim_result result;
    int64_t makespan_us;

    if (!auto_run_spec(spec, platform, &result))
        return -1;
    makespan_us = result.makespan_us;
    nf_farm_sim_fini(&result);
    return makespan_us;
}

json_t *auto_golden(const char *name)
{
    char path[4096];
    json_error_t err;
    json_t *json;

    snprintf(path, sizeof(path), "%s/tests/golden/%s", NF_SRCDIR, name);
    json = json_load_file(path, 0, &err);
    if (json == NULL)
        fprintf(stderr, "%s:%d: %s\n", path, err.line, err.text);
    return json;
}
