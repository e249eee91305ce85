#include "config.h"
#include "sim/torus_table.h"
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/coll/coll.h"

const char *const nf_torus_columns[NF_TABLE_COLUMNS] = {
    [NF_TABLE_NAIVE] = "alltoall.naive",
    [NF_TABLE_SPLIT_MERGE] = "alltoall.split_merge0",
    [NF_TABLE_SPLIT_MERGE_BARE] = "alltoall.split_merge",
    [NF_TABLE_MDH] = "alltoall.mdh",
    [NF_TABLE_CYCLIC] = "alltoall.cdh",
    [NF_TABLE_BRUCK] = "alltoall.bruck_grid",
};

const uint32_t nf_torus_paper_n[NF_TABLE_PAPER] = {
    7, 11, 15, 33, 63, 129, 255
};

/* Naive, Split-and-Merge, Modified Double-Hop, Tseng. */
static const uint32_t printed[NF_TABLE_PAPER][4] = {
    { 12, 13, 10, 12 },     { 20, 19, 14, 20 },  { 28, 23, 18, 20 },
    { 64, 45, 36, 68 },     { 124, 75, 66, 68 }, { 256, 145, 132, 260 },
    { 508, 271, 258, 260 },
};

/* ---- carrying out ---- */

/* Where each block is, and in which round it came there. */
struct places {
    uint16_t *at;
    uint16_t *since; /* 1 + the round, 0: from the beginning */
};

/* A rank sends what it had before the round, and that only. */
static bool move(const struct nf_schedule *s, const struct nf_coll_message *m,
                 struct places *places)
{
    for (uint32_t i = 0; i < m->nspans; i++) {
        struct nf_coll_span span = s->spans[m->first_span + i];

        for (uint32_t b = span.first; b < span.first + span.count; b++) {
            if (places->at[b] != m->src || places->since[b] > m->round)
                return false;
            places->at[b] = (uint16_t)m->dst;
            places->since[b] = (uint16_t)(m->round + 1);
        }
    }
    return true;
}

static enum nf_status carry_out(const struct nf_schedule *s, uint32_t ranks)
{
    size_t blocks = (size_t)ranks * ranks;
    struct places places = { nf_calloc(blocks, sizeof(*places.at)),
                             nf_calloc(blocks, sizeof(*places.since)) };
    enum nf_status status = NF_OK;

    if (places.at == NULL || places.since == NULL)
        status = NF_ERR_NOMEM;
    for (size_t b = 0; b < blocks && status == NF_OK; b++)
        places.at[b] = (uint16_t)(b / ranks);
    for (size_t i = 0; i < s->count && status == NF_OK; i++)
        if (!move(s, &s->messages[i], &places))
            status = NF_ERR_VERIFY;
    for (size_t b = 0; b < blocks && status == NF_OK; b++)
        if (places.at[b] != b % ranks)
            status = NF_ERR_VERIFY;
    nf_free(places.at);
    nf_free(places.since);
    return status;
}

/* Start-ups of an algorithm on a ring, or on a torus; 0 if it is not for it. */
static enum nf_status count(const char *name, const struct nf_coll_sides *shape,
                            uint32_t *steps_p, struct nf_error *err)
{
    const struct nf_coll_algorithm *algorithm = nf_coll_find(name);
    const struct nf_coll_args args = {
        .ranks = (uint32_t)nf_coll_sides_product(shape),
        .segments = 1,
        .shape = shape,
    };
    struct nf_schedule s;
    enum nf_status status;

    *steps_p = 0;
    if (nf_coll_fits(algorithm, &args, NULL) != NF_OK)
        return NF_OK;
    status = nf_coll_make(algorithm, &args, NF_ALL_RANKS, &s, err);
    if (status == NF_OK) {
        status = carry_out(&s, args.ranks);
        *steps_p = nf_schedule_rounds(&s);
        if (status == NF_ERR_VERIFY)
            nf_fail(err, status, "%s of %u ranks does not deliver each block",
                    name, args.ranks);
        else if (status != NF_OK)
            nf_fail(err, status, "out of memory");
    }
    nf_schedule_fini(&s);
    return status;
}

/* ---- a row ---- */

/* Split-and-Merge goes along both sides: along a row alone, and along a column alone,
 * at the end of which is the corner that merge 0 is for. */
static enum nf_status count_split_merge(struct nf_torus_row *row,
                                        struct nf_error *err)
{
    const struct nf_coll_sides across = { 2, { 1, row->n } },
                               down = { 2, { row->n, 1 } };
    uint32_t across_steps, bare_steps, steps;
    enum nf_status status = count(nf_torus_columns[NF_TABLE_SPLIT_MERGE_BARE],
                                  &across, &across_steps, err);

    if (status == NF_OK)
        status = count(nf_torus_columns[NF_TABLE_SPLIT_MERGE_BARE], &down,
                       &bare_steps, err);
    if (status == NF_OK)
        status =
            count(nf_torus_columns[NF_TABLE_SPLIT_MERGE], &down, &steps, err);
    if (status != NF_OK)
        return status;
    row->rings[NF_TABLE_SPLIT_MERGE_BARE] = across_steps + bare_steps;
    row->rings[NF_TABLE_SPLIT_MERGE] = across_steps + steps;
    return NF_OK;
}

static enum nf_status count_rings(struct nf_torus_row *row,
                                  struct nf_error *err)
{
    const struct nf_coll_sides ring = { 1, { row->n } };
    enum nf_status status = NF_OK;

    for (int c = 0; c < NF_TABLE_COLUMNS && status == NF_OK; c++) {
        if (c == NF_TABLE_SPLIT_MERGE || c == NF_TABLE_SPLIT_MERGE_BARE)
            continue;
        status = count(nf_torus_columns[c], &ring, &row->rings[c], err);
        row->rings[c] *= 2;
    }
    if (status != NF_OK || row->n % 2 == 0)
        return status;
    return count_split_merge(row, err);
}

static enum nf_status count_whole(struct nf_torus_row *row,
                                  struct nf_error *err)
{
    const struct nf_coll_sides torus = { 2, { row->n, row->n } };

    for (int c = 0; c < NF_TABLE_COLUMNS; c++) {
        enum nf_status status =
            count(nf_torus_columns[c], &torus, &row->whole[c], err);

        if (status != NF_OK)
            return status;
        if (row->whole[c] != row->rings[c])
            return nf_fail(err, NF_ERR_VERIFY,
                           "%s, N = %u: %u start-ups, but %u by its rings",
                           nf_torus_columns[c], row->n, row->whole[c],
                           row->rings[c]);
    }
    return NF_OK;
}

static void add_formulas(struct nf_torus_row *row)
{
    uint32_t n = row->n;

    row->tseng = (UINT32_C(1) << nf_coll_ceil_log2(n)) + 4;
    if (n % 2 != 0) {
        row->text_split_merge = n + 2 * nf_coll_ceil_log2(n - 1);
        row->text_mdh = 2 * (n / 2 + 1);
    }
    for (size_t i = 0; i < NF_TABLE_PAPER; i++) {
        if (nf_torus_paper_n[i] != n)
            continue;
        row->printed_naive = printed[i][0];
        row->printed_split_merge = printed[i][1];
        row->printed_mdh = printed[i][2];
        row->printed_tseng = printed[i][3];
    }
}

enum nf_status nf_torus_row(uint32_t n, struct nf_torus_row *row_p,
                            struct nf_error *err)
{
    struct nf_torus_row row = { .n = n };
    enum nf_status status;

    if (n < 2 || n > NF_TABLE_N_MAX)
        return nf_fail(err, NF_ERR_RANGE, "N = %u: want 2 to %d", n,
                       NF_TABLE_N_MAX);
    status = count_rings(&row, err);
    if (status == NF_OK && n <= NF_TABLE_WHOLE_MAX)
        status = count_whole(&row, err);
    if (status != NF_OK)
        return status;
    add_formulas(&row);
    *row_p = row;
    return NF_OK;
}
