/* Gathered results, handed to the application. */
#include "config.h"
#include <inttypes.h>
#include "master/engine_internal.h"

static enum nf_status collect_member(struct engine *e,
                                     const struct gather_member *m,
                                     const uint8_t *data)
{
    struct nf_layout layout = { m->unit_bytes, m->sizes };
    enum nf_status status = NF_OK;
    uint64_t i = 0;

    for (uint64_t r = 0; r < m->nranges; r++)
        for (uint64_t k = 0; k < m->ranges[2 * r + 1] && status == NF_OK;
             k++, i++) {
            uint64_t unit = m->ranges[2 * r] + k;
            size_t bytes = (size_t)nf_layout_unit_bytes(&layout, i);

            /* all in one go: a holder that was lost in between would have
             * units computed again that the application has already */
            if (!nf_members_keep_company(e))
                return NF_ERR_INTERRUPTED;
            status = e->app->collect(e->app->user, unit, data, bytes);
            data += bytes;
            if (status != NF_OK)
                nf_engine_end(e, NF_ERR_FAILED,
                              "result of unit %" PRIu64 ": %s", unit,
                              nf_strerror(status));
        }
    return status;
}

enum nf_status nf_gather_collect(struct engine *e)
{
    struct gather *g = &e->gather;
    const uint8_t *data = g->data;
    uint64_t units = 0;
    enum nf_status status = NF_OK;

    for (uint32_t i = 0; i < g->nmembers && status == NF_OK; i++) {
        units += g->members[i].units;
        if (!e->combine && e->app->collect != NULL)
            status = collect_member(e, &g->members[i], data);
        data += e->combine ? 0 : g->members[i].bytes;
    }
    if (!e->combine)
        return status;
    /* behind the vector there is room: our own contribution */
    if (!nf_reducer_unpack(&g->reducer, g->data,
                           g->data + nf_reducer_vector_bytes(&g->reducer)))
        status = NF_ERR_FAILED;
    else if (e->app->collect_combined != NULL)
        status = e->app->collect_combined(
            e->app->user, g->data + nf_reducer_vector_bytes(&g->reducer),
            g->reducer.bytes, units);
    if (status != NF_OK)
        nf_engine_end(e, NF_ERR_FAILED, "combined result: %s",
                      nf_strerror(status));
    return status;
}
