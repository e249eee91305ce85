/* What trees really take. */
#include "config.h"
#include <math.h>
#include <string.h>
#include "apps/nowfarm/probe.h"
#include "apps/nowfarm/stats.h"
#include "common/base/alloc.h"
#include "common/base/clock.h"
#include "common/base/error.h"
#include "common/base/rng.h"

/* Trees are compared with each other: so they are measured in turns, in another
 * order each round, lest what slows hosts down for a while is that of a few.  Of
 * short ones, which differ by less than hosts do from one moment to the next,
 * there are more rounds, and if all trees of a size are compared a lot: of 100
 * casts of 0.2 ms on busy processors the medians of one and the same tree were 5
 * and 7 % apart, of 1000 3 %. */
enum { ROUNDS = 3, CASTS = PROBE_COMPARED_ROUNDS * PROBE_ROUND_CASTS };
enum { FIRST_WARM = 2, WARM = 1 };
enum { IDLE_BYTES = 4096, IDLE_MOST_US = 50000 };
/* More than that one tree is not measured for, but once a round. */
static const double ROUND_MOST_US = 1e6;
/* What is left of a time when an answer is off. */
static const double LEAST_US = 0.1;

struct casting {
    struct probe *probe;
    const struct nf_network *network;
    uint32_t rounds; /* of short trees */
    uint32_t *leaves;
    double *us; /* [leaves] */
};

/* @return how many leaves */
static uint32_t find_leaves(const struct nf_tree *tree, uint32_t *leaves)
{
    uint32_t count = 0;

    for (uint32_t v = 0; v < tree->nodes; v++)
        if (tree->first[v] == tree->first[v + 1])
            leaves[count++] = v;
    return count;
}

static enum nf_status plant(struct probe *probe, const struct nf_tree *tree)
{
    enum nf_status status = NF_OK;

    for (uint32_t v = 0; v < tree->nodes && status == NF_OK; v++)
        status = probe_plant(probe, v, tree->child + tree->first[v],
                             tree->first[v + 1] - tree->first[v]);
    return status;
}

uint32_t probe_idle_most_us(const struct nf_network *network)
{
    double slowest_us = 0;

    for (uint32_t i = 0; i < network->nhosts; i++)
        for (uint32_t j = 0; j < network->nhosts; j++)
            if (i != j)
                slowest_us = fmax(slowest_us,
                                  nf_network_wire(network, i, j)->line.byte_us);
    return (uint32_t)fmin(slowest_us * IDLE_BYTES, IDLE_MOST_US);
}

/* The last one has it when all leaves have; what their answers take is known.
 */
static double last_us(const struct casting *c, const struct probe_cast *cast)
{
    double us = LEAST_US;

    for (uint32_t i = 0; i < cast->nleaves; i++)
        us = fmax(us, c->us[i] - nf_network_time_us(c->network, cast->leaves[i],
                                                    0, 0));
    return us;
}

/* What a tree has taken so far. */
struct taken {
    double us[CASTS];
    uint32_t count;
    double all_us;
};

/* One round of it. */
static enum nf_status measure(const struct casting *c,
                              const struct nf_crl_plan *plan, bool is_first,
                              struct taken *taken)
{
    const struct probe_cast cast = {
        .bytes = (uint32_t)plan->segment_bytes,
        .parts = (uint32_t)plan->segments,
        .delay_us = probe_idle_most_us(c->network),
        .allow_us = (uint32_t)fmin(8 * plan->time_us, 1e9),
        .leaves = c->leaves,
        .nleaves = find_leaves(&plan->tree, c->leaves),
    };
    enum nf_status status = plant(c->probe, &plan->tree);
    int warm = is_first ? FIRST_WARM : WARM;
    double spent_us = 0;

    for (int i = 0; i < warm && status == NF_OK; i++)
        status = probe_cast(c->probe, &cast, c->us);
    for (int i = 0; i < PROBE_ROUND_CASTS && status == NF_OK &&
                    (i == 0 || spent_us < ROUND_MOST_US);
         i++) {
        double us;

        status = probe_cast(c->probe, &cast, c->us);
        us = last_us(c, &cast);
        spent_us += us;
        taken->us[taken->count++] = us;
    }
    taken->all_us += spent_us;
    return status;
}

/* Different algorithms may have made one and the same tree. */
static bool is_same_tree(const struct probe_check *a, const struct probe_check *b)
{
    const struct nf_tree *s = &a->plan.tree, *t = &b->plan.tree;

    return a->plan.segments == b->plan.segments &&
           a->plan.segment_bytes == b->plan.segment_bytes &&
           s->nodes == t->nodes && s->root == t->root &&
           memcmp(s->first, t->first, (s->nodes + 1) * sizeof(*s->first)) == 0 &&
           memcmp(s->child, t->child, (s->nodes - 1) * sizeof(*s->child)) == 0;
}

/* Of one and the same tree only the first check is measured.  @return that one */
static uint32_t first_of(const struct probe_checks *checks, uint32_t i)
{
    uint32_t first = 0;

    while (!is_same_tree(&checks->list[first], &checks->list[i]))
        first++;
    return first;
}

static void note_medians(struct probe_checks *checks, struct taken *taken)
{
    for (uint32_t i = 0; i < checks->count; i++) {
        struct taken *t = &taken[first_of(checks, i)];

        checks->list[i].measured_us = stats_median(t->us, t->count);
    }
}

static bool is_wanted(const struct taken *taken, uint32_t round)
{
    return round < ROUNDS || taken->all_us < round * PROBE_SHORT_ROUND_US;
}

/* @param order  [checks->count] room
 * @param taken  [checks->count] zeroed */
static enum nf_status take_turns(const struct casting *c, const char *what,
                                 const struct probe_checks *checks,
                                 uint32_t *order, struct taken *taken)
{
    struct nf_rng rng = { (uint64_t)nf_now_us() };
    enum nf_status status = NF_OK;

    for (uint32_t i = 0; i < checks->count; i++)
        order[i] = i;
    for (uint32_t round = 0; round < c->rounds && status == NF_OK; round++) {
        nf_rng_shuffle(&rng, order, checks->count);
        for (uint32_t n = 0; n < checks->count && status == NF_OK; n++) {
            uint32_t i = order[n];

            probe_show_progress(what == NULL, what,
                                (round + (double)n / checks->count) /
                                    c->rounds);
            if (first_of(checks, i) == i && is_wanted(&taken[i], round))
                status =
                    measure(c, &checks->list[i].plan, round == 0, &taken[i]);
        }
    }
    probe_show_progress(what == NULL, NULL, 0);
    return status;
}

/* @param what  of the progress that is shown, NULL: none */
static enum nf_status measure_all(const struct casting *c, const char *what,
                                  struct probe_checks *checks)
{
    struct taken *taken = nf_calloc(checks->count, sizeof(*taken));
    uint32_t *order = nf_calloc(checks->count, sizeof(*order));
    enum nf_status status = NF_ERR_NOMEM;

    if (taken != NULL && order != NULL)
        status = take_turns(c, what, checks, order, taken);
    if (status == NF_OK)
        note_medians(checks, taken);
    nf_free(order);
    nf_free(taken);
    return status;
}

/* ---- beyond messages ---- */

static enum nf_status price_call(const struct nf_network *network,
                                 uint32_t number, double *us_p)
{
    struct probe_check check;
    enum nf_status status = probe_plan_call(number, network, &check);

    if (status != NF_OK)
        return status;
    *us_p = check.plan.time_us;
    nf_crl_plan_fini(&check.plan);
    return NF_OK;
}

/* @param what    as of measure_all()
 * @param relays  call_us and wake_us are set */
static enum nf_status measure_calls(const struct casting *c, const char *what,
                                    struct nf_network *relays)
{
    struct probe_check list[PROBE_CALLS];
    struct probe_checks calls = { .list = list };
    double us[PROBE_CALLS];
    enum nf_status status = NF_OK;

    while (calls.count < PROBE_CALLS && status == NF_OK) {
        status = probe_plan_call(calls.count, relays, &list[calls.count]);
        calls.count += status == NF_OK;
    }
    if (status == NF_OK)
        status = measure_all(c, what, &calls);
    for (uint32_t k = 0; k < calls.count; k++) {
        us[k] = list[k].measured_us;
        nf_crl_plan_fini(&list[k].plan);
    }
    return status == NF_OK ? probe_set_call(relays, us, price_call) : status;
}

static enum nf_status plan_all(const struct nf_network *relays,
                               const struct probe_options *o,
                               struct probe_checks *checks)
{
    enum nf_status status =
        o->validate ? probe_plan_shapes(relays, checks) : NF_OK;

    for (unsigned i = 0; i < o->nsizes && status == NF_OK; i++)
        status = probe_plan_trees(relays, o->sizes[i], checks);
    return status;
}

enum nf_status probe_validate(struct probe *probe,
                              const struct probe_outcome *outcome,
                              const struct probe_options *o,
                              struct probe_checks *checks_p)
{
    const struct nf_network *network = &outcome->network;
    struct nf_network relays = *network; /* hosts and wires are those */
    struct casting c = { .probe = probe,
                         .network = network,
                         .rounds = probe_short_rounds(o),
                         .leaves = nf_calloc(network->nhosts, sizeof(uint32_t)),
                         .us = nf_calloc(network->nhosts, sizeof(double)) };
    enum nf_status status =
        c.leaves != NULL && c.us != NULL ? NF_OK : NF_ERR_NOMEM;

    *checks_p = (struct probe_checks){ .count = 0 };
    if (status == NF_OK)
        status = measure_calls(&c, o->quiet ? NULL : "trees of a byte", &relays);
    checks_p->call_us = relays.call_us;
    checks_p->wake_us = relays.wake_us;
    if (status == NF_OK)
        status = plan_all(&relays, o, checks_p);
    if (status == NF_OK)
        status = measure_all(&c, o->quiet ? NULL : "trees", checks_p);
    if (status == NF_OK && o->validate)
        status = probe_measure_floods(probe, outcome, o->quiet, checks_p);
    if (status < 0 && probe->err->text[0] == '\0')
        nf_fail(probe->err, status, "%s", nf_strerror(status));
    nf_free(c.leaves);
    nf_free(c.us);
    if (status != NF_OK)
        probe_checks_fini(checks_p);
    return status;
}
