/* Fuzzing the reader of traces and all that is made of one: what is read must
 * make sense, and be drawn and fitted without harm.
 *
 * With libFuzzer: ./check.sh --fuzz, or tests/fuzz/fuzz.sh.
 * fuzz-sources: apps/nowfarm/timeline.c apps/nowfarm/gantt_svg.c
 * fuzz-sources: apps/nowfarm/gantt_chrome.c apps/nowfarm/gantt_paje.c
 * fuzz-sources: apps/nowfarm/replay_seats.c
 *
 * Without: `fuzz_trace FILE...` replays inputs (AFL works like that), and
 * `fuzz_trace` alone changes a good trace from a fixed seed. */
#include "config.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/gantt.h"
#include "apps/nowfarm/replay.h"
#include "common/base/alloc.h"
#include "common/trace/history.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "fuzz_trace: %s\n", what);
        abort();
    }
}

/* Indices lead somewhere, and times are in order. */
static void check_history(const struct nf_history *h)
{
    uint32_t linked = 0;

    for (uint32_t i = 0; i < h->nchunks; i++) {
        const struct nf_history_chunk *c = &h->chunks[i];

        must(c->slave < h->nslaves && c->slot < h->slaves[c->slave].slots,
             "a chunk has no slot");
        must(c->count > 0 && c->first < h->units &&
                 c->count <= h->units - c->first,
             "a chunk has units that there are not");
        must(c->sent_us >= 0 && c->sent_us <= h->end_us, "sent too late");
        must(c->fate == NF_FATE_OPEN || c->ended_us >= c->sent_us,
             "ended before it was sent");
        must(c->compute_us >= 0 && c->wait_us >= 0 &&
                 c->compute_us + c->wait_us <= c->elapsed_us,
             "times do not add up");
        must(c->answered + c->failed <= c->count, "too many answers");
    }
    for (uint32_t s = 0; s < h->nslots; s++)
        for (uint32_t i = h->slot_heads[s]; i != NF_HISTORY_NONE;
             i = h->chunks[i].next_of_slot)
            must(++linked <= h->nchunks, "the chunks of a slot go in circles");
    must(linked == h->nchunks, "a chunk is in no slot");
}

struct order {
    int64_t last_us;
};

static void on_span(void *user, const struct span *span)
{
    struct order *order = user;

    must(span->from_us >= order->last_us, "spans overlap");
    must(span->to_us > span->from_us, "a span is empty");
    order->last_us = span->to_us;
}

static void draw(const struct nf_history *h)
{
    static enum nf_status (*const forms[])(FILE *, const struct timeline *) = {
        gantt_svg, gantt_chrome, gantt_paje
    };
    struct timeline t;

    if (h->nslots > 1000 || timeline_create(h, &t, NULL) != NF_OK)
        return; /* slow, or nobody joined */
    for (uint32_t i = 0; i < t.nrows; i++) {
        struct order order = { t.from_us };

        timeline_walk(&t, &t.rows[i], on_span, &order);
    }
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        FILE *to = fopen("/dev/null", "w");

        must(to != NULL, "/dev/null");
        must(forms[i](to, &t) == NF_OK, "out of memory");
        fclose(to);
    }
    timeline_fini(&t);
}

static void seat(const struct nf_history *h)
{
    struct seats seats;

    if (h->nstays == 0)
        return;
    must(seats_find(h, &seats) == NF_OK, "out of memory");
    must(seats.count <= h->nslots, "more seats than slots");
    for (uint32_t i = 0; i < h->nchunks; i++)
        must(seats.of_chunk[i] < seats.count, "a chunk has no seat");
    for (uint32_t i = 0; i < seats.nabsences; i++)
        must(seats.absences[i].seat < seats.count &&
                 seats.absences[i].at_us <= seats.absences[i].noticed_us,
             "an absence makes no sense");
    seats_fini(&seats);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct nf_history h;
    struct nf_error err = { .status = NF_OK };
    enum nf_status status =
        nf_history_parse((const char *)data, bytes, "fuzz", &h, &err);

    if (status != NF_OK) {
        must(status == NF_ERR_INVAL && err.status == status &&
                 strncmp(err.text, "fuzz: line ", 11) == 0,
             "the error has no line");
        return 0;
    }
    check_history(&h);
    draw(&h);
    seat(&h);
    nf_history_fini(&h);
    return 0;
}

#ifndef NF_LIBFUZZER
#include "tests/fuzz/replay.h"
enum { ROUNDS = 20000 };

static const char good[] =
    "{\"nowfarm_trace\":1,\"version\":\"1\",\"app\":\"a\",\"units\":9,"
    "\"slaves\":2,\"slots\":1,\"policy\":\"send\",\"transport\":\"pvm\","
    "\"seed\":0,\"clock\":\"monotonic\",\"clock_us\":7}\n"
    "{\"t\":1,\"ev\":\"phase_begin\",\"slave\":0,\"name\":\"shared\","
    "\"host\":\"h\",\"bytes\":5}\n"
    "{\"t\":2,\"ev\":\"phase_end\",\"slave\":0,\"name\":\"shared\"}\n"
    "{\"t\":2,\"ev\":\"begin\",\"slots\":2}\n"
    "{\"t\":3,\"ev\":\"join\",\"slave\":0,\"host\":\"h\",\"slots\":1}\n"
    "{\"t\":3,\"ev\":\"join\",\"slave\":1,\"host\":\"g\",\"slots\":2}\n"
    "{\"t\":4,\"ev\":\"sent\",\"lease\":1,\"slave\":0,\"first\":0,\"count\":3,"
    "\"master_us\":1}\n"
    "{\"t\":4,\"ev\":\"sent\",\"lease\":2,\"slave\":1,\"slot\":1,\"first\":3,"
    "\"count\":2,\"master_us\":1}\n"
    "{\"t\":6,\"ev\":\"part\",\"lease\":1,\"units\":1}\n"
    "{\"t\":8,\"ev\":\"failed\",\"lease\":1,\"unit\":1,\"reason\":\"x\"}\n"
    "{\"t\":9,\"ev\":\"result\",\"lease\":1,\"units\":1,\"compute_us\":2,"
    "\"wait_us\":1,\"idle_us\":0,\"elapsed_us\":5}\n"
    "{\"t\":9,\"ev\":\"lost\",\"slave\":1,\"reason\":\"silent\"}\n"
    "{\"t\":9,\"ev\":\"given_up\",\"unit\":1,\"attempts\":3,\"reason\":\"x\"}\n"
    "{\"t\":9,\"ev\":\"result\",\"lease\":2,\"units\":2,\"duplicates\":1,"
    "\"compute_us\":2,\"idle_us\":0,\"elapsed_us\":5}\n"
    "{\"t\":10,\"ev\":\"join\",\"slave\":1,\"host\":\"g\",\"slots\":2}\n"
    "{\"t\":11,\"ev\":\"sent\",\"lease\":3,\"slave\":1,\"first\":5,"
    "\"count\":2}\n"
    "{\"t\":12,\"ev\":\"cancelled\",\"lease\":3}\n"
    "{\"t\":13,\"ev\":\"sent\",\"lease\":4,\"slave\":1,\"first\":7,"
    "\"count\":2}\n";

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Change some bytes, mostly digits into digits, or repeat or drop a line. */
static size_t change(uint64_t *state, char *text, size_t bytes)
{
    uint64_t r = next_random(state);
    size_t at = (size_t)(next_random(state) % bytes);
    char *line = memchr(text + at, '\n', bytes - at), *end;

    if (r % 4 < 2) {
        for (size_t i = at; i < bytes; i++)
            if (text[i] >= '0' && text[i] <= '9') {
                text[i] = (char)('0' + (r >> 8) % 10);
                return bytes;
            }
    }
    if (line != NULL && r % 4 == 2) {
        line++;
        end = memchr(line, '\n', (size_t)(text + bytes - line));
        if (end != NULL) {
            memmove(line, end + 1, (size_t)(text + bytes - end - 1));
            return bytes - (size_t)(end + 1 - line);
        }
    }
    text[at] = (char)(r >> 16);
    return bytes;
}

static void fuzz_good(void)
{
    uint64_t state = 42;

    for (int i = 0; i < ROUNDS; i++) {
        size_t bytes = sizeof(good) - 1;
        char *copy = malloc(bytes);
        int changes = i == 0 ? 0 : 1 + (int)(next_random(&state) % 4);

        must(copy != NULL, "out of memory");
        memcpy(copy, good, bytes);
        while (changes-- > 0)
            bytes = change(&state, copy, bytes);
        LLVMFuzzerTestOneInput((const uint8_t *)copy, bytes);
        free(copy);
    }
}

int main(int argc, char **argv)
{
    int bad = 0;

    for (int i = 1; i < argc; i++)
        bad |= fuzz_replay(argv[i]);
    if (argc == 1)
        fuzz_good();
    return bad;
}
#endif
