/* Greedy choice among all pairs.  A pair's key only grows as senders become
 * busy and receivers fewer, so what was computed once is a lower bound: only
 * the least one needs to be looked at again, until it is what it was. */
#include "config.h"
#include "common/tree/greedy.h"
#include <math.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/tree/make.h"

enum nf_status nf_greedy_room_init(struct nf_greedy_room *room_p,
                                   uint32_t nodes)
{
    *room_p = (struct nf_greedy_room){ .nodes = nodes };
    room_p->start_us = nf_calloc(nodes, sizeof(double));
    room_p->total_us = nf_calloc(nodes, sizeof(double));
    room_p->other_us = nf_calloc(nodes, sizeof(double));
    room_p->free_us = nf_calloc(nodes, sizeof(double));
    room_p->port_sum_us = nf_calloc(nodes, sizeof(double));
    room_p->reach_us = nf_calloc(nodes, sizeof(double));
    room_p->slowest_us = nf_calloc(nodes, sizeof(double));
    room_p->degree = nf_calloc(nodes, sizeof(uint32_t));
    room_p->key_us = nf_calloc(nodes, sizeof(double));
    room_p->ahead_us = nf_calloc(nodes, sizeof(double));
    room_p->from = nf_calloc(nodes, sizeof(uint32_t));
    room_p->seen = nf_calloc(nodes, sizeof(uint32_t));
    room_p->near = nf_calloc(nodes, sizeof(uint32_t));
    room_p->left = nf_calloc(nodes, sizeof(uint32_t));
    room_p->heap.items = nf_calloc(nodes, sizeof(*room_p->heap.items));
    if (room_p->start_us != NULL && room_p->other_us != NULL &&
        room_p->total_us != NULL && room_p->free_us != NULL &&
        room_p->port_sum_us != NULL && room_p->reach_us != NULL &&
        room_p->slowest_us != NULL && room_p->degree != NULL &&
        room_p->key_us != NULL && room_p->ahead_us != NULL &&
        room_p->from != NULL && room_p->seen != NULL && room_p->near != NULL &&
        room_p->left != NULL && room_p->heap.items != NULL)
        return NF_OK;
    nf_greedy_room_fini(room_p);
    return NF_ERR_NOMEM;
}

void nf_greedy_room_fini(struct nf_greedy_room *room)
{
    nf_free(room->start_us);
    nf_free(room->total_us);
    nf_free(room->other_us);
    nf_free(room->free_us);
    nf_free(room->port_sum_us);
    nf_free(room->reach_us);
    nf_free(room->slowest_us);
    nf_free(room->degree);
    nf_free(room->key_us);
    nf_free(room->ahead_us);
    nf_free(room->from);
    nf_free(room->seen);
    nf_free(room->near);
    nf_free(room->left);
    nf_free(room->heap.items);
    *room = (struct nf_greedy_room){ .nodes = 0 };
}

/* One tree in the making. */
struct making {
    const struct nf_greedy *how;
    const struct nf_hops *hops;
    struct nf_greedy_room *room;
    struct nf_ldt *ldt;
    uint32_t reached; /* ldt->order[0..reached) have the message */
    uint32_t nleft;   /* room->left[0..nleft) are to be reached */
    bool fits;        /* under the cap */
    bool is_too_long; /* for the limit */
    double medium_us; /* when the medium is free, if it is minded */
};

/* May i have one child more, over a wire that it keeps busy for port_us? */
static bool is_open(const struct making *m, uint32_t i, double port_us)
{
    double hands_us = (m->room->degree[i] + 1) * m->hops->send[i];

    if (i != m->ldt->root) {
        if (nf_hops_is_leaf(m->hops, i))
            return false;
        hands_us += m->hops->recv[i];
    }
    return hands_us <= m->how->cap_us &&
           m->room->port_sum_us[i] + port_us <= m->how->cap_us;
}

/* When could i, which has the message, have handed over another one? */
static void set_start(struct making *m, uint32_t i)
{
    double *start_us = &m->room->start_us[i];

    *start_us = m->hops->send[i];
    if (!m->how->is_by_edge)
        *start_us += m->room->free_us[i];
    if (!is_open(m, i, 0))
        *start_us = INFINITY;
}

static void begin(struct making *m)
{
    uint32_t root = m->ldt->root;

    memset(m->room->port_sum_us, 0, m->room->nodes * sizeof(double));
    memset(m->room->degree, 0, m->room->nodes * sizeof(uint32_t));
    for (uint32_t v = 0; v < m->hops->nodes; v++)
        m->room->start_us[v] = INFINITY;
    m->ldt->order[0] = root;
    m->room->free_us[root] = 0;
    m->room->reach_us[root] = 0;
    m->room->slowest_us[root] = 0;
    m->reached = 1;
    m->fits = true;
    set_start(m, root);
}

/* i got a child j.  Least times of the whole tree, as ldt.h has it: until i has
 * the message, then until the last of its children so far has the first segment
 * on its wire, and the segments that follow it to that child; and until j has
 * the message, and those that follow. */
static void look_at_limit(struct making *m, uint32_t i, uint32_t j)
{
    struct nf_greedy_room *room = m->room;
    double more = (double)(m->how->segments - 1);
    double hands_us = room->degree[i] * m->hops->send[i];
    double recv_us = i != m->ldt->root ? m->hops->recv[i] : 0;
    double port_us = fmax(room->port_sum_us[i] - nf_hops_spare(m->hops, i), 0);
    double of_i_us, of_j_us;
    double period_us =
        hands_us + recv_us > port_us ? hands_us + recv_us : port_us;

    if (period_us > room->slowest_us[i])
        room->slowest_us[i] = period_us;
    room->slowest_us[j] = room->slowest_us[i];
    if (m->hops->recv[j] > room->slowest_us[j])
        room->slowest_us[j] = m->hops->recv[j];
    room->reach_us[j] = room->reach_us[i] + nf_hops_time(m->hops, i, j);
    port_us += m->how->slack_us;
    of_i_us = room->reach_us[i] + more * room->slowest_us[i] +
              (hands_us > port_us ? hands_us : port_us);
    of_j_us = room->reach_us[j] + more * room->slowest_us[j];
    /* less a little: sums of rounded numbers */
    m->is_too_long = of_i_us * (1 - 1e-12) >= m->how->limit_us ||
                     of_j_us * (1 - 1e-12) >= m->how->limit_us;
}

/* Does it wait for the one medium of all? */
static bool minds_medium(const struct making *m)
{
    return m->how->holds_medium && m->hops->medium != NULL;
}

/* i's message waits for the medium, and the next one for i's port.
 * @return when it can begin its way */
static double take_medium(struct making *m, uint32_t i, uint32_t j)
{
    double medium_us = nf_hops_medium(m->hops, i, j);
    double *free_us = &m->room->free_us[i], send_us = m->hops->send[i];
    double begin_us = *free_us + send_us;

    *free_us = begin_us;
    if (medium_us > 0) {
        begin_us = fmax(begin_us, m->medium_us);
        m->medium_us = begin_us + medium_us;
    }
    *free_us = fmax(*free_us, begin_us + nf_hops_port(m->hops, i, j) - send_us);
    return begin_us;
}

/* How much later the next message of i can begin its way, j's having gone. */
static double holds(const struct making *m, uint32_t i, uint32_t j)
{
    double port_us = nf_hops_port(m->hops, i, j), send_us = m->hops->send[i];
    double spare_us = nf_hops_spare(m->hops, i), before_us;

    if (!(spare_us > 0))
        return port_us;
    before_us =
        fmax(m->room->port_sum_us[i] - m->room->degree[i] * send_us, 0);
    return send_us +
           nf_hops_behind(port_us, spare_us,
                          fmax(before_us + port_us - send_us, 0)) -
           nf_hops_behind(port_us, spare_us, before_us);
}

static void add_edge(struct making *m, uint32_t i, uint32_t j)
{
    struct nf_greedy_room *room = m->room;
    double ready_us = room->free_us[i] + nf_hops_time(m->hops, i, j);

    if (minds_medium(m))
        ready_us = take_medium(m, i, j) + nf_hops_wire(m->hops, i, j) +
                   m->hops->recv[j];
    else if (m->how->is_blocking)
        room->free_us[i] = ready_us;
    else if (m->how->holds_port)
        room->free_us[i] += fmax(m->hops->send[i], holds(m, i, j));
    else
        room->free_us[i] += m->hops->send[i];
    room->free_us[j] = ready_us;
    room->degree[i]++;
    room->port_sum_us[i] += nf_hops_port(m->hops, i, j);
    m->ldt->parent[j] = i;
    m->ldt->order[m->reached++] = j;
    if (m->how->limit_us > 0)
        look_at_limit(m, i, j);
    set_start(m, i);
    set_start(m, j);
}

/* ---- the best sender ---- */

/* Who can have i's message at j first, and how early the next one could. */
struct choice {
    double key_us, other_us;
    uint32_t from; /* NF_TREE_NONE: nobody can */
};

static void consider(struct choice *c, uint32_t i, double key_us)
{
    if (key_us < c->key_us || (key_us <= c->key_us && i < c->from)) {
        c->other_us = c->key_us;
        c->key_us = key_us;
        c->from = i;
    } else if (key_us < c->other_us) {
        c->other_us = key_us;
    }
}

static bool fits_port(const struct making *m, uint32_t i, uint32_t j)
{
    return isinf(m->how->cap_us) ||
           m->room->port_sum_us[i] + nf_hops_port(m->hops, i, j) <=
               m->how->cap_us;
}

static struct choice choose(const struct making *m, uint32_t j)
{
    struct choice c = { INFINITY, INFINITY, NF_TREE_NONE };
    const double *start_us = m->room->start_us;
    const double *wire_us = m->hops->wire + nf_hops_at(m->hops, 0, j);

    for (uint32_t i = 0; i < m->hops->nodes; i++) {
        double key_us = start_us[i] + wire_us[m->hops->is_matrix ? i : 0];

        if (key_us < c.other_us && fits_port(m, i, j))
            consider(&c, i, key_us);
    }
    return c;
}

/* Nobody may have j under the cap: whose period becomes the least? */
static uint32_t least_overloaded(struct making *m, uint32_t j)
{
    uint32_t from = NF_TREE_NONE;
    double least_us = INFINITY;

    m->fits = false;
    for (uint32_t s = 0; s < m->reached; s++) {
        uint32_t i = m->ldt->order[s];
        double hands_us = (m->room->degree[i] + 1) * m->hops->send[i];
        double port_us = m->room->port_sum_us[i] + nf_hops_port(m->hops, i, j);

        if (i != m->ldt->root && nf_hops_is_leaf(m->hops, i))
            continue;
        if (i != m->ldt->root)
            hands_us += m->hops->recv[i];
        if (fmax(hands_us, port_us) < least_us) {
            least_us = fmax(hands_us, port_us);
            from = i;
        }
    }
    return from;
}

/* ---- all pairs ---- */

static void look_for_sender(struct making *m, uint32_t j)
{
    struct choice c = choose(m, j);

    m->room->key_us[j] = c.key_us + m->hops->recv[j];
    m->room->other_us[j] = c.other_us + m->hops->recv[j];
    m->room->from[j] = c.from;
    if (c.from != NF_TREE_NONE)
        m->room->seen[j] = m->room->degree[c.from];
}

static double pair_us(const struct making *m, uint32_t i, uint32_t j)
{
    return m->room->start_us[i] + nf_hops_wire(m->hops, i, j) +
           m->hops->recv[j];
}

/* At the begin there is only the root. */
static void look_at_root(struct making *m, uint32_t j)
{
    struct nf_greedy_room *room = m->room;
    uint32_t root = m->ldt->root;
    bool can = !isinf(room->start_us[root]) && fits_port(m, root, j);

    room->key_us[j] = can ? room->start_us[root] +
                                nf_hops_wire(m->hops, root, j) +
                                m->hops->recv[j]
                          : INFINITY;
    room->other_us[j] = INFINITY;
    room->from[j] = can ? root : NF_TREE_NONE;
    room->seen[j] = 0;
}

/* j's sender has been busy: is it still the best one?  Otherwise look. */
static void look_again(struct making *m, uint32_t j)
{
    struct nf_greedy_room *room = m->room;
    uint32_t i = room->from[j];
    double key_us = pair_us(m, i, j);

    if (key_us < room->other_us[j] && fits_port(m, i, j)) {
        room->key_us[j] = key_us;
        room->seen[j] = room->degree[i];
    } else {
        look_for_sender(m, j);
    }
}

/* i is a new sender: would j rather have it from that one? */
static bool offer(struct making *m, uint32_t i, uint32_t j)
{
    struct nf_greedy_room *room = m->room;
    struct choice c = { room->key_us[j], room->other_us[j], room->from[j] };
    double key_us = pair_us(m, i, j);

    if (key_us > c.other_us || isinf(key_us) || !fits_port(m, i, j))
        return false;
    consider(&c, i, key_us);
    room->key_us[j] = c.key_us;
    room->other_us[j] = c.other_us;
    if (c.from == i)
        room->seen[j] = room->degree[i];
    room->from[j] = c.from;
    return true;
}

/* L_j: the least time to one that is not reached, but j itself. */
static void look_ahead(struct making *m, uint32_t j)
{
    double least_us = INFINITY;

    m->room->near[j] = NF_TREE_NONE;
    for (uint32_t k = 0; k < m->nleft; k++) {
        uint32_t to = m->room->left[k];

        if (to != j && nf_hops_time(m->hops, j, to) < least_us) {
            least_us = nf_hops_time(m->hops, j, to);
            m->room->near[j] = to;
        }
    }
    m->room->ahead_us[j] = m->room->near[j] == NF_TREE_NONE ? 0 : least_us;
}

static void set_total(struct making *m, uint32_t j)
{
    m->room->total_us[j] = m->room->key_us[j];
    if (m->how->look_ahead > 0)
        m->room->total_us[j] += m->how->look_ahead * m->room->ahead_us[j];
}

/* Is what is known of j as it is now?  If not, look again. */
static bool is_fresh(struct making *m, uint32_t j)
{
    struct nf_greedy_room *room = m->room;
    uint32_t i = room->from[j];
    bool is_busier = i != NF_TREE_NONE && room->seen[j] != room->degree[i];
    bool is_nearer = m->how->look_ahead > 0 && room->near[j] == j; /* take() */

    if (is_busier)
        look_again(m, j);
    if (is_nearer)
        look_ahead(m, j);
    if (is_busier || is_nearer)
        set_total(m, j);
    return !is_busier && !is_nearer;
}

/* Is a to be reached before b? */
static bool is_before(const struct nf_greedy_room *room, uint32_t a, uint32_t b)
{
    double a_us = room->total_us[a], b_us = room->total_us[b];

    if (a_us < b_us || a_us > b_us)
        return a_us < b_us;
    return room->from[a] < room->from[b] ||
           (room->from[a] == room->from[b] && a < b);
}

/* left[] is a heap: left[0] is to be reached before all others, as far as that
 * is known. */
static void rise(struct nf_greedy_room *room, uint32_t at)
{
    uint32_t j = room->left[at];

    for (; at > 0 && is_before(room, j, room->left[(at - 1) / 2]);
         at = (at - 1) / 2)
        room->left[at] = room->left[(at - 1) / 2];
    room->left[at] = j;
}

static void sink(struct nf_greedy_room *room, uint32_t count)
{
    uint32_t j = room->left[0], at = 0;

    for (uint32_t next = 1; next < count; next = 2 * at + 1) {
        if (next + 1 < count &&
            is_before(room, room->left[next + 1], room->left[next]))
            next++;
        if (!is_before(room, room->left[next], j))
            break;
        room->left[at] = room->left[next];
        at = next;
    }
    room->left[at] = j;
}

/* @return the next receiver, left[0] */
static uint32_t pick(struct making *m)
{
    while (!is_fresh(m, m->room->left[0]))
        sink(m->room, m->nleft); /* it takes no less than was known */
    return m->room->left[0];
}

/* left[0] has been reached: it can send, and nobody's way on leads to it.  Who
 * rises leaves what comes behind it in left[] as it was. */
static void take(struct making *m)
{
    struct nf_greedy_room *room = m->room;
    uint32_t j = room->left[0];

    room->left[0] = room->left[--m->nleft];
    if (m->nleft > 0)
        sink(room, m->nleft);
    for (uint32_t k = 0; k < m->nleft; k++) {
        uint32_t to = room->left[k];

        if (room->near[to] == j)
            room->near[to] = to; /* is to be found anew */
        if (offer(m, j, to)) {
            set_total(m, to);
            rise(room, k);
        }
    }
}

static enum nf_greedy_end end_of(const struct making *m)
{
    if (m->is_too_long || m->reached < m->hops->nodes)
        return NF_GREEDY_NONE;
    return m->fits ? NF_GREEDY_FITS : NF_GREEDY_EXCEEDS;
}

enum nf_greedy_end nf_greedy_pairs(const struct nf_greedy *how,
                                   const struct nf_hops *hops,
                                   struct nf_greedy_room *room,
                                   struct nf_ldt *ldt)
{
    struct making m = { .how = how, .hops = hops, .room = room, .ldt = ldt };

    begin(&m);
    nf_receivers_all(hops->nodes, ldt->root, room->left);
    m.nleft = hops->nodes - 1;
    for (uint32_t k = 0; k < m.nleft; k++) {
        look_at_root(&m, room->left[k]);
        room->near[room->left[k]] = NF_TREE_NONE;
        if (how->look_ahead > 0)
            look_ahead(&m, room->left[k]);
        set_total(&m, room->left[k]);
    }
    for (uint32_t k = 1; k < m.nleft; k++)
        rise(room, k);
    while (m.nleft > 0 && !m.is_too_long) {
        uint32_t j = pick(&m), i = room->from[j];

        if (i == NF_TREE_NONE)
            i = least_overloaded(&m, j);
        add_edge(&m, i, j);
        take(&m);
    }
    return end_of(&m);
}

/* ---- receivers in a given order ---- */

/* All links are the same: the sender that is free first serves it first. */
static void serve_equal(struct making *m, const uint32_t *receivers)
{
    struct nf_heap *heap = &m->room->heap;
    const double *send = m->hops->send, *free_us = m->room->free_us;
    double port_us = m->hops->port[0];

    heap->count = 0;
    if (is_open(m, m->ldt->root, port_us))
        nf_heap_push(heap, send[m->ldt->root], m->ldt->root);
    for (uint32_t k = 0;
         k + 1 < m->hops->nodes && heap->count > 0 && !m->is_too_long; k++) {
        uint32_t i = heap->items[0].node, j = receivers[k];

        add_edge(m, i, j);
        if (is_open(m, i, port_us))
            nf_heap_delay_top(heap, free_us[i] + send[i]);
        else
            nf_heap_pop(heap);
        if (is_open(m, j, port_us))
            nf_heap_push(heap, free_us[j] + send[j], j);
    }
}

/* As choose(), without the second best: most of the time of planning for many
 * nodes is spent here. */
static uint32_t best_sender(const struct making *m, uint32_t j)
{
    uint32_t n = m->hops->nodes, from = NF_TREE_NONE;
    const double *start_us = m->room->start_us;
    const double *port_sum_us = m->room->port_sum_us;
    const double *wire_us = m->hops->wire + nf_hops_at(m->hops, 0, j);
    const double *port_us = m->hops->port + nf_hops_at(m->hops, 0, j);
    double least_us = INFINITY, cap_us = m->how->cap_us;

    for (uint32_t i = 0; i < n; i++)
        if (start_us[i] + wire_us[i] < least_us &&
            port_sum_us[i] + port_us[i] <= cap_us) {
            least_us = start_us[i] + wire_us[i];
            from = i;
        }
    return from;
}

/* On a medium: of those whose message would have to wait for it the one that is
 * free first. */
static uint32_t best_on_medium(const struct making *m, uint32_t j)
{
    double least_us = INFINITY, first_us = INFINITY;
    uint32_t from = NF_TREE_NONE;

    for (uint32_t i = 0; i < m->hops->nodes; i++) {
        double start_us = m->room->start_us[i], key_us = start_us;

        if (i == j || isinf(start_us) || !fits_port(m, i, j))
            continue;
        if (nf_hops_medium(m->hops, i, j) > 0 && m->medium_us > key_us)
            key_us = m->medium_us;
        key_us += nf_hops_wire(m->hops, i, j);
        if (key_us < least_us || (key_us <= least_us && start_us < first_us)) {
            least_us = key_us;
            first_us = start_us;
            from = i;
        }
    }
    return from;
}

static void serve_matrix(struct making *m, const uint32_t *receivers)
{
    for (uint32_t k = 0; k + 1 < m->hops->nodes && !m->is_too_long; k++) {
        uint32_t from = minds_medium(m) ? best_on_medium(m, receivers[k])
                                        : best_sender(m, receivers[k]);

        if (from == NF_TREE_NONE)
            from = least_overloaded(m, receivers[k]);
        add_edge(m, from, receivers[k]);
    }
}

enum nf_greedy_end nf_greedy_serve(const struct nf_greedy *how,
                                   const struct nf_hops *hops,
                                   const uint32_t *receivers,
                                   struct nf_greedy_room *room,
                                   struct nf_ldt *ldt)
{
    struct making m = { .how = how, .hops = hops, .room = room, .ldt = ldt };

    begin(&m);
    if (hops->is_matrix)
        serve_matrix(&m, receivers);
    else
        serve_equal(&m, receivers);
    return end_of(&m);
}
