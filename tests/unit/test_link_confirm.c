/* When a link confirms what it has read. */
#include "config.h"
#include "tests/unit/link_pipe.h"
#include "tests/unit/nf_unit.h"

enum {
    COOKIE = 0x5eed,
    LIMIT_BYTES = 1 << 20,
    ALL = 1 << 30, /* no limit on the frames of a flush */
    BARE_COST = NF_FRAME_HEADER_BYTES + NF_LINK_FRAME_COST_BYTES,
    WINDOWS = 3,
};

static const uint32_t windows[WINDOWS] = { NF_LINK_WINDOW_BYTES, 256 * 1024,
                                           NF_LINK_WINDOW_MAX_BYTES };

/* A confirmation is owed as soon as a quarter of the window of the peer, not
 * of our own, or half of a large one but for a frame of half that window, has been
 * read since it was last told. */
static void test_part_of_the_peers_window(void)
{
    static const uint32_t parts[WINDOWS] = {
        NF_LINK_WINDOW_BYTES / 4,
        128 * 1024 - 32 * 1024 - BARE_COST,
        NF_LINK_WINDOW_MAX_BYTES / 2 - NF_LINK_FRAME_MAX_BYTES - BARE_COST,
    };

    for (size_t w = 0; w < WINDOWS * WINDOWS; w++) {
        uint32_t window_bytes = windows[w % WINDOWS];
        uint32_t part_bytes = parts[w % WINDOWS];
        struct pipe_pair pair;
        struct pipe_end *from = &pair.ends[0], *to = &pair.ends[1];
        unsigned owed = 0, wrong = 0;

        pipe_open(&pair, COOKIE, LIMIT_BYTES);
        pipe_set_windows(&pair, window_bytes, windows[w / WINDOWS]);
        for (unsigned i = 0; i < 2000; i++) {
            bool due;
            struct nf_msg msg;
            bool empty;

            pipe_say(&from->link, NF_MSG_LEASE, 1000, 0);
            wrong += pipe_flush(from, 1) != 1; /* credit never runs out */
            wrong += pipe_read(to, &msg, &empty) != NF_OK;
            due = to->link.consumed_bytes - to->link.told_bytes >= part_bytes;
            wrong += nf_link_owes_confirmation(&to->link) != due;
            owed += due;
            wrong += pipe_flush(to, ALL) != (due ? 1 : 0);
            pipe_next_kind(from);
        }
        CU_ASSERT_EQUAL(wrong, 0);
        CU_ASSERT_EQUAL(owed,
                        2000 / ((part_bytes - 1) / (1000 + BARE_COST) + 1));
        pipe_close(&pair);
    }
}

/* When a confirmation is sent a frame of a large message is still on the way: the
 * sender need not stop until it comes, and the reader has something to do.  (Of
 * windows between 64 and 80 KiB that is not so behind the short last frame of a
 * message.) */
static void test_something_is_on_the_way(void)
{
    for (uint32_t window_bytes = 80 * 1024;
         window_bytes <= NF_LINK_WINDOW_MAX_BYTES; window_bytes += 4096) {
        struct pipe_pair pair;
        struct pipe_end *from = &pair.ends[0], *to = &pair.ends[1];
        unsigned dry = 0, confirmed = 0;
        struct nf_msg msg;
        bool empty;

        pipe_open(&pair, COOKIE, LIMIT_BYTES);
        pipe_set_windows(&pair, window_bytes, window_bytes);
        pipe_say(&from->link, NF_MSG_LEASE, 100, 0);
        for (unsigned frames = 0; frames < 60; frames++) {
            while (from->link.nnormal < 3) /* there is always more to send */
                pipe_say(&from->link, NF_MSG_LEASE, 0, 256 * 1024);
            pipe_flush(from, ALL);
            if (pipe_read(to, &msg, &empty) == NF_OK)
                nf_blob_unref(msg.payload);
            if (!nf_link_owes_confirmation(&to->link))
                continue;
            dry += to->in.head == NULL;
            confirmed++;
            pipe_flush(to, ALL);
            pipe_next_kind(from);
        }
        CU_ASSERT_EQUAL(dry, 0);
        CU_ASSERT_TRUE(confirmed >= 10);
        pipe_close(&pair);
    }
}

/* What the largest frame of a link takes of its window. */
static uint64_t frame_cost_bytes(uint32_t window_bytes)
{
    struct pipe_pair pair;
    struct nf_link_out out = { .queued = false };
    uint64_t cost;

    pipe_open(&pair, COOKIE, LIMIT_BYTES);
    pipe_set_windows(&pair, window_bytes, window_bytes);
    pipe_say(&pair.ends[0].link, NF_MSG_LEASE, 0, 256 * 1024);
    CU_ASSERT_EQUAL(nf_link_next(&pair.ends[0].link, &out), NF_OK);
    cost = nf_frame_cost_bytes(&out.frame);
    pipe_close(&pair);
    return cost;
}

/* What a link has read and not confirmed leaves room for a frame of another link
 * to the same task, if its window is at least half as large. */
static void test_links_with_half_the_window(void)
{
    for (uint32_t other_bytes = NF_LINK_WINDOW_BYTES;
         other_bytes <= NF_LINK_WINDOW_MAX_BYTES; other_bytes += 4096) {
        uint64_t cost = frame_cost_bytes(other_bytes);
        unsigned stuck = 0;

        for (uint32_t window_bytes = other_bytes;
             window_bytes <= 2 * other_bytes &&
             window_bytes <= NF_LINK_WINDOW_MAX_BYTES;
             window_bytes += 4096)
            stuck += nf_link_confirm_bytes(window_bytes) - 1 + cost >
                     other_bytes;
        CU_ASSERT_EQUAL(stuck, 0);
    }
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "a quarter of the peer's window is confirmed, or nearly half",
          test_part_of_the_peers_window },
        { "links with half the window are not stopped",
          test_links_with_half_the_window },
        { "something is on the way when a confirmation is sent",
          test_something_is_on_the_way },
        CU_TEST_INFO_NULL,
    };
    static CU_SuiteInfo suites[] = {
        { "confirmations", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
