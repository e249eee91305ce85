#ifndef NF_BASE_UNITS_H
#define NF_BASE_UNITS_H
/** @file units.h  Numbers as users write them.  A unit of measure must be
 *  spelled: "100ms", "1MiB"; the whole text must be consumed. */
#include "nowfarm.h"

/** Parse a plain decimal count, lo <= *value_p <= hi; no sign, no spaces.
 *  @retval NF_ERR_INVAL  not a number    @retval NF_ERR_RANGE  out of range */
enum nf_status nf_parse_count(const char *text, uint64_t lo, uint64_t hi,
                              uint64_t *value_p);
/** Parse a time, "1.5s", "100ms", "20us", "2min", "1h": a non-negative decimal
 *  number and its unit, rounded to the nearest microsecond; at most 10^9 s.
 *  "0" needs no unit.
 *  @retval NF_ERR_INVAL  no number, or no (known) unit
 *  @retval NF_ERR_RANGE  negative or too big */
enum nf_status nf_parse_time_us(const char *text, int64_t *time_us_p);
/** Parse a size: "4096B", "64KiB", "1MiB", "2GiB", "1TiB", or powers of ten
 *  "1kB", "1MB", "1GB".  Errors as above. */
enum nf_status nf_parse_bytes(const char *text, uint64_t *bytes_p);
/** Parse the rate of a link in bits per second: "9600bit", "64kbit", "100mbit",
 *  "1gbit" (powers of ten), 8kbit to 100gbit.  Errors as above. */
enum nf_status nf_parse_rate_bps(const char *text, uint64_t *rate_bps_p);
/** Parse a finite decimal number; no NaN, infinity or hexadecimal. */
enum nf_status nf_parse_real(const char *text, double lo, double hi,
                             double *value_p);
/** Print a time for people into text[0..bytes): "1.50 s", "20 us".
 *  @return text */
const char *nf_format_time_us(int64_t time_us, char *text, size_t bytes);
/** Print a size for people: "64.0 KiB".  @return text */
const char *nf_format_bytes(uint64_t size_bytes, char *text, size_t bytes);
/** Print a rate as nf_parse_rate_bps() reads it: "100mbit".  @return text */
const char *nf_format_rate_bps(uint64_t rate_bps, char *text, size_t bytes);
#endif
