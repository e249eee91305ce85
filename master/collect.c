/* Gathered results, handed to the application. */
#include "config.h"
#include <inttypes.h>
#include "common/base/clock.h"
#include "master/engine_internal.h"

/* Slaves hear of us this often while the application takes its time. */
enum { PING_EVERY_US = 250000 };

/* All is handed over in one go: a holder that was lost in between would have
 * units computed again that the application has already.
 * @return false: it is to end here */
static bool may_go_on(struct engine *e, int64_t *pinged_us)
{
    int64_t now_us = nf_now_us();

    if (nf_engine_stop_asked(e))
        return false;
    if (now_us - *pinged_us >= PING_EVERY_US) {
        *pinged_us = now_us;
        nf_members_ping(e, now_us);
    }
    return true;
}

static enum nf_status collect_member(struct engine *e,
                                     const struct gather_member *m,
                                     const uint8_t *data, int64_t *pinged_us)
{
    struct nf_layout layout = { m->unit_bytes, m->sizes };
    enum nf_status status = NF_OK;
    uint64_t i = 0;

    for (uint64_t r = 0; r < m->nranges; r++)
        for (uint64_t k = 0; k < m->ranges[2 * r + 1] && status == NF_OK;
             k++, i++) {
            uint64_t unit = m->ranges[2 * r] + k;
            size_t bytes = (size_t)nf_layout_unit_bytes(&layout, i);

            if (!may_go_on(e, pinged_us))
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
    int64_t pinged_us = nf_now_us();
    enum nf_status status = NF_OK;

    for (uint32_t i = 0; i < g->nmembers && status == NF_OK; i++) {
        units += g->members[i].units;
        if (!e->combine && e->app->collect != NULL)
            status = collect_member(e, &g->members[i], data, &pinged_us);
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
