#include "config.h"
#include "apps/prefix/verify.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "apps/prefix/npy_column.h"
#include "common/base/error.h"

enum { WINDOW_ROWS = 1024 };

/* The rows that are compared with: a window of them. */
struct rows {
    enum nf_prefix_rows kind;
    struct nf_output *output;
    uint64_t count, next; /* rows in all, rows that are compared */
    char window[WINDOW_ROWS * NF_PREFIX_ROW_BYTES];
};

size_t nf_prefix_head_bytes(enum nf_prefix_rows rows)
{
    return rows == NF_PREFIX_TSV ? NF_PREFIX_ROW_BYTES : NF_NPY_ROWS_BYTES;
}

void nf_prefix_make_head(enum nf_prefix_rows rows, uint64_t row_count,
                         char *head_p)
{
    if (rows == NF_PREFIX_TSV)
        nf_prefix_print_head(head_p);
    else
        nf_npy_rows_print(row_count, NF_PREFIX_RECORD_BYTES / 8, head_p);
}

static enum nf_status compare_row(struct rows *rows,
                                  struct nf_prefix_totals *now,
                                  struct nf_error *err)
{
    size_t bytes = nf_prefix_row_bytes(rows->kind);
    size_t at = (size_t)(rows->next % WINDOW_ROWS);
    uint64_t left = rows->count - rows->next;
    char row[NF_PREFIX_ROW_BYTES];
    enum nf_status status = NF_OK;

    if (at == 0)
        status = nf_output_read_at(
            rows->output, nf_prefix_head_bytes(rows->kind) + rows->next * bytes,
            rows->window,
            (size_t)(left < WINDOW_ROWS ? left : WINDOW_ROWS) * bytes, err);
    if (status != NF_OK)
        return status;
    nf_prefix_make_row(now, rows->kind, row);
    rows->next++;
    if (memcmp(row, rows->window + at * bytes, bytes) == 0)
        return NF_OK;
    return nf_fail(err, NF_ERR_VERIFY,
                   "row %" PRIu64 ", of the first %" PRIu64
                   " numbers, differs from a serial pass",
                   rows->next, now->moments.count);
}

static enum nf_status compare_total(const struct nf_prefix_totals *total,
                                    struct nf_prefix_totals *now,
                                    struct nf_error *err)
{
    struct nf_prefix_totals copy = *total;
    int64_t want[NF_PREFIX_WORDS], got[NF_PREFIX_WORDS];

    nf_prefix_encode(now, want);
    nf_prefix_encode(&copy, got);
    if (memcmp(want, got, sizeof(want)) == 0)
        return NF_OK;
    return nf_fail(err, NF_ERR_VERIFY,
                   "the totals of %" PRIu64
                   " numbers differ from a serial pass over %" PRIu64,
                   copy.moments.count, now->moments.count);
}

enum nf_status nf_prefix_verify(const struct nf_prefix_job *job,
                                struct nf_prefix_input *input,
                                const struct nf_prefix_totals *total,
                                struct nf_output *output, char *note_p,
                                size_t note_bytes, struct nf_error *err)
{
    struct nf_prefix_totals now = { .type = total->type };
    union nf_prefix_number number;
    struct rows rows = { .kind = job->rows, .output = output };
    enum nf_status status;

    rows.count = nf_prefix_row_count(total->moments.count, job->every);
    nf_prefix_input_seek(input, 0, 1);
    while ((status = nf_prefix_input_next(input, &number, err)) == NF_OK) {
        nf_prefix_add(&now, number);
        if (output != NULL && rows.next < rows.count &&
            (now.moments.count % job->every == 0 ||
             now.moments.count == total->moments.count))
            status = compare_row(&rows, &now, err);
        if (status != NF_OK)
            return status;
    }
    if (status == NF_WAIT)
        status = compare_total(total, &now, err);
    if (status == NF_OK)
        snprintf(note_p, note_bytes,
                 "totals and %" PRIu64
                 " rows agree with a serial pass, bit for bit",
                 output != NULL ? rows.next : 0);
    return status;
}
