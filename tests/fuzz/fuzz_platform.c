/* Fuzzing platform files.  Any text either is refused in one line that begins
 * with a line of it, or is a world; a small world is simulated, where nothing
 * may get lost and nobody may be faster than the bound.
 *
 * With libFuzzer: clang -DNF_LIBFUZZER -fsanitize=fuzzer,address ...
 * Without: `fuzz_platform FILE...` replays inputs (AFL works like that), and
 * `fuzz_platform` alone makes its own from fixed seeds. */
#include "config.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/farm_sim.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "fuzz_platform: %s\n", what);
        abort();
    }
}

static void check_error(const char *text, size_t bytes,
                        const struct nf_error *err)
{
    unsigned long line = 0, lines = 1;
    int end = 0;

    for (size_t i = 0; i < bytes; i++)
        lines += text[i] == '\n';
    must(strchr(err->text, '\n') == NULL, "an error of two lines");
    must(sscanf(err->text, "p:%lu: %n", &line, &end) == 1 && end > 0,
         "an error without line");
    must(line >= 1 && line <= lines, "an error in no line");
    must(err->text[end] != '\0', "an error without reason");
}

/* Rounding to whole microseconds may give half of one for each unit and some
 * for each change of speed. */
static double rounding_us(const struct nf_world *world)
{
    double us = 2 + (double)world->units;

    for (uint32_t i = 0; i < world->slaves; i++)
        us += 2.0 * (double)world->slave[i].nchanges * NF_WORLD_RATIO_MAX;
    return us;
}

static void simulate(const struct nf_world *world, const char *spec)
{
    const struct nf_farm_sim_options options = { .seed = 1 };
    struct nf_farm_sim_result result;
    struct nf_policy policy;
    struct nf_error err;
    enum nf_status status;
    double bound_us = nf_world_bound_us(world);
    uint64_t units = 0;

    must(nf_policy_parse(spec, &policy, &err) == NF_OK, "no such policy");
    status = nf_farm_sim(world, &policy, &options, &result, &err);
    must(status == NF_OK || status == NF_ERR_FAILED, "a run fails");
    must(status == NF_OK || world->nfailures > 0, "a run has no end");
    if (status != NF_OK)
        return;
    for (uint32_t i = 0; i < result.slaves; i++)
        units += result.slave[i].units;
    must(units >= world->units - result.failed_units, "a unit is missing");
    must(result.failed_units > 0 ||
             (double)result.makespan_us * (1 + 1e-9) + rounding_us(world) >=
                 bound_us,
         "a run is faster than the bound");
    nf_farm_sim_fini(&result);
}

/* Would it take long?  Silence is looked for all the time. */
static int is_small(const struct nf_world *world)
{
    return world->units <= 200 && world->slots <= 16 &&
           (world->silence_us == 0 || nf_world_bound_us(world) < 1e7);
}

/* Valid, but of a size that takes seconds just to fill? */
static int is_heavy(const char *text, size_t bytes)
{
    json_t *object = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL);
    json_int_t units = json_integer_value(json_object_get(object, "units"));
    json_int_t slaves = json_integer_value(json_object_get(object, "slaves"));

    json_decref(object);
    return (units > 10000 && units <= NF_WORLD_UNITS_MAX) ||
           (slaves > 1000 && slaves <= NF_WORLD_SLAVES_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const char *const specs[] = { "send", "presend:td=7ms", "gss",
                                         "auto", "window:w=3" };
    const char *text = (const char *)data;
    struct nf_world world;
    struct nf_error err;

    if (is_heavy(text, bytes))
        return 0;
    if (nf_world_parse_text(text, bytes, "p", NULL, NULL, &world, &err) !=
        NF_OK) {
        check_error(text, bytes, &err);
        return 0;
    }
    must(world.slaves >= 1 && world.slots >= world.slaves, "no slaves");
    must(isfinite(nf_world_bound_us(&world)), "no bound");
    if (is_small(&world))
        simulate(&world, specs[bytes % (sizeof(specs) / sizeof(specs[0]))]);
    nf_world_fini(&world);
    return 0;
}

#ifndef NF_LIBFUZZER
#include "tests/fuzz/replay.h"
enum { ROUNDS = 40000 };

static const char *const seeds[] = {
    "{\"units\":9,\"slaves\":3,\"cost\":1000}",
    "{\"slaves\":2,\n\"cost\":[10,20,30],\n\"speed\":[1,\"1/4\"],\"net\":"
    "\"hub\",\"kappa\":0.5,\n\"ts\":[5,1],\"tr\":[[4,2],[3,1]]}",
    "{\"units\":40,\"slaves\":3,\"slots\":[1,2,1],\n\"cost\":{\"distribution\":"
    "\"gamma\",\"mean\":500,\"shape\":2,\"seed\":3},\n\"slow\":{\"0\":[[100,"
    "\"1/3\"]]},\"load\":{\"1\":[[50,2],[900,\"1/2\"]]},\n\"net\":\"bus\","
    "\"prop\":30,\"o_send\":[3,1],\"o_recv\":4,\"blocking\":true}",
    "{\"units\":20,\"slaves\":2,\"cost\":700,\"silence\":3000,\n\"failures\":"
    "[{\"slave\":1,\"at\":900,\"kind\":\"dies\",\"notice\":70,\"until\":2000},"
    "\n{\"slave\":1,\"at\":3000,\"kind\":\"silent\",\"until\":9000}]}",
};

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Some bytes of a seed written over, left out or taken from elsewhere in it. */
static size_t make_input(uint64_t *state, char *text, size_t room)
{
    static const char bytes[] = "{}[]:,\"\\-+.eE0123456789\n truefalsnN";
    const char *seed = seeds[next_random(state) % 4];
    size_t length = strlen(seed);

    must(length < room, "a seed is too long");
    memcpy(text, seed, length);
    for (uint64_t i = next_random(state) % 4; i > 0 && length > 4; i--) {
        size_t at = next_random(state) % length;
        size_t from = next_random(state) % length;
        size_t count = 1 + next_random(state) % 4;

        if (at + count > length || from + count > length)
            continue;
        switch (next_random(state) % 3) {
        case 0:
            text[at] = bytes[next_random(state) % (sizeof(bytes) - 1)];
            break;
        case 1:
            memmove(text + at, text + at + count, length - at - count);
            length -= count;
            break;
        default:
            memmove(text + at, text + from, count);
            break;
        }
    }
    return length;
}

int main(int argc, char **argv)
{
    uint64_t state = 42;
    int bad = 0;

    for (int i = 1; i < argc; i++)
        bad |= fuzz_replay(argv[i]);
    for (int i = 0; argc == 1 && i < ROUNDS; i++) {
        char input[1024];
        size_t bytes = make_input(&state, input, sizeof(input));
        char *copy = malloc(bytes + 1); /* exact: sanitizers see its end */

        must(copy != NULL, "out of memory");
        memcpy(copy + 1, input, bytes);
        LLVMFuzzerTestOneInput((uint8_t *)copy + 1, bytes);
        free(copy);
    }
    return bad;
}
#endif
