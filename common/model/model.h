#ifndef NF_MODEL_MODEL_H
#define NF_MODEL_MODEL_H
/** @file model.h  What a network and its processors cost, as measured: the
 *  time T(x) of a message of x bytes in up to four straight pieces, how much
 *  an exchange costs more than a message, what combining costs, how long a
 *  sender is busy.  Pure: whoever measures passes the samples in.
 *
 *  Symbols: a start-up time, b time of a byte, delta = T_exchange / T. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "nowfarm.h"

enum {
    NF_MODEL_PIECES_MAX = 4,
    NF_MODEL_SAMPLES_MAX = 64,
    NF_MODEL_COMBINES_MAX = 128, /**< pairs of a type and an operator */
    NF_MODEL_NAME_BYTES = 16,
    NF_MODEL_DATE_BYTES = 24, /**< "2026-11-21T23:50:30Z" */
};

/** T(x) = start_us + byte_us * x from here to the next piece. */
struct nf_model_piece {
    double from_bytes; /**< of the first: 0; ascending */
    double start_us, byte_us;
};

/** One size of a ping-pong. */
struct nf_model_sample {
    double bytes;
    double time_us; /**< one way: half the median round trip; > 0 */
};

/** Combining a byte of a type by an operator. */
struct nf_model_combine {
    char type[NF_MODEL_NAME_BYTES];      /**< "double" */
    char operation[NF_MODEL_NAME_BYTES]; /**< "sum" */
    double byte_us;
};

enum nf_model_route { NF_MODEL_ROUTE_DAEMON, NF_MODEL_ROUTE_DIRECT };
enum nf_model_encoding { NF_MODEL_ENCODING_RAW, NF_MODEL_ENCODING_XDR };

struct nf_model {
    uint32_t npieces; /**< 1..NF_MODEL_PIECES_MAX */
    struct nf_model_piece pieces[NF_MODEL_PIECES_MAX];
    uint32_t nnear; /**< T within a host, where the above is between hosts and
                         members share some; 0: not known */
    struct nf_model_piece near[NF_MODEL_PIECES_MAX];
    double delta;        /**< 1 (full duplex) to 2 (half duplex) */
    double occupancy_us; /**< o_s: how long a send keeps its sender busy */
    double share_us; /**< of processors that members share: so much of their
                          time does each message of a group take; 0: each has
                          its own.  Of the processors of all hosts together,
                          for members that are spread as they were then */
    double share_part; /**< and then so many of the members were on the fullest
                            host, 0..1; 0: not known */
    double copy_byte_us; /**< of transports on which T is of payloads that are
                              not copied: of a byte that is, to put blocks
                              together into one message; 0: T counts that.
                              Tables have none */
    uint32_t ncombines;
    struct nf_model_combine combines[NF_MODEL_COMBINES_MAX];
    enum nf_model_route route;
    enum nf_model_encoding encoding;
    uint32_t hosts_hash; /**< of the list of hosts */
    char date[NF_MODEL_DATE_BYTES];
};

/** Fit T: weighted least squares with weights 1/t^2, so that every size
 *  counts by its relative error.  If a sample is off the line by more than 15
 * %: the fewest pieces, of 3 samples or more, for which none is, each number of
 *  them laid where the sum of squared relative errors is least.
 *  a >= 0.1 us for the first piece, b >= 1e-6 us.
 *  @param samples  count 1..NF_MODEL_SAMPLES_MAX, sizes ascending and different
 *  @param model  only npieces and pieces are set, and only on NF_OK
 *  @retval NF_ERR_INVAL  no or too many samples, sizes do not ascend, or a time
 *  is not a positive number
 *  Source: Kim, report 98-NF-03-04-A-01, 4.1 (the ping-pong). */
enum nf_status nf_model_fit(const struct nf_model_sample *samples, size_t count,
                            struct nf_model *model, struct nf_error *err);

/** The straight line through @p samples (@p count >= 1), as above and never
 *  cut; for one size b is the least. */
struct nf_model_piece nf_model_fit_line(const struct nf_model_sample *samples,
                                        size_t count);

/** T(bytes). */
double nf_model_send_us(const struct nf_model *model, double bytes);

/** delta from exchanges, both ways at once, of some sizes: the greatest of
 *  exchange / T, clamped to 1..2.
 *  @param exchanges  count >= 1, the time until both are done */
double nf_model_delta(const struct nf_model *model,
                      const struct nf_model_sample *exchanges, size_t count);

/** Time to combine a byte.  @return of this type and operation; if that was
 *  not measured, the greatest of the type; else the greatest of all, 0 if
 *  there is none */
double nf_model_combine_byte_us(const struct nf_model *model, const char *type,
                                const char *operation);
/** Note a measurement, in place of an earlier one of the same names; names are
 *  cut.  @retval NF_ERR_RANGE  there are NF_MODEL_COMBINES_MAX others */
enum nf_status nf_model_set_combine(struct nf_model *model, const char *type,
                                    const char *operation, double byte_us);

/** What a barrier by dissemination tells of processors that members share: all
 *  send at once, ceil(log2 P) times.  Members with processors of their own take
 *  so many times T(0) for it; if it takes half as long again, they wait for
 *  processors and not for the network.  Each one's time begins when rank 0 lets
 *  it go, one after the other, so the last of them waits (P-2) o_s less.
 *  @param members     P >= 2
 *  @param barrier_us  the longest of the members' times
 *  @return for share_us: the time of a round over its P messages; or 0 */
double nf_model_share_us(const struct nf_model *model, uint32_t members,
                         double barrier_us);
/** share_us for members of whom @p part are on the fullest host: its processors
 *  have that part of the messages, and whoever is on it waits for them.  As it
 *  was measured where share_part is not known. */
double nf_model_share_on(const struct nf_model *model, double part);
/** How many of the members are on the fullest host.  O(P^2).
 *  @param hosts  [members >= 1], by any number; NULL: each has its own */
uint32_t nf_model_fullest(const uint32_t *hosts, uint32_t members);
/** How many are on the host that has the fewest of them.  O(P^2), as above. */
uint32_t nf_model_least_full(const uint32_t *hosts, uint32_t members);
/** The part of the members that is on the fullest host. */
double nf_model_fullest_part(const uint32_t *hosts, uint32_t members);

/** A number for a set of hosts, whatever their order and repetitions; not 0.
 *  @param names  @p count >= 1 texts, @p stride bytes from one to the next
 *  O(count^2) */
uint32_t nf_model_hosts_hash(const char *names, size_t stride, size_t count);

/** The worse of two links, for groups that have both: at every size at least
 *  as slow as either.  Pieces of both that do not fit are joined.  Everything
 *  but the pieces, delta, occupancy and share is that of @p a. */
void nf_model_worse(const struct nf_model *a, const struct nf_model *b,
                    struct nf_model *worse);
#endif
