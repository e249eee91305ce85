#ifndef NF_BASE_INT_MAP_H
#define NF_BASE_INT_MAP_H
/** @file int_map.h  A small number for each of many keys, found in O(1).
 *
 *  Zeroed memory is an empty map.  Dropping a key takes no memory and moves
 *  nothing, so it may be done while somebody goes through the places. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/base/error.h"

/** No value: of keys that are not in the map. */
#define NF_INT_MAP_NONE UINT32_MAX

struct nf_int_map {
    struct nf_int_map_place {
        int key;        /**< 0: free */
        uint32_t value; /**< NF_INT_MAP_NONE: was dropped */
    } * places;         /**< [capacity], to go through; a power of 2 */
    size_t capacity, used;
};

void nf_int_map_fini(struct nf_int_map *map);
/** Let @p count keys that are not in it find room without more memory.  It
 *  forgets what was dropped.  O(capacity)
 *  @retval NF_ERR_NOMEM  nothing has changed */
enum nf_status nf_int_map_reserve(struct nf_int_map *map, size_t count);
/** @param key    not 0
 *  @param value  not NF_INT_MAP_NONE; replaces the one that it had
 *  @retval NF_ERR_NOMEM  nothing has changed */
enum nf_status nf_int_map_put(struct nf_int_map *map, int key, uint32_t value);
/** @return its value, or NF_INT_MAP_NONE */
uint32_t nf_int_map_get(const struct nf_int_map *map, int key);
void nf_int_map_drop(struct nf_int_map *map, int key);
#endif
