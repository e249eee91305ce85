/* The estimator of the adaptive pacer.  The latency taken as base is the least
 * one seen, and the one planned for at most twice that, so that the waiting
 * that our own chunks cause for each other does not widen the window, which
 * would make them wait longer. */
#include "config.h"
#include "common/policy/auto_estimate.h"
#include <math.h>

/* Times above a month are cut, so that sums cannot overflow. */
static const int64_t longest_us = INT64_C(2678400000000);

static int64_t min_us(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max_us(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Durations come from other machines: believe nothing absurd. */
static int64_t sane_us(int64_t time_us)
{
    return max_us(0, min_us(time_us, longest_us));
}

static void measure_service(struct nf_auto_estimate *slot, int64_t compute_us)
{
    int64_t deviation_us;
    int64_t weight = slot->results + 1 < 4 ? (int64_t)slot->results + 1 : 4;

    if (slot->results == 0) {
        slot->service_us = compute_us;
        slot->spread_us = compute_us / 4;
        return;
    }
    deviation_us = compute_us - slot->service_us;
    slot->service_us += deviation_us / weight;
    if (deviation_us < 0)
        deviation_us = -deviation_us;
    slot->spread_us += (deviation_us - slot->spread_us) / 4;
}

static void measure_latency(struct nf_auto_estimate *slot, int64_t latency_us)
{
    slot->latency_us[slot->results % NF_AUTO_RING] = latency_us;
    if (slot->results % NF_AUTO_EPOCH == 0) {
        slot->least_us[1] = slot->results == 0 ? INT64_MAX : slot->least_us[0];
        slot->least_us[0] = latency_us;
    }
    slot->least_us[0] = min_us(slot->least_us[0], latency_us);
    slot->base_us = min_us(slot->least_us[0], slot->least_us[1]);
}

/* The upper quartile of the last latencies: of up to 8 that is the largest one,
 * or from 5 on the second. */
static int64_t high_latency_us(const struct nf_auto_estimate *slot)
{
    uint64_t count =
        slot->results < NF_AUTO_RING ? slot->results : NF_AUTO_RING;
    int64_t first_us = -1, second_us = -1;

    for (uint64_t i = 0; i < count; i++) {
        int64_t latency_us = slot->latency_us[i];

        if (latency_us > first_us) {
            second_us = first_us;
            first_us = latency_us;
        } else if (latency_us > second_us) {
            second_us = latency_us;
        }
    }
    return count - 1 - 3 * count / 4 == 0 ? first_us : second_us;
}

/* The bandwidth-delay product, for a service time that is pessimistically
 * short. */
static uint64_t suitable_window(const struct nf_auto_estimate *slot,
                                uint64_t max_window)
{
    int64_t latency_us = max_us(1, slot->plan_us);
    int64_t short_us =
        max_us(1, max_us(slot->service_us / 4,
                         slot->service_us - 2 * slot->spread_us));
    uint64_t window = 1 + (uint64_t)((latency_us + short_us - 1) / short_us);

    return window < max_window ? window : max_window;
}

/* How long the chunk lay in the slave's queue, if the slave could not tell: it
 * was behind the one before it. */
static int64_t guessed_wait_us(const struct nf_auto_estimate *slot,
                               int64_t sent_us)
{
    if (slot->results == 0)
        return 0;
    return max_us(0, slot->finish_us - (sent_us + slot->base_us / 2));
}

static void measure(struct nf_auto_estimate *slot,
                    const struct nf_chunk_times *t, uint64_t grain_units,
                    int64_t now_us)
{
    int64_t compute_us = sane_us(t->compute_us);
    int64_t elapsed_us = sane_us(t->elapsed_us);
    int64_t wait_us = t->wait_us >= 0
                          ? sane_us(t->wait_us)
                          : guessed_wait_us(slot, now_us - elapsed_us);
    int64_t scaled_us = compute_us;

    if (t->units != grain_units && t->units > 0)
        scaled_us = (int64_t)fmin((double)compute_us * (double)grain_units /
                                      (double)t->units,
                                  (double)longest_us);
    measure_service(slot, scaled_us);
    measure_latency(slot, max_us(0, elapsed_us - compute_us - wait_us));
    slot->results++;
}

void nf_auto_sent(struct nf_auto_estimate *slot, uint32_t outstanding,
                  int64_t now_us)
{
    if (outstanding <= 1)
        slot->head_us = now_us + slot->base_us / 2;
}

void nf_auto_result(struct nf_auto_estimate *slot,
                    const struct nf_chunk_times *t, uint64_t grain_units,
                    uint64_t max_window, int64_t now_us)
{
    if (t != NULL) {
        measure(slot, t, grain_units, now_us);
        slot->plan_us = min_us(high_latency_us(slot), 2 * slot->base_us);
        slot->window = suitable_window(slot, max_window);
    }
    slot->finish_us = now_us - slot->base_us / 2;
    slot->head_us = slot->finish_us;
}

int64_t nf_auto_service_us(const struct nf_auto_estimate *slot, int64_t mean_us)
{
    return max_us(1, slot->results > 0 ? slot->service_us : mean_us);
}

int64_t nf_auto_times_us(int64_t count, int64_t duration_us)
{
    int64_t product_us;

    /* no division: every decision comes here */
    if (__builtin_mul_overflow(count, duration_us, &product_us))
        return NF_AUTO_MOST_US;
    return min_us(product_us, NF_AUTO_MOST_US);
}

struct nf_auto_line nf_auto_dry(const struct nf_auto_estimate *slot,
                                uint32_t outstanding, int64_t service_us,
                                int64_t now_us)
{
    int64_t chunks = outstanding, head_us = slot->head_us;
    int64_t all_us = nf_auto_times_us(chunks, service_us);

    if (outstanding == 0)
        return (struct nf_auto_line){ 1, slot->base_us / 2, INT64_MAX };
    if (now_us < head_us) /* not there yet */
        return (struct nf_auto_line){ 1, all_us, head_us };
    if (now_us - head_us <= service_us)
        return (struct nf_auto_line){ 0, head_us + all_us,
                                      head_us + service_us + 1 };
    if (now_us - head_us <= 2 * service_us || outstanding == 1)
        return (struct nf_auto_line){
            2, nf_auto_times_us(chunks - 2, service_us) - head_us,
            outstanding == 1 ? INT64_MAX : head_us + 2 * service_us + 1
        };
    /* much too late: so will those behind it be */
    if (outstanding >= NF_AUTO_SLOPES - 1)
        return (struct nf_auto_line){ NF_AUTO_SLOPES, 0, INT64_MAX };
    return (struct nf_auto_line){ outstanding + 1,
                                  -chunks * head_us - service_us, INT64_MAX };
}

int64_t nf_auto_dry_us(const struct nf_auto_estimate *slot,
                       uint32_t outstanding, int64_t service_us, int64_t now_us)
{
    struct nf_auto_line line =
        nf_auto_dry(slot, outstanding, service_us, now_us);

    if (line.slope < NF_AUTO_SLOPES)
        return line.slope * now_us + line.offset_us;
    return now_us + nf_auto_times_us(outstanding, now_us - slot->head_us) -
           service_us;
}

bool nf_auto_report(const struct nf_auto_estimate *slot,
                    struct nf_slot_estimate *estimate_p)
{
    int64_t cycle_us;

    if (slot->results == 0)
        return false;
    cycle_us = (slot->service_us + slot->plan_us) / (int64_t)slot->window;
    *estimate_p = (struct nf_slot_estimate){
        .results = slot->results,
        .service_us = slot->service_us,
        .latency_us = slot->plan_us,
        .window = slot->window,
        .interval_us = max_us(slot->service_us, cycle_us),
    };
    return true;
}
