/* Links, back to back.  Random scripts with fixed seeds check the laws of
 * link.h; a script that breaks one prints its seed. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "tests/unit/link_pipe.h"
#include "tests/unit/nf_unit.h"

enum {
    COOKIE = 0x5eed,
    SCRIPTS = 800,
    MESSAGES = 40, /* of a script, at each end */
    STEPS = 400,
    ALL = 1 << 30, /* no limit on the frames of a flush */
    BARE_COST = NF_FRAME_HEADER_BYTES + NF_LINK_FRAME_COST_BYTES,
    /* Beyond the window: what urgent frames overdraw, the last of them by
     * itself; and a peer that does not read has one window and its urgent
     * frames on the way, and is told of each quarter window that was read:
     * at most five times, with the smallest window. */
    OVERDRAWN_MOST = NF_LINK_URGENT_BYTES + (1 + 5) * BARE_COST,
    WINDOWS = 3,
};

/* A script takes one pair of these: the smallest, the largest, and between. */
static const uint32_t windows[WINDOWS] = { NF_LINK_WINDOW_BYTES, 256 * 1024,
                                           NF_LINK_WINDOW_MAX_BYTES };

static const uint64_t LIMIT_BYTES = UINT64_C(1) << 30;

/* What one end has said that the other has not heard yet. */
struct said {
    struct {
        enum nf_msg_kind kind;
        enum nf_type type;
        uint64_t seed;
        size_t body_bytes, payload_bytes;
    } list[MESSAGES];
    size_t count, heard;
    size_t revokes, revokes_heard;
    size_t pings, pings_heard; /* queued since the last purge */
};

struct script {
    struct nf_rng rng;
    struct pipe_pair pair;
    struct said said[2]; /* by the end that speaks */
    uint64_t seed;
    size_t window[2]; /* of windows, by end */
    bool broken;
};

static void broken(struct script *s, const char *law)
{
    if (!s->broken)
        fprintf(stderr, "script %llu: %s\n", (unsigned long long)s->seed, law);
    s->broken = true;
}

/* Mostly small, sometimes around the edges of frames, now and then huge. */
static size_t random_size(struct nf_rng *rng)
{
    static const size_t edges[] = { 0,
                                    1,
                                    7,
                                    8,
                                    2048,
                                    NF_LINK_FRAME_BYTES - 1,
                                    NF_LINK_FRAME_BYTES,
                                    NF_LINK_FRAME_BYTES + 1,
                                    NF_LINK_WINDOW_BYTES,
                                    NF_LINK_FRAME_MAX_BYTES - 1,
                                    NF_LINK_FRAME_MAX_BYTES,
                                    NF_LINK_FRAME_MAX_BYTES + 1,
                                    2 * NF_LINK_FRAME_BYTES + 8 };

    switch (nf_rng_below(rng, 64)) {
    case 0:
        return nf_rng_below(rng, 2u << 20);
    case 1:
    case 2:
    case 3:
        return nf_rng_below(rng, 200000);
    default:
        if (nf_rng_below(rng, 3) == 0)
            return edges[nf_rng_below(rng, sizeof(edges) / sizeof(*edges))];
        return nf_rng_below(rng, 300);
    }
}

static void say(struct script *s, int from)
{
    struct said *said = &s->said[from];
    struct nf_link *link = &s->pair.ends[from].link;
    size_t body_bytes = random_size(&s->rng);
    size_t payload_bytes = random_size(&s->rng);
    enum nf_type type = (enum nf_type)nf_rng_below(&s->rng, 5);
    uint64_t seed = nf_rng_next(&s->rng);
    struct nf_msg msg = { .kind = NF_MSG_LEASE, .body_bytes = body_bytes };
    uint8_t *body;

    if (said->count == MESSAGES)
        return;
    if (body_bytes > 200000)
        body_bytes = msg.body_bytes = 200000;
    body = malloc(body_bytes + 1);
    pipe_fill(seed + 1, body, body_bytes);
    msg.body = body;
    if (payload_bytes > 0 || nf_rng_below(&s->rng, 2) == 0)
        msg.payload = pipe_payload(seed, payload_bytes, type);
    if (msg.payload != NULL && nf_rng_below(&s->rng, 3) == 0)
        msg.payload = pipe_scatter(msg.payload, &s->rng);
    if (nf_link_queue(link, &msg) != NF_OK)
        broken(s, "a message is not queued");
    nf_blob_unref(msg.payload);
    memset(body, 0, body_bytes); /* the link has a copy of its own */
    free(body);
    said->list[said->count].kind = msg.kind;
    said->list[said->count].type = type;
    said->list[said->count].seed = seed;
    said->list[said->count].body_bytes = body_bytes;
    said->list[said->count++].payload_bytes = payload_bytes;
}

static void say_urgent(struct script *s, int from)
{
    bool revoke = nf_rng_below(&s->rng, 2) == 0;
    struct nf_msg msg = { .kind = revoke ? NF_MSG_REVOKE : NF_MSG_PING };

    if (nf_link_queue(&s->pair.ends[from].link, &msg) != NF_OK)
        broken(s, "an urgent message is not queued");
    *(revoke ? &s->said[from].revokes : &s->said[from].pings) += 1;
}

static void check_heard(struct script *s, int from, const struct nf_msg *msg)
{
    struct said *said = &s->said[from];
    size_t i = said->heard;
    uint8_t *body;

    if (msg->kind == NF_MSG_REVOKE) {
        if (++said->revokes_heard > said->revokes)
            broken(s, "more urgent messages than were sent");
        return;
    }
    if (msg->kind == NF_MSG_PING) {
        if (++said->pings_heard > said->pings)
            broken(s, "more pings than were sent");
        return;
    }
    said->heard++;
    if (i >= said->count || msg->kind != said->list[i].kind ||
        msg->body_bytes != said->list[i].body_bytes ||
        !pipe_payload_is(msg->payload, said->list[i].seed,
                         said->list[i].payload_bytes, said->list[i].type)) {
        broken(s, "a message is lost, changed or out of order");
        return;
    }
    body = malloc(msg->body_bytes + 1);
    pipe_fill(said->list[i].seed + 1, body, msg->body_bytes);
    if (msg->body_bytes > 0 && memcmp(body, msg->body, msg->body_bytes) != 0)
        broken(s, "a body is changed");
    free(body);
}

/* @return whether there was a frame */
static bool hear(struct script *s, int at)
{
    struct nf_msg msg;
    bool empty;
    enum nf_status status = pipe_read(&s->pair.ends[at], &msg, &empty);

    if (status == NF_OK) {
        check_heard(s, 1 - at, &msg);
        nf_blob_unref(msg.payload);
    } else if (status != NF_WAIT) {
        broken(s, "a frame is refused");
        pipe_lose(&s->pair.ends[at]);
    }
    return !empty;
}

static void check_window(struct script *s)
{
    for (int i = 0; i < 2; i++) {
        const struct nf_link *link = &s->pair.ends[i].link;
        uint64_t most = windows[s->window[i]] + OVERDRAWN_MOST;

        if (link->sent_bytes - link->confirmed_bytes > most ||
            s->pair.ends[1 - i].in.held_bytes > most)
            broken(s, "more on the way than the window");
    }
}

static void purge(struct script *s, int from)
{
    struct nf_link *link = &s->pair.ends[from].link;
    struct said *said = &s->said[from];
    size_t keep = link->sent_offset > 0 ? 1 : 0, queued = 0;

    for (const struct nf_link_entry *e = link->normal.head; e != NULL;
         e = *(struct nf_link_entry *const *)e) /* next comes first */
        queued++;
    nf_link_purge(link);
    /* what was queued last is what has not begun */
    said->count -= queued > keep ? queued - keep : 0;
    said->revokes = 0;
    for (const struct pipe_frame *f = s->pair.ends[1 - from].in.head; f != NULL;
         f = f->next)
        said->revokes += f->header[4] == NF_MSG_REVOKE;
    said->revokes += said->revokes_heard;
}

static void finish(struct script *s)
{
    bool moved = true;

    while (moved && !s->broken) {
        moved = false;
        for (int i = 0; i < 2; i++) {
            moved = pipe_flush(&s->pair.ends[i], ALL) > 0 || moved;
            check_window(s);
            while (hear(s, 1 - i))
                moved = true;
        }
    }
    for (int i = 0; i < 2; i++) {
        const struct nf_link *link = &s->pair.ends[i].link;

        if (link->normal.head != NULL || link->urgent.head != NULL)
            broken(s, "both ends wait for ever");
        if (s->said[i].heard != s->said[i].count)
            broken(s, "a message never arrives");
        if (s->said[i].revokes_heard != s->said[i].revokes)
            broken(s, "an urgent message never arrives");
        if (link->queued_bytes != 0)
            broken(s, "queued_bytes is not zero with nothing queued");
    }
}

static bool run_script(uint64_t seed, bool purges)
{
    struct script s = {
        .rng = { .state = seed * 77777 + 1 },
        .seed = seed,
        .window = { seed % WINDOWS, seed / WINDOWS % WINDOWS },
    };

    pipe_open(&s.pair, COOKIE, LIMIT_BYTES);
    pipe_set_windows(&s.pair, windows[s.window[0]], windows[s.window[1]]);
    for (int step = 0; step < STEPS && !s.broken; step++) {
        int end = (int)nf_rng_below(&s.rng, 2);
        uint64_t what = nf_rng_below(&s.rng, 100);

        if (what < 15)
            say(&s, end);
        else if (what < 20)
            say_urgent(&s, end);
        else if (what < 60)
            pipe_flush(&s.pair.ends[end], (int)nf_rng_below(&s.rng, 6));
        else if (what < 99 || !purges)
            hear(&s, end);
        else
            purge(&s, end);
        check_window(&s);
    }
    finish(&s);
    pipe_close(&s.pair);
    return !s.broken;
}

static void test_scripts(void)
{
    unsigned wrong = 0;

    for (uint64_t seed = 1; seed <= SCRIPTS; seed++)
        wrong += !run_script(seed, false);
    CU_ASSERT_EQUAL(wrong, 0);
}

static void test_scripts_with_purges(void)
{
    unsigned wrong = 0;

    for (uint64_t seed = 1; seed <= SCRIPTS; seed++)
        wrong += !run_script(seed, true);
    CU_ASSERT_EQUAL(wrong, 0);
}

/* ------------------------------------------------------------ by hand */

static void test_peer_that_stops_reading(void)
{
    struct pipe_pair pair;
    struct nf_link *link = &pair.ends[0].link;
    uint64_t before;

    pipe_open(&pair, COOKIE, LIMIT_BYTES);
    pipe_say(link, NF_MSG_LEASE, 100, 64u << 20);
    pipe_flush(&pair.ends[0], ALL);
    CU_ASSERT(pair.ends[1].in.held_bytes <= NF_LINK_WINDOW_BYTES);
    CU_ASSERT(link->queued_bytes > 63u << 20);
    before = pair.ends[1].in.held_bytes;
    CU_ASSERT_EQUAL(pipe_flush(&pair.ends[0], ALL), 0);
    for (int i = 0; i < 1000; i++) {
        pipe_say(link, NF_MSG_REVOKE, 0, 0);
        pipe_flush(&pair.ends[0], ALL);
    }
    CU_ASSERT(pair.ends[1].in.held_bytes > before);
    CU_ASSERT(pair.ends[1].in.held_bytes <=
              NF_LINK_WINDOW_BYTES + NF_LINK_URGENT_BYTES + BARE_COST);
    pipe_close(&pair);
}

/* An hour of silence is not an hour of pings. */
static void test_pings_do_not_pile_up(void)
{
    struct pipe_pair pair;
    struct nf_link *link = &pair.ends[0].link;
    unsigned pings = 0;

    pipe_open(&pair, COOKIE, LIMIT_BYTES);
    pipe_say(link, NF_MSG_LEASE, 0, 1u << 20);
    for (int i = 0; i < 3600; i++) {
        pipe_say(link, NF_MSG_PING, 0, 0);
        pipe_flush(&pair.ends[0], ALL);
    }
    pipe_say(link, NF_MSG_REVOKE, 0, 0);
    pipe_say(link, NF_MSG_PING, 0, 0);
    for (const struct nf_link_entry *e = link->urgent.head; e != NULL;
         e = *(struct nf_link_entry *const *)e)
        pings++;
    CU_ASSERT(pings <= 3); /* ping, revoke, ping */
    for (int i = 0; i < 200; i++) {
        while (pipe_next_kind(&pair.ends[1]) != NF_MSG_NONE)
            ;
        pipe_flush(&pair.ends[1], ALL);
        pipe_next_kind(&pair.ends[0]);
        pipe_flush(&pair.ends[0], ALL);
    }
    CU_ASSERT_EQUAL(link->queued_bytes, 0);
    pipe_close(&pair);
}

/* A window is what may be on the way before anything is confirmed. */
static void test_windows_of_all_sizes(void)
{
    static const struct {
        uint32_t set_bytes, window_bytes;
    } cases[] = {
        { 0, NF_LINK_WINDOW_BYTES },
        { NF_LINK_WINDOW_BYTES - 1, NF_LINK_WINDOW_BYTES },
        { NF_LINK_WINDOW_BYTES, NF_LINK_WINDOW_BYTES },
        { 200000, 200000 }, /* not a multiple of 4 KiB */
        { 256 * 1024, 256 * 1024 },
        { NF_LINK_WINDOW_MAX_BYTES, NF_LINK_WINDOW_MAX_BYTES },
        { NF_LINK_WINDOW_MAX_BYTES + 1, NF_LINK_WINDOW_MAX_BYTES },
        { UINT32_MAX, NF_LINK_WINDOW_MAX_BYTES },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint32_t window_bytes = cases[i].window_bytes;
        uint32_t frame_bytes = pipe_frame_most(window_bytes) + BARE_COST;
        struct pipe_pair pair;

        pipe_open(&pair, COOKIE, LIMIT_BYTES);
        pipe_set_windows(&pair, cases[i].set_bytes, 0);
        pipe_say(&pair.ends[0].link, NF_MSG_LEASE, 100, 4u << 20);
        pipe_flush(&pair.ends[0], ALL);
        CU_ASSERT(pair.ends[1].in.held_bytes <= window_bytes);
        CU_ASSERT(pair.ends[1].in.held_bytes > window_bytes - frame_bytes);
        CU_ASSERT_EQUAL(pipe_next_kind(&pair.ends[1]), NF_MSG_NONE);
        CU_ASSERT_EQUAL(pair.ends[1].link.peer_window_bytes,
                        window_bytes / 4096 * 4096);
        pipe_close(&pair);
    }
}

/* Both ends send what they may, and read it all. */
static void exchange(struct pipe_pair *pair, unsigned *normal, unsigned *urgent)
{
    for (int end = 0; end < 2; end++) {
        enum nf_msg_kind kind;

        pipe_flush(&pair->ends[end], ALL);
        while ((kind = pipe_next_kind(&pair->ends[1 - end])) != NF_MSG_NONE) {
            *normal += kind == NF_MSG_LEASE;
            *urgent += kind == NF_MSG_REVOKE;
        }
    }
}

/* A peer that is held stops when its window is full; urgent messages pass all
 * the same, any number; then all goes on. */
static void test_hold(void)
{
    enum { SAID = 2000, BYTES = 1000, URGENT = 200 };
    static const uint32_t both[] = { NF_LINK_WINDOW_BYTES,
                                     NF_LINK_WINDOW_MAX_BYTES };

    for (int w = 0; w < 2; w++) {
        struct pipe_pair pair;
        struct nf_link *from, *to;
        unsigned normal = 0, urgent = 0;

        pipe_open(&pair, COOKIE, LIMIT_BYTES);
        pipe_set_windows(&pair, both[w], both[w]);
        from = &pair.ends[0].link;
        to = &pair.ends[1].link;
        nf_link_hold(to, true);
        for (int i = 0; i < SAID; i++)
            pipe_say(from, NF_MSG_LEASE, BYTES, 0);
        for (int i = 0; i < URGENT; i++) {
            pipe_say(from, NF_MSG_REVOKE, 20, 0);
            exchange(&pair, &normal, &urgent);
        }
        CU_ASSERT_EQUAL(urgent, URGENT);
        CU_ASSERT(normal > 10 && normal * BYTES < both[w]);
        CU_ASSERT_EQUAL(from->queued_bytes, (SAID - normal) * BYTES);
        nf_link_hold(to, false);
        for (int i = 0; i < SAID && from->queued_bytes > 0; i++)
            exchange(&pair, &normal, &urgent);
        CU_ASSERT_EQUAL(normal, SAID);
        pipe_close(&pair);
    }
}

static void test_urgent_overtakes(void)
{
    struct pipe_pair pair;

    pipe_open(&pair, COOKIE, LIMIT_BYTES);
    pipe_say(&pair.ends[0].link, NF_MSG_LEASE, 10, 200000);
    pipe_flush(&pair.ends[0], 1);
    pipe_say(&pair.ends[0].link, NF_MSG_RESULT, 10, 0);
    pipe_say(&pair.ends[0].link, NF_MSG_REVOKE, 0, 0);
    pipe_flush(&pair.ends[0], ALL);
    CU_ASSERT_EQUAL(pipe_next_kind(&pair.ends[1]), NF_MSG_REVOKE);
    CU_ASSERT_EQUAL(pipe_next_kind(&pair.ends[1]), NF_MSG_NONE);
    for (int i = 0; i < 10; i++) {
        pipe_flush(&pair.ends[1], ALL);
        pipe_next_kind(&pair.ends[0]);
        pipe_flush(&pair.ends[0], 1);
        if (pipe_next_kind(&pair.ends[1]) == NF_MSG_LEASE)
            break;
    }
    pipe_flush(&pair.ends[0], ALL);
    CU_ASSERT_EQUAL(pipe_next_kind(&pair.ends[1]), NF_MSG_RESULT);
    pipe_close(&pair);
}

/* An urgent message is one frame: a longer one would lose its tail. */
static void test_urgent_messages_are_small(void)
{
    struct nf_link link;
    struct nf_blob *payload = pipe_payload(1, 8, NF_BYTES);
    uint8_t *body = calloc(1, NF_LINK_URGENT_BODY_BYTES + 1);
    struct nf_msg msg = { .kind = NF_MSG_STOP, .body = body };

    nf_link_init(&link, COOKIE, LIMIT_BYTES);
    msg.body_bytes = NF_LINK_URGENT_BODY_BYTES + 1;
    CU_ASSERT_EQUAL(nf_link_queue(&link, &msg), NF_ERR_RANGE);
    msg.body_bytes = 0;
    msg.payload = payload;
    CU_ASSERT_EQUAL(nf_link_queue(&link, &msg), NF_ERR_RANGE);
    msg.payload = NULL;
    msg.body_bytes = NF_LINK_URGENT_BODY_BYTES;
    CU_ASSERT_EQUAL(nf_link_queue(&link, &msg), NF_OK);
    nf_link_fini(&link);
    CU_ASSERT_EQUAL(atomic_load(&payload->refs), 1);
    nf_blob_unref(payload);
    free(body);
}

static void test_purge_keeps_what_has_begun(void)
{
    struct pipe_pair pair;
    struct nf_link *link = &pair.ends[0].link;
    enum nf_msg_kind kinds[2] = { NF_MSG_NONE, NF_MSG_NONE };

    pipe_open(&pair, COOKIE, LIMIT_BYTES);
    pipe_say(link, NF_MSG_SHARED, 0, 100000);
    pipe_say(link, NF_MSG_LEASE, 50, 100000);
    pipe_flush(&pair.ends[0], 1);
    nf_link_purge(link);
    CU_ASSERT_EQUAL(link->queued_bytes, 100000 - NF_LINK_FRAME_BYTES);
    pipe_say(link, NF_MSG_RESULT, 5, 0);
    for (int i = 0, n = 0; i < 20 && n < 2; i++) {
        pipe_flush(&pair.ends[0], ALL);
        kinds[n] = pipe_next_kind(&pair.ends[1]);
        n += kinds[n] != NF_MSG_NONE;
        pipe_flush(&pair.ends[1], ALL);
        pipe_next_kind(&pair.ends[0]);
    }
    CU_ASSERT_EQUAL(kinds[0], NF_MSG_SHARED);
    CU_ASSERT_EQUAL(kinds[1], NF_MSG_RESULT);
    nf_link_purge(link);
    CU_ASSERT_EQUAL(link->queued_bytes, 0);
    CU_ASSERT_PTR_NULL(link->normal.head);
    pipe_close(&pair);
}

static CU_TestInfo tests[] = {
    { "every message arrives once, intact, in order, with any windows",
      test_scripts },
    { "the same with purges in between", test_scripts_with_purges },
    { "a peer that stops reading stops the sender",
      test_peer_that_stops_reading },
    { "pings to a silent peer do not pile up", test_pings_do_not_pile_up },
    { "a window is what may be on the way, within its limits",
      test_windows_of_all_sizes },
    { "a peer that is held stops the sender, but for urgent messages",
      test_hold },
    { "urgent messages overtake a long one", test_urgent_overtakes },
    { "urgent messages are small", test_urgent_messages_are_small },
    { "a purge keeps a message that has begun",
      test_purge_keeps_what_has_begun },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "link", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
