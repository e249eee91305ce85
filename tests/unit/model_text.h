#ifndef NF_TESTS_UNIT_MODEL_TEXT_H
#define NF_TESTS_UNIT_MODEL_TEXT_H
/* Model files of made-up hosts. */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include "common/base/rng.h"

/* What write_model() says of how it was measured. */
static struct {
    int age_days;
    const char *route;
    double start_us, byte_us, occupancy_us; /* of collective operations */
    const char *medium;
} made = { 0, "direct", 176, 0.1, 5, "switch" };

/* Hosts h0, h1, ... of which the slowest is up to @p ratio times the quickest.
 * To be free()d. */
static inline char *write_model(uint32_t hosts, double ratio)
{
    struct nf_rng rng = { 11 };
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    time_t then = time(NULL) - (time_t)made.age_days * 86400;
    char date[32];

    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime(&then));
#define DRAW(x)                                                                \
    ((x) * (1 + (ratio - 1) * (double)nf_rng_below(&rng, 1000) / 1000))
    fprintf(out,
            "{\"nowfarm_network\": 1, \"date\": \"%s\","
            "\"medium\": \"%s\", \"route\": \"%s\", "
            "\"encoding\": \"raw\", \"collective\": {\"pieces\": "
            "[[0, %f, %f]], \"delta\": 1, \"o_s_us\": %f, "
            "\"t_op\": []}, \"hosts\": [",
            date, made.medium, made.route, made.start_us, made.byte_us,
            made.occupancy_us);
    for (uint32_t i = 0; i < hosts; i++)
        fprintf(out,
                "%s{\"name\": \"h%u\", \"send\": {\"us\": %f, "
                "\"us_per_byte\": 0.002}, \"recv\": {\"us\": %f, "
                "\"us_per_byte\": 0.003}, \"hold\": {\"us\": %f, "
                "\"us_per_byte\": 0.08}}",
                i > 0 ? "," : "", i, DRAW(20), DRAW(30), DRAW(20));
    fprintf(out, "], \"wires\": [");
    for (uint32_t i = 0; i < hosts; i++)
        for (uint32_t j = 0; j < hosts; j++)
            if (i != j)
                fprintf(out,
                        "%s{\"from\": \"h%u\", \"to\": \"h%u\", \"wire\": "
                        "{\"us\": %f, \"us_per_byte\": %f}}",
                        i > 0 || j > 1 ? "," : "", i, j, DRAW(40), DRAW(0.08));
#undef DRAW
    fprintf(out, "]}");
    fclose(out);
    return text;
}

static inline void name_hosts(char (*names)[64], uint32_t ranks, uint32_t hosts)
{
    for (uint32_t i = 0; i < ranks; i++)
        snprintf(names[i], sizeof(names[i]), "h%u", i % hosts);
}
#endif
