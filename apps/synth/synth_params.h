#ifndef NF_APPS_SYNTH_PARAMS_H
#define NF_APPS_SYNTH_PARAMS_H
/** @file synth_params.h  What master and slaves of a synthetic job agree on:
 *  the parameters, how they travel, and the bytes that every unit must have.
 *  Pure: no I/O, no clock. */
#include <stdbool.h>
#include "nowfarm.h"

/** What a faulty unit does to the slave that computes it. */
enum nf_synth_fault_kind {
    NF_SYNTH_KILL,  /**< SIGKILL its own process */
    NF_SYNTH_EXIT,  /**< exit(3) its own process */
    NF_SYNTH_STOP,  /**< SIGSTOP its own process */
    NF_SYNTH_ERROR, /**< return an error */
    NF_SYNTH_HANG,  /**< never return */
    NF_SYNTH_WRONG, /**< return a result of which one byte is wrong */
    NF_SYNTH_NKINDS,
};

/** @return "kill" ...; never NULL for a valid @p kind */
const char *nf_synth_fault_name(enum nf_synth_fault_kind kind);

struct nf_synth_fault {
    uint64_t unit;
    enum nf_synth_fault_kind kind;
    bool once; /**< only the first time that anyone tries it */
};

/** --combine: what results are, and which of nowfarm's operators combines them.
 */
enum nf_synth_combine {
    NF_SYNTH_OWN,       /**< not given: bytes, and nf_synth_add() */
    NF_SYNTH_SUM,       /**< of numbers, modulo 2^64 */
    NF_SYNTH_MIN,       /**< of numbers with a sign */
    NF_SYNTH_MAX,       /**< likewise */
    NF_SYNTH_HISTOGRAM, /**< counts of values, added */
    NF_SYNTH_NCOMBINES,
};

/** At most this many --fault entries, and bytes of a --fault-dir. */
#define NF_SYNTH_MAX_FAULTS 64
#define NF_SYNTH_DIR_BYTES  1024

struct nf_synth_params {
    uint64_t seed;
    int64_t cost_us; /**< of one unit, 0 .. 10^15 */
    double spread;   /**< 0..1: costs are cost_us * (1 +- spread) */
    uint64_t in_bytes, result_bytes; /**< of one unit */
    uint64_t shared_bytes;           /**< of the pattern behind the header */
    bool spin, chatty;
    enum nf_synth_combine combine;
    uint32_t nfaults;
    struct nf_synth_fault faults[NF_SYNTH_MAX_FAULTS];
    char fault_dir[NF_SYNTH_DIR_BYTES]; /**< "": none */
};

/** The three pieces of data of a job; each has a pattern of its own. */
enum nf_synth_pattern { NF_SYNTH_IN, NF_SYNTH_RESULT, NF_SYNTH_SHARED };

/** Fill data[0..bytes) with what @p unit must have there (unit 0 for shared
 *  data).  Neither shifted, swapped nor stale bytes match.  O(bytes) */
void nf_synth_fill(uint64_t seed, enum nf_synth_pattern pattern, uint64_t unit,
                   void *data, size_t bytes);
/** @return the offset of the first byte of data[0..bytes) that is not what
 *          nf_synth_fill() puts there; @p bytes if all are right */
size_t nf_synth_check(uint64_t seed, enum nf_synth_pattern pattern,
                      uint64_t unit, const void *data, size_t bytes);

/** @return word @p i of what result numbers of @p unit are made of */
uint64_t nf_synth_word(uint64_t seed, uint64_t unit, uint64_t i);

/** @return the cost of @p unit in microseconds; a function of seed and unit
 *          only, so that every policy meets the same units */
int64_t nf_synth_cost_us(const struct nf_synth_params *params, uint64_t unit);

/** @return the fault of @p unit, or NULL */
const struct nf_synth_fault *
nf_synth_find_fault(const struct nf_synth_params *params, uint64_t unit);

/** Parse "UNIT:KIND[,UNIT:KIND...]", KIND one of nf_synth_fault_name(), with
 *  "-once" behind it if it shall happen only once; appends to params->faults.
 *  @retval NF_ERR_INVAL  @p err says which entry, and what would be right */
enum nf_status nf_synth_parse_faults(const char *text,
                                     struct nf_synth_params *params,
                                     struct nf_error *err);

/** @retval NF_ERR_INVAL  @p text is no operator */
enum nf_status nf_synth_parse_combine(const char *text,
                                      enum nf_synth_combine *combine_p,
                                      struct nf_error *err);
/** @retval NF_ERR_INVAL  results are no whole numbers of 8 bytes */
enum nf_status nf_synth_check_combine(const struct nf_synth_params *params,
                                      struct nf_error *err);
/** Fill to[0..params->result_bytes) with the result of @p unit, if
 *  params->combine is given: numbers of 8 bytes, in this machine's order. */
void nf_synth_numbers(const struct nf_synth_params *params, uint64_t unit,
                      void *to);
/** inout := inout combined with in, both such results: the serial way. */
void nf_synth_fold(const struct nf_synth_params *params, void *inout,
                   const void *in);
/** @return the kernel whose results are combined so; NULL: the usual one */
const struct nf_app *nf_synth_kernel(enum nf_synth_combine combine);
/** All of these, then NULL. */
extern const struct nf_app *const nf_synth_kernels[];

/** Append the parameters and then the shared pattern: a little-endian block
 *  that is the same on every machine.
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_synth_encode(const struct nf_synth_params *params,
                               struct nf_buf *buf);
/** Read back what nf_synth_encode() wrote; every length is checked.
 *  @param header_bytes_p  where the shared pattern begins
 *  @retval NF_ERR_PROTOCOL  not such a block; outputs are then undefined */
enum nf_status nf_synth_decode(const void *data, size_t bytes,
                               struct nf_synth_params *params_p,
                               size_t *header_bytes_p);

/** The kernel: compute() of apps/app.h's "synth". */
int nf_synth_compute(const struct nf_work *work);

/** inout[i] := inout[i] + in[i] modulo 256: how results are combined. */
void nf_synth_add(void *inout, const void *in, size_t bytes);
#endif
