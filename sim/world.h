#ifndef NF_SIM_WORLD_H
#define NF_SIM_WORLD_H
/** @file world.h  A simulated network of workstations, read from a platform
 *  file: one JSON object.  Times are integer microseconds.
 *
 *      units     N (default: the length of the list `cost`)
 *      slaves    p (default: the length of the list `speed`)
 *      cost      compute time of a unit at speed 1; or a list of N; or
 *                {"file": PATH}; or {"distribution": NAME, ...}      required
 *      speed     list of p: 1, "1/4", ...                     default 1 for all
 *      slots     chunks that a slave computes at a time, each at its speed; or
 *                a list of p                                         default 1
 *      slow      {"slave": [[time, speed], ...]}: for chunks started from then
 *      load      as slow, but also during a chunk
 *      ts, tr    time on the wire of a data, a result message: [c, u] is
 *                c + u a unit; or a list of p such pairs            default 0
 *      net       "links": each slave has a wire each way; "bus": one wire for
 *                all; "hub": a medium that all senders share evenly
 *      kappa     hub: share of the medium that collisions cost       default 0
 *      prop      added to each transfer, without holding the wire    default 0
 *      o_send    master's time to send a message, a number or [c, u] default 0
 *      o_recv    master's time to take a result                      default 0
 *      blocking  a slave takes its next chunk only when its result has left
 *                the wire                                        default false
 *      failures  list of {"slave", "at", "kind", "notice", "until"}
 *      silence   the master takes a slave as lost that it has not heard of for
 *                so long; 0: never                                   default 0
 *      note      text for people
 *
 *  doc/user-guide.md, "Platform files", has all of it with examples. */
#include "common/base/error.h"
#include <jansson.h>
#include <stdbool.h>

struct nf_ratio {
    int64_t num, den; /**< 1..NF_WORLD_RATIO_MAX */
};

/** c + u * units */
struct nf_line {
    int64_t fixed_us, per_unit_us;
};

struct nf_speed_change {
    int64_t from_us;
    struct nf_ratio speed;
};

struct nf_world_slave {
    struct nf_ratio speed;
    uint32_t slots;                  /**< >= 1 */
    struct nf_line data, result;     /**< on the wire */
    struct nf_speed_change *changes; /**< by time */
    size_t nchanges;
    bool load; /**< they change running chunks too */
};

enum nf_failure_kind {
    NF_FAILURE_DIES,   /**< its task ends; what it has sent still arrives */
    NF_FAILURE_HOST,   /**< its host ends, and what is on the wire with it */
    NF_FAILURE_SILENT, /**< it computes on, but nothing comes through */
};

struct nf_world_failure {
    uint32_t slave;
    enum nf_failure_kind kind;
    int64_t at_us;
    int64_t notice_us; /**< after that long the master is told (not SILENT) */
    int64_t until_us;  /**< a new task joins, or all is heard; -1: never */
};

enum nf_world_net { NF_NET_LINKS, NF_NET_BUS, NF_NET_HUB };

enum {
    NF_WORLD_RATIO_MAX = 1000000,
    NF_WORLD_SLAVES_MAX = 1000000,
    NF_WORLD_SLOTS_MAX = 1000000, /**< of all slaves */
    NF_WORLD_UNITS_MAX = 1000000000,
    NF_WORLD_SILENCE_MIN_US = 1000,
    NF_WORLD_COSTS_MAX = 100000000, /**< units, where each has its own cost */
};
/** 11 days, of a single number */
#define NF_WORLD_TIME_MAX_US INT64_C(1000000000000)

struct nf_world {
    uint64_t units;
    uint32_t slaves, slots;
    int64_t cost_us;    /**< of every unit, if cost_sums is NULL */
    int64_t *cost_sums; /**< [i]: of the units before i; N + 1 of them */
    struct nf_world_slave *slave;
    enum nf_world_net net;
    double kappa;
    int64_t prop_us;
    struct nf_line send_overhead, recv_overhead;
    bool blocking;
    struct nf_world_failure *failures; /**< those of one slave by time, one
                                            over before the next */
    size_t nfailures;
    int64_t silence_us;
};

/** What the user says beside the platform file. */
struct nf_world_options {
    bool has_units, has_seed;
    uint64_t units; /**< instead of the file's */
    uint64_t seed;  /**< of drawn costs, instead of the file's */
};

/** @param world_p  set on NF_OK; release with nf_world_fini
 *  @retval NF_ERR_INVAL  *err names the key and what would be right
 *  @retval NF_ERR_RANGE  a number is, or all of them together are, too big */
enum nf_status nf_world_parse(const json_t *object, struct nf_world *world_p,
                              struct nf_error *err);
/** As above, from the bytes of a file; errors begin with "NAME:LINE: ".
 *  @param options    may be NULL
 *  @param directory  where the files that it names are; NULL: it must not name
 *                    any, as for nf_world_parse() */
enum nf_status nf_world_parse_text(const char *text, size_t bytes,
                                   const char *name, const char *directory,
                                   const struct nf_world_options *options,
                                   struct nf_world *world_p,
                                   struct nf_error *err);
/** As above, from a file.
 *  @param options  may be NULL
 *  @retval NF_ERR_IO  it cannot be read */
enum nf_status nf_world_read(const char *path,
                             const struct nf_world_options *options,
                             struct nf_world *world_p, struct nf_error *err);
void nf_world_fini(struct nf_world *world);

/** Sum of the costs of [first, first + count), at speed 1. */
int64_t nf_world_cost_us(const struct nf_world *world, uint64_t first,
                         uint64_t count);
/** Speed of @p slave for a chunk that it starts at @p now_us. */
struct nf_ratio nf_world_speed(const struct nf_world *world, uint32_t slave,
                               int64_t now_us);
/** When is work of @p cost_us done that @p slave begins at @p start_us?  Obeys
 *  changes of load on the way. */
int64_t nf_world_finish_us(const struct nf_world *world, uint32_t slave,
                           int64_t start_us, int64_t cost_us);
/** The fluid bound: no schedule ends before all slots together, at their
 *  speeds, have done all work, plus one way there and one back.  Slaves count
 *  as never failing, and with the best speed that `slow` gives them. */
double nf_world_bound_us(const struct nf_world *world);
/** floor(cost / speed + 1/2), in integers. */
int64_t nf_world_compute_us(int64_t cost_us, struct nf_ratio speed);
int64_t nf_line_us(const struct nf_line *line, uint64_t units);
#endif
