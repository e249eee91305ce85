#ifndef NF_COLL_RULES_H
#define NF_COLL_RULES_H
/** @file rules.h  What tuning found out, kept as text.  Pure: on buffers; the
 *  caller reads and writes files (write a new file, fsync, rename).
 *
 *      nowfarm-collectives 1
 *      library 1.0.0
 *      hosts 9e3779b9
 *      route direct
 *      encoding raw
 *      date 2026-11-21T23:50:30Z
 *      delta 1.25
 *      occupancy_us 12
 *      share_us 31.5                 only if it is not 0
 *      share_part 0.25               only if it is known
 *      piece 0 176 0.105             from_bytes start_us byte_us
 *      near 0 12 0.0006              the same within a host, if that is known
 *      combine double sum 0.001      type operation us a byte
 *      rule bcast any 8 12288 bcast.binomial 1
 *      rule bcast any 8 max bcast.circulant 8192B
 *      rule scan ordered 8 max scan.rec_doubling 1
 *      end 1c291ca3
 *
 *  A rule is: operation, operators it is for (any: nothing is combined;
 *  commutative; ordered: those that do not commute, for which only algorithms
 *  serve that keep the order of ranks), P, the greatest size in bytes, algorithm, and k: a
 *  number, the size of a segment, or `model`.  Rules of one operation,
 *  operators and P stand together, sizes ascending.  The last line has the
 *  CRC-32 of all before it, which is also the table's id. */
#include "common/coll/select.h"

/** The first word of a table. */
#define NF_COLL_RULES_MAGIC "nowfarm-collectives"

enum nf_coll_class { NF_CLASS_ANY, NF_CLASS_COMMUTATIVE, NF_CLASS_ORDERED };

/** Their names in tables. */
enum { NF_COLL_CLASSES = 3 };
extern const char *const nf_coll_class_names[NF_COLL_CLASSES];

enum nf_coll_k_rule {
    NF_K_FIXED,   /**< value is k */
    NF_K_SEGMENT, /**< value is the bytes of a segment */
    NF_K_MODEL,   /**< what the model says */
};

struct nf_coll_rule {
    enum nf_coll_op op;
    enum nf_coll_class operators;
    uint32_t ranks;
    uint64_t max_bytes; /**< UINT64_MAX: any */
    const struct nf_coll_algorithm *algorithm;
    enum nf_coll_k_rule k_rule;
    uint64_t value;
};

struct nf_coll_rules {
    struct nf_model model;
    char library[NF_MODEL_NAME_BYTES]; /**< that wrote it */
    uint32_t id;                       /**< 0: not written yet */
    size_t count, capacity;
    struct nf_coll_rule *rules; /**< by op, class, P, max_bytes */
    /** Lines of rules that this version does not know, and does not go by; they
     *  are written again.  NULL: none */
    char *unknown;
    size_t unknown_bytes;
};

void nf_coll_rules_init(struct nf_coll_rules *rules);
void nf_coll_rules_fini(struct nf_coll_rules *rules);

/** Add a rule, in place of one of the same op, class, P and max_bytes.
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_coll_rules_add(struct nf_coll_rules *rules,
                                 const struct nf_coll_rule *rule);

/** Write it as text, and set rules->id.
 *  @param text_p  to be nf_free()d; NUL-terminated
 *  @retval NF_ERR_NOMEM  @retval NF_ERR_INVAL  the model has no pieces */
enum nf_status nf_coll_rules_write(struct nf_coll_rules *rules, char **text_p,
                                   size_t *bytes_p, struct nf_error *err);

/** Read @p text.  A rule for an algorithm or operation that this version does
 *  not know, or for one that can serve no call the rule is for, is not gone by but
 *  kept, and *warning says so (else its status is NF_OK).
 *  @param rules  initialised; as before unless NF_OK is returned
 *  @param warning  always set
 *  @retval NF_ERR_INVAL  damaged: err says on which line; go by the model
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_coll_rules_read(const char *text, size_t bytes,
                                  struct nf_coll_rules *rules,
                                  struct nf_error *warning,
                                  struct nf_error *err);

/** The rule for @p query: of the same P, else of the next smaller P that has
 *  rules and is at least P/2.  O(log rules).
 *  @return NULL if there is none that serves */
const struct nf_coll_rule *
nf_coll_rules_find(const struct nf_coll_rules *rules,
                   const struct nf_coll_query *query);

/** Forget unknown rules for an operation of that name, operators of that class
 *  and that P; @p op NULL: all. */
void nf_coll_rules_forget_unknown(struct nf_coll_rules *rules, const char *op,
                                  enum nf_coll_class operators, uint32_t ranks);

/** Where a group lives that is to go by a table. */
struct nf_coll_place {
    uint32_t hosts_hash; /**< nf_model_hosts_hash(); 0: not known */
    enum nf_model_route route;
    enum nf_model_encoding encoding;
};
struct nf_coll_place nf_coll_place_of(uint32_t hosts_hash, bool direct,
                                      bool converts);
/** Were @p rules found out elsewhere, or by another version?  They serve all the
 *  same, but may not be the best.
 *  @param text_p  what differs, half a line, "tuned between other hosts, by
 *  version 0.9"; "" if nothing does
 *  @return whether something does */
bool nf_coll_rules_differ(const struct nf_coll_rules *rules,
                          const struct nf_coll_place *here, char *text_p,
                          size_t bytes);

/** The class of operators of @p query. */
enum nf_coll_class nf_coll_class_of(const struct nf_coll_query *query);
#endif
