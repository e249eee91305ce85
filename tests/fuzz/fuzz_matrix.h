#ifndef NF_FUZZ_MATRIX_H
#define NF_FUZZ_MATRIX_H
/** @file fuzz_matrix.h  The readers of matrix files, fed with any bytes. */
#include <stddef.h>
#include <stdint.h>

/** Aborts if a reader accepts what it must not, or reports an error badly.
 *  @return 0 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/** How many inputs were good matrices so far: a fuzzer that never gets past
 *  the header tests nothing. */
extern unsigned long nf_fuzz_read_well;
#endif
