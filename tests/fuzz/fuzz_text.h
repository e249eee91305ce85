#ifndef NF_FUZZ_TEXT_H
#define NF_FUZZ_TEXT_H
/** @file fuzz_text.h  main() for fuzzers of texts that is not libFuzzer's:
 *  replays the files it is given, or changes good texts at random from a fixed
 *  seed, so that `make check` runs some of it everywhere. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/fuzz/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#ifndef FUZZ_TEXT_ROUNDS
#define FUZZ_TEXT_ROUNDS 60000
#endif
enum { FUZZ_TEXT_BYTES = 4096 };

static uint64_t fuzz_text_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Of so many inputs one has a tail of noise, after which JSON is no JSON. */
#ifndef FUZZ_TEXT_TAIL_OF
#define FUZZ_TEXT_TAIL_OF 1
#endif

/* A copy of @p text, perhaps with a tail of noise, and in most cases some
 * characters replaced, dropped or doubled. */
static size_t fuzz_text_change(uint64_t *state, const char *text,
                               uint8_t input[FUZZ_TEXT_BYTES])
{
    size_t bytes = strlen(text), tail = fuzz_text_random(state) % 200;

    if (FUZZ_TEXT_TAIL_OF > 1 &&
        fuzz_text_random(state) % FUZZ_TEXT_TAIL_OF != 0)
        tail = 0;
    memcpy(input, text, bytes);
    for (uint64_t k = fuzz_text_random(state) % 4; k > 0 && bytes > 1; k--) {
        size_t at = fuzz_text_random(state) % bytes;
        size_t rest = bytes - at - 1;

        switch (fuzz_text_random(state) % 4) {
        case 0:
            input[at] = (uint8_t)fuzz_text_random(state);
            break;
        case 1:
            input[at] = (uint8_t) ":+=,/09.-e\n "[fuzz_text_random(state) % 12];
            break;
        case 2:
            memmove(input + at, input + at + 1, rest);
            bytes--;
            break;
        default:
            memmove(input + at + 1, input + at, rest + 1);
            bytes++;
        }
    }
    for (; tail > 0; tail--)
        input[bytes++] = (uint8_t)fuzz_text_random(state);
    return bytes;
}

/** @param texts  ntexts good ones, each shorter than FUZZ_TEXT_BYTES / 2 */
static int fuzz_text_main(int argc, char **argv, const char *const *texts,
                          size_t ntexts)
{
    static uint8_t input[FUZZ_TEXT_BYTES];
    uint64_t state = 42;
    int bad = 0;

    for (int i = 1; i < argc; i++)
        bad |= fuzz_replay(argv[i]);
    for (size_t i = 0; argc == 1 && i < FUZZ_TEXT_ROUNDS; i++) {
        size_t bytes = fuzz_text_change(&state, texts[i % ntexts], input);
        uint8_t *copy = malloc(bytes); /* exact, so that sanitizers see it */

        if (copy == NULL)
            return 99;
        memcpy(copy, input, bytes);
        LLVMFuzzerTestOneInput(copy, bytes);
        free(copy);
    }
    return bad;
}
#endif
