/* Jobs of several phases: losses of every kind, returns, units that fail,
 * overrun or kill, and exchanges that fail, all at random.  What must hold is
 * in phases_world.c. */
#include "config.h"
#include "tests/unit/nf_unit.h"
#include "tests/unit/phases_world.h"

static const char *const specs[] = { "send", "gss", "static",
                                     "presend:td=auto" };
enum { SPECS = sizeof(specs) / sizeof(specs[0]) };

static struct world world;

/* The unit that it has begun overruns its limit: it is named, and the slave
 * ends. */
static void time_out(struct world *w, uint32_t slave)
{
    if (w->slaves[slave].head < w->slaves[slave].tail)
        answer(w, slave, true);
    if (!w->done)
        lose(w, slave, NF_LOSS_TIMEOUT);
}

/* Some trouble for this slave, if there can be. */
static void trouble(struct world *w, uint32_t slave)
{
    static const enum nf_loss losses[] = { NF_LOSS_EXITED, NF_LOSS_SILENT,
                                           NF_LOSS_LEFT };
    const struct slave *s = &w->slaves[slave];
    uint32_t kind = draw(w, 6);

    if (w->exchanging && draw(w, 4) == 0)
        end_exchange(w, false);
    else if (!s->alive)
        come_back(w, slave);
    else if (kind < 2 && s->head < s->tail)
        answer(w, slave, true);
    else if (count_alive(w) > 1 && kind == 2)
        time_out(w, slave);
    else if (count_alive(w) > 1)
        lose(w, slave, losses[draw(w, 3)]);
}

/* @param bad  a unit of a phase that fails always, or kills; or phases: none */
static void walk(struct world *w, uint32_t troubles, uint32_t bad_phase)
{
    uint64_t bad = draw(w, UNITS);
    bool kills = draw(w, 2);

    for (uint32_t i = 0; i < 4000 && !w->done && !w->broken; i++) {
        uint32_t slave = draw(w, w->nslaves);

        w->now_us += 1000;
        if (has_begun(w, slave, bad_phase, bad) && !kills) {
            answer(w, slave, true);
        } else if (has_begun(w, slave, bad_phase, bad)) {
            lose(w, slave, NF_LOSS_EXITED);
            if (!w->done && count_alive(w) == 0)
                come_back(w, slave);
        } else if (troubles > 0 && draw(w, 6) == 0) {
            troubles--;
            trouble(w, slave);
        } else {
            step(w);
        }
    }
}

static void whatever_happens_it_ends(void)
{
    for (uint64_t seed = 1; seed <= 60000; seed++) {
        struct world *w = &world;
        uint32_t phases = 2 + (uint32_t)(seed % 3);

        open_world(w, specs[seed / 3 % SPECS], phases, SLAVES, seed);
        walk(w, (uint32_t)(seed % 40), draw(w, phases + 1));
        check_end(w);
        if (w->broken) {
            fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
            break;
        }
    }
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "whatever happens it ends", whatever_happens_it_ends },
        CU_TEST_INFO_NULL,
    };
    static CU_SuiteInfo suites[] = {
        { "phases at random", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
