/* Sizes of pieces in few bytes: what is written is read, and nonsense is found.
 */
#include "config.h"
#include <string.h>
#include "slave/sizes.h"
#include "tests/unit/nf_unit.h"

enum { MOST = 300 };

static uint64_t random_state;

static uint64_t draw(uint64_t below)
{
    random_state =
        random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (random_state >> 20) % below;
}

/* @return bytes that it takes; SIZE_MAX: what was read is something else */
static size_t there_and_back(const uint64_t *bytes, uint64_t count)
{
    uint64_t at[MOST + 1], sum = 0;
    struct nf_blob *sizes = nf_sizes_of(bytes, count);
    bool good = nf_sizes_begins(sizes, count, at);
    size_t taken = sizes->bytes;

    for (uint64_t i = 0; i < count; i++) {
        good = good && at[i] == sum;
        sum += bytes[i];
    }
    good = good && at[count] == sum;
    nf_blob_unref(sizes);
    return good ? taken : SIZE_MAX;
}

static void what_is_written_is_read(void)
{
    uint64_t bytes[MOST];

    for (random_state = 0; random_state < 1000;) {
        uint64_t seed = random_state, count = draw(MOST), last = 0;

        for (uint64_t i = 0; i < count; i++) {
            if (draw(3) == 0)
                last = draw(2) ? 0 : draw(UINT64_C(1) << draw(50));
            bytes[i] = last;
        }
        CU_ASSERT(there_and_back(bytes, count) != SIZE_MAX);
        random_state = seed + 1;
    }
}

static void equal_sizes_take_some_bytes(void)
{
    uint64_t bytes[MOST] = { 0 };

    CU_ASSERT_EQUAL(there_and_back(bytes, 0), 0);
    CU_ASSERT_EQUAL(there_and_back(bytes, MOST), 0);
    bytes[77] = 1000; /* 77 empty ones, and this one */
    CU_ASSERT_EQUAL(there_and_back(bytes, MOST), 2 + 3);
    for (int i = 0; i < MOST; i++)
        bytes[i] = 1000000;
    CU_ASSERT_EQUAL(there_and_back(bytes, MOST), 3 + 2);
    for (int i = 0; i < MOST; i++)
        bytes[i] = 10000 + (uint64_t)i;
    CU_ASSERT_EQUAL(there_and_back(bytes, MOST), 3 * MOST);
    bytes[0] = UINT64_MAX;
    CU_ASSERT_EQUAL(there_and_back(bytes, 1), 10 + 1);
}

/* Read in parts, by whom rows are only some units long. */
static void runs_are_read_in_parts(void)
{
    struct nf_sizes sizes = { .upto = 0 };
    struct nf_sizes_reader reader;
    uint64_t bytes;

    nf_sizes_put(&sizes, 2, 8);
    nf_sizes_put(&sizes, 3, 8);
    nf_sizes_put(&sizes, 4, 8);
    nf_sizes_put(&sizes, 7, 16);
    CU_ASSERT_EQUAL(nf_sizes_end(&sizes), NF_OK);
    reader = nf_sizes_read(sizes.out.data, sizes.out.bytes);
    CU_ASSERT_EQUAL(nf_sizes_next(&reader, 4, &bytes), 2);
    CU_ASSERT_EQUAL(bytes, 0);
    CU_ASSERT_EQUAL(nf_sizes_next(&reader, 2, &bytes), 2);
    CU_ASSERT_EQUAL(bytes, 8);
    CU_ASSERT_EQUAL(nf_sizes_next(&reader, 4, &bytes), 1);
    CU_ASSERT_EQUAL(bytes, 8);
    CU_ASSERT_EQUAL(nf_sizes_next(&reader, 3, &bytes), 2);
    CU_ASSERT_EQUAL(bytes, 0);
    CU_ASSERT(!nf_sizes_at_end(&reader));
    CU_ASSERT_EQUAL(nf_sizes_next(&reader, 1, &bytes), 1);
    CU_ASSERT_EQUAL(bytes, 16);
    CU_ASSERT(nf_sizes_at_end(&reader));
    CU_ASSERT_EQUAL(nf_sizes_next(&reader, 4, &bytes), 4);
    CU_ASSERT_EQUAL(bytes, 0);
    nf_sizes_fini(&sizes);
}

static bool makes_sense(const uint8_t *data, size_t bytes, uint64_t count)
{
    struct nf_blob *sizes = nf_blob_create(bytes, NF_BYTES);
    uint64_t at[MOST + 1];
    bool good;

    memcpy(sizes->data, data, bytes);
    good = nf_sizes_begins(sizes, count, at);
    nf_blob_unref(sizes);
    return good;
}

static void nonsense_is_found(void)
{
    static const uint8_t no_run[] = { 5 }, half[] = { 5, 0x83 },
                         none[] = { 5, 0 };
    static const uint8_t large[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                     0xff, 0xff, 0xff, 2,    1 };
    static const uint8_t endless[] = { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                       0x80, 0x80, 0x80, 0x80, 0,    1 };
    static const uint8_t four[] = { 5, 4 };

    CU_ASSERT(!makes_sense(no_run, sizeof(no_run), 4));
    CU_ASSERT(!makes_sense(half, sizeof(half), 4));
    CU_ASSERT(!makes_sense(none, sizeof(none), 4));
    CU_ASSERT(!makes_sense(large, sizeof(large), 4));
    CU_ASSERT(!makes_sense(endless, sizeof(endless), 4));
    CU_ASSERT(makes_sense(four, sizeof(four), 4));
    CU_ASSERT(makes_sense(four, sizeof(four), 5));
    CU_ASSERT(!makes_sense(four, sizeof(four), 3));
}

int main(void)
{
    static CU_TestInfo tests[] = {
        { "what is written is read", what_is_written_is_read },
        { "equal sizes take some bytes", equal_sizes_take_some_bytes },
        { "runs are read in parts", runs_are_read_in_parts },
        { "nonsense is found", nonsense_is_found },
        CU_TEST_INFO_NULL,
    };
    static CU_SuiteInfo suites[] = {
        { "sizes", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
