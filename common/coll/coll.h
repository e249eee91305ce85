#ifndef NF_COLL_COLL_H
#define NF_COLL_COLL_H
/** @file coll.h  Collective operations as schedules: who sends what to whom in
 *  which round.  Pure: an algorithm only writes messages down.  The same
 *  schedule is printed, checked, priced, simulated and executed.
 *
 *  Symbols of the formulas: P ranks; v = (r - root) mod P, the virtual rank;
 *  n = floor(log2 P), H = 2^n, q = ceil(log2 P); k segments; m bytes; a the
 *  start-up time, b the time of a byte, g the time of combining a byte.
 *
 *  All messages of a round read the state before it.  Ranks need not march in
 *  step: a rank treats the messages of one item in the order of their rounds
 *  (sends before receives within a round), and different items independently;
 *  receives name their source.  So what is right round by round is right
 *  whatever the timing (it is a Kahn network). */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "nowfarm.h"

enum nf_coll_op {
    NF_COLL_BCAST,
    NF_COLL_REDUCE,
    NF_COLL_ALLREDUCE,
    NF_COLL_REDUCE_SCATTER,
    NF_COLL_ALLGATHER,
    NF_COLL_SCAN,
    NF_COLL_EXSCAN,
    NF_COLL_GATHER,
    NF_COLL_SCATTER,
    NF_COLL_ALLTOALL,
    NF_COLL_BARRIER,
    NF_COLL_OPS
};

/** Names by number, "bcast", ... */
extern const char *const nf_coll_op_names[NF_COLL_OPS];

/** The most ranks and the most segments of a vector. */
enum { NF_COLL_RANKS_MAX = 4096, NF_COLL_SEGMENTS_MAX = 1024 };

/** Of a gather or scatter that does not block so many blocks are under way at
 *  the root at once. */
enum { NF_COLL_WINDOW = 8 };

/** Smaller blocks of a gather or scatter are on their way before anybody can
 *  hold them back. */
enum { NF_COLL_HELD_BYTES = 1 << 16 };

/** What the receiver does with what comes in, the operand of the lower rank
 *  being the left one. */
enum nf_coll_action {
    NF_COLL_COPY,  /**< mine := in */
    NF_COLL_LEFT,  /**< mine := in (+) mine */
    NF_COLL_RIGHT, /**< mine := mine (+) in */
};

/** How many messages a rank may be in at once; what a schedule keeps to, and
 *  what a network is priced as. */
enum nf_coll_ports {
    NF_PORTS_HALF, /**< one, sent or received */
    NF_PORTS_FULL, /**< one each way */
    NF_PORTS_MANY, /**< any number */
};

/** What the items of a schedule are. */
enum nf_coll_items {
    NF_ITEMS_NONE,     /**< messages without data */
    NF_ITEMS_WHOLE,    /**< one: the vector */
    NF_ITEMS_SEGMENTS, /**< k segments of the vector */
    NF_ITEMS_SUBCUBE,  /**< H segments of the vector */
    NF_ITEMS_BLOCKS,   /**< P: segments of the vector, or the blocks of ranks */
    NF_ITEMS_PAIRS,    /**< P^2: the block from s to d is number s P + d */
};

/** For which operators the result is right. */
enum nf_coll_order {
    NF_ORDER_RANKS,       /**< any: operands 0, 1, ..., P-1 in this order */
    NF_ORDER_ROTATED,     /**< any, if root = 0: root, root+1, ..., root-1 */
    NF_ORDER_HOSTS,       /**< any, if the ranks of each host are consecutive:
                               0, 1, ..., P-1 */
    NF_ORDER_COMMUTATIVE, /**< commutative ones */
};

/** Sides of a grid or torus, the slowest first: rank i C + j of R x C is in row
 *  i and column j.  Or radices, of the lowest digit first. */
enum { NF_COLL_SIDES_MAX = 12 };
struct nf_coll_sides {
    uint32_t count; /**< 1..NF_COLL_SIDES_MAX */
    uint32_t of[NF_COLL_SIDES_MAX];
};

/** A tree that a broadcast goes down: rank v hands what it has to child[first[v]]
 *  up to child[first[v + 1] - 1], in this order.  Ranks are true ones. */
struct nf_coll_tree {
    uint32_t ranks, root;
    const uint32_t *first; /**< [ranks + 1] */
    const uint32_t *child; /**< [ranks - 1] */
};

/** One collective.  Fields that an operation or algorithm does not have are
 *  ignored. */
struct nf_coll_args {
    uint32_t ranks;        /**< P >= 1 */
    uint32_t root;         /**< true rank, < P */
    uint32_t segments;     /**< k, 1..NF_COLL_SEGMENTS_MAX */
    const uint32_t *hosts; /**< [P] of each rank its host, by any number, for
                                algorithms of two levels; borrowed; NULL: each
                                has its own */
    const struct nf_coll_sides *shape; /**< all-to-all: the grid that the ranks
                                            are; borrowed; NULL: a ring */
    const struct nf_coll_sides *radices; /**< all-to-all, of alltoall.mixed;
                                              borrowed; NULL: fewest rounds */
    uint32_t radix; /**< of algorithms that have one; 0: their own */
    const struct nf_coll_tree *tree; /**< of bcast.tree; borrowed; NULL: a
                                          binomial one */
};

/** @return the number of virtual rank @p v */
static inline uint32_t nf_coll_true_rank(const struct nf_coll_args *args,
                                         uint32_t v)
{
    return (uint32_t)(((uint64_t)v + args->root) % args->ranks);
}
/** floor(log2(x)), x >= 1. */
uint32_t nf_coll_floor_log2(uint32_t x);
/** ceil(log2(x)), x >= 1. */
uint32_t nf_coll_ceil_log2(uint32_t x);

/** Items [first, first + count). */
struct nf_coll_span {
    uint32_t first, count;
};

struct nf_coll_message {
    uint32_t round;    /**< from 0 */
    uint32_t src, dst; /**< true ranks */
    enum nf_coll_action action;
    bool
        keep; /**< the receiver also copies what comes in to its register car */
    bool from_car; /**< the sender sends its register car, not its vector */
    uint32_t
        side;     /**< the side of the torus that it goes along, if hops != 0 */
    int32_t hops; /**< that far, backwards if < 0; 0: as the network pleases */
    uint32_t first_span, nspans; /**< of schedule->spans; none: no data */
};

/** Messages, in the order in which they were added or sorted. */
struct nf_schedule {
    struct nf_coll_message *messages;
    size_t count, capacity;
    struct nf_coll_span *spans;
    size_t nspans, spans_capacity;
    uint32_t only; /**< messages without this rank are left out */
    bool skipping; /**< the last message was */
    bool failed;   /**< out of memory: the schedule is useless */
    bool too_long; /**< failed, of more than NF_COLL_CARRIED_MAX items */
    uint64_t carried; /**< items in all messages */
};

/** The most items that the messages of a schedule carry; 256 MiB of spans. */
enum { NF_COLL_CARRIED_MAX = 1 << 25 };

#define NF_ALL_RANKS UINT32_MAX

/** @param only  a rank, or NF_ALL_RANKS */
void nf_schedule_init(struct nf_schedule *schedule, uint32_t only);
void nf_schedule_fini(struct nf_schedule *schedule);
/** Begin a message without items.  Running out of memory sets failed. */
void nf_schedule_add(struct nf_schedule *schedule, uint32_t round, uint32_t src,
                     uint32_t dst, enum nf_coll_action action);
/** The last message also carries items [first, first + count), behind those it
 *  has; adjoining spans become one.  Nothing if count is 0. */
void nf_schedule_items(struct nf_schedule *schedule, uint32_t first,
                       uint32_t count);
/** The same for items first, first+1, ... that wrap around at @p modulus. */
void nf_schedule_items_mod(struct nf_schedule *schedule, uint32_t first,
                           uint32_t count, uint32_t modulus);
/** The last message goes from and to register car. */
void nf_schedule_car(struct nf_schedule *schedule, bool keep, bool from_car);
/** The last message takes @p hops hops along @p side of the torus. */
void nf_schedule_route(struct nf_schedule *schedule, uint32_t side,
                       int32_t hops);
/** A whole message with one span. */
void nf_schedule_send(struct nf_schedule *schedule, uint32_t round,
                      uint32_t src, uint32_t dst, uint32_t first,
                      uint32_t count, enum nf_coll_action action);
/** Sort by round, source, destination. */
void nf_schedule_sort(struct nf_schedule *schedule);
/** Items that @p message of it carries. */
uint64_t nf_schedule_items_of(const struct nf_schedule *schedule,
                              const struct nf_coll_message *message);
/** One more than the last round; 0 without messages. */
uint32_t nf_schedule_rounds(const struct nf_schedule *schedule);

/** The network and the processors, for prices: T(x) = a + b x us for a message
 *  of x bytes, piece by piece, and C(x) = g x us for combining x bytes. */
enum { NF_PRICE_PIECES_MAX = 4 };
struct nf_coll_price {
    uint32_t npieces; /**< 1..NF_PRICE_PIECES_MAX */
    struct {
        double from_bytes; /**< of the first: 0; ascending */
        double start_us, byte_us;
    } pieces[NF_PRICE_PIECES_MAX];
    double combine_byte_us;
    double occupancy_us;      /**< o_s: how long a message keeps its sender, or
                                   whoever takes it, busy; 0: not known */
    enum nf_coll_ports ports; /**< HALF or FULL */
};
/** T(bytes). */
double nf_price_send_us(const struct nf_coll_price *price, double bytes);
/** The time until the last of @p count >= 1 messages of @p bytes is there that
 *  one rank sends to as many others, or takes from them, waiting for none: T
 * and count-1 times what each takes of the rank or of its link, whichever is
 * more: T(m) + (count-1) max(o_s, T(m) - T(0)). */
double nf_price_stream_us(const struct nf_coll_price *price, double bytes,
                          uint32_t count);
/** The same of @p count different blocks, whose link is not taken for longer than by one
 *  message of all their bytes: at most max(T(m) + (count-1) o_s, T(count m)).  That is
 *  the same where T is one line; else the start of the line of long messages,
 *  which is within their error, would count each time. */
double nf_price_blocks_us(const struct nf_coll_price *price, double bytes,
                          uint32_t count);
/** The same for algorithms that are said to wait for each message: they need
 *  not, but what that saves is known with o_s only; else count T(m). */
double nf_price_sequence_us(const struct nf_coll_price *price, double bytes,
                            uint32_t count);
/** How long after a message another one of @p bytes is through a rank that
 *  passes them on.  In step that is T(m).  But a start-up is mostly the way of
 *  the message, and several are on it: with o_s known, what a message takes of
 *  the rank, which takes it and sends it, and of its link: 2 o_s + T(m) - T(0),
 *  if that is less. */
double nf_price_relay_us(const struct nf_coll_price *price, double bytes);
/** C(bytes). */
double nf_price_combine_us(const struct nf_coll_price *price, double bytes);

/** Ranks that share hosts, and what messages cost between and within these. */
struct nf_coll_levels {
    const struct nf_coll_price *between, *within;
    uint32_t hosts;   /**< >= 2 */
    uint32_t fullest; /**< so many ranks are on the fullest */
    double delta;     /**< between hosts, as in nf_coll_network */
};

struct nf_coll_algorithm;

/** What an algorithm keeps at a member beyond the user's buffers, see kept.h.
 */
struct nf_coll_kept {
    const char *text; /**< the formula, as printed */
    /** P >= 2.  Whole numbers, which are the same everywhere; never more with
     *  more segments.  @param bytes  as of cost_us
     *  @return UINT64_MAX if it has no 64 bits */
    uint64_t (*bytes)(const struct nf_coll_algorithm *self, uint32_t ranks,
                      uint64_t bytes, uint32_t segments);
};

struct nf_coll_algorithm {
    const char *name; /**< "bcast.binomial": operation, dot, algorithm */
    enum nf_coll_op op;
    const char *summary; /**< one line for lists */
    const char *source;  /**< where it is from */
    const char *cost;    /**< the formula of cost_us, as text */
    enum nf_coll_items items;
    enum nf_coll_ports ports; /**< that the schedule keeps to in every round */
    enum nf_coll_order order; /**< for operations that combine */
    bool power_of_two;        /**< only for P = 2^n */
    uint32_t radix;           /**< of algorithms that have one, else 0 */
    bool by_shape; /**< all-to-all: goes along the sides of args->shape */
    bool one_each; /**< and no channel of that torus has two messages at once,
                        on the routes that are said */
    /** The most messages of a round that the root of a gather or scatter has
     *  under way at once, in the order of the schedule; 0: any number. */
    uint32_t window;
    /** So many rounds at most a rank runs ahead: its messages of round t wait
     *  for all that comes to it in rounds up to t - rounds_ahead, whatever they
     *  carry.  Or blocks that go straight home would all leave at once, in any
     *  algorithm.  0: each item goes as soon as it can. */
    uint32_t rounds_ahead;
    /** Is it for such shapes and radices?  NULL: for all.
     *  @retval NF_ERR_INVAL  no; err says what it wants */
    enum nf_status (*fits)(const struct nf_coll_algorithm *self,
                           const struct nf_coll_args *args,
                           struct nf_error *err);
    /** k if the user does not say; NULL: 1. */
    uint32_t (*default_segments)(uint32_t ranks);
    /** Write the messages down, in any order.  P >= 2. */
    void (*make)(const struct nf_coll_algorithm *self,
                 const struct nf_coll_args *args, struct nf_schedule *schedule);
    /** The time until the last rank is done, under price->ports; INFINITY if
     *  there is no formula for these.  P >= 2.  @param bytes  of the vector;
     *  gather, scatter and all-to-all: of one block */
    double (*cost_us)(const struct nf_coll_algorithm *self,
                      const struct nf_coll_price *price, uint32_t ranks,
                      double bytes, uint32_t segments);
    /** Of algorithms of two levels, in place of cost_us, which knows of one kind of
     *  link; else NULL. */
    double (*levels_us)(const struct nf_coll_algorithm *self,
                        const struct nf_coll_levels *levels, double bytes,
                        uint32_t segments);
    const struct nf_coll_kept *kept; /**< NULL: nothing, of barriers */
};

/* One line an algorithm, by operation and name; the file is <op>_<name>.c, and
 * variants share one */
#define NF_COLL_BCAST_LIST(X)                                                  \
    X(bcast_flat)                                                              \
    X(bcast_binomial)                                                          \
    X(bcast_knomial3)                                                          \
    X(bcast_knomial4)                                                          \
    X(bcast_knomial8)                                                          \
    X(bcast_nesbt)                                                             \
    X(bcast_kseg)                                                              \
    X(bcast_pipeline_hd)                                                       \
    X(bcast_pipeline_fd)                                                       \
    X(bcast_twopath_hd)                                                        \
    X(bcast_vdg_ring)                                                          \
    X(bcast_vdg_circ)                                                          \
    X(bcast_circulant)                                                         \
    X(bcast_tree)                                                              \
    X(bcast_two_level)
#define NF_COLL_REDUCE_LIST(X)                                                 \
    X(reduce_linear)                                                           \
    X(reduce_binomial)                                                         \
    X(reduce_binomial_ordered)                                                 \
    X(reduce_chain_hd)                                                         \
    X(reduce_chain_fd)                                                         \
    X(reduce_seg)                                                              \
    X(reduce_rabenseifner)                                                     \
    X(reduce_circulant)                                                        \
    X(reduce_two_level)                                                        \
    X(reduce_two_level_ordered)
#define NF_COLL_ALLREDUCE_LIST(X)                                              \
    X(allreduce_reduce_bcast)                                                  \
    X(allreduce_rec_doubling)                                                  \
    X(allreduce_seg_doubling)                                                  \
    X(allreduce_seg_halving)                                                   \
    X(allreduce_ring)                                                          \
    X(allreduce_circulant)                                                     \
    X(allreduce_two_level)                                                     \
    X(allreduce_two_level_ordered)
#define NF_COLL_REDUCE_SCATTER_LIST(X)                                         \
    X(reduce_scatter_circulant)                                                \
    X(reduce_scatter_doubling)                                                 \
    X(reduce_scatter_halving)                                                  \
    X(reduce_scatter_ring)
#define NF_COLL_ALLGATHER_LIST(X)                                              \
    X(allgather_circulant)                                                     \
    X(allgather_rec_doubling)                                                  \
    X(allgather_ring)
#define NF_COLL_SCAN_LIST(X)                                                   \
    X(scan_linear)                                                             \
    X(scan_pipeline_hd)                                                        \
    X(scan_pipeline_fd)                                                        \
    X(scan_brent_kung)                                                         \
    X(scan_brent_kung_seg_hd)                                                  \
    X(scan_brent_kung_seg_fd)                                                  \
    X(scan_rootp_chain)                                                        \
    X(scan_rootp_fan)                                                          \
    X(scan_rootp_seg_chain_hd)                                                 \
    X(scan_rootp_seg_chain_fd)                                                 \
    X(scan_rec_doubling)
#define NF_COLL_EXSCAN_LIST(X)                                                 \
    X(exscan_linear)                                                           \
    X(exscan_pipeline_hd)                                                      \
    X(exscan_pipeline_fd)                                                      \
    X(exscan_brent_kung)                                                       \
    X(exscan_brent_kung_seg_hd)                                                \
    X(exscan_brent_kung_seg_fd)                                                \
    X(exscan_rootp_chain)                                                      \
    X(exscan_rootp_fan)                                                        \
    X(exscan_rootp_seg_chain_hd)                                               \
    X(exscan_rootp_seg_chain_fd)                                               \
    X(exscan_rec_doubling)
#define NF_COLL_GATHER_LIST(X)                                                 \
    X(gather_linear)                                                           \
    X(gather_linear_nb)                                                        \
    X(gather_binomial)
#define NF_COLL_SCATTER_LIST(X)                                                \
    X(scatter_linear)                                                          \
    X(scatter_linear_nb)                                                       \
    X(scatter_binomial)
#define NF_COLL_ALLTOALL_LIST(X)                                               \
    X(alltoall_burst)                                                          \
    X(alltoall_pairwise_shift)                                                 \
    X(alltoall_pairwise_xor)                                                   \
    X(alltoall_pairwise_grid)                                                  \
    X(alltoall_tournament_hd)                                                  \
    X(alltoall_bruck)                                                          \
    X(alltoall_bruck_grid)                                                     \
    X(alltoall_mixed)                                                          \
    X(alltoall_naive)                                                          \
    X(alltoall_dh)                                                             \
    X(alltoall_mdh)                                                            \
    X(alltoall_cdh)                                                            \
    X(alltoall_khop)                                                           \
    X(alltoall_split_merge)                                                    \
    X(alltoall_split_merge0)
#define NF_COLL_BARRIER_LIST(X)                                                \
    X(barrier_linear)                                                          \
    X(barrier_tree)                                                            \
    X(barrier_dissemination)                                                   \
    X(barrier_dissemination3)                                                  \
    X(barrier_dissemination4)                                                  \
    X(barrier_two_level)
#define NF_COLL_LIST(X)                                                        \
    NF_COLL_BCAST_LIST(X)                                                      \
    NF_COLL_REDUCE_LIST(X)                                                     \
    NF_COLL_ALLREDUCE_LIST(X)                                                  \
    NF_COLL_REDUCE_SCATTER_LIST(X)                                             \
    NF_COLL_ALLGATHER_LIST(X)                                                  \
    NF_COLL_SCAN_LIST(X)                                                       \
    NF_COLL_EXSCAN_LIST(X)                                                     \
    NF_COLL_GATHER_LIST(X)                                                     \
    NF_COLL_SCATTER_LIST(X)                                                    \
    NF_COLL_BARRIER_LIST(X)                                                    \
    NF_COLL_ALLTOALL_LIST(X)

#define NF_COLL_DECLARE(name)                                                  \
    extern const struct nf_coll_algorithm nf_coll_##name;
NF_COLL_LIST(NF_COLL_DECLARE)
#undef NF_COLL_DECLARE

/** Every algorithm, then NULL. */
extern const struct nf_coll_algorithm *const nf_coll_table[];
/** @return the algorithm of that full name, or of another one that it is known
 *  by (alltoall.pairwise is alltoall.pairwise_shift), or NULL */
const struct nf_coll_algorithm *nf_coll_find(const char *name);
/** @return the @p n th other full name of @p algorithm, from 0; NULL: it has no more
 */
const char *nf_coll_other_name(const struct nf_coll_algorithm *algorithm,
                               size_t n);
/** Are the ranks of each host neighbours, so that what is combined host by host
 *  is combined in the order of ranks?  O(P^2), less if hosts come in order.
 *  @param hosts  [ranks]; NULL: each rank has its own */
bool nf_coll_hosts_in_order(const uint32_t *hosts, uint32_t ranks);
/** Does the algorithm combine in the order of ranks, 0 to P-1? */
bool nf_coll_keeps_order(const struct nf_coll_algorithm *algorithm,
                         const struct nf_coll_args *args);
/** @return the number of items of its schedules */
uint32_t nf_coll_item_count(const struct nf_coll_algorithm *algorithm,
                            const struct nf_coll_args *args);
/** What a member keeps beyond the user's buffers, at the most; see kept.h. */
uint64_t nf_coll_kept_bytes(const struct nf_coll_algorithm *algorithm,
                            uint32_t ranks, uint64_t bytes, uint32_t segments);
/** May the algorithm be made with @p args?  As nf_coll_make(). */
enum nf_status nf_coll_fits(const struct nf_coll_algorithm *algorithm,
                            const struct nf_coll_args *args,
                            struct nf_error *err);
/** The product of the sides; UINT64_MAX if it has no 64 bits. */
uint64_t nf_coll_sides_product(const struct nf_coll_sides *sides);
/** Check @p args, and write the schedule, sorted.
 *  @param only  a rank: its messages; NF_ALL_RANKS: all
 *  @param schedule  to be nf_schedule_fini()shed in any case
 *  @retval NF_ERR_RANGE  P, root or k is out of range, or messages would
 *  carry more than NF_COLL_CARRIED_MAX items   @retval NF_ERR_INVAL  the algorithm wants
 *  P = 2^n or another shape   @retval NF_ERR_NOMEM */
enum nf_status nf_coll_make(const struct nf_coll_algorithm *algorithm,
                            const struct nf_coll_args *args, uint32_t only,
                            struct nf_schedule *schedule, struct nf_error *err);

/** Elements [*first_p, *first_p + *count_p) of a vector of @p elements are
 *  segment @p j of @p k: it begins at floor(j elements / k). */
void nf_coll_segment(uint64_t elements, uint32_t k, uint32_t j,
                     uint64_t *first_p, uint64_t *count_p);
/** k brought to 1..min(elements, NF_COLL_SEGMENTS_MAX), so that no segment is
 *  empty. */
uint32_t nf_coll_clamp_segments(uint64_t elements, uint64_t k);
#endif
