/* Numbers to indices: slaves and leases of a trace. */
#include "config.h"
#include "common/base/alloc.h"
#include "common/trace/history_impl.h"

/* splitmix64's mixer: leases are counters, and somebody else's. */
static size_t place(const struct nf_history_map *map, uint64_t key)
{
    key = (key ^ key >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    key = (key ^ key >> 27) * UINT64_C(0x94d049bb133111eb);
    return (size_t)(key ^ key >> 31) & (map->size - 1);
}

static size_t find_place(const struct nf_history_map *map, uint64_t key)
{
    size_t at = place(map, key);

    while (map->values[at] != NF_HISTORY_NONE && map->keys[at] != key)
        at = (at + 1) & (map->size - 1);
    return at;
}

uint32_t nf_history_map_find(const struct nf_history_map *map, uint64_t key)
{
    return map->size == 0 ? NF_HISTORY_NONE : map->values[find_place(map, key)];
}

static bool grow(struct nf_history_map *map)
{
    struct nf_history_map more = { .size = map->size ? 2 * map->size : 64 };

    more.keys = nf_malloc(more.size * sizeof(*more.keys));
    more.values = nf_malloc(more.size * sizeof(*more.values));
    if (more.keys == NULL || more.values == NULL) {
        nf_history_map_fini(&more);
        return false;
    }
    for (size_t i = 0; i < more.size; i++)
        more.values[i] = NF_HISTORY_NONE;
    for (size_t i = 0; i < map->size; i++)
        if (map->values[i] != NF_HISTORY_NONE)
            (void)nf_history_map_add(&more, map->keys[i], map->values[i]);
    nf_history_map_fini(map);
    *map = more;
    return true;
}

bool nf_history_map_add(struct nf_history_map *map, uint64_t key,
                        uint32_t value)
{
    size_t at;

    if (2 * (map->used + 1) > map->size && !grow(map))
        return false;
    at = find_place(map, key);
    map->keys[at] = key;
    map->values[at] = value;
    map->used++;
    return true;
}

void nf_history_map_fini(struct nf_history_map *map)
{
    nf_free(map->keys);
    nf_free(map->values);
    *map = (struct nf_history_map){ NULL, NULL, 0, 0 };
}
