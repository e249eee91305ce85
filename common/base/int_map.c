/* Open addressing, at most half full.  What was dropped keeps its place until
 * the next time that room is made. */
#include "config.h"
#include "common/base/int_map.h"
#include "common/base/alloc.h"

enum { CAPACITY_LEAST = 16 };

static struct nf_int_map_place *place_of(struct nf_int_map_place *places,
                                         size_t capacity, int key)
{
    /* tids of two hosts may differ only in their first bits, and a
     * multiplication carries only upwards */
    uint32_t hash = (uint32_t)key * 2654435761u;
    size_t i = (hash ^ hash >> 15) & (capacity - 1);

    while (places[i].key != 0 && places[i].key != key)
        i = (i + 1) & (capacity - 1);
    return &places[i];
}

void nf_int_map_fini(struct nf_int_map *map)
{
    nf_free(map->places);
    *map = (struct nf_int_map){ .capacity = 0 };
}

enum nf_status nf_int_map_reserve(struct nf_int_map *map, size_t count)
{
    struct nf_int_map more = { .capacity = CAPACITY_LEAST };
    size_t held = 0;

    if (2 * (map->used + count) <= map->capacity)
        return NF_OK;
    for (size_t i = 0; i < map->capacity; i++)
        held +=
            map->places[i].key != 0 && map->places[i].value != NF_INT_MAP_NONE;
    /* as much again as it holds, else each new key could move all */
    while (more.capacity < 2 * (held + count) || more.capacity < 4 * (held + 1))
        more.capacity *= 2;
    more.places = nf_calloc(more.capacity, sizeof(*more.places));
    if (more.places == NULL)
        return NF_ERR_NOMEM;
    for (size_t i = 0; i < map->capacity; i++)
        if (map->places[i].key != 0 && map->places[i].value != NF_INT_MAP_NONE)
            *place_of(more.places, more.capacity, map->places[i].key) =
                map->places[i];
    more.used = held;
    nf_free(map->places);
    *map = more;
    return NF_OK;
}

enum nf_status nf_int_map_put(struct nf_int_map *map, int key, uint32_t value)
{
    struct nf_int_map_place *place =
        map->capacity > 0 ? place_of(map->places, map->capacity, key) : NULL;

    if (place == NULL || place->key == 0) {
        if (nf_int_map_reserve(map, 1) != NF_OK)
            return NF_ERR_NOMEM;
        place = place_of(map->places, map->capacity, key);
        map->used++;
    }
    *place = (struct nf_int_map_place){ key, value };
    return NF_OK;
}

uint32_t nf_int_map_get(const struct nf_int_map *map, int key)
{
    const struct nf_int_map_place *place;

    if (map->capacity == 0 || key == 0)
        return NF_INT_MAP_NONE;
    place = place_of(map->places, map->capacity, key);
    return place->key == key ? place->value : NF_INT_MAP_NONE;
}

void nf_int_map_drop(struct nf_int_map *map, int key)
{
    if (map->capacity > 0 && key != 0) {
        struct nf_int_map_place *place =
            place_of(map->places, map->capacity, key);

        if (place->key == key)
            place->value = NF_INT_MAP_NONE;
    }
}
