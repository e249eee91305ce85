/* Random lives of a farm against a model.
 *
 *     test_farm_random              the usual seeds
 *     test_farm_random --seed S     this one, with a trace of all that happens
 *
 * A script is either wild (slaves are lost for any reason at any time) or
 * honest (slaves only exit because of the one unit that kills them). */
#include "config.h"
#include "tests/unit/test_farm_model.h"
#include "tests/unit/nf_unit.h"
#include <stdlib.h>
#include <string.h>

enum { SCRIPTS = 120000, MAX_STEPS = 100000 };

static const char *const specs[] = {
    "send",
    "send:g=3",
    "gss",
    "gss:kmin=2",
    "fixed+window",
    "gss+window:w=3",
    "presend:td=0",
    "presend:td=5us",
    "fixed:g=2+window:w=0",
    "auto",
    "presend:g=4,td=9us",
    "presend-round:td=7us",
    "gss+auto",
    "static",
    "static+window",
    "cyclic:g=2",
    "cyclic+auto",
    "fac+timer:td=3us",
    "fac2:form=halving",
    "wf+window",
    "awf:steps=3+auto",
    "awf-b+window",
    "awf-e+auto",
    "af+window:w=3",
    "rta:g=3+timer:td=5us",
    "tfss:kmin=2",
    "fiss+round:td=7us",
    "rand+auto",
    "auto:replicate=1",
    "gss+auto:replicate=1",
    "eager:replicate=1",
    "eager:g=3,replicate=1",
};
enum { NSPECS = sizeof(specs) / sizeof(specs[0]) };
static struct nf_policy policies[NSPECS];

/* A pacer that copies whatever it can: auto does so only for a reason. */

static size_t eager_state_size(const struct nf_policy_env *env)
{
    (void)env;
    return 1;
}

static enum nf_status eager_init(void *st, const struct nf_policy_env *env,
                                 const struct nf_param_value *values,
                                 struct nf_error *err)
{
    (void)st;
    (void)env;
    (void)values;
    (void)err;
    return NF_OK;
}

static bool has_room(const struct nf_slot_view *slot)
{
    return slot->live && !slot->refused && slot->outstanding < 3;
}

static enum nf_status eager_pick(void *st, const struct nf_pool_view *pool,
                                 int64_t now_us, uint32_t *slot_p,
                                 int64_t *wake_us_p)
{
    (void)st;
    *wake_us_p = INT64_MAX;
    for (uint32_t i = 0; i < pool->nslots; i++) {
        *slot_p = (i + (uint32_t)now_us) % pool->nslots;
        if (has_room(&pool->slots[*slot_p]))
            return NF_OK;
    }
    return NF_WAIT;
}

static enum nf_status eager_replicate(void *st, const struct nf_pool_view *pool,
                                      int64_t now_us, struct nf_copy *copy_p,
                                      int64_t *wake_us_p)
{
    (void)st;
    (void)now_us;
    *wake_us_p = INT64_MAX;
    for (uint32_t i = 0; i < pool->nslots; i++) {
        for (uint32_t k = 0; k < pool->nslots; k++) {
            if (pool->slots[i].behind == NF_NO_COPY ||
                !has_room(&pool->slots[k]) ||
                pool->slots[i].slave == pool->slots[k].slave)
                continue;
            *copy_p = (struct nf_copy){ .from = i, .to = k };
            return NF_OK;
        }
    }
    return NF_WAIT;
}

static const struct nf_pacer_ops eager = {
    .name = "eager",
    .state_size = eager_state_size,
    .init = eager_init,
    .pick = eager_pick,
    .replicate = eager_replicate,
};

static struct lease *any_lease(struct script *s)
{
    return s->nleases ? &s->leases[draw(s, s->nleases)] : NULL;
}

/* What such a sizer keeps for slots that do not come, the farm takes as come
 * back in the end, so that a late answer may name it. */
static bool may_refuse(const struct script *s)
{
    const struct nf_sizer_ops *sizer = s->config.policy->sizer;

    return sizer == &nf_sizer_static || sizer == &nf_sizer_cyclic;
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
        if (s->next_fresh == s->config.units || l->live || may_refuse(s))
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
        s->kills += !has_unit(l->twin, first);
        for (uint32_t k = 0; k < s->slaves[slave].live_slots; k++)
            s->unsure_kills += s->slaves[slave].unsure[k];
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
    if (s->config.hold && draw(s, 8) == 0) {
        do_gather_end(s, draw(s, 2));
        return;
    }
    switch (draw(s, 20)) {
    case 0:
    case 1:
    case 2:
        do_join(s, slave, 1 + (uint32_t)draw(s, 3));
        break;
    case 3: /* an honest slave exits only for its own reasons */
        do_lost(s, slave,
                (enum nf_loss)(s->honest ? NF_LOSS_SILENT + draw(s, 3)
                                         : draw(s, 4)));
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
            was_heard(s, slave);
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
            was_heard(s, i);
        }
        if (s->gathering)
            do_gather_end(s, draw(s, 4) > 0);
        else if (!m->live && (m->nslots > 0 || slave == 0))
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
            require(
                s, unit->fate == DONE || unit->silences > NF_FARM_FREE_SILENCES,
                "no innocent unit is given up");
        else
            require(s, unit->fate == GIVEN_UP, "bad units are given up");
    }
    if (s->killer < s->config.units)
        require(s,
                s->kills + s->units[s->killer].silences >= max &&
                    s->kills <= (max == 1 ? 2 : max) + s->unsure_kills,
                "a unit kills as many slaves as it has attempts");
}

/* Whatever died, and whenever: what is done has come home, once. */
static void check_home(struct script *s)
{
    for (uint64_t u = 0; u < s->config.units && s->config.hold; u++)
        require(s,
                s->units[u].delivered == (s->units[u].fate == DONE) ||
                    s->cancelled,
                "every result that counts has come home");
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
    s->config.hold = draw(s, 2);
    s->killer = MAX_UNITS;
    if (s->honest && s->config.units > 0 && draw(s, 2)) {
        s->killer = draw(s, s->config.units);
        s->units[s->killer].kills = true;
    }
    /* With slaves exiting, errors may use up attempts that a suspect needs. */
    for (uint64_t u = 0; s->killer == MAX_UNITS && u < s->config.units; u++)
        s->units[u].fails = draw(s, 12) == 0;
    TRACE(s,
          "seed %" PRIu64 ": %s, %s%s, %" PRIu64 " units, %u..%u slots, %u "
          "attempts, silence %" PRId64 "\n",
          seed, s->spec, s->honest ? "honest" : "wild",
          s->config.hold ? ", hold" : "", s->config.units, s->config.slots,
          s->config.max_slots, s->config.max_attempts,
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
    if (!s.wrong)
        check_home(&s);
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
        bool is_eager = strncmp(specs[i], "eager", 5) == 0;
        const char *spec = !is_eager                  ? specs[i]
                           : strstr(specs[i], "g=3,") ? "send:g=3"
                                                      : "send";

        if (nf_policy_parse(spec, &policies[i], &err)) {
            fprintf(stderr, "%s: %s\n", spec, err.text);
            return 1;
        }
        if (is_eager)
            policies[i].pacer = &eager;
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
