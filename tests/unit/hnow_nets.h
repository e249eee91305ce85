#ifndef NF_TESTS_HNOW_NETS_H
#define NF_TESTS_HNOW_NETS_H
/** What the tests of trees for hosts that differ compare with. */
#include <jansson.h>
#include "common/tree/crl.h"
#include "common/tree/hops.h"
#include "common/tree/tree.h"

/** tests/golden/hnow.json; NULL: it cannot be read, there is a line. */
json_t *hnow_golden(void);

/** "seed_net" or "matrix_net" of a row of the goldens, drawn. */
void hnow_net(const json_t *row, uint64_t seed, struct nf_hetero *hetero_p,
              uint32_t *root_p);

/** The params object of a row of hnow_fixed. */
void hnow_params(const json_t *params, struct nf_hetero *hetero_p,
                 uint32_t *root_p);

/** Hosts that are all alike. */
void hnow_alike(uint32_t n, double send, double wire, double recv,
                struct nf_hetero *hetero_p);

typedef enum nf_status hnow_builder(const struct nf_hops *hops, uint32_t root,
                                    bool is_blocking, struct nf_tree *tree_p);

/** A chain by send + recv; binomial by rank. */
hnow_builder hnow_chain, hnow_binomial;

/** OPT-tree for hosts that are all as the mean one, ranks by number, or the
 *  quicker the more a rank has to see to. */
hnow_builder hnow_opt_by_number, hnow_opt_by_size;

/** Time of what a builder makes, reordered; @p segments: of the best number of
 *  segments of at least 1024 bytes, otherwise of one. */
double hnow_best_us(hnow_builder *builder, const struct nf_hetero *hetero,
                    uint32_t root, uint64_t bytes, bool segments);

/** The best of all labelled trees, n <= 7, reordered; likewise. */
double hnow_enumerate_us(const struct nf_hetero *hetero, uint32_t root,
                         uint64_t bytes, bool segments);

/** Another way to the optimum of nf_tree_exact(): branch and bound over deliveries
 *  in the order in which their senders are done. */
double hnow_branch_us(const struct nf_hops *hops, uint32_t root,
                      bool is_blocking);

/** Each node reached once, children and parents agree. */
bool hnow_is_tree(const struct nf_tree *tree);
#endif
