/* Every sizer with every pacer, in the simulator: all of the real farm, on
 * worlds that differ in size, speed and network. */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "sim/farm_sim.h"
#include "tests/unit/nf_unit.h"

/* N, p and the world; each with N = 0, N < p, p = 1 somewhere. */
static const char *const worlds[] = {
    "{\"units\": 0, \"slaves\": 3, \"cost\": 10}",
    "{\"units\": 1, \"slaves\": 1, \"cost\": 10}",
    "{\"units\": 3, \"slaves\": 8, \"cost\": 1000, \"prop\": 50}",
    "{\"units\": 70, \"slaves\": 1, \"cost\": 1000, \"ts\": 10}",
    "{\"units\": 333, \"speed\": [1, \"1/2\", \"1/4\", 3], \"cost\": 1000,"
    " \"ts\": [20, 1], \"tr\": [20, 1], \"net\": \"bus\"}",
    "{\"units\": 500, \"slaves\": 5, \"cost\": 200, \"prop\": 3000,"
    " \"slow\": {\"2\": [[5000, \"1/100\"]]}}",
    "{\"units\": 150, \"speed\": [1, 1, \"1/3\"], \"cost\": 700, \"ts\": 90,"
    " \"tr\": 90, \"net\": \"hub\", \"o_send\": 30, \"o_recv\": 10,"
    " \"blocking\": true}",
    "{\"units\": 200, \"slaves\": 4, \"cost\": 0}",
};
enum { NWORLDS = sizeof(worlds) / sizeof(worlds[0]) };

/* Chunks follow each other without gap, and each was merged. */
static bool covers_all_units(const struct nf_farm_sim_result *result,
                             uint64_t units)
{
    uint64_t next = 0, computed = 0;

    for (uint64_t i = 0; i < result->nchunks; i++) {
        const struct nf_sim_chunk *chunk = &result->chunks[i];

        if (chunk->first != next || chunk->count < 1 || chunk->merged_us < 0)
            return false;
        next += chunk->count;
    }
    for (uint32_t i = 0; i < result->slaves; i++)
        computed += result->slave[i].units;
    return next == units && computed == units && result->duplicates == 0;
}

static void run_pair(const char *spec, const struct nf_world *world)
{
    static struct nf_policy policy;
    struct nf_farm_sim_result result;
    struct nf_error err;
    enum nf_status status;
    bool good;

    CU_ASSERT_EQUAL_FATAL(nf_policy_parse(spec, &policy, NULL), NF_OK);
    status = nf_farm_sim_run(world, &policy, 1, &result, &err);
    CU_ASSERT_EQUAL(status, NF_OK);
    if (status != NF_OK) {
        printf("\n    %s: %s", spec, err.text);
        return;
    }
    good = covers_all_units(&result, world->units);
    CU_ASSERT(good);
    if (!good)
        printf("\n    %s: units are missing or came twice", spec);
    nf_farm_sim_fini(&result);
}

static void every_pair_does_every_unit_once(void)
{
    for (size_t w = 0; w < NWORLDS; w++) {
        json_t *object = json_loads(worlds[w], 0, NULL);
        struct nf_world world;

        CU_ASSERT_PTR_NOT_NULL_FATAL(object);
        CU_ASSERT_EQUAL_FATAL(nf_world_parse(object, &world, NULL), NF_OK);
        for (size_t i = 0; nf_sizer_table[i] != NULL; i++)
            for (size_t j = 0; nf_pacer_table[j] != NULL; j++) {
                char spec[NF_POLICY_SPEC_BYTES];

                snprintf(spec, sizeof(spec), "%s+%s", nf_sizer_table[i]->name,
                         nf_pacer_table[j]->name);
                run_pair(spec, &world);
            }
        nf_world_fini(&world);
        json_decref(object);
    }
}

/* All data leaves before anything comes back. */
static void static_partitions_are_sent_at_once(void)
{
    static const char *const specs[] = { "static", "cyclic", "cyclic:g=7" };
    static struct nf_policy policy;
    json_t *object = json_loads(worlds[4], 0, NULL);
    struct nf_world world;

    CU_ASSERT_EQUAL_FATAL(nf_world_parse(object, &world, NULL), NF_OK);
    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        struct nf_farm_sim_result result;

        CU_ASSERT_EQUAL(nf_policy_parse(specs[i], &policy, NULL), NF_OK);
        CU_ASSERT_EQUAL_FATAL(
            nf_farm_sim_run(&world, &policy, 1, &result, NULL), NF_OK);
        for (uint64_t k = 0; k < result.nchunks; k++) {
            CU_ASSERT_EQUAL(result.chunks[k].sent_us, 0);
            CU_ASSERT_EQUAL(result.chunks[k].slave, k % world.slaves);
        }
        nf_farm_sim_fini(&result);
    }
    nf_world_fini(&world);
    json_decref(object);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "every pair does every unit once", every_pair_does_every_unit_once },
        { "static partitions are sent at once",
          static_partitions_are_sent_at_once },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "pairs", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
