/* A circuit repeated for many segments, by greedy list scheduling.
 *
 * The segments go through a message of the circuit in their order: what is
 * ready for a segment was ready for the one before not later, and that one has
 * the smaller round + 2 segment at the same ports.  So a counter for each
 * message says which segment is next. */
#include "config.h"
#include <string.h>
#include "common/base/alloc.h"
#include "common/coll/scan.h"

#define NOBODY UINT32_MAX

struct greedy {
    const struct nf_schedule *base;
    uint32_t segments;
    enum nf_coll_ports ports;
    uint32_t n;         /* messages of base */
    uint32_t nkeys;     /* round + 2 segment is below */
    uint32_t *next;     /* [n] the segment that is next */
    uint32_t *at_src;   /* [n] the message before this one at its source */
    uint32_t *at_dst;   /* [n] ... at its destination */
    uint32_t *follower; /* [n] in the list of one key */
    uint32_t *head;     /* [nkeys] ready messages by round + 2 segment */
    uint32_t *out_busy; /* [P] 1 + the last round in which a rank sent */
    uint32_t *in_busy;  /* [P] ... received; HALF: the same array */
    uint32_t *memory;
};

static bool greedy_init(struct greedy *g, uint32_t ranks)
{
    const struct nf_schedule *base = g->base;
    uint32_t *last;

    g->n = (uint32_t)base->count;
    g->nkeys = nf_schedule_rounds(base) + 2 * (g->segments - 1);
    g->memory = nf_calloc(4 * (size_t)g->n + g->nkeys + 2 * (size_t)ranks,
                          sizeof(*last));
    if (g->memory == NULL)
        return false;
    g->next = g->memory;
    g->at_src = g->next + g->n;
    g->at_dst = g->at_src + g->n;
    g->follower = g->at_dst + g->n;
    g->head = g->follower + g->n;
    g->out_busy = g->head + g->nkeys;
    g->in_busy = g->out_busy + ranks;

    last = g->out_busy;
    memset(last, 0xff, ranks * sizeof(*last));
    for (uint32_t i = 0; i < g->n; i++) {
        const struct nf_coll_message *message = &base->messages[i];

        g->at_src[i] = last[message->src];
        g->at_dst[i] = last[message->dst];
        last[message->src] = last[message->dst] = i;
    }
    memset(last, 0, ranks * sizeof(*last));
    if (g->ports == NF_PORTS_HALF)
        g->in_busy = g->out_busy;
    return true;
}

static bool went_before(const struct greedy *g, uint32_t before, uint32_t i)
{
    return before == NOBODY || g->next[before] > g->next[i];
}

/* Two messages of one key and segment share no rank: their order is free. */
static void collect_ready(struct greedy *g)
{
    memset(g->head, 0xff, g->nkeys * sizeof(*g->head));
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t *head_p;

        if (g->next[i] == g->segments || !went_before(g, g->at_src[i], i) ||
            !went_before(g, g->at_dst[i], i))
            continue;
        /* later rounds come last here and go first: the lower segment */
        head_p = &g->head[g->base->messages[i].round + 2 * g->next[i]];
        g->follower[i] = *head_p;
        *head_p = i;
    }
}

/* Send all that find their ports free.  @return how many */
static size_t take(struct greedy *g, uint32_t round,
                   struct nf_schedule *schedule)
{
    size_t taken = 0;

    for (uint32_t key = 0; key < g->nkeys; key++)
        for (uint32_t i = g->head[key]; i != NOBODY; i = g->follower[i]) {
            const struct nf_coll_message *message = &g->base->messages[i];

            if (g->out_busy[message->src] == round + 1 ||
                g->in_busy[message->dst] == round + 1)
                continue;
            g->out_busy[message->src] = round + 1;
            g->in_busy[message->dst] = round + 1;
            nf_schedule_send(schedule, round, message->src, message->dst,
                             g->next[i]++, 1, message->action);
            nf_schedule_car(schedule, message->keep, message->from_car);
            taken++;
        }
    return taken;
}

void nf_scan_segment(const struct nf_schedule *base, uint32_t ranks,
                     uint32_t segments, enum nf_coll_ports ports,
                     struct nf_schedule *schedule)
{
    struct greedy g = { .base = base, .segments = segments, .ports = ports };
    size_t left = base->count * segments;

    if (base->failed || !greedy_init(&g, ranks)) {
        schedule->failed = true;
        return;
    }
    for (uint32_t round = 0; left > 0 && !schedule->failed; round++) {
        collect_ready(&g);
        left -= take(&g, round, schedule);
    }
    nf_free(g.memory);
}
