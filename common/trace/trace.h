#ifndef NF_TRACE_TRACE_H
#define NF_TRACE_TRACE_H
/** @file trace.h  Writing what happens in a job, as doc/trace.md describes it:
 *  a header and one line of JSON an event.  history.h reads it.
 *
 *  For drivers of the farm: the master, whose times are those of its monotonic
 *  clock, and simulators, whose times are what they say.  Times are absolute;
 *  the file counts from the time given to nf_trace_create().  A time that lies
 *  before the one of the line above is written as that: within one event of the
 *  loop some are taken early and some late, and a trace never goes back.
 *
 *  Events are formatted without allocation and collected.  They go to the file
 *  when a second has passed, when a slave is lost, and when there are 64 KiB; a
 *  thread writes them, so that no call waits for the disk.  In virtual time
 *  seconds mean nothing and waiting harms nobody: only the last rule holds, and
 *  there is no thread.
 *
 *  Every function does nothing if @p trace is NULL, so that a driver without a
 *  trace needs no ifs.  If writing fails, the trace ends there and
 *  nf_trace_error() says why; the job is none the worse. */
#include <stdbool.h>
#include "nowfarm.h"

/** The version of the format that is written and read. */
#define NF_TRACE_VERSION 1

struct nf_trace;

/** What is known before the job starts. */
struct nf_trace_header {
    const char *app, *policy, *transport;
    const char *emulate; /**< nf_options.emulate; NULL or "": times are real */
    uint64_t units, seed;
    uint32_t slaves, slots; /**< asked for; 0: as many as there will be */
    bool virtual_time;      /**< a simulation: no date, no thread */
};

/** Begin the trace @p path: an existing file is replaced as a whole, at once.
 *  @param now_us  becomes time 0 of the trace
 *  @param trace_p  set on NF_OK; ends with nf_trace_close()
 *  @retval NF_ERR_INVAL  it is no regular file, or can't be written; as it was
 *  @retval NF_ERR_IO     its header can't be written (disk full); as it was
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_trace_create(const char *path,
                               const struct nf_trace_header *header,
                               int64_t now_us, struct nf_trace **trace_p,
                               struct nf_error *err);

/** The farm begins, with p = @p slots for the policies. */
void nf_trace_begin(struct nf_trace *trace, int64_t now_us, uint32_t slots);

/** A slave begins or ends something that is no chunk: "shared" is getting the
 *  shared data; collectives have other names.  Phases of one slave and name do
 *  not overlap. */
struct nf_trace_phase {
    uint32_t slave;
    const char *name, *host;
    uint64_t bytes; /**< that move in it */
    const char *algorithm; /**< by which it was done, if it ends; or NULL */
    bool ends;
};
void nf_trace_phase(struct nf_trace *trace, int64_t now_us,
                    const struct nf_trace_phase *phase);

/** A slave joins the farm, or joins again; a number keeps its host and slots.
 */
void nf_trace_join(struct nf_trace *trace, int64_t now_us, uint32_t slave,
                   const char *host, uint32_t slots);

struct nf_trace_sent {
    uint64_t lease; /**< never used twice */
    uint32_t slave, slot;
    uint64_t first, count; /**< units */
    uint64_t bytes;        /**< of inputs */
    uint32_t attempts;     /**< earlier tries */
    int64_t master_us;     /**< the master's work for it, from now_us on */
};
void nf_trace_sent(struct nf_trace *trace, int64_t now_us,
                   const struct nf_trace_sent *sent);

struct nf_trace_result {
    uint64_t lease;
    uint64_t units;      /**< answered by this message */
    uint64_t duplicates; /**< of these, had been answered before */
    uint64_t bytes;
    bool last; /**< the lease is answered in full; else the rest is 0 */
    int64_t compute_us, wait_us, idle_us, elapsed_us; /**< nf_chunk_times */
    double mean_unit_us, m2_unit_us2;
};
void nf_trace_result(struct nf_trace *trace, int64_t now_us,
                     const struct nf_trace_result *result);

/** The kernel failed on @p unit, the next one of @p lease. */
struct nf_trace_failed {
    uint64_t lease, unit;
    bool last; /**< no more comes for the lease */
    bool timeout;
    const char *reason;
};
void nf_trace_failed(struct nf_trace *trace, int64_t now_us,
                     const struct nf_trace_failed *failed);

void nf_trace_given_up(struct nf_trace *trace, int64_t now_us, uint64_t unit,
                       uint32_t attempts, const char *reason);

/** The farm takes @p lease back from a slave that lives. */
void nf_trace_cancelled(struct nf_trace *trace, int64_t now_us, uint64_t lease);

/** @p slave and its leases are lost.  @param reason  "exited", "silent",
 *  "timeout" or "left" */
void nf_trace_lost(struct nf_trace *trace, int64_t now_us, uint32_t slave,
                   const char *reason);

/** Time passes: at least twice a second, so that what happened gets out. */
void nf_trace_tick(struct nf_trace *trace, int64_t now_us);

/** The last line.  @param status  how nf_run() will end */
void nf_trace_end(struct nf_trace *trace, int64_t now_us, enum nf_status status,
                  const struct nf_report *report);

/** @return why it can't be written any more, or NULL: all is well so far.
 *  Owned by the trace. */
const char *nf_trace_error(struct nf_trace *trace);

/** Write what is left and free @p trace.
 *  @retval NF_ERR_IO  err says why something is missing */
enum nf_status nf_trace_close(struct nf_trace *trace, struct nf_error *err);
#endif
