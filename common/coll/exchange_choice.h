#ifndef NF_COLL_EXCHANGE_CHOICE_H
#define NF_COLL_EXCHANGE_CHOICE_H
/** @file exchange_choice.h  Which all-to-all for so many ranks and blocks of so
 *  many bytes.  Between the exchange of fewest rounds and a burst lie mixed
 *  radices (radix.h): small blocks are combined, for large ones each byte more
 *  counts.
 *
 *      burst         T(m) + (P-2 + d (P-1)) max(o_s, T(m) - T(0))
 *      mixed         sum over rounds of (1 + d (t-1)) T(m blocks), and
 *                    c m blocks if these are several: c of a byte that is
 *                    copied, 0 if T counts it
 *
 *  If o_s is not known T(m) stands for the maximum: messages one after the other.
 *
 *  d = delta - 1: 0 on full-duplex ports, 1 on half-duplex ones, where a round
 *  in which ranks send and receive takes t turns, 2 or 3 (blocks.h), and in a
 *  burst is twice as much; between the two costs are interpolated, as all are
 *  (select.h).  It is one number, of messages within a host as well.
 *
 *  T is that between hosts.  Where ranks share hosts and T within one is known:
 *  if all are on one host it is that.  Else a burst has n-1 messages that stay
 *  on the host, n the ranks on the host with the fewest, whose ranks wait the
 *  longest; a round of a mixed one has some message that leaves its host,
 *  whatever the radices, and takes as long as that.  Within a host o_s is the
 *  part of T(0) that it is between hosts.
 *
 *  and where members share processors at least the time that all messages take
 *  of these, P (P-1) of a burst, P a round of a mixed one.
 *
 *  Where blocks differ, the sizes of what has several go ahead of it, in a message
 *  of their own: a round of a mixed one then takes max(o_s, T(l) - T(0)) more, l
 *  the bytes of so many sizes, and P more messages.
 *
 *  Where all hosts share one medium, a hub, no round takes less than T(0) and
 *  T(x) - T(0) of all its P messages one after the other, no burst less than
 *  T(0) and that of those that leave their hosts.  A measured network says that
 *  it is shared; tables say nothing of it, nor does the built-in model: there
 *  the choice is as on a switch.
 *
 *  Prices are integers, made once from a model and handed out, and all that is
 *  done with them is whole numbers: hosts whose floating point differs choose
 *  alike. */
#include "common/coll/select.h"

/** Larger blocks are dealt with as these. */
enum { NF_EXCHANGE_LARGE_BYTES = 1 << 26 };
/** A size that goes ahead. */
enum { NF_EXCHANGE_SIZE_BYTES = 8 };

/** T(x) = start + x byte, by pieces, and never below 0; all of 64 bits, so that
 *  it can be sent.  Starts of later pieces may be negative: where the time of a
 *  byte has grown. */
struct nf_exchange_price {
    uint64_t npieces; /**< 1..NF_PRICE_PIECES_MAX */
    uint64_t from_bytes[NF_PRICE_PIECES_MAX];
    int64_t start_ns[NF_PRICE_PIECES_MAX];
    uint64_t byte_ps[NF_PRICE_PIECES_MAX];
    uint64_t occupancy_ns; /**< o_s */
    uint64_t share_ns;     /**< of shared processors, each message; or 0 */
    uint64_t copy_ps;      /**< c */
    uint64_t half_ppm;     /**< d, in millionths */
    uint64_t is_shared;    /**< the medium is: 1, or 0 */
    uint64_t lists;        /**< sizes go ahead of several blocks: 1, or 0 */
    uint64_t nnear; /**< the same within a host; 0: not known */
    uint64_t near_from_bytes[NF_PRICE_PIECES_MAX];
    int64_t near_start_ns[NF_PRICE_PIECES_MAX];
    uint64_t near_byte_ps[NF_PRICE_PIECES_MAX];
    uint64_t near_occupancy_ns;
    uint64_t least; /**< ranks on the host that has the fewest; 0: 1 */
};
enum {
    NF_EXCHANGE_PRICE_WORDS =
        sizeof(struct nf_exchange_price) / sizeof(uint64_t)
};

/** Rounded, and what is out of range brought into it. */
struct nf_exchange_price
nf_exchange_price_of(const struct nf_coll_network *network);
/** The price for other members: @p most of @p ranks on the fullest host, and no
 *  longer @p most_before of @p ranks_before.  As nf_model_share_on(), but alike
 *  in all that hold the price.  All are 1..NF_COLL_RANKS_MAX. */
void nf_exchange_price_move(struct nf_exchange_price *price,
                            uint32_t most_before, uint32_t ranks_before,
                            uint32_t most, uint32_t ranks);
/** Is it one?  For prices that were sent. */
bool nf_exchange_price_is_sane(const struct nf_exchange_price *price);

/** A round between hosts that half duplex takes so many turns, 1 to 3, of
 *  messages of up to 2^41 bytes: (1 + d (turns-1)) T. */
uint64_t nf_exchange_round_ns(const struct nf_exchange_price *price,
                              uint64_t bytes, uint32_t turns);

/** What blocks of @p bytes take: mixed by these radices, or if there are none
 *  burst. */
uint64_t nf_exchange_ns(const struct nf_exchange_price *price, uint32_t ranks,
                        uint64_t bytes, const struct nf_coll_params *params);

/** The cheapest mixed radices; of equals those of fewer rounds.  None for less
 *  than 4 ranks.
 *  @param params_p  only radices are set
 *  @return what they take; UINT64_MAX: there are none */
uint64_t nf_exchange_radices(const struct nf_exchange_price *price,
                             uint32_t ranks, uint64_t bytes,
                             struct nf_coll_params *params_p);

/** The cheapest; of equals a burst, or, if o_s is not known, pairwise_shift;
 * else the one of fewer rounds.  P >= 2.  O(P log P) a vector of radices on the
 * hull. */
void nf_exchange_choose(const struct nf_exchange_price *price, uint32_t ranks,
                        uint64_t bytes, struct nf_coll_choice *choice_p);

/** For blocks whose sizes nobody who chooses knows: by P and the price only.
 *  The worst of an algorithm is how many times the cheapest one's time it takes,
 *  over all sizes of blocks.  A burst, whose worst is at small blocks, which are
 *  soon done, unless something else has a worst of less than half of that: where
 *  messages are many for those who pass them, as between many ranks that share
 *  processors.  Then that with the least.  cost_us is INFINITY.  O(P log P) a
 *  vector of radices on the hull, as one choice by the size. */
void nf_exchange_choose_blindly(const struct nf_exchange_price *price,
                                uint32_t ranks,
                                struct nf_coll_choice *choice_p);

/** The same of what may serve @p query: a burst, which keeps the least, if the
 *  other one takes more memory than there is. */
void nf_coll_choose_exchange(const struct nf_exchange_price *price,
                             const struct nf_coll_query *query,
                             struct nf_coll_choice *choice_p);
#endif
