#include "config.h"
#include "tests/unit/tree_oracles.h"
#include <stdlib.h>

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void oracle_all_splits(uint32_t k, int64_t hold, int64_t end, int64_t *t_p)
{
    t_p[1] = 0;
    for (uint32_t i = 2; i <= k; i++) {
        t_p[i] = INT64_MAX;
        for (uint32_t j = 1; j < i; j++) {
            int64_t kept = j == 1 ? 0 : t_p[j] + hold;
            int64_t time = larger(kept, t_p[i - j] + end);

            if (time < t_p[i])
                t_p[i] = time;
        }
    }
}

/* Nobody leaves a queue and times only grow, so each is sorted by itself. */
void oracle_two_queues(uint32_t k, int64_t hold, int64_t end, int64_t *t_p)
{
    int64_t *again = calloc(k + 1, sizeof(*again));
    int64_t *fresh = calloc(k + 1, sizeof(*fresh));
    uint32_t nagain = 1, nfresh = 0, a = 0, f = 0;

    t_p[1] = 0;
    for (uint32_t i = 2; i <= k; i++) {
        int64_t start = f == nfresh || (a < nagain && again[a] <= fresh[f])
                            ? again[a++]
                            : fresh[f++];

        t_p[i] = start + end;
        again[nagain++] = start + hold;
        fresh[nfresh++] = start + end;
    }
    free(again);
    free(fresh);
}

int64_t oracle_ports(uint32_t k, const struct nf_uniform *uniform)
{
    /* best[i * k + n]: i nodes, one of which has sent n times */
    int64_t *best = calloc((size_t)(k + 1) * (k + 1), sizeof(*best)), time;

    for (uint32_t i = 2; i <= k; i++)
        for (uint32_t n = k - i + 1; n-- > 0;) {
            int64_t least = INT64_MAX;
            int64_t start = uniform->start != NULL
                                ? uniform->start(uniform, n)
                                : nf_uniform_start(uniform, n);

            for (uint32_t j = 1; j < i; j++) {
                time = larger(start + uniform->end +
                                  best[(size_t)(i - j) * (k + 1)],
                              best[(size_t)j * (k + 1) + n + 1]);
                least = time < least ? time : least;
            }
            best[(size_t)i * (k + 1) + n] = least;
        }
    time = best[(size_t)k * (k + 1)];
    free(best);
    return time;
}
