#ifndef NF_PREFIX_VERIFY_H
#define NF_PREFIX_VERIFY_H
/** @file verify.h  The same by one process, number by number. */
#include "apps/output.h"
#include "apps/prefix/member.h"

/** Bytes before the first row of such a result. */
size_t nf_prefix_head_bytes(enum nf_prefix_rows rows);
/** Make these bytes.  @param head_p  [nf_prefix_head_bytes()] */
void nf_prefix_make_head(enum nf_prefix_rows rows, uint64_t row_count,
                         char *head_p);

/** Go through @p input from its begin, and compare @p total and every row in
 *  @p output (NULL: there are none), bit for bit.
 *  @param note_p  one line of what was compared
 *  @retval NF_ERR_VERIFY  err says which row
 *  @retval NF_ERR_IO, NF_ERR_INVAL  a file could not be read (again) */
enum nf_status nf_prefix_verify(const struct nf_prefix_job *job,
                                struct nf_prefix_input *input,
                                const struct nf_prefix_totals *total,
                                struct nf_output *output, char *note_p,
                                size_t note_bytes, struct nf_error *err);
#endif
