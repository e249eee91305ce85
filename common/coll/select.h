#ifndef NF_COLL_SELECT_H
#define NF_COLL_SELECT_H
/** @file select.h  Which algorithm, in how many segments: by a name that was
 *  asked for, by a table of what was measured (rules.h), or by the model.
 *  The choice is a pure function of values that are equal at all ranks. */
#include "common/coll/coll.h"
#include "common/model/model.h"

/** What messages cost, between half (delta = 2) and full duplex (delta = 1):
 *  costs are interpolated. */
struct nf_coll_network {
    struct nf_coll_price price; /**< its ports are ignored */
    double delta;
    double share_us; /**< of the processors that members share: so much of their
                          time does each message take; 0: each has its own */
    double copy_byte_us; /**< of a byte of blocks that are put together into a
                              message; 0: T counts that */
    bool is_shared; /**< hosts share one medium: a hub.  Of all-to-alls only */
    bool lists;     /**< blocks differ: their sizes go ahead of what has several.
                         Of all-to-alls only */
    struct nf_coll_price near; /**< within a host; npieces 0: not known */
    uint32_t hosts, fullest; /**< how many there are, and ranks on the fullest; 0:
                                  each has its own.  Of algorithms of two levels */
    uint32_t least; /**< ranks on the host that has the fewest; 0: 1.  Of
                         all-to-alls */
};

/** For members that are spread as those whom the model was measured with;
 *  others have nf_model_share_on() as share_us.  None that share hosts, see
 *  nf_coll_network_spread().
 *  @param type, operation  what is combined, for nf_model_combine_byte_us();
 *  NULL: nothing is */
struct nf_coll_network nf_coll_network_of(const struct nf_model *model,
                                          const char *type,
                                          const char *operation);

/** The ranks are on these hosts.  O(P^2).
 *  @param hosts  [P], or NULL: each has its own */
void nf_coll_network_spread(struct nf_coll_network *network,
                            const uint32_t *hosts, uint32_t ranks);

/** o_s within a host, where only T is known there: the part of T(0) that it is
 *  between hosts, and no more than there. */
double nf_coll_near_occupancy_us(const struct nf_coll_network *network);

/** All ranks are on one host: messages cost what they do within it, if that is
 *  known. */
void nf_coll_network_within(struct nf_coll_network *network);

/** One call. */
struct nf_coll_query {
    enum nf_coll_op op;
    uint32_t ranks; /**< P >= 2 */
    uint32_t root;
    uint64_t bytes;    /**< of the vector; gather, scatter, alltoall: a block */
    uint64_t elements; /**< of these; a segment has at least one */
    bool commutative;  /**< the operator is; true if nothing is combined */
    const uint32_t *hosts; /**< [P] as in nf_coll_args: borrowed; NULL: each
                                rank has its own */
    uint64_t memory_bytes; /**< that a member may keep beyond the user's
                                buffers (kept.h); 0: any */
};

/** What an all-to-all's algorithm takes beyond a number of ranks. */
struct nf_coll_params {
    uint32_t radix;               /**< 0: the algorithm's own */
    struct nf_coll_sides radices; /**< no digits: the fewest rounds */
    struct nf_coll_sides shape;   /**< no sides: a ring */
};
bool nf_coll_same_params(const struct nf_coll_params *a,
                         const struct nf_coll_params *b);
/** Let @p args take @p params, which are borrowed. */
void nf_coll_use_params(const struct nf_coll_params *params,
                        struct nf_coll_args *args);

struct nf_coll_choice {
    const struct nf_coll_algorithm *algorithm;
    uint32_t segments;
    double cost_us; /**< predicted; INFINITY if there is no formula */
    struct nf_coll_params params;
    const struct nf_coll_tree *tree; /**< of bcast.tree; borrowed of whoever
                                          planned it; NULL: a binomial one */
};

/** May this algorithm serve this call?  Operation, P = 2^n, the order of
 *  operands, in broadcast, reduce and allreduce no more fixed blocks than
 *  elements, and with some number of segments no more memory than there is;
 *  but if all want more, those that want the least may. */
bool nf_coll_serves(const struct nf_coll_algorithm *algorithm,
                    const struct nf_coll_query *query);
/** May it with @p params?  NULL: none are given. */
bool nf_coll_serves_with(const struct nf_coll_algorithm *algorithm,
                         const struct nf_coll_query *query,
                         const struct nf_coll_params *params);

/** The fewest segments of this call with which @p algorithm, which serves it,
 *  keeps no more than it may; if it keeps more with any, those with which it
 *  keeps no more than with the most. */
uint32_t nf_coll_least_segments(const struct nf_coll_algorithm *algorithm,
                                const struct nf_coll_query *query);

/** The cost of @p algorithm with @p segments on @p network. */
double nf_coll_cost_us(const struct nf_coll_algorithm *algorithm,
                       const struct nf_coll_network *network, uint32_t ranks,
                       double bytes, uint32_t segments);

/** The same with parameters; INFINITY if the formulas know nothing of them. */
double nf_coll_params_cost_us(const struct nf_coll_algorithm *algorithm,
                              const struct nf_coll_network *network,
                              const struct nf_coll_query *query,
                              uint32_t segments,
                              const struct nf_coll_params *params);

/** The cheapest k of 1..@p most, the least of equals; 1 if the algorithm has
 *  no segments to choose.  All k are tried, so pieces of any shape are right.
 *  @param cost_us_p  may be NULL: the cost with that k */
uint32_t nf_coll_best_segments(const struct nf_coll_algorithm *algorithm,
                               const struct nf_coll_network *network,
                               uint32_t ranks, double bytes, uint32_t most,
                               double *cost_us_p);

/** How many segments of this call @p algorithm takes if nobody says: as
 *  nf_coll_best_segments(), but nf_coll_least_segments() or more; without a
 *  formula as many as along a circulant graph: two levels take about as many
 *  rounds.
 *  @param cost_us_p  may be NULL; INFINITY if there is no formula */
uint32_t nf_coll_usual_segments(const struct nf_coll_algorithm *algorithm,
                                const struct nf_coll_network *network,
                                const struct nf_coll_query *query,
                                double *cost_us_p);

/** The real k of least cost of (alpha k + beta)(a + b m / k):
 *  sqrt(beta b m / (alpha a)), 0 if beta <= 0. */
double nf_coll_real_segments(double alpha, double beta, double start_us,
                             double byte_us, double bytes);

/** Are they the .hd and the .fd of one chain?  Each rank sends and takes the same
 *  messages in the same order by both: only their formulas differ. */
bool nf_coll_are_twins(const struct nf_coll_algorithm *a,
                       const struct nf_coll_algorithm *b);

/** The cheapest of nf_coll_table by the model; of equals the first by name.  An
 *  all-to-all: what nf_coll_choose_exchange() takes, as groups do.
 *  @return false if none serves or none has a finite cost */
bool nf_coll_select_by_model(const struct nf_coll_query *query,
                             const struct nf_coll_network *network,
                             struct nf_coll_choice *choice);

/** By operation, bytes and what serves, without a model: for groups whose
 *  members could find different ones cheapest.  Whole numbers only.
 *  @return false if none serves */
bool nf_coll_select_fixed(const struct nf_coll_query *query,
                          struct nf_coll_choice *choice);
/** How many segments such a call of @p algorithm takes. */
uint32_t nf_coll_fixed_segments(const struct nf_coll_algorithm *algorithm,
                                const struct nf_coll_query *query);

struct nf_coll_rules; /* rules.h */

/** Everything together.
 *  @param forced  NULL, or "bcast.pipeline.fd:k=8" or the like, see wish.h;
 *  whatever memory that takes, and with empty blocks where there are fewer elements
 *  @param rules   NULL, or what was measured
 *  @retval NF_ERR_INVAL  @p forced: no such algorithm, or not for this call
 *  @retval NF_ERR_FAILED  there is no algorithm for this call */
enum nf_status nf_coll_select(const struct nf_coll_query *query,
                              const struct nf_coll_network *network,
                              const struct nf_coll_rules *rules,
                              const char *forced, struct nf_coll_choice *choice,
                              struct nf_error *err);
#endif
