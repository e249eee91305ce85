#include "config.h"
#include "apps/bands.h"

uint64_t nf_band_begin(uint64_t count, uint64_t bands, uint64_t band)
{
    uint64_t rest = count % bands;

    return count / bands * band + (band < rest ? band : rest);
}
