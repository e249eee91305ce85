/* Who is to blame.  A member that died is known from the transport.  One that
 * is silent is found by asking: who waits for too long asks the member it waits
 * for whom that one waits for, and so on, until one does not answer: members
 * inside a call answer at once.  A group is given up once; whoever does so
 * tells all. */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/base/error.h"
#include "common/group/group.h"

/* Whoever waits in a circle may have asked at different moments: try again. */
enum { RESTARTS = 4 };

enum nf_status nf_group_send_control(struct nf_group *group, uint32_t member,
                                     const struct nf_control *control,
                                     struct nf_blob *payload)
{
    uint8_t encoded[NF_CONTROL_BYTES_MAX];
    struct nf_mesh_message message = {
        .head = encoded,
        .head_bytes = nf_control_encode(control, encoded),
        .payload = payload,
        .urgent = payload == NULL,
    };

    return nf_mesh_send(group->mesh, member, &message);
}

/* ------------------------------------------------------------- giving up */

static void tell_all(struct nf_group *group, enum nf_status reason,
                     const uint32_t *ranks, uint32_t nranks)
{
    struct nf_control control = { .kind = NF_CONTROL_REVOKE,
                                  .epoch = group->epoch,
                                  .reason = reason,
                                  .nranks = nranks };

    if (nranks > NF_CONTROL_RANKS_MAX)
        control.nranks = NF_CONTROL_RANKS_MAX;
    for (uint32_t i = 0; i < control.nranks; i++)
        control.ranks[i] = ranks[i];
    for (uint32_t i = 0; i < group->ranks && group->mesh != NULL; i++)
        if (i != group->rank && !group->left[i])
            /* without memory for it they find out by themselves */
            (void)nf_group_send_control(group, i, &control, NULL);
}

/* A call that did not match says nothing against the member's life. */
static bool takes_lives(enum nf_status reason)
{
    return reason == NF_ERR_DEAD || reason == NF_ERR_TIMEDOUT;
}

static void give_up(struct nf_group *group, enum nf_status reason,
                    const uint32_t *ranks, uint32_t nranks, const char *text)
{
    group->revoked = true;
    group->chase.active = false;
    (void)nf_fail(&group->error, reason, "%s", text);
    for (uint32_t i = 0; i < nranks; i++)
        if (ranks[i] < group->ranks && takes_lives(reason))
            group->lost[ranks[i]] = true;
    nf_group_abandon(group, reason);
}

enum nf_status nf_group_revoke(struct nf_group *group, enum nf_status reason,
                               const uint32_t *ranks, uint32_t nranks,
                               const char *text)
{
    if (group->revoked)
        return NF_ERR_REVOKED;
    tell_all(group, reason, ranks, nranks);
    give_up(group, reason, ranks, nranks, text);
    return reason;
}

static const char *said(enum nf_status reason)
{
    switch ((int)reason) {
    case NF_ERR_DEAD:
        return "has ended";
    case NF_ERR_TIMEDOUT:
        return "is silent";
    case NF_ERR_MISMATCH:
        return "made a different call";
    default:
        return nf_strerror(reason);
    }
}

static enum nf_status saw_revoke(struct nf_group *group, uint32_t from,
                                 const struct nf_control *control)
{
    enum nf_status reason = control->reason;
    char text[NF_ERROR_TEXT_BYTES];
    int used = 0;

    if (group->revoked) {
        for (uint32_t i = 0; i < control->nranks; i++)
            if (control->ranks[i] < group->ranks && takes_lives(reason))
                group->lost[control->ranks[i]] = true;
        return NF_OK;
    }
    if (reason == NF_OK)
        reason = NF_ERR_FAILED;
    for (uint32_t i = 0; i < control->nranks && used < 300; i++)
        used += snprintf(text + used, sizeof(text) - (size_t)used, "%s%" PRIu32,
                         i == 0 ? "member " : ", ", control->ranks[i]);
    snprintf(text + used, sizeof(text) - (size_t)used,
             "%s%s, says member %" PRIu32, used > 0 ? " " : "", said(reason),
             from);
    give_up(group, reason, control->ranks, control->nranks, text);
    return reason;
}

/* ---------------------------------------------------------------- deaths */

void nf_group_saw_left(struct nf_group *group, uint32_t member)
{
    if (member >= group->ranks || group->left[member])
        return;
    group->left[member] = true;
    group->left_us[member] = nf_group_now_us(group);
    group->nleft++;
}

static bool needs(const struct nf_group *group, uint32_t member)
{
    for (const struct nf_request *r = group->requests; r != NULL; r = r->next)
        if (nf_exec_needs(&r->exec, member))
            return true;
    return false;
}

/* What a member sent before it ended may still be on its way. */
static enum nf_status look_for_deaths(struct nf_group *group, int64_t now_us)
{
    char text[80];

    if (group->nleft == 0 || group->requests == NULL)
        return NF_OK;
    for (uint32_t i = 0; i < group->ranks; i++) {
        if (!group->left[i] || now_us - group->left_us[i] < NF_LEFT_GRACE_US ||
            now_us - group->moved_us < NF_LEFT_GRACE_US || !needs(group, i))
            continue;
        snprintf(text, sizeof(text), "member %" PRIu32 " has ended", i);
        return nf_group_revoke(group, NF_ERR_DEAD, &i, 1, text);
    }
    return NF_OK;
}

/* --------------------------------------------------------------- silence */

static int64_t grace_us(const struct nf_group *group)
{
    int64_t grace = group->timeout_us / 4;

    if (grace < NF_GRACE_LEAST_US)
        return NF_GRACE_LEAST_US;
    return grace > NF_GRACE_MOST_US ? NF_GRACE_MOST_US : grace;
}

static enum nf_status answer(struct nf_group *group, uint32_t to,
                             uint32_t nonce)
{
    struct nf_control control = { .kind = NF_CONTROL_ANSWER,
                                  .nonce = nonce,
                                  .epoch = group->epoch,
                                  .state = NF_STATE_IDLE };

    if (group->revoked)
        return NF_OK;
    if (group->starting)
        control.state = NF_STATE_BUSY;
    if (group->requests != NULL) {
        control.epoch = group->requests->epoch;
        control.state = nf_group_awaits(group, &control.awaits)
                            ? NF_STATE_WAITING
                            : NF_STATE_BUSY;
    }
    return nf_group_send_control(group, to, &control, NULL);
}

static enum nf_status ask(struct nf_group *group, uint32_t member,
                          int64_t now_us)
{
    struct nf_chase *chase = &group->chase;
    struct nf_control control = { .kind = NF_CONTROL_ASK };

    chase->suspect = member;
    chase->asked[member] = true;
    chase->asked_us = now_us;
    chase->resting = false;
    control.nonce = ++chase->nonce;
    return nf_group_send_control(group, member, &control, NULL);
}

static enum nf_status begin_chase(struct nf_group *group, int64_t now_us)
{
    struct nf_chase *chase = &group->chase;
    uint32_t member;

    memset(chase->asked, 0, group->ranks * sizeof(*chase->asked));
    chase->active = true;
    if (!nf_group_awaits(group, &member)) {
        /* everything has gone and come, only the mesh has not said so */
        chase->resting = true;
        chase->asked_us = now_us;
        return NF_OK;
    }
    chase->first = member;
    return ask(group, member, now_us);
}

void nf_group_saw_progress(struct nf_group *group, int64_t now_us)
{
    group->moved_us = now_us;
    group->chase.active = false;
    group->chase.restarts = 0;
}

static enum nf_status blame(struct nf_group *group, enum nf_status reason,
                            uint32_t member, const char *why)
{
    char text[160];

    snprintf(text, sizeof(text), "member %" PRIu32 " %s", member, why);
    return nf_group_revoke(group, reason, &member, 1, text);
}

/* They wait for each other: at first sight perhaps only because each answered
 * at another moment. */
static enum nf_status saw_circle(struct nf_group *group, int64_t now_us)
{
    struct nf_chase *chase = &group->chase;

    if (++chase->restarts > RESTARTS)
        return blame(group, NF_ERR_MISMATCH, chase->first,
                     "made a different call: members wait for each other");
    chase->resting = true;
    chase->asked_us = now_us;
    return NF_OK;
}

static enum nf_status saw_answer(struct nf_group *group, uint32_t from,
                                 const struct nf_control *control)
{
    struct nf_chase *chase = &group->chase;
    int64_t now_us = nf_group_now_us(group);
    int32_t ahead;

    if (!chase->active || chase->resting || from != chase->suspect ||
        control->nonce != chase->nonce || group->requests == NULL)
        return NF_OK;
    ahead = (int32_t)(control->epoch - group->requests->epoch);
    if (ahead > 0) /* all that it sent before has come before its answer */
        return blame(group, NF_ERR_MISMATCH, from,
                     "made a different call: it is over there");
    if (control->state == NF_STATE_IDLE)
        return blame(group, NF_ERR_TIMEDOUT, from,
                     "has not made the call in time");
    if (control->state != NF_STATE_WAITING || control->awaits >= group->ranks ||
        control->awaits == group->rank || chase->asked[control->awaits])
        return saw_circle(group, now_us);
    return ask(group, control->awaits, now_us);
}

static enum nf_status go_on_chasing(struct nf_group *group, int64_t now_us)
{
    struct nf_chase *chase = &group->chase;

    if (now_us - chase->asked_us <
        (chase->resting ? grace_us(group) / RESTARTS : grace_us(group)))
        return NF_OK;
    if (chase->resting)
        return begin_chase(group, now_us);
    if (group->left[chase->suspect])
        return blame(group, NF_ERR_DEAD, chase->suspect, "has ended");
    return blame(group, NF_ERR_TIMEDOUT, chase->suspect, "is silent");
}

/* ------------------------------------------------------------------ public */

enum nf_status nf_group_saw_control(struct nf_group *group, uint32_t from,
                                    const struct nf_control *control,
                                    struct nf_blob *payload)
{
    enum nf_status status = NF_OK;

    switch (control->kind) {
    case NF_CONTROL_ASK:
        status = answer(group, from, control->nonce);
        break;
    case NF_CONTROL_ANSWER:
        status = saw_answer(group, from, control);
        break;
    case NF_CONTROL_REVOKE:
        status = saw_revoke(group, from, control);
        break;
    case NF_CONTROL_VIEW:
    case NF_CONTROL_DECIDE:
        status = nf_early_add(&group->shrinking, from, NULL, control, payload);
        payload = NULL;
        break;
    case NF_CONTROL_KINDS:
        break;
    }
    nf_blob_unref(payload);
    if (status == NF_ERR_NOMEM)
        (void)nf_group_revoke(group, NF_ERR_NOMEM, NULL, 0, "out of memory");
    return status;
}

enum nf_status nf_group_watch(struct nf_group *group, int64_t now_us)
{
    enum nf_status status = look_for_deaths(group, now_us);

    if (status != NF_OK || group->requests == NULL || group->timeout_us < 0)
        return status;
    if (group->chase.active)
        status = go_on_chasing(group, now_us);
    else if (now_us - group->moved_us >= group->timeout_us)
        status = begin_chase(group, now_us);
    if (status == NF_ERR_NOMEM)
        (void)nf_group_revoke(group, NF_ERR_NOMEM, NULL, 0, "out of memory");
    return status;
}

static void sooner(int64_t *in_us, int64_t then_us)
{
    if (then_us < 0)
        then_us = 0;
    if (*in_us < 0 || then_us < *in_us)
        *in_us = then_us;
}

int64_t nf_group_deadline_us(const struct nf_group *group)
{
    int64_t in_us = -1, now_us;

    if (group->revoked || group->requests == NULL)
        return -1;
    now_us = nf_group_now_us(group);
    if (group->nleft > 0)
        sooner(&in_us, NF_LEFT_GRACE_US / 4);
    if (group->timeout_us < 0)
        return in_us;
    if (!group->chase.active)
        sooner(&in_us, group->moved_us + group->timeout_us - now_us);
    else if (group->chase.resting)
        sooner(&in_us,
               group->chase.asked_us + grace_us(group) / RESTARTS - now_us);
    else
        sooner(&in_us, group->chase.asked_us + grace_us(group) - now_us);
    return in_us;
}
