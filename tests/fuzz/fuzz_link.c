/* Fuzzing the receiving half of a link with frames as a stranger who knows the
 * cookie would send them.  Whatever is accepted lies within the memory that the
 * link has for it, and no message is bigger than the limit.
 *
 * An input is a sequence of frames, each a header and two bytes of its own that
 * say how the fuzzer repairs it (so that random inputs get past the magic).
 *
 * With libFuzzer: clang -DNF_LIBFUZZER -fsanitize=fuzzer,address ...
 * Without: `fuzz_link FILE...` replays inputs, and `fuzz_link` alone makes its
 * own from fixed seeds. */
#include "config.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/wire/link.h"

enum {
    COOKIE = 0x5eed,
    LIMIT_BYTES = 1 << 20,
    STEP = NF_FRAME_HEADER_BYTES + 2
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "fuzz_link: %s\n", what);
        abort();
    }
}

/* Make some fields right, by the bits of `how`. */
static void repair(uint8_t header[NF_FRAME_HEADER_BYTES], uint8_t how,
                   const struct nf_link *link)
{
    static const uint8_t start[8] = { 'N', 'F', 'F', '1' };
    uint64_t at = link->assembling ? link->got_bytes : 0;

    memcpy(header, start, 4);
    header[7] = 0;
    if (how & 1)
        header[4] %= NF_MSG_KINDS;
    if (how & 2)
        header[5] %= NF_INT16 + 1;
    if (how & 4)
        header[6] &= 1;
    memset(header + 8, 0, 16); /* cookie; consumed_bytes */
    header[8] = COOKIE & 255;
    header[9] = COOKIE >> 8;
    for (int i = 0; (how & 8) && i < 8; i++)
        header[24 + i] = (uint8_t)(at >> (8 * i));
    if (how & 16)
        memset(header + 34, 0, 2);
    if (how & 32)
        memset(header + 38, 0, 2);
    if (how & 64)
        memset(header + 42, 0, 6);
    if ((how & 128) && link->assembling) {
        uint64_t total = link->payload != NULL ? link->payload->bytes : 0;

        header[4] = (uint8_t)link->kind;
        for (int i = 0; i < 4; i++)
            header[32 + i] = (uint8_t)(link->body_total_bytes >> (8 * i));
        for (int i = 0; i < 8; i++)
            header[40 + i] = (uint8_t)(total >> (8 * i));
        if (link->payload != NULL)
            header[5] = (uint8_t)link->payload->type;
    }
}

/* The header says the same after another encoding. */
static void check_cycle(const uint8_t header[NF_FRAME_HEADER_BYTES],
                        const struct nf_frame *frame)
{
    uint8_t again[NF_FRAME_HEADER_BYTES];

    nf_frame_encode(frame, again);
    must(memcmp(header, again, sizeof(again)) == 0, "a header changes");
}

static void check_message(const struct nf_msg *msg)
{
    uint64_t sum = 0;

    must(msg->body_bytes + (msg->payload != NULL ? msg->payload->bytes : 0) <=
             LIMIT_BYTES,
         "a message over the limit");
    for (size_t i = 0; i < msg->body_bytes; i++)
        sum += msg->body[i];
    for (size_t i = 0; msg->payload != NULL && i < msg->payload->bytes; i++)
        sum += ((const uint8_t *)msg->payload->data)[i];
    must(sum <= UINT64_MAX / 2, "bytes that are none"); /* reads them all */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct nf_link link;

    nf_link_init(&link, COOKIE, LIMIT_BYTES);
    for (; bytes >= STEP; data += STEP, bytes -= STEP) {
        uint8_t header[NF_FRAME_HEADER_BYTES];
        struct nf_frame frame;
        struct nf_link_in in;
        struct nf_msg msg;

        memcpy(header, data, sizeof(header));
        repair(header, data[sizeof(header)], &link);
        if (nf_frame_decode(header, &frame) != NF_OK)
            continue;
        check_cycle(header, &frame);
        if (nf_link_accept(&link, &frame, &in) != NF_OK)
            continue;
        if (frame.body_bytes > 0)
            memset(in.body, data[0], frame.body_bytes);
        if (frame.payload_bytes > 0)
            memset(in.payload, data[1], frame.payload_bytes);
        if (nf_link_finish(&link, &in, &msg) == NF_OK) {
            check_message(&msg);
            nf_blob_unref(msg.payload);
        }
    }
    nf_link_fini(&link);
    return 0;
}

#ifndef NF_LIBFUZZER
#include "tests/fuzz/replay.h"
enum { ROUNDS = 40000, FRAMES = 12 };

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

int main(int argc, char **argv)
{
    uint64_t state = 42;
    int bad = 0;

    for (int i = 1; i < argc; i++)
        bad |= fuzz_replay(argv[i]);
    for (int i = 0; argc == 1 && i < ROUNDS; i++) {
        uint8_t input[FRAMES * STEP];

        for (size_t k = 0; k < sizeof(input); k++)
            input[k] = next_random(&state) % 3 == 0
                           ? (uint8_t)(next_random(&state) >> 11)
                           : 0;
        for (size_t k = STEP - 2; k < sizeof(input); k += STEP)
            input[k] = (uint8_t)(next_random(&state) >> 7) | 119;
        LLVMFuzzerTestOneInput(input, sizeof(input));
    }
    return bad;
}
#endif
