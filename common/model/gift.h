#ifndef NF_MODEL_GIFT_H
#define NF_MODEL_GIFT_H
/** @file gift.h  Who is to bring data to one that comes late, of those that
 * have it?  Pure.
 *
 *  One of the same host, as that takes no wire.  Else whoever the measured
 *  network says will be done first: what its host is giving already leaves
 *  before it, so g gifts from host i take
 *      g * H_i + T(i, j)
 *  Hosts that were not measured come after all others.  Without a network, and
 *  of equal ones: whoever's host gives to the fewest. */
#include <stdbool.h>
#include <stdint.h>

struct nf_network;

struct nf_gift {
    bool is_near;   /**< on the same host */
    double us;      /**< predicted; INFINITY: nothing is known */
    uint32_t gifts; /**< that its host is giving to others */
};

/** When a gift of @p bytes to host @p to of @p network, NULL if there is none,
 *  is there.  @param from, to  numbers there; nhosts: it was not measured
 *  @return INFINITY: that is not known, or they are one host */
double nf_gift_us(const struct nf_network *network, uint32_t from, uint32_t to,
                  uint32_t gifts, double bytes);

/** Is @p one better than @p other?  Not if they are equal. */
bool nf_gift_is_better(const struct nf_gift *one, const struct nf_gift *other);
#endif
