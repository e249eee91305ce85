#ifndef NF_TREE_BUSY_H
#define NF_TREE_BUSY_H
/** @file busy.h  What a tree in segments keeps busy, and when: bars, few enough
 *  to be drawn however many segments there are.  Pure.
 *
 *  Of the simulation that prices the tree, times.h.  A row has the bars of one
 *  host's hands, of its port, of its link in, or of the medium.  Time is cut in
 *  columns.  What takes at least one is a bar; what is shorter, and comes less
 *  than one after what was before it, is put together with that, NF_BUSY_WIDEST
 *  of them at most. */
#include "common/tree/times.h"

enum { NF_BUSY_WIDEST = 8 }; /**< columns of several spans together */

/** One span; or several, the idle time between them, and that until the next
 *  bar if it is less than a column.  Bars of a row are in the order of time and
 *  none begins before the last one has ended. */
struct nf_busy_bar {
    double from_us, to_us; /**< from_us < to_us */
    double recv_us;        /**< of which hands receive */
    double send_us;        /**< and send, or a port or the medium carries */
    uint64_t first, last;  /**< segments */
    uint32_t spans;
    uint32_t src, dst; /**< of the first span */
};

struct nf_busy_row {
    struct nf_busy_bar *bars; /**< [count]; count <= 2 * columns + 1 */
    uint32_t count, room;
    double recv_us, send_us; /**< of all bars */
};

/** How a segment came to a host. */
struct nf_busy_arrival {
    double sent_us;  /**< it began to leave its sender's port */
    double ready_us; /**< it has been received */
};

struct nf_busy {
    uint32_t nodes;
    uint64_t segments;
    struct nf_busy_row *rows;             /**< [3 * nodes + 1], see below */
    struct nf_busy_arrival *first, *last; /**< [nodes] the first and the last
                                               segment; the root's are 0 */
    double time_us;                       /**< as nf_tree_pipe() */
    double end_us; /**< nothing is busy from here on; time_us, or more if ports
                        are held for longer than messages take */
};

static inline const struct nf_busy_row *
nf_busy_hands(const struct nf_busy *busy, uint32_t v)
{
    return &busy->rows[v];
}

static inline const struct nf_busy_row *nf_busy_port(const struct nf_busy *busy,
                                                     uint32_t v)
{
    return &busy->rows[busy->nodes + v];
}

/** Empty where only ports are known. */
static inline const struct nf_busy_row *nf_busy_in(const struct nf_busy *busy,
                                                   uint32_t v)
{
    return &busy->rows[2 * busy->nodes + v];
}

/** Empty where each port has its own wire. */
static inline const struct nf_busy_row *
nf_busy_medium(const struct nf_busy *busy)
{
    return &busy->rows[3 * busy->nodes];
}

/** @param columns  1 or more
 *  @param busy_p   nf_busy_fini() it
 *  O(nodes * segments)    @retval NF_ERR_NOMEM */
enum nf_status nf_busy_make(const struct nf_tree *tree,
                            const struct nf_hops *hops, uint64_t segments,
                            uint32_t columns, struct nf_busy *busy_p);
void nf_busy_fini(struct nf_busy *busy);

/** What bounds the pace: the row that is busy for longest, of equals the first.
 */
const struct nf_busy_row *nf_busy_most(const struct nf_busy *busy);
#endif
