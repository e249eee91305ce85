/* Fuzzing tables of rules for collectives.  A text is either refused with one
 * printable line or it is a table: written out and read again it is the same,
 * and whatever is asked of it, the answer is an algorithm that may serve.
 *
 * An input is a table as it stands, and once more with the right last line, so
 * that not all of them end at the checksum.
 *
 * With libFuzzer: see tests/fuzz/local.am.  Without: `fuzz_coll_table FILE...`
 * replays inputs, and `fuzz_coll_table` alone makes its own from fixed seeds.
 */
#include "config.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "common/base/alloc.h"
#include "common/coll/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "fuzz_coll_table: %s\n", what);
        abort();
    }
}

static void check_line(const struct nf_error *err)
{
    must(err->status == NF_ERR_INVAL && err->text[0] != '\0', "no reason");
    for (const char *c = err->text; *c != '\0'; c++)
        must(*c != '\n', "the reason is more than one line");
}

static void ask(const struct nf_coll_rules *rules)
{
    struct nf_coll_network network =
        nf_coll_network_of(&rules->model, "double", "sum");

    must(network.delta >= 1 && network.delta <= 2, "delta");
    for (size_t i = 0; i < rules->count && i < 8; i++) {
        const struct nf_coll_rule *rule = &rules->rules[i];
        const struct nf_coll_query query = {
            .op = rule->op,
            .ranks = rule->ranks,
            .bytes = rule->max_bytes,
            .elements = rule->max_bytes,
            .commutative = rule->operators != NF_CLASS_ORDERED,
        };
        struct nf_coll_choice choice = { .algorithm = NULL };
        struct nf_error err;

        if (nf_coll_select(&query, &network, rules, NULL, &choice, &err) !=
            NF_OK)
            continue;
        must(nf_coll_serves(choice.algorithm, &query), "cannot serve");
        must(choice.segments >= 1 && choice.segments <= NF_COLL_SEGMENTS_MAX,
             "segments");
    }
}

/* Bytes where the table was, so that sanitizers see every step too far. */
static void try_text(const char *text, size_t bytes)
{
    struct nf_coll_rules rules, again;
    struct nf_error warning, err = { .status = NF_OK };
    char *written, *rewritten;
    size_t nwritten, nrewritten;

    nf_coll_rules_init(&rules);
    nf_coll_rules_init(&again);
    if (nf_coll_rules_read(text, bytes, &rules, &warning, &err) != NF_OK) {
        check_line(&err);
        return;
    }
    if (warning.status != NF_OK)
        check_line(&warning);
    ask(&rules);
    must(nf_coll_rules_write(&rules, &written, &nwritten, &err) == NF_OK,
         "cannot be written");
    must(nf_coll_rules_read(written, nwritten, &again, &warning, &err) == NF_OK,
         "what was written cannot be read");
    must(again.count == rules.count && again.id == rules.id, "not the same");
    must(nf_coll_rules_write(&again, &rewritten, &nrewritten, &err) == NF_OK,
         "cannot be written again");
    must(nwritten == nrewritten && memcmp(written, rewritten, nwritten) == 0,
         "not the same text");
    nf_free(written);
    nf_free(rewritten);
    nf_coll_rules_fini(&rules);
    nf_coll_rules_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    enum { END_BYTES = 13 };
    char last[END_BYTES + 1], *sealed;

    try_text((const char *)data, bytes);
    while (bytes > 0 && data[bytes - 1] != '\n')
        bytes--;
    sealed = malloc(bytes + END_BYTES);
    if (sealed == NULL)
        return 0;
    if (bytes > 0)
        memcpy(sealed, data, bytes);
    snprintf(last, sizeof(last), "end %08x\n",
             (uint32_t)crc32_z(0, data, bytes));
    memcpy(sealed + bytes, last, END_BYTES);
    try_text(sealed, bytes + END_BYTES);
    free(sealed);
    return 0;
}

#ifndef NF_LIBFUZZER
#include "tests/fuzz/fuzz_text.h"

#define HEAD                                                                   \
    "nowfarm-collectives 1\nlibrary 1.0.0\nhosts 9e3779b9\nroute direct\n"     \
    "encoding raw\ndate 2026-11-21T23:50:30Z\ndelta 1.25\noccupancy_us 12\n"   \
    "piece 0 176 0.105\npiece 8192 -20 0.13\ncombine double sum 0.001\n"

static const char *const texts[] = {
    HEAD "rule bcast any 8 12288 bcast.binomial 1\n"
         "rule bcast any 8 max bcast.circulant 8192B\n",
    HEAD "rule bcast any 4 100 bcast.flat model\n"
         "rule bcast any 4 5000000000 bcast.pipeline.fd 1024\n",
    HEAD "rule reduce ordered 9 1 reduce.linear 1\n"
         "rule reduce commutative 2 max reduce.circulant 1B\n",
    HEAD "rule bcast any 4096 0 bcast.nesbt 7\nrule x any 2 max y.z 1\n",
    "nowfarm-collectives 1\ndelta 2\npiece 0 1 0\n",
};

int main(int argc, char **argv)
{
    return fuzz_text_main(argc, argv, texts, sizeof(texts) / sizeof(texts[0]));
}
#endif
