/* What a link does with headers that lie, and without memory. */
#include "config.h"
#include <string.h>
#include "common/base/alloc.h"
#include "tests/unit/link_pipe.h"
#include "tests/unit/nf_unit.h"

enum { COOKIE = 0x5eed, ALL = 1 << 30 };

static const uint64_t LIMIT_BYTES = UINT64_C(1) << 30;

static struct nf_frame honest(void)
{
    return (struct nf_frame){
        .kind = NF_MSG_LEASE,
        .type = NF_FLOAT64,
        .cookie = COOKIE,
        .body_total_bytes = 100,
        .body_bytes = 100,
        .payload_total_bytes = 80000,
        .payload_bytes = 16000,
    };
}

/* What a receiver with nothing on its mind says to a header. */
static enum nf_status judge(const uint8_t header[NF_FRAME_HEADER_BYTES],
                            uint64_t limit_bytes)
{
    struct nf_link link;
    struct nf_frame frame;
    struct nf_link_in in;
    enum nf_status status = nf_frame_decode(header, &frame);

    nf_link_init(&link, COOKIE, limit_bytes);
    if (status == NF_OK)
        status = nf_link_accept(&link, &frame, &in);
    if (status == NF_OK && frame.body_bytes > 0)
        memset(in.body, 1,
               frame.body_bytes); /* sanitizers see if it is there */
    if (status == NF_OK && frame.payload_bytes > 0)
        memset(in.payload, 1, frame.payload_bytes);
    nf_link_fini(&link);
    return status;
}

static void lie(struct nf_frame frame, size_t at, uint8_t value,
                enum nf_status want)
{
    uint8_t header[NF_FRAME_HEADER_BYTES];

    nf_frame_encode(&frame, header);
    header[at] = value;
    CU_ASSERT_EQUAL(judge(header, LIMIT_BYTES), want);
}

static void test_headers_that_lie(void)
{
    struct nf_frame f = honest();

    lie(f, 0, 'N', NF_OK);
    for (size_t i = 0; i < 4; i++)
        lie(f, i, 0, NF_ERR_PROTOCOL); /* magic */
    lie(f, 4, NF_MSG_KINDS, NF_ERR_PROTOCOL);
    lie(f, 4, 255, NF_ERR_PROTOCOL);
    lie(f, 4, NF_MSG_NONE, NF_ERR_PROTOCOL); /* a confirmation has no data */
    lie(f, 4, NF_MSG_PING, NF_ERR_PROTOCOL); /* urgent has no payload */
    lie(f, 5, NF_INT16 + 1, NF_ERR_PROTOCOL);
    lie(f, 6, 2, NF_ERR_PROTOCOL);
    lie(f, 7, 1, NF_OK); /* no window: not believed, see below */
    lie(f, 7, 255, NF_OK);
    for (size_t i = 8; i < 16; i++)
        lie(f, i, 0x77, NF_ERR_PROTOCOL); /* cookie */
    for (size_t i = 16; i < 24; i++)
        lie(f, i, 1, NF_ERR_PROTOCOL); /* we have sent nothing */
    for (size_t i = 24; i < 32; i++)
        lie(f, i, 8, NF_ERR_PROTOCOL); /* starts in the middle */
    lie(f, 35, 0x40, NF_ERR_PROTOCOL); /* a body of 1 GiB */
    lie(f, 36, 1, NF_ERR_PROTOCOL);    /* a broken element */
    lie(f, 38, 1, NF_ERR_PROTOCOL);    /* a frame of 80 KiB */
    lie(f, 39, 255, NF_ERR_PROTOCOL);
    lie(f, 40, 1, NF_ERR_PROTOCOL); /* a broken element in all */
    for (size_t i = 44; i < 48; i++)
        lie(f, i, 0x10, NF_ERR_PROTOCOL); /* 2^36 bytes and up to 2^60 */
    f.offset = 90000;
    lie(f, 0, 'N', NF_ERR_PROTOCOL); /* beyond its end */
    f = honest();
    f.payload_total_bytes = 8;
    lie(f, 0, 'N', NF_ERR_PROTOCOL); /* more in it than in all */
    f.payload_total_bytes = UINT64_MAX - 7;
    lie(f, 0, 'N', NF_ERR_PROTOCOL); /* overflows with the body */
}

/* Every byte, every bit: refused, or within the memory that there is. */
static void test_every_bit_of_a_header(void)
{
    uint8_t header[NF_FRAME_HEADER_BYTES];
    struct nf_frame f = honest();
    unsigned refused = 0;

    for (size_t i = 0; i < sizeof(header); i++)
        for (int bit = 0; bit < 8; bit++) {
            nf_frame_encode(&f, header);
            header[i] ^= (uint8_t)(1 << bit);
            refused += judge(header, LIMIT_BYTES) == NF_ERR_PROTOCOL;
        }
    CU_ASSERT(refused > 8 * (4 + 8 + 8 + 8)); /* magic, cookie, ... */
}

static void test_claims_over_the_limit(void)
{
    uint8_t header[NF_FRAME_HEADER_BYTES];
    struct nf_frame f = honest();

    nf_alloc_fail_after(0); /* any allocation would say NOMEM */
    f.payload_total_bytes = UINT64_C(1) << 60;
    nf_frame_encode(&f, header);
    CU_ASSERT_EQUAL(judge(header, LIMIT_BYTES), NF_ERR_PROTOCOL);
    f.payload_total_bytes = 0;
    f.payload_bytes = 0;
    f.body_total_bytes = UINT32_MAX;
    nf_frame_encode(&f, header);
    CU_ASSERT_EQUAL(judge(header, LIMIT_BYTES), NF_ERR_PROTOCOL);
    f.body_total_bytes = 600;
    f.payload_total_bytes = 480;
    nf_frame_encode(&f, header);
    CU_ASSERT_EQUAL(judge(header, 1079), NF_ERR_PROTOCOL);
    nf_alloc_fail_after(-1);
    CU_ASSERT_EQUAL(judge(header, 1080), NF_OK);
}

/* A link that refused a frame takes the right one as if nothing had been. */
static void test_link_survives_lies(void)
{
    struct pipe_pair pair;
    struct nf_msg msg;
    bool empty;
    unsigned accepted = 0;

    pipe_open(&pair, COOKIE, LIMIT_BYTES);
    pipe_say(&pair.ends[0].link, NF_MSG_LEASE, 40000, 100000);
    for (enum nf_status status = NF_WAIT; status == NF_WAIT;) {
        struct pipe_frame *frame;
        uint8_t right[NF_FRAME_HEADER_BYTES];

        pipe_flush(&pair.ends[1], ALL);
        pipe_next_kind(&pair.ends[0]);
        pipe_flush(&pair.ends[0], ALL);
        frame = pair.ends[1].in.head;
        CU_ASSERT_PTR_NOT_NULL_FATAL(frame);
        memcpy(right, frame->header, sizeof(right));
        for (size_t i = 0; i < sizeof(right); i++) {
            struct nf_frame f;
            struct nf_link_in in;
            bool begun = pair.ends[1].link.assembling;

            if (i == 7) /* the window is the sender's to say */
                continue;
            frame->header[i] ^= 0x40;
            /* what we have sent may well have been read, and how much comes
             * with this header only the transport knows */
            if (begun && (i < 16 || i >= 24) && (i < 36 || i >= 40) &&
                nf_frame_decode(frame->header, &f) == NF_OK)
                accepted +=
                    nf_link_accept(&pair.ends[1].link, &f, &in) == NF_OK;
            frame->header[i] = right[i];
        }
        status = pipe_read(&pair.ends[1], &msg, &empty);
    }
    CU_ASSERT_EQUAL(accepted, 0);
    CU_ASSERT(pipe_payload_is(msg.payload, 1, 100000, NF_FLOAT64));
    CU_ASSERT_EQUAL(msg.body_bytes, 40000);
    nf_blob_unref(msg.payload);
    pipe_close(&pair);
}

/* The header says that the sender has this window, in units of 4 KiB. */
static void lie_about_window(struct pipe_end *to, uint8_t units)
{
    for (struct pipe_frame *f = to->in.head; f != NULL; f = f->next)
        f->header[7] = units;
}

/* What the peer's window is taken for when frames of a link of the smallest
 * window say this. */
static uint32_t believed(uint8_t units)
{
    struct pipe_pair pair;
    uint32_t window_bytes;

    pipe_open(&pair, COOKIE, LIMIT_BYTES);
    pipe_say(&pair.ends[0].link, NF_MSG_LEASE, 10, 0);
    pipe_flush(&pair.ends[0], ALL);
    lie_about_window(&pair.ends[1], units);
    CU_ASSERT_EQUAL(pipe_next_kind(&pair.ends[1]), NF_MSG_LEASE);
    window_bytes = pair.ends[1].link.peer_window_bytes;
    pipe_close(&pair);
    return window_bytes;
}

/* Move 1 MB in frames that all say this.  Whenever nothing moves the receiver
 * sends a sign of life, as it does when it has nothing else to say.
 * @return how often that was needed; UINT_MAX: it does not get through */
static unsigned move_with_lie(uint8_t units, uint32_t window_bytes,
                              unsigned *confirmations_p)
{
    struct pipe_pair pair;
    struct pipe_end *from = &pair.ends[0], *to = &pair.ends[1];
    struct nf_msg msg = { .kind = NF_MSG_NONE };
    unsigned stalls = 0;
    bool empty;

    *confirmations_p = 0;
    pipe_open(&pair, COOKIE, LIMIT_BYTES);
    pipe_set_windows(&pair, window_bytes, 0);
    pipe_say(&from->link, NF_MSG_LEASE, 1000, 1000000);
    while (stalls < 1000) {
        enum nf_status status = NF_WAIT;
        int sent = pipe_flush(from, ALL), told;

        lie_about_window(to, units);
        for (empty = false; !empty && status == NF_WAIT;)
            status = pipe_read(to, &msg, &empty);
        CU_ASSERT(to->in.most_bytes <= window_bytes + NF_LINK_URGENT_BYTES);
        if (status == NF_OK)
            break;
        CU_ASSERT_EQUAL_FATAL(status, NF_WAIT);
        told = pipe_flush(to, ALL);
        *confirmations_p += (unsigned)told;
        if (sent == 0 && told == 0) {
            stalls++;
            pipe_say(&to->link, NF_MSG_HEARTBEAT, 0, 0);
            pipe_flush(to, ALL);
        }
        while (pipe_next_kind(from) != NF_MSG_NONE)
            ;
    }
    CU_ASSERT_EQUAL(msg.kind, NF_MSG_LEASE);
    CU_ASSERT(pipe_payload_is(msg.payload, 1, 1000000, NF_FLOAT64));
    nf_blob_unref(msg.payload);
    pipe_close(&pair);
    return stalls;
}

/* All that a lie about the window changes is how often the liar is confirmed.
 * One that says too little or what no window can be never waits; one that says
 * too much waits for a word of ours at worst. */
static void test_lies_about_the_window(void)
{
    static const uint32_t windows[] = { NF_LINK_WINDOW_BYTES, 256 * 1024,
                                        NF_LINK_WINDOW_MAX_BYTES };
    const uint32_t least = NF_LINK_WINDOW_BYTES / 4096;
    const uint32_t most = NF_LINK_WINDOW_MAX_BYTES / 4096;
    unsigned honest_ones, lying_ones;

    for (uint32_t units = 0; units < 256; units++)
        CU_ASSERT_EQUAL(believed((uint8_t)units),
                        units >= least && units <= most ? 4096 * units
                                                        : 4096 * least);
    for (size_t w = 0; w < 3; w++) {
        uint32_t truth = windows[w] / 4096;

        CU_ASSERT_EQUAL(move_with_lie((uint8_t)truth, windows[w], &honest_ones),
                        0);
        for (uint32_t units = 0; units < 256; units++) {
            unsigned stalls =
                move_with_lie((uint8_t)units, windows[w], &lying_ones);

            if (units <= truth || units > most) {
                CU_ASSERT_EQUAL(stalls, 0);
                CU_ASSERT(lying_ones >= honest_ones);
            } else {
                CU_ASSERT(stalls < 1000);
            }
        }
    }
}

/* ------------------------------------------------------------- memory */

/* Move one message with the n-th allocation failing.  What is refused for want
 * of memory is as if it had not been tried: trying again works.
 * @return whether an allocation failed */
static bool move_with_failure(long n)
{
    struct pipe_pair pair;
    struct nf_blob *payload = pipe_payload(9, 100000, NF_INT32);
    struct nf_msg msg = { NF_MSG_LEASE, payload->data, 50000, payload };
    struct nf_msg ping = { .kind = NF_MSG_REVOKE };
    struct nf_msg got = { .kind = NF_MSG_NONE };
    bool failed = false, empty;
    unsigned revokes = 0;

    pipe_open(&pair, COOKIE, LIMIT_BYTES);
    nf_alloc_fail_after(n);
    while (nf_link_queue(&pair.ends[0].link, &msg) != NF_OK ||
           nf_link_queue(&pair.ends[0].link, &ping) != NF_OK) {
        failed = true;
        nf_alloc_fail_after(-1);
        nf_link_purge(&pair.ends[0].link);
    }
    while (got.kind != NF_MSG_LEASE) {
        enum nf_status status;

        pipe_flush(&pair.ends[0], ALL);
        status = pipe_read(&pair.ends[1], &got, &empty);
        CU_ASSERT(status >= 0 || status == NF_ERR_NOMEM);
        revokes += status == NF_OK && got.kind == NF_MSG_REVOKE;
        if (status == NF_ERR_NOMEM) {
            failed = true;
            nf_alloc_fail_after(-1);
        }
        pipe_flush(&pair.ends[1], ALL);
        pipe_next_kind(&pair.ends[0]);
        if (status != NF_OK)
            got.kind = NF_MSG_NONE;
    }
    nf_alloc_fail_after(-1);
    CU_ASSERT_EQUAL(revokes, 1);
    CU_ASSERT(pipe_payload_is(got.payload, 9, 100000, NF_INT32));
    nf_blob_unref(got.payload);
    pipe_close(&pair);
    CU_ASSERT_EQUAL(atomic_load(&payload->refs), 1);
    nf_blob_unref(payload);
    return failed;
}

static void test_without_memory(void)
{
    long n = 0;

    while (move_with_failure(n))
        n++;
    CU_ASSERT(n >= 4); /* two entries, a body, a payload */
}

static CU_TestInfo tests[] = {
    { "headers that lie are refused", test_headers_that_lie },
    { "no bit of a header leads out of memory", test_every_bit_of_a_header },
    { "a claim over the limit is refused without allocating",
      test_claims_over_the_limit },
    { "a link survives lies", test_link_survives_lies },
    { "a lie about the window delays the liar at worst",
      test_lies_about_the_window },
    { "without memory nothing is lost silently", test_without_memory },
    CU_TEST_INFO_NULL,
};

int main(void)
{
    CU_SuiteInfo suites[] = {
        { "link, lied to", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
