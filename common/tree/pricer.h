#ifndef NF_TREE_PRICER_H
#define NF_TREE_PRICER_H
/** @file pricer.h  What a schedule of messages takes where hosts and links
 *  differ: the same price for all algorithms, trees being some of them.  Pure.
 *
 *  Ranks are the hosts of the model.  A rank does what it has to in the order
 *  of rounds, in a round sending before it receives, and never waits for a round
 *  to be over: it sends in send[i]; its port has the message for port(i, j), one
 *  after the other, and it is there wire(i, j) after it began; it receives in
 *  recv[j], once the message is there.  A message has the bytes of its items,
 *  which are whole elements as members deal them out: some may have one more than
 *  others, whatever the algorithm.  For bcast.tree in equal segments that is
 *  nf_tree_pipe().  Combining costs nothing.
 *
 *  What different hosts send to one comes in over its one link, one message after
 *  the other; that takes each as long as the quickest port that leads there.  Else
 *  a host behind a thin link would have all pieces of a message at once.  What links
 *  let pass at once is spare both ways, see hops.h.
 *
 *  Ranks that share a host have one way out and one link, too: what each of them
 *  sends to other hosts, or gets, waits for what the others do.  What they send to
 *  each other does not.
 *
 *  On a shared medium a message waits there for all others, too, in the order
 *  in which ports offer them: hub.h.
 *
 *  Only sums, differences, products, quotients and comparisons of doubles:
 * equal models give equal bits, wherever IEEE 754 holds. */
#include "common/coll/coll.h"
#include "common/tree/hops.h"

enum { NF_PRICER_SIZES = 16 };

/** The one way into a host, by the last message that came over it. */
struct nf_pricer_link {
    double busy_us; /**< so long, but for what is spare: when it was there; 0: none came
                         yet */
    uint32_t from;    /**< its sender's home */
    bool was_held_up; /**< by those before it, or would have been but for what is spare */
};

struct nf_pricer {
    const struct nf_hetero *hetero;
    /** Of sizes that were asked for last. */
    struct {
        double bytes;
        uint64_t segments; /**< 1, or 2: several */
        struct nf_hops hops;
        double *in_us; /**< [hosts] how long a message keeps the way in */
    } kept[NF_PRICER_SIZES];
    unsigned count, next;
    double *hands_us, *port_us; /**< [hosts] when they are free */
    double *way_us;             /**< [hosts] of a home: when the way out is */
    struct nf_pricer_link *link; /**< [hosts] of a home: the way in */
    uint32_t *home; /**< [hosts] the first of those on the same host */
};

/** @param hetero  borrowed   @param pricer_p  nf_pricer_fini() it
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_pricer_init(struct nf_pricer *pricer_p,
                              const struct nf_hetero *hetero);
void nf_pricer_fini(struct nf_pricer *pricer);

/** What the messages of a schedule carry. */
struct nf_pricer_load {
    uint32_t items;    /**< of the schedule; 0: messages without data */
    uint64_t elements; /**< of all items, dealt out by nf_coll_segment(); 0:
                            items are as long as their mean */
    double bytes;      /**< of all elements */
};

/** @param schedule  all messages between hetero->hosts ranks, sorted
 *  @param time_us_p  when the last rank has the last message.
 *  O(messages), on a shared medium O(messages log hosts), and O(hosts^2) for a
 * size that is new
 *  @retval NF_ERR_NOMEM */
enum nf_status nf_pricer_time(struct nf_pricer *pricer,
                              const struct nf_schedule *schedule,
                              const struct nf_pricer_load *of,
                              double *time_us_p);
#endif
