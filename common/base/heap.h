#ifndef NF_BASE_HEAP_H
#define NF_BASE_HEAP_H
/** @file heap.h  Heaps of any items in an array of the caller's: the item that
 *  goes before all others is heap[0].
 *
 *      static inline bool goes_before(const struct event *a,
 *                                     const struct event *b);
 *      NF_HEAP(events, struct event, goes_before)
 *
 *  defines
 *
 *      events_push(heap, count, item)     adds one to heap[0..count), which has
 *                                         room for it
 *      events_replace(heap, count, item)  puts one into the place of heap[0]
 *      events_pop(heap, count)            takes heap[0] away; count >= 1
 *
 *  each O(log count).  The order must be total if what comes of it is to be the
 *  same everywhere. */
#include <stddef.h>

#define NF_HEAP(name, item_type, goes_before)                                  \
    static inline void name##_push(item_type *heap, size_t count,              \
                                   item_type item)                             \
    {                                                                          \
        size_t at = count;                                                     \
                                                                               \
        for (; at > 0 && goes_before(&item, &heap[(at - 1) / 2]);              \
             at = (at - 1) / 2)                                                \
            heap[at] = heap[(at - 1) / 2];                                     \
        heap[at] = item;                                                       \
    }                                                                          \
                                                                               \
    static inline void name##_replace(item_type *heap, size_t count,           \
                                      item_type item)                          \
    {                                                                          \
        size_t at = 0;                                                         \
                                                                               \
        for (size_t next = 1; next < count; next = 2 * at + 1) {               \
            if (next + 1 < count && goes_before(&heap[next + 1], &heap[next])) \
                next++;                                                        \
            if (!goes_before(&heap[next], &item))                              \
                break;                                                         \
            heap[at] = heap[next];                                             \
            at = next;                                                         \
        }                                                                      \
        heap[at] = item;                                                       \
    }                                                                          \
                                                                               \
    static inline                                                              \
        __attribute__((unused)) void name##_pop(item_type *heap, size_t count) \
    {                                                                          \
        if (count > 1)                                                         \
            name##_replace(heap, count - 1, heap[count - 1]);                  \
    }
#endif
