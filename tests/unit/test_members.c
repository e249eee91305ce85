/* How the engine keeps count of hosts and slaves, over a transport that is a
 * script: what its slaves do is decided here. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "master/engine.h"
#include "tests/unit/nf_unit.h"

enum { EVENTS_MOST = 4096 };

static const struct nf_net_ops scripted;

/* The transport and everything that it was told. */
static struct {
    struct nf_net net;
    struct nf_net_event events[EVENTS_MOST];
    size_t first, count;
    uint32_t npeers, spawned, kills;
    uint32_t pings[64]; /* in the crowd */
    struct nf_body body;
    /* the script */
    void (*lease)(uint32_t peer, const struct nf_lease_msg *m);
    bool crowd;       /* peer 0 talks without end */
    bool bad_first;   /* the first hello does not decode */
    int die_early;    /* peer 0 does: 1: before it is ready, 2: as it is */
    bool shared;      /* there are shared data */
    int64_t until_us; /* the crowd goes home then */
    /* results that are gathered */
    const char *way;
    void (*gather)(uint32_t peer, const struct nf_gather_msg *m);
    void (*group)(uint32_t peer, const struct nf_group_msg *m);
    uint32_t killed;      /* the last one */
    uint32_t rank_of[64]; /* in the group */
    struct nf_mesh *meshes[64];
    uint32_t nmeshes;
    volatile int stop;
} fake;

static unsigned collected;

static struct nf_net_event *post(enum nf_net_event_kind kind, uint32_t peer)
{
    struct nf_net_event *event = &fake.events[fake.first + fake.count++];

    if (fake.first + fake.count > EVENTS_MOST)
        abort();
    memset(event, 0, sizeof(*event));
    event->kind = kind;
    event->peer = peer;
    return event;
}

/* The body in fake.body, as a message. */
static void post_message(uint32_t peer, enum nf_msg_kind kind)
{
    struct nf_net_event *event = post(NF_NET_MESSAGE, peer);
    uint8_t *copy = malloc(fake.body.bytes + 1); /* freed by scripted_next */

    event->msg.kind = kind;
    memcpy(copy, fake.body.data, fake.body.bytes);
    event->msg.body = copy;
    event->msg.body_bytes = fake.body.bytes;
}

static void post_result(uint32_t peer, const struct nf_lease_msg *lease)
{
    struct nf_result_msg m = {
        .lease = lease->lease,
        .first = lease->first,
        .count = lease->count,
        .last = true,
    };

    CU_ASSERT_EQUAL(nf_put_result(&fake.body, &m, NULL), NF_OK);
    post_message(peer, NF_MSG_RESULT);
}

static enum nf_status scripted_open(const struct nf_net_config *config,
                                    struct nf_net **net_p, struct nf_error *err)
{
    (void)config;
    (void)err;
    fake.net.ops = &scripted;
    post(NF_NET_HOST_UP, NF_NO_PEER)->host = "alone";
    *net_p = &fake.net;
    return NF_OK;
}

static enum nf_status scripted_spawn(struct nf_net *net, const char *host,
                                     uint32_t count, uint32_t spawn_id)
{
    (void)net;
    (void)host;
    fake.spawned += count;
    while (count-- > 0) {
        struct nf_hello hello = { .wire_version = NF_WIRE_VERSION,
                                  .spawn_id = spawn_id,
                                  .cores = 1 };

        snprintf(hello.version, sizeof(hello.version), "%s", nf_version());
        CU_ASSERT_EQUAL(nf_put_hello(&fake.body, &hello), NF_OK);
        if (fake.bad_first && fake.npeers == 0)
            fake.npeers = 1; /* a stranger has taken the first number */
        post_message(fake.npeers++, NF_MSG_HELLO);
    }
    return NF_OK;
}

static enum nf_status scripted_send(struct nf_net *net, uint32_t peer,
                                    const struct nf_msg *msg)
{
    struct nf_ready_msg ready = { .slots = 1 };
    struct nf_lease_msg lease;
    struct nf_gather_msg gather;
    struct nf_group_msg group;

    (void)net;
    if (msg->kind == NF_MSG_JOB && peer == 0 && fake.die_early == 1) {
        post(NF_NET_LEFT, peer);
    } else if (msg->kind == NF_MSG_JOB) {
        CU_ASSERT_EQUAL(nf_put_ready(&fake.body, &ready), NF_OK);
        post_message(peer, NF_MSG_READY);
        if (peer == 0 && fake.die_early == 2)
            post(NF_NET_LEFT, peer);
    } else if (msg->kind == NF_MSG_LEASE) {
        CU_ASSERT_EQUAL(nf_get_lease(msg->body, msg->body_bytes, &lease),
                        NF_OK);
        fake.lease(peer, &lease);
    } else if (msg->kind == NF_MSG_GATHER) {
        CU_ASSERT_EQUAL(nf_get_gather(msg->body, msg->body_bytes, &gather),
                        NF_OK);
        fake.gather(peer, &gather);
    } else if (msg->kind == NF_MSG_GROUP) {
        CU_ASSERT_EQUAL(nf_get_group(msg->body, msg->body_bytes, &group),
                        NF_OK);
        fake.rank_of[peer] = group.rank;
        fake.group(peer, &group);
    } else if (msg->kind == NF_MSG_PING) {
        fake.pings[peer] += fake.crowd && nf_now_us() < fake.until_us;
    }
    return NF_OK;
}

static enum nf_status scripted_next(struct nf_net *net,
                                    struct nf_net_event *event_p)
{
    static uint8_t *last;

    (void)net;
    free(last);
    last = NULL;
    if (fake.count > 0) {
        *event_p = fake.events[fake.first++];
        if (--fake.count == 0)
            fake.first = 0;
        last = (uint8_t *)(uintptr_t)event_p->msg.body;
        return NF_OK;
    }
    if (!fake.crowd || nf_now_us() > fake.until_us)
        return NF_WAIT;
    memset(event_p, 0, sizeof(*event_p));
    event_p->kind = NF_NET_MESSAGE;
    event_p->msg.kind = NF_MSG_HEARTBEAT;
    return NF_OK;
}

static size_t scripted_fds(struct nf_net *net, const int **fds_p)
{
    static const int none = -1;

    (void)net;
    *fds_p = &none;
    return 0;
}

static void scripted_drop(struct nf_net *net, uint32_t peer, bool kill)
{
    (void)net;
    fake.kills += kill;
    if (kill)
        fake.killed = peer;
}

/* The other members are silent. */
static void close_meshes(void)
{
    while (fake.nmeshes > 0)
        nf_mesh_close(fake.meshes[--fake.nmeshes]);
}

static enum nf_status scripted_mesh(struct nf_net *net, const uint32_t *members,
                                    uint32_t count, struct nf_group_msg *msg_p,
                                    int *tids_p, struct nf_mesh **mesh_p,
                                    struct nf_error *err)
{
    (void)net;
    close_meshes();
    for (uint32_t i = 0; i < count; i++)
        tids_p[i] = (int)members[i];
    msg_p->count = count;
    if (nf_mesh_open_local(count, fake.meshes, err) != NF_OK)
        return NF_ERR_NOMEM;
    *mesh_p = fake.meshes[0]; /* the master is the first member */
    fake.nmeshes = count - 1;
    memmove(fake.meshes, fake.meshes + 1,
            fake.nmeshes * sizeof(struct nf_mesh *));
    return NF_OK;
}

static void scripted_close(struct nf_net *net)
{
    struct nf_net_event event;

    fake.crowd = false;
    while (scripted_next(net, &event) == NF_OK)
        ;
    close_meshes();
    nf_body_fini(&fake.body);
}

static const struct nf_net_ops scripted = {
    .name = "scripted",
    .open = scripted_open,
    .spawn = scripted_spawn,
    .send = scripted_send,
    .next = scripted_next,
    .fds = scripted_fds,
    .drop = scripted_drop,
    .mesh = scripted_mesh,
    .close = scripted_close,
};

static int never(const struct nf_work *work)
{
    (void)work;
    return 1;
}

static enum nf_status collect(void *user, uint64_t unit, const void *result,
                              size_t bytes)
{
    (void)user;
    (void)unit;
    (void)result;
    (void)bytes;
    collected++;
    return NF_OK;
}

static enum nf_status share(void *user, struct nf_buf *out)
{
    static const char data[] = "shared";

    (void)user;
    return nf_buf_append(out, data, sizeof(data));
}

static void hush(void *user, const char *line)
{
    (void)user;
    (void)line;
}

static void init(void (*lease)(uint32_t peer, const struct nf_lease_msg *m))
{
    memset(&fake, 0, sizeof(fake));
    nf_body_init(&fake.body);
    fake.lease = lease;
    collected = 0;
}

static enum nf_status run(uint64_t units, uint32_t slaves,
                          int64_t heartbeat_timeout_us,
                          struct nf_report *report_p, struct nf_error *err)
{
    struct nf_app app = {
        .name = "scripted", .units = units, .compute = never, .collect = collect
    };
    app.share = fake.shared ? share : NULL;
    struct nf_options options = {
        .slaves = slaves,
        .max_attempts = 3,
        .heartbeat_timeout_us = heartbeat_timeout_us,
        .notice = hush,
        .gather = fake.way,
        .stop = &fake.stop,
    };
    struct nf_policy policy;
    struct nf_engine_config config = {
        .app = &app,
        .options = &options,
        .policy = &policy,
        .transport = &scripted,
    };

    CU_ASSERT_EQUAL_FATAL(nf_policy_parse("send", &policy, err), NF_OK);
    return nf_engine_run(&config, report_p, err);
}

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

static CU_TestInfo tests[] = {
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
