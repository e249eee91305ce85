/* What is on the way between two tasks, over several links. */
#include "config.h"
#include "common/net/pvm_route.h"
#include "tests/unit/nf_unit.h"

/* One process plays one task only, so the other one is played by hand. */
enum { PEER = 0x40002, LINKS = 3 };

static struct nf_link links[LINKS];
static int freed;

static void on_room(int tid)
{
    CU_ASSERT_EQUAL(tid, PEER);
    freed++;
}

static void begin(int self)
{
    nf_route_begin(self);
    nf_route_on_room(on_room);
    freed = 0;
    for (int i = 0; i < LINKS; i++)
        nf_link_init(&links[i], (uint64_t)i + 1, 1 << 20);
}

static void end(void)
{
    for (int i = 0; i < LINKS; i++)
        nf_link_fini(&links[i]);
    nf_route_begin(-1);
}

static void queue(int link, enum nf_msg_kind kind, size_t bytes)
{
    static const uint8_t data[20000];
    const struct nf_msg msg = { .kind = kind,
                                .body = data,
                                .body_bytes = bytes };

    CU_ASSERT_EQUAL(nf_link_queue(&links[link], &msg), NF_OK);
}

static uint32_t number(const uint8_t *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 |
           (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24;
}

static uint32_t sent, told; /* as the last frame said */

/* @return whether a frame went; *kind_p is of it */
static bool send_one(int link, enum nf_msg_kind *kind_p)
{
    uint8_t stamp[NF_ROUTE_STAMP_BYTES];
    struct nf_link_out out;

    if (nf_route_next(PEER, &links[link], &out) != NF_OK)
        return false;
    if (nf_route_sends(PEER, &out.frame, stamp) > 0) {
        sent = number(stamp);
        told = number(stamp + 4);
    }
    nf_link_sent(&links[link], &out);
    *kind_p = out.frame.kind;
    return true;
}

static uint32_t its_window_bytes = NF_LINK_WINDOW_BYTES;

static void peer_says(uint32_t its_sent, uint32_t confirms)
{
    const struct nf_frame frame = { .kind = NF_MSG_NONE,
                                    .window_bytes = its_window_bytes };
    uint8_t stamp[NF_ROUTE_STAMP_BYTES];

    for (int i = 0; i < 4; i++) {
        stamp[i] = (uint8_t)(its_sent >> (8 * i));
        stamp[4 + i] = (uint8_t)(confirms >> (8 * i));
    }
    nf_route_read(PEER, &frame, stamp);
}

static void test_all_links_share_a_window(void)
{
    enum nf_msg_kind kind;
    int went = 0;

    begin(1);
    for (int i = 0; i < LINKS; i++)
        for (int k = 0; k < 3; k++)
            queue(i, NF_MSG_LEASE, 20000);
    for (int i = 0; i < LINKS; i++)
        while (send_one(i, &kind))
            went++;
    CU_ASSERT_EQUAL(went, 3); /* and not 9 */
    CU_ASSERT(sent <= NF_LINK_WINDOW_BYTES);
    CU_ASSERT(nf_route_is_full(PEER));
    queue(2, NF_MSG_STOP, 0);
    CU_ASSERT(send_one(2, &kind) && kind == NF_MSG_STOP);
    peer_says(0, sent + 1); /* that can't be */
    CU_ASSERT_EQUAL(freed, 0);
    peer_says(0, sent);
    CU_ASSERT_EQUAL(freed, 1);
    CU_ASSERT_FALSE(nf_route_is_full(PEER));
    CU_ASSERT(send_one(1, &kind) && kind == NF_MSG_LEASE);
    end();
}

static void test_what_nobody_confirms_is_asked_for(void)
{
    enum nf_msg_kind kind;

    begin(1);
    for (int k = 0; k < 3; k++)
        queue(0, NF_MSG_LEASE, 20000);
    while (send_one(0, &kind))
        ;
    queue(1, NF_MSG_LEASE, 20000);
    CU_ASSERT_FALSE(send_one(1, &kind));
    nf_route_doubt(PEER); /* the first link is closed */
    CU_ASSERT_EQUAL(freed, 1);
    CU_ASSERT(send_one(1, &kind) && kind == NF_MSG_NONE);
    CU_ASSERT_FALSE(send_one(1, &kind)); /* once */
    peer_says(0, sent);
    CU_ASSERT(send_one(1, &kind) && kind == NF_MSG_LEASE);
    end();
}

static void test_what_was_read_is_told_in_time(void)
{
    enum nf_msg_kind kind;

    begin(1);
    peer_says(1000, 0);
    CU_ASSERT_FALSE(nf_route_owes(PEER));
    peer_says(1000 + NF_LINK_WINDOW_BYTES / 4, 0);
    CU_ASSERT(nf_route_owes(PEER) && nf_route_some_owe());
    peer_says(2000, 0); /* it was overtaken */
    queue(2, NF_MSG_LEASE, 8);
    CU_ASSERT(send_one(2, &kind));
    CU_ASSERT_EQUAL(told, 1000 + NF_LINK_WINDOW_BYTES / 4);
    CU_ASSERT_FALSE(nf_route_owes(PEER));
    nf_route_all_told();
    end();
}

/* Of a large window, as links do it. */
static void test_much_is_told_later(void)
{
    const uint32_t most_bytes = nf_link_confirm_bytes(256 * 1024);

    CU_ASSERT(most_bytes > 256 * 1024 / 4);
    its_window_bytes = 256 * 1024;
    begin(1);
    peer_says(most_bytes - 1, 0);
    CU_ASSERT_FALSE(nf_route_owes(PEER));
    peer_says(most_bytes, 0);
    CU_ASSERT(nf_route_owes(PEER) && nf_route_some_owe());
    nf_route_all_told();
    end();
    its_window_bytes = NF_LINK_WINDOW_BYTES;
}

static void test_counts_go_round(void)
{
    enum nf_msg_kind kind;
    uint64_t all = 0;

    begin(1);
    peer_says(UINT32_MAX - 100, 0);
    while (all < UINT64_C(0x120000000)) {
        for (int k = 0; k < 3; k++)
            queue(0, NF_MSG_LEASE, 20000);
        for (int k = 0; k < 3; k++)
            CU_ASSERT_FATAL(send_one(0, &kind));
        CU_ASSERT_EQUAL_FATAL(told, (uint32_t)(UINT32_MAX - 100 + all));
        all += 60000;
        links[0].confirmed_bytes = links[0].sent_bytes;
        peer_says((uint32_t)(UINT32_MAX - 100 + all), sent);
    }
    end();
}

static void test_a_hello_says_nothing(void)
{
    const struct nf_frame hello = { .kind = NF_MSG_HELLO };
    uint8_t stamp[NF_ROUTE_STAMP_BYTES];

    begin(1);
    CU_ASSERT_EQUAL(nf_route_sends(PEER, &hello, stamp), 0);
    CU_ASSERT_EQUAL(nf_route_stamp_bytes(&hello), 0);
    end();
}

static void test_a_new_task_begins_anew(void)
{
    enum nf_msg_kind kind;

    begin(1);
    for (int k = 0; k < 4; k++)
        queue(0, NF_MSG_LEASE, 20000);
    while (send_one(0, &kind))
        ;
    for (int tid = 1; tid < 200; tid++) /* the table grows */
        CU_ASSERT(nf_route_takes_goodbye(tid, &links[0]));
    nf_route_begin(1);
    CU_ASSERT(nf_route_next(PEER, &links[1], &(struct nf_link_out){ 0 }) ==
              NF_WAIT);
    nf_route_begin(2);
    links[0].confirmed_bytes = links[0].sent_bytes;
    CU_ASSERT(send_one(0, &kind) && sent < 21000);
    end();
}

static CU_TestInfo tests[] = {
    { "all links share a window", test_all_links_share_a_window },
    { "what nobody confirms is asked for",
      test_what_nobody_confirms_is_asked_for },
    { "what was read is told in time", test_what_was_read_is_told_in_time },
    { "of a large window it is told later", test_much_is_told_later },
    { "counts go round", test_counts_go_round },
    { "a hello says nothing of it", test_a_hello_says_nothing },
    { "a new task begins anew", test_a_new_task_begins_anew },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "routes", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
