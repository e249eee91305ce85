/* A slave's part in an exchange, alone: what it gives and makes, what it keeps
 * and what it drops. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "common/base/alloc.h"
#include "common/base/endian.h"
#include "slave/exchange.h"
#include "tests/unit/nf_unit.h"

enum { UNITS = 3, PHASES = 3, SLICE_US = 1000000 };
/* Ranks: this one, and another. */
enum { US, THEM, NOBODY = 2 };

static uint8_t holders[4 * UNITS], homes[4 * UNITS];

static void put_rank(uint8_t *list, uint32_t unit, uint32_t rank)
{
    nf_store_le32(list + 4 * unit, rank == NOBODY ? NF_GROUP_NOBODY : rank);
}

/* All units are ours. */
static struct nf_exchange_msg to_us(uint32_t phase)
{
    for (uint32_t i = 0; i < UNITS; i++) {
        put_rank(holders, i, US);
        put_rank(homes, i, US);
    }
    return (struct nf_exchange_msg){ .round = 7,
                                     .phase = phase,
                                     .rank = US,
                                     .count = 1,
                                     .units = UNITS,
                                     .holders = holders,
                                     .homes = homes };
}

static uint64_t scale = 1;

/* Unit u has scale (u + v) numbers for unit v: 100 u + 10 v + k + base. */
static struct nf_pieces make_result(uint64_t u, int64_t base)
{
    struct nf_pieces pieces = { 0 };
    uint64_t bytes[UNITS], sum = 0;
    int64_t *to;

    for (uint64_t v = 0; v < UNITS; v++)
        sum += bytes[v] = scale * (u + v) * sizeof(*to);
    pieces.sizes = nf_sizes_of(bytes, UNITS);
    pieces.data = nf_blob_create((size_t)sum, NF_INT64);
    to = pieces.data->data;
    for (uint64_t v = 0; v < UNITS; v++)
        for (uint64_t k = 0; k < scale * (u + v); k++)
            *to++ = (int64_t)(100 * u + 10 * v + k) + base;
    return pieces;
}

/* What unit u would have, for or from all, is put there as that of @p unit. */
static void store(struct nf_shelf *shelf, uint64_t unit, uint64_t u,
                  int64_t base)
{
    struct nf_pieces pieces = make_result(u, base);

    CU_ASSERT_EQUAL(nf_shelf_put(shelf, unit, &pieces), NF_OK);
    nf_pieces_fini(&pieces);
}

static void store_results(struct nf_stock *stock, uint32_t phase)
{
    for (uint64_t u = 0; u < UNITS; u++)
        store(nf_stock_results(stock, phase), u, u, 0);
}

static bool has(const struct nf_shelf *shelf, uint64_t unit)
{
    return nf_shelf_find(shelf, unit) != NULL;
}

static enum nf_status carry_out(struct nf_exchange *x)
{
    struct nf_request *request = NULL;
    enum nf_status status = NF_WAIT;

    for (int turn = 0; status == NF_WAIT && turn < 100; turn++)
        status = nf_exchange_turn(x, NULL, &request, SLICE_US);
    return status;
}

/* Is it what all units have for unit v? */
static bool is_input(const struct nf_pieces *input, uint64_t v)
{
    const int64_t *in;
    uint64_t at[UNITS + 1], begin = 0;
    static int64_t numbers[1000 * UNITS];

    if (input == NULL || input->data == NULL ||
        !nf_sizes_begins(input->sizes, UNITS, at) ||
        input->data->bytes > sizeof(numbers))
        return false;
    nf_blob_copy_out(input->data, numbers);
    in = numbers;
    for (uint64_t u = 0; u < UNITS; u++) {
        if (at[u] != begin)
            return false;
        for (uint64_t k = 0; k < scale * (u + v); k++)
            if (*in++ != (int64_t)(100 * u + 10 * v + k))
                return false;
        begin += scale * (u + v) * sizeof(*in);
    }
    return at[UNITS] == begin && input->data->bytes == begin;
}

static void one_that_is_alone_gives_all_to_itself(void)
{
    struct nf_stock stock = { 0 };
    struct nf_exchange x = { 0 };

    CU_ASSERT_EQUAL(nf_stock_init(&stock, PHASES, UNITS), NF_OK);
    for (uint32_t phase = 0; phase < PHASES - 1; phase++) {
        struct nf_exchange_msg m = to_us(phase);

        store_results(&stock, phase);
        CU_ASSERT_EQUAL(nf_exchange_begin(&x, &m, &stock, NF_INT64), NF_OK);
        CU_ASSERT_EQUAL(carry_out(&x), NF_OK);
        CU_ASSERT_EQUAL(x.told.round, 7);
        CU_ASSERT_EQUAL(x.told.bytes, 0);
        for (uint64_t v = 0; v < UNITS; v++) {
            const struct nf_pieces *input =
                nf_shelf_find(nf_stock_inputs(&stock, phase + 1), v);

            CU_ASSERT(is_input(input, v));
            CU_ASSERT(input != NULL && input->round == 7);
        }
    }
    nf_exchange_clear(&x);
    nf_stock_fini(&stock);
}

/* An input is where the pieces are: in results, which may go before it. */
static void large_pieces_stay_where_they_are(void)
{
    struct nf_stock stock = { 0 };
    struct nf_exchange x = { 0 };
    struct nf_exchange_msg m = to_us(0);
    struct nf_shelf *inputs, *results;

    scale = 100;
    CU_ASSERT_EQUAL(nf_stock_init(&stock, PHASES, UNITS), NF_OK);
    inputs = nf_stock_inputs(&stock, 1);
    results = nf_stock_results(&stock, 0);
    store_results(&stock, 0);
    CU_ASSERT_EQUAL(nf_exchange_begin(&x, &m, &stock, NF_INT64), NF_OK);
    CU_ASSERT_EQUAL(carry_out(&x), NF_OK);
    nf_exchange_clear(&x);
    for (uint64_t v = 0; v < UNITS; v++) {
        struct nf_blob *data = nf_shelf_find(inputs, v)->data;
        struct nf_blob_reader reader = nf_blob_read(data, NULL);

        CU_ASSERT_FATAL(nf_blob_is_chain(data));
        for (uint64_t u = 0; u < UNITS; u++) {
            struct nf_blob_part part;

            if (u + v == 0)
                continue;
            CU_ASSERT(nf_blob_next(&reader,
                                   scale * (u + v) * sizeof(int64_t), &part));
            CU_ASSERT_PTR_EQUAL(part.owner, nf_shelf_find(results, u)->data);
        }
    }
    for (uint64_t u = 0; u < UNITS; u++)
        nf_shelf_drop(results, u);
    for (uint64_t v = 0; v < UNITS; v++)
        CU_ASSERT(is_input(nf_shelf_find(inputs, v), v));
    nf_stock_fini(&stock);
    scale = 1;
}

/* It is not of the last phase, and of no other job. */
static void what_makes_no_sense_is_refused(void)
{
    static const uint32_t phases[] = { PHASES - 1, PHASES, UINT32_MAX - 1,
                                       UINT32_MAX };
    struct nf_stock stock = { 0 }, other = { 0 };
    struct nf_exchange x = { 0 };
    struct nf_exchange_msg m = to_us(0);

    CU_ASSERT_EQUAL(nf_stock_init(&stock, PHASES, UNITS), NF_OK);
    CU_ASSERT_EQUAL(nf_stock_init(&other, PHASES, UNITS + 1), NF_OK);
    CU_ASSERT_EQUAL(nf_exchange_begin(&x, &m, &other, NF_INT64),
                    NF_ERR_PROTOCOL);
    CU_ASSERT_EQUAL(nf_exchange_begin(&x, &m, &stock, NF_INT64),
                    NF_ERR_FAILED); /* there are no results */
    for (size_t i = 0; i < sizeof(phases) / sizeof(phases[0]); i++) {
        m = to_us(phases[i]);
        CU_ASSERT_EQUAL(nf_exchange_begin(&x, &m, &stock, NF_INT64),
                        NF_ERR_PROTOCOL);
    }
    nf_exchange_clear(&x);
    nf_stock_fini(&stock);
    nf_stock_fini(&other);
}

/* What a late answer puts there is of no effect on what has begun. */
static void answer_late(enum nf_exchange_stage stage)
{
    struct nf_stock stock = { 0 };
    struct nf_exchange x = { 0 };
    struct nf_exchange_msg m = to_us(0);
    struct nf_request *request = NULL;

    CU_ASSERT_EQUAL(nf_stock_init(&stock, PHASES, UNITS), NF_OK);
    store_results(&stock, 0);
    CU_ASSERT_EQUAL(nf_exchange_begin(&x, &m, &stock, NF_INT64), NF_OK);
    while (x.stage < stage) /* each turn goes on until there is much to do */
        CU_ASSERT_EQUAL_FATAL(nf_exchange_turn(&x, NULL, &request, SLICE_US),
                              NF_WAIT);
    CU_ASSERT_EQUAL(x.stage, stage);
    store(nf_stock_results(&stock, 0), 0, 2, 1000); /* larger, too */
    nf_shelf_drop(nf_stock_results(&stock, 0), 1);
    CU_ASSERT_EQUAL(carry_out(&x), NF_OK);
    for (uint64_t v = 0; v < UNITS; v++)
        CU_ASSERT(is_input(nf_shelf_find(nf_stock_inputs(&stock, 1), v), v));
    nf_exchange_clear(&x);
    nf_stock_fini(&stock);
}

static void late_answers_change_nothing(void)
{
    answer_late(NF_EXCHANGE_MEET);
    answer_late(NF_EXCHANGE_LIST);
    answer_late(NF_EXCHANGE_MEASURE);
    answer_late(NF_EXCHANGE_PACK);
    answer_late(NF_EXCHANGE_UNPACK);
}

/* Memory is for what may be asked for again. */
static void what_is_of_no_use_is_dropped(void)
{
    struct nf_stock stock = { 0 };
    struct nf_exchange x = { 0 };
    struct nf_exchange_msg m = to_us(0);

    CU_ASSERT_EQUAL(nf_stock_init(&stock, PHASES, UNITS), NF_OK);
    store_results(&stock, 0);
    store_results(&stock, 1);
    for (uint64_t v = 0; v < UNITS; v++) {
        store(nf_stock_inputs(&stock, 1), v, v, 0);
        store(nf_stock_inputs(&stock, 2), v, v, 0);
    }
    m.count = 2;
    strcpy(m.algorithms, "alltoall.dh:shape=3x4"); /* not for two */
    CU_ASSERT_EQUAL(nf_exchange_begin(&x, &m, &stock, NF_INT64),
                    NF_ERR_PROTOCOL);
    strcpy(m.algorithms, "alltoall.burst");
    put_rank(holders, 2, THEM);
    put_rank(homes, 0, THEM);
    put_rank(homes, 1, NOBODY);
    CU_ASSERT_EQUAL(nf_exchange_begin(&x, &m, &stock, NF_INT64), NF_OK);
    CU_ASSERT(has(nf_stock_results(&stock, 0), 0));
    CU_ASSERT(has(nf_stock_results(&stock, 0), 1));
    CU_ASSERT(!has(nf_stock_results(&stock, 0), 2));
    CU_ASSERT(!has(nf_stock_inputs(&stock, 1), 0));
    CU_ASSERT(has(nf_stock_inputs(&stock, 1), 1));
    CU_ASSERT(!has(nf_stock_inputs(&stock, 1), 2));
    for (uint64_t v = 0; v < UNITS; v++) { /* another phase's */
        CU_ASSERT(has(nf_stock_results(&stock, 1), v));
        CU_ASSERT(has(nf_stock_inputs(&stock, 2), v));
    }
    nf_exchange_clear(&x);
    nf_stock_fini(&stock);
}

/* Units are computed again while an exchange is under way: that is no first phase. */
static void late_results_get_no_room(void)
{
    struct nf_stock stock = { 0 };
    struct nf_exchange x = { 0 };
    struct nf_exchange_msg m = to_us(0);

    CU_ASSERT_EQUAL(nf_stock_init(&stock, PHASES, UNITS), NF_OK);
    store_results(&stock, 0);
    nf_room_warm(&stock.room, 1 << 20, PHASES - 1);
    CU_ASSERT_EQUAL(stock.room.warm_bytes, (PHASES - 1) << 20);
    CU_ASSERT_EQUAL(nf_exchange_begin(&x, &m, &stock, NF_INT64), NF_OK);
    for (int i = 0; i < 20; i++)
        nf_room_warm(&stock.room, 1 << 20, PHASES - 1);
    CU_ASSERT_EQUAL(stock.room.warm_bytes, (PHASES - 1) << 20);
    nf_exchange_clear(&x);
    nf_stock_fini(&stock);
}

/* Tables are others' words. */
static void tables_that_make_no_sense_are_refused(void)
{
    static const struct {
        uint8_t data[12];
        size_t bytes;
    } tables[] = {
        { { 5, 1 }, 2 },                 /* no whole number of elements */
        { { 8, 0 }, 2 },                 /* of nothing */
        { { 8 }, 1 },                    /* no length */
        { { 0x80 }, 1 },                 /* half a number */
        { { 8, UNITS * UNITS + 1 }, 2 }, /* more pieces than there are */
        { { 8, 4, 0, 5, 8, 1 }, 6 },     /* likewise */
        { { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1, 1 }, 11 },
    };

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        struct nf_stock stock = { 0 };
        struct nf_exchange x = { 0 };
        struct nf_exchange_msg m = to_us(0);
        struct nf_request *request = NULL;

        CU_ASSERT_EQUAL(nf_stock_init(&stock, PHASES, UNITS), NF_OK);
        store_results(&stock, 0);
        CU_ASSERT_EQUAL(nf_exchange_begin(&x, &m, &stock, NF_INT64), NF_OK);
        while (x.stage < NF_EXCHANGE_MEASURE)
            CU_ASSERT_EQUAL_FATAL(
                nf_exchange_turn(&x, NULL, &request, SLICE_US), NF_WAIT);
        x.readers[0] = nf_sizes_read(tables[i].data, tables[i].bytes);
        CU_ASSERT_EQUAL(nf_exchange_turn(&x, NULL, &request, SLICE_US),
                        NF_ERR_PROTOCOL);
        nf_exchange_clear(&x);
        nf_stock_fini(&stock);
    }
}

/* In any order; and it takes no memory when all has been dropped. */
static void a_shelf_has_what_was_put_there_last(void)
{
    enum { MANY = 101 };
    struct nf_shelf shelf = { .count = 0 };
    int round = 0;

    for (uint64_t i = 0; i < 2 * MANY; i++) {
        struct nf_pieces pieces = { .round = i };

        pieces.sizes = nf_sizes_of(NULL, 0);
        CU_ASSERT_EQUAL(nf_shelf_put(&shelf, i * 37 % MANY, &pieces), NF_OK);
        nf_pieces_fini(&pieces);
    }
    CU_ASSERT_EQUAL(shelf.count, MANY);
    for (uint64_t i = 0; i < MANY; i++) {
        const struct nf_pieces *got = nf_shelf_find(&shelf, i * 37 % MANY);

        CU_ASSERT(got != NULL && got->round == i + MANY);
    }
    CU_ASSERT(!has(&shelf, MANY));
    for (uint64_t i = 0; i < MANY; i++) {
        nf_shelf_drop(&shelf, i * 12 % MANY);
        CU_ASSERT(!has(&shelf, i * 12 % MANY));
        nf_shelf_drop(&shelf, i * 12 % MANY);
        round += shelf.count == MANY - 1 - i;
    }
    CU_ASSERT_EQUAL(round, MANY);
    CU_ASSERT_PTR_NULL(shelf.list);
}

/* Are all pages there that are its own? */
static bool is_resident(const void *data, size_t bytes)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t from = ((uintptr_t)data + page - 1) / page * page;
    uintptr_t to = ((uintptr_t)data + bytes) / page * page;
    size_t pages = (to - from) / page, there = 0;
    unsigned char *list = calloc(pages, 1);

    if (list == NULL || mincore((void *)from, to - from, list) != 0)
        return false;
    for (size_t i = 0; i < pages; i++)
        there += list[i] & 1;
    free(list);
    return there == pages;
}

/* It is there before it is used. */
static void room_is_there_before_it_is_used(void)
{
    enum { BYTES = 1 << 20, COUNT = 12 * 3 };
    struct nf_room room = { .closed = false };
    struct nf_spare blocks[COUNT];

    nf_spare_clear();
    for (int i = 0; i < 12; i++)
        nf_room_warm(&room, BYTES, 3);
    CU_ASSERT_EQUAL(room.warm_bytes, COUNT * BYTES);
    for (int i = 0; i < COUNT; i++) {
        blocks[i] = nf_room_take((size_t)(BYTES - i));
        CU_ASSERT_PTR_NOT_NULL_FATAL(blocks[i].data);
        CU_ASSERT(is_resident(blocks[i].data, BYTES));
    }
    CU_ASSERT_PTR_NULL(nf_room_take(BYTES).data);
    CU_ASSERT_PTR_NULL(nf_room_take(0).data);
    for (int i = 0; i < COUNT; i++)
        nf_free(blocks[i].data);
    room.closed = true;
    nf_room_warm(&room, BYTES, 3);
    CU_ASSERT_EQUAL(room.warm_bytes, COUNT * BYTES);
    CU_ASSERT_PTR_NULL(nf_room_take(BYTES).data);
}

/* Results that vary in size get what fits best, or the largest, made larger. */
static void room_fits_results_that_vary(void)
{
    enum { KIB = 1024 };
    static const size_t had[] = { 900 * KIB, 300 * KIB, 700 * KIB, 500 * KIB };
    static const size_t want[][2] = { /* bytes, and those of the block, about */
        { 400 * KIB, 500 * KIB }, { 701 * KIB, 900 * KIB },
        { 800 * KIB, 800 * KIB }, { 290 * KIB, 300 * KIB },
    };
    struct nf_room room = { .closed = false };

    nf_spare_clear();
    for (size_t i = 0; i < 4; i++)
        nf_room_warm(&room, had[i], 1);
    CU_ASSERT_PTR_NULL(nf_room_take(2000 * KIB).data);
    for (size_t i = 0; i < 4; i++) {
        struct nf_spare block = nf_room_take(want[i][0]);

        CU_ASSERT(block.bytes >= want[i][1] &&
                  block.bytes < want[i][1] + 8 * KIB);
        memset(block.data, 1, want[i][0]);
        nf_free(block.data);
    }
    CU_ASSERT_PTR_NULL(nf_room_take(1).data);
}

/* Little results, large ones, and what is more than 256 MiB are not waited for. */
static void room_has_limits(void)
{
    struct nf_room room = { .closed = false };

    nf_spare_clear();
    nf_room_warm(&room, 1000, 3);
    nf_room_warm(&room, 0, 3);
    nf_room_warm(&room, SIZE_MAX / 2, 3);
    nf_room_warm(&room, (32 << 20) + 1, 3);
    CU_ASSERT_EQUAL(room.warm_bytes, 0);
    nf_room_warm(&room, 14 << 20, 3); /* so many at once */
    CU_ASSERT_EQUAL(room.warm_bytes, 28 << 20);
    for (int i = 0; i < 50; i++)
        nf_room_warm(&room, 12 << 20, 2);
    CU_ASSERT(room.warm_bytes > 200 << 20);
    CU_ASSERT(room.warm_bytes <= NF_SPARE_MOST_BYTES);
    nf_spare_clear();
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "one that is alone gives all to itself",
          one_that_is_alone_gives_all_to_itself },
        { "large pieces stay where they are",
          large_pieces_stay_where_they_are },
        { "what makes no sense is refused", what_makes_no_sense_is_refused },
        { "late answers change nothing", late_answers_change_nothing },
        { "room is there before it is used", room_is_there_before_it_is_used },
        { "room fits results that vary", room_fits_results_that_vary },
        { "room has limits", room_has_limits },
        { "late results get no room", late_results_get_no_room },
        { "what is of no use is dropped", what_is_of_no_use_is_dropped },
        { "tables that make no sense are refused",
          tables_that_make_no_sense_are_refused },
        { "a shelf has what was put there last",
          a_shelf_has_what_was_put_there_last },
        CU_TEST_INFO_NULL,
    };
    static CU_SuiteInfo suites[] = {
        { "exchange of a slave", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
