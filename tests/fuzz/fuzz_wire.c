/* Fuzzing the decoders.  Any input either is refused, or is a message that
 * encodes to something that decodes to the same encoding again.
 *
 * With libFuzzer: clang -DNF_LIBFUZZER -fsanitize=fuzzer,address ...
 * Without: `fuzz_wire FILE...` replays inputs (AFL works like that), and
 * `fuzz_wire` alone makes its own from fixed seeds. */
#include "config.h"
#include "common/wire/wire.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "fuzz_wire: %s\n", what);
        abort();
    }
}

/* Decode; if that works: encode, decode and encode again, and compare. */
#define CYCLE(noun, type, put_once, put_twice)                                 \
    static void cycle_##noun(const uint8_t *data, size_t bytes)                \
    {                                                                          \
        struct nf_body one, two;                                               \
        struct type m, again;                                                  \
                                                                               \
        if (nf_get_##noun(data, bytes, &m) != NF_OK)                           \
            return;                                                            \
        nf_body_init(&one);                                                    \
        nf_body_init(&two);                                                    \
        must(put_once == NF_OK, #noun " does not encode");                     \
        must(nf_get_##noun(one.data, one.bytes, &again) == NF_OK,              \
             #noun " does not decode again");                                  \
        must(put_twice == NF_OK, #noun " does not encode again");              \
        must(one.bytes == two.bytes &&                                         \
                 memcmp(one.data, two.data, one.bytes) == 0,                   \
             #noun " changes");                                                \
        nf_body_fini(&one);                                                    \
        nf_body_fini(&two);                                                    \
    }

/* The sizes of a layout as the encoders want them; the caller frees. */
static uint64_t *sizes_of(const struct nf_layout *layout, uint64_t count)
{
    uint64_t *sizes;

    if (layout->unit_bytes != NF_LAYOUT_TABLE)
        return NULL;
    sizes = malloc((size_t)count * sizeof(*sizes));
    must(sizes != NULL, "out of memory");
    for (uint64_t i = 0; i < count; i++)
        sizes[i] = nf_layout_unit_bytes(layout, i);
    return sizes;
}

static enum nf_status put_lease(struct nf_body *body,
                                const struct nf_lease_msg *m)
{
    uint64_t *sizes = sizes_of(&m->layout, m->count);
    enum nf_status status = nf_put_lease(body, m, sizes);

    free(sizes);
    return status;
}

static enum nf_status put_result(struct nf_body *body,
                                 const struct nf_result_msg *m)
{
    uint64_t *sizes = sizes_of(&m->layout, m->count);
    enum nf_status status = nf_put_result(body, m, sizes);

    free(sizes);
    return status;
}

static enum nf_status put_holding(struct nf_body *body,
                                  const struct nf_holding_msg *m)
{
    uint64_t *sizes = sizes_of(&m->layout, m->count);
    enum nf_status status = nf_put_holding(body, m, sizes);

    free(sizes);
    return status;
}

static enum nf_status put_gather(struct nf_body *body,
                                 const struct nf_gather_msg *m)
{
    uint64_t *ranges = malloc((size_t)m->nranges * 16);
    enum nf_status status;

    must(ranges != NULL, "out of memory");
    for (uint64_t i = 0; i < m->nranges; i++)
        nf_gather_range(m, i, &ranges[2 * i], &ranges[2 * i + 1]);
    status = nf_put_gather(body, m, ranges);
    free(ranges);
    return status;
}

static enum nf_status put_group(struct nf_body *body,
                                const struct nf_group_msg *m)
{
    int *tids = malloc(m->count * sizeof(*tids));
    enum nf_status status;

    must(tids != NULL, "out of memory");
    for (uint32_t i = 0; i < m->count; i++)
        tids[i] = nf_group_tid(m, i);
    status = nf_put_group(body, m, tids);
    free(tids);
    return status;
}

static enum nf_status put_exchange(struct nf_body *body,
                                   const struct nf_exchange_msg *m)
{
    uint32_t *ranks = malloc((size_t)m->units * 2 * sizeof(*ranks));
    enum nf_status status;

    must(ranks != NULL, "out of memory");
    for (uint64_t i = 0; i < m->units; i++) {
        ranks[i] = nf_exchange_rank(m->holders, i);
        ranks[m->units + i] = nf_exchange_rank(m->homes, i);
    }
    status = nf_put_exchange(body, m, ranks, ranks + m->units);
    free(ranks);
    return status;
}

CYCLE(hello, nf_hello, nf_put_hello(&one, &m), nf_put_hello(&two, &again))
CYCLE(job, nf_job_msg, nf_put_job(&one, &m), nf_put_job(&two, &again))
CYCLE(ready, nf_ready_msg, nf_put_ready(&one, &m), nf_put_ready(&two, &again))
CYCLE(text, nf_text_msg, nf_put_text(&one, m.text),
      nf_put_text(&two, again.text))
CYCLE(lease, nf_lease_msg, put_lease(&one, &m), put_lease(&two, &again))
CYCLE(result, nf_result_msg, put_result(&one, &m), put_result(&two, &again))
CYCLE(unit_failed, nf_unit_failed_msg, nf_put_unit_failed(&one, &m),
      nf_put_unit_failed(&two, &again))
CYCLE(cancel, nf_cancel_msg, nf_put_cancel(&one, &m),
      nf_put_cancel(&two, &again))
CYCLE(holding, nf_holding_msg, put_holding(&one, &m), put_holding(&two, &again))
CYCLE(gather, nf_gather_msg, put_gather(&one, &m), put_gather(&two, &again))
CYCLE(group, nf_group_msg, put_group(&one, &m), put_group(&two, &again))
CYCLE(group_end, nf_group_end_msg, nf_put_group_end(&one, &m),
      nf_put_group_end(&two, &again))
CYCLE(exchange, nf_exchange_msg, put_exchange(&one, &m),
      put_exchange(&two, &again))
CYCLE(exchanged, nf_exchanged_msg, nf_put_exchanged(&one, &m),
      nf_put_exchanged(&two, &again))

/* The first byte says which decoder. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static void (*const cycles[])(const uint8_t *data, size_t bytes) = {
        cycle_hello,   cycle_job,    cycle_ready,       cycle_text,
        cycle_lease,   cycle_result, cycle_unit_failed, cycle_cancel,
        cycle_holding, cycle_gather, cycle_group,       cycle_group_end,
        cycle_exchange, cycle_exchanged,
    };

    if (bytes > 0)
        cycles[data[0] % 14](data + 1, bytes - 1);
    return 0;
}

#ifndef NF_LIBFUZZER
#include "tests/fuzz/replay.h"
enum { ROUNDS = 300000 };

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Mostly small numbers: those get deeper into the decoders than noise. */
static size_t make_input(uint64_t *state, uint8_t *data, size_t most)
{
    size_t bytes = (size_t)(next_random(state) % most);

    for (size_t i = 0; i < bytes; i++) {
        uint64_t r = next_random(state);

        data[i] = (uint8_t)(r % 8 < 5   ? 0
                            : r % 8 < 7 ? (r >> 8) % 4
                                        : (r >> 8) & 255);
    }
    return bytes;
}

int main(int argc, char **argv)
{
    uint64_t state = 42;
    int bad = 0;

    for (int i = 1; i < argc; i++)
        bad |= fuzz_replay(argv[i]);
    for (int i = 0; argc == 1 && i < ROUNDS; i++) {
        uint8_t input[160], *copy;
        size_t bytes = make_input(&state, input, sizeof(input));

        copy = malloc(bytes + 1); /* exact, so that sanitizers see its end */
        must(copy != NULL, "out of memory");
        memcpy(copy + 1, input, bytes);
        LLVMFuzzerTestOneInput(copy + 1, bytes);
        free(copy);
    }
    return bad;
}
#endif
