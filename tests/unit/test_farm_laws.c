/* What the farm says, checked against the model. */
#include "config.h"
#include "tests/unit/test_farm_laws.h"
#include <string.h>

uint64_t draw(struct script *s, uint64_t below)
{
    uint64_t z = s->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % below;
}

void require(struct script *s, bool holds, const char *law)
{
    if (holds || s->wrong)
        return;
    s->wrong = law;
    TRACE(s, "    BROKEN: %s\n", law);
}

static bool has_live_lease(const struct script *s, uint32_t slave, bool *alone)
{
    bool any = false;

    *alone = false;
    for (uint32_t i = 0; i < s->nleases; i++) {
        const struct lease *l = &s->leases[i];

        if (!l->live || l->slave != slave)
            continue;
        any = true;
        if (s->units[l->first + l->answered].alone &&
            !s->units[l->first + l->answered].was_lost)
            *alone = true;
    }
    return any;
}

bool has_unit(const struct lease *l, uint64_t unit)
{
    return l && l->live && unit >= l->first + l->answered &&
           unit < l->first + l->count;
}

static bool is_leased(const struct script *s, uint64_t unit)
{
    for (uint32_t i = 0; i < s->nleases; i++)
        if (has_unit(&s->leases[i], unit))
            return true;
    return false;
}

static bool any_was_lost(const struct script *s, uint64_t first, uint64_t count)
{
    for (uint64_t u = first; u < first + count; u++)
        if (s->units[u].was_lost)
            return true;
    return false;
}

/* Some of its units were lost with a holder: see was_lost. */
bool is_muddled(const struct script *s, const struct lease *l)
{
    return any_was_lost(s, l->first, l->count);
}

/* Nobody waits for any unit of it. */
static bool is_useless(const struct script *s, const struct lease *l)
{
    for (uint64_t u = l->first + l->answered; u < l->first + l->count; u++)
        if (s->units[u].fate == PENDING)
            return false;
    return true;
}

/* A copy is of what another slave has, of all of it that is still wanted, and
 * it is the only one.  @return the lease it is a copy of */
static struct lease *find_original(struct script *s, const struct nf_action *a)
{
    for (uint32_t i = 0; i < s->nleases; i++) {
        struct lease *l = &s->leases[i];

        if (!has_unit(l, a->first) || l->stale)
            continue;
        if (is_muddled(s, l) && (l->twin || l->slave == a->slave ||
                                 a->first + a->count != l->first + l->count))
            continue; /* of several that have it, another one */
        require(s, !l->twin, "there are at most two copies");
        require(s, !l->spoilt || is_muddled(s, l),
                "what a copy failed on is not copied again");
        require(s, l->slave != a->slave, "copies are with two slaves");
        require(s, a->first + a->count == l->first + l->count,
                "a copy goes to the end of the lease");
        for (uint64_t u = l->first + l->answered; u < a->first; u++)
            require(s, s->units[u].fate != PENDING || s->units[u].was_lost,
                    "a copy has all that is wanted");
        return l;
    }
    require(s, any_was_lost(s, a->first, a->count), "a copy is of a lease");
    return NULL;
}

static struct lease *check_copy(struct script *s, const struct nf_action *a)
{
    require(s, strstr(s->spec, "replicate=1") != NULL,
            "copies are made only if that was asked for");
    require(s, s->next_fresh == s->config.units,
            "copies are made when nothing is left");
    require(s, s->units[a->first].fate == PENDING, "a copy is wanted");
    require(s, a->attempts == 0, "attempts are told");
    for (uint64_t u = a->first; u < a->first + a->count; u++)
        require(s,
                s->units[u].attempts + s->units[u].silences == 0 ||
                    any_was_lost(s, a->first, a->count),
                "units that ended badly are not copied");
    s->copies++;
    return find_original(s, a);
}

/* May a unit that must run alone go there? */
static bool is_sure(const struct script *s, uint32_t slave)
{
    return s->config.silence_limit_us == 0 ||
           s->slaves[slave].heard_losses == s->lost_slaves;
}

static void check_handed_out(struct script *s, const struct nf_action *a,
                             bool busy)
{
    for (uint64_t u = a->first; u < a->first + a->count; u++) {
        struct unit *unit = &s->units[u];

        require(s, unit->fate == PENDING, "settled units are not sent");
        if (!unit->was_lost) {
            require(s, !is_leased(s, u), "leased units are not sent");
            require(s, unit->attempts == a->attempts, "attempts are told");
            require(s, !unit->suspect || a->count == 1,
                    "suspects go one by one");
            require(s, !unit->alone || !busy, "alone is on an idle slave");
            require(s, !unit->alone || is_sure(s, a->slave),
                    "alone is on a slave that is there");
        }
        require(s, unit->handed_out == (u < s->next_fresh),
                "fresh units go in order");
        unit->handed_out = true;
        if (u >= s->next_fresh)
            s->next_fresh = u + 1;
    }
}

static void check_send(struct script *s, const struct nf_action *a)
{
    struct lease *l, *original = NULL;
    bool alone_there, busy;

    require(s, !s->over, "nothing is sent after DONE");
    require(s,
            a->slave < MAX_SLAVES && s->slaves[a->slave].live &&
                a->slot < s->slaves[a->slave].live_slots,
            "sends go to live slots");
    require(s,
            a->lease != 0 && a->count > 0 &&
                a->first + a->count <= s->config.units,
            "a lease has units");
    if (s->wrong)
        return;
    busy = has_live_lease(s, a->slave, &alone_there);
    require(s, !alone_there, "a slave with a unit alone gets nothing else");
    if (a->copy)
        original = check_copy(s, a);
    else
        check_handed_out(s, a, busy);
    for (uint32_t i = 0; i < s->nleases; i++)
        require(s, s->leases[i].id != a->lease, "lease ids are new");
    require(s, s->nleases < MAX_LEASES, "this test has enough room");
    if (s->wrong)
        return;
    l = &s->leases[s->nleases++];
    *l = (struct lease){ .id = a->lease,
                         .slave = a->slave,
                         .slot = a->slot,
                         .first = a->first,
                         .count = a->count,
                         .sent_us = s->now_us,
                         .live = true,
                         .twin = original };
    if (original)
        original->twin = l;
    s->sent++;
}

static bool all_settled(const struct script *s)
{
    for (uint64_t u = 0; u < s->config.units; u++)
        if (s->units[u].fate == PENDING)
            return false;
    return true;
}

static void check_cancel(struct script *s, const struct nf_action *a,
                         struct due *due)
{
    struct lease *l = due->loser;
    struct slave *m;

    for (uint32_t i = 0; i < s->nleases; i++)
        if (s->leases[i].id == a->lease && is_muddled(s, &s->leases[i]))
            l = &s->leases[i];
    require(s,
            l && l->live && l->id == a->lease && l->slave == a->slave &&
                l->slot == a->slot,
            "only the slower copy is cancelled");
    if (s->wrong)
        return;
    require(s, is_useless(s, l) || is_muddled(s, l),
            "what is cancelled is of no use");
    require(s, l != oldest(s, l->slave, l->slot),
            "what is being computed is not cancelled");
    m = &s->slaves[l->slave];
    m->unsure[l->slot] = true;
    m->unsure_us[l->slot] = s->now_us;
    l->live = false;
    due->loser = NULL;
    s->cancels++;
}

static void check_lost(struct script *s, const struct nf_action *a,
                       struct due *due)
{
    require(s, a->slave < MAX_SLAVES && s->slaves[a->slave].live,
            "only live slaves are declared lost");
    require(s,
            s->config.silence_limit_us > 0 &&
                s->now_us - s->slaves[a->slave].heard_us >
                    s->config.silence_limit_us,
            "only silent slaves are declared lost");
    if (!s->wrong)
        take_back(s, a->slave, NF_LOSS_SILENT, due);
}

static bool any_held(const struct script *s)
{
    for (uint64_t u = 0; u < s->config.units; u++)
        if (s->units[u].held)
            return true;
    return false;
}

/* What is to be gathered is what the slaves have: each unit once. */
static void check_held(struct script *s)
{
    struct nf_held_range range;
    uint64_t from = 0;

    for (uint64_t end = 0; nf_farm_next_held(s->farm, from, &range);
         from = end) {
        require(s, range.count > 0 && range.first >= from,
                "held ranges are in order");
        end = range.first + range.count;
        require(s, end <= s->config.units, "held ranges are of units");
        if (s->wrong)
            return;
        for (uint64_t u = from; u < end; u++)
            require(s,
                    s->units[u].held == (u >= range.first) &&
                        (u < range.first || s->units[u].holder == range.slave),
                    "each unit is gathered from its holder");
        require(s, s->slaves[range.slave].live, "holders are there");
    }
    for (uint64_t u = from; u < s->config.units; u++)
        require(s, !s->units[u].held, "all that is held is gathered");
}

static void check_gather(struct script *s)
{
    require(s, s->config.hold && !s->over && !s->gathering,
            "one gather at a time");
    require(s, all_settled(s) && any_held(s),
            "a gather comes when all units are settled");
    s->gathering = true;
    s->gathers++;
    for (uint32_t i = 0; i < s->nleases; i++)
        s->leases[i].stale |= s->leases[i].live;
    check_held(s);
}

static void check_action(struct script *s, const struct nf_action *a,
                         struct due *due)
{
    s->hash = (s->hash ^ a->kind ^ a->first << 8 ^ a->count << 20 ^
               (uint64_t)a->slave << 32 ^ (uint64_t)a->slot << 40 ^ a->lease) *
              UINT64_C(0x100000001b3);
    switch (a->kind) {
    case NF_ACT_SEND:
        TRACE(s,
              "    send [%" PRIu64 "+%" PRIu64 ") to %u.%u lease %" PRIx64
              " attempts %u\n",
              a->first, a->count, a->slave, a->slot, a->lease, a->attempts);
        check_send(s, a);
        break;
    case NF_ACT_CANCEL:
        TRACE(s, "    cancel lease %" PRIx64 " of %u\n", a->lease, a->slave);
        check_cancel(s, a, due);
        break;
    case NF_ACT_ACCEPT:
        TRACE(s, "    accept [%" PRIu64 "+%" PRIu64 ")\n", a->first, a->count);
        require(s,
                a->count > 0 && a->first >= due->first &&
                    a->first + a->count <= due->first + due->count,
                "only what was answered is accepted");
        for (uint64_t u = a->first; !s->wrong && u < a->first + a->count; u++) {
            require(s, s->units[u].fate == PENDING, "a unit is settled once");
            s->units[u].fate = DONE;
            s->units[u].held = s->config.hold;
            s->units[u].holder = due->slave;
        }
        break;
    case NF_ACT_GIVE_UP:
        TRACE(s, "    give up %" PRIu64 " after %u\n", a->first, a->attempts);
        require(s,
                (a->first == due->give_up || s->units[a->first].was_lost) &&
                    a->count == 1,
                "units are given up only for their own fault");
        if (s->wrong)
            break;
        require(s, s->units[a->first].fate == PENDING,
                "a unit is settled once");
        require(s,
                (a->attempts == s->units[a->first].attempts ||
                 s->units[a->first].was_lost) &&
                    a->attempts >= s->config.max_attempts,
                "a unit has all its attempts");
        s->units[a->first].fate = GIVEN_UP;
        due->give_up = MAX_UNITS;
        break;
    case NF_ACT_LOST:
        TRACE(s, "    lost %u\n", a->slave);
        check_lost(s, a, due);
        break;
    case NF_ACT_DONE:
        TRACE(s, "    done\n");
        require(s, !s->over, "DONE comes once");
        require(s, all_settled(s), "DONE comes when all units are settled");
        require(s, !any_held(s), "DONE comes when all results are home");
        s->over = true;
        break;
    case NF_ACT_GATHER:
        TRACE(s, "    gather\n");
        check_gather(s);
        break;
    case NF_ACT_EXCHANGE:
    case NF_ACT_ABANDON:
        TRACE(s, "    abandon\n");
        require(s, s->gathering && !all_settled(s),
                "a gather is abandoned when a holder was lost");
        s->gathering = false;
        break;
    }
}

void check_stats(struct script *s)
{
    struct nf_farm_stats st;
    uint64_t done = 0, given_up = 0, leased = 0, muddled = 0, held = 0;
    uint32_t slaves = 0, slots = 0;

    nf_farm_get_stats(s->farm, &st);
    for (uint64_t u = 0; u < s->config.units; u++) {
        done += s->units[u].fate == DONE;
        given_up += s->units[u].fate == GIVEN_UP;
        leased += s->units[u].fate == PENDING && is_leased(s, u);
        muddled += s->units[u].was_lost;
        held += s->units[u].held;
    }
    for (uint32_t i = 0; i < MAX_SLAVES; i++) {
        slaves += s->slaves[i].live;
        slots += s->slaves[i].live ? s->slaves[i].live_slots : 0;
    }
    require(s,
            st.units ==
                st.fresh + st.returned + st.leased + st.done + st.given_up,
            "units are conserved");
    require(s, st.done == done && st.given_up == given_up,
            "the farm counts what is settled");
    require(s,
            (st.leased <= leased && st.leased + muddled >= leased) ||
                s->cancelled,
            "the farm counts what is leased");
    require(s,
            st.held == held && st.recomputed == s->recomputed &&
                st.gathers == s->gathers,
            "the farm counts what is held");
    require(s,
            st.fresh == s->config.units - s->next_fresh ||
                (st.fresh == 0 && st.returned > 0),
            "the farm counts what is fresh");
    require(s, st.duplicates == s->duplicates, "duplicates are counted");
    require(s,
            st.leases_sent == s->sent && st.copies == s->copies &&
                st.cancelled == s->cancels,
            "leases are counted");
    require(s,
            st.live_slaves == slaves && st.live_slots == slots &&
                st.lost_slaves == s->lost_slaves,
            "slaves are counted");
}

static void check_progress(struct script *s)
{
    bool waiting = false, alone;

    if (s->over || s->gathering || s->wake_us != INT64_MAX)
        return;
    for (uint32_t i = 0; i < MAX_SLAVES; i++) {
        if (!s->slaves[i].live)
            continue;
        if (has_live_lease(s, i, &alone))
            return;
        waiting = true;
    }
    require(s, !waiting, "somebody works, or there is a time to wake up");
}

void check(struct script *s, enum nf_status status,
           const struct nf_actions *acts, struct due due)
{
    require(s, status == NF_OK, "the event is taken");
    for (size_t i = 0; i < acts->count && !s->wrong; i++)
        check_action(s, &acts->list[i], &due);
    if (s->wrong)
        return;
    s->wake_us = acts->wake_us;
    for (uint64_t u = due.first; u < due.first + due.count; u++)
        require(s, s->units[u].fate != PENDING || s->over,
                "every unit that was answered is settled");
    require(s, due.give_up == MAX_UNITS || s->units[due.give_up].was_lost,
            "a unit at fault is given up");
    require(s,
            !due.loser || !is_useless(s, due.loser) ||
                is_muddled(s, due.loser) ||
                due.loser == oldest(s, due.loser->slave, due.loser->slot),
            "the slower copy is cancelled");
    require(s, s->over || s->gathering || !all_settled(s),
            "the end is told at once");
    check_stats(s);
    check_progress(s);
}

void check_refused(struct script *s, enum nf_status status,
                   enum nf_status expected, const struct nf_actions *acts)
{
    require(s, status == expected, "nonsense is refused as what it is");
    require(s, acts->count == 0, "nonsense has no effect");
    check_stats(s);
}
