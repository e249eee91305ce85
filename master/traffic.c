/* Leases out, results in.  The farm decides; here is only carried out. */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "master/engine_internal.h"

/* ----------------------------------------------------------------- leases */

const char *nf_traffic_name_unit(const struct engine *e, uint32_t phase,
                                 uint64_t unit, char *name_p)
{
    if (e->phases > 1)
        snprintf(name_p, UNIT_NAME_BYTES, "unit %" PRIu64 " of phase %u", unit,
                 phase);
    else
        snprintf(name_p, UNIT_NAME_BYTES, "unit %" PRIu64, unit);
    return name_p;
}

static bool reserve_sizes(struct engine *e, uint64_t count)
{
    uint64_t *sizes;

    if (count <= e->sizes_capacity)
        return true;
    if (count > SIZE_MAX / sizeof(*sizes))
        return false;
    sizes = nf_realloc(e->sizes, (size_t)count * sizeof(*sizes));
    if (sizes == NULL)
        return false;
    e->sizes = sizes;
    e->sizes_capacity = count;
    return true;
}

/* Have the application append the inputs of a lease. */
static bool split_inputs(struct engine *e, const struct nf_action *a)
{
    const struct nf_app *app = e->app;

    if (!reserve_sizes(e, a->count)) {
        nf_engine_end(e, NF_ERR_NOMEM, "out of memory for a lease");
        return false;
    }
    for (uint64_t i = 0; i < a->count; i++) {
        size_t before = e->input.bytes;
        enum nf_status status;

        if (!nf_members_keep_company(e))
            return false;
        status = app->split(app->user, a->first + i, &e->input);
        if (status != NF_OK) {
            nf_engine_end(e, NF_ERR_FAILED, "input of unit %" PRIu64 ": %s",
                          a->first + i, nf_strerror(status));
            return false;
        }
        e->sizes[i] = e->input.bytes - before;
        if (e->sizes[i] % nf_type_bytes(app->input_type) != 0) {
            nf_engine_end(e, NF_ERR_FAILED,
                          "input of unit %" PRIu64 ": %" PRIu64
                          " bytes are no whole number of elements",
                          a->first + i, e->sizes[i]);
            return false;
        }
    }
    return true;
}

static void send_lease(struct engine *e, const struct nf_action *a,
                       int64_t now_us)
{
    struct nf_lease_msg lease = {
        .lease = a->lease,
        .first = a->first,
        .count = a->count,
        .slot = a->slot,
        .attempts = a->attempts,
    };
    struct nf_msg msg = { .kind = NF_MSG_LEASE };
    uint32_t peer;
    struct slave *slave = nf_members_find(e, a->slave, &peer);
    bool inputs = e->app->split != NULL && a->phase == 0;
    int64_t begun_us = nf_record_now_us(e);
    size_t bytes;

    if (slave == NULL)
        return;
    if (inputs) {
        if (!split_inputs(e, a))
            return;
        lease.layout.unit_bytes = NF_LAYOUT_TABLE;
        if (e->input.bytes > 0) {
            msg.payload = nf_buf_take(&e->input, e->app->input_type);
            if (msg.payload == NULL) {
                nf_engine_end(e, NF_ERR_NOMEM, "out of memory for a lease");
                return;
            }
        }
    }
    if (nf_put_lease(&e->body, &lease, inputs ? e->sizes : NULL) != NF_OK) {
        nf_engine_end(e, NF_ERR_NOMEM, "out of memory for a lease");
        nf_blob_unref(msg.payload);
        return;
    }
    msg.body = e->body.data;
    msg.body_bytes = e->body.bytes;
    nf_engine_send(e, peer, &msg);
    bytes = msg.payload != NULL ? msg.payload->bytes : 0;
    e->report.messages++;
    e->report.bytes_out += bytes;
    nf_blob_unref(msg.payload);
    nf_account_sent(e, slave, a->slot, a, now_us);
    nf_record_sent(e, a, peer, bytes, begun_us);
    nf_log(NF_LOG_DEBUG, "lease %" PRIx64 " of %s: units %" PRIu64 "+%" PRIu64,
           a->lease, slave->label, a->first, a->count);
}

/* A copy of it was faster.  If the slave has begun it all the same, its answer
 * comes late and counts as a duplicate. */
static void cancel_lease(struct engine *e, const struct nf_action *a)
{
    struct nf_cancel_msg cancel = { .lease = a->lease };
    struct nf_msg msg = { .kind = NF_MSG_CANCEL };
    uint32_t peer;
    struct slave *slave = nf_members_find(e, a->slave, &peer);

    if (slave == NULL)
        return;
    if (nf_put_cancel(&e->body, &cancel) != NF_OK) {
        nf_engine_end(e, NF_ERR_NOMEM, "out of memory for a message");
        return;
    }
    msg.body = e->body.data;
    msg.body_bytes = e->body.bytes;
    nf_engine_send(e, peer, &msg);
    nf_account_cancelled(slave, a->slot, a->lease);
    nf_trace_cancelled(e->trace, nf_record_now_us(e), a->lease);
    nf_log(NF_LOG_DEBUG, "lease %" PRIx64 " of %s: cancelled", a->lease,
           slave->label);
}

/* ---------------------------------------------------------------- results */

/* Hand a unit to the application.  @return false: it did not take it */
static bool collect(struct engine *e, uint64_t unit, const uint8_t *data,
                    uint64_t bytes)
{
    enum nf_status status;

    if (!nf_members_keep_company(e))
        return false;
    status = e->app->collect(e->app->user, unit, data, (size_t)bytes);
    if (status != NF_OK)
        nf_engine_end(e, NF_ERR_FAILED, "result of unit %" PRIu64 ": %s", unit,
                      nf_strerror(status));
    return status == NF_OK;
}

/* An application that failed is not called again, nor one that is to stop. */
static void merge(struct engine *e, const struct nf_action *a,
                  const struct cause *cause)
{
    const struct nf_result_msg *m = cause->result;
    const uint8_t *data = cause->data;
    bool takes = e->status == NF_OK;

    if (e->app->collect == NULL || m == NULL || e->hold ||
        a->phase + 1 < e->phases)
        return;
    for (uint64_t i = m->first; i < a->first; i++)
        data += nf_layout_unit_bytes(&m->layout, i - m->first);
    for (uint64_t i = a->first; i < a->first + a->count; i++) {
        uint64_t bytes = nf_layout_unit_bytes(&m->layout, i - m->first);

        takes = takes && collect(e, i, data, bytes);
        e->uncollected_units += !takes;
        data += bytes;
    }
}

static void give_up(struct engine *e, const struct nf_action *a,
                    const struct cause *cause, int64_t now_us)
{
    struct nf_unit_failure failure = { .unit = a->first,
                                       .attempts = a->attempts,
                                       .phase = a->phase };
    char name[UNIT_NAME_BYTES];

    if (a->after_loss)
        snprintf(failure.reason, sizeof(failure.reason),
                 a->loss == NF_LOSS_SILENT ? "its slaves fell silent"
                                           : "its slave died each time");
    else
        snprintf(failure.reason, sizeof(failure.reason), "%s",
                 cause->reason != NULL ? cause->reason : "failed");
    e->given_up_units++;
    nf_record_given_up(e, &failure, now_us);
    nf_engine_notice(e, "%s given up after %u attempts: %s",
                     nf_traffic_name_unit(e, failure.phase, failure.unit, name),
                     failure.attempts, failure.reason);
    if (e->report.nfailures < NF_REPORT_FAILURES)
        e->report.failures[e->report.nfailures++] = failure;
}

static void arm(struct engine *e, int64_t wake_us, int64_t now_us)
{
    int64_t in_us = wake_us > now_us ? wake_us - now_us : 0;
    struct timeval in = { .tv_sec = (time_t)(in_us / 1000000),
                          .tv_usec = (suseconds_t)(in_us % 1000000) };

    if (e->emulated != NULL) {
        bool deaf = nf_farm_is_deaf(e->farm);

        nf_emulated_arm(e->emulated, e->joining && !deaf ? now_us : wake_us,
                        deaf);
        e->farm_us = now_us;
        return;
    }
    if (wake_us == e->wake_us && event_pending(e->wake, EV_TIMEOUT, NULL))
        return;
    e->wake_us = wake_us;
    if (wake_us == INT64_MAX)
        event_del(e->wake);
    else
        event_add(e->wake, &in);
}

/* Results that were held are lost, and their units are handed out again. */
static void tell_lost_results(struct engine *e)
{
    struct nf_farm_stats stats;

    if (!e->hold && e->phases == 1)
        return;
    nf_farm_get_stats(e->farm, &stats);
    if (stats.recomputed > e->lost_results)
        nf_engine_notice(e,
                         "%" PRIu64 " results lost with it are computed again",
                         stats.recomputed - e->lost_results);
    e->lost_results = stats.recomputed;
    /* there is no progress any more */
    if (stats.recomputed > 0 &&
        (stats.recomputed - 1) / e->options->max_attempts / e->phases >=
            stats.units)
        nf_engine_end(e, NF_ERR_FAILED,
                      "results are lost again and again: %" PRIu64
                      " were computed anew, for %" PRIu64 " units",
                      stats.recomputed, stats.units);
}

void nf_traffic_act(struct engine *e, const struct nf_actions *actions,
                    const struct cause *cause, int64_t now_us)
{
    static const struct cause none;
    int64_t begun_us = nf_now_us();

    if (cause == NULL)
        cause = &none;
    for (size_t i = 0; i < actions->count; i++) {
        /* carrying out an action calls no farm event, so the list stays */
        const struct nf_action *a = &actions->list[i];

        if (e->status != NF_OK && a->kind != NF_ACT_ACCEPT)
            continue;
        switch (a->kind) {
        case NF_ACT_SEND:
            send_lease(e, a, now_us);
            break;
        case NF_ACT_CANCEL:
            cancel_lease(e, a);
            break;
        case NF_ACT_ACCEPT:
            merge(e, a, cause);
            break;
        case NF_ACT_GIVE_UP:
            give_up(e, a, cause, now_us);
            break;
        case NF_ACT_LOST:
            nf_members_silent(e, a->slave);
            break;
        case NF_ACT_GATHER:
            nf_gather_begin(e, now_us);
            break;
        case NF_ACT_EXCHANGE:
            nf_exchange_ask(e, a->phase, now_us);
            break;
        case NF_ACT_ABANDON:
            nf_gather_abandon(e, now_us);
            break;
        case NF_ACT_DONE:
            e->done = true;
            e->done_us = now_us;
            event_base_loopbreak(e->base);
            break;
        }
    }
    nf_members_were_unheard(e, nf_now_us() - begun_us);
    tell_lost_results(e);
    arm(e, actions->wake_us, now_us);
}

/* Does the result of this lease stay with its slave? */
static bool is_kept(const struct engine *e, uint64_t lease)
{
    return e->hold ||
           (e->phases > 1 && nf_lease_phase(lease) + 1 < e->phases);
}

void nf_traffic_result(struct engine *e, const struct nf_net_event *ev,
                       int64_t now_us)
{
    struct slave *slave = &e->slaves[ev->peer];
    struct nf_result_msg m;
    struct nf_actions actions;
    struct nf_chunk_times times;
    size_t bytes = ev->msg.payload != NULL ? ev->msg.payload->bytes : 0;
    enum nf_status status;

    if (!slave->joined || e->farm == NULL ||
        nf_get_result(ev->msg.body, ev->msg.body_bytes, &m) != NF_OK ||
        (is_kept(e, m.lease) ? bytes > 0
                             : !nf_layout_fits(&m.layout, m.count, bytes))) {
        nf_log(NF_LOG_WARN, "malformed result of %s ignored", slave->label);
        return;
    }
    e->report.messages++;
    e->report.bytes_in += bytes;
    times = (struct nf_chunk_times){
        .units = m.count,
        .compute_us = m.compute_us,
        .wait_us = m.wait_us,
        .idle_us = m.idle_us,
        .mean_unit_us = m.mean_unit_us,
        .m2_unit_us2 = m.m2_unit_us2,
    };
    if (m.last)
        times.elapsed_us = nf_account_answered(slave, m.lease, &m, now_us);
    status = nf_farm_result(e->farm, slave->farm_id, m.lease, m.first, m.count,
                            m.last ? &times : NULL, now_us, &actions);
    if (status == NF_ERR_PROTOCOL) {
        nf_log(NF_LOG_WARN, "result of %s is not what was leased: ignored",
               slave->label);
        return;
    }
    e->hosts[slave->host].deaths = 0;
    nf_record_result(e, &m, &times, bytes, &actions, now_us);
    nf_traffic_act(e, &actions,
                   &(struct cause){ .result = &m,
                                    .data = bytes > 0 ? ev->msg.payload->data
                                                      : (const uint8_t *)"" },
                   now_us);
    nf_account_settle(slave);
    if (status != NF_OK)
        nf_engine_end(e, status, "out of memory");
}

void nf_traffic_unit_failed(struct engine *e, const struct nf_net_event *ev,
                            int64_t now_us)
{
    struct slave *slave = &e->slaves[ev->peer];
    struct nf_unit_failed_msg m;
    struct nf_actions actions;
    enum nf_status status;
    char name[UNIT_NAME_BYTES];

    if (!slave->joined || e->farm == NULL ||
        nf_get_unit_failed(ev->msg.body, ev->msg.body_bytes, &m) != NF_OK) {
        nf_log(NF_LOG_WARN, "malformed report of %s ignored", slave->label);
        return;
    }
    nf_log(NF_LOG_INFO, "%s failed on %s: %s",
           nf_traffic_name_unit(e, nf_lease_phase(m.lease), m.unit, name),
           slave->label, m.reason);
    slave->timed_out |= m.timeout;
    if (m.last)
        nf_account_answered(slave, m.lease, &(struct nf_result_msg){ 0 },
                            now_us);
    status = nf_farm_unit_failed(e->farm, slave->farm_id, m.lease, m.unit,
                                 now_us, &actions);
    if (status == NF_ERR_PROTOCOL)
        return;
    nf_record_failed(e, &m, now_us);
    nf_traffic_act(e, &actions, &(struct cause){ .reason = m.reason }, now_us);
    nf_account_settle(slave);
    if (status != NF_OK)
        nf_engine_end(e, status, "out of memory");
}
