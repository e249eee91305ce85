#ifndef NF_WIRE_WIRE_H
#define NF_WIRE_WIRE_H
/** @file wire.h  The messages between master and slaves, and their encoding on
 *  byte buffers: little endian, no padding, every length checked.
 *
 *  A message is a kind, a body (the structs below, encoded) and sometimes a
 *  payload (a blob: shared data, inputs or results).
 *
 *      slave                         master
 *      HELLO  ---------------------->          who am I
 *             <---------------------- JOB      what to run
 *             <---------------------- SHARED   payload, if the job has any
 *      READY  ---------------------->          (or REFUSE)
 *             <---------------------- LEASE    payload: inputs
 *      RESULT ---------------------->          payload: results; in order, in
 *      UNIT_FAILED ----------------->          one or more parts of a lease
 *      HEARTBEAT ------------------->          when it had nothing else to say
 *             <---------------------- PING     likewise
 *             <---------------------- REVOKE   forget every lease you have, and
 *      READY  ---------------------->          say so
 *             <---------------------- CANCEL   drop this lease if it is not
 *                                              begun; in order behind it, and
 *                                              never answered
 *             <---------------------- STOP     (or REFUSE)
 *
 *  A job may want results to stay where they are: then a RESULT has no payload,
 *  and in the end
 *             <---------------------- GATHER   these of your results count
 *      HOLDING -------------------->           here they are, so many bytes
 *             <---------------------- GROUP    meet the others: see common/group
 *      GROUP_END ------------------>           it failed, or could not be opened
 *  GROUP is also how the slaves that are there at the begin, or one that comes
 *  late, get the shared data, instead of SHARED.  A new GATHER or GROUP ends the
 *  group before.
 *
 *  A job may have several phases: then a RESULT has a payload in the last phase
 *  only, and a LEASE of a later phase has no inputs.  Between two
 *             <---------------------- EXCHANGE who has results, who gets inputs
 *             <---------------------- GROUP    meet the others, if there are any
 *      EXCHANGED ------------------>           (or GROUP_END) our inputs are here
 *  The upper bits of a lease's number say of which phase it is.
 */
#include <stdbool.h>
#include "nowfarm.h"

/** Raised by every change of the messages; checked in HELLO. */
#define NF_WIRE_VERSION 9u

enum nf_msg_kind {
    NF_MSG_NONE = 0, /**< never a message: an acknowledgement frame */
    NF_MSG_HELLO,
    NF_MSG_JOB,
    NF_MSG_SHARED,
    NF_MSG_READY,
    NF_MSG_REFUSE,
    NF_MSG_LEASE,
    NF_MSG_RESULT,
    NF_MSG_UNIT_FAILED,
    NF_MSG_HEARTBEAT,
    NF_MSG_PING,
    NF_MSG_REVOKE,
    NF_MSG_STOP,
    NF_MSG_CANCEL,
    NF_MSG_GATHER,
    NF_MSG_HOLDING,
    NF_MSG_GROUP,
    NF_MSG_GROUP_END,
    NF_MSG_EXCHANGE,
    NF_MSG_EXCHANGED,
    NF_MSG_LOAN, /**< between members of a mesh only, see mesh_loan.c */
    NF_MSG_DUCT, /**< the same, see mesh_duct.c */
    NF_MSG_KINDS
};

/** One message.  In send: body and payload are borrowed for the call (the
 *  transport copies the body and takes its own reference on the payload).  In
 *  receive: body is valid until the next call on the transport, and the
 *  receiver owns one reference on the payload. */
struct nf_msg {
    enum nf_msg_kind kind;
    const uint8_t *body;
    size_t body_bytes;
    struct nf_blob *payload; /**< or NULL */
};

struct nf_hello {
    uint32_t wire_version;
    char version[32];        /**< nf_version() of the slave */
    uint32_t spawn_id;       /**< from the transport: which request made it */
    uint32_t pid, cores;
    char host[64];
};

struct nf_job_msg {
    char app[64];
    uint32_t slots;          /**< 0: max(1, cores / host_slaves) */
    uint32_t host_slaves;    /**< slaves of this job on that host */
    int64_t heartbeat_us;    /**< speak at least this often */
    int64_t master_silence_us; /**< die when the master is silent this long */
    int64_t unit_timeout_us; /**< 0: none */
    bool has_shared;         /**< a SHARED message follows, or a GROUP */
    bool hold;               /**< results stay with the slave: see GATHER */
    bool combine;            /**< hold: ... and are combined before they go */
    /** > 0: units take no less than this at speed 1, by sleeping.  A chunk of
     *  k units takes k emulated_unit_us / (emulated_speed / 10^6), rounded. */
    int64_t emulated_unit_us;
    uint32_t emulated_speed; /**< in millionths; >= 1000 with emulated units */
    uint64_t units;          /**< of the job */
    uint32_t phases;         /**< 0 or 1: one */
};

struct nf_ready_msg {
    uint32_t slots;
};

struct nf_text_msg {         /**< REFUSE */
    char text[NF_ERROR_TEXT_BYTES];
};

/** Sizes of the units in a payload: all alike, or a table. */
struct nf_layout {
    uint64_t unit_bytes;     /**< NF_LAYOUT_TABLE: see table */
    const uint8_t *table;    /**< count sizes, u64 little endian each; borrowed
                                  from the decoded body */
};
#define NF_LAYOUT_TABLE UINT64_MAX

struct nf_lease_msg {
    uint64_t lease, first, count;
    uint32_t slot;           /**< index within the slave */
    uint32_t attempts;       /**< earlier tries of these units */
    struct nf_layout layout;
};

struct nf_result_msg {
    uint64_t lease, first, count;
    bool last;               /**< the lease is answered in full with this */
    int64_t compute_us, wait_us, idle_us; /**< of the whole lease so far */
    double mean_unit_us, m2_unit_us2;
    struct nf_layout layout;
};

struct nf_unit_failed_msg {
    uint64_t lease, unit;
    int32_t code;            /**< what compute() returned */
    bool timeout;            /**< overran its limit; the slave exits after this */
    bool last;
    char reason[120];
};

struct nf_cancel_msg {
    uint64_t lease;
};

/** Which results of a slave count.  It may forget the others. */
struct nf_gather_msg {
    uint64_t round;          /**< of this job, 1, 2, ... */
    uint64_t nranges;        /**< >= 1 */
    const uint8_t *ranges;   /**< first, count of each: u64 little endian;
                                  ascending, apart; borrowed from the body */
};

/** What a slave is ready to give in this round: all units of GATHER in order,
 *  or what they were combined to. */
struct nf_holding_msg {
    uint64_t round;
    uint64_t count;          /**< units */
    uint64_t bytes;          /**< in all */
    struct nf_layout layout; /**< of the units; combined: unit_bytes = bytes */
};

enum nf_group_purpose {
    NF_GROUP_GATHER, /**< gatherv to rank 0, or reduce if results are combined */
    NF_GROUP_SHARED, /**< broadcast of the shared data by rank 0 */
    NF_GROUP_EXCHANGE, /**< all-to-all of pieces, after EXCHANGE */
    NF_GROUP_PURPOSES
};

/** Be member @p rank of a group.  How members find each other is the
 *  transport's: for PVM a context, a cookie, and their tids. */
struct nf_group_msg {
    enum nf_group_purpose purpose;
    uint64_t id;             /**< no two groups of a job have the same */
    uint64_t round;          /**< GATHER: of it */
    uint64_t bytes;          /**< SHARED: of the data; GATHER: of the vector of
                                  each, if they are combined between hosts,
                                  else 0 */
    int64_t timeout_us;      /**< silence that ends it */
    uint64_t cookie;
    uint32_t context;
    uint32_t rank, count;    /**< rank < count, count >= 2 */
    char algorithm[64];      /**< of its call, as nf_group_options.algorithms;
                                  "": that of the built-in model */
    const uint8_t *tids;     /**< [count] u32 little endian; borrowed */
    const uint8_t *tree;     /**< NULL: none; else what bcast.tree goes down, as
                                  nf_group_set_tree() takes it:
                                  nf_group_tree_words(count) u32 little endian;
                                  borrowed */
};

/** Does so much move between slaves that it is worth opening routes of their own
 *  for it?  Results that are not combined go to the master. */
bool nf_group_moves_much(const struct nf_group_msg *m);

/** Of each rank how many children it has, and the children. */
static inline size_t nf_group_tree_words(uint32_t count)
{
    return 2 * (size_t)count - 1;
}

#define NF_GROUP_NOBODY UINT32_MAX

/** Pieces of the results of a phase go to where they are inputs of the next one.
 *  Members have ranks, those of the group if there is more than one. */
struct nf_exchange_msg {
    uint64_t round;          /**< of this job, 1, 2, ... */
    uint32_t phase;          /**< of the results */
    uint32_t rank, count;    /**< rank < count */
    char algorithms[2048];    /**< by which to go for blocks of which size, as
                                  nf_exchange_bounds_write() has it; "": nobody else
                                  takes part */
    uint64_t units;          /**< 1.. 2^31 */
    const uint8_t *holders;  /**< [units] rank that has the result: u32 little
                                  endian; borrowed */
    const uint8_t *homes;    /**< [units] rank that gets the input, or
                                  NF_GROUP_NOBODY: it is not needed */
};

/** Our inputs are here. */
struct nf_exchanged_msg {
    uint64_t round;
    uint64_t bytes;          /**< of pieces that came from others */
    uint64_t largest_bytes;  /**< that came from one of them */
    uint64_t table_bytes;    /**< of the largest table that did: where pieces begin */
    int64_t moving_us;       /**< in its three calls of all-to-all */
};

struct nf_group_end_msg {
    uint64_t id;             /**< of the group */
    uint32_t culprit;        /**< rank of the member that is to blame, oneself if
                                  it is for want of memory, say; or
                                  NF_GROUP_NOBODY */
    char reason[120];
};

/** A growing body under construction; keep one and reuse it. */
struct nf_body {
    uint8_t *data;
    size_t bytes, capacity;
    bool failed;             /**< an append ran out of memory */
};
void nf_body_init(struct nf_body *body);
void nf_body_fini(struct nf_body *body);

/* Encoders: replace the contents of *body.  NF_ERR_NOMEM or NF_OK. */
enum nf_status nf_put_hello(struct nf_body *body, const struct nf_hello *m);
enum nf_status nf_put_job(struct nf_body *body, const struct nf_job_msg *m);
enum nf_status nf_put_ready(struct nf_body *body, const struct nf_ready_msg *m);
enum nf_status nf_put_text(struct nf_body *body, const char *text);
/** m->layout.unit_bytes may be NF_LAYOUT_TABLE with @p sizes_bytes[m->count],
 *  in which case equal sizes are noticed and no table is written; otherwise
 *  @p sizes_bytes is NULL. */
enum nf_status nf_put_lease(struct nf_body *body, const struct nf_lease_msg *m,
                            const uint64_t *sizes_bytes);
enum nf_status nf_put_result(struct nf_body *body,
                             const struct nf_result_msg *m,
                             const uint64_t *sizes_bytes);
enum nf_status nf_put_unit_failed(struct nf_body *body,
                                  const struct nf_unit_failed_msg *m);
enum nf_status nf_put_cancel(struct nf_body *body,
                             const struct nf_cancel_msg *m);

/** @param ranges  [2 * nranges] first, count of each; m->ranges is not used */
enum nf_status nf_put_gather(struct nf_body *body, const struct nf_gather_msg *m,
                             const uint64_t *ranges);
/** Sizes as for nf_put_result(). */
enum nf_status nf_put_holding(struct nf_body *body,
                              const struct nf_holding_msg *m,
                              const uint64_t *sizes_bytes);
/** @param tids  [m->count]; m->tids is not used */
enum nf_status nf_put_group(struct nf_body *body, const struct nf_group_msg *m,
                            const int *tids);
enum nf_status nf_put_group_end(struct nf_body *body,
                                const struct nf_group_end_msg *m);
/** @param holders, homes  [m->units]; those of m are not used */
enum nf_status nf_put_exchange(struct nf_body *body,
                               const struct nf_exchange_msg *m,
                               const uint32_t *holders, const uint32_t *homes);
enum nf_status nf_put_exchanged(struct nf_body *body,
                                const struct nf_exchanged_msg *m);

/* Decoders: NF_ERR_PROTOCOL (and *m_p unspecified) if data[0..bytes) is not
 * exactly such a message, a count is 0 or overflows, or a text has no end.
 * nf_get_hello accepts longer bodies of later versions. */
enum nf_status nf_get_hello(const uint8_t *data, size_t bytes,
                            struct nf_hello *m_p);
enum nf_status nf_get_job(const uint8_t *data, size_t bytes,
                          struct nf_job_msg *m_p);
enum nf_status nf_get_ready(const uint8_t *data, size_t bytes,
                            struct nf_ready_msg *m_p);
enum nf_status nf_get_text(const uint8_t *data, size_t bytes,
                           struct nf_text_msg *m_p);
enum nf_status nf_get_lease(const uint8_t *data, size_t bytes,
                            struct nf_lease_msg *m_p);
enum nf_status nf_get_result(const uint8_t *data, size_t bytes,
                             struct nf_result_msg *m_p);
enum nf_status nf_get_unit_failed(const uint8_t *data, size_t bytes,
                                  struct nf_unit_failed_msg *m_p);
enum nf_status nf_get_cancel(const uint8_t *data, size_t bytes,
                             struct nf_cancel_msg *m_p);

enum nf_status nf_get_gather(const uint8_t *data, size_t bytes,
                             struct nf_gather_msg *m_p);
enum nf_status nf_get_holding(const uint8_t *data, size_t bytes,
                              struct nf_holding_msg *m_p);
enum nf_status nf_get_group(const uint8_t *data, size_t bytes,
                            struct nf_group_msg *m_p);
enum nf_status nf_get_group_end(const uint8_t *data, size_t bytes,
                                struct nf_group_end_msg *m_p);
enum nf_status nf_get_exchange(const uint8_t *data, size_t bytes,
                               struct nf_exchange_msg *m_p);
enum nf_status nf_get_exchanged(const uint8_t *data, size_t bytes,
                                struct nf_exchanged_msg *m_p);

/** Range @p i < m->nranges. */
void nf_gather_range(const struct nf_gather_msg *m, uint64_t i,
                     uint64_t *first_p, uint64_t *count_p);
/** Number @p i < m->units of m->holders or m->homes. */
uint32_t nf_exchange_rank(const uint8_t *ranks, uint64_t i);
/** Task of member @p i < m->count. */
int nf_group_tid(const struct nf_group_msg *m, uint32_t i);

/** Size of unit @p i, 0 <= i < count, of a payload. */
uint64_t nf_layout_unit_bytes(const struct nf_layout *layout, uint64_t i);
/** Does a payload of @p payload_bytes hold exactly @p count such units? */
bool nf_layout_fits(const struct nf_layout *layout, uint64_t count,
                    uint64_t payload_bytes);
#endif
