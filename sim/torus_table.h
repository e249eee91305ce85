#ifndef NF_SIM_TORUS_TABLE_H
#define NF_SIM_TORUS_TABLE_H
/** @file torus_table.h  Start-ups of exchanges on a torus of N x N: Table 1 of
 *  the paper, found by carrying the schedules out block by block.
 *
 *      from rings  each side of the torus takes as many as a ring of N, so twice
 *                  those; of Split-and-Merge: those of 1 x N and of N x 1
 *      whole       of the schedule for N x N itself
 *      Tseng       2^ceil(log2 N) + 4: a formula, as that exchange is not here
 *
 *  Source: Kim, Kang, Chung 2003, Table 1 and section 4.  Two formulas of its
 *  text are not what its table says: Split-and-Merge is N + 2 log(N-1) there,
 *  and must be N + 2 ceil(log2 N); Modified Double-Hop is 2(floor(N/2) + 1),
 * and must be N + 3. */
#include <stdbool.h>
#include <stdint.h>
#include "nowfarm.h"

/** The exchanges of a row; Split-and-Merge with merge 0 is the paper's, and
 *  Double-Hop is MDH on an even side. */
enum nf_torus_column {
    NF_TABLE_NAIVE,
    NF_TABLE_SPLIT_MERGE, /**< with merge 0 */
    NF_TABLE_SPLIT_MERGE_BARE,
    NF_TABLE_MDH,
    NF_TABLE_CYCLIC,
    NF_TABLE_BRUCK, /**< per side */
    NF_TABLE_COLUMNS
};

/** Names of algorithms, "alltoall.naive", ... */
extern const char *const nf_torus_columns[NF_TABLE_COLUMNS];

/** Start-ups; 0: there are none for this N. */
struct nf_torus_row {
    uint32_t n;
    uint32_t rings[NF_TABLE_COLUMNS];
    uint32_t whole[NF_TABLE_COLUMNS]; /**< of N up to NF_TABLE_WHOLE_MAX */
    uint32_t tseng;
    uint32_t text_split_merge; /**< N + 2 ceil(log2(N-1)), of odd N */
    uint32_t text_mdh;         /**< 2(floor(N/2) + 1), of odd N */
    /** As printed in the paper; 0 of other N. */
    uint32_t printed_naive, printed_split_merge, printed_mdh, printed_tseng;
};

/** The N of the paper, and how far whole schedules are carried out. */
enum { NF_TABLE_PAPER = 7, NF_TABLE_WHOLE_MAX = 15, NF_TABLE_N_MAX = 300 };
extern const uint32_t nf_torus_paper_n[NF_TABLE_PAPER];

/** @param n  2 to NF_TABLE_N_MAX
 *  @retval NF_ERR_VERIFY  a schedule does not deliver every block once, or
 * whole schedules and rings differ: err says which
 *  @retval NF_ERR_RANGE, NF_ERR_NOMEM */
enum nf_status nf_torus_row(uint32_t n, struct nf_torus_row *row_p,
                            struct nf_error *err);
#endif
