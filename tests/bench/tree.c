/* What building multicast trees costs: the table of the fastest ones with its
 * first touch of memory, whole trees, and a simulated multicast.
 *
 *     tree [NODES]      without argument a million */
#include "config.h"
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "common/tree/opt_table.h"
#include "common/tree/uniform.h"

enum { TIMES = 5 };

static double now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return 1e3 * (double)ts.tv_sec + 1e-6 * (double)ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void print(const char *what, uint32_t nodes, double ms[TIMES])
{
    qsort(ms, TIMES, sizeof(*ms), compare);
    printf("%-18s %8u nodes: median of %d %8.2f ms, %.2f to %.2f\n", what,
           nodes, TIMES, ms[TIMES / 2], ms[0], ms[TIMES - 1]);
}

static bool time_table(uint32_t nodes)
{
    double ms[TIMES];

    for (int i = 0; i < TIMES; i++) {
        double start = now_ms();
        struct nf_opt_table table;

        if (nf_opt_table_init(&table, nodes, 20000, 55000) != NF_OK)
            return false;
        ms[i] = now_ms() - start;
        nf_opt_table_fini(&table);
    }
    print("table", nodes, ms);
    return true;
}

static bool time_tree(const struct nf_uniform_algorithm *algorithm,
                      uint32_t nodes)
{
    struct nf_uniform_args args = {
        .nodes = nodes, .uniform = { .hold = 20000, .end = 55000, .ports = 1 }
    };
    double ms[TIMES];

    for (int i = 0; i < TIMES; i++) {
        double start = now_ms();
        struct nf_tree tree;

        if (nf_uniform_make(algorithm, &args, &tree, NULL) != NF_OK)
            return false;
        ms[i] = now_ms() - start;
        nf_tree_fini(&tree);
    }
    print(algorithm->name, nodes, ms);
    return true;
}

int main(int argc, char **argv)
{
    uint32_t nodes = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000;
    bool ok = nodes >= 1 && nodes <= NF_UNIFORM_NODES_MAX;

    /* Each time in new memory, as for a first plan: what is large goes back to
     * the system when freed.  Left alone, malloc would learn to keep it. */
    mallopt(M_MMAP_THRESHOLD, 1 << 17);
    ok = ok && time_table(nodes);
    for (size_t i = 0; ok && nf_uniform_table[i] != NULL; i++)
        ok = time_tree(nf_uniform_table[i], nodes);
    return ok ? 0 : 1;
}
