/* All-to-all of chains, and of what comes as it came: between threads' meshes blocks
 * that lie in many places go by reference, by whichever algorithm; nobody keeps a
 * reference that is not his. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/clock.h"
#include "common/group/group.h"
#include "tests/unit/nf_unit.h"

enum { RANKS_MOST = 9, PARTS = 3, LENGTHS = 5, PATIENCE_US = 60 * 1000000 };

struct member {
    struct nf_group *group;
    struct nf_request *request;
    enum nf_status status;
    struct nf_blob *data; /* all that it sends, what is for one not together */
    int64_t *send;        /* the same in the order of ranks */
    size_t send_counts[RANKS_MOST], counts[RANKS_MOST];
    struct nf_blob *chains[RANKS_MOST];
    struct nf_exec_block come[RANKS_MOST];
};
struct sim {
    uint32_t ranks;
    struct member members[RANKS_MOST];
};

/* None, few, and more than is copied for being little. */
static size_t length(uint32_t from, uint32_t to)
{
    static const size_t lengths[LENGTHS] = { 0, 3, 601, 1, 130 };

    return from == to ? 0 : lengths[(3 * from + to) % LENGTHS];
}

static int64_t value(uint32_t from, uint32_t to, size_t i)
{
    return (int64_t)(from * 100 + to) * 10000 + (int64_t)i;
}

static size_t part_begin(size_t count, size_t part)
{
    return count * part / PARTS;
}

/* The last parts of all blocks, then those before: neighbours are of others. */
static void make_data(struct sim *sim, uint32_t rank)
{
    struct member *m = &sim->members[rank];
    size_t sum = 0, at = 0;
    struct nf_blob_part places[RANKS_MOST][PARTS];
    int64_t *to;

    for (uint32_t r = 0; r < sim->ranks; r++) {
        m->send_counts[r] = length(rank, r);
        m->counts[r] = length(r, rank);
        sum += m->send_counts[r];
    }
    m->data = nf_blob_create(sum * sizeof(*to), NF_INT64);
    m->send = calloc(sum + 1, sizeof(*to));
    to = m->data->data;
    for (size_t part = PARTS; part-- > 0;)
        for (uint32_t r = 0; r < sim->ranks; r++) {
            size_t begin = part_begin(m->send_counts[r], part);
            size_t end = part_begin(m->send_counts[r], part + 1);

            places[r][part] = (struct nf_blob_part){
                (const uint8_t *)to, (end - begin) * sizeof(*to), m->data
            };
            for (size_t i = begin; i < end; i++)
                *to++ = value(rank, r, i);
        }
    for (uint32_t r = 0; r < sim->ranks; r++) {
        for (size_t i = 0; i < m->send_counts[r]; i++)
            m->send[at++] = value(rank, r, i);
        m->chains[r] =
            m->send_counts[r] == 0 ? NULL : nf_blob_chain(PARTS, NF_INT64);
        for (size_t part = 0; m->chains[r] != NULL && part < PARTS; part++)
            nf_blob_add(m->chains[r], &places[r][part]);
    }
}

static void sim_open(struct sim *sim, uint32_t ranks, const char *algorithm)
{
    const struct nf_group_options options = { .timeout_us = 20000000,
                                              .algorithms = algorithm };
    struct nf_mesh *meshes[RANKS_MOST];
    struct nf_error err;

    *sim = (struct sim){ .ranks = ranks };
    CU_ASSERT_EQUAL_FATAL(nf_mesh_open_local(ranks, meshes, &err), NF_OK);
    for (uint32_t r = 0; r < ranks; r++) {
        CU_ASSERT_EQUAL_FATAL(nf_group_create(meshes[r], 1, NULL, &options,
                                              &sim->members[r].group, &err),
                              NF_OK);
        CU_ASSERT(nf_group_likes_chain(sim->members[r].group, 0, 100, 100));
        make_data(sim, r);
    }
}

/* Nobody else may have a reference to what a member sent. */
static void sim_close(struct sim *sim)
{
    for (uint32_t r = 0; r < sim->ranks; r++) {
        struct member *m = &sim->members[r];

        nf_request_free(m->request);
        nf_group_close(m->group);
        for (uint32_t s = 0; s < sim->ranks; s++) {
            nf_blob_unref(m->chains[s]);
            nf_blob_unref(m->come[s].owner);
        }
        free(m->send);
    }
    for (uint32_t r = 0; r < sim->ranks; r++) {
        CU_ASSERT_EQUAL(atomic_load(&sim->members[r].data->refs), 1);
        nf_blob_unref(sim->members[r].data);
    }
}

static void start(struct member *m, bool chained)
{
    const struct nf_call call = { .kind = NF_CALL_ALLTOALL,
                                  .send = chained ? NULL : m->send,
                                  .send_counts = m->send_counts,
                                  .counts = m->counts,
                                  .varies = 1,
                                  .type = NF_ELEM_INT64 };
    const struct nf_blocks blocks = { .chains = chained ? m->chains : NULL,
                                      .come = m->come };

    m->status =
        nf_group_start_blocks(m->group, &call, &blocks, &m->request);
    if (m->status == NF_OK)
        m->status = NF_WAIT;
}

/* @return did all end? */
static bool run(struct sim *sim)
{
    int64_t until_us = nf_now_us() + PATIENCE_US;
    bool busy = true;

    while (busy && nf_now_us() < until_us) {
        busy = false;
        for (uint32_t r = 0; r < sim->ranks; r++) {
            struct member *m = &sim->members[r];

            if (m->status == NF_WAIT && m->request != NULL)
                m->status = nf_request_test(m->request);
            busy = busy || m->status == NF_WAIT;
        }
    }
    return !busy;
}

/* Piece by piece, of lengths that do not go beyond parts. */
static bool is_right(const struct sim *sim, uint32_t to, uint32_t from)
{
    const struct nf_exec_block *block = &sim->members[to].come[from];
    struct nf_blob_reader reader = nf_blob_read(block->owner, block->data);
    size_t count = length(from, to);
    struct nf_blob_part part;

    if (count == 0)
        return block->owner == NULL;
    for (size_t i = 0; i < count; i++) {
        int64_t number;

        if (!nf_blob_next(&reader, sizeof(number), &part))
            return false;
        memcpy(&number, part.data, sizeof(number));
        if (number != value(from, to, i))
            return false;
    }
    return !nf_blob_is_chain(block->owner) ||
           !nf_blob_next(&reader, 1, &part);
}

/* Every second one. */
static void pack_some(struct member *m, uint32_t ranks)
{
    for (uint32_t r = 0; r < ranks; r += 2) {
        struct nf_blob *chain = m->chains[r];

        if (chain == NULL)
            continue;
        m->chains[r] = nf_blob_create(chain->bytes, chain->type);
        nf_blob_copy_out(chain, m->chains[r]->data);
        nf_blob_unref(chain);
    }
}

static void exchange(const char *algorithm, uint32_t ranks, bool chained)
{
    struct sim *sim = malloc(sizeof(*sim));
    bool right = true;

    sim_open(sim, ranks, algorithm);
    for (uint32_t r = 0; r < ranks; r += 3)
        pack_some(&sim->members[r], ranks);
    for (uint32_t r = 0; r < ranks; r++)
        start(&sim->members[r], chained);
    CU_ASSERT(run(sim));
    for (uint32_t to = 0; to < ranks; to++)
        for (uint32_t from = 0; from < ranks; from++)
            right = right && sim->members[to].status == NF_OK &&
                    is_right(sim, to, from);
    CU_ASSERT(right);
    if (!right)
        printf("\n    %s, P=%u, %s", algorithm, ranks,
               chained ? "chains" : "one piece");
    sim_close(sim);
    free(sim);
}

static void every_algorithm_brings_blocks(void)
{
    for (size_t i = 0; nf_coll_table[i] != NULL; i++)
        for (uint32_t ranks = 1; ranks <= RANKS_MOST; ranks++) {
            const struct nf_coll_args args = { .ranks = ranks, .segments = 1 };

            if (nf_coll_table[i]->op != NF_COLL_ALLTOALL ||
                nf_coll_fits(nf_coll_table[i], &args, NULL) != NF_OK)
                continue;
            exchange(nf_coll_table[i]->name, ranks, false);
            exchange(nf_coll_table[i]->name, ranks, true);
        }
}

/* What goes straight home is where it was. */
static void nothing_is_copied(void)
{
    struct sim *sim = malloc(sizeof(*sim));
    const uint32_t ranks = 4;

    sim_open(sim, ranks, "alltoall.burst");
    for (uint32_t r = 0; r < ranks; r++)
        start(&sim->members[r], true);
    CU_ASSERT(run(sim));
    for (uint32_t to = 0; to < ranks; to++)
        for (uint32_t from = 0; from < ranks; from++)
            CU_ASSERT_PTR_EQUAL(sim->members[to].come[from].owner,
                                sim->members[from].chains[to]);
    sim_close(sim);
    free(sim);
}

/* One leaves while others have sent, or wait: references come back. */
static void who_leaves_keeps_nothing(void)
{
    static const char *const names[] = { "alltoall.burst",
                                         "alltoall.bruck:radix=2" };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        for (int turns = 0; turns < 4; turns++) {
            struct sim *sim = malloc(sizeof(*sim));
            struct member *m;

            sim_open(sim, 5, names[i]);
            for (uint32_t r = 0; r < sim->ranks; r++)
                if (r != 2)
                    start(&sim->members[r], true);
            m = &sim->members[2];
            m->status = NF_ERR_INTERRUPTED;
            for (int k = 0; k < turns; k++)
                for (uint32_t r = 0; r < sim->ranks; r++)
                    if (r != 2)
                        sim->members[r].status =
                            nf_request_test(sim->members[r].request);
            nf_group_close(m->group);
            m->group = NULL;
            CU_ASSERT(run(sim));
            CU_ASSERT(sim->members[0].status < 0); /* waits for its block */
            sim_close(sim);
            free(sim);
        }
}

static size_t hundred(const struct nf_mesh *mesh, uint32_t member)
{
    (void)mesh;
    return member * 100;
}

/* A mesh may take none, or want them to be of large parts. */
static void chains_are_for_who_takes_them(void)
{
    struct nf_mesh_ops ops = { .name = "other" };
    struct nf_mesh mesh = { .ops = &ops, .rank = 0, .ranks = 2 };
    struct nf_blob *chain = nf_blob_chain(1, NF_BYTES);
    const struct nf_mesh_message message = { .head = (const uint8_t *)"x",
                                             .head_bytes = 1,
                                             .payload = chain };

    CU_ASSERT(!nf_mesh_may_send(&mesh, 1, &message));
    CU_ASSERT(!nf_mesh_likes_chain(&mesh, 1, 1000, 1));
    ops.takes_chains = true;
    CU_ASSERT(nf_mesh_may_send(&mesh, 1, &message));
    CU_ASSERT(nf_mesh_likes_chain(&mesh, 1, 1, 1));
    ops.chain_part_bytes = hundred;
    CU_ASSERT(nf_mesh_likes_chain(&mesh, 1, 1000, 10));
    CU_ASSERT(!nf_mesh_likes_chain(&mesh, 1, 1000, 11));
    CU_ASSERT(nf_mesh_likes_chain(&mesh, 0, 1000, 11)); /* that one does */
    CU_ASSERT(nf_mesh_likes_chain(&mesh, 1, 0, 0));
    nf_blob_unref(chain);
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "every algorithm brings blocks", every_algorithm_brings_blocks },
        { "nothing is copied", nothing_is_copied },
        { "who leaves keeps nothing", who_leaves_keeps_nothing },
        { "chains are for who takes them", chains_are_for_who_takes_them },
        CU_TEST_INFO_NULL,
    };
    static CU_SuiteInfo suites[] = {
        { "chains in groups", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
