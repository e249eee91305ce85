/* The checker of schedules: it says why a wrong one is wrong, it takes what the
 * table makes, and of what is damaged it lets nothing pass that has come to
 * mean something else. */
#include "config.h"
#include <string.h>
#include "common/base/alloc.h"
#include "common/base/rng.h"
#include "tests/unit/coll_meaning.h"
#include "tests/unit/nf_unit.h"

/* ---- small schedules by hand ---- */

static struct nf_coll_faults faults;

static struct nf_coll_claim claim(enum nf_coll_op op, uint32_t ranks,
                                  uint32_t items)
{
    return (struct nf_coll_claim){
        .op = op,
        .ranks = ranks,
        .items = items,
        .ports = NF_PORTS_HALF,
        .order = NF_ORDER_RANKS,
        .orders = 3,
        .seed = 1,
    };
}

/* Is the first fault, of this kind, told by exactly this line?  NULL: there is
 * none.  Takes the schedule. */
static void expect(const struct nf_coll_claim *c, struct nf_schedule *s,
                   enum nf_coll_fault_kind kind, const char *line)
{
    struct nf_error err = { .status = NF_OK };
    enum nf_status status = nf_coll_check(c, s, &faults, &err);

    if (line == NULL) {
        CU_ASSERT_EQUAL(status, NF_OK);
        CU_ASSERT_EQUAL(faults.count, 0);
    } else {
        CU_ASSERT_EQUAL(status, NF_ERR_VERIFY);
        CU_ASSERT(faults.count > 0);
        CU_ASSERT_EQUAL(faults.list[0].kind, kind);
        CU_ASSERT_STRING_EQUAL(faults.list[0].text, line);
        CU_ASSERT_STRING_EQUAL(err.text, line);
        if (status != NF_ERR_VERIFY || strcmp(err.text, line) != 0)
            printf("\n    %s", err.text);
    }
    nf_schedule_fini(s);
}

static void send(struct nf_schedule *s, uint32_t round, uint32_t src,
                 uint32_t dst, uint32_t item, enum nf_coll_action action)
{
    nf_schedule_send(s, round, src, dst, item, 1, action);
}

static void test_messages(void)
{
    struct nf_coll_claim c = claim(NF_COLL_BCAST, 3, 2);
    struct nf_schedule s;

    nf_schedule_init(&s, NF_ALL_RANKS);
    send(&s, 0, 0, 3, 0, NF_COLL_COPY);
    expect(&c, &s, NF_FAULT_RANK, "round 0, 0 -> 3: there are 3 ranks");
    send(&s, 4, 1, 1, 0, NF_COLL_COPY);
    expect(&c, &s, NF_FAULT_SELF, "round 4, 1 -> 1: a rank sends to itself");
    nf_schedule_send(&s, 0, 0, 1, 1, 2, NF_COLL_COPY);
    expect(&c, &s, NF_FAULT_ITEM,
           "round 0, 0 -> 1, item 1: up to item 2, but there are 2");
    send(&s, 0, 0, 1, 1, NF_COLL_COPY);
    nf_schedule_items(&s, 0, 2);
    expect(&c, &s, NF_FAULT_ITEM,
           "round 0, 0 -> 1, item 1: twice in one message");
    nf_schedule_add(&s, 0, 0, 1, NF_COLL_COPY);
    expect(&c, &s, NF_FAULT_NO_ITEM, "round 0, 0 -> 1: carries nothing");
    send(&s, 0, 0, 1, 0, NF_COLL_COPY);
    send(&s, 0, 0, 1, 1, NF_COLL_COPY);
    expect(&c, &s, NF_FAULT_TWIN,
           "round 0, 0 -> 1: two messages of one pair in one round");
    c.items = 0;
    c.op = NF_COLL_BARRIER;
    send(&s, 0, 0, 1, 0, NF_COLL_COPY);
    expect(&c, &s, NF_FAULT_ITEM,
           "round 0, 0 -> 1: up to item 0, but there are 0");
}

static void test_ports(void)
{
    struct nf_coll_claim c = claim(NF_COLL_BCAST, 3, 1);
    struct nf_schedule s;

    c.ports = NF_PORTS_FULL;
    nf_schedule_init(&s, NF_ALL_RANKS);
    send(&s, 0, 0, 1, 0, NF_COLL_COPY);
    send(&s, 0, 0, 2, 0, NF_COLL_COPY);
    expect(&c, &s, NF_FAULT_PORTS,
           "round 0, 0 -> 2: rank 0 sends a second message (full duplex)");
    c.ports = NF_PORTS_MANY;
    send(&s, 0, 0, 1, 0, NF_COLL_COPY);
    send(&s, 0, 0, 2, 0, NF_COLL_COPY);
    expect(&c, &s, 0, NULL);
    c = claim(NF_COLL_ALLREDUCE, 2, 1);
    send(&s, 0, 0, 1, 0, NF_COLL_LEFT);
    send(&s, 0, 1, 0, 0, NF_COLL_RIGHT);
    expect(&c, &s, NF_FAULT_PORTS,
           "round 0, 1 -> 0: rank 1 is in a second message (half duplex)");
    c.ports = NF_PORTS_FULL;
    send(&s, 0, 0, 1, 0, NF_COLL_LEFT);
    send(&s, 0, 1, 0, 0, NF_COLL_RIGHT);
    expect(&c, &s, 0, NULL);
}

static void test_moving(void)
{
    struct nf_coll_claim c = claim(NF_COLL_BCAST, 3, 1);
    struct nf_schedule s;

    nf_schedule_init(&s, NF_ALL_RANKS);
    send(&s, 0, 1, 2, 0, NF_COLL_COPY);
    expect(&c, &s, NF_FAULT_LACKS,
           "round 0, 1 -> 2, item 0: rank 1 does not have what it sends");
    send(&s, 0, 0, 1, 0, NF_COLL_COPY);
    expect(&c, &s, NF_FAULT_RESULT, "item 0: rank 2 ends without it");
    send(&s, 0, 0, 1, 0, NF_COLL_LEFT);
    expect(&c, &s, NF_FAULT_ACTION,
           "round 0, 0 -> 1, item 0: bcast has nothing to combine");
    send(&s, 0, 0, 1, 0, NF_COLL_COPY);
    send(&s, 1, 0, 2, 0, NF_COLL_COPY);
    send(&s, 2, 1, 2, 0, NF_COLL_COPY);
    expect(&c, &s, NF_FAULT_REDUNDANT,
           "round 2, 1 -> 2, item 0: rank 2 had it already");
    c.redundant = true;
    send(&s, 0, 0, 1, 0, NF_COLL_COPY);
    send(&s, 1, 0, 2, 0, NF_COLL_COPY);
    send(&s, 2, 1, 2, 0, NF_COLL_COPY);
    expect(&c, &s, 0, NULL);
    /* the order in which messages are written down does not matter */
    send(&s, 1, 1, 2, 0, NF_COLL_COPY);
    send(&s, 0, 0, 1, 0, NF_COLL_COPY);
    expect(&c, &s, 0, NULL);
}

static void test_combining(void)
{
    struct nf_coll_claim c = claim(NF_COLL_REDUCE, 3, 1);
    struct nf_schedule s;

    nf_schedule_init(&s, NF_ALL_RANKS);
    send(&s, 0, 1, 0, 0, NF_COLL_RIGHT);
    expect(&c, &s, NF_FAULT_RESULT,
           "item 0: rank 0 ends with operands 0-1, want 0-2");
    send(&s, 0, 1, 0, 0, NF_COLL_LEFT);
    expect(&c, &s, NF_FAULT_ORDER,
           "round 0, 1 -> 0, item 0: operands 1-1 do not end where 0-0 begin");
    send(&s, 0, 1, 0, 0, NF_COLL_RIGHT);
    send(&s, 1, 1, 0, 0, NF_COLL_RIGHT);
    expect(&c, &s, NF_FAULT_OPERAND,
           "round 1, 1 -> 0, item 0: operands 0-1 and 1-1 overlap");
    c.order = NF_ORDER_COMMUTATIVE;
    send(&s, 0, 2, 0, 0, NF_COLL_LEFT);
    send(&s, 1, 1, 0, 0, NF_COLL_RIGHT);
    expect(&c, &s, 0, NULL);
    c.op = NF_COLL_SCAN;
    send(&s, 0, 2, 0, 0, NF_COLL_LEFT);
    expect(&c, &s, NF_FAULT_RESULT,
           "item 0: rank 0 ends with the operand of rank 2");
    c.op = NF_COLL_REDUCE;
    send(&s, 0, 1, 0, 0, NF_COLL_RIGHT);
    send(&s, 1, 1, 0, 0, NF_COLL_RIGHT);
    expect(&c, &s, NF_FAULT_OPERAND,
           "round 1, 1 -> 0, item 0: the operand of rank 1 is combined twice");
    send(&s, 0, 1, 0, 0, NF_COLL_RIGHT);
    expect(&c, &s, NF_FAULT_RESULT,
           "item 0: rank 0 ends without the operand of rank 2");
    c = claim(NF_COLL_REDUCE, 3, 1);
    c.root = 1;
    c.order = NF_ORDER_ROTATED;
    send(&s, 0, 2, 1, 0, NF_COLL_RIGHT);
    send(&s, 1, 0, 1, 0, NF_COLL_RIGHT);
    expect(&c, &s, 0, NULL);
}

static void test_car(void)
{
    struct nf_coll_claim c = claim(NF_COLL_SCAN, 3, 1);
    struct nf_schedule s;

    nf_schedule_init(&s, NF_ALL_RANKS);
    send(&s, 0, 0, 1, 0, NF_COLL_LEFT);
    send(&s, 1, 1, 2, 0, NF_COLL_LEFT);
    nf_schedule_car(&s, false, true);
    expect(&c, &s, NF_FAULT_NO_CAR,
           "round 1, 1 -> 2, item 0: rank 1 sends register car, which it never "
           "kept");
    send(&s, 0, 1, 2, 0, NF_COLL_LEFT);
    send(&s, 1, 0, 1, 0, NF_COLL_LEFT);
    nf_schedule_car(&s, true, false);
    send(&s, 2, 1, 2, 0, NF_COLL_LEFT);
    nf_schedule_car(&s, false, true);
    expect(&c, &s, 0, NULL);
}

static void test_barrier(void)
{
    struct nf_coll_claim c = claim(NF_COLL_BARRIER, 3, 0);
    struct nf_schedule s;

    nf_schedule_init(&s, NF_ALL_RANKS);
    nf_schedule_add(&s, 0, 1, 0, NF_COLL_COPY);
    nf_schedule_add(&s, 1, 2, 0, NF_COLL_COPY);
    nf_schedule_add(&s, 2, 0, 1, NF_COLL_COPY);
    expect(&c, &s, NF_FAULT_RESULT,
           "rank 2 leaves and rank 0 may not be there yet");
    nf_schedule_add(&s, 0, 1, 0, NF_COLL_COPY);
    nf_schedule_add(&s, 1, 2, 0, NF_COLL_COPY);
    nf_schedule_add(&s, 2, 0, 1, NF_COLL_COPY);
    nf_schedule_add(&s, 3, 0, 2, NF_COLL_COPY);
    expect(&c, &s, 0, NULL);
}

static void test_exscan(void)
{
    struct nf_coll_claim c = claim(NF_COLL_EXSCAN, 3, 1);
    struct nf_schedule s;

    nf_schedule_init(&s, NF_ALL_RANKS);
    send(&s, 0, 0, 1, 0, NF_COLL_LEFT);
    expect(&c, &s, NF_FAULT_RESULT,
           "item 0: rank 2 ends with nothing, want operands 0-1");
    send(&s, 0, 0, 1, 0, NF_COLL_LEFT);
    send(&s, 1, 1, 2, 0, NF_COLL_LEFT);
    expect(&c, &s, 0, NULL);
}

static void test_alltoall(void)
{
    struct nf_coll_claim c = claim(NF_COLL_ALLTOALL, 2, 4);
    struct nf_schedule s;

    c.ports = NF_PORTS_FULL;
    nf_schedule_init(&s, NF_ALL_RANKS);
    send(&s, 0, 0, 1, 1, NF_COLL_COPY);
    send(&s, 0, 1, 0, 2, NF_COLL_COPY);
    expect(&c, &s, 0, NULL);
    send(&s, 0, 0, 1, 1, NF_COLL_COPY);
    send(&s, 0, 1, 0, 2, NF_COLL_COPY);
    nf_schedule_items(&s, 1, 1);
    expect(&c, &s, NF_FAULT_LACKS,
           "round 0, 1 -> 0, item 1: rank 1 does not have what it sends");
    /* a block that was sent is there no more */
    c = claim(NF_COLL_ALLTOALL, 3, 9);
    send(&s, 0, 0, 1, 1, NF_COLL_COPY);
    send(&s, 1, 0, 2, 1, NF_COLL_COPY);
    expect(&c, &s, NF_FAULT_LACKS,
           "round 1, 0 -> 2, item 1: rank 0 does not have what it sends");
}

/* Two operands that arrive in one round may be combined in either order. */
static void test_arrivals(void)
{
    struct nf_coll_claim c = claim(NF_COLL_REDUCE, 3, 1);
    struct nf_schedule s;

    c.ports = NF_PORTS_MANY;
    nf_schedule_init(&s, NF_ALL_RANKS);
    send(&s, 0, 1, 0, 0, NF_COLL_RIGHT);
    send(&s, 0, 2, 0, 0, NF_COLL_RIGHT);
    expect(&c, &s, NF_FAULT_ORDER,
           "round 0, 2 -> 0, item 0: operands 0-0 do not end where 2-2 begin "
           "(if ranks are not in step)");
    c.order = NF_ORDER_COMMUTATIVE;
    send(&s, 0, 1, 0, 0, NF_COLL_RIGHT);
    send(&s, 0, 2, 0, 0, NF_COLL_RIGHT);
    expect(&c, &s, 0, NULL);
}

static void test_many_faults(void)
{
    struct nf_coll_claim c = claim(NF_COLL_BCAST, 20, 1);
    struct nf_schedule s;

    nf_schedule_init(&s, NF_ALL_RANKS);
    expect(&c, &s, NF_FAULT_RESULT, "item 0: rank 1 ends without it");
    CU_ASSERT_EQUAL(faults.count, 19);
    CU_ASSERT_STRING_EQUAL(faults.list[NF_FAULTS_MAX - 1].text,
                           "item 0: rank 8 ends without it");
}

static void test_no_memory(void)
{
    struct nf_coll_claim c = claim(NF_COLL_ALLREDUCE, 2, 1);
    enum nf_status status = NF_ERR_NOMEM;
    struct nf_schedule s;
    struct nf_error err;
    long n = 0;

    c.ports = NF_PORTS_FULL;
    nf_schedule_init(&s, NF_ALL_RANKS);
    send(&s, 0, 0, 1, 0, NF_COLL_LEFT);
    send(&s, 0, 1, 0, 0, NF_COLL_RIGHT);
    for (; n < 100 && status == NF_ERR_NOMEM; n++) {
        nf_alloc_fail_after(n);
        status = nf_coll_check(&c, &s, &faults, &err);
        nf_alloc_fail_after(-1);
    }
    CU_ASSERT_EQUAL(status, NF_OK);
    CU_ASSERT(n > 10);
    nf_schedule_fini(&s);
}

/* ---- the whole table ---- */

static bool has_root(enum nf_coll_op op)
{
    return op == NF_COLL_BCAST || op == NF_COLL_REDUCE ||
           op == NF_COLL_GATHER || op == NF_COLL_SCATTER;
}

static size_t checked;

static void check_one(const struct nf_coll_algorithm *algorithm,
                      const struct nf_coll_args *args)
{
    struct nf_coll_claim c = nf_coll_claim_of(algorithm, args);
    struct nf_schedule s;
    struct nf_error err;

    c.orders = args->ranks <= 9 ? 6 : args->ranks <= 33 ? 2 : 1;
    c.seed = args->ranks;
    if (nf_coll_make(algorithm, args, NF_ALL_RANKS, &s, &err) != NF_OK ||
        nf_coll_check(&c, &s, &faults, &err) != NF_OK)
        printf("\n    %s P=%u root=%u k=%u: %s", algorithm->name, args->ranks,
               args->root, args->segments, err.text);
    else
        checked++;
    nf_schedule_fini(&s);
}

/* @return how many there are */
static size_t check_all(const struct nf_coll_algorithm *algorithm,
                        uint32_t ranks)
{
    static const uint32_t segments[] = { 1, 2, 3, 4, 7, 16, 33 };
    const uint32_t roots[] = { 0, 1 % ranks, ranks / 2, ranks - 1 };
    size_t nk = algorithm->items == NF_ITEMS_SEGMENTS ? 7 : 1, tried = 0;
    size_t nroots = has_root(algorithm->op) ? 4 : 1;

    if (nf_coll_fits(algorithm,
                     &(struct nf_coll_args){ .ranks = ranks, .segments = 1 },
                     NULL) != NF_OK)
        return 0;
    for (size_t r = 0; r < nroots; r++)
        for (size_t k = 0; k < nk; k++, tried++)
            check_one(algorithm,
                      &(struct nf_coll_args){ .ranks = ranks,
                                              .root = roots[r],
                                              .segments = segments[k] });
    return tried;
}

static void test_table(void)
{
    size_t tried = 0;

    checked = 0;
    for (size_t i = 0; nf_coll_table[i] != NULL; i++)
        for (uint32_t ranks = 1; ranks <= 64; ranks++)
            tried += check_all(nf_coll_table[i], ranks);
    printf("%zu schedules ", checked);
    CU_ASSERT(tried > 0);
    CU_ASSERT_EQUAL(checked, tried);
}

/* ---- damage ---- */

enum damage {
    DROP,
    TURN_ROUND,
    OTHER_ITEM,
    TWICE_AT_ONCE,
    TWICE_LATER,
    OTHER_ACTION,
    OTHER_ROUND,
    OTHER_DESTINATION,
    OTHER_SOURCE,
    OTHER_KEEP,
    OTHER_REGISTER,
    DAMAGES,
};

static const char *const damage_names[DAMAGES] = {
    [DROP] = "message dropped",
    [TURN_ROUND] = "source and destination swapped",
    [OTHER_ITEM] = "another item",
    [TWICE_AT_ONCE] = "sent twice in its round",
    [TWICE_LATER] = "sent once more later",
    [OTHER_ACTION] = "another action",
    [OTHER_ROUND] = "another round",
    [OTHER_DESTINATION] = "another destination",
    [OTHER_SOURCE] = "another source",
    [OTHER_KEEP] = "kept in car or not",
    [OTHER_REGISTER] = "sent from the other register",
};

/* What became of the damaged schedules. */
static struct {
    size_t rejected; /* means something else, and is not right */
    size_t stricter; /* means the same, but breaks another promise */
    size_t accepted; /* means the same */
    size_t missed;   /* means something else, and was taken for right */
} fates[DAMAGES];

static uint32_t other(struct nf_rng *rng, uint32_t value, uint32_t below)
{
    uint32_t got = (uint32_t)nf_rng_below(rng, below - 1);

    return got >= value ? got + 1 : got;
}

static bool damage_item(const struct nf_coll_claim *c, struct nf_schedule *s,
                        struct nf_coll_message *message, struct nf_rng *rng)
{
    struct nf_coll_span *span;

    if (message->nspans == 0)
        return false;
    span =
        &s->spans[message->first_span + nf_rng_below(rng, message->nspans)];
    if (c->items == span->count)
        return false;
    span->first = other(rng, span->first, c->items - span->count + 1);
    return true;
}

static void duplicate(struct nf_schedule *s, size_t m, uint32_t later)
{
    struct nf_coll_message twin = s->messages[m];

    nf_schedule_add(s, 0, 0, 0, NF_COLL_COPY);
    twin.round += later;
    s->messages[s->count - 1] = twin;
}

/* @return false if this cannot be done to the message */
static bool apply(enum damage damage, const struct nf_coll_claim *c,
                  struct nf_schedule *s, size_t m, struct nf_rng *rng)
{
    struct nf_coll_message *message = &s->messages[m];
    uint32_t src = message->src, rounds = nf_schedule_rounds(s);

    switch (damage) {
    case DROP:
        *message = s->messages[--s->count];
        return true;
    case TURN_ROUND:
        message->src = message->dst;
        message->dst = src;
        return true;
    case OTHER_ITEM:
        return damage_item(c, s, message, rng);
    case TWICE_AT_ONCE:
        duplicate(s, m, 0);
        return true;
    case TWICE_LATER:
        duplicate(s, m, 1 + (uint32_t)nf_rng_below(rng, rounds));
        return true;
    case OTHER_ACTION:
        message->action = other(rng, message->action, 3);
        return c->op != NF_COLL_BARRIER;
    case OTHER_ROUND:
        message->round = other(rng, message->round, rounds + 1);
        return true;
    case OTHER_DESTINATION:
        message->dst = other(rng, message->dst, c->ranks);
        return message->dst != src && c->ranks > 2;
    case OTHER_SOURCE:
        message->src = other(rng, src, c->ranks);
        return message->src != message->dst && c->ranks > 2;
    case OTHER_KEEP:
        message->keep = !message->keep;
        return true;
    case OTHER_REGISTER:
        message->from_car = !message->from_car;
        return true;
    default:
        return false;
    }
}

static void judge(enum damage damage, const struct nf_coll_claim *c,
                  const struct nf_schedule *s, const char *name)
{
    bool same = coll_meaning_holds(c, s);
    bool right = nf_coll_check(c, s, &faults, NULL) == NF_OK;

    /* a message that nobody misses is only where there may be such */
    if (damage == DROP && same && right)
        CU_ASSERT(c->redundant || c->op == NF_COLL_BARRIER);
    if (same && right)
        fates[damage].accepted++;
    else if (same)
        fates[damage].stricter++;
    else if (!right)
        fates[damage].rejected++;
    else {
        if (fates[damage].missed++ < 10)
            printf("\n    not found: %s, P=%u root=%u items=%u: %s", name,
                   c->ranks, c->root, c->items, damage_names[damage]);
    }
}

static void damage_one(const struct nf_coll_algorithm *algorithm,
                       const struct nf_coll_args *args, struct nf_rng *rng)
{
    enum { TRIES = 6 };
    struct nf_coll_claim c = nf_coll_claim_of(algorithm, args);
    struct nf_schedule s;
    struct nf_error err;

    c.channel_messages = 0; /* routes would tell before the values do */
    for (int damage = 0; damage < DAMAGES; damage++)
        for (int i = 0; i < TRIES; i++) {
            if (nf_coll_make(algorithm, args, NF_ALL_RANKS, &s, &err) ==
                    NF_OK &&
                s.count > 0 &&
                apply((enum damage)damage, &c, &s, nf_rng_below(rng, s.count),
                      rng))
                judge((enum damage)damage, &c, &s, algorithm->name);
            nf_schedule_fini(&s);
        }
}

static void test_damage(void)
{
    static const uint32_t ranks[] = { 2, 3, 4, 5, 6, 7, 8, 9, 13 };
    struct nf_rng rng = { .state = 4 };
    size_t missed = 0;

    memset(fates, 0, sizeof(fates));
    for (size_t i = 0; nf_coll_table[i] != NULL; i++)
        for (size_t p = 0; p < sizeof(ranks) / sizeof(ranks[0]); p++)
            for (uint32_t k = 1; k <= 3; k += 2) {
                const struct nf_coll_args args = {
                    .ranks = ranks[p],
                    .root = has_root(nf_coll_table[i]->op) ? k % ranks[p] : 0,
                    .segments = k,
                };

                damage_one(nf_coll_table[i], &args, &rng);
            }
    printf("\n    %-32s%9s%9s%9s%9s\n", "", "rejected", "stricter", "harmless",
           "missed");
    for (int i = 0; i < DAMAGES; i++) {
        printf("    %-32s%9zu%9zu%9zu%9zu\n", damage_names[i],
               fates[i].rejected, fates[i].stricter, fates[i].accepted,
               fates[i].missed);
        CU_ASSERT(fates[i].rejected + fates[i].stricter > 0);
        missed += fates[i].missed;
    }
    CU_ASSERT_EQUAL(missed, 0);
    /* nothing that is sent twice in one round is right */
    CU_ASSERT_EQUAL(fates[TWICE_AT_ONCE].accepted, 0);
}

int main(void)
{
    CU_TestInfo faulty[] = {
        { "messages that cannot be", test_messages },
        { "more messages than ports", test_ports },
        { "moving what is not there, twice, or not at all", test_moving },
        { "operands missing, twice, in the wrong order", test_combining },
        { "register car", test_car },
        { "a barrier that does not wait", test_barrier },
        { "an exclusive scan", test_exscan },
        { "blocks of pairs", test_alltoall },
        { "arrivals in another order", test_arrivals },
        { "more faults than are told", test_many_faults },
        { "out of memory", test_no_memory },
        CU_TEST_INFO_NULL,
    };
    CU_TestInfo table[] = {
        { "every schedule of the table is right, P = 1..64", test_table },
        { "damaged schedules are found out", test_damage },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "faults", NULL, NULL, NULL, NULL, faulty },
        { "table", NULL, NULL, NULL, NULL, table },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
