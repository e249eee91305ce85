#ifndef NF_SORT_SORT_H
#define NF_SORT_SORT_H
/** @file sort.h  What the files of this application share.
 *
 *  Numbers are cut into U blocks; unit u has block u.  Two ways:
 *
 *  - sample: two phases.  The master draws numbers and makes U - 1 splitters of
 *    them.  Each unit sorts its block and cuts it at the splitters; after the
 *    exchange unit v has what all blocks have between two of them, and merges
 * it. Source: W. D. Frazer, A. C. McKellar, Samplesort, J. ACM 17 (1970),
 * 496-507.
 *  - bitonic: 1 + log U (log U + 1) / 2 phases, U a power of two.  After each
 *    exchange a unit has its block and that of a partner, and keeps the lower
 * or the upper half of both.  Source: K. E. Batcher, Sorting networks and their
 *    applications, AFIPS 32 (1968), 307-314; with blocks in the place of
 * numbers: G. Baudet, D. Stevenson, IEEE Trans. Comp. C-27 (1978), 84-87.
 *
 *  Numbers are ordered by their keys: as they are by <, but -0 is before 0, so
 * that there is one right result, to the bit. */
#include <stdbool.h>
#include "nowfarm.h"

enum nf_sort_way { NF_SORT_SAMPLE, NF_SORT_BITONIC };

/** Key and unit of a drawn number: of equal ones, those of units before it are
 * on its left, so that many equal numbers need not all go to one unit. */
struct nf_sort_splitter {
    uint64_t key, unit;
};

/** Of a job; shared with the slaves as int64_t: way, count, units, and what
 *  splitters are. */
struct nf_sort_plan {
    enum nf_sort_way way;
    uint64_t count, units;
    const struct nf_sort_splitter *splitters; /**< [units - 1]; sample */
};
enum { NF_SORT_PLAN_NUMBERS = 3, NF_SORT_SPLITTER_NUMBERS = 2 };

/* order.c */

uint64_t nf_sort_key(double number);
double nf_sort_number(uint64_t key);
/** Sort keys[count]. @param spare  [count] */
void nf_sort_keys(uint64_t *keys, uint64_t *spare, uint64_t count);
/** Merge runs of keys, each sorted: run i begins at[i] and ends at[i + 1].
 *  @param at     [runs + 1]; changed
 *  @param spare  as many as there are keys
 *  @return keys or spare: where all of them are, sorted */
uint64_t *nf_sort_merge(uint64_t *keys, uint64_t *spare, uint64_t *at,
                        uint64_t runs);
/** How many of the sorted keys[count] of block @p unit are on the left of
 *  @p splitter? */
uint64_t nf_sort_left(const uint64_t *keys, uint64_t count, uint64_t unit,
                      const struct nf_sort_splitter *splitter);
/** @return where block @p unit begins.  Blocks of "bitonic" are all of one
 * size, but what is behind the last number is not there */
uint64_t nf_sort_begin(const struct nf_sort_plan *plan, uint64_t unit);
/** Numbers in a block of "bitonic", with those that fill it up: +infinity. */
uint64_t nf_sort_block(const struct nf_sort_plan *plan);
/** How often do units exchange? */
uint32_t nf_sort_exchanges(const struct nf_sort_plan *plan);
/** With whom is block @p unit compared after exchange @p i <
 * nf_sort_exchanges(), "bitonic"?
 *  @param low_p  does it keep the lower half? */
uint64_t nf_sort_partner(uint32_t i, uint64_t unit, bool *low_p);

/* kernel.c */

/** The kernel.  @return 0, or 1 for data that do not fit, 2 for no memory; with
 * a line in work->error */
int nf_sort_compute(const struct nf_work *work);
#endif
