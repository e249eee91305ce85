/* The model of events.  The laws are in test_farm_laws.c. */
#include "config.h"
#include "tests/unit/test_farm_laws.h"
#include <string.h>

static const struct due nothing = { 0, 0, 0, MAX_UNITS, NULL };

void was_heard(struct script *s, uint32_t slave)
{
    struct slave *m = &s->slaves[slave];

    if (!m->live)
        return;
    m->heard_us = s->now_us;
    if (s->now_us - s->loss_us >= s->config.silence_limit_us / 16)
        m->heard_losses = s->lost_slaves;
}

void do_join(struct script *s, uint32_t slave, uint32_t nslots)
{
    struct slave *m = &s->slaves[slave];
    struct nf_actions acts;
    enum nf_status status, expected = NF_OK;
    uint32_t used = 0;

    for (uint32_t i = 0; i < MAX_SLAVES; i++)
        used += s->slaves[i].nslots;
    if (slave >= s->config.max_slots)
        expected = NF_ERR_RANGE;
    else if (m->live)
        expected = NF_ERR_PROTOCOL;
    else if (m->nslots ? nslots > m->nslots
                       : used + nslots > s->config.max_slots)
        expected = NF_ERR_RANGE;
    TRACE(s, "%6" PRId64 " join %u with %u\n", s->now_us, slave, nslots);
    if (expected == NF_OK) {
        m->nslots = m->nslots ? m->nslots : nslots;
        m->live_slots = nslots;
        m->live = true;
        was_heard(s, slave);
        m->heard_losses = s->lost_slaves;
        memset(m->unsure, 0, sizeof(m->unsure));
    }
    status = nf_farm_join(s->farm, slave, nslots, s->now_us, &acts);
    if (expected == NF_OK)
        check(s, status, &acts, nothing);
    else
        check_refused(s, status, expected, &acts);
}

/* The n-th oldest live lease of a slot. */
static struct lease *nth_oldest(struct script *s, uint32_t slave, uint32_t slot,
                                uint32_t n)
{
    for (uint32_t i = 0; i < s->nleases; i++)
        if (s->leases[i].live && s->leases[i].slave == slave &&
            s->leases[i].slot == slot && n-- == 0)
            return &s->leases[i];
    return NULL;
}

struct lease *oldest(struct script *s, uint32_t slave, uint32_t slot)
{
    return nth_oldest(s, slave, slot, 0);
}

static void part(struct lease *l)
{
    if (l->twin)
        l->twin->twin = NULL;
    l->twin = NULL;
}

/* Its slave had exactly one unit, and computes no other one. */
static bool has_one_unit(const struct script *s, uint32_t slave)
{
    const struct slave *m = &s->slaves[slave];
    uint64_t units = 0;

    for (uint32_t i = 0; i < s->nleases; i++)
        if (s->leases[i].live && s->leases[i].slave == slave)
            units += s->leases[i].count - s->leases[i].answered;
    for (uint32_t k = 0; k < m->live_slots; k++)
        if (m->unsure[k])
            return false;
    return units == 1;
}

static bool is_suspect(struct script *s, struct lease *l, enum nf_loss loss)
{
    uint32_t most = 0;

    if (loss != NF_LOSS_SILENT)
        return loss == NF_LOSS_EXITED;
    for (uint64_t u = l->first + l->answered; u < l->first + l->count; u++)
        if (++s->units[u].silences > most && !s->units[u].was_lost)
            most = s->units[u].silences;
    for (uint64_t u = 0; l->twin && u < l->twin->count; u++)
        s->units[l->twin->first + u].silences = most;
    return most > NF_FARM_FREE_SILENCES;
}

static void blame(struct script *s, struct lease *l, bool certain,
                  struct due *due)
{
    for (uint64_t u = l->first + l->answered; u < l->first + l->count; u++) {
        struct unit *unit = &s->units[u];

        if (has_unit(l->twin, u))
            continue;
        unit->attempts++;
        unit->suspect = true;
        if (certain && unit->attempts >= s->config.max_attempts &&
            unit->fate == PENDING)
            due->give_up = u;
        unit->alone = unit->attempts + 1 >= s->config.max_attempts;
    }
    if (l->twin)
        l->twin->spoilt = true;
}

/* What shares a lease with a unit that was lost with its holder counts as such
 * too. */
static void spread_lost(struct script *s)
{
    bool more = true;

    while (more) {
        more = false;
        for (uint32_t i = 0; i < s->nleases; i++) {
            const struct lease *l = &s->leases[i];

            if (!l->live || !is_muddled(s, l))
                continue;
            for (uint64_t u = l->first; u < l->first + l->count; u++) {
                more |= !s->units[u].was_lost;
                s->units[u].was_lost = true;
            }
        }
    }
}

/* The model of losing a slave: who is blamed for it. */
void take_back(struct script *s, uint32_t slave, enum nf_loss loss,
               struct due *due)
{
    struct slave *m = &s->slaves[slave];
    bool certain = has_one_unit(s, slave);

    for (uint32_t k = 0; k < 2 * m->live_slots; k++) {
        struct lease *l = nth_oldest(s, slave, k / 2, k % 2);

        if (l && !s->over && is_suspect(s, l, loss))
            blame(s, l, certain, due);
    }
    for (uint32_t i = 0; i < s->nleases; i++) {
        if (s->leases[i].slave != slave)
            continue;
        s->leases[i].live = false;
        part(&s->leases[i]);
    }
    m->live = false;
    if (loss != NF_LOSS_LEFT) {
        s->lost_slaves++;
        s->loss_us = s->now_us;
    }
    for (uint64_t u = 0; !s->over && u < s->config.units; u++) {
        struct unit *unit = &s->units[u];

        if (!unit->held || unit->holder != slave)
            continue;
        unit->held = false;
        unit->was_lost = true;
        unit->fate = PENDING;
        s->recomputed++;
    }
    if (s->config.hold)
        spread_lost(s);
}

void do_lost(struct script *s, uint32_t slave, enum nf_loss loss)
{
    struct nf_actions acts;
    struct due due = nothing;
    enum nf_status status;
    bool known = s->slaves[slave].nslots > 0;

    TRACE(s, "%6" PRId64 " lose %u for %d\n", s->now_us, slave, (int)loss);
    if (s->slaves[slave].live)
        take_back(s, slave, loss, &due);
    status = nf_farm_lost(s->farm, slave, loss, s->now_us, &acts);
    if (known)
        check(s, status, &acts, due);
    else
        check_refused(s, status, NF_ERR_PROTOCOL, &acts);
}

/* A live lease has answers to its next units. */
static void answer(struct script *s, struct lease *l, uint64_t count,
                   struct due *due)
{
    l->answered += count;
    if (l->answered < l->count)
        return;
    l->live = false;
    if (!s->over)
        due->loser = l->twin;
    part(l);
    if (s->slaves[l->slave].unsure_us[l->slot] < l->sent_us)
        s->slaves[l->slave].unsure[l->slot] = false;
}

static void count_duplicates(struct script *s, uint64_t first, uint64_t count)
{
    for (uint64_t u = first; u < first + count; u++)
        s->duplicates += s->units[u].fate != PENDING;
}

void do_result(struct script *s, struct lease *l, uint64_t first,
               uint64_t count)
{
    static const struct nf_chunk_times times = { .compute_us = 3,
                                                 .wait_us = -1 };
    struct nf_actions acts;
    enum nf_status status;
    struct due due = { first, count, l->slave, MAX_UNITS, NULL };

    TRACE(s,
          "%6" PRId64 " result [%" PRIu64 "+%" PRIu64 ") of %u lease %" PRIx64
          "\n",
          s->now_us, first, count, l->slave, l->id);
    count_duplicates(s, first, count);
    was_heard(s, l->slave);
    if (s->config.hold && (!l->live || l->stale))
        due.count = 0; /* its slave may have thrown them away */
    if (l->live)
        answer(s, l, count, &due);
    status = nf_farm_result(s->farm, l->slave, l->id, first, count,
                            draw(s, 4) ? &times : NULL, s->now_us, &acts);
    check(s, status, &acts, due);
}

void do_failed(struct script *s, struct lease *l)
{
    struct nf_actions acts;
    enum nf_status status;
    struct due due = nothing;
    uint64_t u = l->first + (l->live ? l->answered : draw(s, l->count));
    struct unit *unit = &s->units[u];

    TRACE(s, "%6" PRId64 " failed %" PRIu64 " of %u lease %" PRIx64 "\n",
          s->now_us, u, l->slave, l->id);
    was_heard(s, l->slave);
    if (l->live && has_unit(l->twin, u)) {
        if (!s->over)
            l->twin->spoilt = true;
        answer(s, l, 1, &due);
    } else if (l->live) {
        unit->attempts += !s->over;
        if (!s->over && unit->attempts >= s->config.max_attempts &&
            unit->fate == PENDING)
            due.give_up = u;
        answer(s, l, 1, &due);
    }
    status = nf_farm_unit_failed(s->farm, l->slave, l->id, u, s->now_us, &acts);
    check(s, status, &acts, due);
}

void do_timer(struct script *s)
{
    struct nf_actions acts;
    enum nf_status status;

    TRACE(s, "%6" PRId64 " timer\n", s->now_us);
    status = nf_farm_timer(s->farm, s->now_us, &acts);
    check(s, status, &acts, nothing);
}

void do_cancel(struct script *s)
{
    struct nf_actions acts;

    TRACE(s, "%6" PRId64 " cancel\n", s->now_us);
    require(s, nf_farm_cancel(s->farm, s->now_us, &acts) == NF_OK,
            "a cancel is taken");
    require(s,
            acts.count == (s->over ? 0 : 1 + (size_t)s->gathering) &&
                (s->over || acts.list[acts.count - 1].kind == NF_ACT_DONE),
            "a cancel ends it at once");
    require(s, !s->gathering || acts.list[0].kind == NF_ACT_ABANDON,
            "a cancel abandons a gather");
    s->cancelled |= !s->over;
    s->over = true;
    s->gathering = false;
    check_stats(s);
}

void do_gather_end(struct script *s, bool good)
{
    struct nf_actions acts;
    enum nf_status status;
    bool under_way = s->gathering;

    TRACE(s, "%6" PRId64 " gather %s\n", s->now_us, good ? "done" : "failed");
    for (uint64_t u = 0; good && under_way && u < s->config.units; u++) {
        struct unit *unit = &s->units[u];

        if (!unit->held)
            continue;
        unit->held = false;
        unit->delivered++;
        require(s, unit->delivered == 1, "a result comes home once");
    }
    s->gathering = false;
    status = good ? nf_farm_gathered(s->farm, s->now_us, &acts)
                  : nf_farm_gather_failed(s->farm, s->now_us, &acts);
    if (under_way)
        check(s, status, &acts, nothing);
    else
        check_refused(s, status, NF_ERR_PROTOCOL, &acts);
}
