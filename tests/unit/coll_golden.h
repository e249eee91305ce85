#ifndef NF_TESTS_UNIT_COLL_GOLDEN_H
#define NF_TESTS_UNIT_COLL_GOLDEN_H
/* Schedules, step counts and costs against tests/golden/collectives.*, the
 * values of an independent reference implementation.  Each function prints what
 * differs, and counts. */
#include <stddef.h>
#include <stdint.h>
#include "common/coll/coll.h"

struct coll_golden_count {
    size_t compared, wrong;
};

/* All schedules of an operation in collectives.tsv, line by line. */
struct coll_golden_count coll_golden_schedules(enum nf_coll_op op);

/* "step_counts" that are called key in collectives.json, for all P there.
 * segments: k, 0 for the algorithm's default. */
struct coll_golden_count
coll_golden_steps(const char *key, const char *algorithm, uint32_t segments);

/* A row of "costs": its group is "bcast", "reduce" (allreduces too) or "scan",
 * these for both g, or "per-block m". */
struct coll_golden_cost {
    const char *row;          /* "pipeline.hd" */
    const char *algorithm;    /* "bcast.pipeline.hd" */
    enum nf_coll_ports ports; /* NF_PORTS_MANY: both HALF and FULL */
};

/* The costs of that row for all machines, P and m, to half a unit of the last
 * place printed or 1e-6, whichever is more; and where the schedule has k
 * segments, that no other k is cheaper than that of the row. */
struct coll_golden_count coll_golden_costs(const char *group,
                                           const struct coll_golden_cost *row);
#endif
