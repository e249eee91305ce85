/* What each way loads the channels with, round by round, once; then it is priced. */
#include "config.h"
#include "common/coll/torus_choice.h"
#include "common/base/alloc.h"
#include "common/base/error.h"
#include "common/coll/torus.h"

struct round {
    uint64_t blocks; /* c */
    uint32_t turns;  /* half duplex */
};

struct way {
    const struct nf_coll_algorithm *algorithm; /* NULL: not for this shape */
    struct nf_coll_params params;
    uint32_t rounds;
    struct round *each; /* [rounds] */
};

struct nf_torus_choices {
    uint32_t ranks;
    struct way ways[NF_TORUS_WAYS];
};

static bool has_odd(const struct nf_coll_sides *shape)
{
    for (uint32_t i = 0; i < shape->count; i++)
        if (shape->of[i] > 1 && shape->of[i] % 2 != 0)
            return true;
    return false;
}

static uint64_t greater(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* @param to  [ranks] whom each sends its message to, none to that of another;
 *            ranks: it has none */
static uint32_t turns_of(const uint32_t *to, uint32_t ranks)
{
    uint32_t turns = 1;

    for (uint32_t r = 0; r < ranks; r++) {
        uint32_t at = to[r], length = 1;

        if (at < ranks && to[at] < ranks)
            turns = 2;
        for (; at < ranks && at != r && length <= ranks; length++)
            at = to[at];
        if (at == r && length % 2 != 0)
            return 3;
    }
    return turns;
}

/* @param each  [rounds] of which turns are set */
static void set_turns(const struct nf_schedule *schedule, uint32_t ranks,
                      struct round *each)
{
    uint32_t to[NF_TORUS_RANKS_MAX];

    for (size_t i = 0; i < schedule->count; i++) {
        const struct nf_coll_message *m = &schedule->messages[i];

        for (uint32_t r = 0; (i == 0 || m[-1].round != m->round) && r < ranks;
             r++)
            to[r] = ranks;
        to[m->src] = m->dst;
        if (i + 1 == schedule->count || m[1].round != m->round)
            each[m->round].turns = turns_of(to, ranks);
    }
}

/* All at once: a channel has what it has in all rounds. */
static void join_rounds(struct nf_schedule *schedule)
{
    for (size_t i = 0; i < schedule->count; i++)
        schedule->messages[i].round = 0;
    nf_schedule_sort(schedule);
}

static enum nf_status set_rounds(struct way *way,
                                 const struct nf_coll_algorithm *algorithm,
                                 const struct nf_coll_sides *shape,
                                 uint32_t ranks,
                                 const struct nf_schedule *schedule)
{
    struct nf_torus_load load;
    enum nf_status status =
        nf_torus_measure(shape, ranks, schedule, 0, &load, NULL);

    if (status != NF_OK)
        return status;
    way->each = nf_calloc((size_t)load.rounds + 1, sizeof(*way->each));
    for (uint32_t r = 0; way->each != NULL && r < load.rounds; r++)
        way->each[r] = (struct round){
            .blocks =
                greater(load.each[r].largest, load.each[r].channel_blocks),
            .turns = 2, /* of a burst, too: a channel each way */
        };
    if (way->each != NULL && algorithm != &nf_coll_alltoall_burst)
        set_turns(schedule, ranks, way->each);
    way->rounds = load.rounds;
    way->algorithm = algorithm;
    nf_torus_load_fini(&load);
    return way->each != NULL ? NF_OK : NF_ERR_NOMEM;
}

/* @param shape  of the torus, which the algorithm goes along if it takes one */
static enum nf_status weigh(struct way *way,
                            const struct nf_coll_algorithm *algorithm,
                            const struct nf_coll_sides *shape, uint32_t ranks)
{
    struct nf_coll_args args = { .ranks = ranks, .segments = 1 };
    struct nf_schedule schedule;
    enum nf_status status;

    if (algorithm->by_shape)
        way->params.shape = *shape;
    nf_coll_use_params(&way->params, &args);
    if (nf_coll_fits(algorithm, &args, NULL) != NF_OK)
        return NF_OK;
    status = nf_coll_make(algorithm, &args, NF_ALL_RANKS, &schedule, NULL);
    if (status == NF_OK && algorithm == &nf_coll_alltoall_burst)
        join_rounds(&schedule);
    if (status == NF_OK)
        status = set_rounds(way, algorithm, shape, ranks, &schedule);
    nf_schedule_fini(&schedule);
    return status;
}

enum nf_status nf_torus_choices_create(const struct nf_coll_sides *shape,
                                       uint32_t ranks,
                                       struct nf_torus_choices **choices_p,
                                       struct nf_error *err)
{
    const struct nf_coll_algorithm *const algorithms[NF_TORUS_WAYS] = {
        has_odd(shape) ? &nf_coll_alltoall_mdh : &nf_coll_alltoall_dh,
        &nf_coll_alltoall_bruck_grid,
        &nf_coll_alltoall_pairwise_grid,
        &nf_coll_alltoall_burst,
    };
    struct nf_torus_choices *choices;
    enum nf_status status = NF_OK;

    if (nf_coll_sides_product(shape) != ranks)
        return nf_fail(err, NF_ERR_INVAL,
                       "a torus of %llu nodes for %u members",
                       (unsigned long long)nf_coll_sides_product(shape), ranks);
    if (ranks < 2 || ranks > NF_TORUS_RANKS_MAX)
        return nf_fail(err, NF_ERR_INVAL, "a torus has 2 to %d members, not %u",
                       NF_TORUS_RANKS_MAX, ranks);
    choices = nf_calloc(1, sizeof(*choices));
    if (choices == NULL)
        return nf_fail(err, NF_ERR_NOMEM, "out of memory");
    choices->ranks = ranks;
    for (int i = 0; status == NF_OK && i < NF_TORUS_WAYS; i++)
        status = weigh(&choices->ways[i], algorithms[i], shape, ranks);
    if (status != NF_OK) {
        nf_torus_choices_destroy(choices);
        return nf_fail(err, status, "%s", nf_strerror(status));
    }
    *choices_p = choices;
    return NF_OK;
}

void nf_torus_choices_destroy(struct nf_torus_choices *choices)
{
    if (choices == NULL)
        return;
    for (int i = 0; i < NF_TORUS_WAYS; i++)
        nf_free(choices->ways[i].each);
    nf_free(choices);
}

const struct nf_coll_algorithm *
nf_torus_way(const struct nf_torus_choices *choices, uint32_t i,
             uint32_t *rounds_p, uint64_t *contended_p)
{
    const struct way *way = &choices->ways[i];

    *rounds_p = way->rounds;
    *contended_p = 0;
    for (uint32_t r = 0; r < way->rounds; r++)
        *contended_p += way->each[r].blocks;
    return way->algorithm;
}

uint64_t nf_torus_ns(const struct nf_torus_choices *choices,
                     const struct nf_exchange_price *price, uint64_t bytes,
                     uint32_t i)
{
    const struct nf_coll_params none = { .radix = 0 };
    const struct way *way = &choices->ways[i];
    struct nf_exchange_price apart = *price;
    uint64_t ns = 0, least_ns = 0;

    apart.nnear = 0; /* each node is a host, and has wires of its own */
    apart.is_shared = 0;
    if (way->algorithm == &nf_coll_alltoall_burst)
        least_ns = nf_exchange_ns(&apart, choices->ranks, bytes, &none);
    if (bytes > NF_TORUS_LARGE_BYTES)
        bytes = NF_TORUS_LARGE_BYTES;
    for (uint32_t r = 0; r < way->rounds; r++)
        ns += nf_exchange_round_ns(price, bytes * way->each[r].blocks,
                                   way->each[r].turns);
    return greater(ns, least_ns);
}

bool nf_torus_choose(const struct nf_torus_choices *choices,
                     const struct nf_exchange_price *price,
                     const struct nf_coll_query *query,
                     struct nf_coll_choice *choice_p)
{
    uint64_t least = UINT64_MAX;

    for (uint32_t i = 0; i < NF_TORUS_WAYS; i++) {
        const struct way *way = &choices->ways[i];
        uint64_t ns;

        if (way->algorithm == NULL || !nf_coll_serves(way->algorithm, query))
            continue;
        ns = nf_torus_ns(choices, price, query->bytes, i);
        if (ns >= least)
            continue;
        least = ns;
        *choice_p = (struct nf_coll_choice){ .algorithm = way->algorithm,
                                             .segments = 1,
                                             .cost_us = (double)ns / 1e3,
                                             .params = way->params };
    }
    return least != UINT64_MAX;
}
