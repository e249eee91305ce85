/* A schedule on a torus: channels round by round. */
#include "config.h"
#include "common/coll/torus.h"
#include <string.h>
#include "common/base/alloc.h"

/* A directed channel in the current round. */
struct channel {
    uint64_t blocks;
    uint32_t messages;
    uint32_t round; /* 1 + the round this is of */
};

struct measure {
    const struct nf_coll_sides *shape;
    uint32_t strides[NF_COLL_SIDES_MAX];
    uint32_t ranks, most;
    const struct nf_schedule *schedule;
    struct channel *channels; /* [rank][side][back] */
    uint64_t *held;           /* [rank] */
    uint32_t *sends;          /* [rank] */
    uint32_t *ports;          /* [rank] sent in the round, [rank] received */
    uint8_t *talks;           /* [rank][rank] one bit each */
    nf_torus_tell *tell;      /* or NULL */
    void *arg;
    struct nf_torus_load load;
    struct nf_torus_fault fault;
};

/* ---- routes ---- */

static uint32_t coordinate(const struct measure *m, uint32_t rank,
                           uint32_t side)
{
    return rank / m->strides[side] % m->shape->of[side];
}

static uint32_t neighbour(const struct measure *m, uint32_t rank, uint32_t side,
                          bool back)
{
    uint32_t n = m->shape->of[side], at = coordinate(m, rank, side);
    uint32_t next = (at + (back ? n - 1 : 1)) % n;

    return rank - at * m->strides[side] + next * m->strides[side];
}

/* @return false: a message too many */
static bool take_channel(struct measure *m, uint32_t rank, uint32_t side,
                         bool back, const struct nf_coll_message *message,
                         uint64_t blocks)
{
    struct nf_torus_round *round = &m->load.each[message->round];
    struct channel *channel =
        &m->channels[2 * ((size_t)rank * m->shape->count + side) + back];

    if (channel->round != message->round + 1)
        *channel = (struct channel){ .round = message->round + 1 };
    channel->messages++;
    channel->blocks += blocks;
    if (channel->messages > round->channel_messages)
        round->channel_messages = channel->messages;
    if (channel->blocks > round->channel_blocks)
        round->channel_blocks = channel->blocks;
    if (m->most == 0 || channel->messages <= m->most)
        return true;
    m->fault.lost = false;
    m->fault.rank = rank;
    m->fault.side = side;
    m->fault.back = back;
    return false;
}

/* @param rank_p  moves on */
static bool walk(struct measure *m, uint32_t *rank_p, uint32_t side,
                 int64_t hops, const struct nf_coll_message *message,
                 uint64_t blocks)
{
    bool back = hops < 0;

    for (int64_t left = back ? -hops : hops; left > 0; left--) {
        if (!take_channel(m, *rank_p, side, back, message, blocks))
            return false;
        *rank_p = neighbour(m, *rank_p, side, back);
    }
    return true;
}

/* The shorter way. */
static int64_t hops_between(uint32_t n, uint32_t from, uint32_t to)
{
    uint32_t ahead = (to + n - from) % n;

    if (2 * ahead < n || (2 * ahead == n && from % 2 == 0))
        return ahead;
    return (int64_t)ahead - n;
}

static bool route(struct measure *m, const struct nf_coll_message *message,
                  uint64_t blocks)
{
    uint32_t rank = message->src;

    if (message->hops != 0 && message->side < m->shape->count) {
        if (!walk(m, &rank, message->side, message->hops, message, blocks))
            return false;
    } else if (message->hops == 0) {
        for (uint32_t side = m->shape->count; side-- > 0;) {
            int64_t hops =
                hops_between(m->shape->of[side], coordinate(m, rank, side),
                             coordinate(m, message->dst, side));

            if (!walk(m, &rank, side, hops, message, blocks))
                return false;
        }
    }
    m->fault.lost = rank != message->dst;
    m->fault.rank = rank;
    return !m->fault.lost;
}

/* ---- a round ---- */

static void count_talk(struct measure *m, uint32_t a, uint32_t b)
{
    size_t bit = (size_t)a * m->ranks + b;

    m->talks[bit / 8] = (uint8_t)(m->talks[bit / 8] | 1U << bit % 8);
}

static void count_port(struct measure *m, size_t port)
{
    if (++m->ports[port] > m->load.step_messages)
        m->load.step_messages = m->ports[port];
}

static void count_message(struct measure *m,
                          const struct nf_coll_message *message,
                          uint64_t blocks)
{
    struct nf_torus_round *round = &m->load.each[message->round];

    if (blocks > round->largest)
        round->largest = blocks;
    round->messages++;
    m->load.blocks += blocks;
    m->load.messages++;
    if (++m->sends[message->src] > m->load.sends)
        m->load.sends = m->sends[message->src];
    count_port(m, message->src);
    count_port(m, (size_t)m->ranks + message->dst);
    count_talk(m, message->src, message->dst);
    count_talk(m, message->dst, message->src);
    m->held[message->src] -= blocks;
    m->held[message->dst] += blocks;
}

static void tell_channels(struct measure *m, uint32_t round)
{
    size_t count = 2 * (size_t)m->ranks * m->shape->count;

    for (size_t i = 0; i < count; i++) {
        const struct channel *channel = &m->channels[i];
        const struct nf_torus_channel told = {
            .rank = (uint32_t)(i / 2 / m->shape->count),
            .side = (uint32_t)(i / 2 % m->shape->count),
            .back = i % 2 != 0,
            .messages = channel->messages,
            .blocks = channel->blocks,
        };

        if (channel->round == round + 1)
            m->tell(round, &told, m->arg);
    }
}

static bool count_all(struct measure *m)
{
    const struct nf_schedule *schedule = m->schedule;

    for (size_t i = 0; i < schedule->count; i++) {
        const struct nf_coll_message *message = &schedule->messages[i];
        uint64_t blocks = nf_schedule_items_of(schedule, message);

        m->fault.message = i;
        count_message(m, message, blocks);
        if (!route(m, message, blocks))
            return false;
        if (i + 1 < schedule->count && message[1].round == message->round)
            continue;
        memset(m->ports, 0, 2 * (size_t)m->ranks * sizeof(*m->ports));
        for (uint32_t r = 0; r < m->ranks; r++)
            if (m->held[r] > m->load.held)
                m->load.held = m->held[r];
        if (m->tell != NULL)
            tell_channels(m, message->round);
    }
    return true;
}

static void sum_up(struct measure *m)
{
    struct nf_torus_load *load = &m->load;

    for (uint32_t i = 0; i < load->rounds; i++) {
        const struct nf_torus_round *round = &load->each[i];

        load->volume += round->largest;
        load->contended += round->largest > round->channel_blocks
                               ? round->largest
                               : round->channel_blocks;
        if (round->channel_messages > load->channel_messages)
            load->channel_messages = round->channel_messages;
    }
    for (uint32_t a = 0; a < m->ranks; a++) {
        uint32_t peers = 0;

        for (uint32_t b = 0; b < m->ranks; b++) {
            size_t bit = (size_t)a * m->ranks + b;

            peers += m->talks[bit / 8] >> bit % 8 & 1;
        }
        if (peers > load->peers)
            load->peers = peers;
    }
}

/* @param m  whose load is to be nf_torus_load_fini()shed if NF_OK */
static enum nf_status carry_out(struct measure *m)
{
    uint32_t ranks = m->ranks, stride = 1;
    enum nf_status status = NF_ERR_NOMEM;

    for (uint32_t side = m->shape->count; side-- > 0;) {
        m->strides[side] = stride;
        stride *= m->shape->of[side];
    }
    m->load.rounds = nf_schedule_rounds(m->schedule);
    m->load.each = nf_calloc(m->load.rounds, sizeof(*m->load.each));
    m->channels =
        nf_calloc(2 * (size_t)ranks * m->shape->count, sizeof(*m->channels));
    m->held = nf_malloc(ranks * sizeof(*m->held));
    m->sends = nf_calloc(ranks, sizeof(*m->sends));
    m->ports = nf_calloc(2 * (size_t)ranks, sizeof(*m->ports));
    m->talks = nf_calloc(((size_t)ranks * ranks + 7) / 8, 1);
    if (m->load.each != NULL && m->channels != NULL && m->held != NULL &&
        m->sends != NULL && m->ports != NULL && m->talks != NULL) {
        for (uint32_t r = 0; r < ranks; r++)
            m->held[r] = ranks;
        status = count_all(m) ? NF_OK : NF_ERR_VERIFY;
    }
    if (status == NF_OK)
        sum_up(m);
    else
        nf_torus_load_fini(&m->load);
    nf_free(m->channels);
    nf_free(m->held);
    nf_free(m->sends);
    nf_free(m->ports);
    nf_free(m->talks);
    return status;
}

enum nf_status nf_torus_measure(const struct nf_coll_sides *shape,
                                uint32_t ranks,
                                const struct nf_schedule *schedule,
                                uint32_t most, struct nf_torus_load *load_p,
                                struct nf_torus_fault *fault_p)
{
    const struct nf_coll_sides ring = { 1, { ranks } };
    struct measure m = { .shape = shape != NULL ? shape : &ring,
                         .ranks = ranks,
                         .most = most,
                         .schedule = schedule };
    enum nf_status status = carry_out(&m);

    if (status == NF_OK)
        *load_p = m.load;
    if (status == NF_ERR_VERIFY && fault_p != NULL)
        *fault_p = m.fault;
    return status;
}

enum nf_status nf_torus_channels(const struct nf_coll_sides *shape,
                                 uint32_t ranks,
                                 const struct nf_schedule *schedule,
                                 nf_torus_tell *tell, void *arg)
{
    const struct nf_coll_sides ring = { 1, { ranks } };
    struct measure m = { .shape = shape != NULL ? shape : &ring,
                         .ranks = ranks,
                         .schedule = schedule,
                         .tell = tell,
                         .arg = arg };
    enum nf_status status = carry_out(&m);

    if (status == NF_OK)
        nf_torus_load_fini(&m.load);
    return status;
}

void nf_torus_load_fini(struct nf_torus_load *load)
{
    nf_free(load->each);
    load->each = NULL;
}
