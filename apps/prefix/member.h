#ifndef NF_PREFIX_MEMBER_H
#define NF_PREFIX_MEMBER_H
/** @file member.h  Prefix statistics by a group: what its members do, in step.
 *
 *      1  rank 0 tells which file; everybody opens it and says what it found
 *      2  each reads its segment and adds it up
 *      3  exscan: each gets the totals of all that is before its segment
 *      4  each reads its segment again, and makes the rows of its prefixes
 *
 *  Reading goes in rounds with a word with the others in between, so a rank
 *  that hangs is noticed within the group's time-out, however large the file
 *  is; in step 4 each round brings at most NF_PREFIX_BLOCK_ROWS rows a rank to
 *  rank 0.  Memory does not depend on the file. */
#include "apps/prefix/input.h"
#include "nowfarm_group.h"

#define NF_PREFIX_BLOCK_ROWS 2048
/** Bytes of a path, NUL included. */
#define NF_PREFIX_PATH_BYTES 4096

enum nf_prefix_rows { NF_PREFIX_NO_ROWS, NF_PREFIX_TSV, NF_PREFIX_RECORDS };

struct nf_prefix_job {
    char path[NF_PREFIX_PATH_BYTES]; /**< absolute; the same on all hosts */
    enum nf_prefix_format format;    /**< of what has no suffix of its own */
    enum nf_prefix_type type;
    enum nf_prefix_rows rows;
    uint64_t every; /**< rows for prefixes of a multiple of so many numbers, and
                         for the whole; >= 1 */
};

/** How many rows n numbers make. */
uint64_t nf_prefix_row_count(uint64_t n, uint64_t every);
/** Bytes of a row. */
size_t nf_prefix_row_bytes(enum nf_prefix_rows rows);
/** Make one.  @param row_p  [nf_prefix_row_bytes()] */
void nf_prefix_make_row(struct nf_prefix_totals *totals,
                        enum nf_prefix_rows rows, char *row_p);

/** Where rows go; on rank 0. */
struct nf_prefix_sink {
    /** Rows [first, first + count) of the result, in no order of blocks. */
    enum nf_status (*put)(void *user, uint64_t first, const char *rows,
                          size_t bytes, struct nf_error *err);
    void *user;
    char (*hosts)[64]; /**< [ranks] of the ranks, for messages */
};

/** Rank 0's part.
 *  @param input    the open file of @p job
 *  @param total_p  statistics of the whole file
 *  @retval NF_ERR_INVAL   the file is bad, or not the same everywhere: err says
 *                         where
 *  @retval NF_ERR_IO, NF_ERR_NOMEM  on any rank
 *  @retval others         the group has failed; err names the rank to blame */
enum nf_status
nf_prefix_lead(struct nf_group *group, const struct nf_prefix_job *job,
               struct nf_prefix_input *input, const struct nf_prefix_sink *sink,
               struct nf_prefix_totals *total_p, struct nf_error *err);
/** The part of all others.
 *  @retval NF_OK  it is done, or all have agreed that it can't be, which is
 *                 rank 0's to tell: the group is in step
 *  @retval < 0    the group has failed */
enum nf_status nf_prefix_follow(struct nf_group *group, struct nf_error *err);
#endif
