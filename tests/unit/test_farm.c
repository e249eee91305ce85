/* The rules of the farm, one by one: its plain course, odd policies, memory.
 * With --bench: CPU time a unit. */
#include "config.h"
#include "tests/unit/test_farm_rig.h"
#include "common/base/alloc.h"
#include <malloc.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- the plain course ---- */

static void test_plain(void)
{
    struct rig rig = { 0 };

    open_rig(&rig, "send:g=2", 5);
    join(&rig, 0, 1);
    CHECK_SEND(rig.said[0], 0, 0, 2, 0);
    answer(&rig, &rig.said[0]);
    CU_ASSERT_EQUAL(find(&rig, NF_ACT_ACCEPT).first, 0);
    CU_ASSERT_EQUAL(find(&rig, NF_ACT_ACCEPT).count, 2);
    CHECK_SEND(rig.said[2], 0, 2, 2, 0);
    answer(&rig, &rig.said[2]);
    answer(&rig, &rig.said[4]);
    CU_ASSERT_EQUAL(rig.said[rig.nsaid - 1].kind, NF_ACT_DONE);
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_DONE), 1);
    CU_ASSERT_EQUAL(stats(&rig).done, 5);
    CU_ASSERT_EQUAL(rig.wake_us, INT64_MAX);
    nf_farm_destroy(rig.farm);
}

static void test_no_units(void)
{
    struct rig rig = { 0 };
    struct nf_actions acts;

    open_rig(&rig, "send", 0);
    take(&rig, nf_farm_timer(rig.farm, 0, &acts), &acts);
    CU_ASSERT_EQUAL(rig.nsaid, 1);
    CU_ASSERT_EQUAL(rig.said[0].kind, NF_ACT_DONE);
    join(&rig, 0, 1);
    CU_ASSERT_EQUAL(rig.nsaid, 1);
    nf_farm_destroy(rig.farm);
}

static void test_parts(void)
{
    struct rig rig = { 0 };
    struct nf_action lease;

    open_rig(&rig, "send:g=6", 6);
    join(&rig, 0, 1);
    lease = rig.said[0];
    forget(&rig);
    result(&rig, &lease, 0, 2);
    CU_ASSERT_EQUAL(find(&rig, NF_ACT_ACCEPT).count, 2);
    result(&rig, &lease, 3, 1); /* not its next unit */
    CU_ASSERT_EQUAL(rig.status, NF_ERR_PROTOCOL);
    result(&rig, &lease, 2, 5); /* more than it has */
    CU_ASSERT_EQUAL(rig.status, NF_ERR_PROTOCOL);
    CU_ASSERT_EQUAL(stats(&rig).done, 2);
    result(&rig, &lease, 2, 4);
    CU_ASSERT_EQUAL(rig.status, NF_OK);
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_DONE), 1);
    nf_farm_destroy(rig.farm);
}

static void test_cancel(void)
{
    struct rig rig = { 0 };
    struct nf_actions acts;
    struct nf_action lease;

    open_rig(&rig, "send", 5);
    join(&rig, 0, 1);
    lease = rig.said[0];
    forget(&rig);
    take(&rig, nf_farm_cancel(rig.farm, 1, &acts), &acts);
    rig.now_us = 1;
    CU_ASSERT_EQUAL(rig.nsaid, 1);
    CU_ASSERT_EQUAL(rig.said[0].kind, NF_ACT_DONE);
    answer(&rig, &lease);
    CU_ASSERT_EQUAL(rig.status, NF_OK);
    join(&rig, 1, 1);
    lost(&rig, 1, NF_LOSS_EXITED);
    take(&rig, nf_farm_cancel(rig.farm, 1, &acts), &acts);
    CU_ASSERT_EQUAL(rig.nsaid, 1);
    nf_farm_destroy(rig.farm);
}

/* ---- joining, silence ---- */

static void test_rejoin(void)
{
    struct rig rig = { .config.max_slots = 4 };

    open_rig(&rig, "send", 100);
    join(&rig, 0, 2);
    join(&rig, 0, 2);
    CU_ASSERT_EQUAL(rig.status, NF_ERR_PROTOCOL); /* is here */
    join(&rig, 1, 3);
    CU_ASSERT_EQUAL(rig.status, NF_ERR_RANGE); /* 5 of 4 */
    join(&rig, 1, 0);
    CU_ASSERT_EQUAL(rig.status, NF_ERR_RANGE);
    join(&rig, 4, 1);
    CU_ASSERT_EQUAL(rig.status, NF_ERR_RANGE);
    lost(&rig, 0, NF_LOSS_SILENT);
    join(&rig, 0, 3);
    CU_ASSERT_EQUAL(rig.status, NF_ERR_RANGE); /* had 2 */
    join(&rig, 0, 1);
    CU_ASSERT_EQUAL(rig.status, NF_OK);
    CU_ASSERT_EQUAL(stats(&rig).live_slots, 1);
    join(&rig, 1, 2);
    CU_ASSERT_EQUAL(rig.status, NF_OK);
    CU_ASSERT_EQUAL(stats(&rig).live_slots, 3);
    nf_farm_destroy(rig.farm);
}

static void test_silence(void)
{
    struct rig rig = { .config.silence_limit_us = 1600 };
    struct nf_actions acts;
    int64_t lost_us = -1;

    open_rig(&rig, "send", 100);
    CU_ASSERT_EQUAL(rig.wake_us, INT64_MAX);
    join(&rig, 0, 1);
    join(&rig, 1, 1);
    forget(&rig);
    while (rig.now_us < 10000) {
        CU_ASSERT(rig.wake_us - rig.now_us <= 1600 / 16 + 1);
        rig.now_us = rig.wake_us;
        nf_farm_heard(rig.farm, 0, rig.now_us);
        take(&rig, nf_farm_timer(rig.farm, rig.now_us, &acts), &acts);
        if (lost_us < 0 && count(&rig, NF_ACT_LOST) > 0)
            lost_us = rig.now_us;
    }
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_LOST), 1);
    CU_ASSERT_EQUAL(find(&rig, NF_ACT_LOST).slave, 1);
    CU_ASSERT(lost_us > 1600 && lost_us <= 1600 + 2 * (1600 / 16 + 1));
    CU_ASSERT_EQUAL(stats(&rig).live_slaves, 1);
    CU_ASSERT_EQUAL(stats(&rig).returned, 1);
    lost(&rig, 1, NF_LOSS_EXITED); /* no news */
    CU_ASSERT_EQUAL(stats(&rig).lost_slaves, 1);
    nf_farm_heard(rig.farm, 99, 10000);
    nf_farm_destroy(rig.farm);
}

/* ---- policies that are odd ---- */

static size_t odd_size(const struct nf_policy_env *env)
{
    (void)env;
    return sizeof(uint32_t);
}

static enum nf_status odd_init(void *st, const struct nf_policy_env *env,
                               const struct nf_param_value *values,
                               struct nf_error *err)
{
    (void)st;
    (void)env;
    (void)values;
    (void)err;
    return NF_OK;
}

/* One chunk of two for each slot, as a static policy does. */
static enum nf_status two_each(void *st, uint32_t slot, uint64_t left,
                               uint64_t *units_p)
{
    uint32_t *had = st;

    if (*had >> slot & 1)
        return NF_WAIT;
    *had |= UINT32_C(1) << slot;
    *units_p = left < 2 ? left : 2;
    return NF_OK;
}

static const struct nf_sizer_ops sizer_two_each = {
    .name = "two",
    .state_size = odd_size,
    .init = odd_init,
    .next = two_each,
};

static enum nf_status pick_dead(void *st, const struct nf_pool_view *pool,
                                int64_t now_us, uint32_t *slot_p,
                                int64_t *wake_us_p)
{
    (void)st;
    (void)pool;
    (void)now_us;
    (void)wake_us_p;
    *slot_p = 5;
    return NF_OK;
}

static const struct nf_pacer_ops pacer_dead = {
    .name = "dead",
    .state_size = odd_size,
    .init = odd_init,
    .pick = pick_dead,
};

static void open_odd(struct rig *rig, uint64_t units)
{
    rig->config.units = units;
    rig->policy.sizer = &sizer_two_each;
    rig->policy.pacer = &nf_pacer_pull;
    rig->policy.grain_units = 1;
    open_policy(rig);
}

static void test_refusal(void)
{
    struct rig rig = { 0 };
    struct nf_action two;

    open_odd(&rig, 8);
    join(&rig, 0, 1);
    join(&rig, 1, 1);
    join(&rig, 2, 1);
    CHECK_SEND(rig.said[2], 2, 4, 2, 0);
    two = rig.said[2];
    forget(&rig);
    answer(&rig, &(struct nf_action){ .slave = 0,
                                      .lease = rig.said[0].lease,
                                      .first = 0,
                                      .count = 2 });
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_SEND), 0); /* 0 had its share */
    forget(&rig);
    lost(&rig, 1, NF_LOSS_SILENT);
    CHECK_SEND(rig.said[0], 0, 2, 1, 0); /* but these came back */
    answer(&rig, &rig.said[0]);
    CHECK_SEND(rig.said[2], 0, 3, 1, 0);
    answer(&rig, &rig.said[2]);
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_SEND), 2); /* 6 and 7 are for others */
    forget(&rig);
    answer(&rig, &two); /* now nobody is left to have them by right */
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_SEND), 2);
    CHECK_SEND(rig.said[1], rig.said[1].slave, 6, 1, 0);
    answer(&rig, &rig.said[1]);
    answer(&rig, &rig.said[2]);
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_DONE), 1);
    nf_farm_destroy(rig.farm);
}

/* A pacer that picks a slot that is not there: an assert, and without asserts
 * as if it had said nothing. */
static void test_bad_pacer(void)
{
    int status = 0;
    pid_t child;

    fflush(NULL);
    child = fork();
    if (child == 0) {
        struct rig rig = { 0 };
        struct nf_actions acts;

        if (!freopen("/dev/null", "w", stderr))
            _exit(9);
        rig.config.units = 6;
        rig.policy.sizer = &nf_sizer_gss;
        rig.policy.pacer = &pacer_dead;
        open_policy(&rig);
        nf_farm_join(rig.farm, 0, 1, 0, &acts);
        _exit(acts.count == 0 && acts.wake_us == INT64_MAX ? 0 : 1);
    }
    CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
#ifdef NDEBUG
    CU_ASSERT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
#else
    CU_ASSERT(WIFSIGNALED(status));
#endif
}

static void test_deaf(void)
{
    struct rig rig = { 0 };

    open_rig(&rig, "presend-round:td=10us", 4);
    join(&rig, 0, 1);
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_SEND), 1);
    CU_ASSERT_TRUE(nf_farm_is_deaf(rig.farm));
    CU_ASSERT_EQUAL(rig.wake_us, 10);
    /* who does not care may well take results */
    answer(&rig, &rig.said[0]);
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_ACCEPT), 1);
    for (rig.now_us = 10; rig.now_us <= 30; rig.now_us += 10)
        settle(&rig);
    CU_ASSERT_EQUAL(count(&rig, NF_ACT_SEND), 4);
    CU_ASSERT_FALSE(nf_farm_is_deaf(rig.farm)); /* nothing to wait for */
    nf_farm_destroy(rig.farm);
}

static void test_bad_config(void)
{
    struct nf_policy policy;
    struct nf_farm_config config = { .units = 1,
                                     .policy = &policy,
                                     .slots = 1,
                                     .max_slots = 1,
                                     .max_attempts = 1 };
    struct nf_farm_config bad;
    struct nf_farm *farm = NULL;

    CU_ASSERT_EQUAL(nf_policy_parse("send", &policy, NULL), NF_OK);
    bad = config;
    bad.slots = 0;
    CU_ASSERT_EQUAL(nf_farm_create(&bad, &farm, NULL), NF_ERR_INVAL);
    bad = config;
    bad.slots = 2;
    CU_ASSERT_EQUAL(nf_farm_create(&bad, &farm, NULL), NF_ERR_INVAL);
    bad = config;
    bad.max_attempts = 0;
    CU_ASSERT_EQUAL(nf_farm_create(&bad, &farm, NULL), NF_ERR_INVAL);
    bad = config;
    bad.silence_limit_us = -1;
    CU_ASSERT_EQUAL(nf_farm_create(&bad, &farm, NULL), NF_ERR_INVAL);
#if !defined(__SANITIZE_ADDRESS__) /* which aborts */
    bad = config;
    bad.units = UINT64_MAX;
    CU_ASSERT_EQUAL(nf_farm_create(&bad, &farm, NULL), NF_ERR_NOMEM);
#endif
    CU_ASSERT_PTR_NULL(farm);
    nf_farm_destroy(NULL);
}

/* ---- memory ---- */

/* A life with all kinds of events, up to the first failed allocation. */
static enum nf_status short_life(struct rig *rig)
{
    struct nf_actions acts;

    if (nf_policy_parse("fixed+window:w=0", &rig->policy, NULL))
        return NF_ERR_NOMEM;
    rig->config = (struct nf_farm_config){
        2000, &rig->policy, 2, 8, 3, 0, 1, true, 0
    };
    rig->wake_us = INT64_MAX;
    if (nf_farm_create(&rig->config, &rig->farm, NULL))
        return NF_ERR_NOMEM;
    take(rig, nf_farm_join(rig->farm, 0, 2, 0, &acts), &acts);
    if (rig->status == NF_OK)
        take(rig, nf_farm_join(rig->farm, 1, 2, 0, &acts), &acts);
    while (rig->status == NF_OK && rig->wake_us <= 0)
        take(rig, nf_farm_timer(rig->farm, 0, &acts), &acts);
    for (size_t i = 0; i < 100 && rig->status == NF_OK; i++)
        take(rig,
             nf_farm_unit_failed(rig->farm, rig->said[i].slave,
                                 rig->said[i].lease, rig->said[i].first, 0,
                                 &acts),
             &acts);
    if (rig->status == NF_OK)
        take(rig, nf_farm_lost(rig->farm, 0, NF_LOSS_EXITED, 0, &acts), &acts);
    return rig->status;
}

static void test_out_of_memory(void)
{
    static struct rig rig;
    enum nf_status status = NF_ERR_NOMEM;
    struct nf_actions acts;
    long n;

    for (n = 0; status == NF_ERR_NOMEM && n < 1000; n++) {
        memset(&rig, 0, sizeof(rig));
        nf_alloc_fail_after(n);
        status = short_life(&rig);
        nf_alloc_fail_after(-1);
        if (!rig.farm)
            continue;
        stats(&rig); /* checks that nothing is lost */
        CU_ASSERT_EQUAL(nf_farm_cancel(rig.farm, 0, &acts), NF_OK);
        CU_ASSERT_EQUAL(acts.count, 1);
        nf_farm_destroy(rig.farm);
    }
    CU_ASSERT_EQUAL(status, NF_OK);
    CU_ASSERT(n > 12);
}

static size_t heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

/* Pending units cost bits; and even if a policy hands out all of them one by
 * one at once, less than 64 bytes each. */
static void test_memory(void)
{
    enum { PENDING = 10000000, LEASED = 1000000 };
    static struct rig rig;
    struct nf_actions acts;
    size_t before = heap_bytes();

    memset(&rig, 0, sizeof(rig));
    open_rig(&rig, "send", PENDING);
    join(&rig, 0, 1);
    CU_ASSERT(heap_bytes() - before < PENDING);
    nf_farm_destroy(rig.farm);
    memset(&rig, 0, sizeof(rig));
    before = heap_bytes();
    open_rig(&rig, "fixed+window:w=0", LEASED);
    join(&rig, 0, 1);
    CU_ASSERT_EQUAL(stats(&rig).leased, LEASED);
    CU_ASSERT(heap_bytes() - before < (size_t)64 * LEASED);
    if (heap_bytes() > 0) /* sanitizers and valgrind have heaps of their own */
        CU_ASSERT(heap_bytes() - before > (size_t)32 * LEASED);
    CU_ASSERT_EQUAL(nf_farm_lost(rig.farm, 0, NF_LOSS_SILENT, 0, &acts), NF_OK);
    CU_ASSERT_EQUAL(stats(&rig).returned, LEASED);
    CU_ASSERT(heap_bytes() - before < (size_t)64 * LEASED);
    nf_farm_destroy(rig.farm);
}

/* One event does not send a whole job. */
static void test_sends_per_event(void)
{
    static struct rig rig;
    struct nf_actions acts;

    memset(&rig, 0, sizeof(rig));
    open_rig(&rig, "fixed+window:w=0", 100000);
    nf_farm_join(rig.farm, 0, 1, 0, &acts);
    while (acts.count == 0 && acts.wake_us == 0)
        nf_farm_timer(rig.farm, 0, &acts);
    CU_ASSERT(acts.count > 1 && acts.count <= 1024);
    CU_ASSERT_EQUAL(acts.wake_us, 0);
    nf_farm_destroy(rig.farm);
}

static void test_bad_phases(void)
{
    struct nf_policy policy;
    struct nf_error err = { .text = "" };
    struct nf_farm_config config = { .units = 10,
                                     .policy = &policy,
                                     .slots = 1,
                                     .max_slots = 1,
                                     .max_attempts = 1,
                                     .phases = 2 };
    struct nf_farm *farm;

    CU_ASSERT_EQUAL_FATAL(nf_policy_parse("gss", &policy, &err), NF_OK);
    CU_ASSERT_EQUAL(nf_farm_create(&config, &farm, &err), NF_ERR_INVAL);
    config.hold = true;
    config.phases = NF_PHASES_MOST + 1;
    CU_ASSERT_EQUAL(nf_farm_create(&config, &farm, &err), NF_ERR_INVAL);
    config.phases = 2;
    config.units = NF_PHASE_UNITS_MOST + 1;
    CU_ASSERT_EQUAL(nf_farm_create(&config, &farm, &err), NF_ERR_INVAL);
}

static CU_TestInfo course_tests[] = {
    { "every unit is handed out and accepted once", test_plain },
    { "without units it is done at the first event", test_no_units },
    { "a lease is answered in order, in parts", test_parts },
    { "a cancel ends it at once, and only once", test_cancel },
    { "one event sends a bounded number of chunks", test_sends_per_event },
    { "a rejoining slave keeps its slots and gets no more", test_rejoin },
    { "a silent slave is lost after the limit", test_silence },
    { "a bad configuration is refused", test_bad_config },
    { "phases out of range are refused", test_bad_phases },
    CU_TEST_INFO_NULL,
};

static CU_TestInfo policy_tests[] = {
    { "what a sizer keeps for nobody is handed out in the end", test_refusal },
    { "a pacer that picks a slot that is not there does no harm",
      test_bad_pacer },
    { "the paper's loop is deaf while it sleeps", test_deaf },
    CU_TEST_INFO_NULL,
};

static CU_TestInfo memory_tests[] = {
    { "running out of memory loses no unit", test_out_of_memory },
    { "a pending unit costs less than a byte, a leased one less than 64",
      test_memory },
    CU_TEST_INFO_NULL,
};

static CU_SuiteInfo suites[] = {
    { "course", NULL, NULL, NULL, NULL, course_tests },
    { "policies", NULL, NULL, NULL, NULL, policy_tests },
    { "memory", NULL, NULL, NULL, NULL, memory_tests },
    CU_SUITE_INFO_NULL,
};

/* Give @p act's unit back. */
static void bench_answer(struct nf_farm *farm, struct nf_action *act)
{
    struct nf_actions acts;

    nf_farm_result(farm, act->slave, act->lease, act->first, 1, NULL, 0, &acts);
    for (size_t i = 0; i < acts.count; i++)
        if (acts.list[i].kind == NF_ACT_SEND)
            *act = acts.list[i];
}

/* CPU time of the farm a unit, for looking at: it must not grow with N. */
static void bench(uint64_t units)
{
    enum { SLAVES = 8, WINDOW = 2 };
    struct nf_policy policy;
    struct nf_farm_config config = { .units = units,
                                     .policy = &policy,
                                     .slots = SLAVES,
                                     .max_slots = SLAVES,
                                     .max_attempts = 3,
                                     .seed = 1 };
    struct nf_action out[SLAVES * WINDOW];
    struct nf_actions acts;
    struct nf_farm *farm;
    size_t nout = 0;
    clock_t start;

    if (nf_policy_parse("fixed+window:w=2", &policy, NULL) ||
        nf_farm_create(&config, &farm, NULL))
        return;
    for (uint32_t i = 0; i < SLAVES; i++)
        nf_farm_join(farm, i, 1, 0, &acts);
    nf_farm_timer(farm, 0, &acts);
    for (size_t i = 0; i < acts.count && nout < SLAVES * WINDOW; i++)
        out[nout++] = acts.list[i];
    start = clock();
    for (uint64_t unit = 0; nout > 0 && unit < units; unit++)
        bench_answer(farm, &out[unit % nout]);
    printf("%10llu units  %6.0f ns a unit\n", (unsigned long long)units,
           1e9 * (double)(clock() - start) / CLOCKS_PER_SEC / (double)units);
    nf_farm_destroy(farm);
}

int main(int argc, char **argv)
{
    if (argc != 2 || strcmp(argv[1], "--bench") != 0)
        return nf_unit_main(suites);
    for (uint64_t units = 10000; units <= 10000000; units *= 10)
        bench(units);
    return 0;
}
