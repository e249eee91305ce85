#ifndef NF_TESTS_VIRTUAL_NETWORK_H
#define NF_TESTS_VIRTUAL_NETWORK_H
/** @file virtual_network.h  A network that keeps to the model exactly, on which
 *  the procedures of measuring are carried out message by message. */
#include "common/base/rng.h"
#include "common/model/estimate.h"

/** Random costs: X_c the same both ways, X_m the same for all pairs or not. */
void virtual_network_make(struct nf_hetero *truth, uint32_t hosts, bool matrix,
                          bool ports, uint64_t seed);

/** When does the host @p child[n - 1] hold its message of @p bytes, when @p i
 *  sends one to each of child[0..n), one after the other? */
double virtual_network_star_us(const struct nf_hetero *truth, uint32_t i,
                               const uint32_t *child, uint32_t n, double bytes);

/** The children of SEQ: r of them and the one that answers, as the probe has
 *  them.  @param child  [r + 1] */
void virtual_network_children(uint32_t hosts, uint32_t i, uint32_t r,
                              uint32_t *child);

/** Carry out all procedures; each time is multiplied by 1 + @p noise u, u in
 *  -1..1. */
void virtual_network_measure(const struct nf_hetero *truth, double noise,
                             uint64_t seed, struct nf_measures *measures_p);
#endif
