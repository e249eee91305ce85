#ifndef NF_TESTS_UNIT_MESH_LENDING_H
#define NF_TESTS_UNIT_MESH_LENDING_H
/** @file mesh_lending.h  What scenes have in common in which payloads are read from their
 *  sender's memory.  Where the system does not allow that there is nothing to play. */
#include "tests/unit/mesh_play.h"

/** More than is read in one go. */
enum { LENT_BYTES = (20 << 20) + 8 };

bool can_read(void);
/** A mesh of all tasks, that lend to each other. */
struct nf_mesh *open_lending(void);
/** It must be this word, with a payload of LENT_BYTES, or, if @p parts > 0, a chain of
 *  so many of @p whole. */
void hear_payload(struct nf_mesh *mesh, uint32_t word,
                  const struct nf_blob *whole, uint32_t parts);

/** Where a payload is to be read to. */
extern struct mesh_ground {
    uint8_t bytes[LENT_BYTES];
    uint8_t *to;
    int asked, most; /**< from which time on it is not there any more */
} ground;
/** nf_mesh_landing.find, of self = &ground. */
uint8_t *find_ground(void *self, uint32_t member, const uint8_t *head,
                     size_t head_bytes, size_t bytes);
#endif
