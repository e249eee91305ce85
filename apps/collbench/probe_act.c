/* The procedures that take times, as the member that takes them sees them.
 * Before each repetition the network is idle: whoever was sent something has
 * answered, in the repetition or behind it, since messages keep their order. */
#include "config.h"
#include "apps/collbench/probe.h"
#include "common/base/clock.h"
#include "common/base/error.h"

/* From @p start_us until the reply was taken. */
static enum nf_status until_reply(struct probe *probe, uint32_t member,
                                  uint32_t number, double start_us, double *us)
{
    enum nf_status status = probe_await(probe, member, number);

    *us = probe->peers[member].answered_us - start_us;
    return status;
}

static enum nf_status ping(struct probe *probe, const struct probe_act *act,
                           double *us, double *send_us)
{
    double start_us = bench_now_us();
    uint32_t number;
    enum nf_status status =
        probe_ask(probe, act->partner, PROBE_CALL, act->bytes, NULL, &number);

    if (status == NF_OK)
        status = probe_flush(probe, act->partner);
    *send_us = bench_now_us() - start_us;
    if (status == NF_OK)
        status = until_reply(probe, act->partner, number, start_us, us);
    if (*us < *send_us) /* the reply was there when that was seen */
        *send_us = *us;
    return status;
}

/* Nothing of PVM is called while the message comes: that would read it. */
static enum nf_status take(struct probe *probe, const struct probe_act *act,
                           double *us)
{
    double start_us;
    uint32_t number;
    enum nf_status status =
        probe_ask(probe, act->partner, PROBE_ASK, act->bytes, NULL, &number);

    if (status == NF_OK)
        status = probe_flush(probe, act->partner);
    if (status != NF_OK)
        return status;
    nf_sleep_until_us(nf_now_us() + act->delay_us);
    start_us = bench_now_us();
    status = probe_await(probe, act->partner, number);
    *us = bench_now_us() - start_us;
    return status;
}

static enum nf_status flood(struct probe *probe, const struct probe_act *act,
                            double *us)
{
    const struct probe_act what = { .run = act->run };
    double first_us;
    uint32_t number;
    enum nf_status status = probe_ask(probe, act->partner, PROBE_ASK,
                                      act->bytes, &what, &number);

    probe->asked++; /* the number of the last one */
    if (status == NF_OK)
        status = probe_await(probe, act->partner, number);
    first_us = probe->peers[act->partner].answered_us;
    return status == NF_OK ? until_reply(probe, act->partner, number + 1,
                                         first_us, us)
                           : status;
}

static enum nf_status sequence(struct probe *probe, const struct probe_act *act,
                               double *us)
{
    uint32_t n = probe->nchildren, number;
    double start_us = bench_now_us();
    enum nf_status status = NF_OK;

    for (uint32_t r = 0; r < act->run && status == NF_OK; r++)
        status = probe_send(probe, probe->children[r % n], PROBE_DATA, 0,
                            act->bytes, NULL);
    if (status == NF_OK)
        status = probe_ask(probe, act->partner, PROBE_CALL, act->bytes, NULL,
                           &number);
    if (status == NF_OK)
        status = until_reply(probe, act->partner, number, start_us, us);
    for (uint32_t r = 0; r < act->run && r < n && status == NF_OK; r++)
        status = probe_call(probe, probe->children[r]);
    return status;
}

static bool is_valid(const struct probe *probe, const struct probe_act *act)
{
    if (act->partner == probe->mesh->rank || act->count > PROBE_SAMPLES_MAX ||
        act->run > probe->mesh->ranks + PROBE_SAMPLES_MAX)
        return false;
    if (act->kind == PROBE_FLOOD)
        return act->run >= 2 && act->run <= PROBE_SAMPLES_MAX;
    return act->kind != PROBE_SEQ || probe->nchildren > 0;
}

static enum nf_status once(struct probe *probe, const struct probe_act *act,
                           double *us, double *send_us)
{
    if (act->kind != PROBE_TAKE && act->delay_us > 0)
        nf_sleep_until_us(nf_now_us() + act->delay_us);
    switch (act->kind) {
    case PROBE_PING:
        return ping(probe, act, us, send_us);
    case PROBE_TAKE:
        return take(probe, act, us);
    case PROBE_SEQ:
        return sequence(probe, act, us);
    case PROBE_FLOOD:
        return flood(probe, act, us);
    case PROBE_KINDS:
        break;
    }
    return nf_fail(probe->err, NF_ERR_PROTOCOL, "no such procedure");
}

enum nf_status probe_carry_out(struct probe *probe, const struct probe_act *act,
                               struct probe_result *result_p)
{
    enum nf_status status = NF_OK;
    double us = 0, send_us = 0;

    if (!is_valid(probe, act))
        return nf_fail(probe->err, NF_ERR_PROTOCOL, "not such an act");
    result_p->count = 0;
    for (uint32_t i = 0; i < act->warm + act->count && status == NF_OK; i++) {
        status = once(probe, act, &us, &send_us);
        if (status == NF_OK)
            status = probe_show_life(probe);
        if (i < act->warm)
            continue;
        result_p->us[result_p->count] = us;
        result_p->send_us[result_p->count++] = send_us;
    }
    return status;
}

/* ---- trees ---- */

static enum nf_status send_parts(struct probe *probe,
                                 const struct probe_cast *cast, uint32_t number)
{
    struct nf_blob *payload = probe_payload(probe, cast->bytes);
    enum nf_status status = NF_OK;

    if (cast->bytes > 0 && payload == NULL)
        return nf_fail(probe->err, NF_ERR_NOMEM, "out of memory");
    for (uint32_t q = 1; q <= cast->parts && status == NF_OK; q++)
        status = probe_pass(probe, number, q == cast->parts, payload);
    return status;
}

/* A leaf is silent: it, or one of those between. */
static void find_silent(struct probe *probe)
{
    for (uint32_t i = 1; i < probe->mesh->ranks; i++)
        if (probe_call(probe, i) != NF_OK)
            return; /* probe->guilty is that one */
}

enum nf_status probe_cast(struct probe *probe, const struct probe_cast *cast,
                          double *us_p)
{
    uint32_t number = ++probe->asked;
    int64_t timeout_us = probe->timeout_us;
    enum nf_status status;
    double start_us;

    nf_sleep_until_us(nf_now_us() + cast->delay_us);
    start_us = bench_now_us();
    status = send_parts(probe, cast, number);
    if (timeout_us >= 0)
        probe->timeout_us += cast->allow_us;
    for (uint32_t i = 0; i < cast->nleaves && status == NF_OK; i++)
        status =
            until_reply(probe, cast->leaves[i], number, start_us, &us_p[i]);
    probe->timeout_us = timeout_us;
    if (status == NF_ERR_TIMEDOUT)
        find_silent(probe);
    return status;
}
