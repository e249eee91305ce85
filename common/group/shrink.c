/* Agreement of survivors.  In rounds, each sends all that it does not hold for
 * lost the set of those that it does, and waits for their sets.  Those that do
 * not come are lost.  Who sees a round in which everybody it sent to had the
 * same set as itself decides on it, and says so instead of the next round;
 * whoever hears of a decision takes it over and passes it on.
 *
 * Somebody may have missed a member in the very round in which another one
 * decided; it then hears of the decision in its next round, since it waits for
 * the one that decided.  So survivors decide alike as long as nobody is taken
 * for lost that is not, and such a one learns that it was left out.  P^2 small
 * messages a round, mostly one or two rounds. */
#include "config.h"
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/group/group.h"

struct nf_shrink {
    struct nf_group *group;
    uint32_t round;
    uint8_t *lost;    /* [P] in this round's view that was sent */
    uint8_t *more;    /* [P] found out in this round */
    uint8_t *heard;   /* [P] */
    bool alike;       /* all views of this round were as ours */
    int64_t round_us; /* when it began */
    int64_t begun_us;
    int64_t suspect_us; /* when it is time to look after others that are missing */
    bool decided, told;
};

void nf_shrink_destroy(struct nf_shrink *shrink)
{
    if (shrink != NULL)
        nf_free(shrink->lost);
    nf_free(shrink);
}

/* Who waits for all looks after so many more each time. */
enum { SUSPECTS_MOST = 32 };

static int64_t patience_us(const struct nf_group *group)
{
    return group->timeout_us < 0 ? 60000000 : group->timeout_us;
}

/* ---------------------------------------------------------------- messages */

static bool has_bit(const uint8_t *bits, uint32_t rank)
{
    return (bits[rank / 8] >> rank % 8 & 1) != 0;
}

enum nf_status nf_shrink_keep(struct nf_group *group, uint32_t from,
                              const struct nf_control *control)
{
    size_t bytes = (group->ranks + 7) / 8;
    struct nf_view *view;

    if (control->nranks != group->ranks)
        return NF_OK; /* not one of ours: of no use */
    view = nf_malloc(sizeof(*view) + bytes);
    if (view == NULL)
        return NF_ERR_NOMEM;
    view->next = NULL;
    view->from = from;
    view->round = control->nonce;
    view->decides = control->kind == NF_CONTROL_DECIDE;
    memcpy(view->bits, control->bits, bytes);
    if (group->views.first == NULL)
        group->views.first = view;
    else
        group->views.last->next = view;
    group->views.last = view;
    return NF_OK;
}

void nf_shrink_forget(struct nf_group *group)
{
    while (group->views.first != NULL) {
        struct nf_view *view = group->views.first;

        group->views.first = view->next;
        nf_free(view);
    }
}

/* To all that are not lost, or if @p also_lost to all that have not left.
 * Urgent: data of the call that failed may be queued for seconds. */
static enum nf_status send_set(struct nf_shrink *shrink,
                               enum nf_control_kind kind, bool also_lost)
{
    _Static_assert((int)NF_CONTROL_BITS_MAX == (int)NF_COLL_RANKS_MAX &&
                       (int)NF_CONTROL_BYTES_MAX <= (int)NF_MESH_HEAD_BYTES,
                   "a bit for each member does not fit in an urgent message");
    struct nf_group *group = shrink->group;
    uint8_t bits[NF_CONTROL_BITS_MAX / 8] = { 0 };
    struct nf_control control = { .kind = kind,
                                  .nonce = shrink->round,
                                  .nranks = group->ranks,
                                  .bits = bits };
    enum nf_status status = NF_OK;

    for (uint32_t i = 0; i < group->ranks; i++)
        if (shrink->lost[i])
            bits[i / 8] |= (uint8_t)(1u << i % 8);
    for (uint32_t i = 0; i < group->ranks && status == NF_OK; i++)
        if (i != group->rank && !group->left[i] &&
            (also_lost || !shrink->lost[i]))
            status = nf_group_send_control(group, i, &control);
    return status;
}

/* ------------------------------------------------------------------ rounds */

static enum nf_status begin_round(struct nf_shrink *shrink, int64_t now_us)
{
    uint32_t ranks = shrink->group->ranks;

    memset(shrink->heard, 0, ranks);
    memset(shrink->more, 0, ranks);
    shrink->alike = true;
    shrink->round_us = now_us;
    return send_set(shrink, NF_CONTROL_VIEW, false);
}

static enum nf_status create(struct nf_group *group,
                             struct nf_shrink **shrink_p)
{
    struct nf_shrink *shrink = nf_calloc(1, sizeof(*shrink));

    if (shrink != NULL)
        shrink->lost = nf_calloc(3, group->ranks);
    if (shrink == NULL || shrink->lost == NULL) {
        nf_shrink_destroy(shrink);
        return NF_ERR_NOMEM;
    }
    shrink->group = group;
    shrink->more = shrink->lost + group->ranks;
    shrink->heard = shrink->more + group->ranks;
    for (uint32_t i = 0; i < group->ranks; i++)
        shrink->lost[i] = group->lost[i] || group->left[i];
    shrink->lost[group->rank] = 0;
    *shrink_p = shrink;
    return NF_OK;
}

/* Nobody can be asked any more: that is no agreement of one. */
static enum nf_status say_broken(enum nf_status status, struct nf_error *err)
{
    return nf_fail(err, status, "%s",
                   status == NF_ERR_NOMEM ? "out of memory"
                                          : "the transport broke");
}

enum nf_status nf_shrink_start(struct nf_group *group,
                               struct nf_shrink **shrink_p,
                               struct nf_error *err)
{
    struct nf_shrink *shrink = NULL;
    int64_t now_us = nf_group_now_us(group);
    enum nf_status status;

    group->chase.active = false; /* nobody is to blame any more */
    (void)nf_group_look_around(group, true); /* others may have decided */
    (void)nf_group_revoke(group, NF_ERR_REVOKED, NULL, 0,
                          "the group is being made smaller");
    if (group->mesh == NULL)
        return nf_fail(err, NF_ERR_NOMEM,
                       "the group ran out of memory: open a new one");
    if (group->broken != NF_OK)
        return say_broken(group->broken, err);
    /* for calls that this member did not come to */
    nf_group_forget_early(group);
    status = create(group, &shrink);
    if (status == NF_OK) {
        group->suspected_us = now_us;
        shrink->begun_us = now_us;
        status = begin_round(shrink, now_us);
    }
    if (status != NF_OK) {
        nf_shrink_destroy(shrink);
        return say_broken(status, err);
    }
    *shrink_p = shrink;
    return NF_OK;
}

static void take_view(struct nf_shrink *shrink, const struct nf_view *view)
{
    uint32_t ranks = shrink->group->ranks;

    shrink->heard[view->from] = 1;
    if (has_bit(view->bits, view->from)) /* it goes */
        shrink->more[view->from] = 1;
    for (uint32_t i = 0; i < ranks; i++) {
        bool bit = has_bit(view->bits, i);

        if (bit != (shrink->lost[i] != 0))
            shrink->alike = false;
        if (bit && !shrink->lost[i])
            shrink->more[i] = 1;
    }
}

/* Messages of this round, or a decision; what is of the next round stays. */
static void take_messages(struct nf_shrink *shrink)
{
    struct nf_group *group = shrink->group;
    struct nf_view **at = &group->views.first, *last = NULL, *view;

    while (!shrink->decided && (view = *at) != NULL) {
        if (!view->decides && view->round > shrink->round) {
            last = view;
            at = &view->next;
            continue;
        }
        *at = view->next;
        if (view->next == NULL)
            group->views.last = last;
        if (view->decides) {
            for (uint32_t i = 0; i < group->ranks; i++)
                shrink->lost[i] = has_bit(view->bits, i);
            shrink->decided = true;
        } else if (view->round == shrink->round) {
            take_view(shrink, view);
        }
        nf_free(view);
    }
}

/* @retval NF_WAIT  some are still missing */
static enum nf_status end_round(struct nf_shrink *shrink, int64_t now_us)
{
    struct nf_group *group = shrink->group;
    bool late = now_us - shrink->round_us >= patience_us(group);
    bool complete = true, same = shrink->alike;
    enum nf_status status;

    for (uint32_t i = 0; i < group->ranks; i++) {
        if (i == group->rank || shrink->lost[i] || shrink->heard[i])
            continue;
        if (group->left[i] || late || shrink->more[i]) {
            shrink->more[i] = 1;
            same = false;
        } else {
            complete = false;
        }
    }
    if (!complete)
        return NF_WAIT;
    if (same) {
        shrink->decided = true;
        return NF_OK;
    }
    for (uint32_t i = 0; i < group->ranks; i++)
        shrink->lost[i] = shrink->lost[i] || shrink->more[i];
    if (shrink->lost[group->rank])
        return NF_OK;
    shrink->round++;
    status = begin_round(shrink, now_us);
    return status == NF_OK ? NF_WAIT : status;
}

static uint64_t mix(uint64_t hash, uint64_t x)
{
    hash = (hash ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* Rank 0 made them; survivors are spread over the hosts in another way.
 * @param model  that they are of */
static void copy_prices(const struct nf_group *from,
                        const struct nf_model *model, struct nf_group *to)
{
    to->exchange = from->exchange;
    to->exchange.least = to->least;
    if (model->share_part > 0)
        nf_exchange_price_move(
            &to->exchange, nf_model_fullest(from->hosts, from->ranks),
            from->ranks, nf_model_fullest(to->hosts, to->ranks), to->ranks);
}

static enum nf_status copy_network(const struct nf_group *from,
                                   const uint32_t *members, struct nf_group *to,
                                   struct nf_error *err)
{
    const char *text;
    size_t bytes;
    const char(*names)[64];
    char(*left)[64];
    enum nf_status status;

    memcpy(to->no_network, from->no_network, sizeof(to->no_network));
    if (from->measured == NULL)
        return NF_OK;
    names = nf_measured_source(from->measured, &text, &bytes);
    left = nf_calloc(to->ranks, sizeof(*left));
    if (left == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    for (uint32_t i = 0; i < to->ranks; i++)
        memcpy(left[i], names[members[i]], sizeof(left[i]));
    status = nf_group_set_network(to, text, bytes, "the network",
                                  (const char(*)[64])left, err);
    nf_free(left);
    if (status == NF_OK && !from->has_rules)
        copy_prices(from, &nf_measured_network(from->measured)->model, to);
    return status;
}

/* What was chosen, defined and measured stays. */
static enum nf_status copy_setup(const struct nf_group *from,
                                 struct nf_group *to, struct nf_error *err)
{
    char *text = NULL;
    size_t bytes = 0;
    enum nf_status status;
    struct nf_coll_rules rules = from->rules;

    to->timeout_us = from->timeout_us;
    to->stop = from->stop;
    to->early_most_bytes = from->early_most_bytes;
    to->deterministic = from->deterministic;
    to->odd = from->odd;
    to->memory_bytes = from->memory_bytes;
    to->codes = from->codes;
    nf_group_force_those_of(to, from);
    if (!from->has_rules)
        return NF_OK;
    status = nf_coll_rules_write(&rules, &text, &bytes, err);
    if (status == NF_OK)
        status = nf_group_set_rules(to, text, bytes, NULL, err);
    if (status == NF_OK)
        copy_prices(from, &from->rules.model, to);
    nf_free(text);
    return status;
}

static enum nf_status make_group(struct nf_shrink *shrink,
                                 struct nf_group **group_p,
                                 struct nf_error *err)
{
    struct nf_group *group = shrink->group;
    const struct nf_group_options none = { .algorithms = "" };
    uint32_t *members = nf_calloc(group->ranks, sizeof(*members)), count = 0;
    uint64_t id = mix(group->id, UINT64_C(0x736872696e6b));
    struct nf_group *made;
    struct nf_mesh *mesh;
    enum nf_status status;

    if (members == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    for (uint32_t i = 0; i < group->ranks; i++)
        if (!shrink->lost[i]) {
            members[count++] = i;
            id = mix(id, i);
        }
    status = nf_mesh_subset(group->mesh, members, count, id, &mesh, err);
    if (status != NF_OK) {
        nf_free(members);
        return status;
    }
    status = nf_group_create(mesh, id, &group->clock, &none, &made, err);
    if (status != NF_OK) {
        nf_free(members);
        nf_mesh_close(mesh);
        return status;
    }
    status = copy_setup(group, made, err);
    if (status == NF_OK)
        status = copy_network(group, members, made, err);
    nf_free(members);
    if (status != NF_OK) {
        nf_group_close(made);
        return status;
    }
    *group_p = made;
    return NF_OK;
}

static enum nf_status left_out(struct nf_shrink *shrink, struct nf_error *err)
{
    shrink->lost[shrink->group->rank] = 1;
    (void)send_set(shrink, NF_CONTROL_VIEW, false);
    return nf_fail(err, NF_ERR_DEAD, "the others have left this member out");
}

static enum nf_status tell(struct nf_shrink *shrink, int64_t now_us)
{
    for (uint32_t i = 0; i < shrink->group->ranks; i++)
        shrink->group->lost[i] = shrink->lost[i] != 0;
    shrink->told = true;
    shrink->round_us = now_us;
    return send_set(shrink, NF_CONTROL_DECIDE, true);
}

/* Has the decision left for the survivors?  The old group may be closed next,
 * and forgets what it has queued; what is left of failed calls may. */
static bool is_told(const struct nf_shrink *shrink, int64_t now_us)
{
    const struct nf_group *group = shrink->group;

    for (uint32_t i = 0; i < group->ranks; i++)
        if (i != group->rank && !shrink->lost[i] && !group->left[i] &&
            nf_mesh_has_urgent(group->mesh, i))
            return now_us - shrink->round_us >= patience_us(group);
    return true;
}

static bool is_unheard(const void *of, uint32_t member)
{
    const struct nf_shrink *shrink = of;

    return !shrink->lost[member] && !shrink->heard[member];
}

enum nf_status nf_shrink_run(struct nf_shrink *shrink,
                             struct nf_group **group_p, struct nf_error *err)
{
    struct nf_group *group = shrink->group;
    enum nf_status status = nf_group_pump(group);
    int64_t now_us = nf_group_now_us(group);
    uint32_t before;

    if (group->broken != NF_OK)
        return say_broken(group->broken, err);
    if (status < 0 && status != NF_ERR_REVOKED)
        return nf_fail(err, status, "%s", nf_strerror(status));
    shrink->suspect_us =
        nf_group_suspect(group, is_unheard, shrink, now_us, SUSPECTS_MOST);
    do {
        before = shrink->round;
        take_messages(shrink);
        status = shrink->decided ? NF_OK : end_round(shrink, now_us);
    } while (status == NF_WAIT && shrink->round != before);
    if (status < 0)
        return say_broken(status, err);
    if (status == NF_WAIT &&
        now_us - shrink->begun_us >= 3 * patience_us(group))
        return nf_fail(err, NF_ERR_TIMEDOUT,
                       "the members have come to no agreement in time");
    if (status == NF_WAIT)
        return NF_WAIT;
    if (shrink->lost[group->rank])
        return left_out(shrink, err);
    if (!shrink->told)
        status = tell(shrink, now_us);
    if (status != NF_OK)
        return say_broken(status, err);
    if (!is_told(shrink, now_us))
        return NF_WAIT;
    return make_group(shrink, group_p, err);
}

int64_t nf_shrink_deadline_us(const struct nf_shrink *shrink)
{
    int64_t until_us = shrink->round_us + patience_us(shrink->group), left;

    if (shrink->suspect_us < until_us)
        until_us = shrink->suspect_us;
    left = until_us - nf_group_now_us(shrink->group);
    return left < 0 ? 0 : left;
}

enum nf_status nf_group_shrink(struct nf_group *group,
                               struct nf_group **group_p, struct nf_error *err)
{
    struct nf_shrink *shrink;
    enum nf_status status = nf_shrink_start(group, &shrink, err);

    if (status != NF_OK)
        return status;
    while ((status = nf_shrink_run(shrink, group_p, err)) == NF_WAIT &&
           !nf_group_is_stopped(group))
        nf_group_sleep(group, nf_shrink_deadline_us(shrink));
    nf_shrink_destroy(shrink);
    if (status == NF_WAIT)
        return nf_fail(err, NF_ERR_INTERRUPTED, "interrupted");
    return status;
}
