/* What an exchange begins with: who has and gets what, and room. */
#include "config.h"
#include "slave/exchange.h"
#include <string.h>
#include "common/base/alloc.h"

static void lists_fini(struct nf_exchange_lists *lists)
{
    nf_free(lists->units);
    nf_free(lists->start);
    nf_free(lists->rank);
}

static void clear_inputs(struct nf_exchange *x)
{
    for (uint32_t i = 0;
         x->inputs && i < nf_exchange_length(&x->homes, x->rank); i++) {
        nf_pieces_fini(&x->inputs[i].pieces);
        nf_sizes_fini(&x->inputs[i].sizes);
    }
    nf_free(x->inputs);
}

static void clear_tables(struct nf_exchange *x)
{
    for (uint32_t r = 0; x->out_sizes && r < x->count; r++)
        nf_sizes_fini(&x->out_sizes[r]);
    nf_free(x->out_sizes);
    nf_free(x->out_lengths);
    nf_free(x->in_lengths);
    nf_free(x->out_table);
    nf_free(x->in_table);
    nf_free(x->readers);
}

void nf_exchange_drop_out(struct nf_exchange *x)
{
    for (uint32_t r = 0; x->out && r < x->count; r++) {
        nf_blob_unref(x->out[r]);
        x->out[r] = NULL;
    }
}

static void clear_pieces(struct nf_exchange *x)
{
    nf_exchange_drop_out(x);
    nf_free(x->out);
    for (uint32_t r = 0; x->blocks && r < x->count; r++)
        nf_blob_unref(x->blocks[r].owner);
    nf_free(x->blocks);
    nf_free(x->at_piece);
    nf_free(x->out_parts);
}

void nf_exchange_clear(struct nf_exchange *x)
{
    for (uint32_t i = 0;
         x->results && i < nf_exchange_length(&x->holders, x->rank); i++)
        nf_pieces_fini(&x->results[i]);
    nf_free(x->results);
    clear_inputs(x);
    clear_tables(x);
    clear_pieces(x);
    lists_fini(&x->holders);
    lists_fini(&x->homes);
    nf_free(x->place);
    nf_free(x->send_counts);
    nf_free(x->counts);
    nf_free(x->out_bytes);
    nf_free(x->in_bytes);
    nf_free(x->at_byte);
    memset(x, 0, sizeof(*x));
}

/* Sort units by their rank; those of nobody are left out. */
static bool make_lists(struct nf_exchange_lists *lists, const uint8_t *ranks,
                       uint64_t units, uint32_t count)
{
    lists->units = nf_calloc((size_t)units, sizeof(*lists->units));
    lists->rank = nf_calloc((size_t)units, sizeof(*lists->rank));
    lists->start = nf_calloc((size_t)count + 1, sizeof(*lists->start));
    if (lists->units == NULL || lists->rank == NULL || lists->start == NULL)
        return false;
    for (uint32_t i = 0; i < units; i++) {
        lists->rank[i] = nf_exchange_rank(ranks, i);
        if (lists->rank[i] < count)
            lists->start[lists->rank[i] + 1]++;
    }
    for (uint32_t r = 0; r < count; r++)
        lists->start[r + 1] += lists->start[r];
    /* start[r] runs to the end of r's list, and is moved back then */
    for (uint32_t i = 0; i < units; i++)
        if (lists->rank[i] < count)
            lists->units[lists->start[lists->rank[i]]++] = i;
    for (uint32_t r = count; r > 0; r--)
        lists->start[r] = lists->start[r - 1];
    lists->start[0] = 0;
    return true;
}

static bool find_places(struct nf_exchange *x)
{
    x->place = nf_calloc((size_t)x->stock->units, sizeof(*x->place));
    for (uint32_t r = 0; x->place != NULL && r < x->count; r++)
        for (uint32_t i = 0; i < nf_exchange_length(&x->homes, r); i++)
            x->place[nf_exchange_list(&x->homes, r)[i]] = i;
    return x->place != NULL;
}

/* Room for what is kept of each rank, each input, and each result. */
static bool make_room(struct nf_exchange *x)
{
    size_t n = x->count;

    x->send_counts = nf_calloc(n, sizeof(*x->send_counts));
    x->counts = nf_calloc(n, sizeof(*x->counts));
    x->out_sizes = nf_calloc(n, sizeof(*x->out_sizes));
    x->out_lengths = nf_calloc(n, sizeof(*x->out_lengths));
    x->in_lengths = nf_calloc(n, sizeof(*x->in_lengths));
    x->readers = nf_calloc(n, sizeof(*x->readers));
    x->out_bytes = nf_calloc(n, sizeof(*x->out_bytes));
    x->in_bytes = nf_calloc(n, sizeof(*x->in_bytes));
    x->at_byte = nf_calloc(n, sizeof(*x->at_byte));
    x->out_parts = nf_calloc(n, sizeof(*x->out_parts));
    x->out = nf_calloc(n, sizeof(*x->out));
    x->blocks = nf_calloc(n, sizeof(*x->blocks));
    x->at_piece = nf_calloc(n, sizeof(*x->at_piece));
    x->inputs = nf_calloc((size_t)nf_exchange_length(&x->homes, x->rank) + 1,
                          sizeof(*x->inputs));
    x->results = nf_calloc((size_t)nf_exchange_length(&x->holders, x->rank) + 1,
                           sizeof(*x->results));
    return x->send_counts && x->counts && x->out_sizes && x->out_lengths &&
           x->in_lengths && x->readers && x->out_bytes && x->in_bytes &&
           x->at_byte && x->out_parts && x->out && x->blocks &&
           x->at_piece && x->inputs && x->results;
}

/* Take references to what we give.  @return false: one of them is not here */
static bool take_results(struct nf_exchange *x)
{
    const struct nf_shelf *shelf = nf_stock_results(x->stock, x->phase);
    const uint32_t *units = nf_exchange_list(&x->holders, x->rank);

    for (uint32_t i = 0; i < nf_exchange_length(&x->holders, x->rank); i++) {
        const struct nf_pieces *result = nf_shelf_find(shelf, units[i]);

        if (result == NULL)
            return false;
        x->results[i] = nf_pieces_ref(result);
    }
    return true;
}

/* Copies of units, and what came of exchanges that failed. */
static void drop_useless(const struct nf_exchange *x)
{
    for (uint32_t i = 0; i < x->stock->units; i++) {
        if (x->holders.rank[i] != x->rank)
            nf_shelf_drop(nf_stock_results(x->stock, x->phase), i);
        if (x->homes.rank[i] != NF_GROUP_NOBODY)
            nf_shelf_drop(nf_stock_inputs(x->stock, x->phase + 1), i);
    }
}

enum nf_status nf_exchange_begin(struct nf_exchange *x,
                                 const struct nf_exchange_msg *m,
                                 struct nf_stock *stock, enum nf_type type)
{
    nf_exchange_clear(x);
    stock->room.closed = true;
    if (m->units != stock->units || m->units > UINT32_MAX / 2 ||
        stock->phases < 2 || m->phase > stock->phases - 2)
        return NF_ERR_PROTOCOL;
    x->told.round = m->round;
    x->phase = m->phase;
    x->rank = m->rank;
    x->count = m->count;
    x->stock = stock;
    x->type = type;
    if (m->count > 1 &&
        !nf_exchange_bounds_read(m->algorithms, m->count, &x->bounds))
        return NF_ERR_PROTOCOL;
    if (!make_lists(&x->holders, m->holders, m->units, m->count) ||
        !make_lists(&x->homes, m->homes, m->units, m->count) || !make_room(x) ||
        !find_places(x))
        return NF_ERR_NOMEM;
    if (!take_results(x))
        return NF_ERR_FAILED;
    drop_useless(x);
    x->stage = NF_EXCHANGE_MEET;
    return NF_OK;
}
