/* What the master has queued goes when there is room, whoever has read of it.
 * libpvm reads when it sends too, so here sending is played by hand. */
#include "config.h"
#define nf_net_pvm  played_net_pvm
#define nf_pvm_send play_send
#include "common/net/net_pvm.c"
#undef nf_pvm_send
#include "common/base/endian.h"
#include "tests/unit/nf_unit.h"

enum { SELF = 0x40001, PEER = 0x40002, BYTES = 20000 };

static struct nf_link mesh; /* another link to the same task */
static struct peer peer;
static struct net_pvm net;
static uint32_t sent;       /* all that went to it */
static bool room_in_a_send; /* word of room comes while one confirms */

static void peer_says(uint32_t its_sent, uint32_t confirms)
{
    const struct nf_frame frame = { .kind = NF_MSG_NONE,
                                    .window_bytes = NF_LINK_WINDOW_BYTES };
    uint8_t stamp[NF_ROUTE_STAMP_BYTES];

    nf_store_le32(stamp, its_sent);
    nf_store_le32(stamp + 4, confirms);
    nf_route_read(PEER, &frame, stamp);
}

enum nf_status play_send(int tid, const struct nf_link_out *out, bool convert)
{
    uint8_t stamp[NF_ROUTE_STAMP_BYTES];

    (void)convert;
    if (nf_route_sends(tid, &out->frame, stamp) > 0)
        sent = nf_load_le32(stamp);
    if (room_in_a_send && out->frame.kind == NF_MSG_NONE)
        peer_says(NF_LINK_WINDOW_BYTES / 4, sent);
    return NF_OK;
}

static void queue(struct nf_link *link)
{
    static const uint8_t data[BYTES];
    const struct nf_msg msg = { NF_MSG_LEASE, data, BYTES, NULL };

    CU_ASSERT_EQUAL(nf_link_queue(link, &msg), NF_OK);
}

/* A mesh has filled the way to the peer, of which so much was read that it must
 * be confirmed. */
static void begin(void)
{
    struct nf_link_out out;

    nf_route_begin(SELF);
    room_in_a_send = false;
    nf_link_init(&mesh, 1, 1 << 20);
    peer = (struct peer){ .tid = PEER, .state = PEER_LIVE };
    nf_link_init(&peer.link, 2, 1 << 20);
    net = (struct net_pvm){ .peers = &peer, .npeers = 1 };
    for (int i = 0; i < 4; i++)
        queue(&mesh);
    while (nf_route_next(PEER, &mesh, &out) == NF_OK) {
        play_send(PEER, &out, false);
        nf_link_sent(&mesh, &out);
    }
    peer_says(NF_LINK_WINDOW_BYTES / 4, 0);
    CU_ASSERT(nf_route_owes(PEER));
}

static void end(void)
{
    nf_free(net.deferred);
    nf_link_fini(&mesh);
    nf_link_fini(&peer.link);
    nf_route_begin(-1);
}

static void send_lease(void)
{
    static const uint8_t data[BYTES];
    const struct nf_msg msg = { NF_MSG_LEASE, data, BYTES, NULL };

    CU_ASSERT_EQUAL(pvm_net_send(&net.base, 0, &msg), NF_OK);
}

static void test_deferred(void)
{
    begin();
    send_lease();
    CU_ASSERT(peer.link.queued_bytes > 0 && peer.deferred);
    flush_deferred(&net);
    CU_ASSERT(peer.link.queued_bytes > 0 && peer.deferred);
    peer_says(NF_LINK_WINDOW_BYTES / 4, sent);
    flush_deferred(&net);
    CU_ASSERT(peer.link.queued_bytes == 0 && !peer.deferred);
    end();
}

static void test_room_in_a_send(void)
{
    begin();
    room_in_a_send = true;
    send_lease();
    CU_ASSERT(peer.link.queued_bytes == 0 || peer.deferred);
    end();
}

static CU_TestInfo tests[] = {
    { "what finds no room is tried again", test_deferred },
    { "... also if room came while that was confirmed", test_room_in_a_send },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "room on the way from the master", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
