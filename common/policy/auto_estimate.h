#ifndef NF_POLICY_AUTO_ESTIMATE_H
#define NF_POLICY_AUTO_ESTIMATE_H
/** @file auto_estimate.h  What the adaptive pacer knows of one slot: how long
 *  it computes, how far away it is, and so how many chunks it should have and
 *  when it will have nothing left to do.  Integer microseconds throughout. */
#include "common/policy/policy.h"

enum {
    NF_AUTO_RING = 8,   /**< latencies remembered */
    NF_AUTO_EPOCH = 32, /**< results after which old minima are forgotten, in
                             two steps */
};

/** All zero: nothing is known. */
struct nf_auto_estimate {
    uint64_t results;
    int64_t service_us; /**< s: smoothed compute time of a chunk of g units */
    int64_t spread_us;  /**< sv: smoothed |deviation| from s */
    int64_t latency_us[NF_AUTO_RING];
    int64_t least_us[2]; /**< least latency of this epoch and of the last */
    int64_t base_us;     /**< the lesser of the two */
    int64_t plan_us;     /**< nu: the latency that the window is made for */
    int64_t head_us;     /**< when the oldest chunk was started, estimated */
    int64_t finish_us;   /**< when the last result was ready, estimated */
    uint64_t window;     /**< w, chunks; meaningless before the first result */
};

/** A chunk was sent; @p outstanding counts it. */
void nf_auto_sent(struct nf_auto_estimate *slot, uint32_t outstanding,
                  int64_t now_us);
/** A chunk was answered.
 *  @param t            NULL if there is nothing to measure
 *  @param grain_units  g: what s is for
 *  @param max_window   WMAX */
void nf_auto_result(struct nf_auto_estimate *slot,
                    const struct nf_chunk_times *t, uint64_t grain_units,
                    uint64_t max_window, int64_t now_us);

/** s, or what is taken for it before the first result: @p mean_us, the mean of
 *  the slots that have results.  At least 1. */
int64_t nf_auto_service_us(const struct nf_auto_estimate *slot,
                           int64_t mean_us);

/** Durations that are products are cut here, at some 35 years: a slot with a
 *  million chunks, much too late, would have no end that 64 bits can hold. */
#define NF_AUTO_MOST_US (INT64_C(1) << 50)
/** @return count * duration_us, at most NF_AUTO_MOST_US
 *  @param count        -1..2^32
 *  @param duration_us  >= 0 */
int64_t nf_auto_times_us(int64_t count, int64_t duration_us);

/** Lines that are steeper than a window of 16, all of it late, are not told. */
enum { NF_AUTO_SLOPES = 18 };

/** As a function of time, dry = slope * now + offset, for now < until; with
 *  slope NF_AUTO_SLOPES only nf_auto_dry_us() can say it. */
struct nf_auto_line {
    uint32_t slope;
    int64_t offset_us;
    int64_t until_us; /**< INT64_MAX: for ever */
};
/** When the slot will have nothing left to do, from now on: what of its oldest
 *  chunk should have been done by now is not expected to come at once, but to
 *  take as long again.
 *  @param service_us  of nf_auto_service_us() */
struct nf_auto_line nf_auto_dry(const struct nf_auto_estimate *slot,
                                uint32_t outstanding, int64_t service_us,
                                int64_t now_us);
/** The same as a time, for now and any @p outstanding. */
int64_t nf_auto_dry_us(const struct nf_auto_estimate *slot,
                       uint32_t outstanding, int64_t service_us,
                       int64_t now_us);

/** For reports.  @return false before the first result */
bool nf_auto_report(const struct nf_auto_estimate *slot,
                    struct nf_slot_estimate *estimate_p);
#endif
