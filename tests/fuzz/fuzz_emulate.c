/* Fuzzing the parameters of --emulate.  They are either refused with one line
 * or describe a world that can be: times and speeds within their limits.
 *
 * With libFuzzer: see tests/fuzz/local.am.  Without: `fuzz_emulate FILE...`
 * replays inputs, and `fuzz_emulate` alone makes its own from fixed seeds. */
#include "config.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "master/emulate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "fuzz_emulate: %s\n", what);
        abort();
    }
}

static void check_time(const struct nf_emulate_time *time)
{
    const int64_t hour_us = INT64_C(3600000000);

    must(time->fixed_us >= 0 && time->fixed_us <= hour_us, "a fixed time");
    must(time->per_unit_us >= 0 && time->per_unit_us <= hour_us, "a time");
    must(nf_emulate_time_us(time, 0) == time->fixed_us, "no unit");
    must(nf_emulate_time_us(time, UINT64_MAX) >= time->fixed_us, "many units");
}

static void check_world(const struct nf_emulate *e)
{
    must(e->unit_us >= 1 && e->unit_us <= INT64_C(3600000000), "unit");
    check_time(&e->send);
    check_time(&e->recv);
    check_time(&e->wire);
    must(e->wires == NF_EMULATE_BUS || e->wires == NF_EMULATE_LINKS, "wires");
    must(e->nspeeds <= NF_EMULATE_SPEEDS_MAX, "speeds");
    for (uint32_t i = 0; i < e->nspeeds; i++)
        must(nf_emulate_speed(e, i) >= NF_EMULATE_SPEED_ONE / 1000 &&
                 nf_emulate_speed(e, i) <= NF_EMULATE_SPEED_ONE * 1000,
             "a speed");
    must(nf_emulate_speed(e, e->nspeeds) == NF_EMULATE_SPEED_ONE, "the rest");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text = malloc(bytes + 1);
    struct nf_emulate world = { .unit_us = -1 };
    struct nf_error err = { .status = NF_OK };

    must(text != NULL, "out of memory");
    if (bytes > 0)
        memcpy(text, data, bytes);
    text[bytes] = '\0';
    if (nf_emulate_parse(text, &world, &err) == NF_OK) {
        check_world(&world);
    } else {
        must(err.status == NF_ERR_INVAL && err.text[0] != '\0', "no reason");
        must(strchr(err.text, '\n') == NULL, "the reason is no line");
        must(world.unit_us == -1, "a refused one had an effect");
    }
    free(text);
    return 0;
}

#ifndef NF_LIBFUZZER
#include "tests/fuzz/fuzz_text.h"

static const char *const texts[] = {
    "unit=33ms,send=0.9ms,wire=1ms,blocking=no,speeds=1/1/0.5/0.25",
    "unit=337ms,send=9ms+1us,recv=0s,wire=0s+10us,net=links,blocking=yes",
    "speeds=1000/0.001,unit=1us,net=bus",
};

int main(int argc, char **argv)
{
    return fuzz_text_main(argc, argv, texts, sizeof(texts) / sizeof(texts[0]));
}
#endif
