/* Random lives of a farm against a model that is too simple to be wrong: an
 * array that says what became of each unit, and a list of leases.
 *
 *     test_farm_random              the usual seeds
 *     test_farm_random --seed S     this one, with a trace of all that happens
 *
 * A script is either wild (slaves are lost for any reason at any time) or
 * honest (slaves only exit because of the one unit that kills them). */
#include "config.h"
#include "common/farm/farm.h"
#include "tests/unit/nf_unit.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SCRIPTS = 120000,
    MAX_UNITS = 40,
    MAX_SLAVES = 5,
    MAX_SLOTS = 12,
    MAX_LEASES = 4096,
    MAX_STEPS = 100000,
};

static const char *const specs[] = {
    "send",         "send:g=3",           "gss",
    "gss:kmin=2",   "fixed+window",       "gss+window:w=3",
    "presend:td=0", "presend:td=5us",     "fixed:g=2+window:w=0",
    "auto",         "presend:g=4,td=9us", "presend-round:td=7us",
    "gss+auto",
};
enum { NSPECS = sizeof(specs) / sizeof(specs[0]) };
static struct nf_policy policies[NSPECS];

enum fate { PENDING, DONE, GIVEN_UP };

struct unit {
    enum fate fate;
    bool handed_out;
    uint32_t attempts; /* that ended badly */
    bool suspect;
    bool alone; /* must run alone */
    bool fails; /* its kernel returns an error */
    bool kills; /* its slave exits */
};

struct lease {
    uint64_t id;
    uint32_t slave, slot;
    uint64_t first, count; /* as sent */
    uint64_t answered;
    bool live;
};

struct slave {
    uint32_t nslots; /* 0: never joined */
    uint32_t live_slots;
    bool live;
    int64_t heard_us;
};

struct script {
    uint64_t seed, random;
    struct nf_farm *farm;
    struct nf_farm_config config;
    const char *spec;
    bool honest;
    bool trace;
    int64_t now_us, wake_us;
    struct unit units[MAX_UNITS];
    struct slave slaves[MAX_SLAVES];
    struct lease leases[MAX_LEASES];
    uint32_t nleases;
    uint64_t next_fresh, duplicates, kills, sent;
    uint32_t lost_slaves;
    uint64_t killer; /* the unit that kills, or MAX_UNITS */
    bool over, cancelled;
    const char *wrong; /* the first law that was broken */
    uint64_t hash;     /* of all actions */
};

static uint64_t draw(struct script *s, uint64_t below)
{
    uint64_t z = s->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (z ^ z >> 31) % below;
}

#define TRACE(s, ...)                                                          \
    do {                                                                       \
        if ((s)->trace)                                                        \
            fprintf(stderr, __VA_ARGS__);                                      \
    } while (0)

static void require(struct script *s, bool holds, const char *law)
{
    if (holds || s->wrong)
        return;
    s->wrong = law;
    TRACE(s, "    BROKEN: %s\n", law);
}

/* ---- what the farm says, checked against the model ---- */

static bool has_live_lease(const struct script *s, uint32_t slave, bool *alone)
{
    bool any = false;

    *alone = false;
    for (uint32_t i = 0; i < s->nleases; i++) {
        const struct lease *l = &s->leases[i];

        if (!l->live || l->slave != slave)
            continue;
        any = true;
        if (s->units[l->first + l->answered].alone)
            *alone = true;
    }
    return any;
}

static bool is_leased(const struct script *s, uint64_t unit)
{
    for (uint32_t i = 0; i < s->nleases; i++) {
        const struct lease *l = &s->leases[i];

        if (l->live && unit >= l->first + l->answered &&
            unit < l->first + l->count)
            return true;
    }
    return false;
}

static void check_send(struct script *s, const struct nf_action *a)
{
    struct lease *l;
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
    for (uint64_t u = a->first; u < a->first + a->count; u++) {
        struct unit *unit = &s->units[u];

        require(s, unit->fate == PENDING, "settled units are not sent");
        require(s, !is_leased(s, u), "leased units are not sent");
        require(s, unit->attempts == a->attempts, "attempts are told");
        require(s, !unit->suspect || a->count == 1, "suspects go one by one");
        require(s, !unit->alone || !busy, "alone is on an idle slave");
        require(s, unit->handed_out == (u < s->next_fresh),
                "fresh units go in order");
        unit->handed_out = true;
        if (u >= s->next_fresh)
            s->next_fresh = u + 1;
    }
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
                         .live = true };
    s->sent++;
}

/* What an event may settle; the model's part of it is done before. */
struct due {
    uint64_t first, count; /* these pending ones are to be accepted */
    uint64_t give_up;      /* this one is to be given up, or MAX_UNITS */
};

static bool all_settled(const struct script *s)
{
    for (uint64_t u = 0; u < s->config.units; u++)
        if (s->units[u].fate == PENDING)
            return false;
    return true;
}

static void take_back(struct script *s, uint32_t slave, enum nf_loss loss,
                      struct due *due);

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
    case NF_ACT_ACCEPT:
        TRACE(s, "    accept [%" PRIu64 "+%" PRIu64 ")\n", a->first, a->count);
        require(s,
                a->count > 0 && a->first >= due->first &&
                    a->first + a->count <= due->first + due->count,
                "only what was answered is accepted");
        for (uint64_t u = a->first; !s->wrong && u < a->first + a->count; u++) {
            require(s, s->units[u].fate == PENDING, "a unit is settled once");
            s->units[u].fate = DONE;
        }
        break;
    case NF_ACT_GIVE_UP:
        TRACE(s, "    give up %" PRIu64 " after %u\n", a->first, a->attempts);
        require(s, a->first == due->give_up && a->count == 1,
                "units are given up only for their own fault");
        if (s->wrong)
            break;
        require(s, s->units[a->first].fate == PENDING,
                "a unit is settled once");
        require(s,
                a->attempts == s->units[a->first].attempts &&
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
        s->over = true;
        break;
    }
}

static void check_stats(struct script *s)
{
    struct nf_farm_stats st;
    uint64_t done = 0, given_up = 0, leased = 0;
    uint32_t slaves = 0, slots = 0;

    nf_farm_get_stats(s->farm, &st);
    for (uint64_t u = 0; u < s->config.units; u++) {
        done += s->units[u].fate == DONE;
        given_up += s->units[u].fate == GIVEN_UP;
        leased += s->units[u].fate == PENDING && is_leased(s, u);
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
    require(s, st.leased == leased || s->cancelled,
            "the farm counts what is leased");
    require(s,
            st.fresh == s->config.units - s->next_fresh ||
                (st.fresh == 0 && st.returned > 0),
            "the farm counts what is fresh");
    require(s, st.duplicates == s->duplicates, "duplicates are counted");
    require(s, st.leases_sent == s->sent, "leases are counted");
    require(s,
            st.live_slaves == slaves && st.live_slots == slots &&
                st.lost_slaves == s->lost_slaves,
            "slaves are counted");
}

static void check_progress(struct script *s)
{
    bool waiting = false, alone;

    if (s->over || s->wake_us != INT64_MAX)
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

static void check(struct script *s, enum nf_status status,
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
    require(s, due.give_up == MAX_UNITS, "a unit at fault is given up");
    require(s, s->over || !all_settled(s), "the end is told at once");
    check_stats(s);
    check_progress(s);
}

static void check_refused(struct script *s, enum nf_status status,
                          enum nf_status expected,
                          const struct nf_actions *acts)
{
    require(s, status == expected, "nonsense is refused as what it is");
    require(s, acts->count == 0, "nonsense has no effect");
    check_stats(s);
}

static const struct due nothing = { 0, 0, MAX_UNITS };

/* ---- events ---- */

static void do_join(struct script *s, uint32_t slave, uint32_t nslots)
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
        m->heard_us = s->now_us;
    }
    status = nf_farm_join(s->farm, slave, nslots, s->now_us, &acts);
    if (expected == NF_OK)
        check(s, status, &acts, nothing);
    else
        check_refused(s, status, expected, &acts);
}

static struct lease *oldest(struct script *s, uint32_t slave, uint32_t slot)
{
    for (uint32_t i = 0; i < s->nleases; i++)
        if (s->leases[i].live && s->leases[i].slave == slave &&
            s->leases[i].slot == slot)
            return &s->leases[i];
    return NULL;
}

/* The model of losing a slave: who is blamed for it. */
static void take_back(struct script *s, uint32_t slave, enum nf_loss loss,
                      struct due *due)
{
    struct slave *m = &s->slaves[slave];
    uint64_t units = 0;

    for (uint32_t i = 0; i < s->nleases; i++)
        if (s->leases[i].live && s->leases[i].slave == slave)
            units += s->leases[i].count - s->leases[i].answered;
    for (uint32_t k = 0; k < m->live_slots && loss == NF_LOSS_EXITED; k++) {
        const struct lease *l = oldest(s, slave, k);

        if (!l || s->over)
            continue;
        for (uint64_t u = l->first + l->answered; u < l->first + l->count;
             u++) {
            struct unit *unit = &s->units[u];

            unit->attempts++;
            unit->suspect = true;
            if (units == 1 && unit->attempts >= s->config.max_attempts &&
                unit->fate == PENDING)
                due->give_up = u;
            unit->alone = unit->attempts + 1 >= s->config.max_attempts;
        }
    }
    for (uint32_t i = 0; i < s->nleases; i++)
        if (s->leases[i].slave == slave)
            s->leases[i].live = false;
    m->live = false;
    s->lost_slaves += loss != NF_LOSS_LEFT;
}

static void do_lost(struct script *s, uint32_t slave, enum nf_loss loss)
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

static void count_duplicates(struct script *s, uint64_t first, uint64_t count)
{
    for (uint64_t u = first; u < first + count; u++)
        s->duplicates += s->units[u].fate != PENDING;
}

/* An answer to a lease that may be dead: any part of what it was. */
static void do_result(struct script *s, struct lease *l, uint64_t first,
                      uint64_t count)
{
    static const struct nf_chunk_times times = { .compute_us = 3,
                                                 .wait_us = -1 };
    struct nf_actions acts;
    enum nf_status status;
    struct due due = { first, count, MAX_UNITS };

    TRACE(s,
          "%6" PRId64 " result [%" PRIu64 "+%" PRIu64 ") of %u lease %" PRIx64
          "\n",
          s->now_us, first, count, l->slave, l->id);
    count_duplicates(s, first, count);
    if (s->slaves[l->slave].live)
        s->slaves[l->slave].heard_us = s->now_us;
    if (l->live) {
        l->answered += count;
        l->live = l->answered < l->count;
    }
    status = nf_farm_result(s->farm, l->slave, l->id, first, count,
                            draw(s, 4) ? &times : NULL, s->now_us, &acts);
    check(s, status, &acts, due);
}

static void do_failed(struct script *s, struct lease *l)
{
    struct nf_actions acts;
    enum nf_status status;
    struct due due = nothing;
    uint64_t u = l->first + (l->live ? l->answered : draw(s, l->count));
    struct unit *unit = &s->units[u];

    TRACE(s, "%6" PRId64 " failed %" PRIu64 " of %u lease %" PRIx64 "\n",
          s->now_us, u, l->slave, l->id);
    if (s->slaves[l->slave].live)
        s->slaves[l->slave].heard_us = s->now_us;
    if (l->live) {
        l->answered++;
        l->live = l->answered < l->count;
        unit->attempts += !s->over;
        if (!s->over && unit->attempts >= s->config.max_attempts &&
            unit->fate == PENDING)
            due.give_up = u;
    }
    status = nf_farm_unit_failed(s->farm, l->slave, l->id, u, s->now_us, &acts);
    check(s, status, &acts, due);
}

static void do_timer(struct script *s)
{
    struct nf_actions acts;
    enum nf_status status;

    TRACE(s, "%6" PRId64 " timer\n", s->now_us);
    status = nf_farm_timer(s->farm, s->now_us, &acts);
    check(s, status, &acts, nothing);
}

static void do_cancel(struct script *s)
{
    struct nf_actions acts;

    TRACE(s, "%6" PRId64 " cancel\n", s->now_us);
    require(s, nf_farm_cancel(s->farm, s->now_us, &acts) == NF_OK,
            "a cancel is taken");
    require(s,
            acts.count == !s->over &&
                (s->over || acts.list[0].kind == NF_ACT_DONE),
            "a cancel ends it at once");
    s->cancelled |= !s->over;
    s->over = true;
    check_stats(s);
}

static struct lease *any_lease(struct script *s)
{
    return s->nleases ? &s->leases[draw(s, s->nleases)] : NULL;
}

static void do_nonsense(struct script *s)
{
    struct lease *l = any_lease(s);
    struct nf_actions acts;
    enum nf_status status;
    uint32_t slave;

    if (!l)
        return;
    slave = l->slave;
    switch (draw(s, 5)) {
    case 0: /* an id that nobody ever had */
        status = nf_farm_result(s->farm, slave, l->id + (UINT64_C(99) << 32),
                                l->first, 1, NULL, s->now_us, &acts);
        break;
    case 1: /* units that nobody ever had */
        if (s->next_fresh == s->config.units || l->live)
            return;
        status = nf_farm_result(s->farm, slave, l->id, s->next_fresh, 1, NULL,
                                s->now_us, &acts);
        break;
    case 2: /* beyond the end */
        status = nf_farm_result(s->farm, slave, l->id, l->first,
                                UINT64_MAX - l->first, NULL, s->now_us, &acts);
        break;
    case 3: /* not the next unit of a live lease */
        if (!l->live || l->count - l->answered < 2)
            return;
        status =
            nf_farm_result(s->farm, slave, l->id, l->first + l->answered + 1, 1,
                           NULL, s->now_us, &acts);
        break;
    default: /* somebody else's */
        if (!l->live)
            return;
        status = nf_farm_unit_failed(s->farm, (slave + 1) % MAX_SLAVES, l->id,
                                     l->first + l->answered, s->now_us, &acts);
        break;
    }
    TRACE(s, "%6" PRId64 " nonsense about lease %" PRIx64 "\n", s->now_us,
          l->id);
    check_refused(s, status, NF_ERR_PROTOCOL, &acts);
}

/* Let a slot compute what it has next. */
static void do_work(struct script *s, uint32_t slave, uint32_t slot)
{
    struct lease *l = oldest(s, slave, slot);
    uint64_t first, good = 0, left;

    if (!l)
        return;
    first = l->first + l->answered;
    left = l->count - l->answered;
    while (good < left && !s->units[first + good].fails &&
           !s->units[first + good].kills)
        good++;
    if (good > 0) {
        do_result(s, l, first,
                  good == left && draw(s, 2) ? left : 1 + draw(s, good));
    } else if (s->units[first].kills) {
        s->kills++;
        do_lost(s, slave, NF_LOSS_EXITED);
    } else {
        do_failed(s, l);
    }
}

static void do_late(struct script *s)
{
    struct lease *l = any_lease(s);
    uint64_t skip, count;

    if (!l || l->live)
        return;
    skip = draw(s, l->count);
    count = 1 + draw(s, l->count - skip);
    for (uint64_t i = 0; s->honest && i < count; i++)
        if (s->units[l->first + skip + i].fails ||
            s->units[l->first + skip + i].kills)
            return; /* nobody has a result of these */
    if (draw(s, 8) == 0)
        do_failed(s, l);
    else
        do_result(s, l, l->first + skip, count);
}

static void do_something(struct script *s)
{
    uint32_t slave = (uint32_t)draw(s, MAX_SLAVES);
    uint32_t slots = s->slaves[slave].live_slots;
    uint32_t slot = slots ? (uint32_t)draw(s, slots) : 0;
    struct lease *l;

    s->now_us += (int64_t)draw(s, 4);
    switch (draw(s, 20)) {
    case 0:
    case 1:
    case 2:
        do_join(s, slave, 1 + (uint32_t)draw(s, 3));
        break;
    case 3: /* an honest slave exits only for its own reasons */
        do_lost(s, slave,
                s->honest ? NF_LOSS_SILENT + draw(s, 3)
                          : (enum nf_loss)draw(s, 4));
        break;
    case 4:
        if (!s->honest)
            do_lost(s, slave, NF_LOSS_EXITED);
        break;
    case 5:
        if (draw(s, 40) == 0 && !s->honest)
            do_cancel(s);
        break;
    case 6:
        do_nonsense(s);
        break;
    case 7:
    case 8:
        do_late(s);
        break;
    case 9: /* out of order among the leases of a slot */
        l = any_lease(s);
        if (l && l->live && !s->honest)
            do_result(s, l, l->first + l->answered, 1);
        break;
    case 10:
        if (s->slaves[slave].live) {
            nf_farm_heard(s->farm, slave, s->now_us);
            s->slaves[slave].heard_us = s->now_us;
        }
        break;
    case 11:
        l = any_lease(s);
        if (l && l->live && !s->honest)
            do_failed(s, l);
        break;
    case 12:
    case 13:
    case 14:
        if (s->wake_us != INT64_MAX && s->wake_us > s->now_us)
            s->now_us = s->wake_us;
        do_timer(s);
        break;
    default:
        if (s->slaves[slave].live)
            do_work(s, slave, slot);
        break;
    }
}

/* From here on nobody is lost but by the unit that kills. */
static void finish(struct script *s)
{
    for (uint32_t step = 0; !s->over && !s->wrong; step++) {
        uint32_t slave = (uint32_t)draw(s, MAX_SLAVES);
        const struct slave *m = &s->slaves[slave];

        require(s, step < MAX_STEPS, "the job comes to its end");
        for (uint32_t i = 0; i < MAX_SLAVES; i++) {
            if (s->slaves[i].live)
                nf_farm_heard(s->farm, i, s->now_us);
            s->slaves[i].heard_us = s->now_us;
        }
        if (!m->live && (m->nslots > 0 || slave == 0))
            do_join(s, slave, m->nslots ? m->nslots : 1);
        else if (s->wake_us <= s->now_us)
            do_timer(s);
        else if (m->live && m->live_slots > 0)
            do_work(s, slave, (uint32_t)draw(s, m->live_slots));
        if (!s->over && s->wake_us != INT64_MAX && draw(s, 4) == 0 &&
            s->wake_us > s->now_us)
            s->now_us = s->wake_us;
    }
}

static void check_honest_end(struct script *s)
{
    uint32_t max = s->config.max_attempts;

    for (uint64_t u = 0; u < s->config.units; u++) {
        const struct unit *unit = &s->units[u];

        if (!unit->fails && !unit->kills)
            require(s, unit->fate == DONE, "no innocent unit is given up");
        else
            require(s, unit->fate == GIVEN_UP, "bad units are given up");
    }
    if (s->killer < s->config.units)
        require(s, s->kills == max || (max == 1 && s->kills == 2),
                "a unit kills as many slaves as it has attempts");
}

static void setup(struct script *s, uint64_t seed, bool trace)
{
    size_t policy;

    memset(s, 0, sizeof(*s));
    s->seed = seed;
    s->random = seed * 7919;
    s->trace = trace;
    s->wake_us = INT64_MAX;
    policy = draw(s, NSPECS);
    s->spec = specs[policy];
    s->honest = draw(s, 2);
    s->config = (struct nf_farm_config){
        .units = draw(s, 4) ? draw(s, MAX_UNITS / 2) : draw(s, MAX_UNITS),
        .policy = &policies[policy],
        .slots = 1 + (uint32_t)draw(s, 4),
        .max_attempts = 1 + (uint32_t)draw(s, 4),
        .silence_limit_us = draw(s, 3) ? 0 : 1 + (int64_t)draw(s, 100),
        .seed = seed,
    };
    s->config.max_slots =
        s->config.slots + (uint32_t)draw(s, MAX_SLOTS - s->config.slots + 1);
    s->killer = MAX_UNITS;
    if (s->honest && s->config.units > 0 && draw(s, 2)) {
        s->killer = draw(s, s->config.units);
        s->units[s->killer].kills = true;
    }
    /* With slaves exiting, errors may use up attempts that a suspect needs. */
    for (uint64_t u = 0; s->killer == MAX_UNITS && u < s->config.units; u++)
        s->units[u].fails = draw(s, 12) == 0;
    TRACE(s,
          "seed %" PRIu64 ": %s, %s, %" PRIu64 " units, %u..%u slots, %u "
          "attempts, silence %" PRId64 "\n",
          seed, s->spec, s->honest ? "honest" : "wild", s->config.units,
          s->config.slots, s->config.max_slots, s->config.max_attempts,
          s->config.silence_limit_us);
}

/* @return the law that was broken, or NULL */
static const char *run_script(uint64_t seed, bool trace, uint64_t *hash_p)
{
    static struct script s;
    uint64_t steps;

    setup(&s, seed, trace);
    if (nf_farm_create(&s.config, &s.farm, NULL) != NF_OK)
        return "a farm is created";
    steps = draw(&s, 80);
    for (uint64_t i = 0; i < steps && !s.wrong; i++)
        do_something(&s);
    finish(&s);
    if (!s.wrong && s.honest)
        check_honest_end(&s);
    for (int i = 0; i < 5 && !s.wrong; i++) /* nothing comes after the end */
        do_late(&s);
    nf_farm_destroy(s.farm);
    *hash_p = s.hash;
    return s.wrong;
}

static bool run_seed(uint64_t seed)
{
    uint64_t hash, again;
    const char *law = run_script(seed, false, &hash);

    if (!law && seed % 8 == 0) {
        law = run_script(seed, false, &again);
        if (!law && hash != again)
            law = "the same events give the same actions";
    }
    if (!law)
        return true;
    fprintf(stderr, "\nseed %" PRIu64 ": broken law: %s\n", seed, law);
    run_script(seed, true, &hash);
    return false;
}

static void test_scripts(void)
{
    unsigned broken = 0;

    for (uint64_t seed = 1; seed <= SCRIPTS && broken < 3; seed++)
        broken += !run_seed(seed);
    CU_ASSERT_EQUAL(broken, 0);
}

static int parse_policies(void)
{
    struct nf_error err;

    for (size_t i = 0; i < NSPECS; i++) {
        if (nf_policy_parse(specs[i], &policies[i], &err)) {
            fprintf(stderr, "%s: %s\n", specs[i], err.text);
            return 1;
        }
    }
    return 0;
}

static CU_TestInfo tests[] = {
    { "no law is broken in 120000 random lives of a farm", test_scripts },
    CU_TEST_INFO_NULL,
};

static CU_SuiteInfo suites[] = {
    { "random", parse_policies, NULL, NULL, NULL, tests },
    CU_SUITE_INFO_NULL,
};

int main(int argc, char **argv)
{
    uint64_t hash;
    const char *law;

    if (argc != 3 || strcmp(argv[1], "--seed") != 0)
        return nf_unit_main(suites);
    if (parse_policies())
        return 99;
    law = run_script(strtoull(argv[2], NULL, 10), true, &hash);
    fprintf(stderr, "%s\n", law ? law : "no law is broken");
    return law != NULL;
}
