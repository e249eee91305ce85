/* A member that sends what nobody should: the others end, and do not crash. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "common/base/log.h"
#include "tests/unit/group_sim.h"
#include "tests/unit/nf_unit.h"

enum { RANKS = 5, TIMEOUT_US = 2000000 };

struct scene {
    struct group_sim sim;
    struct round rounds[RANKS];
};

static struct nf_head draw_head(struct nf_rng *rng,
                                const struct nf_group *group)
{
    uint8_t ops[] = { NF_COLL_ALLREDUCE, NF_COLL_ALLREDUCE, NF_COLL_BCAST };

    return (struct nf_head){
        .op = ops[nf_rng_below(rng, 3)],
        .algorithm = (uint8_t)nf_rng_below(rng, 80),
        .flags = (uint16_t)nf_rng_next(rng),
        .epoch = group->epoch + (uint32_t)nf_rng_below(rng, 3) - 1,
        .step = (uint32_t)nf_rng_below(rng, 6),
        .segment = (uint32_t)nf_rng_below(rng, 6),
        .code = (uint32_t)nf_rng_next(rng),
    };
}

/* A message of the call under way, but for what is drawn. */
static struct nf_head twist_head(struct nf_rng *rng, const struct nf_exec *exec)
{
    struct nf_head head = exec->head;

    head.step = (uint32_t)nf_rng_below(rng, 8);
    head.segment = (uint32_t)nf_rng_below(rng, 6);
    if (nf_rng_below(rng, 4) == 0)
        head.epoch += (uint32_t)nf_rng_below(rng, 3);
    return head;
}

static void lie(struct scene *scene, struct nf_rng *rng, uint32_t liar,
                uint32_t to)
{
    static const size_t sizes[] = { 0, 1, 16, 112, 128, 160, 640 };
    struct nf_group *group = scene->sim.groups[liar];
    const struct nf_request *other = scene->sim.requests[to];
    uint8_t encoded[NF_CONTROL_BYTES_MAX];
    struct nf_rng more = *rng;
    const uint8_t bits = (uint8_t)nf_rng_next(&more);
    size_t bytes = sizes[nf_rng_below(rng, 7)];
    struct nf_blob *payload = bytes == 0 ? NULL : nf_blob_create(bytes, 0);
    struct nf_mesh_message message = { encoded, NF_HEAD_BYTES, payload, false };

    if (payload != NULL)
        memset(payload->data, 0x55, bytes);
    if (nf_rng_below(rng, 2) == 0) {
        struct nf_head head = other != NULL && other->plan != NULL
                                  ? twist_head(rng, &other->exec)
                                  : draw_head(rng, group);

        head.bytes = nf_rng_below(rng, 5) == 0 ? nf_rng_next(rng) : bytes;
        head.brief = nf_rng_below(&more, 3) == 0;
        message.head_bytes = nf_head_encode(&head, encoded);
    } else {
        struct nf_control control = {
            .kind = (enum nf_control_kind)nf_rng_below(rng, NF_CONTROL_KINDS),
            .nonce = (uint32_t)nf_rng_below(rng, 4),
            .epoch = (uint32_t)nf_rng_below(rng, 4),
            .state =
                (enum nf_control_state)nf_rng_below(rng, NF_CONTROL_STATES),
            .progress = (uint32_t)nf_rng_below(&more, 3),
            .bits = &bits,
            .awaits = (uint32_t)nf_rng_below(rng, 7),
            .reason = -(int)nf_rng_below(rng, 14),
            .nranks = (uint32_t)nf_rng_below(rng, 3),
            .ranks = { (uint32_t)nf_rng_below(rng, 9), 4000000000u, 1 },
        };

        if (nf_control_has_bits(control.kind) && nf_rng_below(&more, 4) > 0)
            control.nranks = RANKS;
        message.head_bytes = nf_control_encode(&control, encoded);
    }
    for (uint64_t n = nf_rng_below(rng, 3); n > 0; n--)
        if (nf_rng_below(rng, 3) == 0)
            encoded[nf_rng_below(rng, message.head_bytes)] ^=
                (uint8_t)(1u << nf_rng_below(rng, 8));
    (void)nf_mesh_send(group->mesh, to, &message);
    nf_blob_unref(payload);
}

static void a_member_that_lies_crashes_and_hangs_nobody(void)
{
    nf_log_set_level(NF_LOG_ERROR);
    for (uint64_t seed = 0; seed < 3000; seed++) {
        struct scene *scene = calloc(1, sizeof(*scene));
        struct nf_rng rng = { seed };
        uint32_t liar = (uint32_t)nf_rng_below(&rng, RANKS);
        enum nf_status results[RANKS];
        const struct nf_group_options options = {
            .timeout_us = TIMEOUT_US,
            .algorithms = seed % 2 == 0 ? "allreduce.ring" : "",
        };

        CU_ASSERT(sim_open(&scene->sim, RANKS, seed, &options));
        scene->sim.frozen[liar] = true;
        for (uint32_t r = 0; r < RANKS; r++) {
            round_make_kind(&scene->rounds[r], r, RANKS, 7, NF_CALL_ALLREDUCE,
                            40);
            sim_start(&scene->sim, r, &scene->rounds[r].call);
        }
        for (uint64_t n = 1 + nf_rng_below(&rng, 6); n > 0; n--) {
            uint32_t to = (uint32_t)nf_rng_below(&rng, RANKS);

            if (to != liar)
                lie(scene, &rng, liar, to);
        }
        CU_ASSERT(sim_run(&scene->sim));
        for (uint32_t r = 0; r < RANKS; r++)
            CU_ASSERT(r == liar || scene->sim.statuses[r] < 0);
        CU_ASSERT(sim_shrink(&scene->sim, results));
        for (uint32_t r = 0; r < RANKS; r++)
            round_fini(&scene->rounds[r]);
        sim_close(&scene->sim);
        free(scene);
    }
}

int main(void)
{
    CU_TestInfo lies[] = {
        { "a member that lies crashes and hangs nobody",
          a_member_that_lies_crashes_and_hangs_nobody },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "lies", NULL, NULL, NULL, NULL, lies },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
