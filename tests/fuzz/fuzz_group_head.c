/* Fuzzing what stands before the messages of groups.  Bytes are either refused
 * or they are a head or a control message within its limits, and written out
 * they are the same bytes again (but for two that nobody reads).
 *
 * With libFuzzer: see tests/fuzz/local.am.  Without: `fuzz_group_head FILE...`
 * replays inputs, and `fuzz_group_head` alone makes its own from fixed seeds.
 */
#include "config.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/group/head.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "fuzz_group_head: %s\n", what);
        abort();
    }
}

static void check_control(const uint8_t *data, size_t bytes,
                          const struct nf_control *control)
{
    uint8_t again[NF_CONTROL_BYTES_MAX];
    size_t again_bytes;

    must(control->kind < NF_CONTROL_KINDS, "kind");
    must(control->state < NF_CONTROL_STATES, "state");
    if (nf_control_has_bits(control->kind))
        must(control->nranks <= NF_CONTROL_BITS_MAX, "bits");
    else
        must(control->nranks <= NF_CONTROL_RANKS_MAX, "ranks");
    must(control->reason <= 0 && control->reason >= NF_ERR_REVOKED, "reason");
    again_bytes = nf_control_encode(control, again);
    must(again_bytes == bytes, "length of a control message");
    again[6] = data[6]; /* reserved */
    again[7] = data[7];
    must(memcmp(again, data, bytes) == 0, "bytes of a control message");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint8_t *copy = malloc(bytes + 1); /* so that reading beyond is seen */
    uint8_t again[NF_HEAD_BYTES];
    struct nf_head head;
    struct nf_control control;
    bool is_control = false;

    must(copy != NULL, "out of memory");
    memcpy(copy, data, bytes);
    if (nf_head_decode(copy, bytes, &is_control, &head, &control) != NF_OK) {
        free(copy);
        return 0;
    }
    if (is_control) {
        check_control(copy, bytes, &control);
    } else {
        must(nf_head_encode(&head, again) == bytes, "length of a head");
        must(memcmp(again, copy, bytes) == 0, "bytes of a head");
    }
    free(copy);
    return 0;
}

#ifndef NF_LIBFUZZER
#include "common/base/rng.h"
#include "tests/fuzz/replay.h"

/* Good messages with a byte changed here and there, and cut. */
static void make_one(struct nf_rng *rng)
{
    uint8_t bytes[NF_CONTROL_BYTES_MAX + 8] = { 0 };
    static const uint8_t bits[NF_CONTROL_BITS_MAX / 8] = { 0x5a, 1 };
    struct nf_control control = { .nranks = (uint32_t)nf_rng_below(rng, 33),
                                  .bits = bits };
    struct nf_head head = { .epoch = (uint32_t)nf_rng_next(rng),
                            .bytes = nf_rng_next(rng),
                            .brief = nf_rng_below(rng, 2) == 0,
                            .digest = (uint32_t)nf_rng_next(rng) };
    size_t length = NF_HEAD_BYTES;

    if (nf_rng_below(rng, 2) == 0) {
        control.kind = (enum nf_control_kind)nf_rng_below(rng, 5);
        control.reason = -(int)nf_rng_below(rng, 1 - NF_ERR_REVOKED);
        for (uint32_t i = 0; i < control.nranks; i++)
            control.ranks[i] = (uint32_t)nf_rng_next(rng);
        if (nf_control_has_bits(control.kind) && nf_rng_below(rng, 4) == 0)
            control.nranks *= 128;
        length = nf_control_encode(&control, bytes);
    } else {
        length = nf_head_encode(&head, bytes);
    }
    for (uint64_t n = nf_rng_below(rng, 4); n > 0; n--)
        bytes[nf_rng_below(rng, length)] = (uint8_t)nf_rng_next(rng);
    if (nf_rng_below(rng, 4) == 0)
        length = (size_t)nf_rng_below(rng, sizeof(bytes));
    LLVMFuzzerTestOneInput(bytes, length);
}

int main(int argc, char **argv)
{
    struct nf_rng rng = { 1 };

    for (int i = 1; i < argc; i++)
        if (fuzz_replay(argv[i]) != 0)
            return 1;
    if (argc > 1)
        return 0;
    for (int i = 0; i < 300000; i++)
        make_one(&rng);
    return 0;
}
#endif
