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

    c.segments = coll_told_segments(query, c.algorithm, k);
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

unsigned coll_between(const struct nf_coll_query *query,
                      const struct nf_coll_network *network,
                      const struct coll_candidate *of,
                      struct coll_candidate *next_p)
{
    const uint64_t k = of->segments;
    const uint64_t tries[] = { (3 * k + 2) / 4, (3 * k + 1) / 2 };
    unsigned n = 0;

    if (of->algorithm->items != NF_ITEMS_SEGMENTS)
        return 0;
    for (int i = 0; i < 2; i++) {
        struct coll_candidate c =
            with_segments(query, network, of, tries[i]);

        if (c.segments != k)
            next_p[n++] = c;
    }
    return n;
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

/* In its place among those seen, for what was measured of the same before. */
static void note_one(struct coll_search *search, const struct coll_candidate *c)
{
    struct coll_candidate *seen = search->seen;
    unsigned at = 0, count = search->nseen;

    while (at < count && !coll_is_same_way(&seen[at], c))
        at++;
    if (at < count) {
        count--;
        memmove(&seen[at], &seen[at + 1], (count - at) * sizeof(*seen));
    }
    if (count == COLL_SEEN_MAX)
        return; /* cannot be: no search has more ways */
    at = 0;
    while (at < count && seen[at].us.median <= c->us.median)
        at++;
    memmove(&seen[at + 1], &seen[at], (count - at) * sizeof(*seen));
    seen[at] = *c;
    search->nseen = count + 1;
}

static void note(struct coll_search *search)
{
    for (unsigned i = 0; i < search->count; i++)
        if (search->list[i].us.n > 0)
            note_one(search, &search->list[i]);
}

static bool is_way_listed(const struct coll_candidate *way,
                          const struct coll_candidate *list, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (coll_is_same_way(way, &list[i]))
            return true;
    return false;
}

static bool is_near_best(const struct coll_search *search,
                         const struct coll_candidate *way)
{
    return way->us.median < COLL_FINAL_NEARLY * search->best.us.median;
}

/* What came near the best, the fastest first, as far as there are places.
 * @param once  only algorithms that have no place yet
 * @return the new count of search->list */
static unsigned add_near(struct coll_search *search, unsigned count, bool once)
{
    for (unsigned i = 0; i < search->nseen && count <= COLL_FINAL_OTHERS; i++) {
        const struct coll_candidate *way = &search->seen[i];

        if (is_near_best(search, way) &&
            !is_way_listed(way, search->list, count) &&
            !(once && coll_is_listed(way->algorithm, search->list, count)))
            search->list[count++] = *way;
    }
    return count;
}

/* What the model chose stands beside the best, as it is the one to beat: its algorithm
 * may have a place already, and all places be taken by others. */
static unsigned add_model(struct coll_search *search, unsigned count)
{
    if (coll_search_is_model(search))
        return count;
    for (unsigned i = 0; i < search->nseen; i++)
        if (coll_is_same_way(&search->seen[i], &search->model) &&
            is_near_best(search, &search->seen[i]))
            search->list[count++] = search->seen[i];
    return count;
}

/* What lies between the best one's numbers of segments, as far as it was not tried. */
static unsigned add_between(struct coll_search *search, unsigned count)
{
    struct coll_candidate between[2] = { { .segments = 0 } };
    unsigned n = coll_between(search->query, search->network, &search->best,
                              between);

    for (unsigned i = 0; i < n; i++)
        if (!is_way_listed(&between[i], search->seen, search->nseen) &&
            !is_way_listed(&between[i], search->list, count))
            search->list[count++] = between[i];
    return count;
}

/* The best against what came near it and against segments that were not tried.  The
 * model's choice has the first place, then each algorithm that came near before another
 * has a second one.  The search is over if there is nothing to choose from. */
static void run_off(struct coll_search *search)
{
    unsigned n = 1;

    search->phase = COLL_SEARCH_FINAL;
    search->count = 0;
    if (search->best.us.n == 0 ||
        search->best.us.median > COLL_FINAL_LONGEST_US)
        return;
    search->list[0] = search->best;
    n = add_model(search, n);
    n = add_near(search, n, true);
    n = add_near(search, n, false);
    n = add_between(search, n);
    search->count = n > 1 ? n : 0;
}

/* Where the model's choice is among the last ones, it is the one to beat. */
static void conclude(struct coll_search *search)
{
    unsigned current = 0;

    for (unsigned i = 0; i < search->count; i++)
        if (coll_is_same_way(&search->list[i], &search->model))
            current = i;
    search->best =
        search->list[coll_winner(search->list, search->count, current)];
    search->count = 0;
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
    search->count = count;
    if (count == near) /* there are no other numbers */
        run_off(search);
}

/* From search->before to the best was a good step: another one like it? */
static void climb(struct coll_search *search)
{
    struct coll_candidate next;

    search->phase = COLL_SEARCH_FURTHER;
    if (search->steps == COLL_STEPS ||
        !coll_further(search->query, search->network, &search->before,
                      &search->best, &next)) {
        run_off(search);
        return;
    }
    search->steps++;
    search->list[0] = search->best;
    search->list[1] = next;
    search->count = 2;
}

static void end_refining(struct coll_search *search)
{
    unsigned from = 0;

    search->best =
        search->list[coll_winner(search->list, search->count, 0)];
    /* what was refined stands before its other numbers of segments */
    while (search->list[from].algorithm != search->best.algorithm)
        from++;
    search->before = search->list[from];
    climb(search);
}

static void go_further(struct coll_search *search)
{
    if (coll_winner(search->list, 2, 0) == 0) {
        search->best = search->list[0]; /* as it was measured now */
        run_off(search);
        return;
    }
    search->before = search->list[0];
    search->best = search->list[1];
    climb(search);
}

void coll_search_go_on(struct coll_search *search)
{
    note(search);
    switch (search->phase) {
    case COLL_SEARCH_FIRST:
        refine(search);
        return;
    case COLL_SEARCH_SEGMENTS:
        end_refining(search);
        return;
    case COLL_SEARCH_FURTHER:
        go_further(search);
        return;
    case COLL_SEARCH_FINAL:
        conclude(search);
        return;
    }
}

struct coll_effort coll_search_effort(const struct coll_search *search)
{
    if (search->phase == COLL_SEARCH_FINAL)
        return (struct coll_effort){ .least = 2 * COLL_FINAL_TURNS,
                                     .most = COLL_FINAL_MOST,
                                     .turns = COLL_FINAL_TURNS,
                                     .budget_us = COLL_FINAL_US };
    if (search->phase == COLL_SEARCH_FIRST ||
        COLL_REPEATS_SEGMENTS * search->best.us.median > COLL_REPEATS_MOST_US)
        return coll_usual_effort(COLL_REPEATS_FIRST);
    return coll_usual_effort(COLL_REPEATS_SEGMENTS);
}

bool coll_search_is_model(const struct coll_search *search)
{
    return coll_is_same_way(&search->best, &search->model);
}
