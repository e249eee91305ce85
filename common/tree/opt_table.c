#include "config.h"
#include "common/tree/opt_table.h"
#include "common/base/alloc.h"

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static void fill(int64_t *restrict time, uint32_t *restrict keep,
                 uint32_t nodes, int64_t hold, int64_t end)
{
    uint32_t p = 1;

    time[0] = time[1] = 0;
    keep[0] = keep[1] = 0;
    if (nodes < 2)
        return;
    time[2] = end;
    keep[2] = 1;
    for (uint32_t i = 3; i <= nodes; i++) {
        int64_t same = larger(p > 1 ? time[p] + hold : 0, time[i - p] + end);
        int64_t more = larger(time[p + 1] + hold, time[i - 1 - p] + end);

        /* of equal ones the larger: others are as fast, but the tree would not
         * be the paper's, nor twice what is kept at least i */
        p += same >= more;
        time[i] = same < more ? same : more;
        keep[i] = p;
    }
}

enum nf_status nf_opt_table_init(struct nf_opt_table *table_p, uint32_t nodes,
                                 int64_t hold, int64_t end)
{
    size_t places = (size_t)nodes + 1;
    size_t bytes = places * (sizeof(*table_p->time) + sizeof(*table_p->keep));
    size_t over = bytes % NF_LARGE_BYTES;

    /* whole large pages: most of the time of a long table is that of its memory */
    if (bytes > NF_LARGE_BYTES && over != 0)
        bytes += NF_LARGE_BYTES - over;
    *table_p = (struct nf_opt_table){ .nodes = nodes,
                                      .time = nf_large_alloc(bytes) };
    if (table_p->time == NULL)
        return NF_ERR_NOMEM;
    table_p->keep = (uint32_t *)(table_p->time + places);
    nf_opt_table_set(table_p, hold, end);
    return NF_OK;
}

void nf_opt_table_set(struct nf_opt_table *table, int64_t hold, int64_t end)
{
    fill(table->time, table->keep, table->nodes, hold, end);
}

void nf_opt_table_fini(struct nf_opt_table *table)
{
    nf_free(table->time);
    *table = (struct nf_opt_table){ .nodes = 0 };
}
