/* Mutated matrix files: no crash, no leak, no error without a line. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/fuzz/fuzz_matrix.h"
#include "tests/unit/nf_unit.h"

#define MUTATIONS 1500 /* of every seed */
#define MAX_BYTES 4096

static const char *const seeds[] = {
    "c_lef8.npy",    "f_bef8.npy", "c_bef4.npy",  "f_lef4.npy",
    "v2.npy",        "vector.npy", "array.mtx",   "coordinate.mtx",
    "symmetric.mtx", "skew.mtx",   "pattern.mtx", "zero.mtx",
};

/* Pieces that mean something to the grammars. */
static const char *const words[] = {
    "0",
    "1",
    "-1",
    "2147483648",
    "1152921504606846976",
    "18446744073709551615",
    "nan",
    "inf",
    "1e999",
    "\n",
    "\r\n",
    "%",
    " ",
    "symmetric",
    "skew-symmetric",
    "coordinate",
    "pattern",
    "integer",
    "'shape': ",
    "(",
    ")",
    ",",
    "'",
    "True",
    "'<f4'",
    "{",
    "}",
    "\xff\xff\xff\xff",
};

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static size_t load(const char *name, uint8_t *data)
{
    char path[512];
    size_t bytes;
    FILE *stream;

    snprintf(path, sizeof(path), "%s/tests/golden/matrices/%s", NF_SRCDIR,
             name);
    stream = fopen(path, "rb");
    if (stream == NULL)
        return 0;
    bytes = fread(data, 1, MAX_BYTES / 2, stream);
    fclose(stream);
    return bytes;
}

/* Put in, take out, overwrite or double some bytes.  @return the new size */
static size_t mutate(uint8_t *data, size_t bytes, uint64_t *random)
{
    uint64_t r = next_random(random);
    size_t at = bytes == 0 ? 0 : (size_t)(r >> 8) % bytes;
    size_t length = 1 + (size_t)(r >> 40) % 8;
    const char *word = words[(r >> 32) % (sizeof(words) / sizeof(words[0]))];

    length = length < bytes - at ? length : bytes - at;
    switch (r % 6) {
    case 0: /* one bit */
        if (bytes > 0)
            data[at] ^= (uint8_t)(1U << (r >> 48) % 8);
        return bytes;
    case 1: /* cut */
        return at;
    case 2: /* take out */
        memmove(data + at, data + at + length, bytes - at - length);
        return bytes - length;
    case 3: /* double */
        if (bytes + length > MAX_BYTES)
            return bytes;
        memmove(data + at + length, data + at, bytes - at);
        return bytes + length;
    case 4: /* put in a word */
        length = strlen(word);
        if (bytes + length > MAX_BYTES)
            return bytes;
        memmove(data + at + length, data + at, bytes - at);
        memcpy(data + at, word, length);
        return bytes + length;
    default: /* write a word over what is there */
        length = strlen(word) < bytes - at ? strlen(word) : bytes - at;
        memcpy(data + at, word, length);
        return bytes;
    }
}

static void test_mutations(void)
{
    uint8_t seed[MAX_BYTES], data[MAX_BYTES + 32];
    uint64_t random = 20240229;
    unsigned long tried = 0;

    for (size_t s = 0; s < sizeof(seeds) / sizeof(seeds[0]); s++) {
        size_t seed_bytes = load(seeds[s], seed);

        CU_ASSERT_NOT_EQUAL(seed_bytes, 0);
        for (int t = 0; t < MUTATIONS; t++, tried++) {
            size_t bytes = seed_bytes;

            memcpy(data, seed, bytes);
            for (uint64_t n = 1 + next_random(&random) % 3; n > 0; n--)
                bytes = mutate(data, bytes, &random);
            LLVMFuzzerTestOneInput(data, bytes);
        }
    }
    /* both the ways of error and those of success were taken */
    CU_ASSERT(nf_fuzz_read_well > tried / 50);
    CU_ASSERT(nf_fuzz_read_well < tried / 2);
}

int main(void)
{
    CU_TestInfo tests[] = {
        { "mutated files are read well or refused in one line",
          test_mutations },
        CU_TEST_INFO_NULL,
    };
    CU_SuiteInfo suites[] = {
        { "fuzz", NULL, NULL, NULL, NULL, tests },
        CU_SUITE_INFO_NULL,
    };

    return nf_unit_main(suites);
}
