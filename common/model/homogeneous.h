#ifndef NF_MODEL_HOMOGENEOUS_H
#define NF_MODEL_HOMOGENEOUS_H
/** @file homogeneous.h  Models in which all hosts are equal, and how they
 * follow from each other and from a measured network.  Pure.
 *
 *      linear          T(m) = t_s + m / B
 *      LogGP           T(m) = o_s + L + G m + o_r, a send each g + G m
 *      parameterized   t_end(m) = t_send + t_net + t_recv, a send each t_hold
 *
 *  Of a measured network each of the five is fitted by itself, and t_net is no less than 0:
 *  there the sum holds but nearly.
 *  LogP is LogGP with G = 0.  An arrow that loses something says what.
 *  Source: Lee, section 2 (parameterized); Culler et al., "LogP", PPoPP 1993;
 *  Alexandrov et al., "LogGP", SPAA 1995 (which has (m - 1) G). */
#include "common/model/network.h"

struct nf_loggp {
    double latency_us;       /**< L */
    double send_us, recv_us; /**< o_s, o_r */
    double gap_us;           /**< g */
    double byte_us;          /**< G */
    uint32_t hosts;          /**< P */
};

struct nf_parameterized {
    struct nf_curve send, net, recv, hold, end;
};

/** Of a measured network, at each size: the medians of S, R and H over the
 *  hosts, t_end = median of (T(i, j) + T(j, i)) / 2 over the pairs, t_net what
 *  is left.  That hosts differ is lost.  O(hosts^2 log hosts)
 *  @retval NF_ERR_NOMEM
 *  @retval NF_ERR_INVAL  fewer than 2 hosts */
enum nf_status nf_parameterized_of(const struct nf_network *network,
                                   struct nf_parameterized *model_p);
/** Of a linear model: the sender is busy all the time (t_hold = t_end). */
struct nf_parameterized nf_parameterized_of_linear(struct nf_cost linear);
/** Nothing is lost if g >= o_s; else a host cannot send each g. */
struct nf_parameterized nf_parameterized_of_loggp(const struct nf_loggp *loggp);

/** By the lines: o_s, o_r, L and g are the constants, G the time of a byte of
 *  t_hold, in which long messages leave.  Lost: that a sender may be free earlier than a
 *  byte is there. */
struct nf_loggp nf_loggp_of(const struct nf_parameterized *model,
                            uint32_t hosts);
/** t_s and 1/B: the line of t_end.  Lost: everything but t_end. */
struct nf_cost nf_linear_of(const struct nf_parameterized *model);

/** S = t_hold, R = t_recv or as much as t_end has beside t_hold, X the rest: so
 *  S + X + R = t_end where t_hold <= t_end.  One wire for all, no ports.
 *  @param hetero_p  free with nf_hetero_fini() */
enum nf_status nf_parameterized_hetero(const struct nf_parameterized *model,
                                       uint32_t hosts,
                                       struct nf_hetero *hetero_p);
#endif
