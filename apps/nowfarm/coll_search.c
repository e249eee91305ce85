/* What tuning measures next, and which way of a call it believes to be the fastest. */
#include "config.h"
#include "apps/nowfarm/coll_search.h"
#include <string.h>

unsigned coll_near(const struct coll_candidate *list, unsigned count,
                   unsigned winner, struct coll_candidate *near_p)
{
    double most_us = COLL_NEARLY * list[winner].us.median;
    unsigned n = 1;

    near_p[0] = list[winner];
    while (n < COLL_NEAR) {
        unsigned best = count;

        for (unsigned i = 0; i < count; i++)
            if (list[i].us.n > 0 && list[i].us.median < most_us &&
                list[i].algorithm->items == NF_ITEMS_SEGMENTS &&
                !coll_is_listed(list[i].algorithm, near_p, n) &&
                (best == count || list[i].us.median < list[best].us.median))
                best = i;
        if (best == count)
            break;
        near_p[n++] = list[best];
    }
    return n;
}

/* The same with so many segments, and not measured. */
static struct coll_candidate with_segments(const struct nf_coll_query *query,
                                           const struct nf_coll_network *network,
                                           const struct coll_candidate *of,
                                           uint64_t k)
{
    struct coll_candidate c = { .algorithm = of->algorithm };

    c.segments = nf_coll_clamp_segments(query->elements, k);
    c.predicted_us = nf_coll_cost_us(c.algorithm, network, query->ranks,
                                     (double)query->bytes, c.segments);
    return c;
}

unsigned coll_refine(const struct nf_coll_query *query,
                     const struct nf_coll_network *network,
                     struct coll_candidate *list, unsigned count,
                     unsigned winner)
{
    const uint32_t k = list[winner].segments;
    const uint64_t tries[] = { k / 2, 2 * (uint64_t)k };

    if (list[winner].algorithm->items != NF_ITEMS_SEGMENTS)
        return count;
    for (int i = 0; i < 2 && count < COLL_CANDIDATES_MAX; i++) {
        struct coll_candidate c =
            with_segments(query, network, &list[winner], tries[i]);

        if (c.segments == k ||
            (i > 0 && c.segments == list[count - 1].segments &&
             list[count - 1].algorithm == c.algorithm))
            continue;
        list[count++] = c;
    }
    return count;
}

bool coll_further(const struct nf_coll_query *query,
                  const struct nf_coll_network *network,
                  const struct coll_candidate *before,
                  const struct coll_candidate *now,
                  struct coll_candidate *next_p)
{
    uint64_t k = now->segments;

    if (before->algorithm != now->algorithm || before->segments == k)
        return false;
    *next_p = with_segments(query, network, now,
                            k > before->segments ? 2 * k : k / 2);
    return next_p->segments != k;
}

unsigned coll_winner(const struct coll_candidate *list, unsigned count,
                     unsigned current)
{
    unsigned best = current;

    for (unsigned i = 0; i < count; i++)
        if (list[i].us.n > 0 && list[current].us.n > 0 &&
            list[i].us.median <=
                (1 - COLL_LEAST_GAIN) * list[current].us.median &&
            list[i].us.high < list[current].us.low &&
            list[i].us.median < list[best].us.median)
            best = i;
    return best;
}

void coll_search_begin(struct coll_search *search_p,
                       const struct nf_coll_query *query,
                       const struct nf_coll_network *network,
                       const struct nf_coll_choice *usual, uint32_t hosts)
{
    *search_p = (struct coll_search){ .query = query, .network = network };
    search_p->count =
        coll_candidates(query, network, usual, hosts, search_p->list);
    search_p->model = search_p->best = search_p->list[0];
}

/* Those with a lesser median than the winner has, which did not win as the
 * intervals overlap.  @return whether there are any, and it is worth the time */
static bool try_again(struct coll_search *search)
{
    unsigned winner = coll_winner(search->list, search->count, 0), n = 1;
    struct coll_candidate list[COLL_CANDIDATES_MAX] = { search->list[winner] };
    double most_us = (1 - COLL_LEAST_GAIN) * list[0].us.median;

    if (list[0].us.n == 0 || list[0].us.median > COLL_AGAIN_LONGEST_US)
        return false;
    for (unsigned i = 0; i < search->count; i++)
        if (i != winner && search->list[i].us.n > 0 &&
            search->list[i].us.median <= most_us)
            list[n++] = search->list[i];
    if (n == 1)
        return false;
    memcpy(search->list, list, sizeof(list));
    search->count = n;
    search->phase = COLL_SEARCH_AGAIN;
    return true;
}

/* Other numbers of segments, of the winner and of what was nearly as fast. */
static void refine(struct coll_search *search)
{
    unsigned winner = coll_winner(search->list, search->count, 0);
    struct coll_candidate close[COLL_CANDIDATES_MAX] = { { .segments = 0 } };
    unsigned near = coll_near(search->list, search->count, winner, close);
    unsigned count = near;

    search->phase = COLL_SEARCH_SEGMENTS;
    search->best = close[0];
    for (unsigned i = 0; i < near; i++)
        count = coll_refine(search->query, search->network, close, count, i);
    memcpy(search->list, close, sizeof(close));
    search->near = near;
    search->count = count > near ? count : 0; /* there are no other numbers */
}

/* From search->before to the best was a good step: another one like it? */
static void climb(struct coll_search *search)
{
    struct coll_candidate next;

    search->phase = COLL_SEARCH_FURTHER;
    search->count = 0;
    if (search->steps == COLL_STEPS ||
        !coll_further(search->query, search->network, &search->before,
                      &search->best, &next))
        return;
    search->steps++;
    search->list[0] = search->best;
    search->list[1] = next;
    search->count = 2;
}

static void end_refining(struct coll_search *search)
{
    unsigned won = coll_winner(search->list, search->count, 0);

    search->best = search->list[won];
    search->count = 0;
    for (unsigned i = 0; i < search->near; i++)
        if (search->list[i].algorithm == search->best.algorithm) {
            search->before = search->list[i];
            climb(search);
            return;
        }
}

void coll_search_go_on(struct coll_search *search)
{
    switch (search->phase) {
    case COLL_SEARCH_FIRST:
        if (!try_again(search))
            refine(search);
        return;
    case COLL_SEARCH_AGAIN:
        refine(search);
        return;
    case COLL_SEARCH_SEGMENTS:
        end_refining(search);
        return;
    case COLL_SEARCH_FURTHER:
        if (coll_winner(search->list, 2, 0) == 0) {
            search->count = 0;
            return;
        }
        search->before = search->list[0];
        search->best = search->list[1];
        climb(search);
        return;
    }
}

struct coll_effort coll_search_effort(const struct coll_search *search)
{
    if (search->phase == COLL_SEARCH_AGAIN)
        return (struct coll_effort){ .least = 2 * COLL_AGAIN_TURNS,
                                     .most = COLL_AGAIN_MOST,
                                     .turns = COLL_AGAIN_TURNS,
                                     .budget_us = COLL_AGAIN_US };
    if (search->phase == COLL_SEARCH_FIRST ||
        COLL_REPEATS_SEGMENTS * search->best.us.median > COLL_REPEATS_MOST_US)
        return coll_usual_effort(COLL_REPEATS_FIRST);
    return coll_usual_effort(COLL_REPEATS_SEGMENTS);
}

bool coll_search_is_model(const struct coll_search *search)
{
    return search->best.algorithm == search->model.algorithm &&
           search->best.segments == search->model.segments;
}
