#ifndef NF_TRACE_HISTORY_H
#define NF_TRACE_HISTORY_H
/** @file history.h  Reading a trace (doc/trace.md) back.  Whatever a file
 * holds, reading it ends with a history that makes sense, or with one line of
 * error that names the file and the line.
 *
 *  A trace of a job that was killed lacks its end, and its last line may be
 *  half: that is no error, but said in `warning`.
 *
 *  Times count from the beginning of the trace; -1: not known, or never. */
#include <stdbool.h>
#include "nowfarm.h"

#define NF_HISTORY_NONE UINT32_MAX

/** Limits of what is read; doc/trace.md has them too. */
enum {
    NF_HISTORY_SLAVES_MAX = 1 << 20, /**< slave numbers, and slots in all */
    NF_HISTORY_NAME_BYTES = 64,      /**< of a host, an app; longer is cut */
    NF_HISTORY_TEXT_BYTES = 256,
    NF_HISTORY_WORLD_BYTES = 512, /**< of an emulated world */
};

enum nf_chunk_fate {
    NF_FATE_OPEN,      /**< the trace ends before */
    NF_FATE_ANSWERED,  /**< in full; its times are known unless its last unit
                            failed */
    NF_FATE_LOST,      /**< with its slave; may have been answered late */
    NF_FATE_CANCELLED, /**< taken back; may have been answered all the same */
};

/** A lease. */
struct nf_history_chunk {
    uint64_t lease, first, count;
    uint32_t slave; /**< index into slaves */
    uint32_t slot;  /**< of that slave */
    uint32_t attempts;
    enum nf_chunk_fate fate;
    bool measured; /**< a result with times came for it */
    int64_t sent_us, master_us;
    int64_t ended_us; /**< answered, lost or cancelled */
    int64_t compute_us, wait_us, idle_us, elapsed_us; /**< if measured; never
                            more than the time there was */
    double mean_unit_us, m2_unit_us2;
    uint64_t bytes_out, bytes_in;
    uint64_t answered, duplicates, failed; /**< units */
    uint32_t next_of_slot; /**< the next one sent to that slot */
};

/** From joining to being lost. */
struct nf_history_stay {
    uint32_t slave;
    int64_t from_us, to_us; /**< to_us -1: to the end */
    char reason[16];        /**< of the loss */
};

/** Something that is no chunk. */
struct nf_history_phase {
    uint32_t slave;
    char name[NF_HISTORY_NAME_BYTES];
    int64_t from_us, to_us; /**< to_us -1: never ended */
    uint64_t bytes;
    char algorithm[NF_HISTORY_NAME_BYTES]; /**< "": not said */
};

/** In order of their first appearance; the number is the trace's. */
struct nf_history_slave {
    uint32_t number;
    char host[NF_HISTORY_NAME_BYTES];
    uint32_t slots;      /**< 0: never joined */
    uint32_t first_slot; /**< index into slot_heads */
    uint32_t stay;       /**< of stays: the current or last one */
    uint32_t live_head;  /* its unanswered leases: while reading */
    bool live;
};

struct nf_history_given_up {
    uint64_t unit;
    int64_t at_us;
};

/** What the last line says. */
struct nf_history_end {
    char status[16]; /**< "done", "failed", "interrupted" */
    int64_t startup_us, makespan_us, compute_us, lower_bound_us;
    uint64_t done, failed, messages, bytes_out, bytes_in, retries, duplicates;
    uint64_t lost_slaves, slots;
};

struct nf_history {
    char app[NF_HISTORY_NAME_BYTES], transport[16], version[32], date[32];
    char policy[NF_HISTORY_TEXT_BYTES];
    char emulate[NF_HISTORY_WORLD_BYTES]; /**< "": times are real, or the
                                               trace is older than the member */
    uint64_t units, seed;
    bool virtual_time;
    bool complete; /**< `end` is there */
    struct nf_history_end end;
    int64_t end_us;                      /**< time of the last line */
    char warning[NF_HISTORY_TEXT_BYTES]; /**< "": none */

    uint32_t nslaves, nslots;
    struct nf_history_slave *slaves;
    uint32_t *slot_heads; /**< [nslots]: its first chunk, or none */
    uint32_t nchunks;
    struct nf_history_chunk
        *chunks; /**< in the order in which they were sent */
    uint32_t nstays;
    struct nf_history_stay *stays;
    uint32_t nphases;
    struct nf_history_phase *phases;
    uint32_t ngiven_up;
    struct nf_history_given_up *given_up;
};

/** @param history_p  set on NF_OK; release with nf_history_fini()
 *  @retval NF_ERR_INVAL  no trace, of an unknown version, or one that makes no
 *                        sense: "FILE: line 7: ..."; or it can't be read
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_history_read(const char *path, struct nf_history *history_p,
                               struct nf_error *err);
/** The same from text[0..bytes), which @p name stands for in errors. */
enum nf_status nf_history_parse(const char *text, size_t bytes,
                                const char *name, struct nf_history *history_p,
                                struct nf_error *err);
void nf_history_fini(struct nf_history *history);

/** @return when the chunk was computed, [*from_us_p, *to_us_p), as far as it
 *  can be told from the master's clock: the time that was neither computing nor
 *  waiting is taken to be half before and half after, and a slot computes one
 *  chunk at a time.  @p free_us: the end of the slot's chunk before it. */
void nf_history_computed(const struct nf_history_chunk *chunk, int64_t free_us,
                         int64_t *from_us_p, int64_t *to_us_p);
#endif
