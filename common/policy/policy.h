#ifndef NF_POLICY_POLICY_H
#define NF_POLICY_POLICY_H
/** @file policy.h  Scheduling policies: a sizer (how many units next) and a
 *  pacer (when, and to which slot), both pure state machines.
 *
 *  Every callback is deterministic in its arguments and state: no clock, no
 *  I/O, no log, no allocation, no globals.  State is a flat block that the
 *  caller supplies (zeroed, aligned for any type) and may copy with memcpy, so
 *  that a simulator can look ahead; state must hence hold no pointers into
 *  itself.  Policies count slots, the p of the formulas. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "nowfarm.h"

/** Facts fixed for one run.  Owned by the caller, outlives the policy. */
struct nf_policy_env {
    uint64_t units;     /**< N, >= 0 */
    uint32_t slots;     /**< p, slots expected at start, >= 1 */
    uint32_t max_slots; /**< slot numbers are below this, >= slots */
    uint64_t seed;      /**< sole source of randomness */
};

/** What a parameter's text means. */
enum nf_param_kind {
    NF_PARAM_COUNT,  /**< min..max */
    NF_PARAM_TIME,   /**< a time with unit, "100ms"; 0..max us */
    NF_PARAM_TIMES,  /**< times joined by '/', for slots 0, 1, ... in turn */
    NF_PARAM_REAL,   /**< plain finite number >= 0 */
    NF_PARAM_BOOL,   /**< 0 or 1 */
    NF_PARAM_CHOICE, /**< one word of choices */
    NF_PARAM_LIST,   /**< counts min..max joined by '/' */
};

struct nf_param {
    const char *name;
    enum nf_param_kind kind;
    const char *default_text; /**< parsed like a user's; "" means "not given" */
    uint64_t min;             /**< COUNT, LIST */
    uint64_t max;             /**< COUNT, LIST; us for TIME, TIMES; 0: the most
                                   that makes sense for any policy */
    bool positive;            /**< REAL: must not be 0 */
    const char *choices;      /**< CHOICE: "ceil|floor|half" */
    const char *unit;         /**< "units", "s", ...; NULL if it has none */
    const char *help;         /**< one line */
};

/** A list of one digit and one '/' an element fits in a specification. */
enum { NF_PARAM_LIST_MAX = 128 };

/** A parsed parameter, in the order of the ops' params table. */
struct nf_param_value {
    bool given;      /**< written by the user or has a non-empty default */
    uint64_t count;  /**< COUNT, BOOL; index of the word for CHOICE */
    int64_t time_us; /**< TIME */
    double real;     /**< REAL */
    uint32_t nlist;  /**< LIST, TIMES */
    uint64_t list[NF_PARAM_LIST_MAX]; /**< LIST; TIMES in us */
};

/** How one finished chunk went, as the slave reported it. */
struct nf_chunk_times {
    uint64_t units;
    int64_t compute_us;  /**< in the kernel */
    int64_t wait_us;     /**< between arrival at the slave and its start; -1 if
                              unknown */
    int64_t idle_us;     /**< the slot had nothing to do before it */
    int64_t elapsed_us;  /**< master's clock, lease sent to result merged */
    double mean_unit_us; /**< of the units' compute times */
    double m2_unit_us2;  /**< sum of squared deviations from that mean */
};

/** How big is the next chunk? */
struct nf_sizer_ops {
    const char *name, *summary, *source; /**< key; a line; paper and equation */
    const struct nf_param *params; /**< ends with name NULL; may be NULL */
    size_t (*state_size)(const struct nf_policy_env *env);
    /** @retval NF_ERR_INVAL  values do not fit env; *err says why */
    enum nf_status (*init)(void *st, const struct nf_policy_env *env,
                           const struct nf_param_value *values,
                           struct nf_error *err);
    /** Size the next chunk for @p slot.
     *  @param left     units not yet handed out, >= 1
     *  @param units_p  set on NF_OK only, 1 <= *units_p <= left
     *  The driver may send another number of units: what is left at the next
     *  call tells.
     *  @retval NF_WAIT nothing (more) for this slot.  Units that come back
     *                  from lost slots bypass the sizer. */
    enum nf_status (*next)(void *st, uint32_t slot, uint64_t left,
                           uint64_t *units_p);
    /** A chunk of @p slot finished.  May be NULL. */
    void (*report)(void *st, uint32_t slot, const struct nf_chunk_times *t);
};

/** What a pacer may know of a slot. */
struct nf_slot_view {
    bool live;            /**< joined and not lost */
    bool refused;         /**< its sizer said NF_WAIT: do not pick it */
    uint32_t outstanding; /**< leases sent and not answered */
    uint32_t slave;       /**< slots of one slave live and die together */
    /** Leases sent to it after the last one that may be copied; NF_NO_COPY if
     *  none may.  Kept for pacers that have replicate(). */
    uint32_t behind;
};

#define NF_NO_COPY UINT32_MAX

/** What replicate() wants: of the leases of slot @p from the last one that may
 *  be copied, to slot @p to. */
struct nf_copy {
    uint32_t from, to;
};

/** What a pacer has learnt of a slot, for reports. */
struct nf_slot_estimate {
    uint64_t results;    /**< chunks it is learnt from, >= 1 */
    int64_t service_us;  /**< s: computing a chunk of g units */
    int64_t latency_us;  /**< nu: what a chunk takes there and back */
    uint64_t window;     /**< w, chunks */
    int64_t interval_us; /**< the implied t_D: max(s, (s + nu) / w) */
};

struct nf_pool_view {
    uint64_t units;       /**< N */
    uint64_t left_units;  /**< not handed out (or come back), >= 1 in pick */
    uint64_t grain_units; /**< the sizer's fixed grain g, or 1 */
    uint32_t nslots;      /**< slots[0..nslots) */
    const struct nf_slot_view *slots;
};

/** When is a chunk sent, and to whom? */
struct nf_pacer_ops {
    const char *name, *summary, *source;
    const struct nf_param *params;
    size_t (*state_size)(const struct nf_policy_env *env);
    enum nf_status (*init)(void *st, const struct nf_policy_env *env,
                           const struct nf_param_value *values,
                           struct nf_error *err);
    /** Called after every event until it says NF_WAIT.  After NF_OK the caller
     *  either calls sent() or marks the slot refused, and asks again.
     *
     *  Drivers take the messages that have arrived before they call for a
     *  timer.  So NF_WAIT with *wake_us_p <= now_us means "ask again as soon as
     *  everything that has arrived is taken": pacers whose paper says "receive
     *  all, then send" use it, and those that want to see all slots that join
     *  at one time before the first send.
     *  @retval NF_OK    send one chunk to *slot_p now (it is live, not refused)
     *  @retval NF_WAIT  ask again at *wake_us_p (INT64_MAX: not by time) or
     *                   after the next event */
    enum nf_status (*pick)(void *st, const struct nf_pool_view *pool,
                           int64_t now_us, uint32_t *slot_p,
                           int64_t *wake_us_p);
    /** Called instead of pick() when no unit is left, until it says NF_WAIT: a
     *  lease may be copied once, and whichever copy is answered first counts.
     *  After NF_OK the caller calls sent(), or has taken the lease off those
     *  that may be copied, and asks again.  NULL: units are never copied.
     *  @retval NF_OK    copy as *copy_p says: copy_p->to is live, not refused,
     *                   and of another slave
     *  @retval NF_WAIT  as of pick() */
    enum nf_status (*replicate)(void *st, const struct nf_pool_view *pool,
                                int64_t now_us, struct nf_copy *copy_p,
                                int64_t *wake_us_p);
    /** What is known of @p slot, which joined at some time.  May be NULL.
     *  @return false if nothing is */
    bool (*estimate)(const void *st, uint32_t slot,
                     struct nf_slot_estimate *estimate_p);
    /** The events; each may be NULL.  pool is already as after the event,
     *  except that pool->left_units may be 0.  A slot that joins, or joins
     *  again, has nothing outstanding.  Whenever a slot's outstanding leases
     *  become fewer, one of lost, result, cancelled and returned is called. */
    void (*join)(void *st, const struct nf_pool_view *pool, uint32_t slot,
                 int64_t now_us);
    void (*lost)(void *st, const struct nf_pool_view *pool, uint32_t slot,
                 int64_t now_us);
    void (*sent)(void *st, const struct nf_pool_view *pool, uint32_t slot,
                 uint64_t units, int64_t now_us);
    /** A lease of @p slot ended.  @p t is NULL if there is nothing to measure
     *  (its last unit failed). */
    void (*result)(void *st, const struct nf_pool_view *pool, uint32_t slot,
                   const struct nf_chunk_times *t, int64_t now_us);
    /** A lease of @p slot, not its oldest, was cancelled, as a copy of it was
     *  answered first.  Only for pacers that have replicate(). */
    void (*cancelled)(void *st, const struct nf_pool_view *pool, uint32_t slot,
                      int64_t now_us);
    /** `refused` of @p slot has changed. */
    void (*refused)(void *st, const struct nf_pool_view *pool, uint32_t slot,
                    int64_t now_us);
    /** Units came back from a lost or failed lease: slots that were refused
     *  are free to be picked again. */
    void (*returned)(void *st, const struct nf_pool_view *pool, int64_t now_us);
    /** The literal loop of the paper sleeps: while its wake-up lies in the
     *  future the driver takes no results, and when it has come the timer goes
     *  first (common/farm holds them back). */
    bool deaf_while_waiting;
};

/* One algorithm, one file, one line here: its name, with '_' for '-'. */
/* clang-format off */
#define NF_SIZER_LIST(X) \
    X(fixed) \
    X(gss) \
    X(static) \
    X(cyclic) \
    X(fac) \
    X(fac2) \
    X(wf) \
    X(awf) \
    X(awf_b) \
    X(awf_c) \
    X(awf_d) \
    X(awf_e) \
    X(af) \
    X(rta) \
    X(tss) \
    X(tfss) \
    X(fiss) \
    X(viss) \
    X(fsc) \
    X(mfsc) \
    X(rand)
#define NF_PACER_LIST(X) \
    X(pull) \
    X(timer) \
    X(round) \
    X(window) \
    X(auto)
/* clang-format on */

#define NF_SIZER_DECLARE(n) extern const struct nf_sizer_ops nf_sizer_##n;
#define NF_PACER_DECLARE(n) extern const struct nf_pacer_ops nf_pacer_##n;
NF_SIZER_LIST(NF_SIZER_DECLARE)
NF_PACER_LIST(NF_PACER_DECLARE)

/** In list order, then NULL. */
extern const struct nf_sizer_ops *const nf_sizer_table[];
extern const struct nf_pacer_ops *const nf_pacer_table[];

/** @return the sizer or pacer of that name, or NULL. */
const struct nf_sizer_ops *nf_sizer_find(const char *name);
const struct nf_pacer_ops *nf_pacer_find(const char *name);

/** One word for a sizer with a pacer; takes the parameters of both. */
struct nf_policy_alias {
    const char *name, *summary;
    const struct nf_sizer_ops *sizer;
    const struct nf_pacer_ops *pacer;
    /** "k=v" that the pacer takes instead of its default; NULL: none. */
    const char *pacer_default;
    /** Written as a parameter ("td=auto"), it selects @p other_pacer instead
     *  of @p pacer.  NULL: no such word. */
    const char *other_word;
    const struct nf_pacer_ops *other_pacer;
};

/** Ends with name NULL. */
extern const struct nf_policy_alias nf_policy_alias_table[];

enum { NF_POLICY_PARAMS_MAX = 16, NF_POLICY_SPEC_BYTES = 256 };

/** A parsed specification; plain data, may be copied. */
struct nf_policy {
    char spec[NF_POLICY_SPEC_BYTES]; /**< as the user wrote it */
    const struct nf_sizer_ops *sizer;
    const struct nf_pacer_ops *pacer;
    struct nf_param_value sizer_values[NF_POLICY_PARAMS_MAX];
    struct nf_param_value pacer_values[NF_POLICY_PARAMS_MAX];
    uint64_t grain_units; /**< g of sizers fixed and cyclic, else 1 */
};

/** Parse "SIZER[:k=v,...][+PACER[:k=v,...]]" or an alias.  A sizer alone means
 *  SIZER+pull, a pacer alone fixed+PACER; a single name takes the parameters of
 *  both halves.
 *  @retval NF_ERR_INVAL  *err names the offending word and what would be right;
 *                        *policy_p is untouched */
enum nf_status nf_policy_parse(const char *spec, struct nf_policy *policy_p,
                               struct nf_error *err);
#endif
