/* Who asks for word of whom, and who tells whom: meshes of many members in
 * virtual time, in which any end at any moment, and word of it travels for as
 * long as it likes.  And the map in which they find each other. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/int_map.h"
#include "common/base/rng.h"
#include "common/net/mesh_lookout.h"
#include "tests/unit/nf_unit.h"

enum {
    MEMBERS_MOST = 300,
    DELAY_US = 1000,  /* the most that word travels */
    KILLS_US = 20000, /* within which all die that do */
    SETTLE_US = 5000, /* after which somebody closed is replaced */
};

enum kind { NOTICE, WORD, GOODBYE, DEATH, CLOSE, SETTLED };

struct happening {
    struct happening *next;
    int64_t at_us;
    enum kind kind;
    uint32_t to, about;
    uint8_t said[(MEMBERS_MOST + 7) / 8];
};

struct world {
    uint32_t ranks;
    struct nf_rng rng;
    int64_t now_us;
    struct happening *happenings; /* by time */
    struct nf_lookout members[MEMBERS_MOST];
    bool dead[MEMBERS_MOST], closed[MEMBERS_MOST];
    bool busy[MEMBERS_MOST]; /* hears, asks and says nothing */
    bool settling[MEMBERS_MOST];
    bool asked[MEMBERS_MOST][MEMBERS_MOST];
    uint32_t told[MEMBERS_MOST][MEMBERS_MOST];
    uint32_t nasked[MEMBERS_MOST], nwords;
};

static struct happening *happen_at(struct world *w, enum kind kind,
                                   uint32_t to, uint32_t about, int64_t at_us)
{
    struct happening *h = calloc(1, sizeof(*h)), **at = &w->happenings;

    h->at_us = at_us;
    h->kind = kind;
    h->to = to;
    h->about = about;
    while (*at != NULL && (*at)->at_us <= h->at_us)
        at = &(*at)->next;
    h->next = *at;
    *at = h;
    return h;
}

/* Within that time. */
static struct happening *happen(struct world *w, enum kind kind, uint32_t to,
                                uint32_t about, int64_t most_us)
{
    return happen_at(w, kind, to, about,
                     w->now_us + 1 +
                         (int64_t)nf_rng_below(&w->rng, (uint64_t)most_us));
}

/* What mesh_pvm_watch.c does when something is due. */
static void act(struct world *w, uint32_t r)
{
    const struct nf_lookout *l = &w->members[r];

    for (uint32_t i = 0; i < w->ranks && !w->busy[r]; i++) {
        if (nf_lookout_asks(l, i) && !w->asked[r][i]) {
            w->asked[r][i] = true;
            w->nasked[r]++;
            if (w->dead[i])
                happen(w, NOTICE, r, i, DELAY_US);
        }
        if (i != r && nf_lookout_tells(l) && !nf_lookout_says(l->gone, i) &&
            w->told[r][i] != l->nended) {
            w->told[r][i] = l->nended;
            w->nwords++;
            memcpy(happen(w, WORD, i, r, DELAY_US)->said, l->ended,
                   nf_lookout_bytes(w->ranks));
        }
    }
}

static void begin(struct world *w, uint32_t ranks, uint64_t seed)
{
    memset(w, 0, sizeof(*w));
    w->ranks = ranks;
    w->rng.state = seed;
    for (uint32_t r = 0; r < ranks; r++)
        CU_ASSERT(nf_lookout_init(&w->members[r], r, ranks));
    for (uint32_t r = 0; r < ranks; r++)
        act(w, r);
}

static void end(struct world *w)
{
    for (uint32_t r = 0; r < w->ranks; r++)
        nf_lookout_fini(&w->members[r]);
}

/* What that member, or its host, says. */
static enum nf_lookout_due hear(struct world *w, const struct happening *h)
{
    struct nf_lookout *l = &w->members[h->to];
    enum nf_lookout_due due = NF_LOOKOUT_NOTHING;

    if (h->kind == SETTLED) {
        w->settling[h->to] = false;
        nf_lookout_settle(l);
        return NF_LOOKOUT_NOW;
    }
    if (h->kind == GOODBYE)
        return nf_lookout_note(l, h->about, NF_LOOKOUT_CLOSED);
    if (h->kind == NOTICE)
        return nf_lookout_note(l, h->about, NF_LOOKOUT_ENDED);
    for (uint32_t i = 0; i < w->ranks; i++)
        if (i != h->to && nf_lookout_says(h->said, i)) {
            enum nf_lookout_due also = nf_lookout_note(l, i, NF_LOOKOUT_TOLD);

            due = also > due ? also : due;
        }
    return due;
}

static void carry_out(struct world *w, const struct happening *h)
{
    enum nf_lookout_due due;

    if (h->kind == DEATH) {
        w->dead[h->about] = true;
        for (uint32_t r = 0; r < w->ranks; r++)
            if (w->asked[r][h->about])
                happen(w, NOTICE, r, h->about, DELAY_US);
        return;
    }
    if (h->kind == CLOSE) {
        w->closed[h->about] = true;
        for (uint32_t r = 0; r < w->ranks && !w->dead[h->about]; r++)
            if (r != h->about)
                happen(w, GOODBYE, r, h->about, DELAY_US);
        return;
    }
    if (w->dead[h->to] || w->closed[h->to])
        return;
    /* what somebody said just before it ended may be lost with it */
    if (h->kind == WORD && w->dead[h->about] && nf_rng_below(&w->rng, 2) == 0)
        return;
    due = hear(w, h);
    if (due == NF_LOOKOUT_SOON && !w->settling[h->to])
        happen_at(w, SETTLED, h->to, 0, w->now_us + SETTLE_US);
    w->settling[h->to] = w->settling[h->to] || due == NF_LOOKOUT_SOON;
    if (due == NF_LOOKOUT_NOW)
        act(w, h->to);
}

static void run(struct world *w)
{
    while (w->happenings != NULL) {
        struct happening *h = w->happenings;

        w->happenings = h->next;
        w->now_us = h->at_us;
        carry_out(w, h);
        free(h);
    }
}

/* Everybody that is there knows of each end, and of no other, and has it from PVM.
 * @return members for which that is not so */
static uint32_t count_wrong(const struct world *w)
{
    uint32_t wrong = 0;

    for (uint32_t r = 0; r < w->ranks; r++) {
        bool right = true;

        for (uint32_t i = 0; i < w->ranks; i++)
            right = right &&
                    nf_lookout_says(w->members[r].ended, i) ==
                        (w->dead[i] && !w->closed[i]) &&
                    nf_lookout_says(w->members[r].ended, i) ==
                        nf_lookout_says(w->members[r].certain, i);
        wrong += !right && !w->dead[r] && !w->closed[r];
    }
    return wrong;
}

/* The lowest that is there. */
static uint32_t first_of(const struct world *w)
{
    uint32_t r = 0;

    while (r < w->ranks && (w->dead[r] || w->closed[r]))
        r++;
    return r;
}

static const uint32_t sizes[] = { 129, 130, 137, 200, 256, 300 };
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static struct world w;

/* ------------------------------------------------------------------ tests */

static void few_members_ask_for_all(void)
{
    begin(&w, NF_LOOKOUT_ALONE_MOST, 1);
    for (uint32_t k = 0; k < 40; k++)
        happen(&w, DEATH, 0, 3 * k, KILLS_US);
    run(&w);
    CU_ASSERT_EQUAL(count_wrong(&w), 0);
    CU_ASSERT_EQUAL(w.nwords, 0);
    for (uint32_t r = 0; r < w.ranks; r++) {
        CU_ASSERT_EQUAL(w.nasked[r], w.ranks - 1);
        CU_ASSERT_FALSE(nf_lookout_is_partial(&w.members[r]));
    }
    end(&w);
}

static void of_many_only_the_first_does(void)
{
    for (size_t s = 0; s < SIZES; s++) {
        uint32_t last = sizes[s] - 1;

        begin(&w, sizes[s], 1);
        happen(&w, DEATH, 0, last, KILLS_US);
        run(&w);
        CU_ASSERT_EQUAL(count_wrong(&w), 0);
        CU_ASSERT_EQUAL(w.nasked[0], last);
        for (uint32_t r = 1; r < last; r++)
            CU_ASSERT_EQUAL(w.nasked[r], NF_LOOKOUT_FIRSTS + 1);
        CU_ASSERT_EQUAL(w.nwords, last - 1);
        end(&w);
    }
}

/* @param low  mostly the first ones */
static void kill_some(uint32_t count, bool low)
{
    for (uint32_t k = 0; k < count; k++) {
        uint32_t below = low && nf_rng_below(&w.rng, 4) > 0 ? 12 : w.ranks - 1;

        happen(&w, DEATH, 0, (uint32_t)nf_rng_below(&w.rng, below), KILLS_US);
    }
}

/* Notices are about 3 P, and P for each one that took over, not P * P. */
static void all_ends_are_known_whoever_ends(void)
{
    for (uint64_t seed = 1; seed <= 120; seed++) {
        uint32_t count = (uint32_t)(seed % 25), ndead = 0, first;

        begin(&w, sizes[seed % SIZES], seed);
        kill_some(count, seed % 2 == 0);
        run(&w);
        CU_ASSERT_EQUAL(count_wrong(&w), 0);
        first = first_of(&w);
        for (uint32_t r = 0; r < w.ranks; r++)
            ndead += w.dead[r];
        for (uint32_t r = first + 1; r < w.ranks; r++)
            CU_ASSERT(w.nasked[r] <= NF_LOOKOUT_FIRSTS + ndead);
        CU_ASSERT(w.nasked[first] >= w.ranks - 1 - ndead);
        end(&w);
    }
}

static void a_host_with_all_the_first_ends(void)
{
    for (size_t s = 0; s < SIZES; s++) {
        begin(&w, sizes[s], s + 1);
        for (uint32_t r = 0; r < 32; r++)
            happen(&w, DEATH, 0, r, s % 2 == 0 ? 1 : DELAY_US);
        happen(&w, DEATH, 0, 100, KILLS_US);
        run(&w);
        CU_ASSERT_EQUAL(count_wrong(&w), 0);
        CU_ASSERT_EQUAL(first_of(&w), 32);
        end(&w);
    }
}

/* One that has closed its mesh is told nothing, and tells nothing. */
static void first_ones_close_while_others_end(void)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        begin(&w, sizes[seed % SIZES], seed);
        for (uint32_t r = 0; r < seed % 9; r++)
            happen(&w, CLOSE, 0, r, KILLS_US);
        for (uint32_t k = 0; k < 10; k++)
            happen(&w, DEATH, 0,
                   9 + (uint32_t)nf_rng_below(&w.rng, w.ranks - 10), KILLS_US);
        run(&w);
        CU_ASSERT_EQUAL(count_wrong(&w), 0);
        end(&w);
    }
}

/* As many requests as before for each while that it takes, and not one of each for
 * each that is left.  Each ends soon after, which those who asked before hear. */
static void members_close_in_the_order_of_ranks(void)
{
    enum { EVERY_US = 100 };

    for (size_t s = 0; s < SIZES; s++) {
        uint32_t ranks = sizes[s], nasked = 0, whiles;

        begin(&w, ranks, s + 1);
        for (uint32_t r = 0; r + 10 < ranks; r++) {
            happen_at(&w, CLOSE, 0, r, (r + 1) * EVERY_US);
            happen_at(&w, DEATH, 0, r, (r + 1) * EVERY_US + 2 * DELAY_US);
        }
        happen(&w, DEATH, 0, ranks - 5, KILLS_US);
        run(&w);
        for (uint32_t r = ranks - 10; r < ranks; r++)
            CU_ASSERT(w.dead[r] ||
                      nf_lookout_says(w.members[r].certain, ranks - 5));
        for (uint32_t r = 0; r < ranks; r++)
            nasked += w.nasked[r];
        whiles = 2 + (ranks * EVERY_US + DELAY_US) / SETTLE_US;
        CU_ASSERT(nasked <= whiles * (NF_LOOKOUT_FIRSTS + 1) * ranks);
        if (nasked > whiles * (NF_LOOKOUT_FIRSTS + 1) * ranks ||
            getenv("NF_SHOW") != NULL)
            printf("\n    of %u members %u requests", ranks, nasked);
        end(&w);
    }
}

/* Of a goodbye that only the first ones have heard, and no more: not that its
 * sender has ended since. */
static void one_that_said_goodbye_ends(void)
{
    begin(&w, 200, 1);
    for (uint32_t r = 0; r < 2; r++)
        CU_ASSERT_EQUAL(
            nf_lookout_note(&w.members[r], 150, NF_LOOKOUT_CLOSED),
            NF_LOOKOUT_NOTHING);
    happen(&w, DEATH, 0, 0, 1);
    run(&w);
    CU_ASSERT(nf_lookout_asks(&w.members[1], 150));
    happen(&w, DEATH, 0, 150, 1);
    run(&w);
    CU_ASSERT_EQUAL(count_wrong(&w), 0);
    end(&w);
}

/* Who is told asks, and goes by the answer: told of one that lives, it gets none. */
static void what_is_told_is_asked_for(void)
{
    struct happening *word;

    begin(&w, 200, 1);
    word = happen(&w, WORD, 7, 0, 1);
    word->said[150 / 8] = 1 << 150 % 8;
    run(&w);
    CU_ASSERT(nf_lookout_says(w.members[7].ended, 150));
    CU_ASSERT_FALSE(nf_lookout_says(w.members[7].certain, 150));
    CU_ASSERT_EQUAL(w.nasked[7], NF_LOOKOUT_FIRSTS + 1);
    CU_ASSERT(w.asked[7][150]);
    happen(&w, DEATH, 0, 150, 1);
    run(&w);
    CU_ASSERT_EQUAL(count_wrong(&w), 0);
    CU_ASSERT_FALSE(nf_lookout_asks(&w.members[7], 150));
    end(&w);
}

/* A first one that computes tells nobody: who waits asks for itself. */
static void who_waits_asks_though_the_first_is_busy(void)
{
    begin(&w, 200, 1);
    w.busy[0] = true;
    happen(&w, DEATH, 0, 150, 1);
    run(&w);
    CU_ASSERT_FALSE(nf_lookout_says(w.members[7].ended, 150));
    CU_ASSERT(nf_lookout_suspect(&w.members[7], 150));
    act(&w, 7);
    run(&w);
    CU_ASSERT(nf_lookout_says(w.members[7].ended, 150));
    CU_ASSERT_FALSE(nf_lookout_says(w.members[8].ended, 150));
    CU_ASSERT_EQUAL(w.nasked[7], NF_LOOKOUT_FIRSTS + 1);
    /* of itself, of one that it watches, of one that has ended, again */
    CU_ASSERT_FALSE(nf_lookout_suspect(&w.members[7], 7));
    CU_ASSERT_FALSE(nf_lookout_suspect(&w.members[7], 1));
    CU_ASSERT_FALSE(nf_lookout_suspect(&w.members[7], 150));
    CU_ASSERT(nf_lookout_suspect(&w.members[7], 151));
    CU_ASSERT_FALSE(nf_lookout_suspect(&w.members[7], 151));
    w.busy[0] = false;
    act(&w, 0);
    run(&w);
    CU_ASSERT_EQUAL(count_wrong(&w), 0);
    end(&w);
}

static void a_lookout_needs_memory(void)
{
    struct nf_lookout lookout;

    nf_alloc_fail_after(0);
    CU_ASSERT_FALSE(nf_lookout_init(&lookout, 0, 200));
    nf_alloc_fail_after(-1);
    nf_lookout_fini(&lookout);
}

/* ------------------------------------------------------------------ a map */

static void a_map_is_as_a_list(void)
{
    enum { KEYS = 1000, TURNS = 20000 };
    static uint32_t values[KEYS];
    struct nf_int_map map = { .capacity = 0 };
    struct nf_rng rng = { .state = 5 };

    memset(values, 0xff, sizeof(values));
    for (uint32_t n = 0; n < TURNS; n++) {
        uint32_t k = (uint32_t)nf_rng_below(&rng, KEYS);
        int key = (int)(k % 7 * 0x40000 + k) + 1; /* as tids on some hosts */

        if (nf_rng_below(&rng, 3) > 0) {
            CU_ASSERT_EQUAL(nf_int_map_put(&map, key, n), NF_OK);
            values[k] = n;
        } else {
            nf_int_map_drop(&map, key);
            values[k] = NF_INT_MAP_NONE;
        }
        k = (uint32_t)nf_rng_below(&rng, KEYS);
        key = (int)(k % 7 * 0x40000 + k) + 1;
        CU_ASSERT_EQUAL(nf_int_map_get(&map, key), values[k]);
    }
    CU_ASSERT(map.used <= map.capacity / 2 && map.capacity <= 4096);
    CU_ASSERT_EQUAL(nf_int_map_get(&map, 0), NF_INT_MAP_NONE);
    CU_ASSERT_EQUAL(nf_int_map_get(&map, -5), NF_INT_MAP_NONE);
    nf_int_map_fini(&map);
}

/* New keys for dropped ones, for ever. */
static void what_was_dropped_takes_no_room(void)
{
    struct nf_int_map map = { .capacity = 0 };

    for (int key = 1; key < 100000; key++) {
        CU_ASSERT_EQUAL(nf_int_map_put(&map, key, 1), NF_OK);
        nf_int_map_drop(&map, key - 10);
    }
    CU_ASSERT(map.capacity <= 128);
    nf_int_map_fini(&map);
}

static void a_map_without_memory_is_as_it_was(void)
{
    struct nf_int_map map = { .capacity = 0 };

    CU_ASSERT_EQUAL(nf_int_map_put(&map, 7, 1), NF_OK);
    nf_alloc_fail_after(0);
    CU_ASSERT_EQUAL(nf_int_map_reserve(&map, 100), NF_ERR_NOMEM);
    CU_ASSERT_EQUAL(nf_int_map_put(&map, 7, 2), NF_OK);
    CU_ASSERT_EQUAL(nf_int_map_put(&map, 8, 3), NF_OK);
    nf_alloc_fail_after(-1);
    CU_ASSERT_EQUAL(nf_int_map_reserve(&map, 100), NF_OK);
    nf_alloc_fail_after(0);
    for (int key = 100; key < 200; key++)
        CU_ASSERT_EQUAL(nf_int_map_put(&map, key, 4), NF_OK);
    nf_alloc_fail_after(-1);
    CU_ASSERT_EQUAL(nf_int_map_get(&map, 7), 2);
    CU_ASSERT_EQUAL(nf_int_map_get(&map, 8), 3);
    nf_int_map_fini(&map);
}

int main(void)
{
    CU_TestInfo lookout[] = {
        { "few members ask for word of all", few_members_ask_for_all },
        { "of many only the first does", of_many_only_the_first_does },
        { "all ends are known, whoever ends", all_ends_are_known_whoever_ends },
        { "a host with all the first ones ends",
          a_host_with_all_the_first_ends },
        { "first ones close while others end",
          first_ones_close_while_others_end },
        { "members close in the order of ranks",
          members_close_in_the_order_of_ranks },
        { "one that said goodbye ends", one_that_said_goodbye_ends },
        { "what is told is asked for", what_is_told_is_asked_for },
        { "who waits asks, though the first is busy",
          who_waits_asks_though_the_first_is_busy },
        { "a lookout needs memory", a_lookout_needs_memory },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo map[] = {
        { "a map is as a list", a_map_is_as_a_list },
        { "what was dropped takes no room", what_was_dropped_takes_no_room },
        { "a map without memory is as it was",
          a_map_without_memory_is_as_it_was },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "word of ends", NULL, NULL, NULL, NULL, lookout },
        { "maps of numbers", NULL, NULL, NULL, NULL, map },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
