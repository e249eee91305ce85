#ifndef NF_MODEL_ESTIMATE_H
#define NF_MODEL_ESTIMATE_H
/** @file estimate.h  From what can be timed on one host to what a message costs
 *  sender, wire and receiver.  No clock is compared with that of another host:
 *
 *      SND(i, m)     i: until a message is handed over           = S_i
 *      RCV(j, m)     j: to take a message that has come          = R_j
 *      PP(i, j, m)   i: m bytes to j, which answers with none
 *                                            = T(i, j, m) + T(j, i, 0)
 *      SEQ(i, m, r)  i: m bytes each to r others, then to one more, which alone
 *                    answers                 = PP + r H_i
 *
 *      X_c(i, j) = (PP(i, j, 0) - S_i(0) - R_j(0) - S_j(0) - R_i(0)) / 2
 *      X(i, j, m) = PP(i, j, m) - S_i(m) - R_j(m)
 *                   - (S_j(0) + X_c(i, j) + R_i(0))
 *      H_i(m) = slope of SEQ over r, S_i at least
 *
 *  X_c is taken to be the same both ways: one host's clock cannot tell.  So
 *  PP(i, j, 0) and PP(j, i, 0) are one time that was measured twice: X_c goes by their
 *  mean, and from how they differ it is known how much chance there is in a PP.  Wires
 *  that differ from others by less than chance explains count as alike
 *  (pool.h).  SND, RCV and PP of a message take no longer than those of a longer one
 *  that are even: what did was disturbed, as empty messages are that go fast enough
 *  for pairs of hosts to get into each other's way.
 *
 *  In the model all this inverts it exactly; in life a difference may come out below
 *  0, and then counts as 0.  Pure.  Source: after Sawahata & Shibusawa (PP), and Lee
 *  (t_hold). */
#include "common/model/network.h"

enum { NF_RUNS_MAX = 5 };

struct nf_measures {
    uint32_t hosts, nsizes, nruns;     /**< nruns >= 2 */
    double sizes[NF_CURVE_POINTS_MAX]; /**< ascending; the first is 0 */
    uint32_t
        recv_sizes; /**< of the first so many sizes RCV was measured: longer
                         messages may not fit a socket's buffer; >= 1 */
    uint32_t *runs; /**< [hosts * nruns]  r of SEQ, ascending */
    double *send;   /**< [hosts * nsizes]  SND(i, sizes[k]) */
    double *recv;   /**< [hosts * nsizes]  RCV, where measured */
    double *ping;   /**< [hosts * hosts * nsizes]  PP; i = j is not used */
    double *seq;    /**< [hosts * nsizes * nruns]  SEQ */
    /** These are medians of several times.  has_low, for the caller to set: and
     *  these, indexed likewise, are what a fifth of them was no longer than. */
    bool has_low;
    double *send_low, *recv_low, *ping_low, *seq_low;
    /** Of RCV, PP and SEQ (of any r), indexed likewise: times that were too
     *  uneven to be believed.  Curves are fitted without them, but for those of
     *  0 bytes, as long as NF_EVEN_LEAST points are left. */
    bool *recv_uneven, *ping_uneven, *seq_uneven;
};

/** A line can be judged by so many points. */
enum { NF_EVEN_LEAST = 3 };

/** Room for sizes and runs, which are copied, the latter for each host; all
 *  times 0.
 *  @param measures_p  free with nf_measures_fini()
 *  @retval NF_ERR_INVAL  fewer than 2 hosts, or more than NF_NETWORK_HOSTS_MAX;
 *  too many sizes or runs, or not such as above */
enum nf_status nf_measures_init(struct nf_measures *measures_p, uint32_t hosts,
                                const double *sizes, uint32_t nsizes,
                                uint32_t recv_sizes, const uint32_t *runs,
                                uint32_t nruns);
void nf_measures_fini(struct nf_measures *measures);

static inline size_t nf_measures_ping_at(const struct nf_measures *measures,
                                         uint32_t i, uint32_t j, uint32_t size)
{
    return ((size_t)i * measures->hosts + j) * measures->nsizes + size;
}
static inline double *nf_measures_ping(const struct nf_measures *measures,
                                       uint32_t i, uint32_t j, uint32_t size)
{
    return &measures->ping[nf_measures_ping_at(measures, i, j, size)];
}
static inline size_t nf_measures_seq_at(const struct nf_measures *measures,
                                        uint32_t i, uint32_t size, uint32_t run)
{
    return ((size_t)i * measures->nsizes + size) * measures->nruns + run;
}
static inline double *nf_measures_seq(const struct nf_measures *measures,
                                      uint32_t i, uint32_t size, uint32_t run)
{
    return &measures->seq[nf_measures_seq_at(measures, i, size, run)];
}

/** What messages cost each host more in collective operations than bare ones
 *  do, runtime_us: for both ends of an empty message between host 0 and j that
 *  is what group_us[j] has over bare_us[j].  Host 0 has half of the least of
 *  these, and j what is left; nobody less than nothing.
 *  @param group_us  [nhosts] half of the time that two empty operations, there
 *                   and back, take between host 0 and j >= 1
 *  @param bare_us   [nhosts] half of PP(0, j, 0) */
void nf_network_set_runtime(struct nf_network *network, const double *group_us,
                            const double *bare_us);

/** A broadcast of a byte to all, by one algorithm. */
struct nf_call_time {
    double us;          /**< after a pause and a barrier, as measured */
    double messages_us; /**< what its messages take, but for wake_us */
    double hops; /**< how often a message has to wake somebody until the last one
                      has it: what it takes more for each us of wake_us */
};

/** What a broadcast of all takes beyond its messages, call_us, and a message in
 *  it beyond its wire, wake_us: such that call_us + hops wake_us is as near as can
 *  be to us - messages_us, by least squares.  Neither is less than nothing, and
 *  of broadcasts of as many hops all is call_us.  @param count  at least 1 */
void nf_network_set_call(struct nf_network *network,
                         const struct nf_call_time *calls, uint32_t count);

/** Fit all curves.  With has_low their low_us are found by the same equations,
 *  to the nanosecond.  O(hosts^2 log hosts)
 *  @param network_p  free with nf_network_fini(); names, model and shared are
 *                    the caller's to set
 *  @retval NF_ERR_INVAL  a time is no number; err says of whom */
enum nf_status nf_estimate(const struct nf_measures *measures,
                           struct nf_network *network_p, struct nf_error *err);
#endif
