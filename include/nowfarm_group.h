#ifndef NOWFARM_GROUP_H
#define NOWFARM_GROUP_H
/** @file nowfarm_group.h  Collective operations of nowfarm: broadcast, reduce,
 *  scan, gather and their kin, between PVM tasks or between threads.
 *
 *  A group has P members with ranks 0..P-1.  Every member makes the same calls
 *  on it in the same order, with the same operation, count, type, operator and
 *  root; what differs is found out and is an error (NF_ERR_MISMATCH), not a
 *  wrong result.
 *
 *      struct nf_group *group;
 *      nf_group_open(tids, P, 0, NULL, &group, &err);
 *      nf_allreduce(group, NF_IN_PLACE, sums, 1000, NF_ELEM_FLOAT64, NF_SUM);
 *      nf_group_close(group);
 *
 *  Return means that the buffers of this member may be used again and its
 *  result is there; it does not mean that others are done.  A call with
 *  count 0 sends nothing and touches nothing; only a barrier always waits for
 *  everybody.  Buffers that overlap without being the same: undefined.
 *
 *  The same group size, count, type and table (see nf_group_options) give the
 *  same algorithm, and so the same bits, whatever the timing.
 *
 *  **Failures.**  A member that died, or that did not come to a call for
 *  longer than the time-out, ends the call in every member that still needs
 *  it, by NF_ERR_DEAD, NF_ERR_TIMEDOUT or NF_ERR_MISMATCH; nf_group_error()
 *  names the member, nf_group_is_lost() tells by rank who has ended or is silent
 *  (and not who made another call).  The results of that
 *  call are undefined, inputs are unchanged (in place: undefined).  From then
 *  on every call fails with NF_ERR_REVOKED at once, until nf_group_shrink()
 *  makes a group of the survivors.  A member that had all it needed may have
 *  succeeded in the very call that failed for others, and a member that is
 *  still in an earlier call, or has one to make, may end that as ever.
 *
 *  However long a call takes, as long as its data move nobody is silent; nor is
 *  a member that is slower than others, as the root of many broadcasts, and so
 *  behind them by many calls, as long as it comes to each in time.  The end of a
 *  task is told within about a second; silence, also that of a host that has
 *  died, within a second after the time-out.
 *
 *  One thread at a time may use a group, and PVM allows one thread a process.
 *  No function writes to standard output.  All times are microseconds. */
#include "nowfarm.h"
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

struct nf_group;
struct nf_request;

/** Element types.  Between machines of different data formats elements are
 *  converted; for that the type must be true.  Opaque bytes are not: use them
 *  for what has no byte order.  Formats are compared by PVM, which sees neither
 *  alignment nor long double: NOWFARM_ENCODING=xdr converts all, see
 *  nf_group(3). */
enum nf_elem {
    NF_ELEM_BYTE, /**< as uint8, but no arithmetic and never converted */
    NF_ELEM_INT8,
    NF_ELEM_INT16,
    NF_ELEM_INT32,
    NF_ELEM_INT64,
    NF_ELEM_UINT8,
    NF_ELEM_UINT16,
    NF_ELEM_UINT32,
    NF_ELEM_UINT64,
    NF_ELEM_FLOAT32,
    NF_ELEM_FLOAT64,
    NF_ELEM_COMPLEX64,   /**< two float: real, imaginary */
    NF_ELEM_COMPLEX128,  /**< two double */
    NF_ELEM_LOC_INT64,   /**< struct nf_loc_int64, for MINLOC and MAXLOC */
    NF_ELEM_LOC_FLOAT64, /**< struct nf_loc_float64 */
    NF_ELEM_USER = 64    /**< this and more: nf_group_define_type() and
                              nf_group_define_struct() */
};

/** A value and where it was. */
struct nf_loc_int64 {
    int64_t value, index;
};
struct nf_loc_float64 {
    double value;
    int64_t index;
};

/** Operators, all associative.  L* are logical: the result is 0 or 1.  MINLOC
 *  and MAXLOC keep the least index of equal values; a NaN loses to any number
 *  in MIN, MAX, MINLOC and MAXLOC. */
enum nf_operator {
    NF_SUM,
    NF_PROD,
    NF_MIN,
    NF_MAX,
    NF_BAND,
    NF_BOR,
    NF_BXOR,
    NF_LAND,
    NF_LOR,
    NF_LXOR,
    NF_MINLOC,
    NF_MAXLOC,
    NF_OPERATOR_USER = 64 /**< this and more: nf_group_define_operator() */
};

/** An operator of your own: inout[i] := in[i] (+) inout[i], i < @p count; in
 *  is the operand of the lower ranks.  It must be associative, and must not
 *  call functions of this header.  Meanwhile this member answers nobody: one
 *  call of it should take much less than the time-out. */
typedef void nf_operator_function(const void *in, void *inout, size_t count,
                                  int type, void *user);

/** As the send buffer: this member's contribution is where its result will
 *  be.  For reduce, gather (at the root: its block in the result), allreduce,
 *  reduce_scatter, scan, exscan, allgather (own block in the result), alltoall
 *  and alltoallv (the blocks that go are where those that come will be); as the
 *  receive buffer of scatter at the root: leave its block where it is.
 *  (reduce_scatter: the whole input is in recv, the result at its begin.) */
#define NF_IN_PLACE ((void *)(intptr_t)-1)

/** How a group behaves; the same in all members.  Zero-initialise it: 0 or
 *  NULL means the default. */
struct nf_group_options {
    /** A call fails when nothing that it waits for has come for so long, not
     *  even a part of a message.  Default 60 s; < 0: never, only deaths end
     *  it, but nf_group_open() waits 60 s for the others; more than a century
     *  is a century. */
    int64_t timeout_us;
    /** != 0: choose algorithms by operation, P, root and count only, not by
     *  measurements - no table, model or network -, nor by who shares a host,
     *  and only those that keep the operands in the order of ranks;
     *  memory_bytes and torus do not count then. */
    int deterministic;
    /** Algorithms to use whatever the model says, for tests and benchmarks:
     *  names as `nowfarm plans` lists them, with k if they have segments,
     *  "bcast.pipeline.fd:k=16,reduce.chain.fd" (a comma with no name before or
     *  behind it is NF_ERR_INVAL), and of an all-to-all what it goes by:
     *  "alltoall.bruck:radix=4", "alltoall.mixed:radices=3x2x2",
     *  "alltoall.dh:shape=3x4".  Default: the environment variable
     *  NOWFARM_COLL, in the same form.  It must be the same in all
     *  members.  Where one cannot serve that is an error, NF_ERR_INVAL: when
     *  the group is opened if it is not for so many members, else from the call
     *  (an operator that does not commute, fewer elements than blocks). */
    const char *algorithms;
    /** File that `nowfarm coll-bench --tune` wrote; read by rank 0 only, which
     *  hands it to the others.  A damaged file is left aside, with a line in
     *  the log.  One of other hosts, another route, encoding or version, or with
     *  rules that are not known, is used, with a line.  Default: a built-in model,
     *  of a switched 100 Mbit/s network, or of one host if all members are there. */
    const char *table_file;
    /** Model file of a measured network; read by rank 0 only, which hands it to
     *  the others.  Broadcasts are then planned for hosts and links that differ:
     *  the best tree and all other algorithms are priced by that model, and the
     *  cheapest is taken; table_file has no say in them.  All other operations
     *  go by what the file says of them ("collective"), unless there is a
     *  table_file.  Members are told apart
     *  by the names of their PVM hosts (threads: "local").  A host that the model
     *  does not know counts as slow, in all as the slowest that was measured,
     *  and in trees of other roots it is a leaf; members on one host need no
     *  wire between them.  A damaged file, one with a date to come, or one for a
     *  group of more than 128, is left aside, with a line in the log; one that is
     *  older than 7 days, or of messages by another route or encoding, is used,
     *  with a line.  Any is left aside, with a line, if a member does not
     *  calculate with IEEE 754 doubles as all others do (x87), since each plans
     *  by itself: then bcast.tree asked for by name is an error, and with a file
     *  or not other algorithms are chosen by size and number of members, unless
     *  by name or a rule of the table.
     *  Default: the environment variable NOWFARM_NETWORK of rank 0; "": none. */
    const char *network_file;
    /** Becomes != 0, for example in a signal handler of yours: a call that waits
     *  for others then fails within about 0.1 s with NF_ERR_INTERRUPTED.  That
     *  is nf_group_open(), which gives up for the others too (who has opened it
     *  already finds this member dead), the blocking calls
     *  and nf_request_wait(), after which the group is given up everywhere, and
     *  nf_group_shrink().  Each member's own matter; may be NULL.  The library
     *  installs no signal handlers, and a signal alone ends no call. */
    const volatile int *stop;
    /** How many bytes a call may keep in a member beyond your buffers, in
     *  messages that it has received or made.  Algorithms that keep more, as
     *  `nowfarm plans` tells, are not taken; if all do, those that keep the
     *  least are, so no call fails by it.  That of rank 0 counts.  What is asked
     *  for by name is taken all the same, and gatherv, scatterv and alltoallv,
     *  whose sizes not all members know, do not go by it (nor by more than
     *  nf_call.usual_count, if that says how large blocks are).  Of several calls
     *  under way each may, and the root of a gather takes more if another of them
     *  waits for its members (see nf_group_start()).  Default: the
     *  environment variable NOWFARM_COLL_MEMORY of rank 0, "64MiB" or the like;
     *  no limit. */
    uint64_t memory_bytes;
    /** The members' hosts are a torus with these sides, "3x4" or "2x3x4", one
     *  member each, ranks row by row: channels go from each node to the next
     *  along each side, and no other way.  All-to-alls are then chosen for
     *  that, unless a rule of the table says what was measured or the group is
     *  deterministic; of nf_alltoallv() without nf_call.usual_count it is what
     *  is best for large blocks.  The sides' product is the number of members,
     *  256 at most; else, or if it is no list of sides, opening the group is
     *  NF_ERR_INVAL.  A group that was shrunk is no torus any more.  Default:
     *  each message has its own way, as through a switch. */
    const char *torus;
};

/** A group of PVM tasks, which need not have been spawned by nowfarm.  All of
 *  them call it with the same arguments; this process is one of them.  Enrols
 *  in PVM if this process has not.  Your own messages and those of other groups
 *  do not mix with the group's.
 *  @param tids   [count] in the order of ranks; borrowed for the call
 *  @param id     any number, the same in all; tells groups of the same members
 *                apart that live at the same time
 *  @param options  may be NULL    @param err  may be NULL
 *  @retval NF_ERR_INVAL  not a member, a task twice, unknown algorithm
 *  @retval NF_ERR_UNREACHABLE  no PVM, or a member did not come in time, or it
 *          ended, which is known within a second: @p err names it
 *  @retval NF_ERR_INTERRUPTED  *options->stop became != 0, here or at another
 *          member: @p err names it.  One that was stopped before rank 0 came has
 *          a second from then on to come again
 *  @retval NF_ERR_MISMATCH  a member that is waited for waits itself, for this one,
 *          in a group of other members, in another order or of another id, when the
 *          time-out is over.  Or its `algorithms`, `deterministic` or `torus` are not those of rank 0.
 *          @p err names it
 *  @retval NF_ERR_NOMEM
 *  @retval NF_ERR_DEAD, NF_ERR_TIMEDOUT  a member ended, or fell silent, while
 *          rank 0 handed out its table: @p err names it
 *  @retval NF_ERR_PROTOCOL  what came is no table, or nothing of this library */
enum nf_status nf_group_open(const int *tids, uint32_t count, uint64_t id,
                             const struct nf_group_options *options,
                             struct nf_group **group_p, struct nf_error *err);

/** Groups for @p count threads of this process: groups_p[r] is for the thread
 *  that is to be rank r, which also closes it.
 *  @param count     1 to 4096
 *  @param options   may be NULL    @param err  may be NULL
 *  @param groups_p  [count], as it was if there is an error
 *  @retval NF_ERR_INVAL  @p count, an unknown algorithm, or one that is not for
 *          so many   @retval NF_ERR_NOMEM */
enum nf_status nf_group_open_threads(uint32_t count,
                                     const struct nf_group_options *options,
                                     struct nf_group **groups_p,
                                     struct nf_error *err);

/** Free it: whoever still waits for this member finds it dead.  The last group
 *  of PVM tasks of a process waits up to 1 s until the others have read that.
 *  Not in a child that was forked from the member: see nf_group(3).  Requests that
 *  are under way are lost and freed with it; those that are done must have been
 *  waited for, or freed, before.  NULL is fine. */
void nf_group_close(struct nf_group *group);

/** @return this member's rank, 0..P-1 */
uint32_t nf_group_rank(const struct nf_group *group);
/** @return P */
uint32_t nf_group_size(const struct nf_group *group);
/** Why the last call on @p group that failed did so; status NF_OK: none did.
 *  @return never NULL; the group's, until it is closed */
const struct nf_error *nf_group_error(const struct nf_group *group);
/** Is this member gone, as far as this one knows?
 *
 *  As long as the group has not been given up: has its task ended, or has it
 *  closed the group, as each does after its last call?  That ends no call that
 *  needs nothing of it.  It is heard of in calls on the group, of which
 *  nf_group_progress() is enough, and not between them.
 *
 *  Once the group was given up: is it one of those for which it was, since they
 *  had ended or were silent (NF_ERR_DEAD, NF_ERR_TIMEDOUT)?  Nobody else is lost
 *  then, whether it closes the group now or had closed it before; nor is one that
 *  nf_group_error() names for another reason, as NF_ERR_MISMATCH: that one lives.
 *  @return 0 or 1; 0 if there is no such rank */
int nf_group_is_lost(const struct nf_group *group, uint32_t rank);

/** A group of those members of a revoked group that still answer; ranks keep
 *  their order.  All survivors call it.  They agree on who belongs to it even
 *  if they have seen different members die; a member that dies meanwhile is
 *  left out, and one that does not come within the time-out too (such a member
 *  finds itself left out, NF_ERR_DEAD).  Also right for a group in which nobody
 *  died.  The old group can then only be closed.
 *
 *  Where the network has split, each part of it takes the other for dead and makes
 *  a group of its own, as neither can know better.  Who writes one result for all
 *  goes on only with more than half of the ranks there were, or with a rank that
 *  only one part can have.
 *  @param group_p  as it was if there is an error
 *  @retval NF_ERR_TIMEDOUT  no agreement within three time-outs
 *  @retval NF_ERR_DEAD  the others have left this member out
 *  @retval NF_ERR_UNREACHABLE  the transport itself broke: there is nobody to
 *          agree with   @retval NF_ERR_NOMEM
 *  @retval NF_ERR_INTERRUPTED  nf_group_options.stop */
enum nf_status nf_group_shrink(struct nf_group *group,
                               struct nf_group **group_p, struct nf_error *err);

/** A type of your own, an array of @p units units of @p unit_bytes (1, 2, 4 or
 *  8) bytes, each a number, which is converted between machines.  All members
 *  define the same types in the same order; a group made by shrink keeps them.
 *  @param type_p  to be used as type
 *  @retval NF_ERR_RANGE  @p units or @p unit_bytes, or there are 64 types */
enum nf_status nf_group_define_type(struct nf_group *group, uint32_t units,
                                    uint32_t unit_bytes, int *type_p);
/** How the elements of a structure travel to a machine of another data format:
 *  as @p packed_bytes bytes each, which mean the same on all machines.
 *
 *  pack() puts @p count >= 1 elements, one behind the other, into
 *  packed[count * packed_bytes]; unpack() is its inverse.  Both are called by
 *  the thread that uses the group, inside of its calls on it; a message may
 *  take several calls of pack(), each for elements that lie together.  Elements
 *  lie as in your buffers; packed bytes have any alignment.  What is to be
 *  written is all zero before.  Neither may call functions of this header, and
 *  one call should take much less than the time-out, as of an operator.
 *  @return 0; anything else is an error, which ends the call in every member
 *  (see nf_group_define_struct()) */
struct nf_packing {
    size_t packed_bytes; /**< of an element, 1..2^29 - 1; the same in all
                              members */
    int (*pack)(const void *elements, size_t count, void *packed, void *user);
    int (*unpack)(const void *packed, size_t count, void *elements,
                  void *user);
    void *user; /**< handed to both; yours, and to stay as long as the group
                     and those that shrink makes of it */
};

/** A type of your own, a structure of @p bytes bytes, sizeof(it).  Between
 *  machines of one data format, and between threads, elements go as they are.
 *  Between others they are packed, unpacked where they arrive, and combined
 *  only as elements; whether two members' machines differ is found out, as for
 *  other types.  Members define the same types in the same order; @p bytes may
 *  differ between machines of different formats, as compilers leave different
 *  holes.  A group made by shrink keeps them.
 *
 *  Where pack() or unpack() fails the call ends with NF_ERR_FAILED there and in
 *  every member that still needs it, and the group is given up as for other
 *  failures; nf_group_error() says in which member, and there what was returned.
 *  Nobody is held for lost.  A message that is packed takes memory for its
 *  packed form at both ends.
 *  @param bytes    1..2^29 - 1
 *  @param packing  copied; NULL: elements are opaque, and go as they are to any
 *                  machine, as bytes do
 *  @param type_p   to be used as type, with operators of your own
 *  @retval NF_ERR_RANGE  @p bytes or packed_bytes, or there are 64 types
 *  @retval NF_ERR_INVAL  pack() or unpack() is missing */
enum nf_status nf_group_define_struct(struct nf_group *group, size_t bytes,
                                      const struct nf_packing *packing,
                                      int *type_p);
/** An operator of your own.  All members define the same ones in the same
 *  order; a group made by shrink keeps them.
 *  @param commutative  0: operands are combined in the order of ranks
 *  @param user  handed to @p function; yours, and to stay as long as the group
 *               and those that shrink makes of it
 *  @param operator_p  to be used as operator
 *  @retval NF_ERR_INVAL  no function
 *  @retval NF_ERR_RANGE  there are 64 operators */
enum nf_status nf_group_define_operator(struct nf_group *group,
                                        nf_operator_function *function,
                                        int commutative, void *user,
                                        int *operator_p);
/** @return bytes of an element of @p type; 0: no such type */
size_t nf_group_type_bytes(const struct nf_group *group, int type);

/* ------------------------------------------------------------ blocking calls
 *
 * All return
 *   NF_OK
 *   NF_ERR_INVAL    root, type or operator wrong, a buffer missing, or not for
 *                   the algorithm that was asked for: nothing was sent, the
 *                   call does not count as made
 *   NF_ERR_NOMEM    out of memory, here or at another member: the group is
 *                   given up
 *   NF_ERR_MISMATCH, NF_ERR_DEAD, NF_ERR_TIMEDOUT, NF_ERR_REVOKED  see above
 *   NF_ERR_PROTOCOL a member sent what does not decode, to this one or to
 *                   another: the group is given up
 *   NF_ERR_FAILED   pack() or unpack() of a type did, see
 *                   nf_group_define_struct(), or another member gave up a call
 *                   of its own by nf_request_free(): the group is given up.  Or
 *                   no algorithm can be taken, as bcast.tree, asked for by name,
 *                   where a member's doubles keep the network file from being used
 *                   (network_file): then nothing was sent, and the call does not
 *                   count as made
 *   NF_ERR_INTERRUPTED  nf_group_options.stop, here or at another member
 *   NF_ERR_UNREACHABLE  the transport itself broke, here or at another member
 * nf_group_error() tells which it was, and which member found it out.
 * count is in elements, buffers hold count elements of type unless it says
 * otherwise.  A buffer of which this member uses no element may be NULL. */

/** Everybody gets the root's @p buffer. */
enum nf_status nf_bcast(struct nf_group *group, void *buffer, size_t count,
                        int type, uint32_t root);
/** recv := send_0 (+) ... (+) send_P-1 at the root, elementwise.
 *  @param recv  used at the root only */
enum nf_status nf_reduce(struct nf_group *group, const void *send, void *recv,
                         size_t count, int type, int op, uint32_t root);
/** The same for everybody. */
enum nf_status nf_allreduce(struct nf_group *group, const void *send,
                            void *recv, size_t count, int type, int op);
/** Rank r gets block r of the sum, counts[r] elements, the blocks standing one
 *  behind the other.  In place: send is in recv, which then must hold all.
 *  @param send  sum of counts elements  @param recv  counts[rank] elements
 *  @param counts  [P], equal in all members */
enum nf_status nf_reduce_scatter(struct nf_group *group, const void *send,
                                 void *recv, const size_t *counts, int type,
                                 int op);
/** recv at rank r := send_0 (+) ... (+) send_r. */
enum nf_status nf_scan(struct nf_group *group, const void *send, void *recv,
                       size_t count, int type, int op);
/** recv at rank r := send_0 (+) ... (+) send_r-1; untouched at rank 0. */
enum nf_status nf_exscan(struct nf_group *group, const void *send, void *recv,
                         size_t count, int type, int op);
/** recv at everybody := send_0, ..., send_P-1, @p count elements each. */
enum nf_status nf_allgather(struct nf_group *group, const void *send,
                            void *recv, size_t count, int type);
/** The same, rank r giving counts[r] elements, which come to
 *  recv[offsets[r]].
 *  @param counts   [P], equal in all members
 *  @param offsets  [P] in elements; NULL: one behind the other */
enum nf_status nf_allgatherv(struct nf_group *group, const void *send,
                             void *recv, const size_t *counts,
                             const size_t *offsets, int type);
/** recv at the root := send_0, ..., send_P-1, @p count elements each. */
enum nf_status nf_gather(struct nf_group *group, const void *send, void *recv,
                         size_t count, int type, uint32_t root);
/** The same with different counts, which may be 0.  All at once unless another
 *  algorithm is asked for (nf_group_options.algorithms, "gather.binomial"):
 *  members do not know the counts to choose by.
 *  @param count  elements of this member, = counts[rank]; at the root another
 *                number is NF_ERR_INVAL, also in place
 *  @param counts, offsets  as for allgatherv; used at the root only */
enum nf_status nf_gatherv(struct nf_group *group, const void *send,
                          size_t count, void *recv, const size_t *counts,
                          const size_t *offsets, int type, uint32_t root);
/** recv at rank r := block r of the root's @p send, @p count elements each. */
enum nf_status nf_scatter(struct nf_group *group, const void *send, void *recv,
                          size_t count, int type, uint32_t root);
/** The same with different counts; parameters as for gatherv. */
enum nf_status nf_scatterv(struct nf_group *group, const void *send,
                           const size_t *counts, const size_t *offsets,
                           void *recv, size_t count, int type, uint32_t root);
/** Block s of recv at rank r := block r of send at rank s, @p count elements
 *  each.  send may be NF_IN_PLACE: it is in recv, and is copied.  Takes memory
 *  beyond both for 2 P blocks that rest at a member (mdh: 3 P, split_merge:
 *  8 P; none where blocks go straight home) and for messages on their way, one
 *  out and one in while members keep step; behind a member that stands still all
 *  that the others send may wait.  And 40 bytes for each of the P^2 pairs, in
 *  nf_alltoallv up to 48; where blocks go straight home of 2 P only. */
enum nf_status nf_alltoall(struct nf_group *group, const void *send, void *recv,
                           size_t count, int type);
/** The same with different counts, which may be 0.  No member knows all of them,
 *  so the algorithm goes by P and what messages cost only: alltoall.burst, whose
 *  loss is bounded (to small blocks P - 2 times what a message occupies its
 *  sender), unless it may take twice as many times as long as the best as another
 *  one would over all sizes, which is so where many members share processors; see
 *  nf_group(3).  Who knows how large blocks are has nf_call.usual_count.
 *  @param send_counts, send_offsets  [P] of the blocks for each rank: elements,
 *  and where they begin in send (NULL: one behind the other); in place: not
 *  used, the blocks lie in recv as those that come
 *  @param counts, offsets  [P] likewise of the blocks from each rank, in recv;
 *  counts[s] here = send_counts[this rank] at s */
enum nf_status nf_alltoallv(struct nf_group *group, const void *send,
                            const size_t *send_counts,
                            const size_t *send_offsets, void *recv,
                            const size_t *counts, const size_t *offsets,
                            int type);
/** Nobody returns before everybody has called it. */
enum nf_status nf_barrier(struct nf_group *group);

/* -------------------------------------------------------- non-blocking calls
 *
 * The same operations, begun now and moved on by any call on the group.  A
 * member that computes for long between two such calls holds the others up,
 * and longer than the time-out, counts as silent.  Several may be under way;
 * all members begin them in the same order.
 *
 * Of a member that a begun call still waits for, everything is taken: what it
 * sends for later calls is kept without limit until then.  (Of others, no more
 * than 1 MiB and a message.)  So the root of a large gather, which holds members
 * back until their turn comes (`nowfarm plans` says how many blocks it keeps),
 * does so with each of several gathers under way, but not with a member that
 * another call still waits for: the block comes before what that one needs, and
 * is kept.  The last message of a sender on the same host that can be read from
 * its memory, of 256 KiB and more or, where it sends much, of 64, is not kept: while another call is under way it
 * stays where it is, and the sender in its call.  While a member makes no call at
 * all, nothing is taken. */

enum nf_call_kind {
    NF_CALL_BCAST,
    NF_CALL_REDUCE,
    NF_CALL_ALLREDUCE,
    NF_CALL_REDUCE_SCATTER,
    NF_CALL_ALLGATHER,
    NF_CALL_SCAN,
    NF_CALL_EXSCAN,
    NF_CALL_GATHER,
    NF_CALL_SCATTER,
    NF_CALL_ALLTOALL,
    NF_CALL_BARRIER
};

/** What to do; the meaning of the fields is that of the parameters above.
 *  Zero-initialise it and set what the operation has. */
struct nf_call {
    enum nf_call_kind kind;
    const void *send;      /**< bcast: not used */
    void *recv;            /**< bcast: the buffer */
    size_t count;          /**< gather, scatter, allgather, alltoall: of one;
                                with counts: this member's own */
    const size_t *counts;  /**< [P] or NULL: all count; must stay until the
                                request is done */
    const size_t *offsets; /**< [P] or NULL: one behind the other; likewise */
    int varies;            /**< gather, scatter, alltoall: this is the v-form,
                                also where counts is NULL because it is not the
                                root */
    int type, op;
    uint32_t root;
    const size_t *send_counts;  /**< alltoall, v-form: [P]; likewise */
    const size_t *send_offsets; /**< likewise */
    size_t
        usual_count; /**< alltoall, v-form: elements of a large block, the same
                             number in all members, to choose the algorithm by;
                             0: nobody says.  Any block may have more or less */
};

/** Room for what nf_group_algorithm() writes, whatever the call. */
#define NF_ALGORITHM_BYTES 64

/** By which algorithm would @p call go, if it was made now?  As
 *  nf_group_options.algorithms takes it: "bcast.pipeline.fd:k=16",
 *  "alltoall.mixed:radices=3x2x2".  The same in all members that ask about the
 *  same call, and of a call that was made what it went by, as nothing that is
 *  measured in calls changes it.  Nothing is sent, and it does not count as a
 *  call; each member may ask for itself, at any time.
 *  @param call   kind and, as the operation has them, count or counts, varies,
 *                usual_count, type, op and root; buffers and offsets are not
 *                looked at, nor counts that not all members know (`varies`)
 *  @param text   [bytes], as it was if there is an error; "" if such a call
 *                sends nothing: no elements, or P = 1
 *  @param bytes  NF_ALGORITHM_BYTES is always enough
 *  @retval NF_ERR_INVAL, NF_ERR_FAILED, NF_ERR_REVOKED  as the call itself
 *  @retval NF_ERR_RANGE  the text is longer */
enum nf_status nf_group_algorithm(struct nf_group *group,
                                  const struct nf_call *call, char *text,
                                  size_t bytes);

/** Begin @p call, and send what can go at once: of a long message no more than
 *  64 to 512 KiB to a task that can't read it in this one's memory; the rest leaves in later calls on the group, see
 *  nf_group(3).  Buffers must stay until it is done.
 *  @param request_p  to be handed to nf_request_wait or nf_request_free
 *  @retval as for blocking calls */
enum nf_status nf_group_start(struct nf_group *group,
                              const struct nf_call *call,
                              struct nf_request **request_p);
/** Move everything on without waiting; an operator of your own that takes a
 *  millisecond or more is called once at most.  Who watches the descriptors of
 *  a group that failed goes on calling it, or closes the group.  @retval NF_OK
 *  @retval NF_WAIT  a request is under way  @retval < 0 the group failed */
enum nf_status nf_group_progress(struct nf_group *group);
/** As nf_group_progress() it keeps the others from taking this member for silent,
 *  also if the request was done before.
 *  @retval NF_OK done  @retval NF_WAIT under way  @retval < 0 it failed */
enum nf_status nf_request_test(struct nf_request *request);
/** Wait until it is done, and free it. */
enum nf_status nf_request_wait(struct nf_request *request);
/** Free it; if it is under way the group is given up, and calls of the other
 *  members end with NF_ERR_FAILED.  NULL is fine. */
void nf_request_free(struct nf_request *request);
/** File descriptors to watch for reading: call nf_group_progress() when one is
 *  readable, and after nf_group_deadline_us(), which is 0 as long as operators
 *  of your own have more to combine.  The set may change with every
 *  call; owned by the group.  @return how many */
size_t nf_group_fds(struct nf_group *group, const int **fds_p);
/** @return microseconds until nf_group_progress() is wanted though nothing
 *  came; < 0: it is not */
int64_t nf_group_deadline_us(const struct nf_group *group);

#ifdef __cplusplus
}
#endif
#endif
