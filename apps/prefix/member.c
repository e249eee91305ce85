#include "config.h"
#include "apps/prefix/member.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/group/over_mesh.h"

enum { ROUND_BYTES = 16 << 20, REASON_BYTES = 256 };
/* Numbers between two looks at how far the round is. */
enum { STRIDE = 1024 };

/* What a rank says of itself when something has gone wrong somewhere. */
struct word {
    int64_t status;
    int64_t count; /* numbers read before it; -1: it is not about them */
    char reason[REASON_BYTES];
};

struct member {
    struct nf_group *group;
    struct nf_prefix_job job;
    struct nf_prefix_input *input;
    const struct nf_prefix_sink *sink; /* rank 0 */
    enum nf_prefix_type type;
    int words, append; /* the group's type and operator */
    struct nf_prefix_totals before, own, total;
    struct nf_error *err;
    bool agreed; /* on an error: the group is in step */
    /* pass 2 */
    char *block, *blocks; /* own rows; rank 0: those of a round */
    int64_t (*heads)[3];  /* [ranks] of the round's blocks: first row, bytes,
                             1: more to come, -1: failed */
    size_t *counts;
};

/* ------------------------------------------------------------------------ rows
 */

uint64_t nf_prefix_row_count(uint64_t n, uint64_t every)
{
    return n / every + (n % every != 0);
}

size_t nf_prefix_row_bytes(enum nf_prefix_rows rows)
{
    return rows == NF_PREFIX_TSV ? NF_PREFIX_ROW_BYTES : NF_PREFIX_RECORD_BYTES;
}

void nf_prefix_make_row(struct nf_prefix_totals *totals,
                        enum nf_prefix_rows rows, char *row_p)
{
    struct nf_prefix_figures figures;

    nf_prefix_read_off(totals, &figures);
    if (rows == NF_PREFIX_TSV)
        nf_prefix_print_row(&figures, totals->type, row_p);
    else
        nf_prefix_print_record(&figures, totals->type, row_p);
}

/* ---------------------------------------------------------------------- errors
 */

static const char *host_of(const struct member *m, uint32_t rank)
{
    return m->sink != NULL ? m->sink->hosts[rank] : "";
}

/* The group itself has failed: who is to blame? */
static enum nf_status broken(struct member *m, enum nf_status status)
{
    uint32_t rank = nf_group_blamed(m->group);

    if (rank < nf_group_size(m->group) && m->sink != NULL)
        return nf_fail(m->err, status, "rank %u on %s is lost: member %u %s",
                       rank, host_of(m, rank), rank,
                       nf_group_why_lost(m->group, rank));
    return nf_fail(m->err, status, "%s", nf_group_error(m->group)->text);
}

/* @param before  numbers of the ranks before this one */
static void say(const struct member *m, const struct word *bad, uint32_t rank,
                uint64_t before)
{
    enum nf_status status = (enum nf_status)bad->status;
    struct nf_error *err = m->err;

    if (bad->count >= 0 && status == NF_ERR_INVAL)
        nf_fail(err, status, "%.200s, %s %" PRIu64 ": %s", m->job.path,
                m->job.format == NF_PREFIX_TEXT ? "line" : "number",
                before + (uint64_t)bad->count + 1, bad->reason);
    else
        nf_fail(err, status, "rank %u on %s: %s", rank, host_of(m, rank),
                bad->reason);
}

/* Everybody tells how it is, and all go on only if it is well with all.
 * @param count  numbers that this rank has read; -1: does not matter */
static enum nf_status agree(struct member *m, enum nf_status own, int64_t count,
                            const char *reason)
{
    uint32_t ranks = nf_group_size(m->group);
    struct word mine = { .status = own, .count = count };
    int64_t bad = own != NF_OK;
    uint64_t before = 0;
    struct word *all;
    enum nf_status status;

    status =
        nf_allreduce(m->group, NF_IN_PLACE, &bad, 1, NF_ELEM_INT64, NF_MAX);
    if (status != NF_OK)
        return broken(m, status);
    if (!bad)
        return NF_OK;
    if (own != NF_OK)
        snprintf(mine.reason, sizeof(mine.reason), "%s", reason);
    all = nf_calloc(ranks, sizeof(*all));
    if (all == NULL)
        return nf_fail(m->err, NF_ERR_NOMEM, "out of memory");
    /* numbers and text apart, for machines of another byte order */
    for (uint32_t i = 0; i < ranks && status == NF_OK; i++) {
        all[i] = mine;
        status = nf_bcast(m->group, &all[i].status, 2, NF_ELEM_INT64, i);
        if (status == NF_OK)
            status = nf_bcast(m->group, all[i].reason, REASON_BYTES,
                              NF_ELEM_BYTE, i);
    }
    m->agreed = status == NF_OK;
    if (status != NF_OK)
        status = broken(m, status);
    for (uint32_t i = 0; i < ranks && status == NF_OK; i++) {
        if (all[i].status != NF_OK) {
            all[i].reason[REASON_BYTES - 1] = '\0';
            say(m, &all[i], i, before);
            status = (enum nf_status)all[i].status;
        }
        before += (uint64_t)all[i].count;
    }
    nf_free(all);
    return status;
}

/* ------------------------------------------------------------ 1: the same file
 */

enum { JOB_WORDS = 6 };

static enum nf_status tell_job(struct member *m)
{
    struct nf_prefix_job *job = &m->job;
    int64_t words[JOB_WORDS] = { job->format,         job->type, job->rows,
                                 (int64_t)job->every, 0,         0 };
    const struct nf_prefix_file *file;
    struct nf_prefix_file here;
    struct nf_error why = { NF_OK, "" };
    enum nf_status status;

    if (m->input != NULL) {
        file = nf_prefix_input_file(m->input);
        words[4] = (int64_t)file->file_bytes;
        words[5] = file->print;
    }
    status = nf_bcast(m->group, words, JOB_WORDS, NF_ELEM_INT64, 0);
    if (status == NF_OK)
        status =
            nf_bcast(m->group, job->path, sizeof(job->path), NF_ELEM_BYTE, 0);
    if (status != NF_OK)
        return broken(m, status);
    job->path[sizeof(job->path) - 1] = '\0';
    job->format = (enum nf_prefix_format)words[0];
    job->type = (enum nf_prefix_type)words[1];
    job->rows = (enum nf_prefix_rows)words[2];
    job->every = words[3] > 0 ? (uint64_t)words[3] : 1;
    if (m->input == NULL)
        status = nf_prefix_input_open(job->path, job->format, job->type,
                                      &m->input, &why);
    if (status == NF_OK) {
        here = *nf_prefix_input_file(m->input);
        m->type = here.type;
        job->format = here.format;
        if (here.file_bytes != (uint64_t)words[4])
            status = nf_fail(&why, NF_ERR_INVAL,
                             "%.100s has %" PRIu64 " bytes, on rank 0 it has "
                             "%" PRId64 " (want the same file on all hosts)",
                             job->path, here.file_bytes, words[4]);
        else if (here.print != words[5])
            status = nf_fail(&why, NF_ERR_INVAL,
                             "%.100s is another file than on rank 0 (want the "
                             "same file on all hosts)",
                             job->path);
    }
    return agree(m, status, -1, why.text);
}

/* -------------------------------------------------------- 2, 3: what is before
 */

/* One round.  @retval NF_WAIT  the segment has ended */
static enum nf_status add_round(struct member *m, struct nf_error *why)
{
    uint64_t end = nf_prefix_input_position(m->input) + ROUND_BYTES;
    union nf_prefix_number number;

    do {
        for (int i = 0; i < STRIDE; i++) {
            enum nf_status status =
                nf_prefix_input_next(m->input, &number, why);

            if (status != NF_OK)
                return status;
            nf_prefix_add(&m->own, number);
        }
    } while (nf_prefix_input_position(m->input) < end);
    return NF_OK;
}

static enum nf_status add_up(struct member *m)
{
    struct nf_group *group = m->group;
    struct nf_error why = { NF_OK, "" };
    enum nf_status status = NF_OK, own = NF_OK;
    int64_t more = 1;

    nf_prefix_input_seek(m->input, nf_group_rank(group), nf_group_size(group));
    m->own.type = m->before.type = m->total.type = m->type;
    while (more && status == NF_OK) {
        if (own == NF_OK)
            own = add_round(m, &why);
        more = own == NF_OK;
        status =
            nf_allreduce(group, NF_IN_PLACE, &more, 1, NF_ELEM_INT64, NF_MAX);
    }
    if (status != NF_OK)
        return broken(m, status);
    if (own == NF_WAIT)
        own = NF_OK;
    return agree(m, own, (int64_t)m->own.moments.count, why.text);
}

static enum nf_status scan(struct member *m)
{
    struct nf_group *group = m->group;
    uint32_t last = nf_group_size(group) - 1, rank = nf_group_rank(group);
    int64_t own[NF_PREFIX_WORDS], before[NF_PREFIX_WORDS] = { 0 };
    enum nf_status status;

    nf_prefix_encode(&m->own, own);
    status = nf_exscan(group, own, before, 1, m->words, m->append);
    if (status == NF_OK && nf_prefix_decode(before, m->type, &m->before))
        status = nf_fail(m->err, NF_ERR_PROTOCOL,
                         "what came by the scan are no totals");
    if (status == NF_ERR_PROTOCOL)
        return status;
    m->total = m->before;
    nf_prefix_append(&m->total, &m->own);
    nf_prefix_encode(&m->total, own); /* the last rank's is that of the file */
    if (status == NF_OK)
        status = nf_bcast(group, own, 1, m->words, last);
    if (status != NF_OK)
        return broken(m, status);
    if (rank != last && nf_prefix_decode(own, m->type, &m->total) != NF_OK)
        return nf_fail(m->err, NF_ERR_PROTOCOL,
                       "what came from the last rank are no totals");
    return NF_OK;
}

/* ----------------------------------------------------------------- 4: the rows
 */

/* Rows of one round, in m->block.  @retval NF_WAIT  the segment has ended */
static enum nf_status row_round(struct member *m, struct nf_prefix_totals *now,
                                size_t *bytes_p, struct nf_error *why)
{
    uint64_t end = nf_prefix_input_position(m->input) + ROUND_BYTES;
    size_t row_bytes = nf_prefix_row_bytes(m->job.rows);
    union nf_prefix_number number;

    while (*bytes_p < NF_PREFIX_BLOCK_ROWS * row_bytes &&
           nf_prefix_input_position(m->input) < end) {
        enum nf_status status = nf_prefix_input_next(m->input, &number, why);

        if (status != NF_OK)
            return status;
        nf_prefix_add(now, number);
        if (now->moments.count % m->job.every == 0 ||
            now->moments.count == m->total.moments.count) {
            nf_prefix_make_row(now, m->job.rows, m->block + *bytes_p);
            *bytes_p += row_bytes;
        }
    }
    return NF_OK;
}

static enum nf_status allocate(struct member *m)
{
    size_t block = NF_PREFIX_BLOCK_ROWS * nf_prefix_row_bytes(m->job.rows);
    uint32_t ranks = nf_group_size(m->group);

    m->block = nf_malloc(block);
    m->heads = nf_calloc(ranks, sizeof(*m->heads));
    m->counts = nf_calloc(ranks, sizeof(*m->counts));
    if (m->sink != NULL)
        m->blocks = nf_calloc(ranks, block);
    return agree(m,
                 m->block != NULL && m->heads != NULL && m->counts != NULL &&
                         (m->sink == NULL || m->blocks != NULL)
                     ? NF_OK
                     : NF_ERR_NOMEM,
                 -1, "out of memory");
}

/* What all have made comes to rank 0, and from there to its place.
 * @param more_p  some rank is not done, and none has failed */
static enum nf_status collect(struct member *m, const int64_t head[3],
                              bool *more_p, enum nf_status *put_p,
                              struct nf_error *why)
{
    uint32_t ranks = nf_group_size(m->group);
    char *from = m->blocks;
    enum nf_status status =
        nf_allgather(m->group, head, m->heads, 3, NF_ELEM_INT64);
    bool failed = false;

    *more_p = false;
    for (uint32_t i = 0; i < ranks && status == NF_OK; i++) {
        m->counts[i] = (size_t)m->heads[i][1];
        *more_p |= m->heads[i][2] > 0;
        failed |= m->heads[i][2] < 0;
        if (m->counts[i] >
            NF_PREFIX_BLOCK_ROWS * nf_prefix_row_bytes(m->job.rows))
            return nf_fail(m->err, NF_ERR_PROTOCOL, "a block too large");
    }
    if (status == NF_OK)
        status = nf_gatherv(m->group, m->block, (size_t)head[1], m->blocks,
                            m->counts, NULL, NF_ELEM_BYTE, 0);
    if (status != NF_OK)
        return broken(m, status);
    for (uint32_t i = 0; i < ranks && m->sink != NULL && *put_p == NF_OK; i++) {
        if (m->counts[i] > 0)
            *put_p = m->sink->put(m->sink->user, (uint64_t)m->heads[i][0], from,
                                  m->counts[i], why);
        from += m->counts[i];
    }
    *more_p &= !failed;
    return NF_OK;
}

static enum nf_status make_rows(struct member *m)
{
    struct nf_group *group = m->group;
    struct nf_prefix_totals now = m->before;
    struct nf_error why = { NF_OK, "" };
    enum nf_status status = allocate(m), own = NF_OK, put = NF_OK;
    bool more = true;

    nf_prefix_input_seek(m->input, nf_group_rank(group), nf_group_size(group));
    while (more && status == NF_OK) {
        uint64_t first = now.moments.count / m->job.every;
        size_t bytes = 0;
        int64_t head[3];

        if (own == NF_OK && put == NF_OK)
            own = row_round(m, &now, &bytes, &why);
        head[0] = (int64_t)first;
        head[1] = (int64_t)bytes;
        head[2] = own < 0 || put < 0 ? -1 : own == NF_OK;
        status = collect(m, head, &more, &put, &why);
    }
    if (status != NF_OK)
        return status;
    if (own == NF_WAIT)
        own = NF_OK;
    return agree(m, put != NF_OK ? put : own, -1, why.text);
}

static enum nf_status check_unchanged(struct member *m)
{
    struct nf_error why = { NF_OK, "" };
    enum nf_status status = NF_OK;

    if (!nf_prefix_input_is_unchanged(m->input))
        status = nf_fail(&why, NF_ERR_IO,
                         "%.150s was changed while it was read", m->job.path);
    return agree(m, status, -1, why.text);
}

/* ------------------------------------------------------------------------- all
 */

static enum nf_status take_part(struct member *m)
{
    enum nf_status status;

    status = nf_group_define_type(m->group, NF_PREFIX_WORDS, 8, &m->words);
    if (status == NF_OK)
        status = nf_group_define_operator(m->group, nf_prefix_combine, 0,
                                          &m->type, &m->append);
    if (status != NF_OK)
        return nf_fail(m->err, status, "%s", nf_strerror(status));
    status = tell_job(m);
    if (status == NF_OK)
        status = add_up(m);
    if (status == NF_OK)
        status = scan(m);
    if (status == NF_OK && m->job.rows != NF_PREFIX_NO_ROWS)
        status = make_rows(m);
    if (status == NF_OK)
        status = check_unchanged(m);
    nf_free(m->block);
    nf_free(m->blocks);
    nf_free(m->heads);
    nf_free(m->counts);
    return status;
}

enum nf_status
nf_prefix_lead(struct nf_group *group, const struct nf_prefix_job *job,
               struct nf_prefix_input *input, const struct nf_prefix_sink *sink,
               struct nf_prefix_totals *total_p, struct nf_error *err)
{
    struct member m = {
        .group = group, .job = *job, .input = input, .sink = sink, .err = err
    };
    enum nf_status status = take_part(&m);

    if (status == NF_OK)
        *total_p = m.total;
    return status;
}

enum nf_status nf_prefix_follow(struct nf_group *group, struct nf_error *err)
{
    struct member m = { .group = group, .err = err };
    enum nf_status status = take_part(&m);

    nf_prefix_input_close(m.input);
    return m.agreed ? NF_OK : status;
}
