/* Where the time went.
 *
 * A slot's time from the begin of the job to its end is split in five: compute
 * (in kernels), master (free while the master worked on the answer), idle (free
 * because the pacer held back), tail (free after its last answer until the job,
 * or what is before the last gather, ended) and the rest, transfer: shared
 * data, leases and results on their way, gathering them, and waiting for them.
 * The report gives the means over the slots.
 *
 * A job of several phases is also split in what its slaves take from data to data,
 * which a library's call could do as well, and the way of the data from the master
 * and back. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "common/base/alloc.h"
#include "master/engine_internal.h"

static bool ring_grow(struct slot *s)
{
    uint32_t capacity = s->capacity == 0 ? 8 : s->capacity * 2;
    struct flight *flights = nf_malloc(capacity * sizeof(*flights));

    if (flights == NULL)
        return false;
    for (uint32_t i = 0; i < s->count; i++)
        flights[i] = s->flights[(s->first + i) % s->capacity];
    nf_free(s->flights);
    s->flights = flights;
    s->first = 0;
    s->capacity = capacity;
    return true;
}

void nf_account_sent(struct engine *e, struct slave *slave, uint32_t slot,
                     const struct nf_action *send, int64_t now_us)
{
    struct slot *s = &slave->slots[slot];
    bool free = s->count == 0;

    (void)e;
    if (s->count == s->capacity && !ring_grow(s))
        return; /* only the report suffers */
    s->flights[(s->first + s->count++) % s->capacity] = (struct flight){
        .lease = send->lease,
        .units = send->count,
        .sent_us = now_us,
        /* what is before a lease of a later phase is the exchange: transfer */
        .gap_us = free && send->phase == 0 ? now_us - s->free_since_us : 0,
        .by_policy = free && !s->fresh,
    };
}

static void add_computed(struct slot *s, uint32_t phase, int64_t compute_us)
{
    s->compute_us += compute_us;
    if (phase == 0)
        s->first_us += compute_us;
    if (phase > s->last_phase) {
        s->last_phase = phase;
        s->last_us = 0;
    }
    if (phase == s->last_phase)
        s->last_us += compute_us;
}

int64_t nf_account_answered(struct slave *slave, uint64_t lease,
                            const struct nf_result_msg *m, int64_t now_us)
{
    for (uint32_t i = 0; i < slave->nslots; i++) {
        struct slot *s = &slave->slots[i];
        struct flight *f;
        int64_t gap_us, elapsed_us;

        if (s->count == 0 || s->flights[s->first].lease != lease)
            continue;
        f = &s->flights[s->first];
        gap_us = f->gap_us < m->idle_us ? f->gap_us : m->idle_us;
        *(f->by_policy ? &s->policy_us : &s->master_us) += gap_us;
        /* a slave whose clock runs wild must not spoil (or overflow) the sum:
         * it can't have computed for longer than it had the lease */
        elapsed_us = now_us - f->sent_us;
        add_computed(s, nf_lease_phase(lease),
                     m->compute_us < elapsed_us ? m->compute_us : elapsed_us);
        s->first = (s->first + 1) % s->capacity;
        s->count--;
        s->free_since_us = now_us;
        s->fresh = true;
        return elapsed_us;
    }
    return 0;
}

void nf_account_cancelled(struct slave *slave, uint32_t slot, uint64_t lease)
{
    struct slot *s = &slave->slots[slot];
    uint32_t found = 0;

    while (found < s->count &&
           s->flights[(s->first + found) % s->capacity].lease != lease)
        found++;
    if (found == s->count)
        return;
    for (uint32_t i = found + 1; i < s->count; i++)
        s->flights[(s->first + i - 1) % s->capacity] =
            s->flights[(s->first + i) % s->capacity];
    s->count--;
}

void nf_account_reset(struct slave *slave, int64_t now_us)
{
    for (uint32_t i = 0; i < slave->nslots; i++) {
        slave->slots[i].count = 0;
        slave->slots[i].free_since_us = now_us;
        slave->slots[i].fresh = true;
    }
}

void nf_account_settle(struct slave *slave)
{
    for (uint32_t i = 0; i < slave->nslots; i++)
        slave->slots[i].fresh = false;
}

/* What the slots of one slave add to the parts.
 * @param began_us  when the last units could begin: until then nobody waits for
 *                  them
 * @param computed_us  when the last one was done */
static void add_parts(const struct slave *slave, int64_t began_us,
                      int64_t computed_us, struct nf_report *r)
{
    for (uint32_t k = 0; k < slave->nslots; k++) {
        const struct slot *s = &slave->slots[k];
        int64_t from_us =
            s->free_since_us > began_us ? s->free_since_us : began_us;

        r->part_compute_s += (double)s->compute_us * 1e-6;
        r->part_master_s += (double)s->master_us * 1e-6;
        r->part_idle_s += (double)s->policy_us * 1e-6;
        if (slave->state == SLAVE_READY && s->count == 0 &&
            from_us < computed_us)
            r->part_tail_s += (double)(computed_us - from_us) * 1e-6;
    }
}

/* What the policy has learnt of the slots of one slave. */
static void add_learnt(struct engine *e, uint32_t peer)
{
    const struct slave *slave = &e->slaves[peer];
    struct nf_report *r = &e->report;
    struct nf_slot_estimate estimate;

    for (uint32_t k = 0; k < slave->nslots && r->nlearnt < NF_REPORT_SLOTS;
         k++) {
        struct nf_report_slot *to = &r->learnt[r->nlearnt];

        if (!nf_farm_get_estimate(e->farm, slave->farm_id, k, &estimate))
            continue;
        *to = (struct nf_report_slot){
            .slave = peer,
            .slot = k,
            .chunks = estimate.results,
            .td_s = (double)estimate.interval_us * 1e-6,
            .service_s = (double)estimate.service_us * 1e-6,
            .latency_s = (double)estimate.latency_us * 1e-6,
            .window = estimate.window,
        };
        memcpy(to->host, e->hosts[slave->host].name, sizeof(to->host));
        r->nlearnt++;
    }
}

void nf_account_moved(struct engine *e, int64_t now_us)
{
    const struct gather *g = &e->gather;
    bool exchange = g->state == GATHER_EXCHANGING;

    if (now_us > g->began_us)
        *(exchange ? &e->report.exchange_s : &e->report.gather_s) +=
            (double)(now_us - g->began_us) * 1e-6;
    if (!exchange)
        return;
    if (e->exchanged_from_us == 0)
        e->exchanged_from_us = g->began_us;
    e->exchanged_to_us = now_us;
}

/* From data on the slaves to data on the slaves.  What is lost with slaves is
 * computed again between exchanges, and so counts where it was. */
static void split_phases(const struct engine *e, struct nf_report *r)
{
    int64_t first_us = 0, last_us = 0, span_us;

    if (e->phases < 2 || e->exchanged_to_us == 0)
        return;
    for (uint32_t i = 0; i < e->nslaves; i++)
        for (uint32_t k = 0; e->slaves[i].joined && k < e->slaves[i].nslots;
             k++) {
            const struct slot *s = &e->slaves[i].slots[k];

            first_us = s->first_us > first_us ? s->first_us : first_us;
            if (s->last_phase + 1 == e->phases && s->last_us > last_us)
                last_us = s->last_us;
        }
    span_us = e->exchanged_to_us - e->exchanged_from_us + first_us + last_us;
    r->on_slaves_s = fmin((double)span_us * 1e-6, r->makespan_s);
    r->data_s = r->makespan_s - r->on_slaves_s;
    r->wait_s = fmax(r->on_slaves_s - r->exchange_s - r->part_compute_s, 0);
}

/* All units at work all the time on all slots that were there to the end. */
static double emulated_bound_s(const struct engine *e)
{
    const struct nf_emulate *emulate = e->config->emulate;
    double speeds = 0;

    for (uint32_t i = 0; i < e->nslaves; i++)
        if (e->slaves[i].joined && e->slaves[i].state == SLAVE_READY)
            speeds += (double)nf_emulate_speed(emulate, i) /
                      NF_EMULATE_SPEED_ONE * e->slaves[i].nslots;
    return speeds > 0 ? (double)e->report.done_units *
                            (double)emulate->unit_us * 1e-6 / speeds
                      : 0;
}

void nf_account_report(struct engine *e)
{
    struct nf_report *r = &e->report;
    double slots = r->slots > 0 ? r->slots : 1;
    /* the last gather is transfer, and no tail; after an exchange units follow */
    int64_t computed_us =
        e->gathered_from_us > 0 ? e->gathered_from_us : e->done_us;

    for (uint32_t i = 0; i < e->nslaves; i++) {
        if (!e->slaves[i].joined)
            continue;
        add_parts(&e->slaves[i], e->exchanged_to_us, computed_us, r);
        add_learnt(e, i);
    }
    r->compute_s = r->part_compute_s;
    r->part_compute_s /= slots;
    r->part_master_s /= slots;
    r->part_idle_s /= slots;
    r->part_tail_s /= slots;
    r->lower_bound_s =
        e->config->emulate != NULL ? emulated_bound_s(e) : r->part_compute_s;
    r->part_transfer_s = r->makespan_s - r->part_compute_s - r->part_master_s -
                         r->part_idle_s - r->part_tail_s;
    /* durations of several clocks: rounding may leave a little below zero */
    if (r->part_transfer_s < 0)
        r->part_transfer_s = 0;
    split_phases(e, r);
}
