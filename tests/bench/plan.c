/* What planning costs: CRL on random hosts, with links that are equal and links
 * that differ, whole (one segment) and in segments.
 *
 *     plan [HOSTS BYTES]...      without arguments: a table */
#include "config.h"
#include "common/base/clock.h"
#include "common/tree/crl.h"
#include "sim/hnow.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 5 };

/* The median of RUNS networks, first touch included; < 0: not to be had. */
static double plan_ms(uint32_t hosts, uint64_t bytes, bool whole,
                      bool is_matrix)
{
    const struct nf_crl_options options = {
        .bytes = bytes,
        .least_segment = whole ? bytes + 1 : 0,
        .polish = NF_CRL_POLISH,
    };
    double times[RUNS];

    for (int r = 0; r < RUNS; r++) {
        struct nf_hetero hetero;
        struct nf_crl_plan plan;
        int64_t start_us;
        uint32_t root;
        int at = r;

        if (nf_hnow_draw((uint64_t)r, hosts, is_matrix, &hetero, &root) !=
            NF_OK)
            return -1;
        hetero.has_ports = true;
        start_us = nf_now_us();
        if (nf_crl_plan(&hetero, root, &options, &plan, NULL) != NF_OK)
            return -1;
        for (double ms = (double)(nf_now_us() - start_us) * 1e-3;; at--) {
            if (at == 0 || times[at - 1] <= ms) {
                times[at] = ms;
                break;
            }
            times[at] = times[at - 1];
        }
        nf_crl_plan_fini(&plan);
        nf_hetero_fini(&hetero);
    }
    return times[RUNS / 2];
}

static void row(uint32_t hosts, uint64_t bytes, bool whole)
{
    printf("%6u %10" PRIu64 "  %-8s %9.2f ms %9.2f ms\n", hosts, bytes,
           whole ? "one" : "many", plan_ms(hosts, bytes, whole, false),
           plan_ms(hosts, bytes, whole, true));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const uint32_t sizes[] = { 8, 32, 100, 1000 };

    printf(" hosts      bytes  segments  equal links   different\n");
    for (int i = 1; i + 1 < argc; i += 2)
        row((uint32_t)strtoul(argv[i], NULL, 10),
            strtoull(argv[i + 1], NULL, 10), false);
    for (size_t i = 0; argc == 1 && i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        row(sizes[i], 1024, true);
        row(sizes[i], 65536, false);
        row(sizes[i], 1048576, false);
    }
    return 0;
}
