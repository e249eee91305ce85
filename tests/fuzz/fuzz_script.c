/* Fuzzing the scripts of `nowfarm chunks`.  Every line is either refused with
 * one line, or done; the answers lie between 0 and what is left.
 *
 * An input is "UNITS SLAVES POLICY", a newline, and the script.
 *
 * With libFuzzer: see tests/fuzz/local.am.  Without: `fuzz_script FILE...`
 * replays inputs, and `fuzz_script` alone makes its own from fixed seeds.
 *
 * fuzz-sources: apps/nowfarm/chunk_replay.c */
#include "config.h"
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "apps/nowfarm/chunk_replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "fuzz_script: %s\n", what);
        abort();
    }
}

/* @return whether it is a job small enough to be tried in no time */
static bool read_job(const char *line, uint64_t *units_p, uint32_t *slaves_p,
                     char spec[NF_POLICY_SPEC_BYTES])
{
    return sscanf(line, "%" SCNu64 " %" SCNu32 " %255s", units_p, slaves_p,
                  spec) == 3 &&
           *units_p <= NF_REPLAY_UNITS_MAX && *slaves_p >= 1 &&
           *slaves_p <= 1000;
}

static void do_line(struct nf_replay *replay, char *line)
{
    struct nf_error err = { .status = NF_OK };
    uint64_t before = replay->left;
    size_t answers = replay->nsizes;

    if (nf_replay_line(replay, line, &err) != NF_OK) {
        must(err.status == NF_ERR_INVAL && err.text[0] != '\0', "no reason");
        must(strchr(err.text, '\n') == NULL, "the reason is no line");
        must(replay->left == before && replay->nsizes == answers,
             "a line that was refused had an effect");
        return;
    }
    must(replay->left <= before, "units came back");
    if (replay->nsizes > answers)
        must(replay->sizes[answers] <= before, "an answer is too big");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char spec[NF_POLICY_SPEC_BYTES], *text = malloc(bytes + 1), *rest;
    struct nf_replay replay;
    uint64_t units;
    uint32_t slaves;

    must(text != NULL, "out of memory");
    memcpy(text, data, bytes);
    text[bytes] = '\0';
    rest = strchr(text, '\n');
    if (rest != NULL)
        *rest++ = '\0';
    if (read_job(text, &units, &slaves, spec) &&
        nf_replay_init(&replay, spec, units, slaves, NULL) == NF_OK) {
        while (rest != NULL) {
            char *line = rest;

            rest = strchr(line, '\n');
            if (rest != NULL)
                *rest++ = '\0';
            do_line(&replay, line);
        }
        nf_replay_fini(&replay);
    }
    free(text);
    return 0;
}

#ifndef NF_LIBFUZZER
#include "tests/fuzz/fuzz_text.h"

#define SCRIPT                                                                 \
    "next 0\nnext 1 7 # forced\nreport 0 3 100 120 33.3 1e3\nnext 2\n"         \
    "report 1 7 1000 999 0 0\nnext 0 0\nnext 0\nnext 1\nnext 3\nnext 3\n"

static const char *const texts[] = {
    "100 4 gss\n" SCRIPT,
    "100 4 static\n" SCRIPT,
    "100 4 cyclic:g=3\n" SCRIPT,
    "100 4 fac2:kmin=5\n" SCRIPT,
    "100 4 fac:sigma=2\n" SCRIPT,
    "100 4 wf:speeds=1/2/3/4\n" SCRIPT,
    "100 4 awf:steps=3\n" SCRIPT,
    "100 4 awf-b\n" SCRIPT,
    "100 4 awf-c:warm=0\n" SCRIPT,
    "100 4 awf-d:kmin=3\n" SCRIPT,
    "1000 4 awf-e\n" SCRIPT,
    "1000 4 af\n" SCRIPT,
    "1000 4 rta:g=8\n" SCRIPT,
    "100 4 tss:first=20,last=4\n" SCRIPT,
    "100 4 tfss\n" SCRIPT,
    "100 4 fiss\n" SCRIPT,
    "100 4 viss:X=3\n" SCRIPT,
    "100 4 rand:seed=9\n" SCRIPT,
    "1000000000000000 4 awf-e\n" SCRIPT,
};

int main(int argc, char **argv)
{
    return fuzz_text_main(argc, argv, texts, sizeof(texts) / sizeof(texts[0]));
}
#endif
