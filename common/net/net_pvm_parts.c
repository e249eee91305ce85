/* The books of the PVM transport: peers by task, hosts, events kept for later.
 */
#include "config.h"
#include "common/net/net_pvm_parts.h"
#include <stdio.h>
#include <string.h>
#include "common/base/alloc.h"

enum nf_status nf_net_pvm_grow(void **array, uint32_t *capacity, size_t bytes)
{
    uint32_t more = *capacity == 0 ? 16 : *capacity * 2;
    void *block = nf_realloc(*array, more * bytes);

    if (block == NULL)
        return NF_ERR_NOMEM;
    *array = block;
    *capacity = more;
    return NF_OK;
}

static uint32_t slot_of(const struct net_pvm *n, int tid)
{
    uint32_t i = (uint32_t)tid * 2654435761u;

    for (i &= n->map_capacity - 1; n->map[i] != 0;
         i = (i + 1) & (n->map_capacity - 1))
        if (n->peers[n->map[i] - 1].tid == tid)
            break;
    return i;
}

struct peer *nf_net_pvm_find_peer(const struct net_pvm *n, int tid)
{
    uint32_t entry = n->map_capacity > 0 ? n->map[slot_of(n, tid)] : 0;

    return entry > 0 ? &n->peers[entry - 1] : NULL;
}

enum nf_status nf_net_pvm_enter(struct net_pvm *n, uint32_t peer)
{
    if (2 * (peer + 1) > n->map_capacity) {
        uint32_t capacity = n->map_capacity == 0 ? 64 : n->map_capacity * 2;
        uint32_t *map = nf_calloc(capacity, sizeof(*map));

        if (map == NULL)
            return NF_ERR_NOMEM;
        nf_free(n->map);
        n->map = map;
        n->map_capacity = capacity;
        for (uint32_t i = 0; i < peer; i++)
            map[slot_of(n, n->peers[i].tid)] = i + 1;
    }
    n->map[slot_of(n, n->peers[peer].tid)] = peer + 1;
    return NF_OK;
}

const struct nf_pvm_host *nf_net_pvm_host_of(const struct net_pvm *n, int tid)
{
    int host = nf_pvm_host_of(tid);

    for (size_t i = 0; i < n->nhosts; i++)
        if (n->hosts[i].tid == host)
            return &n->hosts[i];
    return NULL;
}

bool nf_net_pvm_has_host(const struct net_pvm *n, const char *host)
{
    for (size_t i = 0; i < n->nhosts; i++)
        if (strcmp(n->hosts[i].name, host) == 0)
            return true;
    return false;
}

enum nf_status nf_net_pvm_read_hosts(struct net_pvm *n)
{
    struct nf_pvm_host *hosts;
    size_t count;
    const struct nf_pvm_host *here;
    enum nf_status status = nf_pvm_hosts(&hosts, &count);

    if (status != NF_OK)
        return status;
    nf_free(n->hosts);
    n->hosts = hosts;
    n->nhosts = count;
    here = nf_net_pvm_host_of(n, n->tid);
    if (here != NULL) {
        n->format = here->format;
        snprintf(n->here, sizeof(n->here), "%s", here->name);
    }
    return NF_OK;
}

/* Keep an event for a later call. */
struct nf_net_event *nf_net_pvm_post(struct net_pvm *n,
                                     enum nf_net_event_kind kind,
                                     const char *host, const char *text)
{
    struct pending *p = nf_calloc(1, sizeof(*p));

    if (p == NULL)
        return NULL; /* notices may be lost when memory is; never results */
    p->host = host != NULL ? nf_strdup(host) : NULL;
    p->text = text != NULL ? nf_strdup(text) : NULL;
    p->event.kind = kind;
    p->event.peer = NF_NO_PEER;
    p->event.host = p->host;
    p->event.text = p->text != NULL ? p->text : "";
    if (n->last != NULL)
        n->last->next = p;
    else
        n->first = p;
    n->last = p;
    return &p->event;
}

void nf_net_pvm_free_pending(struct pending *p)
{
    if (p == NULL)
        return;
    nf_free(p->host);
    nf_free(p->text);
    nf_free(p);
}

void nf_net_pvm_take_new_hosts(struct net_pvm *n)
{
    struct nf_pvm_host *old = n->hosts;
    size_t nold = n->nhosts;

    n->hosts = NULL;
    if (nf_net_pvm_read_hosts(n) != NF_OK) {
        n->hosts = old;
        return;
    }
    for (size_t i = 0; i < n->nhosts && !n->own_hosts; i++) {
        bool known = false;

        for (size_t k = 0; k < nold && !known; k++)
            known = old[k].tid == n->hosts[i].tid;
        if (!known)
            nf_net_pvm_post(n, NF_NET_HOST_UP, n->hosts[i].name, NULL);
    }
    nf_free(old);
    nf_pvm_notify_hosts();
}

void nf_net_pvm_forget_host(struct net_pvm *n, int tid)
{
    for (size_t i = 0; i < n->nhosts; i++) {
        if (n->hosts[i].tid != tid)
            continue;
        nf_net_pvm_post(n, NF_NET_HOST_FAILED, n->hosts[i].name,
                        "it left the virtual machine");
        n->hosts[i] = n->hosts[--n->nhosts];
        return;
    }
}
