/* What goes into the trace (common/trace/trace.h) that takes more than a call.
 */
#include "config.h"
#include "common/base/clock.h"
#include "master/engine_internal.h"

enum nf_status nf_record_open(struct engine *e, struct nf_error *err)
{
    const struct nf_options *o = e->options;
    struct nf_trace_header header = {
        .app = e->app->name,
        .policy = e->report.policy,
        .transport = e->report.transport,
        .emulate = e->report.emulate,
        .units = e->app->units * e->phases, /* phase after phase */
        .seed = o->seed,
        .slaves = o->slaves,
        .slots = o->slots,
    };

    if (o->trace_file == NULL)
        return NF_OK;
    return nf_trace_create(o->trace_file, &header, e->opened_us, &e->trace,
                           err);
}

void nf_record_close(struct engine *e, enum nf_status status)
{
    struct nf_error why;

    nf_trace_end(e->trace, nf_now_us(), status, &e->report);
    e->stopping = false; /* there may be one more notice */
    if (nf_trace_close(e->trace, &why) != NF_OK && !e->trace_failed)
        nf_engine_notice(e, "%s", why.text);
    e->trace = NULL;
}

/* A disk that is full takes the trace, not the job. */
void nf_record_tick(struct engine *e, int64_t now_us)
{
    const char *why;

    nf_trace_tick(e->trace, now_us);
    why = nf_trace_error(e->trace);
    if (why != NULL && !e->trace_failed)
        nf_engine_notice(e, "trace %s ends here: %s", e->options->trace_file,
                         why);
    e->trace_failed = why != NULL;
}

int64_t nf_record_now_us(const struct engine *e)
{
    return e->trace != NULL ? nf_now_us() : 0;
}

/* Units are numbered phase after phase. */
static uint64_t number_of(const struct engine *e, uint32_t phase, uint64_t unit)
{
    return phase * e->app->units + unit;
}

void nf_record_sent(struct engine *e, const struct nf_action *send,
                    uint32_t peer, size_t bytes, int64_t begun_us)
{
    struct nf_trace_sent sent = {
        .lease = send->lease,
        .slave = peer,
        .slot = send->slot,
        .first = number_of(e, send->phase, send->first),
        .count = send->count,
        .bytes = bytes,
        .attempts = send->attempts,
    };

    if (e->trace == NULL)
        return;
    sent.master_us = nf_now_us() - begun_us;
    nf_trace_sent(e->trace, begun_us, &sent);
}

void nf_record_result(struct engine *e, const struct nf_result_msg *m,
                      const struct nf_chunk_times *times, size_t bytes,
                      const struct nf_actions *actions, int64_t now_us)
{
    struct nf_trace_result result = {
        .lease = m->lease,
        .units = m->count,
        .duplicates = m->count,
        .bytes = bytes,
        .last = m->last,
        .compute_us = times->compute_us,
        .wait_us = times->wait_us,
        .idle_us = times->idle_us,
        .elapsed_us = times->elapsed_us,
        .mean_unit_us = times->mean_unit_us,
        .m2_unit_us2 = times->m2_unit_us2,
    };

    if (e->trace == NULL)
        return;
    for (size_t i = 0; i < actions->count; i++)
        if (actions->list[i].kind == NF_ACT_ACCEPT)
            result.duplicates -= actions->list[i].count;
    nf_trace_result(e->trace, now_us, &result);
}

void nf_record_failed(struct engine *e, const struct nf_unit_failed_msg *m,
                      int64_t now_us)
{
    nf_trace_failed(e->trace, now_us,
                    &(struct nf_trace_failed){
                        .lease = m->lease,
                        .unit = number_of(e, nf_lease_phase(m->lease), m->unit),
                        .last = m->last,
                        .timeout = m->timeout,
                        .reason = m->reason });
}

void nf_record_given_up(struct engine *e, const struct nf_unit_failure *failure,
                        int64_t now_us)
{
    nf_trace_given_up(e->trace, now_us,
                      number_of(e, failure->phase, failure->unit),
                      failure->attempts, failure->reason);
}
