#ifndef NF_TESTS_UNIT_COLL_EXCHANGE_H
#define NF_TESTS_UNIT_COLL_EXCHANGE_H
/* What the tests of all-to-all share: the goldens, and schedules that are made
 * and measured. */
#include <jansson.h>
#include <stdbool.h>
#include "common/coll/torus.h"

/* tests/golden/alltoall.json, between the beginning and end of a suite. */
extern json_t *golden;
int load_golden(void);
int unload_golden(void);
/* A member of an object, with a line if it is no integer. */
json_int_t number(const json_t *object, const char *key);
struct nf_coll_sides sides_of(const json_t *array);

/* Radices 2, as many as such ranks need. */
struct nf_coll_sides radices_2(uint64_t ranks);
/* The schedule on that shape; the radices are those of alltoall.mixed.
 * @return false with a line */
bool make_exchange(const char *name, const struct nf_coll_sides *shape,
                   const struct nf_coll_sides *radices, struct nf_schedule *s);
/* Made, checked and measured.  @return false with a line */
bool is_right(const char *name, const struct nf_coll_args *args,
              struct nf_torus_load *load_p);
/* got == want, or a line. */
bool is(const char *what, const char *name, uint64_t got, json_int_t want);
#endif
