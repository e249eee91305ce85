/* Fuzzing files of parameters.  A text is either refused with one line that
 * begins with a line of it, or it is hosts that every algorithm makes a tree
 * of, of which none is faster than the bound.
 *
 * With libFuzzer: see tests/fuzz/local.am.  Without: `fuzz_params FILE...`
 * replays inputs, and `fuzz_params` alone makes its own from fixed seeds. */
#include "config.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/model/params_file.h"
#include "common/tree/hnow.h"
#include "common/tree/hnow_table.h"

enum { MOST = 9 }; /* hosts that trees are made for */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void must(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "fuzz_params: %s\n", what);
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
    must(err->status == NF_ERR_INVAL, "another status");
    for (const char *c = err->text; *c != '\0'; c++)
        must((unsigned char)*c >= ' ', "an error that is not one line");
    must(sscanf(err->text, "p:%lu: %n", &line, &end) == 1 && end > 0,
         "an error without line");
    must(line >= 1 && line <= lines, "an error in no line");
}

static void check_trees(const struct nf_hetero *hetero, uint32_t root)
{
    const uint64_t bytes = 1000;
    double bound_us = 0;

    must(nf_tree_bound_segments(hetero, root, bytes, 0, &bound_us) == NF_OK,
         "no bound");
    for (size_t k = 0; nf_hnow_table[k] != NULL; k++) {
        struct nf_crl_plan plan;

        must(nf_hnow_make(nf_hnow_table[k], hetero, root, bytes, &plan, NULL) ==
                 NF_OK,
             "no tree");
        must(isfinite(plan.time_us) && plan.time_us >= 0, "no time");
        must(plan.time_us * (1 + 1e-9) + 1e-6 >= bound_us, "better than best");
        nf_crl_plan_fini(&plan);
        if (nf_hnow_table[k]->tree == NULL)
            continue;
        must(nf_hnow_make_blocking(nf_hnow_table[k], hetero, root, bytes, &plan,
                                   NULL) == NF_OK,
             "no tree that blocks");
        must(isfinite(plan.time_us) && plan.time_us >= 0, "no such time");
        nf_crl_plan_fini(&plan);
    }
}

static enum nf_status parse(const char *text, size_t bytes,
                            struct nf_hetero *hetero_p, uint32_t *root_p,
                            struct nf_error *err)
{
    struct nf_json_document document;
    enum nf_status status = nf_json_parse(text, bytes, "p", &document, err);

    if (status != NF_OK)
        return status;
    status = nf_params_read(&document, hetero_p, root_p, err);
    must(nf_params_are(&document) || status != NF_OK,
         "parameters that are none");
    nf_json_document_fini(&document);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const char *text = (const char *)data;
    struct nf_error err = { NF_OK, "" };
    struct nf_hetero hetero;
    uint32_t root = 0;

    if (parse(text, bytes, &hetero, &root, &err) != NF_OK) {
        check_error(text, bytes, &err);
        return 0;
    }
    must(nf_hetero_check(&hetero, root, NULL) == NF_OK, "no such hosts");
    if (hetero.hosts <= MOST)
        check_trees(&hetero, root);
    nf_hetero_fini(&hetero);
    return 0;
}

#ifndef NF_LIBFUZZER
/* Each good text costs some trees. */
#define FUZZ_TEXT_ROUNDS  20000
#define FUZZ_TEXT_TAIL_OF 8
#include "tests/fuzz/fuzz_text.h"

#define HOSTS                                                                  \
    "\"S_c\": [9, 5, 400.5],\n\"S_m\": [0, 0.1, 1e-3],\n\"R_c\": [1, 2, 3],\n" \
    "\"R_m\": [0.5, 0, 7],\n"

static const char *const texts[] = {
    "{\"root\": 1, " HOSTS "\"X_c\": 20, \"X_m\": 0.1}",
    "{\"n\": 3, " HOSTS "\"X_c\": [[0, 1, 2],\n[3, 0, 4], [5, 6, 0]], "
    "\"X_m\": [[0, 0.1, 0.2], [0.3, 0, 0.4], [0.5, 0.6, 0]], \"ports\": true}",
    "{" HOSTS "\"X_c\": 0, \"X_m\": [[0, 1, 1], [1, 0, 1], [1, 1, 0]],\n"
    "\"ports\": false}",
    "{" HOSTS "\"X_c\": 1, \"X_m\": [[0, 1, 1], [1, -2, 1], [1, 1, 3]]}",
    "{\"root\": -1, " HOSTS "\"X_c\": -20, \"X_m\": 1e999}",
};

int main(int argc, char **argv)
{
    return fuzz_text_main(argc, argv, texts, sizeof(texts) / sizeof(texts[0]));
}
#endif
