/* Policies against tests/golden/policies.json: values of an independent
 * reference implementation. */
#include "config.h"
#include <jansson.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/rng.h"
#include "tests/unit/golden_spec.h"
#include "tests/unit/nf_unit.h"
#include "tests/unit/policy_world.h"

static json_t *golden;

/* One failed comparison, with a line that says what was compared. */
static bool agree(const char *what, const char *detail, int64_t got,
                  int64_t want)
{
    if (got != want)
        printf("\n    %s: %s: got %" PRId64 ", want %" PRId64, what, detail,
               got, want);
    return got == want;
}

static int64_t integer(const json_t *object, const char *key)
{
    return (int64_t)json_integer_value(json_object_get(object, key));
}

static const char *string(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static bool make_policy(const char *name, const json_t *params,
                        struct nf_policy *policy_p)
{
    char spec[NF_POLICY_SPEC_BYTES];
    struct nf_error err;

    golden_spec(name, params, spec);
    if (nf_policy_parse(spec, policy_p, &err) == NF_OK)
        return true;
    printf("\n    %s", err.text);
    return false;
}

/* ---- sizes ---- */

static void *new_sizer(const struct nf_policy *policy, uint64_t units,
                       uint32_t slots)
{
    struct nf_policy_env env = {
        .units = units, .slots = slots, .max_slots = slots, .seed = 1
    };
    void *state = calloc(1, policy->sizer->state_size(&env));

    CU_ASSERT_EQUAL(
        policy->sizer->init(state, &env, policy->sizer_values, NULL), NF_OK);
    return state;
}

static bool sequence_matches(const json_t *row)
{
    struct nf_policy policy;
    uint64_t left = (uint64_t)integer(row, "N");
    uint32_t slots = (uint32_t)integer(row, "p");
    uint64_t index = 0;
    bool ok = true;
    void *state;
    size_t i;
    json_t *run;

    if (!make_policy(string(row, "policy"), json_object_get(row, "params"),
                     &policy))
        return false;
    state = new_sizer(&policy, left, slots);
    json_array_foreach(json_object_get(row, "rle"), i, run)
    {
        int64_t size = json_integer_value(json_array_get(run, 0));
        int64_t repeat = json_integer_value(json_array_get(run, 1));

        for (; repeat > 0 && ok; repeat--, index++) {
            uint64_t units = 0;

            /* only rows of static have zeros */
            if (left > 0 && policy.sizer->next(state, (uint32_t)(index % slots),
                                               left, &units) != NF_OK)
                units = 0;
            ok = agree(policy.spec, "size", (int64_t)units, size);
            left -= units;
        }
    }
    ok = agree(policy.spec, "left over", (int64_t)left, 0) && ok;
    ok = agree(policy.spec, "count", (int64_t)index, integer(row, "count")) &&
         ok;
    free(state);
    return ok;
}

static void sizes_are_those_of_the_reference(void)
{
    size_t i;
    json_t *row, *rows = json_object_get(golden, "chunk_sequences");

    CU_ASSERT(json_array_size(rows) >= 297);
    json_array_foreach(rows, i, row) CU_ASSERT(sequence_matches(row));
}

/* Doubles in the formulas of af and rta: one unit more or less is right, and
 * the script then goes on with the reference's. */
static int64_t tolerance(const struct nf_policy *policy)
{
    return policy->sizer == &nf_sizer_af || policy->sizer == &nf_sizer_rta;
}

static bool replay(const json_t *script)
{
    struct nf_policy policy;
    uint64_t left = (uint64_t)integer(script, "N");
    bool ok = true;
    void *state;
    size_t i;
    json_t *op;

    if (!make_policy(string(script, "policy"),
                     json_object_get(script, "params"), &policy))
        return false;
    state = new_sizer(&policy, left, (uint32_t)integer(script, "p"));
    json_array_foreach(json_object_get(script, "ops"), i, op)
    {
        uint32_t slot = (uint32_t)json_integer_value(json_array_get(op, 1));
        int64_t size = json_integer_value(json_array_get(op, 2));
        struct nf_chunk_times times = {
            .units = (uint64_t)size,
            .compute_us = json_integer_value(json_array_get(op, 3)),
            .elapsed_us = json_integer_value(json_array_get(op, 4)),
            .wait_us = -1,
            .mean_unit_us = json_number_value(json_array_get(op, 5)),
            .m2_unit_us2 = json_number_value(json_array_get(op, 6)),
        };
        uint64_t units = 0;

        if (strcmp(json_string_value(json_array_get(op, 0)), "next") != 0) {
            if (policy.sizer->report != NULL)
                policy.sizer->report(state, slot, &times);
            continue;
        }
        if (left > 0 && policy.sizer->next(state, slot, left, &units) != NF_OK)
            units = 0;
        if (llabs((int64_t)units - size) > tolerance(&policy))
            ok = agree(policy.spec, "answer", (int64_t)units, size) && ok;
        left -= (uint64_t)size;
    }
    free(state);
    return ok;
}

static void scripts_are_answered_as_by_the_reference(void)
{
    size_t i;
    json_t *script, *scripts = json_object_get(golden, "scripts");

    CU_ASSERT(json_array_size(scripts) >= 15);
    json_array_foreach(scripts, i, script) CU_ASSERT(replay(script));
}

/* ---- times ---- */

static void read_pair(const json_t *world, const char *key, int64_t pair_us[2])
{
    const json_t *value = json_object_get(world, key);

    if (json_is_integer(value))
        pair_us[0] = json_integer_value(value);
    for (size_t i = 0; i < 2 && json_is_array(value); i++)
        pair_us[i] = json_integer_value(json_array_get(value, i));
}

static void read_fraction(const char *text, int64_t *numerator_p,
                          int64_t *denominator_p)
{
    char *end;

    *numerator_p = strtoll(text, &end, 10);
    *denominator_p = *end == '/' ? strtoll(end + 1, NULL, 10) : 1;
}

static void read_slow(const json_t *slow, struct world *world)
{
    const char *slot;
    json_t *steps, *step;
    size_t i;

    json_object_foreach((json_t *)(uintptr_t)slow, slot, steps)
        json_array_foreach(steps, i, step)
    {
        struct world_slow *to = &world->slow[world->nslow++];

        to->slot = (uint32_t)atoi(slot);
        to->from_us = json_integer_value(json_array_get(step, 0));
        read_fraction(json_string_value(json_array_get(step, 1)),
                      &to->numerator, &to->denominator);
    }
}

/* @return false if the world has something that policy_world.c lacks */
static bool read_world(const json_t *row, struct world *world_p)
{
    const json_t *from = json_object_get(row, "world");
    const json_t *costs = json_object_get(from, "cost");
    const json_t *speeds = json_object_get(from, "speed");
    const char *net = string(from, "net");
    struct world *world = world_p;

    memset(world, 0, sizeof(*world));
    world->units = (uint64_t)integer(row, "N");
    world->slots = (uint32_t)integer(row, "p");
    if (net != NULL && strcmp(net, "hub") == 0)
        return false;
    for (uint64_t u = 0; u < world->units; u++)
        world->cost_us[u] = json_integer_value(
            json_is_array(costs) ? json_array_get(costs, u) : costs);
    for (uint32_t i = 0; i < world->slots; i++) {
        const json_t *speed = json_array_get(speeds, i);

        read_fraction(speed != NULL ? json_string_value(speed) : "1",
                      &world->numerator[i], &world->denominator[i]);
    }
    read_pair(from, "ts", world->data_us);
    read_pair(from, "tr", world->result_us);
    read_pair(from, "o_send", world->send_us);
    read_pair(from, "o_recv", world->take_us);
    world->latency_us = integer(from, "prop");
    world->bus = net != NULL && strcmp(net, "bus") == 0;
    world->blocking = json_is_true(json_object_get(from, "blocking"));
    read_slow(json_object_get(from, "slow"), world);
    return true;
}

static const char *policy_of_master(const json_t *row)
{
    const char *master = string(row, "master");

    if (strcmp(master, "pull") == 0)
        return string(json_object_get(row, "params"), "policy");
    if (strcmp(master, "presend_round") == 0)
        return "presend-round";
    if (strcmp(master, "static") == 0)
        return string(json_object_get(row, "params"), "kind");
    if (strcmp(master, "adaptive") == 0)
        return "auto";
    return master;
}

static bool same_slots(const char *what, const json_t *expect,
                       const struct world_trace *trace, uint32_t slots)
{
    bool ok = true;

    for (uint32_t i = 0; i < slots; i++) {
        ok = agree(what, "units of a slot", (int64_t)trace->slot_units[i],
                   json_integer_value(
                       json_array_get(json_object_get(expect, "units"), i))) &&
             ok;
        ok = agree(what, "busy time of a slot", trace->busy_us[i],
                   json_integer_value(
                       json_array_get(json_object_get(expect, "busy"), i))) &&
             ok;
        ok = agree(what, "longest queue of a slot", trace->max_queue[i],
                   json_integer_value(json_array_get(
                       json_object_get(expect, "max_queue"), i))) &&
             ok;
    }
    return ok;
}

static bool makespan_matches(const json_t *row, bool *skipped_p)
{
    static struct world world;
    static struct world_trace trace;
    const json_t *expect = json_object_get(row, "expect");
    const char *name = string(row, "name"), *why;
    struct nf_policy policy;
    bool ok;

    *skipped_p = !read_world(row, &world);
    if (*skipped_p)
        return true;
    if (!make_policy(policy_of_master(row), json_object_get(row, "params"),
                     &policy))
        return false;
    if (!world_run(&world, &policy, &trace, &why)) {
        printf("\n    %s: %s", name, why);
        return false;
    }
    ok =
        agree(name, "makespan", trace.makespan_us, integer(expect, "makespan"));
    ok = agree(name, "messages", (int64_t)trace.nsends,
               integer(expect, "data_msgs")) &&
         ok;
    return same_slots(name, expect, &trace, world.slots) && ok;
}

static void runs_take_as_long_as_in_the_reference(void)
{
    size_t i, run = 0;
    json_t *row;

    json_array_foreach(json_object_get(golden, "makespans"), i, row)
    {
        bool skipped;

        CU_ASSERT(makespan_matches(row, &skipped));
        run += !skipped;
    }
    CU_ASSERT(run >= 38);
}

static int64_t homogeneous_us(const json_t *row, const char *spec)
{
    static struct world world;
    static struct world_trace trace;
    struct nf_policy policy;
    const char *why;

    memset(&world, 0, sizeof(world));
    world.units = (uint64_t)integer(row, "N");
    world.slots = (uint32_t)integer(row, "p");
    for (uint64_t u = 0; u < world.units; u++)
        world.cost_us[u] = integer(row, "tP");
    for (uint32_t i = 0; i < world.slots; i++)
        world.numerator[i] = world.denominator[i] = 1;
    world.data_us[0] = integer(row, "tS");
    world.result_us[0] = integer(row, "tR");
    CU_ASSERT_EQUAL_FATAL(nf_policy_parse(spec, &policy, NULL), NF_OK);
    CU_ASSERT(world_run(&world, &policy, &trace, &why));
    return trace.makespan_us;
}

static void runs_obey_the_equations_of_the_paper(void)
{
    size_t i;
    json_t *row, *rows = json_object_get(golden, "closed_forms");

    CU_ASSERT(json_array_size(rows) >= 14);
    json_array_foreach(rows, i, row)
    {
        char spec[64];

        snprintf(spec, sizeof(spec), "presend:td=%" PRId64 "us",
                 integer(row, "tD"));
        CU_ASSERT(agree(spec, "equation (U)", homogeneous_us(row, spec),
                        integer(row, "t_presend")));
        CU_ASSERT(agree("send", "equation (1)", homogeneous_us(row, "send"),
                        integer(row, "t_send")));
    }
}

static void the_generator_is_splitmix64(void)
{
    json_t *row = json_object_get(golden, "splitmix64");
    struct nf_rng rng = { .state = (uint64_t)integer(row, "seed") };

    /* beyond 2^63 - 1 JSON readers differ: the file gives them as text too */
    CU_ASSERT_EQUAL(json_array_size(json_object_get(row, "first8")), 8);
    for (size_t i = 0; i < 8; i++) {
        const char *text = json_string_value(
            json_array_get(json_object_get(row, "first8"), i));

        CU_ASSERT_EQUAL(nf_rng_next(&rng),
                        strtoull(text != NULL ? text : "", NULL, 10));
    }
}

static int open_golden(void)
{
    json_error_t error;

    golden = json_load_file(NF_SRCDIR "/tests/golden/policies.json", 0, &error);
    if (golden == NULL)
        fprintf(stderr, "policies.json:%d: %s\n", error.line, error.text);
    return golden == NULL;
}

static int close_golden(void)
{
    json_decref(golden);
    return 0;
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "sizes are those of the reference",
          sizes_are_those_of_the_reference },
        { "scripts are answered as by the reference",
          scripts_are_answered_as_by_the_reference },
        { "runs take as long as in the reference",
          runs_take_as_long_as_in_the_reference },
        { "runs obey the equations of the paper",
          runs_obey_the_equations_of_the_paper },
        { "the generator is splitmix64", the_generator_is_splitmix64 },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "golden", open_golden, close_golden, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
