/* The procedures that take times, as the member that takes them sees them.
 * Before each repetition the network is idle: whoever was sent something has
 * answered, in the repetition or behind it, since messages keep their order. */
#include "config.h"
#include "apps/collbench/probe.h"
#include "common/base/clock.h"
#include "common/base/error.h"

static enum nf_status ping(struct probe *probe, const struct probe_act *act,
                           double *us, double *send_us)
{
    double start_us = bench_now_us();
    enum nf_status status =
        probe_send(probe, act->partner, PROBE_CALL, act->bytes, NULL);

    if (status == NF_OK)
        status = probe_flush(probe, act->partner);
    *send_us = bench_now_us() - start_us;
    if (status == NF_OK)
        status = probe_await(probe, act->partner, PROBE_ANSWER);
    *us = bench_now_us() - start_us;
    return status;
}

/* Nothing of PVM is called while the message comes: that would read it. */
static enum nf_status take(struct probe *probe, const struct probe_act *act,
                           double *us)
{
    double start_us;
    enum nf_status status =
        probe_send(probe, act->partner, PROBE_ASK, act->bytes, NULL);

    if (status == NF_OK)
        status = probe_flush(probe, act->partner);
    if (status != NF_OK)
        return status;
    nf_sleep_until_us(nf_now_us() + act->delay_us);
    start_us = bench_now_us();
    status = probe_await(probe, act->partner, PROBE_DATA);
    *us = bench_now_us() - start_us;
    return status;
}

static enum nf_status sequence(struct probe *probe, const struct probe_act *act,
                               double *us)
{
    uint32_t n = probe->nchildren;
    double start_us = bench_now_us();
    enum nf_status status = NF_OK;

    for (uint32_t r = 0; r < act->run && status == NF_OK; r++)
        status = probe_send(probe, probe->children[r % n], PROBE_DATA,
                            act->bytes, NULL);
    if (status == NF_OK)
        status = probe_send(probe, act->partner, PROBE_CALL, act->bytes, NULL);
    if (status == NF_OK)
        status = probe_await(probe, act->partner, PROBE_ANSWER);
    *us = bench_now_us() - start_us;
    for (uint32_t r = 0; r < act->run && r < n && status == NF_OK; r++)
        status = probe_call(probe, probe->children[r]);
    return status;
}

/* Rank 0 sends along the tree, and one member answers; then all that are in the
 * tree, when they have passed on this message too. */
static enum nf_status tree(struct probe *probe, const struct probe_act *act,
                           double *us)
{
    double start_us = bench_now_us();
    struct nf_blob *payload = probe_payload(probe, act->bytes);
    enum nf_status status;

    if (act->bytes > 0 && payload == NULL)
        return nf_fail(probe->err, NF_ERR_NOMEM, "out of memory");
    probe->arrived_us = 0;
    status = probe_pass(probe, act, payload);
    if (status == NF_OK && !(probe->arrived_us > 0))
        status = probe_await(probe, act->partner, PROBE_ARRIVED);
    *us = probe->arrived_us - start_us;
    probe->passed++;
    for (uint32_t i = 1; i < act->run && status == NF_OK; i++) {
        const struct probe_act passed = { .run = probe->passed };

        status = probe_send(probe, i, PROBE_CALL, 0, &passed);
        if (status == NF_OK)
            status = probe_await(probe, i, PROBE_ANSWER);
    }
    return status;
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
    case PROBE_TREE:
    case PROBE_TURNS:
        return tree(probe, act, us);
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

    if (act->partner == probe->mesh->rank || act->count > PROBE_SAMPLES_MAX ||
        (act->kind == PROBE_SEQ && probe->nchildren == 0))
        return nf_fail(probe->err, NF_ERR_PROTOCOL, "not such a partner");
    result_p->count = 0;
    for (uint32_t i = 0; i < act->warm && status == NF_OK; i++)
        status = once(probe, act, &us, &send_us);
    for (uint32_t i = 0; i < act->count && status == NF_OK; i++) {
        status = once(probe, act, &us, &send_us);
        result_p->us[result_p->count] = us;
        result_p->send_us[result_p->count++] = send_us;
    }
    return status;
}
