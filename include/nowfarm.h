#ifndef NOWFARM_H
#define NOWFARM_H
/** @file nowfarm.h  The farm: share the units of a job out to a network of
 *  workstations, in your own program.  For processes that work in step and
 *  exchange data there is nowfarm_group.h.
 *
 *  A job is N units, numbered 0..N-1.  You describe it by a struct nf_app of
 *  at most four functions and call nf_run():
 *
 *      split    (master)  appends the input of one unit          optional
 *      compute  (slaves)  turns the input of units into results  required
 *      collect  (master)  takes the result of one unit           optional
 *      share    (master)  appends the data that every slave gets once, before
 *                         its first unit                         optional
 *
 *  A job may have several phases, each a pass over all units; between two of
 *  them the slaves exchange what they have computed, all to all, without the
 *  master (nf_app.phases).
 *
 *  nf_run() starts your own program on every host.  In those processes it does
 *  not return: they compute units until the master is done with them, so call
 *  it before your program has side effects that only the master should have.
 *
 *  All times are int64_t microseconds (_us), all sizes are bytes (_bytes).
 *  No function of this header writes to standard output. */
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

/** 0 is success, > 0 is not an error, < 0 is an error. */
enum nf_status {
    NF_OK = 0,
    NF_WAIT = 1,             /**< nothing now, ask again */
    NF_ERR_INVAL = -1,       /**< bad argument, option or input file */
    NF_ERR_NOMEM = -2,       /**< out of memory */
    NF_ERR_RANGE = -3,       /**< a number out of its range */
    NF_ERR_FAILED = -4,      /**< the job, or a unit of it, failed */
    NF_ERR_UNREACHABLE = -5, /**< PVM, a host or the daemon can't be reached */
    NF_ERR_VERIFY = -6,      /**< the result is wrong */
    NF_ERR_INTERRUPTED = -7, /**< stopped by a signal or a cancel */
    NF_ERR_IO = -8,          /**< a file could not be read or written */
    NF_ERR_PROTOCOL = -9,    /**< a message that does not decode */
    /* collective operations, see nowfarm_group.h */
    NF_ERR_MISMATCH = -10, /**< members made different calls */
    NF_ERR_TIMEDOUT = -11, /**< a member did not come in time */
    NF_ERR_DEAD = -12,     /**< a member has ended */
    NF_ERR_REVOKED = -13,  /**< the group was given up before */
};

/** Bytes of nf_error.text, its final NUL included. */
#define NF_ERROR_TEXT_BYTES 400

/** Why a call failed.  Untouched by a call that succeeds. */
struct nf_error {
    enum nf_status status;
    char text[NF_ERROR_TEXT_BYTES]; /**< one line, no final newline */
};

/** @return a static lower-case text for @p status; never NULL. */
const char *nf_strerror(enum nf_status status);

/** The exit status that the nowfarm commands give for @p status: 0 done,
 *  1 the job or a unit failed, 2 bad usage or input, 3 PVM, a host or the
 *  daemon unreachable, 4 verification failed, 130 interrupted. */
int nf_exit_status(enum nf_status status);

/** @return the version of the library, as "1.0.0". */
const char *nf_version(void);

/** Element type of shared data, inputs or results.  Between machines of one
 *  data format the bytes travel as they are; between others nowfarm converts
 *  element by element, for which it must know the type. */
enum nf_type { NF_BYTES, NF_INT32, NF_INT64, NF_FLOAT32, NF_FLOAT64, NF_INT16 };

/** @return bytes of one element of @p type: 1, 4, 8, 4, 8, 2; 0 if unknown. */
size_t nf_type_bytes(enum nf_type type);

/** A growing buffer that your functions append to.  nowfarm owns it. */
struct nf_buf;

/** Append @p bytes uninitialised bytes and get their address.
 *  @return the address, valid until the next call on @p buf; NULL if out of
 *          memory (then @p buf is as before). */
void *nf_buf_reserve(struct nf_buf *buf, size_t bytes);

/** Append a copy of data[0..bytes).
 *  @retval NF_ERR_NOMEM  @p buf is as before */
enum nf_status nf_buf_append(struct nf_buf *buf, const void *data,
                             size_t bytes);

/** Append data[0..bytes) without copying it where that is possible.
 *  @p data must stay unchanged until nf_run() returns.  Neighbouring pieces of
 *  one array stay one piece; others are copied together.
 *  @retval NF_ERR_NOMEM  @p buf is as before */
enum nf_status nf_buf_borrow(struct nf_buf *buf, const void *data,
                             size_t bytes);

/** How two results become one, for nf_options.gather "reduce". */
enum nf_combine {
    NF_COMBINE_NONE, /**< they don't */
    NF_COMBINE_SUM,  /**< element by element; integers modulo 2^32 or 2^64, so
                          this is right for unsigned ones, as of histograms */
    NF_COMBINE_MIN,  /**< element by element; a NaN loses to any number */
    NF_COMBINE_MAX,  /**< likewise */
    NF_COMBINE_OWN,  /**< nf_app.combine */
};

/** What compute() gets: the units [first, first + count) and where to put
 *  their results. */
struct nf_work {
    uint64_t first;    /**< first unit */
    uint64_t count;    /**< units; 1 unless nf_app.batch_units > 1 */
    const void *input; /**< what split() appended for them, in order */
    size_t input_bytes;
    const void *shared; /**< what share() appended; the same in all calls */
    size_t shared_bytes;
    struct nf_buf *result; /**< append the result here; if count > 1, count
                                results of equal size, in order */
    uint32_t slot;         /**< compute thread, 0..slots-1 of this slave */
    char *error;           /**< on failure, print one line of reason here */
    size_t error_bytes;
    /* of a job of several phases; see nf_app.phases */
    uint32_t phase;        /**< 0, 1, ... */
    uint64_t units;        /**< of the job */
    const uint64_t *in_at; /**< [units + 1] phases after the first: where in the
                                input the piece that each unit made for this one
                                begins; in_at[units] is input_bytes.  Else NULL */
    const void *const *in_pieces; /**< [units] phases after the first: where the
                                piece lies that each unit made for this one, of
                                in_at[u + 1] - in_at[u] bytes, aligned as an
                                element of result_type (bytes: not at all); see
                                nf_app.takes_pieces.  Else NULL */
    uint64_t *out_bytes;   /**< [units] phases before the last: set it to the
                                bytes of the result that are the piece for each
                                unit of the next phase, in their order; all 0
                                before.  Else NULL */
};

/** A kind of job.  Zero-initialise it and set what you need.
 *  split and collect run in the loop that also keeps the slaves company: slaves
 *  end when the master has been silent for 7 s (if results are combined by a
 *  function of the application, and the heartbeat time-out is more than 4 s: 3 s
 *  longer than that), so no call of these may take longer than 4 s, nor all
 *  calls for the units that are handed out at one time (at the begin: to all
 *  slaves together), or come in one message, longer than half a minute.  A slave that is just being started is given up
 *  and tried anew if they leave it without an answer for 8 s. */
struct nf_app {
    const char *name; /**< [a-z0-9_-]+; same in master and slaves */
    uint64_t units;   /**< N; 0 is legal and does nothing */
    void *user;       /**< handed to split, collect and share */

    /** Append the input of @p unit to @p input.  Called in the master, once
     *  for every time the unit is handed out.  An error ends the job. */
    enum nf_status (*split)(void *user, uint64_t unit, struct nf_buf *input);
    /** Compute work->count units.  Called in the slaves, in up to `slots`
     *  threads at a time.
     *  @return 0, or your own code != 0: the unit is then tried again, up to
     *          nf_options.max_attempts times, and finally reported. */
    int (*compute)(const struct nf_work *work);
    /** Take the result of @p unit; exactly once for each unit that succeeds,
     *  in the master, in no particular order.  An error ends the job. */
    enum nf_status (*collect)(void *user, uint64_t unit, const void *result,
                              size_t bytes);
    /** Append the data that every slave gets once. */
    enum nf_status (*share)(void *user, struct nf_buf *shared);

    enum nf_type input_type, result_type, shared_type;
    /** For nf_options.gather "reduce": all results, which must be of one size and
     *  for the built-in ways have an element type, are combined on the way home,
     *  in any grouping and order: so the operation must be associative and
     *  commutative.  With integers the outcome does not depend on who computed
     *  what; sums of floats do, in their last bits. */
    enum nf_combine combine_by;
    /** NF_COMBINE_OWN: inout := inout combined with in, both of @p bytes bytes, at
     *  most 2^29 elements less 16 bytes.  Called in the slaves and in the master,
     *  by one thread of a process at a time.  That process is silent meanwhile, so
     *  a call must be shorter than nf_options.heartbeat_timeout_us, by a tenth at
     *  least; with transport "local", where all slaves are one process, a call of
     *  each slave and the master, one after the other. */
    void (*combine)(void *inout, const void *in, size_t bytes);
    /** Take what the results of @p units units were combined to, instead of
     *  collect(); once, in the master, unless there is none. */
    enum nf_status (*collect_combined)(void *user, const void *result,
                                       size_t bytes, uint64_t units);
    /** The most units that one call of compute() may get; 0 means 1.  With 1,
     *  nowfarm times, limits and retries every unit by itself. */
    uint64_t batch_units;
    /** Passes over the units; 0 means 1, at most 1000.  compute() gets the number
     *  of the pass as work->phase.  split() makes the inputs of the first phase,
     *  collect() takes the results of the last one.  In between, a result is one
     *  piece for each unit (work->out_bytes), each a whole number of elements
     *  of result_type, possibly none; the input of a unit in the next phase is
     *  what all units made for it, in the order of those.  Slaves bring pieces
     *  to each other, and keep all results but those of the last phase until the
     *  job ends, so that, when a slave is lost, only what it had is computed
     *  again.  All calls get one unit, but for batch_units in the first phase if
     *  there is no other.  At most 4096 units; results go home by "stream"; a unit
     *  that fails in a later phase is tried on another slave the last time, if there
     *  is one; one that is given up before the last phase ends the job. */
    uint32_t phases;
    /** != 0: in later phases compute() takes each piece from where it lies,
     *  work->in_pieces[u], and work->input is NULL.  0: nowfarm puts them together
     *  before the call, which takes as long as copying them. */
    int takes_pieces;
};

/** How far a job is; see nf_options.progress. */
struct nf_progress {
    uint64_t units, failed; /**< of several phases: over all of them */
    uint64_t done; /**< and collected, or kept by a slave for a gather */
    uint32_t slaves, slots; /**< alive now */
    int64_t elapsed_us;     /**< since the job's data began to flow */
};

/** How to run a job.  Zero-initialise it: 0 or NULL means the default. */
struct nf_options {
    const char *policy;     /**< see nowfarm(1); default "presend:td=auto" */
    const char *transport;  /**< "pvm" (default) or "local" (threads) */
    const char *hosts_file; /**< see nowfarm(1); default: the hosts there are */
    uint32_t slaves;        /**< slave tasks in all; default one a host */
    uint32_t slots;         /**< compute threads a slave; default max(1, cores
                                 of its host / slaves on that host) */
    const char *slave_program; /**< absolute path, on every host; default: this
                                  program itself */
    int64_t unit_timeout_us;   /**< limit for one unit; default none */
    uint32_t max_attempts;     /**< a unit's tries; default 3 */
    int64_t heartbeat_timeout_us; /**< silence after which a slave counts as
                                  lost; default 4 s, at least 200 ms */
    uint64_t seed;                /**< for policies that draw random numbers */
    const char *trace_file;       /**< record what happens, see doc/trace.md; an
                                       existing file is replaced.  Default: don't */
    /** Called in the master every progress_every_us (default 200 ms). */
    void (*progress)(void *user, const struct nf_progress *progress);
    int64_t progress_every_us;
    /** Called in the master for each line that a slave prints; @p label names
     *  the slave.  Default: "label: line" on standard error. */
    void (*output)(void *user, const char *label, const char *line);
    /** Called in the master for each event worth telling a person (a slave
     *  lost, a host left out).  Default: "nowfarm: line" on standard error. */
    void (*notice)(void *user, const char *line);
    void *user; /**< handed to progress, output and notice */
    /** If not NULL: polled between events and between calls of split and
     *  collect; != 0 stops the job.  nf_run() installs no signal handlers of
     *  its own. */
    const volatile int *stop;
    /** Sleep as in a slower world, "unit=33ms,send=0.9ms,wire=1ms": see
     *  nowfarm(1).  Default: no. */
    const char *emulate;
    /** How results come home: "stream" (default), each when it is there; "tree",
     *  all at the end, collected over a tree of slaves, which keep them so long;
     *  "reduce", likewise, combined on the way (see nf_app.combine_by). */
    const char *gather;
    /** File that `nowfarm coll-bench --tune` wrote: by which algorithms shared
     *  data go out, results that slaves keep come home, and slaves exchange.  One
     *  that is damaged, or of other hosts, gives a notice; a damaged one is left
     *  aside.  Default: the model in network_file, or a built-in one. */
    const char *table_file;
    /** Model file of a measured network, of `nowfarm probe`: shared data goes to
     *  the slaves that are there at the begin by what is the cheapest broadcast
     *  there, whatever table_file says (for more than 511 slaves none is planned:
     *  it goes by table_file, or else by the model of the usual link); and if
     *  there is no table, gathers and exchanges of slaves go by that model.  One
     *  that is damaged, or has a date to come, gives a notice and is left aside;
     *  one that is older than 7 days, or of messages by another route or
     *  encoding, gives a notice.  Default: the environment variable
     *  NOWFARM_NETWORK; "": none. */
    const char *network_file;
};

/** A unit that was given up. */
struct nf_unit_failure {
    uint64_t unit;
    uint32_t attempts;
    char reason[120];
    uint32_t phase; /**< of a job of several phases, else 0 */
};

/** At most this many failures are kept in a report; all are counted. */
#define NF_REPORT_FAILURES 64

/** At most this many slots are told apart in a report. */
#define NF_REPORT_SLOTS 256

/** At most this many lost slaves are named in a report; all are counted. */
#define NF_REPORT_LOST 64

/** A slave that was lost. */
struct nf_report_lost {
    uint32_t slave; /**< its number */
    char host[64];
};

/** What policy "auto" has learnt of a slot. */
struct nf_report_slot {
    char host[64];
    uint32_t slave, slot; /**< number of the slave, slot within it */
    uint64_t chunks;      /**< that it is learnt from */
    double td_s;          /**< the implied interval: between two sends to the
                               slot while it has all it can take,
                               max(service, (service + latency) / window) */
    double service_s;     /**< computing a chunk of g units */
    double latency_s;     /**< there and back */
    uint64_t window;      /**< chunks that it may have at one time */
};

/** Where the time went.  The five parts are means over the slots and add up
 *  to makespan_s. */
struct nf_report {
    uint64_t units, done_units, failed_units; /**< done: and collected */
    uint32_t slaves, slots; /**< the most that were there at one time */
    char policy[256];       /**< the policy as it was run */
    char transport[16];
    double startup_s;     /**< until the first slave was there */
    double makespan_s;    /**< from the first byte of the job's data sent to
                               the last result accepted */
    double compute_s;     /**< sum over all accepted chunks */
    double lower_bound_s; /**< compute_s / slots; of emulated times: work
                               / sum of the slots' speeds */
    uint64_t messages, bytes_out, bytes_in; /**< messages: data and results */
    uint64_t retries, duplicates;           /**< units */
    uint32_t lost_slaves; /**< also of those that were getting shared data */
    double part_compute_s, part_transfer_s, part_master_s, part_idle_s,
        part_tail_s;
    uint32_t nfailures;
    struct nf_unit_failure failures[NF_REPORT_FAILURES];
    uint64_t copies;  /**< chunks that two slaves had at a time */
    uint32_t nlearnt; /**< 0 with other policies than auto */
    struct nf_report_slot learnt[NF_REPORT_SLOTS];
    char emulate[512]; /**< nf_options.emulate; "": times are real */
    char gather[16];         /**< nf_options.gather */
    char gather_algorithm[64]; /**< of the last gather; "": none was needed */
    char gather_by[288]; /**< by what that was chosen: "NOWFARM_COLL", "table
                              FILE", "network FILE" or "built-in"; "": none
                              was needed */
    double gather_s;         /**< in gathers, also those that failed; part of
                                  makespan_s and part_transfer_s */
    uint64_t gather_bytes;   /**< that came home by gathers */
    uint32_t gathers;        /**< tried */
    uint32_t gather_slaves;  /**< that gave results in the last one */
    uint64_t recomputed;     /**< units done again, as their results were lost
                                  with slaves */
    uint32_t phases;         /**< of the job */
    uint32_t exchanges;      /**< tried */
    uint32_t exchange_slaves; /**< that took part in the last one */
    uint64_t exchange_bytes; /**< that went from one slave to another */
    double exchange_s;       /**< from asking for one until it was done, or off;
                                  part of makespan_s and part_transfer_s */
    double exchange_moving_s; /**< of that in calls of all-to-all, in the slave
                                  that took longest: not in packing and joining */
    double exchange_model_s; /**< ... as the model of the network has it;
                                  INFINITY: it has none of that algorithm */
    double
        on_slaves_s; /**< of a job of phases, from data that are on the slaves to
                             data that are on the slaves: from the first exchange
                             to the last, and before and behind that what the slot
                             that took longest computed in the first and in the
                             last phase; part of makespan_s.  0: no exchange */
    double data_s;   /**< what is left of makespan_s: inputs on their way to the
                             slaves, and results to the master */
    double wait_s;   /**< of on_slaves_s neither exchanging (exchange_s) nor
                             computing (compute_s / slots): slots waited for the
                             one that took longest, or for leases */
    char exchange_algorithm[64]; /**< of the last one, with its parameters; "":
                                      it had one slave */
    char exchange_algorithms[512]; /**< of all, each once, in the order in which
                                        they were first taken, with a blank
                                        between two; none that has no room */
    char exchange_by[288]; /**< by what that was chosen, as gather_by; or
                                "threads": what messages between threads take */
    char shared_algorithm[64]; /**< of the broadcast of the shared data; "": each
                                    slave got it by itself */
    char shared_network[256];  /**< nf_options.network_file, or NOWFARM_NETWORK,
                                    which chose that; "": a table, a wish or the
                                    built-in model did */
    uint32_t shared_slaves;    /**< that it went to */
    uint64_t shared_bytes;     /**< to each of them */
    double shared_s;           /**< until the last one said that it has it, and
                                    is ready; 0: not all did */
    double shared_model_s; /**< ... as that network has it, without getting
                                ready; 0: there is none */
    uint32_t nlost; /**< lost_slaves, but NF_REPORT_LOST at most */
    struct nf_report_lost lost[NF_REPORT_LOST]; /**< one after the other */
};

/** Run a job.  In the master: starts the slaves, hands out all units, returns
 *  when every unit is done or given up.  In a slave: never returns.
 *  @param app       borrowed until the call returns
 *  @param options   may be NULL
 *  @param report_p  may be NULL; filled on NF_OK, NF_ERR_FAILED and
 *                   NF_ERR_INTERRUPTED
 *  @param err       may be NULL
 *  @retval NF_OK               every unit was collected
 *  @retval NF_ERR_FAILED       units were given up (see the report), or split
 *                              or collect returned an error, or no slave is
 * left
 *  @retval NF_ERR_INVAL        bad option; nothing was started
 *  @retval NF_ERR_UNREACHABLE  no PVM, or no slave could be started
 *  @retval NF_ERR_INTERRUPTED  *options->stop became != 0 */
enum nf_status nf_run(const struct nf_app *app,
                      const struct nf_options *options,
                      struct nf_report *report_p, struct nf_error *err);

#ifdef __cplusplus
}
#endif
#endif
