#ifndef NF_TESTS_UNIT_PHASES_WORLD_H
#define NF_TESTS_UNIT_PHASES_WORLD_H
/** @file phases_world.h  A world for farms with jobs of several phases: slaves
 *  that keep results and inputs, and what must hold whatever happens to them.
 */
#include <stdbool.h>
#include "common/farm/farm.h"

enum {
    SLAVES = 5,
    UNITS = 12,
    PHASES = 4,
    LEASES = 512,
    ATTEMPTS = 3,
    SILENCE_US = 1600000000,
};

struct lease {
    uint64_t id, first, count;
    uint32_t phase;
    bool alone; /* of a later phase, and the last attempt */
};

struct slave {
    bool alive;
    bool heard; /* a while after the last one was lost */
    bool result[PHASES][UNITS], input[PHASES][UNITS];
    struct lease queue[LEASES]; /* computed in order */
    size_t head, tail;
};

struct world {
    struct nf_farm *farm;
    int64_t loss_us; /* the last one */
    uint32_t phases, nslaves, slots;
    uint64_t units;
    struct slave slaves[SLAVES];
    bool exchanging, done, broken;
    uint32_t phase; /* of the exchange */
    uint32_t holders[UNITS], homes[UNITS];
    uint32_t accepted[UNITS]; /* in the last phase */
    uint32_t computed[PHASES][UNITS], failed[PHASES][UNITS];
    uint32_t deaths[PHASES][UNITS]; /* of slaves that had it to answer */
    bool gone[PHASES][UNITS];       /* given up */
    uint64_t lost_units;            /* that the last slave lost had to answer */
    uint32_t given_up, exchanges, lost;
    uint64_t given_up_unit;
    uint32_t given_up_phase;
    int64_t now_us;
    uint64_t random;
};

/** Below @p below, at random. */
uint32_t draw(struct world *w, uint32_t below);
/** If that is not so, the world is broken: @p what is printed. */
void expect(struct world *w, bool truth, const char *what);
/** What an event of @p slave brought about. */
void act(struct world *w, const struct nf_actions *acts, uint32_t slave);
/** @p nslaves of two slots join. */
void open_world(struct world *w, const char *spec, uint32_t phases,
                uint32_t nslaves, uint64_t seed);
/** The slave answers its oldest lease; or, if it @p fails, the next unit of it.
 */
void answer(struct world *w, uint32_t slave, bool fails);
void end_exchange(struct world *w, bool well);
void lose(struct world *w, uint32_t slave, enum nf_loss loss);
void come_back(struct world *w, uint32_t slave);
/** Some slave answers, or the exchange ends.  @return false: nothing can happen
 */
bool step(struct world *w);
/** To the end.  @return steps */
uint32_t run(struct world *w);
/** It ended as it should; free it. */
void check_end(struct world *w);
uint32_t count_alive(const struct world *w);
/** Is the oldest lease of this slave this unit? */
bool has_begun(const struct world *w, uint32_t slave, uint32_t phase,
               uint64_t unit);
#endif
