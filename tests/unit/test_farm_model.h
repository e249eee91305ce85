#ifndef NF_TESTS_UNIT_TEST_FARM_MODEL_H
#define NF_TESTS_UNIT_TEST_FARM_MODEL_H
/** @file test_farm_model.h  A model of the farm that is too simple to be wrong:
 *  an array that says what became of each unit, and a list of leases.  Every
 *  event goes to the farm and to the model, and all actions are checked. */
#include "common/farm/farm.h"
#include <inttypes.h>
#include <stdio.h>

enum {
    MAX_UNITS = 40,
    MAX_SLAVES = 5,
    MAX_SLOTS = 12,
    MAX_LEASES = 4096,
};

enum fate { PENDING, DONE, GIVEN_UP };

struct unit {
    enum fate fate;
    bool handed_out;
    uint32_t attempts; /* that ended badly */
    uint32_t silences; /* slaves that it was with when they fell silent */
    bool suspect;
    bool alone; /* must run alone */
    bool fails; /* its kernel returns an error */
    bool kills; /* its slave exits */
    bool held;  /* its result is at slave `holder`, and not home */
    uint32_t holder, delivered;
    /* It was lost with its holder, or leased together with such a unit then.  It
     * is as new for the farm, while leases of old may still have it: what it was
     * blamed for, and who has copies of it, is not looked at any more. */
    bool was_lost;
};

struct lease {
    uint64_t id;
    uint32_t slave, slot;
    uint64_t first, count; /* as sent */
    uint64_t answered;
    int64_t sent_us;
    bool live;
    struct lease *twin; /* the other copy, if both are live */
    bool spoilt;        /* a copy of it ended badly */
    bool stale;         /* a gather began since */
};

struct slave {
    uint32_t nslots; /* 0: never joined */
    uint32_t live_slots;
    bool live;
    int64_t heard_us;
    uint32_t heard_losses; /* how many had been lost a tick before it was heard
                              of, or when it joined */
    /* per slot: a lease of it was cancelled then, and may be computed still */
    bool unsure[MAX_SLOTS];
    int64_t unsure_us[MAX_SLOTS];
};

struct script {
    uint64_t seed, random;
    struct nf_farm *farm;
    struct nf_farm_config config;
    const char *spec;
    bool honest;
    bool trace;
    int64_t now_us, wake_us;
    struct unit units[MAX_UNITS];
    struct slave slaves[MAX_SLAVES];
    struct lease leases[MAX_LEASES];
    uint32_t nleases;
    uint64_t next_fresh, duplicates, sent, copies, cancels;
    uint64_t kills; /* slaves that a unit killed, no copy being left; ... */
    uint64_t unsure_kills; /* ... which may have been computing another one */
    uint32_t lost_slaves;
    int64_t loss_us; /* the last one */
    uint64_t killer; /* the unit that kills, or MAX_UNITS */
    bool over, cancelled;
    bool gathering;
    uint64_t recomputed;
    uint32_t gathers;
    const char *wrong; /* the first law that was broken */
    uint64_t hash;     /* of all actions */
};

#define TRACE(s, ...)                                                          \
    do {                                                                       \
        if ((s)->trace)                                                        \
            fprintf(stderr, __VA_ARGS__);                                      \
    } while (0)

/** A random number below @p below. */
uint64_t draw(struct script *s, uint64_t below);
/** Note the first law that does not hold. */
void require(struct script *s, bool holds, const char *law);
/** Does a live lease, or NULL, have a unit? */
bool has_unit(const struct lease *l, uint64_t unit);
/** The oldest live lease of a slot, or NULL. */
struct lease *oldest(struct script *s, uint32_t slave, uint32_t slot);

/** The model of hearing of a slave. */
void was_heard(struct script *s, uint32_t slave);

/* The events. */
void do_join(struct script *s, uint32_t slave, uint32_t nslots);
void do_lost(struct script *s, uint32_t slave, enum nf_loss loss);
/** An answer to a lease that may be dead: any part of what it was. */
void do_result(struct script *s, struct lease *l, uint64_t first,
               uint64_t count);
void do_failed(struct script *s, struct lease *l);
void do_timer(struct script *s);
void do_cancel(struct script *s);
/** A gather ends; nonsense if none is under way. */
void do_gather_end(struct script *s, bool good);
/** The farm was told nonsense: that must have had no effect. */
void check_refused(struct script *s, enum nf_status status,
                   enum nf_status expected, const struct nf_actions *acts);
#endif
