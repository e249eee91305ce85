/* The store of pieces. */
#include "config.h"
#include "slave/pieces.h"
#include <string.h>
#include "common/base/alloc.h"

enum { SHELF_FIRST = 8 };

void nf_pieces_fini(struct nf_pieces *pieces)
{
    nf_blob_unref(pieces->data);
    nf_blob_unref(pieces->sizes);
    pieces->data = pieces->sizes = NULL;
}

struct nf_pieces nf_pieces_ref(const struct nf_pieces *pieces)
{
    return (struct nf_pieces){ nf_blob_ref(pieces->data),
                               nf_blob_ref(pieces->sizes), pieces->round };
}

struct nf_pieces_walk nf_pieces_walk(const struct nf_pieces *result,
                                     uint64_t units)
{
    return (struct nf_pieces_walk){
        .reader = nf_sizes_read(result->sizes->data, result->sizes->bytes),
        .units = units,
    };
}

bool nf_pieces_next(struct nf_pieces_walk *walk, uint64_t *unit_p,
                    uint64_t *at_p)
{
    while (walk->left == 0 || walk->bytes == 0) {
        walk->unit += walk->left;
        walk->left = nf_sizes_next(&walk->reader, walk->units - walk->unit,
                                   &walk->bytes);
        if (walk->left == 0)
            return false; /* there are no more units */
    }
    *unit_p = walk->unit++;
    *at_p = walk->at;
    walk->at += walk->bytes;
    walk->left--;
    return true;
}

/* ------------------------------------------------------------------ shelves */

/* @return where the unit is, or belongs */
static size_t place_of(const struct nf_shelf *shelf, uint64_t unit)
{
    size_t low = 0, high = shelf->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (shelf->list[middle].unit < unit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct nf_shelf *shelf, size_t place, uint64_t unit)
{
    return place < shelf->count && shelf->list[place].unit == unit;
}

const struct nf_pieces *nf_shelf_find(const struct nf_shelf *shelf,
                                      uint64_t unit)
{
    size_t place = place_of(shelf, unit);

    return is_at(shelf, place, unit) ? &shelf->list[place].pieces : NULL;
}

static enum nf_status make_place(struct nf_shelf *shelf, size_t place,
                                 uint64_t unit)
{
    struct nf_shelf_unit *list = shelf->list;

    if (shelf->count == shelf->capacity) {
        size_t capacity =
            shelf->capacity == 0 ? SHELF_FIRST : 2 * shelf->capacity;

        list = nf_realloc(list, capacity * sizeof(*list));
        if (list == NULL)
            return NF_ERR_NOMEM;
        shelf->list = list;
        shelf->capacity = capacity;
    }
    memmove(&list[place + 1], &list[place],
            (shelf->count - place) * sizeof(*list));
    list[place] = (struct nf_shelf_unit){ .unit = unit };
    shelf->count++;
    return NF_OK;
}

enum nf_status nf_shelf_put(struct nf_shelf *shelf, uint64_t unit,
                            const struct nf_pieces *pieces)
{
    size_t place = place_of(shelf, unit);
    struct nf_pieces mine;

    if (!is_at(shelf, place, unit) && make_place(shelf, place, unit) != NF_OK)
        return NF_ERR_NOMEM;
    mine = nf_pieces_ref(pieces);
    nf_pieces_fini(&shelf->list[place].pieces);
    shelf->list[place].pieces = mine;
    return NF_OK;
}

static void shelf_clear(struct nf_shelf *shelf)
{
    for (size_t i = 0; i < shelf->count; i++)
        nf_pieces_fini(&shelf->list[i].pieces);
    nf_free(shelf->list);
    *shelf = (struct nf_shelf){ .count = 0 };
}

void nf_shelf_drop(struct nf_shelf *shelf, uint64_t unit)
{
    size_t place = place_of(shelf, unit);

    if (!is_at(shelf, place, unit))
        return;
    nf_pieces_fini(&shelf->list[place].pieces);
    shelf->count--;
    memmove(&shelf->list[place], &shelf->list[place + 1],
            (shelf->count - place) * sizeof(*shelf->list));
    if (shelf->count == 0)
        shelf_clear(shelf);
}

/* -------------------------------------------------------------------- stock */

static size_t count_of(const struct nf_stock *stock)
{
    return stock->phases == 0 ? 0 : stock->phases - 1;
}

enum nf_status nf_stock_init(struct nf_stock *stock, uint32_t phases,
                             uint64_t units)
{
    size_t count;

    stock->phases = phases;
    stock->units = units;
    count = count_of(stock) + 1;
    stock->results = nf_calloc(count, sizeof(*stock->results));
    stock->inputs = nf_calloc(count, sizeof(*stock->inputs));
    if (stock->results != NULL && stock->inputs != NULL)
        return NF_OK;
    nf_free(stock->results);
    nf_free(stock->inputs);
    *stock = (struct nf_stock){ 0 };
    return NF_ERR_NOMEM;
}

void nf_stock_clear(struct nf_stock *stock)
{
    for (size_t i = 0; i < count_of(stock); i++) {
        shelf_clear(&stock->results[i]);
        shelf_clear(&stock->inputs[i]);
    }
}

void nf_stock_fini(struct nf_stock *stock)
{
    nf_stock_clear(stock);
    nf_free(stock->results);
    nf_free(stock->inputs);
    *stock = (struct nf_stock){ 0 };
}

struct nf_shelf *nf_stock_results(const struct nf_stock *stock, uint32_t phase)
{
    return &stock->results[phase];
}

struct nf_shelf *nf_stock_inputs(const struct nf_stock *stock, uint32_t phase)
{
    return &stock->inputs[phase - 1];
}
