#ifndef NF_APPS_BANDS_H
#define NF_APPS_BANDS_H
/** @file bands.h  Rows or columns in bands, as applications cut them. */
#include <stdint.h>

/** @return where band @p band of @p bands of @p count rows or columns begins;
 *  bands are as equal as they can be, and may be empty */
uint64_t nf_band_begin(uint64_t count, uint64_t bands, uint64_t band);
#endif
