#ifndef NF_TESTS_POLICY_WORLD_H
#define NF_TESTS_POLICY_WORLD_H
/** @file policy_world.h  A small world that runs a policy to the end without
 *  farm or simulator: slaves with their own speeds, FIFO wires, a serial
 * master, nobody dies.  All times in us. */
#include "common/policy/policy.h"

enum { WORLD_SLOTS = 64, WORLD_UNITS = 2048, WORLD_SLOW = 8 };

struct world_slow {
    uint32_t slot;
    int64_t from_us; /* for chunks started then or later */
    int64_t numerator, denominator;
};

struct world {
    uint64_t units;
    uint32_t slots;
    int64_t cost_us[WORLD_UNITS];
    int64_t numerator[WORLD_SLOTS], denominator[WORLD_SLOTS]; /* speed */
    /* per message and per unit of it: on the wire, and of the master's time */
    int64_t data_us[2], result_us[2], send_us[2], take_us[2];
    int64_t latency_us; /* added after the wire, not shared */
    bool bus;           /* one wire for all, else one a slot and direction */
    bool blocking;      /* a slot goes on when its result has left the wire */
    bool hide_wait;     /* slaves cannot tell how long a chunk lay there */
    uint32_t nslow;
    struct world_slow slow[WORLD_SLOW];
};

struct world_send {
    int64_t at_us;
    uint32_t slot;
    uint64_t first, units;
};

struct world_trace {
    int64_t makespan_us;
    uint64_t nsends;
    uint64_t slot_units[WORLD_SLOTS];
    int64_t busy_us[WORLD_SLOTS];
    uint32_t max_queue[WORLD_SLOTS];
    struct world_send sends[WORLD_UNITS];
};

/** Run @p policy.  @return false if it stopped before all units were done, or
 *  broke a rule of policy.h (then *why_p says which) */
bool world_run(const struct world *world, const struct nf_policy *policy,
               struct world_trace *trace_p, const char **why_p);
#endif
