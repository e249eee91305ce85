#ifndef NF_TREE_LEAST_COUNT_H
#define NF_TREE_LEAST_COUNT_H
/** @file least_count.h  In how many segments a message takes the least, where
 *  each time costs something to find out.  Pure.
 *
 *  In k segments a broadcast takes about
 *      a + b k + c / k,    b: what each costs however short, c: bytes that wait
 *  which is least at sqrt(c / b).  So three times say where to look, and then
 *  it is between neighbours, as curves and whole bytes are not that smooth. */
#include <stdint.h>
#include "nowfarm.h"

/** The time in @p segments segments.  @retval NF_ERR_NOMEM */
typedef enum nf_status nf_time_in_fn(void *context, uint64_t segments,
                                     double *time_us_p);

enum { NF_COUNT_ASKS_MAX = 24 };

struct nf_count_range {
    uint64_t least, most; /**< segments to look at, 1 <= least <= most */
    uint64_t known;       /**< least..most: one whose time is known */
    double known_us;
    uint32_t asks; /**< times to ask for, 3..NF_COUNT_ASKS_MAX; if the range
                        has no more numbers, all are asked for */
};

/** The best number of those asked for and the known one.
 *  @param count_p, time_us_p  the known ones if nothing is faster
 *  @return what @p time_in returned if that was an error, else NF_OK */
enum nf_status nf_least_count(const struct nf_count_range *range,
                              nf_time_in_fn *time_in, void *context,
                              uint64_t *count_p, double *time_us_p);
#endif
