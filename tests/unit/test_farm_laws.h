#ifndef NF_TESTS_UNIT_TEST_FARM_LAWS_H
#define NF_TESTS_UNIT_TEST_FARM_LAWS_H
/** @file test_farm_laws.h  Between the two halves of the model. */
#include "tests/unit/test_farm_model.h"

/** What an event may settle; the model's part of it is done before. */
struct due {
    uint64_t first, count; /* these pending ones are to be accepted */
    uint32_t slave;        /* who has them */
    uint64_t give_up;      /* this one is to be given up, or MAX_UNITS */
    struct lease *loser;   /* this one is to be cancelled, if it has become
                              useless and is not being computed; or NULL */
};

/** Check what the farm did in an event, and its counts. */
void check(struct script *s, enum nf_status status,
           const struct nf_actions *acts, struct due due);
void check_stats(struct script *s);
/** Was some unit of it lost with a holder?  See struct unit. */
bool is_muddled(const struct script *s, const struct lease *l);
/** The model of losing a slave. */
void take_back(struct script *s, uint32_t slave, enum nf_loss loss,
               struct due *due);
#endif
