/* The schedules of all-to-all as text, and what they load a torus with. */
#include "config.h"
#include "apps/nowfarm/plan_exchange.h"
#include <inttypes.h>
#include <stdio.h>
#include "apps/nowfarm/cli.h"
#include "common/coll/wish.h"

int nf_read_sides(const char *option, const char *text,
                  struct nf_coll_sides *sides_p)
{
    if (nf_coll_sides_read(text, sides_p))
        return NF_EXIT_OK;
    return nf_usage_error("%s %s: want 1 to %d counts from 1 to %d with x "
                          "between them, as 3x4",
                          option, text, NF_COLL_SIDES_MAX, NF_COLL_RANKS_MAX);
}

void nf_print_exchange(uint32_t ranks, const struct nf_schedule *schedule)
{
    for (size_t i = 0; i < schedule->count; i++) {
        const struct nf_coll_message *m = &schedule->messages[i];

        printf("%u %u %u", m->round + 1, m->src, m->dst);
        if (m->hops != 0)
            printf(" @%u%+d", m->side, m->hops);
        for (uint32_t s = 0; s < m->nspans; s++) {
            struct nf_coll_span span = schedule->spans[m->first_span + s];

            for (uint32_t j = span.first; j < span.first + span.count; j++)
                printf(" %u>%u", j / ranks, j % ranks);
        }
        putchar('\n');
    }
}

/* @param most  of what is to be one at most, if that is promised */
static const char *demand(bool promised, uint32_t most)
{
    return promised && most <= 1 ? "as it must be" : "not promised";
}

/* Does a rank have no more than one message each way in a step? */
static bool is_one_port(const struct nf_coll_algorithm *algorithm)
{
    return algorithm->ports != NF_PORTS_MANY;
}

void nf_print_load(const struct nf_coll_algorithm *algorithm,
                   const struct nf_torus_load *load)
{
    printf("# each block is delivered once\n");
    printf("# steps %u, V %" PRIu64 ", V_contended %" PRIu64 "\n", load->rounds,
           load->volume, load->contended);
    printf("# messages %" PRIu64 ", blocks %" PRIu64
           "; of one rank: messages %u, peers %u, blocks held %" PRIu64 "\n",
           load->messages, load->blocks, load->sends, load->peers, load->held);
    printf("# a rank sends and receives at most %u a step (%s)\n",
           load->step_messages,
           demand(is_one_port(algorithm), load->step_messages));
    printf("# messages on a channel: at most %u (%s)\n", load->channel_messages,
           demand(algorithm->one_each, load->channel_messages));
    for (uint32_t i = 0; i < load->rounds; i++) {
        const struct nf_torus_round *round = &load->each[i];

        printf("# step %u: messages %u, largest %" PRIu64
               "; on a channel: messages %u, blocks %" PRIu64 "\n",
               i + 1, round->messages, round->largest, round->channel_messages,
               round->channel_blocks);
    }
}

/* @param arg  a list of the channels of each step */
static void add_channel(uint32_t round, const struct nf_torus_channel *channel,
                        void *arg)
{
    json_array_append_new(json_array_get(arg, round),
                          json_pack("{s:I, s:I, s:s, s:I, s:I}", "rank",
                                    (json_int_t)channel->rank, "side",
                                    (json_int_t)channel->side, "direction",
                                    channel->back ? "-" : "+", "messages",
                                    (json_int_t)channel->messages, "blocks",
                                    (json_int_t)channel->blocks));
}

json_t *nf_load_json(const struct nf_coll_algorithm *algorithm,
                     const struct nf_coll_args *args,
                     const struct nf_schedule *schedule,
                     const struct nf_torus_load *load)
{
    json_t *each = json_array(), *channels = json_array();

    for (uint32_t i = 0; i < load->rounds; i++)
        json_array_append_new(channels, json_array());
    if (nf_torus_channels(args->shape, args->ranks, schedule, add_channel,
                          channels) != NF_OK) {
        json_decref(each);
        json_decref(channels);
        return NULL;
    }
    for (uint32_t i = 0; i < load->rounds; i++) {
        const struct nf_torus_round *round = &load->each[i];

        json_array_append_new(
            each, json_pack("{s:I, s:I, s:I, s:I, s:O}", "messages",
                            (json_int_t)round->messages, "largest_blocks",
                            (json_int_t)round->largest, "channel_messages",
                            (json_int_t)round->channel_messages,
                            "channel_blocks", (json_int_t)round->channel_blocks,
                            "channels", json_array_get(channels, i)));
    }
    json_decref(channels);
    return json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:I, s:b, s:o}",
        "volume_blocks",
        (json_int_t)load->volume, "contended_blocks",
        (json_int_t)load->contended, "messages", (json_int_t)load->messages,
        "blocks", (json_int_t)load->blocks, "rank_messages",
        (json_int_t)load->sends, "rank_peers", (json_int_t)load->peers,
        "rank_blocks", (json_int_t)load->held, "channel_messages",
        (json_int_t)load->channel_messages, "channel_promised",
        algorithm->one_each, "step_messages", (json_int_t)load->step_messages,
        "step_promised", is_one_port(algorithm), "steps", each);
}
