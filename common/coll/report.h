#ifndef NF_COLL_REPORT_H
#define NF_COLL_REPORT_H
/** @file report.h  The cost formulas as the report prints them, and as repaired
 *  for ranks that march in lock step: for comparing with what it measured, not
 *  for choosing.  Some are wrong, and say how.
 *  Source: Kim Dong-seung, report 98-NF-03-04-A-01, Korea University, 3.3-3.5;
 *  T_sendrecv = 2 T_send. */
#include "common/coll/coll.h"

struct nf_coll_printed {
    const char *name; /**< "bcast.pipeline.report", "... .lockstep" */
    enum nf_coll_op op;
    const char *formula;
    const char *remark; /**< what is wrong with it; NULL: nothing */
    bool power_of_two;  /**< only for P = 2^n */
    bool even;          /**< only for even P */
    uint32_t ranks_min;
    /** The k that is printed; NULL: k is free if has_segments. */
    uint32_t (*segments)(uint32_t ranks);
    bool has_segments;
    double (*cost_us)(const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments);
};

/** Every formula, then one whose name is NULL. */
extern const struct nf_coll_printed nf_coll_printed_table[];

/** @return the formula of that name, or NULL */
const struct nf_coll_printed *nf_coll_printed_find(const char *name);
/** Is it for this P? */
bool nf_coll_printed_holds(const struct nf_coll_printed *printed,
                           uint32_t ranks);
/** The cheapest integer k, 1..NF_COLL_SEGMENTS_MAX, or that of the formula; 1
 *  if there are no segments.
 *  @param cost_us_p  the cost with it */
uint32_t nf_coll_printed_segments(const struct nf_coll_printed *printed,
                                  const struct nf_coll_price *price,
                                  uint32_t ranks, double bytes,
                                  double *cost_us_p);
/** The real k of least cost of (3k + P/k - 4)(a + b m/k), the k-segment
 *  broadcast: the root of 3a k^3 + (4bm - aP) k - 2bmP = 0.  The report has
 *  P/2, which it is for long vectors only.
 *  @param ranks  >= 2   @param start_us  a > 0 */
double nf_coll_kseg_real_segments(double start_us, double byte_us,
                                  uint32_t ranks, double bytes);
#endif
