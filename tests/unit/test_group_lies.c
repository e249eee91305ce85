/* A member that sends what nobody should: the others end, and do not crash.  In
 * calls of blocks of different sizes it lies of these too, and of elements that
 * are packed. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "common/base/log.h"
#include "common/group/exec_data.h"
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
    return (struct nf_head){
        .op = (uint8_t)nf_rng_below(rng, NF_COLL_OPS + 1),
        .algorithm = (uint8_t)nf_rng_below(rng, 80),
        .flags = (uint16_t)nf_rng_next(rng),
        .epoch = group->epoch + (uint32_t)nf_rng_below(rng, 3) - 1,
        .step = (uint32_t)nf_rng_below(rng, 6),
        .segment = (uint32_t)nf_rng_below(rng, 6),
        .code = (uint32_t)nf_rng_next(rng),
    };
}

/* That it is sizes, or packed, or both. */
static uint32_t draw_marks(struct nf_rng *rng)
{
    static const uint32_t marks[] = { NF_HEAD_SIZES, NF_HEAD_PACKED,
                                      NF_HEAD_SIZES | NF_HEAD_PACKED };
    uint64_t drawn = nf_rng_below(rng, 9);

    return drawn < 3 ? marks[drawn] : 0;
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
    struct nf_mesh_message message = {
        .head = encoded, .head_bytes = NF_HEAD_BYTES, .payload = payload
    };

    if (payload != NULL)
        memset(payload->data, 0x55, bytes);
    if (nf_rng_below(rng, 2) == 0) {
        struct nf_head head = other != NULL && other->plan != NULL
                                  ? twist_head(rng, &other->exec)
                                  : draw_head(rng, group);

        head.bytes = nf_rng_below(rng, 5) == 0 ? nf_rng_next(rng) : bytes;
        head.brief = nf_rng_below(&more, 3) == 0;
        head.segment |= draw_marks(&more);
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

/* --------------------------------------- of blocks of sizes not all know */

enum { MATRIX_BYTES = 16, PACKED_BYTES = 19, LIE = 0x55 };

static struct {
    unsigned unpacked; /* calls of unpack() with what the liar made up */
    unsigned listed;   /* sizes that were believed */
    unsigned right, mismatch;
} seen;

static int pack(const void *elements, size_t count, void *packed, void *user)
{
    const uint8_t *from = elements;
    uint8_t *to = packed;

    (void)user;
    for (; count > 0; count--, from += MATRIX_BYTES, to += PACKED_BYTES)
        memcpy(to, from, MATRIX_BYTES);
    return 0;
}

static int unpack(const void *packed, size_t count, void *elements, void *user)
{
    const uint8_t *from = packed;
    uint8_t *to = elements;

    (void)user;
    seen.unpacked += from[PACKED_BYTES - 1] == LIE;
    for (; count > 0; count--, from += PACKED_BYTES, to += MATRIX_BYTES)
        memcpy(to, from, MATRIX_BYTES);
    return 0;
}

/* A way of one operation with blocks of different sizes. */
struct way {
    enum nf_call_kind kind;
    const char *algorithm;
    bool direct; /* no block goes by a third member, who may change it */
};

static bool open_scene(struct scene *scene, const struct way *way,
                       uint64_t seed)
{
    static const struct nf_packing packing = { PACKED_BYTES, pack, unpack,
                                               NULL };
    const struct nf_group_options options = { .timeout_us = TIMEOUT_US,
                                              .algorithms = way->algorithm };

    if (!sim_open(&scene->sim, RANKS, seed, &options))
        return false;
    for (uint32_t r = 0; r < RANKS; r++) {
        scene->sim.world.formats[r] = (uint8_t)((r + seed) % 2);
        scene->sim.groups[r]->codes.types[ROUND_MATRIX - NF_ELEM_USER].packing =
            packing;
        /* numbers of which sizes differ; of even ones matrices */
        round_make_kind(&scene->rounds[r], r, RANKS, 3 * (seed % 40), way->kind,
                        5);
    }
    return true;
}

/* Elements of block @p item, in truth. */
static uint64_t true_size(const struct scene *scene, const struct way *way,
                          uint32_t item)
{
    if (way->kind == NF_CALL_ALLTOALL)
        return scene->rounds[item % RANKS].counts[item / RANKS];
    return scene->rounds[scene->rounds[0].call.root].counts[item];
}

static uint64_t draw_size(struct nf_rng *rng, uint64_t truth)
{
    static const uint64_t strange[] = { UINT64_MAX, UINT64_MAX - 1,
                                        UINT64_MAX / 2, SIZE_MAX / 32,
                                        UINT64_C(1) << 40 };
    uint64_t drawn = nf_rng_below(rng, 24);

    return drawn < 16    ? truth
           : drawn < 20  ? truth + 1
           : drawn < 21  ? 0
           : drawn == 21 ? nf_rng_below(rng, 30)
                         : strange[nf_rng_below(rng, 5)];
}

/* One of the steps in which the victim gets something of the liar, or NULL. */
static const struct nf_plan_step *
draw_step(struct nf_rng *rng, const struct nf_plan *plan, uint32_t liar)
{
    const struct nf_plan_step *drawn = NULL;
    uint64_t count = 0;

    for (uint32_t i = 0; i < plan->nsteps; i++)
        if (!plan->steps[i].sends && plan->steps[i].peer == liar &&
            nf_rng_below(rng, ++count) == 0)
            drawn = &plan->steps[i];
    return drawn;
}

/* @param sizes  NULL: bytes that mean nothing */
static void send_lie(struct scene *scene, struct nf_rng *rng, uint32_t liar,
                     uint32_t to, struct nf_head head, const uint64_t *sizes,
                     size_t bytes)
{
    uint8_t encoded[NF_HEAD_BYTES];
    struct nf_blob *payload = bytes == 0 ? NULL : nf_blob_create(bytes, 0);
    struct nf_mesh_message message = { .head = encoded,
                                       .payload = payload };

    if (payload != NULL && sizes != NULL)
        memcpy(payload->data, sizes, bytes);
    else if (payload != NULL)
        memset(payload->data, LIE, bytes);
    head.bytes = bytes + (nf_rng_below(rng, 16) == 0);
    head.brief = nf_rng_below(rng, 3) == 0;
    message.head_bytes = nf_head_encode(&head, encoded);
    (void)nf_mesh_send(scene->sim.groups[liar]->mesh, to, &message);
    nf_blob_unref(payload);
}

/* Sizes and data of one step, as far as they are drawn. */
static void lie_of_sizes(struct scene *scene, const struct way *way,
                         struct nf_rng *rng, uint32_t liar, uint32_t to)
{
    const struct nf_request *victim = scene->sim.requests[to];
    const struct nf_plan_step *step;
    uint64_t sizes[RANKS * RANKS + 1], elements = 0;
    uint32_t count = 0, item;
    struct nf_head head;
    struct nf_exec_walk walk;
    bool is_matrix = scene->rounds[to].call.type == ROUND_MATRIX, packs;
    size_t bytes;

    if (victim == NULL || victim->plan == NULL)
        return;
    step = draw_step(rng, victim->plan, liar);
    if (step == NULL)
        return;
    walk = nf_exec_walk(&victim->exec, (uint32_t)(step - victim->plan->steps));
    while (nf_exec_walk_next(&walk, &item)) {
        sizes[count] = draw_size(rng, true_size(scene, way, item));
        elements += sizes[count++];
    }
    head = victim->exec.head;
    head.step = step->round;
    head.segment = step->first_item;
    if (step->lists ? nf_rng_below(rng, 8) > 0 : nf_rng_below(rng, 8) == 0) {
        struct nf_head list = head;

        sizes[count] = 1;
        list.segment |= NF_HEAD_SIZES | (draw_marks(rng) & NF_HEAD_PACKED);
        if (nf_rng_below(rng, 8) == 0) /* one too many, or too few */
            count = nf_rng_below(rng, 2) == 0 ? count + 1 : count - 1;
        send_lie(scene, rng, liar, to, list, sizes, sizeof(*sizes) * count);
    }
    if (nf_rng_below(rng, 4) == 0)
        return;
    packs = is_matrix ? nf_rng_below(rng, 2) == 0 : nf_rng_below(rng, 8) == 0;
    if (packs)
        head.segment |= NF_HEAD_PACKED;
    bytes =
        (elements > 1000 ? 7 : (size_t)elements) * (packs       ? PACKED_BYTES
                                                    : is_matrix ? MATRIX_BYTES
                                                                : 4);
    if (nf_rng_below(rng, 8) == 0)
        bytes++;
    send_lie(scene, rng, liar, to, head, NULL, bytes);
}

/* Sizes that this member has believed the liar. */
static unsigned count_listed(const struct nf_request *request, uint32_t liar)
{
    unsigned count = 0;

    if (request == NULL || request->status != NF_WAIT || request->plan == NULL)
        return 0;
    for (uint32_t i = 0; i < request->plan->nsteps; i++)
        count += request->exec.listed[i] != 0 &&
                 request->plan->steps[i].peer == liar;
    return count;
}

/* Who has succeeded has of each honest member what that gave. */
static bool honest_blocks_are_right(const struct scene *scene, uint32_t rank,
                                    uint32_t liar)
{
    const struct round *round = &scene->rounds[rank];
    size_t unit = round->call.type == ROUND_MATRIX ? MATRIX_BYTES : 4;
    const uint8_t *recv = round->recv, *want = round->want;

    if (round->call.kind == NF_CALL_SCATTER)
        return round->call.root == liar || round_is_right(round);
    for (uint32_t r = 0; r < RANKS; r++)
        if (r != liar &&
            (round->call.kind != NF_CALL_GATHER || rank == round->call.root) &&
            memcmp(recv + round->offsets[r] * unit,
                   want + round->offsets[r] * unit,
                   round->counts[r] * unit) != 0)
            return false;
    return true;
}

static void check_ends(struct scene *scene, const struct way *way,
                       uint32_t liar)
{
    for (uint32_t r = 0; r < RANKS; r++) {
        CU_ASSERT(round_keeps_input(&scene->rounds[r]));
        if (r == liar)
            continue;
        CU_ASSERT_NOT_EQUAL(scene->sim.statuses[r], NF_WAIT);
        CU_ASSERT(scene->sim.statuses[r] != NF_OK || !way->direct ||
                  honest_blocks_are_right(scene, r, liar));
        seen.right += scene->sim.statuses[r] == NF_OK;
        seen.mismatch += scene->sim.statuses[r] == NF_ERR_MISMATCH;
    }
}

/* Who lies to whom: mostly where blocks do go that way. */
static uint32_t draw_liar(const struct scene *scene, const struct way *way,
                          struct nf_rng *rng)
{
    const uint32_t root = scene->rounds[0].call.root;

    if (way->kind == NF_CALL_SCATTER && nf_rng_below(rng, 2) == 0)
        return root;
    return (root + (uint32_t)nf_rng_below(rng, RANKS)) % RANKS;
}

static uint32_t draw_victim(const struct scene *scene, const struct way *way,
                            struct nf_rng *rng)
{
    if (way->kind == NF_CALL_GATHER && nf_rng_below(rng, 2) == 0)
        return scene->rounds[0].call.root;
    return (uint32_t)nf_rng_below(rng, RANKS);
}

static void play(const struct way *way, uint64_t seed)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    struct nf_rng rng = { seed };
    enum nf_status results[RANKS];
    uint32_t liar;

    CU_ASSERT_FATAL(open_scene(scene, way, seed));
    liar = draw_liar(scene, way, &rng);
    scene->sim.frozen[liar] = true;
    for (uint32_t r = 0; r < RANKS; r++)
        sim_start(&scene->sim, r, &scene->rounds[r].call);
    for (uint64_t n = 1 + nf_rng_below(&rng, 6); n > 0; n--) {
        uint32_t to = draw_victim(scene, way, &rng);

        if (to != liar)
            lie_of_sizes(scene, way, &rng, liar, to);
    }
    for (int i = 0; i < 12; i++) {
        for (uint32_t r = 0; r < RANKS; r++)
            if (r != liar) {
                (void)nf_group_progress(scene->sim.groups[r]);
                seen.listed += count_listed(scene->sim.requests[r], liar);
            }
        (void)sim_advance(&scene->sim);
    }
    CU_ASSERT(sim_run(&scene->sim));
    check_ends(scene, way, liar);
    CU_ASSERT(sim_shrink(&scene->sim, results));
    for (uint32_t r = 0; r < RANKS; r++)
        round_fini(&scene->rounds[r]);
    sim_close(&scene->sim);
    free(scene);
}

static void nor_does_one_that_lies_of_sizes_and_packed_elements(void)
{
    static const struct way ways[] = {
        { NF_CALL_GATHER, "gather.linear", true },
        { NF_CALL_GATHER, "gather.linear_nb", true },
        { NF_CALL_GATHER, "gather.binomial", false },
        { NF_CALL_SCATTER, "scatter.linear_nb", true },
        { NF_CALL_SCATTER, "scatter.binomial", false },
        { NF_CALL_ALLTOALL, "alltoall.burst", true },
        { NF_CALL_ALLTOALL, "alltoall.pairwise_shift", true },
        { NF_CALL_ALLTOALL, "alltoall.bruck", false },
        { NF_CALL_ALLTOALL, "alltoall.mixed:radices=2x3", false },
    };

    nf_log_set_level(NF_LOG_ERROR);
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
        bool lists = !ways[i].direct;

        memset(&seen, 0, sizeof(seen));
        for (uint64_t seed = 0; seed < 400; seed++)
            play(&ways[i], seed);
        /* it was heard: some was believed, and some was not */
        CU_ASSERT(seen.unpacked > 5);
        CU_ASSERT(seen.right > 5);
        CU_ASSERT(seen.mismatch > 50);
        CU_ASSERT((seen.listed > 50) == lists);
    }
}

int main(void)
{
    CU_TestInfo lies[] = {
        { "a member that lies crashes and hangs nobody",
          a_member_that_lies_crashes_and_hangs_nobody },
        { "nor does one that lies of sizes and packed elements",
          nor_does_one_that_lies_of_sizes_and_packed_elements },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "lies", NULL, NULL, NULL, NULL, lies },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
