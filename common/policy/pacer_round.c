/* round: the loop of the paper, to the letter:
 *
 *     while results are missing
 *         receive all results that have arrived
 *         sleep td (not before the first round)
 *         send one chunk to every slot
 *
 * While it sleeps it is deaf, so the interval that a slot sees is td plus what
 * the master needs for p sends and p receives.  Once nothing is left to send,
 * results are taken as they come.  It exists to reproduce Table 1. */
#include "config.h"
#include "common/policy/policy.h"

enum phase {
    PHASE_IDLE, /* nobody to send to: a join or a return starts a round */
    PHASE_RECEIVE,
    PHASE_SLEEP,
    PHASE_SEND,
};

struct round {
    int64_t td_us;
    int64_t until_us; /* end of the sleep */
    enum phase phase;
    bool slept_once; /* the first round does not sleep */
    bool unsettled;  /* results may have arrived that are not taken yet */
    bool sent_any;   /* in this round */
    uint32_t next;   /* slot of this round */
};

static const struct nf_param params[] = {
    {
        .name = "td",
        .kind = NF_PARAM_TIME,
        .default_text = "100ms",
        .unit = "time",
        .help = "the sleep of each round; results wait meanwhile",
    },
    { .name = NULL },
};

static size_t round_state_size(const struct nf_policy_env *env)
{
    (void)env;
    return sizeof(struct round);
}

static enum nf_status round_init(void *st, const struct nf_policy_env *env,
                                 const struct nf_param_value *values,
                                 struct nf_error *err)
{
    struct round *round = st;

    (void)env;
    (void)err;
    round->td_us = values[0].time_us;
    return NF_OK;
}

static bool find_slot(struct round *round, const struct nf_pool_view *pool)
{
    for (; round->next < pool->nslots; round->next++)
        if (pool->slots[round->next].live && !pool->slots[round->next].refused)
            return true;
    return false;
}

static enum nf_status round_pick(void *st, const struct nf_pool_view *pool,
                                 int64_t now_us, uint32_t *slot_p,
                                 int64_t *wake_us_p)
{
    struct round *round = st;

    for (;;) {
        switch (round->phase) {
        case PHASE_IDLE:
            *wake_us_p = INT64_MAX;
            return NF_WAIT;
        case PHASE_RECEIVE:
            if (round->unsettled) {
                round->unsettled = false;
                *wake_us_p = now_us;
                return NF_WAIT;
            }
            round->until_us = now_us + (round->slept_once ? round->td_us : 0);
            round->slept_once = true;
            round->phase = PHASE_SLEEP;
            break;
        case PHASE_SLEEP:
            if (now_us < round->until_us) {
                *wake_us_p = round->until_us;
                return NF_WAIT;
            }
            round->next = 0;
            round->sent_any = false;
            round->phase = PHASE_SEND;
            break;
        case PHASE_SEND:
            if (find_slot(round, pool)) {
                *slot_p = round->next;
                return NF_OK;
            }
            round->unsettled = true;
            round->phase = round->sent_any ? PHASE_RECEIVE : PHASE_IDLE;
            break;
        }
    }
}

static void start_if_idle(struct round *round)
{
    round->unsettled = true;
    if (round->phase == PHASE_IDLE)
        round->phase = PHASE_RECEIVE;
}

static void round_join(void *st, const struct nf_pool_view *pool, uint32_t slot,
                       int64_t now_us)
{
    (void)pool;
    (void)slot;
    (void)now_us;
    start_if_idle(st);
}

static void round_returned(void *st, const struct nf_pool_view *pool,
                           int64_t now_us)
{
    (void)pool;
    (void)now_us;
    start_if_idle(st);
}

static void round_sent(void *st, const struct nf_pool_view *pool, uint32_t slot,
                       uint64_t units, int64_t now_us)
{
    struct round *round = st;

    (void)pool;
    (void)units;
    (void)now_us;
    round->next = slot + 1;
    round->sent_any = true;
}

static void round_result(void *st, const struct nf_pool_view *pool,
                         uint32_t slot, const struct nf_chunk_times *t,
                         int64_t now_us)
{
    struct round *round = st;

    (void)pool;
    (void)slot;
    (void)t;
    (void)now_us;
    round->unsettled = true;
}

const struct nf_pacer_ops nf_pacer_round = {
    .name = "round",
    .summary = "the paper's loop: receive all, sleep td, send to all",
    .source = "Goo 2001, section 3.2, the master's loop; Table 1",
    .params = params,
    .state_size = round_state_size,
    .init = round_init,
    .pick = round_pick,
    .join = round_join,
    .sent = round_sent,
    .result = round_result,
    .returned = round_returned,
    .deaf_while_waiting = true,
};
