/* Which file descriptors the loop watches. */
#include "config.h"
#include <event2/event.h>
#include <string.h>
#include "common/base/alloc.h"
#include "master/engine_internal.h"

/* What the transport and a group want watched now, each once.
 * @param fds_p  valid until the next call
 * @return how many; 0 if out of memory */
static size_t list_fds(struct engine *e, const int **fds_p)
{
    const int *group, *net;
    size_t count = 0, ngroup = nf_gather_fds(e, &group), nnet;
    int *all;

    if (ngroup == 0)
        return nf_net_fds(e->net, fds_p);
    all = nf_realloc(e->group_fds, ngroup * sizeof(*all));
    if (all == NULL)
        return 0;
    e->group_fds = all;
    memcpy(all, group, ngroup * sizeof(*all));
    nnet = nf_net_fds(e->net, &net);
    all = nf_realloc(e->group_fds, (ngroup + nnet) * sizeof(*all));
    if (all == NULL)
        return 0;
    e->group_fds = all;
    count = ngroup;
    for (size_t i = 0; i < nnet; i++) {
        size_t k = 0;

        while (k < ngroup && all[k] != net[i])
            k++;
        if (k == ngroup)
            all[count++] = net[i];
    }
    *fds_p = all;
    return count;
}

void nf_engine_watch(struct engine *e)
{
    const int *fds;
    size_t count = list_fds(e, &fds);

    if (count == e->nwatches &&
        (count == 0 || memcmp(fds, e->watched, count * sizeof(*fds)) == 0))
        return;
    for (size_t i = 0; i < e->nwatches; i++)
        event_free(e->watches[i]);
    e->nwatches = 0;
    if (count > e->watches_capacity) {
        struct event **watches =
            nf_realloc(e->watches, count * sizeof(struct event *));
        int *watched = nf_realloc(e->watched, count * sizeof(int));

        e->watches = watches != NULL ? watches : e->watches;
        e->watched = watched != NULL ? watched : e->watched;
        if (watches == NULL || watched == NULL) {
            nf_engine_end(e, NF_ERR_NOMEM, "out of memory");
            return;
        }
        e->watches_capacity = count;
    }
    for (size_t i = 0; i < count; i++) {
        struct event *ev = event_new(e->base, fds[i], EV_READ | EV_PERSIST,
                                     nf_engine_on_readable, e);

        if (ev == NULL || event_add(ev, NULL) != 0) {
            nf_engine_end(e, NF_ERR_NOMEM, "out of memory");
            return;
        }
        e->watches[i] = ev;
        e->watched[i] = fds[i];
        e->nwatches++;
    }
}
