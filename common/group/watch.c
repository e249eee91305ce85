/* Who is to blame.  A member that died is known from the transport.  One that
 * is silent is found by asking: who waits for too long asks the member it waits
 * for whom that one waits for, and so on, until one does not answer: members
 * inside a call answer at once.  Each says how far it has got: as long as one
 * of them gets on, nobody is to blame, however long it takes.  A group is given
 * up once, from a call on; whoever does so tells all. */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/base/error.h"
#include "common/group/group.h"

/* Whoever waits in a circle may have asked at different moments: try again. */
enum { RESTARTS = 4, SUSPECTS_MOST = 8 };

enum nf_status nf_group_send_control(struct nf_group *group, uint32_t member,
                                     const struct nf_control *control)
{
    uint8_t encoded[NF_CONTROL_BYTES_MAX];
    struct nf_mesh_message message = {
        .head = encoded,
        .head_bytes = nf_control_encode(control, encoded),
        .urgent = true,
    };

    return nf_mesh_send(group->mesh, member, &message);
}

/* ------------------------------------------------------------- giving up */

static void tell_all(struct nf_group *group, enum nf_status reason,
                     const uint32_t *ranks, uint32_t nranks)
{
    struct nf_control control = { .kind = NF_CONTROL_REVOKE,
                                  .epoch = nf_group_first_epoch(group),
                                  .reason = reason,
                                  .nranks = nranks };

    if (nranks > NF_CONTROL_RANKS_MAX)
        control.nranks = NF_CONTROL_RANKS_MAX;
    for (uint32_t i = 0; i < control.nranks; i++)
        control.ranks[i] = ranks[i];
    for (uint32_t i = 0; i < group->ranks && group->mesh != NULL; i++)
        if (i != group->rank && !group->left[i])
            /* without memory for it they find out by themselves */
            (void)nf_group_send_control(group, i, &control);
}

/* A call that did not match says nothing against the member's life. */
static bool takes_lives(enum nf_status reason)
{
    return reason == NF_ERR_DEAD || reason == NF_ERR_TIMEDOUT;
}

/* @param named  so many members were */
static const char *said(enum nf_status reason, uint32_t named)
{
    switch ((int)reason) {
    case NF_ERR_FAILED:
        return named > 0 ? "could not pack or unpack elements"
                         : "a call was given up";
    case NF_ERR_DEAD:
        return named > 1 ? "have ended" : "has ended";
    case NF_ERR_TIMEDOUT:
        return named > 1 ? "are silent" : "is silent";
    case NF_ERR_MISMATCH:
        return "made a different call";
    default:
        return nf_strerror(reason);
    }
}

/* What was found out first stays. */
static void mark_lost(struct nf_group *group, enum nf_status reason,
                      const uint32_t *ranks, uint32_t nranks)
{
    for (uint32_t i = 0; i < nranks && takes_lives(reason); i++) {
        if (ranks[i] >= group->ranks || group->lost[ranks[i]])
            continue;
        group->lost[ranks[i]] = true;
        group->whys[ranks[i]] = said(reason, 1);
    }
}

/* From call @p epoch on.  Calls before it need none of what was lost, or find
 * that out by themselves.
 * @param blamed  whom @p text is about; NF_PLAN_NONE: nobody */
static void give_up(struct nf_group *group, uint32_t epoch,
                    enum nf_status reason, uint32_t blamed, const char *text)
{
    group->revoked = true;
    group->end_epoch = epoch;
    group->blamed = blamed;
    (void)nf_fail(&group->error, reason, "%s", text);
    nf_group_abandon(group, epoch, reason);
    group->chase.active = false;
}

/* Unsent data of the calls that end would be in the way of those who now want
 * to agree.  Data of earlier calls are not told from them. */
static void drop_data(struct nf_group *group, uint32_t epoch)
{
    if ((int32_t)(nf_group_first_epoch(group) - epoch) < 0 &&
        group->requests != NULL)
        return;
    if (group->mesh != NULL)
        nf_mesh_drop(group->mesh);
}

enum nf_status nf_group_revoke(struct nf_group *group, enum nf_status reason,
                               const uint32_t *ranks, uint32_t nranks,
                               const char *text)
{
    uint32_t epoch = nf_group_first_epoch(group);

    if (nf_group_ends(group, epoch))
        return NF_ERR_REVOKED;
    drop_data(group, epoch);
    tell_all(group, reason, ranks, nranks);
    mark_lost(group, reason, ranks, nranks);
    give_up(group, epoch, reason, nranks > 0 ? ranks[0] : NF_PLAN_NONE, text);
    return reason;
}

/* Ducts may still reach the others when the pvmd is gone: this member is lost to
 * them, and so are all on its host, who will hear of that in a moment. */
static enum nf_status leave_them(struct nf_group *group, enum nf_status status)
{
    uint32_t epoch = nf_group_first_epoch(group), count = 0;
    uint32_t lost[NF_CONTROL_RANKS_MAX];

    group->broken = status;
    if (nf_group_ends(group, epoch))
        return NF_ERR_REVOKED;
    drop_data(group, epoch);
    lost[count++] = group->rank;
    for (uint32_t i = 0; i < group->ranks && group->mesh != NULL; i++)
        if (i != group->rank && count < NF_CONTROL_RANKS_MAX &&
            nf_mesh_host_of(group->mesh, i) ==
                nf_mesh_host_of(group->mesh, group->rank))
            lost[count++] = i;
    tell_all(group, NF_ERR_DEAD, lost, count);
    give_up(group, epoch, status, NF_PLAN_NONE, "the transport broke");
    return status;
}

enum nf_status nf_group_broke(struct nf_group *group, enum nf_status status)
{
    if (status == NF_ERR_UNREACHABLE)
        return leave_them(group, status);
    return nf_group_revoke(group, status, NULL, 0, nf_strerror(status));
}

static enum nf_status saw_revoke(struct nf_group *group, uint32_t from,
                                 const struct nf_control *control)
{
    enum nf_status reason = control->reason;
    char text[NF_ERROR_TEXT_BYTES];
    int used = 0;

    mark_lost(group, reason, control->ranks, control->nranks);
    if (nf_group_ends(group, control->epoch) ||
        nf_group_ends(group, nf_group_first_epoch(group)))
        return NF_OK; /* there is no more to end */
    if (reason == NF_OK)
        reason = NF_ERR_FAILED;
    for (uint32_t i = 0; i < control->nranks && used < 300; i++)
        used += snprintf(text + used, sizeof(text) - (size_t)used, "%s%" PRIu32,
                         i > 0                 ? ", "
                         : control->nranks > 1 ? "members "
                                               : "member ",
                         control->ranks[i]);
    snprintf(text + used, sizeof(text) - (size_t)used,
             "%s%s, says member %" PRIu32, used > 0 ? " " : "",
             reason == NF_ERR_MISMATCH && group->sharing && control->epoch <= 1
                 ? "opened the group otherwise" /* found behind its first call */
                 : said(reason, control->nranks),
             from);
    drop_data(group, control->epoch);
    give_up(group, control->epoch, reason,
            control->nranks > 0 ? control->ranks[0] : NF_PLAN_NONE, text);
    return nf_group_ends(group, nf_group_first_epoch(group)) ? reason : NF_OK;
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

static enum nf_status blame(struct nf_group *group, enum nf_status reason,
                            uint32_t member, const char *why)
{
    char text[160];
    bool known = group->lost[member];
    enum nf_status status;

    snprintf(text, sizeof(text), "member %" PRIu32 " %s", member, why);
    status = nf_group_revoke(group, reason, &member, 1, text);
    if (!known && group->lost[member])
        group->whys[member] = why;
    return status;
}

/* What a member sent before it was lost may still be on its way; but data of
 * others may move for long.  Of members that are lost but have not ended others
 * have told, who were in later calls. */
static bool had_its_time(const struct nf_group *group, uint32_t member,
                         int64_t now_us)
{
    int64_t gone_us = now_us - group->left_us[member];

    if (now_us - group->moved_us >= NF_LEFT_GRACE_US)
        return gone_us >= NF_LEFT_GRACE_US;
    return group->left[member] && gone_us >= NF_LEFT_MOST_US;
}

static enum nf_status look_for_losses(struct nf_group *group, int64_t now_us)
{
    if ((group->nleft == 0 && !group->revoked) || group->requests == NULL)
        return NF_OK;
    for (uint32_t i = 0; i < group->ranks; i++) {
        if ((!group->left[i] && !group->lost[i]) ||
            !had_its_time(group, i, now_us) || !needs(group, i))
            continue;
        return group->left[i] ? blame(group, NF_ERR_DEAD, i, "has ended")
                              : blame(group, NF_ERR_TIMEDOUT, i, "is silent");
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

/* Whom does the oldest call under way wait for? */
static bool awaits(const struct nf_group *group, uint32_t *member_p)
{
    return group->requests != NULL &&
           nf_exec_awaits(&group->requests->exec, member_p);
}

/* Also when the group is given up: who is still in an earlier call may ask. */
static enum nf_status answer(struct nf_group *group, uint32_t to,
                             uint32_t nonce)
{
    struct nf_control control = { .kind = NF_CONTROL_ANSWER,
                                  .nonce = nonce,
                                  .epoch = nf_group_first_epoch(group),
                                  .progress =
                                      nf_group_moves(group) + group->epoch,
                                  .state = NF_STATE_IDLE };

    if (group->starting || group->requests != NULL)
        control.state = NF_STATE_BUSY;
    if (awaits(group, &control.awaits))
        control.state = NF_STATE_WAITING;
    return nf_group_send_control(group, to, &control);
}

static void rest(struct nf_group *group, int64_t now_us)
{
    group->chase.resting = true;
    group->chase.asked_us = now_us;
}

/* There is nobody more to ask, and that says who is to blame; but at first
 * sight perhaps only because each answered at another moment, or data are on
 * their way. */
static enum nf_status saw_end(struct nf_group *group, enum nf_status reason,
                              uint32_t member, const char *why)
{
    struct nf_chase *chase = &group->chase;

    chase->restarts = chase->moved ? 0 : chase->restarts + 1;
    if (chase->restarts > RESTARTS)
        return blame(group, reason, member, why);
    rest(group, nf_group_now_us(group));
    return NF_OK;
}

static enum nf_status saw_circle(struct nf_group *group)
{
    return saw_end(group, NF_ERR_MISMATCH, group->chase.first,
                   "made a different call: members wait for each other");
}

static enum nf_status ask(struct nf_group *group, uint32_t member)
{
    struct nf_chase *chase = &group->chase;
    struct nf_control control = { .kind = NF_CONTROL_ASK };

    if (group->left[member])
        return saw_end(group, NF_ERR_DEAD, member, "has ended");
    chase->suspect = member;
    chase->asked[member] = true;
    chase->asked_us = nf_group_now_us(group);
    chase->resting = false;
    control.nonce = ++chase->nonce;
    return nf_group_send_control(group, member, &control);
}

static enum nf_status begin_chase(struct nf_group *group, int64_t now_us)
{
    struct nf_chase *chase = &group->chase;
    uint32_t member;

    memset(chase->asked, 0, group->ranks * sizeof(*chase->asked));
    chase->active = true;
    chase->moved = false;
    if (!awaits(group, &member)) {
        /* everything has gone and come, only the mesh has not said so */
        rest(group, now_us);
        return NF_OK;
    }
    chase->first = member;
    return ask(group, member);
}

void nf_group_saw_progress(struct nf_group *group, int64_t now_us)
{
    group->moved_us = now_us;
    group->chase.active = false;
    group->chase.early = false;
    group->chase.restarts = 0;
}

/* How long somebody is waited for before he is looked after. */
static int64_t patience_us(const struct nf_group *group)
{
    int64_t us =
        group->timeout_us < 0 ? NF_ASK_EARLY_MOST_US : group->timeout_us / 8;

    return us < NF_ASK_EARLY_MOST_US ? us : NF_ASK_EARLY_MOST_US;
}

static int64_t early_us(const struct nf_group *group)
{
    int64_t since = group->chase.early_us;

    if (since < group->moved_us)
        since = group->moved_us;
    return since + patience_us(group);
}

int64_t nf_group_suspect(struct nf_group *group,
                         bool is_missing(const void *of, uint32_t member),
                         const void *of, int64_t now_us, uint32_t most)
{
    if (group->mesh == NULL || !group->mesh->partial)
        return INT64_MAX;
    if (now_us < group->suspected_us + patience_us(group))
        return group->suspected_us + patience_us(group);
    group->suspected_us = now_us;
    for (uint32_t i = 0; i < group->ranks && most > 0; i++) {
        uint32_t member = group->suspect++ % group->ranks;

        if (member != group->rank && !group->left[member] &&
            is_missing(of, member)) {
            nf_mesh_suspect(group->mesh, member);
            most--;
        }
    }
    return now_us + patience_us(group);
}

static bool is_needed(const void *of, uint32_t member)
{
    return needs(of, member);
}

/* Not of many at once, which would be a notice of each for each where all wait for
 * all; and while something moves, mostly nothing is wrong. */
static int64_t suspect(struct nf_group *group, int64_t now_us)
{
    bool moves = now_us - group->moved_us < patience_us(group);

    return nf_group_suspect(group, is_needed, group, now_us,
                            moves ? 1 : SUSPECTS_MOST);
}

/* One that has still earlier calls to make, or data for them to read, may be
 * busy between them, and answers when it comes to the next: it is asked soon,
 * and soon again, so that it has a time-out for each answer and is not waited
 * for much longer. */
static enum nf_status ask_early(struct nf_group *group, int64_t now_us)
{
    struct nf_chase *chase = &group->chase;
    struct nf_control control = { .kind = NF_CONTROL_ASK };

    chase->early = true;
    chase->early_us = now_us;
    if (!awaits(group, &chase->early_member)) {
        chase->early_member = NF_PLAN_NONE;
        return NF_OK;
    }
    control.nonce = ++chase->nonce;
    return nf_group_send_control(group, chase->early_member, &control);
}

/* @return whether the member has got on since its last answer */
static bool note_progress(struct nf_chase *chase, uint32_t member,
                          uint32_t progress, int64_t now_us)
{
    bool known = chase->seen_us[member] != 0;

    if (chase->early && member == chase->early_member) {
        chase->early = false;
        chase->early_us = now_us;
    }
    if (known && chase->seen[member] == progress)
        return false;
    chase->seen[member] = progress;
    chase->seen_us[member] = now_us;
    return known;
}

static enum nf_status saw_answer(struct nf_group *group, uint32_t from,
                                 const struct nf_control *control)
{
    struct nf_chase *chase = &group->chase;
    int64_t now_us = nf_group_now_us(group);
    int32_t ahead;
    bool moved;

    moved = note_progress(chase, from, control->progress, now_us);
    if (!chase->active || chase->resting || from != chase->suspect ||
        control->nonce != chase->nonce || group->requests == NULL)
        return NF_OK;
    ahead = (int32_t)(control->epoch - group->requests->epoch);
    if (ahead > 0) /* its getting on is of no use here */
        return saw_end(group, NF_ERR_MISMATCH, from,
                       "made a different call: it is over there");
    chase->moved = chase->moved || moved;
    if (control->state == NF_STATE_IDLE) {
        /* to this call or to earlier ones it comes in time */
        if (now_us - chase->seen_us[from] >= group->timeout_us)
            return blame(group, NF_ERR_TIMEDOUT, from,
                         "has not made the call in time");
        rest(group, now_us);
        return NF_OK;
    }
    if (control->state != NF_STATE_WAITING || control->awaits >= group->ranks ||
        control->awaits == group->rank || chase->asked[control->awaits])
        return saw_circle(group);
    return ask(group, control->awaits);
}

/* When a suspect that does not answer is silent: it may be between two calls
 * that it comes to in time.  One that was not asked early somebody else waits
 * for, who has asked it early. */
static int64_t silent_us(const struct nf_group *group)
{
    const struct nf_chase *chase = &group->chase;
    int64_t until = chase->asked_us + grace_us(group);
    int64_t since = chase->asked_us;

    if (chase->early && chase->early_member == chase->suspect)
        since = chase->early_us;
    if (since + group->timeout_us > until)
        until = since + group->timeout_us;
    return until;
}

static int64_t chase_deadline_us(const struct nf_group *group)
{
    return group->chase.resting
               ? group->chase.asked_us + grace_us(group) / RESTARTS
               : silent_us(group);
}

static enum nf_status go_on_chasing(struct nf_group *group, int64_t now_us)
{
    struct nf_chase *chase = &group->chase;

    if (!chase->resting && group->left[chase->suspect])
        return saw_end(group, NF_ERR_DEAD, chase->suspect, "has ended");
    if (now_us < chase_deadline_us(group))
        return NF_OK;
    if (chase->resting)
        return begin_chase(group, now_us);
    return blame(group, NF_ERR_TIMEDOUT, chase->suspect, "is silent");
}

/* ------------------------------------------------------------------ public */

/* A question or an answer that could not be sent. */
static enum nf_status check_sent(struct nf_group *group, enum nf_status status)
{
    if (status == NF_ERR_NOMEM || status == NF_ERR_UNREACHABLE)
        (void)nf_group_broke(group, status);
    return status;
}

enum nf_status nf_group_saw_control(struct nf_group *group, uint32_t from,
                                    const struct nf_control *control)
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
        status = nf_shrink_keep(group, from, control);
        break;
    case NF_CONTROL_KINDS:
        break;
    }
    return check_sent(group, status);
}

enum nf_status nf_group_watch(struct nf_group *group, int64_t now_us)
{
    enum nf_status status = look_for_losses(group, now_us);

    if (status != NF_OK || group->requests == NULL)
        return status;
    (void)suspect(group, now_us);
    if (group->timeout_us < 0)
        return status;
    if (group->chase.active)
        status = go_on_chasing(group, now_us);
    else if (now_us - group->moved_us >= group->timeout_us)
        status = begin_chase(group, now_us);
    else if (!group->chase.early && now_us >= early_us(group))
        status = ask_early(group, now_us);
    return check_sent(group, status);
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

    if (group->requests == NULL)
        return -1;
    if (group->tired)
        return 0;
    for (const struct nf_request *r = group->requests; r != NULL; r = r->next)
        if (nf_exec_is_ready(&r->exec))
            return 0;
    now_us = nf_group_now_us(group);
    if (group->nleft > 0 || group->revoked)
        sooner(&in_us, NF_LEFT_GRACE_US / 4);
    if (group->mesh != NULL && group->mesh->partial)
        sooner(&in_us, group->suspected_us + patience_us(group) - now_us);
    if (group->timeout_us < 0)
        return in_us;
    if (group->chase.active) {
        sooner(&in_us, chase_deadline_us(group) - now_us);
        return in_us;
    }
    sooner(&in_us, group->moved_us + group->timeout_us - now_us);
    if (!group->chase.early)
        sooner(&in_us, early_us(group) - now_us);
    return in_us;
}
