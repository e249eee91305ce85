/* The report's formulas.  M is the vector, T the time of a message, C that of
 * combining, a the start-up time. */
#include "config.h"
#include "common/coll/report.h"
#include <math.h>
#include <string.h>

static double send_us(const struct nf_coll_price *price, double bytes)
{
    return nf_price_send_us(price, bytes);
}

static double combine_us(const struct nf_coll_price *price, double bytes)
{
    return nf_price_combine_us(price, bytes);
}

/* ---- broadcast ---- */

static double nesbt(const struct nf_coll_price *price, uint32_t ranks,
                    double bytes, uint32_t k)
{
    return 3.0 * nf_coll_floor_log2(ranks) * send_us(price, bytes / k);
}

static double kseg(const struct nf_coll_price *price, uint32_t ranks,
                   double bytes, uint32_t k)
{
    return (3.0 * k + (double)ranks / k - 4) * send_us(price, bytes / k);
}

static uint32_t half_of(uint32_t ranks)
{
    return ranks / 2;
}

static double pipeline(const struct nf_coll_price *price, uint32_t ranks,
                       double bytes, uint32_t k)
{
    return 2.0 * (k + ranks - 2) * send_us(price, bytes / k);
}

/* a segment for each rank */
static uint32_t all_of(uint32_t ranks)
{
    return ranks;
}

static double twopath(const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t k)
{
    return 2 * (k + ranks / 2.0 - 2) * send_us(price, bytes / k);
}

static double twopath_lockstep(const struct nf_coll_price *price,
                               uint32_t ranks, double bytes, uint32_t k)
{
    uint32_t longer = ranks / 2; /* ceil((P-1)/2) */

    return 2.0 * (k + longer - 1) * send_us(price, bytes / k);
}

/* ---- allreduce ---- */

/* 4 a log P + (4/B + t_op) M (P-1)/P; written with T, so that it also stands
 * for pieces */
static double allreduce_seg(const struct nf_coll_price *price, uint32_t ranks,
                            double bytes, uint32_t k)
{
    double cost = 0;

    (void)k;
    for (double part = bytes / 2; ranks > 1; ranks /= 2, part /= 2)
        cost += 4 * send_us(price, part) + combine_us(price, part);
    return cost;
}

/* ---- scan ---- */

static double scan_linear(const struct nf_coll_price *price, uint32_t ranks,
                          double bytes, uint32_t k)
{
    (void)k;
    return ranks * (2 * send_us(price, bytes) + combine_us(price, bytes));
}

static double scan_pipeline(const struct nf_coll_price *price, uint32_t ranks,
                            double bytes, uint32_t k)
{
    return ((double)k + ranks) *
           (2 * send_us(price, bytes / k) + combine_us(price, bytes));
}

static double scan_pipeline_lockstep(const struct nf_coll_price *price,
                                     uint32_t ranks, double bytes, uint32_t k)
{
    return ((double)k + ranks - 2) *
           (2 * send_us(price, bytes / k) + combine_us(price, bytes / k));
}

static double scan_rootp(const struct nf_coll_price *price, uint32_t ranks,
                         double bytes, uint32_t k)
{
    (void)k;
    return 2 * (sqrt(2.0 * ranks) - 3) *
           (send_us(price, bytes) + combine_us(price, bytes));
}

/* ---- the table ---- */

const struct nf_coll_printed nf_coll_printed_table[] = {
    {
        .name = "bcast.nesbt.report",
        .op = NF_COLL_BCAST,
        .formula = "3 log P T(M/log P)",
        .remark = "an upper bound: in the last round data go one way only",
        .power_of_two = true,
        .ranks_min = 2,
        .segments = nf_coll_floor_log2,
        .has_segments = true,
        .cost_us = nesbt,
    },
    {
        .name = "bcast.kseg.report",
        .op = NF_COLL_BCAST,
        .formula = "(3k + P/k - 4) T(M/k), k = P/2",
        .remark = "P/2 is the best k for long vectors only",
        .even = true,
        .ranks_min = 2,
        .segments = half_of,
        .has_segments = true,
        .cost_us = kseg,
    },
    {
        .name = "bcast.pipeline.report",
        .op = NF_COLL_BCAST,
        .formula = "2 (k + P - 2) T(M/k)",
        .remark = "in lock step: a hop takes T, only the period is 2 T",
        .ranks_min = 2,
        .has_segments = true,
        .cost_us = pipeline,
    },
    {
        .name = "bcast.twopath.report",
        .op = NF_COLL_BCAST,
        .formula = "2 (k + P/2 - 2) T(M/k)",
        .remark = "too few: the source is in both paths",
        .ranks_min = 4,
        .has_segments = true,
        .cost_us = twopath,
    },
    {
        .name = "bcast.twopath.lockstep",
        .op = NF_COLL_BCAST,
        .formula = "2 (k + ceil((P-1)/2) - 1) T(M/k)",
        .ranks_min = 2,
        .has_segments = true,
        .cost_us = twopath_lockstep,
    },
    {
        .name = "allreduce.seg.report",
        .op = NF_COLL_ALLREDUCE,
        .formula = "4 a log P + (4/B + t_op) M (P-1)/P",
        .power_of_two = true,
        .ranks_min = 2,
        .segments = all_of,
        .has_segments = true,
        .cost_us = allreduce_seg,
    },
    {
        .name = "scan.linear.report",
        .op = NF_COLL_SCAN,
        .formula = "P (2 T(M) + C(M))",
        .remark = "P-1 hops, and each was counted at both its ends",
        .ranks_min = 2,
        .cost_us = scan_linear,
    },
    {
        .name = "scan.pipeline.report",
        .op = NF_COLL_SCAN,
        .formula = "(k + P) (2 T(M/k) + C(M))",
        .remark = "a stage combines a segment, not the vector",
        .ranks_min = 2,
        .has_segments = true,
        .cost_us = scan_pipeline,
    },
    {
        .name = "scan.pipeline.lockstep",
        .op = NF_COLL_SCAN,
        .formula = "(k + P - 2) (2 T(M/k) + C(M/k))",
        .ranks_min = 2,
        .has_segments = true,
        .cost_us = scan_pipeline_lockstep,
    },
    {
        .name = "scan.rootp.report",
        .op = NF_COLL_SCAN,
        .formula = "2 (sqrt(2P) - 3) (T(M) + C(M))",
        .remark = "a parenthesis too far: 2 sqrt(2P) - 3 rounds",
        .ranks_min = 2,
        .cost_us = scan_rootp,
    },
    { .name = NULL },
};

const struct nf_coll_printed *nf_coll_printed_find(const char *name)
{
    for (size_t i = 0; nf_coll_printed_table[i].name != NULL; i++)
        if (strcmp(nf_coll_printed_table[i].name, name) == 0)
            return &nf_coll_printed_table[i];
    return NULL;
}

bool nf_coll_printed_holds(const struct nf_coll_printed *printed,
                           uint32_t ranks)
{
    if (printed->power_of_two && (ranks & (ranks - 1)) != 0)
        return false;
    return ranks >= printed->ranks_min && !(printed->even && ranks % 2 != 0);
}

uint32_t nf_coll_printed_segments(const struct nf_coll_printed *printed,
                                  const struct nf_coll_price *price,
                                  uint32_t ranks, double bytes,
                                  double *cost_us_p)
{
    uint32_t best = printed->segments != NULL ? printed->segments(ranks) : 1;

    *cost_us_p = printed->cost_us(price, ranks, bytes, best);
    if (!printed->has_segments || printed->segments != NULL)
        return best;
    for (uint32_t k = 2; k <= NF_COLL_SEGMENTS_MAX; k++) {
        double cost = printed->cost_us(price, ranks, bytes, k);

        if (cost < *cost_us_p) {
            *cost_us_p = cost;
            best = k;
        }
    }
    return best;
}

double nf_coll_kseg_real_segments(double start_us, double byte_us,
                                  uint32_t ranks, double bytes)
{
    double a = start_us, bm = byte_us * bytes;
    double low = 0, high = ranks;

    /* the cubic is negative at 0 (if m > 0), positive at P, and has one root
     * between: bisect to the last bit */
    for (int i = 0; i < 200; i++) {
        double k = (low + high) / 2;

        if (3 * a * k * k * k + (4 * bm - a * ranks) * k - 2 * bm * ranks < 0)
            low = k;
        else
            high = k;
    }
    return high;
}
