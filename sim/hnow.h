#ifndef NF_SIM_HNOW_H
#define NF_SIM_HNOW_H
/** @file hnow.h  Multicast on random networks of workstations that differ: the
 *  Monte Carlo simulation of Sawahata & Shibusawa, Figures 3 and 4.
 *
 *  Fixed costs of a message are drawn from [100, 500] us, its costs a byte from
 *  [0.0001, 0.01] us, for sending and receiving apart; all links have 10 bytes
 *  a us; the root is drawn, too.  The same numbers everywhere: run r of n nodes
 *  has the seed n * 100000 + r. */
#include <stdint.h>
#include "common/model/hetero.h"

/** One network: per node fixed and per-byte cost of sending, then of receiving;
 *  then the root.  If @p is_matrix, links differ as well: for i < j, drawn in
 *  this order, X_ij = X_ji has a fixed part from [20, 1000] us and 1 to 12
 * bytes a us.
 *  @param hetero_p  nf_hetero_fini() it; without ports
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_hnow_draw(uint64_t seed, uint32_t nodes, bool is_matrix,
                            struct nf_hetero *hetero_p, uint32_t *root_p);

/** What is simulated: times of trees in us, and what they are to each other. */
#define NF_HNOW_COLUMNS(X)                                                     \
    X(FEF_B, "FEF-B", "fastest edge first, blocking")                          \
    X(FEF_NB, "FEF-NB", "the same, not blocking")                              \
    X(FEF_A1, "FEF-NB+A1", "and reordered by Algorithm 1")                     \
    X(FEF_GAIN, "FEF A1 gain", "what that gains")                              \
    X(ECEF_B, "ECEF-B", "earliest completing edge first, blocking")            \
    X(ECEF_NB, "ECEF-NB", "the same, not blocking")                            \
    X(ECEF_A1, "ECEF-NB+A1", "and reordered by Algorithm 1")                   \
    X(ECEF_GAIN, "ECEF A1 gain", "what that gains")                            \
    X(LA_NB, "ECEF-LA-NB", "ECEF with look-ahead, not blocking")               \
    X(LA_A1, "ECEF-LA-NB+A1", "and reordered by Algorithm 1")                  \
    X(FNF_NB, "FNF-NB", "fastest node first, not blocking")                    \
    X(FNF_A1, "FNF-NB+A1", "and reordered by Algorithm 1")                     \
    X(CRL, "CRL", "capped relays and leaves")                                  \
    X(CRL_RATIO, "CRL/(ECEF+A1)", "its time, of that of ECEF reordered")       \
    X(CRL_BOUND, "CRL/LB", "its time, of what no tree can beat")

enum nf_hnow_column {
#define X(id, name, text) NF_HNOW_##id,
    NF_HNOW_COLUMNS(X)
#undef X
        NF_HNOW_COUNT
};

extern const char *const nf_hnow_names[NF_HNOW_COUNT];

/** One run: all columns for a network.  @retval NF_ERR_NOMEM */
enum nf_status nf_hnow_run(const struct nf_hetero *hetero, uint32_t root,
                           uint64_t bytes, double values[NF_HNOW_COUNT]);

struct nf_hnow_summary {
    double mean, sd, min, max; /**< sd: of the runs, n - 1 */
};

/** Runs 0 to @p runs - 1 >= 1 of networks of @p nodes, links equal.
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_hnow_sim(uint32_t nodes, uint64_t bytes, uint32_t runs,
                           struct nf_hnow_summary summary_p[NF_HNOW_COUNT]);
#endif
