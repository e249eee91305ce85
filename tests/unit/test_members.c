/* How the engine keeps count of hosts and slaves, over a transport that is a
 * script: what its slaves do is decided here. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "master/engine_internal.h"
#include "tests/unit/nf_unit.h"
#include "tests/unit/scripted_net.h"

/* -------------------------------------------------------------------------- */

static void hold_lease_of_1(uint32_t peer, const struct nf_lease_msg *m)
{
    if (peer == 0) {
        post_result(peer, m);
        return;
    }
    fake.crowd = true;
    fake.until_us = nf_now_us() + 1500000;
}

/* A slave with a long unit must go on hearing from its master, whatever the
 * others have to say: it would take it for dead. */
static void test_pings_in_a_crowd(void)
{
    struct nf_report report;
    struct nf_error err;

    init(hold_lease_of_1);
    /* slave 1 never answers: it is given up when the crowd is gone */
    CU_ASSERT_EQUAL(run(20, 2, 2000000, &report, &err), NF_OK);
    CU_ASSERT(fake.pings[1] >= 1);
    CU_ASSERT_EQUAL(collected, 20);
    CU_ASSERT_EQUAL(report.lost_slaves, 1);
}

static void give_result(uint32_t peer, const struct nf_lease_msg *m)
{
    post_result(peer, m);
}

/* It has the job and no units yet: replaced, and in the report. */
static void test_lost_before_it_joined(void)
{
    struct nf_report report;
    struct nf_error err;

    for (int when = 1; when <= 2; when++) {
        init(give_result);
        fake.shared = true;
        fake.die_early = when;
        CU_ASSERT_EQUAL(run(20, 2, 2000000, &report, &err), NF_OK);
        CU_ASSERT_EQUAL(fake.spawned, 3);
        CU_ASSERT_EQUAL(collected, 20);
        CU_ASSERT_EQUAL(report.lost_slaves, 1);
        CU_ASSERT_EQUAL(report.nlost, 1);
        CU_ASSERT_EQUAL(report.lost[0].slave, 0);
        CU_ASSERT_STRING_EQUAL(report.lost[0].host, "alone");
    }
    /* a program that does not start is no slave that was lost */
    init(give_result);
    fake.die_early = 1;
    CU_ASSERT_EQUAL(run(20, 2, 2000000, &report, &err), NF_OK);
    CU_ASSERT_EQUAL(fake.spawned, 3);
    CU_ASSERT_EQUAL(report.lost_slaves, 0);
}

static void die_at_3_and_4(uint32_t peer, const struct nf_lease_msg *m)
{
    if (m->first == 3 || m->first == 4)
        post(NF_NET_LEFT, peer);
    else
        post_result(peer, m);
}

/* The host is not to blame for them. */
static void test_deadly_units_in_a_row(void)
{
    struct nf_report report;
    struct nf_error err;

    init(die_at_3_and_4);
    CU_ASSERT_EQUAL(run(10, 1, 60000000, &report, &err), NF_ERR_FAILED);
    CU_ASSERT_EQUAL(collected, 8);
    CU_ASSERT_EQUAL(report.failed_units, 2);
    CU_ASSERT_EQUAL(fake.spawned, 7);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "2 of 10 units given up"));
}

static void die_always(uint32_t peer, const struct nf_lease_msg *m)
{
    (void)m;
    post(NF_NET_LEFT, peer);
}

static void test_every_unit_deadly(void)
{
    struct nf_report report;
    struct nf_error err;

    init(die_always);
    CU_ASSERT_EQUAL(run(4, 1, 60000000, &report, &err), NF_ERR_FAILED);
    CU_ASSERT_EQUAL(collected, 0);
    CU_ASSERT_EQUAL(report.failed_units, 4);
    CU_ASSERT_EQUAL(report.nfailures, 4);
}

static void peer_0_is_silent(uint32_t peer, const struct nf_lease_msg *m)
{
    if (peer == 0)
        return;
    if (m->first == 0 || m->attempts > 0)
        post(NF_NET_LEFT, 0); /* again and again: of no effect */
    post_result(peer, m);
}

static void test_silent_slave_is_replaced_once(void)
{
    struct nf_report report;
    struct nf_error err;

    init(peer_0_is_silent);
    CU_ASSERT_EQUAL(run(10, 1, 200000, &report, &err), NF_OK);
    CU_ASSERT_EQUAL(collected, 10);
    CU_ASSERT_EQUAL(fake.spawned, 2);
    CU_ASSERT_EQUAL(report.lost_slaves, 1);
}

static void answer(uint32_t peer, const struct nf_lease_msg *m)
{
    post_result(peer, m);
}

/* A peer whose hello was refused below has a number and nothing else. */
static void test_number_without_a_slave(void)
{
    struct nf_report report;
    struct nf_error err;

    init(answer);
    fake.bad_first = true;
    CU_ASSERT_EQUAL(run(10, 1, 200000, &report, &err), NF_OK);
    CU_ASSERT_EQUAL(collected, 10);
    CU_ASSERT_EQUAL(fake.spawned, 1);
    CU_ASSERT_EQUAL(fake.kills, 0);
    CU_ASSERT_EQUAL(report.slaves, 1);
}

/* ------------------------------------------------- results that are gathered
 */

static void init_gather(void (*gather)(uint32_t, const struct nf_gather_msg *),
                        void (*group)(uint32_t, const struct nf_group_msg *))
{
    init(answer);
    fake.way = "tree";
    fake.gather = gather;
    fake.group = group;
}

/* All that was asked for, of 8 bytes a unit. */
static void hold_all(uint32_t peer, const struct nf_gather_msg *m)
{
    struct nf_holding_msg holding = { .round = m->round,
                                      .layout.unit_bytes = 8 };

    for (uint64_t i = 0; i < m->nranges; i++) {
        uint64_t first, count;

        nf_gather_range(m, i, &first, &count);
        holding.count += count;
    }
    holding.bytes = 8 * holding.count;
    CU_ASSERT_EQUAL(nf_put_holding(&fake.body, &holding, NULL), NF_OK);
    post_message(peer, NF_MSG_HOLDING);
}

static void end_group(uint32_t peer, uint64_t id, uint32_t culprit)
{
    struct nf_group_end_msg end = { .id = id,
                                    .culprit = culprit,
                                    .reason = "as the script says" };

    CU_ASSERT_EQUAL(nf_put_group_end(&fake.body, &end), NF_OK);
    post_message(peer, NF_MSG_GROUP_END);
}

/* Slave 0 says each time that it is slave 1's fault. */
static void blame_1(uint32_t peer, const struct nf_group_msg *m)
{
    (void)peer;
    if (fake.kills > 0)
        fake.stop = 1;
    else if (m->rank == m->count - 1) /* the last one that hears of it */
        end_group(0, m->id, fake.rank_of[1]);
}

static void test_guilty_member_is_put_out(void)
{
    struct nf_report report;
    struct nf_error err;

    init_gather(hold_all, blame_1);
    CU_ASSERT_EQUAL(run(30, 3, 60000000, &report, &err), NF_ERR_INTERRUPTED);
    CU_ASSERT_EQUAL(fake.kills, 1);
    CU_ASSERT_EQUAL(fake.killed, 1);
    CU_ASSERT_EQUAL(report.gathers, 3 + 1);
    CU_ASSERT_EQUAL(report.lost_slaves, 1);
    CU_ASSERT_TRUE(report.recomputed > 0 && report.recomputed < 30);
    CU_ASSERT_EQUAL(fake.spawned, 4);
}

static void blame_nobody(uint32_t peer, const struct nf_group_msg *m)
{
    if (peer == 0)
        end_group(0, m->id, NF_GROUP_NOBODY);
}

static void test_nobody_is_guilty(void)
{
    struct nf_report report;
    struct nf_error err;

    init_gather(hold_all, blame_nobody);
    CU_ASSERT_EQUAL(run(30, 3, 60000000, &report, &err), NF_ERR_FAILED);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "can't be gathered"));
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "as the script says"));
    CU_ASSERT_EQUAL(report.gathers, 3);
    CU_ASSERT_EQUAL(report.done_units, 0);
    CU_ASSERT_EQUAL(fake.kills, 0);
}

static void all_die_but_0(uint32_t peer, const struct nf_gather_msg *m)
{
    if (peer == 0)
        hold_all(peer, m);
    else
        post(NF_NET_LEFT, peer);
}

static void stop_job(uint32_t peer, const struct nf_group_msg *m)
{
    (void)peer;
    (void)m;
    fake.stop = 1;
}

/* Each time half as much is lost: the job would go on for long. */
static void test_host_of_lost_holders(void)
{
    struct nf_report report;
    struct nf_error err;

    init_gather(all_die_but_0, stop_job);
    CU_ASSERT_EQUAL(run(1000, 2, 60000000, &report, &err), NF_ERR_INTERRUPTED);
    CU_ASSERT_EQUAL(report.gathers, 3 + 2 + 1 + 1);
    CU_ASSERT_EQUAL(fake.spawned, 2 + 3 + 2); /* the sixth gets no successor */
}

/* The newest slave can't open its end of any group. */
static void newest_fails(uint32_t peer, const struct nf_group_msg *m)
{
    if (m->count == 2) /* slave 0 is left alone */
        fake.stop = 1;
    else if (peer == fake.npeers - 1)
        end_group(peer, m->id, m->rank);
}

static void test_host_of_bad_members(void)
{
    struct nf_report report;
    struct nf_error err;

    init_gather(hold_all, newest_fails);
    CU_ASSERT_EQUAL(run(1000, 2, 60000000, &report, &err), NF_ERR_INTERRUPTED);
    CU_ASSERT_EQUAL(fake.kills, 3 + 2 + 1);
    CU_ASSERT_EQUAL(report.gathers, 3 * (3 + 2 + 1) + 1);
    CU_ASSERT_EQUAL(fake.spawned, 2 + 3 + 2);
}

static void everybody_dies(uint32_t peer, const struct nf_gather_msg *m)
{
    (void)m;
    post(NF_NET_LEFT, peer);
}

static void test_results_lost_for_ever(void)
{
    struct nf_report report;
    struct nf_error err;

    init_gather(everybody_dies, stop_job);
    CU_ASSERT_EQUAL(run(20, 2, 60000000, &report, &err), NF_ERR_FAILED);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "lost again and again"));
    /* three tries a unit, and what one slave had */
    CU_ASSERT_TRUE(report.recomputed > 3 * 20 && report.recomputed <= 4 * 20);
}

static void refuse_1(uint32_t peer, const struct nf_gather_msg *m)
{
    if (peer == 0) {
        hold_all(peer, m);
        return;
    }
    CU_ASSERT_EQUAL(nf_put_text(&fake.body, "out of memory"), NF_OK);
    post_message(peer, NF_MSG_REFUSE);
    post(NF_NET_LEFT, peer);
}

static void test_holder_without_memory(void)
{
    struct nf_report report;
    struct nf_error err;

    init_gather(refuse_1, stop_job);
    CU_ASSERT_EQUAL(run(20, 2, 60000000, &report, &err), NF_ERR_INTERRUPTED);
    CU_ASSERT_EQUAL(report.gathers, 2);
    CU_ASSERT_EQUAL(report.lost_slaves, 1);
    CU_ASSERT_EQUAL(fake.spawned, 2); /* a new one would fare no better */
}

/* Slave i of an engine is ready. */
static void get_ready(struct engine *e, uint32_t i, int64_t now_us)
{
    struct nf_ready_msg ready = { .slots = 1 };
    struct nf_net_event event = { .kind = NF_NET_MESSAGE, .peer = i };

    CU_ASSERT_EQUAL(nf_put_ready(&fake.body, &ready), NF_OK);
    event.msg.body = fake.body.data;
    event.msg.body_bytes = fake.body.bytes;
    nf_members_ready(e, &event, now_us);
    CU_ASSERT_EQUAL(e->slaves[i].state, SLAVE_READY);
}

/* While somebody is awaited, 0.3 s for each that is ready, and 1 s in all; anew
 * where all who were ready have been lost. */
static void test_who_is_waited_for(void)
{
    struct slave slaves[5];
    struct spawn spawn = { .missing = 1 };
    struct engine e = {
        .slaves = slaves, .nslaves = 5, .spawns = &spawn, .nspawns = 1
    };

    init(give_result);
    memset(slaves, 0, sizeof(slaves));
    CU_ASSERT_FALSE(nf_members_time_to_begin(&e, 5000000));
    get_ready(&e, 0, 1000000);
    CU_ASSERT_FALSE(nf_members_time_to_begin(&e, 1299999));
    CU_ASSERT(nf_members_time_to_begin(&e, 1300000));
    /* it is lost before the job begins */
    slaves[0].state = SLAVE_GONE;
    e.ready_slaves--;
    CU_ASSERT_FALSE(nf_members_time_to_begin(&e, 2100000));
    for (uint32_t i = 1; i < 5; i++) {
        get_ready(&e, i, 2000000 + 250000 * (int64_t)i);
        CU_ASSERT_FALSE(
            nf_members_time_to_begin(&e, 2240000 + 250000 * (int64_t)i));
    }
    CU_ASSERT_FALSE(nf_members_time_to_begin(&e, 3249999));
    CU_ASSERT(nf_members_time_to_begin(&e, 3250000));
    slaves[4].state = SLAVE_NEW;
    CU_ASSERT_FALSE(nf_members_time_to_begin(&e, 3240000));
    slaves[4].state = SLAVE_READY;
    spawn.missing = 0; /* nobody is awaited */
    CU_ASSERT(nf_members_time_to_begin(&e, 3000001));
    for (uint32_t i = 0; i < 5; i++)
        nf_free(slaves[i].slots);
    nf_free(e.peer_of);
    nf_body_fini(&fake.body);
}

static CU_TestInfo tests[] = {
    { "slaves are waited for as long as others come", test_who_is_waited_for },
    { "a slave is pinged however much the others talk", test_pings_in_a_crowd },
    { "a slave that dies before it joins is counted",
      test_lost_before_it_joined },
    { "units that kill in a row don't cost the host",
      test_deadly_units_in_a_row },
    { "a job of deadly units ends", test_every_unit_deadly },
    { "a silent slave is replaced once", test_silent_slave_is_replaced_once },
    { "a peer that is no slave counts for nothing",
      test_number_without_a_slave },
    { "who spoils three gathers is put out", test_guilty_member_is_put_out },
    { "gathers that fail by nobody's fault end the job",
      test_nobody_is_guilty },
    { "a host that loses holders again and again gets no more",
      test_host_of_lost_holders },
    { "... nor does one whose slaves are put out", test_host_of_bad_members },
    { "a job whose results are always lost ends", test_results_lost_for_ever },
    { "a slave that has no memory to give is not replaced",
      test_holder_without_memory },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "members", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    alarm(120); /* a hang is a failure */
    return nf_unit_main(suites);
}
