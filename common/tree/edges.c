#include "config.h"
#include "common/tree/edges.h"
#include "common/base/alloc.h"

struct interval {
    uint32_t low, high;
};

enum nf_status nf_edges_halve(uint32_t nodes, uint32_t root, nf_keep_fn *keep,
                              const void *table, uint32_t *sender_p,
                              uint32_t *receiver_p)
{
    struct interval *given = nf_calloc(nodes, sizeof(*given));
    uint32_t count = 0;

    if (given == NULL)
        return NF_ERR_NOMEM;
    /* The receivers are a queue of those who are yet to send; given[k] is what
     * the k-th sender is responsible for, the root being the 0-th. */
    given[0] = (struct interval){ 0, nodes - 1 };
    for (uint32_t done = 0; done < nodes; done++) {
        uint32_t self = done == 0 ? root : receiver_p[done - 1];
        struct interval mine = given[done];

        while (mine.low < mine.high) {
            uint32_t kept = keep(table, mine.low, mine.high, self);
            uint32_t to;

            if (self < mine.low + kept) {
                to = mine.low + kept;
                given[count + 1] = (struct interval){ to, mine.high };
                mine.high = to - 1;
            } else {
                to = mine.high - kept;
                given[count + 1] = (struct interval){ mine.low, to };
                mine.low = to + 1;
            }
            sender_p[count] = self;
            receiver_p[count++] = to;
        }
    }
    nf_free(given);
    return NF_OK;
}
